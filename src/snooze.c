/* snooze.c: the policy of snooze.h. */
#include "snooze.h"

#include <concede/atomic.h>
#include <concede/backoff.h>

#include "costs.h"
#include "os.h"

uint64_t cc_snooze_allowed_ns_(uint64_t pays)
{
    uint64_t allowed = cc_costs_spin_limit_ns_();
    return pays < allowed ? pays : allowed;
}

/* A wake-up takes `wake_ns` to arrive, about half of it work (`concede info` on AMD Zen 3 under KVM: 35 us, of which 11
 * us in the waker and 10 us in the woken). By that alone half of it would be enough. But two sides that answer each
 * other and fell asleep once find back only if each spins for as long as the other takes to wake up, and that is what
 * is left of `wake_ns` after the call that woke it: about three quarters. */
static uint64_t pays_ns_(void)
{
    return cc_costs_wake_ns_() * UINT64_C(3) / 4;
}

uint64_t cc_snooze_spin_limit_ns_(void)
{
    return cc_snooze_allowed_ns_(pays_ns_());
}

uint32_t cc_snooze_spin_limit_(void)
{
    return cc_backoff_pauses_(cc_snooze_spin_limit_ns_());
}

/* The first wait does what eight snoozes of CC_SNOOZE_INIT do: 127 pauses, which are 4 us where a pause takes 32 ns
 * (AMD Zen 4), and one yield. At most four yields follow each other, as in the step form of backoff.h. */
#if !defined(CC_SNOOZE_START_NS)
#define CC_SNOOZE_START_NS     4000
#define CC_SNOOZE_START_YIELDS 1
#endif
enum { YIELDS_MAX = 4 };

cc_snooze_t cc_snooze_start_(void)
{
    cc_snooze_t start = { cc_backoff_pauses_(CC_SNOOZE_START_NS), CC_SNOOZE_START_YIELDS };
    return start;
}

/* The factors were chosen with `concede bench channel.paced` on AMD Zen 3: a wait that pays grows slowly, by an eighth,
 * one that does not is halved, and a few short sleeps in a row lead back to spinning, while one alone may be chance, as
 * when the other side catches up. */
cc_snooze_t cc_snooze_learned_(cc_snooze_t planned, cc_ending_t ending, uint32_t spin_limit)
{
    uint64_t pauses = planned.pauses;
    uint32_t yields = planned.yields;
    switch (ending) {
    case CC_SPUN_: pauses += pauses / 8 + 1; break;
    case CC_YIELDED_:
        pauses += spin_limit / 8;
        yields = YIELDS_MAX;
        break;
    case CC_RAN_SOMEBODY_:
        pauses -= pauses / 8;
        yields = YIELDS_MAX;
        break;
    case CC_OVERTAKEN_: break;
    case CC_SLEPT_SHORT_:
        pauses = pauses * 4 + spin_limit / 64;
        yields = yields * 2 + 1;
        break;
    case CC_SLEPT_LONG_:
        pauses /= 2;
        yields /= 2;
        break;
    case CC_GATHERED_: pauses = yields = 0; break;
    }
    cc_snooze_t learned = { pauses < spin_limit ? (uint32_t)pauses : spin_limit,
                            yields < YIELDS_MAX ? yields : YIELDS_MAX };
    return learned;
}

cc_ending_t cc_snooze_slept_(cc_snooze_t planned, uint32_t asleep_at, uint32_t woken_at)
{
    uint64_t snoozed = (uint64_t)planned.pauses * cc_costs_pause_ps_() / 1000 + (uint64_t)planned.yields * CC_YIELD_NS_;
    uint64_t waited_ns = snoozed + (uint32_t)(woken_at - asleep_at);
    return waited_ns < cc_snooze_spin_limit_ns_() ? CC_SLEPT_SHORT_ : CC_SLEPT_LONG_;
}

