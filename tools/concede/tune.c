/* tune.c: `concede tune`: how long to spin before sleeping, from what both cost here and how long the waits are.
 *
 * The model. A wait of length w that spins for at most T:
 *
 *   w <= T   the waiter's CPU: w                     late by: a cache line, and half a pause or half a yield
 *   w >  T   the waiter's CPU: T + one sleep's,      late by: the wake-up's way
 *            and the waker's time in the call
 *
 * T follows from the number of snoozes: 1, 2, 4 ... 64 pauses, then yields (backoff.h). A choice costs its lateness and
 * its CPU time, weighed against each other by --prefer.
 *
 * A model can be wrong, and what the adaptive default does depends on the order of the waits: the model's choice, the
 * default and sleeping at once are also tried, with a channel whose receiver has to wait so long, and the one that
 * costs least is recommended. What belongs to this machine (its costs, its CPUs) does not go into the C snippet, which
 * may run on another one: the costs go into an environment variable, and the library asks for the CPUs itself. */
#include "machine.h"
#include "tool.h"

#include <concede/concede.h>

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { WAIT, WAITS_FILE, PREFER };
static const tool_option_t options[] = {
    { 'w', "wait", "WAIT", "how long the waits are: see below" },
    { 'f', "file", "FILE",
      "read wait times from a file, one a line (- for standard input), or as concede try --json wrote them" },
    { 'p', "prefer", "WHAT",
      "latency, balance (the default) or cpu: what a nanosecond of CPU time is worth in lateness: "
      "0.1, 1 or 10" },
    { 0, "json", "[FILE]", "write JSON to the file as well, or print it in place of the text" },
    { 0, NULL, NULL, NULL },
};

/* ---- the wait profile: points that stand for a share of the waits each, sorted by length ---- */

typedef struct point {
    double ns, share;
} point_t;

typedef struct profile {
    point_t *points;
    size_t count, size;
} profile_t;

static void add_point(profile_t *p, double ns, double share)
{
    if (p->count == p->size)
        p->points = tool_need(realloc(p->points, (p->size = p->size * 2 + 256) * sizeof *p->points));
    p->points[p->count++] = (point_t){ ns, share };
}

static int by_length(const void *a, const void *b)
{
    double x = ((const point_t *)a)->ns, y = ((const point_t *)b)->ns;
    return (x > y) - (x < y);
}

static bool add_wait(profile_t *p, const char *text, double share)
{
    enum { STEPS = 1000 };
    char low_text[64];
    double low, high;
    const char *dots = strstr(text, "..");
    if (strncmp(text, "exp:", 4) == 0) {
        if (!tool_parse_duration(text + 4, &low)) return false;
        for (int i = 0; i < STEPS; i++) add_point(p, -low * log(1 - (i + 0.5) / STEPS), share / STEPS);
        return true;
    }
    if (dots) {
        if ((size_t)(dots - text) >= sizeof low_text) return false;
        memcpy(low_text, text, (size_t)(dots - text));
        low_text[dots - text] = 0;
        if (!tool_parse_duration(low_text, &low) || !tool_parse_duration(dots + 2, &high) || high < low) return false;
        for (int i = 0; i < STEPS; i++) add_point(p, low + (high - low) * (i + 0.5) / STEPS, share / STEPS);
        return true;
    }
    if (!tool_parse_duration(text, &low)) return false;
    add_point(p, low, share);
    return true;
}

