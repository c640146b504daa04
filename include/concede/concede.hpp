/* concede.hpp: concede for C++11 and later, in the shapes that the standard library knows.
 *
 *     concede::mutex lock;                                   // four bytes, constant-initialised, nothing to destroy
 *     std::lock_guard<concede::mutex> guard(lock);
 *
 * concede::mutex is Lockable and TimedLockable, so std::unique_lock, std::lock, std::scoped_lock and
 * std::condition_variable_any take it.
 *
 *     concede::condition not_empty;                          // beside the mutex, as std::condition_variable
 *     not_empty.wait(unique_lock, [&] { return count > 0; });
 *
 *     concede::event changed;                                // waits for any condition, without a mutex
 *     changed.await([&] { return ready.load(); });           // the other side: ready = true; changed.notify_all();
 *     concede::parker parker;                                // one token, one waiting thread
 *     parker.park();                                         // the other side: parker.unpark();
 *
 *     concede::channel<job> jobs(1024);                      // owns its memory; test it: memory may be short
 *     if (!jobs) ...
 *     jobs.send(job);
 *     for (job next; jobs.recv(next) == 0;) next.run();      // until closed and drained
 *
 *     concede::selected done = concede::select(concede::order::in_order,   // waits for the first of several
 *                                              concede::on_recv(urgent, next), concede::on_recv(jobs, next));
 *     if (done) next.run();                                  // done.which says which; false: that one is closed
 *
 * A message is any type. One that is trivially copyable is copied as bytes, and a send is a few instructions. Any other
 * (std::string, std::unique_ptr) is moved into a place in the channel's own memory and constructed and destroyed there;
 * moving it must not throw. Results are those of the C functions, and where one is not 0 the message is as it was.
 * Nothing here throws but the constructor of a message. */
#ifndef CONCEDE_CONCEDE_HPP
#define CONCEDE_CONCEDE_HPP

#include <concede/concede.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <new>
#include <ratio>
#include <type_traits>
#include <utility>

namespace concede
{

namespace detail
{

/* A duration as nanoseconds, rounded up so that a timeout never comes early. One below zero is 0, and one that does not
 * fit is CC_FOREVER. Whole numbers are divided by the denominator of "nanoseconds in a tick" first, so that nothing
 * overflows on the way; where even the remainder would overflow, and for floating point, it is computed as floating
 * point. */
template <class Rep, class Period> uint64_t nanoseconds(const std::chrono::duration<Rep, Period> &duration) noexcept
{
    typedef std::ratio_divide<Period, std::nano> tick;
    const uint64_t num = static_cast<uint64_t>(tick::num), den = static_cast<uint64_t>(tick::den);
    if (!(duration > duration.zero())) return 0;
    const long double inexact = static_cast<long double>(duration.count()) * tick::num / tick::den;
    if (inexact > 9e18L) return CC_FOREVER; /* 285 years */
    if (std::is_integral<Rep>::value && den <= UINT64_MAX / (num + 1)) {
        const uint64_t ticks = static_cast<uint64_t>(duration.count());
        return ticks / den * num + (ticks % den * num + den - 1) / den;
    }
    const uint64_t whole = static_cast<uint64_t>(inexact);
    return static_cast<long double>(whole) < inexact ? whole + 1 : whole;
}

/* How long it is until a time of any clock: 0 if it has passed. The difference is taken only where it fits. */
template <class Clock, class Duration>
uint64_t nanoseconds_until(const std::chrono::time_point<Clock, Duration> &time) noexcept
{
    typedef std::chrono::duration<double> seconds;
    const typename Clock::time_point now = Clock::now();
    const double left = seconds(time.time_since_epoch()).count() - seconds(now.time_since_epoch()).count();
    if (left < -1) return 0;
    if (left > 7e9) return CC_FOREVER; /* 222 years */
    return nanoseconds(time - now);
}

/* Calls wait(ns) until it says true, or the time of any clock has come; a time that has passed is tried once. */
template <class Clock, class Duration, class Wait>
bool until(const std::chrono::time_point<Clock, Duration> &time, Wait wait)
{
    for (;;) {
        const uint64_t left = nanoseconds_until(time);
        if (wait(left)) return true;
        if (left == 0) return false;
    }
}

/* What mutex, event, condition and parker have in common: each is the C object, all zero at first, and nothing else. It
 * cannot be copied or moved. */
template <class C> class object
{
  public:
    object(const object &) = delete;
    object &operator=(const object &) = delete;

    typedef C *native_handle_type;
    native_handle_type native_handle() noexcept { return &object_; }

  protected:
    constexpr object() noexcept : object_() {}
    C object_;
};

/* What event and condition have in common. */
class notifier : public object<cc_event_t>
{
  public:
    void notify_one() noexcept { cc_event_notify_one(&object_); }
    void notify_all() noexcept { cc_event_notify_all(&object_); }
};

} // namespace detail

/* cc_lock_t as a standard mutex. clang's -Wthread-safety knows it. */
class CC_CAPABILITY_("mutex") mutex : public detail::object<cc_lock_t>
{
  public:
    void lock() noexcept CC_ACQUIRES_ { cc_lock_acquire(&object_); }
    CC_MUST_USE_ bool try_lock() noexcept CC_TRIES_TO_ACQUIRE_ { return cc_lock_try_acquire(&object_); }
    void unlock() noexcept CC_RELEASES_ { cc_lock_release(&object_); }