/* Two words say whether the CPUs are busy, for the whole process. Times are in ticks of 2^20 ns, which is about a
 * millisecond; they wrap around after 52 days.
 *
 *   busy_for_  busy_until_     says                                                  who moves it
 *   0          0               nobody has lost its CPU for long lately               a loss -> the next row
 *   0          last loss       one loss, perhaps chance (a virtual CPU's host)       a second in BUSY_FIRST -> the next
 *   n          ahead of now    busy: waits sleep at once, for n                      the clock -> the next row
 *   n          up to n before  on trial: waits spin again, but do not yield          a loss -> busy for 2n
 *   n          longer ago      the trial is over                                     a wait -> the first row
 *
 * A process with more threads than CPUs takes its CPUs away from itself, and that is no reason to sleep: the one who
 * has the CPU gets on with the work. So a loss does not count if another of our threads was on that CPU meanwhile, or
 * if ours use up all CPUs.
 *
 * They may be two words, because nothing depends on their order: a thread that reads one old and one new sleeps or
 * spins once when it should not have. */
/* 64 ticks are some twenty time slices, so that two losses within them are no chance, and a trial that ends with a loss
 * has cost one slice in twenty. 1024 ticks are a second: a neighbour that stays costs a slice in 300, and once it goes
 * waits spin again within a second. */
enum { TICK_SHIFT = 20, BUSY_FIRST = 64, BUSY_MAX = 1024 };
static uint32_t busy_for_, busy_until_;

static uint32_t tick_(uint64_t now)
{
    return (uint32_t)(now >> TICK_SHIFT);
}

/* Ticks from `then` to `now`; negative if it is still to come. */
static int32_t since_(uint32_t then, uint32_t now)
{
    return (int32_t)(now - then);
}

/* Threads that run without ever waiting are seen nowhere. But where the CPU time of all our threads together comes near
 * to what all CPUs have, there is no room for a neighbour. That is looked at when a CPU is lost, once in so many ticks,
 * because the time may be some of them behind (4 ms for each CPU, at 250 timer interrupts a second). Ours are all of
 * them from four fifths on: a neighbour on each CPU takes half of it, and the time that is behind is a quarter of the
 * shortest window. After a long while without a loss there is nothing to go by, and nobody knows whose the CPUs are
 * until it is looked at again. */
enum { WINDOW = 16, WINDOW_MAX = 16 * WINDOW };
static uint32_t sampled_at_, sampled_, whose_cpus_;

static uint32_t whose_(void)
{
    return cc_load_relaxed(&whose_cpus_); /* relaxed: a guess */
}

/* Who has used the CPUs lately, as far as is known. */
typedef enum { OTHERS, OURS, NOBODY_KNOWS } whose_t;

static whose_t look_whose_(uint64_t now)
{
    uint32_t at = tick_(now), window = at - cc_load_relaxed(&sampled_at_); /* relaxed, all: guesses */
    uint64_t cpu_time = window < WINDOW ? 0 : cc_os_cpu_time_();
    if (cpu_time == 0) return (whose_t)whose_(); /* too early, or the system does not tell */
    uint32_t sample = tick_(cpu_time), used = sample - cc_load_relaxed(&sampled_);
    whose_t whose = used >= (uint64_t)window * cc_costs_cpus_() * 4 / 5 ? OURS : OTHERS;
    if (window > WINDOW_MAX && cc_load_relaxed(&busy_for_) == 0) whose = NOBODY_KNOWS;
    cc_store_relaxed(&sampled_at_, at);
    cc_store_relaxed(&sampled_, sample);
    cc_store_relaxed(&whose_cpus_, (uint32_t)whose);
    return whose;
}

/* When one of our threads was last seen on each CPU, in units of 2^14 ns, a twelfth of CC_LOST_CPU_NS_, so that a line
 * that others read is written that often at most. They come by here when they wait or wake.
 * CPUs that are 64 apart share a word, which at worst takes a neighbour's doing for ours. */
enum { SEEN_SHIFT = 14, SEEN_CPUS = 64 };
static uint32_t seen_at_[SEEN_CPUS];

