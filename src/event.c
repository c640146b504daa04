/* event.c: the slow paths of event.h; the words and the race stand there. */
#include "event.h"

#include <concede/backoff.h>

#include "costs.h"
#include "counters.h"
#include "os.h"
#include "probe.h"
#include "snooze.h"

/* ---- What an event has learned ---------------------------------------------------------------------------------- */

/* The word `snooze` is 0 while the event has not learned, else 1 + yields + 8 * pauses. */
static cc_snooze_t learned_(const cc_event_t *event)
{
    uint32_t word = cc_load_relaxed(&event->snooze); /* relaxed: a guess */
    cc_snooze_t snooze = { (word - 1) / 8, (word - 1) % 8 };
    return word == 0 ? cc_snooze_start_() : snooze;
}

static uint32_t word_(cc_snooze_t snooze)
{
    uint32_t pauses = snooze.pauses < UINT32_MAX / 8 ? snooze.pauses : UINT32_MAX / 8 - 1;
    return 1 + (snooze.yields < 7 ? snooze.yields : 7) + 8 * pauses;
}

static void learn_(cc_event_t *event, cc_ending_t ending, uint32_t spin_limit)
{
    uint32_t word = word_(cc_snooze_learned_(learned_(event), ending, spin_limit));
    if (cc_load_relaxed(&event->snooze) != word) cc_store_relaxed(&event->snooze, word); /* relaxed, both: a guess */
}

/* ---- Listening, sleeping, notifying ----------------------------------------------------------------------------- */

/* Whether as many threads listen as the word can count. */
static bool is_full_(uint32_t seen)
{
    return (seen & CC_EVENT_LISTENING_) + (seen & CC_EVENT_CLAIMS_) / CC_EVENT_CLAIM_ >= CC_EVENT_LISTENING_;
}

/* Adds this thread to those that listen, and in the same step takes `leaves` off the word: CC_EVENT_LOOKOUT_ if it was
 * the lookout, else 0. Returns the word as it was before. */
static uint32_t announce_(cc_event_t *event, uint32_t leaves)
{
    uint32_t seen = cc_load_relaxed(&event->waiters); /* relaxed: the swap decides */
    for (;;) {
        if (is_full_(seen)) {
            cc_os_yield_(); /* wait until one of them stops */
            seen = cc_load_relaxed(&event->waiters);
            continue;
        }
        /* [event.trusted] pairs with cc_event_slept_(), [door.joined] with the claim in cc_event_claim_() */
        if (cc_cas_weak_acq_rel(&event->waiters, &seen, seen + 1 - leaves)) return seen;
    }
}

/* The key is read before the announcement: a notifier that claims this thread adds to the epoch after it saw the
 * announcement, so the key is older than that, and wait returns. Read after it, the key could hold the very notify that
 * claimed us, and we would sleep on with nobody counting us. */
static uint32_t listen_(cc_event_t *event, uint32_t leaves)
{
    uint32_t key = cc_load_acquire(&event->epoch); /* [event.epoch] pairs with the add in cc_event_wake_() */
    if (announce_(event, leaves) & CC_EVENT_TRUSTED_)
        cc_fence_full(); /* [event.announce] pairs with the fence of a notifier */
    else
        cc_fence_heavy_(); /* [event.announce] pairs with cc_fence_light_() */
    return key;
}

uint32_t cc_event_listen(cc_event_t *event)
{
    return listen_(event, 0);
}

/* A thread that stops listening after a notifier made its claim sees what that notifier wrote. It may have used up the
 * wake-up, and the system brings no order with one: the epoch and the claims may still read as before. This swap
 * cannot, because it reads the newest value. So whoever looks at the condition next finds it hold, or knows that
 * another thread has used it up. The fence does the same for those who woke nobody because they still saw us, which
 * happens with relayed events. */
void cc_event_cancel(cc_event_t *event)
{
    uint32_t seen = cc_load_relaxed(&event->waiters); /* relaxed: the swap decides */
    uint32_t rest;
    do rest = (seen & CC_EVENT_CLAIMS_) ? seen - CC_EVENT_CLAIM_ : seen - 1;
    while (!cc_cas_weak_acquire(&event->waiters, &seen, rest)); /* [event.claim] pairs with the claim in notify */
    cc_fence_full();                                            /* [event.relay] pairs with the fence of a notifier */
}

/* A sleeper's fence interrupts every CPU that runs a thread of ours: 10 us for the sleeper and 6 us for each of the
 * others, where a notifier's own fence and the call to it cost 25 ns (measured on AMD Zen 3 under KVM, where a wake-up
 * takes 35 us; 0.4 us where nobody else runs). So the notifiers of an event whose waiters sleep take a fence each. They
 * go on until that has cost them a part of a wake-up, a third here, with no sleep in between. It begins after four
 * sleeps: one may be chance, as when a stream begins, and a stream pays more for the fences than any other use. */
#if !defined(CC_EVENT_SLEEPY)
#define CC_EVENT_SLEEPY  (cc_costs_wake_ns_() / 64)
#define CC_EVENT_A_SLEEP (CC_EVENT_SLEEPY / 4 + 1)
#endif

/* First every notifier must know that it has to fence, and only then may a sleeper rely on it: hence two bits, and
 * between them the fence that all threads pass. A notifier that did not see FENCED before it has its write out by then,
 * and the release passes that on to whoever finds TRUSTED. */
