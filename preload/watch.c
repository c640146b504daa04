/* watch.c: see watch.h. Called from inside locks, so it takes memory from the system and never from malloc, and it
 * makes its few system calls by their numbers: those of the C library are cancellation points. */
#include "watch.h"

#include <concede/atomic.h>
#include <concede/lock.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { HELD = 16 }; /* locks of one thread whose time is taken; of further ones it is not */
enum { WAITS = (RECORD_CHUNK - 64) / sizeof(record_waits_t), MAPS = 16 }; /* waits in a chunk; chunks for the maps */

typedef struct held {
    const void *mutex;
    record_entry_t *entry;
    uint64_t since;
    uint32_t depth;        /* acquisitions of a recursive one, less one */
    bool uncounted;        /* whether the entry does not have the acquisition yet */
    const void *woken_for; /* the condition variable that woke this thread since it has held the mutex */
} held_t;

struct watch_thread {
    record_entry_t *entries; /* a hash table, at most three quarters full, in the chunks at `table` */
    uint32_t size, used;
    record_chunk_t *table, *waits; /* NULL: none yet */
    const void *last_caller;       /* of the last new entry */
    held_t held[HELD];
    uint32_t holds;
    watch_thread_t *next; /* among those that no thread uses */
};

static record_chunk_t *file;   /* all chunks */
static record_entry_t nothing; /* the table of a thread that has none yet: one free entry, which is not written to */
bool watch_has_ticks;
static uint32_t process;

/* Guards what follows: seldom taken. */
static cc_lock_t lock;
static watch_thread_t *unused;
static uint64_t mapped_from[512], mapped_to[512]; /* executable ranges that were written already */
static uint32_t mapped;

