/* system.c: src/os.h, as loosely as it is promised. A wait may return for no reason, a wake wakes any of the sleepers,
 * and neither brings an order of memory. */
#include "engine.h"

#include <inttypes.h>
#include <string.h>

#include "os.h"

/* Each other thread passes a fence at some point before this returns, not all at the same. */
static void fence_everywhere(const char *why)
{
    fence(&run.threads[run.self]);
    bool downwards = run.thread_count > 2 && choose(CHOOSE_ANY, 2);
    history(downwards);
    for (unsigned i = 1; i <= run.thread_count; i++) {
        unsigned t = downwards ? run.thread_count + 1 - i : i;
        if ((int)t == run.self) continue;
        reschedule();
        fence(&run.threads[t]);
        run.threads[t].called_off = run.threads[t].in_sequence;
        trace("%s: a fence in T%u", why, t);
        history(t);
    }
    fence(&run.threads[run.self]);
    history(0x4ea);
}

/* Whether the word has the value, as far as this thread can know: it may read an older store, but none older than what
 * was there when a wake came before. */
static bool is_expected(const uint32_t *p, uint32_t expected)
{
    check_alive(p, sizeof *p);
    thread_t *me = &run.threads[run.self];
    word_t *w = word_of(p, sizeof *p);
    use(w, false);
    unsigned oldest = place(me->now.seen[w - memory.words]);
    if (place(w->woken) > oldest) oldest = place(w->woken);
    bool equal = value_of(w, newest(w)) == expected, other = false;
    for (unsigned at = oldest; at + 1u < w->count; at++) other |= (value_of(w, w->order[at]) == expected) != equal;
    if (settings.old_read_bound && run.old_reads >= settings.old_read_bound) other = false;
    if (other && choose(CHOOSE_READ, 2)) {
        equal = !equal;
        if (settings.old_read_bound) run.old_reads++;
    }
    while ((value_of(w, w->order[oldest]) == expected) != equal) oldest++;
    me->now.seen[w - memory.words] = w->order[oldest];
    me->read_since_yield[(w - memory.words) / 64] |= UINT64_C(1) << (w - memory.words) % 64;
    return equal;
}

static int end_wait(int result)
{
    thread_t *me = &run.threads[run.self];
    memset(me->asleep_on, 0, sizeof me->asleep_on);
    me->result = 0;
    history((uint64_t)result + 1);
    return result;
}

/* Looks at one word after the other, and is asleep on it for whoever wakes from then on; if one of them is not as
 * expected, or a wake came meanwhile, it does not sleep. No view passes from the waker to the woken. */
static int wait_on(const cc_os_word_t *words, size_t count, uint64_t deadline)
{
    if (run.self == 0) return 0;
    thread_t *me = &run.threads[run.self];
    const char *name = NULL;
    model_check(count > 0 && count <= SLEPT_ON);
    me->result = NOT_WOKEN;
    me->queued = ++run.tickets;
    for (size_t i = 0; i < count; i++) {
        reschedule();
        bool equal = is_expected(words[i].word, words[i].expected);
        name = word_name(word_at(words[i].word));
        if (me->result == NOT_WOKEN && !equal) {
            end_round();
            trace("wait on %s: not %" PRIu32, name, words[i].expected);
            return end_wait(EAGAIN);
        }
        me->asleep_on[i] = words[i].word;
    }
    end_round();
    if (me->result != NOT_WOKEN) return end_wait(me->result);
    if (deadline <= now_of(me)) {
        trace("wait on %s: past the deadline", name);
        return end_wait(ETIMEDOUT);
    }
    trace("wait on %s%s: sleeps while %" PRIu32, name, count > 1 ? " and others" : "", words[count - 1].expected);
    me->status = ASLEEP;
    me->deadline = deadline;
    history(0x51ee9);
    reschedule();
    int result = end_wait(me->result);
    if (settings.client->refusals && result == ETIMEDOUT) fence_everywhere("time passes");
    trace("wait on %s returns %s", name, result == 0 ? "0" : result == EINTR ? "EINTR" : "ETIMEDOUT");
    return result;
}

