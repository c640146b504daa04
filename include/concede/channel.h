/* channel.h: a bounded, blocking, closable queue of messages of one size.
 *
 *     cc_channel_options_t options = CC_CHANNEL_OPTIONS_INIT(1024, sizeof(job_t));
 *     cc_channel_t *channel;
 *     if (cc_channel_create(&channel, &options) != 0) ...
 *
 *     sending                                      receiving
 *     cc_channel_send(channel, &job);              while (cc_channel_recv(channel, &job) == 0) work(&job);
 *     cc_channel_close(channel);
 *
 * Messages are copied in and out. One sender's messages arrive in the order it sent them. Each message that a send
 * accepted is received exactly once, also if the channel is closed meanwhile: receivers get all that was accepted, and
 * only then EPIPE.
 *
 *   kind               senders     receivers    what it costs
 *   CC_CHANNEL_MPMC    any         any          one compare-and-swap a message at each end
 *   CC_CHANNEL_SPSC    one         one          a store; also in place: reserve and commit, peek and consume
 *
 * With CC_CHANNEL_SPSC, one thread at a time may send and one receive; everything else may be called by any thread at
 * any time, close included. Destroy it when nobody uses it any more.
 *
 * A blocking call tries; then it snoozes, looking after every pause; then it announces itself, tries once more, and
 * sleeps. The other side wakes only a thread that really sleeps, so a busy pair makes no system call. How long it
 * snoozes is `snooze_iters`:
 *
 *   CC_SNOOZE_ADAPTIVE   each side learns: as long as waits end while it snoozes it snoozes longer, up to what sleeping
 *                        and waking would cost; as long as they end in sleep, shorter, down to sleeping at once
 *   n                    n snoozes: 1, 2, 4 ... 64 pauses, then yields; 8 is a fair number
 *   CC_SNOOZE_NONE       sleeps at once
 *
 * Neither snoozes while the CPUs are busy with other programs, and a call with a deadline does not yield. In a stream
 * of messages an adaptive side that had to spin for at most 0.3 us lets a batch come together as long as more keeps
 * coming, for less than 2 us.
 *
 * With several receivers a sender wakes one at a time: whoever takes a message and leaves more behind wakes the next.
 * While messages come quickly one of the receivers spins on behalf of all, and the others sleep. The same goes for
 * senders that wait for room.
 *
 * After fork() the child must make anew a channel that other threads were using: they do not exist there, and a message
 * may be left to one of them or be half sent.
 *
 * `try_` calls never wait for another thread's half-finished call: they say EAGAIN. Results are 0 or an errno constant.
 */
#ifndef CONCEDE_CHANNEL_H
#define CONCEDE_CHANNEL_H

#include <concede/lock.h>

CC_BEGIN_DECLS

#define CC_CHANNEL_MPMC UINT32_C(0)
#define CC_CHANNEL_SPSC UINT32_C(1)

#define CC_SNOOZE_ADAPTIVE UINT32_C(0)
#define CC_SNOOZE_NONE     CC_AWAIT_NO_SNOOZE_

typedef struct cc_channel_options {
    size_t capacity;       /* messages; rounded up to a power of two; 1 is valid */
    size_t message_size;   /* bytes, fixed for the channel's life */
    uint32_t kind;         /* CC_CHANNEL_MPMC (0, the default) or CC_CHANNEL_SPSC */
    uint32_t snooze_iters; /* CC_SNOOZE_ADAPTIVE (0, the default), a fixed number, or CC_SNOOZE_NONE */
} cc_channel_options_t;

/* clang-format off */
#define CC_CHANNEL_OPTIONS_INIT(capacity, size) { (capacity), (size), CC_CHANNEL_MPMC, CC_SNOOZE_ADAPTIVE }
/* clang-format on */

/* ---- The layout: not part of the API ---------------------------------------------------------------------------- */

/* The n-th message that is sent has the position 2n. Positions are even, because the stamp of a slot needs the numbers
 * between them and MPMC needs bit 0; they wrap around. A test makes them narrow. */
#if !defined(CC_INDEX_)
#define CC_INDEX_ size_t
#endif
typedef CC_INDEX_ cc_index_;

/* The ring has `capacity` slots, and position p uses slot p / 2 modulo the capacity; one time round is a lap. A slot is
 * the message and, behind it on the same cache line where it fits, a stamp:
 *
 *   stamp      says                                     who moves it
 *   p          free for the message of position p       the sender, after it wrote the message   -> p + 1
 *   p + 1      holds the message of position p          MPMC: the receiver, after it read it     -> p + 2 * capacity
 *
 * With SPSC the receiver writes no stamps: it publishes its position, `head`, once for several messages. */
