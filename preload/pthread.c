/* pthread.c: a program's mutexes and condition variables on cc_lock and cc_event, for LD_PRELOAD.
 *
 * The objects lie where the program has them. A pthread_mutex_t that is all zero is a free cc_lock_t, a pthread_cond_t
 * that is all zero is a cc_event_t with nobody there, and the C library's static initialisers are zero but for the
 * mutex's kind, which stays where it is. Robust, priority-inheriting, priority-protected and process-shared ones go on
 * to the C library untouched, and so does everything if CONCEDE_PTHREAD_KEEP is set.
 *
 * Every call looks at two words of the object and one of ours, `settled`. If they say that it is a plain object of this
 * process, and that nobody watches, the call is inlined concede and nothing else. Everything else goes the slow way:
 *
 *     first call ever    start() has to look at the environment
 *     watching, keeping  `settled` has a value that no object has
 *     other kinds        recursive and error-checking ones know their owner; some are the C library's
 *     after a fork       an object may count waiters that exist in the parent only: the first call on it in the child
 *                        puts it in order (settle) and notes that in it
 *
 * A condition variable's wait announces itself to the event, unlocks, sleeps, locks: whoever changes the predicate
 * under the mutex does so after the announcement, so its signal finds the waiter. */
#include "watch.h"

#include <concede/atomic.h>
#include <concede/backoff.h>
#include <concede/event.h>
#include <concede/lock.h>
#include <concede/park.h>

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORT   __attribute__((visibility("default")))
#define CALLER() __builtin_extract_return_addr(__builtin_return_address(0))

/* A mutex as it lies in a pthread_mutex_t. */
typedef struct mutex {
    cc_lock_t lock;
    uint32_t depth;  /* of a recursive one: acquisitions, less one */
    uintptr_t owner; /* of a recursive or error-checking one: which thread; atomic */
    uint32_t kind;   /* the C library's own word */
    uint32_t forks;  /* how many forks away from the first process it was put in order; atomic */
} mutex_t;

CC_STATIC_ASSERT_(sizeof(mutex_t) <= sizeof(pthread_mutex_t), "it lies in place");
CC_STATIC_ASSERT_(offsetof(mutex_t, kind) == offsetof(pthread_mutex_t, __data.__kind), "static initialisers keep it");

/* The C library's kinds: two bits of type, what an old header or a lock elision may add, and flags of what is not
 * ours. */
enum { TYPE = 3, ELISION = 0x300, RECURSIVE = PTHREAD_MUTEX_RECURSIVE, ERRORCHECK = PTHREAD_MUTEX_ERRORCHECK };

/* A condition variable as it lies in a pthread_cond_t. The words between these are left to the C library: in one of
 * them it notes that a condition variable is process-shared. */
typedef struct cond {
    union {
        cc_event_t event;
        char room[28];
    } is;
    uint32_t left_28;
    uint32_t users; /* threads in a wait, who may touch it: destroy waits for them; atomic */
    uint32_t left_36;
    uint32_t forks; /* as in a mutex */
    uint32_t clock;
} cond_t;

CC_STATIC_ASSERT_(sizeof(cond_t) == sizeof(pthread_cond_t) && sizeof(cc_event_t) <= 28, "it lies in place");

/* Which word of a pthread_cond_t tells that it is process-shared, and which bit of it: asked of the C library at the
 * start, because its versions differ. */
static uint32_t shared_word, shared_bit;

/* What `forks` must be for the short way; BUSY: always the long one. */
enum { BUSY = -1 };
static uint32_t settled = (uint32_t)BUSY;
static uint32_t forks;
static bool keeping, watching;

/* Whether these are known: nobody has asked, one thread does, they are. */
enum { FRESH, STARTING, STARTED };
static uint32_t started; /* atomic */

