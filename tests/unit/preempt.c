/* One thread, interrupted at every step: for each operation and each thing that another thread may do meanwhile, the
 * test runs the operation once for each of its atomic accesses and system calls, and lets the other act right before
 * that one. So no order of the two is missed in which the other is not interrupted itself (for the rest there is
 * tests/model).
 *
 * The sources are included, so that their atomics can be counted, and so that they can be broken on purpose: each
 * mutant below must be noticed by the same tests. */
#include "harness.h"
#include "fake_os.h"

#if !defined(_WIN32)
#include <concede/atomic.h>
#include <sys/wait.h>

/* ---- Stops before every atomic access --------------------------------------------------------------------------- */

static unsigned step_number, act_at;
static bool acted, acting, step_reached;
static void (*act)(void), (*act_later)(void);

static void act_now(void)
{
    if (acted || acting) return;
    acted = acting = true;
    act();
    acting = false;
}

/* Asleep: the other acts now if it has not yet; if that woke nobody, it does what ends the wait. */
static void act_while_asleep(void)
{
    if (acting) return;
    unsigned wakes = fake.wakes;
    act_now();
    if (fake.wakes == wakes && act_later) {
        acting = true;
        act_later();
        acting = false;
        act_later = NULL;
    }
}

static void step(void)
{
    if (acting || ++step_number != act_at) return;
    step_reached = true;
    act_now();
}

/* ---- What is broken on purpose ---------------------------------------------------------------------------------- */

static enum {
    NOTHING,
    NO_WAKE,        /* the system call that wakes is left out */
    NO_COMPARISON,  /* falls asleep without comparing the word again */
    STORE_FOR_SWAP, /* a lock is given up by a plain store */
    NO_LOOK_AGAIN   /* does not look again between announcing itself and sleeping */

} mutant;

static int mutable_wait(const uint32_t *word, uint32_t expected, uint64_t deadline)
{
    step();
    return cc_os_wait_(word, mutant == NO_COMPARISON ? *word : expected, deadline);
}

static void mutable_wake(const uint32_t *word, uint32_t count)
{
    step();
    if (mutant != NO_WAKE) cc_os_wake_(word, count);
}

#undef cc_atomic_load_
#undef cc_atomic_store_
#undef cc_atomic_exchange_
#undef cc_atomic_cas_
#undef cc_atomic_fetch_
#define cc_atomic_load_(p, order)        (step(), __atomic_load_n((p), __ATOMIC_##order))
#define cc_atomic_store_(p, v, order)    (step(), __atomic_store_n((p), (v), __ATOMIC_##order))
#define cc_atomic_exchange_(p, v, order) (step(), __atomic_exchange_n((p), (v), __ATOMIC_##order))
#define cc_atomic_cas_(p, e, v, weak, order) \
    (step(), __atomic_compare_exchange_n((p), (e), (v), weak, __ATOMIC_##order, __ATOMIC_RELAXED))
#define cc_atomic_fetch_(op, p, v, order) (step(), __atomic_fetch_##op((p), (v), __ATOMIC_##order))
#undef cc_fetch_add_release
#define cc_fetch_add_release(p, v) \
    (mutant == STORE_FOR_SWAP ? (cc_store_release(p, 0), 1u) : cc_atomic_fetch_(add, p, v, RELEASE))

#undef CC_ARCH_PAUSE_
#define CC_ARCH_PAUSE_() fake_pause()
#define cc_os_wait_      mutable_wait
#define cc_os_wake_      mutable_wake
#include "../../src/park.c"
#include "../../src/event.c"
#include "../../src/lock.c"
#include "../../src/channel.c"
#include "../../src/channel_spsc.c"
#include "../../src/channel_mpmc.c"
#undef cc_os_wait_
#undef cc_os_wake_

/* ---- The exploration -------------------------------------------------------------------------------------------- */

/* One operation and what comes between. BEGIN sets the stage; OPERATION runs, and OTHER acts before one of its steps
 * (or while it sleeps, if it got that far); where that is not what the operation waits for, LATER acts while it sleeps;
 * CHECKING looks at what became of it. */
enum { BEGIN, OPERATION, OTHER, CHECKING, LATER, PARTS };
typedef void (*const play[PARTS])(void);

static void at_yield(void)
{
    step();
}

static uint32_t cpus = 2;

static unsigned explore(play p)
{
    const cc_costs_t costs = { 1000000, 1000, 2000, cpus }; /* few pauses: each is a step */
    unsigned at = 1;
    for (;; at++) {
        fake_start();
        cc_costs_set(&costs);
        act = p[OTHER];
        act_later = p[LATER];
        act_at = UINT32_MAX;
        acted = acting = step_reached = false;
        fake.before_sleep = fake.on_yield = fake.on_membarrier = at_yield;
        fake.asleep = act_while_asleep;
        step_number = 0;
        p[BEGIN]();
        act_at = step_number + at;
        p[OPERATION]();
        act_now(); /* unless it has: the other comes after it */
        if (act_later) act_later();
        p[CHECKING]();
        if (!step_reached) return at;
        REQUIRE(at < 10000);
    }
}

/* Whether any order of the play fails, found out in a child so that a lost wake-up does not end this program. */
static bool fails(play p)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (freopen("/dev/null", "w", stdout) == NULL) _exit(0);
        test_watch_child();
        explore(p);
        _exit(__atomic_load_n(&test_bad_checks, __ATOMIC_RELAXED) != 0);
    }
    int status = 0;
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
    return status != 0;
}

