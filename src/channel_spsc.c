/* channel_spsc.c: the out-of-line half of channel_spsc.h. What a close does to the last message is argued in channel.c:
 * Closing. */
#include "channel.h"

#include <errno.h>

/* Wakes the side that waits to send, or to receive, if it sleeps. */
static void notify_(cc_channel_t *channel, cc_direction_t direction)
{
    if (cc_channel_is_shared_(channel))
        cc_shared_notify_(cc_channel_event_(channel, direction));
    else
        cc_channel_notify_(channel, direction, CC_NOTIFY_ONE_);
}

/* ---- The sender ------------------------------------------------------------------------------------------------- */

size_t cc_spsc_sent_slow_(cc_channel_t *channel, size_t n)
{
    notify_(channel, CC_RECEIVING_);
    uint32_t seen = cc_load_acquire(&channel->closed); /* [channel.closed] pairs with the swap in cc_channel_close() */
    if (cc_channel_accepts_(seen)) return n;
    seen = CC_CHANNEL_CLOSED_;
    /* [spsc.last] pairs with the load in cc_spsc_is_drained_() */
    if (cc_cas_release(&channel->closed, &seen, CC_CHANNEL_ACCEPTED_)) return n;
    /* [spsc.last] pairs with the receiver's swap */
    if (cc_load_acquire(&channel->closed) != CC_CHANNEL_DRAINED_) return n;
    /* The receiver was first: of these messages only those count that it had received by then. */
    cc_index_ first = (cc_index_)(channel->spsc.tail - (cc_index_)(2 * n));
    cc_index_ received = cc_load_relaxed(&channel->spsc.head); /* relaxed: [spsc.last] orders it */
    size_t counts = (size_t)((cc_index_)(received - first) >> 1);
    return counts < n ? counts : n; /* it is more only if another process breaks the rules */
}

int cc_spsc_sent_one_slow_(cc_channel_t *channel)
{
    return cc_spsc_sent_slow_(channel, 1) == 1 ? 0 : EPIPE;
}

/* How many messages fit, for a sender that wants so many slots. It reads `head` only where the value that the sender
 * remembers leaves too little room. */
static size_t room_(cc_channel_t *channel, size_t wanted)
{
    size_t room = cc_spsc_room_(channel);
    /* relaxed: the sender looks again after its stamp */
    if (room >= wanted || cc_load_relaxed(&channel->closed) != CC_CHANNEL_OPEN_) return room;
    channel->spsc.head_seen = cc_load_acquire(&channel->spsc.head); /* [spsc.head] pairs with cc_spsc_publish_() */
    return cc_spsc_room_(channel);
}

size_t cc_spsc_send_now_(cc_channel_t *channel, const unsigned char *messages, size_t n)
{
    size_t room = room_(channel, n);
    n = n < room ? n : room;
    if (n == 0) return 0;
    cc_spsc_write_many_(channel, messages, n, channel->layout);
    return cc_spsc_sent_(channel, n);
}

void *cc_channel_reserve_any_(cc_channel_t *channel)
{
    if (!cc_channel_is_spsc_(channel)) return NULL;
    if (cc_channel_is_shared_(channel)) cc_shared_spsc_mend_sender_(channel);
    if (room_(channel, 1) == 0) return NULL;
    channel->spsc.reserved = (cc_index_)(channel->spsc.tail + 1);
    return cc_channel_slot_(channel, channel->spsc.tail, channel->layout);
}

/* ---- The receiver ----------------------------------------------------------------------------------------------- */

void cc_spsc_published_slow_(cc_channel_t *channel)
{
    notify_(channel, CC_SENDING_);
}

size_t cc_spsc_recv_now_(cc_channel_t *channel, unsigned char *messages, size_t n)
{
    return cc_spsc_recv_many_(channel, messages, n, channel->layout);
}

bool cc_spsc_is_drained_(cc_channel_t *channel)
{
    uint32_t seen = cc_load_acquire(&channel->closed); /* [channel.closed] pairs with the swap in cc_channel_close() */
    if (cc_channel_accepts_(seen)) return false;
    if (seen == CC_CHANNEL_DRAINED_) return true;
    if (cc_channel_is_shared_(channel)) cc_shared_fence_heavy_(); /* [spsc.close] for a sender in another process */
    cc_fence_heavy_(); /* [spsc.close] pairs with the light fence in cc_spsc_is_asleep_or_closed_() */
    if (cc_spsc_has_message_(channel, channel->layout)) return false;
    seen = CC_CHANNEL_CLOSED_;
    if (cc_cas_release(&channel->closed, &seen, CC_CHANNEL_DRAINED_)) { /* [spsc.last] pairs with the sender's load */
        /* The sender may still stamp this position. One lap on, the receiver does not take that for a message. relaxed:
         * only the receiver writes it; between processes cc_shared_spsc_bury_() may store the same */
        cc_store_relaxed(&channel->spsc.next, (cc_index_)(channel->spsc.next + 2 * (channel->mask + 1)));
        return true;
    }
    /* [spsc.last] The sender was first: this pairs with its swap to ACCEPTED, so its stamps are there. */
    (void)cc_load_acquire(&channel->closed);
    return !cc_spsc_has_message_(channel, channel->layout);
}

/* ---- Both sides, for waiting ------------------------------------------------------------------------------------ */

bool cc_spsc_has_(cc_channel_t *channel, cc_direction_t direction, size_t n)
{
    if (direction == CC_SENDING_) return room_(channel, n) >= n;
    cc_index_ last = (cc_index_)(channel->spsc.next + (cc_index_)(2 * (n - 1)));
    cc_index_ *stamp = cc_slot_stamp_(cc_channel_slot_(channel, last, channel->layout), channel->layout);
    return cc_load_relaxed(stamp) == (cc_index_)(last + 1); /* relaxed: the receive reads it again */
}

size_t cc_spsc_end_run_(cc_channel_t *channel, cc_direction_t direction)
{
    bool sending = direction == CC_SENDING_;
    cc_index_ position = sending ? channel->spsc.tail : channel->spsc.next;
    cc_index_ *at_wait = sending ? &channel->spsc.tail_at_wait : &channel->spsc.next_at_wait;
    cc_index_ run = (cc_index_)(position - *at_wait);
    *at_wait = position;
    return (size_t)(run >> 1);
}
