/* channel.h: a bounded, blocking, closable queue of messages of one size.
 *
 *     cc_channel_options_t options = { 1024, sizeof(job_t), CC_CHANNEL_MPMC, CC_SNOOZE_ADAPTIVE };
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
 * With CC_CHANNEL_SPSC, one thread at a time may send and one receive; everything else may be called by any thread at any
 * time, close included. Destroy it when nobody uses it any more.
 *
 * A blocking call tries; then it snoozes, looking after every pause; then it announces itself, tries once more, and
 * sleeps. The other side wakes only who really sleeps, so a busy pair makes no system call. How long it snoozes is
 * `snooze_iters`:
 *
 *   CC_SNOOZE_ADAPTIVE   each side learns: as long as waits end while it snoozes it snoozes longer, up to what sleeping
 *                        and waking would cost; as long as they end in sleep, shorter, down to sleeping at once
 *   n                    n snoozes: 1, 2, 4 ... 64 pauses, then yields; 8 is a fair number
 *   CC_SNOOZE_NONE       sleeps at once
 *
 * `try_` calls never wait for another thread's half-finished call: they say EAGAIN. Results are 0 or an errno constant. */
#ifndef CONCEDE_CHANNEL_H
#define CONCEDE_CHANNEL_H

#include <concede/event.h>

CC_BEGIN_DECLS

#define CC_CHANNEL_MPMC UINT32_C(0)
#define CC_CHANNEL_SPSC UINT32_C(1)

#define CC_SNOOZE_ADAPTIVE UINT32_C(0)
#define CC_SNOOZE_NONE     UINT32_MAX

typedef struct cc_channel_options {
    size_t capacity;       /* messages; rounded up to a power of two; 1 is valid */
    size_t message_size;   /* bytes, fixed for the channel's life */
    uint32_t kind;         /* CC_CHANNEL_MPMC (0, the default) or CC_CHANNEL_SPSC */
    uint32_t snooze_iters; /* CC_SNOOZE_ADAPTIVE (0, the default), a fixed number, or CC_SNOOZE_NONE */
} cc_channel_options_t;

/* Positions count messages in steps of 2, for ever, and wrap around. A test makes them narrow. */
#if !defined(CC_INDEX_)
#define CC_INDEX_ size_t
#endif
typedef CC_INDEX_ cc_index_;

/* A slot is the message and, behind it, a stamp that says whose turn it is, so that one cache line carries both. With
 * p the position that uses the slot next:
 *
 *   stamp      says                                     who moves it
 *   p          free (before the first lap: the same)    MPMC: a sender that took position p    -> p + 1
 *   p + 1      holds the message of position p          MPMC: a receiver that took p           -> p + 2 * capacity
 *
 * With SPSC only the sender writes stamps (p + 1), and learns from `head` what is free. */

/* How one side waits. What the side alone uses; with MPMC shared by its threads, as a guess. */
typedef struct cc_channel_side {
    cc_index_ position;  /* SPSC: next to send or to receive; MPMC: the same, taken by compare-and-swap; bit 0 of the
                             sending side: closed */
    cc_index_ published; /* SPSC: the receiving side's position, for the sender to read */
    cc_index_ cached;    /* SPSC: what the sender last read of it */
    cc_index_ waited;    /* SPSC: the position after the last wait */
    uint32_t pauses;      /* snooze: how many pauses ... */
    uint32_t yields;      /* ... and how many yields after them */
} cc_channel_side_t;

/* Where one side sleeps. The other side reads it after every message, so nothing else is written here. */
typedef struct cc_channel_door {
    cc_event_t event;
    uint32_t closed; /* 0, or 1 for ever */
} cc_channel_door_t;

typedef struct cc_channel {
    /* Fixed at init; read by everybody. */
    CC_ALIGNED_(CC_CACHE_LINE) uint64_t shape; /* kind and message size in one, so that one comparison checks both */
    size_t mask;                               /* capacity - 1 */
    size_t stride;                             /* bytes from slot to slot */
    size_t stamp;                              /* bytes from a slot to its stamp */
    unsigned char *slots;
    void *allocation; /* what destroy frees; NULL: the memory is the caller's */
    uint32_t snooze_iters;
    uint32_t end; /* SPSC, after close: who came first; see channel.c */

    CC_ALIGNED_(CC_CACHE_LINE) cc_channel_side_t sender;
    CC_ALIGNED_(CC_CACHE_LINE) cc_channel_side_t receiver;
    CC_ALIGNED_(CC_CACHE_LINE) cc_channel_door_t senders;   /* wait for a free slot */
    CC_ALIGNED_(CC_CACHE_LINE) cc_channel_door_t receivers; /* wait for a message */
} cc_channel_t;

