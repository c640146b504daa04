/* os_linux.c: futex, sched_yield, CLOCK_MONOTONIC, membarrier, affinity and cgroup quota. */
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

#define NS_PER_S UINT64_C(1000000000)

enum { FUTEX_WAKE_ = 1, FUTEX_WAIT_BITSET_ = 9, FUTEX_PRIVATE_ = 128 };
enum {
    MEMBARRIER_GLOBAL_EXPEDITED = 1 << 1,
    MEMBARRIER_REGISTER_GLOBAL_EXPEDITED = 1 << 2,
    MEMBARRIER_PRIVATE_EXPEDITED = 1 << 3,
    MEMBARRIER_REGISTER_PRIVATE_EXPEDITED = 1 << 4,
    MEMBARRIER_PRIVATE_EXPEDITED_RSEQ = 1 << 7,
    MEMBARRIER_REGISTER_PRIVATE_EXPEDITED_RSEQ = 1 << 8
};

/* By their names in the object code, because the headers declare them only where GNU's extensions were asked for
 * before any header. A test has another syscall. */
extern int linux_cpu_(void) __asm__("sched_getcpu");
#if !defined(CC_OS_SYSCALL_)
extern long linux_syscall_(long number, ...) __asm__("syscall");
#define CC_OS_SYSCALL_ linux_syscall_
#endif

/* A system call's result as the kernel gives it: 0 or more, or a negative errno. The caller's errno stays as it was. */
#define SYSTEM_CALL(result, ...)              \
    do {                                      \
        int saved_ = errno;                   \
        result = CC_OS_SYSCALL_(__VA_ARGS__); \
        if (result == -1) result = -errno;    \
        errno = saved_;                       \
    } while (0)

/* A 64-bit kernel has one futex call. A 32-bit one has SYS_futex, whose times have 32 bits, or SYS_futex_time64, or
 * both: old kernels lack the second, and new ones may be built without the first. So a wait and a wake each try both.
 * */
#if defined(SYS_futex_time64)
typedef struct {
    int64_t tv_sec, tv_nsec;
} wide_time;
typedef struct {
    int32_t tv_sec, tv_nsec;
} futex_time;
#else
typedef struct timespec futex_time;
#endif

/* `scope` is FUTEX_PRIVATE_, or 0 for a word that other processes have, too. */
static long futex_wait_(const uint32_t *word, uint32_t expected, uint64_t deadline, int scope)
{
    uint64_t seconds = deadline / NS_PER_S;
    long result = -ENOSYS;
#if defined(SYS_futex_time64)
    wide_time at = { .tv_sec = (int64_t)seconds, .tv_nsec = (int64_t)(deadline % NS_PER_S) };
    SYSTEM_CALL(result, SYS_futex_time64, word, FUTEX_WAIT_BITSET_ | scope, expected,
                deadline == CC_FOREVER ? NULL : &at, NULL, UINT32_MAX);
#endif
#if defined(SYS_futex)
    if (result == -ENOSYS) { /* a time that does not fit here ends early, and the caller waits again */
        futex_time fits = { .tv_sec = (int32_t)(seconds < INT32_MAX ? seconds : INT32_MAX) };
        fits.tv_nsec = (int32_t)(deadline % NS_PER_S);
        SYSTEM_CALL(result, SYS_futex, word, FUTEX_WAIT_BITSET_ | scope, expected,
                    deadline == CC_FOREVER ? NULL : &fits, NULL, UINT32_MAX);
    }
#endif
    return result;
}

static long futex_wake_(const uint32_t *word, uint32_t count, int scope)
{
    int most = count < INT32_MAX ? (int)count : INT32_MAX;
    long result = -ENOSYS;
#if defined(SYS_futex)
    SYSTEM_CALL(result, SYS_futex, word, FUTEX_WAKE_ | scope, most, NULL, NULL, 0);
#endif
#if defined(SYS_futex_time64)
    if (result == -ENOSYS) SYSTEM_CALL(result, SYS_futex_time64, word, FUTEX_WAKE_ | scope, most, NULL, NULL, 0);
#endif
    return result;
}

