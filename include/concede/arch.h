/* arch.h: what machine this is. The only file that asks.
 *
 *   CC_ARCH_*          exactly one is defined
 *   CC_CACHE_LINE      bytes that keep two words from false sharing
 *   CC_LINE_BYTES_     bytes that a cache fetches as one on nearly every CPU: what a layout is rounded to
 *   CC_ARCH_PAUSE_()   the spin-wait hint; see pause.h
 *   CC_ARCH_PAUSE_IS_  what that hint is, as `concede info` shows it
 *   CC_ARCH_PAUSE_SB_()          a better hint that only some CPUs of this kind have; pause.h asks first
 *   CC_ARCH_FENCE_()   a full fence, where ours is better than the compiler's; see atomic.h
 *   CC_ARCH_SEQUENCE_STORE_()    a store that another thread can call off, where the system has such a thing; see below
 *   CC_ARCH_PREFETCH_WRITE_(p)   "I am about to write there": fetches the line for writing; any address, never a fault
 *
 * CC_CACHE_LINE is 128 where the hardware fetches lines in pairs (x86-64) or has lines of that size (ARM64 servers and
 * Apple's, POWER64), 256 on s390x, else 64. */
#ifndef CONCEDE_ARCH_H
#define CONCEDE_ARCH_H

#include <concede/compiler.h>

/* CC_ARCH_SEQUENCE_STORE_(word, expected, value, area, area_now, failed): a store in a restartable sequence of Linux.
 * It goes to `failed` unless the word is `expected`, else stores `value`, with release order. If between the two the
 * thread loses its CPU or takes a signal, or another thread calls the system's barrier for such sequences, the system
 * sends it to `failed` instead, and nothing is stored.
 *
 * It fails as well if `*area_now` is no longer `area`: that is looked at inside of the sequence, so that whoever
 * changes it knows that every sequence which found it as it was ends in nanoseconds, or fails because its thread was
 * preempted.
 *
 * The system finds the descriptor (3) at `area` bytes from the thread pointer: it says that the sequence goes from 1 to
 * 2, and on to 4 if it fails, where the system wants to find a certain number before the first instruction. The number
 * of the CPU, 4 bytes before, is negative in a thread that has no such area. The pointer is cleared afterwards, because
 * the code may be unloaded; and whoever fails does not try again, so that a debugger which goes step by step gets on.
 * "?" puts what belongs to an inline function of C++ with it. ThreadSanitizer sees no store that assembler makes. */
#if defined(__ELF__) && defined(__LP64__) && !defined(CC_THREAD_SANITIZER_)
#define CC_ARCH_SEQUENCE_DESCRIPTOR_ \
    ".pushsection __rseq_cs, \"aw?\"\n\t.balign 32\n3:\n\t.long 0, 0\n\t.quad 1f, 2f - 1f, 4f\n\t.popsection\n\t"
#if !defined(CC_ARCH_SEQUENCE_DELAY_) /* what a test does between the look and the store; it may use eax or w17 */
#define CC_ARCH_SEQUENCE_DELAY_ ""
#endif
#endif

#if defined(CC_COMPILER_MSVC_)
#include <concede/msvc.h>

#elif defined(__x86_64__)
#define CC_ARCH_X86_64             1
#define CC_ARCH_PAUSE_IS_          "pause"
#define CC_CACHE_LINE              128
#define CC_ARCH_PAUSE_()           __asm__ __volatile__("pause" ::: "memory")
/* A locked no-op on the stack is all that store-load order on write-back memory needs, and takes about 3 ns where
 * mfence takes 21 (AMD Zen 4). It is just below the pointer, so that no return address depends on it. */
#define CC_ARCH_FENCE_()           __asm__ __volatile__("lock; orl $0,-4(%%rsp)" ::: "memory", "cc")
/* The instruction stands here by its name, because compilers use it only if told that the CPU has it. Every x86-64 at
 * least ignores it. */
#define CC_ARCH_PREFETCH_WRITE_(p) __asm__ __volatile__("prefetchw %0" ::"m"(*(const char *)(p)))

