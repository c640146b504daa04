/* engine.c: runs the workloads and turns ticks into figures. See bench.h. */
#include "bench.h"
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>
#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

#include <concede/version.h>

bench_clock bench_time;

const char *const bench_families[BENCH_FAMILIES] = { "cas", "lock", "park", "channel" };

const bench_metric bench_metrics[BENCH_METRICS] = {
    [BENCH_RATE] = { "rate", "M/s", "M/s", true },
    [BENCH_NS] = { "ns", "ns", "ns each", false },
    [BENCH_TICKS] = { "ticks", "ticks", "ticks each", false },
    [BENCH_P50] = { "p50", "ns", "p50 ns", false },
    [BENCH_P99] = { "p99", "ns", "p99 ns", false },
    [BENCH_P999] = { "p999", "ns", "p999 ns", false },
    [BENCH_WORST] = { "worst", "ns", "worst", false },
    [BENCH_JAIN] = { "jain", "", "Jain", true },
    [BENCH_RETRIES] = { "retries", "", "retries", false },
    [BENCH_CPU] = { "cpu", "ns", "CPU ns", false },
};

/* ---- workloads ----------------------------------------------------------------------------------------------------- */

#define BIT(n) (UINT32_C(1) << (n))

enum {
    HALVE = 1,
    ONE_CPU = 2,
    RECEIVER_ONLY = 4
}; /* a round trip is two ways; all threads on one CPU; whose CPU time */

typedef struct workload {
    const char *name, *title;
    uint32_t family, loop, primary, metrics, how;
    uint32_t without;    /* flags of subjects that do not fit */
    uint32_t threads[6]; /* ends with 0 */
    uint32_t quick[4];   /* the same, for a quick run */
    uint32_t outside_ns, work_ns, burst;
    uint32_t intervals[4]; /* us; ends with 0 */
    bool pairs;            /* half of the threads send */
    double slice;          /* seconds, where it takes longer than usual: it runs only where it is named in full */
    uint32_t rounds;       /* then, too; 0: the usual number */
    const char *only;      /* and who competes, with commas; NULL: all */
} workload;

