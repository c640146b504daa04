/* aborts.h: misuse in a child process, for the tests of CC_DEBUG. */
#ifndef CONCEDE_TESTS_ABORTS_H
#define CONCEDE_TESTS_ABORTS_H

#include "harness.h"
#include <sys/wait.h>

/* Runs it in a child; whether it aborted, and what it said. */
static bool aborts(void (*misuse)(void), char *said, size_t size)
{
    int ends[2], status = 0;
    REQUIRE(pipe(ends) == 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        test_watch_child();
        misuse();
        _exit(0);
    }
    close(ends[1]);
    static char all[1 << 16];
    size_t length = 0;
    ssize_t got;
    while ((got = read(ends[0], all + length, sizeof all - 1 - length)) > 0) length += (size_t)got;
    all[length] = 0;
    close(ends[0]);
    /* ThreadSanitizer may see the race that a misuse is, and say so first. */
    const char *ours = TEST_SANITIZED ? strstr(all, "concede: ") : all;
    snprintf(said, size, "%.*s", (int)size - 1, ours ? ours : all);
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

/* Runs it in a child, where it must neither abort nor say anything. */
static inline void check_says_nothing(void (*use)(void))
{
    char said[200];
    CHECK(!aborts(use, said, sizeof said));
    CHECK_EQ(said[0], 0);
}

#endif
