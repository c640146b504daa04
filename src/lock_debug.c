/* lock_debug.c: what code that was compiled with CC_DEBUG asks about each lock that it takes and releases.
 *
 * A table says which thread holds which lock, as far as both calls were compiled with CC_DEBUG. A lock has one place in
 * it, by its address; another lock that needs the place takes it, and mistakes with the first go unnoticed. So an entry
 * that is there says that this thread was the last to take this lock and has not released it. That is not enough to be
 * sure of a mistake, because the lock may have been set to CC_LOCK_INIT since, or freed and made again, and taken by
 * another thread which has not noted it yet: so a mistake must stay one while others had time to run. */
#include <concede/lock.h>

#include <stdio.h>
#include <stdlib.h>

#include "debug.h"
#include "os.h"

static uint32_t threads_;   /* how many have a number */
static uint32_t elsewhere_; /* the last number that was the parent's before the fork; 0: there was none */
static uint32_t forks_;     /* the number of the fork for which that is so */

/* Called in the child of a fork, before any of its threads gets a number. If two of them come at once, one may be taken
 * for a thread of the parent, and its mistakes go unnoticed. */
static void note_fork_(uint32_t forks)
{
    cc_store_relaxed(&elsewhere_, cc_load_relaxed(&threads_)); /* relaxed, both: numbers */
    cc_store_release(&forks_, forks);                          /* [debug.fork] pairs with the load below */
}

uint32_t cc_debug_thread_(void)
{
    static _Thread_local uint32_t number, numbered_at;
    uint32_t forks = cc_os_forks_();
    if (cc_load_acquire(&forks_) != forks) note_fork_(forks); /* [debug.fork] pairs with the store above */
    if (number == 0 || numbered_at != forks) {
        number = cc_fetch_add_relaxed(&threads_, 1) + 1; /* relaxed: each thread gets a number of its own */
        numbered_at = forks;
    }
    return number;
}

bool cc_debug_is_here_(uint32_t thread)
{
    return thread > cc_load_relaxed(&elsewhere_); /* relaxed: this thread has its number since */
}

void cc_debug_die_(const char *object, const void *address, const char *text, unsigned one, unsigned other)
{
    char sentence[120]; /* the longest takes 80, with two numbers of ten digits */
    (void)snprintf(sentence, sizeof sentence, text, one, other);
    /* One call, because other threads may write at the same time. */
    fprintf(stderr, "concede: %s %p %s\n", object, address, sentence);
    abort();
}

/* An entry is the address in units of 4 bytes, without what its place tells, and then the number of the thread, from 1;
 * 0: nobody. The table takes 8 KiB where an entry has 8 bytes, and a program that is not checked never touches them. */
enum { PLACES = 1024, THREAD_BITS = CC_DEBUG_THREAD_BITS_ };
static uintptr_t holders_[PLACES];

static uintptr_t *place_(const cc_lock_t *lock)
{
    return &holders_[(uintptr_t)lock / sizeof *lock % PLACES];
}

/* This thread's entry for the lock; 0 if there are too many threads. */
static uintptr_t entry_(const cc_lock_t *lock)
{
    uint32_t number = cc_debug_thread_();
    if (number >> THREAD_BITS != 0) return 0;
    return ((uintptr_t)lock / sizeof *lock / PLACES) << THREAD_BITS | number;
}

/* What the table says about the lock: 0, or the number of the thread that holds it. */
static uint32_t holder_(const cc_lock_t *lock)
{
    uintptr_t entry = cc_load_relaxed(place_(lock)); /* relaxed: our own, or a suspicion that still_() confirms */
    bool same = entry != 0 && (entry ^ entry_(lock)) >> THREAD_BITS == 0;
    uint32_t thread = cc_debug_thread_in_(entry);
    return same && cc_debug_is_here_(thread) ? thread : 0;
}

/* Whether the lock stays held, and by that thread as far as the table knows, while others had time to say otherwise:
 * 1000 yields take 0.6 ms with nobody else to run (`concede bench cas.yield` on AMD Zen 3), else a time slice each. */
static bool still_(const cc_lock_t *lock, uint32_t holder)
{
    for (int i = 0; i < 1000; i++) {
        uint32_t held = cc_load_relaxed(&lock->word) & CC_LOCK_HELD_; /* relaxed: where it matters it is our own */
        if (!held || holder_(lock) != holder) return false;
        cc_os_yield_();
    }
    return true;
}

static void die_(const char *what, const cc_lock_t *lock, uint32_t holder)
{
    cc_debug_die_("lock", lock, what, cc_debug_thread_(), holder);
}

void(cc_lock_debug_acquire_)(const cc_lock_t *lock)
{
    uint32_t own = cc_debug_thread_in_(entry_(lock));
    if (own != 0 && holder_(lock) == own && still_(lock, own))
        die_("is acquired again by thread %u, which holds it", lock, own);
}

bool(cc_lock_debug_acquired_)(const cc_lock_t *lock, bool acquired)
{
    if (acquired) cc_store_relaxed(place_(lock), entry_(lock)); /* relaxed: as holder_() */
    return acquired;
}

void(cc_lock_debug_release_)(const cc_lock_t *lock)
{
    uintptr_t own = entry_(lock);
    uint32_t holder = holder_(lock);
    uint32_t held = cc_load_relaxed(&lock->word) & CC_LOCK_HELD_; /* relaxed: our own */
    if (!held) die_("is released by thread %u, but nobody holds it", lock, 0);
    if (holder != 0 && holder != cc_debug_thread_in_(own) && still_(lock, holder))
        die_("is released by thread %u, which does not hold it: thread %u does", lock, holder);
    /* relaxed: as holder_(); another lock may have the place by now */
    cc_cas_relaxed(place_(lock), &own, (uintptr_t)0);
}
