/* peers/libc.c: what the C library and POSIX give.
 *
 *   lock     pthread_mutex_t of the default and of the adaptive type, pthread_spinlock_t
 *   condition  pthread_cond_t. Signalled after unlocking, the buffer of condition.buffer carries 0.61 as much with four
 *            senders and four receivers; a broadcast before it makes condition.many take 1.21 times as long with 16
 *            (2 CPUs, glibc 2.36)
 *   park     a mutex and a condition variable around a number
 *   channel  a ring under a mutex with two condition variables, signalled only if somebody waits; a pipe, with one
 *            write and one read a message, which is atomic up to PIPE_BUF */
#include "../bench.h"
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- lock -------------------------------------------------------------------------------------------------------- */

#define SUBJECT         pthread_mutex_default
#define NAME            "pthread_mutex"
#define USES            "pthread_mutex_lock, default type"
#define FLAGS           BENCH_CAN_SLEEP
#define LOCK            pthread_mutex_t
#define LOCK_INIT(l)    pthread_mutex_init(l, NULL)
#define LOCK_DESTROY(l) pthread_mutex_destroy(l)
#define ACQUIRE(l)      pthread_mutex_lock(l)
#define RELEASE(l)      pthread_mutex_unlock(l)
#include "../loops/lock.h"

#if defined(PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP)
static void init_adaptive(pthread_mutex_t *mutex)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

#define SUBJECT         pthread_mutex_adaptive
#define NAME            "pthread_mutex adaptive"
#define USES            "pthread_mutex_lock, PTHREAD_MUTEX_ADAPTIVE_NP"
#define FLAGS           BENCH_CAN_SLEEP
#define LOCK            pthread_mutex_t
#define LOCK_INIT(l)    init_adaptive(l)
#define LOCK_DESTROY(l) pthread_mutex_destroy(l)
#define ACQUIRE(l)      pthread_mutex_lock(l)
#define RELEASE(l)      pthread_mutex_unlock(l)
#include "../loops/lock.h"
#endif

#define SUBJECT         spinlock
#define NAME            "pthread_spinlock"
#define USES            "pthread_spin_lock"
#define FLAGS           0
#define LOCK            pthread_spinlock_t
#define LOCK_INIT(l)    pthread_spin_init(l, PTHREAD_PROCESS_PRIVATE)
#define LOCK_DESTROY(l) pthread_spin_destroy(l)
#define ACQUIRE(l)      pthread_spin_lock(l)
#define RELEASE(l)      pthread_spin_unlock(l)
#include "../loops/lock.h"

/* ---- condition --------------------------------------------------------------------------------------------------- */

static void init_condition(pthread_mutex_t *mutex, pthread_cond_t *changed)
{
    pthread_mutex_init(mutex, NULL);
    for (int i = 0; i < 2; i++) pthread_cond_init(&changed[i], NULL);
}

static void destroy_condition(pthread_mutex_t *mutex, pthread_cond_t *changed)
{
    pthread_mutex_destroy(mutex);
    for (int i = 0; i < 2; i++) pthread_cond_destroy(&changed[i]);
}

#define SUBJECT       pthread_condition
#define NAME          "pthread_cond"
#define USES          "pthread_cond_wait of a default pthread_mutex_t; signals before unlocking, broadcasts after it"
#define FLAGS         BENCH_CAN_SLEEP
#define LOCK          pthread_mutex_t
#define CONDITION     pthread_cond_t
#define INIT(l, c)    init_condition(l, c)
#define DESTROY(l, c) destroy_condition(l, c)
#define ACQUIRE_WHEN(l, c, holds, argument)               \
    do {                                                  \
        pthread_mutex_lock(l);                            \
        while (!holds(argument)) pthread_cond_wait(c, l); \
    } while (0)
#define ACQUIRE(l)        pthread_mutex_lock(l)
#define RELEASE(l)        pthread_mutex_unlock(l)
#define RELEASE_ONE(l, c) (pthread_cond_signal(c), pthread_mutex_unlock(l))
#define RELEASE_ALL(l, c) (pthread_mutex_unlock(l), pthread_cond_broadcast(c))
#include "../loops/condition.h"

/* ---- park -------------------------------------------------------------------------------------------------------- */

