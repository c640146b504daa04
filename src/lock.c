/* lock.c: the waiting half of lock.h. */
#include <concede/lock.h>

#include "backoff.h"
#include "costs.h"
#include "counters.h"
#include "os.h"
#include "probe.h"
#include "snooze.h"

/* The word:
 *   bit 0       HELD      somebody has it
 *   bit 1       PARKED    somebody may sleep: the release wakes one
 *   bit 2       SHARED    others want it, too: the releases are counted
 *   bit 3       SURE      the release is a read-modify-write, for sure
 *   bit 4       OWED      a turn is owed to those who have waited for long: the next release hands the lock over to one
 *                         who has slept or demanded it
 *   bit 5       INSISTED  one of these insists: OWED stays until it has had its own turn
 *   bits 6, 7             unused
 *   bits 8..31  RELEASES  how often it was released by a read-modify-write, modulo 2^24: tells a waiter whether the
 *                         same section goes on. A release by a store leaves 0
 *
 *   row         from           to                       by
 *   take        free           HELD                     anybody. PARKED goes: the release that left it wakes one, and
 *                                                       from here on the woken one remembers that others may sleep.
 *                                                       Who lost a race before, or glanced, adds SHARED;
 *                                                       where it or another has slept, SURE, too. Who did not wait
 *                                                       leaves them, but at every 64th release, or 4096th if SURE,
 *                                                       it takes them away
 *   take back   free           HELD PARKED              one who has slept: others may still
 *   inherit     handed over    HELD PARKED              one who has slept, whoever asked for the turn; or one who has
 *                                                       demanded it and not slept: then PARKED stays as it was. If
 *                                                       INSISTED, and not by itself, OWED INSISTED stay
 *   store       HELD alone     0                        the holder, where the system has restartable sequences
 *   release     HELD           the same but HELD,       the holder, else; then it wakes one if PARKED. The lock is free
 *                              RELEASES + 1             then or, if OWED, handed over
 *   share       HELD alone     HELD SHARED              one who waits and wants to know when the section ends; the
 *                                                       holder, who adds SURE, too, and then does not store
 *   warn        not free       the same and PARKED      one who goes to sleep: what follows needs SURE
 *                              SHARED, RELEASES a mark
 *   be sure     warned         the same and SURE        the same one or another, after a barrier
 *   park        not free       the same and PARKED      one who goes to sleep
 *   demand      HELD           the same and OWED        one who has slept, or stays away again and again, and has
 *                                                       waited too long; or would sleep next
 *   insist      HELD           the same, OWED INSISTED  one who has slept, and was woken in vain IN_VAIN times; not
 *                                                       if another insists
 *   withdraw    HELD OWED      the same but OWED        one who demanded and has not slept, before it yields or sleeps;
 *                                                       not if another insists
 *   give up     HELD           PARKED                   one who has slept and is late; OWED stays if it never
 *                                                       demanded, or if another insists
 *
 * A release that finds OWED hands over: a newcomer finds the lock neither free nor held, and waits. One who has slept
 * takes it and the debt is paid, whoever demanded it: so many who have waited too long get one turn after the other,
 * and in between whoever runs may take the lock. If each were owed a turn of its own, each release would hand over, and
 * nobody work until the next one has woken up: with 64 threads and sections of 100 us that takes an eighth of the rate
 * (lock.map). A handover is never left behind: OWED goes before the last one who demanded does, or who insists. It
 * either takes the lock, which it finds free, and then there is no OWED, or inherits it, or gives up; and before it
 * gives up it takes what was handed over.
 *
 * One who spins demands a turn, too, when it has stayed away again and again for as long as that. It does so only where
 * sections go on to end, so that the next one is its own at once, and withdraws before it lets others run: nobody could
 * have the lock until it is back. A release by a store may wipe out its demand, and another may inherit its turn; then
 * it stays away again. All such waiters of a lock together have one turn in a while, and a newcomer holds back from it.
 * With 2 threads and 200 ns held Jain's index is 0.99 by this, and 0.51 to 0.55 without, at the same rate; with 64
 * threads the rate would be 0.4 of that if each of them had a turn when its time has come, and 0.86 if none withdrew
 * (lock.map, nothing outside). Where each thread has a CPU, one who has spun in vain and would sleep next demands one
 * section, whenever that is, and nobody holds back from that.
 *
 * By demands alone one could wait for ever. It is woken in vain, because the one who woke it took the lock back, and
 * demands; but before the section is over it sleeps again, behind all others. The first of them is handed the lock, and
 * when that one releases it, the next is woken in vain, and so on: with three threads it may be the same one each time.
 * So it insists. From then on nobody is woken in vain: each release hands over to the sleeper that it wakes, and those
 * who take turns meanwhile sleep behind the one who insists. Where the system wakes sleepers in their order, it has the
 * lock when all before it have had it once.
 *
 * No wake-up is lost where releasing is a read-modify-write of the word, as going to sleep is: either the release sees
 * PARKED, or the sleeper's compare-and-swap fails; and the kernel compares the word again as it puts the sleeper to
 * sleep. Whoever was woken, or may have been, leaves PARKED behind in every way it can go: with the lock, back to
 * sleep, or away.
 *
 * A release by a store may have read HELD alone before others changed the word, and wipe out what they wrote. So
 * nobody relies on what it writes into a held word before it is SURE. It is if the holder itself wrote that. Else a
 * waiter writes PARKED SHARED and a mark that nobody else uses, and calls the system's barrier. After that every
 * release which had read HELD alone has either stored, so that the mark is gone, or was called off, and will find
 * it. If the mark is there, it adds SURE. The mark is a number from 2^24: another thread's could be taken for ours
 * only if a thread is held up between its two swaps while so many locks go the same way. Where no release is a store
 * everything is as good as SURE.
 *
 * A barrier takes 11 us and the CPU that it interrupts 7 (AMD EPYC under KVM); to count releases for nobody takes
 * 2.5 ns each, and to ask for a count again two transfers of a line. So what is SURE stays so for some thousand
 * releases after the last sleeper, which cost about as much as the next barrier would, and what is only SHARED for
 * 64. */
enum {
    HELD = CC_LOCK_HELD_,
    PARKED = CC_LOCK_PARKED_,
    SHARED = CC_LOCK_SHARED_,
    SURE = CC_LOCK_SURE_,
    OWED = CC_LOCK_OWED_,
    INSISTED = CC_LOCK_INSISTED_,
    RELEASES = CC_LOCK_RELEASES_
};