static struct {
    int (*mutex_init)(pthread_mutex_t *, const pthread_mutexattr_t *);
    int (*mutex_destroy)(pthread_mutex_t *);
    int (*mutex_lock)(pthread_mutex_t *);
    int (*mutex_trylock)(pthread_mutex_t *);
    int (*mutex_timedlock)(pthread_mutex_t *, const struct timespec *);
    int (*mutex_clocklock)(pthread_mutex_t *, clockid_t, const struct timespec *);
    int (*mutex_unlock)(pthread_mutex_t *);
    int (*cond_init)(pthread_cond_t *, const pthread_condattr_t *);
    int (*cond_destroy)(pthread_cond_t *);
    int (*cond_wait)(pthread_cond_t *, pthread_mutex_t *);
    int (*cond_timedwait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    int (*cond_clockwait)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
    int (*cond_signal)(pthread_cond_t *);
    int (*cond_broadcast)(pthread_cond_t *);
    int (*cancel)(pthread_t);
    int (*register_atfork)(void (*)(void), void (*)(void), void (*)(void), void *);
} libc;

/* What there is of each thread that waited for a condition variable, or that is watched. */
typedef struct thread {
    pthread_t id;
    cc_event_t *event; /* that it waits for; atomic */
    cc_lock_t lock;    /* held by who wakes it there, and to leave: then the event still exists */
    struct thread *next, **link;
    watch_thread_t *watch;
    bool known, ended, starts;
} thread_t;

/* Preloaded, so there is room for it in what every thread has from its start, and no allocation at its first use. */
static __attribute__((tls_model("initial-exec"))) _Thread_local thread_t self;
static thread_t *threads;      /* those that may be cancelled in a wait */
static cc_lock_t threads_lock; /* guards that list */
static cc_lock_t settling;
static pthread_key_t at_thread_end;
static bool has_key;
static pthread_mutex_t between = PTHREAD_MUTEX_INITIALIZER; /* the C library's: see shared_wait_() */

/* ---- start, threads, fork ---- */

/* The C library's function, of the version that new programs get: before 2.3.2 condition variables were others. */
static void *next_(const char *name)
{
    void *found = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
    return found ? found : dlsym(RTLD_NEXT, name);
}

/* Makes a process-shared condition variable and looks which bit that has set. */
static bool find_shared_bit_(void)
{
    pthread_condattr_t attributes;
    uint32_t words[sizeof(pthread_cond_t) / 4];
    pthread_cond_t cond;
    memset(&cond, 0, sizeof cond);
    pthread_condattr_init(&attributes);
    pthread_condattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    libc.cond_init(&cond, &attributes);
    pthread_condattr_destroy(&attributes);
    memcpy(words, &cond, sizeof words);
    while (shared_word < sizeof words / 4 && !words[shared_word]) shared_word++;
    if (shared_word * 4 != offsetof(cond_t, left_28) && shared_word * 4 != offsetof(cond_t, left_36)) return false;
    shared_bit = words[shared_word];
    return true;
}

static void say_(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0) return;
}

/* The thread ends, and its memory is used again. */
static void leave_(void *unused)
{
    (void)unused;
    self.ended = true;
    if (self.known) {
        cc_lock_acquire(&threads_lock);
        *self.link = self.next;
        if (self.next) self.next->link = self.link;
        cc_lock_release(&threads_lock);
        self.known = false;
    }
    if (self.watch) watch_leave(self.watch);
    self.watch = NULL;
}

/* This thread as one that may be cancelled in a wait. One that has ended otherwise cannot be, and stays unknown. */
static void know_self_(void)
{
    if (self.known || self.ended || !has_key) return;
    self.id = pthread_self();
    self.known = true;
    pthread_setspecific(at_thread_end, &self);
    cc_lock_acquire(&threads_lock);
    self.next = threads;
    self.link = &threads;
    if (threads) threads->link = &self.next;
    threads = &self;
    cc_lock_release(&threads_lock);
}

static void before_fork_(void)
{
    cc_lock_acquire(&settling);
    cc_lock_acquire(&threads_lock);
}

static void after_fork_(void)
{
    cc_lock_release(&threads_lock);
    cc_lock_release(&settling);
}

/* In the child: only this thread exists, and every object has yet to be put in order. */
static void in_child_(void)
{
    cc_lock_t fresh = CC_LOCK_INIT;
    threads_lock = settling = self.lock = fresh;
    threads = self.known ? &self : NULL;
    self.next = NULL;
    self.link = &threads;
    forks++;
    if (settled != (uint32_t)BUSY) settled = forks;
    if (watching) watch_forked();
    self.watch = NULL;
}

/* Ours are registered before any of the program's: so they run last before a fork, when none of those locks any more,
 * and first after it. */
static void register_handlers_(void)
{
    static cc_lock_t once = CC_LOCK_INIT; /* pthread_once() may be a sanitizer's, which is not ready so early */
    static bool done;
    cc_lock_acquire(&once);
    if (!done) {
        void *found = next_("__register_atfork");
        memcpy(&libc.register_atfork, &found, sizeof found);
        libc.register_atfork(before_fork_, after_fork_, in_child_, NULL);
        done = true;
    }
    cc_lock_release(&once);
}

/* Whether somebody else's condition variables are in the program, which would call the C library's, past ours: in the
 * program itself, as ThreadSanitizer's are, or in its library, which comes after this one. */
