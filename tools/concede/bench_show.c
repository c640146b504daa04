/* bench_show.c: see bench_show.h. */
#include "bench_show.h"
#include "tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table --------------------------------------------------------------------------------------------------- */

/* A value of a metric. The worst of a million may be microseconds or seconds, so it brings its unit. */
static const char *shown(uint32_t metric, double value)
{
    return metric == BENCH_WORST ? tool_duration(value) : tool_figure(value);
}

static const char *spread_percent(const bench_spread *spread)
{
    static char texts[8][16];
    static unsigned at;
    char *text = texts[at++ % 8];
    double half = spread->median != 0 ? 50 * (spread->q3 - spread->q1) / fabs(spread->median) : 0;
    if (half < 100)
        snprintf(text, sizeof *texts, "%.*f%%", half < 9.95, half);
    else
        snprintf(text, sizeof *texts, "wide"); /* the rounds have so little in common that there is no one figure */
    return text;
}

/* A parameter, in the largest unit that leaves no fraction: "200 us". */
static const char *shortest(uint32_t ns)
{
    static char texts[8][16];
    static unsigned at;
    char *text = texts[at++ % 8];
    if (ns && ns % 1000000 == 0)
        snprintf(text, sizeof *texts, "%u ms", ns / 1000000);
    else if (ns && ns % 1000 == 0)
        snprintf(text, sizeof *texts, "%u us", ns / 1000);
    else
        snprintf(text, sizeof *texts, ns ? "%u ns" : "%u", ns);
    return text;
}

/* Whether its implementations compete; steps of a progression do not. */
static bool ranks(const bench_run *run)
{
    return strcmp(run->workload, "cas.step") != 0 && strcmp(run->workload, "cas.snooze") != 0 &&
           strcmp(run->workload, "cas.yield") != 0;
}

void show_run_name(const bench_run *run, char *text, size_t size)
{
    const bench_setting *s = &run->setting;
    int n = snprintf(text, size, "%s", run->workload);
#define ADD(...) n += snprintf(text + n, n < (int)size ? size - (size_t)n : 0, __VA_ARGS__)
    if (strcmp(run->workload, "channel.many") == 0 || strcmp(run->workload, "channel.map") == 0 ||
        (run->family == BENCH_CONDITION && s->senders))
        ADD(", %u:%u", s->senders, s->threads - s->senders);
    else if (run->family != BENCH_SELECT && run->family != BENCH_SHARED &&
             (s->threads != 2 || run->family != BENCH_CHANNEL))
        ADD(", %u thread%s", s->threads, s->threads == 1 ? "" : "s");
    if (s->held_ns || strcmp(run->workload, "lock.map") == 0) ADD(", held %s", shortest(s->held_ns));
    if (strcmp(run->workload, "lock.map") == 0) ADD(", %s outside", shortest(s->outside_ns));
    if (s->channels) ADD(", %u channel%s", s->channels, s->channels == 1 ? "" : "s");
    if (s->interval_ns) ADD(", every %s", shortest(s->interval_ns));
    if (strcmp(run->workload, "channel.map") == 0) {
        if (!s->interval_ns) ADD(", as fast as it goes");
        if (s->burst > 1) ADD(", %u at a time", s->burst);
    }
    if (s->work_ns && run->family != BENCH_PARK) ADD(", %s of work", shortest(s->work_ns));
    if (s->capacity && s->capacity != (run->family == BENCH_CONDITION ? 16 : 1024)) ADD(", capacity %u", s->capacity);
    if (s->message_size && s->message_size != 8) ADD(", %u bytes", s->message_size);
#undef ADD
}

/* How many times as good as this one the baseline is, from the ratio of values. */
static bench_spread advantage(const bench_samples *samples, bool higher)
{
    bench_spread a = samples->ratio;
    if (higher) {
        a.median = samples->ratio.median > 0 ? 1 / samples->ratio.median : INFINITY;
        a.q1 = samples->ratio.q3 > 0 ? 1 / samples->ratio.q3 : INFINITY;
        a.q3 = samples->ratio.q1 > 0 ? 1 / samples->ratio.q1 : INFINITY;
    }
    return a;
}

