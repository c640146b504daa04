/* clients_once.h: clients that wait once and then leave, whatever they found. A loop would look again, and so hide a
 * wake-up that was used up by a thread which could not see why it was woken. Some run on a system that loses wake-ups:
 * it reports a signal or the deadline to a thread that it has woken. Part of clients.c. */

/* ---- the parker ---- */

/* Either it has the token, or the token is there for the next one. */
static void parker_once_owner(void)
{
    if (!cc_parker_park_timeout(&parkers[0], 1000)) return;
    check_data(0, 1);
    flags[0] = 1;
}

static void parker_has_token_or_gave_it(void)
{
    model_check((parkers[0].state == CC_PARKER_TOKEN_) == (flags[0] == 0));
}

/* ---- the event ---- */

/* Leaves after one wait. If it took the item it puts it back, for the one who does not leave without. */
static void event_once_taker_until(uint64_t deadline)
{
    uint32_t key = cc_event_listen(&event);
    bool taken = take_item();
    if (taken) {
        cc_event_cancel(&event);
    } else {
        (void)!cc_event_wait_until(&event, key, deadline);
        taken = take_item();
    }
    if (taken) event_giver();
}

static void event_once_taker(void)
{
    event_once_taker_until(CC_FOREVER);
}

static void event_once_timed_taker(void)
{
    event_once_taker_until(cc_deadline_in(1000));
}

/* Does not even wait: it listens, looks, and gives up. */
static void event_once_canceller(void)
{
    (void)!cc_event_listen(&event);
    bool taken = take_item();
    cc_event_cancel(&event);
    if (taken) event_giver();
}

/* Leaves only with the item, and puts it back for whoever may still wait. */
static void event_taker_and_giver(void)
{
    event_taker();
    event_giver();
}

/* Takes the item if it is there just now: whoever looks in between finds nothing, and sleeps. */
static void event_borrower(void)
{
    if (take_item()) event_giver();
}

static void event_one_left(void)
{
    model_check(items == 1);
    event_nobody_listens();
}

/* ---- the channel ---- */

/* Sends once, for a while; receives once, for a while. */
static void send_two_timed(void)
{
    send_timed();
    uint32_t message = message_of(model_self(), 1);
    int error = cc_channel_send_timeout(channel, &message, 1000);
    model_check(error == 0 || error == ETIMEDOUT);
    if (error == 0) note_accepted(message);
}

#define ONCE(preemptions) .bound = preemptions, .full_bound = preemptions + 1

static const model_client_t once_clients[] = {
    { .name = "parker_once",
      .setup = parker_setup,
      .threads = { parker_once_owner, parker_giver },
      .finish = parker_has_token_or_gave_it,
      ALL_ORDERS,
      .spurious = 1,
      .clock_jumps = 1 },
    { .name = "parker_once_lossy",
      .setup = parker_setup,
      .threads = { parker_once_owner, parker_giver },
      .finish = parker_has_token_or_gave_it,
      ALL_ORDERS,
      .losses = 1 },
    { .name = "parker_lossy",
      .setup = parker_setup,
      .threads = { parker_flag_owner, parker_flag_giver, parker_flag_giver },
      BOUND(3),
      .losses = 2 },

    BOTH("event_once", .setup = event_setup, .threads = { event_once_taker, event_taker_and_giver, event_giver },
         .finish = event_one_left, ONCE(1)),
    BOTH("event_once_timeout", .setup = event_setup,
         .threads = { event_once_timed_taker, event_taker_and_giver, event_giver }, .finish = event_one_left, ONCE(1)),
    BOTH("event_once_cancel", .setup = event_setup,
         .threads = { event_once_canceller, event_taker_and_giver, event_giver }, .finish = event_one_left, ONCE(1)),
    BOTH("event_once_lossy", .setup = event_setup,
         .threads = { event_once_timed_taker, event_taker_and_giver, event_giver }, .finish = event_one_left, ONCE(1),
         .losses = 2),
    SYMMETRIC("event_lossy", .setup = event_setup,
              .threads = { event_taker_and_giver, event_taker_and_giver, event_borrower, event_giver },
              .finish = event_one_left, BOUND(2), .losses = 1),

    { .name = "lock_lossy",
      .setup = lock_setup,
      .threads = { lock_user, lock_user, lock_timed_user },
      .finish = lock_is_free,
      BOUND(3),
      .losses = 2 },
    { .name = "lock_lossy_handover",
      .setup = lock_setup,
      .threads = { lock_user_twice, lock_timed_user, lock_user },
      .finish = lock_is_free,
      BOUND(2),
      .losses = 1,
      .clock_jumps = 1 },

    BOTH("spsc_once", .setup = spsc_one_setup, .threads = { send_two_timed, receive_timed },
         .finish = channel_some_received, BOUND(3)),
    BOTH("spsc_lossy", .setup = spsc_one_setup, .threads = { send_two_timed_and_close, receive_timed_then_all },
         .finish = channel_all_received, BOUND(2), .losses = 2),
    BOTH("mpmc_once_sender", .setup = mpmc_one_setup, .threads = { send_timed, send_two_and_close, receive_all },
         .finish = channel_all_received, BOUND(1)),
    FOUR("mpmc_lossy", .setup = mpmc_one_setup, .threads = { receive_timed, receive_all, send_one_and_close },
         .finish = channel_all_received, .losses = 2),
    FOUR("mpmc_lossy_senders", .setup = mpmc_one_setup, .threads = { send_timed, send_two_and_close, receive_all },
         .finish = channel_all_received, .losses = 2),
};
