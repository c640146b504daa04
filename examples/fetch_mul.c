/* fetch_mul: an atomic operation that no CPU has, as a compare-and-swap loop that backs off.
 *
 * Two forms of the same loop. A fresh backoff costs nothing until the first lost race: use it where contention is rare.
 * A backoff that the thread keeps, and eases after each success that had to wait, remembers how hot the word is: use it
 * where threads hammer one word. */
#include <concede/atomic.h>
#include <concede/backoff.h>
#include <pthread.h>
#include <stdio.h>

static uint64_t fetch_mul(uint64_t *word, uint64_t factor)
{
    cc_backoff_t backoff = CC_BACKOFF_INIT;
    uint64_t old = cc_load_relaxed(word);
    while (!cc_cas_weak_relaxed(word, &old, old * factor)) {
        cc_backoff(&backoff);
        old = cc_load_relaxed(word); /* what the failed swap saw is stale after a wait */
    }
    return old;
}

static uint64_t fetch_mul_hot(uint64_t *word, uint64_t factor, cc_backoff_t *kept)
{
    uint64_t old = cc_load_relaxed(word);
    if (cc_cas_weak_relaxed(word, &old, old * factor)) return old;
    do {
        cc_backoff(kept);
        old = cc_load_relaxed(word);
    } while (!cc_cas_weak_relaxed(word, &old, old * factor));
    cc_backoff_ease(kept);
    return old;
}

enum { THREADS = 4, ROUNDS = 100000 };
static uint64_t fresh = 1, hot = 1;

static void *worker(void *unused)
{
    cc_backoff_t kept;
    cc_backoff_init_ns(&kept, 500, 2500 * cc_costs()->cpus); /* long from the start: see backoff.h */
    for (int i = 0; i < ROUNDS; i++) {
        fetch_mul(&fresh, 3);
        fetch_mul_hot(&hot, 3, &kept);
    }
    return unused;
}

int main(void)
{
    pthread_t threads[THREADS];
    uint64_t expected = 1;
    (void)cc_costs(); /* measures once, before there are threads that would all do it */
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, worker, NULL);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS * ROUNDS; i++) expected *= 3;
    printf("3^%d mod 2^64: %llu and %llu, expected %llu\n", THREADS * ROUNDS, (unsigned long long)fresh,
           (unsigned long long)hot, (unsigned long long)expected);
    return fresh == expected && hot == expected ? 0 : 1;
}
