/* event.h: what a channel asks of its events, besides the public header. */
#ifndef CONCEDE_SRC_EVENT_H
#define CONCEDE_SRC_EVENT_H

#include <concede/event.h>

/* The two halves of a notify, after a full fence. The first claims one of the threads that listen, or all, and returns
 * how many are to be woken: 0, 1 or CC_OS_ALL_. Then the caller wakes that many: those who sleep on the event by
 * cc_event_wake_(), others in the way that they sleep. */
uint32_t cc_event_claim_(cc_event_t *event, uint32_t whom);
void cc_event_wake_(cc_event_t *event, uint32_t count);

/* Listens without a key, for a thread that will sleep elsewhere; cc_event_cancel() ends it. A fence must follow before
 * the condition is looked at: a full one if this returns true, else a heavy one. */
bool cc_event_join_(cc_event_t *event);

/* Makes every notify come to the slow path, until cc_event_unwatch_(). A fence must follow, as after cc_event_join_().
 */
bool cc_event_watch_(cc_event_t *event);
void cc_event_unwatch_(cc_event_t *event);

/* Notes that a thread slept that had listened here, or watched. */
void cc_event_slept_(cc_event_t *event);

/* A thread that waits for several events sleeps on one of its own. It snoozes as long as any of the others would have
 * it, and what its wait has taught goes to them. */
void cc_event_plan_also_(cc_event_t *own, const cc_event_t *event, uint32_t snooze_iters);
void cc_event_learn_from_(cc_event_t *event, const cc_event_await_t *await);

/* How a wait sleeps elsewhere than on its event, which then only learns how long to snooze. */
struct cc_event_elsewhere {
    uint32_t (*listen)(cc_event_t *there);  /* announces the thread and takes a fence; returns the key */
    bool (*sleep)(cc_event_await_t *await); /* sleeps once; false: the deadline has passed */
    cc_event_t *there;
};

/* Whether the wait has announced itself, and the condition is to be looked at once more before it sleeps. */
bool cc_event_await_listens_(const cc_event_await_t *await);

/* Under a quota: for how many things at once the sleep of a wait, which has just ended, was better than spinning for
 * each. If so many were there the caller sets `gathered`. 0: it did not sleep, or CPU time is not what counts. */
uint32_t cc_event_worth_a_sleep_(const cc_event_await_t *await);

#endif
