/* The lock between real threads: one at a time under every mix of calls, nobody left asleep, nothing touched after it.
 */
#include "stress.h"
#include <signal.h>

/* A lock that nobody waits for is released by a plain store, and now and then somebody goes to sleep at that very
 * moment. Who is not woken has been wiped out of the word: it waits on, although the lock is free most of the time.
 * Meanwhile a third thread interrupts the one that releases, and the handler takes a lock, too. */
typedef struct storing {
    CC_ALIGNED_(CC_CACHE_LINE) cc_lock_t lock;
    CC_ALIGNED_(CC_CACHE_LINE) cc_lock_t in_handler;
    CC_ALIGNED_(CC_CACHE_LINE) uint64_t deadline;
    uint64_t count;                /* under the lock */
    uint64_t waits;                /* atomic; of the second thread */
    uint32_t lost;                 /* atomic */
    uint32_t running, interrupted; /* atomic */
    pthread_t storer;
    bool signals;
} storing;

static storing stores;

#if defined(_WIN32) /* which interrupts nobody */

static void expect_interrupts(void)
{
}

static void interrupt(const storing *s)
{
    (void)s;
}

#else

static void take_another_lock(int unused)
{
    (void)unused;
    cc_lock_acquire_spin(&stores.in_handler);
    cc_fetch_add_relaxed(&stores.interrupted, 1);
    cc_lock_release(&stores.in_handler);
}

static void expect_interrupts(void)
{
    signal(SIGUSR1, take_another_lock);
}

static void interrupt(const storing *s)
{
    if (s->signals) pthread_kill(s->storer, SIGUSR1);
}

#endif

/* Whoever sleeps until its deadline was not woken, although the lock was free most of the time. */
static bool take_and_release(storing *s)
{
    uint64_t deadline = cc_deadline_in(UINT64_C(2000000000));
    if (cc_lock_acquire_until(&s->lock, deadline)) {
        s->count++;
        cc_lock_release(&s->lock);
    }
    if (cc_now_ns() < deadline) return true;
    cc_fetch_add_relaxed(&s->lost, 1);
    cc_store_relaxed(&s->running, 2);
    return false;
}

static void storing_body(stress_thread *t, void *shared)
{
    storing *s = (storing *)shared;
    if (t->index == 0) { /* stores */
        s->storer = pthread_self();
        cc_store_release(&s->running, 1);
    }
    while (cc_load_acquire(&s->running) == 0) cc_os_yield_();
    while (cc_load_acquire(&s->running) == 1) {
        if (t->index == 0) {
            for (int i = 0; i < 200 && take_and_release(s); i++) {}
            if (cc_now_ns() >= s->deadline && cc_load_relaxed(&s->waits) > 0) cc_store_relaxed(&s->running, 2);
        } else if (t->index == 1) { /* sleeps */
            cc_fetch_add_relaxed(&s->waits, take_and_release(s) ? 1 : 0);
            for (uint32_t i = stress_random(t, 100); i > 0; i--) cc_pause();
        } else { /* interrupts */
            interrupt(s);
            for (uint32_t i = stress_random(t, 2000); i > 0; i--) cc_pause();
        }
        stress_progress(t);
    }
}

/* Nobody spins before it sleeps, as on one CPU, but there are two; the threads keep to one each, or move. Returns how
 * many wake-ups were lost. */
static uint64_t lost_by_stores(uint64_t ms, bool signals)
{
    cc_costs_t costs = *cc_costs();
    stress_use_cpus(2);
    costs.cpus = 1;
    cc_costs_set(&costs);
    expect_interrupts();
    memset(&stores, 0, sizeof stores);
    stores.signals = signals;
    stores.deadline = stress_deadline(ms);
    stress_threads(signals ? 3 : 2, storing_body, &stores);
    stress_use_cpus(2);
    printf("%llu releases, %llu waits, %u signals\n", (unsigned long long)stores.count,
           (unsigned long long)stores.waits, (unsigned)stores.interrupted);
    return stores.lost;
}

#if defined(STRESS_NO_FENCE)

/* Under a sanitizer or an emulator no release is a plain store; the real machine with time to try must find it. */
TEST(a_missing_barrier_loses_a_wake_up_and_is_noticed)
{
    bool certain = !TEST_SANITIZED && test_effort(100) >= 100 && cc_costs()->cpus > 1;
    uint64_t lost = lost_by_stores(certain ? 20000 : 500, false);
    bool stored = cc_lock_sequence_area_ > CC_LOCK_NO_AREA_;
    if (certain && stored) CHECK(lost > 0);
    printf("%s: %s\n", stored ? "plain stores" : "no plain stores here", lost ? "lost a wake-up" : "lost none");
}

