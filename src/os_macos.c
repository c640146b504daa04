/* os_macos.c: os_sync_wait_on_address from macOS 14.4 on, __ulock_wait before. */
#include "os.h"
#include <concede/atomic.h>
#include <os/os_sync_wait_on_address.h>
#include <time.h>

/* The calls under the documented ones, in libSystem since macOS 10.12 and used by every language runtime there. */
extern int __ulock_wait(uint32_t operation, void *address, uint64_t value, uint32_t timeout_us);
extern int __ulock_wake(uint32_t operation, void *address, uint64_t ignored);
#define COMPARE_AND_WAIT UINT32_C(1)
#define WAKE_ALL         UINT32_C(0x00000100)
#define NO_ERRNO         UINT32_C(0x01000000) /* the result is 0 or more, or a negative errno */

/* 0 or more, or a negative errno; `ns` is CC_FOREVER or at least 1. */
static int wait_for(const uint32_t *word, uint32_t expected, uint64_t ns)
{
    void *address = (void *)(uintptr_t)word;
    if (__builtin_available(macOS 14.4, *)) {
        int saved = errno, result;
        if (ns == CC_FOREVER)
            result = os_sync_wait_on_address(address, expected, sizeof *word, OS_SYNC_WAIT_ON_ADDRESS_NONE);
        else
            result = os_sync_wait_on_address_with_timeout(address, expected, sizeof *word, OS_SYNC_WAIT_ON_ADDRESS_NONE,
                                                          OS_CLOCK_MACH_ABSOLUTE_TIME, ns);
        if (result < 0) result = -errno;
        errno = saved;
        return result;
    }
    /* Microseconds, rounded up, so that it never ends early; 0 means for ever. A time that does not fit does end early:
     * that is a wait that returns for no reason. */
    uint64_t us = ns == CC_FOREVER ? 0 : (ns - 1) / 1000 + 1;
    return __ulock_wait(COMPARE_AND_WAIT | NO_ERRNO, address, expected, us < UINT32_MAX ? (uint32_t)us : UINT32_MAX);
}

int cc_os_wait_(const uint32_t *word, uint32_t expected, uint64_t deadline)
{
    uint64_t ns = CC_FOREVER;
    if (cc_load_relaxed(word) != expected) return EAGAIN; /* the system call would not tell this from a wake */
    if (deadline != CC_FOREVER) {
        uint64_t now = cc_os_now_();
        if (now >= deadline) return ETIMEDOUT;
        ns = deadline - now;
    }
    int result = wait_for(word, expected, ns);
    if (result == -EINTR) return EINTR;
    return result == -ETIMEDOUT && cc_os_now_() >= deadline ? ETIMEDOUT : 0;
}

void cc_os_wake_(const uint32_t *word, uint32_t count)
{
    void *address = (void *)(uintptr_t)word;
    bool all = count == CC_OS_ALL;
    int saved = errno, result = 0; /* ENOENT: nobody slept there */
    for (; count > 0 && result >= 0; count = all ? 0 : count - 1) {
        if (__builtin_available(macOS 14.4, *)) {
            if (all)
                result = os_sync_wake_by_address_all(address, sizeof *word, OS_SYNC_WAKE_BY_ADDRESS_NONE);
            else
                result = os_sync_wake_by_address_any(address, sizeof *word, OS_SYNC_WAKE_BY_ADDRESS_NONE);
        } else {
            result = __ulock_wake(COMPARE_AND_WAIT | NO_ERRNO | (all ? WAKE_ALL : 0), address, 0);
        }
    }
    errno = saved;
}

#define CC_OS_CLOCK_           CLOCK_UPTIME_RAW
#define CC_OS_IS_PRIVILEGED_() issetugid()
#include "os_unix.h"
