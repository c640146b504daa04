/* lock.h on a fake system: its word, its phases, its deadlines, the handing over. src/lock.c is included, so that its
 * pauses are counted. */
#include "harness.h"
#include "fake_os.h"
#include <concede/arch.h>
#undef CC_ARCH_PAUSE_
#define CC_ARCH_PAUSE_() fake_pause()
#include "../../src/lock.c"
#include "../../src/snooze.c"

#define MS UINT64_C(1000000)

static cc_lock_t lock;

/* Whether threads of ours share the CPU, from now on. */
static void has_shared_cpu(bool shares)
{
    seen_who_[cc_os_cpu_()] = own_number_();
    shared_at_[cc_os_cpu_()] = (uint32_t)(fake.now_ns >> SEEN_SHIFT) - (shares ? 0 : CC_SNOOZE_SHARED_FOR);
}

/* Other programs keep the CPUs busy, from now on. */
static void make_busy(void)
{
    busy_for_ = BUSY_MAX;
    busy_until_ = tick_(fake.now_ns) + BUSY_MAX;
}

/* Nobody glances, and threads share the CPU, but where a test says otherwise: most are of what comes after a glance,
 * and of what is done where others may run. */
static void set_up(uint32_t cpus)
{
    cc_costs_t costs = { 40000, 1000, 30000, cpus };
    fake_start();
    fake.pause_ps = 40000;
    cc_costs_set(&costs);
    lock.word = 0;
    busy_for_ = busy_until_ = 0;
    spun_ = give_way_after_ = 0;
    memset(memos_, 0, sizeof memos_);
    memo_of_(&lock)->glances = NO_GLANCES;
    cc_lock_sequence_area_ = CC_LOCK_UNKNOWN_;
    has_shared_cpu(true);
}

/* Held by another thread, which acts in hooks. */
static void set_up_held(uint32_t cpus)
{
    set_up(cpus);
    REQUIRE(cc_lock_try_acquire(&lock));
}

static void release(void)
{
    cc_lock_release(&lock);
}

/* Who has it and who waits. */
static uint32_t state(void)
{
    return lock.word & (HELD | PARKED | OWED);
}

static unsigned calls(void)
{
    return fake.waits + fake.wakes + fake.yields + fake.membarriers + fake.registrations;
}

static unsigned release_at_pause;
static void release_soon(void)
{
    if (fake.pauses == release_at_pause) release();
}

/* Comes first: in all others the costs are known. */
TEST(spin_does_not_call_the_system_to_measure_either)
{
    fake_start();
    for (unsigned i = 1; i < 100000; i *= 7) {
        fake.pauses = 0;
        lock.word = HELD;
        release_at_pause = i;
        fake.on_pause = release_soon;
        cc_lock_acquire_spin(&lock);
        CHECK_EQ(calls() + fake.clock_reads, 0);
        CHECK_EQ(state(), HELD);
        CHECK(fake.pauses < i + 1000); /* it looks now and then */
    }
}

/* Comes second: costs that are given have no quota. */
TEST(nobody_yields_where_a_quota_limits_the_cpu_time)
{
    for (uint32_t quota = 1; quota <= 2; quota++) {
        fake_start_with_quota(quota);
        CHECK_EQ(cc_costs_has_quota_(), quota == 1);
        fake.yields = 0;
        lock.word = HELD;
        fake.asleep = release;
        has_shared_cpu(true);
        cc_lock_acquire(&lock);
        CHECK_EQ(fake.waits, 1);
        CHECK_EQ(fake.yields > 0, quota == 2);
        fake.yields = 0;
        has_shared_cpu(true);
        lock.word = PARKED; /* one was woken and is not here yet */
        cc_lock_acquire(&lock);
        CHECK_EQ(fake.yields > 0, quota == 2);
        fake.yields = 0;
        spun_ = 1000000; /* in its last waits */
        memo_of_(&lock)->glances = NO_GLANCES;
        lock.word = HELD;
        release_at_pause = fake.pauses + 1;
        fake.on_pause = release_soon;
        cc_lock_acquire(&lock);
        CHECK_EQ(fake.yields > 0, quota == 2);
    }
}

TEST(all_zero_is_a_free_lock_of_four_bytes)
{
    static cc_lock_t zero;
    cc_lock_t initialised = CC_LOCK_INIT;
    CHECK_EQ(sizeof zero, 4);
    CHECK_EQ(memcmp(&zero, &initialised, sizeof zero), 0);
    CHECK(cc_lock_try_acquire(&zero));
}

TEST(a_free_lock_is_taken_and_given_up_without_a_call)
{
    set_up(2);
    for (int i = 0; i < 3; i++) {
        cc_lock_acquire(&lock);
        CHECK_EQ(state(), HELD);
        cc_lock_release(&lock);
        CHECK_EQ(state(), 0);
    }
    CHECK(cc_lock_try_acquire(&lock));
    cc_lock_release(&lock);
    CHECK(cc_lock_acquire_until(&lock, 0));
    cc_lock_release(&lock);
    CHECK(cc_lock_acquire_timeout(&lock, 0));
    cc_lock_release(&lock);
    cc_lock_acquire_spin(&lock);
    cc_lock_release(&lock);
    CHECK_EQ(calls() + fake.pauses, 0);
}

TEST(try_does_not_wait)
{
    set_up_held(2);
    for (int i = 0; i < 3; i++) CHECK(!cc_lock_try_acquire(&lock));
    CHECK_EQ(calls() + fake.pauses + fake.clock_reads, 0);
    CHECK_EQ(state(), HELD);
}

TEST(a_free_lock_that_somebody_may_sleep_on_is_taken_by_every_call)
{
    set_up(2);
    lock.word = PARKED; /* as a release leaves it */
    CHECK(cc_lock_try_acquire(&lock));
    CHECK_EQ(state(), HELD);
    lock.word = PARKED;
    CHECK(cc_lock_acquire_until(&lock, 0));
    lock.word = PARKED;
    CHECK(cc_lock_acquire_timeout(&lock, MS));
    lock.word = PARKED;
    cc_lock_acquire_spin(&lock);
    CHECK_EQ(calls() + fake.pauses, 0);
    lock.word = PARKED;
    cc_lock_acquire(&lock);
    CHECK_EQ(state(), HELD);
    CHECK_EQ(fake.yields, 1); /* as a_newcomer_gives_way_once_to_one_who_was_woken_and_is_not_here_yet says */
    CHECK_EQ(calls() + fake.pauses, 1);
    lock.word = OWED; /* handed over */
    CHECK(!cc_lock_try_acquire(&lock));
    CHECK(!cc_lock_acquire_until(&lock, 0));
    CHECK_EQ(state(), OWED);
}

TEST(a_past_deadline_tries_once_and_does_not_wait)
{
    set_up_held(2);
    CHECK(!cc_lock_acquire_until(&lock, 0));
    CHECK(!cc_lock_acquire_until(&lock, fake.now_ns));
    CHECK(!cc_lock_acquire_timeout(&lock, 0));
    CHECK_EQ(calls() + fake.pauses, 0);
    CHECK_EQ(state(), HELD);
}

TEST(one_cpu_never_spins)
{
    set_up_held(1);
    fake.asleep = release;
    cc_lock_acquire(&lock);
    CHECK_EQ(fake.pauses, 0);
    CHECK_EQ(fake.waits, 1);
}

TEST(spinning_ends_in_sleep_within_its_budget)
{
    set_up_held(2);
    uint64_t start = fake.now_ns;
    fake.asleep = release;
    cc_lock_acquire(&lock);
    CHECK(fake.pauses > 0);
    CHECK_EQ(fake.waits, 1);
    CHECK(fake.now_ns - start <= 2 * (uint64_t)CC_LOCK_SPIN_NS);
    CHECK(fake.now_ns - start >= CC_LOCK_SPIN_NS / 4);
}

/* So many waits for a lock that is released only when the waiter sleeps; returns how long the last one spun, in ns. */
static uint64_t spins_for_lasting_sections(unsigned waits, bool shares_cpu)
{
    for (; waits > 0; waits--) {
        has_shared_cpu(shares_cpu);
        lock.word = HELD;
        fake.pauses = 0;
        fake.asleep = release;
        cc_lock_acquire(&lock);
        CHECK_EQ(state(), HELD | PARKED);
    }
    return UINT64_C(40) * fake.pauses;
}

TEST(sections_that_outlast_spinning_are_spun_for_in_part_and_now_and_then_in_full)
{
    set_up(2);
    CHECK(spins_for_lasting_sections(LASTING, false) >= CC_LOCK_SPIN_NS);
    CHECK(is_lasting_(&(waiter_t){ .lock = &lock }));
    unsigned full = 0;
    for (int i = 0; i < 1000; i++) {
        uint32_t before = memo_of_(&lock)->lasting;
        uint64_t ns = spins_for_lasting_sections(1, false);
        bool in_part = ns >= CC_LOCK_SPIN_NS / LASTING_PART && ns < CC_LOCK_SPIN_NS / LASTING_PART + 500;
        full += !in_part;
        if (!in_part) CHECK(ns >= CC_LOCK_SPIN_NS);
        if (in_part) CHECK_EQ(memo_of_(&lock)->lasting, before);
    }
    CHECK(full > 1000 / LASTING_TRIED / 3 && full < 1000 / LASTING_TRIED * 3);
    full = 0;
    for (int i = 0; i < 1000; i++) { /* with a deadline in full or not at all */
        lock.word = HELD;
        fake.pauses = 0;
        CHECK(cc_lock_acquire_until(&lock, fake.now_ns + 100 * MS));
        full += fake.pauses > 0;
        if (fake.pauses > 0) CHECK(UINT64_C(40) * fake.pauses >= CC_LOCK_SPIN_NS);
    }
    CHECK(full > 1000 / LASTING_TRIED / 3 && full < 1000 / LASTING_TRIED * 3);
}

/* Another takes the lock back each time that it releases it, after so many pauses of the waiter, unless it is handed
 * over, and so often. Then it keeps it until the waiter sleeps. */
static unsigned section_in_pauses, sections_left, yields_when_demanded;
static bool was_owed, is_owed_asleep;
static void takes_it_back(void)
{
    if ((lock.word & OWED) && yields_when_demanded == UINT32_MAX) yields_when_demanded = fake.yields;
    if (sections_left == 0 || fake.pauses % section_in_pauses != 0) return;
    release();
    if (--sections_left > 0 && !(lock.word & OWED)) lock.word += HELD;
}