static bool is_not_alone_(void)
{
    Dl_info first, here;
    void *found = dlsym(RTLD_DEFAULT, "pthread_cond_wait");
    if (dlsym(RTLD_DEFAULT, "__tsan_init")) return true;
    return found && dladdr(found, &first) && dladdr(&libc, &here) && first.dli_fbase != here.dli_fbase;
}

/* At the first call, which may be of another library's constructor or of a thread that it started: which way to go must
 * be known before any object is used, for good. Looking up the C library's functions may allocate, and an allocator may
 * lock, which leads here again. */
static CC_COLD_ void start_slow_(void)
{
    uint32_t fresh = FRESH;
    if (self.starts) return;
    if (!cc_cas_relaxed(&started, &fresh, STARTING)) { /* relaxed: only one gets it; the load below orders */
        while (cc_load_acquire(&started) != STARTED) sched_yield(); /* [preload.started] pairs with the store below */
        return;
    }
    self.starts = true;
    const struct {
        void *function;
        const char *name;
    } all[] = {
        { &libc.mutex_init, "pthread_mutex_init" },
        { &libc.mutex_destroy, "pthread_mutex_destroy" },
        { &libc.mutex_lock, "pthread_mutex_lock" },
        { &libc.mutex_trylock, "pthread_mutex_trylock" },
        { &libc.mutex_timedlock, "pthread_mutex_timedlock" },
        { &libc.mutex_clocklock, "pthread_mutex_clocklock" },
        { &libc.mutex_unlock, "pthread_mutex_unlock" },
        { &libc.cond_init, "pthread_cond_init" },
        { &libc.cond_destroy, "pthread_cond_destroy" },
        { &libc.cond_wait, "pthread_cond_wait" },
        { &libc.cond_timedwait, "pthread_cond_timedwait" },
        { &libc.cond_clockwait, "pthread_cond_clockwait" },
        { &libc.cond_signal, "pthread_cond_signal" },
        { &libc.cond_broadcast, "pthread_cond_broadcast" },
        { &libc.cancel, "pthread_cancel" },
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        void *found = next_(all[i].name);
        memcpy(all[i].function, &found, sizeof found);
    }
    keeping = getenv(KEEP_VARIABLE) != NULL;
    if (!keeping && is_not_alone_()) {
        say_("libconcede-pthread: others' condition variables are in the program, as ThreadSanitizer's are; the C "
             "library's locks stay\n");
        keeping = true;
    }
    if (!find_shared_bit_() && !keeping) {
        say_("libconcede-pthread: this C library's condition variables are not as expected; its own locks stay\n");
        keeping = true;
    }
    const char *record = getenv(RECORD_VARIABLE);
    watching = record && watch_start(record);
    has_key = pthread_key_create(&at_thread_end, leave_) == 0;
    register_handlers_();
    if (!watching && !keeping) cc_store_relaxed(&settled, forks); /* relaxed: who sees it needs nothing else */
    cc_store_release(&started, STARTED);                          /* [preload.started] pairs with the loads */
}

static void start_(void)
{
    /* [preload.started] pairs with the store in start_slow_() */
    if (CC_UNLIKELY_(cc_load_acquire(&started) != STARTED)) start_slow_();
}

static CC_COLD_ watch_thread_t *enter_(void)
{
    if (self.ended) return NULL;
    self.watch = watch_enter();
    if (has_key) pthread_setspecific(at_thread_end, &self);
    return self.watch;
}

/* Where what this thread does is counted; NULL: nobody watches. Starts, if that has not been done. */
CC_INLINE_ watch_thread_t *watch_(void)
{
    if (self.watch) return self.watch;
    start_();
    return watching ? enter_() : NULL;
}

/* What pthread_atfork() calls. It may be so early that there is no environment to look at yet. */
EXPORT int __register_atfork(void (*before)(void), void (*after)(void), void (*in_child)(void), void *library)
{
    register_handlers_();
    return libc.register_atfork(before, after, in_child, library);
}

/* The first announcement to any event asks the kernel for membarrier, which makes a process of several threads wait for
 * some 15 ms (measured on Linux 6.18), and one of a single thread not at all: so it is made here. */
static __attribute__((constructor)) void loaded_(void)
{
    cc_event_t first = CC_EVENT_INIT;
    start_();
    if (!keeping) {
        (void)!cc_event_listen(&first);
        cc_event_cancel(&first);
    }
}

static __attribute__((destructor)) void exits_(void)
{
    if (watching) watch_exits();
}

/* ---- deadlines ---- */

