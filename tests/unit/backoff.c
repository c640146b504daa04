/* The progression of backoff.h, counted pause by pause and yield by yield. backoff_freestanding.c is this file without
 * a system. */
#include "harness.h"
#include <concede/arch.h>
#undef CC_ARCH_PAUSE_
#undef CC_ARCH_PAUSE_SB_
#define CC_ARCH_PAUSE_() (void)paused++
static uint64_t paused;
#include <concede/backoff.h>

#if defined(CC_FREESTANDING)
#define FREESTANDING 1
static struct {
    unsigned yields;
} fake;
static void set_up(uint32_t cpus)
{
    (void)cpus;
    paused = 0;
}
#else
#define FREESTANDING 0
#include "fake_os.h"
static void set_up(uint32_t cpus)
{
    cc_costs_t costs = { 40000, 1000, 30000, cpus };
    fake_start();
    cc_costs_set(&costs);
    paused = 0;
}
#endif

/* One call does this many pauses and yields, and nothing else; counted since the last. */
static uint64_t pauses_before;
static unsigned yields_before;

#define DOES(call, pauses_, yields_)                         \
    do {                                                     \
        pauses_before = paused, yields_before = fake.yields; \
        call;                                                \
        CHECK_EQ(paused - pauses_before, pauses_);           \
        CHECK_EQ(fake.yields - yields_before, yields_);      \
    } while (0)

/* A yield, or where there is no system, these pauses in its place. */
#define YIELDS(call, pauses) DOES(call, FREESTANDING ? (pauses) : 0, FREESTANDING ? 0 : 1)

TEST(snooze_goes_through_the_documented_steps)
{
    cc_backoff_t forms[5] = { CC_SNOOZE_INIT }; /* the last is all zero */
    cc_backoff_options_t options = CC_BACKOFF_OPTIONS_INIT, zero = { 0, 0 };
    cc_backoff_init_options(&forms[1], NULL);
    cc_backoff_init_options(&forms[2], &options);
    cc_backoff_init_options(&forms[3], &zero);
    set_up(2);
    for (int i = 0; i < 5; i++) {
        cc_backoff_t *b = &forms[i];
        for (uint32_t step = 0; step < 12; step++) {
            CHECK_EQ(cc_backoff_step(b), step);
            CHECK_EQ(cc_backoff_is_completed(b), step > 10);
            if (step <= 6)
                DOES(cc_backoff_snooze(b), UINT64_C(1) << step, 0);
            else
                YIELDS(cc_backoff_snooze(b), UINT64_C(1)
                                                 << (step < 10 ? step : 10)); /* 128, 256, 512, 1024, then stays */
        }
        for (int more = 0; more < 3; more++) { /* completed stays completed and moves nothing */
            YIELDS(cc_backoff_snooze(b), 1024);
            CHECK_EQ(cc_backoff_step(b), 11);
            CHECK(cc_backoff_is_completed(b));
        }
    }
}

TEST(spin_doubles_to_max_and_stays_there)
{
    cc_backoff_t b = CC_BACKOFF_INIT;
    set_up(2);
    for (uint32_t step = 0; step <= 10; step++) {
        CHECK_EQ(cc_backoff_step(&b), step);
        CHECK_EQ(b.current, 1u << step);
        DOES(cc_backoff_spin(&b), UINT64_C(1) << step, 0);
    }
    for (int more = 0; more < 100; more++) {
        CHECK_EQ(cc_backoff_step(&b), 11); /* spin_limit + 1: exhausted, and nothing moves any more */
        CHECK(!cc_backoff_is_completed(&b));
        DOES(cc_backoff(&b), 1024, 0);
    }
}

