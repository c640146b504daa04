/* arguments.c: the program with arguments and files of all kinds. It may refuse them, with the exit codes that
 * concede(1) names and a word on stderr, but not crash, leak or stay silent. As a test it draws its own arguments;
 * tests/fuzz builds it for libFuzzer.
 *
 * The program runs in this process, again and again: the linker's --wrap sends its exit(), its memory, its files and
 * its measuring here. An input is lines: the arguments, an empty line, and what is in every file that it reads. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#if defined(CONCEDE_FUZZ)
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#else
#include "harness.h"
#endif

#include "../../bench/results.h"
#include "../../tools/concede/machine.h"

int concede_main(int argc, char **argv);

enum { ARGUMENTS = 16, LIVE = 1 << 14 };

static jmp_buf at_exit;
static int exit_code;
static bool running;
static const char *content; /* of files */
static size_t content_size;
static int usable_cpus;
static unsigned memory_ends_at, allocations; /* the allocation that fails; 0: none does */

/* ---- what the program holds: memory, and files with `file` set ---- */

static struct {
    void *what;
    bool file;
} live[LIVE];
static size_t live_count;

static void *holds(void *what, bool file)
{
    if (!running || !what) return what;
    if (live_count == LIVE) abort();
    live[live_count].what = what;
    live[live_count++].file = file;
    return what;
}

static void lets_go(const void *what)
{
    for (size_t i = live_count; i-- > 0;)
        if (live[i].what == what) {
            live[i] = live[--live_count];
            return;
        }
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void __real_free(void *memory);
char *__real_strdup(const char *text);
int __real_posix_memalign(void **memory, size_t alignment, size_t size);
FILE *__real_fopen(const char *path, const char *mode);
int __real_fclose(FILE *file);
_Noreturn void __real_exit(int code);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void __wrap_free(void *memory);
char *__wrap_strdup(const char *text);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t size);
FILE *__wrap_fopen(const char *path, const char *mode);
int __wrap_fclose(FILE *file);
int __wrap_remove(const char *path);
_Noreturn void __wrap_exit(int code);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument);
void __wrap_machine_measure(machine_t *m);
bool __wrap_bench_measure(bench_report *report, const bench_options *options, char *error, size_t error_size);

static bool memory_ends(void)
{
    return running && ++allocations == memory_ends_at;
}

void *__wrap_malloc(size_t size)
{
    return memory_ends() ? NULL : holds(__real_malloc(size), false);
}
void *__wrap_calloc(size_t count, size_t size)
{
    return memory_ends() ? NULL : holds(__real_calloc(count, size), false);
}
char *__wrap_strdup(const char *text)
{
    return memory_ends() ? NULL : holds(__real_strdup(text), false);
}

void *__wrap_realloc(void *memory, size_t size)
{
    if (memory_ends()) return NULL;
    lets_go(memory);
    return holds(__real_realloc(memory, size), false);
}

void __wrap_free(void *memory)
{
    lets_go(memory);
    __real_free(memory);
}

int __wrap_posix_memalign(void **memory, size_t alignment, size_t size)
{
    int error = memory_ends() ? ENOMEM : __real_posix_memalign(memory, alignment, size);
    if (error == 0) holds(*memory, false);
    return error;
}

/* ---- the system ---- */

/* The machine's own files are as they are; others hold the input's lines, and what is written is lost. */
FILE *__wrap_fopen(const char *path, const char *mode)
{
    if (!running || !strncmp(path, "/proc/", 6) || !strncmp(path, "/sys/", 5) ||
        (*mode != 'r' && !strcmp(path, "/dev/full")))
        return holds(__real_fopen(path, mode), true);
    if (*path == 0 || strstr(path, "missing")) {
        errno = ENOENT;
        return NULL;
    }
    if (*mode != 'r') return holds(__real_fopen("/dev/null", mode), true);
    return holds(content_size ? fmemopen((void *)(uintptr_t)content, content_size, mode)
                              : __real_fopen("/dev/null", mode),
                 true);
}

int __wrap_fclose(FILE *file)
{
    lets_go(file);
    return __real_fclose(file);
}

int __wrap_remove(const char *path)
{
    (void)path;
    return 0;
}

void __wrap_exit(int code)
{
    if (!running) __real_exit(code);
    exit_code = code;
    longjmp(at_exit, 1);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
    (void)thread, (void)attributes, (void)start, (void)argument;
    return EAGAIN;
}

void __wrap_machine_measure(machine_t *m)
{
    m->usable = usable_cpus;
    for (int i = 0; i < MACHINE_PROBES; i++)
        m->cost[i] = (machine_cost_t){ 100, 10.0 * (i + 1), 9.0 * (i + 1), 20.0 * (i + 1) };
}

