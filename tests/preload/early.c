/* early.c: threads that lock before any library has been initialised find one kind of lock, not two. The environment is
 * this program's own, and slow, so that the second thread comes while the first one is asking it which kind to use. */
#include "harness.h"

#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_t threads[2];
static int results[2][2];

static void sleep_ms(long ms)
{
    struct timespec time = { 0, ms * 1000000 };
    nanosleep(&time, NULL);
}

__attribute__((visibility("default"))) char *getenv(const char *name)
{
    static char set[] = "1";
    size_t length = strlen(name);
    if (strcmp(name, "CONCEDE_PTHREAD_KEEP") == 0) {
        sleep_ms(40);
        return set;
    }
    for (char **at = environ; at && *at; at++)
        if (strncmp(*at, name, length) == 0 && (*at)[length] == '=') return *at + length + 1;
    return NULL;
}

static void *body(void *argument)
{
    long index = (long)argument;
    sleep_ms(20 * index);
    results[index][0] = pthread_mutex_lock(&mutex);
    sleep_ms(60);
    results[index][1] = pthread_mutex_unlock(&mutex);
    return NULL;
}

static void start_threads(void)
{
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], NULL, body, (void *)i);
}
__attribute__((section(".preinit_array"), used)) static void (*const before_all_libraries)(void) = start_threads;

TEST(threads_that_lock_first_agree_on_the_kind_of_lock)
{
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        CHECK_EQ(results[i][0], 0);
        CHECK_EQ(results[i][1], 0);
    }
}
