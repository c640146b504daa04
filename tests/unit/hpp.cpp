// concede.hpp: the standard's requirements on a mutex, with the standard's own users of one; the typed channel, with
// messages of every kind; event and parker. Also the macros of the C headers, as C++.
#include "harness.h"
#include <concede/concede.hpp>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
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
    CHECK_EQ(concede::detail::nanoseconds(duration<int64_t, odd>(999)), 1000); // 999.000007
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

TEST(condition_waits_with_the_mutex)
{
    concede::mutex mutex;
    concede::condition changed;
    int state = 0;
    std::unique_lock<concede::mutex> lock(mutex);
    CHECK(changed.wait_for(lock, milliseconds(1)) == std::cv_status::timeout);
    CHECK(changed.wait_until(lock, std::chrono::steady_clock::now() - milliseconds(1)) == std::cv_status::timeout);
    CHECK(!changed.wait_for(lock, milliseconds(1), [&] { return state == 1; }));
    CHECK(!changed.wait_until(lock, std::chrono::system_clock::now() + milliseconds(1), [&] { return state == 1; }));
    CHECK(lock.owns_lock() && !mutex.try_lock());
    std::thread other([&] {
        for (int i = 1; i <= 3; i++) {
            std::unique_lock<concede::mutex> mine(mutex);
            changed.wait(mine, [&] { return state == 2 * (i - 1); });
            state = 2 * i - 1;
            mine.unlock();
            changed.notify_all();
        }
    });
    changed.wait(lock, [&] { return state == 1; });
    state = 2;
    changed.notify_one();
    CHECK(changed.wait_for(lock, hours::max(), [&] { return state == 3; }));
    state = 4;
    changed.notify_one();
    while (state != 5) changed.wait(lock);
    CHECK(changed.wait_until(lock, std::chrono::steady_clock::time_point::max(), [&] { return state == 5; }));
    lock.unlock();
    other.join();
    CHECK_EQ(changed.native_handle()->waiters & (CC_EVENT_LISTENING_ | CC_EVENT_CLAIMS_), 0);
}

TEST(channel_bursts_wait)
{
    concede::channel<int> numbers(4);
    int in[6] = { 1, 2, 3, 4, 5, 6 }, out[6] = { 0 };
    size_t n = 9;
    CHECK_EQ(numbers.recv_some_for(out, 6, n, milliseconds(1)), ETIMEDOUT);
    CHECK_EQ(n, 0);
    CHECK_EQ(numbers.send_all_for(in, 6, n, milliseconds(1)), ETIMEDOUT);
    CHECK_EQ(n, 4);
    std::thread sender([&] {
        size_t sent = 0;
        CHECK_EQ(numbers.send_all(in + 4, 2, sent), 0);
        CHECK_EQ(sent, 2);
        numbers.close();
    });
    int received = 0;
    while (numbers.recv_some(out, 3, n) == 0)
        for (size_t i = 0; i < n; i++) CHECK_EQ(out[i], ++received);
    sender.join();
    CHECK_EQ(n, 0);
    CHECK_EQ(received, 6);
}

TEST(channel_can_be_assigned_by_a_move)
{
    concede::channel<int> numbers(4), other(64);
    CHECK_EQ(numbers.send(1), 0);
    CHECK_EQ(other.send(2), 0);
    numbers = std::move(other);
    CHECK(numbers && !other);
    CHECK_EQ(numbers.capacity(), 64);
    int got = 0;
    CHECK_EQ(numbers.recv(got), 0);
    CHECK_EQ(got, 2);
    concede::channel<std::string> words(4), others(8);
    CHECK_EQ(words.send("left behind"), 0);
    CHECK_EQ(others.send("taken along"), 0);
    words = std::move(others);
    CHECK(words && !others);
    std::string word;
    CHECK_EQ(words.recv(word), 0);
    CHECK(word == "taken along");
}

TEST(channel_is_written_and_read_in_place)
{
    concede::channel<job> jobs(2, CC_CHANNEL_SPSC);
    CHECK(!jobs.peek());
    for (uint64_t i = 1; i <= 2; i++) {
        job *place = jobs.reserve();
        if (!CHECK(place)) return;
        place->number = i;
        jobs.commit();
    }
    CHECK(!jobs.reserve());
    for (uint64_t i = 1; i <= 2; i++) {
        const job *oldest = jobs.peek();
        if (!CHECK(oldest)) return;
        CHECK_EQ(oldest->number, i);
        jobs.consume();
    }
    CHECK(!jobs.peek());
    CHECK_EQ(jobs.emplace(job{ 7, "made" }), 0);
    CHECK_EQ(jobs.size(), 1);
}

