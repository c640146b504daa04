/* clients.c: the real sources on the model checker. Each client is one promise of a header, with as few threads as can
 * break it. */
#include "model.h"

/* Waiting that a checker must shrink: one look while spinning, none while yielding, then sleep. */
#define CC_SNOOZE_START_NS     0
#define CC_SNOOZE_START_YIELDS 0
#define CC_EVENT_AWAY_NS       0
#define CC_EVENT_CLAIMS_LAST   1 /* as with many CPUs, where more can happen */
#define CC_LOCK_SPIN_NS        1
#define CC_LOCK_GLANCE_PAUSES  2
#define CC_LOCK_OWED_NS        1 /* the clock stands still unless it jumps */
/* Sleeps after which an event makes its notifiers fence: set by each setup. As many that find nobody end it. */
#define CC_EVENT_SLEEPY  sleeps_until_fenced
#define CC_EVENT_A_SLEEP 1
/* Wake-ups in vain after which one who waits for a lock insists: set by each setup. */
#define CC_LOCK_IN_VAIN wakes_until_it_insists
#include <stdint.h>
static uint32_t sleeps_until_fenced, wakes_until_it_insists;

/* Each call of the heavy fence is a place of its own that a mutant may lack. */
#include <concede/event.h>
#define cc_fence_heavy_(...) HEAVY_FENCE_##__VA_ARGS__()
#define HEAVY_FENCE_void()   cc_fence_heavy_(void) /* its definition */
#define HEAVY_FENCE_()                                            \
    __extension__({                                               \
        MODEL_SITE_(MODEL_HEAVY, ACQ_REL);                        \
        if (model_heavy_(&model_site_here_)) (cc_fence_heavy_)(); \
    })

/* So is the barrier of sequences. */
#include "os.h"
#define cc_os_sequence_barrier_()                                        \
    __extension__({                                                      \
        MODEL_SITE_(MODEL_HEAVY, ACQ_REL);                               \
        !model_heavy_(&model_site_here_) || (cc_os_sequence_barrier_)(); \
    })

/* The channel between processes has a program of its own, shared.c. */
#include "../../src/channel.h"
#define cc_channel_is_shared_(channel)  ((void)(channel), false)
#define cc_shared_send_8_(...)          EINVAL
#define cc_shared_recv_8_(...)          EINVAL
#define cc_shared_mpmc_send_now_(...)   0
#define cc_shared_mpmc_recv_now_(...)   0
#define cc_shared_mpmc_is_drained_(...) true
#define cc_shared_mpmc_has_(...)        false
#define cc_shared_mpmc_end_run_(...)    0

#include <string.h>

#include "../../src/backoff.c"
#include "../../src/channel.c"
#include "../../src/clock.c"
#include "../../src/channel_mpmc.c"
#include "../../src/channel_spsc.c"
#include "../../src/costs.c"
#include "../../src/door.c"
#include "../../src/event.c"
#include "../../src/fence.c"
#include "../../src/lock.c"
#include "../../src/park.c"
#include "../../src/pause.c"
static cc_selector_t selectors[MODEL_THREADS + 1]; /* one for each thread, because stacks hold something else later */
#define CC_SELECTOR_(own)                                       ((void)(own), &selectors[model_self()])
#define cc_shared_select_elsewhere_(selector, await, elsewhere) ((void)(selector), (void)(await), (void)(elsewhere))
#define cc_shared_select_reports_(selector, time, which)        ((void)(selector), (void)(time), (void)(which), false)
#define cc_shared_fence_heavy_()                                ((void)0)
#include "../../src/select.c"
#include "../../src/snooze.c"

static uint32_t data[4], flags[4], items;

/* What is fixed for all clients: nothing is measured, and plain memory starts over. On one CPU nobody spins before
 * sleeping, which is also the shortest way to where wake-ups are lost; the clients with `spins` in their name have
 * two. */
static void common_setup(uint32_t cpus)
{
    cc_costs_t costs = { 1000, 1, 1, cpus };
    cc_costs_set(&costs);
    sleeps_until_fenced = UINT32_MAX;
    busy_for_ = busy_until_ = 0;
    model_statistic(&busy_for_); /* what the policy of waiting goes by steers no more than how long one spins */
    model_statistic(&busy_until_);
    seen_at_[SEEN_CPUS - 1] = 0; /* where a CPU is noted that the checker does not tell of */
    model_statistic(&seen_at_[SEEN_CPUS - 1]);
    uint32_t *whose[] = { &sampled_at_, &sampled_, &whose_cpus_ };
    for (size_t i = 0; i < sizeof whose / sizeof *whose; i++) {
        *whose[i] = 0;
        model_statistic(whose[i]);
    }
    memset(data, 0, sizeof data);
    memset(flags, 0, sizeof flags);
    items = 0;
}

static void write_data(int i)
{
    model_write(&data[i], sizeof data[i]);
    data[i]++;
}

static void check_data(int i, uint32_t value)
{
    model_read(&data[i], sizeof data[i]);
    model_check(data[i] == value);
}

/* ---- the costs ---- */

/* Nobody has asked yet. Each thread would measure another number of CPUs. */
static void costs_setup(void)
{
    runnable_ = is_prepared_ = wake_is_given_ = cpus_are_given_ = first_wake_ns_ = asked_ = 0;
    memset(&costs_, 0, sizeof costs_);
    model_name(&costs_.pause_ps, "pause_ps");
    model_name(&costs_.yield_ns, "yield_ns");
    model_name(&costs_.cpus, "cpus");
    model_name(&costs_.wake_ns, "wake_ns");
}

/* What one thread measured is what all are told, whole, and it stays. */
static void costs_asker(void)
{
    const cc_costs_t *costs = cc_costs();
    uint32_t cpus = cc_load_relaxed(&costs->cpus);
    model_check(cpus != 0 && cc_load_relaxed(&costs->wake_ns) != 0 && costs->pause_ps != 0 && costs->yield_ns != 0);
    model_check(cc_load_relaxed(&cc_costs()->cpus) == cpus);
}

/* Whoever is told what another thread measured sees what that one did before. The number of CPUs says whose answer it
 * is. */
static void costs_writer(void)
{
    write_data(0);
    (void)cc_costs();
}

static void costs_reader(void)
{
    if (cc_load_relaxed(&cc_costs()->cpus) == 3) check_data(0, 1);
}

static void costs_data_setup(void)
{
    costs_setup();
    memset(data, 0, sizeof data);
}

/* ---- the parker ---- */

static cc_parker_t parkers[2];

static void parker_setup(void)
{
    common_setup(1);
    memset(parkers, 0, sizeof parkers);
    model_name(&parkers[0].state, "parker 0");
    model_name(&parkers[1].state, "parker 1");
}

static void parker_owner(void)
{
    cc_parker_park(&parkers[0]);
    check_data(0, 1);
}

static void parker_giver(void)
{
    write_data(0);
    cc_parker_unpark(&parkers[0]);
}

static void parker_is_empty(void)
{
    model_check(parkers[0].state == CC_PARKER_EMPTY_);
}

/* Two tokens before a park are one, and it brings what both givers wrote. */
static void parker_first_giver(void)
{
    write_data(0);
    cc_parker_unpark(&parkers[0]);
    cc_store_relaxed(&flags[0], 1);
}

static void parker_second_giver(void)
{
    write_data(1);
    cc_parker_unpark(&parkers[0]);
    cc_store_relaxed(&flags[1], 1);
}

static void parker_late_owner(void)
{
    while (!cc_load_relaxed(&flags[0])) cc_os_yield_();
    while (!cc_load_relaxed(&flags[1])) cc_os_yield_();
    cc_parker_park(&parkers[0]);
    check_data(0, 1);
    check_data(1, 1);
}

