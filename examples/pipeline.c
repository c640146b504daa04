/* pipeline: three stages, two channels between them.
 *
 * Each stage receives until the channel before it is closed and drained, then closes the one behind it: the end runs
 * through the pipeline behind the last message, and nothing is lost. Each channel has one thread at either end, so it
 * can be the fast kind, and CC_CHANNEL_TYPED lets the compiler check what goes in and comes out. */
#include <concede/channel.h>
#include <pthread.h>
#include <stdio.h>

typedef struct reading {
    uint32_t sensor;
    int32_t millidegrees;
} reading;

CC_CHANNEL_TYPED(raw, uint32_t)
CC_CHANNEL_TYPED(readings, reading)

static cc_channel_t *from_wire, *to_summary;
enum { WORDS = 300000, SENSORS = 7 };

/* Stage 1: words off a wire, a sensor's number above a temperature. */
static void *listen_to_wire(void *unused)
{
    for (uint32_t i = 0; i < WORDS; i++) raw_send(from_wire, (i % SENSORS) << 24 | (i & 0xffff));
    cc_channel_close(from_wire);
    return unused;
}

/* Stage 2: takes them apart. */
static void *decode(void *unused)
{
    for (uint32_t word; raw_recv(from_wire, &word) == 0;) {
        reading r = { word >> 24, (int32_t)(word & 0xffffff) - 10000 };
        readings_send(to_summary, r);
    }
    cc_channel_close(to_summary);
    return unused;
}

/* Stage 3: the warmest of each sensor. */
int main(void)
{
    pthread_t stages[2];
    int32_t warmest[SENSORS];
    long seen = 0, wrong = 0;
    for (int s = 0; s < SENSORS; s++) warmest[s] = INT32_MIN;
    /* The message sizes are those of the types. */
    cc_channel_options_t wide = { 256, 0, CC_CHANNEL_SPSC, CC_SNOOZE_ADAPTIVE };
    cc_channel_options_t narrow = { 64, 0, CC_CHANNEL_SPSC, CC_SNOOZE_ADAPTIVE };
    if (raw_create(&from_wire, &wide) != 0 || readings_create(&to_summary, &narrow) != 0) return 1;
    pthread_create(&stages[0], NULL, listen_to_wire, NULL);
    pthread_create(&stages[1], NULL, decode, NULL);

    for (reading r; readings_recv(to_summary, &r) == 0; seen++) {
        wrong += r.sensor != (uint32_t)seen % SENSORS; /* they come in the order they were sent */
        if (r.sensor < SENSORS && r.millidegrees > warmest[r.sensor]) warmest[r.sensor] = r.millidegrees;
    }

    pthread_join(stages[0], NULL);
    pthread_join(stages[1], NULL);
    cc_channel_destroy(from_wire);
    cc_channel_destroy(to_summary);
    printf("%ld readings, %ld out of order; sensor 0 was at most at %ld millidegrees\n", seen, wrong, (long)warmest[0]);
    return seen == WORDS && wrong == 0 ? 0 : 1;
}