/* Held by another, who releases it by read-modify-writes, and each thread has a CPU. `sections` of 5 us are to come. */
static void set_up_taken_back(uint32_t cpus, unsigned sections)
{
    set_up_held(cpus);
    lock.word |= SHARED | SURE;
    has_shared_cpu(false);
    section_in_pauses = 125;
    sections_left = sections;
    yields_when_demanded = UINT32_MAX;
    was_owed = false;
}

/* A wait for a lock that another takes back, so many sections of 5 us, or of 1 ms; returns whether it slept. */
static bool sleeps_for_sections(unsigned sections, unsigned us, uint32_t cpus, bool shares, uint64_t deadline)
{
    set_up_taken_back(cpus, sections);
    has_shared_cpu(shares);
    section_in_pauses = us * 1000 / 40;
    fake.on_pause = takes_it_back;
    fake.asleep = release;
    CHECK(cc_lock_acquire_until(&lock, deadline));
    if (fake.waits == 0) CHECK_EQ(fake.yields, yields_when_demanded); /* none while the turn may come */
    return fake.waits > 0;
}

TEST(who_saw_sections_end_while_it_spun_demands_the_next_one_before_it_sleeps)
{
    CHECK(!sleeps_for_sections(20, 5, 2, false, CC_FOREVER));
    CHECK(state() == HELD);
    CHECK_EQ(fake.pauses / section_in_pauses, CC_LOCK_SPIN_NS / 5000 + 1); /* a spin in full, and one section more */
    CHECK(sleeps_for_sections(20, 5, 2, true, CC_FOREVER));                /* another may need this CPU */
    CHECK(sleeps_for_sections(20, 5, 2, false, CC_FOREVER - 1));
    CHECK(sleeps_for_sections(20, 5, CC_FEW_CPUS_ + 1, false, CC_FOREVER));
    CHECK(sleeps_for_sections(20, 1000, 2, false, CC_FOREVER)); /* none has ended */
}

static void takes_it_back_once(void)
{
    was_owed = was_owed || (lock.word & OWED);
    if (fake.pauses != 250) return;
    release();
    lock.word += HELD;
}

static void releases_it_asleep(void)
{
    is_owed_asleep = (lock.word & OWED) != 0;
    release();
}

TEST(who_demanded_before_it_sleeps_withdraws_if_the_section_goes_on)
{
    set_up_taken_back(2, 0);
    fake.on_pause = takes_it_back_once;
    fake.asleep = releases_it_asleep;
    cc_lock_acquire(&lock);
    CHECK(was_owed && !is_owed_asleep);
    CHECK_EQ(fake.waits, 1);
    CHECK(UINT64_C(40) * fake.pauses < 3 * CC_LOCK_SPIN_NS); /* it spins in full twice */
    CHECK(UINT64_C(40) * fake.pauses >= 2 * CC_LOCK_SPIN_NS);
}

/* As a release by a store does, or one who inherits. */
static void takes_it_back_and_wipes_out_the_demand(void)
{
    takes_it_back();
    if (!(lock.word & OWED)) return;
    was_owed = true;
    lock.word = (lock.word & ~(uint32_t)OWED) | HELD;
}

TEST(who_demanded_before_it_sleeps_does_so_once)
{
    set_up_taken_back(2, 1000);
    fake.on_pause = takes_it_back_and_wipes_out_the_demand;
    fake.asleep = release;
    cc_lock_acquire(&lock);
    CHECK(was_owed);
    CHECK_EQ(fake.waits, 1);
    CHECK(UINT64_C(40) * fake.pauses < 3 * CC_LOCK_SPIN_NS);
}

static void is_woken_in_vain_once(void)
{
    sections_left = 1000; /* from now on they are short */
    release();
    if (fake.waits == 1) lock.word += HELD;
}

TEST(who_has_slept_or_has_a_busy_neighbour_demands_nothing_before_it_sleeps)
{
    for (int busy = 0; busy < 2; busy++) {
        set_up_taken_back(2, busy ? 1000 : 0);
        if (busy) make_busy();
        fake.on_pause = takes_it_back_and_wipes_out_the_demand;
        fake.asleep = is_woken_in_vain_once;
        cc_lock_acquire(&lock);
        CHECK(!was_owed);
        CHECK_EQ(fake.waits, 2);
    }
}

TEST(one_that_may_not_call_the_system_demands_nothing_before_it_would_sleep)
{
    set_up_taken_back(2, 2 * CC_LOCK_OWED_NS / 5000); /* longer than it spins at a time */
    fake.on_pause = takes_it_back_and_wipes_out_the_demand;
    cc_lock_acquire_spin(&lock);
    CHECK(!was_owed);
    CHECK_EQ(calls() + fake.clock_reads, 0);
}

/* It sleeps, is woken in vain, and others are on its CPU by then; then it sleeps again. */
static unsigned yields_before_sleep[3];
static void is_woken_in_vain_beside_others(void)
{
    yields_before_sleep[fake.waits] = fake.yields;
    release();
    if (fake.waits == 1) lock.word += HELD;
    has_shared_cpu(true);
}

TEST(who_demanded_in_vain_yields_again_after_its_sleep)
{
    set_up_taken_back(2, 0);
    fake.on_pause = takes_it_back_once;
    fake.asleep = is_woken_in_vain_beside_others;
    cc_lock_acquire(&lock);
    CHECK(was_owed);
    CHECK_EQ(fake.waits, 2);
    CHECK(yields_before_sleep[2] > yields_before_sleep[1]);
}

TEST(sections_that_end_while_one_spins_are_spun_for_in_full_again)
{
    set_up(2);
    (void)spins_for_lasting_sections(3 * LASTING_MAX * LASTING_TRIED, false);
    CHECK_EQ(memo_of_(&lock)->lasting, LASTING_MAX);
    fake.asleep = NULL;
    fake.on_pause = release_soon;
    for (int i = 0; i <= LASTING_MAX - LASTING; i++) {
        memo_of_(&lock)->glances = NO_GLANCES; /* nothing is learned in one, and chance may allow them */
        lock.word = HELD;
        release_at_pause = fake.pauses + 10;
        cc_lock_acquire(&lock);
    }
    CHECK(!is_lasting_(&(waiter_t){ .lock = &lock }));
}

static void is_taken_again_once(void)
{
    if (fake.pauses != 5) return;
    release();
    CHECK(cc_lock_try_acquire(&lock));
}

TEST(one_that_ends_and_one_that_lasts_after_it_are_no_lasting_sections)
{
    set_up(2);
    memo_of_(&lock)->lasting = 3;
    fake.on_pause = is_taken_again_once;
    (void)spins_for_lasting_sections(1, false);
    CHECK_EQ(memo_of_(&lock)->lasting, 2);
}

TEST(a_deadline_that_ends_a_spin_says_nothing_of_sections)
{
    set_up_held(2);
    for (int i = 0; i < 2 * LASTING; i++) CHECK(!cc_lock_acquire_timeout(&lock, 500));
    CHECK_EQ(memo_of_(&lock)->lasting, 0);
}

TEST(who_lets_others_run_on_its_cpu_spins_for_lasting_sections_in_full)
{
    set_up(2);
    CHECK(spins_for_lasting_sections(10 * LASTING, true) >= CC_LOCK_SPIN_NS);
    CHECK_EQ(memo_of_(&lock)->lasting, 0);
    memo_of_(&lock)->lasting = LASTING_MAX; /* as those learned who do not */
    for (int i = 0; i < 100; i++) CHECK(spins_for_lasting_sections(1, true) >= CC_LOCK_SPIN_NS);
}

/* Else one who never yields would spin in full each time while the holder waits for this very CPU. */
TEST(who_shares_its_cpu_and_may_not_yield_learns_that_sections_last)
{
    set_up(2);
    make_busy();
    (void)spins_for_lasting_sections(LASTING, true);
    CHECK(is_lasting_(&(waiter_t){ .lock = &lock }));
    CHECK_EQ(fake.yields, 0);
    set_up(2);
    for (int i = 0; i < LASTING; i++) {
        has_shared_cpu(true);
        lock.word = HELD;
        fake.asleep = release;
        CHECK(cc_lock_acquire_until(&lock, fake.now_ns + 100 * MS));
    }
    CHECK(is_lasting_(&(waiter_t){ .lock = &lock }));
}

TEST(a_lock_given_up_soon_is_taken_without_sleeping)
{
    static const unsigned soon[] = { 1, 2, 3, 10, 50, 100 };
    for (size_t i = 0; i < sizeof soon / sizeof soon[0]; i++) {
        set_up_held(2);
        release_at_pause = soon[i];
        fake.on_pause = release_soon;
        cc_lock_acquire(&lock);
        CHECK_EQ(calls(), fake.yields);
        CHECK_EQ(state(), HELD);
    }
}

TEST(a_long_wait_yields_to_a_holder_without_a_cpu_but_not_with_a_deadline)
{
    set_up_held(2);
    fake.on_yield = release;
    cc_lock_acquire(&lock);
    CHECK_EQ(fake.yields, 1);
    CHECK_EQ(fake.waits, 0);
    CHECK(fake.pauses >= YIELD_AFTER_NS / 40);
    set_up_held(2);
    fake.asleep = release;
    CHECK(cc_lock_acquire_timeout(&lock, UINT64_C(1000) * CC_LOCK_OWED_NS));
    CHECK_EQ(fake.yields, 0);
    CHECK_EQ(fake.waits, 1);
}

/* Asleep it is woken soon; if it yielded, another program would have the CPU for a time slice. */
TEST(a_long_wait_does_not_yield_where_no_other_thread_of_ours_was_on_its_cpu)
{
    set_up_held(2);
    has_shared_cpu(false);
    fake.asleep = release;
    cc_lock_acquire(&lock);
    CHECK_EQ(fake.yields, 0);
    CHECK_EQ(fake.waits, 1);
    lock.word = PARKED; /* one was woken and is not here yet: it has a CPU of its own */
    cc_lock_acquire(&lock);
    CHECK_EQ(fake.yields, 0);
}

static void is_woken_in_vain_first(void)
{
    release();
    lock.word += HELD;
    fake.asleep = release;
}

