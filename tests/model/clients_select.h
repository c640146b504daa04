/* clients_select.h: threads that select on two channels, and a thread that polls a descriptor. Part of clients.c. */

static CC_ALIGNED_(CC_CACHE_LINE) unsigned char second_memory[sizeof(cc_channel_t) + 4 * 64];
static cc_channel_t *second; /* beside `channel` */

/* ---- a bell, on the checker's own words ---- */

static uint32_t bell;
static unsigned rings;
static char bell_made, bell_used; /* plain memory that stands for the descriptor itself, and for what is in it */

int cc_os_bell_create_(int ends[2])
{
    model_write(&bell_made, sizeof bell_made);
    ends[0] = ends[1] = 0;
    return 0;
}

void cc_os_bell_ring_(int write_end)
{
    model_read(&bell_made, sizeof bell_made);
    model_write(&bell_used, sizeof bell_used);
    model_check(cc_exchange_release(&bell, 1) == (uint32_t)write_end); /* 0: it is rung once before it is emptied */
    rings++;
    cc_os_wake_(&bell, 1);
}

void cc_os_bell_empty_(int read_end)
{
    model_write(&bell_used, sizeof bell_used);
    model_check(cc_exchange_relaxed(&bell, (uint32_t)read_end) == 1);
}

void cc_os_bell_close_(int read_end, int write_end)
{
    (void)read_end;
    (void)write_end;
}

static void poll_bell(void)
{
    while (!cc_load_acquire(&bell)) cc_os_wait_(&bell, 0, CC_FOREVER);
}

/* ---- two channels ---- */

static void select_setup_of_size(size_t size, uint32_t kind, size_t capacity)
{
    cc_channel_t *first;
    channel_setup_of_size(size, kind, capacity, CC_SNOOZE_NONE, 1);
    first = channel;
    cc_channel_options_t options = { capacity, size, kind, CC_SNOOZE_NONE };
    memset(second_memory, 0, sizeof second_memory);
    model_check(cc_channel_init(second_memory, sizeof second_memory, &options, &second) == 0);
    channel = first;
    model_statistic(&second->not_empty.sleepiness);
    model_statistic(&second->not_empty.woken_at);
    model_statistic(&second->not_empty.left_to_it);
    model_name(&second->not_empty.waiters, "second.not_empty.waiters");
    for (int i = 0; i < 2; i++) {
        model_name(&channel->doors[i].first, "door.first");
        model_name(&channel->doors[i].lock, "door.lock");
        model_name(&channel->doors[i].wakes_due, "door.wakes_due");
    }
    bell = 0;
    rings = 0;
}

static void select_setup_of(uint32_t kind, size_t capacity)
{
    select_setup_of_size(sizeof(uint32_t), kind, capacity);
}

/* Messages of 8 bytes have a path of their own. */
static void select_mpmc_8_setup(void)
{
    select_setup_of_size(8, CC_CHANNEL_MPMC, 1);
}

static void select_spsc_8_setup(void)
{
    select_setup_of_size(8, CC_CHANNEL_SPSC, 1);
}

static void select_mpmc_setup(void)
{
    select_setup_of(CC_CHANNEL_MPMC, 1);
}

static void select_spsc_setup(void)
{
    select_setup_of(CC_CHANNEL_SPSC, 1);
}

/* Receivers have slept before, so that whoever joins trusts the senders to fence. */
static void select_trusted_setup(void)
{
    select_mpmc_setup();
    channel->not_empty.waiters = second->not_empty.waiters = CC_EVENT_FENCED_ | CC_EVENT_TRUSTED_;
}

/* And they go on to fence, though they find nobody for a while. */
static void select_trusted_spsc_setup(void)
{
    select_spsc_setup();
    channel->not_empty.waiters = second->not_empty.waiters = CC_EVENT_FENCED_ | CC_EVENT_TRUSTED_;
    channel->not_empty.sleepiness = second->not_empty.sleepiness = 8;
}

/* Exactly once. In which order is not said: they came by two channels. */
static void note_selected(uint32_t message)
{
    uint32_t bit = UINT32_C(1) << message % 32;
    model_check(!(received[model_self()] & bit));
    received[model_self()] |= bit;
}

