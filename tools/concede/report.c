/* report.c: `concede report`: measures, and writes one HTML page that holds the results, the charts and nothing else.
 *
 * The page (report.html, built into the program) draws everything from one JSON object in it:
 *   concede_report, version, date, command
 *   machine       what `concede info --json` writes; absent if the results come from a file without it
 *   probes        the names of machine.costs
 *   progression   the steps of a wait: does (spin, yield, sleep), pauses, ns, since
 *   bench         the results as `concede bench --json` writes them
 *   simulation    the same of `concede simulate --json`
 * concede(1) has the forms of the three. */
#include "machine.h"
#include "tool.h"

#include <concede/backoff.h>
#include <concede/version.h>

#if defined(CONCEDE_WITH_BENCH)
#include "results.h"
#endif

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern const unsigned char concede_report_page[]; /* report.html */

enum { OUTPUT, FROM, SECONDS, FULL, JSON };
static const tool_option_t options[] = {
    { 'o', "output", "FILE", "where to write the page: report.html, or - for standard output" },
    { 0, "from", "FILE",
      "draw the results that `concede bench --json` or `concede simulate --json` wrote, or that a page saved, instead "
      "of measuring; once for each" },
    { 's', "seconds", "N", "measure for about so long (16)" },
    { 0, "full", NULL, "measure as `concede bench` does, with all thread counts; takes minutes" },
    { 0, "json", "[FILE]",
      "write the page's results as JSON to the file as well, or print them in place of the table" },
    { 0, NULL, NULL, NULL },
};

/* ---- the parts of the JSON ---- */

static void write_step(json_writer_t *w, const char *does, uint32_t pauses, double ns, double *since)
{
    *since += ns;
    json_open(w, NULL, '{');
    json_string(w, "does", does);
    if (pauses) json_integer(w, "pauses", pauses);
    json_number(w, "ns", ns);
    json_number(w, "since", *since);
    json_close(w);
}

/* The steps that a wait with the default backoff takes, by the library's own code. */
static void write_progression(json_writer_t *w, double pause, double yield, double wake)
{
    cc_backoff_t b = CC_SNOOZE_INIT;
    double since = 0;
    json_open(w, "progression", '[');
    for (; b.yields == 0; cc_backoff_advance_(&b)) write_step(w, "spin", b.current, b.current * pause, &since);
    for (uint32_t i = 0; i < b.max_yields; i++) write_step(w, "yield", 0, yield, &since);
    if (isfinite(wake)) write_step(w, "sleep", 0, wake, &since);
    json_close(w);
}

static void write_head(json_writer_t *w, const char *command)
{
    char date[32];
    time_t now = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    json_open(w, NULL, '{');
    json_integer(w, "concede_report", 1);
    json_string(w, "version", CC_VERSION_STRING);
    json_string(w, "date", date);
    json_string(w, "command", command);
    json_open(w, "probes", '[');
    for (int i = 0; i < MACHINE_PROBES; i++) {
        json_open(w, NULL, '{');
        json_string(w, "key", machine_probes[i].key);
        json_string(w, "name", machine_probes[i].name);
        json_string(w, "what", machine_probes[i].what);
        json_close(w);
    }
    json_close(w);
}

/* ---- the summary on the terminal ---- */

typedef struct side {
    const char *name, *unit;
    bool higher; /* is better */
    double median, q1, q3;
} side_t;

/* The best result of a run, among ours or among the others; only of those that can sleep, or of all. */
static bool best_side(const json_t *run, bool ours, bool can_sleep, side_t *best)
{
    char path[64];
    bool found = false;
    snprintf(path, sizeof path, "metrics.%.40s", json_get_string(run, "primary", ""));
    const json_t *results = json_get(run, "results");
    for (const json_t *r = results ? results->child : NULL; r; r = r->next) {
        const json_t *m = json_get(r, path);
        double median = json_get_number(m, "median", NAN);
        if (json_get_bool(r, "ours", false) != ours || !isfinite(median)) continue;
        if (can_sleep && !json_get_bool(r, "can_sleep", true)) continue;
        bool higher = strcmp(json_get_string(m, "better", "higher"), "higher") == 0;
        if (found && (higher ? median <= best->median : median >= best->median)) continue;
        *best = (side_t){
            .name = json_get_string(r, "name", "?"),
            .unit = json_get_string(m, "unit", ""),
            .higher = higher,
            .median = median,
            .q1 = json_get_number(m, "q1", median),
            .q3 = json_get_number(m, "q3", median),
        };
        found = true;
    }
    return found;
}

