/* placement.c: which CPU a thread runs on, and what happens on these CPUs beside the measurement. See engine.h. */
#include "engine.h"
#include <concede/costs.h>
#include <stdlib.h>
#include <string.h>

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
    if (cc_costs()->cpus < 2 || (pinned_count && placement_cpu(0) == placement_cpu(1))) return -1;
    uint32_t count = host_line(placement_cpu(0), placement_cpu(1), 0, ns, HOST_LINE_SAMPLES);
    /* The median of many: neither the start nor an interruption counts. */
    return count ? bench_spread_of(ns, count).median : -1;
}

host_load_t placement_load(void)
{
    return host_load(pinned, pinned_count);
}

double placement_others(const host_load_t *before, const host_load_t *after)
{
    return after->cpus ? host_others(before, after) / after->cpus : 0;
}
