/* counters.h: how lock, event and channel tell what they waited. See cc_counters() in <concede/costs.h>.
 *
 *     cc_count_wait_(CC_COUNT_LOCK_, CC_COUNT_SLEPT_, ns);     // at the end of each wait: how it ended, time asleep
 *     cc_count_wake_(CC_COUNT_LOCK_);                          // beside each cc_os_wake_()
 *     cc_count_wake_in_vain_(CC_COUNT_LOCK_);                  // woken, found nothing, and waits on
 *
 * Call them on slow paths only: each is one addition to a line that few other threads use, 2.5 ns where it is not
 * shared (AMD EPYC under KVM). A wait that gave up at its deadline counts by the phase it was in. The model checker
 * does not see them. */
#ifndef CONCEDE_SRC_COUNTERS_H
#define CONCEDE_SRC_COUNTERS_H

#include <concede/costs.h>

enum { CC_COUNT_LOCK_, CC_COUNT_EVENT_, CC_COUNT_CHANNEL_, CC_COUNT_KINDS_ };   /* who waits */
enum { CC_COUNT_SPUN_, CC_COUNT_YIELDED_, CC_COUNT_SLEPT_, CC_COUNT_ENDINGS_ }; /* how a wait ended */
#define CC_COUNT_ENDING_(slept, yielded) ((slept) ? CC_COUNT_SLEPT_ : (yielded) ? CC_COUNT_YIELDED_ : CC_COUNT_SPUN_)

#if defined(CC_MODEL)
#define cc_count_wait_(kind, ending, slept_ns) ((void)(kind), (void)(ending), (void)(slept_ns))
#define cc_count_wake_(kind)                   ((void)(kind))
#define cc_count_wake_in_vain_(kind)           ((void)(kind))
#define cc_count_now_()                        UINT64_C(0)
#else
void cc_count_wait_(unsigned kind, unsigned ending, uint64_t slept_ns);
void cc_count_wake_(unsigned kind);
void cc_count_wake_in_vain_(unsigned kind);
#define cc_count_now_() cc_os_now_() /* for the time asleep: the caller includes os.h */
#endif

#endif