static const char *figure(double value, const char *unit)
{
    static char text[4][48];
    static int next;
    if (strcmp(unit, "ns") == 0) return tool_duration(value);
    char *t = text[next++ % 4];
    snprintf(t, sizeof text[0], "%s %s", tool_count(value), unit);
    return t;
}

/* A parameter of a run in words, behind the name of its workload. */
static const char *setting_text(const json_t *run, const char *path)
{
    static char text[32];
    double value = json_get_number(run, path, 0), senders = json_get_number(run, "parameters.senders", 0);
    if (strstr(path, "_ns"))
        snprintf(text, sizeof text, ", %s", tool_duration(value));
    else if (strstr(path, "channels"))
        snprintf(text, sizeof text, ", of %.0f", value);
    else if (senders > 0)
        snprintf(text, sizeof text, ", %.0f:%.0f", senders, value - senders);
    else
        snprintf(text, sizeof text, ", %.0f thread%s", value, value == 1 ? "" : "s");
    return text;
}

/* What tells a run from the others of its workload; "" if it is the only one. */
static const char *setting(const json_t *runs, const json_t *run)
{
    static const char *const paths[] = { "parameters.interval_ns", "parameters.held_ns", "parameters.channels",
                                         "parameters.threads" };
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        for (const json_t *other = runs->child; other; other = other->next)
            if (strcmp(json_get_string(other, "workload", "?"), json_get_string(run, "workload", "?")) == 0 &&
                json_get_number(other, paths[i], 0) != json_get_number(run, paths[i], 0))
                return setting_text(run, paths[i]);
    return "";
}

/* In 80 columns: the names of the others stand last, where they may wrap, and the threads only where there is room. */
static void print_summary(const json_t *bench)
{
    static const char *const heads[] = { "<workload", "~threads", ">concede", ">other", ">ratio", "<", "<best other" };
    const json_t *runs = json_get(bench, "runs");
    tool_table_t *table = tool_table(7, heads);
    size_t shown = 0;
    for (const json_t *run = runs ? runs->child : NULL; run; run = run->next) {
        side_t ours, other;
        /* Where ours can sleep, those that cannot are no match: they buy their speed with all the CPU time there is. */
        bool sleeps = best_side(run, true, true, &ours);
        if ((!sleeps && !best_side(run, true, false, &ours)) || !best_side(run, false, sleeps, &other)) continue;
        bool even = ours.q1 <= other.q3 && other.q1 <= ours.q3;
        double ratio = ours.higher ? ours.median / other.median : other.median / ours.median;
        tool_cell(table, "%s%s", json_get_string(run, "workload", "?"), setting(runs, run));
        tool_cell(table, "%.0f", json_get_number(run, "parameters.threads", NAN));
        tool_cell(table, "%s", figure(ours.median, ours.unit));
        tool_cell(table, "%s", figure(other.median, other.unit));
        tool_cell(table, "%s", tool_count(ratio));
        bool close = ratio > 0.9 && ratio < 1 / 0.9;
        tool_cell(table, "%s", even ? close ? "even" : "noisy" : ratio > 1 ? "ahead" : "behind");
        tool_cell(table, "%s", other.name);
        shown++;
    }
    if (shown == 0) {
        tool_wrap(stdout, 0, "Nothing was compared.");
        tool_table_print(table, stdout, 0);
        return;
    }
    tool_table_print(table, stdout, 0);
    putchar('\n');
    tool_wrap(stdout, 0,
              "A ratio above 1 is in favour of concede. Even, noisy: the middle halves of the rounds overlap, at "
              "ratios near 1 and at others. Where concede can sleep, it is compared with others that can; the "
              "page also has those that only spin.");
}

