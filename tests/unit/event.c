/* event.h on a fake system: the claims, every order of waiter and notifier, every answer of a wait, both fences. */
#include "harness.h"
#include <concede/arch.h>
#include "fake_os.h"
#undef CC_ARCH_PAUSE_
#define CC_ARCH_PAUSE_() fake_pause()
#include <concede/event.h>
#include <concede/costs.h>
#include "costs.h"
#include "snooze.h"

static cc_event_t event;

static void set_up(void)
{
    static const cc_costs_t costs = { 40000, 1000, 30000, 2 };
    cc_costs_set(&costs);
    fake_start();
    memset(&event, 0, sizeof event);
    cc_fence_mode_ = CC_FENCE_UNKNOWN_;
    cc_snooze_spun_(0, true); /* nothing is left of an earlier test, whatever their order */
}

static uint32_t listening(void)
{
    return event.waiters & CC_EVENT_LISTENING_;
}

static uint32_t claims(void)
{
    return (event.waiters & CC_EVENT_CLAIMS_) / CC_EVENT_CLAIM_;
}

static void notify_one(void)
{
    cc_event_notify_one(&event);
}

static void notify_all(void)
{
    cc_event_notify_all(&event);
}

static void (*const notify[2])(void) = { notify_one, notify_all };

/* A wait that may make ten pauses and ends after the first one, or at its last look before it would sleep, or after it
 * was woken so long after it fell asleep. Returns how many pauses it made. */
typedef enum { QUICK, IN_VAIN, ASLEEP } wait_end;
static uint64_t wakes_after;
static void notify_then(void)
{
    fake.now_ns += wakes_after;
    cc_event_notify_one(&event);
}

static unsigned pauses_of_wait(wait_end end, uint64_t deadline)
{
    fake.asleep = notify_then;
    event.snooze = 1 + 8 * 10;
    unsigned before = fake.pauses;
    cc_event_await_t await = cc_event_await_begin_(&event, deadline);
    do CHECK(cc_event_await_step_(&await));
    while (end == QUICK ? fake.pauses == before : end == IN_VAIN ? await.phase != 2 /* LISTENING */ : !await.slept);
    unsigned pauses = fake.pauses - before;
    cc_event_await_end_(&await);
    return pauses;
}

static unsigned longest_spin(void)
{
    return cc_costs_has_quota_() ? 3 * cc_snooze_spin_limit_() : 10; /* from a quarter of a wake-up to three */
}

/* Comes first: costs that are given have no quota. */
TEST(under_a_quota_a_long_spin_is_earned_by_quick_waits_or_short_sleeps)
{
    for (uint32_t quota = 1; quota <= 2; quota++) {
        fake_start_with_quota(quota);
        CHECK_EQ(cc_costs_has_quota_(), quota == 1);
        memset(&event, 0, sizeof event);
        for (int i = 0; i < 16; i++) pauses_of_wait(QUICK, CC_FOREVER);
        CHECK_EQ(pauses_of_wait(IN_VAIN, CC_FOREVER), longest_spin());
        CHECK_EQ(pauses_of_wait(IN_VAIN, CC_FOREVER), 10); /* it is used up */
        for (int i = 0; i < 15; i++) pauses_of_wait(QUICK, CC_FOREVER);
        CHECK_EQ(pauses_of_wait(IN_VAIN, CC_FOREVER), 10);
        for (int i = 0; i < 16; i++) pauses_of_wait(QUICK, CC_FOREVER);
        CHECK_EQ(pauses_of_wait(IN_VAIN, CC_FOREVER - 1), 10); /* never with a deadline */
        CHECK_EQ(pauses_of_wait(IN_VAIN, CC_FOREVER), longest_spin());
        wakes_after = 0;
        for (int i = 0; i < 3; i++) pauses_of_wait(ASLEEP, CC_FOREVER);
        CHECK_EQ(pauses_of_wait(ASLEEP, CC_FOREVER), 10);
        unsigned longest = longest_spin();
        CHECK_EQ(pauses_of_wait(ASLEEP, CC_FOREVER), longest);
        wakes_after = 10 * (uint64_t)cc_costs()->wake_ns;
        for (int i = 0; i < 10; i++) CHECK_EQ(pauses_of_wait(ASLEEP, CC_FOREVER), 10);
    }
}

TEST(all_zero_is_an_event)
{
    static cc_event_t zero;
    cc_event_t initialised = CC_EVENT_INIT;
    CHECK_EQ(memcmp(&zero, &initialised, sizeof zero), 0);
}

TEST(notify_with_nobody_listening_makes_no_call)
{
    static const uint32_t modes[] = { CC_FENCE_UNKNOWN_, CC_FENCE_ASYMMETRIC_, CC_FENCE_SYMMETRIC_ };
    for (size_t i = 0; i < 3; i++) {
        set_up();
        cc_fence_mode_ = modes[i];
        notify_one();
        notify_all();
        (void)!cc_event_listen(&event);
        cc_event_cancel(&event);
        fake_forget();
        notify_one();
        notify_all();
        CHECK_EQ(fake.waits + fake.wakes + fake.yields + fake.membarriers + fake.registrations + fake.clock_reads, 0);
        CHECK_EQ(event.epoch, 0);
        CHECK_EQ(event.waiters, 0);
    }
}

TEST(notify_between_listen_and_wait_is_not_lost)
{
    for (int i = 0; i < 2; i++) {
        set_up();
        uint32_t key = cc_event_listen(&event);
        CHECK_EQ(listening(), 1);
        notify[i]();
        cc_event_wait(&event, key);
        CHECK_EQ(fake.waits, 0);
        CHECK_EQ(event.waiters, 0);
    }
}

TEST(notify_on_the_way_to_sleep_is_not_lost)
{
    for (int i = 0; i < 2; i++) {
        set_up();
        uint32_t key = cc_event_listen(&event);
        fake.before_sleep = notify[i];
        cc_event_wait(&event, key);
        CHECK_EQ(fake.waits, 1);
        CHECK_EQ(event.waiters, 0);
    }
}

TEST(notify_wakes_a_sleeper)
{
    for (int i = 0; i < 2; i++) {
        set_up();
        uint32_t key = cc_event_listen(&event);
        fake.asleep = notify[i];
        CHECK(cc_event_wait_until(&event, key, CC_FOREVER));
        CHECK_EQ(fake.waits, 1);
        CHECK(fake.waited_on == &event.epoch);
        CHECK_EQ(fake.waited_for, key);
        CHECK_EQ(fake.wakes, 1);
        CHECK(fake.woken == &event.epoch);
        CHECK_EQ(fake.woken_count, i == 0 ? 1 : CC_OS_ALL_);
        CHECK_EQ(event.waiters, 0);
    }
}

