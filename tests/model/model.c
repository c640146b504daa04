/* model.c: the engine of model.h, and the system (src/os.h) that the checked sources run on.
 *
 * An execution is a sequence of choices; path[] holds the current one. Each run replays path[] from a fresh setup and goes
 * on with choice 0 wherever it leads to new ground; then the last choice that has another alternative is changed, until
 * none has. A state that was reached before, by another order of independent steps, is left at once: a state is known by
 * what each thread has done and read so far, by the order of the stores, and by what each thread may still read.
 *
 * Memory: each word has its stores in modification order. A thread's view says, for each word, the newest store that it
 * must see; a load may return that one or any newer one. Releasing attaches the view to the store, acquiring takes it
 * over, a full fence exchanges it with the one view of all full fences. Clocks beside the views say what happens before
 * what, for races on plain memory only. */
#include "model.h"
#include "model_atomic.h"
#include "os.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

enum {
    WORDS = 48,      /* atomic words that a client may touch */
    SEQUENCE = 2048, /* stores of one thread in an execution */
    STORES = 1024,   /* stores to one word in an execution */
    CELLS = 1024,    /* plain memory under watch, in units of 4 bytes; a power of two */
    STEPS = 4000,    /* an execution of more steps is a livelock */
    CHOICES = 3 * STEPS,
    TRACED = 200,     /* steps that a trace shows at the start and before the livelock bound */
    STALE_ROUNDS = 2, /* yields and waits after which a thread sees the newest store to a word it keeps reading */
    FREE_PAUSES = 2,  /* pauses of a thread, with accesses in between, that do not yield: it may spin in vain */
    STACK = 256 * 1024,
    FREED = 8,
    DEEP_STEPS = 100000000, /* of all executions of one client of --full */
    MUTANT_STEPS = 5000000, /* of all executions of one client that a mutant has to pass */
    SECOND = 1000000000
};

/* A store is named by its thread and its number there, which are the same in every order of independent steps: 0 is the
 * value that a word had at the start. */
typedef uint16_t store_id;

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
    uint8_t users;  /* threads that accessed it, as bits */
    bool stored;    /* by any of them */
    bool statistic; /* what it holds steers nothing: an access is no step and reads the newest */
    bool shared;    /* by two, and one stored: its accesses are steps */
    store_id woken; /* what a wait on it must see at least: the newest that a wake was called after */
    store_id order[STORES];
} word_t;

typedef enum status { DONE, READY, ASLEEP } status_t;

typedef struct thread {
    void *context;
    status_t status;
    view_t now, pending, fenced; /* what it sees; what it will see after a fence; what it releases by a relaxed store */
    uint64_t history;
    uint16_t stores;
    /* the scheduler's, sets of threads as bits; Musuvathi and Qadeer's fair scheduling */
    uint8_t after, scheduled, enabled;
    bool yielded, paused;
    uint8_t pauses;
    /* asleep */
    const void *asleep_on;
    uint64_t deadline, waited; /* waited: how far its clock is ahead, see now_of() */
    unsigned queued;
    int result;
    uint64_t read_since_yield; /* words, as bits */
    uint8_t stale[WORDS];
} thread_t;

typedef struct choice {
    uint8_t count, pick;
} choice_t;

typedef struct cell {
    uintptr_t unit;
    uint32_t run;
    uint8_t writer;
    uint16_t written, read[MODEL_THREADS + 1];
} cell_t;

static const model_client_t *client;
static unsigned bound, old_read_bound; /* of this exploration; old_read_bound 0: none */
static bool tracing, replaying, starting, deep;

static thread_t threads[MODEL_THREADS + 1];
static store_t stores[MODEL_THREADS + 1][SEQUENCE];
static word_t words[WORDS];
static unsigned word_count;
static uint64_t shared_words; /* of a replayed execution, in the order of their first access */
static uint8_t word_index[4096];
static view_t fences;
static cell_t cells[CELLS];
static struct {
    uintptr_t start, end;
} freed[FREED];
static unsigned freed_count;
static choice_t path[CHOICES];
static unsigned path_used, path_known;
static int self;
static unsigned thread_count, preemptions, old_reads, spurious, weak_failures, clock_jumps, refusals, tickets;
static uint64_t now_ns, setup_mark;
static uint32_t run;
static unsigned step;
static void *engine_context;

static model_verdict_t verdict;
static bool pruned, again;
static char failure[512];
static uint64_t executions, prunes, outcomes, states;

static unsigned client_number;
static const char *weakened;                                       /* the mutant that this run is to be, or NULL */
extern model_site_t *__start_model_sites[], *__stop_model_sites[]; /* the linker's names for a section's ends */

static const char *const order_name[] = { "relaxed", "acquire", "release", "acq_rel" };
static const char *const kind_name[] = { "load", "store", "exchange", "cas", "fetch", "fence", "heavy" };

/* ---- coroutines ---- */

static char stacks[MODEL_THREADS + 1][STACK] __attribute__((aligned(64)));

static void thread_main(void);

#if defined(__x86_64__)
/* Saves what a call must keep, swaps the stacks. swapcontext() would make a system call at each switch. */
void model_switch_(void **from, void *to);
__asm__(".text\n.globl model_switch_\n.type model_switch_,@function\nmodel_switch_:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp,(%rdi)\nmov %rsi,%rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n"
        ".size model_switch_,.-model_switch_\n");

static void context_start(int t)
{
    void **top = (void **)(void *)(stacks[t] + STACK) - 1;
    *top = NULL; /* where thread_main() would return to: the stack is aligned as after a call */
    *--top = (void *)(uintptr_t)thread_main;
    for (int i = 0; i < 6; i++) *--top = NULL;
    threads[t].context = top;
}

static void context_switch(void **from, void **to)
{
    model_switch_(from, *to);
}
#else
static ucontext_t contexts[MODEL_THREADS + 2];

static void context_start(int t)
{
    getcontext(&contexts[t]);
    contexts[t].uc_stack.ss_sp = stacks[t];
    contexts[t].uc_stack.ss_size = STACK;
    makecontext(&contexts[t], thread_main, 0);
    threads[t].context = &contexts[t];
}

static void context_switch(void **from, void **to)
{
    ucontext_t *here = from == &engine_context ? &contexts[MODEL_THREADS + 1] : *from;
    *from = here;
    swapcontext(here, *to);
}
#endif

/* ---- the end of an execution ---- */

static void leave(void)
{
    void *nobody = NULL;
#if !defined(__x86_64__)
    nobody = &contexts[self];
#endif
    context_switch(&nobody, &engine_context);
    abort();
}

static void fail(model_verdict_t how, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failure, sizeof failure, format, arguments);
    va_end(arguments);
    verdict = how;
    if (self != 0) leave();
}

static void trace_line(const char *format, ...)
{
    if (step > TRACED && step < STEPS - TRACED) return;
    va_list arguments;
    printf("  %4u  T%d  ", step, self);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

#define trace(...) (tracing ? trace_line(__VA_ARGS__) : (void)0)

static const char *site_text(const model_site_t *site)
{
    static char text[4][128];
    static unsigned turn;
    char *out = text[turn++ % 4];
    const char *file = strrchr(site->file, '/');
    snprintf(out, sizeof text[0], "%s:%d", file ? file + 1 : site->file, site->line);
    return out;
}

static const char *word_name(const word_t *w)
{
    static char text[32];
    if (w->name) return w->name;
    snprintf(text, sizeof text, "%p", w->address);
    return text;
}

/* ---- choices ---- */

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 32;
}

