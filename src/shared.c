/* shared.c: a channel between processes: making and opening its segment, waiting, and deaths. shared.h says how it lies
 * in memory; shared_spsc.c and shared_mpmc.c are the two kinds. */
#include "shared.h"

#include "backoff.h"
#include "snooze.h"
#include "counters.h"
#include "event.h"
#include "os.h"

#include <string.h>

/* ---- Deaths ----------------------------------------------------------------------------------------------------- */

/* How often a process that waits looks whether another has died. After one such time somebody has seen a death, and
 * after another one everybody who sleeps has; shared.h promises 200 ms, which leaves as much for a busy machine. */
#if !defined(CC_SHARED_LOOK_MS)
#define CC_SHARED_LOOK_MS 50
#endif
enum { NS_PER_MS = 1000000 };

static void wake_all_(cc_event_t *event)
{
    (void)cc_fetch_add_release(&event->epoch, 1); /* [shared.epoch] of all: pairs with the load in listen_shared_() */
    (void)cc_os_wake_shared_(&event->epoch, CC_OS_ALL_);
}

static bool says_(uint32_t word, uint32_t state)
{
    return (word & CC_STATE_MASK_) == state;
}

/* Notes that a participant is dead. Nobody can get its number meanwhile, because this process has its lock. Several may
 * note the same death at once: the swap of the first succeeds, and the others find that it is done. */
static void bury_(cc_shared_t *shared, uint32_t participant, uint32_t word)
{
    uint32_t dead = word - CC_ALIVE_ + CC_DEATH_ + CC_DEAD_;
    if (cc_channel_is_spsc_(cc_shared_channel(shared))) {
        cc_shared_spsc_bury_(cc_shared_channel(shared));
        dead -= CC_DEAD_; /* no slot carries its number, so that another may have it at once */
    }
    /* [shared.buried] pairs with the loads of a participant's word */
    (void)cc_cas_release(&shared->segment->participants[participant], &word, dead);
}

/* Asks the system about each of the others that says ALIVE; returns whether one of them was dead. */
static bool find_deaths_(cc_shared_t *shared)
{
    bool found = false;
    for (uint32_t i = 1; i < CC_PARTICIPANTS_; i++) {
        uint32_t *participant = &shared->segment->participants[i];
        /* relaxed: whether it is worth asking the system */
        if (!says_(cc_load_relaxed(participant), CC_ALIVE_) || i == CC_SHARED_SELF_(shared)) continue;
        if (!cc_os_segment_lock_shared_(shared->own, i)) continue;
        /* relaxed: the lock orders what its owner wrote; if another has found it dead first, the swap fails */
        uint32_t word = cc_load_relaxed(participant);
        if (says_(word, CC_ALIVE_)) {
            bury_(shared, i, word);
            found = true;
        }
        cc_os_segment_unlock_(shared->own, i);
    }
    return found;
}

/* The threads of a process have its locks in common, and one of them would give back what another still needs. So one
 * looks at a time, and the others return at once. */
void cc_shared_look_for_deaths_(cc_shared_t *shared, uint32_t now)
{
    cc_channel_t *channel = cc_shared_channel(shared);
    cc_store_relaxed(&shared->looked_at, now); /* relaxed: a guess */
    /* [shared.look] pairs with the store below */
    if (cc_exchange_acquire(CC_SHARED_LOOKING_(shared), 1) != 0) return;
    bool found = find_deaths_(shared);
    cc_store_release(CC_SHARED_LOOKING_(shared), 0); /* [shared.look] pairs with the exchange of the next to look */
    if (!found) return;
    wake_all_(&channel->not_full);
    wake_all_(&channel->not_empty);
}

