/* door.c: how notifiers reach those who wait for one side of a channel: threads that sleep on its event, threads that
 * select, and whoever polls a descriptor.
 *
 * A thread that selects joins the door of each of its channels: it puts its case into the door's list, and then it is
 * counted as listening by the event. A notifier claims one of those who listen, as ever, and then wakes one: the first
 * in the list or, where that is empty, one who sleeps on the event. It need not be the one that it claimed, because
 * whoever leaves takes up a claim, if there is one, looks at the channel, and relays what is left. So a thread that
 * selects is one more that listens, and sleeps somewhere else.
 *
 *   A thread is in the list before it is counted, [door.joined]: a claim that counts it finds it there.
 *   It is woken, and taken off the list, under the lock. So when it has left, nobody touches its stack.
 *   The system is called after the lock is released, by the address alone.
 *
 * No send waits for the lock. A notifier adds to the wakes that are due, and whoever holds the lock, or gets it next,
 * serves them; [door.due] closes the race with a holder that is just releasing it. */
#include "door.h"

#include <concede/backoff.h>

#include "counters.h"
#include "event.h"
#include "os.h"
#include "probe.h"

/* ---- The list --------------------------------------------------------------------------------------------------- */

static cc_door_t *door_(cc_channel_t *channel, cc_direction_t direction)
{
    return &channel->doors[direction];
}

static void append_(cc_door_t *door, cc_select_case_t *one)
{
    cc_select_case_t *first = door->first;
    one->next_ = first ? first : one;
    one->previous_ = first ? first->previous_ : one;
    one->next_->previous_ = one->previous_->next_ = one;
    /* relaxed: a notifier that has claimed this thread sees it, [door.joined]; others look again under the lock */
    if (!first) cc_store_relaxed(&door->first, one);
}

static void unlink_(cc_door_t *door, cc_select_case_t *one)
{
    cc_select_case_t *next = one->next_ == one ? NULL : one->next_;
    one->next_->previous_ = one->previous_;
    one->previous_->next_ = one->next_;
    if (door->first == one) cc_store_relaxed(&door->first, next); /* relaxed: as above */
    one->next_ = one->previous_ = NULL;
}

/* ---- Waking ----------------------------------------------------------------------------------------------------- */

#define ALL_DUE UINT32_C(0x80000000)

/* Takes the first thread off the list that no other door has woken yet, and moves its epoch on; the system call is the
 * caller's. Returns the word that it sleeps on, or NULL if there is none. */
static uint32_t *wake_first_(const cc_event_t *event, cc_door_t *door)
{
    while (door->first) {
        cc_selector_t *selector = door->first->selector_;
        uint32_t key = selector->key;
        unlink_(door, door->first);
        cc_store_relaxed(&selector->event.woken_at, cc_load_relaxed(&event->woken_at)); /* relaxed: a statistic */
        /* [event.epoch] pairs with the loads in sleep_once_() */
        if (cc_cas_release(&selector->event.epoch, &key, key + 1)) return &selector->event.epoch;
    }
    return NULL;
}

/* Serves the wakes that are due, one by one. If another thread holds the lock, that one does it. */
static void serve_(cc_event_t *event, cc_door_t *door)
{
    for (;;) {
        cc_fence_full(); /* [door.due] the lock or the wakes that are due before, the other one after */
        /* relaxed, all: the fence orders the first look, and below only this thread, which has the lock, subtracts */
        if (cc_load_relaxed(&door->wakes_due) == 0 || !cc_lock_try_acquire(&door->lock)) return;
        uint32_t due = cc_load_relaxed(&door->wakes_due);
        uint32_t *asleep_on = due != 0 ? wake_first_(event, door) : NULL;
        if (asleep_on && !(due & ALL_DUE)) (void)cc_fetch_sub_relaxed(&door->wakes_due, 1);
        if (!asleep_on) (void)cc_fetch_sub_relaxed(&door->wakes_due, due);
        cc_lock_release(&door->lock);
        if (due == 0) continue;
        if (asleep_on) {
            CC_PROBE_(event__wake, asleep_on, false); /* the epoch is the first word of an event */
            cc_os_wake_(asleep_on, 1);
        } else {
            cc_event_wake_(event, due & ALL_DUE ? CC_OS_ALL_ : due);
        }
        cc_count_wake_(CC_COUNT_CHANNEL_);
    }
}

