/* os_openbsd.c: futex, sched_yield, CLOCK_MONOTONIC. */
#include "os.h"
#include <concede/atomic.h>
#include <limits.h>
#include <sys/time.h>
#include <sys/futex.h>
#include <time.h>

static int wait_(const uint32_t *word, uint32_t expected, uint64_t deadline, bool shared)
{
    struct timespec left, *timeout = NULL;
    volatile uint32_t *address = (volatile uint32_t *)(uintptr_t)word;
    int saved = errno, result;
    if (deadline != CC_FOREVER) {
        uint64_t now = cc_os_now_(), ns = deadline > now ? deadline - now : 0;
        left.tv_sec = (time_t)(ns / CC_NS_PER_S_ < INT_MAX ? ns / CC_NS_PER_S_ : INT_MAX);
        left.tv_nsec = (long)(ns % CC_NS_PER_S_);
        timeout = &left;
    }
    /* Releases differ in whether the error is the result or in errno. */
    result = futex(address, shared ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE, (int)expected, timeout, NULL);
    if (result == -1) result = errno;
    errno = saved;
    if (result == EAGAIN || result == EINTR) return result;
    return result == ETIMEDOUT && cc_os_now_() >= deadline ? ETIMEDOUT : 0;
}

/* Returns how many threads it woke. */
static uint32_t wake_(const uint32_t *word, uint32_t count, bool shared)
{
    volatile uint32_t *address = (volatile uint32_t *)(uintptr_t)word;
    int saved = errno, threads = count < INT_MAX ? (int)count : INT_MAX;
    int woken = futex(address, shared ? FUTEX_WAKE : FUTEX_WAKE_PRIVATE, threads, NULL, NULL);
    errno = saved;
    return woken > 0 ? (uint32_t)woken : 0;
}

#define CC_OS_HAS_SHM_
#define CC_OS_IS_PRIVILEGED_() issetugid()
#include "os_unix.h"
