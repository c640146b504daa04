/* market_data: a feed that must never wait, written and read in place, and read in bursts.
 *
 * The feed writes each quote straight into the channel (reserve, commit): no copy. When the reader has fallen so far
 * behind that there is no room, the feed drops the quote and counts it, as a feed handler does: reserve says NULL and
 * never blocks. The reader peeks at the oldest quote without copying it, takes whole bursts when there is a backlog,
 * and sleeps when there is nothing. */
#include <concede/channel.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

typedef struct quote {
    uint64_t number; /* counts all quotes, dropped ones too: the reader sees the gaps */
    uint32_t symbol;
    int32_t bid, ask;
} quote;

enum { QUOTES = 500000, BURST = 32, SYMBOLS = 50 };
static cc_channel_t *feed;
static uint64_t dropped;

static void *run_feed(void *unused)
{
    const struct timespec lull = { 0, 20000 };
    for (uint64_t number = 1; number <= QUOTES; number++) {
        if (number % 512 == 0) nanosleep(&lull, NULL); /* quotes come in bursts */
        quote *place = (quote *)cc_channel_reserve(feed);
        if (place == NULL) {
            dropped++;
            continue;
        }
        place->number = number;
        place->symbol = (uint32_t)(number * 7 % SYMBOLS);
        place->bid = (int32_t)(number % 1000);
        place->ask = place->bid + 1;
        cc_channel_commit(feed);
    }
    cc_channel_close(feed);
    return unused;
}

static quote book[SYMBOLS];
static uint64_t received, gaps, last, crossed;

static void update(const quote *q)
{
    gaps += q->number - last - 1;
    last = q->number;
    crossed += q->bid >= q->ask || q->symbol != q->number * 7 % SYMBOLS;
    book[q->symbol % SYMBOLS] = *q;
    received++;
}

int main(void)
{
    cc_channel_options_t options = { 1024, sizeof(quote), CC_CHANNEL_SPSC, CC_SNOOZE_ADAPTIVE };
    pthread_t thread;
    if (cc_channel_create(&feed, &options) != 0) return 1;
    pthread_create(&thread, NULL, run_feed, NULL);

    quote burst[BURST], one;
    for (;;) {
        const quote *next = (const quote *)cc_channel_peek(feed);
        if (next != NULL) { /* in place: only what the book needs is copied */
            update(next);
            cc_channel_consume(feed);
        }
        size_t n = cc_channel_recv_many(feed, burst, BURST); /* and whatever else has come */
        for (size_t i = 0; i < n; i++) update(&burst[i]);
        if (next == NULL && n == 0) { /* nothing: sleep until there is, or the end */
            if (cc_channel_recv(feed, &one) == EPIPE) break;
            update(&one);
        }
    }

    pthread_join(thread, NULL);
    cc_channel_destroy(feed);
    gaps += QUOTES - last;
    printf("%llu quotes received, %llu dropped by the feed, %llu gaps seen\n", (unsigned long long)received,
           (unsigned long long)dropped, (unsigned long long)gaps);
    return received + dropped == QUOTES && gaps == dropped && crossed == 0 ? 0 : 1;
}
