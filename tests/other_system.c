/* other_system.c: a system that has no more between processes than macOS and the BSDs, so that what is written for
 * these runs somewhere: src/os_shm.h, on Linux's futex. It tells as little of a wake as FreeBSD does. */
#include "os.h"
#include <concede/atomic.h>
#include <limits.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { WAIT = 0, WAKE = 1, PRIVATE = 128 }; /* operations of the futex */

static int wait_(const uint32_t *word, uint32_t expected, uint64_t deadline, bool shared)
{
    struct timespec left, *timeout = NULL;
    int saved = errno, result;
    if (deadline != CC_FOREVER) {
        uint64_t now = cc_os_now_(), ns = deadline > now ? deadline - now : 0;
        uint64_t seconds = ns / CC_NS_PER_S_;
        left.tv_sec = (time_t)(seconds < INT_MAX ? seconds : INT_MAX);
        left.tv_nsec = (long)(ns % CC_NS_PER_S_);
        timeout = &left;
    }
    result = syscall(SYS_futex, word, WAIT | (shared ? 0 : PRIVATE), expected, timeout, NULL, 0) == 0 ? 0 : errno;
    errno = saved;
    if (result == EAGAIN || result == EINTR) return result;
    return result == ETIMEDOUT && cc_os_now_() >= deadline ? ETIMEDOUT : 0;
}

static uint32_t wake_(const uint32_t *word, uint32_t count, bool shared)
{
    int saved = errno, operation = shared ? WAKE : WAKE | PRIVATE;
    syscall(SYS_futex, word, operation, shared || count > INT_MAX ? INT_MAX : count, NULL, NULL, 0);
    errno = saved;
    return 0;
}

#define CC_OS_HAS_SHM_
#include "os_unix.h"
