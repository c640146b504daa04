/* memory.c: what a thread may read.
 *
 * Each word has its stores in modification order. A thread's view says, for each word, the newest store that it must
 * see; a load may return that one or any newer one. Releasing attaches the view to the store, acquiring takes it over,
 * a full fence exchanges it with the one view of all full fences. Clocks beside the views say what happens before what,
 * for races on plain memory only. */
#include "engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

memory_t memory;

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

static void join_words(view_t *to, const view_t *from)
{
    for (unsigned w = 0; w < memory.word_count; w++)
        if (from->seen[w] != to->seen[w] && place(from->seen[w]) > place(to->seen[w])) to->seen[w] = from->seen[w];
}

static void join(view_t *to, const view_t *from)
{
    join_words(to, from);
    for (unsigned t = 1; t <= run.thread_count; t++)
        if (from->clock[t] > to->clock[t]) to->clock[t] = from->clock[t];
}

void check_alive(const void *p, size_t size)
{
    uintptr_t start = (uintptr_t)p;
    for (unsigned i = 0; i < run.freed_count; i++)
        if (start < run.freed[i].end && start + size > run.freed[i].start)
            fail(MODEL_FREED, "T%d touches memory that is freed", run.self);
}

/* Words keep their number from one execution to the next, so that states can be compared. */
word_t *word_at(const void *p)
{
    uintptr_t address = (uintptr_t)p;
    unsigned i = (unsigned)(address >> 2 ^ address >> 12) % sizeof memory.word_index;
    for (; memory.word_index[i]; i = (i + 1) % sizeof memory.word_index)
        if (memory.words[memory.word_index[i] - 1].address == p) return &memory.words[memory.word_index[i] - 1];
    if (memory.word_count == WORDS) {
        fprintf(stderr, "model: more than %d words\n", WORDS);
        abort();
    }
    memory.word_index[i] = (uint8_t)++memory.word_count;
    memory.words[memory.word_count - 1].address = p;
    memory.words[memory.word_count - 1].shared =
        settings.walking ||
        (settings.replaying && memory.word_count <= 64 && (memory.shared_words >> (memory.word_count - 1) & 1));
    return &memory.words[memory.word_count - 1];
}

word_t *word_of(const void *p, size_t size)
{
    word_t *w = word_at(p);
    if (w->run != run.number) {
        w->run = run.number;
        w->size = (uint8_t)size;
        w->initial = peek(p, size);
        w->count = 1;
        w->order[0] = 0;
        w->woken = 0;
    }
    if (w->size != size) fail(MODEL_MISUSE, "%s is accessed with two sizes", word_name(w));
    return w;
}

static void site_used(model_site_t *site)
{
    site->clients[settings.client_number / 64] |= UINT64_C(1) << settings.client_number % 64;
    if (site->used) return;
    site->used = (uint8_t)(site->order + 1);
    for (unsigned order = site->order; settings.weakened && order-- > 0;) /* down to 0, which is what removes a fence */
        if (!strcmp(settings.weakened, mutant_name(site, order))) site->used = (uint8_t)(order + 1);
}

/* An access to a word that no two threads access, or that none writes, is no step: nobody else can tell when it
 * happened. Which words those are is learnt on the way; when one more turns out to be shared, the exploration starts
 * over. */
void use(word_t *w, bool stores_to_it)
{
    w->users |= (thread_set)bit((unsigned)run.self);
    w->stored |= stores_to_it;
    if (w->shared || w->statistic || !w->stored || (w->users & (w->users - 1)) == 0) return;
    if (settings.replaying) return;
    w->shared = true;
    run.again = run.pruned = true;
    leave();
}

