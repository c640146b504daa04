/* What any project that uses concede may look like: inlines, slow paths, and an answer to check. */
#include <concede/concede.h>
#include <stdio.h>

int main(void)
{
    cc_parker_t parker = CC_PARKER_INIT;
    cc_event_t event = CC_EVENT_INIT;
    cc_lock_t lock = CC_LOCK_INIT;
    cc_backoff_t backoff = CC_SNOOZE_INIT;
    cc_channel_options_t options = { 4, sizeof(uint64_t), CC_CHANNEL_MPMC, CC_SNOOZE_ADAPTIVE };
    cc_channel_t *channel;
    uint64_t message = 42, received = 0;
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
    if (cc_channel_create(&channel, &options) != 0 || cc_channel_send(channel, &message) != 0) return 5;
    cc_channel_close(channel);
    if (cc_channel_recv(channel, &received) != 0 || received != message) return 6;
    if (cc_channel_recv(channel, &received) == 0) return 7;
    cc_channel_destroy(channel);
    if (cc_costs()->cpus < 1) return 3;
    printf("concede %s works\n", CC_VERSION_STRING);
    return 0;
}