/* Until when a call may wait; `at` NULL: for ever. */
typedef struct limit {
    clockid_t clock;
    const struct timespec *at;
} limit_t;

static const limit_t for_ever = { CLOCK_MONOTONIC, NULL };

static bool is_valid_(limit_t limit)
{
    return limit.at->tv_nsec >= 0 && limit.at->tv_nsec < 1000000000;
}

static uint64_t nanoseconds_(const struct timespec *time)
{
    if (time->tv_sec < 0) return 0;
    if ((uint64_t)time->tv_sec >= CC_FOREVER / 1000000000 - 1) return CC_FOREVER - 1;
    return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec;
}

static bool has_passed_(limit_t limit)
{
    struct timespec now;
    clock_gettime(limit.clock, &now);
    return nanoseconds_(&now) >= nanoseconds_(limit.at);
}

/* The monotonic deadline for the next sleep. Somebody may set the real-time clock while we sleep, so a sleep by that
 * clock lasts at most a second, and then has_passed_() asks again. */
enum { SLICE_NS = 1000000000 };
static uint64_t deadline_(limit_t limit)
{
    struct timespec now;
    if (!limit.at) return CC_FOREVER;
    uint64_t at = nanoseconds_(limit.at);
    if (limit.clock == CLOCK_MONOTONIC) return at;
    clock_gettime(limit.clock, &now);
    uint64_t since = nanoseconds_(&now), left = at > since ? at - since : 0;
    return cc_deadline_in(left < SLICE_NS ? left : SLICE_NS);
}

/* ---- mutexes ---- */

static mutex_t *mutex_(pthread_mutex_t *mutex)
{
    return (mutex_t *)(void *)mutex;
}

static bool is_plain_(const mutex_t *m)
{
    uint32_t known = cc_load_acquire(&m->forks); /* [preload.settled] pairs with the store in settle_mutex_() */
    uint32_t wanted = cc_load_relaxed(&settled); /* relaxed: a number on its own */
    return CC_LIKELY_((m->kind | (known ^ wanted)) == 0);
}

/* Whether it is the C library's. */
static bool is_libc_mutex_(pthread_mutex_t *mutex)
{
    return keeping || (mutex_(mutex)->kind & ~(uint32_t)(TYPE | ELISION)) != 0;
}

/* The first use of a mutex since a fork, in the child. If it is not free, the thread that forked has it, and the lock
 * may count waiters that are only in the parent: so it is made anew and taken again, in the name of its owner. */
static void settle_mutex_(mutex_t *m)
{
    if (CC_LIKELY_(cc_load_acquire(&m->forks) == forks)) return; /* [preload.settled] pairs with the store below */
    cc_lock_t fresh = CC_LOCK_INIT;
    cc_lock_acquire(&settling);
    if (m->forks != forks) {
        if (cc_lock_try_acquire(&m->lock)) {
            cc_lock_release(&m->lock);
        } else {
            m->lock = fresh;
            (void)!cc_lock_try_acquire(&m->lock);
        }
        cc_store_release(&m->forks, forks); /* [preload.settled] pairs with the load above */
    }
    cc_lock_release(&settling);
}

static bool is_recursive_(const mutex_t *m)
{
    return (m->kind & TYPE) == RECURSIVE;
}

static bool knows_owner_(const mutex_t *m)
{
    return is_recursive_(m) || (m->kind & TYPE) == ERRORCHECK;
}

static bool is_owner_(const mutex_t *m)
{
    return cc_load_relaxed(&m->owner) ==
           (uintptr_t)pthread_self(); /* relaxed: only this thread writes its own name there */
}

/* The C library's result, or ours. */
static int trylock_(pthread_mutex_t *mutex)
{
    mutex_t *m = mutex_(mutex);
    if (is_libc_mutex_(mutex)) return libc.mutex_trylock(mutex);
    settle_mutex_(m);
    if (is_recursive_(m) && is_owner_(m)) {
        if (m->depth == UINT32_MAX) return EAGAIN;
        m->depth++;
        return 0;
    }
    if (!cc_lock_try_acquire(&m->lock)) return EBUSY;
    if (knows_owner_(m)) cc_store_relaxed(&m->owner, (uintptr_t)pthread_self()); /* relaxed: see is_owner_() */
    return 0;
}

