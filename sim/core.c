/* core.c: the simulated machine: time, cache lines, CPUs, and the system (src/os.h) that the sources run on.
 *
 * Time is in picoseconds. Each thread has a time of its own, which its instructions move on; before it does anything
 * that another could see it waits until that is the present, the time of the earliest event (see catch_up()). So
 * everything takes effect in the order of time, and what has the same time in the order in which it was begun.
 *
 * A line is with one CPU, which may write it, or with any number that may read it. Who wants it otherwise asks for it
 * at time t; where it is gets the request half the distance later, and from then on lacks it; the other half later it
 * has arrived. Between dies the request takes more of it, `asks_far`, because it goes by way of one that knows where
 * the line is; meanwhile who has it works on. A request waits for those before it. A CPU that got a line to write keeps
 * it for `hold`, whoever wants it, so that it gets some work done on it. Many may read a line one shortly after the
 * other.
 *
 * A store does not wait: it takes effect when the line arrives, and its thread goes on meanwhile, which alone sees it.
 * A read-modify-write and a full fence wait until those before them are done. */
#include "core.h"
#include "../tests/model/coroutine.h"
#include "model_atomic.h"
#include "os.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { WORDS = SIM_CPUS / 64, STORES = 16, PREFETCHES = 16, STACK = 64 * 1024, THREADS = 2048 };
#define NEVER UINT64_MAX

typedef struct cpu_set {
    uint64_t word[WORDS];
} cpu_set;

struct thread;
struct line;

/* What happens at a time. */
typedef enum { RESUME, COMMIT, PREFETCHED, TIMEOUT, ARRIVE } event_kind;
typedef struct event {
    event_kind kind;
    uint32_t place; /* in the queue, from 1; 0: not there */
    struct thread *thread;
} event;

/* Wants a line. */
typedef struct request {
    struct request *next, *previous;
    struct line *line;
    bool writes;
    uint32_t cpu;
    uint64_t leaves; /* when the others lose it */
} request;

typedef struct line {
    uintptr_t number;
    int owner; /* has it alone, and may write; -1: those in `readers` have it */
    cpu_set readers;
    bool written;   /* by its owner, since it has it */
    int next_owner; /* the same after all that is wanted is done */
    cpu_set next_readers;
    request *first, *last, *first_write;
    struct thread *watchers; /* look at it over and over: see sim_spin_while() */
    uint64_t ready;          /* the next may be served */
    uint64_t settled;        /* all reads so far have arrived */
} line;

typedef struct store {
    event event;
    request request;
    unsigned char *at;
    uint32_t size;
    uint64_t value, before; /* what was there while the thread sees its own */
} store;

typedef struct prefetch {
    event event;
    request request;
} prefetch;

typedef enum { RUNNING, READY, ASLEEP, ENDED } status;

typedef struct thread {
    coroutine_t context;
    char *stack;
    uint64_t time;
    event resume, timer;
    request request;
    store stores[STORES];
    prefetch prefetches[PREFETCHES];
    uint32_t first_store, store_count;
    bool drains;      /* waits for its stores */
    bool in_transfer; /* waits for a line */
    status status;
    uint32_t cpu;
    uint64_t owed;                        /* that it must still compute, when it runs again */
    uint64_t on_cpu, since, virtual_time; /* ps on a CPU; since when; the scheduler's */
    struct thread *next, *previous;       /* ready, or asleep on the same word */
    const uint32_t *word;
    int result;
    uint64_t deadline;
    line *last_line, *watched;
    struct thread *next_watcher;
    uint64_t looked; /* when it last looked at what it watches */
    void (*body)(void *);
    void *argument;
} thread;

typedef struct cpu {
    thread *running;
    thread *ready;    /* the order is that of the scheduler */
    uint32_t threads; /* all that are here and have not ended */
    uint64_t since, slice_end;
    uint64_t interrupted; /* time that the running thread lost */
    uint64_t next_tick;
    double slower;
    cpu_set core, die, socket;
    uint32_t die_number, socket_number;
} cpu;

/* Sleepers on a word, the longest asleep first; and the lock that the system has around them. */
typedef struct bucket {
    const uint32_t *word;
    thread *first, *last;
    uint64_t free_at;
    uint32_t user;
} bucket;

static sim_machine_t machine;
static cpu cpus[SIM_CPUS];
static uint32_t cpu_count;
static thread *threads[THREADS], *self;
static uint32_t thread_count, ended_count;
static coroutine_t main_context;
static uint64_t now, limit, stop_time, stop_events, stopped_at;
static bool over;
static uint64_t random_state;
sim_counts_t sim_counts;

static uint64_t ps(double ns)
{
    return (uint64_t)(ns * 1000 + 0.5);
}

