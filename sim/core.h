/* core.h: virtual time. Threads are coroutines of one process; the clock moves from one event to the next.
 *
 *     sim_begin(&machine, seed);
 *     for (uint32_t i = 0; i < n; i++) sim_spawn(body, argument, i);       // on CPU i modulo their number
 *     if (!sim_go()) ...                                                    // they all sleep: it hangs
 *
 * One simulation in a process: the sources that run in it keep state of their own, which only a new process resets. */
#ifndef CONCEDE_SIM_CORE_H
#define CONCEDE_SIM_CORE_H

#include "machine.h"

void sim_begin(const sim_machine_t *machine, uint64_t seed);

/* A thread that starts at the present, on a CPU. */
void sim_spawn(void (*body)(void *), void *argument, uint32_t cpu);

/* Runs until every thread has ended, or longer than `limit_ps` has passed since the call; false: they all sleep, or it
 * took too long. */
bool sim_go(uint64_t limit_ps);

/* From here on sim_stopped() is true after so much time, or so many events. */
void sim_stop_after(uint64_t ps, uint64_t events);
bool sim_stopped(void);
uint64_t sim_stopped_at(void); /* ps; the present if it has not */

/* ---- in a thread; observing is free, so that what is measured does not depend on it ---- */

uint64_t sim_time(void);       /* ps */
void sim_work(uint64_t ps);    /* computes for so long, on a CPU of ordinary speed */
void sim_plain(uint32_t hits); /* instructions that touch nothing that is shared: as many as take so many hits */
uint32_t sim_socket(void);     /* of this CPU; its die where there is one socket */
uint32_t sim_random(uint32_t below);
uint64_t sim_cpu_time(void); /* ps that this thread was on a CPU */
/* Looks at a word after each pause as long as it has a value; the first other one. As a loop, in fewer events. */
uint32_t sim_spin_while(const uint32_t *word, uint32_t value);

typedef struct sim_counts {
    uint64_t events, transfers, invalidated, sleeps, wakes, yields, preemptions, membarriers;
} sim_counts_t;
extern sim_counts_t sim_counts;

#endif