/* What a reader should know before believing the figures; "" if there is nothing. */
static void describe_noise(const bench_run *run, char *text, size_t size)
{
    int n = 0;
    double others = bench_spread_of(run->others, run->rounds).median;
    text[0] = 0;
#define ADD(...) n += snprintf(text + n, n < (int)size ? size - (size_t)n : 0, __VA_ARGS__)
    if (run->winner < 0 && run->results > 1 && ranks(run)) ADD("Too noisy to rank. ");
    if (run->rounds_dropped)
        ADD("%u of %u rounds dropped: the line cost jumped, or other programs ran. ", run->rounds_dropped,
            run->rounds + run->rounds_dropped);
    if (others > BENCH_OTHERS_LIMIT) ADD("Other programs took %.0f %% of the CPUs all the same. ", 100 * others);
#undef ADD
    if (n > 0 && n < (int)size) text[n - 1] = 0;
}

/* How the waits of one of concede's forms ended, in a sentence; "" if there were none. */
static void describe_waits(const bench_result *result, char *text, size_t size)
{
    char share[3][16];
    double all = 0;
    for (uint32_t i = 0; i < 3; i++) {
        double in_100 = 100 * result->metrics[BENCH_SPUN + i].value.median;
        bool tiny = in_100 > 0 && in_100 < 0.001;
        snprintf(share[i], sizeof *share, tiny ? "<0.001" : "%.3g", in_100);
        all += in_100;
    }
    snprintf(text, size, "%s, waits in 100 operations: %s ended spinning, %s yielding, %s asleep.", result->name,
             share[0], share[1], share[2]);
    if (all == 0) text[0] = 0;
}

static void print_note(const char *note)
{
    if (!note[0]) return;
    fputs("  ", stdout);
    tool_wrap(stdout, 2, note);
}

static void print_run(const bench_run *run)
{
    char name[128];
    const char *heads[BENCH_COLUMNS + 4] = { "<" };
    char metric_heads[BENCH_COLUMNS][32];
    int columns = 1;
    uint32_t others[BENCH_COLUMNS], other_count = 0;
    show_run_name(run, name, sizeof name);
    char title[sizeof name + sizeof run->title + 2];
    snprintf(title, sizeof title, "%s: %s", name, run->title);
    tool_wrap(stdout, 0, title);

    snprintf(metric_heads[0], sizeof *metric_heads, ">%s", bench_metrics[run->primary].title);
    heads[columns++] = metric_heads[0];
    heads[columns++] = "~+-";
    bool ratios = run->results > 1 && ranks(run);
    if (ratios) heads[columns++] = ">better by", heads[columns++] = "~+-";
    for (uint32_t m = 0; m < BENCH_COLUMNS; m++) {
        if (m == run->primary || run->result[0].metrics[m].count == 0) continue;
        others[other_count] = m;
        bool may_go = m == BENCH_RATE || m == BENCH_P50 || m == BENCH_CPU;
        snprintf(metric_heads[++other_count], sizeof *metric_heads, "%c%s", may_go ? '~' : '>', bench_metrics[m].title);
        heads[columns++] = metric_heads[other_count];
    }
    tool_table_t *table = tool_table(columns, heads);
    for (uint32_t i = 0; i < run->results; i++) {
        const bench_result *result = &run->result[i];
        const bench_samples *primary = &result->metrics[run->primary];
        tool_cell(table, "%s%s", result->name, (int32_t)i == run->winner && ranks(run) ? " *" : "");
        tool_cell(table, "%s", shown(run->primary, primary->value.median));
        tool_cell(table, "%s", spread_percent(&primary->value));
        if (ratios && primary->has_ratio) {
            bench_spread times = advantage(primary, bench_metrics[run->primary].higher);
            tool_cell(table, "%sx", tool_figure(times.median));
            tool_cell(table, "%s", spread_percent(&times));
        } else if (ratios) {
            tool_cell(table, "%s", "");
            tool_cell(table, "%s", "");
        }
        for (uint32_t k = 0; k < other_count; k++)
            tool_cell(table, "%s", shown(others[k], result->metrics[others[k]].value.median));
    }
    tool_table_print(table, stdout, 2);
    char note[256];
    for (uint32_t i = 0; i < run->results; i++) {
        describe_waits(&run->result[i], note, sizeof note);
        print_note(note);
    }
    describe_noise(run, note, sizeof note);
    print_note(note);
    putchar('\n');
}

