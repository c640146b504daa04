/* channel.h on a fake system: shapes and sizes, order, close, phases, deadlines, what it learns. src/channel.c is
 * included, so that its pauses are counted; channel_narrow.c is this file with positions of 8 bits, which wrap around
 * all the time. */
#include "harness.h"
#include "fake_os.h"
#include <concede/arch.h>
#undef CC_ARCH_PAUSE_
#define CC_ARCH_PAUSE_() fake_pause()
static const void *asked_for; /* the last line that was asked for ahead */
#undef CC_ARCH_PREFETCH_WRITE_
#define CC_ARCH_PREFETCH_WRITE_(p) ((void)(asked_for = (p)))
#include "../../src/channel.c"
#include "../../src/channel_spsc.c"
#include "../../src/channel_mpmc.c"
#include "../../src/door.c"
#include "../../src/snooze.h"

/* A refused allocation is a result here, not the end of the program. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static cc_channel_t *ch;

static void set_up(size_t capacity, size_t size, uint32_t kind, uint32_t snooze, uint32_t cpus)
{
    cc_costs_t costs = { 40000, 1000, 30000, cpus };
    cc_channel_options_t options = { capacity, size, kind, snooze };
    fake_start();
    cc_costs_set(&costs);
    cc_fence_mode_ = CC_FENCE_UNKNOWN_;
    REQUIRE(cc_channel_create(&ch, &options) == 0);
    fake_forget(); /* making it may ask which fence there is */
}

static void tear_down(void)
{
    CHECK_EQ(ch->not_full.waiters & (CC_EVENT_LISTENING_ | CC_EVENT_CLAIMS_), 0);
    CHECK_EQ(ch->not_empty.waiters & (CC_EVENT_LISTENING_ | CC_EVENT_CLAIMS_), 0);
    cc_channel_destroy(ch);
    ch = NULL;
}

static unsigned calls(void)
{
    return fake.waits + fake.wakes + fake.yields + fake.membarriers + fake.registrations + fake.pauses;
}

#define BOTH_KINDS(kind) for (uint32_t kind = CC_CHANNEL_MPMC; kind <= CC_CHANNEL_SPSC; kind++)

/* Messages of 4 bytes that count up, for the tests that need no others. */
static uint32_t sent, received;

static int send_next(void)
{
    uint32_t message = sent + 1;
    int result = cc_channel_try_send(ch, &message);
    sent += result == 0;
    return result;
}

static int receive_next(void)
{
    uint32_t message = 0;
    int result = cc_channel_try_recv(ch, &message);
    if (result == 0) CHECK_EQ(message, ++received);
    return result;
}

static void set_up_counting(size_t capacity, uint32_t kind, uint32_t snooze)
{
    set_up(capacity, sizeof(uint32_t), kind, snooze, 2);
    sent = received = 0;
}

/* ---- Under a quota ---------------------------------------------------------------------------------------------- */

enum { COME_AFTER_NS = 4000 };
static uint64_t come_after_ns = COME_AFTER_NS;
static size_t arriving, others_get;

/* The first comes after so long, and the others with it. */
static void several_come(void)
{
    fake.now_ns += come_after_ns;
    for (size_t i = 0; i < arriving; i++) CHECK_EQ(send_next(), 0);
    for (size_t i = 0; i < others_get; i++) CHECK_EQ(receive_next(), 0);
}

static void several_go(void)
{
    fake.now_ns += come_after_ns;
    for (size_t i = 0; i < arriving; i++) CHECK_EQ(receive_next(), 0);
}

/* What the channel has learned from a wait that slept until so many messages came, or went; in it, `burst` of them. */
static uint32_t learned_when(size_t n, bool sending, size_t burst, uint64_t deadline)
{
    cc_event_t *event = sending ? &ch->not_full : &ch->not_empty;
    uint32_t messages[4] = { 0 };
    size_t done = 0;
    while (sending && send_next() == 0) continue;
    event->snooze = 1 + 8 * 10;
    arriving = n;
    fake.asleep = sending ? several_go : several_come;
    messages[0] = sent + 1;
    CHECK_EQ(sending ? cc_channel_send_until(ch, &messages[0], deadline)
                     : cc_channel_recv_some_until(ch, messages, burst, &done, deadline),
             0);
    sent += sending;
    received += (uint32_t)done;
    CHECK_EQ(fake.waits, 1);
    fake_forget();
    uint32_t learned = event->snooze;
    while (receive_next() == 0) continue;
    return learned;
}

/* How many pauses a wait made until so many messages came while it slept. What was learned before stays. */
static unsigned pauses_when_several_come(size_t n)
{
    uint32_t message = 0;
    arriving = n;
    fake.asleep = several_come;
    CHECK_EQ(cc_channel_recv(ch, &message), 0);
    received++;
    unsigned pauses = fake.pauses;
    fake_forget();
    while (receive_next() == 0) continue;
    return pauses;
}

/* Comes first: costs that are given have no quota. A quarter of a wake-up is more than COME_AFTER_NS, and less than
 * twice that. */
TEST(under_a_quota_a_receiver_does_not_spin_for_what_gathers_while_it_sleeps)
{
    enum { NO_SNOOZE = 1 };
    cc_costs_t given = { .pause_ps = 40000, .wake_ns = 24000 };
    cc_costs_set(&given);
    for (uint32_t quota = 1; quota <= 2; quota++) {
        BOTH_KINDS(kind)
        {
            cc_channel_options_t options = { 16, sizeof(uint32_t), kind, CC_SNOOZE_ADAPTIVE };
            bool limited = quota == 1;
            fake_start_with_quota(quota);
            CHECK_EQ(cc_costs_has_quota_(), limited);
            REQUIRE(cc_channel_create(&ch, &options) == 0);
            sent = received = 0;
            fake_forget();
            CHECK(learned_when(1, false, 1, CC_FOREVER) != NO_SNOOZE);
            CHECK_EQ(learned_when(2, false, 1, CC_FOREVER) == NO_SNOOZE, limited);
            CHECK_EQ(learned_when(2, false, 4, CC_FOREVER) == NO_SNOOZE, limited);
            CHECK_EQ(learned_when(4, false, 1, CC_FOREVER) == NO_SNOOZE, limited);
            CHECK(learned_when(5, false, 1, CC_FOREVER) != NO_SNOOZE); /* a quarter is left */
            CHECK(learned_when(2, false, 1, CC_FOREVER - 1) != NO_SNOOZE);
            CHECK(learned_when(2, true, 1, CC_FOREVER) != NO_SNOOZE);
            CHECK(learned_when(14, true, 1, CC_FOREVER) != NO_SNOOZE);
            others_get = kind == CC_CHANNEL_MPMC ? 7 : 0; /* so they come eight times as fast, and 2 are not many */
            if (others_get) CHECK(learned_when(7 + 3, false, 1, CC_FOREVER) != NO_SNOOZE);
            others_get = 0;
            unsigned pauses = 0;
            for (int i = 0; i < 2; i++) (void)pauses_when_several_come(3); /* what was learned and earned is used up */
            for (int i = 0; i < 20; i++) pauses += pauses_when_several_come(3);
            CHECK_EQ(pauses == 0, limited); /* it does not earn any either */
            tear_down();
        }
    }
}

/* Where a quarter of the slots is none, or one; and where others share what comes, and no time passes until it does. */
TEST(under_a_quota_small_channels_gather_nothing_and_an_interval_of_0_is_none)
{
    BOTH_KINDS(kind)
    {
        for (size_t capacity = 1; capacity <= 16; capacity *= 2) {
            cc_channel_options_t options = { capacity, sizeof(uint32_t), kind, CC_SNOOZE_ADAPTIVE };
            fake_start_with_quota(1);
            REQUIRE(cc_channel_create(&ch, &options) == 0);
            sent = received = 0;
            fake_forget();
            bool at_once = capacity == 16 && kind == CC_CHANNEL_MPMC;
            come_after_ns = at_once ? 0 : COME_AFTER_NS;
            CHECK_EQ(learned_when(capacity == 1 ? 1 : 2, false, 1, CC_FOREVER) == 1, capacity >= 8 && !at_once);
            come_after_ns = COME_AFTER_NS;
            tear_down();
        }
    }
}