static void history(uint64_t what)
{
    threads[self].history = mix(threads[self].history, what);
}

static unsigned choose(unsigned count)
{
    if (count <= 1) return 0;
    if (path_used == CHOICES || count > 255) {
        fail(MODEL_MISUSE, "too many choices");
        return 0;
    }
    choice_t *c = &path[path_used];
    if (path_used >= path_known) {
        c->count = (uint8_t)count;
        c->pick = 0;
    } else if (replaying) {
        c->count = (uint8_t)count;
    }
    if (c->count != count || c->pick >= count) {
        fail(MODEL_MISUSE, replaying ? "the replayed execution is not one of this program"
                                     : "the client is not deterministic: setup must put everything back");
        return 0;
    }
    path_used++;
    return c->pick;
}

unsigned model_choose(unsigned count)
{
    unsigned pick = choose(count);
    if (self == 0)
        setup_mark = mix(setup_mark, pick + 1);
    else
        history(pick);
    return pick;
}

/* ---- states seen before ---- */

typedef struct seen {
    uint64_t hash;
    uint32_t epoch;  /* the exploration it is of */
    uint32_t budget; /* preemptions that were left */
} seen_t;

static seen_t *table;
static uint64_t table_size, table_used;
static uint32_t epoch;

static uint64_t view_hash(const view_t *v)
{
    uint64_t sum = 0;
    for (unsigned w = 0; w < word_count; w++)
        if (v->seen[w] && !words[w].statistic) sum += mix(0x1234567, (uint64_t)w << 16 | v->seen[w]);
    for (unsigned t = 1; t <= thread_count; t++) sum = mix(sum, v->clock[t]);
    return sum;
}

static uint64_t state_hash(bool stay)
{
    uint64_t h = mix(now_ns ^ setup_mark,
                     (uint64_t)old_reads << 48 | (uint64_t)spurious << 32 | weak_failures << 16 | clock_jumps);
    if (bound != MODEL_UNBOUNDED) h = mix(h, stay ? (uint64_t)self : 0);
    for (unsigned t = 1; t <= thread_count; t++) {
        const thread_t *th = &threads[t];
        h = mix(h, th->history);
        h = mix(h, (uint64_t)th->status << 48 | (uint64_t)th->yielded << 40 | (uint64_t)th->paused << 41 |
                       (uint64_t)th->after << 24 | (uint64_t)th->scheduled << 16 | (uint64_t)th->enabled << 8);
        if (th->status == DONE && !client->membarrier) continue;
        h = mix(h, view_hash(&th->now));
        h = mix(h, view_hash(&th->pending));
        h = mix(h, view_hash(&th->fenced));
        if (th->status == ASLEEP) {
            unsigned before = 0;
            for (unsigned u = 1; u <= thread_count; u++)
                before += threads[u].status == ASLEEP && threads[u].queued < th->queued;
            h = mix(h, before);
        }
        uint64_t stale = 0;
        for (unsigned w = 0; w < word_count; w++)
            if (th->stale[w]) stale += mix(w + 1, th->stale[w]);
        h = mix(h, stale);
    }
    h = mix(h, view_hash(&fences));
    for (unsigned w = 0; w < word_count; w++) {
        const word_t *word = &words[w];
        if (word->run != run || word->statistic) continue;
        if (word->woken) h = mix(h, (uint64_t)w << 16 | word->woken);
        for (unsigned i = 1; i < word->count; i++)
            h = mix(h, stores[word->order[i] / SEQUENCE][word->order[i] % SEQUENCE].mark);
    }
    for (unsigned i = 0; i < freed_count; i++) h = mix(h, freed[i].start);
    return h ? h : 1;
}

static seen_t *table_find(uint64_t hash)
{
    uint64_t i = hash & (table_size - 1);
    while (table[i].epoch == epoch && table[i].hash != hash) i = (i + 1) & (table_size - 1);
    return &table[i];
}

static void table_grow(void)
{
    seen_t *old = table;
    uint64_t old_size = table_size;
    table_size = old_size ? old_size * 2 : 1 << 16;
    table = calloc(table_size, sizeof *table);
    if (!table) abort();
    for (uint64_t i = 0; i < old_size; i++)
        if (old[i].epoch == epoch) *table_find(old[i].hash) = old[i];
    free(old);
}

/* Whether everything from here on was or will be explored from an earlier visit. */
static bool seen_before(bool stay)
{
    if (replaying || tracing) return false;
    if (table_used * 2 >= table_size) table_grow();
    uint64_t hash = state_hash(stay);
    uint32_t budget = bound == MODEL_UNBOUNDED ? 0 : bound - preemptions;
    seen_t *s = table_find(hash);
    if (s->epoch == epoch) {
        if (s->budget >= budget) return true;
    } else {
        table_used++;
        states++;
    }
    *s = (seen_t){ hash, epoch, budget };
    return false;
}

/* ---- the scheduler ---- */

static unsigned bit(unsigned t)
{
    return 1u << t;
}

/* A time that is long enough for every thread to pass a fence is each sleeper's own: were the clock moved on for all, another
 * could find its time over although the fences it waited for have not been passed. */
static uint64_t now_of(const thread_t *th)
{
    return now_ns + th->waited;
}

/* Picks who makes the next step, and accounts for it. */
static unsigned pick_next(void)
{
    unsigned ready = 0, timed = 0, asleep = 0, may = 0, live = 0;
    for (unsigned t = 1; t <= thread_count; t++) {
        const thread_t *th = &threads[t];
        if (th->status == READY) ready |= bit(t);
        if (th->status == ASLEEP) asleep |= bit(t);
        if (th->status == ASLEEP && th->deadline != CC_FOREVER) timed |= bit(t);
    }
    live = ready | timed;
    if (live == 0) {
        if (asleep == 0) leave();
        char text[8 * MODEL_THREADS];
        int length = 0;
        for (unsigned t = 1; t <= thread_count; t++)
            if (asleep & bit(t)) length += snprintf(text + length, sizeof text - (size_t)length, " T%u", t);
        fail(MODEL_DEADLOCK, "a wake-up was lost: asleep for ever:%s", text);
    }
    if (step >= STEPS) fail(MODEL_LIVELOCK, "a livelock: %d steps and no end", STEPS);

    for (unsigned t = 1; t <= thread_count; t++)
        if ((live & bit(t)) && !(threads[t].after & live)) may |= bit(t);
    unsigned awake = may;
    for (unsigned t = 1; t <= thread_count; t++)
        if (threads[t].yielded) awake &= ~bit(t);
    if (awake) may = awake;

    /* Going on with the same thread is choice 0; then the ready ones in turn; then those whose deadline would have to
     * pass; then those that would have to wake for no reason. */
    uint8_t options[3 * MODEL_THREADS] = { 0 };
    unsigned count = 0, me = (unsigned)self;
    bool stay = (may & ready & bit(me)) != 0;
    if (stay) options[count++] = (uint8_t)me;
    if (!stay || preemptions < bound || bound == MODEL_UNBOUNDED) {
        for (unsigned i = 0; i < thread_count; i++) {
            unsigned t = (me + i) % thread_count + 1;
            if ((may & ready & bit(t)) && !(stay && t == me)) options[count++] = (uint8_t)t;
        }
        for (unsigned t = 1; t <= thread_count; t++)
            if (may & timed & bit(t)) options[count++] = (uint8_t)t;
        if (spurious < client->spurious)
            for (unsigned t = 1; t <= thread_count; t++)
                if (asleep & bit(t)) options[count++] = (uint8_t)(t | 0x80);
    }
    if (me != 0 && path_used >= path_known && seen_before(stay)) {
        pruned = true;
        leave();
    }
    unsigned option = options[choose(count)], next = option & 0x7f;
    if (stay && next != me) preemptions++;

    thread_t *th = &threads[next];
    if (th->status == ASLEEP) {
        th->status = READY;
        if (option & 0x80) {
            spurious++;
            th->result = choose(2) ? EINTR : 0;
        } else {
            th->result = ETIMEDOUT;
            if (now_of(th) < th->deadline) *(client->refusals ? &th->waited : &now_ns) += th->deadline - now_of(th);
        }
    }
    for (unsigned t = 1; t <= thread_count; t++) {
        threads[t].after &= (uint8_t)~bit(next);
        threads[t].scheduled |= (uint8_t)bit(next);
        threads[t].enabled &= (uint8_t)live;
        if (t != next) threads[t].yielded = false;
    }
    th->now.clock[next]++;
    th->paused = false;
    step++;
    return next;
}

