/* spin_wait: wait for a flag by snoozing.
 *
 * A snooze spins a little longer each time and then yields. It never sleeps, so nobody has to wake it: right where the
 * wait is short, or where the other side cannot be changed. When it reports that it is completed, a program that can
 * sleep should: see blocking_wait.c. */
#include <concede/atomic.h>
#include <concede/backoff.h>
#include <pthread.h>
#include <stdio.h>

static int answer;     /* plain: the flag publishes it */
static uint32_t ready; /* 0, then 1 */

static void *think(void *unused)
{
    answer = 42;
    cc_store_release(&ready, 1);
    return unused;
}

int main(void)
{
    pthread_t thinker;
    pthread_create(&thinker, NULL, think, NULL);

    cc_backoff_t backoff = CC_SNOOZE_INIT;
    unsigned snoozes = 0;
    for (; !cc_load_acquire(&ready); snoozes++) cc_backoff_snooze(&backoff);

    printf("%d, after %u snoozes, %s\n", answer, snoozes,
           cc_backoff_is_completed(&backoff) ? "when sleeping would have been cheaper" : "which was worth it");
    pthread_join(thinker, NULL);
    return answer == 42 ? 0 : 1;
}