#define HOLDS(...)                   \
    do {                             \
        play one_ = { __VA_ARGS__ }; \
        mutant = NOTHING;            \
        CHECK(explore(one_) > 1);    \
    } while (0)

#define NOTICES(which, ...)          \
    do {                             \
        play one_ = { __VA_ARGS__ }; \
        mutant = which;              \
        CHECK(fails(one_));          \
        mutant = NOTHING;            \
    } while (0)

/* ---- Parker ----------------------------------------------------------------------------------------------------- */

static cc_parker_t parker;
static bool parked;

static void park_begin(void)
{
    parker.state = CC_PARKER_EMPTY_;
}

static void park_for_ever(void)
{
    cc_parker_park(&parker);
    parked = true;
}

static void park_for_a_while(void)
{
    parked = cc_parker_park_timeout(&parker, 100);
}

static void unpark(void)
{
    cc_parker_unpark(&parker);
}

static void one_token_in_all(void)
{
    bool left = cc_parker_park_until(&parker, 0);
    CHECK_EQ(parked + left, 1);
    CHECK_EQ(parker.state, CC_PARKER_EMPTY_);
}

TEST(a_token_at_any_moment_of_a_park_is_taken_or_kept)
{
    HOLDS(park_begin, park_for_ever, unpark, one_token_in_all);
    HOLDS(park_begin, park_for_a_while, unpark, one_token_in_all);
    NOTICES(NO_WAKE, park_begin, park_for_ever, unpark, one_token_in_all);
    NOTICES(NO_COMPARISON, park_begin, park_for_ever, unpark, one_token_in_all);
}

/* ---- Event ------------------------------------------------------------------------------------------------------ */

static cc_event_t event;
static uint32_t event_bits, event_sleepiness; /* to start with: who takes the fence, and how soon that changes */
static uint32_t flag;
static bool came;

static void event_begin(void)
{
    memset(&event, 0, sizeof event);
    event.epoch = 5;
    event.waiters = event_bits;
    event.sleepiness = event_sleepiness;
    flag = 0;
    cc_fence_mode_ = CC_FENCE_UNKNOWN_;
}

static void await_flag(void)
{
    CC_EVENT_AWAIT(&event, cc_load_acquire(&flag));
    came = true;
}

static void await_flag_for_a_while(void)
{
    came = CC_EVENT_AWAIT_UNTIL(&event, cc_load_acquire(&flag), cc_deadline_in(100000));
}

static void await_flag_by_hand(void)
{
    for (;;) {
        uint32_t key = cc_event_listen(&event);
        if (mutant != NO_LOOK_AGAIN && cc_load_acquire(&flag)) {
            cc_event_cancel(&event);
            break;
        }
        cc_event_wait(&event, key);
        if (cc_load_acquire(&flag)) break;
    }
    came = true;
}

static void set_and_notify_one(void)
{
    cc_store_release(&flag, 1);
    cc_event_notify_one(&event);
}

static void set_and_notify_all(void)
{
    cc_store_release(&flag, 1);
    cc_event_notify_all(&event);
}

static void only_notify(void)
{
    cc_event_notify_one(&event);
}

static void notify_if_it_sleeps(void)
{
    if (fake.waits > 0) cc_event_notify_one(&event);
}

