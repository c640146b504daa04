/* costs.c: measures what waiting costs, once, in under 200 us. */
#include "costs.h"

#include <concede/atomic.h>
#include <concede/backoff.h>
#include <concede/costs.h>
#include <concede/deadline.h>

#include "os.h"

/* state     who moves it                                  what it says
 * UNKNOWN   -> BUSY, the first thread that has measured    costs_ holds nothing
 * BUSY      -> KNOWN, the same thread, or one that has     costs_ is being written
 *           waited too long
 * KNOWN                                                    costs_ may be read; wake_ns and cpus still move, atomically
 * cc_costs_set() goes to KNOWN directly: by contract nobody else is there yet. */
enum { UNKNOWN, BUSY, KNOWN };
static uint32_t state_;
static cc_costs_t costs_;
static uint32_t first_wake_ns_; /* the estimate before any sleep */
static uint32_t is_set_;        /* by the caller: nothing is refined */

/* Where a wake-up was not measured yet it is taken for 100 times a system call that does nothing: 215 ns and 20 to 30 us
 * on a virtual machine (AMD Zen 4, KVM), 70 ns and 5 us on bare metal. The first real sleeps correct it. */
enum { WAKE_IN_SYSCALLS = 100, WAKE_MIN_NS = 2000, WAKE_MAX_NS = 1000000 };

/* The shortest of a few batches, in picoseconds for one, so that an interrupt in one of them does no harm. Stops early
 * when the time is up: a yield can take milliseconds on a busy CPU. */
static uint32_t shortest_ps_(void (*batch)(void), uint32_t per_batch, uint64_t give_up)
{
    uint64_t shortest = UINT64_MAX, before = cc_os_now_();
    for (int i = 0; i < 3 && (i == 0 || before < give_up); i++) {
        batch();
        uint64_t after = cc_os_now_();
        if (after - before < shortest) shortest = after - before;
        before = after;
    }
    uint64_t ps = shortest < UINT32_MAX ? shortest * 1000 / per_batch : UINT32_MAX;
    return ps == 0 ? 1 : ps < UINT32_MAX ? (uint32_t)ps : UINT32_MAX;
}

uint32_t cc_pause_sb_;

/* Before anything is measured or waits: what a pause takes depends on it. */
static void choose_pause_(void)
{
    if (cc_os_has_sb_()) cc_store_relaxed(&cc_pause_sb_, 1); /* relaxed: a hint, and all threads store the same */
}

enum { PAUSES = 64, YIELDS = 2, SYSCALLS = 4 };

static void pauses_(void)
{
    cc_backoff_pause_(PAUSES);
}

static void yields_(void)
{
    for (int i = 0; i < YIELDS; i++) cc_os_yield_();
}

static void syscalls_(void)
{
    for (int i = 0; i < SYSCALLS; i++) cc_os_wake_(&is_set_, 1); /* nobody ever sleeps there */
}

static cc_costs_t measure_(void)
{
    cc_costs_t c;
    uint64_t start = cc_os_now_();
    choose_pause_();
    c.cpus = cc_os_cpus_();
    c.pause_ps = shortest_ps_(pauses_, PAUSES, start + 80000);
    c.yield_ns = shortest_ps_(yields_, YIELDS, start + 120000) / 1000;
    uint64_t wake = (uint64_t)shortest_ps_(syscalls_, SYSCALLS, start + 140000) * WAKE_IN_SYSCALLS / 1000;
    c.wake_ns = wake < WAKE_MIN_NS ? WAKE_MIN_NS : wake < WAKE_MAX_NS ? (uint32_t)wake : WAKE_MAX_NS;
    return c;
}

static void publish_(cc_costs_t c)
{
    costs_.pause_ps = c.pause_ps ? c.pause_ps : 1;
    costs_.yield_ns = c.yield_ns ? c.yield_ns : 1;
    cc_store_relaxed(&costs_.cpus, c.cpus ? c.cpus : 1); /* relaxed, both: published by the next line */
    cc_store_relaxed(&costs_.wake_ns, c.wake_ns ? c.wake_ns : 1);
    first_wake_ns_ = c.wake_ns;
    cc_store_release(&state_, KNOWN); /* [costs.ready] pairs with the load in cc_costs() */
}

/* BUSY lasts some nanoseconds. In the child of a fork, where the thread that writes does not exist, it would last for ever,
 * and so it may where that thread has too low a priority to run: so after this many yields we write, too. */
enum { YIELDS_WHILE_BUSY = 1000 };

static CC_COLD_ void costs_slow_(uint32_t state)
{
    for (int i = 0; i < YIELDS_WHILE_BUSY && state == BUSY; i++) {
        cc_os_yield_();
        state = cc_load_relaxed(&state_); /* relaxed: cc_costs() looks again */
    }
    if (state == KNOWN) return;
    cc_costs_t measured = measure_(); /* before BUSY, so that nobody waits while we measure */
    if (cc_cas_relaxed(&state_, &state, BUSY)) publish_(measured); /* relaxed: there is nothing to see yet */
}

const cc_costs_t *cc_costs(void)
{
    uint32_t state;
    while (CC_UNLIKELY_((state = cc_load_acquire(&state_)) != KNOWN))
        costs_slow_(state); /* [costs.ready] with publish_() */
    return &costs_;
}

bool cc_costs_are_known_(void)
{
    return cc_load_relaxed(&state_) == KNOWN; /* relaxed: cc_costs() looks again */
}

void cc_costs_set(const cc_costs_t *costs)
{
    if (!costs) return;
    choose_pause_();
    cc_store_relaxed(&is_set_, 1); /* relaxed: only steers the estimates */
    publish_(*costs);
}

/* Follows the quicker wake-ups: down at once, up slowly, and never far from the first estimate. One that took long tells of
 * a busy CPU, not of what waking costs. */
void cc_costs_woken_(uint64_t ns)
{
    if (cc_load_relaxed(&is_set_)) return; /* relaxed, all: an estimate; a lost update does no harm */
    uint32_t old = cc_load_relaxed(&cc_costs()->wake_ns);
    uint64_t wake = ns < old ? old - (old - ns) / 8 : old + (uint64_t)old / 64;
    wake = wake > WAKE_MIN_NS ? wake : WAKE_MIN_NS;
    wake = wake < 2 * (uint64_t)first_wake_ns_ ? wake : 2 * (uint64_t)first_wake_ns_;
    cc_store_relaxed(&costs_.wake_ns, (uint32_t)wake);
}

/* A program may start with all threads on one CPU, ask, and spread them later: so one CPU is an answer to ask again for, but
 * seldom, because asking takes as long as some ten yields. */
enum { ASK_AGAIN_AFTER = 1024 };

static uint32_t asked_;

static CC_COLD_ bool ask_again_(void)
{
    if ((cc_fetch_add_relaxed(&asked_, 1) + 1) % ASK_AGAIN_AFTER != 0 || cc_load_relaxed(&is_set_))
        return false; /* relaxed: a count */
    uint32_t cpus = cc_os_cpus_();
    if (cpus > 1) cc_store_relaxed(&costs_.cpus, cpus); /* relaxed: a number on its own */
    return cpus > 1;
}

bool cc_costs_may_spin_(void)
{
    return CC_LIKELY_(cc_load_relaxed(&cc_costs()->cpus) > 1) || ask_again_(); /* relaxed: a number on its own */
}

uint64_t cc_now_ns(void)
{
    return cc_os_now_();
}