/* Tokens while it parks, in any order: each giver sets its flag first, and the owner stops when it has seen both. */
static void parker_flag_giver(void)
{
    int i = model_self() - 2;
    write_data(i);
    cc_store_release(&flags[i], 1);
    cc_parker_unpark(&parkers[0]);
}

static void parker_flag_owner(void)
{
    while (!cc_load_acquire(&flags[0]) || !cc_load_acquire(&flags[1])) cc_parker_park(&parkers[0]);
    check_data(0, 1);
    check_data(1, 1);
}

/* A timeout that crosses the token: either the timed park has it, or the next one finds it. */
static void parker_timed_owner(void)
{
    if (!cc_parker_park_timeout(&parkers[0], 1000)) {
        if (!cc_parker_park_until(&parkers[0], 0)) cc_parker_park(&parkers[0]);
    }
    check_data(0, 1);
}

/* The owner frees the parker as soon as it has the token. */
static void parker_freeing_owner(void)
{
    cc_parker_park(&parkers[0]);
    check_data(0, 1);
    model_freed(&parkers[0], sizeof parkers[0]);
}

static void parker_freeing_timed_owner(void)
{
    if (!cc_parker_park_timeout(&parkers[0], 1000)) cc_parker_park(&parkers[0]);
    check_data(0, 1);
    model_freed(&parkers[0], sizeof parkers[0]);
}

/* Two threads hand one piece of plain memory to and fro. */
static void parker_ping(void)
{
    for (uint32_t i = 0; i < 2; i++) {
        write_data(0);
        cc_parker_unpark(&parkers[1]);
        cc_parker_park(&parkers[0]);
        check_data(0, 2 * i + 2);
    }
}

static void parker_pong(void)
{
    for (uint32_t i = 0; i < 2; i++) {
        cc_parker_park(&parkers[1]);
        check_data(0, 2 * i + 1);
        write_data(0);
        cc_parker_unpark(&parkers[0]);
    }
}

/* ---- the event ---- */

static cc_event_t event, other_event;

/* Which fence it is, is known. */
static void fence_setup_on(uint32_t cpus)
{
    common_setup(cpus);
    cc_fence_mode_ = cc_os_membarrier_register_() ? CC_FENCE_ASYMMETRIC_ : CC_FENCE_SYMMETRIC_;
    model_name(&cc_fence_mode_, "fence mode");
}

static void event_setup_on(uint32_t cpus)
{
    fence_setup_on(cpus);
    memset(&event, 0, sizeof event);
    memset(&other_event, 0, sizeof other_event);
    model_name(&items, "items");
    for (int i = 0; i < 4; i++)
        model_name(&flags[i], (const char *const[]){ "flag 0", "flag 1", "flag 2", "flag 3" }[i]);
    model_name(&event.epoch, "epoch");
    model_name(&event.waiters, "waiters");
    model_statistic(&event.sleepiness);
    model_statistic(&event.snooze);
    model_statistic(&event.woken_at); /* it feeds an estimate that cc_costs_set() has fixed */
    model_statistic(&event.left_to_it);
    model_statistic(&event.looked_at);
}

static void event_setup(void)
{
    event_setup_on(1);
}

/* The first sleep makes the notifiers fence, and the sleepers trust them. */
static void event_fenced_setup(void)
{
    event_setup();
    sleeps_until_fenced = 1;
}

/* Sleepers trust the notifiers already. */
static void event_trusted_setup(void)
{
    event_setup();
    event.waiters = CC_EVENT_FENCED_ | CC_EVENT_TRUSTED_;
    event.sleepiness = 2;
}

static void event_spins_setup(void)
{
    event_setup_on(2);
}

static void event_unknown_setup(void)
{
    event_setup();
    cc_fence_mode_ = CC_FENCE_UNKNOWN_;
}

static void event_nobody_listens(void)
{
    model_check((event.waiters & (CC_EVENT_LISTENING_ | CC_EVENT_CLAIMS_)) == 0);
}

/* A condition that one write makes hold for good. */
static void event_flag_waiter(void)
{
    CC_EVENT_AWAIT(&event, cc_load_acquire(&flags[0]));
    check_data(0, 1);
}

static void event_flag_setter_one(void)
{
    write_data(0);
    cc_store_release(&flags[0], 1);
    cc_event_notify_one(&event);
}

static void event_flag_setter_all(void)
{
    write_data(0);
    cc_store_release(&flags[0], 1);
    cc_event_notify_all(&event);
}

/* The notify that it missed comes with the key: what was written before is seen without a look at any flag. */
static void event_relaxed_waiter(void)
{
    for (;;) {
        uint32_t key = cc_event_listen(&event);
        if (cc_load_relaxed(&flags[0])) {
            cc_event_cancel(&event);
            return;
        }
        cc_event_wait(&event, key);
    }
}

static void event_relaxed_setter(void)
{
    cc_store_relaxed(&flags[0], 1);
    cc_event_notify_one(&event);
}

/* Items that each satisfy one waiter: a wake-up that goes to the wrong one, or to nobody, leaves an item and a
 * sleeper. */
static bool take_item(void)
{
    uint32_t seen = cc_load_relaxed(&items);
    while (seen != 0)
        if (cc_cas_acquire(&items, &seen, seen - 1)) return true;
    return false;
}

static void event_taker(void)
{
    CC_EVENT_AWAIT(&event, take_item());
}

static void event_taker_of_two(void)
{
    event_taker();
    event_taker();
}

static void event_giver(void)
{
    cc_fetch_add_release(&items, 1);
    cc_event_notify_one(&event);
}

static void event_giver_of_two(void)
{
    event_giver();
    event_giver();
}

static void event_nothing_left(void)
{
    model_check(items == 0);
    event_nobody_listens();
}

/* A waiter that gives up gives no wake-up away: if it took the item after all, it gives it back. */
static void event_timed_taker(void)
{
    if (CC_EVENT_AWAIT_UNTIL(&event, take_item(), cc_deadline_in(1000))) event_giver();
}

/* A listener that always cancels, beside one that sleeps. */
static void event_canceller(void)
{
    (void)!cc_event_listen(&event);
    if (take_item()) event_giver();
    cc_event_cancel(&event);
}

/* Waits for something else, so that it may be the one who finds membarrier lost. */
static void event_bystander(void)
{
    (void)!cc_event_listen(&other_event);
    cc_event_cancel(&other_event);
}

/* A condition that comes and goes: a notify whose item somebody else took is no reason to sleep through the next. */
static void event_changing_waiter(void)
{
    CC_EVENT_AWAIT(&event, cc_load_acquire(&flags[0]) == 3);
}

static void event_changing_setter(void)
{
    cc_store_release(&flags[0], 1);
    cc_event_notify_one(&event);
    cc_store_release(&flags[0], 2);
    cc_store_release(&flags[0], 3);
    cc_event_notify_one(&event);
}

/* ---- the lock ---- */

static cc_lock_t lock;

/* A free lock; which release there is was found out when the library was loaded. */
static void lock_begin(void)
{
    memset(&lock, 0, sizeof lock);
    cc_lock_sequence_area_ = CC_LOCK_UNKNOWN_;
    find_out_();
    marks_ = 0;
    wakes_until_it_insists = UINT32_MAX;
    memset(memos_, 0, sizeof memos_);
    model_statistic(&memo_of_(&lock)->awaited);
    memo_of_(&lock)->glances = may_glance_() ? GLANCES : 0;
    model_statistic(&memo_of_(&lock)->glances);
    model_statistic(&memo_of_(&lock)->turn_at);
    model_name(&lock.word, "lock");
    model_name(&cc_lock_sequence_area_, "sequence area");
}

