/* The event between real threads: nobody sleeps through a notify, and nobody stays counted. Built once more without its
 * fences (STRESS_NO_FENCE), where the same scenario must find the lost wake-up. */
#include "stress.h"

/* Two threads hand a turn to and fro. Whoever hands it over first dirties some lines that the other has read: the
 * stores queue up behind each other, and the turn's store is the last of them, so that it becomes visible late, long
 * after the notifier has looked whether anybody waits. That is the moment that the fences are for. Both meet in it when
 * one answers at once, because it was awake, while the other is about to sleep. */
enum { LINES = 32 };
typedef struct line {
    CC_ALIGNED_(CC_CACHE_LINE) uint64_t value;
} line;

typedef struct ping_pong {
    line lines[LINES];
    struct {
        CC_ALIGNED_(CC_CACHE_LINE) uint64_t turn; /* the last that was handed over in this direction */
        CC_ALIGNED_(CC_CACHE_LINE) uint64_t told; /* the last for which notify has returned */
        CC_ALIGNED_(CC_CACHE_LINE) cc_event_t event;
    } side[2];
    uint64_t deadline;
    uint64_t lost; /* atomic */
} ping_pong;

#define OVER UINT64_MAX

/* By hand, without the phases before: sleeps whenever it can. If the wait ends by its deadline although the notifier
 * has finished, and its epoch is not there, then that notify missed a thread that was listening: no false alarm is
 * possible. */
static uint64_t await_turn(stress_thread *t, ping_pong *p, int side, uint64_t turn)
{
    cc_event_t *event = &p->side[side].event;
    if (stress_random(t, 16) > 0) { /* stays awake */
        cc_backoff_t backoff = { 1, 1, 1, 0, 10 };
        uint64_t now;
        while ((now = cc_load_acquire(&p->side[side].turn)) < turn && !cc_backoff_is_completed(&backoff))
            if (stress_random(t, 1000) == 0) cc_backoff_snooze(&backoff);
        if (now >= turn) return now;
    }
    for (uint32_t delay = stress_random(t, 3000); delay > 0; delay--) CC_COMPILER_BARRIER_();
    for (;;) {
        uint64_t now;
        uint32_t key = cc_event_listen(event);
        if ((now = cc_load_acquire(&p->side[side].turn)) >= turn) {
            cc_event_cancel(event);
            return now;
        }
        bool good = cc_event_wait_timeout(event, key, 50000000);
        bool told = cc_load_acquire(&p->side[side].told) >= turn;
        if (!good && told && cc_load_acquire(&event->epoch) == key) {
            cc_fetch_add_relaxed(&p->lost, 1);
            return cc_load_acquire(&p->side[side].turn);
        }
        if ((now = cc_load_acquire(&p->side[side].turn)) >= turn) return now;
    }
}

static void hand_over(ping_pong *p, int side, uint64_t turn)
{
    for (int i = 0; i < LINES; i++) p->lines[i].value = turn;
    cc_store_release(&p->side[side].turn, turn);
    cc_event_notify_one(&p->side[side].event);
    cc_store_release(&p->side[side].told, turn);
}

static void ping_pong_body(stress_thread *t, void *shared)
{
    ping_pong *p = (ping_pong *)shared;
    stress_on_cpu(t->index);
    for (uint64_t turn = 1;; turn++) {
        bool first = t->index == 0;
        if (first) {
            bool over = cc_now_ns() >= p->deadline || cc_load_relaxed(&p->lost) > 0;
            hand_over(p, 0, over ? OVER : turn);
            if (over) return;
        }
        if (await_turn(t, p, first ? 1 : 0, turn) == OVER) return;
        for (int i = 0; i < LINES; i++) CHECK_EQ(p->lines[i].value, turn);
        if (stress_random(t, 4) == 0) stress_pause(t);
        if (!first) hand_over(p, 1, turn);
        stress_progress(t);
    }
}