/* Returns EOWNERDEAD if there is a death that this process was not told of, and by that it is told; else 0. */
static int report_(cc_shared_t *shared)
{
    for (uint32_t i = 1; i < CC_PARTICIPANTS_; i++) {
        /* [shared.buried] pairs with the swap in bury_() */
        uint32_t deaths = cc_load_acquire(&shared->segment->participants[i]) / CC_DEATH_;
        uint32_t reported = cc_load_relaxed(&CC_SHARED_REPORTED_(shared)[i]); /* relaxed, both: only a count */
        /* Another thread may have read a newer number than this one, and reported it. They have 30 bits. */
        bool is_news = (int32_t)((deaths - reported) * CC_DEATH_) > 0;
        if (is_news && cc_cas_relaxed(&CC_SHARED_REPORTED_(shared)[i], &reported, reported + 1)) return EOWNERDEAD;
    }
    return 0;
}

/* A wait that is soon over does not read the clock, and many of them in a row would never look for deaths. So every
 * 256th wait does. Reading the clock takes 20 ns (`concede info` on AMD Zen 3), which is less than 0.1 ns for each
 * wait; and 256 waits that spin for as long as is worth it, some 25 us, take 6 ms. */
enum { LOOK_EVERY = 256 };
static bool is_turn_(cc_shared_t *shared)
{
    uint32_t waits = cc_load_relaxed(&shared->waits) + 1; /* relaxed, both: a guess */
    cc_store_relaxed(&shared->waits, waits);
    return waits % LOOK_EVERY == 0;
}

static void look_if_due_(cc_shared_t *shared)
{
    uint32_t now = (uint32_t)(cc_os_now_() / NS_PER_MS);
    /* relaxed: a guess */
    if (now - cc_load_relaxed(&shared->looked_at) >= CC_SHARED_LOOK_MS) cc_shared_look_for_deaths_(shared, now);
}

bool cc_shared_is_dead_(cc_shared_t *shared, uint32_t participant)
{
    /* [shared.taken] after the load of the stamp; [shared.buried] pairs with the swap in bury_() */
    if (says_(cc_load_acquire(&shared->segment->participants[participant]), CC_DEAD_)) return true;
    if (is_turn_(shared)) look_if_due_(shared);
    return false;
}

int cc_shared_report_(cc_channel_t *channel, bool has_time)
{
    cc_shared_t *shared = cc_shared_of_(channel);
    if (!is_turn_(shared) && !has_time) return 0;
    look_if_due_(shared);
    int result = report_(shared);
    if (result != 0)
        cc_store_relaxed(&shared->waits, LOOK_EVERY - 1); /* relaxed: a guess; the next wait looks, there may be more */
    return result;
}

/* ---- Sleeping and waking ---------------------------------------------------------------------------------------- */

/* The words of an event of a shared channel. They count nobody, so that a dead process need not be counted out.
 *
 *   word      bits     says                                             who moves it
 *   epoch     0..31    slept on                                         + 1: whoever wakes
 *   waiters   0        somebody may sleep, or is about to               1: whoever is about to sleep; 0: whoever woke
 *                                                                       nobody, if nobody has come since it looked
 *             16..31   how often somebody was about to                  + 1: whoever is about to sleep
 *   woken_at  0..31    cc_now_ns() of the last wake                     whoever wakes
 *
 * Why no wake-up is lost: [shared.announce] in doc/memory-model.md. */
enum { ASLEEP_BIT = 1, ONE_MORE = 1 << 16 };

static void announce_shared_(cc_event_t *event)
{
    uint32_t seen = cc_load_relaxed(&event->waiters); /* relaxed, all: the fence after it orders it */
    for (int tries = 0; tries < 64; tries++)
        if (cc_cas_relaxed(&event->waiters, &seen, (seen + ONE_MORE) | ASLEEP_BIT)) return;
    /* Processes that keep to the rules do not change the word so often. Against one that does not, the bit alone will
     * do: this process must not loop for ever. */
    cc_store_relaxed(&event->waiters, ASLEEP_BIT);
}

