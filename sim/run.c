/* run.c: the workloads, and one run of one of them. */
#include "core.h"
#include "sim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BIT(m) (UINT32_C(1) << (m))

enum { SETUP_PS = 1000000000 };

/* ---- what bench.h asks for; looking at the clock is free here ---- */

bench_clock bench_time = { 0, 1, 0, 0, 1, 0 };

uint64_t bench_ticks(void)
{
    return sim_time() / 1000;
}

void bench_work_turns(uint32_t turns)
{
    sim_work(turns * UINT64_C(1000));
}

uint64_t bench_pace(uint64_t *due)
{
    uint64_t now = bench_ticks();
    if (now < *due) sim_work((*due - now) * 1000);
    return *due;
}

uint64_t bench_offer(uint64_t *due, uint64_t *woke)
{
    (void)woke;
    return bench_pace(due);
}

/* On lines of its own, at an address that is the same in every run. */
void *bench_alloc(size_t bytes)
{
    void *memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (!memory) abort();
    return memset(memory, 0, bytes);
}

/* ---- workloads ---- */

#define RATE  (BIT(BENCH_RATE) | BIT(BENCH_JAIN) | BIT(BENCH_CPU))
#define TIMES (BIT(BENCH_P50) | BIT(BENCH_P99) | BIT(BENCH_WORST))

static const sim_workload_t fetch_mul = {
    .name = "cas.fetch_mul",
    .title = "v *= 3 on one shared word by compare-and-swap",
    .family = BENCH_CAS,
    .loop = BENCH_CAS_RATE,
    .primary = BENCH_RATE,
    .metrics = RATE | BIT(BENCH_RETRIES),
    .scales = true,
    .virtual_ms = 20,
};
static const sim_workload_t tight = {
    .name = "lock.tight",
    .title = "acquire, increment, release; nothing outside",
    .family = BENCH_LOCK,
    .loop = BENCH_LOCK_LATENCY,
    .primary = BENCH_RATE,
    .metrics = RATE | TIMES,
    .scales = true,
    .virtual_ms = 40,
};
static const sim_workload_t apart = {
    .name = "lock.apart",
    .title = "acquire, increment, release; 100 ns outside",
    .family = BENCH_LOCK,
    .loop = BENCH_LOCK_LATENCY,
    .primary = BENCH_RATE,
    .metrics = RATE | TIMES,
    .scales = true,
    .virtual_ms = 40,
    .setting = { .outside_ns = 100 },
};
static const sim_workload_t park_pingpong = {
    .name = "park.pingpong",
    .title = "wake the other thread and sleep, one way",
    .family = BENCH_PARK,
    .loop = BENCH_PARK_PINGPONG,
    .primary = BENCH_P50,
    .metrics = TIMES | BIT(BENCH_CPU),
    .virtual_ms = 40,
};
static const sim_workload_t pingpong = {
    .name = "channel.pingpong",
    .title = "a message to the other CPU and its answer, one way",
    .family = BENCH_CHANNEL,
    .loop = BENCH_CHANNEL_PINGPONG,
    .primary = BENCH_P50,
    .metrics = TIMES | BIT(BENCH_CPU),
    .virtual_ms = 4,
    .setting = { .capacity = 1024, .message_size = 8 },
};
static const sim_workload_t stream = {
    .name = "channel.stream",
    .title = "one sender, one receiver, as fast as it goes",
    .family = BENCH_CHANNEL,
    .loop = BENCH_CHANNEL_STREAM,
    .primary = BENCH_RATE,
    .metrics = BIT(BENCH_RATE) | BIT(BENCH_CPU),
    .virtual_ms = 4,
    .setting = { .capacity = 1024, .message_size = 8 },
};
static const sim_workload_t many = {
    .name = "channel.many",
    .title = "N senders, N receivers, as fast as it goes",
    .family = BENCH_CHANNEL,
    .loop = BENCH_CHANNEL_STREAM,
    .primary = BENCH_RATE,
    .metrics = RATE,
    .scales = true,
    .pairs = true,
    .virtual_ms = 20,
    .setting = { .capacity = 1024, .message_size = 8 },
};
static const sim_workload_t pool = {
    .name = "channel.pool",
    .title = "one sender, N receivers, as fast as it goes",
    .family = BENCH_CHANNEL,
    .loop = BENCH_CHANNEL_STREAM,
    .primary = BENCH_RATE,
    .metrics = RATE,
    .scales = true,
    .virtual_ms = 20,
    .setting = { .capacity = 1024, .message_size = 8 },
};

