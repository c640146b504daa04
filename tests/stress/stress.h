/* stress.h: what a stress test needs besides harness.h: threads that are watched, places to run them, random delays.
 *
 * A scenario runs for a time, not for a count (stress_deadline), and again in every place (STRESS): on one CPU, where
 * a thread meets another only by being preempted, and on two; with membarrier and without. Threads report progress;
 * when none makes any for STRESS_STALL_S the program ends and says who stood where: a lost wake-up is a failure, not a
 * hang. */
#ifndef CONCEDE_TESTS_STRESS_H
#define CONCEDE_TESTS_STRESS_H

#include "harness.h"
#include <concede/concede.h>
#if defined(__linux__)
#include <sched.h>
#endif

#define STRESS_STALL_S 15

#if defined(STRESS_NO_FENCE)
bool stress_no_membarrier(void)
{
    return true;
}
#elif defined(CONCEDE_TESTS_JITTER_H)
__thread uint64_t stress_random_state = 1; /* 0 is no valid state */
void stress_yield(void)
{
    cc_os_yield_();
}
#endif

/* One thread of a scenario. On lines of its own: the counting must not order or slow what is tested. */
typedef struct stress_thread {
    CC_ALIGNED_(CC_CACHE_LINE) uint64_t progress; /* atomic */
    uint32_t ended;                               /* atomic */
    int index;
    uint64_t random;
    void (*body)(struct stress_thread *, void *);
    void *shared;
    uint32_t *start; /* atomic */
    pthread_t thread;
} stress_thread;

/* This thread got on. */
static inline void stress_progress(stress_thread *t)
{
    __atomic_store_n(&t->progress, t->progress + 1, __ATOMIC_RELAXED);
}

__attribute__((unused)) static inline uint32_t stress_random(stress_thread *t, uint32_t below)
{
    return (uint32_t)((test_random(&t->random) >> 32) * below >> 32);
}

/* Nothing, some pauses, a yield: in this order of likelihood. */
__attribute__((unused)) static inline void stress_pause(stress_thread *t)
{
    uint32_t dice = stress_random(t, 64);
    for (uint32_t pauses = dice < 32 ? 0 : 1u << dice % 8; pauses > 0; pauses--) cc_pause();
    if (dice == 0) cc_os_yield_();
}

static void *stress_main(void *argument)
{
    stress_thread *t = (stress_thread *)argument;
#if defined(CONCEDE_TESTS_JITTER_H) && !defined(STRESS_NO_FENCE)
    stress_random_state = t->random | 1;
#endif
    while (__atomic_load_n(t->start, __ATOMIC_ACQUIRE) == 0) cc_os_yield_();
    t->body(t, t->shared);
    __atomic_store_n(&t->ended, 1, __ATOMIC_RELEASE);
    return NULL;
}

static inline void stress_sleep_ms(int ms)
{
    struct timespec time = { ms / 1000, ms % 1000 * 1000000 };
    nanosleep(&time, NULL);
}

/* Runs body in `count` threads, all let go at once; returns when all have ended, and ends the program if they stall. */
__attribute__((unused)) static void stress_threads(int count, void (*body)(stress_thread *, void *), void *shared)
{
    static uint64_t scenario;
    uint32_t start = 0;
    char *memory = (char *)calloc((size_t)count + 1, sizeof(stress_thread));
    REQUIRE(memory != NULL);
    stress_thread *threads = (stress_thread *)(void *)(memory + -(uintptr_t)memory % CC_CACHE_LINE);
    scenario++;
    for (int i = 0; i < count; i++) {
        stress_thread *t = &threads[i];
        t->index = i;
        t->random = test_seed(scenario * 1000 + (uint64_t)i);
        t->body = body;
        t->shared = shared;
        t->start = &start;
        REQUIRE(pthread_create(&t->thread, NULL, stress_main, t) == 0);
    }
    __atomic_store_n(&start, 1, __ATOMIC_RELEASE);
    uint64_t last = 0;
    for (int stalled_ms = 0;;) {
        uint64_t sum = 0;
        int ended = 0;
        for (int i = 0; i < count; i++) {
            sum += __atomic_load_n(&threads[i].progress, __ATOMIC_RELAXED);
            ended += __atomic_load_n(&threads[i].ended, __ATOMIC_ACQUIRE) != 0;
        }
        if (ended == count) break;
        if (sum + (uint64_t)ended != last && stalled_ms >= 2000)
            printf("%s: note: no progress for %d ms\n", test_name, stalled_ms);
        stalled_ms = sum + (uint64_t)ended == last ? stalled_ms + 10 : 0;
        last = sum + (uint64_t)ended;
        if (stalled_ms >= STRESS_STALL_S * 1000) {
            printf("%s: a lost wake-up: no progress for %d s\n", test_name, STRESS_STALL_S);
            for (int i = 0; i < count; i++)
                printf("  thread %d: %s after %llu steps\n", i, threads[i].ended ? "ended" : "waits",
                       (unsigned long long)__atomic_load_n(&threads[i].progress, __ATOMIC_RELAXED));
            test_end_program();
        }
        stress_sleep_ms(10);
    }
    for (int i = 0; i < count; i++) pthread_join(threads[i].thread, NULL);
    free(memory);
}

/* When a scenario that usually takes `ms` is over. */
__attribute__((unused)) static inline uint64_t stress_deadline(uint64_t ms)
{
    return cc_deadline_in(test_effort(ms) * 1000000);
}

#if defined(__linux__)
/* The CPUs that this process started with, from the one numbered `first` on, `count` of them. */
static inline void stress_pin(uint32_t first, uint32_t count)
{
    static cpu_set_t all; /* set by main, before there are other threads */
    cpu_set_t some;
    uint32_t number = 0;
    if (CPU_COUNT(&all) == 0) sched_getaffinity(0, sizeof all, &all);
    CPU_ZERO(&some);
    for (size_t i = 0; i < CPU_SETSIZE; i++) {
        if (!CPU_ISSET(i, &all)) continue;
        if (number >= first && number < first + count) CPU_SET(i, &some);
        number++;
    }
    if (CPU_COUNT(&some) > 0) sched_setaffinity(0, sizeof some, &some);
}
#else
static inline void stress_pin(uint32_t first, uint32_t count)
{
    (void)first, (void)count;
}
#endif

static inline void stress_use_cpus(uint32_t cpus)
{
    cc_costs_t costs = *cc_costs();
    costs.cpus = cpus;
    cc_costs_set(&costs);
    stress_pin(0, cpus);
}

/* This thread keeps to one of the CPUs in use, so that two threads really run at the same time. */
__attribute__((unused)) static inline void stress_on_cpu(int number)
{
    stress_pin((uint32_t)number % cc_costs()->cpus, 1);
}

/* Runs the scenario on one CPU and on two, each with membarrier (where there is one) and with full fences. */
__attribute__((unused)) static void stress_everywhere(void (*scenario)(void))
{
    for (uint32_t cpus = 2; cpus >= 1; cpus--) {
        for (int symmetric = 0; symmetric < 2; symmetric++) {
            stress_use_cpus(cpus);
            cc_fence_mode_ = symmetric ? CC_FENCE_SYMMETRIC_ : CC_FENCE_UNKNOWN_;
            scenario();
        }
    }
    stress_use_cpus(2);
}

/* A case that runs everywhere: STRESS(nobody_starves) { ... } */
#define STRESS(name)                      \
    static void stress_##name(void);      \
    TEST(name)                            \
    {                                     \
        stress_everywhere(stress_##name); \
    }                                     \
    static void stress_##name(void)

#endif
