/* model_atomic.h: what include/concede/atomic.h becomes in the simulator: every access is a call into core.c, which
 * takes virtual time for it. The model checker has one of its own (tests/model); CC_MODEL and the include path choose.
 * Memory orders do not matter here: every access takes effect in one order that all threads see. */
#ifndef CONCEDE_SIM_MODEL_ATOMIC_H
#define CONCEDE_SIM_MODEL_ATOMIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SIM_OP_add, SIM_OP_sub, SIM_OP_or, SIM_OP_and };

#define cc_atomic_load_(p, order) __extension__({ (__typeof__(*(p)))(uintptr_t)sim_load_((p), sizeof *(p)); })

#define cc_atomic_store_(p, v, order) sim_store_((p), sizeof *(p), (uint64_t)(uintptr_t)(v))

#define cc_atomic_exchange_(p, v, order) \
    __extension__({ (__typeof__(*(p)))(uintptr_t)sim_exchange_((p), sizeof *(p), (uint64_t)(uintptr_t)(v)); })

#define cc_atomic_cas_(p, e, v, weak, order) \
    __extension__({ sim_cas_((p), sizeof *(p), (e), (uint64_t)(uintptr_t)(v)); })

#define cc_atomic_fetch_(op, p, v, order) \
    __extension__({ (__typeof__(*(p)))(uintptr_t)sim_fetch_(SIM_OP_##op, (p), sizeof *(p), (uint64_t)(uintptr_t)(v)); })

#define cc_atomic_fence_full_() sim_fence_()

#define cc_atomic_copy_(to, from, bytes) ((void)sim_copy_((to), (from), (bytes)))

/* arch.h stands before this in atomic.h. */
#undef CC_ARCH_PREFETCH_WRITE_
#define CC_ARCH_PREFETCH_WRITE_(p) sim_prefetch_(p)

void sim_prefetch_(const void *p);
uint64_t sim_load_(const void *p, size_t size);
void sim_store_(void *p, size_t size, uint64_t value);
uint64_t sim_exchange_(void *p, size_t size, uint64_t value);
bool sim_cas_(void *p, size_t size, void *expected, uint64_t value);
uint64_t sim_fetch_(int op, void *p, size_t size, uint64_t value);
void sim_fence_(void);
void *sim_copy_(void *to, const void *from, size_t bytes);
void model_pause_(void);      /* the name that pause.h calls */
uint32_t model_random_(void); /* the name that backoff.c calls */
bool model_shares_cpu_(void); /* the name that snooze.c calls */

#endif
