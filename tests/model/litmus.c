/* litmus.c: the checker's memory model, against what C11 and C++20 say of small programs.
 *
 * Each row is a program, a result, and whether the model must find it or must never find it. A program's threads are
 * separated by |, its statements by ;
 *
 *     x=1 rlx        store            r0=x acq          load         r0=x+1 rlx     fetch and add
 *     r0=x?0:1 rel   compare x with 0 and store 1; r0 is what it read
 *     d:=1, r0:=d    plain memory     fence             a full fence
 *     heavy, light   the two sides of the asymmetric fence: membarrier, and a compiler barrier only
 *
 * All words start at 0. A result is a set of registers and of last values; `race` is a data race. */
#include "model.h"

#include <concede/atomic.h>
#include "os.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FORBIDDEN, ALLOWED };

typedef struct row {
    const char *name, *program, *result;
    int expected;
} row_t;

static const row_t rows[] = {
    { "CoRR", "x=1 rlx | r0=x rlx; r1=x rlx", "r0=1 r1=0", FORBIDDEN },
    { "CoWR", "x=1 rlx; r0=x rlx | x=2 rlx", "r0=0", FORBIDDEN },
    { "CoWR, another's", "x=1 rlx; r0=x rlx | x=2 rlx", "r0=2 x=1", FORBIDDEN },
    { "CoRW", "r0=x rlx; x=1 rlx | x=2 rlx", "r0=2 x=2", FORBIDDEN },
    { "CoWW", "x=1 rlx; x=2 rlx", "x=1", FORBIDDEN },
    { "CoRR of two writers", "x=1 rlx | x=2 rlx | r0=x rlx; r1=x rlx | r2=x rlx; r3=x rlx", "r0=1 r1=2 r2=2 r3=1",
      FORBIDDEN },

    { "SB", "x=1 rlx; r0=y rlx | y=1 rlx; r1=x rlx", "r0=0 r1=0", ALLOWED },
    { "SB release acquire", "x=1 rel; r0=y acq | y=1 rel; r1=x acq", "r0=0 r1=0", ALLOWED },
    { "SB by swaps", "r2=x+1 acq_rel; r0=y acq | r3=y+1 acq_rel; r1=x acq", "r0=0 r1=0", ALLOWED },
    { "SB one fence", "x=1 rlx; fence; r0=y rlx | y=1 rel; r1=x acq", "r0=0 r1=0", ALLOWED },
    { "SB fences", "x=1 rlx; fence; r0=y rlx | y=1 rlx; fence; r1=x rlx", "r0=0 r1=0", FORBIDDEN },
    { "SB light heavy", "x=1 rlx; light; r0=y rlx | y=1 rlx; heavy; r1=x rlx", "r0=0 r1=0", FORBIDDEN },
    { "SB heavy heavy", "x=1 rlx; heavy; r0=y rlx | y=1 rlx; heavy; r1=x rlx", "r0=0 r1=0", FORBIDDEN },
    { "SB light light", "x=1 rlx; light; r0=y rlx | y=1 rlx; light; r1=x rlx", "r0=0 r1=0", ALLOWED },
    { "SB light fence", "x=1 rlx; light; r0=y rlx | y=1 rlx; fence; r1=x rlx", "r0=0 r1=0", ALLOWED },
    { "SB heavy too early", "x=1 rlx; light; r0=y rlx | heavy; y=1 rlx; r1=x rlx", "r0=0 r1=0", ALLOWED },
    { "SB of three, one heavy", "x=1 rlx; light; r0=y rlx | y=1 rlx; light; r1=z rlx | z=1 rlx; heavy; r2=x rlx",
      "r0=0 r1=0 r2=0", ALLOWED },
    { "SB of three, two heavy", "x=1 rlx; light; r0=y rlx | y=1 rlx; heavy; r1=z rlx | z=1 rlx; heavy; r2=x rlx",
      "r0=0 r1=0 r2=0", FORBIDDEN },

    { "MP", "x=1 rlx; y=1 rlx | r0=y rlx; r1=x rlx", "r0=1 r1=0", ALLOWED },
    { "MP release only", "x=1 rlx; y=1 rel | r0=y rlx; r1=x rlx", "r0=1 r1=0", ALLOWED },
    { "MP acquire only", "x=1 rlx; y=1 rlx | r0=y acq; r1=x rlx", "r0=1 r1=0", ALLOWED },
    { "MP release acquire", "x=1 rlx; y=1 rel | r0=y acq; r1=x rlx", "r0=1 r1=0", FORBIDDEN },
    { "MP fences", "x=1 rlx; fence; y=1 rlx | r0=y rlx; fence; r1=x rlx", "r0=1 r1=0", FORBIDDEN },
    { "MP fence acquire", "x=1 rlx; fence; y=1 rlx | r0=y acq; r1=x rlx", "r0=1 r1=0", FORBIDDEN },
    { "MP release fence", "x=1 rlx; y=1 rel | r0=y rlx; fence; r1=x rlx", "r0=1 r1=0", FORBIDDEN },
    { "MP fence relaxed", "x=1 rlx; fence; y=1 rlx | r0=y rlx; r1=x rlx", "r0=1 r1=0", ALLOWED },
    { "MP fence first", "fence; x=1 rlx; y=1 rlx | r0=y acq; r1=x rlx", "r0=1 r1=0", ALLOWED },
    { "MP heavy light", "x=1 rlx; heavy; y=1 rlx | r0=y rlx; light; r1=x rlx", "r0=1 r1=0", FORBIDDEN },
    { "MP light heavy", "x=1 rlx; light; y=1 rlx | r0=y rlx; heavy; r1=x rlx", "r0=1 r1=0", FORBIDDEN },
    { "MP by a swap", "x=1 rlx; r2=y+1 rel | r0=y+0 acq; r1=x rlx", "r0=1 r1=0", FORBIDDEN },
    { "MP by a relaxed swap", "x=1 rlx; r2=y+1 acq | r0=y+0 rel; r1=x rlx", "r0=1 r1=0", ALLOWED },
    { "MP by a compare", "x=1 rlx; r2=y?0:1 rel | r0=y?1:2 acq; r1=x rlx", "r0=1 r1=0", FORBIDDEN },
    { "MP by a compare that fails", "x=1 rlx; y=1 rel | r0=y?5:6 acq_rel; r1=x rlx", "r0=1 r1=0", ALLOWED },

    { "release sequence", "x=1 rlx; y=1 rel | r2=y+1 rlx | r0=y acq; r1=x rlx", "r0=2 r2=1 r1=0", FORBIDDEN },
    { "release sequence of two", "x=1 rlx; y=1 rel | r2=y+1 rlx | r3=y+1 rlx | r0=y acq; r1=x rlx", "r0=3 r3=2 r1=0",
      FORBIDDEN },
    { "release sequence broken", "x=1 rlx; y=1 rel | y=2 rlx | r0=y acq; r1=x rlx", "r0=2 r1=0", ALLOWED },
    { "release sequence, same thread", "x=1 rlx; y=1 rel; y=2 rlx | r0=y acq; r1=x rlx", "r0=2 r1=0", ALLOWED },

    { "WRC", "x=1 rlx | r0=x rlx; y=1 rlx | r1=y rlx; r2=x rlx", "r0=1 r1=1 r2=0", ALLOWED },
    { "WRC release acquire", "x=1 rel | r0=x acq; y=1 rel | r1=y acq; r2=x rlx", "r0=1 r1=1 r2=0", FORBIDDEN },
    { "WRC by coherence", "x=1 rlx | r0=x rlx; y=1 rel | r1=y acq; r2=x rlx", "r0=1 r1=1 r2=0", FORBIDDEN },
    { "ISA2", "x=1 rlx; y=1 rlx | r0=y rlx; z=1 rlx | r1=z rlx; r2=x rlx", "r0=1 r1=1 r2=0", ALLOWED },
    { "ISA2 release acquire", "x=1 rlx; y=1 rel | r0=y acq; z=1 rel | r1=z acq; r2=x rlx", "r0=1 r1=1 r2=0",
      FORBIDDEN },
    { "ISA2 broken", "x=1 rlx; y=1 rel | r0=y rlx; z=1 rel | r1=z acq; r2=x rlx", "r0=1 r1=1 r2=0", ALLOWED },

    { "IRIW", "x=1 rlx | y=1 rlx | r0=x rlx; r1=y rlx | r2=y rlx; r3=x rlx", "r0=1 r1=0 r2=1 r3=0", ALLOWED },
    { "IRIW release acquire", "x=1 rel | y=1 rel | r0=x acq; r1=y acq | r2=y acq; r3=x acq", "r0=1 r1=0 r2=1 r3=0",
      ALLOWED },
    { "IRIW one fence", "x=1 rlx | y=1 rlx | r0=x acq; fence; r1=y rlx | r2=y acq; r3=x rlx", "r0=1 r1=0 r2=1 r3=0",
      ALLOWED },
    { "IRIW fences", "x=1 rlx | y=1 rlx | r0=x rlx; fence; r1=y rlx | r2=y rlx; fence; r3=x rlx", "r0=1 r1=0 r2=1 r3=0",
      FORBIDDEN },
    { "IRIW light heavy", "x=1 rlx | y=1 rlx | r0=x rlx; light; r1=y rlx | r2=y rlx; heavy; r3=x rlx",
      "r0=1 r1=0 r2=1 r3=0", FORBIDDEN },
    { "RWC", "x=1 rlx | r0=x acq; r1=y rlx | y=1 rlx; fence; r2=x rlx", "r0=1 r1=0 r2=0", ALLOWED },
    { "RWC fences", "x=1 rlx | r0=x rlx; fence; r1=y rlx | y=1 rlx; fence; r2=x rlx", "r0=1 r1=0 r2=0", FORBIDDEN },
    { "W+RWC fences", "x=1 rlx; z=1 rel | r0=z acq; fence; r1=y rlx | y=1 rlx; fence; r2=x rlx", "r0=1 r1=0 r2=0",
      FORBIDDEN },

    { "2+2W", "x=1 rlx; y=2 rlx | y=1 rlx; x=2 rlx", "x=1 y=1", ALLOWED },
    { "2+2W release", "x=1 rel; y=2 rel | y=1 rel; x=2 rel", "x=1 y=1", ALLOWED },
    { "2+2W fences", "x=1 rlx; fence; y=2 rlx | y=1 rlx; fence; x=2 rlx", "x=1 y=1", FORBIDDEN },
    { "2+2W light heavy", "x=1 rlx; light; y=2 rlx | y=1 rlx; heavy; x=2 rlx", "x=1 y=1", FORBIDDEN },
    { "R", "x=1 rlx; y=1 rlx | y=2 rlx; r0=x rlx", "r0=0 y=2", ALLOWED },
    { "R fences", "x=1 rlx; fence; y=1 rlx | y=2 rlx; fence; r0=x rlx", "r0=0 y=2", FORBIDDEN },
    { "S", "x=2 rlx; y=1 rlx | r0=y rlx; x=1 rlx", "r0=1 x=2", ALLOWED },
    { "S release acquire", "x=2 rlx; y=1 rel | r0=y acq; x=1 rlx", "r0=1 x=2", FORBIDDEN },

    { "two adds", "r0=x+1 rlx | r1=x+1 rlx", "r0=0 r1=0", FORBIDDEN },
    { "two adds and a store", "r0=x+1 rlx | r1=x+1 rlx | x=5 rlx", "r0=5 r1=5", FORBIDDEN },
    { "two compares", "r0=x?0:1 rlx | r1=x?0:2 rlx", "r0=0 r1=0", FORBIDDEN },
    { "an add reads an old store", "x=1 rlx; y=1 rlx | r1=y rlx; r0=x+4 rlx", "r1=1 r0=0 x=1", ALLOWED },
    { "an add does not, after acquiring", "x=1 rlx; y=1 rel | r1=y acq; r0=x+4 rlx", "r1=1 r0=0", FORBIDDEN },

    { "race", "d:=1; y=1 rlx | r0=y acq; r1:=d", "race", ALLOWED },
    { "race with release only", "d:=1; y=1 rel | r0:=d", "race", ALLOWED },
    { "race of a write with a read", "r0:=d; y=1 rlx | r1=y acq; d:=1", "race", ALLOWED },
    { "fences order no plain memory", "d:=1; fence | fence; r0:=d", "race", ALLOWED },
    { "readers do not race", "r0:=d | r1:=d", "race", FORBIDDEN },
    { "one thread does not race", "d:=1; r0:=d; d:=2", "race", FORBIDDEN },

    /* C11 allows it and no compiler or CPU that runs loads in program order shows it; the model does not generate it.
     */
    { "LB", "r0=x rlx; y=1 rlx | r1=y rlx; x=1 rlx", "r0=1 r1=1", FORBIDDEN },
};

