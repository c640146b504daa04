/* machine.h: a machine that is simulated: how its CPUs lie to each other, and what everything costs on it.
 *
 * A machine is a small text file (sim/machines), one `name number` a line; behind a # is where the number is from.
 * `concede info --machine FILE` writes one for the machine at hand. */
#ifndef CONCEDE_SIM_MACHINE_H
#define CONCEDE_SIM_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SIM_CPUS = 512, SIM_FIELDS = 32 };

/* Times are in nanoseconds, as in the file. */
typedef struct sim_machine {
    char name[48], title[96];
    double cores;       /* how many */
    double siblings;    /* CPUs of one core; CPU c is the c / cores-th of core c % cores */
    double die, socket; /* cores that share a last-level cache; cores of one socket */
    double small;       /* how many of the cores, the last ones, are small */
    double slower;      /* how many times as long everything takes on a small one */
    double line_bytes;  /* of a cache line */
    double hit;         /* a load or store of a line that is here */
    double atomic;      /* a read-modify-write, or a full fence, of a line that is here ... */
    double cas;         /* ... and a compare-and-swap */
    double line_core;   /* taking a line from a sibling ... */
    double line_die;    /* ... from another core of the die */
    double line_socket; /* ... from another die of the socket */
    double line_remote; /* ... from another socket */
    double asks_far;    /* share of the latter two after which the request is where the line is */
    double invalidate;  /* taking it from many: for each but the first, on top of the farthest */
    double serve;       /* a line that many have and one more wants to read: from one such to the next */
    double hold;        /* a CPU that got a line to write keeps it for so long on average, whoever wants it */
    double migrate;     /* share of reads of a line that another wrote which bring the right to write it, too */
    double stores;      /* to lines that are elsewhere, that a CPU can have on their way at once */
    double pause;       /* the spin-wait hint */
    double clock;       /* reading the clock */
    double syscall;     /* a call that does nothing: a wake-up of nobody */
    double yield;       /* a yield with nobody else to run */
    double change;      /* putting another thread on a CPU */
    double slice;       /* the turn of a thread where others want its CPU, too */
    double tick;        /* an interruption comes after so long on average ... */
    double ticked;      /* ... and takes so long */
    double sleep;       /* CPU time of going to sleep, from the call */
    double wake_call;   /* waking a sleeper: time in the call, for each */
    double wake;        /* ... from the call to the sleeper running, on an idle CPU */
    double membarrier;  /* a fence on all CPUs: the call ... */
    double interrupt;   /* ... and for each CPU that must pass it, on both sides */
} sim_machine_t;

/* Reads a machine from its text. False: error[] says what is wrong with which line. */
bool sim_machine_parse(sim_machine_t *machine, const char *name, const char *text, char *error, size_t size);

/* The machines that are built in, sim/machines: their names and texts; the last name is NULL. */
typedef struct sim_text {
    const char *name, *text;
} sim_text_t;
extern const sim_text_t sim_texts[];

static inline uint32_t sim_machine_cpus(const sim_machine_t *machine)
{
    return (uint32_t)(machine->cores * machine->siblings);
}

#endif