/* A demand that it withdrew for a yield which does not come would be lost for nothing. */
TEST(who_does_not_yield_withdraws_nothing)
{
    set_up(2);
    lock.word = HELD | OWED;
    waiter_t w = { .lock = &lock, .deadline = CC_FOREVER, .may_yield = true, .has_demanded = true };
    has_shared_cpu(false);
    CHECK_EQ(yield_(&w), 0);
    CHECK(w.has_demanded && (lock.word & OWED));
    has_shared_cpu(true);
    fake.yield_ns = 100;
    CHECK_EQ(yield_(&w), 0);
    CHECK_EQ(fake.yields, 1);
    CHECK(!w.has_demanded && !(lock.word & OWED));
}

TEST(who_was_woken_in_vain_does_not_yield_either_where_no_other_thread_of_ours_was_on_its_cpu)
{
    set_up_held(2);
    has_shared_cpu(false);
    fake.asleep = is_woken_in_vain_first;
    cc_lock_acquire(&lock);
    CHECK_EQ(fake.waits, 2);
    CHECK_EQ(fake.yields, 0);
}

static uint32_t seen_who_before_wake, seen_at_before_wake;
static void note_seen(void)
{
    seen_who_before_wake = seen_who_[cc_os_cpu_()];
    seen_at_before_wake = seen_at_[cc_os_cpu_()];
}

/* Else one who never waits for the lock, but wakes those who do, would not be known to share their CPU. And it is seen
 * before it wakes, because the woken one may run at once. */
TEST(who_wakes_another_is_seen_on_its_cpu)
{
    static const uint32_t words[] = { PARKED, PARKED | SURE, PARKED | OWED };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        set_up(2);
        seen_who_[cc_os_cpu_()] = seen_at_[cc_os_cpu_()] = 0;
        fake.on_wake = note_seen;
        lock.word = HELD | SHARED | words[i];
        cc_lock_release(&lock);
        CHECK_EQ(fake.wakes, 1);
        CHECK_EQ(seen_who_before_wake, own_number_());
        CHECK_EQ(seen_at_before_wake, (uint32_t)(fake.now_ns >> SEEN_SHIFT));
    }
    seen_who_[cc_os_cpu_()] = 0;
    lock.word = HELD | SHARED | OWED; /* it is handed over to one who spins */
    cc_lock_release(&lock);
    CHECK_EQ(seen_who_[cc_os_cpu_()], 0);
}

static unsigned yields_of_one_wait(void)
{
    fake.yields = fake.waits = 0;
    has_shared_cpu(true);
    lock.word = HELD;
    fake.asleep = release;
    cc_lock_acquire(&lock);
    CHECK_EQ(fake.waits, 1);
    return fake.yields;
}

/* One slice of a neighbour's may be chance, two in a row are not. */
TEST(nobody_yields_for_a_while_after_yields_that_took_milliseconds)
{
    set_up(2);
    fake.now_ns += 1000 * MS;
    fake.yield_ns = 1000;
    unsigned quiet = yields_of_one_wait();
    CHECK(quiet > 2);
    fake.yield_ns = 4 * MS;
    CHECK_EQ(yields_of_one_wait(), 2);
    CHECK_EQ(yields_of_one_wait(), 0);
    fake.now_ns += (uint64_t)(2 * BUSY_FIRST + 1) << TICK_SHIFT; /* busy, and on trial */
    CHECK_EQ(yields_of_one_wait(), 2);
    CHECK_EQ(yields_of_one_wait(), 0);
    fake.now_ns += (uint64_t)(2 * BUSY_FIRST + 1) << TICK_SHIFT;
    fake.yield_ns = 1000;
    CHECK_EQ(yields_of_one_wait(), quiet); /* the neighbours have gone */
}

TEST(a_short_wait_does_not_yield)
{
    for (unsigned i = 0; i < 200; i++) {
        set_up_held(2);
        release();
        CHECK(cc_lock_acquire_slow_(&lock, CC_FOREVER));
        CHECK_EQ(calls() + fake.pauses, 0);
        set_up_held(2);
        release_at_pause = 1;
        fake.on_pause = release_soon;
        cc_lock_acquire(&lock);
        CHECK_EQ(calls(), 0);
    }
}

/* A section of 10 us, its end at the i-th pause. */
TEST(the_end_of_one_section_is_seen_after_one_pause)
{
    for (unsigned i = 0; i < 200; i++) {
        set_up_held(2);
        release_at_pause = 1 + i;
        fake.on_pause = release_soon;
        cc_lock_acquire(&lock);
        CHECK_EQ(fake.pauses, release_at_pause);
        CHECK_EQ(fake.waits, 0);
    }
}

/* Another thread takes it again, or finds that a turn is owed, and stops. */
static void take_again(void)
{
    if (cc_lock_try_acquire(&lock)) return;
    CHECK(lock.word & OWED);
    release_at_pause = 0;
}

/* Another thread takes and releases it so many times during each pause, up to the pause at which it stops, or until a
 * turn is owed. */
static unsigned sections_a_pause;
static void takes_it_again_and_again(void)
{
    for (unsigned i = 0; i < sections_a_pause && fake.pauses <= release_at_pause; i++) {
        release();
        bool goes_on = i + 1 < sections_a_pause || fake.pauses < release_at_pause;
        if (goes_on) take_again();
    }
}

TEST(a_few_lost_races_are_no_reason_to_stay_away)
{
    for (unsigned i = 0; i < 150; i++) {
        set_up_held(2);
        sections_a_pause = 1;
        release_at_pause = 1 + i % 3;
        fake.on_pause = takes_it_again_and_again;
        cc_lock_acquire(&lock);
        CHECK_EQ(fake.pauses, release_at_pause); /* it looked after each */
        CHECK_EQ(fake.clock_reads, 0);           /* whoever stays away asks for the time */
    }
}

/* Whether a glance takes a lock whose section ends at a pause. */
static bool is_taken_by_a_glance(unsigned section)
{
    set_up_held(2);
    find_out_();
    memo_of_(&lock)->glances = GLANCES;
    release_at_pause = section;
    fake.on_pause = release_soon;
    bool taken = glance_(&lock, CC_FOREVER);
    CHECK_EQ(calls() + fake.clock_reads, 0);
    return taken;
}

TEST(a_glance_takes_the_lock_at_the_end_of_a_short_section)
{
    CHECK(is_taken_by_a_glance(1));
    CHECK_EQ(state(), HELD);
    CHECK(is_taken_by_a_glance(CC_LOCK_GLANCE_PAUSES - 1));
    CHECK(!is_taken_by_a_glance(CC_LOCK_GLANCE_PAUSES + 1));
}

/* Waits for short sections, one after the other, for a fifth of a millisecond in all; returns how often it yielded. */
static unsigned yields_in_short_waits(uint32_t glances, uint64_t timeout)
{
    set_up_held(2);
    fake.on_pause = release_soon;
    for (int i = 0; i < 500; i++) {
        memo_of_(&lock)->glances = glances;
        lock.word = HELD;
        release_at_pause = fake.pauses + 10; /* 0.4 us */
        if (timeout == CC_FOREVER)
            cc_lock_acquire(&lock);
        else
            CHECK(cc_lock_acquire_timeout(&lock, timeout));
    }
    CHECK_EQ(fake.waits, 0);
    return fake.yields;
}

TEST(who_has_spun_for_long_in_short_waits_gives_way_but_not_with_a_deadline)
{
    CHECK_EQ(yields_in_short_waits(COUNTED, CC_FOREVER), 1);
    CHECK_EQ(yields_in_short_waits(COUNTED, MS), 0);
    CHECK_EQ(yields_in_short_waits(GLANCES, CC_FOREVER), 0); /* no threads share CPUs */
    CHECK_EQ(yields_in_short_waits(NO_GLANCES, CC_FOREVER), 1);
    CHECK_EQ(yields_in_short_waits(NO_GLANCES, MS), 0);
}

TEST(who_has_slept_for_the_lock_does_not_give_way_at_the_next_wait)
{
    set_up_held(2);
    cc_snooze_spun_(10000, false); /* 0.4 ms */
    give_way_after_ = UINT32_MAX;
    fake.asleep = release;
    cc_lock_acquire(&lock);
    CHECK_EQ(spun_, 0);
}

TEST(who_gives_way_where_no_threads_share_cpus_need_not_count)
{
    CHECK_EQ(yields_in_short_waits(COUNTED, CC_FOREVER), 1);
    set_up_held(2);
    memo_of_(&lock)->glances = COUNTED;
    seen_who_[cc_os_cpu_()] = own_number_();
    shared_at_[cc_os_cpu_()] = (uint32_t)(fake.now_ns >> SEEN_SHIFT) - 2 * CC_SNOOZE_SHARED_FOR;
    cc_snooze_spun_(10000, false);
    fake.yield_ns = 600;
    release_at_pause = 5;
    fake.on_pause = release_soon;
    cc_lock_acquire(&lock);
    CHECK_EQ(fake.yields, 1);
    CHECK_EQ(memo_of_(&lock)->glances, GLANCES);
}

TEST(a_yield_tells_whether_those_who_glance_give_way)
{
    set_up_held(2);
    waiter_t w = { .lock = &lock, .deadline = CC_FOREVER, .may_yield = true };
    uint32_t *glances = &memo_of_(&lock)->glances;
    *glances = GLANCES;
    fake.yield_ns = 3400;
    CHECK_EQ(yield_(&w), 3400);
    CHECK_EQ(*glances, COUNTED);
    fake.yield_ns = 600;
    CHECK_EQ(yield_(&w), 0);
    CHECK_EQ(*glances, GLANCES);
    fake.yield_ns = 3400;
    *glances = NO_GLANCES;
    CHECK_EQ(yield_(&w), 3400);
    CHECK_EQ(*glances, NO_GLANCES);
}

static void is_taken_again(void)
{
    release();
    CHECK(cc_lock_try_acquire(&lock));
}

