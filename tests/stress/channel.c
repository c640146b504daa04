/* The channel between real threads: every accepted message arrives exactly once and in its sender's order, whatever is
 * mixed: blocking, trying, timeouts, bursts, in place, and a close at any moment. */
#include "stress.h"
#include <errno.h>

enum { MOST_THREADS = 32, MOST_WORDS = 25, BURST = 7 };

/* The first word says who sent it, the second counts, the rest follows from both: a torn message does not add up. */
typedef struct message {
    uint64_t words[MOST_WORDS];
} message;

/* What one sender sent, or what one receiver got from it; one thread writes it. */
typedef struct account {
    uint64_t count, sum;
    uint64_t last; /* number of the last one, from 1 */
} account;

typedef struct traffic {
    cc_channel_t *channel;
    size_t words;
    bool spsc;
    int senders, receivers;
    uint32_t close_after; /* 0: when all senders are done; else a sender closes after that many messages */
    uint64_t deadline;
    CC_ALIGNED_(CC_CACHE_LINE) uint32_t sending; /* atomic */
    CC_ALIGNED_(CC_CACHE_LINE) account sent[MOST_THREADS];
    account received[MOST_THREADS][MOST_THREADS]; /* by receiver and sender */
} traffic;

struct pair {
    uint64_t words[2];
};
CC_CHANNEL_TYPED(pair, struct pair)

static void fill(const traffic *f, message *m, uint64_t sender, uint64_t number)
{
    m->words[0] = sender;
    m->words[1] = number;
    for (size_t i = 2; i < f->words; i++) m->words[i] = (sender << 32 ^ number) * (i + 1);
}

static void count_in(account *a, uint64_t number)
{
    uint64_t hash = number;
    a->count++;
    a->sum += test_random(&hash);
    a->last = number;
}

static void check_received(traffic *f, int receiver, const void *at)
{
    const uint64_t *words = (const uint64_t *)at;
    uint64_t sender = words[0], number = words[1];
    if (!CHECK(sender < (uint64_t)f->senders)) return;
    account *a = &f->received[receiver][sender];
    CHECK(number > a->last); /* one sender's messages come in order */
    for (size_t i = 2; i < f->words; i++) CHECK_EQ(words[i], (sender << 32 ^ number) * (i + 1));
    count_in(a, number);
}

/* Sends one or some; returns how many were accepted, or -1 when closed. */
static int send_somehow(stress_thread *t, traffic *f, uint64_t number)
{
    message m;
    uint64_t burst[BURST][MOST_WORDS];
    int result;
    fill(f, &m, (uint64_t)t->index, number);
    switch (stress_random(t, 8)) {
    case 0: result = cc_channel_try_send(f->channel, &m); break;
    case 1: result = cc_channel_send_timeout(f->channel, &m, stress_random(t, 20000)); break;
    case 2: result = cc_channel_send_until(f->channel, &m, stress_random(t, 2)); break;
    case 3: {
        size_t n = 1 + stress_random(t, BURST), sent;
        for (size_t i = 0; i < n; i++) {
            fill(f, &m, (uint64_t)t->index, number + i);
            memcpy((uint64_t *)burst + i * f->words, &m, f->words * 8);
        }
        switch (stress_random(t, 3)) {
        case 0:
            sent = cc_channel_send_many(f->channel, burst, n);
            result = sent == 0 && cc_channel_is_closed(f->channel) ? EPIPE : 0;
            break;
        case 1: result = cc_channel_send_all_timeout(f->channel, burst, n, &sent, stress_random(t, 20000)); break;
        default:
            result = cc_channel_send_all(f->channel, burst, n, &sent);
            CHECK(result == EPIPE || (result == 0 && sent == n));
        }
        CHECK(sent <= n);
        return sent == 0 && result == EPIPE ? -1 : (int)sent;
    }
    case 4: /* in place; only where nobody else closes, because a commit does not tell */
        if (f->spsc && f->close_after == 0) {
            uint64_t *place = (uint64_t *)cc_channel_reserve(f->channel);
            if (place == NULL) return 0;
            memcpy(place, &m, f->words * 8);
            cc_channel_commit(f->channel);
            return 1;
        }
        /* fall through */
    default:
        if (f->words == 2 && stress_random(t, 2) == 0) {
            struct pair p = { { m.words[0], m.words[1] } };
            result = pair_send(f->channel, p);
        } else {
            result = cc_channel_send(f->channel, &m);
        }
        CHECK(result == 0 || result == EPIPE);
    }
    CHECK(result == 0 || result == EAGAIN || result == ETIMEDOUT || result == EPIPE);
    return result == 0 ? 1 : result == EPIPE ? -1 : 0;
}

