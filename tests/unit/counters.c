/* cc_counters(): what is counted is what is told, by kind, past 32 bits, and from many threads at once. src/counters.c
 * is included, so that each test can start from nothing. */
#include "harness.h"
#include "../../src/counters.c"

static void set_up(void)
{
    memset(cc_count_lines_, 0, sizeof cc_count_lines_);
}

static cc_counted_t counted(unsigned kind)
{
    cc_counters_t now;
    memset(&now, 0xff, sizeof now);
    cc_counters(&now);
    return kind == CC_COUNT_LOCK_ ? now.lock : kind == CC_COUNT_EVENT_ ? now.event : now.channel;
}

TEST(starts_at_zero)
{
    cc_counters_t now, zero;
    set_up();
    memset(&now, 0xff, sizeof now);
    memset(&zero, 0, sizeof zero);
    cc_counters(&now);
    CHECK_EQ(memcmp(&now, &zero, sizeof now), 0);
}

TEST(each_call_moves_its_own_counter_of_its_own_kind)
{
    for (unsigned kind = 0; kind < CC_COUNT_KINDS_; kind++) {
        set_up();
        cc_count_wait_(kind, CC_COUNT_SPUN_, 0);
        for (int i = 0; i < 2; i++) cc_count_wait_(kind, CC_COUNT_YIELDED_, 0);
        for (int i = 0; i < 3; i++) cc_count_wait_(kind, CC_COUNT_SLEPT_, 100);
        for (int i = 0; i < 4; i++) cc_count_wake_(kind);
        for (int i = 0; i < 5; i++) cc_count_wake_in_vain_(kind);
        for (unsigned other = 0; other < CC_COUNT_KINDS_; other++) {
            cc_counted_t c = counted(other);
            bool own = other == kind;
            CHECK_EQ(c.waits, own ? 6 : 0);
            CHECK_EQ(c.spun, own ? 1 : 0);
            CHECK_EQ(c.yielded, own ? 2 : 0);
            CHECK_EQ(c.slept, own ? 3 : 0);
            CHECK_EQ(c.wakes, own ? 4 : 0);
            CHECK_EQ(c.wakes_in_vain, own ? 5 : 0);
            CHECK_EQ(c.slept_ns, own ? 300 : 0);
        }
    }
}

TEST(counts_past_32_bits)
{
    static const uint64_t amounts[] = { 1, UINT32_MAX, UINT64_C(1) << 32, UINT64_C(0x123456789abcdef), 0x80000000 };
    uint64_t sum = 0;
    set_up();
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < sizeof amounts / sizeof amounts[0]; i++) {
            cc_count_wait_(CC_COUNT_EVENT_, CC_COUNT_SLEPT_, amounts[i]);
            CHECK_EQ(counted(CC_COUNT_EVENT_).slept_ns, sum += amounts[i]);
        }
    }
}

/* Amounts that make the lower half wrap at every second step. */
enum { THREADS = 8 };
static const uint64_t amount = UINT64_C(0x1c0000001);

static void count_body(int index, void *shared)
{
    (void)index;
    uint64_t rounds = *(uint64_t *)shared;
    for (; rounds > 0; rounds--) {
        cc_count_wait_(CC_COUNT_CHANNEL_, CC_COUNT_SLEPT_, amount);
        cc_count_wake_(CC_COUNT_CHANNEL_);
    }
}

TEST(no_count_of_many_threads_is_lost)
{
    uint64_t rounds = test_effort(100000);
    set_up();
    test_threads(THREADS, count_body, &rounds);
    cc_counted_t c = counted(CC_COUNT_CHANNEL_);
    CHECK_EQ(c.waits, THREADS * rounds);
    CHECK_EQ(c.wakes, THREADS * rounds);
    CHECK_EQ(c.slept_ns, THREADS * rounds * amount);
}

static const cc_count_line_t *used[THREADS];

static void where_body(int index, void *shared)
{
    (void)shared;
    used[index] = cc_count_line_(CC_COUNT_LOCK_);
}

TEST(threads_do_not_all_share_one_line)
{
    int others = 0;
    test_threads(THREADS, where_body, NULL);
    for (int i = 1; i < THREADS; i++) others += used[i] != used[0];
    CHECK(others > 0);
}
