/* peers/tbb.cpp: oneTBB.
 *
 *   lock     tbb::spin_mutex, which yields after some spinning, and tbb::mutex, which sleeps
 *   channel  tbb::concurrent_bounded_queue: its push and pop block */
#include <new>
#include <tbb/concurrent_queue.h>
#include <oneapi/tbb/mutex.h>
#include <tbb/spin_mutex.h>

#define SUBJECT      tbb_spin
#define NAME         "tbb::spin_mutex"
#define USES         "lock, unlock; it yields once it has spun for a while"
#define FLAGS        0
#define LOCK         tbb::spin_mutex
#define LOCK_INIT(l) new (l) tbb::spin_mutex()
#define ACQUIRE(l)   (l)->lock()
#define RELEASE(l)   (l)->unlock()
#include "../loops/lock.h"

#define SUBJECT      tbb_mutex
#define NAME         "tbb::mutex"
#define USES         "lock, unlock"
#define FLAGS        BENCH_CAN_SLEEP
#define LOCK         tbb::mutex
#define LOCK_INIT(l) new (l) tbb::mutex()
#define ACQUIRE(l)   (l)->lock()
#define RELEASE(l)   (l)->unlock()
#include "../loops/lock.h"

template <class Message> static bool bounded_open(tbb::concurrent_bounded_queue<Message> *queue, uint32_t capacity)
{
    new (queue) tbb::concurrent_bounded_queue<Message>();
    queue->set_capacity(capacity);
    return true;
}

template <class Queue> static void bounded_close(Queue *queue)
{
    queue->~Queue();
}

#define SUBJECT       tbb_bounded
#define NAME          "tbb bounded_queue"
#define USES          "push and pop of concurrent_bounded_queue, which block"
#define FLAGS         BENCH_CAN_SLEEP
#define CHANNEL       tbb::concurrent_bounded_queue<MESSAGE>
#define OPEN(c, n)    bounded_open(c, n)
#define CLOSE(c)      bounded_close(c)
#define SEND(c, m)    (c)->push(m)
#define RECEIVE(c, m) (c)->pop(m)
#include "../loops/channel.h"

static const bench_subject *const subjects[] = { &tbb_spin, &tbb_mutex, BENCH_SIZES(tbb_bounded), nullptr };
extern "C" const bench_peer bench_peer_tbb = { "tbb", PEER_VERSION, subjects };