/* ---- Making ----------------------------------------------------------------------------------------------------- */

TEST(capacity_is_rounded_up_to_a_power_of_two)
{
    static const size_t cases[][2] = { { 1, 1 }, { 2, 2 }, { 3, 4 },   { 4, 4 },
                                       { 5, 8 }, { 7, 8 }, { 33, 64 }, { 64, 64 } };
    BOTH_KINDS(kind)
    {
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            set_up_counting(cases[i][0], kind, CC_SNOOZE_NONE);
            CHECK_EQ(cc_channel_capacity(ch), cases[i][1]);
            for (size_t n = 0; n < cases[i][1]; n++) {
                CHECK_EQ(cc_channel_len(ch), n);
                CHECK_EQ(send_next(), 0);
            }
            CHECK_EQ(send_next(), EAGAIN);
            CHECK_EQ(cc_channel_len(ch), cases[i][1]);
            tear_down();
        }
    }
}

TEST(options_that_make_no_sense_are_refused)
{
    static const cc_channel_options_t bad[] = {
        { 0, 8, CC_CHANNEL_MPMC, 0 },
        { 8, 0, CC_CHANNEL_MPMC, 0 },
        { 8, 8, 2, 0 },
        { 8, 8, UINT32_MAX, 0 },
        { SIZE_MAX, 8, CC_CHANNEL_MPMC, 0 },
        { SIZE_MAX / 2 + 2, 1, CC_CHANNEL_SPSC, 0 },
        { 8, SIZE_MAX, CC_CHANNEL_MPMC, 0 },
        { 1, SIZE_MAX - 8, CC_CHANNEL_SPSC, 0 },
        { 64, SIZE_MAX / 64, CC_CHANNEL_MPMC, 0 },
        { SIZE_MAX / 8, SIZE_MAX / 8, CC_CHANNEL_SPSC, 0 },
    };
    static CC_ALIGNED_(CC_CACHE_LINE) unsigned char memory[4096];
    cc_channel_t *untouched = (cc_channel_t *)memory, *made = untouched;
    size_t bytes = 4711;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK_EQ(cc_channel_create(&made, &bad[i]), EINVAL);
        CHECK_EQ(cc_channel_init(memory, sizeof memory, &bad[i], &made), EINVAL);
        CHECK_EQ(cc_channel_sizeof(&bad[i], &bytes), EINVAL);
    }
    CHECK_EQ(cc_channel_create(&made, NULL), EINVAL);
    CHECK_EQ(cc_channel_init(memory, sizeof memory, NULL, &made), EINVAL);
    CHECK_EQ(cc_channel_sizeof(NULL, &bytes), EINVAL);
    cc_channel_options_t good = { 8, 8, CC_CHANNEL_MPMC, 0 };
    cc_channel_options_t too_many_to_count = { ((size_t)1 << (8 * sizeof(cc_index_) - 2)) + 1, 1, CC_CHANNEL_MPMC, 0 };
    CHECK_EQ(cc_channel_create(&made, &too_many_to_count), EINVAL);
    CHECK_EQ(cc_channel_create(NULL, &good), EINVAL);
    CHECK_EQ(cc_channel_sizeof(&good, NULL), EINVAL);
    CHECK(made == untouched);
    CHECK_EQ(bytes, 4711);
}

TEST(memory_that_is_not_there_is_reported)
{
    cc_channel_options_t huge = { 64, SIZE_MAX / 128, CC_CHANNEL_MPMC,
                                  0 }; /* more than PTRDIFF_MAX bytes: no malloc has that */
    cc_channel_t *made = NULL;
    errno = 4711;
    CHECK_EQ(cc_channel_create(&made, &huge), ENOMEM);
    CHECK(made == NULL);
    CHECK_EQ(errno, 4711);
}

TEST(a_channel_can_live_in_the_caller_s_memory)
{
    static CC_ALIGNED_(CC_CACHE_LINE) unsigned char memory[8192];
    BOTH_KINDS(kind)
    {
        cc_channel_options_t options = { 4, 12, kind, CC_SNOOZE_NONE };
        size_t bytes = 0;
        fake_start();
        CHECK_EQ(cc_channel_sizeof(&options, &bytes), 0);
        REQUIRE(bytes + CC_CACHE_LINE <= sizeof memory);
        memset(memory, 0xa5, sizeof memory);
        CHECK_EQ(cc_channel_init(memory, bytes - 1, &options, &ch), EINVAL);
        CHECK_EQ(cc_channel_init(NULL, bytes, &options, &ch), EINVAL);
        CHECK_EQ(cc_channel_init(memory, bytes, &options, NULL), EINVAL);
        for (size_t off = 1; off < CC_CACHE_LINE; off *= 2)
            CHECK_EQ(cc_channel_init(memory + off, sizeof memory - off, &options, &ch), EINVAL);
        REQUIRE(cc_channel_init(memory, bytes, &options, &ch) == 0);
        CHECK((unsigned char *)ch == memory);
        char message[12] = "hello world", got[12];
        for (int lap = 0; lap < 10; lap++) {
            CHECK_EQ(cc_channel_send(ch, message), 0);
            CHECK_EQ(cc_channel_recv(ch, got), 0);
            CHECK_EQ(memcmp(message, got, sizeof got), 0);
        }
        for (size_t i = bytes; i < sizeof memory; i++) CHECK_EQ(memory[i], 0xa5);
        cc_channel_close(ch);
        cc_channel_destroy(ch); /* frees nothing */
    }
}

TEST(destroying_nothing_is_fine)
{
    cc_channel_destroy(NULL);
}

TEST(destroying_drops_what_is_inside)
{
    BOTH_KINDS(kind)
    {
        set_up_counting(4, kind, CC_SNOOZE_NONE);
        CHECK_EQ(send_next(), 0);
        cc_channel_close(ch);
        tear_down(); /* AddressSanitizer sees a leak */
    }
}

/* ---- Messages --------------------------------------------------------------------------------------------------- */

TEST(messages_of_every_size_arrive_whole)
{
    enum { GUARD = 16 };
    unsigned char message[4096], got[4096 + 2 * GUARD];
    static const size_t large[] = { 255, 256, 257, 1000, 1024, 4088, 4095, 4096 };
    for (size_t index = 1; index < 140 + sizeof large / sizeof large[0]; index++) {
        size_t size = index < 140 ? index : large[index - 140];
        BOTH_KINDS(kind)
        {
            set_up(3, size, kind, CC_SNOOZE_NONE, 2);
            for (unsigned lap = 0; lap < 10; lap++) {
                unsigned in = 0, out = 0;
                for (;; in++) {
                    for (size_t i = 0; i < size; i++) message[i] = (unsigned char)(i * 7 + in * 3 + lap);
                    if (cc_channel_try_send(ch, message) != 0) break;
                }
                CHECK_EQ(in, 4);
                for (;; out++) {
                    memset(got, 0xa5, sizeof got);
                    if (cc_channel_try_recv(ch, got + GUARD) != 0) break;
                    for (size_t i = 0; i < size; i++)
                        if (!CHECK_EQ(got[GUARD + i], (unsigned char)(i * 7 + out * 3 + lap))) return;
                    for (size_t i = 0; i < GUARD; i++) CHECK(got[i] == 0xa5 && got[GUARD + size + i] == 0xa5);
                }
                CHECK_EQ(out, 4);
            }
            tear_down();
        }
    }
}

