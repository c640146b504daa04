/* snooze.c on a fake system and a virtual clock: what the policy learns, and when it takes the CPUs for busy.
 * src/snooze.c is included, so that each test can start with nothing learned. */
#include "harness.h"
#include "fake_os.h"
#include <concede/arch.h>
#undef CC_ARCH_PAUSE_
#define CC_ARCH_PAUSE_() fake_pause()
#include <concede/costs.h>
#include <concede/event.h>
#include "../../src/snooze.c"

enum { LIMIT = 1000, MS = 1000000, SLICE = 3 * MS };

static void set_up(void)
{
    cc_costs_t costs = { 40000, 1000, 30000, 2 };
    fake_start();
    cc_costs_set(&costs);
    fake.now_ns = UINT64_C(1000) * MS;
    busy_for_ = busy_until_ = 0;
    for (int i = 0; i < SEEN_CPUS; i++) seen_at_[i] = seen_who_[i] = shared_at_[i] = 0;
    sampled_at_ = sampled_ = whose_cpus_ = 0;
    spun_ = give_way_after_ = 0;
}

/* A yield that takes so long; how the wait ends that ends with it. */
static cc_ending_t yield_for(uint64_t ns)
{
    uint64_t now = fake.now_ns;
    fake.yield_ns = ns;
    cc_ending_t ending = cc_snooze_yield_(&now);
    if (ending == CC_SLEPT_LONG_) cc_snooze_note_loss_(now);
    return ending;
}

static void pass(uint64_t ms)
{
    fake.now_ns += ms * MS;
}

TEST(spinning_is_worth_three_quarters_of_a_wake_up)
{
    set_up();
    CHECK_EQ(cc_snooze_spin_limit_ns_(), 22500);
    CHECK_EQ(cc_snooze_spin_limit_(), 22500 / 40);
}

TEST(a_quota_bounds_spinning_by_the_time_that_sleeping_takes)
{
    set_up();
    fake.quota = 1;
    CHECK(cc_snooze_spin_limit_ns_() <= 22500);
}

TEST(waits_that_pay_grow_and_waits_that_do_not_shrink)
{
    cc_snooze_t s = { 0, 0 };
    for (int i = 0; i < 200; i++) s = cc_snooze_learned_(s, CC_SPUN_, LIMIT);
    CHECK_EQ(s.pauses, LIMIT);
    for (int i = 0; i < 20; i++) s = cc_snooze_learned_(s, CC_SLEPT_LONG_, LIMIT);
    CHECK_EQ(s.pauses + s.yields, 0);
    for (int i = 0; i < 4; i++) s = cc_snooze_learned_(s, CC_SLEPT_SHORT_, LIMIT);
    CHECK_EQ(s.pauses, LIMIT);
    CHECK_EQ(s.yields, YIELDS_MAX);
    cc_snooze_t shorter = cc_snooze_learned_(s, CC_RAN_SOMEBODY_, LIMIT);
    CHECK(shorter.pauses < s.pauses);
    CHECK_EQ(shorter.yields, YIELDS_MAX);
    cc_snooze_t none = cc_snooze_learned_(s, CC_GATHERED_, LIMIT);
    CHECK_EQ(none.pauses + none.yields, 0);
}

TEST(no_value_overflows)
{
    cc_snooze_t most = { UINT32_MAX, UINT32_MAX };
    for (cc_ending_t e = CC_SPUN_; e <= CC_SLEPT_LONG_; e++) {
        cc_snooze_t s = cc_snooze_learned_(most, e, UINT32_MAX);
        CHECK(s.pauses >= UINT32_MAX / 2 && s.yields <= YIELDS_MAX);
    }
}

TEST(a_yield_says_whom_it_ran)
{
    set_up();
    CHECK_EQ(yield_for(600), CC_YIELDED_);
    CHECK_EQ(yield_for(3400), CC_RAN_SOMEBODY_);
    CHECK_EQ(yield_for(SLICE), CC_SLEPT_LONG_);
}

TEST(one_long_yield_may_be_chance_two_are_a_neighbour)
{
    set_up();
    CHECK_EQ(yield_for(SLICE), CC_SLEPT_LONG_);
    CHECK_EQ(cc_snooze_calm_(), CC_CALM_);
    pass(1000); /* a host that takes the CPU once a second */
    CHECK_EQ(yield_for(SLICE), CC_SLEPT_LONG_);
    CHECK_EQ(cc_snooze_calm_(), CC_CALM_);
    pass(10);
    CHECK_EQ(yield_for(SLICE), CC_SLEPT_LONG_);
    CHECK_EQ(cc_snooze_calm_(), CC_BUSY_);
}

