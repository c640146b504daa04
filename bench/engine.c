/* engine.c: runs the plans: rounds of slices, and what they tell. See engine.h. */
#include "engine.h"
#include <concede/costs.h>
#include <concede/deadline.h>
#include <concede/version.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double quantile_shares[] = { 0.0,   0.01,  0.05,   0.1,    0.2,    0.3,     0.4,  0.5,
                                          0.6,   0.7,   0.8,    0.9,    0.95,   0.98,    0.99, 0.995,
                                          0.998, 0.999, 0.9995, 0.9998, 0.9999, 0.99999, 1.0 };

/* ---- one run ----------------------------------------------------------------------------------------------------- */

typedef struct engine {
    const bench_options *options;
    bench_report *report;
    slice *slice;
    bench_histogram *histograms; /* one a thread, for the slice */
    uint32_t threads;            /* room for so many */
    bool stuck;                  /* threads of a slice still run */
    double slice_total, seconds_planned;
    uint32_t slices_done, slices_planned;
    uint64_t begin_ns;
    char *error;
    size_t error_size;
} engine;

static bool interrupted(const engine *e)
{
    return e->options->interrupted && e->options->interrupted();
}

static void progress(const engine *e, const plan *p, const char *subject)
{
    if (!e->options->progress) return;
    double spent = (double)(cc_now_ns() - e->begin_ns) / 1e9;
    double left = e->seconds_planned - e->slice_total;
    if (e->slice_total > 0) left *= spent / e->slice_total;
    char what[64];
    snprintf(what, sizeof what, "%s, %u thread%s", p->workload->name, (unsigned)p->setting.threads,
             p->setting.threads == 1 ? "" : "s");
    e->options->progress(what, subject, left > 0 ? left : 0);
}

/* What the loops measured, in ticks, as the ns that are shown. */
static double shown_ns(const plan *p, double ticks)
{
    double ns = ticks / bench_time.ticks_per_ns;
    if (p->workload->how & HALVE) ns /= 2;
    if (p->workload->how & BEYOND_WORK) ns -= p->setting.work_ns;
    return ns;
}

/* Jain's index wants each thread to have had several turns on its CPU: in fewer it shows how the system deals out
 * turns, not how the threads share. Linux 6.18 gives turns of 3 to 4 ms; four of them leave 0.99 of an even share. */
static double fair_seconds(const plan *p)
{
    uint32_t cpus = placement_cpus() ? placement_cpus() : cc_costs()->cpus;
    bool shares = (p->workload->metrics & BIT(BENCH_JAIN)) && p->setting.threads > cpus;
    return shares ? 4 * 0.004 * p->setting.threads / cpus : 0;
}

/* Fills the plan's gaps: turns of work outside a lock, or ticks between the messages of one sender, or until a wait
 * times out. Those that are exponentially distributed are the middles of as many equally likely parts, so that they
 * have the same mean in every run, in an order that is mixed up in the same way each time. */
static void plan_gaps(plan *p)
{
    const bench_setting *s = &p->setting;
    uint32_t senders = s->senders ? s->senders : 1, burst = s->burst ? s->burst : 1;
    double interval = (double)s->interval_ns * senders * burst * bench_time.ticks_per_ns;
    uint64_t random = 1;
    for (uint32_t i = 0; i < BENCH_GAPS; i++) {
        bool is_random = (p->workload->how & RANDOM_GAPS) != 0;
        double factor = is_random ? -log(1 - (i + 0.5) / BENCH_GAPS) : 1;
        double gap = p->workload->family == BENCH_LOCK ? bench_turns(s->outside_ns * factor) : interval * factor;
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint32_t other = (uint32_t)(random >> 33) % (i + 1);
        p->gaps[i] = p->gaps[other];
        p->gaps[other] = gap < UINT32_MAX ? (uint32_t)gap : UINT32_MAX;
    }
}

