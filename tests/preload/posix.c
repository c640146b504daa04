/* posix.c: what POSIX asks of mutexes and condition variables. Run twice: on the C library's own, and with
 * libconcede-pthread.so before it (PRELOADED is set then). Tests whose name ends in _here go beyond POSIX: they hold
 * for this C library, programs rely on it, and so must ours. */
#include "harness.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>

static bool preloaded(void)
{
    return getenv("PRELOADED") != NULL;
}

/* `ms` from now by this clock; may be negative. */
static struct timespec in_ms(clockid_t clock, long ms)
{
    struct timespec at;
    clock_gettime(clock, &at);
    at.tv_sec += ms / 1000;
    at.tv_nsec += ms % 1000 * 1000000;
    if (at.tv_nsec >= 1000000000) at.tv_sec++, at.tv_nsec -= 1000000000;
    if (at.tv_nsec < 0) at.tv_sec--, at.tv_nsec += 1000000000;
    return at;
}

static bool has_come(clockid_t clock, struct timespec at)
{
    struct timespec now = in_ms(clock, 0);
    return now.tv_sec > at.tv_sec || (now.tv_sec == at.tv_sec && now.tv_nsec >= at.tv_nsec);
}

static void sleep_ms(long ms)
{
    struct timespec time = { ms / 1000, ms % 1000 * 1000000 };
    while (nanosleep(&time, &time) != 0) {}
}

static pthread_t start(void *(*body)(void *), void *argument)
{
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, body, argument) == 0);
    return thread;
}

static pthread_mutex_t made(int type)
{
    pthread_mutexattr_t attributes;
    pthread_mutex_t mutex;
    memset(&mutex, 0xa5, sizeof mutex); /* init does not count on what was there */
    pthread_mutexattr_init(&attributes);
    CHECK_EQ(pthread_mutexattr_settype(&attributes, type), 0);
    CHECK_EQ(pthread_mutex_init(&mutex, &attributes), 0);
    pthread_mutexattr_destroy(&attributes);
    return mutex;
}

/* What another thread's call says. */
static int (*asked)(pthread_mutex_t *);
static void *ask_body(void *mutex)
{
    int result = asked(mutex);
    if (result == 0 && asked == pthread_mutex_trylock) pthread_mutex_unlock(mutex);
    return (void *)(intptr_t)result;
}

static int elsewhere(int (*call)(pthread_mutex_t *), pthread_mutex_t *mutex)
{
    void *result;
    asked = call;
    pthread_join(start(ask_body, mutex), &result);
    return (int)(intptr_t)result;
}

TEST(runs_on_what_it_should)
{
    Dl_info info;
    void *symbol = dlsym(RTLD_DEFAULT, "pthread_mutex_lock");
    REQUIRE(dladdr(symbol, &info) != 0);
    CHECK_EQ(strstr(info.dli_fname, "libconcede-pthread") != NULL, preloaded());
}

/* ---- mutexes ---- */

static pthread_mutex_t static_normal = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t static_adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t static_recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t static_checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

typedef struct counted {
    pthread_mutex_t *mutex;
    uint64_t rounds;
    volatile uint64_t count;
    volatile int inside;
} counted;

static void count_body(int index, void *shared)
{
    counted *c = shared;
    for (uint64_t i = 0; i < c->rounds; i++) {
        int result = (i + (unsigned)index) % 3 ? pthread_mutex_lock(c->mutex) : pthread_mutex_trylock(c->mutex);
        if (result == EBUSY) result = pthread_mutex_lock(c->mutex);
        CHECK_EQ(result, 0);
        CHECK_EQ(c->inside++, 0);
        c->count = c->count + 1;
        c->inside--;
        CHECK_EQ(pthread_mutex_unlock(c->mutex), 0);
    }
}

static void check_excludes(pthread_mutex_t *mutex)
{
    counted c = { mutex, test_effort(40000), 0, 0 };
    test_threads(4, count_body, &c);
    CHECK_EQ(c.count, 4 * c.rounds);
    CHECK_EQ(pthread_mutex_destroy(mutex), 0);
}

TEST(one_thread_at_a_time_holds_a_mutex_of_any_kind)
{
    int types[] = { PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_DEFAULT, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
                    PTHREAD_MUTEX_ADAPTIVE_NP };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        pthread_mutex_t mutex = made(types[i]);
        check_excludes(&mutex);
    }
    pthread_mutex_t zero;
    memset(&zero, 0, sizeof zero);
    check_excludes(&zero);
    check_excludes(&static_normal);
    check_excludes(&static_adaptive);
}

static void check_recursive(pthread_mutex_t *mutex)
{
    for (int i = 0; i < 3; i++) CHECK_EQ(i & 1 ? pthread_mutex_trylock(mutex) : pthread_mutex_lock(mutex), 0);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(elsewhere(pthread_mutex_trylock, mutex), EBUSY);
        CHECK_EQ(elsewhere(pthread_mutex_unlock, mutex), EPERM);
        CHECK_EQ(pthread_mutex_unlock(mutex), 0);
    }
    CHECK_EQ(elsewhere(pthread_mutex_trylock, mutex), 0);
    CHECK_EQ(pthread_mutex_unlock(mutex), EPERM);
}

TEST(recursive_mutex_is_free_after_as_many_unlocks_as_locks)
{
    pthread_mutex_t mutex = made(PTHREAD_MUTEX_RECURSIVE);
    check_recursive(&mutex);
    check_recursive(&static_recursive);
    CHECK_EQ(pthread_mutex_destroy(&mutex), 0);
}