typedef struct cc_slot_layout {
    size_t message_size; /* bytes */
    size_t stamp_offset; /* bytes from the slot's beginning to its stamp */
    size_t stride;       /* bytes from slot to slot */
} cc_slot_layout_t;

/* Where one sender and one receiver are; the algorithm stands in channel_spsc.h. */
typedef struct cc_spsc {
    /* The sender's line. */
    CC_ALIGNED_(CC_CACHE_LINE) cc_index_ tail; /* position of the next message to send; others read it for len only */
    cc_index_ head_seen;                       /* what the sender last read of `head` */
    cc_index_ tail_at_wait;                    /* `tail` when the sender last had to wait */
    cc_index_ reserved;                        /* 1 + `tail` at the last reserve, for CC_DEBUG */
    /* The receiver's line. */
    CC_ALIGNED_(CC_CACHE_LINE) cc_index_ next; /* position of the next message to receive; the receiver alone uses it */
    cc_index_ head;                            /* `next`, as published: the slots before it are free */
    cc_index_ next_at_wait;                    /* `next` when the receiver last had to wait */
    cc_index_ peeked;                          /* 1 + `next` at the last peek, for CC_DEBUG */
} cc_spsc_t;

/* Where many senders and many receivers are; the algorithm stands in src/channel_mpmc.h. */
typedef struct cc_mpmc_side {
    CC_ALIGNED_(CC_CACHE_LINE) cc_index_ position; /* of the next message; taken by compare-and-swap */
    cc_index_ at_wait;                             /* `position` when a thread last had to wait: a guess */
    cc_index_ prefetch_from;                       /* from this position on lines are prefetched: a guess */
    cc_index_ ahead;                               /* what is prefetched is so far from a position; fixed at init */
    cc_index_ run;                                 /* messages between waits, about: a guess */
} cc_mpmc_side_t;
typedef struct cc_mpmc {
    cc_mpmc_side_t tail; /* where messages are sent; bit 0 of the position: closed */
    cc_mpmc_side_t head; /* where messages are received */
} cc_mpmc_t;
#define CC_MPMC_CLOSED_ ((cc_index_)1)

/* Whether it is closed; src/channel.c, Closing, says what follows from it.
 *
 * closed     says                                                             who moves it
 * OPEN       nobody has closed the channel                                    close -> CLOSED
 * CLOSED     no further message is accepted (MPMC: bit 0 of the tail         SPSC only: the sender -> ACCEPTED,
 *            says so first)                                                   the receiver -> DRAINED
 * ACCEPTED   SPSC: the sender sent its last messages and then saw the close: they count, and the receiver will get them
 * DRAINED    SPSC: the receiver saw the close and then no message: what the sender sends from here on does not count
 * MEND       SPSC between processes, open: one of them has died or come, and before its next message the sender finds
 *            out how far the one before it got                                whoever saw that: OPEN -> MEND;
 *                                                                             the sender -> OPEN */
enum { CC_CHANNEL_OPEN_, CC_CHANNEL_CLOSED_, CC_CHANNEL_ACCEPTED_, CC_CHANNEL_DRAINED_, CC_CHANNEL_MEND_ };

/* Those who wait for one side of the channel without sleeping on its event: threads that select, and a descriptor. All
 * zero while there is none. Its algorithm stands in src/door.c; it holds pointers into the memory of this process. */
typedef struct cc_door {
    struct cc_select_case *first; /* the cases of threads that select on it; the list is a ring */
    const void *last_joiner;      /* the select that was the last to join, until it leaves */
    cc_lock_t lock;               /* of the list */
    uint32_t wakes_due;           /* how many threads the holder of the lock has to wake; bit 31: all */
    uint32_t armed;               /* the state of the descriptor */
    int32_t descriptors[2];       /* 1 + the one to read, 1 + the one to write; 0: nobody has asked for any */
} cc_door_t;

struct cc_channel {
    /* Fixed at init; read by everybody. */
    CC_ALIGNED_(CC_CACHE_LINE) uint64_t shape; /* kind and message size in one, so that one comparison checks both */
    size_t mask;                               /* capacity - 1 */
    cc_slot_layout_t layout;
    size_t allocated_before; /* 1 + the bytes from the allocation to the channel; 0: the memory is the caller's;
                              * CC_CHANNEL_SHARED_: a channel between processes */
    uint32_t snooze_iters;

