/* shared_deaths.c: how soon a death is told, in virtual time: 200 ms at most, whatever the others are doing. A single
 * process is real here; the other is a number in the segment, and a lock that is held until it dies. */
#include "fake_os.h"
#include "harness.h"

#include <concede/concede.h>

#include "shared.h"

#define MS UINT64_C(1000000)
enum { OTHER = 2, CAPACITY = 4, FIRST_KIND = CC_ARCH_HAS_ATOMIC_64_ ? CC_CHANNEL_MPMC : CC_CHANNEL_SPSC };

static cc_shared_t *shared;
static cc_channel_t *channel;
static uint64_t dies_at, longest;

/* Called whenever time may have passed. */
static void time_passes(void)
{
    if (fake.now_ns >= dies_at) fake.others_locks &= ~(UINT64_C(1) << OTHER);
}

static void before_a_sleep(void)
{
    time_passes();
    if (fake.waited_until - fake.now_ns > longest) longest = fake.waited_until - fake.now_ns;
}

/* The other has come, and dies so many ns from now. */
static void begin(uint32_t kind, uint64_t in_ns)
{
    int fd;
    cc_channel_options_t options = { CAPACITY, 8, kind, CC_SNOOZE_ADAPTIVE };
    cc_costs_t costs = { 10000, 500, 5000, 2 }; /* of a pause in ps, a yield and a wake-up in ns; CPUs */
    fake_start();
    cc_costs_set(&costs);
    fake.yield_ns = 500;
    fake.wake_ns = 5000;
    fake.has_segments = true;
    fake.before_sleep = before_a_sleep;
    fake.on_yield = time_passes;
    REQUIRE(cc_shared_create_fd(&shared, &options, &fd) == 0);
    channel = cc_shared_channel(shared);
    shared->segment->participants[OTHER] = CC_ALIVE_;
    fake.others_locks = UINT64_C(1) << OTHER;
    dies_at = fake.now_ns + in_ns;
    longest = 0;
}

static void was_told_in_time(void)
{
    CHECK(fake.now_ns >= dies_at && fake.now_ns <= dies_at + 200 * MS);
    CHECK(longest <= 50 * MS); /* until the next look */
    cc_shared_close(shared);
}

static void fill(void)
{
    uint64_t message = 1;
    while (cc_channel_try_send(channel, &message) == 0) {}
}

TEST(who_sleeps_is_told)
{
    for (uint32_t kind = FIRST_KIND; kind < 2; kind++)
        for (uint64_t in_ms = 0; in_ms <= 120; in_ms += 7) {
            uint64_t message = 1;
            size_t which;
            begin(kind, in_ms * MS);
            CHECK_EQ(cc_channel_recv(channel, &message), EOWNERDEAD);
            was_told_in_time();
            begin(kind, in_ms * MS);
            fill();
            CHECK_EQ(cc_channel_send(channel, &message), EOWNERDEAD);
            was_told_in_time();
            begin(kind, in_ms * MS);
            cc_select_case_t cases[] = { CC_SELECT_CASE_RECV(channel, &message) };
            CHECK_EQ(cc_select(cases, 1, CC_SELECT_FAIR, &which), 0);
            CHECK_EQ(cases[0].result, EOWNERDEAD);
            was_told_in_time();
        }
}

/* Calls that time out one after the other, each before it would look for deaths. */
TEST(who_waits_for_a_short_time_again_and_again_is_told)
{
    static const uint64_t times[] = { 0, 1000, MS, 10 * MS, 49 * MS, 60 * MS };
    for (uint32_t kind = FIRST_KIND; kind < 2; kind++)
        for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
            for (int selects = 0; selects < 2; selects++) {
                uint64_t message;
                size_t which;
                int error = ETIMEDOUT;
                begin(kind, 30 * MS);
                cc_select_case_t cases[] = { CC_SELECT_CASE_RECV(channel, &message) };
                while (error == ETIMEDOUT && fake.now_ns < dies_at + 1000 * MS) {
                    fake.now_ns += MS; /* what it does between two of them */
                    time_passes();
                    error = selects ? cc_select_timeout(cases, 1, CC_SELECT_FAIR, &which, times[i])
                                    : cc_channel_recv_timeout(channel, &message, times[i]);
                    if (selects && error == 0) error = cases[0].result;
                }
                CHECK_EQ(error, EOWNERDEAD);
                was_told_in_time();
            }
}

/* A third one sends all the time, so that no wait takes long: what comes while it spins, and what comes while it
 * sleeps. */
static void third_one_sends(void)
{
    uint64_t message = 3;
    time_passes();
    if (cc_channel_try_send(channel, &message) != 0) return; /* there is one already */
}

TEST(who_waits_but_never_for_long_is_told)
{
    for (uint32_t kind = FIRST_KIND; kind < 2; kind++)
        for (int asleep = 0; asleep < 2; asleep++) {
            uint64_t message;
            int error = 0;
            begin(kind, 30 * MS);
            if (asleep)
                fake.asleep = third_one_sends;
            else
                fake.on_yield = third_one_sends;
            while (error == 0 && fake.now_ns < dies_at + 1000 * MS) {
                fake.now_ns += 1000; /* what it does with a message */
                error = cc_channel_recv(channel, &message);
            }
            CHECK_EQ(error, EOWNERDEAD);
            was_told_in_time();
        }
}

