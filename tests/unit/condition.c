/* lock.h's condition on a fake system: what is held when, what wakes, and what the deadline ends. */
#include "harness.h"
#include "fake_os.h"
#include <concede/arch.h>
#undef CC_ARCH_PAUSE_
#define CC_ARCH_PAUSE_() fake_pause()
#include <concede/lock.h>
#include <concede/costs.h>

static cc_lock_t lock;
static cc_event_t changed;
static int ready, looks;

static void set_up_on(uint32_t cpus)
{
    static const cc_lock_t free_lock = CC_LOCK_INIT;
    static const cc_event_t nobody = CC_EVENT_INIT;
    cc_costs_t costs = { 40000, 1000, 30000, cpus };
    fake_start();
    cc_costs_set(&costs);
    lock = free_lock;
    changed = nobody;
    ready = looks = 0;
    fake_forget();
    cc_lock_acquire(&lock);
}

/* One CPU: nobody spins. */
static void set_up(void)
{
    set_up_on(1);
}

/* Held by this thread, and nobody is counted as listening any more. */
static void tear_down(void)
{
    CHECK(!cc_lock_try_acquire(&lock));
    cc_lock_release(&lock);
    CHECK(cc_lock_try_acquire(&lock));
    CHECK_EQ(changed.waiters & (CC_EVENT_LISTENING_ | CC_EVENT_CLAIMS_), 0);
}

static unsigned calls(void)
{
    return fake.waits + fake.wakes + fake.yields + fake.membarriers;
}

/* The condition: looked at under the lock only. */
static bool is_ready(void)
{
    CHECK(!cc_lock_try_acquire(&lock));
    looks++;
    return ready > 0;
}

/* The other thread. */
static void set_and_notify_after(void)
{
    CHECK(cc_lock_try_acquire(&lock)); /* who waits has given it up */
    ready = 1;
    cc_lock_release(&lock);
    cc_event_notify_one(&changed);
}

static void set_and_notify_under(void)
{
    CHECK(cc_lock_try_acquire(&lock));
    ready = 1;
    cc_event_notify_all(&changed);
    cc_lock_release(&lock);
}

static void set_and_tell_nobody(void)
{
    ready = 1;
}

static void (*third)(void);
static void at_third_wait(void)
{
    if (fake.waits == 3) third();
}

TEST(a_condition_that_holds_costs_no_call_and_leaves_the_lock_alone)
{
    set_up();
    ready = 1;
    uint32_t word = lock.word;
    CC_LOCK_AWAIT(&lock, &changed, is_ready());
    CHECK(CC_LOCK_AWAIT_UNTIL(&lock, &changed, is_ready(), 0));
    CHECK(CC_LOCK_AWAIT_TIMEOUT(&lock, &changed, is_ready(), 5));
    CHECK_EQ(looks, 3);
    CHECK_EQ(lock.word, word);
    CHECK_EQ(calls(), 0);
    tear_down();
}

TEST(the_lock_is_free_while_asleep_and_held_at_every_look)
{
    for (int under = 0; under < 2; under++) {
        set_up();
        fake.asleep = under ? set_and_notify_under : set_and_notify_after;
        CC_LOCK_AWAIT(&lock, &changed, is_ready());
        CHECK_EQ(fake.waits, 1);
        CHECK_EQ(fake.wakes, 1);
        CHECK(fake.waited_on == &changed.epoch);
        tear_down();
    }
}

TEST(a_notify_between_release_and_sleep_is_not_lost)
{
    for (int under = 0; under < 2; under++) {
        set_up();
        fake.before_sleep = under ? set_and_notify_under : set_and_notify_after;
        CC_LOCK_AWAIT(&lock, &changed, is_ready());
        CHECK_EQ(fake.waits, 1); /* which found that it need not */
        tear_down();
    }
}