/* Receives from one or the other; EPIPE counts as an end of that one. How many are still open. */
static unsigned receive_by_select(cc_channel_t *one, cc_channel_t *other, uint64_t deadline)
{
    static uint32_t messages[MODEL_THREADS + 1][2][2]; /* 4 bytes or 8 of the last two */
    uint32_t(*mine)[2] = messages[model_self()];
    cc_select_case_t cases[] = { CC_SELECT_CASE_RECV(one, mine[0]), CC_SELECT_CASE_RECV(other, mine[1]) };
    size_t which = 2;
    int error = cc_select_until(cases, 2, CC_SELECT_IN_ORDER, &which, deadline);
    if (error != 0) {
        model_check(error == ETIMEDOUT && deadline != CC_FOREVER);
        return 0;
    }
    model_check(which < 2 && (cases[which].result == 0 || cases[which].result == EPIPE));
    if (cases[which].result == 0) note_selected(mine[which][0]);
    return cases[which].result == 0;
}

static void select_one(void)
{
    receive_by_select(channel, second, CC_FOREVER);
}

static void select_one_in_opposite_order(void)
{
    receive_by_select(second, channel, CC_FOREVER);
}

static void select_two(void)
{
    select_one();
    select_one();
}

static void select_timed(void)
{
    receive_by_select(channel, second, cc_deadline_in(1000));
}

/* The same channel in both cases. */
static void select_one_twice(void)
{
    receive_by_select(channel, channel, CC_FOREVER);
}

static bool send_to(cc_channel_t *to, uint32_t number)
{
    uint32_t message[2] = { message_of(model_self(), number), 0 }; /* 4 bytes or 8 of it */
    int error = cc_channel_send(to, message);
    model_check(error == 0 || error == EPIPE);
    if (error == 0) note_accepted(message[0]);
    return error == 0;
}

static void send_to_second(void)
{
    send_to(second, 0);
}

static void send_to_both(void)
{
    send_to(channel, 0);
    send_to(second, 1);
}

static void send_to_both_and_close_second(void)
{
    send_to_both();
    cc_channel_close(second);
}

static void receive_from_second(void)
{
    uint32_t message;
    int error = cc_channel_recv(second, &message);
    model_check(error == 0 || error == EPIPE);
    if (error == 0) note_received(message);
}

/* Receives until both are closed and drained. */
static void select_until_closed(void)
{
    cc_channel_t *open[2] = { channel, second };
    uint32_t message;
    while (open[0] || open[1]) {
        cc_select_case_t cases[] = { CC_SELECT_CASE_RECV(open[0], &message), CC_SELECT_CASE_RECV(open[1], &message) };
        size_t which = 2;
        model_check(cc_select(cases, 2, CC_SELECT_IN_ORDER, &which) == 0 && which < 2);
        if (cases[which].result == 0)
            note_selected(message);
        else
            open[which] = NULL;
    }
}

static void send_and_close_both(void)
{
    send_one();
    cc_channel_close(channel);
    cc_channel_close(second);
}

static void close_second(void)
{
    cc_channel_close(second);
}

/* Sends to whichever has room. */
static void select_to_send(void)
{
    uint32_t message = message_of(model_self(), 0);
    cc_select_case_t cases[] = { CC_SELECT_CASE_SEND(channel, &message), CC_SELECT_CASE_SEND(second, &message) };
    size_t which = 2;
    model_check(cc_select(cases, 2, CC_SELECT_IN_ORDER, &which) == 0 && which < 2);
    if (cases[which].result == 0) note_accepted(message);
}

static void select_to_send_two(void)
{
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t message = message_of(model_self(), i);
        cc_select_case_t cases[] = { CC_SELECT_CASE_SEND(channel, &message), CC_SELECT_CASE_SEND(channel, &message) };
        size_t which = 2;
        model_check(cc_select(cases, 2, CC_SELECT_IN_ORDER, &which) == 0 && cases[which].result == 0);
        note_accepted(message);
    }
}

/* Sends to the one or receives from the other: the first has nothing and the second has no room, until somebody else
 * comes. */
