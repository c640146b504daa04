/* worlds.h: clients for --walk, with up to nine threads that do whatever the headers allow, drawn anew in each
 * execution. Part of clients.c. */

enum { ROUNDS = 3, WORLD_SENDERS = 4, WORLD_MESSAGES = 6, BURST = 3 };

static struct {
    unsigned threads;  /* that do something; the others end at once */
    unsigned rounds;   /* of each of them */
    unsigned ways[3];  /* the ways of doing things that this execution draws from: few of them meet more often */
    uint32_t expected; /* counted without the checker's knowledge: what must be there in the end */
    /* channels */
    unsigned senders, receivers, sending; /* sending: senders that have not finished */
    bool one_to_one;                      /* SPSC */
    size_t size;                          /* of a message */
    bool closed_early;                    /* by a thread that neither sends nor receives */
    uint32_t data[MODEL_THREADS + 1], flags[MODEL_THREADS + 1];
} world;

static bool has_no_part(void)
{
    return (unsigned)model_self() > world.threads;
}

static void world_setup(unsigned threads)
{
    memset(&world, 0, sizeof world);
    world.threads = threads;
    world.rounds = 1 + model_choose(ROUNDS);
    for (int i = 0; i < 3; i++) world.ways[i] = model_choose(420);
}

static unsigned way_of(unsigned count)
{
    return world.ways[model_choose(3)] % count;
}

static uint32_t some_cpus(void)
{
    return 1 + model_choose(2);
}

/* ---- the parker: one owner, the others give ---- */

static void parker_world_setup(void)
{
    parker_setup();
    world_setup(3 + model_choose(7));
}

static void parker_world_owner(void)
{
    for (unsigned t = 2; t <= world.threads; t++) {
        while (!cc_load_acquire(&world.flags[t])) {
            if (model_choose(2))
                cc_parker_park(&parkers[0]);
            else
                (void)!cc_parker_park_timeout(&parkers[0], 1000);
        }
        model_read(&world.data[t], sizeof world.data[t]);
        model_check(world.data[t] == 1);
    }
}

static void parker_world_thread(void)
{
    int me = model_self();
    if (me == 1) {
        parker_world_owner();
    } else if (!has_no_part()) {
        for (unsigned i = model_choose(2); i > 0; i--) cc_parker_unpark(&parkers[0]); /* for nothing */
        model_write(&world.data[me], sizeof world.data[me]);
        world.data[me] = 1;
        cc_store_release(&world.flags[me], 1);
        cc_parker_unpark(&parkers[0]);
    }
}

/* ---- the event: threads take items and put them back ---- */

static void event_world_setup(void)
{
    event_setup_on(some_cpus());
    world_setup(3 + model_choose(7));
    sleeps_until_fenced = (const uint32_t[]){ 1, 2, UINT32_MAX }[model_choose(3)];
    if (model_choose(4) == 0) cc_fence_mode_ = CC_FENCE_UNKNOWN_;
    event.epoch = UINT32_MAX - model_choose(3); /* it wraps around */
}

static void world_give(void)
{
    cc_fetch_add_release(&items, 1);
    if (model_choose(4))
        cc_event_notify_one(&event);
    else
        cc_event_notify_all(&event);
}

static void event_world_thread(void)
{
    if (has_no_part()) return;
    if (model_self() <= 1 + (int)(world.ways[0] % 2)) { /* one or two bring an item; the others cannot wait in vain */
        world.expected++;
        world_give();
    }
    for (unsigned i = 0; i < world.rounds; i++) {
        switch (way_of(7)) {
        case 0: event_once_taker(); break;
        case 1: event_once_timed_taker(); break;
        case 2: event_once_canceller(); break;
        case 3: event_borrower(); break;
        case 4:
            if (CC_EVENT_AWAIT_UNTIL(&event, take_item(), cc_deadline_in(1000))) world_give();
            break;
        default: CC_EVENT_AWAIT(&event, take_item()); world_give();
        }
    }
}

static void event_world_is_left(void)
{
    model_check(items == world.expected);
    event_nobody_listens();
}

/* ---- the lock ---- */

static void lock_world_setup(void)
{
    lock_setup_on(some_cpus());
    world_setup(3 + model_choose(7));
    wakes_until_it_insists = (const uint32_t[]){ 0, 1, UINT32_MAX }[model_choose(3)];
}

static bool lock_world_acquire(void)
{
    switch (way_of(6)) {
    case 0: return cc_lock_try_acquire(&lock);
    case 1:
    case 2: return cc_lock_acquire_timeout(&lock, 1000);
    case 3: cc_lock_acquire_spin(&lock); return true;
    default: cc_lock_acquire(&lock); return true;
    }
}

