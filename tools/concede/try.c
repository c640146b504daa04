/* try.c: `concede try`: runs a program with libconcede-pthread.so, watches what it waits for, and compares. */
#include "host.h"
#include "json.h"
#include "symbols.h"
#include "tool.h"

#include "../../preload/record.h"

#include <concede/version.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { COMPARE, PROFILE, JSON };
static const tool_option_t options[] = {
    [COMPARE] = { 0, "compare", "N", "run it N times each way, in turn, and tell the difference" },
    [PROFILE] = { 0, "profile", NULL, "keep the C library's locks and only watch" },
    [JSON] = { 0, "json", "[FILE]", "write what was found as JSON to the file, or to the standard output" },
    { 0, NULL, NULL, NULL },
};

/* As env(1) and others have them. */
enum { CANNOT_RUN = 126, NOT_FOUND = 127 };

/* ---- the program ---- */

_Noreturn static void refuse(int code, const char *program, const char *why)
{
    fprintf(stderr, "concede try: %s %s\n", program, why);
    exit(code);
}

static bool is_program(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

/* The file that the shell would run; exits if there is none. */
static char *find_program(const char *name)
{
    char *path = NULL;
    if (strchr(name, '/')) {
        path = tool_need(strdup(name));
        if (access(path, F_OK) == 0) return path;
        refuse(NOT_FOUND, name, "is not there");
    }
    const char *at = getenv("PATH");
    for (at = at ? at : "/usr/bin:/bin"; *at;) {
        size_t length = strcspn(at, ":");
        path = tool_need(malloc(length + strlen(name) + 2));
        sprintf(path, "%.*s/%s", (int)length, length ? at : ".", name);
        if (is_program(path)) return path;
        free(path);
        at += length + (at[length] == ':');
    }
    refuse(NOT_FOUND, name, "is not in the PATH");
}

/* Exits with one sentence if no library can be put before the C library in this program. A script is run by another
 * program, which is looked at in its place. One that may be run but not read tells nothing: whether the library got
 * into it is seen at the end. */
static void check_program(const char *path, int depth)
{
    char start[256] = { 0 };
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    struct stat status;
    bool has_interpreter = false;
    char loader[256] = { 0 };
    if (!is_program(path) || stat(path, &status) != 0) refuse(CANNOT_RUN, path, "cannot be run");
    if (((status.st_mode & S_ISUID) && status.st_uid != getuid()) ||
        ((status.st_mode & S_ISGID) && status.st_gid != getgid()))
        refuse(CANNOT_RUN, path, "is setuid or setgid: the system lets no library of ours into it");
    if (getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0)
        refuse(CANNOT_RUN, path, "has capabilities: the system lets no library of ours into it");
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    ssize_t got = read(file, start, sizeof start - 1);
    if (got > 2 && start[0] == '#' && start[1] == '!' && depth < 4) {
        char *interpreter = start + 2 + strspn(start + 2, " \t");
        interpreter[strcspn(interpreter, " \t\n")] = 0;
        close(file);
        check_program(interpreter, depth + 1);
        return;
    }
    memcpy(&header, start, sizeof header);
    if (got < (ssize_t)sizeof header || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        refuse(CANNOT_RUN, path, "is neither a program nor a script that begins with #!");
    if (header.e_ident[EI_CLASS] != ELFCLASS64)
        refuse(CANNOT_RUN, path, "is a 32-bit program, and libconcede-pthread.so is for 64-bit ones");
    for (int i = 0; i < header.e_phnum && !has_interpreter; i++) {
        if (pread(file, &segment, sizeof segment, (off_t)(header.e_phoff + (unsigned)i * sizeof segment)) ==
            sizeof segment)
            has_interpreter = segment.p_type == PT_INTERP;
        if (has_interpreter) (void)!pread(file, loader, sizeof loader - 1, (off_t)segment.p_offset);
    }
    close(file);
    if (!has_interpreter)
        refuse(CANNOT_RUN, path, "is linked statically: its locks are part of it, and cannot be replaced");
#if defined(__GLIBC__)
    if (strstr(loader, "/ld-musl-")) refuse(CANNOT_RUN, path, "is for musl, and libconcede-pthread.so for glibc");
#endif
}

/* libconcede-pthread.so: beside the program in the tree that it was built in, or where both are installed. */
static char *find_library(void)
{
    static const char *const places[] = { "/../../preload", "/../" CONCEDE_LIBDIR, NULL };
    char folder[4096], path[8192];
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    if (length <= 0) length = 0;
    folder[length] = 0;
    char *slash = strrchr(folder, '/');
    if (slash) *slash = 0;
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s%s/libconcede-pthread.so", places[i] ? folder : "",
                 places[i] ? places[i] : CONCEDE_FULL_LIBDIR);
        if (access(path, R_OK) != 0) continue;
        char *library = tool_need(realpath(path, NULL));
        if (library[strcspn(library, ": ")])
            tool_die("%s cannot be put into a program: LD_PRELOAD takes no name with a space or a colon", library);
        return library;
    }
    tool_die("libconcede-pthread.so is not installed");
}

/* ---- a run ---- */

typedef struct run {
    double wall, cpu, switches; /* ns; ns; how many */
    int status;                 /* as wait has it */
    pid_t process;
} run_t;

typedef struct plan {
    char **arguments;
    const char *path, *library;
    const char *record; /* a path to write to, or NULL: not watched */
    bool preloads, keeps;
    int input;  /* a descriptor to read from the start; -1: ours */
    bool quiet; /* what it prints goes nowhere */
} plan_t;

static volatile pid_t running;
static volatile sig_atomic_t interrupted; /* somebody wants an end, whatever the program makes of that */
static _Atomic uint64_t ended;            /* when the last run did, ns */
static sigset_t ignored;                  /* signals: by who started us, and so by the program at its start */