static int wait_(const uint32_t *word, uint32_t expected, uint64_t deadline, int scope)
{
    long result = futex_wait_(word, expected, deadline, scope);
    if (result == 0 || result == -EAGAIN || result == -EINTR || result == -ETIMEDOUT) return (int)-result;
    /* The futex is refused (seccomp) or broken. Returning for no reason is allowed, but not at full speed. */
    cc_os_yield_();
    return cc_os_now_() >= deadline ? ETIMEDOUT : 0;
}

int cc_os_wait_(const uint32_t *word, uint32_t expected, uint64_t deadline)
{
    return wait_(word, expected, deadline, FUTEX_PRIVATE_);
}

void cc_os_wake_(const uint32_t *word, uint32_t count)
{
    (void)futex_wake_(word, count, FUTEX_PRIVATE_); /* EFAULT: the memory is gone, and so is whoever slept there */
}

static bool membarrier_(int command)
{
    long result = -ENOSYS;
#if defined(SYS_membarrier)
    SYSTEM_CALL(result, SYS_membarrier, command, 0, 0);
#endif
    return result == 0;
}

/* By their numbers, because read(), write() and close() are cancellation points. */
int cc_os_bell_create_(int ends[2])
{
    long result = -ENOSYS;
    SYSTEM_CALL(result, SYS_eventfd2, 0, O_CLOEXEC | O_NONBLOCK);
    if (result < 0) return (int)-result;
    ends[0] = ends[1] = (int)result;
    return 0;
}

void cc_os_bell_ring_(int write_end)
{
    uint64_t one = 1;
    long result;
    SYSTEM_CALL(result, SYS_write, write_end, &one, sizeof one);
    (void)result; /* it cannot be full: nobody rings twice before it was emptied */
}

void cc_os_bell_empty_(int read_end)
{
    uint64_t count;
    long result;
    SYSTEM_CALL(result, SYS_read, read_end, &count, sizeof count);
    (void)result; /* EAGAIN: its owner has read it, which is not asked for, but does no harm */
}

void cc_os_bell_close_(int read_end, int write_end)
{
    long result;
    (void)write_end;
    SYSTEM_CALL(result, SYS_close, read_end);
    (void)result;
}
#define CC_OS_HAS_BELL_

/* Opens a file and makes one call that reads it; returns its result. The calls go by their numbers, because open(),
 * read() and close() are cancellation points. */
static long read_once_(long call, const char *path, int flags, char *bytes, size_t size)
{
    long file, got, closed;
    SYSTEM_CALL(file, SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | flags);
    if (file < 0) return file;
    SYSTEM_CALL(got, call, (int)file, bytes, size);
    SYSTEM_CALL(closed, SYS_close, (int)file);
    (void)closed;
    return got;
}

/* The file's first bytes as a string; false if there is no such file. */
static bool read_file_(const char *path, char *text, size_t size)
{
    long got = read_once_(SYS_read, path, 0, text, size - 1);
    text[got > 0 ? got : 0] = 0;
    return got > 0;
}

/* Reads a number and moves past it; UINT64_MAX for "max", for -1, and for what is no number. */
static uint64_t number_(const char **text)
{
    uint64_t value = 0;
    const char *at = *text + strspn(*text, " \n"), *start = at;
    for (; *at >= '0' && *at <= '9' && value < UINT64_MAX / 16; at++) value = value * 10 + (uint64_t)(*at - '0');
    *text = at + strcspn(at, " \n");
    return at == start ? UINT64_MAX : value;
}

/* Whole CPUs that the quota of one cgroup directory allows; UINT32_MAX: no limit there. A fraction is dropped, because
 * a CPU that is half ours cannot be planned with; but a quota below one CPU counts as one. */
static uint32_t quota_cpus_(char *path, size_t length, bool version_2)
{
    char text[64];
    const char *at = text;
    uint64_t quota = UINT64_MAX, period = UINT64_MAX;
    strcpy(path + length, version_2 ? "/cpu.max" : "/cpu.cfs_quota_us");
    if (read_file_(path, text, sizeof text)) quota = number_(&at);
    if (quota == UINT64_MAX) return UINT32_MAX;
    if (!version_2) { /* version 2 has "quota period" in one file */
        strcpy(path + length, "/cpu.cfs_period_us");
        if (!read_file_(path, text, sizeof text)) return UINT32_MAX;
        at = text;
    }
    period = number_(&at);
    if (period == UINT64_MAX || period == 0) return UINT32_MAX;
    uint64_t cpus = quota / period;
    return cpus == 0 ? 1 : cpus < UINT32_MAX ? (uint32_t)cpus : UINT32_MAX;
}

