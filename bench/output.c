/* output.c: a report as JSON and back. The form is in concede(1). */
#include "json.h"
#include "results.h"
#include <stdlib.h>
#include <string.h>

/* The parameters by name; 0 is left out, and read as 0. */
typedef struct parameter {
    const char *key;
    size_t offset;
} parameter;
/* clang-format off */
#define PARAMETER(name) { #name, offsetof(bench_setting, name) }
/* clang-format on */
static const parameter parameters[] = {
    PARAMETER(threads),     PARAMETER(senders),  PARAMETER(held_ns),      PARAMETER(outside_ns), PARAMETER(work_ns),
    PARAMETER(interval_ns), PARAMETER(capacity), PARAMETER(message_size), PARAMETER(burst),      PARAMETER(channels),
};
enum { PARAMETERS = sizeof parameters / sizeof *parameters };

/* The fields of a report that are written and read as they are: its own, and those of the machine. */
typedef struct field {
    const char *key;
    size_t offset, size;
    enum { TEXT, TEXT_OR_NULL, COUNT, NUMBER, FLAG } type;
} field;
/* clang-format off */
#define FIELD(name, type) { #name, offsetof(bench_report, name), sizeof ((bench_report *)0)->name, type }
/* clang-format on */
static const field own_fields[] = {
    FIELD(version, TEXT),
    FIELD(date, TEXT),
    FIELD(command, TEXT),
    FIELD(interrupted, FLAG),
};
static const field machine_fields[] = {
    FIELD(cpu, TEXT),
    FIELD(cpus, COUNT),
    FIELD(system, TEXT),
    FIELD(libc, TEXT),
    FIELD(compiler, TEXT),
    FIELD(hypervisor, FLAG),
    FIELD(clock, TEXT),
    FIELD(clock_ghz, NUMBER),
    FIELD(clock_overhead_ns, NUMBER),
    FIELD(clock_step_ns, NUMBER),
    FIELD(pause_ns, NUMBER),
    FIELD(yield_ns, NUMBER),
    FIELD(pin, TEXT),
    FIELD(neighbours, TEXT_OR_NULL),
};
enum { OWN_FIELDS = sizeof own_fields / sizeof *own_fields };
enum { MACHINE_FIELDS = sizeof machine_fields / sizeof *machine_fields };

/* ---- write ------------------------------------------------------------------------------------------------------- */

static void write_spread(json_writer_t *w, const bench_spread *spread)
{
    json_number(w, "median", spread->median);
    json_number(w, "q1", spread->q1);
    json_number(w, "q3", spread->q3);
}

/* How one of ours stands to the best of the others, in a map. */
static void write_verdicts(json_writer_t *w, const bench_run *run, uint32_t ours)
{
    json_open(w, "against", '{');
    for (uint32_t m = 0; m < BENCH_METRICS; m++) {
        bench_verdict verdict = bench_judge(run, ours, m);
        if (verdict.best < 0) continue;
        json_open(w, bench_metrics[m].key, '{');
        json_string(w, "best", run->result[verdict.best].name);
        json_open(w, "times", '{');
        write_spread(w, &verdict.times);
        json_close(w);
        json_number(w, "lead", verdict.lead);
        json_close(w);
    }
    json_close(w);
}

static void write_metrics(json_writer_t *w, const bench_result *result)
{
    json_open(w, "metrics", '{');
    for (uint32_t m = 0; m < BENCH_METRICS; m++) {
        const bench_samples *samples = &result->metrics[m];
        if (samples->count == 0) continue;
        json_open(w, bench_metrics[m].key, '{');
        json_string(w, "unit", bench_metrics[m].unit);
        json_string(w, "better", bench_metrics[m].higher ? "higher" : "lower");
        write_spread(w, &samples->value);
        json_open(w, "samples", '[');
        for (uint32_t i = 0; i < samples->count; i++) json_number(w, NULL, samples->values[i]);
        json_close(w);
        if (samples->has_ratio) {
            json_open(w, "ratio", '{');
            write_spread(w, &samples->ratio);
            json_close(w);
        }
        json_close(w);
    }
    json_close(w);
}

static void write_latency(json_writer_t *w, const bench_result *result)
{
    json_open(w, "latency", '{');
    json_string(w, "unit", "ns");
    json_integer(w, "count", result->latency_count);
    json_number(w, "max", result->latency_max);
    json_open(w, "quantiles", '[');
    for (uint32_t i = 0; i < result->quantiles; i++) {
        json_open(w, NULL, '[');
        json_number(w, NULL, result->quantile[i][0]);
        json_number(w, NULL, result->quantile[i][1]);
        json_close(w);
    }
    json_close(w);
    json_close(w);
}

