/* concede.hpp: concede for C++11 and later, in the shapes that the standard library knows.
 *
 *     concede::mutex lock;                                   // four bytes, constant-initialised, nothing to destroy
 *     std::lock_guard<concede::mutex> guard(lock);
 *
 * concede::mutex is Lockable and TimedLockable, so std::unique_lock, std::lock, std::scoped_lock and
 * std::condition_variable_any take it.
 *
 *     concede::channel<job> jobs(1024);                      // owns its cc_channel_t; test it: memory may be short
 *     if (!jobs) ...
 *     jobs.send(job);
 *     for (job next; jobs.recv(next) == 0;) next.run();      // until closed and drained
 *
 * concede::channel<T> is channel.h with the type checked and the size a constant. Results are those of the C functions.
 * Nothing here throws. */
#ifndef CONCEDE_CONCEDE_HPP
#define CONCEDE_CONCEDE_HPP

#include <concede/concede.h>

#include <chrono>
#include <ratio>
#include <type_traits>

namespace concede
{

namespace detail
{

/* A duration as nanoseconds, rounded up so that a timeout never comes early: none below zero, and one that does not fit
 * is for ever. Whole numbers are taken apart at the denominator of "nanoseconds in a tick", so that nothing overflows
 * on the way; where even one tick's remainder would, and for floating point, it is computed as such. */
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

/* How long until a time of any clock: none if it has passed. The difference is taken only where it fits. */
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

} // namespace detail

/* cc_lock_t as a standard mutex. */
class mutex
{
  public:
    constexpr mutex() noexcept : lock_ CC_LOCK_INIT
    {
    }
    mutex(const mutex &) = delete;
    mutex &operator=(const mutex &) = delete;

    void lock() noexcept
    {
        cc_lock_acquire(&lock_);
    }
    bool try_lock() noexcept
    {
        return cc_lock_try_acquire(&lock_);
    }
    void unlock() noexcept
    {
        cc_lock_release(&lock_);
    }

    template <class Rep, class Period> bool try_lock_for(const std::chrono::duration<Rep, Period> &duration) noexcept
    {
        return cc_lock_acquire_timeout(&lock_, detail::nanoseconds(duration));
    }
    /* On any clock; one that is set back meanwhile makes the wait longer. A past time still tries once. */
    template <class Clock, class Duration>
    bool try_lock_until(const std::chrono::time_point<Clock, Duration> &time) noexcept
    {
        for (;;) {
            const uint64_t left = detail::nanoseconds_until(time);
            if (cc_lock_acquire_timeout(&lock_, left)) return true;
            if (left == 0) return false;
        }
    }

    typedef cc_lock_t *native_handle_type;
    native_handle_type native_handle() noexcept
    {
        return &lock_;
    }

  private:
    cc_lock_t lock_;
};

static_assert(sizeof(mutex) == sizeof(cc_lock_t), "the C object and nothing else");

/* cc_channel_t of messages of one type, which are copied as bytes. Which calls may run at the same time: see channel.h.
 * */
template <class T> class channel
{
    static_assert(std::is_trivially_copyable<T>::value, "messages are copied as bytes");

  public:
    explicit channel(size_t capacity, uint32_t kind = CC_CHANNEL_MPMC,
                     uint32_t snooze_iters = CC_SNOOZE_ADAPTIVE) noexcept
        : channel_(nullptr)
    {
        cc_channel_options_t options = { capacity, sizeof(T), kind, snooze_iters };
        error_ = cc_channel_create(&channel_, &options);
    }
    ~channel()
    {
        cc_channel_destroy(channel_);
    }
    channel(channel &&other) noexcept : channel_(other.channel_), error_(other.error_)
    {
        other.channel_ = nullptr;
    }
    channel(const channel &) = delete;
    channel &operator=(const channel &) = delete;

    /* Whether it was made; if not, error() says why: EINVAL or ENOMEM. */
    explicit operator bool() const noexcept
    {
        return channel_ != nullptr;
    }
    int error() const noexcept
    {
        return error_;
    }

    int send(const T &message) noexcept
    {
        return send_until_(message, CC_FOREVER);
    }
    int try_send(const T &message) noexcept
    {
        return send_until_(message, CC_CHANNEL_TRY_);
    }
    template <class Rep, class Period>
    int send_for(const T &message, const std::chrono::duration<Rep, Period> &duration) noexcept
    {
        return send_until_(message, cc_deadline_in(detail::nanoseconds(duration)));
    }
    size_t send_many(const T *messages, size_t n) noexcept
    {
        return cc_channel_send_many_(channel_, messages, n, CC_CHANNEL_SIZE_(sizeof(T)));
    }

    int recv(T &message) noexcept
    {
        return recv_until_(message, CC_FOREVER);
    }
    int try_recv(T &message) noexcept
    {
        return recv_until_(message, CC_CHANNEL_TRY_);
    }
    template <class Rep, class Period>
    int recv_for(T &message, const std::chrono::duration<Rep, Period> &duration) noexcept
    {
        return recv_until_(message, cc_deadline_in(detail::nanoseconds(duration)));
    }
    size_t recv_many(T *messages, size_t n) noexcept
    {
        return cc_channel_recv_many_(channel_, messages, n, CC_CHANNEL_SIZE_(sizeof(T)));
    }

    void close() noexcept
    {
        cc_channel_close(channel_);
    }
    bool is_closed() const noexcept
    {
        return cc_channel_is_closed(channel_);
    }
    size_t size() const noexcept
    {
        return cc_channel_len(channel_);
    }
    size_t capacity() const noexcept
    {
        return cc_channel_capacity(channel_);
    }

    typedef cc_channel_t *native_handle_type;
    native_handle_type native_handle() noexcept
    {
        return channel_;
    }

  private:
    int send_until_(const T &message, uint64_t deadline) noexcept
    {
        return cc_channel_send_(channel_, &message, CC_CHANNEL_SIZE_(sizeof(T)), deadline);
    }
    int recv_until_(T &message, uint64_t deadline) noexcept
    {
        return cc_channel_recv_(channel_, &message, CC_CHANNEL_SIZE_(sizeof(T)), deadline);
    }

    cc_channel_t *channel_;
    int error_;
};

} // namespace concede

#endif
