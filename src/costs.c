/* costs.c: measures what waiting costs here. Each cost is measured when it is first needed, so that a caller who needs
 * one does not pay for the others. */
#include "costs.h"

#include <concede/atomic.h>
#include <string.h>

#include "os.h"
#include "pause.h"

/* A field is 0 until its cost is known. It goes from 0 to its value once, by a compare-and-swap of whoever measured
 * first; after that only `wake_ns` and `cpus` move, unless they were given. */
static cc_costs_t costs_;

/* The CPUs that our threads may run on; 0: not asked yet. `cpus` is this number, or the quota of the container if that
 * is less. */
static uint32_t runnable_;

static uint32_t first_wake_ns_;  /* the estimate before any sleep */
static uint32_t wake_is_given_;  /* by cc_costs_set() or the environment: not refined */
static uint32_t cpus_are_given_; /* likewise: not asked for again */
static uint32_t is_prepared_;    /* the pause was chosen and CONCEDE_COSTS was read */

/* Stores a cost, unless another thread was first. It looks before it swaps, because a swap counts as a write to
 * ThreadSanitizer even if it fails, and whoever has the answer of cc_costs() may read it at any time. */
static void settle_(uint32_t *cost, uint32_t value)
{
    uint32_t unknown = cc_load_relaxed(cost); /* relaxed: the swap decides */
    if (unknown != 0) return;
    cc_cas_release(cost, &unknown, value); /* [costs.ready] pairs with the loads in known_() */
}

static uint64_t within_(uint64_t value, uint64_t min, uint64_t max)
{
    if (value < min) return min;
    return value < max ? value : max;
}

/* ---- what was given --------------------------------------------------------------------------------------------- */

static uint32_t *field_(cc_costs_t *costs, size_t i)
{
    uint32_t *const fields[] = { &costs->pause_ps, &costs->yield_ns, &costs->wake_ns, &costs->cpus };
    return fields[i];
}
static const char *const names_[] = { "pause_ps=", "yield_ns=", "wake_ns=", "cpus=" };
enum { FIELDS = 4 };

/* Takes the costs that are not 0. Only cc_costs_set() replaces what is known: its contract says that no other thread
 * uses the library yet. */
static void give_(cc_costs_t given, bool replaces)
{
    for (size_t i = 0; i < FIELDS; i++) {
        uint32_t value = *field_(&given, i);
        if (value == 0) continue;
        if (replaces) cc_store_relaxed(field_(&costs_, i), 0); /* relaxed, all: each is a number by itself */
        settle_(field_(&costs_, i), value);
    }
    if (given.wake_ns != 0) cc_store_relaxed(&wake_is_given_, 1);
    if (given.cpus != 0) {
        cc_store_relaxed(&runnable_, given.cpus);
        cc_store_relaxed(&cpus_are_given_, 1);
    }
}

/* Reads a decimal number and moves past it. One that does not fit is 0, and then that cost is measured. */
static uint32_t number_(const char **text)
{
    uint64_t value = 0;
    for (; **text >= '0' && **text <= '9'; ++*text)
        if (value <= UINT32_MAX) value = value * 10 + (uint64_t)(**text - '0');
    return value <= UINT32_MAX ? (uint32_t)value : 0;
}

/* Reads "pause_ps=32000,wake_ns=29000", in any order. Names that we do not know are skipped. */
static cc_costs_t parse_(const char *text)
{
    cc_costs_t given = { 0, 0, 0, 0 };
    while (*text) {
        for (size_t i = 0; i < FIELDS; i++) {
            const char *number = text + strlen(names_[i]);
            if (strncmp(text, names_[i], strlen(names_[i])) != 0) continue;
            uint32_t value = number_(&number);
            if (*number == 0 || *number == ',') *field_(&given, i) = value;
        }
        text += strcspn(text, ",");
        if (*text == ',') text++;
    }
    return given;
}

/* Does what must come before the first measurement: the pause is chosen, because its cost depends on that, and the
 * environment is read, because what it gives need not be measured. Threads that come at the same time all do it, with
 * the same result. */
static void prepare_(void)
{
    if (cc_load_relaxed(&is_prepared_)) return; /* relaxed: a thread that misses it prepares again */
    cc_pause_choose_();
    const char *text = cc_os_environment_("CONCEDE_COSTS");
    if (text) give_(parse_(text), false);
    cc_store_relaxed(&is_prepared_, 1); /* relaxed: what was given is found by the swap in settle_() */
}

void cc_costs_set(const cc_costs_t *costs)
{
    if (!costs) return;
    prepare_();
    give_(*costs, true);
}

/* ---- what is measured ------------------------------------------------------------------------------------------- */

