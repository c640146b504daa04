/* peers.c: what others do, each in a few lines on the same atomics: the algorithm, not the project's code.
 *
 *   cas      crossbeam's Backoff
 *   lock     test-and-set; test-and-test-and-set that backs off; ticket; MCS; the three-state futex mutex of C
 *            libraries, and the same with a spin before it; a mutex on a table of parked threads, fair now and then; a
 *            cohort lock
 *   park     a futex
 *   channel  an array queue as crossbeam has it; a mutex and two condition variables around a ring */
#include "bench.h"
#include "core.h"
#include "os.h"

#include <concede/pause.h>

/* ---- cas ---- */

static void pauses(uint32_t n)
{
    while (n-- > 0) cc_pause();
}

/* Doubles up to 2^6 pauses; a snooze yields from then on. */
typedef struct cross_backoff {
    uint32_t step;
} cross_backoff;

static void cross_spin(cross_backoff *b)
{
    pauses(UINT32_C(1) << (b->step < 6 ? b->step : 6));
    if (b->step <= 6) b->step++;
}

static void cross_snooze(cross_backoff *b)
{
    if (b->step <= 6)
        pauses(UINT32_C(1) << b->step);
    else
        cc_os_yield_();
    if (b->step <= 10) b->step++;
}

#define SUBJECT    crossbeam_backoff
#define NAME       "crossbeam Backoff"
#define USES       "2^0 to 2^6 pauses, fresh for each operation"
#define FLAGS      0
#define CAS_BEGIN  cross_backoff backoff = { 0 };
#define CAS_FAILED cross_spin(&backoff);
#include "../bench/loops/cas.h"

/* ---- locks that cannot sleep ---- */

#define SUBJECT test_and_set
#define NAME    "test-and-set"
#define USES    "an exchange after each pause"
#define FLAGS   BENCH_NO_OVERLOAD
#define LOCK    uint32_t
#define ACQUIRE(l) \
    while (cc_exchange_acquire(l, 1)) cc_pause()
#define RELEASE(l) cc_store_release(l, 0)
#include "../bench/loops/lock.h"

static void ttas_backoff_acquire(uint32_t *lock)
{
    cc_backoff_t backoff = { 16, 16, 4096, 0, 4 };
    while (cc_load_relaxed(lock) || cc_exchange_acquire(lock, 1)) cc_backoff(&backoff);
}

#define SUBJECT    ttas_backoff
#define NAME       "test-and-set, backoff"
#define USES       "reads, then an exchange; 16 to 4096 pauses, doubling, after each failure"
#define FLAGS      BENCH_NO_OVERLOAD
#define LOCK       uint32_t
#define ACQUIRE(l) ttas_backoff_acquire(l)
#define RELEASE(l) cc_store_release(l, 0)
#include "../bench/loops/lock.h"

typedef struct ticket_lock {
    uint32_t next, serving;
} ticket_lock;

static void ticket_acquire(ticket_lock *l)
{
    uint32_t mine = cc_fetch_add_relaxed(&l->next, 1);
    for (uint32_t seen = cc_load_acquire(&l->serving); seen != mine;) seen = sim_spin_while(&l->serving, seen);
}

static void ticket_release(ticket_lock *l)
{
    cc_store_release(&l->serving, cc_load_relaxed(&l->serving) + 1);
}

#define SUBJECT    ticket
#define NAME       "ticket"
#define USES       "first come, first served; all wait on one word"
#define FLAGS      BENCH_NO_OVERLOAD
#define LOCK       ticket_lock
#define ACQUIRE(l) ticket_acquire(l)
#define RELEASE(l) ticket_release(l)
#include "../bench/loops/lock.h"

typedef struct mcs_node {
    CC_ALIGNED_(CC_CACHE_LINE) struct mcs_node *next;
    uint32_t waits;
} mcs_node;

static void mcs_acquire(mcs_node **lock, mcs_node *mine)
{
    cc_store_relaxed(&mine->next, (mcs_node *)NULL);
    cc_store_relaxed(&mine->waits, 1);
    mcs_node *before = cc_exchange_acq_rel(lock, mine);
    if (!before) return;
    cc_store_release(&before->next, mine);
    (void)sim_spin_while(&mine->waits, 1);
}

