/* select.h on a fake system: what is chosen, whom it wakes, what it leaves behind, bad input, the descriptor. */
#include "harness.h"
#include "fake_os.h"
#include <concede/arch.h>
#undef CC_ARCH_PAUSE_
#define CC_ARCH_PAUSE_() fake_pause()
#include "../../src/channel.c"
#include "../../src/channel_mpmc.c"
#include "../../src/channel_spsc.c"
#include "../../src/door.c"
#include "../../src/select.c"

enum { CHANNELS = 3 };
static cc_channel_t *ch[CHANNELS];
static uint32_t got[CHANNELS];
static cc_select_case_t cases[CHANNELS];
static size_t which;

static void set_up(uint32_t kind, size_t capacity, uint32_t snooze_iters, uint32_t cpus)
{
    cc_costs_t costs = { 40000, 1000, 30000, cpus };
    cc_channel_options_t options = { capacity, sizeof(uint32_t), kind, snooze_iters };
    fake_start();
    cc_costs_set(&costs);
    cc_fence_mode_ = CC_FENCE_UNKNOWN_;
    for (int i = 0; i < CHANNELS; i++) {
        cc_select_case_t one = CC_SELECT_CASE_RECV(NULL, &got[i]);
        REQUIRE(cc_channel_create(&ch[i], &options) == 0);
        cases[i] = one;
        cases[i].channel = ch[i];
    }
    which = CHANNELS;
    fake_forget();
}

static void tear_down(void)
{
    for (int i = 0; i < CHANNELS; i++) {
        uint32_t left = (ch[i]->not_full.waiters | ch[i]->not_empty.waiters) &
                        (CC_EVENT_LISTENING_ | CC_EVENT_CLAIMS_ | CC_EVENT_WATCHED_);
        CHECK_EQ(left, 0);
        for (int side = 0; side < 2; side++) {
            const cc_door_t *door = &ch[i]->doors[side];
            CHECK(!door->first && !door->last_joiner && door->wakes_due == 0);
            CHECK_EQ(door->lock.word & CC_LOCK_STATE_, 0);
        }
        cc_channel_destroy(ch[i]);
    }
}

static void put(int channel, uint32_t message)
{
    CHECK_EQ(cc_channel_try_send(ch[channel], &message), 0);
}

#define BOTH_KINDS(kind)   for (uint32_t kind = CC_CHANNEL_MPMC; kind <= CC_CHANNEL_SPSC; kind++)
#define BOTH_ORDERS(order) for (uint32_t order = CC_SELECT_FAIR; order <= CC_SELECT_IN_ORDER; order++)

/* ---- Trying ----------------------------------------------------------------------------------------------------- */

TEST(exactly_the_ready_case_is_done)
{
    BOTH_KINDS(kind)
    {
        BOTH_ORDERS(order)
        {
            for (int ready = 0; ready < CHANNELS; ready++) {
                set_up(kind, 1, CC_SNOOZE_NONE, 1);
                CHECK_EQ(cc_select_try(cases, CHANNELS, order, &which), EAGAIN);
                CHECK_EQ(which, CHANNELS);
                put(ready, 7);
                CHECK_EQ(cc_select_try(cases, CHANNELS, order, &which), 0);
                CHECK_EQ(which, ready);
                CHECK_EQ(cases[which].result, 0);
                CHECK_EQ(got[which], 7);
                CHECK_EQ(cc_channel_len(ch[ready]), 0);
                CHECK_EQ(cc_select_try(cases, CHANNELS, order, &which), EAGAIN);
                CHECK_EQ(fake.waits + fake.wakes + fake.yields, 0);
                tear_down();
            }
        }
    }
}

TEST(in_order_the_first_ready_one_always_wins)
{
    BOTH_KINDS(kind)
    {
        set_up(kind, 128, CC_SNOOZE_NONE, 1);
        for (int i = 0; i < 100; i++) {
            for (int k = 1; k < CHANNELS; k++) put(k, 1);
        }
        for (int i = 0; i < 100; i++) {
            CHECK_EQ(cc_select(cases, CHANNELS, CC_SELECT_IN_ORDER, &which), 0);
            CHECK_EQ(which, 1);
        }
        CHECK_EQ(cc_select(cases, CHANNELS, CC_SELECT_IN_ORDER, &which), 0);
        CHECK_EQ(which, 2);
        tear_down();
    }
}

