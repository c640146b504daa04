/* kill.h: atomic.h with a process that kills itself before the n-th atomic access, or in the middle of the n-th copy of
 * a message: the steps between which anything that another process sees can happen. Forced in (-include) before the
 * library's sources and the test's own. */
#ifndef CONCEDE_TESTS_KILL_H
#define CONCEDE_TESTS_KILL_H

#include <concede/atomic.h>

#define CC_SHARED_PARTICIPANTS 6 /* few, so that the numbers of the dead are used again soon */

CC_BEGIN_DECLS

extern long kill_in; /* accesses until death; 0: never */
void kill_now(void);

CC_INLINE_ void kill_step(void)
{
    if (CC_UNLIKELY_(kill_in != 0) && --kill_in == 0) kill_now();
}

CC_INLINE_ void kill_copy(void *to, const void *from, size_t bytes)
{
    __builtin_memcpy(to, from, bytes / 2);
    kill_step();
    __builtin_memcpy((char *)to + bytes / 2, (const char *)from + bytes / 2, bytes - bytes / 2);
}

CC_END_DECLS

#undef cc_atomic_copy_
#undef cc_atomic_load_
#undef cc_atomic_store_
#undef cc_atomic_exchange_
#undef cc_atomic_cas_
#undef cc_atomic_fetch_
#define cc_atomic_copy_(to, from, bytes) kill_copy((to), (from), (bytes))
#define cc_atomic_load_(p, order)        (kill_step(), __atomic_load_n((p), __ATOMIC_##order))
#define cc_atomic_store_(p, v, order)    (kill_step(), __atomic_store_n((p), (v), __ATOMIC_##order))
#define cc_atomic_exchange_(p, v, order) (kill_step(), __atomic_exchange_n((p), (v), __ATOMIC_##order))
#define cc_atomic_cas_(p, e, v, weak, order) \
    (kill_step(), __atomic_compare_exchange_n((p), (e), (v), weak, __ATOMIC_##order, __ATOMIC_RELAXED))
#define cc_atomic_fetch_(op, p, v, order) (kill_step(), __atomic_fetch_##op((p), (v), __ATOMIC_##order))

#endif
