/* machine.c: see machine.h. The only file of the program that asks which architecture this is. */
#include "machine.h"
#include "tool.h"

#include <concede/concede.h>

#if defined(CONCEDE_WITH_BENCH)
#include "bench.h"
#endif
#include "os.h" /* the bare system calls, which the public headers hide */

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

const machine_probe_text_t machine_probes[MACHINE_PROBES] = {
    { "pause", "pause", "one spin-wait hint" },
    { "yield", "yield", "one yield, nobody else to run" },
    { "clock", "clock", "reading the clock" },
    { "fence", "fence", "a store and a full fence" },
    { "membarrier", "membarrier", "a fence on all CPUs, for one going to sleep" },
    { "wake_none", "wake, nobody asleep", "the system call alone" },
    { "line", "cache line", "one way to another CPU" },
    { "wake_call", "wake, caller", "time in the call that wakes a sleeper" },
    { "wake", "wake, arrival", "from that call to the sleeper running" },
    { "sleep_cpu", "sleep, CPU", "CPU time of the sleeper for one sleep" },
    { "round_trip", "round trip", "park and unpark there and back" },
};

#if defined(CC_ARCH_PAUSE_SB_)
#define PAUSE_IS (cc_load_relaxed(&cc_pause_sb_) ? "sb" : CC_ARCH_PAUSE_IS_) /* relaxed: cc_costs() set it before */
#else
#define PAUSE_IS CC_ARCH_PAUSE_IS_
#endif

/* "0-3,8": what taskset takes. */
static void list_text_(const machine_t *m, char *text, size_t size)
{
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < m->affinity && used + 24 < size; i++) {
        int first = i;
        while (i + 1 < m->affinity && m->cpu_list[i + 1] == m->cpu_list[i] + 1) i++;
        used += (size_t)snprintf(text + used, size - used, "%s%d", used ? "," : "", m->cpu_list[first]);
        if (i > first) used += (size_t)snprintf(text + used, size - used, "-%d", m->cpu_list[i]);
    }
}

void machine_describe(machine_t *m)
{
    memset(m, 0, sizeof *m);
    host_describe(&m->host);
    m->online = host_cpus_online();
    m->affinity = host_cpus(m->cpu_list);
    list_text_(m, m->affinity_list, sizeof m->affinity_list);
    m->usable = (int)cc_costs()->cpus;
    m->pause = PAUSE_IS;
    m->membarrier = cc_os_membarrier_register_() && cc_os_membarrier_();
}

bool machine_is_busy(const machine_t *m)
{
    return m->others > 0.2;
}

void machine_usable_text(const machine_t *m, char *text, size_t size)
{
    int used = snprintf(text, size, "%d of %d", m->usable, m->online);
    if (used < 0 || (size_t)used >= size) return;
    if (m->usable < m->affinity)
        snprintf(text + used, size - (size_t)used, ": the CPU quota of its control group allows no more");
    else if (m->affinity < m->online)
        snprintf(text + used, size - (size_t)used, ": affinity allows CPU%s %s", m->affinity > 1 ? "s" : "",
                 m->affinity_list);
    else
        snprintf(text + used, size - (size_t)used, ": no affinity mask, no quota");
}

/* ---- measuring ---- */

enum { SAMPLES = 400 };

typedef struct samples {
    int count;
    double ns[SAMPLES];
} samples_t;

static machine_cost_t cost_of_(samples_t *s)
{
    machine_cost_t cost = { 0, NAN, NAN, NAN };
    if (s->count == 0) return cost;
    qsort(s->ns, (size_t)s->count, sizeof s->ns[0], tool_by_value);
    cost.samples = (uint32_t)s->count;
    cost.median = s->ns[s->count / 2];
    cost.low = s->ns[s->count / 10];
    cost.high = s->ns[s->count - 1 - s->count / 10];
    return cost;
}

static bool more_(const samples_t *s, uint64_t end)
{
    return s->count < SAMPLES && !tool_interrupted() && (s->count < 20 || cc_now_ns() < end);
}

static uint32_t nobody; /* a word that no thread sleeps on */

