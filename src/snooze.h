/* snooze.h: how long to snooze before sleeping, learned from how the waits before ended. */
#ifndef CONCEDE_SRC_SNOOZE_H
#define CONCEDE_SRC_SNOOZE_H

#include <concede/backoff.h>
#include <concede/costs.h>

typedef struct cc_snooze {
    uint32_t pauses, yields; /* first these, then those */
} cc_snooze_t;

typedef enum {
    CC_SPUN_, /* while spinning: spin longer */
    CC_YIELDED_, /* in a yield that ran nobody else here: the other side has a CPU of its own, so spinning would have done */
    CC_GAVE_WAY_, /* in a yield that ran somebody: the other side needs this CPU, so spinning only keeps it waiting */
    CC_SLEPT_SHORT_, /* asleep, but within the time it pays to spin */
    CC_SLEPT_LONG_   /* asleep, for longer */
} cc_ending_t;

enum { CC_MOST_YIELDS_ = 4 };

/* A wake-up takes `wake_ns` to arrive, about half of it work (`concede info` on AMD Zen 3 under KVM: 35 us, of which 11 us in
 * the waker; 10 us in the woken). By that alone, half of it would be enough. But two sides that answer each other, and fell
 * asleep once, find back only if each spins for as long as the other takes to wake: what is left of `wake_ns` after the call
 * that woke it. */
static inline uint64_t cc_snooze_most_ns_(void)
{
    return cc_load_relaxed(&cc_costs()->wake_ns) * UINT64_C(3) / 4; /* relaxed: an estimate */
}

/* Pauses that are worth spending. Asked for before a wait, because what is done at its end the caller waits for. */
static inline uint32_t cc_snooze_most_(void)
{
    return cc_backoff_pauses_(cc_snooze_most_ns_());
}

/* One short sleep after long ones may be chance, as when the other side catches up; a few in a row are not. */
static inline cc_snooze_t cc_snooze_learned_(cc_snooze_t s, cc_ending_t ending, uint32_t most)
{
    switch (ending) {
    case CC_SPUN_: s.pauses += s.pauses / 8 + 1; break;
    case CC_YIELDED_: s.pauses += most / 8, s.yields = CC_MOST_YIELDS_; break;
    case CC_GAVE_WAY_: s.pauses -= s.pauses / 8, s.yields = CC_MOST_YIELDS_; break;
    case CC_SLEPT_SHORT_: s.pauses = s.pauses * 4 + most / 64, s.yields = s.yields * 2 + 1; break;
    case CC_SLEPT_LONG_: s.pauses /= 2, s.yields /= 2; break;
    }
    s.pauses = s.pauses < most ? s.pauses : most;
    s.yields = s.yields < CC_MOST_YIELDS_ ? s.yields : CC_MOST_YIELDS_;
    return s;
}

/* How a wait ended in a yield of this length. `concede bench cas.yield` on AMD Zen 3: one alone takes 0.6 us, one to a thread
 * that yields back 3.4 us. */
static inline cc_ending_t cc_snooze_yielded_(uint64_t ns)
{
    return ns < 2000 ? CC_YIELDED_ : CC_GAVE_WAY_;
}

/* How a wait ended that snoozed in vain and slept from then on until the other side's call; the lower halves of the clock. */
static inline cc_ending_t cc_snooze_slept_(cc_snooze_t s, uint32_t asleep_at, uint32_t woken_at)
{
    const cc_costs_t *costs = cc_costs();
    uint64_t snoozed = (uint64_t)s.pauses * costs->pause_ps / 1000 + (uint64_t)s.yields * costs->yield_ns;
    return snoozed + (uint32_t)(woken_at - asleep_at) < cc_snooze_most_ns_() ? CC_SLEPT_SHORT_ : CC_SLEPT_LONG_;
}

#endif
