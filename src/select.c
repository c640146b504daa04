/* select.c: the first of several channels that is ready.
 *
 * The wait is that of event.h on an event of its own. Between its announcement and its last look before it sleeps the
 * thread joins the doors of all its channels (door.c), and when it has slept it leaves them all before it looks again.
 * So at each door it is what any thread is that waits there: it listens, looks, sleeps, stops listening, and looks. */
#include <concede/select.h>

#include <errno.h>

#include "backoff.h"
#include "channel_mpmc.h"
#include "door.h"
#include "event.h"
#include "snooze.h"

bool cc_select_are_valid_(const cc_select_case_t *cases, size_t n)
{
    uint32_t operations = 0;
    for (size_t i = 0; i < n; i++) {
        const cc_select_case_t *one = &cases[i];
        operations |= one->operation;
        if (one->channel && !one->message) return false;
    }
    return operations <= CC_SELECT_SEND; /* none has a bit but the lowest */
}

/* ---- Trying ----------------------------------------------------------------------------------------------------- */

/* The case to begin with, so that each is the first as often as the others. Each thread has a fraction of 2^32 that
 * goes up in steps of 2^32 divided by the golden ratio, and wraps around. Of such a series every second number is
 * spread as evenly, and so is every n-th for most n: it is fair also to a thread that goes from one select to another
 * and back. Where n is a large Fibonacci number the series moves slowly, and all have had their share only after some
 * thousand selects. */
static size_t start_(size_t n, uint32_t order)
{
    if (order == CC_SELECT_IN_ORDER) return 0;
#if defined(CC_MODEL)
    uint32_t fraction = cc_backoff_seed_();
#else
    static _Thread_local uint32_t fraction;
    fraction += UINT32_C(2654435769);
#endif
    return (size_t)((uint64_t)fraction * n >> 32);
}

static int try_(const cc_select_case_t *one)
{
    cc_channel_t *channel = one->channel;
    size_t size = channel->layout.message_size;
    return one->operation == CC_SELECT_SEND ? cc_channel_try_send_any_(channel, one->message, size)
                                            : cc_channel_try_recv_any_(channel, one->message, size);
}

/* Most messages are a pointer or a number. For 8 bytes all of the layout is a constant, and a message that is there is
 * received without a call, in half of the time (`concede bench select.ready --channels 2` on AMD Zen 4 under KVM: 5 ns,
 * else 9). Returns false if all cases have to be looked at. It wakes a sender last, so that no register has to be kept
 * for after that. */
CC_TEMPLATE_ bool receive_8_(cc_select_case_t *cases, size_t at, size_t *which)
{
    const cc_slot_layout_t layout = cc_slot_layout_(8);
    cc_select_case_t *one = &cases[at];
    cc_channel_t *channel = one->channel;
    if (!channel || !one->message || one->operation != CC_SELECT_RECV) return false;
    if (channel->shape == cc_channel_shape_(CC_CHANNEL_SPSC, 8)) {
        if (cc_channel_is_shared_(channel)) return false;
        if (CC_UNLIKELY_(!cc_spsc_take_(channel, one->message, layout))) return false;
        one->result = 0;
        *which = at;
        cc_spsc_publish_(channel);
    } else {
        cc_index_ position;
        if (channel->shape != cc_channel_shape_(CC_CHANNEL_MPMC, 8)) return false;
        unsigned char *slot = cc_mpmc_take_one_(channel, CC_RECEIVING_, &position, layout);
        if (CC_UNLIKELY_(!slot)) return false;
        cc_mpmc_read_(channel, slot, position, one->message, layout);
        one->result = 0;
        *which = at;
        /* [channel.sleep] the stamp before, the event after */
        cc_channel_notify_(channel, CC_SENDING_, CC_NOTIFY_RELAY_);
    }
    return true;
}

/* A look that takes nothing, and disturbs the other side least. */
static bool seems_ready_(const cc_select_case_t *one)
{
    return cc_channel_has_(one->channel, cc_select_direction_(one), 1) ||
           cc_load_relaxed(&one->channel->closed) != CC_CHANNEL_OPEN_; /* relaxed: the try looks again */
}