/* Which of our threads was last seen on each CPU, and when one came there after another: then they share the CPU. It is
 * taken for shared for a thousand units, which are 16 ms or some four time slices: long enough for threads that take
 * turns in slices. */
#if defined(CC_MODEL) /* a checker has no threads to tell apart, and a simulator knows */
#define shares_cpu_(cpu, now) ((void)(cpu), (void)(now), model_shares_cpu_())
#define note_who_(cpu, at)    ((void)(cpu), (void)(at))
#define is_another_here_(cpu) ((void)(cpu), false)
#else
#if !defined(CC_SNOOZE_SHARED_FOR)
#define CC_SNOOZE_SHARED_FOR 1024
#endif
static uint32_t seen_who_[SEEN_CPUS], shared_at_[SEEN_CPUS];

/* A number that no other thread has while this one lives. It is made of where the C library has errno, because that is
 * there from the beginning. Where this library was loaded by dlopen() a variable of ours could be allocated when it is
 * first used, and that may be in a release, which does not allocate. */
static uint32_t own_number_(void)
{
    return (uint32_t)((uintptr_t)&errno >> 3) | 1;
}

static bool is_lately_(uint32_t then, uint32_t at)
{
    return at - then < CC_SNOOZE_SHARED_FOR;
}

static void note_who_(uint32_t cpu, uint32_t at)
{
    uint32_t own = own_number_(), last = cc_load_relaxed(&seen_who_[cpu]); /* relaxed, all: guesses */
    if (CC_LIKELY_(own == last)) return;
    cc_store_relaxed(&seen_who_[cpu], own);
    if (last != 0 && is_lately_(cc_load_relaxed(&seen_at_[cpu]), at)) cc_store_relaxed(&shared_at_[cpu], at);
}

/* Whether another of our threads was seen on this CPU since this one was. So one who yields knows that it ran one of
 * ours, also if that has not been seen for as long as it took: a thread that sleeps for a lock is seen as it wakes up,
 * and not while it holds the lock. */
static bool is_another_here_(uint32_t cpu)
{
    return cc_load_relaxed(&seen_who_[cpu]) != own_number_(); /* relaxed: a guess */
}

static bool shares_cpu_(uint32_t cpu, uint64_t now)
{
    return is_lately_(cc_load_relaxed(&shared_at_[cpu]), (uint32_t)(now >> SEEN_SHIFT)); /* relaxed: a guess */
}
#endif

uint32_t cc_snooze_seen_(uint64_t now)
{
    uint32_t cpu = cc_os_cpu_() % SEEN_CPUS;
    uint32_t at = (uint32_t)(now >> SEEN_SHIFT);
    note_who_(cpu, at);
    if (cc_load_relaxed(&seen_at_[cpu]) != at) cc_store_relaxed(&seen_at_[cpu], at); /* relaxed, both: a guess */
    return cpu;
}

bool cc_snooze_is_yield_worth_it_(uint64_t now)
{
    return !cc_costs_may_spin_() || shares_cpu_(cc_snooze_seen_(now), now);
}

static bool is_own_doing_(uint32_t cpu, uint64_t began, uint64_t now)
{
    uint32_t seen_at = cc_load_relaxed(&seen_at_[cpu]); /* relaxed: a guess */
    return since_((uint32_t)(began >> SEEN_SHIFT), seen_at) > 0 || look_whose_(now) == OURS;
}

bool cc_snooze_lost_cpu_(uint32_t cpu, uint64_t began, uint64_t expected, uint64_t now)
{
    return CC_UNLIKELY_(now - began >= expected + CC_LOST_CPU_NS_) && !is_own_doing_(cpu, began, now);
}

/* `concede bench cas.yield` on AMD Zen 3: a yield with nobody else to run takes 0.6 us, one to a thread that yields
 * back 3.4 us, and one to a program that computes 1.5 to 4 ms, which is its time slice. */
