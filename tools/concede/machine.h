/* machine.h: what waiting costs on this machine. Shared by info, tune and report. */
#ifndef CONCEDE_TOOL_MACHINE_H
#define CONCEDE_TOOL_MACHINE_H

#include "host.h"
#include "json.h"

#include <stdio.h>

/* Nanoseconds. Half of the samples are below the median, one in ten below low, one in ten above high. */
typedef struct machine_cost {
    uint32_t samples; /* 0: not measured here */
    double median, low, high;
} machine_cost_t;

typedef enum machine_probe {
    MACHINE_PAUSE,      /* one cc_pause() */
    MACHINE_YIELD,      /* one yield with nobody else to run */
    MACHINE_CLOCK,      /* one cc_now_ns() */
    MACHINE_FENCE,      /* one full fence */
    MACHINE_MEMBARRIER, /* the heavy side of an asymmetric fence */
    MACHINE_WAKE_NONE,  /* the system call that wakes, with nobody asleep */
    MACHINE_LINE,       /* a cache line to another CPU, one way */
    MACHINE_WAKE_CALL,  /* waking a sleeper: the waker's time in the call */
    MACHINE_WAKE,       /* waking a sleeper: from that call to the sleeper running */
    MACHINE_SLEEP_CPU,  /* CPU time that one sleep takes of the sleeper */
    MACHINE_ROUND_TRIP, /* two threads that park and unpark each other in turn */
    MACHINE_PROBES
} machine_probe_t;

typedef struct machine_probe_text {
    const char *key, *name, *what;
} machine_probe_text_t;
extern const machine_probe_text_t machine_probes[MACHINE_PROBES];

typedef struct machine_line {
    int from, to;
    machine_cost_t cost;
} machine_line_t;

enum { MACHINE_LINES = 64 };

typedef struct machine {
    host_t host;
    const char *pause; /* the instruction that cc_pause() is */
    int online, affinity, usable;
    double others; /* CPUs that other programs kept busy while this measured; 0 also if not known */
    char affinity_list[128];
    int cpu_list[HOST_CPUS];                  /* the CPUs of the affinity mask */
    double tsc_ghz, tsc_read_ns, tsc_step_ns; /* 0: not known; step: the smallest difference that it shows */
    bool membarrier;
    machine_cost_t cost[MACHINE_PROBES];
    int lines;
    machine_line_t line[MACHINE_LINES];
} machine_t;

/* What can be read; measures nothing. */
void machine_describe(machine_t *m);
/* Measures all costs, in about half a second and 30 ms for each pair of CPUs; shows progress; stops at Ctrl-C. */
void machine_measure(machine_t *m);

/* As members of the open object. */
void machine_write_json(const machine_t *m, json_writer_t *w);

/* As `concede simulate --machine` reads it. */
void machine_write_text(const machine_t *m, FILE *out);

/* Whether other programs took so much CPU time that what was measured here tells of them as well. */
bool machine_is_busy(const machine_t *m);

/* Why only so many CPUs are usable, as a sentence. */
void machine_usable_text(const machine_t *m, char *text, size_t size);

#endif