/* Of all cases always ready each gets at least half of its share. */
TEST(fair_gives_each_at_least_half_its_share)
{
    enum { ROUNDS = 3000 };
    BOTH_KINDS(kind)
    {
        unsigned chosen[CHANNELS] = { 0 };
        set_up(kind, 1, CC_SNOOZE_NONE, 1);
        for (int k = 0; k < CHANNELS; k++) put(k, 1);
        for (int i = 0; i < ROUNDS; i++) {
            CHECK_EQ(cc_select(cases, CHANNELS, CC_SELECT_FAIR, &which), 0);
            chosen[which]++;
            put((int)which, 1);
        }
        for (int k = 0; k < CHANNELS; k++)
            if (!CHECK(chosen[k] >= ROUNDS / CHANNELS / 2)) printf("  %u of %d\n", chosen[k], ROUNDS);
        tear_down();
    }
}

/* The same with messages of 8 bytes, which have a path of their own; and in order the first always. */
TEST(messages_of_8_bytes_keep_to_the_order_too)
{
    enum { ROUNDS = 3000 };
    BOTH_KINDS(kind)
    {
        BOTH_ORDERS(order)
        {
            unsigned chosen[CHANNELS] = { 0 };
            uint64_t in = 5, out;
            cc_select_case_t from[CHANNELS];
            cc_channel_options_t options = { 1, sizeof in, kind, CC_SNOOZE_NONE };
            set_up(kind, 1, CC_SNOOZE_NONE, 1);
            for (int k = 0; k < CHANNELS; k++) {
                cc_select_case_t one = CC_SELECT_CASE_RECV(NULL, &out);
                from[k] = one;
                REQUIRE(cc_channel_create(&from[k].channel, &options) == 0);
                CHECK_EQ(cc_channel_try_send(from[k].channel, &in), 0);
            }
            for (int i = 0; i < ROUNDS; i++) {
                out = 0;
                CHECK_EQ(cc_select(from, CHANNELS, order, &which), 0);
                CHECK(from[which].result == 0 && out == in);
                CHECK_EQ(cc_channel_try_send(from[which].channel, &in), 0);
                chosen[which]++;
            }
            for (int k = 0; k < CHANNELS; k++) {
                if (order == CC_SELECT_FAIR)
                    CHECK(chosen[k] >= ROUNDS / CHANNELS / 2);
                else
                    CHECK_EQ(chosen[k], k == 0 ? ROUNDS : 0);
                cc_channel_destroy(from[k].channel);
            }
            tear_down();
        }
    }
}

TEST(sends_go_where_there_is_room)
{
    BOTH_KINDS(kind)
    {
        uint32_t message = 9;
        set_up(kind, 1, CC_SNOOZE_NONE, 1);
        cc_select_case_t to[] = { CC_SELECT_CASE_SEND(ch[0], &message), CC_SELECT_CASE_SEND(ch[1], &message) };
        put(0, 1);
        CHECK_EQ(cc_select_try(to, 2, CC_SELECT_FAIR, &which), 0);
        CHECK_EQ(which, 1);
        CHECK_EQ(cc_select_try(to, 2, CC_SELECT_FAIR, &which), EAGAIN);
        CHECK_EQ(cc_channel_try_recv(ch[1], &got[1]), 0);
        CHECK_EQ(got[1], 9);
        tear_down();
    }
}

