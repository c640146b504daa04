/* loops/condition.h: threads wait for a condition that a lock protects: one for the other, many for one, and senders
 * and receivers around a bounded buffer.
 *
 * Before including it, define
 *   SUBJECT  NAME  USES  FLAGS             identifier, strings and BENCH_ flags of the subject
 *   LOCK                                   the type
 *   CONDITION                              optional: the type that sleepers wait on
 *   INIT(l, c)  DESTROY(l, c)              optional: of a lock and two conditions; else all zero is valid
 *   ACQUIRE_WHEN(l, c, holds, argument)    takes the lock and returns when holds(argument), an int, is not 0
 *   ACQUIRE(l)  RELEASE(l)                 statements
 *   RELEASE_ONE(l, c)  RELEASE_ALL(l, c)   release it and wake one, or all, who wait on c, in the order that suits it
 * All of them are undefined again at the end. No include guard: once for each subject. */
#include "../bench.h"
#include <stdlib.h>

#if !defined(CONDITION)
#define CONDITION char
#endif
#if !defined(INIT)
#define INIT(l, c) ((void)(l), (void)(c))
#endif
#if !defined(DESTROY)
#define DESTROY(l, c) ((void)(l), (void)(c))
#endif

#if !defined(BENCH_CONDITIONS)
#define BENCH_CONDITIONS
/* The conditions are functions, because some subjects take nothing else. */
typedef struct bench_wanted {
    const uint32_t *number;
    uint32_t value;
} bench_wanted;

static inline int bench_reached(const void *argument)
{
    const bench_wanted *wanted = (const bench_wanted *)argument;
    return *wanted->number == wanted->value;
}

typedef struct bench_buffer {
    uint32_t capacity, count, first;
    uint64_t *slots;
} bench_buffer;

static inline int bench_has_messages(const void *buffer)
{
    return ((const bench_buffer *)buffer)->count > 0;
}

static inline int bench_has_room(const void *buffer)
{
    return ((const bench_buffer *)buffer)->count < ((const bench_buffer *)buffer)->capacity;
}

static inline void bench_put(bench_buffer *b, uint64_t value)
{
    b->slots[(b->first + b->count++) % b->capacity] = value;
}

static inline uint64_t bench_take(bench_buffer *b)
{
    uint64_t value = b->slots[b->first];
    b->first = (b->first + 1) % b->capacity;
    b->count--;
    return value;
}
#endif

typedef struct BENCH_NAME(SUBJECT, object) {
    CC_ALIGNED_(CC_CACHE_LINE) LOCK lock;
    CC_ALIGNED_(CC_CACHE_LINE) CONDITION changed[2]; /* for those who begin or send, and for the others */
    CC_ALIGNED_(CC_CACHE_LINE) uint32_t round;       /* the number of the latest one */
    uint32_t answers;                                /* to it */
    bool over;                                       /* it is the last one */
    bench_buffer buffer;
} BENCH_NAME(SUBJECT, object);

static void *BENCH_NAME(SUBJECT, create)(const bench_setting *setting)
{
    BENCH_NAME(SUBJECT, object) *object = (BENCH_NAME(SUBJECT, object) *)bench_alloc(sizeof *object);
    INIT(&object->lock, object->changed);
    object->buffer.capacity = setting->capacity;
    object->buffer.slots = (uint64_t *)bench_alloc(setting->capacity * sizeof(uint64_t));
    return object;
}

static void BENCH_NAME(SUBJECT, destroy)(void *memory)
{
    BENCH_NAME(SUBJECT, object) *object = (BENCH_NAME(SUBJECT, object) *)memory;
    DESTROY(&object->lock, object->changed);
    free(object->buffer.slots);
    free(memory);
}

/* Thread 0 begins a round and waits until all others have answered. */
static void BENCH_NAME(SUBJECT, rounds)(bench_thread *t)
{
    BENCH_NAME(SUBJECT, object) *object = (BENCH_NAME(SUBJECT, object) *)t->object;
    uint32_t others = t->threads - 1;
    if (t->index == 0) {
        bench_wanted all = { &object->answers, others };
        uint64_t before = bench_ticks();
        for (bool over = false; !over; t->ops++) {
            over = bench_stopped(t);
            ACQUIRE(&object->lock);
            object->round++;
            object->answers = 0;
            object->over = over;
            if (others == 1) {
                RELEASE_ONE(&object->lock, &object->changed[1]);
            } else {
                RELEASE_ALL(&object->lock, &object->changed[1]);
            }
            ACQUIRE_WHEN(&object->lock, &object->changed[0], bench_reached, &all);
            RELEASE(&object->lock);
            uint64_t after = bench_ticks();
            bench_histogram_add(t->histogram, after - before);
            before = after;
        }
    } else {
        bench_wanted next = { &object->round, 0 };
        for (bool over = false; !over;) {
            next.value++;
            ACQUIRE_WHEN(&object->lock, &object->changed[1], bench_reached, &next);
            over = object->over;
            if (++object->answers == others) {
                RELEASE_ONE(&object->lock, &object->changed[0]);
            } else {
                RELEASE(&object->lock);
            }
        }
    }
}

static void BENCH_NAME(SUBJECT, send)(BENCH_NAME(SUBJECT, object) * object, uint64_t value)
{
    ACQUIRE_WHEN(&object->lock, &object->changed[0], bench_has_room, &object->buffer);
    bench_put(&object->buffer, value);
    RELEASE_ONE(&object->lock, &object->changed[1]);
}

static uint64_t BENCH_NAME(SUBJECT, receive)(BENCH_NAME(SUBJECT, object) * object)
{
    ACQUIRE_WHEN(&object->lock, &object->changed[1], bench_has_messages, &object->buffer);
    uint64_t value = bench_take(&object->buffer);
    RELEASE_ONE(&object->lock, &object->changed[0]);
    return value;
}

/* Senders and receivers, which work on each message; the last sender sends a 0 to each receiver. */
static void BENCH_NAME(SUBJECT, buffer)(bench_thread *t)
{
    BENCH_NAME(SUBJECT, object) *object = (BENCH_NAME(SUBJECT, object) *)t->object;
    uint32_t work = t->work;
    uint64_t ops = 0, sum = 0, value;
    if (t->index < t->senders) {
        while (!bench_stopped(t)) {
            BENCH_NAME(SUBJECT, send)(object, ++ops);
            sum += ops;
        }
        t->retries = ops; /* sent; ops is what was received */
        if (cc_fetch_add_acq_rel(t->done, 1) + 1 == t->senders)
            for (uint32_t i = t->senders; i < t->threads; i++) BENCH_NAME(SUBJECT, send)(object, 0);
    } else {
        while ((value = BENCH_NAME(SUBJECT, receive)(object)) != 0) {
            sum += value;
            ops++;
            bench_work(work);
        }
        t->ops = ops;
    }
    t->sum = sum;
}

static const bench_subject SUBJECT = {
    BENCH_CONDITION,
    FLAGS,
    NAME,
    USES,
    BENCH_NAME(SUBJECT, create),
    BENCH_NAME(SUBJECT, destroy),
    { BENCH_NAME(SUBJECT, rounds), BENCH_NAME(SUBJECT, buffer), NULL, NULL, NULL },
};

#undef SUBJECT
#undef NAME
#undef USES
#undef FLAGS
#undef LOCK
#undef CONDITION
#undef INIT
#undef DESTROY
#undef ACQUIRE_WHEN
#undef ACQUIRE
#undef RELEASE
#undef RELEASE_ONE
#undef RELEASE_ALL