static void *memory_(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

/* So many chunks in a piece, or NULL: the file is full. Their kind is still to be set. */
static record_chunk_t *chunks_(uint32_t chunks)
{
    uint32_t *used = &file->header.used;
    if (cc_load_relaxed(used) >= RECORD_CHUNKS) return NULL; /* relaxed, both: read after the program's end */
    uint32_t mine = cc_fetch_add_relaxed(used, chunks);
    if (mine >= RECORD_CHUNKS || RECORD_CHUNKS - mine < chunks) return NULL;
    file[mine].chunks = chunks;
    file[mine].process = process;
    return &file[mine];
}

bool watch_start(const char *path)
{
    long opened = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
    if (opened < 0) return false;
    void *at = mmap(NULL, (size_t)RECORD_CHUNK * RECORD_CHUNKS, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                    (int)opened, 0);
    syscall(SYS_close, (int)opened);
    if (at == MAP_FAILED) return false;
    file = at;
    if (file->header.magic != RECORD_MAGIC) return false;
    watch_has_ticks = file->header.has_ticks != 0;
    cc_fetch_add_relaxed(&file->header.processes, 1); /* relaxed: a count */
    process = (uint32_t)getpid();
    return true;
}

void watch_forked(void)
{
    cc_lock_t fresh = CC_LOCK_INIT;
    lock = fresh;
    unused = NULL; /* their chunks are the parent's */
    mapped = 0;
    process = (uint32_t)getpid();
}

watch_thread_t *watch_enter(void)
{
    cc_lock_acquire(&lock);
    watch_thread_t *thread = unused;
    if (thread) unused = thread->next;
    cc_lock_release(&lock);
    if (thread) return thread;
    thread = memory_(sizeof *thread);
    if (thread) thread->entries = &nothing;
    return thread;
}

void watch_leave(watch_thread_t *thread)
{
    thread->holds = 0;
    cc_lock_acquire(&lock);
    thread->next = unused;
    unused = thread;
    cc_lock_release(&lock);
}

/* Writes the executable mappings of the process, a line each as /proc/self/maps has them, so that the tool can tell
 * which file an address is of. With the lock held. */
static void write_maps_(void)
{
    char text[4096];
    size_t filled = 0;
    long from = syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
    record_chunk_t *chunk = from >= 0 ? chunks_(MAPS) : NULL;
    if (chunk) chunk->kind = RECORD_MAPS;
    mapped = 0;
    while (chunk) {
        long got = syscall(SYS_read, (int)from, text + filled, sizeof text - filled);
        if (got <= 0) break;
        filled += (size_t)got;
        char *line = text, *end;
        for (; (end = memchr(line, '\n', filled - (size_t)(line - text))) != NULL; line = end + 1) {
            size_t length = (size_t)(end - line) + 1;
            uint64_t range[2] = { 0, 0 };
            const char *at = line;
            for (int i = 0; i < 2; i++, at++)
                for (; *at != '-' && *at != ' '; at++)
                    range[i] = range[i] << 4 | (uint64_t)(*at <= '9' ? *at - '0' : *at - 'a' + 10);
            if (at[2] != 'x' || chunk->filled + length > MAPS * sizeof *chunk - 64) continue;
            memcpy(chunk->data + chunk->filled, line, length);
            chunk->filled += (uint32_t)length;
            if (mapped < sizeof mapped_from / sizeof mapped_from[0])
                mapped_from[mapped] = range[0], mapped_to[mapped++] = range[1];
        }
        filled -= (size_t)(line - text);
        if (filled == sizeof text) break; /* no line is that long */
        memmove(text, line, filled);
    }
    if (from >= 0) syscall(SYS_close, (int)from);
}

/* A caller that was not seen before: is it known which file its code is from? */
static void know_caller_(uint64_t caller)
{
    int saved = errno;
    cc_lock_acquire(&lock);
    uint32_t i = 0;
    while (i < mapped && (caller < mapped_from[i] || caller >= mapped_to[i])) i++;
    if (i == mapped && (mapped < sizeof mapped_from / sizeof mapped_from[0])) write_maps_();
    cc_lock_release(&lock);
    errno = saved;
}

/* The slot of this object and caller, or the free one where it would go. */
CC_INLINE_ record_entry_t *slot_(record_entry_t *entries, uint32_t size, uint64_t object, uint64_t caller)
{
    uint64_t mix = (object ^ caller << 20) * UINT64_C(0x9e3779b97f4a7c15) ^ caller * UINT64_C(0xc2b2ae3d27d4eb4f);
    uint32_t at = (uint32_t)((mix >> 32) * size >> 32);
    while (entries[at].object && (entries[at].object != object || entries[at].caller != caller))
        at = at + 1 < size ? at + 1 : 0;
    return &entries[at];
}

/* A table four times as large, or the first one. The one before stays where it is, because a thread that waits may be
 * about to write to it. */
static CC_COLD_ bool grow_(watch_thread_t *thread)
{
    record_chunk_t *table = chunks_(thread->table ? thread->table->chunks * 4 : 1), *before = thread->table;
    if (!table) return false;
    record_entry_t *entries = (record_entry_t *)(void *)table->data;
    table->filled = (uint32_t)((table->chunks * sizeof *table - 64) / sizeof *entries);
    for (uint32_t i = 0; i < thread->size; i++) {
        const record_entry_t *entry = &thread->entries[i];
        if (entry->object) *slot_(entries, table->filled, entry->object, entry->caller) = *entry;
    }
    for (uint32_t i = 0; i < thread->holds; i++) {
        const record_entry_t *entry = thread->held[i].entry;
        thread->held[i].entry = slot_(entries, table->filled, entry->object, entry->caller);
    }
    cc_store_release(&table->kind, RECORD_ENTRIES); /* [preload.table] pairs with the end of the process */
    if (before) before->kind = RECORD_NONE;
    thread->table = table;
    thread->entries = entries;
    thread->size = table->filled;
    return true;
}

/* The entry of this object and caller; NULL: there is no more room. */
static record_entry_t *entry_(watch_thread_t *thread, const void *object, const void *caller, uint32_t kind)
{
    record_entry_t *entry = slot_(thread->entries, thread->size, (uintptr_t)object, (uintptr_t)caller);
    if (CC_LIKELY_(entry->object != 0)) return entry;
    if (thread->used >= thread->size / 4 * 3) {
        if (!grow_(thread)) {
            cc_fetch_add_relaxed(&file->header.dropped, 1); /* relaxed: a count */
            return NULL;
        }
        entry = slot_(thread->entries, thread->size, (uintptr_t)object, (uintptr_t)caller);
    }
    entry->object = (uintptr_t)object;
    entry->caller = (uintptr_t)caller;
    entry->kind = kind & 3;
    thread->used++;
    if (thread->last_caller != caller) know_caller_((uintptr_t)caller);
    thread->last_caller = caller;
    return entry;
}

/* Where the waits of an entry are counted; NULL: there is no more room. */
static record_waits_t *waits_(watch_thread_t *thread, record_entry_t *entry)
{
    if (entry->waits == 0) {
        if (!thread->waits || thread->waits->filled == WAITS) {
            thread->waits = chunks_(1);
            if (!thread->waits) return NULL;
            thread->waits->kind = RECORD_WAITS;
        }
        char *at = thread->waits->data + thread->waits->filled++ * sizeof(record_waits_t);
        entry->waits = (uint32_t)((size_t)(at - (char *)file) / 32) & 0x3fffffff;
    }
    return (record_waits_t *)(void *)((char *)file + (size_t)entry->waits * 32);
}

static void add_one_(watch_thread_t *thread, record_entry_t *entry)
{
    if (CC_LIKELY_(++entry->count != 0)) return;
    record_waits_t *waits = waits_(thread, entry);
    if (waits) waits->wraps++;
}

static void add_time_(watch_thread_t *thread, record_entry_t *entry, uint64_t ticks)
{
    record_waits_t *waits = waits_(thread, entry);
    if (!waits) return;
    waits->waited += ticks;
    if (ticks > waits->worst) waits->worst = ticks;
    waits->times[record_bucket(ticks)]++;
}

static held_t *find_held_(watch_thread_t *thread, const void *mutex)
{
    for (uint32_t i = thread->holds; i-- > 0;)
        if (thread->held[i].mutex == mutex) return &thread->held[i];
    return NULL;
}

record_entry_t *watch_look_up(watch_thread_t *thread, const void *mutex, const void *caller)
{
    CC_ARCH_PREFETCH_WRITE_(mutex);
    record_entry_t *entry = slot_(thread->entries, thread->size, (uintptr_t)mutex, (uintptr_t)caller);
    return entry->object ? entry : NULL;
}

record_entry_t *watch_waits(watch_thread_t *thread, const void *mutex, const void *caller)
{
    record_entry_t *entry = entry_(thread, mutex, caller, RECORD_MUTEX);
    record_waits_t *waits = entry ? waits_(thread, entry) : NULL;
    if (waits) waits->contended++;
    return entry;
}

void watch_acquired(watch_thread_t *thread, record_entry_t *entry, const void *mutex, const void *caller,
                    bool contended, uint64_t waited, uint64_t now)
{
    held_t *held = find_held_(thread, mutex);
    if (!entry) entry = entry_(thread, mutex, caller, RECORD_MUTEX);
    if (!entry) return;
    if (contended) add_time_(thread, entry, waited);
    if (held) {
        add_one_(thread, entry);
        held->depth++;
    } else if (thread->holds < HELD) {
        held_t fresh = { mutex, entry, now, 0, true, NULL };
        thread->held[thread->holds++] = fresh;
    } else {
        add_one_(thread, entry);
    }
}

void watch_gave_up(watch_thread_t *thread, const void *mutex, const void *caller, uint64_t waited)
{
    record_entry_t *entry = entry_(thread, mutex, caller, RECORD_MUTEX);
    if (entry) add_time_(thread, entry, waited);
}

/* Adds what a thread has held a mutex until now. */
static void add_held_(watch_thread_t *thread, held_t *held, uint64_t now)
{
    if (held->uncounted) add_one_(thread, held->entry);
    held->entry->held += now - held->since;
    held->uncounted = false;
}

void watch_released(watch_thread_t *thread, const void *mutex, uint64_t now)
{
    held_t *held = find_held_(thread, mutex);
    if (!held) return;
    if (held->depth > 0) {
        held->depth--;
        return;
    }
    add_held_(thread, held, now);
    held_t *last = &thread->held[--thread->holds];
    if (held != last) *held = *last;
}

void watch_wait_begins(watch_thread_t *thread, const void *cond, const void *mutex, const void *caller, uint64_t now)
{
    held_t *held = find_held_(thread, mutex);
    if (!held) return;
    if (held->woken_for == cond) {
        record_entry_t *entry = entry_(thread, cond, caller, RECORD_COND);
        record_waits_t *waits = entry ? waits_(thread, entry) : NULL;
        if (waits) waits->contended++;
    }
    held->woken_for = NULL;
    add_held_(thread, held, now);
}

void watch_wait_ended(watch_thread_t *thread, const void *cond, const void *mutex, const void *caller, bool woken,
                      uint64_t began)
{
    uint64_t now = watch_ticks();
    record_entry_t *entry = entry_(thread, cond, caller, RECORD_COND);
    held_t *held = find_held_(thread, mutex);
    if (entry) {
        add_one_(thread, entry);
        add_time_(thread, entry, now - began);
    }
    if (held) {
        held->since = now;
        held->woken_for = woken ? cond : NULL;
    }
}