static void lock_world_thread(void)
{
    if (has_no_part()) return;
    for (unsigned i = 0; i < world.rounds; i++) {
        if (!lock_world_acquire()) continue;
        write_data(0);
        world.expected++;
        cc_lock_release(&lock);
    }
}

static void lock_world_is_left(void)
{
    model_check(data[0] == world.expected);
    lock_is_free();
}

static void lock_freed_world_setup(void)
{
    lock_world_setup();
    data[1] = world.threads;
}

static void lock_freed_world_thread(void)
{
    if (!has_no_part()) lock_freeing_user();
}

/* ---- the channel ---- */

static void channel_world_setup(uint32_t kind)
{
    size_t capacity = (size_t)1 << model_choose(3), size = model_choose(2) ? 4 : 8;
    uint32_t snooze_iters = (const uint32_t[]){ CC_SNOOZE_NONE, 1, CC_SNOOZE_ADAPTIVE }[model_choose(3)];
    channel_setup_of_size(size, kind, capacity, snooze_iters, some_cpus());
    world_setup(0);
    world.one_to_one = kind == CC_CHANNEL_SPSC;
    world.size = size;
    world.senders = kind == CC_CHANNEL_SPSC ? 1 : 1 + model_choose(WORLD_SENDERS);
    world.receivers = kind == CC_CHANNEL_SPSC ? 1 : 1 + model_choose(4);
    world.sending = world.senders;
    world.closed_early = model_choose(2);
    world.threads = world.senders + world.receivers + 1; /* and one that looks on, and may close */
    sleeps_until_fenced = (const uint32_t[]){ 1, 2, UINT32_MAX }[model_choose(3)];
}

static void spsc_world_setup(void)
{
    channel_world_setup(CC_CHANNEL_SPSC);
}

static void mpmc_world_setup(void)
{
    channel_world_setup(CC_CHANNEL_MPMC);
}

/* Sends messages number `from` to `to` of a sender in one of the ways there are; how many, or all if it is over. */
static uint32_t world_send(uint32_t sender, uint32_t from, uint32_t to)
{
    unsigned char messages[BURST * 8] = { 0 };
    uint32_t n = to - from < BURST ? to - from : BURST;
    uint32_t ids[BURST];
    int error = 0;
    for (uint32_t i = 0; i < n; i++) {
        ids[i] = message_of((int)sender, from + i);
        memcpy(messages + i * world.size, &ids[i], sizeof ids[i]);
    }
    switch (way_of(5)) {
    case 0:
        n = (uint32_t)cc_channel_send_many(channel, messages, n);
        for (uint32_t i = 0; i < n; i++) note_accepted(ids[i]);
        if (n == 0) cc_os_yield_();
        return n == 0 && cc_channel_is_closed(channel) ? to - from : n;
    case 1: error = cc_channel_try_send(channel, messages); break;
    case 2: error = cc_channel_send_timeout(channel, messages, 1000); break;
    case 3: /* in place, where nobody else closes: commit does not tell whether that was too late */
        if (world.one_to_one && !world.closed_early) {
            uint32_t *slot = cc_channel_reserve(channel);
            if (!slot) {
                cc_os_yield_();
                return 0;
            }
            model_write(slot, world.size);
            memcpy(slot, messages, world.size);
            note_accepted(ids[0]);
            cc_channel_commit(channel);
            return 1;
        }
        /* fall through */
    default: error = cc_channel_send(channel, messages);
    }
    if (error == 0) note_accepted(ids[0]);
    if (error == EAGAIN) cc_os_yield_();
    model_check(error == 0 || error == EAGAIN || error == ETIMEDOUT || error == EPIPE);
    return error == EPIPE ? to - from : error == 0;
}

/* Receives in one of the ways there are; whether that was all. */
static bool world_receive(void)
{
    unsigned char messages[BURST * 8];
    uint32_t id;
    int error = 0;
    switch (way_of(5)) {
    case 0: {
        size_t n = cc_channel_recv_many(channel, messages, BURST);
        for (size_t i = 0; i < n; i++) {
            memcpy(&id, messages + i * world.size, sizeof id);
            note_received(id);
        }
        if (n > 0) return false;
        error = cc_channel_try_recv(channel, messages); /* which tells empty from closed */
        break;
    }
    case 1: error = cc_channel_try_recv(channel, messages); break;
    case 2: error = cc_channel_recv_timeout(channel, messages, 1000); break;
    case 3:
        if (world.one_to_one) {
            const uint32_t *slot = cc_channel_peek(channel);
            if (!slot) {
                error = cc_channel_try_recv(channel, messages);
                break;
            }
            model_read(slot, world.size);
            note_received(*slot);
            cc_channel_consume(channel);
            return false;
        }
        /* fall through */
    default: error = cc_channel_recv(channel, messages);
    }
    if (error == 0) {
        memcpy(&id, messages, sizeof id);
        note_received(id);
    }
    if (error == EAGAIN) cc_os_yield_();
    model_check(error == 0 || error == EAGAIN || error == ETIMEDOUT || error == EPIPE);
    return error == EPIPE;
}

