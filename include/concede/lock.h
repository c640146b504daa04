/* lock.h: a lock in four bytes that backs off, then sleeps.
 *
 *     static cc_lock_t lock = CC_LOCK_INIT;        // all zero is valid; nothing to destroy
 *
 *     cc_lock_acquire(&lock);
 *     counter++;
 *     cc_lock_release(&lock);
 *
 * A free lock is taken with one compare-and-swap. It is released by a plain store where nobody waits for it and the
 * system can call off such a store (Linux with glibc 2.35 or later on x86-64 and ARM64; `concede info` says whether),
 * else by one read-modify-write. A thread that finds it held waits by reading. As long as one section goes on, it looks
 * after every pause, because that costs the holder nothing. When others take the lock faster than it can look, each
 * look holds them up: so it backs off at random intervals that are the longer the longer a look takes, and double each
 * time it loses; a long one is a timed sleep, or yields where threads of the program share the CPU, and there is none
 * where a thread waits for a condition under the lock. One without a deadline lets others run, unless other programs
 * keep the CPUs busy: in between where threads of the program share its CPU, and before a wait when it has looked for
 * 0.1 ms in many short ones. When looking has cost as much as sleeping would, it sleeps; where it lets nobody run and
 * sections have outlasted it before, after a fourth of that, or at once with a deadline. If it saw sections end
 * meanwhile it first demands the next one and looks for as long again, on up to 8 CPUs, without a deadline, and where
 * nobody needs its CPU. Releasing makes no system call unless somebody sleeps. On one usable CPU nobody spins.
 *
 * It is not first come first served: a running thread may overtake a sleeping one, which is what keeps it fast with
 * more threads than CPUs. But nobody starves: if a thread still waits half a millisecond after it first slept or backed
 * off, a turn is owed to it and to those that have slept. The next release hands the lock over to one of them, and a
 * newcomer cannot take it meanwhile; then whoever runs may take it again, until the next turn is demanded. One that was
 * woken in vain four times insists: from then on each release hands over, until it has had its turn. Where the system
 * wakes sleepers in the order in which they fell asleep, as Linux does, all come to their turn; how long that takes
 * grows with their number. One that waits in acquire_spin cannot demand a turn, but after half a millisecond it may
 * take what is handed over, as one that has slept; if such are many they may keep it among themselves. And a yield lets
 * only equals run: where threads of several scheduling classes share CPUs, such as SCHED_FIFO and others, or others and
 * SCHED_IDLE, the lower ones may wait for hundreds of milliseconds while the higher ones keep the lock busy.
 *
 * A condition that the lock protects is waited for with an event:
 *
 *     waiting                                          making it hold
 *     cc_lock_acquire(&lock);                          cc_lock_acquire(&lock);
 *     CC_LOCK_AWAIT(&lock, &not_empty, count > 0);     count++;
 *     count--;                                         cc_lock_release(&lock);
 *     cc_lock_release(&lock);                          cc_event_notify_one(&not_empty);
 *
 *   may run at the same time: everything. acquire_spin and acquire may be mixed on one lock.
 *   acquire orders after the release before it: what was done under the lock is seen under the lock.
 *
 * A lock may be freed by the thread that took it last: release does not touch it after giving it up. The thread that
 * acquired releases. Acquiring twice in one thread, or releasing what is not held, is undefined; built with CC_DEBUG it
 * aborts with a message where it can be known. After fork() the child may use the lock if it was free; one that the
 * thread held which forked may have waiters that the child does not have, and must be set to CC_LOCK_INIT again.
 * Waiting is no cancellation point. A thread that uses a lock was made by the C library, with pthread_create() or
 * thrd_create(): in one that a bare clone() or vfork() made, the system cannot call off a store, and nothing tells. */
#ifndef CONCEDE_LOCK_H
#define CONCEDE_LOCK_H

#include <concede/event.h>
#include <concede/tsan.h>

CC_BEGIN_DECLS

typedef struct cc_lock {
    uint32_t word;
} cc_lock_t;

/* clang-format off */
#define CC_LOCK_INIT { 0 }
/* clang-format on */

