/* os_linux.c: futex, membarrier, eventfd, and where restartable sequences are. The CPUs of the process and its segments
 * have files of their own, which it includes. */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "os.h"
#include <concede/arch.h>
#include <concede/atomic.h>

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { FUTEX_WAKE_ = 1, FUTEX_WAIT_BITSET_ = 9, FUTEX_PRIVATE_ = 128 };
enum {
    MEMBARRIER_GLOBAL_EXPEDITED = 1 << 1,
    MEMBARRIER_REGISTER_GLOBAL_EXPEDITED = 1 << 2,
    MEMBARRIER_PRIVATE_EXPEDITED = 1 << 3,
    MEMBARRIER_REGISTER_PRIVATE_EXPEDITED = 1 << 4,
    MEMBARRIER_PRIVATE_EXPEDITED_RSEQ = 1 << 7,
    MEMBARRIER_REGISTER_PRIVATE_EXPEDITED_RSEQ = 1 << 8
};

/* These are declared by their names in the object code, because the headers declare them only where GNU's extensions
 * were asked for before any header. A test brings another syscall. */
extern int linux_cpu_(void) __asm__("sched_getcpu");
#if !defined(CC_OS_SYSCALL_)
extern long linux_syscall_(long number, ...) __asm__("syscall");
#define CC_OS_SYSCALL_ linux_syscall_
#endif

/* A system call's result as the kernel gives it: 0 or more, or a negative errno. The caller's errno stays as it was. */
#define SYSTEM_CALL(...)                            \
    __extension__({                                 \
        int saved_ = errno;                         \
        long result_ = CC_OS_SYSCALL_(__VA_ARGS__); \
        if (result_ == -1) result_ = -errno;        \
        errno = saved_;                             \
        result_;                                    \
    })

/* A 64-bit kernel has one futex call. A 32-bit one has SYS_futex, whose times have 32 bits, or SYS_futex_time64, or
 * both: old kernels lack the second, and new ones may be built without the first. So a wait and a wake each try
 * both. */
typedef struct {
    int64_t seconds, ns;
} wide_time_t;
#if defined(SYS_futex_time64)
typedef struct {
    int32_t tv_sec, tv_nsec;
} futex_time_t;
#else
typedef struct timespec futex_time_t;
#endif

/* `scope` is FUTEX_PRIVATE_, or 0 for a word that other processes have, too. */
static long futex_wait_(const uint32_t *word, uint32_t expected, uint64_t deadline, int scope)
{
    uint64_t seconds = deadline / CC_NS_PER_S_;
    long result = -ENOSYS;
#if defined(SYS_futex_time64)
    wide_time_t at = { (int64_t)seconds, (int64_t)(deadline % CC_NS_PER_S_) };
    result = SYSTEM_CALL(SYS_futex_time64, word, FUTEX_WAIT_BITSET_ | scope, expected,
                         deadline == CC_FOREVER ? NULL : &at, NULL, UINT32_MAX);
#endif
#if defined(SYS_futex)
    if (result == -ENOSYS) { /* a time that does not fit ends early, and the caller waits again */
        futex_time_t fits = { .tv_sec = (int32_t)(seconds < INT32_MAX ? seconds : INT32_MAX) };
        fits.tv_nsec = (int32_t)(deadline % CC_NS_PER_S_);
        result = SYSTEM_CALL(SYS_futex, word, FUTEX_WAIT_BITSET_ | scope, expected,
                             deadline == CC_FOREVER ? NULL : &fits, NULL, UINT32_MAX);
    }
#endif
    return result;
}

static int wait_(const uint32_t *word, uint32_t expected, uint64_t deadline, bool shared)
{
    long result = futex_wait_(word, expected, deadline, shared ? 0 : FUTEX_PRIVATE_);
    if (result == 0 || result == -EAGAIN || result == -EINTR || result == -ETIMEDOUT) return (int)-result;
    /* The futex is refused (seccomp) or broken. Returning for no reason is allowed, but not at full speed. */
    cc_os_yield_();
    return cc_os_now_() >= deadline ? ETIMEDOUT : 0;
}

/* Returns how many threads it woke: none if it fails with EFAULT, because the memory is gone, and so is whoever slept
 * there. */