/* Messages of 8 bytes have a path of their own, and it tells the sender, too. */
TEST(what_it_receives_wakes_a_sender_that_waits_for_room)
{
    BOTH_KINDS(kind)
    {
        for (size_t size = 4; size <= 8; size += 4) {
            uint64_t in = 7, out = 0;
            cc_channel_options_t options = { 1, size, kind, CC_SNOOZE_NONE };
            cc_channel_t *full;
            set_up(kind, 1, CC_SNOOZE_NONE, 1);
            REQUIRE(cc_channel_create(&full, &options) == 0);
            cc_select_case_t from[] = { CC_SELECT_CASE_RECV(full, &out) };
            CHECK_EQ(cc_channel_try_send(full, &in), 0);
            (void)!cc_event_listen(&full->not_full); /* a sender sleeps */
            fake_forget();
            CHECK_EQ(cc_select_try(from, 1, CC_SELECT_FAIR, &which), 0);
            CHECK(which == 0 && from[0].result == 0 && cc_channel_len(full) == 0);
            CHECK_EQ(memcmp(&out, &in, size), 0);
            CHECK_EQ(fake.wakes, 1);
            CHECK_EQ(cc_select_try(from, 1, CC_SELECT_FAIR, &which), EAGAIN);
            cc_channel_destroy(full);
            tear_down();
        }
    }
}

TEST(closed_is_ready_and_says_so)
{
    BOTH_KINDS(kind)
    {
        uint32_t message = 9;
        set_up(kind, 2, CC_SNOOZE_NONE, 1);
        put(1, 5);
        cc_channel_close(ch[1]);
        CHECK_EQ(cc_select(cases, CHANNELS, CC_SELECT_IN_ORDER, &which), 0); /* what was accepted comes first */
        CHECK(which == 1 && cases[1].result == 0 && got[1] == 5);
        CHECK_EQ(cc_select(cases, CHANNELS, CC_SELECT_IN_ORDER, &which), 0);
        CHECK(which == 1 && cases[1].result == EPIPE && got[1] == 5);
        cases[1].channel = NULL;
        CHECK_EQ(cc_select_try(cases, CHANNELS, CC_SELECT_IN_ORDER, &which), EAGAIN);
        cc_select_case_t to[] = { CC_SELECT_CASE_SEND(ch[1], &message) };
        CHECK_EQ(cc_select(to, 1, CC_SELECT_FAIR, &which), 0);
        CHECK(which == 0 && to[0].result == EPIPE);
        tear_down();
    }
}

/* ---- Bad input -------------------------------------------------------------------------------------------------- */

TEST(nonsense_is_an_error)
{
    set_up(CC_CHANNEL_MPMC, 1, CC_SNOOZE_NONE, 1);
    put(0, 1);
    CHECK_EQ(cc_select(NULL, 1, CC_SELECT_FAIR, &which), EINVAL);
    CHECK_EQ(cc_select(NULL, 0, CC_SELECT_FAIR, &which), EINVAL); /* and no deadline */
    CHECK_EQ(cc_select(cases, 0, CC_SELECT_FAIR, &which), EINVAL);
    CHECK_EQ(cc_select(cases, CHANNELS, CC_SELECT_FAIR, NULL), EINVAL);
    CHECK_EQ(cc_select(cases, CHANNELS, 2, &which), EINVAL);
    CHECK_EQ(cc_select(cases, CHANNELS, UINT32_MAX, &which), EINVAL);
    CHECK_EQ(cc_select(cases, CC_SELECT_MAX + 1, CC_SELECT_FAIR, &which), EINVAL); /* not one of them is looked at */
    CHECK_EQ(cc_select(cases, SIZE_MAX, CC_SELECT_FAIR, &which), EINVAL);
    CHECK_EQ(cc_select_try(cases, SIZE_MAX, CC_SELECT_FAIR, &which), EINVAL);
    cases[2].operation = 2;
    CHECK_EQ(cc_select(cases, CHANNELS, CC_SELECT_IN_ORDER, &which), EINVAL);
    CHECK_EQ(cc_select_try(cases, CHANNELS, CC_SELECT_IN_ORDER, &which), EINVAL);
    cases[2].operation = UINT32_MAX;
    CHECK_EQ(cc_select_timeout(cases, CHANNELS, CC_SELECT_IN_ORDER, &which, 5), EINVAL);
    cases[2].operation = CC_SELECT_SEND;
    cases[2].message = NULL;
    CHECK_EQ(cc_select_until(cases, CHANNELS, CC_SELECT_IN_ORDER, &which, 5), EINVAL);
    CHECK_EQ(which, CHANNELS); /* and nothing was done */
    CHECK_EQ(cc_channel_len(ch[0]), 1);
    cases[2].channel = NULL; /* a case that is never ready needs no message */
    CHECK_EQ(cc_select(cases, CHANNELS, CC_SELECT_IN_ORDER, &which), 0);
    tear_down();
}