enum { RAN_NOBODY_NS = 2000 };

cc_ending_t cc_snooze_yield_(uint64_t *now)
{
    uint64_t before = *now;
    uint32_t cpu = cc_snooze_seen_(before);
    cc_os_yield_();
    *now = cc_os_now_();
    if (cc_snooze_lost_cpu_(cpu, before, 0, *now) && !is_another_here_(cpu)) return CC_SLEPT_LONG_;
    return *now - before < RAN_NOBODY_NS ? CC_YIELDED_ : CC_RAN_SOMEBODY_;
}

void cc_snooze_note_loss_(uint64_t now)
{
    uint32_t tick = tick_(now);
    uint32_t length = cc_load_relaxed(&busy_for_); /* relaxed, all: guesses, see above */
    int32_t since = since_(cc_load_relaxed(&busy_until_), tick);
    bool on_trial = length != 0 && since >= 0 && since < (int32_t)length;
    if (length != 0 && since < 0) return; /* busy already: other threads were hit by the same neighbour */
    if (whose_() == NOBODY_KNOWS) return;
    if (on_trial)
        length = length < BUSY_MAX ? length * 2 : BUSY_MAX;
    else
        length = length == 0 && since >= 0 && since < BUSY_FIRST ? BUSY_FIRST : 0;
    cc_store_relaxed(&busy_for_, length);
    cc_store_relaxed(&busy_until_, tick + length);
}

void cc_snooze_woken_(uint32_t woken_at, uint64_t now)
{
    uint64_t took = (uint32_t)((uint32_t)now - woken_at);
    if (cc_snooze_lost_cpu_(cc_os_cpu_() % SEEN_CPUS, now - took, cc_costs_wake_ns_(), now)) cc_snooze_note_loss_(now);
    cc_costs_woken_(took);
}

cc_calm_t cc_snooze_calm_(void)
{
    uint32_t length = cc_load_relaxed(&busy_for_); /* relaxed, all: guesses, see above */
    if (CC_LIKELY_(length == 0)) return CC_CALM_;
    int32_t since = since_(cc_load_relaxed(&busy_until_), tick_(cc_os_now_()));
    if (since < 0) return CC_BUSY_;
    if (since < (int32_t)length) return CC_ON_TRIAL_;
    cc_store_relaxed(&busy_for_, 0);
    return CC_CALM_;
}

/* ---- Giving way ------------------------------------------------------------------------------------------------- */

/* A thread whose waits are short, because its partner runs on another CPU, never comes to yield by itself, however long
 * it spins in all of them together; and others, who may be the very ones that it waits for, never get its CPU. So it
 * gives way, by a yield, when it has spun for some time in all of them: soon again where one of ours took the CPU, less
 * and less often where nobody did (a yield takes 0.6 us then, a thousandth of the time), and hardly ever to other
 * programs, which keep the CPU for milliseconds. `concede bench channel.map --between 4:4 --interval 0 --work 1us`
 * carries 1.1 million messages a second on 2 CPUs of an AMD EPYC under KVM if it gives way after 80 us, 1.6 after 10
 * us, and 1.0 if it never does.
 *
 * A lock is more patient: whoever spins for it most often waits for one that runs, and each change of threads costs
 * both. Where it never gives way two running threads pass the lock to each other while those that share their CPUs wait
 * for a time slice each: with 16 threads, 200 ns held and 100 ns outside Jain's index is 0.78, and 0.99 by this at the
 * same rate. After 10 us in place of 100 it would be as good, but one wait in a hundred would last for 0.3 ms
 * (lock.map). (A checker has neither threads nor CPUs: nobody gives way.) */
#if defined(CC_MODEL)
bool cc_snooze_gives_way_(uint32_t patience)
{
    (void)patience;
    return false;
}

