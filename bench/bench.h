/* bench.h: what the benchmarks of concede are made of.
 *
 * Three kinds of code meet here:
 *
 *   loops/FAMILY.h   the workload of a family, written once. A peer file defines a few macros (how this one locks, sends,
 *                    waits ...) and includes it, once for each implementation, so that the calls inline and no function
 *                    pointer stands between the loop and what it measures. It leaves a `bench_subject` behind.
 *   peers/NAME.*     one project each: which of its calls are used and why, and the list of its subjects. Found at build
 *                    time; a project that is not installed is skipped with a word.
 *   engine.c         runs them: all subjects of a workload in turn inside each round, the order rotated, threads pinned,
 *                    the cost of a cache line between two CPUs probed around each round.
 *
 * A family is cas, lock, park or channel; a workload is one question about it (`workloads` in engine.c), and a run is a
 * workload with its parameters fixed (threads, time outside the lock, interval between messages ...).
 *
 * concede(1) has the form of the JSON that `--json` writes. */
#ifndef CONCEDE_BENCH_H
#define CONCEDE_BENCH_H

#include <concede/atomic.h>
#include <concede/backoff.h>
#include <concede/costs.h>
#include <concede/pause.h>
#include <stdio.h>
#include <time.h>

CC_BEGIN_DECLS

/* ---- time ---------------------------------------------------------------------------------------------------------- */

typedef struct bench_clock {
    uint32_t tsc; /* ticks are of an invariant time stamp counter; else nanoseconds of clock_gettime */
    double ticks_per_ns;
    double overhead_ns; /* of one bench_ticks() */
    double step_ns;     /* smallest difference seen */
    double work_per_ns; /* turns of bench_work() */
    double work_ns;     /* what bench_work() takes beside its turns */
} bench_clock;
extern bench_clock bench_time;

/* Measures the clock; 20 ms. Once, before anything else here. */
void bench_time_start(void);

