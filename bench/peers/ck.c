/* peers/ck.c: Concurrency Kit.
 *
 *   cas      ck_backoff_eb from its own initial value, fresh for each operation, as its callers use it
 *   lock     ck_spinlock_fas, its backoff form, and ck_spinlock_mcs
 *   park     ck_ec32 in single-producer mode, where its post is cheapest; its wait spins for a
 *            while and then sleeps on a futex
 *   channel  ck_ring in its single-producer single-consumer and its many-to-many form, of pointers with the value in
 *            them (its own fast form); it cannot block, so a full or empty ring is tried again after a pause */
#include "../bench.h"
#include <ck_backoff.h>
#include <ck_ec.h>
#include <ck_md.h>
#include <ck_ring.h>
#include <ck_spinlock.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SUBJECT    ck_eb
#define NAME       "ck_backoff_eb"
#define USES       "ck_backoff_eb from CK_BACKOFF_INITIALIZER, fresh for each operation"
#define FLAGS      0
#define CAS_BEGIN  ck_backoff_t backoff = CK_BACKOFF_INITIALIZER;
#define CAS_FAILED ck_backoff_eb(&backoff);
#include "../loops/cas.h"

#define SUBJECT    ck_fas
#define NAME       "ck_spinlock_fas"
#define USES       "ck_spinlock_fas_lock"
#define FLAGS      0
#define LOCK       ck_spinlock_fas_t
#define ACQUIRE(l) ck_spinlock_fas_lock(l)
#define RELEASE(l) ck_spinlock_fas_unlock(l)
#include "../loops/lock.h"

#define SUBJECT    ck_fas_eb
#define NAME       "ck_spinlock_fas eb"
#define USES       "ck_spinlock_fas_lock_eb, with exponential backoff"
#define FLAGS      0
#define LOCK       ck_spinlock_fas_t
#define ACQUIRE(l) ck_spinlock_fas_lock_eb(l)
#define RELEASE(l) ck_spinlock_fas_unlock(l)
#include "../loops/lock.h"

#define SUBJECT    ck_mcs
#define NAME       "ck_spinlock_mcs"
#define USES       "ck_spinlock_mcs_lock, the node on the thread's stack"
#define FLAGS      BENCH_NO_OVERLOAD
#define LOCK       ck_spinlock_mcs_t
#define LOCK_LOCAL CC_ALIGNED_(CC_CACHE_LINE) ck_spinlock_mcs_context_t node;
#define ACQUIRE(l) ck_spinlock_mcs_lock(l, &node)
#define RELEASE(l) ck_spinlock_mcs_unlock(l, &node)
#include "../loops/lock.h"

/* ---- park -------------------------------------------------------------------------------------------------------- */

#if defined(CK_F_EC_SP)
static int ec_gettime(const struct ck_ec_ops *ops, struct timespec *out)
{
    (void)ops;
    return clock_gettime(CLOCK_MONOTONIC, out);
}

static void ec_wait32(const struct ck_ec_wait_state *state, const uint32_t *word, uint32_t expected,
                      const struct timespec *deadline)
{
    (void)state;
    syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, expected, deadline, NULL, FUTEX_BITSET_MATCH_ANY);
}

