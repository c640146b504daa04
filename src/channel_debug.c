/* channel_debug.c: what code that was compiled with CC_DEBUG asks about each channel that it uses.
 *
 * It aborts only where it is sure. A second sender, or receiver, is one that comes while another is inside a call.
 * Threads that send in turns are never inside at once: each leaves before the next one enters, and what orders the two
 * shows the next one that the first has left. */
#include "debug.h"
#include "door.h"
#include "os.h"

static void die_(const cc_channel_t *channel, const char *text, uint32_t one, uint32_t other)
{
    cc_debug_die_("channel", channel, text, one, other);
}

/* ---- Who is inside ---------------------------------------------------------------------------------------------- */

/* A table says who is inside. A channel and a direction have a row of it, by the address, with places for a few threads
 * that are in a call there. An entry is the rest of the address, the direction, and the thread's number; 0: nobody. The
 * table takes 16 KiB where an entry has 8 bytes, and a program that is not checked never touches them; a thread that
 * finds no place is not checked. */
enum { ROWS = 256, PLACES = 8, THREAD_BITS = CC_DEBUG_THREAD_BITS_ };
static uintptr_t inside_[ROWS][PLACES];

static uintptr_t key_(const cc_channel_t *channel, uint32_t direction)
{
    return (uintptr_t)channel / CC_LINE_BYTES_ * 2 + direction; /* a channel begins at a multiple of it */
}

static uintptr_t entry_(uintptr_t key, uint32_t thread)
{
    return key / ROWS << THREAD_BITS | thread;
}

/* The thread of an entry with this key that is inside, and is not this one; else 0. */
static uint32_t other_(uintptr_t entry, uintptr_t key, uint32_t own)
{
    uint32_t thread = cc_debug_thread_in_(entry);
    bool is_other = entry != 0 && entry == entry_(key, thread) && thread != own;
    return is_other && cc_debug_is_here_(thread) ? thread : 0;
}

/* Notes that thread `own` is inside; returns another one that is there, or 0. relaxed, all: what orders two threads
 * that take turns orders this, too. */
static uint32_t note_inside_(uintptr_t key, uint32_t own)
{
    bool noted = false;
    uint32_t found = 0;
    for (int i = 0; i < PLACES; i++) {
        uintptr_t *place = &inside_[key % ROWS][i];
        uintptr_t seen = cc_load_relaxed(place);
        bool is_free = seen == 0 || !cc_debug_is_here_(cc_debug_thread_in_(seen));
        if (!noted && is_free) noted = cc_cas_relaxed(place, &seen, entry_(key, own));
        if (found == 0) found = other_(seen, key, own);
    }
    return found;
}

static void note_outside_(uintptr_t key, uint32_t own)
{
    for (int i = 0; i < PLACES; i++) {
        uintptr_t seen = entry_(key, own);
        if (cc_cas_relaxed(&inside_[key % ROWS][i], &seen, (uintptr_t)0)) return; /* relaxed: as above */
    }
}

/* Another thread that is inside, or 0. */
static uint32_t who_is_inside_(const cc_channel_t *channel, uint32_t direction)
{
    uintptr_t key = key_(channel, direction);
    uint32_t found = 0;
    for (int i = 0; i < PLACES && found == 0; i++)
        found = other_(cc_load_relaxed(&inside_[key % ROWS][i]), key, cc_debug_thread_()); /* relaxed: to be printed */
    return found;
}

/* ---- Channels --------------------------------------------------------------------------------------------------- */

void(cc_channel_debug_enter_)(cc_channel_t *channel, uint32_t direction)
{
    uint32_t own = cc_debug_thread_();
    if (own >> THREAD_BITS != 0) return;
    uint32_t other = note_inside_(key_(channel, direction), own);
    if (other == 0 || !cc_channel_is_spsc_(channel)) return;
    if (direction == CC_SENDING_)
        die_(channel, "has one sender, but thread %u sends while thread %u does", own, other);
    else
        die_(channel, "has one receiver, but thread %u receives while thread %u does", own, other);
}

size_t(cc_channel_debug_leave_)(cc_channel_t *channel, uint32_t direction, size_t result)
{
    note_outside_(key_(channel, direction), cc_debug_thread_());
    return result;
}