TEST(listen_after_notify_has_the_new_key)
{
    set_up();
    uint32_t first = cc_event_listen(&event);
    notify_one();
    uint32_t second = cc_event_listen(&event);
    CHECK_EQ(second, first + 1);
    CHECK(!cc_event_wait_timeout(&event, second, 10)); /* sleeps: that notify was not for it */
    CHECK_EQ(fake.waits, 1);
    cc_event_wait(&event, first);
    CHECK_EQ(event.waiters, 0);
}

TEST(each_notify_one_claims_one_more)
{
    set_up();
    for (int i = 0; i < 3; i++) (void)!cc_event_listen(&event);
    for (uint32_t i = 1; i <= 3; i++) {
        notify_one();
        CHECK_EQ(fake.wakes, i);
        CHECK_EQ(listening(), 3 - i);
        CHECK_EQ(claims(), i);
    }
    notify_one(); /* all are claimed and on their way */
    notify_all();
    CHECK_EQ(fake.wakes, 3);
    CHECK_EQ(event.epoch, 3);
    for (int i = 0; i < 3; i++) cc_event_cancel(&event);
    CHECK_EQ(event.waiters, 0);
}

TEST(notify_all_claims_everybody_and_only_once)
{
    set_up();
    for (int i = 0; i < 5; i++) (void)!cc_event_listen(&event);
    notify_one();
    notify_all();
    CHECK_EQ(fake.wakes, 2);
    CHECK_EQ(fake.woken_count, CC_OS_ALL_);
    CHECK_EQ(listening(), 0);
    CHECK_EQ(claims(), 5);
    notify_all();
    CHECK_EQ(fake.wakes, 2);
    (void)!cc_event_listen(&event); /* one more comes after that */
    notify_all();
    CHECK_EQ(fake.wakes, 3);
    for (int i = 0; i < 6; i++) cc_event_cancel(&event);
    CHECK_EQ(event.waiters, 0);
}

TEST(cancel_takes_up_a_claim_first)
{
    set_up();
    (void)!cc_event_listen(&event);
    (void)!cc_event_listen(&event);
    notify_one();
    cc_event_cancel(&event);
    CHECK_EQ(claims(), 0);
    CHECK_EQ(listening(), 1); /* the other can still be notified */
    notify_one();
    CHECK_EQ(fake.wakes, 2);
    cc_event_cancel(&event);
    CHECK_EQ(event.waiters, 0);
}

/* It has looked after the notifier wrote, so somebody else used up what the wake-up was for. */
TEST(a_late_listener_that_gets_the_wake_up_takes_up_the_claim_with_it)
{
    set_up();
    uint32_t sleeper = cc_event_listen(&event);
    notify_one(); /* claims the sleeper; its wake-up goes astray, to ... */
    uint32_t late = cc_event_listen(&event);
    fake_forget();
    FAKE_SCRIPT({ 0, 0 });
    CHECK(cc_event_wait_until(&event, late, CC_FOREVER)); /* ... this one */
    CHECK_EQ(fake.wakes, 0);
    CHECK_EQ(claims(), 0);
    CHECK_EQ(listening(), 1); /* the sleeper, for the next notify */
    notify_one();
    CHECK_EQ(fake.wakes, 1);
    cc_event_wait(&event, sleeper);
    CHECK_EQ(event.waiters, 0);
}

TEST(a_wake_for_no_reason_is_not_passed_on)
{
    set_up();
    uint32_t key = cc_event_listen(&event);
    FAKE_SCRIPT({ 0, 0 });
    CHECK(cc_event_wait_until(&event, key, CC_FOREVER));
    CHECK_EQ(fake.wakes, 0);
    CHECK_EQ(event.waiters, 0);
}

/* It cannot know whether it used up a wake-up: some systems report a signal or a timeout to a thread that was woken. */
TEST(a_wait_that_ends_for_any_reason_returns_and_is_no_timeout)
{
    static const int reasons[] = { 0, EAGAIN, EINTR, ETIMEDOUT, EINVAL, ENOSYS, EFAULT, EPERM, ENOMEM };
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        fake_result line = { reasons[i], 3 };
        for (int forever = 0; forever < 2; forever++) {
            set_up();
            uint64_t deadline = forever ? CC_FOREVER : fake.now_ns + 100;
            uint32_t key = cc_event_listen(&event);
            fake.script = &line;
            fake.script_lines = 1;
            CHECK(cc_event_wait_until(&event, key, deadline));
            CHECK_EQ(fake.waits, 1);
            CHECK_EQ(fake.waited_until, deadline);
            CHECK_EQ(event.waiters, 0);
        }
    }
}

TEST(await_goes_on_to_the_same_deadline_whatever_ended_its_waits)
{
    static const int reasons[] = { 0, EAGAIN, EINTR, ETIMEDOUT, EINVAL, ENOSYS, EFAULT, EPERM, ENOMEM };
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        fake_result lines[2] = { { reasons[i], 40 }, { reasons[i], 40 } };
        set_up();
        uint64_t deadline = fake.now_ns + 1000000;
        fake.script = lines;
        fake.script_lines = 2;
        CHECK(!CC_EVENT_AWAIT_UNTIL(&event, false, deadline));
        CHECK_EQ(fake.waits, 3);
        CHECK_EQ(fake.waited_until, deadline);
        CHECK_EQ(fake.now_ns, deadline);
        CHECK_EQ(event.waiters, 0);
    }
}

TEST(timeout_leaves_no_waiter_counted)
{
    set_up();
    uint32_t key = cc_event_listen(&event);
    CHECK(!cc_event_wait_timeout(&event, key, 100));
    CHECK_EQ(fake.now_ns, 1000000100);
    CHECK_EQ(event.waiters, 0);
    fake_forget();
    notify_all();
    CHECK_EQ(fake.wakes, 0);
}

TEST(notify_that_crosses_the_timeout_counts)
{
    for (int i = 0; i < 2; i++) {
        set_up();
        uint32_t key = cc_event_listen(&event);
        fake.asleep = notify[i]; /* and yet the kernel reports the timeout */
        FAKE_SCRIPT({ ETIMEDOUT, 100 });
        CHECK(cc_event_wait_timeout(&event, key, 100));
        CHECK_EQ(event.waiters, 0);
    }
}

TEST(zero_past_and_huge_deadlines)
{
    set_up();
    CHECK(!cc_event_wait_until(&event, cc_event_listen(&event), 0));
    CHECK(!cc_event_wait_until(&event, cc_event_listen(&event), fake.now_ns));
    CHECK(!cc_event_wait_timeout(&event, cc_event_listen(&event), 0));
    CHECK_EQ(fake.now_ns, 1000000000);
    CHECK_EQ(event.waiters, 0);
    fake.asleep = notify_one;
    CHECK(cc_event_wait_timeout(&event, cc_event_listen(&event), UINT64_MAX - 5));
    CHECK_EQ(fake.waited_until, CC_FOREVER);
    CHECK(cc_event_wait_until(&event, cc_event_listen(&event), CC_FOREVER - 1));
    CHECK_EQ(fake.waited_until, CC_FOREVER - 1);
}

