/* time.c: ticks, work that takes a known time, and waiting for a time to come. See bench.h. */
#include "engine.h"
#include "host.h"
#include <concede/deadline.h>

bench_clock bench_time;

uint64_t bench_ticks_call(void)
{
    return bench_ticks();
}

__attribute__((noinline)) void bench_work_turns(uint32_t turns)
{
    uint64_t x = turns;
    bench_serialize();
    for (; turns != 0; turns--) {
        x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        __asm__ __volatile__("" : "+r"(x));
    }
    bench_serialize();
}

/* ns of one piece of work. */
static double work_time(uint32_t turns)
{
    enum { PIECES = 2000 };
    double best = 0;
    for (int i = 0; i < 20; i++) {
        uint64_t before = bench_ticks();
        for (int k = 0; k < PIECES; k++) bench_work(turns);
        double ns = (double)(bench_ticks() - before) / bench_time.ticks_per_ns / PIECES;
        if (best <= 0 || ns < best) best = ns;
    }
    return best;
}

void bench_time_start(void)
{
    if (bench_time.ticks_per_ns > 0) return;
    bench_time.ticks_per_ns = 1;
#if defined(CC_ARCH_X86_64) || defined(CC_ARCH_X86)
    host_t host;
    host_describe(&host);
    if (host.tsc_invariant) {
        bench_time.tsc = 1;
        uint64_t ns = cc_now_ns(), ticks = bench_ticks(), ns_end;
        while ((ns_end = cc_now_ns()) < ns + 10000000) {}
        bench_time.ticks_per_ns = (double)(bench_ticks() - ticks) / (double)(ns_end - ns);
    }
#endif
    enum { READS = 20000 };
    uint64_t start = bench_ticks(), last = start, step = UINT64_MAX;
    for (int i = 0; i < READS; i++) {
        uint64_t next = bench_ticks();
        if (next != last && next - last < step) step = next - last;
        last = next;
    }
    bench_time.overhead_ns = (double)(last - start) / READS / bench_time.ticks_per_ns;
    bench_time.step_ns = (double)step / bench_time.ticks_per_ns;
    /* Many short pieces, as the loops do it; the best of several, as others may interrupt. */
    double few = work_time(10), many = work_time(110);
    bench_time.work_per_ns = many > few ? 100 / (many - few) : 1;
    bench_time.work_ns = few - 10 / bench_time.work_per_ns;
}

uint32_t bench_turns(double ns)
{
    double turns = (ns - bench_time.work_ns) * bench_time.work_per_ns;
    return ns <= 0 ? 0 : turns < 1 ? 1 : (uint32_t)turns;
}

uint64_t bench_pace_sleeps_from_ns;
bool bench_pace_yields;

static _Thread_local double idle_ns;

double bench_idle_ns(void)
{
    return idle_ns;
}

/* Spins, or yields, until it is `due`, and returns the time. A step that took long is one in which the thread did not
 * run: no more than the start of it counts. (To ask for the CPU time itself would take as long as a message does.) */
static uint64_t idle_until(uint64_t due, uint64_t now)
{
    const uint64_t longest = (uint64_t)((1000 + 10 * bench_time.overhead_ns) * bench_time.ticks_per_ns);
    uint64_t idle = 0;
    while (now < due) {
        uint64_t before = now;
        if (bench_pace_yields)
            sched_yield();
        else
            cc_pause();
        now = bench_ticks();
        idle += now - before < longest ? now - before : longest;
    }
    idle_ns += (double)idle / bench_time.ticks_per_ns;
    return now;
}

/* Waits until it is `due`, and returns the time; *woke becomes that, too, if the thread gave its CPU away. */
static uint64_t wait_until(uint64_t due, uint64_t *woke)
{
    uint64_t now = bench_ticks();
    if (now >= due) return now;
    double wait_ns = (double)(due - now) / bench_time.ticks_per_ns;
    if (wait_ns > (double)bench_pace_sleeps_from_ns) {
        double cpu = host_thread_cpu_ns();
        host_sleep((uint64_t)wait_ns);
        idle_ns += host_thread_cpu_ns() - cpu;
        return *woke = bench_ticks();
    }
    now = idle_until(due, now);
    if (bench_pace_yields) *woke = now;
    return now;
}

static bool is_long_ago(uint64_t due, uint64_t now)
{
    return now > due && (double)(now - due) > 1e6 * bench_time.ticks_per_ns;
}

uint64_t bench_pace(uint64_t *due)
{
    uint64_t woke = 0, now = wait_until(*due, &woke);
    if (woke != 0 || is_long_ago(*due, now)) *due = now;
    return *due;
}

uint64_t bench_offer(uint64_t *due, uint64_t *woke)
{
    uint64_t now = wait_until(*due, woke);
    if (is_long_ago(*due, now)) *due = now;
    return *due > *woke ? *due : *woke;
}