/* A ready case of 8 bytes is done before the others are looked at. That finds no bad case, but does nothing bad. */
TEST(a_bad_case_is_an_error_as_soon_as_it_is_looked_at)
{
    BOTH_KINDS(kind)
    {
        uint64_t in = 7, out = 0;
        cc_channel_options_t options = { 1, sizeof in, kind, CC_SNOOZE_NONE };
        cc_channel_t *full;
        set_up(kind, 1, CC_SNOOZE_NONE, 1);
        REQUIRE(cc_channel_create(&full, &options) == 0);
        cc_select_case_t two[] = { CC_SELECT_CASE_RECV(full, &out), CC_SELECT_CASE_RECV(full, NULL) };
        CHECK_EQ(cc_channel_try_send(full, &in), 0);
        CHECK_EQ((cc_select_debug_)(two, 2, CC_SELECT_IN_ORDER, &which, CC_SELECT_NO_WAIT_), EINVAL);
        CHECK_EQ(cc_select_try(&two[1], 1, CC_SELECT_IN_ORDER, &which), EINVAL);
        CHECK(which == CHANNELS && cc_channel_len(full) == 1);
        CHECK_EQ(cc_select_try(two, 2, CC_SELECT_IN_ORDER, &which), 0);
        CHECK(which == 0 && out == in && cc_channel_len(full) == 0);
        CHECK_EQ(cc_select_try(two, 2, CC_SELECT_IN_ORDER, &which), EINVAL);
        two[1].message = &out;
        two[1].operation = 2;
        CHECK_EQ(cc_select_try(two, 2, CC_SELECT_IN_ORDER, &which), EINVAL);
        CHECK_EQ(cc_channel_try_send(full, &in), 0);
        CHECK_EQ(cc_select_try(&two[1], 1, CC_SELECT_FAIR, &which), EINVAL);
        CHECK_EQ(cc_channel_len(full), 1);
        cc_channel_destroy(full);
        tear_down();
    }
}

TEST(without_a_channel_it_waits_for_the_deadline)
{
    set_up(CC_CHANNEL_MPMC, 1, CC_SNOOZE_ADAPTIVE, 2);
    for (int i = 0; i < CHANNELS; i++) cases[i].channel = NULL;
    for (size_t n = 0; n <= CHANNELS; n += CHANNELS) {
        uint64_t deadline = fake.now_ns + 5000;
        CHECK_EQ(cc_select(cases, n, CC_SELECT_FAIR, &which), EINVAL);
        CHECK_EQ(cc_select_try(cases, n, CC_SELECT_FAIR, &which), EAGAIN);
        CHECK_EQ(cc_select_until(cases, n, CC_SELECT_FAIR, &which, deadline), ETIMEDOUT);
        CHECK_EQ(fake.now_ns, deadline);
        CHECK_EQ(cc_select_until(cases, n, CC_SELECT_FAIR, &which, 0), ETIMEDOUT); /* past */
        CHECK_EQ(cc_select_timeout(NULL, 0, CC_SELECT_FAIR, &which, 100), ETIMEDOUT);
    }
    CHECK_EQ(fake.pauses, 0); /* nothing is worth spinning for */
    tear_down();
}

/* A channel counts 8,191 threads that wait for it. One thread is one, in however many cases. */
TEST(a_million_cases_on_one_channel_are_one_sleeper)
{
    cc_select_case_t *many = (cc_select_case_t *)calloc(CC_SELECT_MAX, sizeof *many);
    REQUIRE(many != NULL);
    BOTH_KINDS(kind)
    {
        set_up(kind, 1, CC_SNOOZE_NONE, 1);
        for (size_t i = 0; i < CC_SELECT_MAX; i++) {
            cc_select_case_t one = CC_SELECT_CASE_RECV(ch[0], &got[0]);
            many[i] = one;
        }
        CHECK_EQ(cc_select_timeout(many, CC_SELECT_MAX, CC_SELECT_FAIR, &which, 1000), ETIMEDOUT);
        CHECK_EQ(fake.yields, 0);
        put(0, 3);
        CHECK_EQ(cc_select(many, CC_SELECT_MAX, CC_SELECT_FAIR, &which), 0);
        CHECK(which < CC_SELECT_MAX);
        tear_down();
    }
    free(many);
}