static void make_busy(void)
{
    set_up();
    yield_for(SLICE);
    yield_for(SLICE);
    CHECK_EQ(cc_snooze_calm_(), CC_BUSY_);
}

TEST(when_the_neighbours_are_gone_it_spins_again_and_then_yields_again)
{
    make_busy();
    pass(BUSY_FIRST + BUSY_FIRST / 10);
    CHECK_EQ(cc_snooze_calm_(), CC_ON_TRIAL_);
    pass(BUSY_FIRST + BUSY_FIRST / 10);
    CHECK_EQ(cc_snooze_calm_(), CC_CALM_);
    CHECK_EQ(busy_for_, 0);
}

TEST(while_they_stay_it_tries_less_and_less_often_but_every_second)
{
    make_busy();
    uint32_t length = BUSY_FIRST;
    for (int i = 0; i < 10; i++) {
        while (cc_snooze_calm_() == CC_BUSY_) pass(1);
        CHECK_EQ(cc_snooze_calm_(), CC_ON_TRIAL_);
        fake.now_ns += SLICE;
        CHECK(cc_snooze_lost_cpu_(0, fake.now_ns - SLICE, 2000, fake.now_ns)); /* while it spun */
        CHECK_EQ(cc_snooze_calm_(), CC_ON_TRIAL_);
        cc_snooze_note_loss_(fake.now_ns);
        CHECK_EQ(cc_snooze_calm_(), CC_BUSY_);
        length = length < BUSY_MAX ? length * 2 : BUSY_MAX;
        CHECK_EQ(busy_for_, length);
    }
    CHECK_EQ(length, BUSY_MAX);
}

TEST(losses_while_it_is_busy_change_nothing)
{
    make_busy();
    uint32_t until = busy_until_;
    for (int i = 0; i < 5; i++) yield_for(SLICE); /* other threads, hit by the same neighbour */
    CHECK_EQ(busy_until_, until);
    CHECK_EQ(busy_for_, BUSY_FIRST);
}

/* Another thread of ours waits on this CPU while we are in the yield. */
static void one_of_ours_runs(void)
{
    (void)cc_snooze_seen_(fake.now_ns);
}

TEST(a_cpu_that_was_lost_to_one_of_our_own_threads_is_not_busy)
{
    set_up();
    fake.on_yield = one_of_ours_runs;
    for (int i = 0; i < 10; i++) CHECK_EQ(yield_for(SLICE), CC_RAN_SOMEBODY_);
    CHECK_EQ(cc_snooze_calm_(), CC_CALM_);
}

static void one_of_ours_woke_up(void)
{
    seen_who_[0] = own_number_() + 2; /* and was not seen since */
}

TEST(nor_if_that_thread_was_seen_only_as_it_woke_up)
{
    set_up();
    fake.on_yield = one_of_ours_woke_up;
    for (int i = 0; i < 10; i++) CHECK_EQ(yield_for(SLICE), CC_RAN_SOMEBODY_);
    CHECK_EQ(cc_snooze_calm_(), CC_CALM_);
}

/* ---- Whether to yield at all ------------------------------------------------------------------------------------ */

/* Another thread of ours comes by on this CPU. */
static void *comes_by(void *unused)
{
    (void)unused;
    (void)cc_snooze_seen_(fake.now_ns);
    return NULL;
}

static void another_comes_by(void)
{
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, comes_by, NULL) == 0);
    pthread_join(thread, NULL);
}

TEST(who_has_its_cpu_for_itself_does_not_yield)
{
    set_up();
    for (int i = 0; i < 100; i++, pass(1)) CHECK(!cc_snooze_is_yield_worth_it_(fake.now_ns));
}

TEST(who_shares_its_cpu_with_one_of_ours_yields_until_the_other_is_gone_for_some_slices)
{
    set_up();
    CHECK(!cc_snooze_is_yield_worth_it_(fake.now_ns));
    another_comes_by();
    CHECK(cc_snooze_is_yield_worth_it_(fake.now_ns));
    pass(10);
    CHECK(cc_snooze_is_yield_worth_it_(fake.now_ns));
    pass(10);
    CHECK(!cc_snooze_is_yield_worth_it_(fake.now_ns));
}