/* "3us", "1us..50us", "exp:20us", or a mix of these: "90%:2us,10%:1ms". */
static void parse_waits(profile_t *p, const char *text)
{
    char *copy = tool_need(strdup(text)), *rest = copy, *part;
    double total = 0;
    bool mixed = strchr(text, '%') != NULL;
    while ((part = strsep(&rest, ",")) != NULL) {
        double share = 100;
        if (mixed) {
            char *end;
            share = strtod(part, &end);
            if (end == part || strncmp(end, "%:", 2) != 0 || !(share >= 0))
                tool_usage_error(&concede_tune, "'%s' is no share of waits, like 90%%:2us", part);
            part = end + 2;
        } else if (rest)
            tool_usage_error(&concede_tune, "a mix of waits needs shares, like 90%%:2us,10%%:1ms");
        if (!add_wait(p, part, share / 100))
            tool_usage_error(&concede_tune, "'%s' is no wait: try 3us, 1us..50us or exp:20us", part);
        total += share;
    }
    if (fabs(total - 100) > 0.5) tool_usage_error(&concede_tune, "the shares add up to %g %%, not to 100 %%", total);
    free(copy);
}

/* What `concede try --json` wrote: pairs of a time and how often a wait took so long. */
static void read_recorded(profile_t *p, const char *path)
{
    static const char *const kinds[] = { "mutexes", "conditions" };
    char error[256];
    double all = 0;
    json_t *root = json_parse_file(path, error, sizeof error);
    if (!root) tool_die("%s", error);
    for (int k = 0; k < 2; k++) {
        const json_t *rows = json_get(root, kinds[k]);
        for (const json_t *row = rows ? rows->child : NULL; row; row = row->next) {
            const json_t *times = json_get(row, "times");
            for (const json_t *pair = times ? times->child : NULL; pair; pair = pair->next) {
                if (pair->count != 2) continue;
                add_point(p, pair->child->number, pair->child->next->number);
                all += pair->child->next->number;
            }
        }
    }
    json_free(root);
    if (p->count == 0) tool_die("%s holds no wait times", path);
    for (size_t i = 0; i < p->count; i++) p->points[i].share /= all;
}

static void read_waits(profile_t *p, const char *path)
{
    char line[256];
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
    if (!file) tool_die("cannot read %s: %s", path, strerror(errno));
    int first = getc(file);
    if (first == '{') {
        if (file == stdin) tool_die("what concede try has written is read from a file by its name");
        fclose(file);
        read_recorded(p, path);
        return;
    }
    ungetc(first, file);
    for (int number = 1; fgets(line, sizeof line, file); number++) {
        char *text = line + strspn(line, " \t"), *end = text + strcspn(text, "#\r\n");
        double ns;
        while (end > text && (end[-1] == ' ' || end[-1] == '\t')) end--;
        *end = 0;
        if (!*text) continue;
        if (!tool_parse_duration(text, &ns))
            tool_die("%s, line %d: '%s' is no time: a number and ns, us, ms or s", path, number, text);
        add_point(p, ns, 1);
    }
    if (ferror(file)) tool_die("cannot read %s: %s", path, strerror(errno));
    if (file != stdin) fclose(file);
    if (p->count == 0) tool_die("%s holds no wait times", path);
    for (size_t i = 0; i < p->count; i++) p->points[i].share = 1 / (double)p->count;
}

static double profile_quantile(const profile_t *p, double q)
{
    double sum = 0;
    for (size_t i = 0; i < p->count; i++)
        if ((sum += p->points[i].share) >= q - 1e-9) return p->points[i].ns;
    return p->points[p->count - 1].ns;
}

/* ---- the model ---- */

typedef struct prices {
    double pause, yield, line, wake, wake_call, sleep_cpu;
    bool can_spin; /* more than one usable CPU */
} prices_t;

typedef struct choice {
    uint32_t snoozes; /* 0: sleeps at once */
    double spin;      /* ns that so many snoozes take */
    double caught;    /* share of the waits that end before sleeping */
    double cpu;       /* ns a wait, of waiter and waker */
    double late, late_p99;
    double cost;
} choice_t;

enum { CHOICES = 129 }; /* 0 to 128 snoozes: 98 us where a sleep costs 57 (AMD EPYC under KVM) */

static double spin_time(const prices_t *prices, uint32_t snoozes)
{
    cc_backoff_t b = CC_SNOOZE_INIT;
    double ns = 0;
    for (; snoozes > 0; snoozes--) {
        ns += b.yields == 0 ? b.current * prices->pause : prices->yield;
        if (b.yields == 0) cc_backoff_advance_(&b);
    }
    return ns;
}

