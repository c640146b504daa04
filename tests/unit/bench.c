/* The measuring part of the benchmarks: the histogram's error, the statistics, the JSON, and that a thing compared with
 * itself comes out even. The engine runs on two peers of its own here, so no other library is needed. */
#include "harness.h"

#include "../../common/host.c"
#include "../../common/json.c"
#include "../../bench/output.c"
#include "../../bench/placement.c"
#include "../../bench/slice.c"
#include "../../bench/statistics.c"
#include "../../bench/time.c"
#include "../../bench/workloads.c"
#include "../../bench/engine.c"

/* ---- peers whose results are known ------------------------------------------------------------------------------- */

static void *fake_create(const bench_setting *setting)
{
    (void)setting;
    return bench_alloc(64);
}

/* Thread i does i + 1 shares of work, so that Jain's index is known, each with a latency of 1000 ticks. */
static void fake_uneven(bench_thread *t)
{
    while (!bench_stopped(t)) sched_yield();
    t->ops = 1000 * (t->index + 1);
    bench_histogram_add(t->histogram, 1000);
}

static void fake_twice(bench_thread *t)
{
    fake_uneven(t);
    t->ops *= 2;
}

static void fake_steady(bench_thread *t)
{
    while (!bench_stopped(t)) bench_work(100);
    t->ops = 1000;
}

static const bench_subject uneven = {
    BENCH_LOCK, BENCH_OURS | BENCH_BASELINE | BENCH_CAN_SLEEP, "uneven", "nothing", fake_create,
    free,       { fake_uneven, fake_uneven, NULL, NULL }
};
static const bench_subject twice = {
    BENCH_LOCK, 0, "twice", "nothing", fake_create, free, { fake_twice, fake_uneven, NULL, NULL }
};
static const bench_subject steady = { BENCH_PARK, BENCH_OURS | BENCH_BASELINE,      "steady", "nothing", fake_create,
                                      free,       { NULL, fake_steady, NULL, NULL } };

/* Loses a message in each slice. */
static void fake_loses(bench_thread *t)
{
    while (!bench_stopped(t)) sched_yield();
    t->ops = t->index ? 9 : 0;
    t->sum = t->index ? 9 : 10;
}
static const bench_subject loses = {
    BENCH_CHANNEL, BENCH_CAN_SLEEP, "loses", "nothing", fake_create, free, { NULL, fake_loses, NULL, NULL, fake_loses }
};

static const bench_subject *const fake_subjects[] = { &uneven, &twice, &steady, &loses, NULL };
static const bench_peer fake_peer = { "fake", "1.0", fake_subjects };
static const bench_peer fake_missing = { "missing", "", NULL };
const bench_peer *const bench_peers[] = { &fake_peer, &fake_missing, NULL };

static bench_report measured(const char *names, uint32_t threads)
{
    bench_options options = {
        .workloads = names, .values[BENCH_BY_THREADS] = { 1, { threads } }, .slice = 0.002, .repeats = 5
    };
    bench_report report;
    char error[256];
    if (!bench_measure(&report, &options, error, sizeof error)) {
        printf("%s\n", error);
        REQUIRE(false);
    }
    return report;
}

/* ---- histogram --------------------------------------------------------------------------------------------------- */

static bench_histogram histogram;

TEST(quantile_is_within_the_stated_error)
{
    uint64_t random = test_seed(1);
    for (uint64_t round = 0; round < test_effort(200000); round++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        uint64_t value = random >> (random >> 58);
        memset(&histogram, 0, sizeof histogram);
        bench_histogram_add(&histogram, value);
        histogram.max = UINT64_MAX; /* not what it is cut to */
        double q = bench_histogram_quantile(&histogram, 0.5);
        CHECK(fabs(q - (double)value) <= BENCH_HISTOGRAM_ERROR * (double)value);
        if (round > 2000) round += 100; /* clearing takes long */
    }
}

TEST(small_values_are_exact)
{
    for (uint64_t value = 0; value < 2u << BENCH_HISTOGRAM_BITS; value++) {
        memset(&histogram, 0, sizeof histogram);
        bench_histogram_add(&histogram, value);
        CHECK_EQ(bench_histogram_quantile(&histogram, 1), value);
    }
}

