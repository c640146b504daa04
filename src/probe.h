/* probe.h: the places where a tracer may look on, USDT probes of the provider `concede`; concede_probes(7) lists them.
 *
 *     CC_PROBE_(lock__wait__begin, lock);     // a name, in which __ stands for -, and 1 to 12 values
 *
 * Each is one nop, and a note in the object file that says where it stands and where its values are, so they stand on
 * slow paths only and pass on what is at hand. Without CC_USDT, which the build defines where <sys/sdt.h> is there,
 * they are nothing at all. */
#ifndef CONCEDE_SRC_PROBE_H
#define CONCEDE_SRC_PROBE_H

#if defined(CC_USDT)
#define SDT_USE_VARIADIC /* for STAP_PROBEV, which is more than the standard allows */
#include <sys/sdt.h>
#define CC_PROBE_(...)                                                                  \
    do {                                                                                \
        _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wpedantic\"") \
            STAP_PROBEV(concede, __VA_ARGS__);                                          \
        _Pragma("GCC diagnostic pop")                                                   \
    } while (0)
#else
#define CC_PROBE_(...) ((void)0)
#endif

#endif