TEST(one_of_ours_on_another_cpu_is_no_reason_to_yield)
{
    set_up();
    CHECK(!cc_snooze_is_yield_worth_it_(fake.now_ns));
    fake.cpu = 1;
    another_comes_by();
    fake.cpu = 0;
    CHECK(!cc_snooze_is_yield_worth_it_(fake.now_ns));
}

TEST(one_of_ours_that_was_here_long_ago_is_no_reason_to_yield)
{
    set_up();
    another_comes_by();
    pass(100);
    CHECK(!cc_snooze_is_yield_worth_it_(fake.now_ns));
}

TEST(with_one_cpu_everybody_yields)
{
    set_up();
    fake.cpus = 1;
    cc_costs_t costs = { 40000, 1000, 30000, 1 };
    cc_costs_set(&costs);
    CHECK(cc_snooze_is_yield_worth_it_(fake.now_ns));
}

/* 4 us of pauses, and 0.6 us in place of the yield: it looks after each. */
TEST(a_wait_spins_on_for_as_long_as_a_yield_would_take_that_runs_nobody)
{
    set_up();
    cc_event_t event = CC_EVENT_INIT;
    CC_EVENT_AWAIT(&event, fake.pauses == 114);
    CHECK_EQ(fake.yields + fake.waits, 0);
    set_up();
    cc_event_t other = CC_EVENT_INIT;
    another_comes_by();
    CC_EVENT_AWAIT(&other, fake.yields == 1);
    CHECK_EQ(fake.pauses, 100);
}

/* ---- Wake-ups that come late ------------------------------------------------------------------------------------ */

static void woken_after(uint64_t ns)
{
    uint32_t woken_at = (uint32_t)fake.now_ns;
    fake.now_ns += ns;
    cc_snooze_woken_(woken_at, fake.now_ns);
}

TEST(one_late_wake_up_may_be_chance_two_are_a_neighbour)
{
    set_up();
    for (int i = 0; i < 100; i++) woken_after(30000);
    CHECK_EQ(cc_snooze_calm_(), CC_CALM_);
    woken_after(SLICE);
    CHECK_EQ(cc_snooze_calm_(), CC_CALM_);
    woken_after(SLICE);
    CHECK_EQ(cc_snooze_calm_(), CC_BUSY_);
}

TEST(a_late_wake_up_while_one_of_ours_had_the_cpu_says_nothing)
{
    set_up();
    for (int i = 0; i < 10; i++) {
        uint32_t woken_at = (uint32_t)fake.now_ns;
        pass(2);
        another_comes_by();
        pass(1);
        cc_snooze_woken_(woken_at, fake.now_ns);
        CHECK_EQ(cc_snooze_calm_(), CC_CALM_);
    }
}

static void one_of_ours_runs_elsewhere(void)
{
    fake.cpu = 1;
    (void)cc_snooze_seen_(fake.now_ns);
    fake.cpu = 0;
}

TEST(what_runs_on_another_cpu_does_not_matter)
{
    set_up();
    fake.on_yield = one_of_ours_runs_elsewhere;
    for (int i = 0; i < 2; i++) CHECK_EQ(yield_for(SLICE), CC_SLEPT_LONG_);
    CHECK_EQ(cc_snooze_calm_(), CC_BUSY_);
}

/* Two CPUs; our threads have used so many percent of them while the yield lasted, and nobody has seen them. */
static uint64_t percent_ours;
static void ours_run_unseen(void)
{
    fake.cpu_time_ns += 2 * (uint64_t)SLICE * percent_ours / 100;
}

static cc_calm_t after_20_yields_with(uint64_t percent)
{
    fake.on_yield = ours_run_unseen;
    percent_ours = percent;
    cc_calm_t calm = CC_CALM_;
    for (int i = 0; i < 20; i++) {
        yield_for(SLICE);
        if (cc_snooze_calm_() == CC_BUSY_) calm = CC_BUSY_;
    }
    return calm;
}

TEST(threads_of_ours_that_nobody_sees_but_that_use_up_all_cpus_are_no_neighbour)
{
    static const struct {
        uint64_t percent;
        cc_calm_t calm;
    } cases[] = { { 100, CC_CALM_ }, { 85, CC_CALM_ }, { 75, CC_BUSY_ }, { 50, CC_BUSY_ }, { 1, CC_BUSY_ } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        set_up();
        fake.cpu_time_ns = MS;
        CHECK_EQ(after_20_yields_with(cases[i].percent), cases[i].calm);
    }
}

