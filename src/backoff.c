/* backoff.c: the seed of random backoffs, and how long ones wait. */
#include "backoff.h"

#include <concede/atomic.h>

#include "os.h"

/* A sleep that a timer ends takes 13 us of CPU time, however short it is, and lasts 65 us longer than was asked for
 * (futex waits of 4 to 64 us on AMD Zen 4 under KVM). So a shorter one would save nothing. */
enum { NAP_FROM_NS = 16000 };

void cc_backoff_stay_away_(uint64_t ns, uint64_t deadline)
{
    const uint32_t nobody_wakes_it = 0;
    if (ns < NAP_FROM_NS) {
        cc_backoff_pause_(cc_backoff_pauses_(ns));
    } else {
        uint64_t until = cc_deadline_in(ns);
        (void)cc_os_wait_(&nobody_wakes_it, 0, until < deadline ? until : deadline);
    }
}

#if defined(CC_MODEL)
/* A checker runs the same program again and again, so that nothing in it may depend on what came before; a simulator
 * has threads in virtual time only, which must differ from each other. Each has its own source. */
uint32_t cc_backoff_seed_(void)
{
    return model_random_();
}
#else
/* Each thread has a series of its own and draws its seeds from it. The series starts from its address, which no two
 * threads share; 2654435761 is 2^32 divided by the golden ratio, which spreads addresses that differ in a few bits. */
static _Thread_local uint32_t series_;

uint32_t cc_backoff_seed_(void)
{
    if (series_ == 0) series_ = (uint32_t)((uintptr_t)&series_ >> 4) * UINT32_C(2654435761);
    return cc_backoff_random_(&series_);
}
#endif
