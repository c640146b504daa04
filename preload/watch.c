/* watch.c: see watch.h. Called from inside locks, so it takes memory from the system and never from malloc, and it
 * makes its few system calls by their numbers: those of the C library are cancellation points. */
#include "watch.h"

#include <concede/atomic.h>
#include <concede/lock.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WAITS = (RECORD_CHUNK - 64) / sizeof(record_waits_t), MAPS = 16 }; /* waits in a chunk; chunks for the maps */

/* In a chunk of its own; what only this process needs comes last. */
struct watch_thread {
    record_thread_t is;
    record_entry_t *entries; /* a hash table, at most three quarters full, in the chunks at `table` */
    uint32_t size, used;
    record_chunk_t *table, *waits; /* NULL: none yet */
    const void *last_caller;       /* of the last new entry */
    watch_thread_t *next;          /* among those that no thread uses */
};

CC_STATIC_ASSERT_(sizeof(watch_thread_t) <= RECORD_CHUNK - 64, "it fits in a chunk");

static record_chunk_t *file;   /* all chunks */
static record_entry_t nothing; /* the table of a thread that has none yet: one free entry, which is not written to */
bool watch_has_ticks;
static uint32_t process;

/* Guards what follows: seldom taken. */
static cc_lock_t lock;
static watch_thread_t *unused;
static uint32_t first;                            /* the chunk of the first thread, or 0 */
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
    const size_t bytes = (size_t)RECORD_CHUNK * RECORD_CHUNKS;
    struct stat status;
    void *at = MAP_FAILED;
    long opened = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (opened < 0) return false;
    if (fstat((int)opened, &status) == 0 && (uint64_t)status.st_size == bytes)
        at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, (int)opened, 0);
    syscall(SYS_close, (int)opened);
    if (at == MAP_FAILED) return false;
    file = at;
    if (file->header.magic != RECORD_MAGIC) {
        munmap(at, bytes);
        return false;
    }
    watch_has_ticks = file->header.has_ticks != 0;
    process = (uint32_t)getpid();
    uint32_t before = cc_fetch_add_relaxed(&file->header.processes, 1); /* relaxed: a count */
    record_start_t *starts = (record_start_t *)(void *)file->data, start = { process, watch_ticks() };
    if (before < RECORD_STARTS) starts[before] = start;
    return true;
}

void watch_forked(void)
{
    cc_lock_t fresh = CC_LOCK_INIT;
    lock = fresh;
    unused = NULL; /* their chunks are the parent's */
    first = 0;
    mapped = 0;
    process = (uint32_t)getpid();
}

void watch_exits(void)
{
    if (first) ((record_thread_t *)(void *)file[first].data)->ended = watch_ticks();
}

/* A thread for which no chunk is left still counts what there is room for. With the lock held. */
static watch_thread_t *new_thread_(void)
{
    record_chunk_t *chunk = chunks_(1);
    watch_thread_t *thread = chunk ? (watch_thread_t *)(void *)chunk->data : memory_(sizeof *thread);
    if (!thread) return NULL;
    if (chunk && first == 0) first = (uint32_t)(chunk - file);
    thread->entries = &nothing;
    thread->is.first = first;
    if (chunk) cc_store_release(&chunk->kind, RECORD_THREAD); /* [preload.table] pairs with the end of the process */
    return thread;
}

