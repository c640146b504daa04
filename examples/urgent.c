/* urgent: two channels, and one of them comes first.
 *
 * A worker takes jobs from a queue. Orders to it (change the price, stop) must not wait behind a thousand jobs, so they
 * have a channel of their own, which stands first in a select with CC_SELECT_IN_ORDER. While there is nothing to do the
 * worker sleeps, and either channel wakes it. */
#include <concede/select.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

enum { JOBS = 1000 };

typedef struct shop {
    cc_channel_t *orders; /* a new price each */
    cc_channel_t *jobs;   /* how many pieces were sold */
    int pieces_at[3];     /* sold at each price */
    int seen_before_last; /* jobs that were done when the last order came */
} shop;

static void *work(void *argument)
{
    shop *s = (shop *)argument;
    int price = 0, pieces, done = 0;
    enum { ORDER, JOB };
    cc_select_case_t cases[] = { CC_SELECT_CASE_RECV(s->orders, &price), CC_SELECT_CASE_RECV(s->jobs, &pieces) };
    while (cases[ORDER].channel || cases[JOB].channel) {
        size_t which;
        if (cc_select(cases, 2, CC_SELECT_IN_ORDER, &which) != 0) break;
        if (cases[which].result == EPIPE) {
            cases[which].channel = NULL; /* closed: go on with the other one */
        } else if (which == JOB) {
            s->pieces_at[price] += pieces;
            done++;
        } else {
            s->seen_before_last = done;
        }
    }
    return NULL;
}

int main(void)
{
    shop s = { NULL, NULL, { 0, 0, 0 }, 0 };
    cc_channel_options_t options = CC_CHANNEL_OPTIONS_INIT(JOBS, sizeof(int));
    pthread_t worker;
    if (cc_channel_create(&s.orders, &options) != 0 || cc_channel_create(&s.jobs, &options) != 0) return 1;
    for (int i = 0, one = 1; i < JOBS; i++) cc_channel_send(s.jobs, &one);
    for (int price = 1; price <= 2; price++) cc_channel_send(s.orders, &price);
    pthread_create(&worker, NULL, work, &s);
    cc_channel_close(s.orders);
    cc_channel_close(s.jobs);
    pthread_join(worker, NULL);
    printf("%d jobs waited, and %d of them were done before the last order\n", JOBS, s.seen_before_last);
    printf("sold at the price of the last order: %d\n", s.pieces_at[2]);
    cc_channel_destroy(s.orders);
    cc_channel_destroy(s.jobs);
    return s.seen_before_last == 0 && s.pieces_at[2] == JOBS ? 0 : 1;
}
