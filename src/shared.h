/* shared.h: what channel.c asks of a channel between processes, and what its parts share.
 *
 * The segment is a header and then everything of the channel that changes: cc_channel_t from its `spsc` on, and the
 * slots. What does not change, such as the capacity, each process keeps in memory of its own just before that:
 *
 *     header of the segment | cc_shared_t, first line of cc_channel_t | rest of cc_channel_t, slots
 *     (shared)              | (private, a copy that was checked)      | (shared)
 *
 * So the inline paths of channel.h work on it as they are, and whatever another process writes into the segment, a slot
 * is looked for within it. */
#ifndef CONCEDE_SRC_SHARED_H
#define CONCEDE_SRC_SHARED_H

#include <concede/shared.h>

#include "channel.h"

/* participant   says                                                   who moves it, holding the lock of that number
 * 2d            nobody has this number; d of those who had it died     a process that opens the segment -> 2d + 1
 * 2d + 1        a process has it, or has died and is not buried yet    itself, as it closes -> 2d;
 *                                                                      whoever buries it -> 2d + 2
 *
 * A process holds the lock of its number as long as it lives. So one that can be locked and says 2d + 1 is dead. */
#if !defined(CC_SHARED_SELF_)                    /* a checker has fewer, and all of them are threads of one process */
#define CC_SHARED_SELF_(shared) ((shared)->self) /* the number of this process */
#define CC_SHARED_PARTICIPANTS  64
#endif
enum { CC_PARTICIPANTS_ = CC_SHARED_PARTICIPANTS }; /* number 0 is nobody's */

typedef struct cc_segment {
    uint64_t magic; /* written last: until then the segment is half made */
    uint64_t check; /* of all that follows, up to the participants */
    uint32_t version;
    uint32_t kind;
    uint64_t layout;       /* of cc_channel_t, in a number */
    uint64_t bytes;        /* of the whole segment */
    uint64_t capacity;     /* messages; a power of two */
    uint64_t message_size; /* bytes */
    uint32_t snooze_iters;
    uint32_t unused;
    CC_ALIGNED_(CC_CACHE_LINE) uint32_t participants[CC_PARTICIPANTS_];
} cc_segment_t;

/* What a process knows of a segment that it has open. The channel follows. */
struct cc_shared {
    CC_ALIGNED_(CC_CACHE_LINE) cc_segment_t *segment;
    size_t bytes;                        /* of the segment */
    int own;                             /* its descriptor */
    uint32_t self;                       /* the number of this process as a participant */
    uint32_t forks;                      /* cc_os_forks_() when it was opened */
    uint32_t kind;                       /* CC_CHANNEL_SPSC or CC_CHANNEL_MPMC */
    uint32_t looked_at;                  /* when this process last looked for deaths; in ms */
    uint32_t waits;                      /* of this process: a guess */
    cc_event_t learned[2];               /* where the waits of this process's senders and receivers learn */
    cc_index_ at_wait[2];                /* MPMC: where senders and receivers were when this process last had to wait */
    uint32_t reported[CC_PARTICIPANTS_]; /* deaths of each participant that this process was told of */
};

CC_TEMPLATE_ cc_shared_t *cc_shared_of_(const cc_channel_t *channel)
{
    return (cc_shared_t *)(uintptr_t)channel - 1;
}

/* ---- shared.c: waiting, closing, deaths -------------------------------------------------------------------------- */

/* Makes a wait for the channel sleep in the segment, and learn in memory of this process. */
void cc_shared_sleep_elsewhere_(cc_channel_t *channel, cc_direction_t direction, cc_event_await_t *await,
                                struct cc_event_elsewhere *elsewhere);

/* Before a try in a wait: EOWNERDEAD if there is a death that this process was not told of; now it is. Else 0. It looks
 * if the thread has just slept, and else only in every 256th call. */
int cc_shared_report_(cc_channel_t *channel, bool just_slept);

/* A wake-up may stand for more than one message, and for the end of the channel: who waited tells the next one. */
void cc_shared_relay_rest_(cc_channel_t *channel, cc_direction_t direction);

/* Wakes one who sleeps at the event. */
void cc_shared_notify_(cc_event_t *event);

/* The heavy side of cc_fence_light_() for all processes that have the segment open. */
void cc_shared_fence_heavy_(void);

/* As their namesakes for the two kinds in channel.h. */
size_t cc_shared_send_now_(cc_channel_t *channel, const unsigned char *messages, size_t n);
size_t cc_shared_recv_now_(cc_channel_t *channel, unsigned char *messages, size_t n);
bool cc_shared_is_drained_(cc_channel_t *channel);

/* One message at once, without all that a longer way makes sure of. False: go that way. SPSC: that is what the inline
 * path has tried. */
bool cc_shared_send_one_(cc_channel_t *channel, const unsigned char *message);
bool cc_shared_recv_one_(cc_channel_t *channel, unsigned char *message);
bool cc_shared_has_(cc_channel_t *channel, cc_direction_t direction, size_t n);
size_t cc_shared_run_(cc_channel_t *channel, cc_direction_t direction);
bool cc_shared_is_closed_(const cc_channel_t *channel);
void cc_shared_close_channel_(cc_channel_t *channel);

/* Looks for participants that have died, and buries them; `now` in ms. */
void cc_shared_look_for_deaths_(cc_shared_t *shared, uint32_t now);

/* ---- shared_spsc.c ----------------------------------------------------------------------------------------------- */

/* A participant has died, perhaps the sender: the next send finds out how far it got. */
void cc_shared_spsc_bury_(cc_channel_t *channel);

/* Before a send, and before a receive, that the inline path left to the library. */
void cc_shared_spsc_mend_sender_(cc_channel_t *channel);
void cc_shared_spsc_mend_receiver_(cc_channel_t *channel);

/* ---- shared_mpmc.c ----------------------------------------------------------------------------------------------- */

void cc_shared_mpmc_init_(cc_channel_t *channel);
size_t cc_shared_mpmc_send_now_(cc_channel_t *channel, const unsigned char *messages, size_t n);
size_t cc_shared_mpmc_recv_now_(cc_channel_t *channel, unsigned char *messages, size_t n);
bool cc_shared_mpmc_is_drained_(cc_channel_t *channel);
bool cc_shared_mpmc_has_(cc_channel_t *channel, cc_direction_t direction, size_t n);
size_t cc_shared_mpmc_run_(cc_channel_t *channel, cc_direction_t direction);
size_t cc_shared_mpmc_len_(const cc_channel_t *channel);

/* A participant has died: what it was half-way through is dropped, and its slots are usable again. */
void cc_shared_mpmc_bury_(cc_channel_t *channel, uint32_t participant);

#endif