#if defined(CC_ARCH_SEQUENCE_DESCRIPTOR_)
/* clang-format off */
#define CC_ARCH_SEQUENCE_STORE_(word, expected, value, area, area_now, failed) \
    __asm__ goto(CC_ARCH_SEQUENCE_DESCRIPTOR_                        \
                 "cmpl $0, %%fs:-4(%[at])\n\t"                       \
                 "js 4f\n\t"                                         \
                 "leaq 3b(%%rip), %%rax\n\t"                         \
                 "movq %%rax, %%fs:(%[at])\n"                        \
                 "1:\n\t"                                            \
                 "cmpq %[at], %[now]\n\t"                            \
                 "jne 4f\n\t"                                        \
                 "cmpl %[from], %[to]\n\t"                           \
                 "jne 4f\n\t"                                        \
                 CC_ARCH_SEQUENCE_DELAY_                             \
                 "movl %[next], %[to]\n"                             \
                 "2:\n\t"                                            \
                 "movq $0, %%fs:(%[at])\n\t"                         \
                 ".pushsection __rseq_failure, \"ax?\"\n\t"         \
                 ".byte 0x0f, 0xb9, 0x3d\n\t"                        \
                 ".long 0x53053053\n"                                \
                 "4:\n\t"                                            \
                 "movq $0, %%fs:(%[at])\n\t"                         \
                 "jmp %l[" #failed "]\n\t"                           \
                 ".popsection"                                       \
                 :                                                   \
                 : [to] "m"(*(word)), [from] "i"(expected),          \
                   [next] "i"(value), [at] "r"(area),                \
                   [now] "m"(*(area_now))                            \
                 : "rax", "memory", "cc"                             \
                 : failed)
/* clang-format on */
#endif

#elif defined(__i386__)
#define CC_ARCH_X86       1
#define CC_CACHE_LINE     64
#define CC_ARCH_PAUSE_IS_ "pause"
#define CC_ARCH_PAUSE_()  __asm__ __volatile__("pause" ::: "memory")
#define CC_ARCH_FENCE_()  __asm__ __volatile__("lock; orl $0,-4(%%esp)" ::: "memory", "cc")

#elif defined(__aarch64__)
#define CC_ARCH_ARM64 1
#define CC_CACHE_LINE 128
/* `yield` retires as a no-op on most cores; `isb` empties the pipeline and really waits. `sb` only holds up what
 * follows it (0.58 of isb's time on a Graviton4: jemalloc's pull request 2843), but not every core has it. It stands
 * here as its encoding, which every assembler takes. */
#if defined(CC_PAUSE_ARM64_YIELD)
#define CC_ARCH_PAUSE_IS_ "yield"
#define CC_ARCH_PAUSE_()  __asm__ __volatile__("yield" ::: "memory")
#else
#define CC_ARCH_PAUSE_IS_ "isb"
#define CC_ARCH_PAUSE_()  __asm__ __volatile__("isb" ::: "memory")
#if !defined(CC_FREESTANDING) && defined(__ELF__) /* there is a library to ask, and a weak reference reaches it */
#define CC_ARCH_PAUSE_SB_() __asm__ __volatile__(".inst 0xd50330ff" ::: "memory")
#endif
#endif
#define CC_ARCH_FENCE_() __asm__ __volatile__("dmb ish" ::: "memory")

