/* costs.h and deadline.h on a virtual clock. src/costs.c is included, so that each test can start before the first
 * use. */
#include "harness.h"
#include "fake_os.h"
#include <concede/arch.h>
#undef CC_ARCH_PAUSE_
#undef CC_ARCH_PAUSE_SB_
#define CC_ARCH_PAUSE_() fake_pause()
#include "../../src/costs.c"
#include <concede/deadline.h>

static void set_up(uint64_t pause_ps, uint64_t yield_ns, uint64_t wake_ns)
{
    fake_start();
    fake.pause_ps = pause_ps;
    fake.yield_ns = yield_ns;
    fake.wake_ns = wake_ns;
    runnable_ = first_wake_ns_ = wake_is_given_ = cpus_are_given_ = is_prepared_ = asked_ = cc_pause_sb_ = 0;
    memset(&costs_, 0, sizeof costs_);
}

TEST(measures_what_things_take)
{
    set_up(32000, 700, 215);
    fake.cpus = 5;
    const cc_costs_t *costs = cc_costs();
    CHECK_EQ(costs->pause_ps, 32000);
    CHECK_EQ(costs->yield_ns, 700);
    CHECK_EQ(costs->wake_ns, 21500); /* a hundred system calls, until a real sleep tells */
    CHECK_EQ(costs->cpus, 5);
}

TEST(measures_once_and_always_returns_the_same)
{
    set_up(32000, 700, 215);
    const cc_costs_t *costs = cc_costs();
    fake_forget();
    fake.pause_ps = 1;
    CHECK(cc_costs() == costs);
    CHECK_EQ(costs->pause_ps, 32000);
    CHECK_EQ(fake.pauses + fake.yields + fake.wakes + fake.clock_reads, 0);
}

TEST(measuring_takes_less_than_200_us_of_the_clock)
{
    static const struct {
        uint64_t pause_ps, yield_ns, wake_ns;
    } machines[] = { { 4000, 200, 70 }, { 32000, 700, 215 }, { 60000, 4000, 1000 }, { 140000, 10000, 3000 } };
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++) {
        set_up(machines[i].pause_ps, machines[i].yield_ns, machines[i].wake_ns);
        cc_costs();
        CHECK(fake.now_ns - 1000000000 < 200000);
    }
}

TEST(each_cost_is_measured_when_it_is_first_needed)
{
    set_up(32000, 700, 215);
    CHECK_EQ(cc_costs_pause_ps_(), 32000);
    CHECK_EQ(fake.pauses, 3 * PAUSES);
    CHECK_EQ(fake.yields + fake.wakes + fake.quota_reads, 0);
    CHECK_EQ(cc_costs_wake_ns_(), 21500);
    CHECK_EQ(fake.wakes, 3 * SYSTEM_CALLS);
    CHECK_EQ(fake.yields + fake.quota_reads, 0);
    fake_forget();
    CHECK_EQ(cc_costs()->yield_ns, 700); /* the rest */
    CHECK_EQ(fake.pauses, 0);
    CHECK_EQ(fake.quota_reads, 1);
}

TEST(learning_the_cpus_measures_nothing)
{
    set_up(32000, 700, 215);
    CHECK(cc_costs_may_spin_());
    CHECK_EQ(fake.pauses + fake.yields + fake.wakes + fake.clock_reads + fake.quota_reads, 0);
    CHECK_EQ(costs_.pause_ps + costs_.yield_ns + costs_.wake_ns + costs_.cpus, 0);
}

TEST(costs_are_known_once_the_pause_is)
{
    set_up(32000, 700, 215);
    CHECK(!cc_costs_are_known_());
    cc_costs_may_spin_();
    CHECK(!cc_costs_are_known_());
    cc_costs_pause_ps_();
    CHECK(cc_costs_are_known_());
}

/* An interrupt in two of the three batches. */
static unsigned pauses_until_interrupt;
static void interrupt(void)
{
    if (fake.pauses == pauses_until_interrupt || fake.pauses == pauses_until_interrupt + PAUSES) fake.now_ns += 1000000;
}

