/* simulate.c: `concede simulate`. Chooses what to simulate, on which machines, and shows them; sim/ simulates. */
#include "json.h"
#include "sim.h"
#include "tool.h"

#include <concede/deadline.h>
#include <concede/version.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int run_simulate(int argc, char **argv);

enum { MACHINE, CPUS, ONLY, SEED, EVENTS, JSON, CSV, LIST };
static const tool_option_t options[] = {
    [MACHINE] = { 'm', "machine", "NAME|FILE",
                  "a built-in machine (all: every one), or a file that describes one; "
                  "with +vm behind it, a virtual one; may be given again (default here)" },
    [CPUS] = { 0, "cpus", "N[,N...]",
               "how many CPUs have a thread, or a sender and a receiver (default: 1, 2, 8, 32 "
               "... as many as the machine has)" },
    [ONLY] = { 'o', "only", "NAME[,...]", "only implementations whose name begins so" },
    [SEED] = { 0, "seed", "N", "another order of what happens at the same time (default 1)" },
    [EVENTS] = { 0, "events", "N", "end a run after so many events (default 400000)" },
    [JSON] = { 0, "json", "[FILE]", "write JSON to the file as well, or print it in place of the table" },
    [CSV] = { 0, "csv", NULL, "print one line for each metric in place of the table" },
    [LIST] = { 0, "list", NULL, "print the machines', workloads' and implementations' names and exit" },
    { 0, NULL, NULL, NULL },
};
const tool_command_t concede_simulate = {
    "simulate",
    "[cas|lock|park|channel|all|WORKLOAD]... [OPTION]...",
    "Run concede on machines that are not here.",
    "The library's own code runs in virtual time on a simulated machine: its atomic accesses, pauses and system calls "
    "take as long as they would where its cache lines and threads are. Beside it, other algorithms in a few lines "
    "each. The same seed gives the same figures. doc/simulation.md says what is left out, and how far to trust it.\n"
    "A run that had too many events is marked with ~: it is shorter than the others. - is a run that did not end.",
    options,
    run_simulate,
};

/* Estimated: an interrupt to another CPU of a virtual machine leaves the guest on both sides, at 1 us or more each. */
enum { VIRTUAL_INTERRUPT_NS = 1500 };

enum { MACHINES = 32, COUNTS = 16, JOBS_AT_ONCE = 64 };

typedef struct request {
    sim_machine_t machine[MACHINES];
    uint32_t machines;
    uint32_t count[COUNTS], counts;
    const char *workloads, *only, *json;
    uint64_t seed, events;
    bool csv;
    char words[512], command[256];
} request;

/* One run: a cell of a table. */
typedef struct job {
    const sim_machine_t *machine;
    const sim_workload_t *workload;
    const bench_peer *peer;
    const bench_subject *subject;
    bench_setting setting;
    uint32_t cpus;
    sim_outcome_t outcome;
    bool done;
} job;

static job *jobs;
static size_t job_count;

/* ---- choosing ---- */

static char *read_text(const char *path)
{
    enum { MOST = 65536 };
    char *text = tool_need(malloc(MOST));
    FILE *file = fopen(path, "r");
    if (!file) tool_die("%s: %s", path, strerror(errno));
    text[fread(text, 1, MOST - 1, file)] = 0;
    fclose(file);
    return text;
}

static void add_machine(request *r, const char *name, const char *text)
{
    char error[256];
    if (r->machines == MACHINES) tool_usage_error(&concede_simulate, "too many machines");
    if (!sim_machine_parse(&r->machine[r->machines++], name, text, error, sizeof error)) tool_die("%s", error);
}

/* The same machine under a hypervisor: what the system does costs what it does on the machine at hand. */
static void make_virtual(sim_machine_t *machine)
{
    static const char title[] = ", virtual", name[] = "+vm";
    sim_machine_t here;
    char error[256];
    for (const sim_text_t *m = sim_texts; m->name; m++)
        if (strcmp(m->name, "here") == 0 && !sim_machine_parse(&here, m->name, m->text, error, sizeof error))
            tool_die("%s", error);
    machine->syscall = here.syscall;
    machine->yield = here.yield;
    machine->sleep = here.sleep;
    machine->wake_call = here.wake_call;
    machine->wake = here.wake;
    machine->interrupt = VIRTUAL_INTERRUPT_NS;
    machine->tick = here.tick;
    machine->ticked = here.ticked;
    snprintf(machine->name + strlen(machine->name), sizeof machine->name - strlen(machine->name), "%s", name);
    snprintf(machine->title + strlen(machine->title), sizeof machine->title - strlen(machine->title), "%s", title);
}

