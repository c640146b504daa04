/* probe.h: the places where a tracer may look on, USDT probes of the provider `concede`; concede_probes(7) lists them.
 *
 *     w.began = CC_PROBE_BEGAN_(lock__wait__end);    // the time, if somebody traces that probe; else 0
 *     CC_PROBE_(lock__wait__begin, lock);            // a name, in which __ stands for -, and 1 to 12 values
 *     CC_PROBE_(lock__wait__end, lock, ending, CC_PROBE_NS_(w.began), taken);
 *
 * Each is one nop, and a note in the object file that says where it stands and where its values are, so they stand on
 * slow paths only and pass on what is at hand. How long a wait took is not at hand: to know it, the clock is read twice
 * while somebody traces the wait's end, which a counter tells that tracers add to (a "semaphore" in their language).
 * Without CC_USDT, which the build defines where <sys/sdt.h> is there, all of this is nothing. */
#ifndef CONCEDE_SRC_PROBE_H
#define CONCEDE_SRC_PROBE_H

#if defined(CC_USDT)
#include <concede/compiler.h>
#define CC_PROBES_(each)                                                                                  \
    each(lock__wait__begin) each(lock__wait__end) each(lock__sleep) each(lock__wake) each(lock__handover) \
        each(event__wait__begin) each(event__wait__end) each(event__sleep) each(event__wake)              \
            each(channel__wait__begin) each(channel__wait__end) each(parker__sleep) each(parker__wake)

/* How many tracers trace each probe; counters.c defines these. */
#define CC_PROBE_TRACED_(name) concede_##name##_semaphore
#define CC_PROBE_DECLARE_TRACED_(name) \
    extern volatile unsigned short CC_PROBE_TRACED_(name) __attribute__((visibility("hidden")));
CC_PROBES_(CC_PROBE_DECLARE_TRACED_)

#define _SDT_HAS_SEMAPHORES 1
#define SDT_USE_VARIADIC    /* for STAP_PROBEV, which is more than the standard allows */
/* The values are in a register or in memory, and are no constants: perf leaves constants out, and where a probe stands
 * in several places whose values are not alike it takes the first place only. So a value must have one type in all of
 * them, too. */
#define STAP_SDT_ARG_CONSTRAINT or
#include <sys/sdt.h>
#define CC_PROBE_(...)                                                                  \
    do {                                                                                \
        _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wpedantic\"") \
            STAP_PROBEV(concede, __VA_ARGS__);                                          \
        _Pragma("GCC diagnostic pop")                                                   \
    } while (0)
#define CC_PROBE_BEGAN_(name) (CC_UNLIKELY_(CC_PROBE_TRACED_(name) > 0) ? cc_now_ns() : UINT64_C(0))
#define CC_PROBE_NS_(began)   (CC_UNLIKELY_((began) != 0) ? cc_now_ns() - (began) : UINT64_C(0))
#else
#define CC_PROBE_(...)        ((void)0)
#define CC_PROBE_BEGAN_(name) UINT64_C(0)
#endif

#endif
