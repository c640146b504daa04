/* event.h: an eventcount, to add blocking to any lock-free structure.
 *
 * A condition variable without a mutex: a thread waits until a condition holds, and whoever may have made it hold
 * notifies. Where nobody waits, notifying is a load and a branch.
 *
 *     cc_event_t changed = CC_EVENT_INIT;          // all zero is valid
 *
 *     waiting                                      making it hold
 *     CC_EVENT_AWAIT(&changed, queue_pop(q, &x));  queue_push(q, x);
 *                                                  cc_event_notify_one(&changed);
 *
 * CC_EVENT_AWAIT goes through three phases: it tries the condition; it snoozes, looking after every pause; it announces
 * itself, looks once more, and sleeps. An event learns how long to snooze: longer while that pays, up to what sleeping and
 * waking would cost; shorter while waits end in sleep, down to sleeping at once. By hand the last phase is:
 *
 *     for (;;) {
 *         uint32_t key = cc_event_listen(&changed);            // announce
 *         if (condition) { cc_event_cancel(&changed); break; } // then look again: it may have changed before
 *         cc_event_wait(&changed, key);                        // sleeps only if nobody notified since listen
 *         if (condition) break;
 *     }
 *
 * The condition is made of atomic objects, loaded with acquire where data hangs on it.
 * Every listen is ended by exactly one wait or cancel, and the condition is looked at between the two. A wait may return
 * for no reason. Any number of threads up to 32,767 may listen at once, and further ones yield until there is room; any
 * thread may notify at any time. If the waiters' conditions differ, use notify_all: notify_one wakes any one of them.
 * The event must outlive every call on it, notify included.
 *
 * The race: the waiter announces itself and then reads the condition; the notifier writes the condition and then reads
 * whether anybody is there. Each must not read before its write is visible, or both miss each other and the waiter sleeps
 * for ever. A full fence on both sides closes it. Where the system can make every thread pass a fence (membarrier on
 * Linux), the sleeper does that, and the notifier pays only a compiler barrier. doc/memory-model.md, [event.announce].
 *
 * After fork() the child's event still counts the threads that were listening; that costs it system calls, no wake-up. */
#ifndef CONCEDE_EVENT_H
#define CONCEDE_EVENT_H

#include <concede/atomic.h>
#include <concede/deadline.h>
#include <concede/pause.h>

CC_BEGIN_DECLS

/* word       bits    what it says                                   who moves it
 * epoch      0..31   how often somebody was notified; slept on      + 1: a notifier that claimed waiters
 * waiters    0..14   threads that listen and nobody has claimed     + 1: listen; - n: a notifier claims n of them
 *           16..30   claims not taken up yet                        + n: the same notifier; - 1: a thread that stops
 *                                                                   listening and finds a claim (else bits 0..14 - 1)
 *               15   FENCED: notifiers take a full fence            set: a thread that slept as often before it
 *               31   TRUSTED: and all of them know it               set: the same, once all do
 *                                                                   both cleared: the last of many notifiers in a row
 *                                                                   that found nobody
 * woken_at   0..31   cc_now_ns() of the last notify that woke       a notifier that claimed
 * sleeps     0..31   before FENCED: how often somebody slept;       whoever slept
 *                    after: how many more may find nobody           whoever slept; a notifier that found nobody
 * snooze     0..31   how long CC_EVENT_AWAIT snoozes; 0: has not    CC_EVENT_AWAIT, when it has learned
 *                    learned yet
 *
 * The claims keep a second notifier from waking again whom the first has woken and who has not run yet. FENCED is for an
 * event whose waiters mostly sleep: then the sleeper need not make all threads pass a fence, which interrupts them, because
 * the few notifiers take one each. */
typedef struct cc_event {
    uint32_t epoch;
    uint32_t waiters;
    uint32_t woken_at;
    uint32_t sleeps;
    uint32_t snooze;
} cc_event_t;

#define CC_EVENT_INIT { 0, 0, 0, 0, 0 }

#define CC_EVENT_LISTENING_ UINT32_C(0x00007fff)
#define CC_EVENT_FENCED_    UINT32_C(0x00008000)
#define CC_EVENT_CLAIM_     UINT32_C(0x00010000)
#define CC_EVENT_CLAIMS_    UINT32_C(0x7fff0000)
#define CC_EVENT_TRUSTED_   UINT32_C(0x80000000)

CC_STATIC_ASSERT_(sizeof(cc_event_t) == 20, "five words");

/* How the two fences divide the work.
 *   UNKNOWN     nobody has slept yet                               notifiers take a full fence
 *   ASYMMETRIC  the sleeper makes every thread pass one            notifiers take none
 *   SYMMETRIC   the system cannot do that: each takes a full one   notifiers take a full fence
 *   LOST        the system no longer does it                       notifiers take a full fence, sleepers wait a while
 * The first sleeper goes from UNKNOWN to one of the next two; a sleeper that is refused later to LOST and SYMMETRIC. */
enum { CC_FENCE_UNKNOWN_ = 0, CC_FENCE_ASYMMETRIC_ = 1, CC_FENCE_SYMMETRIC_ = 2, CC_FENCE_LOST_ = 3 };
CC_API extern uint32_t cc_fence_mode_;