TEST(spin_at_max_lets_a_snooze_yield)
{
    cc_backoff_t b;
    set_up(2);
    cc_backoff_init(&b, 1, 4);
    DOES(cc_backoff_spin(&b), 1, 0);
    DOES(cc_backoff_snooze(&b), 2, 0);
    DOES(cc_backoff_spin(&b), 4, 0);
    CHECK_EQ(cc_backoff_step(&b), 3);
    YIELDS(cc_backoff_snooze(&b), 8);
    CHECK_EQ(cc_backoff_step(&b), 4);
    DOES(cc_backoff_spin(&b), 4, 0); /* spin after that moves nothing */
    CHECK_EQ(cc_backoff_step(&b), 4);
    for (int i = 0; i < 3; i++) {
        CHECK(!cc_backoff_is_completed(&b));
        YIELDS(cc_backoff_snooze(&b), UINT64_C(16) << i);
    }
    CHECK(cc_backoff_is_completed(&b));
    DOES(cc_backoff_spin(&b), 4, 0);
    CHECK(cc_backoff_is_completed(&b));
}

TEST(a_max_that_is_no_power_of_two_is_reached_exactly)
{
    static const uint32_t expected[] = { 3, 6, 12, 24, 48, 50, 50 };
    cc_backoff_t b;
    set_up(2);
    cc_backoff_init(&b, 3, 50);
    for (uint32_t i = 0; i < 7; i++) {
        CHECK_EQ(cc_backoff_step(&b), i < 6 ? i : 6);
        DOES(cc_backoff_spin(&b), expected[i], 0);
    }
    CHECK_EQ(cc_backoff_step(&b), 6);
}

TEST(doubling_saturates_for_every_min_and_max)
{
    static const uint32_t edges[] = { 0,          1,          2,          3,          5,          63,
                                      64,         65,         1000,       1024,       0x7ffffffe, 0x7fffffff,
                                      0x80000000, 0x80000001, 0xaaaaaaaa, 0xfffffffe, 0xffffffff };
    const size_t n = sizeof edges / sizeof edges[0];
    set_up(2);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            cc_backoff_t b;
            uint64_t min = edges[i] ? edges[i] : 1, max = edges[j] > min ? edges[j] : min, reference = min;
            uint32_t step = 0;
            cc_backoff_init(&b, edges[i], edges[j]);
            for (; reference < max; step++, reference = reference * 2 < max ? reference * 2 : max) {
                CHECK_EQ(b.current, reference);
                CHECK_EQ(cc_backoff_step(&b), step);
                cc_backoff_advance_(&b); /* what spin does after its pauses: 2^32 of them take too long here */
            }
            CHECK_EQ(b.current, max);
            CHECK_EQ(cc_backoff_step(&b), step);
            cc_backoff_advance_(&b);
            cc_backoff_advance_(&b);
            CHECK_EQ(b.current, max);
            CHECK_EQ(cc_backoff_step(&b), step + 1);
            cc_backoff_reset(&b);
            CHECK_EQ(b.current, min);
            CHECK_EQ(cc_backoff_step(&b), 0);
        }
    }
}

TEST(fields_set_by_hand_to_anything_are_safe)
{
    static const uint32_t edges[] = { 0, 1, 2, 7, 100 };
    uint32_t rng = 1;
    set_up(2);
    for (uint32_t code = 0; code < 5 * 5 * 5 * 5 * 5; code++) {
        cc_backoff_t start = { edges[code % 5], edges[code / 5 % 5], edges[code / 25 % 5], edges[code / 125 % 5],
                               edges[code / 625] };
        for (int call = 0; call < 4; call++) {
            cc_backoff_t b = start;
            for (int i = 0; i < 10; i++) {
                uint64_t most = b.current > 100 ? b.current : 100;
                pauses_before = paused, yields_before = fake.yields;
                if (call == 0) cc_backoff_spin(&b);
                if (call == 1) cc_backoff_snooze(&b);
                if (call == 2) cc_backoff_jitter(&b, &rng);
                if (call == 3) cc_backoff_ease(&b), cc_backoff_spin(&b);
                if (FREESTANDING && call == 1) most = UINT32_C(1) << 20; /* each yield is a longer spin */
                CHECK(paused - pauses_before <= most);
                CHECK(paused - pauses_before > 0 || fake.yields - yields_before == 1);
                CHECK(b.current <= 100 || (code == 0 && b.current <= 1024)); /* all zero: the default */
                (void)cc_backoff_step(&b);
            }
            cc_backoff_reset(&b);
            CHECK_EQ(b.current, b.min);
            CHECK_EQ(cc_backoff_step(&b), 0);
        }
    }
}