/* A loop of its own for each, so that nothing but the thing itself is in it. */
#define BATCH(name, statement)       \
    static void name(int count)      \
    {                                \
        for (; count > 0; count--) { \
            statement;               \
        }                            \
    }
BATCH(pauses_, cc_pause())
BATCH(yields_, cc_os_yield_())
BATCH(clocks_, (void)cc_now_ns())
BATCH(fences_, cc_store_relaxed(&nobody, 0); cc_fence_full())
BATCH(membarriers_, (void)cc_os_membarrier_())
BATCH(wakes_of_nobody_, cc_os_wake_(&nobody, 1))

/* Batches of `count`, for at most 40 ms. */
static machine_cost_t batch_cost_(void (*batch)(int), int count)
{
    samples_t s = { 0 };
    for (uint64_t end = cc_deadline_in(40000000); more_(&s, end);) {
        uint64_t before = cc_now_ns();
        batch(count);
        s.ns[s.count++] = (double)(cc_now_ns() - before) / count;
    }
    return cost_of_(&s);
}

/* Two threads. `first` runs on one CPU and takes the samples, `second` on another and answers. */
typedef struct pair {
    int cpu[2];
    samples_t samples, other;
    CC_ALIGNED_(CC_CACHE_LINE) uint32_t turn; /* odd: the second thread's; STOP: end */
    CC_ALIGNED_(CC_CACHE_LINE) cc_parker_t parker[2];
    uint64_t woken_at;
    CC_ALIGNED_(CC_CACHE_LINE) uint32_t done;
    bool one_cpu;
} pair_t;

#define STOP UINT32_MAX

static void pass_time_(const pair_t *p)
{
    if (p->one_cpu)
        cc_os_yield_();
    else
        cc_pause();
}

static void *wake_second_(void *argument)
{
    pair_t *p = argument;
    host_pin(p->cpu[1]);
    for (;;) {
        double cpu = host_thread_cpu_ns();
        cc_parker_park(&p->parker[1]);
        p->woken_at = cc_now_ns();
        cpu = host_thread_cpu_ns() - cpu;
        if (cc_load_relaxed(&p->done) == STOP) return NULL;
        if (p->other.count < SAMPLES && isfinite(cpu)) p->other.ns[p->other.count++] = cpu;
        cc_store_release(&p->turn, 0);
    }
}

/* Each time the sleeper is given long enough to be really asleep: a wake-up that meets it on its way there costs
 * less. */
static void *wake_first_(void *argument)
{
    pair_t *p = argument;
    uint64_t end = cc_deadline_in(150000000);
    samples_t *arrival = &p->samples, *call = tool_need(calloc(1, sizeof *call));
    host_pin(p->cpu[0]);
    while (more_(arrival, end)) {
        while (cc_load_relaxed(&p->parker[1].state) != CC_PARKER_PARKED_) pass_time_(p);
        for (uint64_t asleep = cc_deadline_in(100000); cc_now_ns() < asleep;) pass_time_(p);
        cc_store_relaxed(&p->turn, 1);
        uint64_t before = cc_now_ns();
        cc_parker_unpark(&p->parker[1]);
        uint64_t after = cc_now_ns();
        while (cc_load_acquire(&p->turn) != 0) pass_time_(p);
        arrival->ns[arrival->count] = (double)(p->woken_at - before);
        call->ns[arrival->count++] = (double)(after - before);
    }
    call->count = arrival->count;
    cc_store_relaxed(&p->done, STOP);
    cc_parker_unpark(&p->parker[1]);
    return call;
}

static void *round_trip_second_(void *argument)
{
    pair_t *p = argument;
    host_pin(p->cpu[1]);
    for (;;) {
        cc_parker_park(&p->parker[1]);
        if (cc_load_relaxed(&p->done) == STOP) return NULL;
        cc_parker_unpark(&p->parker[0]);
    }
}

