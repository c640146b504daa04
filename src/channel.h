/* channel.h: what channel.c asks of its two kinds. Each operation tries once and does not wait; how to wait, and for
 * what, is the same for both and stands in channel.c. */
#ifndef CONCEDE_SRC_CHANNEL_H
#define CONCEDE_SRC_CHANNEL_H

#include <concede/channel.h>

typedef enum cc_direction_ cc_direction_t;

/* Whether it is a channel between processes; see shared.h. */
CC_TEMPLATE_ bool cc_channel_is_shared_(const cc_channel_t *channel)
{
    return channel->allocated_before == CC_CHANNEL_SHARED_;
}

/* Whether it is MPMC, and of this process alone. */
CC_TEMPLATE_ bool cc_channel_is_private_mpmc_(const cc_channel_t *channel)
{
    return channel->shape >> 62 == 0;
}

/* Whether a channel accepts messages whose `closed` says this. */
CC_TEMPLATE_ bool cc_channel_accepts_(uint32_t closed)
{
    return closed == CC_CHANNEL_OPEN_ || closed == CC_CHANNEL_MEND_;
}

/* The event where those wait who send, or those who receive. */
CC_TEMPLATE_ cc_event_t *cc_channel_event_(cc_channel_t *channel, cc_direction_t direction)
{
    return direction == CC_SENDING_ ? &channel->not_full : &channel->not_empty;
}

/* Notifies those who wait to send, or to receive: CC_NOTIFY_ONE_, CC_NOTIFY_ALL_, and with MPMC CC_NOTIFY_RELAY_ and
 * CC_NOTIFY_REST_. The slow half is not CC_COLD_, because gcc would take the look before it for cold. */
void cc_channel_notify_slow_(cc_channel_t *channel, cc_direction_t direction, uint32_t whom);
CC_TEMPLATE_ void cc_channel_notify_(cc_channel_t *channel, cc_direction_t direction, uint32_t whom)
{
    if (CC_UNLIKELY_(cc_event_has_waiters_(cc_channel_event_(channel, direction))))
        cc_channel_notify_slow_(channel, direction, whom);
}

/* MPMC: what is fixed for a channel beyond what both kinds have. */
void cc_mpmc_init_(cc_channel_t *channel);

/* Send up to n messages, or receive them, without waiting, and return how many; 0 if none can be, or the channel is
 * closed. */
size_t cc_spsc_send_now_(cc_channel_t *channel, const unsigned char *messages, size_t n);
size_t cc_spsc_recv_now_(cc_channel_t *channel, unsigned char *messages, size_t n);
size_t cc_mpmc_send_now_(cc_channel_t *channel, const unsigned char *messages, size_t n);
size_t cc_mpmc_recv_now_(cc_channel_t *channel, unsigned char *messages, size_t n);

/* Whether the channel is closed and no receiver will ever get a message again; for a receiver that has just found none.
 */
bool cc_spsc_is_drained_(cc_channel_t *channel);
bool cc_mpmc_is_drained_(const cc_channel_t *channel);

/* Whether n messages, or n free slots, seem to be there. The look takes nothing. */
bool cc_spsc_has_(cc_channel_t *channel, cc_direction_t direction, size_t n);
bool cc_mpmc_has_(cc_channel_t *channel, cc_direction_t direction, size_t n);
bool cc_channel_has_(cc_channel_t *channel, cc_direction_t direction, size_t n); /* for any kind */

/* Closes the descriptors that cc_channel_fd() made. */
void cc_channel_close_descriptors_(cc_channel_t *channel);

/* Whether there is something for one more thread: a message or a free slot, or the end. */
bool cc_mpmc_has_more_(cc_channel_t *channel, cc_direction_t direction);

/* MPMC: whoever is done waiting looks whether there is something for another one, and relays. */
void cc_channel_relay_rest_(cc_channel_t *channel, cc_direction_t direction);

/* How many messages went through a side since the last call, which every wait makes once. */
size_t cc_spsc_end_run_(cc_channel_t *channel, cc_direction_t direction);
size_t cc_mpmc_end_run_(cc_channel_t *channel, cc_direction_t direction);

/* One message of any size, by any kind of channel. EAGAIN only if it does not wait. */
int cc_channel_send_one_(cc_channel_t *channel, const void *message, size_t size, bool waits, uint64_t deadline);
int cc_channel_recv_one_(cc_channel_t *channel, void *message, size_t size, bool waits, uint64_t deadline);

/* ---- Between processes: shared.c, shared_spsc.c, shared_mpmc.c -------------------------------------------------- */

/* If such a channel is SPSC the inline path is tried first. If it is MPMC it has a shape that no inline path takes for
 * its own. */
#define CC_SHARED_MPMC_SHAPE_(size) (cc_channel_shape_(CC_CHANNEL_MPMC, (size)) | UINT64_C(1) << 62)

/* Makes a wait for the channel sleep in the segment, and learn in memory of this process. */
void cc_shared_sleep_elsewhere_(cc_channel_t *channel, cc_direction_t direction, cc_event_await_t *await,
                                struct cc_event_elsewhere *elsewhere);

/* Before a try in a wait, and before it times out: returns EOWNERDEAD if there is a death that this process was not
 * told of, and by that it is told; else 0. `has_time` says that the thread has just slept, or has waited for as long as
 * it may. Else this looks in every 256th call only: shared.c says why. */
int cc_shared_report_(cc_channel_t *channel, bool has_time);

/* A thread that waited wakes the next one: a wake-up may stand for more than one message, and for the end of the
 * channel. */
void cc_shared_relay_rest_(cc_channel_t *channel, cc_direction_t direction);

/* Wakes a thread that sleeps at the event, if any does. */
void cc_shared_notify_(cc_event_t *event);

/* The heavy side of cc_fence_light_() for all processes that have the segment open. */
void cc_shared_fence_heavy_(void);

/* MPMC: as their namesakes for the two kinds above. */
size_t cc_shared_mpmc_send_now_(cc_channel_t *channel, const unsigned char *messages, size_t n);
size_t cc_shared_mpmc_recv_now_(cc_channel_t *channel, unsigned char *messages, size_t n);
bool cc_shared_mpmc_is_drained_(cc_channel_t *channel);
bool cc_shared_mpmc_has_(cc_channel_t *channel, cc_direction_t direction, size_t n);
size_t cc_shared_mpmc_end_run_(cc_channel_t *channel, cc_direction_t direction);
size_t cc_shared_mpmc_len_(const cc_channel_t *channel);

/* MPMC, messages of 8 bytes: as cc_channel_send_one_() and cc_channel_recv_one_(), which they call if the first look is
 * not enough. */
int cc_shared_send_8_(cc_channel_t *channel, const void *message, bool waits, uint64_t deadline);
int cc_shared_recv_8_(cc_channel_t *channel, void *message, bool waits, uint64_t deadline);

/* SPSC: what the sender, or the receiver, does first in a call that the inline path left to the library. */
void cc_shared_spsc_mend_sender_(cc_channel_t *channel);
void cc_shared_spsc_mend_receiver_(cc_channel_t *channel);

void cc_shared_close_channel_(cc_channel_t *channel);

#endif
