/* treiber_stack: a lock-free stack under real contention, with and without backoff.
 *
 * Nodes live in an array and are named by index, and the head carries a tag that each change increments: a head that
 * went from A to B and back to A is not the same head, so a slow pop cannot take a stale `next` (the ABA problem).
 * Threads pop and push as fast as they can; every pushed node must be popped exactly once. */
#include <concede/atomic.h>
#include <concede/backoff.h>
#include <concede/deadline.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { NODES = 64, THREADS = 4, MOVES = 500000 };
#define NONE UINT32_MAX

static uint32_t next[NODES]; /* atomic: a slow pop reads it while the node's new owner writes it */

typedef struct stack {
    alignas(CC_CACHE_LINE) uint64_t head; /* tag << 32 | index of the top node */
} stack;

static uint64_t retag(uint64_t old, uint32_t top)
{
    return ((old >> 32) + 1) << 32 | top;
}

static uint32_t pop(stack *s, cc_backoff_t *backoff, uint64_t *tries)
{
    for (uint64_t head = cc_load_acquire(&s->head);; head = cc_load_acquire(&s->head)) {
        uint32_t top = (uint32_t)head;
        if (top == NONE) return NONE;
        ++*tries;
        if (cc_cas_weak_acquire(&s->head, &head, retag(head, cc_load_relaxed(&next[top])))) return top;
        if (backoff) cc_backoff(backoff);
    }
}

static void push(stack *s, uint32_t node, cc_backoff_t *backoff, uint64_t *tries)
{
    for (uint64_t head = cc_load_relaxed(&s->head);; head = cc_load_relaxed(&s->head)) {
        cc_store_relaxed(&next[node], (uint32_t)head);
        ++*tries;
        if (cc_cas_weak_release(&s->head, &head, retag(head, node))) return;
        if (backoff) cc_backoff(backoff);
    }
}

static stack shared;
static bool with_backoff;
static struct {
    alignas(CC_CACHE_LINE) uint64_t pops;
    uint64_t pushes;
} count[NODES]; /* plain: only the owner of a node counts */
static uint64_t tried;

static void *worker(void *unused)
{
    cc_backoff_t kept = CC_BACKOFF_INIT; /* kept between operations: the stack stays as hot as it was */
    cc_backoff_t *backoff = with_backoff ? &kept : NULL;
    uint64_t tries = 0;
    for (int i = 0; i < MOVES; i++) {
        uint64_t before = tries;
        uint32_t node = pop(&shared, backoff, &tries);
        if (node == NONE) return unused; /* there are more nodes than threads: main will miss our moves */
        count[node].pops++;
        count[node].pushes++;
        push(&shared, node, backoff, &tries);
        if (tries > before + 2) cc_backoff_ease(&kept);
    }
    cc_fetch_add_relaxed(&tried, tries);
    return unused;
}

static bool run(bool backoff)
{
    pthread_t threads[THREADS];
    uint64_t unused = 0, pops = 0, pushes = 0;
    shared.head = NONE;
    tried = 0;
    with_backoff = backoff;
    memset(count, 0, sizeof count);
    for (uint32_t node = 0; node < NODES; node++) {
        push(&shared, node, NULL, &unused);
        count[node].pushes = 1;
    }

    uint64_t start = cc_now_ns();
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, worker, NULL);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    double seconds = (double)(cc_now_ns() - start) / 1e9;

    for (uint32_t node; (node = pop(&shared, NULL, &unused)) != NONE;) {
        if (++count[node].pops != count[node].pushes) return false;
        pops += count[node].pops;
        pushes += count[node].pushes;
    }
    printf("%-16s %6.2f M pops and pushes a second, %.3f tries each\n", backoff ? "with backoff" : "without backoff",
           2.0 * THREADS * MOVES / seconds / 1e6, (double)tried / (2.0 * THREADS * MOVES));
    return pops == pushes && pops == (uint64_t)THREADS * MOVES + NODES;
}

int main(void)
{
    bool good = run(false);
    good &= run(true);
    puts(good ? "every pushed node was popped exactly once" : "a node was lost or doubled");
    return good ? 0 : 1;
}