/* They have the locks of the process in common, and one would give back what the other needs. */
static void another_thread_looks(void)
{
    fake.on_lock = NULL;
    cc_shared_look_for_deaths_(shared, (uint32_t)(fake.now_ns / MS));
}

TEST(one_thread_of_a_process_looks_at_a_time)
{
    begin(CC_CHANNEL_SPSC, 0);
    unsigned before = fake.locks;
    fake.on_lock = another_thread_looks;
    cc_shared_look_for_deaths_(shared, (uint32_t)(fake.now_ns / MS));
    CHECK_EQ(fake.locks, before + 1);
    cc_shared_look_for_deaths_(shared, (uint32_t)(fake.now_ns / MS));
    CHECK_EQ(fake.locks, before + 2); /* and then the next may */
    cc_shared_close(shared);
}

static uint64_t *stamp_of(uint64_t number)
{
    cc_slot_layout_t layout = cc_shared_mpmc_layout_(8);
    return (uint64_t *)(void *)(cc_channel_slot_(channel, (cc_index_)(number << 1), layout) + layout.stamp_offset);
}

/* The other one is half-way through a message; the numbers are those of the states in shared_mpmc.c. */
static void is_half_way(uint64_t number, bool writing)
{
    *stamp_of(number) = number << 9 | OTHER << 3 | (writing ? 1 : 3);
}

/* However many slots there are, the death is told before anybody goes through them. */
TEST(what_the_dead_one_was_half_way_through_is_put_right_by_who_comes_to_it)
{
    SKIP_IF(FIRST_KIND != CC_CHANNEL_MPMC, "this machine has none");
    uint64_t message = 7, before;
    begin(CC_CHANNEL_MPMC, 0);
    CHECK_EQ(cc_channel_try_send(channel, &message), 0);
    is_half_way(1, true);
    before = *stamp_of(1);
    message = 8;
    CHECK_EQ(cc_channel_try_send(channel, &message), 0);
    CHECK_EQ(cc_channel_try_recv(channel, &message), 0);
    CHECK_EQ(message, 7);
    CHECK_EQ(cc_channel_try_recv(channel, &message), EAGAIN); /* nobody knows of the death yet */
    CHECK_EQ(cc_channel_recv_timeout(channel, &message, MS), ETIMEDOUT);
    fake.now_ns += 50 * MS;
    time_passes();
    cc_shared_look_for_deaths_(shared, (uint32_t)(fake.now_ns / MS));
    CHECK_EQ(*stamp_of(1), before);
    CHECK_EQ(cc_channel_try_recv(channel, &message), 0);
    CHECK_EQ(message, 8);
    CHECK_EQ(cc_channel_recv_timeout(channel, &message, MS), EOWNERDEAD);
    cc_shared_close(shared);

    begin(CC_CHANNEL_MPMC, 0);
    time_passes();
    cc_shared_look_for_deaths_(shared, (uint32_t)(fake.now_ns / MS));
    fill();
    CHECK_EQ(cc_channel_try_recv(channel, &message), 0);
    is_half_way(0, false); /* it was that one who received it */
    CHECK_EQ(cc_channel_try_send(channel, &message), 0);
    CHECK_EQ(cc_channel_try_send(channel, &message), EAGAIN);
    cc_channel_close(channel);
    for (int i = 0; i < CAPACITY; i++) CHECK_EQ(cc_channel_try_recv(channel, &message), 0);
    is_half_way(1, false); /* and at the end of a channel that is closed */
    CHECK_EQ(cc_channel_try_recv(channel, &message), EPIPE);
    cc_shared_close(shared);
}

/* Who never waits, but is stopped by what a dead one left, looks for deaths by itself. */
TEST(who_only_tries_gets_past_a_dead_one)
{
    SKIP_IF(FIRST_KIND != CC_CHANNEL_MPMC, "this machine has none");
    for (int sends = 0; sends < 2; sends++) {
        uint64_t message = 7;
        int error = EAGAIN;
        begin(CC_CHANNEL_MPMC, 0);
        fill();
        for (int i = 0; i < CAPACITY && !sends; i++) CHECK_EQ(cc_channel_try_recv(channel, &message), 0);
        if (!sends) {
            is_half_way(CAPACITY, true);
            *stamp_of(CAPACITY + 1) = (uint64_t)(CAPACITY + 1) << 9 | 2; /* a message of another after it */
        } else {
            is_half_way(0, false);
        }
        while (error == EAGAIN && fake.now_ns < dies_at + 1000 * MS) {
            fake.now_ns += 100000; /* between two tries */
            time_passes();
            error = sends ? cc_channel_try_send(channel, &message) : cc_channel_try_recv(channel, &message);
        }
        CHECK_EQ(error, 0);
        was_told_in_time();
    }
}
