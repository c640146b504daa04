/* machine.c: reads machines. */
#include "machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    size_t at;
    double least, most;
} fields[SIM_FIELDS] = {
#define FIELD(name, least, most)                          \
    {                                                     \
#name, offsetof(sim_machine_t, name), least, most \
    }
    FIELD(cores, 1, SIM_CPUS),     FIELD(siblings, 1, 8),         FIELD(die, 1, SIM_CPUS),
    FIELD(socket, 1, SIM_CPUS),    FIELD(small, 0, SIM_CPUS),     FIELD(slower, 1, 100),
    FIELD(line_bytes, 16, 1024),   FIELD(hit, 0.01, 1e3),         FIELD(atomic, 0.01, 1e4),
    FIELD(cas, 0.01, 1e4),         FIELD(line_core, 0.01, 1e5),   FIELD(line_die, 0.01, 1e5),
    FIELD(line_socket, 0.01, 1e5), FIELD(line_remote, 0.01, 1e5), FIELD(invalidate, 0, 1e4),
    FIELD(serve, 0, 1e4),          FIELD(hold, 0, 1e5),           FIELD(asks_far, 0, 1),
    FIELD(migrate, 0, 1),          FIELD(stores, 1, 16),          FIELD(pause, 0, 1e5),
    FIELD(clock, 0, 1e5),          FIELD(syscall, 1, 1e6),        FIELD(yield, 1, 1e6),
    FIELD(change, 1, 1e6),         FIELD(slice, 1e3, 1e9),        FIELD(tick, 1e3, 1e12),
    FIELD(ticked, 0, 1e8),         FIELD(sleep, 1, 1e7),          FIELD(wake_call, 1, 1e7),
    FIELD(wake, 1, 1e8),           FIELD(membarrier, 1, 1e7),
#undef FIELD
};

_Static_assert(sizeof fields / sizeof *fields == SIM_FIELDS, "all but `interrupt`, which may be 0 and is read last");

static double *field(sim_machine_t *machine, size_t at)
{
    return (double *)(void *)((char *)machine + at);
}

bool sim_machine_parse(sim_machine_t *machine, const char *name, const char *text, char *error, size_t size)
{
    bool seen[SIM_FIELDS + 1] = { false };
    memset(machine, 0, sizeof *machine);
    snprintf(machine->name, sizeof machine->name, "%s", name);
    for (int line = 1; *text; line++) {
        char words[256], key[32];
        size_t length = strcspn(text, "\n"), used = length < sizeof words ? length : sizeof words - 1;
        int value_at = 0;
        memcpy(words, text, used);
        words[used] = 0;
        text += length + (text[length] == '\n');
        words[strcspn(words, "#")] = 0;
        if (sscanf(words, "%31s %n", key, &value_at) != 1) continue;
        char *value = words + value_at, *end;
        if (strcmp(key, "title") == 0) {
            snprintf(machine->title, sizeof machine->title, "%.95s", value);
            for (size_t n = strlen(machine->title); n > 0 && machine->title[n - 1] == ' ';) machine->title[--n] = 0;
            continue;
        }
        double number = strtod(value, &end);
        bool is_number = end != value && end[strspn(end, " \t\r")] == 0;
        size_t i = 0;
        while (i < SIM_FIELDS && strcmp(fields[i].name, key) != 0) i++;
        if (i == SIM_FIELDS) {
            if (strcmp(key, "interrupt") != 0) {
                snprintf(error, size, "%s:%d: there is no '%s'", name, line, key);
                return false;
            }
            if (!is_number || !(number >= 0 && number <= 1e6)) i = SIM_FIELDS + 1;
            machine->interrupt = number;
        } else {
            if (!is_number || !(number >= fields[i].least && number <= fields[i].most))
                i = SIM_FIELDS + 1;
            else
                *field(machine, fields[i].at) = number;
        }
        if (i > SIM_FIELDS) {
            snprintf(error, size, "%s:%d: '%s' is no value for %s", name, line, value, key);
            return false;
        }
        seen[i] = true;
    }
    for (size_t i = 0; i <= SIM_FIELDS; i++) {
        if (seen[i]) continue;
        snprintf(error, size, "%s: it does not say '%s'", name, i < SIM_FIELDS ? fields[i].name : "interrupt");
        return false;
    }
    if (machine->cores * machine->siblings > SIM_CPUS) {
        snprintf(error, size, "%s: more than %d CPUs", name, SIM_CPUS);
        return false;
    }
    return true;
}