/* Called by a thread before each step, and when it falls asleep or ends; returns when it is its turn. */
static void reschedule(void)
{
    unsigned me = (unsigned)self;
    if (starting) {
        context_switch(&threads[me].context, &engine_context);
        return;
    }
    unsigned next = pick_next();
    if (next == me) return;
    self = (int)next;
    context_switch(&threads[me].context, &threads[next].context);
}

static void thread_main(void)
{
    client->threads[self - 1]();
    threads[self].status = DONE;
    threads[self].history = mix(threads[self].history, 0xd01e);
    trace("ends");
    reschedule();
    abort();
}

/* A store is seen after a while: not how soon, but that a loop which waits for it ends. */
static void end_round(void)
{
    thread_t *me = &threads[self];
    for (uint64_t left = me->read_since_yield; left; left &= left - 1) {
        unsigned w = (unsigned)__builtin_ctzll(left);
        bool stale = me->now.seen[w] != words[w].order[words[w].count - 1];
        me->stale[w] = stale ? (uint8_t)(me->stale[w] + (me->stale[w] < STALE_ROUNDS)) : 0;
    }
    me->read_since_yield = 0;
}

/* A thread that yields runs again when another has made a step; one that keeps yielding waits for every thread that could
 * have run all the while. */
static void yield(bool is_pause)
{
    if (self == 0) return;
    thread_t *me = &threads[self];
    if (is_pause && (me->paused || me->pauses < FREE_PAUSES)) {
        if (!me->paused) me->pauses++, history(0x9a);
        me->paused = true;
        return;
    }
    end_round();
    me->after |= (uint8_t)(me->enabled & ~me->scheduled & ~bit((unsigned)self));
    me->scheduled = 0;
    me->enabled = 0;
    for (unsigned t = 1; t <= thread_count; t++)
        if (threads[t].status != DONE && (threads[t].status != ASLEEP || threads[t].deadline != CC_FOREVER))
            me->enabled |= (uint8_t)bit(t);
    me->yielded = true;
    history(0x1e1d);
    reschedule();
    me->yielded = false;
    me->paused = is_pause;
    trace(is_pause ? "pauses" : "yields");
}

void model_pause_(void)
{
    yield(true);
}

/* ---- memory ---- */

static uint64_t peek(const void *p, size_t size)
{
    uint64_t value = 0;
    memcpy(&value, p, size);
    return value;
}

static void poke(void *p, size_t size, uint64_t value)
{
    memcpy(p, &value, size);
}

static uint64_t trim(uint64_t value, size_t size)
{
    return size >= 8 ? value : value & ((UINT64_C(1) << 8 * size) - 1);
}

static unsigned place(store_id id)
{
    return id ? stores[id / SEQUENCE][id % SEQUENCE].place : 0;
}

static void join_words(view_t *to, const view_t *from)
{
    for (unsigned w = 0; w < word_count; w++)
        if (from->seen[w] != to->seen[w] && place(from->seen[w]) > place(to->seen[w])) to->seen[w] = from->seen[w];
}

static void join(view_t *to, const view_t *from)
{
    join_words(to, from);
    for (unsigned t = 1; t <= thread_count; t++)
        if (from->clock[t] > to->clock[t]) to->clock[t] = from->clock[t];
}

static void check_alive(const void *p, size_t size)
{
    uintptr_t start = (uintptr_t)p;
    for (unsigned i = 0; i < freed_count; i++)
        if (start < freed[i].end && start + size > freed[i].start)
            fail(MODEL_FREED, "T%d touches memory that is freed", self);
}

/* Words keep their number from one execution to the next, so that states can be compared. */
static word_t *word_at(const void *p)
{
    uintptr_t address = (uintptr_t)p;
    unsigned i = (unsigned)(address >> 2 ^ address >> 12) % sizeof word_index;
    for (; word_index[i]; i = (i + 1) % sizeof word_index)
        if (words[word_index[i] - 1].address == p) return &words[word_index[i] - 1];
    if (word_count == WORDS) {
        fprintf(stderr, "model: more than %d words\n", WORDS);
        abort();
    }
    word_index[i] = (uint8_t)++word_count;
    words[word_count - 1].address = p;
    words[word_count - 1].shared = replaying && (shared_words >> (word_count - 1) & 1);
    return &words[word_count - 1];
}

static word_t *word_of(const void *p, size_t size)
{
    word_t *w = word_at(p);
    if (w->run != run) {
        w->run = run;
        w->size = (uint8_t)size;
        w->initial = peek(p, size);
        w->count = 1;
        w->order[0] = 0;
        w->woken = 0;
    }
    if (w->size != size) fail(MODEL_MISUSE, "%s is accessed with two sizes", word_name(w));
    return w;
}

static uint64_t value_of(const word_t *w, store_id id)
{
    return id ? stores[id / SEQUENCE][id % SEQUENCE].value : w->initial;
}

static store_id newest(const word_t *w)
{
    return w->order[w->count - 1];
}

/* A mutant's name: where, what, and how its order is weakened. */
static const char *mutant_name(const model_site_t *site, unsigned order)
{
    static char text[160];
    snprintf(text, sizeof text, "%s:%s:%s", site_text(site), kind_name[site->kind],
             site->kind >= MODEL_FENCE ? "removed" : order_name[order]);
    return text;
}

static void site_used(model_site_t *site)
{
    site->clients[client_number / 64] |= UINT64_C(1) << client_number % 64;
    if (site->used) return;
    site->used = (uint8_t)(site->order + 1);
    for (unsigned order = site->order; weakened && order-- > 0;) /* down to 0, which is what removes a fence */
        if (!strcmp(weakened, mutant_name(site, order))) site->used = (uint8_t)(order + 1);
}

static unsigned site_order(const model_site_t *site)
{
    return site->used - 1u;
}

/* An access to a word that no two threads access, or that none writes, is no step: nobody else can tell when it happened.
 * Which words those are is learnt on the way; when one more turns out to be shared, the exploration starts over. */
