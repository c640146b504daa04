/* costs.h: what the sleeping layers tell costs.c. */
#ifndef CONCEDE_SRC_COSTS_H
#define CONCEDE_SRC_COSTS_H

#include <concede/costs.h>

/* A wake-up took this long to arrive: refines cc_costs()->wake_ns unless cc_costs_set() fixed it. Any thread. */
void cc_costs_woken_(uint64_t ns);

#endif