void cc_event_slept_(cc_event_t *event)
{
    uint32_t limit = CC_EVENT_SLEEPY;
    uint32_t sleepiness = cc_load_relaxed(&event->sleepiness) + CC_EVENT_A_SLEEP; /* relaxed, all: a guess */
    bool fenced = (cc_load_relaxed(&event->waiters) & CC_EVENT_FENCED_) != 0;
    cc_store_relaxed(&event->sleepiness, fenced || sleepiness >= limit ? limit : sleepiness);
    if (fenced || sleepiness < limit) return;
    /* relaxed: the fence orders it */
    if (cc_fetch_or_relaxed(&event->waiters, CC_EVENT_FENCED_) & CC_EVENT_FENCED_) return;
    cc_fence_heavy_(); /* [event.trusted] pairs with cc_fence_light_() */
    /* [event.trusted] pairs with the swap in announce_() */
    (void)cc_fetch_or_release(&event->waiters, CC_EVENT_TRUSTED_);
}

/* One sleep and no loop. There are systems on which a sleep that ends with a signal or at its deadline may have used up
 * a wake-up (OpenBSD; Windows as Wine has it). A thread that slept on would keep that wake-up, and a claim, from the
 * others. */
static bool sleep_once_(cc_event_await_t *await)
{
    cc_event_t *event = await->event;
    uint32_t key = await->key;
    uint64_t deadline = await->deadline;
    int woken = EAGAIN;
    if (cc_load_acquire(&event->epoch) == key) { /* [event.epoch] pairs with the add in cc_event_wake_() */
        uint64_t began = await->relayed ? cc_os_now_() : cc_count_now_();
        if (await->relayed) await->asleep_at = (uint32_t)began;
        CC_PROBE_(event__sleep, event);
        woken = cc_os_wait_(&event->epoch, key, deadline);
        if (woken != EAGAIN) {
            await->slept = true;
            await->slept_ns += cc_count_now_() - began;
        }
    }
    await->woken = woken == 0;
    bool expired = woken == ETIMEDOUT && cc_os_now_() >= deadline;
    uint32_t epoch = cc_load_acquire(&event->epoch); /* [event.epoch] the last look, after the deadline */
    bool notified = epoch != key;
    if (notified && woken == 0) {
        /* After a second notify the time is no longer that of the one that woke us. */
        uint32_t woken_at = cc_load_relaxed(&event->woken_at); /* relaxed: a statistic */
        if (epoch == key + 1) cc_snooze_woken_(woken_at, cc_os_now_());
        cc_event_slept_(event);
    }
    cc_event_cancel(event);
    return notified || !expired;
}

static unsigned kind_of_await_(const cc_event_await_t *await)
{
    return await->in_channel ? CC_COUNT_CHANNEL_ : CC_COUNT_EVENT_;
}

static void count_await_(const cc_event_await_t *await)
{
    unsigned ending = CC_COUNT_ENDING_(await->slept, await->yielded);
    cc_count_wait_(kind_of_await_(await), ending, await->slept_ns);
}

bool cc_event_wait_slow_(cc_event_t *event, uint32_t key, uint64_t deadline)
{
    cc_event_await_t await = cc_event_await_begin_(event, deadline);
    await.key = key;
    await.probe_began = CC_PROBE_BEGAN_(event__wait__end);
    CC_PROBE_(event__wait__begin, event, (bool)false);
    bool in_time = sleep_once_(&await);
    CC_PROBE_(event__wait__end, event, CC_COUNT_ENDING_(await.slept, false), CC_PROBE_NS_(await.probe_began),
              (bool)false);
    if (await.slept) count_await_(&await);
    return in_time;
}

/* A lookout comes back within this time if its caller does next to nothing with what it got; a wake-up costs the
 * notifier more than ten times as much (11 us: snooze.c). */
#if !defined(CC_EVENT_AWAY_NS)
#define CC_EVENT_AWAY_NS 800
#endif

/* Spinning goes in rounds of this length. After each one the wait looks at the clock, to find out whether it lost its
 * CPU meanwhile: 25 ns in a round (`concede info` on AMD Zen 3). */
#if !defined(CC_EVENT_ROUND_NS)
#define CC_EVENT_ROUND_NS 2000
#endif

/* The CPU that the last notifier of a relayed event ran on stands in the uppermost bits of `left_to_it`, plus 1, or
 * less 1023 if it has so high a number; 0: nobody has told yet, or the system does not.
 *
 * SEVERAL is full from a notifier on that ran on another CPU than the one before it. It is taken down by one at each
 * wake-up, and at one in CLOCK_EVERY of the notifies that wake nobody. So a notifier that has moved is the only one
 * again after a while. That is longer than the time slice of 4 ms for which another one may just have no CPU: 511
 * wake-ups take 5 ms (11 us each: snooze.c), and notifies every 300 ns take 10 ms.
 *
 * Notifiers tell their CPU only while somebody listens, and may have come to another one since. So waits rely on it for
 * some turns only until it is told again: 63 turns of 3.4 us (snooze.c) are 0.2 ms. */
enum { LEFT_MAX = 0x7f, SEVERAL_ONE = 0x80, SEVERAL = 0xff80, TOLD_ONE = 0x10000, TOLD = 0x3f0000, CPU_SHIFT = 22 };
enum { CPU_NUMBERS = 1023 };

