/* os_shm.h: the part of os.h that stands under "Between processes", on what macOS and the BSDs have: shm_open() and
 * locks of a process. os_unix.h includes it.
 *
 * A segment without a name cannot be had so: ENOSYS. What is handed on is the same open file in both processes, and
 * neither can open it anew; a lock of the process on it would be lost when the caller closes its descriptor.
 *
 * Locks. What shm_open() opens takes none on macOS and FreeBSD. They are taken on a file beside it,
 * /tmp/concede-locks-N for user N: one for all segments of that user, each of which has 64 positions of its own in it.
 * The segment says which, and of which file. The file stays for good, so that no two processes can have different
 * ones.
 *
 * The locks are the process's. It would lose them by closing any descriptor of the file; so the file is opened once and
 * never closed. And a process is never in its own way; so a table says which segment holds which lock. A child of
 * fork() does not inherit them. */
#define CC_OS_HAS_SEGMENTS_
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

enum { ANONYMOUS_ = MAP_PRIVATE | MAP_ANON };
static void forget_in_child_(void);
#include "os_segments.h"

/* ---- Making and opening ----------------------------------------------------------------------------------------- */

/* Allocates all of the memory now, where it is a file, as on OpenBSD: if the file system were full later, touching the
 * memory would end the process. Elsewhere there is no file system, and nothing to be done. */
static int allocate_(int descriptor, size_t bytes)
{
    static const char zeros[4096];
    struct statvfs room;
    if (ftruncate(descriptor, (off_t)bytes) != 0) return ENOMEM;
    if (fstatvfs(descriptor, &room) != 0) return 0;
    if (room.f_frsize == 0 || bytes / room.f_frsize >= room.f_bavail) return ENOMEM;
    for (size_t at = 0; at < bytes;) {
        size_t left = bytes - at < sizeof zeros ? bytes - at : sizeof zeros;
        ssize_t written = pwrite(descriptor, zeros, left, (off_t)at);
        if (written > 0)
            at += (size_t)written;
        else if (errno != EINTR)
            return ENOMEM;
    }
    return 0;
}

static int open_name_(const char *name, int flags, int *own)
{
    *own = shm_open(name, O_RDWR | flags, 0600); /* closed on exec, as POSIX has it */
    if (*own >= 0) return 0;
    if (errno == ELOOP || errno == EISDIR) return EPROTO;
    if (errno == EMFILE || errno == ENFILE || errno == ENOSPC) return ENOMEM;
    return errno == EPERM ? EACCES : errno == ENAMETOOLONG ? EINVAL : errno;
}

int cc_os_segment_create_(const char *name, size_t bytes, int *own, int *handed_on)
{
    (void)handed_on;
    if (!name) return ENOSYS;
    if (!may_have_(bytes)) return ENOMEM;
    caller_t caller = enter_();
    int error = open_name_(name, O_CREAT | O_EXCL, own);
    if (error == 0) {
        error = allocate_(*own, bytes);
        if (error == 0) error = keep_own_(*own);
        if (error != 0) {
            (void)shm_unlink(name);
            close_(*own);
        }
    }
    leave_(caller);
    return error;
}

int cc_os_segment_open_(const char *name, int descriptor, int *own, uint64_t *bytes)
{
    struct stat status;
    (void)descriptor;
    if (!name) return ENOSYS;
    caller_t caller = enter_();
    int error = open_name_(name, 0, own);
    if (error == 0) {
        bool known = fstat(*own, &status) == 0;
        *bytes = known && status.st_size > 0 ? (uint64_t)status.st_size : 0;
        error = known && status.st_uid == geteuid() ? keep_own_(*own) : EACCES; /* its owner could cut it short */
        if (error != 0) close_(*own);
    }
    leave_(caller);
    return error;
}

int cc_os_segment_unlink_(const char *name)
{
    caller_t caller = enter_();
    int error = shm_unlink(name) == 0 ? 0 : errno == EPERM ? EACCES : errno;
    leave_(caller);
    return error;
}

