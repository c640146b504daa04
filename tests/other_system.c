/* other_system.c: a system that has no more between processes than macOS and the BSDs, so that what is written for
 * these runs somewhere: src/os_shm.h, on Linux's futex. It tells as little of a wake as FreeBSD does. */
#include "os.h"
#include <concede/atomic.h>
#include <limits.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { WAIT = 0, WAKE = 1, PRIVATE = 128 }; /* operations of the futex */

static int wait_(const uint32_t *word, uint32_t expected, uint64_t deadline, int operation)
{
    struct timespec left, *timeout = NULL;
    int saved = errno, result;
    if (deadline != CC_FOREVER) {
        uint64_t now = cc_os_now_(), ns = deadline > now ? deadline - now : 0;
        uint64_t seconds = ns / UINT64_C(1000000000);
        left.tv_sec = (time_t)(seconds < INT_MAX ? seconds : INT_MAX);
        left.tv_nsec = (long)(ns % UINT64_C(1000000000));
        timeout = &left;
    }
    result = syscall(SYS_futex, word, operation, expected, timeout, NULL, 0) == 0 ? 0 : errno;
    errno = saved;
    if (result == EAGAIN || result == EINTR) return result;
    return result == ETIMEDOUT && cc_os_now_() >= deadline ? ETIMEDOUT : 0;
}

static void wake_(const uint32_t *word, uint32_t count, int operation)
{
    int saved = errno;
    syscall(SYS_futex, word, operation, count < INT_MAX ? count : INT_MAX, NULL, NULL, 0);
    errno = saved;
}

int cc_os_wait_(const uint32_t *word, uint32_t expected, uint64_t deadline)
{
    return wait_(word, expected, deadline, WAIT | PRIVATE);
}

void cc_os_wake_(const uint32_t *word, uint32_t count)
{
    wake_(word, count, WAKE | PRIVATE);
}

int cc_os_wait_shared_(const uint32_t *word, uint32_t expected, uint64_t deadline)
{
    return wait_(word, expected, deadline, WAIT);
}

uint32_t cc_os_wake_shared_(const uint32_t *word, uint32_t count)
{
    (void)count;
    wake_(word, CC_OS_ALL_, WAKE);
    return 0;
}

#include "os_shm.h"
#include "os_unix.h"
