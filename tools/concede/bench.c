/* bench.c: `concede bench`. Chooses what to measure and shows the results; bench/ does the measuring. */
#include "results.h"
#include "json.h"
#include "tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int run_bench(int argc, char **argv);

enum {
    THREADS,
    SECONDS,
    REPEATS,
    CAPACITY,
    SIZE,
    PIN,
    ONLY,
    QUICK,
    JSON,
    CSV,
    MARKDOWN,
    FROM,
    COMPARE,
    LIST,
    SELF_TEST
};
static const tool_option_t options[] = {
    [THREADS] = { 't', "threads", "N[,N...]", "thread counts, where a workload leaves them open" },
    [SECONDS] = { 's', "seconds", "S",
                  "length of one slice (default 0.1; lock.fair: 10), at least; each one runs once a round" },
    [REPEATS] = { 'r', "repeats", "N", "rounds, 1 to 64 (default 7; lock.fair: 3)" },
    [CAPACITY] = { 0, "capacity", "N", "messages that a channel holds (default 1024)" },
    [SIZE] = { 0, "message-size", "BYTES", "8 (default), 64 or 256" },
    [PIN] = { 0, "pin", "HOW", "spread (default: thread i on usable CPU i mod n), none, or a list of CPUs" },
    [ONLY] = { 'o', "only", "NAME[,...]", "only implementations or peers whose name begins so" },
    [QUICK] = { 'q', "quick", NULL, "in under 20 seconds: fewer thread counts, shorter slices, more noise" },
    [JSON] = { 0, "json", "FILE", "write the results as JSON (-: standard output, in place of the table)" },
    [CSV] = { 0, "csv", NULL, "print one line for each metric in place of the table" },
    [MARKDOWN] = { 0, "markdown", "FORM",
                   "print Markdown in place of the table: document, tables (short ones) or machine (where and when)" },
    [FROM] = { 0, "from", "FILE", "show the results of an earlier --json; measure nothing" },
    [COMPARE] = { 'c', "compare", "FILE",
                  "show what changed since an earlier --json, and whether it is more than noise" },
    [LIST] = { 0, "list", NULL, "print the workloads' and implementations' names and exit" },
    [SELF_TEST] = { 0, "self-test", NULL, "measure one implementation twice: the ratio must be 1, within its noise" },
    { 0, NULL, NULL, NULL },
};
const tool_command_t concede_bench = {
    "bench",
    "[cas|lock|park|channel|all|WORKLOAD]... [OPTION]...",
    "Measure concede beside what else there is.",
    "Every implementation of a workload runs in turn inside each round, in rotated order, so that all meet the same "
    "machine. A ratio is taken inside a round; shown are the median of the rounds and, as +-, half the distance "
    "between the quartiles. Rounds in which the cost of a cache line between two CPUs jumped, or other programs took "
    "more than 5 % of the CPUs, do not count. Where threads share CPUs, a slice is long enough for four turns "
    "of each.\n"
    "lock.fair takes minutes. It runs only where it is named, of concede, pthread_mutex and parking_lot unless --only "
    "says otherwise.\n"
    "The winner is marked with *, if it beats the next in three of four rounds.",
    options,
    run_bench,
};

/* ---- the table ----------------------------------------------------------------------------------------------------- */

/* Three digits, without an exponent. */
static const char *figure(double x)
{
    static char texts[16][32];
    static unsigned at;
    char *text = texts[at++ % 16];
    double size = fabs(x);
    int digits = size >= 100 || size == 0 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : size >= 0.1 ? 3 : 4;
    snprintf(text, sizeof *texts, "%.*f", digits, x);
    return text;
}

/* A value of a metric. The worst of a million may be microseconds or seconds, so it brings its unit. */
static const char *shown(uint32_t metric, double value)
{
    return metric == BENCH_WORST ? tool_duration(value) : figure(value);
}