/* Times, because pauses differ by ten between CPUs. Chosen with `concede simulate lock` on all its machines and with
 * `concede bench lock` on 2 CPUs of AMD Zen 4 under KVM:
 *   SPIN         all spinning of one wait, before it sleeps: what a wake-up costs both sides; twice that for one who
 *                has demanded the next section
 *   NEAREST      no line gets from one core to another faster (sim/machines: 18 ns at the least). A thread that
 *                passes for one that has the lock for itself does so until releases are twice as far apart: on
 *                `xeon-4x64` with 256 CPUs it takes up to 16 ns for a section, and would pass for one of many half of
 *                the time
 *   LOOK         what a look is taken to last. Without it two threads that take turns on one die pass for one that has
 *                the lock for itself: lock.map with 8 CPUs loses an eighth, and 2 CPUs with 100 ns outside a third
 *   SHORT        what a waiter takes for a short section, in time that it pauses. Half of it and twice as much change
 *                nothing but lock.map at 32 CPUs and more, by a tenth
 *   AWAY_MAX     the longest interval of staying away: twice the time until a turn is owed
 *   YIELD_AFTER  a section that lasts longer may be one whose holder has lost its CPU, perhaps to us
 *   SOONER       times sooner the next yield comes after one that ran somebody. With 64 threads, sections of 100 us and
 *                as much outside, lock.map is half as fast again with 8 as with 1, and a tenth faster than with 2
 *   UNSEEN       yields before one who stays away by them looks whether the section still goes on: with 16 threads they
 *                take some 30 us (lock.map), of which the look takes the holder a hundredth at most
 *   OWED_NS      from the first sleep, or the first time away, until the waiter is owed a turn. With twice as much, 2
 *                threads and sections of 100 us wait longer than parking_lot's, which is handed over as often
 *                (lock.map, p99)
 *   TURN         times the number of CPUs: from one turn that a spinning waiter demands to the next. With twice as
 *                much, Jain's index of 16 threads with 200 ns held is as without such turns (lock.map)
 *   TURN_BEGINS  from a demand on, for which newcomers take the lock for another's: some short sections, and no longer
 *                than they hold back then
 *   IN_VAIN      wake-ups in vain before a waiter insists. With 4, the longest wait of 3 threads for sections of 200
 *                us is 10 ms, as parking_lot's; where nobody insists it is 190 ms (`concede bench lock.fair --held
 *                200us -t 3 --pin none`), and it could be for ever (tests/unit/lock.c)
 *   MANY         releases, more than there can be while a waiter is away, so that a count which shows them is another
 *   UNLUCKY      short sections that may be lost one by one before it backs off. With 0 the longest waits of 2 threads
 *                with 100 ns outside are ten times as long (lock.map, p999); with 4 nothing gets better
 * The factors in draw_away_ns_(): from 1024 to 4096, lock.tight keeps four fifths of its rate from 8 to 256 CPUs; with
 * at most 2048 it does not, and with 8192 Jain's index falls under 0.9. From 16 to 2048, lock.map is best with 8 to 64
 * CPUs (16) and with 256 (2048). */
#if !defined(CC_LOCK_SPIN_NS)
#define CC_LOCK_SPIN_NS 20000
#endif
#if !defined(CC_LOCK_OWED_NS)
#define CC_LOCK_OWED_NS 500000
#endif
#if !defined(CC_LOCK_IN_VAIN)
#define CC_LOCK_IN_VAIN 4
#endif
enum { NEAREST_NS = 16, LOOK_NS = 32, SHORT_NS = 500, TURN_NS = 50000, TURN_BEGINS_NS = 8000 };
enum { AWAY_MAX_NS = 2 * CC_LOCK_OWED_NS, YIELD_AFTER_NS = 4000, SOONER = 8, UNSEEN = 16 };
enum { MANY = 1 << 20, UNLUCKY = 2 };

/* ---- Releases by a plain store: whether there are any, for the whole process ------------------------------------ */

/* One of these, or where a thread has the area that its sequences need:
 *   UNKNOWN   nobody has asked the system; every release is a read-modify-write
 *   NONE      no release is a plain store
 *   LOST      the system took the barrier away (a seccomp filter that was set late): no plain store begins any more
 * UNKNOWN goes to NONE or to an area, once: when the library is loaded, because asking takes some 15 ms in a process
 * that has threads already, or else by whoever waits first. So nobody sleeps while it is UNKNOWN. */
enum { UNKNOWN = CC_LOCK_UNKNOWN_, NONE = CC_LOCK_NONE_, LOST };
uintptr_t cc_lock_sequence_area_ = CC_LOCK_UNKNOWN_;

static uintptr_t area_(void)
{
    return cc_load_relaxed(&cc_lock_sequence_area_); /* relaxed: a number on its own; the first answer stands */
}

/* The next mark. No two waiters have the same at one time, and another copy of the library in this program starts
 * elsewhere. */
static uint32_t marks_;

static CC_CONSTRUCTOR_ void find_out_(void)
{
    uintptr_t found = NONE;
    uintptr_t unknown = UNKNOWN;
    const char *reason = cc_os_sequence_area_(&found);
    if (reason || found <= CC_LOCK_NO_AREA_) found = NONE;
    if (cc_cas_relaxed(&cc_lock_sequence_area_, &unknown, found)) /* relaxed, both: as above */
        cc_store_relaxed(&marks_, (uint32_t)(uintptr_t)&marks_ / CC_LINE_BYTES_ * RELEASES);
}

/* Returns when no release by a plain store is under way that read the word before. Where the barrier is refused, time
 * does it: a sequence that finds LOST fails, those that did not find it are some nanoseconds long, and one whose thread
 * loses its CPU fails. */
enum { LOST_FOR_NS = 10000000 }; /* a host may keep a virtual CPU away for some milliseconds, and no guest notices */
static void barrier_(void)
{
    uintptr_t area = area_();
    uintptr_t lost = LOST;
    if (area > CC_LOCK_NO_AREA_) {
        if (cc_os_sequence_barrier_()) return;                /* [lock.store] pairs with the release */
        cc_cas_relaxed(&cc_lock_sequence_area_, &area, LOST); /* relaxed: as above */
    }
    cc_os_sleep_(LOST_FOR_NS);
    cc_cas_release(&cc_lock_sequence_area_, &lost, NONE); /* [lock.store] pairs with is_sure_() */
}

/* ---- One who waits ---------------------------------------------------------------------------------------------- */

typedef struct waiter {
    cc_lock_t *lock;
    uint64_t deadline;
    uint64_t spin_ns;        /* how long it may spin at a time */
    uint64_t first_away_at;  /* 0: not yet */
    uint64_t first_slept_at; /* 0: not yet */
    uint64_t slept_ns;       /* in all */
    bool spins_fully;        /* for as long as may pay: else for a part of that */
    bool never_calls;        /* the system: neither to sleep nor to yield nor to measure */
    bool may_yield;
    bool has_yielded;
    bool has_lost;     /* a race: others are many, or quick */
    bool has_slept;    /* so a wake-up may have been meant for it, and it must not get lost */
    bool may_inherit;  /* what was handed over */
    bool has_demanded; /* OWED may be its doing */
    bool insists;      /* INSISTED is its doing */
    uint32_t in_vain;  /* how often it was woken and somebody else had the lock */
    bool is_late;      /* its deadline has passed */
} waiter_t;

static bool is_free_(uint32_t seen)
{
    return !(seen & (HELD | OWED));
}

static bool may_take_(const waiter_t *w, uint32_t seen)
{
    return is_free_(seen) || (!(seen & HELD) && w->may_inherit);
}

/* What is owed no longer when this one, who has demanded or inherits, has the lock or gives up. */
static uint32_t paid_(const waiter_t *w, uint32_t seen)
{
    return w->insists ? OWED | INSISTED : seen & INSISTED ? 0 : OWED;
}

