// concede.hpp: the standard's requirements on a mutex, with the standard's own users of one; the typed channel. Also
// the macros of the C headers, as C++.
#include "harness.h"
#include <concede/concede.hpp>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <limits>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

using std::chrono::duration;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

static concede::mutex global; // constant-initialised

static_assert(!std::is_copy_constructible<concede::mutex>::value, "a mutex stays where it is");
static_assert(!std::is_copy_assignable<concede::mutex>::value, "a mutex stays where it is");
static_assert(std::is_nothrow_default_constructible<concede::mutex>::value, "making one cannot fail");
static_assert(std::is_trivially_destructible<concede::mutex>::value, "there is nothing to destroy");

TEST(mutex_starts_free_and_excludes)
{
    CHECK(global.try_lock());
    CHECK(!global.try_lock());
    CHECK(!global.try_lock_for(milliseconds(1)));
    CHECK(!global.try_lock_until(std::chrono::steady_clock::now() + milliseconds(1)));
    CHECK(!global.try_lock_until(std::chrono::system_clock::now() + milliseconds(1)));
    global.unlock();
    CHECK(global.try_lock_for(nanoseconds(0)));
    global.unlock();
    CHECK(global.try_lock_until(std::chrono::steady_clock::time_point())); // long past: still tries once
    global.unlock();
    CHECK(cc_lock_try_acquire(global.native_handle()));
    CHECK(!global.try_lock());
    cc_lock_release(global.native_handle());
}

template <class Time> static void farthest_times()
{
    CHECK(global.try_lock_until(Time::max()));
    CHECK(!global.try_lock_until(Time::min()));
    CHECK(!global.try_lock_until(Time(typename Time::duration(-1))));
    global.unlock();
    CHECK(global.try_lock_until(Time::min()));
    CHECK_EQ(concede::detail::nanoseconds_until(Time::min()), 0);
    CHECK_EQ(concede::detail::nanoseconds_until(Time::max()), CC_FOREVER);
    global.unlock();
}

// Compared with the exact value, rounded up: a product of 128 bits.
template <class Rep, class Period> static void check_duration(Rep count)
{
    typedef std::ratio_divide<Period, std::nano> tick;
    __extension__ typedef unsigned __int128 wide;
    wide exact = (static_cast<wide>(count) * static_cast<wide>(tick::num) + static_cast<wide>(tick::den) - 1) /
                 static_cast<wide>(tick::den);
    uint64_t found = concede::detail::nanoseconds(duration<Rep, Period>(count));
    if (exact > static_cast<wide>(9000000000000000000u)) {
        CHECK(found == CC_FOREVER);
    } else {
        CHECK_EQ(found, static_cast<uint64_t>(exact));
    }
}

TEST(durations_of_odd_periods_do_not_overflow)
{
    const int64_t counts[] = { 1, 2, 3, 5, 7, 999, 1000000007, 15000000000, 4611686018427387904, INT64_MAX };
    for (int64_t count : counts) {
        check_duration<int64_t, std::ratio<1, 3>>(count);
        check_duration<int64_t, std::ratio<7, 3>>(count);
        check_duration<int64_t, std::ratio<1, 48000>>(count);
        check_duration<int64_t, std::ratio<1001, 30000>>(count);
        check_duration<int64_t, std::nano>(count);
        check_duration<int64_t, std::pico>(count);
        check_duration<int64_t, std::ratio<3600>>(count);
        check_duration<uint64_t, std::ratio<1, 3>>(static_cast<uint64_t>(count));
        check_duration<uint64_t, std::nano>(UINT64_MAX);
    }
    check_duration<int32_t, std::ratio<1, 3>>(INT32_MAX);
    // A remainder of one tick that does not fit: computed in floating point, and not early.
    typedef std::ratio<1000000007, 1000000000000000009> odd;
    uint64_t odd_ns = concede::detail::nanoseconds(duration<int64_t, odd>(1000000000000000009));
    CHECK(odd_ns >= 1000000007000000000 && odd_ns < 1000000007000001000);
    CHECK_EQ(concede::detail::nanoseconds(duration<double>(1e-10)), 1);
    CHECK_EQ(concede::detail::nanoseconds(duration<double>(1.5)), 1500000000);
    CHECK_EQ(concede::detail::nanoseconds(duration<float, std::ratio<1, 3>>(3)), 1000000000);
    CHECK_EQ(concede::detail::nanoseconds(duration<double>(1e300)), CC_FOREVER);
    CHECK_EQ(concede::detail::nanoseconds(duration<double>(std::numeric_limits<double>::infinity())), CC_FOREVER);
    CHECK_EQ(concede::detail::nanoseconds(duration<double>(std::numeric_limits<double>::quiet_NaN())), 0);
    CHECK_EQ(concede::detail::nanoseconds(duration<int64_t, std::ratio<1, 3>>(-1)), 0);
}

TEST(times_of_any_clock_are_no_overflow)
{
    using std::chrono::steady_clock;
    using std::chrono::system_clock;
    using std::chrono::time_point;
    farthest_times<steady_clock::time_point>();
    farthest_times<system_clock::time_point>();
    farthest_times<time_point<system_clock, hours>>();
    farthest_times<time_point<steady_clock, duration<double>>>();
    CHECK(concede::detail::nanoseconds_until(steady_clock::now() + hours(1)) > UINT64_C(3599000000000));
    CHECK(concede::detail::nanoseconds_until(system_clock::now() + hours(1)) <= UINT64_C(3600000000000));
}