static void use(word_t *w, bool stores_to_it)
{
    w->users |= (uint8_t)bit((unsigned)self);
    w->stored |= stores_to_it;
    if (w->shared || w->statistic || !w->stored || (w->users & (w->users - 1)) == 0) return;
    if (replaying) return;
    w->shared = true;
    again = pruned = true;
    leave();
}

/* The beginning of each access: waits for its turn. NULL outside of threads, where memory is just memory. */
static word_t *begin(model_site_t *site, const void *p, size_t size)
{
    if (self == 0) return NULL;
    site_used(site);
    word_t *w = word_at(p);
    use(w, site->kind != MODEL_LOAD);
    if (w->shared && !w->statistic) {
        reschedule();
    } else {
        threads[self].paused = false;
        if (++step >= STEPS) fail(MODEL_LIVELOCK, "a livelock: %d steps and no end", STEPS);
    }
    check_alive(p, size);
    w = word_of(p, size);
    if (peek(p, size) != value_of(w, newest(w)) && !w->shared && (w->users & (w->users - 1)) == 0) {
        w->run = 0; /* its only user may also write it plainly */
        threads[self].now.seen[w - words] = 0;
        w = word_of(p, size);
    }
    if (peek(p, size) != value_of(w, newest(w))) fail(MODEL_MISUSE, "%s was written by a plain store", word_name(w));
    return w;
}

static const char *from_text(const word_t *w, store_id id)
{
    static char text[96];
    int n = id ? snprintf(text, sizeof text, "stored by T%d at %u", id / SEQUENCE,
                          stores[id / SEQUENCE][id % SEQUENCE].step)
               : snprintf(text, sizeof text, "initial");
    if (id != newest(w))
        snprintf(text + n, sizeof text - (size_t)n, "; the newest is %" PRIu64, value_of(w, newest(w)));
    return text;
}

static uint64_t read_from(word_t *w, store_id id, unsigned order)
{
    thread_t *me = &threads[self];
    unsigned i = (unsigned)(w - words);
    me->now.seen[i] = id;
    me->read_since_yield |= UINT64_C(1) << i;
    if (id == newest(w))
        me->stale[i] = 0;
    else if (old_read_bound)
        old_reads++;
    if (id) {
        const view_t *view = &stores[id / SEQUENCE][id % SEQUENCE].view;
        join(order & MODEL_ACQUIRE ? &me->now : &me->pending, view);
    }
    if (!w->statistic) history(id);
    return value_of(w, id);
}

/* Puts a store at a place in the order; `read`: by a read-modify-write that read this one, just before it. */
static void write_at(word_t *w, unsigned at, uint64_t value, unsigned order, bool modifies, store_id read)
{
    thread_t *me = &threads[self];
    unsigned i = (unsigned)(w - words);
    if (w->count == STORES || ++me->stores == SEQUENCE) fail(MODEL_LIVELOCK, "a livelock: too many stores");
    store_id id = (store_id)(self * SEQUENCE + me->stores);
    store_t *s = &stores[self][me->stores];
    for (unsigned k = w->count; k > at; k--) {
        w->order[k] = w->order[k - 1];
        stores[w->order[k] / SEQUENCE][w->order[k] % SEQUENCE].place = (uint16_t)k;
    }
    w->order[at] = id;
    w->count++;
    s->value = value;
    s->place = (uint16_t)at;
    s->step = (uint16_t)step;
    s->modifies = modifies;
    me->now.seen[i] = id;
    s->view = order & MODEL_RELEASE ? me->now : me->fenced;
    s->view.seen[i] = id;
    if (modifies && read) join(&s->view, &stores[read / SEQUENCE][read % SEQUENCE].view);
    s->mark = mix(mix(id, value), view_hash(&s->view));
    if (newest(w) == id) poke((void *)(uintptr_t)w->address, w->size, value);
    history(at == w->count - 1u ? 0 : at);
}

/* The place of the oldest store that the thread may read. */
static unsigned oldest_place(const word_t *w)
{
    const thread_t *me = &threads[self];
    unsigned i = (unsigned)(w - words);
    bool only_newest = me->stale[i] >= STALE_ROUNDS || w->statistic || (old_read_bound && old_reads >= old_read_bound);
    return only_newest ? w->count - 1u : place(me->now.seen[i]);
}

uint64_t model_load_(model_site_t *site, const void *p, size_t size)
{
    word_t *w = begin(site, p, size);
    if (!w) return peek(p, size);
    store_id id = w->order[w->count - 1u - choose(w->count - oldest_place(w))];
    uint64_t value = read_from(w, id, site_order(site));
    trace("%-18s load %s of %s -> %" PRIu64 " (%s)", site_text(site), order_name[site_order(site)], word_name(w), value,
          from_text(w, id));
    return value;
}

void model_store_(model_site_t *site, void *p, size_t size, uint64_t value)
{
    word_t *w = begin(site, p, size);
    value = trim(value, size);
    if (!w) {
        poke(p, size, value);
        return;
    }
    unsigned places[STORES], count = 0, at = w->count;
    places[count++] = at;
    if (client->insert)
        while (--at > place(threads[self].now.seen[w - words]) && count < 200)
            if (!stores[w->order[at] / SEQUENCE][w->order[at] % SEQUENCE].modifies) places[count++] = at;
    at = places[choose(count)];
    write_at(w, at, value, site_order(site), false, 0);
    trace("%-18s store %s to %s <- %" PRIu64 "%s", site_text(site), order_name[site_order(site)], word_name(w), value,
          at + 1u < w->count ? " (before a newer one)" : "");
}

/* Which store a read-modify-write reads: the newest; or an older one that no other has followed up, if stores may land
 * before others. */
static store_id modify_choice(word_t *w)
{
    store_id found[STORES];
    unsigned count = 0, at = w->count;
    found[count++] = newest(w);
    if (client->insert)
        while (--at > place(threads[self].now.seen[w - words]) && count < 200)
            if (!stores[w->order[at] / SEQUENCE][w->order[at] % SEQUENCE].modifies) found[count++] = w->order[at - 1];
    return found[choose(count)];
}

static uint64_t modify(model_site_t *site, word_t *w, uint64_t (*function)(uint64_t, uint64_t), uint64_t operand)
{
    store_id read = modify_choice(w);
    const char *from = tracing ? from_text(w, read) : "";
    uint64_t old = read_from(w, read, site_order(site)), value = trim(function(old, operand), w->size);
    write_at(w, place(read) + 1, value, site_order(site), true, read);
    trace("%-18s %s %s of %s: %" PRIu64 " (%s) -> %" PRIu64, site_text(site), kind_name[site->kind],
          order_name[site_order(site)], word_name(w), old, from, value);
    return old;
}

static uint64_t do_exchange(uint64_t old, uint64_t v)
{
    (void)old;
    return v;
}
static uint64_t do_add(uint64_t old, uint64_t v)
{
    return old + v;
}
static uint64_t do_sub(uint64_t old, uint64_t v)
{
    return old - v;
}
static uint64_t do_or(uint64_t old, uint64_t v)
{
    return old | v;
}
static uint64_t do_and(uint64_t old, uint64_t v)
{
    return old & v;
}

static uint64_t modify_or_plain(model_site_t *site, void *p, size_t size, uint64_t (*function)(uint64_t, uint64_t),
                                uint64_t v)
{
    word_t *w = begin(site, p, size);
    if (w) return modify(site, w, function, v);
    uint64_t old = peek(p, size);
    poke(p, size, function(old, v));
    return old;
}

