/* results.h: what is asked of the benchmarks, and what they give. concede(1) has the form of the JSON. */
#ifndef CONCEDE_BENCH_RESULTS_H
#define CONCEDE_BENCH_RESULTS_H

#include "bench.h"

CC_BEGIN_DECLS

enum {
    BENCH_RATE,  /* M/s, all threads together */
    BENCH_NS,    /* ns per operation (one thread's time) */
    BENCH_TICKS, /* TSC ticks per operation */
    BENCH_MEAN,
    BENCH_P50,
    BENCH_P90,
    BENCH_P99,
    BENCH_P999,
    BENCH_WORST,   /* ns */
    BENCH_JAIN,    /* fairness of operations among threads: 1 if all did as many, 1/n if one of n did all */
    BENCH_RETRIES, /* per success */
    BENCH_CPU,     /* ns of CPU time, all threads that are measured, per operation */
    BENCH_SPUN,    /* of concede only, from cc_counters(): waits that ended while spinning, per operation */
    BENCH_YIELDED, /* ... while yielding */
    BENCH_SLEPT,   /* ... asleep */
    BENCH_METRICS,
    BENCH_COLUMNS = BENCH_SPUN /* those before this one are columns of a table */
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
    char workload[32], title[128];
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
    char version[32], date[32], command[1024];
    char cpu[128], system[192], libc[48], compiler[96], clock[24], pin[32];
    char neighbours[24]; /* as the option has it: "1" or "1@0"; "": none */
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

/* How one result stands to the best of the other libraries in one metric. */
typedef struct bench_verdict {
    int32_t best;       /* index of that one; -1: there is none, or no such metric */
    bench_spread times; /* how many times as good as that one: above 1 is better */
    int32_t lead;       /* 1: better, -1: worse, by more than the noise and than is tolerated; 0: as good */
} bench_verdict;
bench_verdict bench_judge(const bench_run *run, uint32_t ours, uint32_t metric);

/* Fills medians, ratios, baseline and winner of a run from its samples. */
void bench_run_conclude(bench_run *run);

/* In what the settings of a workload differ. A shape is how many threads send and how many receive. */
enum {
    BENCH_BY_THREADS,
    BENCH_BY_SHAPE,
    BENCH_BY_HELD,
    BENCH_BY_OUTSIDE,
    BENCH_BY_INTERVAL,
    BENCH_BY_BURST,
    BENCH_BY_WORK,
    BENCH_BY_CHANNELS,
    BENCH_DIMENSIONS
};
typedef struct bench_values {
    uint32_t count, at[16];
} bench_values;
#define BENCH_SHAPE(senders, receivers) ((uint32_t)(senders) << 16 | (uint32_t)(receivers))
#define BENCH_SHAPE_SENDERS(shape)      ((shape) >> 16)
#define BENCH_SHAPE_RECEIVERS(shape)    ((shape)&UINT32_C(0xffff))

typedef struct bench_options {
    const char
        *workloads; /* beginnings of names, with commas; NULL: all. A long one runs only if it is named in full */
    bench_values values[BENCH_DIMENSIONS]; /* none: each workload's own */
    double slice;     /* seconds of one slice, at least (see doc/benchmarks.md); 0: each workload's own */
    double total;     /* seconds for everything, 0: no limit; shortens the slices */
    uint32_t repeats; /* 0: each workload's own */
    uint32_t capacity, message_size; /* 0: 1024 and 8 */
    const char *pin;                 /* "spread" (thread i on usable CPU i mod n), "none", or a list of CPUs */
    uint32_t neighbours;             /* processes that only count, on each usable CPU or on neighbours_cpu */
    int neighbours_cpu;              /* -1: on each */
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
/* Whether it is a map: many settings of one question. */
bool bench_is_map(const char *workload);
/* Whether one of the names, separated by commas, begins the text, or is the text in full. */
bool bench_named(const char *names, const char *text, bool in_full);

/* Measures. False: a message is in error[]; the report holds what was measured until then. */
bool bench_measure(bench_report *report, const bench_options *options, char *error, size_t error_size);
void bench_run_free(bench_run *run);
void bench_report_free(bench_report *report);

/* The JSON of `concede bench --json`, as the member `key` of the writer's open object, or on its own if that is NULL.
 * read takes "-" for standard input. */
struct json_writer;
void bench_json_write(struct json_writer *w, const char *key, const bench_report *report);
bool bench_json_read(const char *path, bench_report *report, char *error, size_t error_size);

CC_END_DECLS

#endif
