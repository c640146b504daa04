/* statistics.c: from samples to figures: histograms, medians and quartiles, ratios, who wins. See results.h. */
#include "results.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const bench_families[BENCH_FAMILIES] = {
    "cas", "lock", "condition", "park", "channel", "select", "shared"
};

const bench_metric bench_metrics[BENCH_METRICS] = {
    [BENCH_RATE] = { "rate", "M/s", "M/s", true },
    [BENCH_NS] = { "ns", "ns", "ns each", false },
    [BENCH_TICKS] = { "ticks", "ticks", "ticks each", false },
    [BENCH_MEAN] = { "mean", "ns", "mean ns", false },
    [BENCH_P50] = { "p50", "ns", "p50 ns", false },
    [BENCH_P90] = { "p90", "ns", "p90 ns", false },
    [BENCH_P99] = { "p99", "ns", "p99 ns", false },
    [BENCH_P999] = { "p999", "ns", "p999 ns", false },
    [BENCH_WORST] = { "worst", "ns", "worst", false },
    [BENCH_JAIN] = { "jain", "", "Jain", true },
    [BENCH_RETRIES] = { "retries", "", "retries", false },
    [BENCH_CPU] = { "cpu", "ns", "CPU ns", false },
    [BENCH_SPUN] = { "spun", "", "ended spinning", false },
    [BENCH_YIELDED] = { "yielded", "", "ended yielding", false },
    [BENCH_SLEPT] = { "slept", "", "ended asleep", false },
};

void bench_histogram_merge(bench_histogram *into, const bench_histogram *from)
{
    for (size_t i = 0; i < BENCH_HISTOGRAM_BUCKETS; i++) into->buckets[i] += from->buckets[i];
    into->count += from->count;
    into->sum += from->sum;
    if (from->max > into->max) into->max = from->max;
}

double bench_histogram_quantile(const bench_histogram *h, double q)
{
    uint64_t rank = (uint64_t)ceil(q * (double)h->count), seen = 0;
    if (h->count == 0) return 0;
    rank = rank < 1 ? 1 : rank > h->count ? h->count : rank;
    size_t i = 0;
    while ((seen += h->buckets[i]) < rank) i++;
    /* Bucket i holds (first .. first + width - 1), with i = shift * 2^BITS + (value >> shift). */
    size_t shift = i >> BENCH_HISTOGRAM_BITS > 1 ? (i >> BENCH_HISTOGRAM_BITS) - 1 : 0;
    double width = ldexp(1, (int)shift);
    double first = (double)(i - (shift << BENCH_HISTOGRAM_BITS)) * width;
    double middle = first + (width - 1) / 2;
    return middle < (double)h->max ? middle : (double)h->max;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double at_share(const double *sorted, uint32_t n, double share)
{
    double place = share * (n - 1);
    uint32_t low = (uint32_t)place;
    double high = low + 1 < n ? sorted[low + 1] : sorted[low];
    return sorted[low] + (high - sorted[low]) * (place - low);
}

bench_spread bench_spread_of(const double *values, uint32_t n)
{
    bench_spread spread = { 0, 0, 0 };
    double sorted[2 * BENCH_ROUNDS];
    if (n == 0 || n > 2 * BENCH_ROUNDS) return spread;
    memcpy(sorted, values, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_value);
    spread.median = at_share(sorted, n, 0.5);
    spread.q1 = at_share(sorted, n, 0.25);
    spread.q3 = at_share(sorted, n, 0.75);
    return spread;
}

double bench_jain(const uint64_t *values, uint32_t n)
{
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += (double)values[i];
        squares += (double)values[i] * (double)values[i];
    }
    return squares > 0 ? sum * sum / (n * squares) : 0;
}

/* The samples of `a` by those of `b`, round by round. */
static bench_spread ratio_of(const bench_samples *a, const bench_samples *b)
{
    double ratios[BENCH_ROUNDS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < a->count && i < b->count; i++)
        if (b->values[i] > 0) ratios[n++] = a->values[i] / b->values[i];
    return bench_spread_of(ratios, n);
}