bool __wrap_bench_measure(bench_report *report, const bench_options *options, char *error, size_t error_size)
{
    (void)report, (void)options;
    snprintf(error, error_size, "nothing is measured here");
    return false;
}

/* ---- one run ---- */

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), more = strlen(end);
    return length >= more && !strcmp(text + length - more, end);
}

/* What leaks is found here: where the program exits, more is left, and the system would have taken it back. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

/* NULL, or what is wrong. */
static const char *run(const uint8_t *bytes, size_t size)
{
    static char program[] = "concede";
    char *arguments[ARGUMENTS + 2] = { program }, *text[2] = { NULL, NULL };
    char *copy = __real_malloc(size + 1);
    size_t lengths[2], at = 0;
    int count = 1;
    memcpy(copy, bytes, size);
    copy[size] = 0;
    while (at < size && copy[at] != '\n') {
        char *argument = copy + at;
        at += strcspn(argument, "\n"); /* a zero ends an argument, too: what is after it is lost */
        while (at < size && copy[at] == 0) at++;
        if (at < size && copy[at] == '\n') copy[at++] = 0;
        if (count <= ARGUMENTS) arguments[count++] = argument;
    }
    if (at < size) at++;
    content = copy + at;
    content_size = size - at;
    usable_cpus = 1 + (int)(size & 1);
    memory_ends_at = size % 3 ? 0 : 1 + (unsigned)(size / 3 % 64);
    allocations = 0;

    FILE *out = stdout, *err = stderr;
    stdout = open_memstream(&text[0], &lengths[0]);
    stderr = open_memstream(&text[1], &lengths[1]);
    running = true;
    bool returned = setjmp(at_exit) == 0;
    if (returned) exit_code = concede_main(count, arguments);
    running = false;
    fclose(stdout);
    fclose(stderr);
    stdout = out;
    stderr = err;

    const char *wrong = NULL;
    if (returned && live_count) wrong = live[0].file ? "a file is left open" : "memory is leaked";
    while (live_count) {
        live_count--;
        if (live[live_count].file)
            __real_fclose(live[live_count].what);
        else
            __real_free(live[live_count].what);
    }
    if (exit_code == 0) {
        if (*text[1]) wrong = "it says 0 and complains";
        if (!*text[0]) wrong = "it says 0 and nothing else";
    } else if (exit_code == 1) {
        if (!*text[0] && strncmp(text[1], "concede", 7) != 0) wrong = "it says 1 and not why";
    } else if (exit_code == 2) {
        if (count > 1 && (strncmp(text[1], "concede", 7) != 0 || !ends_with(text[1], "--help)\n")))
            wrong = "it says 2 and not why";
    } else {
        wrong = "an exit code that concede(1) does not name";
    }
    if (wrong) {
        fprintf(stderr, "%s: exit code %d; the input:\n", wrong, exit_code);
        fwrite(bytes, 1, size, stderr);
        fprintf(stderr, "\non stdout:\n%.300s\non stderr:\n%.300s\n", text[0], text[1]);
    }
    free(text[0]);
    free(text[1]);
    free(copy);
    return wrong;
}

#if defined(CONCEDE_FUZZ)
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (run(data, size)) abort();
    return 0;
}
#else

/* ---- inputs: words that mean something, in any order, some of them damaged ---- */

static const char *const words[] = {
    "info",
    "bench",
    "tune",
    "report",
    "help",
    "version",
    "--help",
    "-h",
    "--version",
    "-V",
    "--",
    "-",
    "",
    "--json",
    "--json=out",
    "--csv",
    "--list",
    "--quick",
    "-q",
    "--full",
    "--self-test",
    "--from",
    "--from=in",
    "--compare",
    "-c",
    "in",
    "missing",
    "/dev/full",
    "-o",
    "--output",
    "out.html",
    "--only",
    "concede,pthread",
    "--pin",
    "none",
    "spread",
    "0,1",
    "-t",
    "--threads",
    "1,2,32",
    "1024",
    "0",
    "1025",
    "1,,2",
    "-s",
    "--seconds",
    "0.01",
    "600",
    "nan",
    "inf",
    "1e999",
    "86400",
    "-r",
    "--repeats",
    "64",
    "65",
    "--capacity",
    "16777216",
    "--message-size",
    "8",
    "64",
    "256",
    "18446744073709551616",
    "--markdown",
    "document",
    "tables",
    "machine",
    "-w",
    "--wait",
    "-w3us",
    "3us",
    "1us..50us",
    "exp:20us",
    "exp:",
    "..",
    "1ms..1us",
    "90%:2us,10%:1ms",
    "50%:exp:1us,50%:1us..2us",
    "1%:1us",
    "%",
    "1e308",
    "exp:1e308",
    "0",
    "3 ms",
    "5\xc2\xb5s",
    "-f",
    "--file",
    "-p",
    "--prefer",
    "latency",
    "balance",
    "cpu",
    "cas",
    "lock",
    "condition",
    "park",
    "channel",
    "all",
    "lock.tight",
    "channel.stream",
    "lok",
    "-qr5",
    "-hq",
    "--from\nin",
    "-c\nin",
    "--json\nout",
    "--markdown\ndocument",
    "-w\nexp:20us",
    "-f\nin",
    "-p\ncpu",
    "-o\nout",
    "-t\n1,2",
};

