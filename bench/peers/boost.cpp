/* peers/boost.cpp: Boost.Lockfree.
 *
 *   channel  spsc_queue by push and pop, with their forms for many messages. It cannot block: full or empty, it is
 *            tried again after a pause */
#include <boost/lockfree/spsc_queue.hpp>
#include <boost/version.hpp>
#include <new>
#include "../bench.h"

template <class Queue> static bool queue_open(Queue *queue, uint32_t capacity)
{
    new (queue) Queue(capacity);
    return true;
}

template <class Queue> static void queue_close(Queue *queue)
{
    queue->~Queue();
}

#define SUBJECT    boost_spsc
#define NAME       "boost spsc_queue"
#define USES       "push and pop, capacity given at run time; spins with pauses"
#define FLAGS      BENCH_ONE_TO_ONE
#define CHANNEL    boost::lockfree::spsc_queue<MESSAGE>
#define OPEN(c, n) queue_open(c, n)
#define CLOSE(c)   queue_close(c)
#define SEND(c, m) \
    while (!(c)->push(m)) cc_pause()
#define RECEIVE(c, m) \
    while (!(c)->pop(m)) cc_pause()
#define SEND_MANY(c, ms, n)    (c)->push(ms, n)
#define RECEIVE_MANY(c, ms, n) (c)->pop(ms, n)
#include "../loops/channel.h"

static const bench_subject *const subjects[] = { BENCH_SIZES(boost_spsc), nullptr };
extern "C" const bench_peer bench_peer_boost = { "boost", BOOST_LIB_VERSION, subjects };