void cc_shared_notify_(cc_event_t *event)
{
    uint32_t seen = cc_load_relaxed(&event->waiters); /* relaxed: [shared.announce], by the fence of the caller */
    if (!(seen & ASLEEP_BIT)) return;
    cc_store_relaxed(&event->woken_at, (uint32_t)cc_os_now_()); /* relaxed: a statistic */
    (void)cc_fetch_add_release(&event->epoch, 1); /* [shared.epoch] of one: pairs with the load in listen_shared_() */
    uint32_t woken = cc_os_wake_shared_(&event->epoch, 1);
    cc_count_wake_(CC_COUNT_CHANNEL_);
    /* relaxed: whoever comes next changes the word, and then this fails */
    if (woken == 0) (void)cc_cas_relaxed(&event->waiters, &seen, seen & ~(uint32_t)ASLEEP_BIT);
}

/* Membarrier reaches all processes that have a segment open, because each registered for it. If the system takes it
 * away, a millisecond does the same: fence.c says why. */
void cc_shared_fence_heavy_(void)
{
    if (cc_os_membarrier_shared_()) return; /* [shared.announce] pairs with cc_fence_light_() */
    cc_os_sleep_(NS_PER_MS);
    cc_fence_full(); /* [shared.announce] as above */
}

/* Phase 2 of a wait: announces this thread, and the caller tries again. */
static uint32_t listen_shared_(cc_event_t *event)
{
    uint32_t key = cc_load_acquire(&event->epoch); /* [shared.epoch] pairs with the add of whoever wakes */
    announce_shared_(event);
    cc_shared_fence_heavy_(); /* [shared.announce] pairs with cc_fence_light_() */
    return key;
}

/* Notes how a sleep ended; returns whether there is time left. */
static bool note_sleep_(cc_event_await_t *await, int woken, uint64_t began, uint64_t now)
{
    if (woken != EAGAIN) {
        await->slept = true;
        await->slept_ns += now - began;
    }
    await->woken = woken == 0;
    return now < await->deadline;
}

/* Phase 3: sleeps, but never for longer than until the next look for deaths. */
static bool sleep_shared_(cc_event_await_t *await)
{
    const cc_event_t *event = await->elsewhere->there;
    uint64_t began = cc_os_now_(), until = began + (uint64_t)CC_SHARED_LOOK_MS * NS_PER_MS;
    if (await->deadline < until) until = await->deadline;
    int woken = cc_os_wait_shared_(&event->epoch, await->key, until);
    uint64_t now = cc_os_now_();
    uint32_t woken_at = cc_load_relaxed(&event->woken_at); /* relaxed, all: statistics */
    cc_store_relaxed(&await->event->woken_at, woken_at);
    if (woken == 0 && cc_load_relaxed(&event->epoch) == await->key + 1) cc_snooze_woken_(woken_at, now);
    return note_sleep_(await, woken, began, now);
}

void cc_shared_sleep_elsewhere_(cc_channel_t *channel, cc_direction_t direction, cc_event_await_t *await,
                                struct cc_event_elsewhere *elsewhere)
{
    elsewhere->listen = listen_shared_;
    elsewhere->sleep = sleep_shared_;
    elsewhere->there = cc_channel_event_(channel, direction);
    await->elsewhere = elsewhere;
    await->event = &cc_shared_of_(channel)->learned[direction];
}

void cc_shared_relay_rest_(cc_channel_t *channel, cc_direction_t direction)
{
    cc_event_t *event = cc_channel_event_(channel, direction);
    bool has_more = cc_channel_is_closed_any_(channel) || cc_channel_has_(channel, direction, 1);
    if (has_more && cc_event_has_waiters_(event)) cc_shared_notify_(event);
}

/* ---- A select --------------------------------------------------------------------------------------------------- */

/* A case of a shared channel is in no list. So its `next_` holds the epoch that was read before the announcement. */
static void set_key_(cc_select_case_t *one, uint32_t key)
{
    one->next_ = (cc_select_case_t *)(uintptr_t)key;
}

static uint32_t key_(const cc_select_case_t *one)
{
    return (uint32_t)(uintptr_t)one->next_;
}

static bool is_shared_case_(const cc_select_case_t *one)
{
    return one->channel && cc_channel_is_shared_(one->channel);
}

