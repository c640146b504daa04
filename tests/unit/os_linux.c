/* src/os_linux.c on a kernel that answers as told: every errno, what it is asked for, and cgroup files of all kinds.
 * os_linux_time64.c is this file with the second futex call that a 32-bit kernel may have. */
#include "harness.h"

#if defined(__linux__)
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* The next answer: what syscall() returns, and errno with it. `lacks` is a call that the kernel does not have. */
static struct {
    long result, lacks;
    int error;
    unsigned calls, yields;
    long number;
    const void *word;
    int operation;
    uint32_t value;
    const void *timeout;
    struct {
        int64_t tv_sec, tv_nsec;
    } until;
} kernel;

#if defined(SYS_futex)
#define FUTEX_NUMBER SYS_futex
#else
#define FUTEX_NUMBER -1
#endif
#if defined(SYS_futex_time64)
#define FUTEX_TIME64_NUMBER SYS_futex_time64
#else
#define FUTEX_TIME64_NUMBER -1
#endif

/* The time that a futex call was given, in the form that this call has. */
static void take_time(long number)
{
    if (number == FUTEX_TIME64_NUMBER) {
        memcpy(&kernel.until, kernel.timeout, sizeof kernel.until);
    } else if (FUTEX_TIME64_NUMBER != -1) {
        int32_t narrow[2];
        memcpy(narrow, kernel.timeout, sizeof narrow);
        kernel.until.tv_sec = narrow[0];
        kernel.until.tv_nsec = narrow[1];
    } else {
        struct timespec own;
        memcpy(&own, kernel.timeout, sizeof own);
        kernel.until.tv_sec = own.tv_sec;
        kernel.until.tv_nsec = own.tv_nsec;
    }
}

static long fake_syscall(long number, ...)
{
    va_list list;
    va_start(list, number);
    if (number == SYS_openat || number == SYS_read || number == SYS_getdents64 ||
        number == SYS_close) { /* real files */
        int file = va_arg(list, int);
        void *bytes = number == SYS_close ? NULL : va_arg(list, void *);
        size_t size = number == SYS_openat ? (size_t)va_arg(list, int) : number == SYS_close ? 0 : va_arg(list, size_t);
        va_end(list);
        return syscall(number, file, bytes, size);
    }
    kernel.calls++;
    if (kernel.lacks != 0 && number == kernel.lacks) {
        va_end(list);
        errno = ENOSYS;
        return -1;
    }
    kernel.number = number;
    if (number == FUTEX_NUMBER || number == FUTEX_TIME64_NUMBER) {
        kernel.word = va_arg(list, const void *);
        kernel.operation = va_arg(list, int);
        kernel.value = va_arg(list, uint32_t);
        kernel.timeout = va_arg(list, const void *);
        if (kernel.timeout != NULL) take_time(number);
    }
    if (number == SYS_sched_getaffinity && kernel.result > 0) {
        (void)va_arg(list, int);
        size_t size = va_arg(list, size_t);
        memset(va_arg(list, void *), 0xff, (size_t)kernel.result);
        CHECK(size >= (size_t)kernel.result);
    }
    va_end(list);
    if (kernel.error != 0) errno = kernel.error;
    return kernel.error != 0 ? -1 : kernel.result;
}

static int fake_sched_yield(void)
{
    kernel.yields++;
    if (kernel.error != 0) errno = kernel.error;
    return kernel.error != 0 ? -1 : 0;
}

/* In place of the C library's, for the whole program. */
static int on_cpu;
int sched_getcpu(void)
{
    if (on_cpu < 0) errno = ENOSYS;
    return on_cpu;
}

static bool is_secure; /* whether the kernel says that the program has more rights than who started it */

static unsigned long fake_getauxval(unsigned long type)
{
    return type == 23 ? is_secure : 0; /* AT_SECURE */
}

#include <sys/auxv.h>
#define CC_OS_SYSCALL_ fake_syscall
#define sched_yield    fake_sched_yield
#define getauxval      fake_getauxval
#include "../../src/os_linux.c"
#undef sched_yield
#undef getauxval