TEST(epoch_wraps_around)
{
    set_up();
    event.epoch = UINT32_MAX;
    uint32_t key = cc_event_listen(&event);
    CHECK_EQ(key, UINT32_MAX);
    notify_one();
    CHECK_EQ(event.epoch, 0);
    CHECK(cc_event_wait_until(&event, key, CC_FOREVER));
    CHECK_EQ(fake.waits, 0);
    CHECK(!cc_event_wait_timeout(&event, cc_event_listen(&event), 5));
    CHECK_EQ(event.waiters, 0);
}

/* The word counts to 8,191, listening and claimed together. */
static void one_leaves_at_the_second_yield(void)
{
    if (fake.yields == 2) cc_event_cancel(&event);
}

TEST(a_full_word_makes_listeners_yield_until_there_is_room)
{
    static const uint32_t claimed[] = { 0, 1, 7000, 8191 };
    for (size_t i = 0; i < 4; i++) {
        set_up();
        event.waiters = (8191 - claimed[i]) + claimed[i] * CC_EVENT_CLAIM_;
        fake.on_yield = one_leaves_at_the_second_yield;
        (void)!cc_event_listen(&event);
        CHECK_EQ(fake.yields, 2);
        CHECK_EQ(listening() + claims(), 8191);
        notify_all();
        CHECK_EQ(listening(), 0);
        CHECK_EQ(claims(), 8191);
        for (int n = 0; n < 8191; n++) cc_event_cancel(&event);
        CHECK_EQ(event.waiters, 0);
    }
}

TEST(membarrier_is_registered_once)
{
    set_up();
    for (unsigned i = 1; i <= 3; i++) {
        (void)!cc_event_listen(&event);
        cc_event_cancel(&event);
        CHECK_EQ(fake.membarriers, i);
    }
    CHECK_EQ(fake.registrations, 1);
    CHECK_EQ(cc_fence_mode_, CC_FENCE_ASYMMETRIC_);
}

TEST(membarrier_refused_at_registration_is_never_called)
{
    set_up();
    fake.registers = false;
    for (int i = 0; i < 3; i++) {
        (void)!cc_event_listen(&event);
        cc_event_cancel(&event);
    }
    CHECK_EQ(fake.registrations, 1);
    CHECK_EQ(fake.membarriers, 0);
    CHECK_EQ(cc_fence_mode_, CC_FENCE_SYMMETRIC_);
}

TEST(membarrier_taken_away_later_falls_back_after_a_grace_period)
{
    set_up();
    fake.membarriers_granted = 2;
    for (int i = 0; i < 5; i++) {
        uint64_t before = fake.now_ns;
        (void)!cc_event_listen(&event);
        cc_event_cancel(&event);
        CHECK_EQ(cc_fence_mode_, i < 2 ? CC_FENCE_ASYMMETRIC_ : CC_FENCE_SYMMETRIC_);
        CHECK(i == 2 ? fake.now_ns >= before + 1000000 : fake.now_ns == before);
    }
    CHECK_EQ(fake.registrations, 1);
    CHECK_EQ(fake.membarriers, 3);
}

TEST(the_grace_period_outlasts_interruptions)
{
    set_up();
    cc_event_cancel(((void)!cc_event_listen(&event), &event));
    fake.membarriers_granted = 0;
    FAKE_SCRIPT({ EINTR, 10 }, { 0, 0 }, { ETIMEDOUT, 5 });
    uint64_t before = fake.now_ns;
    cc_event_cancel(((void)!cc_event_listen(&event), &event));
    CHECK(fake.now_ns >= before + 1000000);
    CHECK_EQ(event.waiters, 0);
}

/* The announcement stands before the fence, and the key is older than it: a notify that claims this thread while it is
 * on its way must end the wait, because nobody counts it from then on. */
static bool announced;
static void notifier_runs_in_the_fence(void)
{
    announced = listening() == 1;
    cc_event_notify_one(&event);
}

TEST(notify_between_announcement_and_look_ends_the_wait)
{
    set_up();
    fake.on_membarrier = notifier_runs_in_the_fence;
    uint32_t key = cc_event_listen(&event);
    CHECK(announced);
    CHECK_EQ(listening(), 0);
    CHECK(cc_event_wait_until(&event, key, CC_FOREVER));
    CHECK_EQ(fake.waits, 0);
    CHECK_EQ(event.waiters, 0);
}

/* One full wait, asleep, ended by a notify. */
static void sleep_once(void)
{
    void (*asleep)(void) = fake.asleep;
    fake.asleep = notify_one;
    CHECK(cc_event_wait_until(&event, cc_event_listen(&event), CC_FOREVER));
    fake.asleep = asleep;
}

#define FENCED_BITS (CC_EVENT_FENCED_ | CC_EVENT_TRUSTED_)

static uint32_t bits_in_fence;
static void note_bits(void)
{
    bits_in_fence = event.waiters & FENCED_BITS;
}

TEST(where_waiters_mostly_sleep_the_notifier_takes_the_fence)
{
    set_up();
    fake.on_membarrier = note_bits;
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(event.waiters, 0);
        sleep_once();
    }
    CHECK_EQ(event.waiters, FENCED_BITS);
    CHECK_EQ(fake.membarriers, 5);             /* one for each sleep, and one between the two bits: */
    CHECK_EQ(bits_in_fence, CC_EVENT_FENCED_); /* all know that they have to fence before anybody relies on it */
    fake_forget();
    for (int i = 0; i < 10; i++) sleep_once();
    CHECK_EQ(fake.membarriers, 0); /* and the sleeper interrupts nobody any more */
    CHECK_EQ(event.waiters, FENCED_BITS);
}

enum { MOST_IDLE = 30000 / 64 }; /* a part of wake_ns */

TEST(many_notifiers_that_find_nobody_go_back_to_the_light_fence)
{
    for (int i = 0; i < 2; i++) {
        set_up();
        for (int sleeps = 0; sleeps < 4; sleeps++) sleep_once();
        fake_forget();
        for (int idle = 1; idle < MOST_IDLE; idle++) notify[i]();
        CHECK_EQ(event.waiters, FENCED_BITS);
        sleep_once(); /* and they count from the start */
        for (int idle = 1; idle < MOST_IDLE; idle++) notify[i]();
        CHECK_EQ(event.waiters, FENCED_BITS);
        fake_forget();
        notify[i]();
        CHECK_EQ(fake.wakes + fake.waits + fake.membarriers, 0);
        CHECK_EQ(event.waiters, 0);
        (void)!cc_event_listen(&event);
        CHECK_EQ(fake.membarriers, 1);
        cc_event_cancel(&event);
        for (int sleeps = 0; sleeps < 3; sleeps++) sleep_once(); /* and it counts from the start */
        CHECK_EQ(event.waiters, 0);
    }
}

