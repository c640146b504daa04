/* loops/lock.h: threads take a lock, increment a counter, hold it for a while, release it, and work elsewhere for a
 * while.
 *
 * Before including it, define
 *   SUBJECT  NAME  USES  FLAGS             identifier, strings and BENCH_ flags of the subject
 *   LOCK                                   the type; it stands on a line of its own, the counter right behind it
 *   LOCK_INIT(l)  LOCK_DESTROY(l)          optional; else all zero is a free lock
 *   LOCK_LOCAL                             optional: declarations that each thread needs
 *   ACQUIRE(l)  RELEASE(l)                 statements
 * All of them are undefined again at the end. No include guard: once for each subject. */
#include "../bench.h"
#include <stdlib.h>

#if !defined(LOCK_INIT)
#define LOCK_INIT(l) ((void)(l))
#endif
#if !defined(LOCK_DESTROY)
#define LOCK_DESTROY(l) ((void)(l))
#endif
#if !defined(LOCK_LOCAL)
#define LOCK_LOCAL
#endif

typedef struct BENCH_NAME(SUBJECT, object) {
    LOCK lock;
    uint64_t counter;
    uint64_t released_at; /* for the hand-off: when, and by which thread, counted from 1 */
    uint32_t released_by;
} BENCH_NAME(SUBJECT, object);

static void *BENCH_NAME(SUBJECT, create)(const bench_setting *setting)
{
    BENCH_NAME(SUBJECT, object) *object = (BENCH_NAME(SUBJECT, object) *)bench_alloc(sizeof *object);
    (void)setting;
    LOCK_INIT(&object->lock);
    return object;
}

static void BENCH_NAME(SUBJECT, destroy)(void *memory)
{
    BENCH_NAME(SUBJECT, object) *object = (BENCH_NAME(SUBJECT, object) *)memory;
    LOCK_DESTROY(&object->lock);
    free(memory);
}

static void BENCH_NAME(SUBJECT, rate)(bench_thread *t)
{
    BENCH_NAME(SUBJECT, object) *object = (BENCH_NAME(SUBJECT, object) *)t->object;
    uint32_t work = t->work;
    uint64_t ops = 0;
    LOCK_LOCAL
    while (!bench_stopped(t)) {
        ACQUIRE(&object->lock);
        bench_increment(&object->counter);
        RELEASE(&object->lock);
        ops++;
        bench_work(work);
    }
    t->ops = ops;
    t->sum = object->counter;
}

static void BENCH_NAME(SUBJECT, latency)(bench_thread *t)
{
    BENCH_NAME(SUBJECT, object) *object = (BENCH_NAME(SUBJECT, object) *)t->object;
    uint32_t held = t->held, gap = 0;
    uint64_t ops = 0;
    LOCK_LOCAL
    while (!bench_stopped(t)) {
        uint64_t before = bench_ticks();
        ACQUIRE(&object->lock);
        uint64_t after = bench_ticks_after();
        bench_increment(&object->counter);
        bench_work(held);
        RELEASE(&object->lock);
        ops++;
        bench_histogram_add(t->histogram, after - before);
        bench_work(bench_gap(t, gap++));
    }
    t->ops = ops;
}

/* From a release to the acquire of another thread that was waiting by then. */
static void BENCH_NAME(SUBJECT, handoff)(bench_thread *t)
{
    BENCH_NAME(SUBJECT, object) *object = (BENCH_NAME(SUBJECT, object) *)t->object;
    uint32_t held = t->held, gap = 0;
    uint64_t ops = 0;
    LOCK_LOCAL
    while (!bench_stopped(t)) {
        uint64_t before = bench_ticks();
        ACQUIRE(&object->lock);
        uint64_t after = bench_ticks_after(), released_at = object->released_at;
        bool handed_over = object->released_by != t->index + 1 && before < released_at;
        bench_increment(&object->counter);
        bench_work(held);
        object->released_by = t->index + 1;
        object->released_at = bench_ticks();
        RELEASE(&object->lock);
        ops++;
        if (handed_over) bench_histogram_add(t->histogram, after > released_at ? after - released_at : 0);
        bench_work(bench_gap(t, gap++));
    }
    t->ops = ops;
}

static const bench_subject SUBJECT = {
    BENCH_LOCK,
    FLAGS,
    NAME,
    USES,
    BENCH_NAME(SUBJECT, create),
    BENCH_NAME(SUBJECT, destroy),
    { BENCH_NAME(SUBJECT, rate), BENCH_NAME(SUBJECT, latency), BENCH_NAME(SUBJECT, handoff), NULL, NULL },
};

#undef SUBJECT
#undef NAME
#undef USES
#undef FLAGS
#undef LOCK
#undef LOCK_INIT
#undef LOCK_DESTROY
#undef LOCK_LOCAL
#undef ACQUIRE
#undef RELEASE