/* The CPUs that the cgroups of this process leave it, by `table` (/proc/self/cgroup) and the mounts under `mounts`: the
 * least quota from its own group up to the mount. Where the group's path is not visible (a container), the mount's
 * counts. */
static uint32_t cgroup_cpus_(const char *table, const char *mounts)
{
    char text[4096], path[512];
    uint32_t least = UINT32_MAX;
    if (!read_file_(table, text, sizeof text)) return least;
    for (char *line = text, *next; line && *line; line = next) { /* "id:controllers:/group" */
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group) continue;
        *controllers = '/'; /* version 1 is mounted at mounts/controllers, version 2 at mounts itself */
        *group++ = 0;
        bool version_2 = controllers[1] == 0;
        if (!version_2 && strcmp(controllers, "/cpu") && strncmp(controllers, "/cpu,", 5)) continue;
        if (strlen(mounts) + strlen(controllers) + strlen(group) + sizeof "/cpu.cfs_period_us" > sizeof path) continue;
        strcpy(path, mounts);
        if (!version_2) strcat(path, controllers);
        size_t root = strlen(path), length = root;
        if (strcmp(group, "/")) length += strlen(strcpy(path + root, group));
        for (;;) {
            uint32_t cpus = quota_cpus_(path, length, version_2);
            if (cpus < least) least = cpus;
            if (length <= root) break;
            do length--;
            while (length > root && path[length] != '/');
        }
    }
    return least;
}

/* Adds the CPUs that a thread may run on (0: this one) to the mask; returns how many there are in it now. */
enum { MASK_WORDS = 16384 / (8 * sizeof(long)) }; /* CPUs; Linux can be built for 8,192, and the stack may be small */
static uint32_t add_affinity_(unsigned long *mask, long thread)
{
    unsigned long own[MASK_WORDS];
    long bytes;
    uint32_t cpus = 0;
    SYSTEM_CALL(bytes, SYS_sched_getaffinity, thread, sizeof own, own);
    for (long i = 0; i < bytes / (long)sizeof own[0]; i++) mask[i] |= own[i];
    for (long i = 0; i < MASK_WORDS; i++)
        for (unsigned long bits = mask[i]; bits; bits &= bits - 1) cpus++;
    return cpus;
}

/* Linux keeps the mask by thread. A thread pinned to one CPU is no process on one CPU: the main thread's mask counts
 * too, and if both together are one CPU, the masks of the other threads. */
static uint32_t affinity_cpus_(void)
{
    unsigned long mask[MASK_WORDS] = { 0 };
    char entries[2048]; /* about 65 threads: enough to see whether all share one CPU */
    add_affinity_(mask, 0);
    uint32_t cpus = add_affinity_(mask, getpid());
    if (cpus > 1) return cpus;
    long got = read_once_(SYS_getdents64, "/proc/self/task", O_DIRECTORY, entries, sizeof entries);
    for (long at = 0; at < got;) { /* u64 inode, u64 offset, u16 length, u8 type, then the name */
        const char *name = entries + at + 19;
        uint16_t length;
        uint64_t thread = number_(&name);
        memcpy(&length, entries + at + 16, sizeof length);
        if (thread < INT32_MAX) cpus = add_affinity_(mask, (long)thread); /* "." and ".." are no number */
        at += length;
    }
    return cpus;
}

/* ---- Segments --------------------------------------------------------------------------------------------------- */

/* Not where addresses have 32 bits and registers 64: nobody has tried that. */
#if !defined(__ILP32__) || (!defined(__x86_64__) && !defined(__aarch64__) && !defined(__mips64))
#define CC_OS_HAS_SEGMENTS_
#include <pthread.h>
#include <sys/mman.h>

/* By their values, because the headers show them only to those who asked for GNU's extensions before any header. */
enum {
    SET_LOCK_ = 37,                  /* F_OFD_SETLK */
    GET_LOCK_ = 36,                  /* F_OFD_GETLK */
    ADD_SEALS_ = 1033,               /* F_ADD_SEALS */
    GET_SEALS_ = 1034,               /* F_GET_SEALS */
    SEAL_SEAL_ = 1,                  /* F_SEAL_SEAL */
    SEAL_SHRINK_ = 2,                /* F_SEAL_SHRINK */
    SEAL_GROW_ = 4,                  /* F_SEAL_GROW */
    MEMFD_FLAGS_ = 1 | 2,            /* MFD_CLOEXEC | MFD_ALLOW_SEALING */
    ANONYMOUS_ = MAP_PRIVATE | 0x20, /* and MAP_ANONYMOUS */
    SEEK_TO_END_ = 2
};

