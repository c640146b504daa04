/* The token of park.h, on a fake system: every order of the two sides, every answer of a wait. */
#include "harness.h"
#include "fake_os.h"
#include <concede/park.h>

static cc_parker_t parker;
static int given; /* how often a hook gave a token */

static void set_up(void)
{
    fake_start();
    parker.state = CC_PARKER_EMPTY_;
    given = 0;
}

static void give(void)
{
    given++;
    cc_parker_unpark(&parker);
}

static void give_on_third_wait(void)
{
    if (fake.waits == 3) give();
}

TEST(all_zero_is_a_parker_without_a_token)
{
    static cc_parker_t zero;
    cc_parker_t initialised = CC_PARKER_INIT;
    CHECK_EQ(memcmp(&zero, &initialised, sizeof zero), 0);
    CHECK_EQ(sizeof(cc_parker_t), 4);
    CHECK(!cc_parker_park_timeout(&zero, 0));
}

TEST(token_given_before_a_park_is_kept)
{
    set_up();
    cc_parker_unpark(&parker);
    cc_parker_park(&parker);
    CHECK_EQ(fake.waits + fake.wakes, 0);
    CHECK_EQ(parker.state, CC_PARKER_EMPTY_);
}

TEST(try_takes_the_token_that_is_there_and_never_waits)
{
    set_up();
    CHECK(!cc_parker_try_park(&parker));
    cc_parker_unpark(&parker);
    CHECK(cc_parker_try_park(&parker));
    CHECK(!cc_parker_try_park(&parker));
    CHECK_EQ(parker.state, CC_PARKER_EMPTY_);
    CHECK_EQ(fake.waits + fake.wakes + fake.yields + fake.clock_reads, 0);
}

TEST(two_tokens_are_one)
{
    set_up();
    cc_parker_unpark(&parker);
    cc_parker_unpark(&parker);
    cc_parker_park(&parker);
    CHECK(!cc_parker_park_timeout(&parker, 5));
}

TEST(unpark_with_nobody_parked_makes_no_call)
{
    set_up();
    for (int i = 0; i < 3; i++) cc_parker_unpark(&parker);
    cc_parker_park(&parker);
    cc_parker_unpark(&parker);
    CHECK_EQ(fake.waits + fake.wakes + fake.yields + fake.membarriers + fake.clock_reads, 0);
}

TEST(unpark_wakes_the_sleeper_once)
{
    set_up();
    fake.asleep = give;
    cc_parker_park(&parker);
    CHECK_EQ(fake.waits, 1);
    CHECK(fake.waited_on == &parker.state);
    CHECK_EQ(fake.waited_until, CC_FOREVER);
    CHECK_EQ(fake.wakes, 1);
    CHECK(fake.woken == &parker.state);
    CHECK_EQ(fake.woken_count, 1);
    CHECK_EQ(parker.state, CC_PARKER_EMPTY_);
    cc_parker_unpark(&parker); /* nobody is counted as parked any more */
    CHECK_EQ(fake.wakes, 1);
}

TEST(unpark_on_the_way_to_sleep_is_not_lost)
{
    set_up();
    fake.before_sleep = give;
    cc_parker_park(&parker);
    CHECK_EQ(fake.waits, 1);
    CHECK_EQ(given, 1);
    CHECK_EQ(parker.state, CC_PARKER_EMPTY_);
}

TEST(a_wait_that_ends_for_no_reason_goes_on_to_the_same_deadline)
{
    static const int reasons[] = { 0, EAGAIN, EINTR, ETIMEDOUT, EINVAL, ENOSYS, EFAULT, EPERM, ENOMEM };
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        fake_result lines[2] = { { reasons[i], 3 }, { reasons[i], 4 } };
        for (int forever = 0; forever < 2; forever++) {
            set_up();
            uint64_t deadline = forever ? CC_FOREVER : fake.now_ns + 100;
            fake.script = lines;
            fake.script_lines = 2;
            fake.asleep = give_on_third_wait;
            CHECK(cc_parker_park_until(&parker, deadline));
            CHECK_EQ(fake.waits, 3);
            CHECK_EQ(fake.waited_until, deadline);
            CHECK_EQ(parker.state, CC_PARKER_EMPTY_);
        }
    }
}