static void check_checking(pthread_mutex_t *mutex)
{
    struct timespec soon = in_ms(CLOCK_REALTIME, 10000);
    CHECK_EQ(pthread_mutex_unlock(mutex), EPERM);
    CHECK_EQ(pthread_mutex_lock(mutex), 0);
    CHECK_EQ(pthread_mutex_lock(mutex), EDEADLK);
    CHECK_EQ(pthread_mutex_timedlock(mutex, &soon), EDEADLK);
    CHECK_EQ(pthread_mutex_trylock(mutex), EBUSY);
    CHECK_EQ(elsewhere(pthread_mutex_unlock, mutex), EPERM);
    CHECK_EQ(elsewhere(pthread_mutex_trylock, mutex), EBUSY);
    CHECK_EQ(pthread_mutex_unlock(mutex), 0);
    CHECK_EQ(elsewhere(pthread_mutex_trylock, mutex), 0);
}

TEST(error_checking_mutex_reports_relocking_and_foreign_unlocking)
{
    pthread_mutex_t mutex = made(PTHREAD_MUTEX_ERRORCHECK);
    check_checking(&mutex);
    check_checking(&static_checking);
}

static void *relock_body(void *mutex)
{
    struct timespec at = in_ms(CLOCK_REALTIME, 30);
    CHECK_EQ(pthread_mutex_lock(mutex), 0);
    CHECK_EQ(pthread_mutex_timedlock(mutex, &at), ETIMEDOUT);
    CHECK(has_come(CLOCK_REALTIME, at));
    CHECK_EQ(pthread_mutex_unlock(mutex), 0);
    return NULL;
}

TEST(normal_mutex_deadlocks_the_thread_that_locks_it_twice)
{
    pthread_mutex_t mutex = made(PTHREAD_MUTEX_NORMAL);
    pthread_join(start(relock_body, &mutex), NULL);
    CHECK_EQ(pthread_mutex_trylock(&mutex), 0);
}

TEST(held_mutex_is_not_destroyed_here)
{
    int types[] = { PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK };
    for (size_t i = 0; i < 3; i++) {
        pthread_mutex_t mutex = made(types[i]);
        pthread_mutex_lock(&mutex);
        CHECK_EQ(pthread_mutex_destroy(&mutex), EBUSY);
        CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
        CHECK_EQ(pthread_mutex_destroy(&mutex), 0);
    }
}

TEST(destroyed_mutex_can_be_initialised_again)
{
    pthread_mutex_t mutex = made(PTHREAD_MUTEX_RECURSIVE);
    CHECK_EQ(pthread_mutex_destroy(&mutex), 0);
    CHECK_EQ(pthread_mutex_init(&mutex, NULL), 0);
    CHECK_EQ(pthread_mutex_lock(&mutex), 0);
    CHECK_EQ(elsewhere(pthread_mutex_trylock, &mutex), EBUSY);
    CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
}

static void *pass_body(void *mutex)
{
    CHECK_EQ(pthread_mutex_lock(mutex), 0);
    CHECK_EQ(pthread_mutex_unlock(mutex), 0);
    return NULL;
}

/* One that was never waited for, and one that was: it may still know of that. */
TEST(unlocking_a_free_mutex_leaves_it_usable_here)
{
    for (int waited_for = 0; waited_for < 2; waited_for++) {
        pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
        CHECK_EQ(pthread_mutex_lock(&mutex), 0);
        if (waited_for) {
            pthread_t thread = start(pass_body, &mutex);
            sleep_ms(20);
            CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
            pthread_join(thread, NULL);
        }
        for (int i = 0; i < 3; i++) CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
        CHECK_EQ(elsewhere(pthread_mutex_trylock, &mutex), 0);
        REQUIRE(pthread_mutex_trylock(&mutex) == 0);
        CHECK_EQ(elsewhere(pthread_mutex_trylock, &mutex), EBUSY);
        CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
        CHECK_EQ(elsewhere(pthread_mutex_trylock, &mutex), 0);
    }
}

/* The last of two users frees it, right after the other gave it up. */
typedef struct owned {
    pthread_mutex_t mutex;
    int users;
} owned;

static owned *passed_on;
static pthread_barrier_t meeting;

static void free_body(int index, void *shared)
{
    uint64_t rounds = *(uint64_t *)shared;
    for (uint64_t i = 0; i < rounds; i++) {
        if (index == 0) {
            passed_on = malloc(sizeof *passed_on);
            pthread_mutex_init(&passed_on->mutex, NULL);
            passed_on->users = 2;
        }
        pthread_barrier_wait(&meeting);
        owned *mine = passed_on;
        pthread_mutex_lock(&mine->mutex);
        bool last = --mine->users == 0;
        pthread_mutex_unlock(&mine->mutex);
        if (last) {
            CHECK_EQ(pthread_mutex_destroy(&mine->mutex), 0);
            memset(mine, 0xa5, sizeof *mine);
            free(mine);
        }
        pthread_barrier_wait(&meeting);
    }
}

TEST(mutex_may_be_freed_by_who_locked_it_last)
{
    uint64_t rounds = test_effort(5000);
    pthread_barrier_init(&meeting, NULL, 2);
    test_threads(2, free_body, &rounds);
    pthread_barrier_destroy(&meeting);
}

static int timed(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *at, bool with_clock)
{
    return with_clock ? pthread_mutex_clocklock(mutex, clock, at) : pthread_mutex_timedlock(mutex, at);
}