/* The locks are those of the open file, not of the process or of a descriptor: closing another descriptor of the
 * segment does not give them up, and they go when the last one of this open file is closed. A child of fork() has one
 * of those, and would keep the locks of a parent that dies; so it closes it first of all. The table says which. */
enum { OWN_MAX = 1024 };  /* segments open at a time: as many as a process may have descriptors, by default */
static int own_[OWN_MAX]; /* descriptor + 1; 0: no entry */
static uint32_t forks_;
static pthread_once_t at_fork_ = PTHREAD_ONCE_INIT;

static void close_(int descriptor)
{
    long closed;
    SYSTEM_CALL(closed, SYS_close, descriptor);
    (void)closed;
}

static void close_in_child_(void)
{
    for (int i = 0; i < OWN_MAX; i++) {
        int entry = cc_exchange_relaxed(&own_[i], 0); /* relaxed: the child has one thread */
        if (entry != 0) close_(entry - 1);
    }
    forks_++;
}

static void set_up_fork_(void)
{
    (void)pthread_atfork(NULL, NULL, close_in_child_);
}

static int keep_own_(int descriptor)
{
    pthread_once(&at_fork_, set_up_fork_);
    for (int i = 0; i < OWN_MAX; i++) {
        int none = 0;
        if (cc_cas_relaxed(&own_[i], &none, descriptor + 1)) return 0; /* relaxed: a list, and nothing hangs on it */
    }
    return ENOMEM;
}

void cc_os_segment_close_(int own)
{
    for (int i = 0; i < OWN_MAX; i++) {
        int entry = own + 1;
        if (cc_cas_relaxed(&own_[i], &entry, 0)) break; /* relaxed: as above */
    }
    close_(own);
}

uint32_t cc_os_forks_(void)
{
    pthread_once(&at_fork_, set_up_fork_);
    return forks_;
}

/* What the C library's shm_open() makes of a name. */
static int open_path_(const char *folder, const char *name, int flags, int *descriptor)
{
    char path[300];
    long result;
    if (strlen(folder) + strlen(name) >= sizeof path) return EINVAL;
    strcat(strcpy(path, folder), name);
    SYSTEM_CALL(result, SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC | flags, 0600);
    *descriptor = (int)result;
    return result < 0 ? (int)-result : 0;
}

/* An open file of our own for a descriptor that others have, too. */
static int open_again_(int descriptor, int *own)
{
    char digits[16] = { 0 };
    char *at = digits + sizeof digits - 1;
    if (descriptor < 0) return EPROTO;
    do *--at = (char)('0' + descriptor % 10);
    while ((descriptor /= 10) > 0);
    int error = open_path_("/proc/self/fd/", at, 0, own);
    return error == ENOENT || error == ENXIO ? EPROTO : error;
}

/* The memory is there from the beginning: where it is used up later, touching it would be the end of the process. */
static int allocate_(int descriptor, size_t bytes)
{
    long result;
#if UINTPTR_MAX > UINT32_MAX
    SYSTEM_CALL(result, SYS_fallocate, descriptor, 0, (long)0, (long)bytes);
#else /* a number of 64 bits is two arguments, the first of which is the one that memory would have first */
    union {
        uint64_t number;
        long halves[2];
    } length = { bytes };
    SYSTEM_CALL(result, SYS_fallocate, descriptor, 0, (long)0, (long)0, length.halves[0], length.halves[1]);
#endif
    return result == 0 ? 0 : result == -EOPNOTSUPP || result == -ENOSYS ? ENOSYS : ENOMEM;
}