/* The rows "take", "take back" and "inherit". */
static bool take_(const waiter_t *w, uint32_t seen)
{
    uint32_t taken = seen & ~(is_free_(seen) ? PARKED : paid_(w, seen));
    if (area_() > CC_LOCK_NO_AREA_) {
        if (w->has_lost) taken |= SHARED;
        if (w->has_slept || (seen & PARKED)) taken |= SHARED | SURE;
    }
    if (w->has_slept) taken |= PARKED;
    if (!cc_cas_acquire(&w->lock->word, &seen, taken + HELD)) return false; /* [lock.word] pairs with the release */
    if (!is_free_(seen)) CC_PROBE_(lock__handover, w->lock);
    return true;
}

static uint32_t look_(const waiter_t *w)
{
    return cc_load_relaxed(&w->lock->word); /* relaxed: a swap decides; reading leaves the line shared */
}

/* A waiter that may not call the system cannot measure a pause either. Until another thread has, it assumes that a
 * pause takes 40 ns: between the 25 to 32 ns of AMD Zen 3 and 4 (`concede info`) and the 60 ns of the slowest in
 * use. */
static uint32_t pauses_in_(const waiter_t *w, uint64_t ns)
{
    return w->never_calls && !cc_costs_are_known_() ? (uint32_t)(ns / 40) : cc_backoff_pauses_(ns);
}

/* How often the lock was released between two looks, by the count, modulo 2^24. */
static uint32_t counted_(uint32_t last, uint32_t seen)
{
    return (seen / RELEASES - last / RELEASES) % (UINT32_MAX / RELEASES + 1);
}

/* Whether the lock was released between two looks, but nobody can tell how often: the releases were counted at the
 * first one, and then not for some time, so that the count has gone or started anew, or is somebody's mark. */
static bool is_forgotten_(uint32_t last, uint32_t seen)
{
    return (last & SHARED) && (!(seen & SHARED) || counted_(last, seen) > MANY);
}

/* How often the lock was released between two looks. Where that is not known, it is 1 if there was any release that we
 * know of, else 0. */
static uint32_t releases_(uint32_t last, uint32_t seen)
{
    if (is_forgotten_(last, seen)) return 1;
    bool counts = (last & seen & SHARED) || area_() <= CC_LOCK_NO_AREA_;
    return counts ? counted_(last, seen) : 0;
}

/* The row "share": asks for a count of releases. Returns the word as it is then, as far as we know. */
static uint32_t share_(const waiter_t *w, uint32_t seen)
{
    if (seen != HELD || area_() <= CC_LOCK_NO_AREA_) return seen;
    return cc_cas_relaxed(&w->lock->word, &seen, HELD | SHARED) ? HELD | SHARED : seen; /* relaxed: a guess */
}

/* The row "withdraw". Returns false if that comes too late, and the lock is handed over. */
static bool withdraw_(waiter_t *w)
{
    if (!w->has_demanded || w->has_slept) return true;
    uint32_t seen = look_(w);
    while ((seen & HELD) && (seen & OWED) && !(seen & INSISTED)) {
        if (!cc_cas_relaxed(&w->lock->word, &seen, seen - OWED)) continue; /* relaxed: passes on no data */
        w->may_inherit = w->has_demanded = false;
        return true;
    }
    return !may_take_(w, seen);
}

/* A yield may last for milliseconds, so not with a deadline. And waiters that yield to each other until one of them
 * gets the lock use up CPU time that a quota gives to the holder: with a quota of one CPU, sections of 20 us and 1 us
 * outside, 4 and 16 threads are 1.7 times as fast without yields (lock.map on 2 CPUs of AMD EPYC under KVM). */
static bool may_yield_(const waiter_t *w)
{
    return w->deadline == CC_FOREVER && !w->never_calls && !cc_costs_has_quota_();
}

/* Whether this wait yields while it spins, at the moment. */
static bool lets_others_run_(const waiter_t *w, uint64_t now)
{
    return w->may_yield && cc_snooze_calm_() == CC_CALM_ && cc_snooze_is_yield_worth_it_(now);
}

/* ---- What waiters learn ----------------------------------------------------------------------------------------- */

/* What waiters know of a lock besides its word stands in a table, because a word with this in it could not be released
 * by a store. Locks may share a row. All of it is guesses, so that a lost update does no harm, and it is seldom
 * written, because all waiters read it. The table starts on a line of its own: beside it may be what every release
 * reads, and then some wait for twice as long. */
typedef struct memo {
    CC_ALIGNED_(32)   /* within one line */
    uint32_t awaited; /* so often those who would stay away must not */
    uint32_t crowd;   /* from CROWD on, those who wait are many */
    uint32_t glances; /* from GLANCES on, waiters glance, COUNTED: and give way now and then; 0: nobody has asked */
    uint32_t turn_at; /* when one who spins last demanded a turn: the lower half of the clock */
    uint32_t local;   /* from LOCAL on, one thread has the lock for itself */
    uint32_t look_ns; /* what a look took whoever noted that last */
    uint32_t lasting; /* from LASTING on, sections outlast what is worth spinning for */
} memo_t;
CC_STATIC_ASSERT_(sizeof(memo_t) == 32, "a row is within one line");
enum { ROWS = 64 };
static CC_ALIGNED_(CC_CACHE_LINE) memo_t memos_[ROWS];

static memo_t *memo_of_(const cc_lock_t *lock)
{
    return &memos_[(uintptr_t)lock / CC_LINE_BYTES_ % ROWS];
}

static void remember_(uint32_t *guess, uint32_t value)
{
    if (cc_load_relaxed(guess) != value) cc_store_relaxed(guess, value); /* relaxed, both: a guess */
}

/* A thread that waits for a condition under a lock waits for others to take it, and must not wait for one that stays
 * away. So the next few that would stay away from it do so for no more than so many looks: with a buffer for 16
 * messages between two threads that is ten times as fast (`concede bench condition.buffer --between 1:1` on 2 CPUs of
 * AMD Zen 4 under KVM). */
enum { AWAITED_FOR = 64 /* times that somebody stays away */, AWAITED_LOOKS = 32 };
enum { NO_GLANCES = 1, GLANCES = 3, COUNTED = 4 };

void cc_lock_note_await_(const cc_lock_t *lock)
{
    remember_(&memo_of_(lock)->awaited, AWAITED_FOR);
    remember_(&memo_of_(lock)->glances, NO_GLANCES); /* see below: Glancing */
}

static bool is_awaited_(const waiter_t *w)
{
    return cc_load_relaxed(&memo_of_(w->lock)->awaited) > 0; /* relaxed: a guess */
}

static void forget_await_(const waiter_t *w)
{
    uint32_t *awaited = &memo_of_(w->lock)->awaited, left = cc_load_relaxed(awaited); /* relaxed, both: a guess */
    if (left > 0) cc_store_relaxed(awaited, left - 1);
}

/* Whether those who wait for a lock are a crowd. One of NOTED waits that lose one short section after the other adds 1,
 * one of FORGOTTEN waits takes 1 away. So the number grows while more than a sixteenth of all waits lose like that, and
 * one that was unlucky changes nothing. From `concede simulate lock.map lock.apart` with 64 CPUs of `xeon-4x64`: if
 * NOTED and FORGOTTEN are four times as large waiters learn later, which costs a hundredth; if both are a sixteenth,
 * the rate of lock.apart is a fiftieth less.
 *
 * With few CPUs there is no crowd, however many the threads: only those that run look. There the rule takes a tenth to
 * a third of the rate with 100 ns outside on 2 CPUs of AMD EPYC under KVM (lock.map), and a twentieth on 8 simulated
 * ones. */
