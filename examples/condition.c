/* condition: a bounded buffer under a lock. A thread that finds it full, or empty, gives the lock up, waits until that
 * has changed, and has the lock again when it looks.
 *
 * Any plain state can be waited for in this way, because it is only looked at under the lock. For messages alone a
 * channel is faster. */
#include <concede/lock.h>
#include <pthread.h>
#include <stdio.h>

enum { ROOM = 8, THREADS = 3, EACH = 10000 };

static struct buffer {
    cc_lock_t lock;
    cc_event_t not_empty, not_full;
    int items[ROOM];
    unsigned count, next; /* items in it, and where the oldest one is */
    bool closed;
} buffer; /* all zero is valid */

static void put(struct buffer *b, int item)
{
    cc_lock_acquire(&b->lock);
    CC_LOCK_AWAIT(&b->lock, &b->not_full, b->count < ROOM);
    b->items[(b->next + b->count++) % ROOM] = item;
    cc_lock_release(&b->lock);
    cc_event_notify_one(&b->not_empty); /* after the release, so that who is woken finds the lock free */
}

static bool take(struct buffer *b, int *item)
{
    cc_lock_acquire(&b->lock);
    CC_LOCK_AWAIT(&b->lock, &b->not_empty, b->count > 0 || b->closed);
    bool got = b->count > 0;
    if (got) {
        *item = b->items[b->next];
        b->next = (b->next + 1) % ROOM;
        b->count--;
    }
    cc_lock_release(&b->lock);
    if (got) cc_event_notify_one(&b->not_full);
    return got;
}

static void *produce(void *unused)
{
    for (int i = 1; i <= EACH; i++) put(&buffer, i);
    return unused;
}

static void *consume(void *sum)
{
    for (int item; take(&buffer, &item);) *(long *)sum += item;
    return NULL;
}

int main(void)
{
    pthread_t producers[THREADS], consumers[THREADS];
    long sums[THREADS] = { 0 }, sum = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&producers[i], NULL, produce, NULL);
        pthread_create(&consumers[i], NULL, consume, &sums[i]);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(producers[i], NULL);
    cc_lock_acquire(&buffer.lock);
    buffer.closed = true;
    cc_lock_release(&buffer.lock);
    cc_event_notify_all(&buffer.not_empty);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(consumers[i], NULL);
        sum += sums[i];
    }
    printf("%d items through a buffer of %d: sum %ld\n", THREADS * EACH, ROOM, sum);
    return sum == (long)THREADS * EACH * (EACH + 1) / 2 ? 0 : 1;
}
