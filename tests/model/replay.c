/* replay.c: a failed execution, once more. */
#include "engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether the failed path, run once more, fails in the same way. Finds out shared_words for a replay. */
bool fails_again(void)
{
    static word_t before[WORDS];
    model_verdict_t first = run.verdict;
    unsigned count = memory.word_count, used = search.path_used;
    bool same = false;
    memcpy(before, memory.words, sizeof before);
    settings.replaying = true;
    search.path_known = used;
    memory.shared_words = 0;
    for (unsigned turn = 0; turn <= WORDS && !same; turn++) {
        forget_words();
        run_once();
        uint64_t found = 0;
        for (unsigned w = 0; w < memory.word_count; w++)
            for (unsigned k = 0; k < count; k++)
                if (before[k].address == memory.words[w].address && before[k].shared && w < 64)
                    found |= UINT64_C(1) << w;
        same = found == memory.shared_words && run.verdict == first && search.path_used == used;
        memory.shared_words = found;
    }
    search.path_used = used;
    settings.replaying = false;
    return same;
}

/* Runs the failed path once more, aloud. */
void show_failure(const char *program)
{
    printf("%s: %s\n", settings.client->name, run.failure);
    settings.tracing = settings.replaying = true;
    forget_words();
    run_once();
    settings.tracing = settings.replaying = false;
    printf("  => %s\n", run.failure);
    for (unsigned t = 1; t <= run.thread_count; t++)
        if (run.threads[t].status == ASLEEP)
            printf("     T%u sleeps on %s\n", t, word_name(word_at(run.threads[t].asleep_on[0])));
    printf("  again: %s%s%s --replay %s/%u.%u/%" PRIx64 "/", program, settings.weakened ? " --weaken " : "",
           settings.weakened ? settings.weakened : "", settings.client->name, settings.bound, settings.old_read_bound,
           memory.shared_words);
    for (unsigned i = 0, first = 1; i < search.path_used; i++) {
        if (search.path[i].pick == 0) continue;
        unsigned last = i;
        while (last + 1 < search.path_used && search.path[last + 1].pick == search.path[i].pick) last++;
        printf("%s%u", first ? "" : ",", i);
        if (last > i) printf("-%u", last);
        printf(".%u", search.path[i].pick);
        first = 0;
        i = last;
    }
    putchar('\n');
}

static bool read_path(const char *text)
{
    memset(search.path, 0, sizeof search.path);
    search.path_known = 0;
    while (*text) {
        char *rest;
        unsigned long at = strtoul(text, &rest, 10);
        unsigned long last = *rest == '-' ? strtoul(rest + 1, &rest, 10) : at;
        if (*rest != '.' || last >= CHOICES) return false;
        unsigned long pick = strtoul(rest + 1, &rest, 10);
        if (pick > 254 || (*rest && *rest != ',')) return false;
        for (; at <= last; at++) search.path[at].pick = (uint8_t)pick;
        search.path_known = (unsigned)last + 1;
        text = *rest ? rest + 1 : rest;
    }
    return true;
}

int replay(const char *program, const char *text, const model_client_t *clients, size_t count)
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
        settings.client = &clients[i];
        char *dot;
        settings.bound = (unsigned)strtoul(slash + 1, &dot, 10);
        settings.old_read_bound = *dot == '.' ? (unsigned)strtoul(dot + 1, NULL, 10) : 0;
        memory.shared_words = strtoull(second + 1, NULL, 16);
        settings.tracing = settings.replaying = true;
        forget_words();
        run_once();
        printf("  => %s\n", run.verdict == MODEL_PASSES ? "passes" : run.failure);
        return run.verdict == MODEL_PASSES ? 0 : 1;
    }
    fprintf(stderr, "%s: no client of that name\n", program);
    return 2;
}