TEST(order_is_kept_over_many_laps)
{
    BOTH_KINDS(kind)
    {
        for (size_t capacity = 1; capacity <= 8; capacity++) {
            uint64_t random = test_seed(capacity);
            set_up_counting(capacity, kind, CC_SNOOZE_NONE);
            for (int i = 0; i < 3000; i++) {
                bool full = sent - received == cc_channel_capacity(ch), empty = sent == received;
                if (test_random(&random) % 2)
                    CHECK_EQ(send_next(), full ? EAGAIN : 0);
                else
                    CHECK_EQ(receive_next(), empty ? EAGAIN : 0);
                CHECK_EQ(cc_channel_len(ch), sent - received);
            }
            CHECK_EQ(calls(), 0); /* nobody slept, nobody was woken */
            tear_down();
        }
    }
}

TEST(bursts_take_what_fits)
{
    BOTH_KINDS(kind)
    {
        uint64_t random = test_seed(kind);
        set_up_counting(8, kind, CC_SNOOZE_NONE);
        for (int i = 0; i < 3000; i++) {
            uint32_t messages[12];
            size_t n = (size_t)(test_random(&random) % 13), inside = sent - received, expected;
            if (test_random(&random) % 2) {
                expected = n < 8 - inside ? n : 8 - inside;
                for (uint32_t k = 0; k < n; k++) messages[k] = sent + 1 + k;
                CHECK_EQ(cc_channel_send_many(ch, messages, n), expected);
                sent += (uint32_t)expected;
            } else {
                expected = n < inside ? n : inside;
                CHECK_EQ(cc_channel_recv_many(ch, messages, n), expected);
                for (size_t k = 0; k < expected; k++) CHECK_EQ(messages[k], ++received);
            }
        }
        tear_down();
    }
}

TEST(spsc_writes_and_reads_in_place)
{
    set_up_counting(4, CC_CHANNEL_SPSC, CC_SNOOZE_NONE);
    for (int lap = 0; lap < 300; lap++) {
        CHECK(cc_channel_peek(ch) == NULL);
        for (int i = 0; i < 4; i++) {
            uint32_t *place = (uint32_t *)cc_channel_reserve(ch);
            REQUIRE(place != NULL);
            CHECK_EQ((uintptr_t)place % sizeof(uint32_t), 0);
            CHECK(cc_channel_reserve(ch) == place); /* asking again changes nothing */
            CHECK_EQ(cc_channel_len(ch), i);
            *place = ++sent;
            cc_channel_commit(ch);
        }
        CHECK(cc_channel_reserve(ch) == NULL);
        for (int i = 0; i < 4; i++) {
            const uint32_t *place = (const uint32_t *)cc_channel_peek(ch);
            REQUIRE(place != NULL);
            CHECK(cc_channel_peek(ch) == place);
            CHECK_EQ(*place, ++received);
            cc_channel_consume(ch);
        }
    }
    CHECK_EQ(send_next(), 0);
    cc_channel_close(ch);
    CHECK(cc_channel_reserve(ch) == NULL);
    CHECK(cc_channel_peek(ch) != NULL);
    CHECK_EQ(receive_next(), 0);
    CHECK(cc_channel_peek(ch) == NULL);
    tear_down();
}

TEST(mpmc_has_no_place_to_write_in)
{
    set_up_counting(4, CC_CHANNEL_MPMC, CC_SNOOZE_NONE);
    CHECK(cc_channel_reserve(ch) == NULL);
    CHECK_EQ(send_next(), 0);
    CHECK(cc_channel_peek(ch) == NULL);
    tear_down();
}

typedef struct point {
    int16_t x, y, z;
} point;
CC_CHANNEL_TYPED(points, point)
CC_CHANNEL_TYPED(numbers, uint64_t)
CC_CHANNEL_TYPED(places, point *)

TEST(a_typed_channel_knows_its_size)
{
    BOTH_KINDS(kind)
    {
        point p = { 1, 2, 3 }, got = { 0, 0, 0 }, some[3];
        cc_channel_options_t options = { 4, 1, kind, 7 };
        fake_start();
        CHECK_EQ(points_create(&ch, NULL), EINVAL);
        REQUIRE(points_create(&ch, &options) == 0);
        CHECK_EQ(options.message_size, 1);
        CHECK_EQ(ch->snooze_iters, 7);
        CHECK_EQ(cc_channel_capacity(ch), 4);
        CHECK_EQ(points_send(ch, p), 0);
        CHECK_EQ(points_try_send(ch, p), 0);
        CHECK_EQ(points_send_timeout(ch, p, 5), 0);
        CHECK_EQ(points_send_until(ch, p, 0), 0);
        CHECK_EQ(points_try_send(ch, p), EAGAIN);
        CHECK_EQ(points_send_until(ch, p, 0), ETIMEDOUT);
        CHECK_EQ(points_recv(ch, &got), 0);
        CHECK(got.x == 1 && got.y == 2 && got.z == 3);
        CHECK_EQ(points_try_recv(ch, &got), 0);
        CHECK_EQ(points_recv_timeout(ch, &got, 5), 0);
        CHECK_EQ(points_recv_until(ch, &got, 0), 0);
        CHECK_EQ(points_try_recv(ch, &got), EAGAIN);
        CHECK_EQ(points_recv_until(ch, &got, 0), ETIMEDOUT);
        CHECK_EQ(points_send_many(ch, &p, 1), 1);
        CHECK_EQ(points_recv_many(ch, some, 3), 1);
        CHECK_EQ(some[0].z, 3);
        point all[6] = { p, p, p, p, p, p };
        size_t n = 7;
        CHECK_EQ(points_send_all(ch, all, 2, &n), 0);
        CHECK_EQ(n, 2);
        CHECK_EQ(points_send_all_timeout(ch, all, 1, &n, 5), 0);
        CHECK_EQ(points_send_all_until(ch, all, 6, &n, 0), ETIMEDOUT);
        CHECK_EQ(n, 1);
        CHECK_EQ(points_recv_some(ch, some, 1, &n), 0);
        CHECK_EQ(points_recv_some_timeout(ch, some, 1, &n, 5), 0);
        CHECK_EQ(n, 1);
        CHECK_EQ(points_recv_some_until(ch, some, 3, &n, 0), 0);
        CHECK_EQ(n, 2);
        CHECK_EQ(points_recv_some_until(ch, some, 3, &n, 0), ETIMEDOUT);
        CHECK_EQ(n, 0);
        uint64_t wrong = 7; /* another size: refused, and nothing is written */
        CHECK_EQ(numbers_send(ch, 1), EINVAL);
        CHECK_EQ(numbers_try_recv(ch, &wrong), EINVAL);
        CHECK_EQ(numbers_send_many(ch, &wrong, 1), 0);
        CHECK_EQ(numbers_recv_many(ch, &wrong, 1), 0);
        CHECK_EQ(numbers_send_all(ch, &wrong, 1, &n), EINVAL);
        CHECK_EQ(numbers_recv_some(ch, &wrong, 1, &n), EINVAL);
        CHECK_EQ(n, 0);
        CHECK_EQ(wrong, 7);
        CHECK_EQ(cc_channel_len(ch), 0);
        tear_down();
    }
}

TEST(a_typed_channel_carries_pointers)
{
    BOTH_KINDS(kind)
    {
        point some[2], *in[] = { &some[0], &some[1] }, *out[] = { NULL, NULL, NULL };
        cc_channel_options_t options = { 4, 0, kind, CC_SNOOZE_ADAPTIVE };
        fake_start();
        REQUIRE(places_create(&ch, &options) == 0);
        CHECK_EQ(places_send_many(ch, in, 2), 2);
        CHECK_EQ(places_send(ch, in[0]), 0);
        CHECK_EQ(places_recv_many(ch, out, 2), 2);
        CHECK_EQ(places_recv(ch, &out[2]), 0);
        CHECK(out[0] == in[0] && out[1] == in[1] && out[2] == in[0]);
        tear_down();
    }
}

