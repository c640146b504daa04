/* os_unix.h: the part of os.h that is the same on most Unix systems. An os_<system>.c includes it last, and defines one
 * of these macros before where its system has more than what stands here. */
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#if !defined(CC_OS_CLOCK_)
#define CC_OS_CLOCK_ CLOCK_MONOTONIC
#endif
#if !defined(CC_OS_CPUS_) /* how many CPUs the threads of this process may run on */
#define CC_OS_CPUS_() sysconf(_SC_NPROCESSORS_ONLN)
#endif
#if !defined(CC_OS_CPU_) /* which CPU this thread runs on */
#define CC_OS_CPU_() (-1)
#endif
#if !defined(CC_OS_QUOTA_) /* how many CPUs the container's quota pays for */
#define CC_OS_QUOTA_() UINT32_MAX
#endif
#if !defined(CC_OS_MEMBARRIER_)
#define CC_OS_MEMBARRIER_REGISTER_() false
#define CC_OS_MEMBARRIER_()          false
#endif
#if !defined(CC_OS_IS_PRIVILEGED_) /* whether the program has more rights than its caller */
#define CC_OS_IS_PRIVILEGED_() (getuid() != geteuid() || getgid() != getegid())
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

uint64_t cc_os_cpu_time_(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * UINT64_C(1000000000) + (uint64_t)used.tv_nsec;
}

uint32_t cc_os_cpu_(void)
{
    return (uint32_t)CC_OS_CPU_();
}

bool cc_os_membarrier_register_(void)
{
    return CC_OS_MEMBARRIER_REGISTER_();
}

bool cc_os_membarrier_(void)
{
    return CC_OS_MEMBARRIER_();
}

uint32_t cc_os_cpus_(void)
{
    long cpus = (long)CC_OS_CPUS_();
    return cpus > 1 ? (uint32_t)cpus : 1;
}

uint32_t cc_os_quota_(void)
{
    return CC_OS_QUOTA_();
}

const char *cc_os_environment_(const char *name)
{
    return CC_OS_IS_PRIVILEGED_() ? NULL : getenv(name);
}

#if !defined(CC_OS_HAS_BELL_)
#define CC_OS_HAS_BELL_
#include <fcntl.h>
#include <pthread.h>

/* The bell is a pipe. The calls are cancellation points, which those of os.h must not be. */
int cc_os_bell_create_(int ends[2])
{
    int saved = errno, error = 0;
    if (pipe(ends) != 0) {
        error = errno;
    } else {
        for (int i = 0; i < 2; i++) {
            (void)fcntl(ends[i], F_SETFD, FD_CLOEXEC);
            (void)fcntl(ends[i], F_SETFL, O_NONBLOCK);
        }
    }
    errno = saved;
    return error;
}

void cc_os_bell_ring_(int write_end)
{
    int saved = errno, cancel_state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    while (write(write_end, "", 1) < 0 && errno == EINTR) {}
    pthread_setcancelstate(cancel_state, NULL);
    errno = saved;
}

void cc_os_bell_empty_(int read_end)
{
    int saved = errno, cancel_state;
    char byte;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    while (read(read_end, &byte, 1) < 0 && errno == EINTR) {}
    pthread_setcancelstate(cancel_state, NULL);
    errno = saved;
}

void cc_os_bell_close_(int read_end, int write_end)
{
    int saved = errno, cancel_state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    (void)close(read_end);
    (void)close(write_end);
    pthread_setcancelstate(cancel_state, NULL);
    errno = saved;
}
#endif

#if !defined(CC_OS_HAS_SEGMENTS_)
uint32_t cc_os_forks_(void)
{
    return (uint32_t)getpid();
}
#endif

#include "os_none.h"
