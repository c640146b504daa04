/* Select between real threads: every message arrives exactly once, whatever is mixed: selects that send and receive on
 * several channels in any order, plain sends and receives, timeouts, tries, closes at any moment, and a loop that polls
 * a descriptor. */
#include "stress.h"
#include <errno.h>
#if !defined(_WIN32)
#include <poll.h>
#endif

enum { CHANNELS = 4, MOST_THREADS = 8 };

/* A message says who sent it and its number: a sum that does not depend on their order tells whether all came, once.
 * Those of 8 bytes have a path of their own, and are the first half of this. */
typedef struct message {
    uint64_t name, again;
} message;

typedef struct account {
    CC_ALIGNED_(CC_CACHE_LINE) uint64_t count;
    uint64_t sum;
} account;

typedef struct traffic {
    cc_channel_t *channels[CHANNELS];
    int count, senders, receivers;
    size_t message_size; /* 8 or 16 */
    bool spsc;
    bool closed_early;
    bool polled; /* the last receiver polls the descriptor of the first channel, and receives nothing else */
    uint64_t deadline;
    CC_ALIGNED_(CC_CACHE_LINE) uint32_t sending; /* atomic */
    account sent[MOST_THREADS], received[MOST_THREADS];
} traffic;

static void count_in(account *a, const message *m)
{
    uint64_t hash = m->name;
    a->count++;
    a->sum += test_random(&hash);
}

/* The cases of a select over the channels that are open, from a random one on. With SPSC each sender has channels of
 * its own. */
static size_t make_cases(stress_thread *t, traffic *f, cc_select_case_t *cases, message *m, uint32_t operation,
                         cc_channel_t *const *open)
{
    size_t n = 0;
    int start = (int)stress_random(t, (uint32_t)f->count);
    for (int i = 0; i < f->count; i++) {
        int k = (start + i) % f->count;
        cc_select_case_t one = { open[k], m, operation, 0, NULL, NULL, NULL };
        if (operation == CC_SELECT_SEND && f->spsc && k % f->senders != t->index) continue;
        cases[n++] = one;
        if (stress_random(t, 8) == 0) cases[n++] = one; /* the same once more */
    }
    return n;
}

static int select_somehow(stress_thread *t, cc_select_case_t *cases, size_t n, size_t *which)
{
    uint32_t order = stress_random(t, 2);
    switch (stress_random(t, 8)) {
    case 0: return cc_select_try(cases, n, order, which);
    case 1: return cc_select_timeout(cases, n, order, which, stress_random(t, 20000));
    case 2: return cc_select_until(cases, n, order, which, stress_random(t, 2));
    default: return cc_select(cases, n, order, which);
    }
}

static void send_all(stress_thread *t, traffic *f)
{
    uint64_t number = 0;
    while (cc_now_ns() < f->deadline) {
        uint64_t name = (uint64_t)t->index << 48 | ++number;
        message m = { name, name };
        cc_select_case_t cases[2 * CHANNELS];
        size_t which = 0;
        int result;
        stress_pause(t);
        if (stress_random(t, 4) == 0) {
            int k = f->spsc ? t->index : (int)stress_random(t, (uint32_t)f->count);
            result = cc_channel_send(f->channels[k], &m);
            if (result == EPIPE) continue;
        } else {
            size_t n = make_cases(t, f, cases, &m, CC_SELECT_SEND, f->channels);
            result = select_somehow(t, cases, n, &which);
            CHECK(result == 0 || result == EAGAIN || result == ETIMEDOUT);
            if (result == 0) result = cases[which].result;
        }
        stress_progress(t);
        if (result == 0) count_in(&f->sent[t->index], &m);
        if (f->closed_early && stress_random(t, 2000) == 0)
            cc_channel_close(f->channels[stress_random(t, (uint32_t)f->count)]);
    }
    if (__atomic_sub_fetch(&f->sending, 1, __ATOMIC_ACQ_REL) == 0)
        for (int k = 0; k < f->count; k++) cc_channel_close(f->channels[k]);
}

static void receive_all(stress_thread *t, traffic *f)
{
    int me = t->index - f->senders, left = f->count;
    cc_channel_t *open[CHANNELS];
    memcpy(open, f->channels, sizeof open);
    while (left > 0) {
        message m = { 0, 0 };
        cc_select_case_t cases[2 * CHANNELS];
        size_t which = 0;
        int k = (int)stress_random(t, (uint32_t)f->count), result;
        if (!f->spsc && open[k] && stress_random(t, 8) == 0) {
            result = stress_random(t, 2) ? cc_channel_try_recv(open[k], &m)
                                         : cc_channel_recv_timeout(open[k], &m, stress_random(t, 20000));
            if (result == EPIPE) {
                open[k] = NULL;
                left--;
            }
        } else {
            size_t n = make_cases(t, f, cases, &m, CC_SELECT_RECV, open);
            result = select_somehow(t, cases, n, &which);
            CHECK(result == 0 || result == EAGAIN || result == ETIMEDOUT);
            if (result == 0 && cases[which].result == EPIPE) {
                result = EPIPE;
                for (k = 0; k < f->count; k++)
                    if (open[k] == cases[which].channel) open[k] = NULL;
                left--;
            }
        }
        stress_progress(t);
        if (result == 0) count_in(&f->received[me], &m);
        if (result == 0 && f->message_size == sizeof m) CHECK_EQ(m.name, m.again);
        stress_pause(t);
    }
}

