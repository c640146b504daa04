/* channel.c: making, waiting and closing; the layout and the fast paths stand in channel.h. */
#include <concede/channel.h>

#include <concede/backoff.h>
#include <concede/costs.h>

#include <stdlib.h>
#include <string.h>

#include "os.h"
#include "snooze.h"

/* ---- Making and unmaking ---------------------------------------------------------------------------------------- */

/* Positions in steps of 2 must tell a full lap from an empty one, also after wrapping: at most a quarter of their range. */
#define CAPACITY_MAX ((size_t)1 << (8 * sizeof(cc_index_) - 2))

static int check_(const cc_channel_options_t *options, size_t *capacity, size_t *bytes)
{
    if (!options || options->capacity == 0 || options->message_size == 0) return EINVAL;
    if (options->kind != CC_CHANNEL_MPMC && options->kind != CC_CHANNEL_SPSC) return EINVAL;
    if (options->capacity > CAPACITY_MAX || options->message_size > SIZE_MAX / 4) return EINVAL;
    size_t stride = CC_CHANNEL_STRIDE_(options->message_size), power = 1;
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

/* What adaptive snoozing starts from: 8 snoozes. */
enum { START_SNOOZES = 8, SPIN_SNOOZES = 7 };

static void set_snooze_(cc_channel_side_t *side, uint32_t iters)
{
    uint32_t spins = iters < SPIN_SNOOZES ? iters : SPIN_SNOOZES;
    side->pauses = (UINT32_C(1) << spins) - 1; /* 1 + 2 + 4 ... */
    side->yields = iters - spins;
}

int cc_channel_init(void *memory, size_t bytes, const cc_channel_options_t *options, cc_channel_t **channel)
{
    size_t capacity, needed;
    int error = check_(options, &capacity, &needed);
    if (error != 0) return error;
    if (!memory || !channel || (uintptr_t)memory % CC_CACHE_LINE != 0 || bytes < needed) return EINVAL;
    cc_channel_t *c = (cc_channel_t *)memory;
    memset(c, 0, sizeof *c);
    c->shape = CC_CHANNEL_SHAPE_(options->kind, options->message_size);
    c->mask = capacity - 1;
    c->stride = CC_CHANNEL_STRIDE_(options->message_size);
    c->stamp = CC_CHANNEL_STAMP_(options->message_size);
    c->slots = (unsigned char *)(c + 1);
    c->snooze_iters = options->snooze_iters;
    uint32_t iters = options->snooze_iters == CC_SNOOZE_ADAPTIVE ? START_SNOOZES
                   : options->snooze_iters == CC_SNOOZE_NONE     ? 0
                                                                 : options->snooze_iters;
    set_snooze_(&c->sender, iters);
    set_snooze_(&c->receiver, iters);
    for (size_t i = 0; i < capacity; i++)
        *cc_channel_stamp_(c, (cc_index_)(2 * i), c->stride, c->stamp) = (cc_index_)(2 * i);
    cc_fence_heavy_(); /* settles which fence it is: until then every send pays the full one */
    *channel = c;
    return 0;
}

int cc_channel_create(cc_channel_t **channel, const cc_channel_options_t *options)
{
    size_t capacity, bytes;
    int error = check_(options, &capacity, &bytes);
    if (error == 0 && !channel) error = EINVAL;
    if (error != 0) return error;
    int saved = errno; /* which malloc sets when it fails; clang thinks that it does not, and would store nothing */
    unsigned char *allocation = (unsigned char *)malloc(bytes + CC_CACHE_LINE - 1);
    CC_COMPILER_BARRIER_();
    errno = saved;
    if (!allocation) return ENOMEM;
    size_t up = (size_t)(-(uintptr_t)allocation % CC_CACHE_LINE);
    error = cc_channel_init(allocation + up, bytes, options, channel);
    (*channel)->allocation = allocation;
    return error;
}

void cc_channel_destroy(cc_channel_t *channel)
{
    if (channel) free(channel->allocation);
}

enum { CLOSED = 1 };

static bool is_spsc_(const cc_channel_t *channel)
{
    return channel->shape >> 63 != 0;
}

size_t cc_channel_capacity(const cc_channel_t *channel)
{
    return channel->mask + 1;
}

/* With MPMC bit 0 of the sending side's position decides, and the doors' flags follow it. */
bool cc_channel_is_closed(const cc_channel_t *channel)
{
    if (!is_spsc_(channel)) return cc_load_acquire(&channel->sender.position) & CLOSED; /* [channel.closed] with close */
    return cc_load_acquire(&channel->receivers.closed) != 0; /* [channel.closed] pairs with the stores in close */
}

/* ---- SPSC ------------------------------------------------------------------------------------------------------- */

/* A close may come between the sender's look at `closed` and its stamp, and the receiver may find the channel closed and
 * empty in between. Then both change `end`, and whoever comes first is right:
 *
 *   OPEN       neither has seen the close yet
 *   ACCEPTED   the sender stamped its last messages and then saw the close: they count; the receiver looks again
 *   DRAINED    the receiver saw the close, then no message: what is stamped from here on does not count
 *
 * If the sender does not see the close after its stamp, the receiver sees the stamp after the close: the sender's fence
 * stands between its stamp and its look, the receiver's between its look at `closed` and its look at the stamp. */
enum { OPEN, ACCEPTED, DRAINED };

/* The receiver found no message, and the channel closed: whether that is the end. */
static bool spsc_drained_(cc_channel_t *channel)
{
    uint32_t seen = OPEN;
    if (cc_load_relaxed(&channel->end) == DRAINED) return true; /* relaxed: our own doing */
    cc_fence_heavy_(); /* [channel.close] pairs with the light fence in cc_channel_sent_() */
    if (cc_channel_has_message_(channel, channel->stride, channel->stamp)) return false;
    if (cc_cas_release(&channel->end, &seen, DRAINED)) { /* [channel.end] pairs with the load in cc_channel_sent_slow_() */
        /* A late stamp is that of this position; one lap on we never take it for a message. */
        channel->receiver.position = (cc_index_)(channel->receiver.position + 2 * (channel->mask + 1));
        return true;
    }
    (void)cc_load_acquire(&channel->end); /* [channel.end] ACCEPTED: pairs with the sender's swap; its stamps are there */
    return !cc_channel_has_message_(channel, channel->stride, channel->stamp);
}

size_t cc_channel_sent_slow_(cc_channel_t *channel, size_t n)
{
    uint32_t seen = OPEN;
    cc_event_notify_one(&channel->receivers.event);
    if (!cc_load_acquire(&channel->receivers.closed)) return n; /* [channel.closed] pairs with the stores in close */
    if (cc_cas_release(&channel->end, &seen, ACCEPTED)) return n; /* [channel.end] pairs with the load in spsc_drained_() */
    if (cc_load_acquire(&channel->end) != DRAINED) return n; /* [channel.end] pairs with the swap in spsc_drained_() */
    cc_index_ first = (cc_index_)(channel->sender.position - (cc_index_)(2 * n));
    cc_index_ end = cc_load_relaxed(&channel->receiver.published); /* relaxed: [channel.end] orders it */
    return (size_t)((cc_index_)(end - first) >> 1);
}

int cc_channel_send_result_(size_t sent)
{
    return sent ? 0 : EPIPE;
}

/* With MPMC this may have been the last message of a closed channel: who sleeps until it arrives need not any more. */
void cc_channel_received_slow_(cc_channel_t *channel)
{
    cc_event_notify_one(&channel->senders.event);
    if (!is_spsc_(channel) && cc_load_relaxed(&channel->senders.closed)) /* relaxed: close itself wakes all after setting it */
        cc_event_notify_all(&channel->receivers.event);
}

/* Asks the receiver's position when what we know of it leaves too little room. */
static size_t spsc_room_(cc_channel_t *channel, size_t wanted)
{
    size_t room = cc_channel_room_(channel);
    if (room >= wanted || cc_load_relaxed(&channel->receivers.closed)) return room;
    channel->sender.cached = cc_load_acquire(&channel->receiver.published); /* [channel.slot] pairs with received's store */
    return cc_channel_room_(channel);
}

static size_t spsc_send_(cc_channel_t *channel, const unsigned char *messages, size_t n, size_t size)
{
    size_t room = spsc_room_(channel, n);
    n = n < room ? n : room;
    cc_channel_put_many_(channel, messages, n, size, channel->stride, channel->stamp);
    return n == 0 ? 0 : cc_channel_sent_(channel, n);
}

static size_t spsc_recv_(cc_channel_t *channel, unsigned char *messages, size_t n, size_t size)
{
    size_t i = 0;
    while (i < n && cc_channel_get_(channel, messages + i * size, size, channel->stride, channel->stamp)) i++;
    if (i > 0) cc_channel_received_(channel);
    return i;
}

void *cc_channel_reserve(cc_channel_t *channel)
{
    if (!is_spsc_(channel) || spsc_room_(channel, 1) == 0) return NULL;
    return (unsigned char *)cc_channel_stamp_(channel, channel->sender.position, channel->stride, channel->stamp) -
           channel->stamp;
}

/* ---- MPMC ------------------------------------------------------------------------------------------------------- */

/* A sender takes as many positions as it finds free slots for, with one compare-and-swap: while the position it read
 * stands, nobody else may write those slots. Closing sets bit 0 of that same word, so that a position is taken either
 * before the close, and received, or not at all. The receiving side is the same, without the bit. A thread that lost the
 * race waits a random while: each try takes the line from the one who won. */
enum { LOST_MIN_NS = 1000, LOST_MAX_NS = 8000 };

/* How many slots in a row, from `position` on, have their turn. */
static size_t mpmc_ready_(const cc_channel_t *channel, cc_index_ position, cc_index_ turn, size_t n)
{
    size_t i = 0;
    for (; i < n; i++) {
        cc_index_ at = (cc_index_)(position + (cc_index_)(2 * i));
        cc_index_ stamp = cc_load_acquire(cc_channel_stamp_(channel, at, channel->stride, channel->stamp)); /* [channel.stamp] */
        if (stamp != (cc_index_)(at + turn)) break;
    }
    return i;
}

/* Takes up to n positions of a side whose slots have their turn; how many, and from which one on. */
static size_t mpmc_take_(cc_channel_t *channel, cc_channel_side_t *side, cc_index_ turn, size_t n, cc_index_ *position)
{
    cc_backoff_t backoff = { 0, 0, 0, 0, 0 };
    uint32_t rng = (uint32_t)((uintptr_t)&backoff >> 4) * UINT32_C(2654435761) | 1;
    cc_index_ seen = cc_load_relaxed(&side->position); /* relaxed: the swap decides */
    for (;;) {
        size_t ready = (seen & CLOSED) ? 0 : mpmc_ready_(channel, seen, turn, n);
        *position = seen;
        if (ready == 0) {
            seen = cc_load_relaxed(&side->position); /* relaxed: the same answer twice is the answer */
            if (seen == *position) return 0;
        } else if (cc_cas_relaxed(&side->position, &seen, (cc_index_)(seen + (cc_index_)(2 * ready)))) {
            return ready; /* relaxed: the stamps order the messages */
        } else if (cc_costs_may_spin_()) { /* else who won is done: it had the only CPU */
            if (backoff.max == 0) cc_backoff_init_ns(&backoff, LOST_MIN_NS, LOST_MAX_NS);
            cc_backoff_jitter(&backoff, &rng);
            seen = cc_load_relaxed(&side->position);
        }
    }
}

/* MPMC, either side: takes the next position if its slot has its turn, and nobody else took it; the slot's stamp or NULL. */
CC_TEMPLATE_ cc_index_ *mpmc_take_one_(cc_channel_t *channel, cc_channel_side_t *side, cc_index_ turn, cc_index_ *position,
                                        size_t stride, size_t stamp)
{
    cc_index_ seen = *position = cc_load_relaxed(&side->position); /* relaxed: the swap decides */
    cc_index_ *slot = cc_channel_stamp_(channel, seen, stride, stamp);
    if (CC_UNLIKELY_(cc_load_acquire(slot) != (cc_index_)(seen + turn))) return NULL; /* [channel.stamp] pairs with both stamps */
    return CC_LIKELY_(cc_cas_relaxed(&side->position, &seen, (cc_index_)(seen + 2))) ? slot : NULL; /* relaxed: the stamps order */
}

/* MPMC: sends, if that can be done without waiting or losing a race. */
CC_TEMPLATE_ bool mpmc_send_one_(cc_channel_t *channel, const void *message, size_t size, size_t stride, size_t stamp)
{
    cc_index_ position, *slot = mpmc_take_one_(channel, &channel->sender, 0, &position, stride, stamp);
    if (!slot) return false;
    cc_atomic_copy_((unsigned char *)slot - stamp, message, size);
    cc_store_release(slot, (cc_index_)(position + 1)); /* [channel.stamp] pairs with the receiver's look */
    cc_event_notify_one(&channel->receivers.event); /* [channel.sleep] the stamp before, the door after */
    return true;
}

/* MPMC: receives, if that can be done without waiting or losing a race. */
CC_TEMPLATE_ bool mpmc_recv_one_(cc_channel_t *channel, void *message, size_t size, size_t stride, size_t stamp)
{
    cc_index_ position, *slot = mpmc_take_one_(channel, &channel->receiver, 1, &position, stride, stamp);
    if (!slot) return false;
    cc_atomic_copy_(message, (unsigned char *)slot - stamp, size);
    cc_store_release(slot, (cc_index_)(position + 2 * (channel->mask + 1))); /* [channel.stamp] pairs with the sender's look */
    if (CC_UNLIKELY_(cc_event_has_waiters_(&channel->senders.event) || /* [channel.sleep] the stamp before, the door after */
                     cc_load_relaxed(&channel->senders.closed)))
        cc_channel_received_slow_(channel);
    return true;
}

static size_t mpmc_send_(cc_channel_t *channel, const unsigned char *messages, size_t n, size_t size)
{
    cc_index_ position;
    size_t taken = mpmc_take_(channel, &channel->sender, 0, n, &position);
    for (size_t i = 0; i < taken; i++, position = (cc_index_)(position + 2)) {
        cc_index_ *turn = cc_channel_stamp_(channel, position, channel->stride, channel->stamp);
        cc_atomic_copy_((unsigned char *)turn - channel->stamp, messages + i * size, size);
        cc_store_release(turn, (cc_index_)(position + 1)); /* [channel.stamp] pairs with mpmc_ready_() */
    }
    if (taken > 0) cc_event_notify_one(&channel->receivers.event); /* [channel.sleep] the stamp before, the door after */
    return taken;
}

static size_t mpmc_recv_(cc_channel_t *channel, unsigned char *messages, size_t n, size_t size)
{
    cc_index_ position;
    size_t taken = mpmc_take_(channel, &channel->receiver, 1, n, &position);
    for (size_t i = 0; i < taken; i++, position = (cc_index_)(position + 2)) {
        cc_index_ *turn = cc_channel_stamp_(channel, position, channel->stride, channel->stamp);
        cc_atomic_copy_(messages + i * size, (unsigned char *)turn - channel->stamp, size);
        cc_store_release(turn, (cc_index_)(position + 2 * (channel->mask + 1))); /* [channel.stamp] pairs with mpmc_ready_() */
    }
    if (taken > 0) cc_channel_received_slow_(channel); /* [channel.sleep] the stamp before, the door after */
    return taken;
}

/* Closed, and every position that was taken before the close is taken by a receiver. If not, whoever takes the last one
 * wakes all, if it sees that the channel is closed: so we, who have seen it, pass a fence before we say that it is not. */
static bool mpmc_drained_(const cc_channel_t *channel)
{
    cc_index_ end = cc_load_acquire(&channel->sender.position); /* [channel.closed] pairs with the or in close */
    if (!(end & CLOSED)) return false;
    end = (cc_index_)(end - CLOSED);
    if (cc_load_relaxed(&channel->receiver.position) == end) return true; /* relaxed: only grows */
    cc_fence_heavy_(); /* [channel.close] pairs with the light fence in mpmc_recv_(), between the position and `closed` */
    return cc_load_relaxed(&channel->receiver.position) == end; /* relaxed: the fence orders it */
}

/* Whether there is a turn for one more thread of a side. The position may move between its reading and the stamp's. */
static bool mpmc_more_(const cc_channel_t *channel, const cc_channel_side_t *side, cc_index_ turn)
{
    cc_index_ seen, again = cc_load_relaxed(&side->position); /* relaxed: the same answer twice is the answer */
    do {
        seen = again;
        if (mpmc_ready_(channel, seen & (cc_index_)~CLOSED, turn, 1)) return true;
        again = cc_load_relaxed(&side->position);
    } while (seen != again);
    return false;
}

/* ---- Both ------------------------------------------------------------------------------------------------------- */

static size_t send_(cc_channel_t *channel, const void *messages, size_t n, size_t size)
{
    return is_spsc_(channel) ? spsc_send_(channel, messages, n, size) : mpmc_send_(channel, messages, n, size);
}

static size_t recv_(cc_channel_t *channel, void *messages, size_t n, size_t size)
{
    return is_spsc_(channel) ? spsc_recv_(channel, messages, n, size) : mpmc_recv_(channel, messages, n, size);
}

static int try_send_(cc_channel_t *channel, void *message, size_t size)
{
    if (send_(channel, message, 1, size) == 1) return 0;
    return cc_channel_is_closed(channel) ? EPIPE : EAGAIN;
}

static int try_recv_(cc_channel_t *channel, void *message, size_t size)
{
    if (recv_(channel, message, 1, size) == 1) return 0;
    if (!cc_channel_is_closed(channel)) return EAGAIN;
    if (is_spsc_(channel) ? spsc_drained_(channel) : mpmc_drained_(channel)) return EPIPE;
    return recv_(channel, message, 1, size) == 1 ? 0 : EAGAIN; /* empty, then closed: one more look */
}

/* Whether n messages, or free slots, are there: with MPMC as far as the last of them tells. */
static bool ready_(cc_channel_t *channel, bool sending, size_t n)
{
    if (sending && is_spsc_(channel)) return spsc_room_(channel, n) >= n;
    cc_channel_side_t *side = sending ? &channel->sender : &channel->receiver;
    cc_index_ last = (cc_index_)((cc_load_relaxed(&side->position) | CLOSED) - CLOSED + (cc_index_)(2 * (n - 1)));
    cc_index_ stamp = cc_load_relaxed(cc_channel_stamp_(channel, last, channel->stride, channel->stamp)); /* relaxed: try_ takes it */
    return stamp == (cc_index_)(last + !sending);
}

/* In a stream the faster side catches up with the slower and then takes every line from it half-finished. So after a run of
 * messages without a wait, a side that has to wait lets many come together, but not for long. A side that waits for each
 * message never does. */
enum { RUN = 8, TOGETHER = 256, TOGETHER_NS = 1600 };

static size_t together_(const cc_channel_t *channel, const cc_channel_side_t *side)
{
    cc_index_ run = (cc_index_)(cc_load_relaxed(&side->position) - cc_load_relaxed(&side->waited)); /* relaxed: a guess */
    size_t quarter = (channel->mask + 1) / 4;
    if (run / 2 < RUN || quarter <= 1) return 1;
    return quarter < TOGETHER ? quarter : TOGETHER;
}

static void learn_(cc_channel_t *channel, cc_channel_side_t *side, cc_ending_t ending, uint32_t most)
{
    cc_store_relaxed(&side->waited, cc_load_relaxed(&side->position)); /* relaxed, all: guesses */
    if (channel->snooze_iters != CC_SNOOZE_ADAPTIVE) return;
    cc_snooze_t before = { cc_load_relaxed(&side->pauses), cc_load_relaxed(&side->yields) };
    cc_snooze_t learned = cc_snooze_learned_(before, ending, most);
    cc_store_relaxed(&side->pauses, learned.pauses);
    cc_store_relaxed(&side->yields, learned.yields);
}

static int wait_(cc_channel_t *channel, bool sending, void *message, size_t size, uint64_t deadline)
{
    int (*try_)(cc_channel_t *, void *, size_t) = sending ? try_send_ : try_recv_;
    cc_channel_side_t *side = sending ? &channel->sender : &channel->receiver;
    cc_channel_door_t *door = sending ? &channel->senders : &channel->receivers;
    cc_event_t *event = &door->event;
    uint32_t most = cc_snooze_most_();
    cc_snooze_t snooze = { cc_load_relaxed(&side->pauses), cc_load_relaxed(&side->yields) }; /* relaxed: guesses */
    if (!cc_costs_may_spin_()) snooze.pauses = 0;
    bool slept = false;
    int result = EAGAIN;

    if (deadline != CC_FOREVER) {
        uint64_t now = cc_os_now_();
        if (now >= deadline) return ETIMEDOUT;
        uint32_t left = cc_backoff_pauses_(deadline - now);
        snooze.pauses = snooze.pauses < left ? snooze.pauses : left;
    }
    size_t together = together_(channel, side);
    uint32_t patience = together > 1 ? cc_backoff_pauses_(TOGETHER_NS) : 0;
    for (uint32_t i = 0; i < snooze.pauses; i++) {
        cc_pause();
        bool ready = ready_(channel, sending, i < patience ? together : 1);
        if (!ready && !cc_load_relaxed(&door->closed)) continue; /* relaxed: try_ looks */
        if ((result = try_(channel, message, size)) != EAGAIN) return learn_(channel, side, CC_SPUN_, most), result;
    }
    uint64_t start = cc_os_now_();
    for (uint32_t i = 0; i < snooze.yields && start < deadline; i++) {
        uint64_t before = start;
        cc_os_yield_();
        result = try_(channel, message, size);
        start = cc_os_now_();
        if (result != EAGAIN) return learn_(channel, side, cc_snooze_yielded_(start - before), most), result;
    }
    if (start >= deadline) return (result = try_(channel, message, size)) == EAGAIN ? ETIMEDOUT : result;

    for (bool expired = false; !expired;) {
        uint32_t key = cc_event_listen(event); /* [channel.sleep] the door before, the stamp after */
        if ((result = try_(channel, message, size)) != EAGAIN) {
            cc_event_cancel(event);
            break;
        }
        expired = !cc_event_wait_until(event, key, deadline);
        slept = true;
        if ((result = try_(channel, message, size)) != EAGAIN) break;
    }
    if (slept) {
        uint32_t woken_at = cc_load_relaxed(&event->woken_at); /* relaxed: a guess */
        learn_(channel, side, cc_snooze_slept_(snooze, (uint32_t)start, woken_at), most);
        /* A wake-up may stand for more than one message or slot, if another thread's was half-finished when it was sent:
         * if there is more, wake the next. */
        if (result == 0 && !is_spsc_(channel) && mpmc_more_(channel, side, sending ? 0 : 1)) cc_event_notify_one(event);
    }
    return result == EAGAIN ? ETIMEDOUT : result;
}

/* Every message of an MPMC channel passes here, most of them a pointer or a number: for that size all is constant. */
int cc_channel_send_slow_(cc_channel_t *channel, const void *message, size_t size, uint64_t deadline)
{
    if (channel->shape == CC_CHANNEL_SHAPE_(CC_CHANNEL_MPMC, 8) && size == 8 &&
        CC_LIKELY_(mpmc_send_one_(channel, message, CC_CHANNEL_SIZE_(8))))
        return 0;
    if (size != (size_t)(channel->shape & (UINT64_MAX >> 1))) return EINVAL;
    int result = try_send_(channel, (void *)(uintptr_t)message, size);
    if (result != EAGAIN || deadline == CC_CHANNEL_TRY_) return result;
    return wait_(channel, true, (void *)(uintptr_t)message, size, deadline);
}

int cc_channel_recv_slow_(cc_channel_t *channel, void *message, size_t size, uint64_t deadline)
{
    if (channel->shape == CC_CHANNEL_SHAPE_(CC_CHANNEL_MPMC, 8) && size == 8 &&
        CC_LIKELY_(mpmc_recv_one_(channel, message, CC_CHANNEL_SIZE_(8))))
        return 0;
    if (size != (size_t)(channel->shape & (UINT64_MAX >> 1))) return EINVAL;
    int result = try_recv_(channel, message, size);
    if (result != EAGAIN || deadline == CC_CHANNEL_TRY_) return result;
    return wait_(channel, false, message, size, deadline);
}

size_t cc_channel_send_many_slow_(cc_channel_t *channel, const void *messages, size_t n, size_t size)
{
    if (size != (size_t)(channel->shape & (UINT64_MAX >> 1))) return 0;
    return send_(channel, messages, n, size);
}

size_t cc_channel_recv_many_slow_(cc_channel_t *channel, void *messages, size_t n, size_t size)
{
    if (size != (size_t)(channel->shape & (UINT64_MAX >> 1))) return 0;
    return recv_(channel, messages, n, size);
}

size_t cc_channel_len(const cc_channel_t *channel)
{
    const cc_index_ *head = is_spsc_(channel) ? &channel->receiver.published : &channel->receiver.position;
    cc_index_ begin = cc_load_relaxed(head); /* relaxed, all: a moment's answer, old before it is returned */
    cc_index_ end = cc_load_relaxed(&channel->sender.position);
    if (cc_load_relaxed(&channel->end) == DRAINED) return 0; /* a stamp that does not count may be left */
    size_t length = (size_t)((cc_index_)(end - begin) >> 1), capacity = channel->mask + 1;
    return length <= capacity ? length : length <= 2 * CAPACITY_MAX - capacity ? capacity : 0; /* read while it moved on */
}

/* The doors' flags come after bit 0: who sees a flag finds the channel closed. Then both sides wake, as after any change
 * that they may wait for. */
void cc_channel_close(cc_channel_t *channel)
{
    if (!is_spsc_(channel)) (void)cc_fetch_or_acq_rel(&channel->sender.position, (cc_index_)CLOSED); /* [channel.closed] */
    cc_store_release(&channel->senders.closed, 1);   /* [channel.closed] pairs with the looks at it */
    cc_store_release(&channel->receivers.closed, 1); /* [channel.closed] pairs with the looks at it */
    cc_event_notify_all(&channel->senders.event);    /* [channel.sleep] the flag before, the door after */
    cc_event_notify_all(&channel->receivers.event);  /* [channel.sleep] the flag before, the door after */
}