static double lateness(const prices_t *prices, double wait, double spin)
{
    if (wait > spin) return prices->wake;
    cc_backoff_t b = CC_SNOOZE_INIT;
    double pausing = (2.0 * b.max - 1) * prices->pause;
    return prices->line + (wait < pausing ? prices->pause : prices->yield) / 2;
}

static choice_t predict(const prices_t *prices, const profile_t *p, uint32_t snoozes, double weight)
{
    choice_t c = { .snoozes = snoozes, .spin = spin_time(prices, snoozes) };
    double spun_p99 = 0, share = 0;
    for (size_t i = 0; i < p->count; i++) {
        const point_t *w = &p->points[i];
        double late = lateness(prices, w->ns, c.spin);
        bool sleeps = w->ns > c.spin;
        c.late += w->share * late;
        c.cpu += w->share * (sleeps ? c.spin + prices->sleep_cpu + prices->wake_call : w->ns);
        if (!sleeps) c.caught += w->share;
        if (!sleeps && late > spun_p99) spun_p99 = late;
        share += w->share;
    }
    c.late_p99 = share - c.caught > 0.01 * share ? prices->wake : spun_p99;
    c.cost = c.late + weight * c.cpu;
    return c;
}

/* The least spinning whose cost is within 1 % of the best. Waits a quarter longer count for half, so that it does not
 * stop just short of where the waits really end. */
static uint32_t choose(const prices_t *prices, const profile_t *p, double weight, choice_t choices[CHOICES])
{
    profile_t longer = { tool_need(malloc(p->count * sizeof *p->points)), p->count, p->count };
    double cost[CHOICES], least = INFINITY;
    for (size_t i = 0; i < p->count; i++) longer.points[i] = (point_t){ p->points[i].ns * 1.25, p->points[i].share };
    for (uint32_t i = 0; i < CHOICES; i++) {
        choices[i] = predict(prices, p, i, weight);
        cost[i] = choices[i].cost + predict(prices, &longer, i, weight).cost;
        least = fmin(least, cost[i]);
    }
    free(longer.points);
    uint32_t best = 0;
    while (cost[best] > least * 1.01) best++;
    return best;
}

/* The wait for which spinning through and sleeping at once cost the same. */
static double break_even(const prices_t *prices, double weight)
{
    return prices->sleep_cpu + prices->wake_call + (prices->wake - prices->line) / weight;
}

/* ---- trying a choice ---- */

enum { TRIES = 4000, TRY_MS = 300 };

typedef struct trial {
    const profile_t *profile;
    cc_channel_t *channel;
    CC_ALIGNED_(CC_CACHE_LINE) uint32_t waiting; /* how many messages the receiver has begun to wait for */
    CC_ALIGNED_(CC_CACHE_LINE) int count;
    double receiver_cpu;             /* ns in all */
    double late[TRIES], call[TRIES]; /* ns of each: lateness, and the sender's time in the call */
    int cpu[2];
} trial_t;

typedef struct tried {
    char name[24]; /* of snooze_iters */
    int count;     /* waits */
    double cpu, late, late_p99;
} tried_t;

static void *receive(void *argument)
{
    trial_t *t = argument;
    uint64_t sent_at;
    host_pin(t->cpu[1]);
    double cpu = host_thread_cpu_ns();
    for (;;) {
        cc_store_relaxed(&t->waiting, (uint32_t)t->count + 1); /* relaxed: it only starts the sender's clock */
        if (cc_channel_recv(t->channel, &sent_at) != 0) break;
        t->late[t->count++] = (double)(cc_now_ns() - sent_at);
    }
    t->receiver_cpu = host_thread_cpu_ns() - cpu;
    return NULL;
}

/* Waits of the profile in random order, evenly over its shares. None is longer than 20 ms: by then everything
 * sleeps. */
