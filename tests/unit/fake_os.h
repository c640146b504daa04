/* fake_os.h: src/os.h without a system. One thread, a clock that moves only as told, and a script.
 *
 * A test is both threads: it acts as the other one inside a hook, at the very moment it is about.
 *
 *     static void give(void) { cc_parker_unpark(&parker); }
 *
 *     fake_start();
 *     fake.asleep = give;                          // called while the owner sleeps
 *     cc_parker_park(&parker);
 *     CHECK_EQ(fake.waits, 1);
 *
 * What a wait does, in this order: counts itself; calls `before_sleep`; compares the word (EAGAIN); calls `asleep`;
 * takes the next line of the script, if there is one; returns `woken_as` if one of the hooks woke the word; lets the
 * clock reach the deadline (ETIMEDOUT). With nobody left to wake it, a wait without a deadline ends the program: a lost
 * wake-up. */
#ifndef CONCEDE_TESTS_FAKE_OS_H
#define CONCEDE_TESTS_FAKE_OS_H

#include "os.h"

/* One scripted end of a wait: what it returns, and how much time passes in it. */
typedef struct fake_result {
    int result;
    uint64_t passes_ns;
} fake_result;

typedef struct fake_os {
    /* set by the test */
    uint64_t now_ns;
    uint64_t cpu_time_ns; /* that all threads have used; 0: not known */
    uint32_t cpu;         /* that the thread runs on */
    uint32_t cpus, quota;
    const char *costs;                    /* the environment's CONCEDE_COSTS; NULL: not there */
    uint64_t pause_ps, yield_ns, wake_ns; /* what these take on the clock */
    bool registers;                       /* whether membarrier can be registered */
    bool has_sb;
    uint32_t membarriers_granted; /* how many succeed before it is refused */
    int woken_as;            /* 0; on a system that loses wake-ups the EINTR or ETIMEDOUT that came at the same time */
    uintptr_t sequence_area; /* of restartable sequences; 0: there are none */
    uint32_t barriers_granted; /* how many of theirs succeed before it is refused */
    void (*on_barrier)(void);
    int bell_error;        /* what making a bell gives: 0 */
    bool has_segments;     /* without a name, one at a time, and small */
    uint64_t others_locks; /* of a segment, that other processes have alone: a bit for each number */
    void (*before_sleep)(void), (*asleep)(void), (*on_wake)(void), (*on_yield)(void), (*on_membarrier)(void),
        (*on_pause)(void), (*on_lock)(void);
    const fake_result *script;
    size_t script_lines;

    /* counted */
    unsigned waits, wakes, yields, registrations, membarriers, barriers, clock_reads, pauses, quota_reads;
    unsigned bells, rings, emptied, bells_closed, locks;

    /* seen last */
    const uint32_t *waited_on, *woken;
    uint32_t waited_for, woken_count;
    uint64_t waited_until;
} fake_os;

extern fake_os fake;

/* Two CPUs, no quota, membarrier granted, the clock at one second, nothing counted, no hooks, no script. */
void fake_start(void);

/* The same with a quota of so many CPUs and pauses of 40 ns, and the library asks again. A test that has given costs
 * has no quota from then on. */
void fake_start_with_quota(uint32_t quota);

/* Forgets what was counted, and nothing else. */
void fake_forget(void);

/* One pause: counted, and some time on the clock. A test that includes <concede/arch.h> and defines CC_ARCH_PAUSE_() as
 * this before any other header of concede counts the pauses of all inlines. */
void fake_pause(void);

#define FAKE_SCRIPT(...)                                      \
    do {                                                      \
        static const fake_result lines_[] = { __VA_ARGS__ };  \
        fake.script = lines_;                                 \
        fake.script_lines = sizeof lines_ / sizeof lines_[0]; \
    } while (0)

#endif
