/* channel.c: what both kinds of channel have in common: making, waiting, closing. */
#include "channel_mpmc.h"

#include <concede/backoff.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "counters.h"
#include "event.h"
#include "probe.h"

/* ---- Making and unmaking ---------------------------------------------------------------------------------------- */

/* Positions go in steps of 2 and wrap around. Their differences must tell a full channel from an empty one even then,
 * so the capacity is at most a quarter of their range. */
#define CAPACITY_MAX ((size_t)1 << (8 * sizeof(cc_index_) - 2))

/* Checks the options, and returns 0 or EINVAL. With 0 it tells the capacity, rounded up to a power of two, and the
 * bytes that the channel takes. */
static int check_(const cc_channel_options_t *options, size_t *capacity, size_t *bytes)
{
    if (!options || options->capacity == 0 || options->message_size == 0) return EINVAL;
    if (options->kind != CC_CHANNEL_MPMC && options->kind != CC_CHANNEL_SPSC) return EINVAL;
    if (options->capacity > CAPACITY_MAX || options->message_size > SIZE_MAX / 4) return EINVAL;
    size_t stride = cc_slot_layout_(options->message_size).stride;
    size_t power = 1;
    while (power < options->capacity) power *= 2;
    if (stride > (SIZE_MAX - sizeof(cc_channel_t) - CC_CACHE_LINE) / power) return EINVAL;
    *capacity = power;
    *bytes = sizeof(cc_channel_t) + power * stride;
    return 0;
}

int cc_channel_sizeof(const cc_channel_options_t *options, size_t *bytes)
{
    size_t capacity, needed;
    int error = check_(options, &capacity, &needed);
    if (error == 0 && !bytes) error = EINVAL;
    if (error == 0) *bytes = needed;
    return error;
}

int cc_channel_init(void *memory, size_t bytes, const cc_channel_options_t *options, cc_channel_t **channel)
{
    size_t capacity, needed;
    int error = check_(options, &capacity, &needed);
    if (error != 0) return error;
    if (!memory || !channel || (uintptr_t)memory % CC_CACHE_LINE != 0 || bytes < needed) return EINVAL;
    cc_channel_t *c = (cc_channel_t *)memory;
    memset(c, 0, sizeof *c);
    c->shape = cc_channel_shape_(options->kind, options->message_size);
    c->mask = capacity - 1;
    c->layout = cc_slot_layout_(options->message_size);
    c->snooze_iters = options->snooze_iters;
    for (size_t i = 0; i < capacity; i++) {
        cc_index_ position = (cc_index_)(2 * i);
        *cc_slot_stamp_(cc_channel_slot_(c, position, c->layout), c->layout) = position;
    }
    if (options->kind == CC_CHANNEL_MPMC) cc_mpmc_init_(c);
    cc_fence_heavy_(); /* settles which fence it is: until then every send would take the full one */
    *channel = c;
    return 0;
}

int cc_channel_create(cc_channel_t **channel, const cc_channel_options_t *options)
{
    size_t capacity, bytes;
    int error = check_(options, &capacity, &bytes);
    if (error == 0 && !channel) error = EINVAL;
    if (error != 0) return error;
    /* A malloc that fails sets errno. clang takes it for a function that does not, and would leave out the store that
     * restores errno, so a barrier stands between the two. */
    int saved = errno;
    unsigned char *allocation = (unsigned char *)malloc(bytes + CC_CACHE_LINE - 1);
    CC_COMPILER_BARRIER_();
    errno = saved;
    if (!allocation) return ENOMEM;
    size_t before = (size_t)(-(uintptr_t)allocation % CC_CACHE_LINE);
    error = cc_channel_init(allocation + before, bytes, options, channel);
    (*channel)->allocated_before = before + 1;
    return error;
}

void cc_channel_destroy_any_(cc_channel_t *channel)
{
    if (!channel || cc_channel_is_shared_(channel)) return;
    cc_channel_close_descriptors_(channel);
    if (channel->allocated_before == 0) return;
    free((unsigned char *)channel - (channel->allocated_before - 1));
}

size_t cc_channel_capacity(const cc_channel_t *channel)
{
    return channel->mask + 1;
}