/* What the terminal sends, the program gets as well as we; what somebody sends us alone goes on to it, and so does an
 * alarm that was set before we were executed. Once the program has ended, we end by ourselves soon: who wants that
 * sends the same signal more than once, and need not ask again unless the report takes long. */
enum { SOON_NS = 2000000000 };
static void pass_on(int number, siginfo_t *info, void *context)
{
    (void)context;
    int why = errno;
    bool heeded = sigismember(&ignored, number) != 1;
    bool ends = heeded && (number == SIGINT || number == SIGQUIT || number == SIGTERM || number == SIGHUP);
    bool dies = running == 0 && ((heeded && number == SIGPIPE) || (ends && cc_now_ns() - ended > SOON_NS));
    if (ends) interrupted = 1;
    if (running > 0 && info->si_code == SI_QUEUE)
        sigqueue(running, number, info->si_value);
    else if (running > 0 && (info->si_code <= 0 || number == SIGALRM))
        kill(running, number);
    if (dies || (heeded && number == SIGTSTP)) {
        struct sigaction ours;
        sigset_t this;
        sigemptyset(&this);
        sigaddset(&this, number);
        sigaction(number, NULL, &ours);
        signal(number, SIG_DFL);
        raise(number);
        sigprocmask(SIG_UNBLOCK, &this, NULL); /* here we end, or stop */
        sigaction(number, &ours, NULL);
    }
    errno = why;
}

/* Whether somebody may mean the program by it: not if it cannot be caught, tells of our own fault, or of a child. */
static bool is_passed_on(int number)
{
    static const int ours[] = { SIGKILL, SIGSTOP, SIGILL,  SIGTRAP, SIGBUS,  SIGFPE,
                                SIGSEGV, SIGSYS,  SIGCHLD, SIGTTIN, SIGTTOU, 0 };
    for (int i = 0; ours[i]; i++)
        if (number == ours[i]) return false;
    return true;
}

static void pass_signals_on(void)
{
    static bool done;
    struct sigaction action, before;
    if (done) return;
    done = true;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = pass_on;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigemptyset(&ignored);
    for (int i = 1; i <= SIGRTMAX; i++)
        if (is_passed_on(i) && sigaction(i, &action, &before) == 0 && before.sa_handler == SIG_IGN)
            sigaddset(&ignored, i);
}

/* What LD_PRELOAD is to be: this library, or NULL, before all others that are there; but ours is not among these, or a
 * run on the C library's locks would not be one. */
static void set_preload(const char *library)
{
    const char *others = getenv("LD_PRELOAD");
    size_t room = (library ? strlen(library) : 0) + (others ? strlen(others) : 0) + 2, length;
    char *all = tool_need(calloc(1, room));
    if (library) strcpy(all, library);
    for (const char *at = others; at && *(at += strspn(at, ": ")); at += length) {
        static const char ours[] = "libconcede-pthread.so";
        length = strcspn(at, ": ");
        size_t end = strlen(ours);
        if (length >= end && memcmp(at + length - end, ours, end) == 0) continue;
        snprintf(all + strlen(all), room - strlen(all), "%s%.*s", *all ? ":" : "", (int)length, at);
    }
    if (*all)
        setenv("LD_PRELOAD", all, 1);
    else
        unsetenv("LD_PRELOAD");
    free(all);
}

/* If there is no becoming it, says why to the pipe. */
static void become(const plan_t *plan, int pipe_end)
{
    set_preload(plan->preloads ? plan->library : NULL);
    unsetenv(RECORD_VARIABLE);
    unsetenv(KEEP_VARIABLE);
    if (plan->record) setenv(RECORD_VARIABLE, plan->record, 1);
    if (plan->keeps) setenv(KEEP_VARIABLE, "1", 1);
    if (plan->input >= 0) {
        char path[64]; /* opened anew, because a descriptor that is inherited has one position for all */
        snprintf(path, sizeof path, "/proc/self/fd/%d", plan->input);
        dup2(open(path, O_RDONLY), STDIN_FILENO);
    }
    if (plan->quiet) {
        int nowhere = open("/dev/null", O_WRONLY);
        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
    }
    execv(plan->path, plan->arguments);
    int why = errno;
    _exit(write(pipe_end, &why, sizeof why) < 0);
}

static run_t run_program(const plan_t *plan)
{
    struct rusage used;
    sigset_t all, mask;
    run_t run;
    int ends[2], why = 0;
    memset(&used, 0, sizeof used);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &mask); /* until both are ready for them */
    pass_signals_on();
    fflush(NULL);
    if (pipe2(ends, O_CLOEXEC) != 0) tool_die("cannot start a process: %s", strerror(errno));
    uint64_t began = cc_now_ns();
    running = fork();
    if (running < 0) tool_die("cannot start a process: %s", strerror(errno));
    if (running == 0) {
        for (int i = 1; i <= SIGRTMAX; i++)
            if (is_passed_on(i)) signal(i, sigismember(&ignored, i) == 1 ? SIG_IGN : SIG_DFL);
        sigprocmask(SIG_SETMASK, &mask, NULL);
        become(plan, ends[1]);
    }
    run.process = running;
    close(ends[1]);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    while (wait4(running, &run.status, 0, &used) < 0 && errno == EINTR) {}
    run.wall = (double)(cc_now_ns() - began);
    ended = cc_now_ns();
    running = 0;
    run.cpu = 1e9 * (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
              1e3 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    run.switches = (double)(used.ru_nvcsw + used.ru_nivcsw);
    if (read(ends[0], &why, sizeof why) == sizeof why) {
        char sentence[256];
        snprintf(sentence, sizeof sentence, "cannot be run: %s", strerror(why));
        refuse(why == ENOENT ? NOT_FOUND : CANNOT_RUN, plan->path, sentence);
    }
    close(ends[0]);
    return run;
}