static void mcs_release(mcs_node **lock, mcs_node *mine)
{
    mcs_node *after = cc_load_acquire(&mine->next), *expected = mine;
    if (!after) {
        if (cc_cas_release(lock, &expected, (mcs_node *)NULL)) return;
        while (!(after = cc_load_acquire(&mine->next))) cc_pause();
    }
    cc_store_release(&after->waits, 0);
}

#define SUBJECT    mcs
#define NAME       "MCS"
#define USES       "a queue; each waits on a word of its own"
#define FLAGS      BENCH_NO_OVERLOAD
#define LOCK       mcs_node *
#define LOCK_LOCAL mcs_node mine;
#define ACQUIRE(l) mcs_acquire(l, &mine)
#define RELEASE(l) mcs_release(l, &mine)
#include "../bench/loops/lock.h"

/* A queue for each socket, and tickets for whoever heads one; who is followed by one of its own socket leaves it the
 * ticket, up to 64 times. */
enum { SOCKETS = 64, PASSES = 64 };
enum { TAKEN, WAITS, HAS_TICKET, HEADS };
typedef struct cohort_lock {
    CC_ALIGNED_(CC_CACHE_LINE) ticket_lock all;
    struct {
        CC_ALIGNED_(CC_CACHE_LINE) mcs_node *last;
        CC_ALIGNED_(CC_CACHE_LINE) uint32_t passed;
    } socket[SOCKETS];
} cohort_lock;

static void cohort_acquire(cohort_lock *l, mcs_node *mine)
{
    uint32_t at = sim_socket() % SOCKETS, waits = HEADS;
    cc_store_relaxed(&mine->next, (mcs_node *)NULL);
    cc_store_relaxed(&mine->waits, WAITS);
    mcs_node *before = cc_exchange_acq_rel(&l->socket[at].last, mine);
    if (before) {
        cc_store_release(&before->next, mine);
        waits = sim_spin_while(&mine->waits, WAITS);
    }
    if (waits == HEADS) ticket_acquire(&l->all);
}

static void cohort_release(cohort_lock *l, mcs_node *mine)
{
    uint32_t at = sim_socket() % SOCKETS, passed = cc_load_relaxed(&l->socket[at].passed);
    mcs_node *after = cc_load_acquire(&mine->next), *expected = mine;
    if (after && passed < PASSES) {
        cc_store_relaxed(&l->socket[at].passed, passed + 1);
        cc_store_release(&after->waits, HAS_TICKET);
        return;
    }
    cc_store_relaxed(&l->socket[at].passed, 0);
    ticket_release(&l->all);
    if (!after) {
        if (cc_cas_release(&l->socket[at].last, &expected, (mcs_node *)NULL)) return;
        while (!(after = cc_load_acquire(&mine->next))) cc_pause();
    }
    cc_store_release(&after->waits, HEADS);
}

#define SUBJECT    cohort
#define NAME       "cohort"
#define USES       "a queue for each socket, tickets for their heads; up to 64 in a row from one socket"
#define FLAGS      BENCH_NO_OVERLOAD
#define LOCK       cohort_lock
#define LOCK_LOCAL mcs_node mine;
#define ACQUIRE(l) cohort_acquire(l, &mine)
#define RELEASE(l) cohort_release(l, &mine)
#include "../bench/loops/lock.h"

/* ---- locks that sleep ---- */

/* 0 free, 1 held, 2 held and somebody may sleep. */
static void futex_acquire(uint32_t *lock)
{
    uint32_t seen = 0;
    if (cc_cas_acquire(lock, &seen, 1)) return;
    while (cc_exchange_acquire(lock, 2) != 0) (void)cc_os_wait_(lock, 2, CC_FOREVER);
}

/* Spins before each sleep, also after a wake-up; and where somebody sleeps already it does not write. */
static uint32_t futex_spin_while_held(const uint32_t *lock)
{
    uint32_t seen;
    for (uint32_t spins = 100; (seen = cc_load_relaxed(lock)) == 1 && spins > 0; spins--) cc_pause();
    return seen;
}

