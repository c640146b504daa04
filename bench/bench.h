/* bench.h: what the benchmarks of concede are made of.
 *
 * Three kinds of code meet here:
 *
 *   loops/FAMILY.h   the workload of a family, written once. A peer file defines a few macros (how this one locks,
 *                    sends, waits ...) and includes it, once for each implementation, so that the calls inline and no
 *                    function pointer stands between the loop and what it measures. It leaves a `bench_subject` behind.
 *   peers/NAME.*     one project each: which of its calls are used and why, and the list of its subjects. Found at
 *                    build time; a project that is not installed is skipped with a word.
 *   the engine       runs them: all subjects of a workload in turn inside each round, the order rotated, threads
 *                    pinned, the cost of a cache line between two CPUs probed around each round. engine.h lists its
 *                    files; results.h is what it gives.
 *
 * A family is cas, lock, condition, park, channel, select or shared. A workload is one question about it (`workloads`
 * in workloads.c), and a run is a workload with its parameters fixed (threads, time outside the lock, interval between
 * messages ...). */
#ifndef CONCEDE_BENCH_H
#define CONCEDE_BENCH_H

#include <concede/atomic.h>
#include <concede/backoff.h>
#include <concede/costs.h>
#include <concede/pause.h>
#include <stdio.h>
#include <time.h>

CC_BEGIN_DECLS

/* ---- time -------------------------------------------------------------------------------------------------------- */

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

/* Nothing after it begins before everything before it has ended, where the CPU has such an instruction. */
static inline void bench_serialize(void)
{
#if defined(CC_ARCH_X86_64) || defined(CC_ARCH_X86)
    __asm__ __volatile__("lfence" ::: "memory");
#elif defined(CC_ARCH_ARM64)
    __asm__ __volatile__("isb" ::: "memory");
#else
    __asm__ __volatile__("" ::: "memory");
#endif
}

#if defined(CC_MODEL) /* in the simulator (sim/) time is virtual */
uint64_t bench_ticks(void);
#else
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
#endif

/* The time when everything before it has ended. A CPU that executes ahead does bench_ticks() while the swap that takes
 * a lock still waits for its line, so that this wait would count only where a branch was predicted wrong. */
static inline uint64_t bench_ticks_after(void)
{
    bench_serialize();
    return bench_ticks();
}

uint64_t bench_ticks_call(void); /* bench_ticks(), as a function */

/* Work that touches no memory and that no compiler removes: a chain of dependent multiplications. Fenced, or the CPU
 * would do it in the shadow of the lock before and after it. One function for all, or each subject would have its own,
 * at an alignment of its own. */
void bench_work_turns(uint32_t turns);

static inline void bench_work(uint32_t turns)
{
    if (turns != 0) bench_work_turns(turns);
}

/* Turns that take about so long. */
uint32_t bench_turns(double ns);

/* Waits until it is `*due`, in ticks, and returns the time from which a message that is sent now is late: when it was
 * due, or now if the thread slept until then, because how late a sleeper wakes is not what is measured. Where *due has
 * long passed, it becomes now, so that a thread that was kept away does not make up for it in a burst. */
uint64_t bench_pace(uint64_t *due);

/* As bench_pace(), for a sender that keeps to a rate: what became due while it overslept is sent at once, and is late
 * from when it woke. *woke is 0 at first. */
uint64_t bench_offer(uint64_t *due, uint64_t *woke);

/* ---- latency histogram: 2^BENCH_HISTOGRAM_BITS linear buckets for each power of two ------------------------------ */

#define BENCH_HISTOGRAM_BITS    7
#define BENCH_HISTOGRAM_BUCKETS ((64 - BENCH_HISTOGRAM_BITS + 1) << BENCH_HISTOGRAM_BITS)

typedef struct bench_histogram {
    uint64_t count, max, sum;
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
    h->sum += value;
    if (CC_UNLIKELY_(value > h->max)) h->max = value;
}

void bench_histogram_merge(bench_histogram *into, const bench_histogram *from);
/* The value that a share of q (0..1) does not exceed: the middle of its bucket, at most max. 0 if empty. */
double bench_histogram_quantile(const bench_histogram *h, double q);
/* Largest relative error of a quantile: half a bucket. */
#define BENCH_HISTOGRAM_ERROR (0.5 / (1 << BENCH_HISTOGRAM_BITS))

/* ---- what a loop sees -------------------------------------------------------------------------------------------- */

enum { BENCH_CAS, BENCH_LOCK, BENCH_CONDITION, BENCH_PARK, BENCH_CHANNEL, BENCH_SELECT, BENCH_SHARED, BENCH_FAMILIES };
extern const char *const bench_families[BENCH_FAMILIES]; /* their names */