/* Ends as the program did: with its exit code, or by its signal. */
static int end_as(int status)
{
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    struct rlimit none = { 0, 0 };
    setrlimit(RLIMIT_CORE, &none);
    fflush(NULL);
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
    return 128 + WTERMSIG(status);
}

static const char *ending(int status)
{
    static char text[64];
    if (WIFEXITED(status))
        snprintf(text, sizeof text, "exit code %d", WEXITSTATUS(status));
    else
        snprintf(text, sizeof text, "signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    return text;
}

/* ---- what was recorded ---- */

/* An object at a place in the program, over all threads; times in ticks. */
typedef struct row {
    struct {
        uint64_t object, caller, count, contended, waited, worst, held;
        uint64_t still_waiting, still_held; /* threads, when the program ended */
        uint32_t kind;
    } sum;
    uint32_t process;
    uint64_t objects; /* how many, in a row of several */
    symbol_t *place;
    uint64_t *times; /* RECORD_BUCKETS; NULL: nobody waited. There may be many rows, and few of them have it */
} row_t;

typedef struct found {
    row_t *rows;
    size_t count, room;
    symbol_t *places;
    size_t place_count;
    double tick_ns;
} found_t;

/* Bytes that get their memory before the program starts: enough for 20 threads with 4,000 locks each. It takes 2 ms
 * (0.85 us a page, Linux 6.18 as a guest), which would be the program's. */
enum { READY = 8 << 20 };
static record_chunk_t *create_record(bool has_ticks, char *path, size_t size)
{
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN); /* a limit of files is told in a sentence */
    int file = memfd_create("concede-try", MFD_CLOEXEC);
    size_t bytes = (size_t)RECORD_CHUNK * RECORD_CHUNKS;
    if (file < 0 || ftruncate(file, (off_t)bytes) != 0)
        tool_die("cannot make a file to record in: %s", strerror(errno));
    signal(SIGXFSZ, before);
    (void)!fallocate(file, 0, 0, READY); /* where that fails the program makes them, at its first use of each */
    record_chunk_t *record = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    if (record == MAP_FAILED) tool_die("cannot map a file to record in: %s", strerror(errno));
    record->kind = RECORD_HEADER;
    record->header.magic = RECORD_MAGIC;
    record->header.used = 1;
    record->header.has_ticks = has_ticks;
    snprintf(path, size, "/proc/%d/fd/%d", (int)getpid(), file); /* the program may close what it inherits */
    return record;
}

static uint32_t chunks_of(const record_chunk_t *record)
{
    uint32_t used = record->header.used;
    return used < RECORD_CHUNKS ? used : RECORD_CHUNKS;
}

/* How many there are in the piece that this one begins. */
static uint32_t chunks_in(const record_chunk_t *chunk)
{
    return chunk->chunks > 0 ? chunk->chunks : 1;
}

static int by_object(const void *a, const void *b)
{
    const row_t *x = a, *y = b;
    if (x->process != y->process) return x->process < y->process ? -1 : 1;
    if (x->sum.kind != y->sum.kind) return x->sum.kind < y->sum.kind ? -1 : 1;
    if (x->sum.object != y->sum.object) return x->sum.object < y->sum.object ? -1 : 1;
    return x->sum.caller < y->sum.caller ? -1 : x->sum.caller > y->sum.caller;
}

static int by_waited(const void *a, const void *b)
{
    const row_t *x = a, *y = b;
    if (x->sum.waited != y->sum.waited) return x->sum.waited > y->sum.waited ? -1 : 1;
    return x->sum.count > y->sum.count ? -1 : x->sum.count < y->sum.count;
}

static void add_row(row_t *to, const row_t *from)
{
    to->sum.count += from->sum.count;
    to->sum.contended += from->sum.contended;
    to->sum.waited += from->sum.waited;
    to->sum.held += from->sum.held;
    to->sum.still_waiting += from->sum.still_waiting;
    to->sum.still_held += from->sum.still_held;
    if (from->sum.worst > to->sum.worst) to->sum.worst = from->sum.worst;
    if (!from->times) return;
    if (!to->times) to->times = tool_need(calloc(RECORD_BUCKETS, sizeof *to->times));
    for (int i = 0; i < RECORD_BUCKETS; i++) to->times[i] += from->times[i];
}

static row_t row_of(uint32_t process, uint64_t object, uint64_t caller, uint32_t kind)
{
    row_t row;
    memset(&row, 0, sizeof row);
    row.sum.object = object;
    row.sum.caller = caller;
    row.sum.kind = kind;
    row.process = process;
    row.objects = 1;
    return row;
}

static void add_wait(row_t *row, uint64_t ticks)
{
    if (!row->times) row->times = tool_need(calloc(RECORD_BUCKETS, sizeof *row->times));
    row->times[record_bucket(ticks)]++;
    row->sum.waited += ticks;
    if (ticks > row->sum.worst) row->sum.worst = ticks;
}

static row_t read_entry(const record_chunk_t *record, uint32_t process, const record_entry_t *from)
{
    row_t row = row_of(process, from->object, from->caller, from->kind);
    row.sum.count = from->count;
    row.sum.held = from->held;
    if (!from->waits) return row;
    const record_waits_t *waits = (const record_waits_t *)(const void *)((const char *)record + from->waits * 32UL);
    row.sum.count += waits->wraps << 32;
    row.sum.contended = waits->contended;
    row.sum.waited = waits->waited;
    row.sum.worst = waits->worst;
    row.times = tool_need(calloc(RECORD_BUCKETS, sizeof *row.times));
    for (int b = 0; b < RECORD_BUCKETS; b++) row.times[b] = waits->times[b];
    return row;
}

