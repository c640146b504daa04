/* concede.hpp: concede for C++11 and later, in the shapes that the standard library knows.
 *
 *     concede::mutex lock;                                   // four bytes, constant-initialised, nothing to destroy
 *     std::lock_guard<concede::mutex> guard(lock);
 *
 * concede::mutex is Lockable and TimedLockable, so std::unique_lock, std::lock, std::scoped_lock and
 * std::condition_variable_any take it. Nothing here adds state to the C object, and nothing throws. */
#ifndef CONCEDE_CONCEDE_HPP
#define CONCEDE_CONCEDE_HPP

#include <concede/concede.h>

#include <chrono>

namespace concede {

namespace detail {

/* A duration as nanoseconds: none below zero, and one that does not fit is for ever. */
template <class Rep, class Period> uint64_t nanoseconds(const std::chrono::duration<Rep, Period> &duration) noexcept
{
    typedef std::chrono::duration<double> seconds;
    if (!(duration > duration.zero())) return 0;
    if (std::chrono::duration_cast<seconds>(duration).count() > 9e9) return CC_FOREVER; /* int64_t holds 9.2e9 s */
    auto whole = std::chrono::duration_cast<std::chrono::nanoseconds>(duration);
    if (whole < duration) ++whole; /* a timeout never comes early */
    return static_cast<uint64_t>(whole.count());
}

} // namespace detail

/* cc_lock_t as a standard mutex. */
class mutex
{
  public:
    constexpr mutex() noexcept : lock_ CC_LOCK_INIT {}
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
        do {
            if (try_lock_for(time - Clock::now())) return true;
        } while (Clock::now() < time);
        return false;
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

} // namespace concede

#endif