size_t cc_channel_len(const cc_channel_t *channel)
{
    bool spsc = cc_channel_is_spsc_(channel);
    if (cc_channel_is_shared_(channel) && !spsc) return cc_shared_mpmc_len_(channel);
    /* relaxed, all: the answer may be old before it is returned */
    cc_index_ head = cc_load_relaxed(spsc ? &channel->spsc.head : &channel->mpmc.head.position);
    cc_index_ tail = cc_load_relaxed(spsc ? &channel->spsc.tail : &channel->mpmc.tail.position);
    if (cc_load_relaxed(&channel->closed) == CC_CHANNEL_DRAINED_)
        return 0; /* the sender was told that what may be left does not count */
    size_t length = (size_t)((cc_index_)(tail - head) >> 1); /* bit 0 of an MPMC tail is not part of it */
    size_t capacity = channel->mask + 1;
    if (length <= capacity) return length;
    /* One position moved on between the two reads. Lengths wrap around at 2 * CAPACITY_MAX, so one that is just below
     * that is negative: the head was read later and had got past the tail. Any other is a tail that was read later. */
    return length <= 2 * CAPACITY_MAX - capacity ? capacity : 0;
}

/* ---- Closing ---------------------------------------------------------------------------------------------------- */

/* A close may come at any moment of any call. Why that is right, in one place:
 *
 *   Nobody sleeps through it. The close is written before this looks for sleepers, and a thread that goes to sleep
 *   announces itself before its last try, which looks for the close: fence.h says why one of the two sees the other.
 *
 *   No message that was accepted is lost. Empty, and then closed, is not yet the end: a message may have come in
 *   between, and it counts. So a receiver that finds the channel closed looks once more, in try_recv_().
 *
 *   MPMC: both sides agree on what was accepted. The close sets bit 0 of `tail`, and a sender takes a position by
 *   changing that very word: either before the close, and then a receiver will have its message, or not at all.
 *   (`closed` only tells a thread that spins to try.)
 *
 *   MPMC: the last receiver learns of the end. The close wakes all, but one who then finds a message that is half-sent
 *   goes back to sleep, and the sender that finishes it wakes one only. So the end is something for another, as a
 *   message is: a receiver that had announced itself, and then takes the last message or finds the end, wakes the next
 *   one by cc_channel_relay_rest_(), and so on to the last.
 *
 *   SPSC: both sides agree, too, although the sender takes its positions with no swap. Three accesses matter:
 *
 *     the sender                     whoever closes          the receiver, which found no message
 *     S1 stamps the slot             C  closed = CLOSED      R1 reads closed: CLOSED
 *        light fence                                            heavy fence
 *     S2 reads closed                                        R2 reads the stamp
 *
 *   If S2 reads OPEN, the message counts and the sender says so. Then R2 sees the stamp: R1 saw the close, S2 did not,
 *   and a fence stands before S2 and before R2, so S1 comes before R2. If S2 reads CLOSED the sender knows, and so may
 *   the receiver; both change `closed` by a compare-and-swap, and whoever comes first is right:
 *
 *     CLOSED -> ACCEPTED   by the sender: its messages count; the receiver looks once more and gets them
 *     CLOSED -> DRAINED    by the receiver: it says EPIPE; what the sender stamped and it did not get does not count */
void cc_channel_close_any_(cc_channel_t *channel)
{
    uint32_t open = CC_CHANNEL_OPEN_;
    if (cc_channel_is_shared_(channel)) {
        cc_shared_close_channel_(channel);
        return;
    }
    if (!cc_channel_is_spsc_(channel)) {
        /* [channel.closed] pairs with the loads of the tail that look for this bit */
        (void)cc_fetch_or_acq_rel(&channel->mpmc.tail.position, CC_MPMC_CLOSED_);
    }
    /* [channel.closed] pairs with the loads of `closed` */
    cc_cas_acq_rel(&channel->closed, &open, CC_CHANNEL_CLOSED_);
    /* [channel.sleep] both: the close before, the event after */
    cc_channel_notify_(channel, CC_SENDING_, CC_NOTIFY_ALL_);
    cc_channel_notify_(channel, CC_RECEIVING_, CC_NOTIFY_ALL_);
}

bool cc_channel_is_closed_any_(const cc_channel_t *channel)
{
    if (cc_channel_is_private_mpmc_(channel)) /* [channel.closed] pairs with the or in cc_channel_close() */
        return (cc_load_acquire(&channel->mpmc.tail.position) & CC_MPMC_CLOSED_) != 0;
    return !cc_channel_accepts_(cc_load_acquire(&channel->closed)); /* [channel.closed] pairs with the swap in close */
}