TEST(buckets_follow_each_other_up_to_the_largest_value)
{
    uint32_t last = bench_histogram_index(0);
    CHECK_EQ(last, 0);
    for (uint32_t bit = 0; bit < 64; bit++) {
        uint64_t value = UINT64_C(1) << bit;
        uint32_t index = bench_histogram_index(value);
        CHECK(index > last || value == 0);
        CHECK(bench_histogram_index(value - 1) <= index && index - bench_histogram_index(value - 1) <= 1);
        last = index;
    }
    CHECK_EQ(bench_histogram_index(UINT64_MAX), BENCH_HISTOGRAM_BUCKETS - 1);
}

TEST(quantiles_of_a_known_distribution)
{
    static bench_histogram other;
    memset(&histogram, 0, sizeof histogram);
    memset(&other, 0, sizeof other);
    for (uint64_t i = 1; i <= 100; i++) bench_histogram_add(i % 2 ? &histogram : &other, i);
    bench_histogram_merge(&histogram, &other);
    CHECK_EQ(histogram.count, 100);
    CHECK_EQ(bench_histogram_quantile(&histogram, 0), 1);
    CHECK_EQ(bench_histogram_quantile(&histogram, 0.5), 50);
    CHECK_EQ(bench_histogram_quantile(&histogram, 0.99), 99);
    CHECK_EQ(bench_histogram_quantile(&histogram, 1), 100);
    memset(&histogram, 0, sizeof histogram);
    CHECK_EQ(bench_histogram_quantile(&histogram, 0.5), 0);
    bench_histogram_add(&histogram, 1000003);
    CHECK_EQ(bench_histogram_quantile(&histogram, 1), 1000003); /* no more than the largest value */
}

/* ---- statistics -------------------------------------------------------------------------------------------------- */

TEST(spread_is_median_and_quartiles)
{
    double odd[] = { 5, 1, 4, 2, 3 }, even[] = { 4, 1, 3, 2 };
    bench_spread s = bench_spread_of(odd, 5);
    CHECK_EQ(s.median, 3);
    CHECK_EQ(s.q1, 2);
    CHECK_EQ(s.q3, 4);
    s = bench_spread_of(even, 4);
    CHECK(fabs(s.median - 2.5) < 1e-12 && fabs(s.q1 - 1.75) < 1e-12 && fabs(s.q3 - 3.25) < 1e-12);
    s = bench_spread_of(even, 0);
    CHECK_EQ(s.median, 0);
    s = bench_spread_of(odd, 1);
    CHECK(s.median >= 5 && s.q1 >= 5 && s.q3 <= 5);
}

TEST(jain_is_1_for_even_and_1_of_n_for_one_winner)
{
    uint64_t even[] = { 7, 7, 7, 7 }, one[] = { 0, 9, 0, 0 }, none[] = { 0, 0 };
    CHECK(fabs(bench_jain(even, 4) - 1) < 1e-12);
    CHECK(fabs(bench_jain(one, 4) - 0.25) < 1e-12);
    CHECK_EQ(bench_jain(none, 2), 0);
}

/* A run of two: `a` is the baseline of the values 10, 20, 30; `b` has the given ones. */
static bench_run two(double b1, double b2, double b3, uint32_t primary, uint32_t flags)
{
    static bench_result results[2];
    bench_run run = { .primary = primary, .results = 2, .result = results, .rounds = 3 };
    memset(results, 0, sizeof results);
    results[0].flags = BENCH_OURS | BENCH_BASELINE;
    results[1].flags = flags;
    bench_samples *a = &results[0].metrics[primary], *b = &results[1].metrics[primary];
    a->count = b->count = 3;
    for (int i = 0; i < 3; i++) a->values[i] = 10 * (i + 1);
    b->values[0] = b1;
    b->values[1] = b2;
    b->values[2] = b3;
    bench_run_conclude(&run);
    return run;
}

TEST(ratio_is_taken_inside_the_round)
{
    /* The values differ by 3 between rounds, the ratio never does. */
    bench_run run = two(20, 40, 60, BENCH_RATE, 0);
    const bench_spread *ratio = &run.result[1].metrics[BENCH_RATE].ratio;
    CHECK_EQ(run.baseline, 0);
    CHECK(run.result[1].metrics[BENCH_RATE].has_ratio && !run.result[0].metrics[BENCH_RATE].has_ratio);
    CHECK(fabs(ratio->median - 2) < 1e-12 && fabs(ratio->q1 - 2) < 1e-12 && fabs(ratio->q3 - 2) < 1e-12);
    CHECK_EQ(run.winner, 1);
    CHECK_EQ(two(20, 40, 60, BENCH_P50, 0).winner, 0); /* where less is better */
}

