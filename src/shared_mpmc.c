/* shared_mpmc.c: a channel between processes with many senders and many receivers.
 *
 * The n-th message has the number n, and uses the slot n modulo the capacity. All that counts is the slots' stamps:
 *
 *   stamp             says                                  who moves it
 *   FREE n            free for message n                    a sender -> WRITING; a receiver of a closed channel -> END
 *   WRITING n, by p   participant p is copying it in        p -> FULL; p is dead: whoever comes to it -> SKIP
 *   FULL n            holds message n                       a receiver -> READING
 *   READING n, by p   p is copying it out                   p; it is dead: whoever comes -> FREE n + capacity
 *   SKIP n            message n will never come             a receiver -> FREE n + capacity
 *   END n             the channel ends before message n     nobody
 *
 * A sender takes the first number whose slot is FREE, a receiver the first whose slot is FULL. Each is one
 * compare-and-swap of that very stamp, which also tells who did it, so that whatever a process was half-way through
 * when it died can be told from the slots alone, and is undone by one compare-and-swap a slot: the same whether it is
 * done once, twice, by two at once, or by one that dies in the middle of it.
 *
 * Numbers are taken in order, because whoever takes n has seen n - 1 taken. `tail` and `head` only say where to begin
 * to look: everything before them is taken. They are written after a number was taken, so that holds for an old value,
 * too, which a process may write that was held up; the next one then has further to look, once. */
#include "shared.h"

enum { FREE, WRITING, FULL, READING, SKIP, END };
enum { STATE_BITS = 3, OWNER_BITS = 6, NUMBER_SHIFT = STATE_BITS + OWNER_BITS };

CC_TEMPLATE_ cc_number_ stamp_(cc_number_ number, unsigned state, uint32_t owner)
{
    return (cc_number_)(number << NUMBER_SHIFT | (cc_number_)owner << STATE_BITS | state);
}

CC_TEMPLATE_ unsigned state_(cc_number_ stamp)
{
    return (unsigned)(stamp & ((1u << STATE_BITS) - 1));
}

CC_TEMPLATE_ uint32_t owner_(cc_number_ stamp)
{
    return (uint32_t)(stamp >> STATE_BITS) & ((1u << OWNER_BITS) - 1);
}

/* How far the number in a stamp is ahead of another number: 0 if it is the same. Numbers wrap around. */
CC_TEMPLATE_ int64_t ahead_(cc_number_ stamp, cc_number_ number)
{
    return (int64_t)((cc_number_)(stamp - (number << NUMBER_SHIFT)) & ~(((cc_number_)1 << NUMBER_SHIFT) - 1)) /
           ((int64_t)1 << NUMBER_SHIFT);
}

/* The slot of a number. The layout is the channel's; it is passed so that it can be a constant for messages of 8
 * bytes. */
CC_TEMPLATE_ unsigned char *slot_(const cc_channel_t *channel, cc_number_ number, cc_slot_layout_t layout)
{
    return cc_channel_slot_(channel, (cc_index_)(number << 1), layout);
}

CC_TEMPLATE_ cc_number_ *stamp_in_(unsigned char *slot, cc_slot_layout_t layout)
{
    return (cc_number_ *)(void *)(slot + layout.stamp_offset);
}

CC_TEMPLATE_ cc_number_ *stamp_of_(const cc_channel_t *channel, cc_number_ number)
{
    return stamp_in_(slot_(channel, number, channel->layout), channel->layout);
}

CC_TEMPLATE_ cc_number_ *hint_of_(const cc_channel_t *channel, cc_direction_t direction)
{
    return (cc_number_ *)(uintptr_t)(direction == CC_SENDING_ ? &channel->mpmc.tail : &channel->mpmc.head);
}

/* The stamp of the slot of a number once its message was received. */
CC_TEMPLATE_ cc_number_ next_lap_(const cc_channel_t *channel, cc_number_ number)
{
    return stamp_((cc_number_)(number + channel->mask + 1), FREE, 0);
}

void cc_shared_mpmc_init_(cc_channel_t *channel)
{
    for (cc_number_ number = 0; number <= channel->mask; number++)
        *stamp_of_(channel, number) = stamp_(number, FREE, 0);
}

/* Finds the first number that is not taken in this direction, beginning at the hint, and tells its stamp. It goes no
 * further than about one lap: whoever would have to look further reads what was written by a process that breaks the
 * rules, and gets what is there.
 *
 * A stamp that is one or more laps ahead of the number says that the number was taken, with all before it and a lap
 * less one after it. */