static uint32_t own_cpu_(void)
{
    uint32_t cpu = cc_os_cpu_();
    return cpu == UINT32_MAX ? 0 : cpu % CPU_NUMBERS + 1;
}

static bool shares_cpu_with_notifier_(const cc_event_t *event)
{
    uint32_t cpu = own_cpu_();
    return cpu != 0 && cc_load_relaxed(&event->left_to_it) >> CPU_SHIFT == cpu; /* relaxed: a guess */
}

/* Whether all notifiers that are known run on another CPU: for this turn. */
static bool are_notifiers_elsewhere_(cc_event_t *event)
{
    uint32_t seen = cc_load_relaxed(&event->left_to_it), notifier = seen >> CPU_SHIFT; /* relaxed, both: a guess */
    uint32_t cpu = own_cpu_();
    if (cpu == 0 || notifier == 0 || notifier == cpu || (seen & SEVERAL) || !(seen & TOLD)) return false;
    (void)cc_cas_relaxed(&event->left_to_it, &seen, seen - TOLD_ONE);
    return true;
}

/* The clock takes as long as the rest of a notify that wakes nobody (20 ns on AMD Zen 3). It is read by the first
 * CLOCK_EVERY of them in a row, and then by one in so many: a stream of notifies pays less than 1 ns each for it. */
enum { CLOCK_EVERY = 64 };

static uint32_t take_down_several_(uint32_t word)
{
    return (word & SEVERAL) ? word - SEVERAL_ONE : word;
}

/* The word `left_to_it` after a notify on this CPU, of which so many in a row are left to others. */
static uint32_t notified_here_(uint32_t before, uint32_t left)
{
    uint32_t last = before >> CPU_SHIFT, cpu = own_cpu_(), told = cpu << CPU_SHIFT | TOLD | left;
    if (last != 0 && last != cpu) return told | SEVERAL;
    told |= before & SEVERAL;
    return left != (before & LEFT_MAX) && left % CLOCK_EVERY == 0 ? take_down_several_(told) : told;
}

/* Whether the notifier of a relayed event wakes nobody, because a thread is on its way that will relay. A thread that
 * was woken and has not run for half of the time that a wake-up takes in the mean may have no CPU, most often because
 * the notifier is on it: then another one is woken beside it. The same goes for a lookout that has not looked for so
 * long. Where that is wrong it costs one wake-up more than the one that was waited for, so at most twice what was best.
 * A waiter that relays what it leaves behind does not wake another so: it has a CPU, and takes the rest itself before
 * another could. */
static bool leaves_it_to_another_(cc_event_t *event, uint32_t seen, uint32_t whom)
{
    bool on_its_way = (seen & (CC_EVENT_LOOKOUT_ | CC_EVENT_CLAIMS_)) != 0;
    if (whom == CC_NOTIFY_REST_) return on_its_way;
    uint32_t before = cc_load_relaxed(&event->left_to_it), left = before & LEFT_MAX; /* relaxed, both: a guess */
    if (on_its_way) left = left < LEFT_MAX ? left + 1 : CLOCK_EVERY;
    uint32_t after = notified_here_(before, left);
    if (after != before) cc_store_relaxed(&event->left_to_it, after);
    if (!on_its_way) return false;
    if (left > CLOCK_EVERY && left % CLOCK_EVERY != 0) return true;
    uint64_t now = cc_os_now_();
    (void)cc_snooze_seen_(now);
    const uint32_t *sign_of_life = (seen & CC_EVENT_LOOKOUT_) ? &event->looked_at : &event->woken_at;
    uint32_t ago = (uint32_t)now - cc_load_relaxed(sign_of_life); /* relaxed: a guess */
    uint32_t half_a_wake = cc_costs_wake_ns_() / 2;
    return ago < (half_a_wake > 2 * CC_EVENT_ROUND_NS ? half_a_wake : 2 * CC_EVENT_ROUND_NS);
}

/* A lookout that got something goes away with it, and most often it is back at once: to wait for that costs less than
 * to wake another. Returns the word as it is after that. */
static uint32_t wait_for_lookout_(cc_event_t *event, uint32_t seen)
{
    for (uint32_t left = cc_backoff_pauses_(CC_EVENT_AWAY_NS); left > 0 && (seen & CC_EVENT_AWAY_); left--) {
        cc_pause();
        seen = cc_load_relaxed(&event->waiters); /* relaxed: the fence before it orders it */
    }
    return seen;
}

/* A thread that was claimed is on its way, and soon gone from the word. But with many CPUs it may lose races for a
 * position of a channel, and keeps its claim while it backs off, for milliseconds. If notifiers went on with their
 * fences until then, a stream would be so slow by them that its receivers wait ever again. `concede simulate
 * channel.many`, seeds 1 to 6: 255:255 on `xeon-4x64` has 71 to 105 M/s where claims do not count, else 21 to 105. With
 * few CPUs they count: 4:4 with a message every 300 ns is 1.3 times as late on 2 CPUs of AMD EPYC under KVM if not
 * (`concede bench channel.map`, p50). */
#if !defined(CC_EVENT_CLAIMS_LAST)
#define CC_EVENT_CLAIMS_LAST cc_costs_has_many_cpus_()
#endif

