/* The promises of src/os.h, on whichever system the library was built for. */
#include "harness.h"
#include "os.h"
#include <concede/atomic.h>

#define MS UINT64_C(1000000)

static uint64_t os_in(uint64_t ns)
{
    return cc_os_now_() + ns;
}

TEST(wait_on_a_word_that_differs_returns_at_once)
{
    uint32_t word = 7;
    CHECK_EQ(cc_os_wait_(&word, 8, CC_FOREVER), EAGAIN);
}

TEST(past_deadline_times_out)
{
    uint32_t word = 0;
    int result;
    while ((result = cc_os_wait_(&word, 0, 0)) == 0 || result == EINTR) {}
    CHECK_EQ(result, ETIMEDOUT);
    CHECK_EQ(cc_os_wait_(&word, 1, 0), EAGAIN);
}

TEST(timeout_never_comes_early)
{
    uint32_t word = 0;
    for (int i = 0; i < 20; i++) {
        uint64_t deadline = os_in(MS);
        int result;
        while ((result = cc_os_wait_(&word, 0, deadline)) != ETIMEDOUT) CHECK(result == 0 || result == EINTR);
        CHECK(cc_os_now_() >= deadline);
    }
}

TEST(clock_never_goes_back)
{
    uint64_t last = cc_os_now_();
    for (uint64_t i = test_effort(100000); i > 0; i--) {
        uint64_t now = cc_os_now_();
        if (!CHECK(now >= last)) return;
        last = now;
    }
}

/* A crowd that sleeps on one word, counted out. */
typedef struct crowd {
    uint32_t word, other, out;
    int size;
    uint64_t deadline;
} crowd;

static void crowd_body(int index, void *shared)
{
    crowd *c = (crowd *)shared;
    if (index < c->size) {
        while (cc_load_acquire(&c->word) == 0) {
            int result = cc_os_wait_(&c->word, 0, c->deadline);
            CHECK(result == 0 || result == EAGAIN || result == EINTR);
        }
        cc_fetch_add_acq_rel(&c->out, 1);
        return;
    }
    uint32_t nobody = 0;
    (void)cc_os_wait_(&nobody, 0, os_in(20 * MS)); /* most of them are asleep by now; it holds either way */
    cc_os_wake_(&c->other, CC_OS_ALL_);
    CHECK_EQ(cc_load_acquire(&c->out), 0);
    cc_store_release(&c->word, 1);
    cc_os_wake_(&c->word, CC_OS_ALL_);
}

TEST(wake_all_reaches_every_sleeper)
{
    for (uint64_t i = test_effort(10); i > 0; i--) {
        crowd c = { 0, 0, 0, 8, CC_FOREVER };
        test_threads(c.size + 1, crowd_body, &c);
        CHECK_EQ(c.out, 8);
    }
}

TEST(deadline_beyond_any_clock_sleeps_on)
{
    static const uint64_t far_off[] = { CC_FOREVER - 1, CC_FOREVER / 2, UINT64_C(1) << 62,
                                        UINT64_C(0x7fffffff) * 1000 * MS };
    for (size_t i = 0; i < sizeof far_off / sizeof far_off[0]; i++) {
        crowd c = { 0, 0, 0, 2, far_off[i] };
        test_threads(c.size + 1, crowd_body, &c);
        CHECK_EQ(c.out, 2);
    }
}

/* Two threads hand a turn to and fro; a lost wake-up hangs it. */
typedef struct turns {
    uint32_t turn;
    uint32_t rounds;
} turns;

static void turns_body(int index, void *shared)
{
    turns *t = (turns *)shared;
    for (uint32_t i = 0; i < t->rounds; i++) {
        uint32_t mine = 2 * i + (uint32_t)index, now;
        while ((now = cc_load_acquire(&t->turn)) != mine) (void)cc_os_wait_(&t->turn, now, CC_FOREVER);
        cc_store_release(&t->turn, mine + 1);
        cc_os_wake_(&t->turn, 1);
    }
}

TEST(handing_over_loses_no_wake)
{
    turns t = { 0, (uint32_t)test_effort(20000) };
    test_threads(2, turns_body, &t);
    CHECK_EQ(t.turn, 2 * t.rounds);
}

/* Tickets are handed out one by one, with a wake for one thread each; a wake that reaches nobody hangs it. */
typedef struct tickets {
    uint32_t left, taken;
    uint32_t total;
} tickets;