/* ---- Waiting ---------------------------------------------------------------------------------------------------- */

static int to_put;

static void put_once(void)
{
    if (to_put >= 0) put(to_put, 42);
    to_put = -1;
}

TEST(asleep_it_is_woken_by_any_of_them)
{
    BOTH_KINDS(kind)
    {
        BOTH_ORDERS(order)
        {
            for (int ready = 0; ready < CHANNELS; ready++) {
                set_up(kind, 1, CC_SNOOZE_NONE, 1);
                to_put = ready;
                fake.asleep = put_once;
                CHECK_EQ(cc_select(cases, CHANNELS, order, &which), 0);
                CHECK(which == (size_t)ready && got[ready] == 42);
                CHECK_EQ(fake.waits, 1);
                CHECK_EQ(fake.wakes, 1);
                CHECK(fake.woken == fake.waited_on);
                CHECK_EQ(fake.membarriers, 1); /* for all of them together */
                tear_down();
            }
        }
    }
}

/* A message that comes between the last look and the sleep. */
TEST(a_message_before_the_sleep_keeps_it_awake)
{
    BOTH_KINDS(kind)
    {
        set_up(kind, 1, CC_SNOOZE_NONE, 1);
        to_put = 2;
        fake.before_sleep = put_once;
        CHECK_EQ(cc_select(cases, CHANNELS, CC_SELECT_FAIR, &which), 0);
        CHECK_EQ(which, 2);
        to_put = 1;
        fake.before_sleep = NULL;
        fake.on_membarrier = put_once;
        fake_forget();
        CHECK_EQ(cc_select(cases, CHANNELS, CC_SELECT_FAIR, &which), 0);
        CHECK_EQ(which, 1);
        CHECK_EQ(fake.waits, 0);
        tear_down();
    }
}

static void take_once(void)
{
    if (to_put >= 0) CHECK_EQ(cc_channel_try_recv(ch[to_put], &got[to_put]), 0);
    to_put = -1;
}

TEST(asleep_for_room_it_is_woken_by_a_receive)
{
    BOTH_KINDS(kind)
    {
        uint32_t message = 8;
        set_up(kind, 1, CC_SNOOZE_NONE, 1);
        for (int i = 0; i < CHANNELS; i++) {
            put(i, 1);
            cases[i].operation = CC_SELECT_SEND;
            cases[i].message = &message;
        }
        to_put = 1;
        fake.asleep = take_once;
        CHECK_EQ(cc_select(cases, CHANNELS, CC_SELECT_FAIR, &which), 0);
        CHECK(which == 1 && cases[1].result == 0);
        CHECK_EQ(cc_channel_len(ch[1]), 1);
        tear_down();
    }
}

static void close_all(void)
{
    for (int i = 0; i < CHANNELS; i++) cc_channel_close(ch[i]);
}

TEST(a_close_wakes_it)
{
    BOTH_KINDS(kind)
    {
        set_up(kind, 1, CC_SNOOZE_NONE, 1);
        fake.asleep = close_all;
        CHECK_EQ(cc_select(cases, CHANNELS, CC_SELECT_IN_ORDER, &which), 0);
        CHECK(which == 0 && cases[0].result == EPIPE);
        tear_down();
    }
}

TEST(at_the_deadline_it_looks_once_more_and_leaves_no_trace)
{
    BOTH_KINDS(kind)
    {
        set_up(kind, 1, CC_SNOOZE_NONE, 1);
        uint64_t deadline = fake.now_ns + 1000;
        CHECK_EQ(cc_select_until(cases, CHANNELS, CC_SELECT_FAIR, &which, deadline), ETIMEDOUT);
        CHECK_EQ(fake.now_ns, deadline);
        CHECK_EQ(fake.waited_until, deadline);
        CHECK_EQ(cc_select_until(cases, CHANNELS, CC_SELECT_FAIR, &which, 0), ETIMEDOUT);
        CHECK_EQ(cc_select_until(cases, CHANNELS, CC_SELECT_FAIR, &which, deadline), ETIMEDOUT);
        CHECK_EQ(fake.waits, 1);
        to_put = 1;
        fake.asleep = put_once;
        fake.woken_as = ETIMEDOUT; /* the message crossed the deadline */
        CHECK_EQ(cc_select_timeout(cases, CHANNELS, CC_SELECT_FAIR, &which, 1000), 0);
        CHECK_EQ(which, 1);
        tear_down();
    }
}