enum { CROWD = 4 /* from here on */, CROWD_MAX = 8, CROWD_NOTED = 16, CROWD_FORGOTTEN = 256 };

static bool may_be_crowd_(const waiter_t *w)
{
    return !w->never_calls && cc_costs_has_many_cpus_(); /* the first call may ask the system */
}

static void note_crowd_(const waiter_t *w, uint32_t *rng)
{
    if (!may_be_crowd_(w)) return;
    if (cc_backoff_random_(rng) % CROWD_NOTED != 0) return;
    uint32_t *crowd = &memo_of_(w->lock)->crowd, seen = cc_load_relaxed(crowd); /* relaxed, both: a guess */
    if (seen < CROWD_MAX) cc_store_relaxed(crowd, seen + 1);
}

static bool is_crowd_(const waiter_t *w, uint32_t *rng)
{
    if (!may_be_crowd_(w)) return false;
    uint32_t *crowd = &memo_of_(w->lock)->crowd, seen = cc_load_relaxed(crowd); /* relaxed, both: a guess */
    if (seen == 0) return false;
    if (cc_backoff_random_(rng) % CROWD_FORGOTTEN == 0) cc_store_relaxed(crowd, seen - 1);
    return seen >= CROWD;
}

/* Whether one thread has the lock for itself, by those who came back and found it so. A newcomer then stays away at
 * once for as long as they do, by what a look took one of them. It is mostly the one that had the lock for itself
 * before, and to find out by looking takes it five more transfers of the line, each of which holds up the one that has
 * the lock now: lock.tight with 256 CPUs of `xeon-4x64` has 69 M/s by this and 60 without, Jain's index is 0.93 to
 * 0.95 and was 0.89 to 0.90, and the longest wait half of what it was. One of NOTED who find it so adds 1, everybody
 * who finds it otherwise takes 1 away, so that a newcomer is seldom kept away from a lock that is no longer like that.
 *
 * With few CPUs nobody notes it. There a newcomer finds out by few looks, and may have to let the holder run:
 * lock.tight with 8 threads on 2 CPUs of AMD EPYC under KVM would lose 7 %. */
enum { LOCAL = 4 /* from here on */, LOCAL_MAX = 8, LOCAL_NOTED = 4 };

static bool is_noted_local_(const waiter_t *w)
{
    return may_be_crowd_(w) && cc_load_relaxed(&memo_of_(w->lock)->local) >= LOCAL; /* relaxed: a guess */
}

static void note_local_(const waiter_t *w, bool is_local, uint64_t look_ns, uint32_t *rng)
{
    if (!may_be_crowd_(w)) return;
    memo_t *memo = memo_of_(w->lock);
    uint32_t seen = cc_load_relaxed(&memo->local); /* relaxed, all: a guess */
    if (!is_local) {
        if (seen > 0) cc_store_relaxed(&memo->local, seen - 1);
    } else if (seen < LOCAL_MAX && cc_backoff_random_(rng) % LOCAL_NOTED == 0) {
        cc_store_relaxed(&memo->local, seen + 1);
        cc_store_relaxed(&memo->look_ns, look_ns < AWAY_MAX_NS ? (uint32_t)look_ns : AWAY_MAX_NS);
    }
}

/* Whether sections outlast what is worth spinning for. A spin of full length that saw no section end adds 1, one that
 * saw an end takes 1 away. From LASTING on a wait spins for a fourth of the time, and one of TRIED in full, to find out
 * whether sections are shorter again. With 2 threads and 100 us held that takes 0.86 of the CPU time at the same rate
 * (lock.map). One with a deadline does not spin then. If it spun in full, a tenth of 200 us, beside busy programs it
 * would be up to 2.7 times as late as a condition variable's wait, because a scheduler lets a thread wait that has used
 * more than its share; with a fourth of that it is 1.2 times as late, and 1.0 without (`concede bench park.timeout
 * --neighbours 1`).
 *
 * Nobody learns this or goes by it who lets threads of ours run on its CPU while it spins. If that one slept in place
 * of it, it would have to wait for its CPU when it is woken: with 4 and 16 threads, 100 us held and 100 us outside
 * lock.map would fall to 0.86 and 0.66 of its rate. */
enum { LASTING = 8 /* from here on */, LASTING_MAX = 16, LASTING_TRIED = 16, LASTING_PART = 4 };

static bool is_lasting_(const waiter_t *w)
{
    return cc_load_relaxed(&memo_of_(w->lock)->lasting) >= LASTING; /* relaxed: a guess */
}

/* For a waiter that has spun: whether any section ended meanwhile. */
static void judge_lasting_(const waiter_t *w, bool has_ended)
{
    if (w->never_calls) return;
    uint32_t *lasting = &memo_of_(w->lock)->lasting, seen = cc_load_relaxed(lasting); /* relaxed, all: a guess */
    if (has_ended) {
        if (seen > 0) cc_store_relaxed(lasting, seen - 1);
    } else if (w->spins_fully && seen < LASTING_MAX && !lets_others_run_(w, cc_os_now_())) {
        cc_store_relaxed(lasting, seen + 1);
    }
}

/* ---- Glancing --------------------------------------------------------------------------------------------------- */

/* Most waits are for the end of one short section. All the rest of this file is long for that, and to ask for a count
 * of releases takes the line from the holder, who has to fetch it back. So a waiter first looks on for some pauses, and
 * writes nothing until it takes the lock. With 2 threads, 200 ns held and 100 ns outside, p99 is 0.7 of what it is
 * without; with 100 ns outside and nothing inside, 0.6 (`concede bench lock.map` on 2 CPUs of AMD EPYC under KVM). 8
 * pauses do as well for shorter sections, and do nothing for 200 ns.
 *
 * Where one thread has the lock for itself, whoever glances takes it away: lock.tight with 8 threads would fall to
 * two thirds. So a wait that finds this forbids glances, and one of GLANCES_FORGOTTEN that got the lock as by a glance
 * leads a step back from NO_GLANCES to GLANCES. Somebody finds it, because not every glance succeeds. Waiting for a
 * condition under the lock forbids glances, too, because the longer one thread has it then the more it gets done:
 * `concede bench condition.buffer --between 4:4` would lose a twentieth.
 *
 * Whether waiters may glance is all that a glance reads besides the lock, and the line on which this wait will be
 * counted is fetched meanwhile. Any other line may be cold where waits are rare, and the next look comes late by that:
 * with 50 ns held and 10 us outside p999 is half of what it is if a glance also asks for the number of CPUs and draws a
 * random number.
 *
 * A release by a store looks at the word first, and a waiter's look in between takes the line away once more; one by a
 * read-modify-write has it only once. So whoever glanced asks for a count as it takes the lock: with nothing inside and
 * 100 ns outside p99 is 0.75 of what it is if none asks.
 *
 * With many CPUs nobody glances, because each look of one holds up the others: a twentieth of lock.apart would be lost
 * from 32 CPUs on (`concede simulate` with `xeon-4x64` and `epyc-64`).
 *
 * If each such wait led a step back, and there were 64 of them, lock.apart with the 8 CPUs of `desktop` would lose 6 %,
 * because the row changes so often. After more than QUICK_RELEASES between two looks one thread has the lock for
 * itself; with 1 in place of 3 two threads with nothing inside and 100 ns outside pass for one now and then, and p99 is
 * less good. */
