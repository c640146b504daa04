/* deadline.h: absolute times on the monotonic clock, in nanoseconds.
 *
 *     uint64_t deadline = cc_deadline_in(5000000);         // 5 ms from now
 *     while (!cc_load_acquire(&done) && cc_parker_park_until(&parker, deadline)) {}
 *
 * Every blocking call `op` has `try_op`, `op_timeout(..., ns)` and `op_until(..., deadline)`; an event's wait is tried
 * by a timeout of 0. A deadline that has passed still tries once. An interrupted wait goes on to the same deadline. No
 * value overflows. */
#ifndef CONCEDE_DEADLINE_H
#define CONCEDE_DEADLINE_H

#include <concede/compiler.h>

CC_BEGIN_DECLS

/* The deadline that never comes. */
#define CC_FOREVER UINT64_MAX

/* Nanoseconds on a clock that never goes back and that no one sets. Any thread; never blocks. */
CC_API uint64_t cc_now_ns(void);

/* The time `ns` from now; CC_FOREVER if that does not fit. Any thread; never blocks. */
CC_INLINE_ uint64_t cc_deadline_in(uint64_t ns)
{
    uint64_t now = cc_now_ns();
    return ns < CC_FOREVER - now ? now + ns : CC_FOREVER;
}

CC_END_DECLS

#endif
