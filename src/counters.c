/* counters.c: what this process has waited. */
#include "counters.h"
#include "probe.h"

#include <concede/atomic.h>

#if defined(CC_USDT) /* where tracers count themselves: probe.h */
#define DEFINE_TRACED_(name) volatile unsigned short CC_PROBE_TRACED_(name) __attribute__((section(".probes")));
CC_PROBES_(DEFINE_TRACED_)
#endif

cc_count_line_t cc_count_lines_[1 << CC_COUNT_SET_BITS_][CC_COUNT_KINDS_];

/* All accesses are relaxed, as in counters.h. */
static uint64_t read_(const cc_counter_t *from)
{
    uint32_t high, low;
    do {
        high = cc_load_relaxed(&from->high);
        low = cc_load_relaxed(&from->low);
    } while (cc_load_relaxed(&from->high) != high);
    return (uint64_t)high << 32 | low;
}

static cc_counted_t sum_(unsigned kind)
{
    cc_counted_t sum = { 0, 0, 0, 0, 0, 0, 0 };
    for (size_t i = 0; i < (size_t)1 << CC_COUNT_SET_BITS_; i++) {
        const cc_count_line_t *one = &cc_count_lines_[i][kind];
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
