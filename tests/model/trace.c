/* trace.c: what a step looks like to a reader. */
#include "engine.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TRACED = 200 }; /* steps that a trace shows at the start and before the livelock bound */

const char *const order_name[] = { "relaxed", "acquire", "release", "acq_rel" };
const char *const kind_name[] = { "load", "store", "exchange", "cas", "fetch", "fence", "heavy" };
const char *const verdict_name[] = { "passes",    "assertion",      "lost wake-up", "livelock",
                                     "data race", "use after free", "misuse" };

void trace_line(const char *format, ...)
{
    if (run.step > TRACED && run.step + TRACED < settings.longest) return;
    va_list arguments;
    printf("  %4u  T%d  ", run.step, run.self);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

const char *site_text(const model_site_t *site)
{
    static char text[4][128];
    static unsigned turn;
    char *out = text[turn++ % 4];
    const char *file = strrchr(site->file, '/');
    snprintf(out, sizeof text[0], "%s:%d", file ? file + 1 : site->file, site->line);
    return out;
}

const char *word_name(const word_t *w)
{
    static char text[32];
    if (w->name) return w->name;
    snprintf(text, sizeof text, "%p", w->address);
    return text;
}

const char *from_text(const word_t *w, store_id id)
{
    static char text[96];
    int n = id ? snprintf(text, sizeof text, "stored by T%d at %u", id / SEQUENCE,
                          memory.stores[id / SEQUENCE][id % SEQUENCE].step)
               : snprintf(text, sizeof text, "initial");
    if (id != newest(w))
        snprintf(text + n, sizeof text - (size_t)n, "; the newest is %" PRIu64, value_of(w, newest(w)));
    return text;
}

const char *mutant_name(const model_site_t *site, unsigned order)
{
    static char text[160];
    snprintf(text, sizeof text, "%s:%s:%s", site_text(site), kind_name[site->kind],
             site->kind >= MODEL_FENCE ? "removed" : order_name[order]);
    return text;
}
