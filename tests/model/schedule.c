/* schedule.c: who makes the next step; one execution from its setup to its end. */
#include "engine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os.h"

enum { STACK = 256 * 1024 };

settings_t settings = { .longest = STEPS };
run_t run;

static char stacks[MODEL_THREADS + 1][STACK] __attribute__((aligned(64)));

void leave(void)
{
    coroutine_switch(&run.threads[run.self].context, &run.engine);
    abort();
}

void fail(model_verdict_t how, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(run.failure, sizeof run.failure, format, arguments);
    va_end(arguments);
    run.verdict = how;
    if (run.self != 0) leave();
}

/* A time that is long enough for every thread to pass a fence is each sleeper's own: were the clock moved on for all,
 * another could find its time over although the fences it waited for have not been passed. */
uint64_t now_of(const thread_t *th)
{
    return run.now_ns + th->waited;
}

/* The sleeper's wait returns this when it runs next; a timeout only when its time is up. */
void wake_up(thread_t *th, int result)
{
    th->status = READY;
    th->result = result;
    if (result == ETIMEDOUT && now_of(th) < th->deadline)
        *(settings.client->refusals ? &th->waited : &run.now_ns) += th->deadline - now_of(th);
}

/* Picks who makes the next step, and accounts for it. */
static unsigned pick_next(void)
{
    unsigned ready = 0, timed = 0, asleep = 0, may = 0, live = 0;
    for (unsigned t = 1; t <= run.thread_count; t++) {
        const thread_t *th = &run.threads[t];
        if (th->status == READY) ready |= bit(t);
        if (th->status == ASLEEP) asleep |= bit(t);
        if (th->status == ASLEEP && th->deadline != CC_FOREVER) timed |= bit(t);
    }
    live = ready | timed;
    if (live == 0) {
        if (asleep == 0) leave();
        char text[8 * MODEL_THREADS];
        int length = 0;
        for (unsigned t = 1; t <= run.thread_count; t++)
            if (asleep & bit(t)) length += snprintf(text + length, sizeof text - (size_t)length, " T%u", t);
        fail(MODEL_DEADLOCK, "a wake-up was lost: asleep for ever:%s", text);
    }
    if (run.step >= settings.longest) fail(MODEL_LIVELOCK, "a livelock: %u steps and no end", settings.longest);

    for (unsigned t = 1; t <= run.thread_count; t++)
        if ((live & bit(t)) && !(run.threads[t].after & live)) may |= bit(t);
    unsigned awake = may;
    for (unsigned t = 1; t <= run.thread_count; t++)
        if (run.threads[t].yielded) awake &= ~bit(t);
    if (awake) may = awake;

    /* Going on with the same thread is choice 0; then the ready ones in turn; then those whose deadline would have to
     * pass; then those that would have to wake for no reason. */
    uint8_t options[3 * MODEL_THREADS] = { 0 };
    unsigned count = 0, ready_count, me = (unsigned)run.self;
    bool stay = (may & ready & bit(me)) != 0;
    if (stay) options[count++] = (uint8_t)me;
    ready_count = count;
    if (!stay || run.preemptions < settings.bound || settings.bound == MODEL_UNBOUNDED) {
        for (unsigned i = 0; i < run.thread_count; i++) {
            unsigned t = (me + i) % run.thread_count + 1;
            if ((may & ready & bit(t)) && !(stay && t == me)) options[count++] = (uint8_t)t;
        }
        ready_count = count;
        bool may_time_out =
            ready_count == 0 || settings.client->timeouts == 0 || run.timeouts < settings.client->timeouts;
        for (unsigned t = 1; t <= run.thread_count; t++)
            if (may_time_out && (may & timed & bit(t))) options[count++] = (uint8_t)t;
        if (run.spurious < settings.client->spurious)
            for (unsigned t = 1; t <= run.thread_count; t++)
                if (asleep & bit(t)) options[count++] = (uint8_t)(t | 0x80);
    }
    if (me != 0 && seen_before(stay)) {
        run.pruned = true;
        leave();
    }
    unsigned pick = settings.walking ? draw_thread(options, ready_count, count, stay) : choose(CHOOSE_ANY, count);
    unsigned option = options[pick], next = option & 0x7f;
    if (stay && next != me) run.preemptions++;

    thread_t *th = &run.threads[next];
    if (th->status == ASLEEP && (option & 0x80)) {
        run.spurious++;
        wake_up(th, choose(CHOOSE_ANY, 2) ? EINTR : 0);
    } else if (th->status == ASLEEP) {
        run.timeouts += ready_count > 0;
        wake_up(th, ETIMEDOUT);
    }
    for (unsigned t = 1; t <= run.thread_count; t++) {
        run.threads[t].after &= (thread_set)~bit(next);
        run.threads[t].scheduled |= (thread_set)bit(next);
        run.threads[t].enabled &= (thread_set)live;
        if (t != next) run.threads[t].yielded = false;
    }
    th->now.clock[next]++;
    th->paused = false;
    run.step++;
    return next;
}

/* A process that dies: the thread makes no further step. What it wrote is there, by the time that the system takes its
 * locks back. */
static void may_die(thread_t *me)
{
    if (me->status != READY || !(settings.client->mortal & bit((unsigned)run.self))) return;
    if (run.deaths >= settings.client->deaths || !choose(CHOOSE_FAULT, 2)) return;
    run.deaths++;
    fence(me);
    me->status = DONE;
    me->dead = true;
    history(0xdead);
    trace("dies");
}