/* After a trylock_() that said EBUSY. */
static int wait_for_lock_(pthread_mutex_t *mutex, limit_t limit)
{
    mutex_t *m = mutex_(mutex);
    if (is_libc_mutex_(mutex)) {
        if (!limit.at) return libc.mutex_lock(mutex);
        if (limit.clock == CLOCK_REALTIME) return libc.mutex_timedlock(mutex, limit.at);
        return libc.mutex_clocklock(mutex, limit.clock, limit.at);
    }
    if ((m->kind & TYPE) == ERRORCHECK && is_owner_(m)) return EDEADLK;
    if (limit.at && !is_valid_(limit)) return EINVAL;
    while (!cc_lock_acquire_until(&m->lock, deadline_(limit)))
        if (has_passed_(limit)) return ETIMEDOUT;
    if (knows_owner_(m)) cc_store_relaxed(&m->owner, (uintptr_t)pthread_self()); /* relaxed: see is_owner_() */
    return 0;
}

static int lock_unwatched_(pthread_mutex_t *mutex, limit_t limit)
{
    int result = trylock_(mutex);
    return result == EBUSY ? wait_for_lock_(mutex, limit) : result;
}

/* Whether this result of a call says that it took the mutex. */
static bool has_(int result)
{
    return result == 0 || result == EOWNERDEAD;
}

static CC_NOINLINE_ int lock_(pthread_mutex_t *mutex, limit_t limit, const void *caller)
{
    watch_thread_t *watch = watch_();
    if (!watch) {
        if (is_libc_mutex_(mutex)) return wait_for_lock_(mutex, limit);
        return lock_unwatched_(mutex, limit);
    }
    record_entry_t *entry = watch_look_up(watch, mutex, caller);
    int result = trylock_(mutex);
    uint64_t now = watch_ticks();
    if (result == EBUSY) {
        uint64_t began = now;
        entry = watch_waits(watch, mutex, caller, began);
        result = wait_for_lock_(mutex, limit);
        now = watch_ticks();
        watch_waited(watch, entry, has_(result) || result == ETIMEDOUT, now - began);
    }
    if (has_(result)) watch_acquired(watch, entry, mutex, caller, is_recursive_(mutex_(mutex)), now);
    return result;
}

/* Programs unlock what is not locked, and the C library lets them. */
static void release_(mutex_t *m)
{
    uint32_t seen = cc_load_relaxed(&m->lock.word); /* relaxed: our own, or free */
    if (CC_LIKELY_(seen & CC_LOCK_HELD_)) cc_lock_release(&m->lock);
}

static int unlock_unwatched_(pthread_mutex_t *mutex)
{
    mutex_t *m = mutex_(mutex);
    if (is_libc_mutex_(mutex)) return libc.mutex_unlock(mutex);
    settle_mutex_(m);
    if (knows_owner_(m)) {
        if (!is_owner_(m)) return EPERM;
        if (m->depth > 0) {
            m->depth--;
            return 0;
        }
        cc_store_relaxed(&m->owner, 0); /* relaxed: see is_owner_() */
    }
    release_(m);
    return 0;
}

static CC_NOINLINE_ int unlock_(pthread_mutex_t *mutex)
{
    watch_thread_t *watch = watch_();
    uint64_t now = watch ? watch_ticks() : 0;
    int result = unlock_unwatched_(mutex);
    if (watch && result == 0) watch_released(watch, mutex, now);
    return result;
}

EXPORT int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes)
{
    int type = PTHREAD_MUTEX_DEFAULT, protocol = PTHREAD_PRIO_NONE, shared = PTHREAD_PROCESS_PRIVATE;
    int robust = PTHREAD_MUTEX_STALLED;
    start_();
    if (attributes) {
        pthread_mutexattr_gettype(attributes, &type);
        pthread_mutexattr_getprotocol(attributes, &protocol);
        pthread_mutexattr_getpshared(attributes, &shared);
        pthread_mutexattr_getrobust(attributes, &robust);
    }
    if (keeping || protocol != PTHREAD_PRIO_NONE || shared != PTHREAD_PROCESS_PRIVATE ||
        robust != PTHREAD_MUTEX_STALLED)
        return libc.mutex_init(mutex, attributes);
    memset(mutex, 0, sizeof *mutex);
    if (type == PTHREAD_MUTEX_RECURSIVE || type == PTHREAD_MUTEX_ERRORCHECK) mutex_(mutex)->kind = (uint32_t)type;
    mutex_(mutex)->forks = forks;
    return 0;
}

EXPORT int pthread_mutex_destroy(pthread_mutex_t *mutex)
{
    mutex_t *m = mutex_(mutex);
    start_();
    if (is_libc_mutex_(mutex)) return libc.mutex_destroy(mutex);
    settle_mutex_(m);
    if (!cc_lock_try_acquire(&m->lock)) return EBUSY;
    cc_lock_release(&m->lock);
    return 0;
}