static void list_peers(const bench_report *report, bool present, char *text, size_t size)
{
    text[0] = 0;
    for (uint32_t i = 0, n = 0; i < report->peers && n < size; i++) {
        const char *version = report->peer[i].version;
        if (report->peer[i].present != present || (present && !version[0])) continue;
        n += (uint32_t)snprintf(text + n, size - n, "%s%s%s%s", n ? ", " : "", report->peer[i].name, present ? " " : "",
                                present ? version : "");
    }
}

/* Of a cache line between CPUs, from the median of each run. */
static bench_spread line_cost(const bench_report *report)
{
    double lines[2 * BENCH_ROUNDS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < report->runs && n < 2 * BENCH_ROUNDS; i++) {
        double median = bench_spread_of(report->run[i].line_ns, report->run[i].lines).median;
        if (median > 0) lines[n++] = median;
    }
    return bench_spread_of(lines, n);
}

static void describe_machine(const bench_report *report, char *text, size_t size)
{
    bench_spread line = line_cost(report);
    char missing[256], others[300] = "", lines[128] = "", load[96] = "", neighbours[96] = "";
    double taken = 0, rounds = 0;
    for (uint32_t i = 0; i < report->runs; i++)
        for (uint32_t k = 0; k < report->run[i].rounds; k++, rounds++) taken += report->run[i].others[k];
    if (rounds > 0 && taken / rounds > BENCH_OTHERS_LIMIT && !report->neighbours[0])
        snprintf(load, sizeof load, " Other programs took %.0f %% of the CPUs meanwhile.", 100 * taken / rounds);
    if (report->neighbours[0]) {
        const char *at = strchr(report->neighbours, '@');
        snprintf(neighbours, sizeof neighbours, " Beside %.*s neighbour processes that only count, on %s%s.",
                 (int)strcspn(report->neighbours, "@"), report->neighbours, at ? "CPU " : "each CPU", at ? at + 1 : "");
    }
    list_peers(report, false, missing, sizeof missing);
    if (missing[0]) snprintf(others, sizeof others, " Not installed when this was built: %s.", missing);
    if (line.median > 0)
        snprintf(lines, sizeof lines, " A line to the other CPU takes %s ns (quartiles %s to %s).",
                 tool_figure(line.median), tool_figure(line.q1), tool_figure(line.q3));
    snprintf(
        text, size,
        "%s, %u usable CPU%s%s, %s. The clock is %s: reading it takes %s ns, and it moves in steps of %s ns. Latencies "
        "are exact to %.1f %%.%s%s%s%s",
        report->cpu, report->cpus, report->cpus == 1 ? "" : "s", report->hypervisor ? " of a virtual machine" : "",
        report->system, report->clock, tool_figure(report->clock_overhead_ns), tool_figure(report->clock_step_ns),
        100 * report->histogram_error, lines, load, neighbours, others);
}

/* How many times as good, in few columns. */
static const char *times_text(double times)
{
    static char texts[8][16];
    static unsigned at;
    char *text = texts[at++ % 8];
    int digits = times < 0.0995 ? 3 : times < 9.995 ? 2 : times < 99.95;
    snprintf(text, sizeof *texts, "%.*f", digits, times < 9999 ? times : 9999);
    return text;
}

/* The metrics of a map, and what they are called in its columns. */
static const uint32_t map_metrics[] = { BENCH_RATE, BENCH_P50, BENCH_P99, BENCH_P999, BENCH_CPU, BENCH_JAIN };
static const char *const map_heads[] = { ">rate", ">p50", ">p99", ">p999", ">CPU", ">Jain" };
enum { MAP_METRICS = sizeof map_metrics / sizeof *map_metrics };

