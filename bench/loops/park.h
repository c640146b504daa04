/* loops/park.h: one thread posts a number, another waits for it; back and forth, with nobody waiting, or at intervals.
 *
 * Before including it, define
 *   SUBJECT  NAME  USES  FLAGS             identifier, strings and BENCH_ flags of the subject
 *   POST_BOX                               the type; all zero: the number 0 is posted
 *   POST_INIT(b)  POST_DESTROY(b)          optional
 *   POST(b, n)                             posts n, which is one more than before, and wakes who waits for it
 *   AWAIT(b, n)                            returns when n, or a later number, is posted
 *   AWAIT_FOR(b, n, ns)                    optional: the same, but no longer than so many ns
 * Two boxes, each on lines of its own. No include guard: once for each subject. */
#include "../bench.h"
#include <stdlib.h>

#if !defined(POST_INIT)
#define POST_INIT(b) ((void)(b))
#endif
#if !defined(POST_DESTROY)
#define POST_DESTROY(b) ((void)(b))
#endif

#if !defined(BENCH_POSTED)
/* Whether number a has been reached when b is wanted; they wrap around. */
#define BENCH_POSTED(a, b) ((int32_t)((a) - (b)) >= 0)
enum { BENCH_STAMPS = 1024 };
#endif

typedef struct BENCH_NAME(SUBJECT, object) {
    CC_ALIGNED_(CC_CACHE_LINE) POST_BOX there;
    CC_ALIGNED_(CC_CACHE_LINE) POST_BOX back;
    CC_ALIGNED_(CC_CACHE_LINE) uint32_t last; /* nonzero: the number after which all is over */
    CC_ALIGNED_(CC_CACHE_LINE) uint64_t stamps[BENCH_STAMPS];
} BENCH_NAME(SUBJECT, object);

static void *BENCH_NAME(SUBJECT, create)(const bench_setting *setting)
{
    BENCH_NAME(SUBJECT, object) *object = (BENCH_NAME(SUBJECT, object) *)bench_alloc(sizeof *object);
    (void)setting;
    POST_INIT(&object->there);
    POST_INIT(&object->back);
    return object;
}

static void BENCH_NAME(SUBJECT, destroy)(void *memory)
{
    BENCH_NAME(SUBJECT, object) *object = (BENCH_NAME(SUBJECT, object) *)memory;
    POST_DESTROY(&object->there);
    POST_DESTROY(&object->back);
    free(memory);
}

/* Thread 0 measures from its post to the answer; thread 1 works for a while before it answers. */
static void BENCH_NAME(SUBJECT, pingpong)(bench_thread *t)
{
    BENCH_NAME(SUBJECT, object) *object = (BENCH_NAME(SUBJECT, object) *)t->object;
    uint32_t n = 0;
    if (t->index == 0) {
        uint64_t before = bench_ticks();
        for (bool stop = false; !stop;) {
            n++;
            stop = bench_stopped(t);
            if (CC_UNLIKELY_(stop)) cc_store_relaxed(&object->last, n);
            POST(&object->there, n);
            AWAIT(&object->back, n);
            uint64_t after = bench_ticks();
            bench_histogram_add(t->histogram, after - before);
            before = after;
        }
        t->ops = n;
    } else {
        uint32_t work = t->work;
        do {
            n++;
            AWAIT(&object->there, n);
            bench_work(work);
            POST(&object->back, n);
        } while (cc_load_relaxed(&object->last) != n);
    }
}

/* Nobody waits. */
static void BENCH_NAME(SUBJECT, post)(bench_thread *t)
{
    BENCH_NAME(SUBJECT, object) *object = (BENCH_NAME(SUBJECT, object) *)t->object;
    uint32_t n = 0;
    while (!bench_stopped(t)) {
        n++;
        POST(&object->there, n);
    }
    t->ops = n;
}

/* Thread 0 posts at intervals, never waiting for thread 1, which measures how late it gets each number. */
static void BENCH_NAME(SUBJECT, paced)(bench_thread *t)
{
    BENCH_NAME(SUBJECT, object) *object = (BENCH_NAME(SUBJECT, object) *)t->object;
    uint32_t n = 0;
    if (t->index == 0) {
        uint64_t due = bench_ticks();
        for (bool stop = false; !stop;) {
            due += bench_gap(t, n);
            bench_pace(&due);
            n++;
            stop = bench_stopped(t);
            if (CC_UNLIKELY_(stop)) cc_store_relaxed(&object->last, n);
            cc_store_relaxed(&object->stamps[n % BENCH_STAMPS], bench_ticks());
            POST(&object->there, n);
        }
    } else {
        do {
            n++;
            AWAIT(&object->there, n);
            uint64_t now = bench_ticks(), then = cc_load_relaxed(&object->stamps[n % BENCH_STAMPS]);
            bench_histogram_add(t->histogram, now > then ? now - then : 0);
        } while (cc_load_relaxed(&object->last) != n);
        t->ops = n;
    }
}

#if defined(AWAIT_FOR)
/* Nobody posts: how long after its time a wait returns. */
static void BENCH_NAME(SUBJECT, timeout)(bench_thread *t)
{
    BENCH_NAME(SUBJECT, object) *object = (BENCH_NAME(SUBJECT, object) *)t->object;
    uint64_t limit = bench_gap(t, 0), ns = (uint64_t)((double)limit / bench_time.ticks_per_ns), ops = 0;
    while (!bench_stopped(t)) {
        uint64_t before = bench_ticks();
        AWAIT_FOR(&object->there, 1, ns);
        uint64_t took = bench_ticks() - before;
        bench_histogram_add(t->histogram, took > limit ? took - limit : 0);
        ops++;
    }
    t->ops = ops;
}
#endif

static const bench_subject SUBJECT = {
    BENCH_PARK,
    FLAGS,
    NAME,
    USES,
    BENCH_NAME(SUBJECT, create),
    BENCH_NAME(SUBJECT, destroy),
#if defined(AWAIT_FOR)
    { BENCH_NAME(SUBJECT, pingpong), BENCH_NAME(SUBJECT, post), BENCH_NAME(SUBJECT, paced),
      BENCH_NAME(SUBJECT, timeout), NULL },
#else
    { BENCH_NAME(SUBJECT, pingpong), BENCH_NAME(SUBJECT, post), BENCH_NAME(SUBJECT, paced), NULL, NULL },
#endif
};

#undef SUBJECT
#undef NAME
#undef USES
#undef FLAGS
#undef POST_BOX
#undef POST_INIT
#undef POST_DESTROY
#undef POST
#undef AWAIT
#undef AWAIT_FOR