void cc_shared_select_join_(cc_select_case_t *one)
{
    cc_event_t *event = cc_select_event_(one);
    set_key_(one, cc_load_acquire(&event->epoch)); /* [shared.epoch] pairs with the add of whoever wakes */
    announce_shared_(event);
}

/* Nobody notifies the select's own event: the doors only move its epoch on. So there is nothing to announce. */
static uint32_t listen_select_(cc_event_t *own)
{
    return cc_load_relaxed(&own->epoch); /* relaxed: no door knows it yet, or any more */
}

/* When the select was woken, for what it learns: when a shared channel says so, or else just now. */
static uint32_t woken_at_(const cc_selector_t *selector, uint64_t now)
{
    for (size_t i = 0; i < selector->count; i++) {
        const cc_select_case_t *one = &selector->cases[i];
        if (is_shared_case_(one) && cc_load_relaxed(&cc_select_event_(one)->epoch) != key_(one))
            return cc_load_relaxed(&cc_select_event_(one)->woken_at); /* relaxed, both: statistics */
    }
    return (uint32_t)now;
}

/* Where the system cannot wait for several words, or not for so many, the select sleeps on one of them and looks at all
 * every millisecond. A message may be seen so late then. */
enum { POLL_NS = NS_PER_MS };

/* Lists the words that a select sleeps on: those of its shared channels, and then its own if it has private channels,
 * too. Returns how many, and tells whether the system takes so many. */
static size_t list_words_(const cc_selector_t *selector, uint32_t key, cc_os_word_t *words, bool *all_fit)
{
    size_t count = 0;
    bool has_private = false;
    *all_fit = true;
    for (size_t i = 0; i < selector->count; i++) {
        const cc_select_case_t *one = &selector->cases[i];
        if (!is_shared_case_(one)) {
            has_private = has_private || one->channel;
        } else if (count < CC_OS_WORDS_MAX_ - 1) {
            cc_os_word_t word = { &cc_select_event_(one)->epoch, key_(one), true };
            words[count++] = word;
        } else {
            *all_fit = false;
        }
    }
    if (has_private) {
        cc_os_word_t own = { &selector->event.epoch, key, false };
        words[count++] = own;
    }
    return count;
}

static bool sleep_select_(cc_event_await_t *await)
{
    cc_selector_t *selector = (cc_selector_t *)await->event;
    cc_os_word_t words[CC_OS_WORDS_MAX_];
    bool all_fit;
    size_t count = list_words_(selector, await->key, words, &all_fit);
    uint64_t began = cc_os_now_();
    uint64_t until = began + (all_fit ? (uint64_t)CC_SHARED_LOOK_MS * NS_PER_MS : POLL_NS);
    if (await->deadline < until) until = await->deadline;
    int woken = count > 1 ? cc_os_wait_several_(words, count, until)
                          : cc_os_wait_shared_(words[0].word, words[0].expected, until);
    if (woken == ENOSYS) {
        if (began + POLL_NS < until) until = began + POLL_NS;
        woken = cc_os_wait_shared_(words[0].word, words[0].expected, until);
    }
    uint64_t now = cc_os_now_();
    /* relaxed, both: a statistic; a door that woke this thread has said when */
    if (cc_load_relaxed(&selector->event.epoch) == await->key)
        cc_store_relaxed(&selector->event.woken_at, woken_at_(selector, now));
    return note_sleep_(await, woken, began, now);
}

cc_event_t *cc_shared_learned_(cc_channel_t *channel, cc_direction_t direction)
{
    return &cc_shared_of_(channel)->learned[direction];
}

void cc_shared_select_elsewhere_(cc_selector_t *selector, cc_event_await_t *await, struct cc_event_elsewhere *elsewhere)
{
    elsewhere->listen = listen_select_;
    elsewhere->sleep = sleep_select_;
    elsewhere->there = &selector->event;
    await->elsewhere = elsewhere;
}

