/* All that there is without an OS: linked with nothing, so any reference to one fails the build. */
#include "../../examples/backoff_lock.h"
#include <concede/arch.h>
#include <concede/atomic.h>
#include <concede/backoff.h>
#include <concede/pause.h>
#include <concede/version.h>

static uint32_t word;
static backoff_lock lock;

void start(void);
void start(void)
{
    cc_backoff_t backoff = CC_BACKOFF_INIT, snooze = CC_SNOOZE_INIT;
    cc_backoff_options_t options = CC_BACKOFF_OPTIONS_INIT;
    uint32_t rng = 1, old = cc_load_relaxed(&word);
    cc_backoff_init(&backoff, 1, 16);
    cc_backoff_init_options(&backoff, &options);
    cc_backoff_init_ns(&backoff, 10, 1000);
    while (!cc_cas_weak_acquire(&word, &old, old + 1)) {
        cc_backoff(&backoff);
        cc_backoff_spin(&backoff);
        cc_backoff_jitter(&backoff, &rng);
    }
    cc_backoff_ease(&backoff);
    while (!cc_load_acquire(&word) && !cc_backoff_is_completed(&snooze)) cc_backoff_snooze(&snooze);
    backoff_lock_acquire(&lock, &rng);
    backoff_lock_release(&lock);
    cc_fence_full();
    cc_store_release(&word, cc_backoff_step(&snooze));
    cc_backoff_reset(&snooze);
    for (;;) cc_pause();
}
