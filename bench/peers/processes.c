/* peers/processes.c: between two processes: concede's shared channel of both kinds, and what Linux gives. Beside them
 * concede's private channel between two threads, to see what it costs that they are processes. */
#include <concede/shared.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>
#include "../bench.h"

CC_CHANNEL_TYPED(number, uint64_t)

#define SUBJECT           private_spsc
#define NAME              "concede spsc threads"
#define USES              "one process: CC_CHANNEL_TYPED send and recv, CC_CHANNEL_SPSC"
#define FLAGS             (BENCH_OURS | BENCH_BASELINE | BENCH_CAN_SLEEP | BENCH_ONE_TO_ONE)
#define CHANNEL           cc_channel_t *
#define OPEN(c, n)        open_private(c, n, CC_CHANNEL_SPSC)
#define CLOSE(c)          cc_channel_destroy(*(c))
#define SEND(c, value)    (void)number_send(*(c), value)
#define RECEIVE(c, value) (void)!number_recv(*(c), &(value))
#define IN_ONE_PROCESS
static bool open_private(cc_channel_t **channel, uint32_t capacity, uint32_t kind)
{
    cc_channel_options_t options = { .capacity = capacity, .kind = kind };
    return number_create(channel, &options) == 0;
}
#include "../loops/shared.h"

#define SUBJECT           private_mpmc
#define NAME              "concede mpmc threads"
#define USES              "one process: CC_CHANNEL_TYPED send and recv, CC_CHANNEL_MPMC"
#define FLAGS             (BENCH_OURS | BENCH_CAN_SLEEP)
#define CHANNEL           cc_channel_t *
#define OPEN(c, n)        open_private(c, n, CC_CHANNEL_MPMC)
#define CLOSE(c)          cc_channel_destroy(*(c))
#define SEND(c, value)    (void)number_send(*(c), value)
#define RECEIVE(c, value) (void)!number_recv(*(c), &(value))
#define IN_ONE_PROCESS
#include "../loops/shared.h"

typedef struct segment {
    cc_shared_t *shared;
    cc_channel_t *channel;
    int fd;
} segment;

static bool open_segment(segment *s, uint32_t capacity, uint32_t kind)
{
    cc_channel_options_t options = { .capacity = capacity, .message_size = sizeof(uint64_t), .kind = kind };
    if (cc_shared_create_fd(&s->shared, &options, &s->fd) != 0) return false;
    s->channel = cc_shared_channel(s->shared);
    return true;
}

static bool join_segment(segment *s)
{
    cc_shared_close(s->shared);
    if (cc_shared_open_fd(&s->shared, s->fd) != 0) return false;
    s->channel = cc_shared_channel(s->shared);
    return true;
}

static void close_segment(segment *s)
{
    cc_shared_close(s->shared);
    close(s->fd);
}

#define SUBJECT           shared_spsc
#define NAME              "concede shared spsc"
#define USES              "cc_shared_create_fd; CC_CHANNEL_TYPED send and recv, CC_CHANNEL_SPSC"
#define FLAGS             (BENCH_OURS | BENCH_CAN_SLEEP | BENCH_ONE_TO_ONE | BENCH_UNCOUNTED)
#define CHANNEL           segment
#define OPEN(c, n)        open_segment(c, n, CC_CHANNEL_SPSC)
#define JOIN(c)           join_segment(c)
#define CLOSE(c)          close_segment(c)
#define SEND(c, value)    (void)number_send((c)->channel, value)
#define RECEIVE(c, value) (void)!number_recv((c)->channel, &(value))
#include "../loops/shared.h"

#define SUBJECT           shared_mpmc
#define NAME              "concede shared mpmc"
#define USES              "cc_shared_create_fd; CC_CHANNEL_TYPED send and recv, CC_CHANNEL_MPMC"
#define FLAGS             (BENCH_OURS | BENCH_CAN_SLEEP | BENCH_UNCOUNTED)
#define CHANNEL           segment
#define OPEN(c, n)        open_segment(c, n, CC_CHANNEL_MPMC)
#define JOIN(c)           join_segment(c)
#define CLOSE(c)          close_segment(c)
#define SEND(c, value)    (void)number_send((c)->channel, value)
#define RECEIVE(c, value) (void)!number_recv((c)->channel, &(value))
#include "../loops/shared.h"

/* ---- descriptors ---- */

typedef struct two_ends {
    int ends[2]; /* to read from, to write to */
} two_ends;

static void close_ends(two_ends *e)
{
    close(e->ends[0]);
    close(e->ends[1]);
}

static inline void write_number(int fd, uint64_t value)
{
    while (write(fd, &value, sizeof value) != (ssize_t)sizeof value) {}
}

static inline uint64_t read_number(int fd)
{
    uint64_t value = 0;
    while (read(fd, &value, sizeof value) != (ssize_t)sizeof value) {}
    return value;
}

#define SUBJECT           pipe_processes
#define NAME              "pipe"
#define USES              "write and read of 8 bytes"
#define FLAGS             BENCH_CAN_SLEEP
#define CHANNEL           two_ends
#define OPEN(c, n)        ((void)(n), pipe2((c)->ends, O_CLOEXEC) == 0)
#define CLOSE(c)          close_ends(c)
#define SEND(c, value)    write_number((c)->ends[1], value)
#define RECEIVE(c, value) value = read_number((c)->ends[0])
#include "../loops/shared.h"

#define SUBJECT           socket_processes
#define NAME              "Unix socket pair"
#define USES              "SOCK_STREAM; write and read of 8 bytes"
#define FLAGS             BENCH_CAN_SLEEP
#define CHANNEL           two_ends
#define OPEN(c, n)        ((void)(n), socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, (c)->ends) == 0)
#define CLOSE(c)          close_ends(c)
#define SEND(c, value)    write_number((c)->ends[1], value)
#define RECEIVE(c, value) value = read_number((c)->ends[0])
#include "../loops/shared.h"

/* The system allows 10 messages unless it is told otherwise. */
static bool open_queue(mqd_t *queue, uint32_t capacity)
{
    static unsigned number;
    char name[64];
    struct mq_attr attributes = { .mq_maxmsg = (long)capacity, .mq_msgsize = sizeof(uint64_t) };
    snprintf(name, sizeof name, "/concede-bench-%ld-%u", (long)getpid(), number++);
    *queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600, &attributes);
    if (*queue == (mqd_t)-1 && errno == EINVAL) {
        attributes.mq_maxmsg = 10;
        *queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600, &attributes);
    }
    if (*queue == (mqd_t)-1) return false;
    mq_unlink(name);
    return true;
}

#define SUBJECT    queue_processes
#define NAME       "POSIX message queue"
#define USES       "mq_send and mq_receive; 10 messages, where the system allows no more"
#define FLAGS      BENCH_CAN_SLEEP
#define CHANNEL    mqd_t
#define OPEN(c, n) open_queue(c, n)
#define CLOSE(c)   mq_close(*(c))
#define SEND(c, value) \
    while (mq_send(*(c), (const char *)&(value), sizeof(value), 0) != 0) {}
#define RECEIVE(c, value) \
    while (mq_receive(*(c), (char *)&(value), sizeof(value), NULL) < 0) {}
#include "../loops/shared.h"

static const bench_subject *const subjects[] = {
    &private_spsc,   &private_mpmc,     &shared_spsc,     &shared_mpmc,
    &pipe_processes, &socket_processes, &queue_processes, NULL,
};
const bench_peer bench_peer_processes = { "processes", "", subjects };