/* How long one call takes, in nanoseconds: the shortest of three, so that an interrupt in one of them does no harm. */
static uint64_t shortest_(void (*measured)(void))
{
    uint64_t shortest = UINT64_MAX;
    uint64_t before = cc_os_now_();
    for (int i = 0; i < 3; i++) {
        measured();
        uint64_t after = cc_os_now_();
        if (after - before < shortest) shortest = after - before;
        before = after;
    }
    return shortest;
}

/* How many of each are measured at a time. They take a few times as long as reading the clock (29 ns on AMD Zen 4 under
 * KVM, where a pause takes 32 ns, a system call 215 ns and a yield 700 ns), and all together less than 30 us where a
 * pause takes 140 ns. */
enum { PAUSES = 64, SYSTEM_CALLS = 4, YIELDS = 2 };

static void pauses_(void)
{
    for (int i = 0; i < PAUSES; i++) cc_pause();
}

static uint32_t measure_pause_ps_(void)
{
    uint64_t ns = within_(shortest_(pauses_), 0, UINT32_MAX);
    return (uint32_t)within_(ns * 1000 / PAUSES, 1, UINT32_MAX);
}

static void system_calls_(void)
{
    for (int i = 0; i < SYSTEM_CALLS; i++) cc_os_wake_(&first_wake_ns_, 1); /* nobody ever sleeps on this word */
}

/* A wake-up that nobody measured yet is taken for 100 times a system call that does nothing: 215 ns and 20 to 30 us on
 * a virtual machine (AMD Zen 4, KVM), 70 ns and 5 us on bare metal. The first real sleeps correct it. */
enum { WAKE_IN_SYSTEM_CALLS = 100 };

/* The bounds of what a wake-up is taken to cost. They only keep a clock that stands still, or jumps, from deciding. */
enum { WAKE_MIN_NS = 2000, WAKE_MAX_NS = 1000000 };

static uint32_t measure_wake_ns_(void)
{
    uint64_t calls_ns = within_(shortest_(system_calls_), 0, WAKE_MAX_NS);
    uint32_t wake = (uint32_t)within_(calls_ns * WAKE_IN_SYSTEM_CALLS / SYSTEM_CALLS, WAKE_MIN_NS, WAKE_MAX_NS);
    cc_store_relaxed(&first_wake_ns_, wake); /* relaxed: it only bounds an estimate */
    return wake;
}

/* A yield that runs another thread takes as long as that thread likes, and says nothing about what a yield costs. With
 * nobody else to run it takes about 3 system calls (0.7 us on AMD Zen 4 under KVM), to a thread that yields back 17
 * (3.7 us), and to one that computes up to a whole time slice: so a yield that takes more than 8, and more than 2 us,
 * ran somebody. Measuring stops at the first of those, since the next would take as long; if there was no other, 3
 * system calls are the answer. */
enum { YIELD_IN_SYSTEM_CALLS = 3, YIELD_MAX_IN_SYSTEM_CALLS = 8, YIELD_ALONE_NS = 2000 };

static uint32_t measure_yield_ns_(void)
{
    uint64_t calls_ns = within_(shortest_(system_calls_), 0, WAKE_MAX_NS); /* the clock may have jumped */
    uint64_t max = within_(calls_ns * YIELD_MAX_IN_SYSTEM_CALLS / SYSTEM_CALLS, YIELD_ALONE_NS, UINT64_MAX);
    uint64_t shortest = UINT64_MAX;
    uint64_t before = cc_os_now_();
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < YIELDS; j++) cc_os_yield_();
        uint64_t after = cc_os_now_();
        uint64_t each = (after - before) / YIELDS;
        if (each > max) break;
        shortest = each < shortest ? each : shortest;
        before = after;
    }
    if (shortest == UINT64_MAX) shortest = calls_ns * YIELD_IN_SYSTEM_CALLS / SYSTEM_CALLS;
    return (uint32_t)within_(shortest, 1, UINT32_MAX);
}

/* ---- how many CPUs ---------------------------------------------------------------------------------------------- */

/* A program may start with all its threads on one CPU, ask, and spread them later. So the answer "one CPU" is asked for
 * again, but only now and then: asking takes 7.5 us then, and a yield 0.65 us (AMD EPYC under KVM), so that it adds a
 * hundredth to what the waits in between take. */
enum { ASK_AGAIN_AFTER = 1024 };

static uint32_t asked_;