CC_STATIC_ASSERT_(offsetof(cc_channel_t, sender) % CC_CACHE_LINE == 0 &&
                      offsetof(cc_channel_t, receiver) - offsetof(cc_channel_t, sender) >= CC_CACHE_LINE &&
                      offsetof(cc_channel_t, senders) - offsetof(cc_channel_t, receiver) >= CC_CACHE_LINE &&
                      offsetof(cc_channel_t, receivers) - offsetof(cc_channel_t, senders) >= CC_CACHE_LINE &&
                      sizeof(cc_channel_t) - offsetof(cc_channel_t, receivers) >= CC_CACHE_LINE,
                  "the two sides, the two doors and the slots keep to lines of their own");

/* The layout of a slot, from the message size: constants where the size is one. */
#define CC_CHANNEL_STAMP_(size) (((size) + sizeof(cc_index_) - 1) / sizeof(cc_index_) * sizeof(cc_index_))
#define CC_CHANNEL_SLOT_(size)  (CC_CHANNEL_STAMP_(size) + sizeof(cc_index_))
#define CC_CHANNEL_STRIDE_(size)         \
    (CC_CHANNEL_SLOT_(size) <= 8    ? 8  \
     : CC_CHANNEL_SLOT_(size) <= 16 ? 16 \
     : CC_CHANNEL_SLOT_(size) <= 32 ? 32 \
                                    : (CC_CHANNEL_SLOT_(size) + 63) / 64 * 64)
#define CC_CHANNEL_SHAPE_(kind, size) ((uint64_t)(kind) << 63 | (uint64_t)(size))

/* Makes a channel. 0; EINVAL: a field of the options makes no sense; ENOMEM. */
CC_API int cc_channel_create(cc_channel_t **channel, const cc_channel_options_t *options);

/* Frees it, unless its memory is the caller's. Nobody may use it any more; NULL is fine. Messages in it are dropped. */
CC_API void cc_channel_destroy(cc_channel_t *channel);

/* How many bytes a channel of these options takes. 0 or EINVAL. */
CC_API int cc_channel_sizeof(const cc_channel_options_t *options, size_t *bytes);

/* Makes a channel in memory of the caller's, aligned to CC_CACHE_LINE and of at least that many bytes. 0 or EINVAL. */
CC_API int cc_channel_init(void *memory, size_t bytes, const cc_channel_options_t *options, cc_channel_t **channel);

/* Closes it: from now on sends fail, and receivers get what was accepted and then EPIPE. Wakes all. Any thread, any time,
 * twice is fine; never blocks. */
CC_API void cc_channel_close(cc_channel_t *channel);

CC_API bool cc_channel_is_closed(const cc_channel_t *channel);

/* Messages in it: exact while nobody sends or receives, else near that; never more than the capacity. */
CC_API size_t cc_channel_len(const cc_channel_t *channel);

CC_API size_t cc_channel_capacity(const cc_channel_t *channel);

/* The slow paths. A deadline of CC_CHANNEL_TRY_ does not wait: EAGAIN. */
#define CC_CHANNEL_TRY_ UINT64_C(0)
CC_API int cc_channel_send_slow_(cc_channel_t *channel, const void *message, size_t size, uint64_t deadline);
CC_API int cc_channel_recv_slow_(cc_channel_t *channel, void *message, size_t size, uint64_t deadline);
CC_API CC_COLD_ size_t cc_channel_sent_slow_(cc_channel_t *channel, size_t n);
CC_API CC_COLD_ int cc_channel_send_result_(size_t sent);
CC_API void cc_channel_received_slow_(cc_channel_t *channel); /* CC_COLD_ would make gcc take the look before it for cold */
CC_API size_t cc_channel_send_many_slow_(cc_channel_t *channel, const void *messages, size_t n, size_t size);
CC_API size_t cc_channel_recv_many_slow_(cc_channel_t *channel, void *messages, size_t n, size_t size);

