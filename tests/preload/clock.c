/* clock.c: a wait by the real-time clock ends when that clock says so, also if somebody sets it meanwhile. The clock is
 * this program's own, which libconcede-pthread.so finds before the C library's; it is not set for anybody else. The C
 * library's own waits ask the kernel, so there is nothing to see on them. */
#include "harness.h"

#include <errno.h>
#include <sys/syscall.h>

static int64_t ahead_ns; /* of the real-time clock; atomic */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, held = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static _Thread_local int signal_at; /* the reading of the clock, counted down by this thread, at which it signals */

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *now)
{
    long result = syscall(SYS_clock_gettime, clock, now);
    if (clock != CLOCK_REALTIME) return (int)result;
    if (signal_at > 0 && --signal_at == 0) pthread_cond_signal(&cond);
    int64_t ns = now->tv_nsec + now->tv_sec * INT64_C(1000000000) + __atomic_load_n(&ahead_ns, __ATOMIC_RELAXED);
    now->tv_sec = ns / 1000000000;
    now->tv_nsec = ns % 1000000000;
    return (int)result;
}

static struct timespec in_s(long s)
{
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_sec += s;
    return at;
}

static bool has_come(struct timespec at)
{
    struct timespec now = in_s(0);
    return now.tv_sec > at.tv_sec || (now.tv_sec == at.tv_sec && now.tv_nsec >= at.tv_nsec);
}

/* Sets the clock while the other one waits. */
static void set_body(int index, void *shared)
{
    int64_t by = *(int64_t *)shared;
    if (index == 0) {
        struct timespec time = { 0, 200000000 };
        nanosleep(&time, NULL);
        __atomic_fetch_add(&ahead_ns, by, __ATOMIC_RELAXED);
    } else {
        struct timespec at = in_s(by > 0 ? 3000 : 1);
        pthread_mutex_lock(&mutex);
        CHECK_EQ(pthread_cond_timedwait(&cond, &mutex, &at), ETIMEDOUT);
        pthread_mutex_unlock(&mutex);
        CHECK(has_come(at));
        at = in_s(1);
        CHECK_EQ(pthread_mutex_timedlock(&held, &at), ETIMEDOUT);
        CHECK(has_come(at));
    }
}

TEST(timed_wait_ends_when_the_clock_is_set_past_its_time)
{
    SKIP_IF(!getenv("PRELOADED"), "the C library asks the kernel");
    int64_t by = INT64_C(3600000000000);
    pthread_mutex_trylock(&held);
    test_threads(2, set_body, &by);
}

TEST(timed_wait_goes_on_when_the_clock_is_set_back)
{
    SKIP_IF(!getenv("PRELOADED"), "the C library asks the kernel");
    int64_t by = -INT64_C(1500000000);
    pthread_mutex_trylock(&held);
    test_threads(2, set_body, &by);
}

/* A wait by this clock sleeps a second, looks at the clock, and sleeps again: between the two, too, it must see a
 * signal. The first look is before the sleep, the second after it. */
TEST(signal_between_two_sleeps_of_a_timed_wait_is_not_lost)
{
    SKIP_IF(!getenv("PRELOADED"), "the C library asks the kernel");
    for (int look = 2; look <= 4; look++) {
        struct timespec at = in_s(8), soon = in_s(6);
        pthread_mutex_lock(&mutex);
        signal_at = look;
        CHECK_EQ(pthread_cond_timedwait(&cond, &mutex, &at), 0);
        signal_at = 0;
        pthread_mutex_unlock(&mutex);
        CHECK(!has_come(soon));
    }
}