static void only_set(void)
{
    cc_store_release(&flag, 1);
}

static void it_came_and_nobody_is_counted(void)
{
    CHECK(came || fake.now_ns >= 1000100000);
    CHECK_EQ(event.waiters & (CC_EVENT_LISTENING_ | CC_EVENT_CLAIMS_), 0);
}

/* The other way round: this one notifies, and another announces itself, looks, and is about to sleep. */
static bool sleeps_now;
static uint32_t its_key;

static void notify_one_waiter(void)
{
    sleeps_now = false;
    set_and_notify_one();
}

static void notify_all_waiters(void)
{
    sleeps_now = false;
    set_and_notify_all();
}

static void another_goes_to_sleep(void)
{
    its_key = cc_event_listen(&event);
    if (cc_load_acquire(&flag))
        cc_event_cancel(&event);
    else
        sleeps_now = true;
}

static void the_other_is_notified(void)
{
    if (sleeps_now) CHECK(event.epoch != its_key);
    if (sleeps_now) cc_event_wait(&event, its_key);
    CHECK_EQ(event.waiters & (CC_EVENT_LISTENING_ | CC_EVENT_CLAIMS_), 0);
}

/* One that waits for something else is notified, or is still there to be. */
static void another_sleeps_for_something_else(void)
{
    its_key = cc_event_listen(&event);
    sleeps_now = true;
}

static void the_next_notify_finds_it(void)
{
    if (event.epoch == its_key) cc_event_notify_one(&event);
    the_other_is_notified();
}

static void a_notify_is_not_lost(void)
{
    HOLDS(event_begin, await_flag, set_and_notify_one, it_came_and_nobody_is_counted);
    HOLDS(event_begin, await_flag, set_and_notify_all, it_came_and_nobody_is_counted);
    HOLDS(event_begin, await_flag_for_a_while, set_and_notify_one, it_came_and_nobody_is_counted);
    HOLDS(event_begin, await_flag_by_hand, set_and_notify_one, it_came_and_nobody_is_counted);
    HOLDS(event_begin, await_flag_by_hand, set_and_notify_all, it_came_and_nobody_is_counted);
    /* a notify in vain does not make the next one miss */
    HOLDS(event_begin, await_flag, only_notify, it_came_and_nobody_is_counted, set_and_notify_one);
    HOLDS(event_begin, await_flag_by_hand, only_notify, it_came_and_nobody_is_counted, set_and_notify_one);
    HOLDS(event_begin, await_flag_by_hand, only_set, it_came_and_nobody_is_counted, notify_if_it_sleeps);
    HOLDS(event_begin, notify_one_waiter, another_goes_to_sleep, the_other_is_notified);
    HOLDS(event_begin, notify_all_waiters, another_goes_to_sleep, the_other_is_notified);
    HOLDS(event_begin, notify_one_waiter, another_sleeps_for_something_else, the_next_notify_finds_it);
    HOLDS(event_begin, notify_all_waiters, another_sleeps_for_something_else, the_next_notify_finds_it);
    NOTICES(NO_WAKE, event_begin, await_flag_by_hand, set_and_notify_one, it_came_and_nobody_is_counted);
    NOTICES(NO_COMPARISON, event_begin, await_flag_by_hand, set_and_notify_one, it_came_and_nobody_is_counted);
    NOTICES(NO_LOOK_AGAIN, event_begin, await_flag_by_hand, set_and_notify_one, it_came_and_nobody_is_counted);
}

TEST(a_notify_at_any_moment_of_a_wait_is_not_lost)
{
    static const uint32_t bits[] = { 0, CC_EVENT_FENCED_, CC_EVENT_FENCED_ | CC_EVENT_TRUSTED_ };
    for (int i = 0; i < 3; i++) {
        for (int sleepy = 0; sleepy < 2; sleepy++) {
            event_bits = bits[i];
            event_sleepiness = sleepy ? CC_EVENT_SLEEPY - 1 : 0;
            a_notify_is_not_lost();
        }
    }
    event_bits = event_sleepiness = 0;
}

/* The other is also a waiter, that comes and goes: it must not take along what was meant for this one. */
static void another_listens_and_cancels_and_sets(void)
{
    (void)!cc_event_listen(&event);
    cc_store_release(&flag, 1);
    cc_event_notify_one(&event);
    cc_event_cancel(&event);
}