TEST(the_pause_is_measured_three_times_whatever_happens)
{
    for (pauses_until_interrupt = 1; pauses_until_interrupt <= 2 * PAUSES; pauses_until_interrupt++) {
        set_up(32000, 700, 215);
        fake.on_pause = interrupt;
        CHECK_EQ(cc_costs()->pause_ps, 32000);
        CHECK_EQ(fake.pauses, 3 * PAUSES);
    }
}

TEST(a_yield_that_runs_a_neighbour_is_asked_only_once)
{
    set_up(32000, 4000000, 215); /* 4 ms */
    CHECK_EQ(cc_costs()->yield_ns, 3 * 215);
    CHECK(fake.yields <= YIELDS);
}

/* The neighbour gets the CPU at one of the yields, for longer or shorter; the others tell what a yield costs. */
static unsigned busy_yield;
static uint64_t slice_ns;
static void run_neighbour(void)
{
    if (fake.yields == busy_yield) fake.now_ns += slice_ns;
}

TEST(a_yield_that_ran_somebody_says_nothing_about_its_cost)
{
    static const uint64_t slices[] = { 3000, 10000, 100000, 4000000 };
    for (size_t i = 0; i < sizeof slices / sizeof slices[0]; i++) {
        for (busy_yield = 1; busy_yield <= 3 * YIELDS; busy_yield++) {
            set_up(32000, 700, 215);
            slice_ns = slices[i];
            fake.on_yield = run_neighbour;
            uint32_t yield_ns = cc_costs()->yield_ns;
            CHECK(yield_ns == 700 || (busy_yield <= YIELDS && yield_ns == 3 * 215));
        }
    }
}

TEST(what_costs_nothing_measurable_is_never_zero)
{
    set_up(0, 0, 0);
    const cc_costs_t *costs = cc_costs();
    CHECK(costs->pause_ps >= 1 && costs->yield_ns >= 1 && costs->wake_ns >= 1 && costs->cpus >= 1);
}

TEST(a_clock_that_jumps_does_no_harm)
{
    set_up(UINT64_C(1) << 60, UINT64_C(1) << 59, UINT64_C(1) << 58);
    const cc_costs_t *costs = cc_costs();
    CHECK(costs->pause_ps >= 1);
    CHECK(costs->wake_ns <= 1000000);
}

TEST(set_replaces_measuring)
{
    cc_costs_t mine = { 1, 2, 3, 4 };
    set_up(32000, 700, 215);
    cc_costs_set(&mine);
    const cc_costs_t *costs = cc_costs();
    CHECK_EQ(memcmp(costs, &mine, sizeof mine), 0);
    CHECK_EQ(fake.pauses + fake.yields + fake.wakes, 0);
}

TEST(pause_is_chosen_before_it_is_measured_or_used)
{
    cc_costs_t mine = { 1, 2, 3, 4 };
    for (int has_sb = 0; has_sb < 2; has_sb++) {
        set_up(32000, 700, 215);
        fake.has_sb = has_sb;
        cc_costs();
        CHECK_EQ(cc_pause_sb_, has_sb);
        set_up(32000, 700, 215);
        fake.has_sb = has_sb;
        cc_costs_set(&mine);
        CHECK_EQ(cc_pause_sb_, has_sb);
    }
}

TEST(set_measures_what_is_zero_and_ignores_null)
{
    for (int field = 0; field < 4; field++) {
        cc_costs_t some = { field == 0 ? 1 : 0, field == 1 ? 2 : 0, field == 2 ? 3 : 0, field == 3 ? 4 : 0 };
        set_up(32000, 700, 215);
        cc_costs_set(NULL);
        cc_costs_set(&some);
        CHECK_EQ(cc_costs()->pause_ps, field == 0 ? 1 : 32000);
        CHECK_EQ(cc_costs()->yield_ns, field == 1 ? 2 : 700);
        CHECK_EQ(cc_costs()->wake_ns, field == 2 ? 3 : 21500);
        CHECK_EQ(cc_costs()->cpus, field == 3 ? 4 : 2);
        cc_costs_woken_(40000); /* refined unless it was set */
        CHECK_EQ(cc_costs()->wake_ns, field == 2 ? 3 : 21500 + 21500 / 64);
    }
}