bool cc_shared_select_reports_(const cc_selector_t *selector, bool has_time, size_t *which)
{
    for (size_t i = 0; i < selector->count; i++) {
        cc_select_case_t *one = &selector->cases[i];
        if (!is_shared_case_(one)) continue;
        int result = cc_shared_report_(one->channel, has_time);
        if (result == 0) continue;
        one->result = result;
        *which = i;
        return true;
    }
    return false;
}

/* ---- Closing ---------------------------------------------------------------------------------------------------- */

void cc_shared_close_channel_(cc_channel_t *channel)
{
    uint32_t seen = CC_CHANNEL_OPEN_;
    /* An open channel says OPEN or MEND, and goes from one to the other when a process comes or dies. It does so 64
     * times in a row only if another process breaks the rules, and then this one must not loop for ever. */
    for (int tries = 0; tries < 64; tries++) {
        /* [channel.closed] pairs with the loads of `closed` */
        if (cc_cas_release(&channel->closed, &seen, CC_CHANNEL_CLOSED_)) break;
        if (!cc_channel_accepts_(seen)) break;
    }
    /* [shared.announce] both: the close before, the event after */
    if (cc_event_has_waiters_(&channel->not_full)) wake_all_(&channel->not_full);
    if (cc_event_has_waiters_(&channel->not_empty)) wake_all_(&channel->not_empty);
}

cc_channel_t *cc_shared_channel(cc_shared_t *shared)
{
    return (cc_channel_t *)(void *)(shared + 1);
}

/* ---- Coming and going ------------------------------------------------------------------------------------------- */

/* Takes a participant's number that is nobody's, and returns it, or 0. A process that shares the lock of a number knows
 * that it stays nobody's, and only then takes the lock alone: so no dead one is ever taken for alive. `*again` becomes
 * true if it may be another time: another process was at one of the numbers, or one is a dead one's, and whoever sweeps
 * first makes it nobody's. */
static uint32_t take_number_(cc_shared_t *shared, bool *again)
{
    for (uint32_t i = 1; i < CC_PARTICIPANTS_; i++) {
        uint32_t *participant = &shared->segment->participants[i];
        uint32_t seen = cc_load_relaxed(participant); /* relaxed: whether it is worth asking the system */
        if (says_(seen, CC_ALIVE_)) continue;
        if (says_(seen, CC_NOBODY_) && cc_os_segment_lock_shared_(shared->own, i)) {
            uint32_t word = cc_load_acquire(participant); /* [shared.buried] pairs with the swap in bury_() */
            if (says_(word, CC_NOBODY_) && cc_os_segment_lock_(shared->own, i)) {
                cc_store_release(participant, word + CC_ALIVE_); /* [shared.buried] pairs with the loads of the word */
                return i;
            }
            cc_os_segment_unlock_(shared->own, i);
        }
        *again = true;
    }
    return 0;
}

/* Two processes that come at once may be in each other's way at every number, and they stay in step: what they do takes
 * both the same time, and the system lets them at its locks in turn. So from the second try on each sleeps for a random
 * while first, and hardly meets the same one 64 times, as often as there are participants. The seed is the time,
 * because children of one process have everything else in common. */
enum { TRIES_TO_JOIN = 64, APART_NS = NS_PER_MS };
static void fall_out_of_step_(void)
{
    uint32_t rng = (uint32_t)cc_os_now_();
    cc_os_sleep_(cc_backoff_random_up_to_(&rng, APART_NS));
}

/* Returns 0 or EBUSY. */
static int join_(cc_shared_t *shared)
{
    uint32_t number = 0;
    cc_shared_look_for_deaths_(shared, (uint32_t)(cc_os_now_() / NS_PER_MS));
    for (int tries = 0; tries < TRIES_TO_JOIN; tries++) {
        bool again = false;
        number = take_number_(shared, &again);
        if (number != 0 || !again) break;
        if (tries > 0) fall_out_of_step_();
        if (!cc_channel_is_spsc_(cc_shared_channel(shared))) cc_shared_mpmc_sweep_(cc_shared_channel(shared));
    }
    if (number == 0) return EBUSY;
    CC_SHARED_SELF_(shared) = number;
    /* The sender before this process may have died since it looked. This process may send from now on, and finds out
     * first how far that one got. */
    if (cc_channel_is_spsc_(cc_shared_channel(shared))) cc_shared_spsc_bury_(cc_shared_channel(shared));
    for (uint32_t k = 1; k < CC_PARTICIPANTS_; k++) {
        /* [shared.buried] as above. This process is not told of deaths before it came. */
        CC_SHARED_REPORTED_(shared)[k] = cc_load_acquire(&shared->segment->participants[k]) / CC_DEATH_;
    }
    return 0;
}