typedef struct condvar_box {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint32_t number;
} condvar_box;

static void condvar_init(condvar_box *box)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&box->mutex, NULL);
    pthread_cond_init(&box->changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

static void condvar_await_for(condvar_box *box, uint32_t n, uint64_t ns)
{
    struct timespec until;
    int error = 0;
    clock_gettime(CLOCK_MONOTONIC, &until);
    ns += (uint64_t)until.tv_nsec;
    until.tv_sec += (time_t)(ns / 1000000000);
    until.tv_nsec = (long)(ns % 1000000000);
    pthread_mutex_lock(&box->mutex);
    while ((int32_t)(box->number - n) < 0 && error == 0)
        error = pthread_cond_timedwait(&box->changed, &box->mutex, &until);
    pthread_mutex_unlock(&box->mutex);
}

static void condvar_destroy(condvar_box *box)
{
    pthread_mutex_destroy(&box->mutex);
    pthread_cond_destroy(&box->changed);
}

#define SUBJECT         condvar_number
#define NAME            "mutex+condvar"
#define USES            "pthread_cond_signal after unlocking; pthread_cond_wait, pthread_cond_timedwait"
#define FLAGS           BENCH_CAN_SLEEP
#define POST_BOX        condvar_box
#define POST_INIT(b)    condvar_init(b)
#define POST_DESTROY(b) condvar_destroy(b)
#define POST(b, n)                          \
    do {                                    \
        pthread_mutex_lock(&(b)->mutex);    \
        (b)->number = n;                    \
        pthread_mutex_unlock(&(b)->mutex);  \
        pthread_cond_signal(&(b)->changed); \
    } while (0)
#define AWAIT(b, n)                                                                          \
    do {                                                                                     \
        pthread_mutex_lock(&(b)->mutex);                                                     \
        while (!BENCH_POSTED((b)->number, n)) pthread_cond_wait(&(b)->changed, &(b)->mutex); \
        pthread_mutex_unlock(&(b)->mutex);                                                   \
    } while (0)
#define AWAIT_FOR(b, n, ns) condvar_await_for(b, n, ns)
#include "../loops/park.h"

/* ---- channel ----------------------------------------------------------------------------------------------------- */

typedef struct condvar_queue {
    pthread_mutex_t mutex;
    pthread_cond_t not_empty, not_full;
    size_t head, tail, capacity, size;
    unsigned receivers_waiting, senders_waiting;
    char *slots;
} condvar_queue;

static bool condvar_queue_open(condvar_queue *q, uint32_t capacity, size_t size)
{
    pthread_mutex_init(&q->mutex, NULL);
    pthread_cond_init(&q->not_empty, NULL);
    pthread_cond_init(&q->not_full, NULL);
    q->capacity = capacity;
    q->size = size;
    q->slots = (char *)malloc(capacity * size);
    return q->slots != NULL;
}

static void condvar_queue_close(condvar_queue *q)
{
    pthread_mutex_destroy(&q->mutex);
    pthread_cond_destroy(&q->not_empty);
    pthread_cond_destroy(&q->not_full);
    free(q->slots);
}

/* Signals under the mutex: after it, the queue carries an eighth with one sender and four receivers and a third with
 * four and four, and 1.17 times as much one to one (`concede bench channel.map` of both, 2 CPUs). */
static inline void condvar_queue_send(condvar_queue *q, const void *message, size_t size)
{
    pthread_mutex_lock(&q->mutex);
    while (q->head - q->tail == q->capacity) {
        q->senders_waiting++;
        pthread_cond_wait(&q->not_full, &q->mutex);
        q->senders_waiting--;
    }
    memcpy(q->slots + q->head++ % q->capacity * size, message, size);
    if (q->receivers_waiting > 0) pthread_cond_signal(&q->not_empty);
    pthread_mutex_unlock(&q->mutex);
}

static inline void condvar_queue_receive(condvar_queue *q, void *message, size_t size)
{
    pthread_mutex_lock(&q->mutex);
    while (q->head == q->tail) {
        q->receivers_waiting++;
        pthread_cond_wait(&q->not_empty, &q->mutex);
        q->receivers_waiting--;
    }
    memcpy(message, q->slots + q->tail++ % q->capacity * size, size);
    if (q->senders_waiting > 0) pthread_cond_signal(&q->not_full);
    pthread_mutex_unlock(&q->mutex);
}

#define SUBJECT       condvar_ring
#define NAME          "mutex+condvar"
#define USES          "a ring under a pthread_mutex_t; signals if somebody waits, before unlocking"
#define FLAGS         BENCH_CAN_SLEEP
#define CHANNEL       condvar_queue
#define OPEN(c, n)    condvar_queue_open(c, n, sizeof(MESSAGE))
#define CLOSE(c)      condvar_queue_close(c)
#define SEND(c, m)    condvar_queue_send(c, &(m), sizeof(m))
#define RECEIVE(c, m) condvar_queue_receive(c, &(m), sizeof(m))
#include "../loops/channel.h"

typedef struct pipe_pair {
    int ends[2];
} pipe_pair;

static bool pipe_send(const pipe_pair *p, const void *message, size_t size)
{
    return write(p->ends[1], message, size) == (ssize_t)size;
}

static bool pipe_receive(const pipe_pair *p, void *message, size_t size)
{
    return read(p->ends[0], message, size) == (ssize_t)size;
}

#define SUBJECT    pipe_channel
#define NAME       "pipe"
#define USES       "write and read of one message"
#define FLAGS      BENCH_CAN_SLEEP
#define CHANNEL    pipe_pair
#define OPEN(c, n) ((void)(n), pipe((c)->ends) == 0)
#define CLOSE(c)   (close((c)->ends[0]), close((c)->ends[1]))
#define SEND(c, m) \
    while (!pipe_send(c, &(m), sizeof(m))) {}
#define RECEIVE(c, m) \
    while (!pipe_receive(c, &(m), sizeof(m))) {}
#include "../loops/channel.h"

/* ---- select ------------------------------------------------------------------------------------------------------ */

typedef struct pipes {
    uint32_t n, next;
    pipe_pair pair[BENCH_MOST_CHANNELS];
    struct pollfd polled[BENCH_MOST_CHANNELS];
} pipes;

static void pipes_close(pipes *p)
{
    for (uint32_t i = 0; i < p->n; i++) close(p->pair[i].ends[0]), close(p->pair[i].ends[1]);
}

static bool pipes_open(pipes *p, uint32_t n)
{
    for (; n <= BENCH_MOST_CHANNELS && p->n < n && pipe(p->pair[p->n].ends) == 0; p->n++) {
        p->polled[p->n].fd = p->pair[p->n].ends[0];
        p->polled[p->n].events = POLLIN;
    }
    if (p->n == n) return true;
    pipes_close(p);
    return false;
}

/* The one after the last that had a message is first. */
static uint64_t pipes_receive(pipes *p)
{
    uint64_t value;
    for (;;) {
        poll(p->polled, p->n, -1);
        for (uint32_t i = 0; i < p->n; i++) {
            p->next = p->next + 1 < p->n ? p->next + 1 : 0;
            if (p->polled[p->next].revents && pipe_receive(&p->pair[p->next], &value, sizeof value)) return value;
        }
    }
}

#define SUBJECT          pipe_select
#define NAME             "pipes"
#define USES             "write of 8 bytes; poll(), and read of one that has some"
#define FLAGS            BENCH_CAN_SLEEP
#define CHANNELS         pipes
#define OPEN(c, n, room) ((void)(room), pipes_open(c, n))
#define CLOSE(c)         pipes_close(c)
#define SEND(c, i, value)                                          \
    do {                                                           \
        uint64_t sent_ = (value);                                  \
        while (!pipe_send(&(c)->pair[i], &sent_, sizeof sent_)) {} \
    } while (0)
#define RECEIVE(c, value) value = pipes_receive(c)
#include "../loops/select.h"

static const bench_subject *const subjects[] = {
    &pthread_mutex_default,
#if defined(PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP)
    &pthread_mutex_adaptive,
#endif
    &spinlock,
    &pthread_condition,
    &condvar_number,
    BENCH_SIZES(condvar_ring),
    BENCH_SIZES(pipe_channel),
    &pipe_select,
    NULL,
};
const bench_peer bench_peer_libc = { "libc", "", subjects };
