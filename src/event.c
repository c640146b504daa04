/* event.c: the slow paths of event.h; the words and the race stand there. */
#include <concede/event.h>

#include <concede/backoff.h>

#include "costs.h"
#include "os.h"
#include "snooze.h"

uint32_t cc_fence_mode_ = CC_FENCE_UNKNOWN_;

/* The system took membarrier away after it had granted it (a seccomp filter set late). From now on both sides use full
 * fences, but a notifier may be between its write and its look this very moment, having relied on us. Its write leaves the
 * store buffer in nanoseconds; a millisecond is certain enough. Every sleeper waits it out until one has done so. */
static CC_COLD_ void fence_lost_(void)
{
    uint32_t nobody = 0, lost = CC_FENCE_LOST_;
    cc_store_relaxed(&cc_fence_mode_, CC_FENCE_LOST_); /* relaxed, all of them: any answer is safe for whoever reads it */
    uint64_t deadline = cc_deadline_in(1000000);
    while (cc_os_now_() < deadline) cc_os_wait_(&nobody, 0, deadline);
    cc_cas_relaxed(&cc_fence_mode_, &lost, CC_FENCE_SYMMETRIC_);
}

void cc_fence_heavy_(void)
{
    uint32_t mode = cc_load_relaxed(&cc_fence_mode_); /* relaxed: it only chooses between ways that are all right */
    if (CC_UNLIKELY_(mode == CC_FENCE_UNKNOWN_)) {
        uint32_t found = cc_os_membarrier_register_() ? CC_FENCE_ASYMMETRIC_ : CC_FENCE_SYMMETRIC_;
        /* The first answer stands: one thread may be refused what another was granted. */
        if (cc_cas_relaxed(&cc_fence_mode_, &mode, found)) mode = found; /* relaxed: a system call went before it */
    }
    if (mode == CC_FENCE_ASYMMETRIC_ && cc_os_membarrier_()) return;
    if (mode == CC_FENCE_ASYMMETRIC_ || mode == CC_FENCE_LOST_) fence_lost_();
    cc_fence_full(); /* [event.announce] pairs with cc_fence_light_() */
}

/* The key is read before the announcement: a notifier that claims this thread adds to the epoch after it saw the
 * announcement, so the key is older than that, and wait returns. Read after it, the key could hold the very notify that
 * claimed us, and we would sleep on with nobody counting us. */
uint32_t cc_event_listen(cc_event_t *event)
{
    uint32_t key = cc_load_acquire(&event->epoch); /* [event.epoch] pairs with the add in cc_event_notify_slow_() */
    uint32_t seen = cc_load_relaxed(&event->waiters); /* relaxed: the swap decides */
    for (;;) {
        if ((seen & CC_EVENT_LISTENING_) + (seen & CC_EVENT_CLAIMS_) / CC_EVENT_CLAIM_ >= CC_EVENT_LISTENING_) {
            cc_os_yield_(); /* as many as fit the word */
            seen = cc_load_relaxed(&event->waiters);
        } else if (cc_cas_weak_acquire(&event->waiters, &seen, seen + 1)) { /* [event.trusted] pairs with the or in slept_() */
            break;
        }
    }
    if (seen & CC_EVENT_TRUSTED_)
        cc_fence_full(); /* [event.announce] pairs with the fence in cc_event_notify_slow_() */
    else
        cc_fence_heavy_(); /* [event.announce] pairs with cc_fence_light_() */
    return key;
}

/* A thread that stops listening after a notifier made its claim sees what that notifier wrote. It may have used up the wake-up,
 * and the system brings no order with one: the epoch and the claims may still read as before. This swap cannot, because it
 * reads the newest value. So whoever looks at the condition next finds it hold, or knows that another thread has used it up. */
void cc_event_cancel(cc_event_t *event)
{
    uint32_t seen = cc_load_relaxed(&event->waiters), rest; /* relaxed: the swap decides */
    do rest = (seen & CC_EVENT_CLAIMS_) ? seen - CC_EVENT_CLAIM_ : seen - 1;
    while (!cc_cas_weak_acquire(&event->waiters, &seen, rest)); /* [event.claim] pairs with the claim in notify */
}

/* After so many sleeps the next notifier is likely to find somebody, too, and a fence of its own costs it little beside the
 * wake-up. After so many notifies that found nobody, with no sleep between them, their fences have cost about half of the one
 * that all threads pass (measured on AMD Zen 3: 4 ns each against 0.4 us, and more for those whom it interrupts). */
