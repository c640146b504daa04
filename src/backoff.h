/* backoff.h: what the layers above ask of the backoff, besides the public header. */
#ifndef CONCEDE_SRC_BACKOFF_H
#define CONCEDE_SRC_BACKOFF_H

#include <concede/backoff.h>

/* A start for cc_backoff_jitter(): a number that differs between threads, and from call to call within one, so that no
 * two waits repeat the same series. 3 ns (AMD EPYC under KVM) and no system call. Any thread. */
uint32_t cc_backoff_seed_(void);

#endif
