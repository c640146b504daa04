/* peers/concede.c: concede itself, all families.
 *
 *   cas      cc_backoff in its two forms: fresh for each operation, and kept by the thread and eased
 *   lock     cc_lock_acquire and cc_lock_release
 *   condition  CC_LOCK_AWAIT, and cc_lock_wait, which sleeps at once
 *   park     cc_parker_t, and cc_event_t by CC_EVENT_AWAIT
 *   channel  the typed calls, as a program would use them; both kinds */
#include "../bench.h"
#include <concede/channel.h>
#include <concede/deadline.h>
#include <concede/event.h>
#include <concede/lock.h>
#include <concede/park.h>
#include <concede/select.h>
#include <concede/version.h>
#include <poll.h>
#include <sched.h>

/* ---- cas --------------------------------------------------------------------------------------------------------- */

#define SUBJECT concede_kept
#define NAME    "concede kept"
#define USES    "cc_backoff_init_ns(500, 2500 for each CPU), kept; cc_backoff_ease after a success that had to wait"
#define FLAGS   (BENCH_OURS | BENCH_BASELINE)
#define CAS_LOCAL         \
    cc_backoff_t backoff; \
    cc_backoff_init_ns(&backoff, 500, UINT64_C(2500) * cc_costs()->cpus);
#define CAS_FAILED cc_backoff(&backoff);
#define CAS_DONE   cc_backoff_ease(&backoff);
#include "../loops/cas.h"

#define SUBJECT    concede_fresh
#define NAME       "concede fresh"
#define USES       "a fresh CC_BACKOFF_INIT for each operation"
#define FLAGS      BENCH_OURS
#define CAS_BEGIN  cc_backoff_t backoff = CC_BACKOFF_INIT;
#define CAS_FAILED cc_backoff(&backoff);
#include "../loops/cas.h"

static void *nothing_create(const bench_setting *setting)
{
    (void)setting;
    return bench_alloc(1);
}

