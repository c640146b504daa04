/* operations.c: random sequences of operations in one thread, against models of a few lines: what each call returns,
 * and what is inside afterwards. As a test it draws its own sequences; tests/fuzz builds it for libFuzzer, which looks
 * for sequences that reach new code. */
#if defined(CONCEDE_FUZZ)
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define REQUIRE(condition)                                                                \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
            abort();                                                                      \
        }                                                                                 \
    } while (0)
#else
#include "harness.h"
#endif

#include <concede/concede.h>
#include <errno.h>

/* The sequence: bytes, and zeros after the last one. */
typedef struct input {
    const uint8_t *bytes;
    size_t left;
} input_t;

static unsigned draw(input_t *in, unsigned below)
{
    if (in->left == 0) return 0;
    in->left--;
    return *in->bytes++ % below;
}

/* ---- the channel: a list of numbers, oldest first ---- */

enum { CAPACITY = 16, MESSAGE_SIZE = 40, BURST = 5 };

typedef struct list {
    uint32_t numbers[CAPACITY];
    size_t length, capacity, size;
    uint32_t next;
    bool closed, in_place;
} list_t;

/* A message that says its number in every byte, so that a torn one shows. */
static void fill(unsigned char *message, size_t size, uint32_t number)
{
    for (size_t i = 0; i < size; i++) message[i] = (unsigned char)(number * 31 + i * 7);
}

static void require_oldest(list_t *list, const unsigned char *message)
{
    unsigned char expected[MESSAGE_SIZE];
    REQUIRE(list->length > 0);
    fill(expected, list->size, list->numbers[0]);
    REQUIRE(memcmp(message, expected, list->size) == 0);
    memmove(list->numbers, list->numbers + 1, --list->length * sizeof list->numbers[0]);
}

static void append(list_t *list)
{
    REQUIRE(list->length < list->capacity);
    list->numbers[list->length++] = list->next++;
}

static void channel_step(cc_channel_t *channel, list_t *list, input_t *in)
{
    unsigned char messages[BURST * MESSAGE_SIZE];
    size_t n = 1 + draw(in, BURST);
    int expected_send = list->closed ? EPIPE : list->length == list->capacity ? EAGAIN : 0;
    int expected_recv = list->length > 0 ? 0 : list->closed ? EPIPE : EAGAIN;
    int result;
    for (size_t i = 0; i < n; i++) fill(messages + i * list->size, list->size, list->next + (uint32_t)i);
    switch (draw(in, 16)) {
    case 0:
    case 1: /* a send that would block times out instead; a past deadline still tries once */
        if (expected_send == EAGAIN) {
            REQUIRE(cc_channel_send_until(channel, messages, draw(in, 2)) == ETIMEDOUT);
            REQUIRE(cc_channel_send_timeout(channel, messages, draw(in, 2)) == ETIMEDOUT);
            break;
        }
        result = draw(in, 2) ? cc_channel_send(channel, messages) : cc_channel_send_until(channel, messages, 0);
        REQUIRE(result == expected_send);
        if (result == 0) append(list);
        break;
    case 2:
    case 3:
        REQUIRE(cc_channel_try_send(channel, messages) == expected_send);
        if (expected_send == 0) append(list);
        break;
    case 4:
    case 5:
        if (expected_recv == EAGAIN) {
            REQUIRE(cc_channel_recv_until(channel, messages, draw(in, 2)) == ETIMEDOUT);
            REQUIRE(cc_channel_recv_timeout(channel, messages, draw(in, 2)) == ETIMEDOUT);
            break;
        }
        result = draw(in, 2) ? cc_channel_recv(channel, messages) : cc_channel_recv_until(channel, messages, 0);
        REQUIRE(result == expected_recv);
        if (result == 0) require_oldest(list, messages);
        break;
    case 6:
    case 7:
        REQUIRE(cc_channel_try_recv(channel, messages) == expected_recv);
        if (expected_recv == 0) require_oldest(list, messages);
        break;
    case 8:
    case 9: {
        size_t room = list->closed ? 0 : list->capacity - list->length, fits = n < room ? n : room;
        REQUIRE(cc_channel_send_many(channel, messages, n) == fits);
        for (size_t i = 0; i < fits; i++) append(list);
        break;
    }
    case 10:
    case 11: {
        size_t there = n < list->length ? n : list->length;
        REQUIRE(cc_channel_recv_many(channel, messages, n) == there);
        for (size_t i = 0; i < there; i++) require_oldest(list, messages + i * list->size);
        break;
    }
    case 12: {
        void *slot = cc_channel_reserve(channel);
        REQUIRE((slot != NULL) == (list->in_place && expected_send == 0));
        if (slot && draw(in, 4)) { /* else it thinks better of it */
            fill(slot, list->size, list->next);
            cc_channel_commit(channel);
            append(list);
        }
        break;
    }
    case 13: {
        const void *slot = cc_channel_peek(channel);
        REQUIRE((slot != NULL) == (list->in_place && list->length > 0));
        if (slot && draw(in, 4)) {
            require_oldest(list, slot);
            cc_channel_consume(channel);
        }
        break;
    }
    case 14:
        if (draw(in, 8) == 7) {
            cc_channel_close(channel);
            list->closed = true;
        }
        break;
    default:
        REQUIRE(cc_channel_send_many(channel, messages, 0) == 0 && cc_channel_recv_many(channel, messages, 0) == 0);
    }
    REQUIRE(cc_channel_len(channel) == list->length);
    REQUIRE(cc_channel_is_closed(channel) == list->closed);
}