#if !defined(CC_LOCK_GLANCE_PAUSES)
#define CC_LOCK_GLANCE_PAUSES 16
#endif
enum { GLANCES_FORGOTTEN = 64, QUICK_RELEASES = 3 };

static bool may_glance_(void)
{
    return cc_costs_may_spin_() && !cc_costs_has_many_cpus_();
}

/* For a waiter that does not glance: allows glances at a lock for which nobody has asked. */
static void ask_for_glances_(const waiter_t *w)
{
    uint32_t *glances = &memo_of_(w->lock)->glances;
    if (cc_load_relaxed(glances) == 0 && may_glance_()) cc_store_relaxed(glances, GLANCES); /* relaxed, both: a guess */
}

static void forbid_glances_(const waiter_t *w)
{
    remember_(&memo_of_(w->lock)->glances, NO_GLANCES);
}

/* After a yield: whether those who glance count how long they do, and give way. They need that only where threads share
 * CPUs, and elsewhere it would be one more line that may be cold. */
static void count_glances_(const cc_lock_t *lock, bool are_cpus_shared)
{
    uint32_t *glances = &memo_of_(lock)->glances;
    if (cc_load_relaxed(glances) >= GLANCES)
        remember_(glances, are_cpus_shared ? COUNTED : GLANCES); /* relaxed: a guess */
}

/* For a waiter that got the lock by spinning: after so many releases since its last look, and after a pause or not. */
static void judge_glances_(const waiter_t *w, uint64_t releases, bool has_paused, uint32_t *rng)
{
    if (releases > QUICK_RELEASES) {
        forbid_glances_(w);
    } else if (has_paused && !w->has_lost && !w->never_calls && may_glance_()) {
        uint32_t *glances = &memo_of_(w->lock)->glances, seen = cc_load_relaxed(glances); /* relaxed, both: a guess */
        if (seen < GLANCES && cc_backoff_random_(rng) % GLANCES_FORGOTTEN == 0) cc_store_relaxed(glances, seen + 1);
    }
}

/* Returns whether it took the lock. A race that it lost is not told: what follows looks for itself. */
static bool glance_(cc_lock_t *lock, uint64_t deadline)
{
    uint32_t glances = cc_load_relaxed(&memo_of_(lock)->glances); /* relaxed: a guess */
    if (glances < GLANCES) return false;
    bool is_counted = glances == COUNTED && deadline == CC_FOREVER;
    if (is_counted && cc_snooze_gives_way_(CC_PATIENCE_OF_LOCKS_))
        count_glances_(lock, cc_snooze_is_yield_worth_it_(cc_os_now_()));
    uint32_t seen = cc_load_relaxed(&lock->word), first = seen; /* relaxed, both: a swap decides */
    for (int i = 0; i < CC_LOCK_GLANCE_PAUSES; i++, seen = cc_load_relaxed(&lock->word)) {
        if (seen & (PARKED | OWED)) return false;
        if (!(seen & HELD)) {
            uint32_t shared = area_() > CC_LOCK_NO_AREA_ ? SHARED : 0;
            return cc_cas_acquire(&lock->word, &seen, (seen | shared) + HELD); /* [lock.word] as in take_() */
        }
        if (counted_(first, seen) != 0) return false;
        if (is_counted) cc_snooze_spun_(1, false);
        cc_pause();
    }
    return false;
}

/* ---- Spinning --------------------------------------------------------------------------------------------------- */

/* A waiter spins for about `spin_ns`, not counting the time that it stays away. How it spins is up to the count of
 * releases:
 *
 *   The section goes on. Nobody touches the line, so looking costs nothing, and we look after every pause.
 *   It ended and another began: that was a lost race. If sections are long it was only bad luck, and we look on. After
 *   a few short ones, or more than one between two looks, we stay away for a random interval. Where waiters are a
 *   crowd, each look of each of them holds up the holder and the next one. So nobody takes a race for bad luck there,
 *   and a newcomer holds back for some 100 ns before it looks again: `concede simulate lock.map` with 50 ns held and 10
 *   us outside, from 64 CPUs on, has 0.90 of the best peer that sleeps or more by both, and without it 0.81 or more.
 *   Releases follow each other faster than a line gets from one core to another: one thread has the lock for itself,
 *   and each look takes the line away from it. We stay away for much longer. So we do if releases were faster than a
 *   look and are no longer counted, because then nobody else has waited meanwhile.
 *
 * A waiter stays away for a multiple of what the look itself took, because that tells both how far away the line is and
 * how many others want it; the multiple doubles with each lost race. So the looks of all waiters together take up a
 * part of the line's time that does not grow with their number. Who comes back prefetches the line to write, so that a
 * swap can follow the look at once: else half of those who find the lock free are too late. But where sections follow
 * each other faster than a look although several threads have them, each change of hands costs more than it brings; and
 * so it does where one has the lock for itself and releases it by stores (lock.tight with 8 threads on 2 CPUs loses 8
 * %).
 *
 * From the second lost race on, and in a section that lasts long, it may be that the holder waits for a CPU, perhaps
 * for this one: a yield lets it run. Where it ran somebody we yield again soon: there is work to do here, and as long
 * as there is, we need not sleep to save CPU time, and nobody has to wake us. Only where threads of ours were on this
 * CPU lately, as ever: see yield_(). */
typedef struct spin {
    uint32_t short_section; /* what counts as one, in pauses */
    uint32_t same_section;  /* pauses since the last release that we know of */
    uint32_t since_yield;   /* pauses */
    uint32_t lost;          /* races in short sections, one after the other */
    bool is_local;          /* one thread has the lock for itself */
    bool is_quick;          /* sections follow each other faster than a look */
    bool is_short;          /* the last sections of which we know */
    bool is_crowd;
    bool is_owed;       /* a turn, when it last came back, and it has not demanded one since */
    bool holds_back;    /* as a newcomer, before it looks again */
    uint64_t away_ns;   /* before the last look */
    uint64_t looked_at; /* 0: the last look was not timed */
    uint64_t look_ns;
    uint32_t rng;
} spin_t;

/* Lets another thread run, which may be the holder, where yields pay at the moment; returns how long others ran. Where
 * no thread of ours was on this CPU lately a yield could only run another program, for a time slice, and this thread
 * would owe it that: with 2 threads beside a busy process each, 50 us held and 10 us outside, p99 would be 1.07 to 1.15
 * times as long (`concede bench lock.map --neighbours 1`). If the holder does need this CPU, and was not seen here, it
 * has it when we sleep. */
