/* worker_pool: any number of threads give jobs, any number work on them, one collects the results, and it ends cleanly.
 *
 * Closing the channel of jobs is the whole shutdown: submits fail from then on, the workers finish what was accepted,
 * then their recv says EPIPE and they return. The last of them closes the channel of results, and so the collector
 * learns that there will be no more. No poison messages, no flags, no timeouts. */
#include <concede/atomic.h>
#include <concede/channel.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct job {
    uint64_t number;
} job;
typedef struct result {
    uint64_t number, square;
} result;
CC_CHANNEL_TYPED(jobs, job)
CC_CHANNEL_TYPED(results, result)

enum { WORKERS = 4 };
typedef struct pool {
    cc_channel_t *jobs, *results;
    pthread_t workers[WORKERS];
    uint32_t working; /* workers that have not returned */
} pool;

static void *work(void *argument)
{
    pool *p = (pool *)argument;
    for (job j; jobs_recv(p->jobs, &j) == 0;) {
        result r = { j.number, j.number * j.number };
        if (results_send(p->results, r) != 0) break; /* nobody wants results any more */
    }
    if (cc_fetch_sub_acq_rel(&p->working, 1) == 1) cc_channel_close(p->results);
    return NULL;
}

static bool pool_start(pool *p)
{
    cc_channel_options_t options = CC_CHANNEL_OPTIONS_INIT(64, 0); /* the sizes are those of the types */
    if (jobs_create(&p->jobs, &options) != 0) return false;
    if (results_create(&p->results, &options) != 0) {
        cc_channel_destroy(p->jobs);
        return false;
    }
    p->working = WORKERS;
    for (int i = 0; i < WORKERS; i++) pthread_create(&p->workers[i], NULL, work, p);
    return true;
}

/* Waits for room: who submits faster than the workers work is slowed down. false: the pool has been stopped. */
static bool pool_submit(pool *p, uint64_t number)
{
    job j = { number };
    return jobs_send(p->jobs, j) == 0;
}

/* No more jobs are accepted; those that were will be done. Any thread may say so. */
static void pool_stop(pool *p)
{
    cc_channel_close(p->jobs);
}

/* After the last result has been collected. */
static void pool_end(pool *p)
{
    for (int i = 0; i < WORKERS; i++) pthread_join(p->workers[i], NULL);
    cc_channel_destroy(p->jobs);
    cc_channel_destroy(p->results);
}

/* ---- Using it --------------------------------------------------------------------------------------------------- */

enum { CLIENTS = 3, JOBS = 20000, BURST = 32 };
static pool shared;
static uint64_t accepted;
static uint32_t submitting = CLIENTS;

static void *client(void *unused)
{
    for (uint64_t i = 1; i <= JOBS; i++)
        if (pool_submit(&shared, i)) cc_fetch_add_relaxed(&accepted, 1); /* relaxed: read when all have ended */
    if (cc_fetch_sub_acq_rel(&submitting, 1) == 1) pool_stop(&shared);
    return unused;
}

int main(void)
{
    pthread_t clients[CLIENTS];
    if (!pool_start(&shared)) return 1;
    for (int i = 0; i < CLIENTS; i++) pthread_create(&clients[i], NULL, client, NULL);
    result some[BURST];
    uint64_t collected = 0, wrong = 0;
    for (size_t n; results_recv_some(shared.results, some, BURST, &n) == 0; collected += n)
        for (size_t i = 0; i < n; i++) wrong += some[i].square != some[i].number * some[i].number;
    for (int i = 0; i < CLIENTS; i++) pthread_join(clients[i], NULL);
    pool_end(&shared);
    printf("%llu jobs accepted, %llu results\n", (unsigned long long)accepted, (unsigned long long)collected);
    return wrong == 0 && collected == accepted && accepted == (uint64_t)CLIENTS * JOBS ? 0 : 1;
}