/* ---- Close ------------------------------------------------------------------------------------------------------ */

TEST(after_close_sends_fail_and_receivers_drain)
{
    BOTH_KINDS(kind)
    {
        uint32_t message = 0, messages[4] = { 0 };
        set_up_counting(4, kind, CC_SNOOZE_NONE);
        for (int i = 0; i < 3; i++) CHECK_EQ(send_next(), 0);
        CHECK(!cc_channel_is_closed(ch));
        cc_channel_close(ch);
        cc_channel_close(ch);
        CHECK(cc_channel_is_closed(ch));
        CHECK_EQ(send_next(), EPIPE);
        CHECK_EQ(cc_channel_send(ch, &message), EPIPE);
        CHECK_EQ(cc_channel_send_timeout(ch, &message, 5), EPIPE);
        CHECK_EQ(cc_channel_send_until(ch, &message, 0), EPIPE);
        CHECK_EQ(cc_channel_send_many(ch, messages, 4), 0);
        CHECK_EQ(cc_channel_len(ch), 3);
        CHECK_EQ(cc_channel_recv(ch, &message), 0);
        CHECK_EQ(message, ++received);
        CHECK_EQ(receive_next(), 0);
        CHECK_EQ(cc_channel_recv_many(ch, messages, 4), 1);
        CHECK_EQ(messages[0], ++received);
        for (int i = 0; i < 2; i++) { /* and that is final */
            CHECK_EQ(cc_channel_recv_many(ch, messages, 4), 0);
            CHECK_EQ(receive_next(), EPIPE);
            CHECK_EQ(cc_channel_recv(ch, &message), EPIPE);
            CHECK_EQ(cc_channel_recv_timeout(ch, &message, 5), EPIPE);
            CHECK_EQ(cc_channel_recv_until(ch, &message, 0), EPIPE);
            CHECK_EQ(cc_channel_len(ch), 0);
        }
        CHECK_EQ(fake.waits, 0);
        tear_down();
    }
}

TEST(a_full_channel_that_is_closed_says_so)
{
    BOTH_KINDS(kind)
    {
        set_up_counting(2, kind, CC_SNOOZE_NONE);
        while (send_next() == 0) {}
        cc_channel_close(ch);
        CHECK_EQ(send_next(), EPIPE);
        CHECK_EQ(receive_next(), 0);
        CHECK_EQ(send_next(), EPIPE);
        tear_down();
    }
}

/* ---- Waiting ---------------------------------------------------------------------------------------------------- */

static void other_sends(void)
{
    CHECK_EQ(send_next(), 0);
}

static void other_receives(void)
{
    CHECK_EQ(receive_next(), 0);
}

static void other_closes(void)
{
    cc_channel_close(ch);
}

static int recv_counting(uint64_t deadline)
{
    uint32_t message = 0;
    int result = cc_channel_recv_until(ch, &message, deadline);
    if (result == 0) CHECK_EQ(message, ++received);
    return result;
}

static int send_counting(uint64_t deadline)
{
    uint32_t message = sent + 1;
    int result = cc_channel_send_until(ch, &message, deadline);
    sent += result == 0;
    return result;
}

static void set_up_full(uint32_t kind, uint32_t snooze)
{
    set_up_counting(2, kind, snooze);
    while (send_next() == 0) {}
}

TEST(a_sleeping_receiver_is_woken_by_a_message_and_by_close)
{
    BOTH_KINDS(kind)
    {
        for (int closes = 0; closes < 2; closes++) {
            set_up_counting(2, kind, CC_SNOOZE_NONE);
            fake.asleep = closes ? other_closes : other_sends;
            CHECK_EQ(recv_counting(CC_FOREVER), closes ? EPIPE : 0);
            CHECK_EQ(fake.waits, 1);
            CHECK_EQ(fake.wakes, 1);
            CHECK_EQ(fake.pauses + fake.yields, 0);
            tear_down();
        }
    }
}

TEST(a_sleeping_sender_is_woken_by_a_free_slot_and_by_close)
{
    BOTH_KINDS(kind)
    {
        for (int closes = 0; closes < 2; closes++) {
            set_up_full(kind, CC_SNOOZE_NONE);
            fake.asleep = closes ? other_closes : other_receives;
            CHECK_EQ(send_counting(CC_FOREVER), closes ? EPIPE : 0);
            CHECK_EQ(fake.waits, 1);
            CHECK_EQ(fake.wakes, 1);
            tear_down();
        }
    }
}

static void notified_for_nothing(void)
{
    cc_channel_notify_slow_(ch, CC_RECEIVING_, CC_NOTIFY_ONE_);
}

static void other_sends_at_second_sleep(void)
{
    if (fake.waits == 1)
        notified_for_nothing();
    else
        other_sends();
}

TEST(waits_and_wakes_are_counted_by_how_they_ended)
{
    BOTH_KINDS(kind)
    {
        cc_counters_t before, after;
        cc_counters(&before);
        for (int sending = 0; sending < 2; sending++) { /* one of each asleep, and one that ends in a yield */
            for (int yields = 0; yields < 2; yields++) {
                set_up_counting(2, kind, yields ? 8 : CC_SNOOZE_NONE);
                while (sending && send_next() == 0) {}
                void (*other)(void) = sending ? other_receives : other_sends;
                *(yields ? &fake.on_yield : &fake.asleep) = other;
                FAKE_SCRIPT({ 0, 300 });
                CHECK_EQ(sending ? send_counting(CC_FOREVER) : recv_counting(CC_FOREVER), 0);
                tear_down();
            }
        }
        set_up_counting(2, kind, 8);
        fake.on_pause = other_sends;
        CHECK_EQ(recv_counting(CC_FOREVER), 0); /* spins */
        tear_down();
        set_up_counting(2, kind, CC_SNOOZE_NONE);
        fake.asleep = other_sends_at_second_sleep;
        CHECK_EQ(recv_counting(CC_FOREVER), 0); /* sleeps twice; once it is woken in vain */
        tear_down();
        set_up_counting(2, kind, CC_SNOOZE_NONE);
        fake.asleep = other_closes;
        CHECK_EQ(recv_counting(CC_FOREVER), EPIPE);
        tear_down();
        cc_counters(&after);
        CHECK_EQ(after.channel.spun - before.channel.spun, 1);
        CHECK_EQ(after.channel.yielded - before.channel.yielded, 2);
        CHECK_EQ(after.channel.slept - before.channel.slept, 4);
        CHECK_EQ(after.channel.waits - before.channel.waits, 7);
        CHECK_EQ(after.channel.slept_ns - before.channel.slept_ns, 600);
        CHECK_EQ(after.channel.wakes - before.channel.wakes, 5);
        CHECK_EQ(after.channel.wakes_in_vain - before.channel.wakes_in_vain, 1);
        CHECK_EQ(memcmp(&after.event, &before.event, sizeof after.event), 0);
    }
}

TEST(what_comes_on_the_way_to_sleep_is_not_lost)
{
    BOTH_KINDS(kind)
    {
        set_up_counting(2, kind, CC_SNOOZE_NONE);
        fake.before_sleep = other_sends;
        CHECK_EQ(recv_counting(CC_FOREVER), 0);
        tear_down();
        set_up_full(kind, CC_SNOOZE_NONE);
        fake.before_sleep = other_receives;
        CHECK_EQ(send_counting(CC_FOREVER), 0);
        tear_down();
        set_up_counting(2, kind, CC_SNOOZE_NONE);
        fake.on_membarrier = other_sends; /* announced, and not looked again yet */
        CHECK_EQ(recv_counting(CC_FOREVER), 0);
        CHECK_EQ(fake.waits, 0);
        tear_down();
    }
}