typedef struct statement {
    char what[8];
    int target, word, operand, value; /* registers and words by number */
    char order[8];
} statement_t;

static const row_t *row;
static statement_t program[MODEL_THREADS][8];
static unsigned lengths[MODEL_THREADS], thread_total;
static uint32_t words[3], data, registers[4];

static void parse(void)
{
    char text[256], *thread_rest = NULL;
    snprintf(text, sizeof text, "%s", row->program);
    thread_total = 0;
    for (char *thread = strtok_r(text, "|", &thread_rest); thread; thread = strtok_r(NULL, "|", &thread_rest)) {
        char *rest = NULL;
        unsigned length = 0;
        for (char *s = strtok_r(thread, ";", &rest); s; s = strtok_r(NULL, ";", &rest)) {
            statement_t *out = &program[thread_total][length++];
            char word = 'x';
            memset(out, 0, sizeof *out);
            if (sscanf(s, " r%d=%c+%d %7[a-z_]", &out->target, &word, &out->operand, out->order) == 4)
                strcpy(out->what, "add");
            else if (sscanf(s, " r%d=%c?%d:%d %7[a-z_]", &out->target, &word, &out->operand, &out->value, out->order) ==
                     5)
                strcpy(out->what, "cas");
            else if (sscanf(s, " r%d=%c %7[a-z_]", &out->target, &word, out->order) == 3)
                strcpy(out->what, "load");
            else if (sscanf(s, " r%d:=d", &out->target) == 1)
                strcpy(out->what, "read");
            else if (sscanf(s, " d:=%d", &out->value) == 1)
                strcpy(out->what, "write");
            else if (sscanf(s, " %c=%d %7[a-z_]", &word, &out->value, out->order) == 3)
                strcpy(out->what, "store");
            else
                sscanf(s, " %7[a-z]", out->what);
            out->word = word - 'x';
        }
        lengths[thread_total++] = length;
    }
}