static void make_readable_(cc_event_t *event, cc_door_t *door);

void cc_channel_notify_slow_(cc_channel_t *channel, cc_direction_t direction, uint32_t whom)
{
    cc_event_t *event = cc_channel_event_(channel, direction);
    cc_door_t *door = door_(channel, direction);
    /* [event.announce] pairs with the fence of those who listen, join or arm, [event.relay] with those who stop that */
    cc_fence_full();
    if (cc_load_relaxed(&event->waiters) & CC_EVENT_WATCHED_) make_readable_(event, door); /* relaxed: the fence */
    uint32_t count = cc_event_claim_(event, whom);
    if (count == 0) return;
    if (!cc_load_relaxed(&door->first)) { /* relaxed: [door.joined] */
        cc_event_wake_(event, count);
        cc_count_wake_(CC_COUNT_CHANNEL_);
        return;
    }
    /* relaxed, both: the fence in serve_() orders them */
    if (count == CC_OS_ALL_)
        (void)cc_fetch_or_relaxed(&door->wakes_due, ALL_DUE);
    else
        (void)cc_fetch_add_relaxed(&door->wakes_due, count);
    serve_(event, door);
}

/* ---- Joining and leaving ---------------------------------------------------------------------------------------- */

bool cc_door_join_(cc_select_case_t *one, cc_selector_t *selector)
{
    cc_event_t *event = cc_select_event_(one);
    cc_door_t *door = door_(one->channel, cc_select_direction_(one));
    cc_lock_acquire(&door->lock);
    bool again = door->last_joiner == selector; /* the same channel is in another case: the event counts threads */
    if (!again) {
        door->last_joiner = one->selector_ = selector;
        append_(door, one);
    }
    cc_lock_release(&door->lock);
    serve_(event, door);
    return again || cc_event_join_(event);
}

void cc_door_leave_(cc_select_case_t *one)
{
    cc_event_t *event = cc_select_event_(one);
    cc_door_t *door = door_(one->channel, cc_select_direction_(one));
    cc_lock_acquire(&door->lock);
    if (one->next_) unlink_(door, one);
    if (door->last_joiner == one->selector_) door->last_joiner = NULL;
    cc_lock_release(&door->lock);
    one->selector_ = NULL;
    serve_(event, door);
    cc_event_cancel(event);
}

/* ---- The descriptor --------------------------------------------------------------------------------------------- */

/* armed, bits 0 and 1   says                                       who moves it
 * QUIET                 nobody waits by the descriptor             arm -> ARMED, and + 4: the number of the arm
 * ARMED                 the next notify makes it readable          a notifier -> RINGING; arm, if a try is worth it
 *                                                                  after all -> QUIET
 * RINGING               a notifier is making it readable           the same -> RUNG
 * RUNG                  it is readable                             arm, after it has emptied it -> ARMED
 *
 * The number keeps a notifier that was held up from ringing for a later arm. RINGING keeps an arm from emptying the
 * descriptor before the notifier has filled it. */
enum { QUIET, ARMED, RINGING, RUNG, STATE = 3, NUMBER = 4 };

/* A thread that polls may never come for what there is. So the descriptor is made readable in addition to what the
 * event wakes, never in its place. */
static CC_COLD_ void make_readable_(cc_event_t *event, cc_door_t *door)
{
    uint32_t seen = cc_load_relaxed(&door->armed); /* relaxed: the fence before it; the swap decides */
    if ((seen & STATE) != ARMED) return;
    /* [door.armed] pairs with the store in arm */
    if (!cc_cas_acquire(&door->armed, &seen, seen - ARMED + RINGING)) return;
    cc_event_unwatch_(event);
    cc_os_bell_ring_(door->descriptors[1] - 1);
    cc_store_release(&door->armed, seen - ARMED + RUNG); /* [door.armed] pairs with the load in arm */
    cc_count_wake_(CC_COUNT_CHANNEL_);
}

static bool is_operation_(const cc_channel_t *channel, uint32_t operation)
{
    return channel && (operation == CC_SELECT_RECV || operation == CC_SELECT_SEND);
}