EXPORT int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    mutex_t *m = mutex_(mutex);
    if (!is_plain_(m)) return lock_(mutex, for_ever, CALLER());
    cc_lock_acquire(&m->lock);
    return 0;
}

EXPORT int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    mutex_t *m = mutex_(mutex);
    if (is_plain_(m)) return cc_lock_try_acquire(&m->lock) ? 0 : EBUSY;
    watch_thread_t *watch = watch_();
    int result = trylock_(mutex);
    if (watch && has_(result)) watch_acquired(watch, NULL, mutex, CALLER(), is_recursive_(m), watch_ticks());
    return result;
}

EXPORT int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *at)
{
    limit_t limit = { clock, at };
    if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) return EINVAL;
    return lock_(mutex, limit, CALLER());
}

EXPORT int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *at)
{
    limit_t limit = { CLOCK_REALTIME, at };
    return lock_(mutex, limit, CALLER());
}

EXPORT int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    mutex_t *m = mutex_(mutex);
    if (!is_plain_(m)) return unlock_(mutex);
    release_(m);
    return 0;
}

/* ---- condition variables ---- */

static cond_t *cond_(pthread_cond_t *cond)
{
    return (cond_t *)(void *)cond;
}

static bool is_shared_(const pthread_cond_t *cond)
{
    uint32_t word;
    memcpy(&word, (const char *)cond + shared_word * 4, sizeof word);
    return (word & shared_bit) != 0;
}

static bool is_plain_cond_(pthread_cond_t *cond)
{
    uint32_t known =
        cc_load_acquire(&cond_(cond)->forks); /* [preload.settled] pairs with the store in settle_cond_() */
    return CC_LIKELY_(known == cc_load_relaxed(&settled) && !is_shared_(cond)); /* relaxed: as in is_plain_() */
}

/* As settle_mutex_(): whoever waited, did so in the parent. */
static void settle_cond_(cond_t *c)
{
    if (CC_LIKELY_(cc_load_acquire(&c->forks) == forks)) return; /* [preload.settled] pairs with the store below */
    cc_event_t fresh = CC_EVENT_INIT;
    cc_lock_acquire(&settling);
    if (c->forks != forks) {
        c->is.event = fresh;
        c->users = 0;
        cc_store_release(&c->forks, forks); /* [preload.settled] pairs with the load above */
    }
    cc_lock_release(&settling);
}

EXPORT int pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attributes)
{
    int shared = PTHREAD_PROCESS_PRIVATE;
    clockid_t clock = CLOCK_REALTIME;
    start_();
    if (attributes) {
        pthread_condattr_getpshared(attributes, &shared);
        pthread_condattr_getclock(attributes, &clock);
    }
    if (keeping || shared != PTHREAD_PROCESS_PRIVATE) return libc.cond_init(cond, attributes);
    memset(cond, 0, sizeof *cond);
    cond_(cond)->clock = (uint32_t)clock;
    cond_(cond)->forks = forks;
    return 0;
}

/* All who waited have been woken, but they may not have left yet, and still touch the event as they do. They need
 * nothing but a CPU for that. */
EXPORT int pthread_cond_destroy(pthread_cond_t *cond)
{
    cond_t *c = cond_(cond);
    cc_backoff_t backoff = CC_SNOOZE_INIT;
    cc_parker_t nobody = CC_PARKER_INIT;
    start_();
    if (keeping || is_shared_(cond)) return libc.cond_destroy(cond);
    settle_cond_(c);
    while (cc_load_acquire(&c->users) != 0) { /* [preload.users] pairs with the subtraction in waited_() */
        if (cc_backoff_is_completed(&backoff))
            (void)!cc_parker_park_timeout(&nobody, 50000);
        else
            cc_backoff_snooze(&backoff);
    }
    return 0;
}

/* Between two processes, with a mutex of ours, which the C library's wait cannot unlock: another mutex stands in for
 * it. A signal passes through it, too, so that it comes after the wait of a thread that unlocked before. */
static void pass_between_(void)
{
    libc.mutex_lock(&between);
    libc.mutex_unlock(&between);
}

static CC_COLD_ int notify_(pthread_cond_t *cond, bool all)
{
    start_();
    if (keeping || is_shared_(cond)) {
        if (!keeping) pass_between_();
        return all ? libc.cond_broadcast(cond) : libc.cond_signal(cond);
    }
    settle_cond_(cond_(cond));
    if (all)
        cc_event_notify_all(&cond_(cond)->is.event);
    else
        cc_event_notify_one(&cond_(cond)->is.event);
    return 0;
}

