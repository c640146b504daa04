/* shared.c: the channel between processes on the model checker. Each thread is a process. Some of them may die before
 * any of their steps, for good; the others must go on, get what was sent, be told once, and find every slot usable. */
#include "model.h"

#define CC_SNOOZE_START_NS          0
#define CC_SNOOZE_START_YIELDS      0
#define CC_SHARED_SELF_(shared)     (selves[model_self()])
#define CC_SHARED_REPORTED_(shared) (reported_of(shared))
#define CC_SHARED_LOOKING_(shared)  ((void)(shared), &looking[model_self()])
#define CC_SHARED_PARTICIPANTS      4

#include <string.h>

static uint32_t selves[MODEL_THREADS + 1];        /* the number that each thread has as a participant; 0: none yet */
static uint32_t *reported_of(const void *shared); /* what this thread was told of */
static uint32_t looking[MODEL_THREADS + 1];       /* whether it looks for deaths */

#include "../../src/backoff.c"
#include "../../src/channel.c"
#include "../../src/channel_mpmc.c"
#include "../../src/channel_spsc.c"
#include "../../src/clock.c"
#include "../../src/costs.c"
#include "../../src/door.c"
#include "../../src/event.c"
#include "../../src/fence.c"
#include "../../src/lock.c"
#include "../../src/park.c"
#include "../../src/pause.c"
static cc_selector_t selectors[MODEL_THREADS + 1]; /* one for each thread, because stacks hold something else later */
#define CC_SELECTOR_(own) ((void)(own), &selectors[model_self()])
#include "../../src/select.c"
#include "../../src/shared.c"
#include "../../src/shared_mpmc.c"
#include "../../src/shared_spsc.c"
#include "../../src/snooze.c"

/* Nobody asks for a descriptor of a shared channel. */
int cc_os_bell_create_(int ends[2])
{
    (void)ends;
    return ENOSYS;
}
void cc_os_bell_ring_(int write_end)
{
    (void)write_end;
}
void cc_os_bell_empty_(int read_end)
{
    (void)read_end;
}
void cc_os_bell_close_(int read_end, int write_end)
{
    (void)read_end, (void)write_end;
}

/* ---- the channel ------------------------------------------------------------------------------------------------ */

enum { MESSAGES = 4, CAPACITY_MODEL = 2 };

/* The first is what everything is about; the second is beside it for who selects, shared or of this process. */
static struct place {
    cc_shared_t shared;
    cc_channel_t channel;
    unsigned char slots[CAPACITY_MODEL * 64];
} place, second_place;
static uint32_t reported_to[2][MODEL_THREADS + 1][CC_SHARED_PARTICIPANTS];
static uint32_t *reported_of(const void *shared)
{
    return reported_to[shared != &place.shared][model_self()];
}
static cc_segment_t segment, second_segment;
static cc_channel_t *channel, *second;
static size_t capacity_;
static uint32_t tried[MODEL_THREADS + 1], accepted[MODEL_THREADS + 1], received[MODEL_THREADS + 1]; /* as bits */
static uint32_t told[MODEL_THREADS + 1];
static uint32_t before_close, last_words; /* plain memory: whoever reads it must come after whoever wrote it */

static void name_channel(cc_channel_t *c, bool is_second)
{
    static const char *const names[][2] = {
        { "not_full.epoch", "second.not_full.epoch" },
        { "not_full.waiters", "second.not_full.waiters" },
        { "not_empty.epoch", "second.not_empty.epoch" },
        { "not_empty.waiters", "second.not_empty.waiters" },
        { "tail", "second.tail" },
        { "head", "second.head" },
        { "closed", "second.closed" },
        { "stamp 0", "second stamp 0" },
        { "stamp 1", "second stamp 1" },
    };
    model_statistic(&c->not_full.woken_at);
    model_statistic(&c->not_empty.woken_at);
    model_name(&c->not_full.epoch, names[0][is_second]);
    model_name(&c->not_full.waiters, names[1][is_second]);
    model_name(&c->not_empty.epoch, names[2][is_second]);
    model_name(&c->not_empty.waiters, names[3][is_second]);
    model_name(&c->spsc.tail, names[4][is_second]);
    model_name(&c->spsc.head, names[5][is_second]);
    model_name(&c->closed, names[6][is_second]);
    for (size_t i = 0; i <= c->mask; i++)
        model_name(cc_slot_stamp_(cc_channel_slot_(c, (cc_index_)(2 * i), c->layout), c->layout),
                   names[7 + i][is_second]);
}