TEST(with_many_cpus_they_do_so_although_a_claimed_thread_is_not_back_yet)
{
    for (uint32_t cpus = 8; cpus <= 9; cpus++) {
        set_up();
        cc_costs_t costs = *cc_costs();
        costs.cpus = cpus;
        cc_costs_set(&costs);
        for (int sleeps = 0; sleeps < 4; sleeps++) sleep_once();
        (void)!cc_event_listen(&event);
        cc_event_notify_one(&event);
        CHECK_EQ(event.waiters, FENCED_BITS | CC_EVENT_CLAIM_);
        for (int idle = 0; idle < MOST_IDLE; idle++) cc_event_notify_one(&event);
        CHECK_EQ(event.waiters, CC_EVENT_CLAIM_ | (cpus == 8 ? FENCED_BITS : 0));
        cc_event_cancel(&event);
        CHECK_EQ(event.waiters, cpus == 8 ? FENCED_BITS : 0);
    }
}

TEST(who_sleeps_is_found_whoever_takes_the_fence)
{
    static const uint32_t bits[] = { 0, CC_EVENT_FENCED_, FENCED_BITS };
    for (size_t i = 0; i < 3; i++) {
        for (int all = 0; all < 2; all++) {
            set_up();
            event.waiters = bits[i];
            uint32_t keys[2] = { cc_event_listen(&event), cc_event_listen(&event) };
            CHECK_EQ(fake.membarriers, bits[i] == FENCED_BITS ? 0 : 2);
            notify[all]();
            CHECK_EQ(listening(), all ? 0 : 1);
            CHECK_EQ(claims(), all ? 2 : 1);
            CHECK_EQ(fake.wakes, 1);
            for (int n = 0; n < 2; n++) CHECK(cc_event_wait_until(&event, keys[n], CC_FOREVER));
            CHECK_EQ(listening() + claims(), 0);
        }
    }
}

/* CC_EVENT_AWAIT: a condition that holds at a given look, and what had happened until each look. */
static unsigned looks, holds_at;
static struct {
    unsigned pauses, yields, membarriers, waits;
} at_look[1000];

static bool look(void)
{
    REQUIRE(looks < 1000);
    at_look[looks].pauses = fake.pauses;
    at_look[looks].yields = fake.yields;
    at_look[looks].membarriers = fake.membarriers;
    at_look[looks].waits = fake.waits;
    return ++looks == holds_at;
}

static void notify_one_who_looks(void)
{
    holds_at = looks + 1;
    notify_one();
}

/* A thread that has slept has spun for no time since. */
static void rest(void)
{
    set_up();
    event.snooze = 1; /* it has learned to sleep at once */
    looks = holds_at = 0;
    fake.asleep = notify_one_who_looks;
    CC_EVENT_AWAIT(&event, look());
}

static void await_from_start(unsigned holds)
{
    set_up();
    looks = 0;
    holds_at = holds;
}

/* 4 us of pauses of 40 ns each, in rounds of 2 us, and a yield; src/snooze.c and src/event.c. It looks at once, when
 * the costs are known, after each pause, between two rounds, and after each yield. */
enum {
    SPINS = 100,
    ROUND = 50,
    YIELDS = 1,
    SPIN_LOOKS = 2 + SPINS + SPINS / ROUND - 1,
    SNOOZE_LOOKS = SPIN_LOOKS + YIELDS
};

TEST(await_of_a_condition_that_holds_does_nothing)
{
    await_from_start(1);
    CC_EVENT_AWAIT(&event, look());
    CHECK_EQ(looks, 1);
    CHECK_EQ(fake.pauses + fake.yields + fake.membarriers + fake.waits + fake.clock_reads, 0);
}

TEST(await_looks_after_every_pause_then_after_every_yield_then_sleeps)
{
    rest();
    await_from_start(0);
    fake.asleep = notify_one;
    holds_at = SNOOZE_LOOKS + 2; /* one after listen, one after the sleep */
    CC_EVENT_AWAIT(&event, look());
    CHECK_EQ(looks, holds_at);
    for (unsigned i = 1; i < looks; i++) {
        CHECK(at_look[i].pauses - at_look[i - 1].pauses <= 1);
        CHECK(at_look[i].yields - at_look[i - 1].yields <= 1);
        CHECK(at_look[i].yields == 0 || at_look[i].pauses == SPINS);
        CHECK_EQ(at_look[i].membarriers, i >= SNOOZE_LOOKS);
        CHECK_EQ(at_look[i].waits, i >= SNOOZE_LOOKS + 1);
    }
    CHECK_EQ(fake.pauses, SPINS);
    CHECK_EQ(fake.yields, YIELDS);
    CHECK_EQ(event.waiters, 0);
}

TEST(await_that_finds_it_after_listening_cancels_and_does_not_sleep)
{
    await_from_start(SNOOZE_LOOKS + 1);
    CC_EVENT_AWAIT(&event, look());
    CHECK_EQ(fake.waits, 0);
    CHECK_EQ(fake.membarriers, 1);
    CHECK_EQ(event.waiters, 0);
}

TEST(await_woken_in_vain_listens_again)
{
    await_from_start(SNOOZE_LOOKS + 2 + 4);
    fake.asleep = notify_one;
    CC_EVENT_AWAIT(&event, look());
    CHECK_EQ(fake.waits, 3);
    CHECK_EQ(fake.membarriers, 3);
    CHECK_EQ(event.waiters, 0);
}

TEST(waits_and_wakes_are_counted_by_how_they_ended)
{
    cc_counters_t before, after;
    rest();
    cc_counters(&before);
    await_from_start(SPIN_LOOKS); /* spins */
    CC_EVENT_AWAIT(&event, look());
    await_from_start(SNOOZE_LOOKS); /* yields */
    CC_EVENT_AWAIT(&event, look());
    await_from_start(SNOOZE_LOOKS + 1); /* listens, and does not sleep: the yield was the last that it did */
    CC_EVENT_AWAIT(&event, look());
    await_from_start(SNOOZE_LOOKS + 6); /* sleeps; is woken twice, once in vain; the signal is no wake-up */
    FAKE_SCRIPT({ 0, 3000 }, { EINTR, 500 }, { 0, 1500 });
    fake.asleep = notify_one;
    CC_EVENT_AWAIT(&event, look());
    await_from_start(0); /* gives up asleep, and was not woken */
    CHECK(!CC_EVENT_AWAIT_TIMEOUT(&event, look(), 1000000));
    set_up(); /* by hand, and the second one does not sleep */
    fake.asleep = notify_all;
    FAKE_SCRIPT({ 0, 100 });
    cc_event_wait(&event, cc_event_listen(&event));
    cc_event_wait(&event, cc_event_listen(&event) - 1);
    await_from_start(1); /* these have not waited */
    CC_EVENT_AWAIT(&event, look());
    CHECK(!CC_EVENT_AWAIT_UNTIL(&event, look(), 0));
    cc_counters(&after);
    CHECK_EQ(after.event.spun - before.event.spun, 1);
    CHECK_EQ(after.event.yielded - before.event.yielded, 2);
    CHECK_EQ(after.event.slept - before.event.slept, 3);
    CHECK_EQ(after.event.waits - before.event.waits, 6);
    CHECK_EQ(after.event.slept_ns - before.event.slept_ns, 5000 + 1000000 + 100);
    CHECK_EQ(after.event.wakes - before.event.wakes, 4);
    CHECK_EQ(after.event.wakes_in_vain - before.event.wakes_in_vain, 1);
    CHECK_EQ(memcmp(&after.lock, &before.lock, sizeof after.lock), 0);
    CHECK_EQ(memcmp(&after.channel, &before.channel, sizeof after.channel), 0);
}