enum { ERRORS = 134 }; /* Linux has errno 1 to 133 */

static void answer(long result, int error)
{
    memset(&kernel, 0, sizeof kernel);
    kernel.result = result;
    kernel.error = error;
    errno = 4711;
}

TEST(a_cpu_that_the_system_does_not_tell_leaves_errno_alone)
{
    errno = 4711;
    on_cpu = -1;
    CHECK_EQ(cc_os_cpu_(), UINT32_MAX);
    CHECK_EQ(errno, 4711);
    on_cpu = 5;
    CHECK_EQ(cc_os_cpu_(), 5);
    on_cpu = 0;
}

TEST(every_errno_of_a_wait_becomes_one_of_the_contract)
{
    for (int error = 0; error < ERRORS; error++) {
        uint32_t word = 0;
        answer(0, error);
        int result = cc_os_wait_(&word, 0, CC_FOREVER);
        bool known = error == 0 || error == EAGAIN || error == EINTR || error == ETIMEDOUT;
        CHECK_EQ(result, known ? error : 0);
        CHECK_EQ(kernel.yields, !known); /* a broken futex must not spin at full speed */
        CHECK_EQ(errno, 4711);
    }
}

TEST(a_refused_wait_still_keeps_its_deadline)
{
    uint32_t word = 0;
    answer(0, ENOSYS);
    CHECK_EQ(cc_os_wait_(&word, 0, 1), ETIMEDOUT);
    CHECK_EQ(cc_os_wait_(&word, 0, cc_os_now_() + UINT64_C(3600000000000)), 0);
}

TEST(a_wait_asks_for_an_absolute_time_on_the_monotonic_clock)
{
    uint32_t word = 0;
    answer(0, 0);
    (void)cc_os_wait_(&word, 77, UINT64_C(5000000007));
    CHECK(kernel.word == &word);
    CHECK_EQ(kernel.operation, 9 | 128); /* FUTEX_WAIT_BITSET, private, not FUTEX_CLOCK_REALTIME */
    CHECK_EQ(kernel.value, 77);
    CHECK_EQ(kernel.until.tv_sec, 5);
    CHECK_EQ(kernel.until.tv_nsec, 7);
    (void)cc_os_wait_(&word, 77, CC_FOREVER);
    CHECK(kernel.timeout == NULL);
    (void)cc_os_wait_(&word, 77, CC_FOREVER - 1);
    CHECK(kernel.until.tv_sec > 0);
}

#if defined(SYS_futex_time64) && defined(SYS_futex)
/* A wait by one call and a wake by the other would never meet: both go on to the call that the kernel has. */
TEST(a_kernel_with_one_of_the_two_futex_calls_waits_and_wakes_by_it)
{
    const long calls[] = { SYS_futex, SYS_futex_time64 };
    for (int i = 0; i < 2; i++) {
        uint32_t word = 0;
        answer(0, 0);
        kernel.lacks = calls[i];
        CHECK_EQ(cc_os_wait_(&word, 77, UINT64_C(5000000007)), 0);
        CHECK_EQ(kernel.number, calls[1 - i]);
        CHECK_EQ(kernel.operation, 9 | 128);
        CHECK_EQ(kernel.until.tv_sec, 5);
        CHECK_EQ(kernel.until.tv_nsec, 7);
        CHECK_EQ(kernel.yields, 0);
        kernel.number = 0;
        cc_os_wake_(&word, 3);
        CHECK_EQ(kernel.number, calls[1 - i]);
        CHECK_EQ(kernel.operation, 1 | 128);
        CHECK_EQ(kernel.value, 3);
        CHECK_EQ(errno, 4711);
    }
}

TEST(a_time_of_32_bits_ends_early_instead_of_wrapping)
{
    uint32_t word = 0;
    answer(0, 0);
    kernel.lacks = SYS_futex_time64;
    (void)cc_os_wait_(&word, 0, UINT64_C(5000000000) * 1000000000);
    CHECK_EQ(kernel.until.tv_sec, INT32_MAX);
}
#endif

