/* host.h: what the system tells of the machine, and what its threads need to measure on it.
 *
 * The program (tools/concede) and the benchmarks (bench) ask it here. Only this file and host.c know which system this
 * is. */
#ifndef CONCEDE_HOST_H
#define CONCEDE_HOST_H

#include <stdbool.h>
#include <stdint.h>

/* What can be read; texts are "" where the system does not say. */
typedef struct host {
    char date[32]; /* 2026-01-31T12:00:00Z */
    char cpu[128], architecture[32], system[128], libc[48], compiler[96];
    char governor[32], clocksource[32];
    bool has_tsc, tsc_invariant; /* x86's counter; invariant: one rate in every state */
    bool hypervisor;
} host_t;

void host_describe(host_t *host);

enum { HOST_CPUS = 1024 };

/* The CPUs that this process may run on, in ascending order; returns how many, at least 1. */
int host_cpus(int cpus[HOST_CPUS]);
int host_cpus_online(void);

/* Where a CPU is: those with the same numbers are siblings of a core, have a last-level cache in common, are in one
 * socket. As far as the system says; else each is a core of its own in one die of one socket. */
typedef struct host_place {
    int core, die, socket;
} host_place_t;
void host_place(int cpu, host_place_t *place);

/* Pins the calling thread; a negative number leaves it alone, and where the system refuses, the system chooses. */
void host_pin(int cpu);

/* Sleeps for so many ns, as exactly as the system can: Linux otherwise adds up to 50 us of its own accord. */
void host_sleep(uint64_t ns);

/* CPU time in ns that the calling thread has used; NAN if the system does not say. */
double host_thread_cpu_ns(void);
/* CPU time in seconds that the process has used; 0 for one that is gone, or if the system does not say. */
double host_process_cpu_seconds(int process);

/* One way of a cache line between two CPUs in ns, measured with a thread on each: fills ns[] until `limit_ns` have
 * passed, at least HOST_LINE_SAMPLES and at most `room` of them (room must not be less), and returns how many; 0: no
 * thread could be started. HOST_LINE_SAMPLES take about 1 ms. */
enum { HOST_LINE_SAMPLES = 20 };
uint32_t host_line(int first_cpu, int second_cpu, uint64_t limit_ns, double *ns, uint32_t room);

/* What CPUs did so far. */
typedef struct host_load {
    double busy, own, at; /* seconds: of the CPUs that were asked for, of this process, of the clock */
    uint32_t cpus;        /* 0 where it cannot be read */
} host_load_t;

/* Of the listed CPUs; of all if count is 0. */
host_load_t host_load(const int *cpus, uint32_t count);
/* How many CPUs others, the host included, kept busy between two looks: a number from 0 to the CPUs looked at. */
double host_others(const host_load_t *before, const host_load_t *after);

#endif