CC_TEMPLATE_ cc_number_ first_(const cc_channel_t *channel, cc_direction_t direction, cc_number_ *seen)
{
    cc_number_ number = cc_load_relaxed(hint_of_(channel, direction)) >> 1; /* relaxed: the stamps tell */
    size_t capacity = channel->mask + 1;
    *seen = 0; /* gcc -O3 cannot see that the loop runs at least once */
    for (size_t left = capacity + 2; left > 0; left--) {
        /* [shared.stamp] pairs with all that write a stamp */
        *seen = cc_load_acquire(stamp_of_(channel, number));
        if (CC_LIKELY_(*seen == stamp_(number, direction == CC_SENDING_ ? FREE : FULL, 0))) break;
        int64_t ahead = ahead_(*seen, number);
        unsigned state = state_(*seen);
        if (ahead > 0)
            number = (cc_number_)(number + (uint64_t)ahead - channel->mask);
        else if (ahead == 0 && direction == CC_SENDING_ && state != FREE && state != END)
            number++;
        else if (ahead == 0 && direction == CC_RECEIVING_ && state == READING)
            number++;
        else
            break;
    }
    return number;
}

/* Notes that everything before a number is taken. */
static void hint_(cc_channel_t *channel, cc_direction_t direction, cc_number_ number)
{
    cc_store_relaxed(hint_of_(channel, direction), (cc_number_)(number << 1)); /* relaxed: the stamps tell */
}

/* Whether a stamp, which was loaded with acquire, is that of a process that has died half-way through. */
static bool is_orphan_(cc_channel_t *channel, cc_number_ seen)
{
    bool is_half_way = state_(seen) == WRITING || state_(seen) == READING;
    return is_half_way && cc_shared_is_dead_(cc_shared_of_(channel), owner_(seen));
}

/* Puts a slot right if its stamp is that of a dead process; returns whether it is, and then the caller looks again.
 * That happens where a thread cannot go on otherwise: senders at the first slot that is not free, receivers at the
 * first that is not full. */
static CC_NOINLINE_ bool put_right_(cc_channel_t *channel, cc_number_ at, cc_number_ seen)
{
    if (!is_orphan_(channel, seen)) return false;
    cc_number_ number = seen >> NUMBER_SHIFT;
    cc_number_ right = state_(seen) == WRITING ? stamp_(number, SKIP, 0) : next_lap_(channel, number);
    /* [shared.stamp] pairs with first_() of whoever uses the slot next: it comes after what the dead one did */
    (void)cc_cas_release(stamp_of_(channel, at), &seen, right);
    return true;
}

/* Prefetches a line that will be written to soon, as in channel_spsc.h: each swap waits for its line to come. */
CC_TEMPLATE_ void prefetch_ahead_(const cc_channel_t *channel, cc_number_ number, size_t lines, cc_slot_layout_t layout)
{
    if (cc_spsc_begins_line_((cc_index_)(number << 1), layout))
        CC_ARCH_PREFETCH_WRITE_(cc_spsc_ahead_(slot_(channel, number, layout), lines, layout));
}

/* ---- Sending ---------------------------------------------------------------------------------------------------- */

/* Takes a number whose slot was FREE, and sends the message by it; false: another was first. */
CC_TEMPLATE_ bool send_as_(cc_channel_t *channel, cc_number_ number, unsigned char *slot, const void *message,
                           uint32_t self, cc_slot_layout_t layout)
{
    cc_number_ *stamp = stamp_in_(slot, layout), seen = stamp_(number, FREE, 0);
    prefetch_ahead_(channel, number, CC_SPSC_SEND_AHEAD_, layout);
    /* [shared.taken] pairs with the load in cc_shared_is_dead_(). It need not acquire: no stamp comes twice, so it is
     * the FREE that the caller acquired, or this fails. */
    if (!cc_cas_release(stamp, &seen, stamp_(number, WRITING, self))) return false;
    cc_atomic_copy_(slot, message, layout.message_size);
    cc_store_release(stamp, stamp_(number, FULL, 0)); /* [shared.stamp] pairs with a receiver's look */
    hint_(channel, CC_SENDING_, (cc_number_)(number + 1));
    return true;
}

/* Sends one message, or returns false if the channel is full. A send that loses the race for a number goes on to the
 * next, because the winner has taken that one. After as many losses as there are slots it says that the channel is
 * full, which it was a moment ago. */
static bool send_message_(cc_channel_t *channel, const unsigned char *message, uint32_t self)
{
    for (size_t left = channel->mask + 2; left > 0; left--) {
        cc_number_ seen, number = first_(channel, CC_SENDING_, &seen);
        if (seen == stamp_(number, FREE, 0)) {
            unsigned char *slot = slot_(channel, number, channel->layout);
            if (send_as_(channel, number, slot, message, self, channel->layout)) return true;
        } else if (!put_right_(channel, number, seen)) {
            return false; /* full, or END */
        }
    }
    return false;
}

/* Looks at the slot of the hint and at no other: so no register has to be saved. Everything else is left to
 * cc_channel_send_one_(). */