static uint64_t yield_(waiter_t *w)
{
    uint64_t before = cc_os_now_();
    if (!lets_others_run_(w, before) || !withdraw_(w)) return 0;
    uint64_t now = before;
    cc_ending_t ending = cc_snooze_yield_(&now);
    if (ending == CC_SLEPT_LONG_) cc_snooze_note_loss_(now);
    w->has_yielded = true;
    count_glances_(w->lock, ending != CC_YIELDED_);
    return ending == CC_YIELDED_ ? 0 : now - before;
}

/* Whether another has its turn now. If that were one section only, the one who had the lock for itself would find it
 * taken, look on, and take it back at once. So it holds back, as from one who has the lock for itself: with 200 ns held
 * and nothing outside Jain's index is 0.96 to 0.99 by this, from 2 to 64 threads, and 0.4 to 0.96 without (lock.map).
 * Not where a thread waits for a condition under the lock, and not with many CPUs, where a newcomer is told what to do
 * by those who come back: is_noted_local_(). */
static bool is_turn_of_another_(const waiter_t *w)
{
    uint32_t *turn_at = &memo_of_(w->lock)->turn_at, seen = cc_load_relaxed(turn_at); /* relaxed, both: a guess */
    if (seen == 0 || w->never_calls || cc_costs_has_many_cpus_() || is_awaited_(w)) return false;
    uint32_t since = (uint32_t)cc_os_now_() - seen;
    if (since > CC_LOCK_OWED_NS) cc_store_relaxed(turn_at, 0); /* the next one need not ask for the time */
    return since < TURN_BEGINS_NS;
}

static spin_t begin_spin_(const waiter_t *w)
{
    spin_t spin = { .short_section = pauses_in_(w, SHORT_NS), .rng = cc_backoff_seed_() };
    spin.is_crowd = is_crowd_(w, &spin.rng);
    spin.look_ns = spin.is_crowd ? LOOK_NS : NEAREST_NS;
    if (w->has_slept) return spin;
    bool is_noted = is_noted_local_(w);
    spin.is_local = is_noted || is_turn_of_another_(w);
    spin.holds_back = spin.is_crowd || spin.is_local;
    if (!is_noted) return spin;
    uint32_t noted = cc_load_relaxed(&memo_of_(w->lock)->look_ns); /* relaxed: a guess, and 0 if it is not here yet */
    if (noted > spin.look_ns) spin.look_ns = noted;
    return spin;
}

/* Whether one who spins may demand a turn. */
static bool is_owed_(const waiter_t *w, uint64_t now)
{
    if (now - w->first_away_at < CC_LOCK_OWED_NS) return false;
    return (uint32_t)now - cc_load_relaxed(&memo_of_(w->lock)->turn_at) >=
           TURN_NS * cc_costs_cpus_(); /* relaxed: a guess */
}

/* After a look that follows a time away: how long it took. Returns false if the deadline has passed. */
static bool time_look_(spin_t *spin, const waiter_t *w)
{
    if (!spin->looked_at) return true;
    uint64_t now = cc_os_now_(); /* not before the swap: the line would be gone by then */
    uint64_t took = now - spin->looked_at;
    spin->look_ns = took > NEAREST_NS ? took : NEAREST_NS; /* some clocks move in large steps */
    spin->looked_at = 0;
    spin->is_owed = is_owed_(w, now);
    return now < w->deadline;
}

/* The lock was released since the last look, so often, and this thread has not got it. */
static void judge_loss_(spin_t *spin, waiter_t *w, uint64_t releases, bool forgotten)
{
    uint64_t elapsed_ns = spin->away_ns + (uint64_t)spin->same_section * SHORT_NS / spin->short_section + LOOK_NS;
    if (forgotten) {
        spin->is_local = spin->is_local || spin->is_quick;
    } else {
        spin->is_local = releases * (spin->is_local ? 2 * NEAREST_NS : NEAREST_NS) > elapsed_ns;
        spin->is_quick = releases * spin->look_ns > elapsed_ns;
        /* After staying away same_section is 0, and the sections count as short: how long they were is not known. */
        spin->is_short = releases * spin->short_section > spin->same_section;
    }
    if (spin->away_ns) note_local_(w, spin->is_local, spin->look_ns, &spin->rng);
    spin->lost = spin->is_local || spin->is_short ? spin->lost + 1 : 0;
    if (spin->is_local) forbid_glances_(w);
    if (spin->lost == UNLUCKY + 1 && !spin->is_local) note_crowd_(w, &spin->rng);
    w->has_lost = true;
    spin->same_section = 0;
}

/* The row "demand", for one who spins; returns whether it did that. `*seen` is then the word, as far as we know. */
static bool demand_(waiter_t *w, uint32_t *seen)
{
    if (!(*seen & HELD) || (*seen & OWED)) return false;
    if (!cc_cas_relaxed(&w->lock->word, seen, *seen | OWED)) return false; /* relaxed: passes on no data */
    *seen |= OWED;
    w->may_inherit = w->has_demanded = true;
    return true;
}

/* For one who is owed a turn: newcomers hold back from it. */
static void demand_a_turn_(spin_t *spin, waiter_t *w, uint32_t *seen)
{
    spin->is_owed = false;
    if (demand_(w, seen)) cc_store_relaxed(&memo_of_(w->lock)->turn_at, (uint32_t)cc_os_now_()); /* relaxed: a guess */
}

/* One who has spun for as long as may pay, and saw a section end, has lost to a thread that takes the lock back each
 * time. If it slept, that thread would wake it again and again, in vain. So it demands the next section, and spins for
 * as long once more: with 2 threads, 5 and 20 us held and nothing outside that is 1.1 times as fast as to sleep, and
 * the longest of 1000 waits is a seventh and a fifth (lock.map). Only where nobody needs this CPU: the lock stands
 * still while the one to whom it is handed has none. */
static bool may_demand_before_sleep_(const waiter_t *w)
{
    if (w->never_calls || w->has_slept || w->has_demanded || w->deadline != CC_FOREVER) return false;
    return !cc_costs_has_many_cpus_() && cc_snooze_calm_() == CC_CALM_ && !cc_snooze_is_yield_worth_it_(cc_os_now_());
}

static bool should_stay_away_(const spin_t *spin, const waiter_t *w, uint32_t seen, uint64_t releases)
{
    if (w->has_demanded && (seen & OWED)) return false; /* the next turn may be its own */
    if (spin->holds_back) return true;
    bool is_bad_luck = !spin->is_local && releases == 1 && !spin->is_crowd && spin->lost <= UNLUCKY;
    return spin->lost > 0 && releases > 0 && !is_bad_luck;
}

/* For how long it stays away, by chance. */
static uint64_t draw_away_ns_(spin_t *spin, const waiter_t *w)
{
    /* Who may not read the clock takes a look for 16 ns, and doubles up to 32768 of them, half a millisecond. */
    uint32_t doublings_max = w->never_calls ? 12 : 8;
    if (spin->is_local) doublings_max = w->never_calls ? 6 : 3;
    uint32_t doublings = spin->lost < doublings_max ? spin->lost : doublings_max;
    uint64_t factor = (spin->is_local ? UINT64_C(512) : UINT64_C(8)) << doublings;
    if (factor > AWAITED_LOOKS && is_awaited_(w)) {
        factor = AWAITED_LOOKS;
        forget_await_(w);
    }
    uint64_t range = factor * spin->look_ns < AWAY_MAX_NS ? factor * spin->look_ns : AWAY_MAX_NS;
    uint64_t ns = cc_backoff_random_up_to_(&spin->rng, (uint32_t)range);
    return spin->is_local ? (ns + range) / 2 : ns; /* the rarer, the more evenly, so that all have their turn */
}

