/* Timed waits that nobody ends, on a system that does all it may: waits that return with any errno, a clock that jumps,
 * membarrier that is refused from the first call or a later one, one CPU or two. They give up, not before the deadline,
 * and leave the object as if nobody had waited. */
#include "harness.h"
#include "fake_os.h"

#include <concede/concede.h>

#include <string.h>

enum { LINES = 6 };
static fake_result script[LINES];
static uint64_t deadline;

/* A system drawn at random, with a wait of `ns` about to begin. */
static void draw_system(uint64_t *rng, uint64_t ns)
{
    static const int results[] = { 0, EAGAIN, EINTR, ETIMEDOUT, EINVAL, ENOSYS, EFAULT, EPERM, ENOMEM };
    static const uint64_t jumps[] = { 0, 0, 1, 99, 5000, UINT64_C(1) << 20, UINT64_C(1) << 40, UINT64_C(1) << 62 };
    fake_start();
    cc_costs_t costs = { 30000, 500, 5000, 1 + (uint32_t)(test_random(rng) % 2) };
    cc_costs_set(&costs);
    fake.registers = test_random(rng) % 4 != 0;
    fake.membarriers_granted = test_random(rng) % 2 ? (uint32_t)(test_random(rng) % 3) : UINT32_MAX;
    cc_store_relaxed(&cc_fence_mode_, CC_FENCE_UNKNOWN_);
    for (int i = 0; i < LINES; i++) {
        script[i].result = results[test_random(rng) % (sizeof results / sizeof results[0])];
        script[i].passes_ns = jumps[test_random(rng) % (sizeof jumps / sizeof jumps[0])];
    }
    fake.script = script;
    fake.script_lines = (size_t)(test_random(rng) % (LINES + 1));
    deadline = ns < CC_FOREVER - 1 - fake.now_ns ? fake.now_ns + ns : CC_FOREVER - 1;
}

static uint64_t draw_time(uint64_t *rng)
{
    static const uint64_t times[] = { 0, 1, 100, 5000, UINT64_C(1) << 30, UINT64_C(1) << 61, CC_FOREVER - 1 };
    return times[test_random(rng) % (sizeof times / sizeof times[0])];
}

/* Gave up, and the time is up. */
static bool gave_up(bool answer)
{
    return CHECK(answer) && CHECK(fake.now_ns >= deadline);
}

TEST(a_parker_gives_up_at_the_deadline_whatever_the_system_does)
{
    uint64_t rng = test_seed(1);
    for (uint64_t i = test_effort(1000); i > 0; i--) {
        cc_parker_t parker = CC_PARKER_INIT;
        draw_system(&rng, draw_time(&rng));
        if (!gave_up(!cc_parker_park_until(&parker, deadline))) return;
        cc_parker_unpark(&parker);
        CHECK(cc_parker_park_until(&parker, 0)); /* a token is a token */
    }
}

TEST(an_event_gives_up_at_the_deadline_whatever_the_system_does)
{
    uint64_t rng = test_seed(2);
    for (uint64_t i = test_effort(1000); i > 0; i--) {
        cc_event_t event = CC_EVENT_INIT;
        draw_system(&rng, draw_time(&rng));
        if (!gave_up(!CC_EVENT_AWAIT_UNTIL(&event, false, deadline))) return;
        CHECK_EQ(event.waiters & (CC_EVENT_LISTENING_ | CC_EVENT_CLAIMS_), 0);
    }
}

TEST(a_lock_gives_up_at_the_deadline_whatever_the_system_does)
{
    uint64_t rng = test_seed(3);
    for (uint64_t i = test_effort(1000); i > 0; i--) {
        cc_lock_t lock = CC_LOCK_INIT;
        draw_system(&rng, draw_time(&rng));
        CHECK(cc_lock_try_acquire(&lock));
        if (!gave_up(!cc_lock_acquire_until(&lock, deadline))) return;
        cc_lock_release(&lock);
        if (!CHECK(cc_lock_try_acquire(&lock))) return; /* nobody is owed it */
        cc_lock_release(&lock);
    }
}