watch_thread_t *watch_enter(void)
{
    cc_lock_acquire(&lock);
    watch_thread_t *thread = unused;
    if (thread)
        unused = thread->next;
    else
        thread = new_thread_();
    cc_lock_release(&lock);
    return thread;
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

/* An entry's place in the file, and back. */
CC_INLINE_ uint64_t offset_(const record_entry_t *entry)
{
    return (uint64_t)((const char *)entry - (const char *)file);
}

CC_INLINE_ record_entry_t *at_(uint64_t offset)
{
    return (record_entry_t *)(void *)((char *)file + offset);
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
    for (uint32_t i = 0; i < thread->is.holds; i++) {
        const record_entry_t *entry = at_(thread->is.held[i].entry);
        thread->is.held[i].entry = offset_(slot_(entries, table->filled, entry->object, entry->caller));
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
    if (caller && thread->last_caller != caller) know_caller_((uintptr_t)caller);
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

static void add_time_(record_waits_t *waits, uint64_t ticks)
{
    waits->waited += ticks;
    if (ticks > waits->worst) waits->worst = ticks;
    waits->times[record_bucket(ticks)]++;
}

static record_held_t *find_held_(watch_thread_t *thread, const void *mutex)
{
    for (uint32_t i = thread->is.holds; i-- > 0;)
        if (thread->is.held[i].object == (uintptr_t)mutex) return &thread->is.held[i];
    return NULL;
}

record_entry_t *watch_look_up(watch_thread_t *thread, const void *mutex, const void *caller)
{
    CC_ARCH_PREFETCH_WRITE_(mutex);
    record_entry_t *entry = slot_(thread->entries, thread->size, (uintptr_t)mutex, (uintptr_t)caller);
    return entry->object ? entry : NULL;
}

/* Says that this thread waits from now on, or with nothing that it no longer does. */
static void set_wait_(watch_thread_t *thread, const void *object, const void *caller, uint32_t kind, uint64_t now)
{
    record_thread_t *is = &thread->is;
    is->waits_in = (uintptr_t)caller;
    is->waits_since = now;
    is->waits_kind = kind;
    cc_store_release(&is->waits_for, (uintptr_t)object); /* [preload.table] pairs with the end of the process */
}

record_entry_t *watch_waits(watch_thread_t *thread, const void *mutex, const void *caller, uint64_t now)
{
    record_entry_t *entry = entry_(thread, mutex, caller, RECORD_MUTEX);
    if (entry) (void)!waits_(thread, entry); /* now, and not when the mutex is held */
    set_wait_(thread, mutex, caller, RECORD_MUTEX, now);
    return entry;
}

void watch_waited(watch_thread_t *thread, record_entry_t *entry, bool counts, uint64_t waited)
{
    record_waits_t *waits = entry && counts ? waits_(thread, entry) : NULL;
    set_wait_(thread, NULL, NULL, RECORD_MUTEX, 0);
    if (!waits) return;
    waits->contended++;
    add_time_(waits, waited);
}

void watch_acquired(watch_thread_t *thread, record_entry_t *entry, const void *mutex, const void *caller,
                    bool recursive, uint64_t now)
{
    record_held_t *held = find_held_(thread, mutex);
    uint32_t holds = thread->is.holds;
    if (!entry) entry = entry_(thread, mutex, caller, RECORD_MUTEX);
    if (!entry) return;
    if (held && recursive) {
        add_one_(thread, entry);
        held->depth++;
    } else if (held || holds < RECORD_HELD) { /* what it seems to hold already, another thread has released */
        record_held_t fresh = { (uintptr_t)mutex, offset_(entry), now, 0, 0, true };
        if (held && held->uncounted) add_one_(thread, at_(held->entry));
        *(held ? held : &thread->is.held[holds]) = fresh;
        if (!held) cc_store_release(&thread->is.holds, holds + 1); /* [preload.table] pairs with the process's end */
    } else {
        add_one_(thread, entry);
    }
}

/* Adds what a thread has held a mutex until now. */
static void add_held_(watch_thread_t *thread, record_held_t *held, uint64_t now)
{
    record_entry_t *entry = at_(held->entry);
    if (held->uncounted) add_one_(thread, entry);
    if (held->since) entry->held += now - held->since;
    held->uncounted = false;
}

void watch_released(watch_thread_t *thread, const void *mutex, uint64_t now)
{
    record_held_t *held = find_held_(thread, mutex);
    if (!held) {
        record_entry_t *entry = entry_(thread, mutex, NULL, RECORD_RELEASE);
        if (entry) entry->held = now;
        return;
    }
    if (held->depth > 0) {
        held->depth--;
        return;
    }
    add_held_(thread, held, now);
    record_held_t *last = &thread->is.held[--thread->is.holds];
    if (held != last) *held = *last;
}

void watch_leave(watch_thread_t *thread)
{
    uint64_t now = watch_ticks();
    for (uint32_t i = 0; i < thread->is.holds; i++) add_held_(thread, &thread->is.held[i], now);
    thread->is.holds = 0;
    set_wait_(thread, NULL, NULL, RECORD_MUTEX, 0);
    cc_lock_acquire(&lock);
    thread->next = unused;
    unused = thread;
    cc_lock_release(&lock);
}

void watch_wait_begins(watch_thread_t *thread, const void *cond, const void *mutex, const void *caller, uint64_t now)
{
    record_entry_t *entry = entry_(thread, cond, caller, RECORD_COND);
    record_waits_t *waits = entry ? waits_(thread, entry) : NULL;
    record_held_t *held = find_held_(thread, mutex);
    set_wait_(thread, cond, caller, RECORD_COND, now);
    if (!held) return;
    if (waits && held->woken_for == (uintptr_t)cond) waits->contended++;
    held->woken_for = 0;
    add_held_(thread, held, now);
    held->since = 0;
}

void watch_wait_ended(watch_thread_t *thread, const void *cond, const void *mutex, const void *caller, bool woken,
                      uint64_t began)
{
    uint64_t now = watch_ticks();
    record_entry_t *entry = entry_(thread, cond, caller, RECORD_COND);
    record_waits_t *waits = entry ? waits_(thread, entry) : NULL;
    record_held_t *held = find_held_(thread, mutex);
    set_wait_(thread, NULL, NULL, RECORD_COND, 0);
    if (entry) add_one_(thread, entry);
    if (waits) add_time_(waits, now - began);
    if (held) {
        held->since = now;
        held->woken_for = woken ? (uintptr_t)cond : 0;
    }
}