static void futex_spin_acquire(uint32_t *lock)
{
    uint32_t seen = 0;
    if (cc_cas_acquire(lock, &seen, 1)) return;
    seen = futex_spin_while_held(lock);
    if (seen == 0 && cc_cas_acquire(lock, &seen, 1)) return;
    for (;; seen = futex_spin_while_held(lock)) {
        if (seen != 2 && cc_exchange_acquire(lock, 2) == 0) return;
        (void)cc_os_wait_(lock, 2, CC_FOREVER);
    }
}

static void futex_release(uint32_t *lock)
{
    if (cc_exchange_release(lock, 0) == 2) cc_os_wake_(lock, 1);
}

/* As C libraries have it: beside the word are its kind, which each call reads, and its owner and their number, which
 * each holder writes. */
typedef struct libc_mutex {
    uint32_t word, users, owner, kind;
} libc_mutex;

static void libc_acquire(libc_mutex *m)
{
    if (cc_load_relaxed(&m->kind) != 0) return;
    futex_acquire(&m->word);
    cc_store_relaxed(&m->owner, 1);
    cc_store_relaxed(&m->users, cc_load_relaxed(&m->users) + 1);
}

static void libc_release(libc_mutex *m)
{
    if (cc_load_relaxed(&m->kind) != 0) return;
    cc_store_relaxed(&m->owner, 0);
    cc_store_relaxed(&m->users, cc_load_relaxed(&m->users) - 1);
    futex_release(&m->word);
}

#define SUBJECT    futex_mutex
#define NAME       "futex mutex"
#define USES       "three states, sleeps at once: pthread_mutex of glibc"
#define FLAGS      BENCH_CAN_SLEEP
#define LOCK       libc_mutex
#define ACQUIRE(l) libc_acquire(l)
#define RELEASE(l) libc_release(l)
#include "../bench/loops/lock.h"

#define SUBJECT    futex_spin
#define NAME       "futex mutex, spins"
#define USES       "three states, 100 pauses before it sleeps: Rust's std"
#define FLAGS      BENCH_CAN_SLEEP
#define LOCK       uint32_t
#define ACQUIRE(l) futex_spin_acquire(l)
#define RELEASE(l) futex_release(l)
#include "../bench/loops/lock.h"

/* Bit 0 held, bit 1 somebody is in the queue. The queue lies in a table beside the lock, behind a lock of its own; a
 * release that finds somebody there wakes the first; after a random time, 0.5 ms on average, it hands the lock over to
 * it. */
typedef struct parked {
    struct parked *next;
    uint32_t sleeps, handed;
} parked;
static struct {
    CC_ALIGNED_(CC_CACHE_LINE) uint32_t lock;
    parked *first, *last;
    uint64_t fair_at;
} table; /* of one entry: there is one lock */

static void table_enter(void)
{
    for (cross_backoff b = { 0 }; cc_exchange_acquire(&table.lock, 1);) cross_snooze(&b);
}

static void table_leave(void)
{
    cc_store_release(&table.lock, 0);
}

static void parking_acquire_slow(uint32_t *word)
{
    uint32_t spun = 0;
    for (;;) {
        uint32_t seen = cc_load_relaxed(word);
        if (!(seen & 1)) {
            if (cc_cas_acquire(word, &seen, seen | 1)) return;
            continue;
        }
        if (!(seen & 2) && spun < 10) {
            if (++spun <= 3)
                pauses(UINT32_C(1) << spun);
            else
                cc_os_yield_();
            continue;
        }
        if (!(seen & 2) && !cc_cas_relaxed(word, &seen, seen | 2)) continue;
        parked me = { NULL, 1, 0 };
        table_enter();
        if (cc_load_relaxed(word) != 3) {
            table_leave();
            continue;
        }
        if (table.last)
            table.last->next = &me;
        else
            table.first = &me;
        table.last = &me;
        table_leave();
        while (cc_load_acquire(&me.sleeps)) (void)cc_os_wait_(&me.sleeps, 1, CC_FOREVER);
        if (me.handed) return;
        spun = 0;
    }
}

static void parking_acquire(uint32_t *word)
{
    uint32_t seen = 0;
    if (!cc_cas_weak_acquire(word, &seen, 1)) parking_acquire_slow(word);
}