/* The word of a lock that nobody waits for is 0 or HELD. All of its states stand in lock.c. */
enum {
    CC_LOCK_HELD_ = 1 << 0,
    CC_LOCK_PARKED_ = 1 << 1,
    CC_LOCK_SHARED_ = 1 << 2,
    CC_LOCK_SURE_ = 1 << 3,
    CC_LOCK_OWED_ = 1 << 4,
    CC_LOCK_INSISTED_ = 1 << 5,
    CC_LOCK_WAITERS_ = CC_LOCK_PARKED_ | CC_LOCK_OWED_,
    CC_LOCK_STATE_ = (1 << 8) - 1,
    CC_LOCK_RELEASES_ = 1 << 8,
    CC_LOCK_FORGET_ = 64,       /* the releases after which it is no longer taken for shared: a power of two ... */
    CC_LOCK_FORGET_SURE_ = 4096 /* ... and where it is SURE; lock.c says why */
};

CC_STATIC_ASSERT_(sizeof(cc_lock_t) == 4, "a lock is one futex word");

/* The bytes from the thread pointer to where a thread notes that it is in a restartable sequence; or one of these. */
enum { CC_LOCK_UNKNOWN_ = 0, CC_LOCK_NONE_ = 1, CC_LOCK_NO_AREA_ = 7 };
CC_API extern uintptr_t cc_lock_sequence_area_;

CC_API CC_COLD_ bool cc_lock_acquire_slow_(cc_lock_t *lock, uint64_t deadline);
CC_API CC_COLD_ void cc_lock_acquire_spin_slow_(cc_lock_t *lock);
CC_API CC_COLD_ bool cc_lock_try_acquire_slow_(cc_lock_t *lock);
CC_API CC_COLD_ void cc_lock_release_slow_(cc_lock_t *lock, uint32_t seen);

/* With CC_DEBUG defined each thread notes which locks it holds, and aborts with a message where it acquires one of them
 * again or releases one that is free. Define it where the code that locks is compiled: the library is always ready. */
CC_API CC_COLD_ void cc_lock_debug_acquire_(const cc_lock_t *lock);
CC_API CC_COLD_ bool cc_lock_debug_acquired_(const cc_lock_t *lock, bool acquired);
CC_API CC_COLD_ void cc_lock_debug_release_(const cc_lock_t *lock);
#if !defined(CC_DEBUG)
#define cc_lock_debug_acquire_(lock)            ((void)0)
#define cc_lock_debug_acquired_(lock, acquired) (acquired)
#define cc_lock_debug_release_(lock)            ((void)0)
#endif

CC_INLINE_ bool cc_lock_take_(cc_lock_t *lock)
{
    CC_ARCH_PREFETCH_WRITE_(&lock->word);
    uint32_t seen = cc_load_relaxed(&lock->word); /* relaxed: the swap decides */
    uint32_t next = seen + CC_LOCK_HELD_;
    if (CC_UNLIKELY_(seen & (CC_LOCK_HELD_ | CC_LOCK_WAITERS_ | CC_LOCK_SHARED_))) {
        if (seen & (CC_LOCK_HELD_ | CC_LOCK_WAITERS_)) return false;
        uint32_t forget = seen & CC_LOCK_SURE_ ? CC_LOCK_FORGET_SURE_ : CC_LOCK_FORGET_;
        if ((seen / CC_LOCK_RELEASES_ & (forget - 1)) == 0) next = CC_LOCK_HELD_; /* it is no longer shared */
    }
    return CC_LIKELY_(cc_cas_acquire(&lock->word, &seen, next)); /* [lock.word] pairs with the release */
}

/* Takes the lock if it is free; returns whether it did. Never blocks. */
CC_MUST_USE_ CC_INLINE_ bool cc_lock_try_acquire(cc_lock_t *lock)
{
    bool taken = CC_TSAN_LOCK_(lock, true, cc_lock_take_(lock) || cc_lock_try_acquire_slow_(lock));
    return cc_lock_debug_acquired_(lock, taken);
}

/* Takes the lock, waiting until the deadline; returns whether it did. A past deadline still tries once. May block. */
CC_MUST_USE_ CC_INLINE_ bool cc_lock_acquire_until(cc_lock_t *lock, uint64_t deadline)
{
    cc_lock_debug_acquire_(lock);
    bool taken =
        CC_TSAN_LOCK_(lock, deadline != CC_FOREVER, cc_lock_take_(lock) || cc_lock_acquire_slow_(lock, deadline));
    return cc_lock_debug_acquired_(lock, taken);
}

