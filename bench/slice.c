/* slice.c: runs the threads of one implementation for a moment. See engine.h. */
#include "engine.h"
#include <concede/deadline.h>
#include <stdlib.h>
#include <string.h>

void *bench_alloc(size_t bytes)
{
    bytes = (bytes + 4095) / 4096 * 4096;
    void *memory = aligned_alloc(4096, bytes);
    if (!memory) {
        fprintf(stderr, "concede: out of memory\n");
        exit(1);
    }
    return memset(memory, 0, bytes);
}

static void *run_thread(void *argument)
{
    slice_thread *t = argument;
    host_pin(t->cpu);
    pthread_barrier_wait(&t->slice->start);
    t->begin_ns = cc_now_ns();
    double cpu = host_thread_cpu_ns();
    t->loop(&t->bench);
    double used = host_thread_cpu_ns() - cpu - bench_idle_ns(); /* a new thread: it began at 0 */
    t->cpu_ns = used < 0 ? 0 : used;
    pthread_mutex_lock(&t->slice->mutex);
    if (--t->slice->running == 0) pthread_cond_signal(&t->slice->ended);
    pthread_mutex_unlock(&t->slice->mutex);
    return NULL;
}

enum { HANG_SECONDS = 30 };

bool slice_run(slice *s, uint32_t count, double seconds, bool (*interrupted)(void), const char **why)
{
    struct timespec limit;
    uint32_t started = 0;
    s->stop = s->done = 0;
    s->running = count;
    pthread_barrier_init(&s->start, NULL, count + 1);
    pthread_mutex_init(&s->mutex, NULL);
    pthread_cond_init(&s->ended, NULL);
    for (; started < count; started++) {
        s->threads[started].slice = s;
        if (pthread_create(&s->threads[started].handle, NULL, run_thread, &s->threads[started]) != 0) break;
    }
    if (started < count) {
        *why = "cannot start so many threads"; /* those that wait at the barrier end with the program */
        return false;
    }
    pthread_barrier_wait(&s->start);
    uint64_t begin = cc_now_ns(), end = begin + (uint64_t)(seconds * 1e9), now;
    while ((now = cc_now_ns()) < end && !(interrupted && interrupted())) {
        uint64_t left = end - now;
        nanosleep(&(struct timespec){ (time_t)(left / 1000000000), (long)(left % 1000000000) }, NULL);
    }
    cc_store_relaxed(&s->stop, 1);
    uint64_t stopped = cc_now_ns();
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += HANG_SECONDS;
    int waited = 0;
    pthread_mutex_lock(&s->mutex);
    while (s->running > 0 && waited == 0) waited = pthread_cond_timedwait(&s->ended, &s->mutex, &limit);
    pthread_mutex_unlock(&s->mutex);
    if (waited != 0) {
        *why = "hangs: a thread did not end";
        return false;
    }
    /* From the first thread's begin: with more threads than CPUs this one gets its CPU late, when they have long
     * run. */
    for (uint32_t i = 0; i < count; i++) {
        pthread_join(s->threads[i].handle, NULL);
        if (s->threads[i].begin_ns < begin) begin = s->threads[i].begin_ns;
    }
    s->seconds = (double)(stopped - begin) / 1e9;
    pthread_barrier_destroy(&s->start);
    pthread_mutex_destroy(&s->mutex);
    pthread_cond_destroy(&s->ended);
    return true;
}