/* Does the first case from `start` on that can be done, and returns whether there was one. Where it only glances, it
 * tries those cases that seem ready. */
static bool do_one_(cc_select_case_t *cases, size_t n, size_t start, bool glances, size_t *which)
{
    for (size_t i = 0, at = start; i < n; i++, at = at + 1 < n ? at + 1 : 0) {
        cc_select_case_t *one = &cases[at];
        if (!one->channel || (glances && !seems_ready_(one))) continue;
        int result = try_(one);
        if (result == EAGAIN) continue;
        one->result = result;
        *which = at;
        return true;
    }
    return false;
}

/* ---- Waiting ---------------------------------------------------------------------------------------------------- */

/* The event that has learned how long to snooze for this case. */
static cc_event_t *learner_(const cc_select_case_t *one)
{
    bool shared = cc_channel_is_shared_(one->channel);
    return shared ? cc_shared_learned_(one->channel, cc_select_direction_(one)) : cc_select_event_(one);
}

/* Notifiers know the selector's event only through the doors, where they take a full fence: it needs no heavy one. The
 * two words that notifiers change are stored to as they do. */
static void begin_event_(cc_event_t *event)
{
    cc_store_relaxed(&event->epoch, 0); /* relaxed, both: no door knows it yet */
    cc_store_relaxed(&event->woken_at, 0);
    event->waiters = CC_EVENT_FENCED_ | CC_EVENT_TRUSTED_;
    event->snooze = 1; /* no snooze, until a channel wants one */
    event->sleepiness = event->left_to_it = event->looked_at = 0;
}

static void begin_selector_(cc_selector_t *selector, cc_select_case_t *cases, size_t n)
{
    begin_event_(&selector->event);
    selector->cases = cases;
    selector->count = n;
    selector->has_channel = selector->has_shared = false;
    for (size_t i = 0; i < n; i++) {
        cases[i].selector_ = NULL;
        cases[i].next_ = cases[i].previous_ = NULL;
        if (!cases[i].channel) continue;
        selector->has_channel = true;
        selector->has_shared = selector->has_shared || cc_channel_is_shared_(cases[i].channel);
        cc_event_plan_also_(&selector->event, learner_(&cases[i]), cases[i].channel->snooze_iters);
    }
}

static void join_all_(cc_selector_t *selector)
{
    bool trusted = true;
    for (size_t i = 0; i < selector->count; i++) {
        cc_select_case_t *one = &selector->cases[i];
        if (!one->channel) continue;
        if (cc_channel_is_shared_(one->channel))
            cc_shared_select_join_(one);
        else if (!cc_door_join_(one, selector))
            trusted = false;
    }
    if (selector->has_shared)
        cc_shared_fence_heavy_(); /* [shared.announce] pairs with cc_fence_light_(), in all processes */
    if (trusted)
        cc_fence_full(); /* [event.announce] pairs with the fence in cc_channel_notify_slow_() */
    else
        cc_fence_heavy_(); /* [event.announce] pairs with cc_fence_light_(), for all channels at once */
}

static void leave_all_(const cc_selector_t *selector, bool slept)
{
    for (size_t i = 0; i < selector->count; i++) {
        cc_select_case_t *one = &selector->cases[i];
        if (!one->selector_) continue; /* no channel, or one that another case has joined */
        if (slept) cc_event_slept_(cc_select_event_(one));
        cc_door_leave_(one);
    }
}

/* Whether a process has died that has one of the channels open, and this process was not told yet; then that is the
 * result of the case `*which`. */
static bool reports_death_(const cc_selector_t *selector, bool has_time, size_t *which)
{
    return selector->has_shared && cc_shared_select_reports_(selector, has_time, which);
}

/* Goes through the phases of event.h until a case could be done, which is then done, or the deadline has passed: false.
 * It is in the doors from its announcement until it has slept, or need not sleep. */
