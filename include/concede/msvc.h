/* msvc.h: what arch.h and atomic.h say, for Microsoft's compiler: the machine, its pause and its fence, and the atomic
 * operations, all by intrinsics, because that compiler has neither inline assembly nor the __atomic builtins. Any other
 * compiler finds nothing here; clang has both on Windows too.
 *
 * The intrinsics are declared here by themselves, so that no header of the system comes along. They know no weaker
 * order than acquire and release together, so that every operation is at least as strong as its name says. */
#ifndef CONCEDE_MSVC_H
#define CONCEDE_MSVC_H

#include <concede/compiler.h>

#if defined(CC_COMPILER_MSVC_)

#if defined(__cplusplus)
extern "C" {
#endif
void *memcpy(void *to, const void *from, size_t bytes);
void _ReadWriteBarrier(void);
#if defined(_WIN64)
#define CC_MSVC_DECLARE_64_(intrinsic) long long intrinsic##64(long long volatile *, long long);
#else
#define CC_MSVC_DECLARE_64_(intrinsic) /* none: <windows.h> has functions of these names */
#endif
#define CC_MSVC_DECLARE_(intrinsic)               \
    char intrinsic##8(char volatile *, char);     \
    short intrinsic##16(short volatile *, short); \
    long intrinsic(long volatile *, long);        \
    CC_MSVC_DECLARE_64_(intrinsic)
CC_MSVC_DECLARE_(_InterlockedExchange)
CC_MSVC_DECLARE_(_InterlockedExchangeAdd)
CC_MSVC_DECLARE_(_InterlockedOr)
CC_MSVC_DECLARE_(_InterlockedAnd)
char _InterlockedCompareExchange8(char volatile *, char, char);
short _InterlockedCompareExchange16(short volatile *, short, short);
long _InterlockedCompareExchange(long volatile *, long, long);
long long _InterlockedCompareExchange64(long long volatile *, long long, long long);

/* ---- the machine ---- */

#if defined(_M_X64)
#define CC_ARCH_X86_64 1
#define CC_CACHE_LINE  128
#elif defined(_M_IX86)
#define CC_ARCH_X86   1
#define CC_CACHE_LINE 64
#elif defined(_M_ARM64)
#define CC_ARCH_ARM64 1
#define CC_CACHE_LINE 128
#else
#error "concede knows Microsoft's compiler for x86, x86-64 and ARM64"
#endif

#if defined(_M_ARM64)
#define CC_ARCH_PAUSE_IS_ "isb"
void __isb(unsigned int);
void __dmb(unsigned int);
#define CC_ARCH_PAUSE_() __isb(15) /* sy, the only kind there is */
#define CC_ARCH_FENCE_() __dmb(11) /* ish */
#define CC_MSVC_ORDER_() __dmb(11) /* a plain access orders nothing here */
#else
#define CC_ARCH_PAUSE_IS_ "pause"
void _mm_pause(void);
#define CC_ARCH_PAUSE_()  _mm_pause()
#define CC_ARCH_FENCE_()  cc_msvc_fence_()
#define CC_MSVC_ORDER_()  _ReadWriteBarrier() /* the machine keeps the order of all but a store before a load */

/* A locked operation on the stack takes 3 ns where mfence takes 21 (AMD Zen 4). */
CC_INLINE_ void cc_msvc_fence_(void)
{
    long volatile here = 0;
    (void)_InterlockedOr(&here, 0);
}
#endif
#define CC_ARCH_PREFETCH_WRITE_(p) ((void)(p))

/* ---- the operations, by size; values travel as 64 bits ---- */

#if defined(_WIN64)
#define CC_MSVC_8_BYTES_(intrinsic, result) return (uint64_t)intrinsic##64((long long volatile *)p, (long long)v);
#else
/* There is only one intrinsic for 8 bytes, compare-and-swap, so it goes in a loop. `result` is what `seen` becomes. The
 * first look may be torn, and then the swap fails. */
#define CC_MSVC_8_BYTES_(intrinsic, result)                                                      \
    long long volatile *at = (long long volatile *)p;                                            \
    uint64_t seen = (uint64_t)*at, found;                                                        \
    for (;; seen = found) {                                                                      \
        found = (uint64_t)_InterlockedCompareExchange64(at, (long long)result, (long long)seen); \
        if (found == seen) return seen;                                                          \
    }
#endif

/* Defines a read-modify-write, which returns what was there and leaves `result` there. */
#define CC_MSVC_MODIFY_(name, intrinsic, result)                                      \
    CC_INLINE_ uint64_t cc_msvc_##name##_(size_t size, void volatile *p, uint64_t v)  \
    {                                                                                 \
        if (size == 1) return (uint8_t)intrinsic##8((char volatile *)p, (char)v);     \
        if (size == 2) return (uint16_t)intrinsic##16((short volatile *)p, (short)v); \
        if (size == 4) return (uint32_t)intrinsic((long volatile *)p, (long)v);       \
        CC_MSVC_8_BYTES_(intrinsic, result)                                           \
    }
CC_MSVC_MODIFY_(exchange, _InterlockedExchange, v)
CC_MSVC_MODIFY_(fetch_add, _InterlockedExchangeAdd, (seen + v))
CC_MSVC_MODIFY_(fetch_or, _InterlockedOr, (seen | v))
CC_MSVC_MODIFY_(fetch_and, _InterlockedAnd, (seen & v))

CC_INLINE_ uint64_t cc_msvc_fetch_sub_(size_t size, void volatile *p, uint64_t v)
{
    return cc_msvc_fetch_add_(size, p, 0 - v);
}

/* Stores v at p if `expected` is there; returns what was there. */
CC_INLINE_ uint64_t cc_msvc_compare_(size_t size, void volatile *p, uint64_t expected, uint64_t v)
{
    switch (size) {
    case 1: return (uint8_t)_InterlockedCompareExchange8((char volatile *)p, (char)v, (char)expected);
    case 2: return (uint16_t)_InterlockedCompareExchange16((short volatile *)p, (short)v, (short)expected);
    case 4: return (uint32_t)_InterlockedCompareExchange((long volatile *)p, (long)v, (long)expected);
    default: return (uint64_t)_InterlockedCompareExchange64((long long volatile *)p, (long long)v, (long long)expected);
    }
}

CC_INLINE_ uint64_t cc_msvc_load_(size_t size, const void volatile *p)
{
    uint64_t value;
    switch (size) {
    case 1: value = *(const uint8_t volatile *)p; break;
    case 2: value = *(const uint16_t volatile *)p; break;
    case 4: value = *(const uint32_t volatile *)p; break;
#if defined(_WIN64)
    default: value = *(const uint64_t volatile *)p; break;
#else
    default: value = cc_msvc_compare_(8, (void volatile *)p, 0, 0); break; /* writes back what it found */
#endif
    }
    CC_MSVC_ORDER_();
    return value;
}

CC_INLINE_ void cc_msvc_store_(size_t size, void volatile *p, uint64_t v)
{
    CC_MSVC_ORDER_();
    switch (size) {
    case 1: *(uint8_t volatile *)p = (uint8_t)v; break;
    case 2: *(uint16_t volatile *)p = (uint16_t)v; break;
    case 4: *(uint32_t volatile *)p = (uint32_t)v; break;
#if defined(_WIN64)
    default: *(uint64_t volatile *)p = v; break;
#else
    default: (void)cc_msvc_exchange_(8, p, v); break;
#endif
    }
}

CC_INLINE_ bool cc_msvc_cas_(size_t size, void volatile *p, void *expected, uint64_t v)
{
    uint64_t wanted = 0, found; /* the machine is little-endian: the first bytes of `wanted` are its lowest */
    memcpy(&wanted, expected, size);
    found = cc_msvc_compare_(size, p, wanted, v);
    if (found == wanted) return true;
    memcpy(expected, &found, size);
    return false;
}

#if defined(__cplusplus)
} /* templates follow, which have no C linkage */
#endif