static row_t *add_to_found(found_t *found, row_t row)
{
    if (found->count == found->room)
        found->rows = tool_need(realloc(found->rows, (found->room = found->room * 2 + 64) * sizeof row));
    found->rows[found->count] = row;
    return &found->rows[found->count++];
}

/* ---- what had no end ---- */

/* How the program ended: which process it was, and when that was, in ticks. */
typedef struct end {
    pid_t process;
    uint64_t ticks;
} end_t;

static bool is_alive(uint32_t process)
{
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/%u/stat", process);
    FILE *file = fopen(path, "r");
    if (!file) return false;
    (void)!fread(text, 1, sizeof text - 1, file);
    fclose(file);
    const char *name_end = strrchr(text, ')'); /* after it a space and the state: Z is dead, X too */
    return name_end && !strchr("ZX", name_end[1] ? name_end[2] : 'X');
}

/* When a process ended what a thread of it began at `since`; 0: that is not known. It executed another program, or it
 * is the one that we waited for, or it called exit, or it lives on. */
static uint64_t end_of(const record_chunk_t *record, const record_chunk_t *chunk, uint64_t since, const end_t *end)
{
    const record_start_t *starts = (const record_start_t *)(const void *)record->data;
    const record_thread_t *thread = (const record_thread_t *)(const void *)chunk->data;
    for (uint32_t i = 0; i < record->header.processes && i < RECORD_STARTS; i++)
        if (starts[i].process == chunk->process && starts[i].ticks > since) return starts[i].ticks;
    if (chunk->process == (uint32_t)end->process) return end->ticks;
    const record_thread_t *first = (const record_thread_t *)(const void *)record[thread->first].data;
    if (thread->first && first->ended) return first->ended;
    return is_alive(chunk->process) ? end->ticks : 0;
}

/* Whether a thread that did not take it has released this mutex since then, and when. */
static uint64_t released_elsewhere(const found_t *found, uint32_t process, uint64_t object, uint64_t since)
{
    for (size_t i = 0; i < found->count; i++) {
        const row_t *row = &found->rows[i];
        if (row->sum.kind == RECORD_RELEASE && row->process == process && row->sum.object == object &&
            row->sum.held > since)
            return row->sum.held;
    }
    return 0;
}

/* What a thread held and waited for until the end, as rows. What began after that took no time. */
static void read_thread(const record_chunk_t *record, const record_chunk_t *chunk, const end_t *end, found_t *found)
{
    const record_thread_t *thread = (const record_thread_t *)(const void *)chunk->data;
    for (uint32_t i = 0; i < thread->holds && i < RECORD_HELD; i++) {
        const record_held_t *held = &thread->held[i];
        const record_entry_t *entry = (const record_entry_t *)(const void *)((const char *)record + held->entry);
        uint64_t until = released_elsewhere(found, chunk->process, held->object, held->since);
        row_t row = row_of(chunk->process, entry->object, entry->caller, RECORD_MUTEX);
        row.sum.count = held->uncounted;
        row.sum.still_held = held->since && !until;
        if (!until) until = end_of(record, chunk, held->since, end);
        if (held->since && until > held->since) row.sum.held = until - held->since;
        add_to_found(found, row);
    }
    if (thread->waits_for) {
        uint64_t until = end_of(record, chunk, thread->waits_since, end);
        row_t row = row_of(chunk->process, thread->waits_for, thread->waits_in, thread->waits_kind);
        row.sum.count = thread->waits_kind == RECORD_COND;
        row.sum.contended = thread->waits_kind == RECORD_MUTEX;
        row.sum.still_waiting = 1;
        if (until) add_wait(&row, until > thread->waits_since ? until - thread->waits_since : 0);
        add_to_found(found, row);
    }
}

/* All entries, and those of several threads as one. */
static void read_rows(const record_chunk_t *record, const end_t *end, found_t *found)
{
    uint32_t chunks = chunks_of(record);
    size_t kept = 0;
    for (uint32_t c = 1; c < chunks; c += chunks_in(&record[c])) {
        const record_entry_t *from = (const record_entry_t *)(const void *)record[c].data;
        if (record[c].kind != RECORD_ENTRIES) continue;
        for (uint32_t i = 0; i < record[c].filled; i++)
            if (from[i].object) add_to_found(found, read_entry(record, record[c].process, &from[i]));
    }
    for (uint32_t c = 1; c < chunks; c += chunks_in(&record[c]))
        if (record[c].kind == RECORD_THREAD) read_thread(record, &record[c], end, found);
    row_t *rows = found->rows;
    if (found->count > 0) qsort(rows, found->count, sizeof *rows, by_object);
    for (size_t i = 0; i < found->count; i++) {
        if (rows[i].sum.kind == RECORD_RELEASE || rows[i].sum.count + rows[i].sum.contended == 0) continue;
        if (kept > 0 && by_object(&rows[kept - 1], &rows[i]) == 0)
            add_row(&rows[kept - 1], &rows[i]);
        else
            rows[kept++] = rows[i];
    }
    found->count = kept;
}

/* An executable mapping of a process. */
typedef struct mapping {
    uint32_t process;
    uint64_t from, to, offset;
    char *path; /* NULL: of no file */
} mapping_t;

typedef struct mappings {
    mapping_t *list;
    size_t count;
} mappings_t;

static mappings_t read_mappings(const record_chunk_t *record)
{
    mappings_t maps = { NULL, 0 };
    for (uint32_t c = 1; c < chunks_of(record); c += chunks_in(&record[c])) {
        if (record[c].kind != RECORD_MAPS) continue;
        const char *line = record[c].data, *end = line + record[c].filled, *next;
        for (; line < end && (next = memchr(line, '\n', (size_t)(end - line))) != NULL; line = next + 1) {
            mapping_t map = { record[c].process, 0, 0, 0, NULL };
            char path[4096] = "";
            if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %4095[^\n]", &map.from, &map.to,
                       &map.offset, path) < 3)
                continue;
            if (path[0] == '/') map.path = tool_need(strdup(path));
            maps.list = tool_need(realloc(maps.list, (maps.count + 1) * sizeof map));
            maps.list[maps.count++] = map;
        }
    }
    return maps;
}