static void *round_trip_first_(void *argument)
{
    pair_t *p = argument;
    uint64_t end = cc_deadline_in(100000000);
    host_pin(p->cpu[0]);
    for (int warm = 0; warm < 10 || more_(&p->samples, end); warm++) {
        uint64_t before = cc_now_ns();
        cc_parker_unpark(&p->parker[1]);
        cc_parker_park(&p->parker[0]);
        if (warm >= 10) p->samples.ns[p->samples.count++] = (double)(cc_now_ns() - before);
    }
    cc_store_relaxed(&p->done, STOP);
    cc_parker_unpark(&p->parker[1]);
    return NULL;
}

/* Runs both and returns what the first one did. The pair is new memory: no line of it is in use elsewhere. */
static pair_t *run_pair_(void *(*first)(void *), void *(*second)(void *), int cpu_first, int cpu_second, void **result)
{
    pthread_t threads[2];
    void *memory = NULL;
    if (posix_memalign(&memory, CC_CACHE_LINE, sizeof(pair_t)) != 0) tool_need(NULL);
    pair_t *p = memset(memory, 0, sizeof(pair_t));
    p->cpu[0] = cpu_first;
    p->cpu[1] = cpu_second;
    p->one_cpu = cpu_first == cpu_second;
    if (pthread_create(&threads[1], NULL, second, p) != 0) tool_die("cannot start a thread");
    if (pthread_create(&threads[0], NULL, first, p) != 0) tool_die("cannot start a thread");
    pthread_join(threads[0], result);
    pthread_join(threads[1], NULL);
    return p;
}

static void measure_line_(machine_t *m, int i, int j)
{
    if (m->lines == MACHINE_LINES || tool_interrupted()) return;
    char which[64];
    snprintf(which, sizeof which, "CPU %d to %d", m->cpu_list[i], m->cpu_list[j]);
    tool_progress("cache line", which, 0);
    samples_t s = { 0 };
    s.count = (int)host_line(m->cpu_list[i], m->cpu_list[j], 30000000, s.ns, SAMPLES);
    if (s.count == 0) tool_die("cannot start a thread");
    m->line[m->lines++] = (machine_line_t){ m->cpu_list[i], m->cpu_list[j], cost_of_(&s) };
}

/* All pairs of a few CPUs; of many, the first with each of up to MACHINE_LINES others, evenly chosen. */
static void measure_lines_(machine_t *m)
{
    int n = m->affinity;
    if (m->usable < 2 || n < 2) return;
    if (n * (n - 1) / 2 <= 28) {
        for (int i = 0; i < n; i++)
            for (int j = i + 1; j < n; j++) measure_line_(m, i, j);
    } else {
        int step = (n - 1 + MACHINE_LINES - 1) / MACHINE_LINES;
        for (int j = 1; j < n; j += step) measure_line_(m, 0, j);
    }
    samples_t medians = { 0 };
    for (int i = 0; i < m->lines; i++)
        if (m->line[i].cost.samples) medians.ns[medians.count++] = m->line[i].cost.median;
    m->cost[MACHINE_LINE] = m->lines == 1 ? m->line[0].cost : cost_of_(&medians);
}

void machine_measure(machine_t *m)
{
    host_load_t before = host_load(NULL, 0);
    int first = m->cpu_list[0], second = m->usable > 1 && m->affinity > 1 ? m->cpu_list[m->affinity - 1] : first;
    void *result = NULL;
    tool_progress("clock", "", 0);
#if defined(CONCEDE_WITH_BENCH)
    bench_time_start();
    if (bench_time.tsc) {
        m->tsc_ghz = bench_time.ticks_per_ns;
        m->tsc_read_ns = bench_time.overhead_ns;
        m->tsc_step_ns = bench_time.step_ns;
    }
#endif
    tool_progress("calls", "", 0);
    m->cost[MACHINE_PAUSE] = batch_cost_(pauses_, 1000);
    m->cost[MACHINE_YIELD] = batch_cost_(yields_, 50);
    m->cost[MACHINE_CLOCK] = batch_cost_(clocks_, 1000);
    m->cost[MACHINE_FENCE] = batch_cost_(fences_, 1000);
    if (m->membarrier) m->cost[MACHINE_MEMBARRIER] = batch_cost_(membarriers_, 10);
    m->cost[MACHINE_WAKE_NONE] = batch_cost_(wakes_of_nobody_, 100);
    measure_lines_(m);

    tool_progress("wake-ups", "", 0);
    pair_t *p = run_pair_(wake_first_, wake_second_, first, second, &result);
    samples_t *call = result;
    m->cost[MACHINE_WAKE] = cost_of_(&p->samples);
    m->cost[MACHINE_SLEEP_CPU] = cost_of_(&p->other);
    m->cost[MACHINE_WAKE_CALL] = cost_of_(call);
    free(call);
    free(p);
    p = run_pair_(round_trip_first_, round_trip_second_, first, second, NULL);
    m->cost[MACHINE_ROUND_TRIP] = cost_of_(&p->samples);
    free(p);
    host_load_t after = host_load(NULL, 0);
    m->others = host_others(&before, &after);
    tool_progress_end();
}

