/* snooze.h: how a wait divides its time between spinning, yielding and sleeping. Event and channel ask here
 * for all of it, the lock for when and how to yield and for how long a quota lets it spin.
 *
 * Three rules:
 *
 *   Spinning   pays as long as it costs less than sleeping and being woken. So a wait spins at most for the spin limit,
 *              and within that it learns from how the waits before it ended.
 *   Yielding   pays where the thread that we wait for needs this very CPU. But on a CPU that another program keeps busy
 *              a yield lasts a whole time slice of milliseconds, while a sleeper would be woken within microseconds. So
 *              a wait yields only where other threads of ours were on its CPU lately, how long a yield lasts is
 *              measured each time, and a wait with a deadline never yields.
 *   Busy       A thread that was off its CPU for long, in a yield or while it spun, or that ran only long after it was
 *              woken, has a busy neighbour there. Spinning there costs twice, because a fair scheduler lets a thread
 *              run as soon as it is woken only while it has had less than its share. When that happens again and
 *              again, events and channels sleep at once and locks do not yield, in the whole process, for a while;
 *              then they try. */
#ifndef CONCEDE_SRC_SNOOZE_H
#define CONCEDE_SRC_SNOOZE_H

#include <concede/compiler.h>

/* What a wait does before it sleeps: first the pauses, then the yields. */
typedef struct cc_snooze {
    uint32_t pauses, yields;
} cc_snooze_t;

/* How a wait ended, and what that says about the next one. */
typedef enum {
    CC_SPUN_,         /* while it spun: spinning pays */
    CC_YIELDED_,      /* in a yield that ran nobody: the other side has a CPU of its own, spinning on would have done */
    CC_RAN_SOMEBODY_, /* in a short yield that ran somebody: the other side needs this CPU, and spinning keeps it off */
    CC_OVERTAKEN_,    /* in a yield in which another thread got what both wait for: that says nothing */
    CC_SLEPT_SHORT_,  /* asleep, but within the time that is worth spinning for */
    CC_SLEPT_LONG_,   /* asleep for longer, or off its CPU for so long that sleeping would have been better */
    CC_GATHERED_      /* asleep, while several things came together: one wake-up costs less than spinning for each */
} cc_ending_t;

/* How long a wait may spin for which this time would pay: less under a quota of CPU time. */
uint64_t cc_snooze_allowed_ns_(uint64_t pays);

/* How long, and for how many pauses, spinning is worth it before a sleep. Ask before the wait: at its end the caller
 * has something to do. */
uint64_t cc_snooze_spin_limit_ns_(void);
uint32_t cc_snooze_spin_limit_(void);

/* What a wait does that has nothing to go by yet. */
cc_snooze_t cc_snooze_start_(void);

/* What the next wait does, from what this one planned and how it ended. */
cc_snooze_t cc_snooze_learned_(cc_snooze_t planned, cc_ending_t ending, uint32_t spin_limit);

/* How a wait ended that slept after its snooze, from `asleep_at` until another thread's call at `woken_at`: the lower
 * halves of the clock. */
cc_ending_t cc_snooze_slept_(cc_snooze_t planned, uint32_t asleep_at, uint32_t woken_at);

/* Yields once; returns how the wait has ended if it ends with this yield. `*now` is the time before it and then after
 * it. CC_SLEPT_LONG_: the CPU was lost to another program; the caller notes it. */
cc_ending_t cc_snooze_yield_(uint64_t *now);

/* Notes that a thread of ours runs on this CPU at this time, and returns a number for the CPU. Threads that wait or
 * wake call it, so that one that loses its CPU knows whether it lost it to one of ours. */
uint32_t cc_snooze_seen_(uint64_t now);

/* Whether a wait that has spun may yield before it sleeps: other threads of ours were seen on this CPU lately, or there
 * is no other CPU. If the thread that it waits for has a CPU of its own, a yield brings nothing where the CPUs are
 * idle, and costs a time slice where they are not. Else it spins for CC_YIELD_NS_, which is what a yield takes that
 * runs nobody (`concede bench cas.yield` on AMD Zen 3). */
enum { CC_YIELD_NS_ = 600 };
bool cc_snooze_is_yield_worth_it_(uint64_t now);

/* A thread that was off its CPU for so long has lost it to one that does not wait: a yield to a thread that waits, too,
 * lasts some microseconds, and a time slice lasts milliseconds; see cc_snooze_yield_(). */
enum { CC_LOST_CPU_NS_ = 200000 };

/* Whether a thread lost this CPU to another program between `began` and `now`, in which it did something that takes
 * `expected` ns by itself. */
bool cc_snooze_lost_cpu_(uint32_t cpu, uint64_t began, uint64_t expected, uint64_t now);

/* Notes such a loss, which ended at this time, for cc_snooze_calm_(). */
void cc_snooze_note_loss_(uint64_t now);

/* Tells that this thread runs again at `now`, after another woke it at `woken_at`, the lower half of the clock. That
 * refines what a wake-up takes. A thread that runs late found the CPU busy: that is a loss, too. */
void cc_snooze_woken_(uint32_t woken_at, uint64_t now);

/* What the whole process goes by at the moment. Reads the clock only where somebody lost its CPU lately. */
typedef enum {
    CC_CALM_,     /* spin and yield as learned */
    CC_ON_TRIAL_, /* the CPUs were busy just now: spin, but do not yield */
    CC_BUSY_      /* the CPUs are busy with others: sleep at once */
} cc_calm_t;
cc_calm_t cc_snooze_calm_(void);

/* Yields before a wait begins to spin, if this thread has spun for long in its last waits and others may want its CPU;
 * returns whether it did. How long that is grows with its patience. cc_snooze_spun_() tells how much a wait has spun,
 * and whether it has yielded or slept. */
enum { CC_PATIENCE_OF_EVENTS_ = 1, CC_PATIENCE_OF_LOCKS_ = 10 };
bool cc_snooze_gives_way_(uint32_t patience);
void cc_snooze_spun_(uint32_t pauses, bool has_rested);

/* Under a quota: how many pauses this wait may spin beyond those planned, which the last waits of this thread have
 * earned. When a wait is over cc_snooze_earn_() tells how many pauses it has made, whether it slept in the end, and for
 * how long until it was woken. The limit is that of cc_snooze_spin_limit_(). */
uint32_t cc_snooze_earned_pauses_(uint32_t planned, uint32_t spin_limit);
void cc_snooze_earn_(uint32_t pauses, uint32_t spin_limit, bool slept, uint32_t slept_ns);

#endif
