/* select.h: the first of several channels; a file descriptor to poll.
 *
 *     cc_select_case_t cases[] = {
 *         CC_SELECT_CASE_RECV(urgent, &order),
 *         CC_SELECT_CASE_RECV(ordinary, &order),
 *         CC_SELECT_CASE_SEND(results, &result),
 *     };
 *     size_t which;
 *     cc_select(cases, 3, CC_SELECT_IN_ORDER, &which);      // waits until one of the three is done
 *     if (cases[which].result == EPIPE) ...                 // it is closed
 *
 * Exactly one case is done, and `which` says which one. A channel that is closed (to receive: closed and drained) is
 * ready, too; the case's result is then EPIPE, and nothing was sent or received. Set its channel to NULL and go on with
 * the others.
 *
 *   order                 if several are ready
 *   CC_SELECT_FAIR        each in its turn, so that none starves; one that is not ready leaves its turn to the next
 *   CC_SELECT_IN_ORDER    the first one in the array
 *
 * The same channel may be in several cases, to send and to receive, and in the selects of several threads beside plain
 * sends and receives. With CC_CHANNEL_SPSC the rule is as ever: one thread at a time sends, and one receives. Nothing
 * is allocated, and the cases belong to the call until it returns. A channel that nobody selects on pays nothing for
 * it.
 *
 * A wait has the phases of event.h. While it spins it looks at all channels. Before it sleeps it joins all of them, and
 * whoever sends or receives there knows of it as of any other thread that sleeps. If it was woken for one channel and
 * takes from another, it passes the wake-up on.
 *
 * An event loop has a descriptor for each side of a channel:
 *
 *     int fd;
 *     cc_channel_fd(jobs, CC_SELECT_RECV, &fd);             // add it to poll, epoll, kqueue, io_uring ...
 *     for (;;) {
 *         while (cc_channel_try_recv(jobs, &job) == 0) work(&job);
 *         if (cc_channel_arm(jobs, CC_SELECT_RECV)) poll(...);   // sleeps until a try is worth it
 *     }
 *
 * While it is not armed nobody on the other side makes a system call for it. */
#ifndef CONCEDE_SELECT_H
#define CONCEDE_SELECT_H

#include <concede/channel.h>

CC_BEGIN_DECLS

#define CC_SELECT_RECV UINT32_C(0)
#define CC_SELECT_SEND UINT32_C(1)

#define CC_SELECT_FAIR     UINT32_C(0)
#define CC_SELECT_IN_ORDER UINT32_C(1)

/* How many cases a select may have: far more than a thread can look at while it waits, so that more are a mistake. */
#define CC_SELECT_MAX ((size_t)1000000)

typedef struct cc_select_case {
    cc_channel_t *channel; /* NULL: never ready */
    void *message;         /* what to send, or where to receive to */
    uint32_t operation;    /* CC_SELECT_RECV (0) or CC_SELECT_SEND */
    int result;            /* of the case that was chosen: 0, EPIPE, or EOWNERDEAD: see shared.h */

    /* The library's own, while the select lasts; how they were before does not matter. */
    struct cc_select_case *next_, *previous_; /* in the channel's list; NULL: it is not there */
    struct cc_selector *selector_;            /* NULL: it has not joined */
} cc_select_case_t;

/* clang-format off */
#define CC_SELECT_CASE_RECV(channel, message) { (channel), (message), CC_SELECT_RECV, 0, NULL, NULL, NULL }
#define CC_SELECT_CASE_SEND(channel, message) \
    { (channel), (void *)(uintptr_t)(message), CC_SELECT_SEND, 0, NULL, NULL, NULL }
/* clang-format on */

/* In place of a deadline: it does not wait, and says EAGAIN if no case is ready. It is not a parameter of its own,
 * because that would cost a register on the way of a message that is there. */
#define CC_SELECT_NO_WAIT_ UINT64_C(0)

/* What all forms do. */
CC_API int cc_select_any_(cc_select_case_t *cases, size_t n, uint32_t order, size_t *which, uint64_t deadline);

/* What code that was compiled with CC_DEBUG, or for ThreadSanitizer, does around it. */
CC_API CC_COLD_ int cc_select_debug_(cc_select_case_t *cases, size_t n, uint32_t order, size_t *which,
                                     uint64_t deadline);
