/* The lock's debug checks: with CC_DEBUG, in the user's own compilation, misuse aborts with a message. */
#define CC_DEBUG
#include "harness.h"
#include <concede/lock.h>

#if !defined(_WIN32)
#include "aborts.h"

static cc_lock_t lock = CC_LOCK_INIT, other = CC_LOCK_INIT;

static void nothing_wrong(void)
{
    for (int i = 0; i < 100; i++) {
        cc_lock_acquire(&lock);
        cc_lock_acquire_spin(&other);
        if (cc_lock_try_acquire(&lock)) _exit(9); /* held: false, and no message */
        cc_lock_release(&lock);
        if (!cc_lock_acquire_timeout(&lock, 5)) _exit(9);
        cc_lock_release(&lock);
        cc_lock_release(&other);
    }
}

static void more_locks_than_it_can_note(void)
{
    static cc_lock_t many[100];
    for (int i = 0; i < 100; i++) cc_lock_acquire(&many[i]);
    for (int i = 0; i < 100; i++) cc_lock_release(&many[i]);
    for (int i = 99; i >= 0; i--) cc_lock_acquire(&many[i]);
}

/* What the child of a fork does with a lock that it held, and who frees memory with one that it holds. */
static void set_up_again(void)
{
    for (int i = 0; i < 100; i++) {
        cc_lock_t fresh = CC_LOCK_INIT;
        cc_lock_acquire(&lock);
        lock = fresh;
        if (!cc_lock_acquire_timeout(&lock, 5)) _exit(9);
        cc_lock_release(&lock);
        cc_lock_acquire_spin(&lock);
        lock = fresh;
    }
}

/* One thread holds a lock that is made anew meanwhile, by whom it belongs to. Another thread takes it then, and is
 * still in its section when the first one comes again: it may, and waits. */
static uint32_t second_has_it;

static void *second_holder(void *shared)
{
    cc_lock_acquire((cc_lock_t *)shared);
    cc_store_release(&second_has_it, 1);
    usleep(20000);
    cc_lock_release((cc_lock_t *)shared);
    return NULL;
}

static void taken_by_another_since(void)
{
    for (int i = 0; i < 10; i++) {
        pthread_t second;
        cc_lock_t fresh = CC_LOCK_INIT;
        cc_lock_acquire(&lock);
        lock = fresh;
        cc_store_relaxed(&second_has_it, 0);
        if (pthread_create(&second, NULL, second_holder, &lock) != 0) _exit(9);
        while (!cc_load_acquire(&second_has_it)) usleep(100);
        cc_lock_acquire(&lock);
        cc_lock_release(&lock);
        pthread_join(second, NULL);
    }
}

/* The same with a lock on the heap whose holder frees it. */
static void freed_and_its_address_used_again(void)
{
    for (int i = 0; i < 10; i++) {
        pthread_t second;
        cc_lock_t *one = (cc_lock_t *)calloc(1, sizeof *one);
        cc_lock_acquire(one);
        free(one);
        one = (cc_lock_t *)calloc(1, sizeof *one);
        cc_store_relaxed(&second_has_it, 0);
        if (pthread_create(&second, NULL, second_holder, one) != 0) _exit(9);
        while (!cc_load_acquire(&second_has_it)) usleep(100);
        cc_lock_acquire(one);
        cc_lock_release(one);
        pthread_join(second, NULL);
        free(one);
    }
}

static void *releases_what_is_not_its(void *shared)
{
    cc_lock_release((cc_lock_t *)shared);
    return NULL;
}

static void release_in_another_thread(void)
{
    pthread_t other_thread;
    cc_lock_acquire(&lock);
    if (pthread_create(&other_thread, NULL, releases_what_is_not_its, &lock) != 0) _exit(9);
    pthread_join(other_thread, NULL);
}

static void acquire_twice(void)
{
    cc_lock_acquire(&lock);
    cc_lock_acquire(&lock);
}

static void acquire_twice_by_spinning(void)
{
    cc_lock_acquire(&lock);
    cc_lock_acquire_spin(&lock);
}

static void acquire_twice_with_a_timeout(void)
{
    cc_lock_acquire(&lock);
    (void)!cc_lock_acquire_timeout(&lock, 1000);
}

static void release_what_is_free(void)
{
    cc_lock_release(&lock);
}

static void release_twice(void)
{
    cc_lock_acquire(&lock);
    cc_lock_release(&lock);
    cc_lock_release(&lock);
}

TEST(correct_use_is_not_complained_about)
{
    check_says_nothing(nothing_wrong);
    check_says_nothing(more_locks_than_it_can_note);
    check_says_nothing(set_up_again);
    check_says_nothing(taken_by_another_since);
    check_says_nothing(freed_and_its_address_used_again);
}

TEST(releasing_in_another_thread_aborts)
{
    char said[200];
    CHECK(aborts(release_in_another_thread, said, sizeof said));
    CHECK(strstr(said, "concede: lock ") != NULL);
    CHECK(strstr(said, "released by thread 2, which does not hold it: thread 1 does") != NULL);
}

TEST(acquiring_again_in_the_same_thread_aborts)
{
    char said[200];
    void (*const ways[])(void) = { acquire_twice, acquire_twice_by_spinning, acquire_twice_with_a_timeout };
    for (int i = 0; i < 3; i++) {
        CHECK(aborts(ways[i], said, sizeof said));
        CHECK(strstr(said, "concede: lock ") != NULL && strstr(said, "acquired again") != NULL);
    }
}

TEST(releasing_what_nobody_holds_aborts)
{
    char said[200];
    void (*const ways[])(void) = { release_what_is_free, release_twice };
    for (int i = 0; i < 2; i++) {
        CHECK(aborts(ways[i], said, sizeof said));
        CHECK(strstr(said, "concede: lock ") != NULL && strstr(said, "nobody holds") != NULL);
    }
}
#endif
