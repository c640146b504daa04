/* channel_debug.c: what code that was compiled with CC_DEBUG asks about each channel that it uses.
 *
 * It aborts only where it is sure. A second sender, or receiver, is one that comes while another is inside a call:
 * whoever sends in turns leaves before the next one enters, and what orders the two shows the next one that it has
 * left. */
#include "debug.h"
#include "door.h"
#include "os.h"

static void die_(const cc_channel_t *channel, const char *text, uint32_t one, uint32_t other)
{
    cc_debug_die_("channel", channel, text, one, other);
}

static uint32_t *inside_(cc_channel_t *channel, uint32_t side)
{
    return side == CC_DEBUG_SENDER_ ? &channel->spsc.sender : &channel->spsc.receiver;
}

void(cc_channel_debug_enter_)(cc_channel_t *channel, uint32_t side)
{
    if (!cc_channel_is_spsc_(channel) || cc_channel_is_shared_(channel)) return;
    uint32_t inside = 0, own = cc_debug_thread_();
    if (cc_cas_relaxed(inside_(channel, side), &inside, own) || inside == own)
        return; /* relaxed: what orders two threads that take turns orders this, too */
    if (side == CC_DEBUG_SENDER_)
        die_(channel, "has one sender, but thread %u sends while thread %u does", own, inside);
    else
        die_(channel, "has one receiver, but thread %u receives while thread %u does", own, inside);
}

size_t(cc_channel_debug_leave_)(cc_channel_t *channel, uint32_t side, size_t result)
{
    if (cc_channel_is_spsc_(channel) && !cc_channel_is_shared_(channel))
        cc_store_relaxed(inside_(channel, side), 0); /* relaxed: as above */
    return result;
}

void(cc_channel_debug_commit_)(cc_channel_t *channel)
{
    (cc_channel_debug_enter_)(channel, CC_DEBUG_SENDER_);
    if (!cc_channel_is_spsc_(channel) || channel->spsc.reserved != (cc_index_)(channel->spsc.tail + 1))
        die_(channel, "is committed to by thread %u, which has reserved nothing", cc_debug_thread_(), 0);
    (void)(cc_channel_debug_leave_)(channel, CC_DEBUG_SENDER_, 0);
}

void(cc_channel_debug_consume_)(cc_channel_t *channel)
{
    (cc_channel_debug_enter_)(channel, CC_DEBUG_RECEIVER_);
    if (!cc_channel_is_spsc_(channel) || channel->spsc.peeked != (cc_index_)(channel->spsc.next + 1))
        die_(channel, "is consumed from by thread %u, which has not peeked at a message", cc_debug_thread_(), 0);
    (void)(cc_channel_debug_leave_)(channel, CC_DEBUG_RECEIVER_, 0);
}

/* Whether a thread waits. In the child of a fork the parent's threads are still counted: so it wakes them, and one that
 * takes up its claim lives. */
static bool waits_(cc_channel_t *channel, cc_direction_t direction)
{
    cc_event_t *event = cc_channel_event_(channel, direction);
    if (!(cc_load_relaxed(&event->waiters) & CC_EVENT_LISTENING_))
        return false; /* relaxed, both: nobody may come now */
    cc_channel_notify_slow_(channel, direction, CC_NOTIFY_ALL_);
    uint32_t unused = 0; /* to sleep on */
    for (int i = 0; i < 1000; i++) {
        if (!(cc_load_relaxed(&event->waiters) & CC_EVENT_CLAIMS_)) return true;
        (void)cc_os_wait_(&unused, 0, cc_os_now_() + 100000);
    }
    return false;
}

void(cc_channel_debug_destroy_)(cc_channel_t *channel)
{
    if (!channel || cc_channel_is_shared_(channel)) return;
    uint32_t own = cc_debug_thread_();
    bool spsc = cc_channel_is_spsc_(channel);
    /* relaxed, both: a number to print */
    uint32_t sender = spsc ? cc_load_relaxed(&channel->spsc.sender) : 0;
    uint32_t receiver = spsc ? cc_load_relaxed(&channel->spsc.receiver) : 0;
    if (waits_(channel, CC_SENDING_))
        die_(channel, "is destroyed by thread %u while thread %u waits to send (0: an unknown one)", own, sender);
    if (waits_(channel, CC_RECEIVING_))
        die_(channel, "is destroyed by thread %u while thread %u waits to receive (0: an unknown one)", own, receiver);
    channel->shape = 0; /* which no channel has: cc_select_debug_() knows it by that */
}

/* ---- Select ----------------------------------------------------------------------------------------------------- */

static uint32_t side_of_(const cc_select_case_t *one)
{
    return one->operation == CC_SELECT_SEND ? CC_DEBUG_SENDER_ : CC_DEBUG_RECEIVER_;
}

/* A select is inside all its channels at once. All cases are checked, also those that the select need not look at; what
 * is no array is left to the select itself. */
int cc_select_debug_(cc_select_case_t *cases, size_t n, uint32_t order, size_t *which, uint64_t deadline)
{
    size_t inside = cases && n <= CC_SELECT_MAX ? n : 0;
    if (!cc_select_are_valid_(cases, inside)) return EINVAL;
    for (size_t i = 0; i < inside; i++) {
        if (!cases[i].channel) continue;
        if (cases[i].channel->shape == 0)
            die_(cases[i].channel, "is selected on by thread %u after it was destroyed", cc_debug_thread_(), 0);
        (cc_channel_debug_enter_)(cases[i].channel, side_of_(&cases[i]));
    }
    int result = cc_select_any_(cases, n, order, which, deadline);
    for (size_t i = 0; i < inside; i++)
        if (cases[i].channel) (void)(cc_channel_debug_leave_)(cases[i].channel, side_of_(&cases[i]), 0);
    return result;
}
