/* engine.h: what the files of the engine share; results.h is what is asked of it.
 *
 *   workloads.c    the table of the workloads, and the plans that follow from it and the options
 *   placement.c    which CPU a thread runs on, what a cache line costs between them, what other programs take
 *   slice.c        runs the threads of one implementation for a moment
 *   engine.c       plans to rounds, rounds to slices, slices to samples
 *   time.c         ticks, and work that takes a known time
 *   statistics.c   samples to figures */
#ifndef CONCEDE_BENCH_ENGINE_H
#define CONCEDE_BENCH_ENGINE_H

#include "host.h"
#include "results.h"
#include <pthread.h>

/* ---- time.c ---- */

/* Who waits for the time of the next message sleeps if that is longer than this, and else yields, or spins. */
extern uint64_t bench_pace_sleeps_from_ns;
extern bool bench_pace_yields;
/* CPU time that this thread has spent so far in waiting until a message is due. */
double bench_idle_ns(void);

/* ---- placement.c ---- */

/* Chooses the CPUs to pin to: see bench_options. False: the text names none that may be used. */
bool placement_choose(const char *pin);
/* How many CPUs the threads are pinned to; 0: they are not pinned. */
uint32_t placement_cpus(void);
/* The CPU of thread i: the CPUs in turn; -1 if the threads are not pinned. */
int placement_cpu(uint32_t i);
/* One way of a cache line between the first two of these CPUs in ns; negative if there are not two. About 1 ms. */
double placement_line_ns(void);
/* What these CPUs did so far, and the share of them that others took between two looks. */
host_load_t placement_load(void);
double placement_others(const host_load_t *before, const host_load_t *after);

/* Starts processes that do nothing but count, pinned: `count` on each usable CPU, or on the one that is given (-1:
 * each). They end with this process, however that ends. False: it cannot be done, and error[] says why. */
bool placement_neighbours_start(uint32_t count, int cpu, char *error, size_t error_size);
void placement_neighbours_stop(void);

/* ---- slice.c ---- */

typedef struct slice_thread {
    bench_thread bench;
    bench_loop *loop;
    struct slice *slice;
    int cpu;
    uint64_t begin_ns;
    double cpu_ns;
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
    double seconds; /* from the first thread's begin to the stop */
} slice;

/* Runs the first `count` threads for `seconds`. False: one could not be started, or did not end; *why says it, and the
 * slice stays in use. */
bool slice_run(slice *s, uint32_t count, double seconds, bool (*interrupted)(void), const char **why);

/* ---- workloads.c ---- */

#define BIT(n) (UINT32_C(1) << (n))

/* How a workload is run and read. */
enum {
    HALVE = 1,            /* what was measured is a round trip, and two ways make one */
    BEYOND_WORK = 2,      /* what was measured contains work_ns, and is shown without it */
    ONE_CPU = 4,          /* all threads are on one CPU */
    RECEIVER_ONLY = 8,    /* the CPU time is that of the receivers */
    SENDERS_SHARE = 16,   /* Jain's index is of what the senders got rid of */
    RANDOM_GAPS = 32,     /* gaps are exponentially distributed */
    OUTSIDE_AS_HELD = 64, /* outside a lock as long as inside */
    SLEEPS_BETWEEN = 128, /* a sender sleeps until its next message is due */
    PAIRS = 256,          /* half of the threads send */
    ONLY_IN_FULL = 512,   /* it takes long, and runs only where it is named in full */
    FIXED_TOO = 2048,     /* those of fixed settings take part */
    MAP = 1024            /* many settings: each is measured to its end before the next */
};

#define VALUES(...)                                             \
    {                                                           \
        sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t), \
        {                                                       \
            __VA_ARGS__                                         \
        }                                                       \
    }

typedef struct workload {
    const char *name, *title;
    uint32_t family, loop, primary, metrics, how;
    uint32_t with, without; /* flags that a subject must have, and must not have */
    /* Its settings are all combinations of these; `open`: those that options may replace. */
    bench_values by[BENCH_DIMENSIONS], quick[BENCH_DIMENSIONS];
    uint32_t open;
    double slice;                  /* seconds; 0: the usual time */
    uint32_t rounds;               /* 0: the usual number */
    const char *only, *only_quick; /* who competes, with commas; NULL: all */
} workload;

/* A workload with its parameters fixed, and who competes in it. */
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
    uint32_t gaps[BENCH_GAPS];
} plan;

/* All runs that the options ask for. */
uint32_t plan_all(plan *plans, uint32_t room, const bench_options *options);

#endif
