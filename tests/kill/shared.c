/* shared.c: processes that share a channel are killed, at every step and at any time, and the others go on: nothing is
 * lost, nothing comes twice or in part, every death is reported once, and nobody is stuck. 300 kills; 10,000 with
 * TEST_EFFORT 1000. */
#define TEST_LIMIT_SECONDS 1700
#include "harness.h"

#include <concede/concede.h>

#include <errno.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

long kill_in;
void kill_now(void)
{
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

enum {
    ARENAS = 6,
    CHILDREN = 2,
    NUMBERS = 1 << 15,
    STEPS_FEW = 30,
    STEPS_MAX = 300,
    STUCK_MS = 20000,
    WORDS = 5,
    CAPACITY = 4,
    NOT_OPENED = 100 /* and the error: how a child ends that cannot open the channel */
};

/* A message: whose, which one, and words that must fit these. */
typedef struct message {
    uint64_t life, number, fill[WORDS];
} message;

static message message_of(uint64_t life, uint64_t number)
{
    message m = { life, number, { 0 } };
    for (int i = 0; i < WORDS; i++) m.fill[i] = (life * 1000003 + number) * 2654435761u + (uint64_t)i;
    return m;
}

static bool is_whole(const message *m)
{
    message right = message_of(m->life, m->number);
    return memcmp(&right, m, sizeof right) == 0;
}

/* What processes write down, each a word of its own, in memory that outlives them. */
typedef struct diary {
    uint64_t accepted;  /* messages whose send returned 0 */
    uint64_t got;       /* the number after the last one that it received */
    uint64_t life_seen; /* whose that was */
    uint64_t alive_at;  /* cc_now_ns() of its last deed */
    uint64_t deaths;    /* EOWNERDEAD that it was told */
    uint64_t bad;       /* something that must not be */
} diary;

/* One channel and those who use it; several go on at the same time, each in a process with one thread: that forks, and
 * a child of a process with several threads may find a lock of the C library, or of an emulator, held for ever. */
typedef struct arena {
    cc_shared_t *shared, *idle;
    cc_channel_t *channel, *idle_private;
    int fd;
    bool many; /* senders and receivers */
    uint64_t random, slowest_ns;
    unsigned kills, late, rounds;
    struct notes *notes; /* in shared memory */
} arena;

typedef struct notes {
    diary of[CHILDREN];
    unsigned char received[CHILDREN + 1][NUMBERS]; /* many to many: of each child and the parent, how often */
} notes;

static void write_down(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static uint64_t read_up(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static uint32_t some(arena *a, uint32_t below)
{
    return (uint32_t)((test_random(&a->random) >> 32) * below >> 32);
}

static cc_channel_t *child_opens(arena *a, diary *own)
{
    cc_shared_t *shared;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int error = cc_shared_open_fd(&shared, a->fd);
    if (error != 0) _exit(NOT_OPENED + error);
    write_down(&own->alive_at, cc_now_ns());
    return cc_shared_channel(shared);
}

/* Sends numbers from 0 on, one by one or in bursts, until it dies. */
static void child_sends(arena *a, diary *own, uint64_t life, long steps, bool bursts)
{
    cc_channel_t *channel = child_opens(a, own);
    kill_in = steps;
    for (uint64_t number = 0;;) {
        if (number + 3 > NUMBERS) pause();
        message burst[3] = { message_of(life, number), message_of(life, number + 1), message_of(life, number + 2) };
        size_t sent = 0;
        int error = bursts ? cc_channel_send_all(channel, burst, 3, &sent) : cc_channel_send(channel, burst);
        if (!bursts) sent = error == 0;
        number += sent;
        write_down(&own->accepted, number);
        write_down(&own->alive_at, cc_now_ns());
        if (error == EOWNERDEAD)
            own->deaths++;
        else if (error != 0)
            own->bad = 1;
    }
}

static unsigned note_received(arena *a, const message *m)
{
    return __atomic_fetch_add(&a->notes->received[m->life % 4 % (CHILDREN + 1)][m->number % NUMBERS], 1,
                              __ATOMIC_RELAXED);
}

/* A receive or a send by the call itself, or by a select that has another channel beside it, in which nothing ever
 * happens: one of this process, or one between processes. */
enum { BY_CALL, BY_SELECT, BY_SELECT_SHARED, WAYS };
static int transfer(cc_channel_t *channel, cc_channel_t *beside, bool sends, message *m, uint64_t timeout_ns)
{
    if (!beside && sends) return cc_channel_send_timeout(channel, m, timeout_ns);
    if (!beside) return cc_channel_recv_timeout(channel, m, timeout_ns);
    message never;
    size_t which = 0;
    cc_select_case_t cases[] = { CC_SELECT_CASE_RECV(beside, &never), CC_SELECT_CASE_RECV(channel, m) };
    if (sends) cases[1].operation = CC_SELECT_SEND;
    int error = cc_select_timeout(cases, 2, CC_SELECT_FAIR, &which, timeout_ns);
    return error != 0 ? error : which == 1 ? cases[1].result : EINVAL;
}

static cc_channel_t *beside_of(arena *a, uint32_t way)
{
    return way == BY_CALL ? NULL : way == BY_SELECT ? a->idle_private : cc_shared_channel(a->idle);
}

/* Receives until it dies. */
static void child_receives(arena *a, diary *own, long steps, uint32_t way)
{
    cc_channel_t *channel = child_opens(a, own), *beside = NULL;
    cc_shared_t *idle;
    cc_channel_options_t options = { CAPACITY, sizeof(message), CC_CHANNEL_MPMC, CC_SNOOZE_ADAPTIVE };
    int fd;
    if (way == BY_SELECT && cc_channel_create(&beside, &options) != 0) _exit(11);
    if (way == BY_SELECT_SHARED) {
        if (cc_shared_create_fd(&idle, &options, &fd) != 0) _exit(12);
        beside = cc_shared_channel(idle);
    }
    kill_in = steps;
    for (;;) {
        message m;
        int error = transfer(channel, beside, false, &m, (uint64_t)STUCK_MS * 1000000);
        if (error == 0) {
            if (!is_whole(&m)) own->bad = 2;
            if (a->many && note_received(a, &m) != 0) own->bad = 4;
            write_down(&own->life_seen, m.life);
            write_down(&own->got, m.number + 1);
        } else if (error == EOWNERDEAD) {
            own->deaths++;
        } else {
            own->bad = 3;
        }
        write_down(&own->alive_at, cc_now_ns());
    }
}

/* The steps of a life: most end at a step, some by a signal at any time. */
static long some_steps(arena *a, bool *by_signal)
{
    *by_signal = some(a, 4) == 0;
    return *by_signal ? 0 : 1 + (long)some(a, some(a, 2) ? STEPS_FEW : STEPS_MAX);
}

static void kill_after_a_while(arena *a, pid_t child, const diary *own)
{
    uint64_t deadline = cc_deadline_in((uint64_t)STUCK_MS * 1000000);
    while (read_up(&own->alive_at) == 0 && CHECK(cc_now_ns() < deadline)) usleep(100); /* before, nobody knows it */
    struct timespec while_ = { 0, (long)some(a, 3000000) };
    nanosleep(&while_, NULL);
    kill(child, SIGKILL);
}

/* The call said EOWNERDEAD: then the child is dead, and it has not been for long. */
static void told_of(arena *a, pid_t child, const diary *own)
{
    int status = 0;
    pid_t dead = waitpid(child, &status, WNOHANG);
    for (int i = 0; dead == 0 && i < 1000; i++) { /* its locks went first, and then it became something to wait for */
        usleep(1000);
        dead = waitpid(child, &status, WNOHANG);
    }
    CHECK_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : 0, 0); /* else the child could not begin: see its _exit() */
    CHECK(dead == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    if (dead == 0) kill(child, SIGKILL);
    CHECK_EQ(own->bad, 0);
    uint64_t alive_at = read_up(&own->alive_at);
    uint64_t took = cc_now_ns() - alive_at;
    if (took > a->slowest_ns) a->slowest_ns = took;
    if (took > 200000000) a->late++;
    a->kills++;
}

static pid_t start(diary *own)
{
    memset(own, 0, sizeof *own);
    return fork();
}

/* ---- One sender, one receiver ----------------------------------------------------------------------------------- */

/* The sender is killed: the parent gets what it sent, in order, without a gap, and perhaps what it was sending. */
static void spsc_sender_dies(arena *a)
{
    diary *own = &a->notes->of[0];
    bool by_signal, bursts = some(a, 2);
    cc_channel_t *beside = beside_of(a, some(a, WAYS));
    uint64_t life = ++a->rounds, next = 0, told = 0;
    long steps = some_steps(a, &by_signal);
    pid_t child = start(own);
    if (child == 0) child_sends(a, own, life, steps, bursts);
    if (by_signal) kill_after_a_while(a, child, own);
    for (;;) {
        message m;
        int error = transfer(a->channel, beside, false, &m, (uint64_t)STUCK_MS * 1000000);
        if (error == EOWNERDEAD) {
            told++;
            break;
        }
        if (!CHECK_EQ(error, 0)) break;
        CHECK(is_whole(&m) && m.life == life && m.number == next);
        next = m.number + 1;
    }
    told_of(a, child, own);
    for (message m; cc_channel_try_recv(a->channel, &m) == 0; next++)
        CHECK(is_whole(&m) && m.life == life && m.number == next);
    CHECK_EQ(told, 1);
    CHECK(next >= own->accepted && next <= own->accepted + 3);
}

/* The receiver is killed: the next one goes on where it was, or one later, if it had taken that one. */
static void spsc_receiver_dies(arena *a)
{
    diary *own = &a->notes->of[0];
    bool by_signal;
    uint32_t way = some(a, WAYS);
    cc_channel_t *beside = beside_of(a, some(a, WAYS));
    uint64_t life = ++a->rounds, number = 0;
    long steps = some_steps(a, &by_signal);
    for (uint32_t before = some(a, CAPACITY + 1); number < before; number++) {
        message m = message_of(life, number);
        CHECK_EQ(cc_channel_try_send(a->channel, &m), 0);
    }
    pid_t child = start(own);
    if (child == 0) child_receives(a, own, steps, way);
    if (by_signal) kill_after_a_while(a, child, own);
    for (;; number++) {
        message m = message_of(life, number);
        int error = transfer(a->channel, beside, true, &m, (uint64_t)STUCK_MS * 1000000);
        if (error == EOWNERDEAD) break;
        if (!CHECK_EQ(error, 0)) break;
    }
    told_of(a, child, own);
    uint64_t next = read_up(&own->got), dropped = 0;
    for (message m; cc_channel_try_recv(a->channel, &m) == 0; next = m.number + 1) {
        CHECK(is_whole(&m) && m.life == life && m.number >= next);
        dropped += m.number - next;
    }
    CHECK(dropped + (number - next) <= 1); /* the last one there was, if it was that one */
}

/* ---- Many ------------------------------------------------------------------------------------------------------- */

/* Two children, each a sender or a receiver, both to be killed, at times at once; the parent sends and receives. What
 * anybody sent arrives once, but for one message for each receiver that died. The second to die may be burying the
 * first. */
static void mpmc_two_die(arena *a)
{
    pid_t children[CHILDREN];
    uint64_t life = (uint64_t)(++a->rounds) * 4, sent = 0, missing = 0, told = 0;
    bool sends[CHILDREN], by_signal[CHILDREN];
    cc_channel_t *beside = beside_of(a, some(a, WAYS));
    unsigned receivers = 0;
    memset(a->notes->received, 0, sizeof a->notes->received);
    for (uint32_t before = some(a, CAPACITY + 1); sent < before; sent++) {
        message m = message_of(life + CHILDREN, sent);
        CHECK_EQ(cc_channel_try_send(a->channel, &m), 0);
    }
    for (int i = 0; i < CHILDREN; i++) {
        diary *own = &a->notes->of[i];
        long steps = some_steps(a, &by_signal[i]);
        bool bursts = some(a, 2);
        uint32_t way = some(a, WAYS);
        sends[i] = some(a, 2);
        receivers += !sends[i];
        children[i] = start(own);
        if (children[i] == 0 && sends[i]) child_sends(a, own, life + (uint64_t)i, steps, bursts);
        if (children[i] == 0) child_receives(a, own, steps, way);
    }
    uint64_t deadline = cc_deadline_in((uint64_t)STUCK_MS * 1000000);
    for (int i = 0; i < CHILDREN; i++)
        if (by_signal[i]) kill_after_a_while(a, children[i], &a->notes->of[i]);
    while (told < CHILDREN && cc_now_ns() < deadline && test_bad_checks == 0) {
        message m = message_of(life + CHILDREN, sent);
        bool to_send = sent < NUMBERS && some(a, 8) < 3 * receivers;
        int error = transfer(a->channel, beside, to_send, &m, 1000000);
        if (error == EOWNERDEAD) told++;
        if (error == 0 && to_send) sent++;
        if (error == 0 && !to_send) CHECK(is_whole(&m) && m.life / 4 * 4 == life && note_received(a, &m) == 0);
    }
    CHECK_EQ(told, CHILDREN);
    for (int i = 0; i < CHILDREN; i++) told_of(a, children[i], &a->notes->of[i]);
    for (message m; cc_channel_try_recv(a->channel, &m) == 0;)
        CHECK(is_whole(&m) && m.life / 4 * 4 == life && note_received(a, &m) == 0);
    CHECK_EQ(cc_channel_len(a->channel), 0);
    for (int i = 0; i <= CHILDREN; i++) {
        uint64_t count = i == CHILDREN ? sent : sends[i] ? read_up(&a->notes->of[i].accepted) : 0;
        for (uint64_t number = 0; number < count; number++) missing += a->notes->received[i][number] == 0;
    }
    CHECK(missing <= receivers);
}

/* After a death every slot can be used, nothing is in the channel, and nothing is left to be told. */
static void is_as_before(arena *a)
{
    message m;
    for (uint64_t i = 0; i < CAPACITY; i++) {
        m = message_of(1, i);
        CHECK_EQ(cc_channel_try_send(a->channel, &m), 0);
    }
    CHECK_EQ(cc_channel_try_send(a->channel, &m), EAGAIN);
    CHECK_EQ(cc_channel_len(a->channel), CAPACITY);
    for (uint64_t i = 0; i < CAPACITY; i++)
        CHECK(cc_channel_try_recv(a->channel, &m) == 0 && is_whole(&m) && m.number == i);
    CHECK_EQ(cc_channel_recv_timeout(a->channel, &m, 1000000), ETIMEDOUT);
}

static void run_arena(arena *a, uint32_t kind, void (*round_)(arena *), unsigned kills)
{
    cc_channel_options_t options = { CAPACITY, sizeof(message), kind, CC_SNOOZE_ADAPTIVE };
    REQUIRE(cc_shared_create_fd(&a->shared, &options, &a->fd) == 0);
    a->channel = cc_shared_channel(a->shared);
    int idle_fd;
    REQUIRE(cc_shared_create_fd(&a->idle, &options, &idle_fd) == 0);
    close(idle_fd);
    REQUIRE(cc_channel_create(&a->idle_private, &options) == 0);
    a->many = kind == CC_CHANNEL_MPMC;
    while (a->kills < kills && test_bad_checks == 0) {
        round_(a);
        is_as_before(a);
    }
    cc_shared_close(a->shared);
    cc_shared_close(a->idle);
    cc_channel_destroy(a->idle_private);
    close(a->fd);
}

/* Memory that what is forked from here on shares. */
static void *shared_memory(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    return memory;
}

static void arena_process(arena *a, int i, unsigned kills)
{
    static void (*const rounds[])(arena *) = { spsc_sender_dies, spsc_receiver_dies, mpmc_two_die };
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    test_watch_child();
    run_arena(a, i % 3 < 2 ? CC_CHANNEL_SPSC : CC_CHANNEL_MPMC, rounds[i % 3], kills);
    _exit(test_bad_checks != 0);
}

TEST(whoever_is_killed_the_others_go_on)
{
    unsigned kills = 0, late = 0;
    unsigned kills_each = (test_effort_percent >= 1000 ? 10000 : (unsigned)test_effort(300)) / ARENAS + 1;
    uint64_t slowest = 0;
    pid_t processes[ARENAS];
    arena *arenas = shared_memory(sizeof(arena) * ARENAS);
    for (int i = 0; i < ARENAS; i++) {
        arenas[i].random = test_seed((uint64_t)i + 1);
        arenas[i].notes = shared_memory(sizeof(notes));
        processes[i] = fork();
        if (processes[i] == 0) arena_process(&arenas[i], i, kills_each);
        REQUIRE(processes[i] > 0);
    }
    for (int i = 0; i < ARENAS; i++) {
        int status = -1;
        CHECK(waitpid(processes[i], &status, 0) == processes[i]);
        CHECK_EQ(status, 0);
        kills += arenas[i].kills;
        late += arenas[i].late;
        if (arenas[i].slowest_ns > slowest) slowest = arenas[i].slowest_ns;
    }
    CHECK(kills >= kills_each * ARENAS);
    printf("%u kills; %u were reported later than 200 ms after the last sign of life, the slowest after %llu ms\n",
           kills, late, (unsigned long long)(slowest / 1000000));
}