static void select_send_or_receive(void)
{
    uint32_t mine = message_of(model_self(), 0), theirs;
    cc_select_case_t cases[] = { CC_SELECT_CASE_RECV(channel, &theirs), CC_SELECT_CASE_SEND(second, &mine) };
    size_t which = 2;
    model_check(cc_select(cases, 2, CC_SELECT_IN_ORDER, &which) == 0 && cases[which].result == 0);
    if (which == 0)
        note_selected(theirs);
    else
        note_accepted(mine);
}

static void select_full_setup(void)
{
    select_mpmc_setup();
    uint32_t message = message_of(1, MESSAGES - 1); /* nobody else sends that */
    model_check(cc_channel_try_send(second, &message) == 0);
    accepted[MODEL_THREADS] |= UINT32_C(1) << message % 32;
}

static void select_nobody_is_left(void)
{
    const cc_channel_t *both[] = { channel, second };
    /* by a notifier that came between the two steps of an arm */
    uint32_t may_be_left = channel->doors[CC_RECEIVING_].descriptors[0] ? CC_EVENT_WATCHED_ : 0;
    for (int i = 0; i < 2; i++) {
        model_check(((both[i]->not_full.waiters | both[i]->not_empty.waiters) &
                     ~(CC_EVENT_FENCED_ | CC_EVENT_TRUSTED_ | CC_EVENT_AWAY_ | may_be_left)) == 0);
        for (int j = 0; j < 2; j++) {
            const cc_door_t *door = &both[i]->doors[j];
            model_check(!door->first && !door->last_joiner && door->wakes_due == 0);
            model_check(is_free_(door->lock.word));
        }
    }
}

/* What went in came out or is still there, once. */
static void select_is_left(void)
{
    uint32_t in, out;
    add_up(&in, &out);
    model_check(cc_channel_len(channel) + cc_channel_len(second) == (size_t)__builtin_popcount(in & ~out));
    select_nobody_is_left();
}

static void select_all_received(void)
{
    select_is_left();
    model_check(cc_channel_len(channel) + cc_channel_len(second) == 0);
}

/* ---- the descriptor ---- */

static void arm_spsc_setup(void)
{
    select_setup_of(CC_CHANNEL_SPSC, 2);
}

static void arm_mpmc_setup(void)
{
    select_setup_of(CC_CHANNEL_MPMC, 2);
}

static void arm_trusted_setup(void)
{
    arm_mpmc_setup();
    channel->not_empty.waiters = CC_EVENT_FENCED_ | CC_EVENT_TRUSTED_;
}

/* The first ring makes the notifiers fence, and the next arm trusts them. */
static void arm_fenced_setup(void)
{
    arm_spsc_setup();
    sleeps_until_fenced = 1;
}

static bool arm(void)
{
    int fd;
    model_check(cc_channel_fd(channel, CC_SELECT_RECV, &fd) == 0);
    return cc_channel_arm(channel, CC_SELECT_RECV);
}

/* Tries until there is nothing, arms, polls, until it is closed; it is rung as often as it was armed. */
static void loop_until_closed(void)
{
    unsigned armed = 0;
    for (;;) {
        uint32_t message;
        int error = cc_channel_try_recv(channel, &message);
        if (error == EPIPE) break;
        if (error == 0) {
            note_received(message);
        } else if (arm()) {
            armed++;
            poll_bell();
        } else {
            /* worth it: with one receiver it must be */
            error = cc_channel_try_recv(channel, &message);
            model_check(error != EAGAIN);
            if (error == EPIPE) break;
            note_received(message);
        }
    }
    model_check(rings == armed);
}

/* Arms again and again, and does not poll: it never learns of the ring but by the next arm. */
static void arm_and_try(void)
{
    for (int i = 0; i < 3; i++) {
        uint32_t message;
        (void)arm();
        if (cc_channel_try_recv(channel, &message) == 0) note_received(message);
    }
}

static void arm_is_left(void)
{
    channel->not_empty.waiters &= ~CC_EVENT_WATCHED_; /* it may still be armed */
    select_is_left();
}

/* Arms, and if that is armed, it rings, whatever others receive. */
static void loop_once(void)
{
    uint32_t message;
    if (arm()) poll_bell();
    if (cc_channel_try_recv(channel, &message) == 0) note_received(message);
}