/* From which time on the senders of the plan sleep until their next message. */
static uint64_t pace_sleeps_from(const plan *p)
{
    /* A sleep of 20 us takes about as long as it should on the machines that this was written on; a shorter one does
     * not. */
    enum { SHORTEST_SLEEP_NS = 20000 };
    bool two_cpus = cc_costs()->cpus > 1 && (placement_cpus() == 0 || placement_cpu(0) != placement_cpu(1));
    if ((p->workload->how & SLEEPS_BETWEEN) || !two_cpus) return 0;
    return p->workload->loop == BENCH_CHANNEL_OFFERED ? SHORTEST_SLEEP_NS : UINT64_MAX;
}

/* Whether they yield until then, where they do not sleep. If there is a sender for every CPU and they spin, those that
 * run keep the others from sending, and less is offered than was asked for. */
static bool pace_yields(const plan *p)
{
    return p->workload->loop == BENCH_CHANNEL_OFFERED && p->setting.senders >= cc_costs()->cpus;
}

/* How the waits of lock, event and channel ended so far, all together. */
static cc_counted_t waits_so_far(void)
{
    cc_counters_t now;
    cc_counters(&now);
    now.lock.spun += now.event.spun + now.channel.spun;
    now.lock.yielded += now.event.yielded + now.channel.yielded;
    now.lock.slept += now.event.slept + now.channel.slept;
    return now.lock;
}

static void set_up_threads(engine *e, const plan *p, const bench_subject *subject, void *object)
{
    const bench_setting *setting = &p->setting;
    for (uint32_t i = 0; i < setting->threads; i++) {
        slice_thread *t = &e->slice->threads[i];
        memset(&t->bench, 0, sizeof t->bench);
        memset(&e->histograms[i], 0, sizeof *e->histograms);
        t->bench.object = object;
        t->bench.stop = &e->slice->stop;
        t->bench.done = &e->slice->done;
        t->bench.index = i;
        t->bench.threads = setting->threads;
        t->bench.senders = setting->senders;
        t->bench.work = bench_turns(setting->outside_ns + setting->work_ns);
        t->bench.held = bench_turns(setting->held_ns);
        t->bench.burst = setting->burst;
        t->bench.gaps = p->gaps;
        t->bench.gap = i * (BENCH_GAPS / setting->threads + 1) + 97 * p->tried; /* no two begin at the same place */
        t->bench.histogram = &e->histograms[i];
        t->loop = subject->loops[p->workload->loop];
        t->cpu = p->workload->how & ONE_CPU ? placement_cpu(0) : placement_cpu(i);
    }
}

/* What the threads of a slice did together, and each of those whose shares are compared. */
typedef struct totals {
    uint64_t ops, retries;
    uint64_t sent, received; /* sums of the messages: they must be the same */
    double cpu_ns;
    uint64_t each[1024];
    uint32_t compared;
} totals;

/* Adds up the threads, and their histograms into the first one. */
static void add_up(engine *e, const plan *p, totals *sum)
{
    const uint32_t how = p->workload->how;
    memset(sum, 0, sizeof *sum);
    for (uint32_t i = 0; i < p->setting.threads; i++) {
        const bench_thread *t = &e->slice->threads[i].bench;
        bool sends = i < p->setting.senders;
        sum->ops += t->ops;
        sum->retries += t->retries;
        *(sends ? &sum->sent : &sum->received) += t->sum;
        if (!(how & RECEIVER_ONLY) || !sends) sum->cpu_ns += e->slice->threads[i].cpu_ns;
        if (how & SENDERS_SHARE ? sends : !(how & PAIRS) || !sends)
            sum->each[sum->compared++] = sends ? t->retries : t->ops;
        if (i > 0) bench_histogram_merge(&e->histograms[0], &e->histograms[i]);
    }
    if (sum->ops == 0) sum->ops = 1; /* nobody got through: as good as one */
}