int cc_os_wait_(const uint32_t *p, uint32_t expected, uint64_t deadline)
{
    cc_os_word_t word = { p, expected, false };
    return wait_on(&word, 1, deadline);
}

/* What the wait of a thread that is woken returns. On a system that loses wake-ups that may be the signal or the
 * deadline that came at the same time. */
static int woken_as(const thread_t *th)
{
    if (run.losses >= settings.client->losses) return 0;
    int result = (int[]){ 0, EINTR, ETIMEDOUT }[choose(CHOOSE_FAULT, th->deadline == CC_FOREVER ? 2 : 3)];
    run.losses += result != 0;
    return result;
}

uint32_t cc_os_wake_shared_(const uint32_t *p, uint32_t count)
{
    if (run.self == 0) return 0;
    reschedule();
    word_t *w = word_at(p);
    bool freed_word = false;
    for (unsigned i = 0; i < run.freed_count; i++)
        freed_word |= (uintptr_t)p >= run.freed[i].start && (uintptr_t)p < run.freed[i].end;
    if (!freed_word) {
        w = word_of(p, sizeof *p);
        store_id seen = run.threads[run.self].now.seen[w - memory.words];
        if (place(seen) > place(w->woken)) w->woken = seen;
    }
    unsigned woken = 0;
    for (; woken < count; woken++) {
        uint8_t queue[MODEL_THREADS];
        unsigned sleepers = 0;
        for (unsigned t = 1; t <= run.thread_count; t++) {
            bool waits = false;
            for (int i = 0; i < SLEPT_ON; i++) waits |= run.threads[t].asleep_on[i] == p;
            if (!waits || run.threads[t].status == DONE || run.threads[t].result != NOT_WOKEN) continue;
            unsigned k = sleepers++;
            for (; k > 0 && run.threads[queue[k - 1]].queued > run.threads[t].queued; k--) queue[k] = queue[k - 1];
            queue[k] = (uint8_t)t;
        }
        if (sleepers == 0) break;
        thread_t *th = &run.threads[queue[sleepers <= count - woken ? 0 : choose(CHOOSE_ANY, sleepers)]];
        wake_up(th, woken_as(th));
        trace("wake on %s: T%d", word_name(w), (int)(th - run.threads));
    }
    if (!woken) trace("wake on %s: nobody", word_name(w));
    history(0x3a4e + (uint64_t)woken);
    return woken;
}

void cc_os_wake_(const uint32_t *p, uint32_t count)
{
    (void)cc_os_wake_shared_(p, count);
}

/* Its caller sleeps for a while only, to look for deaths. Where nobody dies that would hide a wake-up that is lost. */
int cc_os_wait_several_(const cc_os_word_t *words, size_t count, uint64_t deadline)
{
    return wait_on(words, count, settings.client->deaths ? deadline : CC_FOREVER);
}

int cc_os_wait_shared_(const uint32_t *p, uint32_t expected, uint64_t deadline)
{
    cc_os_word_t word = { p, expected, true };
    return cc_os_wait_several_(&word, 1, deadline);
}

/* The locks of a segment. Each thread is a process, has the lock of its number as long as it lives, and may have others
 * beside it. Who gets the lock of a dead one sees all that it did, and all that those did who had that lock before. */
static bool has_locks(unsigned thread)
{
    return !run.threads[thread].dead && !run.threads[thread].gave_up_locks;
}

static int locked_by(uint32_t number)
{
    if (has_locks(number) && !(settings.client->openers & bit(number))) return (int)number;
    int holder = run.locks[number];
    return holder != 0 && has_locks((unsigned)holder) ? holder : 0;
}

/* Whether others share it. */
static bool is_shared(uint32_t number)
{
    for (unsigned t = 1; t <= run.thread_count; t++)
        if ((int)t != run.self && (run.sharing[number] & bit(t)) && has_locks(t)) return true;
    return false;
}

/* Who gets a lock sees what those did who had it alone and are gone. Those who shared it pass nothing on. */
static void after_those_before(uint32_t number)
{
    int holder = run.locks[number];
    if (!has_locks(number)) inherit(&run.threads[number].now);
    if (holder != 0 && !has_locks((unsigned)holder)) inherit(&run.threads[holder].now);
    inherit(&run.unlocked[number]);
    history(view_hash(&run.unlocked[number]));
}