TEST(a_wait_that_ends_for_no_reason_looks_and_goes_on_to_the_same_deadline)
{
    set_up();
    uint64_t deadline = fake.now_ns + 100;
    third = set_and_notify_after;
    fake.asleep = at_third_wait;
    FAKE_SCRIPT({ 0, 3 }, { EINTR, 4 });
    CHECK(CC_LOCK_AWAIT_UNTIL(&lock, &changed, is_ready(), deadline));
    CHECK_EQ(fake.waits, 3);
    CHECK_EQ(fake.waited_until, deadline);
    tear_down();
}

TEST(the_deadline_ends_it_with_the_lock_held)
{
    set_up();
    uint64_t deadline = fake.now_ns + 100;
    CHECK(!CC_LOCK_AWAIT_UNTIL(&lock, &changed, is_ready(), deadline));
    CHECK_EQ(fake.now_ns, deadline);
    CHECK_EQ(fake.waits, 1);
    CHECK(!CC_LOCK_AWAIT_TIMEOUT(&lock, &changed, is_ready(), 50));
    CHECK_EQ(fake.now_ns, deadline + 50);
    CHECK(!CC_LOCK_AWAIT_UNTIL(&lock, &changed, is_ready(), 0));
    CHECK_EQ(fake.now_ns, deadline + 50);
    tear_down();
}

TEST(the_last_look_comes_after_the_deadline)
{
    set_up();
    fake.asleep = set_and_tell_nobody;
    CHECK(CC_LOCK_AWAIT_UNTIL(&lock, &changed, is_ready(), fake.now_ns + 100));
    CHECK_EQ(fake.waits, 1);
    tear_down();
}

static void release_the_lock(void)
{
    if (fake.waited_on == &lock.word) cc_lock_release(&lock);
}

/* It notifies, and keeps the lock until the one that was woken sleeps for that. */
static void notify_and_keep_the_lock(void)
{
    CHECK(cc_lock_try_acquire(&lock));
    ready = 1;
    cc_event_notify_one(&changed);
    fake.asleep = release_the_lock;
}

TEST(who_was_woken_waits_for_the_lock_beyond_its_deadline)
{
    set_up();
    fake.asleep = notify_and_keep_the_lock;
    CHECK(CC_LOCK_AWAIT_UNTIL(&lock, &changed, is_ready(), fake.now_ns + 100));
    CHECK_EQ(fake.waits, 2);
    CHECK_EQ(fake.waited_until, CC_FOREVER);
    tear_down();
}

static unsigned change_at_pause;
static void set_and_notify_soon(void)
{
    if (fake.pauses == change_at_pause) set_and_notify_after();
}

/* It reads the lock while it spins, and takes it only when somebody has released it. */
TEST(a_change_while_it_spins_is_seen_at_once_and_costs_no_call)
{
    for (change_at_pause = 1; change_at_pause <= 10; change_at_pause++) {
        set_up_on(2);
        fake.on_pause = set_and_notify_soon;
        CC_LOCK_AWAIT(&lock, &changed, is_ready());
        CHECK_EQ(fake.pauses, change_at_pause);
        CHECK_EQ(looks, 2);
        CHECK_EQ(calls(), 0);
        tear_down();
    }
}

TEST(wait_says_whether_its_time_is_up)
{
    set_up();
    CHECK(!cc_lock_wait_until(&lock, &changed, fake.now_ns + 100));
    CHECK(!cc_lock_wait_timeout(&lock, &changed, 100));
    fake.asleep = set_and_notify_after;
    CHECK(cc_lock_wait_until(&lock, &changed, fake.now_ns + 100));
    CHECK(cc_lock_wait_timeout(&lock, &changed, 100));
    cc_lock_wait(&lock, &changed);
    CHECK_EQ(fake.waits, 5);
    tear_down();
}

TEST(arguments_are_evaluated_once)
{
    set_up();
    cc_lock_t *locks[2] = { &lock, NULL }, **l = locks;
    cc_event_t *events[2] = { &changed, NULL }, **e = events;
    uint64_t deadlines[2] = { fake.now_ns + 100, 0 }, *d = deadlines;
    CHECK(!CC_LOCK_AWAIT_UNTIL(*l++, *e++, is_ready(), *d++));
    CHECK(l == locks + 1 && e == events + 1 && d == deadlines + 1);
    tear_down();
}