/* The notifier's side of the fence: between its write and its look at who waits. */
CC_INLINE_ void cc_fence_light_(void)
{
    CC_COMPILER_BARRIER_();
    if (CC_UNLIKELY_(cc_load_relaxed(&cc_fence_mode_) != CC_FENCE_ASYMMETRIC_)) /* relaxed: any answer is safe */
        cc_fence_full(); /* [event.announce] pairs with cc_fence_heavy_() */
}

/* The sleeper's side: between announcing itself and its look at the condition. */
CC_API void cc_fence_heavy_(void);

CC_API CC_COLD_ void cc_event_notify_slow_(cc_event_t *event, bool all);

/* Announces that this thread is about to wait; the key goes to wait. Does not block. What was written before a notify that
 * found nobody to wake is seen after it. */
CC_API uint32_t cc_event_listen(cc_event_t *event);

/* Ends a listen without waiting: the condition already held. Does not block. */
CC_API void cc_event_cancel(cc_event_t *event);

/* Ends a listen: sleeps until somebody notified after it, or the deadline passes. May return early for no reason. Returns
 * false only if the deadline has passed and nobody notified; look at the condition once more in either case. Acquires what
 * the notifier wrote. No cancellation point. */
CC_API bool cc_event_wait_until(cc_event_t *event, uint32_t key, uint64_t deadline);

/* The same, without a deadline. */
CC_INLINE_ void cc_event_wait(cc_event_t *event, uint32_t key)
{
    cc_event_wait_until(event, key, CC_FOREVER);
}

/* The same, for at most `ns` nanoseconds. */
CC_INLINE_ bool cc_event_wait_timeout(cc_event_t *event, uint32_t key, uint64_t ns)
{
    return cc_event_wait_until(event, key, cc_deadline_in(ns));
}

/* Whether anybody may listen whom nobody has claimed, after everything this thread wrote before. */
CC_INLINE_ bool cc_event_has_waiters_(cc_event_t *event)
{
    cc_fence_light_();
    return (cc_load_relaxed(&event->waiters) & (CC_EVENT_LISTENING_ | CC_EVENT_FENCED_)) != 0; /* relaxed: the fence orders it */
}

/* Wakes one of the threads that listen, if any has since before this call; otherwise a load and a branch, no system
 * call. Call it after the write that may have made the condition hold. Any thread; never blocks. */
CC_INLINE_ void cc_event_notify_one(cc_event_t *event)
{
    if (CC_UNLIKELY_(cc_event_has_waiters_(event))) cc_event_notify_slow_(event, false);
}

/* Wakes all threads that have been listening since before this call. */
CC_INLINE_ void cc_event_notify_all(cc_event_t *event)
{
    if (CC_UNLIKELY_(cc_event_has_waiters_(event))) cc_event_notify_slow_(event, true);
}

/* What CC_EVENT_AWAIT keeps while it waits. */
typedef struct cc_event_await {
    cc_event_t *event;
    uint64_t deadline;
    uint32_t pauses, yields;         /* still to do before it sleeps */
    uint32_t all_pauses, all_yields; /* of so many */
    uint32_t phase, key, most, since;
} cc_event_await_t;

CC_API CC_COLD_ bool cc_event_await_slow_(cc_event_await_t *await);

CC_INLINE_ cc_event_await_t cc_event_await_begin_(cc_event_t *event, uint64_t deadline)
{
    cc_event_await_t await = { event, deadline, 0, 0, 0, 0, 0, 0, 0, 0 };
    return await;
}

/* Waits a little; false: the deadline has passed and the condition was looked at since. */
CC_INLINE_ bool cc_event_await_step_(cc_event_await_t *await)
{
    if (await->pauses == 0) return cc_event_await_slow_(await);
    await->pauses--;
    cc_pause();
    return true;
}

/* After a wait that had to do something. */
CC_API void cc_event_await_end_(cc_event_await_t *await);

/* Waits until the condition, any expression, holds, or the deadline passes; -> whether it holds. The condition is looked
 * at again and again, at least once, and its last look is the result; it must not jump out. May block. */
#define CC_EVENT_AWAIT_UNTIL(event_, condition_, deadline_)                                       \
    __extension__({                                                                              \
        CC_MAY_SHADOW_BEGIN_ /* a condition that awaits in its turn */                           \
        cc_event_await_t cc_await_ = cc_event_await_begin_((event_), (deadline_));                \
        bool cc_holds_;                                                                          \
        CC_MAY_SHADOW_END_                                                                       \
        while (!(cc_holds_ = (condition_) ? true : false) && cc_event_await_step_(&cc_await_)) {} \
        if (cc_await_.phase != 0) cc_event_await_end_(&cc_await_);                               \
        cc_holds_;                                                                               \
    })

/* Waits until the condition, any expression, holds. */
#define CC_EVENT_AWAIT(event_, condition_) ((void)CC_EVENT_AWAIT_UNTIL(event_, condition_, CC_FOREVER))

CC_END_DECLS

#endif
