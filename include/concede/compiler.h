/* compiler.h: what differs between compilers and between C and C++, and nothing else.
 *
 * Every other header starts with it, and no other file asks which compiler this is. */
#ifndef CONCEDE_COMPILER_H
#define CONCEDE_COMPILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if !defined(__GNUC__)
#error "concede needs the __atomic builtins and inline assembly of gcc or clang"
#endif

/* -Wshadow minds a parameter that has the name of a global of the user's and, in C++, a function that has the name of
 * the struct it works on. Neither can be helped from here. */
#define CC_MAY_SHADOW_BEGIN_ _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wshadow\"")
#define CC_MAY_SHADOW_END_   _Pragma("GCC diagnostic pop")

#if defined(__cplusplus)
#define CC_BEGIN_DECLS \
    extern "C" {       \
    CC_MAY_SHADOW_BEGIN_
#define CC_END_DECLS   \
    CC_MAY_SHADOW_END_ \
    }
#define CC_STATIC_ASSERT_(condition, text) static_assert(condition, text)
#else
#define CC_BEGIN_DECLS                     CC_MAY_SHADOW_BEGIN_
#define CC_END_DECLS                       CC_MAY_SHADOW_END_
#define CC_STATIC_ASSERT_(condition, text) _Static_assert(condition, text)
#endif

/* CC_API: exported from the shared library. CC_COLD_: a slow path; kept out of line and away from the hot code. */
#if defined(_WIN32) && defined(CC_SHARED) && defined(CC_BUILDING)
#define CC_API __declspec(dllexport)
#elif defined(_WIN32) && defined(CC_SHARED)
#define CC_API __declspec(dllimport)
#elif defined(_WIN32)
#define CC_API
#else
#define CC_API __attribute__((visibility("default")))
#endif
#if defined(__ELF__)
#define CC_WEAK_ __attribute__((weak)) /* a reference that may lead nowhere: its address is NULL then */
#else
#define CC_WEAK_
#endif
#define CC_COLD_        __attribute__((noinline, cold))
#define CC_INLINE_      static inline __attribute__((unused))
#define CC_TEMPLATE_    static inline __attribute__((always_inline, unused)) /* called with constants */
#define CC_FLAT_        __attribute__((always_inline)) /* a call would force its arguments into memory */
#define CC_LIKELY_(x)   __builtin_expect(!!(x), 1)
#define CC_UNLIKELY_(x) __builtin_expect(!!(x), 0)
#define CC_ALIGNED_(n)  __attribute__((aligned(n)))

/* Keeps the compiler, and only the compiler, from moving memory accesses across it. */
#define CC_COMPILER_BARRIER_() __asm__ __volatile__("" ::: "memory")

#endif