static uint32_t lesser_(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t ask_for_runnable_(void)
{
    prepare_();
    if (cc_load_relaxed(&cpus_are_given_)) return cc_load_relaxed(&runnable_); /* relaxed, all: numbers on their own */
    uint32_t cpus = cc_os_cpus_();
    cc_store_relaxed(&runnable_, cpus);
    return cpus;
}

static uint32_t measure_cpus_(void)
{
    return lesser_(ask_for_runnable_(), cc_os_quota_());
}

static CC_COLD_ bool may_spin_slow_(void)
{
    uint32_t before = cc_load_relaxed(&runnable_); /* relaxed, all: numbers on their own */
    if (before != 0 && cc_load_relaxed(&cpus_are_given_)) return false;
    if (before != 0 && cc_fetch_add_relaxed(&asked_, 1) % ASK_AGAIN_AFTER != ASK_AGAIN_AFTER - 1) return false;
    uint32_t runnable = ask_for_runnable_();
    if (runnable > 1 && before == 1 && cc_load_relaxed(&costs_.cpus) == 1)
        cc_store_relaxed(&costs_.cpus, lesser_(runnable, cc_os_quota_()));
    return runnable > 1;
}

bool cc_costs_may_spin_(void)
{
    return CC_LIKELY_(cc_load_relaxed(&runnable_) > 1) || may_spin_slow_(); /* relaxed: a number on its own */
}

/* ---- asking ----------------------------------------------------------------------------------------------------- */

/* Returns one cost, and measures it if it is not known. If several threads measure at the same time, all use the first
 * result. */
static uint32_t known_(uint32_t *cost, uint32_t (*measure)(void))
{
    uint32_t value = cc_load_acquire(cost); /* [costs.ready] pairs with the swap in settle_() */
    if (CC_LIKELY_(value != 0)) return value;
    prepare_();
    if (cc_load_relaxed(cost) == 0) settle_(cost, measure()); /* relaxed: the swap decides */
    return cc_load_acquire(cost); /* [costs.ready] pairs with the swap of whoever was first */
}

const cc_costs_t *cc_costs(void)
{
    known_(&costs_.pause_ps, measure_pause_ps_);
    known_(&costs_.yield_ns, measure_yield_ns_);
    known_(&costs_.wake_ns, measure_wake_ns_);
    known_(&costs_.cpus, measure_cpus_);
    return &costs_;
}

uint32_t cc_costs_pause_ps_(void)
{
    return known_(&costs_.pause_ps, measure_pause_ps_);
}

uint32_t cc_costs_wake_ns_(void)
{
    return known_(&costs_.wake_ns, measure_wake_ns_);
}

uint32_t cc_costs_cpus_(void)
{
    return known_(&costs_.cpus, measure_cpus_);
}

bool cc_costs_are_known_(void)
{
    return cc_load_relaxed(&costs_.pause_ps) != 0; /* relaxed: cc_costs_pause_ps_() looks again */
}

bool cc_costs_has_many_cpus_(void)
{
    return cc_costs_cpus_() > CC_FEW_CPUS_;
}

bool cc_costs_has_quota_(void)
{
    uint32_t cpus = cc_costs_cpus_();
    return cpus < cc_load_relaxed(&runnable_); /* relaxed: a number on its own */
}

/* A quarter of a wake-up. With a quota of one CPU and a message every 3 us, 1:1 and 1:4 carry 1.04 to 1.17 times as
 * much as with a half, and with an eighth no more than that (channel.map on 2 CPUs of AMD EPYC under KVM). */
uint64_t cc_costs_spin_limit_ns_(void)
{
    return cc_costs_has_quota_() ? cc_costs_wake_ns_() / 4 : UINT64_MAX;
}

/* Follows the wake-ups: an eighth of the way down after a quicker one, and up by a 64th of its value after a slower
 * one, however long that took, because a long one tells of a busy CPU and not of what waking costs. So it settles near
 * the median: 46 to 62 % of the wake-ups were quicker than its mean, in each of four series of 2,000 to 20,000 on AMD
 * Zen 4 under KVM, with medians from 3 to 26 us; with a 16th it would be 58 to 75 %. It is there after some twenty
 * wake-ups if it was too high, and doubles in 45. Twice the first estimate is the most, so that a machine that is busy
 * all along does not make waits spin for ever longer. */
void cc_costs_woken_(uint64_t ns)
{
    if (cc_load_relaxed(&wake_is_given_)) return; /* relaxed, all: an estimate; a lost update does no harm */
    uint32_t old = cc_costs_wake_ns_();
    uint64_t max = 2 * (uint64_t)cc_load_relaxed(&first_wake_ns_);
    uint64_t wake = ns < old ? old - (old - ns) / 8 : old + (uint64_t)old / 64;
    cc_store_relaxed(&costs_.wake_ns, (uint32_t)within_(wake, WAKE_MIN_NS, max));
}
