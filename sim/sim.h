/* sim.h: `concede simulate`: workloads and implementations on simulated machines.
 *
 * The library's sources, the loops of bench/loops and the peers of sim/peers.c are compiled a second time, with every
 * atomic access and system call redirected to core.c. All of it is one object file whose only symbols are those here
 * (sim/ CMakeLists.txt), so that it lies beside the real library in one program. */
#ifndef CONCEDE_SIM_H
#define CONCEDE_SIM_H

#include "machine.h"
#include "results.h"

/* One question, as in `concede bench`. */
typedef struct sim_workload {
    const char *name, *title;
    uint32_t family, loop, primary;
    uint32_t metrics;  /* bits 1 << BENCH_... */
    bool scales;       /* with the number of CPUs; else two threads on the CPUs 0 and 1, and 0 and the last */
    bool pairs;        /* as many senders as receivers, N of each; else one sender */
    bool random;       /* gaps are exponentially distributed */
    double virtual_ms; /* how long it lasts, unless it has many events */
    bench_setting setting;
} sim_workload_t;

extern const sim_workload_t *const sim_workloads[]; /* ends with NULL */
extern const bench_peer *const sim_peers[];         /* ends with NULL */

typedef struct sim_outcome {
    bool ended; /* false: the threads all slept, or did not stop */
    bool whole; /* it lasted as long as it should; else it had too many events */
    double values[BENCH_METRICS];
    double virtual_ms;
    uint64_t events, transfers, sleeps, wakes, yields, preemptions, membarriers;
} sim_outcome_t;

/* Simulates one implementation. Once in a process: the sources keep state. */
void sim_run(const sim_machine_t *machine, const sim_workload_t *workload, const bench_subject *subject,
             const bench_setting *setting, uint64_t seed, uint64_t most_events, sim_outcome_t *outcome);

#endif
