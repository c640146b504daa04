/* channel_spsc.h: the inline half of a channel with one sender and one receiver; channel.h includes it.
 *
 * Sending                                              receiving
 *   1 is there room? (tail - head_seen)                  1 is the stamp of the next slot p + 1?
 *   2 copy the message into the slot                     2 copy the message out
 *   3 stamp the slot p + 1                               3 publish `head`: the slot is free again
 *   4 wake the receiver if it sleeps                     4 wake the sender if it sleeps
 *
 * The stamp travels on the message's own cache line, so a message costs one transfer of a line between the CPUs. The
 * sender remembers `head` and reads it only when there seems to be no room, so a stream costs hardly more.
 *
 * A close may come between 1 and 4 of the sender. So the sender looks at `closed` again in 4; why that is enough stands
 * in src/channel.c: Closing. */
#include <concede/channel.h> /* before the guard: channel.h comes back here when the channel's layout stands */
#ifndef CONCEDE_CHANNEL_SPSC_H
#define CONCEDE_CHANNEL_SPSC_H

CC_BEGIN_DECLS

/* What the sender does after n messages, or one, when the receiver sleeps or the channel is closed. The first returns
 * how many of them count as sent, the second 0 or EPIPE, which this header cannot name: it includes no <errno.h>. */
CC_API CC_COLD_ size_t cc_spsc_sent_slow_(cc_channel_t *channel, size_t n);
CC_API CC_COLD_ int cc_spsc_sent_one_slow_(cc_channel_t *channel);
/* What the receiver does after a message when the sender sleeps. Not CC_COLD_: gcc would take the look before it for
 * cold. */
CC_API void cc_spsc_published_slow_(cc_channel_t *channel);

/* ---- The sender ------------------------------------------------------------------------------------------------- */

/* How many more messages fit, as far as the sender knows without reading `head`; 0 when closed. */
CC_TEMPLATE_ size_t cc_spsc_room_(const cc_channel_t *channel)
{
    size_t used = (size_t)((cc_index_)(channel->spsc.tail - channel->spsc.head_seen) >> 1);
    if (cc_load_relaxed(&channel->closed) != CC_CHANNEL_OPEN_)
        return 0; /* relaxed: the sender looks again after its stamp */
    return channel->mask + 1 - used;
}

/* Writes the message of a position into its slot, or leaves what is there if `message` is NULL, and stamps the slot. */
CC_TEMPLATE_ void cc_spsc_write_(cc_channel_t *channel, cc_index_ position, const void *message,
                                 cc_slot_layout_t layout)
{
    unsigned char *slot = cc_channel_slot_(channel, position, layout);
    if (message) cc_atomic_copy_(slot, message, layout.message_size);
    /* [spsc.stamp] pairs with the receiver's look in cc_spsc_is_stamped_() */
    cc_store_release(cc_slot_stamp_(slot, layout), (cc_index_)(position + 1));
}

CC_TEMPLATE_ void cc_spsc_write_one_(cc_channel_t *channel, const void *message, cc_slot_layout_t layout)
{
    cc_index_ position = channel->spsc.tail;
    cc_store_relaxed(&channel->spsc.tail, (cc_index_)(position + 2)); /* relaxed: others read it for len only */
    cc_spsc_write_(channel, position, message, layout);
}

/* Writes the next n messages, a burst, in batches of 8 lines, and each batch from its last message to its first: the
 * receiver waits for the first one, and when that is there so are the others. In their order the receiver would take
 * each line away while the sender still writes to it. (4 lines and 16 do as well: `concede bench channel.burst` on AMD
 * Zen 4 under KVM.) */
enum { CC_SPSC_BATCH_LINES_ = 8 };
CC_TEMPLATE_ void cc_spsc_write_many_(cc_channel_t *channel, const unsigned char *messages, size_t n,
                                      cc_slot_layout_t layout)
{
    const size_t bytes = CC_SPSC_BATCH_LINES_ * CC_LINE_BYTES_;
    const size_t batch_max = layout.stride < bytes ? bytes / layout.stride : 1;
    while (n > 0) {
        cc_index_ position = channel->spsc.tail;
        size_t batch = n < batch_max ? n : batch_max;
        cc_store_relaxed(&channel->spsc.tail, (cc_index_)(position + (cc_index_)(2 * batch))); /* relaxed: as above */
        for (size_t i = batch; i-- > 0;)
            cc_spsc_write_(channel, (cc_index_)(position + (cc_index_)(2 * i)), messages + i * layout.message_size,
                           layout);
        messages += batch * layout.message_size;
        n -= batch;
    }
}

/* After a stamp: whether the receiver sleeps, or the channel was closed meanwhile. */
CC_TEMPLATE_ bool cc_spsc_is_asleep_or_closed_(cc_channel_t *channel)
{
    bool asleep = cc_event_has_waiters_(&channel->not_empty); /* [channel.sleep] the stamp before, the event after */
    /* relaxed: [spsc.close], by the fence in the look before it */
    bool closed = cc_load_relaxed(&channel->closed) != CC_CHANNEL_OPEN_;
    return asleep || closed;
}