static const workload workloads[] = {
    { .name = "cas.fetch_mul",
      .title = "v *= 3 on one shared word by compare-and-swap",
      .family = BENCH_CAS,
      .loop = BENCH_CAS_RATE,
      .primary = BENCH_RATE,
      .metrics = BIT(BENCH_RATE) | BIT(BENCH_RETRIES) | BIT(BENCH_JAIN) | BIT(BENCH_CPU),
      .threads = { 1, 2, 4, 8, 32 },
      .quick = { 1, 2, 8 } },
    { .name = "cas.step",
      .title = "one cc_backoff_spin() at each step",
      .family = BENCH_CAS,
      .loop = BENCH_CAS_STEP,
      .primary = BENCH_NS,
      .metrics = BIT(BENCH_NS) | BIT(BENCH_TICKS),
      .threads = { 1 } },
    { .name = "cas.yield",
      .title = "one yield, alone and with a neighbour on the same CPU",
      .family = BENCH_CAS,
      .loop = BENCH_CAS_YIELD,
      .primary = BENCH_P50,
      .metrics = BIT(BENCH_P50) | BIT(BENCH_P99) | BIT(BENCH_WORST),
      .how = ONE_CPU,
      .threads = { 2 } },

    { .name = "lock.tight",
      .title = "acquire, increment, release; nothing outside",
      .family = BENCH_LOCK,
      .loop = BENCH_LOCK_RATE,
      .primary = BENCH_RATE,
      .metrics = BIT(BENCH_RATE) | BIT(BENCH_JAIN) | BIT(BENCH_CPU),
      .threads = { 1, 2, 4, 8, 32 },
      .quick = { 1, 2, 8 } },
    { .name = "lock.apart",
      .title = "acquire, increment, release; 100 ns outside",
      .family = BENCH_LOCK,
      .loop = BENCH_LOCK_RATE,
      .primary = BENCH_RATE,
      .metrics = BIT(BENCH_RATE) | BIT(BENCH_JAIN) | BIT(BENCH_CPU),
      .threads = { 1, 2, 4, 8, 32 },
      .quick = { 2 },
      .outside_ns = 100 },
    { .name = "lock.wait",
      .title = "how long an acquire takes; 100 ns outside",
      .family = BENCH_LOCK,
      .loop = BENCH_LOCK_LATENCY,
      .primary = BENCH_P99,
      .metrics =
          BIT(BENCH_P50) | BIT(BENCH_P99) | BIT(BENCH_P999) | BIT(BENCH_WORST) | BIT(BENCH_JAIN) | BIT(BENCH_CPU),
      .threads = { 2, 32 },
      .quick = { 2 },
      .outside_ns = 100 },
    { .name = "lock.fair",
      .title = "the longest wait and everyone's share; nothing outside",
      .family = BENCH_LOCK,
      .loop = BENCH_LOCK_LATENCY,
      .primary = BENCH_WORST,
      .metrics = BIT(BENCH_RATE) | BIT(BENCH_WORST) | BIT(BENCH_JAIN) | BIT(BENCH_CPU),
      .threads = { 32 },
      .slice = 10,
      .rounds = 3,
      .only = "concede,pthread_mutex,parking_lot" },

    { .name = "park.pingpong",
      .title = "wake the other thread and sleep, one way",
      .family = BENCH_PARK,
      .loop = BENCH_PARK_PINGPONG,
      .primary = BENCH_P50,
      .metrics = BIT(BENCH_P50) | BIT(BENCH_P99) | BIT(BENCH_P999) | BIT(BENCH_CPU),
      .how = HALVE,
      .without = BENCH_SPINS,
      .threads = { 2 } },
    { .name = "park.post",
      .title = "post with nobody waiting",
      .family = BENCH_PARK,
      .loop = BENCH_PARK_POST,
      .primary = BENCH_NS,
      .metrics = BIT(BENCH_NS),
      .threads = { 1 } },
    { .name = "park.short",
      .title = "wait for an answer that takes 500 ns of work; round trip beyond the work",
      .family = BENCH_PARK,
      .loop = BENCH_PARK_PINGPONG,
      .primary = BENCH_P50,
      .metrics = BIT(BENCH_P50) | BIT(BENCH_P99) | BIT(BENCH_P999) | BIT(BENCH_CPU),
      .threads = { 2 },
      .work_ns = 500 },
    { .name = "park.long",
      .title = "wait for a post at intervals: lateness, CPU time of the waiter",
      .family = BENCH_PARK,
      .loop = BENCH_PARK_PACED,
      .primary = BENCH_CPU,
      .how = RECEIVER_ONLY,
      .metrics = BIT(BENCH_P50) | BIT(BENCH_P99) | BIT(BENCH_CPU),
      .threads = { 2 },
      .intervals = { 100, 1000 } },

    { .name = "channel.pingpong",
      .title = "a message to the other CPU and its answer, one way",
      .family = BENCH_CHANNEL,
      .loop = BENCH_CHANNEL_PINGPONG,
      .primary = BENCH_P50,
      .how = HALVE,
      .metrics = BIT(BENCH_P50) | BIT(BENCH_P99) | BIT(BENCH_P999) | BIT(BENCH_CPU),
      .threads = { 2 } },
    { .name = "channel.stream",
      .title = "one sender, one receiver, as fast as it goes",
      .family = BENCH_CHANNEL,
      .loop = BENCH_CHANNEL_STREAM,
      .primary = BENCH_RATE,
      .metrics = BIT(BENCH_RATE) | BIT(BENCH_CPU),
      .threads = { 2 } },
    { .name = "channel.burst",
      .title = "one sender, one receiver, 32 messages a call",
      .family = BENCH_CHANNEL,
      .loop = BENCH_CHANNEL_BURST,
      .primary = BENCH_RATE,
      .metrics = BIT(BENCH_RATE) | BIT(BENCH_CPU),
      .threads = { 2 },
      .burst = 32 },
    { .name = "channel.paced",
      .title = "a message at intervals: lateness, CPU time of the receiver",
      .family = BENCH_CHANNEL,
      .loop = BENCH_CHANNEL_PACED,
      .primary = BENCH_P50,
      .how = RECEIVER_ONLY,
      .metrics = BIT(BENCH_P50) | BIT(BENCH_P99) | BIT(BENCH_P999) | BIT(BENCH_CPU),
      .threads = { 2 },
      .intervals = { 3, 10, 100 } },
    { .name = "channel.many",
      .title = "several senders and receivers, as fast as it goes",
      .family = BENCH_CHANNEL,
      .loop = BENCH_CHANNEL_STREAM,
      .primary = BENCH_RATE,
      .metrics = BIT(BENCH_RATE) | BIT(BENCH_JAIN) | BIT(BENCH_CPU),
      .without = BENCH_ONE_TO_ONE,
      .threads = { 4, 8, 32 },
      .quick = { 4 },
      .pairs = true },
};

static const double quantile_shares[] = { 0.0,   0.01,  0.05,   0.1,    0.2,    0.3,     0.4,  0.5,
                                          0.6,   0.7,   0.8,    0.9,    0.95,   0.98,    0.99, 0.995,
                                          0.998, 0.999, 0.9995, 0.9998, 0.9999, 0.99999, 1.0 };

/* ---- numbers ------------------------------------------------------------------------------------------------------- */

void *bench_alloc(size_t bytes)
{
    bytes = (bytes + 4095) / 4096 * 4096;
    void *memory = aligned_alloc(4096, bytes);
    if (!memory) {
        fprintf(stderr, "concede: out of memory\n");
        exit(1);
    }
    return memset(memory, 0, bytes);
}

void bench_histogram_merge(bench_histogram *into, const bench_histogram *from)
{
    for (size_t i = 0; i < BENCH_HISTOGRAM_BUCKETS; i++) into->buckets[i] += from->buckets[i];
    into->count += from->count;
    if (from->max > into->max) into->max = from->max;
}

