/* mutants.c: one order weakened, or one fence removed, at a time. */
#include "engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern model_site_t *__start_model_sites[], *__stop_model_sites[]; /* the linker's names for a section's ends */

const char *source_line(const model_site_t *site)
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

/* Lines of "file | part of the source line | mutation | reason": the mutants that no client catches, and why their
 * order stays. The reason, or NULL. */
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

/* Whether a line of the list is about a source of this program; another program has the others. */
static bool is_of_this_program(const char *text)
{
    for (model_site_t **s = __start_model_sites; s < __stop_model_sites; s++) {
        const char *file = strrchr((*s)->file, '/');
        file = file ? file + 1 : (*s)->file;
        if (!strncmp(text, file, strlen(file)) && text[strlen(file)] == ' ') return true;
    }
    return false;
}

/* How many lines of the list are about mutants with this beginning. */
static unsigned list_length(const char *list, const char *only)
{
    char text[1024];
    unsigned count = 0;
    FILE *f = fopen(list, "r");
    while (f && fgets(text, sizeof text, f))
        count += is_of_this_program(text) && (!only || !strncmp(text, only, strlen(only)));
    if (f) fclose(f);
    return count;
}

/* One order weakened by one step: a fence goes; a swap that acquires and releases keeps one of the two; any other
 * access becomes relaxed. */
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
    for (size_t k = 0; executed && k < count && !by && (settings.deep || !reason); k++) {
        size_t i = in_order[k];
        if (!(site->clients[i / 64] >> i % 64 & 1)) continue;
        settings.client_number = (unsigned)i;
        if (explore(&clients[i], clients[i].bound, clients[i].old_reads) != MODEL_PASSES)
            by = clients[i].name, how = verdict_name[run.verdict];
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
int mutate(const model_client_t *clients, size_t count, const char *list, const char *only)
{
    static mutant_t mutants[MUTANTS];
    uint64_t *cost = calloc(count, sizeof *cost);
    size_t *in_order = calloc(count, sizeof *in_order), used = 0;
    int jobs[2], results[2];
    if (!cost || !in_order || pipe(jobs) || pipe(results)) abort();
    /* Who executes which order, and how long each client takes: the cheapest go first. */
    for (size_t i = 0; i < count; i++) {
        settings.client_number = (unsigned)i;
        if ((clients[i].in_full_only && !settings.deep) ||
            explore(&clients[i], clients[i].bound, clients[i].old_reads) != MODEL_PASSES)
            continue;
        cost[i] = search.steps;
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
    unsigned listed = list_length(list, only);
    if (kept < listed) printf("%u of the list are not in the sources any more\n", listed - kept);
    printf("%u mutants caught, %u kept for a reason, %u neither\n", caught, kept, total - caught - kept);
    return total == 0 || caught + kept != total || kept < listed;
}