static void lock_setup_on(uint32_t cpus)
{
    common_setup(cpus);
    lock_begin();
}

static void lock_setup(void)
{
    lock_setup_on(1);
}

static void lock_spins_setup(void)
{
    lock_setup_on(2);
}

/* Who demands a turn insists, so that few threads come to it. */
static void lock_insists_setup(void)
{
    lock_setup();
    wakes_until_it_insists = 0;
}

static void lock_insists_spins_setup(void)
{
    lock_spins_setup();
    wakes_until_it_insists = 1;
}

static void lock_user(void)
{
    cc_lock_acquire(&lock);
    write_data(0);
    cc_lock_release(&lock);
}

static void lock_user_twice(void)
{
    lock_user();
    lock_user();
}

static void lock_spinner(void)
{
    cc_lock_acquire_spin(&lock);
    write_data(0);
    cc_lock_release(&lock);
}

/* One who spins, demands a turn, and withdraws or not before it sleeps. */
static void lock_demand(bool withdraws, uint64_t deadline)
{
    waiter_t w = { .lock = &lock, .deadline = deadline };
    spin_t spin = { .is_owed = true };
    uint32_t seen = look_(&w);
    bool taken = may_take_(&w, seen) && take_(&w, seen);
    if (!taken) {
        demand_a_turn_(&spin, &w, &seen);
        seen = look_(&w);
        taken = may_take_(&w, seen) && take_(&w, seen);
    }
    if (!taken && withdraws) (void)withdraw_(&w);
    if (!taken) taken = sleep_for_it_(&w);
    model_check(taken || deadline != CC_FOREVER);
    if (!taken) return;
    write_data(0);
    cc_lock_release(&lock);
}

static void lock_demander(void)
{
    lock_demand(false, CC_FOREVER);
}

static void lock_timed_demander(void)
{
    lock_demand(false, cc_deadline_in(1000));
}

static void lock_demander_who_withdraws(void)
{
    lock_demand(true, CC_FOREVER);
}

/* A thread that gives up waiting takes no wake-up with it. */
static void lock_timed_user(void)
{
    if (!cc_lock_acquire_timeout(&lock, 1000)) return;
    write_data(0);
    cc_lock_release(&lock);
}

static void lock_trier(void)
{
    if (!cc_lock_try_acquire(&lock)) return;
    write_data(0);
    cc_lock_release(&lock);
}

static void lock_is_free(void)
{
    model_check(is_free_(lock.word) && !(lock.word & INSISTED));
}

/* The last of the users frees the lock. */
static void lock_freeing_user(void)
{
    cc_lock_acquire(&lock);
    write_data(0);
    bool is_last = data[0] == data[1];
    cc_lock_release(&lock);
    if (is_last) model_freed(&lock, sizeof lock);
}

static void lock_two_freeing_setup(void)
{
    lock_setup();
    data[1] = 2;
}

static void lock_three_freeing_setup(void)
{
    lock_setup();
    data[1] = 3;
}

/* A condition that the lock protects: plain memory, looked at and changed under the lock. */
static void condition_setup_on(uint32_t cpus)
{
    event_setup_on(cpus);
    lock_begin();
}

static void condition_setup(void)
{
    condition_setup_on(1);
}

static void condition_spins_setup(void)
{
    condition_setup_on(2);
}

static bool condition_holds(void)
{
    model_read(&data[0], sizeof data[0]);
    return data[0] > 0;
}

static void condition_take(void)
{
    model_write(&data[0], sizeof data[0]);
    data[0]--;
}

static void condition_taker(void)
{
    cc_lock_acquire(&lock);
    CC_LOCK_AWAIT(&lock, &event, condition_holds());
    condition_take();
    cc_lock_release(&lock);
}

static void condition_taker_by_hand(void)
{
    cc_lock_acquire(&lock);
    while (!condition_holds()) cc_lock_wait(&lock, &event);
    condition_take();
    cc_lock_release(&lock);
}

/* It gives up, or takes: whoever gives up leaves what it was told of to another. */
static void condition_timed_taker(void)
{
    cc_lock_acquire(&lock);
    if (CC_LOCK_AWAIT_TIMEOUT(&lock, &event, condition_holds(), 1000))
        condition_take();
    else
        write_data(1);
    cc_lock_release(&lock);
}

static void condition_giver_after(void)
{
    cc_lock_acquire(&lock);
    write_data(0);
    cc_lock_release(&lock);
    cc_event_notify_one(&event);
}

static void condition_giver_under(void)
{
    cc_lock_acquire(&lock);
    write_data(0);
    cc_event_notify_one(&event);
    cc_lock_release(&lock);
}

static void condition_giver_of_two(void)
{
    cc_lock_acquire(&lock);
    write_data(0);
    write_data(0);
    cc_lock_release(&lock);
    cc_event_notify_all(&event);
}

/* What is left is what those who gave up did not take. */
static void condition_all_taken(void)
{
    model_check(data[0] == data[1]);
    lock_is_free();
    event_nobody_listens();
}

/* ---- the channel ---- */

enum { MESSAGES = 8 };

static CC_ALIGNED_(CC_CACHE_LINE) unsigned char memory[sizeof(cc_channel_t) + 4 * 64];
static cc_channel_t *channel;
static uint32_t accepted[MODEL_THREADS + 1], received[MODEL_THREADS + 1]; /* messages, as bits */

/* A new channel, its positions about to wrap around. */
static void channel_setup_of_size(size_t size, uint32_t kind, size_t capacity, uint32_t snooze_iters, uint32_t cpus)
{
    cc_channel_options_t options = { capacity, size, kind, snooze_iters };
    fence_setup_on(cpus);
    memset(accepted, 0, sizeof accepted);
    memset(received, 0, sizeof received);
    memset(memory, 0, sizeof memory);
    model_check(cc_channel_init(memory, sizeof memory, &options, &channel) == 0);
    cc_index_ start = (cc_index_)-2;
    bool spsc = kind == CC_CHANNEL_SPSC;
    cc_index_ *tail = spsc ? &channel->spsc.tail : &channel->mpmc.tail.position;
    cc_index_ *head = spsc ? &channel->spsc.head : &channel->mpmc.head.position;
    *tail = *head = start;
    if (spsc) channel->spsc.head_seen = channel->spsc.next = start;
    for (size_t i = 0; i < capacity; i++) {
        cc_index_ at = (cc_index_)(start + 2 * i);
        cc_index_ *stamp = cc_mpmc_stamp_(channel, at, channel->layout);
        *stamp = at;
        model_name(stamp, (const char *const[]){ "stamp 0", "stamp 1", "stamp 2", "stamp 3" }[i]);
    }
    model_name(tail, "tail");
    model_name(head, "head");
    if (spsc) model_name(&channel->spsc.next, "next");
    model_name(&channel->closed, "closed");
    model_name(&channel->not_full.epoch, "not_full.epoch");
    model_name(&channel->not_full.waiters, "not_full.waiters");
    model_name(&channel->not_empty.epoch, "not_empty.epoch");
    model_name(&channel->not_empty.waiters, "not_empty.waiters");
    model_statistic(&channel->not_full.sleepiness);
    model_statistic(&channel->not_empty.sleepiness);
    model_statistic(&channel->not_full.woken_at);
    model_statistic(&channel->not_full.left_to_it);
    model_statistic(&channel->not_full.looked_at);
    model_statistic(&channel->not_empty.woken_at);
    model_statistic(&channel->not_empty.left_to_it);
    model_statistic(&channel->not_empty.looked_at);
    if (spsc) return;
    model_statistic(&channel->mpmc.tail.prefetch_from); /* it steers no more than which lines are asked for ahead */
    model_statistic(&channel->mpmc.head.prefetch_from);
}

