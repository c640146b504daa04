/* peers/standard.cpp: what the C++ library gives.
 *
 *   condition  std::condition_variable, notified before unlocking */
#include <condition_variable>
#include <mutex>
#include <new>

static void init_condition(std::mutex *mutex, std::condition_variable *changed)
{
    new (mutex) std::mutex();
    for (int i = 0; i < 2; i++) new (&changed[i]) std::condition_variable();
}

static void destroy_condition(std::mutex *mutex, std::condition_variable *changed)
{
    mutex->~mutex();
    for (int i = 0; i < 2; i++) changed[i].~condition_variable();
}

template <class Condition>
static inline void acquire_when(std::mutex *mutex, std::condition_variable *changed, Condition holds)
{
    std::unique_lock<std::mutex> lock(*mutex);
    changed->wait(lock, holds);
    lock.release(); /* it stays held */
}

#define SUBJECT                             standard_condition
#define NAME                                "std::condition_variable"
#define USES                                "wait of a std::unique_lock; notify_one, notify_all before unlocking"
#define FLAGS                               BENCH_CAN_SLEEP
#define LOCK                                std::mutex
#define CONDITION                           std::condition_variable
#define INIT(l, c)                          init_condition(l, c)
#define DESTROY(l, c)                       destroy_condition(l, c)
#define ACQUIRE_WHEN(l, c, holds, argument) acquire_when(l, c, [&] { return holds(argument) != 0; })
#define ACQUIRE(l)                          (l)->lock()
#define RELEASE(l)                          (l)->unlock()
#define RELEASE_ONE(l, c)                   ((c)->notify_one(), (l)->unlock())
#define RELEASE_ALL(l, c)                   ((c)->notify_all(), (l)->unlock())
#include "../loops/condition.h"

static const bench_subject *const subjects[] = { &standard_condition, nullptr };
extern "C" const bench_peer bench_peer_standard = { "standard", "", subjects };