/* A name or a file, either with +vm behind it. */
static void find_machine(request *r, const char *given)
{
    const char *names[64] = { "all" };
    char word[256];
    uint32_t n = 1, first = r->machines;
    snprintf(word, sizeof word, "%s", given);
    size_t length = strlen(word);
    bool is_virtual = length > 3 && strcmp(word + length - 3, "+vm") == 0;
    if (is_virtual) word[length - 3] = 0;
    bool all = strcmp(word, "all") == 0;
    for (const sim_text_t *m = sim_texts; m->name; m++) {
        if (n < 63) names[n++] = m->name;
        if (all || strcmp(m->name, word) == 0) add_machine(r, m->name, m->text);
    }
    if (r->machines == first && (strchr(word, '/') || strchr(word, '.'))) {
        char *text = read_text(word);
        add_machine(r, word, text);
        free(text);
    }
    for (uint32_t i = first; is_virtual && i < r->machines; i++) make_virtual(&r->machine[i]);
    if (r->machines > first) return;
    const char *closest = tool_closest(word, names);
    if (closest) tool_usage_error(&concede_simulate, "unknown machine '%s'; did you mean %s?", word, closest);
    tool_usage_error(&concede_simulate,
                     "unknown machine '%s'; --list shows them, and a file has a / or a . in its name", word);
}

static void parse_counts(request *r, const char *text)
{
    const char *at = text;
    r->counts = 0;
    do {
        char *end;
        unsigned long n = strtoul(at, &end, 10);
        if (end == at || n < 1 || n > 1024 || (*end && *end != ',') || r->counts == COUNTS)
            tool_usage_error(&concede_simulate, "--cpus: '%s' is not a list of up to %d numbers from 1 to 1024", text,
                             COUNTS);
        r->count[r->counts++] = (uint32_t)n;
        at = *end ? end + 1 : end;
    } while (*at);
}

static bool is_workload(const char *word)
{
    bool known = strcmp(word, "all") == 0;
    for (const sim_workload_t *const *w = sim_workloads; *w; w++)
        known |= word[0] && strncmp((*w)->name, word, strlen(word)) == 0;
    return known;
}

static void add_workload(request *r, const char *word)
{
    if (!is_workload(word)) {
        const char *names[64] = { "all", "cas", "lock", "park", "channel" };
        uint32_t n = 5;
        for (const sim_workload_t *const *w = sim_workloads; *w && n < 63; w++) names[n++] = (*w)->name;
        const char *closest = tool_closest(word, names);
        if (closest) tool_usage_error(&concede_simulate, "unknown workload '%s'; did you mean %s?", word, closest);
        tool_usage_error(&concede_simulate, "unknown workload '%s'; --list shows them", word);
    }
    size_t at = strlen(r->words);
    if (strcmp(word, "all") == 0) word = "cas,lock,park,channel";
    if (at + strlen(word) + 2 > sizeof r->words) tool_usage_error(&concede_simulate, "too many workloads");
    snprintf(r->words + at, sizeof r->words - at, "%s%s", at ? "," : "", word);
}

/* Whether one of a peer's subjects takes part in a workload, or in any. Of one that is there for several sizes of a
 * message only the first, for 8 bytes. */
static bool competes(const bench_peer *peer, const bench_subject *const *at, const sim_workload_t *workload)
{
    const bench_subject *s = *at;
    if (at != peer->subjects && strcmp(at[-1]->name, s->name) == 0) return false;
    if (workload) return s->family == workload->family && s->loops[workload->loop];
    for (const sim_workload_t *const *w = sim_workloads; *w; w++)
        if (competes(peer, at, *w)) return true;
    return false;
}

static void print_list(void)
{
    puts("machines:");
    for (const sim_text_t *m = sim_texts; m->name; m++) {
        sim_machine_t machine;
        char error[256];
        if (!sim_machine_parse(&machine, m->name, m->text, error, sizeof error)) tool_die("%s", error);
        tool_entry(m->name, machine.title);
    }
    puts("workloads:");
    for (const sim_workload_t *const *w = sim_workloads; *w; w++) tool_entry((*w)->name, (*w)->title);
    puts("implementations:");
    for (const bench_peer *const *peer = sim_peers; *peer; peer++)
        for (const bench_subject *const *at = (*peer)->subjects; *at; at++)
            if (competes(*peer, at, NULL)) tool_entry((*at)->name, (*at)->uses);
}

