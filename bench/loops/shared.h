/* loops/shared.h: messages between two processes, there and back and as fast as it goes.
 *
 * Before including it, define
 *   SUBJECT  NAME  USES  FLAGS             identifier, strings and BENCH_ flags of the subject
 *   CHANNEL                                the type; each process has its own copy of it
 *   OPEN(c, capacity)                      whether that worked; c points to zeroed memory
 *   JOIN(c)                                optional: whether the other process could open it; after the fork, in there
 *   CLOSE(c)                               each process frees what it took
 *   SEND(c, value)  RECEIVE(c, value)      a uint64_t, which is a variable; block until done
 *   IN_ONE_PROCESS                         optional: two threads, to compare with
 * All of them are undefined again at the end. No include guard: once for each subject.
 *
 * Thread 0 is this process. The other process is made before the measurement begins, and thread 1 only tells it on
 * which CPU to go, and waits for its end. A message of value 0 says that all is over. */
#if !defined(BENCH_SHARED_LOOPS)
#define BENCH_SHARED_LOOPS
#include "../bench.h"
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* The loops of all subjects lie alike in memory, and none is inlined: within what leads to _exit(), which gcc takes for
 * cold, the receiver would be made for size, with a call of cc_fence_light_() for each message; and where a loop begins
 * on its line makes a difference of up to 15 % to the same instructions (AMD Zen 4). */
#define BENCH_SHARED_LOOP __attribute__((noinline, aligned(64)))

typedef struct bench_received {
    uint64_t ops, sum;
} bench_received;

/* What each side of the fork knows of the other. */
typedef struct bench_other {
    pid_t process; /* 0: this is the other one, or there is none */
    int line;      /* a socket: "ready" from there, a bench_order to there */
    bench_received *received;
} bench_other;

typedef struct bench_order {
    uint32_t loop;
    cpu_set_t cpus;
} bench_order;