uint64_t model_exchange_(model_site_t *site, void *p, size_t size, uint64_t value)
{
    return modify_or_plain(site, p, size, do_exchange, value);
}

uint64_t model_fetch_(model_site_t *site, int op, void *p, size_t size, uint64_t value)
{
    static uint64_t (*const functions[])(uint64_t, uint64_t) = { do_add, do_sub, do_or, do_and };
    return modify_or_plain(site, p, size, functions[op], value);
}

/* Succeeds on the newest store if that has the value; fails, as a relaxed load, on any that the thread may read and that
 * has another. */
bool model_cas_(model_site_t *site, void *p, size_t size, void *expected, uint64_t value, bool weak)
{
    uint64_t want = peek(expected, size);
    word_t *w = begin(site, p, size);
    value = trim(value, size);
    if (!w) {
        if (peek(p, size) == want) {
            poke(p, size, value);
            return true;
        }
        poke(expected, size, peek(p, size));
        return false;
    }
    unsigned oldest = oldest_place(w);
    store_id found[256];
    unsigned count = 0;
    store_id last = newest(w);
    found[count++] = last;
    if (client->insert && value_of(w, last) == want) {
        last = modify_choice(w);
        found[0] = last;
    }
    for (unsigned at = w->count - 1u; at-- > oldest && count < 200;)
        if (value_of(w, w->order[at]) != want) found[count++] = w->order[at];
    bool may_fail = weak && value_of(w, last) == want && weak_failures < client->weak_failures;
    unsigned pick = choose(count + may_fail);
    store_id read = found[pick < count ? pick : 0];
    bool success = pick == 0 && value_of(w, read) == want;
    unsigned order = success ? site_order(site) : MODEL_RELAXED;
    if (pick == count) weak_failures++;
    uint64_t old = read_from(w, read, order);
    const char *from = tracing ? from_text(w, read) : "";
    if (success)
        write_at(w, place(read) + 1, value, order, true, read);
    else
        poke(expected, size, old);
    history(success);
    if (success)
        trace("%-18s cas %s of %s: %" PRIu64 " (%s) -> %" PRIu64, site_text(site), order_name[order], word_name(w), old,
              from, value);
    else
        trace("%-18s cas of %s fails: %" PRIu64 " (%s), wanted %" PRIu64, site_text(site), word_name(w), old, from,
              want);
    return success;
}

/* A full fence acquires what was read and releases what follows; and all full fences are in one order: what came before
 * an earlier one is seen after a later one. It makes nothing happen before anything by itself, so clocks stay. */
static void fence(thread_t *th)
{
    join(&th->now, &th->pending);
    join_words(&th->now, &fences);
    join_words(&fences, &th->now);
    th->fenced = th->now;
}

void model_fence_(model_site_t *site)
{
    if (self == 0) return;
    site_used(site);
    if (!site_order(site)) return;
    reschedule();
    fence(&threads[self]);
    history(0xfe);
    trace("%-18s full fence", site_text(site));
}

/* Whether this call of the heavy fence is to be made. */
bool model_heavy_(model_site_t *site)
{
    if (self == 0) return true;
    site_used(site);
    return site_order(site) != 0;
}

/* ---- plain memory ---- */

static void plain(const void *memory, size_t bytes, bool writes)
{
    if (self == 0) return;
    check_alive(memory, bytes);
    view_t *now = &threads[self].now;
    uintptr_t first = (uintptr_t)memory / 4, last = ((uintptr_t)memory + bytes - 1) / 4;
    for (uintptr_t unit = first; unit <= last; unit++) {
        cell_t *c;
        unsigned i = (unsigned)(unit % CELLS), tries = 0;
        for (;; i = (i + 1) % CELLS) {
            c = &cells[i];
            if (c->run != run) {
                memset(c, 0, sizeof *c);
                c->run = run;
                c->unit = unit;
            }
            if (c->unit == unit) break;
            if (++tries == CELLS) fail(MODEL_MISUSE, "too much plain memory");
        }
        int other = 0;
        if (c->writer && c->written > now->clock[c->writer]) other = c->writer;
        for (unsigned t = 1; writes && t <= thread_count; t++)
            if (c->read[t] > now->clock[t]) other = (int)t;
        if (other)
            fail(MODEL_RACE, "a data race: T%d %s at %p what T%d %s", self, writes ? "writes" : "reads", memory, other,
                 c->writer == other && c->written > now->clock[other] ? "wrote" : "read");
        if (writes) {
            c->writer = (uint8_t)self;
            c->written = now->clock[self];
        } else {
            c->read[self] = now->clock[self];
        }
    }
    trace("%s %zu bytes of plain memory at %p", writes ? "writes" : "reads", bytes, memory);
}

void model_read(const void *memory, size_t bytes)
{
    plain(memory, bytes, false);
}

void model_write(const void *memory, size_t bytes)
{
    plain(memory, bytes, true);
}

void *model_copy(void *to, const void *from, size_t bytes)
{
    plain(from, bytes, false);
    plain(to, bytes, true);
    return memcpy(to, from, bytes);
}

void model_freed(const void *memory, size_t bytes)
{
    if (freed_count == FREED) fail(MODEL_MISUSE, "too many frees");
    freed[freed_count].start = (uintptr_t)memory;
    freed[freed_count++].end = (uintptr_t)memory + bytes;
    trace("frees %zu bytes at %p", bytes, memory);
}

/* ---- the system: src/os.h ---- */

/* Each other thread passes a fence at some point before this returns, not all at the same. */
static void fence_everywhere(const char *why)
{
    fence(&threads[self]);
    bool downwards = thread_count > 2 && choose(2);
    history(downwards);
    for (unsigned i = 1; i <= thread_count; i++) {
        unsigned t = downwards ? thread_count + 1 - i : i;
        if ((int)t == self) continue;
        reschedule();
        fence(&threads[t]);
        trace("%s: a fence in T%u", why, t);
        history(t);
    }
    fence(&threads[self]);
    history(0x4ea);
}

/* Falls asleep if the word has the value, as far as this thread can know: it may read an older store, but none older than
 * what was there when a wake came before. No view passes from the waker to the woken. */
int cc_os_wait_(const uint32_t *p, uint32_t expected, uint64_t deadline)
{
    if (self == 0) return 0;
    reschedule();
    check_alive(p, sizeof *p);
    thread_t *me = &threads[self];
    word_t *w = word_of(p, sizeof *p);
    use(w, false);
    unsigned oldest = place(me->now.seen[w - words]);
    if (place(w->woken) > oldest) oldest = place(w->woken);
    bool equal = value_of(w, newest(w)) == expected, other = false;
    for (unsigned at = oldest; at + 1u < w->count; at++) other |= (value_of(w, w->order[at]) == expected) != equal;
    if (old_read_bound && old_reads >= old_read_bound) other = false;
    if (other && choose(2)) {
        equal = !equal;
        if (old_read_bound) old_reads++;
    }
    while ((value_of(w, w->order[oldest]) == expected) != equal) oldest++;
    me->now.seen[w - words] = w->order[oldest];
    me->read_since_yield |= UINT64_C(1) << (w - words);
    end_round();
    if (!equal) {
        history(EAGAIN);
        trace("wait on %s: not %" PRIu32, word_name(w), expected);
        return EAGAIN;
    }
    if (deadline <= now_of(me)) {
        history(ETIMEDOUT);
        trace("wait on %s: past the deadline", word_name(w));
        return ETIMEDOUT;
    }
    trace("wait on %s: sleeps while %" PRIu32, word_name(w), expected);
    me->status = ASLEEP;
    me->asleep_on = p;
    me->deadline = deadline;
    me->queued = ++tickets;
    history(0x51ee9);
    reschedule();
    history((uint64_t)me->result + 1);
    if (client->refusals && me->result == ETIMEDOUT) fence_everywhere("time passes");
    trace("wait on %s returns %s", word_name(w), me->result == 0 ? "0" : me->result == EINTR ? "EINTR" : "ETIMEDOUT");
    return me->result;
}