int cc_shared_send_8_(cc_channel_t *channel, const void *message, bool waits, uint64_t deadline)
{
    const cc_slot_layout_t layout = cc_shared_mpmc_layout_(8);
    cc_number_ number = cc_load_relaxed(hint_of_(channel, CC_SENDING_)) >> 1; /* relaxed: the stamp tells */
    unsigned char *slot = slot_(channel, number, layout);
    cc_number_ seen = cc_load_acquire(stamp_in_(slot, layout)); /* [shared.stamp] pairs with all that write a stamp */
    bool open = cc_load_relaxed(&channel->closed) == CC_CHANNEL_OPEN_; /* relaxed: END decides */
    if (CC_LIKELY_(open && seen == stamp_(number, FREE, 0) &&
                   send_as_(channel, number, slot, message, CC_SHARED_SELF_(cc_shared_of_(channel)), layout))) {
        /* [shared.announce] the stamp before, the event after */
        if (CC_UNLIKELY_(cc_event_has_waiters_(&channel->not_empty))) cc_shared_notify_(&channel->not_empty);
        return 0;
    }
    return cc_channel_send_one_(channel, message, 8, waits, deadline);
}

size_t cc_shared_mpmc_send_now_(cc_channel_t *channel, const unsigned char *messages, size_t n)
{
    uint32_t self = CC_SHARED_SELF_(cc_shared_of_(channel));
    size_t sent = 0;
    if (cc_load_relaxed(&channel->closed) != CC_CHANNEL_OPEN_) return 0; /* relaxed: END decides */
    while (sent < n && send_message_(channel, messages + sent * channel->layout.message_size, self)) sent++;
    /* [shared.announce] the stamp before, the event after */
    if (sent > 0 && CC_UNLIKELY_(cc_event_has_waiters_(&channel->not_empty))) cc_shared_notify_(&channel->not_empty);
    return sent;
}

/* ---- Receiving -------------------------------------------------------------------------------------------------- */

/* Takes a number whose slot was FULL, and receives the message; false: another was first. */
CC_TEMPLATE_ bool receive_as_(cc_channel_t *channel, cc_number_ number, unsigned char *slot, void *message,
                              uint32_t self, cc_slot_layout_t layout)
{
    cc_number_ *stamp = stamp_in_(slot, layout), seen = stamp_(number, FULL, 0);
    /* [shared.taken] as in a send */
    if (!cc_cas_release(stamp, &seen, stamp_(number, READING, self))) return false;
    prefetch_ahead_(channel, number, CC_SPSC_RECV_AHEAD_, layout);
    cc_atomic_copy_(message, slot, layout.message_size);
    cc_store_release(stamp, next_lap_(channel, number)); /* [shared.stamp] pairs with a sender's look */
    hint_(channel, CC_RECEIVING_, (cc_number_)(number + 1));
    return true;
}

static bool receive_message_(cc_channel_t *channel, unsigned char *message, uint32_t self, size_t *skipped)
{
    for (size_t left = 2 * channel->mask + 3; left > 0; left--) {
        cc_number_ seen, number = first_(channel, CC_RECEIVING_, &seen);
        if (seen == stamp_(number, SKIP, 0)) {
            cc_number_ *stamp = stamp_of_(channel, number);
            /* relaxed: a swap passes on what the SKIP before it released, so the next lap comes after the dead one */
            *skipped += cc_cas_relaxed(stamp, &seen, next_lap_(channel, number));
            hint_(channel, CC_RECEIVING_, (cc_number_)(number + 1));
        } else if (seen == stamp_(number, FULL, 0)) {
            unsigned char *slot = slot_(channel, number, channel->layout);
            if (receive_as_(channel, number, slot, message, self, channel->layout)) return true;
        } else if (!put_right_(channel, number, seen)) {
            return false; /* empty, or a sender is half-way through, or END */
        }
    }
    return false;
}

int cc_shared_recv_8_(cc_channel_t *channel, void *message, bool waits, uint64_t deadline)
{
    const cc_slot_layout_t layout = cc_shared_mpmc_layout_(8);
    cc_number_ number = cc_load_relaxed(hint_of_(channel, CC_RECEIVING_)) >> 1; /* relaxed: the stamp tells */
    unsigned char *slot = slot_(channel, number, layout);
    cc_number_ seen = cc_load_acquire(stamp_in_(slot, layout)); /* [shared.stamp] pairs with all that write a stamp */
    if (CC_LIKELY_(seen == stamp_(number, FULL, 0) &&
                   receive_as_(channel, number, slot, message, CC_SHARED_SELF_(cc_shared_of_(channel)), layout))) {
        /* [shared.announce] the stamp before, the event after */
        if (CC_UNLIKELY_(cc_event_has_waiters_(&channel->not_full))) cc_shared_notify_(&channel->not_full);
        return 0;
    }
    return cc_channel_recv_one_(channel, message, 8, waits, deadline);
}

