/* os_posix.c: the contract of os.h on nothing but POSIX threads, for systems without a wait on an address.
 *
 * A table of buckets, each a mutex and a queue of sleepers, found by hashing the address. A sleeper lives on its own
 * stack and brings its own condition variable, so a wake takes exactly the threads that it was meant for, first come
 * first served, and never looks at the word itself: that may be gone.
 *
 * Why no wake-up is lost: the sleeper compares the word and joins the queue under the bucket's mutex, and a waker takes
 * that mutex after it changed the word. Either the waker finds the sleeper in the queue, or the sleeper finds the
 * change.
 *
 * The table belongs to one copy of the library: a program with two copies of it must not wait in one and wake in the
 * other on the same object. */
#if !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif
#include "os.h"
#include <concede/atomic.h>
#include <pthread.h>
#include <time.h>

typedef struct sleeper {
    const uint32_t *word;
    struct sleeper *next;
    pthread_cond_t wake;
    bool woken;
} sleeper_t;

/* There are 2^6 buckets, which are 8 KiB where a line has 128 bytes. Two busy addresses in one bucket cost time, never
 * correctness. */
#define BUCKET_BITS 6
typedef struct bucket {
    CC_ALIGNED_(CC_CACHE_LINE) pthread_mutex_t mutex;
    sleeper_t *first, **last;
} bucket_t;

static bucket_t buckets_[1u << BUCKET_BITS];
static pthread_condattr_t monotonic_;
static pthread_once_t once_ = PTHREAD_ONCE_INIT;

/* Empties all buckets; also in the child of a fork(), where the sleepers were threads of the parent, and any mutex may
 * have been held by one. */
static void empty_buckets_(void)
{
    for (size_t i = 0; i < sizeof buckets_ / sizeof buckets_[0]; i++) {
        pthread_mutex_init(&buckets_[i].mutex, NULL);
        buckets_[i].first = NULL;
        buckets_[i].last = &buckets_[i].first;
    }
}

static void set_up_(void)
{
    empty_buckets_();
    pthread_condattr_init(&monotonic_);
    pthread_condattr_setclock(&monotonic_, CLOCK_MONOTONIC);
    pthread_atfork(NULL, NULL, empty_buckets_);
}

static bucket_t *lock_bucket_(const uint32_t *word)
{
    pthread_once(&once_, set_up_);
    /* 2^64 divided by the golden ratio spreads addresses that lie close together */
    uint64_t hash = (uint64_t)(uintptr_t)word * UINT64_C(0x9e3779b97f4a7c15);
    bucket_t *b = &buckets_[hash >> (64 - BUCKET_BITS)];
    pthread_mutex_lock(&b->mutex);
    return b;
}

static void leave_queue_(bucket_t *b, sleeper_t **link)
{
    sleeper_t *s = *link;
    *link = s->next;
    if (b->last == &s->next) b->last = link;
}

/* Sleeps until it is woken, the deadline passes, or for no reason. Returns 0 or ETIMEDOUT. */
static int sleep_in_(bucket_t *b, sleeper_t *s, uint64_t deadline)
{
    if (deadline == CC_FOREVER) {
        pthread_cond_wait(&s->wake, &b->mutex);
        return 0;
    }
    /* A deadline past what a 32-bit time_t holds ends early, for no reason, and the caller waits again. */
    uint64_t seconds = deadline / CC_NS_PER_S_;
    bool capped = seconds > INT32_MAX;
    struct timespec until;
    until.tv_sec = (time_t)(capped ? INT32_MAX : seconds);
    until.tv_nsec = (long)(deadline % CC_NS_PER_S_);
    int result = pthread_cond_timedwait(&s->wake, &b->mutex, &until);
    return result == ETIMEDOUT && !capped ? ETIMEDOUT : 0;
}

int cc_os_wait_(const uint32_t *word, uint32_t expected, uint64_t deadline)
{
    int cancel_state, result;
    bucket_t *b = lock_bucket_(word);
    if (cc_load_relaxed(word) != expected) { /* relaxed: the mutex orders it against every waker */
        pthread_mutex_unlock(&b->mutex);
        return EAGAIN;
    }
    /* A wait on a condition is a cancellation point, and a cancelled thread would leave its stack in the queue. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    sleeper_t me = { .word = word };
    pthread_cond_init(&me.wake, &monotonic_);
    *b->last = &me;
    b->last = &me.next;
    result = sleep_in_(b, &me, deadline);
    if (me.woken) {
        result = 0;
    } else {
        sleeper_t **link = &b->first;
        while (*link != &me) link = &(*link)->next;
        leave_queue_(b, link);
    }
    pthread_mutex_unlock(&b->mutex);
    pthread_cond_destroy(&me.wake);
    pthread_setcancelstate(cancel_state, NULL);
    return result;
}

void cc_os_wake_(const uint32_t *word, uint32_t count)
{
    bucket_t *b = lock_bucket_(word);
    sleeper_t **link = &b->first;
    while (*link != NULL && count > 0) {
        sleeper_t *s = *link;
        if (s->word != word) {
            link = &s->next;
            continue;
        }
        leave_queue_(b, link);
        s->woken = true;
        pthread_cond_signal(&s->wake); /* under the mutex, because the sleeper's stack lives only until we release it */
        count--;
    }
    pthread_mutex_unlock(&b->mutex);
}

#define CC_OS_HAS_WAIT_
#include "os_unix.h"
