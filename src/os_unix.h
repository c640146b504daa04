/* os_unix.h: the part of os.h that is the same on most Unix systems. An os_<system>.c includes it last, and defines one
 * of these macros before where its system has more than what stands here. If it defines CC_OS_HAS_SHM_, segments are
 * those of os_shm.h. */
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
#elif defined(CC_OS_HAS_SHM_)
#error "cc_fence_light_() must be a full fence in every process"
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
    return (uint64_t)now.tv_sec * CC_NS_PER_S_ + (uint64_t)now.tv_nsec;
}

uint64_t cc_os_cpu_time_(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * CC_NS_PER_S_ + (uint64_t)used.tv_nsec;
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

/* Many calls below, and in os_shm.h, are cancellation points and set errno, which those of os.h must not do. */
typedef struct caller {
    int saved_errno, cancel_state;
} caller_t;

static caller_t enter_(void)
{
    caller_t caller;
    caller.saved_errno = errno;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &caller.cancel_state);
    return caller;
}

static void leave_(caller_t caller)
{
    pthread_setcancelstate(caller.cancel_state, NULL);
    errno = caller.saved_errno;
}

static void close_(int descriptor)
{
    caller_t caller = enter_();
    (void)close(descriptor);
    leave_(caller);
}

/* The bell is a pipe. */
int cc_os_bell_create_(int ends[2])
{
    caller_t caller = enter_();
    int error = pipe(ends) == 0 ? 0 : errno;
    for (int i = 0; error == 0 && i < 2; i++) {
        (void)fcntl(ends[i], F_SETFD, FD_CLOEXEC);
        (void)fcntl(ends[i], F_SETFL, O_NONBLOCK);
    }
    leave_(caller);
    return error;
}

void cc_os_bell_ring_(int write_end)
{
    caller_t caller = enter_();
    while (write(write_end, "", 1) < 0 && errno == EINTR) {}
    leave_(caller);
}

void cc_os_bell_empty_(int read_end)
{
    caller_t caller = enter_();
    char byte;
    while (read(read_end, &byte, 1) < 0 && errno == EINTR) {}
    leave_(caller);
}

void cc_os_bell_close_(int read_end, int write_end)
{
    close_(read_end);
    close_(write_end);
}
#endif

#if defined(CC_OS_HAS_SHM_)
#include "os_shm.h"
#endif

#if !defined(CC_OS_HAS_SEGMENTS_)
uint32_t cc_os_forks_(void)
{
    return (uint32_t)getpid();
}
#endif

/* The system's file has wait_() and wake_(), whose last argument says whether other processes have the word, too. Where
 * there is nothing of the kind it defines these calls itself, and says CC_OS_HAS_WAIT_. */
#if !defined(CC_OS_HAS_WAIT_)
int cc_os_wait_(const uint32_t *word, uint32_t expected, uint64_t deadline)
{
    return wait_(word, expected, deadline, false);
}

void cc_os_wake_(const uint32_t *word, uint32_t count)
{
    (void)wake_(word, count, false);
}

#if defined(CC_OS_HAS_SEGMENTS_)
int cc_os_wait_shared_(const uint32_t *word, uint32_t expected, uint64_t deadline)
{
    return wait_(word, expected, deadline, true);
}

uint32_t cc_os_wake_shared_(const uint32_t *word, uint32_t count)
{
    return wake_(word, count, true);
}
#endif
#endif

#include "os_none.h"
