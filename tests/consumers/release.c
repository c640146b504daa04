/* Uses the lock in one of the situations in which a release by a plain store could go wrong, and says how it was
 * released: see release.py. usage: release SITUATION [PLUGIN]
 *
 * CC_ARCH_SEQUENCE_DELAY_ counts the stores: it stands between the look at the word and the store. */
#if defined(__x86_64__) && defined(__linux__)
#define CC_ARCH_SEQUENCE_DELAY_ "movq stores_begun@GOTPCREL(%%rip), %%rax\n\tincq (%%rax)\n\t"
#endif
#include CONCEDE

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if __has_include(<linux/filter.h>)
#include <linux/filter.h>
#include <linux/seccomp.h>
#endif

#if defined(__cplusplus)
extern "C" {
#endif
#if defined(PLUGIN)
__attribute__((visibility("default"))) extern uint64_t stores_begun;
#else
/* The plugin counts here, too. A count that two threads lose does no harm. */
#if defined(__clang__)
__attribute__((used)) uint64_t stores_begun;
#else
__attribute__((used, externally_visible)) uint64_t stores_begun;
#endif
volatile int is_over, is_marked; /* for the debugger */
#endif
#if defined(__GLIBC__)
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));
#endif
#if defined(__cplusplus)
}
#endif

#define CHECK(condition)                                                 \
    do {                                                                 \
        if (!(condition)) {                                              \
            printf("release.c:%d: " #condition " is false\n", __LINE__); \
            exit(1);                                                     \
        }                                                                \
    } while (0)

typedef void use_t(cc_lock_t *lock, uint64_t *count, int rounds);

/* Mostly short sections, and now and then one that is long enough for the others to sleep. */
static void use(cc_lock_t *lock, uint64_t *count, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        cc_lock_acquire(lock);
        ++*count;
        if (i % 100 == 99) {
            struct timespec a_while = { 0, 200000 };
            nanosleep(&a_while, NULL);
        }
        cc_lock_release(lock);
    }
}

#if defined(PLUGIN)

#if defined(__cplusplus)
extern "C"
#endif
    __attribute__((visibility("default"))) void
    plugin_use(cc_lock_t *lock, uint64_t *count, int rounds);
void plugin_use(cc_lock_t *lock, uint64_t *count, int rounds)
{
    use(lock, count, rounds);
}

#else

static cc_lock_t lock = CC_LOCK_INIT;
static uint64_t count;
static use_t *users[2] = { use, use };

/* How a lock that nobody waits for is released in this thread. */
static const char *way(void)
{
    cc_lock_t own = CC_LOCK_INIT;
    uint64_t before = stores_begun;
    for (int i = 0; i < 100; i++) {
        cc_lock_acquire(&own);
        cc_lock_release(&own);
    }
    return stores_begun - before > 50 ? "store" : "read-modify-write";
}

static void *thread_main(void *index)
{
    users[(uintptr_t)index % 2](&lock, &count, 1000);
    return NULL;
}

/* Threads that wait for each other, awake and asleep. Whoever is not woken waits for ever, and the alarm ends it. */
static void contend(void)
{
    pthread_t threads[4];
    count = 0;
    for (uintptr_t i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, thread_main, (void *)i) == 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    CHECK(count == 4000);
}

static void says_how(const char *where)
{
    printf("%s: by a %s\n", where, way());
    contend();
    fflush(stdout);
}

/* From here on the system call fails, as in a container that does not allow it. */
static void forbid(int number)
{
#if defined(SECCOMP_MODE_FILTER)
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1), /* EPERM */
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof filter / sizeof filter[0], filter };
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
#else
    CHECK(number < 0);
#endif
}

/* A thread for which no area is registered, as one that did not come from the C library. */
static void *unregistered_main(void *unused)
{
    (void)unused;
#if defined(__GLIBC__) && defined(__x86_64__)
    if (&__rseq_size != NULL && __rseq_size > 0) {
        char *area = (char *)__builtin_thread_pointer() + __rseq_offset;
        CHECK(syscall(SYS_rseq, area, 32, 1 /* UNREGISTER */, 0x53053053) == 0);
    }
#endif
    printf("unregistered: by a %s\n", way());
    uint64_t own_count = 0;
    use(&lock, &own_count, 1000); /* beside threads that release by a store */
    CHECK(own_count == 1000);
    return NULL;
}

static void unregistered(void)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, unregistered_main, NULL) == 0);
    contend();
    pthread_join(thread, NULL);
}

static void in_the_child(void)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        says_how("child");
        exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* Uses the lock in a plugin, and unloads it. The system still looks where the thread's last sequence was, when the
 * thread is interrupted: nothing must be there any more. */
static void nothing(int unused)
{
    (void)unused;
}

static void with_plugin(const char *path)
{
    signal(SIGUSR1, nothing);
    for (int i = 0; i < 20; i++) {
        void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!plugin) printf("%s\n", dlerror());
        CHECK(plugin);
        *(void **)&users[1] = dlsym(plugin, "plugin_use");
        CHECK(users[1]);
        uint64_t before = stores_begun;
        cc_lock_t own = CC_LOCK_INIT;
        users[1](&own, &count, 50);
        if (i == 0) printf("plugin: by a %s\n", stores_begun - before > 25 ? "store" : "read-modify-write");
        if (i < 3) contend(); /* and with this program's own code on the same lock */
        users[1](&own, &count, 1);
        dlclose(plugin);
        raise(SIGUSR1);
        CHECK(dlopen(path, RTLD_NOW | RTLD_NOLOAD) == NULL); /* it is really gone */
    }
    users[1] = use;
}

/* For a debugger that goes step by step. */
__attribute__((noinline)) void one_release(void);
void one_release(void)
{
    cc_lock_release(&lock);
    is_over = 1;
}

int main(int argc, char **argv)
{
    const char *situation = argc > 1 ? argv[1] : "plain";
    alarm(300);
    if (strcmp(situation, "plain") == 0) says_how("plain");
    if (strcmp(situation, "child") == 0) in_the_child();
    if (strcmp(situation, "unregistered") == 0) unregistered();
    if (strcmp(situation, "plugin") == 0) with_plugin(argv[2]);
    if (strcmp(situation, "late") == 0) { /* the barrier is taken away while the lock is in use */
        says_how("before");
        forbid(SYS_membarrier);
        contend();
        says_how("after");
    }
    if (strcmp(situation, "no-membarrier") == 0 || strcmp(situation, "no-rseq") == 0) {
        forbid(strcmp(situation, "no-rseq") == 0 ? SYS_rseq : SYS_membarrier);
        execl("/proc/self/exe", argv[0], "plain", (char *)NULL);
        return 1;
    }
    if (strcmp(situation, "step") == 0) {
        cc_lock_acquire(&lock);
        one_release();
        CHECK(!is_marked || (lock.word & CC_LOCK_PARKED_));
        CHECK(cc_lock_try_acquire(&lock));
    }
    return 0;
}

#endif