/* Adds what was measured to the samples, as far as the workload shows it. */
static void keep_sample(const engine *e, const plan *p, const bench_subject *subject, const totals *sum,
                        const cc_counted_t *waits, bench_result *result)
{
    const bench_histogram *h = &e->histograms[0];
    const double ops = (double)sum->ops;
    double values[BENCH_METRICS];
    values[BENCH_RATE] = ops / e->slice->seconds / 1e6;
    values[BENCH_NS] = e->slice->seconds * 1e9 / ops;
    values[BENCH_TICKS] = values[BENCH_NS] * bench_time.ticks_per_ns;
    values[BENCH_MEAN] = shown_ns(p, h->count ? (double)h->sum / (double)h->count : 0);
    values[BENCH_P50] = shown_ns(p, bench_histogram_quantile(h, 0.5));
    values[BENCH_P90] = shown_ns(p, bench_histogram_quantile(h, 0.9));
    values[BENCH_P99] = shown_ns(p, bench_histogram_quantile(h, 0.99));
    values[BENCH_P999] = shown_ns(p, bench_histogram_quantile(h, 0.999));
    values[BENCH_WORST] = shown_ns(p, (double)h->max);
    values[BENCH_JAIN] = bench_jain(sum->each, sum->compared);
    values[BENCH_RETRIES] = (double)sum->retries / ops;
    values[BENCH_CPU] = sum->cpu_ns / ops;
    values[BENCH_SPUN] = (double)waits->spun / ops;
    values[BENCH_YIELDED] = (double)waits->yielded / ops;
    values[BENCH_SLEPT] = (double)waits->slept / ops;
    bool has_waits = subject->family != BENCH_CAS && (subject->flags & (BENCH_OURS | BENCH_UNCOUNTED)) == BENCH_OURS;
    for (uint32_t m = 0; m < BENCH_METRICS; m++) {
        bench_samples *samples = &result->metrics[m];
        if (m == BENCH_JAIN && p->slice_seconds < fair_seconds(p)) continue;
        if (m >= BENCH_COLUMNS ? has_waits : (p->workload->metrics & BIT(m)) != 0)
            samples->values[samples->count++] = values[m];
    }
}

/* Runs one subject for one slice and adds a sample of each metric. False: the whole measurement ends. */
static bool measure_slice(engine *e, const plan *p, uint32_t which, bench_result *result, bench_histogram *latency)
{
    const workload *w = p->workload;
    const bench_subject *subject = p->entry[which].subject;
    const uint32_t threads = p->setting.threads;
    const char *why = "";
    totals sum;
    void *object = subject->create(&p->setting);
    if (!object) {
        snprintf(e->error, e->error_size, "%s: cannot be created for %s", subject->name, w->name);
        return false;
    }
    set_up_threads(e, p, subject, object);
    cc_counted_t before = waits_so_far();
    if (!slice_run(e->slice, threads, p->slice_seconds, e->options->interrupted, &why)) {
        e->stuck = true;
        snprintf(e->error, e->error_size, "%s: %s (%s, %u threads)", subject->name, why, w->name, (unsigned)threads);
        return false;
    }
    cc_counted_t waits = waits_so_far();
    waits.spun -= before.spun;
    waits.yielded -= before.yielded;
    waits.slept -= before.slept;
    subject->destroy(object);
    e->slices_done++;
    e->slice_total += e->slice->seconds;
    if (interrupted(e)) return true;

    add_up(e, p, &sum);
    /* Also of a round that is dropped: fairness does not depend on it. */
    for (uint32_t i = 0; i < sum.compared; i++) result->per_thread[i] += sum.each[i];
    bool has_messages = subject->family >= BENCH_CHANNEL || subject->family == BENCH_CONDITION;
    if (has_messages && sum.sent != sum.received && !(subject->flags & BENCH_NO_ORDER)) {
        snprintf(e->error, e->error_size, "%s: what was received is not what was sent (%s)", subject->name, w->name);
        return false;
    }
    result->threads = sum.compared;
    if (latency) *latency = e->histograms[0];
    keep_sample(e, p, subject, &sum, &waits, result);
    return true;
}