#else

TEST(no_store_wipes_out_who_goes_to_sleep)
{
    for (int signals = 0; signals < 2; signals++) CHECK_EQ(lost_by_stores(1500, signals), 0);
}

/* Plain variables under the lock: any two holders at once break the sums, and ThreadSanitizer sees any missing
 * order. */
typedef struct guarded {
    CC_ALIGNED_(CC_CACHE_LINE) cc_lock_t lock;
    uint64_t count, opposite;
    bool inside;
    CC_ALIGNED_(CC_CACHE_LINE) uint64_t acquired; /* atomic: what the threads say, in all */
    uint64_t timeouts, refused;
    uint64_t deadline;
    int threads, served; /* served: atomic; threads that have had the lock */
    int spinners;        /* that many threads use acquire_spin only */
} guarded;

static bool acquire_somehow(stress_thread *t, guarded *g)
{
    if (t->index < g->spinners) {
        cc_lock_acquire_spin(&g->lock);
        return true;
    }
    switch (stress_random(t, 8)) {
    case 0: return cc_lock_try_acquire(&g->lock) || (cc_fetch_add_relaxed(&g->refused, 1), false);
    case 1:
        return cc_lock_acquire_timeout(&g->lock, stress_random(t, 30000)) ||
               (cc_fetch_add_relaxed(&g->timeouts, 1), false);
    case 2:
        return cc_lock_acquire_until(&g->lock, stress_random(t, 2)) || (cc_fetch_add_relaxed(&g->timeouts, 1), false);
    case 3: return cc_lock_acquire_timeout(&g->lock, CC_FOREVER);
    default: cc_lock_acquire(&g->lock); return true;
    }
}

static void guarded_body(stress_thread *t, void *shared)
{
    guarded *g = (guarded *)shared;
    uint64_t mine = 0;
    /* Nobody stops before everybody has had it: one who starves makes the test last until the watchdog ends it. */
    while (cc_now_ns() < g->deadline || cc_load_relaxed(&g->served) < g->threads) {
        if (!acquire_somehow(t, g)) continue;
        CHECK(!g->inside);
        g->inside = true;
        CHECK_EQ(g->count + g->opposite, 0);
        g->count++;
        uint32_t dice = stress_random(t, 256);
        if (dice < 8) stress_pause(t);
        if (dice == 9) cc_os_yield_(); /* the holder is preempted */
        if (dice == 10 && stress_random(t, 16) == 0)
            stress_sleep_ms(1 + (int)stress_random(t, 3)); /* waiters are owed it */
        g->opposite--;
        g->inside = false;
        cc_lock_release(&g->lock);
        if (mine++ == 0) cc_fetch_add_relaxed(&g->served, 1);
        stress_progress(t);
        if (stress_random(t, 4) == 0) stress_pause(t);
    }
    cc_fetch_add_relaxed(&g->acquired, mine);
}

static void run_guarded(int threads, int spinners, uint64_t ms)
{
    static guarded g;
    memset(&g, 0, sizeof g);
    g.threads = threads;
    g.spinners = spinners;
    g.deadline = stress_deadline(ms);
    stress_threads(threads, guarded_body, &g);
    CHECK_EQ(g.count, g.acquired);
    CHECK(cc_lock_try_acquire(&g.lock)); /* free again, and by the one call that asks no questions */
    cc_lock_release(&g.lock);
}

STRESS(two_threads_exclude_each_other)
{
    run_guarded(2, 0, 300);
}

STRESS(eight_threads_exclude_each_other)
{
    run_guarded(8, 0, 300);
}

STRESS(thirty_two_threads_exclude_each_other)
{
    run_guarded(32, 0, 400);
}

/* Only where a spinner cannot keep the holder from running. */
TEST(spinners_and_sleepers_mix)
{
    stress_use_cpus(2);
    run_guarded(3, 1, 300);
    run_guarded(4, 2, 300);
}

/* Everybody sleeps at once and has to be woken one after the other; with nobody else about, one forgotten wake-up and
 * the rest sleeps for ever. */
typedef struct convoy {
    CC_ALIGNED_(CC_CACHE_LINE) cc_lock_t lock;
    uint64_t passed;
    CC_ALIGNED_(CC_CACHE_LINE) uint64_t arrived, left; /* atomic */
    uint64_t threads, rounds;
} convoy;

