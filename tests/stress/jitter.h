/* jitter.h: atomic.h with a random delay before every atomic access, so that threads meet in the steps between two
 * accesses that they would never meet in otherwise. Forced in (-include) before the library's sources and the test's
 * own.
 *
 * With STRESS_NO_FENCE instead, the barrier of [lock.store] and the full fences of both sides of [event.announce] are
 * gone, membarrier included: the stress tests must notice. Without delays: a store that lingers in the CPU would be
 * visible by the end of them. */
#ifndef CONCEDE_TESTS_JITTER_H
#define CONCEDE_TESTS_JITTER_H

/* A release by a plain store takes its time, too: some 300 ns. */
#if defined(__x86_64__)
#define CC_ARCH_SEQUENCE_DELAY_ "movl $10, %%eax\n6:\n\tpause\n\tdecl %%eax\n\tjnz 6b\n\t"
#elif defined(__aarch64__)
#define CC_ARCH_SEQUENCE_DELAY_ "mov w17, #10\n6:\n\tisb\n\tsubs w17, w17, #1\n\tb.ne 6b\n\t"
#endif

#include <concede/atomic.h>
#include <concede/pause.h>

#if defined(STRESS_NO_FENCE)

#undef cc_atomic_fence_full_
#define cc_atomic_fence_full_() CC_COMPILER_BARRIER_()
#define cc_os_membarrier_       stress_no_membarrier
#define cc_os_sequence_barrier_ stress_no_membarrier

#else

CC_BEGIN_DECLS

/* Mostly nothing, often a few pauses, at times a yield; from a sequence of each thread's own (stress.h seeds it). */
extern __thread uint64_t stress_random_state;
void stress_yield(void);

CC_INLINE_ void stress_delay(void)
{
    uint64_t x = stress_random_state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    stress_random_state = x;
    if (CC_LIKELY_((x & 7) != 0)) return;
    for (uint64_t pauses = x >> 8 & 15; pauses > 0; pauses--) cc_pause();
    if (CC_UNLIKELY_((x >> 16 & 0xff) == 0)) stress_yield();
}

CC_END_DECLS

#undef cc_atomic_load_
#undef cc_atomic_store_
#undef cc_atomic_exchange_
#undef cc_atomic_cas_
#undef cc_atomic_fetch_
#define cc_atomic_load_(p, order)        (stress_delay(), __atomic_load_n((p), __ATOMIC_##order))
#define cc_atomic_store_(p, v, order)    (stress_delay(), __atomic_store_n((p), (v), __ATOMIC_##order))
#define cc_atomic_exchange_(p, v, order) (stress_delay(), __atomic_exchange_n((p), (v), __ATOMIC_##order))
#define cc_atomic_cas_(p, e, v, weak, order) \
    (stress_delay(), __atomic_compare_exchange_n((p), (e), (v), weak, __ATOMIC_##order, __ATOMIC_RELAXED))
#define cc_atomic_fetch_(op, p, v, order) (stress_delay(), __atomic_fetch_##op((p), (v), __ATOMIC_##order))

#endif

#endif