static void write_result(json_writer_t *w, const bench_run *run, uint32_t which)
{
    const bench_result *result = &run->result[which];
    json_open(w, NULL, '{');
    json_string(w, "name", result->name);
    json_string(w, "uses", result->uses);
    json_string(w, "peer", result->peer);
    json_bool(w, "ours", (result->flags & BENCH_OURS) != 0);
    json_bool(w, "baseline", (result->flags & BENCH_BASELINE) != 0);
    json_bool(w, "can_sleep", (result->flags & BENCH_CAN_SLEEP) != 0);
    write_metrics(w, result);
    if ((result->flags & BENCH_OURS) && bench_is_map(run->workload)) write_verdicts(w, run, which);
    if (result->quantiles > 0) write_latency(w, result);
    json_open(w, "per_thread", '[');
    for (uint32_t i = 0; i < result->threads; i++) json_integer(w, NULL, result->per_thread[i]);
    json_close(w);
    json_close(w);
}

static void write_run(json_writer_t *w, const bench_run *run)
{
    json_open(w, NULL, '{');
    json_string(w, "workload", run->workload);
    json_string(w, "family", bench_families[run->family]);
    json_string(w, "title", run->title);
    json_open(w, "parameters", '{');
    for (size_t i = 0; i < PARAMETERS; i++) {
        uint32_t value;
        memcpy(&value, (const char *)&run->setting + parameters[i].offset, sizeof value);
        if (value != 0) json_integer(w, parameters[i].key, value);
    }
    if (run->setting.senders) json_integer(w, "receivers", run->setting.threads - run->setting.senders);
    json_close(w);
    json_string(w, "primary", bench_metrics[run->primary].key);
    json_string(w, "baseline", run->baseline >= 0 ? run->result[run->baseline].name : NULL);
    json_number(w, "slice_ms", run->slice_ms);
    json_integer(w, "rounds", run->rounds);
    json_integer(w, "rounds_dropped", run->rounds_dropped);
    json_open(w, "line_ns", '[');
    for (uint32_t i = 0; i < run->lines; i++) json_number(w, NULL, run->line_ns[i]);
    json_close(w);
    json_open(w, "others", '[');
    for (uint32_t i = 0; i < run->rounds; i++) json_number(w, NULL, run->others[i]);
    json_close(w);
    json_string(w, "winner", run->winner >= 0 ? run->result[run->winner].name : NULL);
    json_open(w, "results", '[');
    for (uint32_t i = 0; i < run->results; i++) write_result(w, run, i);
    json_close(w);
    json_close(w);
}

static void write_fields(json_writer_t *w, const field *fields, size_t count, const bench_report *report)
{
    for (size_t i = 0; i < count; i++) {
        const char *key = fields[i].key;
        const void *value = (const char *)report + fields[i].offset;
        const char *text = value;
        switch (fields[i].type) {
        case TEXT: json_string(w, key, text); break;
        case TEXT_OR_NULL: json_string(w, key, text[0] ? text : NULL); break;
        case COUNT: json_integer(w, key, *(const uint32_t *)value); break;
        case NUMBER: json_number(w, key, *(const double *)value); break;
        case FLAG: json_bool(w, key, *(const bool *)value); break;
        }
    }
}

void bench_json_write(json_writer_t *w, const char *key, const bench_report *report)
{
    json_open(w, key, '{');
    json_integer(w, "concede_bench", 1);
    write_fields(w, own_fields, OWN_FIELDS, report);
    json_open(w, "machine", '{');
    write_fields(w, machine_fields, MACHINE_FIELDS, report);
    json_close(w);
    json_open(w, "peers", '[');
    for (uint32_t i = 0; i < report->peers; i++) {
        json_open(w, NULL, '{');
        json_string(w, "name", report->peer[i].name);
        json_string(w, "version", report->peer[i].version);
        json_bool(w, "present", report->peer[i].present);
        json_close(w);
    }
    json_close(w);
    json_number(w, "histogram_error", report->histogram_error);
    json_open(w, "runs", '[');
    for (uint32_t i = 0; i < report->runs; i++) write_run(w, &report->run[i]);
    json_close(w);
    json_close(w);
}

/* ---- read -------------------------------------------------------------------------------------------------------- */

static void read_text(const json_t *value, const char *path, char *text, size_t size)
{
    snprintf(text, size, "%s", json_get_string(value, path, ""));
}

static uint32_t read_count(const json_t *value, const char *path)
{
    double number = json_get_number(value, path, 0);
    return number > 0 && number < UINT32_MAX ? (uint32_t)number : 0;
}

static uint32_t read_list(const json_t *list, double *values, uint32_t room)
{
    uint32_t n = 0;
    for (const json_t *at = list ? list->child : NULL; at && n < room; at = at->next) values[n++] = at->number;
    return n;
}