TEST(a_glance_ends_when_another_section_begins_or_somebody_sleeps_or_awaits_a_condition)
{
    for (int i = 0; i < 100; i++) {
        set_up_held(2);
        find_out_();
        memo_of_(&lock)->glances = GLANCES;
        fake.on_pause = is_taken_again;
        CHECK(!glance_(&lock, CC_FOREVER));
        CHECK(fake.pauses <= 1);
        fake.pauses = 0;
        cc_lock_note_await_(&lock);
        CHECK(!glance_(&lock, CC_FOREVER));
        CHECK_EQ(fake.pauses, 0);
        static const uint32_t others[] = { HELD | PARKED, PARKED, HELD | OWED | PARKED, OWED };
        for (size_t k = 0; k < sizeof others / sizeof others[0]; k++) {
            fake.pauses = 0;
            lock.word = others[k];
            CHECK(!glance_(&lock, CC_FOREVER));
            CHECK_EQ(lock.word, others[k]);
            CHECK_EQ(fake.pauses, 0);
        }
    }
}

/* What a wait makes of whether waiters glance. The lock is taken so many times at each pause, up to one at which it
 * stays free. */
static uint32_t glances_after(uint32_t glances, unsigned sections, unsigned last_pause)
{
    set_up_held(2);
    find_out_();
    memo_of_(&lock)->glances = glances;
    sections_a_pause = sections;
    release_at_pause = last_pause;
    fake.on_pause = takes_it_again_and_again;
    waiter_t w = { .lock = &lock, .deadline = CC_FOREVER, .spin_ns = CC_LOCK_SPIN_NS };
    CHECK(spin_(&w));
    return memo_of_(&lock)->glances;
}

static void takes_it_20_times_and_is_done(void)
{
    for (unsigned i = 0; i < 20 && fake.pauses == 1; i++) is_taken_again();
    if (fake.pauses == 2) release();
}

TEST(who_finds_the_lock_in_the_hands_of_one_thread_forbids_glances)
{
    set_up_held(2);
    find_out_();
    memo_of_(&lock)->glances = GLANCES;
    fake.on_pause = takes_it_20_times_and_is_done;
    waiter_t w = { .lock = &lock, .deadline = CC_FOREVER, .spin_ns = CC_LOCK_SPIN_NS };
    CHECK(spin_(&w)); /* it lost 20 sections, and then got it after one */
    CHECK_EQ(memo_of_(&lock)->glances, NO_GLANCES);
    CHECK_EQ(glances_after(GLANCES, QUICK_RELEASES + 1, 1), NO_GLANCES); /* it missed some, and got it */
    CHECK_EQ(glances_after(GLANCES, QUICK_RELEASES, 1), GLANCES);
}

/* By chance: one in 64 leads a step back. */
TEST(waits_that_get_the_lock_at_the_end_of_one_section_allow_glances_again)
{
    uint32_t short_waits = NO_GLANCES, lost = NO_GLANCES, at_once = NO_GLANCES;
    for (int i = 0; i < 5000; i++) {
        short_waits = glances_after(short_waits, 1, 1);
        lost = glances_after(lost, 1, 2);
        set_up(2);
        waiter_t w = { .lock = &lock, .deadline = CC_FOREVER, .spin_ns = CC_LOCK_SPIN_NS };
        CHECK(spin_(&w)); /* it does not wait, and that says nothing */
        at_once = memo_of_(&lock)->glances;
    }
    CHECK_EQ(short_waits, GLANCES);
    CHECK_EQ(lost, NO_GLANCES);
    CHECK_EQ(at_once, NO_GLANCES);
}

/* How many pauses a wait takes for a section that ends, so that another begins, and that ends, too. */
static unsigned pauses_of_first_wait(uint32_t cpus)
{
    set_up_held(cpus);
    memo_of_(&lock)->glances = 0;
    sections_a_pause = 1;
    release_at_pause = 2;
    fake.on_pause = takes_it_again_and_again;
    fake.asleep = release;
    cc_lock_acquire(&lock);
    return (unsigned)fake.pauses;
}

TEST(the_first_wait_allows_glances_but_on_one_cpu_and_on_many)
{
    CHECK_EQ(pauses_of_first_wait(2), 2);
    CHECK_EQ(memo_of_(&lock)->glances, GLANCES);
    CHECK_EQ(pauses_of_first_wait(1), 0);
    CHECK_EQ(memo_of_(&lock)->glances, 0);
    CHECK_EQ(pauses_of_first_wait(CC_FEW_CPUS_ + 1), 2);
    CHECK_EQ(memo_of_(&lock)->glances, 0);
}

static waiter_t one_who_has_slept(bool has_demanded);

TEST(in_a_crowd_a_newcomer_holds_back_before_it_looks_again)
{
    for (uint32_t crowd = CROWD - 1; crowd <= CROWD; crowd++) {
        set_up_held(CC_FEW_CPUS_ + 1);
        waiter_t w = one_who_has_slept(false);
        memo_of_(&lock)->crowd = crowd;
        release_at_pause = 1;
        fake.on_pause = release_soon;
        cc_lock_acquire(&lock);
        CHECK_EQ(fake.clock_reads > 0, crowd == CROWD); /* whoever stays away asks for the time */
        fake.clock_reads = fake.pauses = 0;
        w.spin_ns = CC_LOCK_SPIN_NS;
        CHECK(spin_(&w));
        CHECK_EQ(fake.clock_reads, 0);
    }
}

/* The number that waits leave, each of which loses so many short sections one after the other. */
static uint32_t learned_in_crowd(uint32_t cpus, uint32_t crowd, unsigned sections, unsigned waits)
{
    for (unsigned i = 0; i < waits; i++) {
        set_up_held(cpus);
        memo_of_(&lock)->crowd = crowd;
        sections_a_pause = 1;
        release_at_pause = sections + 1;
        fake.on_pause = takes_it_again_and_again;
        cc_lock_acquire(&lock);
        crowd = memo_of_(&lock)->crowd;
    }
    return crowd;
}

/* By chance: a wait in 16 raises the number, a wait in 256 lowers it, so it is below CROWD once in a million. */
TEST(waits_that_lose_one_short_section_after_the_other_make_a_crowd_and_others_forget_it)
{
    CHECK_EQ(learned_in_crowd(CC_FEW_CPUS_ + 1, 0, UNLUCKY, 1000), 0);
    CHECK(learned_in_crowd(CC_FEW_CPUS_ + 1, 0, UNLUCKY + 5, 1000) >= CROWD);
    CHECK_EQ(learned_in_crowd(CC_FEW_CPUS_ + 1, CROWD_MAX, 0, 20000), 0);
    CHECK_EQ(learned_in_crowd(CC_FEW_CPUS_, 0, UNLUCKY + 5, 1000), 0);
}

/* Sections that end at every so many pauses. */
static unsigned pauses_a_section;
static void takes_it_again_now_and_then(void)
{
    if (fake.pauses % pauses_a_section != 0 || fake.pauses > release_at_pause) return;
    release();
    if (fake.pauses < release_at_pause) take_again();
}

TEST(lost_races_in_long_sections_are_no_reason_to_stay_away)
{
    set_up_held(2);
    pauses_a_section = 30;
    release_at_pause = 30 * 10;
    fake.on_pause = takes_it_again_now_and_then;
    cc_lock_acquire(&lock);
    CHECK_EQ(fake.pauses, release_at_pause); /* it looked after each */
}

static void takes_it_20_times(void)
{
    for (unsigned i = 0; i < 20; i++) {
        release();
        CHECK(cc_lock_try_acquire(&lock));
    }
}

TEST(sections_during_a_long_yield_are_not_taken_for_short_ones)
{
    set_up_held(2);
    fake.yield_ns = 100000;
    fake.on_yield = takes_it_20_times;
    release_at_pause = 450;
    fake.on_pause = release_soon;
    cc_lock_acquire(&lock);
    CHECK_EQ(fake.pauses, release_at_pause); /* it looked after each */
    CHECK(fake.yields > 2);
    CHECK_EQ(fake.waits, 0);
}

/* 5 sections a pause are too many for one line to carry; one every second pause is not. */
static unsigned late_waits_of_50(unsigned sections, unsigned pauses)
{
    unsigned late = 0;
    for (unsigned i = 0; i < 50; i++) {
        set_up_held(2);
        sections_a_pause = sections;
        pauses_a_section = pauses;
        release_at_pause = 20 + 2 * i;
        fake.on_pause = sections ? takes_it_again_and_again : takes_it_again_now_and_then;
        cc_lock_acquire(&lock);
        late += fake.pauses > release_at_pause || fake.waits > 0;
    }
    return late;
}

TEST(whoever_is_overtaken_again_and_again_stays_away)
{
    CHECK(late_waits_of_50(5, 1) > 25); /* it was not looking when the lock came free */
    CHECK(late_waits_of_50(0, 2) > 25);
}

/* Where one thread has the lock for itself a look costs it more than a waiter gains. */
TEST(whoever_meets_a_lock_that_one_thread_has_for_itself_naps_without_a_word)
{
    set_up_held(2);
    sections_a_pause = 5;
    release_at_pause = 100000;
    fake.on_pause = takes_it_again_and_again;
    fake.asleep = release;
    cc_lock_acquire(&lock);
    CHECK_EQ(fake.waits, 1);
    CHECK_EQ(fake.wakes, 0); /* the word does not say that it sleeps */
    CHECK_EQ(state(), HELD);
}

/* Who waits for a condition under the lock waits for whoever stays away. */
TEST(nobody_stays_away_for_long_from_a_lock_under_which_a_condition_is_awaited)
{
    for (unsigned i = 0; i < 50; i++) {
        set_up_held(2);
        cc_lock_note_await_(&lock);
        sections_a_pause = 5;
        release_at_pause = 1 + i;
        fake.on_pause = takes_it_again_and_again;
        cc_lock_acquire(&lock);
        CHECK_EQ(fake.waits, 0);                                   /* no nap */
        CHECK(fake.pauses <= release_at_pause + 32 * 16 / 40 + 1); /* 32 looks of 16 ns */
    }
}

TEST(a_condition_is_forgotten_when_nobody_has_awaited_it_for_long)
{
    unsigned naps = 0;
    set_up(2);
    cc_lock_note_await_(&lock);
    for (unsigned i = 0; i < 200; i++) {
        uint32_t left = memo_of_(&lock)->awaited;
        set_up_held(2);
        memo_of_(&lock)->awaited = left;
        sections_a_pause = 5;
        release_at_pause = 100000;
        fake.on_pause = takes_it_again_and_again;
        fake.asleep = release;
        cc_lock_acquire(&lock);
        naps += fake.wakes == 0; /* else it was woken */
    }
    CHECK(naps > 100);
}

