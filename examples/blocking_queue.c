/* blocking_queue: a lock-free queue made blocking with two events.
 *
 * The queue itself only knows try: a ring of slots, each with a sequence number that says whose turn it is. What makes
 * it block is queue_send and queue_recv, four lines each. While nobody sleeps a notify is a load and a branch. (The
 * library's own, with close, timeouts and bursts, is channel.h.) */
#include <concede/atomic.h>
#include <concede/event.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdio.h>

enum { SLOTS = 8 }; /* a power of two */

typedef struct queue {
    alignas(CC_CACHE_LINE) uint64_t tail; /* next to send */
    alignas(CC_CACHE_LINE) uint64_t head; /* next to receive */
    alignas(CC_CACHE_LINE) cc_event_t not_empty;
    alignas(CC_CACHE_LINE) cc_event_t not_full;
    struct {
        uint64_t turn; /* 2n: empty for round n; 2n+1: full for round n */
        uint64_t value;
    } slots[SLOTS];
} queue;

static bool queue_try_send(queue *q, uint64_t value)
{
    uint64_t at = cc_load_relaxed(&q->tail);
    for (;;) {
        uint64_t turn = cc_load_acquire(&q->slots[at % SLOTS].turn);
        if (turn == at / SLOTS * 2) {
            if (!cc_cas_weak_relaxed(&q->tail, &at, at + 1)) continue;
            q->slots[at % SLOTS].value = value;
            cc_store_release(&q->slots[at % SLOTS].turn, turn + 1);
            return true;
        }
        uint64_t now = cc_load_relaxed(&q->tail);
        if (now == at) return false;
        at = now;
    }
}

static bool queue_try_recv(queue *q, uint64_t *value)
{
    uint64_t at = cc_load_relaxed(&q->head);
    for (;;) {
        uint64_t turn = cc_load_acquire(&q->slots[at % SLOTS].turn);
        if (turn == at / SLOTS * 2 + 1) {
            if (!cc_cas_weak_relaxed(&q->head, &at, at + 1)) continue;
            *value = q->slots[at % SLOTS].value;
            cc_store_release(&q->slots[at % SLOTS].turn, turn + 1);
            return true;
        }
        uint64_t now = cc_load_relaxed(&q->head);
        if (now == at) return false;
        at = now;
    }
}

/* Change the state first, then notify whoever may wait for that change. */
static void queue_send(queue *q, uint64_t value)
{
    CC_EVENT_AWAIT(&q->not_full, queue_try_send(q, value));
    cc_event_notify_one(&q->not_empty);
}

static uint64_t queue_recv(queue *q)
{
    uint64_t value = 0;
    CC_EVENT_AWAIT(&q->not_empty, queue_try_recv(q, &value));
    cc_event_notify_one(&q->not_full);
    return value;
}

enum { SENDERS = 3, RECEIVERS = 2, MESSAGES = 100000 };
static queue q;
static uint64_t sum;

static void *sender(void *unused)
{
    for (uint64_t i = 1; i <= MESSAGES; i++) queue_send(&q, i);
    return unused;
}

static void *receiver(void *unused)
{
    uint64_t mine = 0, value;
    while ((value = queue_recv(&q)) != 0) mine += value;
    cc_fetch_add_relaxed(&sum, mine);
    return unused;
}

int main(void)
{
    pthread_t threads[SENDERS + RECEIVERS];
    const uint64_t expected = (uint64_t)SENDERS * MESSAGES * (MESSAGES + 1) / 2;
    for (int i = 0; i < SENDERS + RECEIVERS; i++)
        pthread_create(&threads[i], NULL, i < SENDERS ? sender : receiver, NULL);
    for (int i = 0; i < SENDERS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < RECEIVERS; i++) queue_send(&q, 0); /* the end, once for each */
    for (int i = SENDERS; i < SENDERS + RECEIVERS; i++) pthread_join(threads[i], NULL);
    printf("%d messages, sum %llu, expected %llu\n", SENDERS * MESSAGES, (unsigned long long)sum,
           (unsigned long long)expected);
    return sum == expected ? 0 : 1;
}
