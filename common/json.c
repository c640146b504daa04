/* json.c: see json.h. */
#include "json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How many bytes the UTF-8 character here has; 0: it is none. */
static int character_(const unsigned char *c)
{
    int length = c[0] < 0x80 ? 1 : c[0] < 0xc2 ? 0 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : c[0] < 0xf5 ? 4 : 0;
    for (int i = 1; i < length; i++)
        if ((c[i] & 0xc0) != 0x80) return 0;
    if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xf0 && c[1] < 0x90)) return 0; /* longer than it need be */
    if ((c[0] == 0xed && c[1] > 0x9f) || (c[0] == 0xf4 && c[1] > 0x8f)) return 0; /* a surrogate; too large */
    return length;
}

static void quote_(FILE *out, const char *text)
{
    int length;
    putc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c; c += length ? length : 1) {
        length = character_(c);
        if (length == 0)
            fputs("\\ufffd", out); /* bytes that are no text, as arguments and file names may have */
        else if (*c == '"' || *c == '\\')
            fprintf(out, "\\%c", *c);
        else if (*c < 0x20 || *c == 0x7f || *c == '<')
            fprintf(out, "\\u%04x", *c); /* '<': safe inside a page's script */
        else
            fwrite(c, 1, (size_t)length, out);
    }
    putc('"', out);
}

static void line_(json_writer_t *w)
{
    if (w->compact) return;
    putc('\n', w->out);
    for (int i = 0; i < w->depth; i++) fputs("  ", w->out);
}

/* What comes before a value: the comma, the line, the key. Arrays of plain values stay on one line. */
static void before_(json_writer_t *w, const char *key, bool plain)
{
    if (w->depth > 0) {
        bool *filled = &w->filled[w->depth - 1];
        bool same_line = plain && w->open[w->depth - 1] == '[';
        if (*filled) fputs(same_line && !w->compact ? ", " : ",", w->out);
        if (!same_line) line_(w);
        *filled = true;
    }
    if (key) {
        quote_(w->out, key);
        fputs(w->compact ? ":" : ": ", w->out);
    }
}

void json_open(json_writer_t *w, const char *key, char bracket)
{
    before_(w, key, false);
    putc(bracket, w->out);
    if (w->depth == JSON_DEPTH) abort();
    w->open[w->depth] = bracket;
    w->filled[w->depth] = false;
    w->depth++;
}

void json_close(json_writer_t *w)
{
    w->depth--;
    if (w->open[w->depth] == '{' && w->filled[w->depth]) line_(w);
    putc(w->open[w->depth] == '{' ? '}' : ']', w->out);
    if (w->depth == 0 && !w->compact) putc('\n', w->out);
}

void json_string(json_writer_t *w, const char *key, const char *text)
{
    before_(w, key, true);
    if (text)
        quote_(w->out, text);
    else
        fputs("null", w->out);
}

void json_number(json_writer_t *w, const char *key, double number)
{
    char text[32];
    before_(w, key, true);
    if (!isfinite(number)) {
        fputs("null", w->out);
        return;
    }
    bool whole = fabs(number) < 1e15 && number == rint(number); /* not 2.085e+06 */
    for (int digits = whole ? 15 : 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, number);
        if (strtod(text, NULL) == number) break;
    }
    fputs(text, w->out);
}

void json_integer(json_writer_t *w, const char *key, uint64_t number)
{
    before_(w, key, true);
    fprintf(w->out, "%llu", (unsigned long long)number);
}

void json_bool(json_writer_t *w, const char *key, bool value)
{
    before_(w, key, true);
    fputs(value ? "true" : "false", w->out);
}

void json_write(json_writer_t *w, const char *key, const json_t *value)
{
    switch (value ? value->type : JSON_NULL) {
    case JSON_NULL: json_string(w, key, NULL); break;
    case JSON_BOOL: json_bool(w, key, value->boolean); break;
    case JSON_NUMBER: json_number(w, key, value->number); break;
    case JSON_STRING: json_string(w, key, value->string); break;
    case JSON_ARRAY:
    case JSON_OBJECT:
        json_open(w, key, value->type == JSON_ARRAY ? '[' : '{');
        for (const json_t *c = value->child; c; c = c->next) json_write(w, c->key, c);
        json_close(w);
    }
}