/* A map as rows of text: one for each of ours in each setting. */
enum { MAP_COLUMNS = 5 + MAP_METRICS };
typedef struct map_text {
    const char *heads[MAP_COLUMNS];
    int columns;
    uint32_t cells, ahead, behind; /* ahead: in something, and behind in nothing */
    char (*row)[MAP_COLUMNS][24];
} map_text;

static const char map_legend[] =
    "From rate to CPU: how many times as good as the best peer in that column; from p50 to CPU, of those that share as "
    "evenly, and for CPU carry as much. Jain's index itself. + better, ! worse than is tolerated, both by more than "
    "the "
    "noise.";

static void map_row(map_text *map, const bench_run *run, uint32_t ours)
{
    const bench_setting *s = &run->setting;
    const bench_samples *metrics = run->result[ours].metrics;
    int at = 0;
    int32_t worst = 0, best = 0;
    char(*row)[24] = map->row[map->cells++];
#define CELL(...) snprintf(row[at++], sizeof *row, __VA_ARGS__)
    if (run->family == BENCH_LOCK) {
        CELL("%u", s->threads);
        CELL("%s", shortest(s->held_ns));
        CELL("%s", shortest(s->outside_ns));
    } else {
        const char *kind = strstr(run->result[ours].name, "spsc") ? "spsc" : "mpmc";
        CELL("%s %u:%u", kind, s->senders, s->threads - s->senders);
        CELL("%s", shortest(s->interval_ns));
        CELL("%u", s->burst);
        CELL("%s", shortest(s->work_ns));
    }
    CELL("%s", tool_figure(metrics[BENCH_RATE].value.median));
    for (int k = 0; k < MAP_METRICS; k++) {
        bench_verdict verdict = bench_judge(run, ours, map_metrics[k]);
        const char *mark = verdict.lead < 0 ? "!" : verdict.lead > 0 ? "+" : "";
        if (map_metrics[k] == BENCH_JAIN && metrics[BENCH_JAIN].count)
            CELL("%s%.2f", mark, metrics[BENCH_JAIN].value.median);
        else
            CELL("%s%s", mark, verdict.best >= 0 ? times_text(verdict.times.median) : "");
        if (verdict.lead < worst) worst = verdict.lead;
        if (verdict.lead > best) best = verdict.lead;
    }
#undef CELL
    map->behind += worst < 0;
    map->ahead += worst == 0 && best > 0;
}

static map_text map_of(const bench_run *runs, uint32_t count)
{
    static const char *const lock_heads[] = { ">threads", ">held", ">outside", ">M/s" };
    static const char *const channel_heads[] = { "<", ">every", ">each", ">work", ">M/s" };
    bool lock = runs[0].family == BENCH_LOCK;
    map_text map = { .columns = lock ? 4 : 5 };
    uint32_t rows = 0;
    memcpy(map.heads, lock ? lock_heads : channel_heads, (size_t)map.columns * sizeof *map.heads);
    for (int k = 0; k < MAP_METRICS; k++) map.heads[map.columns++] = map_heads[k];
    for (uint32_t i = 0; i < count; i++) rows += runs[i].results;
    map.row = tool_need(calloc(rows ? rows : 1, sizeof *map.row));
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t r = 0; r < runs[i].results; r++)
            if (runs[i].result[r].flags & BENCH_OURS) map_row(&map, &runs[i], r);
    return map;
}

static void print_map(const bench_run *runs, uint32_t count)
{
    map_text map = map_of(runs, count);
    char title[sizeof runs->workload + sizeof runs->title + 2];
    snprintf(title, sizeof title, "%s: %s", runs[0].workload, runs[0].title);
    tool_wrap(stdout, 0, title);
    tool_table_t *table = tool_table(map.columns, map.heads);
    for (uint32_t i = 0; i < map.cells; i++)
        for (int c = 0; c < map.columns; c++) tool_cell(table, "%s", map.row[i][c]);
    tool_table_print(table, stdout, 2);
    fputs("  ", stdout);
    tool_wrap(stdout, 2, map_legend);
    printf("  %u cell%s: %u ahead in something and behind in nothing, %u behind in something.\n\n", map.cells,
           map.cells == 1 ? "" : "s", map.ahead, map.behind);
    free(map.row);
}