#if !defined(CC_EVENT_SLEEPS)
#define CC_EVENT_SLEEPS 4
#define CC_EVENT_IDLE   64
#endif

/* First every notifier must know that it has to fence, and only then may a sleeper rely on it: hence two bits, and between
 * them the fence that all threads pass. A notifier that did not see FENCED before it has its write out by then, and the
 * release passes that on to whoever finds TRUSTED. */
static void slept_(cc_event_t *event)
{
    uint32_t sleeps = cc_load_relaxed(&event->sleeps) + 1; /* relaxed, all: a guess */
    bool fenced = (cc_load_relaxed(&event->waiters) & CC_EVENT_FENCED_) != 0;
    cc_store_relaxed(&event->sleeps, fenced || sleeps >= CC_EVENT_SLEEPS ? CC_EVENT_IDLE : sleeps);
    if (fenced || sleeps < CC_EVENT_SLEEPS) return;
    if (cc_fetch_or_relaxed(&event->waiters, CC_EVENT_FENCED_) & CC_EVENT_FENCED_) return; /* relaxed: the fence orders it */
    cc_fence_heavy_(); /* [event.trusted] pairs with cc_fence_light_() */
    (void)cc_fetch_or_release(&event->waiters, CC_EVENT_TRUSTED_); /* [event.trusted] pairs with the swap in cc_event_listen() */
}

/* One sleep and no loop. There are systems on which a sleep that ends with a signal or at its deadline may have used up a
 * wake-up (OpenBSD; Windows as Wine has it). A thread that slept on would keep that wake-up, and a claim, from the others. */
bool cc_event_wait_until(cc_event_t *event, uint32_t key, uint64_t deadline)
{
    int woken = EAGAIN;
    if (cc_load_acquire(&event->epoch) == key) /* [event.epoch] pairs with the add in cc_event_notify_slow_() */
        woken = cc_os_wait_(&event->epoch, key, deadline);
    bool expired = woken == ETIMEDOUT && cc_os_now_() >= deadline;
    bool notified = cc_load_acquire(&event->epoch) != key; /* [event.epoch] the last look, after the deadline */
    if (notified && woken == 0) {
        cc_costs_woken_((uint32_t)((uint32_t)cc_os_now_() - cc_load_relaxed(&event->woken_at))); /* relaxed: a statistic */
        slept_(event);
    }
    cc_event_cancel(event);
    return notified || !expired;
}

void cc_event_notify_slow_(cc_event_t *event, bool all)
{
    cc_fence_full(); /* [event.announce] pairs with the full fence in cc_event_listen() */
    uint32_t idle, seen = cc_load_relaxed(&event->waiters); /* relaxed: the fence orders it, the swaps decide */
    for (;;) {
        uint32_t listening = seen & CC_EVENT_LISTENING_, claim = all ? listening : 1;
        if (listening > 0) {
            /* relaxed: the fence before it releases what a thread that takes up the claim is to see, [event.claim] */
            if (cc_cas_weak_relaxed(&event->waiters, &seen, seen - claim + claim * CC_EVENT_CLAIM_)) break;
        } else if (seen != (CC_EVENT_FENCED_ | CC_EVENT_TRUSTED_)) {
            return; /* nobody, or another notifier claimed them after our write */
        } else if ((idle = cc_load_relaxed(&event->sleeps)) > 1) { /* relaxed, both: a guess */
            cc_store_relaxed(&event->sleeps, idle - 1);
            return; /* nobody right now */
        } else if (cc_cas_relaxed(&event->waiters, &seen, 0)) { /* relaxed: who listens next finds it in this very word */
            cc_store_relaxed(&event->sleeps, 0); /* relaxed: a guess */
            return; /* nobody sleeps here any more: back to the light fence */
        }
    }
    cc_store_relaxed(&event->woken_at, (uint32_t)cc_os_now_()); /* relaxed: a statistic */
    cc_fetch_add_release(&event->epoch, 1); /* [event.epoch] pairs with the loads in listen and wait */
    cc_os_wake_(&event->epoch, all ? CC_OS_ALL : 1);
}

/* What CC_EVENT_AWAIT does before it sleeps while its event has not learned yet: as CC_SNOOZE_INIT with a pause of 32 ns (AMD
 * Zen 4), 127 pauses and 4 yields, the first as a time. */