static void *timed_body(void *argument)
{
    pthread_mutex_t *mutex = argument;
    for (int way = 0; way < 3; way++) { /* timedlock, and clocklock by two clocks */
        clockid_t clock = way == 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
        struct timespec past = in_ms(clock, -1000), soon = in_ms(clock, 40), bad = soon, epoch = { 0, 0 },
                        before = { -1, 0 };
        CHECK_EQ(timed(mutex, clock, &past, way > 0), ETIMEDOUT);
        CHECK_EQ(timed(mutex, clock, &epoch, way > 0), ETIMEDOUT);
        CHECK_EQ(timed(mutex, clock, &before, way > 0), ETIMEDOUT);
        CHECK(!has_come(clock, soon));
        CHECK_EQ(timed(mutex, clock, &soon, way > 0), ETIMEDOUT);
        CHECK(has_come(clock, soon));
        bad.tv_nsec = 1000000000;
        CHECK_EQ(timed(mutex, clock, &bad, way > 0), EINVAL);
        bad.tv_nsec = -1;
        CHECK_EQ(timed(mutex, clock, &bad, way > 0), EINVAL);
    }
    return NULL;
}

TEST(timed_lock_gives_up_at_its_time_and_not_before)
{
    int types[] = { PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK };
    for (size_t i = 0; i < 3; i++) {
        pthread_mutex_t mutex = made(types[i]);
        pthread_mutex_lock(&mutex);
        pthread_join(start(timed_body, &mutex), NULL);
        pthread_mutex_unlock(&mutex);
    }
}

TEST(timed_lock_of_a_free_mutex_looks_at_no_clock)
{
    struct timespec past = { 0, 0 }, bad = { 0, -1 };
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    CHECK_EQ(pthread_mutex_timedlock(&mutex, &past), 0);
    CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
    CHECK_EQ(pthread_mutex_timedlock(&mutex, &bad), 0);
    CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
    CHECK_EQ(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &past), 0);
    CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
    CHECK_EQ(pthread_mutex_clocklock(&mutex, CLOCK_PROCESS_CPUTIME_ID, &past), EINVAL);
}

static void *release_body(void *mutex)
{
    struct timespec late = in_ms(CLOCK_REALTIME, 100000);
    CHECK_EQ(pthread_mutex_timedlock(mutex, &late), 0);
    CHECK_EQ(pthread_mutex_unlock(mutex), 0);
    return NULL;
}

TEST(timed_lock_gets_the_mutex_when_it_is_released_in_time)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    pthread_t thread = start(release_body, &mutex);
    sleep_ms(20);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
}

/* ---- condition variables ---- */

typedef struct monitor {
    pthread_mutex_t mutex;
    pthread_cond_t cond, done;
    int waiting, tickets, taken;
    clockid_t clock;
    int how; /* 0: wait; 1: timedwait; 2: clockwait */
} monitor;

static void monitor_init(monitor *m, int how, clockid_t clock)
{
    pthread_condattr_t attributes;
    memset(m, 0, sizeof *m);
    pthread_mutex_init(&m->mutex, NULL);
    pthread_condattr_init(&attributes);
    CHECK_EQ(pthread_condattr_setclock(&attributes, how == 1 ? clock : CLOCK_REALTIME), 0);
    CHECK_EQ(pthread_cond_init(&m->cond, &attributes), 0);
    CHECK_EQ(pthread_cond_init(&m->done, NULL), 0);
    pthread_condattr_destroy(&attributes);
    m->how = how;
    m->clock = clock;
}

static int monitor_wait(monitor *m, long ms)
{
    struct timespec at = in_ms(m->clock, ms);
    if (m->how == 0) return pthread_cond_wait(&m->cond, &m->mutex);
    if (m->how == 1) return pthread_cond_timedwait(&m->cond, &m->mutex, &at);
    return pthread_cond_clockwait(&m->cond, &m->mutex, m->clock, &at);
}

static void *ticket_body(void *argument)
{
    monitor *m = argument;
    pthread_mutex_lock(&m->mutex);
    m->waiting++;
    pthread_cond_signal(&m->done);
    while (m->tickets == 0) CHECK_EQ(monitor_wait(m, 100000), 0);
    m->tickets--;
    m->taken++;
    m->waiting--;
    pthread_cond_signal(&m->done);
    pthread_mutex_unlock(&m->mutex);
    return NULL;
}

static void await(monitor *m, int *value, int wanted)
{
    pthread_mutex_lock(&m->mutex);
    while (*value != wanted) pthread_cond_wait(&m->done, &m->mutex);
    pthread_mutex_unlock(&m->mutex);
}

static void check_tickets(int how, clockid_t clock)
{
    enum { THREADS = 5 };
    pthread_t threads[THREADS];
    monitor m;
    monitor_init(&m, how, clock);
    CHECK_EQ(pthread_cond_signal(&m.cond), 0); /* nobody is there, and nobody will have it */
    CHECK_EQ(pthread_cond_broadcast(&m.cond), 0);
    for (int i = 0; i < THREADS; i++) threads[i] = start(ticket_body, &m);
    await(&m, &m.waiting, THREADS);
    CHECK_EQ(m.taken, 0);
    for (int i = 1; i <= 2; i++) { /* each signal wakes at least one */
        pthread_mutex_lock(&m.mutex);
        m.tickets = 1;
        if (i == 1) pthread_cond_signal(&m.cond);
        pthread_mutex_unlock(&m.mutex);
        if (i == 2) pthread_cond_signal(&m.cond);
        await(&m, &m.taken, i);
    }
    pthread_mutex_lock(&m.mutex);
    m.tickets = THREADS;
    pthread_cond_broadcast(&m.cond);
    pthread_mutex_unlock(&m.mutex);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    CHECK_EQ(m.taken, THREADS);
    CHECK_EQ(pthread_cond_destroy(&m.cond), 0);
    CHECK_EQ(pthread_cond_destroy(&m.done), 0);
    CHECK_EQ(pthread_mutex_destroy(&m.mutex), 0);
}