static uint64_t read_from(word_t *w, store_id id, unsigned order)
{
    thread_t *me = &run.threads[run.self];
    unsigned i = (unsigned)(w - memory.words);
    me->now.seen[i] = id;
    me->read_since_yield[i / 64] |= UINT64_C(1) << i % 64;
    if (id == newest(w))
        me->stale[i] = 0;
    else if (settings.old_read_bound)
        run.old_reads++;
    if (id) {
        const view_t *view = &memory.stores[id / SEQUENCE][id % SEQUENCE].view;
        join(order & MODEL_ACQUIRE ? &me->now : &me->pending, view);
    }
    if (!w->statistic) history(id);
    return value_of(w, id);
}

/* Puts a store at a place in the order; `read`: by a read-modify-write that read this one, just before it. */
static void write_at(word_t *w, unsigned at, uint64_t value, unsigned order, bool modifies, store_id read)
{
    thread_t *me = &run.threads[run.self];
    unsigned i = (unsigned)(w - memory.words);
    if (w->count == STORES || ++me->stores == SEQUENCE) fail(MODEL_LIVELOCK, "a livelock: too many stores");
    store_id id = (store_id)(run.self * SEQUENCE + me->stores);
    store_t *s = &memory.stores[run.self][me->stores];
    for (unsigned k = w->count; k > at; k--) {
        w->order[k] = w->order[k - 1];
        memory.stores[w->order[k] / SEQUENCE][w->order[k] % SEQUENCE].place = (uint16_t)k;
    }
    w->order[at] = id;
    w->count++;
    s->value = value;
    s->place = (uint16_t)at;
    s->step = (uint16_t)run.step;
    s->modifies = modifies;
    me->now.seen[i] = id;
    s->view = order & MODEL_RELEASE ? me->now : me->fenced;
    s->view.seen[i] = id;
    if (modifies && read) join(&s->view, &memory.stores[read / SEQUENCE][read % SEQUENCE].view);
    if (!settings.walking) s->mark = mix(mix(id, value), view_hash(&s->view));
    if (newest(w) == id) poke((void *)(uintptr_t)w->address, w->size, value);
    history(at == w->count - 1u ? 0 : at);
}

/* The beginning of each access: waits for its turn. NULL outside of threads, where memory is just memory. */
static word_t *begin(model_site_t *site, const void *p, size_t size)
{
    if (run.self == 0) return NULL;
    site_used(site);
    word_t *w = word_at(p);
    use(w, site->kind != MODEL_LOAD);
    if (w->shared && !w->statistic) {
        reschedule();
    } else {
        run.threads[run.self].paused = false;
        if (++run.step >= settings.longest) fail(MODEL_LIVELOCK, "a livelock: %u steps and no end", settings.longest);
    }
    check_alive(p, size);
    w = word_of(p, size);
    /* Its only user may also write it plainly. That is a store like any other: what others have seen of it stays. */
    if (peek(p, size) != value_of(w, newest(w)) && (!w->shared || settings.walking) && (w->users & (w->users - 1)) == 0)
        write_at(w, w->count, peek(p, size), MODEL_RELAXED, false, 0);
    if (peek(p, size) != value_of(w, newest(w))) fail(MODEL_MISUSE, "%s was written by a plain store", word_name(w));
    return w;
}

/* The place of the oldest store that the thread may read. */
static unsigned oldest_place(const word_t *w)
{
    const thread_t *me = &run.threads[run.self];
    unsigned i = (unsigned)(w - memory.words);
    bool only_newest = me->stale[i] >= STALE_ROUNDS || w->statistic ||
                       (settings.old_read_bound && run.old_reads >= settings.old_read_bound);
    return only_newest ? w->count - 1u : place(me->now.seen[i]);
}

uint64_t model_load_(model_site_t *site, const void *p, size_t size)
{
    word_t *w = begin(site, p, size);
    if (!w) return peek(p, size);
    store_id id = w->order[w->count - 1u - choose(CHOOSE_READ, w->count - oldest_place(w))];
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
    if (settings.client->insert)
        while (--at > place(run.threads[run.self].now.seen[w - memory.words]) && count < 200)
            if (!memory.stores[w->order[at] / SEQUENCE][w->order[at] % SEQUENCE].modifies) places[count++] = at;
    at = places[choose(CHOOSE_ANY, count)];
    write_at(w, at, value, site_order(site), false, 0);
    trace("%-18s store %s to %s <- %" PRIu64 "%s", site_text(site), order_name[site_order(site)], word_name(w), value,
          at + 1u < w->count ? " (before a newer one)" : "");
}

