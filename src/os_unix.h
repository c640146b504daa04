/* os_unix.h: the part of os.h that is the same on most Unix systems. An os_<system>.c includes it last; where one has a
 * better clock or knows better which CPUs are usable, it defines CC_OS_CLOCK_ or CC_OS_COUNT_ first. */
#include <sched.h>
#include <time.h>
#include <unistd.h>

#if !defined(CC_OS_CLOCK_)
#define CC_OS_CLOCK_ CLOCK_MONOTONIC
#endif
#if !defined(CC_OS_COUNT_)
#define CC_OS_COUNT_() sysconf(_SC_NPROCESSORS_ONLN)
#endif

void cc_os_yield_(void)
{
    int saved = errno;
    sched_yield();
    errno = saved;
}

uint64_t cc_os_now_(void)
{
    struct timespec now;
    clock_gettime(CC_OS_CLOCK_, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
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
    long cpus = CC_OS_COUNT_();
    return cpus > 1 ? (uint32_t)cpus : 1;
}

bool cc_os_has_sb_(void)
{
    return false;
}
