/* costs.h: what the layers above ask and tell costs.c, besides the public header. */
#ifndef CONCEDE_SRC_COSTS_H
#define CONCEDE_SRC_COSTS_H

#include <concede/costs.h>

/* Returns cc_costs()->wake_ns, and measures nothing else. Any thread. */
uint32_t cc_costs_wake_ns_(void);

/* Returns cc_costs()->cpus, and measures nothing else. Any thread. */
uint32_t cc_costs_cpus_(void);

/* Whether cc_backoff_pauses_() would return at once: the first call measures the pause, and reads the clock for that.
 * Any thread. */
bool cc_costs_are_known_(void);

/* Whether there are so many CPUs that a line may come from another die or socket. What that needs costs something where
 * all are near each other. Any thread. */
enum { CC_FEW_CPUS_ = 8 }; /* and no more: as many as `desktop` of sim/machines has */
bool cc_costs_has_many_cpus_(void);

/* Whether a quota limits the CPU time of this process to less than what the CPUs have that it may run on. The first
 * call reads the quota, which takes some ten microseconds. Any thread. */
bool cc_costs_has_quota_(void);

/* The longest that one wait may spin, besides what its policy says; UINT64_MAX: no limit. With a quota it is less
 * than the CPU time that sleeping and waking take, so that spinning less than doubles what the wait costs. Any
 * thread. */
uint64_t cc_costs_spin_limit_ns_(void);

/* Tells that a wake-up took this long to arrive. That refines cc_costs()->wake_ns, unless it was given. Any thread. */
void cc_costs_woken_(uint64_t ns);

#endif
