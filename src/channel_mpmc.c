/* channel_mpmc.c: what channel_mpmc.h leaves out of line of a channel with many senders and many receivers: bursts,
 * lost races, the end, and what a wait asks. The algorithm stands there. */
#include "channel_mpmc.h"

#include "backoff.h"
#include "costs.h"
#include "os.h"

void cc_mpmc_init_(cc_channel_t *channel)
{
    cc_index_ positions = cc_costs_has_many_cpus_() ? CC_MPMC_AHEAD_FAR_ : CC_MPMC_AHEAD_;
    channel->mpmc.tail.ahead = channel->mpmc.head.ahead = (cc_index_)(2 * positions);
}

/* A thread that lost the race for a position waits for a random while, because each try takes the line from the one
 * that won. The range of that while doubles with each lost race, between two limits.
 *
 * Both grow with what a look at the position takes, which tells how far away the line is and how many threads queue for
 * it: looks of N threads at random times within `range` keep the line busy for N * look / range. From 64 to 8192 looks
 * leave most of the line to those who win, up to 256 threads; chosen with `concede simulate channel.many channel.pool`
 * on all machines (with at most 2048, up to half of the rate was lost at 1 to 128). On 2 CPUs of AMD Zen 3 `concede
 * bench channel.many` does best with no less than 1 us, which is also what a look's time is worth that the clock cannot
 * resolve. No thread waits for longer than a millisecond, although a look took longer because its CPU was taken away
 * meanwhile. */
enum { LOST_MIN_NS = 1000, LOST_MIN_LOOKS = 64, LOST_MAX_LOOKS = 8192, LOST_MAX_NS = 1000000 };

static uint64_t range_after_loss_(uint64_t range, uint64_t look_ns)
{
    uint64_t min = LOST_MIN_LOOKS * look_ns;
    uint64_t max = LOST_MAX_LOOKS * look_ns;
    range *= 2;
    if (range > max) range = max;
    if (range < min) range = min;
    if (range < LOST_MIN_NS) range = LOST_MIN_NS;
    return range < LOST_MAX_NS ? range : LOST_MAX_NS;
}

/* How many slots in a row, from a position on, can be taken: at most n. */
static size_t ready_(const cc_channel_t *channel, cc_index_ position, cc_direction_t direction, size_t n)
{
    size_t i = 0;
    for (; i < n; i++, position = (cc_index_)(position + 2)) {
        /* [mpmc.stamp] pairs with both stamps */
        cc_index_ stamp = cc_load_acquire(cc_mpmc_stamp_(channel, position, channel->layout));
        if (stamp != cc_mpmc_awaited_(position, direction)) break;
    }
    return i;
}

/* Steps 1 and 2 for up to n positions in a row. Returns how many it took and tells the first of them; 0: none is ready,
 * or the channel is closed to senders. */
static size_t take_positions_(cc_channel_t *channel, cc_direction_t direction, size_t n, cc_index_ *position)
{
    cc_mpmc_side_t *side = cc_mpmc_side_(channel, direction);
    uint64_t range = 0; /* of the wait after a lost race, in ns; 0: none was lost yet */
    uint32_t rng = 0;
    cc_index_ seen = cc_load_relaxed(&side->position); /* relaxed: the swap decides */
    for (;;) {
        size_t ready = (seen & CC_MPMC_CLOSED_) ? 0 : ready_(channel, seen, direction, n);
        *position = seen;
        if (ready == 0) {
            seen = cc_load_relaxed(&side->position); /* relaxed: the same answer twice is the answer */
            if (seen == *position) return 0;
        } else if (cc_cas_relaxed(&side->position, &seen, (cc_index_)(seen + (cc_index_)(2 * ready)))) {
            return ready; /* relaxed swap: the stamps order the messages */
        }
        /* A position that moved while this thread looked at its slot is a lost race, too. Where lines are far, it moves
         * during every look; one that looked on at once would take lines from the winner with each look and have no
         * position for it. `concede simulate channel.many`, 128:128 on `xeon-4x64`: 118 to 123 M/s, without the wait
         * 78 to 84. */
        if (!cc_costs_may_spin_()) continue; /* on a single CPU the thread that won is not running now */
        if (range == 0) {
            range = LOST_MIN_NS;
            rng = cc_backoff_seed_();
        }
        cc_backoff_pause_(cc_backoff_random_(&rng) % cc_backoff_pauses_(range) + 1);
        uint64_t before = cc_os_now_();
        seen = cc_load_relaxed(&side->position);
        range = range_after_loss_(range, cc_os_now_() - before);
    }
}

/* ---- Sending ---------------------------------------------------------------------------------------------------- */

size_t cc_mpmc_send_now_(cc_channel_t *channel, const unsigned char *messages, size_t n)
{
    cc_index_ position;
    size_t taken = take_positions_(channel, CC_SENDING_, n, &position);
    for (size_t i = 0; i < taken; i++, position = (cc_index_)(position + 2))
        cc_mpmc_write_(cc_channel_slot_(channel, position, channel->layout), position,
                       messages + i * channel->layout.message_size, channel->layout);
    /* [channel.sleep] the stamp before, the event after */
    if (taken > 0) cc_channel_notify_(channel, CC_RECEIVING_, CC_NOTIFY_RELAY_);
    return taken;
}