    union {
        cc_spsc_t spsc;
        cc_mpmc_t mpmc;
    };
    /* Where senders sleep: read by receivers after every message, so nothing else is written on this line. */
    CC_ALIGNED_(CC_CACHE_LINE) cc_event_t not_full;
    /* Where receivers sleep: the same for senders. */
    CC_ALIGNED_(CC_CACHE_LINE) cc_event_t not_empty;
    uint32_t closed;
    /* Used on slow paths only: who waits for room and who waits for messages by select or descriptor. */
    CC_ALIGNED_(CC_CACHE_LINE) cc_door_t doors[2];
};
typedef struct cc_channel cc_channel_t;
#define CC_CHANNEL_SHARED_ SIZE_MAX

CC_STATIC_ASSERT_(offsetof(cc_channel_t, not_full) % CC_CACHE_LINE == 0 &&
                      offsetof(cc_channel_t, not_empty) % CC_CACHE_LINE == 0 &&
                      offsetof(cc_spsc_t, next) >= CC_CACHE_LINE && sizeof(cc_channel_t) % CC_CACHE_LINE == 0,
                  "the two sides, the two events and the slots keep to lines of their own");

CC_INLINE_ uint64_t cc_channel_shape_(uint32_t kind, size_t message_size)
{
    return (uint64_t)kind << 63 | (uint64_t)message_size;
}

/* Also of a channel between processes. */
CC_INLINE_ bool cc_channel_is_spsc_(const cc_channel_t *channel)
{
    return channel->shape >> 63 != 0;
}

/* The layout of slots for messages of a size and stamps of `unit` bytes; where the size is a constant, so is all of it.
 * Slots of up to half a line share one; larger ones begin on a line each. */
CC_TEMPLATE_ cc_slot_layout_t cc_slot_layout_of_(size_t message_size, size_t unit)
{
    cc_slot_layout_t layout = { message_size, (message_size + unit - 1) / unit * unit, 0 };
    size_t bytes = layout.stamp_offset + unit;
    layout.stride = bytes <= 8    ? 8
                    : bytes <= 16 ? 16
                    : bytes <= 32 ? 32
                                  : (bytes + CC_LINE_BYTES_ - 1) / CC_LINE_BYTES_ * CC_LINE_BYTES_;
    return layout;
}

CC_TEMPLATE_ cc_slot_layout_t cc_slot_layout_(size_t message_size)
{
    return cc_slot_layout_of_(message_size, sizeof(cc_index_));
}

/* The slot of a position, and its stamp. The slots follow the channel in memory. */
CC_TEMPLATE_ unsigned char *cc_channel_slot_(const cc_channel_t *channel, cc_index_ position, cc_slot_layout_t layout)
{
    return (unsigned char *)(uintptr_t)(channel + 1) + ((size_t)(position >> 1) & channel->mask) * layout.stride;
}

CC_TEMPLATE_ cc_index_ *cc_slot_stamp_(const unsigned char *slot, cc_slot_layout_t layout)
{
    return (cc_index_ *)(uintptr_t)(slot + layout.stamp_offset);
}

/* ---- The API ---------------------------------------------------------------------------------------------------- */

/* Makes a channel. 0; EINVAL: a field of the options is out of range; ENOMEM. */
CC_MUST_USE_ CC_API int cc_channel_create(cc_channel_t **channel, const cc_channel_options_t *options);

/* With CC_DEBUG defined, where the code that uses the channel is compiled, these abort with a message on misuse:
 * concede_debug(7). */
enum cc_direction_ { CC_SENDING_, CC_RECEIVING_ };
CC_API CC_COLD_ void cc_channel_debug_enter_(cc_channel_t *channel, uint32_t direction);
CC_API CC_COLD_ size_t cc_channel_debug_leave_(cc_channel_t *channel, uint32_t direction, size_t result);
CC_API CC_COLD_ void cc_channel_debug_commit_(cc_channel_t *channel);
CC_API CC_COLD_ void cc_channel_debug_consume_(cc_channel_t *channel);
CC_API CC_COLD_ void cc_channel_debug_destroy_(cc_channel_t *channel);
#if defined(CC_DEBUG)
#define CC_DEBUG_INLINE_ false /* all calls go by the library's path, where they are checked */
#define CC_DEBUG_AS_(direction, type, channel, call)  \
    (cc_channel_debug_enter_((channel), (direction)), \
     (type)cc_channel_debug_leave_((channel), (direction), (size_t)(call)))
