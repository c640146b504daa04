/* engine.h: what the parts of the checker share. A client sees model.h only.
 *
 *   coroutine.c   functions that take turns
 *   memory.c      words and their stores, views, fences, plain memory: what a thread may read
 *   system.c      src/os.h: waits and wakes, the clock, membarrier
 *   schedule.c    who makes the next step; one execution from its setup to its end
 *   explore.c     all executions, depth first: the choices, the states that were met before
 *   walk.c        executions drawn at random, where there are too many
 *   trace.c       what a step looks like to a reader
 *   replay.c      a failed execution, once more
 *   mutants.c     one order weakened at a time
 *   main.c        the program: its options, its table
 *
 * All that lasts from one step to the next is in four structs: settings (what is asked), run (this execution), memory
 * (its words) and search (all executions of one client). */
#ifndef CONCEDE_TESTS_ENGINE_H
#define CONCEDE_TESTS_ENGINE_H

#include "coroutine.h"
#include "model.h"
#include "model_atomic.h"

enum {
    WORDS = 128,     /* atomic words that a client may touch */
    SEQUENCE = 2048, /* stores of one thread in an execution */
    STORES = 1024,   /* stores to one word in an execution */
    CELLS = 1024,    /* plain memory under watch, in units of 4 bytes; a power of two */
    STEPS = 4000,    /* of an execution that is explored; more are a livelock */
    CHOICES = 3 * STEPS,
    STALE_ROUNDS = 2, /* yields and waits after which a thread sees the newest store to a word it keeps reading */
    FREE_PAUSES = 2,  /* pauses of a thread, with accesses in between, that do not yield: it may spin in vain */
    FREED = 8,
    SECOND = 1000000000
};

/* A store is named by its thread and its number there, which are the same in every order of independent steps: 0 is the
 * value that a word had at the start. */
typedef uint16_t store_id;

/* Threads, as bits. */
typedef uint16_t thread_set;

typedef struct view {
    store_id seen[WORDS];
    uint16_t clock[MODEL_THREADS + 1];
} view_t;

typedef struct store {
    uint64_t value;
    view_t view;
    uint64_t mark;  /* hash of what it carries */
    uint16_t place; /* in the word's modification order */
    uint16_t step;  /* when, for traces */
    bool modifies;  /* by a read-modify-write: nothing comes between it and the one before */
} store_t;

typedef struct word {
    const void *address;
    const char *name;
    uint64_t initial;
    uint32_t run; /* the execution that the rest is of */
    uint16_t count;
    uint8_t size;
    /* Of all executions so far: */
    thread_set users; /* that accessed it */
    bool stored;      /* by any of them */
    bool statistic;   /* what it holds steers nothing: an access is no step and reads the newest */
    bool shared;      /* by two, and one stored: its accesses are steps */
    store_id woken;   /* what a wait on it must see at least: the newest that a wake was called after */
    store_id order[STORES];
} word_t;

typedef enum status { DONE, READY, ASLEEP } status_t;

enum { SLEPT_ON = 3, NOT_WOKEN = -1 };

typedef struct thread {
    coroutine_t context;
    status_t status;
    view_t now, pending, fenced; /* what it sees; what it will see after a fence; what it releases by a relaxed store */
    uint64_t history;
    uint16_t stores;
    /* the scheduler's; Musuvathi and Qadeer's fair scheduling */
    thread_set after, scheduled, enabled;
    bool yielded, paused;
    bool in_sequence, called_off; /* of a store that a barrier can call off, and whether one has */
    uint8_t pauses;
    bool dead, gave_up_locks;
    /* asleep */
    const void *asleep_on[SLEPT_ON]; /* NULL: no further one. Set before it sleeps, while it looks at the next one */
    uint64_t deadline, waited;       /* waited: how far its clock is ahead, see now_of() */
    unsigned queued;
    int result;
    uint64_t read_since_yield[WORDS / 64]; /* words, as bits */
    uint8_t stale[WORDS];
} thread_t;

typedef struct cell {
    uintptr_t unit;
    uint32_t run;
    uint8_t writer;
    uint16_t written, read[MODEL_THREADS + 1];
} cell_t;

typedef struct choice {
    uint8_t count, pick;
} choice_t;

/* What is asked. */
typedef struct settings {
    const model_client_t *client;
    unsigned client_number;
    unsigned bound, old_read_bound; /* old_read_bound 0: none */
    bool tracing, replaying, deep, walking;
    unsigned longest;     /* an execution of more steps is a livelock */
    const char *weakened; /* the mutant that this run is to be, or NULL */
    uint64_t step_limit;  /* of one exploration; 0: none. Not a time: every run does the same */
} settings_t;

