/* backoff.h: how long to wait before trying again.
 *
 * A lock-free retry backs off with spin; it never gives the CPU away:
 *
 *     cc_backoff_t backoff = CC_BACKOFF_INIT;
 *     uint64_t old = cc_load_relaxed(&word);
 *     while (!cc_cas_weak_relaxed(&word, &old, old * 3)) {
 *         cc_backoff(&backoff);
 *         old = cc_load_relaxed(&word);            // what the failed swap saw is old by now
 *     }
 *
 * A wait for another thread snoozes, and sleeps once snoozing is no longer worth it:
 *
 *     cc_backoff_t backoff = CC_SNOOZE_INIT;
 *     while (!cc_load_acquire(&ready)) {
 *         if (cc_backoff_is_completed(&backoff)) sleep_until_told(); else cc_backoff_snooze(&backoff);
 *     }
 *
 * A thread that meets contention again and again keeps its backoff and eases it, so that the next wait starts near what
 * the last one called for; a success at the first try costs nothing. For a word that threads hammer, start it long, so
 * that the winner has the line to itself for a while, and let it grow with the CPUs that may want the word, so that
 * their tries together use up no more of the line's time than two of them would:
 *
 *     cc_backoff_t kept;
 *     cc_backoff_init_ns(&kept, 500, 2500 * cc_costs()->cpus);    // once in each thread
 *     if (tries > 1) cc_backoff_ease(&kept);                      // after each operation
 *
 * (2.5 us for each CPU: with that `concede simulate cas` keeps four fifths of the rate at 8 CPUs up to 256 of them, and
 * with 1 us it does not; `concede bench cas` on 2 CPUs of AMD Zen 4 is no slower than with 2 us in all.)
 *
 * One progression, in two vocabularies. In pauses: `current` goes min, 2*min, 4*min ... max and stays there. In steps
 * (spin_limit 6, yield_limit 10): step s <= 6 spins 2^s pauses, a snooze at steps 7..10 yields, step 11 is completed.
 *
 *     snooze number   1   2   3   4   5   6   7 |  8   9  10  11 | 12
 *     step before     0   1   2   3   4   5   6 |  7   8   9  10 | 11
 *     does            1   2   4   8  16  32  64 |  yield each    | yield, is_completed() == true
 *
 * Nothing is allocated and nothing is shared: one per thread, on the stack. All functions may be called in any order,
 * on any values; min 0 acts as 1 and a max below min acts as min. An object that is all zero acts as CC_SNOOZE_INIT if
 * its first wait is a snooze, else as CC_BACKOFF_INIT. Where only one CPU is usable a snooze yields instead of
 * spinning. With CC_FREESTANDING defined there is no OS: past the spin phase a snooze goes on doubling (128, 256, 512,
 * 1024 in the table above) instead of yielding. */
#ifndef CONCEDE_BACKOFF_H
#define CONCEDE_BACKOFF_H

#include <concede/pause.h>
#if !defined(CC_FREESTANDING)
#include <concede/costs.h>
#endif

CC_BEGIN_DECLS

typedef struct cc_backoff {
    uint32_t current;    /* pauses that the next spin executes */
    uint32_t min, max;   /* current starts at min, doubles, and stops at max */
    uint32_t yields;     /* 0 while spinning; n+1 after n yields */
    uint32_t max_yields; /* yields after which waiting on is no longer worth it */
} cc_backoff_t;

CC_STATIC_ASSERT_(sizeof(cc_backoff_t) == 20, "five numbers of 32 bits, in this order, on every machine");

/* For a CAS loop: up to 1024 pauses, which take 4 to 60 us. On 2 CPUs of AMD Zen 4 256 do as well, and 4096 lose 6 %
 * (`concede bench cas.fetch_mul`); but with 256 `concede simulate cas -m xeon-2x32 --cpus 64` has a fifth of the rate.
 */
/* clang-format off */
#define CC_BACKOFF_INIT { 1, 1, 1024, 0, 4 }
#define CC_SNOOZE_INIT { 1, 1, 64, 0, 4 } /* for a wait: the step form's defaults */
/* clang-format on */

/* In steps: the last that spins and the last that yields, so that yield_limit - spin_limit is the object's
 * max_yields. 0 is the default: spin_limit 6, yield_limit 4 above the spin_limit, as in crossbeam's Backoff. */
