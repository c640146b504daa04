#ifndef STUB_FCNTL_H
#define STUB_FCNTL_H
#define F_SETFD    2
#define F_SETFL    4
#define F_SETLK    8
#define F_UNLCK    2
#define F_WRLCK    3
#define F_RDLCK    1
#define FD_CLOEXEC 1
#define O_RDWR     0x0002
#define O_NONBLOCK 0x0004
#define O_NOFOLLOW 0x0100
#define O_CREAT    0x0200
#define O_EXCL     0x0800
#define O_CLOEXEC  0x100000
typedef long long off_t;
struct flock { /* the order differs between systems */
    off_t l_start, l_len;
    int l_pid;
    short l_type, l_whence;
};
int fcntl(int, int, ...);
int open(const char *, int, ...);
#endif
