/* os_freebsd.c: _umtx_op, sched_yield, CLOCK_MONOTONIC, cpuset. */
#include "os.h"
#include <concede/atomic.h>
#include <sys/param.h>
#include <sys/cpuset.h>
#include <sys/types.h>
#include <sys/umtx.h>
#include <limits.h>
#include <sched.h>
#include <time.h>

#define NS_PER_S UINT64_C(1000000000)

int cc_os_wait_(const uint32_t *word, uint32_t expected, uint64_t deadline)
{
    struct _umtx_time until;
    void *address = (void *)(uintptr_t)word, *size = NULL, *time = NULL;
    int saved = errno, result = 0;
    if (cc_load_relaxed(word) != expected) return EAGAIN; /* the system does not tell it from a wake */
    if (deadline != CC_FOREVER) {
        /* What a 32-bit time_t cannot hold ends early, for no reason, and the caller waits again. */
        uint64_t seconds = deadline / NS_PER_S;
        until._timeout.tv_sec = (time_t)(seconds < INT_MAX ? seconds : INT_MAX);
        until._timeout.tv_nsec = (long)(deadline % NS_PER_S);
        until._flags = UMTX_ABSTIME;
        until._clockid = CLOCK_MONOTONIC;
        size = (void *)sizeof until;
        time = &until;
    }
    if (_umtx_op(address, UMTX_OP_WAIT_UINT_PRIVATE, expected, size, time) != 0) result = errno;
    errno = saved;
    if (result == EINTR) return EINTR;
    return result == ETIMEDOUT && cc_os_now_() >= deadline ? ETIMEDOUT : 0;
}

void cc_os_wake_(const uint32_t *word, uint32_t count)
{
    int saved = errno;
    _umtx_op((void *)(uintptr_t)word, UMTX_OP_WAKE_PRIVATE, count < INT_MAX ? count : INT_MAX, NULL, NULL);
    errno = saved;
}

void cc_os_yield_(void)
{
    sched_yield();
}

uint64_t cc_os_now_(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

bool cc_os_membarrier_register_(void)
{
    return false;
}

bool cc_os_membarrier_(void)
{
    return false;
}

uint32_t cc_os_cpus_(void)
{
    cpuset_t usable;
    int saved = errno, cpus = 1;
    CPU_ZERO(&usable);
    if (cpuset_getaffinity(CPU_LEVEL_WHICH, CPU_WHICH_PID, -1, sizeof usable, &usable) == 0) cpus = CPU_COUNT(&usable);
    errno = saved;
    return cpus > 1 ? (uint32_t)cpus : 1;
}