TEST(a_wake_of_all_fits_the_kernel_s_int)
{
    uint32_t word = 0;
    answer(0, 0);
    cc_os_wake_(&word, CC_OS_ALL_);
    CHECK_EQ(kernel.value, INT32_MAX);
    cc_os_wake_(&word, 1);
    CHECK_EQ(kernel.value, 1);
    CHECK_EQ(kernel.operation, 1 | 128);
    for (int error = 1; error < ERRORS; error++) { /* EFAULT: the memory is gone; none may show */
        answer(0, error);
        cc_os_wake_(&word, 1);
        CHECK_EQ(errno, 4711);
        CHECK(kernel.calls == 1 || (error == ENOSYS && FUTEX_TIME64_NUMBER != -1));
    }
}

TEST(membarrier_is_had_only_if_the_kernel_says_so)
{
    answer(0, 0);
    CHECK(cc_os_membarrier_register_() && cc_os_membarrier_());
    CHECK_EQ(kernel.calls, 2);
    for (int error = 1; error < ERRORS; error++) {
        answer(0, error);
        CHECK(!cc_os_membarrier_register_());
        CHECK(!cc_os_membarrier_());
        CHECK_EQ(errno, 4711);
    }
}

TEST(a_refused_yield_does_not_show)
{
    answer(0, EPERM);
    cc_os_yield_();
    CHECK_EQ(kernel.yields, 1);
    CHECK_EQ(errno, 4711);
}

TEST(cpus_are_counted_beyond_one_word_and_never_zero)
{
    answer(32, 0); /* bytes of a mask, all ones */
    CHECK_EQ(affinity_cpus_(), 256);
    answer(0, ENOSYS);
    CHECK_EQ(affinity_cpus_(), 0);
    CHECK_EQ(cc_os_cpus_(), 1);
}

TEST(a_privileged_program_has_no_environment)
{
    REQUIRE(setenv("CONCEDE_TEST", "here", 1) == 0);
    is_secure = false;
    CHECK(strcmp(cc_os_environment_("CONCEDE_TEST"), "here") == 0);
    CHECK(cc_os_environment_("CONCEDE_NO_SUCH_THING") == NULL);
    is_secure = true;
    CHECK(cc_os_environment_("CONCEDE_TEST") == NULL);
    is_secure = false;
}

/* A tree of files like /sys/fs/cgroup, in a folder of its own. */
static char root[64];

static void put(const char *path, const char *text)
{
    char full[256];
    snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; *slash++ = '/') {
        *slash = 0;
        mkdir(full, 0700);
    }
    FILE *file = fopen(full, "w");
    REQUIRE(file != NULL);
    fputs(text, file);
    fclose(file);
}

static uint32_t cpus_of(const char *table)
{
    char path[80];
    put("table", table);
    snprintf(path, sizeof path, "%s/table", root);
    return cgroup_cpus_(path, root);
}

static void new_tree(void)
{
    strcpy(root, "/tmp/concede-cgroup-XXXXXX");
    REQUIRE(mkdtemp(root) != NULL);
}

static void remove_tree(void)
{
    char command[96];
    snprintf(command, sizeof command, "rm -r %s", root);
    CHECK_EQ(system(command), 0);
}

TEST(quota_of_cgroup_version_2)
{
    new_tree();
    CHECK_EQ(cpus_of("0::/\n"), UINT32_MAX); /* the root has no such file */
    put("a/b/cpu.max", "max 100000\n");
    CHECK_EQ(cpus_of("0::/a/b\n"), UINT32_MAX);
    put("a/b/cpu.max", "300000 100000\n");
    CHECK_EQ(cpus_of("0::/a/b\n"), 3);
    CHECK_EQ(cpus_of("0::/a/b"), 3);
    put("a/cpu.max", "200000 100000\n"); /* a parent's quota binds too */
    CHECK_EQ(cpus_of("0::/a/b\n"), 2);
    put("a/cpu.max", "400000 100000\n");
    CHECK_EQ(cpus_of("0::/a/b\n"), 3);
    put("cpu.max", "100000 100000\n"); /* a container sees its own group as the root */
    CHECK_EQ(cpus_of("0::/a/b\n"), 1);
    CHECK_EQ(cpus_of("0::/not/visible/here\n"), 1);
    remove_tree();
}