/* Gives this process's number up. Its lock goes after that, with the descriptor. */
static void leave_(cc_shared_t *shared)
{
    uint32_t *participant = &shared->segment->participants[CC_SHARED_SELF_(shared)];
    /* relaxed load: this process alone moves it; [shared.buried] the store pairs with the loads of this word */
    cc_store_release(participant, cc_load_relaxed(participant) & ~(uint32_t)CC_STATE_MASK_);
}

/* ---- Segments --------------------------------------------------------------------------------------------------- */

#if !defined(CC_MODEL)

/* No page is larger than the header and the gap, and none is smaller than PAGE_MIN. */
enum { HEADER = 65536, GAP = 65536, PAGE_MIN = 4096 };
enum { VERSION = 3 };
#define MAGIC UINT32_C(0x636f6e63) /* "conc" */

#define PRIVATE_BYTES offsetof(cc_channel_t, spsc)

CC_STATIC_ASSERT_(sizeof(cc_segment_t) <= HEADER && sizeof(cc_shared_t) + PRIVATE_BYTES <= GAP &&
                      sizeof(cc_shared_t) % CC_CACHE_LINE == 0 && PRIVATE_BYTES % CC_CACHE_LINE == 0,
                  "what is shared begins on a page");

static uint64_t mix_(uint64_t hash, uint64_t value)
{
    for (int i = 0; i < 8; i++, value >>= 8) hash = (hash ^ (value & 0xff)) * UINT64_C(0x100000001b3); /* FNV-1a */
    return hash;
}

/* A number of how a channel lies in memory. Two libraries can share one if it is the same in both. */
static uint64_t layout_(void)
{
    uint64_t hash = mix_(UINT64_C(0xcbf29ce484222325), sizeof(cc_channel_t));
    hash = mix_(hash, sizeof(cc_index_) << 16 | CC_CACHE_LINE);
    hash = mix_(hash, offsetof(cc_channel_t, not_full) << 16 | offsetof(cc_channel_t, not_empty));
    hash = mix_(hash, offsetof(cc_channel_t, closed) << 16 | PRIVATE_BYTES);
    hash = mix_(hash, offsetof(cc_spsc_t, head) << 16 | offsetof(cc_spsc_t, next));
    return mix_(hash, offsetof(cc_segment_t, participants) << 16 | cc_slot_layout_(24).stride);
}

static uint64_t check_(const cc_segment_t *segment)
{
    uint64_t hash = mix_(segment->layout, (uint64_t)segment->version << 32 | segment->kind);
    hash = mix_(mix_(hash, segment->bytes), segment->capacity);
    hash = mix_(mix_(hash, segment->message_size), segment->snooze_iters);
    return mix_(hash, segment->locks);
}

static bool is_name_(const char *name)
{
    if (!name || name[0] != '/') return false;
    size_t length = strlen(name);
    if (length < 2 || length > CC_OS_NAME_MAX_ || strchr(name + 1, '/')) return false;
    return strcmp(name, "/.") != 0 && strcmp(name, "/..") != 0;
}

/* Tells the bytes of a segment for these options. Returns 0, EINVAL, or ENOSYS if this machine cannot have such a
 * channel. */
