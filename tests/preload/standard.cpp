// standard.cpp: C++'s own mutexes and condition variables, which are POSIX's underneath.
#include "harness.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

template <class Mutex> static void check_excludes()
{
    Mutex mutex;
    uint64_t rounds = test_effort(20000), count = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back([&] {
            for (uint64_t i = 0; i < rounds; i++) {
                std::lock_guard<Mutex> guard(mutex);
                count++;
            }
        });
    for (auto &thread : threads) thread.join();
    CHECK_EQ(count, 4 * rounds);
}

TEST(every_standard_mutex_excludes)
{
    check_excludes<std::mutex>();
    check_excludes<std::recursive_mutex>();
    check_excludes<std::timed_mutex>();
    check_excludes<std::recursive_timed_mutex>();
    check_excludes<std::shared_mutex>();
}

TEST(timed_mutex_gives_up_in_time)
{
    using namespace std::chrono;
    std::timed_mutex mutex;
    std::lock_guard<std::timed_mutex> guard(mutex);
    std::thread([&] {
        auto steady = steady_clock::now() + milliseconds(30);
        CHECK(!mutex.try_lock_until(steady));
        CHECK(steady_clock::now() >= steady);
        auto system = system_clock::now() + milliseconds(30);
        CHECK(!mutex.try_lock_until(system));
        CHECK(system_clock::now() >= system);
        CHECK(!mutex.try_lock_for(milliseconds(1)));
    }).join();
}

template <class Condition> static void check_passes_on()
{
    std::mutex mutex;
    Condition changed;
    uint64_t rounds = test_effort(5000), turn = 0, count = 0;
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < 3; t++)
        threads.emplace_back([&, t] {
            for (uint64_t i = 0; i < rounds; i++) {
                std::unique_lock<std::mutex> guard(mutex);
                if (i % 2)
                    changed.wait(guard, [&] { return turn == t; });
                else
                    while (!changed.wait_for(guard, std::chrono::seconds(30), [&] { return turn == t; })) {}
                turn = (turn + 1) % 3;
                count++;
                changed.notify_all();
            }
        });
    for (auto &thread : threads) thread.join();
    CHECK_EQ(count, 3 * rounds);
}

TEST(condition_variables_pass_the_turn_on)
{
    check_passes_on<std::condition_variable>();
    check_passes_on<std::condition_variable_any>();
}

TEST(wait_until_ends_at_its_time)
{
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock<std::mutex> guard(mutex);
    auto at = std::chrono::steady_clock::now() + std::chrono::milliseconds(30);
    CHECK(!never.wait_until(guard, at, [] { return false; }));
    CHECK(std::chrono::steady_clock::now() >= at);
    CHECK(guard.owns_lock());
}
