/* record.h: what libconcede-pthread.so writes while it watches, and `concede try` reads after the end.
 *
 * One file of chunks, mapped by the program that runs and kept by the tool, so that nothing is lost if the program is
 * killed. The first chunk is the header; each other one, or several in a piece, belongs to one process and holds
 * entries, waits, what a thread is at, or the process's executable mappings. Whoever needs some adds to `used`, says
 * how many, and fills in the kind last: what has no kind was never finished, or is no longer used, and is skipped. */
#ifndef CONCEDE_PRELOAD_RECORD_H
#define CONCEDE_PRELOAD_RECORD_H

#include <concede/arch.h>
#include <concede/deadline.h>

#define RECORD_MAGIC    UINT64_C(0x6464656365636e6f)
#define RECORD_VARIABLE "CONCEDE_PTHREAD_RECORD" /* the file to write to; unset: nothing is watched */
#define KEEP_VARIABLE   "CONCEDE_PTHREAD_KEEP"   /* set: the C library's own locks stay */

enum { RECORD_CHUNK = 1 << 12, RECORD_CHUNKS = 1 << 17 }; /* 512 MiB in all, of which only what is used exists */
enum { RECORD_NONE, RECORD_HEADER, RECORD_ENTRIES, RECORD_WAITS, RECORD_THREAD, RECORD_MAPS };

/* What an entry is about. Of a mutex that was released by a thread that had not taken it, or not as far as is known,
 * an entry without a caller says when that was last, as `held`: so it is not taken to be held until the end. */
enum { RECORD_MUTEX, RECORD_COND, RECORD_RELEASE };

/* One object and one place in the program that uses it, as one thread saw it: a slot of a hash table, free while its
 * object is 0. All that a use without a wait touches is here, in half a cache line. */
typedef struct record_entry {
    uint64_t object, caller;
    uint64_t held;       /* mutex: ticks */
    uint32_t count;      /* mutex: acquisitions; condition variable: waits; less 2^32 times what `waits` says */
    uint32_t kind : 2;   /* RECORD_MUTEX, RECORD_COND, RECORD_RELEASE */
    uint32_t waits : 30; /* where its record_waits_t is, in 32 bytes from the start of the file; 0: it never waited */
} record_entry_t;

/* What an object was waited for, once it was. Times are in ticks. */
enum { RECORD_BUCKETS = 160 };
typedef struct record_waits {
    uint64_t contended; /* mutex: acquisitions that waited; condition variable: wake-ups in vain */
    uint64_t waited, worst;
    uint64_t wraps;                 /* of the entry's count */
    uint32_t times[RECORD_BUCKETS]; /* how often a wait took so many: four buckets for each doubling */
} record_waits_t;

/* What a thread holds and waits for at the moment: if the process ends now, this has no other end. */
enum { RECORD_HELD = 16 }; /* locks of one thread whose time is taken; of further ones it is not */
typedef struct record_held {
    uint64_t object;
    uint64_t entry;     /* where it is counted, in bytes from the start of the file */
    uint64_t since;     /* ticks; 0: given up meanwhile, in a wait for a condition */
    uint64_t woken_for; /* the condition variable that woke this thread since it has held the mutex */
    uint32_t depth;     /* acquisitions of a recursive one, less one */
    uint32_t uncounted; /* whether the entry does not have the acquisition yet */
} record_held_t;

typedef struct record_thread {
    record_held_t held[RECORD_HELD];
    uint32_t holds;
    uint32_t first; /* the chunk of the first thread that this process had since its start or fork; 0: none */
    uint64_t ended; /* in that chunk: when the process called exit, ticks; 0: it did not */
    uint64_t waits_for, waits_in, waits_since; /* object, caller, ticks; 0: it does not wait */
    uint32_t waits_kind;
} record_thread_t;

/* The header's data: processes that began to record, forks not counted, in the order in which they did. A process that
 * is there twice has executed another program. */
enum { RECORD_STARTS = 252 };
typedef struct record_start {
    uint64_t process, ticks;
} record_start_t;

typedef struct record_chunk {
    uint32_t kind, process;
    uint32_t chunks; /* of which this is the first, 1 or more: one piece */
    uint32_t filled; /* bytes of text, how many waits are in use, or how many entries there is room for */
    struct {
        uint64_t magic;
        uint32_t used;      /* chunks; atomic */
        uint32_t has_ticks; /* whether a tick is one of the time stamp counter's; else a nanosecond */
        uint32_t dropped;   /* entries for which there was no room; atomic */
        uint32_t processes; /* that record here, forks not counted; atomic */
    } header;
    uint32_t unused[6];
    char data[RECORD_CHUNK - 64]; /* and the chunks that follow */
} record_chunk_t;

CC_STATIC_ASSERT_(sizeof(record_entry_t) == 32 && sizeof(record_waits_t) % 32 == 0, "none lies across a cache line");
CC_STATIC_ASSERT_(RECORD_STARTS * sizeof(record_start_t) <= RECORD_CHUNK - 64, "they are in the header's chunk");
CC_STATIC_ASSERT_(sizeof(record_chunk_t) == RECORD_CHUNK && offsetof(record_chunk_t, data) == 64, "whole cache lines");

#if defined(CC_ARCH_X86_64)
CC_INLINE_ uint64_t record_ticks(bool has_ticks)
{
    return has_ticks ? __builtin_ia32_rdtsc() : cc_now_ns();
}
#else
CC_INLINE_ uint64_t record_ticks(bool has_ticks)
{
    (void)has_ticks;
    return cc_now_ns();
}
#endif

CC_INLINE_ uint32_t record_bucket(uint64_t ticks)
{
    if (ticks < 4) return (uint32_t)ticks;
    uint32_t log = 63 - (uint32_t)__builtin_clzll(ticks);
    uint32_t bucket = 4 * (log - 1) + (uint32_t)(ticks >> (log - 2) & 3);
    return bucket < RECORD_BUCKETS ? bucket : RECORD_BUCKETS - 1;
}

/* The middle of a bucket, in ticks. */
CC_INLINE_ double record_bucket_ticks(uint32_t bucket)
{
    if (bucket < 4) return bucket;
    uint32_t log = bucket / 4 + 1;
    return (4.5 + bucket % 4) * (double)(UINT64_C(1) << (log - 2));
}

#endif
