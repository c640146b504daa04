/* Every atomic operation on every type, the pause, the fence and a backoff, for Windows. As C and as C++. */
#include <concede/arch.h>
#include <concede/atomic.h>
#include <concede/backoff.h>
#include <concede/compiler.h>
#include <concede/pause.h>
#include <concede/version.h>

#define EACH_INTEGER(DO) \
    DO(uint8_t, u8)      \
    DO(int8_t, i8)       \
    DO(uint16_t, u16)    \
    DO(int16_t, i16)     \
    DO(uint32_t, u32)    \
    DO(int32_t, i32) DO(uint64_t, u64) DO(int64_t, i64) DO(size_t, size) DO(unsigned long, ul) DO(long, l)

#define USE_INTEGER(type, name)                                                               \
    type use_##name(type *word, type value, type *expected);                                  \
    type use_##name(type *word, type value, type *expected)                                   \
    {                                                                                         \
        const type *same = word;                                                              \
        type sum = cc_load_relaxed(same);                                                     \
        cc_store_relaxed(word, value);                                                        \
        cc_store_release(word, sum);                                                          \
        if (cc_cas_acquire(word, expected, value)) return cc_exchange_acq_rel(word, value);   \
        while (!cc_cas_weak_release(word, expected, value)) {}                                \
        sum = cc_fetch_add_relaxed(word, value);                                              \
        if (sum == cc_fetch_sub_acquire(word, value)) sum = cc_fetch_or_release(word, value); \
        if (sum == cc_fetch_and_acq_rel(word, value)) sum = cc_load_acquire(word);            \
        return sum;                                                                           \
    }
EACH_INTEGER(USE_INTEGER)

char *use_pointer(char **word, char *value, char **expected);
char *use_pointer(char **word, char *value, char **expected)
{
    cc_store_release(word, value);
    if (cc_cas_acq_rel(word, expected, value)) return (char *)cc_exchange_acquire(word, value);
    return (char *)cc_load_acquire(word);
}

bool use_rest(bool *flag, uint32_t *rng);
bool use_rest(bool *flag, uint32_t *rng)
{
    cc_backoff_t backoff = CC_BACKOFF_INIT, snooze = CC_SNOOZE_INIT;
    cc_backoff_init_options(&backoff, NULL);
    while (!cc_load_acquire(flag)) {
        cc_pause();
        cc_backoff(&backoff);
        cc_backoff_jitter(&backoff, rng);
        cc_backoff_snooze(&snooze);
    }
    cc_backoff_ease(&backoff);
    cc_fence_full();
    return cc_exchange_relaxed(flag, cc_backoff_is_completed(&snooze));
}