#if !defined(CC_EVENT_SPIN_NS)
#define CC_EVENT_SPIN_NS 4000
#endif
#if !defined(CC_EVENT_YIELDS)
#define CC_EVENT_YIELDS 4
#endif

/* The event's word: 0, or 1 + yields + 8 * pauses. */
static cc_snooze_t snooze_(const cc_event_t *event)
{
    uint32_t word = cc_load_relaxed(&event->snooze); /* relaxed: a guess */
    cc_snooze_t snooze = { (word - 1) / 8, (word - 1) % 8 };
    if (word == 0) snooze.pauses = cc_backoff_pauses_(CC_EVENT_SPIN_NS), snooze.yields = CC_EVENT_YIELDS;
    return snooze;
}

/* Notifiers read that line: so it is written only if there is something new. */
static void learn_snooze_(cc_event_t *event, cc_ending_t ending, uint32_t most)
{
    cc_snooze_t learned = cc_snooze_learned_(snooze_(event), ending, most < UINT32_MAX / 8 ? most : UINT32_MAX / 8 - 1);
    uint32_t word = 1 + learned.yields + 8 * learned.pauses;
    if (cc_load_relaxed(&event->snooze) != word) cc_store_relaxed(&event->snooze, word); /* relaxed, both: a guess */
}

/* phase        the condition was just looked at, and ...             next
 * START        nothing was done yet                                  SNOOZING, or over by a past deadline
 * SNOOZING     the pauses are used up                                yield and stay, LISTENING, or ENDED
 * LISTENING    it was announced before that look                     sleep, then SLEPT or EXPIRED
 * SLEPT        it was woken                                          LISTENING
 * ENDED        the deadline passed while snoozing                    over
 * EXPIRED      the deadline passed in the sleep                      over */
enum { START, SNOOZING, LISTENING, SLEPT, ENDED, EXPIRED };

bool cc_event_await_slow_(cc_event_await_t *await)
{
    uint64_t now;
    switch (await->phase) {
    case START: {
        cc_snooze_t snooze = snooze_(await->event);
        if (!cc_costs_may_spin_()) snooze.pauses = 0;
        if (await->deadline != CC_FOREVER) {
            now = cc_os_now_();
            if (now >= await->deadline) return false;
            uint32_t left = cc_backoff_pauses_(await->deadline - now);
            snooze.pauses = snooze.pauses < left ? snooze.pauses : left;
        }
        await->phase = SNOOZING;
        await->most = cc_snooze_most_();
        await->pauses = await->all_pauses = snooze.pauses;
        await->yields = await->all_yields = snooze.yields;
        return true;
    }
    case SNOOZING:
        now = cc_os_now_();
        await->since = (uint32_t)now;
        if (now >= await->deadline) return await->phase = ENDED, true;
        if (await->yields > 0) {
            await->yields--;
            cc_os_yield_();
            if (await->deadline != CC_FOREVER && cc_os_now_() >= await->deadline) await->phase = ENDED;
            return true;
        }
        /* fall through */
    case SLEPT:
        await->key = cc_event_listen(await->event);
        await->phase = LISTENING;
        return true;
    case LISTENING:
        await->phase = cc_event_wait_until(await->event, await->key, await->deadline) ? SLEPT : EXPIRED;
        return true;
    default:
        return false;
    }
}

void cc_event_await_end_(cc_event_await_t *await)
{
    cc_snooze_t snooze = { await->all_pauses, await->all_yields };
    cc_event_t *event = await->event;
    uint32_t woken_at;
    switch (await->phase) {
    case SNOOZING:
        if (await->yields < snooze.yields)
            learn_snooze_(event, cc_snooze_yielded_((uint32_t)((uint32_t)cc_os_now_() - await->since)), await->most);
        else if (await->pauses < snooze.pauses && snooze.pauses < await->most) /* else there is nothing to learn */
            learn_snooze_(event, CC_SPUN_, await->most);
        break;
    case LISTENING: cc_event_cancel(event); break;
    case SLEPT:
        woken_at = cc_load_relaxed(&event->woken_at); /* relaxed: a guess */
        learn_snooze_(event, cc_snooze_slept_(snooze, await->since, woken_at), await->most);
        break;
    case EXPIRED: learn_snooze_(event, CC_SLEPT_LONG_, await->most); break;
    default: break;
    }
}