static void *send_all(void *argument)
{
    trial_t *t = argument;
    uint32_t random = 1;
    host_pin(t->cpu[0]);
    uint64_t end = cc_deadline_in(TRY_MS * UINT64_C(1000000));
    for (uint32_t i = 0; i < TRIES && !tool_interrupted() && (i < 10 || cc_now_ns() < end); i++) {
        double share = (cc_backoff_random_(&random) - 0.5) / UINT32_MAX,
               wait = fmin(profile_quantile(t->profile, share), 2e7);
        while (cc_load_relaxed(&t->waiting) != i + 1) cc_os_yield_();
        for (uint64_t send_at = cc_deadline_in((uint64_t)wait); cc_now_ns() < send_at;) cc_pause();
        uint64_t now = cc_now_ns();
        cc_channel_send(t->channel, &now);
        t->call[i] = (double)(cc_now_ns() - now);
    }
    cc_channel_close(t->channel);
    return NULL;
}

/* The mean without the longest 1 %, which tell of what else the machine does; sorts. */
static double mean_of(double *values, int count)
{
    double sum = 0;
    int counted = count - count / 100;
    qsort(values, (size_t)count, sizeof values[0], tool_by_value);
    for (int i = 0; i < counted; i++) sum += values[i];
    return sum / counted;
}

static tried_t try_choice(const machine_t *m, const profile_t *p, uint32_t snooze_iters)
{
    tried_t result = { .count = 0 };
    cc_channel_options_t how = { .capacity = 16, .message_size = sizeof(uint64_t), .snooze_iters = snooze_iters };
    void *memory = NULL;
    pthread_t receiver, sender;
    if (posix_memalign(&memory, CC_CACHE_LINE, sizeof(trial_t)) != 0) tool_need(NULL);
    trial_t *t = memset(memory, 0, sizeof(trial_t));
    t->profile = p;
    t->cpu[0] = m->cpu_list[0];
    t->cpu[1] = m->cpu_list[m->affinity - 1];
    if (cc_channel_create(&t->channel, &how) != 0) tool_need(NULL);
    if (pthread_create(&receiver, NULL, receive, t) != 0 || pthread_create(&sender, NULL, send_all, t) != 0)
        tool_die("cannot start a thread");
    pthread_join(sender, NULL);
    pthread_join(receiver, NULL);
    cc_channel_destroy(t->channel);
    if ((result.count = t->count) > 0) {
        result.cpu = t->receiver_cpu / t->count + mean_of(t->call, t->count);
        result.late = mean_of(t->late, t->count);
        result.late_p99 = t->late[(t->count - 1) * 99 / 100];
    }
    free(t);
    return result;
}

/* ---- output ---- */

/* What was asked, measured and found. */
typedef struct tuned {
    machine_t machine;
    prices_t prices;
    profile_t profile; /* empty: none was given */
    double weight;     /* of CPU time against lateness */
    cc_costs_t costs;
    bool choosing; /* there is a profile, and a second CPU: the next are known */
    uint32_t best; /* by the model */
    choice_t choices[CHOICES];
    int tried_count, recommended; /* tried[0] is the model's choice */
    tried_t tried[3];
} tuned_t;

static double tried_cost(const tuned_t *t, int i)
{
    return t->tried[i].late + t->weight * t->tried[i].cpu;
}

static const char *snoozes_text(uint32_t snoozes)
{
    static char text[2][32];
    static int next;
    if (snoozes == 0) return "CC_SNOOZE_NONE";
    char *t = text[next++ % 2];
    snprintf(t, sizeof text[0], "%u", (unsigned)snoozes);
    return t;
}

static bool shown(uint32_t snoozes, uint32_t best)
{
    static const uint32_t always[] = { 0, 2, 4, 6, 7, 8, 12, 16, 32, 64, 128 };
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
        if (always[i] == snoozes) return true;
    return snoozes == best;
}

