/* peers/plain.c: what people write themselves, without any library.
 *
 *   cas      no backoff; one pause
 *   lock     test-and-test-and-set; the textbook's exponential backoff
 *   park     a spin on a word
 *   channel  the floor: one cache line bounced between two CPUs */
#include "../../examples/backoff_lock.h"
#include "../bench.h"

/* ---- cas --------------------------------------------------------------------------------------------------------- */

#define SUBJECT no_backoff
#define NAME    "none"
#define USES    "tries again at once"
#define FLAGS   0
#include "../loops/cas.h"

#define SUBJECT    one_pause
#define NAME       "one pause"
#define USES       "cc_pause() after each failure"
#define FLAGS      0
#define CAS_FAILED cc_pause();
#include "../loops/cas.h"

/* ---- lock -------------------------------------------------------------------------------------------------------- */

#define SUBJECT ttas
#define NAME    "test-and-test-and-set"
#define USES    "an exchange; while it is taken, reads and pauses"
#define FLAGS   0
#define LOCK    uint32_t
#define ACQUIRE(l)                    \
    while (cc_exchange_acquire(l, 1)) \
        while (cc_load_relaxed(l)) cc_pause()
#define RELEASE(l) cc_store_release(l, 0)
#include "../loops/lock.h"

#define SUBJECT    textbook
#define NAME       "textbook backoff"
#define USES       "examples/backoff_lock.h: reads while it is taken, backs off at random after a lost race"
#define FLAGS      0
#define LOCK       backoff_lock
#define LOCK_LOCAL uint32_t random = t->index + 1;
#define ACQUIRE(l) backoff_lock_acquire(l, &random)
#define RELEASE(l) backoff_lock_release(l)
#include "../loops/lock.h"

/* ---- park -------------------------------------------------------------------------------------------------------- */

#define SUBJECT    spin_pausing
#define NAME       "spin"
#define USES       "a store; reads and pauses until it is there"
#define FLAGS      BENCH_SPINS
#define POST_BOX   uint32_t
#define POST(b, n) cc_store_release(b, n)
#define AWAIT(b, n) \
    while (!BENCH_POSTED(cc_load_acquire(b), n)) cc_pause()
#include "../loops/park.h"

/* ---- channel ----------------------------------------------------------------------------------------------------- */

/* The floor: one line each way, written by one side and watched by the other. */
typedef struct line_8 {
    uint64_t value;
} line_8;
#define SUBJECT    bounced_line
#define NAME       "one bounced line"
#define USES       "the floor: a word on a line of its own each way; spins without a pause"
#define FLAGS      BENCH_ONE_TO_ONE
#define CHANNEL    line_8
#define OPEN(c, n) ((void)(c), (void)(n), MESSAGE_SIZE == 8)
#define CLOSE(c)   ((void)(c))
#define PINGPONG_ONLY
#define SEND(c, m) cc_store_release(&(c)->value, (m).value + 1)
#define RECEIVE(c, m)                                                         \
    do {                                                                      \
        uint64_t seen;                                                        \
        while ((seen = cc_load_acquire(&(c)->value)) == 0 || seen == last) {} \
        last = seen;                                                          \
        (m).value = seen - 1;                                                 \
    } while (0)
#define RECEIVE_LOCAL(c) uint64_t last = 0;
#include "../loops/channel.h"

static const bench_subject *const subjects[] = {
    &no_backoff, &one_pause, &ttas, &textbook, &spin_pausing, BENCH_SIZES(bounced_line), NULL,
};
const bench_peer bench_peer_plain = { "plain", "", subjects };
