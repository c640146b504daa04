/* os.h: all that concede asks of a system. One src/os_<system>.c each fulfils it; tests and the model checker bring
 * their own. Nothing here sets errno, and nothing here is a cancellation point. */
#ifndef CONCEDE_SRC_OS_H
#define CONCEDE_SRC_OS_H

#include <concede/deadline.h>
#include <errno.h>

#define CC_NS_PER_S_ UINT64_C(1000000000)

CC_BEGIN_DECLS

/* Sleeps while *word == expected, until a wake on the same address or the deadline (cc_now_ns() time; CC_FOREVER:
 * none). The comparison and falling asleep are one step for every cc_os_wake_() on the address. It may return for no
 * reason, so callers loop. Only a wait that returns 0 uses up a wake: one that crosses a signal or the deadline is not
 * lost on it.
 *   0          woken (or for no reason)
 *   EAGAIN     *word differed
 *   EINTR      a signal arrived
 *   ETIMEDOUT  the deadline has passed
 * No memory order: callers bring their own. */
int cc_os_wait_(const uint32_t *word, uint32_t expected, uint64_t deadline);

/* Wakes up to `count` threads that sleep on the address (CC_OS_ALL_: all of them), the longest asleep first where the
 * system can. Never reads or writes *word: its memory may be gone. */
#define CC_OS_ALL_ UINT32_MAX
void cc_os_wake_(const uint32_t *word, uint32_t count);

/* Lets another runnable thread have the CPU. */
CC_API void cc_os_yield_(void);

/* Nanoseconds on the monotonic clock. */
uint64_t cc_os_now_(void);

/* Sleeps for at least so many nanoseconds. clock.c makes it of the above. */
void cc_os_sleep_(uint64_t ns);

/* CPU time that all threads of this process have used so far, in nanoseconds; it may be some milliseconds behind. 0
 * where the system does not tell. */
uint64_t cc_os_cpu_time_(void);

/* The number of the CPU that this thread runs on; UINT32_MAX where the system does not tell. */
uint32_t cc_os_cpu_(void);

/* The asymmetric fence: after cc_os_membarrier_register_() returned true once, cc_os_membarrier_() makes every running
 * thread of this process pass a full fence before it returns. Both return false where the system has no such thing or
 * refuses it. */
bool cc_os_membarrier_register_(void);
bool cc_os_membarrier_(void);

/* Restartable sequences: CC_ARCH_SEQUENCE_STORE_() of <concede/arch.h>. Returns NULL and the `area` if the threads of
 * this process have one and there is a barrier for them, else why not, in a few words. After it returned NULL once,
 * cc_os_sequence_barrier_() sends every thread that is in such a sequence to its failure, and makes every running one
 * pass a full fence; false where the system refuses it. */
const char *cc_os_sequence_area_(uintptr_t *area);
bool cc_os_sequence_barrier_(void);

/* A bell is a descriptor that others poll. It is readable from a ring on, until it is emptied, and whoever finds it
 * readable sees what was done before the ring. create tells the descriptor to read and the one to write, which may be
 * the same, and returns 0, ENOSYS where there is no such thing, or why the system refused. */
int cc_os_bell_create_(int ends[2]);
void cc_os_bell_ring_(int write_end);
void cc_os_bell_empty_(int read_end);
void cc_os_bell_close_(int read_end, int write_end);

/* The CPUs that the threads of this process may run on, at least 1: so many of them can run at the same time. */
uint32_t cc_os_cpus_(void);

/* Whole CPUs whose time the container of this process may use, at least 1; UINT32_MAX: as many as there are. A quota
 * does not keep threads from running at the same time: it stops all of them once its time is used up. */
uint32_t cc_os_quota_(void);

/* Whether the CPUs have ARM64's `sb`, as far as the system tells. */
bool cc_os_has_sb_(void);

/* The value of an environment variable, or NULL; always NULL in a program that has more rights than its caller. */
const char *cc_os_environment_(const char *name);

