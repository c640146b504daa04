/* shared.c: segments: what may be opened and what not, names and rights, and the channel in it, on the real system. How
 * it stands deaths is tests/kill. */
#include "harness.h"

#include <concede/concede.h>

#include <errno.h>

#if defined(__linux__)

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char name[64];

static const char *own_name(void)
{
    snprintf(name, sizeof name, "/concede-test-%d", (int)getpid());
    if (cc_shared_unlink(name) == 0) printf("%s was left over\n", name);
    return name;
}

/* Not in a sandbox, and not on another os_<system>.c. */
static bool is_there(void)
{
    cc_shared_t *shared;
    int fd;
    cc_channel_options_t options = CC_CHANNEL_OPTIONS_INIT(1, 1);
    int error = cc_shared_create_fd(&shared, &options, &fd);
    if (error == ENOSYS) return false;
    REQUIRE(error == 0);
    cc_shared_close(shared);
    close(fd);
    return true;
}

static cc_channel_options_t options_of(uint32_t kind, size_t capacity, size_t size)
{
    cc_channel_options_t options = { capacity, size, kind, CC_SNOOZE_ADAPTIVE };
    return options;
}

/* Both ends in one process, as two that opened it; and a third that does nothing. */
static void passes_messages(uint32_t kind, size_t capacity, size_t size)
{
    cc_shared_t *one, *two;
    unsigned char out[512], in[512];
    cc_channel_options_t options = options_of(kind, capacity, size);
    REQUIRE(cc_shared_create(&one, own_name(), &options) == 0);
    REQUIRE(cc_shared_open(&two, name) == 0);
    cc_channel_t *from = cc_shared_channel(one), *to = cc_shared_channel(two);
    CHECK(from != to);
    CHECK_EQ(cc_channel_capacity(to), cc_channel_capacity(from));
    for (unsigned i = 0; i < 3 * cc_channel_capacity(from); i++) {
        memset(out, (int)i + 1, size);
        CHECK_EQ(cc_channel_send(from, out), 0);
        CHECK_EQ(cc_channel_len(to), 1);
        CHECK_EQ(cc_channel_recv(to, in), 0);
        CHECK(memcmp(in, out, size) == 0);
    }
    CHECK_EQ(cc_channel_try_recv(to, in), EAGAIN);
    CHECK_EQ(cc_channel_recv_timeout(to, in, 1000), ETIMEDOUT);
    for (size_t i = 0; i < cc_channel_capacity(from); i++) CHECK_EQ(cc_channel_try_send(from, out), 0);
    CHECK_EQ(cc_channel_try_send(from, out), EAGAIN);
    CHECK_EQ(cc_channel_send_timeout(from, out, 1000), ETIMEDOUT);
    cc_channel_close(to);
    CHECK(cc_channel_is_closed(from));
    CHECK_EQ(cc_channel_send(from, out), EPIPE);
    for (size_t i = 0; i < cc_channel_capacity(from); i++) CHECK_EQ(cc_channel_recv(to, in), 0);
    CHECK_EQ(cc_channel_recv(to, in), EPIPE);
    CHECK_EQ(cc_channel_recv(from, in), EPIPE);
    cc_channel_destroy(from); /* does nothing: the segment is closed below */
    cc_shared_close(one);
    cc_shared_close(two);
    CHECK_EQ(cc_shared_unlink(name), 0);
}

TEST(messages_pass_between_two_that_opened_it)
{
    SKIP_IF(!is_there(), "this system has none");
    static const size_t sizes[] = { 1, 4, 8, 24, 100, 500 };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (size_t capacity = 1; capacity <= 64; capacity *= 8) {
            passes_messages(CC_CHANNEL_SPSC, capacity, sizes[i]);
            passes_messages(CC_CHANNEL_MPMC, capacity, sizes[i]);
        }
}