#else
#define CC_DEBUG_INLINE_                             true
#define CC_DEBUG_AS_(direction, type, channel, call) (call)
#define cc_channel_debug_commit_(channel)            ((void)0)
#define cc_channel_debug_consume_(channel)           ((void)0)
#define cc_channel_debug_destroy_(channel)           ((void)0)
#endif
CC_API void cc_channel_destroy_any_(cc_channel_t *channel);

/* Frees it, unless its memory is the caller's. Nobody may use it any more. Messages in it are dropped. NULL is allowed:
 * it does nothing then. */
CC_INLINE_ void cc_channel_destroy(cc_channel_t *channel)
{
    cc_channel_debug_destroy_(channel);
    cc_channel_destroy_any_(channel);
}

/* How many bytes a channel of these options takes. 0 or EINVAL. */
CC_MUST_USE_ CC_API int cc_channel_sizeof(const cc_channel_options_t *options, size_t *bytes);

/* Makes a channel in memory of the caller's, aligned to CC_CACHE_LINE and of at least that many bytes. 0 or EINVAL. */
CC_MUST_USE_ CC_API int cc_channel_init(void *memory, size_t bytes, const cc_channel_options_t *options,
                                        cc_channel_t **channel);

CC_API CC_COLD_ void cc_channel_close_any_(cc_channel_t *channel);
CC_API bool cc_channel_is_closed_any_(const cc_channel_t *channel);
CC_API void *cc_channel_reserve_any_(cc_channel_t *channel);

/* Closes it: from now on sends fail, and receivers get what was accepted and then EPIPE. Wakes all. Any thread, at any
 * time, also twice; never blocks. */
CC_INLINE_ void cc_channel_close(cc_channel_t *channel)
{
    CC_TSAN_RELEASE_(channel);
    cc_channel_close_any_(channel);
}

/* Whether it was closed. Receivers may still get messages: only EPIPE tells them that there are none. Any thread, at
 * any time; never blocks. */
CC_INLINE_ bool cc_channel_is_closed(const cc_channel_t *channel)
{
    bool closed = cc_channel_is_closed_any_(channel);
    CC_TSAN_ACQUIRE_(channel);
    return closed;
}

/* Messages in it: exact while nobody sends or receives, else near that; never more than the capacity. */
CC_API size_t cc_channel_len(const cc_channel_t *channel);

/* How many messages it can hold: what the options said, rounded up. Any thread; never blocks. */
CC_API size_t cc_channel_capacity(const cc_channel_t *channel);

/* Sending and receiving in any kind of channel, out of line. EINVAL, or 0 messages, if the size is another than the
 * channel's. */
CC_API int cc_channel_send_any_(cc_channel_t *channel, const void *message, size_t size, uint64_t deadline);
CC_API int cc_channel_recv_any_(cc_channel_t *channel, void *message, size_t size, uint64_t deadline);
CC_API int cc_channel_try_send_any_(cc_channel_t *channel, const void *message, size_t size);
CC_API int cc_channel_try_recv_any_(cc_channel_t *channel, void *message, size_t size);
CC_API size_t cc_channel_send_many_any_(cc_channel_t *channel, const void *messages, size_t n, size_t size);
CC_API size_t cc_channel_recv_many_any_(cc_channel_t *channel, void *messages, size_t n, size_t size);
/* What cc_channel_send_all() and cc_channel_recv_some() do when they have to wait: the one goes on after the first
 * `*sent` messages, the other has received nothing yet. */
CC_API int cc_channel_send_all_any_(cc_channel_t *channel, const void *messages, size_t n, size_t size, size_t *sent,
                                    uint64_t deadline);
CC_API int cc_channel_recv_some_any_(cc_channel_t *channel, void *messages, size_t n, size_t size, size_t *got,
                                     uint64_t deadline);

CC_END_DECLS

#include <concede/channel_spsc.h>

CC_BEGIN_DECLS

/* Whether the SPSC path below can be taken, which is inline: one comparison checks kind and size. Code for
 * ThreadSanitizer goes by the library's path, because it could not follow what the two sides know of each other. */
CC_TEMPLATE_ bool cc_channel_is_spsc_of_(const cc_channel_t *channel, size_t message_size)
{
    return !CC_TSAN_ && CC_DEBUG_INLINE_ && channel->shape == cc_channel_shape_(CC_CHANNEL_SPSC, message_size);
}

