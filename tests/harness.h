/* harness.h: what a test program needs, in one header; include it first and write no main().
 *
 *     TEST(token_given_before_park_is_not_lost)
 *     {
 *         CHECK(cc_parker_park_timeout(&parker, 0));
 *         CHECK_EQ(os_waits(), 0);
 *     }
 *
 * A test is named after the property that it holds. CHECK and CHECK_EQ report and go on, from any thread; REQUIRE also
 * ends the program, for when going on makes no sense. A test that does not end within TEST_LIMIT_SECONDS is reported by
 * name and ends the program, so that a hang is a failure like any other.
 *
 *     program [--list] [part of a test's name]...
 *
 * Environment:
 *   TEST_SEED     start of every random sequence; printed when something fails, so that it can be had again
 *   TEST_EFFORT   percent of the usual work (test_effort); 5 under an emulator, 1000 for a long run
 *   TEST_QEMU     set where qemu runs the program, for tests that it cannot run */
#ifndef CONCEDE_TESTS_HARNESS_H
#define CONCEDE_TESTS_HARNESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(_WIN32)
#include <windows.h>
#else
#include <signal.h>
#endif

#ifndef TEST_LIMIT_SECONDS
#define TEST_LIMIT_SECONDS 300
#endif

/* Whether the program runs under a sanitizer, which is slow and takes stack. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define TEST_SANITIZED 1
#endif
#endif
#if !defined(TEST_SANITIZED)
#define TEST_SANITIZED 0
#endif

typedef struct test_case {
    const char *name;
    void (*run)(void);
    struct test_case *next;
} test_case;

static test_case *test_first;
__attribute__((unused)) static test_case **test_last = &test_first;
static const char *test_name = "(start)";
static int test_passed, test_failed;
static int test_bad_checks; /* of the running test; atomic */
static bool test_skipped;   /* the running test does not count */
static uint64_t test_seed_value;
static unsigned test_effort_percent = 100;