static void channel_world_thread(void)
{
    unsigned me = (unsigned)model_self() - 1;
    if (has_no_part()) return;
    if (me < world.senders) {
        uint32_t count = 1 + model_choose(WORLD_MESSAGES);
        for (uint32_t sent = 0; sent < count;) sent += world_send(me, sent, count);
        if (--world.sending == 0) cc_channel_close(channel);
    } else if (me < world.senders + world.receivers) {
        /* The first goes on until there is nothing left; others may leave before. */
        bool may_leave = me > world.senders && model_choose(2);
        while (!world_receive())
            if (may_leave && model_choose(2)) break;
    } else {
        model_check(cc_channel_len(channel) <= cc_channel_capacity(channel));
        if (world.closed_early) cc_channel_close(channel);
        model_check(cc_channel_len(channel) <= cc_channel_capacity(channel));
    }
}

/* ---- select: two channels, up to three who send, three who receive, by select or not ---- */

static void select_world_setup(void)
{
    uint32_t kind = model_choose(2) ? CC_CHANNEL_MPMC : CC_CHANNEL_SPSC;
    select_setup_of(kind, (size_t)1 << model_choose(2));
    world_setup(0);
    world.one_to_one = kind == CC_CHANNEL_SPSC;
    world.senders = world.one_to_one ? 1 : 1 + model_choose(3);
    world.receivers = world.one_to_one ? 1 : 1 + model_choose(3);
    world.sending = world.senders;
    world.closed_early = model_choose(2);
    world.threads = world.senders + world.receivers + 1;
    sleeps_until_fenced = (const uint32_t[]){ 1, 2, UINT32_MAX }[model_choose(3)];
}

/* One select over the channels that are open, in any order, in one of its forms. */
static int world_select(cc_select_case_t cases[2], uint32_t operation, uint32_t *message, cc_channel_t *const open[2],
                        size_t *which)
{
    unsigned first = model_choose(2);
    for (unsigned i = 0; i < 2; i++) {
        cc_select_case_t one = { open[first ^ i], message, operation, 0, NULL, NULL, NULL };
        cases[i] = one;
    }
    switch (way_of(4)) {
    case 0: return cc_select_try(cases, 2, CC_SELECT_IN_ORDER, which);
    case 1: return cc_select_timeout(cases, 2, CC_SELECT_IN_ORDER, which, 1000);
    default: return cc_select(cases, 2, CC_SELECT_IN_ORDER, which);
    }
}

static void select_world_thread(void)
{
    unsigned me = (unsigned)model_self() - 1;
    cc_channel_t *open[2] = { channel, second };
    cc_select_case_t cases[2];
    size_t which = 0;
    if (has_no_part()) return;
    if (me < world.senders) {
        for (uint32_t i = 0, count = 1 + model_choose(WORLD_MESSAGES); i < count; i++) {
            uint32_t message = message_of((int)me, i);
            int error = model_choose(3) ? world_select(cases, CC_SELECT_SEND, &message, open, &which)
                                        : (cases[0].result = cc_channel_send(open[model_choose(2)], &message), 0);
            if (error == 0 && cases[which].result == 0) note_accepted(message);
            if (error == EAGAIN) cc_os_yield_();
            which = 0;
        }
        if (--world.sending > 0) return;
        for (int i = 0; i < 2; i++) cc_channel_close(open[i]);
    } else if (me < world.senders + world.receivers) {
        bool may_leave = me > world.senders && model_choose(2);
        while (open[0] || open[1]) {
            uint32_t message;
            unsigned k = model_choose(2);
            int error;
            if (open[k] && model_choose(4) == 0) {
                which = 0;
                cases[0].channel = open[k];
                error = cases[0].result = cc_channel_try_recv(open[k], &message);
                if (error == EPIPE) error = 0;
            } else {
                error = world_select(cases, CC_SELECT_RECV, &message, open, &which);
            }
            model_check(error == 0 || error == EAGAIN || error == ETIMEDOUT);
            if (error == EAGAIN) cc_os_yield_();
            if (error == 0 && cases[which].result == 0) note_selected(message);
            if (error == 0 && cases[which].result == EPIPE) open[cases[which].channel == channel ? 0 : 1] = NULL;
            if (may_leave && model_choose(2)) break;
        }
    } else if (world.closed_early) {
        cc_channel_close(open[model_choose(2)]);
    }
}