TEST(all_zero_acts_as_the_default)
{
    enum { SPIN, JITTER, EASE_AND_RESET };
    for (int first = SPIN; first <= EASE_AND_RESET; first++) {
        cc_backoff_t b = { 0, 0, 0, 0, 0 };
        uint32_t rng = 1;
        set_up(2);
        CHECK_EQ(cc_backoff_step(&b), 0);
        CHECK(!cc_backoff_is_completed(&b));
        if (first == EASE_AND_RESET) cc_backoff_ease(&b), cc_backoff_reset(&b);
        if (first == JITTER)
            DOES(cc_backoff_jitter(&b, &rng), 1, 0);
        else
            DOES(cc_backoff_spin(&b), 1, 0);
        for (uint32_t step = 1; step < 20;
             step++) /* as CC_BACKOFF_INIT: a snooze first makes it CC_SNOOZE_INIT, above */
            DOES(cc_backoff_spin(&b), UINT64_C(1) << (step < 10 ? step : 10), 0);
        CHECK(!cc_backoff_is_completed(&b));
        CHECK_EQ(b.max_yields, 4);
    }
}

TEST(step_form_makes_bad_limits_safe)
{
    static const struct {
        uint32_t spin_limit, yield_limit, max, yields;
    } cases[] = { { 0, 0, 64, 4 },          { 8, 0, 256, 4 },
                  { 30, 0, 1u << 20, 4 },   { 0, 3, 8, 0 },
                  { 0, 8, 64, 2 },          { 7, 3, 8, 0 },
                  { 20, 30, 1u << 20, 10 }, { 21, 30, 1u << 20, 10 },
                  { UINT32_MAX, 5, 32, 0 }, { UINT32_MAX, UINT32_MAX, 1u << 20, UINT32_MAX - 20 } };
    set_up(2);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cc_backoff_options_t options = { cases[i].spin_limit, cases[i].yield_limit };
        cc_backoff_t b;
        cc_backoff_init_options(&b, &options);
        CHECK_EQ(b.max, cases[i].max);
        CHECK_EQ(b.max_yields, cases[i].yields);
    }
}

/* Steps count as the table says for every pair of limits: spinning up to spin_limit, yielding up to yield_limit. */
TEST(step_form_completes_after_yield_limit)
{
    set_up(2);
    for (uint32_t spin_limit = 1; spin_limit <= 8; spin_limit++) {
        for (uint32_t yield_limit = spin_limit; yield_limit <= 12; yield_limit++) {
            cc_backoff_options_t options = { spin_limit, yield_limit };
            cc_backoff_t b;
            cc_backoff_init_options(&b, &options);
            for (uint32_t step = 0; step <= yield_limit; step++) {
                CHECK_EQ(cc_backoff_step(&b), step);
                CHECK(!cc_backoff_is_completed(&b));
                if (step <= spin_limit)
                    DOES(cc_backoff_snooze(&b), UINT64_C(1) << step, 0);
                else
                    YIELDS(cc_backoff_snooze(&b), UINT64_C(1) << step);
            }
            CHECK_EQ(cc_backoff_step(&b), yield_limit + 1);
            CHECK(cc_backoff_is_completed(&b));
        }
    }
}

TEST(yields_never_wrap_around_to_spinning)
{
    cc_backoff_t b = { 1, 1, 1, UINT32_MAX, UINT32_MAX };
    set_up(2);
    for (int i = 0; i < 3; i++) {
        YIELDS(cc_backoff_snooze(&b), 1 << 20); /* the longest there is without a system */
        CHECK_EQ(b.yields, UINT32_MAX);
    }
}