/* After n messages were stamped: returns how many of them count as sent. */
CC_TEMPLATE_ size_t cc_spsc_sent_(cc_channel_t *channel, size_t n)
{
    return CC_UNLIKELY_(cc_spsc_is_asleep_or_closed_(channel)) ? cc_spsc_sent_slow_(channel, n) : n;
}

/* ---- The receiver ----------------------------------------------------------------------------------------------- */

CC_TEMPLATE_ bool cc_spsc_is_stamped_(const unsigned char *slot, cc_index_ position, cc_slot_layout_t layout)
{
    /* [spsc.stamp] pairs with the sender's stamp */
    return cc_load_acquire(cc_slot_stamp_(slot, layout)) == (cc_index_)(position + 1);
}

CC_TEMPLATE_ bool cc_spsc_has_message_(const cc_channel_t *channel, cc_slot_layout_t layout)
{
    cc_index_ position = channel->spsc.next;
    return cc_spsc_is_stamped_(cc_channel_slot_(channel, position, layout), position, layout);
}

/* While the receiver works on a line it prefetches the one that is 5 lines ahead: without that a third of the rate of
 * `concede bench channel.burst` is lost, with 2 lines a seventh, and 10 bring no more (AMD Zen 4 under KVM). A sender
 * that prefetched was no faster, there and on the machines of `concede simulate channel.stream`; but where sending is a
 * compare-and-swap, which waits for its line, it prefetches 2 lines ahead (src/shared_mpmc.c). */
enum { CC_SPSC_RECV_AHEAD_ = 5, CC_SPSC_SEND_AHEAD_ = 2 };

/* Whether the position is the first one on its line. No division: the stride may not be a constant. */
CC_TEMPLATE_ bool cc_spsc_begins_line_(cc_index_ position, cc_slot_layout_t layout)
{
    return (size_t)(position >> 1) * layout.stride % CC_LINE_BYTES_ == 0;
}

/* The address so many lines after this slot's stamp. Past the last slot that is the memory of others or of nobody, and
 * to prefetch there does no harm. */
CC_TEMPLATE_ const void *cc_spsc_ahead_(const unsigned char *slot, size_t lines, cc_slot_layout_t layout)
{
    return (const void *)((uintptr_t)cc_slot_stamp_(slot, layout) + lines * CC_LINE_BYTES_);
}

/* Copies the message of a position out, if it is there, or does nothing with it if `message` is NULL. */
CC_TEMPLATE_ bool cc_spsc_read_(const cc_channel_t *channel, cc_index_ position, void *message, cc_slot_layout_t layout)
{
    const unsigned char *slot = cc_channel_slot_(channel, position, layout);
    if (CC_UNLIKELY_(!cc_spsc_is_stamped_(slot, position, layout))) return false;
    if (cc_spsc_begins_line_(position, layout)) __builtin_prefetch(cc_spsc_ahead_(slot, CC_SPSC_RECV_AHEAD_, layout));
    if (message) cc_atomic_copy_(message, slot, layout.message_size);
    return true;
}

/* Copies the next message out, if there is one, or only moves past it if `message` is NULL. cc_spsc_publish_() then
 * gives its slot back. */
CC_TEMPLATE_ bool cc_spsc_take_(cc_channel_t *channel, void *message, cc_slot_layout_t layout)
{
    cc_index_ position = channel->spsc.next;
    if (CC_UNLIKELY_(!cc_spsc_read_(channel, position, message, layout))) return false;
    channel->spsc.next = (cc_index_)(position + 2);
    return true;
}

/* Gives the slots of what was taken back, and wakes the sender if it sleeps. */
CC_TEMPLATE_ void cc_spsc_publish_(cc_channel_t *channel)
{
    cc_store_release(&channel->spsc.head, channel->spsc.next); /* [spsc.head] pairs with the sender's look at it */
    /* [channel.sleep] the slot before, the event after */
    if (CC_UNLIKELY_(cc_event_has_waiters_(&channel->not_full))) cc_spsc_published_slow_(channel);
}

CC_TEMPLATE_ size_t cc_spsc_recv_many_(cc_channel_t *channel, unsigned char *messages, size_t n,
                                       cc_slot_layout_t layout)
{
    cc_index_ position = channel->spsc.next;
    size_t i = 0;
    while (i < n && cc_spsc_read_(channel, position, messages + i * layout.message_size, layout)) {
        position = (cc_index_)(position + 2);
        i++;
    }
    if (i > 0) {
        channel->spsc.next = position;
        cc_spsc_publish_(channel);
    }
    return i;
}

CC_END_DECLS

#endif