/* Receives one or some; false: closed and drained. */
static bool receive_somehow(stress_thread *t, traffic *f)
{
    int me = t->index - f->senders, result;
    message m;
    uint64_t burst[BURST][MOST_WORDS];
    switch (stress_random(t, 8)) {
    case 0: result = cc_channel_try_recv(f->channel, &m); break;
    case 1: result = cc_channel_recv_timeout(f->channel, &m, stress_random(t, 20000)); break;
    case 2: result = cc_channel_recv_until(f->channel, &m, stress_random(t, 2)); break;
    case 3: {
        size_t most = 1 + stress_random(t, BURST), n = 0;
        switch (stress_random(t, 3)) {
        case 0:
            n = cc_channel_recv_many(f->channel, burst, most);
            result = 0;
            break;
        case 1: result = cc_channel_recv_some_timeout(f->channel, burst, most, &n, stress_random(t, 20000)); break;
        default: result = cc_channel_recv_some(f->channel, burst, most, &n); CHECK(result == (n > 0 ? 0 : EPIPE));
        }
        CHECK(n <= most);
        for (size_t i = 0; i < n; i++) check_received(f, me, (uint64_t *)burst + i * f->words);
        return result != EPIPE;
    }
    case 4:
        if (f->spsc) {
            const void *place = cc_channel_peek(f->channel);
            if (place == NULL) return true;
            check_received(f, me, place);
            cc_channel_consume(f->channel);
            return true;
        }
        /* fall through */
    default: result = cc_channel_recv(f->channel, &m); CHECK(result == 0 || result == EPIPE);
    }
    CHECK(result == 0 || result == EAGAIN || result == ETIMEDOUT || result == EPIPE);
    if (result == 0) check_received(f, me, &m);
    return result != EPIPE;
}

static void traffic_body(stress_thread *t, void *shared)
{
    traffic *f = (traffic *)shared;
    if (t->index < f->senders) {
        account *a = &f->sent[t->index];
        for (uint64_t number = 1; cc_now_ns() < f->deadline;) {
            int sent = send_somehow(t, f, number);
            if (sent < 0) break;
            for (int i = 0; i < sent; i++) count_in(a, number++);
            if (sent == 0) number++; /* refused: a gap, not a message */
            if (f->close_after > 0 && t->index == 0 && number > f->close_after) cc_channel_close(f->channel);
            stress_progress(t);
            if (stress_random(t, 8) == 0) stress_pause(t);
            if (stress_random(t, 4096) == 0) stress_sleep_ms(1);
        }
        if (cc_fetch_sub_acq_rel(&f->sending, 1) == 1) cc_channel_close(f->channel);
        return;
    }
    while (receive_somehow(t, f)) {
        stress_progress(t);
        if (stress_random(t, 8) == 0) stress_pause(t);
        if (stress_random(t, 4096) == 0) stress_sleep_ms(1);
    }
    message m;
    CHECK_EQ(cc_channel_try_recv(f->channel, &m), EPIPE); /* and that is final */
    CHECK_EQ(cc_channel_recv(f->channel, &m), EPIPE);
}

