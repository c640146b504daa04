/* atomic.h: atomic operations on plain integers and pointers, with the memory order in the name.
 *
 *     uint32_t word = 0;
 *     cc_store_release(&word, 1);
 *     while (cc_load_acquire(&word) != 1) cc_pause();
 *
 * They are macros, so that one name serves every integer width and pointers, in C and in C++. Each evaluates its
 * arguments once. None blocks; any thread may use any of them on the same object at the same time, as long as all
 * accesses to one object have one size. This is the only file with __atomic builtins: with CC_MODEL defined, every
 * access goes to a model checker instead, which decides what it reads (tests/model).
 *
 *   load     cc_load_relaxed(p)  cc_load_acquire(p)
 *   store    cc_store_relaxed(p, v)  cc_store_release(p, v)
 *   exchange cc_exchange_{relaxed,acquire,release,acq_rel}(p, v)                      -> the old value
 *   swap     cc_cas_{relaxed,acquire,release,acq_rel}(p, &expected, v), compare-and-swap  -> bool; on failure *p is
 *            and cc_cas_weak_...: may fail for no reason; for loops                   read, relaxed, into expected
 *   modify   cc_fetch_add_{relaxed,acquire,release,acq_rel}(p, v), cc_fetch_sub_..., cc_fetch_or_..., cc_fetch_and_...
 *   fence    cc_fence_full()    orders everything before it against everything after it: also a store against a load */
#ifndef CONCEDE_ATOMIC_H
#define CONCEDE_ATOMIC_H

#include <concede/arch.h>

#if defined(CC_MODEL)
#include "model_atomic.h"
#elif !defined(CC_COMPILER_MSVC_) /* that compiler's operations are in msvc.h */
/* Copies to or from memory that other threads use, too; atomic operations before and after it keep them apart. */
#define cc_atomic_copy_(to, from, bytes) ((void)__builtin_memcpy((to), (from), (bytes)))
#define cc_atomic_load_(p, order)        __atomic_load_n((p), __ATOMIC_##order)
#define cc_atomic_store_(p, v, order)    __atomic_store_n((p), (v), __ATOMIC_##order)
#define cc_atomic_exchange_(p, v, order) __atomic_exchange_n((p), (v), __ATOMIC_##order)
#define cc_atomic_cas_(p, e, v, weak, order) \
    __atomic_compare_exchange_n((p), (e), (v), weak, __ATOMIC_##order, __ATOMIC_RELAXED)
#define cc_atomic_fetch_(op, p, v, order) __atomic_fetch_##op((p), (v), __ATOMIC_##order)
#if defined(CC_ARCH_SEQUENCE_STORE_)
#define cc_atomic_sequence_store_(p, e, v, area, now, failed) CC_ARCH_SEQUENCE_STORE_(p, e, v, area, now, failed)
#endif
#if defined(CC_ARCH_FENCE_)
#define cc_atomic_fence_full_() CC_ARCH_FENCE_()
#else
#define cc_atomic_fence_full_() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#endif
#endif

#define cc_load_relaxed(p) cc_atomic_load_(p, RELAXED)
#define cc_load_acquire(p) cc_atomic_load_(p, ACQUIRE)

#define cc_store_relaxed(p, v) cc_atomic_store_(p, v, RELAXED)
#define cc_store_release(p, v) cc_atomic_store_(p, v, RELEASE)

#define cc_exchange_relaxed(p, v) cc_atomic_exchange_(p, v, RELAXED)
#define cc_exchange_acquire(p, v) cc_atomic_exchange_(p, v, ACQUIRE)
#define cc_exchange_release(p, v) cc_atomic_exchange_(p, v, RELEASE)
#define cc_exchange_acq_rel(p, v) cc_atomic_exchange_(p, v, ACQ_REL)

#define cc_cas_relaxed(p, e, v) cc_atomic_cas_(p, e, v, false, RELAXED)
#define cc_cas_acquire(p, e, v) cc_atomic_cas_(p, e, v, false, ACQUIRE)
#define cc_cas_release(p, e, v) cc_atomic_cas_(p, e, v, false, RELEASE)
#define cc_cas_acq_rel(p, e, v) cc_atomic_cas_(p, e, v, false, ACQ_REL)

#define cc_cas_weak_relaxed(p, e, v) cc_atomic_cas_(p, e, v, true, RELAXED)
#define cc_cas_weak_acquire(p, e, v) cc_atomic_cas_(p, e, v, true, ACQUIRE)
#define cc_cas_weak_release(p, e, v) cc_atomic_cas_(p, e, v, true, RELEASE)
#define cc_cas_weak_acq_rel(p, e, v) cc_atomic_cas_(p, e, v, true, ACQ_REL)

#define cc_fetch_add_relaxed(p, v) cc_atomic_fetch_(add, p, v, RELAXED)
#define cc_fetch_add_acquire(p, v) cc_atomic_fetch_(add, p, v, ACQUIRE)
#define cc_fetch_add_release(p, v) cc_atomic_fetch_(add, p, v, RELEASE)
#define cc_fetch_add_acq_rel(p, v) cc_atomic_fetch_(add, p, v, ACQ_REL)
#define cc_fetch_sub_relaxed(p, v) cc_atomic_fetch_(sub, p, v, RELAXED)
#define cc_fetch_sub_acquire(p, v) cc_atomic_fetch_(sub, p, v, ACQUIRE)
#define cc_fetch_sub_release(p, v) cc_atomic_fetch_(sub, p, v, RELEASE)
#define cc_fetch_sub_acq_rel(p, v) cc_atomic_fetch_(sub, p, v, ACQ_REL)
#define cc_fetch_or_relaxed(p, v)  cc_atomic_fetch_(or, p, v, RELAXED)
#define cc_fetch_or_acquire(p, v)  cc_atomic_fetch_(or, p, v, ACQUIRE)
#define cc_fetch_or_release(p, v)  cc_atomic_fetch_(or, p, v, RELEASE)
#define cc_fetch_or_acq_rel(p, v)  cc_atomic_fetch_(or, p, v, ACQ_REL)
#define cc_fetch_and_relaxed(p, v) cc_atomic_fetch_(and, p, v, RELAXED)
#define cc_fetch_and_acquire(p, v) cc_atomic_fetch_(and, p, v, ACQUIRE)
#define cc_fetch_and_release(p, v) cc_atomic_fetch_(and, p, v, RELEASE)
#define cc_fetch_and_acq_rel(p, v) cc_atomic_fetch_(and, p, v, ACQ_REL)

#define cc_fence_full() cc_atomic_fence_full_()

#endif