/* It comes back in time to demand a turn, unless there are many CPUs: together they would look twice as often, and
 * lock.tight with 256 CPUs of `xeon-4x64` lose 3 %. */
static void limit_away_(spin_t *spin, uint64_t waited_ns)
{
    if (waited_ns >= CC_LOCK_OWED_NS || cc_costs_has_many_cpus_()) return;
    uint64_t left = CC_LOCK_OWED_NS - waited_ns;
    if (spin->away_ns > left) spin->away_ns = left;
}

/* Lets others run again and again until then; returns when it stopped, which may be before. Only where threads share
 * this CPU, and no longer than the lock changes hands. Where a section goes on for so many yields its holder may wait
 * for a CPU, and a scheduler need not give it this one while others yield to each other here. Where the lock only looks
 * the same, one thread has it for itself and releases it by stores, and is the faster the less the others do. */
static uint64_t yield_until_(waiter_t *w, uint64_t now, uint64_t until)
{
    if (!cc_snooze_is_yield_worth_it_(now)) return now;
    uint32_t last = look_(w);
    for (uint32_t yields = 1; now < until; yields++) {
        if (cc_snooze_calm_() != CC_CALM_) break;
        if (!withdraw_(w)) return until; /* it is handed over */
        if (cc_snooze_yield_(&now) == CC_SLEPT_LONG_) cc_snooze_note_loss_(now);
        w->has_yielded = true;
        if (yields % UNSEEN != 0) continue;
        uint32_t seen = look_(w);
        if (seen == last && (seen & HELD)) break;
        last = seen;
    }
    return now;
}

/* Where threads share this CPU it stays away by yields. If it slept, a timer would interrupt whoever runs here when
 * the sleep is over, and that may be the holder: with 16 and 64 threads, sections of up to 200 ns and nothing outside
 * lock.map has 1.04 to 1.10 times the rate by this, and lock.tight with 8 and 32 threads as much. */
static void stay_away_(spin_t *spin, waiter_t *w)
{
    bool yields = w->may_yield && spin->lost > 1;
    spin->holds_back = false;
    spin->away_ns = draw_away_ns_(spin, w);
    if (yields) (void)yield_(w);
    if (w->never_calls) {
        cc_backoff_pause_(pauses_in_(w, spin->away_ns));
        return;
    }
    uint64_t left_at = cc_os_now_();
    if (w->first_away_at == 0) w->first_away_at = left_at;
    limit_away_(spin, left_at - w->first_away_at);
    uint64_t until = left_at + spin->away_ns;
    uint64_t now = yields && !is_awaited_(w) ? yield_until_(w, left_at, until) : left_at;
    if (now < until) cc_backoff_stay_away_(until - now, w->deadline);
    spin->looked_at = cc_os_now_();
    spin->away_ns = spin->looked_at - left_at;
    bool comes_to_write = spin->is_local ? area_() <= CC_LOCK_NO_AREA_ : !spin->is_quick;
    if (comes_to_write) CC_ARCH_PREFETCH_WRITE_(&w->lock->word);
}

/* A pause until the next look, and now and then a yield. */
static void pause_or_yield_(spin_t *spin, waiter_t *w, uint32_t yield_after)
{
    spin->away_ns = 0;
    spin->same_section++;
    if (w->may_yield && ++spin->since_yield > yield_after) {
        uint64_t others_ns = yield_(w);
        spin->same_section += pauses_in_(w, others_ns); /* they may have had the lock */
        spin->since_yield = others_ns ? yield_after - yield_after / SOONER : 0;
    }
    if (!w->never_calls) cc_snooze_spun_(1, false);
    cc_pause();
}

/* Spins as is told above; returns whether it took the lock. */
static bool spin_(waiter_t *w)
{
    uint32_t last = look_(w);
    if (w->spin_ns == 0) return may_take_(w, last) && take_(w, last);
    uint32_t limit = pauses_in_(w, w->spin_ns);
    uint32_t yield_after = pauses_in_(w, YIELD_AFTER_NS);
    uint32_t spun = 0;      /* pauses so far, and how often it stayed away */
    bool has_ended = false; /* has any section, that we know of */
    spin_t spin = begin_spin_(w);
    for (uint32_t seen = last;; seen = look_(w)) {
        bool forgotten = is_forgotten_(last, seen);
        uint64_t releases = releases_(last, seen);
        last = seen;
        if (may_take_(w, seen)) {
            if (take_(w, seen)) {
                bool was_here = spin.away_ns == 0 && !w->has_yielded; /* since the last look */
                judge_glances_(w, was_here ? releases : 0, spun > 0, &spin.rng);
                if (spun > 0) judge_lasting_(w, true);
                return true;
            }
            releases = releases ? releases : 1;
        }
        has_ended = has_ended || releases;
        if (spun >= limit && has_ended && may_demand_before_sleep_(w) && demand_(w, &last)) {
            w->may_yield = false; /* it would have to withdraw */
            spun = 0;
        }
        if (spun++ >= limit) {
            (void)withdraw_(w);
            w->may_yield = may_yield_(w);
            judge_lasting_(w, has_ended);
            return false;
        }
        last = share_(w, last); /* else a section that follows would pass for this one */
        if (!time_look_(&spin, w)) return false;
        if (spin.is_owed && releases) demand_a_turn_(&spin, w, &last);
        if (releases) judge_loss_(&spin, w, releases, forgotten);
        if (should_stay_away_(&spin, w, last, releases))
            stay_away_(&spin, w);
        else
            pause_or_yield_(&spin, w, yield_after);
    }
}

/* ---- Sleeping --------------------------------------------------------------------------------------------------- */

/* Sleeps while the word is as `seen`, which has PARKED in it; returns whether it was woken. If the word had changed it
 * has not slept, no wake-up can have been meant for it, and it is a newcomer still, unless it has demanded a turn: what
 * is handed over is not for it.
 */
static bool sleep_(waiter_t *w, uint32_t seen)
{
    uint64_t before = cc_os_now_();
    CC_PROBE_(lock__sleep, w->lock);
    int result = cc_os_wait_(&w->lock->word, seen, w->deadline);
    if (result == EAGAIN) return false;
    uint64_t after = cc_os_now_();
    (void)cc_snooze_seen_(after); /* else one who yielded to this thread takes its CPU for lost to another program */
    if (!w->has_slept) w->first_slept_at = before;
    w->slept_ns += after - before;
    w->has_slept = true;
    w->may_inherit = true;
    w->is_late = result == ETIMEDOUT && after >= w->deadline;
    return result == 0;
}

/* What the rows "demand" and "insist" add to a held word; 0: it has not waited too long, or others have done so. */
static uint32_t late_demand_(const waiter_t *w, uint32_t seen)
{
    uint32_t demand = w->in_vain < CC_LOCK_IN_VAIN ? OWED : OWED | INSISTED;
    if (!w->has_slept || (seen & INSISTED) || (seen & demand) == demand) return 0;
    return cc_os_now_() - w->first_slept_at >= CC_LOCK_OWED_NS ? demand : 0;
}

