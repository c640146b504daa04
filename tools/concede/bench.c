/* bench.c: `concede bench`. Chooses what to measure and shows the results; bench/ does the measuring. */
#include "bench.h"
#include "json.h"
#include "tool.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int run_bench(int argc, char **argv);

enum { THREADS, SECONDS, REPEATS, CAPACITY, SIZE, PIN, ONLY, QUICK, JSON, CSV, MARKDOWN, FROM, COMPARE, LIST };
static const tool_option_t options[] = {
    [THREADS] = { 't', "threads", "N[,N...]", "thread counts, where a workload has several" },
    [SECONDS] = { 's', "seconds", "S", "length of one slice (default 0.1); each one runs once a round" },
    [REPEATS] = { 'r', "repeats", "N", "rounds, 1 to 64 (default 7)" },
    [CAPACITY] = { 0, "capacity", "N", "messages that a channel holds (default 1024)" },
    [SIZE] = { 0, "message-size", "BYTES", "8 (default), 64 or 256" },
    [PIN] = { 0, "pin", "HOW", "spread (default: thread i on usable CPU i mod n), none, or a list of CPUs" },
    [ONLY] = { 'o', "only", "NAME[,...]", "only implementations or peers whose name begins so" },
    [QUICK] = { 'q', "quick", NULL, "in under 20 seconds: fewer thread counts, shorter slices, more noise" },
    [JSON] = { 0, "json", "FILE", "write the results as JSON (-: standard output, in place of the table)" },
    [CSV] = { 0, "csv", NULL, "print one line for each metric in place of the table" },
    [MARKDOWN] = { 0, "markdown", NULL, "print a document in place of the table" },
    [FROM] = { 0, "from", "FILE", "show the results of an earlier --json; measure nothing" },
    [COMPARE] = { 'c', "compare", "FILE", "show what changed since an earlier --json, and whether it is more than noise" },
    [LIST] = { 0, "list", NULL, "print the workloads' and implementations' names and exit" },
    { 0, NULL, NULL, NULL },
};
const tool_command_t concede_bench = {
    "bench", "[cas|lock|park|channel|all|WORKLOAD]... [OPTION]...", "measure concede beside what else there is",
    "Every implementation of a workload runs in turn inside each round, in rotated order, so that all meet the same "
    "machine. A ratio is taken inside a round; shown are the median of the rounds and, as +-, half the distance "
    "between the quartiles. Rounds in which the cost of a cache line between two CPUs jumped do not count.\n"
    "The winner is marked with *, if it beats the next in three of four rounds.",
    options, run_bench,
};

/* ---- the table ----------------------------------------------------------------------------------------------------- */

