/* The parker between real threads: no token lost, none invented, nothing touched after it was given. */
#include "stress.h"

/* Two threads hand a number to and fro. It is a plain variable: only the tokens order it (ThreadSanitizer looks). */
typedef struct ping_pong {
    CC_ALIGNED_(CC_CACHE_LINE) cc_parker_t parkers[2];
    CC_ALIGNED_(CC_CACHE_LINE) uint64_t ball;
    bool over;
    uint64_t deadline;
} ping_pong;

static void park_somehow(stress_thread *t, cc_parker_t *parker)
{
    if (stress_random(t, 4) > 0)
        cc_parker_park(parker);
    else
        while (!cc_parker_park_timeout(parker, stress_random(t, 50000))) {}
}

static void ping_pong_body(stress_thread *t, void *shared)
{
    ping_pong *p = (ping_pong *)shared;
    uint64_t expected = (uint64_t)t->index;
    if (t->index == 0) cc_parker_unpark(&p->parkers[0]);
    for (bool over = false; !over; expected += 2) {
        park_somehow(t, &p->parkers[t->index]);
        CHECK_EQ(p->ball, expected);
        over = p->over; /* set by one, followed by the other one turn later */
        if (!over && t->index == 0 && cc_now_ns() >= p->deadline) p->over = true;
        p->ball = expected + 1;
        stress_progress(t);
        stress_pause(t);
        cc_parker_unpark(&p->parkers[1 - t->index]);
    }
}

STRESS(ping_pong_loses_no_token)
{
    static ping_pong p;
    memset(&p, 0, sizeof p);
    p.deadline = stress_deadline(200);
    stress_threads(2, ping_pong_body, &p);
}

/* One gives a token, and the next only when that one was taken; the taker's short deadlines cross with it all the time.
 * So as many are taken as were given. */
typedef struct crossing {
    CC_ALIGNED_(CC_CACHE_LINE) cc_parker_t parker;
    CC_ALIGNED_(CC_CACHE_LINE) uint64_t taken;
    CC_ALIGNED_(CC_CACHE_LINE) uint64_t given;
    CC_ALIGNED_(CC_CACHE_LINE) bool over;
    uint64_t deadline;
    uint64_t timeouts;
} crossing;

static void crossing_body(stress_thread *t, void *shared)
{
    crossing *c = (crossing *)shared;
    if (t->index == 0) {
        while (cc_now_ns() < c->deadline || cc_load_relaxed(&c->timeouts) == 0) {
            uint64_t given = c->given + 1;
            stress_pause(t);
            c->given = given;
            cc_parker_unpark(&c->parker);
            while (cc_load_acquire(&c->taken) != given) cc_os_yield_();
            stress_progress(t);
        }
        c->over = true;
        cc_parker_unpark(&c->parker);
        return;
    }
    for (uint64_t taken = 0;;) {
        if (!cc_parker_park_timeout(&c->parker, stress_random(t, 20000))) {
            cc_fetch_add_relaxed(&c->timeouts, 1);
            continue;
        }
        if (c->over) break;
        CHECK_EQ(c->given, ++taken); /* plain: the token orders it */
        cc_store_release(&c->taken, taken);
    }
    CHECK_EQ(c->given, c->taken);
    CHECK(!cc_parker_park_timeout(&c->parker, 0)); /* and none is left */
}

STRESS(timeouts_that_cross_a_token_lose_and_invent_none)
{
    static crossing c;
    memset(&c, 0, sizeof c);
    c.deadline = stress_deadline(200);
    stress_threads(2, crossing_body, &c);
}

/* Two give a token, one after the other; whoever takes it sees what both wrote. Nothing else orders that: the turns are
 * relaxed, and `read` only orders one round before the next. */