/* Whether what is in a held word stays there until the release. If NONE comes after LOST the last stores are seen with
 * it: what was seen before may be wiped out already, and the sleep must find that. */
static bool is_sure_(uint32_t seen)
{
    return (seen & SURE) || cc_load_acquire(&cc_lock_sequence_area_) == NONE; /* [lock.store] pairs with barrier_() */
}

/* The rows "warn" and "be sure"; where the second swap fails a release has wiped out the mark, or somebody else is
 * done. */
static void make_sure_(const waiter_t *w, uint32_t seen)
{
    /* relaxed, all: they pass on no data, and the barrier is a full fence */
    if (!(seen & PARKED)) { /* else there is a mark */
        uint32_t marked = seen % RELEASES | PARKED | SHARED | cc_fetch_add_relaxed(&marks_, RELEASES);
        if (!cc_cas_relaxed(&w->lock->word, &seen, marked)) return;
        seen = marked;
    }
    barrier_();
    cc_cas_relaxed(&w->lock->word, &seen, seen | SURE);
}

/* Sleeps, and spins again when woken, because whoever runs may have taken the lock first; returns whether it took the
 * lock before its deadline. Each branch is a row of the table, or a spin; where its swap fails the word has moved, and
 * we look again. */
static bool sleep_for_it_(waiter_t *w)
{
    bool woken = false; /* and it has not spun since */
    for (;;) {
        uint32_t seen = look_(w);
        uint32_t demand;
        if (may_take_(w, seen)) { /* take, take back, inherit */
            if (take_(w, seen)) return true;
        } else if (!is_sure_(seen)) { /* warn, be sure */
            make_sure_(w, seen);
        } else if (w->is_late) { /* give up; relaxed, here and below: passes on no data */
            uint32_t left = w->has_demanded ? seen & ~paid_(w, seen) : seen;
            if (cc_cas_relaxed(&w->lock->word, &seen, left | PARKED)) return false;
        } else if ((demand = late_demand_(w, seen)) != 0) {
            /* demand, insist; before a spin: the holder may need this CPU */
            if (!cc_cas_relaxed(&w->lock->word, &seen, seen | demand)) continue;
            w->has_demanded = true;
            w->insists = demand & INSISTED;
        } else if (woken) {
            if (spin_(w)) return true;
            cc_count_wake_in_vain_(CC_COUNT_LOCK_);
            w->in_vain++;
            woken = false;
        } else if ((seen & PARKED) || cc_cas_relaxed(&w->lock->word, &seen, seen | PARKED)) { /* park */
            woken = sleep_(w, seen | PARKED);
        }
    }
}

/* ---- What lock.h calls ------------------------------------------------------------------------------------------ */

bool cc_lock_try_acquire_slow_(cc_lock_t *lock)
{
    waiter_t w = { .lock = lock };
    uint32_t seen = look_(&w);
    return is_free_(seen) && take_(&w, seen);
}

/* How long to spin: most sections are over before a sleep would have begun. Where they outlast that, for a part, or not
 * at all. */
static void plan_spin_(waiter_t *w, uint64_t left)
{
    uint64_t ns = cc_costs_may_spin_() ? cc_snooze_allowed_ns_(CC_LOCK_SPIN_NS) : 0;
    bool in_part = is_lasting_(w) && !lets_others_run_(w, cc_os_now_()) && cc_backoff_seed_() % LASTING_TRIED != 0;
    if (in_part) ns = w->deadline == CC_FOREVER ? ns / LASTING_PART : 0;
    w->spins_fully = !in_part && ns <= left;
    w->spin_ns = ns < left ? ns : left;
}

/* The last release has woken one who is not here yet. It may be waiting for this very CPU: then it gets the lock only
 * if we let it run. With 4 threads and sections of 100 us Jain's index is 0.83 without this, and 0.98 with it. */
static void give_way_(waiter_t *w)
{
    uint32_t seen = look_(w);
    if (is_free_(seen) && (seen & PARKED) && w->spin_ns > 0 && w->may_yield) (void)yield_(w);
}

/* Returns `taken`. */
static bool end_(const cc_lock_t *lock, uint64_t began, unsigned ending, uint64_t slept_ns, bool taken)
{
    (void)lock; /* both: where there are no probes */
    (void)began;
    CC_PROBE_(lock__wait__end, lock, ending, CC_PROBE_NS_(began), taken);
    cc_count_wait_(CC_COUNT_LOCK_, ending, slept_ns);
    return taken;
}

/* Not inlined, because a glance must not pay for its registers, and not the last call of its caller, whose name a
 * debugger shows. */
static CC_NOINLINE_ bool wait_for_it_(waiter_t *w, uint64_t left)
{
    w->may_yield = may_yield_(w);
    plan_spin_(w, left);
    ask_for_glances_(w);
    if (w->may_yield) (void)cc_snooze_gives_way_(CC_PATIENCE_OF_LOCKS_);
    give_way_(w);
    bool taken = spin_(w) || sleep_for_it_(w);
    if (w->has_slept || w->has_yielded) cc_snooze_spun_(0, true);
    return taken;
}

bool cc_lock_acquire_slow_(cc_lock_t *lock, uint64_t deadline)
{
    uint64_t now = deadline == CC_FOREVER ? 0 : cc_os_now_();
    if (now >= deadline) return cc_lock_try_acquire_slow_(lock);
    uint64_t began = CC_PROBE_BEGAN_(lock__wait__end); /* 0 if nobody traces the end */
    CC_PROBE_(lock__wait__begin, lock);
    cc_count_prefetch_(CC_COUNT_LOCK_);
    if (glance_(lock, deadline)) return end_(lock, began, CC_COUNT_SPUN_, 0, true);
    if (area_() == UNKNOWN) find_out_();
    waiter_t w = { .lock = lock, .deadline = deadline };
    bool taken = wait_for_it_(&w, deadline - now);
    return end_(lock, began, CC_COUNT_ENDING_(w.has_slept, w.has_yielded), w.slept_ns, taken);
}

/* It cannot sleep, so after the time in which a sleeper would be owed the lock it may inherit, as one who has slept. */
void cc_lock_acquire_spin_slow_(cc_lock_t *lock)
{
    waiter_t w = { .lock = lock, .deadline = CC_FOREVER, .spin_ns = CC_LOCK_OWED_NS, .never_calls = true };
    uint64_t began = CC_PROBE_BEGAN_(lock__wait__end);
    CC_PROBE_(lock__wait__begin, lock);
    while (!spin_(&w)) w.may_inherit = true;
    (void)end_(lock, began, CC_COUNT_SPUN_, 0, true);
}

/* The word is given up already, and the next holder may have freed it: only its address is used. */
void cc_lock_release_slow_(cc_lock_t *lock, uint32_t seen)
{
    if (!(seen & PARKED)) return;
    CC_PROBE_(lock__wake, lock);
    (void)cc_snooze_seen_(cc_os_now_()); /* else the woken one may not know that it shares its CPU with this one */
    cc_os_wake_(&lock->word, 1);
    cc_count_wake_(CC_COUNT_LOCK_);
}