TEST(reset_starts_over)
{
    cc_backoff_t b = CC_SNOOZE_INIT;
    set_up(2);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 12; i++) cc_backoff_snooze(&b);
        CHECK(cc_backoff_is_completed(&b));
        cc_backoff_reset(&b);
        CHECK(!cc_backoff_is_completed(&b));
        CHECK_EQ(cc_backoff_step(&b), 0);
        DOES(cc_backoff_snooze(&b), 1, 0);
    }
}

TEST(ease_goes_one_doubling_back_and_clears_the_yields)
{
    cc_backoff_t b;
    set_up(2);
    cc_backoff_init(&b, 4, 64);
    for (int i = 0; i < 20; i++) cc_backoff_snooze(&b);
    CHECK(cc_backoff_is_completed(&b));
    for (uint32_t expected = 32; expected >= 4; expected /= 2) {
        cc_backoff_ease(&b);
        CHECK_EQ(b.current, expected);
        CHECK_EQ(b.yields, 0);
        CHECK(!cc_backoff_is_completed(&b));
    }
    cc_backoff_ease(&b);
    CHECK_EQ(b.current, 4); /* not below min */
    DOES(cc_backoff_spin(&b), 4, 0);
}

TEST(jitter_stays_in_range_and_advances_like_spin)
{
    uint32_t rng = (uint32_t)test_seed(1);
    set_up(2);
    for (int round = 0; round < 1000; round++) {
        cc_backoff_t b;
        cc_backoff_init(&b, 1, 100);
        for (uint32_t step = 0; step < 10; step++) {
            uint64_t range = b.current;
            CHECK_EQ(cc_backoff_step(&b), step < 8 ? step : 8);
            pauses_before = paused;
            cc_backoff_jitter(&b, &rng);
            CHECK(paused - pauses_before >= 1 && paused - pauses_before <= range);
        }
    }
    CHECK_EQ(fake.yields, 0);
}

/* Chi-square over as many cells as there are values. Its mean is cells - 1 and its deviation sqrt(2 (cells - 1)); 8 of
 * those above the mean do not happen by chance in any number of runs that a person will make. */
static void check_uniform(uint32_t range, uint32_t seed)
{
    enum { DRAWS_PER_CELL = 1000 };
    uint32_t rng = seed, counts[64] = { 0 };
    double chi = 0;
    for (uint32_t i = 0; i < range * DRAWS_PER_CELL; i++) {
        cc_backoff_t b = { range, range, range, 0, 4 };
        pauses_before = paused;
        cc_backoff_jitter(&b, &rng);
        uint64_t drawn = paused - pauses_before;
        REQUIRE(drawn >= 1 && drawn <= range);
        counts[drawn - 1]++;
    }
    for (uint32_t i = 0; i < range; i++) {
        double difference = (double)counts[i] - DRAWS_PER_CELL;
        chi += difference * difference / DRAWS_PER_CELL;
    }
    double mean = range - 1, excess = chi - mean;
    CHECK(excess < 0 || excess * excess < 64 * 2 * (mean + 1));
}

TEST(jitter_is_uniform)
{
    static const uint32_t ranges[] = { 2, 3, 6, 7, 10, 31, 32, 33, 64 };
    set_up(2);
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        check_uniform(ranges[i], (uint32_t)test_seed(i));
        check_uniform(ranges[i], 0);
        check_uniform(ranges[i], UINT32_MAX);
    }
}

/* Taking the remainder of a 32-bit number makes the lower third of this range come up half of the time. */
TEST(jitter_has_no_modulo_bias)
{
    const uint32_t third = UINT32_C(1) << 30, draws = 100000;
    uint32_t rng = (uint32_t)test_seed(2), low = 0;
    for (uint32_t i = 0; i < draws; i++) {
        uint32_t number = cc_backoff_random_up_to_(&rng, 3 * third);
        CHECK(number >= 1 && number <= 3 * third);
        low += number <= third;
    }
    CHECK(low > draws / 3 - draws / 20 && low < draws / 3 + draws / 20);
}

