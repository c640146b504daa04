/* model.h: a stateless model checker for concede's own sources.
 *
 * A client is a setup, up to MODEL_THREADS thread functions and a finish. The engine runs the threads as coroutines in
 * one OS thread, stops before every atomic access, fence, wait, wake and yield, and explores, depth first, every choice
 * there is: who runs next, which store a load returns, whom a wake wakes, whether a timed wait times out.
 *
 *     static uint32_t flag, data;
 *     static void setup(void)  { flag = data = 0; }
 *     static void writer(void) { model_write(&data, sizeof data); data = 42; cc_store_release(&flag, 1); }
 *     static void reader(void)
 *     {
 *         if (cc_load_acquire(&flag)) { model_read(&data, sizeof data); model_check(data == 42); }
 *     }
 *     static const model_client_t clients[] = {
 *         { .name = "message_passing", .setup = setup, .threads = { writer, reader }, .bound = MODEL_UNBOUNDED },
 *     };
 *     int main(int argc, char **argv) { return model_main(argc, argv, clients, sizeof clients / sizeof *clients); }
 *
 * Compile with -DCC_MODEL and tests/model before include/ in the path. setup must put every object into the same state
 * each time: it runs before each execution. Threads must do nothing that depends on anything but what they read through
 * atomic.h, os.h and model_choose(). What is explored, and what is not, is in doc/verification.md. */
#ifndef CONCEDE_TESTS_MODEL_H
#define CONCEDE_TESTS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MODEL_THREADS = 9, MODEL_UNBOUNDED = 255 };

/* How a client must end. All but MODEL_PASSES are for clients with a known bug: they show that the checker finds it. */
typedef enum model_verdict {
    MODEL_PASSES,
    MODEL_ASSERTION, /* a model_check() failed */
    MODEL_DEADLOCK,  /* every thread blocked: a wake-up was lost */
    MODEL_LIVELOCK,  /* an execution longer than any that makes progress */
    MODEL_RACE,      /* two unordered accesses to plain memory, one of them a write */
    MODEL_FREED,     /* an access to memory after model_freed() */
    MODEL_MISUSE     /* the client or the sources break a rule of the checker itself */
} model_verdict_t;

/* What cc_atomic_sequence_store_() is worth: nothing, so that nobody uses it; all that is promised; or with a known
 * bug. */
typedef enum model_sequences {
    MODEL_NO_SEQUENCES,
    MODEL_SEQUENCES,
    MODEL_NEVER_CALLED_OFF, /* a barrier fences and does not call it off */
    MODEL_STORED_OUTSIDE    /* the store comes after the sequence */
} model_sequences_t;

typedef uint16_t thread_set_t;

typedef struct model_client {
    const char *name;
    void (*setup)(void);                  /* before each execution, alone */
    void (*threads[MODEL_THREADS])(void); /* the first NULL ends the list */
    void (*finish)(void);                 /* after the last thread ended, alone; may be NULL */
    uint8_t bound;                        /* preemptions an execution; MODEL_UNBOUNDED: every interleaving */
    uint8_t full_bound;                   /* the same with --full; 0: as bound */
    uint8_t old_reads;      /* loads that may return another than the newest store, an execution; 0: any */
    uint8_t full_old_reads; /* the same with --full; 0: as old_reads */
    uint8_t spurious;       /* waits that may return for no reason, an execution */
    uint8_t losses;         /* wakes whose waiter reports a signal or its deadline instead, an execution */
    uint8_t weak_failures;  /* weak compare-and-swaps that may fail for no reason, an execution */
    uint8_t clock_jumps;    /* reads of the clock that may find a second gone, an execution */
    bool membarrier;        /* the system has it: the asymmetric fence is in use */
    model_sequences_t sequences;
    uint8_t refusals;       /* membarriers that may be refused, an execution; and a wait that times out is
                                             * long enough for every thread's writes to be seen */
    thread_set_t mortal;    /* threads that may die, as bits 1 to MODEL_THREADS; what a dead one holds stays as it is */
    uint8_t deaths;         /* of them, an execution */
    thread_set_t stoppable; /* a thread that may stop for good: it makes no step any more, but keeps its locks */
    thread_set_t openers;   /* threads whose lock of a segment is free until one takes it */
    uint8_t timeouts;       /* waits that may time out while a thread could go on, an execution; 0: any */
    bool insert;            /* stores may land before others in modification order (2+2W) */
    bool in_full_only;
    model_verdict_t verdict;
} model_client_t;

/* Runs the clients that the arguments name, or all; returns the exit code. `--help` lists the options. */
int model_main(int argc, char **argv, const model_client_t *clients, size_t count);

/* Explores one client in silence. For tests that look at outcomes. */
model_verdict_t model_explore(const model_client_t *client);

/* In setup, threads and finish: the execution fails unless the condition holds. */
#define model_check(condition) model_check_(!!(condition), #condition, __FILE__, __LINE__)
void model_check_(bool ok, const char *text, const char *file, int line);

/* Plain memory that threads share: say so at each access, and unordered ones are reported. */
void model_read(const void *memory, size_t bytes);
void model_write(const void *memory, size_t bytes);
void *model_copy(void *to, const void *from, size_t bytes); /* memcpy, with both sides marked */

/* From now on nothing may touch it, except that a wake may name its address. */
void model_freed(const void *memory, size_t bytes);

/* 0 .. count-1, all of them explored. */
unsigned model_choose(unsigned count);

/* The number of the running thread, from 1; 0 in setup and finish. */
int model_self(void);

/* Whether a thread has died. */
bool model_is_dead(int thread);

/* In setup: what this word holds steers nothing that matters, so an access to it is no step. */
void model_statistic(const void *word);

/* A name for traces. */
void model_name(const void *word, const char *name);

/* In finish: this execution ended so. model_outcomes() is the set of all that model_explore() met, `outcome` < 64. */
void model_outcome(unsigned outcome);
uint64_t model_outcomes(void);

/* Executions that the last model_explore() ran. */
uint64_t model_executions(void);

#endif