typedef struct reader {
    const char *start, *at;
    const char *problem; /* the first one; reading stops there */
    int depth;
} reader_t;

static void *need_(void *memory)
{
    if (memory) return memory;
    fputs("concede: out of memory\n", stderr);
    exit(1);
}

static void space_(reader_t *r)
{
    r->at += strspn(r->at, " \t\r\n");
}

static bool fail_(reader_t *r, const char *problem)
{
    if (!r->problem) r->problem = problem;
    return false;
}

static bool word_(reader_t *r, const char *word)
{
    if (strncmp(r->at, word, strlen(word)) != 0) return fail_(r, "no value");
    r->at += strlen(word);
    return true;
}

static bool hex4_(reader_t *r, unsigned *value)
{
    *value = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        const char *digits = "0123456789abcdef", *found = *r->at ? strchr(digits, *r->at | 0x20) : NULL;
        if (!found) return fail_(r, "\\u without four hexadecimal digits");
        *value = *value * 16 + (unsigned)(found - digits);
    }
    return true;
}

static char *utf8_(char *to, unsigned code)
{
    if (code < 0x80)
        *to++ = (char)code;
    else if (code < 0x800)
        *to++ = (char)(0xc0 | code >> 6);
    else if (code < 0x10000)
        *to++ = (char)(0xe0 | code >> 12), *to++ = (char)(0x80 | (code >> 6 & 0x3f));
    else {
        *to++ = (char)(0xf0 | code >> 18), *to++ = (char)(0x80 | (code >> 12 & 0x3f));
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
    }
    if (code >= 0x80) *to++ = (char)(0x80 | (code & 0x3f));
    return to;
}