TEST(await_on_one_cpu_does_not_spin)
{
    static const cc_costs_t one_cpu = { 40000, 1000, 30000, 1 };
    await_from_start(0);
    cc_costs_set(&one_cpu);
    CHECK(!CC_EVENT_AWAIT_UNTIL(&event, look(), fake.now_ns + 100));
    CHECK_EQ(fake.pauses, 0);
    CHECK_EQ(fake.yields, 0); /* not with a deadline: a yield may last longer than it */
    CHECK_EQ(fake.waits, 1);
    CHECK_EQ(event.waiters, 0);
}

TEST(await_with_a_past_deadline_looks_once)
{
    for (unsigned holds = 1; holds <= 2; holds++) {
        await_from_start(holds);
        CHECK_EQ(CC_EVENT_AWAIT_UNTIL(&event, look(), fake.now_ns), holds == 1);
        CHECK_EQ(looks, 1);
        CHECK_EQ(fake.pauses + fake.yields + fake.waits, 0);
    }
}

TEST(await_looks_once_more_after_the_deadline)
{
    unsigned last = SPIN_LOOKS + 2; /* no yields, because a yield may last longer than there is time */
    for (unsigned holds = last; holds <= last + 1; holds++) {
        await_from_start(holds);
        CHECK_EQ(CC_EVENT_AWAIT_UNTIL(&event, look(), fake.now_ns + 6000), holds == last);
        CHECK_EQ(looks, last);
        CHECK_EQ(fake.yields, 0);
        CHECK_EQ(event.waiters, 0);
    }
}

enum { MOST_PAUSES = 30000 * 3 / 4 / 40 }; /* three quarters of wake_ns */

static void await_again(unsigned holds)
{
    fake_forget();
    looks = 0;
    holds_at = holds;
    CC_EVENT_AWAIT(&event, look());
}

static uint64_t sleep_takes;
static void notify_after_a_sleep(void)
{
    fake.now_ns += sleep_takes;
    holds_at = looks + 1;
    notify_one();
}

TEST(await_spins_longer_while_that_pays_and_stops_while_it_does_not)
{
    await_from_start(1);
    fake.asleep = notify_after_a_sleep;
    for (int i = 0; i < 100; i++) await_again(3); /* after one pause */
    sleep_takes = 1000000;
    await_again(0);
    CHECK_EQ(fake.pauses, MOST_PAUSES);
    for (int i = 0; i < 12; i++) await_again(0);
    CHECK_EQ(fake.pauses + fake.yields, 0);
    CHECK_EQ(fake.waits, 1);
    sleep_takes = 1000; /* once may be chance ... */
    await_again(0);
    await_again(0);
    CHECK(fake.pauses > 0 && fake.pauses <= MOST_PAUSES / 32);
    for (int i = 0; i < 3; i++) await_again(0); /* ... four times is not */
    CHECK_EQ(fake.pauses, MOST_PAUSES);
}

/* Short waits of 10 pauses, 0.4 us, until there was a yield; returns how many. */
static unsigned short_waits_until_a_yield(void)
{
    for (unsigned waits = 1; waits < 200000; waits++) {
        await_again(12);
        if (fake.yields > 0) return waits;
        CHECK_EQ(fake.pauses, 10);
    }
    return 0;
}

TEST(who_spins_again_and_again_yields_and_less_often_where_nobody_else_wants_the_cpu)
{
    rest();
    await_from_start(1);
    fake.yield_ns = 3400; /* somebody ran */
    (void)short_waits_until_a_yield();
    unsigned first = short_waits_until_a_yield();
    CHECK(first >= 25 && first <= 27); /* 10 us of them */
    CHECK_EQ(short_waits_until_a_yield(), first);
    fake.yield_ns = 600; /* nobody did */
    CHECK_EQ(short_waits_until_a_yield(), first);
    unsigned last = first, waits;
    while ((waits = short_waits_until_a_yield()) > last) last = waits;
    CHECK(last >= 60 * first && last <= 70 * first);
    fake.yield_ns = 3400;
    CHECK_EQ(short_waits_until_a_yield(), last);
    CHECK_EQ(short_waits_until_a_yield(), first);
}

TEST(who_spins_finds_out_about_a_busy_neighbour_and_spins_on)
{
    rest();
    await_from_start(1);
    fake.yield_ns = 3000000;
    (void)short_waits_until_a_yield();
    unsigned yields = 0;
    for (unsigned waits = 0; waits < 50000; waits++) { /* for 20 ms */
        await_again(12);
        yields += fake.yields;
    }
    CHECK_EQ(yields, 0);
    CHECK_EQ(cc_snooze_calm_(), CC_CALM_); /* it had no reason to yield but its own */
    fake.yield_ns = 3400;
    (void)short_waits_until_a_yield(); /* for the next tests it is as ever */
}

TEST(who_has_a_deadline_or_has_slept_does_not_give_way)
{
    await_from_start(1);
    for (int i = 0; i < 100; i++) {
        fake_forget();
        looks = 0;
        holds_at = 12;
        CHECK(CC_EVENT_AWAIT_TIMEOUT(&event, look(), 1000000000));
        CHECK_EQ(fake.yields, 0);
    }
    for (int i = 0; i < 100; i++) {
        rest();
        await_from_start(1);
        for (int j = 0; j < 20; j++) await_again(12);
        CHECK_EQ(fake.yields, 0);
    }
}

static void a_pause_takes_40_ns(void)
{
    fake.now_ns += 40;
}

TEST(await_spins_no_longer_than_to_the_deadline_and_learns_nothing_then)
{
    await_from_start(0);
    fake.on_pause = a_pause_takes_40_ns;
    CHECK(!CC_EVENT_AWAIT_UNTIL(&event, look(), fake.now_ns + 1000));
    CHECK_EQ(fake.pauses, 25);
    CHECK_EQ(fake.yields + fake.waits, 0);
    CHECK_EQ(event.snooze, 0);
}

TEST(await_that_expires_asleep_learns_to_sleep_at_once)
{
    await_from_start(0);
    for (int i = 0; i < 12; i++) {
        fake_forget();
        looks = 0;
        CHECK(!CC_EVENT_AWAIT_UNTIL(&event, look(), fake.now_ns + 1000000));
    }
    CHECK_EQ(fake.pauses + fake.yields, 0);
    CHECK_EQ(fake.waits, 1);
}