#define TEST(name)                                                      \
    static void test_##name(void);                                      \
    __attribute__((constructor)) static void test_register_##name(void) \
    {                                                                   \
        static test_case one = { #name, test_##name, NULL };            \
        *test_last = &one;                                              \
        test_last = &one.next;                                          \
    }                                                                   \
    static void test_##name(void)

#define CHECK(condition) test_check(!!(condition), __FILE__, __LINE__, #condition)

#define CHECK_EQ(a, b) test_check_eq((unsigned long long)(a), (unsigned long long)(b), __FILE__, __LINE__, #a " == " #b)
#define REQUIRE(condition)                         \
    do {                                           \
        if (!CHECK(condition)) test_end_program(); \
    } while (0)

/* Leaves a test, with a word, where what it needs is not there. */
#define SKIP_IF(condition, why)                        \
    do {                                               \
        if (condition) {                               \
            printf("skip: %s (%s)\n", test_name, why); \
            test_skipped = true;                       \
            return;                                    \
        }                                              \
    } while (0)

static inline int test_totals(void)
{
    if (test_failed > 0) printf("TEST_SEED=%llu\n", (unsigned long long)test_seed_value);
    printf("%d passed, %d failed\n", test_passed, test_failed);
    fflush(stdout);
    return test_failed > 0;
}

static inline void test_end_program(void)
{
    test_failed++;
    printf("FAIL %s\n", test_name);
    _exit(test_totals());
}

/* Counts a failed check; a broken test says so ten times and not a million times. */
static inline bool test_count_bad(void)
{
    return __atomic_fetch_add(&test_bad_checks, 1, __ATOMIC_RELAXED) < 10;
}

__attribute__((unused)) static inline bool test_check(bool good, const char *file, int line, const char *text)
{
    if (!good && test_count_bad()) {
        printf("%s:%d: %s: does not hold: %s\n", file, line, test_name, text);
        fflush(stdout);
    }
    return good;
}

__attribute__((unused)) static inline bool test_check_eq(unsigned long long a, unsigned long long b, const char *file,
                                                         int line, const char *text)
{
    if (a != b && test_count_bad()) {
        printf("%s:%d: %s: does not hold: %s (%llu and %llu)\n", file, line, test_name, text, a, b);
        fflush(stdout);
    }
    return a == b;
}

/* `usual` rounds, scaled by TEST_EFFORT; at least 1. */
__attribute__((unused)) static inline uint64_t test_effort(uint64_t usual)
{
    uint64_t scaled = usual * test_effort_percent / 100;
    return scaled > 0 ? scaled : 1;
}

/* The start of a random sequence, different for each `stream`. */
__attribute__((unused)) static inline uint64_t test_seed(uint64_t stream)
{
    return test_seed_value + stream * UINT64_C(0x9e3779b97f4a7c15);
}

/* The next number of a sequence (splitmix64). */
__attribute__((unused)) static inline uint64_t test_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Runs body(0, shared) ... body(count - 1, shared) in a thread each, all let go at once; returns when all have
 * ended. */
typedef struct test_thread {
    pthread_t thread;
    int index;
    void (*body)(int, void *);
    void *shared;
    pthread_barrier_t *start;
} test_thread;

static inline void *test_thread_main(void *argument)
{
    test_thread *t = (test_thread *)argument;
    pthread_barrier_wait(t->start);
    t->body(t->index, t->shared);
    return NULL;
}

__attribute__((unused)) static inline void test_threads(int count, void (*body)(int index, void *shared), void *shared)
{
    pthread_barrier_t start;
    test_thread *threads = (test_thread *)calloc((size_t)count, sizeof(test_thread));
    REQUIRE(threads != NULL);
    REQUIRE(pthread_barrier_init(&start, NULL, (unsigned)count) == 0);
    for (int i = 0; i < count; i++) {
        threads[i].index = i;
        threads[i].body = body;
        threads[i].shared = shared;
        threads[i].start = &start;
        REQUIRE(pthread_create(&threads[i].thread, NULL, test_thread_main, &threads[i]) == 0);
    }
    for (int i = 0; i < count; i++) pthread_join(threads[i].thread, NULL);
    pthread_barrier_destroy(&start);
    free(threads);
}

/* The watchdog: a signal, so that the program has no thread that the test did not make; on Windows a thread. */
#if defined(_WIN32)
static volatile LONG test_seconds_left;
static DWORD WINAPI test_watchdog(void *unused)
{
    (void)unused;
    while (InterlockedDecrement(&test_seconds_left) > 0) Sleep(1000);
    printf("%s: no end within %d s\n", test_name, TEST_LIMIT_SECONDS);
    test_end_program();
    return 0;
}
static inline void test_watch(void)
{
    static bool running;
    InterlockedExchange(&test_seconds_left, TEST_LIMIT_SECONDS);
    if (!running) CreateThread(NULL, 0, test_watchdog, NULL, 0, NULL);
    running = true;
}
#else
enum { TEST_TICKS = 10 }; /* of the limit: who was stopped for a while loses one, and is not taken for one that hangs */
static volatile sig_atomic_t test_ticks_left;
static inline void test_watchdog(int unused)
{
    (void)unused;
    char text[512];
    if (--test_ticks_left > 0) {
        alarm(TEST_LIMIT_SECONDS / TEST_TICKS);
        return;
    }
    int n = snprintf(text, sizeof text, "%s: no end within %d s\nFAIL %s\n%d passed, %d failed\n", test_name,
                     TEST_LIMIT_SECONDS, test_name, test_passed, test_failed + 1);
    ssize_t ignored = write(STDOUT_FILENO, text, (size_t)n);
    (void)ignored;
    _exit(1);
}
static inline void test_watch(void)
{
    test_ticks_left = TEST_TICKS;
    signal(SIGALRM, test_watchdog);
    alarm(TEST_LIMIT_SECONDS / TEST_TICKS);
}

/* For the child of a fork: ends it before its parent's time is up. */
__attribute__((unused)) static inline void test_watch_child(void)
{
    signal(SIGALRM, SIG_DFL);
    alarm(TEST_LIMIT_SECONDS / 2);
}
#endif

static inline bool test_chosen(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strstr(name, argv[i]) != NULL) return true;
    return argc < 2;
}

int main(int argc, char **argv)
{
    const char *seed = getenv("TEST_SEED"), *effort = getenv("TEST_EFFORT");
    test_seed_value = seed != NULL ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL) * 1000003u;
    if (effort != NULL) test_effort_percent = (unsigned)strtoul(effort, NULL, 10);
    for (test_case *t = test_first; t != NULL; t = t->next) {
        if (argc == 2 && strcmp(argv[1], "--list") == 0) {
            puts(t->name);
            continue;
        }
        if (!test_chosen(t->name, argc, argv)) continue;
        test_name = t->name;
        __atomic_store_n(&test_bad_checks, 0, __ATOMIC_RELAXED);
        test_watch();
        t->run();
        if (test_skipped) {
            test_skipped = false;
            continue;
        }
        bool good = __atomic_load_n(&test_bad_checks, __ATOMIC_RELAXED) == 0;
        printf("%s %s\n", good ? "ok" : "FAIL", t->name);
        fflush(stdout);
        if (good)
            test_passed++;
        else
            test_failed++;
    }
    if (argc == 2 && strcmp(argv[1], "--list") == 0) return 0;
    return test_totals();
}

#endif