static cc_channel_t *make_shared(struct place *at, cc_segment_t *own, const cc_channel_options_t *options)
{
    cc_channel_t *made;
    memset(at, 0, sizeof *at);
    memset(own, 0, sizeof *own);
    model_check(cc_channel_init(&at->channel, sizeof at->channel + sizeof at->slots, options, &made) == 0);
    at->shared.segment = own;
    made->shape = cc_channel_shape_(CC_CHANNEL_SPSC, options->message_size);
    made->allocated_before = CC_CHANNEL_SHARED_;
    if (options->kind == CC_CHANNEL_MPMC) {
        made->shape = CC_SHARED_MPMC_SHAPE_(options->message_size);
        cc_shared_mpmc_init_(made);
    }
    for (int i = 1; i < CC_PARTICIPANTS_; i++) own->participants[i] = 1;
    model_statistic(&at->shared.looked_at);
    model_statistic(&at->shared.waits);
    for (int i = 0; i < 2; i++) {
        model_statistic(&at->shared.learned[i].snooze);
        model_statistic(&at->shared.learned[i].woken_at);
    }
    model_statistic(&at->shared.at_wait[0]);
    model_statistic(&at->shared.at_wait[1]);
    return made;
}

/* Messages are of 4 bytes, or of 8, which have a path of their own; both are the low bytes of a number. */
static void setup_sized(uint32_t kind, size_t capacity, size_t size)
{
    cc_costs_t costs = { 1000, 1, 1, 1 };
    cc_channel_options_t options = { capacity, size, kind, CC_SNOOZE_NONE };
    cc_costs_set(&costs);
    cc_fence_mode_ = CC_FENCE_UNKNOWN_;
    busy_for_ = busy_until_ = seen_at_[SEEN_CPUS - 1] = sampled_at_ = sampled_ = whose_cpus_ = 0;
    model_statistic(&busy_for_);
    model_statistic(&busy_until_);
    model_statistic(&seen_at_[SEEN_CPUS - 1]);
    model_statistic(&sampled_at_);
    model_statistic(&sampled_);
    model_statistic(&whose_cpus_);
    memset(tried, 0, sizeof tried);
    memset(accepted, 0, sizeof accepted);
    memset(received, 0, sizeof received);
    memset(told, 0, sizeof told);
    memset(reported_to, 0, sizeof reported_to);
    memset(looking, 0, sizeof looking);
    for (int i = 0; i <= MODEL_THREADS; i++) selves[i] = (uint32_t)i;
    before_close = last_words = 0;
    capacity_ = capacity;
    channel = make_shared(&place, &segment, &options);
    second = NULL;
    name_channel(channel, false);
    for (int i = 1; i < CC_PARTICIPANTS_; i++)
        model_name(&segment.participants[i],
                   (const char *const[]){ "", "participant 1", "participant 2", "participant 3" }[i]);
}

/* A second one beside it, between processes or not. */
static void setup_two(uint32_t kind, bool is_shared)
{
    cc_channel_options_t options = { 1, 4, kind, CC_SNOOZE_NONE };
    setup_sized(kind, 1, 4);
    if (is_shared) {
        second = make_shared(&second_place, &second_segment, &options);
    } else {
        memset(&second_place, 0, sizeof second_place);
        model_check(cc_channel_init(&second_place.channel, sizeof second_place.channel + sizeof second_place.slots,
                                    &options, &second) == 0);
        model_statistic(&second->not_empty.sleepiness);
        model_statistic(&second->not_empty.left_to_it);
    }
    name_channel(second, true);
    memset(selectors, 0, sizeof selectors);
    for (int i = 1; i <= MODEL_THREADS; i++) {
        model_statistic(&selectors[i].event.woken_at);
        model_name(&selectors[i].event.epoch, "selector.epoch");
    }
}

static void select_spsc_setup(void)
{
    setup_two(CC_CHANNEL_SPSC, true);
}
static void select_mpmc_setup(void)
{
    setup_two(CC_CHANNEL_MPMC, true);
}
static void select_mixed_setup(void)
{
    setup_two(CC_CHANNEL_SPSC, false);
}

static void setup_of(uint32_t kind, size_t capacity)
{
    setup_sized(kind, capacity, 4);
}