TEST(a_timer_that_comes_early_does_not_end_the_park)
{
    set_up();
    uint64_t deadline = fake.now_ns + 100;
    FAKE_SCRIPT({ ETIMEDOUT, 40 }, { ETIMEDOUT, 59 });
    CHECK(!cc_parker_park_until(&parker, deadline));
    CHECK_EQ(fake.waits, 3);
    CHECK_EQ(fake.now_ns, deadline);
}

TEST(timeout_leaves_nobody_parked)
{
    set_up();
    CHECK(!cc_parker_park_timeout(&parker, 100));
    CHECK_EQ(fake.waits, 1);
    CHECK_EQ(fake.now_ns, 1000000100);
    CHECK_EQ(parker.state, CC_PARKER_EMPTY_);
    cc_parker_unpark(&parker);
    CHECK_EQ(fake.wakes, 0);
    CHECK(cc_parker_park_timeout(&parker, 0));
}

TEST(token_that_crosses_the_timeout_is_taken)
{
    set_up();
    fake.asleep = give; /* the token arrives, and yet the kernel reports the timeout */
    FAKE_SCRIPT({ ETIMEDOUT, 100 });
    CHECK(cc_parker_park_timeout(&parker, 100));
    CHECK_EQ(parker.state, CC_PARKER_EMPTY_);
}

TEST(past_deadline_looks_once_and_does_not_wait)
{
    set_up();
    CHECK(!cc_parker_park_until(&parker, 0));
    CHECK(!cc_parker_park_until(&parker, fake.now_ns));
    CHECK(!cc_parker_park_timeout(&parker, 0));
    CHECK_EQ(fake.waits, 0);
    cc_parker_unpark(&parker);
    CHECK(cc_parker_park_until(&parker, 0));
    CHECK(!cc_parker_park_until(&parker, 0));
}

TEST(huge_timeouts_saturate)
{
    static const uint64_t huge[] = { UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - 1000000000 };
    for (size_t i = 0; i < sizeof huge / sizeof huge[0]; i++) {
        set_up();
        fake.asleep = give;
        CHECK(cc_parker_park_timeout(&parker, huge[i]));
        CHECK_EQ(fake.waited_until, CC_FOREVER);
    }
    set_up();
    fake.asleep = give;
    CHECK(cc_parker_park_until(&parker, CC_FOREVER - 1));
    CHECK_EQ(fake.waited_until, CC_FOREVER - 1);
}

TEST(a_clock_that_jumps_past_the_deadline_ends_the_park_once)
{
    set_up();
    FAKE_SCRIPT({ 0, UINT64_C(1) << 40 });
    CHECK(!cc_parker_park_timeout(&parker, 100));
    CHECK(fake.waits <= 2);
}

TEST(tokens_on_top_of_one_wake_nobody)
{
    set_up();
    parker.state = CC_PARKER_PARKED_; /* the owner sleeps, and is slow to run */
    for (int i = 0; i < 3; i++) cc_parker_unpark(&parker);
    CHECK_EQ(fake.wakes, 1);
}

#if !defined(_WIN32)
#include <sys/mman.h>

static void *page;

static void owner_frees_it(void)
{
    munmap(page, 4096);
}

TEST(unpark_does_not_touch_a_parker_that_its_owner_freed)
{
    set_up();
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(page != MAP_FAILED);
    cc_parker_t *dying = (cc_parker_t *)page;
    dying->state = CC_PARKER_PARKED_;
    fake.on_wake = owner_frees_it;
    cc_parker_unpark(dying); /* a touch after the wake faults */
    CHECK_EQ(fake.wakes, 1);
}
#endif