static const char *const files[] = {
    "3us\n1ms # a comment\n\n  7\n",
    "3 parsecs\n",
    "{",
    "[]",
    "{\"runs\": []}",
    "{\"concede_bench\": 1, \"runs\": []}",
    "{\"concede_bench\": 1, \"runs\": [{\"family\": \"cas\", \"primary\": \"rate\", \"results\": [{\"name\": "
    "\"n\"}]}]}",
    "{\"concede_bench\": 1, \"version\": \"0.1.0\", \"date\": \"2026-01-31T12:00:00Z\", \"command\": \"concede bench "
    "lock\", \"machine\": {"
    "\"cpu\": \"x\", \"cpus\": 2, \"pause_ns\": 32.1, \"clock\": \"tsc\"}, \"peers\": [{\"name\": \"ck\", \"version\": "
    "\"1\", \"present\": "
    "true}], \"runs\": [{\"workload\": \"lock.tight\", \"family\": \"lock\", \"title\": \"t\", \"parameters\": "
    "{\"threads\": 2, "
    "\"outside_ns\": 0}, \"primary\": \"rate\", \"baseline\": \"concede\", \"slice_ms\": 100, \"rounds\": 2, "
    "\"rounds_dropped\": 1, "
    "\"line_ns\": [85.2, 86.0], \"others\": [0.01, 0.2], \"winner\": null, \"results\": [{\"name\": \"concede\", "
    "\"uses\": \"u\", \"peer\": "
    "\"concede\", \"ours\": true, \"baseline\": true, \"metrics\": {\"rate\": {\"samples\": [28.1, 29.0]}}, "
    "\"latency\": {\"count\": 5, "
    "\"max\": 9, \"quantiles\": [[0.5, 83], [0.9, 99.1]]}, \"per_thread\": [10, 12]}, {\"name\": \"pthread_mutex\", "
    "\"metrics\": {\"rate\": "
    "{\"samples\": [27.1, 1e400]}}, \"per_thread\": [1, -2]}]}]}",
};

static size_t put(uint8_t *bytes, size_t at, size_t room, const char *text, uint64_t *rng)
{
    size_t length = strlen(text), start = at;
    for (size_t i = 0; i < length && at < room; i++) bytes[at++] = (uint8_t)text[i];
    while (at > start && test_random(rng) % 6 == 0) { /* damage: another byte, or one from elsewhere in it */
        uint8_t *victim = &bytes[start + test_random(rng) % (at - start)];
        *victim = test_random(rng) % 2 ? (uint8_t)test_random(rng) : bytes[start + test_random(rng) % (at - start)];
    }
    return at;
}

#define PICK(list) list[test_random(&rng) % (sizeof list / sizeof list[0])]

TEST(no_argument_or_file_crashes_leaks_or_is_ignored)
{
    static const char *const commands[] = { "info", "bench", "tune", "report" };
    uint64_t rng = test_seed(1);
    unsigned seen[3] = { 0, 0, 0 };
    for (uint64_t i = test_effort(10000); i > 0; i--) {
        uint8_t bytes[2048];
        size_t at = 0;
        if (test_random(&rng) % 8) at = put(bytes, at, 1024, PICK(commands), &rng), bytes[at++] = '\n';
        for (unsigned n = (unsigned)(test_random(&rng) % 6); n > 0; n--)
            at = put(bytes, at, 1024, PICK(words), &rng), bytes[at++] = '\n';
        bytes[at++] = '\n';
        at = put(bytes, at, sizeof bytes, PICK(files), &rng);
        if (!CHECK(run(bytes, at) == NULL)) return;
        seen[exit_code]++;
    }
    CHECK(seen[0] > 0 && seen[1] > 0 && seen[2] > 0); /* else it tries too little */
    printf("exit code 0: %u, 1: %u, 2: %u\n", seen[0], seen[1], seen[2]);
}
#endif