static void another_times_out_and_sets(void)
{
    uint32_t key = cc_event_listen(&event);
    void (*asleep)(void) = fake.asleep;
    fake.asleep = NULL;
    const uint32_t *slept_on = fake.waited_on;
    CHECK(!cc_event_wait_until(&event, key, 1));
    fake.waited_on = slept_on;
    fake.asleep = asleep;
    set_and_notify_one();
}

TEST(a_waiter_that_gives_up_takes_nobody_s_wake_up_along)
{
    HOLDS(event_begin, await_flag_by_hand, another_times_out_and_sets, it_came_and_nobody_is_counted);
    HOLDS(event_begin, await_flag, another_listens_and_cancels_and_sets, it_came_and_nobody_is_counted);
}

/* ---- Lock ------------------------------------------------------------------------------------------------------- */

static cc_lock_t lock;
static bool got;

/* Nobody glances: each run must have the same moments, those of what comes after a glance. */
static void free_lock(void)
{
    lock.word = 0;
    memset(memos_, 0, sizeof memos_);
    memo_of_(&lock)->glances = NO_GLANCES;
}

static void held_by_the_other(void)
{
    free_lock();
    REQUIRE(cc_lock_try_acquire(&lock));
}

static void acquire(void)
{
    cc_lock_acquire(&lock);
    got = true;
}

static void acquire_for_a_while(void)
{
    got = cc_lock_acquire_timeout(&lock, 100000);
}

static void release(void)
{
    cc_lock_release(&lock);
}

static void take_and_give_back(void)
{
    if (cc_lock_try_acquire(&lock)) cc_lock_release(&lock);
}

static void release_and_take_back(void)
{
    cc_lock_release(&lock);
    if (!cc_lock_try_acquire(&lock)) act_later = NULL; /* this one has it by now */
}

static void release_and_take_and_give_back(void)
{
    cc_lock_release(&lock);
    take_and_give_back();
}

static void it_is_ours_alone(void)
{
    if (!got) {
        CHECK(fake.now_ns >= 1000100000);
        CHECK_EQ(lock.word & CC_LOCK_STATE_ & ~14u, 0);
        return;
    }
    CHECK(!cc_lock_try_acquire(&lock));
    cc_lock_release(&lock);
    CHECK_EQ(lock.word & CC_LOCK_STATE_ & ~14u, 0); /* free, though somebody may have slept */
    CHECK(cc_lock_try_acquire(&lock));
    cc_lock_release(&lock);
}

/* With the lock gone through hands, nobody is owed it and it is free for anybody. */
static void give_back(void)
{
    cc_lock_acquire(&lock);
    CHECK(!cc_lock_try_acquire(&lock));
    cc_lock_release(&lock);
}

static void it_is_free(void)
{
    CHECK_EQ(lock.word & CC_LOCK_STATE_ & ~12u, 0);
}

TEST(a_release_at_any_moment_of_an_acquire_is_not_lost)
{
    HOLDS(held_by_the_other, acquire, release, it_is_ours_alone);
    HOLDS(held_by_the_other, acquire_for_a_while, release, it_is_ours_alone);
    HOLDS(held_by_the_other, acquire, release_and_take_and_give_back, it_is_ours_alone);
    HOLDS(held_by_the_other, acquire, release_and_take_back, it_is_ours_alone, release);
    HOLDS(held_by_the_other, acquire_for_a_while, release_and_take_back, it_is_ours_alone, release);
    HOLDS(free_lock, give_back, take_and_give_back, it_is_free);
    NOTICES(NO_WAKE, held_by_the_other, acquire, release, it_is_ours_alone);
    NOTICES(NO_COMPARISON, held_by_the_other, acquire, release, it_is_ours_alone);
    NOTICES(STORE_FOR_SWAP, held_by_the_other, acquire, release, it_is_ours_alone);
}

/* ---- Channel ---------------------------------------------------------------------------------------------------- */

static cc_channel_t *channel;
static CC_ALIGNED_(CC_CACHE_LINE) unsigned char memory[8192];
static uint32_t kind, snooze, sent, received, result;
static bool ended;       /* a receive said so */
static bool two_senders; /* their messages are counted, but not in one order */

static void new_channel(size_t capacity)
{
    cc_channel_options_t options = { capacity, sizeof(uint32_t), kind, snooze };
    REQUIRE(cc_channel_init(memory, sizeof memory, &options, &channel) == 0);
    sent = received = 0;
    ended = two_senders = false;
    cc_fence_mode_ = CC_FENCE_UNKNOWN_;
}

