/* Four threads count together under the textbook backoff lock of backoff_lock.h. */
#include "backoff_lock.h"

#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, TURNS = 10000 };

static backoff_lock lock;
static unsigned long counter;

static void *count(void *argument)
{
    uint32_t random = *(const uint32_t *)argument;
    for (int i = 0; i < TURNS; i++) {
        backoff_lock_acquire(&lock, &random);
        counter++;
        backoff_lock_release(&lock);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    uint32_t seeds[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        seeds[i] = i + 1;
        if (pthread_create(&threads[i], NULL, count, &seeds[i]) != 0) return 1;
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    printf("%lu of %d\n", counter, THREADS * TURNS);
    return counter == (unsigned long)THREADS * TURNS ? 0 : 1;
}