static void print_choices(const tuned_t *t)
{
    static const char *const heads[] = { "<by the model", ">spins for", ">caught", ">CPU a wait",
                                         ">late",         ">late p99",  ">cost",   "<" };
    tool_table_t *table = tool_table(8, heads);
    for (uint32_t i = 0; i < CHOICES; i++) {
        const choice_t *c = &t->choices[i];
        if (!shown(i, t->best)) continue;
        tool_cell(table, "%s", i ? snoozes_text(i) : "none");
        tool_cell(table, "%s", i ? tool_duration(c->spin) : "-");
        tool_cell(table, "%.1f %%", 100 * c->caught);
        tool_cell(table, "%s", tool_duration(c->cpu));
        tool_cell(table, "%s", tool_duration(c->late));
        tool_cell(table, "%s", tool_duration(c->late_p99));
        tool_cell(table, "%s", tool_duration(c->cost));
        tool_cell(table, "%s", i == t->best ? "chosen" : "");
    }
    tool_table_print(table, stdout, 0);
    tool_wrap(stdout, 0,
              "Chosen: the least spinning that costs within 1 % of the best; waits a quarter longer count as well.");
}

static void print_tried(const tuned_t *t)
{
    static const char *const heads[] = {
        "<tried with a channel", ">waits", ">CPU a wait", ">late", ">late p99", ">cost"
    };
    tool_table_t *table = tool_table(6, heads);
    for (int i = 0; i < t->tried_count; i++) {
        const tried_t *one = &t->tried[i];
        tool_cell(table, "%s%s", one->name, i == t->recommended ? ", recommended" : "");
        tool_cell(table, "%d", one->count);
        tool_cell(table, "%s", tool_duration(one->cpu));
        tool_cell(table, "%s", tool_duration(one->late));
        tool_cell(table, "%s", tool_duration(one->late_p99));
        tool_cell(table, "%s", tool_duration(tried_cost(t, i)));
    }
    tool_table_print(table, stdout, 0);
}

static void print_snippet(const tuned_t *t, const char *command)
{
    const machine_t *m = &t->machine;
    printf("%s/* %s, on %s, %d usable CPU%s; concede %s */%s\n", tool_dim(), command, m->host.cpu, m->usable,
           m->usable == 1 ? "" : "s", CC_VERSION_STRING, tool_plain());
    printf("cc_channel_options_t options = {\n    1024, 8, /* capacity and message_size: yours */\n"
           "    CC_CHANNEL_MPMC, %s\n};\n",
           t->choosing ? t->tried[t->recommended].name : "CC_SNOOZE_ADAPTIVE");
    if (t->choosing && t->recommended == 0 && t->best > 0) {
        cc_backoff_options_t steps = CC_BACKOFF_OPTIONS_INIT;
        uint32_t last = t->best - 1, spin_limit = last < steps.spin_limit ? last : steps.spin_limit;
        printf("cc_backoff_options_t steps = { %u, %u }; /* for a wait of your own */\n", (unsigned)spin_limit,
               (unsigned)last);
    }
}

/* What belongs to this machine and not into a program that runs on others, too. */
static void print_environment(const tuned_t *t)
{
    tool_wrap(stdout, 0,
              "The library measures by itself what waiting costs. To tell it what was measured here, on this machine "
              "only:");
    printf("\nexport CONCEDE_COSTS=pause_ps=%u,yield_ns=%u,wake_ns=%u\n", (unsigned)t->costs.pause_ps,
           (unsigned)t->costs.yield_ns, (unsigned)t->costs.wake_ns);
}