static inline uint64_t bench_ticks(void)
{
#if defined(CC_ARCH_X86_64) || defined(CC_ARCH_X86)
    if (CC_LIKELY_(bench_time.tsc)) {
        uint32_t low, high;
        __asm__ __volatile__("rdtsc" : "=a"(low), "=d"(high)::"memory");
        return (uint64_t)high << 32 | low;
    }
#endif
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

uint64_t bench_ticks_call(void); /* the same, as a function */

/* Work that touches no memory and that no compiler removes: a chain of dependent multiplications. Fenced, or the CPU would
 * do it in the shadow of the lock before and after it. One function for all, or each subject would have its own, at an
 * alignment of its own. */
void bench_work_turns(uint32_t turns);

static inline void bench_work(uint32_t turns)
{
    if (turns != 0) bench_work_turns(turns);
}

/* Turns that take about so long. */
uint32_t bench_turns(double ns);

/* Waits, without sleeping where another CPU does the work, until it is `due`, in ticks; returns due, or now if that has
 * long passed (so that a thread that was kept away does not make up for it in a burst). */
uint64_t bench_pace(uint64_t due);

/* ---- latency histogram: 2^BENCH_HISTOGRAM_BITS linear buckets for each power of two -------------------------------- */

#define BENCH_HISTOGRAM_BITS    7
#define BENCH_HISTOGRAM_BUCKETS ((64 - BENCH_HISTOGRAM_BITS + 1) << BENCH_HISTOGRAM_BITS)

typedef struct bench_histogram {
    uint64_t count, max;
    uint64_t buckets[BENCH_HISTOGRAM_BUCKETS];
} bench_histogram;

/* Values below 2^(BITS+1) have a bucket each; above, a bucket is value >> shift, where shift leaves BITS+1 bits. */
static inline uint32_t bench_histogram_index(uint64_t value)
{
    uint32_t bits = 64 - (uint32_t)__builtin_clzll(value | 1);
    uint32_t shift = bits > BENCH_HISTOGRAM_BITS + 1 ? bits - BENCH_HISTOGRAM_BITS - 1 : 0;
    return (shift << BENCH_HISTOGRAM_BITS) + (uint32_t)(value >> shift);
}

static inline void bench_histogram_add(bench_histogram *h, uint64_t value)
{
    h->buckets[bench_histogram_index(value)]++;
    h->count++;
    if (CC_UNLIKELY_(value > h->max)) h->max = value;
}

void bench_histogram_merge(bench_histogram *into, const bench_histogram *from);
/* The value that a share of q (0..1) does not exceed: the middle of its bucket, at most max. 0 if empty. */
double bench_histogram_quantile(const bench_histogram *h, double q);
/* Largest relative error of a quantile: half a bucket. */
#define BENCH_HISTOGRAM_ERROR (0.5 / (1 << BENCH_HISTOGRAM_BITS))

/* ---- what a loop sees ---------------------------------------------------------------------------------------------- */

enum { BENCH_CAS, BENCH_LOCK, BENCH_PARK, BENCH_CHANNEL, BENCH_FAMILIES };
extern const char *const bench_families[BENCH_FAMILIES]; /* their names */

/* A run's parameters; 0 where the workload has no such thing. */
typedef struct bench_setting {
    uint32_t threads;
    uint32_t senders;     /* the rest receive */
    uint32_t outside_ns;  /* work between release and the next acquire */
    uint32_t work_ns;     /* work before an answer */
    uint32_t interval_us; /* between messages */
    uint32_t capacity, message_size, burst;
} bench_setting;

/* One thread of a slice. The Rust peers mirror this layout (peers/rust/lib.rs). */
typedef struct bench_thread {
    void *object;         /* what create() returned */
    const uint32_t *stop; /* nonzero: end */
    uint32_t index, threads, senders;
    uint32_t work;     /* turns of bench_work(): outside_ns or work_ns */
    uint64_t interval; /* ticks between messages */
    uint32_t burst;
    uint32_t *done;             /* threads that have finished sending; shared */
    bench_histogram *histogram; /* this thread's; in ticks */
    uint64_t ops, retries, sum; /* what the loop leaves behind */
} bench_thread;

static inline bool bench_stopped(const bench_thread *t)
{
    return cc_load_relaxed(t->stop) != 0;
}

/* Zeroed memory on a cache line of its own; free() it. Ends the program if there is none. */
void *bench_alloc(size_t bytes);

/* What goes through the channels. */
typedef struct bench_message_8 {
    uint64_t value;
} bench_message_8;
typedef struct bench_message_64 {
    uint64_t value, rest[7];
} bench_message_64;
typedef struct bench_message_256 {
    uint64_t value, rest[31];
} bench_message_256;

/* For the loops' names: BENCH_NAME(SUBJECT, rate) is subject_rate. */
#define BENCH_NAME_(a, b) a##_##b
#define BENCH_NAME(a, b)  BENCH_NAME_(a, b)

typedef void bench_loop(bench_thread *);

enum { /* loops of each family */
       BENCH_CAS_RATE = 0,
       BENCH_CAS_STEP = 1,
       BENCH_CAS_YIELD = 2,
       BENCH_LOCK_RATE = 0,
       BENCH_LOCK_LATENCY = 1,
       BENCH_PARK_PINGPONG = 0,
       BENCH_PARK_POST = 1,
       BENCH_PARK_PACED = 2, /* park.short is a ping-pong, too */
       BENCH_CHANNEL_PINGPONG = 0,
       BENCH_CHANNEL_STREAM = 1,
       BENCH_CHANNEL_BURST = 2,
       BENCH_CHANNEL_PACED = 3,
       BENCH_LOOPS = 4
};

enum {                         /* flags of a subject */
       BENCH_OURS = 1,         /* concede */
       BENCH_BASELINE = 2,     /* ratios are taken to the first of these in a run */
       BENCH_CAN_SLEEP = 4,    /* a thread that waits gives its CPU away */
       BENCH_ONE_TO_ONE = 8,   /* channel: one sender and one receiver only */
       BENCH_NO_ORDER = 16,    /* channel: not first in, first out across senders, so sums cannot be checked */
       BENCH_NO_OVERLOAD = 32, /* more than two threads a CPU would not end within a sensible time */
       BENCH_SPINS = 64 /* park: it spins before it sleeps, or never sleeps; not comparable where every wait sleeps */
};

/* One implementation of one family. */
typedef struct bench_subject {
    uint32_t family;
    uint32_t flags;
    const char *name;
    const char *uses;                       /* which calls, and why these */
    void *(*create)(const bench_setting *); /* NULL: cannot do this setting */
    void (*destroy)(void *object);
    bench_loop *loops[BENCH_LOOPS]; /* NULL: not this workload */
} bench_subject;

/* One project. `subjects` ends with NULL; it is NULL where the project was not there when this was built. */
typedef struct bench_peer {
    const char *name;
    const char *version;
    const bench_subject *const *subjects;
} bench_peer;
extern const bench_peer *const bench_peers[]; /* ends with NULL */

/* ---- results ------------------------------------------------------------------------------------------------------- */

enum {
    BENCH_RATE,  /* M/s, all threads together */
    BENCH_NS,    /* ns per operation (one thread's time) */
    BENCH_TICKS, /* TSC ticks per operation */
    BENCH_P50,
    BENCH_P99,
    BENCH_P999,
    BENCH_WORST,   /* ns */
    BENCH_JAIN,    /* fairness of operations among threads: 1 is even, 1/n is all to one */
    BENCH_RETRIES, /* per success */
    BENCH_CPU,     /* ns of CPU time, all threads that are measured, per operation */
    BENCH_METRICS
};
typedef struct bench_metric {
    const char *key, *unit, *title;
    bool higher; /* is better */
} bench_metric;
extern const bench_metric bench_metrics[BENCH_METRICS];

typedef struct bench_spread {
    double median, q1, q3;
} bench_spread;

enum { BENCH_ROUNDS = 64 };
typedef struct bench_samples {
    uint32_t count; /* 0: this workload has no such metric */
    double values[BENCH_ROUNDS];
    bench_spread value;
    bool has_ratio;
    bench_spread ratio;
} bench_samples;

typedef struct bench_result {
    char name[48], uses[160], peer[32];
    uint32_t flags;
    bench_samples metrics[BENCH_METRICS];
    uint64_t latency_count;
    double latency_max; /* ns */
    uint32_t quantiles;
    double quantile[32][2]; /* share, ns */
    uint32_t threads;
    uint64_t *per_thread;
} bench_result;

typedef struct bench_run {
    char workload[32], title[96];
    uint32_t family;
    bench_setting setting;
    uint32_t primary;
    int32_t baseline; /* index of a result; -1: none */
    int32_t winner;   /* -1: too noisy to rank */
    double slice_ms;
    uint32_t rounds, rounds_dropped;
    uint32_t lines;
    double line_ns[2 * BENCH_ROUNDS];
    double others[BENCH_ROUNDS]; /* share of the CPUs that other programs took */
    uint32_t results;
    bench_result *result;
} bench_run;

typedef struct bench_report {
    char version[32], date[32], command[256];
    char cpu[96], system[128], libc[48], compiler[64], clock[24], pin[32];
    uint32_t cpus;
    bool hypervisor, interrupted;
    double clock_ghz, clock_overhead_ns, clock_step_ns, pause_ns, yield_ns, histogram_error;
    uint32_t peers;
    struct {
        char name[32], version[96];
        bool present;
    } peer[32];
    uint32_t runs;
    bench_run *run;
} bench_report;

/* Median and quartiles (linear between the two nearest); sorts a copy. All zero if n is 0. */
bench_spread bench_spread_of(const double *values, uint32_t n);
double bench_jain(const uint64_t *values, uint32_t n);

/* Fills medians, ratios, baseline and winner of a run from its samples. */
void bench_run_conclude(bench_run *run);

typedef struct bench_options {
    const char
        *workloads; /* beginnings of names, with commas; NULL: all. A long one runs only if it is named in full */
    uint32_t threads[16], thread_counts; /* 0: each workload's own */
    double slice;     /* seconds of one slice, at least (see doc/benchmarks.md); 0: each workload's own */
    double total;     /* seconds for everything, 0: no limit; shortens the slices */
    uint32_t repeats; /* 0: each workload's own */
    uint32_t capacity, message_size; /* 0: 1024 and 8 */
    const char *pin;                 /* "spread" (thread i on usable CPU i mod n), "none", or a list of CPUs */
    const char *only;                /* beginnings of names, with commas; NULL: each workload's own */
    bool quick;                      /* fewer thread counts */
    bool self_test;                  /* the first implementation of each workload, twice, and no other */
    const char *command;             /* what to note as the command */
    void (*progress)(const char *what, const char *which, double seconds_left); /* NULL: silent */
    bool (*interrupted)(void); /* whether to stop early, with what was measured so far */
} bench_options;

/* A round in which other programs took more of the CPUs than this does not count. */
#define BENCH_OTHERS_LIMIT 0.05

/* The i-th workload's name; NULL past the last. */
const char *bench_workload_name(uint32_t i);
/* Whether one of the names, separated by commas, begins the text, or is the text in full. */
bool bench_named(const char *names, const char *text, bool in_full);

/* Measures. False: a message is in error[]; the report holds what was measured until then. */
bool bench_measure(bench_report *report, const bench_options *options, char *error, size_t error_size);
void bench_run_free(bench_run *run);
void bench_report_free(bench_report *report);

/* The JSON of `concede bench --json`, as the member `key` of the writer's open object, or on its own if that is NULL. read
 * takes "-" for standard input. */
struct json_writer;
void bench_json_write(struct json_writer *w, const char *key, const bench_report *report);
bool bench_json_read(const char *path, bench_report *report, char *error, size_t error_size);

CC_END_DECLS

#endif