static const char *spread_percent(const bench_spread *spread)
{
    static char texts[8][16];
    static unsigned at;
    char *text = texts[at++ % 8];
    double half = spread->median != 0 ? 50 * (spread->q3 - spread->q1) / fabs(spread->median) : 0;
    snprintf(text, sizeof *texts, "%.*f%%", half < 9.95, half);
    return text;
}

/* Whether its implementations compete; steps of a progression do not. */
static bool ranks(const bench_run *run)
{
    return strcmp(run->workload, "cas.step") != 0 && strcmp(run->workload, "cas.yield") != 0;
}

static void describe_run(const bench_run *run, char *text, size_t size)
{
    const bench_setting *s = &run->setting;
    int n = snprintf(text, size, "%s", run->workload);
#define ADD(...) n += snprintf(text + n, n < (int)size ? size - (size_t)n : 0, __VA_ARGS__)
    if (strcmp(run->workload, "channel.many") == 0)
        ADD(", %u:%u", s->senders, s->threads - s->senders);
    else if (s->threads != 2 || run->family != BENCH_CHANNEL)
        ADD(", %u thread%s", s->threads, s->threads == 1 ? "" : "s");
    if (s->interval_us) ADD(", every %u us", s->interval_us);
    if (s->capacity && s->capacity != 1024) ADD(", capacity %u", s->capacity);
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

static void print_run(const bench_run *run)
{
    char name[128];
    const char *heads[BENCH_METRICS + 4] = { "<" },
                                      *baseline = run->baseline >= 0 ? run->result[run->baseline].name : "";
    char head_times[64], metric_heads[BENCH_METRICS][32];
    int columns = 1;
    uint32_t others[BENCH_METRICS], other_count = 0;
    describe_run(run, name, sizeof name);
    char title[sizeof name + sizeof run->title + 2];
    snprintf(title, sizeof title, "%s: %s", name, run->title);
    tool_wrap(stdout, 0, title);

    snprintf(metric_heads[0], sizeof *metric_heads, ">%s", bench_metrics[run->primary].title);
    snprintf(head_times, sizeof head_times, ">%s is", baseline);
    heads[columns++] = metric_heads[0];
    heads[columns++] = ">+-";
    if (run->results > 1) heads[columns++] = head_times, heads[columns++] = ">+-";
    for (uint32_t m = 0; m < BENCH_METRICS; m++) {
        if (m == run->primary || run->result[0].metrics[m].count == 0) continue;
        others[other_count] = m;
        snprintf(metric_heads[++other_count], sizeof *metric_heads, ">%s", bench_metrics[m].title);
        heads[columns++] = metric_heads[other_count];
    }
    tool_table_t *table = tool_table(columns, heads);
    for (uint32_t i = 0; i < run->results; i++) {
        const bench_result *result = &run->result[i];
        const bench_samples *primary = &result->metrics[run->primary];
        tool_cell(table, "%s%s", result->name, (int32_t)i == run->winner && ranks(run) ? " *" : "");
        tool_cell(table, "%s", shown(run->primary, primary->value.median));
        tool_cell(table, "%s", spread_percent(&primary->value));
        if (run->results > 1 && primary->has_ratio) {
            bench_spread times = advantage(primary, bench_metrics[run->primary].higher);
            tool_cell(table, "%sx", figure(times.median));
            tool_cell(table, "%s", spread_percent(&times));
        } else if (run->results > 1) {
            tool_cell(table, "%s", "");
            tool_cell(table, "%s", "");
        }
        for (uint32_t k = 0; k < other_count; k++)
            tool_cell(table, "%s", shown(others[k], result->metrics[others[k]].value.median));
    }
    tool_table_print(table, stdout, 2);
    char note[256];
    describe_noise(run, note, sizeof note);
    if (note[0]) {
        fputs("  ", stdout);
        tool_wrap(stdout, 2, note);
    }
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
    char missing[256], others[300] = "", lines[128] = "", load[96] = "";
    double taken = 0, rounds = 0;
    for (uint32_t i = 0; i < report->runs; i++)
        for (uint32_t k = 0; k < report->run[i].rounds; k++, rounds++) taken += report->run[i].others[k];
    if (rounds > 0 && taken / rounds > BENCH_OTHERS_LIMIT)
        snprintf(load, sizeof load, " Other programs took %.0f %% of the CPUs meanwhile.", 100 * taken / rounds);
    list_peers(report, false, missing, sizeof missing);
    if (missing[0]) snprintf(others, sizeof others, " Not installed when this was built: %s.", missing);
    if (line.median > 0)
        snprintf(lines, sizeof lines, " A line to the other CPU takes %s ns (quartiles %s to %s).", figure(line.median),
                 figure(line.q1), figure(line.q3));
    snprintf(
        text, size,
        "%s, %u usable CPU%s%s, %s. Time by %s, %s ns a reading, in steps of %s ns; latencies within %.1f %%.%s%s%s",
        report->cpu, report->cpus, report->cpus == 1 ? "" : "s", report->hypervisor ? " of a virtual machine" : "",
        report->system, report->clock, figure(report->clock_overhead_ns), figure(report->clock_step_ns),
        100 * report->histogram_error, lines, load, others);
}

static void print_report(const bench_report *report)
{
    char text[1024];
    describe_machine(report, text, sizeof text);
    tool_wrap(stdout, 0, text);
    putchar('\n');
    for (uint32_t i = 0; i < report->runs; i++) print_run(&report->run[i]);
    if (report->interrupted) puts("Interrupted: this is what was measured until then.");
}

/* ---- CSV ----------------------------------------------------------------------------------------------------------- */

static void print_csv(const bench_report *report)
{
    puts("workload,threads,senders,outside_ns,work_ns,interval_us,capacity,message_size,burst,name,metric,unit,rounds,"
         "median,q1,q3,ratio,ratio_q1,ratio_q3");
    for (uint32_t i = 0; i < report->runs; i++) {
        const bench_run *run = &report->run[i];
        const bench_setting *s = &run->setting;
        for (uint32_t k = 0; k < run->results; k++)
            for (uint32_t m = 0; m < BENCH_METRICS; m++) {
                const bench_samples *samples = &run->result[k].metrics[m];
                if (samples->count == 0) continue;
                printf("%s,%u,%u,%u,%u,%u,%u,%u,%u,\"%s\",%s,%s,%u,%.6g,%.6g,%.6g,", run->workload, s->threads,
                       s->senders, s->outside_ns, s->work_ns, s->interval_us, s->capacity, s->message_size, s->burst,
                       run->result[k].name, bench_metrics[m].key, bench_metrics[m].unit, run->rounds,
                       samples->value.median, samples->value.q1, samples->value.q3);
                if (samples->has_ratio)
                    printf("%.6g,%.6g,%.6g\n", samples->ratio.median, samples->ratio.q1, samples->ratio.q3);
                else
                    puts(",,");
            }
    }
}

/* ---- Markdown ------------------------------------------------------------------------------------------------------ */

/* A run in full: every metric, its spread, the ratio. */
static void markdown_run(const bench_run *run)
{
    char name[128], note[256];
    const char *baseline = run->baseline >= 0 ? run->result[run->baseline].name : "";
    bool ratios = run->results > 1 && ranks(run);
    describe_run(run, name, sizeof name);
    describe_noise(run, note, sizeof note);
    printf("### %s\n\n`concede bench %s`: %s. %u rounds of %s ms.%s%s\n\n| | %s | +- |", name, run->workload,
           run->title, run->rounds, figure(run->slice_ms), note[0] ? " " : "", note, bench_metrics[run->primary].title);
    if (ratios) printf(" %s is | +- |", baseline);
    for (uint32_t m = 0; m < BENCH_METRICS; m++)
        if (m != run->primary && run->result[0].metrics[m].count) printf(" %s |", bench_metrics[m].title);
    printf(" sleeps |\n|---|---:|---:|");
    if (ratios) printf("---:|---:|");
    for (uint32_t m = 0; m < BENCH_METRICS; m++)
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
            printf(" %sx | %s |", figure(times.median), spread_percent(&times));
        } else if (ratios) {
            printf(" | |");
        }
        for (uint32_t m = 0; m < BENCH_METRICS; m++)
            if (m != run->primary && result->metrics[m].count)
                printf(" %s |", shown(m, result->metrics[m].value.median));
        printf(" %s |\n", result->flags & BENCH_CAN_SLEEP ? "yes" : "no");
    }
    putchar('\n');
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
        describe_run(runs[k], name, sizeof name);
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
    uint32_t extra[BENCH_METRICS], extras = 0;
    for (uint32_t m = 0; threads_only && m < BENCH_METRICS; m++)
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
static void markdown_tables(const bench_report *report)
{
    const bench_run *together[64];
    for (uint32_t family = 0; family < BENCH_FAMILIES; family++) {
        uint32_t rest = 0;
        for (uint32_t i = 0; i < report->runs; i++) {
            const bench_run *run = &report->run[i], *same[64];
            uint32_t count = 0;
            if (run->family != family || !ranks(run)) continue;
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
static void markdown_machine(const bench_report *report)
{
    char text[1024], peers[512];
    describe_machine(report, text, sizeof text);
    list_peers(report, true, peers, sizeof peers);
    printf("%s %s, %s; %s. Measured on %.10s by `%s`.\n", text, report->compiler, report->libc, peers, report->date,
           report->command);
}

static void markdown_document(const bench_report *report)
{
    char text[1024], peers[512];
    describe_machine(report, text, sizeof text);
    list_peers(report, true, peers, sizeof peers);
    printf(
        "# Benchmarks\n\nMade by `%s` on %.10s; nothing here is typed by hand. `scripts/publish` makes it again.\n\n",
        report->command, report->date);
    printf("%s Compiler %s, %s. Versions: %s. Threads are pinned: %s.\n\n", text, report->compiler, report->libc, peers,
           report->pin);
    puts("| | |\n|---|---|\n"
         "| a round | a slice of time for each implementation, in rotated order; the numbers of threads take turns, "
         "too |\n"
         "| a figure | the median of the rounds; +- is half the distance between the quartiles |\n"
         "| a round that does not count | the cost of a cache line between the CPUs jumped, or other programs took "
         "more than 5 % of "
         "the CPUs |\n"
         "| concede is 2x | twice as good (faster, or less of it): the median of the ratios inside a round |\n"
         "| bold | the best, where it beats the next in three of four rounds |\n"
         "| latency | a lock's includes one reading of the clock, a round trip's half of one for each way |\n"
         "| CPU ns | CPU time of all threads (at intervals: of the receiver) for one operation |\n"
         "| Jain | how evenly the threads share the operations of a slice: 1 is even, 1/n is all to one. Threads that "
         "share a CPU "
         "take turns of 3 to 4 ms on it, so with more threads than CPUs a slice lasts at least four turns, 16 ms, for "
         "each thread "
         "of a CPU |\n"
         "| sleeps | whether a thread that waits long gives its CPU away |\n");
    for (uint32_t i = 0; i < report->runs; i++) {
        if (i == 0 || report->run[i].family != report->run[i - 1].family) {
            printf("## %s\n\n", bench_families[report->run[i].family]);
        }
        markdown_run(&report->run[i]);
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

/* ---- what changed -------------------------------------------------------------------------------------------------- */

static double noise_of(const bench_spread *spread)
{
    return spread->median > 0 ? (spread->q3 - spread->q1) / 2 / spread->median : 0;
}

/* Prints what moved by more than the spread of both; false: there was nothing in common. */
static bool print_changes(const bench_report *before, const bench_report *after)
{
    static const char *const heads[] = { "<", "<", "<", ">before", ">after", ">change", ">noise", "<" };
    tool_table_t *table = tool_table(8, heads);
    unsigned same = 0, changed = 0;
    for (uint32_t i = 0; i < after->runs; i++) {
        const bench_run *run = &after->run[i], *old = NULL;
        char name[128];
        describe_run(run, name, sizeof name);
        for (uint32_t k = 0; k < before->runs && !old; k++)
            if (strcmp(before->run[k].workload, run->workload) == 0 &&
                memcmp(&before->run[k].setting, &run->setting, sizeof run->setting) == 0)
                old = &before->run[k];
        for (uint32_t k = 0; old && k < run->results; k++) {
            const bench_result *is = &run->result[k], *was = find_result(old, is->name);
            for (uint32_t m = 0; was && m < BENCH_METRICS; m++) {
                if (is->metrics[m].count == 0 || was->metrics[m].count == 0 || m == BENCH_WORST) continue;
                const bench_spread *a = &was->metrics[m].value, *b = &is->metrics[m].value;
                double change = a->median != 0 ? b->median / a->median - 1 : 0, noise = noise_of(a) + noise_of(b);
                bool apart = b->q1 > a->q3 || b->q3 < a->q1;
                if (!apart || fabs(change) <= noise) {
                    same++;
                    continue;
                }
                changed++;
                tool_cell(table, "%s", name);
                tool_cell(table, "%s", is->name);
                tool_cell(table, "%s", bench_metrics[m].title);
                tool_cell(table, "%s", figure(a->median));
                tool_cell(table, "%s", figure(b->median));
                tool_cell(table, "%+.1f%%", 100 * change);
                tool_cell(table, "%.1f%%", 100 * noise);
                tool_cell(table, "%s", (change > 0) == bench_metrics[m].higher ? "better" : "worse");
            }
        }
    }
    if (changed > 0) printf("Since %.10s, more than the noise:\n", before->date);
    tool_table_print(table, stdout, 2);
    if (changed + same > 0) printf("%u figures changed by more than the noise, %u did not.\n", changed, same);
    return changed + same > 0;
}

/* ---- the command --------------------------------------------------------------------------------------------------- */

static bool begins(const char *name, const char *beginning)
{
    return strncmp(name, beginning, strlen(beginning)) == 0;
}

static bool is_workload(const char *word)
{
    const char *name;
    if (strcmp(word, "all") == 0) return true;
    for (uint32_t i = 0; (name = bench_workload_name(i)) != NULL; i++)
        if (word[0] && begins(name, word)) return true;
    return false;
}

_Noreturn static void unknown_workload(const char *word)
{
    const char *names[64] = { "all" };
    uint32_t n = 1;
    for (uint32_t i = 0; i < BENCH_FAMILIES; i++) names[n++] = bench_families[i];
    for (uint32_t i = 0; n < 63 && bench_workload_name(i); i++) names[n++] = bench_workload_name(i);
    const char *closest = tool_closest(word, names);
    if (closest) tool_usage_error(&concede_bench, "unknown workload '%s'; did you mean %s?", word, closest);
    tool_usage_error(&concede_bench, "unknown workload '%s'; --list shows them", word);
}

/* Ends the program if one of the names, separated by commas, begins no implementation's and no peer's name. */
static void check_names(const char *names)
{
    while (*names) {
        char name[64];
        size_t length = strcspn(names, ",");
        bool found = false;
        snprintf(name, sizeof name, "%.*s", (int)length, names);
        for (const bench_peer *const *peer = bench_peers; *peer; peer++) {
            found |= begins((*peer)->name, name);
            for (const bench_subject *const *at = (*peer)->subjects; at && *at; at++)
                found |= begins((*at)->name, name);
        }
        if (!found || length == 0)
            tool_usage_error(&concede_bench, "--only: no implementation's name begins with '%s'; --list shows them",
                             name);
        names += length + (names[length] == ',');
    }
}

static void print_list(void)
{
    puts("workloads:");
    for (uint32_t i = 0; bench_workload_name(i); i++) printf("  %s\n", bench_workload_name(i));
    for (uint32_t family = 0; family < BENCH_FAMILIES; family++) {
        const char *last = "";
        printf("%s:\n", bench_families[family]);
        for (const bench_peer *const *peer = bench_peers; *peer; peer++)
            for (const bench_subject *const *at = (*peer)->subjects; at && *at; at++) {
                if ((*at)->family != family || strcmp((*at)->name, last) == 0)
                    continue; /* sizes of one implementation */
                last = (*at)->name;
                printf("  %s: ", last);
                tool_wrap(stdout, 4, (*at)->uses);
            }
    }
}

/* Drops the runs that the words do not name. */
static void keep_runs(bench_report *report, const char *workloads)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < report->runs; i++) {
        if (!workloads || bench_named(workloads, report->run[i].workload, false))
            report->run[kept++] = report->run[i];
        else
            bench_run_free(&report->run[i]);
    }
    report->runs = kept;
}

/* Whether each ratio of a thing to itself is 1, within the distance of its own quartiles or 1 %. */
static int self_test(const bench_report *report)
{
    int code = 0;
    for (uint32_t i = 0; i < report->runs; i++) {
        const bench_run *run = &report->run[i];
        const bench_spread *ratio = &run->result[1].metrics[run->primary].ratio;
        double away = fabs(ratio->median - 1), noise = ratio->q3 - ratio->q1;
        bool good = away <= (noise > 0.01 ? noise : 0.01);
        char name[128];
        describe_run(run, name, sizeof name);
        printf("%s, %s: ratio to itself %.3f, quartiles %.3f to %.3f: %s\n", name, run->result[0].name, ratio->median,
               ratio->q1, ratio->q3, good ? "1 within its noise" : "NOT 1 within its noise");
        if (!good) code = 1;
    }
    return code;
}

/* What was asked for. */
typedef struct request {
    bench_options measure;
    const char *json, *from, *compare, *markdown;
    bool csv;
    char workloads[512], command[256];
} request;

static void add_workload(request *r, const char *word)
{
    if (!is_workload(word)) unknown_workload(word);
    if (strcmp(word, "all") == 0) word = "cas,lock,park,channel";
    size_t at = strlen(r->workloads);
    if (at + strlen(word) + 2 > sizeof r->workloads) tool_usage_error(&concede_bench, "too many workloads");
    snprintf(r->workloads + at, sizeof r->workloads - at, "%s%s", at ? "," : "", word);
}

static void parse_threads(bench_options *measure, const char *text)
{
    const char *at = text;
    do {
        char *end;
        unsigned long n = strtoul(at, &end, 10);
        if (end == at || n < 1 || n > 1024 || (*end && *end != ',') || measure->thread_counts == 16)
            tool_usage_error(&concede_bench, "--threads: '%s' is not a list of numbers from 1 to 1024", text);
        measure->threads[measure->thread_counts++] = (uint32_t)n;
        at = *end ? end + 1 : end;
    } while (*at);
}

static uint32_t parse_number(const char *option, const char *text, uint32_t max)
{
    uint64_t count;
    if (!tool_parse_count(text, 1, max, &count))
        tool_usage_error(&concede_bench, "--%s: '%s' is not a number from 1 to %u", option, text, max);
    return (uint32_t)count;
}

static double parse_seconds(const char *text)
{
    char *end;
    double seconds = strtod(text, &end);
    if (end == text || *end || !(seconds >= 0.001 && seconds <= 600))
        tool_usage_error(&concede_bench, "--seconds: '%s' is not a number from 0.001 to 600", text);
    return seconds;
}

static void take_option(request *r, int option, const char *value)
{
    bench_options *measure = &r->measure;
    uint64_t count;
    switch (option) {
    case THREADS: parse_threads(measure, value); break;
    case SECONDS: measure->slice = parse_seconds(value); break;
    case REPEATS: measure->repeats = parse_number("repeats", value, BENCH_ROUNDS); break;
    case CAPACITY: measure->capacity = parse_number("capacity", value, 1u << 24); break;
    case SIZE:
        if (!tool_parse_count(value, 8, 256, &count) || (count != 8 && count != 64 && count != 256))
            tool_usage_error(&concede_bench, "--message-size: '%s' is none of 8, 64, 256", value);
        measure->message_size = (uint32_t)count;
        break;
    case PIN: measure->pin = value; break;
    case ONLY:
        check_names(value);
        measure->only = value;
        break;
    case QUICK:
        measure->quick = true;
        measure->total = 15;
        break;
    case JSON: r->json = value; break;
    case FROM: r->from = value; break;
    case COMPARE: r->compare = value; break;
    case CSV: r->csv = true; break;
    case MARKDOWN:
        r->markdown = value;
        if (strcmp(value, "document") != 0 && strcmp(value, "tables") != 0 && strcmp(value, "machine") != 0)
            tool_usage_error(&concede_bench, "--markdown: '%s' is none of document, tables, machine", value);
        break;
    case SELF_TEST: measure->self_test = true; break;
    }
}

static void show(const request *r, const bench_report *report)
{
    if (r->json && strcmp(r->json, "-") == 0) return; /* that was it */
    if (r->csv)
        print_csv(report);
    else if (r->markdown && strcmp(r->markdown, "tables") == 0)
        markdown_tables(report);
    else if (r->markdown && strcmp(r->markdown, "machine") == 0)
        markdown_machine(report);
    else if (r->markdown)
        markdown_document(report);
    else if (!r->compare)
        print_report(report);
}

static int run_bench(int argc, char **argv)
{
    request r = { .csv = false };
    bench_options *measure = &r.measure;
    char error[256];
    tool_args_t args = { .command = &concede_bench, .argc = argc, .argv = argv };
    for (int c; (c = tool_next(&args)) != TOOL_END;) {
        if (c == LIST) {
            print_list();
            return 0;
        }
        if (c == TOOL_WORD)
            add_workload(&r, args.value);
        else
            take_option(&r, c, args.value);
    }
    if (measure->self_test && r.from)
        tool_usage_error(&concede_bench, "--self-test measures; it does not go with --from");
    if (r.csv + (r.markdown != NULL) + (r.json && strcmp(r.json, "-") == 0) > 1)
        tool_usage_error(&concede_bench, "--csv, --markdown and --json - each print in place of the table: choose one");
    if (measure->quick && measure->repeats == 0) measure->repeats = 5;
    tool_command_line(argc, argv, r.command, sizeof r.command);
    measure->command = r.command;
    measure->workloads = r.workloads[0] ? r.workloads : NULL;
    measure->progress = tool_progress;
    measure->interrupted = tool_interrupted;

    bench_report report, before;
    tool_output_t out;
    if (r.compare && !bench_json_read(r.compare, &before, error, sizeof error)) tool_die("%s", error);
    if (r.json) tool_output_open(&out, r.json);
    if (r.from) {
        if (!bench_json_read(r.from, &report, error, sizeof error)) tool_die("%s", error);
        keep_runs(&report, measure->workloads);
    } else {
        tool_catch_interrupt();
        bool good = bench_measure(&report, measure, error, sizeof error);
        tool_progress_end();
        if (!good) tool_die("%s", error);
    }
    if (r.json) {
        json_writer_t w = { .out = tool_output_begin(&out) };
        bench_json_write(&w, NULL, &report);
        tool_output_end(&out);
    }
    int code = 0;
    if (measure->self_test)
        code = self_test(&report);
    else
        show(&r, &report);
    if (r.compare) {
        if (!print_changes(&before, &report)) tool_die("%s: no run in common with this one", r.compare);
        bench_report_free(&before);
    }
    bench_report_free(&report);
    return code;
}
