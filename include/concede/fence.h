/* fence.h: who pays for "I changed it" against "is anyone asleep?".
 *
 * One thread changes something and then looks whether anybody waits for it. Another announces that it waits and then
 * looks whether it has changed. If either looks before its own write is visible, both miss each other, and the second
 * sleeps for ever. A full fence on both sides, between the write and the look, closes the race. But the first thread
 * does this after every message, and the second only before it sleeps; so where the system can make every thread pass a
 * fence (membarrier on Linux), the sleeper asks for that, and the other side pays for nothing but a compiler barrier.
 *
 *     changing                                     waiting
 *     write;                                       announce;
 *     cc_fence_light_();                           cc_fence_heavy_();
 *     if (anybody announced) wake;                 if (not written) sleep;
 *
 * doc/memory-model.md, [fence.sides]. */
#ifndef CONCEDE_FENCE_H
#define CONCEDE_FENCE_H

#include <concede/atomic.h>

CC_BEGIN_DECLS

/* mode        says                                              the light side     the heavy side
 * UNKNOWN     nobody has asked the system yet                   takes a full one   asks; moves on to one of the two
 * ASYMMETRIC  the system makes every thread pass a full fence   takes none         asks the system for it
 * SYMMETRIC   the system cannot do that                         takes a full one   takes a full one
 * LOST        the system did it, and has just refused           takes a full one   waits a while; moves on to SYMMETRIC
 */
enum { CC_FENCE_UNKNOWN_ = 0, CC_FENCE_ASYMMETRIC_ = 1, CC_FENCE_SYMMETRIC_ = 2, CC_FENCE_LOST_ = 3 };
CC_API extern uint32_t cc_fence_mode_;

/* The side of the thread that changes something: between its write and its look at who waits. Never blocks. */
CC_INLINE_ void cc_fence_light_(void)
{
    CC_COMPILER_BARRIER_();
    if (CC_UNLIKELY_(cc_load_relaxed(&cc_fence_mode_) != CC_FENCE_ASYMMETRIC_)) /* relaxed: any answer is safe */
        cc_fence_full(); /* [fence.sides] pairs with cc_fence_heavy_() */
}

/* The side of the thread that waits: between its announcement and its look at what it waits for. It may call the
 * system. */
CC_API void cc_fence_heavy_(void);

CC_END_DECLS

#endif
