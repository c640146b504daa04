/* One CAS loop with and without backoff, to compare what a success at the first try executes. */
#include <concede/concede.h>

uint64_t without_backoff(uint64_t *word, uint64_t by);
uint64_t without_backoff(uint64_t *word, uint64_t by)
{
    uint64_t old = cc_load_relaxed(word);
    while (!cc_cas_weak_relaxed(word, &old, old * by)) {}
    return old;
}

uint64_t with_backoff(uint64_t *word, uint64_t by);
uint64_t with_backoff(uint64_t *word, uint64_t by)
{
    cc_backoff_t backoff = CC_BACKOFF_INIT;
    uint64_t old = cc_load_relaxed(word);
    while (!cc_cas_weak_relaxed(word, &old, old * by)) cc_backoff(&backoff);
    return old;
}