static void convoy_body(stress_thread *t, void *shared)
{
    convoy *c = (convoy *)shared;
    for (uint64_t round = 0; round < c->rounds; round++) {
        bool leader = (uint64_t)t->index == round % c->threads;
        cc_backoff_t backoff = CC_SNOOZE_INIT;
        while (cc_load_acquire(&c->left) < round * c->threads) cc_backoff_snooze(&backoff);
        if (leader) cc_lock_acquire(&c->lock);
        cc_fetch_add_acq_rel(&c->arrived, 1);
        while (cc_load_acquire(&c->arrived) < (round + 1) * c->threads) cc_backoff_snooze(&backoff);
        if (leader)
            stress_sleep_ms(stress_random(t, 4) == 0 ? 2 : 0); /* the others are on their way to sleep, or sleep */
        else if (stress_random(t, 4) > 0)
            cc_lock_acquire(&c->lock);
        else
            while (!cc_lock_acquire_timeout(&c->lock, stress_random(t, 100000))) {}
        c->passed++;
        cc_lock_release(&c->lock);
        cc_fetch_add_acq_rel(&c->left, 1);
        stress_progress(t);
    }
}

STRESS(a_convoy_of_sleepers_is_woken_to_the_last)
{
    for (uint64_t threads = 2; threads <= 12; threads += 5) {
        static convoy c;
        memset(&c, 0, sizeof c);
        c.threads = threads;
        c.rounds = test_effort(200);
        stress_threads((int)threads, convoy_body, &c);
        CHECK_EQ(c.passed, c.threads * c.rounds);
        CHECK_EQ(c.lock.word & CC_LOCK_STATE_ & ~14u,
                 0); /* free; that somebody may sleep is remembered until the next release */
    }
}

/* Whoever counts the references down to none frees the lock, while others may still be in their release. */
typedef struct object {
    cc_lock_t lock;
    int references;
} object;

typedef struct freed {
    CC_ALIGNED_(CC_CACHE_LINE) object *object;
    CC_ALIGNED_(CC_CACHE_LINE) uint64_t arrived, freed;
    uint64_t rounds;
    uint64_t threads;
} freed;

static void freed_body(stress_thread *t, void *shared)
{
    freed *f = (freed *)shared;
    for (uint64_t round = 0; round < f->rounds; round++) {
        cc_backoff_t backoff = CC_SNOOZE_INIT;
        if (cc_fetch_add_acq_rel(&f->arrived, 1) == (round + 1) * f->threads - 1) {
            object *made = (object *)malloc(sizeof *made);
            REQUIRE(made != NULL);
            *made = (object){ CC_LOCK_INIT, (int)f->threads };
            cc_store_release(&f->object, made);
        }
        object *o;
        while (cc_load_acquire(&f->freed) != round || (o = cc_load_acquire(&f->object)) == NULL)
            cc_backoff_snooze(&backoff);
        stress_pause(t);
        cc_lock_acquire(&o->lock);
        bool last = --o->references == 0;
        if (last) cc_store_relaxed(&f->object, (object *)NULL);
        cc_lock_release(&o->lock);
        if (last) {
            memset(o, 0xa5, sizeof *o);
            free(o);
            cc_fetch_add_acq_rel(&f->freed, 1);
        }
        stress_progress(t);
        while (cc_load_acquire(&f->freed) == round) cc_backoff_snooze(&backoff);
    }
}

STRESS(release_does_not_touch_a_lock_that_was_freed)
{
    static freed f;
    memset(&f, 0, sizeof f);
    f.threads = 3;
    f.rounds = test_effort(3000);
    stress_threads((int)f.threads, freed_body, &f);
    CHECK_EQ(f.freed, f.rounds);
}

/* Threads that take the lock back at once after giving it up, and one that sleeps for it: it gets its turn. */
typedef struct starving {
    CC_ALIGNED_(CC_CACHE_LINE) cc_lock_t lock;
    CC_ALIGNED_(CC_CACHE_LINE) uint64_t turns; /* atomic: of the one */
    uint64_t wanted;
} starving;

static void starving_body(stress_thread *t, void *shared)
{
    starving *s = (starving *)shared;
    while (cc_load_relaxed(&s->turns) < s->wanted) {
        cc_lock_acquire(&s->lock);
        if (t->index == 0) {
            cc_fetch_add_relaxed(&s->turns, 1);
            stress_progress(t); /* of this one alone: if it starves, that is a stall */
        } else {
            for (int i = 0; i < 100; i++) cc_pause();
        }
        cc_lock_release(&s->lock);
        if (t->index == 0) stress_sleep_ms(1);
    }
}

STRESS(nobody_starves)
{
    static starving s;
    memset(&s, 0, sizeof s);
    s.wanted = test_effort(30);
    stress_threads(6, starving_body, &s);
}
#endif
