/* The channel's debug checks: with CC_DEBUG, in the user's own compilation, misuse aborts with a message. */
#define CC_DEBUG
#include "harness.h"
#include <concede/select.h>
#include <concede/shared.h>

#if !defined(_WIN32)
#include "aborts.h"
#include <errno.h>

static cc_channel_t *channel;

static void create(uint32_t kind, size_t capacity)
{
    cc_channel_options_t options = { capacity, sizeof(int), kind, CC_SNOOZE_ADAPTIVE };
    if (cc_channel_create(&channel, &options) != 0) _exit(9);
}

/* A private one where the system has none that is shared. */
static void create_shared(uint32_t kind)
{
    cc_shared_t *shared;
    int fd;
    cc_channel_options_t options = { 8, sizeof(int), kind, CC_SNOOZE_ADAPTIVE };
    int error = cc_shared_create_fd(&shared, &options, &fd);
    if (error != 0 && error != ENOSYS) _exit(9);
    if (error == 0)
        channel = cc_shared_channel(shared);
    else
        create(kind, 8);
}

static pthread_t start(void *(*function)(void *))
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, function, NULL) != 0) _exit(9);
    return thread;
}

/* ---- What is right ---------------------------------------------------------------------------------------------- */

enum { MESSAGES = 20000 };

static void *sends(void *unused)
{
    for (int i = 0; i < MESSAGES; i++) {
        int *slot = i % 3 == 0 ? (int *)cc_channel_reserve(channel) : NULL;
        if (slot) {
            *slot = i;
            cc_channel_commit(channel);
        } else if (i % 3 != 1 || cc_channel_send_many(channel, &i, 1) == 0) {
            if (cc_channel_send(channel, &i) != 0) _exit(9);
        }
    }
    return unused;
}

static void *receives(void *unused)
{
    for (int i = 0; i < MESSAGES; i++) {
        int got;
        if (i % 3 == 0 && cc_channel_peek(channel))
            cc_channel_consume(channel);
        else if (i % 3 != 1 || cc_channel_try_recv(channel, &got) != 0)
            if (cc_channel_recv(channel, &got) != 0) _exit(9);
    }
    return unused;
}

/* Threads take turns on each side, one after the other; then many at once where that is allowed. */
static void nothing_wrong(void)
{
    create(CC_CHANNEL_SPSC, 8);
    for (int i = 0; i < 3; i++) {
        pthread_t receiver = start(receives);
        pthread_join(start(sends), NULL);
        pthread_join(receiver, NULL);
    }
    cc_channel_destroy(channel);
    for (int shared = 0; shared < 2; shared++) {
        pthread_t threads[4];
        if (shared)
            create_shared(CC_CHANNEL_MPMC);
        else
            create(CC_CHANNEL_MPMC, 8);
        for (int i = 0; i < 4; i++) threads[i] = start(i % 2 ? sends : receives);
        for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
        cc_channel_destroy(channel);
    }
    cc_channel_destroy(NULL);
}

static void *receives_for_ever(void *unused)
{
    int got;
    (void)!cc_channel_recv(channel, &got);
    return unused;
}

/* The same channel in several cases, and both ways; a descriptor that is armed when the channel is destroyed. */
static void nothing_wrong_in_a_select(void)
{
    int out = 1, in = 0, fd;
    size_t which;
    create(CC_CHANNEL_SPSC, 8);
    cc_select_case_t cases[] = { CC_SELECT_CASE_RECV(channel, &in), CC_SELECT_CASE_RECV(channel, &in),
                                 CC_SELECT_CASE_SEND(channel, &out), CC_SELECT_CASE_RECV(NULL, NULL) };
    for (int i = 0; i < 100; i++)
        if (cc_select(cases, 4, CC_SELECT_FAIR, &which) != 0) _exit(9);
    while (cc_select_try(cases, 2, CC_SELECT_IN_ORDER, &which) == 0) {}
    if (cc_select(NULL, 1, CC_SELECT_FAIR, &which) != EINVAL) _exit(9);
    if (cc_channel_fd(channel, CC_SELECT_RECV, &fd) != 0 || !cc_channel_arm(channel, CC_SELECT_RECV)) _exit(9);
    cc_channel_destroy(channel);
    for (uint32_t kind = CC_CHANNEL_MPMC; kind <= CC_CHANNEL_SPSC; kind++) {
        create_shared(kind);
        cc_select_case_t one = CC_SELECT_CASE_SEND(channel, &out);
        if (cc_select(&one, 1, CC_SELECT_FAIR, &which) != 0) _exit(9);
    }
}

