/* channel_mpmc.h: a channel with many senders and many receivers.
 *
 * Sending                                              receiving
 *   1 is the stamp of the slot at `tail` p?              1 is the stamp of the slot at `head` p + 1?
 *   2 move `tail` from p to p + 2 by compare-and-swap    2 move `head` from p to p + 2 by compare-and-swap
 *   3 copy the message into the slot                     3 copy the message out
 *   4 stamp the slot p + 1                               4 stamp the slot p + 2 * capacity: free for the next lap
 *   5 wake a receiver if one sleeps                      5 wake a sender if one sleeps
 *
 * What 1 has seen still holds in 2: while the position stands, nobody else may use that slot. So the compare-and-swap
 * needs no order of its own; the stamps order the messages. A burst takes several positions with one compare-and-swap.
 *
 * The close sets bit 0 of `tail`; channel.c, Closing, says why. */
#ifndef CONCEDE_SRC_CHANNEL_MPMC_H
#define CONCEDE_SRC_CHANNEL_MPMC_H

#include "channel.h"

CC_TEMPLATE_ cc_mpmc_side_t *cc_mpmc_side_(cc_channel_t *channel, cc_direction_t direction)
{
    return direction == CC_SENDING_ ? &channel->mpmc.tail : &channel->mpmc.head;
}

/* The stamp of the slot at this position when a thread may take it to send, or to receive. */
CC_TEMPLATE_ cc_index_ cc_mpmc_awaited_(cc_index_ position, cc_direction_t direction)
{
    return (cc_index_)(position + (direction == CC_SENDING_ ? 0 : 1));
}

CC_TEMPLATE_ cc_index_ *cc_mpmc_stamp_(const cc_channel_t *channel, cc_index_ position, cc_slot_layout_t layout)
{
    return cc_slot_stamp_(cc_channel_slot_(channel, position, layout), layout);
}

/* Steps 3 and 4 of sending. */
CC_TEMPLATE_ void cc_mpmc_write_(unsigned char *slot, cc_index_ position, const void *message, cc_slot_layout_t layout)
{
    cc_atomic_copy_(slot, message, layout.message_size);
    /* [mpmc.stamp] pairs with the receiver's look at it */
    cc_store_release(cc_slot_stamp_(slot, layout), (cc_index_)(position + 1));
}

/* Steps 3 and 4 of receiving. */
CC_TEMPLATE_ void cc_mpmc_read_(const cc_channel_t *channel, unsigned char *slot, cc_index_ position, void *message,
                                cc_slot_layout_t layout)
{
    cc_atomic_copy_(message, slot, layout.message_size);
    /* [mpmc.stamp] pairs with the sender's look at it */
    cc_store_release(cc_slot_stamp_(slot, layout), (cc_index_)(position + 2 * (channel->mask + 1)));
}

/* Steps 1 and 2 for one position, if that can be done without waiting or losing a race: its slot, else NULL. */
CC_TEMPLATE_ unsigned char *cc_mpmc_take_one_(cc_channel_t *channel, cc_direction_t direction, cc_index_ *position,
                                              cc_slot_layout_t layout)
{
    cc_mpmc_side_t *side = cc_mpmc_side_(channel, direction);
    cc_index_ seen = *position = cc_load_relaxed(&side->position); /* relaxed: the swap decides */
    unsigned char *slot = cc_channel_slot_(channel, seen, layout);
    cc_index_ stamp = cc_load_acquire(cc_slot_stamp_(slot, layout)); /* [mpmc.stamp] pairs with both stamps */
    if (CC_UNLIKELY_(stamp != cc_mpmc_awaited_(seen, direction))) return NULL;
    /* relaxed: the stamps order the messages */
    return CC_LIKELY_(cc_cas_relaxed(&side->position, &seen, (cc_index_)(seen + 2))) ? slot : NULL;
}

/* Prefetches a line that will be written to soon, after the message of a position is done, so that lines come while the
 * messages before them are sent or received. But only in a stream: where this side has not had to wait for some time,
 * the other one is far away; else this thread would take lines from the other side that it is about to write.
 *
 * The numbers are from `concede bench channel.many channel.map` on 2 CPUs of AMD Zen 4 under KVM and `concede simulate
 * channel.many channel.pool`. 16 positions are four lines of 8-byte messages. On the 2 CPUs 24 lose a twentieth with
 * 16:16, and 8 before the swap lose a tenth. With many CPUs lines may come from another die or socket, and in the time
 * of one transfer there can be no more messages than are asked for ahead: across the sockets of `epyc-2x64` 32 allow
 * 162 M/s, and 16 allow 81. 40 are no better there, and `xeon-4x64` loses a fifth. */
enum { CC_MPMC_AHEAD_ = 16, CC_MPMC_AHEAD_FAR_ = 32 };
CC_TEMPLATE_ void cc_mpmc_prefetch_(cc_channel_t *channel, cc_direction_t direction, cc_index_ position,
                                    cc_slot_layout_t layout)
{
    const cc_mpmc_side_t *side = cc_mpmc_side_(channel, direction);
    cc_index_ from = cc_load_relaxed(&side->prefetch_from); /* relaxed: a guess */
    if ((cc_index_)(position - from) <= (cc_index_)-1 / 2)
        CC_ARCH_PREFETCH_WRITE_(cc_mpmc_stamp_(channel, (cc_index_)(position + side->ahead), layout));
}

CC_TEMPLATE_ bool cc_mpmc_send_one_(cc_channel_t *channel, const void *message, cc_slot_layout_t layout)
{
    cc_index_ position;
    unsigned char *slot = cc_mpmc_take_one_(channel, CC_SENDING_, &position, layout);
    if (CC_UNLIKELY_(!slot)) return false;
    cc_mpmc_write_(slot, position, message, layout);
    cc_mpmc_prefetch_(channel, CC_SENDING_, position, layout);
    /* [channel.sleep] the stamp before, the event after */
    cc_channel_notify_(channel, CC_RECEIVING_, CC_NOTIFY_RELAY_);
    return true;
}

CC_TEMPLATE_ bool cc_mpmc_recv_one_(cc_channel_t *channel, void *message, cc_slot_layout_t layout)
{
    cc_index_ position;
    unsigned char *slot = cc_mpmc_take_one_(channel, CC_RECEIVING_, &position, layout);
    if (CC_UNLIKELY_(!slot)) return false;
    cc_mpmc_read_(channel, slot, position, message, layout);
    cc_mpmc_prefetch_(channel, CC_RECEIVING_, position, layout);
    /* [channel.sleep] the stamp before, the event after */
    cc_channel_notify_(channel, CC_SENDING_, CC_NOTIFY_RELAY_);
    return true;
}

#endif