/* Cells of a map: sections of a length, and a time outside that is exponentially distributed. */
#define LOCK_MAP(held, outside)                                        \
    static const sim_workload_t map_##held##_##outside = {             \
        .name = "lock.map",                                            \
        .title = #held " ns held, " #outside " ns outside on average", \
        .family = BENCH_LOCK,                                          \
        .loop = BENCH_LOCK_LATENCY,                                    \
        .primary = BENCH_RATE,                                         \
        .metrics = RATE | TIMES,                                       \
        .scales = true,                                                \
        .random = true,                                                \
        .virtual_ms = 40,                                              \
        .setting = { .held_ns = held, .outside_ns = outside },         \
    };
LOCK_MAP(50, 500)
LOCK_MAP(50, 10000)
LOCK_MAP(1000, 500)
LOCK_MAP(1000, 10000)
LOCK_MAP(20000, 20000)

/* Messages that are offered to N receivers at an interval that is exponentially distributed, each with work. */
#define CHANNEL_MAP(interval, work)                                                                               \
    static const sim_workload_t offered_##interval##_##work = {                                                   \
        .name = "channel.map",                                                                                    \
        .title = "one sender, a message every " #interval " ns, N receivers that work for " #work " ns",          \
        .family = BENCH_CHANNEL,                                                                                  \
        .loop = BENCH_CHANNEL_OFFERED,                                                                            \
        .primary = BENCH_RATE,                                                                                    \
        .metrics = RATE | TIMES,                                                                                  \
        .scales = true,                                                                                           \
        .random = true,                                                                                           \
        .virtual_ms = 40,                                                                                         \
        .setting = { .interval_ns = interval, .work_ns = work, .capacity = 1024, .message_size = 8, .burst = 1 }, \
    };
CHANNEL_MAP(300, 0)
CHANNEL_MAP(300, 1000)
CHANNEL_MAP(3000, 1000)

const sim_workload_t *const sim_workloads[] = {
    &fetch_mul,
    &tight,
    &apart,
    &map_50_500,
    &map_50_10000,
    &map_1000_500,
    &map_1000_10000,
    &map_20000_20000,
    &park_pingpong,
    &pingpong,
    &stream,
    &many,
    &pool,
    &offered_300_0,
    &offered_300_1000,
    &offered_3000_1000,
    NULL,
};

extern const bench_peer bench_peer_concede, bench_peer_plain, sim_peer_textbook;
const bench_peer *const sim_peers[] = { &bench_peer_concede, &bench_peer_plain, &sim_peer_textbook, NULL };

/* ---- one run ---- */

static struct {
    const bench_subject *subject;
    const bench_setting *setting;
    uint32_t loop, done, stop;
    void *object;
    bench_histogram histogram; /* of all threads: they are all in this one */
    bool over;
    uint64_t in_time; /* what the histogram had when it was over */
    uint32_t gaps[BENCH_GAPS];
} the;

/* Where a thread waits for long, much is done after the end, by those who were under way. */
bool bench_stopped(const bench_thread *t)
{
    (void)t;
    if (!sim_stopped()) return false;
    if (!the.over) the.in_time = the.histogram.count;
    return the.over = true;
}

typedef struct run_thread {
    bench_thread bench;
    uint64_t cpu_ps;
} run_thread;

static void set_up(void *argument)
{
    (void)argument;
    (void)cc_costs(); /* as a program has it done long before it is in a hurry */
    the.object = the.subject->create(the.setting);
}

static void run_thread_body(void *argument)
{
    run_thread *t = argument;
    t->bench.object = the.object;
    the.subject->loops[the.loop](&t->bench);
    t->cpu_ps = sim_cpu_time();
}

/* Between messages the interval is that of all senders together. */
static void fill_gaps(const sim_workload_t *w, const bench_setting *s)
{
    double mean = s->outside_ns + (double)s->interval_ns * (s->senders > 1 ? s->senders : 1);
    for (uint32_t i = 0; i < BENCH_GAPS; i++) {
        double share = (sim_random(1000000) + 0.5) / 1e6;
        the.gaps[i] = (uint32_t)(w->random ? -mean * log(share) : mean);
    }
}