TEST(what_wins_only_sometimes_is_too_noisy_to_rank)
{
    CHECK_EQ(two(5, 40, 30, BENCH_RATE, 0).winner, -1);
    CHECK_EQ(two(11, 21, 31, BENCH_RATE, BENCH_OURS).winner, -1); /* two of ours do not compete */
}

TEST(verdict_is_against_the_best_peer_in_each_metric)
{
    bench_run run = two(20, 40, 60, BENCH_RATE, 0);
    bench_verdict verdict = bench_judge(&run, 0, BENCH_RATE);
    CHECK(verdict.best == 1 && fabs(verdict.times.median - 0.5) < 1e-12 && verdict.lead == -1);
    run = two(20, 40, 60, BENCH_P99, 0);
    verdict = bench_judge(&run, 0, BENCH_P99);
    CHECK(verdict.best == 1 && fabs(verdict.times.median - 2) < 1e-12 && verdict.lead == 1);
    run = two(9, 21, 33, BENCH_P99, 0);
    CHECK_EQ(bench_judge(&run, 0, BENCH_P99).lead, 0); /* sometimes better, sometimes worse */
    run = two(20, 40, 60, BENCH_RATE, BENCH_OURS);
    CHECK_EQ(bench_judge(&run, 0, BENCH_RATE).best, -1); /* ours are no peers */
}

TEST(cpu_time_is_judged_among_those_that_carry_as_much)
{
    bench_run run = two(1, 2, 3, BENCH_CPU, 0);
    CHECK(bench_judge(&run, 0, BENCH_CPU).best == 1 && bench_judge(&run, 0, BENCH_CPU).lead == -1);
    for (int i = 0; i < 2; i++) {
        bench_samples *rate = &run.result[i].metrics[BENCH_RATE];
        rate->count = 3;
        for (int k = 0; k < 3; k++) rate->values[k] = i == 0 ? 10 : 9;
    }
    bench_run_conclude(&run);
    CHECK_EQ(bench_judge(&run, 0, BENCH_CPU).best, -1);
}

/* ---- the engine -------------------------------------------------------------------------------------------------- */

TEST(engine_reports_what_the_loops_did)
{
    bench_report report = measured("lock.tight", 3);
    REQUIRE(report.runs == 1 && report.run[0].results == 2);
    const bench_run *run = &report.run[0];
    CHECK_EQ(run->rounds, 5);
    CHECK(run->winner >= -1 && run->winner < 2); /* which of them is a matter of time, and that of who else is busy */
    /* Operations 1:2:3 among the threads: (1+2+3)^2 / (3 * (1+4+9)). */
    CHECK(fabs(run->result[0].metrics[BENCH_JAIN].value.median - 36.0 / 42) < 1e-9);
    CHECK_EQ(run->result[0].per_thread[2], 3 * run->result[0].per_thread[0]);
    CHECK(run->result[0].metrics[BENCH_RATE].value.median > 0);
    CHECK_EQ(report.peers, 2);
    CHECK(report.peer[0].present && !report.peer[1].present);
    bench_report_free(&report);

    report = measured("lock.wait", 2);
    REQUIRE(report.runs == 1);
    double ns = 1000 / bench_time.ticks_per_ns;
    CHECK(fabs(report.run[0].result[0].metrics[BENCH_P99].value.median - ns) <= BENCH_HISTOGRAM_ERROR * ns);
    CHECK_EQ(report.run[0].result[0].latency_count, 2 * report.run[0].rounds);
    bench_report_free(&report);
}