CC_TEMPLATE_ cc_index_ *cc_channel_stamp_(const cc_channel_t *channel, cc_index_ position, size_t stride, size_t stamp)
{
    return (cc_index_ *)(void *)(channel->slots + ((size_t)(position >> 1) & channel->mask) * stride + stamp);
}

/* SPSC: how many more fit, as far as the sender knows without asking; 0 when closed. */
CC_TEMPLATE_ size_t cc_channel_room_(const cc_channel_t *channel)
{
    size_t used = (size_t)((cc_index_)(channel->sender.position - channel->sender.cached) >> 1);
    return cc_load_relaxed(&channel->receivers.closed) ? 0 : channel->mask + 1 - used; /* relaxed: looked at again after */
}

/* A stream moves each line twice a lap, to the receiver and back. Both sides ask for the lines they need next while they
 * work on this one: the receiver 5 lines ahead, the sender 2, and 8 in a burst (measured with `concede bench channel`: more
 * than twice the messages a second on AMD Zen 3). Past the end of the ring that asks for memory that is not ours, which does
 * nothing. */
#define CC_CHANNEL_NEW_LINE_(position, stride) (((position) >> 1) % ((stride) < 64 ? 64 / (stride) : 1) == 0)
#define CC_CHANNEL_AHEAD_(turn, lines) ((const char *)(turn) + (lines) * 64)

/* SPSC: writes the message of a position into its slot, or leaves what is there if NULL, and stamps it. */
CC_TEMPLATE_ void cc_channel_write_(cc_channel_t *channel, cc_index_ position, const void *message, size_t size,
                                  size_t stride, size_t stamp, size_t ahead)
{
    cc_index_ *turn = cc_channel_stamp_(channel, position, stride, stamp);
    if (CC_CHANNEL_NEW_LINE_(position, stride)) CC_ARCH_PREFETCH_WRITE_(CC_CHANNEL_AHEAD_(turn, ahead));
    if (message) cc_atomic_copy_((unsigned char *)turn - stamp, message, size);
    cc_store_release(turn, (cc_index_)(position + 1)); /* [channel.stamp] pairs with the receiver's look */
}

/* SPSC: writes the next message. */
CC_TEMPLATE_ void cc_channel_put_(cc_channel_t *channel, const void *message, size_t size, size_t stride, size_t stamp)
{
    cc_index_ position = channel->sender.position;
    cc_store_relaxed(&channel->sender.position, (cc_index_)(position + 2)); /* relaxed: others read it for len only */
    cc_channel_write_(channel, position, message, size, stride, stamp, 2);
}

/* SPSC: writes the next n messages, 8 lines at a time, the last one first: the receiver waits for the first, and when that
 * is there so are the others. In their order it would take each line from under the pen. */
#define CC_CHANNEL_BATCH_(stride) ((stride) < 512 ? 512 / (stride) : 1)
CC_TEMPLATE_ void cc_channel_put_many_(cc_channel_t *channel, const unsigned char *messages, size_t n, size_t size,
                                     size_t stride, size_t stamp)
{
    for (size_t batch; n > 0; n -= batch, messages += batch * size) {
        cc_index_ position = channel->sender.position;
        batch = n < CC_CHANNEL_BATCH_(stride) ? n : CC_CHANNEL_BATCH_(stride);
        cc_store_relaxed(&channel->sender.position, (cc_index_)(position + 2 * batch)); /* relaxed: as above */
        for (size_t i = batch; i-- > 0;)
            cc_channel_write_(channel, (cc_index_)(position + 2 * i), messages + i * size, size, stride, stamp, 8);
    }
}

/* SPSC: n messages were put. Wakes the receiver if it sleeps, and settles what a close at the same time means for them;
 * returns how many count as sent. */
CC_TEMPLATE_ size_t cc_channel_sent_(cc_channel_t *channel, size_t n)
{
    bool asleep = cc_event_has_waiters_(&channel->receivers.event); /* [channel.sleep] the stamp before, the door after */
    if (CC_UNLIKELY_(asleep || cc_load_relaxed(&channel->receivers.closed))) return cc_channel_sent_slow_(channel, n);
    return n;
}