static void send_on_third_wait(void)
{
    if (fake.waits == 3) other_sends();
}

TEST(a_wait_that_ends_for_no_reason_goes_on_to_the_same_deadline)
{
    static const int reasons[] = { 0, EAGAIN, EINTR, ETIMEDOUT, EINVAL, ENOSYS, EFAULT, EPERM, ENOMEM };
    BOTH_KINDS(kind)
    {
        for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
            fake_result lines[2] = { { reasons[i], 3 }, { reasons[i], 4 } };
            set_up_counting(2, kind, CC_SNOOZE_NONE);
            uint64_t deadline = fake.now_ns + 100;
            fake.script = lines;
            fake.script_lines = 2;
            fake.asleep = send_on_third_wait;
            CHECK_EQ(recv_counting(deadline), 0);
            CHECK_EQ(fake.waits, 3);
            CHECK_EQ(fake.waited_until, deadline);
            tear_down();
        }
    }
}

TEST(timeouts_come_at_their_deadline_and_leave_nobody_counted)
{
    BOTH_KINDS(kind)
    {
        for (int sending = 0; sending < 2; sending++) {
            if (sending)
                set_up_full(kind, CC_SNOOZE_NONE);
            else
                set_up_counting(2, kind, CC_SNOOZE_NONE);
            uint64_t deadline = fake.now_ns + 100;
            CHECK_EQ(sending ? send_counting(deadline) : recv_counting(deadline), ETIMEDOUT);
            CHECK_EQ(fake.now_ns, deadline);
            tear_down();
        }
    }
}

TEST(a_past_deadline_tries_once_and_does_not_wait)
{
    BOTH_KINDS(kind)
    {
        set_up_counting(2, kind, CC_SNOOZE_ADAPTIVE);
        for (uint64_t deadline = 0; deadline <= fake.now_ns; deadline += fake.now_ns / 2) {
            CHECK_EQ(recv_counting(deadline), ETIMEDOUT);
            CHECK_EQ(send_counting(deadline), 0);
            CHECK_EQ(send_counting(deadline), 0);
            CHECK_EQ(send_counting(deadline), ETIMEDOUT);
            CHECK_EQ(recv_counting(deadline), 0);
            CHECK_EQ(recv_counting(deadline), 0);
        }
        CHECK_EQ(calls(), 0);
        tear_down();
    }
}

TEST(a_message_that_crosses_the_timeout_is_received)
{
    BOTH_KINDS(kind)
    {
        set_up_counting(2, kind, CC_SNOOZE_NONE);
        fake.asleep = other_sends;
        FAKE_SCRIPT({ ETIMEDOUT, 100 });
        CHECK_EQ(recv_counting(fake.now_ns + 100), 0);
        tear_down();
    }
}

TEST(try_never_waits)
{
    BOTH_KINDS(kind)
    {
        set_up_counting(2, kind, CC_SNOOZE_ADAPTIVE);
        for (int i = 0; i < 100; i++) CHECK_EQ(receive_next(), EAGAIN);
        while (send_next() == 0) {}
        for (int i = 0; i < 100; i++) CHECK_EQ(send_next(), EAGAIN);
        CHECK_EQ(calls() + fake.clock_reads, 0);
        tear_down();
    }
}

/* Another sender took its position and was preempted before it stamped; with one more message behind it. */
TEST(try_does_not_wait_for_a_half_finished_send_and_nothing_overtakes_it)
{
    set_up_counting(4, CC_CHANNEL_MPMC, CC_SNOOZE_NONE);
    cc_index_ position;
    CHECK_EQ(take_positions_(ch, CC_SENDING_, 1, &position), 1);
    uint32_t message = 99;
    CHECK_EQ(cc_channel_try_send(ch, &message), 0);
    CHECK_EQ(cc_channel_try_recv(ch, &message), EAGAIN);
    cc_channel_close(ch);
    CHECK_EQ(cc_channel_try_recv(ch, &message), EAGAIN); /* closed, but not drained: that send was accepted */
    uint32_t first = 98;
    cc_mpmc_write_(cc_channel_slot_(ch, position, ch->layout), position, &first, ch->layout);
    CHECK_EQ(cc_channel_try_recv(ch, &message), 0);
    CHECK_EQ(message, 98);
    CHECK_EQ(cc_channel_try_recv(ch, &message), 0);
    CHECK_EQ(message, 99);
    CHECK_EQ(cc_channel_try_recv(ch, &message), EPIPE);
    tear_down();
}

static void burst_of_two(void)
{
    uint32_t messages[2] = { sent + 1, sent + 2 };
    sent += (uint32_t)cc_channel_send_many(ch, messages, 2);
    fake_forget();
    fake.waited_on = &ch->not_empty.epoch;
}

TEST(a_woken_receiver_passes_the_wake_up_on_if_there_is_more)
{
    set_up_counting(4, CC_CHANNEL_MPMC, CC_SNOOZE_NONE);
    (void)!cc_event_listen(&ch->not_empty); /* a second receiver sleeps, too */
    fake.asleep = burst_of_two;
    FAKE_SCRIPT({ 0, 0 });
    CHECK_EQ(recv_counting(CC_FOREVER), 0);
    CHECK_EQ(fake.wakes, 1);
    CHECK(fake.woken == &ch->not_empty.epoch);
    cc_event_cancel(&ch->not_empty);
    tear_down();
}

/* As the sender, who stamps at last and wakes one receiver, and as that one, who relays when its wait is over. */
static cc_index_ half_sent;
static void last_message_is_stamped_and_taken(void)
{
    const uint32_t *sleeper = fake.waited_on;
    uint64_t message;
    *cc_mpmc_stamp_(ch, half_sent, ch->layout) = (cc_index_)(half_sent + 1);
    fake.waited_on = NULL;
    cc_channel_notify_(ch, CC_RECEIVING_, CC_NOTIFY_RELAY_);
    cc_event_cancel(&ch->not_empty);
    CHECK_EQ(cc_channel_try_recv(ch, &message), 0);
    CHECK(cc_mpmc_has_more_(ch, CC_RECEIVING_)); /* the end is something for the next one */
    fake.waited_on = sleeper;
    cc_channel_notify_(ch, CC_RECEIVING_, CC_NOTIFY_RELAY_);
}

/* They sleep in a closed channel, because a send was accepted before the close and is not there yet. */
TEST(who_sleeps_until_the_last_message_of_a_closed_channel_is_taken_is_told_one_after_the_other)
{
    for (size_t size = 4; size <= 8; size += 4) {
        set_up(4, size, CC_CHANNEL_MPMC, CC_SNOOZE_NONE, 2);
        uint64_t message;
        CHECK_EQ(take_positions_(ch, CC_SENDING_, 1, &half_sent), 1);
        cc_channel_close(ch);
        (void)!cc_event_listen(&ch->not_empty); /* the one who gets it */
        (void)!cc_event_listen(&ch->not_empty); /* and one who sleeps as we do */
        fake.asleep = last_message_is_stamped_and_taken;
        CHECK_EQ(cc_channel_recv(ch, &message), EPIPE);
        CHECK_EQ(fake.waits, 1);
        CHECK_EQ(fake.wakes, 3);
        CHECK_EQ(ch->not_empty.waiters & CC_EVENT_LISTENING_, 0); /* the last one is claimed */
        cc_event_cancel(&ch->not_empty);
        tear_down();
    }
}

/* ---- Bursts that wait ------------------------------------------------------------------------------------------- */

static int recv_some_counting(size_t n, size_t *got, uint64_t deadline)
{
    uint32_t messages[16] = { 0 };
    int result = cc_channel_recv_some_until(ch, messages, n, got, deadline);
    for (size_t i = 0; i < *got; i++) CHECK_EQ(messages[i], ++received);
    for (size_t i = *got; i < 16; i++) CHECK_EQ(messages[i], 0);
    return result;
}

