/* A condition under the lock between real threads: a bounded buffer in which nothing is lost and nobody is left asleep,
 * whoever notifies under the lock or after it, with deadlines that pass at any moment. */
#include "stress.h"

enum { ROOM = 4 };

typedef struct buffer {
    cc_lock_t lock;
    CC_ALIGNED_(CC_CACHE_LINE) cc_event_t not_empty;
    CC_ALIGNED_(CC_CACHE_LINE) cc_event_t not_full;
    uint64_t deadline;
    int putters;
    /* under the lock */
    CC_ALIGNED_(CC_CACHE_LINE) uint64_t inside, put, taken;
    int putting; /* threads that will put more */
} buffer;

/* Gives the lock up and notifies, in either order. */
static void leave_and_notify(stress_thread *t, buffer *b, cc_event_t *event, bool all)
{
    bool under = stress_random(t, 2) == 0;
    if (!under) cc_lock_release(&b->lock);
    if (all)
        cc_event_notify_all(event);
    else
        cc_event_notify_one(event);
    if (under) cc_lock_release(&b->lock);
}

/* Waits for the condition, with a deadline or without; the lock is held before and after. */
#define AWAIT_SOMEHOW(t, b, event, condition)                                                                \
    (stress_random(t, 4) == 0 ? CC_LOCK_AWAIT_TIMEOUT(&(b)->lock, event, condition, stress_random(t, 20000)) \
                              : CC_LOCK_AWAIT_UNTIL(&(b)->lock, event, condition, CC_FOREVER))

static void put_some(stress_thread *t, buffer *b)
{
    uint64_t mine = 0; /* at least one, however late this thread gets a CPU */
    while (mine == 0 || cc_now_ns() < b->deadline) {
        cc_lock_acquire(&b->lock);
        if (!AWAIT_SOMEHOW(t, b, &b->not_full, b->inside < ROOM)) {
            cc_lock_release(&b->lock);
            continue;
        }
        CHECK(b->inside < ROOM);
        b->inside++;
        b->put++;
        mine++;
        leave_and_notify(t, b, &b->not_empty, false);
        stress_progress(t);
        if (stress_random(t, 8) == 0) stress_pause(t);
        if (stress_random(t, 4096) == 0) stress_sleep_ms(1);
    }
    cc_lock_acquire(&b->lock);
    b->putting--;
    leave_and_notify(t, b, &b->not_empty, true);
}

static void take_all(stress_thread *t, buffer *b)
{
    for (bool more = true; more;) {
        cc_lock_acquire(&b->lock);
        if (!AWAIT_SOMEHOW(t, b, &b->not_empty, b->inside > 0 || b->putting == 0)) {
            cc_lock_release(&b->lock);
            continue;
        }
        more = b->inside > 0;
        if (more) {
            b->inside--;
            b->taken++;
        }
        leave_and_notify(t, b, &b->not_full, false);
        stress_progress(t);
        if (stress_random(t, 8) == 0) stress_pause(t);
    }
}

static void buffer_body(stress_thread *t, void *shared)
{
    buffer *b = (buffer *)shared;
    if (t->index < b->putters)
        put_some(t, b);
    else
        take_all(t, b);
}

static void run_buffer(int putters, int takers, uint64_t ms)
{
    static buffer b;
    memset(&b, 0, sizeof b);
    b.putters = b.putting = putters;
    b.deadline = stress_deadline(ms);
    stress_threads(putters + takers, buffer_body, &b);
    CHECK(b.put > 0);
    CHECK_EQ(b.put, b.taken);
    CHECK_EQ(b.inside, 0);
    CHECK_EQ((b.not_empty.waiters | b.not_full.waiters) & (CC_EVENT_LISTENING_ | CC_EVENT_CLAIMS_), 0);
    CHECK(cc_lock_try_acquire(&b.lock));
}

STRESS(a_buffer_between_two_loses_nothing)
{
    for (int i = 0; i < 5; i++) run_buffer(1, 1, 20);
}

STRESS(a_buffer_between_many_loses_nothing)
{
    for (int i = 0; i < 4; i++) run_buffer(3, 3, 40);
}

STRESS(a_buffer_between_sixteen_loses_nothing)
{
    for (int i = 0; i < 2; i++) run_buffer(8, 8, 80);
}
