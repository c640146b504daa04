#define F_SETFD    2
#define F_SETFL    4
#define FD_CLOEXEC 1
#define O_NONBLOCK 4
int fcntl(int, int, ...);