/* What is accepted of it counts as sent only afterwards; meanwhile the other side receives. */
static int send_all_counting(size_t n, size_t *accepted, uint64_t deadline)
{
    uint32_t messages[16];
    for (uint32_t i = 0; i < 16; i++) messages[i] = sent + 1 + i;
    int result = cc_channel_send_all_until(ch, messages, n, accepted, deadline);
    sent += (uint32_t)*accepted;
    return result;
}

static void other_sends_three(void)
{
    for (int i = 0; i < 3; i++) CHECK_EQ(send_next(), 0);
}

TEST(recv_some_waits_for_one_and_takes_what_else_is_there)
{
    BOTH_KINDS(kind)
    {
        size_t got = 99;
        set_up_counting(8, kind, CC_SNOOZE_NONE);
        CHECK_EQ(recv_some_counting(0, &got, CC_FOREVER), 0);
        CHECK_EQ(got, 0);
        other_sends_three();
        CHECK_EQ(recv_some_counting(2, &got, CC_FOREVER), 0);
        CHECK_EQ(got, 2);
        CHECK_EQ(recv_some_counting(16, &got, CC_FOREVER), 0);
        CHECK_EQ(got, 1);
        CHECK_EQ(calls(), 0);
        fake.asleep = other_sends_three;
        CHECK_EQ(recv_some_counting(16, &got, CC_FOREVER), 0);
        CHECK_EQ(got, 3);
        CHECK_EQ(fake.waits, 1);
        fake.asleep = NULL;
        uint64_t deadline = fake.now_ns + 100;
        CHECK_EQ(recv_some_counting(16, &got, deadline), ETIMEDOUT);
        CHECK_EQ(got, 0);
        CHECK_EQ(fake.now_ns, deadline);
        CHECK_EQ(send_next(), 0);
        CHECK_EQ(recv_some_counting(16, &got, 0), 0);
        CHECK_EQ(got, 1);
        fake.asleep = other_closes;
        CHECK_EQ(recv_some_counting(16, &got, CC_FOREVER), EPIPE);
        CHECK_EQ(got, 0);
        tear_down();
    }
}

TEST(send_all_waits_as_often_as_it_takes)
{
    BOTH_KINDS(kind)
    {
        size_t accepted = 99;
        set_up_counting(2, kind, CC_SNOOZE_NONE);
        CHECK_EQ(send_all_counting(0, &accepted, CC_FOREVER), 0);
        CHECK_EQ(accepted, 0);
        CHECK_EQ(send_all_counting(2, &accepted, CC_FOREVER), 0);
        CHECK_EQ(accepted, 2);
        CHECK_EQ(calls(), 0);
        fake.asleep = other_receives;
        CHECK_EQ(send_all_counting(5, &accepted, CC_FOREVER), 0);
        CHECK_EQ(accepted, 5);
        CHECK_EQ(fake.waits, 5);
        CHECK_EQ(fake.wakes, 5);
        while (receive_next() == 0) {}
        CHECK_EQ(received, sent);
        tear_down();
    }
}

static void receive_once_and_then_close(void)
{
    if (fake.waits == 1)
        other_receives();
    else
        other_closes();
}

static void receive_once(void)
{
    if (fake.waits > 1) return;
    fake.now_ns += 40;
    other_receives();
}

TEST(send_all_says_how_many_went_in_before_the_end)
{
    BOTH_KINDS(kind)
    {
        size_t accepted = 99;
        set_up_counting(2, kind, CC_SNOOZE_NONE);
        fake.asleep = receive_once_and_then_close;
        CHECK_EQ(send_all_counting(5, &accepted, CC_FOREVER), EPIPE);
        CHECK_EQ(accepted, 3);
        CHECK_EQ(send_all_counting(5, &accepted, CC_FOREVER), EPIPE);
        CHECK_EQ(accepted, 0);
        while (receive_next() == 0) {}
        CHECK_EQ(received, sent);
        tear_down();
        set_up_counting(2, kind, CC_SNOOZE_NONE);
        uint64_t deadline = fake.now_ns + 100;
        fake.asleep = receive_once;
        CHECK_EQ(send_all_counting(5, &accepted, deadline), ETIMEDOUT);
        CHECK_EQ(accepted, 3);
        CHECK_EQ(fake.now_ns, deadline); /* one deadline for all of its waits */
        while (receive_next() == 0) {}
        CHECK_EQ(received, sent);
        tear_down();
    }
}

TEST(who_took_some_passes_the_wake_up_on_only_if_there_is_more)
{
    for (size_t n = 1; n <= 2; n++) {
        size_t got;
        set_up_counting(4, CC_CHANNEL_MPMC, CC_SNOOZE_NONE);
        (void)!cc_event_listen(&ch->not_empty); /* a second receiver sleeps, too */
        fake.asleep = burst_of_two;
        FAKE_SCRIPT({ 0, 0 });
        CHECK_EQ(recv_some_counting(n, &got, CC_FOREVER), 0);
        CHECK_EQ(got, n);
        CHECK_EQ(fake.wakes, n == 1 ? 1 : 0);
        cc_event_cancel(&ch->not_empty);
        tear_down();
    }
}

/* ---- Snoozing --------------------------------------------------------------------------------------------------- */

static unsigned send_at_pause, send_at_yield;
static void send_while_snoozing(void)
{
    if (sent == 0 && (fake.pauses == send_at_pause || (send_at_yield > 0 && fake.yields == send_at_yield)))
        other_sends();
}

/* The line of the position that is so many after the next one to send. */
static const void *ahead_of_sender(size_t positions)
{
    return cc_mpmc_stamp_(ch, (cc_index_)(ch->mpmc.tail.position + 2 * positions - 2), ch->layout);
}

/* How many messages are sent from here until the line so many positions ahead is asked for; -1: it is not. */
static int sent_until_asked_ahead(size_t positions)
{
    uint32_t value = 0;
    asked_for = NULL;
    for (int i = 0; i < LONG_RUN; i++) {
        REQUIRE(cc_channel_try_send(ch, &value) == 0);
        REQUIRE(cc_channel_try_recv(ch, &value) == 0);
        if (asked_for == ahead_of_sender(positions)) return i;
    }
    return -1;
}

static int sent_until_asked(void)
{
    return sent_until_asked_ahead(CC_MPMC_AHEAD_);
}

TEST(after_a_wait_an_mpmc_side_asks_for_no_lines_until_the_other_is_away)
{
    if (sizeof(cc_index_) == 1) return; /* positions are shorter than a run */
    set_up(1024, sizeof(uint32_t), CC_CHANNEL_MPMC, 0, 2);
    ch->mpmc.head.prefetch_from = (cc_index_)-1 / 4; /* the receiver does not ask */
    CHECK_EQ(sent_until_asked(), 0);
    (void)cc_mpmc_end_run_(ch, CC_SENDING_); /* as a thread that waits does */
    CHECK_EQ(sent_until_asked(), AFTER_SHORT_RUN);
    for (int i = AFTER_SHORT_RUN + 1; i < LONG_RUN; i++) CHECK_EQ(sent_until_asked(), 0);
    CHECK_EQ(cc_mpmc_end_run_(ch, CC_SENDING_), LONG_RUN);
    CHECK_EQ(sent_until_asked(), AFTER_LONG_RUN);
    tear_down();
}