static void mpmc_8_setup(void)
{
    setup_sized(CC_CHANNEL_MPMC, 1, 8);
}
static void spsc_setup(void)
{
    setup_of(CC_CHANNEL_SPSC, 1);
}
static void spsc_two_setup(void)
{
    setup_of(CC_CHANNEL_SPSC, 2);
}
/* The third is none of them yet. */
static void is_to_come(void)
{
    segment.participants[3] = 0;
    selves[3] = 0;
}
static void spsc_open_setup(void)
{
    spsc_two_setup();
    is_to_come();
}
static void mpmc_open_setup(void)
{
    setup_of(CC_CHANNEL_MPMC, 2);
    is_to_come();
}
/* The third is none of them either, but no number is left for it: it gets that of one who has died. */
static void mpmc_reuse_setup(void)
{
    setup_of(CC_CHANNEL_MPMC, 2);
    selves[3] = 0;
}
static void mpmc_one_reuse_setup(void)
{
    setup_of(CC_CHANNEL_MPMC, 1);
    selves[3] = 0;
}
static void mpmc_8_reuse_setup(void)
{
    mpmc_8_setup();
    selves[3] = 0;
}
static void mpmc_two_reuse_setup(void)
{
    mpmc_reuse_setup();
    selves[2] = 0;
}
/* Neither are the second and the third, and there are just enough numbers. */
static void mpmc_two_come_setup(void)
{
    mpmc_open_setup();
    segment.participants[2] = 0;
    selves[2] = 0;
}
static void mpmc_setup(void)
{
    setup_of(CC_CHANNEL_MPMC, 1);
}
static void mpmc_two_setup(void)
{
    setup_of(CC_CHANNEL_MPMC, 2);
}

/* ---- what the threads do ---------------------------------------------------------------------------------------- */

static uint64_t message_of(int thread, uint32_t number)
{
    return (uint64_t)thread * MESSAGES + number;
}

static void note(uint32_t *set, uint64_t message)
{
    model_check(!(*set & UINT32_C(1) << message));
    *set |= UINT32_C(1) << message;
}

/* Sends; gives up if it is told of a death, as nobody may be left to receive. Whether it was sent. */
static bool send_number(uint32_t number)
{
    uint64_t message = message_of(model_self(), number);
    note(&tried[model_self()], message);
    int error = cc_channel_send(channel, &message);
    model_check(error == 0 || error == EPIPE || error == EOWNERDEAD);
    told[model_self()] += error == EOWNERDEAD;
    if (error == 0) note(&accepted[model_self()], message);
    if (error == EPIPE) model_read(&before_close, sizeof before_close);
    return error == 0;
}

/* 0, EPIPE or EOWNERDEAD. */
static int receive(void)
{
    uint64_t message = 0;
    int error = cc_channel_recv(channel, &message);
    model_check(error == 0 || error == EPIPE || error == EOWNERDEAD);
    if (error == 0) note(&received[model_self()], message);
    if (error == EOWNERDEAD) told[model_self()]++;
    if (error == EPIPE) model_read(&before_close, sizeof before_close);
    return error;
}

static void send_one(void)
{
    send_number(0);
}
static void send_two(void)
{
    if (send_number(0)) send_number(1);
}
static void send_burst(void)
{
    uint32_t messages[2] = { (uint32_t)message_of(model_self(), 0), (uint32_t)message_of(model_self(), 1) };
    note(&tried[model_self()], messages[0]);
    note(&tried[model_self()], messages[1]);
    size_t sent = cc_channel_send_many(channel, messages, 2);
    for (size_t i = 0; i < sent; i++) note(&accepted[model_self()], messages[i]);
}
/* Whoever is told of the end comes after what was done before the close. */
static void close_it(void)
{
    model_write(&before_close, sizeof before_close);
    cc_channel_close(channel);
}
static void send_one_and_close(void)
{
    send_number(0);
    close_it();
}

/* Gets two messages, or what there is when one of the others has died. */
static void receive_two(void)
{
    uint64_t message = 0;
    for (int i = 0; i < 2; i++) {
        if (receive() != EOWNERDEAD) continue;
        while (cc_channel_try_recv(channel, &message) == 0) note(&received[model_self()], message);
        return;
    }
}

/* Receives for as long as it lives. */
static void receive_one(void)
{
    while (receive() == EOWNERDEAD) {}
}

static void receive_once(void)
{
    (void)receive();
}

/* Sends two, whoever may be there to receive; once told that the receiver is dead it receives by itself. */
static void send_two_or_inherit(void)
{
    for (uint32_t i = 0; i < 2; i++) {
        uint64_t message = message_of(model_self(), i), other = 0;
        note(&tried[model_self()], message);
        int error = cc_channel_send(channel, &message);
        if (error == EOWNERDEAD) {
            told[model_self()]++;
            while (cc_channel_try_recv(channel, &other) == 0) note(&received[model_self()], other);
            error = cc_channel_try_send(channel, &message);
        }
        model_check(error == 0);
        note(&accepted[model_self()], message);
    }
}
static void receive_two_for_good(void)
{
    for (int i = 0; i < 2; i++) receive_one();
}

/* Receives until the end; who was to close may be dead, and then this one does. */
static void receive_all(void)
{
    for (int error; (error = receive()) != EPIPE;)
        if (error == EOWNERDEAD) close_it();
}