static void channel_setup_of(uint32_t kind, size_t capacity, uint32_t snooze_iters, uint32_t cpus)
{
    channel_setup_of_size(sizeof(uint32_t), kind, capacity, snooze_iters, cpus);
}

static void spsc_one_setup(void)
{
    channel_setup_of(CC_CHANNEL_SPSC, 1, CC_SNOOZE_NONE, 1);
}
static void spsc_two_setup(void)
{
    channel_setup_of(CC_CHANNEL_SPSC, 2, CC_SNOOZE_NONE, 1);
}
static void spsc_snooze_setup(void)
{
    channel_setup_of(CC_CHANNEL_SPSC, 1, 1, 2);
}
static void spsc_fenced_setup(void)
{
    spsc_one_setup();
    sleeps_until_fenced = 1;
}

static void mpmc_one_setup(void)
{
    channel_setup_of(CC_CHANNEL_MPMC, 1, CC_SNOOZE_NONE, 1);
}
static void mpmc_two_setup(void)
{
    channel_setup_of(CC_CHANNEL_MPMC, 2, CC_SNOOZE_NONE, 1);
}
static void mpmc_four_setup(void)
{
    channel_setup_of(CC_CHANNEL_MPMC, 4, CC_SNOOZE_NONE, 1);
}
static void mpmc_snooze_setup(void)
{
    channel_setup_of(CC_CHANNEL_MPMC, 1, 1, 2);
}

/* A thread that waits spins once before it sleeps: on behalf of the others, if others sleep. */
static void mpmc_lookout_setup(void)
{
    channel_setup_of(CC_CHANNEL_MPMC, 2, 1, 2);
}

/* A receiver yields once before it sleeps, and again if it was woken for what another one got. */
static void mpmc_overtaken_setup(void)
{
    channel_setup_of(CC_CHANNEL_MPMC, 2, CC_SNOOZE_ADAPTIVE, 2);
    channel->not_empty.snooze = 1 + 1; /* no pauses, one yield */
    model_statistic(&channel->not_empty.snooze);
    model_statistic(&channel->not_full.snooze);
}

/* Receivers have slept before, so that whoever listens trusts the senders to fence; but not each other. */
static void mpmc_trusted_setup(void)
{
    mpmc_one_setup();
    channel->not_empty.waiters = CC_EVENT_FENCED_ | CC_EVENT_TRUSTED_;
}

/* Messages of 8 bytes have a path of their own. */
static void mpmc_8_one_setup(void)
{
    channel_setup_of_size(8, CC_CHANNEL_MPMC, 1, CC_SNOOZE_NONE, 1);
}
static void mpmc_8_two_setup(void)
{
    channel_setup_of_size(8, CC_CHANNEL_MPMC, 2, CC_SNOOZE_NONE, 1);
}

/* Each thread numbers its messages from MESSAGES times its own number on, so that bits tell them apart. */
static uint32_t message_of(int thread, uint32_t number)
{
    return (uint32_t)thread * MESSAGES + number;
}

static void note_accepted(uint32_t message)
{
    accepted[model_self()] |= UINT32_C(1) << message % 32;
}

/* Exactly once, and after the earlier ones of the same sender that this thread got. */
static void note_received(uint32_t message)
{
    uint32_t *mine = &received[model_self()], bit = UINT32_C(1) << message % 32;
    uint32_t later_ones = ~(bit | (bit - 1)) & UINT32_C(0xff) << message / MESSAGES * MESSAGES % 32;
    model_check(!(*mine & (bit | later_ones)));
    *mine |= bit;
}

/* Adds up what all threads sent and what they received: nothing comes out twice, or without having gone in. */
static void add_up(uint32_t *in, uint32_t *out)
{
    *in = *out = 0;
    for (int t = 1; t <= MODEL_THREADS; t++) {
        model_check(!(*in & accepted[t]) && !(*out & received[t]));
        *in |= accepted[t];
        *out |= received[t];
    }
    model_check((*out & ~*in) == 0);
}

static void channel_all_received(void)
{
    uint32_t in, out;
    add_up(&in, &out);
    model_check(in == out);
    model_check(cc_channel_len(channel) == 0);
    model_check(((channel->not_full.waiters | channel->not_empty.waiters) &
                 ~(CC_EVENT_FENCED_ | CC_EVENT_TRUSTED_ | CC_EVENT_AWAY_)) == 0);
}

/* The same where some may be left. */
static void channel_some_received(void)
{
    uint32_t in, out;
    add_up(&in, &out);
    model_check(cc_channel_len(channel) == (size_t)__builtin_popcount(in & ~out));
}

static bool send_number(uint32_t number)
{
    uint32_t message[2] = { message_of(model_self(), number), 0 }; /* 4 bytes or 8 of it */
    int error = cc_channel_send(channel, message);
    model_check(error == 0 || error == EPIPE);
    if (error == 0) note_accepted(message[0]);
    return error == 0;
}

static bool receive_one(void)
{
    uint32_t message[2] = { UINT32_MAX, 0 };
    int error = cc_channel_recv(channel, message);
    model_check(error == 0 || error == EPIPE);
    if (error == 0) note_received(message[0]);
    return error == 0;
}

static void send_one(void)
{
    send_number(0);
}

static void send_two(void)
{
    if (send_number(0)) send_number(1);
}

static void send_three(void)
{
    send_two();
    send_number(2);
}

static void receive_three(void)
{
    for (int i = 0; i < 3; i++) receive_one();
}

static void receive_two(void)
{
    for (int i = 0; i < 2; i++) receive_one();
}

static void receive_single(void)
{
    receive_one();
}

static void receive_all(void)
{
    while (receive_one()) {}
    model_check(cc_channel_is_closed(channel));
}

static void send_one_and_close(void)
{
    send_one();
    cc_channel_close(channel);
}

static void send_two_and_close(void)
{
    send_two();
    cc_channel_close(channel);
}

/* A message may be half sent when its channel is closed: whoever takes it tells the others that it was the last. */
static void close_and_receive_all(void)
{
    cc_channel_close(channel);
    receive_all();
}

/* What was written before a close is seen by whoever is told of it. */
static void write_and_close(void)
{
    write_data(0);
    cc_channel_close(channel);
}

static void send_two_until_told(void)
{
    if (!send_number(0) || !send_number(1)) check_data(0, 1);
}

static void receive_until_told(void)
{
    receive_all();
    check_data(0, 1);
}

/* Bursts: what does not go in, or is not there, is tried again by a blocking call. */
static void send_burst(void)
{
    uint32_t messages[2] = { message_of(model_self(), 0), message_of(model_self(), 1) };
    size_t sent = cc_channel_send_many(channel, messages, 2);
    for (size_t i = 0; i < sent; i++) note_accepted(messages[i]);
    for (; sent < 2; sent++)
        if (!send_number((uint32_t)sent)) break;
}

static void send_burst_of_three(void)
{
    uint32_t messages[3] = { message_of(model_self(), 0), message_of(model_self(), 1), message_of(model_self(), 2) };
    size_t sent = cc_channel_send_many(channel, messages, 3);
    for (size_t i = 0; i < sent; i++) note_accepted(messages[i]);
}

static void try_receive_one(void)
{
    uint32_t message;
    if (cc_channel_try_recv(channel, &message) == 0) note_received(message);
}

static void receive_bursts(void)
{
    for (;;) {
        uint32_t messages[2];
        size_t got = cc_channel_recv_many(channel, messages, 2);
        for (size_t i = 0; i < got; i++) note_received(messages[i]);
        if (got == 0 && !receive_one()) return;
    }
}

static void send_burst_and_close(void)
{
    send_burst();
    cc_channel_close(channel);
}