TEST(bursts_and_in_place)
{
    SKIP_IF(!is_there(), "this system has none");
    for (uint32_t kind = 0; kind < 2; kind++) {
        cc_shared_t *shared;
        int fd;
        uint64_t out[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, in[8];
        size_t sent, got;
        cc_channel_options_t options = options_of(kind, 4, sizeof out[0]);
        REQUIRE(cc_shared_create_fd(&shared, &options, &fd) == 0);
        cc_channel_t *channel = cc_shared_channel(shared);
        CHECK_EQ(cc_channel_send_many(channel, out, 8), 4);
        CHECK_EQ(cc_channel_recv_many(channel, in, 3), 3);
        CHECK_EQ(cc_channel_recv_some(channel, in + 3, 5, &got), 0);
        CHECK_EQ(got, 1);
        CHECK(memcmp(in, out, 4 * sizeof in[0]) == 0);
        CHECK_EQ(cc_channel_send_all_timeout(channel, out, 8, &sent, 1000), ETIMEDOUT);
        CHECK_EQ(sent, 4);
        CHECK_EQ(cc_channel_recv_many(channel, in, 8), 4);
        uint64_t *slot = cc_channel_reserve(channel);
        CHECK((slot != NULL) == (kind == CC_CHANNEL_SPSC));
        if (slot) {
            *slot = 42;
            cc_channel_commit(channel);
            const uint64_t *seen = cc_channel_peek(channel);
            CHECK(seen && *seen == 42);
            cc_channel_consume(channel);
        }
        CHECK(cc_channel_peek(channel) == NULL);
        cc_shared_close(shared);
        close(fd);
    }
}

/* The table of cc_shared(3), row by row, where the tests above and below do not have it already. */
CC_CHANNEL_TYPED(number, uint64_t)

TEST(each_call_does_what_the_manual_says)
{
    SKIP_IF(!is_there(), "this system has none");
    for (uint32_t kind = 0; kind < 2; kind++) {
        cc_shared_t *shared;
        cc_channel_t *other = NULL;
        int fd, polled = -1;
        uint64_t out[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, in[8] = { 0 };
        size_t which = 7, sent, got;
        cc_channel_options_t options = options_of(kind, 4, sizeof out[0]);
        REQUIRE(cc_shared_create_fd(&shared, &options, &fd) == 0 && number_create(&other, &options) == 0);
        cc_channel_t *channel = cc_shared_channel(shared);
        CHECK_EQ(cc_channel_recv_until(channel, in, 0), ETIMEDOUT);
        CHECK_EQ(cc_channel_send_until(channel, out, 0), 0);
        CHECK_EQ(number_send(channel, 2), 0);
        CHECK_EQ(number_try_send(channel, 3), 0);
        CHECK_EQ(cc_channel_len(channel), 3);
        CHECK_EQ(number_recv(channel, &in[0]), 0);
        CHECK_EQ(number_recv_some(channel, in + 1, 7, &got), 0);
        CHECK_EQ(got, 2);
        CHECK(memcmp(in, out, 3 * sizeof in[0]) == 0);
        CHECK_EQ(cc_channel_send_all(channel, out, 4, &sent), 0);
        CHECK_EQ(sent, 4);
        CHECK_EQ(cc_channel_recv_some_until(channel, in, 8, &got, 0), 0);
        CHECK_EQ(got, 4);
        cc_select_case_t cases[] = { CC_SELECT_CASE_RECV(other, in), CC_SELECT_CASE_RECV(channel, in) };
        CHECK_EQ(cc_select_try(cases, 2, CC_SELECT_IN_ORDER, &which), EAGAIN);
        CHECK_EQ(cc_select_timeout(cases, 2, CC_SELECT_FAIR, &which, 1000), ETIMEDOUT);
        CHECK_EQ(which, 7);
        CHECK_EQ(number_send(channel, 9), 0);
        CHECK_EQ(cc_select(cases, 2, CC_SELECT_FAIR, &which), 0);
        CHECK(which == 1 && cases[1].result == 0 && in[0] == 9);
        CHECK_EQ(cc_channel_fd(channel, CC_SELECT_RECV, &polled), ENOSYS);
        CHECK_EQ(polled, -1);
        CHECK(!cc_channel_arm(channel, CC_SELECT_RECV));
        CHECK_EQ(cc_channel_capacity(channel), 4);
        cc_channel_destroy(channel);
        CHECK_EQ(number_try_send(channel, 1), 0); /* destroy did nothing */
        cc_channel_close(channel);
        CHECK(cc_channel_is_closed(channel));
        cc_channel_destroy(other);
        cc_shared_close(shared);
        close(fd);
    }
}

/* Another process sends by one of three channels, of which two are shared, and at last closes one; who selects over
 * them gets all of it, and sleeps until it comes. */
static void selects_over(size_t shared_count, bool with_private)
{
    enum { MESSAGES = 60, SHARED = 130 };
    static cc_shared_t *shared[SHARED];
    static cc_select_case_t cases[SHARED + 1];
    static int fds[SHARED];
    uint64_t number = 0, sum = 0;
    size_t which = 0, count = 0;
    cc_channel_t *own;
    cc_channel_options_t options = options_of(CC_CHANNEL_MPMC, 4, sizeof number);
    REQUIRE(number_create(&own, &options) == 0);
    memset(cases, 0, sizeof cases);
    for (size_t i = 0; i < shared_count; i++) {
        options.kind = i % 2 ? CC_CHANNEL_SPSC : CC_CHANNEL_MPMC;
        REQUIRE(cc_shared_create_fd(&shared[i], &options, &fds[i]) == 0);
        cases[count].channel = cc_shared_channel(shared[i]);
        cases[count++].message = &number;
    }
    cases[count].channel = with_private ? own : NULL;
    cases[count++].message = &number;
    pid_t child = fork();
    if (child == 0) {
        static cc_shared_t *theirs[SHARED];
        for (size_t i = 0; i < shared_count; i++)
            if (cc_shared_open_fd(&theirs[i], fds[i]) != 0) _exit(1);
        for (uint64_t i = 1; i <= MESSAGES; i++) {
            struct timespec while_ = { 0, 1000000 };
            if (i % 3 == 0) nanosleep(&while_, NULL);
            if (number_send(cc_shared_channel(theirs[i * 7 % shared_count]), i) != 0) _exit(2);
        }
        cc_channel_close(cc_shared_channel(theirs[shared_count - 1]));
        for (size_t i = 0; i < shared_count; i++) cc_shared_close(theirs[i]);
        _exit(0);
    }
    for (int got = 0; got < MESSAGES;) {
        if (!CHECK_EQ(cc_select_timeout(cases, count, CC_SELECT_FAIR, &which, UINT64_C(20000000000)), 0)) break;
        if (cases[which].result == EPIPE) {
            cases[which].channel = NULL;
            continue;
        }
        CHECK_EQ(cases[which].result, 0);
        sum += number;
        got++;
    }
    CHECK_EQ(sum, MESSAGES * (MESSAGES + 1) / 2);
    if (cases[shared_count - 1].channel) {
        CHECK_EQ(cc_select_timeout(cases, count, CC_SELECT_FAIR, &which, UINT64_C(20000000000)), 0);
        CHECK_EQ(which, shared_count - 1);
        CHECK_EQ(cases[which].result, EPIPE);
        cases[which].channel = NULL;
    }
    CHECK_EQ(cc_select_timeout(cases, count, CC_SELECT_FAIR, &which, 3000000), ETIMEDOUT);
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    for (size_t i = 0; i < shared_count; i++) {
        cc_shared_close(shared[i]);
        close(fds[i]);
    }
    cc_channel_destroy(own);
}

TEST(a_select_gets_what_another_process_sends)
{
    SKIP_IF(!is_there(), "this system has none");
    selects_over(1, false);
    selects_over(1, true);
    selects_over(2, false);
    selects_over(2, true);
    selects_over(130, true); /* more than the system can wait for at once */
}

/* A thread of this process sends by the private channel of a select that has a shared one, too. */
static cc_channel_t *private_one;
static void *sends_to_private(void *unused)
{
    struct timespec while_ = { 0, 20000000 };
    (void)unused;
    nanosleep(&while_, NULL);
    CHECK_EQ(number_send(private_one, 5), 0);
    return NULL;
}

TEST(a_select_gets_what_its_own_process_sends)
{
    SKIP_IF(!is_there(), "this system has none");
    cc_shared_t *shared;
    int fd;
    uint64_t number = 0;
    size_t which = 7;
    pthread_t thread;
    cc_channel_options_t options = options_of(CC_CHANNEL_SPSC, 4, sizeof number);
    REQUIRE(cc_shared_create_fd(&shared, &options, &fd) == 0 && number_create(&private_one, &options) == 0);
    cc_select_case_t cases[] = { CC_SELECT_CASE_RECV(cc_shared_channel(shared), &number),
                                 CC_SELECT_CASE_RECV(private_one, &number) };
    REQUIRE(pthread_create(&thread, NULL, sends_to_private, NULL) == 0);
    CHECK_EQ(cc_select_timeout(cases, 2, CC_SELECT_FAIR, &which, UINT64_C(20000000000)), 0);
    CHECK(which == 1 && number == 5);
    pthread_join(thread, NULL);
    cc_channel_destroy(private_one);
    cc_shared_close(shared);
    close(fd);
}

TEST(options_and_names_are_checked)
{
    SKIP_IF(!is_there(), "this system has none");
    static const char *const bad[] = { "", "name", "/", "/a/b", "/.", "/..", "//", "/../x" };
    cc_shared_t *shared;
    int fd;
    char longest[300] = "/";
    cc_channel_options_t good = options_of(CC_CHANNEL_MPMC, 4, 8), none = options_of(CC_CHANNEL_MPMC, 0, 8);
    cc_channel_options_t kind = options_of(7, 4, 8), huge = options_of(CC_CHANNEL_SPSC, 4, SIZE_MAX / 2);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK_EQ(cc_shared_create(&shared, bad[i], &good), EINVAL);
        CHECK_EQ(cc_shared_open(&shared, bad[i]), EINVAL);
        CHECK_EQ(cc_shared_unlink(bad[i]), EINVAL);
    }
    memset(longest + 1, 'a', 201);
    CHECK_EQ(cc_shared_open(&shared, longest), EINVAL);
    longest[201] = 0;
    CHECK_EQ(cc_shared_open(&shared, longest), ENOENT);
    CHECK_EQ(cc_shared_create(&shared, NULL, &good), EINVAL);
    CHECK_EQ(cc_shared_create(&shared, own_name(), NULL), EINVAL);
    CHECK_EQ(cc_shared_create(&shared, name, &none), EINVAL);
    CHECK_EQ(cc_shared_create(&shared, name, &kind), EINVAL);
    CHECK_EQ(cc_shared_create(&shared, name, &huge), EINVAL);
    CHECK_EQ(cc_shared_create_fd(&shared, &good, NULL), EINVAL);
    CHECK_EQ(cc_shared_create_fd(NULL, &good, &fd), EINVAL);
    CHECK_EQ(cc_shared_open(&shared, name), ENOENT);
    CHECK_EQ(cc_shared_unlink(name), ENOENT);
    if (sizeof(size_t) > 4) { /* more than any machine has, but not more than can be said */
        huge = options_of(CC_CHANNEL_SPSC, (size_t)1 << (5 * sizeof(size_t)), 64);
        CHECK_EQ(cc_shared_create(&shared, name, &huge), ENOMEM);
    }
    CHECK_EQ(cc_shared_unlink(name), ENOENT);
    cc_shared_close(NULL);
}

/* The umask takes rights away, and none is added. */
TEST(the_umask_is_heeded)
{
    SKIP_IF(!is_there(), "this system has none");
    cc_shared_t *shared;
    struct stat status;
    char path[100];
    cc_channel_options_t options = options_of(CC_CHANNEL_MPMC, 4, 8);
    mode_t mask = umask(0200);
    int error = cc_shared_create(&shared, own_name(), &options);
    umask(mask);
    REQUIRE(error == 0);
    snprintf(path, sizeof path, "/dev/shm%s", name);
    CHECK_EQ(stat(path, &status), 0);
    CHECK_EQ(status.st_mode & 07777, 0400);
    cc_shared_close(shared);
    CHECK_EQ(cc_shared_unlink(name), 0);
}

TEST(a_name_is_made_once_and_for_this_user_only)
{
    SKIP_IF(!is_there(), "this system has none");
    cc_shared_t *shared, *again;
    struct stat status;
    char path[100];
    cc_channel_options_t options = options_of(CC_CHANNEL_MPMC, 4, 8);
    mode_t mask = umask(0);
    REQUIRE(cc_shared_create(&shared, own_name(), &options) == 0);
    umask(mask);
    CHECK_EQ(cc_shared_create(&again, name, &options), EEXIST);
    snprintf(path, sizeof path, "/dev/shm%s", name);
    CHECK_EQ(stat(path, &status), 0);
    CHECK_EQ(status.st_mode & 07777, 0600);
    CHECK_EQ(chmod(path, 0), 0);
    if (geteuid() != 0) CHECK_EQ(cc_shared_open(&again, name), EACCES);
    CHECK_EQ(cc_shared_unlink(name), 0);
    CHECK_EQ(symlink("/etc/passwd", path), 0); /* not followed */
    CHECK_EQ(cc_shared_open(&again, name), EPROTO);
    CHECK_EQ(cc_shared_create(&again, name, &options), EEXIST);
    CHECK_EQ(cc_shared_unlink(name), 0);
    cc_shared_close(shared);
}

/* Every byte of the header counts; the table of participants is another matter. */
TEST(a_segment_that_is_damaged_or_half_made_is_not_opened)
{
    SKIP_IF(!is_there(), "this system has none");
    cc_shared_t *shared, *other;
    int fd;
    cc_channel_options_t options = options_of(CC_CHANNEL_MPMC, 4, 8);
    REQUIRE(cc_shared_create_fd(&shared, &options, &fd) == 0);
    unsigned char *bytes = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    REQUIRE(bytes != MAP_FAILED);
    for (size_t i = 0; i < 56; i++) { /* up to the participants, which may be anything */
        for (unsigned bit = 0; bit < 8; bit++) {
            bytes[i] ^= (unsigned char)(1u << bit);
            if (!CHECK_EQ(cc_shared_open_fd(&other, fd), EPROTO)) printf("byte %zu bit %u\n", i, bit);
            bytes[i] ^= (unsigned char)(1u << bit);
        }
    }
    CHECK_EQ(cc_shared_open_fd(&other, fd), 0);
    cc_shared_close(other);
#if !defined(TEST_BY_NAME) /* it is sealed */
    CHECK_EQ(ftruncate(fd, 100), -1);
    CHECK_EQ(ftruncate(fd, 1 << 20), -1);
#endif
    munmap(bytes, 4096);
    cc_shared_close(shared);
    close(fd);
    /* Not one of ours: too short, empty, of another size, able to shrink, read-only, no descriptor at all. */
    fd = memfd_create("test", MFD_ALLOW_SEALING | MFD_CLOEXEC);
    CHECK_EQ(cc_shared_open_fd(&other, fd), EPROTO);
    CHECK_EQ(ftruncate(fd, 200000), 0);
    CHECK_EQ(cc_shared_open_fd(&other, fd), EPROTO);
    CHECK_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    CHECK_EQ(cc_shared_open_fd(&other, fd), EPROTO);
    close(fd);
    CHECK_EQ(cc_shared_open_fd(&other, fd), EPROTO);
    CHECK_EQ(cc_shared_open_fd(&other, -1), EPROTO);
    fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    CHECK_EQ(cc_shared_open_fd(&other, fd), EPROTO);
    close(fd);
    REQUIRE(cc_shared_create(&shared, own_name(), &options) == 0);
    char path[100];
    snprintf(path, sizeof path, "/dev/shm%s", name);
    CHECK_EQ(truncate(path, 70000), 0); /* nobody touches `shared` after this */
    CHECK_EQ(cc_shared_open(&other, name), EPROTO);
    CHECK_EQ(truncate(path, 10), 0);
    CHECK_EQ(cc_shared_open(&other, name), EPROTO);
    CHECK_EQ(cc_shared_unlink(name), 0);
}

TEST(sixty_three_may_have_it_open)
{
    SKIP_IF(!is_there(), "this system has none");
    cc_shared_t *all[64], *other;
    int fd;
    cc_channel_options_t options = options_of(CC_CHANNEL_SPSC, 4, 8);
    REQUIRE(cc_shared_create_fd(&all[0], &options, &fd) == 0);
    for (int i = 1; i < 63; i++) REQUIRE(cc_shared_open_fd(&all[i], fd) == 0);
    CHECK_EQ(cc_shared_open_fd(&other, fd), EBUSY);
    cc_shared_close(all[20]);
    CHECK_EQ(cc_shared_open_fd(&all[20], fd), 0);
    for (int i = 0; i < 63; i++) cc_shared_close(all[i]);
    CHECK_EQ(cc_shared_open_fd(&other, fd), 0); /* the segment is there as long as anybody has a descriptor of it */
    cc_shared_close(other);
    close(fd);
}

/* A child that has the segment open, by this name or, if there is none, by the descriptor. */
static pid_t child_that_waits(const char *by_name, int fd)
{
    int ready[2];
    char byte;
    REQUIRE(pipe(ready) == 0);
    pid_t child = fork();
    if (child == 0) {
        cc_shared_t *shared;
        int error = by_name ? cc_shared_open(&shared, by_name) : cc_shared_open_fd(&shared, fd);
        if (error != 0 || write(ready[1], "", 1) != 1) _exit(1);
        for (;;) pause();
    }
    close(ready[1]);
    CHECK_EQ(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return child;
}

TEST(many_that_die_at_once_are_told_one_after_the_other_and_once_each)
{
    SKIP_IF(!is_there(), "this system has none");
    enum { MANY = 6 };
    cc_shared_t *shared;
    int fd, status;
    uint64_t message;
    pid_t children[MANY];
    cc_channel_options_t options = options_of(CC_CHANNEL_MPMC, 4, 8);
    REQUIRE(cc_shared_create_fd(&shared, &options, &fd) == 0);
    cc_channel_t *channel = cc_shared_channel(shared);
    for (int i = 0; i < MANY; i++) children[i] = child_that_waits(NULL, fd);
    for (int i = 0; i < MANY; i++) kill(children[i], SIGKILL);
    for (int i = 0; i < MANY; i++) waitpid(children[i], &status, 0);
    CHECK_EQ(cc_channel_recv_timeout(channel, &message, UINT64_C(20000000000)), EOWNERDEAD);
    for (int i = 1; i < MANY; i++) CHECK_EQ(cc_channel_recv_timeout(channel, &message, 1000000), EOWNERDEAD);
    CHECK_EQ(cc_channel_recv_timeout(channel, &message, 1000000), ETIMEDOUT);
    cc_shared_close(shared);
    close(fd);
}

/* Its owner could cut it short while we have it mapped. */
TEST(a_segment_of_another_user_is_not_opened)
{
    SKIP_IF(!is_there(), "this system has none");
    SKIP_IF(geteuid() != 0, "only root can be somebody else");
    cc_shared_t *shared;
    int status;
    char path[100];
    cc_channel_options_t options = options_of(CC_CHANNEL_MPMC, 4, 8);
    const char *of = own_name();
    pid_t child = fork();
    if (child == 0) _exit(setuid(65534) != 0 || cc_shared_create(&shared, of, &options) != 0);
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_EQ(cc_shared_open(&shared, of), EACCES);
    snprintf(path, sizeof path, "/dev/shm%s", of);
    CHECK_EQ(chmod(path, 0666), 0);
    CHECK_EQ(cc_shared_open(&shared, of), EACCES); /* whatever its mode */
    CHECK_EQ(cc_shared_unlink(of), 0);
}

#if !defined(TEST_BY_NAME)
/* What another user gets when it opens a segment by a descriptor that it was handed. */
static int opened_by_another_user(int fd)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        cc_shared_t *own;
        if (setuid(65534) != 0 || prctl(PR_SET_DUMPABLE, 1) != 0) _exit(100); /* else /proc/self is root's */
        int error = cc_shared_open_fd(&own, fd);
        if (error == 0) error = cc_channel_try_send(cc_shared_channel(own), &(uint64_t){ 7 });
        if (error == 0) cc_shared_close(own);
        _exit(error);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* It cannot be cut short, so whoever was handed the descriptor may, as far as the mode of its file allows. */
TEST(another_user_opens_a_segment_that_it_was_handed)
{
    SKIP_IF(!is_there(), "this system has none");
    SKIP_IF(geteuid() != 0, "only root can be somebody else");
    cc_shared_t *shared;
    uint64_t message = 0;
    int fd;
    cc_channel_options_t options = options_of(CC_CHANNEL_MPMC, 4, 8);
    REQUIRE(cc_shared_create_fd(&shared, &options, &fd) == 0);
    CHECK_EQ(opened_by_another_user(fd), 0);
    CHECK_EQ(cc_channel_try_recv(cc_shared_channel(shared), &message), 0);
    CHECK_EQ(message, 7);
    CHECK_EQ(fchmod(fd, 0600), 0);
    CHECK_EQ(opened_by_another_user(fd), EACCES);
    CHECK_EQ(fchmod(fd, 0660), 0);
    CHECK_EQ(fchown(fd, (uid_t)-1, 65534), 0);
    CHECK_EQ(opened_by_another_user(fd), getegid() == 65534 ? 0 : EACCES); /* its group is still ours */
    cc_shared_close(shared);
    close(fd);
}
#endif

TEST(a_process_that_is_stopped_is_not_dead)
{
    SKIP_IF(!is_there(), "this system has none");
    cc_shared_t *shared;
    int fd;
    uint64_t message;
    cc_channel_options_t options = options_of(CC_CHANNEL_MPMC, 4, 8);
    REQUIRE(cc_shared_create_fd(&shared, &options, &fd) == 0);
    cc_channel_t *channel = cc_shared_channel(shared);
    pid_t child = child_that_waits(NULL, fd);
    kill(child, SIGSTOP);
    CHECK_EQ(cc_channel_recv_timeout(channel, &message, 300000000), ETIMEDOUT);
    kill(child, SIGKILL);
    CHECK_EQ(cc_channel_recv_timeout(channel, &message, UINT64_C(20000000000)), EOWNERDEAD);
    CHECK_EQ(cc_channel_recv_timeout(channel, &message, 200000000), ETIMEDOUT);
    waitpid(child, NULL, 0);
    cc_shared_close(shared);
    close(fd);
}

/* How often this process is told of a death, until it has heard of none for 300 ms. */
static int deaths_told(cc_channel_t *channel, int expected)
{
    uint64_t message;
    int told = 0;
    while (cc_channel_recv_timeout(channel, &message, told < expected ? UINT64_C(20000000000) : 300000000) ==
           EOWNERDEAD)
        told++;
    return told;
}

TEST(two_that_die_at_once_beside_one_that_is_stopped_are_told_twice_to_each)
{
    SKIP_IF(!is_there(), "this system has none");
    cc_shared_t *shared;
    int fd, status;
    cc_channel_options_t options = options_of(CC_CHANNEL_MPMC, 4, 8);
    REQUIRE(cc_shared_create_fd(&shared, &options, &fd) == 0);
    pid_t dead[2] = { child_that_waits(NULL, fd), child_that_waits(NULL, fd) };
    pid_t stopped = child_that_waits(NULL, fd);
    pid_t hears = fork();
    if (hears == 0) {
        cc_shared_t *own;
        if (cc_shared_open_fd(&own, fd) != 0) _exit(100);
        kill(dead[0], SIGKILL);
        kill(dead[1], SIGKILL);
        int told = deaths_told(cc_shared_channel(own), 2);
        cc_shared_close(own);
        _exit(told);
    }
    kill(stopped, SIGSTOP);
    CHECK_EQ(deaths_told(cc_shared_channel(shared), 2), 2);
    CHECK(waitpid(hears, &status, 0) == hears && WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 2);
    kill(stopped, SIGKILL);
    CHECK_EQ(deaths_told(cc_shared_channel(shared), 1), 1);
    waitpid(stopped, NULL, 0);
    for (int i = 0; i < 2; i++) waitpid(dead[i], NULL, 0);
    cc_shared_close(shared);
    close(fd);
}

/* A sender dies between taking a position and stamping it. Another process shares its lock, as one that is just burying
 * it does; meanwhile a new sender opens the segment, and what it sends must not end up behind the gap. */
TEST(a_sender_that_opens_while_another_is_buried_loses_nothing)
{
    SKIP_IF(!is_there(), "this system has none");
    cc_shared_t *shared, *next;
    int fd;
    uint64_t message = 0;
    char path[64];
    cc_channel_options_t options = options_of(CC_CHANNEL_SPSC, 4, 8);
    REQUIRE(cc_shared_create_fd(&shared, &options, &fd) == 0);
    cc_channel_t *channel = cc_shared_channel(shared);
    pid_t child = child_that_waits(NULL, fd); /* the second participant */
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    channel->spsc.tail += 2;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int burier = open(path, O_RDWR | O_CLOEXEC);
    struct flock lock = { .l_type = F_RDLCK, .l_start = 2, .l_len = 1 };
    REQUIRE(burier >= 0 && fcntl(burier, 37 /* F_OFD_SETLK */, &lock) == 0);
    REQUIRE(cc_shared_open_fd(&next, fd) == 0);
    message = 42;
    CHECK_EQ(cc_channel_try_send(cc_shared_channel(next), &message), 0);
    close(burier);
    message = 0;
    int error;
    while ((error = cc_channel_recv_timeout(channel, &message, UINT64_C(2000000000))) == EOWNERDEAD) {}
    CHECK_EQ(error, 0);
    CHECK_EQ(message, 42);
    message = 43;
    CHECK_EQ(cc_channel_try_send(cc_shared_channel(next), &message), 0);
    CHECK_EQ(cc_channel_try_recv(channel, &message), 0);
    CHECK_EQ(message, 43);
    cc_shared_close(next);
    cc_shared_close(shared);
    close(fd);
}

/* Another process shares the dead one's lock, as one does that is stopped while it buries it. */
TEST(a_process_that_is_stopped_while_it_buries_another_hides_nothing)
{
    SKIP_IF(!is_there(), "this system has none");
    for (uint32_t kind = 0; kind < 2; kind++) {
        cc_shared_t *shared;
        int fd, status;
        char path[64];
        cc_channel_options_t options = options_of(kind, 4, 8);
        REQUIRE(cc_shared_create_fd(&shared, &options, &fd) == 0);
        pid_t child = child_that_waits(NULL, fd); /* the second participant */
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        int burier = open(path, O_RDWR | O_CLOEXEC);
        struct flock lock = { .l_type = F_RDLCK, .l_start = 2, .l_len = 1 };
        REQUIRE(burier >= 0 && fcntl(burier, 37 /* F_OFD_SETLK */, &lock) == 0);
        CHECK_EQ(deaths_told(cc_shared_channel(shared), 1), 1);
        child = child_that_waits(NULL, fd); /* it gets another number */
        kill(child, SIGKILL);
        CHECK_EQ(deaths_told(cc_shared_channel(shared), 1), 1);
        waitpid(child, &status, 0);
        close(burier);
        cc_shared_close(shared);
        close(fd);
    }
}

/* Each who opens it shares, for a moment, the lock of the number that another is about to take. */
TEST(all_sixty_three_may_come_at_once)
{
    SKIP_IF(!is_there(), "this system has none");
    enum { MANY = 62 };
    cc_shared_t *shared;
    int fd, begin[2], over[2], opened[2];
    char byte;
    pid_t children[MANY];
    cc_channel_options_t options = options_of(CC_CHANNEL_MPMC, 4, 8);
    REQUIRE(cc_shared_create_fd(&shared, &options, &fd) == 0);
    REQUIRE(pipe(begin) == 0 && pipe(over) == 0 && pipe(opened) == 0);
    for (int i = 0; i < MANY; i++) {
        children[i] = fork();
        if (children[i] != 0) continue;
        cc_shared_t *own;
        close(begin[1]);
        close(over[1]);
        if (read(begin[0], &byte, 1) != 0) _exit(1);
        char error = (char)cc_shared_open_fd(&own, fd);
        if (write(opened[1], &error, 1) != 1) _exit(2);
        if (read(over[0], &byte, 1) != 0) _exit(3);
        if (error == 0) cc_shared_close(own);
        _exit(0);
    }
    close(begin[1]);
    for (int i = 0; i < MANY; i++) CHECK(read(opened[0], &byte, 1) == 1 && byte == 0);
    cc_shared_t *other;
    CHECK_EQ(cc_shared_open_fd(&other, fd), EBUSY);
    close(over[1]);
    for (int i = 0; i < MANY; i++) {
        int status = -1;
        CHECK(waitpid(children[i], &status, 0) == children[i] && status == 0);
    }
    CHECK_EQ(deaths_told(cc_shared_channel(shared), 0), 0);
    const int all[] = { begin[0], over[0], opened[0], opened[1], fd };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) close(all[i]);
    cc_shared_close(shared);
}

/* Two processes, again and again, come at the same moment, where two places are left; then both leave, or die. */
static void two_come_in_step(bool then_die)
{
    enum { HERE = 61, ROUNDS = 1000 };
    cc_shared_t *all[HERE], *own;
    int fd;
    uint32_t *ready = mmap(NULL, sizeof *ready, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cc_channel_options_t options = options_of(CC_CHANNEL_MPMC, 4, 8);
    REQUIRE(ready != MAP_FAILED && cc_shared_create_fd(&all[0], &options, &fd) == 0);
    for (int i = 1; i < HERE; i++) REQUIRE(cc_shared_open_fd(&all[i], fd) == 0);
    for (int round_ = 0; round_ < (int)test_effort(ROUNDS) && test_bad_checks == 0; round_++) {
        pid_t children[2];
        __atomic_store_n(ready, 0, __ATOMIC_RELAXED);
        for (int i = 0; i < 2; i++) {
            children[i] = fork();
            if (children[i] != 0) continue;
            __atomic_fetch_add(ready, 1, __ATOMIC_RELAXED);
            for (int looks = 0; looks < 100000 && __atomic_load_n(ready, __ATOMIC_RELAXED) < 2; looks++) cc_pause();
            int error = cc_shared_open_fd(&own, fd);
            if (error == 0 && then_die) raise(SIGKILL);
            if (error == 0) cc_shared_close(own);
            _exit(error);
        }
        for (int i = 0; i < 2; i++) {
            int status = -1;
            CHECK(waitpid(children[i], &status, 0) == children[i]);
            CHECK_EQ(status, then_die ? SIGKILL : 0);
        }
    }
    for (int i = 0; i < HERE; i++) cc_shared_close(all[i]);
    close(fd);
    munmap(ready, sizeof *ready);
}

/* They are in each other's way at every place that is left. */
TEST(two_that_come_in_step_both_find_a_place)
{
    SKIP_IF(!is_there(), "this system has none");
    two_come_in_step(false);
}

/* One finds that the other has just swept the places. */
TEST(two_that_come_in_step_both_find_a_place_of_the_dead)
{
    SKIP_IF(!is_there(), "this system has none");
    two_come_in_step(true);
}

static void check_child_of_fork(bool closes)
{
    cc_shared_t *shared;
    int fd, status;
    uint64_t message;
    cc_channel_options_t options = options_of(CC_CHANNEL_SPSC, 4, 8);
    REQUIRE(cc_shared_create_fd(&shared, &options, &fd) == 0);
    cc_channel_t *channel = cc_shared_channel(shared);
    int ready[2], over[2];
    char byte;
    REQUIRE(pipe(ready) == 0 && pipe(over) == 0);
    pid_t child = fork();
    if (child == 0) { /* opens it, leaves a child of its own behind, and is killed */
        cc_shared_t *own;
        if (cc_shared_open_fd(&own, fd) != 0) _exit(1);
        close(over[1]);
        if (fork() == 0) {
            if (closes) cc_shared_close(own); /* what it inherited */
            if (write(ready[1], "", 1) != 1) _exit(1);
            _exit(read(over[0], &byte, 1) != 0);
        }
        for (;;) pause();
    }
    close(over[0]);
    CHECK_EQ(read(ready[0], &byte, 1), 1);
    CHECK_EQ(cc_channel_recv_timeout(channel, &message, 200000000), ETIMEDOUT); /* the close was not the parent's */
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    CHECK_EQ(cc_channel_recv_timeout(channel, &message, UINT64_C(20000000000)), EOWNERDEAD);
    close(over[1]);
    close(ready[0]);
    close(ready[1]);
    cc_shared_close(shared);
    close(fd);
}

TEST(a_child_of_fork_does_not_keep_its_parent_alive)
{
    SKIP_IF(!is_there(), "this system has none");
    check_child_of_fork(true);
    check_child_of_fork(false);
}

/* A handler of the program's that was set up before the library's, and so runs before it in a child. */
static cc_shared_t *inherited;
static void close_inherited(void)
{
    cc_shared_close(inherited);
}

__attribute__((constructor)) static void set_up_handler(void)
{
    pthread_atfork(NULL, NULL, close_inherited);
}

TEST(a_handler_of_fork_may_close_what_the_child_inherited)
{
    SKIP_IF(!is_there(), "this system has none");
    cc_shared_t *shared;
    cc_channel_options_t options = options_of(CC_CHANNEL_MPMC, 4, 8);
    int ready[2];
    char byte;
    REQUIRE(cc_shared_create(&shared, own_name(), &options) == 0 && pipe(ready) == 0);
    pid_t child = fork();
    if (child == 0) {
        if (cc_shared_open(&inherited, name) != 0) _exit(1);
        pid_t grandchild = fork();
        if (grandchild == 0) _exit(0);
        if (waitpid(grandchild, NULL, 0) != grandchild || write(ready[1], "", 1) != 1) _exit(1);
        for (;;) pause();
    }
    close(ready[1]);
    CHECK_EQ(read(ready[0], &byte, 1), 1);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    CHECK_EQ(deaths_told(cc_shared_channel(shared), 1), 1);
    close(ready[0]);
    cc_shared_close(shared);
    CHECK_EQ(cc_shared_unlink(name), 0);
}

/* Each child that has the open file of a number keeps that number's lock. */
static uint32_t forks_are_over;
static void *opens_and_closes(void *unused)
{
    (void)unused;
    while (!cc_load_relaxed(&forks_are_over)) {
        cc_shared_t *shared;
        if (cc_shared_open(&shared, name) == 0) cc_shared_close(shared);
    }
    return NULL;
}

TEST(a_child_does_not_keep_what_another_thread_was_opening_or_closing)
{
    SKIP_IF(!is_there(), "this system has none");
    enum { CHILDREN = 200, OTHERS = 62 };
    cc_shared_t *shared, *others[OTHERS];
    cc_channel_options_t options = options_of(CC_CHANNEL_MPMC, 4, 8);
    pid_t children[CHILDREN];
    pthread_t thread;
    REQUIRE(cc_shared_create(&shared, own_name(), &options) == 0);
    cc_store_relaxed(&forks_are_over, 0);
    REQUIRE(pthread_create(&thread, NULL, opens_and_closes, NULL) == 0);
    for (int i = 0; i < CHILDREN; i++) {
        children[i] = fork();
        if (children[i] == 0)
            for (;;) pause();
        usleep(200);
    }
    cc_store_relaxed(&forks_are_over, 1);
    pthread_join(thread, NULL);
    int opened = 0;
    while (opened < OTHERS && cc_shared_open(&others[opened], name) == 0) opened++;
    CHECK_EQ(opened, OTHERS);
    while (opened > 0) cc_shared_close(others[--opened]);
    for (int i = 0; i < CHILDREN; i++) {
        kill(children[i], SIGKILL);
        waitpid(children[i], NULL, 0);
    }
    cc_shared_close(shared);
    CHECK_EQ(cc_shared_unlink(name), 0);
}

/* The receiver said DRAINED and died before it moved on from the last slot. The sender stamped that slot then, and was
 * told that its message does not count. */
TEST(a_message_after_the_end_is_not_received_by_the_next_receiver)
{
    SKIP_IF(!is_there(), "this system has none");
    cc_shared_t *shared, *successor;
    uint64_t message = 1;
    cc_channel_options_t options = options_of(CC_CHANNEL_SPSC, 4, 8);
    REQUIRE(cc_shared_create(&shared, own_name(), &options) == 0);
    cc_channel_t *channel = cc_shared_channel(shared);
    pid_t child = fork();
    if (child == 0) {
        cc_shared_t *own;
        if (cc_shared_open(&own, name) != 0) _exit(1);
        cc_channel_t *of_child = cc_shared_channel(own);
        cc_channel_close(of_child);
        if (cc_channel_recv(of_child, &message) != EPIPE) _exit(1);
        of_child->spsc.next = of_child->spsc.head;
        raise(SIGKILL);
    }
    waitpid(child, NULL, 0);
    cc_spsc_write_one_(channel, &message, channel->layout);
    CHECK_EQ(cc_spsc_sent_(channel, 1), 0);
    REQUIRE(cc_shared_open(&successor, name) == 0);
    CHECK(cc_channel_peek(cc_shared_channel(successor)) == NULL);
    CHECK_EQ(cc_channel_try_recv(cc_shared_channel(successor), &message), EPIPE);
    CHECK_EQ(cc_channel_recv(cc_shared_channel(successor), &message), EPIPE);
    cc_shared_close(successor);
    cc_shared_close(shared);
    CHECK_EQ(cc_shared_unlink(name), 0);
}

/* A name is removed while it is in use, and given to another segment: neither knows of who dies in the other. */
TEST(a_name_that_is_used_again_is_another_segment)
{
    SKIP_IF(!is_there(), "this system has none");
    cc_shared_t *first, *second, *none;
    cc_channel_options_t options = options_of(CC_CHANNEL_MPMC, 4, 8);
    REQUIRE(cc_shared_create(&first, own_name(), &options) == 0);
    pid_t in_first = child_that_waits(name, -1);
    CHECK_EQ(cc_shared_unlink(name), 0);
    CHECK_EQ(cc_shared_open(&none, name), ENOENT);
    REQUIRE(cc_shared_create(&second, name, &options) == 0);
    pid_t in_second = child_that_waits(name, -1);
    kill(in_first, SIGKILL);
    CHECK_EQ(deaths_told(cc_shared_channel(first), 1), 1);
    CHECK_EQ(deaths_told(cc_shared_channel(second), 0), 0);
    kill(in_second, SIGKILL);
    CHECK_EQ(deaths_told(cc_shared_channel(second), 1), 1);
    CHECK_EQ(deaths_told(cc_shared_channel(first), 0), 0);
    waitpid(in_first, NULL, 0);
    waitpid(in_second, NULL, 0);
    cc_shared_close(first);
    cc_shared_close(second);
    CHECK_EQ(cc_shared_unlink(name), 0);
}

/* A process that runs another program has left the segment without closing it. */
TEST(a_process_that_runs_another_program_is_dead)
{
    SKIP_IF(!is_there(), "this system has none");
    cc_shared_t *shared;
    int fd;
    cc_channel_options_t options = options_of(CC_CHANNEL_SPSC, 4, 8);
    REQUIRE(cc_shared_create_fd(&shared, &options, &fd) == 0);
    pid_t child = fork();
    if (child == 0) {
        cc_shared_t *own;
        if (cc_shared_open_fd(&own, fd) == 0) execlp("sleep", "sleep", "60", (char *)NULL);
        _exit(1);
    }
    CHECK_EQ(deaths_told(cc_shared_channel(shared), 1), 1);
    CHECK_EQ(waitpid(child, NULL, WNOHANG), 0);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    cc_shared_close(shared);
    close(fd);
}

TEST(no_descriptor_left_is_no_memory_and_leaves_nothing_behind)
{
    SKIP_IF(!is_there(), "this system has none");
    struct rlimit before, few;
    cc_shared_t *shared, *other;
    cc_channel_options_t options = options_of(CC_CHANNEL_SPSC, 4, 8);
    int fd, free_one = open("/dev/null", O_RDONLY | O_CLOEXEC);
    REQUIRE(cc_shared_create(&shared, own_name(), &options) == 0);
    REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0 && free_one >= 0);
    few = before;
    close(free_one);
    few.rlim_cur = (rlim_t)free_one;
    REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
    CHECK_EQ(cc_shared_open(&other, name), ENOMEM);
    CHECK_EQ(cc_shared_create(&other, "/concede-test-none", &options), ENOMEM);
    CHECK_EQ(cc_shared_create_fd(&other, &options, &fd), ENOMEM);
    few.rlim_cur = (rlim_t)free_one + 1; /* enough for the first of two */
    REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
#if !defined(TEST_BY_NAME)
    CHECK_EQ(cc_shared_create_fd(&other, &options, &fd), ENOMEM);
#endif
    int again = open("/dev/null", O_RDONLY | O_CLOEXEC);
    CHECK_EQ(again, free_one); /* nothing was left open */
    close(again);
    REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
    CHECK_EQ(cc_shared_unlink("/concede-test-none"), ENOENT);
    CHECK_EQ(cc_shared_open(&other, name), 0);
    cc_shared_close(other);
    cc_shared_close(shared);
    CHECK_EQ(cc_shared_unlink(name), 0);
}

TEST(a_limit_on_the_size_of_files_is_no_memory_and_no_signal)
{
    SKIP_IF(!is_there(), "this system has none");
    struct rlimit before, small;
    cc_shared_t *shared;
    int fd;
    cc_channel_options_t options = options_of(CC_CHANNEL_SPSC, 4, 8);
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    small = before;
    small.rlim_cur = 4096;
    REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
    CHECK_EQ(cc_shared_create(&shared, own_name(), &options), ENOMEM);
    CHECK_EQ(cc_shared_create_fd(&shared, &options, &fd), ENOMEM);
    REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK_EQ(cc_shared_unlink(name), ENOENT);
    CHECK_EQ(cc_shared_create(&shared, name, &options), 0);
    cc_shared_close(shared);
    CHECK_EQ(cc_shared_unlink(name), 0);
}

TEST(who_closes_is_not_reported)
{
    SKIP_IF(!is_there(), "this system has none");
    cc_shared_t *shared, *other;
    int fd;
    uint64_t message;
    cc_channel_options_t options = options_of(CC_CHANNEL_MPMC, 4, 8);
    REQUIRE(cc_shared_create_fd(&shared, &options, &fd) == 0);
    REQUIRE(cc_shared_open_fd(&other, fd) == 0);
    cc_shared_close(other);
    CHECK_EQ(cc_channel_recv_timeout(cc_shared_channel(shared), &message, 200000000), ETIMEDOUT);
    cc_shared_close(shared);
    close(fd);
}

/* A hostile process writes anything anywhere in the segment, all the time. Calls may say what they like, but they
 * return, and nothing outside is touched: run it under AddressSanitizer, too. */
TEST(a_hostile_process_cannot_make_us_crash_or_hang)
{
    SKIP_IF(!is_there(), "this system has none");
    for (uint32_t round = 0; round < 8; round++) {
        cc_shared_t *shared, *other;
        int fd;
        enum { BURST = 8, LARGEST = 104 };
        static const size_t sizes[] = { 8, 8, 24, LARGEST };
        uint64_t random = test_seed(round), in[BURST * LARGEST / 8], out[BURST * LARGEST / 8] = { 0 };
        cc_channel_options_t options = options_of(round % 2, (size_t)1 << round, sizes[(round + round / 4) % 4]);
        REQUIRE(cc_shared_create_fd(&shared, &options, &fd) == 0);
        cc_channel_t *channel = cc_shared_channel(shared);
        off_t bytes = lseek(fd, 0, SEEK_END);
        pid_t child = fork();
        if (child == 0) {
            unsigned char *memory = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
            for (;;) {
                uint64_t dice = test_random(&random);
                size_t at =
                    (size_t)(dice % 3 == 0 ? (dice >> 8) % 4096 : 65536 + (dice >> 8) % ((size_t)bytes - 65536));
                if ((dice >> 40 & 3) == 0)
                    memory[at] = (unsigned char)(dice >> 48);
                else
                    memory[at] ^= (unsigned char)(1u << (dice >> 48 & 7));
            }
        }
        uint64_t end = cc_deadline_in(test_effort(125) * 1000000);
        while (cc_now_ns() < end) {
            size_t n;
            int said = 0; /* anything */
            said |= cc_channel_try_send(channel, out);
            said |= cc_channel_try_recv(channel, in);
            CHECK(cc_channel_send_many(channel, out, 8) <= 8);
            CHECK(cc_channel_recv_many(channel, in, 8) <= 8);
            said |= cc_channel_send_timeout(channel, out, 10000);
            said |= cc_channel_recv_timeout(channel, in, 10000);
            said |= cc_channel_send_all_timeout(channel, out, 8, &n, 10000);
            CHECK(n <= 8);
            said |= cc_channel_recv_some_timeout(channel, in, 8, &n, 10000);
            CHECK(n <= 8);
            CHECK(cc_channel_len(channel) <= cc_channel_capacity(channel));
            uint64_t *slot = cc_channel_reserve(channel);
            if (slot) {
                *slot = 1;
                cc_channel_commit(channel);
            }
            const uint64_t *seen = cc_channel_peek(channel);
            if (seen) {
                in[0] = *seen;
                cc_channel_consume(channel);
            }
            if (cc_shared_open_fd(&other, fd) == 0) cc_shared_close(other);
            size_t which;
            cc_select_case_t cases[] = { CC_SELECT_CASE_RECV(channel, in), CC_SELECT_CASE_SEND(channel, out) };
            said |= cc_select_try(cases, 2, CC_SELECT_FAIR, &which);
            said |= cc_select_timeout(cases, 1, CC_SELECT_FAIR, &which, 10000);
            (void)cc_channel_is_closed(channel);
            CHECK(said >= 0);
            if (test_random(&random) % 64 == 0) cc_channel_close(channel);
        }
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        cc_shared_close(shared);
        close(fd);
    }
}

#else

TEST(there_is_none_here)
{
    cc_shared_t *shared;
    int fd;
    cc_channel_options_t options = CC_CHANNEL_OPTIONS_INIT(4, 8);
    CHECK_EQ(cc_shared_create(&shared, "/concede", &options), ENOSYS);
    CHECK_EQ(cc_shared_create_fd(&shared, &options, &fd), ENOSYS);
    CHECK_EQ(cc_shared_open(&shared, "/concede"), ENOSYS);
    CHECK_EQ(cc_shared_open_fd(&shared, 0), ENOSYS);
    CHECK_EQ(cc_shared_unlink("/concede"), ENOSYS);
}

#endif