TEST(a_channel_gives_up_at_the_deadline_whatever_the_system_does)
{
    uint64_t rng = test_seed(4);
    for (uint64_t i = test_effort(1000); i > 0; i--) {
        cc_channel_options_t options = { 1, sizeof(uint64_t), (uint32_t)(test_random(&rng) % 2),
                                         test_random(&rng) % 2 ? CC_SNOOZE_NONE : CC_SNOOZE_ADAPTIVE };
        uint64_t message = 42;
        cc_channel_t *channel;
        draw_system(&rng, draw_time(&rng));
        REQUIRE(cc_channel_create(&channel, &options) == 0);
        draw_system(&rng, draw_time(&rng));
        if (test_random(&rng) % 2) { /* full */
            CHECK_EQ(cc_channel_send(channel, &message), 0);
            if (!gave_up(cc_channel_send_until(channel, &message, deadline) == ETIMEDOUT)) return;
            CHECK_EQ(cc_channel_try_recv(channel, &message), 0);
            CHECK_EQ(message, 42);
        } else { /* empty */
            if (!gave_up(cc_channel_recv_until(channel, &message, deadline) == ETIMEDOUT)) return;
            CHECK_EQ(cc_channel_try_send(channel, &message), 0);
        }
        CHECK_EQ((channel->not_full.waiters | channel->not_empty.waiters) & (CC_EVENT_LISTENING_ | CC_EVENT_CLAIMS_),
                 0);
        cc_channel_destroy(channel);
    }
}

static cc_parker_t parker;
static cc_event_t event;
static cc_lock_t lock;
static cc_channel_t *channel;

static void give_token(void)
{
    cc_parker_unpark(&parker);
}

/* The wake-up of a notify that claimed another thread, before this one began to listen. */
static void wake_astray(void)
{
    cc_os_wake_(&event.epoch, 1);
}

static void release(void)
{
    cc_lock_release(&lock);
}

static void send_one(void)
{
    uint64_t message = 42;
    CHECK_EQ(cc_channel_send(channel, &message), 0);
}

TEST(a_wake_up_that_the_system_reports_as_something_else_counts)
{
    static const int reports[] = { 0, EINTR, ETIMEDOUT };
    cc_costs_t costs = { 30000, 500, 5000, 1 };
    for (size_t i = 0; i < sizeof reports / sizeof reports[0]; i++) {
        fake_start();
        cc_costs_set(&costs);
        fake.woken_as = reports[i];
        deadline = fake.now_ns + 1000000;

        memset(&parker, 0, sizeof parker);
        fake.asleep = give_token;
        CHECK(cc_parker_park_until(&parker, deadline));

        memset(&event, 0, sizeof event);
        uint32_t sleeper = cc_event_listen(&event);
        cc_event_notify_one(&event);
        uint32_t key = cc_event_listen(&event);
        fake_forget();
        fake.asleep = wake_astray;
        (void)!cc_event_wait_until(&event, key, deadline + 1000000);
        CHECK_EQ(fake.waits, 1);    /* it may have used up the wake-up, so it leaves ... */
        CHECK_EQ(event.waiters, 1); /* ... and the one that sleeps still is there for the next notify */
        cc_event_wait(&event, sleeper);
        CHECK_EQ(event.waiters, 0);

        lock.word = 0;
        CHECK(cc_lock_try_acquire(&lock));
        fake.asleep = release;
        CHECK(cc_lock_acquire_until(&lock, deadline + 2000000));
        fake_forget();
        cc_lock_release(&lock);
        CHECK_EQ(fake.wakes, 1); /* others may sleep, and the wake-up may have been meant for them */

        cc_channel_options_t options = { 1, sizeof(uint64_t), (uint32_t)i % 2, CC_SNOOZE_NONE };
        uint64_t message = 0;
        REQUIRE(cc_channel_create(&channel, &options) == 0);
        fake.asleep = send_one;
        CHECK_EQ(cc_channel_recv_until(channel, &message, deadline + 3000000), 0);
        CHECK_EQ(message, 42);
        cc_channel_destroy(channel);
    }
}