/* How long each slice of the plan is to be. With a limit on everything: the time that is left, shared among the slices
 * that are left. Starting and ending threads costs what it did so far; a busy machine makes that long. */
static double choose_slice(const engine *e, const plan *p)
{
    double asked = e->options->slice, own = p->workload->slice, fair = fair_seconds(p);
    if (e->options->total > 0) {
        double spent = (double)(cc_now_ns() - e->begin_ns) / 1e9;
        double overhead = e->slices_done ? (spent - e->slice_total) / e->slices_done : 0.0015;
        double each = (e->options->total - spent) / (e->slices_planned - e->slices_done) - overhead;
        double most = asked > 0 ? asked : 0.2;
        return each < 0.002 ? 0.002 : each < most ? each : most;
    }
    asked = asked > 0 ? asked : own > 0 ? own : 0.1;
    return asked > fair ? asked : fair;
}

static uint32_t choose_rounds(const engine *e, const plan *p)
{
    uint32_t own = p->workload->rounds, rounds = e->options->repeats ? e->options->repeats : own ? own : 7;
    return rounds < BENCH_ROUNDS ? rounds : BENCH_ROUNDS;
}

static bool has_latency(const workload *w)
{
    return (w->metrics & (BIT(BENCH_MEAN) | BIT(BENCH_P50) | BIT(BENCH_P99))) != 0;
}

/* Takes the last sample of every metric back. */
static void forget_round(bench_run *run)
{
    for (uint32_t i = 0; i < run->results; i++)
        for (uint32_t m = 0; m < BENCH_METRICS; m++)
            if (run->result[i].metrics[m].count > run->rounds) run->result[i].metrics[m].count = run->rounds;
}

static bool plan_start(engine *e, plan *p, bench_run *run)
{
    const workload *w = p->workload;
    p->slice_seconds = choose_slice(e, p);
    p->rounds = choose_rounds(e, p);
    p->tries = e->options->total > 0 ? p->rounds : 2 * p->rounds; /* a limited time is not spent on more rounds */
    p->run = run;
    plan_gaps(p);
    p->latencies = bench_alloc(p->subjects * sizeof *p->latencies);
    p->latest = bench_alloc(p->subjects * sizeof *p->latest);
    snprintf(run->workload, sizeof run->workload, "%s", w->name);
    snprintf(run->title, sizeof run->title, "%s", w->title);
    run->family = w->family;
    run->setting = p->setting;
    run->primary = w->primary;
    run->slice_ms = p->slice_seconds * 1e3;
    run->result = calloc(p->subjects, sizeof *run->result);
    for (uint32_t i = 0; run->result && i < p->subjects; i++) {
        bench_result *result = &run->result[run->results++];
        snprintf(result->name, sizeof result->name, "%s%s", p->entry[i].subject->name,
                 e->options->self_test && i == 1 ? ", again" : "");
        snprintf(result->uses, sizeof result->uses, "%s", p->entry[i].subject->uses);
        snprintf(result->peer, sizeof result->peer, "%s", p->entry[i].peer->name);
        result->flags = p->entry[i].subject->flags;
        if (e->options->self_test)
            result->flags &= ~(uint32_t)(BENCH_OURS | BENCH_BASELINE); /* they compete as equals */
        result->per_thread = calloc(p->setting.threads, sizeof *result->per_thread);
        if (!result->per_thread) break;
    }
    if (run->results > 0 && run->result[run->results - 1].per_thread) return true;
    snprintf(e->error, e->error_size, "out of memory");
    return false;
}

static bool plan_has_rounds(const plan *p)
{
    return p->run->rounds < p->rounds && p->tried < p->tries;
}