static void execute(void)
{
    int t = model_self() - 1;
    for (unsigned i = 0; i < lengths[t]; i++) {
        const statement_t *s = &program[t][i];
        uint32_t *p = &words[s->word], *r = &registers[s->target], e = (uint32_t)s->operand, v = (uint32_t)s->value;
        bool acquires = strstr(s->order, "acq"), releases = strstr(s->order, "rel");
        if (!strcmp(s->what, "load"))
            *r = acquires ? cc_load_acquire(p) : cc_load_relaxed(p);
        else if (!strcmp(s->what, "store") && releases)
            cc_store_release(p, v);
        else if (!strcmp(s->what, "store"))
            cc_store_relaxed(p, v);
        else if (!strcmp(s->what, "add"))
            *r = acquires && releases ? cc_fetch_add_acq_rel(p, e)
                 : acquires           ? cc_fetch_add_acquire(p, e)
                 : releases           ? cc_fetch_add_release(p, e)
                                      : cc_fetch_add_relaxed(p, e);
        else if (!strcmp(s->what, "cas")) {
            (void)(acquires && releases ? cc_cas_acq_rel(p, &e, v)
                   : acquires           ? cc_cas_acquire(p, &e, v)
                   : releases           ? cc_cas_release(p, &e, v)
                                        : cc_cas_relaxed(p, &e, v));
            *r = e;
        } else if (!strcmp(s->what, "fence"))
            cc_fence_full();
        else if (!strcmp(s->what, "heavy"))
            cc_os_membarrier_();
        else if (!strcmp(s->what, "light"))
            CC_COMPILER_BARRIER_();
        else if (!strcmp(s->what, "write"))
            model_write(&data, sizeof data), data = v;
        else if (!strcmp(s->what, "read"))
            model_read(&data, sizeof data), *r = data;
        else
            model_check(false && "a statement of the litmus language");
    }
}

