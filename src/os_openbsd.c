/* os_openbsd.c: futex, sched_yield, CLOCK_MONOTONIC. */
#include "os.h"
#include <concede/atomic.h>
#include <limits.h>
#include <sys/time.h>
#include <sys/futex.h>
#include <time.h>

#define NS_PER_S UINT64_C(1000000000)

static int wait_(const uint32_t *word, uint32_t expected, uint64_t deadline, int operation)
{
    struct timespec left, *timeout = NULL;
    volatile uint32_t *address = (volatile uint32_t *)(uintptr_t)word;
    int saved = errno, result;
    if (deadline != CC_FOREVER) {
        uint64_t now = cc_os_now_(), ns = deadline > now ? deadline - now : 0;
        left.tv_sec = (time_t)(ns / NS_PER_S < INT_MAX ? ns / NS_PER_S : INT_MAX);
        left.tv_nsec = (long)(ns % NS_PER_S);
        timeout = &left;
    }
    /* Releases differ in whether the error is the result or in errno. */
    result = futex(address, operation, (int)expected, timeout, NULL);
    if (result == -1) result = errno;
    errno = saved;
    if (result == EAGAIN || result == EINTR) return result;
    return result == ETIMEDOUT && cc_os_now_() >= deadline ? ETIMEDOUT : 0;
}

/* Returns how many threads it woke. */
static int wake_(const uint32_t *word, uint32_t count, int operation)
{
    int saved = errno;
    int woken =
        futex((volatile uint32_t *)(uintptr_t)word, operation, count < INT_MAX ? (int)count : INT_MAX, NULL, NULL);
    errno = saved;
    return woken > 0 ? woken : 0;
}

int cc_os_wait_(const uint32_t *word, uint32_t expected, uint64_t deadline)
{
    return wait_(word, expected, deadline, FUTEX_WAIT_PRIVATE);
}

void cc_os_wake_(const uint32_t *word, uint32_t count)
{
    (void)wake_(word, count, FUTEX_WAKE_PRIVATE);
}

int cc_os_wait_shared_(const uint32_t *word, uint32_t expected, uint64_t deadline)
{
    return wait_(word, expected, deadline, FUTEX_WAIT);
}

uint32_t cc_os_wake_shared_(const uint32_t *word, uint32_t count)
{
    return (uint32_t)wake_(word, count, FUTEX_WAKE);
}

#include "os_shm.h"
#define CC_OS_IS_PRIVILEGED_() issetugid()
#include "os_unix.h"