/* Whoever does not wait gets EAGAIN, and its deadline does not count. */
CC_TEMPLATE_ int cc_channel_send_(cc_channel_t *channel, const void *message, cc_slot_layout_t layout, bool waits,
                                  uint64_t deadline)
{
    const size_t size = layout.message_size;
    if (CC_LIKELY_(cc_channel_is_spsc_of_(channel, size) && cc_spsc_room_(channel) > 0)) {
        cc_spsc_write_one_(channel, message, layout);
        return CC_UNLIKELY_(cc_spsc_is_asleep_or_closed_(channel)) ? cc_spsc_sent_one_slow_(channel) : 0;
    }
    return CC_TSAN_SEND_(int, channel, message, size,
                         CC_DEBUG_AS_(CC_SENDING_, int, channel,
                                      waits ? cc_channel_send_any_(channel, message, size, deadline)
                                            : cc_channel_try_send_any_(channel, message, size)));
}

CC_TEMPLATE_ int cc_channel_recv_(cc_channel_t *channel, void *message, cc_slot_layout_t layout, bool waits,
                                  uint64_t deadline)
{
    const size_t size = layout.message_size;
    if (CC_LIKELY_(cc_channel_is_spsc_of_(channel, size) && cc_spsc_take_(channel, message, layout))) {
        cc_spsc_publish_(channel);
        return 0;
    }
    return CC_TSAN_RECV_(channel, message, size,
                         CC_DEBUG_AS_(CC_RECEIVING_, int, channel,
                                      waits ? cc_channel_recv_any_(channel, message, size, deadline)
                                            : cc_channel_try_recv_any_(channel, message, size)));
}

CC_TEMPLATE_ size_t cc_channel_send_many_(cc_channel_t *channel, const void *messages, size_t n,
                                          cc_slot_layout_t layout)
{
    bool inline_path = cc_channel_is_spsc_of_(channel, layout.message_size) && n > 0 && cc_spsc_room_(channel) >= n;
    if (CC_UNLIKELY_(!inline_path))
        return CC_TSAN_SEND_(size_t, channel, messages, n * layout.message_size,
                             CC_DEBUG_AS_(CC_SENDING_, size_t, channel,
                                          cc_channel_send_many_any_(channel, messages, n, layout.message_size)));
    cc_spsc_write_many_(channel, (const unsigned char *)messages, n, layout);
    return cc_spsc_sent_(channel, n);
}

CC_TEMPLATE_ size_t cc_channel_recv_many_(cc_channel_t *channel, void *messages, size_t n, cc_slot_layout_t layout)
{
    if (CC_UNLIKELY_(!cc_channel_is_spsc_of_(channel, layout.message_size)))
        return CC_TSAN_RECV_MANY_(channel, messages, layout.message_size,
                                  CC_DEBUG_AS_(CC_RECEIVING_, size_t, channel,
                                               cc_channel_recv_many_any_(channel, messages, n, layout.message_size)));
    return cc_spsc_recv_many_(channel, (unsigned char *)messages, n, layout);
}

CC_TEMPLATE_ int cc_channel_send_all_(cc_channel_t *channel, const void *messages, size_t n, size_t *sent,
                                      cc_slot_layout_t layout, uint64_t deadline)
{
    *sent = cc_channel_send_many_(channel, messages, n, layout);
    if (CC_LIKELY_(*sent == n)) return 0;
    return CC_TSAN_SEND_(int, channel, messages, n *layout.message_size,
                         cc_channel_send_all_any_(channel, messages, n, layout.message_size, sent, deadline));
}

CC_TEMPLATE_ int cc_channel_recv_some_(cc_channel_t *channel, void *messages, size_t n, size_t *got,
                                       cc_slot_layout_t layout, uint64_t deadline)
{
    *got = cc_channel_recv_many_(channel, messages, n, layout);
    if (CC_LIKELY_(*got > 0)) return 0;
    int result = 0;
    *got = CC_TSAN_RECV_MANY_(
        channel, messages, layout.message_size,
        (result = cc_channel_recv_some_any_(channel, messages, n, layout.message_size, got, deadline), *got));
    return result;
}

/* Sends: waits for room as long as it takes. 0; EPIPE: closed. May block. Orders what this thread did before it before
 * what the receiver of the message does. */
CC_INLINE_ int cc_channel_send(cc_channel_t *channel, const void *message)
{
    return cc_channel_send_(channel, message, channel->layout, true, CC_FOREVER);
}