    template <class Rep, class Period>
    CC_MUST_USE_ bool try_lock_for(const std::chrono::duration<Rep, Period> &duration) noexcept CC_TRIES_TO_ACQUIRE_
    {
        return cc_lock_acquire_timeout(&object_, detail::nanoseconds(duration));
    }
    /* Takes a time of any clock; one that is set back meanwhile makes the wait longer. A past time still tries once. */
    template <class Clock, class Duration>
    CC_MUST_USE_ bool try_lock_until(const std::chrono::time_point<Clock, Duration> &time) noexcept CC_TRIES_TO_ACQUIRE_
    {
        return detail::until(time, [&](uint64_t ns) { return cc_lock_acquire_timeout(&object_, ns); });
    }
};

static_assert(sizeof(mutex) == sizeof(cc_lock_t), "the C object and nothing else");

/* cc_event_t. The condition is looked at again and again; its last look is the result. */
class event : public detail::notifier
{
  public:
    template <class Condition> void await(Condition condition) { CC_EVENT_AWAIT(&object_, condition()); }
    template <class Rep, class Period, class Condition>
    CC_MUST_USE_ bool await_for(const std::chrono::duration<Rep, Period> &duration, Condition condition)
    {
        return CC_EVENT_AWAIT_UNTIL(&object_, condition(), cc_deadline_in(detail::nanoseconds(duration)));
    }
    template <class Clock, class Duration, class Condition>
    CC_MUST_USE_ bool await_until(const std::chrono::time_point<Clock, Duration> &time, Condition condition)
    {
        return detail::until(
            time, [&](uint64_t ns) { return CC_EVENT_AWAIT_UNTIL(&object_, condition(), cc_deadline_in(ns)); });
    }
};

/* A condition that a concede::mutex protects, in the shape of std::condition_variable. Each wait takes a lock that
 * holds the mutex, as std::unique_lock<concede::mutex>; a predicate is looked at with the mutex held. */
class condition : public detail::notifier
{
  public:
    template <class Lock> void wait(Lock &lock) noexcept { cc_lock_wait(held_(lock), &object_); }
    template <class Lock, class Predicate> void wait(Lock &lock, Predicate predicate)
    {
        CC_LOCK_AWAIT(held_(lock), &object_, predicate());
    }
    template <class Lock, class Rep, class Period>
    std::cv_status wait_for(Lock &lock, const std::chrono::duration<Rep, Period> &duration) noexcept
    {
        const bool notified = cc_lock_wait_timeout(held_(lock), &object_, detail::nanoseconds(duration));
        return notified ? std::cv_status::no_timeout : std::cv_status::timeout;
    }
    template <class Lock, class Rep, class Period, class Predicate>
    bool wait_for(Lock &lock, const std::chrono::duration<Rep, Period> &duration, Predicate predicate)
    {
        return CC_LOCK_AWAIT_TIMEOUT(held_(lock), &object_, predicate(), detail::nanoseconds(duration));
    }
    template <class Lock, class Clock, class Duration>
    std::cv_status wait_until(Lock &lock, const std::chrono::time_point<Clock, Duration> &time) noexcept
    {
        const bool notified = cc_lock_wait_timeout(held_(lock), &object_, detail::nanoseconds_until(time));
        const bool early = notified || detail::nanoseconds_until(time) > 0;
        return early ? std::cv_status::no_timeout : std::cv_status::timeout;
    }
    template <class Lock, class Clock, class Duration, class Predicate>
    bool wait_until(Lock &lock, const std::chrono::time_point<Clock, Duration> &time, Predicate predicate)
    {
        return detail::until(
            time, [&](uint64_t ns) { return CC_LOCK_AWAIT_TIMEOUT(held_(lock), &object_, predicate(), ns); });
    }