// Counts what lives, and points to itself, as a short std::string does: a copy of its bytes is broken.
struct tracked {
    static long alive;
    explicit tracked(int n) : number(n), self(this)
    {
        if (n < 0) throw n;
        __atomic_add_fetch(&alive, 1, __ATOMIC_RELAXED);
    }
    tracked(tracked &&other) noexcept : number(other.number), self(this)
    {
        CHECK(other.self == &other);
        __atomic_add_fetch(&alive, 1, __ATOMIC_RELAXED);
        other.number = 0;
    }
    tracked &operator=(tracked &&other) noexcept
    {
        CHECK(other.self == &other && self == this);
        number = other.number;
        other.number = 0;
        return *this;
    }
    ~tracked()
    {
        CHECK(self == this);
        self = nullptr;
        __atomic_sub_fetch(&alive, 1, __ATOMIC_RELAXED);
    }
    int number;
    tracked *self;
};
long tracked::alive;

static_assert(!std::is_copy_constructible<tracked>::value, "it can only be moved");

TEST(channel_moves_messages_that_are_more_than_bytes)
{
    for (uint32_t kind = CC_CHANNEL_MPMC; kind <= CC_CHANNEL_SPSC; kind++) {
        concede::channel<tracked> made(4, kind), messages(std::move(made));
        CHECK(messages && !made);
        CHECK_EQ(messages.error(), 0);
        const int total = (int)test_effort(2000);
        std::thread sender([&] {
            for (int i = 1; i <= total; i++) CHECK_EQ(i % 2 ? messages.send(tracked(i)) : messages.emplace(i), 0);
            messages.close();
        });
        int last = 0, result = 0;
        tracked next(1);
        while ((result = last % 2 ? messages.recv(next)
                                  : messages.recv_with([&](tracked &&got) { next = std::move(got); })) == 0) {
            CHECK_EQ(next.number, last + 1);
            last = next.number;
        }
        sender.join();
        CHECK_EQ(result, EPIPE);
        CHECK_EQ(last, total);
        CHECK_EQ(tracked::alive, 1); // next
    }
    CHECK_EQ(tracked::alive, 0);
}

TEST(channel_of_many_threads_moves_every_message_once)
{
    concede::channel<std::unique_ptr<uint64_t>> numbers(8);
    const uint64_t each = test_effort(2000);
    uint64_t sum = 0, sent = 0;
    std::vector<std::thread> pool;
    for (int i = 0; i < 3; i++)
        pool.emplace_back([&] {
            for (uint64_t n = 1; n <= each; n++) {
                std::unique_ptr<uint64_t> number(new uint64_t(n));
                CHECK_EQ(numbers.send(std::move(number)), 0);
            }
            if (cc_fetch_add_acq_rel(&sent, UINT64_C(1)) == 2) numbers.close();
        });
    for (int i = 0; i < 3; i++)
        pool.emplace_back([&] {
            for (std::unique_ptr<uint64_t> got; numbers.recv(got) == 0;) (void)cc_fetch_add_relaxed(&sum, *got);
        });
    for (auto &thread : pool) thread.join();
    CHECK_EQ(sum, 3 * each * (each + 1) / 2);
}

TEST(channel_that_refuses_a_message_gives_it_back)
{
    concede::channel<std::string> words(1);
    std::string first("a word that is too long for the short form"), second(first), got;
    CHECK_EQ(words.try_recv(got), EAGAIN);
    CHECK_EQ(words.recv_for(got, milliseconds(1)), ETIMEDOUT);
    CHECK_EQ(words.try_send(std::move(first)), 0);
    CHECK_EQ(words.try_send(std::move(second)), EAGAIN);
    CHECK_EQ(words.send_for(std::move(second), milliseconds(1)), ETIMEDOUT);
    CHECK(second.size() == 42);
    words.close();
    CHECK_EQ(words.send(std::move(second)), EPIPE);
    CHECK_EQ(words.send(second), EPIPE);
    CHECK(second.size() == 42);
    CHECK_EQ(words.recv(got), 0);
    CHECK(got == second);
    CHECK_EQ(words.recv(got), EPIPE);
    // With a place still free at the close: the message is constructed there before the channel says no.
    concede::channel<std::string> roomy(4);
    roomy.close();
    CHECK_EQ(roomy.send(std::move(second)), EPIPE);
    CHECK(second.size() == 42);
    CHECK_EQ(roomy.emplace("text"), EPIPE);
}