/* ---- Locks ------------------------------------------------------------------------------------------------------ */

enum { FILES_MAX = 16, NUMBERS = 64, ID_BITS = 40 };

typedef struct lock_file {
    int descriptor; /* + 1; 0: no entry */
    uid_t owner;
    uint64_t identity; /* of the file, in a number */
} lock_file_t;

typedef struct place {
    int descriptor;  /* of the file with the locks */
    off_t first;     /* position of number 0 */
    uint64_t alone;  /* the numbers that this segment has alone: a bit for each */
    uint64_t shared; /* ... and those that it shares */
} place_t;

static pthread_mutex_t table_ = PTHREAD_MUTEX_INITIALIZER; /* of all below */
static lock_file_t files_[FILES_MAX];
static place_t places_[OWN_MAX]; /* of the entry of own_ */

static caller_t enter_table_(void)
{
    caller_t caller = enter_();
    pthread_mutex_lock(&table_);
    return caller;
}

static void leave_table_(caller_t caller)
{
    pthread_mutex_unlock(&table_);
    leave_(caller);
}

/* Another thread of the parent may have held the mutex. The files stay open, because the child may take locks of its
 * own. */
static void forget_in_child_(void)
{
    pthread_mutex_init(&table_, NULL);
    memset(places_, 0, sizeof places_);
}

static uint64_t mix_identity_(uint64_t a, uint64_t b)
{
    return (a * UINT64_C(0x9e3779b97f4a7c15) ^ b) * UINT64_C(0xff51afd7ed558ccd); /* odd numbers that spread bits */
}

/* Opens the file with the locks of a user's segments, and checks that it is one that nobody else can have made. */
static int open_locks_(uid_t owner, lock_file_t *file)
{
    char path[] = "/tmp/concede-locks-0000000000", *at = path + sizeof path - 1;
    struct stat status;
    bool ours = owner == geteuid();
    for (uint32_t digits = (uint32_t)owner; digits > 0; digits /= 10) *--at = (char)('0' + digits % 10);
    int descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (ours ? O_CREAT : 0), 0600);
    if (descriptor < 0) return errno == ENFILE || errno == EMFILE ? ENOMEM : EACCES;
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != owner || status.st_nlink != 1) {
        close_(descriptor); /* no lock is lost by it: it is not the file with the locks */
        return EACCES;
    }
    if (ours) (void)fchmod(descriptor, 0600); /* whatever the umask was */
    file->descriptor = descriptor + 1;
    file->owner = owner;
    file->identity = mix_identity_((uint64_t)status.st_dev, (uint64_t)status.st_ino) >> ID_BITS;
    return 0;
}

/* Finds the file with the locks of a segment, and opens it if this process has not done so yet. */
static int file_of_(int own, lock_file_t **file)
{
    struct stat status;
    if (fstat(own, &status) != 0) return EPROTO;
    for (int i = 0; i < FILES_MAX; i++) {
        *file = &files_[i];
        if (files_[i].descriptor == 0) return open_locks_(status.st_uid, *file);
        if (files_[i].owner == status.st_uid) return 0;
    }
    return ENOMEM;
}

static place_t *place_of_(int own)
{
    for (int i = 0; i < OWN_MAX; i++)
        if (cc_load_relaxed(&own_[i]) == own + 1) return &places_[i]; /* relaxed: the caller's own entry */
    return NULL;
}

static void set_place_(int own, const lock_file_t *file, uint64_t id)
{
    place_t place = { file->descriptor - 1, (off_t)(id * NUMBERS), 0, 0 };
    *place_of_(own) = place;
}