/* What a process does that opens the segment: it looks for deaths. */
static void look(void)
{
    cc_shared_look_for_deaths_(&place.shared, 0);
}

/* Sends two, whoever dies. */
static void send_two_for_good(void)
{
    for (uint32_t i = 0; i < 2; i++) {
        uint64_t message = message_of(model_self(), i);
        int error;
        note(&tried[model_self()], message);
        while ((error = cc_channel_send(channel, &message)) == EOWNERDEAD) told[model_self()]++;
        model_check(error == 0);
        note(&accepted[model_self()], message);
    }
}

/* There was always room, so it is sent or the channel is closed. */
static void try_to_send(void)
{
    uint64_t message = message_of(model_self(), 0);
    note(&tried[model_self()], message);
    int error = cc_channel_try_send(channel, &message);
    model_check(error == 0 || error == EPIPE);
    if (error == 0) note(&accepted[model_self()], message);
}

static void send_if_free(void)
{
    uint64_t message = message_of(model_self(), 0);
    note(&tried[model_self()], message);
    if (cc_channel_try_send(channel, &message) == 0) note(&accepted[model_self()], message);
}

/* One that may die in a send, and one that comes after all it did when it is told, and then sends in its place. */
static void say_last_words(void)
{
    model_write(&last_words, sizeof last_words);
    send_number(0);
}
static void hear_last_words(void)
{
    uint64_t message = 0;
    if (receive() != EOWNERDEAD) return;
    model_read(&last_words, sizeof last_words);
    while (cc_channel_try_recv(channel, &message) == 0) note(&received[model_self()], message);
    try_to_send();
}

/* Sends one by the second channel. */
static void send_by_second(void)
{
    uint64_t message = message_of(model_self(), 1);
    note(&tried[model_self()], message);
    int error = cc_channel_send(second, &message);
    model_check(error == 0 || error == EOWNERDEAD);
    told[model_self()] += error == EOWNERDEAD;
    if (error == 0) note(&accepted[model_self()], message);
}

/* Takes one of what comes by either: 0, or EOWNERDEAD. */
static int select_one(void)
{
    uint64_t messages[2] = { 0, 0 };
    size_t which = 2;
    cc_select_case_t cases[] = { CC_SELECT_CASE_RECV(channel, &messages[0]),
                                 CC_SELECT_CASE_RECV(second, &messages[1]) };
    model_check(cc_select(cases, 2, CC_SELECT_IN_ORDER, &which) == 0 && which < 2);
    int result = cases[which].result;
    model_check(result == 0 || result == EOWNERDEAD);
    if (result == 0) note(&received[model_self()], messages[which]);
    told[model_self()] += result == EOWNERDEAD;
    return result;
}
static void select_twice(void)
{
    for (int i = 0; i < 2; i++)
        if (select_one() == EOWNERDEAD) return;
}
static void select_once(void)
{
    (void)select_one();
}
/* Sends one by each; who selects prefers the second, and what woke it may have been for another. */
static void send_one_by_each(void)
{
    send_number(0);
    send_by_second();
}
static void select_second_first(void)
{
    uint64_t messages[2] = { 0, 0 };
    size_t which = 2;
    cc_select_case_t cases[] = { CC_SELECT_CASE_RECV(second, &messages[0]),
                                 CC_SELECT_CASE_RECV(channel, &messages[1]) };
    model_check(cc_select(cases, 2, CC_SELECT_IN_ORDER, &which) == 0 && which < 2 && cases[which].result == 0);
    note(&received[model_self()], messages[which]);
    if (which == 1) {
        model_check(cc_channel_recv(second, &messages[0]) == 0);
        note(&received[model_self()], messages[0]);
        send_number(1); /* in place of what it took from the other receiver */
    }
}
static void select_for_good(void)
{
    while (select_one() == EOWNERDEAD) {}
}

/* Until both have come to an end. */
static void select_until_closed(void)
{
    uint64_t messages[2] = { 0, 0 };
    cc_select_case_t cases[] = { CC_SELECT_CASE_RECV(channel, &messages[0]),
                                 CC_SELECT_CASE_RECV(second, &messages[1]) };
    for (size_t which = 2; cases[0].channel || cases[1].channel;) {
        model_check(cc_select(cases, 2, CC_SELECT_IN_ORDER, &which) == 0 && which < 2);
        if (cases[which].result == 0) note(&received[model_self()], messages[which]);
        if (cases[which].result == EPIPE) cases[which].channel = NULL;
    }
}
static void close_both(void)
{
    send_number(0);
    cc_channel_close(second);
    close_it();
}