/* Sends if there is room now. 0; EAGAIN: full; EPIPE. Never blocks. */
CC_MUST_USE_ CC_INLINE_ int cc_channel_try_send(cc_channel_t *channel, const void *message)
{
    return cc_channel_send_(channel, message, channel->layout, false, 0);
}

/* Sends, waiting until the deadline. 0; ETIMEDOUT; EPIPE. */
CC_MUST_USE_ CC_INLINE_ int cc_channel_send_until(cc_channel_t *channel, const void *message, uint64_t deadline)
{
    return cc_channel_send_(channel, message, channel->layout, true, deadline);
}

/* Sends, waiting for at most `ns` nanoseconds. 0; ETIMEDOUT; EPIPE. */
CC_MUST_USE_ CC_INLINE_ int cc_channel_send_timeout(cc_channel_t *channel, const void *message, uint64_t ns)
{
    return cc_channel_send_until(channel, message, cc_deadline_in(ns));
}

/* Receives: waits for a message as long as it takes. 0; EPIPE: closed and drained. May block. */
CC_MUST_USE_ CC_INLINE_ int cc_channel_recv(cc_channel_t *channel, void *message)
{
    return cc_channel_recv_(channel, message, channel->layout, true, CC_FOREVER);
}

/* Receives if there is a message now. 0; EAGAIN: empty; EPIPE. Never blocks. */
CC_MUST_USE_ CC_INLINE_ int cc_channel_try_recv(cc_channel_t *channel, void *message)
{
    return cc_channel_recv_(channel, message, channel->layout, false, 0);
}

/* Receives, waiting until the deadline. 0; ETIMEDOUT; EPIPE. */
CC_MUST_USE_ CC_INLINE_ int cc_channel_recv_until(cc_channel_t *channel, void *message, uint64_t deadline)
{
    return cc_channel_recv_(channel, message, channel->layout, true, deadline);
}

/* Receives, waiting for at most `ns` nanoseconds. 0; ETIMEDOUT; EPIPE. */
CC_MUST_USE_ CC_INLINE_ int cc_channel_recv_timeout(cc_channel_t *channel, void *message, uint64_t ns)
{
    return cc_channel_recv_until(channel, message, cc_deadline_in(ns));
}

/* Sends as many of n messages, laid out one after the other, as there is room for now; returns how many, the first
 * ones. 0 when full or closed. Never blocks. */
CC_MUST_USE_ CC_INLINE_ size_t cc_channel_send_many(cc_channel_t *channel, const void *messages, size_t n)
{
    return cc_channel_send_many_(channel, messages, n, channel->layout);
}

/* Receives up to n messages that are there now; returns how many. 0 when empty, or closed and drained. Never blocks. */
CC_MUST_USE_ CC_INLINE_ size_t cc_channel_recv_many(cc_channel_t *channel, void *messages, size_t n)
{
    return cc_channel_recv_many_(channel, messages, n, channel->layout);
}

/* Sends all of n messages, laid out one after the other, and waits for room as often and as long as it takes. 0; EPIPE:
 * closed. `*sent` says in either case how many were sent, the first ones. May block. With several senders the messages
 * of others may come between them. */
CC_INLINE_ int cc_channel_send_all(cc_channel_t *channel, const void *messages, size_t n, size_t *sent)
{
    return cc_channel_send_all_(channel, messages, n, sent, channel->layout, CC_FOREVER);
}

/* The same, waiting until the deadline. 0; ETIMEDOUT; EPIPE. */
CC_MUST_USE_ CC_INLINE_ int cc_channel_send_all_until(cc_channel_t *channel, const void *messages, size_t n,
                                                      size_t *sent, uint64_t deadline)
{
    return cc_channel_send_all_(channel, messages, n, sent, channel->layout, deadline);
}

/* The same, waiting for at most `ns` nanoseconds in all. 0; ETIMEDOUT; EPIPE. */
CC_MUST_USE_ CC_INLINE_ int cc_channel_send_all_timeout(cc_channel_t *channel, const void *messages, size_t n,
                                                        size_t *sent, uint64_t ns)
{
    return cc_channel_send_all_until(channel, messages, n, sent, cc_deadline_in(ns));
}

/* Receives up to n messages: waits for the first one as long as it takes, and takes with it what else is there. 0;
 * EPIPE: closed and drained. `*got` says in either case how many. May block; with n 0 it does not. */