static uint64_t lost_in_ping_pong(uint64_t ms)
{
    static ping_pong p;
    memset(&p, 0, sizeof p);
    p.deadline = stress_deadline(ms);
    stress_threads(2, ping_pong_body, &p);
    CHECK_EQ(p.side[0].event.waiters & (CC_EVENT_LISTENING_ | CC_EVENT_CLAIMS_), 0);
    CHECK_EQ(p.side[1].event.waiters & (CC_EVENT_LISTENING_ | CC_EVENT_CLAIMS_), 0);
    return p.lost;
}

#if defined(STRESS_NO_FENCE)

/* Under a sanitizer or an emulator stores hardly ever linger, so only the real machine with time to try must find
 * it. */
TEST(a_missing_fence_loses_a_wake_up_and_is_noticed)
{
    static const uint32_t modes[] = { CC_FENCE_SYMMETRIC_, CC_FENCE_ASYMMETRIC_ };
    bool certain = !TEST_SANITIZED && test_effort(100) >= 100 && cc_costs()->cpus > 1;
    stress_use_cpus(cc_costs()->cpus);
    for (int i = 0; i < 2; i++) {
        cc_fence_mode_ = modes[i];
        uint64_t start = cc_now_ns(), lost = lost_in_ping_pong(certain ? 20000 : 500);
        if (certain) CHECK(lost > 0);
        printf("fence mode %u: %s, after %.1f ms\n", (unsigned)modes[i], lost > 0 ? "lost a wake-up" : "lost none",
               (double)(cc_now_ns() - start) / 1e6);
    }
}

#else

STRESS(ping_pong_loses_no_wake_up)
{
    CHECK_EQ(lost_in_ping_pong(300), 0);
}

/* Producers add to a count, consumers take from it one by one: the simplest lock-free structure that one can wait for.
 * Some consumers give up after a short while and come back; their timeouts must not swallow what was meant for
 * others. */
typedef struct crowd {
    CC_ALIGNED_(CC_CACHE_LINE) uint64_t available;
    CC_ALIGNED_(CC_CACHE_LINE) cc_event_t event;
    CC_ALIGNED_(CC_CACHE_LINE) uint64_t produced, consumed, timeouts;
    uint32_t producing;
    uint32_t closed;
    int producers;
    bool patient; /* nobody uses a deadline */
    bool at_once; /* nobody spins before it sleeps */
    bool for_all; /* some producers add several and notify all */
    uint64_t deadline;
} crowd;

static bool take(crowd *c)
{
    uint64_t available = cc_load_relaxed(&c->available);
    while (available > 0)
        if (cc_cas_weak_acquire(&c->available, &available, available - 1)) return true;
    return false;
}

/* -1: closed and empty. 0: timed out. 1: took one. */
static int take_or_wait(stress_thread *t, crowd *c)
{
    bool took = false;
    uint64_t deadline = c->patient || t->index % 2 ? CC_FOREVER : cc_deadline_in(stress_random(t, 30000));
    if (!c->at_once) {
        bool holds = CC_EVENT_AWAIT_UNTIL(&c->event, (took = take(c)) || cc_load_acquire(&c->closed), deadline);
        return took ? 1 : holds ? -1 : 0;
    }
    for (;;) {
        uint32_t key = cc_event_listen(&c->event);
        if ((took = take(c)) || cc_load_acquire(&c->closed)) {
            cc_event_cancel(&c->event);
            break;
        }
        bool in_time = cc_event_wait_until(&c->event, key, deadline);
        if ((took = take(c)) || cc_load_acquire(&c->closed)) break;
        if (!in_time) return 0;
    }
    return took ? 1 : -1;
}