static void take_in(int (*receive)(cc_channel_t *, void *))
{
    uint32_t message = 0;
    result = (uint32_t)receive(channel, &message);
    if (result == 0) received++;
    if (result == 0 && !two_senders) CHECK_EQ(message, received); /* in order, none twice, none left out */
    CHECK(result != 0 || !ended);
    if (result == EPIPE) ended = true;
}

static void put_out(int (*send)(cc_channel_t *, const void *))
{
    uint32_t message = sent + 1;
    result = (uint32_t)send(channel, &message);
    if (result == 0) sent++;
}

static int recv_for_a_while(cc_channel_t *c, void *message)
{
    return cc_channel_recv_timeout(c, message, 100000);
}

static int send_for_a_while(cc_channel_t *c, const void *message)
{
    return cc_channel_send_timeout(c, message, 100000);
}

static void empty_channel(void)
{
    new_channel(2);
}

static void full_channel(void)
{
    new_channel(2);
    for (int i = 0; i < 2; i++) put_out(cc_channel_try_send);
    REQUIRE(sent == 2);
}

static void full_channel_of_two_senders(void)
{
    full_channel();
    two_senders = true;
}

static void blocking_recv(void)
{
    take_in(cc_channel_recv);
    CHECK(result == 0 || result == EPIPE);
}

static void timed_recv(void)
{
    take_in(recv_for_a_while);
    CHECK(result == 0 || result == EPIPE || (result == ETIMEDOUT && fake.now_ns >= 1000100000));
}

static void try_recv(void)
{
    take_in(cc_channel_try_recv);
    CHECK_EQ(fake.waits + fake.yields, 0);
}

static void blocking_send(void)
{
    put_out(cc_channel_send);
    CHECK(result == 0 || result == EPIPE);
}

static void timed_send(void)
{
    put_out(send_for_a_while);
    CHECK(result == 0 || result == EPIPE || (result == ETIMEDOUT && fake.now_ns >= 1000100000));
}

static void try_send(void)
{
    put_out(cc_channel_try_send);
    CHECK_EQ(fake.waits + fake.yields, 0);
}

/* The other's doings keep the result of this one's. */
static void other_sends(void)
{
    uint32_t kept = result;
    put_out(cc_channel_try_send);
    result = kept;
}

static void other_receives(void)
{
    uint32_t kept = result;
    take_in(cc_channel_try_recv);
    result = kept;
}

static void other_closes(void)
{
    cc_channel_close(channel);
}

static void other_sends_and_closes(void)
{
    other_sends();
    cc_channel_close(channel);
}

static void other_closes_and_sends(void)
{
    cc_channel_close(channel);
    other_sends();
}

static void other_closes_and_drains(void)
{
    uint32_t kept = result;
    cc_channel_close(channel);
    do take_in(cc_channel_try_recv);
    while (result == 0);
    result = kept;
}

/* A sender that looked whether the channel is closed before the close, and goes on after it. */
static void other_ends_its_send(void)
{
    uint32_t message = sent + 1;
    cc_spsc_write_one_(channel, &message, channel->layout);
    sent += (uint32_t)cc_spsc_sent_(channel, 1);
}

static void close_amid_the_other_s_send(void)
{
    cc_channel_close(channel);
    other_ends_its_send();
}

static void closed_amid_the_other_s_send(void)
{
    empty_channel();
    cc_channel_close(channel);
}

static void other_sends_and_receives(void)
{
    other_sends();
    other_receives();
}

static void other_receives_and_sends(void)
{
    other_receives();
    other_sends();
}

static void other_receives_and_closes(void)
{
    other_receives();
    cc_channel_close(channel);
}

/* Whatever was accepted is there: received by now, or received now; nobody is counted as waiting. */
static void nothing_is_lost(void)
{
    CHECK_EQ(channel->not_full.waiters & (CC_EVENT_LISTENING_ | CC_EVENT_CLAIMS_), 0);
    CHECK_EQ(channel->not_empty.waiters & (CC_EVENT_LISTENING_ | CC_EVENT_CLAIMS_), 0);
    do take_in(cc_channel_try_recv);
    while (result == 0);
    CHECK_EQ(result, cc_channel_is_closed(channel) ? EPIPE : EAGAIN);
    CHECK_EQ(received, sent);
    put_out(cc_channel_try_send);
    CHECK_EQ(result, cc_channel_is_closed(channel) ? EPIPE : 0);
}