/* The child has the channel, and not the thread that waits on it. */
static void destroyed_in_the_child_of_a_fork(void)
{
    int status = 1;
    create(CC_CHANNEL_MPMC, 8);
    start(receives_for_ever);
    usleep(50000);
    pid_t child = fork();
    if (child == 0) {
        cc_channel_destroy(channel);
        _exit(0);
    }
    if (waitpid(child, &status, 0) != child || status != 0) abort();
}

/* The child has the channel, and not the thread that is receiving from it: it receives itself. */
static void received_from_in_the_child_of_a_fork(void)
{
    int status = 1, message = 7;
    create(CC_CHANNEL_SPSC, 8);
    if (cc_channel_send(channel, &message) != 0 || cc_channel_recv(channel, &message) != 0) _exit(9);
    start(receives_for_ever);
    usleep(50000);
    pid_t child = fork();
    if (child == 0) {
        if (cc_channel_send(channel, &message) != 0 || cc_channel_recv(channel, &message) != 0) _exit(9);
        _exit(0);
    }
    if (waitpid(child, &status, 0) != child || status != 0) abort();
}

/* ---- What is not ------------------------------------------------------------------------------------------------ */

static void *sends_on_and_on(void *unused)
{
    for (int i = 0;; i++)
        if (cc_channel_try_send(channel, &i) == EPIPE) return unused;
}

static void two_senders(void)
{
    create(CC_CHANNEL_SPSC, 1024);
    start(sends_on_and_on);
    sends_on_and_on(NULL);
}

static void two_receivers(void)
{
    create(CC_CHANNEL_SPSC, 8);
    start(receives_for_ever);
    usleep(50000); /* it waits, inside its call */
    receives_for_ever(NULL);
}

static void *selects_for_ever(void *unused)
{
    int got;
    size_t which;
    cc_select_case_t one = CC_SELECT_CASE_RECV(channel, &got);
    (void)cc_select(&one, 1, CC_SELECT_FAIR, &which);
    return unused;
}

static void a_second_receiver_selects(void)
{
    create(CC_CHANNEL_SPSC, 8);
    start(receives_for_ever);
    usleep(50000); /* it waits, inside its call */
    selects_for_ever(NULL);
}

static void two_receivers_of_a_shared_one(void)
{
    create_shared(CC_CHANNEL_SPSC);
    start(receives_for_ever);
    usleep(50000);
    receives_for_ever(NULL);
}

static void a_second_sender_selects(void)
{
    int message = 7;
    size_t which;
    create(CC_CHANNEL_SPSC, 1);
    if (cc_channel_send(channel, &message) != 0) _exit(9);
    start(sends);
    usleep(50000); /* it waits for room */
    cc_select_case_t one = CC_SELECT_CASE_SEND(channel, &message);
    (void)!cc_select_try(&one, 1, CC_SELECT_FAIR, &which);
}

static void destroy_while_one_selects(void)
{
    create(CC_CHANNEL_MPMC, 8);
    start(selects_for_ever);
    usleep(50000);
    cc_channel_destroy(channel);
}

static void select_on_a_destroyed_one(void)
{
    static CC_ALIGNED_(CC_CACHE_LINE) unsigned char memory[sizeof(cc_channel_t) + 512];
    cc_channel_options_t options = CC_CHANNEL_OPTIONS_INIT(8, sizeof(int));
    if (cc_channel_init(memory, sizeof memory, &options, &channel) != 0) _exit(9);
    cc_channel_destroy(channel);
    start(selects_for_ever);
    pause();
}

static void commit_without_reserve(void)
{
    create(CC_CHANNEL_SPSC, 8);
    cc_channel_commit(channel);
}