static void markdown_map(const bench_run *runs, uint32_t count)
{
    map_text map = map_of(runs, count);
    printf("### %s\n\n`concede bench %s`: %s. %u round%s of at least %s ms. %s\n\n"
           "%u cells: %u ahead in something and behind in nothing, %u behind in something.\n\n|",
           runs[0].workload, runs[0].workload, runs[0].title, runs[0].rounds, runs[0].rounds == 1 ? "" : "s",
           tool_figure(runs[0].slice_ms), map_legend, map.cells, map.ahead, map.behind);
    for (int c = 0; c < map.columns; c++) printf(" %s |", map.heads[c] + 1);
    printf("\n|");
    for (int c = 0; c < map.columns; c++) printf("%s", map.heads[c][0] == '<' ? "---|" : "---:|");
    putchar('\n');
    for (uint32_t i = 0; i < map.cells; i++) {
        putchar('|');
        for (int c = 0; c < map.columns; c++) {
            const char *text = map.row[i][c], *bold = strchr(text, '!') ? "**" : "";
            printf(" %s%s%s |", bold, text, bold);
        }
        putchar('\n');
    }
    putchar('\n');
    free(map.row);
}

/* How many runs from the first on are of the same workload. */
static uint32_t same_workload(const bench_run *runs, uint32_t count)
{
    uint32_t n = 1;
    while (n < count && strcmp(runs[n].workload, runs[0].workload) == 0) n++;
    return n;
}

void show_table(const bench_report *report)
{
    char text[1024];
    describe_machine(report, text, sizeof text);
    tool_wrap(stdout, 0, text);
    tool_wrap(
        stdout, 0,
        "better by: how many times as good concede is, its first form where there are several; below 1 the other one "
        "is better. +-: half the distance between the quartiles of the rounds.");
    putchar('\n');
    for (uint32_t i = 0, n; i < report->runs; i += n) {
        n = same_workload(&report->run[i], report->runs - i);
        bool map = bench_is_map(report->run[i].workload);
        enum { FEW = 8 }; /* of so few cells everything is shown */
        for (uint32_t k = 0; (!map || n <= FEW) && k < n; k++) print_run(&report->run[i + k]);
        if (map) print_map(&report->run[i], n);
    }
    if (report->interrupted) puts("Interrupted: this is what was measured until then.");
}

/* ---- CSV --------------------------------------------------------------------------------------------------------- */

void show_csv(const bench_report *report)
{
    puts("workload,threads,senders,held_ns,outside_ns,work_ns,interval_ns,capacity,message_size,burst,channels,name,"
         "metric,unit,"
         "rounds,"
         "median,q1,q3,ratio,ratio_q1,ratio_q3");
    for (uint32_t i = 0; i < report->runs; i++) {
        const bench_run *run = &report->run[i];
        const bench_setting *s = &run->setting;
        for (uint32_t k = 0; k < run->results; k++)
            for (uint32_t m = 0; m < BENCH_METRICS; m++) {
                const bench_samples *samples = &run->result[k].metrics[m];
                if (samples->count == 0) continue;
                printf("%s,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,\"%s\",%s,%s,%u,%.6g,%.6g,%.6g,", run->workload, s->threads,
                       s->senders, s->held_ns, s->outside_ns, s->work_ns, s->interval_ns, s->capacity, s->message_size,
                       s->burst, s->channels, run->result[k].name, bench_metrics[m].key, bench_metrics[m].unit,
                       run->rounds, samples->value.median, samples->value.q1, samples->value.q3);
                if (samples->has_ratio)
                    printf("%.6g,%.6g,%.6g\n", samples->ratio.median, samples->ratio.q1, samples->ratio.q3);
                else
                    puts(",,");
            }
    }
}

/* ---- Markdown ---------------------------------------------------------------------------------------------------- */