/* Whether notifiers take their fences for nobody: nobody listens, and nobody is on its way for whom they should go
 * on. */
static bool is_only_fenced_(uint32_t seen)
{
    uint32_t rest = seen & ~CC_EVENT_AWAY_;
    if ((rest & CC_EVENT_CLAIMS_) && CC_EVENT_CLAIMS_LAST) rest &= ~CC_EVENT_CLAIMS_;
    return rest == (CC_EVENT_FENCED_ | CC_EVENT_TRUSTED_);
}

uint32_t cc_event_claim_(cc_event_t *event, uint32_t whom)
{
    uint32_t seen = cc_load_relaxed(&event->waiters); /* relaxed: the caller's fence orders it, the swaps decide */
    bool waited_for_lookout = false;
    for (;;) {
        uint32_t listening = seen & CC_EVENT_LISTENING_;
        uint32_t claimed = whom == CC_NOTIFY_ALL_ ? listening : 1;
        if (listening > 0) {
            bool relays = whom == CC_NOTIFY_RELAY_ || whom == CC_NOTIFY_REST_;
            if (relays && leaves_it_to_another_(event, seen, whom)) return 0;
            if (whom == CC_NOTIFY_RELAY_ && (seen & CC_EVENT_AWAY_) && !waited_for_lookout) {
                waited_for_lookout = true;
                seen = wait_for_lookout_(event, seen);
                continue;
            }
            /* [door.joined] pairs with the swap in announce_(). What a thread that takes up the claim is to see is
             * released by the fence before it, [event.claim]. */
            if (cc_cas_weak_acquire(&event->waiters, &seen,
                                    (seen & ~CC_EVENT_AWAY_) - claimed + claimed * CC_EVENT_CLAIM_))
                break;
        } else if (!is_only_fenced_(seen)) {
            return 0; /* nobody listens; who is claimed passes [event.announce] before it sleeps again */
        } else {
            uint32_t sleepiness = cc_load_relaxed(&event->sleepiness); /* relaxed, all: a guess */
            if (sleepiness > 0) cc_store_relaxed(&event->sleepiness, sleepiness - 1);
            if (sleepiness > 1) return 0; /* nobody listens right now */
            /* nobody sleeps here: back to the light fence; relaxed: the next listener finds it in this very word */
            if (cc_cas_relaxed(&event->waiters, &seen, seen & CC_EVENT_CLAIMS_)) return 0;
        }
    }
    uint64_t now = cc_os_now_();
    (void)cc_snooze_seen_(now);
    cc_store_relaxed(&event->woken_at, (uint32_t)now); /* relaxed, both: statistics */
    uint32_t left_to_it = cc_load_relaxed(&event->left_to_it);
    cc_store_relaxed(&event->left_to_it, take_down_several_(left_to_it) & ~(uint32_t)LEFT_MAX);
    return whom == CC_NOTIFY_ALL_ ? CC_OS_ALL_ : 1;
}

void cc_event_wake_(cc_event_t *event, uint32_t count)
{
    cc_fetch_add_release(&event->epoch, 1); /* [event.epoch] pairs with the loads in listen_() and sleep_once_() */
    CC_PROBE_(event__wake, event, count == CC_OS_ALL_);
    cc_os_wake_(&event->epoch, count);
}

void cc_event_notify_slow_(cc_event_t *event, uint32_t whom)
{
    /* [event.announce] pairs with listen_(), [event.relay] with cc_event_cancel() and the lookout's end */
    cc_fence_full();
    uint32_t count = cc_event_claim_(event, whom);
    if (count == 0) return;
    cc_event_wake_(event, count);
    cc_count_wake_(CC_COUNT_EVENT_);
}

/* ---- For channels ----------------------------------------------------------------------------------------------- */

bool cc_event_join_(cc_event_t *event)
{
    return (announce_(event, 0) & CC_EVENT_TRUSTED_) != 0;
}

bool cc_event_watch_(cc_event_t *event)
{
    /* [event.trusted] pairs with cc_event_slept_() */
    return (cc_fetch_or_acquire(&event->waiters, CC_EVENT_WATCHED_) & CC_EVENT_TRUSTED_) != 0;
}

void cc_event_unwatch_(cc_event_t *event)
{
    (void)cc_fetch_and_relaxed(&event->waiters, ~CC_EVENT_WATCHED_); /* relaxed: it tells nobody anything */
}

/* ---- The three phases of a wait --------------------------------------------------------------------------------- */

/* phase        the condition was just looked at, and ...             next
 * START        nothing was done yet                                  SNOOZING, or over: the deadline was past
 * SNOOZING     the pauses of this round are used up                  another round, a yield, LISTENING, or ENDED
 * LISTENING    the thread had announced itself before that look      sleep, then SLEPT or EXPIRED
 * SLEPT        the thread has slept                                  LISTENING, or SNOOZING: others were first
 * ENDED        the deadline passed while it snoozed                  over
 * EXPIRED      the deadline passed while it slept                    over */
enum { START, SNOOZING, LISTENING, SLEPT, ENDED, EXPIRED };

/* n snoozes, as cc_backoff_snooze() counts them: 1, 2, 4 ... 64 pauses, and yields after that. */
static cc_snooze_t fixed_(uint32_t snooze_iters)
{
    enum { SPINS = 7 };
    uint32_t spins = snooze_iters < SPINS ? snooze_iters : SPINS;
    cc_snooze_t snooze = { (UINT32_C(1) << spins) - 1, snooze_iters - spins };
    return snooze;
}