double bench_histogram_quantile(const bench_histogram *h, double q)
{
    uint64_t rank = (uint64_t)ceil(q * (double)h->count), seen = 0;
    if (h->count == 0) return 0;
    rank = rank < 1 ? 1 : rank > h->count ? h->count : rank;
    size_t i = 0;
    while ((seen += h->buckets[i]) < rank) i++;
    /* Bucket i holds (first .. first + width - 1), with i = shift * 2^BITS + (value >> shift). */
    size_t shift = i >> BENCH_HISTOGRAM_BITS > 1 ? (i >> BENCH_HISTOGRAM_BITS) - 1 : 0;
    double width = ldexp(1, (int)shift);
    double first = (double)(i - (shift << BENCH_HISTOGRAM_BITS)) * width;
    double middle = first + (width - 1) / 2;
    return middle < (double)h->max ? middle : (double)h->max;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double at_share(const double *sorted, uint32_t n, double share)
{
    double place = share * (n - 1);
    uint32_t low = (uint32_t)place;
    double high = low + 1 < n ? sorted[low + 1] : sorted[low];
    return sorted[low] + (high - sorted[low]) * (place - low);
}

bench_spread bench_spread_of(const double *values, uint32_t n)
{
    bench_spread spread = { 0, 0, 0 };
    double sorted[2 * BENCH_ROUNDS];
    if (n == 0 || n > 2 * BENCH_ROUNDS) return spread;
    memcpy(sorted, values, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_value);
    spread.median = at_share(sorted, n, 0.5);
    spread.q1 = at_share(sorted, n, 0.25);
    spread.q3 = at_share(sorted, n, 0.75);
    return spread;
}

double bench_jain(const uint64_t *values, uint32_t n)
{
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += (double)values[i];
        squares += (double)values[i] * (double)values[i];
    }
    return squares > 0 ? sum * sum / (n * squares) : 0;
}

/* The samples of `a` by those of `b`, round by round. */
static bench_spread ratio_of(const bench_samples *a, const bench_samples *b)
{
    double ratios[BENCH_ROUNDS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < a->count && i < b->count; i++)
        if (b->values[i] > 0) ratios[n++] = a->values[i] / b->values[i];
    return bench_spread_of(ratios, n);
}

void bench_run_conclude(bench_run *run)
{
    const bool higher = bench_metrics[run->primary].higher;
    int32_t best = -1, second = -1;
    run->baseline = run->winner = -1;
    for (uint32_t i = 0; i < run->results; i++) {
        uint32_t flags = run->result[i].flags;
        bool named = run->baseline >= 0 && (run->result[run->baseline].flags & BENCH_BASELINE);
        if (run->result[i].metrics[run->primary].count == 0) continue;
        if (run->baseline < 0 || (!named && (flags & BENCH_BASELINE))) run->baseline = (int32_t)i;
    }
    for (uint32_t i = 0; i < run->results; i++) {
        bench_result *result = &run->result[i];
        for (uint32_t m = 0; m < BENCH_METRICS; m++) {
            bench_samples *samples = &result->metrics[m];
            samples->value = bench_spread_of(samples->values, samples->count);
            samples->has_ratio = run->baseline >= 0 && (int32_t)i != run->baseline && samples->count > 0 &&
                                 run->result[run->baseline].metrics[m].count > 0;
            if (samples->has_ratio) samples->ratio = ratio_of(samples, &run->result[run->baseline].metrics[m]);
        }
        const bench_samples *primary = &result->metrics[run->primary];
        if (primary->count == 0) continue;
        if (best < 0 || (primary->value.median > run->result[best].metrics[run->primary].value.median) == higher)
            best = (int32_t)i;
    }
    /* The best wins if it beats the next best in at least three of four rounds; two forms of concede do not compete. */
    for (uint32_t i = 0; i < run->results; i++) {
        const bench_samples *primary = &run->result[i].metrics[run->primary];
        if (primary->count == 0 || (int32_t)i == best) continue;
        if ((run->result[i].flags & BENCH_OURS) && (run->result[best].flags & BENCH_OURS)) continue;
        if (second < 0 || (primary->value.median > run->result[second].metrics[run->primary].value.median) == higher)
            second = (int32_t)i;
    }
    if (best < 0 || second < 0) return;
    bench_spread lead = ratio_of(&run->result[best].metrics[run->primary], &run->result[second].metrics[run->primary]);
    if (higher ? lead.q1 > 1 : lead.q3 < 1) run->winner = best;
}

/* ---- time ---------------------------------------------------------------------------------------------------------- */

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

uint64_t bench_ticks_call(void)
{
    return bench_ticks();
}

static uint64_t thread_cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Whether the kernel calls the counter constant and running in every state; with neither word, the clock is asked. */
static bool tsc_is_invariant(void)
{
    char line[4096];
    bool constant = false, nonstop = false;
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, "flags", 5) != 0) continue;
        constant = strstr(line, " constant_tsc") != NULL;
        nonstop = strstr(line, " nonstop_tsc") != NULL;
        break;
    }
    if (file) fclose(file);
    return constant && nonstop;
}

/* Nothing after it begins before everything before it has ended, where the CPU has such an instruction. */
static void serialize(void)
{
#if defined(CC_ARCH_X86_64) || defined(CC_ARCH_X86)
    __asm__ __volatile__("lfence" ::: "memory");
#elif defined(CC_ARCH_ARM64)
    __asm__ __volatile__("isb" ::: "memory");
#else
    __asm__ __volatile__("" ::: "memory");
#endif
}

__attribute__((noinline)) void bench_work_turns(uint32_t turns)
{
    uint64_t x = turns;
    serialize();
    for (; turns != 0; turns--) {
        x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        __asm__ __volatile__("" : "+r"(x));
    }
    serialize();
}