/* ---- a descriptor: one loop, beside others who receive ---- */

static void armed_world_setup(void)
{
    uint32_t kind = model_choose(2) ? CC_CHANNEL_MPMC : CC_CHANNEL_SPSC;
    select_setup_of(kind, (size_t)1 << model_choose(2));
    world_setup(0);
    world.senders = kind == CC_CHANNEL_SPSC ? 1 : 1 + model_choose(3);
    world.receivers = kind == CC_CHANNEL_SPSC ? 0 : model_choose(3);
    world.sending = world.senders;
    world.threads = 1 + world.senders + world.receivers;
    sleeps_until_fenced = (const uint32_t[]){ 1, 2, UINT32_MAX }[model_choose(3)];
}

static void armed_world_thread(void)
{
    unsigned me = (unsigned)model_self() - 1;
    uint32_t message;
    if (has_no_part()) return;
    if (me == 0) {
        unsigned armed = 0;
        for (;;) {
            int error = cc_channel_try_recv(channel, &message);
            if (error == EPIPE) break;
            if (error == 0) note_selected(message);
            if (error == 0) continue;
            if (!arm()) {
                cc_os_yield_();
            } else {
                armed++;
                poll_bell();
            }
        }
        model_check(rings == armed);
    } else if (me <= world.senders) {
        for (uint32_t i = 0, count = 1 + model_choose(WORLD_MESSAGES); i < count; i++) {
            message = message_of((int)me, i);
            if (cc_channel_send(channel, &message) == 0) note_accepted(message);
        }
        if (--world.sending == 0) cc_channel_close(channel);
    } else {
        for (unsigned i = 0; i < world.rounds; i++)
            if (cc_channel_recv(channel, &message) == 0) note_selected(message);
    }
}

#define ALL_NINE(thread_)                                                               \
    {                                                                                   \
        thread_, thread_, thread_, thread_, thread_, thread_, thread_, thread_, thread_ \
    }
#define FAULTS .bound = MODEL_UNBOUNDED, .spurious = 3, .losses = 3, .weak_failures = 3, .clock_jumps = 3

/* With membarrier, without, and with one that is refused after it was granted. */
#define THREE_WORLDS(name_, ...)                                                                                     \
    { .name = name_, .membarrier = true, FAULTS, __VA_ARGS__ }, { .name = name_ "/symmetric", FAULTS, __VA_ARGS__ }, \
    {                                                                                                                \
        .name = name_ "/lost", .membarrier = true, .refusals = 2, FAULTS, __VA_ARGS__                                \
    }

static const model_client_t worlds[] = {
    { .name = "world_parker", .setup = parker_world_setup, .threads = ALL_NINE(parker_world_thread), FAULTS },
    { .name = "world_lock",
      .setup = lock_world_setup,
      .threads = ALL_NINE(lock_world_thread),
      .finish = lock_world_is_left,
      FAULTS },
    { .name = "world_lock_stores",
      .setup = lock_world_setup,
      .threads = ALL_NINE(lock_world_thread),
      .finish = lock_world_is_left,
      .sequences = MODEL_SEQUENCES,
      .refusals = 1,
      FAULTS },
    { .name = "world_lock_freed",
      .setup = lock_freed_world_setup,
      .threads = ALL_NINE(lock_freed_world_thread),
      FAULTS },
    THREE_WORLDS("world_event", .setup = event_world_setup, .threads = ALL_NINE(event_world_thread),
                 .finish = event_world_is_left),
    THREE_WORLDS("world_spsc", .setup = spsc_world_setup, .threads = ALL_NINE(channel_world_thread),
                 .finish = channel_all_received),
    THREE_WORLDS("world_mpmc", .setup = mpmc_world_setup, .threads = ALL_NINE(channel_world_thread),
                 .finish = channel_all_received),
    THREE_WORLDS("world_select", .setup = select_world_setup, .threads = ALL_NINE(select_world_thread),
                 .finish = select_is_left),
    THREE_WORLDS("world_armed", .setup = armed_world_setup, .threads = ALL_NINE(armed_world_thread),
                 .finish = select_is_left),
};