EXPORT int pthread_cond_signal(pthread_cond_t *cond)
{
    if (!is_plain_cond_(cond)) return notify_(cond, false);
    cc_event_notify_one(&cond_(cond)->is.event);
    return 0;
}

EXPORT int pthread_cond_broadcast(pthread_cond_t *cond)
{
    if (!is_plain_cond_(cond)) return notify_(cond, true);
    cc_event_notify_all(&cond_(cond)->is.event);
    return 0;
}

/* A wait in progress. `guard` is a second announcement, of a wait that sleeps in slices. */
typedef struct wait {
    cond_t *cond;
    pthread_mutex_t *mutex;
    uint32_t key, guard;
    bool announced, guarded, woken;
} wait_t;

/* The wait is over: takes back the announcements and leaves the event. */
static void waited_(wait_t *w)
{
    cond_t *c = w->cond;
    if (w->announced) cc_event_cancel(&c->is.event);
    if (w->guarded) cc_event_cancel(&c->is.event);
    if (self.known) {
        cc_lock_acquire(&self.lock);         /* whoever cancels this thread may be about to wake it there */
        cc_store_relaxed(&self.event, NULL); /* relaxed: the lock orders it */
        cc_lock_release(&self.lock);
    }
    cc_fetch_sub_release(&c->users, 1); /* [preload.users] pairs with the load in pthread_cond_destroy() */
}

/* The thread is cancelled in its wait. A signal that it may have had is passed on, and the mutex is locked before the
 * program's own clean-up runs. */
static void cancelled_(void *argument)
{
    wait_t *w = argument;
    if (w->woken) cc_event_notify_one(&w->cond->is.event);
    waited_(w);
    (void)lock_unwatched_(w->mutex, for_ever);
}

static void announce_(wait_t *w, limit_t limit)
{
    cc_event_t *event = &w->cond->is.event;
    if (limit.at && limit.clock != CLOCK_MONOTONIC) {
        w->guard = cc_event_listen(event);
        w->guarded = true;
    }
    w->key = cc_event_listen(event);
    w->announced = true;
}

/* Sleeps until it is woken or the limit has passed; returns which. A wait by the real-time clock sleeps in slices.
 * Between two of them nobody would see it, but for the guard: it is from before the first, and it ends only when the
 * next announcements stand, saying whether anybody has notified meanwhile. */
static int sleep_(wait_t *w, limit_t limit)
{
    cc_event_t *event = &w->cond->is.event;
    for (;;) {
        w->announced = false;
        w->woken = cc_event_wait_until(event, w->key, deadline_(limit));
        if (w->woken) return 0;
        if (!w->guarded || has_passed_(limit)) return ETIMEDOUT;
        uint32_t guard = w->guard;
        announce_(w, limit);
        w->woken = cc_event_wait_until(event, guard, 0);
        if (w->woken) return 0;
    }
}

/* An event counts only so many announcements, and a wait in slices may make three at a time. If too many threads are in
 * the wait already, this one sleeps outside for a while, and then wakes up for no reason, as any wait may. How long
 * grows with their number, so that all together wake up 10,000 times a second at most. */
enum { CROWD = CC_EVENT_LISTENING_ / 3, OUTSIDE_NS = 100000 };
static int sleep_outside_(limit_t limit, uint32_t users)
{
    cc_parker_t nobody = CC_PARKER_INIT;
    uint64_t until = cc_deadline_in((uint64_t)users * OUTSIDE_NS), deadline = deadline_(limit);
    (void)!cc_parker_park_until(&nobody, until < deadline ? until : deadline);
    return limit.at && has_passed_(limit) ? ETIMEDOUT : 0;
}

/* A thread may be cancelled here: it says where it waits, and then looks whether it is; who cancels it notes that, and
 * then looks where it waits. One of them sees the other. */
static int wait_(cond_t *c, pthread_mutex_t *mutex, limit_t limit)
{
    wait_t w = { c, mutex, 0, 0, false, false, false };
    int result;
    know_self_();
    uint32_t users = cc_fetch_add_relaxed(&c->users, 1); /* relaxed: the mutex orders it before a destroy */
    bool crowded = users >= CROWD;
    if (!crowded) {
        cc_store_relaxed(&self.event, &c->is.event); /* relaxed: the fence orders it */
        announce_(&w, limit);
    }
    result = unlock_unwatched_(mutex);
    if (result != 0) {
        waited_(&w);
        return result;
    }
    cc_fence_full(); /* [preload.cancel] pairs with the fence in pthread_cancel() */
    pthread_cleanup_push(cancelled_, &w);
    pthread_testcancel();
    result = crowded ? sleep_outside_(limit, users) : sleep_(&w, limit);
    pthread_testcancel();
    pthread_cleanup_pop(0);
    waited_(&w);
    int locked = lock_unwatched_(mutex, for_ever);
    return locked ? locked : result;
}

