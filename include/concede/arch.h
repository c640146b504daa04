/* arch.h: what machine this is. The only file that asks.
 *
 *   CC_ARCH_*          exactly one is defined
 *   CC_CACHE_LINE      bytes that keep two words from false sharing
 *   CC_LINE_BYTES_     bytes that a cache fetches as one on nearly every CPU: what a layout is rounded to
 *   CC_ARCH_PAUSE_()   the spin-wait hint; see pause.h
 *   CC_ARCH_PAUSE_SB_()          a better hint that only some CPUs of this kind have; pause.h asks first
 *   CC_ARCH_FENCE_()   a full fence, where ours is better than the compiler's; see atomic.h
 *   CC_ARCH_PREFETCH_WRITE_(p)   "I am about to write there": fetches the line for writing; any address, never a fault
 *
 * CC_CACHE_LINE is 128 where the hardware fetches lines in pairs (x86-64) or has lines of that size (ARM64 servers and
 * Apple's, POWER64), 256 on s390x, else 64. */
#ifndef CONCEDE_ARCH_H
#define CONCEDE_ARCH_H

#include <concede/compiler.h>

#if defined(CC_COMPILER_MSVC_)
#include <concede/msvc.h>

#elif defined(__x86_64__)
#define CC_ARCH_X86_64             1
#define CC_CACHE_LINE              128
#define CC_ARCH_PAUSE_()           __asm__ __volatile__("pause" ::: "memory")
/* A locked no-op on the stack, just below the pointer so that no return address depends on it: about 3 ns where mfence
 * takes 21 (AMD Zen 4), and all that store-load order on write-back memory needs. */
#define CC_ARCH_FENCE_()           __asm__ __volatile__("lock; orl $0,-4(%%rsp)" ::: "memory", "cc")
/* By name, because compilers use it only if told that the CPU has it; every x86-64 at least ignores it. */
#define CC_ARCH_PREFETCH_WRITE_(p) __asm__ __volatile__("prefetchw %0" ::"m"(*(const char *)(p)))

#elif defined(__i386__)
#define CC_ARCH_X86      1
#define CC_CACHE_LINE    64
#define CC_ARCH_PAUSE_() __asm__ __volatile__("pause" ::: "memory")
#define CC_ARCH_FENCE_() __asm__ __volatile__("lock; orl $0,-4(%%esp)" ::: "memory", "cc")

#elif defined(__aarch64__)
#define CC_ARCH_ARM64 1
#define CC_CACHE_LINE 128
/* `yield` retires as a no-op on most cores; `isb` empties the pipeline and really waits. `sb` only holds up what
 * follows it (0.58 of isb's time on a Graviton4: jemalloc's pull request 2843), but not every core has it. It stands
 * here as its encoding, which every assembler takes. */
#if defined(CC_PAUSE_ARM64_YIELD)
#define CC_ARCH_PAUSE_() __asm__ __volatile__("yield" ::: "memory")
#else
#define CC_ARCH_PAUSE_() __asm__ __volatile__("isb" ::: "memory")
#if !defined(CC_FREESTANDING) && defined(__ELF__) /* there is a library to ask, and a weak reference to reach it by */
#define CC_ARCH_PAUSE_SB_() __asm__ __volatile__(".inst 0xd50330ff" ::: "memory")
#endif
#endif
#define CC_ARCH_FENCE_() __asm__ __volatile__("dmb ish" ::: "memory")

#elif defined(__arm__)
#define CC_ARCH_ARM   1
#define CC_CACHE_LINE 64
#if __ARM_ARCH >= 7
#define CC_ARCH_PAUSE_() __asm__ __volatile__("yield" ::: "memory")
#else
#define CC_ARCH_PAUSE_() CC_COMPILER_BARRIER_()
#endif

#elif defined(__riscv)
#define CC_ARCH_RISCV    1
#define CC_CACHE_LINE    64
/* `pause` of Zihintpause, as its encoding: a fence that orders nothing, so a core without the extension ignores it. */
#define CC_ARCH_PAUSE_() __asm__ __volatile__(".4byte 0x0100000f" ::: "memory")

#elif defined(__powerpc__) || defined(__powerpc64__) || defined(__PPC__)
#define CC_ARCH_POWER 1
#if defined(__powerpc64__)
#define CC_CACHE_LINE 128
#else
#define CC_CACHE_LINE 64
#endif
/* Low thread priority, then medium again: the siblings of this core run meanwhile. */
#define CC_ARCH_PAUSE_() __asm__ __volatile__("or 1,1,1; or 2,2,2" ::: "memory")

#elif defined(__s390x__)
#define CC_ARCH_S390X    1
#define CC_CACHE_LINE    256
#define CC_ARCH_PAUSE_() CC_COMPILER_BARRIER_()

#else
#define CC_ARCH_OTHER    1
#define CC_CACHE_LINE    64
#define CC_ARCH_PAUSE_() CC_COMPILER_BARRIER_()
#endif

#define CC_LINE_BYTES_ ((size_t)64)

#if !defined(CC_ARCH_PREFETCH_WRITE_)
#define CC_ARCH_PREFETCH_WRITE_(p) __builtin_prefetch((p), 1)
#endif

#endif
