/* posix.c: src/os_posix.c on the model checker. It fulfils os.h with mutexes and condition variables; here those are a
 * few lines on the checker's own wait and wake, and what they carry is checked as any other client. */
#include "model.h"

#include <concede/atomic.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "os.h"

/* ---- mutex and condition variable ---- */

typedef struct mutex {
    uint32_t word; /* 0: free */
} mutex_t;

/* Its word is not on the sleeper's stack, where the next wait's would be at the same address. */
typedef struct condition {
    uint32_t *sequence;
} condition_t;

enum { WAITS = 8 };
static uint32_t sequences[MODEL_THREADS + 1][WAITS];
static unsigned waits[MODEL_THREADS + 1];

static void mutex_lock(mutex_t *mutex)
{
    uint32_t seen = 0;
    while (!cc_cas_acquire(&mutex->word, &seen, 1)) {
        cc_os_wait_(&mutex->word, seen, CC_FOREVER);
        seen = 0;
    }
}

static void mutex_unlock(mutex_t *mutex)
{
    cc_store_release(&mutex->word, 0);
    cc_os_wake_(&mutex->word, 1);
}

static void condition_init(condition_t *condition)
{
    int self = model_self();
    model_check(waits[self] < WAITS);
    condition->sequence = &sequences[self][waits[self]++];
}

static void condition_destroy(condition_t *condition)
{
    condition->sequence = NULL;
}

static int condition_wait(condition_t *condition, mutex_t *mutex, const struct timespec *until)
{
    uint64_t deadline = until ? (uint64_t)until->tv_sec * 1000000000 + (uint64_t)until->tv_nsec : CC_FOREVER;
    uint32_t *word = condition->sequence, seen = cc_load_relaxed(word);
    mutex_unlock(mutex);
    int result = cc_os_wait_(word, seen, deadline);
    mutex_lock(mutex);
    return result == ETIMEDOUT ? ETIMEDOUT : 0;
}

/* One that its sleeper has destroyed, and whose stack may be used for something else by now, must not be signalled. */
static void condition_signal(condition_t *condition)
{
    uint32_t *word = condition->sequence;
    model_check(word >= sequences[0] && word < sequences[0] + sizeof sequences / sizeof **sequences);
    cc_fetch_add_relaxed(word, 1);
    cc_os_wake_(word, 1);
}

/* ---- the source, on these and under names of its own ---- */

static int posix_wait_(const uint32_t *word, uint32_t expected, uint64_t deadline);
static void posix_wake_(const uint32_t *word, uint32_t count);
void posix_yield_(void);
uint64_t posix_now_(void);
bool posix_register_(void), posix_membarrier_(void), posix_has_sb_(void);
uint32_t posix_cpus_(void), posix_quota_(void);
const char *posix_environment_(const char *name);

#define pthread_mutex_t                   mutex_t
#define pthread_cond_t                    condition_t
#define pthread_mutex_init(m, attributes) ((m)->word = 0)
#define pthread_mutex_lock(m)             mutex_lock(m)
#define pthread_mutex_unlock(m)           mutex_unlock(m)
#define pthread_cond_init(c, attributes)  ((void)(attributes), condition_init(c))
#define pthread_cond_destroy(c)           condition_destroy(c)
#define pthread_cond_wait(c, m)           condition_wait(c, m, NULL)
#define pthread_cond_timedwait(c, m, t)   condition_wait(c, m, t)
#define pthread_cond_signal(c)            condition_signal(c)
#define pthread_once(o, function)         ((void)(o))
#define pthread_atfork(a, b, c)           ((void)(c))
#define pthread_setcancelstate(s, old)    ((void)(old))
#define cc_os_wait_                       posix_wait_
#define cc_os_wake_                       posix_wake_
#define cc_os_yield_                      posix_yield_
#define cc_os_now_                        posix_now_
#define cc_os_membarrier_register_        posix_register_
#define cc_os_membarrier_                 posix_membarrier_
#define cc_os_cpus_                       posix_cpus_
#define cc_os_quota_                      posix_quota_
#define cc_os_environment_                posix_environment_
#define cc_os_cpu_                        posix_cpu_
#define cc_os_cpu_time_                   posix_cpu_time_
#define cc_os_has_sb_                     posix_has_sb_
#define cc_os_sequence_area_              posix_sequence_area_
#define cc_os_sequence_barrier_           posix_sequence_barrier_
#define cc_os_bell_create_                posix_bell_create_
#define cc_os_bell_ring_                  posix_bell_ring_
#define cc_os_bell_empty_                 posix_bell_empty_
#define cc_os_bell_close_                 posix_bell_close_
#define CC_OS_HAS_SEGMENTS_
#define CC_OS_HAS_WAIT_SEVERAL_
#include "../../src/os_posix.c"