static void parking_release_slow(uint32_t *word)
{
    table_enter();
    parked *first = table.first;
    if (first) {
        table.first = first->next;
        if (!table.first) table.last = NULL;
        uint64_t now = cc_os_now_();
        first->handed = now >= table.fair_at;
        if (first->handed) table.fair_at = now + sim_random(1000000);
        if (!first->handed || !table.first) {
            uint32_t left = (first->handed ? 1 : 0) | (table.first ? 2 : 0);
            cc_store_release(word, left);
        }
        cc_store_release(&first->sleeps, 0);
    } else {
        cc_store_release(word, 0);
    }
    table_leave();
    if (first) cc_os_wake_(&first->sleeps, 1);
}

static void parking_release(uint32_t *word)
{
    uint32_t seen = 1;
    if (!cc_cas_release(word, &seen, 0)) parking_release_slow(word);
}

#define SUBJECT    parking_table
#define NAME       "parking table"
#define USES       "three spins, seven yields, then a queue; handed over every 0.5 ms: parking_lot"
#define FLAGS      BENCH_CAN_SLEEP
#define LOCK       uint32_t
#define ACQUIRE(l) parking_acquire(l)
#define RELEASE(l) parking_release(l)
#include "../bench/loops/lock.h"

/* ---- park ---- */

typedef struct futex_box {
    uint32_t number;
} futex_box;

#define SUBJECT  bare_futex
#define NAME     "futex"
#define USES     "a store and a wake; a wait while the number is old"
#define FLAGS    BENCH_CAN_SLEEP
#define POST_BOX futex_box
#define POST(b, n)                         \
    do {                                   \
        cc_store_release(&(b)->number, n); \
        cc_os_wake_(&(b)->number, 1);      \
    } while (0)
#define AWAIT(b, n)                                                              \
    for (uint32_t seen; !BENCH_POSTED(seen = cc_load_acquire(&(b)->number), n);) \
    (void)cc_os_wait_(&(b)->number, seen, CC_FOREVER)
#include "../bench/loops/park.h"

/* ---- channels ---- */

/* A ring of slots with stamps, a head and a tail that count laps. Who finds it full or empty snoozes, then is put on a
 * list behind a mutex and sleeps; who changes it looks whether the list is empty. */
typedef struct cross_waiter {
    struct cross_waiter *next;
    uint32_t chosen;
} cross_waiter;
typedef struct cross_wakers {
    CC_ALIGNED_(CC_CACHE_LINE) uint32_t is_busy; /* not empty */
    uint32_t mutex;
    cross_waiter *first;
} cross_wakers;
typedef struct cross_slot {
    uint64_t stamp, message;
} cross_slot;

/* What crossbeam does besides in a send or a receive: its token, its results, the end of the channel. One thread that
 * sends and receives in turn takes 9.5 ns for each (crossbeam-channel 0.5.6, Rust 1.95, 2 CPUs of AMD Zen 4 under KVM);
 * the swap and the other accesses below take 3.1 of them. In hits of 0.15 ns. */
enum { CROSS_CALL_HITS = 43 };
typedef struct cross_queue {
    CC_ALIGNED_(CC_CACHE_LINE) uint64_t head;
    CC_ALIGNED_(CC_CACHE_LINE) uint64_t tail;
    CC_ALIGNED_(CC_CACHE_LINE) cross_slot *slots;
    uint64_t capacity, lap;
    cross_wakers senders, receivers;
} cross_queue;

static bool cross_open(cross_queue *q, uint32_t capacity)
{
    q->slots = bench_alloc(capacity * sizeof *q->slots);
    q->capacity = capacity;
    for (q->lap = 1; q->lap < capacity + 1;) q->lap *= 2;
    for (uint32_t i = 0; i < capacity; i++) q->slots[i].stamp = i;
    return true;
}

static uint64_t cross_next(const cross_queue *q, uint64_t at)
{
    uint64_t index = at & (q->lap - 1);
    return index + 1 < q->capacity ? at + 1 : at - index + q->lap;
}