/* SPSC: whether the next message is there. */
CC_TEMPLATE_ bool cc_channel_has_message_(const cc_channel_t *channel, size_t stride, size_t stamp)
{
    cc_index_ position = channel->receiver.position;
    cc_index_ *turn = cc_channel_stamp_(channel, position, stride, stamp);
    return cc_load_acquire(turn) == (cc_index_)(position + 1); /* [channel.stamp] pairs with the stamp in put */
}

/* SPSC: copies the next message out, if there is one; give its slot back with received. */
CC_TEMPLATE_ bool cc_channel_get_(cc_channel_t *channel, void *message, size_t size, size_t stride, size_t stamp)
{
    cc_index_ position = channel->receiver.position;
    cc_index_ *turn = cc_channel_stamp_(channel, position, stride, stamp);
    if (CC_UNLIKELY_(cc_load_acquire(turn) != (cc_index_)(position + 1))) return false; /* [channel.stamp] as above */
    if (CC_CHANNEL_NEW_LINE_(position, stride)) __builtin_prefetch(CC_CHANNEL_AHEAD_(turn, 5));
    if (message) cc_atomic_copy_(message, (unsigned char *)turn - stamp, size);
    channel->receiver.position = (cc_index_)(position + 2);
    return true;
}

/* SPSC: gives the slots of what was got back, and wakes the sender if it sleeps. */
CC_TEMPLATE_ void cc_channel_received_(cc_channel_t *channel)
{
    cc_store_release(&channel->receiver.published, channel->receiver.position); /* [channel.slot] pairs with the sender's look */
    if (CC_UNLIKELY_(cc_event_has_waiters_(&channel->senders.event))) /* [channel.sleep] the slot before, the door after */
        cc_channel_received_slow_(channel);
}

CC_TEMPLATE_ int cc_channel_send_(cc_channel_t *channel, const void *message, size_t size, size_t stride, size_t stamp,
                                uint64_t deadline)
{
    if (CC_LIKELY_(channel->shape == CC_CHANNEL_SHAPE_(CC_CHANNEL_SPSC, size) && cc_channel_room_(channel) > 0)) {
        cc_channel_put_(channel, message, size, stride, stamp);
        size_t sent = cc_channel_sent_(channel, 1);
        return CC_LIKELY_(sent == 1) ? 0 : cc_channel_send_result_(sent);
    }
    return cc_channel_send_slow_(channel, message, size, deadline);
}

CC_TEMPLATE_ int cc_channel_recv_(cc_channel_t *channel, void *message, size_t size, size_t stride, size_t stamp,
                                uint64_t deadline)
{
    if (CC_LIKELY_(channel->shape == CC_CHANNEL_SHAPE_(CC_CHANNEL_SPSC, size) &&
                   cc_channel_get_(channel, message, size, stride, stamp))) {
        cc_channel_received_(channel);
        return 0;
    }
    return cc_channel_recv_slow_(channel, message, size, deadline);
}

CC_TEMPLATE_ size_t cc_channel_send_many_(cc_channel_t *channel, const void *messages, size_t n, size_t size, size_t stride,
                                        size_t stamp)
{
    if (CC_UNLIKELY_(channel->shape != CC_CHANNEL_SHAPE_(CC_CHANNEL_SPSC, size) || cc_channel_room_(channel) < n || n == 0))
        return cc_channel_send_many_slow_(channel, messages, n, size);
    cc_channel_put_many_(channel, (const unsigned char *)messages, n, size, stride, stamp);
    return cc_channel_sent_(channel, n);
}

CC_TEMPLATE_ size_t cc_channel_recv_many_(cc_channel_t *channel, void *messages, size_t n, size_t size, size_t stride,
                                        size_t stamp)
{
    unsigned char *message = (unsigned char *)messages;
    size_t i = 0;
    if (CC_UNLIKELY_(channel->shape != CC_CHANNEL_SHAPE_(CC_CHANNEL_SPSC, size)))
        return cc_channel_recv_many_slow_(channel, messages, n, size);
    while (i < n && cc_channel_get_(channel, message + i * size, size, stride, stamp)) i++;
    if (i > 0) cc_channel_received_(channel);
    return i;
}

/* The message size, stride and stamp of a channel whose size is not a constant. */
#define CC_CHANNEL_ANY_(channel) (size_t)((channel)->shape & (UINT64_MAX >> 1)), (channel)->stride, (channel)->stamp
/* The same for a constant size. */
#define CC_CHANNEL_SIZE_(size) (size), CC_CHANNEL_STRIDE_(size), CC_CHANNEL_STAMP_(size)