static void crowd_body(stress_thread *t, void *shared)
{
    crowd *c = (crowd *)shared;
    uint64_t mine = 0, timeouts = 0;
    if (t->index < c->producers) {
        while (cc_now_ns() < c->deadline) {
            bool all = c->for_all && stress_random(t, 4) == 0;
            uint64_t n = all ? 1 + stress_random(t, 8) : 1;
            cc_fetch_add_release(&c->available, n);
            if (all)
                cc_event_notify_all(&c->event);
            else
                cc_event_notify_one(&c->event);
            mine += n;
            stress_progress(t);
            stress_pause(t);
            if (stress_random(t, 256) == 0) stress_sleep_ms(1); /* now and then all consumers fall asleep */
        }
        cc_fetch_add_relaxed(&c->produced, mine);
        if (cc_fetch_sub_acq_rel(&c->producing, 1) == 1) {
            cc_store_release(&c->closed, 1);
            cc_event_notify_all(&c->event);
        }
        return;
    }
    for (int result; (result = take_or_wait(t, c)) >= 0;) {
        if (result > 0)
            mine++, stress_progress(t);
        else
            timeouts++;
        if (stress_random(t, 4) == 0) stress_pause(t);
    }
    while (take(c)) mine++; /* closed was seen, and what came before it is here */
    cc_fetch_add_relaxed(&c->consumed, mine);
    cc_fetch_add_relaxed(&c->timeouts, timeouts);
}

static void run_crowd(int producers, int consumers, uint64_t ms)
{
    for (uint32_t kind = 0; kind < 4; kind++) {
        static crowd c;
        memset(&c, 0, sizeof c);
        c.producers = producers;
        c.producing = (uint32_t)producers;
        c.patient = kind == 0 || kind == 3;
        c.at_once = kind >= 2;
        c.for_all = kind % 2 == 1;
        c.deadline = stress_deadline(ms);
        stress_threads(producers + consumers, crowd_body, &c);
        CHECK_EQ(c.produced, c.consumed);
        CHECK_EQ(c.available, 0);
        CHECK_EQ(c.event.waiters & (CC_EVENT_LISTENING_ | CC_EVENT_CLAIMS_), 0);
    }
}

STRESS(one_producer_and_one_consumer_lose_nothing)
{
    run_crowd(1, 1, 45);
}

STRESS(producers_and_consumers_lose_nothing)
{
    run_crowd(2, 4, 45);
}

STRESS(thirty_two_threads_lose_nothing)
{
    run_crowd(8, 24, 75);
}

/* Everybody waits for the next epoch of the same gate, which opens for all at once. */
typedef struct gate {
    CC_ALIGNED_(CC_CACHE_LINE) uint64_t opened;
    CC_ALIGNED_(CC_CACHE_LINE) cc_event_t event;
    CC_ALIGNED_(CC_CACHE_LINE) uint64_t passed;
    int waiters;
    uint64_t deadline;
} gate;

static void gate_body(stress_thread *t, void *shared)
{
    gate *g = (gate *)shared;
    for (uint64_t round = 1;; round++) {
        if (t->index == 0) {
            bool over = cc_now_ns() >= g->deadline;
            cc_store_release(&g->opened, over ? OVER : round);
            cc_event_notify_all(&g->event);
            if (over) return;
            cc_backoff_t backoff = CC_SNOOZE_INIT;
            while (cc_load_acquire(&g->passed) != round * (uint64_t)g->waiters) cc_backoff_snooze(&backoff);
            stress_progress(t);
        } else {
            CC_EVENT_AWAIT(&g->event, cc_load_acquire(&g->opened) >= round);
            if (cc_load_relaxed(&g->opened) == OVER) return;
            cc_fetch_add_acq_rel(&g->passed, 1);
            stress_progress(t);
        }
    }
}

STRESS(nobody_sleeps_through_a_notify_all)
{
    for (int waiters = 1; waiters <= 31; waiters += 10) {
        static gate g;
        memset(&g, 0, sizeof g);
        g.waiters = waiters;
        g.deadline = stress_deadline(75);
        stress_threads(waiters + 1, gate_body, &g);
        CHECK_EQ(g.event.waiters & (CC_EVENT_LISTENING_ | CC_EVENT_CLAIMS_), 0);
    }
}

#endif