void cc_os_wake_(const uint32_t *p, uint32_t count)
{
    if (self == 0) return;
    reschedule();
    word_t *w = word_at(p);
    bool freed_word = false;
    for (unsigned i = 0; i < freed_count; i++)
        freed_word |= (uintptr_t)p >= freed[i].start && (uintptr_t)p < freed[i].end;
    if (!freed_word) {
        w = word_of(p, sizeof *p);
        store_id seen = threads[self].now.seen[w - words];
        if (place(seen) > place(w->woken)) w->woken = seen;
    }
    unsigned woken = 0;
    for (; woken < count; woken++) {
        uint8_t queue[MODEL_THREADS];
        unsigned sleepers = 0;
        for (unsigned t = 1; t <= thread_count; t++) {
            if (threads[t].status != ASLEEP || threads[t].asleep_on != p) continue;
            unsigned k = sleepers++;
            for (; k > 0 && threads[queue[k - 1]].queued > threads[t].queued; k--) queue[k] = queue[k - 1];
            queue[k] = (uint8_t)t;
        }
        if (sleepers == 0) break;
        thread_t *th = &threads[queue[sleepers <= count - woken ? 0 : choose(sleepers)]];
        th->status = READY;
        th->result = 0;
        trace("wake on %s: T%d", word_name(w), (int)(th - threads));
    }
    if (!woken) trace("wake on %s: nobody", word_name(w));
    history(0x3a4e);
}

void cc_os_yield_(void)
{
    yield(false);
}

/* Time passes only where somebody could notice: a timed wait that times out, and a read that finds a second gone. */
uint64_t cc_os_now_(void)
{
    if (self == 0) return now_ns;
    if (clock_jumps < client->clock_jumps && choose(2)) {
        clock_jumps++;
        now_ns += SECOND;
    }
    history(now_of(&threads[self]));
    return now_of(&threads[self]);
}

bool cc_os_membarrier_register_(void)
{
    return client ? client->membarrier : false;
}

bool cc_os_membarrier_(void)
{
    if (self == 0 || !client->membarrier) return client->membarrier;
    if (refusals < client->refusals && choose(2)) {
        refusals++;
        history(0x4ef);
        trace("membarrier is refused");
        return false;
    }
    reschedule();
    fence_everywhere("membarrier");
    return true;
}

/* Each thread has an answer of its own, so that a client can tell whose was taken. */
uint32_t cc_os_cpus_(void)
{
    return (uint32_t)self + 2;
}

bool cc_os_has_sb_(void)
{
    return false;
}

/* ---- clients ---- */

void model_check_(bool ok, const char *text, const char *file, int line)
{
    if (!ok && verdict == MODEL_PASSES) fail(MODEL_ASSERTION, "%s:%d: %s does not hold", file, line, text);
}

int model_self(void)
{
    return self;
}

void model_statistic(const void *word)
{
    word_at(word)->statistic = true;
}

void model_name(const void *word, const char *name)
{
    word_at(word)->name = name;
}

void model_outcome(unsigned outcome)
{
    outcomes |= UINT64_C(1) << outcome;
}

uint64_t model_outcomes(void)
{
    return outcomes;
}

uint64_t model_executions(void)
{
    return executions;
}

static void run_once(void)
{
    run++;
    self = 0;
    step = preemptions = old_reads = spurious = weak_failures = clock_jumps = refusals = tickets = freed_count = 0;
    now_ns = SECOND;
    setup_mark = 0;
    pruned = false;
    verdict = MODEL_PASSES;
    path_used = 0;
    memset(&fences, 0, sizeof fences);
    for (thread_count = 0; thread_count < MODEL_THREADS && client->threads[thread_count]; thread_count++) {}
    for (unsigned t = 1; t <= thread_count; t++) {
        memset(&threads[t], 0, sizeof threads[t]);
        threads[t].status = READY;
        threads[t].scheduled = (uint8_t)~0u;
        threads[t].now.clock[t] = 1;
        context_start((int)t);
    }
    client->setup();
    if (thread_count == 0 || verdict != MODEL_PASSES) return;
    /* Each thread runs up to its first step; nobody else sees that. */
    starting = true;
    for (unsigned t = 1; t <= thread_count && verdict == MODEL_PASSES; t++) {
        self = (int)t;
        context_switch(&engine_context, &threads[t].context);
    }
    starting = false;
    self = 0;
    if (verdict == MODEL_PASSES && !pruned) {
        unsigned live = 0;
        for (unsigned t = 1; t <= thread_count; t++) live += threads[t].status != DONE;
        if (live) {
            self = (int)pick_next();
            context_switch(&engine_context, &threads[self].context);
        }
    }
    self = 0;
    if (!pruned && verdict == MODEL_PASSES && client->finish) client->finish();
}

/* The next path in depth-first order; false: there is none. */
static bool backtrack(void)
{
    while (path_used > 0 && path[path_used - 1].pick + 1 >= path[path_used - 1].count) path_used--;
    if (path_used == 0) return false;
    path[path_used - 1].pick++;
    path_known = path_used;
    return true;
}

/* Of CPU time: what else the machine does is no matter here. */
static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void forget_words(void)
{
    memset(word_index, 0, sizeof word_index);
    memset(words, 0, sizeof words);
    word_count = 0;
}

static uint64_t steps, step_limit; /* of one exploration; a limit of 0 is none. Not a time: every run does the same */
static bool unfinished;

static model_verdict_t explore(const model_client_t *c, unsigned preemption_bound, unsigned old_reads_bound)
{
    bool more = true;
    client = c;
    bound = preemption_bound;
    old_read_bound = old_reads_bound;
    executions = prunes = states = outcomes = steps = 0;
    path_known = 0;
    unfinished = false;
    table_used = 0;
    epoch++;
    forget_words();
    do {
        run_once();
        steps += step;
        if (again) {
            again = false;
            executions = prunes = states = outcomes = 0;
            path_used = path_known = 0;
            table_used = 0;
            epoch++;
            continue;
        }
        if (pruned)
            prunes++;
        else
            executions++;
        if (verdict != MODEL_PASSES) return verdict;
        more = backtrack();
        unfinished = more && step_limit && steps >= step_limit;
    } while (more && !unfinished);
    return MODEL_PASSES;
}

model_verdict_t model_explore(const model_client_t *c)
{
    return explore(c, c->bound, c->old_reads);
}

/* ---- the program ---- */

static const char *const verdict_name[] = { "passes",    "assertion",      "lost wake-up", "livelock",
                                            "data race", "use after free", "misuse" };