TEST(signal_wakes_one_and_broadcast_wakes_all)
{
    check_tickets(0, CLOCK_REALTIME);
    check_tickets(1, CLOCK_REALTIME);
    check_tickets(1, CLOCK_MONOTONIC);
    check_tickets(2, CLOCK_REALTIME);
    check_tickets(2, CLOCK_MONOTONIC);
}

TEST(timed_wait_ends_at_its_time_with_the_mutex_held)
{
    for (int way = 0; way < 4; way++) {
        clockid_t clock = way & 1 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
        monitor m;
        monitor_init(&m, 1 + way / 2, clock);
        pthread_mutex_lock(&m.mutex);
        CHECK_EQ(monitor_wait(&m, -1000), ETIMEDOUT);
        CHECK_EQ(elsewhere(pthread_mutex_trylock, &m.mutex), EBUSY);
        struct timespec at = in_ms(clock, 50), bad = at;
        int result;
        do
            result = m.how == 1 ? pthread_cond_timedwait(&m.cond, &m.mutex, &at)
                                : pthread_cond_clockwait(&m.cond, &m.mutex, clock, &at);
        while (result == 0);
        CHECK_EQ(result, ETIMEDOUT);
        CHECK(has_come(clock, at));
        CHECK_EQ(elsewhere(pthread_mutex_trylock, &m.mutex), EBUSY);
        bad.tv_nsec = 1000000000;
        CHECK_EQ(pthread_cond_timedwait(&m.cond, &m.mutex, &bad), EINVAL);
        CHECK_EQ(pthread_cond_clockwait(&m.cond, &m.mutex, clock, &bad), EINVAL);
        CHECK_EQ(pthread_cond_clockwait(&m.cond, &m.mutex, CLOCK_PROCESS_CPUTIME_ID, &at), EINVAL);
        CHECK_EQ(pthread_mutex_unlock(&m.mutex), 0);
        CHECK_EQ(pthread_cond_destroy(&m.cond), 0);
    }
}

/* Programs sleep so, without a predicate. */
TEST(long_timed_wait_does_not_end_early_here)
{
    monitor m;
    monitor_init(&m, 1, CLOCK_REALTIME);
    pthread_mutex_lock(&m.mutex);
    CHECK_EQ(monitor_wait(&m, 2300), ETIMEDOUT);
    pthread_mutex_unlock(&m.mutex);
}

static void *late_signal_body(void *argument)
{
    monitor *m = argument;
    sleep_ms(1400);
    pthread_mutex_lock(&m->mutex);
    m->tickets = 1;
    pthread_mutex_unlock(&m->mutex);
    pthread_cond_signal(&m->cond);
    return NULL;
}

TEST(long_timed_wait_is_woken_by_a_late_signal)
{
    monitor m;
    monitor_init(&m, 1, CLOCK_REALTIME);
    struct timespec end = in_ms(CLOCK_REALTIME, 60000);
    pthread_t thread = start(late_signal_body, &m);
    pthread_mutex_lock(&m.mutex);
    while (m.tickets == 0) CHECK_EQ(monitor_wait(&m, 100000), 0);
    pthread_mutex_unlock(&m.mutex);
    CHECK(!has_come(CLOCK_REALTIME, end));
    pthread_join(thread, NULL);
}

TEST(wait_with_an_error_checking_mutex_of_another_is_refused)
{
    pthread_mutex_t mutex = made(PTHREAD_MUTEX_ERRORCHECK);
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    struct timespec at = in_ms(CLOCK_REALTIME, 100000);
    CHECK_EQ(pthread_cond_wait(&cond, &mutex), EPERM);
    CHECK_EQ(pthread_cond_timedwait(&cond, &mutex, &at), EPERM);
    CHECK_EQ(pthread_cond_destroy(&cond), 0);
}

TEST(wait_keeps_a_recursive_mutex_with_its_owner)
{
    pthread_mutex_t mutex = made(PTHREAD_MUTEX_RECURSIVE);
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    struct timespec at = in_ms(CLOCK_REALTIME, 20);
    pthread_mutex_lock(&mutex);
    while (pthread_cond_timedwait(&cond, &mutex, &at) == 0) {}
    CHECK_EQ(elsewhere(pthread_mutex_trylock, &mutex), EBUSY);
    CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
    CHECK_EQ(pthread_mutex_unlock(&mutex), EPERM);
}

/* Producers and consumers with one place between them: every hand-over needs a wake-up. */
typedef struct place {
    pthread_mutex_t mutex;
    pthread_cond_t filled, emptied;
    uint64_t rounds, value, sum;
    bool full, timed;
} place;