TEST(a_fraction_of_a_cpu_counts_down_and_at_least_as_one)
{
    static const struct {
        const char *text;
        uint32_t cpus;
    } cases[] = { { "50000 100000", 1 },  { "1 100000", 1 },      { "150000 100000", 1 },
                  { "199999 100000", 1 }, { "250000 100000", 2 }, { "10000 5000", 2 } };
    new_tree();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        put("g/cpu.max", cases[i].text);
        CHECK_EQ(cpus_of("0::/g\n"), cases[i].cpus);
    }
    remove_tree();
}

TEST(quota_of_cgroup_version_1)
{
    new_tree();
    const char *table = "7:memory:/m\n4:cpu,cpuacct:/docker/x\n2:cpuset:/c\n";
    CHECK_EQ(cpus_of(table), UINT32_MAX);
    put("cpu,cpuacct/docker/x/cpu.cfs_quota_us", "400000\n");
    CHECK_EQ(cpus_of(table), UINT32_MAX); /* of which period? */
    put("cpu,cpuacct/docker/x/cpu.cfs_quota_us", "-1\n");
    put("cpu,cpuacct/docker/x/cpu.cfs_period_us", "100000\n");
    CHECK_EQ(cpus_of(table), UINT32_MAX);
    put("cpu,cpuacct/docker/x/cpu.cfs_quota_us", "400000\n");
    CHECK_EQ(cpus_of(table), 4);
    put("cpu,cpuacct/docker/cpu.cfs_quota_us", "200000\n");
    put("cpu,cpuacct/docker/cpu.cfs_period_us", "100000\n");
    CHECK_EQ(cpus_of(table), 2);
    put("memory/m/cpu.cfs_quota_us", "100000\n"); /* not the controller that counts */
    put("memory/m/cpu.cfs_period_us", "100000\n");
    put("cpuset/c/cpu.cfs_quota_us", "100000\n");
    put("cpuset/c/cpu.cfs_period_us", "100000\n");
    CHECK_EQ(cpus_of(table), 2);
    put("cpu/cpu.cfs_quota_us", "100000\n");
    put("cpu/cpu.cfs_period_us", "100000\n");
    CHECK_EQ(cpus_of("3:cpu:/\n"), 1);
    put("cpu.max", "100000 100000\n"); /* both versions mounted */
    CHECK_EQ(cpus_of("4:cpu,cpuacct:/docker/x\n0::/\n"), 1);
    remove_tree();
}

TEST(files_that_make_no_sense_set_no_limit)
{
    static const char *const texts[] = { "", " ", "\n", "abc", "100000", "100000 0", "100000 max", "max", "-1 -1" };
    new_tree();
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        put("g/cpu.max", texts[i]);
        CHECK_EQ(cpus_of("0::/g\n"), UINT32_MAX);
    }
    put("g/cpu.max", "99999999999999999999999999 1");
    CHECK(cpus_of("0::/g\n") >= 1);
    CHECK_EQ(cpus_of(""), UINT32_MAX);
    CHECK_EQ(cpus_of("no colons\n::\n:\n\n"), UINT32_MAX);
    char table[2000] = "0::/";
    memset(table + 4, 'x', 1900); /* a path longer than any buffer */
    CHECK_EQ(cpus_of(table), UINT32_MAX);
    errno = 4711;
    CHECK_EQ(cgroup_cpus_("/no/such/file", root), UINT32_MAX);
    CHECK_EQ(cgroup_cpus_(root, root), UINT32_MAX); /* a directory opens and does not read */
    CHECK_EQ(errno, 4711);
    remove_tree();
}
#endif