TEST(await_takes_any_expression)
{
    set_up();
    int left = 3;
    void *pointer = &left;
    uint64_t high = UINT64_C(1) << 40;
    CC_EVENT_AWAIT(&event, --left == 0);
    CC_EVENT_AWAIT(&event, pointer);
    CHECK(CC_EVENT_AWAIT_UNTIL(&event, high, 0)); /* true, although its low half is 0 */
    if (CC_EVENT_AWAIT_UNTIL(&event, left != 0, 0)) CHECK(false);
    CHECK_EQ(left, 0);
    /* One that waits itself, in vain the first two times. */
    CHECK(CC_EVENT_AWAIT_UNTIL(&event, CC_EVENT_AWAIT_UNTIL(&event, ++left == 3, 0), CC_FOREVER));
    CHECK_EQ(left, 3);
    CHECK_EQ(event.waiters & (CC_EVENT_LISTENING_ | CC_EVENT_CLAIMS_), 0);
}

/* A wait for a relayed event that may yield four times, up to the look after the first yield. A time slice of somebody
 * else takes A_SLICE, and a turn of one of ours A_TURN. */
enum { A_TURN = 3400, A_SLICE = 3000000 };
static cc_event_await_t relayed_await_after_a_yield(uint64_t yield_ns, uint32_t overtaken)
{
    cc_event_await_t await = cc_event_await_begin_(&event, CC_FOREVER);
    await.relayed = true;
    event.snooze = 1 + 4; /* no pauses, four yields */
    fake.yield_ns = yield_ns;
    CHECK(cc_event_await_step_(&await));
    CHECK_EQ(fake.yields, 1);
    await.overtaken = overtaken;
    return await;
}

TEST(who_is_overtaken_in_a_yield_that_ran_none_of_ours_yields_no_more)
{
    static const uint64_t yields[] = { 600 /* nobody ran */, A_SLICE };
    for (int i = 0; i < 2; i++) {
        set_up();
        cc_event_await_t await = relayed_await_after_a_yield(yields[i], 1);
        CHECK(cc_event_await_step_(&await));
        CHECK_EQ(fake.yields, 1);
        CHECK_EQ(listening(), 1);
        cc_event_await_end_(&await);
        CHECK_EQ(listening(), 0);
    }
}

TEST(who_takes_turns_with_ours_yields_as_long_as_they_get_something)
{
    set_up();
    cc_event_await_t await = relayed_await_after_a_yield(A_TURN, 1);
    for (int i = 2; i <= 100; i++) {
        CHECK(cc_event_await_step_(&await));
        CHECK_EQ(fake.yields, i);
    }
    CHECK_EQ(listening(), 0);
    await.overtaken = 0; /* from here on nobody gets anything: three are left of the four that it has again */
    while (listening() == 0) CHECK(cc_event_await_step_(&await));
    CHECK_EQ(fake.yields, 103);
    cc_event_await_end_(&await);
}

static void one_of_ours_is_seen(void)
{
    (void)cc_snooze_seen_(fake.now_ns + A_SLICE / 2);
}

/* While it yields nobody can wake it. */
TEST(who_yielded_to_long_work_of_ours_sleeps_unless_others_got_something)
{
    set_up();
    fake.on_yield = one_of_ours_is_seen;
    cc_event_await_t await = relayed_await_after_a_yield(A_SLICE, 1);
    CHECK_EQ(await.ending, CC_RAN_SOMEBODY_);
    CHECK(cc_event_await_step_(&await));
    CHECK_EQ(fake.yields, 2);
    await.overtaken = 0;
    CHECK(cc_event_await_step_(&await));
    CHECK_EQ(fake.yields, 2);
    CHECK_EQ(listening(), 1);
    cc_event_await_end_(&await);
}

TEST(who_takes_turns_with_ours_sleeps_once_the_cpus_are_busy)
{
    set_up();
    cc_event_await_t await = relayed_await_after_a_yield(A_TURN, 1);
    for (int i = 0; i < 2; i++) cc_snooze_note_loss_(fake.now_ns);
    CHECK_EQ(cc_snooze_calm_(), CC_BUSY_);
    CHECK(cc_event_await_step_(&await));
    CHECK_EQ(fake.yields, 1);
    CHECK_EQ(listening(), 1);
    cc_event_await_end_(&await);
    fake.now_ns += 1000000000;
    CHECK_EQ(cc_snooze_calm_(), CC_CALM_); /* for the next tests it is as ever */
}

TEST(a_slice_that_went_to_others_of_the_same_side_is_no_reason_to_sleep)
{
    for (int i = 0; i < 5; i++) {
        set_up(); /* which leaves alone what the process knows of its CPUs */
        cc_event_await_t await = relayed_await_after_a_yield(A_SLICE, 1);
        cc_event_await_end_(&await);
        CHECK_EQ(event.snooze, 1 + 4); /* and it teaches nothing */
    }
    set_up();
    int left = 3;
    CC_EVENT_AWAIT(&event, --left == 0);
    CHECK(fake.pauses > 0); /* not so on busy CPUs */
}

static void notify_one_after_100_us(void)
{
    fake.now_ns += 100000;
    notify_one();
}

TEST(waiters_that_take_turns_learn_from_all_of_them)
{
    /* asleep for 100 us: alone; while nine others got something; and while two did, which is neither often nor rare */
    static const uint32_t overtaken[] = { 0, 9, 2 };
    for (int i = 0; i < 3; i++) {
        set_up();
        fake.asleep = notify_one_after_100_us;
        cc_event_await_t await = cc_event_await_begin_(&event, CC_FOREVER);
        await.relayed = true;
        event.snooze = 1 + 8 * 10;
        while (!await.slept) CHECK(cc_event_await_step_(&await));
        await.overtaken = overtaken[i];
        cc_event_await_end_(&await);
        uint32_t pauses = (event.snooze - 1) / 8;
        CHECK(i == 0 ? pauses < 10 : i == 1 ? pauses > 10 : pauses == 10);
    }
}

/* ---- Relayed: one on behalf of the others ------------------------------------------------------------------------ */

enum { CPU_SHIFT = 22 }; /* where 1 + the CPU of the last notifier stands in `left_to_it` */

static void relay(uint32_t whom)
{
    cc_event_notify_slow_(&event, whom);
}

/* A wait beside another thread that listens; how many pauses it spins before it sleeps, if nothing comes. */
static unsigned pauses_of_lookout(uint32_t cpu, bool gets_something)
{
    fake.cpu = cpu;
    event.snooze = 1 + 8 * 10;
    cc_event_await_t await = cc_event_await_begin_(&event, CC_FOREVER);
    await.relayed = true;
    unsigned before = fake.pauses;
    do CHECK(cc_event_await_step_(&await));
    while (await.phase != 2 /* LISTENING */ && !(gets_something && fake.pauses > before));
    cc_event_await_end_(&await);
    return fake.pauses - before;
}

