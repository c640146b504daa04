/* The binary interface: sizes and offsets that a program compiled today relies on. Compiled as C and as C++. */
#include <concede/concede.h>

CC_STATIC_ASSERT_(CC_VERSION_MAJOR * 10000 + CC_VERSION_MINOR * 100 + CC_VERSION_PATCH > 0, "version");

/* Alignments: what a char in front of one moves it by. */
#define ALIGNED(type, bytes)  \
    struct type##_alignment { \
        char before;          \
        type it;              \
    };                        \
    CC_STATIC_ASSERT_(offsetof(struct type##_alignment, it) == (bytes), "alignment of " #type)
ALIGNED(cc_backoff_t, 4);
ALIGNED(cc_backoff_options_t, 4);
ALIGNED(cc_costs_t, 4);
ALIGNED(cc_parker_t, 4);
ALIGNED(cc_lock_t, 4);
ALIGNED(cc_event_t, 4);
ALIGNED(cc_channel_options_t, sizeof(size_t));
ALIGNED(cc_select_case_t, sizeof(void *));

CC_STATIC_ASSERT_(sizeof(cc_backoff_t) == 20, "backoff");
CC_STATIC_ASSERT_(offsetof(cc_backoff_t, current) == 0, "backoff");
CC_STATIC_ASSERT_(offsetof(cc_backoff_t, min) == 4, "backoff");
CC_STATIC_ASSERT_(offsetof(cc_backoff_t, max) == 8, "backoff");
CC_STATIC_ASSERT_(offsetof(cc_backoff_t, yields) == 12, "backoff");
CC_STATIC_ASSERT_(offsetof(cc_backoff_t, max_yields) == 16, "backoff");
CC_STATIC_ASSERT_(sizeof(cc_backoff_options_t) == 8, "backoff options");
CC_STATIC_ASSERT_(offsetof(cc_backoff_options_t, spin_limit) == 0, "backoff options");
CC_STATIC_ASSERT_(offsetof(cc_backoff_options_t, yield_limit) == 4, "backoff options");

CC_STATIC_ASSERT_(sizeof(cc_costs_t) == 16, "costs");
CC_STATIC_ASSERT_(offsetof(cc_costs_t, pause_ps) == 0, "costs");
CC_STATIC_ASSERT_(offsetof(cc_costs_t, yield_ns) == 4, "costs");
CC_STATIC_ASSERT_(offsetof(cc_costs_t, wake_ns) == 8, "costs");
CC_STATIC_ASSERT_(offsetof(cc_costs_t, cpus) == 12, "costs");

CC_STATIC_ASSERT_(sizeof(cc_counted_t) == 56, "counted");
CC_STATIC_ASSERT_(offsetof(cc_counted_t, waits) == 0, "counted");
CC_STATIC_ASSERT_(offsetof(cc_counted_t, spun) == 8, "counted");
CC_STATIC_ASSERT_(offsetof(cc_counted_t, yielded) == 16, "counted");
CC_STATIC_ASSERT_(offsetof(cc_counted_t, slept) == 24, "counted");
CC_STATIC_ASSERT_(offsetof(cc_counted_t, wakes) == 32, "counted");
CC_STATIC_ASSERT_(offsetof(cc_counted_t, wakes_in_vain) == 40, "counted");
CC_STATIC_ASSERT_(offsetof(cc_counted_t, slept_ns) == 48, "counted");
CC_STATIC_ASSERT_(sizeof(cc_counters_t) == 168, "counters");
CC_STATIC_ASSERT_(offsetof(cc_counters_t, lock) == 0, "counters");
CC_STATIC_ASSERT_(offsetof(cc_counters_t, event) == 56, "counters");
CC_STATIC_ASSERT_(offsetof(cc_counters_t, channel) == 112, "counters");

CC_STATIC_ASSERT_(sizeof(cc_parker_t) == 4, "parker");
CC_STATIC_ASSERT_(sizeof(cc_lock_t) == 4, "lock");
CC_STATIC_ASSERT_(sizeof(cc_event_t) == 28, "event");
CC_STATIC_ASSERT_(offsetof(cc_event_t, epoch) == 0, "event");
CC_STATIC_ASSERT_(offsetof(cc_event_t, waiters) == 4, "event");
CC_STATIC_ASSERT_(offsetof(cc_event_t, woken_at) == 8, "event");
CC_STATIC_ASSERT_(offsetof(cc_event_t, sleepiness) == 12, "event");
CC_STATIC_ASSERT_(offsetof(cc_event_t, snooze) == 16, "event");

CC_STATIC_ASSERT_(sizeof(cc_channel_options_t) == 2 * sizeof(size_t) + 8, "channel options");
CC_STATIC_ASSERT_(offsetof(cc_channel_options_t, capacity) == 0, "channel options");
CC_STATIC_ASSERT_(offsetof(cc_channel_options_t, message_size) == sizeof(size_t), "channel options");
CC_STATIC_ASSERT_(offsetof(cc_channel_options_t, kind) == 2 * sizeof(size_t), "channel options");
CC_STATIC_ASSERT_(offsetof(cc_channel_options_t, snooze_iters) == 2 * sizeof(size_t) + 4, "channel options");
CC_STATIC_ASSERT_(offsetof(cc_channel_t, doors) == 5 * CC_CACHE_LINE, "channel");
CC_STATIC_ASSERT_(sizeof(cc_door_t) == 2 * sizeof(void *) + 20 + (sizeof(void *) == 8 ? 4 : 0), "door");
CC_STATIC_ASSERT_(sizeof(cc_select_case_t) == 5 * sizeof(void *) + 8, "select case");
CC_STATIC_ASSERT_(offsetof(cc_select_case_t, channel) == 0, "select case");
CC_STATIC_ASSERT_(offsetof(cc_select_case_t, message) == sizeof(void *), "select case");
CC_STATIC_ASSERT_(offsetof(cc_select_case_t, operation) == 2 * sizeof(void *), "select case");
CC_STATIC_ASSERT_(offsetof(cc_select_case_t, result) == 2 * sizeof(void *) + 4, "select case");

/* Every initialiser is positional and constant, and works in a function and outside of one. */
extern cc_backoff_t backoff, snooze;
extern cc_parker_t parker;
extern cc_event_t event;
extern cc_lock_t lock;
cc_backoff_t backoff = CC_BACKOFF_INIT, snooze = CC_SNOOZE_INIT;
cc_parker_t parker = CC_PARKER_INIT;
cc_event_t event = CC_EVENT_INIT;
cc_lock_t lock = CC_LOCK_INIT;

/* A type may be a pointer, also one to const. */
CC_CHANNEL_TYPED(pointers, double *)
CC_CHANNEL_TYPED(texts, const char *)

size_t use_typed(cc_channel_t *channel, double **some, const char *const *fixed, const char **texts);
size_t use_typed(cc_channel_t *channel, double **some, const char *const *fixed, const char **texts)
{
    double *const same[] = { *some };
    return pointers_send_many(channel, some, 1) + pointers_send_many(channel, same, 1) +
           pointers_recv_many(channel, some, 2) + texts_send_many(channel, fixed, 1) +
           texts_send_many(channel, texts, 1) + texts_recv_many(channel, texts, 2);
}

bool use(uint32_t *word);
bool use(uint32_t *word)
{
    cc_backoff_options_t options = CC_BACKOFF_OPTIONS_INIT;
    cc_backoff_init_options(&backoff, &options);
    CC_EVENT_AWAIT(&event, cc_load_acquire(word) != 0);
    if (CC_EVENT_AWAIT_UNTIL(&event, CC_EVENT_AWAIT_UNTIL(&event, cc_load_acquire(word) == 2, 1), 2))
        return true; /* nested */
    return CC_EVENT_AWAIT_UNTIL(&event, cc_load_acquire(word) != 0, CC_FOREVER);
}