static void cost_json_(json_writer_t *w, const char *key, const machine_cost_t *cost)
{
    json_open(w, key, '{');
    json_number(w, "median", cost->median);
    json_number(w, "p10", cost->low);
    json_number(w, "p90", cost->high);
    json_integer(w, "samples", cost->samples);
    json_close(w);
}

void machine_write_json(const machine_t *m, json_writer_t *w)
{
    const cc_costs_t *library = cc_costs();
    json_string(w, "version", CC_VERSION_STRING);
    json_string(w, "date", m->host.date);
    json_string(w, "cpu", m->host.cpu);
    json_string(w, "architecture", m->host.architecture);
    json_string(w, "system", m->host.system);
    json_string(w, "libc", m->host.libc[0] ? m->host.libc : NULL);
    json_string(w, "compiler", m->host.compiler);
    json_bool(w, "hypervisor", m->host.hypervisor);
    json_string(w, "governor", m->host.governor[0] ? m->host.governor : NULL);
    json_open(w, "cpus", '{');
    json_integer(w, "online", (uint64_t)m->online);
    json_integer(w, "affinity", (uint64_t)m->affinity);
    json_string(w, "affinity_list", m->affinity_list);
    json_integer(w, "usable", (uint64_t)m->usable);
    json_string(w, "limited_by", m->usable < m->affinity ? "quota" : m->affinity < m->online ? "affinity" : NULL);
    json_close(w);
    json_number(w, "other_programs_cpus", m->others);
    json_bool(w, "busy", machine_is_busy(m));
    json_string(w, "pause_instruction", m->pause);
    json_bool(w, "membarrier", m->membarrier);
    json_open(w, "tsc", '{');
    json_bool(w, "present", m->host.has_tsc);
    json_bool(w, "invariant", m->host.tsc_invariant);
    if (m->tsc_ghz > 0) {
        json_number(w, "ghz", m->tsc_ghz);
        json_number(w, "read_ns", m->tsc_read_ns);
        json_number(w, "step_ns", m->tsc_step_ns);
    }
    json_string(w, "clocksource", m->host.clocksource[0] ? m->host.clocksource : NULL);
    json_close(w);
    json_string(w, "unit", "ns");
    json_open(w, "costs", '{');
    for (int i = 0; i < MACHINE_PROBES; i++)
        if (m->cost[i].samples) cost_json_(w, machine_probes[i].key, &m->cost[i]);
    json_close(w);
    json_open(w, "lines", '[');
    for (int i = 0; i < m->lines; i++) {
        json_open(w, NULL, '{');
        json_integer(w, "from", (uint64_t)m->line[i].from);
        json_integer(w, "to", (uint64_t)m->line[i].to);
        cost_json_(w, "cost", &m->line[i].cost);
        json_close(w);
    }
    json_close(w);
    json_open(w, "library", '{'); /* what cc_costs() says by now */
    json_integer(w, "pause_ps", library->pause_ps);
    json_integer(w, "yield_ns", library->yield_ns);
    json_integer(w, "wake_ns", cc_load_relaxed(&library->wake_ns));
    json_integer(w, "cpus", library->cpus);
    json_close(w);
}