TEST(nobody_looks_out_where_others_want_the_cpu)
{
    set_up();
    (void)!cc_event_listen(&event);
    (void)!cc_event_listen(&event);
    CHECK(pauses_of_lookout(0, false) > 0); /* nobody has notified yet */
    fake.cpu = 0;
    relay(CC_NOTIFY_RELAY_);
    CHECK_EQ(pauses_of_lookout(0, false), 0); /* the last notifier runs here */
    CHECK(pauses_of_lookout(1, false) > 0);
    fake.cpu = 1; /* whoever relays is no notifier */
    relay(CC_NOTIFY_REST_);
    CHECK_EQ(pauses_of_lookout(0, false), 0);
    fake.yield_ns = 50000; /* a yield runs somebody */
    CHECK_EQ(pauses_of_lookout(1, false), 0);
    fake.yield_ns = 1000;
    fake.cpu = UINT32_MAX; /* the system does not tell */
    relay(CC_NOTIFY_RELAY_);
    CHECK(pauses_of_lookout(UINT32_MAX, false) > 0);
}

TEST(a_lookout_that_got_much_spins_for_longer_but_only_once_in_vain)
{
    set_up();
    (void)!cc_event_listen(&event);
    (void)pauses_of_lookout(1, false); /* in vain: whatever an earlier test has got is forgotten */
    unsigned alone = pauses_of_lookout(1, false);
    for (int i = 0; i < 1000; i++) (void)pauses_of_lookout(1, true);
    unsigned limit = 30000 * 3 / 4 / 40; /* of set_up()'s costs */
    CHECK_EQ(pauses_of_lookout(1, false), alone + 4 * limit);
    CHECK_EQ(pauses_of_lookout(1, false), alone);
}

/* Messages that come one by one keep a lookout spinning for ever, in one short wait after the other. */
TEST(a_lookout_that_always_gets_something_gives_way_too)
{
    set_up();
    (void)!cc_event_listen(&event);
    (void)pauses_of_lookout(1, true);
    fake.yield_ns = 3400; /* somebody ran */
    unsigned waits[3];
    for (int i = 0; i < 3; i++) {
        fake_forget();
        for (waits[i] = 0; fake.yields == 0 && waits[i] < 100000; waits[i]++) (void)pauses_of_lookout(1, true);
    }
    CHECK(waits[1] >= 250 && waits[1] <= 252); /* 10 us of them, with a pause of 40 ns each */
    CHECK_EQ(waits[2], waits[1]);
}

/* Whether a wait that gave way spins or yields after it, if the others got so much meanwhile, the word is
 * as given, and the last notifier was on that CPU. The wait is on CPU 1. */
static bool spins_after_it_gave_way(uint32_t overtaken, uint32_t waiters, uint32_t notifiers_cpu)
{
    set_up();
    (void)!cc_event_listen(&event);
    (void)pauses_of_lookout(1, true);
    fake_forget();
    event.waiters = waiters;
    event.left_to_it = (notifiers_cpu + 1) << CPU_SHIFT;
    fake.yield_ns = 3400; /* somebody ran */
    fake.cpu = 1;
    event.snooze = 1 + 4 + 8 * 10;
    cc_snooze_spun_(1000000, false);
    cc_event_await_t await = cc_event_await_begin_(&event, CC_FOREVER);
    await.relayed = true;
    CHECK(cc_event_await_step_(&await));
    CHECK_EQ(fake.yields, 1);
    await.overtaken = overtaken;
    CHECK(cc_event_await_step_(&await));
    bool spins = await.phase != 2; /* LISTENING */
    cc_event_await_end_(&await);
    return spins;
}

TEST(who_gave_way_and_was_overtaken_is_not_needed_unless_nobody_looks)
{
    CHECK(spins_after_it_gave_way(0, 0, 0));
    CHECK(!spins_after_it_gave_way(1, 0, 0));                     /* as far as it knows they are all awake */
    CHECK(!spins_after_it_gave_way(1, 1 + CC_EVENT_LOOKOUT_, 0)); /* one sleeps, another looks out */
    CHECK(spins_after_it_gave_way(1, 1, 0));                      /* somebody sleeps, and nobody looks out */
    CHECK(!spins_after_it_gave_way(1, 1, 1));                     /* but here it would keep the notifier off */
}

TEST(a_lookout_that_gave_way_and_was_overtaken_does_not_take_itself_for_another)
{
    set_up();
    (void)!cc_event_listen(&event);
    (void)pauses_of_lookout(1, true);
    fake_forget();
    event.waiters = 1;
    event.left_to_it = 1 << CPU_SHIFT; /* the notifier is on CPU 0 */
    fake.yield_ns = 3400;              /* somebody ran */
    fake.cpu = 1;
    event.snooze = 1 + 4 + 8 * 1000;
    cc_snooze_spun_(1000000, false);
    cc_event_await_t await = cc_event_await_begin_(&event, CC_FOREVER);
    await.relayed = true;
    CHECK(cc_event_await_step_(&await));
    CHECK(await.gave_way);
    await.overtaken = 1;
    CHECK(cc_event_await_step_(&await));
    CHECK(await.lookout);
    while (await.pauses > 0) CHECK(cc_event_await_step_(&await)); /* its round is over, and another got something */
    CHECK(await.pauses_left > 0);
    CHECK(cc_event_await_step_(&await));
    CHECK(await.lookout);
    cc_event_await_end_(&await);
}

/* A wait for a relayed event, up to the look after a sleep that a wake-up ended. */
static cc_event_await_t relayed_await_after_a_wake_up(uint32_t snooze_iters, uint64_t deadline)
{
    set_up();
    fake.asleep = notify_one;
    cc_event_await_t await = cc_event_await_begin_(&event, deadline);
    await.relayed = true;
    await.snooze_iters = snooze_iters;
    event.snooze = 1 + 4; /* no pauses, four yields */
    while (!await.slept) CHECK(cc_event_await_step_(&await));
    CHECK(await.woken);
    fake_forget();
    return await;
}

TEST(who_was_woken_for_what_others_got_yields_before_it_sleeps_again)
{
    cc_event_await_t await = relayed_await_after_a_wake_up(0, CC_FOREVER);
    fake.yield_ns = A_TURN;
    await.overtaken = 1;
    for (int i = 1; i <= 100; i++) { /* it takes turns with those */
        CHECK(cc_event_await_step_(&await));
        CHECK_EQ(fake.yields, i);
        CHECK_EQ(listening(), 0);
    }
    await.overtaken = 0;
    while (listening() == 0) CHECK(cc_event_await_step_(&await));
    CHECK_EQ(fake.yields, 103);
    cc_event_await_end_(&await);
    CHECK(await.announced); /* so that it looks whether there is something for another */
}