void bench_run_conclude(bench_run *run)
{
    const bool higher = bench_metrics[run->primary].higher;
    int32_t best = -1, second = -1;
    run->baseline = run->winner = -1;
    for (uint32_t i = 0; i < run->results; i++) {
        uint32_t flags = run->result[i].flags;
        bool named = run->baseline >= 0 && (run->result[run->baseline].flags & BENCH_BASELINE);
        if (run->result[i].metrics[run->primary].count == 0) continue;
        if (run->baseline < 0 || (!named && (flags & BENCH_BASELINE))) run->baseline = (int32_t)i;
    }
    for (uint32_t i = 0; i < run->results; i++) {
        bench_result *result = &run->result[i];
        for (uint32_t m = 0; m < BENCH_METRICS; m++) {
            bench_samples *samples = &result->metrics[m];
            samples->value = bench_spread_of(samples->values, samples->count);
            samples->has_ratio = run->baseline >= 0 && (int32_t)i != run->baseline && samples->count > 0 &&
                                 run->result[run->baseline].metrics[m].count > 0;
            if (samples->has_ratio) samples->ratio = ratio_of(samples, &run->result[run->baseline].metrics[m]);
        }
        const bench_samples *primary = &result->metrics[run->primary];
        if (primary->count == 0) continue;
        if (best < 0 || (primary->value.median > run->result[best].metrics[run->primary].value.median) == higher)
            best = (int32_t)i;
    }
    /* The best wins if it beats the next best in at least three of four rounds; two forms of concede do not compete. */
    for (uint32_t i = 0; i < run->results; i++) {
        const bench_samples *primary = &run->result[i].metrics[run->primary];
        if (primary->count == 0 || (int32_t)i == best) continue;
        if ((run->result[i].flags & BENCH_OURS) && (run->result[best].flags & BENCH_OURS)) continue;
        if (second < 0 || (primary->value.median > run->result[second].metrics[run->primary].value.median) == higher)
            second = (int32_t)i;
    }
    if (best < 0 || second < 0) return;
    bench_spread lead = ratio_of(&run->result[best].metrics[run->primary], &run->result[second].metrics[run->primary]);
    if (higher ? lead.q1 > 1 : lead.q3 < 1) run->winner = best;
}

/* Whether a result is good enough otherwise for this metric to count. One that lets some threads starve makes the
 * others wait less; one that carries less, too, needs less CPU time. */
static bool is_fair_rival(const bench_result *rival, const bench_result *ours, uint32_t metric)
{
    const bench_samples *rate = &rival->metrics[BENCH_RATE], *our_rate = &ours->metrics[BENCH_RATE];
    const bench_samples *jain = &rival->metrics[BENCH_JAIN], *our_jain = &ours->metrics[BENCH_JAIN];
    if (metric == BENCH_RATE || metric == BENCH_JAIN) return true;
    if (metric == BENCH_CPU && rate->count && our_rate->count && rate->value.median < 0.95 * our_rate->value.median)
        return false;
    return !jain->count || !our_jain->count || jain->value.median > our_jain->value.median - 0.1;
}

bench_verdict bench_judge(const bench_run *run, uint32_t ours, uint32_t metric)
{
    bench_verdict verdict = { -1, { 0, 0, 0 }, 0 };
    const bool higher = bench_metrics[metric].higher;
    const bench_samples *own = &run->result[ours].metrics[metric];
    for (uint32_t i = 0; i < run->results && own->count > 0; i++) {
        const bench_samples *other = &run->result[i].metrics[metric];
        if (other->count == 0 || (run->result[i].flags & BENCH_OURS)) continue;
        if (!is_fair_rival(&run->result[i], &run->result[ours], metric)) continue;
        const bench_samples *best = verdict.best < 0 ? NULL : &run->result[verdict.best].metrics[metric];
        if (!best || (other->value.median > best->value.median) == higher) verdict.best = (int32_t)i;
    }
    if (verdict.best < 0) return verdict;
    const bench_samples *best = &run->result[verdict.best].metrics[metric];
    verdict.times = higher ? ratio_of(own, best) : ratio_of(best, own);
    if (metric == BENCH_JAIN) { /* an index, not a quantity: a share that is even enough is as good as any */
        double wanted = best->value.median - 0.05 < 0.9 ? best->value.median - 0.05 : 0.9;
        verdict.lead = own->value.q3 < wanted ? -1 : 0;
        return verdict;
    }
    /* Worse by a twentieth is tolerated, and a quarter of CPU time: it buys what the other metrics show. */
    double tolerated = metric == BENCH_CPU ? 1 / 1.25 : 0.95;
    if (verdict.times.median < tolerated && verdict.times.q3 < 1) verdict.lead = -1;
    if (verdict.times.median > 1.05 && verdict.times.q1 > 1) verdict.lead = 1;
    return verdict;
}