/* ---- Trying ----------------------------------------------------------------------------------------------------- */

static size_t send_now_(cc_channel_t *channel, const void *messages, size_t n)
{
    const unsigned char *bytes = (const unsigned char *)messages;
    if (cc_channel_is_private_mpmc_(channel)) return cc_mpmc_send_now_(channel, bytes, n);
    if (!cc_channel_is_spsc_(channel)) return cc_shared_mpmc_send_now_(channel, bytes, n);
    if (cc_channel_is_shared_(channel)) cc_shared_spsc_mend_sender_(channel);
    return cc_spsc_send_now_(channel, bytes, n);
}

static size_t recv_now_(cc_channel_t *channel, void *messages, size_t n)
{
    unsigned char *bytes = (unsigned char *)messages;
    if (cc_channel_is_private_mpmc_(channel)) return cc_mpmc_recv_now_(channel, bytes, n);
    if (!cc_channel_is_spsc_(channel)) return cc_shared_mpmc_recv_now_(channel, bytes, n);
    if (cc_channel_is_shared_(channel)) cc_shared_spsc_mend_receiver_(channel);
    return cc_spsc_recv_now_(channel, bytes, n);
}

static bool is_drained_(cc_channel_t *channel)
{
    if (cc_channel_is_private_mpmc_(channel)) return cc_mpmc_is_drained_(channel);
    return cc_channel_is_spsc_(channel) ? cc_spsc_is_drained_(channel) : cc_shared_mpmc_is_drained_(channel);
}

/* Sends up to n messages, n > 0, without waiting. 0: `*done` of them were sent, at least one. EAGAIN: none, the channel
 * is full. EPIPE: none, it is closed. */
static int try_send_(cc_channel_t *channel, const void *messages, size_t n, size_t *done)
{
    *done = send_now_(channel, messages, n);
    if (*done > 0) return 0;
    return cc_channel_is_closed(channel) ? EPIPE : EAGAIN;
}

/* The same for receiving. If the channel is closed it looks once more: see Closing. */
static int try_recv_(cc_channel_t *channel, void *messages, size_t n, size_t *done)
{
    *done = recv_now_(channel, messages, n);
    if (*done > 0) return 0;
    if (!cc_channel_is_closed(channel)) return EAGAIN;
    if (is_drained_(channel)) return EPIPE;
    *done = recv_now_(channel, messages, n);
    return *done > 0 ? 0 : EAGAIN;
}

/* ---- Waiting ---------------------------------------------------------------------------------------------------- */

/* In a stream the faster side catches up with the slower one and then takes every cache line from it half-finished. So
 * a side that has to wait after a run of messages without a wait lets a batch come together, in stages: it goes on to
 * the next stage only while more keeps coming. A message that comes alone is held up for the first stage's time at
 * most, and with a fixed snooze_iters none is held up at all. A stage is over when slots of so many bytes are there,
 * because the transfer of cache lines is what takes the time; a batch is no more than a quarter of the slots. After a
 * longer wait there is no stream any more: goes_on_(). (A burst is another thing: what one call sends or receives.)
 *
 * The numbers are from 2 CPUs of AMD Zen 4 under KVM. `concede bench channel.stream channel.burst channel.many` loses
 * up to a third of its rate if nothing is gathered (messages of 64 bytes, MPMC), and as much if the times are half as
 * long or a run is 32 messages; twice the times bring no more. With a run of one message, `concede bench channel.paced`
 * has them 1.5 to 2.3 times as late (p50), and with one stage in place of four `channel.map --interval 300ns` up to
 * four times. With half of the slots a stream through 16 of them loses a tenth, and with an eighth one through 64 loses
 * 4 %. */
enum { RUN = 4 }; /* messages */
static const struct stage {
    uint32_t bytes, ns;
} stages_[] = { { 64, 100 }, { 256, 200 }, { 1024, 400 }, { 4096, 1000 } };

bool cc_channel_has_(cc_channel_t *channel, cc_direction_t direction, size_t n)
{
    if (cc_channel_is_private_mpmc_(channel)) return cc_mpmc_has_(channel, direction, n);
    return cc_channel_is_spsc_(channel) ? cc_spsc_has_(channel, direction, n)
                                        : cc_shared_mpmc_has_(channel, direction, n);
}

static size_t batch_max_(const cc_channel_t *channel)
{
    return (channel->mask + 1) / 4;
}

