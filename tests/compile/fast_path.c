/* The CAS loops of an example, and the same loop without backoff, to compare what a success at the first try
 * executes. */
#define main example_main
#include "../../examples/fetch_mul.c"
#undef main

uint64_t without_backoff(uint64_t *word, uint64_t factor);
uint64_t without_backoff(uint64_t *word, uint64_t factor)
{
    uint64_t old = cc_load_relaxed(word);
    while (!cc_cas_weak_relaxed(word, &old, old * factor)) {}
    return old;
}

uint64_t with_fresh_backoff(uint64_t *word, uint64_t factor);
uint64_t with_fresh_backoff(uint64_t *word, uint64_t factor)
{
    return fetch_mul(word, factor);
}

uint64_t with_kept_backoff(uint64_t *word, uint64_t factor, cc_backoff_t *kept);
uint64_t with_kept_backoff(uint64_t *word, uint64_t factor, cc_backoff_t *kept)
{
    return fetch_mul_hot(word, factor, kept);
}
