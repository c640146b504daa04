/* costs.h and deadline.h on a virtual clock. src/costs.c is included, so that each test can start before the first use. */
#include "harness.h"
#include "fake_os.h"
#include <concede/arch.h>
#undef CC_ARCH_PAUSE_
#define CC_ARCH_PAUSE_() fake_pause()
#include "../../src/costs.c"

static void set_up(uint64_t pause_ps, uint64_t yield_ns, uint64_t wake_ns)
{
    fake_start();
    fake.pause_ps = pause_ps;
    fake.yield_ns = yield_ns;
    fake.wake_ns = wake_ns;
    state_ = UNKNOWN;
    is_set_ = cc_pause_sb_ = 0;
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

TEST(a_busy_neighbour_is_asked_only_once)
{
    set_up(32000, 4000000, 215); /* a yield that takes 4 ms */
    cc_costs();
    CHECK(fake.yields <= 2);
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

TEST(set_makes_zero_fields_one_and_ignores_null)
{
    cc_costs_t zero = { 0, 0, 0, 0 };
    set_up(32000, 700, 215);
    cc_costs_set(NULL);
    CHECK_EQ(cc_costs()->pause_ps, 32000);
    cc_costs_set(&zero);
    CHECK_EQ(cc_costs()->pause_ps, 1);
    CHECK_EQ(cc_costs()->yield_ns, 1);
    CHECK_EQ(cc_costs()->wake_ns, 1);
    CHECK_EQ(cc_costs()->cpus, 1);
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

/* Another thread publishes while this one measures. */
static void other_publishes(void)
{
    if (state_ == UNKNOWN)
        state_ = BUSY;
    else if (state_ == BUSY)
        publish_((cc_costs_t){ 7, 7, 7, 7 });
}

TEST(whoever_loses_the_race_takes_the_winner_s_result)
{
    set_up(32000, 700, 215);
    fake.on_yield = other_publishes;
    const cc_costs_t *costs = cc_costs();
    CHECK_EQ(costs->pause_ps, 7);
    CHECK_EQ(costs->cpus, 7);
}

/* The child of a fork, in which the thread that wrote does not exist. */
TEST(whoever_never_publishes_is_not_waited_for)
{
    set_up(32000, 700, 215);
    state_ = BUSY;
    costs_.pause_ps = 7;
    CHECK_EQ(cc_costs()->pause_ps, 32000);
    CHECK_EQ(cc_costs()->cpus, 2);
    CHECK(fake.yields >= YIELDS_WHILE_BUSY);
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