/* A run in full: every metric, its spread, the ratio. */
static void markdown_run(const bench_run *run)
{
    char name[128], note[256];
    const char *baseline = run->baseline >= 0 ? run->result[run->baseline].name : "";
    bool ratios = run->results > 1 && ranks(run);
    show_run_name(run, name, sizeof name);
    describe_noise(run, note, sizeof note);
    printf("### %s\n\n`concede bench %s`: %s. %u round%s of %s ms.%s%s\n\n| | %s | +- |", name, run->workload,
           run->title, run->rounds, run->rounds == 1 ? "" : "s", tool_figure(run->slice_ms), note[0] ? " " : "", note,
           bench_metrics[run->primary].title);
    if (ratios) printf(" %s better by | +- |", baseline);
    for (uint32_t m = 0; m < BENCH_COLUMNS; m++)
        if (m != run->primary && run->result[0].metrics[m].count) printf(" %s |", bench_metrics[m].title);
    printf(" sleeps |\n|---|---:|---:|");
    if (ratios) printf("---:|---:|");
    for (uint32_t m = 0; m < BENCH_COLUMNS; m++)
        if (m != run->primary && run->result[0].metrics[m].count) printf("---:|");
    puts("---|");
    for (uint32_t i = 0; i < run->results; i++) {
        const bench_result *result = &run->result[i];
        const bench_samples *primary = &result->metrics[run->primary];
        const char *bold = (int32_t)i == run->winner && ranks(run) ? "**" : "";
        printf("| %s%s%s | %s%s%s | %s |", bold, result->name, bold, bold, shown(run->primary, primary->value.median),
               bold, spread_percent(&primary->value));
        if (ratios && primary->has_ratio) {
            bench_spread times = advantage(primary, bench_metrics[run->primary].higher);
            printf(" %sx | %s |", tool_figure(times.median), spread_percent(&times));
        } else if (ratios) {
            printf(" | |");
        }
        for (uint32_t m = 0; m < BENCH_COLUMNS; m++)
            if (m != run->primary && result->metrics[m].count)
                printf(" %s |", shown(m, result->metrics[m].value.median));
        printf(" %s |\n", result->flags & BENCH_CAN_SLEEP ? "yes" : "no");
    }
    putchar('\n');
    bool any = false;
    for (uint32_t i = 0; i < run->results; i++) {
        describe_waits(&run->result[i], note, sizeof note);
        if (note[0]) printf("%s%s", any ? " " : "", note);
        any |= note[0] != 0;
    }
    if (any) puts("\n");
}

static const bench_result *find_result(const bench_run *run, const char *name)
{
    for (uint32_t i = 0; i < run->results; i++)
        if (strcmp(run->result[i].name, name) == 0) return &run->result[i];
    return NULL;
}

/* Several runs side by side: a row for each implementation, a column for each run, the primary metric in the cells. */
static void markdown_columns(const bench_run *const *runs, uint32_t count, bool threads_only)
{
    const char *names[64];
    uint32_t rows = 0;
    char name[128];
    printf("| |");
    for (uint32_t k = 0; k < count; k++) {
        const bench_setting *s = &runs[k]->setting;
        show_run_name(runs[k], name, sizeof name);
        if (threads_only)
            printf(" %u |", s->threads);
        else
            printf(" %s, %s |", strchr(name, '.') ? strchr(name, '.') + 1 : name,
                   bench_metrics[runs[k]->primary].title);
        for (uint32_t i = 0; i < runs[k]->results; i++) {
            uint32_t r = 0;
            while (r < rows && strcmp(names[r], runs[k]->result[i].name) != 0) r++;
            if (r == rows && rows < 64) names[rows++] = runs[k]->result[i].name;
        }
    }
    /* What else the last run, with the most threads, says about each. */
    const bench_run *last = runs[count - 1];
    uint32_t extra[BENCH_COLUMNS], extras = 0;
    for (uint32_t m = 0; threads_only && m < BENCH_COLUMNS; m++)
        if (m != last->primary && (m == BENCH_RATE || m >= BENCH_JAIN) && last->result[0].metrics[m].count)
            extra[extras++] = m;
    for (uint32_t e = 0; e < extras; e++) printf(" %s at %u |", bench_metrics[extra[e]].title, last->setting.threads);
    printf(" sleeps |\n|---|");
    for (uint32_t k = 0; k < count + extras; k++) printf("---:|");
    puts("---|");
    for (uint32_t r = 0; r < rows; r++) {
        const char *sleeps = "no";
        printf("| %s |", names[r]);
        for (uint32_t k = 0; k < count; k++) {
            const bench_result *result = find_result(runs[k], names[r]);
            const char *bold = result && result - runs[k]->result == runs[k]->winner ? "**" : "";
            if (result && result->flags & BENCH_CAN_SLEEP) sleeps = "yes";
            if (result)
                printf(" %s%s%s |", bold, shown(runs[k]->primary, result->metrics[runs[k]->primary].value.median),
                       bold);
            else
                printf(" |");
        }
        const bench_result *result = find_result(last, names[r]);
        for (uint32_t e = 0; e < extras; e++)
            printf("%s%s |", result ? " " : "", result ? shown(extra[e], result->metrics[extra[e]].value.median) : "");
        printf(" %s |\n", sleeps);
    }
    putchar('\n');
}