  private:
    template <class Lock> static cc_lock_t *held_(Lock &lock) noexcept { return lock.mutex()->native_handle(); }
};

/* cc_parker_t: one thread parks, any other gives it a token. */
class parker : public detail::object<cc_parker_t>
{
  public:
    void park() noexcept { cc_parker_park(&object_); }
    CC_MUST_USE_ bool try_park() noexcept { return cc_parker_try_park(&object_); }
    template <class Rep, class Period>
    CC_MUST_USE_ bool park_for(const std::chrono::duration<Rep, Period> &duration) noexcept
    {
        return cc_parker_park_timeout(&object_, detail::nanoseconds(duration));
    }
    template <class Clock, class Duration>
    CC_MUST_USE_ bool park_until(const std::chrono::time_point<Clock, Duration> &time) noexcept
    {
        return detail::until(time, [&](uint64_t ns) { return cc_parker_park_timeout(&object_, ns); });
    }
    void unpark() noexcept { cc_parker_unpark(&object_); }
};

namespace detail
{
template <class T, bool Sends> struct moved;
} // namespace detail

/* A bounded, blocking, closable queue, and the one owner of its memory. Which calls may run at the same time: see
 * channel.h. */
template <class T, bool = std::is_trivially_copyable<T>::value> class channel
{
    CC_CHANNEL_TYPED(typed, T) /* the C functions for messages of this type, as static members */

  public:
    explicit channel(size_t capacity, uint32_t kind = CC_CHANNEL_MPMC,
                     uint32_t snooze_iters = CC_SNOOZE_ADAPTIVE) noexcept
        : channel_(nullptr)
    {
        cc_channel_options_t options = CC_CHANNEL_OPTIONS_INIT(capacity, sizeof(T));
        options.kind = kind;
        options.snooze_iters = snooze_iters;
        error_ = cc_channel_create(&channel_, &options);
    }
    ~channel() { cc_channel_destroy(channel_); }
    channel(channel &&other) noexcept : channel_(other.channel_), error_(other.error_) { other.channel_ = nullptr; }
    channel &operator=(channel &&other) noexcept
    {
        channel taken(std::move(other));
        std::swap(channel_, taken.channel_);
        error_ = taken.error_;
        return *this;
    }

    /* Whether it was made; if not, error() says why: EINVAL or ENOMEM. */
    explicit operator bool() const noexcept { return channel_ != nullptr; }
    int error() const noexcept { return error_; }

    int send(const T &message) noexcept { return typed_send(channel_, message); }
    CC_MUST_USE_ int try_send(const T &message) noexcept { return typed_try_send(channel_, message); }
    template <class Rep, class Period>
    CC_MUST_USE_ int send_for(const T &message, const std::chrono::duration<Rep, Period> &duration) noexcept
    {
        return typed_send_timeout(channel_, message, detail::nanoseconds(duration));
    }
    template <class... Arguments> int emplace(Arguments &&...arguments)
    {
        return send(T(std::forward<Arguments>(arguments)...));
    }
    CC_MUST_USE_ size_t send_many(const T *messages, size_t n) noexcept
    {
        return typed_send_many(channel_, messages, n);
    }
    /* Waits until all are sent; `sent` says in any case how many were. */
    int send_all(const T *messages, size_t n, size_t &sent) noexcept
    {
        return typed_send_all(channel_, messages, n, &sent);
    }
    template <class Rep, class Period>
    CC_MUST_USE_ int send_all_for(const T *messages, size_t n, size_t &sent,
                                  const std::chrono::duration<Rep, Period> &duration) noexcept
    {
        return typed_send_all_timeout(channel_, messages, n, &sent, detail::nanoseconds(duration));
    }

    CC_MUST_USE_ int recv(T &message) noexcept { return typed_recv(channel_, &message); }
    CC_MUST_USE_ int try_recv(T &message) noexcept { return typed_try_recv(channel_, &message); }
    template <class Rep, class Period>
    CC_MUST_USE_ int recv_for(T &message, const std::chrono::duration<Rep, Period> &duration) noexcept
    {
        return typed_recv_timeout(channel_, &message, detail::nanoseconds(duration));
    }
    CC_MUST_USE_ size_t recv_many(T *messages, size_t n) noexcept { return typed_recv_many(channel_, messages, n); }
    /* Waits for one and takes up to n; `got` says in any case how many. */
    CC_MUST_USE_ int recv_some(T *messages, size_t n, size_t &got) noexcept
    {
        return typed_recv_some(channel_, messages, n, &got);
    }
    template <class Rep, class Period>
    CC_MUST_USE_ int recv_some_for(T *messages, size_t n, size_t &got,
                                   const std::chrono::duration<Rep, Period> &duration) noexcept
    {
        return typed_recv_some_timeout(channel_, messages, n, &got, detail::nanoseconds(duration));
    }

    /* SPSC, in place. reserve: where the next message is to be written, nullptr if there is no room; commit: it is
     * written. peek: the oldest message, nullptr if there is none; consume: it is no longer needed. */
    T *reserve() noexcept { return static_cast<T *>(cc_channel_reserve(channel_)); }
    void commit() noexcept { cc_channel_commit(channel_); }
    const T *peek() noexcept { return static_cast<const T *>(cc_channel_peek(channel_)); }
    void consume() noexcept { cc_channel_consume(channel_); }

    void close() noexcept { cc_channel_close(channel_); }
    bool is_closed() const noexcept { return cc_channel_is_closed(channel_); }
    size_t size() const noexcept { return cc_channel_len(channel_); }
    size_t capacity() const noexcept { return cc_channel_capacity(channel_); }

    /* cc_channel_fd() and cc_channel_arm(): a descriptor to poll, and whether it was armed. */
    CC_MUST_USE_ int recv_fd(int &fd) noexcept { return cc_channel_fd(channel_, CC_SELECT_RECV, &fd); }
    CC_MUST_USE_ bool arm_recv() noexcept { return cc_channel_arm(channel_, CC_SELECT_RECV); }
    CC_MUST_USE_ int send_fd(int &fd) noexcept { return cc_channel_fd(channel_, CC_SELECT_SEND, &fd); }
    CC_MUST_USE_ bool arm_send() noexcept { return cc_channel_arm(channel_, CC_SELECT_SEND); }

    typedef cc_channel_t *native_handle_type;
    native_handle_type native_handle() noexcept { return channel_; }

  private:
    template <class, bool> friend class channel;

    cc_channel_t *channel_;
    int error_;
};

/* The same for messages that are more than their bytes. They live in places of the channel's own. Two channels carry
 * the numbers of the places: those that hold a message to the receivers, and free ones back to the senders. A sender
 * waits for a free place, constructs the message there and hands it over; a receiver moves the message out, destroys it
 * and gives the place back. What the one did is seen by the other, by the order that a channel keeps. */
template <class T> class channel<T, false>
{
    static_assert(std::is_nothrow_move_constructible<T>::value && std::is_nothrow_move_assignable<T>::value &&
                      std::is_nothrow_destructible<T>::value,
                  "moving a message must not throw: it may be half-way through the channel");

  public:
    explicit channel(size_t capacity, uint32_t kind = CC_CHANNEL_MPMC,
                     uint32_t snooze_iters = CC_SNOOZE_ADAPTIVE) noexcept
        : full_(capacity, kind, snooze_iters), free_(capacity, kind, snooze_iters), memory_(nullptr), places_(nullptr)
    {
        if (!full_ || !free_) return;
        const size_t count = full_.capacity();
        if (count > UINT32_MAX || count > (SIZE_MAX - alignof(T)) / sizeof(T)) return;
        memory_ = ::operator new(count * sizeof(T) + alignof(T), std::nothrow);
        if (!memory_) return;
        const uintptr_t address = reinterpret_cast<uintptr_t>(memory_);
        places_ = static_cast<unsigned char *>(memory_) + (alignof(T) - address % alignof(T)) % alignof(T);
        for (uint32_t place = 0; place < count; place++) (void)free_.send(place);
    }
    ~channel()
    {
        uint32_t place;
        if (!places_) return;
        while (full_.try_recv(place) == 0) at_(place)->~T();
        ::operator delete(memory_);
    }
    channel(channel &&other) noexcept
        : full_(std::move(other.full_)), free_(std::move(other.free_)), memory_(other.memory_), places_(other.places_)
    {
        other.memory_ = nullptr;
        other.places_ = nullptr;
    }
    channel &operator=(channel &&other) noexcept
    {
        channel taken(std::move(other));
        std::swap(full_, taken.full_);
        std::swap(free_, taken.free_);
        std::swap(memory_, taken.memory_);
        std::swap(places_, taken.places_);
        return *this;
    }

    explicit operator bool() const noexcept { return places_ != nullptr; }
    int error() const noexcept { return places_ ? 0 : full_.error() ? full_.error() : ENOMEM; }

    /* Where the result is not 0, the message has been moved back. */
    int send(T &&message) noexcept { return send_until_(std::move(message), CC_FOREVER, false); }
    CC_MUST_USE_ int try_send(T &&message) noexcept { return send_until_(std::move(message), 0, true); }
    template <class Rep, class Period>
    CC_MUST_USE_ int send_for(T &&message, const std::chrono::duration<Rep, Period> &duration) noexcept
    {
        return send_until_(std::move(message), cc_deadline_in(detail::nanoseconds(duration)), false);
    }
    int send(const T &message) { return send(T(message)); }
    CC_MUST_USE_ int try_send(const T &message) { return try_send(T(message)); }
    template <class Rep, class Period>
    CC_MUST_USE_ int send_for(const T &message, const std::chrono::duration<Rep, Period> &duration)
    {
        return send_for(T(message), duration);
    }
    /* Waits for a place and constructs the message there. */
    template <class... Arguments> int emplace(Arguments &&...arguments)
    {
        taken_place taken(this);
        const int result = take_(taken, CC_FOREVER, false);
        if (result != 0) return result;
        ::new (static_cast<void *>(at_(taken.place))) T(std::forward<Arguments>(arguments)...);
        return hand_over_(taken, nullptr, CC_FOREVER, false);
    }

    CC_MUST_USE_ int recv(T &message) noexcept
    {
        taken_place taken(this);
        return received_(taken, full_.recv(taken.place), message);
    }
    CC_MUST_USE_ int try_recv(T &message) noexcept
    {
        taken_place taken(this);
        return received_(taken, full_.try_recv(taken.place), message);
    }
    template <class Rep, class Period>
    CC_MUST_USE_ int recv_for(T &message, const std::chrono::duration<Rep, Period> &duration) noexcept
    {
        taken_place taken(this);
        return received_(taken, full_.recv_for(taken.place, duration), message);
    }
    /* Calls `use` with the message in its place, and then destroys it: for types without a default constructor. */
    template <class Use> CC_MUST_USE_ int recv_with(Use use)
    {
        taken_place taken(this);
        const int result = full_.recv(taken.place);
        if (!got_(taken, result)) return result;
        use(std::move(*at_(taken.place)));
        return 0;
    }

    void close() noexcept
    {
        full_.close();
        free_.close();
    }
    bool is_closed() const noexcept { return full_.is_closed(); }
    size_t size() const noexcept { return full_.size(); }
    size_t capacity() const noexcept { return full_.capacity(); }

    CC_MUST_USE_ int recv_fd(int &fd) noexcept { return full_.recv_fd(fd); }
    CC_MUST_USE_ bool arm_recv() noexcept { return full_.arm_recv(); }
    /* A sender waits for a free place, so this is the receiving side of the free ones. */
    CC_MUST_USE_ int send_fd(int &fd) noexcept { return free_.recv_fd(fd); }
    CC_MUST_USE_ bool arm_send() noexcept { return free_.arm_recv(); }

  private:
    template <class, bool> friend struct detail::moved;
    typedef channel<uint32_t> numbers;

    /* A place that this thread has to itself. Unless it is handed over it goes back, without the message in it. */
    struct taken_place {
        channel *owner; /* nullptr: nothing taken */
        uint32_t place;
        bool holds; /* a message */
        explicit taken_place(channel *from, uint32_t number = 0) noexcept : owner(from), place(number), holds(false) {}
        ~taken_place()
        {
            if (!owner) return;
            if (holds) owner->at_(place)->~T();
            /* There is room, because there are no more places than that. If it is closed, nobody asks for one. */
            (void)owner->free_.send(place);
        }
    };

    T *at_(uint32_t place) const noexcept { return reinterpret_cast<T *>(places_ + place * sizeof(T)); }

    int take_(taken_place &taken, uint64_t deadline, bool only_try) noexcept
    {
        const int result =
            only_try ? free_.try_recv(taken.place) : numbers::typed_recv_until(free_.channel_, &taken.place, deadline);
        if (result != 0) taken.owner = nullptr;
        return result;
    }
    /* Sends the number of a place that holds a message. If that fails the message goes to `back`, unless it is NULL. */
    int hand_over_(taken_place &taken, T *back, uint64_t deadline, bool only_try) noexcept
    {
        taken.holds = true;
        const int result =
            only_try ? full_.try_send(taken.place) : numbers::typed_send_until(full_.channel_, taken.place, deadline);
        if (result == 0)
            taken.owner = nullptr;
        else if (back)
            *back = std::move(*at_(taken.place));
        return result;
    }
    int send_until_(T &&message, uint64_t deadline, bool only_try) noexcept
    {
        taken_place taken(this);
        const int result = take_(taken, deadline, only_try);
        return result == 0 ? put_(taken, message, deadline, only_try) : result;
    }
    int put_(taken_place &taken, T &message, uint64_t deadline, bool only_try) noexcept
    {
        ::new (static_cast<void *>(at_(taken.place))) T(std::move(message));
        return hand_over_(taken, &message, deadline, only_try);
    }
    int received_(taken_place &taken, int result, T &message) noexcept
    {
        if (!got_(taken, result)) return result;
        message = std::move(*at_(taken.place));
        return 0;
    }
    /* Whether a receive got a place with a message in it. */
    static bool got_(taken_place &taken, int result) noexcept
    {
        if (result != 0) taken.owner = nullptr;
        taken.holds = result == 0;
        return taken.holds;
    }

    numbers full_, free_;
    void *memory_;
    unsigned char *places_; /* the first of them, aligned */
};

/* ---- Counters --------------------------------------------------------------------------------------------------- */

/* What this process has waited so far, as cc_counters() tells it; `out << concede::counters()` writes it to a stream of
 * any kind, a line each for lock, event and channel. */
struct counters : cc_counters_t {
    counters() noexcept { ::cc_counters(this); }
};

namespace detail
{

template <class Stream> void write_counted(Stream &out, const char *kind, const cc_counted_t &now)
{
    out << kind << ": " << now.waits << " waits, " << now.spun << " spun, " << now.yielded << " yielded, " << now.slept
        << " slept for " << now.slept_ns << " ns; " << now.wakes << " wake-ups, " << now.wakes_in_vain << " in vain\n";
}

} // namespace detail

template <class Stream> Stream &operator<<(Stream &out, const counters &now)
{
    detail::write_counted(out, "lock", now.lock);
    detail::write_counted(out, "event", now.event);
    detail::write_counted(out, "channel", now.channel);
    return out;
}

/* ---- Select ----------------------------------------------------------------------------------------------------- */

namespace detail
{

/* A case whose message is copied: what cc_select() is given. When it was chosen nothing is left to do. */
struct copied {
    cc_select_case_t one;
    cc_select_case_t given() noexcept { return one; }
    int finish(int result) noexcept { return result; }
};

/* A case whose message is moved: it waits for the number of a place, with a message in it or, to send, without. */
template <class T, bool Sends> struct moved {
    channel<T, false> *with; /* nullptr: never ready */
    T *message;
    uint32_t place;
    cc_select_case_t given() noexcept
    {
        cc_channel_t *numbers = nullptr;
        if (with) numbers = (Sends ? with->free_ : with->full_).native_handle();
        return CC_SELECT_CASE_RECV(numbers, &place);
    }
    int finish(int result) noexcept
    {
        if (result != 0) return result;
        typename channel<T, false>::taken_place taken(with, place);
        return Sends ? with->put_(taken, *message, CC_FOREVER, false) : with->received_(taken, 0, *message);
    }
};

inline int finish_one(size_t, int result) noexcept
{
    return result;
}
template <class First, class... Rest> int finish_one(size_t which, int result, First &first, Rest &...rest) noexcept
{
    return which == 0 ? first.finish(result) : finish_one(which - 1, result, rest...);
}

} // namespace detail

enum class order : uint32_t { fair = CC_SELECT_FAIR, in_order = CC_SELECT_IN_ORDER };

/* The cases of a select; one that is not wanted (its channel is closed, say) is never ready. What on_send sends is
 * moved, if it is of a type that is, when that case is chosen. */
template <class T> detail::copied on_recv(channel<T, true> &from, T &message, bool wanted = true) noexcept
{
    return { CC_SELECT_CASE_RECV(wanted ? from.native_handle() : nullptr, &message) };
}
template <class T> detail::copied on_send(channel<T, true> &to, const T &message, bool wanted = true) noexcept
{
    return { CC_SELECT_CASE_SEND(wanted ? to.native_handle() : nullptr, &message) };
}
template <class T> detail::moved<T, false> on_recv(channel<T, false> &from, T &message, bool wanted = true) noexcept
{
    return { wanted ? &from : nullptr, &message, 0 };
}
template <class T> detail::moved<T, true> on_send(channel<T, false> &to, T &message, bool wanted = true) noexcept
{
    return { wanted ? &to : nullptr, &message, 0 };
}

/* What a select has done. `error` is 0, ETIMEDOUT, EAGAIN or EINVAL. With 0, `which` says which of the cases, from 0,
 * was chosen, and `result` is 0, or EPIPE if it is closed. True if a message was sent or received. */
struct selected {
    int error;
    size_t which;
    int result;
    explicit operator bool() const noexcept { return error == 0 && result == 0; }
};

template <class... Cases> CC_MUST_USE_ selected select_until(order how, uint64_t deadline, Cases... cases) noexcept
{
    cc_select_case_t given[] = { cases.given()... };
    selected done = { 0, 0, 0 };
    done.error = cc_select_until(given, sizeof...(cases), static_cast<uint32_t>(how), &done.which, deadline);
    if (done.error == 0) done.result = detail::finish_one(done.which, given[done.which].result, cases...);
    return done;
}
template <class... Cases> selected select(order how, Cases... cases) noexcept
{
    return select_until(how, CC_FOREVER, cases...);
}
template <class... Cases> CC_MUST_USE_ selected select_try(order how, Cases... cases) noexcept
{
    selected done = select_until(how, 0, cases...);
    if (done.error == ETIMEDOUT) done.error = EAGAIN;
    return done;
}
template <class Rep, class Period, class... Cases>
CC_MUST_USE_ selected select_for(order how, const std::chrono::duration<Rep, Period> &duration, Cases... cases) noexcept
{
    return select_until(how, cc_deadline_in(detail::nanoseconds(duration)), cases...);
}
template <class Clock, class Duration, class... Cases>
CC_MUST_USE_ selected select_until(order how, const std::chrono::time_point<Clock, Duration> &time,
                                   Cases... cases) noexcept
{
    selected done = { ETIMEDOUT, 0, 0 };
    (void)detail::until(time, [&](uint64_t ns) {
        done = select_until(how, cc_deadline_in(ns), cases...);
        return done.error != ETIMEDOUT;
    });
    return done;
}

} // namespace concede

#endif