/* Takes the next position of `side` whose slot has the stamp of that position, plus `turn`; false: full, or empty. */
static bool cross_take(cross_queue *q, uint64_t *side, const uint64_t *other, bool sends, uint64_t *position)
{
    cross_backoff b = { 0 };
    for (uint64_t at = cc_load_relaxed(side);;) {
        uint64_t stamp = cc_load_acquire(&q->slots[at & (q->lap - 1)].stamp), wanted = sends ? at : at + 1;
        if (stamp == wanted) {
            if (cc_cas_weak_acq_rel(side, &at, cross_next(q, at))) return *position = at, true;
            cross_spin(&b);
        } else if (sends ? stamp + q->lap == at + 1 : stamp == at) {
            cc_fence_full();
            uint64_t end = cc_load_relaxed(other);
            if (sends ? end + q->lap == at : end == at) return false;
            cross_spin(&b);
            at = cc_load_relaxed(side);
        } else {
            cross_snooze(&b);
            at = cc_load_relaxed(side);
        }
    }
}

/* No fence: in crossbeam this is a load of the strongest order, which is a plain one on x86, after a swap. */
static void cross_notify(cross_wakers *w)
{
    sim_plain(CROSS_CALL_HITS);
    if (!cc_load_relaxed(&w->is_busy)) return;
    futex_spin_acquire(&w->mutex);
    cross_waiter *first = w->first;
    if (first) w->first = first->next;
    cc_store_relaxed(&w->is_busy, w->first != NULL);
    futex_release(&w->mutex);
    if (!first) return;
    cc_store_release(&first->chosen, 1);
    cc_os_wake_(&first->chosen, 1);
}

static void cross_unlist(cross_wakers *w, cross_waiter *me)
{
    futex_spin_acquire(&w->mutex);
    for (cross_waiter **at = &w->first; *at; at = &(*at)->next) {
        if (*at != me) continue;
        *at = me->next;
        cc_store_relaxed(&me->chosen, 1);
        break;
    }
    cc_store_relaxed(&w->is_busy, w->first != NULL);
    futex_release(&w->mutex);
    while (!cc_load_acquire(&me->chosen)) cc_pause(); /* by one who is about to wake us */
}

static void cross_wait(cross_queue *q, cross_wakers *w, uint64_t *side, const uint64_t *other, bool sends,
                       uint64_t *position)
{
    for (;;) {
        for (cross_backoff b = { 0 };;) {
            if (cross_take(q, side, other, sends, position)) return;
            if (b.step > 10) break;
            cross_snooze(&b);
        }
        cross_waiter me = { NULL, 0 };
        futex_spin_acquire(&w->mutex);
        cross_waiter **at = &w->first;
        while (*at) at = &(*at)->next;
        *at = &me;
        cc_store_relaxed(&w->is_busy, 1);
        futex_release(&w->mutex);
        cc_fence_full();
        uint64_t mine = cc_load_relaxed(side), end = cc_load_relaxed(other);
        bool stuck = sends ? end + q->lap == mine : end == mine;
        if (!stuck) cross_unlist(w, &me);
        while (!cc_load_acquire(&me.chosen)) (void)cc_os_wait_(&me.chosen, 0, CC_FOREVER);
    }
}

static void cross_send(cross_queue *q, uint64_t message)
{
    uint64_t at;
    cross_wait(q, &q->senders, &q->tail, &q->head, true, &at);
    cross_slot *slot = &q->slots[at & (q->lap - 1)];
    cc_store_relaxed(&slot->message, message);
    cc_store_release(&slot->stamp, at + 1);
    cross_notify(&q->receivers);
}

static uint64_t cross_receive(cross_queue *q)
{
    uint64_t at;
    cross_wait(q, &q->receivers, &q->head, &q->tail, false, &at);
    cross_slot *slot = &q->slots[at & (q->lap - 1)];
    uint64_t message = cc_load_relaxed(&slot->message);
    cc_store_release(&slot->stamp, at + q->lap);
    cross_notify(&q->senders);
    return message;
}

#define SUBJECT       crossbeam_queue
#define NAME          "array queue"
#define USES          "stamped slots, snoozes, then a list of sleepers behind a mutex: crossbeam"
#define FLAGS         BENCH_CAN_SLEEP
#define CHANNEL       cross_queue
#define OPEN(c, n)    (MESSAGE_SIZE == 8 && cross_open(c, n))
#define CLOSE(c)      free((c)->slots)
#define SEND(c, m)    cross_send(c, (m).value)
#define RECEIVE(c, m) ((m).value = cross_receive(c))
#include "../bench/loops/channel.h"

