/* What only real threads and a real system can show: first use from many threads, cancellation, signals, fork,
 * idleness. */
#include "harness.h"
#include <concede/concede.h>

#include "../../src/backoff.h"

static const cc_costs_t *seen_costs[8];

static void costs_body(int index, void *shared)
{
    (void)shared;
    seen_costs[index] = cc_costs();
}

TEST(costs_are_the_same_for_threads_that_ask_first_at_once)
{
    test_threads(8, costs_body, NULL);
    for (int i = 0; i < 8; i++) CHECK(seen_costs[i] == seen_costs[0]);
    const cc_costs_t *costs = cc_costs();
    CHECK(costs->pause_ps >= 1 && costs->yield_ns >= 1 && costs->wake_ns >= 1 && costs->cpus >= 1);
}

/* Each thread goes through the progression with backoffs of its own, while all the others do; nothing of it is
 * shared. */
static void backoff_body(int index, void *shared)
{
    (void)shared;
    cc_backoff_options_t options = { (uint32_t)index % 4, (uint32_t)index % 4 + 3 };
    for (uint64_t round = test_effort(300); round > 0; round--) {
        cc_backoff_t snoozing, spinning;
        cc_backoff_init_options(&snoozing, &options);
        cc_backoff_init(&spinning, 1, 1u << index);
        for (uint32_t step = 0; step <= options.yield_limit; step++) {
            CHECK_EQ(cc_backoff_step(&snoozing), step);
            CHECK(!cc_backoff_is_completed(&snoozing));
            cc_backoff_snooze(&snoozing);
        }
        CHECK(cc_backoff_is_completed(&snoozing));
        for (uint32_t step = 0; step <= (uint32_t)index; step++) {
            CHECK_EQ(cc_backoff_step(&spinning), step);
            cc_backoff_spin(&spinning);
        }
        CHECK_EQ(cc_backoff_step(&spinning), (uint32_t)index + 1);
    }
}

TEST(backoffs_of_different_threads_are_independent_under_load)
{
    test_threads(8, backoff_body, NULL);
}

/* Threads that start their random backoffs from one seed would retry in step, and a thread that starts from the same
 * one at every wait repeats itself. */
enum { SEEDERS = 4, SEEDS = 1000 };
static uint32_t seeds[SEEDERS * SEEDS];

static void seed_body(int index, void *shared)
{
    (void)shared;
    for (int i = 0; i < SEEDS; i++) seeds[index * SEEDS + i] = cc_backoff_seed_();
}