typedef struct two_givers {
    CC_ALIGNED_(CC_CACHE_LINE) cc_parker_t parker;
    CC_ALIGNED_(CC_CACHE_LINE) uint64_t turn, read;
    CC_ALIGNED_(CC_CACHE_LINE) uint64_t wrote[2];
    uint64_t rounds;
} two_givers;

static void two_givers_body(stress_thread *t, void *shared)
{
    two_givers *g = (two_givers *)shared;
    for (uint64_t round = 0; round < g->rounds; round++) {
        cc_backoff_t backoff = CC_SNOOZE_INIT;
        while (cc_load_acquire(&g->read) != round) cc_backoff_snooze(&backoff);
        while (cc_load_relaxed(&g->turn) != 2 * round + (uint64_t)t->index) cc_backoff_snooze(&backoff);
        if (t->index < 2) {
            g->wrote[t->index] = round;
            cc_parker_unpark(&g->parker);
            cc_store_relaxed(&g->turn, 2 * round + (uint64_t)t->index + 1);
        } else {
            cc_parker_park(&g->parker);
            CHECK_EQ(g->wrote[0], round);
            CHECK_EQ(g->wrote[1], round);
            cc_store_release(&g->read, round + 1);
        }
        stress_progress(t);
    }
}

TEST(a_token_given_twice_carries_what_both_givers_wrote)
{
    static two_givers g;
    g.rounds = test_effort(20000);
    stress_threads(3, two_givers_body, &g);
}

/* The owner frees the parker as soon as park returns; the giver may be in the middle of unpark. */
typedef struct freed {
    CC_ALIGNED_(CC_CACHE_LINE) cc_parker_t *parker;
    uint64_t deadline;
} freed;

static void freed_body(stress_thread *t, void *shared)
{
    freed *f = (freed *)shared;
    cc_parker_t *const over = (cc_parker_t *)shared;
    if (t->index == 0) {
        while (cc_now_ns() < f->deadline) {
            cc_parker_t *parker = (cc_parker_t *)calloc(1, sizeof *parker);
            REQUIRE(parker != NULL);
            cc_store_release(&f->parker, parker);
            stress_pause(t);
            cc_parker_park(parker);
            memset(parker, 0xa5, sizeof *parker);
            free(parker);
            stress_progress(t);
        }
        cc_store_release(&f->parker, over);
        return;
    }
    for (;;) {
        cc_backoff_t backoff = CC_SNOOZE_INIT;
        cc_parker_t *parker;
        while ((parker = cc_exchange_acquire(&f->parker, (cc_parker_t *)NULL)) == NULL) cc_backoff_snooze(&backoff);
        if (parker == over) return;
        stress_pause(t);
        cc_parker_unpark(parker);
    }
}

STRESS(unpark_does_not_touch_a_parker_that_was_freed)
{
    static freed f;
    memset(&f, 0, sizeof f);
    f.deadline = stress_deadline(100);
    stress_threads(2, freed_body, &f);
}

/* 32 threads in a ring, one token between them. */
typedef struct ring {
    struct {
        CC_ALIGNED_(CC_CACHE_LINE) cc_parker_t parker;
    } seats[32];
    uint64_t deadline;
    uint64_t count;
    bool over;
} ring;

static void ring_body(stress_thread *t, void *shared)
{
    ring *r = (ring *)shared;
    if (t->index == 0) cc_parker_unpark(&r->seats[0].parker);
    for (bool over = false; !over;) {
        park_somehow(t, &r->seats[t->index].parker);
        over = r->over;
        if (t->index == 0 && cc_now_ns() >= r->deadline) r->over = over = true;
        r->count++;
        stress_progress(t);
        cc_parker_unpark(&r->seats[(t->index + 1) % 32].parker);
    }
}

STRESS(a_ring_of_32_threads_keeps_its_token)
{
    static ring r;
    memset(&r, 0, sizeof r);
    r.deadline = stress_deadline(200);
    stress_threads(32, ring_body, &r);
    CHECK_EQ(r.count % 32, 0);
}