/* Takes the lock, waiting as long as it takes. May block. */
CC_INLINE_ void cc_lock_acquire(cc_lock_t *lock)
{
    CC_IGNORE_(cc_lock_acquire_until(lock, CC_FOREVER));
}

/* The same, for at most `ns` nanoseconds. */
CC_MUST_USE_ CC_INLINE_ bool cc_lock_acquire_timeout(cc_lock_t *lock, uint64_t ns)
{
    cc_lock_debug_acquire_(lock);
    bool taken = CC_TSAN_LOCK_(lock, true, cc_lock_take_(lock) || cc_lock_acquire_slow_(lock, cc_deadline_in(ns)));
    return cc_lock_debug_acquired_(lock, taken);
}

/* Takes the lock without ever sleeping in the kernel or calling it: for places that may not block. It may spin for
 * long, and forever if the holder cannot run. No time is promised: it cannot demand a turn, it only has a chance at
 * each release. */
CC_INLINE_ void cc_lock_acquire_spin(cc_lock_t *lock)
{
    cc_lock_debug_acquire_(lock);
    bool taken = CC_TSAN_LOCK_(lock, false, cc_lock_take_(lock) || (cc_lock_acquire_spin_slow_(lock), true));
    (void)cc_lock_debug_acquired_(lock, taken);
}

/* Gives the lock up, or hands it over to one who has slept or demanded a turn, and wakes one sleeper if there is any.
 * The holder only; never blocks. */
CC_INLINE_ void cc_lock_release(cc_lock_t *lock)
{
    cc_lock_debug_release_(lock);
    CC_TSAN_UNLOCK_BEGIN_(lock);
    uint32_t change = CC_LOCK_RELEASES_ - CC_LOCK_HELD_;
#if defined(cc_atomic_sequence_store_)
    CC_ARCH_PREFETCH_WRITE_(&lock->word); /* a waiter may have the line; reading it first would fetch it twice */
    uintptr_t area = cc_load_relaxed(&cc_lock_sequence_area_); /* relaxed, both: a number on its own; our own word */
    if (CC_LIKELY_(area > CC_LOCK_NO_AREA_) && CC_LIKELY_(cc_load_relaxed(&lock->word) == CC_LOCK_HELD_)) {
        /* [lock.store] pairs with the barrier, [lock.word] with the swap in acquire */
        cc_atomic_sequence_store_(&lock->word, CC_LOCK_HELD_, 0, area, &cc_lock_sequence_area_, failed);
        return;
    failed:
        change = 0u - CC_LOCK_HELD_; /* it is not shared, or only since a moment ago: nothing is counted */
    }
#endif
    uint32_t seen = cc_fetch_add_release(&lock->word, change); /* [lock.word] pairs with the swap in acquire */
    if (CC_UNLIKELY_(seen & CC_LOCK_WAITERS_)) cc_lock_release_slow_(lock, seen);
    CC_TSAN_UNLOCK_END_(lock);
}

/* ---- A condition that the lock protects ------------------------------------------------------------------------- */

/* Notes that a thread waits for a condition under this lock, which another thread makes hold only if it gets the lock.
 */
CC_API CC_COLD_ void cc_lock_note_await_(const cc_lock_t *lock);

/* Gives the lock up, sleeps until somebody notifies the event or the deadline passes, and takes the lock again, however
 * long that takes. May return for no reason. Returns false only if the deadline has passed and nobody notified; look at
 * the condition once more in either case. The holder only; may block; no cancellation point.
 *
 * Whoever makes the condition hold does so under the lock, and notifies under the lock or after it. That is after this
 * thread gave the lock up, and it listened before that: so the notify finds it. A change before that was seen by the
 * look at the condition, which was under the lock, too. */
CC_MUST_USE_ CC_INLINE_ bool cc_lock_wait_until(cc_lock_t *lock, cc_event_t *event, uint64_t deadline)
{
    uint32_t key = cc_event_listen(event);
    cc_lock_release(lock); /* [lock.wait] the announcement before, the lock after */
    bool notified = cc_event_wait_until(event, key, deadline);
    cc_lock_acquire(lock);
    return notified;
}

