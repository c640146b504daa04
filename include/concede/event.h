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
 * itself, looks once more, and sleeps. An event learns how long to snooze: longer while that pays, up to what sleeping
 * and waking would cost; shorter while waits end in sleep, down to sleeping at once. By hand the last phase is:
 *
 *     for (;;) {
 *         uint32_t key = cc_event_listen(&changed);            // announce
 *         if (condition) { cc_event_cancel(&changed); break; } // then look again: it may have changed before
 *         cc_event_wait(&changed, key);                        // sleeps only if nobody notified since listen
 *         if (condition) break;
 *     }
 *
 * The condition is made of atomic objects, loaded with acquire where data hangs on it. Every listen is ended by exactly
 * one wait or cancel, and the condition is looked at between the two. A wait may return for no reason. Any number of
 * threads up to 8,191 may listen at once, and further ones yield until there is room; any thread may notify at any
 * time. If the waiters' conditions differ, use notify_all: notify_one wakes any one of them. The event must outlive
 * every call on it, notify included.
 *
 * The race: the waiter announces itself and then reads the condition; the notifier writes the condition and then reads
 * whether anybody is there. fence.h closes it: the notifier pays only a compiler barrier where the system allows for
 * that. doc/memory-model.md, [event.announce].
 *
 * After fork() the child's event still counts the threads that were listening; that costs it system calls, no wake-up.
 * (A channel's events may leave a wake-up to such a thread: see channel.h.) */
#ifndef CONCEDE_EVENT_H
#define CONCEDE_EVENT_H

#include <concede/deadline.h>
#include <concede/fence.h>
#include <concede/pause.h>
#include <concede/tsan.h>

CC_BEGIN_DECLS

/* word       bits    what it says                                   who moves it
 * epoch      0..31   how often somebody was notified; slept on      + 1: a notifier that claimed waiters
 * waiters    0..12   threads that listen and nobody has claimed     + 1: listen; - n: a notifier claims n of them
 *           16..28   claims not taken up yet                        + n: the same notifier; - 1: a thread that stops
 *                                                                   listening and finds a claim (else bits 0..12 - 1)
 *               13   WATCHED: a channel's descriptor is armed       set, cleared: src/door.c
 *               14   FENCED: notifiers take a full fence            set: a thread that slept, if enough did before it
 *               15   TRUSTED: and all of them know it               set: the same thread, after a fence of all threads
 *                                                                   both cleared: the last of many notifiers in a row
 *                                                                   that found nobody
 *               30   LOOKOUT: a thread spins on behalf of those     set: a thread that spins, while others listen;
 *                    that listen (relayed events only)              cleared: the same, as it ends its wait or listens
 *               31   AWAY: the lookout got something and may be     set: the lookout, instead of LOOKOUT; cleared: the
 *                    right back                                     next one, or a notifier that waited in vain
 * woken_at   0..31   cc_now_ns() of the last notify that woke       a notifier that claimed
 * sleepiness 0..31   how much its waiters sleep: FENCED is set at   to the limit, or a fourth of the way before it is
 *                    its limit and cleared at 0                     FENCED: whoever slept; - 1: a notifier that is
 *                                                                   FENCED and found nobody
 * snooze     0..31   what a wait does before it sleeps; 0: it has   whoever waited, if there is something new, because
 *                    not learned yet                                notifiers read this line
 * left_to_it 0..6    relayed events: how many notifiers woke        + 1: those notifiers, and 64 after 127; 0: one
 *                    nobody, because a thread is on its way         that wakes
 *            7..15   SEVERAL, if not 0: notifiers ran on more than  511: one on another CPU than the one before it;
 *                    one CPU lately                                 - 1: some of those on the same one
 *           16..21   how often waits may still rely on the CPU      63: notifiers; - 1: a wait that did
 *           22..31   1 + the CPU of the last notifier; 0: not known notifiers, except waiters that relay
 * looked_at  0..31   relayed events: cc_now_ns() when the lookout    the lookout
 *                    last looked at the clock
 *
 * The claims keep a second notifier from waking again whom the first has woken and who has not run yet. FENCED is for
 * an event whose waiters mostly sleep: then the sleeper need not make all threads pass a fence, which interrupts them,
 * because the few notifiers take one each. */
typedef struct cc_event {
    uint32_t epoch;
    uint32_t waiters;
    uint32_t woken_at;
    uint32_t sleepiness;
    uint32_t snooze;
    uint32_t left_to_it;
    uint32_t looked_at;
} cc_event_t;

/* clang-format off */
#define CC_EVENT_INIT { 0, 0, 0, 0, 0, 0, 0 }
/* clang-format on */

#define CC_EVENT_LISTENING_ UINT32_C(0x00001fff)
#define CC_EVENT_WATCHED_   UINT32_C(0x00002000)
#define CC_EVENT_FENCED_    UINT32_C(0x00004000)
#define CC_EVENT_TRUSTED_   UINT32_C(0x00008000)
#define CC_EVENT_CLAIM_     UINT32_C(0x00010000)
#define CC_EVENT_CLAIMS_    UINT32_C(0x1fff0000)
#define CC_EVENT_LOOKOUT_   UINT32_C(0x40000000)
#define CC_EVENT_AWAY_      UINT32_C(0x80000000)

CC_STATIC_ASSERT_(sizeof(cc_event_t) == 28, "seven words");

/* Whom to wake. CC_NOTIFY_RELAY_ is for a channel's event whose waiters are relayed: each of them, when its wait is
 * over, looks whether there is something for another one and relays in its turn. So it wakes nobody while a thread is
 * on its way that will do that: one that was woken and has not run yet, or one that spins on behalf of the others.
 * CC_NOTIFY_REST_ is what those waiters relay with. */
enum { CC_NOTIFY_ONE_, CC_NOTIFY_ALL_, CC_NOTIFY_RELAY_, CC_NOTIFY_REST_ };
CC_API CC_COLD_ void cc_event_notify_slow_(cc_event_t *event, uint32_t whom);
CC_API bool cc_event_wait_slow_(cc_event_t *event, uint32_t key, uint64_t deadline);

/* Announces that this thread is about to wait; the key goes to wait. Does not block. What was written before a notify
 * that found nobody to wake is seen after it. */
CC_MUST_USE_ CC_API uint32_t cc_event_listen(cc_event_t *event);

/* Ends a listen without waiting: the condition already held. Does not block. */
CC_API void cc_event_cancel(cc_event_t *event);

/* Ends a listen: sleeps until somebody notified after it, or the deadline passes. May return early for no reason.
 * Returns false only if the deadline has passed and nobody notified; look at the condition once more in either case.
 * Acquires what the notifier wrote. No cancellation point. */
CC_MUST_USE_ CC_INLINE_ bool cc_event_wait_until(cc_event_t *event, uint32_t key, uint64_t deadline)
{
    bool in_time = cc_event_wait_slow_(event, key, deadline);
    CC_TSAN_ACQUIRE_(event);
    return in_time;
}

/* The same, without a deadline. */
CC_INLINE_ void cc_event_wait(cc_event_t *event, uint32_t key)
{
    CC_IGNORE_(cc_event_wait_until(event, key, CC_FOREVER));
}

/* The same, for at most `ns` nanoseconds. */
CC_MUST_USE_ CC_INLINE_ bool cc_event_wait_timeout(cc_event_t *event, uint32_t key, uint64_t ns)
{
    return cc_event_wait_until(event, key, cc_deadline_in(ns));
}

/* Whether there may be a thread that listens and nobody has claimed, or somebody who watches. The look comes after
 * everything that this thread wrote. */
CC_INLINE_ bool cc_event_has_waiters_(cc_event_t *event)
{
    CC_TSAN_RELEASE_(event);
    cc_fence_light_(); /* [event.announce] pairs with the fence in cc_event_listen() */
    uint32_t waiters = cc_load_relaxed(&event->waiters); /* relaxed: the fence orders it */
    return (waiters & (CC_EVENT_LISTENING_ | CC_EVENT_WATCHED_ | CC_EVENT_FENCED_)) != 0;
}

/* Wakes one of the threads that listen, if any has since before this call; otherwise a load and a branch, no system
 * call. Call it after the write that may have made the condition hold. Any thread; never blocks. */
CC_INLINE_ void cc_event_notify_one(cc_event_t *event)
{
    if (CC_UNLIKELY_(cc_event_has_waiters_(event))) cc_event_notify_slow_(event, CC_NOTIFY_ONE_);
}

/* Wakes all threads that have been listening since before this call. */
CC_INLINE_ void cc_event_notify_all(cc_event_t *event)
{
    if (CC_UNLIKELY_(cc_event_has_waiters_(event))) cc_event_notify_slow_(event, CC_NOTIFY_ALL_);
}

/* A wait in its three phases, as the caller's loop goes through them: spin and yield, announce and look, sleep.
 *
 *     cc_event_await_t await = cc_event_await_begin_(event, deadline);
 *     while (!(holds = condition) && cc_event_await_step_(&await)) {}
 *     cc_event_await_end_(&await); */
#define CC_AWAIT_NO_SNOOZE_ UINT32_C(0x80000000) /* more snoozes than anybody would ask for */
typedef struct cc_event_await {
    cc_event_t *event;
    uint64_t deadline;
    uint32_t pauses;         /* still to be made before the next call of cc_event_await_slow_() */
    uint32_t phase;          /* see event.c */
    uint32_t snooze_iters;   /* 0: the event learns how long to snooze; n: n snoozes; CC_AWAIT_NO_SNOOZE_ */
    uint32_t overtaken;      /* relayed: what others got between the last two tries; the caller sets it */
    bool relayed;            /* whoever ends its wait looks whether there is something for another */
    bool lookout;            /* this thread is the one that spins on behalf of the others */
    bool announced;          /* it listened, or was the lookout: somebody may have relied on it */
    bool lost_cpu;           /* it was off its CPU for long while it snoozed */
    bool teaches;            /* the event learns from how it ends */
    bool in_channel;         /* the event is a channel's, and the wait is counted as such */
    bool slept;              /* it has slept at least once ... */
    bool woken;              /* ... and its last sleep was ended by a wake-up */
    bool gave_way;           /* it yielded before it began to spin */
    bool yielded;            /* it has yielded at least once */
    bool came_to_yields;     /* it has used up its pauses, and has yielded, or spun on in place of a yield */
    bool under_quota;        /* of CPU time, and long spins are earned; see src/snooze.h */
    bool gathered;           /* several came together while it slept, as they were to; the caller sets it */
    bool has_ending;         /* it is over, and the event has learned from `ending` */
    uint8_t ending;          /* how it ended, or would if it ended with its last yield; see snooze.h */
    uint8_t cpu;             /* where its last round of pauses began: a number from cc_snooze_seen_() */
    uint32_t pauses_left;    /* of those planned, after those in `pauses` */
    uint32_t spun;           /* pauses so far, with those in `pauses` */
    uint32_t yields_left;    /* of those planned */
    uint32_t pauses_planned; /* before it sleeps: first so many pauses ... */
    uint32_t yields_planned; /* ... and then so many yields */
    uint32_t spin_limit;     /* pauses that are worth spending before a sleep */
    uint32_t asleep_at;      /* lower half of the clock: when its snooze was over and its sleep began */
    uint32_t key;            /* of its listen */
    uint64_t round_began;    /* when its last round of pauses began; 0: not known */
    uint64_t slept_ns;       /* in all its sleeps */
    uint64_t probe_began;    /* when it began, if somebody traces its end; else 0 */
    const struct cc_event_elsewhere *elsewhere; /* where it sleeps, if not on its event; see src/event.h */
} cc_event_await_t;

CC_API CC_COLD_ bool cc_event_await_slow_(cc_event_await_t *await);
CC_API CC_COLD_ void cc_event_await_end_slow_(cc_event_await_t *await);

CC_INLINE_ cc_event_await_t cc_event_await_begin_(cc_event_t *event, uint64_t deadline)
{
    cc_event_await_t await;
    __builtin_memset(&await, 0, sizeof await);
    await.event = event;
    await.deadline = deadline;
    return await;
}

/* Waits a little. Returns false if the deadline has passed and the condition was looked at since. */
CC_INLINE_ bool cc_event_await_step_(cc_event_await_t *await)
{
    if (await->pauses == 0) return cc_event_await_slow_(await);
    await->pauses--;
    cc_pause();
    return true;
}

/* Ends the wait, whether the condition holds or not. */
CC_INLINE_ void cc_event_await_end_(cc_event_await_t *await)
{
    if (await->phase == 0) return;
    cc_event_await_end_slow_(await);
    CC_TSAN_ACQUIRE_(await->event);
}

/* Waits until the condition, any expression, holds, or the deadline passes; its value is whether it holds. The
 * condition is looked at again and again, at least once, and its last look is the result; it must not jump out. May
 * block. */
#define CC_EVENT_AWAIT_UNTIL(event_, condition_, deadline_)                                       \
    __extension__({                                                                               \
        CC_MAY_SHADOW_BEGIN_ /* a condition that awaits in its turn */                            \
            cc_event_await_t cc_await_ = cc_event_await_begin_((event_), (deadline_));            \
        bool cc_holds_;                                                                           \
        CC_MAY_SHADOW_END_                                                                        \
        while (!(cc_holds_ = (condition_) ? true : false) && cc_event_await_step_(&cc_await_)) {} \
        cc_event_await_end_(&cc_await_);                                                          \
        cc_holds_;                                                                                \
    })

/* The same, for at most `ns` nanoseconds. */
#define CC_EVENT_AWAIT_TIMEOUT(event_, condition_, ns_) CC_EVENT_AWAIT_UNTIL(event_, condition_, cc_deadline_in(ns_))

/* Waits until the condition, any expression, holds. */
#define CC_EVENT_AWAIT(event_, condition_) ((void)CC_EVENT_AWAIT_UNTIL(event_, condition_, CC_FOREVER))

/* The same for languages that cannot read a C macro; the condition is `condition(argument)`. May block. */
CC_API bool cc_event_await(cc_event_t *event, bool (*condition)(void *), void *argument, uint64_t deadline);

CC_END_DECLS

#endif