TEST(random_numbers_cover_the_whole_range)
{
    uint32_t rng = 0, highest = 0;
    for (int i = 0; i < 1000; i++) {
        uint32_t number = cc_backoff_random_up_to_(&rng, UINT32_MAX);
        CHECK(number >= 1);
        highest = number > highest ? number : highest;
        CHECK_EQ(cc_backoff_random_up_to_(&rng, 1), 1);
    }
    CHECK(highest > UINT32_MAX / 2);
}

TEST(jitter_never_gets_stuck_on_a_zero_seed)
{
    uint32_t rng = 0;
    cc_backoff_t b = { 1000, 1000, 1000, 0, 4 };
    set_up(2);
    uint64_t first = (cc_backoff_jitter(&b, &rng), paused);
    bool moved = false;
    for (int i = 0; i < 100; i++) {
        pauses_before = paused;
        cc_backoff_jitter(&b, &rng);
        moved |= paused - pauses_before != first;
        CHECK(rng != 0);
    }
    CHECK(moved);
}

TEST(times_become_pauses_of_the_measured_cost)
{
    static const struct {
        uint64_t ns, pauses;
    } cases[] = { { 0, 1 },
                  { 39, 1 },
                  { 40, 1 },
                  { 80, 2 },
                  { 1000, 25 },
                  { UINT64_C(4000000000), 100000000 },
                  { UINT64_MAX, UINT32_MAX } };
    set_up(2); /* 40 ns a pause: also what a freestanding build assumes */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cc_backoff_t b;
        cc_backoff_init_ns(&b, cases[i].ns, UINT64_MAX);
        CHECK_EQ(b.min, cases[i].pauses);
        CHECK_EQ(b.current, cases[i].pauses);
        CHECK_EQ(b.max, UINT32_MAX);
        cc_backoff_init_ns(&b, 0, cases[i].ns);
        CHECK_EQ(b.max, cases[i].pauses);
        CHECK_EQ(b.min, 1);
        cc_backoff_init_ns(&b, 1000, 40); /* max below min */
        CHECK_EQ(b.max, 25);
    }
}

TEST(instances_do_not_touch_each_other)
{
    cc_backoff_t a = CC_SNOOZE_INIT, b = CC_SNOOZE_INIT, untouched = CC_SNOOZE_INIT;
    set_up(2);
    for (int i = 0; i < 5; i++) cc_backoff_snooze(&a);
    CHECK_EQ(memcmp(&b, &untouched, sizeof b), 0);
    cc_backoff_snooze(&b);
    CHECK_EQ(cc_backoff_step(&a), 5);
    CHECK_EQ(cc_backoff_step(&b), 1);
}

#if !FREESTANDING
TEST(one_cpu_yields_where_it_would_spin)
{
    cc_backoff_t b = CC_SNOOZE_INIT;
    set_up(1);
    for (uint32_t step = 0; step < 11; step++) {
        CHECK_EQ(cc_backoff_step(&b), step);
        DOES(cc_backoff_snooze(&b), 0, 1);
    }
    CHECK(cc_backoff_is_completed(&b));
    cc_backoff_reset(&b);
    DOES(cc_backoff_spin(&b), 1, 0); /* a lock-free retry waits for nobody */
}

TEST(a_pause_that_costs_nothing_does_not_become_endless)
{
    cc_costs_t costs = { 1, 1, 1, 2 };
    cc_backoff_t b;
    set_up(2);
    cc_costs_set(&costs);
    cc_backoff_init_ns(&b, 1, 1000);
    CHECK_EQ(b.min, 4); /* as if it took 1/4 ns */
    CHECK_EQ(b.max, 4000);
}
#else
TEST(no_system_is_referenced)
{
    cc_backoff_t b = CC_SNOOZE_INIT;
    set_up(1);
    for (int i = 0; i < 20; i++) cc_backoff_snooze(&b);
    CHECK_EQ(paused, 127 + 128 + 256 + 512 + 10 * 1024);
}
#endif
