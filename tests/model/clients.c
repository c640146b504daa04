/* clients.c: the real sources on the model checker. Each client is one promise of a header, with as few threads as can
 * break it. */
#include "model.h"

/* Waiting that a checker must shrink: one look while spinning, none while yielding, then sleep. */
#define CC_EVENT_SPIN_NS 0
#define CC_EVENT_YIELDS  0
#define CC_LOCK_SPIN_NS  0

#include <string.h>

#include "../../src/costs.c"
#include "../../src/event.c"
#include "../../src/lock.c"
#include "../../src/park.c"

static uint32_t data[4], flags[4], items;

/* What is fixed for all clients: nothing is measured, and plain memory starts over. On one CPU nobody spins before sleeping,
 * which is also the shortest way to where wake-ups are lost; the clients with `spins` in their name have two. */
static void common_setup(uint32_t cpus)
{
    cc_costs_t costs = {1000, 1, 1, cpus};
    cc_costs_set(&costs);
    memset(data, 0, sizeof data);
    memset(flags, 0, sizeof flags);
    items = 0;
    model_name(&items, "items");
    for (int i = 0; i < 4; i++) model_name(&flags[i], (const char *const[]){"flag 0", "flag 1", "flag 2", "flag 3"}[i]);
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

static cc_event_t event;

static void event_setup_on(uint32_t cpus)
{
    common_setup(cpus);
    memset(&event, 0, sizeof event);
    cc_fence_mode_ = cc_os_membarrier_register_() ? CC_FENCE_ASYMMETRIC_ : CC_FENCE_SYMMETRIC_;
    model_name(&event.epoch, "epoch");
    model_name(&event.waiters, "waiters");
    model_statistic(&event.woken_at);   /* it feeds an estimate that cc_costs_set() has fixed */
    model_name(&cc_fence_mode_, "fence mode");
}

static void event_setup(void)
{
    event_setup_on(1);
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
    model_check(event.waiters == 0);
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

/* Items that each satisfy one waiter: a wake-up that goes to the wrong one, or to nobody, leaves an item and a sleeper. */
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
    cc_event_listen(&event);
    if (take_item()) event_giver();
    cc_event_cancel(&event);
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

static void lock_setup_on(uint32_t cpus)
{
    common_setup(cpus);
    memset(&lock, 0, sizeof lock);
    model_name(&lock.word, "lock");
}

static void lock_setup(void)
{
    lock_setup_on(1);
}

static void lock_spins_setup(void)
{
    lock_setup_on(2);
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
    model_check((lock.word & ~(uint32_t)PARKED) == FREE);
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

#define BOTH(name_, ...) {.name = name_, .membarrier = true, __VA_ARGS__}, {.name = name_ "/symmetric", __VA_ARGS__}
#define ALL_ORDERS .bound = MODEL_UNBOUNDED
/* What three threads and more are bounded by. */
#define BOUNDED  .bound = 2, .full_bound = 3, .old_reads = 2, .full_old_reads = 3
#define BOUNDED3 .bound = 3, .full_bound = 4, .old_reads = 2, .full_old_reads = 3

static const model_client_t clients[] = {
    {.name = "parker", .setup = parker_setup, .threads = {parker_owner, parker_giver}, .finish = parker_is_empty, ALL_ORDERS,
     .spurious = 2},
    {.name = "parker_two_tokens_are_one", .setup = parker_setup,
     .threads = {parker_late_owner, parker_first_giver, parker_second_giver}, .finish = parker_is_empty, ALL_ORDERS},
    {.name = "parker_two_givers", .setup = parker_setup, .threads = {parker_flag_owner, parker_flag_giver, parker_flag_giver},
     ALL_ORDERS, .spurious = 1},
    {.name = "parker_timeout_crosses_token", .setup = parker_setup, .threads = {parker_timed_owner, parker_giver},
     .finish = parker_is_empty, ALL_ORDERS, .spurious = 1, .clock_jumps = 1},
    {.name = "parker_freed_by_owner", .setup = parker_setup, .threads = {parker_freeing_owner, parker_giver}, ALL_ORDERS,
     .spurious = 1},
    {.name = "parker_freed_after_timeout", .setup = parker_setup, .threads = {parker_freeing_timed_owner, parker_giver},
     ALL_ORDERS, .spurious = 1, .clock_jumps = 1},
    {.name = "parker_ping_pong", .setup = parker_setup, .threads = {parker_ping, parker_pong}, ALL_ORDERS, .spurious = 1},

    BOTH("event", .setup = event_setup, .threads = {event_flag_waiter, event_flag_setter_one}, .finish = event_nobody_listens,
         ALL_ORDERS, .spurious = 1, .weak_failures = 1),
    BOTH("event_spins", .setup = event_spins_setup, .threads = {event_flag_waiter, event_flag_setter_one},
         .finish = event_nobody_listens, ALL_ORDERS, .spurious = 1),
    BOTH("event_fence_chosen_late", .setup = event_unknown_setup, .threads = {event_flag_waiter, event_flag_setter_one},
         .finish = event_nobody_listens, ALL_ORDERS),
    BOTH("event_fence_chosen_by_two", .setup = event_unknown_setup,
         .threads = {event_flag_waiter, event_flag_waiter, event_flag_setter_all}, .finish = event_nobody_listens, BOUNDED),
    BOTH("event_relaxed_condition", .setup = event_setup, .threads = {event_relaxed_waiter, event_relaxed_setter},
         .finish = event_nobody_listens, ALL_ORDERS),
    BOTH("event_changing_condition", .setup = event_setup, .threads = {event_changing_waiter, event_changing_setter},
         .finish = event_nobody_listens, ALL_ORDERS),
    BOTH("event_two_waiters_all", .setup = event_setup, .threads = {event_flag_waiter, event_flag_waiter, event_flag_setter_all},
         .finish = event_nobody_listens, BOUNDED),
    BOTH("event_two_takers_one_giver", .setup = event_setup, .threads = {event_taker, event_taker, event_giver_of_two},
         .finish = event_nothing_left, BOUNDED),
    BOTH("event_two_takers_two_givers", .setup = event_setup, .threads = {event_taker, event_taker, event_giver, event_giver},
         .finish = event_nothing_left, BOUNDED),
    BOTH("event_taker_of_two", .setup = event_setup, .threads = {event_taker_of_two, event_giver, event_giver},
         .finish = event_nothing_left, BOUNDED, .spurious = 1),
    BOTH("event_timeout", .setup = event_setup, .threads = {event_timed_taker, event_taker, event_giver},
         .finish = event_nothing_left, BOUNDED),
    BOTH("event_cancel", .setup = event_setup, .threads = {event_canceller, event_taker, event_giver},
         .finish = event_nothing_left, BOUNDED),

    {.name = "lock_two_threads", .setup = lock_setup, .threads = {lock_user, lock_user}, .finish = lock_is_free, ALL_ORDERS,
     .spurious = 1},
    {.name = "lock_two_threads_twice", .setup = lock_setup, .threads = {lock_user_twice, lock_user_twice},
     .finish = lock_is_free, BOUNDED3},
    {.name = "lock_three_threads", .setup = lock_setup, .threads = {lock_user, lock_user, lock_user}, .finish = lock_is_free,
     BOUNDED3, .spurious = 1},
    {.name = "lock_spins", .setup = lock_spins_setup, .threads = {lock_user, lock_user}, .finish = lock_is_free, ALL_ORDERS},
    {.name = "lock_spin_beside_sleep", .setup = lock_spins_setup, .threads = {lock_user, lock_user, lock_spinner},
     .finish = lock_is_free, BOUNDED},
    {.name = "lock_timeout", .setup = lock_setup, .threads = {lock_user, lock_user, lock_timed_user}, .finish = lock_is_free,
     BOUNDED3},
    {.name = "lock_handover", .setup = lock_setup, .threads = {lock_user_twice, lock_user, lock_user}, .finish = lock_is_free,
     BOUNDED, .clock_jumps = 1},
    {.name = "lock_handover_to_two", .setup = lock_setup, .threads = {lock_user_twice, lock_user, lock_user},
     .finish = lock_is_free, BOUNDED, .clock_jumps = 2},
    {.name = "lock_handover_spins", .setup = lock_spins_setup, .threads = {lock_user_twice, lock_user}, .finish = lock_is_free,
     BOUNDED, .clock_jumps = 1},
    {.name = "lock_handover_timeout", .setup = lock_setup, .threads = {lock_user_twice, lock_timed_user, lock_user},
     .finish = lock_is_free, BOUNDED, .clock_jumps = 1},
    {.name = "lock_handover_try", .setup = lock_setup, .threads = {lock_user_twice, lock_user, lock_trier},
     .finish = lock_is_free, BOUNDED, .clock_jumps = 1},
    {.name = "lock_freed_by_last_of_two", .setup = lock_two_freeing_setup, .threads = {lock_freeing_user, lock_freeing_user},
     ALL_ORDERS, .spurious = 1, .clock_jumps = 1},
    {.name = "lock_freed_by_last_of_three", .setup = lock_three_freeing_setup,
     .threads = {lock_freeing_user, lock_freeing_user, lock_freeing_user}, BOUNDED3, .clock_jumps = 1},
};

int main(int argc, char **argv)
{
    return model_main(argc, argv, clients, sizeof clients / sizeof *clients);
}
