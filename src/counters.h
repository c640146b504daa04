/* counters.h: how lock, event and channel tell what they waited. See cc_counters() in <concede/costs.h>.
 *
 *     cc_count_wait_(CC_COUNT_LOCK_, CC_COUNT_SLEPT_, ns);     // at the end of each wait: how it ended, time asleep
 *     cc_count_wake_(CC_COUNT_LOCK_);                          // beside each cc_os_wake_()
 *     cc_count_wake_in_vain_(CC_COUNT_LOCK_);                  // woken, found nothing, and waits on
 *
 * Call them on slow paths only: each is one addition to a line that few other threads use, 2.5 ns where it is not
 * shared (AMD EPYC under KVM). A wait that gave up at its deadline counts by the phase it was in. The model checker
 * does not see them. */
#ifndef CONCEDE_SRC_COUNTERS_H
#define CONCEDE_SRC_COUNTERS_H

#include <concede/atomic.h>
#include <concede/costs.h>

enum { CC_COUNT_LOCK_, CC_COUNT_EVENT_, CC_COUNT_CHANNEL_, CC_COUNT_KINDS_ };   /* who waits */
enum { CC_COUNT_SPUN_, CC_COUNT_YIELDED_, CC_COUNT_SLEPT_, CC_COUNT_ENDINGS_ }; /* how a wait ended */
#define CC_COUNT_ENDING_(slept, yielded) ((slept) ? CC_COUNT_SLEPT_ : (yielded) ? CC_COUNT_YIELDED_ : CC_COUNT_SPUN_)

#if defined(CC_MODEL)
#define cc_count_wait_(kind, ending, slept_ns) ((void)(kind), (void)(ending), (void)(slept_ns))
#define cc_count_wake_(kind)                   ((void)(kind))
#define cc_count_wake_in_vain_(kind)           ((void)(kind))
#define cc_count_now_()                        UINT64_C(0)
#define cc_count_prefetch_(kind)               ((void)(kind))
#else
#define cc_count_now_() cc_os_now_() /* for the time asleep: the caller includes os.h */

/* A number of 64 bits in two halves, because not every 32-bit machine adds to 64 bits at once. Whoever makes the lower
 * half wrap adds one to the upper half; in between, for some nanoseconds in every 2^32 steps, a reader finds 2^32 too
 * few. */
typedef struct cc_counter {
    uint32_t low, high;
} cc_counter_t;

/* The counters of one kind of waiting object are on one line. Threads are spread over several sets of lines, so that
 * counting does not become the contention that it counts. There are 16 sets, which is as many threads as can well be
 * busy waiting at the same time on the machines that we know; more threads share. */
typedef struct cc_count_line {
    CC_ALIGNED_(CC_CACHE_LINE) cc_counter_t ended[CC_COUNT_ENDINGS_];
    cc_counter_t wakes, wakes_in_vain, slept_ns;
} cc_count_line_t;
CC_STATIC_ASSERT_(sizeof(cc_count_line_t) == CC_CACHE_LINE, "the counters of one kind are on one line");

enum { CC_COUNT_SET_BITS_ = 4 };
extern cc_count_line_t cc_count_lines_[1 << CC_COUNT_SET_BITS_][CC_COUNT_KINDS_];

/* The line of this thread. Stacks lie 64 KiB apart or more, so that the upper bits of an address on it tell threads
 * apart; 2654435761 is 2^32 divided by the golden ratio, which spreads them. */
static inline cc_count_line_t *cc_count_line_(unsigned kind)
{
    char here;
    uint32_t hash = (uint32_t)((uintptr_t)&here >> 16) * UINT32_C(2654435761);
    return &cc_count_lines_[hash >> (32 - CC_COUNT_SET_BITS_)][kind];
}

/* All accesses are relaxed: statistics, which pass on no data. */
static inline void cc_count_add_(cc_counter_t *to, uint64_t amount)
{
    uint32_t low = (uint32_t)amount, high = (uint32_t)(amount >> 32);
    uint32_t before = cc_fetch_add_relaxed(&to->low, low);
    if (before + low < before) high++;
    if (high != 0) cc_fetch_add_relaxed(&to->high, high);
}

static inline void cc_count_wait_(unsigned kind, unsigned ending, uint64_t slept_ns)
{
    cc_count_line_t *line = cc_count_line_(kind);
    cc_count_add_(&line->ended[ending], 1);
    if (slept_ns != 0) cc_count_add_(&line->slept_ns, slept_ns);
}

static inline void cc_count_wake_(unsigned kind)
{
    cc_count_add_(&cc_count_line_(kind)->wakes, 1);
}

static inline void cc_count_wake_in_vain_(unsigned kind)
{
    cc_count_add_(&cc_count_line_(kind)->wakes_in_vain, 1);
}

/* Says that this thread is going to count a wait: its line is fetched while it waits. */
static inline void cc_count_prefetch_(unsigned kind)
{
    CC_ARCH_PREFETCH_WRITE_(cc_count_line_(kind));
}
#endif

#endif