TEST(set_wins_over_the_environment_which_wins_over_measuring)
{
    cc_costs_t mine = { 0, 0, 33, 0 };
    set_up(32000, 700, 215);
    fake.costs = "pause_ps=11,yield_ns=22,wake_ns=44";
    cc_costs_set(&mine);
    CHECK_EQ(cc_costs()->pause_ps, 11);
    CHECK_EQ(cc_costs()->yield_ns, 22);
    CHECK_EQ(cc_costs()->wake_ns, 33);
    CHECK_EQ(cc_costs()->cpus, 2);
    CHECK_EQ(fake.pauses + fake.yields + fake.wakes, 0);
}

TEST(the_environment_forbids_and_allows_spinning)
{
    for (uint32_t cpus = 1; cpus <= 2; cpus++) {
        set_up(32000, 700, 215);
        fake.cpus = 3 - cpus;
        fake.costs = cpus == 1 ? "cpus=1" : "cpus=2";
        for (int i = 0; i < 2 * ASK_AGAIN_AFTER; i++) CHECK_EQ(cc_costs_may_spin_(), cpus == 2);
        CHECK_EQ(cc_costs()->cpus, cpus);
    }
}

TEST(an_environment_that_makes_no_sense_is_measured)
{
    static const struct {
        const char *text;
        uint32_t pause_ps, wake_ns;
    } cases[] = { { "", 32000, 21500 },
                  { ",", 32000, 21500 },
                  { "pause_ps", 32000, 21500 },
                  { "pause_ps=", 32000, 21500 },
                  { "pause_ps=0", 32000, 21500 },
                  { "pause_ps=-1", 32000, 21500 },
                  { "pause_ps=1x", 32000, 21500 },
                  { "pause_ps= 1", 32000, 21500 },
                  { "xpause_ps=1", 32000, 21500 },
                  { "pause_ps=4294967296", 32000, 21500 },
                  { "pause_ps=99999999999999999999999999999999", 32000, 21500 },
                  { "pause_ps=4294967295", UINT32_MAX, 21500 },
                  { "speed=9,,wake_ns=5,pause_ps=6", 6, 5 },
                  { "wake_ns=x,wake_ns=5,", 32000, 5 } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        set_up(32000, 700, 215);
        fake.costs = cases[i].text;
        CHECK_EQ(cc_costs()->pause_ps, cases[i].pause_ps);
        CHECK_EQ(cc_costs()->wake_ns, cases[i].wake_ns);
    }
}

TEST(wake_cost_follows_the_library_s_own_sleeps)
{
    set_up(32000, 700, 215);
    CHECK_EQ(cc_costs()->wake_ns, 21500);
    for (int i = 0; i < 200; i++) cc_costs_woken_(40000);
    CHECK(cc_costs()->wake_ns > 39000 && cc_costs()->wake_ns < 41000);
    for (int i = 0; i < 200; i++) cc_costs_woken_(5000);
    CHECK(cc_costs()->wake_ns >= 5000 && cc_costs()->wake_ns < 5100);
}

TEST(one_late_wake_up_moves_the_estimate_little)
{
    set_up(32000, 700, 215);
    uint32_t before = cc_costs()->wake_ns;
    cc_costs_woken_(UINT64_MAX);
    CHECK(cc_costs()->wake_ns < before * 3 / 2);
    CHECK(cc_costs()->wake_ns > before);
}

TEST(wake_cost_stays_within_bounds)
{
    set_up(32000, 700, 215);
    for (int i = 0; i < 1000; i++) cc_costs_woken_(0);
    CHECK_EQ(cc_costs()->wake_ns, WAKE_MIN_NS);
    for (int i = 0; i < 1000; i++) cc_costs_woken_(UINT64_MAX);
    CHECK_EQ(cc_costs()->wake_ns, 2 * 21500); /* twice the first estimate: a busy CPU is no dearer to wake */
}

TEST(wake_cost_that_was_set_is_kept)
{
    cc_costs_t mine = { 1, 2, 3, 4 };
    set_up(32000, 700, 215);
    cc_costs_set(&mine);
    for (int i = 0; i < 100; i++) cc_costs_woken_(60000);
    CHECK_EQ(cc_costs()->wake_ns, 3);
}