static uint32_t counts_of(const request *r, const sim_machine_t *machine, const sim_workload_t *w, uint32_t *count)
{
    uint32_t cpus = sim_machine_cpus(machine), n = 0;
    if (!w->scales) return count[0] = 2, 1;
    if (r->counts) {
        memcpy(count, r->count, r->counts * sizeof *count);
        return r->counts;
    }
    for (uint32_t c = 1; c < cpus && n < COUNTS - 1; c *= c == 1 || c == 4 ? 2 : 4) count[n++] = c;
    count[n++] = cpus;
    return n;
}

static void plan(const request *r)
{
    size_t room = 0;
    for (uint32_t m = 0; m < r->machines; m++)
        for (const sim_workload_t *const *w = sim_workloads; *w; w++) {
            uint32_t count[COUNTS], counts = counts_of(r, &r->machine[m], *w, count);
            if (r->workloads && !bench_named(r->workloads, (*w)->name, false)) continue;
            for (const bench_peer *const *peer = sim_peers; *peer; peer++)
                for (const bench_subject *const *at = (*peer)->subjects; *at; at++)
                    for (uint32_t i = 0; i < counts; i++) {
                        const bench_subject *s = *at;
                        uint32_t cpus = sim_machine_cpus(&r->machine[m]), n = count[i];
                        if (!competes(*peer, at, *w)) continue;
                        if (r->only && !bench_named(r->only, s->name, false)) continue;
                        if ((s->flags & BENCH_ONE_TO_ONE) && (*w)->scales) continue;
                        if ((s->flags & BENCH_NO_OVERLOAD) && n > cpus) continue;
                        if (job_count == room) {
                            room = room ? 2 * room : 256;
                            jobs = tool_need(realloc(jobs, room * sizeof *jobs));
                        }
                        job *j = &jobs[job_count++];
                        memset(j, 0, sizeof *j);
                        j->machine = &r->machine[m];
                        j->workload = *w;
                        j->peer = *peer;
                        j->subject = s;
                        j->cpus = n;
                        j->setting = (*w)->setting;
                        j->setting.threads = (*w)->pairs                                     ? 2 * n
                                             : (*w)->family == BENCH_CHANNEL && (*w)->scales ? n + 1
                                                                                             : n;
                        if ((*w)->family == BENCH_CHANNEL) j->setting.senders = (*w)->pairs ? n : 1;
                    }
        }
}

/* ---- running ---- */

/* Each run is a process of its own: the sources that run in it start anew, and two CPUs run two. */
typedef struct worker {
    pid_t pid;
    int pipe;
    job *job;
} worker;

static void start(const request *r, worker *w, job *j)
{
    int ends[2];
    if (pipe(ends) != 0) tool_die("pipe: %s", strerror(errno));
    fflush(NULL);
    w->pid = fork();
    if (w->pid < 0) tool_die("fork: %s", strerror(errno));
    if (w->pid == 0) {
        sim_outcome_t outcome;
        close(ends[0]);
        sim_run(j->machine, j->workload, j->subject, &j->setting, r->seed, r->events, &outcome);
        _exit(write(ends[1], &outcome, sizeof outcome) == (ssize_t)sizeof outcome ? 0 : 1);
    }
    close(ends[1]);
    w->pipe = ends[0];
    w->job = j;
}

static void finish(worker *w)
{
    int status;
    job *j = w->job;
    j->done = read(w->pipe, &j->outcome, sizeof j->outcome) == (ssize_t)sizeof j->outcome;
    close(w->pipe);
    while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR) {}
    if (!j->done && !tool_interrupted())
        tool_die("%s, %s, %u CPUs on %s: the simulator crashed", j->workload->name, j->subject->name, j->cpus,
                 j->machine->name);
    w->job = NULL;
}