typedef struct cc_backoff_options {
    uint32_t spin_limit, yield_limit;
} cc_backoff_options_t;

CC_STATIC_ASSERT_(sizeof(cc_backoff_options_t) == 8, "two numbers of 32 bits, in this order, on every machine");

/* clang-format off */
#define CC_BACKOFF_OPTIONS_INIT { 6, 10 }
/* clang-format on */

#if defined(CC_FREESTANDING)
/* There is no clock to measure a pause by, so cc_backoff_init_ns() assumes that it takes this many picoseconds. Define
 * it as what yours takes; the default lies between the 4 and 60 ns of CPUs in use today. */
#if !defined(CC_PAUSE_PS)
#define CC_PAUSE_PS 40000
#endif
#define cc_backoff_pause_ps_() ((uint32_t)CC_PAUSE_PS)
#else
#define cc_backoff_pause_ps_() cc_costs_pause_ps_()
CC_API void cc_os_yield_(void);
#endif

/* Starts at min pauses, doubles to max; max_yields 4. */
CC_INLINE_ void cc_backoff_init(cc_backoff_t *b, uint32_t min, uint32_t max)
{
    min = min ? min : 1;
    max = max < min ? min : max;
    b->current = b->min = min;
    b->max = max;
    b->yields = 0;
    b->max_yields = 4;
}

/* The step form; NULL: the defaults. A spin_limit above 20 acts as 20, because 2^20 pauses take 4 to 60 ms, which is a
 * time slice or more; one above yield_limit acts as yield_limit. */
CC_INLINE_ void cc_backoff_init_options(cc_backoff_t *b, const cc_backoff_options_t *options)
{
    uint32_t spin_limit = options && options->spin_limit ? options->spin_limit : 6;
    spin_limit = spin_limit < 20 ? spin_limit : 20;
    uint32_t yield_limit = options && options->yield_limit ? options->yield_limit : spin_limit + 4;
    spin_limit = spin_limit < yield_limit ? spin_limit : yield_limit;
    cc_backoff_init(b, 1, UINT32_C(1) << spin_limit);
    b->max_yields = yield_limit - spin_limit;
}

/* Pauses that take about this long here: at least 1. A pause that costs next to nothing counts as 1/4 ns, one cycle at
 * 4 GHz, which is what the loop around it takes at the least; so no time turns into endless spinning. */
CC_INLINE_ uint32_t cc_backoff_pauses_(uint64_t ns)
{
    uint32_t pause_ps = cc_backoff_pause_ps_();
    uint64_t ps = ns < UINT64_MAX / 1000 ? ns * 1000 : UINT64_MAX;
    uint64_t pauses = ps / (pause_ps > 250 ? pause_ps : 250);
    return pauses == 0 ? 1 : pauses < UINT32_MAX ? (uint32_t)pauses : UINT32_MAX;
}

/* From min_ns to max_ns, in pauses of the measured cost; max_yields 4. The first call in a process measures. */
CC_INLINE_ void cc_backoff_init_ns(cc_backoff_t *b, uint64_t min_ns, uint64_t max_ns)
{
    cc_backoff_init(b, cc_backoff_pauses_(min_ns), cc_backoff_pauses_(max_ns));
}

/* Makes an object that is all zero the default before its first wait. */
CC_INLINE_ CC_FLAT_ void cc_backoff_fill_(cc_backoff_t *b, uint32_t max)
{
    if ((b->current | b->min | b->max | b->yields | b->max_yields) == 0) cc_backoff_init(b, 1, max);
}

/* One step of the progression; past max, spinning is exhausted. */
CC_INLINE_ CC_FLAT_ void cc_backoff_advance_(cc_backoff_t *b)
{
    uint32_t min = b->min ? b->min : 1;
    uint32_t max = b->max > min ? b->max : min;
    uint32_t current = b->current > min ? b->current : min;
    b->yields += current >= max && b->yields == 0;
    b->current = current > max / 2 ? max : current * 2;
}

CC_INLINE_ CC_FLAT_ void cc_backoff_pause_(uint32_t pauses)
{
    for (pauses = pauses ? pauses : 1; pauses != 0; pauses--) cc_pause();
}

/* For a lock-free retry: spins `current` pauses and doubles them, up to max. Never yields and never completes a wait:
 * at max it goes on with max pauses. */