/* A run's parameters; 0 where the workload has no such thing. */
typedef struct bench_setting {
    uint32_t threads;
    uint32_t senders;     /* the rest receive */
    uint32_t held_ns;     /* work between acquire and release */
    uint32_t outside_ns;  /* work between release and the next acquire */
    uint32_t work_ns;     /* work before an answer, or for each message */
    uint32_t interval_ns; /* between messages, of all senders together; until a wait times out */
    uint32_t capacity, message_size, burst;
    uint32_t channels; /* to select from */
} bench_setting;

/* One thread of a slice. The Rust peers mirror this layout (peers/rust/lib.rs). */
typedef struct bench_thread {
    void *object;         /* what create() returned */
    const uint32_t *stop; /* nonzero: end */
    uint32_t index, threads, senders;
    uint32_t work;              /* turns of bench_work(): outside_ns or work_ns */
    uint32_t held;              /* the same: held_ns */
    uint32_t burst;             /* messages at a time */
    uint32_t gap;               /* where this thread begins in gaps[] */
    const uint32_t *gaps;       /* BENCH_GAPS of them: see bench_gap() */
    uint32_t *done;             /* threads that have finished sending; shared */
    bench_histogram *histogram; /* this thread's; in ticks */
    uint64_t ops, retries, sum; /* what the loop leaves behind */
} bench_thread;

/* The i-th gap between one operation and the next: turns of bench_work() outside a lock, ticks between messages. They
 * are all the same, or exponentially distributed, as the workload has it. */
enum { BENCH_GAPS = 1024 };
static inline uint32_t bench_gap(const bench_thread *t, uint32_t i)
{
    return t->gaps[(t->gap + i) % BENCH_GAPS];
}

#if defined(CC_MODEL)
bool bench_stopped(const bench_thread *t);
#else
static inline bool bench_stopped(const bench_thread *t)
{
    return cc_load_relaxed(t->stop) != 0;
}
#endif

/* Adds 1 to memory that a lock protects. The simulator has to see it. */
static inline void bench_increment(uint64_t *counter)
{
#if defined(CC_MODEL)
    cc_store_relaxed(counter, cc_load_relaxed(counter) + 1);
#else
    ++*counter;
#endif
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

enum { BENCH_MOST_CHANNELS = 64 }; /* that can be selected from */

/* For the loops' names: BENCH_NAME(SUBJECT, rate) is subject_rate. */
#define BENCH_NAME_(a, b) a##_##b
#define BENCH_NAME(a, b)  BENCH_NAME_(a, b)

typedef void bench_loop(bench_thread *);

enum { /* loops of each family */
       BENCH_CAS_RATE = 0,
       BENCH_CAS_STEP = 1,
       BENCH_CAS_YIELD = 2,
       BENCH_CAS_SNOOZE = 3,
       BENCH_LOCK_RATE = 0,
       BENCH_LOCK_LATENCY = 1,
       BENCH_LOCK_HANDOFF = 2,
       BENCH_CONDITION_ROUNDS = 0,
       BENCH_CONDITION_BUFFER = 1,
       BENCH_PARK_PINGPONG = 0,
       BENCH_PARK_POST = 1,
       BENCH_PARK_PACED = 2,
       BENCH_PARK_TIMEOUT = 3,
       BENCH_CHANNEL_PINGPONG = 0,
       BENCH_CHANNEL_STREAM = 1,
       BENCH_CHANNEL_BURST = 2,
       BENCH_CHANNEL_PACED = 3,
       BENCH_CHANNEL_OFFERED = 4,
       BENCH_SELECT_READY = 0,
       BENCH_SELECT_ASLEEP = 1,
       BENCH_SELECT_STREAM = 2,
       BENCH_SHARED_PINGPONG = 0,
       BENCH_SHARED_STREAM = 1,
       BENCH_LOOPS = 5
};

enum {                         /* flags of a subject */
       BENCH_OURS = 1,         /* concede */
       BENCH_BASELINE = 2,     /* ratios are taken to the first of these in a run */
       BENCH_CAN_SLEEP = 4,    /* a thread that waits gives its CPU away */
       BENCH_ONE_TO_ONE = 8,   /* channel: one sender and one receiver only */
       BENCH_NO_ORDER = 16,    /* channel: not first in, first out across senders, so sums cannot be checked */
       BENCH_NO_OVERLOAD = 32, /* more than two threads a CPU would not end within a sensible time */
       BENCH_UNCOUNTED = 256,  /* of concede, but its waits are not in cc_counters() */
       BENCH_FIXED = 128,      /* takes part only where the workload is about fixed settings, or --only names it */
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

CC_END_DECLS

#endif
