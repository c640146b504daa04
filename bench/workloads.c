/* workloads.c: what is measured: the table of the workloads, and the plans that follow from it. See engine.h. */
#include "engine.h"
#include <string.h>

static const workload workloads[] = {
    { .name = "cas.fetch_mul",
      .title = "v *= 3 on one shared word by compare-and-swap",
      .family = BENCH_CAS,
      .loop = BENCH_CAS_RATE,
      .primary = BENCH_RATE,
      .metrics = BIT(BENCH_RATE) | BIT(BENCH_RETRIES) | BIT(BENCH_JAIN) | BIT(BENCH_CPU),
      .by[BENCH_BY_THREADS] = VALUES(1, 2, 4, 8, 32),
      .open = BIT(BENCH_BY_THREADS),
      .quick[BENCH_BY_THREADS] = VALUES(1, 2, 8) },
    { .name = "cas.step",
      .title = "one cc_backoff_spin() at each step",
      .family = BENCH_CAS,
      .loop = BENCH_CAS_STEP,
      .primary = BENCH_NS,
      .metrics = BIT(BENCH_NS) | BIT(BENCH_TICKS),
      .by[BENCH_BY_THREADS] = VALUES(1) },
    { .name = "cas.snooze",
      .title = "one cc_backoff_snooze() at each step, with nobody else to run",
      .family = BENCH_CAS,
      .loop = BENCH_CAS_SNOOZE,
      .primary = BENCH_NS,
      .metrics = BIT(BENCH_NS) | BIT(BENCH_TICKS),
      .by[BENCH_BY_THREADS] = VALUES(1) },
    { .name = "cas.yield",
      .title = "one yield, alone and with a neighbour on the same CPU",
      .family = BENCH_CAS,
      .loop = BENCH_CAS_YIELD,
      .primary = BENCH_P50,
      .metrics = BIT(BENCH_P50) | BIT(BENCH_P99) | BIT(BENCH_WORST),
      .how = ONE_CPU,
      .by[BENCH_BY_THREADS] = VALUES(2) },

    { .name = "lock.tight",
      .title = "acquire, increment, release; nothing outside",
      .family = BENCH_LOCK,
      .loop = BENCH_LOCK_RATE,
      .primary = BENCH_RATE,
      .metrics = BIT(BENCH_RATE) | BIT(BENCH_JAIN) | BIT(BENCH_CPU),
      .by[BENCH_BY_THREADS] = VALUES(1, 2, 4, 8, 32),
      .open = BIT(BENCH_BY_THREADS),
      .quick[BENCH_BY_THREADS] = VALUES(1, 2, 8) },
    { .name = "lock.apart",
      .title = "acquire, increment, release; 100 ns outside",
      .family = BENCH_LOCK,
      .loop = BENCH_LOCK_RATE,
      .primary = BENCH_RATE,
      .metrics = BIT(BENCH_RATE) | BIT(BENCH_JAIN) | BIT(BENCH_CPU),
      .by[BENCH_BY_THREADS] = VALUES(1, 2, 4, 8, 32),
      .open = BIT(BENCH_BY_THREADS),
      .quick[BENCH_BY_THREADS] = VALUES(2),
      .by[BENCH_BY_OUTSIDE] = VALUES(100) },
    { .name = "lock.wait",
      .title = "how long an acquire takes; 100 ns outside",
      .family = BENCH_LOCK,
      .loop = BENCH_LOCK_LATENCY,
      .primary = BENCH_P99,
      .metrics =
          BIT(BENCH_P50) | BIT(BENCH_P99) | BIT(BENCH_P999) | BIT(BENCH_WORST) | BIT(BENCH_JAIN) | BIT(BENCH_CPU),
      .by[BENCH_BY_THREADS] = VALUES(2, 32),
      .open = BIT(BENCH_BY_THREADS),
      .quick[BENCH_BY_THREADS] = VALUES(2),
      .by[BENCH_BY_OUTSIDE] = VALUES(100) },
    { .name = "lock.fair",
      .title = "the longest wait and everyone's share; nothing outside",
      .family = BENCH_LOCK,
      .loop = BENCH_LOCK_LATENCY,
      .primary = BENCH_WORST,
      .metrics = BIT(BENCH_RATE) | BIT(BENCH_WORST) | BIT(BENCH_JAIN) | BIT(BENCH_CPU),
      .by[BENCH_BY_THREADS] = VALUES(32),
      .open = BIT(BENCH_BY_THREADS) | BIT(BENCH_BY_HELD),
      .how = ONLY_IN_FULL,
      .slice = 10,
      .rounds = 3,
      .only = "concede,pthread_mutex,parking_lot" },
    { .name = "lock.handoff",
      .title = "from a release to the acquire of a waiting thread; outside as long as inside",
      .family = BENCH_LOCK,
      .loop = BENCH_LOCK_HANDOFF,
      .primary = BENCH_P50,
      .metrics = BIT(BENCH_RATE) | BIT(BENCH_P50) | BIT(BENCH_P99) | BIT(BENCH_P999) | BIT(BENCH_CPU),
      .how = RANDOM_GAPS | OUTSIDE_AS_HELD,
      .by[BENCH_BY_THREADS] = VALUES(2),
      .by[BENCH_BY_HELD] = VALUES(500, 1000, 3000, 10000, 20000),
      .quick[BENCH_BY_HELD] = VALUES(1000, 10000),
      .open = BIT(BENCH_BY_THREADS) | BIT(BENCH_BY_HELD) | BIT(BENCH_BY_OUTSIDE),
      .rounds = 5 },
    { .name = "lock.map",
      .title = "a lock held for a time and left alone for a random time: rate, waits, CPU time",
      .family = BENCH_LOCK,
      .loop = BENCH_LOCK_LATENCY,
      .primary = BENCH_RATE,
      .metrics = BIT(BENCH_RATE) | BIT(BENCH_P50) | BIT(BENCH_P99) | BIT(BENCH_P999) | BIT(BENCH_JAIN) | BIT(BENCH_CPU),
      .how = MAP | ONLY_IN_FULL | RANDOM_GAPS,
      .with = BENCH_CAN_SLEEP,
      .by[BENCH_BY_THREADS] = VALUES(2, 4, 16, 64),
      .by[BENCH_BY_HELD] = VALUES(0, 50, 200, 1000, 5000, 20000, 100000),
      .by[BENCH_BY_OUTSIDE] = VALUES(0, 100, 1000, 10000, 100000),
      .quick[BENCH_BY_THREADS] = VALUES(2, 16),
      .quick[BENCH_BY_HELD] = VALUES(50, 1000, 20000),
      .quick[BENCH_BY_OUTSIDE] = VALUES(100, 10000),
      .open = BIT(BENCH_BY_THREADS) | BIT(BENCH_BY_HELD) | BIT(BENCH_BY_OUTSIDE),
      .rounds = 5,
      .only_quick = "concede,pthread_mutex,parking_lot,tbb::mutex,Rust std" },

    { .name = "condition.pingpong",
      .title = "change what the other thread waits for under a lock, and wait for its answer, one way",
      .family = BENCH_CONDITION,
      .loop = BENCH_CONDITION_ROUNDS,
      .primary = BENCH_P50,
      .metrics = BIT(BENCH_P50) | BIT(BENCH_P99) | BIT(BENCH_P999) | BIT(BENCH_CPU),
      .how = HALVE,
      .by[BENCH_BY_THREADS] = VALUES(2) },
    { .name = "condition.many",
      .title = "wake all who wait for a condition, and wait until all have answered",
      .family = BENCH_CONDITION,
      .loop = BENCH_CONDITION_ROUNDS,
      .primary = BENCH_P50,
      .metrics = BIT(BENCH_P50) | BIT(BENCH_P99) | BIT(BENCH_P999) | BIT(BENCH_CPU),
      .by[BENCH_BY_THREADS] = VALUES(3, 5, 17),
      .open = BIT(BENCH_BY_THREADS),
      .quick[BENCH_BY_THREADS] = VALUES(5) },
    { .name = "condition.buffer",
      .title = "messages through a buffer under a lock: not empty, not full",
      .family = BENCH_CONDITION,
      .loop = BENCH_CONDITION_BUFFER,
      .primary = BENCH_RATE,
      .metrics = BIT(BENCH_RATE) | BIT(BENCH_JAIN) | BIT(BENCH_CPU),
      .how = PAIRS,
      .by[BENCH_BY_SHAPE] =
          VALUES(BENCH_SHAPE(1, 1), BENCH_SHAPE(2, 2), BENCH_SHAPE(4, 4), BENCH_SHAPE(8, 8), BENCH_SHAPE(16, 16)),
      .by[BENCH_BY_WORK] = VALUES(0, 1000),
      .open = BIT(BENCH_BY_SHAPE) | BIT(BENCH_BY_WORK),
      .quick[BENCH_BY_SHAPE] = VALUES(BENCH_SHAPE(1, 1), BENCH_SHAPE(4, 4)),
      .quick[BENCH_BY_WORK] = VALUES(0) },

    { .name = "park.pingpong",
      .title = "wake the other thread and sleep, one way",
      .family = BENCH_PARK,
      .loop = BENCH_PARK_PINGPONG,
      .primary = BENCH_P50,
      .metrics = BIT(BENCH_P50) | BIT(BENCH_P99) | BIT(BENCH_P999) | BIT(BENCH_CPU),
      .how = HALVE,
      .without = BENCH_SPINS,
      .by[BENCH_BY_THREADS] = VALUES(2) },
    { .name = "park.post",
      .title = "post with nobody waiting",
      .family = BENCH_PARK,
      .loop = BENCH_PARK_POST,
      .primary = BENCH_NS,
      .metrics = BIT(BENCH_NS),
      .by[BENCH_BY_THREADS] = VALUES(1) },
    { .name = "park.short",
      .title = "wait for an answer that takes 500 ns of work; round trip beyond the work",
      .family = BENCH_PARK,
      .loop = BENCH_PARK_PINGPONG,
      .primary = BENCH_P50,
      .metrics = BIT(BENCH_P50) | BIT(BENCH_P99) | BIT(BENCH_P999) | BIT(BENCH_CPU),
      .how = BEYOND_WORK,
      .by[BENCH_BY_THREADS] = VALUES(2),
      .by[BENCH_BY_WORK] = VALUES(500) },
    { .name = "park.long",
      .title = "wait for a post at intervals: lateness, CPU time of the waiter",
      .family = BENCH_PARK,
      .loop = BENCH_PARK_PACED,
      .primary = BENCH_CPU,
      .how = RECEIVER_ONLY,
      .metrics = BIT(BENCH_P50) | BIT(BENCH_P99) | BIT(BENCH_CPU),
      .by[BENCH_BY_THREADS] = VALUES(2),
      .by[BENCH_BY_INTERVAL] = VALUES(100000, 1000000) },
    { .name = "park.late",
      .title = "wait for a post at intervals from a thread that sleeps in between: lateness, CPU time of the waiter",
      .family = BENCH_PARK,
      .loop = BENCH_PARK_PACED,
      .primary = BENCH_MEAN,
      .how = RECEIVER_ONLY | SLEEPS_BETWEEN,
      .metrics = BIT(BENCH_MEAN) | BIT(BENCH_P50) | BIT(BENCH_P90) | BIT(BENCH_P99) | BIT(BENCH_CPU),
      .with = BENCH_CAN_SLEEP,
      .by[BENCH_BY_THREADS] = VALUES(2),
      .by[BENCH_BY_INTERVAL] = VALUES(20000, 200000, 2000000),
      .quick[BENCH_BY_INTERVAL] = VALUES(200000),
      .open = BIT(BENCH_BY_INTERVAL),
      .slice = 0.2 },
    { .name = "park.timeout",
      .title = "a wait with a deadline that nobody ends: how late it returns",
      .family = BENCH_PARK,
      .loop = BENCH_PARK_TIMEOUT,
      .primary = BENCH_MEAN,
      .metrics = BIT(BENCH_MEAN) | BIT(BENCH_P50) | BIT(BENCH_P90) | BIT(BENCH_P99) | BIT(BENCH_CPU),
      .by[BENCH_BY_THREADS] = VALUES(1),
      .by[BENCH_BY_INTERVAL] = VALUES(200000),
      .open = BIT(BENCH_BY_INTERVAL) },

    { .name = "channel.pingpong",
      .title = "a message to the other CPU and its answer, one way",
      .family = BENCH_CHANNEL,
      .loop = BENCH_CHANNEL_PINGPONG,
      .primary = BENCH_P50,
      .how = HALVE,
      .metrics = BIT(BENCH_P50) | BIT(BENCH_P99) | BIT(BENCH_P999) | BIT(BENCH_CPU),
      .by[BENCH_BY_THREADS] = VALUES(2) },
    { .name = "channel.stream",
      .title = "one sender, one receiver, as fast as it goes",
      .family = BENCH_CHANNEL,
      .loop = BENCH_CHANNEL_STREAM,
      .primary = BENCH_RATE,
      .metrics = BIT(BENCH_RATE) | BIT(BENCH_CPU),
      .by[BENCH_BY_THREADS] = VALUES(2) },
    { .name = "channel.burst",
      .title = "one sender, one receiver, 32 messages a call",
      .family = BENCH_CHANNEL,
      .loop = BENCH_CHANNEL_BURST,
      .primary = BENCH_RATE,
      .metrics = BIT(BENCH_RATE) | BIT(BENCH_CPU),
      .by[BENCH_BY_THREADS] = VALUES(2),
      .by[BENCH_BY_BURST] = VALUES(32) },
    { .name = "channel.paced",
      .title = "a message at intervals: lateness, CPU time of the receiver",
      .family = BENCH_CHANNEL,
      .loop = BENCH_CHANNEL_PACED,
      .primary = BENCH_P50,
      .how = RECEIVER_ONLY,
      .metrics = BIT(BENCH_P50) | BIT(BENCH_P99) | BIT(BENCH_P999) | BIT(BENCH_CPU),
      .by[BENCH_BY_THREADS] = VALUES(2),
      .by[BENCH_BY_INTERVAL] = VALUES(3000, 10000, 100000) },
    { .name = "channel.snooze",
      .title = "a message at intervals, by how long the channel snoozes: lateness, CPU time of the receiver",
      .family = BENCH_CHANNEL,
      .loop = BENCH_CHANNEL_PACED,
      .primary = BENCH_P50,
      .how = RECEIVER_ONLY | FIXED_TOO,
      .metrics = BIT(BENCH_P50) | BIT(BENCH_P99) | BIT(BENCH_P999) | BIT(BENCH_CPU),
      .by[BENCH_BY_THREADS] = VALUES(2),
      .by[BENCH_BY_INTERVAL] = VALUES(1000, 10000, 100000),
      .quick[BENCH_BY_INTERVAL] = VALUES(10000),
      .open = BIT(BENCH_BY_INTERVAL),
      .only = "concede spsc" },
    { .name = "channel.late",
      .title = "a message at intervals from a sender that sleeps in between: lateness, CPU time of the receiver",
      .family = BENCH_CHANNEL,
      .loop = BENCH_CHANNEL_PACED,
      .primary = BENCH_MEAN,
      .how = RECEIVER_ONLY | SLEEPS_BETWEEN,
      .metrics = BIT(BENCH_MEAN) | BIT(BENCH_P50) | BIT(BENCH_P90) | BIT(BENCH_P99) | BIT(BENCH_CPU),
      .with = BENCH_CAN_SLEEP,
      .by[BENCH_BY_THREADS] = VALUES(2),
      .by[BENCH_BY_INTERVAL] = VALUES(20000, 200000, 2000000),
      .quick[BENCH_BY_INTERVAL] = VALUES(200000),
      .open = BIT(BENCH_BY_INTERVAL),
      .slice = 0.2,
      .only_quick = "concede,crossbeam,mutex+condvar" },
    { .name = "channel.many",
      .title = "several senders and receivers, as fast as it goes",
      .family = BENCH_CHANNEL,
      .loop = BENCH_CHANNEL_STREAM,
      .primary = BENCH_RATE,
      .metrics = BIT(BENCH_RATE) | BIT(BENCH_JAIN) | BIT(BENCH_CPU),
      .without = BENCH_ONE_TO_ONE,
      .by[BENCH_BY_THREADS] = VALUES(4, 8, 32),
      .open = BIT(BENCH_BY_THREADS),
      .quick[BENCH_BY_THREADS] = VALUES(4),
      .how = PAIRS },
    { .name = "channel.map",
      .title = "messages offered at random intervals: what arrives, how late, CPU time",
      .family = BENCH_CHANNEL,
      .loop = BENCH_CHANNEL_OFFERED,
      .primary = BENCH_RATE,
      .metrics = BIT(BENCH_RATE) | BIT(BENCH_P50) | BIT(BENCH_P99) | BIT(BENCH_P999) | BIT(BENCH_JAIN) | BIT(BENCH_CPU),
      .how = MAP | ONLY_IN_FULL | RANDOM_GAPS | SENDERS_SHARE,
      .with = BENCH_CAN_SLEEP,
      .by[BENCH_BY_SHAPE] = VALUES(BENCH_SHAPE(1, 1), BENCH_SHAPE(1, 4), BENCH_SHAPE(4, 1), BENCH_SHAPE(4, 4),
                                   BENCH_SHAPE(1, 16), BENCH_SHAPE(16, 16)),
      .by[BENCH_BY_INTERVAL] = VALUES(333000, 33000, 3000, 300, 0),
      .by[BENCH_BY_BURST] = VALUES(1, 16),
      .by[BENCH_BY_WORK] = VALUES(0, 1000),
      .quick[BENCH_BY_SHAPE] = VALUES(BENCH_SHAPE(1, 1), BENCH_SHAPE(1, 4), BENCH_SHAPE(4, 4)),
      .quick[BENCH_BY_INTERVAL] = VALUES(333000, 3000, 0),
      .quick[BENCH_BY_BURST] = VALUES(1),
      .quick[BENCH_BY_WORK] = VALUES(0),
      .open = BIT(BENCH_BY_SHAPE) | BIT(BENCH_BY_INTERVAL) | BIT(BENCH_BY_BURST) | BIT(BENCH_BY_WORK),
      .slice = 0.2,
      .rounds = 5,
      .only = "concede,crossbeam,mutex+condvar" },

    { .name = "select.ready",
      .title = "receive from one of several channels that all have messages",
      .family = BENCH_SELECT,
      .loop = BENCH_SELECT_READY,
      .primary = BENCH_P50,
      .metrics = BIT(BENCH_P50) | BIT(BENCH_P99),
      .by[BENCH_BY_THREADS] = VALUES(1),
      .by[BENCH_BY_CHANNELS] = VALUES(2, 8, 64),
      .open = BIT(BENCH_BY_CHANNELS),
      .quick[BENCH_BY_CHANNELS] = VALUES(2, 8) },
    { .name = "select.asleep",
      .title = "a message at intervals to one of several channels: lateness, CPU time of the receiver",
      .family = BENCH_SELECT,
      .loop = BENCH_SELECT_ASLEEP,
      .primary = BENCH_P50,
      .metrics = BIT(BENCH_P50) | BIT(BENCH_P99) | BIT(BENCH_P999) | BIT(BENCH_CPU),
      .how = RECEIVER_ONLY,
      .with = BENCH_CAN_SLEEP,
      .by[BENCH_BY_THREADS] = VALUES(2),
      .by[BENCH_BY_INTERVAL] = VALUES(100000),
      .by[BENCH_BY_CHANNELS] = VALUES(2, 8, 64),
      .open = BIT(BENCH_BY_CHANNELS) | BIT(BENCH_BY_INTERVAL),
      .quick[BENCH_BY_CHANNELS] = VALUES(8) },
    { .name = "select.stream",
      .title = "one sender to several channels in turn, one receiver, as fast as it goes",
      .family = BENCH_SELECT,
      .loop = BENCH_SELECT_STREAM,
      .primary = BENCH_RATE,
      .metrics = BIT(BENCH_RATE) | BIT(BENCH_CPU),
      .with = BENCH_CAN_SLEEP,
      .by[BENCH_BY_THREADS] = VALUES(2),
      .by[BENCH_BY_CHANNELS] = VALUES(2, 8, 64),
      .open = BIT(BENCH_BY_CHANNELS),
      .quick[BENCH_BY_CHANNELS] = VALUES(8) },

    { .name = "shared.pingpong",
      .title = "a message to another process on the other CPU and its answer, one way",
      .family = BENCH_SHARED,
      .loop = BENCH_SHARED_PINGPONG,
      .primary = BENCH_P50,
      .how = HALVE,
      .metrics = BIT(BENCH_P50) | BIT(BENCH_P99) | BIT(BENCH_P999),
      .by[BENCH_BY_THREADS] = VALUES(2) },
    { .name = "shared.stream",
      .title = "one process sends, another receives, as fast as it goes",
      .family = BENCH_SHARED,
      .loop = BENCH_SHARED_STREAM,
      .primary = BENCH_RATE,
      .metrics = BIT(BENCH_RATE),
      .by[BENCH_BY_THREADS] = VALUES(2) },
};