static void ec_wake32(const struct ck_ec_ops *ops, const uint32_t *word)
{
    (void)ops;
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

#if defined(CK_F_EC64)
static void ec_wait64(const struct ck_ec_wait_state *state, const uint64_t *word, uint64_t expected,
                      const struct timespec *deadline)
{
    ec_wait32(state, (const uint32_t *)(uintptr_t)word, (uint32_t)expected, deadline);
}

static void ec_wake64(const struct ck_ec_ops *ops, const uint64_t *word)
{
    ec_wake32(ops, (const uint32_t *)(uintptr_t)word);
}
#endif

static const struct ck_ec_ops ec_ops = {
    .gettime = ec_gettime,
    .wait32 = ec_wait32,
    .wake32 = ec_wake32,
#if defined(CK_F_EC64)
    .wait64 = ec_wait64,
    .wake64 = ec_wake64,
#endif
};
static const struct ck_ec_mode ec_single = { .ops = &ec_ops, .single_producer = true };

#define SUBJECT    ck_event
#define NAME       "ck_ec"
#define USES       "ck_ec_inc and ck_ec_wait on a ck_ec32, single producer; the count is the number"
#define FLAGS      (BENCH_CAN_SLEEP | BENCH_SPINS)
#define POST_BOX   struct ck_ec32
#define POST(b, n) ((void)(n), ck_ec_inc(b, &ec_single))
#define AWAIT(b, n) \
    for (uint32_t seen; !BENCH_POSTED((seen = ck_ec_value(b)), (n)&INT32_MAX);) ck_ec_wait(b, &ec_single, seen, NULL)
#include "../loops/park.h"
#endif

/* ---- channel ----------------------------------------------------------------------------------------------------- */

typedef struct ck_channel {
    CC_ALIGNED_(CC_CACHE_LINE) ck_ring_t ring;
    ck_ring_buffer_t *buffer;
} ck_channel;

/* A ring of n slots holds n - 1. */
static bool ck_channel_open(ck_channel *c, uint32_t capacity)
{
    uint32_t slots = 2;
    while (slots < capacity) slots *= 2;
    c->buffer = (ck_ring_buffer_t *)calloc(slots, sizeof *c->buffer);
    ck_ring_init(&c->ring, slots);
    return c->buffer != NULL;
}

#define SUBJECT    ck_spsc
#define NAME       "ck_ring spsc"
#define USES       "ck_ring_enqueue_spsc and ck_ring_dequeue_spsc of a pointer; spins with pauses"
#define FLAGS      BENCH_ONE_TO_ONE
#define CHANNEL    ck_channel
#define OPEN(c, n) (MESSAGE_SIZE == 8 && ck_channel_open(c, n))
#define CLOSE(c)   free((c)->buffer)
#define SEND(c, m) \
    while (!ck_ring_enqueue_spsc(&(c)->ring, (c)->buffer, (void *)(uintptr_t)(m).value)) cc_pause()
#define RECEIVE(c, m)                                                                \
    do {                                                                             \
        void *pointer;                                                               \
        while (!ck_ring_dequeue_spsc(&(c)->ring, (c)->buffer, &pointer)) cc_pause(); \
        (m).value = (uintptr_t)pointer;                                              \
    } while (0)
#include "../loops/channel.h"

#define SUBJECT    ck_mpmc
#define NAME       "ck_ring mpmc"
#define USES       "ck_ring_enqueue_mpmc and ck_ring_dequeue_mpmc of a pointer; spins with pauses"
#define FLAGS      0
#define CHANNEL    ck_channel
#define OPEN(c, n) (MESSAGE_SIZE == 8 && ck_channel_open(c, n))
#define CLOSE(c)   free((c)->buffer)
#define SEND(c, m) \
    while (!ck_ring_enqueue_mpmc(&(c)->ring, (c)->buffer, (void *)(uintptr_t)(m).value)) cc_pause()
#define RECEIVE(c, m)                                                                \
    do {                                                                             \
        void *pointer;                                                               \
        while (!ck_ring_dequeue_mpmc(&(c)->ring, (c)->buffer, &pointer)) cc_pause(); \
        (m).value = (uintptr_t)pointer;                                              \
    } while (0)
#include "../loops/channel.h"

static const bench_subject *const subjects[] = {
    &ck_eb,
    &ck_fas,
    &ck_fas_eb,
    &ck_mcs,
#if defined(CK_F_EC_SP)
    &ck_event,
#endif
    BENCH_SIZES(ck_spsc),
    BENCH_SIZES(ck_mpmc),
    NULL,
};
const bench_peer bench_peer_ck = { "ck", PEER_VERSION, subjects };
