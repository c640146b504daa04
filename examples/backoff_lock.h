/* backoff_lock.h: the textbook exponential-backoff lock, one word, on nothing but cc_backoff_jitter.
 *
 * It never sleeps and needs no system, so it is also the lock for CC_FREESTANDING. Where threads may outnumber CPUs, or
 * a section may be long, take cc_lock_t, which sleeps. */
#ifndef BACKOFF_LOCK_H
#define BACKOFF_LOCK_H

#include <concede/atomic.h>
#include <concede/backoff.h>

typedef uint32_t backoff_lock; /* 0: free; 1: engaged */

/* `random` is the calling thread's own, kept from call to call, so that no two threads back off in step. */
static inline void backoff_lock_acquire(backoff_lock *lock, uint32_t *random)
{
    cc_backoff_t backoff = CC_BACKOFF_INIT;
    for (;;) {
        while (cc_load_relaxed(lock) != 0) cc_pause(); /* reading only: who holds it keeps its line */
        if (cc_exchange_acquire(lock, 1) == 0) return;
        cc_backoff_jitter(&backoff, random); /* another was faster */
    }
}

static inline void backoff_lock_release(backoff_lock *lock)
{
    cc_store_release(lock, 0);
}

#endif