static void print_reason(const tuned_t *t)
{
    char text[768];
    const choice_t *c = &t->choices[t->best];
    double even = break_even(&t->prices, t->weight), median = profile_quantile(&t->profile, 0.5);
    if (t->recommended != 0)
        snprintf(text, sizeof text,
                 "Why: of those that were tried, %s cost least: %s a wait; %s, the model's choice, cost %s.",
                 t->tried[t->recommended].name, tool_duration(tried_cost(t, t->recommended)), t->tried[0].name,
                 tool_duration(tried_cost(t, 0)));
    else if (c->snoozes == 0)
        snprintf(text, sizeof text,
                 "Why: half of the waits are longer than %s, and spinning pays only up to about %s here. "
                 "Spinning first would catch too few of them to be worth its CPU time.",
                 tool_duration(median), tool_duration(even));
    else
        snprintf(text, sizeof text,
                 "Why: spinning pays for waits of up to about %s here. %u snooze%s last%s %s and catch%s %.0f %% of "
                 "the waits; more of it would not gain more than it costs.",
                 tool_duration(even), (unsigned)c->snoozes, c->snoozes == 1 ? "" : "s", c->snoozes == 1 ? "s" : "",
                 tool_duration(c->spin), c->snoozes == 1 ? "es" : "", 100 * c->caught);
    tool_wrap(stdout, 0, text);
}

/* The model's choice, the default and sleeping at once; what costs least is recommended. */
static void try_all(tuned_t *t)
{
    const uint32_t iters[3] = { t->best ? t->best : CC_SNOOZE_NONE, CC_SNOOZE_ADAPTIVE, CC_SNOOZE_NONE };
    for (int i = 0; i < (t->best ? 3 : 2); i++) {
        const char *name = i == 1 ? "CC_SNOOZE_ADAPTIVE" : snoozes_text(i == 2 ? 0 : t->best);
        tool_progress("trying a channel", name, 0);
        tried_t *one = &t->tried[t->tried_count];
        *one = try_choice(&t->machine, &t->profile, iters[i]);
        snprintf(one->name, sizeof one->name, "%s", name);
        if (one->count == 0) break;
        t->tried_count++;
        if (tried_cost(t, i) < tried_cost(t, t->recommended)) t->recommended = i;
    }
    tool_progress_end();
}

/* With no profile: what each length of a wait asks for. */
static void print_lengths(const prices_t *prices, double weight)
{
    static const char *const heads[] = { "<a wait of", ">best snooze_iters", ">CPU",
                                         ">late",      ">CPU asleep",        ">late asleep" };
    static const double lengths[] = { 1e2, 3e2, 1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6, 1e7 };
    tool_table_t *table = tool_table(6, heads);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        point_t point = { lengths[i], 1 };
        profile_t one = { &point, 1, 1 };
        choice_t choices[CHOICES];
        uint32_t best = choose(prices, &one, weight, choices);
        tool_cell(table, "%s", tool_duration(lengths[i]));
        tool_cell(table, "%s", snoozes_text(best));
        tool_cell(table, "%s", tool_duration(choices[best].cpu));
        tool_cell(table, "%s", tool_duration(choices[best].late));
        tool_cell(table, "%s", tool_duration(choices[0].cpu));
        tool_cell(table, "%s", tool_duration(choices[0].late));
    }
    tool_table_print(table, stdout, 0);
}

static void print_text(const tuned_t *t, const char *command)
{
    const machine_cost_t *trip = &t->machine.cost[MACHINE_ROUND_TRIP];
    const prices_t *prices = &t->prices;
    const profile_t *p = &t->profile;
    char text[512];
    int used =
        snprintf(text, sizeof text,
                 "Park and unpark, there and back: %s (%s .. %s). A wake-up arrives after %s; it costs "
                 "the waker %s and the sleeper %s of CPU time.",
                 tool_duration(trip->median), tool_duration(trip->low), tool_duration(trip->high),
                 tool_duration(prices->wake), tool_duration(prices->wake_call), tool_duration(prices->sleep_cpu));
    if (prices->can_spin)
        snprintf(text + used, sizeof text - (size_t)used, " Break-even: spinning pays for waits of up to about %s.",
                 tool_duration(break_even(prices, t->weight)));
    tool_wrap(stdout, 0, text);
    putchar('\n');
    if (p->count) {
        snprintf(text, sizeof text, "Waits: median %s, 99 %% below %s, longest %s.",
                 tool_duration(profile_quantile(p, 0.5)), tool_duration(profile_quantile(p, 0.99)),
                 tool_duration(p->points[p->count - 1].ns));
        tool_wrap(stdout, 0, text);
        putchar('\n');
    }
    if (t->choosing) {
        print_choices(t);
        putchar('\n');
        print_tried(t);
        putchar('\n');
        print_reason(t);
    } else if (!prices->can_spin) {
        tool_wrap(stdout, 0,
                  "Why: there is one usable CPU. What is waited for happens only after the waiter gave the CPU away, "
                  "so no time spent spinning helps; the default yields and sleeps there by itself.");
    } else {
        print_lengths(prices, t->weight);
        putchar('\n');
        tool_wrap(stdout, 0, "No wait profile was given (--wait, --file), so the default that learns is recommended.");
    }
    if (machine_is_busy(&t->machine)) {
        putchar('\n');
        tool_wrap(stdout, 0, "Other programs were busy meanwhile: measure again before you rely on what follows.");
    }
    putchar('\n');
    print_snippet(t, command);
    putchar('\n');
    print_environment(t);
}