/* A process that is stopped, and goes on after all that the client is about. */
static void may_stop(thread_t *me)
{
    if (me->status != READY || !(settings.client->stoppable & bit((unsigned)run.self))) return;
    if (!choose(CHOOSE_FAULT, 2)) return;
    me->status = DONE;
    history(0x5709);
    trace("is stopped");
}

bool model_is_dead(int thread)
{
    return run.threads[thread].dead;
}

/* Called by a thread before each step, and when it falls asleep or ends; returns when it is its turn. */
void reschedule(void)
{
    unsigned me = (unsigned)run.self;
    if (run.starting) {
        coroutine_switch(&run.threads[me].context, &run.engine);
        return;
    }
    may_die(&run.threads[me]);
    may_stop(&run.threads[me]);
    unsigned next = pick_next();
    if (next == me) return;
    run.self = (int)next;
    coroutine_switch(&run.threads[me].context, &run.threads[next].context);
}

static void thread_main(void *nothing)
{
    (void)nothing;
    settings.client->threads[run.self - 1]();
    run.threads[run.self].status = DONE;
    run.threads[run.self].history = mix(run.threads[run.self].history, 0xd01e);
    trace("ends");
    reschedule();
    abort();
}

/* A store is seen after a while: not how soon, but that a loop which waits for it ends. */
void end_round(void)
{
    thread_t *me = &run.threads[run.self];
    for (unsigned i = 0; i < WORDS / 64; i++) {
        for (uint64_t left = me->read_since_yield[i]; left; left &= left - 1) {
            unsigned w = i * 64 + (unsigned)__builtin_ctzll(left);
            bool stale = me->now.seen[w] != memory.words[w].order[memory.words[w].count - 1];
            me->stale[w] = stale ? (uint8_t)(me->stale[w] + (me->stale[w] < STALE_ROUNDS)) : 0;
        }
        me->read_since_yield[i] = 0;
    }
}

/* A thread that yields runs again when another has made a step; one that keeps yielding waits for every thread that
 * could have run all the while. */
void yield(bool is_pause)
{
    if (run.self == 0) return;
    thread_t *me = &run.threads[run.self];
    if (is_pause && (me->paused || me->pauses < FREE_PAUSES)) {
        if (!me->paused) me->pauses++, history(0x9a);
        me->paused = true;
        return;
    }
    end_round();
    me->after |= (thread_set)(me->enabled & ~me->scheduled & ~bit((unsigned)run.self));
    me->scheduled = 0;
    me->enabled = 0;
    for (unsigned t = 1; t <= run.thread_count; t++)
        if (run.threads[t].status != DONE && (run.threads[t].status != ASLEEP || run.threads[t].deadline != CC_FOREVER))
            me->enabled |= (thread_set)bit(t);
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

/* Every run begins alike. */
uint32_t model_random_(void)
{
    return 1;
}

/* All yields may matter. */
bool model_shares_cpu_(void)
{
    return true;
}

void model_check_(bool ok, const char *text, const char *file, int line)
{
    if (!ok && run.verdict == MODEL_PASSES) fail(MODEL_ASSERTION, "%s:%d: %s does not hold", file, line, text);
}

int model_self(void)
{
    return run.self;
}

void run_once(void)
{
    run.number++;
    run.self = 0;
    run.step = run.preemptions = run.old_reads = run.spurious = run.losses = run.weak_failures = run.clock_jumps =
        run.refusals = run.tickets = run.freed_count = run.deaths = run.timeouts = 0;
    run.now_ns = SECOND;
    run.setup_mark = 0;
    run.pruned = false;
    run.verdict = MODEL_PASSES;
    memset(run.locks, 0, sizeof run.locks);
    memset(run.sharing, 0, sizeof run.sharing);
    memset(run.unlocked, 0, sizeof run.unlocked);
    search.path_used = 0;
    memset(&memory.fences, 0, sizeof memory.fences);
    for (run.thread_count = 0; run.thread_count < MODEL_THREADS && settings.client->threads[run.thread_count];
         run.thread_count++) {}
    for (unsigned t = run.thread_count + 1; t <= MODEL_THREADS; t++) run.threads[t].dead = false; /* another client's */
    for (unsigned t = 1; t <= run.thread_count; t++) {
        memset(&run.threads[t], 0, sizeof run.threads[t]);
        run.threads[t].status = READY;
        run.threads[t].scheduled = (thread_set)~0u;
        run.threads[t].now.clock[t] = 1;
        coroutine_make(&run.threads[t].context, stacks[t], STACK, thread_main, NULL);
    }
    settings.client->setup();
    if (run.thread_count == 0 || run.verdict != MODEL_PASSES) return;
    /* Each thread runs up to its first step; nobody else sees that. */
    run.starting = true;
    for (unsigned t = 1; t <= run.thread_count && run.verdict == MODEL_PASSES; t++) {
        run.self = (int)t;
        coroutine_switch(&run.engine, &run.threads[t].context);
    }
    run.starting = false;
    run.self = 0;
    if (run.verdict == MODEL_PASSES && !run.pruned) {
        unsigned live = 0;
        for (unsigned t = 1; t <= run.thread_count; t++) live += run.threads[t].status != DONE;
        if (live) {
            run.self = (int)pick_next();
            coroutine_switch(&run.engine, &run.threads[run.self].context);
        }
    }
    run.self = 0;
    if (!run.pruned && run.verdict == MODEL_PASSES && settings.client->finish) settings.client->finish();
}