static void place_body(int index, void *shared)
{
    place *p = shared;
    for (uint64_t i = 1; i <= p->rounds; i++) {
        pthread_cond_t *mine = index & 1 ? &p->filled : &p->emptied;
        pthread_mutex_lock(&p->mutex);
        while (p->full != (index & 1)) {
            struct timespec at = in_ms(CLOCK_REALTIME, 100000);
            int result = p->timed ? pthread_cond_timedwait(mine, &p->mutex, &at) : pthread_cond_wait(mine, &p->mutex);
            REQUIRE(result == 0);
        }
        if (index & 1)
            p->sum += p->value;
        else
            p->value = i;
        p->full = !p->full;
        if (i % 2) pthread_cond_signal(index & 1 ? &p->emptied : &p->filled);
        pthread_mutex_unlock(&p->mutex);
        if (i % 2 == 0) pthread_cond_signal(index & 1 ? &p->emptied : &p->filled);
    }
}

TEST(no_signal_is_lost_between_producers_and_consumers)
{
    for (int timed_too = 0; timed_too < 2; timed_too++) {
        for (int pairs = 1; pairs <= 3; pairs += 2) {
            place p = { PTHREAD_MUTEX_INITIALIZER,
                        PTHREAD_COND_INITIALIZER,
                        PTHREAD_COND_INITIALIZER,
                        test_effort(10000),
                        0,
                        0,
                        false,
                        timed_too };
            test_threads(2 * pairs, place_body, &p);
            CHECK_EQ(p.sum, (uint64_t)pairs * p.rounds * (p.rounds + 1) / 2);
            CHECK_EQ(pthread_cond_destroy(&p.filled), 0);
            CHECK_EQ(pthread_cond_destroy(&p.emptied), 0);
        }
    }
}

/* Destroyed as soon as nobody is blocked any more, although they have not all left the call: their memory is gone
 * then. */
typedef struct gone {
    pthread_mutex_t *mutex;
    pthread_cond_t *cond;
    bool *open;
    int inside;
} gone;

static void *gone_body(void *argument)
{
    gone *g = argument;
    pthread_mutex_lock(g->mutex);
    g->inside++;
    while (!*g->open) pthread_cond_wait(g->cond, g->mutex);
    pthread_mutex_unlock(g->mutex);
    return NULL;
}

TEST(condition_may_be_destroyed_and_freed_right_after_a_broadcast)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    for (uint64_t i = test_effort(300); i > 0; i--) {
        pthread_t threads[3];
        bool open = false;
        void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        gone g = { &mutex, page, &open, 0 };
        REQUIRE(page != MAP_FAILED);
        pthread_cond_init(g.cond, NULL);
        for (int t = 0; t < 3; t++) threads[t] = start(gone_body, &g);
        for (;;) {
            pthread_mutex_lock(&mutex);
            if (g.inside == 3) break;
            pthread_mutex_unlock(&mutex);
            sched_yield();
        }
        open = true;
        pthread_cond_broadcast(g.cond);
        pthread_mutex_unlock(&mutex);
        CHECK_EQ(pthread_cond_destroy(g.cond), 0);
        munmap(page, 4096); /* whoever touches it now, dies */
        for (int t = 0; t < 3; t++) pthread_join(threads[t], NULL);
    }
}

static void on_signal(int number)
{
    (void)number;
}

TEST(signal_handler_does_not_end_a_lock_or_a_wait_with_an_error)
{
    struct sigaction action;
    monitor m;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal; /* and no SA_RESTART */
    sigaction(SIGUSR1, &action, NULL);
    monitor_init(&m, 0, CLOCK_REALTIME);
    pthread_mutex_lock(&m.mutex);
    pthread_t thread = start(ticket_body, &m); /* it checks its results */
    for (int i = 0; i < 50; i++) pthread_kill(thread, SIGUSR1), sleep_ms(1);
    pthread_mutex_unlock(&m.mutex);
    await(&m, &m.waiting, 1);
    for (int i = 0; i < 50; i++) pthread_kill(thread, SIGUSR1), sleep_ms(1);
    pthread_mutex_lock(&m.mutex);
    m.tickets = 1;
    pthread_cond_signal(&m.cond);
    pthread_mutex_unlock(&m.mutex);
    pthread_join(thread, NULL);
}

/* More than an event counts: each one by the real-time clock counts twice. */
TEST(thousands_wait_for_one_condition)
{
    enum { CROWD = 4200 };
    static pthread_t threads[CROWD];
    pthread_attr_t attributes;
    monitor m;
    int started = 0;
    monitor_init(&m, 1, CLOCK_REALTIME);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 128 << 10);
    while (started < CROWD && pthread_create(&threads[started], &attributes, ticket_body, &m) == 0) started++;
    pthread_attr_destroy(&attributes);
    await(&m, &m.waiting, started);
    pthread_mutex_lock(&m.mutex);
    m.tickets = started;
    pthread_cond_broadcast(&m.cond);
    pthread_mutex_unlock(&m.mutex);
    for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
    CHECK_EQ(m.taken, started);
    CHECK_EQ(pthread_cond_destroy(&m.cond), 0);
    SKIP_IF(started < CROWD, "so many threads cannot be had here");
}

/* ---- cancellation ---- */

typedef struct cancelled {
    monitor m;
    int held_in_cleanup, ran, begun;
} cancelled;

static void cleanup_body(void *argument)
{
    cancelled *c = argument;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL); /* it may have come after the wait */
    c->held_in_cleanup = elsewhere(pthread_mutex_trylock, &c->m.mutex) == EBUSY;
    c->ran++;
    CHECK_EQ(pthread_mutex_unlock(&c->m.mutex), 0);
}