/* Whether the failed path, run once more, fails in the same way. Finds out shared_words for a replay. */
static bool fails_again(void)
{
    static word_t before[WORDS];
    model_verdict_t first = verdict;
    unsigned count = word_count, used = path_used;
    bool same = false;
    memcpy(before, words, sizeof before);
    replaying = true;
    path_known = used;
    shared_words = 0;
    for (unsigned turn = 0; turn <= WORDS && !same; turn++) {
        forget_words();
        run_once();
        uint64_t found = 0;
        for (unsigned w = 0; w < word_count; w++)
            for (unsigned k = 0; k < count; k++)
                if (before[k].address == words[w].address && before[k].shared) found |= UINT64_C(1) << w;
        same = found == shared_words && verdict == first && path_used == used;
        shared_words = found;
    }
    path_used = used;
    replaying = false;
    return same;
}

/* Runs the failed path once more, aloud. */
static void show_failure(const char *program)
{
    printf("%s: %s\n", client->name, failure);
    tracing = replaying = true;
    forget_words();
    run_once();
    tracing = replaying = false;
    printf("  => %s\n", failure);
    for (unsigned t = 1; t <= thread_count; t++)
        if (threads[t].status == ASLEEP) printf("     T%u sleeps on %s\n", t, word_name(word_at(threads[t].asleep_on)));
    printf("  again: %s%s%s --replay %s/%u.%u/%" PRIx64 "/", program, weakened ? " --weaken " : "",
           weakened ? weakened : "", client->name, bound, old_read_bound, shared_words);
    for (unsigned i = 0, first = 1; i < path_used; i++) {
        if (path[i].pick == 0) continue;
        unsigned last = i;
        while (last + 1 < path_used && path[last + 1].pick == path[i].pick) last++;
        printf("%s%u", first ? "" : ",", i);
        if (last > i) printf("-%u", last);
        printf(".%u", path[i].pick);
        first = 0;
        i = last;
    }
    putchar('\n');
}

static bool read_path(const char *text)
{
    memset(path, 0, sizeof path);
    path_known = 0;
    while (*text) {
        char *rest;
        unsigned long at = strtoul(text, &rest, 10);
        unsigned long last = *rest == '-' ? strtoul(rest + 1, &rest, 10) : at;
        if (*rest != '.' || last >= CHOICES) return false;
        unsigned long pick = strtoul(rest + 1, &rest, 10);
        if (pick > 254 || (*rest && *rest != ',')) return false;
        for (; at <= last; at++) path[at].pick = (uint8_t)pick;
        path_known = (unsigned)last + 1;
        text = *rest ? rest + 1 : rest;
    }
    return true;
}

static int replay(const char *program, const char *text, const model_client_t *clients, size_t count)
{
    const char *slashes[3] = { NULL, NULL, NULL }; /* the last three: a name may have one, too */
    for (const char *at = text; (at = strchr(at, '/')) != NULL; at++) {
        slashes[0] = slashes[1];
        slashes[1] = slashes[2];
        slashes[2] = at;
    }
    const char *slash = slashes[0], *second = slashes[1], *third = slashes[2];
    if (!slash || !read_path(third + 1)) {
        fprintf(stderr, "%s: --replay NAME/BOUND/SHARED/CHOICES\n", program);
        return 2;
    }
    for (size_t i = 0; i < count; i++) {
        if (strlen(clients[i].name) != (size_t)(slash - text) || strncmp(clients[i].name, text, (size_t)(slash - text)))
            continue;
        client = &clients[i];
        char *dot;
        bound = (unsigned)strtoul(slash + 1, &dot, 10);
        old_read_bound = *dot == '.' ? (unsigned)strtoul(dot + 1, NULL, 10) : 0;
        shared_words = strtoull(second + 1, NULL, 16);
        tracing = replaying = true;
        forget_words();
        run_once();
        printf("  => %s\n", verdict == MODEL_PASSES ? "passes" : failure);
        return verdict == MODEL_PASSES ? 0 : 1;
    }
    fprintf(stderr, "%s: no client of that name\n", program);
    return 2;
}

/* ---- mutants: one order weakened, or one fence removed ---- */

/* The line of source that a site is on, without the blanks around it; "" if it cannot be read. */
static const char *source_line(const model_site_t *site)
{
    static char text[512];
    text[0] = 0;
    FILE *f = fopen(site->file, "r");
    if (!f) return text;
    for (int i = 0; i < site->line; i++)
        if (!fgets(text, sizeof text, f)) text[0] = 0;
    fclose(f);
    text[strcspn(text, "\n")] = 0;
    return text + strspn(text, " \t");
}

/* Lines of "file | part of the source line | mutation | reason": the mutants that no client catches, and why their order
 * stays. The reason, or NULL. */
static const char *kept_reason(const char *list, const model_site_t *site, const char *mutation)
{
    static char text[1024];
    FILE *f = list ? fopen(list, "r") : NULL;
    const char *reason = NULL, *line = source_line(site), *file = strrchr(site->file, '/');
    file = file ? file + 1 : site->file;
    while (f && !reason && fgets(text, sizeof text, f)) {
        char *fields[4] = { text, NULL, NULL, NULL };
        for (int i = 1; i < 4 && fields[i - 1]; i++) {
            char *bar = strstr(fields[i - 1], " | ");
            if (bar) *bar = 0;
            fields[i] = bar ? bar + 3 : NULL;
        }
        if (text[0] == '#' || !fields[3]) continue;
        if (!strcmp(fields[0], file) && strstr(line, fields[1]) && !strcmp(fields[2], mutation)) reason = fields[3];
    }
    if (f) fclose(f);
    return reason;
}

static unsigned list_length(const char *list)
{
    char text[1024];
    unsigned count = 0;
    FILE *f = fopen(list, "r");
    while (f && fgets(text, sizeof text, f)) count += text[0] != '#';
    if (f) fclose(f);
    return count;
}

static unsigned base_bound(const model_client_t *c)
{
    return deep && c->full_bound ? c->full_bound : c->bound;
}

/* One order weakened by one step: a fence goes; a swap that acquires and releases keeps one of the two; any other access
 * becomes relaxed. */
typedef struct mutant {
    model_site_t *site;
    unsigned order;
} mutant_t;

enum { MUTANTS = 256 };

static unsigned list_mutants(mutant_t *list, const char *only)
{
    unsigned count = 0;
    for (model_site_t **s = __start_model_sites; s < __stop_model_sites; s++) {
        const model_site_t *site = *s;
        bool swap = site->kind < MODEL_FENCE && site->order == MODEL_ACQ_REL;
        if (strstr(site->file, "tests/model/") && !strstr(site->file, "/../")) continue; /* the client's own */
        for (unsigned order = swap ? MODEL_ACQUIRE : MODEL_RELAXED; order < (swap ? MODEL_ACQ_REL : !!site->order);
             order++) {
            if (only && strncmp(only, mutant_name(site, order), strlen(only))) continue;
            if (count == MUTANTS) abort();
            list[count++] = (mutant_t){ *s, order };
        }
    }
    return count;
}