/* The CPU was lost before the sleep, and what came after it says nothing of other programs. */
TEST(who_lost_its_cpu_slept_and_yields_learns_from_its_yields)
{
    cc_event_await_t await = relayed_await_after_a_wake_up(0, CC_FOREVER);
    await.lost_cpu = true;
    await.overtaken = 1;
    fake.yield_ns = 600; /* nobody ran */
    CHECK(cc_event_await_step_(&await));
    CHECK_EQ(fake.yields, 1);
    await.overtaken = 0;
    cc_event_await_end_(&await);
    CHECK((event.snooze - 1) / 8 > 0); /* longer, after a yield that ended it and ran nobody */
    CHECK_EQ((event.snooze - 1) % 8, 4);
}

static bool sleeps_again_at_once(cc_event_await_t await, uint32_t overtaken)
{
    await.overtaken = overtaken;
    CHECK(cc_event_await_step_(&await));
    bool listens = listening() == 1;
    cc_event_await_end_(&await);
    return listens && fake.yields == 0;
}

TEST(who_was_woken_in_vain_sleeps_at_once_where_yields_are_not_for_it)
{
    CHECK(!sleeps_again_at_once(relayed_await_after_a_wake_up(0, CC_FOREVER), 1));
    CHECK(sleeps_again_at_once(relayed_await_after_a_wake_up(0, CC_FOREVER), 0)); /* nobody got anything */
    CHECK(sleeps_again_at_once(relayed_await_after_a_wake_up(8, CC_FOREVER), 1)); /* it has had its eight */
    CHECK(sleeps_again_at_once(relayed_await_after_a_wake_up(CC_AWAIT_NO_SNOOZE_, CC_FOREVER), 1));
    CHECK(sleeps_again_at_once(relayed_await_after_a_wake_up(0, CC_FOREVER - 1), 1)); /* never with a deadline */
    cc_event_await_t await = relayed_await_after_a_wake_up(0, CC_FOREVER);
    event.snooze = 1; /* the event has learned to sleep */
    CHECK(sleeps_again_at_once(await, 1));
}

/* The pauses that an event with 80 of them has learned after a wait on this CPU that a yield ended, which ran somebody,
 * if notifiers were on the other two before. */
static uint32_t pauses_after_a_turn(uint32_t cpu, uint32_t one, uint32_t other)
{
    set_up();
    for (int i = 0; i < 3; i++) (void)!cc_event_listen(&event);
    fake.cpu = one;
    relay(CC_NOTIFY_RELAY_);
    fake.cpu = other;
    relay(CC_NOTIFY_RELAY_);
    event.waiters = 0;
    cc_event_await_t await = cc_event_await_begin_(&event, CC_FOREVER);
    await.relayed = true;
    event.snooze = 1 + 4 + 8 * 80;
    fake.cpu = cpu;
    fake.yield_ns = A_TURN;
    while (fake.yields == 0) CHECK(cc_event_await_step_(&await));
    cc_event_await_end_(&await);
    return (event.snooze - 1) / 8;
}

TEST(a_turn_of_others_makes_waits_shorter_only_where_a_notifier_may_need_the_cpu)
{
    CHECK_EQ(pauses_after_a_turn(1, 1, 1), 70);
    CHECK_EQ(pauses_after_a_turn(1, 0, 0), 80);          /* it was one that waits, too */
    CHECK_EQ(pauses_after_a_turn(1, 1, 0), 70);          /* the last notifier is elsewhere, and another was here */
    CHECK_EQ(pauses_after_a_turn(UINT32_MAX, 0, 0), 70); /* the system does not tell */
    CHECK_EQ(pauses_after_a_turn(1, UINT32_MAX, UINT32_MAX), 70);
}

/* A wait on CPU 1 that ends after a yield in which one of ours had a turn. */
static void await_a_turn(void)
{
    unsigned yields = fake.yields;
    cc_event_await_t await = cc_event_await_begin_(&event, CC_FOREVER);
    await.relayed = true;
    fake.cpu = 1;
    fake.yield_ns = A_TURN;
    while (fake.yields == yields) CHECK(cc_event_await_step_(&await));
    cc_event_await_end_(&await);
}

TEST(a_turn_of_others_makes_waits_shorter_while_nobody_has_notified)
{
    set_up();
    event.snooze = 1 + 4 + 8 * 80;
    await_a_turn();
    CHECK_EQ(event.snooze, 1 + 4 + 8 * 70);
}

static void notify_on(uint32_t cpu)
{
    (void)!cc_event_listen(&event);
    fake.cpu = cpu;
    relay(CC_NOTIFY_RELAY_);
    cc_event_cancel(&event);
}

/* Notifiers tell their CPU only while somebody listens. */
TEST(a_notifier_that_came_to_this_cpu_gets_it_although_nobody_told)
{
    set_up();
    notify_on(0);
    event.snooze = 1 + 4 + 8 * 80;
    for (int i = 0; i < 100; i++) {
        await_a_turn();
        relay(CC_NOTIFY_RELAY_); /* on CPU 1, during that yield; it finds nobody who listens */
    }
    CHECK((event.snooze - 1) / 8 < 10);
    event.snooze = 1 + 4 + 8 * 80;
    notify_on(0); /* it told again that it is elsewhere */
    await_a_turn();
    CHECK_EQ(event.snooze, 1 + 4 + 8 * 80);
}

TEST(one_move_of_the_only_notifier_is_forgotten_after_many_notifies)
{
    for (int wakes = 0; wakes < 2; wakes++) {
        set_up();
        event.snooze = 1 + 4 + 8 * 80;
        notify_on(2);
        notify_on(0);
        await_a_turn();
        CHECK_EQ((event.snooze - 1) / 8, 70); /* there may be two of them */
        event.snooze = 1 + 4 + 8 * 80;
        if (!wakes) event.waiters = 1 + CC_EVENT_LOOKOUT_;
        for (int i = 0; i < (wakes ? 511 : 511 * 64 + 64); i++) {
            fake.cpu = 0;
            event.looked_at = (uint32_t)fake.now_ns;
            if (wakes)
                notify_on(0);
            else
                relay(CC_NOTIFY_RELAY_);
        }
        event.waiters = 0;
        await_a_turn();
        CHECK_EQ((event.snooze - 1) / 8, 80);
    }
}

TEST(a_woken_thread_without_a_cpu_gets_another_beside_it_after_half_a_wake_up)
{
    set_up();
    for (int i = 0; i < 3; i++) (void)!cc_event_listen(&event);
    relay(CC_NOTIFY_RELAY_);
    CHECK_EQ(fake.wakes, 1);
    fake.now_ns += 14000;
    relay(CC_NOTIFY_RELAY_);
    CHECK_EQ(fake.wakes, 1);
    fake.now_ns += 2000;
    relay(CC_NOTIFY_REST_); /* it has a CPU itself */
    CHECK_EQ(fake.wakes, 1);
    relay(CC_NOTIFY_RELAY_);
    CHECK_EQ(fake.wakes, 2);
    CHECK_EQ(claims(), 2);
}
