/* tool.h: what every command of the program needs: options, errors, the terminal, tables, times as text. */
#ifndef CONCEDE_TOOL_H
#define CONCEDE_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TOOL_PRINTF(text, first) __attribute__((format(printf, text, first)))

/* A command: `concede NAME USAGE`. Its help text is made from this, so that it cannot differ from what is accepted. */
typedef struct tool_option {
    char letter;       /* 0: none */
    const char *name;  /* without the dashes */
    const char *value; /* what the value is called in the help; in brackets: may be left out; NULL: takes none */
    const char *help;
} tool_option_t;

typedef struct tool_command {
    const char *name;
    const char *usage;                 /* after the name: "[OPTION]..." */
    const char *summary;               /* one line */
    const char *text;                  /* paragraphs after the options; NULL: none */
    const tool_option_t *options;      /* the last one has no name */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name; returns the exit code */
} tool_command_t;

extern const tool_command_t concede_info, concede_bench, concede_simulate, concede_tune, concede_report, concede_try;

/* Goes through the arguments:
 *
 *     tool_args_t args = { .command = &concede_info, .argc = argc, .argv = argv };
 *     for (int c; (c = tool_next(&args)) != TOOL_END;)
 *         if (c == TOOL_WORD) ... args.value ...
 *         else switch (c) { case 0: the first of the options ... args.value ... }
 *
 * A value that may be left out is "-" then; the next word is one unless it starts with a dash.
 * --help prints and exits 0; what is not known exits 2 with one line that says what was meant or where to look. */
enum { TOOL_END = -1, TOOL_WORD = -2 };
typedef struct tool_args {
    const tool_command_t *command;
    int argc, index;
    char **argv;
    const char *value;   /* of the option, or the word */
    const char *letters; /* rest of a group like -qv */
    bool only_words;     /* after -- */
} tool_args_t;
int tool_next(tool_args_t *args);
/* "concede NAME ...", as it was typed. */
void tool_command_line(int argc, char **argv, char *text, size_t size);
void tool_help(const tool_command_t *command, FILE *out);

/* One line on stderr: "concede NAME: message". usage_error adds the way to the help and exits 2; die exits 1. */
_Noreturn void tool_usage_error(const tool_command_t *command, const char *format, ...) TOOL_PRINTF(2, 3);
_Noreturn void tool_die(const char *format, ...) TOOL_PRINTF(1, 2);
void *tool_need(void *memory); /* ends the program if it is NULL */

/* The word of `words` (ended by NULL) that is most like `wrong`; NULL: none is. */
const char *tool_closest(const char *wrong, const char *const *words);

/* Values of options; false: it is none. A duration is a number and ns, us, ms or s; without a unit it is ns. */
bool tool_parse_duration(const char *text, double *ns);
bool tool_parse_count(const char *text, uint64_t min, uint64_t max, uint64_t *count);

/* Of doubles, for qsort. */
int tool_by_value(const void *a, const void *b);

/* "31.5 ns", "1.20 ms": three digits. The text lives until the sixteenth call after. */
const char *tool_duration(double ns);
const char *tool_count(double n);  /* "12.3 M" */
const char *tool_figure(double x); /* three digits, without an exponent */

/* The columns of the terminal, or COLUMNS, or 100. */
int tool_width(void);
/* Escape sequences for a terminal, or "": stdout is none, or NO_COLOR is set. */
const char *tool_bold(void);
const char *tool_dim(void);
const char *tool_plain(void);

/* Prints text wrapped to the width, each line after the first indented by `indent`; a line end starts a new one. */
void tool_wrap(FILE *out, int indent, const char *text);
/* Prints an entry of a list to stdout, indented and wrapped: a name and what it is. */
void tool_entry(const char *name, const char *text);

/* A table: heads[i] starts with '<' or '>', the side it is aligned to, or with '~', which is '>' for a column that may
 * be left out. Where the table is too wide, these are, the first one first, or a last column of text is wrapped; where
 * that is not enough, each row becomes a block of "head  value" lines. */
typedef struct tool_table tool_table_t;
tool_table_t *tool_table(int columns, const char *const *heads);
void tool_cell(tool_table_t *table, const char *format, ...) TOOL_PRINTF(2, 3);
void tool_table_print(tool_table_t *table, FILE *out, int indent); /* and frees it */

/* Progress on stderr if that is a terminal, in one line that is wiped: what runs, against what, and the time left. */
void tool_progress(const char *what, const char *which, double seconds_left);
void tool_progress_end(void);

/* Ctrl-C: after tool_catch_interrupt() the first one only sets the flag, a second one ends the program. */
void tool_catch_interrupt(void);
bool tool_interrupted(void);

/* A file to be written in the end; "-" is the standard output. It is opened early, so that a wrong name costs no time,
 * but what it holds stays until begin; one that cannot be written whole is removed at the end. All of them die if they
 * fail. */
typedef struct tool_output {
    const char *path;
    FILE *file;
} tool_output_t;
void tool_output_open(tool_output_t *output, const char *path);
FILE *tool_output_begin(tool_output_t *output);
void tool_output_end(tool_output_t *output);

/* What main returns: flushes stdout and says so if that fails (a full disk); 130 after Ctrl-C. */
int tool_finish(int code);

#endif
