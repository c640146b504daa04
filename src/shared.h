/* shared.h: what the parts of a channel between processes share; channel.h says what a channel asks of them.
 *
 * The segment is a header and then everything of the channel that changes: cc_channel_t from its `spsc` on, and the
 * slots. What does not change, such as the capacity, each process keeps in memory of its own just before that:
 *
 *     header of the segment | cc_shared_t, first line of cc_channel_t | rest of cc_channel_t, slots
 *     (shared)              | (private, a copy that was checked)      | (shared)
 *
 * So the inline paths of channel.h work on it as they are; and whatever another process writes into the segment, they
 * find each slot within it. */
#ifndef CONCEDE_SRC_SHARED_H
#define CONCEDE_SRC_SHARED_H

#include <concede/shared.h>

#include "door.h"

/* participant      says                                                who moves it
 * 4d     NOBODY    nobody has this number; d of those who had it died  a process that opens the segment -> 4d + 1
 * 4d + 1 ALIVE     a process has it, or has died and nobody knows yet  itself, as it closes -> 4d; who finds it dead:
 *                                                                      MPMC -> 4d + 6, SPSC -> 4d + 4
 * 4d + 2 DEAD      the d-th of them died, and slots may still say      whoever has put all slots right -> 4d
 *                  that it is half-way through a message
 *
 * A process has the lock of its number alone, from before it says ALIVE and for as long as it lives. A process that
 * looks for deaths shares that lock with others that do the same: then nobody has it alone, and a number that says
 * ALIVE is that of a dead process. If one that looks is stopped meanwhile, that holds up only who wants that number. */
enum { CC_NOBODY_, CC_ALIVE_, CC_DEAD_, CC_DEATH_ = 4, CC_STATE_MASK_ = 3 };
#if !defined(CC_SHARED_SELF_) /* a checker has fewer, and all of them are threads of one process */
#define CC_SHARED_SELF_(shared)     ((shared)->self)     /* the number of this process */
#define CC_SHARED_REPORTED_(shared) ((shared)->reported) /* deaths that it was told of, by the number of the dead */
#define CC_SHARED_LOOKING_(shared)  (&(shared)->looking) /* whether one of its threads is looking for deaths */
#endif
#if !defined(CC_SHARED_PARTICIPANTS)
#define CC_SHARED_PARTICIPANTS 64
#endif
enum { CC_PARTICIPANTS_ = CC_SHARED_PARTICIPANTS }; /* number 0 is nobody's */

/* MPMC: the type of a message's number, and of a slot's stamp, which is made of that number and needs 64 bits
 * (doc/shared.md). Where these cannot be had it is not used, and only has to compile. */
#if CC_ARCH_HAS_ATOMIC_64_
typedef uint64_t cc_number_;
#else
typedef uint32_t cc_number_;
#endif

typedef struct cc_segment {
    uint32_t magic; /* is written last: until then the segment is half made */
    uint32_t version;
    uint64_t check; /* of the version and all that follows, up to the participants */
    uint32_t kind;
    uint32_t snooze_iters;
    uint64_t layout;       /* of cc_channel_t, in a number */
    uint64_t bytes;        /* of the whole segment */
    uint64_t capacity;     /* messages; a power of two */
    uint64_t message_size; /* bytes */
    uint64_t locks;        /* where they are: the system's number */
    CC_ALIGNED_(CC_CACHE_LINE) uint32_t participants[CC_PARTICIPANTS_];
} cc_segment_t;

/* What a process knows of a segment that it has open. The channel follows. */
struct cc_shared {
    CC_ALIGNED_(CC_CACHE_LINE) cc_segment_t *segment;
    size_t bytes;                        /* of the segment */
    int own;                             /* its descriptor */
    uint32_t self;                       /* the number of this process as a participant */
    uint32_t forks;                      /* cc_os_forks_() when it was opened */
    uint32_t looked_at;                  /* when this process last looked for deaths; in ms */
    uint32_t looking;                    /* whether a thread of it is doing so now */
    uint32_t waits;                      /* how often it has waited: a guess */
    cc_event_t learned[2];               /* where the waits of this process's senders and receivers learn */
    cc_number_ at_wait[2];               /* MPMC: where senders and receivers were when this process last had to wait */
    uint32_t reported[CC_PARTICIPANTS_]; /* deaths of each participant that this process was told of */
};

CC_TEMPLATE_ cc_shared_t *cc_shared_of_(const cc_channel_t *channel)
{
    return (cc_shared_t *)(uintptr_t)channel - 1;
}

/* ---- shared.c: waiting, closing, deaths -------------------------------------------------------------------------- */

/* Looks for participants that have died; `now` in ms. */
void cc_shared_look_for_deaths_(cc_shared_t *shared, uint32_t now);

/* Whether the participant that a slot's stamp names has died. The stamp was loaded before, with acquire. A caller that
 * only tries, and so never waits, looks for deaths here now and then. */
bool cc_shared_is_dead_(cc_shared_t *shared, uint32_t participant);

/* ---- shared_spsc.c ----------------------------------------------------------------------------------------------- */

/* Notes that a participant has died, perhaps the sender: the next send finds out how far it got. */
void cc_shared_spsc_bury_(cc_channel_t *channel);

/* ---- shared_mpmc.c ----------------------------------------------------------------------------------------------- */

CC_TEMPLATE_ cc_slot_layout_t cc_shared_mpmc_layout_(size_t message_size)
{
    return cc_slot_layout_of_(message_size, sizeof(cc_number_));
}

void cc_shared_mpmc_init_(cc_channel_t *channel);

/* Goes through all slots and puts right what the dead were half-way through; after that their numbers are nobody's. */
void cc_shared_mpmc_sweep_(cc_channel_t *channel);

#endif
