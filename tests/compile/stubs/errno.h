#define EINTR 4
#if defined(__linux__)
#error "stubs are for other systems"
#endif
#define EAGAIN     35
#define ETIMEDOUT  60
#define EPIPE      32
#define EINVAL     22
#define ENOMEM     12
#define ENOSYS     78
#define EBUSY      16
#define EPROTO     100
#define EOWNERDEAD 105
extern int *stub_errno(void);
#define errno (*stub_errno())