/* ---- Receiving -------------------------------------------------------------------------------------------------- */

size_t cc_mpmc_recv_now_(cc_channel_t *channel, unsigned char *messages, size_t n)
{
    cc_index_ position;
    size_t taken = take_positions_(channel, CC_RECEIVING_, n, &position);
    for (size_t i = 0; i < taken; i++, position = (cc_index_)(position + 2))
        cc_mpmc_read_(channel, cc_channel_slot_(channel, position, channel->layout), position,
                      messages + i * channel->layout.message_size, channel->layout);
    /* [channel.sleep] the stamp before, the event after */
    if (taken > 0) cc_channel_notify_(channel, CC_SENDING_, CC_NOTIFY_RELAY_);
    return taken;
}

/* ---- The end ---------------------------------------------------------------------------------------------------- */

/* Whether the channel is closed, and every position that a sender took before the close has been taken by a
 * receiver. */
bool cc_mpmc_is_drained_(const cc_channel_t *channel)
{
    cc_index_ tail = cc_load_acquire(&channel->mpmc.tail.position); /* [channel.closed] pairs with the or in close */
    if (!(tail & CC_MPMC_CLOSED_)) return false;
    cc_index_ head = cc_load_relaxed(&channel->mpmc.head.position); /* relaxed: it only grows, up to the tail */
    return head == (cc_index_)(tail - CC_MPMC_CLOSED_);
}

/* ---- For waiting ------------------------------------------------------------------------------------------------ */

bool cc_mpmc_has_(cc_channel_t *channel, cc_direction_t direction, size_t n)
{
    /* relaxed, both: whoever takes it looks again */
    cc_index_ seen = cc_load_relaxed(&cc_mpmc_side_(channel, direction)->position);
    cc_index_ last = (cc_index_)((seen & (cc_index_)~CC_MPMC_CLOSED_) + (cc_index_)(2 * (n - 1)));
    return cc_load_relaxed(cc_mpmc_stamp_(channel, last, channel->layout)) == cc_mpmc_awaited_(last, direction);
}

/* Reads the position, then the stamp there. "Nothing" counts only if the position has not moved in between. The end of
 * a closed channel is something, too: channel.c, Closing. */
bool cc_mpmc_has_more_(cc_channel_t *channel, cc_direction_t direction)
{
    cc_mpmc_side_t *side = cc_mpmc_side_(channel, direction);
    cc_index_ seen, again = cc_load_relaxed(&side->position); /* relaxed: the same answer twice is the answer */
    do {
        seen = again;
        if (ready_(channel, seen & (cc_index_)~CC_MPMC_CLOSED_, direction, 1)) return true;
        again = cc_load_relaxed(&side->position);
    } while (seen != again);
    return cc_mpmc_is_drained_(channel);
}

/* After a wait no lines are prefetched until the other side is away: for so many messages. Where lines are far, a side
 * that does not prefetch them is slow, and the other one is away soon, comes around, and has to wait in its turn: so
 * both take turns in being slow. That shows in runs of 1024 messages and more between waits, and after those it
 * prefetches again soon. `concede simulate channel.many`, seeds 1 and 2: 64:64 on `xeon-4x64` has 95 and 84 M/s by it,
 * without it 61 and 83; 32:32 on `xeon-2x32` 122 and 110, without it 122 and 76. After a short run 32 are too few:
 * 16:16 loses 8 % on 2 CPUs of AMD Zen 4 under KVM (`concede bench channel.map`, with 24 positions ahead).
 *
 * Many threads that come to one end of the stream all wait, and the runs between their waits are short. So where lines
 * are far a run that is shorter than those before counts half: 128:128 on `xeon-4x64` has 118 to 125 M/s by it, and
 * without it 81 and 99. */
enum { LONG_RUN = 1024, AFTER_LONG_RUN = 32, AFTER_SHORT_RUN = 256 };

size_t cc_mpmc_end_run_(cc_channel_t *channel, cc_direction_t direction)
{
    cc_mpmc_side_t *side = cc_mpmc_side_(channel, direction);
    cc_index_ position = cc_load_relaxed(&side->position); /* relaxed, all: a guess, shared by all threads of a side */
    size_t run = (size_t)((cc_index_)(position - cc_load_relaxed(&side->at_wait)) >> 1);
    if (cc_costs_has_many_cpus_()) {
        size_t before = (size_t)cc_load_relaxed(&side->run);
        if (run < before) run = (run + before) / 2;
        cc_store_relaxed(&side->run, (cc_index_)run);
    }
    size_t after = run >= LONG_RUN ? AFTER_LONG_RUN : AFTER_SHORT_RUN;
    cc_store_relaxed(&side->at_wait, position);
    cc_store_relaxed(&side->prefetch_from, (cc_index_)(position + 2 * after));
    return run;
}