/* Runs the clients that execute it, in the given order, until one fails. Returns 'c'aught, 'k'ept or 'w'rong. */
static char try_mutant(const mutant_t *m, const model_client_t *clients, const size_t *in_order, size_t count,
                       const char *list)
{
    model_site_t *site = m->site;
    char name[160], mutation[64];
    const char *by = NULL, *how = NULL;
    bool executed = site->used != 0;
    snprintf(name, sizeof name, "%s", mutant_name(site, m->order));
    snprintf(mutation, sizeof mutation, "%s %s -> %s", kind_name[site->kind], order_name[site->order],
             site->kind >= MODEL_FENCE ? "removed" : order_name[m->order]);
    const char *reason = kept_reason(list, site, mutation);
    site->used = (uint8_t)(m->order + 1);
    for (size_t k = 0; executed && k < count && !by && (deep || !reason); k++) {
        size_t i = in_order[k];
        if (!(site->clients[i / 64] >> i % 64 & 1)) continue;
        client_number = (unsigned)i;
        if (explore(&clients[i], clients[i].bound, clients[i].old_reads) != MODEL_PASSES)
            by = clients[i].name, how = verdict_name[verdict];
    }
    site->used = executed ? (uint8_t)(site->order + 1) : 0;
    if (by && reason)
        printf("CAUGHT    %-34s %s by %s, but the list says that it is not\n", name, how, by);
    else if (by)
        printf("caught    %-34s %s by %s\n", name, how, by);
    else if (reason)
        printf("kept      %-34s %s", name, reason);
    else
        printf("SURVIVES  %-34s %s: %s%s\n", name, mutation, source_line(site),
               executed ? "" : " (no client executes it)");
    return by ? (reason ? 'w' : 'c') : reason ? 'k' : 'w';
}

/* As many processes as there are CPUs take the mutants from one pipe and put the results into another. */
static int mutate(const model_client_t *clients, size_t count, const char *list, const char *only)
{
    static mutant_t mutants[MUTANTS];
    uint64_t *cost = calloc(count, sizeof *cost);
    size_t *in_order = calloc(count, sizeof *in_order), used = 0;
    int jobs[2], results[2];
    if (!cost || !in_order || pipe(jobs) || pipe(results)) abort();
    /* Who executes which order, and how long each client takes: the cheapest go first. */
    for (size_t i = 0; i < count; i++) {
        client_number = (unsigned)i;
        if ((clients[i].in_full_only && !deep) ||
            explore(&clients[i], clients[i].bound, clients[i].old_reads) != MODEL_PASSES)
            continue;
        cost[i] = steps;
        size_t k = used++;
        for (; k > 0 && cost[in_order[k - 1]] > cost[i]; k--) in_order[k] = in_order[k - 1];
        in_order[k] = i;
    }
    unsigned total = list_mutants(mutants, only), caught = 0, kept = 0;
    for (unsigned i = 0; i < total; i++)
        if (write(jobs[1], &i, sizeof i) != sizeof i) abort();
    close(jobs[1]);
    fflush(stdout);
    long workers = sysconf(_SC_NPROCESSORS_ONLN);
    for (long w = 0; w < workers; w++) {
        if (fork() != 0) continue;
        for (unsigned i; read(jobs[0], &i, sizeof i) == sizeof i;) {
            char result = try_mutant(&mutants[i], clients, in_order, used, list);
            if (write(results[1], &result, 1) != 1) abort();
        }
        fflush(stdout);
        _exit(0);
    }
    close(results[1]);
    for (char result; read(results[0], &result, 1) == 1;) {
        caught += result == 'c';
        kept += result == 'k';
    }
    while (wait(NULL) > 0) {}
    free(cost);
    free(in_order);
    unsigned listed = only ? 0 : list_length(list);
    if (kept < listed) printf("%u of the list are not in the sources any more\n", listed - kept);
    printf("%u mutants caught, %u kept for a reason, %u neither\n", caught, kept, total - caught - kept);
    return total == 0 || caught + kept != total || kept < listed;
}

int model_main(int argc, char **argv, const model_client_t *clients, size_t count)
{
    unsigned forced = 0, forced_old = 0, passed = 0, failed = 0;
    bool has_forced = false, has_forced_old = false, any_named = false;
    const char *replayed = NULL, *kept_list = NULL, *first_name = NULL;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--full"))
            deep = true;
        else if (!strcmp(argv[i], "--bound"))
            forced = (unsigned)strtoul(value, NULL, 10), has_forced = true, i++;
        else if (!strcmp(argv[i], "--old-reads"))
            forced_old = (unsigned)strtoul(value, NULL, 10), has_forced_old = true, i++;
        else if (!strcmp(argv[i], "--steps"))
            step_limit = strtoull(value, NULL, 10), i++;
        else if (!strcmp(argv[i], "--mutate"))
            kept_list = value, i++;
        else if (!strcmp(argv[i], "--weaken"))
            weakened = value, i++;
        else if (!strcmp(argv[i], "--replay"))
            replayed = value, i++;
        else if (argv[i][0] == '-') {
            printf("usage: %s [--full] [--bound N] [--old-reads N] [--steps N] [beginning of a client's name...]\n"
                   "       %s [--full] --mutate LIST [beginning of a mutant's name]\n"
                   "       %s [--weaken MUTANT] --replay TEXT\n",
                   argv[0], argv[0], argv[0]);
            return strcmp(argv[i], "--help") ? 2 : 0;
        } else {
            any_named = true;
            first_name = argv[i];
        }
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    const char *effort = getenv("TEST_EFFORT"); /* in percent; ./test --full sets 1000 */
    if (effort && strtol(effort, NULL, 10) >= 1000) deep = true;
    if ((deep || kept_list) && step_limit == 0) step_limit = kept_list ? MUTANT_STEPS : DEEP_STEPS;
    if (kept_list) return mutate(clients, count, kept_list, first_name);
    if (replayed) return replay(argv[0], replayed, clients, count);
    printf("%-38s %11s %9s %10s %12s %12s %8s\n", "client", "preemptions", "old reads", "executions", "cut short",
           "states", "seconds");
    for (size_t i = 0; i < count; i++) {
        const model_client_t *c = &clients[i];
        bool named = !any_named, exactly = false;
        for (int k = 1; k < argc; k++) {
            named |= !strncmp(argv[k], c->name, strlen(argv[k]));
            exactly |= !strcmp(argv[k], c->name);
        }
        if (!named || (c->in_full_only && !deep && !exactly)) continue;
        unsigned b = has_forced ? forced : base_bound(c);
        double start = seconds();
        client_number = (unsigned)i;
        unsigned old = has_forced_old ? forced_old : deep && c->full_old_reads ? c->full_old_reads : c->old_reads;
        model_verdict_t v = explore(c, b, old);
        double took = seconds() - start;
        bool replays = v == MODEL_PASSES || fails_again();
        char bound_text[16], old_text[16];
        snprintf(bound_text, sizeof bound_text, b == MODEL_UNBOUNDED ? "any" : "%u", b);
        snprintf(old_text, sizeof old_text, old == 0 ? "any" : "%u", old);
        printf("%-38s %11s %9s %10" PRIu64 " %12" PRIu64 " %12" PRIu64 " %8.2f  %s%s%s\n", c->name, bound_text,
               old_text, executions, prunes, states, took, v == c->verdict ? "ok" : "FAILED",
               unfinished ? ", not finished" : "",
               c->verdict != MODEL_PASSES && v == c->verdict ? ": found the bug" : "");
        if (v == c->verdict && replays) {
            passed++;
        } else {
            failed++;
            if (!replays) printf("%s: the failed execution cannot be replayed\n", c->name);
            if (v == MODEL_PASSES)
                printf("%s: expected a %s\n", c->name, verdict_name[c->verdict]);
            else
                show_failure(argv[0]);
        }
    }
    printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}
