/* tool.c: see tool.h. */
#include "tool.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

void *tool_need(void *memory)
{
    if (!memory) tool_die("out of memory");
    return memory;
}

static void complain_(const tool_command_t *command, const char *format, va_list arguments)
{
    fflush(stdout);
    tool_progress_end();
    fprintf(stderr, "concede%s%s: ", command ? " " : "", command ? command->name : "");
    vfprintf(stderr, format, arguments);
}

void tool_usage_error(const tool_command_t *command, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    complain_(command, format, arguments);
    va_end(arguments);
    fprintf(stderr, " (see: concede %s%s--help)\n", command ? command->name : "", command ? " " : "");
    exit(2);
}

void tool_die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    complain_(NULL, format, arguments);
    va_end(arguments);
    putc('\n', stderr);
    exit(1);
}

/* Letters to change, add, drop or swap to get from one word to the other; words are short here. */
static unsigned distance_(const char *a, const char *b)
{
    enum { LONGEST = 32 };
    unsigned row[3][LONGEST + 1];
    size_t la = strlen(a), lb = strlen(b);
    if (la > LONGEST || lb > LONGEST) return LONGEST;
    for (size_t j = 0; j <= lb; j++) row[0][j] = (unsigned)j;
    for (size_t i = 1; i <= la; i++) {
        unsigned *now = row[i % 3], *before = row[(i - 1) % 3], *swap = row[(i + 1) % 3];
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= lb; j++) {
            unsigned best = before[j - 1] + (a[i - 1] != b[j - 1]);
            if (before[j] + 1 < best) best = before[j] + 1;
            if (now[j - 1] + 1 < best) best = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && swap[j - 2] + 1 < best)
                best = swap[j - 2] + 1;
            now[j] = best;
        }
    }
    return row[la % 3][lb];
}

const char *tool_closest(const char *wrong, const char *const *words)
{
    const char *closest = NULL;
    unsigned least = 3;
    for (; *words; words++) {
        unsigned d = distance_(wrong, *words);
        if (strncmp(wrong, *words, strlen(wrong)) == 0 && strlen(wrong) > 1) d = 1;
        if (d < least && d < strlen(*words)) least = d, closest = *words;
    }
    return closest;
}

_Noreturn static void unknown_option_(const tool_command_t *command, const char *given)
{
    const char *names[64] = { "help" }, *closest;
    for (size_t i = 0; command->options[i].name && i < 62; i++) names[i + 1] = command->options[i].name;
    closest = given[1] == '-' ? tool_closest(given + 2, names) : NULL;
    if (closest) tool_usage_error(command, "unknown option '%s'; did you mean --%s?", given, closest);
    tool_usage_error(command, "unknown option '%s'", given);
}

static int take_value_(tool_args_t *a, int option, const char *attached, const char *given)
{
    const tool_option_t *o = &a->command->options[option];
    a->value = attached;
    if (!o->value && attached) tool_usage_error(a->command, "--%s takes no value", o->name);
    if (o->value && o->value[0] == '[' && !attached) {
        const char *next = a->index < a->argc ? a->argv[a->index] : "-";
        bool is_value = a->index < a->argc && (next[0] != '-' || next[1] == 0);
        a->value = is_value ? next : "-";
        a->index += is_value;
    } else if (o->value && !attached) {
        if (a->index >= a->argc) tool_usage_error(a->command, "'%s' needs a value: %s", given, o->value);
        a->value = a->argv[a->index++];
    }
    return option;
}

int tool_next(tool_args_t *a)
{
    const tool_option_t *options = a->command->options;
    if (a->index == 0) a->index = 1;
    if (!a->letters || !*a->letters) {
        if (a->index >= a->argc) return TOOL_END;
        char *given = a->argv[a->index++];
        if (a->only_words || given[0] != '-' || given[1] == 0) {
            a->value = given;
            return TOOL_WORD;
        }
        if (strcmp(given, "--") == 0) {
            a->only_words = true;
            return tool_next(a);
        }
        if (given[1] == '-') {
            size_t length = strcspn(given + 2, "=");
            const char *attached = given[2 + length] ? given + 3 + length : NULL;
            for (int i = 0; options[i].name; i++)
                if (strncmp(options[i].name, given + 2, length) == 0 && options[i].name[length] == 0)
                    return take_value_(a, i, attached, given);
            if (strcmp(given, "--help") != 0) {
                given[2 + length] = 0;
                unknown_option_(a->command, given);
            }
            tool_help(a->command, stdout);
            exit(tool_finish(0));
        }
        a->letters = given + 1;
    }
    char given[3] = { '-', *a->letters++, 0 };
    for (int i = 0; options[i].name; i++) {
        if (options[i].letter != given[1]) continue;
        const char *attached = options[i].value && *a->letters ? a->letters : NULL;
        if (options[i].value) a->letters = NULL;
        return take_value_(a, i, attached, given);
    }
    if (given[1] != 'h') unknown_option_(a->command, given);
    tool_help(a->command, stdout);
    exit(tool_finish(0));
}

