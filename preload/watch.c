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
enum { ENTRIES = (RECORD_CHUNK - 64) / sizeof(record_entry_t), TIMES = (RECORD_CHUNK - 64) / sizeof(record_times_t) };

typedef struct held {
    const void *mutex;
    record_entry_t *entry;
    uint64_t since;
    uint32_t depth;        /* acquisitions of a recursive one, less one */
    uint32_t uncounted;    /* acquisitions that the entry does not have yet */
    const void *woken_for; /* the condition variable that woke this thread since it has held the mutex */
} held_t;

/* An entry, and its object and caller mixed: two entries in one table that mix to the same would be counted as one,
 * but with 64 bits nobody will see that. The mix is here so that finding an entry does not wait for its memory. */
typedef struct slot {
    uint64_t mix;
    record_entry_t *entry; /* NULL: nothing is here */
} slot_t;

struct watch_thread {
    slot_t *slots; /* a hash table, at most three quarters full */
    uint32_t size, used;
    record_chunk_t *entries, *times; /* where the next ones go */
    held_t held[HELD];
    uint32_t holds;
    watch_thread_t *next; /* among those that no thread uses */
};

static record_chunk_t *file; /* all chunks */
static bool has_ticks;
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

/* A chunk of this kind, or NULL: the file is full. */
static record_chunk_t *chunk_(uint32_t kind)
{
    uint32_t *used = &file->is.header.used;
    if (cc_load_relaxed(used) >= RECORD_CHUNKS) return NULL; /* relaxed, both: read after the program's end */
    uint32_t mine = cc_fetch_add_relaxed(used, 1);
    if (mine >= RECORD_CHUNKS) return NULL;
    file[mine].process = process;
    file[mine].kind = kind;
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
    if (file->is.header.magic != RECORD_MAGIC) return false;
    has_ticks = file->is.header.has_ticks != 0;
    cc_fetch_add_relaxed(&file->is.header.processes, 1); /* relaxed: a count */
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

uint64_t watch_ticks(void)
{
    return record_ticks(has_ticks);
}

watch_thread_t *watch_enter(void)
{
    cc_lock_acquire(&lock);
    watch_thread_t *thread = unused;
    if (thread) unused = thread->next;
    cc_lock_release(&lock);
    if (thread) return thread;
    thread = memory_(sizeof *thread);
    if (!thread) return NULL;
    thread->size = 512;
    thread->slots = memory_(thread->size * sizeof *thread->slots);
    return thread->slots ? thread : NULL;
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
    record_chunk_t *chunk = from >= 0 ? chunk_(RECORD_MAPS) : NULL;
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
            if (at[2] != 'x' || chunk->is.filled + length > sizeof chunk->data) continue;
            memcpy(chunk->data + chunk->is.filled, line, length);
            chunk->is.filled += (uint32_t)length;
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

static uint64_t mix_(uint64_t object, uint64_t caller)
{
    uint64_t mix = (object ^ caller << 20) * UINT64_C(0x9e3779b97f4a7c15) ^ caller * UINT64_C(0xc2b2ae3d27d4eb4f);
    return mix ^ mix >> 32;
}

/* The slot of this mix, or the empty one where it would go. */
static slot_t *slot_(slot_t *slots, uint32_t size, uint64_t mix)
{
    uint32_t at = (uint32_t)mix & (size - 1);
    while (slots[at].entry && slots[at].mix != mix) at = (at + 1) & (size - 1);
    return &slots[at];
}

static bool grow_(watch_thread_t *thread)
{
    uint32_t size = thread->size * 2;
    slot_t *slots = memory_(size * sizeof *slots);
    if (!slots) return false;
    for (uint32_t i = 0; i < thread->size; i++)
        if (thread->slots[i].entry) *slot_(slots, size, thread->slots[i].mix) = thread->slots[i];
    munmap(thread->slots, thread->size * sizeof *slots);
    thread->slots = slots;
    thread->size = size;
    return true;
}

static record_entry_t *new_entry_(watch_thread_t *thread, uint64_t object, uint64_t caller, uint32_t kind)
{
    record_chunk_t *chunk = thread->entries;
    if (!chunk || chunk->is.filled == ENTRIES) chunk = thread->entries = chunk_(RECORD_ENTRIES);
    if (!chunk) return NULL;
    record_entry_t *entry = (record_entry_t *)(void *)chunk->data + chunk->is.filled++;
    entry->object = object;
    entry->caller = caller;
    entry->kind = kind;
    know_caller_(caller);
    return entry;
}

/* The entry of this object and caller; NULL: there is no more room. */
static record_entry_t *entry_(watch_thread_t *thread, const void *object, const void *caller, uint32_t kind)
{
    uint64_t mix = mix_((uintptr_t)object, (uintptr_t)caller);
    slot_t *slot = slot_(thread->slots, thread->size, mix);
    if (CC_LIKELY_(slot->entry != NULL)) return slot->entry;
    record_entry_t *entry = NULL;
    if (thread->used < thread->size / 4 * 3 || grow_(thread))
        entry = new_entry_(thread, (uintptr_t)object, (uintptr_t)caller, kind);
    if (!entry) {
        cc_fetch_add_relaxed(&file->is.header.dropped, 1); /* relaxed: a count */
        return NULL;
    }
    slot_t fresh = { mix, entry };
    *slot_(thread->slots, thread->size, mix) = fresh;
    thread->used++;
    return entry;
}

static void add_time_(watch_thread_t *thread, record_entry_t *entry, uint64_t ticks)
{
    entry->waited += ticks;
    if (ticks > entry->worst) entry->worst = ticks;
    if (entry->times == 0) {
        record_chunk_t *chunk = thread->times;
        if (!chunk || chunk->is.filled == TIMES) chunk = thread->times = chunk_(RECORD_TIMES);
        if (!chunk) return;
        char *at = chunk->data + chunk->is.filled++ * sizeof(record_times_t);
        entry->times = (uint32_t)((size_t)(at - (char *)file) / 64);
    }
    record_times_t *times = (record_times_t *)(void *)((char *)file + (size_t)entry->times * 64);
    times->count[record_bucket(ticks)]++;
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
    record_entry_t *entry = slot_(thread->slots, thread->size, mix_((uintptr_t)mutex, (uintptr_t)caller))->entry;
    if (entry) CC_ARCH_PREFETCH_WRITE_(entry);
    return entry;
}

void watch_acquired(watch_thread_t *thread, record_entry_t *entry, const void *mutex, const void *caller,
                    bool contended, uint64_t waited, uint64_t now)
{
    held_t *held = find_held_(thread, mutex);
    if (!entry) entry = entry_(thread, mutex, caller, RECORD_MUTEX);
    if (!entry) return;
    if (contended) {
        entry->contended++;
        add_time_(thread, entry, waited);
    }
    if (held) {
        entry->count++;
        held->depth++;
    } else if (thread->holds < HELD) {
        held_t fresh = { mutex, entry, now, 0, 1, NULL };
        thread->held[thread->holds++] = fresh;
    } else {
        entry->count++;
    }
}

void watch_gave_up(watch_thread_t *thread, const void *mutex, const void *caller, uint64_t waited)
{
    record_entry_t *entry = entry_(thread, mutex, caller, RECORD_MUTEX);
    if (!entry) return;
    entry->contended++;
    add_time_(thread, entry, waited);
}

/* Adds what a thread has held a mutex until now. */
static void add_held_(held_t *held, uint64_t now)
{
    held->entry->count += held->uncounted;
    held->entry->held += now - held->since;
    held->uncounted = 0;
}

void watch_released(watch_thread_t *thread, const void *mutex, uint64_t now)
{
    held_t *held = find_held_(thread, mutex);
    if (!held) return;
    if (held->depth > 0) {
        held->depth--;
        return;
    }
    add_held_(held, now);
    *held = thread->held[--thread->holds];
}

void watch_wait_begins(watch_thread_t *thread, const void *cond, const void *mutex, const void *caller, uint64_t now)
{
    held_t *held = find_held_(thread, mutex);
    if (!held) return;
    if (held->woken_for == cond) {
        record_entry_t *entry = entry_(thread, cond, caller, RECORD_COND);
        if (entry) entry->contended++;
    }
    held->woken_for = NULL;
    add_held_(held, now);
}

void watch_wait_ended(watch_thread_t *thread, const void *cond, const void *mutex, const void *caller, bool woken,
                      uint64_t began)
{
    uint64_t now = watch_ticks();
    record_entry_t *entry = entry_(thread, cond, caller, RECORD_COND);
    held_t *held = find_held_(thread, mutex);
    if (entry) {
        entry->count++;
        add_time_(thread, entry, now - began);
    }
    if (held) {
        held->since = now;
        held->woken_for = woken ? cond : NULL;
    }
}