static void run_traffic(int senders, int receivers, uint32_t kind, uint64_t ms)
{
    static traffic f;
    static uint64_t random;
    static const size_t capacities[] = { 1, 2, 3, 8, 100, 1024 }, words[] = { 2, 3, MOST_WORDS };
    static const uint32_t snoozes[] = { CC_SNOOZE_ADAPTIVE, CC_SNOOZE_NONE, 8 };
    if (random == 0) random = test_seed(42);
    memset(&f, 0, sizeof f);
    f.words = words[test_random(&random) % 3];
    f.spsc = kind == CC_CHANNEL_SPSC;
    f.senders = senders;
    f.receivers = receivers;
    f.sending = (uint32_t)senders;
    f.close_after = test_random(&random) % 2 ? 0 : (uint32_t)(1 + test_random(&random) % 2000);
    f.deadline = stress_deadline(ms);
    cc_channel_options_t options = { capacities[test_random(&random) % 6], f.words * 8, kind,
                                     snoozes[test_random(&random) % 3] };
    REQUIRE(cc_channel_create(&f.channel, &options) == 0);
    stress_threads(senders + receivers, traffic_body, &f);
    for (int s = 0; s < senders; s++) {
        account all = { 0, 0, 0 };
        for (int r = 0; r < receivers; r++) {
            all.count += f.received[r][s].count;
            all.sum += f.received[r][s].sum;
        }
        if (!CHECK_EQ(f.sent[s].count, all.count) || !CHECK_EQ(f.sent[s].sum, all.sum))
            printf("  sender %d of %d to %d, kind %u, capacity %zu, %zu words, snooze %u, close after %u\n", s, senders,
                   receivers, (unsigned)kind, options.capacity, f.words, (unsigned)options.snooze_iters,
                   (unsigned)f.close_after);
    }
    CHECK_EQ(cc_channel_len(f.channel), 0);
    CHECK_EQ(f.channel->not_full.waiters & (CC_EVENT_LISTENING_ | CC_EVENT_CLAIMS_), 0);
    CHECK_EQ(f.channel->not_empty.waiters & (CC_EVENT_LISTENING_ | CC_EVENT_CLAIMS_), 0);
    cc_channel_destroy(f.channel);
}

static void many_times(int senders, int receivers, uint32_t kind, int times, uint64_t ms)
{
    for (int i = 0; i < times; i++) run_traffic(senders, receivers, kind, ms);
}

STRESS(spsc_one_to_one_loses_nothing)
{
    many_times(1, 1, CC_CHANNEL_SPSC, 15, 20);
}

STRESS(mpmc_one_to_one_loses_nothing)
{
    many_times(1, 1, CC_CHANNEL_MPMC, 10, 20);
}

STRESS(many_to_one_loses_nothing)
{
    many_times(4, 1, CC_CHANNEL_MPMC, 6, 30);
}

STRESS(one_to_many_loses_nothing)
{
    many_times(1, 4, CC_CHANNEL_MPMC, 6, 30);
}

STRESS(many_to_many_loses_nothing)
{
    many_times(3, 3, CC_CHANNEL_MPMC, 8, 40);
}

STRESS(thirty_two_threads_lose_nothing)
{
    many_times(16, 16, CC_CHANNEL_MPMC, 3, 80);
}

/* Messages go round between two channels, as many as fit both or just one, and nobody uses a deadline: each wake-up is
 * needed, and no other message comes along to make up for one that was lost. */
typedef struct circle {
    cc_channel_t *channels[2];
    uint64_t deadline;
    CC_ALIGNED_(CC_CACHE_LINE) uint64_t in_hand; /* atomic: messages whose send found the channel closed */
} circle;

static void circle_body(stress_thread *t, void *shared)
{
    circle *c = (circle *)shared;
    cc_channel_t *from = c->channels[t->index % 2], *to = c->channels[1 - t->index % 2];
    for (uint64_t m; cc_channel_recv(from, &m) == 0; stress_progress(t)) {
        if (stress_random(t, 16) == 0) stress_pause(t);
        if (cc_channel_send(to, &m) != 0) cc_fetch_add_relaxed(&c->in_hand, 1);
        if (cc_now_ns() >= c->deadline) {
            cc_channel_close(from);
            cc_channel_close(to);
        }
    }
}

static void run_circle(int threads, uint32_t kind, size_t capacity, uint32_t snooze, bool full)
{
    static circle c;
    cc_channel_options_t options = { capacity, sizeof(uint64_t), kind, snooze };
    memset(&c, 0, sizeof c);
    uint64_t put = 0, found = 0, m;
    for (int i = 0; i < 2; i++) REQUIRE(cc_channel_create(&c.channels[i], &options) == 0);
    for (m = 0; (full || m == 0) && cc_channel_try_send(c.channels[m % 2], &m) == 0; m++) put++;
    c.deadline = stress_deadline(15);
    stress_threads(threads, circle_body, &c);
    while (cc_channel_try_recv(c.channels[0], &m) == 0 || cc_channel_try_recv(c.channels[1], &m) == 0) found++;
    CHECK_EQ(found + c.in_hand, put);
    for (int i = 0; i < 2; i++) cc_channel_destroy(c.channels[i]);
}