void(cc_channel_debug_commit_)(cc_channel_t *channel)
{
    (cc_channel_debug_enter_)(channel, CC_SENDING_);
    if (!cc_channel_is_spsc_(channel) || channel->spsc.reserved != (cc_index_)(channel->spsc.tail + 1))
        die_(channel, "is committed to by thread %u, which has reserved nothing", cc_debug_thread_(), 0);
    (void)(cc_channel_debug_leave_)(channel, CC_SENDING_, 0);
}

void(cc_channel_debug_consume_)(cc_channel_t *channel)
{
    (cc_channel_debug_enter_)(channel, CC_RECEIVING_);
    if (!cc_channel_is_spsc_(channel) || channel->spsc.peeked != (cc_index_)(channel->spsc.next + 1))
        die_(channel, "is consumed from by thread %u, which has not peeked at a message", cc_debug_thread_(), 0);
    (void)(cc_channel_debug_leave_)(channel, CC_RECEIVING_, 0);
}

/* Whether a thread waits. In the child of a fork the parent's threads are still counted. So this wakes all who are
 * counted, and one that takes up its claim lives. It has a tenth of a second for that, 1000 times 100 us: a wake-up
 * takes some 35 us (`concede info` on AMD Zen 3 under KVM), and a time slice that it may have to wait for some
 * milliseconds. */
static bool waits_(cc_channel_t *channel, cc_direction_t direction)
{
    cc_event_t *event = cc_channel_event_(channel, direction);
    /* relaxed, both: nobody may come now */
    if (!(cc_load_relaxed(&event->waiters) & CC_EVENT_LISTENING_)) return false;
    cc_channel_notify_slow_(channel, direction, CC_NOTIFY_ALL_);
    uint32_t unused = 0; /* to sleep on */
    for (int i = 0; i < 1000; i++) {
        if (!(cc_load_relaxed(&event->waiters) & CC_EVENT_CLAIMS_)) return true;
        (void)cc_os_wait_(&unused, 0, cc_os_now_() + 100000);
    }
    return false;
}

static void check_destroy_(cc_channel_t *channel, cc_direction_t direction)
{
    uint32_t own = cc_debug_thread_();
    uint32_t other = who_is_inside_(channel, direction);
    if (!waits_(channel, direction)) return;
    if (other == 0)
        die_(channel, "is destroyed by thread %u while one that is not checked waits", own, 0);
    else if (direction == CC_SENDING_)
        die_(channel, "is destroyed by thread %u while thread %u waits to send", own, other);
    else
        die_(channel, "is destroyed by thread %u while thread %u waits to receive", own, other);
}

/* The shape of a channel that was destroyed, which no other has, together with the thread that did it. By that
 * cc_select_debug_() knows it. */
#define DESTROYED (UINT64_C(3) << 62)

void(cc_channel_debug_destroy_)(cc_channel_t *channel)
{
    if (!channel || cc_channel_is_shared_(channel)) return;
    check_destroy_(channel, CC_SENDING_);
    check_destroy_(channel, CC_RECEIVING_);
    channel->shape = DESTROYED | cc_debug_thread_();
}

/* ---- Select ----------------------------------------------------------------------------------------------------- */

/* A select is inside all its channels at once. All cases are checked, also those that the select need not look at.
 * Cases that are not even an array are left to the select itself. */
int cc_select_debug_(cc_select_case_t *cases, size_t n, uint32_t order, size_t *which, uint64_t deadline)
{
    size_t inside = cases && n <= CC_SELECT_MAX ? n : 0;
    if (!cc_select_are_valid_(cases, inside)) return EINVAL;
    for (size_t i = 0; i < inside; i++) {
        if (!cases[i].channel) continue;
        if (cases[i].channel->shape >> 32 == DESTROYED >> 32)
            die_(cases[i].channel, "is selected on by thread %u after thread %u destroyed it", cc_debug_thread_(),
                 (uint32_t)cases[i].channel->shape);
        (cc_channel_debug_enter_)(cases[i].channel, cc_select_direction_(&cases[i]));
    }
    int result = cc_select_any_(cases, n, order, which, deadline);
    for (size_t i = 0; i < inside; i++)
        if (cases[i].channel) (void)(cc_channel_debug_leave_)(cases[i].channel, cc_select_direction_(&cases[i]), 0);
    return result;
}