int cc_os_segment_place_locks_(int own, uint64_t *where)
{
    lock_file_t *file;
    caller_t caller = enter_table_();
    int error = file_of_(own, &file);
    if (error == 0) {
        /* No process makes two segments at the same nanosecond, and the pid keeps processes apart. */
        uint64_t id = mix_identity_((uint64_t)getpid(), cc_os_now_()) >> (64 - ID_BITS);
        *where = file->identity << ID_BITS | id;
        set_place_(own, file, id);
    }
    leave_table_(caller);
    return error;
}

int cc_os_segment_find_locks_(int own, uint64_t where)
{
    lock_file_t *file;
    caller_t caller = enter_table_();
    int error = file_of_(own, &file);
    if (error == 0 && where >> ID_BITS != file->identity) error = EPROTO; /* somebody has removed the file */
    if (error == 0) set_place_(own, file, where & ((UINT64_C(1) << ID_BITS) - 1));
    leave_table_(caller);
    return error;
}

/* How another segment that this process has open holds a lock. The system would not tell, because the lock is the
 * process's. */
typedef enum holding { NOT_HELD, HELD_SHARED, HELD_ALONE } holding_t;
static holding_t held_here_(const place_t *place, uint32_t number)
{
    holding_t held = NOT_HELD;
    for (int i = 0; i < OWN_MAX; i++) {
        const place_t *other = &places_[i];
        if (other == place || other->descriptor != place->descriptor || other->first != place->first) continue;
        if (other->alone >> number & 1) return HELD_ALONE;
        if (other->shared >> number & 1) held = HELD_SHARED;
    }
    return held;
}

/* Takes a lock or gives it back. A call that fails tells nothing: then the other process counts as alive. */
static bool lock_call_(const place_t *place, uint32_t number, short type)
{
    struct flock lock;
    memset(&lock, 0, sizeof lock);
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = place->first + (off_t)number;
    lock.l_len = 1;
    return fcntl(place->descriptor, F_SETLK, &lock) == 0;
}

static void forget_(place_t *place, uint32_t number)
{
    place->alone &= ~(UINT64_C(1) << number);
    place->shared &= ~(UINT64_C(1) << number);
}

bool cc_os_segment_lock_(int own, uint32_t number)
{
    caller_t caller = enter_table_();
    place_t *place = place_of_(own);
    bool taken = held_here_(place, number) == NOT_HELD && lock_call_(place, number, F_WRLCK);
    if (taken) {
        forget_(place, number);
        place->alone |= UINT64_C(1) << number;
    }
    leave_table_(caller);
    return taken;
}

bool cc_os_segment_lock_shared_(int own, uint32_t number)
{
    caller_t caller = enter_table_();
    place_t *place = place_of_(own);
    bool taken = held_here_(place, number) != HELD_ALONE && lock_call_(place, number, F_RDLCK);
    if (taken) place->shared |= UINT64_C(1) << number;
    leave_table_(caller);
    return taken;
}

/* Gives a lock up. The process gives it back when none of its segments has it any more. */
static void unlock_(place_t *place, uint32_t number)
{
    forget_(place, number);
    if (held_here_(place, number) == NOT_HELD) (void)lock_call_(place, number, F_UNLCK);
}

void cc_os_segment_unlock_(int own, uint32_t number)
{
    caller_t caller = enter_table_();
    unlock_(place_of_(own), number);
    leave_table_(caller);
}

void cc_os_segment_close_(int own)
{
    caller_t caller = enter_table_();
    place_t *place = place_of_(own);
    for (uint32_t number = 0; number < NUMBERS; number++)
        if ((place->alone | place->shared) >> number & 1) unlock_(place, number);
    memset(place, 0, sizeof *place);
    close_own_(own);
    leave_table_(caller);
}

/* ---- Fences ----------------------------------------------------------------------------------------------------- */

/* None of these systems has the asymmetric fence, so cc_fence_light_() is a full one in every process. */
bool cc_os_membarrier_shared_register_(void)
{
    return true;
}

bool cc_os_membarrier_shared_(void)
{
    cc_fence_full(); /* [shared.announce] pairs with cc_fence_light_() */
    return true;
}
