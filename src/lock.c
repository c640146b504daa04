/* lock.c: the waiting half of lock.h. */
#include <concede/lock.h>

#include <concede/backoff.h>

#include <stdio.h>
#include <stdlib.h>

#include "costs.h"
#include "os.h"

/* The word:
 *   bit 0       HELD      somebody has it
 *   bit 1       PARKED    somebody may sleep: the release wakes one
 *   bits 8..31  OWED      how many waiters are owed the lock: until it is 0, only one who has slept may take it
 *
 *   from                  to                         by
 *   free: 0, PARKED       HELD                       anybody: takes it. PARKED goes: the release that left it wakes one, and
 *                                                    from here on it is the woken one who remembers that others may sleep
 *   free: 0, PARKED       HELD PARKED                one who has slept: others may still
 *   HELD ...              the same but HELD          the holder: gives it up, then wakes one if PARKED
 *   HELD ...              the same and PARKED        one who goes to sleep, or who has slept and gives up waiting
 *   HELD ...              the same and OWED + 1      one who has waited too long
 *   OWED ...              HELD PARKED OWED ...       one who has slept: takes what was handed over; OWED - 1 if it was owed
 *
 * So giving up is one subtraction, and it hands over while somebody is owed the lock: a newcomer finds it neither free nor
 * held, and waits. That is never left behind, because whoever is owed the lock takes it before it may give up waiting.
 *
 * No wake-up is lost: going to sleep and giving up are both read-modify-writes of the one word, so either the release sees
 * PARKED, or the sleeper's compare-and-swap fails; and the kernel compares the word again as it puts the sleeper to sleep.
 * Whoever was woken, or may have been, leaves PARKED behind in every way it can go: with the lock, back to sleep, or away. */
enum { FREE = CC_LOCK_FREE_, HELD = CC_LOCK_HELD_, PARKED = 2, OWED = 1 << 8 };

/* Times, because pauses differ by ten between CPUs. Chosen on 2 CPUs of AMD Zen 3 under KVM with `concede bench lock`:
 *   MIN..   the range of the random interval between two looks. It starts long: each look takes the line from the holder
 *   ..MAX   for some 200 ns, and between two looks the holder gets on at full speed
 *   SPIN    all spinning of one wait, before it sleeps
 *   OWED    from the first sleep to being owed the lock */
#if !defined(CC_LOCK_SPIN_NS)
#define CC_LOCK_SPIN_NS 20000
#endif
enum { MIN_NS = 1000, MAX_NS = 8000, OWED_NS = 1000000 };

/* Different in every thread, because their stacks are; never 0. */
static uint32_t seed_(uintptr_t at)
{
    return ((uint32_t)(at >> 4) ^ (uint32_t)(at >> 20)) * UINT32_C(2654435761) | 1;
}

static bool is_free_(uint32_t seen)
{
    return !(seen & HELD) && seen < OWED;
}

static bool take_free_(cc_lock_t *lock, uint32_t as)
{
    uint32_t seen = cc_load_relaxed(&lock->word); /* relaxed: the swap decides; reading leaves the line shared */
    return is_free_(seen) && cc_cas_acquire(&lock->word, &seen, as); /* [lock.word] pairs with the release */
}

bool cc_lock_try_acquire_slow_(cc_lock_t *lock)
{
    return take_free_(lock, HELD);
}

/* Looks at once and after one pause, because a short section may have ended by now, then at random intervals whose range
 * doubles, for about `ns`. From the second interval on it may be that the holder waits for a CPU, perhaps for this one: a
 * yield lets it run, and costs less than an interval where nobody else wants the CPU. But it may last for milliseconds, so
 * not with a deadline. */
static bool spin_(cc_lock_t *lock, uint64_t ns, uint32_t as, bool yields)
{
    cc_backoff_t backoff;
    uint32_t rng = seed_((uintptr_t)&backoff), spun = 0, budget = cc_backoff_pauses_(ns), seen = FREE;
    if (take_free_(lock, as)) return true;
    cc_pause();
    if (cc_cas_acquire(&lock->word, &seen, as)) return true; /* [lock.word] as above; most likely free: no look before it */
    cc_backoff_init_ns(&backoff, MIN_NS, MAX_NS);
    while (spun < budget) {
        uint32_t word = cc_load_relaxed(&lock->word); /* relaxed: the swap in the caller takes it */
        if ((as & PARKED) && !(word & HELD)) return false;
        if (yields && spun > 0) cc_os_yield_();
        uint32_t pauses = backoff.current / 2 + 1; /* on average */
        spun = pauses < UINT32_MAX - spun ? spun + pauses : UINT32_MAX;
        cc_backoff_jitter(&backoff, &rng);
        if (take_free_(lock, as)) return true;
    }
    return false;
}