TEST(with_many_cpus_an_mpmc_side_asks_farther_ahead_and_goes_by_several_runs)
{
    if (sizeof(cc_index_) == 1) return; /* positions are shorter than a run */
    set_up(1024, sizeof(uint32_t), CC_CHANNEL_MPMC, 0, CC_FEW_CPUS_ + 1);
    ch->mpmc.head.prefetch_from = (cc_index_)-1 / 4; /* the receiver does not ask */
    for (int i = 0; i < 2 * LONG_RUN; i++) CHECK_EQ(sent_until_asked_ahead(CC_MPMC_AHEAD_FAR_), 0);
    CHECK_EQ(cc_mpmc_end_run_(ch, CC_SENDING_), 2 * LONG_RUN);
    CHECK_EQ(cc_mpmc_end_run_(ch, CC_SENDING_), LONG_RUN); /* another thread in the same wait */
    CHECK_EQ(sent_until_asked_ahead(CC_MPMC_AHEAD_FAR_), AFTER_LONG_RUN);
    CHECK_EQ(cc_mpmc_end_run_(ch, CC_SENDING_), (LONG_RUN + AFTER_LONG_RUN + 1) / 2);
    CHECK_EQ(sent_until_asked_ahead(CC_MPMC_AHEAD_FAR_), AFTER_SHORT_RUN);
    tear_down();
    set_up(1024, sizeof(uint32_t), CC_CHANNEL_MPMC, 0, CC_FEW_CPUS_);
    CHECK_EQ(sent_until_asked(), 0);
    tear_down();
}

TEST(a_fixed_number_of_snoozes_is_so_many_pauses_and_yields)
{
    static const unsigned cases[][3] = { { 1, 1, 0 },   { 2, 3, 0 },   { 3, 7, 0 },
                                         { 7, 127, 0 }, { 8, 127, 1 }, { 10, 127, 3 } };
    BOTH_KINDS(kind)
    {
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            set_up_counting(2, kind, cases[i][0]);
            for (int again = 0; again < 3; again++) { /* and it learns nothing */
                fake_forget();
                fake.asleep = other_sends;
                CHECK_EQ(recv_counting(CC_FOREVER), 0);
                CHECK_EQ(fake.pauses, cases[i][1]);
                CHECK_EQ(fake.yields, cases[i][2]);
                CHECK_EQ(fake.waits, 1);
                fake_forget();
                fake.asleep = NULL;
                CHECK_EQ(recv_counting(fake.now_ns + 10000), ETIMEDOUT);
                CHECK_EQ(fake.pauses, cases[i][1]);
                CHECK_EQ(fake.yields, 0); /* a yield may last longer than there is time */
            }
            tear_down();
        }
    }
}

TEST(snoozing_looks_again_after_every_pause_and_every_yield)
{
    BOTH_KINDS(kind)
    {
        for (unsigned at = 1; at <= 127; at++) {
            set_up_counting(2, kind, 8);
            send_at_pause = at;
            send_at_yield = 0;
            fake.on_pause = send_while_snoozing;
            CHECK_EQ(recv_counting(CC_FOREVER), 0);
            CHECK_EQ(fake.pauses, at);
            CHECK_EQ(fake.yields + fake.waits + fake.wakes + fake.membarriers, 0);
            tear_down();
        }
        set_up_counting(2, kind, 10);
        send_at_pause = 0;
        send_at_yield = 2;
        fake.on_yield = send_while_snoozing;
        CHECK_EQ(recv_counting(CC_FOREVER), 0);
        CHECK_EQ(fake.yields, 2);
        CHECK_EQ(fake.waits + fake.wakes, 0);
        tear_down();
    }
}

/* The other side does so many messages at each pause, up to a number. */
static unsigned each_pause, in_all;
static void other_keeps_sending(void)
{
    for (unsigned i = 0; i < each_pause && sent < in_all; i++) other_sends();
}

static void other_keeps_receiving(void)
{
    for (unsigned i = 0; i < each_pause && received < in_all; i++) other_receives();
}

static void receive_a_run(unsigned run)
{
    while (sent < run) other_sends();
    while (received < run) CHECK_EQ(recv_counting(CC_FOREVER), 0);
}

/* Pauses of a receiver that took `run` messages without a wait, until it has the next one. */
static unsigned pauses_after(unsigned run, unsigned at_each_pause, unsigned come)
{
    receive_a_run(run);
    each_pause = at_each_pause;
    in_all = run + come;
    fake_forget();
    fake.on_pause = other_keeps_sending;
    CHECK_EQ(recv_counting(CC_FOREVER), 0);
    CHECK_EQ(fake.waits, 0);
    return fake.pauses;
}

/* A pause takes 40 ns here: a stage of 100 ns is 2 pauses. */
TEST(after_a_run_a_receiver_lets_messages_come_together_while_more_keeps_coming)
{
    BOTH_KINDS(kind)
    {
        const size_t slot = cc_slot_layout_(sizeof(uint32_t)).stride;
        /* capacity, run, messages at each pause, messages in all, the pause at which it takes the first */
        const size_t cases[][5] = {
            { 64, RUN, 4, 60, 4 }, /* a quarter of the capacity is there */
            { 64, RUN, 8, 60, 2 },
            { 64, RUN, 4, 12, stages_[0].bytes / slot / 4 + 5 }, /* it was promising, and then no more came */
            { 64, RUN, 1, 60, 1 + 2 },                           /* they come too slowly */
            { 64, RUN, 1, 1, 1 + 2 },                            /* alone */
            { 64, RUN - 1, 4, 60, 1 },                           /* no run yet */
            { 64, 0, 4, 60, 1 },
            { 4, 4, 1, 4, 1 }, /* too small for any to come together */
            { 4096, RUN, 32, 4000, stages_[3].bytes / slot / 32 },
        };
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            if (cases[i][0] > CAPACITY_MAX) continue;
            set_up_counting(cases[i][0], kind, CC_SNOOZE_ADAPTIVE);
            CHECK_EQ(pauses_after((unsigned)cases[i][1], (unsigned)cases[i][2], (unsigned)cases[i][3]), cases[i][4]);
            tear_down();
        }
        /* It has just waited: the next wait is for one message. */
        set_up_counting(64, kind, CC_SNOOZE_ADAPTIVE);
        pauses_after(RUN, 1, 1);
        CHECK_EQ(pauses_after(received, 1, 1), 1);
        tear_down();
        /* With a fixed number of snoozes it never does. */
        set_up_counting(64, kind, 7);
        CHECK_EQ(pauses_after(RUN, 4, 60), 1);
        tear_down();
    }
}

/* The other side sends from this pause on, or while the wait sleeps. */
static unsigned begins_at;
static void other_begins_to_send(void)
{
    if (fake.pauses == begins_at) other_sends();
    if (fake.pauses > begins_at) other_keeps_sending();
}

static void other_sends_two(void)
{
    other_sends();
    other_sends();
}

TEST(after_a_longer_wait_the_first_message_of_a_burst_is_taken_at_once)
{
    const unsigned last = cc_backoff_pauses_(STREAM_WAIT_NS);
    BOTH_KINDS(kind)
    {
        for (unsigned at = last; at <= last + 1; at++) {
            set_up_counting(64, kind, CC_SNOOZE_ADAPTIVE);
            receive_a_run(RUN);
            begins_at = at;
            each_pause = 4;
            in_all = 60;
            fake_forget();
            fake.on_pause = other_begins_to_send;
            CHECK_EQ(recv_counting(CC_FOREVER), 0);
            CHECK_EQ(fake.pauses > at, at == last);
            CHECK_EQ(fake.waits, 0);
            tear_down();
        }
        enum { SLEEPS, YIELDS, GIVES_WAY };
        for (int how = SLEEPS; how <= GIVES_WAY; how++) {
            set_up_counting(64, kind, CC_SNOOZE_ADAPTIVE);
            receive_a_run(RUN);
            if (how != GIVES_WAY) ch->not_empty.snooze = 1 + (how == YIELDS); /* and no pauses */
            if (how == GIVES_WAY) cc_snooze_spun_(cc_backoff_pauses_(20000000), false);
            fake_forget();
            *(how == SLEEPS ? &fake.asleep : &fake.on_yield) = other_sends_two;
            CHECK_EQ(recv_counting(CC_FOREVER), 0);
            CHECK_EQ(fake.yields, how != SLEEPS);
            CHECK_EQ(fake.waits, how == SLEEPS);
            CHECK_EQ(fake.pauses, 0);
            tear_down();
        }
    }
}