int cc_os_segment_create_(const char *name, size_t bytes, int *own, int *handed_on)
{
    long result;
    int error;
    if (name) {
        error = open_path_("/dev/shm", name, O_CREAT | O_EXCL | O_NOFOLLOW, own);
        if (error != 0) return error == ENOENT ? ENOSYS : error;
        error = allocate_(*own, bytes);
        if (error == 0) error = keep_own_(*own);
        if (error != 0) {
            (void)cc_os_segment_unlink_(name);
            close_(*own);
        }
        return error;
    }
    SYSTEM_CALL(result, SYS_memfd_create, "concede", MEMFD_FLAGS_);
    if (result < 0) return result == -ENOSYS ? ENOSYS : ENOMEM;
    *handed_on = (int)result;
    error = allocate_(*handed_on, bytes);
    if (error == 0) {
        SYSTEM_CALL(result, SYS_fcntl, *handed_on, ADD_SEALS_, SEAL_SHRINK_ | SEAL_GROW_ | SEAL_SEAL_);
        error = result == 0 ? open_again_(*handed_on, own) : ENOSYS;
    }
    if (error == 0) {
        error = keep_own_(*own);
        if (error != 0) close_(*own);
    }
    if (error != 0) close_(*handed_on);
    return error;
}

int cc_os_segment_open_(const char *name, int descriptor, int *own, uint64_t *bytes)
{
    long result;
    int error = name ? open_path_("/dev/shm", name, O_NOFOLLOW, own) : open_again_(descriptor, own);
    if (error != 0) return error == ELOOP || error == EISDIR ? EPROTO : error == EPERM ? EACCES : error;
    if (!name) {
        SYSTEM_CALL(result, SYS_fcntl, *own, GET_SEALS_, 0);
        if (result < 0 || !(result & SEAL_SHRINK_)) error = EPROTO;
    }
    SYSTEM_CALL(result, SYS_lseek, *own, (long)0, SEEK_TO_END_);
    *bytes = result < 0 ? 0 : (uint64_t)result;
    if (error == 0) error = keep_own_(*own);
    if (error != 0) close_(*own);
    return error;
}

int cc_os_segment_unlink_(const char *name)
{
    char path[300] = "/dev/shm";
    long result;
    if (strlen(name) >= sizeof path - sizeof "/dev/shm") return EINVAL;
    SYSTEM_CALL(result, SYS_unlinkat, AT_FDCWD, strcat(path, name), 0);
    return result == 0 ? 0 : result == -EPERM ? EACCES : (int)-result;
}

static bool map_at_(void *at, size_t bytes, int flags, int own, size_t offset)
{
    return mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_FIXED | flags, own, (off_t)offset) != MAP_FAILED;
}

void *cc_os_segment_map_(int own, size_t header, size_t gap, size_t bytes)
{
    int saved = errno;
    unsigned char *at = (unsigned char *)mmap(NULL, bytes + gap, PROT_NONE, ANONYMOUS_, -1, 0);
    if (at != MAP_FAILED && !(map_at_(at, header, MAP_SHARED, own, 0) && map_at_(at + header, gap, ANONYMOUS_, -1, 0) &&
                              map_at_(at + header + gap, bytes - header, MAP_SHARED, own, header))) {
        munmap(at, bytes + gap);
        at = (unsigned char *)MAP_FAILED;
    }
    errno = saved;
    return at == MAP_FAILED ? NULL : at;
}

void cc_os_segment_unmap_(void *mapping, size_t header, size_t gap, size_t bytes)
{
    int saved = errno;
    (void)header;
    munmap(mapping, bytes + gap);
    errno = saved;
}

/* The calls for locks of the open file take positions of 64 bits on every machine. */
#if defined(SYS_fcntl64)
enum { LOCK_CALL_ = SYS_fcntl64 };
#else
enum { LOCK_CALL_ = SYS_fcntl };
#endif

static long lock_call_(int own, uint32_t number, int call, short *type)
{
    struct {
        short type, whence;
        int64_t start, length;
        int32_t process;
    } lock;
    long result;
    memset(&lock, 0, sizeof lock);
    lock.type = *type;
    lock.start = number;
    lock.length = 1;
    SYSTEM_CALL(result, LOCK_CALL_, own, call, &lock);
    *type = lock.type;
    return result;
}

bool cc_os_segment_lock_(int own, uint32_t number)
{
    short type = F_WRLCK;
    return lock_call_(own, number, SET_LOCK_, &type) == 0;
}

void cc_os_segment_unlock_(int own, uint32_t number)
{
    short type = F_UNLCK;
    (void)lock_call_(own, number, SET_LOCK_, &type);
}