/* ---- the clients ---- */

static uint32_t words[1024], *flag, *other;

static size_t bucket_of(const uint32_t *word)
{
    bucket_t *b = lock_bucket_(word);
    pthread_mutex_unlock(&b->mutex);
    return (size_t)(b - buckets_);
}

/* Two words that share a bucket. */
static void setup(void)
{
    set_up_();
    memset(words, 0, sizeof words);
    memset(sequences, 0, sizeof sequences);
    memset(waits, 0, sizeof waits);
    flag = words;
    for (other = words + 1; bucket_of(other) != bucket_of(flag); other++) {}
    model_name(flag, "flag");
    model_name(other, "other");
    model_name(&buckets_[bucket_of(flag)].mutex.word, "mutex");
}

static void nobody_queues(void)
{
    model_check(buckets_[bucket_of(flag)].first == NULL);
}

static void wait_for(const uint32_t *word)
{
    while (cc_load_relaxed(word) == 0) {
        int result = posix_wait_(word, 0, CC_FOREVER);
        model_check(result == 0 || result == EAGAIN);
    }
}

static void sleeper_on_flag(void)
{
    wait_for(flag);
}
static void sleeper_on_other(void)
{
    wait_for(other);
}

static void set(uint32_t *word, uint32_t count)
{
    cc_store_relaxed(word, 1);
    posix_wake_(word, count);
}

static void setter_of_one(void)
{
    set(flag, 1);
}
static void setter_of_all(void)
{
    set(flag, CC_OS_ALL_);
}

static void setter_of_both(void)
{
    set(flag, 1);
    set(other, 1);
}

/* Items with a wake of one each: a wake that two share, or that goes to one who leaves, leaves an item and a
 * sleeper. */
static bool take(void)
{
    uint32_t seen = cc_load_relaxed(flag);
    while (seen != 0)
        if (cc_cas_relaxed(flag, &seen, seen - 1)) return true;
    return false;
}

static void give(void)
{
    cc_fetch_add_relaxed(flag, 1);
    posix_wake_(flag, 1);
}

static void give_two(void)
{
    give();
    give();
}

static void taker(void)
{
    while (!take()) posix_wait_(flag, 0, CC_FOREVER);
}

/* Whoever is told of a wake passes it on; whoever is told of the deadline was not woken. */
static void timed_taker(void)
{
    if (posix_wait_(flag, 0, 2000000000) != ETIMEDOUT) give();
}

/* The sleeper frees the word as soon as it has changed: the wake has its address only. */
static void freeing_sleeper(void)
{
    wait_for(flag);
    model_freed(flag, sizeof *flag);
}

#define BOUND(preemptions) .bound = preemptions, .full_bound = preemptions + 1, .old_reads = 1, .full_old_reads = 2

static const model_client_t clients[] = {
    { .name = "posix",
      .setup = setup,
      .threads = { sleeper_on_flag, setter_of_one },
      .finish = nobody_queues,
      .bound = MODEL_UNBOUNDED,
      .spurious = 1 },
    { .name = "posix_wake_all",
      .setup = setup,
      .threads = { sleeper_on_flag, sleeper_on_flag, setter_of_all },
      .finish = nobody_queues,
      BOUND(2) },
    { .name = "posix_wake_one_each",
      .setup = setup,
      .threads = { taker, taker, give_two },
      .finish = nobody_queues,
      BOUND(2) },
    { .name = "posix_one_bucket",
      .setup = setup,
      .threads = { sleeper_on_flag, sleeper_on_other, setter_of_both },
      .finish = nobody_queues,
      BOUND(2) },
    { .name = "posix_timeout_crosses_wake",
      .setup = setup,
      .threads = { timed_taker, taker, give },
      .finish = nobody_queues,
      BOUND(2) },
    { .name = "posix_word_freed",
      .setup = setup,
      .threads = { freeing_sleeper, setter_of_one },
      .finish = nobody_queues,
      .bound = MODEL_UNBOUNDED },
};

int main(int argc, char **argv)
{
    return model_main(argc, argv, clients, sizeof clients / sizeof *clients);
}