static void *cancel_body(void *argument)
{
    cancelled *c = argument;
    pthread_mutex_lock(&c->m.mutex);
    pthread_cleanup_push(cleanup_body, c);
    c->m.waiting++;
    pthread_cond_signal(&c->m.done);
    while (c->m.tickets == 0) monitor_wait(&c->m, 100000);
    pthread_cleanup_pop(1);
    return NULL;
}

TEST(cancelled_wait_locks_the_mutex_before_the_cleanup_runs)
{
    for (int way = 0; way < 5; way++) {
        cancelled c;
        void *result;
        memset(&c, 0, sizeof c);
        monitor_init(&c.m, (way + 1) / 2, way & 1 ? CLOCK_MONOTONIC : CLOCK_REALTIME);
        pthread_t thread = start(cancel_body, &c);
        await(&c.m, &c.m.waiting, 1);
        if (way > 2) sleep_ms(5);
        CHECK_EQ(pthread_cancel(thread), 0);
        pthread_join(thread, &result);
        CHECK(result == PTHREAD_CANCELED);
        CHECK_EQ(c.ran, 1);
        CHECK_EQ(c.held_in_cleanup, 1);
        CHECK_EQ(pthread_mutex_trylock(&c.m.mutex), 0);
        CHECK_EQ(pthread_mutex_unlock(&c.m.mutex), 0);
        CHECK_EQ(pthread_cond_destroy(&c.m.cond), 0);
    }
}

static void *pending_body(void *argument)
{
    cancelled *c = argument;
    while (!__atomic_load_n(&c->begun, __ATOMIC_ACQUIRE)) sched_yield();
    return cancel_body(c);
}

TEST(cancellation_that_came_before_is_acted_on_in_the_wait)
{
    cancelled c;
    void *result;
    memset(&c, 0, sizeof c);
    monitor_init(&c.m, 0, CLOCK_REALTIME);
    pthread_t thread = start(pending_body, &c);
    CHECK_EQ(pthread_cancel(thread), 0);
    __atomic_store_n(&c.begun, 1, __ATOMIC_RELEASE);
    pthread_join(thread, &result);
    CHECK(result == PTHREAD_CANCELED);
    CHECK_EQ(c.held_in_cleanup, 1);
}

static void *disabled_body(void *argument)
{
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    return ticket_body(argument);
}

TEST(disabled_cancellation_does_not_end_a_wait)
{
    monitor m;
    void *result;
    monitor_init(&m, 0, CLOCK_REALTIME);
    pthread_t thread = start(disabled_body, &m);
    await(&m, &m.waiting, 1);
    CHECK_EQ(pthread_cancel(thread), 0);
    sleep_ms(5);
    CHECK_EQ(m.taken, 0);
    pthread_mutex_lock(&m.mutex);
    m.tickets = 1;
    pthread_cond_signal(&m.cond);
    pthread_mutex_unlock(&m.mutex);
    pthread_join(thread, &result);
    CHECK(result == NULL);
    CHECK_EQ(m.taken, 1);
}

static void *waiting_lock_body(void *argument)
{
    cancelled *c = argument;
    __atomic_store_n(&c->begun, 1, __ATOMIC_RELEASE);
    pthread_mutex_lock(&c->m.mutex); /* no cancellation point */
    c->ran = 1;
    pthread_mutex_unlock(&c->m.mutex);
    return NULL;
}

TEST(locking_is_no_cancellation_point)
{
    cancelled c;
    void *result;
    memset(&c, 0, sizeof c);
    monitor_init(&c.m, 0, CLOCK_REALTIME);
    pthread_mutex_lock(&c.m.mutex);
    pthread_t thread = start(waiting_lock_body, &c);
    while (!__atomic_load_n(&c.begun, __ATOMIC_ACQUIRE)) sched_yield();
    sleep_ms(5);
    CHECK_EQ(pthread_cancel(thread), 0);
    sleep_ms(5);
    pthread_mutex_unlock(&c.m.mutex);
    pthread_join(thread, &result);
    CHECK(result == NULL);
    CHECK_EQ(c.ran, 1);
}

/* One signal, and one of two waiters is cancelled as it comes: the other must have it, or the cancelled one took the
 * ticket. */
TEST(cancelled_wait_takes_no_signal_from_another)
{
    for (uint64_t i = test_effort(300); i > 0; i--) {
        cancelled c;
        void *result[2];
        pthread_t threads[2];
        memset(&c, 0, sizeof c);
        monitor_init(&c.m, 0, CLOCK_REALTIME);
        threads[0] = start(cancel_body, &c);
        threads[1] = start(ticket_body, &c.m);
        await(&c.m, &c.m.waiting, 2);
        pthread_mutex_lock(&c.m.mutex);
        c.m.tickets = 2;
        pthread_mutex_unlock(&c.m.mutex);
        pthread_cond_signal(&c.m.cond);
        pthread_cancel(threads[0]);
        pthread_join(threads[0], &result[0]);
        if (result[0] != PTHREAD_CANCELED) pthread_cond_signal(&c.m.cond); /* it had its own */
        pthread_join(threads[1], &result[1]);
        CHECK_EQ(c.m.taken, 1);
        CHECK_EQ(pthread_cond_destroy(&c.m.cond), 0);
    }
}

/* The same, with the cancellation there before the signal, and nobody to wake the cancelled one but the signal
 * itself. */