/* ---- Between processes ------------------------------------------------------------------------------------------
 *
 * A segment is memory that several processes map. It has a name, "/" and up to 200 characters, or it is known by a
 * descriptor that is handed on. All of these say ENOSYS, or false, on a system that cannot do it (os_none.h). */
enum { CC_OS_NAME_MAX_ = 201 };

/* Makes a segment of so many bytes, all 0, that only this user may open. name NULL: one without a name that can never
 * shrink; `*handed_on` is a descriptor of it for others. `*own` is ours, and locks are taken by it. 0; EEXIST; EACCES;
 * ENOMEM; ENOSYS. */
int cc_os_segment_create_(const char *name, size_t bytes, int *own, int *handed_on);

/* Opens one by its name, or, with name NULL, by a descriptor, which stays the caller's. 0; ENOENT; EACCES; EPROTO: it
 * is none, or it could shrink; ENOSYS. */
int cc_os_segment_open_(const char *name, int descriptor, int *own, uint64_t *bytes);
int cc_os_segment_unlink_(const char *name);

/* Closes a segment, which gives up its locks. In a child of fork() it is closed already. */
void cc_os_segment_close_(int own);

/* A number that is different in the child of a fork(): a process that opened a segment at another number does not have
 * it any more. */
uint32_t cc_os_forks_(void);

/* Maps the first `header` bytes of a segment, then `gap` bytes of private memory, then the rest; returns NULL if there
 * is no memory. All three are multiples of 65536 but the last. */
void *cc_os_segment_map_(int own, size_t header, size_t gap, size_t bytes);
void cc_os_segment_unmap_(void *mapping, size_t gap, size_t bytes);

/* Where the locks of a segment are. place tells that, for one that was just made, in a number that is kept in the
 * segment; find finds them by that number, for one that was opened. They come before any other of the calls below. 0;
 * EPROTO: the locks are gone; EACCES; ENOMEM. */
int cc_os_segment_place_locks_(int own, uint64_t *where);
int cc_os_segment_find_locks_(int own, uint64_t where);

/* The locks of a segment have the numbers 0 to 63. Each is held by one `own` descriptor alone, or by several that share
 * it. The system takes it back when the process that has it dies, after the last of its threads. A process that takes
 * it sees all that those did who had it alone before, until they gave it back or died. None of these calls waits. The
 * threads of a process that use the same `own` hold a lock in common. */
bool cc_os_segment_lock_(int own, uint32_t number); /* alone, also if it shared it before; false: another has it */
bool cc_os_segment_lock_shared_(int own, uint32_t number); /* with others; false: another has it alone */
void cc_os_segment_unlock_(int own, uint32_t number);      /* gives it back */

/* cc_os_wait_() and cc_os_wake_() for a word in a segment. The wake returns 0 if now nobody sleeps there who slept
 * before: it woke nobody, or, where the system does not tell how many it woke, everybody. */
int cc_os_wait_shared_(const uint32_t *word, uint32_t expected, uint64_t deadline);
uint32_t cc_os_wake_shared_(const uint32_t *word, uint32_t count);

/* cc_os_wait_() for several words at once: it sleeps while each of them is what is expected of it. ENOSYS where the
 * system has no such thing. The most is Linux's, FUTEX_WAITV_MAX. */
enum { CC_OS_WORDS_MAX_ = 128 };
typedef struct cc_os_word {
    const uint32_t *word;
    uint32_t expected;
    bool in_segment;
} cc_os_word_t;
int cc_os_wait_several_(const cc_os_word_t *words, size_t count, uint64_t deadline);

/* The heavy side of fence.h for all processes that have registered for it: makes all of their threads pass a full
 * fence, or takes one where cc_fence_light_() is a full one in every process of the system. */
bool cc_os_membarrier_shared_register_(void);
bool cc_os_membarrier_shared_(void);

CC_END_DECLS

#endif
