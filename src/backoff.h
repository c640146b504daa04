/* backoff.h: what the layers above ask of the backoff, besides the public header. */
#ifndef CONCEDE_SRC_BACKOFF_H
#define CONCEDE_SRC_BACKOFF_H

#include <concede/backoff.h>

/* A start for cc_backoff_jitter(): a number that differs between threads, and from call to call within one, so that no
 * two waits repeat the same series. It takes 3 ns (AMD EPYC under KVM) and no system call. Any thread. */
uint32_t cc_backoff_seed_(void);

/* Stays away from a line that many threads want, for about `ns` nanoseconds but not past the deadline. A long while is
 * a sleep that only time ends: the CPU is free for others, and nobody has to wake this thread. */
void cc_backoff_stay_away_(uint64_t ns, uint64_t deadline);

#endif