static int segment_bytes_(const cc_channel_options_t *options, size_t *bytes)
{
    int error = cc_channel_sizeof(options, bytes);
    if (error != 0) return error;
    if (options->kind == CC_CHANNEL_MPMC) { /* with 32 bits its slots are larger than those of a private channel */
        size_t capacity = 1, stride = cc_shared_mpmc_layout_(options->message_size).stride;
        while (capacity < options->capacity) capacity *= 2;
        if (stride > SIZE_MAX / 2 / capacity) return EINVAL;
        *bytes = sizeof(cc_channel_t) + capacity * stride;
    }
    if (*bytes > SIZE_MAX / 2) return EINVAL;
    *bytes += HEADER - PRIVATE_BYTES;
    return options->kind == CC_CHANNEL_MPMC && !CC_ARCH_HAS_ATOMIC_64_ ? ENOSYS : 0;
}

static cc_shared_t *map_(int own, size_t bytes)
{
    unsigned char *mapping = (unsigned char *)cc_os_segment_map_(own, HEADER, GAP, bytes);
    if (!mapping) return NULL;
    cc_shared_t *shared = (cc_shared_t *)(void *)(mapping + HEADER + GAP - PRIVATE_BYTES) - 1;
    shared->segment = (cc_segment_t *)(void *)mapping;
    shared->bytes = bytes;
    shared->own = own;
    shared->forks = cc_os_forks_();
    return shared;
}

static void unmap_(cc_shared_t *shared)
{
    if (shared->forks == cc_os_forks_()) cc_os_segment_close_(shared->own);
    cc_os_segment_unmap_(shared->segment, GAP, shared->bytes);
}

/* Fills the private line of the channel, from options that were checked. */
static void set_private_(cc_shared_t *shared, const cc_channel_options_t *options, size_t capacity)
{
    cc_channel_t *channel = cc_shared_channel(shared);
    bool mpmc = options->kind == CC_CHANNEL_MPMC;
    size_t size = options->message_size;
    channel->shape = mpmc ? CC_SHARED_MPMC_SHAPE_(size) : cc_channel_shape_(CC_CHANNEL_SPSC, size);
    channel->mask = capacity - 1;
    channel->layout = mpmc ? cc_shared_mpmc_layout_(size) : cc_slot_layout_(size);
    channel->snooze_iters = options->snooze_iters;
    channel->allocated_before = CC_CHANNEL_SHARED_;
}

/* Fills the header of a new segment, but for what says that it is whole. */
static void describe_(cc_segment_t *segment, const cc_channel_options_t *options, size_t bytes, size_t capacity)
{
    segment->version = VERSION;
    segment->kind = options->kind;
    segment->layout = layout_();
    segment->bytes = bytes;
    segment->capacity = capacity;
    segment->message_size = options->message_size;
    segment->snooze_iters = options->snooze_iters;
    segment->check = check_(segment);
}

/* Maps a segment that was just made, and finds room for its locks. Where that fails nothing is left of the segment. */
static int map_new_(cc_shared_t **shared, const char *name, size_t bytes, int own, const int *handed_on)
{
    cc_shared_t *s = map_(own, bytes);
    int error = s ? cc_os_segment_place_locks_(own, &s->segment->locks) : ENOMEM;
    *shared = s;
    if (error == 0) return 0;
    if (s)
        unmap_(s);
    else
        cc_os_segment_close_(own);
    if (name)
        (void)cc_os_segment_unlink_(name);
    else
        cc_os_segment_close_(*handed_on);
    return error;
}

static int create_(cc_shared_t **shared, const char *name, const cc_channel_options_t *options, int *handed_on)
{
    size_t bytes;
    int own, error = segment_bytes_(options, &bytes);
    if (error == 0 && !shared) error = EINVAL;
    if (error != 0) return error;
    if (!cc_os_membarrier_shared_register_()) return ENOSYS;
    error = cc_os_segment_create_(name, bytes, &own, handed_on);
    if (error != 0) return error;
    cc_shared_t *s;
    error = map_new_(&s, name, bytes, own, handed_on);
    if (error != 0) return error;
    cc_channel_t *channel;
    error = cc_channel_init(cc_shared_channel(s), bytes - HEADER + PRIVATE_BYTES, options, &channel);
    size_t capacity = cc_channel_capacity(channel);
    set_private_(s, options, capacity);
    if (options->kind == CC_CHANNEL_MPMC) cc_shared_mpmc_init_(channel);
    describe_(s->segment, options, bytes, capacity);
    (void)join_(s);                              /* 0: nobody else has come yet */
    cc_store_release(&s->segment->magic, MAGIC); /* [shared.made] pairs with the load in is_ours_() */
    *shared = s;
    return error; /* 0: the options were checked before */
}