STRESS(messages_that_go_round_never_stop)
{
    static const uint32_t snoozes[] = { CC_SNOOZE_ADAPTIVE, CC_SNOOZE_NONE, 8 };
    for (int i = 0; i < 3; i++) {
        for (size_t capacity = 1; capacity <= 4; capacity += 3) {
            for (int full = 0; full < 2; full++) {
                run_circle(2, CC_CHANNEL_SPSC, capacity, snoozes[i], full);
                run_circle(2, CC_CHANNEL_MPMC, capacity, snoozes[i], full);
                run_circle(8, CC_CHANNEL_MPMC, capacity, snoozes[i], full);
            }
        }
    }
}

/* Short lives: a few messages, and a third thread closes the channel meanwhile. What the senders were told was accepted
 * and what the receivers got is the same, in thousands of closes. */
typedef struct lives {
    cc_channel_t *channel;
    CC_ALIGNED_(CC_CACHE_LINE) uint64_t arrived, born;
    CC_ALIGNED_(CC_CACHE_LINE) uint64_t accepted, got;
    int senders, receivers;
    uint32_t kind;
    uint64_t rounds;
} lives;

static CC_ALIGNED_(CC_CACHE_LINE) unsigned char lives_memory[4096];

/* Everybody has left the last life; the closer begins the next. */
static void next_life(stress_thread *t, lives *l, uint64_t round)
{
    uint64_t threads = (uint64_t)(l->senders + l->receivers + 1);
    cc_backoff_t backoff = { 1, 1, 16, 0, 4 };
    cc_fetch_add_acq_rel(&l->arrived, 1);
    if (t->index == 0) {
        while (cc_load_acquire(&l->arrived) != threads * round) cc_backoff_snooze(&backoff);
        CHECK_EQ(l->accepted, l->got);
        cc_channel_options_t options = { 1 + stress_random(t, 4), 8, l->kind,
                                         stress_random(t, 3) ? CC_SNOOZE_NONE : 3 };
        REQUIRE(cc_channel_init(lives_memory, sizeof lives_memory, &options, &l->channel) == 0);
        cc_store_release(&l->born, round);
    }
    while (cc_load_acquire(&l->born) != round) cc_backoff_snooze(&backoff);
}

static void lives_body(stress_thread *t, void *shared)
{
    lives *l = (lives *)shared;
    for (uint64_t round = 1; round <= l->rounds; round++) {
        uint64_t m = round, burst[3], mine = 0;
        next_life(t, l, round);
        for (uint32_t delay = stress_random(t, 300); delay > 0; delay--) CC_COMPILER_BARRIER_();
        if (t->index == 0) {
            cc_channel_close(l->channel);
        } else if (t->index <= l->senders) {
            while (cc_channel_send(l->channel, &m) == 0) mine++;
            CHECK_EQ(cc_channel_try_send(l->channel, &m), EPIPE);
            cc_fetch_add_relaxed(&l->accepted, mine);
        } else {
            int end;
            do {
                mine += cc_channel_recv_many(l->channel, burst, 3);
                if ((end = cc_channel_recv(l->channel, &m)) == 0) mine++;
            } while (end == 0);
            CHECK_EQ(end, EPIPE);
            CHECK_EQ(cc_channel_try_recv(l->channel, &m), EPIPE);
            cc_fetch_add_relaxed(&l->got, mine);
        }
        stress_progress(t);
    }
    next_life(t, l, l->rounds + 1);
}

STRESS(a_close_at_any_moment_loses_nothing_that_was_accepted)
{
    static const int threads[][2] = { { 1, 1 }, { 1, 1 }, { 1, 2 }, { 2, 2 } };
    for (int i = 0; i < 4; i++) {
        static lives l;
        memset(&l, 0, sizeof l);
        l.senders = threads[i][0];
        l.receivers = threads[i][1];
        l.kind = i == 0 ? CC_CHANNEL_SPSC : CC_CHANNEL_MPMC;
        l.rounds = test_effort(i == 0 ? 2500 : 700);
        stress_threads(l.senders + l.receivers + 1, lives_body, &l);
    }
}