static void print_json(const tuned_t *t, FILE *out)
{
    json_writer_t w = { .out = out };
    const profile_t *p = &t->profile;
    json_open(&w, NULL, '{');
    json_integer(&w, "concede_tune", 1);
    json_open(&w, "machine", '{');
    machine_write_json(&t->machine, &w);
    json_close(&w);
    json_number(&w, "cpu_weight", t->weight);
    if (t->prices.can_spin) json_number(&w, "break_even_ns", break_even(&t->prices, t->weight));
    json_open(&w, "costs", '{');
    json_integer(&w, "pause_ps", t->costs.pause_ps);
    json_integer(&w, "yield_ns", t->costs.yield_ns);
    json_integer(&w, "wake_ns", t->costs.wake_ns);
    json_close(&w);
    if (p->count) {
        json_open(&w, "waits", '{');
        json_integer(&w, "count", p->count);
        json_number(&w, "min_ns", p->points[0].ns);
        json_number(&w, "median_ns", profile_quantile(p, 0.5));
        json_number(&w, "p99_ns", profile_quantile(p, 0.99));
        json_number(&w, "max_ns", p->points[p->count - 1].ns);
        json_close(&w);
    }
    if (t->choosing) { /* absent: CC_SNOOZE_ADAPTIVE; 0 is CC_SNOOZE_NONE */
        if (t->recommended != 1) json_integer(&w, "snooze_iters", t->recommended == 0 ? t->best : 0);
        json_integer(&w, "predicted", t->best);
        json_open(&w, "choices", '[');
        for (uint32_t i = 0; i < CHOICES; i++) {
            const choice_t *c = &t->choices[i];
            json_open(&w, NULL, '{');
            json_integer(&w, "snooze_iters", i);
            json_number(&w, "spin_ns", c->spin);
            json_number(&w, "caught", c->caught);
            json_number(&w, "cpu_ns", c->cpu);
            json_number(&w, "late_ns", c->late);
            json_number(&w, "late_p99_ns", c->late_p99);
            json_number(&w, "cost_ns", c->cost);
            json_close(&w);
        }
        json_close(&w);
        json_open(&w, "tried", '[');
        for (int i = 0; i < t->tried_count; i++) {
            const tried_t *one = &t->tried[i];
            json_open(&w, NULL, '{');
            json_string(&w, "snooze_iters", one->name);
            json_integer(&w, "waits", (uint64_t)one->count);
            json_number(&w, "cpu_ns", one->cpu);
            json_number(&w, "late_ns", one->late);
            json_number(&w, "late_p99_ns", one->late_p99);
            json_close(&w);
        }
        json_close(&w);
    }
    json_close(&w);
}

static uint32_t whole(double number)
{
    return number < 1 ? 1 : number < UINT32_MAX ? (uint32_t)(number + 0.5) : UINT32_MAX;
}