static cc_snooze_t fixed_or_learned_(const cc_event_t *event, uint32_t snooze_iters)
{
    cc_snooze_t none = { 0, 0 };
    if (snooze_iters == CC_AWAIT_NO_SNOOZE_) return none;
    return snooze_iters != 0 ? fixed_(snooze_iters) : learned_(event);
}

/* What this wait does before it sleeps: what the event has learned or the caller has fixed, as far as there is a second
 * CPU, time until the deadline, and calm. */
static cc_snooze_t plan_(const cc_event_await_t *await, uint64_t left_ns)
{
    cc_snooze_t none = { 0, 0 }, snooze = fixed_or_learned_(await->event, await->snooze_iters);
    if (snooze.pauses == 0 && snooze.yields == 0) return none;
    cc_calm_t calm = cc_snooze_calm_();
    if (calm == CC_BUSY_) return none;
    if (!cc_costs_may_spin_()) snooze.pauses = 0;
    if (await->deadline != CC_FOREVER) {
        uint32_t left = cc_backoff_pauses_(left_ns);
        snooze.pauses = snooze.pauses < left ? snooze.pauses : left;
    }
    if (await->deadline != CC_FOREVER || calm == CC_ON_TRIAL_) snooze.yields = 0;
    return snooze;
}

/* How often this thread as a lookout got something since it last waited in vain. Each time saved a wake-up, and a
 * sixteenth of that it may spend on spinning for longer than is worth it by itself: up to four times the limit, which
 * is more than a sender's shortest sleep takes (75 us on Linux under KVM, where the limit is 18 us). So a pause in the
 * stream seldom sends all of them to sleep, after which many messages would be late by a wake-up. */
enum { CREDIT_PARTS = 16, CREDIT_LIMITS = 4 };
#if defined(CC_MODEL) /* a checker has no threads to keep it for, and all its lookouts are good */
enum { catches_ = 1 };
#define note_catches_(n) ((void)(n))
#else
static _Thread_local uint32_t catches_;
#define note_catches_(n) (catches_ = (n))
#endif

static uint32_t credit_(uint32_t spin_limit)
{
    return (uint32_t)((uint64_t)spin_limit * catches_ / CREDIT_PARTS);
}

/* Whether a lookout on this CPU keeps nobody from running. It would keep the last notifier, if that runs here; and if
 * this thread got nothing the last time, a yield tells whether somebody else wants the CPU. */
static bool is_good_lookout_(const cc_event_await_t *await)
{
    if (shares_cpu_with_notifier_(await->event)) return false;
    if (catches_ > 0) return true;
    uint64_t now = cc_os_now_();
    return await->deadline == CC_FOREVER && cc_snooze_calm_() == CC_CALM_ && cc_snooze_yield_(&now) == CC_YIELDED_;
}

/* Of the threads that wait for a relayed event one spins on behalf of all while others sleep: it becomes the lookout.
 * If there is one already, a further thread does not spin. Neither does one that would keep others from running. */
static void look_out_(cc_event_await_t *await)
{
    if (!await->relayed || await->lookout || await->pauses_left == 0) return;
    cc_event_t *event = await->event;
    uint32_t seen = cc_load_relaxed(&event->waiters); /* relaxed: a notifier that does not know of it wakes */
    if (!(seen & CC_EVENT_LISTENING_)) return;
    if (!(seen & CC_EVENT_LOOKOUT_) && is_good_lookout_(await)) {
        /* relaxed, all: the time is a guess and there before anybody needs it; the rest as above */
        cc_store_relaxed(&event->looked_at, (uint32_t)cc_os_now_());
        seen = cc_load_relaxed(&event->waiters);
        uint32_t lookout = (seen | CC_EVENT_LOOKOUT_) & ~CC_EVENT_AWAY_;
        await->lookout = !(seen & CC_EVENT_LOOKOUT_) && cc_cas_relaxed(&event->waiters, &seen, lookout);
    }
    if (await->lookout) {
        await->announced = true;
        await->yields_left = 0; /* whoever relies on it must not wait for a yield to end */
        if (await->teaches && await->deadline == CC_FOREVER) await->pauses_left += credit_(await->spin_limit);
        return;
    }
    await->pauses_left = 0;
    await->teaches = false;
}

/* Whether this wait may yield before it spins: it does not sleep at once, the caller has fixed nothing, and a yield
 * cannot miss a deadline. */
static bool may_give_way_(const cc_event_await_t *await)
{
    return await->pauses_left > 0 && await->teaches && await->deadline == CC_FOREVER;
}

/* Phase 1: the next round of pauses. */
static void spin_a_round_(cc_event_await_t *await)
{
    uint32_t round = cc_backoff_pauses_(CC_EVENT_ROUND_NS);
    await->pauses = await->pauses_left < round ? await->pauses_left : round;
    await->pauses_left -= await->pauses;
    await->spun += await->pauses;
}

/* Phase 1, between two rounds: whether this thread lost its CPU in the round that is over. When the first round began
 * is not known, so the answer for it is no. */