TEST(signal_that_meets_a_cancellation_is_passed_on)
{
    SKIP_IF(!preloaded(), "glibc 2.36 itself keeps the signal now and then");
    int (*mark)(pthread_t) = NULL;
    void *libc = dlopen("libc.so.6", RTLD_NOW), *found = libc ? dlsym(libc, "pthread_cancel") : NULL;
    REQUIRE(found != NULL);
    memcpy(&mark, &found, sizeof mark);
    for (int i = 0; i < 20; i++) {
        cancelled c;
        pthread_t threads[2];
        memset(&c, 0, sizeof c);
        monitor_init(&c.m, 0, CLOCK_REALTIME);
        threads[0] = start(cancel_body, &c);
        await(&c.m, &c.m.waiting, 1);
        threads[1] = start(ticket_body, &c.m);
        await(&c.m, &c.m.waiting, 2);
        mark(threads[0]);
        pthread_mutex_lock(&c.m.mutex);
        c.m.tickets = 2;
        pthread_mutex_unlock(&c.m.mutex);
        pthread_cond_signal(&c.m.cond);
        pthread_join(threads[1], NULL);
        CHECK_EQ(c.m.taken, 1);
        pthread_cancel(threads[0]); /* if the signal was not for it */
        pthread_join(threads[0], NULL);
    }
}

/* ---- fork ---- */

static void check_child(pid_t child)
{
    int status;
    REQUIRE(child > 0);
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 0);
}

static void hammer_body(int index, void *shared)
{
    counted *c = shared;
    if (index == 0) {
        for (uint64_t i = 0; i < c->rounds; i++) {
            pthread_mutex_lock(c->mutex);
            sleep_ms(2); /* so that they sleep, and are owed the mutex */
            pid_t child = fork();
            if (child == 0) {
                alarm(20);
                counted mine = { c->mutex, 100, 0, 0 };
                int bad = pthread_mutex_trylock(c->mutex) != EBUSY;
                pthread_mutex_unlock(c->mutex);
                test_threads(3, count_body, &mine);
                _exit(bad || mine.count != 300);
            }
            pthread_mutex_unlock(c->mutex);
            check_child(child);
        }
        c->inside = 1;
    } else {
        while (!c->inside) {
            pthread_mutex_lock(c->mutex);
            c->count = c->count + 1;
            pthread_mutex_unlock(c->mutex);
        }
    }
}

TEST(child_unlocks_and_uses_a_mutex_that_the_forking_thread_held)
{
    int types[] = { PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK };
    for (size_t i = 0; i < (preloaded() ? 3 : 1);
         i++) { /* the C library's others do not know their owner in the child */
        pthread_mutex_t mutex = made(types[i]);
        counted c = { &mutex, test_effort(20), 0, 0 };
        if (types[i] == PTHREAD_MUTEX_RECURSIVE) { /* whose owner may lock it again, so the child's check differs */
            pthread_mutex_lock(&mutex);
            pid_t child = fork();
            if (child == 0)
                _exit(elsewhere(pthread_mutex_trylock, &mutex) != EBUSY || pthread_mutex_unlock(&mutex) != 0 ||
                      elsewhere(pthread_mutex_trylock, &mutex) != 0);
            check_child(child);
            pthread_mutex_unlock(&mutex);
        } else {
            test_threads(4, hammer_body, &c);
        }
    }
}

/* Handlers that hold a mutex over a fork, registered before any library could register its own. */
static pthread_mutex_t guarded = PTHREAD_MUTEX_INITIALIZER;
static bool guards;

static void guard_before(void)
{
    if (!guards) return;
    pthread_mutex_lock(&guarded);
    sleep_ms(3); /* so that others sleep, and are owed it */
}

static void guard_after(void)
{
    if (guards) pthread_mutex_unlock(&guarded);
}

static void register_guard(void)
{
    pthread_atfork(guard_before, guard_after, guard_after);
}
__attribute__((section(".preinit_array"), used)) static void (*const before_all_libraries)(void) = register_guard;

static void guarded_body(int index, void *shared)
{
    counted *c = shared;
    for (uint64_t i = 0; index == 0 && i < c->rounds; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(20);
            int bad = pthread_mutex_lock(&guarded) || pthread_mutex_unlock(&guarded);
            pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER; /* as some make what they had over a fork */
            guarded = fresh;
            pid_t grandchild = fork();
            if (grandchild == 0) _exit(pthread_mutex_trylock(&guarded));
            int status = 1;
            waitpid(grandchild, &status, 0);
            _exit(bad || status != 0);
        }
        check_child(child);
    }
    if (index == 0) c->inside = 1;
    while (!c->inside) {
        pthread_mutex_lock(&guarded);
        c->count = c->count + 1;
        pthread_mutex_unlock(&guarded);
    }
}

TEST(child_uses_a_mutex_that_the_first_of_all_handlers_held)
{
    counted c = { &guarded, test_effort(20), 0, 0 };
    guards = true;
    test_threads(4, guarded_body, &c);
    guards = false;
}

static monitor forked;

static void *grandchild_body(void *argument)
{
    (void)argument;
    pthread_mutex_lock(&forked.mutex);
    forked.tickets = 1;
    pthread_cond_signal(&forked.cond);
    pthread_mutex_unlock(&forked.mutex);
    return NULL;
}