/* Sends by either, where there is room. */
static void select_to_send(void)
{
    for (uint32_t i = 0; i < 2; i++) {
        uint64_t message = message_of(model_self(), i);
        size_t which = 2;
        cc_select_case_t cases[] = { CC_SELECT_CASE_SEND(channel, &message), CC_SELECT_CASE_SEND(second, &message) };
        note(&tried[model_self()], message);
        model_check(cc_select(cases, 2, CC_SELECT_IN_ORDER, &which) == 0 && which < 2);
        told[model_self()] += cases[which].result == EOWNERDEAD;
        if (cases[which].result != 0) return;
        note(&accepted[model_self()], message);
    }
}

/* Opens it, and may send from then on: SPSC only if who sent before is dead. Both begin with steps, so that one may
 * die between two, and the other come, before any word was used by both. */
static void make_a_step(void)
{
    cc_os_segment_unlock_(0, 3); /* which it does not have */
}
static void step_and_send_one(void)
{
    make_a_step();
    make_a_step();
    send_number(0);
}
static void open_and_send(void)
{
    make_a_step();
    if (cc_channel_is_spsc_(&place.channel) && !model_is_dead(1)) return;
    model_check(join_(&place.shared) == 0);
    try_to_send();
}

/* The same where the only number to be had is that of a dead one, whose slots must be put right before. */
static void reuse_and_send(void)
{
    make_a_step();
    if (!model_is_dead(1) || join_(&place.shared) != 0) return;
    model_check(selves[3] == 1);
    send_if_free();
}
static void reuse_and_receive(void)
{
    uint64_t message = 0;
    make_a_step();
    if (!model_is_dead(1) || join_(&place.shared) != 0) return;
    if (cc_channel_try_recv(channel, &message) == 0) note(&received[model_self()], message);
}
static void send_one_and_step(void)
{
    send_if_free();
    make_a_step();
    make_a_step();
}

/* Comes, and does nothing: whatever it is stopped in, the death of another is told to the rest. */
static void open_it(void)
{
    (void)join_(&place.shared);
}
static void reuse(void)
{
    make_a_step();
    if (model_is_dead(1)) (void)join_(&place.shared);
}

/* Gets what comes while it tries, whoever dies. */
static void try_to_receive(void)
{
    uint64_t message = 0;
    for (int i = 0; i < 2; i++)
        if (cc_channel_try_recv(channel, &message) == 0) note(&received[model_self()], message);
}

/* Never waits, and so is not told of a death; it sends in the slot that a dead one was half-way through. */
static void receive_and_send_if_free(void)
{
    uint64_t message = 0;
    if (cc_channel_try_recv(channel, &message) == 0) note(&received[model_self()], message);
    send_if_free();
}

/* Closes it, and is not dead; who looks meanwhile finds nobody to bury. */
static void send_one_and_leave(void)
{
    send_number(0);
    leave_(&place.shared);
    cc_os_segment_close_(0);
    selves[model_self()] = 0;
}
static void look_and_see_nobody_dead(void)
{
    look();
    for (int i = 1; i < CC_PARTICIPANTS_; i++)
        model_check(cc_load_relaxed(&segment.participants[i]) <= 1); /* relaxed: a count */
}

/* ---- what must be left ------------------------------------------------------------------------------------------ */

/* What was accepted arrived once, what was not tried did not arrive; each death was told once, if anybody was left to
 * be told; and every slot can be used, after those who open the segment next have looked for deaths. */
static void nothing_is_lost_but(unsigned by_receivers)
{
    uint32_t in = 0, maybe = 0, out = 0;
    uint64_t message = 0;
    unsigned deaths = 0;
    for (int t = 1; t <= MODEL_THREADS; t++) {
        model_check(!(in & accepted[t]) && !(out & received[t]));
        in |= accepted[t];
        maybe |= tried[t];
        out |= received[t];
        deaths += model_is_dead(t);
    }
    bool two_shared = second && cc_channel_is_shared_(second);
    for (uint32_t i = 1; i < CC_PARTICIPANTS_; i++) {
        bool alive = false;
        for (int t = 1; t <= MODEL_THREADS; t++) alive |= selves[t] == i && !model_is_dead(t);
        if (alive) continue;
        if (says_(segment.participants[i], CC_ALIVE_)) bury_(&place.shared, i, segment.participants[i]);
        if (two_shared && says_(second_segment.participants[i], CC_ALIVE_))
            bury_(&second_place.shared, i, second_segment.participants[i]);
    }
    for (int t = 1; t <= MODEL_THREADS; t++)
        model_check(told[t] <= deaths * (two_shared ? 2 : 1)); /* of each channel that the dead one had open */
    while (cc_channel_try_recv(channel, &message) == 0) note(&out, message);
    while (second && cc_channel_try_recv(second, &message) == 0) note(&out, message);
    model_check((out & ~maybe) == 0);
    model_check(__builtin_popcount(in & ~out) <= (int)by_receivers);
    if (cc_channel_is_closed(channel)) return;
    for (uint32_t i = 0; i < capacity_; i++) {
        message = 100 + i;
        model_check(cc_channel_try_send(channel, &message) == 0);
    }
    for (uint32_t i = 0; i < capacity_; i++)
        model_check(cc_channel_try_recv(channel, &message) == 0 && message == 100 + i);
    model_check(cc_channel_try_recv(channel, &message) == EAGAIN);
}