static bool take_lock(uint32_t number, bool alone)
{
    if (run.self == 0) return false;
    reschedule();
    bool taken = locked_by(number) == 0 && !(alone && is_shared(number));
    after_those_before(number);
    if (taken && alone) run.locks[number] = run.self;
    if (taken) run.sharing[number] = (thread_set)(alone ? 0 : run.sharing[number] | bit((unsigned)run.self));
    history(taken + 2u);
    trace("%s lock %u %s", taken ? "takes" : "does not get", number, alone ? "alone" : "with others");
    return taken;
}

bool cc_os_segment_lock_(int own, uint32_t number)
{
    (void)own;
    return take_lock(number, true);
}

bool cc_os_segment_lock_shared_(int own, uint32_t number)
{
    (void)own;
    return take_lock(number, false);
}

/* Gives all of them up. */
void cc_os_segment_close_(int own)
{
    (void)own;
    reschedule();
    run.threads[run.self].gave_up_locks = true;
    history(0xc105e);
    trace("closes the segment");
}

void cc_os_segment_unlock_(int own, uint32_t number)
{
    (void)own;
    if (run.self == 0) return;
    reschedule();
    if (run.locks[number] == run.self) {
        run.locks[number] = 0;
        run.unlocked[number] = run.threads[run.self].now;
    }
    run.sharing[number] &= (thread_set)~bit((unsigned)run.self);
    history(0x10c);
    trace("gives lock %u back", number);
}

void cc_os_yield_(void)
{
    yield(false);
}

/* Time passes only where somebody could notice: a timed wait that times out, and a read that finds a second gone. */
uint64_t cc_os_now_(void)
{
    if (run.self == 0) return run.now_ns;
    if (run.clock_jumps < settings.client->clock_jumps && choose(CHOOSE_FAULT, 2)) {
        run.clock_jumps++;
        *(settings.client->refusals ? &run.threads[run.self].waited : &run.now_ns) += SECOND;
        if (settings.client->refusals) fence_everywhere("time passes");
    }
    history(now_of(&run.threads[run.self]));
    return now_of(&run.threads[run.self]);
}

uint64_t cc_os_cpu_time_(void)
{
    return 0;
}

uint32_t cc_os_cpu_(void)
{
    return UINT32_MAX; /* not told: every thread may be a lookout */
}

bool cc_os_membarrier_register_(void)
{
    return settings.client ? settings.client->membarrier : false;
}

bool cc_os_membarrier_(void)
{
    if (run.self == 0 || !settings.client->membarrier) return settings.client->membarrier;
    if (run.refusals < settings.client->refusals && choose(CHOOSE_FAULT, 2)) {
        run.refusals++;
        history(0x4ef);
        trace("membarrier is refused");
        return false;
    }
    reschedule();
    fence_everywhere("membarrier");
    return true;
}

const char *cc_os_sequence_area_(uintptr_t *area)
{
    if (!settings.client || settings.client->sequences == MODEL_NO_SEQUENCES) return "not for this client";
    *area = 64;
    return NULL;
}

bool cc_os_sequence_barrier_(void)
{
    if (run.self == 0) return true;
    if (run.refusals < settings.client->refusals && choose(CHOOSE_FAULT, 2)) {
        run.refusals++;
        history(0x4ef);
        trace("the barrier is refused");
        return false;
    }
    reschedule();
    fence_everywhere("barrier");
    return true;
}

bool cc_os_membarrier_shared_(void)
{
    return cc_os_membarrier_();
}

/* Each thread has an answer of its own, so that a client can tell whose was taken. */
uint32_t cc_os_cpus_(void)
{
    return (uint32_t)run.self + 2;
}

uint32_t cc_os_quota_(void)
{
    return UINT32_MAX;
}

bool cc_os_has_sb_(void)
{
    return false;
}

const char *cc_os_environment_(const char *name)
{
    (void)name;
    return NULL;
}