TEST(child_uses_a_condition_on_which_threads_of_the_parent_wait_here)
{
    monitor_init(&forked, 0, CLOCK_REALTIME);
    pthread_t thread = start(ticket_body, &forked);
    await(&forked, &forked.waiting, 1);
    pthread_mutex_lock(&forked.mutex);
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        pthread_mutex_unlock(&forked.mutex);
        pthread_t signaller = start(grandchild_body, NULL);
        pthread_mutex_lock(&forked.mutex);
        while (forked.tickets == 0) pthread_cond_wait(&forked.cond, &forked.mutex);
        pthread_mutex_unlock(&forked.mutex);
        pthread_join(signaller, NULL);
        pid_t grandchild = fork(); /* and once more */
        if (grandchild == 0) _exit(pthread_mutex_lock(&forked.mutex) || pthread_mutex_unlock(&forked.mutex));
        int status = 1;
        waitpid(grandchild, &status, 0);
        if (preloaded()) pthread_cond_destroy(&forked.cond); /* the C library's waits here for the parent's thread */
        _exit(status != 0);
    }
    pthread_mutex_unlock(&forked.mutex);
    check_child(child);
    pthread_mutex_lock(&forked.mutex);
    CHECK_EQ(forked.tickets, 0);
    forked.tickets = 1;
    pthread_cond_signal(&forked.cond);
    pthread_mutex_unlock(&forked.mutex);
    pthread_join(thread, NULL);
}

/* ---- what goes on to the C library ---- */

static void *robust_body(void *mutex)
{
    pthread_mutex_lock(mutex);
    return NULL; /* and dies with it */
}

TEST(robust_mutex_tells_that_its_owner_died)
{
    pthread_mutexattr_t attributes;
    pthread_mutex_t mutex;
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    struct timespec at = in_ms(CLOCK_REALTIME, 20);
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    CHECK_EQ(pthread_mutex_init(&mutex, &attributes), 0);
    pthread_join(start(robust_body, &mutex), NULL);
    CHECK_EQ(pthread_mutex_lock(&mutex), EOWNERDEAD);
    CHECK_EQ(pthread_mutex_consistent(&mutex), 0);
    CHECK_EQ(pthread_cond_timedwait(&cond, &mutex, &at), ETIMEDOUT);
    CHECK_EQ(elsewhere(pthread_mutex_trylock, &mutex), EBUSY);
    CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
    CHECK_EQ(pthread_mutex_destroy(&mutex), 0);
}

TEST(priority_mutexes_work_with_conditions)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    monitor m;
    monitor_init(&m, 0, CLOCK_REALTIME);
    int result = pthread_mutex_init(&m.mutex, &attributes);
    SKIP_IF(result == ENOTSUP, "no priority inheritance");
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) threads[i] = start(ticket_body, &m);
    await(&m, &m.waiting, 3);
    pthread_mutex_lock(&m.mutex);
    m.tickets = 3;
    pthread_cond_broadcast(&m.cond);
    pthread_mutex_unlock(&m.mutex);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    CHECK_EQ(m.taken, 3);
    check_excludes(&m.mutex);
}

static monitor *monitor_shared(bool mutex_too)
{
    monitor *m = mmap(NULL, sizeof *m, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t mutex_attributes;
    pthread_condattr_t attributes;
    REQUIRE(m != MAP_FAILED);
    pthread_mutexattr_init(&mutex_attributes);
    if (mutex_too) pthread_mutexattr_setpshared(&mutex_attributes, PTHREAD_PROCESS_SHARED);
    pthread_condattr_init(&attributes);
    pthread_condattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    CHECK_EQ(pthread_mutex_init(&m->mutex, &mutex_attributes), 0);
    CHECK_EQ(pthread_cond_init(&m->cond, &attributes), 0);
    CHECK_EQ(pthread_cond_init(&m->done, &attributes), 0);
    return m;
}

TEST(process_shared_mutex_and_condition_work_between_processes)
{
    monitor *m = monitor_shared(true);
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        ticket_body(m);
        _exit(test_bad_checks != 0);
    }
    await(m, &m->waiting, 1);
    pthread_mutex_lock(&m->mutex);
    m->tickets = 1;
    pthread_cond_signal(&m->cond);
    pthread_mutex_unlock(&m->mutex);
    check_child(child);
    CHECK_EQ(m->taken, 1);
    CHECK_EQ(pthread_cond_destroy(&m->cond), 0);
    CHECK_EQ(pthread_mutex_destroy(&m->mutex), 0);
}

TEST(process_shared_condition_works_with_a_mutex_of_this_process)
{
    for (uint64_t i = test_effort(100); i > 0; i--) {
        monitor *m = monitor_shared(false);
        pthread_t threads[3];
        m->how = (int)(i % 3);
        m->clock = i & 1 && m->how == 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
        for (int t = 0; t < 3; t++) threads[t] = start(ticket_body, m);
        await(m, &m->waiting, 3);
        for (int t = 1; t <= 3; t++) {
            pthread_mutex_lock(&m->mutex);
            m->tickets = 1;
            pthread_mutex_unlock(&m->mutex);
            pthread_cond_signal(&m->cond);
            await(m, &m->taken, t);
        }
        for (int t = 0; t < 3; t++) pthread_join(threads[t], NULL);
        munmap(m, sizeof *m);
    }
}

TEST(cancelled_wait_on_a_process_shared_condition_holds_the_mutex)
{
    monitor *m = monitor_shared(false);
    cancelled c;
    void *result;
    memset(&c, 0, sizeof c);
    c.m = *m; /* nobody uses it yet */
    pthread_t thread = start(cancel_body, &c);
    await(&c.m, &c.m.waiting, 1);
    CHECK_EQ(pthread_cancel(thread), 0);
    pthread_join(thread, &result);
    CHECK(result == PTHREAD_CANCELED);
    CHECK_EQ(c.held_in_cleanup, 1);
    CHECK_EQ(pthread_mutex_trylock(&c.m.mutex), 0);
}
