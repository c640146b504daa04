#ifndef STUB_TIME_H
#define STUB_TIME_H
#include <stdint.h>
typedef int64_t time_t;
struct timespec {
    time_t tv_sec;
    long tv_nsec;
};
typedef int clockid_t;
#define CLOCK_MONOTONIC          4
#define CLOCK_UPTIME_RAW         8
#define CLOCK_PROCESS_CPUTIME_ID 12
int clock_gettime(clockid_t, struct timespec *);
#endif