/* Ends the run of messages since the last wait; returns whether it was a stream, in which gathering pays. */
static bool ends_run_of_stream_(cc_channel_t *channel, cc_direction_t direction)
{
    size_t run = cc_channel_is_private_mpmc_(channel) ? cc_mpmc_end_run_(channel, direction)
                 : cc_channel_is_spsc_(channel)       ? cc_spsc_end_run_(channel, direction)
                                                      : cc_shared_mpmc_end_run_(channel, direction);
    bool may_gather = channel->snooze_iters == CC_SNOOZE_ADAPTIVE && batch_max_(channel) > 1;
    return may_gather && run >= RUN && cc_costs_may_spin_();
}

/* For a wait of a stream that has something: whether the stream goes on. Then it was short, because the other side was
 * only just behind. One that lasted for longer ends with the first message of a burst, whose others are to be taken as
 * they come. `concede bench channel.map --between 1:1,1:4,1:16 --interval 300ns --burst 16 --work 0` has 0.45, 0.8 and
 * 0.5 of the lateness by it (p50), at the same CPU time; with 500 ns 1:16 has 0.65. Streams and channel.many carry as
 * much (2 CPUs of AMD Zen 4 under KVM, and the machines of `concede simulate`). */
enum { STREAM_WAIT_NS = 300 };
static bool goes_on_(const cc_event_await_t *await)
{
    uint32_t spun = await->spun - await->pauses;
    bool has_rested = await->gave_way || await->came_to_yields || await->slept;
    return !has_rested && spun <= cc_backoff_pauses_(STREAM_WAIT_NS);
}

/* Waits for the rest of a batch, of which at least one message, or one free slot, is there. */
static void gather_(cc_channel_t *channel, cc_direction_t direction)
{
    size_t batch_max = batch_max_(channel);
    for (size_t i = 0; i < sizeof stages_ / sizeof stages_[0]; i++) {
        size_t fill = stages_[i].bytes / channel->layout.stride;
        size_t wanted = fill < 2 ? 2 : fill < batch_max ? fill : batch_max;
        uint32_t pauses = cc_backoff_pauses_(stages_[i].ns);
        while (!cc_channel_has_(channel, direction, wanted)) {
            if (pauses-- == 0) return;
            cc_pause();
        }
        if (wanted == batch_max) return;
    }
}

/* How many messages the threads of an MPMC side have taken since the position was at `*before`, which moves on. */
static uint32_t overtaken_(cc_channel_t *channel, cc_direction_t direction, cc_index_ *before)
{
    cc_index_ position = cc_load_relaxed(&cc_mpmc_side_(channel, direction)->position); /* relaxed: a guess */
    uint32_t taken = (uint32_t)((cc_index_)(position - *before) >> 1);
    *before = position;
    return taken;
}

/* With MPMC a thread whose wait is over looks whether there is something for another, and relays. A wake-up may stand
 * for more than one message: a burst notifies once, a sender wakes nobody while a thread is on its way, and the message
 * before may have been half-finished when this one was sent. */
void cc_channel_relay_rest_(cc_channel_t *channel, cc_direction_t direction)
{
    if (cc_channel_is_shared_(channel))
        cc_shared_relay_rest_(channel, direction);
    else if (!cc_channel_is_spsc_(channel) && cc_mpmc_has_more_(channel, direction))
        cc_channel_notify_(channel, direction, CC_NOTIFY_REST_);
}

/* Under a quota: whether so many messages came together while a receiver slept that this cost less CPU time than
 * spinning for each. (Without a quota it spins on, because then each is late by less.) `concede bench channel.map
 * --interval 300ns` with a quota of one CPU on 2 CPUs of AMD EPYC under KVM carries 1.06 times as much by it between
 * 1:1, MPMC, and 1.2 times with 1:4.
 *
 * Not if a quarter of the slots are still full. Then the receivers are behind, and those that yield let others of them
 * work: with 1:4 and 1 us of work it would carry 0.7 times as much. And not for senders: each wake-up of one takes time
 * from the receiver that it waits for. */
static bool has_gathered_(cc_channel_t *channel, const cc_event_await_t *await, size_t done)
{
    size_t batch = cc_event_worth_a_sleep_(await), many = batch_max_(channel);
    return batch > 0 && batch <= many && (done >= batch || cc_channel_has_(channel, CC_RECEIVING_, batch - done)) &&
           !cc_channel_has_(channel, CC_RECEIVING_, many);
}

