/* peers/nsync.c: nsync.
 *
 *   lock     nsync_mu_lock: its plain mutex; all zero is a free one */
#include <nsync.h>

#define SUBJECT    nsync_mutex
#define NAME       "nsync_mu"
#define USES       "nsync_mu_lock, nsync_mu_unlock"
#define FLAGS      BENCH_CAN_SLEEP
#define LOCK       nsync_mu
#define ACQUIRE(l) nsync_mu_lock(l)
#define RELEASE(l) nsync_mu_unlock(l)
#include "../loops/lock.h"

static const bench_subject *const subjects[] = { &nsync_mutex, NULL };
const bench_peer bench_peer_nsync = { "nsync", PEER_VERSION, subjects };