#if defined(CC_DEBUG)
#define CC_SELECT_ANY_ cc_select_debug_
#else
#define CC_SELECT_ANY_ cc_select_any_
#endif

#if CC_TSAN_
/* Tells ThreadSanitizer that every send that is tried releases, and that the message that came is written. */
CC_INLINE_ int cc_select_tsan_(cc_select_case_t *cases, size_t n, uint32_t order, size_t *which, uint64_t deadline)
{
    for (size_t i = 0; cases && n <= CC_SELECT_MAX && i < n; i++) {
        cc_channel_t *channel = cases[i].channel;
        if (!channel) continue;
        CC_TSAN_RELEASE_(cases[i].operation == CC_SELECT_SEND ? (void *)channel : (void *)&channel->spsc.head);
        if (cases[i].operation == CC_SELECT_SEND && cases[i].message)
            cc_tsan_read_(cases[i].message, channel->layout.message_size);
    }
    __tsan_ignore_thread_begin();
    int result = CC_SELECT_ANY_(cases, n, order, which, deadline);
    __tsan_ignore_thread_end();
    if (result != 0) return result;
    cc_select_case_t *done = &cases[*which];
    CC_TSAN_ACQUIRE_(done->operation == CC_SELECT_SEND ? (void *)&done->channel->spsc.head : (void *)done->channel);
    if (done->operation == CC_SELECT_RECV && done->result == 0)
        cc_tsan_write_(done->message, done->channel->layout.message_size);
    return 0;
}
#define CC_SELECT_TSAN_ cc_select_tsan_
#else
#define CC_SELECT_TSAN_ CC_SELECT_ANY_
#endif

/* Waits until one of the cases can be done, does it, and says which: its `result` is 0, or EPIPE if its channel is
 * closed. 0; EINVAL: NULL cases, message or which, an operation or order that does not exist, more than CC_SELECT_MAX
 * cases, or no channel at all. A case that it need not look at, because another one was ready, is checked only with
 * CC_DEBUG. May block. Orders as the send or receive that it did. */
CC_INLINE_ int cc_select(cc_select_case_t *cases, size_t n, uint32_t order, size_t *which)
{
    return CC_SELECT_TSAN_(cases, n, order, which, CC_FOREVER);
}

/* The same, waiting until the deadline. 0; ETIMEDOUT; EINVAL. With no channel at all it waits for the deadline. */
CC_MUST_USE_ CC_INLINE_ int cc_select_until(cc_select_case_t *cases, size_t n, uint32_t order, size_t *which,
                                            uint64_t deadline)
{
    return CC_SELECT_TSAN_(cases, n, order, which, deadline != CC_SELECT_NO_WAIT_ ? deadline : 1); /* both are past */
}

/* The same, waiting for at most `ns` nanoseconds. 0; ETIMEDOUT; EINVAL. */
CC_MUST_USE_ CC_INLINE_ int cc_select_timeout(cc_select_case_t *cases, size_t n, uint32_t order, size_t *which,
                                              uint64_t ns)
{
    return cc_select_until(cases, n, order, which, cc_deadline_in(ns));
}

/* The same, if one of the cases can be done now. 0; EAGAIN; EINVAL. Never blocks. */
CC_MUST_USE_ CC_INLINE_ int cc_select_try(cc_select_case_t *cases, size_t n, uint32_t order, size_t *which)
{
    return CC_SELECT_TSAN_(cases, n, order, which, CC_SELECT_NO_WAIT_);
}

/* The descriptor that tells when a try of this operation is worth it: for poll, epoll, kqueue, io_uring. It is the
 * channel's own, one for each operation, and destroy closes it; only wait until it is readable, and read nothing. 0;
 * EINVAL; ENOSYS where the system has none (Windows); EMFILE or ENFILE. Any thread. */
CC_MUST_USE_ CC_API int cc_channel_fd(cc_channel_t *channel, uint32_t operation, int *fd);

/* Arms the descriptor. Returns true if it is not readable now and becomes readable, once, when a try of the operation
 * is worth it, which a close makes it. Returns false if a try is worth it already, and then nothing is armed; so too
 * where no descriptor was asked for. One thread at a time for each operation, and with SPSC the one that sends or
 * receives. Hardly blocks: only for a thread that is just making it readable. */
CC_MUST_USE_ CC_API bool cc_channel_arm(cc_channel_t *channel, uint32_t operation);

CC_END_DECLS

#endif