/* Nobody sends: signals, and wake-ups for no reason. */
TEST(it_sleeps_on_after_a_wake_up_in_vain)
{
    BOTH_KINDS(kind)
    {
        cc_counters_t before, after;
        set_up(kind, 1, CC_SNOOZE_NONE, 1);
        cc_counters(&before);
        FAKE_SCRIPT({ EINTR, 10 }, { 0, 10 }, { EINTR, 10 });
        CHECK_EQ(cc_select_timeout(cases, CHANNELS, CC_SELECT_FAIR, &which, 1000), ETIMEDOUT);
        CHECK_EQ(fake.waits, 4);
        cc_counters(&after);
        CHECK_EQ(after.channel.waits - before.channel.waits, 1);
        CHECK_EQ(after.channel.slept - before.channel.slept, 1);
        CHECK_EQ(after.event.waits, before.event.waits);
        tear_down();
    }
}

/* One more receiver sleeps on the second channel. Both channels get a message; the select takes from the first. */
static void put_two(void)
{
    put(0, 1);
    put(1, 2);
}

TEST(woken_by_one_and_taking_from_another_passes_it_on)
{
    set_up(CC_CHANNEL_MPMC, 1, CC_SNOOZE_NONE, 1);
    (void)!cc_event_listen(&ch[1]->not_empty);
    fake.asleep = put_two;
    CHECK_EQ(cc_select(cases, CHANNELS, CC_SELECT_IN_ORDER, &which), 0);
    CHECK_EQ(which, 0);
    CHECK(fake.woken == &ch[1]->not_empty.epoch);
    CHECK_EQ(ch[1]->not_empty.waiters & CC_EVENT_LISTENING_, 0); /* claimed */
    cc_event_cancel(&ch[1]->not_empty);
    tear_down();
}

/* Woken for the second, it finds the first ready, too. */
static void put_second_first(void)
{
    put(1, 2);
    put(0, 1);
}

TEST(the_wake_up_of_the_one_that_it_left_is_given_to_another)
{
    set_up(CC_CHANNEL_MPMC, 1, CC_SNOOZE_NONE, 1);
    fake.asleep = put_second_first;
    (void)!cc_event_listen(&ch[1]->not_empty); /* before it: the select is the first in the list all the same */
    CHECK_EQ(cc_select(cases, CHANNELS, CC_SELECT_IN_ORDER, &which), 0);
    CHECK_EQ(which, 0);
    CHECK(fake.woken == &ch[1]->not_empty.epoch);
    cc_event_cancel(&ch[1]->not_empty);
    tear_down();
}

/* A channel's fences are settled for it by the selects that slept on it, too. */
TEST(who_sleeps_again_and_again_needs_no_fence_of_all_threads)
{
    BOTH_KINDS(kind)
    {
        set_up(kind, 1, CC_SNOOZE_NONE, 1);
        fake.asleep = put_once;
        for (int i = 0; i < 5; i++) {
            to_put = 1;
            CHECK_EQ(cc_select(cases, CHANNELS, CC_SELECT_FAIR, &which), 0);
        }
        to_put = 1;
        fake_forget();
        CHECK_EQ(cc_select(cases, CHANNELS, CC_SELECT_FAIR, &which), 0);
        CHECK_EQ(fake.waits, 1);
        CHECK_EQ(fake.membarriers, 0);
        tear_down();
    }
}

/* ---- What it learns --------------------------------------------------------------------------------------------- */

static unsigned pauses_left;
static void put_after_pauses(void)
{
    if (pauses_left > 0 && --pauses_left == 0) put_once();
}

