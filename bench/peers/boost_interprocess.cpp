/* peers/boost_interprocess.cpp: Boost.Interprocess.
 *
 *   shared   message_queue by send and receive, which block; all of one priority */
#include <boost/interprocess/ipc/message_queue.hpp>
#include <boost/version.hpp>
#include <cstdio>
#include <unistd.h>
#include "../bench.h"

typedef boost::interprocess::message_queue message_queue;

/* The other process inherits the mapping, so the name can go at once. */
static bool open_queue(message_queue **queue, uint32_t capacity)
{
    static unsigned number;
    char name[64];
    snprintf(name, sizeof name, "concede-bench-%ld-%u", (long)getpid(), number++);
    try {
        *queue = new message_queue(boost::interprocess::create_only, name, capacity, sizeof(uint64_t));
    } catch (const std::exception &) {
        return false;
    }
    message_queue::remove(name);
    return true;
}

static inline uint64_t receive_number(message_queue *queue)
{
    uint64_t value;
    message_queue::size_type size;
    unsigned priority;
    queue->receive(&value, sizeof value, size, priority);
    return value;
}

#define SUBJECT           boost_message_queue
#define NAME              "boost message_queue"
#define USES              "send and receive, all of one priority"
#define FLAGS             BENCH_CAN_SLEEP
#define CHANNEL           message_queue *
#define OPEN(c, n)        open_queue(c, n)
#define CLOSE(c)          delete *(c)
#define SEND(c, value)    (*(c))->send(&(value), sizeof(value), 0)
#define RECEIVE(c, value) value = receive_number(*(c))
#include "../loops/shared.h"

static const bench_subject *const subjects[] = { &boost_message_queue, nullptr };
extern "C" const bench_peer bench_peer_boost_interprocess = { "boost_interprocess", BOOST_LIB_VERSION, subjects };
