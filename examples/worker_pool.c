/* worker_pool: any number of threads give jobs, any number take them, and it ends cleanly.
 *
 * Closing the channel is the whole shutdown: submits fail from then on, the workers finish what was accepted, then
 * their recv says EPIPE and they return. No poison messages, no flags, no timeouts. */
#include <concede/atomic.h>
#include <concede/channel.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct job {
    void (*run)(void *);
    void *argument;
} job;

enum { WORKERS = 4 };
typedef struct pool {
    cc_channel_t *jobs;
    pthread_t workers[WORKERS];
} pool;

static void *work(void *argument)
{
    pool *p = (pool *)argument;
    for (job j; cc_channel_recv(p->jobs, &j) == 0;) j.run(j.argument);
    return NULL;
}

static bool pool_start(pool *p)
{
    cc_channel_options_t options = CC_CHANNEL_OPTIONS_INIT(64, sizeof(job));
    if (cc_channel_create(&p->jobs, &options) != 0) return false;
    for (int i = 0; i < WORKERS; i++) pthread_create(&p->workers[i], NULL, work, p);
    return true;
}

/* Waits for room: who submits faster than the workers work is slowed down. false: the pool has been stopped. */
static bool pool_submit(pool *p, void (*run)(void *), void *argument)
{
    job j = { run, argument };
    return cc_channel_send(p->jobs, &j) == 0;
}

static void pool_stop(pool *p)
{
    cc_channel_close(p->jobs);
    for (int i = 0; i < WORKERS; i++) pthread_join(p->workers[i], NULL);
    cc_channel_destroy(p->jobs);
}

/* ---- Using it --------------------------------------------------------------------------------------------------- */

enum { CLIENTS = 3, JOBS = 20000 };
static pool shared;
static uint64_t done, accepted;

static void count(void *argument)
{
    cc_fetch_add_relaxed(&done, (uint64_t)(uintptr_t)argument);
}

static void *client(void *unused)
{
    for (int i = 0; i < JOBS; i++)
        if (pool_submit(&shared, count, (void *)(uintptr_t)1)) cc_fetch_add_relaxed(&accepted, 1);
    return unused;
}

int main(void)
{
    pthread_t clients[CLIENTS];
    if (!pool_start(&shared)) return 1;
    for (int i = 0; i < CLIENTS; i++) pthread_create(&clients[i], NULL, client, NULL);
    for (int i = 0; i < CLIENTS; i++) pthread_join(clients[i], NULL);
    pool_stop(&shared);
    printf("%llu jobs accepted, %llu done\n", (unsigned long long)accepted, (unsigned long long)done);
    return accepted == done && accepted == (uint64_t)CLIENTS * JOBS ? 0 : 1;
}