static void tickets_body(int index, void *shared)
{
    tickets *t = (tickets *)shared;
    if (index == 0) {
        for (uint32_t i = 0; i < t->total; i++) {
            cc_fetch_add_release(&t->left, 1);
            cc_os_wake_(&t->left, 1);
        }
        return;
    }
    while (cc_fetch_add_relaxed(&t->taken, 1) < t->total) {
        uint32_t have = cc_load_relaxed(&t->left);
        for (;;) {
            if (have == 0) {
                (void)cc_os_wait_(&t->left, 0, CC_FOREVER);
                have = cc_load_relaxed(&t->left);
            } else if (cc_cas_weak_acquire(&t->left, &have, have - 1)) {
                break;
            }
        }
    }
}

TEST(each_wake_of_one_reaches_one)
{
    tickets t = { 0, 0, (uint32_t)test_effort(20000) };
    test_threads(5, tickets_body, &t);
    CHECK_EQ(t.left, 0);
}

/* One thread sleeps until about the time of a wake, another for ever. The first passes the wake on, but only if it says
 * that it was woken: a wake that it used up and called a timeout hangs the other. */
typedef struct crossing {
    uint32_t word;
    uint64_t at;
} crossing;

static void crossing_body(int index, void *shared)
{
    crossing *c = (crossing *)shared;
    int result = 0;
    if (index == 0) {
        while (cc_os_now_() < c->at) {}
        cc_store_release(&c->word, 1);
        cc_os_wake_(&c->word, 1);
        return;
    }
    while (cc_load_acquire(&c->word) == 0 && result != ETIMEDOUT)
        result = cc_os_wait_(&c->word, 0, index == 1 ? c->at : CC_FOREVER);
    if (result == 0) cc_os_wake_(&c->word, 1);
}

TEST(a_wake_that_crosses_a_timeout_is_not_used_up)
{
    for (uint64_t i = test_effort(500); i > 0; i--) {
        crossing c = { 0, os_in(MS / 5) };
        test_threads(3, crossing_body, &c);
    }
}

TEST(cpu_time_is_that_of_all_threads_and_goes_on_while_one_computes)
{
    uint64_t before = cc_os_cpu_time_();
    uint64_t until = os_in(UINT64_C(10000) * MS);
    if (before == 0) return; /* the system does not tell */
    while (cc_os_cpu_time_() < before + 20 * MS && cc_os_now_() < until) {}
    CHECK(cc_os_cpu_time_() >= before + 20 * MS);
}

TEST(at_least_one_cpu_is_usable)
{
    CHECK(cc_os_cpus_() >= 1);
}

TEST(membarrier_works_once_it_is_registered)
{
    if (cc_os_membarrier_register_()) CHECK(cc_os_membarrier_());
}

TEST(sequences_have_a_barrier_where_they_have_an_area)
{
    uintptr_t area = 0;
    const char *reason = cc_os_sequence_area_(&area);
    if (reason) CHECK(strlen(reason) > 0);
    if (!reason) CHECK(area != 0 && cc_os_sequence_barrier_());
}

#if !defined(_WIN32)
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

TEST(wake_does_not_touch_the_word)
{
    void *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(page != MAP_FAILED);
    cc_os_wake_((const uint32_t *)page, 1);
    cc_os_wake_((const uint32_t *)page, CC_OS_ALL_);
    munmap(page, 4096);
    cc_os_wake_((const uint32_t *)page, CC_OS_ALL_);
}

static void *wait_briefly(void *argument)
{
    uint32_t *reached = (uint32_t *)argument, word = 0;
    uint64_t deadline = os_in(20 * MS);
    cc_store_release(reached, 1);
    while (cc_os_wait_(&word, 0, deadline) != ETIMEDOUT) {}
    cc_store_release(reached, 2);
    pthread_testcancel();
    return NULL;
}

TEST(wait_is_no_cancellation_point)
{
    uint32_t reached = 0;
    pthread_t thread;
    void *result = NULL;
    REQUIRE(pthread_create(&thread, NULL, wait_briefly, &reached) == 0);
    while (cc_load_acquire(&reached) == 0) cc_os_yield_();
    pthread_cancel(thread);
    pthread_join(thread, &result);
    CHECK_EQ(reached, 2);
    CHECK(result == PTHREAD_CANCELED);
}