/* ns of one piece of work. */
static double work_time(uint32_t turns)
{
    enum { PIECES = 2000 };
    double best = 0;
    for (int i = 0; i < 20; i++) {
        uint64_t before = bench_ticks();
        for (int k = 0; k < PIECES; k++) bench_work(turns);
        double ns = (double)(bench_ticks() - before) / bench_time.ticks_per_ns / PIECES;
        if (best <= 0 || ns < best) best = ns;
    }
    return best;
}

void bench_time_start(void)
{
    if (bench_time.ticks_per_ns > 0) return;
    bench_time.ticks_per_ns = 1;
#if defined(CC_ARCH_X86_64) || defined(CC_ARCH_X86)
    if (tsc_is_invariant()) {
        bench_time.tsc = 1;
        uint64_t ns = now_ns(), ticks = bench_ticks(), ns_end;
        while ((ns_end = now_ns()) < ns + 10000000) {}
        bench_time.ticks_per_ns = (double)(bench_ticks() - ticks) / (double)(ns_end - ns);
    }
#else
    (void)tsc_is_invariant;
#endif
    enum { READS = 20000 };
    uint64_t start = bench_ticks(), last = start, step = UINT64_MAX;
    for (int i = 0; i < READS; i++) {
        uint64_t next = bench_ticks();
        if (next != last && next - last < step) step = next - last;
        last = next;
    }
    bench_time.overhead_ns = (double)(last - start) / READS / bench_time.ticks_per_ns;
    bench_time.step_ns = (double)step / bench_time.ticks_per_ns;
    /* Many short pieces, as the loops do it; the best of several, as others may interrupt. */
    double few = work_time(10), many = work_time(110);
    bench_time.work_per_ns = many > few ? 100 / (many - few) : 1;
    bench_time.work_ns = few - 10 / bench_time.work_per_ns;
}

uint32_t bench_turns(double ns)
{
    double turns = (ns - bench_time.work_ns) * bench_time.work_per_ns;
    return ns <= 0 ? 0 : turns < 1 ? 1 : (uint32_t)turns;
}

static bool may_spin; /* another CPU does the work meanwhile */

uint64_t bench_pace(uint64_t due)
{
    uint64_t now;
    while ((now = bench_ticks()) < due) {
        if (may_spin) {
            cc_pause();
        } else {
            uint64_t ns = (uint64_t)((double)(due - now) / bench_time.ticks_per_ns);
            nanosleep(&(struct timespec){ .tv_nsec = (long)(ns < 999999999 ? ns : 999999999) }, NULL);
        }
    }
    return (double)(now - due) > 1e6 * bench_time.ticks_per_ns ? now : due;
}

/* ---- CPUs ---------------------------------------------------------------------------------------------------------- */

static int pin_cpus[1024];
static uint32_t pin_count; /* 0: not pinned */

#if defined(__linux__)
/* The CPUs to pin to; false: the text names none that may be used. */
static bool pin_choose(const char *pin)
{
    cpu_set_t usable;
    pin_count = 0;
    if (pin && strcmp(pin, "none") == 0) return true;
    if (sched_getaffinity(0, sizeof usable, &usable) != 0) return true;
    if (!pin || strcmp(pin, "spread") == 0) {
        for (int cpu = 0; cpu < CPU_SETSIZE && pin_count < 1024; cpu++)
            if (CPU_ISSET((size_t)cpu, &usable)) pin_cpus[pin_count++] = cpu;
        return true;
    }
    while (*pin && pin_count < 1024) {
        char *end;
        long cpu = strtol(pin, &end, 10);
        if (end == pin || cpu < 0 || cpu >= CPU_SETSIZE || !CPU_ISSET((size_t)cpu, &usable) || (*end && *end != ','))
            return false;
        pin_cpus[pin_count++] = (int)cpu;
        pin = *end ? end + 1 : end;
    }
    return pin_count > 0;
}

static void pin_to(int cpu)
{
    cpu_set_t set;
    if (cpu < 0) return;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}
#else
static bool pin_choose(const char *pin)
{
    (void)pin;
    return true;
}

static void pin_to(int cpu)
{
    (void)cpu;
}
#endif

/* The i-th of the CPUs that the threads are pinned to, modulo their number; -1 if they are not pinned. */
static int cpu_of(uint32_t i)
{
    return pin_count ? pin_cpus[i % pin_count] : -1;
}

/* ---- the line ------------------------------------------------------------------------------------------------------ */

enum { LINE_TRIPS = 2000 };
typedef struct shared_line {
    CC_ALIGNED_(CC_CACHE_LINE) uint32_t word;
} shared_line;

static void *line_answer(void *argument)
{
    shared_line *l = argument;
    pin_to(cpu_of(1));
    for (uint32_t n = 1; n < 2 * LINE_TRIPS; n += 2) {
        while (cc_load_acquire(&l->word) != n) {}
        cc_store_release(&l->word, n + 1);
    }
    return NULL;
}

static void *line_ask(void *argument)
{
    shared_line *l = argument;
    static double ns;
    double trips[LINE_TRIPS / 100];
    pin_to(cpu_of(0));
    for (uint32_t i = 0, n = 1; i < LINE_TRIPS / 100; i++) {
        uint64_t before = bench_ticks();
        for (int k = 0; k < 100; k++, n += 2) {
            cc_store_release(&l->word, n);
            while (cc_load_acquire(&l->word) != n + 1) {}
        }
        trips[i] = (double)(bench_ticks() - before) / 200 / bench_time.ticks_per_ns;
    }
    /* The median of hundreds: neither the start nor an interruption counts. */
    ns = bench_spread_of(trips, LINE_TRIPS / 100).median;
    return &ns;
}