static int libc_wait_(pthread_cond_t *cond, pthread_mutex_t *mutex, limit_t limit, bool own_clock)
{
    if (!limit.at) return libc.cond_wait(cond, mutex);
    return own_clock ? libc.cond_timedwait(cond, mutex, limit.at)
                     : libc.cond_clockwait(cond, mutex, limit.clock, limit.at);
}

static void leave_between_(void *mutex)
{
    libc.mutex_unlock(&between);
    (void)lock_unwatched_(mutex, for_ever);
}

static int shared_wait_(pthread_cond_t *cond, pthread_mutex_t *mutex, limit_t limit, bool own_clock)
{
    int result;
    libc.mutex_lock(&between);
    result = unlock_unwatched_(mutex);
    if (result != 0) {
        libc.mutex_unlock(&between);
        return result;
    }
    pthread_cleanup_push(leave_between_, mutex);
    result = libc_wait_(cond, &between, limit, own_clock);
    pthread_cleanup_pop(1);
    return result;
}

static int wait_unwatched_(pthread_cond_t *cond, pthread_mutex_t *mutex, limit_t limit, bool own_clock)
{
    if (!keeping && !is_shared_(cond)) return wait_(cond_(cond), mutex, limit);
    if (is_libc_mutex_(mutex)) return libc_wait_(cond, mutex, limit, own_clock);
    return shared_wait_(cond, mutex, limit, own_clock);
}

/* A wait that is watched. */
typedef struct watched {
    watch_thread_t *watch;
    const void *cond, *mutex, *caller;
    uint64_t began;
} watched_t;

static void watched_cancelled_(void *argument)
{
    const watched_t *w = argument;
    watch_wait_ended(w->watch, w->cond, w->mutex, w->caller, false, w->began);
}

/* own_clock: the condition variable knows by which one. */
static int wait_any_(pthread_cond_t *cond, pthread_mutex_t *mutex, limit_t limit, bool own_clock, const void *caller)
{
    int result;
    start_();
    bool ours = !keeping && !is_shared_(cond);
    if (ours) settle_cond_(cond_(cond));
    if (ours && own_clock) limit.clock = (clockid_t)cond_(cond)->clock;
    if (limit.at && !is_valid_(limit)) return EINVAL;
    watched_t w = { watch_(), cond, mutex, caller, 0 };
    if (!w.watch) return wait_unwatched_(cond, mutex, limit, own_clock);
    w.began = watch_ticks();
    watch_wait_begins(w.watch, cond, mutex, caller, w.began);
    pthread_cleanup_push(watched_cancelled_, &w);
    result = wait_unwatched_(cond, mutex, limit, own_clock);
    pthread_cleanup_pop(0);
    watch_wait_ended(w.watch, cond, mutex, caller, result == 0, w.began);
    return result;
}

EXPORT int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    return wait_any_(cond, mutex, for_ever, true, CALLER());
}

EXPORT int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *at)
{
    limit_t limit = { CLOCK_REALTIME, at };
    return wait_any_(cond, mutex, limit, true, CALLER());
}

EXPORT int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
                                  const struct timespec *at)
{
    limit_t limit = { clock, at };
    if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) return EINVAL;
    return wait_any_(cond, mutex, limit, false, CALLER());
}

EXPORT int pthread_cancel(pthread_t id)
{
    start_();
    int result = libc.cancel(id);
    if (result != 0) return result;
    cc_fence_full(); /* [preload.cancel] pairs with the fence in wait_() */
    cc_lock_acquire(&threads_lock);
    thread_t *thread = threads;
    while (thread && !pthread_equal(thread->id, id)) thread = thread->next;
    if (thread) {
        cc_lock_acquire(&thread->lock);
        cc_event_t *event = cc_load_relaxed(&thread->event); /* relaxed: the fence orders it */
        if (event) cc_event_notify_all(event);
        cc_lock_release(&thread->lock);
    }
    cc_lock_release(&threads_lock);
    return 0;
}

/* Older names of the same. */
#define OLD_NAME(name) extern __typeof__(name) __##name EXPORT __attribute__((alias(#name), nothrow, leaf))
OLD_NAME(pthread_mutex_init);
OLD_NAME(pthread_mutex_destroy);
OLD_NAME(pthread_mutex_lock);
OLD_NAME(pthread_mutex_trylock);
OLD_NAME(pthread_mutex_unlock);