bool bench_named(const char *names, const char *text, bool in_full)
{
    while (names && *names) {
        size_t length = strcspn(names, ",");
        if (length > 0 && strncmp(names, text, length) == 0 && (!in_full || text[length] == 0)) return true;
        names += length + (names[length] == ',');
    }
    return false;
}

const char *bench_workload_name(uint32_t i)
{
    return i < sizeof workloads / sizeof *workloads ? workloads[i].name : NULL;
}

bool bench_is_map(const char *name)
{
    for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++)
        if (strcmp(workloads[i].name, name) == 0) return (workloads[i].how & MAP) != 0;
    return false;
}

static void plan_subjects(plan *p, const bench_options *options)
{
    const workload *w = p->workload;
    const char *own = options->quick && w->only_quick ? w->only_quick : w->only;
    const char *only = options->only ? options->only : own;
    for (const bench_peer *const *peer = bench_peers; *peer; peer++) {
        for (const bench_subject *const *at = (*peer)->subjects; at && *at; at++) {
            const bench_subject *s = *at;
            bool one_to_one = p->setting.senders == 1 && p->setting.threads == 2;
            if (s->family != w->family || !s->loops[w->loop]) continue;
            if ((s->flags & w->with) != w->with || (s->flags & w->without)) continue;
            if ((s->flags & BENCH_FIXED) && !(w->how & FIXED_TOO) && !bench_named(options->only, s->name, true))
                continue;
            if (w->loop == BENCH_CHANNEL_OFFERED && (s->flags & BENCH_ONE_TO_ONE) && !one_to_one) continue;
            if (only && !bench_named(only, s->name, false) && !bench_named(only, (*peer)->name, false)) continue;
            if ((s->flags & BENCH_NO_OVERLOAD) && p->setting.threads > 2 * cc_costs()->cpus) continue;
            void *object = s->create(&p->setting);
            if (!object || p->subjects == sizeof p->entry / sizeof *p->entry) continue;
            s->destroy(object);
            p->entry[p->subjects].peer = *peer;
            p->entry[p->subjects++].subject = s;
        }
    }
    if (options->self_test && p->subjects > 0) { /* the same one twice */
        p->entry[1] = p->entry[0];
        p->subjects = 2;
    }
}

