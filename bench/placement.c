/* placement.c: which CPU a thread runs on, and what happens on these CPUs beside the measurement. See engine.h. */
#include "engine.h"
#include <concede/costs.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

static pid_t neighbours[HOST_CPUS];
static uint32_t neighbour_count;
static int pinned[HOST_CPUS];
static uint32_t pinned_count; /* 0: not pinned */

static bool may_use(const int *usable, int count, long cpu)
{
    for (int i = 0; i < count; i++)
        if (usable[i] == cpu) return true;
    return false;
}

bool placement_choose(const char *pin)
{
    int usable[HOST_CPUS], count = host_cpus(usable);
    pinned_count = 0;
    if (pin && strcmp(pin, "none") == 0) return true;
    if (!pin || strcmp(pin, "spread") == 0) {
        while (pinned_count < (uint32_t)count) pinned[pinned_count] = usable[pinned_count], pinned_count++;
        return true;
    }
    while (*pin && pinned_count < HOST_CPUS) {
        char *end;
        long cpu = strtol(pin, &end, 10);
        if (end == pin || !may_use(usable, count, cpu) || (*end && *end != ',')) return false;
        pinned[pinned_count++] = (int)cpu;
        pin = *end ? end + 1 : end;
    }
    return pinned_count > 0;
}

uint32_t placement_cpus(void)
{
    return pinned_count;
}

int placement_cpu(uint32_t i)
{
    return pinned_count ? pinned[i % pinned_count] : -1;
}

double placement_line_ns(void)
{
    double ns[HOST_LINE_SAMPLES];
    if (neighbour_count > 0) return -1; /* two threads that need their CPUs at the same time seldom have them */
    if (cc_costs()->cpus < 2 || (pinned_count && placement_cpu(0) == placement_cpu(1))) return -1;
    uint32_t count = host_line(placement_cpu(0), placement_cpu(1), 0, ns, HOST_LINE_SAMPLES);
    /* The median of many: neither the start nor an interruption counts. */
    return count ? bench_spread_of(ns, count).median : -1;
}

host_load_t placement_load(void)
{
    host_load_t load = host_load(pinned, pinned_count);
    for (uint32_t i = 0; i < neighbour_count; i++) load.own += host_process_cpu_seconds(neighbours[i]);
    return load;
}

double placement_others(const host_load_t *before, const host_load_t *after)
{
    return after->cpus ? host_others(before, after) / after->cpus : 0;
}

/* What a neighbour does. It ends with its parent, however that ends; Ctrl-C is the parent's to handle. */
_Noreturn static void count_for_ever(pid_t parent, int cpu)
{
#if defined(__linux__)
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    signal(SIGINT, SIG_IGN);
    if (getppid() != parent) _exit(0); /* it ended before it could be heard of */
    host_pin(cpu);
    for (uint64_t n = 0;; n++) __asm__ __volatile__("" : "+r"(n));
}

bool placement_neighbours_start(uint32_t count, int cpu, char *error, size_t error_size)
{
    int usable[HOST_CPUS], cpus = host_cpus(usable);
    pid_t parent = getpid();
    if (count == 0) return true;
    if (cpu >= 0 && !may_use(usable, cpus, cpu)) {
        snprintf(error, error_size, "--neighbours: this process may not use CPU %d", cpu);
        return false;
    }
    for (int i = 0; i < cpus; i++) {
        if (cpu >= 0 && usable[i] != cpu) continue;
        for (uint32_t k = 0; k < count; k++) {
            pid_t neighbour = neighbour_count < HOST_CPUS ? fork() : -1;
            if (neighbour == 0) count_for_ever(parent, usable[i]);
            if (neighbour < 0) {
                snprintf(error, error_size, "cannot start a neighbour: %s", strerror(errno));
                placement_neighbours_stop();
                return false;
            }
            neighbours[neighbour_count++] = neighbour;
        }
    }
    host_sleep(10000000); /* until they run */
    return true;
}

void placement_neighbours_stop(void)
{
    for (uint32_t i = 0; i < neighbour_count; i++) kill(neighbours[i], SIGKILL);
    for (uint32_t i = 0; i < neighbour_count; i++) waitpid(neighbours[i], NULL, 0);
    neighbour_count = 0;
}