TEST(channel_destroys_what_nobody_received_and_survives_a_constructor_that_throws)
{
    {
        concede::channel<tracked> messages(2);
        for (int i = 0; i < 5; i++) {
            bool thrown = false;
            try {
                (void)messages.emplace(-1);
            } catch (int) {
                thrown = true;
            }
            CHECK(thrown);
        }
        CHECK_EQ(messages.emplace(1), 0);
        CHECK_EQ(messages.emplace(2), 0);
        CHECK_EQ(messages.size(), 2);
        CHECK_EQ(tracked::alive, 2);
    }
    CHECK_EQ(tracked::alive, 0);
}

struct alignas(64) wide {
    explicit wide(int n = 0) noexcept : number(n) {}
    wide(wide &&other) noexcept : number(other.number) {}
    wide &operator=(wide &&other) noexcept
    {
        number = other.number;
        return *this;
    }
    int number;
};

TEST(channel_keeps_the_alignment_of_its_messages)
{
    concede::channel<wide> messages(4);
    for (int i = 0; i < 4; i++) CHECK_EQ(messages.emplace(i), 0);
    for (int i = 0; i < 4; i++)
        CHECK_EQ(messages.recv_with([i](wide &&got) {
            CHECK_EQ(reinterpret_cast<uintptr_t>(&got) % 64, 0);
            CHECK_EQ(got.number, i);
        }),
                 0);
}

TEST(event_waits_for_any_condition)
{
    concede::event changed;
    uint32_t ready = 0;
    auto is_ready = [&] { return cc_load_acquire(&ready) != 0; };
    CHECK(!changed.await_for(milliseconds(1), is_ready));
    CHECK(!changed.await_until(std::chrono::steady_clock::now() + milliseconds(1), is_ready));
    CHECK(!changed.await_until(std::chrono::system_clock::time_point(), is_ready));
    std::thread other([&] {
        cc_store_release(&ready, 1u);
        changed.notify_one();
        changed.notify_all();
    });
    changed.await(is_ready);
    CHECK(changed.await_for(hours::max(), is_ready));
    CHECK(changed.await_until(std::chrono::steady_clock::time_point(), is_ready));
    other.join();
    CHECK(cc_event_wait_timeout(changed.native_handle(), cc_event_listen(changed.native_handle()), 0) == false);
}

TEST(parker_keeps_one_token)
{
    static concede::parker parker; // constant-initialised
    CHECK(!parker.try_park());
    CHECK(!parker.park_for(milliseconds(1)));
    CHECK(!parker.park_until(std::chrono::steady_clock::now() + milliseconds(1)));
    parker.unpark();
    parker.unpark();
    CHECK(parker.try_park());
    CHECK(!parker.try_park());
    cc_parker_unpark(parker.native_handle());
    CHECK(parker.park_until(std::chrono::steady_clock::time_point()));
    std::thread other([&] { parker.unpark(); });
    parker.park();
    other.join();
}

