/* No system call where nobody sleeps, counted by strace on a real run. Each case runs this program once more under
 * strace, with few rounds and with many: the calls must not grow with the rounds. Skipped where strace or ptrace is not
 * to be had. */
#include "harness.h"
#include <concede/concede.h>

#if defined(__linux__)
#include <sched.h>

/* How often a child that runs this test for `rounds` rounds called what can wait, wake, yield or fence. -1: it
 * failed. */
static long count_calls(const char *test, uint64_t rounds)
{
    char command[1024], self[512], line[256], path[] = "/tmp/concede-strace-XXXXXX";
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    int file = mkstemp(path);
    long calls = 0;
    REQUIRE(length > 0 && file >= 0);
    self[length] = 0;
    snprintf(command, sizeof command,
             "SYSCALLS_ROUNDS=%llu strace -f -c -o %s -e trace=futex,membarrier,sched_yield,read,write '%s' %s "
             ">/dev/null 2>&1",
             (unsigned long long)rounds, path, self, test);
    bool good = system(command) == 0;
    FILE *table = fdopen(file, "r");
    REQUIRE(table != NULL);
    while (fgets(line, sizeof line, table) != NULL) { /* "% time  seconds  usecs/call  calls  [errors]  syscall" */
        double share, seconds;
        long each, count;
        if (strstr(line, "total") == NULL && sscanf(line, "%lf %lf %ld %ld", &share, &seconds, &each, &count) == 4)
            calls += count;
    }
    fclose(table);
    unlink(path);
    return good ? calls : -1;
}

/* In the child: how many rounds. 0: this is the parent. */
static uint64_t rounds_to_run(void)
{
    const char *rounds = getenv("SYSCALLS_ROUNDS");
    return rounds != NULL ? strtoull(rounds, NULL, 10) : 0;
}

/* A child that yields once can be traced; one with a leak check cannot. */
static bool strace_works(void)
{
    bool works = count_calls("strace_counts", 1) >= 0;
    if (!works) printf("skip: %s: strace cannot be had\n", test_name);
    return works;
}

static void calls_do_not_grow(uint64_t many, uint64_t per_round_allowed)
{
    if (!strace_works()) return;
    long few_calls = count_calls(test_name, 10), many_calls = count_calls(test_name, many);
    CHECK(few_calls >= 0 && many_calls >= 0);
    uint64_t grown = many_calls > few_calls ? (uint64_t)(many_calls - few_calls) : 0;
    if (!CHECK(grown <= (per_round_allowed ? many / per_round_allowed : 0)))
        printf("  %ld calls in 10 rounds, %ld in %llu\n", few_calls, many_calls, (unsigned long long)many);
}

/* How many rounds to run, in the process that strace watches. In the test itself 0: it has found then that they make no
 * calls. */
static uint64_t rounds_without_calls(void)
{
    uint64_t rounds = rounds_to_run();
    if (rounds == 0) calls_do_not_grow(100000, 0);
    return rounds;
}

TEST(strace_counts)
{
    uint64_t rounds = rounds_to_run();
    if (rounds == 0) {
        if (strace_works()) CHECK(count_calls(test_name, 1000) >= 1000);
        return;
    }
    for (; rounds > 0; rounds--) cc_os_yield_();
}

TEST(unpark_with_nobody_parked_makes_no_call)
{
    uint64_t rounds = rounds_without_calls();
    if (rounds == 0) return;
    for (cc_parker_t parker = CC_PARKER_INIT; rounds > 0; rounds--) {
        cc_parker_unpark(&parker);
        if (rounds % 2) cc_parker_park(&parker);
    }
}

TEST(notify_with_nobody_listening_makes_no_call)
{
    uint64_t rounds = rounds_without_calls();
    if (rounds == 0) return;
    cc_event_t event = CC_EVENT_INIT;
    for (int phase = 0; phase < 2; phase++) {
        for (uint64_t i = 0; i < rounds; i++) {
            cc_event_notify_one(&event);
            cc_event_notify_all(&event);
            CC_EVENT_AWAIT(&event, true);
        }
        (void)!cc_event_listen(&event); /* and again once membarrier is in use */
        cc_event_cancel(&event);
    }
}

TEST(an_uncontended_lock_makes_no_call)
{
    uint64_t rounds = rounds_without_calls();
    if (rounds == 0) return;
    for (cc_lock_t lock = CC_LOCK_INIT; rounds > 0; rounds--) {
        cc_lock_acquire(&lock);
        cc_lock_release(&lock);
    }
}

/* One thread sends and receives in turn: it need not wait. */
static void send_and_receive(cc_channel_t *channel, uint64_t rounds)
{
    for (uint64_t i = 0, m; i < rounds; i++) {
        CHECK_EQ(cc_channel_send(channel, &i), 0);
        CHECK_EQ(cc_channel_recv(channel, &m), 0);
    }
}

/* One thread fills and empties the channel; nobody sleeps, so nobody is woken. */
TEST(a_channel_where_nobody_sleeps_makes_no_call)
{
    uint64_t rounds = rounds_without_calls();
    if (rounds == 0) return;
    for (uint32_t kind = CC_CHANNEL_MPMC; kind <= CC_CHANNEL_SPSC; kind++) {
        cc_channel_options_t options = { 8, sizeof(uint64_t), kind, CC_SNOOZE_ADAPTIVE };
        cc_channel_t *channel;
        REQUIRE(cc_channel_create(&channel, &options) == 0);
        send_and_receive(channel, rounds);
        cc_channel_destroy(channel);
    }
}