void tool_help(const tool_command_t *command, FILE *out)
{
    fprintf(out, "usage: ");
    char usage[256];
    snprintf(usage, sizeof usage, "concede %s%s%s", command->name, *command->usage ? " " : "", command->usage);
    tool_wrap(out, 7, usage);
    putc('\n', out);
    tool_wrap(out, 0, command->summary);
    putc('\n', out);
    int widest = 0, width = tool_width();
    for (const tool_option_t *o = command->options; o->name; o++) {
        int w = 8 + (int)strlen(o->name) + (o->value ? 1 + (int)strlen(o->value) : 0);
        if (w > widest) widest = w;
    }
    if (widest < 12) widest = 12;
    for (const tool_option_t *o = command->options;; o++) {
        const tool_option_t help = { 'h', "help", NULL, "print this and exit" };
        const tool_option_t *shown = o->name ? o : &help;
        char letter[8] = "    ";
        if (shown->letter) snprintf(letter, sizeof letter, "-%c, ", shown->letter);
        int at = fprintf(out, "  %s--%s%s%s", letter, shown->name, shown->value ? " " : "",
                         shown->value ? shown->value : "");
        if (width - widest < 40) {
            fprintf(out, "\n        ");
            tool_wrap(out, 8, shown->help);
        } else {
            fprintf(out, "%*s", widest + 2 - at, "");
            tool_wrap(out, widest + 2, shown->help);
        }
        if (!o->name) break;
    }
    if (command->text) {
        putc('\n', out);
        tool_wrap(out, 0, command->text);
    }
}

void tool_command_line(int argc, char **argv, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "concede");
    for (int i = 0; i < argc && used < size; i++) used += (size_t)snprintf(text + used, size - used, " %s", argv[i]);
}

bool tool_parse_duration(const char *text, double *ns)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {
        { "", 1 }, { "ns", 1 }, { "us", 1e3 }, { "\xc2\xb5s", 1e3 }, { "ms", 1e6 }, { "s", 1e9 },
    };
    char *end;
    if (*text < '0' || *text > '9') return false;
    double number = strtod(text, &end);
    while (*end == ' ') end++;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(end, units[i].unit) != 0) continue;
        *ns = number * units[i].ns;
        return isfinite(*ns);
    }
    return false;
}

bool tool_parse_count(const char *text, uint64_t min, uint64_t max, uint64_t *count)
{
    char *end;
    if (*text < '0' || *text > '9') return false;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    *count = number;
    return errno == 0 && *end == 0 && number >= min && number <= max;
}

int tool_by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static char *slot_(void)
{
    static char text[16][32];
    static unsigned next;
    return text[next++ % 16];
}

/* Three digits of a number in the unit in which it is between 1 and 1000; a unit is a thousand of the one before. */
static const char *scaled_(double value, const char *const units[4])
{
    if (!isfinite(value)) return "-";
    int unit = 0;
    for (; unit < 3 && value >= 999.5; unit++) value /= 1e3;
    char *text = slot_();
    snprintf(text, 32, "%.*f%s%s",
             value < 9.995   ? 2
             : value < 99.95 ? 1
                             : 0,
             value, *units[unit] ? " " : "", units[unit]);
    return text;
}

const char *tool_duration(double ns)
{
    static const char *const units[4] = { "ns", "us", "ms", "s" };
    return scaled_(ns, units);
}

const char *tool_count(double n)
{
    static const char *const units[4] = { "", "k", "M", "G" };
    return scaled_(n, units);
}

const char *tool_figure(double x)
{
    char *text = slot_();
    double size = fabs(x);
    int digits = size >= 100 || size == 0 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : size >= 0.1 ? 3 : 4;
    snprintf(text, 32, "%.*f", digits, x);
    return text;
}

int tool_width(void)
{
    struct winsize size;
    uint64_t columns;
    const char *set = getenv("COLUMNS");
    if (set && tool_parse_count(set, 20, 10000, &columns)) return (int)columns;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20) return size.ws_col;
    return 100;
}

static bool colour_(void)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(no && *no) && !(term && strcmp(term, "dumb") == 0);
}

const char *tool_bold(void)
{
    return colour_() ? "\033[1m" : "";
}

const char *tool_dim(void)
{
    return colour_() ? "\033[2m" : "";
}

const char *tool_plain(void)
{
    return colour_() ? "\033[0m" : "";
}

