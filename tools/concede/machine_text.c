/* machine_text.c: this machine in the form that `concede simulate --machine` reads (sim/machine.h has the names). */
#include "machine.h"

#include <concede/costs.h>

/* What cannot be measured from outside is as on the machine that the simulator was fitted on,
 * sim/machines/here.machine. There a line by a store and a load takes 45 ns one way and one transfer 36: a store is
 * not waited for. */
static const double hit_ns = 0.15, hold_ns = 4.5, asks_far = 0.62, migrate = 0.95, transfers_one_way = 1.25;

typedef enum { SAME_CORE, SAME_DIE, SAME_SOCKET, ELSEWHERE, DISTANCES } distance_t;

static distance_t distance(const host_place_t *a, const host_place_t *b)
{
    if (a->socket != b->socket) return ELSEWHERE;
    if (a->die != b->die) return SAME_SOCKET;
    return a->core == b->core ? SAME_CORE : SAME_DIE;
}

static host_place_t places[HOST_CPUS]; /* by the CPU's number */

/* How many cores, dies or sockets there are: CPUs that are at least so `far` from all before them. */
static int count(const machine_t *m, distance_t far)
{
    int n = 0;
    for (int i = 0; i < m->usable; i++) {
        bool is_new = true;
        for (int k = 0; k < i && is_new; k++)
            is_new = distance(&places[m->cpu_list[i]], &places[m->cpu_list[k]]) >= far;
        n += is_new;
    }
    return n > 0 ? n : 1;
}

static void line(FILE *out, const char *name, double value, const char *origin)
{
    fprintf(out, "%-11s %-9.7g # %s\n", name, value, origin);
}

static void cost(FILE *out, const machine_t *m, const char *name, machine_probe_t probe, double otherwise)
{
    const machine_cost_t *c = &m->cost[probe];
    if (c->samples > 0)
        line(out, name, c->median, "concede info");
    else
        line(out, name, otherwise, "could not be measured: a guess");
}

/* The median of the medians would be better; there are few pairs, and the mean of them is as good. */
static double line_ns(const machine_t *m, distance_t wanted)
{
    double sum = 0;
    int n = 0;
    for (int i = 0; i < m->lines; i++) {
        if (distance(&places[m->line[i].from], &places[m->line[i].to]) != wanted) continue;
        sum += m->line[i].cost.median / transfers_one_way;
        n++;
    }
    return n > 0 ? sum / n : 0;
}

void machine_write_text(const machine_t *m, FILE *out)
{
    static const char *const names[DISTANCES] = { "line_core", "line_die", "line_socket", "line_remote" };
    double lines[DISTANCES], nearest = 36;
    for (int i = 0; i < m->usable; i++) host_place(m->cpu_list[i], &places[m->cpu_list[i]]);
    int cores = count(m, SAME_DIE), dies = count(m, SAME_SOCKET), sockets = count(m, ELSEWHERE);
    fprintf(out, "# Written by `concede info --machine` on %.10s. What is a guess, correct.\n", m->host.date);
    fprintf(out, "title       %d CPUs of %s\n", m->usable, m->host.cpu[0] ? m->host.cpu : "an unknown kind");
    line(out, "cores", cores, "the system");
    line(out, "siblings", m->usable / cores > 0 ? m->usable / cores : 1, "the system");
    line(out, "die", (double)cores / dies, "the system: a last-level cache");
    line(out, "socket", (double)cores / sockets, "the system");
    line(out, "small", 0, "not known");
    line(out, "slower", 1, "not known");
    line(out, "line_bytes", 64, "a guess");
    line(out, "hit", hit_ns, "as on here.machine");
    cost(out, m, "atomic", MACHINE_FENCE, 3);
    cost(out, m, "cas", MACHINE_FENCE, 3);
    for (int d = SAME_CORE; d < DISTANCES; d++) {
        lines[d] = line_ns(m, (distance_t)d);
        if (lines[d] > 0) nearest = lines[d];
        line(out, names[d], lines[d] > 0 ? lines[d] : nearest,
             lines[d] > 0 ? "concede info, less what a store is not waited for" : "no such pair of CPUs was measured");
    }
    line(out, "invalidate", 2, "a guess");
    line(out, "serve", 5, "a guess");
    line(out, "hold", hold_ns, "as on here.machine");
    line(out, "asks_far", asks_far, "as on here.machine");
    line(out, "migrate", migrate, "as on here.machine");
    line(out, "stores", 10, "a guess");
    cost(out, m, "pause", MACHINE_PAUSE, 25);
    cost(out, m, "clock", MACHINE_CLOCK, 25);
    cost(out, m, "syscall", MACHINE_WAKE_NONE, 200);
    /* The library's own figure leaves out yields that ran somebody else: beside a busy neighbour those are most. */
    line(out, "yield", cc_costs()->yield_ns, "cc_costs()");
    line(out, "change", 1500, "a guess");
    line(out, "slice", 3000000, "Linux gives turns of 3 to 4 ms");
    line(out, "tick", 4000000, "a guess: 250 Hz");
    line(out, "ticked", m->host.hypervisor ? 5000 : 2000, "a guess");
    line(out, "sleep", 2000, "a guess");
    cost(out, m, "wake_call", MACHINE_WAKE_CALL, 2000);
    cost(out, m, "wake", MACHINE_WAKE, 10000);
    cost(out, m, "membarrier", MACHINE_MEMBARRIER, 1000);
    line(out, "interrupt", m->host.hypervisor ? 1500 : 100, "a guess");
}