static uint64_t time_of_one_wait(void)
{
    set_up_held(2);
    sections_a_pause = 5;
    release_at_pause = 10;
    fake.on_pause = takes_it_again_and_again;
    uint64_t before = fake.now_ns;
    cc_lock_acquire(&lock);
    return fake.now_ns - before;
}

TEST(no_two_waits_repeat_a_random_series)
{
    uint64_t first = time_of_one_wait();
    unsigned same = 0;
    for (unsigned i = 0; i < 50; i++) same += time_of_one_wait() == first;
    CHECK(same < 50);
}

TEST(spin_never_calls_the_system)
{
    set_up_held(2);
    release_at_pause = 1000000;
    fake.on_pause = release_soon;
    cc_lock_acquire_spin(&lock);
    CHECK_EQ(calls(), 0);
    CHECK_EQ(state(), HELD);
}

static void hand_over_at_pause(void)
{
    if (fake.pauses == release_at_pause) lock.word = PARKED | OWED;
    if (fake.pauses > 2 * release_at_pause + 2 * CC_LOCK_OWED_NS / 40)
        lock.word = 0; /* it did not take it: let it go */
}

/* Beside sleepers that are owed the lock it would never find it free. */
TEST(spin_takes_what_was_handed_over_once_it_has_spun_for_as_long_as_a_sleeper_waits)
{
    static const unsigned at[] = { 1, CC_LOCK_OWED_NS / 40 / 2, CC_LOCK_OWED_NS / 40 * 2 };
    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
        set_up_held(2);
        release_at_pause = at[i];
        fake.on_pause = hand_over_at_pause;
        cc_lock_acquire_spin(&lock);
        CHECK_EQ(state(), HELD | PARKED);
        CHECK(fake.pauses >= CC_LOCK_OWED_NS / 40);
        CHECK(fake.pauses <= CC_LOCK_OWED_NS / 40 * 3);
    }
}

static void sleeper_is_woken(uint32_t cpus)
{
    set_up_held(cpus);
    fake.asleep = release;
    cc_lock_acquire(&lock);
    CHECK(fake.waited_on == &lock.word);
    CHECK_EQ(fake.waited_until, CC_FOREVER);
    CHECK_EQ(fake.wakes, 1);
    CHECK(fake.woken == &lock.word);
    CHECK_EQ(fake.woken_count, 1);
    CHECK_EQ(state(), HELD | PARKED);
    cc_lock_release(&lock);
    CHECK_EQ(fake.wakes, 2);
    CHECK(is_free_(lock.word));
    cc_lock_acquire(&lock);
    cc_lock_release(&lock);
    CHECK_EQ(fake.wakes, 2); /* and then it is forgotten */
}

TEST(a_sleeper_is_woken_once_and_remembers_that_others_may_sleep)
{
    sleeper_is_woken(1);
    sleeper_is_woken(2);
}

TEST(who_sleeps_for_a_lock_is_seen_as_it_wakes_up)
{
    set_up_held(1); /* nobody spins or yields */
    fake.asleep = release;
    seen_who_[cc_os_cpu_()] = 0;
    cc_lock_acquire(&lock);
    CHECK_EQ(seen_who_[cc_os_cpu_()], own_number_());
}

TEST(a_release_on_the_way_to_sleep_is_not_lost)
{
    set_up_held(1);
    fake.before_sleep = release;
    cc_lock_acquire(&lock);
    CHECK_EQ(fake.waits, 1);
    CHECK(lock.word & HELD);
}

static void release_on_third_wait(void)
{
    if (fake.waits == 3) release();
}

TEST(a_wait_that_ends_for_no_reason_goes_on_to_the_same_deadline)
{
    static const int reasons[] = { 0, EAGAIN, EINTR, ETIMEDOUT, EINVAL, ENOSYS, EFAULT, EPERM, ENOMEM };
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        fake_result lines[2] = { { reasons[i], 3 }, { reasons[i], 4 } };
        for (int forever = 0; forever < 2; forever++) {
            set_up_held(1);
            uint64_t deadline = forever ? CC_FOREVER : fake.now_ns + 100;
            fake.script = lines;
            fake.script_lines = 2;
            fake.asleep = release_on_third_wait;
            CHECK(cc_lock_acquire_until(&lock, deadline));
            CHECK_EQ(fake.waits, 3);
            CHECK_EQ(fake.waited_until, deadline);
        }
    }
}

TEST(a_timeout_returns_false_at_its_deadline_and_leaves_the_lock_usable)
{
    for (uint32_t cpus = 1; cpus <= 2; cpus++) {
        set_up_held(cpus);
        uint64_t deadline = fake.now_ns + 500000;
        CHECK(!cc_lock_acquire_until(&lock, deadline));
        CHECK_EQ(fake.now_ns, deadline);
        cc_lock_release(&lock);
        CHECK(is_free_(lock.word));
        CHECK(cc_lock_try_acquire(&lock));
    }
}

TEST(huge_timeouts_saturate)
{
    set_up_held(1);
    fake.asleep = release;
    CHECK(cc_lock_acquire_timeout(&lock, UINT64_MAX - 5));
    CHECK_EQ(fake.waited_until, CC_FOREVER);
}

TEST(a_release_that_crosses_the_timeout_is_taken)
{
    set_up_held(1);
    fake.asleep = release;
    FAKE_SCRIPT({ ETIMEDOUT, 100 });
    CHECK(cc_lock_acquire_timeout(&lock, 100));
    CHECK(!cc_lock_try_acquire(&lock));
}

/* Some systems count a wake-up for a thread whose time was over. Then others may sleep on, and nobody else knows. */
static void release_to_a_newcomer(void)
{
    release();
    REQUIRE(cc_lock_try_acquire(&lock));
    CHECK_EQ(state(), HELD);
}

TEST(a_wake_up_that_crosses_the_timeout_is_passed_on)
{
    set_up_held(1);
    fake.asleep = release_to_a_newcomer;
    FAKE_SCRIPT({ ETIMEDOUT, 100 });
    CHECK(!cc_lock_acquire_timeout(&lock, 100));
    CHECK_EQ(state(), HELD | PARKED);
}

/* The holder releases and takes it back faster than the woken one can look: for a while that is allowed. */
static unsigned takeovers, refusals;
static void release_and_take_back(void)
{
    cc_lock_release(&lock);
    if (cc_lock_try_acquire(&lock))
        takeovers++;
    else
        refusals++;
    fake.now_ns += MS / 10;
}

TEST(whoever_slept_too_long_is_handed_the_lock_ahead_of_newcomers)
{
    for (uint32_t cpus = 1; cpus <= 2; cpus++) {
        set_up_held(cpus);
        takeovers = refusals = 0;
        fake.asleep = release_and_take_back;
        uint64_t start = fake.now_ns;
        cc_lock_acquire(&lock);
        CHECK(takeovers >= 1); /* not first come, first served */
        CHECK_EQ(refusals, 1); /* but in the end the newcomer is refused, and the sleeper has it */
        CHECK(fake.now_ns - start >= CC_LOCK_OWED_NS);
        CHECK(fake.now_ns - start < 2 * CC_LOCK_OWED_NS + 2 * CC_LOCK_SPIN_NS);
        CHECK_EQ(state(), HELD | PARKED);
        CHECK(!cc_lock_try_acquire(&lock));
        cc_lock_release(&lock);
        CHECK(is_free_(lock.word)); /* nobody is owed it any more */
    }
}

static void hand_over_before_its_first_sleep(void)
{
    if (fake.waits == 1) lock.word = PARKED | OWED; /* the system finds the word changed: EAGAIN */
}

static void take_and_release_what_was_handed_over(void)
{
    CHECK_EQ(state(), PARKED | OWED); /* nobody took it in between */
    lock.word = HELD | PARKED;
    release();
}

TEST(whoever_has_not_slept_yet_leaves_alone_what_was_handed_over)
{
    for (uint32_t cpus = 1; cpus <= 2; cpus++) {
        set_up_held(cpus);
        fake.before_sleep = hand_over_before_its_first_sleep;
        fake.asleep = take_and_release_what_was_handed_over;
        cc_lock_acquire(&lock);
        CHECK_EQ(fake.waits, 2);
        CHECK(lock.word & HELD);
    }
}

static void pass_a_millisecond(void)
{
    fake.now_ns += 2 * MS;
}

TEST(whoever_is_owed_the_lock_and_gives_up_is_owed_it_no_more)
{
    for (uint32_t cpus = 1; cpus <= 2; cpus++) {
        set_up_held(cpus);
        FAKE_SCRIPT({ 0, 2 * MS }, { 0, 0 }, { 0, 0 });
        CHECK(!cc_lock_acquire_timeout(&lock, 10 * MS));
        CHECK(state() < OWED);
        CHECK(lock.word & HELD);
        cc_lock_release(&lock);
        CHECK(is_free_(lock.word));
    }
    set_up_held(1);
    fake.before_sleep = pass_a_millisecond;
    CHECK(!cc_lock_acquire_timeout(&lock, 10 * MS));
    CHECK(state() < OWED);
}

static void release_while_it_is_owed(void)
{
    if (state() >= OWED) release();
}

TEST(a_grant_that_crosses_the_timeout_is_taken)
{
    set_up_held(1);
    fake.asleep = release_while_it_is_owed;
    FAKE_SCRIPT({ 0, 2 * MS }, { ETIMEDOUT, 8 * MS });
    CHECK(cc_lock_acquire_timeout(&lock, 10 * MS));
    CHECK_EQ(state() & (uint32_t)~PARKED, HELD);
    cc_lock_release(&lock);
    CHECK(is_free_(lock.word));
}

/* What a sleeper does when it wakes up, whether it has demanded or not. */
static waiter_t one_who_has_slept(bool has_demanded)
{
    waiter_t w = { .lock = &lock, .has_slept = true, .may_inherit = true, .has_demanded = has_demanded };
    return w;
}

TEST(a_debt_is_paid_once_to_whoever_has_slept)
{
    for (unsigned has_demanded = 0; has_demanded < 2; has_demanded++) {
        set_up(1);
        lock.word = HELD | PARKED | OWED;
        cc_lock_release(&lock);
        CHECK_EQ(state(), PARKED | OWED);
        CHECK(!cc_lock_try_acquire(&lock));
        waiter_t w = one_who_has_slept(has_demanded);
        CHECK(may_take_(&w, lock.word) && take_(&w, lock.word));
        CHECK_EQ(state(), HELD | PARKED);
        cc_lock_release(&lock);
        CHECK(is_free_(lock.word)); /* from here on it belongs to whoever comes first */
        CHECK_EQ(fake.wakes, 2);
    }
}

