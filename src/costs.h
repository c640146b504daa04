/* costs.h: what the layers above ask and tell costs.c, besides the public header. */
#ifndef CONCEDE_SRC_COSTS_H
#define CONCEDE_SRC_COSTS_H

#include <concede/costs.h>

/* Whether cc_costs() would return at once: the first call measures, and calls the system for that. Any thread. */
bool cc_costs_are_known_(void);

/* A wake-up took this long to arrive: refines cc_costs()->wake_ns unless cc_costs_set() fixed it. Any thread. */
void cc_costs_woken_(uint64_t ns);

#endif