static void for_all_channels(void (*test)(void))
{
    static const uint32_t snoozes[] = { CC_SNOOZE_NONE, CC_SNOOZE_ADAPTIVE, 2 };
    for (kind = CC_CHANNEL_MPMC; kind <= CC_CHANNEL_SPSC; kind++) {
        for (int i = 0; i < 3; i++) {
            snooze = snoozes[i];
            test();
        }
    }
}

static void receiving(void)
{
    void (*const ways[])(void) = { blocking_recv, timed_recv, try_recv };
    for (int i = 0; i < 3; i++) {
        HOLDS(empty_channel, ways[i], other_sends, nothing_is_lost);
        HOLDS(empty_channel, ways[i], other_closes, nothing_is_lost);
        HOLDS(empty_channel, ways[i], other_sends_and_closes, nothing_is_lost);
        HOLDS(empty_channel, ways[i], other_closes_and_sends, nothing_is_lost);
        HOLDS(full_channel, ways[i], other_closes, nothing_is_lost);
        if (kind == CC_CHANNEL_SPSC) {
            HOLDS(empty_channel, ways[i], close_amid_the_other_s_send, nothing_is_lost);
            HOLDS(closed_amid_the_other_s_send, ways[i], other_ends_its_send, nothing_is_lost);
        } else { /* another receiver takes what was sent, and the next is for this one */
            HOLDS(empty_channel, ways[i], other_sends_and_receives, nothing_is_lost, other_sends);
        }
    }
}

static void sending(void)
{
    void (*const ways[])(void) = { blocking_send, timed_send, try_send };
    for (int i = 0; i < 3; i++) {
        HOLDS(full_channel, ways[i], other_receives, nothing_is_lost);
        HOLDS(full_channel, ways[i], other_closes, nothing_is_lost);
        HOLDS(full_channel, ways[i], other_receives_and_closes, nothing_is_lost);
        HOLDS(empty_channel, ways[i], other_closes, nothing_is_lost);
        HOLDS(empty_channel, ways[i], other_receives_and_closes, nothing_is_lost);
        HOLDS(empty_channel, ways[i], other_receives, nothing_is_lost);
        HOLDS(full_channel, ways[i], other_closes_and_drains, nothing_is_lost);
        HOLDS(empty_channel, ways[i], other_closes_and_drains, nothing_is_lost);
        if (kind == CC_CHANNEL_MPMC)
            HOLDS(full_channel_of_two_senders, ways[i], other_receives_and_sends, nothing_is_lost, other_receives);
    }
}

static void empty_channel_of_two_senders(void)
{
    empty_channel();
    two_senders = true;
}

static void nothing_is_lost_and_nobody_spun(void)
{
    CHECK_EQ(fake.pauses, 0);
    nothing_is_lost();
}

/* The one who was faster is done: on one CPU there is nothing to wait for. */
TEST(who_loses_a_race_on_one_cpu_tries_again_at_once)
{
    kind = CC_CHANNEL_MPMC;
    snooze = CC_SNOOZE_ADAPTIVE;
    cpus = 1;
    HOLDS(empty_channel_of_two_senders, try_send, other_sends, nothing_is_lost_and_nobody_spun);
    HOLDS(full_channel_of_two_senders, try_recv, other_receives, nothing_is_lost_and_nobody_spun);
    HOLDS(empty_channel_of_two_senders, blocking_send, other_sends, nothing_is_lost_and_nobody_spun);
    cpus = 2;
}

static void broken(void)
{
    NOTICES(NO_WAKE, empty_channel, blocking_recv, other_sends, nothing_is_lost);
    NOTICES(NO_WAKE, full_channel, blocking_send, other_receives, nothing_is_lost);
    NOTICES(NO_WAKE, empty_channel, blocking_recv, other_closes, nothing_is_lost);
    NOTICES(NO_COMPARISON, empty_channel, blocking_recv, other_sends, nothing_is_lost);
}

TEST(a_send_or_close_at_any_moment_of_a_receive_is_not_lost)
{
    for_all_channels(receiving);
}

TEST(a_receive_or_close_at_any_moment_of_a_send_is_not_lost)
{
    for_all_channels(sending);
}

TEST(a_broken_channel_is_noticed)
{
    for_all_channels(broken);
}
#endif