/* A mutex, a ring, and two condition variables: each is a word to sleep on that counts the signals, and how many sleep
 * there whom no signal was meant for yet. A signal for which there is nobody makes no system call, as in glibc, also if
 * one who was signalled has not run since. */
typedef struct condition {
    uint32_t signals, sleepers;
} condition;
typedef struct condvar_queue {
    CC_ALIGNED_(CC_CACHE_LINE) libc_mutex mutex;
    condition not_empty, not_full;
    uint64_t begin, end, capacity;
    uint64_t *ring;
} condvar_queue;

/* The instructions between the accesses: a division, a copy and four calls. One thread that sends and receives in turn
 * takes 7.0 ns for each (glibc 2.36, 2 CPUs of AMD Zen 4 under KVM); what is below takes 6.5. In hits of 0.15 ns. */
enum { CONDVAR_CALL_HITS = 3 };

static bool condvar_open(condvar_queue *q, uint32_t capacity)
{
    q->ring = bench_alloc(capacity * sizeof *q->ring);
    q->capacity = capacity;
    return true;
}

static void condvar_wait(condvar_queue *q, condition *c)
{
    uint32_t seen = cc_load_relaxed(&c->signals);
    cc_store_relaxed(&c->sleepers, cc_load_relaxed(&c->sleepers) + 1);
    libc_release(&q->mutex);
    while (cc_load_acquire(&c->signals) == seen) (void)cc_os_wait_(&c->signals, seen, CC_FOREVER);
    libc_acquire(&q->mutex);
}

static void condvar_signal(condition *c)
{
    uint32_t sleepers = cc_load_relaxed(&c->sleepers);
    if (sleepers == 0) return;
    cc_store_relaxed(&c->sleepers, sleepers - 1);
    cc_fetch_add_release(&c->signals, 1);
    cc_os_wake_(&c->signals, 1);
}

static void condvar_send(condvar_queue *q, uint64_t message)
{
    sim_plain(CONDVAR_CALL_HITS);
    libc_acquire(&q->mutex);
    while (cc_load_relaxed(&q->end) - cc_load_relaxed(&q->begin) == q->capacity) condvar_wait(q, &q->not_full);
    uint64_t end = cc_load_relaxed(&q->end);
    cc_store_relaxed(&q->ring[end % q->capacity], message);
    cc_store_relaxed(&q->end, end + 1);
    condvar_signal(&q->not_empty);
    libc_release(&q->mutex);
}

static uint64_t condvar_receive(condvar_queue *q)
{
    sim_plain(CONDVAR_CALL_HITS);
    libc_acquire(&q->mutex);
    while (cc_load_relaxed(&q->end) == cc_load_relaxed(&q->begin)) condvar_wait(q, &q->not_empty);
    uint64_t begin = cc_load_relaxed(&q->begin), message = cc_load_relaxed(&q->ring[begin % q->capacity]);
    cc_store_relaxed(&q->begin, begin + 1);
    condvar_signal(&q->not_full);
    libc_release(&q->mutex);
    return message;
}

#define SUBJECT       condvar
#define NAME          "mutex+condvar"
#define USES          "a ring behind a futex mutex, two condition variables"
#define FLAGS         BENCH_CAN_SLEEP
#define CHANNEL       condvar_queue
#define OPEN(c, n)    (MESSAGE_SIZE == 8 && condvar_open(c, n))
#define CLOSE(c)      free((c)->ring)
#define SEND(c, m)    condvar_send(c, (m).value)
#define RECEIVE(c, m) ((m).value = condvar_receive(c))
#include "../bench/loops/channel.h"

static const bench_subject *const subjects[] = {
    &crossbeam_backoff, &test_and_set, &ttas_backoff,      &ticket,    &mcs, &cohort, &futex_mutex, &futex_spin,
    &parking_table,     &bare_futex,   &crossbeam_queue_8, &condvar_8, NULL,
};
const bench_peer sim_peer_textbook = { "textbook", "", subjects };