/* The values that a setting takes in one dimension; one of 0 where the workload has no such thing. */
static const bench_values *values_of(const workload *w, uint32_t dimension, const bench_options *options)
{
    static const bench_values none = VALUES(0);
    if ((w->open & BIT(dimension)) && options->values[dimension].count) return &options->values[dimension];
    if (options->quick && w->quick[dimension].count) return &w->quick[dimension];
    return w->by[dimension].count ? &w->by[dimension] : &none;
}

static bench_setting setting_of(const workload *w, const uint32_t *value, const bench_options *options)
{
    bench_setting s = {
        .threads = value[BENCH_BY_THREADS],
        .held_ns = value[BENCH_BY_HELD],
        .outside_ns = value[BENCH_BY_OUTSIDE],
        .interval_ns = value[BENCH_BY_INTERVAL],
        .burst = value[BENCH_BY_BURST],
        .work_ns = value[BENCH_BY_WORK],
        .channels = value[BENCH_BY_CHANNELS],
    };
    uint32_t shape = value[BENCH_BY_SHAPE];
    if (shape) {
        s.threads = BENCH_SHAPE_SENDERS(shape) + BENCH_SHAPE_RECEIVERS(shape);
        s.senders = BENCH_SHAPE_SENDERS(shape);
    } else if (w->family == BENCH_CHANNEL || w->family == BENCH_SHARED || w->how & RECEIVER_ONLY ||
               (s.channels && s.threads == 2)) {
        s.senders = w->how & PAIRS ? s.threads / 2 : 1;
    }
    if ((w->how & OUTSIDE_AS_HELD) && s.outside_ns == 0) s.outside_ns = s.held_ns;
    if (w->family == BENCH_CONDITION) /* a small buffer, so that both sides wait */
        s.capacity = options->capacity ? options->capacity : 16;
    if (w->family >= BENCH_CHANNEL) {
        s.capacity = options->capacity ? options->capacity : 1024;
        s.message_size = options->message_size ? options->message_size : 8;
    }
    return s;
}

