/* walk.c: executions drawn at random, for clients with more threads than can be explored.
 *
 * Each execution has a seed, and the seed decides everything: first how it is drawn (how often threads change, how
 * often a load returns an old store, how often something goes wrong), then each choice. So a failure is had again by
 * its seed. */
#include "engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WALK_STEPS = 20000 };

static struct {
    uint64_t seed, random;
    unsigned switches, old_reads, faults; /* of 256 */
    bool by_priority;
    uint64_t priority[MODEL_THREADS + 1];
} walker;

static uint64_t random_number(void)
{
    walker.random += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
    uint64_t x = walker.random;
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static unsigned below(unsigned count)
{
    return (unsigned)((random_number() >> 32) * count >> 32);
}

static bool chance(unsigned of_256)
{
    return below(256) < of_256;
}

unsigned draw(choice_kind_t kind, unsigned count)
{
    switch (kind) {
    case CHOOSE_READ: return chance(walker.old_reads) ? 1 + below(count - 1) : 0;
    case CHOOSE_FAULT: return chance(walker.faults) ? 1 + below(count - 1) : 0;
    default: return below(count);
    }
}

/* Either threads change now and then, or the one with the highest priority goes on until, now and then, it loses it.
 * The latter holds one thread up at one place for long (Burckhardt and others, 2010). */
unsigned draw_thread(const uint8_t *options, unsigned ready, unsigned count, bool stay)
{
    if (ready == 0 || (count > ready && chance(walker.faults))) return ready + below(count - ready);
    if (run.step > WALK_STEPS / 2) return below(ready); /* fair from here on: who does not end now never will */
    if (!walker.by_priority) return stay && !chance(walker.switches) ? 0 : below(ready);
    unsigned best = 0;
    if (chance(walker.switches)) walker.priority[run.self] = random_number() >> 8;
    for (unsigned i = 1; i < ready; i++)
        if (walker.priority[options[i]] > walker.priority[options[best]]) best = i;
    return best;
}

static unsigned one_of(const unsigned *some, unsigned count)
{
    return some[below(count)];
}

static void walk_once(const model_client_t *client, uint64_t seed)
{
    walker.seed = walker.random = seed;
    settings.client = client;
    settings.bound = MODEL_UNBOUNDED;
    settings.old_read_bound = 0;
    settings.longest = WALK_STEPS;
    walker.by_priority = below(3) == 0;
    walker.switches = one_of((const unsigned[]){ 128, 32, 8 }, 3) / (walker.by_priority ? 4 : 1);
    walker.old_reads = one_of((const unsigned[]){ 0, 16, 64, 160, 230 }, 5);
    walker.faults = one_of((const unsigned[]){ 0, 4, 16, 64 }, 4);
    for (unsigned t = 0; t <= MODEL_THREADS; t++) walker.priority[t] = random_number() >> 4;
    forget_words();
    run_once();
}

static bool walk_client(const model_client_t *client, uint64_t seed, uint64_t executions)
{
    search.executions = search.steps = search.outcomes = 0;
    while (search.executions < executions) {
        walk_once(client, mix(seed, ++search.executions));
        search.steps += run.step;
        if (run.verdict != MODEL_PASSES) return false;
    }
    return true;
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool is_named(const char *name, char **names)
{
    bool any = false;
    for (; names && *names; names++) {
        if (strchr("-0123456789", **names)) continue; /* an option, or its number */
        any = true;
        if (!strncmp(*names, name, strlen(*names))) return true;
    }
    return !any;
}

int walk_again(const char *seed, const char *name, const model_client_t *clients, size_t count)
{
    for (size_t i = 0; name && i < count; i++) {
        if (strcmp(name, clients[i].name)) continue;
        settings.tracing = true;
        walk_once(&clients[i], strtoull(seed, NULL, 16));
        printf("  => %s\n", run.verdict == MODEL_PASSES ? "passes" : run.failure);
        return run.verdict != MODEL_PASSES;
    }
    fprintf(stderr, "no client of that name\n");
    return 2;
}

/* A client with a known bug must show it. */
int walk(const char *program, const model_client_t *clients, size_t count, uint64_t executions, char **names)
{
    unsigned passed = 0, failed = 0;
    const char *seed_text = getenv("TEST_SEED"), *effort = getenv("TEST_EFFORT");
    uint64_t seed = seed_text ? strtoull(seed_text, NULL, 0) : (uint64_t)time(NULL) * 1000003u;
    if (effort) executions = executions * strtoull(effort, NULL, 10) / 100;
    printf("%-38s %10s %12s %8s\n", "client", "executions", "steps", "seconds");
    for (size_t i = 0; i < count; i++) {
        const model_client_t *c = &clients[i];
        if (!is_named(c->name, names)) continue;
        double start = cpu_seconds();
        settings.client_number = (unsigned)i;
        walk_client(c, mix(seed, i), executions);
        bool good = run.verdict == c->verdict;
        printf("%-38s %10" PRIu64 " %12" PRIu64 " %8.2f  %s%s\n", c->name, search.executions, search.steps,
               cpu_seconds() - start, good ? "ok" : "FAILED",
               good && c->verdict != MODEL_PASSES ? ": found the bug" : "");
        passed += good;
        failed += !good;
        if (good) continue;
        if (run.verdict == MODEL_PASSES) {
            printf("%s: expected a %s\n", c->name, verdict_name[c->verdict]);
            continue;
        }
        printf("%s: %s\n", c->name, run.failure);
        settings.tracing = true;
        walk_once(c, walker.seed);
        settings.tracing = false;
        printf("  => %s\n  again: %s%s%s --draw %" PRIx64 " %s\n", run.failure, program,
               settings.weakened ? " --weaken " : "", settings.weakened ? settings.weakened : "", walker.seed, c->name);
    }
    if (failed) printf("TEST_SEED=%" PRIu64 "\n", seed);
    printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}

/* ---- mutants that it must find ---- */

extern model_site_t *__start_model_sites[], *__stop_model_sites[]; /* the linker's names for a section's ends */

/* All clients in turn, a few executions each, until one fails. */
static bool find(const model_client_t *clients, size_t count, uint64_t executions, size_t *by, uint64_t *tried)
{
    enum { TURN = 64 };
    for (*tried = 0; *tried < executions * count;)
        for (*by = 0; *by < count; ++*by, *tried += TURN)
            if (clients[*by].verdict == MODEL_PASSES && !walk_client(&clients[*by], mix(*tried, *by), TURN))
                return true;
    return false;
}

/* Lines of "file | part of the source line | kind | order": each is one order weakened, or a fence removed. */
int walk_mutants(const model_client_t *clients, size_t count, uint64_t executions, const char *list)
{
    char text[512];
    unsigned found = 0, missed = 0;
    FILE *f = fopen(list, "r");
    while (f && fgets(text, sizeof text, f)) {
        char *fields[4] = { text, NULL, NULL, NULL };
        text[strcspn(text, "\n")] = 0;
        for (int i = 1; i < 4 && fields[i - 1]; i++) {
            char *bar = strstr(fields[i - 1], " | ");
            if (bar) *bar = 0;
            fields[i] = bar ? bar + 3 : NULL;
        }
        if (text[0] == '#' || !fields[3]) continue;
        bool any = false, good = false;
        for (model_site_t **s = __start_model_sites; s < __stop_model_sites && !good; s++) {
            const char *file = strrchr((*s)->file, '/');
            if (strcmp(file ? file + 1 : (*s)->file, fields[0]) || !strstr(source_line(*s), fields[1])) continue;
            if (strcmp(kind_name[(*s)->kind], fields[2])) continue;
            unsigned order = 0;
            for (unsigned o = 0; o < (*s)->order; o++)
                if (!strcmp(fields[3], order_name[o])) order = o;
            size_t by;
            uint64_t tried;
            any = true;
            (*s)->used = (uint8_t)(order + 1);
            good = find(clients, count, executions, &by, &tried);
            (*s)->used = (uint8_t)((*s)->order + 1);
            printf("%-7s %-34s ", good ? "found" : "MISSED", mutant_name(*s, order));
            if (good) printf("%s by %s", verdict_name[run.verdict], clients[by].name);
            printf(", %" PRIu64 " executions\n", tried);
        }
        if (!any) printf("no such line: %s | %s\n", fields[0], fields[1]);
        found += good;
        missed += !good;
    }
    if (f) fclose(f);
    printf("%u found, %u missed\n", found, missed);
    return missed != 0 || found == 0;
}