/* Bursts that wait: the sender in its midst, the receiver for the first one. */
static void send_all_two(void)
{
    uint32_t messages[2] = { message_of(model_self(), 0), message_of(model_self(), 1) };
    size_t sent;
    int error = cc_channel_send_all(channel, messages, 2, &sent);
    model_check(error == 0 ? sent == 2 : error == EPIPE && sent < 2);
    for (size_t i = 0; i < sent; i++) note_accepted(messages[i]);
}

static void send_all_two_and_close(void)
{
    send_all_two();
    cc_channel_close(channel);
}

static size_t receive_some(void)
{
    uint32_t messages[2];
    size_t got;
    int error = cc_channel_recv_some(channel, messages, 2, &got);
    model_check(error == 0 ? got > 0 && got <= 2 : error == EPIPE && got == 0);
    for (size_t i = 0; i < got; i++) note_received(messages[i]);
    return got;
}

static void receive_some_until_closed(void)
{
    while (receive_some() > 0) {}
}

static void receive_three_in_bursts(void)
{
    for (size_t got = 0; got < 3;) got += receive_some();
}

/* In place; the last message as well, whatever close says of it. */
static void send_in_place(void)
{
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t *slot = cc_channel_reserve(channel);
        if (!slot) {
            if (!send_number(i)) return;
            continue;
        }
        model_write(slot, sizeof *slot);
        *slot = message_of(model_self(), i);
        note_accepted(*slot);
        cc_channel_commit(channel);
    }
    cc_channel_close(channel);
}

static void receive_in_place(void)
{
    for (;;) {
        const uint32_t *slot = cc_channel_peek(channel);
        if (slot) {
            model_read(slot, sizeof *slot);
            note_received(*slot);
            cc_channel_consume(channel);
        } else if (!receive_one()) {
            return;
        }
    }
}

/* try_ calls: full and empty are EAGAIN, closed and drained is EPIPE. */
static void try_send_two(void)
{
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t message = message_of(model_self(), i);
        int error = cc_channel_try_send(channel, &message);
        model_check(error == 0 || error == EAGAIN || error == EPIPE);
        if (error == 0) note_accepted(message);
        if (error == EPIPE) return;
    }
}

static void try_receive_until_closed(void)
{
    for (;;) {
        uint32_t message;
        int error = cc_channel_try_recv(channel, &message);
        model_check(error == 0 || error == EAGAIN || error == EPIPE);
        if (error == 0) note_received(message);
        if (error == EPIPE) return;
        if (error == EAGAIN) cc_os_yield_();
    }
}

static void try_send_two_and_close(void)
{
    try_send_two();
    cc_channel_close(channel);
}

/* Deadlines: a message that comes as the time is up is there for the next call. */
static void receive_timed_then_all(void)
{
    uint32_t message;
    int error = cc_channel_recv_timeout(channel, &message, 1000);
    model_check(error == 0 || error == ETIMEDOUT || error == EPIPE);
    if (error == 0) note_received(message);
    receive_all();
}

/* One that gives up beside one that does not: the other gets the message. */
static void receive_timed(void)
{
    uint32_t message;
    int error = cc_channel_recv_timeout(channel, &message, 1000);
    model_check(error == 0 || error == ETIMEDOUT || error == EPIPE);
    if (error == 0) note_received(message);
}

static void send_timed(void)
{
    uint32_t message = message_of(model_self(), 0);
    int error = cc_channel_send_timeout(channel, &message, 1000);
    model_check(error == 0 || error == ETIMEDOUT || error == EPIPE);
    if (error == 0) note_accepted(message);
}

static void send_two_timed_and_close(void)
{
    send_timed();
    send_number(1);
    cc_channel_close(channel);
}

/* Each client of an event runs with membarrier and without; what the asymmetric fence adds to explore takes a bound
 * less. */
/* clang-format off */
#define MEMBARRIER(name_, ...) { .name = name_, .membarrier = true, __VA_ARGS__ }
#define SYMMETRIC(name_, ...) { .name = name_ "/symmetric", __VA_ARGS__ }
/* clang-format on */
#define BOTH(name_, ...)  MEMBARRIER(name_, __VA_ARGS__), SYMMETRIC(name_, __VA_ARGS__)
#define THREE(name_, ...) MEMBARRIER(name_, BOUND(1), __VA_ARGS__), SYMMETRIC(name_, BOUND(2), __VA_ARGS__)
#define FOUR(name_, ...) \
    MEMBARRIER(name_, BOUND(1), __VA_ARGS__, .in_full_only = true), SYMMETRIC(name_, BOUND(1), __VA_ARGS__)

#define ALL_ORDERS         .bound = MODEL_UNBOUNDED
#define BOUND(preemptions) .bound = preemptions, .full_bound = preemptions + 1, .old_reads = 1, .full_old_reads = 2

/* clang-format off */
#define STORES(name_, ...) \
    { .name = name_, .setup = lock_setup, .finish = lock_is_free, .sequences = __VA_ARGS__ }
/* clang-format on */