static int compare_seeds(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

TEST(seeds_differ_between_threads_and_between_calls)
{
    int same = 0;
    test_threads(SEEDERS, seed_body, NULL);
    qsort(seeds, SEEDERS * SEEDS, sizeof seeds[0], compare_seeds);
    CHECK(seeds[0] != 0); /* no generator stands still on it */
    for (int i = 1; i < SEEDERS * SEEDS; i++) same += seeds[i] == seeds[i - 1];
    CHECK(same <= 2); /* of 4,000 numbers of 32 bits by chance: 0.002 */
}

#if !defined(_WIN32)
#include <sys/wait.h>

#define MS UINT64_C(1000000)

/* ThreadSanitizer need not follow into the child of a fork, but must let it make threads. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "die_after_fork=0";
}

/* One thread waits in each of the blocking calls; another does something to it, and then ends the wait. */
enum { PARK, EVENT, LOCK, SEND, RECV, WAYS };
static cc_parker_t parker;
static cc_event_t event;
static cc_lock_t lock;
static cc_channel_t *full, *empty;
static uint32_t flag, waiting, went_on;

static void set_up(void)
{
    cc_channel_options_t options = { 1, 4, CC_CHANNEL_MPMC, CC_SNOOZE_NONE };
    uint32_t message = 1;
    memset(&parker, 0, sizeof parker);
    memset(&event, 0, sizeof event);
    memset(&lock, 0, sizeof lock);
    flag = waiting = went_on = 0;
    REQUIRE(cc_channel_create(&full, &options) == 0 && cc_channel_create(&empty, &options) == 0);
    REQUIRE(cc_channel_try_send(full, &message) == 0);
    cc_lock_acquire(&lock);
}

static void tear_down(void)
{
    cc_channel_destroy(full);
    cc_channel_destroy(empty);
}

/* Whether it got what it waited for before the deadline. */
static bool wait_in(int way, uint64_t deadline)
{
    uint32_t message = 2;
    switch (way) {
    case PARK: return cc_parker_park_until(&parker, deadline);
    case EVENT: return CC_EVENT_AWAIT_UNTIL(&event, cc_load_acquire(&flag), deadline);
    case LOCK: return cc_lock_acquire_until(&lock, deadline);
    case SEND: return cc_channel_send_until(full, &message, deadline) == 0;
    default: return cc_channel_recv_until(empty, &message, deadline) == 0;
    }
}

static void end_wait(int way)
{
    uint32_t message = 3;
    switch (way) {
    case PARK: cc_parker_unpark(&parker); break;
    case EVENT:
        cc_store_release(&flag, 1);
        cc_event_notify_all(&event);
        break;
    case LOCK: cc_lock_release(&lock); break;
    case SEND: CHECK_EQ(cc_channel_try_recv(full, &message), 0); break;
    default: CHECK_EQ(cc_channel_try_send(empty, &message), 0); break;
    }
}

static void sleep_ns(uint64_t ns)
{
    struct timespec time = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
    nanosleep(&time, NULL);
}

static void *wait_and_report(void *argument)
{
    cc_store_release(&waiting, 1);
    CHECK(wait_in(*(int *)argument, CC_FOREVER));
    cc_store_release(&went_on, 1); /* where a cancelled thread would not come */
    pthread_testcancel();
    return NULL;
}

TEST(a_wait_is_no_cancellation_point)
{
    for (int way = 0; way < WAYS; way++) {
        pthread_t thread;
        void *result = NULL;
        set_up();
        REQUIRE(pthread_create(&thread, NULL, wait_and_report, &way) == 0);
        while (!cc_load_acquire(&waiting)) cc_os_yield_();
        sleep_ns(10 * MS); /* asleep by now, most likely; it holds either way */
        CHECK_EQ(pthread_cancel(thread), 0);
        sleep_ns(10 * MS);
        CHECK_EQ(cc_load_acquire(&went_on), 0);
        end_wait(way);
        pthread_join(thread, &result);
        CHECK_EQ(went_on, 1);
        CHECK(result == PTHREAD_CANCELED);
        tear_down();
    }
}

static uint32_t signals;
static void count_signal(int number)
{
    (void)number;
    __atomic_fetch_add(&signals, 1, __ATOMIC_RELAXED);
}

static pthread_t waiter;
static void *send_signals(void *unused)
{
    while (!cc_load_acquire(&went_on)) {
        pthread_kill(waiter, SIGUSR1);
        sleep_ns(MS / 2);
    }
    return unused;
}

TEST(signals_neither_shorten_nor_restart_a_wait)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = count_signal; /* without SA_RESTART: system calls return EINTR */
    sigaction(SIGUSR1, &action, NULL);
    waiter = pthread_self();
    for (int way = 0; way < WAYS; way++) {
        pthread_t thread;
        set_up();
        signals = 0;
        REQUIRE(pthread_create(&thread, NULL, send_signals, NULL) == 0);
        uint32_t before;
        do { /* once more if the machine was too busy for a signal to come */
            before = cc_load_relaxed(&signals);
            uint64_t deadline = cc_deadline_in(30 * MS);
            CHECK(!wait_in(way, deadline)); /* a wait that starts over with each signal never ends: they come faster */
            CHECK(cc_now_ns() >= deadline);
        } while (cc_load_relaxed(&signals) == before);
        cc_store_release(&went_on, 1);
        pthread_join(thread, NULL);
        tear_down();
    }
}

/* The parent forks while one of its threads sleeps in the object; the child, which has no such thread, may use it. */
static void *end_it_from_another_thread(void *argument)
{
    sleep_ns(5 * MS);
    end_wait(*(int *)argument);
    return NULL;
}

static int use_in_child(int way)
{
    pthread_t thread;
    test_watch_child();
    if (way == LOCK) { /* held by the thread that forked: it gives it up, and takes it again */
        cc_lock_release(&lock);
        cc_lock_acquire(&lock);
    }
    if (pthread_create(&thread, NULL, end_it_from_another_thread, &way) != 0) return 2;
    bool good = wait_in(way, CC_FOREVER);
    pthread_join(thread, NULL);
    return good ? 0 : 1;
}

TEST(the_child_of_a_fork_can_use_what_the_parent_s_threads_wait_on)
{
    SKIP_IF(getenv("TEST_QEMU") != NULL, "qemu's own threads do not survive a fork");
    for (int way = 0; way < WAYS; way++) {
        if (way == PARK) continue; /* in the child nobody else parks: see park.h */
        pthread_t thread;
        set_up();
        REQUIRE(pthread_create(&thread, NULL, wait_and_report, &way) == 0);
        while (!cc_load_acquire(&waiting)) cc_os_yield_();
        sleep_ns(10 * MS);
        pid_t child = fork();
        if (child == 0) _exit(use_in_child(way));
        int status = -1;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
        end_wait(way);
        pthread_join(thread, NULL);
        tear_down();
    }
}

/* CPU time of this thread. */
static uint64_t used_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

TEST(an_idle_wait_uses_no_cpu)
{
    for (int way = 0; way < WAYS; way++) {
        set_up();
        uint64_t used = used_ns(), start = cc_now_ns();
        CHECK(!wait_in(way, start + 100 * MS));
        used = used_ns() - used;
        CHECK(used * 4 < cc_now_ns() - start); /* a spinner uses all of it; an emulator may translate code meanwhile */
        tear_down();
    }
}
#endif