TEST(a_long_workload_runs_only_by_its_full_name)
{
    static plan plans[128];
    bench_options options = {
        .workloads = "lock", .values[BENCH_BY_THREADS] = { 1, { 2 } }, .slice = 0.002, .only = "fake"
    };
    bench_report report;
    char error[256];
    CHECK_EQ(plan_all(plans, 128, &options), 3);
    options.workloads = NULL; /* all */
    uint32_t count = plan_all(plans, 128, &options);
    CHECK(count > 3);
    for (uint32_t i = 0; i < count; i++) CHECK(strcmp(plans[i].workload->name, "lock.fair") != 0);

    options.workloads = "park.post,lock.fair";
    REQUIRE(bench_measure(&report, &options, error, sizeof error));
    REQUIRE(report.runs == 2);
    const bench_run *run = &report.run[0];
    CHECK(strcmp(run->workload, "lock.fair") == 0);
    CHECK_EQ(run->rounds, 3);
    double ns = 1000 / bench_time.ticks_per_ns;
    CHECK(fabs(run->result[0].metrics[BENCH_WORST].value.median - ns) < 1);
    CHECK(fabs(run->result[0].metrics[BENCH_JAIN].value.median - 9.0 / 10) < 1e-9);
    CHECK(run->result[0].metrics[BENCH_CPU].count == 3 && run->result[0].metrics[BENCH_RATE].count == 3);
    bench_report_free(&report);

    options.only = NULL; /* none of those that compete in it is here */
    options.workloads = "lock.fair";
    CHECK(!bench_measure(&report, &options, error, sizeof error) && strstr(error, "no implementation"));
}

/* Ticks of a millisecond: who is later than that gives its schedule up. */
static uint64_t given_up_after(void)
{
    bench_time_start();
    return (uint64_t)(1e6 * bench_time.ticks_per_ns);
}

TEST(a_sender_that_overslept_keeps_to_its_schedule)
{
    uint64_t kept = bench_pace_sleeps_from_ns, woke = 0, due, planned, late_from;
    bench_pace_sleeps_from_ns = 0;
    for (int tries = 0;; tries++) { /* again where the machine kept us away for too long, or until it was due */
        woke = 0;
        due = planned = bench_ticks() + given_up_after() / 2;
        late_from = bench_offer(&due, &woke);
        if ((woke != 0 && woke <= planned + given_up_after()) || tries == 1000) break;
    }
    CHECK(woke >= planned);
    CHECK_EQ(due, planned);
    CHECK_EQ(late_from, woke);
    due = planned + 1; /* it became due while the sender slept */
    uint64_t before = woke;
    late_from = bench_offer(&due, &woke);
    CHECK_EQ(woke, before);
    if (bench_ticks() < planned + given_up_after()) CHECK(due == planned + 1 && late_from == (due > woke ? due : woke));
    due = bench_ticks() - 2 * given_up_after(); /* long ago */
    before = bench_ticks();
    CHECK(bench_offer(&due, &woke) >= before && due >= before);
    bench_pace_sleeps_from_ns = kept;
}

/* Of the clocks one is read at each step and the other is the system's, and they do not quite agree. */
static bool is_most(double share)
{
    return share > 0.2 && share < 1.5;
}

/* The share of the CPU time that is called idle, of a thread that only waits until something is due. */
static double idle_share(uint64_t sleeps_from_ns, bool yields)
{
    uint64_t kept = bench_pace_sleeps_from_ns, woke = 0;
    double share = 0;
    bench_pace_sleeps_from_ns = sleeps_from_ns;
    bench_pace_yields = yields;
    for (int tries = 0; tries < 100 && !is_most(share); tries++) { /* interrupts are not idle */
        double idle = bench_idle_ns(), cpu = host_thread_cpu_ns();
        uint64_t due = bench_ticks() + given_up_after() / 2;
        (void)bench_offer(&due, &woke);
        share = (bench_idle_ns() - idle) / (host_thread_cpu_ns() - cpu);
    }
    bench_pace_sleeps_from_ns = kept;
    bench_pace_yields = false;
    return share;
}

TEST(what_a_sender_waits_for_the_next_message_is_no_cpu_time_of_the_last_one)
{
    struct {
        uint64_t sleeps_from_ns;
        bool yields;
    } ways[] = { { UINT64_MAX, false }, { UINT64_MAX, true }, { 0, false } };
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        double share = idle_share(ways[i].sleeps_from_ns, ways[i].yields);
        CHECK(is_most(share));
    }
    double idle = bench_idle_ns();
    uint64_t due = bench_ticks(), woke = 0;
    (void)bench_offer(&due, &woke); /* which was due at once */
    CHECK(!(bench_idle_ns() > idle));
}

static uint64_t ticks_between;
static void paces(bench_thread *t)
{
    uint64_t due = bench_ticks(), woke = 0;
    while (!bench_stopped(t)) {
        due += ticks_between;
        (void)bench_offer(&due, &woke);
    }
}