void model_sequence_begin_(void)
{
    if (run.self == 0) return;
    run.threads[run.self].in_sequence = settings.client->sequences != MODEL_STORED_OUTSIDE;
    run.threads[run.self].called_off = false;
}

/* Whether it is called off. The system may do that for no reason, too. */
static bool is_called_off(const model_site_t *site)
{
    thread_t *me = &run.threads[run.self];
    bool called_off = me->called_off && settings.client->sequences != MODEL_NEVER_CALLED_OFF;
    history(called_off ? 0x5e1 : 0x5e2);
    if (called_off) trace("%-18s the sequence is called off", site_text(site));
    return called_off;
}

/* Looks, and stores at a later step, unless it is called off in between. */
bool model_sequence_store_(model_site_t *site, void *p, size_t size, uint64_t expected, uint64_t value)
{
    word_t *w = begin(site, p, size);
    if (!w) {
        if (peek(p, size) != expected) return false;
        poke(p, size, value);
        return true;
    }
    thread_t *me = &run.threads[run.self];
    store_id id = w->order[w->count - 1u - choose(CHOOSE_READ, w->count - oldest_place(w))];
    uint64_t seen = read_from(w, id, MODEL_RELAXED);
    trace("%-18s sequence of %s -> %" PRIu64 " (%s)", site_text(site), word_name(w), seen, from_text(w, id));
    bool stores = seen == expected && !choose(CHOOSE_FAULT, 2) && !is_called_off(site);
    if (stores) {
        w = begin(site, p, size);
        stores = !is_called_off(site);
    }
    me->in_sequence = me->called_off = false;
    history(stores);
    if (!stores) return false;
    write_at(w, w->count, value, site_order(site), false, 0);
    trace("%-18s store %s to %s <- %" PRIu64, site_text(site), order_name[site_order(site)], word_name(w), value);
    return true;
}

/* Which store a read-modify-write reads: the newest; or an older one that no other has followed up, if stores may land
 * before others. */
static store_id modify_choice(word_t *w)
{
    store_id found[STORES];
    unsigned count = 0, at = w->count;
    found[count++] = newest(w);
    if (settings.client->insert)
        while (--at > place(run.threads[run.self].now.seen[w - memory.words]) && count < 200)
            if (!memory.stores[w->order[at] / SEQUENCE][w->order[at] % SEQUENCE].modifies)
                found[count++] = w->order[at - 1];
    return found[choose(CHOOSE_ANY, count)];
}

