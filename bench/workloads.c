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
      .threads = { 1, 2, 4, 8, 32 },
      .quick = { 1, 2, 8 } },
    { .name = "cas.step",
      .title = "one cc_backoff_spin() at each step",
      .family = BENCH_CAS,
      .loop = BENCH_CAS_STEP,
      .primary = BENCH_NS,
      .metrics = BIT(BENCH_NS) | BIT(BENCH_TICKS),
      .threads = { 1 } },
    { .name = "cas.yield",
      .title = "one yield, alone and with a neighbour on the same CPU",
      .family = BENCH_CAS,
      .loop = BENCH_CAS_YIELD,
      .primary = BENCH_P50,
      .metrics = BIT(BENCH_P50) | BIT(BENCH_P99) | BIT(BENCH_WORST),
      .how = ONE_CPU,
      .threads = { 2 } },

    { .name = "lock.tight",
      .title = "acquire, increment, release; nothing outside",
      .family = BENCH_LOCK,
      .loop = BENCH_LOCK_RATE,
      .primary = BENCH_RATE,
      .metrics = BIT(BENCH_RATE) | BIT(BENCH_JAIN) | BIT(BENCH_CPU),
      .threads = { 1, 2, 4, 8, 32 },
      .quick = { 1, 2, 8 } },
    { .name = "lock.apart",
      .title = "acquire, increment, release; 100 ns outside",
      .family = BENCH_LOCK,
      .loop = BENCH_LOCK_RATE,
      .primary = BENCH_RATE,
      .metrics = BIT(BENCH_RATE) | BIT(BENCH_JAIN) | BIT(BENCH_CPU),
      .threads = { 1, 2, 4, 8, 32 },
      .quick = { 2 },
      .outside_ns = 100 },
    { .name = "lock.wait",
      .title = "how long an acquire takes; 100 ns outside",
      .family = BENCH_LOCK,
      .loop = BENCH_LOCK_LATENCY,
      .primary = BENCH_P99,
      .metrics =
          BIT(BENCH_P50) | BIT(BENCH_P99) | BIT(BENCH_P999) | BIT(BENCH_WORST) | BIT(BENCH_JAIN) | BIT(BENCH_CPU),
      .threads = { 2, 32 },
      .quick = { 2 },
      .outside_ns = 100 },
    { .name = "lock.fair",
      .title = "the longest wait and everyone's share; nothing outside",
      .family = BENCH_LOCK,
      .loop = BENCH_LOCK_LATENCY,
      .primary = BENCH_WORST,
      .metrics = BIT(BENCH_RATE) | BIT(BENCH_WORST) | BIT(BENCH_JAIN) | BIT(BENCH_CPU),
      .threads = { 32 },
      .slice = 10,
      .rounds = 3,
      .only = "concede,pthread_mutex,parking_lot" },

    { .name = "park.pingpong",
      .title = "wake the other thread and sleep, one way",
      .family = BENCH_PARK,
      .loop = BENCH_PARK_PINGPONG,
      .primary = BENCH_P50,
      .metrics = BIT(BENCH_P50) | BIT(BENCH_P99) | BIT(BENCH_P999) | BIT(BENCH_CPU),
      .how = HALVE,
      .without = BENCH_SPINS,
      .threads = { 2 } },
    { .name = "park.post",
      .title = "post with nobody waiting",
      .family = BENCH_PARK,
      .loop = BENCH_PARK_POST,
      .primary = BENCH_NS,
      .metrics = BIT(BENCH_NS),
      .threads = { 1 } },
    { .name = "park.short",
      .title = "wait for an answer that takes 500 ns of work; round trip beyond the work",
      .family = BENCH_PARK,
      .loop = BENCH_PARK_PINGPONG,
      .primary = BENCH_P50,
      .metrics = BIT(BENCH_P50) | BIT(BENCH_P99) | BIT(BENCH_P999) | BIT(BENCH_CPU),
      .threads = { 2 },
      .work_ns = 500 },
    { .name = "park.long",
      .title = "wait for a post at intervals: lateness, CPU time of the waiter",
      .family = BENCH_PARK,
      .loop = BENCH_PARK_PACED,
      .primary = BENCH_CPU,
      .how = RECEIVER_ONLY,
      .metrics = BIT(BENCH_P50) | BIT(BENCH_P99) | BIT(BENCH_CPU),
      .threads = { 2 },
      .intervals = { 100, 1000 } },

    { .name = "channel.pingpong",
      .title = "a message to the other CPU and its answer, one way",
      .family = BENCH_CHANNEL,
      .loop = BENCH_CHANNEL_PINGPONG,
      .primary = BENCH_P50,
      .how = HALVE,
      .metrics = BIT(BENCH_P50) | BIT(BENCH_P99) | BIT(BENCH_P999) | BIT(BENCH_CPU),
      .threads = { 2 } },
    { .name = "channel.stream",
      .title = "one sender, one receiver, as fast as it goes",
      .family = BENCH_CHANNEL,
      .loop = BENCH_CHANNEL_STREAM,
      .primary = BENCH_RATE,
      .metrics = BIT(BENCH_RATE) | BIT(BENCH_CPU),
      .threads = { 2 } },
    { .name = "channel.burst",
      .title = "one sender, one receiver, 32 messages a call",
      .family = BENCH_CHANNEL,
      .loop = BENCH_CHANNEL_BURST,
      .primary = BENCH_RATE,
      .metrics = BIT(BENCH_RATE) | BIT(BENCH_CPU),
      .threads = { 2 },
      .burst = 32 },
    { .name = "channel.paced",
      .title = "a message at intervals: lateness, CPU time of the receiver",
      .family = BENCH_CHANNEL,
      .loop = BENCH_CHANNEL_PACED,
      .primary = BENCH_P50,
      .how = RECEIVER_ONLY,
      .metrics = BIT(BENCH_P50) | BIT(BENCH_P99) | BIT(BENCH_P999) | BIT(BENCH_CPU),
      .threads = { 2 },
      .intervals = { 3, 10, 100 } },
    { .name = "channel.many",
      .title = "several senders and receivers, as fast as it goes",
      .family = BENCH_CHANNEL,
      .loop = BENCH_CHANNEL_STREAM,
      .primary = BENCH_RATE,
      .metrics = BIT(BENCH_RATE) | BIT(BENCH_JAIN) | BIT(BENCH_CPU),
      .without = BENCH_ONE_TO_ONE,
      .threads = { 4, 8, 32 },
      .quick = { 4 },
      .pairs = true },
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

