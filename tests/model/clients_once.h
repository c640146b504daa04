/* clients_once.h: clients that wait once and then leave, whatever they found. A loop would look again, and so hide a wake-up
 * that was used up by a thread which could not see why it was woken. Part of clients.c. */

/* Leaves after one wait. If it took the item it puts it back, for the one who does not leave without. */
static void event_once_taker(void)
{
    uint32_t key = cc_event_listen(&event);
    bool taken = take_item();
    if (taken) {
        cc_event_cancel(&event);
    } else {
        cc_event_wait(&event, key);
        taken = take_item();
    }
    if (taken) event_giver();
}

/* Leaves only with the item, and puts it back for whoever may still wait. */
static void event_taker_and_giver(void)
{
    event_taker();
    event_giver();
}

static void event_one_left(void)
{
    model_check(items == 1);
    event_nobody_listens();
}

#define ONCE_BOUND(preemptions) .bound = preemptions, .full_bound = preemptions + 1
#define ONCE_CLIENTS                                                                                             \
    MEMBARRIER("event_once", .setup = event_setup,                                                               \
               .threads = { event_once_taker, event_taker_and_giver, event_giver }, .finish = event_one_left,    \
               ONCE_BOUND(1)),                                                                                   \
        SYMMETRIC("event_once", .setup = event_setup,                                                            \
                  .threads = { event_once_taker, event_taker_and_giver, event_giver }, .finish = event_one_left, \
                  ONCE_BOUND(1))