/* A descriptor is there and was armed once; from then on nobody arms it, and nobody is told by it. */
TEST(a_descriptor_that_is_not_armed_makes_no_call)
{
    uint64_t rounds = rounds_without_calls();
    if (rounds == 0) return;
    for (uint32_t kind = CC_CHANNEL_MPMC; kind <= CC_CHANNEL_SPSC; kind++) {
        cc_channel_options_t options = { 8, sizeof(uint64_t), kind, CC_SNOOZE_ADAPTIVE };
        cc_channel_t *channel;
        int fd;
        REQUIRE(cc_channel_create(&channel, &options) == 0);
        for (uint32_t operation = CC_SELECT_RECV; operation <= CC_SELECT_SEND; operation++)
            REQUIRE(cc_channel_fd(channel, operation, &fd) == 0);
        REQUIRE(cc_channel_arm(channel, CC_SELECT_RECV));
        send_and_receive(channel, rounds);
        cc_channel_destroy(channel);
    }
}

/* One that is armed costs two: one to make it readable, and one, at the next arm, to end that. */
TEST(an_armed_descriptor_costs_two_calls)
{
    uint64_t rounds = rounds_to_run();
    if (rounds == 0) {
        if (!strace_works()) return;
        long few = count_calls(test_name, 10), many = count_calls(test_name, 1010);
        CHECK(few >= 0);
        CHECK_EQ(many - few, 2 * 1000);
        return;
    }
    cc_channel_options_t options = { 8, sizeof(uint64_t), CC_CHANNEL_SPSC, CC_SNOOZE_ADAPTIVE };
    cc_channel_t *channel;
    int fd;
    REQUIRE(cc_channel_create(&channel, &options) == 0 && cc_channel_fd(channel, CC_SELECT_RECV, &fd) == 0);
    /* So many sleeps in a row that arming needs no fence of all threads; else each arm would ask for one. */
    channel->not_empty.waiters = CC_EVENT_FENCED_ | CC_EVENT_TRUSTED_;
    channel->not_empty.sleepiness = UINT32_MAX;
    for (uint64_t i = 0, m; i < rounds; i++) {
        REQUIRE(cc_channel_arm(channel, CC_SELECT_RECV));
        for (int k = 0; k < 3; k++) CHECK_EQ(cc_channel_send(channel, &i), 0);
        for (int k = 0; k < 3; k++) CHECK_EQ(cc_channel_recv(channel, &m), 0);
    }
    cc_channel_destroy(channel);
}

TEST(a_select_with_something_ready_makes_no_call)
{
    uint64_t rounds = rounds_without_calls();
    if (rounds == 0) return;
    cc_channel_t *channels[2];
    uint64_t m;
    for (uint32_t kind = CC_CHANNEL_MPMC; kind <= CC_CHANNEL_SPSC; kind++) {
        cc_channel_options_t options = { 8, sizeof(uint64_t), kind, CC_SNOOZE_ADAPTIVE };
        REQUIRE(cc_channel_create(&channels[kind], &options) == 0);
    }
    cc_select_case_t cases[] = { CC_SELECT_CASE_RECV(channels[0], &m), CC_SELECT_CASE_RECV(channels[1], &m) };
    for (size_t which; rounds > 0; rounds--) {
        CHECK_EQ(cc_channel_send(channels[rounds % 2], &rounds), 0);
        CHECK_EQ(cc_select(cases, 2, rounds % 3 == 0, &which), 0);
    }
    for (int i = 0; i < 2; i++) cc_channel_destroy(channels[i]);
}

/* Two threads that both are busy, each on a CPU of its own. If one loses its CPU the other may sleep: so a few calls,
 * but far fewer than messages. The channel is small, so that both sides have to wait all the time. Measured on AMD Zen
 * 4 with other programs running: 100 to 350 calls in 2,000,000 messages, and 37,000 or more if neither side spins
 * before it sleeps. */
static cc_channel_t *busy;

static void keep_to_cpu(int number)
{
    cpu_set_t usable, one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof usable, &usable) != 0) return;
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &usable) && number-- == 0) CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
}

static void busy_body(int index, void *shared)
{
    uint64_t rounds = *(uint64_t *)shared, m;
    keep_to_cpu(index);
    for (uint64_t i = 0; i < rounds; i++) {
        if (index == 0)
            CHECK_EQ(cc_channel_send(busy, &i), 0);
        else
            CHECK_EQ(cc_channel_recv(busy, &m), 0);
    }
}

TEST(a_busy_pair_makes_hardly_any_call)
{
    uint64_t rounds = rounds_to_run();
    if (rounds == 0) {
        /* One in ten at most: beside busy programs a pair sleeps, but for many messages at a time. */
        if (cc_costs()->cpus > 1) calls_do_not_grow(2000000, 10);
        return;
    }
    cc_channel_options_t options = { 64, sizeof(uint64_t), CC_CHANNEL_SPSC, CC_SNOOZE_ADAPTIVE };
    REQUIRE(cc_channel_create(&busy, &options) == 0);
    test_threads(2, busy_body, &rounds);
    cc_channel_destroy(busy);
}
#endif