/* One slice of each subject; it counts if the machine stayed the same. */
static bool plan_round(engine *e, plan *p)
{
    bench_run *run = p->run;
    bool latency = has_latency(p->workload), good = true;
    bench_pace_sleeps_from_ns = pace_sleeps_from(p);
    bench_pace_yields = pace_yields(p);
    double before = placement_line_ns();
    host_load_t load_before = placement_load();
    for (uint32_t i = 0; good && i < p->subjects && !interrupted(e); i++) {
        uint32_t which = (i + p->tried) % p->subjects;
        progress(e, p, p->entry[which].subject->name);
        good = measure_slice(e, p, which, &run->result[which], latency ? &p->latest[which] : NULL);
    }
    double after = placement_line_ns();
    host_load_t load_after = placement_load();
    double others = placement_others(&load_before, &load_after);
    bool whole = good && !interrupted(e);
    bool moved = before > 0 && (after > 1.5 * before || before > 1.5 * after); /* the CPUs are not where they were */
    bool disturbed = others > BENCH_OTHERS_LIMIT && e->options->neighbours == 0;
    bool last_chance = p->rounds - run->rounds >= p->tries - p->tried;
    if (whole && ((!moved && !disturbed) || last_chance)) {
        run->line_ns[run->lines++] = before;
        run->line_ns[run->lines++] = after;
        run->others[run->rounds++] = others;
        for (uint32_t i = 0; latency && i < p->subjects; i++) bench_histogram_merge(&p->latencies[i], &p->latest[i]);
    } else {
        forget_round(run);
        run->rounds_dropped += whole;
    }
    if (p->tried++ >= p->rounds) e->seconds_planned += p->subjects * p->slice_seconds;
    return good;
}

static void plan_end(plan *p)
{
    bench_run *run = p->run;
    for (uint32_t i = 0; has_latency(p->workload) && i < run->results; i++) {
        bench_result *result = &run->result[i];
        result->latency_count = p->latencies[i].count;
        result->latency_max = shown_ns(p, (double)p->latencies[i].max);
        for (size_t k = 0; k < sizeof quantile_shares / sizeof *quantile_shares; k++) {
            result->quantile[k][0] = quantile_shares[k];
            result->quantile[k][1] = shown_ns(p, bench_histogram_quantile(&p->latencies[i], quantile_shares[k]));
        }
        result->quantiles = sizeof quantile_shares / sizeof *quantile_shares;
    }
    free(p->latencies);
    free(p->latest);
    bench_run_conclude(run);
}

/* The plans of one workload. They take turns round by round, so that what is said of 2 threads and of 32 was measured
 * on the same machine: a virtual one may change from minute to minute. */
static bool run_plans(engine *e, plan *plans, uint32_t count)
{
    bench_report *report = e->report;
    bool good = true, more = true;
    uint32_t started = 0;
    bench_run *runs = &report->run[report->runs];
    while (good && started < count) {
        good = plan_start(e, &plans[started], &runs[started]);
        started++;
    }
    while (good && more && !interrupted(e)) {
        more = false;
        for (uint32_t i = 0; good && i < count && !interrupted(e); i++) {
            if (!plan_has_rounds(&plans[i])) continue;
            good = plan_round(e, &plans[i]);
            more = true;
        }
    }
    for (uint32_t i = 0; i < started; i++) {
        plan_end(&plans[i]);
        if (runs[i].rounds > 0) {
            report->run[report->runs++] = runs[i];
            continue;
        }
        bench_run_free(&runs[i]); /* not one whole round */
    }
    return good;
}

/* ---- everything -------------------------------------------------------------------------------------------------- */

