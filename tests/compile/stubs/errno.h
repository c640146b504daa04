#define EINTR 4
#if defined(__linux__)
#error "stubs are for other systems"
#endif
#define EAGAIN       35
#define ETIMEDOUT    60
#define EPIPE        32
#define EPERM        1
#define ENOENT       2
#define EACCES       13
#define EEXIST       17
#define EISDIR       21
#define ENFILE       23
#define EMFILE       24
#define ELOOP        62
#define ENOSPC       28
#define EINVAL       22
#define ENOMEM       12
#define ENOSYS       78
#define EBUSY        16
#define ENAMETOOLONG 63
#define EPROTO       100
#define EOWNERDEAD   105
extern int *stub_errno(void);
#define errno (*stub_errno())
