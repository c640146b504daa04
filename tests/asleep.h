/* asleep.h: waits until another thread sleeps, however busy the machine is. Linux. */
#ifndef CONCEDE_TESTS_ASLEEP_H
#define CONCEDE_TESTS_ASLEEP_H

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* What until_asleep() knows this thread by. */
static inline long this_thread(void)
{
    return syscall(SYS_gettid);
}

/* Returns when the thread, of which *thread says who it is, or is going to, has slept for 10 ms or more. */
static inline void until_asleep(const long *thread)
{
    for (int looks = 0; looks < 3;) {
        struct timespec a_while = { 0, 5000000 };
        char path[64], text[256] = "";
        nanosleep(&a_while, NULL);
        (void)snprintf(path, sizeof path, "/proc/self/task/%ld/stat", __atomic_load_n(thread, __ATOMIC_ACQUIRE));
        FILE *file = fopen(path, "r");
        if (file) {
            text[fread(text, 1, sizeof text - 1, file)] = 0;
            (void)fclose(file);
        }
        const char *name_ends = strrchr(text, ')'); /* "123 (name) S ..." */
        looks = name_ends && name_ends[2] == 'S' ? looks + 1 : 0;
    }
}

#endif