/* The short tables: one for each workload whose threads compete, one for the rest of a family. */
void show_tables(const bench_report *report)
{
    const bench_run *together[64];
    for (uint32_t family = 0; family < BENCH_FAMILIES; family++) {
        uint32_t rest = 0;
        for (uint32_t i = 0; i < report->runs; i++) {
            const bench_run *run = &report->run[i], *same[64];
            uint32_t count = 0;
            if (run->family != family || !ranks(run) || bench_is_map(run->workload)) continue;
            if (i > 0 && strcmp(report->run[i - 1].workload, run->workload) == 0) continue;
            for (uint32_t k = i; k < report->runs && count < 64 && strcmp(report->run[k].workload, run->workload) == 0;
                 k++)
                same[count++] = &report->run[k];
            if (run->result[0].metrics[BENCH_JAIN].count > 0 && run->setting.senders == 0) {
                printf("`%s`, %s: %s by threads.\n\n", run->workload, run->title, bench_metrics[run->primary].title);
                markdown_columns(same, count, true);
            } else {
                for (uint32_t k = 0; k < count && rest < 64; k++) together[rest++] = same[k];
            }
        }
        if (rest > 0) markdown_columns(together, rest, false);
    }
}

/* Where, when and how, in a paragraph. */
void show_machine(const bench_report *report)
{
    char text[1024], peers[512];
    describe_machine(report, text, sizeof text);
    list_peers(report, true, peers, sizeof peers);
    printf("%s %s, %s; %s. Measured on %.10s by `%s`.\n", text, report->compiler, report->libc, peers, report->date,
           report->command);
}

void show_document(const bench_report *report)
{
    char text[1024], peers[512];
    describe_machine(report, text, sizeof text);
    list_peers(report, true, peers, sizeof peers);
    printf(
        "# Benchmarks\n\nMade by `%s` on %.10s; nothing here is typed by hand. `scripts/publish` makes it again.\n\n",
        report->command, report->date);
    printf("%s Compiler %s, %s. Versions: %s. Threads are pinned: %s.\n\n", text, report->compiler, report->libc, peers,
           report->pin);
    puts(
        "| | |\n|---|---|\n"
        "| a round | a slice of time for each implementation, in rotated order; the numbers of threads take turns, "
        "too |\n"
        "| a figure | the median of the rounds; +- is half the distance between the quartiles |\n"
        "| a round that does not count | the cost of a cache line between the CPUs jumped, or other programs took "
        "more than 5 % of "
        "the CPUs |\n"
        "| better by 2x | concede is twice as good (faster, or less of it): the median of the ratios inside a round |\n"
        "| bold | the best, where it beats the next in three of four rounds |\n"
        "| latency | a lock's includes one reading of the clock, a round trip's half of one for each way |\n"
        "| CPU ns | CPU time of all threads (at intervals: of the receiver) for one operation |\n"
        "| Jain | how evenly the threads share the operations of a slice: 1 if all did as many, 1/n if one of n did "
        "all. Threads that "
        "share a CPU "
        "take turns of 3 to 4 ms on it, so with more threads than CPUs a slice lasts at least four turns, 16 ms, for "
        "each thread "
        "of a CPU. So few turns are uneven by chance where threads do not yield; `-s 1` gives them more |\n"
        "| sleeps | whether a thread that waits long gives its CPU away |\n");
    for (uint32_t i = 0, n; i < report->runs; i += n) {
        const bench_run *run = &report->run[i];
        bool map = bench_is_map(run->workload);
        n = map ? same_workload(run, report->runs - i) : 1;
        if (i == 0 || run->family != run[-1].family) printf("## %s\n\n", bench_families[run->family]);
        if (map)
            markdown_map(run, n);
        else
            markdown_run(run);
    }
    puts("## What of each is used\n\n| | calls |\n|---|---|");
    for (uint32_t i = 0; i < report->runs; i++)
        for (uint32_t k = 0; k < report->run[i].results; k++) {
            const bench_result *result = &report->run[i].result[k];
            bool before = false;
            for (uint32_t j = 0; j < i && !before; j++) {
                const bench_result *other = find_result(&report->run[j], result->name);
                before = other && strcmp(other->uses, result->uses) == 0;
            }
            if (!before) printf("| %s | %s |\n", result->name, result->uses);
        }
}