static void other_sends_three_at_pause_2(void)
{
    for (int i = 0; i < 3 && fake.pauses == 2; i++) other_sends();
}

TEST(a_receive_of_several_that_spins_takes_all_that_came)
{
    BOTH_KINDS(kind)
    {
        uint32_t messages[4] = { 0 };
        size_t got = 0;
        set_up_counting(64, kind, CC_SNOOZE_ADAPTIVE);
        fake.on_pause = other_sends_three_at_pause_2;
        CHECK_EQ(cc_channel_recv_some(ch, messages, 4, &got), 0);
        CHECK_EQ(fake.pauses, 2);
        CHECK_EQ(got, 3);
        for (uint32_t i = 0; i < 3; i++) CHECK_EQ(messages[i], i + 1);
        CHECK_EQ(cc_channel_len(ch), 0);
        tear_down();
    }
}

TEST(after_a_run_a_sender_lets_slots_become_free_together_while_more_keeps_coming)
{
    BOTH_KINDS(kind)
    {
        for (int slowly = 0; slowly < 2; slowly++) {
            set_up_counting(64, kind, CC_SNOOZE_ADAPTIVE);
            while (send_next() == 0) {}
            each_pause = slowly ? 1 : 4;
            in_all = 60;
            fake.on_pause = other_keeps_receiving;
            CHECK_EQ(send_counting(CC_FOREVER), 0);
            CHECK_EQ(fake.pauses, slowly ? 3 : 4);
            CHECK_EQ(fake.waits, 0);
            tear_down();
        }
    }
}

TEST(one_cpu_does_not_spin)
{
    BOTH_KINDS(kind)
    {
        set_up(2, sizeof(uint32_t), kind, CC_SNOOZE_ADAPTIVE, 1);
        uint32_t message;
        CHECK_EQ(cc_channel_recv_timeout(ch, &message, 1000), ETIMEDOUT);
        CHECK_EQ(fake.pauses, 0);
        CHECK_EQ(fake.waits, 1);
        tear_down();
    }
}

/* What an event has learned; 0 if nothing yet. */
static uint32_t learned_pauses(const cc_event_t *event)
{
    return event->snooze ? (event->snooze - 1) / 8 : 0;
}

enum { START_PAUSES = 4000 / 40 }; /* 4 us, about eight snoozes */

TEST(adaptive_starts_at_about_eight_snoozes_and_an_idle_side_stops_spinning)
{
    BOTH_KINDS(kind)
    {
        set_up_counting(2, kind, CC_SNOOZE_ADAPTIVE);
        unsigned last = START_PAUSES;
        for (int i = 0; i < 12; i++) {
            fake_forget();
            CHECK_EQ(recv_counting(fake.now_ns + 1000000), ETIMEDOUT); /* far longer than a wake-up costs */
            if (i == 0) CHECK_EQ(fake.pauses, START_PAUSES);
            CHECK(fake.pauses <= last);
            last = fake.pauses;
        }
        CHECK_EQ(fake.pauses + fake.yields, 0);
        tear_down();
    }
}

enum { MOST_PAUSES = 30000 * 3 / 4 / 40 }; /* three quarters of wake_ns */

TEST(adaptive_spins_longer_while_that_pays_but_no_longer_than_sleeping_costs)
{
    BOTH_KINDS(kind)
    {
        set_up_counting(2, kind, CC_SNOOZE_ADAPTIVE);
        fake.on_pause = send_while_snoozing;
        for (int i = 0; i < 100; i++) {
            fake_forget();
            sent = received = 0;
            send_at_pause = 1;
            CHECK_EQ(recv_counting(CC_FOREVER), 0);
            CHECK_EQ(fake.waits, 0);
        }
        CHECK_EQ(learned_pauses(&ch->not_empty), MOST_PAUSES);
        tear_down();
    }
}

static uint64_t sleep_takes;
static void send_after_a_sleep(void)
{
    fake.now_ns += sleep_takes;
    other_sends();
}

TEST(adaptive_learns_from_how_long_it_slept)
{
    BOTH_KINDS(kind)
    {
        set_up_counting(2, kind, CC_SNOOZE_ADAPTIVE);
        fake.asleep = send_after_a_sleep;
        sleep_takes = 1000; /* less than a wake-up costs: spinning on would have paid */
        CHECK_EQ(recv_counting(CC_FOREVER), 0);
        CHECK_EQ(recv_counting(CC_FOREVER), 0); /* MPMC goes by the time between two wake-ups */
        CHECK(learned_pauses(&ch->not_empty) > START_PAUSES);
        CHECK(learned_pauses(&ch->not_empty) <= MOST_PAUSES);
        sleep_takes = 1000000;
        for (int i = 0; i < 15; i++) CHECK_EQ(recv_counting(CC_FOREVER), 0);
        CHECK_EQ(learned_pauses(&ch->not_empty), 0);
        CHECK_EQ(ch->not_empty.snooze, 1);
        sleep_takes = 1000; /* once may be chance ... */
        CHECK_EQ(recv_counting(CC_FOREVER), 0);
        CHECK(learned_pauses(&ch->not_empty) > 0 && learned_pauses(&ch->not_empty) <= MOST_PAUSES / 32);
        for (int i = 0; i < 3; i++) CHECK_EQ(recv_counting(CC_FOREVER), 0); /* ... four times is not */
        CHECK_EQ(learned_pauses(&ch->not_empty), MOST_PAUSES);
        tear_down();
    }
}

static void a_pause_takes_40_ns(void)
{
    fake.now_ns += 40;
}

TEST(spinning_ends_with_the_deadline_and_teaches_nothing_then)
{
    BOTH_KINDS(kind)
    {
        for (int sending = 0; sending < 2; sending++) {
            set_up_counting(1, kind, CC_SNOOZE_ADAPTIVE);
            if (sending) CHECK_EQ(send_counting(CC_FOREVER), 0);
            fake.on_pause = a_pause_takes_40_ns;
            uint64_t deadline = fake.now_ns + 1000;
            CHECK_EQ(sending ? send_counting(deadline) : recv_counting(deadline), ETIMEDOUT);
            CHECK_EQ(fake.pauses, 25);
            CHECK_EQ(fake.yields + fake.waits, 0);
            CHECK_EQ(ch->not_empty.snooze, 0);
            CHECK_EQ(ch->not_full.snooze, 0);
            tear_down();
        }
    }
}

TEST(the_two_sides_learn_apart)
{
    BOTH_KINDS(kind)
    {
        set_up_counting(2, kind, CC_SNOOZE_ADAPTIVE);
        for (int i = 0; i < 12; i++) CHECK_EQ(recv_counting(fake.now_ns + 1000000), ETIMEDOUT);
        CHECK_EQ(learned_pauses(&ch->not_empty), 0);
        CHECK_EQ(ch->not_full.snooze, 0);
        tear_down();
    }
}

TEST(a_busy_pair_makes_no_call)
{
    BOTH_KINDS(kind)
    {
        set_up_counting(8, kind, CC_SNOOZE_ADAPTIVE);
        for (int i = 0; i < 1000; i++) {
            CHECK_EQ(send_counting(CC_FOREVER), 0);
            CHECK_EQ(recv_counting(CC_FOREVER), 0);
        }
        CHECK_EQ(calls() + fake.clock_reads, 0);
        tear_down();
    }
}