static bool escape_(reader_t *r, char **to)
{
    static const char from[] = "\"\\/bfnrt", plain[] = "\"\\/\b\f\n\r\t";
    char c = *r->at++;
    unsigned code, low;
    const char *found = c ? strchr(from, c) : NULL;
    if (found) {
        *(*to)++ = plain[found - from];
        return true;
    }
    if (c != 'u') return fail_(r, "unknown escape");
    if (!hex4_(r, &code)) return false;
    if (code >= 0xd800 && code < 0xdc00 && r->at[0] == '\\' && r->at[1] == 'u') {
        r->at += 2;
        if (!hex4_(r, &low)) return false;
        if (low < 0xdc00 || low > 0xdfff) return fail_(r, "half a surrogate pair");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    if (code == 0) return fail_(r, "a zero in a string");
    *to = utf8_(*to, code);
    return true;
}

static bool string_(reader_t *r, char **string)
{
    const char *end = ++r->at;
    while (*end && *end != '"') end += end[0] == '\\' && end[1] ? 2 : 1;
    if (!*end) return fail_(r, "a string without an end");
    char *to = *string = need_(malloc((size_t)(end - r->at) + 1)); /* no escape gets longer when read */
    while (r->at < end) {
        if ((unsigned char)*r->at < 0x20) return fail_(r, "a control character in a string");
        if (*r->at != '\\')
            *to++ = *r->at++;
        else if (r->at++, !escape_(r, &to)) {
            *to = 0;
            return false;
        }
    }
    *to = 0;
    r->at = end + 1;
    return true;
}

static bool number_(reader_t *r, double *number)
{
    const char *c = r->at;
    char *end;
    if (*c == '-') c++;
    if (*c < '0' || *c > '9' || (c[0] == '0' && c[1] >= '0' && c[1] <= '9')) return fail_(r, "no value");
    if (c[0] == '0' && (c[1] | 0x20) == 'x') return fail_(r, "a hexadecimal number");
    *number = strtod(r->at, &end);
    if (end[-1] == '.') return fail_(r, "a number that ends in a point");
    r->at = end;
    return true;
}

static bool value_(reader_t *r, json_t **value);

static bool children_(reader_t *r, json_t *parent)
{
    char end = parent->type == JSON_ARRAY ? ']' : '}';
    json_t **last = &parent->child;
    r->at++;
    space_(r);
    if (*r->at == end) return r->at++, true;
    if (++r->depth > JSON_DEPTH) return fail_(r, "nested too deeply");
    for (;;) {
        char *key = NULL;
        space_(r);
        if (parent->type == JSON_OBJECT) {
            if (*r->at != '"') return fail_(r, "no key");
            if (string_(r, &key)) {
                space_(r);
                if (*r->at++ != ':') fail_(r, "no colon after a key");
            }
            if (r->problem) return free(key), false;
        }
        bool good = value_(r, last);
        if (*last)
            (*last)->key = key;
        else
            free(key);
        if (!good) return false;
        last = &(*last)->next;
        parent->count++;
        space_(r);
        if (*r->at == end) return r->at++, r->depth--, true;
        if (*r->at++ != ',') return r->at--, fail_(r, "neither a comma nor the end");
    }
}

static bool value_(reader_t *r, json_t **value)
{
    json_t *v = *value = need_(calloc(1, sizeof *v));
    space_(r);
    switch (*r->at) {
    case 'n': return word_(r, "null");
    case 't': return v->type = JSON_BOOL, v->boolean = true, word_(r, "true");
    case 'f': return v->type = JSON_BOOL, word_(r, "false");
    case '"': return v->type = JSON_STRING, string_(r, &v->string);
    case '[': return v->type = JSON_ARRAY, children_(r, v);
    case '{': return v->type = JSON_OBJECT, children_(r, v);
    default: return v->type = JSON_NUMBER, number_(r, &v->number);
    }
}

json_t *json_parse(const char *text, char *error, size_t error_size)
{
    reader_t r = { text, text, NULL, 0 };
    json_t *root = NULL;
    if (value_(&r, &root)) {
        space_(&r);
        if (*r.at == 0) return root;
        fail_(&r, "text after the end");
    }
    int line = 1;
    for (const char *c = text; c < r.at && *c; c++) line += *c == '\n';
    snprintf(error, error_size, "no JSON, line %d: %s", line, r.problem);
    json_free(root);
    return NULL;
}

json_t *json_parse_file(const char *path, char *error, size_t error_size)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    size_t used = 0, size = 1 << 16, got;
    if (!file) {
        snprintf(error, error_size, "%s", strerror(errno));
        return NULL;
    }
    char *text = need_(malloc(size));
    while ((got = fread(text + used, 1, size - used - 1, file)) > 0)
        if ((used += got) == size - 1) text = need_(realloc(text, size *= 2));
    bool bad = ferror(file) != 0;
    if (bad) snprintf(error, error_size, "%s", strerror(errno));
    if (file != stdin) fclose(file);
    text[used] = 0;
    json_t *root = bad ? NULL : json_parse(text, error, error_size);
    free(text);
    return root;
}

void json_free(json_t *value)
{
    while (value) {
        json_t *next = value->next;
        json_free(value->child);
        free(value->string);
        free(value->key);
        free(value);
        value = next;
    }
}

const json_t *json_get(const json_t *value, const char *path)
{
    while (value && *path) {
        size_t length = strcspn(path, ".");
        const json_t *c = value->type == JSON_OBJECT ? value->child : NULL;
        while (c && (strncmp(c->key, path, length) != 0 || c->key[length])) c = c->next;
        value = c;
        path += length + (path[length] == '.');
    }
    return value;
}

double json_get_number(const json_t *value, const char *path, double otherwise)
{
    const json_t *found = json_get(value, path);
    return found && found->type == JSON_NUMBER ? found->number : otherwise;
}

const char *json_get_string(const json_t *value, const char *path, const char *otherwise)
{
    const json_t *found = json_get(value, path);
    return found && found->type == JSON_STRING ? found->string : otherwise;
}

bool json_get_bool(const json_t *value, const char *path, bool otherwise)
{
    const json_t *found = json_get(value, path);
    return found && found->type == JSON_BOOL ? found->boolean : otherwise;
}