/* ---- the page ---- */

static void write_page(FILE *out, const char *json)
{
    static const char mark[] = "@DATA@";
    const char *page = (const char *)concede_report_page, *at = strstr(page, mark);
    if (!at) tool_die("the page has no place for the data");
    fwrite(page, 1, (size_t)(at - page), out);
    fputs(json, out);
    fputs(at + sizeof mark - 1, out);
}

/* ---- measuring and reading ---- */

static char *text_of(FILE *stream, char **text)
{
    if (fclose(stream) != 0) tool_need(NULL);
    return *text;
}

static char *measured(const char *command, double seconds, bool full)
{
#if defined(CONCEDE_WITH_BENCH)
    static machine_t machine;
    static bench_report report;
    char error[256] = "", *text = NULL;
    size_t size;
    machine_describe(&machine);
    machine_measure(&machine);
    bench_options how = {
        .total = full ? 0 : seconds,
        .quick = !full,
        .repeats = full ? 0 : 5,
        .command = command,
        .progress = tool_progress,
        .interrupted = tool_interrupted,
    };
    bool good = bench_measure(&report, &how, error, sizeof error);
    tool_progress_end();
    if (!good) tool_die("cannot measure: %s", error);
    FILE *stream = tool_need(open_memstream(&text, &size));
    json_writer_t w = { .out = stream, .compact = true };
    write_head(&w, command);
    json_open(&w, "machine", '{');
    machine_write_json(&machine, &w);
    json_close(&w);
    if (machine.cost[MACHINE_PAUSE].samples && machine.cost[MACHINE_YIELD].samples)
        write_progression(&w, machine.cost[MACHINE_PAUSE].median, machine.cost[MACHINE_YIELD].median,
                          machine.cost[MACHINE_WAKE].samples ? machine.cost[MACHINE_WAKE].median : NAN);
    bench_json_write(&w, "bench", &report);
    json_close(&w);
    bench_report_free(&report);
    return text_of(stream, &text);
#else
    (void)command, (void)seconds, (void)full;
    return NULL;
#endif
}

/* What the files of --from hold: at most one of each kind. */
enum { KINDS = 3 };
typedef struct results {
    json_t *page, *bench, *simulation;
} results_t;

static void read_file(results_t *results, const char *path)
{
    char error[256];
    json_t *root = json_parse_file(path, error, sizeof error);
    if (!root) tool_die("cannot read %s: %s", path, error);
    json_t **kind = json_get_number(root, "concede_report", 0) == 1     ? &results->page
                    : json_get_number(root, "concede_bench", 0) == 1    ? &results->bench
                    : json_get_number(root, "concede_simulate", 0) == 1 ? &results->simulation
                                                                        : NULL;
    if (!kind) tool_die("%s holds no results of concede", path);
    json_t *already = *kind;
    *kind = root;
    if (already || (results->page && results->bench))
        tool_die("%s holds what another file holds already: once for each", path);
}

static char *read_from(const char *const *paths, int count, const char *command)
{
    char *text = NULL;
    size_t size;
    results_t results = { NULL, NULL, NULL };
    for (int i = 0; i < count; i++) read_file(&results, paths[i]);
    const json_t *bench = results.bench;
    FILE *stream = tool_need(open_memstream(&text, &size));
    json_writer_t w = { .out = stream, .compact = true };
    if (results.page) {
        json_open(&w, NULL, '{');
        for (const json_t *part = results.page->child; part; part = part->next)
            if (!results.simulation || strcmp(part->key, "simulation") != 0) json_write(&w, part->key, part);
    } else {
        write_head(&w, command);
        double pause = json_get_number(bench, "machine.pause_ns", NAN),
               yield = json_get_number(bench, "machine.yield_ns", NAN);
        if (isfinite(pause) && isfinite(yield)) write_progression(&w, pause, yield, NAN);
        if (bench) json_write(&w, "bench", bench);
    }
    if (results.simulation) json_write(&w, "simulation", results.simulation);
    json_close(&w);
    json_free(results.page);
    json_free(results.bench);
    json_free(results.simulation);
    return text_of(stream, &text);
}

