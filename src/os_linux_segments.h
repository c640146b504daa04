/* os_linux_segments.h: the part of os.h that stands under "Between processes"; os_linux.c includes it. */

/* There are none where addresses have 32 bits and registers 64: nobody has tried that. */
#if !defined(__ILP32__) || (!defined(__x86_64__) && !defined(__aarch64__) && !defined(__mips64))
#define CC_OS_HAS_SEGMENTS_
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* These stand here by their values, because the headers show them only where GNU's extensions were asked for before any
 * header. */
enum {
    SET_LOCK_ = 37,                  /* F_OFD_SETLK */
    ADD_SEALS_ = 1033,               /* F_ADD_SEALS */
    GET_SEALS_ = 1034,               /* F_GET_SEALS */
    SEAL_SEAL_ = 1,                  /* F_SEAL_SEAL */
    SEAL_SHRINK_ = 2,                /* F_SEAL_SHRINK */
    SEAL_GROW_ = 4,                  /* F_SEAL_GROW */
    MEMFD_FLAGS_ = 1 | 2,            /* MFD_CLOEXEC | MFD_ALLOW_SEALING */
    ANONYMOUS_ = MAP_PRIVATE | 0x20, /* and MAP_ANONYMOUS */
    SEEK_TO_END_ = 2
};

static void close_(int descriptor)
{
    (void)SYSTEM_CALL(SYS_close, descriptor);
}

static void forget_in_child_(void)
{
}
#include "os_segments.h"

/* Translates the errors that say that there is no descriptor left, or no room for a name. */
static int no_room_(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOSPC ? ENOMEM : error;
}

/* Opens a file by the folder and the name, as the C library's shm_open() does. */
enum { PATH_BYTES = sizeof "/proc/self/fd/" + CC_OS_NAME_MAX_ };
static int open_path_(const char *folder, const char *name, int flags, int *descriptor)
{
    char path[PATH_BYTES];
    strcat(strcpy(path, folder), name);
    long result = SYSTEM_CALL(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC | flags, 0600);
    *descriptor = (int)result;
    return result < 0 ? no_room_((int)-result) : 0;
}

/* Makes an open file of our own for a descriptor that others have, too. */
static int open_again_(int descriptor, int *own)
{
    char digits[16] = { 0 };
    char *at = digits + sizeof digits - 1;
    if (SYSTEM_CALL(SYS_fcntl, descriptor, F_GETFD, 0) < 0) return EPROTO;
    do *--at = (char)('0' + descriptor % 10);
    while ((descriptor /= 10) > 0);
    int error = open_path_("/proc/self/fd/", at, 0, own);
    return error == ENXIO ? EPROTO : error == ENOENT ? ENOSYS : error; /* a socket, say; no /proc */
}

/* Allocates all of the memory now: if there were none left later, touching it would end the process. */
static int allocate_(int descriptor, size_t bytes)
{
#if UINTPTR_MAX > UINT32_MAX
    long result = SYSTEM_CALL(SYS_fallocate, descriptor, 0, (long)0, (long)bytes);
#else /* a number of 64 bits is two arguments, in the order in which its halves lie in memory */
    union {
        uint64_t number;
        long halves[2];
    } length = { bytes };
    long result = SYSTEM_CALL(SYS_fallocate, descriptor, 0, (long)0, (long)0, length.halves[0], length.halves[1]);
#endif
    return result == 0 ? 0 : result == -EOPNOTSUPP || result == -ENOSYS ? ENOSYS : ENOMEM;
}

/* Enters an open file in the table. If another thread has forked since `over` was read from forks_over_, before the
 * file was opened, a child may have it, too, and would keep the locks when this process is dead: then the descriptor
 * gets another open file, until no fork comes in between. That is given up after about a second; it may be this very
 * thread that is forking, in a handler of the program's.
 *
 * If the child's memory lacks the entry, the entry was written after the fork had copied that page, and the count
 * before: a write to a page that was copied goes by the system, and what comes after it sees the count. */
static int keep_own_alone_(int own, uint32_t over)
{
    int again, error = keep_own_(own);
    for (int tries = 0; error == 0 && tries < 10000; tries++) {
        if (cc_load_relaxed(&forks_begun_) == over) break; /* relaxed: see above */
        if (tries > 0) cc_os_sleep_(100000);               /* 0.1 ms: a fork takes longer */
        over = cc_load_relaxed(&forks_over_);              /* relaxed: a count */
        error = open_again_(own, &again);
        if (error == 0) {
            if (SYSTEM_CALL(SYS_dup3, again, own, O_CLOEXEC) < 0) error = ENOMEM;
            close_(again);
        }
        if (error != 0) forget_own_(own);
    }
    return error;
}

int cc_os_segment_create_(const char *name, size_t bytes, int *own, int *handed_on)
{
    int error;
    if (!may_have_(bytes)) return ENOMEM;
    settle_();
    uint32_t over = cc_load_relaxed(&forks_over_); /* relaxed: a count */
    if (name) {
        error = open_path_("/dev/shm", name, O_CREAT | O_EXCL | O_NOFOLLOW, own);
        if (error != 0) return error == ENOENT ? ENOSYS : error;
        error = allocate_(*own, bytes);
        if (error == 0) error = keep_own_alone_(*own, over);
        if (error != 0) {
            (void)cc_os_segment_unlink_(name);
            close_(*own);
        }
        return error;
    }
    long result = SYSTEM_CALL(SYS_memfd_create, "concede", MEMFD_FLAGS_);
    if (result < 0) return result == -ENOSYS ? ENOSYS : ENOMEM;
    *handed_on = (int)result;
    error = allocate_(*handed_on, bytes);
    if (error == 0) {
        result = SYSTEM_CALL(SYS_fcntl, *handed_on, ADD_SEALS_, SEAL_SHRINK_ | SEAL_GROW_ | SEAL_SEAL_);
        error = result == 0 ? open_again_(*handed_on, own) : ENOSYS;
    }
    if (error == 0) {
        error = keep_own_alone_(*own, over);
        if (error != 0) close_(*own);
    }
    if (error != 0) close_(*handed_on);
    return error;
}