static const model_client_t clients[] = {
    { .name = "costs_bring_what_the_first_did",
      .setup = costs_data_setup,
      .threads = { costs_writer, costs_reader },
      BOUND(2) },
    { .name = "costs_asked_by_two", .setup = costs_setup, .threads = { costs_asker, costs_asker }, BOUND(2) },
    { .name = "costs_asked_by_three",
      .setup = costs_setup,
      .threads = { costs_asker, costs_asker, costs_asker },
      BOUND(1) },

    { .name = "parker",
      .setup = parker_setup,
      .threads = { parker_owner, parker_giver },
      .finish = parker_is_empty,
      ALL_ORDERS,
      .spurious = 2 },
    { .name = "parker_two_tokens_are_one",
      .setup = parker_setup,
      .threads = { parker_late_owner, parker_first_giver, parker_second_giver },
      .finish = parker_is_empty,
      ALL_ORDERS },
    { .name = "parker_two_givers",
      .setup = parker_setup,
      .threads = { parker_flag_owner, parker_flag_giver, parker_flag_giver },
      ALL_ORDERS,
      .spurious = 1 },
    { .name = "parker_timeout_crosses_token",
      .setup = parker_setup,
      .threads = { parker_timed_owner, parker_giver },
      .finish = parker_is_empty,
      ALL_ORDERS,
      .spurious = 1,
      .clock_jumps = 1 },
    { .name = "parker_freed_by_owner",
      .setup = parker_setup,
      .threads = { parker_freeing_owner, parker_giver },
      ALL_ORDERS,
      .spurious = 1 },
    { .name = "parker_freed_after_timeout",
      .setup = parker_setup,
      .threads = { parker_freeing_timed_owner, parker_giver },
      ALL_ORDERS,
      .spurious = 1,
      .clock_jumps = 1 },
    { .name = "parker_ping_pong",
      .setup = parker_setup,
      .threads = { parker_ping, parker_pong },
      ALL_ORDERS,
      .spurious = 1 },

    BOTH("event", .setup = event_setup, .threads = { event_flag_waiter, event_flag_setter_one },
         .finish = event_nobody_listens, ALL_ORDERS, .spurious = 1, .weak_failures = 1),
    BOTH("event_spins", .setup = event_spins_setup, .threads = { event_flag_waiter, event_flag_setter_one },
         .finish = event_nobody_listens, ALL_ORDERS, .spurious = 1),
    BOTH("event_fence_chosen_late", .setup = event_unknown_setup,
         .threads = { event_flag_waiter, event_flag_setter_one }, .finish = event_nobody_listens, ALL_ORDERS),
    THREE("event_fence_chosen_by_two", .setup = event_unknown_setup,
          .threads = { event_flag_waiter, event_flag_waiter, event_flag_setter_all }, .finish = event_nobody_listens),
    BOTH("event_relaxed_condition", .setup = event_setup, .threads = { event_relaxed_waiter, event_relaxed_setter },
         .finish = event_nobody_listens, ALL_ORDERS),
    BOTH("event_changing_condition", .setup = event_setup, .threads = { event_changing_waiter, event_changing_setter },
         .finish = event_nobody_listens, ALL_ORDERS),
    BOTH("event_two_waiters_all", .setup = event_setup,
         .threads = { event_flag_waiter, event_flag_waiter, event_flag_setter_all }, .finish = event_nobody_listens,
         BOUND(2)),
    THREE("event_two_takers_one_giver", .setup = event_setup,
          .threads = { event_taker, event_taker, event_giver_of_two }, .finish = event_nothing_left),
    FOUR("event_two_takers_two_givers", .setup = event_setup,
         .threads = { event_taker, event_taker, event_giver, event_giver }, .finish = event_nothing_left),
    BOTH("event_taker_of_two", .setup = event_setup, .threads = { event_taker_of_two, event_giver, event_giver },
         .finish = event_nothing_left, BOUND(2), .spurious = 1),
    THREE("event_timeout", .setup = event_setup, .threads = { event_timed_taker, event_taker, event_giver },
          .finish = event_nothing_left),
    BOTH("event_cancel", .setup = event_setup, .threads = { event_canceller, event_taker, event_giver },
         .finish = event_nothing_left, BOUND(2)),

    MEMBARRIER("event_trusted", .setup = event_trusted_setup, .threads = { event_relaxed_waiter, event_relaxed_setter },
               ALL_ORDERS),
    MEMBARRIER("event_fenced_changing_condition", .setup = event_fenced_setup,
               .threads = { event_changing_waiter, event_changing_setter }, .finish = event_nobody_listens, ALL_ORDERS),
    MEMBARRIER("event_fenced_taker_of_two", .setup = event_fenced_setup,
               .threads = { event_taker_of_two, event_giver_of_two }, .finish = event_nothing_left, .bound = 3,
               .full_bound = MODEL_UNBOUNDED, .old_reads = 2),
    MEMBARRIER("event_fenced_two_givers", .setup = event_fenced_setup,
               .threads = { event_taker_of_two, event_giver, event_giver }, .finish = event_nothing_left, BOUND(2)),
    MEMBARRIER("event_fenced_two_takers", .setup = event_fenced_setup,
               .threads = { event_taker, event_taker, event_giver_of_two }, .finish = event_nothing_left, BOUND(2)),

    MEMBARRIER("event_membarrier_lost", .setup = event_setup, .threads = { event_flag_waiter, event_flag_setter_one },
               .finish = event_nobody_listens, ALL_ORDERS, .refusals = 2),
    MEMBARRIER("event_membarrier_lost_changing", .setup = event_setup,
               .threads = { event_changing_waiter, event_changing_setter }, .finish = event_nobody_listens, BOUND(3),
               .refusals = 2),
    MEMBARRIER("event_membarrier_lost_by_another", .setup = event_setup,
               .threads = { event_flag_waiter, event_bystander, event_flag_setter_one }, .finish = event_nobody_listens,
               BOUND(2), .refusals = 2),
    MEMBARRIER("event_membarrier_lost_fenced", .setup = event_fenced_setup,
               .threads = { event_taker_of_two, event_giver_of_two }, .finish = event_nothing_left, BOUND(2),
               .refusals = 2),

    { .name = "lock_two_threads",
      .setup = lock_setup,
      .threads = { lock_user, lock_user },
      .finish = lock_is_free,
      ALL_ORDERS,
      .spurious = 1 },
    { .name = "lock_two_threads_twice",
      .setup = lock_setup,
      .threads = { lock_user_twice, lock_user_twice },
      .finish = lock_is_free,
      BOUND(3) },
    { .name = "lock_three_threads",
      .setup = lock_setup,
      .threads = { lock_user, lock_user, lock_user },
      .finish = lock_is_free,
      BOUND(3),
      .spurious = 1 },
    { .name = "lock_spins",
      .setup = lock_spins_setup,
      .threads = { lock_user, lock_user },
      .finish = lock_is_free,
      ALL_ORDERS },
    { .name = "lock_spin_beside_sleep",
      .setup = lock_spins_setup,
      .threads = { lock_user, lock_user, lock_spinner },
      .finish = lock_is_free,
      BOUND(2) },
    { .name = "lock_timeout",
      .setup = lock_setup,
      .threads = { lock_user, lock_user, lock_timed_user },
      .finish = lock_is_free,
      BOUND(3) },
    { .name = "lock_handover",
      .setup = lock_setup,
      .threads = { lock_user_twice, lock_user, lock_user },
      .finish = lock_is_free,
      BOUND(2),
      .clock_jumps = 1 },
    { .name = "lock_handover_to_two",
      .setup = lock_setup,
      .threads = { lock_user_twice, lock_user, lock_user },
      .finish = lock_is_free,
      BOUND(2),
      .clock_jumps = 2 },
    { .name = "lock_handover_spins",
      .setup = lock_spins_setup,
      .threads = { lock_user_twice, lock_user },
      .finish = lock_is_free,
      BOUND(2),
      .clock_jumps = 1 },
    { .name = "lock_handover_timeout",
      .setup = lock_setup,
      .threads = { lock_user_twice, lock_timed_user, lock_user },
      .finish = lock_is_free,
      BOUND(2),
      .clock_jumps = 1 },
    { .name = "lock_handover_two_timeouts",
      .setup = lock_setup,
      .threads = { lock_user_twice, lock_timed_user, lock_timed_user },
      .finish = lock_is_free,
      BOUND(2),
      .clock_jumps = 2 },
    { .name = "lock_handover_to_spinner",
      .setup = lock_spins_setup,
      .threads = { lock_user_twice, lock_user, lock_spinner },
      .finish = lock_is_free,
      BOUND(2),
      .clock_jumps = 1 },
    { .name = "lock_handover_to_demander",
      .setup = lock_setup,
      .threads = { lock_user_twice, lock_demander, lock_user },
      .finish = lock_is_free,
      BOUND(3) },
    { .name = "lock_handover_withdrawn",
      .setup = lock_setup,
      .threads = { lock_user_twice, lock_demander_who_withdraws, lock_user },
      .finish = lock_is_free,
      BOUND(2),
      .clock_jumps = 1 },
    { .name = "lock_handover_to_timed_demander",
      .setup = lock_setup,
      .threads = { lock_user_twice, lock_timed_demander, lock_user },
      .finish = lock_is_free,
      BOUND(2),
      .clock_jumps = 1 },
    { .name = "lock_handover_to_two_demanders",
      .setup = lock_setup,
      .threads = { lock_user, lock_demander, lock_demander_who_withdraws },
      .finish = lock_is_free,
      BOUND(3) },
    { .name = "lock_handover_try",
      .setup = lock_setup,
      .threads = { lock_user_twice, lock_user, lock_trier },
      .finish = lock_is_free,
      BOUND(2),
      .clock_jumps = 1 },
    { .name = "lock_insists",
      .setup = lock_insists_setup,
      .threads = { lock_user_twice, lock_user, lock_user },
      .finish = lock_is_free,
      BOUND(2),
      .clock_jumps = 2 },
    { .name = "lock_insists_timeout",
      .setup = lock_insists_setup,
      .threads = { lock_user_twice, lock_timed_user, lock_user },
      .finish = lock_is_free,
      BOUND(2),
      .clock_jumps = 2 },
    { .name = "lock_insists_two_timeouts",
      .setup = lock_insists_setup,
      .threads = { lock_user_twice, lock_timed_user, lock_timed_user },
      .finish = lock_is_free,
      BOUND(2),
      .clock_jumps = 2 },
    { .name = "lock_insists_beside_spinner",
      .setup = lock_insists_spins_setup,
      .threads = { lock_user_twice, lock_user, lock_spinner },
      .finish = lock_is_free,
      BOUND(2),
      .clock_jumps = 2 },
    { .name = "lock_freed_by_last_of_two",
      .setup = lock_two_freeing_setup,
      .threads = { lock_freeing_user, lock_freeing_user },
      ALL_ORDERS,
      .spurious = 1,
      .clock_jumps = 1 },
    { .name = "lock_freed_by_last_of_three",
      .setup = lock_three_freeing_setup,
      .threads = { lock_freeing_user, lock_freeing_user, lock_freeing_user },
      BOUND(3),
      .clock_jumps = 1 },

    BOTH("lock_condition_after", .setup = condition_setup, .threads = { condition_taker, condition_giver_after },
         .finish = condition_all_taken, BOUND(3), .spurious = 1),
    BOTH("lock_condition_under", .setup = condition_setup, .threads = { condition_taker, condition_giver_under },
         .finish = condition_all_taken, BOUND(3), .spurious = 1),
    BOTH("lock_condition_spins", .setup = condition_spins_setup, .threads = { condition_taker, condition_giver_after },
         .finish = condition_all_taken, BOUND(2)),
    BOTH("lock_condition_by_hand", .setup = condition_setup,
         .threads = { condition_taker_by_hand, condition_taker_by_hand, condition_giver_of_two },
         .finish = condition_all_taken, BOUND(2)),
    BOTH("lock_condition_by_hand_one", .setup = condition_setup,
         .threads = { condition_taker_by_hand, condition_giver_under }, .finish = condition_all_taken, BOUND(3),
         .spurious = 1),
    BOTH("lock_condition_two_takers", .setup = condition_setup,
         .threads = { condition_taker, condition_taker, condition_giver_of_two }, .finish = condition_all_taken,
         BOUND(2)),
    FOUR("lock_condition_timeout", .setup = condition_setup,
         .threads = { condition_timed_taker, condition_taker, condition_giver_under, condition_giver_after },
         .finish = condition_all_taken),
    STORES("lock_store_two_threads", MODEL_SEQUENCES, .threads = { lock_user, lock_user }, ALL_ORDERS, .spurious = 1),
    STORES("lock_store_twice", MODEL_SEQUENCES, .threads = { lock_user_twice, lock_user_twice }, BOUND(2)),
    STORES("lock_store_three_threads", MODEL_SEQUENCES, .threads = { lock_user, lock_user, lock_user }, BOUND(2)),
    STORES("lock_store_timeout", MODEL_SEQUENCES, .threads = { lock_user, lock_user, lock_timed_user }, BOUND(2)),
    STORES("lock_store_handover", MODEL_SEQUENCES, .threads = { lock_user_twice, lock_user, lock_user }, BOUND(1),
           .clock_jumps = 1),
    STORES("lock_store_demander", MODEL_SEQUENCES, .threads = { lock_user_twice, lock_demander, lock_user }, BOUND(2)),
    STORES("lock_store_timed_demander", MODEL_SEQUENCES, .threads = { lock_user_twice, lock_timed_demander, lock_user },
           BOUND(1)),
    STORES("lock_store_withdrawn", MODEL_SEQUENCES, .threads = { lock_user, lock_demander_who_withdraws, lock_user },
           BOUND(2)),
    { .name = "lock_store_insists",
      .setup = lock_insists_setup,
      .threads = { lock_user_twice, lock_user, lock_timed_user },
      .finish = lock_is_free,
      .sequences = MODEL_SEQUENCES,
      BOUND(1),
      .clock_jumps = 1 },
    STORES("lock_store_try", MODEL_SEQUENCES, .threads = { lock_user_twice, lock_user, lock_trier }, BOUND(2)),
    { .name = "lock_store_spins",
      .setup = lock_spins_setup,
      .threads = { lock_user_twice, lock_user },
      .finish = lock_is_free,
      .sequences = MODEL_SEQUENCES,
      BOUND(3) },
    { .name = "lock_store_freed",
      .setup = lock_two_freeing_setup,
      .threads = { lock_freeing_user, lock_freeing_user },
      .sequences = MODEL_SEQUENCES,
      ALL_ORDERS },
    { .name = "lock_store_condition",
      .setup = condition_spins_setup,
      .threads = { condition_taker, condition_giver_after },
      .finish = condition_all_taken,
      .sequences = MODEL_SEQUENCES,
      BOUND(2) },
    { .name = "lock_store_condition_two_takers",
      .setup = condition_setup,
      .threads = { condition_taker, condition_taker_by_hand, condition_giver_of_two },
      .finish = condition_all_taken,
      .sequences = MODEL_SEQUENCES,
      BOUND(2) },
    STORES("lock_store_barrier_lost", MODEL_SEQUENCES, .threads = { lock_user, lock_user }, BOUND(2), .refusals = 2),
    STORES("lock_store_barrier_lost_by_another", MODEL_SEQUENCES, .threads = { lock_user, lock_user, lock_user },
           BOUND(2), .refusals = 1),
    STORES("lock_store_never_called_off", MODEL_NEVER_CALLED_OFF, .threads = { lock_user, lock_user }, ALL_ORDERS,
           .verdict = MODEL_DEADLOCK),
    STORES("lock_store_outside", MODEL_STORED_OUTSIDE, .threads = { lock_user, lock_user }, ALL_ORDERS,
           .verdict = MODEL_DEADLOCK),

    BOTH("spsc_one", .setup = spsc_one_setup, .threads = { send_three, receive_three }, .finish = channel_all_received,
         BOUND(3)),
    MEMBARRIER("spsc_fenced", .setup = spsc_fenced_setup, .threads = { send_three, receive_three },
               .finish = channel_all_received, BOUND(2)),
    BOTH("spsc_two", .setup = spsc_two_setup, .threads = { send_three, receive_three }, .finish = channel_all_received,
         BOUND(3)),
    BOTH("spsc_snooze", .setup = spsc_snooze_setup, .threads = { send_three, receive_three },
         .finish = channel_all_received, BOUND(2)),
    BOTH("spsc_close", .setup = spsc_one_setup, .threads = { send_two_and_close, receive_all },
         .finish = channel_all_received, BOUND(3)),
    BOTH("spsc_close_one", .setup = spsc_one_setup, .threads = { send_one, receive_until_told, write_and_close },
         .finish = channel_all_received, .bound = 2, .full_bound = 3, .old_reads = 2, .full_old_reads = 3),
    BOTH("mpmc_close_one", .setup = mpmc_one_setup, .threads = { send_one, receive_until_told, write_and_close },
         .finish = channel_all_received, .bound = 2, .full_bound = 3, .old_reads = 2, .full_old_reads = 3),
    THREE("spsc_close_by_another", .setup = spsc_one_setup,
          .threads = { send_two_until_told, receive_until_told, write_and_close }, .finish = channel_all_received),
    BOTH("spsc_burst", .setup = spsc_two_setup, .threads = { send_burst_and_close, receive_bursts },
         .finish = channel_all_received, BOUND(3)),
    THREE("spsc_burst_close_by_another", .setup = spsc_two_setup,
          .threads = { send_burst, receive_bursts, write_and_close }, .finish = channel_all_received),
    BOTH("spsc_all_and_some", .setup = spsc_one_setup, .threads = { send_all_two_and_close, receive_some_until_closed },
         .finish = channel_all_received, BOUND(3)),
    BOTH("spsc_in_place", .setup = spsc_one_setup, .threads = { send_in_place, receive_in_place },
         .finish = channel_all_received, BOUND(3)),
    BOTH("spsc_try", .setup = spsc_one_setup, .threads = { try_send_two_and_close, try_receive_until_closed },
         .finish = channel_all_received, BOUND(3)),
    MEMBARRIER("spsc_membarrier_lost", .setup = spsc_one_setup,
               .threads = { send_one, receive_until_told, write_and_close }, .finish = channel_all_received, BOUND(1),
               .refusals = 2),
    BOTH("spsc_timeout", .setup = spsc_one_setup, .threads = { send_two_timed_and_close, receive_timed_then_all },
         .finish = channel_all_received, BOUND(3)),

    BOTH("mpmc_one", .setup = mpmc_one_setup, .threads = { send_two, receive_two }, .finish = channel_all_received,
         BOUND(3)),
    BOTH("mpmc_snooze", .setup = mpmc_snooze_setup, .threads = { send_two, receive_two },
         .finish = channel_all_received, BOUND(2)),
    THREE("mpmc_two_senders", .setup = mpmc_one_setup, .threads = { send_one, send_one, receive_two },
          .finish = channel_all_received),
    THREE("mpmc_two_senders_cap_two", .setup = mpmc_two_setup, .threads = { send_two, send_one, receive_three },
          .finish = channel_all_received),
    THREE("mpmc_two_receivers", .setup = mpmc_one_setup, .threads = { send_two, receive_single, receive_single },
          .finish = channel_all_received),
    THREE("mpmc_overtaken", .setup = mpmc_overtaken_setup, .threads = { send_two, receive_single, receive_single },
          .finish = channel_all_received),
    THREE("mpmc_lookout_receives", .setup = mpmc_lookout_setup, .threads = { receive_single, receive_single, send_two },
          .finish = channel_all_received),
    THREE("mpmc_lookout_sends", .setup = mpmc_snooze_setup, .threads = { send_two, send_one, receive_three },
          .finish = channel_all_received),
    FOUR("mpmc_lookout_gives_up", .setup = mpmc_lookout_setup,
         .threads = { receive_timed, receive_all, send_one_and_close }, .finish = channel_all_received),
    FOUR("mpmc_lookout_of_two", .setup = mpmc_lookout_setup,
         .threads = { receive_single, receive_single, send_one, send_one }, .finish = channel_all_received),
    FOUR("mpmc_two_and_two", .setup = mpmc_one_setup, .threads = { send_one, send_one, receive_single, receive_single },
         .finish = channel_all_received),
    FOUR("mpmc_two_and_two_cap_two", .setup = mpmc_two_setup,
         .threads = { send_one, send_one, receive_single, receive_single }, .finish = channel_all_received),
    BOTH("mpmc_close", .setup = mpmc_one_setup, .threads = { send_two_and_close, receive_all },
         .finish = channel_all_received, BOUND(3)),
    THREE("mpmc_close_by_another", .setup = mpmc_one_setup,
          .threads = { send_two_until_told, receive_until_told, write_and_close }, .finish = channel_all_received),
    THREE("mpmc_close_twice", .setup = mpmc_one_setup, .threads = { send_one_and_close, receive_all, write_and_close },
          .finish = channel_all_received),
    THREE("mpmc_close_two_receivers", .setup = mpmc_two_setup,
          .threads = { receive_all, receive_all, send_one_and_close }, .finish = channel_all_received),
    THREE("mpmc_close_two_senders", .setup = mpmc_one_setup, .threads = { send_one_and_close, send_one, receive_all },
          .finish = channel_all_received),
    THREE("mpmc_close_by_receiver", .setup = mpmc_one_setup,
          .threads = { send_one, receive_all, close_and_receive_all }, .finish = channel_all_received),
    MEMBARRIER("mpmc_close_by_trusting_receiver", .setup = mpmc_trusted_setup,
               .threads = { send_one, try_receive_one, receive_all, close_and_receive_all },
               .finish = channel_all_received, BOUND(1)),
    BOTH("mpmc_burst", .setup = mpmc_two_setup, .threads = { send_burst_and_close, receive_bursts },
         .finish = channel_all_received, BOUND(3)),
    THREE("mpmc_burst_two_receivers", .setup = mpmc_two_setup,
          .threads = { send_burst, receive_single, receive_single }, .finish = channel_all_received),
    FOUR("mpmc_burst_of_three", .setup = mpmc_four_setup,
         .threads = { receive_single, receive_single, try_receive_one, send_burst_of_three },
         .finish = channel_some_received),
    THREE("mpmc_burst_close_by_another", .setup = mpmc_two_setup,
          .threads = { send_burst, receive_bursts, write_and_close }, .finish = channel_all_received),
    BOTH("mpmc_all_and_some", .setup = mpmc_one_setup, .threads = { send_all_two_and_close, receive_some_until_closed },
         .finish = channel_all_received, BOUND(3)),
    BOTH("mpmc_all_two_senders", .setup = mpmc_one_setup,
         .threads = { send_all_two, send_one, receive_three_in_bursts }, .finish = channel_all_received, BOUND(1)),
    THREE("mpmc_some_two_receivers", .setup = mpmc_two_setup,
          .threads = { send_all_two_and_close, receive_some_until_closed, receive_all },
          .finish = channel_all_received),
    BOTH("mpmc_try", .setup = mpmc_one_setup, .threads = { try_send_two_and_close, try_receive_until_closed },
         .finish = channel_all_received, BOUND(3)),
    BOTH("mpmc_8_one", .setup = mpmc_8_one_setup, .threads = { send_two, receive_two }, .finish = channel_all_received,
         BOUND(3)),
    THREE("mpmc_8_two_senders", .setup = mpmc_8_two_setup, .threads = { send_two, send_one, receive_three },
          .finish = channel_all_received),
    THREE("mpmc_8_two_receivers", .setup = mpmc_8_one_setup, .threads = { send_two, receive_single, receive_single },
          .finish = channel_all_received),
    THREE("mpmc_8_close_by_receiver", .setup = mpmc_8_one_setup,
          .threads = { send_one, receive_all, close_and_receive_all }, .finish = channel_all_received),
    FOUR("mpmc_8_close_three_receivers", .setup = mpmc_8_one_setup,
         .threads = { send_one, receive_all, receive_all, close_and_receive_all }, .finish = channel_all_received),
    BOTH("mpmc_8_close_one", .setup = mpmc_8_one_setup, .threads = { send_one, receive_until_told, write_and_close },
         .finish = channel_all_received, .bound = 2, .full_bound = 3, .old_reads = 2, .full_old_reads = 3),
    MEMBARRIER("mpmc_membarrier_lost", .setup = mpmc_one_setup,
               .threads = { send_one, receive_until_told, write_and_close }, .finish = channel_all_received, BOUND(1),
               .refusals = 2),
    FOUR("mpmc_timeout", .setup = mpmc_one_setup, .threads = { receive_timed, receive_all, send_one_and_close },
         .finish = channel_all_received),
};

#include "clients_once.h"
#include "clients_select.h"
#include "worlds.h"

/* What is explored; or, with --walk, what is drawn at random. */
int main(int argc, char **argv)
{
    enum { CLIENTS = sizeof clients / sizeof *clients, ONCE = sizeof once_clients / sizeof *once_clients };
    enum { SELECTS = sizeof select_clients / sizeof *select_clients };
    static model_client_t all[CLIENTS + ONCE + SELECTS];
    memcpy(all, clients, sizeof clients);
    memcpy(all + CLIENTS, once_clients, sizeof once_clients);
    memcpy(all + CLIENTS + ONCE, select_clients, sizeof select_clients);
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--walk") || !strcmp(argv[i], "--draw"))
            return model_main(argc, argv, worlds, sizeof worlds / sizeof *worlds);
    return model_main(argc, argv, all, CLIENTS + ONCE + SELECTS);
}