static bool read_result(const json_t *from, bench_result *result)
{
    read_text(from, "name", result->name, sizeof result->name);
    read_text(from, "uses", result->uses, sizeof result->uses);
    read_text(from, "peer", result->peer, sizeof result->peer);
    result->flags = (json_get_bool(from, "ours", false) ? BENCH_OURS : 0u) |
                    (json_get_bool(from, "baseline", false) ? BENCH_BASELINE : 0u) |
                    (json_get_bool(from, "can_sleep", false) ? BENCH_CAN_SLEEP : 0u);
    for (uint32_t m = 0; m < BENCH_METRICS; m++) {
        char path[64];
        snprintf(path, sizeof path, "metrics.%s.samples", bench_metrics[m].key);
        result->metrics[m].count = read_list(json_get(from, path), result->metrics[m].values, BENCH_ROUNDS);
    }
    result->latency_count = (uint64_t)json_get_number(from, "latency.count", 0);
    result->latency_max = json_get_number(from, "latency.max", 0);
    const json_t *quantiles = json_get(from, "latency.quantiles");
    for (const json_t *at = quantiles ? quantiles->child : NULL; at && result->quantiles < 32; at = at->next)
        if (read_list(at, result->quantile[result->quantiles], 2) == 2) result->quantiles++;
    const json_t *threads = json_get(from, "per_thread");
    if (threads && threads->count > 0) {
        result->per_thread = calloc(threads->count, sizeof *result->per_thread);
        if (!result->per_thread) return false;
        for (const json_t *at = threads->child; at; at = at->next)
            result->per_thread[result->threads++] = (uint64_t)at->number;
    }
    return result->name[0] != 0;
}

static bool read_run(const json_t *from, bench_run *run)
{
    const char *family = json_get_string(from, "family", ""), *primary = json_get_string(from, "primary", "");
    read_text(from, "workload", run->workload, sizeof run->workload);
    read_text(from, "title", run->title, sizeof run->title);
    while (run->family < BENCH_FAMILIES && strcmp(bench_families[run->family], family) != 0) run->family++;
    while (run->primary < BENCH_METRICS && strcmp(bench_metrics[run->primary].key, primary) != 0) run->primary++;
    if (run->family == BENCH_FAMILIES || run->primary == BENCH_METRICS) return false;
    for (size_t i = 0; i < PARAMETERS; i++) {
        char path[64];
        snprintf(path, sizeof path, "parameters.%s", parameters[i].key);
        uint32_t value = read_count(from, path);
        memcpy((char *)&run->setting + parameters[i].offset, &value, sizeof value);
    }
    run->slice_ms = json_get_number(from, "slice_ms", 0);
    run->rounds = read_count(from, "rounds");
    run->rounds = run->rounds < BENCH_ROUNDS ? run->rounds : BENCH_ROUNDS;
    run->rounds_dropped = read_count(from, "rounds_dropped");
    run->lines = read_list(json_get(from, "line_ns"), run->line_ns, 2 * BENCH_ROUNDS);
    read_list(json_get(from, "others"), run->others, BENCH_ROUNDS);
    const json_t *results = json_get(from, "results");
    if (!results || results->count == 0) return false;
    run->result = calloc(results->count, sizeof *run->result);
    for (const json_t *at = results->child; at && run->result; at = at->next)
        if (!read_result(at, &run->result[run->results++])) return false;
    if (run->result) bench_run_conclude(run);
    return run->result != NULL;
}

static void read_fields(const json_t *from, const field *fields, size_t count, bench_report *report)
{
    for (size_t i = 0; i < count; i++) {
        const char *key = fields[i].key;
        void *value = (char *)report + fields[i].offset;
        switch (fields[i].type) {
        case TEXT:
        case TEXT_OR_NULL: read_text(from, key, value, fields[i].size); break;
        case COUNT: *(uint32_t *)value = read_count(from, key); break;
        case NUMBER: *(double *)value = json_get_number(from, key, 0); break;
        case FLAG: *(bool *)value = json_get_bool(from, key, false); break;
        }
    }
}

static void read_peers(const json_t *peers, bench_report *report)
{
    const uint32_t room = sizeof report->peer / sizeof *report->peer;
    for (const json_t *at = peers ? peers->child : NULL; at && report->peers < room; at = at->next) {
        read_text(at, "name", report->peer[report->peers].name, sizeof report->peer->name);
        read_text(at, "version", report->peer[report->peers].version, sizeof report->peer->version);
        report->peer[report->peers++].present = json_get_bool(at, "present", false);
    }
}

/* Whether it is a report of ours, whole, and there was memory for it. */
static bool read_report(const json_t *root, bench_report *report)
{
    const json_t *runs = json_get(root, "runs");
    if (json_get_number(root, "concede_bench", 0) != 1 || !runs || runs->type != JSON_ARRAY) return false;
    read_fields(root, own_fields, OWN_FIELDS, report);
    read_fields(json_get(root, "machine"), machine_fields, MACHINE_FIELDS, report);
    report->histogram_error = json_get_number(root, "histogram_error", 0);
    read_peers(json_get(root, "peers"), report);
    report->run = calloc(runs->count ? runs->count : 1, sizeof *report->run);
    bool good = report->run != NULL;
    for (const json_t *at = runs->child; at && good; at = at->next) good = read_run(at, &report->run[report->runs++]);
    return good;
}

bool bench_json_read(const char *path, bench_report *report, char *error, size_t error_size)
{
    memset(report, 0, sizeof *report);
    char why[160];
    json_t *root = json_parse_file(path, why, sizeof why);
    if (!root) {
        snprintf(error, error_size, "%s: %s", path, why);
        return false;
    }
    bool good = read_report(root, report);
    if (!good) {
        snprintf(error, error_size, "%s: not a result of concede bench --json", path);
        bench_report_free(report);
    }
    json_free(root);
    return good;
}
