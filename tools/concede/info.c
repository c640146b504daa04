/* info.c: `concede info`. */
#include "machine.h"
#include "tool.h"

#include <concede/atomic.h>
#include <concede/costs.h>
#include <concede/version.h>

#include <string.h>

#include "os.h"

enum { JSON, MACHINE };
static const tool_option_t options[] = {
    [JSON] = { 0, "json", "[FILE]", "write JSON to the file as well, or print it in place of the text" },
    [MACHINE] = { 0, "machine", "FILE", "write the machine as `concede simulate --machine` reads it" },
    { 0, NULL, NULL, NULL },
};

static void fact(const char *name, const char *text)
{
    printf("%s%-11s%s", tool_dim(), name, tool_plain());
    tool_wrap(stdout, 11, text);
}

static void print_facts(const machine_t *m)
{
    char text[512];
    snprintf(text, sizeof text, "%s (%s)%s", m->host.cpu, m->host.architecture,
             m->host.hypervisor ? ", in a virtual machine" : "");
    fact("CPU", text);
    machine_usable_text(m, text, sizeof text);
    fact("usable", text);
    snprintf(text, sizeof text, "%s%s%s, %s, concede %s", m->host.system, m->host.libc[0] ? ", " : "", m->host.libc,
             m->host.compiler, CC_VERSION_STRING);
    fact("system", text);
    fact("cc_pause", m->pause);
    fact("membarrier",
         m->membarrier ? "works: who notifies pays no fence" : "not here: who notifies pays a full fence");
    uintptr_t area;
    const char *reason = cc_os_sequence_area_(&area);
    snprintf(text, sizeof text, "%s%s", reason ? "a read-modify-write: " : "a plain store where nobody waits",
             reason ? reason : "");
    fact("release", text);
    if (m->host.governor[0]) fact("governor", m->host.governor);
}

static void print_tsc(const machine_t *m)
{
    char text[256];
    int used = snprintf(text, sizeof text, "%s",
                        m->host.has_tsc ? m->host.tsc_invariant ? "invariant" : "not invariant" : "none");
    if (m->tsc_ghz > 0)
        used += snprintf(text + used, sizeof text - (size_t)used, ", %.3f GHz, %s to read, steps of %s", m->tsc_ghz,
                         tool_duration(m->tsc_read_ns), tool_duration(m->tsc_step_ns));
    if (m->host.clocksource[0])
        snprintf(text + used, sizeof text - (size_t)used, "; the kernel's clock: %s", m->host.clocksource);
    fact("TSC", text);
}

static void print_costs(const machine_t *m)
{
    static const char *const heads[] = { "<cost", ">median", ">10 %", ">90 %", "<" };
    static const char *const line_heads[] = { "<cache line", ">median", ">10 %", ">90 %" };
    tool_table_t *table = tool_table(5, heads);
    for (int i = 0; i < MACHINE_PROBES; i++) {
        const machine_cost_t *c = &m->cost[i];
        if (c->samples == 0) continue;
        tool_cell(table, "%s", machine_probes[i].name);
        tool_cell(table, "%s", tool_duration(c->median));
        tool_cell(table, "%s", tool_duration(c->low));
        tool_cell(table, "%s", tool_duration(c->high));
        tool_cell(table, "%s", machine_probes[i].what);
    }
    putchar('\n');
    tool_table_print(table, stdout, 0);
    if (m->lines > 1) {
        table = tool_table(4, line_heads);
        for (int i = 0; i < m->lines; i++) {
            const machine_cost_t *c = &m->line[i].cost;
            tool_cell(table, "CPU %d - %d", m->line[i].from, m->line[i].to);
            tool_cell(table, "%s", tool_duration(c->median));
            tool_cell(table, "%s", tool_duration(c->low));
            tool_cell(table, "%s", tool_duration(c->high));
        }
        putchar('\n');
        tool_table_print(table, stdout, 0);
    }
    if (m->usable < 2) {
        putchar('\n');
        tool_wrap(stdout, 0,
                  "One usable CPU: nothing spins here, waits yield or sleep at once. A cache line between CPUs "
                  "cannot be measured.");
    }
}

static int run(int argc, char **argv)
{
    tool_args_t args = { .command = &concede_info, .argc = argc, .argv = argv };
    const char *json = NULL, *machine_file = NULL;
    tool_output_t out, machine_out;
    bool as_text = true;
    static machine_t machine;
    for (int c; (c = tool_next(&args)) != TOOL_END;) {
        if (c == TOOL_WORD) tool_usage_error(&concede_info, "unexpected argument '%s'", args.value);
        if (c == JSON)
            json = args.value;
        else
            machine_file = args.value;
        as_text &= strcmp(args.value, "-") != 0;
    }
    if (json) tool_output_open(&out, json);
    if (machine_file) tool_output_open(&machine_out, machine_file);
    tool_catch_interrupt();
    machine_describe(&machine);
    if (as_text) print_facts(&machine);
    fflush(stdout);
    machine_measure(&machine);
    if (json) {
        json_writer_t w = { .out = tool_output_begin(&out) };
        json_open(&w, NULL, '{');
        json_integer(&w, "concede_info", 1);
        machine_write_json(&machine, &w);
        json_close(&w);
        tool_output_end(&out);
    }
    if (machine_file) {
        machine_write_text(&machine, tool_output_begin(&machine_out));
        tool_output_end(&machine_out);
    }
    if (!as_text) return 0;
    print_tsc(&machine);
    print_costs(&machine);
    if (machine_is_busy(&machine)) {
        putchar('\n');
        tool_wrap(stdout, 0, "Other programs were busy meanwhile: the figures are noisier than they need be.");
    }
    const cc_costs_t *library = cc_costs();
    char text[256];
    snprintf(text, sizeof text, "cc_costs() says: pause %s, yield %s, wake %s, %u CPU%s.",
             tool_duration(library->pause_ps / 1e3), tool_duration(library->yield_ns),
             tool_duration(cc_load_relaxed(&library->wake_ns)), (unsigned)library->cpus, library->cpus == 1 ? "" : "s");
    putchar('\n');
    tool_wrap(stdout, 0, text);
    return 0;
}

const tool_command_t concede_info = {
    "info",
    "[OPTION]...",
    "Tell what this machine is and what waiting costs on it.",
    "The median of up to 400 samples, and what one sample in ten stays below and above. Takes about a second.",
    options,
    run,
};