static double halved(const sim_workload_t *w)
{
    bool channel = w->family == BENCH_CHANNEL && w->loop == BENCH_CHANNEL_PINGPONG;
    bool park = w->family == BENCH_PARK && w->loop == BENCH_PARK_PINGPONG;
    return channel || park ? 2 : 1;
}

static void conclude(const sim_workload_t *w, const run_thread *threads, uint64_t begin, sim_outcome_t *o)
{
    const bench_setting *s = the.setting;
    uint64_t ops = 0, retries = 0, cpu_ps = 0, *each = calloc(s->threads, sizeof *each);
    uint32_t counted = 0;
    if (!each) abort();
    for (uint32_t i = 0; i < s->threads; i++) {
        const bench_thread *t = &threads[i].bench;
        ops += t->ops;
        retries += t->retries;
        cpu_ps += threads[i].cpu_ps;
        if (s->senders == 0 || i >= s->senders) each[counted++] = t->ops;
    }
    uint64_t in_time = the.over && ops == the.histogram.count ? the.in_time : ops;
    double ns = (double)(sim_stopped_at() - begin) / 1e3, n = ops ? (double)ops : 1;
    double share = halved(w);
    o->values[BENCH_RATE] = (double)in_time / ns * 1e3;
    o->values[BENCH_NS] = ns / n;
    o->values[BENCH_MEAN] = the.histogram.count ? (double)the.histogram.sum / (double)the.histogram.count / share : 0;
    o->values[BENCH_P50] = bench_histogram_quantile(&the.histogram, 0.5) / share;
    o->values[BENCH_P90] = bench_histogram_quantile(&the.histogram, 0.9) / share;
    o->values[BENCH_P99] = bench_histogram_quantile(&the.histogram, 0.99) / share;
    o->values[BENCH_P999] = bench_histogram_quantile(&the.histogram, 0.999) / share;
    o->values[BENCH_WORST] = (double)the.histogram.max / share;
    o->values[BENCH_JAIN] = bench_jain(each, counted);
    o->values[BENCH_RETRIES] = (double)retries / n;
    o->values[BENCH_CPU] = (double)cpu_ps / 1e3 / n;
    o->virtual_ms = ns / 1e6;
    free(each);
}

void sim_run(const sim_machine_t *machine, const sim_workload_t *workload, const bench_subject *subject,
             const bench_setting *setting, uint64_t seed, uint64_t most_events, sim_outcome_t *outcome)
{
    uint32_t cpus = sim_machine_cpus(machine);
    run_thread *threads = bench_alloc(setting->threads * sizeof *threads);
    memset(outcome, 0, sizeof *outcome);
    unsetenv("CONCEDE_COSTS"); /* which are those of the real machine */
    the.subject = subject;
    the.setting = setting;
    the.loop = workload->loop;
    sim_begin(machine, seed);
    fill_gaps(workload, setting);
    sim_spawn(set_up, NULL, 0);
    if (!sim_go(SETUP_PS * UINT64_C(10)) || !the.object) return;
    uint64_t begin = sim_stopped_at();
    sim_stop_after((uint64_t)(workload->virtual_ms * 1e9), most_events);
    for (uint32_t i = 0; i < setting->threads; i++) {
        bench_thread *t = &threads[i].bench;
        t->stop = &the.stop;
        t->done = &the.done;
        t->index = i;
        t->threads = setting->threads;
        t->senders = setting->senders;
        t->work = setting->outside_ns + setting->work_ns;
        t->held = setting->held_ns;
        t->gap = i * 37;
        t->gaps = the.gaps;
        t->burst = setting->burst;
        t->histogram = &the.histogram;
        sim_spawn(run_thread_body, &threads[i], workload->scales ? i : i == 0 ? 0 : 1 % cpus);
    }
    outcome->ended = sim_go((uint64_t)(workload->virtual_ms * 1e9) * 4 + UINT64_C(2000000000000));
    outcome->whole = sim_counts.events < most_events;
    conclude(workload, threads, begin, outcome);
    outcome->events = sim_counts.events;
    outcome->transfers = sim_counts.transfers;
    outcome->sleeps = sim_counts.sleeps;
    outcome->wakes = sim_counts.wakes;
    outcome->yields = sim_counts.yields;
    outcome->preemptions = sim_counts.preemptions;
    outcome->membarriers = sim_counts.membarriers;
}
