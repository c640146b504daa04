typedef long long rlim_t;
struct rlimit {
    rlim_t rlim_cur, rlim_max;
};
#define RLIMIT_FSIZE  1
#define RLIM_INFINITY ((rlim_t)(((unsigned long long)1 << 63) - 1))
int getrlimit(int, struct rlimit *);