size_t cc_shared_mpmc_recv_now_(cc_channel_t *channel, unsigned char *messages, size_t n)
{
    uint32_t self = CC_SHARED_SELF_(cc_shared_of_(channel));
    size_t got = 0, skipped = 0;
    while (got < n && receive_message_(channel, messages + got * channel->layout.message_size, self, &skipped)) got++;
    /* [shared.announce] the stamp before, the event after */
    if (got + skipped > 0 && CC_UNLIKELY_(cc_event_has_waiters_(&channel->not_full)))
        cc_shared_notify_(&channel->not_full);
    return got;
}

/* Whether a closed channel has no further message. A receiver that finds none puts the END where the next message
 * would go: either that compare-and-swap is first, and no message comes any more, or a sender's is, and its message
 * counts. */
bool cc_shared_mpmc_is_drained_(cc_channel_t *channel)
{
    cc_number_ seen, number = first_(channel, CC_RECEIVING_, &seen);
    if (put_right_(channel, number, seen)) number = first_(channel, CC_RECEIVING_, &seen);
    if (seen == stamp_(number, END, 0)) return true;
    if (seen != stamp_(number, FREE, 0)) return false;
    /* [shared.end] pairs with the load in first_() that finds it */
    return cc_cas_release(stamp_of_(channel, number), &seen, stamp_(number, END, 0));
}

/* ---- For waiting, and for those who ask ------------------------------------------------------------------------- */

/* Where the channel is full or empty the stamp may be of the lap before: for a sender it is not FREE then, and for a
 * receiver it is READING. Slots of the dead are not looked for, because whoever spins on this tries before it
 * sleeps. */
bool cc_shared_mpmc_has_(cc_channel_t *channel, cc_direction_t direction, size_t n)
{
    cc_number_ seen;
    if (n > 1) { /* for a batch */
        /* relaxed, both: a guess */
        cc_number_ last = (cc_number_)((cc_load_relaxed(hint_of_(channel, direction)) >> 1) + n - 1);
        return cc_load_relaxed(stamp_of_(channel, last)) == stamp_(last, direction == CC_SENDING_ ? FREE : FULL, 0);
    }
    (void)first_(channel, direction, &seen);
    unsigned state = state_(seen);
    return state == END || (direction == CC_SENDING_ ? state == FREE : state == FULL || state == SKIP);
}

size_t cc_shared_mpmc_end_run_(cc_channel_t *channel, cc_direction_t direction)
{
    cc_number_ *at_wait = &cc_shared_of_(channel)->at_wait[direction];
    cc_number_ number = cc_load_relaxed(hint_of_(channel, direction)) >> 1; /* relaxed, all: a guess */
    cc_number_ run = (cc_number_)(number - cc_load_relaxed(at_wait));
    cc_store_relaxed(at_wait, number);
    return (size_t)run;
}

size_t cc_shared_mpmc_len_(const cc_channel_t *channel)
{
    cc_number_ seen;
    cc_number_ head = first_(channel, CC_RECEIVING_, &seen);
    cc_number_ tail = first_(channel, CC_SENDING_, &seen);
    int64_t length = (int64_t)(tail - head);
    if (length < 0) return 0; /* both moved on between the two looks */
    return (uint64_t)length <= channel->mask ? (size_t)length : channel->mask + 1;
}

/* ---- Death ------------------------------------------------------------------------------------------------------ */

/* The slots of a dead process can be put right when somebody comes to them; before another process gets its number they
 * must be. That takes a walk through all slots, so it is done when no other number is left, and for all the dead at
 * once. */
void cc_shared_mpmc_sweep_(cc_channel_t *channel)
{
    uint32_t *participants = cc_shared_of_(channel)->segment->participants, words[CC_PARTICIPANTS_];
    uint64_t dead = 0;
    for (uint32_t i = 1; i < CC_PARTICIPANTS_; i++) {
        words[i] = cc_load_acquire(&participants[i]); /* [shared.buried] pairs with the swap in bury_() */
        if ((words[i] & CC_STATE_MASK_) == CC_DEAD_) dead |= UINT64_C(1) << i;
    }
    for (size_t slot = 0; dead != 0 && slot <= channel->mask; slot++) {
        /* [shared.stamp] pairs with all that write a stamp */
        cc_number_ seen = cc_load_acquire(stamp_of_(channel, (cc_number_)slot));
        if (dead >> owner_(seen) & 1) (void)put_right_(channel, (cc_number_)slot, seen);
    }
    for (uint32_t i = 1; i < CC_PARTICIPANTS_; i++)
        if (dead >> i & 1)
            /* relaxed: who reads it reads from the release sequence of the swap in bury_(); the stamps tell the rest */
            (void)cc_cas_relaxed(&participants[i], &words[i], words[i] - CC_DEAD_);
}
