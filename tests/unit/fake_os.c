/* fake_os.c: see fake_os.h. */
#include "fake_os.h"

#include <concede/arch.h>
#include <concede/costs.h>

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

void fake_start_with_quota(uint32_t quota)
{
    fake_start();
    fake.pause_ps = 40000;
    fake.quota = quota;
    ((cc_costs_t *)cc_costs())->cpus = 0; /* not known yet */
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

/* ---- Segments ---------------------------------------------------------------------------------------------------- */

int cc_os_segment_create_(const char *name, size_t bytes, int *own, int *handed_on)
{
    (void)bytes;
    if (!fake.has_segments || name) return ENOSYS;
    *own = 0;
    *handed_on = 1;
    return 0;
}

int cc_os_segment_open_(const char *name, int descriptor, int *own, uint64_t *bytes)
{
    (void)name, (void)descriptor, (void)own, (void)bytes;
    return ENOSYS;
}

int cc_os_segment_unlink_(const char *name)
{
    (void)name;
    return ENOSYS;
}

void cc_os_segment_close_(int own)
{
    (void)own;
}

void *cc_os_segment_map_(int own, size_t header, size_t gap, size_t bytes)
{
    static CC_ALIGNED_(CC_CACHE_LINE) unsigned char memory[1 << 18];
    (void)own, (void)header;
    return bytes + gap <= sizeof memory ? memset(memory, 0, sizeof memory) : NULL;
}

void cc_os_segment_unmap_(void *mapping, size_t gap, size_t bytes)
{
    (void)mapping, (void)gap, (void)bytes;
}

int cc_os_segment_place_locks_(int own, uint64_t *where)
{
    (void)own;
    *where = 0;
    return 0;
}

int cc_os_segment_find_locks_(int own, uint64_t where)
{
    (void)own, (void)where;
    return ENOSYS;
}

bool cc_os_segment_lock_(int own, uint32_t number)
{
    return cc_os_segment_lock_shared_(own, number);
}

bool cc_os_segment_lock_shared_(int own, uint32_t number)
{
    (void)own;
    fake.locks++;
    if (fake.on_lock) fake.on_lock();
    return !(fake.others_locks >> number & 1);
}

void cc_os_segment_unlock_(int own, uint32_t number)
{
    (void)own, (void)number;
}

int cc_os_wait_shared_(const uint32_t *word, uint32_t expected, uint64_t deadline)
{
    return cc_os_wait_(word, expected, deadline);
}

/* On its last word only, and nobody wakes it elsewhere. */
int cc_os_wait_several_(const cc_os_word_t *words, size_t count, uint64_t deadline)
{
    return cc_os_wait_(words[count - 1].word, words[count - 1].expected, deadline);
}

uint32_t cc_os_wake_shared_(const uint32_t *word, uint32_t count)
{
    cc_os_wake_(word, count);
    return 1;
}

bool cc_os_membarrier_shared_register_(void)
{
    return fake.has_segments;
}

bool cc_os_membarrier_shared_(void)
{
    return cc_os_membarrier_();
}

#define CC_OS_HAS_SEGMENTS_
#define CC_OS_HAS_WAIT_SEVERAL_
#define CC_OS_HAS_SEQUENCES_
#define CC_OS_HAS_SB_
#define CC_OS_HAS_BELL_
#include "os_none.h"