/* Another thread takes it again and again, too fast to look, until a turn is owed. */
static bool is_overtaken;
static void takes_it_until_a_turn_is_owed(void)
{
    for (unsigned i = 0; i < 5 && is_overtaken; i++) {
        release();
        is_overtaken = cc_lock_try_acquire(&lock);
    }
}

TEST(whoever_stays_away_again_and_again_demands_a_turn)
{
    set_up_held(2);
    is_overtaken = true;
    fake.on_pause = fake.asleep = takes_it_until_a_turn_is_owed;
    waiter_t w = { .lock = &lock, .deadline = CC_FOREVER, .spin_ns = 100 * MS };
    uint64_t before = fake.now_ns;
    CHECK(spin_(&w));
    CHECK(!is_overtaken);
    CHECK(w.has_demanded && !w.has_slept);
    CHECK(fake.now_ns - before >= CC_LOCK_OWED_NS);
    CHECK(fake.now_ns - before < 2 * CC_LOCK_OWED_NS);
    CHECK_EQ(state(), HELD);
}

/* One stays away for `ns`, who has lost two races, on a CPU that it shares with a thread of ours or not. Returns how
 * often it yielded; a yield takes 1 us. */
static unsigned yields_away(uint64_t ns, bool shares_cpu, uint64_t deadline)
{
    has_shared_cpu(shares_cpu);
    seen_at_[cc_os_cpu_()] = (uint32_t)(fake.now_ns >> SEEN_SHIFT);
    fake.yield_ns = 1000;
    waiter_t w = { .lock = &lock, .deadline = deadline };
    w.may_yield = may_yield_(&w);
    spin_t spin = { .short_section = 12, .lost = 2, .is_local = true, .rng = 1 };
    spin.look_ns = ns / 1024 + 1; /* 512 looks doubled twice, of which it draws the upper half: `ns` to twice as long */
    uint64_t before = fake.now_ns;
    stay_away_(&spin, &w);
    CHECK(fake.now_ns - before >= ns);
    CHECK(fake.now_ns - before <= 3 * ns);
    return fake.yields;
}

TEST(who_shares_its_cpu_stays_away_by_yields_while_the_lock_changes_hands)
{
    set_up_held(2);
    fake.on_yield = takes_it_20_times;
    CHECK(yields_away(100000, true, CC_FOREVER) >= 100);
    CHECK_EQ(fake.waits, 0); /* no timer that would interrupt the holder */
}

TEST(else_it_sleeps)
{
    set_up_held(2);
    fake.on_yield = takes_it_20_times;
    CHECK_EQ(yields_away(100000, false, CC_FOREVER), 0);
    CHECK_EQ(fake.waits, 1);
    set_up_held(2);
    CHECK_EQ(yields_away(100000, true, fake.now_ns + 100 * MS), 0); /* a yield may last for too long */
    CHECK_EQ(fake.waits, 1);
}

/* The holder may wait for this CPU, and a scheduler may let those who yield to each other have it. */
TEST(who_stays_away_by_yields_sleeps_when_the_section_does_not_end)
{
    set_up_held(2);
    CHECK_EQ(yields_away(100000, true, CC_FOREVER), 1 + UNSEEN);
    CHECK_EQ(fake.waits, 1);
}

static unsigned yields_until_it_is_handed_over;
static void hands_it_over_at_last(void)
{
    takes_it_20_times();
    if (fake.yields == yields_until_it_is_handed_over) lock.word = (lock.word & ~(uint32_t)HELD) | OWED;
}

TEST(who_stays_away_by_yields_looks_at_once_when_the_lock_is_handed_over)
{
    set_up_held(2);
    fake.on_yield = hands_it_over_at_last;
    yields_until_it_is_handed_over = 5;
    waiter_t w = { .lock = &lock, .may_yield = true, .may_inherit = true, .has_demanded = true };
    shared_at_[cc_os_cpu_()] = (uint32_t)(fake.now_ns >> SEEN_SHIFT);
    uint64_t until = fake.now_ns + MS;
    CHECK_EQ(yield_until_(&w, fake.now_ns, until), until);
    CHECK_EQ(fake.yields, 5);
}

TEST(who_stays_away_by_yields_stops_when_the_cpus_are_busy)
{
    set_up_held(2);
    fake.on_yield = takes_it_20_times;
    make_busy();
    CHECK_EQ(yields_away(100000, true, CC_FOREVER), 0);
    CHECK_EQ(fake.waits, 1);
}

TEST(nobody_stays_away_by_yields_from_a_lock_under_which_a_condition_is_awaited)
{
    set_up_held(2);
    fake.on_yield = takes_it_20_times;
    cc_lock_note_await_(&lock);
    fake.yield_ns = 1000;
    waiter_t w = { .lock = &lock, .deadline = CC_FOREVER, .may_yield = true };
    spin_t spin = { .short_section = 12, .lost = 2, .look_ns = 1000, .is_local = true, .rng = 1 };
    shared_at_[cc_os_cpu_()] = (uint32_t)(fake.now_ns >> SEEN_SHIFT);
    stay_away_(&spin, &w);
    CHECK_EQ(fake.yields, 1);
}

TEST(those_who_stay_away_have_one_turn_in_a_while)
{
    set_up(2);
    uint64_t now = 100 * MS;
    waiter_t w = { .lock = &lock, .first_away_at = now - CC_LOCK_OWED_NS };
    CHECK(is_owed_(&w, now));
    CHECK(!is_owed_(&w, now - 1));
    memo_of_(&lock)->turn_at = (uint32_t)now;
    CHECK(!is_owed_(&w, now + TURN_NS * 2 - 1));
    CHECK(is_owed_(&w, now + TURN_NS * 2));
}

/* Whether one stays away at first who comes so long after another has demanded a turn. */
static bool stays_away_after_a_demand(uint64_t since_demand, bool has_slept, bool is_awaited)
{
    set_up_held(2);
    if (is_awaited) cc_lock_note_await_(&lock);
    memo_of_(&lock)->turn_at = (uint32_t)(fake.now_ns - since_demand) | 1;
    waiter_t w = { .lock = &lock, .deadline = CC_FOREVER, .spin_ns = CC_LOCK_SPIN_NS, .has_slept = has_slept };
    fake.clock_reads = 0;
    spin_t spin = begin_spin_(&w);
    CHECK_EQ(spin.is_local, spin.holds_back);
    CHECK(fake.clock_reads <= 1);
    return should_stay_away_(&spin, &w, lock.word, 0);
}

TEST(who_comes_while_another_has_its_turn_holds_back)
{
    CHECK(stays_away_after_a_demand(1000, false, false));
    CHECK(!stays_away_after_a_demand(TURN_BEGINS_NS + 1, false, false));
    CHECK(!stays_away_after_a_demand(1000, true, false));
    CHECK(!stays_away_after_a_demand(1000, false, true));
    CHECK(memo_of_(&lock)->turn_at != 0);
    CHECK(!stays_away_after_a_demand(CC_LOCK_OWED_NS + 2, false, false));
    CHECK_EQ(memo_of_(&lock)->turn_at, 0); /* it is forgotten, and nobody asks for the time any more */
    set_up_held(2);
    waiter_t w = { .lock = &lock, .deadline = CC_FOREVER };
    spin_t spin = begin_spin_(&w);
    CHECK(!spin.holds_back); /* nobody has ever demanded one */
    CHECK_EQ(fake.clock_reads, 0);
}

/* What a newcomer does where so many have noted that one thread has the lock for itself. */
static spin_t newcomer_where_noted(uint32_t cpus, uint32_t local, bool has_slept)
{
    set_up_held(cpus);
    memo_of_(&lock)->local = local;
    memo_of_(&lock)->look_ns = 1234;
    waiter_t w = { .lock = &lock, .deadline = CC_FOREVER, .has_slept = has_slept };
    return begin_spin_(&w);
}

TEST(with_many_cpus_a_newcomer_holds_back_from_a_lock_that_one_thread_is_known_to_have_for_itself)
{
    spin_t spin = newcomer_where_noted(CC_FEW_CPUS_ + 1, LOCAL, false);
    CHECK(spin.holds_back && spin.is_local);
    CHECK_EQ(spin.look_ns, 1234);
    CHECK(!newcomer_where_noted(CC_FEW_CPUS_ + 1, LOCAL - 1, false).holds_back);
    CHECK(!newcomer_where_noted(CC_FEW_CPUS_ + 1, LOCAL, true).holds_back);
    CHECK(!newcomer_where_noted(CC_FEW_CPUS_, LOCAL, false).holds_back);
}

/* Two words, written one after the other: the second may still be as at first. */
TEST(a_newcomer_holds_back_from_such_a_lock_if_what_a_look_takes_is_not_known_yet)
{
    set_up_held(CC_FEW_CPUS_ + 1);
    memo_of_(&lock)->local = LOCAL;
    waiter_t w = { .lock = &lock, .deadline = CC_FOREVER };
    spin_t spin = begin_spin_(&w);
    CHECK(spin.holds_back && spin.is_local);
    uint64_t away_ns = draw_away_ns_(&spin, &w);
    CHECK(away_ns > 0 && away_ns <= 512 * NEAREST_NS);
}

/* By chance: one in four who find it so adds to the number. */
TEST(who_comes_back_notes_whether_one_thread_has_the_lock_for_itself)
{
    uint32_t rng = 1;
    set_up(CC_FEW_CPUS_ + 1);
    waiter_t w = { .lock = &lock, .deadline = CC_FOREVER };
    for (int i = 0; i < 1000; i++) note_local_(&w, true, UINT64_MAX, &rng);
    CHECK_EQ(memo_of_(&lock)->local, LOCAL_MAX);
    CHECK_EQ(memo_of_(&lock)->look_ns, AWAY_MAX_NS);
    for (int i = 0; i <= LOCAL_MAX - LOCAL; i++) {
        CHECK(is_noted_local_(&w));
        note_local_(&w, false, 0, &rng);
    }
    CHECK(!is_noted_local_(&w));
    for (int i = 0; i < 10; i++) note_local_(&w, false, 0, &rng);
    CHECK_EQ(memo_of_(&lock)->local, 0);
    set_up(CC_FEW_CPUS_);
    for (int i = 0; i < 1000; i++) note_local_(&w, true, 100, &rng);
    CHECK_EQ(memo_of_(&lock)->local, 0);
}