/* ---- what changed ------------------------------------------------------------------------------------------------ */

static double noise_of(const bench_spread *spread)
{
    return spread->median > 0 ? (spread->q3 - spread->q1) / 2 / spread->median : 0;
}

/* Whether programs that were not asked for took so much of the CPUs that the rounds say little of another time. */
static bool is_disturbed(const bench_report *report, const bench_run *run)
{
    return !report->neighbours[0] && bench_spread_of(run->others, run->rounds).median > BENCH_OTHERS_LIMIT;
}

bool show_changes(const bench_report *before, const bench_report *after, uint32_t *worse)
{
    static const char *const heads[] = { "<", "<", ">before", ">after", ">change", "~noise", "<" };
    unsigned same = 0, changed = 0, disturbed = 0;
    *worse = 0;
    for (uint32_t i = 0; i < after->runs; i++) {
        const bench_run *run = &after->run[i], *old = NULL;
        unsigned changed_before = changed;
        tool_table_t *table = tool_table(7, heads);
        for (uint32_t k = 0; k < before->runs && !old; k++)
            if (strcmp(before->run[k].workload, run->workload) == 0 &&
                memcmp(&before->run[k].setting, &run->setting, sizeof run->setting) == 0)
                old = &before->run[k];
        for (uint32_t k = 0; old && k < run->results; k++) {
            const bench_result *is = &run->result[k], *was = find_result(old, is->name);
            for (uint32_t m = 0; was && m < BENCH_COLUMNS; m++) {
                if (is->metrics[m].count == 0 || was->metrics[m].count == 0 || m == BENCH_WORST) continue;
                if (is_disturbed(after, run) || is_disturbed(before, old)) {
                    disturbed++;
                    continue;
                }
                const bench_spread *a = &was->metrics[m].value, *b = &is->metrics[m].value;
                double change = a->median != 0 ? b->median / a->median - 1 : 0, noise = noise_of(a) + noise_of(b);
                bool apart = b->q1 > a->q3 || b->q3 < a->q1;
                if (!apart || fabs(change) <= noise) {
                    same++;
                    continue;
                }
                changed++;
                tool_cell(table, "%s", is->name);
                tool_cell(table, "%s", bench_metrics[m].title);
                tool_cell(table, "%s", tool_figure(a->median));
                tool_cell(table, "%s", tool_figure(b->median));
                tool_cell(table, "%+.1f%%", 100 * change);
                tool_cell(table, "%.1f%%", 100 * noise);
                bool better = (change > 0) == bench_metrics[m].higher;
                tool_cell(table, "%s", better ? "better" : "worse");
                *worse += !better;
            }
        }
        if (changed > changed_before) {
            char name[128];
            show_run_name(run, name, sizeof name);
            if (changed_before == 0) printf("Since %.10s, more than the noise:\n", before->date);
            puts(name);
        }
        tool_table_print(table, stdout, 2);
    }
    if (changed + same > 0)
        printf("%u %s changed by more than the noise, %u did not.\n", changed, changed == 1 ? "figure" : "figures",
               same);
    if (disturbed > 0) printf("Not compared, because other programs were busy, before or now: %u.\n", disturbed);
    return changed + same + disturbed > 0;
}