/* One execution. */
typedef struct run {
    uint32_t number;
    int self; /* the running thread, from 1; 0: setup, finish, or the engine itself */
    unsigned thread_count, step;
    unsigned preemptions, old_reads, spurious, losses, weak_failures, clock_jumps, refusals, tickets, deaths, timeouts;
    uint64_t now_ns, setup_mark;
    bool starting;
    bool pruned; /* left early: all that follows was explored from an earlier visit */
    bool again;  /* left early: a word turned out to be shared, and the exploration starts over */
    model_verdict_t verdict;
    char failure[512];
    coroutine_t engine;
    thread_t threads[MODEL_THREADS + 1];
    struct {
        uintptr_t start, end;
    } freed[FREED];
    unsigned freed_count;
    int locks[MODEL_THREADS + 1];          /* who has the lock of each dead thread alone; 0: nobody */
    thread_set sharing[MODEL_THREADS + 1]; /* who share it */
    view_t unlocked[MODEL_THREADS + 1];    /* what who gave it back last had seen */
} run_t;

typedef struct memory {
    store_t stores[MODEL_THREADS + 1][SEQUENCE];
    word_t words[WORDS];
    unsigned word_count;
    uint8_t word_index[4096];
    uint64_t shared_words; /* of a replayed execution, in the order of their first access; the first 64 may be */
    view_t fences;
    cell_t cells[CELLS];
} memory_t;

typedef struct search {
    choice_t path[CHOICES];
    unsigned path_used, path_known;
    uint64_t executions, prunes, outcomes, states, steps;
    bool unfinished;
} search_t;

extern settings_t settings;
extern run_t run;
extern memory_t memory;
extern search_t search;

/* ---- explore.c ---- */

/* What is chosen. All alternatives are explored alike, but not drawn alike. */
typedef enum choice_kind {
    CHOOSE_ANY,
    CHOOSE_READ, /* 0: the newest store */
    CHOOSE_FAULT /* 0: nothing goes wrong */
} choice_kind_t;

/* 0 .. count-1: what this execution does here. */
unsigned choose(choice_kind_t kind, unsigned count);

/* Whether everything from here on was or will be explored from an earlier visit; `stay`: the running thread could go
 * on. */
bool seen_before(bool stay);

model_verdict_t explore(const model_client_t *client, unsigned preemption_bound, unsigned old_read_bound);

/* ---- walk.c ---- */

unsigned draw(choice_kind_t kind, unsigned count);

/* Which of `count` options goes on, of which the first `ready` need no deadline to pass and no reason. */
unsigned draw_thread(const uint8_t *options, unsigned ready, unsigned count, bool stay);

int walk_again(const char *seed, const char *name, const model_client_t *clients, size_t count);
int walk(const char *program, const model_client_t *clients, size_t count, uint64_t executions, char **names);
int walk_mutants(const model_client_t *clients, size_t count, uint64_t executions, const char *list);

/* ---- schedule.c ---- */

/* The execution ends here, and has failed. Returns only outside of threads. */
void fail(model_verdict_t how, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Leaves the execution for good. Only from a thread. */
void leave(void) __attribute__((noreturn));

/* Called by a thread before each step, and when it falls asleep or ends; returns when it is its turn. */
void reschedule(void);

void end_round(void);
void yield(bool is_pause);
uint64_t now_of(const thread_t *thread);
void wake_up(thread_t *sleeper, int result);
void run_once(void);

static inline unsigned bit(unsigned thread)
{
    return 1u << thread;
}

/* ---- memory.c ---- */

word_t *word_at(const void *p);
word_t *word_of(const void *p, size_t size);
void use(word_t *word, bool stores_to_it);
void check_alive(const void *p, size_t size);
void fence(thread_t *thread);
void inherit(const view_t *from); /* the running thread sees all of this, too */
void forget_words(void);
uint64_t view_hash(const view_t *view);

static inline unsigned place(store_id id)
{
    return id ? memory.stores[id / SEQUENCE][id % SEQUENCE].place : 0;
}

static inline uint64_t value_of(const word_t *word, store_id id)
{
    return id ? memory.stores[id / SEQUENCE][id % SEQUENCE].value : word->initial;
}

static inline store_id newest(const word_t *word)
{
    return word->order[word->count - 1];
}

static inline unsigned site_order(const model_site_t *site)
{
    return site->used - 1u;
}

static inline uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 32;
}

/* The running thread did this: two executions in which it did the same are the same to it. */
static inline void history(uint64_t what)
{
    run.threads[run.self].history = mix(run.threads[run.self].history, what);
}

/* ---- trace.c ---- */

extern const char *const order_name[], *const kind_name[], *const verdict_name[];

void trace_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define trace(...) (settings.tracing ? trace_line(__VA_ARGS__) : (void)0)

const char *site_text(const model_site_t *site);
const char *word_name(const word_t *word);
const char *from_text(const word_t *word, store_id id);

/* A mutant's name: where, what, and how its order is weakened. */
const char *mutant_name(const model_site_t *site, unsigned order);

/* ---- replay.c ---- */

bool fails_again(void);
void show_failure(const char *program);
int replay(const char *program, const char *text, const model_client_t *clients, size_t count);

/* ---- mutants.c ---- */

/* The line of source that a site is on, without the blanks around it; "" if it cannot be read. */
const char *source_line(const model_site_t *site);

int mutate(const model_client_t *clients, size_t count, const char *list, const char *only);

#endif