TEST(whoever_demanded_while_it_spun_withdraws_but_not_what_another_insists_on_or_is_handed_over)
{
    static const uint32_t stays[] = { HELD | OWED | INSISTED, OWED | PARKED, HELD | PARKED };
    set_up(2);
    waiter_t w = { .lock = &lock };
    lock.word = HELD | PARKED;
    spin_t spin = begin_spin_(&w);
    uint32_t seen = lock.word;
    demand_a_turn_(&spin, &w, &seen);
    CHECK_EQ(seen, HELD | PARKED | OWED);
    CHECK_EQ(lock.word, HELD | PARKED | OWED);
    CHECK(w.has_demanded && w.may_inherit);
    CHECK(withdraw_(&w));
    CHECK_EQ(lock.word, HELD | PARKED);
    CHECK(!w.has_demanded && !w.may_inherit);
    for (size_t i = 0; i < sizeof stays / sizeof stays[0]; i++) {
        w.may_inherit = w.has_demanded = true;
        lock.word = stays[i];
        CHECK_EQ(withdraw_(&w), (stays[i] & HELD) != 0); /* else the turn is here */
        CHECK_EQ(lock.word, stays[i]);
    }
    lock.word = HELD | OWED | PARKED;
    w = one_who_has_slept(true); /* it is woken when it has its turn */
    CHECK(withdraw_(&w));
    CHECK_EQ(lock.word, HELD | OWED | PARKED);
    w.has_slept = w.has_demanded = false; /* the demand is another's */
    CHECK(withdraw_(&w));
    CHECK_EQ(lock.word, HELD | OWED | PARKED);
}

/* The turn that one demanded who spins comes while it is about to let others run. */
TEST(nobody_yields_to_whom_the_lock_was_just_handed_over)
{
    set_up(2);
    waiter_t w = { .lock = &lock, .has_demanded = true, .may_inherit = true, .may_yield = true };
    lock.word = OWED;
    CHECK_EQ(yield_(&w), 0);
    CHECK_EQ(fake.yields, 0);
    lock.word = HELD | OWED;
    (void)yield_(&w);
    CHECK_EQ(fake.yields, 1);
    CHECK_EQ(lock.word, HELD);
}

static void others_are_owed_a_turn(void)
{
    if (fake.waits <= 3) {
        lock.word = HELD | PARKED | OWED;
        cc_os_wake_(&lock.word, 1);
        fake.now_ns += 2 * MS;
    } else {
        CHECK_EQ(state(), HELD | PARKED | OWED); /* once is enough */
        lock.word = HELD | PARKED;
        release();
    }
}

TEST(while_a_turn_is_owed_nobody_demands_another)
{
    for (uint32_t cpus = 1; cpus <= 2; cpus++) {
        set_up_held(cpus);
        fake.asleep = others_are_owed_a_turn;
        cc_lock_acquire(&lock);
        CHECK_EQ(state(), HELD | PARKED);
        CHECK_EQ(fake.waits, 4);
    }
}

static void another_demands(void)
{
    fake.now_ns += 20 * MS;
    lock.word |= OWED;
}

TEST(whoever_gives_up_without_a_demand_leaves_the_demands_of_others)
{
    set_up_held(1);
    fake.before_sleep = another_demands;
    FAKE_SCRIPT({ ETIMEDOUT, 20 * MS });
    CHECK(!cc_lock_acquire_timeout(&lock, 10 * MS));
    CHECK_EQ(state(), HELD | PARKED | OWED);
}

/* Two others keep to a beat in which our sleeper is always the one who is woken in vain: one of them takes what is
 * handed over, and then takes the lock back when it is free, before the sleeper, whom it woke, is awake. */
static unsigned turns_of_others;
static void others_have_every_turn(void)
{
    REQUIRE(++turns_of_others < 100);
    fake.now_ns += MS;
    cc_lock_release(&lock);
    if (lock.word & OWED) { /* what is handed over, and newcomers do not get it */
        CHECK(!cc_lock_try_acquire(&lock));
        waiter_t other = one_who_has_slept(false);
        CHECK(may_take_(&other, lock.word) && take_(&other, lock.word));
        cc_lock_release(&lock);
    }
    if (cc_lock_try_acquire(&lock)) CHECK(!(lock.word & OWED));
}

TEST(whoever_is_woken_in_vain_again_and_again_has_its_turn_before_newcomers_have_another)
{
    for (uint32_t cpus = 1; cpus <= 2; cpus++) {
        set_up_held(cpus);
        turns_of_others = 0;
        fake.asleep = others_have_every_turn;
        cc_lock_acquire(&lock);
        CHECK(turns_of_others > CC_LOCK_IN_VAIN);      /* for a while that is allowed */
        CHECK(turns_of_others <= CC_LOCK_IN_VAIN + 2); /* the first is too early for a demand */
        CHECK_EQ(lock.word & (OWED | INSISTED), 0);
        cc_lock_release(&lock);
        CHECK(is_free_(lock.word));
    }
}

/* While one insists each release hands over, and whoever else has slept takes its turn without paying the debt. */
TEST(a_debt_that_somebody_insists_on_is_paid_by_its_own_turn_alone)
{
    set_up(1);
    lock.word = HELD | PARKED | OWED | INSISTED;
    for (unsigned i = 0; i < 4; i++) {
        cc_lock_release(&lock);
        CHECK(!cc_lock_try_acquire(&lock));
        waiter_t w = one_who_has_slept(i & 1);
        w.insists = i == 3;
        CHECK(may_take_(&w, lock.word) && take_(&w, lock.word));
        CHECK_EQ(lock.word % RELEASES & (HELD | PARKED | OWED | INSISTED),
                 w.insists ? HELD | PARKED : HELD | PARKED | OWED | INSISTED);
    }
    CHECK_EQ(fake.wakes, 4);
}

static void another_insists(void)
{
    if (fake.waits == 3) lock.word |= OWED | INSISTED;
}

TEST(whoever_gives_up_takes_away_what_it_insists_on_and_leaves_it_to_another_who_does)
{
    set_up_held(1); /* it is woken in vain until it insists, and its time is over */
    FAKE_SCRIPT({ 0, 2 * MS }, { 0, 0 }, { 0, 0 }, { 0, 0 }, { 0, 0 }, { 0, 0 }, { 0, 0 }, { 0, 0 });
    CHECK(!cc_lock_acquire_timeout(&lock, 10 * MS));
    CHECK_EQ(fake.waits, 9);
    CHECK_EQ(lock.word % RELEASES & (HELD | PARKED | OWED | INSISTED), HELD | PARKED);
    set_up_held(1); /* it has demanded by then, but another insists */
    fake.before_sleep = another_insists;
    FAKE_SCRIPT({ 0, 2 * MS }, { 0, 0 });
    CHECK(!cc_lock_acquire_timeout(&lock, 10 * MS));
    CHECK_EQ(lock.word % RELEASES & (HELD | PARKED | OWED | INSISTED), HELD | PARKED | OWED | INSISTED);
}

/* The woken one waits for our CPU. */
static void the_woken_one_has_a_turn(void)
{
    waiter_t w = one_who_has_slept(false);
    CHECK(may_take_(&w, lock.word) && take_(&w, lock.word));
    cc_lock_release(&lock);
}

TEST(a_newcomer_gives_way_once_to_one_who_was_woken_and_is_not_here_yet)
{
    set_up(2);
    lock.word = PARKED; /* as a release leaves it */
    fake.on_yield = the_woken_one_has_a_turn;
    cc_lock_acquire(&lock);
    CHECK_EQ(fake.yields, 1);
    CHECK(lock.word & HELD);
    CHECK_EQ(lock.word / RELEASES, 1);           /* it was second */
    for (uint32_t cpus = 1; cpus <= 2; cpus++) { /* not with a deadline, and not where only one runs at a time */
        set_up(cpus);
        lock.word = PARKED;
        CHECK(cc_lock_acquire_until(&lock, cpus == 1 ? CC_FOREVER : fake.now_ns + MS));
        CHECK_EQ(fake.yields, 0);
    }
}

TEST(the_count_of_releases_wraps_into_nothing)
{
    set_up(2);
    lock.word = UINT32_MAX - (RELEASES - 1); /* the highest count, free */
    cc_lock_acquire(&lock);
    cc_lock_release(&lock);
    CHECK_EQ(lock.word, 0);
}

TEST(waits_and_wakes_are_counted_by_how_they_ended)
{
    cc_counters_t before, after;
    cc_counters(&before);
    set_up_held(2);
    release_at_pause = 3;
    fake.on_pause = release_soon;
    cc_lock_acquire(&lock); /* spins */
    set_up_held(2);
    fake.on_yield = release;
    cc_lock_acquire(&lock); /* yields */
    set_up_held(1);
    fake.asleep = release;
    FAKE_SCRIPT({ 0, 5000 });
    cc_lock_acquire(&lock); /* sleeps */
    cc_counters(&after);
    CHECK_EQ(after.lock.waits - before.lock.waits, 3);
    CHECK_EQ(after.lock.spun - before.lock.spun, 1);
    CHECK_EQ(after.lock.yielded - before.lock.yielded, 1);
    CHECK_EQ(after.lock.slept - before.lock.slept, 1);
    CHECK_EQ(after.lock.slept_ns - before.lock.slept_ns, 5000);
    CHECK_EQ(after.lock.wakes - before.lock.wakes, 1);
    CHECK_EQ(after.lock.wakes_in_vain - before.lock.wakes_in_vain, 0);
    set_up_held(1);
    fake.asleep = release_on_third_wait;
    FAKE_SCRIPT({ 0, 1 }, { 0, 1 }); /* woken twice for nothing */
    cc_lock_acquire(&lock);
    cc_counters(&before);
    CHECK_EQ(before.lock.wakes_in_vain - after.lock.wakes_in_vain, 2);
}

#if defined(cc_atomic_sequence_store_) && defined(__linux__)
extern const ptrdiff_t __rseq_offset CC_WEAK_;
extern const unsigned int __rseq_size CC_WEAK_;

