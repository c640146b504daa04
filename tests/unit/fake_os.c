/* fake_os.c: see fake_os.h. */
#include "fake_os.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

fake_os fake;
static bool woken_while_asleep;
static uint64_t pause_ps_left;

void fake_start(void)
{
    memset(&fake, 0, sizeof fake);
    fake.now_ns = 1000000000;
    fake.cpus = 2;
    fake.quota = UINT32_MAX;
    fake.registers = true;
    fake.membarriers_granted = UINT32_MAX;
}

void fake_forget(void)
{
    fake.waits = fake.wakes = fake.yields = fake.registrations = fake.membarriers = fake.clock_reads = fake.pauses = 0;
    fake.quota_reads = fake.bells = fake.rings = fake.emptied = fake.bells_closed = 0;
    fake.waited_on = fake.woken = NULL;
}

void fake_pause(void)
{
    fake.pauses++;
    pause_ps_left += fake.pause_ps;
    fake.now_ns += pause_ps_left / 1000;
    pause_ps_left %= 1000;
    if (fake.on_pause) fake.on_pause();
}

int cc_os_wait_(const uint32_t *word, uint32_t expected, uint64_t deadline)
{
    fake.waits++;
    fake.waited_on = word;
    fake.waited_for = expected;
    fake.waited_until = deadline;
    if (fake.before_sleep) fake.before_sleep();
    if (*word != expected) return EAGAIN;
    woken_while_asleep = false;
    if (fake.asleep) fake.asleep();
    if (fake.script_lines > 0) {
        fake_result line = *fake.script++;
        fake.script_lines--;
        fake.now_ns += line.passes_ns;
        return line.result;
    }
    if (woken_while_asleep && fake.woken_as == ETIMEDOUT && fake.now_ns < deadline) fake.now_ns = deadline;
    if (woken_while_asleep) return fake.woken_as;
    if (deadline == CC_FOREVER) {
        printf("a wait without a deadline, and nobody is left to wake it: a lost wake-up\n");
        fflush(stdout);
        _Exit(1);
    }
    if (fake.now_ns < deadline) fake.now_ns = deadline;
    return ETIMEDOUT;
}

void cc_os_wake_(const uint32_t *word, uint32_t count)
{
    fake.wakes++;
    fake.woken = word;
    fake.woken_count = count;
    fake.now_ns += fake.wake_ns;
    if (word == fake.waited_on && count > 0) woken_while_asleep = true;
    if (fake.on_wake) fake.on_wake();
}

void cc_os_yield_(void)
{
    fake.yields++;
    fake.now_ns += fake.yield_ns;
    if (fake.on_yield) fake.on_yield();
}

uint64_t cc_os_now_(void)
{
    fake.clock_reads++;
    return fake.now_ns;
}

uint64_t cc_os_cpu_time_(void)
{
    return fake.cpu_time_ns;
}

uint32_t cc_os_cpu_(void)
{
    return fake.cpu;
}

bool cc_os_membarrier_register_(void)
{
    fake.registrations++;
    return fake.registers;
}

bool cc_os_membarrier_(void)
{
    fake.membarriers++;
    if (fake.membarriers_granted == 0) return false;
    fake.membarriers_granted--;
    if (fake.on_membarrier) fake.on_membarrier();
    return true;
}

uint32_t cc_os_cpus_(void)
{
    return fake.cpus;
}

uint32_t cc_os_quota_(void)
{
    fake.quota_reads++;
    return fake.quota;
}

const char *cc_os_sequence_area_(uintptr_t *area)
{
    if (fake.sequence_area == 0) return "not on this fake";
    *area = fake.sequence_area;
    return NULL;
}

bool cc_os_sequence_barrier_(void)
{
    if (fake.on_barrier) fake.on_barrier();
    return fake.barriers++ < fake.barriers_granted;
}

bool cc_os_has_sb_(void)
{
    return fake.has_sb;
}

const char *cc_os_environment_(const char *name)
{
    return fake.costs && strcmp(name, "CONCEDE_COSTS") == 0 ? fake.costs : NULL;
}

/* The descriptors 0 and 1, which no object takes for "none". */
int cc_os_bell_create_(int ends[2])
{
    fake.bells++;
    ends[0] = 0;
    ends[1] = 1;
    return fake.bell_error;
}

void cc_os_bell_ring_(int write_end)
{
    if (write_end == 1) fake.rings++;
}

void cc_os_bell_empty_(int read_end)
{
    if (read_end == 0) fake.emptied++;
}

void cc_os_bell_close_(int read_end, int write_end)
{
    if (read_end == 0 && write_end == 1) fake.bells_closed++;
}

uint32_t cc_os_forks_(void)
{
    return 0;
}

#define CC_OS_HAS_SEQUENCES_
#define CC_OS_HAS_SB_
#define CC_OS_HAS_BELL_
#include "os_none.h"
