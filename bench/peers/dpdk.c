/* peers/dpdk.c: the Data Plane Development Kit.
 *
 *   channel  rte_ring in memory of our own, which needs none of the set-up that the rest of DPDK does; single and burst
 *            calls. It cannot block: full or empty, it is tried again after a pause. Its many-to-many form waits for a
 *            thread that was preempted half-way */
#include "../bench.h"
#include <rte_ring.h>
#include <stdlib.h>

/* A ring of n slots holds n - 1. */
static struct rte_ring *ring_open(uint32_t capacity, uint32_t size, unsigned flags)
{
    uint32_t slots = 2;
    while (slots < capacity) slots *= 2;
    ssize_t bytes = rte_ring_get_memsize_elem(size, slots);
    struct rte_ring *ring = bytes > 0 ? (struct rte_ring *)bench_alloc((size_t)bytes) : NULL;
    if (ring && rte_ring_init(ring, "bench", slots, flags) != 0) {
        free(ring);
        ring = NULL;
    }
    return ring;
}

typedef struct rte_ring *ring_pointer;

#define SUBJECT    rte_spsc
#define NAME       "rte_ring spsc"
#define USES       "rte_ring_sp_enqueue_elem, rte_ring_sc_dequeue_elem and their burst forms; spins with pauses"
#define FLAGS      BENCH_ONE_TO_ONE
#define CHANNEL    ring_pointer
#define OPEN(c, n) ((*(c) = ring_open(n, MESSAGE_SIZE, RING_F_SP_ENQ | RING_F_SC_DEQ)) != NULL)
#define CLOSE(c)   free(*(c))
#define SEND(c, m) \
    while (rte_ring_sp_enqueue_elem(*(c), &(m), MESSAGE_SIZE) != 0) cc_pause()
#define RECEIVE(c, m) \
    while (rte_ring_sc_dequeue_elem(*(c), &(m), MESSAGE_SIZE) != 0) cc_pause()
#define SEND_MANY(c, ms, n)    rte_ring_sp_enqueue_burst_elem(*(c), ms, MESSAGE_SIZE, (unsigned)(n), NULL)
#define RECEIVE_MANY(c, ms, n) rte_ring_sc_dequeue_burst_elem(*(c), ms, MESSAGE_SIZE, (unsigned)(n), NULL)
#include "../loops/channel.h"

#define SUBJECT    rte_mpmc
#define NAME       "rte_ring mpmc"
#define USES       "rte_ring_mp_enqueue_elem, rte_ring_mc_dequeue_elem and their burst forms; spins with pauses"
#define FLAGS      BENCH_NO_OVERLOAD
#define CHANNEL    ring_pointer
#define OPEN(c, n) ((*(c) = ring_open(n, MESSAGE_SIZE, 0)) != NULL)
#define CLOSE(c)   free(*(c))
#define SEND(c, m) \
    while (rte_ring_mp_enqueue_elem(*(c), &(m), MESSAGE_SIZE) != 0) cc_pause()
#define RECEIVE(c, m) \
    while (rte_ring_mc_dequeue_elem(*(c), &(m), MESSAGE_SIZE) != 0) cc_pause()
#define SEND_MANY(c, ms, n)    rte_ring_mp_enqueue_burst_elem(*(c), ms, MESSAGE_SIZE, (unsigned)(n), NULL)
#define RECEIVE_MANY(c, ms, n) rte_ring_mc_dequeue_burst_elem(*(c), ms, MESSAGE_SIZE, (unsigned)(n), NULL)
#include "../loops/channel.h"

static const bench_subject *const subjects[] = { BENCH_SIZES(rte_spsc), BENCH_SIZES(rte_mpmc), NULL };
const bench_peer bench_peer_dpdk = { "dpdk", PEER_VERSION, subjects };