/* What a nanosecond of CPU time is worth in lateness. */
static double parse_preference(const char *text)
{
    static const char *const names[] = { "latency", "balance", "cpu", NULL };
    static const double weights[] = { 0.1, 1, 10 };
    for (int i = 0; names[i]; i++)
        if (strcmp(text, names[i]) == 0) return weights[i];
    const char *closest = tool_closest(text, names);
    tool_usage_error(&concede_tune, "--prefer is latency, balance or cpu, not '%s'%s%s%s", text,
                     closest ? "; did you mean " : "", closest ? closest : "", closest ? "?" : "");
}

static int run(int argc, char **argv)
{
    tool_args_t args = { .command = &concede_tune, .argc = argc, .argv = argv };
    static tuned_t tuned;
    tuned_t *t = &tuned;
    const char *json = NULL;
    tool_output_t out;
    char command[256];
    memset(t, 0, sizeof *t);
    t->weight = 1;
    tool_command_line(argc, argv, command, sizeof command);
    for (int c; (c = tool_next(&args)) != TOOL_END;) {
        if (c == TOOL_WORD)
            tool_usage_error(&concede_tune, "unexpected argument '%s'; waits go after --wait", args.value);
        if ((c == WAIT || c == WAITS_FILE) && t->profile.count)
            tool_usage_error(&concede_tune, "one --wait or --file, not more");
        if (c == WAIT)
            parse_waits(&t->profile, args.value);
        else if (c == WAITS_FILE)
            read_waits(&t->profile, args.value);
        else if (c == PREFER)
            t->weight = parse_preference(args.value);
        else
            json = args.value;
    }
    if (t->profile.count) qsort(t->profile.points, t->profile.count, sizeof t->profile.points[0], by_length);

    if (json) tool_output_open(&out, json);
    tool_catch_interrupt();
    const machine_t *m = &t->machine;
    machine_describe(&t->machine);
    machine_measure(&t->machine);
    if (m->cost[MACHINE_ROUND_TRIP].samples == 0) { /* Ctrl-C before there is anything to say */
        free(t->profile.points);
        return 0;
    }
    t->prices = (prices_t){
        .pause = m->cost[MACHINE_PAUSE].median,
        .yield = m->cost[MACHINE_YIELD].median,
        .line = m->cost[MACHINE_LINE].samples ? m->cost[MACHINE_LINE].median : 0,
        .wake = m->cost[MACHINE_WAKE].median,
        .wake_call = m->cost[MACHINE_WAKE_CALL].median,
        .sleep_cpu = m->cost[MACHINE_SLEEP_CPU].median,
        .can_spin = m->usable > 1,
    };
    t->costs = (cc_costs_t){ whole(t->prices.pause * 1000), whole(t->prices.yield), whole(t->prices.wake), 0 };
    t->choosing = t->profile.count && t->prices.can_spin;
    if (t->choosing) {
        t->best = choose(&t->prices, &t->profile, t->weight, t->choices);
        try_all(t);
    }
    if (json) {
        print_json(t, tool_output_begin(&out));
        tool_output_end(&out);
    }
    if (!json || strcmp(json, "-") != 0) print_text(t, command);
    free(t->profile.points);
    return 0;
}

const tool_command_t concede_tune = {
    "tune",
    "[OPTION]...",
    "Recommend how long to spin before sleeping, as a C snippet.",
    "Measures what sleeping and waking cost here, and predicts for each number of snoozes what a wait costs: CPU time "
    "of waiter and waker, and how late the waiter goes on; a few choices are tried with a channel. The cost is the "
    "lateness plus the CPU time, weighed by --prefer. Of those that were tried, the one that cost least is "
    "recommended.\n\n"
    "WAIT is one of\n"
    "  3us               always so long\n"
    "  1us..50us         evenly between the two\n"
    "  exp:20us          exponential, with this mean\n"
    "  90%:2us,10%:1ms   a mix of these\n"
    "A time is a number and ns, us, ms or s; without a unit it is ns.",
    options,
    run,
};
