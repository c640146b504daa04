#include <stdint.h>
#include <time.h>
struct _umtx_time {
    struct timespec _timeout;
    uint32_t _flags;
    uint32_t _clockid;
};
#define UMTX_ABSTIME              1
#define UMTX_OP_WAKE              3
#define UMTX_OP_WAIT_UINT         11
#define UMTX_OP_WAIT_UINT_PRIVATE 15
#define UMTX_OP_WAKE_PRIVATE      16
int _umtx_op(void *, int, u_long, void *, void *);
