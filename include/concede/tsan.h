/* tsan.h: what ThreadSanitizer is told, in code that is compiled with -fsanitize=thread; else nothing.
 *
 * It sees only what is compiled with it: the inlines, and not what they call in the library. So the inlines say what a
 * call orders, and what it reads and writes for the caller.
 *
 *   CC_TSAN_RELEASE_(p), CC_TSAN_ACQUIRE_(p)     what was done before the release is seen after the acquire
 *   CC_TSAN_LOCK_(lock, may_fail, call)          `call` takes the lock, and returns whether it did
 *   CC_TSAN_UNLOCK_BEGIN_(lock), ..._END_(lock)  around what gives it up
 *   CC_TSAN_SEND_(type, channel, messages, bytes, call)   `call` sends so many bytes; its result, which is of that type
 *   CC_TSAN_RECV_(channel, message, bytes, call)          `call` receives; its result, 0 if it got a message
 *   CC_TSAN_RECV_MANY_(channel, messages, bytes, call)    `call` receives several of so many bytes each; how many
 *
 * A channel orders whatever was sent before whatever is received later, which is a little more than it promises: a
 * mistake that only the order of single messages shows is not found. The copies that the library makes are not watched.
 */
#ifndef CONCEDE_TSAN_H
#define CONCEDE_TSAN_H

#include <concede/compiler.h>

#if CC_TSAN_
CC_BEGIN_DECLS

/* These are as in <sanitizer/tsan_interface.h>, which need not be installed. */
void __tsan_acquire(void *address);
void __tsan_release(void *address);
void __tsan_mutex_pre_lock(void *address, unsigned flags);
void __tsan_mutex_post_lock(void *address, unsigned flags, int recursion);
int __tsan_mutex_pre_unlock(void *address, unsigned flags);
void __tsan_mutex_post_unlock(void *address, unsigned flags);
void __tsan_ignore_thread_begin(void);
void __tsan_ignore_thread_end(void);
/* A static mutex is one that nobody creates or destroys. */
enum { CC_TSAN_STATIC_ = 1 << 0, CC_TSAN_TRY_ = 1 << 4, CC_TSAN_FAILED_ = 1 << 5 };

#define CC_TSAN_ACQUIRE_(p) __tsan_acquire((void *)(uintptr_t)(p))
#define CC_TSAN_RELEASE_(p) __tsan_release((void *)(uintptr_t)(p))

CC_INLINE_ void cc_tsan_locking_(void *lock, bool may_fail)
{
    __tsan_mutex_pre_lock(lock, CC_TSAN_STATIC_ | (may_fail ? CC_TSAN_TRY_ : 0));
}

CC_INLINE_ bool cc_tsan_locked_(void *lock, bool may_fail, bool taken)
{
    __tsan_mutex_post_lock(lock, CC_TSAN_STATIC_ | (may_fail ? CC_TSAN_TRY_ : 0) | (taken ? 0 : CC_TSAN_FAILED_), 0);
    return taken;
}

#define CC_TSAN_LOCK_(lock, may_fail, call) \
    (cc_tsan_locking_((lock), (may_fail)), cc_tsan_locked_((lock), (may_fail), (call)))
#define CC_TSAN_UNLOCK_BEGIN_(lock) ((void)__tsan_mutex_pre_unlock((lock), CC_TSAN_STATIC_))
#define CC_TSAN_UNLOCK_END_(lock)   __tsan_mutex_post_unlock((lock), CC_TSAN_STATIC_)

/* Read all bytes, or write them as they are, so that others who use them at the same time are found. */
CC_INLINE_ void cc_tsan_read_(const void *memory, size_t bytes)
{
    const volatile unsigned char *byte = (const volatile unsigned char *)memory;
    while (bytes-- > 0) (void)*byte++;
}

CC_INLINE_ void cc_tsan_write_(void *memory, size_t bytes)
{
    volatile unsigned char *byte = (volatile unsigned char *)memory;
    for (; bytes > 0; bytes--, byte++) *byte = *byte;
}

CC_INLINE_ void cc_tsan_sending_(void *channel, const void *messages, size_t bytes)
{
    CC_TSAN_RELEASE_(channel);
    cc_tsan_read_(messages, bytes);
    __tsan_ignore_thread_begin();
}

CC_INLINE_ size_t cc_tsan_sent_(size_t result)
{
    __tsan_ignore_thread_end();
    return result;
}

CC_INLINE_ void cc_tsan_receiving_(void *room)
{
    CC_TSAN_RELEASE_(room);
    __tsan_ignore_thread_begin();
}

CC_INLINE_ size_t cc_tsan_received_(void *channel, void *messages, size_t bytes, size_t received)
{
    __tsan_ignore_thread_end();
    CC_TSAN_ACQUIRE_(channel);
    cc_tsan_write_(messages, bytes * received);
    return received;
}

CC_INLINE_ int cc_tsan_received_one_(void *channel, void *message, size_t bytes, int result)
{
    (void)cc_tsan_received_(channel, message, bytes, result == 0);
    return result;
}

#define CC_TSAN_SEND_(type, channel, messages, bytes, call) \
    (cc_tsan_sending_((channel), (messages), (bytes)), (type)cc_tsan_sent_((size_t)(call)))
#define CC_TSAN_RECV_(channel, message, bytes, call) \
    (cc_tsan_receiving_(&(channel)->spsc.head), cc_tsan_received_one_((channel), (message), (bytes), (call)))
#define CC_TSAN_RECV_MANY_(channel, messages, bytes, call) \
    (cc_tsan_receiving_(&(channel)->spsc.head), cc_tsan_received_((channel), (messages), (bytes), (call)))

CC_END_DECLS
#else
#define CC_TSAN_ACQUIRE_(p)                                 ((void)0)
#define CC_TSAN_RELEASE_(p)                                 ((void)0)
#define CC_TSAN_LOCK_(lock, may_fail, call)                 (call)
#define CC_TSAN_UNLOCK_BEGIN_(lock)                         ((void)0)
#define CC_TSAN_UNLOCK_END_(lock)                           ((void)0)
#define CC_TSAN_SEND_(type, channel, messages, bytes, call) (call)
#define CC_TSAN_RECV_(channel, message, bytes, call)        (call)
#define CC_TSAN_RECV_MANY_(channel, messages, bytes, call)  (call)
#endif

#endif