TEST(durations_become_nanoseconds_without_overflow)
{
    using concede::detail::nanoseconds;
    CHECK_EQ(nanoseconds(milliseconds(3)), 3000000);
    CHECK_EQ(nanoseconds(milliseconds(0)), 0);
    CHECK_EQ(nanoseconds(milliseconds(-5)), 0);
    CHECK_EQ(nanoseconds(hours::max()), CC_FOREVER);
    CHECK_EQ(nanoseconds(hours::min()), 0);
    CHECK_EQ(nanoseconds(std::chrono::nanoseconds::max()), CC_FOREVER);
    CHECK_EQ(nanoseconds(duration<double>(1e300)), CC_FOREVER);
    CHECK_EQ(nanoseconds(duration<double>(std::numeric_limits<double>::infinity())), CC_FOREVER);
    CHECK_EQ(nanoseconds(duration<double>(std::numeric_limits<double>::quiet_NaN())), 0);
    CHECK_EQ(nanoseconds(duration<double>(0.25)), 250000000);
    CHECK_EQ(nanoseconds(duration<double, std::nano>(0.5)), 1); // rounded up: never early
    CHECK_EQ(nanoseconds(seconds(8000000000)), UINT64_C(8000000000000000000));
}

TEST(the_standard_s_guards_take_it)
{
    concede::mutex a, b;
    long count = 0;
    std::vector<std::thread> pool;
    for (int i = 0; i < 4; i++)
        pool.emplace_back([&, i] {
            for (uint64_t n = test_effort(1000); n > 0; n--) {
                std::unique_lock<concede::mutex> first(a, std::defer_lock), second(b, std::defer_lock);
                if (i % 2)
                    std::lock(first, second);
                else
                    std::lock(second, first);
                count++;
            }
        });
    for (auto &thread : pool) thread.join();
    CHECK_EQ(count, 4 * test_effort(1000));
}

TEST(a_condition_variable_waits_with_it)
{
    concede::mutex mutex;
    std::condition_variable_any changed;
    int turn = 0;
    std::thread other([&] {
        std::unique_lock<concede::mutex> guard(mutex);
        for (int i = 0; i < 100; i++) {
            changed.wait(guard, [&] { return turn % 2 == 1; });
            turn++;
            changed.notify_one();
        }
    });
    std::unique_lock<concede::mutex> guard(mutex);
    for (int i = 0; i < 100; i++) {
        changed.wait(guard, [&] { return turn % 2 == 0; });
        turn++;
        changed.notify_one();
    }
    guard.unlock();
    other.join();
    CHECK_EQ(turn, 200);
}

struct job {
    uint64_t number;
    char text[20];
};

TEST(channel_passes_its_type_between_threads)
{
    for (uint32_t kind = CC_CHANNEL_MPMC; kind <= CC_CHANNEL_SPSC; kind++) {
        concede::channel<job> made(3, kind), jobs(std::move(made));
        CHECK(jobs && !made);
        CHECK_EQ(jobs.capacity(), 4);
        const uint64_t total = test_effort(2000);
        std::thread sender([&] {
            for (uint64_t i = 1; i <= total; i++) CHECK_EQ(jobs.send(job{ i, "message" }), 0);
            jobs.close();
        });
        uint64_t last = 0;
        for (job next; jobs.recv(next) == 0; last = next.number) {
            CHECK_EQ(next.number, last + 1);
            CHECK_EQ(std::strcmp(next.text, "message"), 0);
        }
        sender.join();
        CHECK_EQ(last, total);
        CHECK(jobs.is_closed());
        CHECK_EQ(jobs.send(job{ 0, "" }), EPIPE);
    }
}

TEST(channel_tries_times_out_and_bursts)
{
    concede::channel<int> numbers(4);
    int some[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, got = 0;
    CHECK_EQ(numbers.try_recv(got), EAGAIN);
    CHECK_EQ(numbers.recv_for(got, milliseconds(1)), ETIMEDOUT);
    CHECK_EQ(numbers.recv_for(got, milliseconds(-1)), ETIMEDOUT);
    CHECK_EQ(numbers.send_many(some, 8), 4);
    CHECK_EQ(numbers.size(), 4);
    CHECK_EQ(numbers.try_send(9), EAGAIN);
    CHECK_EQ(numbers.send_for(9, milliseconds(1)), ETIMEDOUT);
    CHECK_EQ(numbers.recv_for(got, hours::max()), 0);
    CHECK_EQ(got, 1);
    CHECK_EQ(numbers.recv_many(some, 8), 3);
    CHECK_EQ(some[2], 4);
    CHECK_EQ(cc_channel_capacity(numbers.native_handle()), 4);
}

TEST(channel_that_cannot_be_made_says_why)
{
    concede::channel<int> none(0);
    CHECK(!none);
    CHECK_EQ(none.error(), EINVAL);
}

TEST(initialisers_and_await_are_valid_cpp)
{
    cc_event_t event = CC_EVENT_INIT;
    cc_parker_t parker = CC_PARKER_INIT;
    cc_lock_t lock = CC_LOCK_INIT;
    cc_backoff_t backoff = CC_BACKOFF_INIT, snooze = CC_SNOOZE_INIT;
    cc_backoff_options_t options = CC_BACKOFF_OPTIONS_INIT;
    uint32_t flag = 0;
    std::thread setter([&] {
        cc_store_release(&flag, 1u);
        cc_event_notify_all(&event);
        cc_parker_unpark(&parker);
    });
    CC_EVENT_AWAIT(&event, cc_load_acquire(&flag) == 1);
    bool again = CC_EVENT_AWAIT_UNTIL(&event, cc_load_acquire(&flag) == 2, cc_deadline_in(1000));
    CHECK(!again);
    cc_parker_park(&parker);
    setter.join();
    cc_backoff_init_options(&snooze, &options);
    cc_backoff_spin(&backoff);
    CHECK_EQ(backoff.current, 2);
    CHECK(cc_lock_try_acquire(&lock));
}