CC_INLINE_ CC_FLAT_ void cc_backoff_spin(cc_backoff_t *b)
{
    cc_backoff_fill_(b, 1024);
    uint32_t pauses = b->current;
    cc_backoff_advance_(b); /* before the pauses, so that the caller's next try follows the last pause at once */
    cc_backoff_pause_(pauses);
}

/* The same as cc_backoff_spin(). */
CC_INLINE_ CC_FLAT_ void cc_backoff(cc_backoff_t *b)
{
    cc_backoff_spin(b);
}

#if defined(CC_FREESTANDING)
/* There is nobody to yield to: each yield of the progression is a spin twice as long as the one before it, up to 2^20
 * pauses (the largest spin_limit) or max if that is more. */
CC_INLINE_ void cc_backoff_yield_(const cc_backoff_t *b)
{
    uint32_t doublings = b->yields < b->max_yields ? b->yields : b->max_yields;
    uint32_t pauses = b->current;
    for (; doublings != 0 && pauses <= UINT32_C(1) << 19; doublings--) pauses = pauses ? pauses * 2 : 1;
    cc_backoff_pause_(pauses);
}
#define cc_backoff_may_spin_() true
#else
#define cc_backoff_yield_(b)   cc_os_yield_()
#define cc_backoff_may_spin_() cc_costs_may_spin_()
#endif

/* For a wait: spins as cc_backoff_spin() does; once that is exhausted, yields the CPU. */
CC_INLINE_ void cc_backoff_snooze(cc_backoff_t *b)
{
    cc_backoff_fill_(b, 64);
    if (b->yields == 0 && cc_backoff_may_spin_())
        cc_backoff_pause_(b->current);
    else
        cc_backoff_yield_(b);
    if (b->yields == 0)
        cc_backoff_advance_(b);
    else if (b->yields <= b->max_yields && b->yields != UINT32_MAX)
        b->yields++;
}

/* The next number of a small generator (xorshift32), uniform in 1..UINT32_MAX. 0 is no valid state, and acts as a
 * seed. */
CC_INLINE_ uint32_t cc_backoff_random_(uint32_t *rng)
{
    uint32_t x = *rng ? *rng : UINT32_C(0x9e3779b9);
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return *rng = x;
}

/* A number in 1..range, each as likely: numbers past the last whole multiple of the range are drawn again. */
CC_INLINE_ uint32_t cc_backoff_random_up_to_(uint32_t *rng, uint32_t range)
{
    uint32_t number;
    do number = cc_backoff_random_(rng) - 1;
    while (number >= UINT32_MAX - UINT32_MAX % range);
    return number % range + 1;
}

/* Like cc_backoff_spin(), with 1..current pauses, uniformly random. `rng` is the caller's, one per thread, any value;
 * two threads that start from different values do not retry in step. */
CC_INLINE_ CC_FLAT_ void cc_backoff_jitter(cc_backoff_t *b, uint32_t *rng)
{
    cc_backoff_fill_(b, 1024);
    cc_backoff_pause_(cc_backoff_random_up_to_(rng, b->current ? b->current : 1));
    cc_backoff_advance_(b);
}

/* One doubling back, down to min, and clears the yields: for a backoff kept between operations, after a success that
 * had to wait. */
CC_INLINE_ void cc_backoff_ease(cc_backoff_t *b)
{
    b->current = b->current / 2 > b->min ? b->current / 2 : b->min;
    b->yields = 0;
}

/* Whether waiting on is no longer worth it: park, or use a lock, or report. */
CC_INLINE_ bool cc_backoff_is_completed(const cc_backoff_t *b)
{
    return b->yields > b->max_yields;
}

/* Doublings so far while spinning; past that, spin_limit + 1 + the yields so far. */
CC_INLINE_ uint32_t cc_backoff_step(const cc_backoff_t *b)
{
    uint64_t pauses = b->min ? b->min : 1;
    uint64_t reached = b->yields ? b->max : b->current;
    uint32_t step = 0;
    for (; pauses < reached; pauses *= 2) step++;
    return step + b->yields;
}

/* Back to min and step 0. */
CC_INLINE_ void cc_backoff_reset(cc_backoff_t *b)
{
    b->current = b->min;
    b->yields = 0;
}

CC_END_DECLS

#endif