bool cc_lock_acquire_slow_(cc_lock_t *lock, uint64_t deadline)
{
    bool can_spin = cc_costs_may_spin_(), yields = deadline == CC_FOREVER, slept = false, owed = false, expired = false;
    uint64_t since = 0;
    uint64_t now = deadline == CC_FOREVER ? 0 : cc_os_now_(), spin = CC_LOCK_SPIN_NS;
    if (now >= deadline) return take_free_(lock, HELD);
    if (deadline - now < spin) spin = deadline - now;
    if (can_spin && spin_(lock, spin, HELD, yields)) return true;
    for (;;) {
        uint32_t seen = cc_load_relaxed(&lock->word); /* relaxed: each way on goes through a swap of it */
        uint32_t repaid = owed ? OWED : 0;
        if (is_free_(seen)) {
            if (cc_cas_acquire(&lock->word, &seen, slept ? HELD | PARKED : HELD)) return true; /* [lock.word] as above */
        } else if (slept && !(seen & HELD)) {
            uint32_t taken = (seen | HELD | PARKED) - repaid;
            if (cc_cas_acquire(&lock->word, &seen, taken)) return true; /* [lock.word] pairs with the handing over */
        } else if (expired) {
            if (cc_cas_relaxed(&lock->word, &seen, (seen | PARKED) - repaid)) return false; /* relaxed: passes on no data */
        } else if (slept && !owed && cc_os_now_() - since >= OWED_NS) {
            if (!cc_cas_relaxed(&lock->word, &seen, seen + OWED)) continue; /* relaxed: passes on no data */
            owed = true; /* the next release hands it over: worth a look or two before sleeping again */
            for (uint32_t i = can_spin ? cc_backoff_pauses_(CC_LOCK_SPIN_NS) : 0; i > 0; i--) {
                if (!(cc_load_relaxed(&lock->word) & HELD)) break; /* relaxed: taken by the swap above */
                cc_pause();
            }
        } else if ((seen & PARKED) || cc_cas_relaxed(&lock->word, &seen, seen | PARKED)) { /* relaxed: passes on no data */
            if (!slept) since = cc_os_now_();
            int woken = cc_os_wait_(&lock->word, seen | PARKED, deadline);
            slept = slept || woken != EAGAIN; /* else it is a newcomer still: what is handed over is not for it */
            expired = woken == ETIMEDOUT && cc_os_now_() >= deadline;
            if (woken == 0 && can_spin && spin_(lock, spin, HELD | PARKED, yields)) return true;
        }
    }
}

/* As long as nobody has measured what a pause takes it counts as 40 ns: measuring calls the system. */
void cc_lock_acquire_spin_slow_(cc_lock_t *lock)
{
    cc_backoff_t backoff;
    uint32_t rng = seed_((uintptr_t)&backoff);
    cc_backoff_init(&backoff, MIN_NS / 40, MAX_NS / 40);
    while (!cc_costs_are_known_()) {
        if (take_free_(lock, HELD)) return;
        cc_backoff_jitter(&backoff, &rng);
    }
    while (!spin_(lock, CC_LOCK_SPIN_NS, HELD, false)) {}
}

/* The word is given up already, and the next holder may have freed it: only its address is used. */
void cc_lock_release_slow_(cc_lock_t *lock, uint32_t seen)
{
    if (seen & PARKED) cc_os_wake_(&lock->word, 1);
}

/* What this thread holds, as far as its code was compiled with CC_DEBUG; more than fit go unnoticed. */
static _Thread_local const cc_lock_t *held_[16];

static const cc_lock_t **find_(const cc_lock_t *lock)
{
    for (size_t i = 0; i < sizeof held_ / sizeof held_[0]; i++)
        if (held_[i] == lock) return &held_[i];
    return NULL;
}

static void die_(const char *what, const cc_lock_t *lock)
{
    fprintf(stderr, "concede: lock %p %s\n", (const void *)lock, what);
    abort();
}

void (cc_lock_debug_acquire_)(const cc_lock_t *lock)
{
    bool held = cc_load_relaxed(&lock->word) & HELD; /* relaxed: our own; else a lock that was made anew since */
    if (held && find_(lock)) die_("is acquired again by the thread that holds it", lock);
}

bool (cc_lock_debug_acquired_)(const cc_lock_t *lock, bool acquired)
{
    const cc_lock_t **place = acquired && !find_(lock) ? find_(NULL) : NULL;
    if (place) *place = lock;
    return acquired;
}

void (cc_lock_debug_release_)(const cc_lock_t *lock)
{
    const cc_lock_t **place = find_(lock);
    if (place) *place = NULL;
    if (!(cc_load_relaxed(&lock->word) & HELD)) die_("is released, but nobody holds it", lock); /* relaxed: our own */
}