/* The system is a fake, but the sequences are real; false where there are none. */
static bool set_up_stores(uint32_t cpus)
{
    set_up(cpus);
    if (&__rseq_size == NULL || __rseq_size == 0) return false;
    fake.sequence_area = (uintptr_t)(__rseq_offset + 8);
    fake.barriers_granted = UINT32_MAX;
    find_out_();
    return true;
}

static bool set_up_held_by_one_that_stores(uint32_t cpus)
{
    bool stores = set_up_stores(cpus);
    REQUIRE(cc_lock_try_acquire(&lock));
    return stores;
}

TEST(a_lock_that_nobody_waits_for_is_released_by_a_store)
{
    if (!set_up_stores(2)) return;
    for (int i = 0; i < 3; i++) {
        cc_lock_acquire(&lock);
        CHECK_EQ(lock.word, HELD);
        cc_lock_release(&lock);
        CHECK_EQ(lock.word, 0); /* and not counted */
    }
    CHECK_EQ(calls() + fake.barriers, 0);
}

/* Whether the sequence stored. Afterwards the system must find no descriptor: the code may be unloaded. */
static bool stores_into(uint32_t *word, const uintptr_t *area_now)
{
    uintptr_t area = fake.sequence_area;
    void **descriptor = (void **)((char *)__builtin_thread_pointer() + (ptrdiff_t)area);
    cc_atomic_sequence_store_(word, CC_LOCK_HELD_, 0, area, area_now, failed);
    CHECK_EQ((uintptr_t)*descriptor, 0);
    return true;
failed:
    CHECK_EQ((uintptr_t)*descriptor, 0);
    return false;
}

TEST(a_sequence_that_finds_another_word_or_area_stores_nothing_and_leaves_nothing_behind)
{
    if (!set_up_stores(2)) return;
    uintptr_t area = fake.sequence_area, lost = LOST;
    uint32_t held = HELD, shared = HELD | SHARED, wanted = HELD;
    for (int i = 0; i < 100; i++) { /* an interrupt would clear the descriptor, too, but not each time */
        CHECK(!stores_into(&shared, &area));
        CHECK_EQ(shared, HELD | SHARED);
        CHECK(!stores_into(&held, &lost));
        CHECK_EQ(held, HELD);
    }
    bool stored = false; /* an interrupt calls it off, but not each time */
    for (int i = 0; i < 100 && !stored; i++) stored = stores_into(&wanted, &area);
    CHECK(stored);
    CHECK_EQ(wanted, 0);
}

TEST(whoever_waits_knows_how_it_is_released)
{
    set_up_held(2);
    CHECK(!cc_lock_acquire_timeout(&lock, 1));
    CHECK_EQ(cc_lock_sequence_area_, NONE);
    if (!set_up_stores(2)) return;
    cc_lock_sequence_area_ = CC_LOCK_UNKNOWN_;
    lock.word = HELD;
    CHECK(!cc_lock_acquire_timeout(&lock, 1));
    CHECK_EQ(cc_lock_sequence_area_, fake.sequence_area);
}

TEST(who_glanced_asks_for_a_count)
{
    for (unsigned i = 1; i < CC_LOCK_GLANCE_PAUSES; i++) {
        if (!set_up_held_by_one_that_stores(2)) return;
        memo_of_(&lock)->glances = GLANCES;
        release_at_pause = i;
        fake.on_pause = release_soon;
        CHECK(glance_(&lock, CC_FOREVER));
        CHECK_EQ(lock.word, HELD | SHARED);
    }
}

TEST(a_long_section_is_marked_as_shared_and_its_end_is_seen)
{
    for (unsigned i = 1; i < 100; i++) {
        if (!set_up_held_by_one_that_stores(2)) return;
        release_at_pause = i;
        fake.on_pause = release_soon;
        cc_lock_acquire(&lock);
        CHECK_EQ(fake.pauses, i);
        CHECK_EQ(lock.word & (SHARED | SURE), SHARED); /* it asked for that */
        CHECK_EQ(fake.barriers, 0);
    }
}

/* The releases are no longer counted, and then counted from the beginning, because somebody else waits; or somebody has
 * put its mark there. */
static uint32_t other_count;
static void counts_anew(void)
{
    if (fake.pauses == 5) lock.word = HELD | SHARED | other_count;
    if (fake.pauses == release_at_pause) release();
}

TEST(a_count_that_starts_anew_is_not_taken_for_so_many_releases)
{
    for (unsigned i = 0; i < 100; i++) {
        if (!set_up_held_by_one_that_stores(2)) return;
        lock.word = HELD | SHARED | 1000 * RELEASES;
        other_count = (i % 2 ? 3u : 1u << 23) * RELEASES;
        release_at_pause = 10 + i;
        fake.on_pause = counts_anew;
        cc_lock_acquire(&lock);
        CHECK_EQ(fake.pauses, release_at_pause); /* it looked after each */
        CHECK_EQ(fake.waits, 0);
    }
}

/* How many releases it takes until one is a store again. */
static unsigned releases_until_forgotten(uint32_t shared)
{
    unsigned i = 0;
    for (lock.word = shared + RELEASES; lock.word != 0 && i < 100000; i++) {
        cc_lock_acquire(&lock);
        cc_lock_release(&lock);
    }
    return i;
}

TEST(a_lock_is_forgotten_to_be_shared_after_64_releases_and_much_later_where_threads_slept)
{
    if (!set_up_stores(2)) return;
    CHECK_EQ(releases_until_forgotten(SHARED), CC_LOCK_FORGET_);
    CHECK_EQ(releases_until_forgotten(SHARED | SURE), CC_LOCK_FORGET_SURE_);
    CHECK_EQ(calls(), 0);
}

TEST(whoever_takes_what_another_may_sleep_on_says_that_it_is_sure)
{
    if (!set_up_stores(2)) return;
    lock.word = PARKED;
    cc_lock_acquire(&lock);
    CHECK_EQ(lock.word, HELD | SHARED | SURE);
}

static bool ready;
static unsigned ready_at_pause;

/* Another thread makes the condition hold while this one spins. */
static void makes_it_ready(void)
{
    if (fake.pauses != ready_at_pause) return;
    cc_lock_acquire(&lock);
    ready = true;
    cc_lock_release(&lock);
}

TEST(who_spins_for_a_condition_sees_a_release_by_another_at_once)
{
    for (ready_at_pause = 1; ready_at_pause < 20; ready_at_pause++) {
        cc_event_t event = CC_EVENT_INIT;
        if (!set_up_stores(2)) return;
        ready = false;
        fake.on_pause = makes_it_ready;
        cc_lock_acquire(&lock);
        CC_LOCK_AWAIT(&lock, &event, ready);
        cc_lock_release(&lock);
        CHECK_EQ(fake.pauses, ready_at_pause);
    }
}

static void word_is_marked(void)
{
    CHECK_EQ(lock.word % RELEASES, HELD | PARKED | SHARED);
}

static void word_is_sure(void)
{
    CHECK(lock.word & SURE);
    release();
}

TEST(whoever_goes_to_sleep_is_sure_first)
{
    for (uint32_t cpus = 1; cpus <= 2; cpus++) {
        if (!set_up_held_by_one_that_stores(cpus)) return;
        fake.on_barrier = word_is_marked;
        fake.asleep = word_is_sure;
        cc_lock_acquire(&lock);
        CHECK_EQ(fake.barriers, 1);
        CHECK_EQ(fake.waits, 1);
        CHECK_EQ(fake.wakes, 1);
        CHECK_EQ(lock.word % RELEASES, HELD | PARKED | SHARED | SURE);
        release();
        fake.on_barrier = NULL; /* from here on nobody pays for a barrier: the word remembers */
        cc_lock_acquire(&lock);
        CHECK(cc_lock_acquire_timeout(&lock, MS));
        CHECK_EQ(fake.barriers, 1);
        CHECK_EQ(fake.waits, 2);
    }
}

static void a_store_wipes_out_the_mark(void)
{
    lock.word = fake.barriers < 2 ? HELD : 0;
}

TEST(a_mark_that_a_store_wiped_out_is_made_again)
{
    if (!set_up_held_by_one_that_stores(1)) return;
    fake.on_barrier = a_store_wipes_out_the_mark;
    cc_lock_acquire(&lock);
    CHECK_EQ(fake.barriers, 3);
    CHECK_EQ(fake.waits, 0);
    CHECK(lock.word & HELD);
}

/* Another thread marked and confirmed it in between, under the same holder or the next. */
static void another_mark_is_there(void)
{
    if (fake.barriers == 0) lock.word += RELEASES;
}

TEST(a_mark_of_another_thread_is_not_taken_for_its_own)
{
    if (!set_up_held_by_one_that_stores(1)) return;
    fake.on_barrier = another_mark_is_there;
    fake.asleep = release;
    cc_lock_acquire(&lock);
    CHECK_EQ(fake.barriers, 2);
    CHECK_EQ(fake.waits, 1);
}

TEST(a_barrier_that_is_taken_away_is_replaced_by_time)
{
    if (!set_up_held_by_one_that_stores(1)) return;
    uint64_t start = fake.now_ns;
    fake.barriers_granted = 0;
    fake.asleep = NULL;
    CHECK(!cc_lock_acquire_timeout(&lock, 100 * MS));
    CHECK_EQ(fake.barriers, 1);
    CHECK(fake.now_ns - start >= LOST_FOR_NS);
    CHECK_EQ(cc_lock_sequence_area_, NONE);
    release();
    CHECK(is_free_(lock.word));
    CHECK(!cc_lock_acquire_timeout(&lock, 1) || lock.word & HELD);
    CHECK_EQ(fake.barriers, 1); /* nobody asks again */
}
#endif

#if !defined(_WIN32)
#include <sys/mman.h>

static void *page;
static void next_holder_frees_it(void)
{
    munmap(page, 4096);
}

TEST(release_does_not_touch_a_lock_that_the_next_holder_freed)
{
    set_up(2);
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(page != MAP_FAILED);
    cc_lock_t *dying = (cc_lock_t *)page;
    dying->word = HELD | PARKED;
    fake.on_wake = next_holder_frees_it;
    cc_lock_release(dying); /* a touch after the wake faults */
    CHECK_EQ(fake.wakes, 1);
}
#endif