/* ---- the same, for a type; see atomic.h ---- */

#define cc_atomic_copy_(to, from, bytes)     ((void)memcpy((to), (from), (bytes)))
#define cc_atomic_fence_full_()              CC_ARCH_FENCE_()
#define cc_atomic_cas_(p, e, v, weak, order) cc_msvc_cas_(sizeof *(p), (p), (e), (uint64_t)(v))
#define cc_atomic_store_(p, v, order)        cc_msvc_store_(sizeof *(p), (p), (uint64_t)(v))

#if defined(__cplusplus)
template <class T> inline T cc_msvc_load_of_(const volatile T *p)
{
    return (T)cc_msvc_load_(sizeof *p, p);
}

template <class T>
inline T cc_msvc_modify_of_(uint64_t (*modify)(size_t, void volatile *, uint64_t), volatile T *p, uint64_t v)
{
    return (T)modify(sizeof *p, p, v);
}
#define cc_atomic_load_(p, order)         cc_msvc_load_of_(p)
#define cc_atomic_exchange_(p, v, order)  cc_msvc_modify_of_(cc_msvc_exchange_, (p), (uint64_t)(v))
#define cc_atomic_fetch_(op, p, v, order) cc_msvc_modify_of_(cc_msvc_fetch_##op##_, (p), (uint64_t)(v))
#else
/* Converts a value to the type that p points to: an integer, else a pointer. */
#define CC_MSVC_AS_(p, value)                         \
    _Generic(*(p), bool                               \
             : (bool)(value), char                    \
             : (char)(value), signed char             \
             : (signed char)(value), unsigned char    \
             : (unsigned char)(value), short          \
             : (short)(value), unsigned short         \
             : (unsigned short)(value), int           \
             : (int)(value), unsigned int             \
             : (unsigned int)(value), long            \
             : (long)(value), unsigned long           \
             : (unsigned long)(value), long long      \
             : (long long)(value), unsigned long long \
             : (unsigned long long)(value), default   \
             : (void *)(uintptr_t)(value))
#define cc_atomic_load_(p, order)         CC_MSVC_AS_(p, cc_msvc_load_(sizeof *(p), (p)))
#define cc_atomic_exchange_(p, v, order)  CC_MSVC_AS_(p, cc_msvc_exchange_(sizeof *(p), (p), (uint64_t)(v)))
#define cc_atomic_fetch_(op, p, v, order) CC_MSVC_AS_(p, cc_msvc_fetch_##op##_(sizeof *(p), (p), (uint64_t)(v)))
#endif

#endif
#endif
