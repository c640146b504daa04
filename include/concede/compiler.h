/* compiler.h: what differs between compilers and between C and C++, and nothing else.
 *
 * Every other header starts with it, and no other file asks which compiler this is.
 *
 *   CC_COLD_                 a slow path; kept out of line and away from the hot code
 *   CC_NOINLINE_             kept out of line, though it is not cold
 *   CC_CONSTRUCTOR_          runs when the library is loaded, where the compiler can say so
 *   CC_INLINE_               every inline function; src/symbols.c makes symbols of them
 *   CC_TEMPLATE_             a function that is called with constants, and compiled anew for each
 *   CC_FLAT_                 after CC_INLINE_: really inline, because a call would force its arguments into memory
 *   CC_COMPILER_BARRIER_()   keeps the compiler, and only the compiler, from moving memory accesses across it
 *   CC_THREAD_SANITIZER_     defined if ThreadSanitizer watches, which sees no store that is made in assembler
 *   CC_API                   exported from the shared library
 *   CC_MUST_USE_             before these: the compiler warns a caller who ignores the result
 *   CC_IGNORE_(call)         ignores such a result: where gcc knows no [[nodiscard]], it warns of a cast to void, too
 *   CC_CAPABILITY_(name)     a class that clang's -Wthread-safety looks after, and what its functions do with it:
 *                            CC_ACQUIRES_, CC_TRIES_TO_ACQUIRE_, CC_RELEASES_
 *   CC_WEAK_                 a reference that need not be defined: its address is NULL then
 *   CC_TSAN_                 1 if the code tells ThreadSanitizer what it does, else 0; see tsan.h. A build in which
 *                            ThreadSanitizer sees the library itself, too, defines it as 0 */
#ifndef CONCEDE_COMPILER_H
#define CONCEDE_COMPILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CC_MAY_SHADOW_...: -Wshadow warns of a parameter that has the name of a global of the user's and, in C++, of a
 * function that has the name of the struct it works on. Neither can be avoided from here. */
#if defined(__GNUC__) || defined(__clang__)
#define CC_MAY_SHADOW_BEGIN_   _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wshadow\"")
#define CC_MAY_SHADOW_END_     _Pragma("GCC diagnostic pop")
#define CC_COLD_               __attribute__((noinline, cold))
#define CC_NOINLINE_           __attribute__((noinline))
#define CC_CONSTRUCTOR_        __attribute__((constructor))
#define CC_INLINE_             static inline __attribute__((unused))
#define CC_TEMPLATE_           static inline __attribute__((always_inline, unused))
#define CC_FLAT_               __attribute__((always_inline))
#define CC_LIKELY_(x)          __builtin_expect(!!(x), 1)
#define CC_UNLIKELY_(x)        __builtin_expect(!!(x), 0)
#define CC_ALIGNED_(n)         __attribute__((aligned(n)))
#define CC_COMPILER_BARRIER_() __asm__ __volatile__("" ::: "memory")
#elif defined(_MSC_VER) /* enough for arch.h, pause.h, atomic.h and backoff.h; the rest needs gcc or clang */
#define CC_COMPILER_MSVC_    1
#define CC_MAY_SHADOW_BEGIN_ __pragma(warning(push)) __pragma(warning(disable : 4457 4458 4459))
#define CC_MAY_SHADOW_END_   __pragma(warning(pop))
#define CC_COLD_             __declspec(noinline)
#define CC_NOINLINE_         __declspec(noinline)
#define CC_INLINE_           static inline
#define CC_TEMPLATE_         static __forceinline
#define CC_FLAT_
#define CC_LIKELY_(x)          (!!(x))
#define CC_UNLIKELY_(x)        (!!(x))
#define CC_ALIGNED_(n)         __declspec(align(n))
#define CC_COMPILER_BARRIER_() _ReadWriteBarrier()
#else
#error "concede knows gcc and clang, and Microsoft's compiler in part"
#endif

#if defined(CC_MODEL) /* a model checker's system is not there yet when a program is loaded */
#undef CC_CONSTRUCTOR_
#define CC_CONSTRUCTOR_
#endif

#if defined(__SANITIZE_THREAD__)
#define CC_THREAD_SANITIZER_ 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CC_THREAD_SANITIZER_ 1
#endif
#endif

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

#if defined(_WIN32) && defined(CC_SHARED) && defined(CC_BUILDING)
#define CC_API __declspec(dllexport)
#elif defined(_WIN32) && defined(CC_SHARED)
#define CC_API __declspec(dllimport)
#elif defined(_WIN32)
#define CC_API
#else
#define CC_API __attribute__((visibility("default")))
#endif

#if defined(__cplusplus) && __cplusplus >= 201703L || defined(__STDC_VERSION__) && __STDC_VERSION__ >= 202000L
#define CC_MUST_USE_ [[nodiscard]]
#elif defined(__GNUC__) || defined(__clang__)
#define CC_MUST_USE_ __attribute__((warn_unused_result))
#else
#define CC_MUST_USE_
#endif
#define CC_IGNORE_(call) ((void)!(call))

/* clang does not look into the functions themselves: it would look for a capability in what they call, and the C
 * functions have none. */
#if defined(__clang__)
#define CC_CAPABILITY_(name) __attribute__((capability(name)))
#define CC_ACQUIRES_         __attribute__((acquire_capability(), no_thread_safety_analysis))
#define CC_TRIES_TO_ACQUIRE_ __attribute__((try_acquire_capability(true), no_thread_safety_analysis))
#define CC_RELEASES_         __attribute__((release_capability(), no_thread_safety_analysis))
#else
#define CC_CAPABILITY_(name)
#define CC_ACQUIRES_
#define CC_TRIES_TO_ACQUIRE_
#define CC_RELEASES_
#endif

#if !defined(CC_TSAN_) && defined(CC_THREAD_SANITIZER_)
#define CC_TSAN_ 1
#endif
#if !defined(CC_TSAN_)
#define CC_TSAN_ 0
#endif

#if defined(__ELF__)
#define CC_WEAK_ __attribute__((weak))
#else
#define CC_WEAK_
#endif

#endif