static void channel_sequence(input_t *in)
{
    static const uint32_t snoozes[] = { CC_SNOOZE_ADAPTIVE, CC_SNOOZE_NONE, 1, 9 };
    static CC_ALIGNED_(CC_CACHE_LINE) unsigned char memory[sizeof(cc_channel_t) + CAPACITY * 128];
    size_t asked = 1 + draw(in, CAPACITY), bytes = 0;
    cc_channel_options_t options = { asked, 1 + draw(in, MESSAGE_SIZE), draw(in, 2) ? CC_CHANNEL_SPSC : CC_CHANNEL_MPMC,
                                     snoozes[draw(in, 4)] };
    list_t list = { { 0 }, 0, 1, options.message_size, 0, false, options.kind == CC_CHANNEL_SPSC };
    cc_channel_t *channel = NULL;
    while (list.capacity < asked) list.capacity *= 2;
    REQUIRE(cc_channel_sizeof(&options, &bytes) == 0 && bytes <= sizeof memory);
    bool ours = draw(in, 2);
    if (ours) {
        REQUIRE(cc_channel_init(memory, bytes - 1, &options, &channel) == EINVAL);
        REQUIRE(cc_channel_init(memory, bytes, &options, &channel) == 0);
    } else {
        REQUIRE(cc_channel_create(&channel, &options) == 0);
    }
    REQUIRE(cc_channel_capacity(channel) == list.capacity);
    while (in->left > 0) channel_step(channel, &list, in);
    cc_channel_destroy(channel);
}

/* Options of all kinds: refused, or a size that holds what was asked for. */
static void options_sequence(input_t *in)
{
    static const size_t odd[] = {
        0, 1, 2, 3, 7, 64, 4096, (size_t)1 << 31, SIZE_MAX / 4, SIZE_MAX / 2 + 1, SIZE_MAX - 1, SIZE_MAX
    };
    cc_channel_options_t options = { odd[draw(in, 12)] + draw(in, 3), odd[draw(in, 12)] + draw(in, 3), draw(in, 4),
                                     draw(in, 2) ? UINT32_MAX - draw(in, 3) : draw(in, 200) };
    size_t bytes = 0;
    int error = cc_channel_sizeof(&options, &bytes);
    REQUIRE(error == 0 || error == EINVAL);
    if (options.capacity == 0 || options.message_size == 0 || options.kind > 1) REQUIRE(error == EINVAL);
    if (error == 0) {
        REQUIRE(bytes / options.capacity >= options.message_size);
        if (bytes < 1 << 20) {
            cc_channel_t *channel = NULL;
            REQUIRE(cc_channel_create(&channel, &options) == 0);
            REQUIRE(cc_channel_capacity(channel) >= options.capacity);
            cc_channel_destroy(channel);
        }
    }
}

/* ---- parker, lock, event: a token, a flag, a count ---- */