TEST(while_it_spins_it_looks_after_every_pause)
{
    BOTH_KINDS(kind)
    {
        set_up(kind, 1, CC_SNOOZE_ADAPTIVE, 2);
        fake.on_pause = put_after_pauses;
        fake.pause_ps = 40000;
        pauses_left = 20;
        to_put = 1;
        CHECK_EQ(cc_select(cases, CHANNELS, CC_SELECT_FAIR, &which), 0);
        CHECK_EQ(which, 1);
        CHECK_EQ(fake.pauses, 20);
        CHECK_EQ(fake.waits + fake.yields + fake.membarriers, 0);
        CHECK(ch[1]->not_empty.snooze != 0); /* it has learned that spinning pays, and the others nothing */
        CHECK(ch[0]->not_empty.snooze == 0 && ch[2]->not_empty.snooze == 0);
        tear_down();
    }
}

TEST(long_sleeps_end_in_sleeping_at_once)
{
    BOTH_KINDS(kind)
    {
        set_up(kind, 1, CC_SNOOZE_ADAPTIVE, 2);
        fake.pause_ps = 40000;
        for (int i = 0; i < 20; i++)
            CHECK_EQ(cc_select_timeout(cases, CHANNELS, CC_SELECT_FAIR, &which, 1000000), ETIMEDOUT);
        fake_forget();
        CHECK_EQ(cc_select_timeout(cases, CHANNELS, CC_SELECT_FAIR, &which, 1000000), ETIMEDOUT);
        CHECK_EQ(fake.pauses, 0);
        CHECK_EQ(fake.waits, 1);
        tear_down();
    }
}

TEST(a_fixed_snooze_is_kept_and_none_is_none)
{
    static const uint32_t fixed[] = { 3, CC_SNOOZE_NONE };
    for (int i = 0; i < 2; i++) {
        set_up(CC_CHANNEL_SPSC, 1, fixed[i], 2);
        fake.pause_ps = 1;
        CHECK_EQ(cc_select_timeout(cases, CHANNELS, CC_SELECT_FAIR, &which, 1000000), ETIMEDOUT);
        CHECK_EQ(fake.pauses, i == 0 ? 7 : 0); /* 1 + 2 + 4 */
        CHECK_EQ(ch[0]->not_empty.snooze, 0);
        tear_down();
    }
}

/* ---- The descriptor --------------------------------------------------------------------------------------------- */

TEST(the_descriptor_is_made_once_and_closed_with_the_channel)
{
    set_up(CC_CHANNEL_MPMC, 1, CC_SNOOZE_NONE, 1);
    int fd = -1;
    CHECK_EQ(cc_channel_fd(NULL, CC_SELECT_RECV, &fd), EINVAL);
    CHECK_EQ(cc_channel_fd(ch[0], 2, &fd), EINVAL);
    CHECK_EQ(cc_channel_fd(ch[0], CC_SELECT_RECV, NULL), EINVAL);
    CHECK(!cc_channel_arm(NULL, CC_SELECT_RECV) && !cc_channel_arm(ch[0], 2));
    CHECK(!cc_channel_arm(ch[0], CC_SELECT_RECV)); /* nobody has asked for a descriptor */
    fake.bell_error = EMFILE;
    CHECK_EQ(cc_channel_fd(ch[0], CC_SELECT_RECV, &fd), EMFILE);
    CHECK(!cc_channel_arm(ch[0], CC_SELECT_RECV));
    CHECK_EQ(fd, -1);
    fake.bell_error = 0;
    fake_forget();
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(cc_channel_fd(ch[0], CC_SELECT_RECV, &fd), 0);
        CHECK_EQ(fd, 0);
    }
    CHECK_EQ(fake.bells, 1);
    CHECK_EQ(cc_channel_fd(ch[0], CC_SELECT_SEND, &fd), 0);
    CHECK_EQ(fake.bells, 2);
    tear_down();
    CHECK_EQ(fake.bells_closed, 2);
}