TEST(a_thread_that_only_waits_for_the_next_message_has_used_hardly_any_cpu_time)
{
    uint64_t kept = bench_pace_sleeps_from_ns;
    const char *why = NULL;
    static slice_thread thread;
    slice s;
    memset(&s, 0, sizeof s);
    memset(&thread, 0, sizeof thread);
    ticks_between = given_up_after() / 100;
    bench_pace_sleeps_from_ns = UINT64_MAX; /* it spins */
    thread.bench.stop = &s.stop;
    thread.loop = paces;
    thread.cpu = -1;
    s.threads = &thread;
    CHECK(slice_run(&s, 1, 0.05, NULL, &why));
    CHECK(thread.cpu_ns >= 0 && thread.cpu_ns < 0.5 * 0.05e9);
    bench_pace_sleeps_from_ns = kept;
}

TEST(a_paced_sender_that_slept_begins_a_new_schedule)
{
    uint64_t kept = bench_pace_sleeps_from_ns, due = 0, planned = 0, late_from = 0;
    bench_pace_sleeps_from_ns = 0;
    for (int tries = 0; tries < 1000 && due == planned; tries++) { /* again where it was due before it could sleep */
        due = planned = bench_ticks() + given_up_after() / 2;
        late_from = bench_pace(&due);
    }
    CHECK(due > planned);
    CHECK_EQ(late_from, due);
    bench_pace_sleeps_from_ns = kept;
}

TEST(a_map_is_all_combinations_of_its_parameters)
{
    static plan plans[1024];
    bench_options options = { .workloads = "lock.map" };
    CHECK_EQ(plan_all(plans, 1024, &options), 4 * 7 * 5);
    options.values[BENCH_BY_HELD] = (bench_values){ 2, { 1000, 0 } };
    options.values[BENCH_BY_OUTSIDE] = (bench_values){ 1, { 5000 } };
    REQUIRE(plan_all(plans, 1024, &options) == 8);
    CHECK(plans[0].setting.held_ns == 1000 && plans[1].setting.held_ns == 0 && plans[7].setting.outside_ns == 5000);
    CHECK(plans[0].setting.threads == 2 && plans[7].setting.threads == 64);
    CHECK_EQ(plan_all(plans, 3, &options), 3); /* no more than there is room for */
}

TEST(random_gaps_have_the_mean_that_was_asked_for)
{
    static plan plans[4];
    double sum = 0;
    uint32_t below = 0;
    bench_options options = { .workloads = "channel.map",
                              .values = { [BENCH_BY_SHAPE] = { 1, { BENCH_SHAPE(2, 1) } },
                                          [BENCH_BY_INTERVAL] = { 1, { 3000 } },
                                          [BENCH_BY_BURST] = { 1, { 16 } },
                                          [BENCH_BY_WORK] = { 1, { 0 } } },
                              .only = "loses" };
    bench_time_start();
    REQUIRE(plan_all(plans, 4, &options) == 1);
    plan_gaps(&plans[0]);
    double mean = 3000.0 * 2 * 16 * bench_time.ticks_per_ns; /* of one of two senders, for 16 messages */
    for (uint32_t i = 0; i < BENCH_GAPS; i++) {
        sum += plans[0].gaps[i];
        below += plans[0].gaps[i] < mean;
    }
    CHECK(fabs(sum / BENCH_GAPS / mean - 1) < 0.01);
    CHECK(fabs((double)below / BENCH_GAPS - 0.632) < 0.01); /* 1 - 1/e */
}

/* Four turns of 4 ms for each thread of a CPU; in less time the index would be the scheduler's. */
TEST(fairness_is_judged_by_slices_with_several_turns_for_each_thread)
{
    placement_choose(NULL);
    uint32_t cpus = placement_cpus() ? placement_cpus() : cc_costs()->cpus;
    bench_report report = measured("lock.tight", 3 * cpus);
    CHECK(fabs(report.run[0].slice_ms - 3 * 16) < 1e-9);
    bench_report_free(&report);
    report = measured("lock.tight", 1);
    CHECK(fabs(report.run[0].slice_ms - 2) < 1e-9);
    bench_report_free(&report);

    bench_options options = {
        .workloads = "lock.tight", .values[BENCH_BY_THREADS] = { 2, { 1, 3 * cpus } }, .total = 0.1, .repeats = 3
    };
    char error[256];
    REQUIRE(bench_measure(&report, &options, error, sizeof error));
    REQUIRE(report.runs == 2 && report.run[1].slice_ms < 3 * 16);
    CHECK_EQ(report.run[0].result[0].metrics[BENCH_JAIN].count, 3);
    CHECK_EQ(report.run[1].result[0].metrics[BENCH_JAIN].count, 0);
    CHECK_EQ(report.run[1].result[0].metrics[BENCH_RATE].count, 3);
    bench_report_free(&report);
}

