/* main.c: finds the command and runs it. */
#include "tool.h"

#include <concede/version.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static const tool_command_t *const commands[] = {
    &concede_info,
#if defined(CONCEDE_WITH_BENCH)
    &concede_bench,
#endif
#if defined(CONCEDE_WITH_SIM)
    &concede_simulate,
#endif
    &concede_tune,     &concede_report,
#if defined(CONCEDE_WITH_TRY)
    &concede_try,
#endif
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void help(FILE *out)
{
    fputs("usage: ", out);
    tool_wrap(out, 7, "concede COMMAND [OPTION]...");
    putc('\n', out);
    tool_wrap(out, 0, "Measures waiting on this machine and shows what each choice costs.");
    putc('\n', out);
    for (int i = 0; i < COMMANDS; i++) {
        fprintf(out, "  %-9s", commands[i]->name);
        tool_wrap(out, 11, commands[i]->summary);
    }
    putc('\n', out);
    fputs("  -h, --help     ", out);
    tool_wrap(out, 17, "print this and exit; after a command, its own options");
    fputs("  -V, --version  ", out);
    tool_wrap(out, 17, "print the version and exit");
}

int main(int argc, char **argv)
{
    const char *names[COMMANDS + 3] = { "help", "version" }, *closest;
    signal(SIGPIPE, SIG_DFL);
    for (int i = 0; i < COMMANDS; i++) names[i + 2] = commands[i]->name;
    if (argc < 2) {
        help(stderr);
        return 2;
    }
    const char *given = argv[1];
    if (strcmp(given, "--version") == 0 || strcmp(given, "-V") == 0 || strcmp(given, "version") == 0) {
        puts("concede " CC_VERSION_STRING);
        return tool_finish(0);
    }
    if (strcmp(given, "help") == 0 && argc > 2 && strcmp(argv[2], "help") != 0) { /* like `concede COMMAND --help` */
        static char option[] = "--help";
        argv[1] = argv[2];
        argv[2] = option;
        argc = 3;
        given = argv[1];
    } else if (strcmp(given, "--help") == 0 || strcmp(given, "-h") == 0 || strcmp(given, "help") == 0) {
        help(stdout);
        return tool_finish(0);
    }
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(given, commands[i]->name) == 0) return tool_finish(commands[i]->run(argc - 1, argv + 1));
#if !defined(CONCEDE_WITH_BENCH)
    if (strcmp(given, "bench") == 0) tool_die("this program was built without the benchmarks");
#endif
#if !defined(CONCEDE_WITH_SIM)
    if (strcmp(given, "simulate") == 0) tool_die("this program was built without the simulator");
#endif
    const char *kind = given[0] == '-' ? "option" : "command";
    closest = tool_closest(given + strspn(given, "-"), names);
    if (closest)
        tool_usage_error(NULL, "unknown %s '%s'; did you mean %s%s?", kind, given, given[0] == '-' ? "--" : "",
                         closest);
    tool_usage_error(NULL, "unknown %s '%s'", kind, given);
}
