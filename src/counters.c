/* counters.c: what this process has waited. */
#include "counters.h"
#include "probe.h"

#include <concede/atomic.h>

#if defined(CC_USDT) /* where tracers count themselves: probe.h */
#define DEFINE_TRACED_(name) volatile unsigned short CC_PROBE_TRACED_(name) __attribute__((section(".probes")));
CC_PROBES_(DEFINE_TRACED_)
#endif

/* A number of 64 bits in two halves, because not every 32-bit machine adds to 64 bits at once. Whoever makes the lower
 * half wrap adds one to the upper half; in between, for some nanoseconds in every 2^32 steps, a reader finds 2^32 too
 * few. */
typedef struct {
    uint32_t low, high;
} counter_t;

/* The counters of one kind of waiting object are on one line. Threads are spread over several sets of lines, so that
 * counting does not become the contention that it counts. There are 16 sets, which is as many threads as can well be
 * busy waiting at the same time on the machines that we know; more threads share. */
typedef struct {
    CC_ALIGNED_(CC_CACHE_LINE) counter_t ended[3];
    counter_t wakes, wakes_in_vain, slept_ns;
} line_t;
CC_STATIC_ASSERT_(CC_COUNT_ENDINGS_ == 3, "each ending has a counter");
CC_STATIC_ASSERT_(sizeof(line_t) == CC_CACHE_LINE, "the counters of one kind are on one line");

enum { SET_BITS = 4 };
static line_t lines_[1 << SET_BITS][CC_COUNT_KINDS_];

/* All accesses are relaxed: statistics, which pass on no data. */
static void add_(counter_t *to, uint64_t amount)
{
    uint32_t low = (uint32_t)amount, high = (uint32_t)(amount >> 32);
    uint32_t before = cc_fetch_add_relaxed(&to->low, low);
    if (before + low < before) high++;
    if (high != 0) cc_fetch_add_relaxed(&to->high, high);
}

static uint64_t read_(const counter_t *from)
{
    uint32_t high, low;
    do {
        high = cc_load_relaxed(&from->high);
        low = cc_load_relaxed(&from->low);
    } while (cc_load_relaxed(&from->high) != high);
    return (uint64_t)high << 32 | low;
}

/* The line of this thread. Stacks lie 64 KiB apart or more, so that the upper bits of an address on it tell threads
 * apart; 2654435761 is 2^32 divided by the golden ratio, which spreads them. */
static line_t *mine_(unsigned kind)
{
    char here;
    uint32_t hash = (uint32_t)((uintptr_t)&here >> 16) * UINT32_C(2654435761);
    return &lines_[hash >> (32 - SET_BITS)][kind];
}

void cc_count_wait_(unsigned kind, unsigned ending, uint64_t slept_ns)
{
    line_t *own = mine_(kind);
    add_(&own->ended[ending], 1);
    if (slept_ns != 0) add_(&own->slept_ns, slept_ns);
}

void cc_count_wake_(unsigned kind)
{
    add_(&mine_(kind)->wakes, 1);
}

void cc_count_wake_in_vain_(unsigned kind)
{
    add_(&mine_(kind)->wakes_in_vain, 1);
}

static cc_counted_t sum_(unsigned kind)
{
    cc_counted_t sum = { 0, 0, 0, 0, 0, 0, 0 };
    for (size_t i = 0; i < (size_t)1 << SET_BITS; i++) {
        const line_t *one = &lines_[i][kind];
        sum.spun += read_(&one->ended[CC_COUNT_SPUN_]);
        sum.yielded += read_(&one->ended[CC_COUNT_YIELDED_]);
        sum.slept += read_(&one->ended[CC_COUNT_SLEPT_]);
        sum.wakes += read_(&one->wakes);
        sum.wakes_in_vain += read_(&one->wakes_in_vain);
        sum.slept_ns += read_(&one->slept_ns);
    }
    sum.waits = sum.spun + sum.yielded + sum.slept;
    return sum;
}

void cc_counters(cc_counters_t *now)
{
    now->lock = sum_(CC_COUNT_LOCK_);
    now->event = sum_(CC_COUNT_EVENT_);
    now->channel = sum_(CC_COUNT_CHANNEL_);
}