static void plan_subjects(plan *p, const bench_options *options)
{
    const workload *w = p->workload;
    const char *only = options->only ? options->only : w->only;
    for (const bench_peer *const *peer = bench_peers; *peer; peer++) {
        for (const bench_subject *const *at = (*peer)->subjects; at && *at; at++) {
            const bench_subject *s = *at;
            if (s->family != w->family || !s->loops[w->loop] || (s->flags & w->without)) continue;
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

uint32_t plan_all(plan *plans, uint32_t room, const bench_options *options)
{
    uint32_t count = 0;
    for (size_t k = 0; k < sizeof workloads / sizeof *workloads; k++) {
        const workload *w = &workloads[k];
        bool scales = w->threads[1] != 0 || w->slice > 0;
        if ((options->workloads || w->slice > 0) && !bench_named(options->workloads, w->name, w->slice > 0)) continue;
        const uint32_t *threads = options->quick && w->quick[0] ? w->quick : w->threads;
        uint32_t thread_counts = 0;
        while (thread_counts < (options->quick && w->quick[0] ? 4u : 6u) && threads[thread_counts]) thread_counts++;
        if (scales && options->thread_counts) threads = options->threads, thread_counts = options->thread_counts;
        for (uint32_t i = 0; i < thread_counts; i++) {
            for (uint32_t k2 = 0; k2 == 0 || (k2 < 4 && w->intervals[k2]); k2++) {
                if (count == room || (w->pairs && threads[i] < 2)) continue;
                plan *p = &plans[count];
                memset(p, 0, sizeof *p);
                p->workload = w;
                p->setting.threads = threads[i];
                if (w->family == BENCH_CHANNEL || w->how & RECEIVER_ONLY)
                    p->setting.senders = w->pairs ? threads[i] / 2 : 1;
                if (w->family == BENCH_CHANNEL) {
                    p->setting.capacity = options->capacity ? options->capacity : 1024;
                    p->setting.message_size = options->message_size ? options->message_size : 8;
                }
                p->setting.outside_ns = w->outside_ns;
                p->setting.work_ns = w->work_ns;
                p->setting.burst = w->burst;
                p->setting.interval_us = w->intervals[k2];
                plan_subjects(p, options);
                count += p->subjects > 0;
            }
        }
    }
    return count;
}
