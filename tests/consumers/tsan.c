/* What ThreadSanitizer says of a program against a library that was not compiled for it: `tsan PART` is right in every
 * part, and `tsan PART race` has one race beside it, which must be found. C and C++. */
#include <concede/concede.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, ROUNDS = 2000 };
static bool races;

/* What the objects below keep apart: plain memory. */
static long plain;
static long raced; /* with `race` touched by two threads that nothing orders */

static void require(bool holds, const char *what)
{
    if (holds) return;
    printf("does not hold: %s\n", what);
    exit(1);
}
#define REQUIRE(condition) require(condition, #condition)

static void run(void *(*function)(void *), int threads, void *argument)
{
    pthread_t thread[THREADS];
    for (int i = 0; i < threads; i++) REQUIRE(pthread_create(&thread[i], NULL, function, argument) == 0);
    for (int i = 0; i < threads; i++) REQUIRE(pthread_join(thread[i], NULL) == 0);
}

/* ---- lock: every way of taking it, with enough threads that some sleep ------------------------------------------ */

static cc_lock_t lock = CC_LOCK_INIT;

static void *count_under_lock(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        switch (i % 4) {
        case 0: cc_lock_acquire(&lock); break;
        case 1: cc_lock_acquire_spin(&lock); break;
        case 2:
            while (!cc_lock_try_acquire(&lock)) cc_pause();
            break;
        default:
            while (!cc_lock_acquire_timeout(&lock, 1000000)) {}
        }
        plain++;
        cc_lock_release(&lock);
    }
    if (races) raced++;
    return unused;
}

static void *hold_for_long(void *unused)
{
    cc_lock_acquire(&lock);
    for (uint64_t end = cc_deadline_in(20000000); cc_now_ns() < end;) {}
    plain++;
    cc_lock_release(&lock);
    return unused;
}

static void part_lock(void)
{
    run(count_under_lock, THREADS, NULL);
    run(hold_for_long, THREADS, NULL);
    REQUIRE(plain == THREADS * (ROUNDS + 1));
}

/* ---- parker and event: who waits sees what was written before the wake-up --------------------------------------- */

static cc_parker_t parker = CC_PARKER_INIT;

static void *give_token(void *unused)
{
    for (uint64_t end = cc_deadline_in(20000000); cc_now_ns() < end;) {}
    plain = 7;
    cc_parker_unpark(&parker);
    if (races) raced++;
    return unused;
}

static void part_parker(void)
{
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, give_token, NULL) == 0);
    cc_parker_park(&parker); /* sleeps, in the library */
    REQUIRE(plain == 7);
    if (races) raced++;
    REQUIRE(pthread_join(thread, NULL) == 0);
}

static cc_event_t event = CC_EVENT_INIT;
static uint32_t ready;

static void *notify_late(void *unused)
{
    for (uint64_t end = cc_deadline_in(20000000); cc_now_ns() < end;) {}
    plain = 7;
    cc_store_release(&ready, 1);
    cc_event_notify_all(&event);
    if (races) raced++;
    return unused;
}

static void part_event(void)
{
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, notify_late, NULL) == 0);
    CC_EVENT_AWAIT(&event, cc_load_acquire(&ready));
    REQUIRE(plain == 7);
    if (races) raced++;
    REQUIRE(pthread_join(thread, NULL) == 0);
}

/* ---- channel: pointers to plain memory, which the receiver frees; and, with SPSC, in place ----------------------- */

static cc_channel_t *channel;
typedef struct {
    long *pointer;
    long more[12]; /* so that the library copies it with memcpy, which ThreadSanitizer sees */
} message_t;
CC_CHANNEL_TYPED(messages, message_t)

static void *send_pointers(void *unused)
{
    message_t two[2];
    memset(two, 0, sizeof two);
    for (int i = 0; i < ROUNDS; i += 2) {
        for (int k = 0; k < 2; k++) {
            two[k].pointer = (long *)malloc(sizeof(long));
            *two[k].pointer = i + k;
        }
        long *kept = two[1].pointer;
        size_t sent = i % 3 == 0 ? messages_send_many(channel, two, 2) : 0;
        for (; sent < 2; sent++) REQUIRE(cc_channel_send(channel, &two[sent]) == 0);
        if (races && i == ROUNDS - 2) *kept = 1; /* the receiver's by now */
    }
    return unused;
}