#define STEP(n)                                                                                \
    static void spin_step_##n(bench_thread *t)                                                 \
    {                                                                                          \
        cc_backoff_t backoff = { UINT32_C(1) << n, UINT32_C(1) << n, UINT32_C(1) << n, 1, 4 }; \
        uint64_t ops = 0;                                                                      \
        for (; !bench_stopped(t); ops++) cc_backoff_spin(&backoff);                            \
        t->ops = ops;                                                                          \
    }                                                                                          \
    static const bench_subject step_##n = { BENCH_CAS,                                         \
                                            BENCH_OURS,                                        \
                                            "step " #n,                                        \
                                            "cc_backoff_spin() of 2^" #n " pauses",            \
                                            nothing_create,                                    \
                                            free,                                              \
                                            { NULL, spin_step_##n, NULL, NULL } };
STEP(0)
STEP(1)
STEP(2)
STEP(3)
STEP(4)
STEP(5)
STEP(6)
STEP(7)
STEP(8)
STEP(9)
STEP(10)

/* A snooze at each step of the defaults: the spinning ones, the yielding ones, and the first of those that are
 * completed. */
#define SNOOZE(n, name)                                                          \
    static void snooze_step_##n(bench_thread *t)                                 \
    {                                                                            \
        cc_backoff_t at = CC_SNOOZE_INIT;                                        \
        uint64_t ops = 0;                                                        \
        for (int i = 0; i < n; i++) cc_backoff_snooze(&at);                      \
        for (; !bench_stopped(t); ops++) {                                       \
            cc_backoff_t backoff = at;                                           \
            cc_backoff_snooze(&backoff);                                         \
        }                                                                        \
        t->ops = ops;                                                            \
    }                                                                            \
    static const bench_subject snooze_##n = { BENCH_CAS,                         \
                                              BENCH_OURS,                        \
                                              name,                              \
                                              "cc_backoff_snooze() at step " #n, \
                                              nothing_create,                    \
                                              free,                              \
                                              { NULL, NULL, NULL, snooze_step_##n, NULL } };
SNOOZE(0, "step 0, spins")
SNOOZE(1, "step 1, spins")
SNOOZE(2, "step 2, spins")
SNOOZE(3, "step 3, spins")
SNOOZE(4, "step 4, spins")
SNOOZE(5, "step 5, spins")
SNOOZE(6, "step 6, spins")
SNOOZE(7, "step 7, yields")
SNOOZE(8, "step 8, yields")
SNOOZE(9, "step 9, yields")
SNOOZE(10, "step 10, yields")
SNOOZE(11, "step 11, completed")

static void yield_measured(bench_thread *t)
{
    while (!bench_stopped(t)) {
        uint64_t before = bench_ticks();
        sched_yield();
        bench_histogram_add(t->histogram, bench_ticks() - before);
        t->ops++;
    }
}

static void yield_alone(bench_thread *t)
{
    if (t->index == 0) yield_measured(t);
}

static void yield_to_yielder(bench_thread *t)
{
    if (t->index == 0)
        yield_measured(t);
    else
        while (!bench_stopped(t)) sched_yield();
}

static void yield_to_busy(bench_thread *t)
{
    if (t->index == 0)
        yield_measured(t);
    else
        while (!bench_stopped(t)) bench_work(10);
}

/* clang-format off */
#define YIELD(name, uses, loop) { BENCH_CAS, 0, name, uses, nothing_create, free, { NULL, NULL, loop, NULL } }
/* clang-format on */
static const bench_subject alone = YIELD("yield alone", "sched_yield() with nobody else to run", yield_alone);
static const bench_subject yielder =
    YIELD("yield, a yielder beside", "against another thread that yields", yield_to_yielder);
static const bench_subject busy = YIELD("yield, a busy thread", "against another thread that works", yield_to_busy);

/* ---- lock -------------------------------------------------------------------------------------------------------- */

#define SUBJECT    concede_lock
#define NAME       "concede"
#define USES       "cc_lock_acquire, cc_lock_release"
#define FLAGS      (BENCH_OURS | BENCH_BASELINE | BENCH_CAN_SLEEP)
#define LOCK       cc_lock_t
#define ACQUIRE(l) cc_lock_acquire(l)
#define RELEASE(l) cc_lock_release(l)
#include "../loops/lock.h"

#define SUBJECT    concede_lock_spin
#define NAME       "concede spin"
#define USES       "cc_lock_acquire_spin, which never sleeps"
#define FLAGS      BENCH_OURS
#define LOCK       cc_lock_t
#define ACQUIRE(l) cc_lock_acquire_spin(l)
#define RELEASE(l) cc_lock_release(l)
#include "../loops/lock.h"

/* ---- condition --------------------------------------------------------------------------------------------------- */

#define SUBJECT                             concede_condition
#define NAME                                "concede"
#define USES                                "CC_LOCK_AWAIT; cc_event_notify_one, cc_event_notify_all after releasing"
#define FLAGS                               (BENCH_OURS | BENCH_BASELINE | BENCH_CAN_SLEEP)
#define LOCK                                cc_lock_t
#define CONDITION                           cc_event_t
#define ACQUIRE_WHEN(l, c, holds, argument) (cc_lock_acquire(l), CC_LOCK_AWAIT(l, c, holds(argument)))
#define ACQUIRE(l)                          cc_lock_acquire(l)
#define RELEASE(l)                          cc_lock_release(l)
#define RELEASE_ONE(l, c)                   (cc_lock_release(l), cc_event_notify_one(c))
#define RELEASE_ALL(l, c)                   (cc_lock_release(l), cc_event_notify_all(c))
#include "../loops/condition.h"

#define SUBJECT   concede_condition_wait
#define NAME      "concede wait"
#define USES      "cc_lock_wait in a loop, which sleeps at once"
#define FLAGS     (BENCH_OURS | BENCH_CAN_SLEEP)
#define LOCK      cc_lock_t
#define CONDITION cc_event_t
#define ACQUIRE_WHEN(l, c, holds, argument)          \
    do {                                             \
        cc_lock_acquire(l);                          \
        while (!holds(argument)) cc_lock_wait(l, c); \
    } while (0)
#define ACQUIRE(l)        cc_lock_acquire(l)
#define RELEASE(l)        cc_lock_release(l)
#define RELEASE_ONE(l, c) (cc_lock_release(l), cc_event_notify_one(c))
#define RELEASE_ALL(l, c) (cc_lock_release(l), cc_event_notify_all(c))
#include "../loops/condition.h"

/* ---- park -------------------------------------------------------------------------------------------------------- */

typedef struct parker_box {
    uint32_t number;
    cc_parker_t parker;
} parker_box;

#define SUBJECT  concede_parker
#define NAME     "concede parker"
#define USES     "cc_parker_unpark, cc_parker_park"
#define FLAGS    (BENCH_OURS | BENCH_BASELINE | BENCH_CAN_SLEEP | BENCH_UNCOUNTED)
#define POST_BOX parker_box
#define POST(b, n)                         \
    do {                                   \
        cc_store_release(&(b)->number, n); \
        cc_parker_unpark(&(b)->parker);    \
    } while (0)
#define AWAIT(b, n) \
    while (!BENCH_POSTED(cc_load_acquire(&(b)->number), n)) cc_parker_park(&(b)->parker)
#define AWAIT_FOR(b, n, ns) ((void)(n), (void)!cc_parker_park_timeout(&(b)->parker, ns))
#include "../loops/park.h"

typedef struct event_box {
    uint32_t number;
    cc_event_t event;
} event_box;

static inline void post_event(event_box *b, uint32_t n)
{
    cc_store_release(&b->number, n);
    cc_event_notify_one(&b->event);
}

#define SUBJECT     concede_await
#define NAME        "concede await"
#define USES        "cc_event_notify_one, CC_EVENT_AWAIT, which spins before it sleeps"
#define FLAGS       (BENCH_OURS | BENCH_CAN_SLEEP | BENCH_SPINS)
#define POST_BOX    event_box
#define POST(b, n)  post_event(b, n)
#define AWAIT(b, n) CC_EVENT_AWAIT(&(b)->event, BENCH_POSTED(cc_load_acquire(&(b)->number), n))
#define AWAIT_FOR(b, n, ns) \
    (void)CC_EVENT_AWAIT_UNTIL(&(b)->event, BENCH_POSTED(cc_load_acquire(&(b)->number), n), cc_deadline_in(ns))
#include "../loops/park.h"

#define SUBJECT    concede_event
#define NAME       "concede event"
#define USES       "cc_event_notify_one; cc_event_listen and cc_event_wait at once, without spinning"
#define FLAGS      (BENCH_OURS | BENCH_CAN_SLEEP)
#define POST_BOX   event_box
#define POST(b, n) post_event(b, n)
#define AWAIT(b, n)                                           \
    while (!BENCH_POSTED(cc_load_acquire(&(b)->number), n)) { \
        uint32_t key = cc_event_listen(&(b)->event);          \
        if (BENCH_POSTED(cc_load_acquire(&(b)->number), n)) { \
            cc_event_cancel(&(b)->event);                     \
            break;                                            \
        }                                                     \
        cc_event_wait(&(b)->event, key);                      \
    }
#include "../loops/park.h"

/* Waits of the other layers that time out, beside the above. A lock that is held, and a channel that stays empty. */
static void *held_lock_create(const bench_setting *setting)
{
    (void)setting;
    cc_lock_t *lock = bench_alloc(sizeof *lock);
    cc_lock_acquire(lock);
    return lock;
}

static void *empty_channel_create(const bench_setting *setting)
{
    (void)setting;
    cc_channel_options_t options = CC_CHANNEL_OPTIONS_INIT(1, 8);
    cc_channel_t *channel;
    return cc_channel_create(&channel, &options) == 0 ? channel : NULL;
}

static void empty_channel_destroy(void *channel)
{
    cc_channel_destroy(channel);
}

#define TIMEOUT(name, statement)                                                                                 \
    static void name(bench_thread *t)                                                                            \
    {                                                                                                            \
        uint64_t limit = bench_gap(t, 0), ns = (uint64_t)((double)limit / bench_time.ticks_per_ns), message = 0; \
        for (; !bench_stopped(t); t->ops++) {                                                                    \
            uint64_t before = bench_ticks();                                                                     \
            statement;                                                                                           \
            uint64_t took = bench_ticks() - before;                                                              \
            bench_histogram_add(t->histogram, took > limit ? took - limit : 0);                                  \
        }                                                                                                        \
        (void)message;                                                                                           \
    }
TIMEOUT(lock_times_out, (void)!cc_lock_acquire_timeout((cc_lock_t *)t->object, ns))
TIMEOUT(channel_times_out, (void)!cc_channel_recv_timeout((cc_channel_t *)t->object, &message, ns))

static const bench_subject concede_lock_timeout = { BENCH_PARK,
                                                    BENCH_OURS | BENCH_CAN_SLEEP,
                                                    "concede lock",
                                                    "cc_lock_acquire_timeout of a lock that is held",
                                                    held_lock_create,
                                                    free,
                                                    { NULL, NULL, NULL, lock_times_out, NULL } };
static const bench_subject concede_channel_timeout = { BENCH_PARK,
                                                       BENCH_OURS | BENCH_CAN_SLEEP,
                                                       "concede channel",
                                                       "cc_channel_recv_timeout of an empty channel",
                                                       empty_channel_create,
                                                       empty_channel_destroy,
                                                       { NULL, NULL, NULL, channel_times_out, NULL } };

/* ---- channel ----------------------------------------------------------------------------------------------------- */

CC_CHANNEL_TYPED(typed_8, bench_message_8)
CC_CHANNEL_TYPED(typed_64, bench_message_64)
CC_CHANNEL_TYPED(typed_256, bench_message_256)

static bool open_channel(cc_channel_t **channel, uint32_t capacity, uint32_t size, uint32_t kind, uint32_t snooze_iters)
{
    cc_channel_options_t options = {
        .capacity = capacity, .message_size = size, .kind = kind, .snooze_iters = snooze_iters
    };
    return cc_channel_create(channel, &options) == 0;
}

#define TYPED(verb)            BENCH_NAME(BENCH_NAME(typed, MESSAGE_SIZE), verb)
#define SUBJECT                concede_spsc
#define NAME                   "concede spsc"
#define USES                   "CC_CHANNEL_TYPED send and recv (bursts: send_many, recv_many), CC_CHANNEL_SPSC"
#define FLAGS                  (BENCH_OURS | BENCH_BASELINE | BENCH_CAN_SLEEP | BENCH_ONE_TO_ONE)
#define CHANNEL                cc_channel_t *
#define OPEN(c, n)             open_channel(c, n, MESSAGE_SIZE, CC_CHANNEL_SPSC, CC_SNOOZE_ADAPTIVE)
#define CLOSE(c)               cc_channel_destroy(*(c))
#define SEND_LOCAL(c)          cc_channel_t *to = *(c);
#define RECEIVE_LOCAL(c)       cc_channel_t *from = *(c);
#define SEND(c, m)             (void)TYPED(send)(to, m)
#define RECEIVE(c, m)          (void)!TYPED(recv)(from, &(m))
#define SEND_MANY(c, ms, n)    TYPED(send_many)(to, ms, n)
#define RECEIVE_MANY(c, ms, n) TYPED(recv_many)(from, ms, n)
#include "../loops/channel.h"

/* Single sends where the others send bursts, to see what a burst buys. */
#define SUBJECT          concede_single
#define NAME             "concede spsc, single sends"
#define USES             "the typed send and recv of one message, in place of the burst calls"
#define FLAGS            (BENCH_OURS | BENCH_CAN_SLEEP | BENCH_ONE_TO_ONE)
#define CHANNEL          cc_channel_t *
#define OPEN(c, n)       open_channel(c, n, MESSAGE_SIZE, CC_CHANNEL_SPSC, CC_SNOOZE_ADAPTIVE)
#define CLOSE(c)         cc_channel_destroy(*(c))
#define SEND_LOCAL(c)    cc_channel_t *to = *(c);
#define RECEIVE_LOCAL(c) cc_channel_t *from = *(c);
#define SEND(c, m)       (void)TYPED(send)(to, m)
#define RECEIVE(c, m)    (void)!TYPED(recv)(from, &(m))
#define STREAM_AS_BURST
#include "../loops/channel.h"

#define SUBJECT                concede_mpmc
#define NAME                   "concede mpmc"
#define USES                   "CC_CHANNEL_TYPED send and recv (bursts: send_many, recv_many), CC_CHANNEL_MPMC"
#define FLAGS                  (BENCH_OURS | BENCH_BASELINE | BENCH_CAN_SLEEP)
#define CHANNEL                cc_channel_t *
#define OPEN(c, n)             open_channel(c, n, MESSAGE_SIZE, CC_CHANNEL_MPMC, CC_SNOOZE_ADAPTIVE)
#define CLOSE(c)               cc_channel_destroy(*(c))
#define SEND_LOCAL(c)          cc_channel_t *to = *(c);
#define RECEIVE_LOCAL(c)       cc_channel_t *from = *(c);
#define SEND(c, m)             (void)TYPED(send)(to, m)
#define RECEIVE(c, m)          (void)!TYPED(recv)(from, &(m))
#define SEND_MANY(c, ms, n)    TYPED(send_many)(to, ms, n)
#define RECEIVE_MANY(c, ms, n) TYPED(recv_many)(from, ms, n)
#include "../loops/channel.h"

/* The rows of cc_channel(3)'s table of snooze_iters. */
#define SUBJECT          concede_snooze_2
#define NAME             "concede spsc, snooze_iters 2"
#define USES             "the typed send and recv, CC_CHANNEL_SPSC, snooze_iters 2"
#define FLAGS            (BENCH_OURS | BENCH_CAN_SLEEP | BENCH_ONE_TO_ONE | BENCH_FIXED)
#define CHANNEL          cc_channel_t *
#define OPEN(c, n)       open_channel(c, n, MESSAGE_SIZE, CC_CHANNEL_SPSC, 2)
#define CLOSE(c)         cc_channel_destroy(*(c))
#define SEND_LOCAL(c)    cc_channel_t *to = *(c);
#define RECEIVE_LOCAL(c) cc_channel_t *from = *(c);
#define SEND(c, m)       (void)TYPED(send)(to, m)
#define RECEIVE(c, m)    (void)!TYPED(recv)(from, &(m))
#include "../loops/channel.h"

#define SUBJECT          concede_snooze_8
#define NAME             "concede spsc, snooze_iters 8"
#define USES             "the typed send and recv, CC_CHANNEL_SPSC, snooze_iters 8"
#define FLAGS            (BENCH_OURS | BENCH_CAN_SLEEP | BENCH_ONE_TO_ONE | BENCH_FIXED)
#define CHANNEL          cc_channel_t *
#define OPEN(c, n)       open_channel(c, n, MESSAGE_SIZE, CC_CHANNEL_SPSC, 8)
#define CLOSE(c)         cc_channel_destroy(*(c))
#define SEND_LOCAL(c)    cc_channel_t *to = *(c);
#define RECEIVE_LOCAL(c) cc_channel_t *from = *(c);
#define SEND(c, m)       (void)TYPED(send)(to, m)
#define RECEIVE(c, m)    (void)!TYPED(recv)(from, &(m))
#include "../loops/channel.h"

#define SUBJECT          concede_snooze_64
#define NAME             "concede spsc, snooze_iters 64"
#define USES             "the typed send and recv, CC_CHANNEL_SPSC, snooze_iters 64"
#define FLAGS            (BENCH_OURS | BENCH_CAN_SLEEP | BENCH_ONE_TO_ONE | BENCH_FIXED)
#define CHANNEL          cc_channel_t *
#define OPEN(c, n)       open_channel(c, n, MESSAGE_SIZE, CC_CHANNEL_SPSC, 64)
#define CLOSE(c)         cc_channel_destroy(*(c))
#define SEND_LOCAL(c)    cc_channel_t *to = *(c);
#define RECEIVE_LOCAL(c) cc_channel_t *from = *(c);
#define SEND(c, m)       (void)TYPED(send)(to, m)
#define RECEIVE(c, m)    (void)!TYPED(recv)(from, &(m))
#include "../loops/channel.h"

#define SUBJECT          concede_snooze_128
#define NAME             "concede spsc, snooze_iters 128"
#define USES             "the typed send and recv, CC_CHANNEL_SPSC, snooze_iters 128"
#define FLAGS            (BENCH_OURS | BENCH_CAN_SLEEP | BENCH_ONE_TO_ONE | BENCH_FIXED)
#define CHANNEL          cc_channel_t *
#define OPEN(c, n)       open_channel(c, n, MESSAGE_SIZE, CC_CHANNEL_SPSC, 128)
#define CLOSE(c)         cc_channel_destroy(*(c))
#define SEND_LOCAL(c)    cc_channel_t *to = *(c);
#define RECEIVE_LOCAL(c) cc_channel_t *from = *(c);
#define SEND(c, m)       (void)TYPED(send)(to, m)
#define RECEIVE(c, m)    (void)!TYPED(recv)(from, &(m))
#include "../loops/channel.h"

/* ---- select ------------------------------------------------------------------------------------------------------ */

/* Channels, their cases, and where their messages go. */
typedef struct select_channels {
    uint32_t n, next;
    uint64_t message;
    cc_channel_t *channel[BENCH_MOST_CHANNELS];
    cc_select_case_t cases[BENCH_MOST_CHANNELS];
    struct pollfd polled[BENCH_MOST_CHANNELS];
    bool armed[BENCH_MOST_CHANNELS];
} select_channels;

static void select_close(select_channels *c)
{
    for (uint32_t i = 0; i < c->n; i++) cc_channel_destroy(c->channel[i]);
}

static bool select_open(select_channels *c, uint32_t n, uint32_t capacity, uint32_t kind)
{
    for (; n <= BENCH_MOST_CHANNELS && c->n < n; c->n++) {
        if (!open_channel(&c->channel[c->n], capacity, 8, kind, CC_SNOOZE_ADAPTIVE)) break;
        c->cases[c->n] = (cc_select_case_t)CC_SELECT_CASE_RECV(c->channel[c->n], &c->message);
        if (cc_channel_fd(c->channel[c->n], CC_SELECT_RECV, &c->polled[c->n].fd) != 0) c->polled[c->n].fd = -1;
        c->polled[c->n].events = POLLIN;
    }
    if (c->n == n) return true;
    select_close(c);
    return false;
}

static inline void select_send(select_channels *c, uint32_t i, uint64_t value)
{
    bench_message_8 message = { value };
    (void)typed_8_send(c->channel[i], message);
}

static inline uint64_t select_receive(select_channels *c)
{
    size_t which;
    (void)!cc_select(c->cases, c->n, CC_SELECT_FAIR, &which);
    return c->message;
}

/* The plain call, which like a select learns the size of a message from the channel, and the typed one. */
static inline uint64_t receive_in_turn(select_channels *c, bool typed)
{
    bench_message_8 message;
    cc_channel_t *channel = c->channel[c->next];
    (void)!(typed ? typed_8_recv(channel, &message) : cc_channel_recv(channel, &message));
    c->next = c->next + 1 < c->n ? c->next + 1 : 0;
    return message.value;
}

/* As an event loop does it: tries those that are not armed, arms those that are empty, and sleeps in poll() when all
 * are armed. The channel after the last one that had a message is first. */
static uint64_t poll_receive(select_channels *c)
{
    bench_message_8 message;
    for (;;) {
        uint32_t armed = 0;
        for (uint32_t i = 0; i < c->n; i++) {
            uint32_t at = c->next = c->next + 1 < c->n ? c->next + 1 : 0;
            if (!c->armed[at] && typed_8_try_recv(c->channel[at], &message) == 0) return message.value;
            c->armed[at] = c->armed[at] || cc_channel_arm(c->channel[at], CC_SELECT_RECV);
            armed += c->armed[at];
        }
        if (armed < c->n) continue;
        poll(c->polled, c->n, -1);
        for (uint32_t i = 0; i < c->n; i++)
            if (c->polled[i].revents) c->armed[i] = false;
    }
}

#define SUBJECT           concede_in_turn
#define NAME              "concede recv"
#define USES              "cc_channel_recv of one channel after the other, which all have messages; CC_CHANNEL_MPMC"
#define FLAGS             BENCH_OURS
#define CHANNELS          select_channels
#define OPEN(c, n, room)  select_open(c, n, room, CC_CHANNEL_MPMC)
#define CLOSE(c)          select_close(c)
#define SEND(c, i, value) select_send(c, i, value)
#define RECEIVE(c, value) value = receive_in_turn(c, false)
#define READY_ONLY
#include "../loops/select.h"

#define SUBJECT           concede_in_turn_spsc
#define NAME              "concede recv spsc"
#define USES              "the same with CC_CHANNEL_SPSC"
#define FLAGS             BENCH_OURS
#define CHANNELS          select_channels
#define OPEN(c, n, room)  select_open(c, n, room, CC_CHANNEL_SPSC)
#define CLOSE(c)          select_close(c)
#define SEND(c, i, value) select_send(c, i, value)
#define RECEIVE(c, value) value = receive_in_turn(c, false)
#define READY_ONLY
#include "../loops/select.h"

#define SUBJECT           concede_typed_in_turn
#define NAME              "concede typed recv"
#define USES              "the same by the recv of CC_CHANNEL_TYPED; CC_CHANNEL_MPMC"
#define FLAGS             BENCH_OURS
#define CHANNELS          select_channels
#define OPEN(c, n, room)  select_open(c, n, room, CC_CHANNEL_MPMC)
#define CLOSE(c)          select_close(c)
#define SEND(c, i, value) select_send(c, i, value)
#define RECEIVE(c, value) value = receive_in_turn(c, true)
#define READY_ONLY
#include "../loops/select.h"

#define SUBJECT           concede_typed_in_turn_spsc
#define NAME              "concede typed recv spsc"
#define USES              "the same with CC_CHANNEL_SPSC"
#define FLAGS             BENCH_OURS
#define CHANNELS          select_channels
#define OPEN(c, n, room)  select_open(c, n, room, CC_CHANNEL_SPSC)
#define CLOSE(c)          select_close(c)
#define SEND(c, i, value) select_send(c, i, value)
#define RECEIVE(c, value) value = receive_in_turn(c, true)
#define READY_ONLY
#include "../loops/select.h"

#define SUBJECT           concede_select
#define NAME              "concede"
#define USES              "cc_select, CC_SELECT_FAIR, CC_CHANNEL_MPMC"
#define FLAGS             (BENCH_OURS | BENCH_BASELINE | BENCH_CAN_SLEEP)
#define CHANNELS          select_channels
#define OPEN(c, n, room)  select_open(c, n, room, CC_CHANNEL_MPMC)
#define CLOSE(c)          select_close(c)
#define SEND(c, i, value) select_send(c, i, value)
#define RECEIVE(c, value) value = select_receive(c)
#include "../loops/select.h"

#define SUBJECT           concede_select_spsc
#define NAME              "concede spsc"
#define USES              "cc_select, CC_SELECT_FAIR, CC_CHANNEL_SPSC"
#define FLAGS             (BENCH_OURS | BENCH_CAN_SLEEP)
#define CHANNELS          select_channels
#define OPEN(c, n, room)  select_open(c, n, room, CC_CHANNEL_SPSC)
#define CLOSE(c)          select_close(c)
#define SEND(c, i, value) select_send(c, i, value)
#define RECEIVE(c, value) value = select_receive(c)
#include "../loops/select.h"

#define SUBJECT           concede_poll
#define NAME              "concede descriptors"
#define USES              "cc_channel_try_recv, cc_channel_arm, and poll() of what cc_channel_fd gives; CC_CHANNEL_MPMC"
#define FLAGS             (BENCH_OURS | BENCH_CAN_SLEEP | BENCH_UNCOUNTED)
#define CHANNELS          select_channels
#define OPEN(c, n, room)  select_open(c, n, room, CC_CHANNEL_MPMC)
#define CLOSE(c)          select_close(c)
#define SEND(c, i, value) select_send(c, i, value)
#define RECEIVE(c, value) value = poll_receive(c)
#include "../loops/select.h"

static const bench_subject *const subjects[] = {
    &concede_kept,
    &concede_fresh,
    &step_0,
    &step_1,
    &step_2,
    &step_3,
    &step_4,
    &step_5,
    &step_6,
    &step_7,
    &step_8,
    &step_9,
    &step_10,
    &snooze_0,
    &snooze_1,
    &snooze_2,
    &snooze_3,
    &snooze_4,
    &snooze_5,
    &snooze_6,
    &snooze_7,
    &snooze_8,
    &snooze_9,
    &snooze_10,
    &snooze_11,
    &alone,
    &yielder,
    &busy,
    &concede_lock,
    &concede_lock_spin,
    &concede_condition,
    &concede_condition_wait,
    &concede_parker,
    &concede_event,
    &concede_await,
    &concede_lock_timeout,
    &concede_channel_timeout,
    BENCH_SIZES(concede_spsc),
    BENCH_SIZES(concede_single),
    BENCH_SIZES(concede_mpmc),
    BENCH_SIZES(concede_snooze_2),
    BENCH_SIZES(concede_snooze_8),
    BENCH_SIZES(concede_snooze_64),
    BENCH_SIZES(concede_snooze_128),
    &concede_select,
    &concede_select_spsc,
    &concede_in_turn,
    &concede_in_turn_spsc,
    &concede_typed_in_turn,
    &concede_typed_in_turn_spsc,
    &concede_poll,
    NULL,
};
const bench_peer bench_peer_concede = { "concede", CC_VERSION_STRING, subjects };