/* The file and offset of an address, by the mappings that its process wrote: the last that has it counts. */
static symbol_t find_module(const mappings_t *maps, uint32_t process, uint64_t address)
{
    symbol_t symbol = { NULL, address, "", "" };
    for (size_t i = maps->count; i-- > 0;) {
        const mapping_t *map = &maps->list[i];
        if (map->process != process || address < map->from || address >= map->to) continue;
        symbol.module = map->path;
        if (map->path) symbol.offset = address - map->from + map->offset;
        break;
    }
    return symbol;
}

static int by_symbol(const void *a, const void *b)
{
    const symbol_t *x = a, *y = b;
    int order = strcmp(x->module ? x->module : "", y->module ? y->module : "");
    return order ? order : x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int by_caller(const void *a, const void *b)
{
    const row_t *x = *(row_t *const *)a, *y = *(row_t *const *)b;
    if (x->process != y->process) return x->process < y->process ? -1 : 1;
    return x->sum.caller < y->sum.caller ? -1 : x->sum.caller > y->sum.caller;
}

/* Many rows have the same caller, and callers of several processes may be the same place. */
static void find_places(const record_chunk_t *record, found_t *found)
{
    mappings_t maps = read_mappings(record); /* kept: the places point into it */
    row_t **rows = tool_need(calloc(found->count + 1, sizeof *rows));
    size_t callers = 0, at = 0;
    for (size_t i = 0; i < found->count; i++) rows[i] = &found->rows[i];
    qsort(rows, found->count, sizeof *rows, by_caller);
    for (size_t i = 0; i < found->count; i++) callers += i == 0 || by_caller(&rows[i - 1], &rows[i]) != 0;
    symbol_t *places = tool_need(calloc(callers + 1, sizeof *places)), *of = tool_need(calloc(callers + 1, sizeof *of));
    for (size_t i = 0; i < found->count; i++)
        if (i == 0 || by_caller(&rows[i - 1], &rows[i]) != 0)
            places[at] = of[at] = find_module(&maps, rows[i]->process, rows[i]->sum.caller), at++;
    qsort(places, callers, sizeof *places, by_symbol);
    for (size_t i = 0; i < callers; i++)
        if (found->place_count == 0 || by_symbol(&places[found->place_count - 1], &places[i]) != 0)
            places[found->place_count++] = places[i];
    symbols_find(places, found->place_count);
    qsort(places, found->place_count, sizeof *places, by_symbol);
    at = 0;
    for (size_t i = 0; i < found->count; i++) {
        at += i > 0 && by_caller(&rows[i - 1], &rows[i]) != 0;
        rows[i]->place = bsearch(&of[at], places, found->place_count, sizeof *places, by_symbol);
    }
    found->places = places;
    free(rows);
    free(of);
}

static void read_record(const record_chunk_t *record, const end_t *end, double tick_ns, found_t *found)
{
    memset(found, 0, sizeof *found);
    found->tick_ns = tick_ns;
    read_rows(record, end, found);
    find_places(record, found);
    qsort(found->rows, found->count, sizeof *found->rows, by_waited);
}

/* The time that this share of the waits stayed below, ns; NAN: none waited. */
static double quantile(const row_t *row, double share, double tick_ns)
{
    uint64_t all = 0, below = 0;
    for (int i = 0; row->times && i < RECORD_BUCKETS; i++) all += row->times[i];
    if (all == 0) return NAN;
    uint32_t b = 0;
    while (b < RECORD_BUCKETS - 1 && (double)(below + row->times[b]) < share * (double)all) below += row->times[b++];
    double ticks = record_bucket_ticks(b);
    return (ticks < (double)row->sum.worst ? ticks : (double)row->sum.worst) * tick_ns;
}

static const char *place_text(const symbol_t *place)
{
    static char text[512];
    const char *file = place->module ? strrchr(place->module, '/') + 1 : NULL;
    if (place->function[0] && place->line[0])
        snprintf(text, sizeof text, "%s (%s)", place->function, place->line);
    else if (place->function[0])
        snprintf(text, sizeof text, "%s (%s)", place->function, file);
    else if (file)
        snprintf(text, sizeof text, "%s+0x%" PRIx64, file, place->offset);
    else
        snprintf(text, sizeof text, "0x%" PRIx64, place->offset);
    return text;
}

/* Rows to show. Where one place uses many objects, such as one in each item of a list, these are one row. */
enum { SHOWN = 10, MANY = 4 };
static row_t *summary(const found_t *found, uint32_t kind, size_t *count)
{
    row_t *rows = tool_need(calloc(found->count + 1, sizeof *rows));
    size_t *used =
        tool_need(calloc(found->place_count + 1, sizeof *used)); /* objects of each place; then its row, plus one */
    for (size_t i = 0; i < found->count; i++)
        if (found->rows[i].sum.kind == kind) used[found->rows[i].place - found->places]++;
    for (size_t i = 0; i < found->place_count; i++) used[i] = used[i] > MANY ? SIZE_MAX : 0;
    for (size_t i = 0; i < found->count; i++) {
        const row_t *row = &found->rows[i];
        size_t *in = &used[row->place - found->places];
        if (row->sum.kind != kind) continue;
        if (*in != 0 && *in != SIZE_MAX) {
            add_row(&rows[*in - 1], row);
            rows[*in - 1].objects++;
            continue;
        }
        rows[*count] = *row;
        if (*in == SIZE_MAX) { /* others will be added, but not to the row that this is a copy of */
            *in = *count + 1;
            rows[*count].times = tool_need(calloc(RECORD_BUCKETS, sizeof *row->times));
            if (row->times) memcpy(rows[*count].times, row->times, RECORD_BUCKETS * sizeof *row->times);
        }
        (*count)++;
    }
    qsort(rows, *count, sizeof *rows, by_waited);
    free(used);
    return rows;
}

/* A time as the table has it; + where it was not over when the program ended. */
static const char *time_text(double ns, bool still)
{
    static char text[64];
    if (!(ns > 0)) return "-";
    snprintf(text, sizeof text, "%s%s", tool_duration(ns), still ? "+" : "");
    return text;
}

/* Whether one of them was not over. */
static bool print_rows(const found_t *found, uint32_t kind)
{
    static const char *const mutex_heads[] = {
        "<waits for a mutex in", "<mutex", ">acquired", ">contended", ">waited", ">p50", ">p99", ">worst", ">held"
    };
    static const char *const cond_heads[] = {
        "<waits for a condition in", "<condition", ">waits", ">in vain", ">waited", ">p50", ">p99", ">worst"
    };
    bool mutexes = kind == RECORD_MUTEX;
    bool still = false;
    size_t count = 0;
    row_t *rows = summary(found, kind, &count);
    if (count == 0) {
        free(rows);
        return false;
    }
    tool_table_t *table = tool_table(mutexes ? 9 : 8, mutexes ? mutex_heads : cond_heads);
    for (size_t i = 0; i < count && i < SHOWN; i++) {
        const row_t *row = &rows[i];
        tool_cell(table, "%s", place_text(row->place));
        if (row->objects > 1)
            tool_cell(table, "%" PRIu64 " of them", row->objects);
        else
            tool_cell(table, "0x%" PRIx64, row->sum.object);
        tool_cell(table, "%" PRIu64, row->sum.count);
        tool_cell(table, "%" PRIu64, row->sum.contended);
        tool_cell(table, "%s", time_text((double)row->sum.waited * found->tick_ns, row->sum.still_waiting));
        tool_cell(table, "%s", time_text(quantile(row, 0.5, found->tick_ns), false));
        tool_cell(table, "%s", time_text(quantile(row, 0.99, found->tick_ns), false));
        tool_cell(table, "%s", time_text((double)row->sum.worst * found->tick_ns, false));
        if (mutexes) tool_cell(table, "%s", time_text((double)row->sum.held * found->tick_ns, row->sum.still_held));
        still = still || row->sum.still_waiting || row->sum.still_held;
    }
    fputc('\n', stderr);
    tool_table_print(table, stderr, 0);
    if (count > SHOWN) fprintf(stderr, "and %zu more\n", count - SHOWN);
    free(rows);
    return still;
}

static void print_found(const found_t *found, const record_chunk_t *record, const plan_t *plan)
{
    const char *locks = plan->keeps ? "the C library's locks" : "concede's locks";
    if (record->header.processes == 0) {
        fprintf(stderr, "\nconcede try: libconcede-pthread.so did not get into %s, so nothing is known of its locks.\n",
                plan->arguments[0]);
        return;
    }
    fprintf(stderr, "\nconcede try: %s on %s\n", plan->arguments[0], locks);
    if (found->count == 0)
        fprintf(stderr,
                "No mutex and no condition variable was seen. What is linked statically, for 32 bits, setuid or "
                "run as another user is not seen if the program executes it.\n");
    bool still = print_rows(found, RECORD_MUTEX);
    still = print_rows(found, RECORD_COND) || still;
    if (still) fprintf(stderr, "+: not over when the program ended; until then it took so long.\n");
    if (record->header.dropped)
        fprintf(stderr, "There were too many locks to watch: %u uses are missing.\n", record->header.dropped);
}

/* Nanoseconds, whole ones. */
static void write_ns(json_writer_t *w, const char *key, double ns)
{
    json_number(w, key, rint(ns));
}

static void write_rows(json_writer_t *w, const found_t *found, uint32_t kind)
{
    char object[32];
    json_open(w, kind == RECORD_MUTEX ? "mutexes" : "conditions", '[');
    for (size_t i = 0; i < found->count; i++) {
        const row_t *row = &found->rows[i];
        if (row->sum.kind != kind) continue;
        snprintf(object, sizeof object, "0x%" PRIx64, row->sum.object);
        json_open(w, NULL, '{');
        json_integer(w, "process", row->process);
        json_string(w, "object", object);
        json_string(w, "module", row->place->module);
        json_integer(w, "offset", row->place->offset);
        json_string(w, "function", row->place->function[0] ? row->place->function : NULL);
        json_string(w, "line", row->place->line[0] ? row->place->line : NULL);
        json_integer(w, kind == RECORD_MUTEX ? "acquired" : "waits", row->sum.count);
        json_integer(w, kind == RECORD_MUTEX ? "contended" : "in_vain", row->sum.contended);
        write_ns(w, "waited_ns", (double)row->sum.waited * found->tick_ns);
        write_ns(w, "p50_ns", quantile(row, 0.5, found->tick_ns));
        write_ns(w, "p99_ns", quantile(row, 0.99, found->tick_ns));
        write_ns(w, "worst_ns", (double)row->sum.worst * found->tick_ns);
        json_integer(w, "still_waiting", row->sum.still_waiting);
        if (kind == RECORD_MUTEX) {
            write_ns(w, "held_ns", row->sum.held ? (double)row->sum.held * found->tick_ns : NAN);
            json_integer(w, "still_held", row->sum.still_held);
        }
        json_open(w, "times", '[');
        for (uint32_t b = 0; row->times && b < RECORD_BUCKETS; b++) {
            if (!row->times[b]) continue;
            json_open(w, NULL, '[');
            write_ns(w, NULL, record_bucket_ticks(b) * found->tick_ns);
            json_integer(w, NULL, row->times[b]);
            json_close(w);
        }
        json_close(w);
        json_close(w);
    }
    json_close(w);
}

static void write_run(json_writer_t *w, const char *key, const run_t *run)
{
    json_open(w, key, '{');
    if (WIFEXITED(run->status))
        json_integer(w, "exit_code", (uint64_t)WEXITSTATUS(run->status));
    else
        json_integer(w, "signal", (uint64_t)WTERMSIG(run->status));
    write_ns(w, "wall_ns", run->wall);
    write_ns(w, "cpu_ns", run->cpu);
    json_integer(w, "context_switches", (uint64_t)run->switches);
    json_close(w);
}

static void begin_json(json_writer_t *w, const plan_t *plan, const char *locks)
{
    json_open(w, NULL, '{');
    json_integer(w, "concede_try", 1);
    json_string(w, "version", CC_VERSION_STRING);
    json_open(w, "program", '[');
    for (char **a = plan->arguments; *a; a++) json_string(w, NULL, *a);
    json_close(w);
    json_string(w, "locks", locks);
}

static int watch(plan_t *plan, tool_output_t *output)
{
    host_t host;
    char path[64];
    host_describe(&host);
    record_chunk_t *record = create_record(host.tsc_invariant, path, sizeof path);
    plan->record = path;
    plan->preloads = true;
    uint64_t ticks = record_ticks(host.tsc_invariant), ns = cc_now_ns();
    run_t run = run_program(plan);
    end_t end = { run.process, record_ticks(host.tsc_invariant) };
    while (cc_now_ns() - ns < 2000000) {} /* long enough to tell what a tick is */
    ticks = record_ticks(host.tsc_invariant) - ticks;
    ns = cc_now_ns() - ns;
    found_t found;
    read_record(record, &end, (double)ns / (double)ticks, &found);
    print_found(&found, record, plan);
    if (output->path) {
        json_writer_t w = { .out = tool_output_begin(output) };
        begin_json(&w, plan, !record->header.processes ? NULL : plan->keeps ? "libc" : "concede");
        write_run(&w, "run", &run);
        json_integer(&w, "dropped", record->header.dropped);
        write_rows(&w, &found, RECORD_MUTEX);
        write_rows(&w, &found, RECORD_COND);
        json_close(&w);
        tool_output_end(output);
    }
    return run.status;
}

/* ---- comparing ---- */

/* The median of the ratios, and between what it lies with a certainty of 95 %: by the binomial distribution, the k-th
 * smallest and the k-th largest, which for fewer than 6 pairs there is not. */
typedef struct ratio {
    double median, low, high;
    bool certain;
} ratio_t;

static double median_of(const double *sorted, size_t n)
{
    return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

static ratio_t ratio_of(double *ratios, size_t n)
{
    qsort(ratios, n, sizeof *ratios, tool_by_value);
    double below = 0, term = pow(0.5, (double)n); /* how likely fewer than k of n fall on one side */
    size_t k = 0;
    while (k < n / 2 && 2 * (below + term) <= 0.05) {
        below += term;
        term *= (double)(n - k) / (double)(k + 1);
        k++;
    }
    ratio_t ratio = { median_of(ratios, n), ratios[k ? k - 1 : 0], ratios[n - (k ? k : 1)], k > 0 };
    return ratio;
}

/* What the program reads, to be read again and again: our input if that is a file, else a copy of all of it. */
static const size_t longest_input = (size_t)1 << 30;
static int repeatable_input(void)
{
    struct stat status;
    char bytes[65536];
    if (fstat(STDIN_FILENO, &status) != 0 || S_ISCHR(status.st_mode) || S_ISDIR(status.st_mode)) return -1;
    if (S_ISREG(status.st_mode)) return STDIN_FILENO;
    int copy = memfd_create("concede-input", 0);
    if (copy < 0) tool_die("cannot copy the input: %s", strerror(errno));
    tool_progress("reading the input to its end, for all runs", "", 0);
    size_t length = 0;
    for (ssize_t got; (got = read(STDIN_FILENO, bytes, sizeof bytes)) != 0; length += (size_t)got) {
        if (got < 0 || write(copy, bytes, (size_t)got) != got) tool_die("cannot copy the input: %s", strerror(errno));
        if (length > longest_input) tool_die("the input is longer than 1 GiB: let it be a file, not a pipe");
    }
    tool_progress_end();
    return copy;
}

static const char *verdict(const ratio_t *ratio)
{
    if (!ratio->certain) return "too few runs to tell; take 6 or more";
    if (ratio->low <= 1 && ratio->high >= 1) return "not more than noise";
    return ratio->high < 1 ? "less, and more than noise" : "more, and more than noise";
}

enum { WALL, CPU, SWITCHES, FIGURES };
static const char *const figures[] = { "wall time", "CPU time", "context switches" };
static const char *const figure_keys[] = { "wall", "cpu", "context_switches" };

static double figure(const run_t *run, int which)
{
    double value = which == WALL ? run->wall : which == CPU ? run->cpu : run->switches;
    return value > 0 ? value : 1;
}

static const char *figure_text(double value, int which)
{
    return which == SWITCHES ? tool_count(value) : tool_duration(value);
}

/* Runs the pairs, whose first is now the one and now the other; returns how many are complete. Ends early if it is
 * interrupted, with how that run ended. */
static size_t run_pairs(plan_t *plan, size_t pairs, const run_t *first, run_t *runs[2], int *status)
{
    for (size_t i = 0; i < pairs; i++) {
        for (int turn = 0; turn < 2; turn++) {
            int ours = turn ^ (int)(i & 1);
            const char *locks = ours ? "concede's locks" : "the C library's locks";
            if (interrupted) return i;
            tool_progress("comparing", locks, 2 * (double)(pairs - i) * first->wall / 1e9);
            plan->preloads = ours;
            runs[ours][i] = run_program(plan);
            if (interrupted) {
                *status = runs[ours][i].status;
                return i;
            }
            if (runs[ours][i].status != first->status) {
                tool_progress_end();
                fprintf(stderr, "concede try: run %zu on %s ended with %s", i + 1, locks, ending(runs[ours][i].status));
                fprintf(stderr, ", the first one with %s\n", ending(first->status));
            }
        }
    }
    return pairs;
}

/* A first run, with our input and output, on concede's locks: it warms the caches and does not count. Then pairs. */
static void write_figure(json_writer_t *w, int which, const ratio_t *ratio, double *const values[2], size_t pairs)
{
    json_open(w, figure_keys[which], '{');
    json_number(w, "ratio", ratio->median);
    json_number(w, "low", ratio->low);
    json_number(w, "high", ratio->high);
    json_bool(w, "more_than_noise", ratio->certain && (ratio->low > 1 || ratio->high < 1));
    for (int ours = 0; ours < 2; ours++) {
        json_open(w, ours ? "concede" : "libc", '[');
        for (size_t i = 0; i < pairs; i++) write_ns(w, NULL, values[ours][i]);
        json_close(w);
    }
    json_close(w);
}

/* Adds a row to the table; sorts the values. */
static void add_figure(tool_table_t *table, int which, const ratio_t *ratio, double *const values[2], size_t pairs)
{
    tool_cell(table, "%s", figures[which]);
    for (int ours = 0; ours < 2; ours++) {
        qsort(values[ours], pairs, sizeof(double), tool_by_value);
        tool_cell(table, "%s", figure_text(median_of(values[ours], pairs), which));
    }
    tool_cell(table, "%.3f", ratio->median);
    tool_cell(table, "%.3f", ratio->low);
    tool_cell(table, "%.3f", ratio->high);
    tool_cell(table, "%s", verdict(ratio));
}

static int compare(plan_t *plan, size_t pairs, tool_output_t *output)
{
    run_t *runs[2] = { tool_need(calloc(pairs, sizeof(run_t))), tool_need(calloc(pairs, sizeof(run_t))) };
    plan->input = repeatable_input();
    plan->preloads = true;
    run_t first = run_program(plan);
    int status = first.status;
    if (!WIFEXITED(status) || interrupted) return status;
    plan->quiet = true;
    pairs = run_pairs(plan, pairs, &first, runs, &status);
    tool_progress_end();
    if (pairs == 0) return status;
    static const char *const heads[] = { "<", ">C library", ">concede", ">ratio", ">from", ">to", "<" };
    tool_table_t *table = tool_table(7, heads);
    double *values[3]; /* the C library's, concede's, and the second by the first */
    json_writer_t w = { .out = output->path ? tool_output_begin(output) : NULL };
    for (int i = 0; i < 3; i++) values[i] = tool_need(calloc(pairs, sizeof(double)));
    if (w.out) {
        begin_json(&w, plan, "concede");
        if (interrupted) json_bool(&w, "interrupted", true);
        write_run(&w, "run", &first);
        json_open(&w, "compare", '{');
        json_integer(&w, "pairs", pairs);
    }
    for (int f = 0; f < FIGURES; f++) {
        for (size_t i = 0; i < pairs; i++) {
            for (int ours = 0; ours < 2; ours++) values[ours][i] = figure(&runs[ours][i], f);
            values[2][i] = values[1][i] / values[0][i];
        }
        ratio_t ratio = ratio_of(values[2], pairs);
        if (w.out) write_figure(&w, f, &ratio, values, pairs);
        add_figure(table, f, &ratio, values, pairs);
    }
    fprintf(stderr, "\nconcede try: %s, %zu times each way, concede's locks by the C library's\n", plan->arguments[0],
            pairs);
    tool_table_print(table, stderr, 0);
    if (w.out) {
        json_close(&w);
        json_close(&w);
        tool_output_end(output);
    }
    for (int i = 0; i < 3; i++) free(values[i]);
    for (int i = 0; i < 2; i++) free(runs[i]);
    return status;
}

static int run(int argc, char **argv)
{
    tool_args_t args = { .command = &concede_try, .argc = argc, .argv = argv };
    plan_t plan = { .input = -1 };
    tool_output_t output = { NULL, NULL };
    uint64_t pairs = 0;
    for (int c; !plan.arguments && (c = tool_next(&args)) != TOOL_END;) {
        switch (c) {
        case TOOL_WORD: plan.arguments = argv + args.index - 1; break; /* what follows is the program's */
        case COMPARE:
            if (!tool_parse_count(args.value, 1, 1000, &pairs))
                tool_usage_error(&concede_try, "--compare takes a number from 1 to 1000");
            break;
        case PROFILE: plan.keeps = true; break;
        default:
            if (is_program(args.value))
                tool_usage_error(&concede_try, "--json: '%s' is a program; put -- before the program to run",
                                 args.value);
            output.path = args.value;
            break;
        }
    }
    if (!plan.arguments) tool_usage_error(&concede_try, "which program? Name it after the options");
    if (pairs && plan.keeps) tool_usage_error(&concede_try, "--compare and --profile do not go together");
    plan.path = find_program(plan.arguments[0]);
    check_program(plan.path, 0);
    plan.library = find_library();
    if (output.path) tool_output_open(&output, output.path);
    return end_as(pairs ? compare(&plan, (size_t)pairs, &output) : watch(&plan, &output));
}

const tool_command_t concede_try = {
    "try",
    "[OPTION]... [--] PROGRAM [ARGUMENT]...",
    "Run a program with its mutexes and condition variables on concede, and tell what it waits for.",
    "The program needs no change: libconcede-pthread.so is put before the C library with LD_PRELOAD. Its input, output "
    "and "
    "exit code are its own; what was found is printed to the standard error at the end.",
    options,
    run,
};