/* Tries until there is nothing, arms, polls. */
static void poll_all(stress_thread *t, traffic *f)
{
#if !defined(_WIN32)
    cc_channel_t *channel = f->channels[0];
    int fd = -1;
    REQUIRE(cc_channel_fd(channel, CC_SELECT_RECV, &fd) == 0);
    for (;;) {
        message m;
        struct pollfd one = { .fd = fd, .events = POLLIN };
        int result = cc_channel_try_recv(channel, &m);
        if (result == EPIPE) return;
        stress_progress(t);
        if (result == 0) count_in(&f->received[t->index - f->senders], &m);
        if (result != EAGAIN || !cc_channel_arm(channel, CC_SELECT_RECV)) continue;
        int ready = poll(&one, 1, STRESS_STALL_S * 1000 + 5000);
        if (!CHECK(ready != 0)) return; /* else the descriptor never became readable */
    }
#else
    (void)t, (void)f;
#endif
}

static void run_thread(stress_thread *t, void *shared)
{
    traffic *f = (traffic *)shared;
    if (t->index < f->senders)
        send_all(t, f);
    else if (f->polled && t->index == f->senders + f->receivers - 1)
        poll_all(t, f);
    else
        receive_all(t, f);
}

static void run(traffic *f, size_t capacity, uint32_t snooze_iters)
{
    account sent = { 0, 0 }, received = { 0, 0 };
    cc_channel_options_t options = { capacity, f->message_size, f->spsc ? CC_CHANNEL_SPSC : CC_CHANNEL_MPMC,
                                     snooze_iters };
    f->deadline = stress_deadline(40);
    f->sending = (uint32_t)f->senders;
    memset(f->sent, 0, sizeof f->sent);
    memset(f->received, 0, sizeof f->received);
    for (int k = 0; k < f->count; k++) REQUIRE(cc_channel_create(&f->channels[k], &options) == 0);
    stress_threads(f->senders + f->receivers, run_thread, f);
    for (int i = 0; i < MOST_THREADS; i++) {
        sent.count += f->sent[i].count;
        sent.sum += f->sent[i].sum;
        received.count += f->received[i].count;
        received.sum += f->received[i].sum;
    }
    CHECK_EQ(sent.count, received.count);
    CHECK_EQ(sent.sum, received.sum);
    for (int k = 0; k < f->count; k++) {
        for (int side = 0; side < 2; side++) CHECK(f->channels[k]->doors[side].first == NULL);
        cc_channel_destroy(f->channels[k]);
    }
}

static const uint32_t snoozes[] = { CC_SNOOZE_NONE, CC_SNOOZE_ADAPTIVE };

STRESS(every_message_arrives_once_by_select_mpmc)
{
    static traffic f;
    for (int i = 0; i < 2; i++) {
        for (int closed_early = 0; closed_early < 2; closed_early++) {
            f = (traffic){ .count = 3, .senders = 2, .receivers = 2, .message_size = 8, .closed_early = closed_early };
            run(&f, 1 + 3 * (size_t)closed_early, snoozes[i]);
            f = (traffic){ .count = 2, .senders = 3, .receivers = 3, .message_size = 16, .closed_early = closed_early };
            run(&f, 2, snoozes[i]);
        }
    }
}

STRESS(every_message_arrives_once_by_select_spsc)
{
    static traffic f;
    for (int i = 0; i < 2; i++) {
        for (int closed_early = 0; closed_early < 2; closed_early++) {
            f = (traffic){ .count = 4, .senders = 2, .receivers = 1, .spsc = true, .closed_early = closed_early };
            f.message_size = 8 + 8 * (size_t)i;
            run(&f, 1 + 3 * (size_t)closed_early, snoozes[i]);
        }
    }
}

#if !defined(_WIN32)
STRESS(an_armed_descriptor_misses_nothing)
{
    static traffic f;
    for (int i = 0; i < 2; i++) {
        f = (traffic){ .count = 1, .senders = 1, .receivers = 1, .message_size = 16, .spsc = true, .polled = true };
        run(&f, 2, snoozes[i]);
        f = (traffic){ .count = 2, .senders = 2, .receivers = 2, .message_size = 8, .polled = true };
        run(&f, 2, snoozes[i]);
        f = (traffic){
            .count = 1, .senders = 2, .receivers = 1, .message_size = 16, .polled = true, .closed_early = true
        };
        run(&f, 1, snoozes[i]);
    }
}
#endif