static void nothing_is_lost(void)
{
    nothing_is_lost_but(0);
}
static void one_may_be_lost(void)
{
    nothing_is_lost_but(1);
}

#define BOUND(preemptions)   .bound = preemptions, .full_bound = preemptions + 1, .old_reads = 1, .full_old_reads = 2
#define TWO_OLD(preemptions) .bound = preemptions, .full_bound = preemptions + 1, .old_reads = 2
#define LIVE(name_, ...)                               \
    {                                                  \
        .name = name_, .membarrier = true, __VA_ARGS__ \
    }
#define DEATH(name_, who_, count_, ...)                                                                 \
    {                                                                                                   \
        .name = name_, .membarrier = true, .timeouts = 1, .mortal = who_, .deaths = count_, __VA_ARGS__ \
    }
enum { FIRST = 2, SECOND_ = 4, THIRD = 8 }; /* threads, as bits */

static const model_client_t clients[] = {
    LIVE("shared_spsc", .setup = spsc_setup, .threads = { send_two, receive_two }, .finish = nothing_is_lost, BOUND(3)),
    LIVE("shared_spsc_close", .setup = spsc_setup, .threads = { send_one_and_close, receive_all },
         .finish = nothing_is_lost, BOUND(3)),
    LIVE("shared_mpmc", .setup = mpmc_setup, .threads = { send_two, receive_two }, .finish = nothing_is_lost, BOUND(3)),
    LIVE("shared_mpmc_8", .setup = mpmc_8_setup, .threads = { send_two, receive_two }, .finish = nothing_is_lost,
         BOUND(2)),
    LIVE("shared_mpmc_two_senders", .setup = mpmc_setup, .threads = { send_one, send_one, receive_two },
         .finish = nothing_is_lost, BOUND(1)),
    LIVE("shared_mpmc_two_receivers", .setup = mpmc_two_setup, .threads = { send_two, receive_one, receive_one },
         .finish = nothing_is_lost, BOUND(1)),
    LIVE("shared_mpmc_close", .setup = mpmc_setup, .threads = { send_one_and_close, receive_all },
         .finish = nothing_is_lost, BOUND(3)),
    LIVE("shared_mpmc_close_two_senders", .setup = mpmc_two_setup,
         .threads = { send_one_and_close, send_one, receive_all }, .finish = nothing_is_lost, BOUND(1)),
    LIVE("shared_mpmc_end", .setup = mpmc_setup, .threads = { close_it, receive_all, try_to_send },
         .finish = nothing_is_lost, BOUND(2)),
    LIVE("shared_select_spsc", .setup = select_spsc_setup, .threads = { send_one, send_by_second, select_twice },
         .finish = nothing_is_lost, BOUND(1)),
    LIVE("shared_select_mpmc", .setup = select_mpmc_setup, .threads = { send_one, send_by_second, select_twice },
         .finish = nothing_is_lost, BOUND(1)),
    LIVE("shared_select_mixed", .setup = select_mixed_setup, .threads = { send_one, send_by_second, select_twice },
         .finish = nothing_is_lost, BOUND(1)),
    LIVE("shared_select_beside_receiver", .setup = select_mpmc_setup, .threads = { send_two, select_once, receive_one },
         .finish = nothing_is_lost, BOUND(1)),
    LIVE("shared_select_relays", .setup = select_mpmc_setup,
         .threads = { send_one_by_each, select_second_first, receive_one }, .finish = nothing_is_lost, BOUND(1)),
    LIVE("shared_select_close", .setup = select_spsc_setup, .threads = { close_both, select_until_closed },
         .finish = nothing_is_lost, BOUND(2)),
    LIVE("shared_select_send", .setup = select_mpmc_setup, .threads = { select_to_send, select_twice },
         .finish = nothing_is_lost, BOUND(2)),
    LIVE("shared_left", .setup = mpmc_open_setup,
         .threads = { send_one_and_leave, look_and_see_nobody_dead, open_and_send }, .openers = THIRD,
         .finish = nothing_is_lost, BOUND(2)),
    LIVE("shared_two_come", .setup = mpmc_two_come_setup, .threads = { make_a_step, open_and_send, open_and_send },
         .openers = SECOND_ | THIRD, .finish = nothing_is_lost, BOUND(2)),
    LIVE("shared_spsc_refused", .setup = spsc_setup, .threads = { send_two, receive_two }, .finish = nothing_is_lost,
         .refusals = 1, BOUND(1)),
    LIVE("shared_mpmc_refused", .setup = mpmc_setup, .threads = { send_two, receive_two }, .finish = nothing_is_lost,
         .refusals = 1, BOUND(1)),

    DEATH("shared_spsc_sender_dies", FIRST, 1, .setup = spsc_setup, .threads = { send_two, receive_two },
          .finish = nothing_is_lost, BOUND(2)),
    DEATH("shared_spsc_burst_dies", FIRST, 1, .setup = spsc_two_setup, .threads = { send_burst, receive_two },
          .finish = nothing_is_lost, BOUND(2)),
    DEATH("shared_spsc_receiver_dies", SECOND_, 1, .setup = spsc_setup,
          .threads = { send_two_or_inherit, receive_two_for_good }, .finish = one_may_be_lost, BOUND(1)),
    DEATH("shared_spsc_closer_dies", FIRST, 1, .setup = spsc_setup, .threads = { send_one_and_close, receive_all },
          .finish = nothing_is_lost, BOUND(2)),
    DEATH("shared_spsc_both_die", FIRST | SECOND_, 2, .setup = spsc_setup, .threads = { send_two, receive_two },
          .finish = one_may_be_lost, BOUND(1)),
    DEATH("shared_spsc_burier_dies", FIRST | SECOND_, 2, .setup = spsc_setup,
          .threads = { send_one, look, receive_once }, .finish = nothing_is_lost, BOUND(1)),
    DEATH("shared_spsc_told", FIRST, 1, .setup = spsc_setup, .threads = { say_last_words, look, hear_last_words },
          .finish = nothing_is_lost, BOUND(1)),
    DEATH("shared_spsc_bystander_dies", THIRD, 1, .setup = spsc_setup,
          .threads = { send_two_for_good, receive_two_for_good, look }, .finish = nothing_is_lost, BOUND(0)),
    DEATH("shared_mpmc_sender_dies", FIRST, 1, .setup = mpmc_setup, .threads = { send_two, receive_two },
          .finish = nothing_is_lost, BOUND(2)),
    DEATH("shared_mpmc_8_sender_dies", FIRST, 1, .setup = mpmc_8_setup, .threads = { send_two, receive_two },
          .finish = nothing_is_lost, BOUND(1)),
    DEATH("shared_mpmc_burst_dies", FIRST, 1, .setup = mpmc_two_setup, .threads = { send_burst, receive_two },
          .finish = nothing_is_lost, BOUND(2)),
    DEATH("shared_mpmc_receiver_dies", SECOND_, 1, .setup = mpmc_setup,
          .threads = { send_two_or_inherit, receive_two_for_good }, .finish = one_may_be_lost, BOUND(1)),
    DEATH("shared_mpmc_closer_dies", FIRST, 1, .setup = mpmc_setup, .threads = { send_one_and_close, receive_all },
          .finish = nothing_is_lost, BOUND(2)),
    DEATH("shared_mpmc_both_die", FIRST | SECOND_, 2, .setup = mpmc_setup, .threads = { send_two, receive_two },
          .finish = one_may_be_lost, BOUND(1)),
    DEATH("shared_mpmc_two_die", FIRST | SECOND_, 2, .setup = mpmc_two_setup,
          .threads = { send_one, send_one, receive_two }, .finish = nothing_is_lost, BOUND(1)),
    DEATH("shared_mpmc_burier_dies", FIRST | SECOND_, 2, .setup = mpmc_setup,
          .threads = { send_one, look, receive_once }, .finish = nothing_is_lost, BOUND(1)),
    DEATH("shared_mpmc_told", FIRST, 1, .setup = mpmc_setup, .threads = { say_last_words, look, hear_last_words },
          .finish = nothing_is_lost, BOUND(1)),
    DEATH("shared_select_spsc_sender_dies", FIRST, 1, .setup = select_spsc_setup, .threads = { send_two, select_twice },
          .finish = nothing_is_lost, BOUND(1)),
    DEATH("shared_select_mpmc_sender_dies", FIRST, 1, .setup = select_mpmc_setup, .threads = { send_two, select_twice },
          .finish = nothing_is_lost, BOUND(1)),
    DEATH("shared_select_mixed_sender_dies", FIRST, 1, .setup = select_mixed_setup,
          .threads = { send_two, select_twice }, .finish = nothing_is_lost, BOUND(1)),
    DEATH("shared_select_beside_receiver_dies", SECOND_, 1, .setup = select_mpmc_setup,
          .threads = { send_two_or_inherit, select_for_good, receive_one }, .finish = one_may_be_lost, BOUND(0)),
    DEATH("shared_spsc_opened", FIRST, 1, .setup = spsc_open_setup,
          .threads = { step_and_send_one, look, open_and_send }, .openers = THIRD, .finish = nothing_is_lost, BOUND(1)),
    DEATH("shared_spsc_opened_after", FIRST, 1, .setup = spsc_open_setup,
          .threads = { send_one_and_step, look, open_and_send }, .openers = THIRD, .finish = nothing_is_lost,
          TWO_OLD(1)),
    DEATH("shared_spsc_opener_dies", FIRST | THIRD, 2, .setup = spsc_open_setup,
          .threads = { step_and_send_one, look, open_and_send }, .openers = THIRD, .finish = nothing_is_lost, BOUND(1)),
    DEATH("shared_mpmc_opened", FIRST, 1, .setup = mpmc_open_setup, .threads = { send_one, look, open_and_send },
          .openers = THIRD, .finish = nothing_is_lost, BOUND(1)),
    DEATH("shared_mpmc_opener_dies", FIRST | THIRD, 2, .setup = mpmc_open_setup,
          .threads = { send_one, look, open_and_send }, .openers = THIRD, .finish = nothing_is_lost, BOUND(1)),
    DEATH("shared_mpmc_reused", FIRST, 1, .setup = mpmc_reuse_setup,
          .threads = { step_and_send_one, try_to_receive, reuse_and_send }, .finish = nothing_is_lost, TWO_OLD(2)),
    DEATH("shared_mpmc_8_reused", FIRST, 1, .setup = mpmc_8_reuse_setup,
          .threads = { step_and_send_one, try_to_receive, reuse_and_send }, .finish = nothing_is_lost, TWO_OLD(2)),
    DEATH("shared_mpmc_receiver_reuses", FIRST, 1, .setup = mpmc_one_reuse_setup,
          .threads = { send_one_and_step, send_if_free, reuse_and_receive }, .finish = nothing_is_lost, TWO_OLD(2)),
    DEATH("shared_mpmc_8_receiver_reuses", FIRST, 1, .setup = mpmc_8_reuse_setup,
          .threads = { send_one_and_step, send_if_free, reuse_and_receive }, .finish = nothing_is_lost, TWO_OLD(2)),
    DEATH("shared_mpmc_reuser_dies", FIRST | THIRD, 2, .setup = mpmc_reuse_setup,
          .threads = { step_and_send_one, try_to_receive, reuse_and_send }, .finish = nothing_is_lost, BOUND(1)),
    DEATH("shared_mpmc_put_right", FIRST, 1, .setup = mpmc_setup,
          .threads = { send_if_free, look, receive_and_send_if_free }, .finish = nothing_is_lost, BOUND(2)),
    DEATH("shared_mpmc_two_reuse", FIRST, 1, .setup = mpmc_two_reuse_setup,
          .threads = { step_and_send_one, reuse, reuse_and_send }, .finish = nothing_is_lost, BOUND(1)),
    DEATH("shared_spsc_burier_stopped", FIRST, 1, .stoppable = SECOND_, .setup = spsc_setup,
          .threads = { send_one, look, receive_once }, .finish = nothing_is_lost, BOUND(1)),
    DEATH("shared_mpmc_burier_stopped", FIRST, 1, .stoppable = SECOND_, .setup = mpmc_setup,
          .threads = { send_one, look, receive_once }, .finish = nothing_is_lost, BOUND(1)),
    DEATH("shared_spsc_opener_stopped", FIRST, 1, .stoppable = THIRD, .setup = spsc_open_setup,
          .threads = { send_one, receive_once, open_it }, .openers = THIRD, .finish = nothing_is_lost, BOUND(1)),
    DEATH("shared_mpmc_opener_stopped", FIRST, 1, .stoppable = THIRD, .setup = mpmc_open_setup,
          .threads = { send_one, receive_once, open_it }, .openers = THIRD, .finish = nothing_is_lost, BOUND(1)),
    DEATH("shared_mpmc_sweeper_stopped", FIRST, 1, .stoppable = THIRD, .setup = mpmc_reuse_setup,
          .threads = { step_and_send_one, receive_once, reuse }, .finish = nothing_is_lost, BOUND(1)),
    DEATH("shared_mpmc_reader_dies", FIRST, 1, .setup = mpmc_setup,
          .threads = { receive_once, look, send_two_or_inherit }, .finish = one_may_be_lost, BOUND(0)),
};

int main(int argc, char **argv)
{
    return model_main(argc, argv, clients, sizeof clients / sizeof *clients);
}
