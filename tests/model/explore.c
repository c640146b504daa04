/* explore.c: all executions, depth first.
 *
 * An execution is a sequence of choices; search.path holds the current one. Each run replays the path from a fresh
 * setup and goes on with choice 0 wherever it leads to new ground; then the last choice that has another alternative is
 * changed, until none has. A state that was reached before, by another order of independent steps, is left at once: a
 * state is known by what each thread has done and read so far, by the order of the stores, and by what each thread may
 * still read. */
#include "engine.h"

#include <stdlib.h>

search_t search;

/* ---- choices ---- */

unsigned choose(choice_kind_t kind, unsigned count)
{
    if (count <= 1) return 0;
    if (settings.walking) return draw(kind, count);
    if (search.path_used == CHOICES || count > 255) {
        fail(MODEL_MISUSE, "too many choices");
        return 0;
    }
    choice_t *c = &search.path[search.path_used];
    if (search.path_used >= search.path_known) {
        c->count = (uint8_t)count;
        c->pick = 0;
    } else if (settings.replaying) {
        c->count = (uint8_t)count;
    }
    if (c->count != count || c->pick >= count) {
        fail(MODEL_MISUSE, settings.replaying ? "the replayed execution is not one of this program"
                                              : "the client is not deterministic: setup must put everything back");
        return 0;
    }
    search.path_used++;
    return c->pick;
}

unsigned model_choose(unsigned count)
{
    unsigned pick = choose(CHOOSE_ANY, count);
    if (run.self == 0)
        run.setup_mark = mix(run.setup_mark, pick + 1);
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

static struct {
    seen_t *entries;
    uint64_t size, used;
    uint32_t epoch; /* of the exploration: entries of earlier ones are free */
} table;

static uint64_t state_hash(bool stay)
{
    uint64_t h =
        mix(run.now_ns ^ run.setup_mark, (uint64_t)run.old_reads << 48 | (uint64_t)run.losses << 40 |
                                             (uint64_t)run.spurious << 32 | run.weak_failures << 16 | run.clock_jumps);
    if (settings.bound != MODEL_UNBOUNDED) h = mix(h, stay ? (uint64_t)run.self : 0);
    for (unsigned t = 1; t <= run.thread_count; t++) {
        const thread_t *th = &run.threads[t];
        h = mix(h, th->history);
        h = mix(h, (uint64_t)th->status << 48 | (uint64_t)th->yielded << 52 | (uint64_t)th->paused << 53 |
                       (uint64_t)th->in_sequence << 54 | (uint64_t)th->called_off << 55 | (uint64_t)th->after << 32 |
                       (uint64_t)th->scheduled << 16 | (uint64_t)th->enabled);
        if (th->status == READY) h = mix(h, (uint64_t)th->result); /* of a wait that it has not returned from yet */
        if (th->status == DONE && !settings.client->membarrier && !settings.client->sequences) continue;
        h = mix(h, view_hash(&th->now));
        h = mix(h, view_hash(&th->pending));
        h = mix(h, view_hash(&th->fenced));
        if (th->status == ASLEEP) {
            unsigned before = 0;
            for (unsigned u = 1; u <= run.thread_count; u++)
                before += run.threads[u].status == ASLEEP && run.threads[u].queued < th->queued;
            h = mix(h, before);
        }
        uint64_t stale = 0;
        for (unsigned w = 0; w < memory.word_count; w++)
            if (th->stale[w]) stale += mix(w + 1, th->stale[w]);
        h = mix(h, stale);
    }
    h = mix(h, view_hash(&memory.fences));
    for (unsigned w = 0; w < memory.word_count; w++) {
        const word_t *word = &memory.words[w];
        if (word->run != run.number || word->statistic) continue;
        if (word->woken) h = mix(h, (uint64_t)w << 16 | word->woken);
        for (unsigned i = 1; i < word->count; i++)
            h = mix(h, memory.stores[word->order[i] / SEQUENCE][word->order[i] % SEQUENCE].mark);
    }
    for (unsigned i = 0; i < run.freed_count; i++) h = mix(h, run.freed[i].start);
    return h ? h : 1;
}

static seen_t *table_find(uint64_t hash)
{
    uint64_t i = hash & (table.size - 1);
    while (table.entries[i].epoch == table.epoch && table.entries[i].hash != hash) i = (i + 1) & (table.size - 1);
    return &table.entries[i];
}

static void table_grow(void)
{
    seen_t *old = table.entries;
    uint64_t old_size = table.size;
    table.size = old_size ? old_size * 2 : 1 << 16;
    table.entries = calloc(table.size, sizeof *table.entries);
    if (!table.entries) abort();
    for (uint64_t i = 0; i < old_size; i++)
        if (old[i].epoch == table.epoch) *table_find(old[i].hash) = old[i];
    free(old);
}

/* Whether everything from here on was or will be explored from an earlier visit. */
bool seen_before(bool stay)
{
    if (settings.walking || settings.replaying || settings.tracing || search.path_used < search.path_known)
        return false;
    if (table.used * 2 >= table.size) table_grow();
    uint64_t hash = state_hash(stay);
    uint32_t budget = settings.bound == MODEL_UNBOUNDED ? 0 : settings.bound - run.preemptions;
    seen_t *s = table_find(hash);
    if (s->epoch == table.epoch) {
        if (s->budget >= budget) return true;
    } else {
        table.used++;
        search.states++;
    }
    *s = (seen_t){ hash, table.epoch, budget };
    return false;
}

/* ---- all executions ---- */

void model_outcome(unsigned outcome)
{
    search.outcomes |= UINT64_C(1) << outcome;
}

uint64_t model_outcomes(void)
{
    return search.outcomes;
}

uint64_t model_executions(void)
{
    return search.executions;
}

/* The next path in depth-first order; false: there is none. */
static bool backtrack(void)
{
    while (search.path_used > 0 &&
           search.path[search.path_used - 1].pick + 1 >= search.path[search.path_used - 1].count)
        search.path_used--;
    if (search.path_used == 0) return false;
    search.path[search.path_used - 1].pick++;
    search.path_known = search.path_used;
    return true;
}

model_verdict_t explore(const model_client_t *c, unsigned preemption_bound, unsigned old_reads_bound)
{
    bool more = true;
    settings.client = c;
    settings.bound = preemption_bound;
    settings.old_read_bound = old_reads_bound;
    search.executions = search.prunes = search.states = search.outcomes = search.steps = 0;
    search.path_known = 0;
    search.unfinished = false;
    table.used = 0;
    table.epoch++;
    forget_words();
    do {
        run_once();
        search.steps += run.step;
        if (run.again) {
            run.again = false;
            search.executions = search.prunes = search.states = search.outcomes = 0;
            search.path_used = search.path_known = 0;
            table.used = 0;
            table.epoch++;
            continue;
        }
        if (run.pruned)
            search.prunes++;
        else
            search.executions++;
        if (run.verdict != MODEL_PASSES) return run.verdict;
        more = backtrack();
        search.unfinished = more && settings.step_limit && search.steps >= settings.step_limit;
    } while (more && !search.unfinished);
    return MODEL_PASSES;
}

model_verdict_t model_explore(const model_client_t *c)
{
    return explore(c, c->bound, c->old_reads);
}
