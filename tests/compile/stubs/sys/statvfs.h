struct statvfs {
    unsigned long f_frsize;
    unsigned long long f_bavail;
};
int fstatvfs(int, struct statvfs *);
