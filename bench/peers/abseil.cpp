/* peers/abseil.cpp: Abseil.
 *
 *   lock       absl::Mutex by Lock and Unlock
 *   condition  absl::Mutex by LockWhen, which needs nobody to notify it */
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

/* It wants a function that returns a bool and takes a pointer that is not to const. */
template <int (*holds)(const void *)> static bool condition_holds(void *argument)
{
    return holds(argument) != 0;
}

#define SUBJECT       absl_condition
#define NAME          "absl::Mutex"
#define USES          "LockWhen; Unlock looks who can go on"
#define FLAGS         BENCH_CAN_SLEEP
#define LOCK          absl::Mutex
#define INIT(l, c)    new (l) absl::Mutex()
#define DESTROY(l, c) (l)->~Mutex()
#define ACQUIRE_WHEN(l, c, holds, argument) \
    (l)->LockWhen(absl::Condition(condition_holds<holds>, static_cast<void *>(argument)))
#define ACQUIRE(l)        (l)->Lock()
#define RELEASE(l)        (l)->Unlock()
#define RELEASE_ONE(l, c) (l)->Unlock()
#define RELEASE_ALL(l, c) (l)->Unlock()
#include "../loops/condition.h"

static const bench_subject *const subjects[] = { &absl_mutex, &absl_condition, nullptr };
extern "C" const bench_peer bench_peer_abseil = { "abseil", PEER_VERSION, subjects };