static void run_all(const request *r)
{
    worker workers[JOBS_AT_ONCE];
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    size_t at_once = cpus < 1 ? 1 : cpus > JOBS_AT_ONCE ? JOBS_AT_ONCE : (size_t)cpus, next = 0, first = 0;
    uint64_t begin = cc_now_ns();
    memset(workers, 0, sizeof workers);
    for (size_t ended = 0; ended < job_count && !tool_interrupted(); ended++) {
        for (; next < job_count && next < ended + at_once; next++) {
            char what[96];
            const job *j = &jobs[next];
            double spent = (double)(cc_now_ns() - begin) / 1e9;
            snprintf(what, sizeof what, "%s on %s, %u CPUs", j->workload->name, j->machine->name, j->cpus);
            tool_progress(what, j->subject->name, ended ? spent / (double)ended * (double)(job_count - ended) : 0);
            start(r, &workers[next % at_once], &jobs[next]);
        }
        finish(&workers[first++ % at_once]);
    }
    for (size_t i = 0; i < at_once; i++)
        if (workers[i].job) finish(&workers[i]);
    tool_progress_end();
}

/* ---- showing ---- */

static bool same_table(const job *a, const job *b)
{
    return a->machine == b->machine && a->workload == b->workload;
}

static void print_metric(const job *from, const job *to, uint32_t metric)
{
    const char *heads[COUNTS + 1];
    char texts[COUNTS + 1][32];
    int columns = 1;
    snprintf(texts[0], sizeof *texts, "<%s", bench_metrics[metric].title);
    heads[0] = texts[0];
    for (const job *j = from; j < to && j->subject == from->subject && columns <= COUNTS; j++, columns++) {
        if (j->workload->pairs)
            snprintf(texts[columns], sizeof *texts, ">%u:%u", j->cpus, j->cpus);
        else if (j->setting.senders)
            snprintf(texts[columns], sizeof *texts, ">1:%u", j->setting.threads - 1);
        else
            snprintf(texts[columns], sizeof *texts, ">%u", j->cpus);
        heads[columns] = texts[columns];
    }
    tool_table_t *table = tool_table(columns, heads);
    for (const job *j = from; j < to;) {
        const bench_subject *subject = j->subject;
        int filled = 1;
        tool_cell(table, "%s", subject->name);
        for (; j < to && j->subject == subject; j++, filled++) {
            if (!j->done || !j->outcome.ended)
                tool_cell(table, "-");
            else if (metric == BENCH_WORST)
                tool_cell(table, "%s%s", j->outcome.whole ? "" : "~", tool_duration(j->outcome.values[metric]));
            else
                tool_cell(table, "%s%s", j->outcome.whole ? "" : "~", tool_figure(j->outcome.values[metric]));
        }
        for (; filled < columns; filled++) tool_cell(table, "%s", "");
    }
    tool_table_print(table, stdout, 2);
}

static void print_tables(void)
{
    for (size_t i = 0, next; i < job_count; i = next) {
        const job *j = &jobs[i];
        for (next = i; next < job_count && same_table(j, &jobs[next]);) next++;
        if (i == 0 || jobs[i - 1].machine != j->machine)
            printf("%s%s: %s%s\n\n", tool_bold(), j->machine->name, j->machine->title, tool_plain());
        printf("%s: %s\n", j->workload->name, j->workload->title);
        print_metric(j, jobs + next, j->workload->primary);
        for (uint32_t m = 0; m < BENCH_METRICS; m++)
            if (m != j->workload->primary && (j->workload->metrics >> m & 1)) print_metric(j, jobs + next, m);
        putchar('\n');
    }
}

static void print_csv(void)
{
    puts("machine,workload,cpus,threads,senders,name,metric,unit,value,ended,whole,virtual_ms,events,transfers,sleeps,"
         "wakes,"
         "yields,preemptions,membarriers");
    for (size_t i = 0; i < job_count; i++) {
        const job *j = &jobs[i];
        const sim_outcome_t *o = &j->outcome;
        if (!j->done) continue;
        for (uint32_t m = 0; m < BENCH_METRICS; m++)
            if (j->workload->metrics >> m & 1)
                printf("%s,%s,%u,%u,%u,\"%s\",%s,%s,%.6g,%d,%d,%.6g,%llu,%llu,%llu,%llu,%llu,%llu,%llu\n",
                       j->machine->name, j->workload->name, j->cpus, j->setting.threads, j->setting.senders,
                       j->subject->name, bench_metrics[m].key, bench_metrics[m].unit, o->values[m], o->ended, o->whole,
                       o->virtual_ms, (unsigned long long)o->events, (unsigned long long)o->transfers,
                       (unsigned long long)o->sleeps, (unsigned long long)o->wakes, (unsigned long long)o->yields,
                       (unsigned long long)o->preemptions, (unsigned long long)o->membarriers);
    }
}

