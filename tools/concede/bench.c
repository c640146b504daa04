/* bench.c: `concede bench`. Chooses what to measure and shows the results; bench/ does the measuring. */
#include "bench_show.h"
#include "json.h"
#include "tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int run_bench(int argc, char **argv);

enum {
    THREADS,
    BETWEEN,
    HELD,
    OUTSIDE,
    INTERVAL,
    BURST,
    WORK,
    CHANNELS,
    NEIGHBOURS,
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
    [BETWEEN] = { 0, "between", "S:R[,S:R...]", "senders and receivers of channel.map and condition.buffer" },
    [HELD] = { 0, "held", "TIME[,...]", "how long the lock is held, in lock.map, .fair and .handoff: 50ns, 1us ..." },
    [OUTSIDE] = { 0, "outside", "TIME[,...]", "and how long it is left alone in between, in the mean" },
    [INTERVAL] = { 0, "interval", "TIME[,...]",
                   "between messages, of all senders together, in channel.map (0: as fast as it goes), channel.late, "
                   "park.late; until park.timeout times out" },
    [BURST] = { 0, "burst", "N[,...]", "messages that are sent at once in channel.map" },
    [WORK] = { 0, "work", "TIME[,...]", "work on each message in channel.map and condition.buffer" },
    [CHANNELS] = { 0, "channels", "N[,...]", "channels to select from, 1 to 64" },
    [NEIGHBOURS] = { 'n', "neighbours", "N[@CPU]",
                     "beside N processes that only count, on each usable CPU, or on this one" },
    [SECONDS] = { 's', "seconds", "S",
                  "length of one slice (default 0.1; lock.fair: 10), at least; each one runs once a round" },
    [REPEATS] = { 'r', "repeats", "N", "rounds, 1 to 64 (default 7; lock.fair: 3)" },
    [CAPACITY] = { 0, "capacity", "N",
                   "messages that a channel holds (default 1024), or the buffer of condition.buffer (16)" },
    [SIZE] = { 0, "message-size", "BYTES", "8 (default), 64 or 256" },
    [PIN] = { 0, "pin", "HOW", "spread (default: thread i on usable CPU i mod n), none, or a list of CPUs" },
    [ONLY] = { 'o', "only", "NAME[,...]", "only implementations or peers whose name begins so" },
    [QUICK] = { 'q', "quick", NULL,
                "in under 20 seconds, a map in a minute: fewer settings, shorter slices, more noise" },
    [JSON] = { 0, "json", "[FILE]", "write JSON to the file as well, or print it in place of the table" },
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
    "[cas|lock|condition|park|channel|select|shared|all|WORKLOAD]... [OPTION]...",
    "Measure concede beside what else there is.",
    "Every implementation of a workload runs in turn inside each round, in rotated order, so that all meet the same "
    "machine. A ratio is taken inside a round; shown are the median of the rounds and, as +-, half the distance "
    "between the quartiles. Rounds in which the cost of a cache line between two CPUs jumped, or other programs took "
    "more than 5 % of the CPUs, do not count. Where threads share CPUs, a slice is long enough for four turns "
    "of each.\n"
    "lock.fair, lock.map and channel.map take minutes, and run only where they are named. A map is all combinations of "
    "its parameters; one cell of it, or some: lock.map --held 1us --outside 5us -t 16.\n"
    "The winner is marked with *, if it beats the next in three of four rounds.",
    options,
    run_bench,
};

/* ---- the command ------------------------------------------------------------------------------------------------- */

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
                tool_entry(last, (*at)->uses);
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
        show_run_name(run, name, sizeof name);
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
    if (strcmp(word, "all") == 0) word = "cas,lock,condition,park,channel,select,shared";
    size_t at = strlen(r->workloads);
    if (at + strlen(word) + 2 > sizeof r->workloads) tool_usage_error(&concede_bench, "too many workloads");
    snprintf(r->workloads + at, sizeof r->workloads - at, "%s%s", at ? "," : "", word);
}

static bool parse_thread_count(const char *text, uint32_t *value)
{
    uint64_t n;
    if (!tool_parse_count(text, 1, 1024, &n)) return false;
    *value = (uint32_t)n;
    return true;
}

static bool parse_channels(const char *text, uint32_t *value)
{
    return parse_thread_count(text, value) && *value <= BENCH_MOST_CHANNELS;
}

/* A time of at most a second. */
static bool parse_time(const char *text, uint32_t *value)
{
    double ns;
    if (!tool_parse_duration(text, &ns) || !(ns >= 0 && ns <= 1e9)) return false;
    *value = (uint32_t)ns;
    return true;
}

static bool parse_shape(const char *text, uint32_t *value)
{
    char senders[16];
    uint32_t s, r;
    size_t length = strcspn(text, ":");
    if (text[length] != ':' || length >= sizeof senders) return false;
    snprintf(senders, sizeof senders, "%.*s", (int)length, text);
    if (!parse_thread_count(senders, &s) || !parse_thread_count(text + length + 1, &r) || s + r > 1024) return false;
    *value = BENCH_SHAPE(s, r);
    return true;
}