static uint64_t modify(model_site_t *site, word_t *w, uint64_t (*function)(uint64_t, uint64_t), uint64_t operand)
{
    store_id read = modify_choice(w);
    const char *from = settings.tracing ? from_text(w, read) : "";
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

/* Succeeds on the newest store if that has the value; fails, as a relaxed load, on any that the thread may read and
 * that has another. */
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
    if (settings.client->insert && value_of(w, last) == want) {
        last = modify_choice(w);
        found[0] = last;
    }
    for (unsigned at = w->count - 1u; at-- > oldest && count < 200;)
        if (value_of(w, w->order[at]) != want) found[count++] = w->order[at];
    bool may_fail = weak && value_of(w, last) == want && run.weak_failures < settings.client->weak_failures;
    unsigned pick = choose(CHOOSE_READ, count + may_fail);
    store_id read = found[pick < count ? pick : 0];
    bool success = pick == 0 && value_of(w, read) == want;
    unsigned order = success ? site_order(site) : MODEL_RELAXED;
    if (pick == count) run.weak_failures++;
    uint64_t old = read_from(w, read, order);
    const char *from = settings.tracing ? from_text(w, read) : "";
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
void fence(thread_t *th)
{
    join(&th->now, &th->pending);
    join_words(&th->now, &memory.fences);
    join_words(&memory.fences, &th->now);
    th->fenced = th->now;
}

void inherit(const view_t *from)
{
    join(&run.threads[run.self].now, from);
}

void model_fence_(model_site_t *site)
{
    if (run.self == 0) return;
    site_used(site);
    if (!site_order(site)) return;
    reschedule();
    fence(&run.threads[run.self]);
    history(0xfe);
    trace("%-18s full fence", site_text(site));
}

/* Whether this call of the heavy fence is to be made. */
bool model_heavy_(model_site_t *site)
{
    if (run.self == 0) return true;
    site_used(site);
    return site_order(site) != 0;
}

void forget_words(void)
{
    memset(memory.word_index, 0, sizeof memory.word_index);
    memset(memory.words, 0, sizeof memory.words);
    memory.word_count = 0;
}

uint64_t view_hash(const view_t *v)
{
    uint64_t sum = 0;
    for (unsigned w = 0; w < memory.word_count; w++)
        if (v->seen[w] && !memory.words[w].statistic) sum += mix(0x1234567, (uint64_t)w << 16 | v->seen[w]);
    for (unsigned t = 1; t <= run.thread_count; t++) sum = mix(sum, v->clock[t]);
    return sum;
}

/* ---- plain memory ---- */

static void plain(const void *at, size_t bytes, bool writes)
{
    if (run.self == 0) return;
    check_alive(at, bytes);
    view_t *now = &run.threads[run.self].now;
    uintptr_t first = (uintptr_t)at / 4, last = ((uintptr_t)at + bytes - 1) / 4;
    for (uintptr_t unit = first; unit <= last; unit++) {
        cell_t *c;
        unsigned i = (unsigned)(unit % CELLS), tries = 0;
        for (;; i = (i + 1) % CELLS) {
            c = &memory.cells[i];
            if (c->run != run.number) {
                memset(c, 0, sizeof *c);
                c->run = run.number;
                c->unit = unit;
            }
            if (c->unit == unit) break;
            if (++tries == CELLS) fail(MODEL_MISUSE, "too much plain memory");
        }
        int other = 0;
        if (c->writer && c->written > now->clock[c->writer]) other = c->writer;
        for (unsigned t = 1; writes && t <= run.thread_count; t++)
            if (c->read[t] > now->clock[t]) other = (int)t;
        if (other)
            fail(MODEL_RACE, "a data race: T%d %s at %p what T%d %s", run.self, writes ? "writes" : "reads", at, other,
                 c->writer == other && c->written > now->clock[other] ? "wrote" : "read");
        if (writes) {
            c->writer = (uint8_t)run.self;
            c->written = now->clock[run.self];
        } else {
            c->read[run.self] = now->clock[run.self];
        }
    }
    trace("%s %zu bytes of plain memory at %p", writes ? "writes" : "reads", bytes, at);
}

void model_read(const void *at, size_t bytes)
{
    plain(at, bytes, false);
}

void model_write(const void *at, size_t bytes)
{
    plain(at, bytes, true);
}

void *model_copy(void *to, const void *from, size_t bytes)
{
    plain(from, bytes, false);
    plain(to, bytes, true);
    return memcpy(to, from, bytes);
}

void model_freed(const void *at, size_t bytes)
{
    if (run.freed_count == FREED) fail(MODEL_MISUSE, "too many frees");
    run.freed[run.freed_count].start = (uintptr_t)at;
    run.freed[run.freed_count++].end = (uintptr_t)at + bytes;
    trace("frees %zu bytes at %p", bytes, at);
}

void model_statistic(const void *word)
{
    word_at(word)->statistic = true;
}

void model_name(const void *word, const char *name)
{
    word_at(word)->name = name;
}