TEST(when_ours_begin_to_use_up_all_cpus_or_a_neighbour_comes_it_is_noticed)
{
    set_up();
    fake.cpu_time_ns = MS;
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(after_20_yields_with(100), CC_CALM_);
        CHECK_EQ(after_20_yields_with(50), CC_BUSY_);
        while (cc_snooze_calm_() != CC_CALM_) pass(1);
        pass(1000); /* in which nothing was lost: the time that was used then says nothing */
    }
}

TEST(a_neighbour_that_stays_is_not_taken_for_ours_when_it_is_tried_again)
{
    set_up();
    fake.cpu_time_ns = MS;
    CHECK_EQ(after_20_yields_with(50), CC_BUSY_);
    for (int i = 0; i < 10; i++) {
        while (cc_snooze_calm_() == CC_BUSY_) pass(1);
        CHECK_EQ(yield_for(SLICE), CC_SLEPT_LONG_);
        CHECK_EQ(cc_snooze_calm_(), CC_BUSY_);
    }
}

TEST(a_quiet_machine_stays_calm_and_does_not_read_the_clock_for_it)
{
    set_up();
    for (int i = 0; i < 1000; i++) yield_for(600);
    unsigned reads = fake.clock_reads;
    CHECK_EQ(cc_snooze_calm_(), CC_CALM_);
    CHECK_EQ(fake.clock_reads, reads);
}

/* Pauses that this thread spins, 1 us at a time, until it gives way in a yield of this length. */
static uint32_t spins_until_it_gives_way(uint64_t yield_ns)
{
    uint32_t spun = 0;
    fake.yield_ns = yield_ns;
    do {
        cc_snooze_spun_(25, false);
        spun += 25;
    } while (!cc_snooze_gives_way_(CC_PATIENCE_OF_EVENTS_) && spun < 10000000);
    return spun;
}

enum { TEN_US = 250, NEXT_US = 25 }; /* in pauses of set_up()'s costs */

TEST(who_has_spun_for_long_gives_way_and_soon_again_to_one_of_ours)
{
    set_up();
    fake.on_yield = one_of_ours_runs;
    for (int i = 0; i < 5; i++) CHECK_EQ(spins_until_it_gives_way(3400), TEN_US + NEXT_US);
    for (int i = 0; i < 5; i++) CHECK_EQ(spins_until_it_gives_way(SLICE), TEN_US + NEXT_US);
}

TEST(the_more_patient_spins_for_longer_before_it_gives_way)
{
    set_up();
    cc_snooze_spun_(CC_PATIENCE_OF_LOCKS_ * TEN_US, false);
    CHECK(!cc_snooze_gives_way_(CC_PATIENCE_OF_LOCKS_));
    cc_snooze_spun_(CC_PATIENCE_OF_LOCKS_, false);
    CHECK(cc_snooze_gives_way_(CC_PATIENCE_OF_LOCKS_));
}

TEST(less_and_less_often_where_nobody_wants_the_cpu)
{
    set_up();
    uint32_t last = 0;
    for (uint32_t times = 1; times <= GIVE_WAY_ALONE; times *= 2)
        CHECK_EQ(last = spins_until_it_gives_way(600), times * TEN_US + NEXT_US);
    for (int i = 0; i < 5; i++) CHECK_EQ(spins_until_it_gives_way(600), last);
    CHECK_EQ(spins_until_it_gives_way(3400), last);
    CHECK_EQ(spins_until_it_gives_way(3400), TEN_US + NEXT_US);
}

TEST(hardly_ever_to_other_programs)
{
    set_up();
    fake.cpu_time_ns = MS;
    CHECK_EQ(spins_until_it_gives_way(SLICE), TEN_US + NEXT_US);
    pass(WINDOW_MAX / 2); /* in which our threads used no CPU time */
    (void)spins_until_it_gives_way(SLICE);
    uint32_t spun = spins_until_it_gives_way(SLICE);
    CHECK(spun >= GIVE_WAY_BESIDE_OTHERS * TEN_US && spun <= GIVE_WAY_BESIDE_OTHERS * TEN_US + NEXT_US);
}

TEST(who_has_rested_does_not_give_way_and_nobody_does_on_busy_cpus)
{
    set_up();
    cc_snooze_spun_(10 * TEN_US, false);
    cc_snooze_spun_(10 * TEN_US, true);
    CHECK(!cc_snooze_gives_way_(CC_PATIENCE_OF_EVENTS_));
    make_busy();
    cc_snooze_spun_(10 * TEN_US, false);
    cc_snooze_spun_(10 * TEN_US, false);
    CHECK(!cc_snooze_gives_way_(CC_PATIENCE_OF_EVENTS_));
}