/* One way of a cache line between two CPUs, in ns; negative if there are not two. About 1 ms. */
static double line_ns(void)
{
    pthread_t ask, answer;
    void *ns = NULL;
    bench_time_start();
    if (cc_costs()->cpus < 2 || (cpu_of(0) >= 0 && cpu_of(0) == cpu_of(1))) return -1;
    shared_line *l = bench_alloc(sizeof *l);
    bool asked = pthread_create(&ask, NULL, line_ask, l) == 0;
    if (asked && pthread_create(&answer, NULL, line_answer, l) == 0)
        pthread_join(answer, NULL);
    else if (asked)
        line_answer(l);
    if (asked) pthread_join(ask, &ns);
    free(l);
    return ns ? *(double *)ns : -1;
}

/* ---- other programs ------------------------------------------------------------------------------------------------ */

typedef struct load {
    double busy, own, at; /* seconds: of the CPUs that are used here, of this process, of the clock */
    uint32_t cpus;
} load;

/* What the CPUs did so far, by the kernel's count; cpus is 0 where that cannot be read. */
static load load_now(void)
{
    load l = { 0, 0, (double)now_ns() / 1e9, 0 };
    char line[512];
    struct rusage usage;
    FILE *file = fopen("/proc/stat", "r");
    while (file && fgets(line, sizeof line, file)) {
        int cpu;
        unsigned long long user, nice, system, idle, iowait, irq, softirq, steal;
        if (sscanf(line, "cpu%d %llu %llu %llu %llu %llu %llu %llu %llu", &cpu, &user, &nice, &system, &idle, &iowait,
                   &irq, &softirq, &steal) != 9)
            continue;
        bool used = pin_count == 0;
        for (uint32_t i = 0; i < pin_count; i++) used |= pin_cpus[i] == cpu;
        if (!used) continue;
        l.busy += (double)(user + nice + system + irq + softirq + steal) / (double)sysconf(_SC_CLK_TCK);
        l.cpus++;
    }
    if (file) fclose(file);
    getrusage(RUSAGE_SELF, &usage);
    l.own = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
            (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    return l;
}

/* The share of the CPUs that others, or the host, took between two looks. */
static double others_share(const load *before, const load *after)
{
    double all = (after->at - before->at) * after->cpus;
    double share = all > 0 ? (after->busy - before->busy - (after->own - before->own)) / all : 0;
    return share > 0 ? share : 0;
}

/* ---- one slice ----------------------------------------------------------------------------------------------------- */

typedef struct slice_thread {
    bench_thread bench;
    bench_loop *loop;
    struct slice *slice;
    int cpu;
    uint64_t begin_ns, cpu_ns;
    pthread_t handle;
} slice_thread;

typedef struct slice {
    CC_ALIGNED_(CC_CACHE_LINE) uint32_t stop;
    CC_ALIGNED_(CC_CACHE_LINE) uint32_t done;
    pthread_barrier_t start;
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    uint32_t running;
    slice_thread *threads;
    double seconds;
} slice;

static void *slice_run(void *argument)
{
    slice_thread *t = argument;
    pin_to(t->cpu);
    pthread_barrier_wait(&t->slice->start);
    t->begin_ns = now_ns();
    uint64_t cpu = thread_cpu_ns();
    t->loop(&t->bench);
    t->cpu_ns = thread_cpu_ns() - cpu;
    pthread_mutex_lock(&t->slice->mutex);
    if (--t->slice->running == 0) pthread_cond_signal(&t->slice->ended);
    pthread_mutex_unlock(&t->slice->mutex);
    return NULL;
}

enum { HANG_SECONDS = 30 };

/* Runs the threads for `seconds`. False: a thread could not be started, or did not end. */
static bool slice_go(slice *s, uint32_t count, double seconds, bool (*interrupted)(void), const char **why)
{
    struct timespec limit;
    uint32_t started = 0;
    s->stop = s->done = 0;
    s->running = count;
    pthread_barrier_init(&s->start, NULL, count + 1);
    pthread_mutex_init(&s->mutex, NULL);
    pthread_cond_init(&s->ended, NULL);
    for (; started < count; started++) {
        s->threads[started].slice = s;
        if (pthread_create(&s->threads[started].handle, NULL, slice_run, &s->threads[started]) != 0) break;
    }
    if (started < count) {
        *why = "cannot start so many threads"; /* those that wait at the barrier end with the program */
        return false;
    }
    pthread_barrier_wait(&s->start);
    uint64_t begin = now_ns(), end = begin + (uint64_t)(seconds * 1e9), now;
    while ((now = now_ns()) < end && !(interrupted && interrupted())) {
        uint64_t left = end - now;
        nanosleep(&(struct timespec){ (time_t)(left / 1000000000), (long)(left % 1000000000) }, NULL);
    }
    cc_store_relaxed(&s->stop, 1);
    uint64_t stopped = now_ns();
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += HANG_SECONDS;
    int waited = 0;
    pthread_mutex_lock(&s->mutex);
    while (s->running > 0 && waited == 0) waited = pthread_cond_timedwait(&s->ended, &s->mutex, &limit);
    pthread_mutex_unlock(&s->mutex);
    if (waited != 0) {
        *why = "hangs: a thread did not end";
        return false;
    }
    /* From the first thread's begin: with more threads than CPUs this one gets its CPU late, when they have long run. */
    for (uint32_t i = 0; i < count; i++) {
        pthread_join(s->threads[i].handle, NULL);
        if (s->threads[i].begin_ns < begin) begin = s->threads[i].begin_ns;
    }
    s->seconds = (double)(stopped - begin) / 1e9;
    pthread_barrier_destroy(&s->start);
    pthread_mutex_destroy(&s->mutex);
    pthread_cond_destroy(&s->ended);
    return true;
}

/* ---- one run ------------------------------------------------------------------------------------------------------- */

typedef struct plan {
    const workload *workload;
    bench_setting setting;
    uint32_t subjects;
    struct {
        const bench_peer *peer;
        const bench_subject *subject;
    } entry[64];

    double slice_seconds;
    uint32_t rounds, tries, tried; /* how many are to count; how many may run, and have run */
    bench_run *run;
    bench_histogram *latencies, *latest; /* of the rounds that count, and of the latest one */
} plan;

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
    double spent = (double)(now_ns() - e->begin_ns) / 1e9;
    double left = e->seconds_planned - e->slice_total;
    if (e->slice_total > 0) left *= spent / e->slice_total;
    char what[64];
    snprintf(what, sizeof what, "%s, %u thread%s", p->workload->name, (unsigned)p->setting.threads,
             p->setting.threads == 1 ? "" : "s");
    e->options->progress(what, subject, left > 0 ? left : 0);
}