int cc_shared_create(cc_shared_t **shared, const char *name, const cc_channel_options_t *options)
{
    int unused;
    return is_name_(name) ? create_(shared, name, options, &unused) : EINVAL;
}

int cc_shared_create_fd(cc_shared_t **shared, const cc_channel_options_t *options, int *fd)
{
    return fd ? create_(shared, NULL, options, fd) : EINVAL;
}

/* Whether the segment is one of ours, whole, and of so many bytes, which a system may have rounded up to pages. If so
 * it tells what is in it. Each word is read once, because another process may change it at any time. */
static bool is_ours_(const cc_segment_t *shared_segment, size_t bytes, cc_channel_options_t *options, uint64_t *locks)
{
    cc_segment_t segment;
    size_t needed;
    if (cc_load_acquire(&shared_segment->magic) != MAGIC) return false; /* [shared.made] pairs with the creator's */
    cc_atomic_copy_(&segment, shared_segment, offsetof(cc_segment_t, participants));
    if (segment.version != VERSION || segment.layout != layout_()) return false;
    if (segment.bytes != bytes && (bytes % PAGE_MIN != 0 || bytes - segment.bytes >= HEADER)) return false;
    if (segment.check != check_(&segment)) return false;
    if (segment.capacity == 0 || (segment.capacity & (segment.capacity - 1)) != 0) return false;
    options->capacity = (size_t)segment.capacity;
    options->message_size = (size_t)segment.message_size;
    options->kind = segment.kind;
    options->snooze_iters = segment.snooze_iters;
    *locks = segment.locks;
    if (options->capacity != segment.capacity || options->message_size != segment.message_size) return false;
    return segment_bytes_(options, &needed) == 0 && needed == segment.bytes;
}

static int open_(cc_shared_t **shared, const char *name, int descriptor)
{
    cc_channel_options_t options;
    uint64_t bytes, locks;
    int own;
    if (!shared) return EINVAL;
    if (!cc_os_membarrier_shared_register_()) return ENOSYS;
    int error = cc_os_segment_open_(name, descriptor, &own, &bytes);
    if (error != 0) return error;
    bool fits = bytes > HEADER && bytes <= SIZE_MAX / 2;
    cc_shared_t *s = fits ? map_(own, (size_t)bytes) : NULL;
    if (!s) {
        cc_os_segment_close_(own);
        return fits ? ENOMEM : EPROTO;
    }
    cc_fence_heavy_(); /* settles which fence it is, as in cc_channel_init() */
    error = EPROTO;
    if (is_ours_(s->segment, (size_t)bytes, &options, &locks)) error = cc_os_segment_find_locks_(own, locks);
    if (error == 0) {
        set_private_(s, &options, options.capacity);
        error = join_(s);
    }
    if (error == 0)
        *shared = s;
    else
        unmap_(s);
    return error;
}

int cc_shared_open(cc_shared_t **shared, const char *name)
{
    return is_name_(name) ? open_(shared, name, -1) : EINVAL;
}

int cc_shared_open_fd(cc_shared_t **shared, int fd)
{
    return open_(shared, NULL, fd);
}

int cc_shared_unlink(const char *name)
{
    return is_name_(name) ? cc_os_segment_unlink_(name) : EINVAL;
}

void cc_shared_close(cc_shared_t *shared)
{
    if (!shared) return;
    if (shared->forks == cc_os_forks_()) leave_(shared);
    unmap_(shared);
}

#endif