/* The costs in picoseconds. */
static struct {
    uint64_t hit, atomic, cas, line[4], invalidate, serve, hold, pause, clock, syscall, yield, change, slice, tick,
        ticked, sleep, wake_call, wake, membarrier, interrupt;
} cost;
enum { CORE, DIE, SOCKET, REMOTE };

/* ---- the queue of events: a heap ---- */

typedef struct entry {
    uint64_t time, order;
    event *event;
} entry;
static entry *queue; /* from 1 */
static uint32_t queued, queue_room;
static uint64_t order;

static bool earlier(const entry *a, const entry *b)
{
    return a->time < b->time || (a->time == b->time && a->order < b->order);
}

static void place(uint32_t at, entry e)
{
    queue[at] = e;
    e.event->place = at;
}

static void rise(uint32_t at, entry e)
{
    for (; at > 1 && earlier(&e, &queue[at / 2]); at /= 2) place(at, queue[at / 2]);
    place(at, e);
}

static void sink(uint32_t at, entry e)
{
    for (uint32_t child; (child = 2 * at) <= queued; at = child) {
        if (child < queued && earlier(&queue[child + 1], &queue[child])) child++;
        if (!earlier(&queue[child], &e)) break;
        place(at, queue[child]);
    }
    place(at, e);
}

static void schedule(event *e, uint64_t time)
{
    if (queued + 2 > queue_room) {
        queue_room = queue_room ? 2 * queue_room : 1024;
        queue = realloc(queue, queue_room * sizeof *queue);
        if (!queue) abort();
    }
    rise(++queued, (entry){ time, ++order, e });
}

static void cancel(event *e)
{
    uint32_t at = e->place;
    if (at == 0) return;
    entry last = queue[queued--];
    e->place = 0;
    if (last.event == e) return;
    if (at > 1 && earlier(&last, &queue[at / 2]))
        rise(at, last);
    else
        sink(at, last);
}

static uint64_t next_time(void)
{
    return queued ? queue[1].time : NEVER;
}

/* ---- sets of CPUs ---- */

static bool has(const cpu_set *set, uint32_t c)
{
    return set->word[c / 64] >> (c % 64) & 1;
}

static void include(cpu_set *set, uint32_t c)
{
    set->word[c / 64] |= UINT64_C(1) << (c % 64);
}

static bool meet(const cpu_set *a, const cpu_set *b)
{
    uint64_t any = 0;
    for (int i = 0; i < WORDS; i++) any |= a->word[i] & b->word[i];
    return any != 0;
}

static bool within(const cpu_set *a, const cpu_set *b)
{
    uint64_t out = 0;
    for (int i = 0; i < WORDS; i++) out |= a->word[i] & ~b->word[i];
    return out == 0;
}

static uint32_t members(const cpu_set *set)
{
    uint32_t n = 0;
    for (int i = 0; i < WORDS; i++) n += (uint32_t)__builtin_popcountll(set->word[i]);
    return n;
}

static uint64_t distance(uint32_t a, uint32_t b)
{
    const cpu *c = &cpus[a];
    return cost.line[has(&c->core, b) ? CORE : has(&c->die, b) ? DIE : has(&c->socket, b) ? SOCKET : REMOTE];
}

static uint64_t nearest(const cpu_set *set, uint32_t to)
{
    const cpu *c = &cpus[to];
    return cost.line[meet(set, &c->core) ? CORE : meet(set, &c->die) ? DIE : meet(set, &c->socket) ? SOCKET : REMOTE];
}

static uint64_t farthest(const cpu_set *set, uint32_t to)
{
    const cpu *c = &cpus[to];
    return cost.line[within(set, &c->core)     ? CORE
                     : within(set, &c->die)    ? DIE
                     : within(set, &c->socket) ? SOCKET
                                               : REMOTE];
}

/* Up to twice as long, evenly. */
static uint64_t around(uint64_t mean)
{
    return mean * sim_random(2001) / 1000;
}

/* ---- running ---- */

static void fail(const char *why)
{
    fprintf(stderr, "the simulator: %s\n", why);
    abort();
}

/* A thread alone sees its stores that have not arrived: they are in memory while it runs, and only then. */
static void show_stores(thread *t)
{
    for (uint32_t i = 0; i < t->store_count; i++) {
        store *s = &t->stores[(t->first_store + i) % STORES];
        memcpy(&s->before, s->at, s->size);
        memcpy(s->at, &s->value, s->size);
    }
}

static void hide_stores(thread *t)
{
    for (uint32_t i = t->store_count; i-- > 0;) {
        store *s = &t->stores[(t->first_store + i) % STORES];
        memcpy(s->at, &s->before, s->size);
    }
}

static void happen(event *e);