/* What was asked for. */
typedef struct request {
    const char *path, *json_path; /* of the page, and of the JSON; NULL: none */
    const char *from[KINDS];
    int files; /* in `from` */
    double seconds;
    bool full, timed;
} request_t;

static void take_option(request_t *r, int option, const char *value)
{
    char *end;
    switch (option) {
    case OUTPUT: r->path = value; break;
    case FROM:
        if (r->files == KINDS) tool_usage_error(&concede_report, "--from: one file for each of %d kinds", KINDS);
        r->from[r->files++] = value;
        break;
    case SECONDS:
        r->seconds = strtod(value, &end);
        r->timed = true;
        if (end == value || *end || !(r->seconds >= 1 && r->seconds <= 86400))
            tool_usage_error(&concede_report, "--seconds takes a number from 1 to 86400, not '%s'", value);
        break;
    case FULL: r->full = true; break;
    case JSON: r->json_path = value; break;
    default: tool_usage_error(&concede_report, "unexpected argument '%s'; the file goes after -o", value);
    }
}

static void check_request(const request_t *r)
{
    if (r->files && (r->timed || r->full))
        tool_usage_error(&concede_report, "--from draws what is there; it does not go with --seconds or --full");
    if (r->timed && r->full)
        tool_usage_error(&concede_report, "--full takes the time it needs; it does not go with --seconds");
    if (r->json_path && strcmp(r->json_path, "-") == 0 && strcmp(r->path, "-") == 0)
        tool_usage_error(&concede_report, "the page and the JSON cannot both go to standard output");
#if !defined(CONCEDE_WITH_BENCH)
    if (!r->files) tool_die("this program was built without the benchmarks; use --from FILE");
#endif
}

/* Says on standard output what is on the page. */
static void tell(const char *json, const char *path)
{
    char error[256];
    json_t *root = json_parse(json, error, sizeof error);
    if (!root) return;
    const json_t *bench = json_get(root, "bench"), *machines = json_get(root, "simulation.machines");
    if (bench || !machines) print_summary(bench);
    if (machines) printf("%zu simulated machine%s\n", machines->count, machines->count == 1 ? "" : "s");
    if (json_get_bool(root, "machine.busy", false))
        tool_wrap(stdout, 0, "Other programs were busy when this began: the figures are noisier than they need be.");
    printf("\nThe page: %s%s%s\n", tool_bold(), path, tool_plain());
    json_free(root);
}

static int run(int argc, char **argv)
{
    tool_args_t args = { .command = &concede_report, .argc = argc, .argv = argv };
    request_t r = { .path = "report.html", .seconds = 16 };
    char command[256];
    tool_command_line(argc, argv, command, sizeof command);
    for (int c; (c = tool_next(&args)) != TOOL_END;) take_option(&r, c, args.value);
    check_request(&r);
    tool_output_t out, json_out = { 0 };
    char *json = r.files ? read_from(r.from, r.files, command) : NULL;
    tool_output_open(&out, r.path);
    if (r.json_path) tool_output_open(&json_out, r.json_path);
    if (!r.files) {
        tool_catch_interrupt();
        json = measured(command, r.seconds, r.full);
    }
    write_page(tool_output_begin(&out), json);
    tool_output_end(&out);
    if (r.json_path) {
        fprintf(tool_output_begin(&json_out), "%s\n", json);
        tool_output_end(&json_out);
    }
    if (out.file != stdout && json_out.file != stdout) tell(json, r.path);
    free(json);
    return 0;
}

const tool_command_t concede_report = {
    "report",
    "[OPTION]...",
    "Measure and draw: one HTML page with all charts and tables.",
    "The page needs no network and no other file. It shows what this machine is, what waiting costs on it, how a wait "
    "goes on, and concede beside what else is installed: throughput, latency, fairness, CPU time.",
    options,
    run,
};
