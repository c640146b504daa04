/* os_freebsd.c: _umtx_op, sched_yield, CLOCK_MONOTONIC, cpuset. */
#include "os.h"
#include <concede/atomic.h>
#include <sys/param.h>
#include <sys/cpuset.h>
#include <sys/types.h>
#include <sys/umtx.h>
#include <limits.h>
#include <time.h>

static int wait_(const uint32_t *word, uint32_t expected, uint64_t deadline, bool shared)
{
    struct _umtx_time until;
    void *size = NULL;
    void *time = NULL;
    int saved = errno, result = 0;
    if (cc_load_relaxed(word) != expected) return EAGAIN; /* the system call would not tell this from a wake */
    if (deadline != CC_FOREVER) {
        /* What a 32-bit time_t cannot hold ends early, for no reason, and the caller waits again. */
        uint64_t seconds = deadline / CC_NS_PER_S_;
        until._timeout.tv_sec = (time_t)(seconds < INT_MAX ? seconds : INT_MAX);
        until._timeout.tv_nsec = (long)(deadline % CC_NS_PER_S_);
        until._flags = UMTX_ABSTIME;
        until._clockid = CLOCK_MONOTONIC;
        size = (void *)sizeof until;
        time = &until;
    }
    int operation = shared ? UMTX_OP_WAIT_UINT : UMTX_OP_WAIT_UINT_PRIVATE;
    if (_umtx_op((void *)(uintptr_t)word, operation, expected, size, time) != 0) result = errno;
    errno = saved;
    if (result == EINTR) return EINTR;
    return result == ETIMEDOUT && cc_os_now_() >= deadline ? ETIMEDOUT : 0;
}

/* If other processes have the word it wakes all, because the system does not tell whether it woke anybody: if it were
 * never known that nobody is left, every message would have to call the system. */
static uint32_t wake_(const uint32_t *word, uint32_t count, bool shared)
{
    int saved = errno;
    int operation = shared ? UMTX_OP_WAKE : UMTX_OP_WAKE_PRIVATE;
    _umtx_op((void *)(uintptr_t)word, operation, shared || count > INT_MAX ? INT_MAX : count, NULL, NULL);
    errno = saved;
    return 0;
}

static long usable_cpus_(void)
{
    cpuset_t usable;
    int saved = errno;
    CPU_ZERO(&usable);
    long cpus =
        cpuset_getaffinity(CPU_LEVEL_WHICH, CPU_WHICH_PID, -1, sizeof usable, &usable) == 0 ? CPU_COUNT(&usable) : 1;
    errno = saved;
    return cpus;
}

#define CC_OS_HAS_SHM_
#define CC_OS_CPUS_()          usable_cpus_()
#define CC_OS_IS_PRIVILEGED_() issetugid()
#include "os_unix.h"