static double to_ns(double ticks)
{
    return ticks / bench_time.ticks_per_ns;
}

/* Jain's index wants each thread to have had several turns on its CPU: in fewer it shows how the system deals out turns,
 * not how the threads share. Linux 6.18 gives turns of 3 to 4 ms; four of them leave 0.99 of an even share. */
static double fair_seconds(const plan *p)
{
    uint32_t cpus = pin_count ? pin_count : cc_costs()->cpus;
    bool shares = (p->workload->metrics & BIT(BENCH_JAIN)) && p->setting.threads > cpus;
    return shares ? 4 * 0.004 * p->setting.threads / cpus : 0;
}

/* Runs one subject for one slice and adds a sample of each metric. False: the whole measurement ends. */
static bool run_slice(engine *e, const plan *p, uint32_t which, bench_result *result, bench_histogram *latency)
{
    const workload *w = p->workload;
    const bench_subject *subject = p->entry[which].subject;
    const bench_setting *setting = &p->setting;
    slice *s = e->slice;
    const char *why = "";
    void *object = subject->create(setting);
    if (!object) {
        snprintf(e->error, e->error_size, "%s: cannot be created for %s", subject->name, w->name);
        return false;
    }
    for (uint32_t i = 0; i < setting->threads; i++) {
        slice_thread *t = &s->threads[i];
        uint32_t work_ns = setting->outside_ns + setting->work_ns;
        memset(&t->bench, 0, sizeof t->bench);
        memset(&e->histograms[i], 0, sizeof *e->histograms);
        t->bench.object = object;
        t->bench.stop = &s->stop;
        t->bench.done = &s->done;
        t->bench.index = i;
        t->bench.threads = setting->threads;
        t->bench.senders = setting->senders;
        t->bench.work = bench_turns(work_ns);
        t->bench.interval = (uint64_t)(setting->interval_us * 1000.0 * bench_time.ticks_per_ns);
        t->bench.burst = setting->burst;
        t->bench.histogram = &e->histograms[i];
        t->loop = subject->loops[w->loop];
        t->cpu = w->how & ONE_CPU ? cpu_of(0) : cpu_of(i);
    }
    if (!slice_go(s, setting->threads, p->slice_seconds, e->options->interrupted, &why)) {
        e->stuck = true;
        snprintf(e->error, e->error_size, "%s: %s (%s, %u threads)", subject->name, why, w->name,
                 (unsigned)setting->threads);
        return false;
    }
    subject->destroy(object);
    e->slices_done++;
    e->slice_total += s->seconds;
    if (interrupted(e)) return true;

    uint64_t ops = 0, retries = 0, cpu_ns = 0, sent = 0, received = 0, each[1024];
    uint32_t counted = 0;
    bench_histogram *h = &e->histograms[0];
    for (uint32_t i = 0; i < setting->threads; i++) {
        const bench_thread *t = &s->threads[i].bench;
        ops += t->ops;
        retries += t->retries;
        if (w->loop == BENCH_CHANNEL_STREAM || w->loop == BENCH_CHANNEL_BURST) {
            if (i < setting->senders)
                sent += t->sum;
            else
                received += t->sum;
        }
        if (!(w->how & RECEIVER_ONLY) || i >= setting->senders) cpu_ns += s->threads[i].cpu_ns;
        if (!w->pairs || i >= setting->senders) {
            each[counted] = t->ops;
            result->per_thread[counted++] +=
                t->ops; /* also of a round that is dropped: fairness does not depend on it */
        }
        if (i > 0) bench_histogram_merge(h, &e->histograms[i]);
    }
    if (subject->family == BENCH_CHANNEL && sent != received && !(subject->flags & BENCH_NO_ORDER)) {
        snprintf(e->error, e->error_size, "%s: what was received is not what was sent (%s)", subject->name, w->name);
        return false;
    }
    if (ops == 0) ops = 1; /* nobody got through: as good as one */
    result->threads = counted;
    if (latency) *latency = *h;
    double share = w->how & HALVE ? 2 : 1;
    double values[BENCH_METRICS];
    values[BENCH_RATE] = (double)ops / s->seconds / 1e6;
    values[BENCH_NS] = s->seconds * 1e9 / (double)ops;
    values[BENCH_TICKS] = values[BENCH_NS] * bench_time.ticks_per_ns;
    values[BENCH_P50] = to_ns(bench_histogram_quantile(h, 0.5)) / share - setting->work_ns;
    values[BENCH_P99] = to_ns(bench_histogram_quantile(h, 0.99)) / share - setting->work_ns;
    values[BENCH_P999] = to_ns(bench_histogram_quantile(h, 0.999)) / share - setting->work_ns;
    values[BENCH_WORST] = to_ns((double)h->max) / share - setting->work_ns;
    values[BENCH_JAIN] = bench_jain(each, counted);
    values[BENCH_RETRIES] = (double)retries / (double)ops;
    values[BENCH_CPU] = (double)cpu_ns / (double)ops;
    for (uint32_t m = 0; m < BENCH_METRICS; m++) {
        bench_samples *samples = &result->metrics[m];
        if (m == BENCH_JAIN && p->slice_seconds < fair_seconds(p)) continue;
        if (w->metrics & BIT(m)) samples->values[samples->count++] = values[m];
    }
    return true;
}