/* A number and its unit stay together. */
static size_t word_length_(const char *text)
{
    static const char *const units[] = { "ns", "us", "ms", "s", "%", "M", "k", NULL };
    size_t length = strcspn(text, " \n");
    if (length == 0 || text[length] != ' ' || text[length - 1] < '0' || text[length - 1] > '9') return length;
    for (int i = 0; units[i]; i++) {
        size_t unit = strlen(units[i]);
        const char *after = text + length + 1;
        if (strncmp(after, units[i], unit) == 0 && (!after[unit] || strchr(" .,;:)\n", after[unit])))
            return length + 1 + strcspn(after, " \n");
    }
    return length;
}

void tool_wrap(FILE *out, int indent, const char *text)
{
    int width = tool_width(), at = indent;
    bool start = true, as_it_is = false;
    while (*text) {
        if (*text == '\n') {
            fprintf(out, "\n%*s", text[1] && text[1] != '\n' ? indent : 0, "");
            text++, at = indent, start = true;
            as_it_is = *text == ' '; /* an example or a list: its spaces stay */
            for (; *text == ' '; text++, at++) putc(' ', out);
            continue;
        }
        int length = (int)word_length_(text);
        if (!start && at + 1 + length > width) {
            int more = as_it_is ? 4 : 0;
            fprintf(out, "\n%*s", indent + more, "");
            at = indent + more, start = true;
        }
        if (!start) putc(' ', out), at++;
        int part = width - at;
        if (length > part) { /* longer than a line: "one|two|three" may be broken */
            while (part > 0 && text[part - 1] != '|') part--;
            if (part > 0) length = part;
        }
        fwrite(text, 1, (size_t)length, out);
        at += length, start = false, text += length;
        if (length == part && text[-1] == '|') {
            fprintf(out, "\n%*s", indent, "");
            at = indent, start = true;
            continue;
        }
        int spaces = (int)strspn(text, " ");
        text += spaces;
        if (as_it_is && spaces > 1 && at + spaces + (int)word_length_(text) <= width)
            for (; spaces > 1; spaces--, at++) putc(' ', out);
    }
    putc('\n', out);
}

void tool_entry(const char *name, const char *text)
{
    char entry[1024];
    snprintf(entry, sizeof entry, "%s: %s", name, text);
    fputs("  ", stdout);
    tool_wrap(stdout, 4, entry);
}

struct tool_table {
    int columns;
    const char *const *heads;
    char **cells;
    size_t used, size;
};

tool_table_t *tool_table(int columns, const char *const *heads)
{
    tool_table_t *t = tool_need(calloc(1, sizeof *t));
    t->columns = columns;
    t->heads = heads;
    return t;
}

void tool_cell(tool_table_t *t, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (t->used == t->size) t->cells = tool_need(realloc(t->cells, (t->size = t->size * 2 + 64) * sizeof *t->cells));
    t->cells[t->used++] = tool_need(strdup(text));
}

enum { NARROWEST_TEXT = 16 }; /* columns that the last column of a table needs to be wrapped in */

/* A column whose width is LEFT_OUT is not there. */
enum { LEFT_OUT = -2 };
static void row_(FILE *out, int indent, int columns, const char *const *heads, char *const *cells, const int *widths)
{
    int at = indent;
    fprintf(out, "%*s", indent, "");
    for (int c = 0; c < columns; c++, at += widths[c - 1] + 2) {
        const char *text = cells ? cells[c] : heads[c] + 1;
        if (widths[c] == LEFT_OUT) continue;
        if (cells && c + 1 == columns && heads[c][0] == '<' && *text) {
            tool_wrap(out, at, text);
            return;
        }
        if (heads[c][0] != '<')
            fprintf(out, "%*s", widths[c], text);
        else
            fprintf(out, "%-*s", c + 1 < columns ? widths[c] : 0, text);
        bool more = false; /* no spaces at the end of a line */
        for (int d = c + 1; d < columns; d++)
            more |= widths[d] != LEFT_OUT && (cells ? cells[d] : heads[d] + 1)[0] != 0;
        if (!more) break;
        fputs("  ", out);
    }
    putc('\n', out);
}