/* A call that fails tells nothing: then the other counts as alive. */
bool cc_os_segment_is_locked_(int own, uint32_t number)
{
    short type = F_WRLCK;
    return lock_call_(own, number, GET_LOCK_, &type) != 0 || type != F_UNLCK;
}

int cc_os_wait_shared_(const uint32_t *word, uint32_t expected, uint64_t deadline)
{
    return wait_(word, expected, deadline, 0);
}

/* Linux 5.16. Its number is the same on every architecture that we know; its times have 64 bits on all of them. */
int cc_os_wait_several_(const cc_os_word_t *words, size_t count, uint64_t deadline)
{
    enum { NUMBER = 449, WORD_OF_32_BITS = 2, MONOTONIC = 1 };
    struct {
        uint64_t expected, address;
        uint32_t flags, reserved;
    } waiters[CC_OS_WORDS_MAX];
    struct {
        int64_t seconds, ns;
    } until = { (int64_t)(deadline / NS_PER_S), (int64_t)(deadline % NS_PER_S) };
    long result;
    if (count == 0 || count > CC_OS_WORDS_MAX) return ENOSYS;
    for (size_t i = 0; i < count; i++) {
        waiters[i].expected = words[i].expected;
        waiters[i].address = (uint64_t)(uintptr_t)words[i].word;
        waiters[i].flags = (uint32_t)(WORD_OF_32_BITS | (words[i].in_segment ? 0 : FUTEX_PRIVATE_));
        waiters[i].reserved = 0;
    }
    SYSTEM_CALL(result, NUMBER, waiters, (long)count, (long)0, deadline == CC_FOREVER ? NULL : &until, (long)MONOTONIC);
    if (result >= 0) return 0;
    return result == -EAGAIN || result == -EINTR || result == -ETIMEDOUT ? (int)-result : ENOSYS;
}

uint32_t cc_os_wake_shared_(const uint32_t *word, uint32_t count)
{
    long woken = futex_wake_(word, count, 0);
    return woken < 0 ? 0 : (uint32_t)woken;
}

bool cc_os_membarrier_shared_register_(void)
{
    return membarrier_(MEMBARRIER_REGISTER_GLOBAL_EXPEDITED);
}

bool cc_os_membarrier_shared_(void)
{
    return membarrier_(MEMBARRIER_GLOBAL_EXPEDITED);
}
#endif

#if defined(CC_ARCH_ARM64)
/* HWCAP_SB, which older headers do not name; it is set if every CPU has the instruction. */
#define CC_OS_HAS_SB_() (getauxval(AT_HWCAP) >> 29 & 1)
#endif
/* Where glibc 2.35 and later keep the area that they register for each thread, and its size, which is 0 if the system
 * refused it or the user did not want it; other C libraries have neither. */
CC_BEGIN_DECLS
extern const ptrdiff_t __rseq_offset CC_WEAK_;
extern const unsigned int __rseq_size CC_WEAK_;
CC_END_DECLS

static const char *sequence_area_(uintptr_t *area)
{
    enum { DESCRIPTOR = 8 }; /* where in the area the descriptor's address goes */
    if (&__rseq_offset == NULL || &__rseq_size == NULL) return "the C library registers no restartable sequences";
    if (__rseq_size == 0) return "restartable sequences are refused or switched off";
    if (!membarrier_(MEMBARRIER_REGISTER_PRIVATE_EXPEDITED_RSEQ)) return "membarrier cannot end restartable sequences";
    *area = (uintptr_t)(__rseq_offset + DESCRIPTOR);
    return NULL;
}

#define CC_OS_SEQUENCE_AREA_(area)   sequence_area_(area)
#define CC_OS_SEQUENCE_BARRIER_()    membarrier_(MEMBARRIER_PRIVATE_EXPEDITED_RSEQ)
#define CC_OS_CPUS_()                affinity_cpus_()
#define CC_OS_CPU_()                 linux_cpu_()
#define CC_OS_QUOTA_()               cgroup_cpus_("/proc/self/cgroup", "/sys/fs/cgroup")
#define CC_OS_MEMBARRIER_REGISTER_() membarrier_(MEMBARRIER_REGISTER_PRIVATE_EXPEDITED)
#define CC_OS_MEMBARRIER_()          membarrier_(MEMBARRIER_PRIVATE_EXPEDITED)
#define CC_OS_IS_PRIVILEGED_()       (getauxval(AT_SECURE) != 0)
#include "os_unix.h"