/* Forks. True in both processes; the other one has `process` 0. */
static bool bench_other_start(bench_other *other)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
    void *memory = mmap(NULL, sizeof(bench_received), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    other->process = memory != MAP_FAILED ? fork() : -1;
    bool is_other = other->process == 0;
    if (is_other) (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(ends[is_other ? 0 : 1]);
    other->line = ends[is_other ? 1 : 0];
    other->received = (bench_received *)memory;
    if (other->process >= 0) return true;
    close(other->line);
    if (memory != MAP_FAILED) munmap(memory, sizeof(bench_received));
    return false;
}

static bool bench_other_is_ready(const bench_other *other)
{
    char ready;
    return read(other->line, &ready, 1) == 1;
}

/* In the other process: waits for the order to go. */
static bool bench_other_waits(const bench_other *other, bench_order *order)
{
    char ready = 1;
    if (write(other->line, &ready, 1) != 1) return false;
    if (read(other->line, order, sizeof *order) != (ssize_t)sizeof *order) return false;
    (void)sched_setaffinity(0, sizeof order->cpus, &order->cpus);
    return true;
}

/* Lets it go where this thread is, and waits for its end. */
static void bench_other_runs(const bench_other *other, uint32_t loop, bench_thread *t)
{
    bench_order order;
    char end;
    order.loop = loop;
    if (sched_getaffinity(0, sizeof order.cpus, &order.cpus) != 0) abort();
    if (write(other->line, &order, sizeof order) != (ssize_t)sizeof order) abort();
    while (read(other->line, &end, 1) > 0) {}
    t->ops = other->received->ops;
    t->sum = other->received->sum;
}

static void bench_other_end(bench_other *other)
{
    close(other->line);
    while (waitpid(other->process, NULL, 0) < 0) {}
    munmap(other->received, sizeof(bench_received));
}
#endif

#if !defined(JOIN)
#define JOIN(c) ((void)(c), true)
#endif

typedef struct BENCH_NAME(SUBJECT, object) {
    CC_ALIGNED_(CC_CACHE_LINE) CHANNEL there;
    CC_ALIGNED_(CC_CACHE_LINE) CHANNEL back;
    bench_other other;
} BENCH_NAME(SUBJECT, object);

/* What thread 1 does, or the other process. */
static BENCH_SHARED_LOOP void BENCH_NAME(SUBJECT, receive)(BENCH_NAME(SUBJECT, object) * object, uint32_t loop,
                                                           bench_received *received)
{
    uint64_t value, ops = 0, sum = 0;
    for (;;) {
        RECEIVE(&object->there, value);
        if (loop == BENCH_SHARED_PINGPONG) SEND(&object->back, value);
        if (CC_UNLIKELY_(value == 0)) break;
        sum += value;
        ops++;
    }
    received->ops = ops;
    received->sum = sum;
}

#if !defined(IN_ONE_PROCESS)
static void BENCH_NAME(SUBJECT, be_other)(BENCH_NAME(SUBJECT, object) * object)
{
    bench_order order;
    bool joined = (JOIN(&object->there)) && (JOIN(&object->back));
    if (joined && bench_other_waits(&object->other, &order))
        BENCH_NAME(SUBJECT, receive)(object, order.loop, object->other.received);
    if (joined) {
        CLOSE(&object->there);
        CLOSE(&object->back);
    }
    _exit(0);
}
#endif

static void BENCH_NAME(SUBJECT, destroy)(void *memory)
{
    BENCH_NAME(SUBJECT, object) *object = (BENCH_NAME(SUBJECT, object) *)memory;
    if (object->other.process != 0) bench_other_end(&object->other);
    CLOSE(&object->there);
    CLOSE(&object->back);
    free(memory);
}

static void *BENCH_NAME(SUBJECT, create)(const bench_setting *setting)
{
    if (setting->message_size != sizeof(uint64_t)) return NULL;
    BENCH_NAME(SUBJECT, object) *object = (BENCH_NAME(SUBJECT, object) *)bench_alloc(sizeof *object);
    if (!(OPEN(&object->there, setting->capacity))) {
        free(object);
        return NULL;
    }
    if (!(OPEN(&object->back, setting->capacity))) {
        CLOSE(&object->there);
        free(object);
        return NULL;
    }
#if !defined(IN_ONE_PROCESS)
    bool forked = bench_other_start(&object->other);
    if (forked && object->other.process == 0) BENCH_NAME(SUBJECT, be_other)(object);
    if (!forked) object->other.process = 0;
    if (!forked || !bench_other_is_ready(&object->other)) {
        BENCH_NAME(SUBJECT, destroy)(object);
        return NULL;
    }
#endif
    return object;
}

static BENCH_SHARED_LOOP void BENCH_NAME(SUBJECT, elsewhere)(bench_thread *t, uint32_t loop)
{
    BENCH_NAME(SUBJECT, object) *object = (BENCH_NAME(SUBJECT, object) *)t->object;
#if defined(IN_ONE_PROCESS)
    bench_received received;
    BENCH_NAME(SUBJECT, receive)(object, loop, &received);
    t->ops = received.ops;
    t->sum = received.sum;
#else
    bench_other_runs(&object->other, loop, t);
#endif
}

/* Thread 0 measures from its send to the answer. */
static BENCH_SHARED_LOOP void BENCH_NAME(SUBJECT, pingpong)(bench_thread *t)
{
    BENCH_NAME(SUBJECT, object) *object = (BENCH_NAME(SUBJECT, object) *)t->object;
    uint64_t value, ops = 0;
    if (t->index != 0) {
        BENCH_NAME(SUBJECT, elsewhere)(t, BENCH_SHARED_PINGPONG);
        t->ops = t->sum = 0; /* counted there */
        return;
    }
    uint64_t before = bench_ticks();
    do {
        value = bench_stopped(t) ? 0 : ++ops;
        SEND(&object->there, value);
        RECEIVE(&object->back, value);
        uint64_t after = bench_ticks();
        bench_histogram_add(t->histogram, after - before);
        before = after;
    } while (value != 0);
    t->ops = ops;
}

static BENCH_SHARED_LOOP void BENCH_NAME(SUBJECT, stream)(bench_thread *t)
{
    BENCH_NAME(SUBJECT, object) *object = (BENCH_NAME(SUBJECT, object) *)t->object;
    uint64_t value = 0, sum = 0, last = 0;
    if (t->index != 0) {
        BENCH_NAME(SUBJECT, elsewhere)(t, BENCH_SHARED_STREAM);
        return;
    }
    while (!bench_stopped(t)) {
        sum += ++value;
        SEND(&object->there, value);
    }
    SEND(&object->there, last);
    t->sum = sum;
}

static const bench_subject SUBJECT = {
    BENCH_SHARED,
    FLAGS,
    NAME,
    USES,
    BENCH_NAME(SUBJECT, create),
    BENCH_NAME(SUBJECT, destroy),
    { BENCH_NAME(SUBJECT, pingpong), BENCH_NAME(SUBJECT, stream), NULL, NULL, NULL },
};

#undef SUBJECT
#undef NAME
#undef USES
#undef FLAGS
#undef CHANNEL
#undef OPEN
#undef JOIN
#undef CLOSE
#undef SEND
#undef RECEIVE
#undef IN_ONE_PROCESS