/* Adds the settings of a workload: all combinations of its values, those of the last dimension in turn first. */
static uint32_t plan_workload(const workload *w, plan *plans, uint32_t room, const bench_options *options)
{
    uint32_t count = 0, combinations = 1;
    for (uint32_t d = 0; d < BENCH_DIMENSIONS; d++) combinations *= values_of(w, d, options)->count;
    for (uint32_t i = 0; i < combinations && count < room; i++) {
        uint32_t value[BENCH_DIMENSIONS], left = i;
        for (uint32_t d = BENCH_DIMENSIONS; d-- > 0;) {
            const bench_values *values = values_of(w, d, options);
            value[d] = values->at[left % values->count];
            left /= values->count;
        }
        plan *p = &plans[count];
        memset(p, 0, sizeof *p);
        p->workload = w;
        p->setting = setting_of(w, value, options);
        if ((w->how & PAIRS) && p->setting.threads < 2) continue;
        plan_subjects(p, options);
        count += p->subjects > 0;
    }
    return count;
}

uint32_t plan_all(plan *plans, uint32_t room, const bench_options *options)
{
    uint32_t count = 0;
    for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++) {
        bool in_full = (workloads[i].how & ONLY_IN_FULL) != 0;
        if (!options->workloads ? in_full : !bench_named(options->workloads, workloads[i].name, in_full)) continue;
        count += plan_workload(&workloads[i], plans + count, room - count, options);
    }
    return count;
}