static void commit_twice(void)
{
    create(CC_CHANNEL_SPSC, 8);
    if (!cc_channel_reserve(channel)) _exit(9);
    cc_channel_commit(channel);
    cc_channel_commit(channel);
}

static void commit_to_many(void)
{
    create(CC_CHANNEL_MPMC, 8);
    (void)!cc_channel_reserve(channel);
    cc_channel_commit(channel);
}

static void consume_nothing(void)
{
    create(CC_CHANNEL_SPSC, 8);
    cc_channel_consume(channel);
}

static void consume_unseen(void)
{
    int message = 7;
    create(CC_CHANNEL_SPSC, 8);
    if (cc_channel_send(channel, &message) != 0) _exit(9);
    cc_channel_consume(channel);
}

static void consume_twice(void)
{
    int messages[] = { 7, 8 };
    create(CC_CHANNEL_SPSC, 8);
    if (cc_channel_send_many(channel, messages, 2) != 2 || !cc_channel_peek(channel)) _exit(9);
    cc_channel_consume(channel);
    cc_channel_consume(channel);
}

static void consume_what_was_received(void)
{
    int messages[] = { 7, 8 }, got;
    create(CC_CHANNEL_SPSC, 8);
    if (cc_channel_send_many(channel, messages, 2) != 2 || !cc_channel_peek(channel)) _exit(9);
    if (cc_channel_recv(channel, &got) != 0) _exit(9);
    cc_channel_consume(channel);
}

static void destroy_while_one_receives(void)
{
    create(CC_CHANNEL_SPSC, 8);
    start(receives_for_ever);
    usleep(50000);
    cc_channel_destroy(channel);
}

static void destroy_while_one_of_many_sends(void)
{
    create(CC_CHANNEL_MPMC, 8);
    start(sends);
    usleep(50000);
    cc_channel_destroy(channel);
}

TEST(correct_use_is_not_complained_about)
{
    check_says_nothing(nothing_wrong);
    check_says_nothing(nothing_wrong_in_a_select);
    check_says_nothing(destroyed_in_the_child_of_a_fork);
    check_says_nothing(received_from_in_the_child_of_a_fork);
}

TEST(misuse_aborts_and_says_what_and_who)
{
    static const struct {
        void (*misuse)(void);
        const char *says;
    } cases[] = {
        { two_receivers, "has one receiver, but thread 2 receives while thread 1 does" },
        { two_senders, "has one sender, but thread " },
        { a_second_receiver_selects, "has one receiver, but thread 2 receives while thread 1 does" },
        { a_second_sender_selects, "has one sender, but thread 1 sends while thread 2 does" },
        { destroy_while_one_selects, "is destroyed by thread 2 while thread 1 waits to receive" },
        { select_on_a_destroyed_one, "is selected on by thread 2 after thread 1 destroyed it" },
        { commit_without_reserve, "is committed to by thread 1, which has reserved nothing" },
        { commit_twice, "is committed to by thread 1, which has reserved nothing" },
        { commit_to_many, "is committed to by thread 1, which has reserved nothing" },
        { consume_nothing, "is consumed from by thread 1, which has not peeked at a message" },
        { consume_unseen, "is consumed from by thread 1, which has not peeked at a message" },
        { consume_twice, "is consumed from by thread 1, which has not peeked at a message" },
        { consume_what_was_received, "is consumed from by thread 1, which has not peeked at a message" },
        { destroy_while_one_receives, "is destroyed by thread 2 while thread 1 waits to receive" },
        { destroy_while_one_of_many_sends, "is destroyed by thread 2 while thread 1 waits to send" },
        { two_receivers_of_a_shared_one, "has one receiver, but thread 2 receives while thread 1 does" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char said[200];
        bool aborted = aborts(cases[i].misuse, said, sizeof said);
        if (!aborted || strncmp(said, "concede: channel ", 17) != 0 || !strstr(said, cases[i].says))
            printf("case %d, \"%s\": it said \"%s\"\n", (int)i, cases[i].says, said);
        CHECK(aborted);
        CHECK(strncmp(said, "concede: channel ", 17) == 0 && strstr(said, cases[i].says) != NULL);
    }
}
#endif