TEST(it_becomes_readable_once_for_each_arm)
{
    BOTH_KINDS(kind)
    {
        int fd;
        set_up(kind, 4, CC_SNOOZE_NONE, 1);
        REQUIRE(cc_channel_fd(ch[0], CC_SELECT_RECV, &fd) == 0);
        put(0, 1);
        CHECK_EQ(fake.rings, 0);                       /* it was not armed */
        CHECK(!cc_channel_arm(ch[0], CC_SELECT_RECV)); /* worth it now */
        put(0, 2);
        CHECK_EQ(fake.rings, 0);
        for (int i = 0; i < 2; i++) CHECK_EQ(cc_channel_try_recv(ch[0], &got[0]), 0);
        for (unsigned round = 1; round <= 3; round++) {
            CHECK(cc_channel_arm(ch[0], CC_SELECT_RECV));
            CHECK(cc_channel_arm(ch[0], CC_SELECT_RECV)); /* again, which is the same arm */
            CHECK_EQ(fake.emptied, round - 1);
            put(0, 3);
            CHECK_EQ(fake.rings, round);
            put(0, 4);
            CHECK_EQ(fake.rings, round);
            for (int i = 0; i < 2; i++) CHECK_EQ(cc_channel_try_recv(ch[0], &got[0]), 0);
        }
        CHECK(cc_channel_arm(ch[0], CC_SELECT_RECV));
        cc_channel_close(ch[0]);
        CHECK_EQ(fake.rings, 4);
        CHECK(!cc_channel_arm(ch[0], CC_SELECT_RECV));
        CHECK_EQ(fake.wakes, 0);
        tear_down();
    }
}

TEST(who_polls_again_and_again_needs_no_fence_of_all_threads)
{
    BOTH_KINDS(kind)
    {
        int fd;
        set_up(kind, 1, CC_SNOOZE_NONE, 1);
        REQUIRE(cc_channel_fd(ch[0], CC_SELECT_RECV, &fd) == 0);
        for (int i = 0; i < 6; i++) {
            fake_forget();
            CHECK(cc_channel_arm(ch[0], CC_SELECT_RECV));
            put(0, 1);
            CHECK_EQ(fake.rings, 1);
            CHECK_EQ(cc_channel_try_recv(ch[0], &got[0]), 0);
        }
        CHECK_EQ(fake.membarriers, 0);
        tear_down();
    }
}

TEST(armed_for_room_it_tells_of_a_receive)
{
    BOTH_KINDS(kind)
    {
        int fd;
        set_up(kind, 1, CC_SNOOZE_NONE, 1);
        REQUIRE(cc_channel_fd(ch[0], CC_SELECT_SEND, &fd) == 0);
        CHECK(!cc_channel_arm(ch[0], CC_SELECT_SEND));
        put(0, 1);
        CHECK(cc_channel_arm(ch[0], CC_SELECT_SEND));
        CHECK_EQ(fake.rings, 0);
        CHECK_EQ(cc_channel_try_recv(ch[0], &got[0]), 0);
        CHECK_EQ(fake.rings, 1);
        put(0, 1);
        CHECK(cc_channel_arm(ch[0], CC_SELECT_SEND));
        cc_channel_close(ch[0]);
        CHECK_EQ(fake.rings, 2);
        CHECK(!cc_channel_arm(ch[0], CC_SELECT_SEND));
        tear_down();
    }
}

/* Who polls may not come: a thread that sleeps is woken besides. */
TEST(a_descriptor_takes_no_wake_up_from_a_thread)
{
    int fd;
    set_up(CC_CHANNEL_MPMC, 1, CC_SNOOZE_NONE, 1);
    REQUIRE(cc_channel_fd(ch[0], CC_SELECT_RECV, &fd) == 0);
    CHECK(cc_channel_arm(ch[0], CC_SELECT_RECV));
    to_put = 0;
    fake.asleep = put_once;
    CHECK_EQ(cc_channel_recv(ch[0], &got[0]), 0);
    CHECK(fake.rings == 1 && fake.wakes == 1);
    CHECK(cc_channel_arm(ch[0], CC_SELECT_RECV));
    to_put = 0;
    CHECK_EQ(cc_select(cases, CHANNELS, CC_SELECT_FAIR, &which), 0);
    CHECK(fake.rings == 2 && fake.wakes == 2);
    tear_down();
}