int cc_channel_fd(cc_channel_t *channel, uint32_t operation, int *fd)
{
    if (!is_operation_(channel, operation) || !fd) return EINVAL;
    if (cc_channel_is_shared_(channel)) return ENOSYS; /* the descriptor and the door belong to one process */
    cc_door_t *door = door_(channel, cc_operation_direction_(operation));
    int error = 0, made[2] = { 0, 0 };
    cc_lock_acquire(&door->lock);
    if (door->descriptors[0] == 0) {
        error = cc_os_bell_create_(made);
        for (int i = 0; error == 0 && i < 2; i++) door->descriptors[i] = made[i] + 1;
    }
    if (error == 0) *fd = door->descriptors[0] - 1;
    cc_lock_release(&door->lock);
    serve_(cc_channel_event_(channel, cc_operation_direction_(operation)), door);
    return error;
}

void cc_channel_close_descriptors_(cc_channel_t *channel)
{
    for (int i = 0; i < 2; i++) {
        cc_door_t *door = &channel->doors[i];
        if (door->descriptors[0] == 0) continue;
        cc_os_bell_close_(door->descriptors[0] - 1, door->descriptors[1] - 1);
        door->descriptors[0] = door->descriptors[1] = 0;
    }
}

/* Whether a try would not say EAGAIN. */
static bool is_worth_it_(cc_channel_t *channel, cc_direction_t direction)
{
    bool spsc = cc_channel_is_spsc_(channel);
    if ((spsc || direction == CC_SENDING_) && cc_channel_is_closed_any_(channel)) return true;
    return spsc ? cc_spsc_has_(channel, direction, 1) : cc_mpmc_has_more_(channel, direction);
}

/* The notifier that is making the descriptor readable is one system call away from having done it, unless it lost its
 * CPU. Then nobody wakes this thread, so it looks again every 100 us, which is long beside a system call (215 ns, see
 * costs.c) and short beside a time slice. */
static uint32_t wait_until_rung_(cc_door_t *door)
{
    cc_backoff_t backoff = CC_SNOOZE_INIT;
    uint32_t seen;
    while (((seen = cc_load_acquire(&door->armed)) & STATE) == RINGING) { /* [door.armed] pairs with the store there */
        if (cc_backoff_is_completed(&backoff))
            (void)cc_os_wait_(&door->armed, seen, cc_deadline_in(100000));
        else
            cc_backoff_snooze(&backoff);
    }
    return seen;
}

bool cc_channel_arm(cc_channel_t *channel, uint32_t operation)
{
    if (!is_operation_(channel, operation) || cc_channel_is_shared_(channel)) return false;
    cc_direction_t direction = cc_operation_direction_(operation);
    cc_event_t *event = cc_channel_event_(channel, direction);
    cc_door_t *door = door_(channel, direction);
    if (door->descriptors[0] == 0) return false; /* nobody has asked for it by cc_channel_fd() */

    uint32_t seen = wait_until_rung_(door);
    if ((seen & STATE) == RUNG) {
        cc_os_bell_empty_(door->descriptors[0] - 1);
        cc_event_slept_(event); /* somebody waited: if that happens again and again, notifiers take the fence */
    }
    if ((seen & STATE) != ARMED) {
        seen = (seen & ~(uint32_t)STATE) + NUMBER + ARMED;
        cc_store_release(&door->armed, seen); /* [door.armed] pairs with the swap in make_readable_() */
    }
    /* A notifier that saw the event watched before may ring already. Then the bit stays until the next ring: it costs
     * the notifiers a fence each, but nobody a wake-up. */
    if (cc_event_watch_(event))
        cc_fence_full(); /* [event.announce] pairs with the fence in cc_channel_notify_slow_() */
    else
        cc_fence_heavy_(); /* [event.announce] pairs with cc_fence_light_() */
    if (!is_worth_it_(channel, direction)) return true;
    /* A try is worth it now, so it need not stay armed. If a notifier has begun to ring, the descriptor becomes
     * readable, as an armed one does. */
    if (!cc_cas_relaxed(&door->armed, &seen, seen - ARMED + QUIET)) return true; /* relaxed: nothing hangs on it */
    cc_event_unwatch_(event);
    return false;
}