static bool lost_cpu_(cc_event_await_t *await, uint64_t now)
{
    uint64_t began = await->round_began;
    bool lost = began != 0 && cc_snooze_lost_cpu_(await->cpu, began, CC_EVENT_ROUND_NS, now);
    if (lost) cc_snooze_note_loss_(now);
    await->round_began = now;
    await->cpu = (uint8_t)cc_snooze_seen_(now);
    if (await->lookout) cc_store_relaxed(&await->event->looked_at, (uint32_t)now); /* relaxed: a guess */
    return lost;
}

/* Phase 1, after a yield and the look that follows it. A thread that was overtaken is not needed: it yields no more,
 * unless the yield ran somebody and was short. Then our threads take turns on this CPU, and one yield more costs little
 * but the switch, while a sleep makes all threads pass a fence, and a notifier pay for the wake-up. So it has all its
 * yields again, and stays as long as the others get something. `concede bench channel.map --between 4:4 --interval
 * 300ns` on 2 CPUs of AMD EPYC under KVM has a p99 of 6 to 9 us by it, at 340 ns of the receivers' CPU time for each
 * message, and of 70 us at 375 ns if such a thread sleeps at once. If it lost its CPU to another program, that hurt
 * nobody. */
static void judge_yield_(cc_event_await_t *await)
{
    if (await->overtaken > 0) {
        bool takes_turns = await->ending == CC_RAN_SOMEBODY_ && cc_snooze_calm_() == CC_CALM_;
        await->yields_left = takes_turns ? await->yields_planned : 0;
        await->ending = CC_OVERTAKEN_;
    } else if (await->ending == CC_SLEPT_LONG_) {
        cc_snooze_note_loss_(cc_os_now_());
        await->yields_left = 0;
    }
}

/* Phase 1, after its last round: one of the planned yields. Where a yield would not run one of ours, the thread spins
 * for as long as a yield takes that runs nobody, and that ends and teaches like such a yield.
 *
 * Nobody can wake a thread that yields: if one of ours works for long on this CPU, what comes meanwhile is late by a
 * time slice, unless another thread is awake for it, or sleeps and is woken. Such a yield cannot be told from others
 * before it is over. But it is the last one, unless others got something meanwhile: a sleeper would have had the CPU at
 * once. (If it were the last one even then, threads that take turns in slices would sleep in every stream: `concede
 * bench channel.map --between 1:4 --interval 0` loses 6 % of its rate on 2 CPUs of AMD EPYC under KVM.) */
static void yield_or_spin_(cc_event_await_t *await, uint64_t *now)
{
    await->yields_left--;
    await->came_to_yields = true;
    if (cc_snooze_is_yield_worth_it_(*now)) {
        uint64_t before = *now;
        await->yielded = true;
        await->ending = (uint8_t)cc_snooze_yield_(now);
        if (*now - before >= CC_LOST_CPU_NS_) await->yields_left = 0;
        return;
    }
    await->ending = CC_YIELDED_;
    await->pauses = cc_backoff_pauses_(CC_YIELD_NS_);
    await->spun += await->pauses;
}

/* Ends this thread's being the lookout: from here on nobody relies on it. `instead` is AWAY if it got something, else
 * 0. */
static void end_lookout_(cc_event_await_t *await, uint32_t instead)
{
    /* relaxed: the fence orders what follows */
    (void)cc_fetch_add_relaxed(&await->event->waiters, instead - CC_EVENT_LOOKOUT_);
    cc_fence_full(); /* [event.relay] pairs with the fence of a notifier */
    await->lookout = false;
}

/* Phase 1 begins: what it will do before it sleeps. Returns false if the deadline was past. */
static bool begin_(cc_event_await_t *await)
{
    uint64_t now = await->deadline != CC_FOREVER ? cc_os_now_() : 0;
    if (now >= await->deadline) return false;
    if (!await->in_channel) await->probe_began = CC_PROBE_BEGAN_(event__wait__end); /* a channel notes it itself */
    CC_PROBE_(event__wait__begin, await->event, await->in_channel);
    await->phase = SNOOZING;
    await->teaches = await->snooze_iters == 0;
    await->spin_limit = cc_snooze_spin_limit_();
    cc_snooze_t plan = plan_(await, await->deadline - now);
    await->pauses_planned = await->pauses_left = plan.pauses;
    await->yields_planned = await->yields_left = plan.yields;
    await->under_quota = cc_costs_has_quota_() && await->teaches && await->deadline == CC_FOREVER;
    if (await->under_quota) await->pauses_left += cc_snooze_earned_pauses_(plan.pauses, await->spin_limit);
    await->gave_way = may_give_way_(await) && cc_snooze_gives_way_(CC_PATIENCE_OF_EVENTS_);
    return true;
}

/* Phase 1, after it gave way: whether this thread is not needed. Others got what it waits for meanwhile, although it
 * had not waited yet. So it sleeps, or they would take turns for ever. But each of two that take turns finds that of
 * the other, and where both sleep for it, the next messages come to a channel that nobody looks at: their notifier
 * pays for a wake-up each, and is behind for a hundred microseconds. So it sleeps only while it knows of none that
 * listen, or of a lookout; else it may become the lookout, and looks on as long as any, unless it would keep the
 * notifier from running. */
static bool is_not_needed_(const cc_event_await_t *await)
{
    if (!await->gave_way || await->overtaken == 0 || await->lookout) return false;
    uint32_t seen = cc_load_relaxed(&await->event->waiters); /* relaxed: a guess */
    bool nobody_looks = (seen & CC_EVENT_LISTENING_) && !(seen & CC_EVENT_LOOKOUT_);
    return !nobody_looks || shares_cpu_with_notifier_(await->event);
}

