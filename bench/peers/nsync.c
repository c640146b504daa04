/* peers/nsync.c: nsync.
 *
 *   lock       nsync_mu_lock: its plain mutex; all zero is a free one
 *   condition  nsync_mu_wait, which needs nobody to notify it, and nsync_cv */
#include <nsync.h>

#define SUBJECT    nsync_mutex
#define NAME       "nsync_mu"
#define USES       "nsync_mu_lock, nsync_mu_unlock"
#define FLAGS      BENCH_CAN_SLEEP
#define LOCK       nsync_mu
#define ACQUIRE(l) nsync_mu_lock(l)
#define RELEASE(l) nsync_mu_unlock(l)
#include "../loops/lock.h"

#define SUBJECT                             nsync_condition
#define NAME                                "nsync_mu_wait"
#define USES                                "nsync_mu_wait; nsync_mu_unlock looks who can go on"
#define FLAGS                               BENCH_CAN_SLEEP
#define LOCK                                nsync_mu
#define ACQUIRE_WHEN(l, c, holds, argument) (nsync_mu_lock(l), nsync_mu_wait(l, holds, argument, NULL))
#define ACQUIRE(l)                          nsync_mu_lock(l)
#define RELEASE(l)                          nsync_mu_unlock(l)
#define RELEASE_ONE(l, c)                   nsync_mu_unlock(l)
#define RELEASE_ALL(l, c)                   nsync_mu_unlock(l)
#include "../loops/condition.h"

#define SUBJECT   nsync_condition_variable
#define NAME      "nsync_cv"
#define USES      "nsync_cv_wait; nsync_cv_signal, nsync_cv_broadcast before unlocking"
#define FLAGS     BENCH_CAN_SLEEP
#define LOCK      nsync_mu
#define CONDITION nsync_cv
#define ACQUIRE_WHEN(l, c, holds, argument)           \
    do {                                              \
        nsync_mu_lock(l);                             \
        while (!holds(argument)) nsync_cv_wait(c, l); \
    } while (0)
#define ACQUIRE(l)        nsync_mu_lock(l)
#define RELEASE(l)        nsync_mu_unlock(l)
#define RELEASE_ONE(l, c) (nsync_cv_signal(c), nsync_mu_unlock(l))
#define RELEASE_ALL(l, c) (nsync_cv_broadcast(c), nsync_mu_unlock(l))
#include "../loops/condition.h"

static const bench_subject *const subjects[] = { &nsync_mutex, &nsync_condition, &nsync_condition_variable, NULL };
const bench_peer bench_peer_nsync = { "nsync", PEER_VERSION, subjects };
