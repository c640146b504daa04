/* peers/linux.c: what the Linux kernel gives.
 *
 *   park     a futex around a number: FUTEX_WAKE on every post, as nothing says whether somebody waits; FUTEX_WAIT
 *   channel  an eventfd for one message of 8 bytes in a slot beside it; a futex around one slot. Both hold one message,
 *            so they are only asked for it there and back and at intervals. */
#include "../bench.h"
#include <concede/channel.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline void futex_wait(uint32_t *word, uint32_t expected)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
}

static inline void futex_wake(uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

#define SUBJECT  bare_futex
#define NAME     "bare futex"
#define USES     "FUTEX_WAKE on every post, FUTEX_WAIT while it is not there"
#define FLAGS    BENCH_CAN_SLEEP
#define POST_BOX uint32_t
#define POST(b, n)              \
    do {                        \
        cc_store_release(b, n); \
        futex_wake(b);          \
    } while (0)
#define AWAIT(b, n) \
    for (uint32_t seen; !BENCH_POSTED(seen = cc_load_acquire(b), n);) futex_wait(b, seen)
#include "../loops/park.h"

/* One slot: the number of messages so far, which is what is slept on, and the message. */
typedef struct futex_slot {
    uint32_t number;
    uint64_t value;
} futex_slot;

#define SUBJECT          futex_channel
#define NAME             "bare futex"
#define USES             "one slot; FUTEX_WAKE on every message, FUTEX_WAIT while there is none"
#define FLAGS            (BENCH_CAN_SLEEP | BENCH_ONE_TO_ONE)
#define CHANNEL          futex_slot
#define OPEN(c, n)       ((void)(c), (void)(n), MESSAGE_SIZE == 8)
#define CLOSE(c)         ((void)(c))
#define SEND_LOCAL(c)    uint32_t sent = 0;
#define RECEIVE_LOCAL(c) uint32_t received = 0;
#define SEND(c, m)                                \
    do {                                          \
        cc_store_relaxed(&(c)->value, (m).value); \
        cc_store_release(&(c)->number, ++sent);   \
        futex_wake(&(c)->number);                 \
    } while (0)
#define RECEIVE(c, m)                                                                         \
    do {                                                                                      \
        while (cc_load_acquire(&(c)->number) == received) futex_wait(&(c)->number, received); \
        received = cc_load_acquire(&(c)->number);                                             \
        (m).value = cc_load_relaxed(&(c)->value);                                             \
    } while (0)
#define ONE_SLOT
#include "../loops/channel.h"

typedef struct eventfd_slot {
    int fd;
    uint64_t value;
} eventfd_slot;

static inline void eventfd_send(eventfd_slot *slot, uint64_t value)
{
    uint64_t one = 1;
    cc_store_relaxed(&slot->value, value);
    while (write(slot->fd, &one, sizeof one) != sizeof one) {}
}

static inline uint64_t eventfd_receive(eventfd_slot *slot)
{
    uint64_t count;
    while (read(slot->fd, &count, sizeof count) != sizeof count) {}
    return cc_load_relaxed(&slot->value);
}

#define SUBJECT       eventfd_channel
#define NAME          "eventfd"
#define USES          "one slot; write of 1 after storing, read before loading"
#define FLAGS         (BENCH_CAN_SLEEP | BENCH_ONE_TO_ONE)
#define CHANNEL       eventfd_slot
#define OPEN(c, n)    ((void)(n), MESSAGE_SIZE == 8 && ((c)->fd = eventfd(0, EFD_CLOEXEC)) >= 0)
#define CLOSE(c)      close((c)->fd)
#define SEND(c, m)    eventfd_send(c, (m).value)
#define RECEIVE(c, m) ((m).value = eventfd_receive(c))
#define ONE_SLOT
#include "../loops/channel.h"

/* ---- select: an eventfd beside each queue, written for every message, as one does by hand ---- */

CC_CHANNEL_TYPED(queue, uint64_t)

typedef struct eventfds {
    uint32_t n, next;
    cc_channel_t *queue[BENCH_MOST_CHANNELS];
    struct pollfd polled[BENCH_MOST_CHANNELS];
} eventfds;

static void eventfds_close(eventfds *e)
{
    for (uint32_t i = 0; i < e->n; i++) {
        cc_channel_destroy(e->queue[i]);
        close(e->polled[i].fd);
    }
}

static bool eventfds_open(eventfds *e, uint32_t n, uint32_t capacity)
{
    cc_channel_options_t options = CC_CHANNEL_OPTIONS_INIT(capacity, 0);
    for (; n <= BENCH_MOST_CHANNELS && e->n < n && queue_create(&e->queue[e->n], &options) == 0; e->n++) {
        e->polled[e->n].fd = eventfd(0, EFD_NONBLOCK);
        e->polled[e->n].events = POLLIN;
    }
    if (e->n == n) return true;
    eventfds_close(e);
    return false;
}

static void eventfds_send(eventfds *e, uint32_t i, uint64_t value)
{
    uint64_t one = 1;
    (void)queue_send(e->queue[i], value);
    if (write(e->polled[i].fd, &one, sizeof one) != sizeof one) abort();
}

/* The eventfd is read before the queue is tried, so that a message that comes later leaves it readable. */
static uint64_t eventfds_receive(eventfds *e)
{
    uint64_t value, count;
    for (;;) {
        for (uint32_t i = 0; i < e->n; i++) {
            e->next = e->next + 1 < e->n ? e->next + 1 : 0;
            if (queue_try_recv(e->queue[e->next], &value) == 0) return value;
        }
        poll(e->polled, e->n, -1);
        for (uint32_t i = 0; i < e->n; i++)
            if (e->polled[i].revents && read(e->polled[i].fd, &count, sizeof count) < 0) abort();
    }
}

#define SUBJECT           eventfd_select
#define NAME              "eventfds"
#define USES              "concede's channel as a queue; write to an eventfd for each; poll() when all are empty"
#define FLAGS             BENCH_CAN_SLEEP
#define CHANNELS          eventfds
#define OPEN(c, n, room)  eventfds_open(c, n, room)
#define CLOSE(c)          eventfds_close(c)
#define SEND(c, i, value) eventfds_send(c, i, value)
#define RECEIVE(c, value) value = eventfds_receive(c)
#include "../loops/select.h"

static const bench_subject *const subjects[] = {
    &bare_futex, BENCH_SIZES(futex_channel), BENCH_SIZES(eventfd_channel), &eventfd_select, NULL,
};
const bench_peer bench_peer_linux = { "linux", "", subjects };