/* Goes on with the earliest event that resumes a thread; returns when that is this one. */
static void wait_for_event(void)
{
    thread *t = self, *next = NULL;
    hide_stores(t);
    while (!next) {
        if (queued == 0 || queue[1].time > limit) {
            over = true;
            coroutine_switch(&t->context, &main_context);
            fail("a thread ran after the end");
        }
        event *e = queue[1].event;
        now = queue[1].time;
        cancel(e);
        sim_counts.events++;
        if (e->kind == RESUME)
            next = e->thread;
        else
            happen(e);
    }
    self = next;
    if (next != t) coroutine_switch(&t->context, &next->context);
    show_stores(t);
}

/* Until when the thread may compute before another has its turn on the CPU. */
static uint64_t turn_ends(const thread *t)
{
    const cpu *c = &cpus[t->cpu];
    return c->ready ? c->slice_end : NEVER;
}

/* Wakes it up when its computing is done, or its turn: then it owes the rest. */
static void schedule_resume(thread *t)
{
    uint64_t done = t->time + t->owed, end = turn_ends(t);
    uint64_t stop = done <= end ? done : end > now ? end : now;
    t->time = stop;
    t->owed = done - stop;
    schedule(&t->resume, stop);
}

static void preempt(void);

/* The thread's own time becomes the present. */
static void catch_up(void)
{
    thread *t = self;
    cpu *c = &cpus[t->cpu];
    t->time += c->interrupted;
    c->interrupted = 0;
    if (t->time >= c->next_tick) {
        t->time += cost.ticked;
        c->next_tick = t->time + around(cost.tick);
    }
    while (t->time >= next_time() || t->time >= turn_ends(t)) {
        schedule_resume(t);
        wait_for_event();
        if (c->ready && now >= c->slice_end) preempt();
        if (t->owed == 0) break;
        t->time += t->owed;
        t->owed = 0;
    }
    now = t->time;
}

static void spend(uint64_t time)
{
    self->time += (uint64_t)((double)time * cpus[self->cpu].slower);
}

/* ---- CPUs and the scheduler ---- */

/* The ready threads of a CPU, the one that has run least first. */
static void make_ready(thread *t)
{
    cpu *c = &cpus[t->cpu];
    thread **at = &c->ready;
    while (*at && (*at)->virtual_time <= t->virtual_time) at = &(*at)->next;
    t->next = *at;
    *at = t;
    t->status = READY;
}

static void run_next(cpu *c, uint64_t from)
{
    thread *t = c->ready;
    c->running = t;
    if (!t) return;
    c->ready = t->next;
    t->status = RUNNING;
    t->since = c->since = from;
    c->slice_end = from + cost.slice;
    t->time = from > t->time ? from : t->time;
    schedule(&t->resume, t->time);
}

static void account(thread *t)
{
    uint64_t used = t->time > t->since ? t->time - t->since : 0;
    t->on_cpu += used;
    t->virtual_time += used;
    t->since = t->time;
}

/* The running thread gives its CPU to the next one, and waits until it has it again. */
static void preempt(void)
{
    thread *t = self;
    cpu *c = &cpus[t->cpu];
    sim_counts.preemptions++;
    account(t);
    make_ready(t);
    run_next(c, t->time + cost.change);
    wait_for_event();
}

static void stop_watching(thread *t, uint64_t gone);

/* A thread that was asleep wants its CPU. One that has run for much longer gives way at once. */
static void wake_on_cpu(thread *t)
{
    cpu *c = &cpus[t->cpu];
    thread *r = c->running;
    t->time = now;
    if (!r) {
        make_ready(t);
        run_next(c, now);
        return;
    }
    uint64_t running = r->virtual_time + (now > r->since ? now - r->since : 0);
    uint64_t least = running > cost.slice / 2 ? running - cost.slice / 2 : 0; /* what a sleeper is given, at most */
    if (t->virtual_time < least) t->virtual_time = least;
    make_ready(t);
    if (c->ready == t && t->virtual_time + cost.slice / 4 < running && c->slice_end > now) c->slice_end = now;
    if (r->watched) { /* and never again as long as it shares its CPU */
        line *l = r->watched;
        thread **at = &l->watchers;
        while (*at != r) at = &(*at)->next_watcher;
        *at = r->next_watcher;
        stop_watching(r, now);
    }
    if (r->resume.place && !r->in_transfer && r->time > c->slice_end) {
        cancel(&r->resume);
        schedule_resume(r);
    }
}

/* The running thread has no more use for its CPU. */
static void leave_cpu(thread *t)
{
    cpu *c = &cpus[t->cpu];
    account(t);
    run_next(c, t->time + cost.change);
}

/* ---- lines ---- */

static line **table;
static size_t table_size, table_used;

