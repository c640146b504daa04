/* What any project that uses concede may look like: inlines, slow paths, and an answer to check. */
#include <concede/concede.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    cc_parker_t parker = CC_PARKER_INIT;
    cc_event_t event = CC_EVENT_INIT;
    cc_lock_t lock = CC_LOCK_INIT;
    cc_backoff_t backoff = CC_SNOOZE_INIT;
    uint32_t word = 0;

    while (!cc_backoff_is_completed(&backoff)) cc_backoff_snooze(&backoff);
    if (cc_parker_park_timeout(&parker, 1000)) return 1;
    cc_parker_unpark(&parker);
    cc_parker_park(&parker);
    cc_store_release(&word, 1);
    cc_event_notify_all(&event);
    CC_EVENT_AWAIT(&event, cc_load_acquire(&word) == 1);
    if (CC_EVENT_AWAIT_UNTIL(&event, cc_load_acquire(&word) == 2, cc_deadline_in(1000))) return 2;
    cc_lock_acquire(&lock);
    if (cc_lock_acquire_timeout(&lock, 1000)) return 4;
    cc_lock_release(&lock);
    if (cc_costs()->cpus < 1) return 3;
    printf("concede %s works\n", CC_VERSION_STRING);
    return 0;
}