static uint32_t wake_(const uint32_t *word, uint32_t count, bool shared)
{
    int operation = FUTEX_WAKE_ | (shared ? 0 : FUTEX_PRIVATE_);
    int threads = count < INT32_MAX ? (int)count : INT32_MAX;
    long result = -ENOSYS;
#if defined(SYS_futex)
    result = SYSTEM_CALL(SYS_futex, word, operation, threads, NULL, NULL, 0);
#endif
#if defined(SYS_futex_time64)
    if (result == -ENOSYS) result = SYSTEM_CALL(SYS_futex_time64, word, operation, threads, NULL, NULL, 0);
#endif
    return result > 0 ? (uint32_t)result : 0;
}

static bool membarrier_(int command)
{
    long result = -ENOSYS;
#if defined(SYS_membarrier)
    result = SYSTEM_CALL(SYS_membarrier, command, 0, 0);
#endif
    return result == 0;
}

/* System calls by their numbers, because read(), write() and close() are cancellation points. */
int cc_os_bell_create_(int ends[2])
{
    long result = SYSTEM_CALL(SYS_eventfd2, 0, O_CLOEXEC | O_NONBLOCK);
    if (result < 0) return (int)-result;
    ends[0] = ends[1] = (int)result;
    return 0;
}

void cc_os_bell_ring_(int write_end)
{
    uint64_t one = 1;
    (void)SYSTEM_CALL(SYS_write, write_end, &one, sizeof one); /* it is not full: nobody rings twice in a row */
}

void cc_os_bell_empty_(int read_end)
{
    uint64_t count;
    /* EAGAIN: the user has read it, which nobody asked for, but it does no harm */
    (void)SYSTEM_CALL(SYS_read, read_end, &count, sizeof count);
}

void cc_os_bell_close_(int read_end, int write_end)
{
    (void)write_end;
    (void)SYSTEM_CALL(SYS_close, read_end);
}
#define CC_OS_HAS_BELL_

#if defined(CC_ARCH_ARM64)
/* Bit 29 is HWCAP_SB, which older headers do not name; it is set if every CPU has the instruction. */
#define CC_OS_HAS_SB_
bool cc_os_has_sb_(void)
{
    return (getauxval(AT_HWCAP) >> 29 & 1) != 0;
}
#endif

/* Where glibc 2.35 and later keep the area that they register for each thread, and its size, which is 0 if the system
 * refused it or the user did not want it; other C libraries have neither. */
CC_BEGIN_DECLS
extern const ptrdiff_t __rseq_offset CC_WEAK_;
extern const unsigned int __rseq_size CC_WEAK_;
CC_END_DECLS

#define CC_OS_HAS_SEQUENCES_
const char *cc_os_sequence_area_(uintptr_t *area)
{
    enum { DESCRIPTOR = 8 }; /* where in the area the descriptor's address goes */
    if (&__rseq_offset == NULL || &__rseq_size == NULL) return "the C library registers no restartable sequences";
    if (__rseq_size == 0) return "restartable sequences are refused or switched off";
    if (!membarrier_(MEMBARRIER_REGISTER_PRIVATE_EXPEDITED_RSEQ)) return "membarrier cannot end restartable sequences";
    *area = (uintptr_t)(__rseq_offset + DESCRIPTOR);
    return NULL;
}

bool cc_os_sequence_barrier_(void)
{
    return membarrier_(MEMBARRIER_PRIVATE_EXPEDITED_RSEQ);
}

/* -1 where the system does not tell; errno stays as it was. */
static int this_cpu_(void)
{
    int saved = errno;
    int cpu = linux_cpu_();
    if (cpu < 0) errno = saved;
    return cpu;
}

#include "os_linux_cpus.h"
#include "os_linux_segments.h"

#define CC_OS_CPUS_()                affinity_cpus_()
#define CC_OS_CPU_()                 this_cpu_()
#define CC_OS_QUOTA_()               cgroup_cpus_("/proc/self/cgroup", "/sys/fs/cgroup")
#define CC_OS_MEMBARRIER_REGISTER_() membarrier_(MEMBARRIER_REGISTER_PRIVATE_EXPEDITED)
#define CC_OS_MEMBARRIER_()          membarrier_(MEMBARRIER_PRIVATE_EXPEDITED)
#define CC_OS_IS_PRIVILEGED_()       (getauxval(AT_SECURE) != 0)
#include "os_unix.h"