static void describe(bench_report *report, const bench_options *options)
{
    host_t host;
    host_describe(&host);
    snprintf(report->command, sizeof report->command, "%s", options->command ? options->command : "");
    snprintf(report->version, sizeof report->version, "%s", CC_VERSION_STRING);
    snprintf(report->date, sizeof report->date, "%s", host.date);
    snprintf(report->cpu, sizeof report->cpu, "%s", host.cpu);
    snprintf(report->system, sizeof report->system, "%s %s", host.system, host.architecture);
    snprintf(report->libc, sizeof report->libc, "%s", host.libc[0] ? host.libc : "unknown");
    snprintf(report->compiler, sizeof report->compiler, "%s", host.compiler);
    report->hypervisor = host.hypervisor;
    snprintf(report->clock, sizeof report->clock, "%s", bench_time.tsc ? "tsc" : "clock_gettime");
    snprintf(report->pin, sizeof report->pin, "%s", options->pin ? options->pin : "spread");
    if (options->neighbours && options->neighbours_cpu >= 0)
        snprintf(report->neighbours, sizeof report->neighbours, "%u@%d", options->neighbours, options->neighbours_cpu);
    else if (options->neighbours)
        snprintf(report->neighbours, sizeof report->neighbours, "%u", options->neighbours);
    report->cpus = cc_costs()->cpus;
    report->clock_ghz = bench_time.ticks_per_ns;
    report->clock_overhead_ns = bench_time.overhead_ns;
    report->clock_step_ns = bench_time.step_ns;
    report->pause_ns = cc_costs()->pause_ps / 1e3;
    report->yield_ns = cc_costs()->yield_ns;
    report->histogram_error = BENCH_HISTOGRAM_ERROR;
    for (const bench_peer *const *peer = bench_peers; *peer && report->peers < 32; peer++) {
        snprintf(report->peer[report->peers].name, sizeof report->peer->name, "%s", (*peer)->name);
        snprintf(report->peer[report->peers].version, sizeof report->peer->version, "%s", (*peer)->version);
        report->peer[report->peers++].present = (*peer)->subjects != NULL;
    }
}

bool bench_measure(bench_report *report, const bench_options *options, char *error, size_t error_size)
{
    enum { PLANS = 1024 };
    engine e = { .options = options, .report = report, .error = error, .error_size = error_size };
    bool good = true;
    memset(report, 0, sizeof *report);
    error[0] = 0;
    bench_time_start();
    if (!placement_choose(options->pin)) {
        snprintf(error, error_size,
                 "--pin: '%s' is neither spread, nor none, nor a list of CPUs that this process may use", options->pin);
        return false;
    }
    if (!placement_neighbours_start(options->neighbours, options->neighbours_cpu, error, error_size)) return false;
    plan *plans = calloc(PLANS, sizeof *plans);
    uint32_t count = plans ? plan_all(plans, PLANS, options) : 0;
    if (count == 0) {
        snprintf(error, error_size,
                 plans ? "nothing to measure: no implementation fits these options" : "out of memory");
        free(plans);
        placement_neighbours_stop();
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        e.slices_planned += plans[i].subjects * choose_rounds(&e, &plans[i]);
        if (plans[i].setting.threads > e.threads) e.threads = plans[i].setting.threads;
    }
    describe(report, options);
    e.slice = bench_alloc(sizeof *e.slice);
    e.slice->threads = bench_alloc(e.threads * sizeof *e.slice->threads);
    e.histograms = bench_alloc(e.threads * sizeof *e.histograms);
    report->run = calloc(count, sizeof *report->run);
    e.begin_ns = cc_now_ns();
    for (uint32_t i = 0; i < count; i++)
        e.seconds_planned += plans[i].subjects * choose_rounds(&e, &plans[i]) * choose_slice(&e, &plans[i]);
    for (uint32_t i = 0, n; good && report->run && i < count && !interrupted(&e); i += n) {
        n = 1;
        if (!(plans[i].workload->how & MAP))
            while (i + n < count && plans[i + n].workload == plans[i].workload) n++;
        good = run_plans(&e, &plans[i], n);
    }
    report->interrupted = interrupted(&e);
    placement_neighbours_stop();
    if (!e.stuck) {
        free(e.histograms);
        free(e.slice->threads);
        free(e.slice);
    }
    free(plans);
    return good;
}

void bench_run_free(bench_run *run)
{
    for (uint32_t i = 0; i < run->results; i++) free(run->result[i].per_thread);
    free(run->result);
}

void bench_report_free(bench_report *report)
{
    for (uint32_t i = 0; i < report->runs; i++) bench_run_free(&report->run[i]);
    free(report->run);
    report->run = NULL;
    report->runs = 0;
}
