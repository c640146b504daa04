/* host.c: see host.h. */
#include "host.h"

#include <concede/concede.h>

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sched.h>
#include <sys/prctl.h>
#endif
#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

/* ---- what can be read ---- */

static void first_line(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "r");
    text[0] = 0;
    if (!file) return;
    if (!fgets(text, (int)size, file)) text[0] = 0;
    text[strcspn(text, "\n")] = 0;
    fclose(file);
}

/* The keys that tell what CPU this is differ from architecture to architecture: these are all that are known. */
static void read_cpuinfo(host_t *h)
{
    char line[8192], part[64] = "";
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (!file) return;
    while (fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (!colon) continue;
        char *value = colon + 1 + strspn(colon + 1, " \t");
        value[strcspn(value, "\n")] = 0;
        while (colon > line && (colon[-1] == ' ' || colon[-1] == '\t')) colon--;
        *colon = 0;
        bool names_cpu = !strcmp(line, "model name") || !strcmp(line, "cpu") || !strcmp(line, "uarch") ||
                         !strcmp(line, "vendor_id") || !strcmp(line, "Hardware");
        if (!h->cpu[0] && names_cpu && strcmp(value, "AuthenticAMD") && strcmp(value, "GenuineIntel"))
            snprintf(h->cpu, sizeof h->cpu, "%.*s", (int)sizeof h->cpu - 1, value);
        if (!part[0] && !strcmp(line, "CPU implementer")) snprintf(part, sizeof part, "implementer %.20s", value);
        if (!strcmp(line, "CPU part") && strlen(part) < 40) {
            snprintf(part + strlen(part), sizeof part - strlen(part), ", part %.20s", value);
            break;
        }
        if (!strcmp(line, "flags")) {
            h->has_tsc = strstr(value, " tsc ") != NULL;
            h->tsc_invariant = strstr(value, "constant_tsc") && strstr(value, "nonstop_tsc");
            h->hypervisor = strstr(value, " hypervisor") != NULL;
            break;
        }
    }
    fclose(file);
    if (!h->cpu[0] && part[0]) snprintf(h->cpu, sizeof h->cpu, "%s", part);
}

