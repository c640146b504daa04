/* blocking_wait: snooze while the wait may be short, then park until told.
 *
 * The parker keeps a token that was given too early, so there is no moment at which the wake-up can be lost; and giving
 * it to a thread that still snoozes makes no system call. */
#include <concede/atomic.h>
#include <concede/backoff.h>
#include <concede/park.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

typedef struct task {
    cc_parker_t waiter;
    uint32_t done;
    int result; /* plain: `done` publishes it */
    long takes_ns;
} task;

static void *run(void *argument)
{
    task *t = (task *)argument;
    struct timespec work = { 0, t->takes_ns };
    if (t->takes_ns > 0) nanosleep(&work, NULL);
    t->result = 42;
    cc_store_release(&t->done, 1);
    cc_parker_unpark(&t->waiter);
    return NULL;
}

static unsigned parks;

static int task_wait(task *t)
{
    cc_backoff_t backoff = CC_SNOOZE_INIT;
    while (!cc_load_acquire(&t->done)) {
        if (!cc_backoff_is_completed(&backoff)) {
            cc_backoff_snooze(&backoff);
        } else {
            cc_parker_park(&t->waiter); /* in the loop: a token says "look again", not "done" */
            parks++;
        }
    }
    return t->result;
}

int main(void)
{
    int sum = 0;
    for (int i = 0; i < 2; i++) {
        task t = { CC_PARKER_INIT, 0, 0, i == 0 ? 0 : 5000000 };
        pthread_t thread;
        pthread_create(&thread, NULL, run, &t);
        sum += task_wait(&t);
        pthread_join(thread, NULL);
    }
    printf("%d in two tasks, one at once and one after 5 ms; parked %u times\n", sum, parks);
    return sum == 84 ? 0 : 1;
}