static bool do_first_(cc_selector_t *selector, cc_event_await_t *await, size_t start, size_t *which)
{
    bool done, joined = false;
    while (!(done = do_one_(selector->cases, selector->count, start, await->pauses > 0, which)) &&
           cc_event_await_step_(await)) {
        if (joined) {
            leave_all_(selector, await->woken);
            if (reports_death_(selector, true, which)) return true;
        }
        joined = cc_event_await_listens_(await);
        if (!joined) continue;
        selector->key = await->key;
        join_all_(selector);
    }
    if (joined) leave_all_(selector, false);
    return done;
}

/* What the wait has taught: a long sleep, that nothing comes soon from any of the channels; anything else, how soon
 * something came from the one that ended it. A channel whose threads relay, which is MPMC and private, learns nothing
 * from a sleep that it ended. */
static void teach_channels_(const cc_selector_t *selector, const cc_event_await_t *await, size_t ended_by)
{
    for (size_t i = 0; i < selector->count; i++) {
        const cc_select_case_t *one = &selector->cases[i];
        cc_channel_t *channel = one->channel;
        if (!channel || channel->snooze_iters != CC_SNOOZE_ADAPTIVE) continue;
        bool learns =
            i == ended_by ? !await->slept || !cc_channel_is_private_mpmc_(channel) : await->ending == CC_SLEPT_LONG_;
        if (learns) cc_event_learn_from_(learner_(one), await);
    }
}

static void relay_all_(const cc_selector_t *selector)
{
    for (size_t i = 0; i < selector->count; i++) {
        const cc_select_case_t *one = &selector->cases[i];
        if (one->channel) cc_channel_relay_rest_(one->channel, cc_select_direction_(one));
    }
}

/* The selector lies on the stack, or where a checker can follow it. */
#if !defined(CC_SELECTOR_)
#define CC_SELECTOR_(own) (own)
#endif

static int wait_for_one_(cc_select_case_t *cases, size_t n, size_t start, size_t *which, uint64_t deadline)
{
    cc_selector_t own, *selector = CC_SELECTOR_(&own);
    begin_selector_(selector, cases, n);
    if (!selector->has_channel && deadline == CC_FOREVER) return EINVAL;
    cc_event_await_t await = cc_event_await_begin_(&selector->event, deadline);
    struct cc_event_elsewhere elsewhere;
    await.in_channel = true;
    if (selector->has_shared) cc_shared_select_elsewhere_(selector, &await, &elsewhere);
    if (reports_death_(selector, false, which)) return 0;
    bool done = do_first_(selector, &await, start, which);
    cc_event_await_end_(&await);
    teach_channels_(selector, &await, done ? *which : n);
    if (!done) done = reports_death_(selector, true, which);
    if (await.announced) relay_all_(selector);
    return done ? 0 : ETIMEDOUT;
}

/* ---- The call --------------------------------------------------------------------------------------------------- */

/* What the call does if the first case that it looks at is not ready, or not of 8 bytes. Not inlined: the call itself
 * then has few registers to save. */
static CC_NOINLINE_ int do_one_or_wait_(cc_select_case_t *cases, size_t n, size_t start, size_t *which,
                                        uint64_t deadline)
{
    if (CC_UNLIKELY_(!cc_select_are_valid_(cases, n))) return EINVAL;
    if (CC_LIKELY_(do_one_(cases, n, start, false, which))) return 0;
    if (deadline == CC_SELECT_NO_WAIT_) return EAGAIN;
    return wait_for_one_(cases, n, start, which, deadline);
}

int cc_select_any_(cc_select_case_t *cases, size_t n, uint32_t order, size_t *which, uint64_t deadline)
{
    if (CC_UNLIKELY_(!which || order > CC_SELECT_IN_ORDER)) return EINVAL;
    if (CC_UNLIKELY_(n == 0)) return do_one_or_wait_(cases, 0, 0, which, deadline);
    if (CC_UNLIKELY_(!cases || n > CC_SELECT_MAX)) return EINVAL;
    size_t start = start_(n, order);
    if (CC_LIKELY_(receive_8_(cases, start, which))) return 0;
    return do_one_or_wait_(cases, n, start, which, deadline);
}
