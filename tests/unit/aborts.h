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
    ssize_t got = read(ends[0], said, size - 1);
    said[got > 0 ? got : 0] = 0;
    close(ends[0]);
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