/* The same, without a deadline. */
CC_INLINE_ void cc_lock_wait(cc_lock_t *lock, cc_event_t *event)
{
    CC_IGNORE_(cc_lock_wait_until(lock, event, CC_FOREVER));
}

/* The same, for at most `ns` nanoseconds. */
CC_MUST_USE_ CC_INLINE_ bool cc_lock_wait_timeout(cc_lock_t *lock, cc_event_t *event, uint64_t ns)
{
    return cc_lock_wait_until(lock, event, cc_deadline_in(ns));
}

/* Makes sure that the releases of a held lock are counted: the caller's, and some after it. The holder only. It says
 * SURE, too, because the caller is going to release with a read-modify-write: see lock.c. */
CC_INLINE_ void cc_lock_share_(cc_lock_t *lock)
{
#if defined(cc_atomic_sequence_store_)
    /* relaxed, all: the word is our own, or has what others wrote into it; the release orders */
    bool stores = cc_load_relaxed(&cc_lock_sequence_area_) > CC_LOCK_NO_AREA_;
    if (!stores || cc_load_relaxed(&lock->word) != CC_LOCK_HELD_) return;
    cc_fetch_or_relaxed(&lock->word, CC_LOCK_SHARED_ | CC_LOCK_SURE_);
#else
    (void)lock;
#endif
}

/* One step of a wait for a condition: gives the lock up, waits a little, and takes the lock again. Only a holder of the
 * lock changes the condition. So while this thread spins it reads the lock until somebody has released it, and does not
 * take it in vain. Returns false if the deadline has passed. */
CC_INLINE_ bool cc_lock_await_step_(cc_lock_t *lock, cc_event_await_t *await)
{
    if (await->phase == 0) cc_lock_note_await_(lock);
    cc_lock_share_(lock);
    cc_lock_release(lock);
    uint32_t releases = cc_load_relaxed(&lock->word) / CC_LOCK_RELEASES_; /* relaxed, both: a guess; acquire orders */
    bool goes_on = cc_event_await_step_(await);
    while (await->pauses > 0 && cc_load_relaxed(&lock->word) / CC_LOCK_RELEASES_ == releases)
        goes_on = cc_event_await_step_(await);
    cc_lock_acquire(lock); /* [lock.wait] the announcement before, the look at the condition after */
    return goes_on;
}

/* Waits until the condition, any expression, holds, or the deadline passes; its value is whether it holds. The lock is
 * held before, at every look at the condition, and after, whatever the result. The phases are those of CC_EVENT_AWAIT:
 * it snoozes as long as the event has learned, announces itself, looks once more, and sleeps. The condition is looked
 * at at least once, and its last look is the result; it must not jump out. May block. */
#define CC_LOCK_AWAIT_UNTIL(lock_, event_, condition_, deadline_)                                          \
    __extension__({                                                                                        \
        CC_MAY_SHADOW_BEGIN_ /* a condition that awaits in its turn */                                     \
            cc_lock_t *cc_held_ = (lock_);                                                                 \
        cc_event_await_t cc_await_ = cc_event_await_begin_((event_), (deadline_));                         \
        bool cc_holds_;                                                                                    \
        CC_MAY_SHADOW_END_                                                                                 \
        while (!(cc_holds_ = (condition_) ? true : false) && cc_lock_await_step_(cc_held_, &cc_await_)) {} \
        cc_event_await_end_(&cc_await_);                                                                   \
        cc_holds_;                                                                                         \
    })

/* The same, for at most `ns` nanoseconds. */
#define CC_LOCK_AWAIT_TIMEOUT(lock_, event_, condition_, ns_) \
    CC_LOCK_AWAIT_UNTIL(lock_, event_, condition_, cc_deadline_in(ns_))

/* Waits until the condition, any expression, holds. */
#define CC_LOCK_AWAIT(lock_, event_, condition_) ((void)CC_LOCK_AWAIT_UNTIL(lock_, event_, condition_, CC_FOREVER))

CC_END_DECLS

#endif