/* The first wait of a thread asks for the CPUs, on whatever stack the thread has. */
static void *ask_for_cpus(void *argument)
{
    uint32_t *reached = (uint32_t *)argument;
    CHECK(cc_os_cpus_() >= 1);
    cc_store_release(reached, 1);
    pthread_testcancel();
    return NULL;
}

static void *ask_for_cpus_cancelled(void *argument)
{
    pthread_cancel(pthread_self()); /* takes effect at the next cancellation point */
    return ask_for_cpus(argument);
}

TEST(asking_for_the_cpus_is_no_cancellation_point)
{
    uint32_t reached = 0;
    pthread_t thread;
    void *result = NULL;
    REQUIRE(pthread_create(&thread, NULL, ask_for_cpus_cancelled, &reached) == 0);
    pthread_join(thread, &result);
    CHECK_EQ(reached, 1);
    CHECK(result == PTHREAD_CANCELED);
}

TEST(asking_for_the_cpus_takes_little_stack)
{
    uint32_t reached = 0;
    pthread_t thread;
    pthread_attr_t small;
    size_t bytes = 16384, least = (size_t)PTHREAD_STACK_MIN;
    SKIP_IF(TEST_SANITIZED, "a sanitizer takes more stack than that itself");
    REQUIRE(pthread_attr_init(&small) == 0);
    REQUIRE(pthread_attr_setstacksize(&small, bytes > least ? bytes : least) == 0);
    REQUIRE(pthread_create(&thread, &small, ask_for_cpus, &reached) == 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&small);
    CHECK_EQ(reached, 1);
}

/* 1: readable now. */
static int readable(int fd)
{
    struct pollfd one = { .fd = fd, .events = POLLIN };
    return poll(&one, 1, 0);
}

TEST(bell_is_readable_from_a_ring_until_it_is_emptied)
{
    int ends[2], more[2];
    errno = 77;
    REQUIRE(cc_os_bell_create_(ends) == 0 && cc_os_bell_create_(more) == 0);
    CHECK(ends[0] != more[0]);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(readable(ends[0]), 0);
        cc_os_bell_ring_(ends[1]);
        CHECK_EQ(readable(ends[0]), 1);
        CHECK_EQ(readable(ends[0]), 1);
        CHECK_EQ(readable(more[0]), 0);
        cc_os_bell_empty_(ends[0]);
    }
    cc_os_bell_empty_(ends[0]); /* it does not block where there is nothing */
    CHECK_EQ(readable(ends[0]), 0);
    CHECK(fcntl(ends[0], F_GETFD) & FD_CLOEXEC);
    CHECK(fcntl(ends[1], F_GETFD) & FD_CLOEXEC);
    cc_os_bell_close_(ends[0], ends[1]);
    cc_os_bell_close_(more[0], more[1]);
    CHECK_EQ(errno, 77);
    CHECK_EQ(fcntl(ends[0], F_GETFD), -1);
    CHECK_EQ(fcntl(more[1], F_GETFD), -1);
}

TEST(bell_that_cannot_be_had_is_an_error)
{
    struct rlimit before, none;
    int ends[2];
    REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
    none = before;
    none.rlim_cur = 3;
    REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
    errno = 77;
    CHECK_EQ(cc_os_bell_create_(ends), EMFILE);
    CHECK_EQ(errno, 77);
    REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
}

/* The parent forks while others sleep, wait and wake; the child has none of them and must not hang on what they
 * left. */
static void fork_body(int index, void *shared)
{
    uint32_t *stop = (uint32_t *)shared;
    if (index != 0) {
        while (cc_load_acquire(stop) == 0) {
            (void)cc_os_wait_(stop, 0, os_in(MS / 10));
            cc_os_wake_(stop, 1);
        }
        return;
    }
    for (uint64_t i = test_effort(30); i > 0; i--) {
        pid_t child = fork();
        if (child == 0) {
            uint32_t word = 0;
            test_watch_child();
            for (int j = 0; j < 100; j++) {
                cc_os_wake_(stop + j, CC_OS_ALL_);
                (void)cc_os_wait_(&word, 0, 1);
            }
            _exit(0);
        }
        int status = -1;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
    cc_store_release(stop, 1);
    cc_os_wake_(stop, CC_OS_ALL_);
}

TEST(child_of_a_fork_can_wait_and_wake)
{
    static uint32_t stop[100];
    memset(stop, 0, sizeof stop);
    test_threads(4, fork_body, stop);
}
#endif