CC_MUST_USE_ CC_INLINE_ int cc_channel_recv_some(cc_channel_t *channel, void *messages, size_t n, size_t *got)
{
    return cc_channel_recv_some_(channel, messages, n, got, channel->layout, CC_FOREVER);
}

/* The same, waiting until the deadline. 0; ETIMEDOUT; EPIPE. */
CC_MUST_USE_ CC_INLINE_ int cc_channel_recv_some_until(cc_channel_t *channel, void *messages, size_t n, size_t *got,
                                                       uint64_t deadline)
{
    return cc_channel_recv_some_(channel, messages, n, got, channel->layout, deadline);
}

/* The same, waiting for at most `ns` nanoseconds. 0; ETIMEDOUT; EPIPE. */
CC_MUST_USE_ CC_INLINE_ int cc_channel_recv_some_timeout(cc_channel_t *channel, void *messages, size_t n, size_t *got,
                                                         uint64_t ns)
{
    return cc_channel_recv_some_until(channel, messages, n, got, cc_deadline_in(ns));
}

/* SPSC: returns where the next message goes, to be written in place; NULL when full, closed, or MPMC. Aligned for any
 * type of that size, up to 64. Never blocks. */
CC_MUST_USE_ CC_INLINE_ void *cc_channel_reserve(cc_channel_t *channel)
{
    void *slot = cc_channel_reserve_any_(channel);
    CC_TSAN_ACQUIRE_(&channel->spsc.head);
    return slot;
}

/* SPSC: sends what was written where reserve said. If the channel was closed meanwhile, it may be dropped. */
CC_INLINE_ void cc_channel_commit(cc_channel_t *channel)
{
    cc_channel_debug_commit_(channel);
    CC_TSAN_RELEASE_(channel);
    cc_spsc_write_one_(channel, NULL, channel->layout);
    (void)cc_spsc_sent_(channel, 1);
}

/* SPSC: returns the next message, to be read in place; NULL when empty or MPMC. Never blocks. NULL from a channel that
 * is closed is not the end: a message may still be on its way in. Only EPIPE from a receive is. */
CC_MUST_USE_ CC_INLINE_ const void *cc_channel_peek(cc_channel_t *channel)
{
    if (!cc_channel_is_spsc_(channel) || !cc_spsc_has_message_(channel, channel->layout)) return NULL;
    CC_TSAN_ACQUIRE_(channel);
    channel->spsc.peeked = (cc_index_)(channel->spsc.next + 1);
    return cc_channel_slot_(channel, channel->spsc.next, channel->layout);
}

/* SPSC: ends the use of the message that peek showed, and frees its slot. */
CC_INLINE_ void cc_channel_consume(cc_channel_t *channel)
{
    cc_channel_debug_consume_(channel);
    if (cc_spsc_take_(channel, NULL, channel->layout)) cc_spsc_publish_(channel);
}

/* Defines, for messages of one type: name_create(&channel, &options), name_send(channel, value), name_recv(channel,
 * &value), their try_, _until and _timeout forms, and name_send_many, name_recv_many, name_send_all, name_recv_some.
 * The compiler checks the type, and the size is a constant, so that a send is a few instructions; name_create takes it
 * from the type, whatever the options say. The type may be a pointer. A channel whose messages have another size gives
 * EINVAL. */