TEST(one_cpu_is_asked_for_again_now_and_then)
{
    set_up(32000, 700, 215);
    fake.cpus = 1;
    CHECK(!cc_costs_may_spin_());
    fake.cpus = 2; /* the threads spread out */
    bool spins = false;
    for (int i = 0; i < 2 * ASK_AGAIN_AFTER && !spins; i++) spins = cc_costs_may_spin_();
    CHECK(spins);
    CHECK_EQ(cc_costs()->cpus, 2);
}

TEST(one_cpu_that_was_set_is_not_asked_for_again)
{
    cc_costs_t mine = { 0, 0, 0, 1 };
    set_up(32000, 700, 215);
    cc_costs_set(&mine);
    for (int i = 0; i < 2 * ASK_AGAIN_AFTER; i++) CHECK(!cc_costs_may_spin_());
    CHECK_EQ(cc_costs()->cpus, 1);
}

/* Until its time is used up, threads run at the same time, so a short spin pays as ever. */
TEST(a_quota_limits_spinning_and_does_not_forbid_it)
{
    static const struct {
        uint32_t cpus, quota, usable;
        bool limited;
    } cases[] = { { 2, 1, 1, true },  { 4, 3, 3, true },           { 2, 2, 2, false }, { 2, 3, 2, false },
                  { 1, 1, 1, false }, { 2, UINT32_MAX, 2, false }, { 64, 1, 1, true } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int before = 0; before < 2; before++) { /* whoever asks first, the answers are the same */
            set_up(32000, 700, 215);
            fake.cpus = cases[i].cpus;
            fake.quota = cases[i].quota;
            if (before) CHECK_EQ(cc_costs_may_spin_(), cases[i].cpus > 1);
            CHECK_EQ(cc_costs_spin_limit_ns_(), cases[i].limited ? 21500 / 4 : UINT64_MAX);
            CHECK_EQ(cc_costs_has_quota_(), cases[i].limited);
            CHECK_EQ(cc_costs()->cpus, cases[i].usable);
            CHECK_EQ(cc_costs_may_spin_(), cases[i].cpus > 1);
            CHECK_EQ(fake.quota_reads, 1);
        }
    }
}

TEST(threads_that_spread_out_under_a_quota_may_spin)
{
    set_up(32000, 700, 215);
    fake.cpus = 1;
    fake.quota = 3;
    CHECK_EQ(cc_costs()->cpus, 1);
    CHECK(!cc_costs_may_spin_());
    fake.cpus = 8;
    for (int i = 0; i < 2 * ASK_AGAIN_AFTER; i++) cc_costs_may_spin_();
    CHECK(cc_costs_may_spin_());
    CHECK_EQ(cc_costs()->cpus, 3);
    CHECK_EQ(cc_costs_spin_limit_ns_(), 21500 / 4);
}

/* Another thread stores its result while this one measures. */
static void other_is_first(void)
{
    costs_.pause_ps = costs_.yield_ns = costs_.wake_ns = 7;
}

TEST(whoever_loses_the_race_takes_the_winner_s_result)
{
    set_up(32000, 700, 215);
    fake.on_pause = other_is_first;
    CHECK_EQ(cc_costs_pause_ps_(), 7);
    set_up(32000, 700, 215);
    fake.on_wake = other_is_first;
    CHECK_EQ(cc_costs_wake_ns_(), 7);
    set_up(32000, 700, 215);
    fake.on_yield = other_is_first;
    CHECK_EQ(cc_costs()->yield_ns, 7);
}

TEST(deadline_saturates)
{
    fake_start();
    CHECK_EQ(cc_now_ns(), 1000000000);
    CHECK_EQ(cc_deadline_in(0), 1000000000);
    CHECK_EQ(cc_deadline_in(5), 1000000005);
    CHECK_EQ(cc_deadline_in(UINT64_MAX - 1000000001), UINT64_MAX - 1);
    CHECK_EQ(cc_deadline_in(UINT64_MAX - 1000000000), CC_FOREVER);
    CHECK_EQ(cc_deadline_in(UINT64_MAX - 1), CC_FOREVER);
    CHECK_EQ(cc_deadline_in(UINT64_MAX), CC_FOREVER);
    fake.now_ns = UINT64_MAX - 1;
    CHECK_EQ(cc_deadline_in(0), UINT64_MAX - 1);
    CHECK_EQ(cc_deadline_in(1), CC_FOREVER);
    CHECK_EQ(cc_deadline_in(2), CC_FOREVER);
}