/* Phase 1: spins for another round; false: it has spun as long as it will. */
static bool spins_on_(cc_event_await_t *await)
{
    look_out_(await);
    if (await->pauses_left == 0) return false;
    if (await->spun > 0 && lost_cpu_(await, cc_os_now_())) {
        await->lost_cpu = true;
        await->pauses_left = await->yields_left = 0;
        return true;
    }
    spin_a_round_(await);
    return true;
}

/* Phase 1, after its last round: ends at the deadline, or yields; false: it has yielded as often as it will. */
static bool yields_on_(cc_event_await_t *await)
{
    uint64_t now = cc_os_now_();
    await->asleep_at = (uint32_t)now;
    if (now >= await->deadline) {
        await->phase = ENDED;
        return true;
    }
    if (await->yields_left == 0) return false;
    yield_or_spin_(await, &now);
    await->asleep_at = (uint32_t)now;
    return true;
}

/* Phase 3, after a sleep and the look that follows it: a thread that was woken, and overtaken, yields before it sleeps
 * again, as often as the event has learned. What it was woken for went to one that is awake, and more of that kind
 * comes: one that leaves something behind wakes the next, and pays 11 us for it. If the woken one slept at once, each
 * message could be such a one: a receiver then spends its time in wake-ups, and the sender loses its CPU to each of
 * those that wake up on it. While it yields nobody need wake it. It has taken up its claim, and looked since, so nobody
 * relies on it; and it announces itself anew before it sleeps. `concede bench channel.map --between 1:4 --interval
 * 300ns --burst 16` on 2 CPUs of AMD EPYC under KVM has a p50 of 1.1 us by it, else 1.5 us, and its receivers take 1.1
 * times as much CPU time. (That was while a batch was let come together after any wait; see channel.c.) With a deadline
 * it does not yield, as ever, and with a fixed number of snoozes it has had them. */
static bool yields_after_wake_(cc_event_await_t *await)
{
    if (!await->woken || await->overtaken == 0 || await->snooze_iters != 0) return false;
    cc_snooze_t plan = plan_(await, 0);
    if (plan.yields == 0 || !cc_snooze_is_yield_worth_it_(cc_os_now_())) return false;
    await->phase = SNOOZING;
    await->gave_way = await->lost_cpu = false; /* that was before it slept */
    await->pauses_left = 0;
    await->yields_planned = await->yields_left = plan.yields;
    return yields_on_(await);
}

/* Phase 2: announces this thread, and lets the caller look again. A lookout that finds no room to listen stops being
 * one, and looks, before it waits for room. */
static void listen_and_look_(cc_event_await_t *await)
{
    if (await->lookout && is_full_(cc_load_relaxed(&await->event->waiters))) { /* relaxed: announce_() looks again */
        end_lookout_(await, 0);
        return;
    }
    if (await->elsewhere)
        await->key = await->elsewhere->listen(await->elsewhere->there);
    else
        await->key = listen_(await->event, await->lookout ? CC_EVENT_LOOKOUT_ : 0);
    if (await->lookout) note_catches_(0);
    await->lookout = false;
    await->announced = true;
    await->phase = LISTENING;
}

bool cc_event_await_slow_(cc_event_await_t *await)
{
    switch (await->phase) {
    case START:
        if (!begin_(await)) return false;
        if (await->gave_way || spins_on_(await) || yields_on_(await)) return true;
        break;
    case SNOOZING:
        if (await->came_to_yields) judge_yield_(await);
        if (is_not_needed_(await)) await->pauses_left = await->yields_left = 0;
        if (spins_on_(await) || yields_on_(await)) return true;
        break;
    case LISTENING:
        /* Phase 3: sleep. */
        await->phase = (await->elsewhere ? await->elsewhere->sleep(await) : sleep_once_(await)) ? SLEPT : EXPIRED;
        return true;
    case SLEPT:
        if (await->woken) cc_count_wake_in_vain_(kind_of_await_(await));
        /* The clock is read, because where notifies keep coming no sleep ever lasts until the deadline. */
        if (await->deadline != CC_FOREVER && cc_os_now_() >= await->deadline) return false;
        if (yields_after_wake_(await)) return true;
        break;
    default: return false;
    }
    listen_and_look_(await);
    return true;
}

static void teach_(cc_event_await_t *await, cc_ending_t ending)
{
    await->ending = (uint8_t)ending;
    await->has_ending = await->teaches;
    if (await->teaches) learn_(await->event, ending, await->spin_limit);
}

/* Threads that wait for a relayed event take turns, so that how long one of them slept says nothing by itself. What
 * counts is how often there was something for any of them, which is in such intervals. */
static uint64_t interval_of_relayed_(const cc_event_await_t *await)
{
    uint32_t woken_at = cc_load_relaxed(&await->event->woken_at); /* relaxed: a guess */
    return (uint32_t)(woken_at - await->asleep_at) / ((uint64_t)await->overtaken + 1);
}

/* A lookout pays if the interval is within the time that is worth spinning for. Intervals vary, so up to twice that
 * time nothing changes. */