/* A list with commas; `what` says in the message what each of it is. */
static void parse_values(bench_values *values, const char *option, const char *text,
                         bool (*parse)(const char *, uint32_t *), const char *what)
{
    const char *at = text;
    values->count = 0;
    do {
        char one[32];
        size_t length = strcspn(at, ",");
        snprintf(one, sizeof one, "%.*s", (int)length, at);
        if (length >= sizeof one || values->count == sizeof values->at / sizeof *values->at ||
            !parse(one, &values->at[values->count++]))
            tool_usage_error(&concede_bench, "--%s: '%s' is not a list of %s", option, text, what);
        at += length + (at[length] == ',');
    } while (*at);
}

static void parse_neighbours(bench_options *measure, const char *text)
{
    char count[16];
    size_t length = strcspn(text, "@");
    uint64_t n = 0, cpu = 0;
    snprintf(count, sizeof count, "%.*s", (int)length, text);
    if (length >= sizeof count || !tool_parse_count(count, 1, 64, &n) ||
        (text[length] && !tool_parse_count(text + length + 1, 0, 1023, &cpu)))
        tool_usage_error(&concede_bench, "--neighbours: '%s' is neither a number from 1 to 64 nor N@CPU", text);
    measure->neighbours = (uint32_t)n;
    measure->neighbours_cpu = text[length] ? (int)cpu : -1;
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
    static const char times[] = "times of at most 1 s, such as 50ns or 1us";
    bench_options *measure = &r->measure;
    uint64_t count;
    switch (option) {
    case THREADS:
        parse_values(&measure->values[BENCH_BY_THREADS], "threads", value, parse_thread_count,
                     "numbers from 1 to 1024");
        break;
    case BETWEEN:
        parse_values(&measure->values[BENCH_BY_SHAPE], "between", value, parse_shape,
                     "senders:receivers, 1024 in all at most");
        break;
    case HELD: parse_values(&measure->values[BENCH_BY_HELD], "held", value, parse_time, times); break;
    case OUTSIDE: parse_values(&measure->values[BENCH_BY_OUTSIDE], "outside", value, parse_time, times); break;
    case INTERVAL: parse_values(&measure->values[BENCH_BY_INTERVAL], "interval", value, parse_time, times); break;
    case BURST:
        parse_values(&measure->values[BENCH_BY_BURST], "burst", value, parse_thread_count, "numbers from 1 to 1024");
        break;
    case WORK: parse_values(&measure->values[BENCH_BY_WORK], "work", value, parse_time, times); break;
    case CHANNELS:
        parse_values(&measure->values[BENCH_BY_CHANNELS], "channels", value, parse_channels, "numbers from 1 to 64");
        break;
    case NEIGHBOURS: parse_neighbours(measure, value); break;
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
    case QUICK: measure->quick = true; break;
    case JSON:
        if (is_workload(value))
            tool_usage_error(&concede_bench, "--json: '%s' is a workload, not a file; put it before --json", value);
        r->json = value;
        break;
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
        show_csv(report);
    else if (r->markdown && strcmp(r->markdown, "tables") == 0)
        show_tables(report);
    else if (r->markdown && strcmp(r->markdown, "machine") == 0)
        show_machine(report);
    else if (r->markdown)
        show_document(report);
    else if (!r->compare)
        show_table(report);
}

/* Checks that the options go together, and fills in what follows from them. */
static void complete_request(request *r)
{
    bench_options *measure = &r->measure;
    if (measure->self_test && r->from)
        tool_usage_error(&concede_bench, "--self-test measures; it does not go with --from");
    if (r->csv + (r->markdown != NULL) + (r->json && strcmp(r->json, "-") == 0) > 1)
        tool_usage_error(&concede_bench, "--csv, --markdown and --json - each print in place of the table: choose one");
    if (measure->quick) {
        bool map = strstr(r->workloads, ".map") != NULL;
        measure->total = map ? 50 : 15;
        if (measure->repeats == 0) measure->repeats = map ? 3 : 5;
    }
    measure->command = r->command;
    measure->workloads = r->workloads[0] ? r->workloads : NULL;
    measure->progress = tool_progress;
    measure->interrupted = tool_interrupted;
}

static void read_report(const char *path, bench_report *report)
{
    char error[256];
    if (!bench_json_read(path, report, error, sizeof error)) tool_die("%s", error);
}

static void measure_report(const bench_options *measure, bench_report *report)
{
    char error[256];
    tool_catch_interrupt();
    bool good = bench_measure(report, measure, error, sizeof error);
    tool_progress_end();
    if (!good && strncmp(error, "--", 2) == 0) tool_usage_error(&concede_bench, "%s", error);
    if (!good) tool_die("%s", error);
}

static int run_bench(int argc, char **argv)
{
    request r = { .csv = false };
    bench_options *measure = &r.measure;
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
    tool_command_line(argc, argv, r.command, sizeof r.command);
    complete_request(&r);

    bench_report report, before;
    tool_output_t out;
    if (r.compare) read_report(r.compare, &before);
    if (r.json) tool_output_open(&out, r.json);
    if (r.from) {
        read_report(r.from, &report);
        keep_runs(&report, measure->workloads);
    } else {
        measure_report(measure, &report);
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
        uint32_t worse;
        if (!show_changes(&before, &report, &worse)) tool_die("%s: no run in common with this one", r.compare);
        if (worse > 0) code = 1;
        bench_report_free(&before);
    }
    bench_report_free(&report);
    return code;
}