static void write_run(json_writer_t *w, const job *j)
{
    const sim_outcome_t *o = &j->outcome;
    json_open(w, NULL, '{');
    json_string(w, "workload", j->workload->name);
    json_string(w, "title", j->workload->title);
    json_integer(w, "cpus", j->cpus);
    json_integer(w, "threads", j->setting.threads);
    json_integer(w, "senders", j->setting.senders);
    json_string(w, "name", j->subject->name);
    json_bool(w, "ours", (j->subject->flags & BENCH_OURS) != 0);
    json_bool(w, "can_sleep", (j->subject->flags & BENCH_CAN_SLEEP) != 0);
    json_bool(w, "ended", o->ended);
    json_bool(w, "whole", o->whole);
    json_number(w, "virtual_ms", o->virtual_ms);
    json_open(w, "metrics", '{');
    for (uint32_t m = 0; m < BENCH_METRICS; m++)
        if (j->workload->metrics >> m & 1) json_number(w, bench_metrics[m].key, o->values[m]);
    json_close(w);
    json_open(w, "counts", '{');
    json_integer(w, "events", o->events);
    json_integer(w, "transfers", o->transfers);
    json_integer(w, "sleeps", o->sleeps);
    json_integer(w, "wakes", o->wakes);
    json_integer(w, "yields", o->yields);
    json_integer(w, "preemptions", o->preemptions);
    json_integer(w, "membarriers", o->membarriers);
    json_close(w);
    json_close(w);
}

static void write_json(const request *r, FILE *out)
{
    json_writer_t w = { .out = out };
    json_open(&w, NULL, '{');
    json_integer(&w, "concede_simulate", 1);
    json_string(&w, "version", CC_VERSION_STRING);
    json_string(&w, "command", r->command);
    json_integer(&w, "seed", r->seed);
    json_open(&w, "machines", '[');
    for (uint32_t m = 0; m < r->machines; m++) {
        json_open(&w, NULL, '{');
        json_string(&w, "name", r->machine[m].name);
        json_string(&w, "title", r->machine[m].title);
        json_integer(&w, "cpus", sim_machine_cpus(&r->machine[m]));
        json_open(&w, "runs", '[');
        for (size_t i = 0; i < job_count; i++)
            if (jobs[i].machine == &r->machine[m] && jobs[i].done) write_run(&w, &jobs[i]);
        json_close(&w);
        json_close(&w);
    }
    json_close(&w);
    json_close(&w);
}

static int run_simulate(int argc, char **argv)
{
    static request r = { .seed = 1, .events = 400000 };
    tool_args_t args = { .command = &concede_simulate, .argc = argc, .argv = argv };
    for (int c; (c = tool_next(&args)) != TOOL_END;) {
        switch (c) {
        case TOOL_WORD: add_workload(&r, args.value); break;
        case MACHINE: find_machine(&r, args.value); break;
        case CPUS: parse_counts(&r, args.value); break;
        case ONLY: r.only = args.value; break;
        case SEED:
        case EVENTS:
            if (!tool_parse_count(args.value, 1, UINT64_C(1) << 40, c == SEED ? &r.seed : &r.events))
                tool_usage_error(&concede_simulate, "--%s: '%s' is no number from 1 on", options[c].name, args.value);
            break;
        case JSON:
            if (is_workload(args.value))
                tool_usage_error(&concede_simulate, "--json: '%s' is a workload, not a file; put it before --json",
                                 args.value);
            r.json = args.value;
            break;
        case CSV: r.csv = true; break;
        case LIST: print_list(); return 0;
        }
    }
    if (r.machines == 0) find_machine(&r, "here");
    r.workloads = r.words[0] ? r.words : NULL;
    bool only_json = r.json && strcmp(r.json, "-") == 0;
    if (r.csv && only_json)
        tool_usage_error(&concede_simulate, "--csv and --json - each print in place of the table: choose one");
    tool_command_line(argc, argv, r.command, sizeof r.command);
    plan(&r);
    if (job_count == 0)
        tool_usage_error(&concede_simulate, "nothing to simulate: no implementation fits these options");
    tool_output_t out;
    if (r.json) tool_output_open(&out, r.json);
    tool_catch_interrupt();
    run_all(&r);
    if (r.json) {
        write_json(&r, tool_output_begin(&out));
        tool_output_end(&out);
    }
    if (r.csv)
        print_csv();
    else if (!only_json)
        print_tables();
    free(jobs);
    return 0;
}