static const model_client_t select_clients[] = {
    BOTH("select_spsc", .setup = select_spsc_setup, .threads = { select_two, send_to_both },
         .finish = select_all_received, BOUND(2)),
    BOTH("select_mpmc", .setup = select_mpmc_setup, .threads = { select_two, send_to_both },
         .finish = select_all_received, BOUND(2)),
    BOTH("select_8_spsc", .setup = select_spsc_8_setup, .threads = { select_two, send_two },
         .finish = select_all_received, BOUND(2)),
    BOTH("select_8_mpmc", .setup = select_mpmc_8_setup, .threads = { select_two, send_two },
         .finish = select_all_received, BOUND(2)),
    BOTH("select_8_both", .setup = select_mpmc_8_setup, .threads = { select_two, send_to_both },
         .finish = select_all_received, BOUND(2)),
    MEMBARRIER("select_8_two_senders", .setup = select_mpmc_8_setup, .threads = { select_two, send_one, send_one },
               .finish = select_all_received, BOUND(1)),
    MEMBARRIER("select_trusted", .setup = select_trusted_setup, .threads = { select_two, send_to_both },
               .finish = select_all_received, BOUND(2)),
    MEMBARRIER("select_trusted_spsc", .setup = select_trusted_spsc_setup, .threads = { select_one, send_to_second },
               .finish = select_all_received, BOUND(2)),
    BOTH("select_same_channel", .setup = select_mpmc_setup, .threads = { select_one_twice, send_one },
         .finish = select_all_received, BOUND(2)),
    THREE("select_two_senders", .setup = select_spsc_setup, .threads = { select_two, send_one, send_to_second },
          .finish = select_all_received),
    FOUR("select_opposite_orders", .setup = select_mpmc_setup,
         .threads = { select_one, select_one_in_opposite_order, send_to_both }, .finish = select_all_received),
    FOUR("select_beside_receiver", .setup = select_mpmc_setup,
         .threads = { select_one, receive_from_second, send_to_both_and_close_second }, .finish = select_is_left),
    FOUR("select_timeout", .setup = select_mpmc_setup, .threads = { select_timed, receive_single, send_one_and_close },
         .finish = select_is_left),
    THREE("select_close", .setup = select_spsc_setup, .threads = { select_until_closed, send_and_close_both },
          .finish = select_all_received),
    THREE("select_close_by_another", .setup = select_mpmc_setup,
          .threads = { select_until_closed, send_and_close_both, close_second }, .finish = select_all_received),
    THREE("select_sends", .setup = select_spsc_setup, .threads = { select_to_send_two, receive_two },
          .finish = select_all_received),
    FOUR("select_against_select", .setup = select_mpmc_setup, .threads = { select_to_send, select_to_send, select_two },
         .finish = select_all_received),
    FOUR("select_both_ways", .setup = select_full_setup,
         .threads = { select_send_or_receive, select_send_or_receive, receive_from_second, send_one },
         .finish = select_is_left),
    BOTH("select_armed_spsc", .setup = arm_spsc_setup, .threads = { loop_until_closed, send_two_and_close },
         .finish = select_all_received, BOUND(2)),
    BOTH("select_armed_mpmc", .setup = arm_mpmc_setup, .threads = { loop_until_closed, send_two_and_close },
         .finish = select_all_received, BOUND(2)),
    BOTH("select_armed_and_not_polled", .setup = arm_spsc_setup, .threads = { arm_and_try, send_two },
         .finish = arm_is_left, BOUND(2)),
    MEMBARRIER("select_armed_trusted", .setup = arm_trusted_setup, .threads = { loop_until_closed, send_two_and_close },
               .finish = select_all_received, BOUND(2)),
    MEMBARRIER("select_armed_fenced", .setup = arm_fenced_setup, .threads = { loop_until_closed, send_two_and_close },
               .finish = select_all_received, BOUND(2)),
    FOUR("select_armed_beside_receiver", .setup = arm_mpmc_setup,
         .threads = { loop_once, receive_single, send_two_and_close }, .finish = select_is_left),
};