/* Sends: waits for room as long as it takes. 0; EPIPE: closed. May block. Orders what this thread did before it before
 * what the receiver of the message does. */
CC_INLINE_ int cc_channel_send(cc_channel_t *channel, const void *message)
{
    return cc_channel_send_(channel, message, CC_CHANNEL_ANY_(channel), CC_FOREVER);
}

/* Sends if there is room now. 0; EAGAIN: full; EPIPE. Never blocks. */
CC_INLINE_ int cc_channel_try_send(cc_channel_t *channel, const void *message)
{
    return cc_channel_send_(channel, message, CC_CHANNEL_ANY_(channel), CC_CHANNEL_TRY_);
}

/* Sends, waiting until the deadline. 0; ETIMEDOUT; EPIPE. */
CC_INLINE_ int cc_channel_send_until(cc_channel_t *channel, const void *message, uint64_t deadline)
{
    return cc_channel_send_(channel, message, CC_CHANNEL_ANY_(channel), deadline ? deadline : 1);
}

/* Sends, waiting for at most `ns` nanoseconds. 0; ETIMEDOUT; EPIPE. */
CC_INLINE_ int cc_channel_send_timeout(cc_channel_t *channel, const void *message, uint64_t ns)
{
    return cc_channel_send_until(channel, message, cc_deadline_in(ns));
}

/* Receives: waits for a message as long as it takes. 0; EPIPE: closed and drained. May block. */
CC_INLINE_ int cc_channel_recv(cc_channel_t *channel, void *message)
{
    return cc_channel_recv_(channel, message, CC_CHANNEL_ANY_(channel), CC_FOREVER);
}

/* Receives if there is a message now. 0; EAGAIN: empty; EPIPE. Never blocks. */
CC_INLINE_ int cc_channel_try_recv(cc_channel_t *channel, void *message)
{
    return cc_channel_recv_(channel, message, CC_CHANNEL_ANY_(channel), CC_CHANNEL_TRY_);
}

/* Receives, waiting until the deadline. 0; ETIMEDOUT; EPIPE. */
CC_INLINE_ int cc_channel_recv_until(cc_channel_t *channel, void *message, uint64_t deadline)
{
    return cc_channel_recv_(channel, message, CC_CHANNEL_ANY_(channel), deadline ? deadline : 1);
}

/* Receives, waiting for at most `ns` nanoseconds. 0; ETIMEDOUT; EPIPE. */
CC_INLINE_ int cc_channel_recv_timeout(cc_channel_t *channel, void *message, uint64_t ns)
{
    return cc_channel_recv_until(channel, message, cc_deadline_in(ns));
}

/* Sends as many of n messages, laid out one after the other, as there is room for now; returns how many, the first ones.
 * 0 when full or closed. Never blocks. */
CC_INLINE_ size_t cc_channel_send_many(cc_channel_t *channel, const void *messages, size_t n)
{
    return cc_channel_send_many_(channel, messages, n, CC_CHANNEL_ANY_(channel));
}

/* Receives up to n messages that are there now; returns how many. 0 when empty, or closed and drained. Never blocks. */
CC_INLINE_ size_t cc_channel_recv_many(cc_channel_t *channel, void *messages, size_t n)
{
    return cc_channel_recv_many_(channel, messages, n, CC_CHANNEL_ANY_(channel));
}

/* SPSC: where the next message goes, to be written in place; NULL when full, closed, or MPMC. Aligned for any type of
 * that size, up to 64. Never blocks. */
CC_API void *cc_channel_reserve(cc_channel_t *channel);

/* SPSC: sends what was written where reserve said. If the channel was closed meanwhile, it may be dropped. */
CC_INLINE_ void cc_channel_commit(cc_channel_t *channel)
{
    cc_channel_put_(channel, NULL, CC_CHANNEL_ANY_(channel));
    cc_channel_sent_(channel, 1);
}

/* SPSC: the next message, to be read in place; NULL when empty or MPMC. Never blocks. NULL from a channel that is closed is
 * not the end: a message may still be on its way in. Only EPIPE from a receive is. */