/* Checks that the file is this user's: its owner can cut it short while others have it mapped. */
static int check_owner_(int own)
{
    struct stat status;
    int saved = errno;
    int error = fstat(own, &status) == 0 && status.st_uid == geteuid() ? 0 : EACCES;
    errno = saved;
    return error;
}

int cc_os_segment_open_(const char *name, int descriptor, int *own, uint64_t *bytes)
{
    settle_();
    uint32_t over = cc_load_relaxed(&forks_over_); /* relaxed: a count */
    int error = name ? open_path_("/dev/shm", name, O_NOFOLLOW, own) : open_again_(descriptor, own);
    if (error != 0) return error == ELOOP || error == EISDIR ? EPROTO : error == EPERM ? EACCES : error;
    if (!name) {
        long seals = SYSTEM_CALL(SYS_fcntl, *own, GET_SEALS_, 0);
        if (seals < 0 || !(seals & SEAL_SHRINK_)) error = EPROTO;
    }
    if (name && error == 0) error = check_owner_(*own);
    long end = SYSTEM_CALL(SYS_lseek, *own, (long)0, SEEK_TO_END_);
    *bytes = end < 0 ? 0 : (uint64_t)end;
    if (error == 0) error = keep_own_alone_(*own, over);
    if (error != 0) close_(*own);
    return error;
}

int cc_os_segment_unlink_(const char *name)
{
    char path[PATH_BYTES] = "/dev/shm";
    long result = SYSTEM_CALL(SYS_unlinkat, AT_FDCWD, strcat(path, name), 0);
    return result == 0 ? 0 : result == -EPERM ? EACCES : (int)-result;
}

/* The locks are those of the open file, not of the process or of a descriptor: closing another descriptor of the
 * segment does not give them up, and they go when the last one of this open file is closed. They are on the segment
 * itself. */
int cc_os_segment_place_locks_(int own, uint64_t *where)
{
    (void)own;
    *where = 0;
    return 0;
}

int cc_os_segment_find_locks_(int own, uint64_t where)
{
    (void)own;
    return where == 0 ? 0 : EPROTO;
}

/* The calls for locks of the open file take positions of 64 bits on every machine. */
#if defined(SYS_fcntl64)
enum { LOCK_CALL_ = SYS_fcntl64 };
#else
enum { LOCK_CALL_ = SYS_fcntl };
#endif

/* Takes or gives back locks. A call that fails tells nothing: then the other process counts as alive. */
static bool lock_call_(int own, uint32_t number, int64_t count, short type)
{
    struct {
        short type, whence;
        int64_t start, length;
        int32_t process;
    } lock;
    memset(&lock, 0, sizeof lock);
    lock.type = type;
    lock.start = number;
    lock.length = count;
    return SYSTEM_CALL(LOCK_CALL_, own, SET_LOCK_, &lock) == 0;
}

bool cc_os_segment_lock_(int own, uint32_t number)
{
    return lock_call_(own, number, 1, F_WRLCK);
}

bool cc_os_segment_lock_shared_(int own, uint32_t number)
{
    return lock_call_(own, number, 1, F_RDLCK);
}

void cc_os_segment_unlock_(int own, uint32_t number)
{
    (void)lock_call_(own, number, 1, F_UNLCK);
}

/* Gives the locks up first: a child that another thread has just forked may have the open file, and would keep them. */
void cc_os_segment_close_(int own)
{
    (void)lock_call_(own, 0, 0, F_UNLCK); /* all of them: a count of 0 is up to the end */
    close_own_(own);
}

#define CC_OS_HAS_WAIT_SEVERAL_
/* Linux has this call since 5.16. Its number is the same on every architecture that we know, and its times have 64 bits
 * on all of them. */
int cc_os_wait_several_(const cc_os_word_t *words, size_t count, uint64_t deadline)
{
    enum { NUMBER = 449, WORD_OF_32_BITS = 2, MONOTONIC = 1 };
    struct {
        uint64_t expected, address;
        uint32_t flags, reserved;
    } waiters[CC_OS_WORDS_MAX_];
    wide_time_t until = { (int64_t)(deadline / CC_NS_PER_S_), (int64_t)(deadline % CC_NS_PER_S_) };
    if (count == 0 || count > CC_OS_WORDS_MAX_) return ENOSYS;
    for (size_t i = 0; i < count; i++) {
        waiters[i].expected = words[i].expected;
        waiters[i].address = (uint64_t)(uintptr_t)words[i].word;
        waiters[i].flags = (uint32_t)(WORD_OF_32_BITS | (words[i].in_segment ? 0 : FUTEX_PRIVATE_));
        waiters[i].reserved = 0;
    }
    long result =
        SYSTEM_CALL(NUMBER, waiters, (long)count, (long)0, deadline == CC_FOREVER ? NULL : &until, (long)MONOTONIC);
    if (result >= 0) return 0;
    return result == -EAGAIN || result == -EINTR || result == -ETIMEDOUT ? (int)-result : ENOSYS;
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