static void setup(void)
{
    static const char *const names[] = { "x", "y", "z" };
    data = 0;
    for (int i = 0; i < 3; i++) words[i] = 0, model_name(&words[i], names[i]);
    for (int i = 0; i < 4; i++) registers[i] = UINT32_MAX;
}

static bool result_holds(const char *text)
{
    int number, value, used;
    char word;
    bool holds = true, any = false;
    for (; *text; text += used, any = true) {
        used = 0;
        if (sscanf(text, " r%d=%d%n", &number, &value, &used) == 2)
            holds &= registers[number] == (uint32_t)value;
        else if (sscanf(text, " %c=%d%n", &word, &value, &used) == 2)
            holds &= words[word - 'x'] == (uint32_t)value;
        else
            return false;
    }
    return any && holds;
}

static void finish(void)
{
    model_outcome(result_holds(row->result));
}

int main(void)
{
    unsigned wrong = 0;
    printf("%-34s %-10s %-10s %10s\n", "program", "expected", "found", "executions");
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        row = &rows[i];
        parse();
        model_client_t client = { .name = row->name,
                                  .setup = setup,
                                  .finish = finish,
                                  .bound = MODEL_UNBOUNDED,
                                  .membarrier = true,
                                  .insert = true };
        for (unsigned t = 0; t < thread_total; t++) client.threads[t] = execute;
        model_verdict_t verdict = model_explore(&client);
        bool is_race = !strcmp(row->result, "race");
        bool found = is_race ? verdict == MODEL_RACE : (model_outcomes() & 2) != 0;
        bool ok =
            found == (row->expected == ALLOWED) && (verdict == MODEL_PASSES || (is_race && verdict == MODEL_RACE));
        wrong += !ok;
        printf("%-34s %-10s %-10s %10llu%s\n", row->name, row->expected == ALLOWED ? "allowed" : "forbidden",
               found ? "found" : "never", (unsigned long long)model_executions(), ok ? "" : "  WRONG");
    }
    printf("%zu passed, %u failed\n", sizeof rows / sizeof *rows - wrong, wrong);
    return wrong != 0;
}