void tool_table_print(tool_table_t *t, FILE *out, int indent)
{
    int *widths = tool_need(calloc((size_t)t->columns, sizeof *widths));
    int total = indent - 2, widest_head = 0, columns = t->columns;
    size_t rows = t->used / (size_t)columns;
    for (int c = 0; c < columns; c++) {
        widths[c] = (int)strlen(t->heads[c] + 1);
        if (widths[c] > widest_head) widest_head = widths[c];
        for (size_t r = 0; r < rows; r++) {
            int w = (int)strlen(t->cells[r * (size_t)columns + (size_t)c]);
            if (w > widths[c]) widths[c] = w;
        }
        total += widths[c] + 2;
    }
    int needed = total;
    if (t->heads[columns - 1][0] == '<' && widths[columns - 1] > NARROWEST_TEXT)
        needed -= widths[columns - 1] - NARROWEST_TEXT;
    for (int c = 0; c < columns; c++)
        if (t->heads[c][0] == '~') needed -= widths[c] + 2;
    for (int c = 0; c < columns && needed <= tool_width() && total > tool_width(); c++) {
        if (t->heads[c][0] != '~') continue;
        total -= widths[c] + 2;
        widths[c] = LEFT_OUT;
    }
    int last = total - widths[columns - 1]; /* where the last column begins */
    bool text_last = t->heads[columns - 1][0] == '<' && tool_width() - last >= NARROWEST_TEXT;
    if (rows > 0 && (total <= tool_width() || text_last)) { /* no heads without a row */
        fputs(tool_dim(), out);
        row_(out, indent, columns, t->heads, NULL, widths);
        fputs(tool_plain(), out);
        for (size_t r = 0; r < rows; r++) row_(out, indent, columns, t->heads, t->cells + r * (size_t)columns, widths);
    } else {
        for (size_t r = 0; r < rows; r++) {
            char **cells = t->cells + r * (size_t)columns;
            fprintf(out, "%*s%s", indent, "", tool_bold());
            tool_wrap(out, indent, cells[0]);
            fputs(tool_plain(), out);
            for (int c = 1; c < columns; c++) {
                if (!cells[c][0]) continue;
                fprintf(out, "%*s%-*s  ", indent + 2, "", widest_head, t->heads[c] + 1);
                tool_wrap(out, indent + 4 + widest_head, cells[c]);
            }
        }
    }
    for (size_t i = 0; i < t->used; i++) free(t->cells[i]);
    free(t->cells);
    free(widths);
    free(t);
}

static bool progress_shown;

void tool_progress(const char *what, const char *which, double seconds_left)
{
    char text[160];
    struct winsize size;
    int width = 80;
    if (!isatty(STDERR_FILENO)) return;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20) width = size.ws_col;
    int used = snprintf(text, sizeof text, "%s%s%s", what, *which ? ": " : "", which);
    if (seconds_left >= 0.5 && used > 0 && used < (int)sizeof text)
        snprintf(text + used, sizeof text - (size_t)used, ", %.0f s left", seconds_left);
    fprintf(stderr, "\r\033[K%.*s", width - 1, text);
    fflush(stderr);
    progress_shown = true;
}

void tool_progress_end(void)
{
    if (progress_shown) fputs("\r\033[K", stderr);
    fflush(stderr);
    progress_shown = false;
}

static volatile sig_atomic_t interrupted;

static void on_interrupt_(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
}

void tool_catch_interrupt(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_interrupt_;
    action.sa_flags = (int)SA_RESETHAND;
    sigaction(SIGINT, &action, NULL);
}

bool tool_interrupted(void)
{
    return interrupted != 0;
}

/* Flushes; 0, or why something could not be written: an errno. */
static int write_error_(FILE *out)
{
    errno = 0;
    if (fflush(out) == 0 && !ferror(out)) return 0;
    if (errno) return errno;
    return write(fileno(out), "\n", 1) == 1 ? EIO : errno; /* it failed before: try again, to learn why */
}

static bool is_regular_(FILE *file)
{
    struct stat status;
    return fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode);
}

_Noreturn static void cannot_write_(const tool_output_t *o, int why)
{
    tool_die("cannot write %s: %s", strcmp(o->path, "-") == 0 ? "the output" : o->path, strerror(why));
}

void tool_output_open(tool_output_t *o, const char *path)
{
    o->path = path;
    o->file = strcmp(path, "-") == 0 ? stdout : fopen(path, "ab");
    if (!o->file) cannot_write_(o, errno);
}

FILE *tool_output_begin(tool_output_t *o)
{
    if (o->file != stdout && is_regular_(o->file) && ftruncate(fileno(o->file), 0) != 0) cannot_write_(o, errno);
    return o->file;
}

void tool_output_end(tool_output_t *o)
{
    bool removable = o->file != stdout && is_regular_(o->file);
    int why = write_error_(o->file);
    if (o->file != stdout && fclose(o->file) != 0 && !why) why = errno;
    if (!why) return;
    if (removable) remove(o->path);
    cannot_write_(o, why);
}

int tool_finish(int code)
{
    tool_progress_end();
    int why = write_error_(stdout);
    if (why) fprintf(stderr, "concede: cannot write the output: %s\n", strerror(why));
    return why ? 1 : tool_interrupted() ? 130 : code;
}