#define CC_CHANNEL_TYPED(name, type)                                                                                 \
    CC_MAY_SHADOW_BEGIN_                                                                                             \
    CC_MUST_USE_ CC_INLINE_ int name##_create(cc_channel_t **channel, const cc_channel_options_t *options)           \
    {                                                                                                                \
        cc_channel_options_t typed = CC_CHANNEL_OPTIONS_INIT(0, 0); /* no options: EINVAL, as the capacity is 0 */   \
        if (options) typed = *options;                                                                               \
        typed.message_size = sizeof(type);                                                                           \
        return cc_channel_create(channel, &typed);                                                                   \
    }                                                                                                                \
    CC_TEMPLATE_ int name##_send(cc_channel_t *channel, type value)                                                  \
    {                                                                                                                \
        return cc_channel_send_(channel, &value, cc_slot_layout_(sizeof(type)), true, CC_FOREVER);                   \
    }                                                                                                                \
    CC_MUST_USE_ CC_INLINE_ int name##_try_send(cc_channel_t *channel, type value)                                   \
    {                                                                                                                \
        return cc_channel_send_(channel, &value, cc_slot_layout_(sizeof(type)), false, 0);                           \
    }                                                                                                                \
    CC_MUST_USE_ CC_INLINE_ int name##_send_until(cc_channel_t *channel, type value, uint64_t deadline)              \
    {                                                                                                                \
        return cc_channel_send_(channel, &value, cc_slot_layout_(sizeof(type)), true, deadline);                     \
    }                                                                                                                \
    CC_MUST_USE_ CC_INLINE_ int name##_send_timeout(cc_channel_t *channel, type value, uint64_t ns)                  \
    {                                                                                                                \
        return name##_send_until(channel, value, cc_deadline_in(ns));                                                \
    }                                                                                                                \
    CC_MUST_USE_ CC_TEMPLATE_ int name##_recv(cc_channel_t *channel, type *value)                                    \
    {                                                                                                                \
        return cc_channel_recv_(channel, value, cc_slot_layout_(sizeof(type)), true, CC_FOREVER);                    \
    }                                                                                                                \
    CC_MUST_USE_ CC_INLINE_ int name##_try_recv(cc_channel_t *channel, type *value)                                  \
    {                                                                                                                \
        return cc_channel_recv_(channel, value, cc_slot_layout_(sizeof(type)), false, 0);                            \
    }                                                                                                                \
    CC_MUST_USE_ CC_INLINE_ int name##_recv_until(cc_channel_t *channel, type *value, uint64_t deadline)             \
    {                                                                                                                \
        return cc_channel_recv_(channel, value, cc_slot_layout_(sizeof(type)), true, deadline);                      \
    }                                                                                                                \
    CC_MUST_USE_ CC_INLINE_ int name##_recv_timeout(cc_channel_t *channel, type *value, uint64_t ns)                 \
    {                                                                                                                \
        return name##_recv_until(channel, value, cc_deadline_in(ns));                                                \
    }                                                                                                                \
    CC_MUST_USE_ CC_INLINE_ size_t name##_send_many(cc_channel_t *channel, type const *values, size_t n)             \
    {                                                                                                                \
        return cc_channel_send_many_(channel, values, n, cc_slot_layout_(sizeof(type)));                             \
    }                                                                                                                \
    CC_MUST_USE_ CC_INLINE_ size_t name##_recv_many(cc_channel_t *channel, type *values, size_t n)                   \
    {                                                                                                                \
        return cc_channel_recv_many_(channel, values, n, cc_slot_layout_(sizeof(type)));                             \
    }                                                                                                                \
    CC_MUST_USE_ CC_INLINE_ int name##_send_all_until(cc_channel_t *channel, type const *values, size_t n,           \
                                                      size_t *sent, uint64_t deadline)                               \
    {                                                                                                                \
        return cc_channel_send_all_(channel, values, n, sent, cc_slot_layout_(sizeof(type)), deadline);              \
    }                                                                                                                \
    CC_INLINE_ int name##_send_all(cc_channel_t *channel, type const *values, size_t n, size_t *sent)                \
    {                                                                                                                \
        return name##_send_all_until(channel, values, n, sent, CC_FOREVER);                                          \
    }                                                                                                                \
    CC_MUST_USE_ CC_INLINE_ int name##_send_all_timeout(cc_channel_t *channel, type const *values, size_t n,         \
                                                        size_t *sent, uint64_t ns)                                   \
    {                                                                                                                \
        return name##_send_all_until(channel, values, n, sent, cc_deadline_in(ns));                                  \
    }                                                                                                                \
    CC_MUST_USE_ CC_INLINE_ int name##_recv_some_until(cc_channel_t *channel, type *values, size_t n, size_t *got,   \
                                                       uint64_t deadline)                                            \
    {                                                                                                                \
        return cc_channel_recv_some_(channel, values, n, got, cc_slot_layout_(sizeof(type)), deadline);              \
    }                                                                                                                \
    CC_MUST_USE_ CC_INLINE_ int name##_recv_some(cc_channel_t *channel, type *values, size_t n, size_t *got)         \
    {                                                                                                                \
        return name##_recv_some_until(channel, values, n, got, CC_FOREVER);                                          \
    }                                                                                                                \
    CC_MUST_USE_ CC_INLINE_ int name##_recv_some_timeout(cc_channel_t *channel, type *values, size_t n, size_t *got, \
                                                         uint64_t ns)                                                \
    {                                                                                                                \
        return name##_recv_some_until(channel, values, n, got, cc_deadline_in(ns));                                  \
    }                                                                                                                \
    CC_MAY_SHADOW_END_

CC_END_DECLS

#endif
