/* watch.h: counts what threads wait for. Each thread writes to memory of its own, so counting makes nobody wait. */
#ifndef CONCEDE_PRELOAD_WATCH_H
#define CONCEDE_PRELOAD_WATCH_H

#include "record.h"

typedef struct watch_thread watch_thread_t;

/* Maps the file; false: it cannot be had, and nothing is watched. Once, before any of the others. */
bool watch_start(const char *path);

/* After fork, in the child: it is another process, with a table of its own. */
void watch_forked(void);

/* The process calls exit. */
void watch_exits(void);

/* This thread's table: made at its first use, handed on to another thread by watch_leave, which ends what it holds.
 * NULL: there is no memory. */
watch_thread_t *watch_enter(void);
void watch_leave(watch_thread_t *thread);

extern bool watch_has_ticks;
CC_INLINE_ uint64_t watch_ticks(void)
{
    return record_ticks(watch_has_ticks);
}

/* Where a use of the mutex by this caller is counted; NULL: not known yet. Ask before the mutex is acquired: it comes
 * from memory at the same time as the mutex then, which is most of what counting costs. */
record_entry_t *watch_look_up(watch_thread_t *thread, const void *mutex, const void *caller);

/* The mutex is not free, and this thread begins to wait for it at `now`: told before, because it may never get it.
 * Returns what watch_look_up() does from now on. */
record_entry_t *watch_waits(watch_thread_t *thread, const void *mutex, const void *caller, uint64_t now);
/* That wait is over, after so many ticks; `counts`: it was one, and not a mistake. */
void watch_waited(watch_thread_t *thread, record_entry_t *entry, bool counts, uint64_t waited);

/* The mutex was acquired at `now`. `entry` is what look_up said. */
void watch_acquired(watch_thread_t *thread, record_entry_t *entry, const void *mutex, const void *caller,
                    bool recursive, uint64_t now);
/* It was given up at `now`. Tell after that, because then nobody waits for what is counted. */
void watch_released(watch_thread_t *thread, const void *mutex, uint64_t now);

/* A wait on a condition variable begins and ends, which gives up the mutex meanwhile. A wait that follows a wake-up,
 * with the mutex held all the time between, says that the wake-up was in vain. */
void watch_wait_begins(watch_thread_t *thread, const void *cond, const void *mutex, const void *caller, uint64_t now);
void watch_wait_ended(watch_thread_t *thread, const void *cond, const void *mutex, const void *caller, bool woken,
                      uint64_t began);

#endif