/* Three digits, without an exponent. */
static const char *figure(double x)
{
    static char texts[16][32];
    static unsigned at;
    char *text = texts[at++ % 16];
    double size = fabs(x);
    snprintf(text, sizeof *texts, "%.*f", size >= 100 || size == 0 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : size >= 0.1 ? 3 : 4, x);
    return text;
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

static void describe_run(const bench_run *run, char *text, size_t size)
{
    const bench_setting *s = &run->setting;
    int n = snprintf(text, size, "%s", run->workload);
#define ADD(...) n += snprintf(text + n, n < (int)size ? size - (size_t)n : 0, __VA_ARGS__)
    if (strcmp(run->workload, "channel.many") == 0) ADD(", %u:%u", s->senders, s->threads - s->senders);
    else if (s->threads != 2 || run->family != BENCH_CHANNEL) ADD(", %u thread%s", s->threads, s->threads == 1 ? "" : "s");
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

static void print_run(const bench_run *run)
{
    char name[128];
    const char *heads[BENCH_METRICS + 4] = { "<" }, *baseline = run->baseline >= 0 ? run->result[run->baseline].name : "";
    char head_times[64], metric_heads[BENCH_METRICS][32];
    int columns = 1;
    uint32_t others[BENCH_METRICS], other_count = 0;
    describe_run(run, name, sizeof name);
    printf("%s%s%s: ", tool_bold(), name, tool_plain());
    tool_wrap(stdout, 0, run->title);

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
        tool_cell(table, "%s%s", result->name, (int32_t)i == run->winner ? " *" : "");
        tool_cell(table, "%s", figure(primary->value.median));
        tool_cell(table, "%s", spread_percent(&primary->value));
        if (run->results > 1 && primary->has_ratio) {
            bench_spread times = advantage(primary, bench_metrics[run->primary].higher);
            tool_cell(table, "%sx", figure(times.median));
            tool_cell(table, "%s", spread_percent(&times));
        } else if (run->results > 1) {
            tool_cell(table, "%s", "");
            tool_cell(table, "%s", "");
        }
        for (uint32_t k = 0; k < other_count; k++) tool_cell(table, "%s", figure(result->metrics[others[k]].value.median));
    }
    tool_table_print(table, stdout, 2);
    if (run->winner < 0 && run->results > 1) puts("  too noisy to rank");
    if (run->rounds_dropped)
        printf("  %u of %u rounds dropped: the line cost jumped\n", run->rounds_dropped, run->rounds + run->rounds_dropped);
    putchar('\n');
}

static void print_machine(const bench_report *report)
{
    double lines[2 * BENCH_ROUNDS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < report->runs; i++)
        for (uint32_t k = 0; k < report->run[i].lines && n < 2 * BENCH_ROUNDS; k++)
            if (report->run[i].line_ns[k] > 0) lines[n++] = report->run[i].line_ns[k];
    bench_spread line = bench_spread_of(lines, n);
    char text[1024], missing[256] = "";
    for (uint32_t i = 0; i < report->peers; i++) {
        if (report->peer[i].present) continue;
        size_t at = strlen(missing);
        snprintf(missing + at, sizeof missing - at, "%s%s", at ? ", " : "", report->peer[i].name);
    }
    snprintf(text, sizeof text,
             "%s, %u usable CPUs%s, %s. Time by %s, %s ns a reading, in steps of %s ns; latencies within %.1f %%. "
             "A line to the other CPU takes %s ns (quartiles %s to %s).%s%s",
             report->cpu, report->cpus, report->hypervisor ? " of a virtual machine" : "", report->system, report->clock,
             figure(report->clock_overhead_ns), figure(report->clock_step_ns), 100 * report->histogram_error,
             figure(line.median), figure(line.q1), figure(line.q3),
             missing[0] ? " Not installed when this was built: " : "", missing);
    if (missing[0]) strcat(text, ".");
    tool_wrap(stdout, 0, text);
    putchar('\n');
}

static void print_report(const bench_report *report)
{
    print_machine(report);
    for (uint32_t i = 0; i < report->runs; i++) print_run(&report->run[i]);
    if (report->interrupted) puts("Interrupted: this is what was measured until then.");
}

/* ---- the command --------------------------------------------------------------------------------------------------- */

static int run_bench(int argc, char **argv)
{
    bench_options measure = { 0 };
    const char *json = NULL, *from = NULL;
    char error[256], workloads[512] = "";
    bool all = false;
    uint64_t count;
    tool_args_t args = { .command = &concede_bench, .argc = argc, .argv = argv };
    for (int c; (c = tool_next(&args)) != TOOL_END;) {
        if (c == TOOL_WORD) {
            /* Unknown names are found by the engine, which knows the workloads. */
            if (strcmp(args.value, "all") == 0) all = true;
            size_t at = strlen(workloads);
            if (at + strlen(args.value) + 2 > sizeof workloads) tool_usage_error(&concede_bench, "too many workloads");
            snprintf(workloads + at, sizeof workloads - at, "%s%s", at ? "," : "", args.value);
            continue;
        }
        switch (c) {
        case THREADS:
            for (const char *at = args.value; *at;) {
                char *end;
                unsigned long n = strtoul(at, &end, 10);
                if (end == at || n < 1 || n > 1024 || (*end && *end != ',') || measure.thread_counts == 16)
                    tool_usage_error(&concede_bench, "--threads: '%s' is not a list of numbers from 1 to 1024", args.value);
                measure.threads[measure.thread_counts++] = (uint32_t)n;
                at = *end ? end + 1 : end;
            }
            break;
        case SECONDS: {
            char *end;
            measure.slice = strtod(args.value, &end);
            if (end == args.value || *end || !(measure.slice >= 0.001 && measure.slice <= 600))
                tool_usage_error(&concede_bench, "--seconds: '%s' is not a number from 0.001 to 600", args.value);
            break;
        }
        case REPEATS:
            if (!tool_parse_count(args.value, 1, BENCH_ROUNDS, &count))
                tool_usage_error(&concede_bench, "--repeats: '%s' is not a number from 1 to %d", args.value, BENCH_ROUNDS);
            measure.repeats = (uint32_t)count;
            break;
        case CAPACITY:
            if (!tool_parse_count(args.value, 1, 1u << 24, &count))
                tool_usage_error(&concede_bench, "--capacity: '%s' is not a number from 1 to %u", args.value, 1u << 24);
            measure.capacity = (uint32_t)count;
            break;
        case SIZE:
            if (!tool_parse_count(args.value, 8, 256, &count) || (count != 8 && count != 64 && count != 256))
                tool_usage_error(&concede_bench, "--message-size: '%s' is none of 8, 64, 256", args.value);
            measure.message_size = (uint32_t)count;
            break;
        case PIN: measure.pin = args.value; break;
        case ONLY: measure.only = args.value; break;
        case QUICK: measure.quick = true; measure.total = 15; break;
        case JSON: json = args.value; break;
        case FROM: from = args.value; break;
        default: tool_usage_error(&concede_bench, "--%s is not there yet", options[c].name);
        }
    }
    measure.workloads = all || !workloads[0] ? NULL : workloads;
    measure.progress = tool_progress;
    measure.interrupted = tool_interrupted;

    bench_report report;
    if (from) {
        if (!bench_json_read(from, &report, error, sizeof error)) tool_die("%s", error);
    } else {
        tool_catch_interrupt();
        bool good = bench_measure(&report, &measure, error, sizeof error);
        tool_progress_end();
        if (!good) tool_die("%s", error);
    }
    FILE *out = stdout;
    if (json && strcmp(json, "-") != 0) {
        out = fopen(json, "w");
        if (!out) tool_die("cannot write %s: %s", json, strerror(errno));
    }
    if (json) bench_json_write(out, &report);
    if (out != stdout && (fflush(out) != 0 || fclose(out) != 0)) tool_die("cannot write %s: %s", json, strerror(errno));
    if (!json || out != stdout) print_report(&report);
    bench_report_free(&report);
    return 0;
}