static size_t slot_of(uintptr_t number, size_t size)
{
    return (size_t)((uint64_t)number * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (size - 1);
}

static line *find_line(const void *p)
{
    uintptr_t number = (uintptr_t)p / (uintptr_t)machine.line_bytes;
    if (self->last_line && self->last_line->number == number) return self->last_line;
    if (2 * table_used >= table_size) {
        size_t size = table_size ? 2 * table_size : 4096;
        line **bigger = calloc(size, sizeof *bigger);
        if (!bigger) abort();
        for (size_t i = 0; i < table_size; i++) {
            if (!table[i]) continue;
            size_t at = slot_of(table[i]->number, size);
            while (bigger[at]) at = (at + 1) & (size - 1);
            bigger[at] = table[i];
        }
        free(table);
        table = bigger;
        table_size = size;
    }
    size_t at = slot_of(number, table_size);
    while (table[at] && table[at]->number != number) at = (at + 1) & (table_size - 1);
    if (!table[at]) {
        line *l = table[at] = calloc(1, sizeof *l);
        if (!l) abort();
        table_used++;
        l->number = number;
        l->owner = l->next_owner = -1;
    }
    return self->last_line = table[at];
}

static bool can_read(const line *l, uint32_t c)
{
    if (l->owner != (int)c && !has(&l->readers, c)) return false;
    return !l->first_write || now < l->first_write->leaves;
}

static bool can_write(const line *l, uint32_t c)
{
    return l->owner == (int)c && (!l->first || now < l->first->leaves);
}

/* One who looks at a line after each pause sees that it is gone at the first look after that. */
static void stop_watching(thread *t, uint64_t gone)
{
    uint64_t turn = (uint64_t)((double)(cost.pause + cost.hit) * cpus[t->cpu].slower), since = gone - t->looked;
    t->watched = NULL;
    t->time = gone > t->looked ? t->looked + (since + turn - 1) / turn * turn : t->looked + turn;
    schedule(&t->resume, t->time);
}

static void tell_watchers(line *l, uint64_t gone)
{
    for (thread *t = l->watchers, *next; t; t = next) {
        next = t->next_watcher;
        if (t->watched == l) stop_watching(t, gone);
    }
    l->watchers = NULL;
}

/* Asks for a line; when it arrives. */
static uint64_t ask(line *l, request *r, uint32_t c, bool writes)
{
    uint64_t far = 0, more = 0, begins = l->ready, arrives;
    cpu_set others = l->next_readers;
    if (!writes && l->next_owner >= 0 && l->written && sim_random(1000) < machine.migrate * 1000) writes = true;
    if (l->next_owner >= 0)
        far = distance(c, (uint32_t)l->next_owner);
    else if (writes) {
        others.word[c / 64] &= ~(UINT64_C(1) << (c % 64));
        uint32_t n = members(&others);
        far = n ? farthest(&others, c) : cost.hit;
        more = n > 1 ? (n - 1) * cost.invalidate : 0;
        sim_counts.invalidated += n;
    } else {
        far = members(&others) ? nearest(&others, c) : cost.line[DIE];
    }
    bool across = far > cost.line[DIE];
    far = far * (875 + sim_random(251)) / 1000; /* no two take exactly as long */
    if (writes && l->settled > begins) begins = l->settled;
    uint64_t asked = across ? (uint64_t)((double)far * machine.asks_far) : far / 2;
    if (now + asked > begins) begins = now + asked;
    arrives = begins + far - asked + more;
    if (writes) {
        l->ready = l->settled = arrives + (uint64_t)((double)around(cost.hold) * cpus[c].slower);
        l->next_owner = (int)c;
        memset(&l->next_readers, 0, sizeof l->next_readers);
    } else {
        if (l->next_owner >= 0) {
            l->ready = arrives;
            include(&l->next_readers, (uint32_t)l->next_owner);
            l->next_owner = -1;
        } else {
            l->ready = begins + cost.serve;
        }
        if (arrives > l->settled) l->settled = arrives;
        include(&l->next_readers, c);
    }
    sim_counts.transfers++;
    *r = (request){ NULL, l->last, l, writes, c, begins };
    if (l->last)
        l->last->next = r;
    else
        l->first = r;
    l->last = r;
    if (writes && !l->first_write) l->first_write = r;
    if (writes && l->watchers) tell_watchers(l, begins);
    return arrives;
}

static void arrived(request *r)
{
    line *l = r->line;
    l->written = false;
    if (r->writes) {
        l->owner = (int)r->cpu;
        memset(&l->readers, 0, sizeof l->readers);
    } else {
        if (l->owner >= 0) include(&l->readers, (uint32_t)l->owner);
        l->owner = -1;
        include(&l->readers, r->cpu);
    }
    if (l->first_write == r) {
        l->first_write = r->next;
        while (l->first_write && !l->first_write->writes) l->first_write = l->first_write->next;
    }
    if (r->previous)
        r->previous->next = r->next;
    else
        l->first = r->next;
    if (r->next)
        r->next->previous = r->previous;
    else
        l->last = r->previous;
    r->line = NULL;
}

/* The thread waits for a line. */
static void fetch(line *l, bool writes)
{
    thread *t = self;
    t->time = ask(l, &t->request, t->cpu, writes);
    t->in_transfer = true;
    schedule(&t->resume, t->time);
    wait_for_event();
    t->in_transfer = false;
    arrived(&t->request);
}

static bool is_own(const line *l)
{
    for (uint32_t i = 0; i < self->store_count; i++)
        if (self->stores[(self->first_store + i) % STORES].request.line == l) return true;
    return false;
}

/* Waits for a line that the thread has prefetched and that is on its way. */
static void await_prefetch(const line *l)
{
    thread *t = self;
    for (prefetch *f = t->prefetches; f < t->prefetches + PREFETCHES; f++) {
        if (!f->event.place || f->request.line != l) continue;
        t->time = queue[f->event.place].time;
        t->in_transfer = true;
        schedule(&t->resume, t->time);
        wait_for_event();
        t->in_transfer = false;
        return;
    }
}

static void read_line(line *l)
{
    if (!can_read(l, self->cpu) && !is_own(l)) await_prefetch(l);
    if (!can_read(l, self->cpu) && !is_own(l)) fetch(l, false);
}

static void wait_for_stores(uint32_t left)
{
    thread *t = self;
    while (t->store_count > left) {
        t->drains = true;
        t->in_transfer = true;
        wait_for_event();
        t->in_transfer = t->drains = false;
        if (now > t->time) t->time = now;
    }
}

/* For a read-modify-write. */
static void own_line(line *l)
{
    wait_for_stores(0);
    if (!can_write(l, self->cpu)) await_prefetch(l);
    if (!can_write(l, self->cpu)) fetch(l, true);
    l->written = true;
}

static void add_store(line *l, void *p, uint32_t size, uint64_t value)
{
    thread *t = self;
    if (t->store_count >= (uint32_t)machine.stores) wait_for_stores((uint32_t)machine.stores - 1);
    store *s = &t->stores[(t->first_store + t->store_count) % STORES];
    s->event = (event){ COMMIT, 0, t };
    s->at = p;
    s->size = size;
    s->value = value;
    uint64_t arrives = now;
    if (is_own(l)) { /* after the one before it */
        store *last = &t->stores[(t->first_store + t->store_count - 1) % STORES];
        arrives = last->event.place ? queue[last->event.place].time : now;
        s->request.line = NULL;
    } else {
        arrives = ask(l, &s->request, t->cpu, true);
    }
    if (t->store_count > 0) { /* in order */
        store *last = &t->stores[(t->first_store + t->store_count - 1) % STORES];
        uint64_t before = last->event.place ? queue[last->event.place].time : now;
        if (before > arrives) arrives = before;
    }
    t->store_count++;
    memcpy(&s->before, p, size);
    memcpy(p, &s->value, size);
    schedule(&s->event, arrives);
}

static void write_line(line *l, void *p, uint32_t size, uint64_t value)
{
    if (self->store_count == 0 && can_write(l, self->cpu)) {
        memcpy(p, &value, size);
        l->written = true;
    } else {
        add_store(l, p, size, value);
    }
}

/* The oldest store of a thread has arrived. */
static void commit(thread *t)
{
    store *s = &t->stores[t->first_store];
    memcpy(s->at, &s->value, s->size);
    if (s->request.line) {
        line *l = s->request.line;
        arrived(&s->request);
        l->written = true;
    }
    t->first_store = (t->first_store + 1) % STORES;
    t->store_count--;
    if (t->drains) {
        t->drains = false;
        t->time = now > t->time ? now : t->time;
        schedule(&t->resume, t->time);
    }
}

/* ---- what atomic.h calls ---- */

uint64_t sim_load_(const void *p, size_t size)
{
    uint64_t value = 0;
    spend(cost.hit);
    catch_up();
    read_line(find_line(p));
    memcpy(&value, p, size);
    return value;
}

void sim_store_(void *p, size_t size, uint64_t value)
{
    spend(cost.hit);
    catch_up();
    write_line(find_line(p), p, (uint32_t)size, value);
}

static uint64_t begin_change(void *p, size_t size, uint64_t takes)
{
    uint64_t value = 0;
    spend(takes);
    catch_up();
    own_line(find_line(p));
    memcpy(&value, p, size);
    return value;
}

uint64_t sim_exchange_(void *p, size_t size, uint64_t value)
{
    uint64_t old = begin_change(p, size, cost.atomic);
    memcpy(p, &value, size);
    return old;
}

bool sim_cas_(void *p, size_t size, void *expected, uint64_t value)
{
    uint64_t old = begin_change(p, size, cost.cas), wanted = 0;
    memcpy(&wanted, expected, size);
    if (old == wanted)
        memcpy(p, &value, size);
    else
        memcpy(expected, &old, size);
    return old == wanted;
}

uint64_t sim_fetch_(int op, void *p, size_t size, uint64_t value)
{
    uint64_t old = begin_change(p, size, cost.atomic), changed = old;
    switch (op) {
    case SIM_OP_add: changed += value; break;
    case SIM_OP_sub: changed -= value; break;
    case SIM_OP_or: changed |= value; break;
    default: changed &= value; break;
    }
    memcpy(p, &changed, size);
    return old;
}

void sim_fence_(void)
{
    spend(cost.atomic);
    catch_up();
    wait_for_stores(0);
}

static bool is_mine(const void *p)
{
    return (uintptr_t)p - (uintptr_t)self->stack < STACK;
}

static void touch(const void *p, size_t bytes, bool writes)
{
    uintptr_t size = (uintptr_t)machine.line_bytes;
    if (is_mine(p)) return;
    for (uintptr_t at = (uintptr_t)p / size * size; at < (uintptr_t)p + bytes; at += size) {
        spend(cost.hit);
        catch_up();
        line *l = find_line((const void *)at);
        if (!writes)
            read_line(l);
        else if (self->store_count > 0 || !can_write(l, self->cpu))
            add_store(l, (void *)at, 0, 0);
    }
}

/* Nobody waits for it, but it is a transfer as any other: it takes the line from who has it, and queues with those who
 * want it. A CPU has `stores` lines on their way at once, for stores or like this; beyond that it is forgotten, which a
 * CPU may do. */
void sim_prefetch_(const void *p)
{
    prefetch *room = NULL;
    uint32_t under_way = self->store_count;
    spend(cost.hit);
    catch_up();
    line *l = find_line(p);
    if (can_write(l, self->cpu) || is_own(l)) return;
    for (prefetch *f = self->prefetches; f < self->prefetches + PREFETCHES; f++) {
        if (f->event.place && f->request.line == l) return;
        if (f->event.place)
            under_way++;
        else
            room = f;
    }
    if (!room || under_way >= (uint32_t)machine.stores) return;
    room->event = (event){ PREFETCHED, 0, self };
    schedule(&room->event, ask(l, &room->request, self->cpu, true));
}

void *sim_copy_(void *to, const void *from, size_t bytes)
{
    touch(from, bytes, false);
    touch(to, bytes, true);
    return memcpy(to, from, bytes);
}

uint32_t sim_spin_while(const uint32_t *word, uint32_t value)
{
    thread *t = self;
    for (uint32_t seen;;) {
        if ((seen = (uint32_t)sim_load_(word, sizeof *word)) != value) return seen;
        line *l = find_line(word);
        if (cpus[t->cpu].ready || !can_read(l, t->cpu)) {
            model_pause_();
            continue;
        }
        t->looked = t->time;
        if (l->first_write) {
            stop_watching(t, l->first_write->leaves);
        } else {
            t->watched = l;
            t->next_watcher = l->watchers;
            l->watchers = t;
        }
        wait_for_event();
        now = t->time;
    }
}

void model_pause_(void)
{
    spend(cost.pause);
}

uint32_t model_random_(void)
{
    return sim_random(UINT32_MAX);
}

bool model_shares_cpu_(void)
{
    return cpus[self->cpu].threads > 1;
}

/* ---- what os.h asks ---- */

enum { BUCKETS = 16384 }; /* naps are on words of the stack: several for each thread */
static bucket buckets[BUCKETS];

static bucket *bucket_of(const uint32_t *word)
{
    size_t at = slot_of((uintptr_t)word / 4, BUCKETS);
    for (uint32_t tried = 0; buckets[at].word && buckets[at].word != word; at = (at + 1) % BUCKETS)
        if (++tried == BUCKETS) fail("threads sleep on too many words");
    buckets[at].word = word;
    return &buckets[at];
}

/* The system's own lock around the sleepers of a word: one call after the other, and the lock's line comes from the one
 * before. */
static void enter(bucket *b)
{
    catch_up();
    uint64_t begins = b->free_at > now ? b->free_at : now;
    uint64_t inside = cost.syscall / 4 + (b->user == self->cpu ? 0 : distance(self->cpu, b->user));
    b->user = self->cpu;
    b->free_at = begins + inside;
    self->time = b->free_at;
    catch_up();
}

static void remove_sleeper(bucket *b, thread *t)
{
    if (t->previous)
        t->previous->next = t->next;
    else
        b->first = t->next;
    if (t->next)
        t->next->previous = t->previous;
    else
        b->last = t->previous;
    t->word = NULL;
}

static uint64_t in_ps(uint64_t ns)
{
    return ns < NEVER / 1000 ? ns * 1000 : NEVER;
}

int cc_os_wait_(const uint32_t *word, uint32_t expected, uint64_t deadline)
{
    thread *t = self;
    bucket *b = bucket_of(word);
    spend(cost.syscall);
    enter(b);
    read_line(find_line(word));
    if (*word != expected) return EAGAIN;
    if (in_ps(deadline) <= now) return ETIMEDOUT;
    wait_for_stores(0);
    if (*word != expected) return EAGAIN;
    t->word = word;
    t->previous = b->last;
    t->next = NULL;
    if (b->last)
        b->last->next = t;
    else
        b->first = t;
    b->last = t;
    t->status = ASLEEP;
    t->result = 0;
    sim_counts.sleeps++;
    spend(cost.sleep);
    leave_cpu(t);
    if (deadline != CC_FOREVER) {
        t->timer.kind = TIMEOUT;
        schedule(&t->timer, in_ps(deadline) > t->time ? in_ps(deadline) : t->time);
    }
    wait_for_event();
    return t->result;
}

/* It runs `wake` after the call, but not before it was asleep. */
static void wake_thread(thread *t, uint64_t called)
{
    cancel(&t->timer);
    t->timer.kind = ARRIVE;
    t->result = 0;
    uint64_t arrives = called + (cpus[t->cpu].running ? cost.wake_call : cost.wake);
    schedule(&t->timer, arrives > t->time ? arrives : t->time);
    sim_counts.wakes++;
}

void cc_os_wake_(const uint32_t *word, uint32_t count)
{
    bucket *b = bucket_of(word);
    spend(cost.syscall);
    catch_up();
    wait_for_stores(0);
    enter(b);
    while (b->first && count-- > 0) {
        thread *t = b->first;
        remove_sleeper(b, t);
        wake_thread(t, now);
        spend(cost.wake_call);
        catch_up();
    }
}

void cc_os_yield_(void)
{
    thread *t = self;
    cpu *c = &cpus[t->cpu];
    sim_counts.yields++;
    spend(cost.yield);
    catch_up();
    if (!c->ready) return;
    account(t);
    uint64_t last = 0; /* behind everybody */
    for (thread *other = c->ready; other; other = other->next)
        last = other->virtual_time > last ? other->virtual_time : last;
    if (t->virtual_time <= last) t->virtual_time = last + 1;
    make_ready(t);
    run_next(c, t->time + cost.change);
    wait_for_event();
}

uint64_t cc_os_now_(void)
{
    spend(cost.clock);
    return self->time / 1000;
}

bool cc_os_membarrier_register_(void)
{
    return true;
}

bool cc_os_membarrier_(void)
{
    uint64_t passed = 0;
    spend(cost.membarrier);
    catch_up();
    wait_for_stores(0);
    sim_counts.membarriers++;
    for (uint32_t i = 0; i < cpu_count; i++) {
        if (i == self->cpu || !cpus[i].running) continue;
        cpus[i].interrupted += cost.interrupt;
        passed++;
    }
    spend(passed * cost.interrupt);
    catch_up();
    return true;
}

uint64_t cc_os_cpu_time_(void)
{
    return 0; /* there are no other programs, and every thread is seen where it runs */
}

uint32_t cc_os_cpu_(void)
{
    return self ? (uint32_t)self->cpu : 0;
}

uint32_t cc_os_cpus_(void)
{
    return cpu_count;
}

/* Not the one of the program that simulates. */
uint32_t cc_os_quota_(void)
{
    return UINT32_MAX;
}

/* There are no restartable sequences, and nothing that is simulated polls a descriptor, or shares memory with another
 * process. */
#include "os_none.h"

static void happen(event *e)
{
    thread *t = e->thread;
    switch (e->kind) {
    case COMMIT: commit(t); break;
    case PREFETCHED: arrived(&((prefetch *)(void *)e)->request); break;
    case TIMEOUT:
        remove_sleeper(bucket_of(t->word), t);
        t->result = ETIMEDOUT;
        t->timer.kind = ARRIVE;
        schedule(&t->timer, now + cost.wake / 2);
        break;
    case ARRIVE: wake_on_cpu(t); break;
    default: fail("an unknown event");
    }
}

/* ---- threads ---- */

static void thread_main(void *argument)
{
    thread *t = argument;
    show_stores(t);
    t->body(t->argument);
    catch_up();
    wait_for_stores(0);
    t->status = ENDED;
    ended_count++;
    cpus[t->cpu].threads--;
    leave_cpu(t);
    if (ended_count == thread_count) coroutine_switch(&t->context, &main_context);
    wait_for_event();
    fail("a thread went on after its end");
}

static void describe_cpus(void)
{
    uint32_t cores = (uint32_t)machine.cores;
    cpu_count = sim_machine_cpus(&machine);
    for (uint32_t i = 0; i < cpu_count; i++) {
        cpu *c = &cpus[i];
        uint32_t core = i % cores;
        c->next_tick = around(cost.tick);
        c->slower = core >= cores - (uint32_t)machine.small ? machine.slower : 1;
        c->die_number = core / (uint32_t)machine.die;
        c->socket_number = core / (uint32_t)machine.socket;
        for (uint32_t k = 0; k < cpu_count; k++) {
            uint32_t other = k % cores;
            if (other == core) include(&c->core, k);
            if (other / (uint32_t)machine.die == c->die_number) include(&c->die, k);
            if (other / (uint32_t)machine.socket == c->socket_number) include(&c->socket, k);
        }
    }
}

void sim_begin(const sim_machine_t *of, uint64_t seed)
{
    machine = *of;
    random_state = seed * 2 + 1;
    limit = NEVER;
    stop_time = stop_events = NEVER;
    cost.hit = ps(of->hit), cost.atomic = ps(of->atomic), cost.cas = ps(of->cas);
    cost.line[CORE] = ps(of->line_core), cost.line[DIE] = ps(of->line_die);
    cost.line[SOCKET] = ps(of->line_socket), cost.line[REMOTE] = ps(of->line_remote);
    cost.invalidate = ps(of->invalidate), cost.serve = ps(of->serve), cost.hold = ps(of->hold);
    cost.pause = ps(of->pause), cost.clock = ps(of->clock), cost.syscall = ps(of->syscall);
    cost.yield = ps(of->yield), cost.change = ps(of->change), cost.slice = ps(of->slice);
    cost.tick = ps(of->tick), cost.ticked = ps(of->ticked);
    cost.sleep = ps(of->sleep), cost.wake_call = ps(of->wake_call), cost.wake = ps(of->wake);
    cost.membarrier = ps(of->membarrier), cost.interrupt = ps(of->interrupt);
    describe_cpus();
}

/* At an address that depends on nothing but its number, because seeds are made of addresses on the stack; between two
 * of them is a gap that no overflow crosses. */
static char *stack_of(uint32_t number)
{
    void *at = (void *)((uintptr_t)0x10000000000 + (uintptr_t)number * 2 * STACK);
    void *got = mmap(at, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (got == MAP_FAILED) fail("no memory for a stack");
    return got;
}

void sim_spawn(void (*body)(void *), void *argument, uint32_t on)
{
    if (thread_count == THREADS) fail("too many threads");
    thread *t = threads[thread_count] = calloc(1, sizeof *t);
    if (!t) abort();
    t->body = body;
    t->argument = argument;
    t->cpu = on % cpu_count;
    cpus[t->cpu].threads++;
    t->time = now;
    t->resume = (event){ RESUME, 0, t };
    t->timer = (event){ ARRIVE, 0, t };
    t->virtual_time = sim_random(1000); /* so that those of a CPU take turns in no order */
    t->stack = stack_of(thread_count);
    coroutine_make(&t->context, t->stack, STACK, thread_main, t);
    thread_count++;
    /* Threads do not start in the same picosecond; the order is that of the seed. */
    schedule(&t->timer, now + sim_random(10000000));
}

bool sim_go(uint64_t limit_ps)
{
    thread main_thread = { .status = RUNNING };
    limit = now + limit_ps;
    over = false;
    if (ended_count == thread_count) return true;
    self = &main_thread;
    while (queued > 0) { /* until the first one runs */
        event *e = queue[1].event;
        now = queue[1].time;
        cancel(e);
        if (e->kind == RESUME) {
            self = e->thread;
            coroutine_switch(&main_context, &self->context);
            break;
        }
        happen(e);
    }
    return ended_count == thread_count;
}

/* ---- what a thread may ask ---- */

void sim_stop_after(uint64_t time, uint64_t events)
{
    stop_time = now + time;
    stop_events = sim_counts.events + events;
    stopped_at = 0;
}

bool sim_stopped(void)
{
    if (stopped_at != 0) return true;
    if (self->time < stop_time && sim_counts.events < stop_events) return false;
    stopped_at = self->time;
    return true;
}

uint64_t sim_stopped_at(void)
{
    return stopped_at ? stopped_at : now;
}

uint64_t sim_time(void)
{
    return self->time;
}

void sim_work(uint64_t time)
{
    spend(time);
    catch_up();
}

void sim_plain(uint32_t hits)
{
    spend(hits * cost.hit);
}

uint32_t sim_socket(void)
{
    const cpu *c = &cpus[self->cpu];
    return machine.socket < machine.cores ? c->socket_number : c->die_number;
}

uint32_t sim_random(uint32_t below)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return below ? (uint32_t)((random_state >> 33) % below) : 0;
}

uint64_t sim_cpu_time(void)
{
    const thread *t = self;
    return t->on_cpu + (t->time - t->since);
}