/* Waits until a message can be sent, or received, and does that with as many of n as it then can. Returns 0, EPIPE,
 * ETIMEDOUT, or, between processes, EOWNERDEAD. The three phases are those of event.h: snooze, announce and look,
 * sleep. */
static int wait_(cc_channel_t *channel, cc_direction_t direction, void *messages, size_t n, size_t *done,
                 uint64_t deadline)
{
    bool shared = cc_channel_is_shared_(channel);
    cc_event_await_t await = cc_event_await_begin_(cc_channel_event_(channel, direction), deadline);
    struct cc_event_elsewhere elsewhere;
    if (shared) cc_shared_sleep_elsewhere_(channel, direction, &await, &elsewhere);
    bool gathers = ends_run_of_stream_(channel, direction);
    bool takes = direction == CC_RECEIVING_ && cc_channel_is_spsc_(channel) && !shared;
    cc_index_ position = 0;
    int result;
    await.snooze_iters = channel->snooze_iters;
    await.in_channel = true;
    await.relayed = cc_channel_is_private_mpmc_(channel);
    await.probe_began = CC_PROBE_BEGAN_(channel__wait__end);
    CC_PROBE_(channel__wait__begin, channel, direction);
    for (;;) {
        if (gathers && cc_channel_has_(channel, direction, 1)) {
            if (goes_on_(&await)) gather_(channel, direction);
            gathers = false;
        }
        bool spins = await.pauses > 0;
        if (shared && !spins) {
            result = cc_shared_report_(channel, await.slept && !cc_event_await_listens_(&await));
            if (result != 0) break;
        }
        /* While this thread spins it only looks, which disturbs the other side least. An SPSC receiver takes by the
         * same look: `concede bench channel.pingpong` has 0.9 of the CPU time by that (AMD Zen 4 under KVM). */
        bool only_looks = spins && cc_load_relaxed(&channel->closed) == CC_CHANNEL_OPEN_; /* relaxed: a try reads it */
        result = EAGAIN;
        if (only_looks && takes) {
            *done = cc_spsc_recv_now_(channel, (unsigned char *)messages, n);
            if (*done > 0) result = 0;
        } else if (!only_looks || cc_channel_has_(channel, direction, 1)) {
            if (await.relayed) await.overtaken = overtaken_(channel, direction, &position);
            result = direction == CC_SENDING_ ? try_send_(channel, messages, n, done)
                                              : try_recv_(channel, messages, n, done);
        }
        /* [channel.sleep], [shared.announce] the step announces this thread, and the next round reads the stamp */
        if (result != EAGAIN || !cc_event_await_step_(&await)) break;
    }
    if (CC_UNLIKELY_(await.under_quota))
        await.gathered = result == 0 && direction == CC_RECEIVING_ && has_gathered_(channel, &await, *done);
    cc_event_await_end_(&await);
    if (await.announced) cc_channel_relay_rest_(channel, direction);
    if (result == EAGAIN) result = shared && cc_shared_report_(channel, true) != 0 ? EOWNERDEAD : ETIMEDOUT;
    CC_PROBE_(channel__wait__end, channel, CC_COUNT_ENDING_(await.slept, await.yielded),
              CC_PROBE_NS_(await.probe_began), result, direction);
    return result;
}

/* ---- Out of line, any kind -------------------------------------------------------------------------------------- */

static bool fits_(const cc_channel_t *channel, size_t size)
{
    return size == channel->layout.message_size;
}

CC_NOINLINE_ int cc_channel_send_one_(cc_channel_t *channel, const void *message, size_t size, bool waits,
                                      uint64_t deadline)
{
    size_t done;
    if (!fits_(channel, size)) return EINVAL;
    if (cc_channel_is_private_mpmc_(channel) && cc_mpmc_send_one_(channel, message, channel->layout)) return 0;
    int result = try_send_(channel, message, 1, &done);
    if (result != EAGAIN || !waits) return result;
    return wait_(channel, CC_SENDING_, (void *)(uintptr_t)message, 1, &done, deadline);
}

CC_NOINLINE_ int cc_channel_recv_one_(cc_channel_t *channel, void *message, size_t size, bool waits, uint64_t deadline)
{
    size_t done;
    if (!fits_(channel, size)) return EINVAL;
    if (cc_channel_is_private_mpmc_(channel) && cc_mpmc_recv_one_(channel, message, channel->layout)) return 0;
    int result = try_recv_(channel, message, 1, &done);
    if (result != EAGAIN || !waits) return result;
    return wait_(channel, CC_RECEIVING_, message, 1, &done, deadline);
}