/* Within its own noise, most of the time: a machine that is busy with something else may spoil one try, not three. */
TEST(a_thing_compared_with_itself_is_even)
{
    bool even = false;
    for (int i = 0; i < 3 && !even; i++) {
        bench_options options = { .workloads = "park.post", .slice = 0.01, .repeats = 9, .self_test = true };
        bench_report report;
        char error[256];
        REQUIRE(bench_measure(&report, &options, error, sizeof error));
        REQUIRE(report.runs == 1 && report.run[0].results == 2);
        const bench_spread *ratio = &report.run[0].result[1].metrics[BENCH_NS].ratio;
        double noise = ratio->q3 - ratio->q1;
        even = fabs(ratio->median - 1) <= (noise > 0.01 ? noise : 0.01);
        bench_report_free(&report);
    }
    CHECK(even);
}

TEST(a_lost_message_is_an_error)
{
    bench_options options = { .workloads = "channel.stream", .slice = 0.002, .repeats = 1 };
    bench_report report;
    char error[256];
    CHECK(!bench_measure(&report, &options, error, sizeof error));
    CHECK(strstr(error, "loses") && strstr(error, "not what was sent"));
    bench_report_free(&report);
}

static bool stop_at_once(void)
{
    return true;
}

TEST(what_cannot_be_measured_is_said)
{
    bench_report report;
    char error[256];
    bench_options nothing = { .workloads = "cas.fetch_mul" }, cpu = { .workloads = "lock", .pin = "0,99999" };
    bench_options stopped = { .workloads = "lock", .interrupted = stop_at_once };
    CHECK(!bench_measure(&report, &nothing, error, sizeof error) && strstr(error, "no implementation"));
#if defined(__linux__)
    CHECK(!bench_measure(&report, &cpu, error, sizeof error) && strstr(error, "99999"));
#else
    (void)cpu;
#endif
    CHECK(bench_measure(&report, &stopped, error, sizeof error));
    CHECK(report.interrupted && report.runs == 0);
    bench_report_free(&report);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static char *json_of(const bench_report *report)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    REQUIRE(file != NULL);
    json_writer_t w = { .out = file };
    bench_json_write(&w, NULL, report);
    fclose(file);
    return text;
}

TEST(report_reads_back_as_it_was_written)
{
    char path[] = "/tmp/concede-bench-XXXXXX", error[256];
    bench_report report = measured("lock", 2), again;
    char *text = json_of(&report);
    int fd = mkstemp(path);
    REQUIRE(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    bool good = bench_json_read(path, &again, error, sizeof error);
    unlink(path);
    REQUIRE(good);
    char *second = json_of(&again);
    CHECK(strcmp(text, second) == 0);
    free(text);
    free(second);
    bench_report_free(&report);
    bench_report_free(&again);
}

TEST(what_is_no_report_is_refused)
{
    static const char *const texts[] = {
        "",
        "{",
        "[]",
        "{\"concede_bench\": 2, \"runs\": []}",
        "{\"concede_bench\": 1}",
        "{\"concede_bench\": 1, \"runs\": [{}]}",
        "{\"concede_bench\": 1, \"runs\": [{\"family\": \"lock\", \"primary\": \"rate\"}]}"
    };
    bench_report report;
    char error[256];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char path[] = "/tmp/concede-bench-XXXXXX";
        int fd = mkstemp(path);
        REQUIRE(fd >= 0 && write(fd, texts[i], strlen(texts[i])) == (ssize_t)strlen(texts[i]));
        close(fd);
        error[0] = 0;
        CHECK(!bench_json_read(path, &report, error, sizeof error));
        CHECK(error[0] != 0);
        unlink(path);
    }
    CHECK(!bench_json_read("/nonexistent/results.json", &report, error, sizeof error));
}
