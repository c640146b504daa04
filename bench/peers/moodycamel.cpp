/* peers/moodycamel.cpp: moodycamel's queues.
 *
 *   channel  BlockingReaderWriterCircularBuffer, its bounded one-to-one queue, whose wait_enqueue and wait_dequeue
 *            block; BlockingReaderWriterQueue, which grows instead of blocking the sender: try_enqueue, which does not
 *            allocate, is tried again after a pause when it is full; BlockingConcurrentQueue, many to many, with a
 *            token for each thread, its own advice for speed. It does not bound either, and its try_enqueue can starve
 *            a sender that owns no block, so the sender looks at size_approx, one load, and pauses while that is at the
 *            capacity. It keeps the order of one sender only. */
#include <concurrentqueue/blockingconcurrentqueue.h>
#include <new>
#include <readerwriterqueue/readerwritercircularbuffer.h>
#include <readerwriterqueue/readerwriterqueue.h>
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

template <class Message> struct bounded_concurrent {
    moodycamel::BlockingConcurrentQueue<Message> queue;
    size_t capacity;
    explicit bounded_concurrent(size_t n) : queue(n), capacity(n) {}
    void wait() const
    {
        while (queue.size_approx() >= capacity) cc_pause();
    }
};

#define SUBJECT       circular
#define NAME          "moodycamel circular"
#define USES          "wait_enqueue and wait_dequeue of BlockingReaderWriterCircularBuffer"
#define FLAGS         (BENCH_CAN_SLEEP | BENCH_ONE_TO_ONE)
#define CHANNEL       moodycamel::BlockingReaderWriterCircularBuffer<MESSAGE>
#define OPEN(c, n)    queue_open(c, n)
#define CLOSE(c)      queue_close(c)
#define SEND(c, m)    (c)->wait_enqueue(m)
#define RECEIVE(c, m) (c)->wait_dequeue(m)
#include "../loops/channel.h"

#define SUBJECT    reader_writer
#define NAME       "moodycamel spsc"
#define USES       "try_enqueue, again after a pause when full; wait_dequeue of BlockingReaderWriterQueue"
#define FLAGS      (BENCH_CAN_SLEEP | BENCH_ONE_TO_ONE)
#define CHANNEL    moodycamel::BlockingReaderWriterQueue<MESSAGE>
#define OPEN(c, n) queue_open(c, n)
#define CLOSE(c)   queue_close(c)
#define SEND(c, m) \
    while (!(c)->try_enqueue(m)) cc_pause()
#define RECEIVE(c, m) (c)->wait_dequeue(m)
#include "../loops/channel.h"

#define SUBJECT                concurrent
#define NAME                   "moodycamel mpmc"
#define USES                   "BlockingConcurrentQueue, tokens: pauses while it is full, enqueue; wait_dequeue"
#define FLAGS                  (BENCH_CAN_SLEEP | BENCH_NO_ORDER)
#define CHANNEL                bounded_concurrent<MESSAGE>
#define OPEN(c, n)             queue_open(c, n)
#define CLOSE(c)               queue_close(c)
#define SEND_LOCAL(c)          moodycamel::ProducerToken producer((c)->queue);
#define RECEIVE_LOCAL(c)       moodycamel::ConsumerToken consumer((c)->queue);
#define SEND(c, m)             ((c)->wait(), (c)->queue.enqueue(producer, m))
#define RECEIVE(c, m)          (c)->queue.wait_dequeue(consumer, m)
#define SEND_MANY(c, ms, n)    ((c)->wait(), (c)->queue.enqueue_bulk(producer, ms, n) ? (n) : 0)
#define RECEIVE_MANY(c, ms, n) (c)->queue.try_dequeue_bulk(consumer, ms, n)
#include "../loops/channel.h"

static const bench_subject *const subjects[] = {
    BENCH_SIZES(circular),
    BENCH_SIZES(reader_writer),
    BENCH_SIZES(concurrent),
    nullptr,
};
extern "C" const bench_peer bench_peer_moodycamel = { "moodycamel", PEER_VERSION, subjects };
