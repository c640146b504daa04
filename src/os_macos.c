/* os_macos.c: os_sync_wait_on_address from macOS 14.4 on, __ulock_wait before. */
#include "os.h"
#include <concede/atomic.h>
#include <os/os_sync_wait_on_address.h>
#include <time.h>

/* The calls that the documented ones are made of. They are in libSystem since macOS 10.12, and every language runtime
 * there uses them. */
extern int __ulock_wait(uint32_t operation, void *address, uint64_t value, uint32_t timeout_us);
extern int __ulock_wake(uint32_t operation, void *address, uint64_t ignored);
#define COMPARE_AND_WAIT        UINT32_C(1)
#define COMPARE_AND_WAIT_SHARED UINT32_C(3) /* since macOS 10.15 */
#define WAKE_ALL                UINT32_C(0x00000100)
#define NO_ERRNO                UINT32_C(0x01000000) /* the result is 0 or more, or a negative errno */

/* Returns 0 or more, or a negative errno. `ns` is CC_FOREVER or at least 1. `shared`: other processes have the word,
 * too. */
static int wait_for_(const uint32_t *word, uint32_t expected, uint64_t ns, bool shared)
{
    void *address = (void *)(uintptr_t)word;
    uint32_t operation = shared ? COMPARE_AND_WAIT_SHARED : COMPARE_AND_WAIT;
    if (__builtin_available(macOS 14.4, *)) {
        int saved = errno, result;
        os_sync_wait_on_address_flags_t flags = shared ? OS_SYNC_WAIT_ON_ADDRESS_SHARED : OS_SYNC_WAIT_ON_ADDRESS_NONE;
        if (ns == CC_FOREVER)
            result = os_sync_wait_on_address(address, expected, sizeof *word, flags);
        else
            result = os_sync_wait_on_address_with_timeout(address, expected, sizeof *word, flags,
                                                          OS_CLOCK_MACH_ABSOLUTE_TIME, ns);
        if (result < 0) result = -errno;
        errno = saved;
        return result;
    }
    /* The call takes microseconds. They are rounded up, so that it never ends early, and 0 means for ever. A time that
     * does not fit does end early: that is a wait that returns for no reason. */
    uint64_t us = ns == CC_FOREVER ? 0 : (ns - 1) / 1000 + 1;
    return __ulock_wait(operation | NO_ERRNO, address, expected, us < UINT32_MAX ? (uint32_t)us : UINT32_MAX);
}

static int wait_(const uint32_t *word, uint32_t expected, uint64_t deadline, bool shared)
{
    uint64_t ns = CC_FOREVER;
    if (cc_load_relaxed(word) != expected) return EAGAIN; /* the system call would not tell this from a wake */
    if (deadline != CC_FOREVER) {
        uint64_t now = cc_os_now_();
        if (now >= deadline) return ETIMEDOUT;
        ns = deadline - now;
    }
    int result = wait_for_(word, expected, ns, shared);
    if (result == -EINTR) return EINTR;
    return result == -ETIMEDOUT && cc_os_now_() >= deadline ? ETIMEDOUT : 0;
}

/* Returns whether it woke anybody. */
static uint32_t wake_(const uint32_t *word, uint32_t count, bool shared)
{
    void *address = (void *)(uintptr_t)word;
    uint32_t operation = shared ? COMPARE_AND_WAIT_SHARED : COMPARE_AND_WAIT;
    bool all = count == CC_OS_ALL_, any = false;
    int saved = errno, result = 0; /* ENOENT: nobody slept there */
    for (; count > 0 && result >= 0; count = all ? 0 : count - 1) {
        if (__builtin_available(macOS 14.4, *)) {
            os_sync_wake_by_address_flags_t flags =
                shared ? OS_SYNC_WAKE_BY_ADDRESS_SHARED : OS_SYNC_WAKE_BY_ADDRESS_NONE;
            if (all)
                result = os_sync_wake_by_address_all(address, sizeof *word, flags);
            else
                result = os_sync_wake_by_address_any(address, sizeof *word, flags);
        } else {
            result = __ulock_wake(operation | NO_ERRNO | (all ? WAKE_ALL : 0), address, 0);
        }
        any = any || result >= 0;
    }
    errno = saved;
    return any;
}

#define CC_OS_HAS_SHM_
#define CC_OS_CLOCK_           CLOCK_UPTIME_RAW
#define CC_OS_IS_PRIVILEGED_() issetugid()
#include "os_unix.h"
