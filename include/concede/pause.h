/* pause.h: one instruction that says "I am spinning".
 *
 *     while (!cc_load_acquire(&ready)) cc_pause();
 *
 * It takes 4 to 60 ns on CPUs in use today, saves power, leaves the core to its sibling, and keeps the compiler from
 * deleting or hoisting the loop around it. A loop of nothing but this never gives the CPU away: to wait for another
 * thread, use cc_backoff_snooze() or something that can sleep.
 *
 * Which instruction it is on each machine, and why, stands in arch.h; where there is none it is a compiler barrier. */
#ifndef CONCEDE_PAUSE_H
#define CONCEDE_PAUSE_H

#include <concede/atomic.h>

CC_BEGIN_DECLS

/* Whether the CPU has `sb` (ARM64). The library sets it before it measures or waits for the first time. The reference
 * is weak, so that a program that takes nothing but headers links without the library; its pause is always `isb`. */
CC_API CC_WEAK_ extern uint32_t cc_pause_sb_;

/* One spin-wait hint. Never blocks, orders nothing between CPUs; any thread, also a signal handler. */
CC_INLINE_ void cc_pause(void)
{
#if defined(CC_MODEL)
    model_pause_();
#elif defined(CC_ARCH_PAUSE_SB_)
    if (&cc_pause_sb_ != NULL && cc_load_relaxed(&cc_pause_sb_)) /* relaxed: either hint will do */
        CC_ARCH_PAUSE_SB_();
    else
        CC_ARCH_PAUSE_();
#else
    CC_ARCH_PAUSE_();
#endif
}

CC_END_DECLS

#endif