/* Most messages are a pointer or a number. For 8 bytes all of the layout is a constant; and because whatever else may
 * happen is left to a function that is not inlined, a message that need not wait costs no register to be saved. Without
 * that `concede bench channel.many -t 4` has half of its rate, and channel.stream two thirds (AMD Zen 4 under KVM). */
static bool is_mpmc_of_8_(const cc_channel_t *channel, size_t size)
{
    return channel->shape == cc_channel_shape_(CC_CHANNEL_MPMC, 8) && size == 8;
}

static bool is_shared_of_8_(const cc_channel_t *channel, size_t size)
{
    return channel->shape == CC_SHARED_MPMC_SHAPE_(8) && size == 8;
}

int cc_channel_send_any_(cc_channel_t *channel, const void *message, size_t size, uint64_t deadline)
{
    if (CC_LIKELY_(is_mpmc_of_8_(channel, size) && cc_mpmc_send_one_(channel, message, cc_slot_layout_(8)))) return 0;
    if (is_shared_of_8_(channel, size)) return cc_shared_send_8_(channel, message, true, deadline);
    return cc_channel_send_one_(channel, message, size, true, deadline);
}

int cc_channel_recv_any_(cc_channel_t *channel, void *message, size_t size, uint64_t deadline)
{
    if (CC_LIKELY_(is_mpmc_of_8_(channel, size) && cc_mpmc_recv_one_(channel, message, cc_slot_layout_(8)))) return 0;
    if (is_shared_of_8_(channel, size)) return cc_shared_recv_8_(channel, message, true, deadline);
    return cc_channel_recv_one_(channel, message, size, true, deadline);
}

int cc_channel_try_send_any_(cc_channel_t *channel, const void *message, size_t size)
{
    if (CC_LIKELY_(is_mpmc_of_8_(channel, size) && cc_mpmc_send_one_(channel, message, cc_slot_layout_(8)))) return 0;
    if (is_shared_of_8_(channel, size)) return cc_shared_send_8_(channel, message, false, 0);
    return cc_channel_send_one_(channel, message, size, false, 0);
}

int cc_channel_try_recv_any_(cc_channel_t *channel, void *message, size_t size)
{
    if (CC_LIKELY_(is_mpmc_of_8_(channel, size) && cc_mpmc_recv_one_(channel, message, cc_slot_layout_(8)))) return 0;
    if (is_shared_of_8_(channel, size)) return cc_shared_recv_8_(channel, message, false, 0);
    return cc_channel_recv_one_(channel, message, size, false, 0);
}

size_t cc_channel_send_many_any_(cc_channel_t *channel, const void *messages, size_t n, size_t size)
{
    return fits_(channel, size) ? send_now_(channel, messages, n) : 0;
}

size_t cc_channel_recv_many_any_(cc_channel_t *channel, void *messages, size_t n, size_t size)
{
    return fits_(channel, size) ? recv_now_(channel, messages, n) : 0;
}

/* A call may have to wait several times. Each of these waits snoozes anew, however long the one before it slept: by
 * then the receiver is at work and will soon make room again. */
int cc_channel_send_all_any_(cc_channel_t *channel, const void *messages, size_t n, size_t size, size_t *sent,
                             uint64_t deadline)
{
    int result = fits_(channel, size) ? 0 : EINVAL;
    while (result == 0 && *sent < n) {
        size_t done = 0;
        const unsigned char *rest = (const unsigned char *)messages + *sent * size;
        result = try_send_(channel, rest, n - *sent, &done);
        if (result == EAGAIN) result = wait_(channel, CC_SENDING_, (void *)(uintptr_t)rest, n - *sent, &done, deadline);
        *sent += done;
    }
    return result;
}

int cc_channel_recv_some_any_(cc_channel_t *channel, void *messages, size_t n, size_t size, size_t *got,
                              uint64_t deadline)
{
    if (!fits_(channel, size)) return EINVAL;
    if (n == 0) return 0;
    int result = try_recv_(channel, messages, n, got);
    if (result != EAGAIN) return result;
    return wait_(channel, CC_RECEIVING_, messages, n, got, deadline);
}