/* How long each slice of the plan is to be. With a limit on everything: the time that is left, shared among the slices that
 * are left. Starting and ending threads costs what it did so far; a busy machine makes that long. */
static double choose_slice(const engine *e, const plan *p)
{
    double asked = e->options->slice, own = p->workload->slice, fair = fair_seconds(p);
    if (e->options->total > 0) {
        double spent = (double)(now_ns() - e->begin_ns) / 1e9;
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
    return (w->metrics & (BIT(BENCH_P50) | BIT(BENCH_P99))) != 0;
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
    double before = line_ns();
    load load_before = load_now();
    for (uint32_t i = 0; good && i < p->subjects && !interrupted(e); i++) {
        uint32_t which = (i + p->tried) % p->subjects;
        progress(e, p, p->entry[which].subject->name);
        good = run_slice(e, p, which, &run->result[which], latency ? &p->latest[which] : NULL);
    }
    double after = line_ns();
    load load_after = load_now();
    double others = others_share(&load_before, &load_after);
    bool whole = good && !interrupted(e);
    bool moved = before > 0 && (after > 1.5 * before || before > 1.5 * after); /* the CPUs are not where they were */
    bool last_chance = p->rounds - run->rounds >= p->tries - p->tried;
    if (whole && ((!moved && others <= BENCH_OTHERS_LIMIT) || last_chance)) {
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
        double share = p->workload->how & HALVE ? 2 : 1;
        result->latency_count = p->latencies[i].count;
        result->latency_max = to_ns((double)p->latencies[i].max) / share - p->setting.work_ns;
        for (size_t k = 0; k < sizeof quantile_shares / sizeof *quantile_shares; k++) {
            result->quantile[k][0] = quantile_shares[k];
            result->quantile[k][1] =
                to_ns(bench_histogram_quantile(&p->latencies[i], quantile_shares[k])) / share - p->setting.work_ns;
        }
        result->quantiles = sizeof quantile_shares / sizeof *quantile_shares;
    }
    free(p->latencies);
    free(p->latest);
    bench_run_conclude(run);
}

/* The plans of one workload. They take turns round by round, so that what is said of 2 threads and of 32 was measured on
 * the same machine: a virtual one may change from minute to minute. */
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

/* ---- everything ---------------------------------------------------------------------------------------------------- */

bool bench_named(const char *names, const char *text, bool in_full)
{
    while (names && *names) {
        size_t length = strcspn(names, ",");
        if (length > 0 && strncmp(names, text, length) == 0 && (!in_full || text[length] == 0)) return true;
        names += length + (names[length] == ',');
    }
    return false;
}

const char *bench_workload_name(uint32_t i)
{
    return i < sizeof workloads / sizeof *workloads ? workloads[i].name : NULL;
}

static void plan_subjects(plan *p, const bench_options *options)
{
    const workload *w = p->workload;
    const char *only = options->only ? options->only : w->only;
    for (const bench_peer *const *peer = bench_peers; *peer; peer++) {
        for (const bench_subject *const *at = (*peer)->subjects; at && *at; at++) {
            const bench_subject *s = *at;
            if (s->family != w->family || !s->loops[w->loop] || (s->flags & w->without)) continue;
            if (only && !bench_named(only, s->name, false) && !bench_named(only, (*peer)->name, false)) continue;
            if ((s->flags & BENCH_NO_OVERLOAD) && p->setting.threads > 2 * cc_costs()->cpus) continue;
            void *object = s->create(&p->setting);
            if (!object || p->subjects == sizeof p->entry / sizeof *p->entry) continue;
            s->destroy(object);
            p->entry[p->subjects].peer = *peer;
            p->entry[p->subjects++].subject = s;
        }
    }
    if (options->self_test && p->subjects > 0) { /* the same one twice */
        p->entry[1] = p->entry[0];
        p->subjects = 2;
    }
}

/* All runs that the options ask for. */
static uint32_t plan_all(plan *plans, uint32_t room, const bench_options *options)
{
    uint32_t count = 0;
    for (size_t k = 0; k < sizeof workloads / sizeof *workloads; k++) {
        const workload *w = &workloads[k];
        bool scales = w->threads[1] != 0 || w->slice > 0;
        if ((options->workloads || w->slice > 0) && !bench_named(options->workloads, w->name, w->slice > 0)) continue;
        const uint32_t *threads = options->quick && w->quick[0] ? w->quick : w->threads;
        uint32_t thread_counts = 0;
        while (thread_counts < (options->quick && w->quick[0] ? 4u : 6u) && threads[thread_counts]) thread_counts++;
        if (scales && options->thread_counts) threads = options->threads, thread_counts = options->thread_counts;
        for (uint32_t i = 0; i < thread_counts; i++) {
            for (uint32_t k2 = 0; k2 == 0 || (k2 < 4 && w->intervals[k2]); k2++) {
                if (count == room || (w->pairs && threads[i] < 2)) continue;
                plan *p = &plans[count];
                memset(p, 0, sizeof *p);
                p->workload = w;
                p->setting.threads = threads[i];
                if (w->family == BENCH_CHANNEL || w->how & RECEIVER_ONLY)
                    p->setting.senders = w->pairs ? threads[i] / 2 : 1;
                if (w->family == BENCH_CHANNEL) {
                    p->setting.capacity = options->capacity ? options->capacity : 1024;
                    p->setting.message_size = options->message_size ? options->message_size : 8;
                }
                p->setting.outside_ns = w->outside_ns;
                p->setting.work_ns = w->work_ns;
                p->setting.burst = w->burst;
                p->setting.interval_us = w->intervals[k2];
                plan_subjects(p, options);
                count += p->subjects > 0;
            }
        }
    }
    return count;
}

static void describe(bench_report *report, const bench_options *options)
{
    snprintf(report->command, sizeof report->command, "%s", options->command ? options->command : "");
    struct utsname system;
    char line[4096];
    time_t now = time(NULL);
    struct tm utc;
    FILE *file = fopen("/proc/cpuinfo", "r");
    snprintf(report->version, sizeof report->version, "%s", CC_VERSION_STRING);
    strftime(report->date, sizeof report->date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    snprintf(report->cpu, sizeof report->cpu, "unknown");
    while (file && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (!colon) continue;
        colon[strcspn(colon, "\n")] = 0;
        if (strncmp(line, "model name", 10) == 0 || strncmp(line, "Hardware", 8) == 0)
            snprintf(report->cpu, sizeof report->cpu, "%.95s", colon + 2);
        if (strncmp(line, "flags", 5) == 0) {
            report->hypervisor = strstr(colon, " hypervisor") != NULL;
            break;
        }
    }
    if (file) fclose(file);
    if (uname(&system) == 0)
        snprintf(report->system, sizeof report->system, "%.40s %.60s %.20s", system.sysname, system.release,
                 system.machine);
#if defined(__GLIBC__)
    snprintf(report->libc, sizeof report->libc, "glibc %s", gnu_get_libc_version());
#else
    snprintf(report->libc, sizeof report->libc, "unknown");
#endif
#if defined(__clang__)
    snprintf(report->compiler, sizeof report->compiler, "%.60s", __VERSION__);
#else
    snprintf(report->compiler, sizeof report->compiler, "gcc %.50s", __VERSION__);
#endif
    snprintf(report->clock, sizeof report->clock, "%s", bench_time.tsc ? "tsc" : "clock_gettime");
    snprintf(report->pin, sizeof report->pin, "%s", options->pin ? options->pin : "spread");
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
    enum { PLANS = 128, THREADS = 1024 };
    engine e = { .options = options, .report = report, .error = error, .error_size = error_size };
    bool good = true;
    memset(report, 0, sizeof *report);
    error[0] = 0;
    bench_time_start();
    if (!pin_choose(options->pin)) {
        snprintf(error, error_size,
                 "cannot pin to '%s': it takes spread, none, or a list of CPUs that this process may use",
                 options->pin);
        return false;
    }
    may_spin = cc_costs()->cpus > 1 && (pin_count == 0 || cpu_of(0) != cpu_of(1));
    plan *plans = calloc(PLANS, sizeof *plans);
    uint32_t count = plans ? plan_all(plans, PLANS, options) : 0;
    if (count == 0) {
        snprintf(error, error_size,
                 plans ? "nothing to measure: no implementation fits these options" : "out of memory");
        free(plans);
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
    e.begin_ns = now_ns();
    for (uint32_t i = 0; i < count; i++)
        e.seconds_planned += plans[i].subjects * choose_rounds(&e, &plans[i]) * choose_slice(&e, &plans[i]);
    for (uint32_t i = 0, n; good && report->run && i < count && !interrupted(&e); i += n) {
        for (n = 1; i + n < count && plans[i + n].workload == plans[i].workload;) n++;
        good = run_plans(&e, &plans[i], n);
    }
    report->interrupted = interrupted(&e);
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