void cc_snooze_spun_(uint32_t pauses, bool has_rested)
{
    (void)pauses;
    (void)has_rested;
}
#else
enum { GIVE_WAY_NS = 10000, GIVE_WAY_ALONE = 64, GIVE_WAY_BESIDE_OTHERS = 4096 }; /* the last two: times as long */
static _Thread_local uint32_t spun_, give_way_after_;                             /* in pauses */

bool cc_snooze_gives_way_(uint32_t patience)
{
    if (CC_LIKELY_(spun_ / patience <= give_way_after_) || cc_snooze_calm_() != CC_CALM_) return false;
    uint32_t min = cc_backoff_pauses_(GIVE_WAY_NS), alone = GIVE_WAY_ALONE * min;
    uint64_t now = cc_os_now_();
    switch (cc_snooze_yield_(&now)) {
    case CC_YIELDED_: give_way_after_ = give_way_after_ < alone ? give_way_after_ * 2 : alone; break;
    case CC_RAN_SOMEBODY_: give_way_after_ = min; break;
    default: give_way_after_ = whose_() == OTHERS ? GIVE_WAY_BESIDE_OTHERS * min : alone; break;
    }
    spun_ = 0;
    return true;
}

void cc_snooze_spun_(uint32_t pauses, bool has_rested)
{
    spun_ = has_rested ? 0 : spun_ + pauses;
    if (give_way_after_ == 0) give_way_after_ = cc_backoff_pauses_(GIVE_WAY_NS);
}
#endif

/* ---- Under a quota ---------------------------------------------------------------------------------------------- */

/* A quota bounds how long a wait spins to a quarter of a wake-up (costs.c). But where two sides answer each other, and
 * one was off its CPU for longer than that, both sleep from then on: each takes longer to wake up than the other spins.
 * So now and then a wait spins for as long as pays without a quota, which is what the other takes. It has to be earned,
 * by QUICK_WAITS in a row, each of which saved a sleep, or by SHORT_SLEEPS, which such a spin would have saved. It
 * takes less than a third of the CPU time that these sleeps take: 26 us, where one takes 21 us (see above). A wait is
 * quick if it takes no more than a quarter of the limit, 2 us here: a stream with a message every 3 us has no 16 of
 * them in a row, and earns it by its sleeps only.
 *
 * `concede bench channel.pingpong` with a quota of 1.5 CPUs on 2 CPUs of AMD EPYC under KVM, SPSC, has a p99 of 0.1 us
 * and takes 0.3 us of CPU time for each message by it, else 20 to 29 us, and 1.4 to 6 us. */
#if defined(CC_MODEL) /* a checker has no quota */
uint32_t cc_snooze_earned_pauses_(uint32_t planned, uint32_t spin_limit)
{
    (void)planned;
    (void)spin_limit;
    return 0;
}

void cc_snooze_earn_(uint32_t pauses, uint32_t spin_limit, bool slept, uint32_t slept_ns)
{
    (void)pauses;
    (void)spin_limit;
    (void)slept;
    (void)slept_ns;
}
#else
enum { QUICK_WAITS = 16, SHORT_SLEEPS = 4 };
static _Thread_local uint32_t earned_; /* up to QUICK_WAITS: then the next wait may spin for longer */

uint32_t cc_snooze_earned_pauses_(uint32_t planned, uint32_t spin_limit)
{
    if (earned_ < QUICK_WAITS || !cc_costs_may_spin_() || cc_snooze_calm_() != CC_CALM_) return 0;
    uint32_t pays = 3 * spin_limit; /* from a quarter of a wake-up to three */
    return pays > planned ? pays - planned : 0;
}

void cc_snooze_earn_(uint32_t pauses, uint32_t spin_limit, bool slept, uint32_t slept_ns)
{
    if (!slept && pauses <= spin_limit / 4)
        earned_ += earned_ < QUICK_WAITS;
    else if (earned_ >= QUICK_WAITS) /* it was spent on this wait */
        earned_ = 0;
    else
        earned_ = slept && slept_ns < pays_ns_() ? earned_ + QUICK_WAITS / SHORT_SLEEPS : 0;
}
#endif
