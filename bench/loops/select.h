/* loops/select.h: a thread receives from several channels: all of them ready, asleep until a message comes, or as fast
 * as another thread sends.
 *
 * Before including it, define
 *   SUBJECT  NAME  USES  FLAGS             identifier, strings and BENCH_ flags of the subject
 *   CHANNELS                               the type of all the channels together
 *   OPEN(c, n, capacity)                   n channels; whether that worked; c points to zeroed memory
 *   CLOSE(c)                               frees what OPEN took
 *   SEND(c, i, value)                      a uint64_t to the i-th; blocks
 *   RECEIVE_LOCAL(c)                       optional: declarations that the receiving thread needs
 *   RECEIVE(c, value)                      sets value to the message of one of them; blocks
 *   READY_ONLY                             optional: it can do nothing else
 * All of them are undefined again at the end. No include guard: once for each subject. */
#include "../bench.h"
#include <stdlib.h>

#if !defined(RECEIVE_LOCAL)
#define RECEIVE_LOCAL(c)
#endif

typedef struct BENCH_NAME(SUBJECT, object) {
    uint32_t channels, capacity;
    CHANNELS all;
} BENCH_NAME(SUBJECT, object);

static void *BENCH_NAME(SUBJECT, create)(const bench_setting *setting)
{
    BENCH_NAME(SUBJECT, object) *object = (BENCH_NAME(SUBJECT, object) *)bench_alloc(sizeof *object);
    object->channels = setting->channels;
    object->capacity = setting->capacity;
    if (OPEN(&object->all, setting->channels, setting->capacity)) return object;
    free(object);
    return NULL;
}

static void BENCH_NAME(SUBJECT, destroy)(void *memory)
{
    BENCH_NAME(SUBJECT, object) *object = (BENCH_NAME(SUBJECT, object) *)memory;
    CLOSE(&object->all);
    free(memory);
}

/* One thread fills all channels, and measures how long it takes to receive all of that. */
static void BENCH_NAME(SUBJECT, ready)(bench_thread *t)
{
    BENCH_NAME(SUBJECT, object) *object = (BENCH_NAME(SUBJECT, object) *)t->object;
    CHANNELS *c = &object->all;
    uint32_t each = object->capacity < 64 ? object->capacity : 64, count = each * object->channels;
    uint64_t value, sum = 0;
    RECEIVE_LOCAL(c)
    while (!bench_stopped(t)) {
        for (uint32_t i = 0; i < count; i++) SEND(c, i % object->channels, i + 1);
        uint64_t before = bench_ticks();
        for (uint32_t i = 0; i < count; i++) {
            RECEIVE(c, value);
            sum += value;
        }
        bench_histogram_add(t->histogram, (bench_ticks() - before) / count);
        sum -= (uint64_t)count * (count + 1) / 2;
        t->ops += count;
    }
    t->sum = sum; /* 0, if what was received is what was sent */
}

#if !defined(READY_ONLY)
/* Thread 0 sends the time at intervals, to one channel after the other; thread 1 measures how late it gets it. */
static void BENCH_NAME(SUBJECT, asleep)(bench_thread *t)
{
    BENCH_NAME(SUBJECT, object) *object = (BENCH_NAME(SUBJECT, object) *)t->object;
    CHANNELS *c = &object->all;
    uint64_t value, due = bench_ticks();
    if (t->index == 0) {
        uint32_t sent = 0;
        do {
            due += bench_gap(t, sent);
            bench_pace(&due);
            value = bench_stopped(t) ? 0 : bench_ticks();
            SEND(c, sent % object->channels, value);
            sent++;
        } while (value != 0);
    } else {
        RECEIVE_LOCAL(c)
        for (;; t->ops++) {
            RECEIVE(c, value);
            if (value == 0) break;
            uint64_t now = bench_ticks();
            bench_histogram_add(t->histogram, now > value ? now - value : 0);
        }
    }
}

/* Thread 0 sends to one channel after the other as fast as it can. */
static void BENCH_NAME(SUBJECT, stream)(bench_thread *t)
{
    BENCH_NAME(SUBJECT, object) *object = (BENCH_NAME(SUBJECT, object) *)t->object;
    CHANNELS *c = &object->all;
    uint32_t channels = object->channels, ended = 0;
    uint64_t value = 0, sum = 0;
    if (t->index == 0) {
        while (!bench_stopped(t)) {
            sum += ++value;
            SEND(c, value % channels, value);
        }
        for (uint32_t i = 0; i < channels; i++) SEND(c, i, 0);
    } else {
        RECEIVE_LOCAL(c)
        while (ended < channels) {
            RECEIVE(c, value);
            ended += value == 0;
            t->ops += value != 0;
            sum += value;
        }
    }
    t->sum = sum;
}
#endif

static const bench_subject SUBJECT = {
    BENCH_SELECT,
    FLAGS,
    NAME,
    USES,
    BENCH_NAME(SUBJECT, create),
    BENCH_NAME(SUBJECT, destroy),
#if defined(READY_ONLY)
    { BENCH_NAME(SUBJECT, ready), NULL, NULL, NULL, NULL },
#else
    { BENCH_NAME(SUBJECT, ready), BENCH_NAME(SUBJECT, asleep), BENCH_NAME(SUBJECT, stream), NULL, NULL },
#endif
};

#undef SUBJECT
#undef NAME
#undef USES
#undef FLAGS
#undef CHANNELS
#undef OPEN
#undef CLOSE
#undef SEND
#undef RECEIVE_LOCAL
#undef RECEIVE
#undef READY_ONLY
