/* costs.h: what waiting costs on this machine, how many CPUs there are to wait on, and what was waited so far.
 *
 *     const cc_costs_t *costs = cc_costs();
 *     printf("a pause takes %u.%03u ns\n", costs->pause_ps / 1000, costs->pause_ps % 1000);
 *
 * One pause takes 4 ns on one CPU and 60 ns on the next, so a count of pauses means nothing and a time does. All of
 * concede's own limits are times, turned into counts by what is measured here. */
#ifndef CONCEDE_COSTS_H
#define CONCEDE_COSTS_H

#include <concede/compiler.h>

CC_BEGIN_DECLS

typedef struct cc_costs {
    uint32_t pause_ps; /* one cc_pause(), in picoseconds; at least 1 */
    uint32_t yield_ns; /* one yield with nobody else to run */
    uint32_t wake_ns;  /* one sleep and wake-up, from the waker's call to the woken thread running */
    uint32_t cpus;     /* CPUs this process may really use: affinity and container quota; at least 1 */
} cc_costs_t;

CC_STATIC_ASSERT_(sizeof(cc_costs_t) == 16, "four numbers of 32 bits, in this order, on every machine");

/* The costs here. The first call measures those that nothing has needed before, in under 200 us of CPU time; later ones
 * return at once. Any thread, at any time; all get the same pointer, valid for ever. Two fields may still change, so
 * read them with cc_load_relaxed() while other threads wait: `wake_ns`, estimated at first and refined from the
 * library's own sleeps, and `cpus`, which grows from 1 when threads that were all on one CPU no longer are. */
CC_API const cc_costs_t *cc_costs(void);

/* Sets the costs, for example to what `concede tune` measured, instead of measuring them. A field that is 0 is measured
 * here; NULL does nothing. What is set here is kept: it is not refined. It wins over the environment variable
 * CONCEDE_COSTS, which the library reads once ("pause_ps=32000,wake_ns=29000"), unless the program has more rights than
 * its caller. Call it before the first wait and before other threads use concede. */
CC_API void cc_costs_set(const cc_costs_t *costs);

/* What the objects of one kind have waited, since the process started. */
typedef struct cc_counted {
    uint64_t waits;                /* calls that had to wait, however short: spun + yielded + slept */
    uint64_t spun, yielded, slept; /* those that ended while they spun, yielded, or had slept at least once */
    uint64_t wakes;                /* calls of the system to wake a sleeper */
    uint64_t wakes_in_vain;        /* threads that were woken, found nothing, and waited on */
    uint64_t slept_ns;             /* time asleep, of all threads together, in nanoseconds */
} cc_counted_t;

typedef struct cc_counters {
    cc_counted_t lock, event, channel;
} cc_counters_t;

CC_STATIC_ASSERT_(sizeof(cc_counters_t) == 168,
                  "three times seven numbers of 64 bits, in this order, on every machine");

/* Tells what this process has waited so far. It is counted where a call waits and nowhere else, so that what never
 * waits pays nothing. Each number is right on its own; together they are not one moment's. Any thread, at any time;
 * never blocks. */
CC_API void cc_counters(cc_counters_t *now);

/* Returns cc_costs()->pause_ps, and measures nothing else. Any thread. */
CC_API uint32_t cc_costs_pause_ps_(void);

/* Whether a wait may spin: whether there is a second CPU on which what we wait for could happen. A quota does not
 * count: until it is used up, threads run at the same time. Measures nothing. Any thread. */
CC_API bool cc_costs_may_spin_(void);

CC_END_DECLS

#endif
