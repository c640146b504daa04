/* os_segments.h: what the segments of all Unix systems share: the table of those that this process has open, and how
 * one is mapped. os_linux_segments.h and os_shm.h include it. Before it there are
 *
 *   close_(descriptor)    close() that is no cancellation point and leaves errno alone
 *   ANONYMOUS_            flags of mmap() for private memory
 *   forget_in_child_()    what else a child of fork() has to forget */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* A child of fork() has the descriptors and the memory of its parent, each of which holds the open file, and must not
 * keep what is the parent's; so it closes and covers them first of all. The table says which. Another thread of the
 * parent may be opening or closing a segment meanwhile:
 *
 *   it has opened the file, and not entered it yet     it sees by the counts that a fork came in between, and takes no
 *                                                      lock by an open file that a child may have: keep_own_alone_()
 *   it is mapping the file                             the entry says where, before anything is mapped there
 *   it is closing the file                             it has given its locks back before it removes the entry */
enum { OWN_MAX = 1024 };  /* segments open at a time: as many as a process may have descriptors, by default */
static int own_[OWN_MAX]; /* descriptor + 1; 0: no entry */
static struct {
    unsigned char *at; /* NULL: not mapped */
    size_t header, gap, bytes;
} mapped_[OWN_MAX];                        /* of the entry of own_ */
static uint32_t forks_begun_, forks_over_; /* how many forks the threads of this process have begun and ended */
static uint32_t forks_;                    /* how many forks lie between this process and the first one */
static int process_;                       /* the number of the process whose table it is */
static pthread_once_t at_fork_ = PTHREAD_ONCE_INIT;

/* Covers what was mapped there. The addresses stay taken, so that whoever unmaps them unmaps nothing else. */
static void cover_(unsigned char *at, size_t bytes)
{
    (void)mmap(at, bytes, PROT_NONE, MAP_FIXED | ANONYMOUS_, -1, 0);
}

static void begin_fork_(void)
{
    (void)cc_fetch_add_relaxed(&forks_begun_, 1); /* relaxed: keep_own_alone_() says what orders it */
}

static void end_fork_in_parent_(void)
{
    /* relaxed, all: a count. A fork that began before these handlers were set up was not counted. */
    if (cc_load_relaxed(&forks_over_) != cc_load_relaxed(&forks_begun_)) (void)cc_fetch_add_relaxed(&forks_over_, 1);
}

/* A handler of the program's that runs before this one may have called the library, and by that this function: then
 * there is nothing left to do. */
static void end_fork_in_child_(void)
{
    if (forks_over_ == forks_begun_) return;
    for (int i = 0; i < OWN_MAX; i++) {
        int entry = cc_exchange_relaxed(&own_[i], 0); /* relaxed: the child has one thread */
        if (entry != 0) close_(entry - 1);
        if (!mapped_[i].at) continue;
        /* The private memory in the middle stays: a child that closes what it inherited looks there. */
        size_t rest = mapped_[i].header + mapped_[i].gap;
        cover_(mapped_[i].at, mapped_[i].header);
        cover_(mapped_[i].at + rest, mapped_[i].bytes - mapped_[i].header);
        mapped_[i].at = NULL;
    }
    forget_in_child_();
    forks_over_ = forks_begun_;
    forks_++;
    process_ = (int)getpid();
}

static void set_up_fork_(void)
{
    cc_store_relaxed(&process_, (int)getpid()); /* relaxed: a process has one number */
    (void)pthread_atfork(begin_fork_, end_fork_in_parent_, end_fork_in_child_);
}

/* What a call that uses the table does first of all. */
static void settle_(void)
{
    pthread_once(&at_fork_, set_up_fork_);
    if (cc_load_relaxed(&process_) != (int)getpid()) end_fork_in_child_(); /* relaxed: as above */
}

static int keep_own_(int descriptor)
{
    settle_();
    for (int i = 0; i < OWN_MAX; i++) {
        int none = 0;
        if (cc_cas_relaxed(&own_[i], &none, descriptor + 1)) return 0; /* relaxed: a list, and nothing hangs on it */
    }
    return ENOMEM;
}

static void forget_own_(int own)
{
    for (int i = 0; i < OWN_MAX; i++) {
        int entry = own + 1;
        if (cc_load_relaxed(&own_[i]) == entry) mapped_[i].at = NULL; /* relaxed: the caller's own entry */
        if (cc_cas_relaxed(&own_[i], &entry, 0)) break;               /* relaxed: as above */
    }
}

static void close_own_(int own)
{
    forget_own_(own);
    close_(own);
}

uint32_t cc_os_forks_(void)
{
    settle_();
    return forks_;
}

/* A segment counts as a file, and one that is made larger than the process may make files ends it by SIGXFSZ. */
static bool may_have_(size_t bytes)
{
    struct rlimit limit;
    int saved = errno;
    bool may =
        getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || bytes <= (uint64_t)limit.rlim_cur;
    errno = saved;
    return may;
}

static bool map_at_(void *at, size_t bytes, int flags, int own, size_t offset)
{
    return mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_FIXED | flags, own, (off_t)offset) != MAP_FAILED;
}

static bool map_parts_(unsigned char *at, int own, size_t header, size_t gap, size_t bytes)
{
    return map_at_(at, header, MAP_SHARED, own, 0) && map_at_(at + header, gap, ANONYMOUS_, -1, 0) &&
           map_at_(at + header + gap, bytes - header, MAP_SHARED, own, header);
}

/* The entry is complete before the file is mapped: each of these calls takes the lock of the process's memory, as a
 * fork does, so a child that has the file's memory has the entry, too. */
void *cc_os_segment_map_(int own, size_t header, size_t gap, size_t bytes)
{
    int saved = errno, i = 0;
    while (i < OWN_MAX && cc_load_relaxed(&own_[i]) != own + 1) i++; /* relaxed: the caller's own entry */
    if (i == OWN_MAX) return NULL;
    mapped_[i].header = header;
    mapped_[i].gap = gap;
    mapped_[i].bytes = bytes;
    unsigned char *at = (unsigned char *)mmap(NULL, bytes + gap, PROT_NONE, ANONYMOUS_, -1, 0);
    if (at != MAP_FAILED) {
        mapped_[i].at = at;
        if (!map_parts_(at, own, header, gap, bytes)) {
            mapped_[i].at = NULL;
            munmap(at, bytes + gap);
            at = (unsigned char *)MAP_FAILED;
        }
    }
    errno = saved;
    return at == MAP_FAILED ? NULL : at;
}

void cc_os_segment_unmap_(void *mapping, size_t gap, size_t bytes)
{
    int saved = errno;
    munmap(mapping, bytes + gap);
    errno = saved;
}