static void *send_in_place(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        message_t *slot;
        while (!(slot = (message_t *)cc_channel_reserve(channel))) cc_pause();
        slot->pointer = (long *)malloc(sizeof(long));
        *slot->pointer = i;
        memset(slot->more, i, sizeof slot->more);
        cc_channel_commit(channel);
    }
    plain = 7;
    cc_channel_close(channel);
    if (races) raced++;
    return unused;
}

static void receive(const message_t *message)
{
    static long sums[2];
    sums[0] += *message->pointer;
    sums[1] += message->more[11];
    if (!races) free(message->pointer);
}

static void part_channel(uint32_t kind, bool in_place)
{
    pthread_t thread;
    cc_channel_options_t options = { 4, 0, kind, CC_SNOOZE_ADAPTIVE };
    REQUIRE(messages_create(&channel, &options) == 0);
    REQUIRE(pthread_create(&thread, NULL, in_place ? send_in_place : send_pointers, NULL) == 0);
    for (int i = 0; i < ROUNDS; i++) {
        message_t message[2];
        const message_t *slot = i % 2 && in_place ? (const message_t *)cc_channel_peek(channel) : NULL;
        if (slot) {
            receive(slot);
            cc_channel_consume(channel);
        } else if (i % 5 == 4 && cc_channel_recv_many(channel, message, 1) == 1) {
            receive(&message[0]);
        } else {
            REQUIRE(cc_channel_recv(channel, &message[0]) == 0);
            receive(&message[0]);
        }
    }
    if (in_place) { /* what was done before the close is seen after its end */
        message_t none;
        REQUIRE(cc_channel_recv(channel, &none) != 0);
        REQUIRE(plain == 7);
        if (races) raced++;
    }
    REQUIRE(pthread_join(thread, NULL) == 0);
    cc_channel_destroy(channel);
}

/* ---- select: the same by whichever of two channels has room, and by a descriptor's loop -------------------------- */

static cc_channel_t *second;

static void *send_by_select(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        message_t message;
        memset(&message, 0, sizeof message);
        message.pointer = (long *)malloc(sizeof(long));
        *message.pointer = i;
        long *kept = message.pointer;
        cc_select_case_t to[] = { CC_SELECT_CASE_SEND(channel, &message), CC_SELECT_CASE_SEND(second, &message) };
        size_t which;
        REQUIRE(cc_select(to, 2, CC_SELECT_FAIR, &which) == 0 && to[which].result == 0);
        if (races && i == ROUNDS - 1) *kept = 1; /* the receiver's by now */
    }
    return unused;
}

static void part_select(void)
{
    pthread_t thread;
    cc_channel_options_t options[] = { { 4, 0, CC_CHANNEL_MPMC, CC_SNOOZE_ADAPTIVE },
                                       { 4, 0, CC_CHANNEL_SPSC, CC_SNOOZE_ADAPTIVE } };
    REQUIRE(messages_create(&channel, &options[0]) == 0 && messages_create(&second, &options[1]) == 0);
    REQUIRE(pthread_create(&thread, NULL, send_by_select, NULL) == 0);
    for (int i = 0; i < ROUNDS; i++) {
        message_t message;
        cc_select_case_t from[] = { CC_SELECT_CASE_RECV(channel, &message), CC_SELECT_CASE_RECV(second, &message) };
        size_t which;
        while (i % 3 == 0 ? cc_select_try(from, 2, CC_SELECT_IN_ORDER, &which) != 0
                          : cc_select_timeout(from, 2, CC_SELECT_FAIR, &which, 1000000) != 0) {}
        REQUIRE(from[which].result == 0);
        receive(&message);
    }
    REQUIRE(pthread_join(thread, NULL) == 0);
    cc_channel_destroy(channel);
    cc_channel_destroy(second);
}

int main(int argc, char **argv)
{
    const char *part = argc > 1 ? argv[1] : "";
    races = argc > 2 && strcmp(argv[2], "race") == 0;
    if (strcmp(part, "lock") == 0)
        part_lock();
    else if (strcmp(part, "parker") == 0)
        part_parker();
    else if (strcmp(part, "event") == 0)
        part_event();
    else if (strcmp(part, "spsc") == 0)
        part_channel(CC_CHANNEL_SPSC, false);
    else if (strcmp(part, "mpmc") == 0)
        part_channel(CC_CHANNEL_MPMC, false);
    else if (strcmp(part, "in_place") == 0)
        part_channel(CC_CHANNEL_SPSC, true);
    else if (strcmp(part, "select") == 0)
        part_select();
    else
        return 2;
    printf("%s works\n", part);
    return 0;
}