static cc_ending_t ending_of_relayed_(const cc_event_await_t *await)
{
    uint64_t interval = interval_of_relayed_(await), limit = cc_snooze_spin_limit_ns_();
    return interval < limit ? CC_SLEPT_SHORT_ : interval < 2 * limit ? CC_OVERTAKEN_ : CC_SLEPT_LONG_;
}

static cc_ending_t ending_of_sleep_(const cc_event_await_t *await)
{
    cc_snooze_t planned = { await->pauses_planned, await->yields_planned };
    uint32_t woken_at = cc_load_relaxed(&await->event->woken_at); /* relaxed: a guess */
    return await->lost_cpu ? CC_SLEPT_LONG_ : cc_snooze_slept_(planned, await->asleep_at, woken_at);
}

/* As many as come in the time for which a quota lets a wait spin. Of those that come to one who waits alone is known
 * only whether there were several. */
uint32_t cc_event_worth_a_sleep_(const cc_event_await_t *await)
{
    if (!await->under_quota || await->phase != SLEPT) return 0;
    uint64_t interval = await->relayed ? interval_of_relayed_(await) : UINT64_MAX;
    uint64_t batch = cc_snooze_spin_limit_ns_() / (interval > 0 ? interval : 1);
    return batch > 2 ? (uint32_t)batch : 2;
}

/* What the last yield of a wait says. If it ran somebody the other side needs this CPU, unless all of that runs
 * elsewhere: then it was one that waits, too, or works, and spinning keeps no notifier off. `concede bench channel.map
 * --between 1:4 --interval 3us` on 2 CPUs of AMD EPYC under KVM has a p50 of 240 ns by it, and of 800 ns if that makes
 * waits spin less. Where notifiers run on several CPUs it must: 4:1 would take half as much again of the receiver's
 * CPU time. */
static cc_ending_t ending_of_yield_(const cc_event_await_t *await)
{
    bool ran_another = await->relayed && await->ending == CC_RAN_SOMEBODY_ && are_notifiers_elsewhere_(await->event);
    return ran_another ? CC_OVERTAKEN_ : (cc_ending_t)await->ending;
}

/* A wait that ended with its snooze. A plan that is at the limit cannot grow, and one without pauses did not spin: they
 * teach nothing. */
static void learn_from_snooze_(cc_event_await_t *await)
{
    if (await->lost_cpu) {
        teach_(await, CC_SLEPT_LONG_);
    } else if (await->came_to_yields) {
        judge_yield_(await);
        teach_(await, ending_of_yield_(await));
    } else if (await->pauses_planned > 0 && await->pauses_planned < await->spin_limit) {
        teach_(await, CC_SPUN_);
    }
}

static void earn_(const cc_event_await_t *await)
{
    uint32_t slept_ns = cc_load_relaxed(&await->event->woken_at) - await->asleep_at; /* relaxed: a guess */
    bool is_worth_spinning = await->phase == SLEPT && !await->gathered;
    cc_snooze_earn_(await->spun - await->pauses, await->spin_limit, await->phase != SNOOZING,
                    is_worth_spinning ? slept_ns : UINT32_MAX);
}

void cc_event_await_end_slow_(cc_event_await_t *await)
{
    cc_event_t *event = await->event;
    if (await->lookout) {
        bool got_something = await->phase == SNOOZING;
        if (got_something && catches_ < CREDIT_PARTS * CREDIT_LIMITS) note_catches_(catches_ + 1);
        end_lookout_(await, got_something ? CC_EVENT_AWAY_ : 0);
    }
    cc_snooze_spun_(await->spun - await->pauses, await->yielded || await->slept);
    if (CC_UNLIKELY_(await->under_quota)) earn_(await);
    switch (await->phase) {
    case SNOOZING: learn_from_snooze_(await); break;
    case LISTENING:
        if (!await->elsewhere) cc_event_cancel(event);
        break;
    case SLEPT:
        if (await->gathered)
            teach_(await, CC_GATHERED_);
        else if (await->relayed)
            teach_(await, ending_of_relayed_(await));
        else
            teach_(await, ending_of_sleep_(await));
        break;
    case EXPIRED: teach_(await, CC_SLEPT_LONG_); break;
    default: break;
    }
    CC_PROBE_(event__wait__end, event, CC_COUNT_ENDING_(await->slept, await->yielded), CC_PROBE_NS_(await->probe_began),
              await->in_channel);
    count_await_(await);
}

bool cc_event_await(cc_event_t *event, bool (*condition)(void *), void *argument, uint64_t deadline)
{
    return CC_EVENT_AWAIT_UNTIL(event, condition(argument), deadline);
}

/* ---- Waiting for several at once -------------------------------------------------------------------------------- */

void cc_event_plan_also_(cc_event_t *own, const cc_event_t *event, uint32_t snooze_iters)
{
    cc_snooze_t longest = learned_(own), other = fixed_or_learned_(event, snooze_iters);
    if (other.pauses > longest.pauses) longest.pauses = other.pauses;
    if (other.yields > longest.yields) longest.yields = other.yields;
    own->snooze = word_(longest);
}

bool cc_event_await_listens_(const cc_event_await_t *await)
{
    return await->phase == LISTENING;
}

void cc_event_learn_from_(cc_event_t *event, const cc_event_await_t *await)
{
    if (await->has_ending) learn_(event, (cc_ending_t)await->ending, await->spin_limit);
}