static void words_sequence(input_t *in)
{
    cc_parker_t parker = CC_PARKER_INIT;
    cc_lock_t lock = CC_LOCK_INIT;
    cc_event_t event = CC_EVENT_INIT;
    bool token = false, held = false;
    while (in->left > 0) {
        switch (draw(in, 8)) {
        case 0:
            cc_parker_unpark(&parker);
            token = true;
            break;
        case 1: {
            unsigned how = draw(in, 3);
            if (token && how == 0)
                cc_parker_park(&parker);
            else
                REQUIRE((how == 1   ? cc_parker_park_timeout(&parker, 1)
                         : how == 2 ? cc_parker_park_until(&parker, 0)
                                    : cc_parker_try_park(&parker)) == token);
            token = false;
            break;
        }
        case 2:
            if (held)
                REQUIRE(!cc_lock_try_acquire(&lock) && !cc_lock_acquire_until(&lock, 0));
            else if (draw(in, 2))
                cc_lock_acquire(&lock);
            else if (draw(in, 2))
                cc_lock_acquire_spin(&lock);
            else
                REQUIRE(draw(in, 2) ? cc_lock_try_acquire(&lock) : cc_lock_acquire_until(&lock, 0));
            held = true;
            break;
        case 3:
            if (held) cc_lock_release(&lock);
            held = false;
            break;
        case 4: { /* a notify since listen ends the wait; without one only the deadline does */
            uint32_t key = cc_event_listen(&event);
            unsigned notifies = draw(in, 3);
            if (notifies == 1) cc_event_notify_one(&event);
            if (notifies == 2) cc_event_notify_all(&event);
            if (draw(in, 2))
                cc_event_cancel(&event);
            else
                REQUIRE(cc_event_wait_until(&event, key, notifies ? CC_FOREVER : 0) == (notifies != 0));
            break;
        }
        case 5: { /* a wait looks once before it listens and once after that; beside busy neighbours no more often */
            unsigned looks = 0, wanted = 1 + draw(in, 2);
            REQUIRE(!CC_EVENT_AWAIT_UNTIL(&event, (looks++, false), 0) && looks >= 1);
            looks = 0;
            CC_EVENT_AWAIT(&event, ++looks == wanted);
            break;
        }
        case 6: cc_event_notify_one(&event); break;
        default: cc_event_notify_all(&event);
        }
        REQUIRE(event.waiters == 0);
    }
    if (held) cc_lock_release(&lock);
    REQUIRE((lock.word & CC_LOCK_HELD_) == 0);
}

/* ---- backoff: current doubles from min to max ---- */

static void backoff_sequence(input_t *in)
{
    static const uint32_t odd[] = { 0, 1, 2, 3, 5, 64, 100, 1000 };
    uint32_t min = odd[draw(in, 8)], max = odd[draw(in, 8)], rng = draw(in, 255);
    uint32_t low = min ? min : 1, high = max < low ? low : max;
    uint64_t current = low;
    uint32_t yields = 0;
    cc_backoff_t b;
    cc_backoff_init(&b, min, max);
    while (in->left > 0) {
        unsigned what = draw(in, 6);
        if (what <= 2) {
            if (what == 0)
                cc_backoff_spin(&b);
            else if (what == 1)
                cc_backoff_snooze(&b);
            else
                cc_backoff_jitter(&b, &rng);
            if (current < high)
                current = current * 2 < high ? current * 2 : high;
            else if (yields == 0)
                yields = 1;
            else if (what == 1 && yields <= 4)
                yields++;
        } else if (what == 3) {
            current = current / 2 > low ? current / 2 : low;
            yields = 0;
            cc_backoff_ease(&b);
        } else if (what == 4) {
            current = low;
            yields = 0;
            cc_backoff_reset(&b);
        }
        REQUIRE(b.current == current && b.yields == yields);
        REQUIRE(cc_backoff_is_completed(&b) == (yields > 4));
    }
}

static void sequence(const uint8_t *bytes, size_t size)
{
    input_t in = { bytes, size };
    switch (draw(&in, 8)) {
    case 0: options_sequence(&in); break;
    case 1: words_sequence(&in); break;
    case 2: backoff_sequence(&in); break;
    default: channel_sequence(&in);
    }
}

#if defined(CONCEDE_FUZZ)
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sequence(data, size);
    return 0;
}
#else
TEST(sequences_of_operations_do_what_a_simple_model_does)
{
    uint64_t rng = test_seed(1);
    for (unsigned i = 0; i < test_effort(20000); i++) {
        uint8_t bytes[160];
        for (size_t k = 0; k < sizeof bytes; k++) bytes[k] = (uint8_t)test_random(&rng);
        sequence(bytes, sizeof bytes);
    }
}
#endif