CC_INLINE_ const void *cc_channel_peek(cc_channel_t *channel)
{
    size_t stride = channel->stride, stamp = channel->stamp;
    if (!(channel->shape >> 63) || !cc_channel_has_message_(channel, stride, stamp)) return NULL;
    return (unsigned char *)cc_channel_stamp_(channel, channel->receiver.position, stride, stamp) - stamp;
}

/* SPSC: done with the message that peek showed. */
CC_INLINE_ void cc_channel_consume(cc_channel_t *channel)
{
    if (cc_channel_get_(channel, NULL, CC_CHANNEL_ANY_(channel))) cc_channel_received_(channel);
}

/* Defines, for messages of one type: name_create(&channel, capacity, kind), name_send(channel, value), name_recv(channel,
 * &value), their try_, _until and _timeout forms, and name_send_many, name_recv_many. The compiler checks the type, and the
 * size is a constant, so that a send is a few instructions. The type may be a pointer. A channel whose messages have another
 * size gives EINVAL. */
#define CC_CHANNEL_TYPED(name, type)                                                                                \
    CC_MAY_SHADOW_BEGIN_                                                                                            \
    CC_INLINE_ int name##_create(cc_channel_t **channel, size_t capacity, uint32_t kind)                             \
    {                                                                                                               \
        cc_channel_options_t options = { capacity, sizeof(type), kind, CC_SNOOZE_ADAPTIVE };                        \
        return cc_channel_create(channel, &options);                                                                \
    }                                                                                                               \
    CC_TEMPLATE_ int name##_send(cc_channel_t *channel, type value)                                                  \
    {                                                                                                               \
        return cc_channel_send_(channel, &value, CC_CHANNEL_SIZE_(sizeof(type)), CC_FOREVER);                       \
    }                                                                                                               \
    CC_INLINE_ int name##_try_send(cc_channel_t *channel, type value)                                                \
    {                                                                                                               \
        return cc_channel_send_(channel, &value, CC_CHANNEL_SIZE_(sizeof(type)), CC_CHANNEL_TRY_);                  \
    }                                                                                                               \
    CC_INLINE_ int name##_send_until(cc_channel_t *channel, type value, uint64_t deadline)                           \
    {                                                                                                               \
        return cc_channel_send_(channel, &value, CC_CHANNEL_SIZE_(sizeof(type)), deadline ? deadline : 1);          \
    }                                                                                                               \
    CC_INLINE_ int name##_send_timeout(cc_channel_t *channel, type value, uint64_t ns)                               \
    {                                                                                                               \
        return name##_send_until(channel, value, cc_deadline_in(ns));                                               \
    }                                                                                                               \
    CC_TEMPLATE_ int name##_recv(cc_channel_t *channel, type *value)                                                 \
    {                                                                                                               \
        return cc_channel_recv_(channel, value, CC_CHANNEL_SIZE_(sizeof(type)), CC_FOREVER);                        \
    }                                                                                                               \
    CC_INLINE_ int name##_try_recv(cc_channel_t *channel, type *value)                                               \
    {                                                                                                               \
        return cc_channel_recv_(channel, value, CC_CHANNEL_SIZE_(sizeof(type)), CC_CHANNEL_TRY_);                   \
    }                                                                                                               \
    CC_INLINE_ int name##_recv_until(cc_channel_t *channel, type *value, uint64_t deadline)                          \
    {                                                                                                               \
        return cc_channel_recv_(channel, value, CC_CHANNEL_SIZE_(sizeof(type)), deadline ? deadline : 1);           \
    }                                                                                                               \
    CC_INLINE_ int name##_recv_timeout(cc_channel_t *channel, type *value, uint64_t ns)                              \
    {                                                                                                               \
        return name##_recv_until(channel, value, cc_deadline_in(ns));                                               \
    }                                                                                                               \
    CC_INLINE_ size_t name##_send_many(cc_channel_t *channel, type const *values, size_t n)                          \
    {                                                                                                               \
        return cc_channel_send_many_(channel, values, n, CC_CHANNEL_SIZE_(sizeof(type)));                           \
    }                                                                                                               \
    CC_INLINE_ size_t name##_recv_many(cc_channel_t *channel, type *values, size_t n)                                \
    {                                                                                                               \
        return cc_channel_recv_many_(channel, values, n, CC_CHANNEL_SIZE_(sizeof(type)));                           \
    }                                                                                                               \
    CC_MAY_SHADOW_END_

CC_END_DECLS

#endif