TEST(channel_that_cannot_be_made_says_why)
{
    concede::channel<int> none(0);
    CHECK(!none);
    CHECK_EQ(none.error(), EINVAL);
    concede::channel<std::string> no_words(0);
    CHECK(!no_words);
    CHECK_EQ(no_words.error(), EINVAL);
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

// ---- Select ------------------------------------------------------------------------------------------------------

TEST(select_takes_the_first_ready_case_of_any_type)
{
    concede::channel<int> numbers(4);
    concede::channel<std::string> texts(1);
    int number = 0;
    std::string text, other = "other";
    REQUIRE(static_cast<bool>(numbers) && static_cast<bool>(texts));
    concede::selected done =
        concede::select_try(concede::order::fair, concede::on_recv(numbers, number), concede::on_recv(texts, text));
    CHECK(!done && done.error == EAGAIN);
    CHECK_EQ(texts.send(std::string("a text that is too long to be kept in place")), 0);
    done = concede::select(concede::order::in_order, concede::on_recv(numbers, number), concede::on_recv(texts, text));
    CHECK(done && done.which == 1 && text == "a text that is too long to be kept in place");
    CHECK_EQ(texts.size(), 0);
    // What is sent is moved only if its case is chosen.
    done = concede::select(concede::order::in_order, concede::on_recv(numbers, number), concede::on_send(texts, other));
    CHECK(done && done.which == 1 && texts.size() == 1);
    other = "not yet";
    done = concede::select_for(concede::order::fair, milliseconds(1), concede::on_send(texts, other),
                               concede::on_recv(numbers, number));
    CHECK(done.error == ETIMEDOUT && other == "not yet");
    CHECK_EQ(texts.try_recv(text), 0);
    CHECK(text == "other");
    done = concede::select(concede::order::in_order, concede::on_send(numbers, 7), concede::on_recv(texts, text));
    CHECK(done && done.which == 0 && numbers.size() == 1);
    // A time of any clock; one that has passed still tries once.
    done = concede::select_until(concede::order::fair, std::chrono::steady_clock::now() + milliseconds(1),
                                 concede::on_recv(texts, text));
    CHECK_EQ(done.error, ETIMEDOUT);
    done = concede::select_until(concede::order::fair, std::chrono::system_clock::now() - milliseconds(1),
                                 concede::on_send(texts, other));
    CHECK(done && texts.size() == 1);
    done = concede::select_until(concede::order::fair, 0, concede::on_recv(numbers, number, false));
    CHECK(done.error == ETIMEDOUT && numbers.size() == 1);
    CHECK_EQ(concede::select(concede::order::fair, concede::on_recv(numbers, number, false)).error, EINVAL);
}

TEST(select_says_which_channel_is_closed)
{
    concede::channel<std::unique_ptr<int>> owned(2);
    concede::channel<int> numbers(2);
    std::unique_ptr<int> message(new int(5));
    int number = 0;
    owned.close();
    concede::selected done =
        concede::select(concede::order::fair, concede::on_recv(numbers, number), concede::on_recv(owned, message));
    CHECK(!done && done.error == 0 && done.which == 1 && done.result == EPIPE);
    done = concede::select(concede::order::fair, concede::on_send(owned, message));
    CHECK(done.error == 0 && done.result == EPIPE && message && *message == 5);
}

TEST(selects_in_threads_pass_everything_on)
{
    concede::channel<std::unique_ptr<int>> one(2);
    concede::channel<int> two(2);
    enum { MESSAGES = 2000 };
    long sum = 0;
    std::thread sender([&] {
        for (int i = 1; i <= MESSAGES; i++) {
            std::unique_ptr<int> message(new int(i));
            (void)concede::select(concede::order::fair, concede::on_send(one, message), concede::on_send(two, i));
        }
        one.close();
        two.close();
    });
    for (bool one_open = true, two_open = true; one_open || two_open;) {
        std::unique_ptr<int> message;
        int number = 0;
        concede::selected done = concede::select(concede::order::fair, concede::on_recv(one, message, one_open),
                                                 concede::on_recv(two, number, two_open));
        if (!done)
            (done.which == 0 ? one_open : two_open) = false;
        else
            sum += done.which == 0 ? *message : number;
    }
    sender.join();
    CHECK_EQ(sum, MESSAGES * (MESSAGES + 1L) / 2);
}

#if !defined(_WIN32)
TEST(a_descriptor_of_each_side)
{
    concede::channel<int> numbers(1);
    concede::channel<std::string> texts(1);
    int fd = -1, other = -1;
    CHECK(numbers.recv_fd(fd) == 0 && numbers.send_fd(other) == 0 && fd >= 0 && other >= 0 && fd != other);
    CHECK(numbers.arm_recv() && !numbers.arm_send());
    CHECK_EQ(numbers.send(1), 0);
    CHECK(!numbers.arm_recv() && numbers.arm_send());
    CHECK(texts.recv_fd(fd) == 0 && texts.send_fd(other) == 0);
    CHECK(texts.arm_recv() && !texts.arm_send());
    CHECK_EQ(texts.send(std::string("x")), 0);
    CHECK(!texts.arm_recv() && texts.arm_send());
}
#endif

TEST(counters_are_written_to_a_stream)
{
    std::ostringstream out;
    concede::counters now;
    now.lock = { 6, 1, 2, 3, 4, 5, 7 };
    out << now << concede::counters().event.waits;
    std::string text = out.str();
    CHECK(text.find("lock: 6 waits, 1 spun, 2 yielded, 3 slept for 7 ns; 4 wake-ups, 5 in vain\nevent: ") == 0);
    CHECK(text.find("\nchannel: ") != std::string::npos);
}