/* The failure stays in line, because a conditional branch does not reach far. */
#if defined(CC_ARCH_SEQUENCE_DESCRIPTOR_) && !defined(__AARCH64EB__)
/* clang-format off */
#define CC_ARCH_SEQUENCE_STORE_(word, expected, value, area, area_now, failed) \
    __asm__ goto(CC_ARCH_SEQUENCE_DESCRIPTOR_                        \
                 "mrs x16, tpidr_el0\n\t"                            \
                 "add x16, x16, %[at]\n\t"                           \
                 "ldr w17, [x16, #-4]\n\t"                           \
                 "tbnz w17, #31, 4f\n\t"                             \
                 "adrp x17, 3b\n\t"                                  \
                 "add x17, x17, :lo12:3b\n\t"                        \
                 "str x17, [x16]\n"                                  \
                 "1:\n\t"                                            \
                 "ldr x17, %[now]\n\t"                               \
                 "cmp x17, %[at]\n\t"                                \
                 "b.ne 4f\n\t"                                       \
                 "ldr w17, %[to]\n\t"                                \
                 "cmp w17, %[from]\n\t"                              \
                 "b.ne 4f\n\t"                                       \
                 CC_ARCH_SEQUENCE_DELAY_                             \
                 "stlr %w[next], %[to]\n"                            \
                 "2:\n\t"                                            \
                 "str xzr, [x16]\n\t"                                \
                 "b 5f\n\t"                                          \
                 ".inst 0xd428bc00\n"                                \
                 "4:\n\t"                                            \
                 "str xzr, [x16]\n\t"                                \
                 "b %l[" #failed "]\n"                               \
                 "5:"                                                \
                 :                                                   \
                 : [to] "Q"(*(word)), [from] "i"(expected),          \
                   [next] "rZ"(value), [at] "r"(area),               \
                   [now] "m"(*(area_now))                            \
                 : "x16", "x17", "memory", "cc"                      \
                 : failed)
/* clang-format on */
#endif

#elif defined(__arm__)
#define CC_ARCH_ARM   1
#define CC_CACHE_LINE 64
#if __ARM_ARCH >= 7
#define CC_ARCH_PAUSE_IS_ "yield"
#define CC_ARCH_PAUSE_()  __asm__ __volatile__("yield" ::: "memory")
#else
#define CC_ARCH_PAUSE_() CC_COMPILER_BARRIER_()
#endif

#elif defined(__riscv)
#define CC_ARCH_RISCV     1
#define CC_CACHE_LINE     64
#define CC_ARCH_PAUSE_IS_ "pause (Zihintpause)"
/* `pause` of Zihintpause, as its encoding: a fence that orders nothing, so a core without the extension ignores it. */
#define CC_ARCH_PAUSE_()  __asm__ __volatile__(".4byte 0x0100000f" ::: "memory")

#elif defined(__powerpc__) || defined(__powerpc64__) || defined(__PPC__)
#define CC_ARCH_POWER 1
#if defined(__powerpc64__)
#define CC_CACHE_LINE 128
#else
#define CC_CACHE_LINE 64
#endif
/* The first sets a low thread priority, so that the siblings of this core run meanwhile, and the second a medium one
 * again. */
#define CC_ARCH_PAUSE_IS_ "or 1,1,1; or 2,2,2 (low, then medium priority)"
#define CC_ARCH_PAUSE_()  __asm__ __volatile__("or 1,1,1; or 2,2,2" ::: "memory")

#elif defined(__s390x__)
#define CC_ARCH_S390X    1
#define CC_CACHE_LINE    256
#define CC_ARCH_PAUSE_() CC_COMPILER_BARRIER_()

#else
#define CC_ARCH_OTHER    1
#define CC_CACHE_LINE    64
#define CC_ARCH_PAUSE_() CC_COMPILER_BARRIER_()
#endif

#if !defined(CC_ARCH_PAUSE_IS_)
#define CC_ARCH_PAUSE_IS_ "none (a compiler barrier)"
#endif

#define CC_LINE_BYTES_ ((size_t)64)

#if !defined(CC_ARCH_PREFETCH_WRITE_)
#define CC_ARCH_PREFETCH_WRITE_(p) __builtin_prefetch((p), 1)
#endif

/* Whether an atomic of 64 bits needs no lock of the compiler's library. */
#if UINTPTR_MAX > UINT32_MAX || (defined(__GCC_ATOMIC_LLONG_LOCK_FREE) && __GCC_ATOMIC_LLONG_LOCK_FREE == 2)
#define CC_ARCH_HAS_ATOMIC_64_ 1
#else
#define CC_ARCH_HAS_ATOMIC_64_ 0
#endif

#endif