void host_describe(host_t *h)
{
    struct utsname system;
    struct tm utc;
    time_t now = time(NULL);
    memset(h, 0, sizeof *h);
    strftime(h->date, sizeof h->date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    read_cpuinfo(h);
    if (uname(&system) == 0) {
        snprintf(h->architecture, sizeof h->architecture, "%.31s", system.machine);
        snprintf(h->system, sizeof h->system, "%.40s %.80s", system.sysname, system.release);
    }
    if (!h->cpu[0]) snprintf(h->cpu, sizeof h->cpu, "unknown %s", h->architecture);
    first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", h->governor, sizeof h->governor);
    first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", h->clocksource,
               sizeof h->clocksource);
#if defined(__GLIBC__)
    snprintf(h->libc, sizeof h->libc, "glibc %s", gnu_get_libc_version());
#endif
#if defined(__clang__)
    snprintf(h->compiler, sizeof h->compiler, "clang %d.%d.%d", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
    snprintf(h->compiler, sizeof h->compiler, "gcc %d.%d.%d", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

/* ---- CPUs ---- */

int host_cpus_online(void)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

int host_cpus(int cpus[HOST_CPUS])
{
    int count = 0;
#if defined(__linux__)
    cpu_set_t *set = CPU_ALLOC(HOST_CPUS);
    size_t size = CPU_ALLOC_SIZE(HOST_CPUS);
    if (set && sched_getaffinity(0, size, set) == 0)
        for (int i = 0; i < HOST_CPUS; i++)
            if (CPU_ISSET_S((size_t)i, size, set)) cpus[count++] = i;
    CPU_FREE(set);
#endif
    if (count == 0)
        for (int online = host_cpus_online(); count < online && count < HOST_CPUS; count++) cpus[count] = count;
    return count;
}

/* A number in one of a CPU's files. */
static int cpu_number(int cpu, const char *name, int otherwise)
{
    char path[96];
    int number;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/%s", cpu, name);
    FILE *file = fopen(path, "r");
    bool read = file && fscanf(file, "%d", &number) == 1;
    if (file) fclose(file);
    return read ? number : otherwise;
}

/* A cache's id, where there is one, is that of a group of CPUs that share it; an older kernel lists their numbers. */
void host_place(int cpu, host_place_t *place)
{
    place->core = cpu_number(cpu, "topology/core_id", cpu);
    place->socket = cpu_number(cpu, "topology/physical_package_id", 0);
    place->die = cpu_number(cpu, "cache/index3/id", cpu_number(cpu, "cache/index3/shared_cpu_list", 0));
}

void host_pin(int cpu)
{
#if defined(__linux__)
    cpu_set_t *set = cpu >= 0 && cpu < HOST_CPUS ? CPU_ALLOC(HOST_CPUS) : NULL;
    size_t size = CPU_ALLOC_SIZE(HOST_CPUS);
    if (!set) return;
    CPU_ZERO_S(size, set);
    CPU_SET_S((size_t)cpu, size, set);
    (void)sched_setaffinity(0, size, set);
    CPU_FREE(set);
#else
    (void)cpu;
#endif
}

void host_sleep(uint64_t ns)
{
    struct timespec time = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
#if defined(__linux__)
    prctl(PR_SET_TIMERSLACK, 1UL);
#endif
    while (nanosleep(&time, &time) != 0 && errno == EINTR) {}
}

static double seconds_of(const struct timespec *t)
{
    return (double)t->tv_sec + (double)t->tv_nsec / 1e9;
}

double host_thread_cpu_ns(void)
{
    struct timespec t;
    return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0 ? (double)t.tv_sec * 1e9 + (double)t.tv_nsec : NAN;
}

double host_process_cpu_seconds(int process)
{
    struct timespec t;
    clockid_t clock;
    return clock_getcpuclockid((pid_t)process, &clock) == 0 && clock_gettime(clock, &t) == 0 ? seconds_of(&t) : 0;
}

/* ---- the line ---- */

typedef struct shared_line {
    CC_ALIGNED_(CC_CACHE_LINE) uint32_t turn; /* odd: the answering thread's */
    CC_ALIGNED_(CC_CACHE_LINE) int cpu[2];
    uint64_t limit_ns;
    double *ns;
    uint32_t room, count;
} shared_line_t;

#define LAST_TURN UINT32_MAX /* no turn has this number: the answering thread ends */

static void *line_answer(void *argument)
{
    shared_line_t *l = argument;
    host_pin(l->cpu[1]);
    for (uint32_t mine = 1;; mine += 2) {
        uint32_t seen;
        /* Acquire and release in both loops: each thread's turn begins after the other's has ended. */
        while ((seen = cc_load_acquire(&l->turn)) != mine)
            if (seen == LAST_TURN) return NULL;
        cc_store_release(&l->turn, mine + 1);
    }
}

static void *line_ask(void *argument)
{
    enum { TRIPS = 100, WARM = 1 };
    shared_line_t *l = argument;
    uint64_t end = cc_deadline_in(l->limit_ns);
    uint32_t next = 0;
    host_pin(l->cpu[0]);
    for (int batch = 0; l->count < l->room && (l->count < HOST_LINE_SAMPLES || cc_now_ns() < end); batch++) {
        uint64_t before = cc_now_ns();
        for (int i = 0; i < TRIPS; i++, next += 2) {
            cc_store_release(&l->turn, next + 1);
            while (cc_load_acquire(&l->turn) != next + 2) {}
        }
        if (batch >= WARM) l->ns[l->count++] = (double)(cc_now_ns() - before) / (2 * TRIPS);
    }
    cc_store_release(&l->turn, LAST_TURN);
    return NULL;
}

uint32_t host_line(int first_cpu, int second_cpu, uint64_t limit_ns, double *ns, uint32_t room)
{
    pthread_t ask, answer;
    void *memory = NULL;
    if (posix_memalign(&memory, CC_CACHE_LINE, sizeof(shared_line_t)) != 0) return 0;
    shared_line_t *l = memset(memory, 0, sizeof *l);
    l->cpu[0] = first_cpu;
    l->cpu[1] = second_cpu;
    l->limit_ns = limit_ns;
    l->ns = ns;
    l->room = room;
    bool answered = pthread_create(&answer, NULL, line_answer, l) == 0;
    if (answered && pthread_create(&ask, NULL, line_ask, l) == 0)
        pthread_join(ask, NULL);
    else
        cc_store_release(&l->turn, LAST_TURN);
    if (answered) pthread_join(answer, NULL);
    uint32_t count = l->count;
    free(memory);
    return count;
}

/* ---- other programs ---- */

host_load_t host_load(const int *cpus, uint32_t count)
{
    host_load_t load = { 0, 0, (double)cc_now_ns() / 1e9, 0 };
    char line[512];
    struct rusage usage;
    FILE *file = fopen("/proc/stat", "r");
    while (file && fgets(line, sizeof line, file)) {
        int cpu;
        unsigned long long user, nice, system, idle, iowait, irq, softirq, steal;
        if (strncmp(line, "cpu ", 4) == 0) continue; /* the sum of all, whose first number %d would take for a CPU's */
        if (sscanf(line, "cpu%d %llu %llu %llu %llu %llu %llu %llu %llu", &cpu, &user, &nice, &system, &idle, &iowait,
                   &irq, &softirq, &steal) != 9)
            continue;
        bool asked = count == 0;
        for (uint32_t i = 0; i < count; i++) asked |= cpus[i] == cpu;
        if (!asked) continue;
        load.busy += (double)(user + nice + system + irq + softirq + steal) / (double)sysconf(_SC_CLK_TCK);
        load.cpus++;
    }
    if (file) fclose(file);
    getrusage(RUSAGE_SELF, &usage);
    load.own = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
               (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    return load;
}

double host_others(const host_load_t *before, const host_load_t *after)
{
    double passed = after->at - before->at;
    double others = after->busy - before->busy - (after->own - before->own);
    if (passed <= 0 || after->cpus <= 0 || others <= 0) return 0;
    return others < passed * after->cpus ? others / passed : after->cpus; /* the system counts in steps of 10 ms */
}
