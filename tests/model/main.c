/* main.c: the checker as a program. */
#include "engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    DEEP_STEPS = 100000000, /* of all executions of one client of --full */
    MUTANT_STEPS = 5000000  /* of all executions of one client that a mutant has to pass */
};

/* Of CPU time: what else the machine does is no matter here. */
static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static unsigned base_bound(const model_client_t *c)
{
    return settings.deep && c->full_bound ? c->full_bound : c->bound;
}

int model_main(int argc, char **argv, const model_client_t *clients, size_t count)
{
    unsigned forced = 0, forced_old = 0, passed = 0, failed = 0;
    bool has_forced = false, has_forced_old = false, any_named = false;
    uint64_t walked = 0;
    const char *found_list = NULL, *drawn = NULL;
    const char *replayed = NULL, *kept_list = NULL, *first_name = NULL;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--full"))
            settings.deep = true;
        else if (!strcmp(argv[i], "--bound"))
            forced = (unsigned)strtoul(value, NULL, 10), has_forced = true, i++;
        else if (!strcmp(argv[i], "--old-reads"))
            forced_old = (unsigned)strtoul(value, NULL, 10), has_forced_old = true, i++;
        else if (!strcmp(argv[i], "--steps"))
            settings.step_limit = strtoull(value, NULL, 10), i++;
        else if (!strcmp(argv[i], "--mutate"))
            kept_list = value, i++;
        else if (!strcmp(argv[i], "--weaken"))
            settings.weakened = value, i++;
        else if (!strcmp(argv[i], "--replay"))
            replayed = value, i++;
        else if (!strcmp(argv[i], "--walk"))
            walked = strtoull(value, NULL, 10), settings.walking = true, i++;
        else if (!strcmp(argv[i], "--find"))
            found_list = value, i++;
        else if (!strcmp(argv[i], "--draw"))
            drawn = value, settings.walking = true, i++;
        else if (argv[i][0] == '-') {
            printf("usage: %s [--full] [--bound N] [--old-reads N] [--steps N] [beginning of a client's name...]\n"
                   "       %s [--full] --mutate LIST [beginning of a mutant's name]\n"
                   "       %s [--weaken MUTANT] --replay TEXT\n"
                   "       %s --walk EXECUTIONS [--find LIST] [beginning of a client's name...]\n"
                   "       %s [--weaken MUTANT] --draw SEED CLIENT\n",
                   argv[0], argv[0], argv[0], argv[0], argv[0]);
            return strcmp(argv[i], "--help") ? 2 : 0;
        } else {
            any_named = true;
            first_name = argv[i];
        }
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    const char *effort = getenv("TEST_EFFORT"); /* in percent; ./test --full sets 1000 */
    if (effort && strtol(effort, NULL, 10) >= 1000) settings.deep = true;
    if ((settings.deep || kept_list) && settings.step_limit == 0)
        settings.step_limit = kept_list ? MUTANT_STEPS : DEEP_STEPS;
    if (drawn) return walk_again(drawn, first_name, clients, count);
    if (settings.walking && found_list) return walk_mutants(clients, count, walked, found_list);
    if (settings.walking) return walk(argv[0], clients, count, walked, first_name ? argv + 1 : NULL);
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
        if (!named || (c->in_full_only && !settings.deep && !exactly)) continue;
        unsigned b = has_forced ? forced : base_bound(c);
        double start = seconds();
        settings.client_number = (unsigned)i;
        unsigned old = has_forced_old                       ? forced_old
                       : settings.deep && c->full_old_reads ? c->full_old_reads
                                                            : c->old_reads;
        model_verdict_t v = explore(c, b, old);
        double took = seconds() - start;
        bool replays = v == MODEL_PASSES || fails_again();
        char bound_text[16], old_text[16];
        snprintf(bound_text, sizeof bound_text, b == MODEL_UNBOUNDED ? "any" : "%u", b);
        snprintf(old_text, sizeof old_text, old == 0 ? "any" : "%u", old);
        printf("%-38s %11s %9s %10" PRIu64 " %12" PRIu64 " %12" PRIu64 " %8.2f  %s%s%s\n", c->name, bound_text,
               old_text, search.executions, search.prunes, search.states, took, v == c->verdict ? "ok" : "FAILED",
               search.unfinished ? ", not finished" : "",
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
