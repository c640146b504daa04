/* peers/abseil.cpp: Abseil.
 *
 *   lock     absl::Mutex by Lock and Unlock */
#include <absl/synchronization/mutex.h>
#include <new>

#define SUBJECT         absl_mutex
#define NAME            "absl::Mutex"
#define USES            "Lock, Unlock"
#define FLAGS           BENCH_CAN_SLEEP
#define LOCK            absl::Mutex
#define LOCK_INIT(l)    new (l) absl::Mutex()
#define LOCK_DESTROY(l) (l)->~Mutex()
#define ACQUIRE(l)      (l)->Lock()
#define RELEASE(l)      (l)->Unlock()
#include "../loops/lock.h"

static const bench_subject *const subjects[] = { &absl_mutex, nullptr };
extern "C" const bench_peer bench_peer_abseil = { "abseil", PEER_VERSION, subjects };
