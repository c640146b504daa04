/* json.h: writes JSON as it comes, and reads a whole text into a tree.
 *
 *     json_writer_t w = { .out = stdout };
 *     json_open(&w, NULL, '{');
 *     json_string(&w, "workload", "cas");
 *     json_open(&w, "median_ns", '[');
 *     json_number(&w, NULL, 31.5);
 *     json_close(&w);
 *     json_close(&w);                               // also ends the line
 *
 *     json_t *root = json_parse(text, error, sizeof error);
 *     double ns = json_get_number(root, "costs.pause_ns", NAN);
 *     json_free(root);
 *
 * The writer does not look at errors of `out`: ask ferror() at the end. Numbers that JSON does not have become null. */
#ifndef CONCEDE_JSON_H
#define CONCEDE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { JSON_DEPTH = 64 }; /* of nesting, for the writer and the reader */

typedef struct json_writer {
    FILE *out;
    bool compact; /* no line ends, no spaces */
    int depth;
    char open[JSON_DEPTH];
    bool filled[JSON_DEPTH];
} json_writer_t;

/* Each takes the key of an object's member, or NULL inside an array and at the top. */
void json_open(json_writer_t *w, const char *key, char bracket); /* '{' or '[' */
void json_close(json_writer_t *w);
void json_string(json_writer_t *w, const char *key, const char *text); /* NULL: null */
void json_number(json_writer_t *w, const char *key, double number);    /* the shortest text that reads back the same */
void json_integer(json_writer_t *w, const char *key, uint64_t number);
void json_bool(json_writer_t *w, const char *key, bool value);

typedef enum { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT } json_type_t;

typedef struct json {
    json_type_t type;
    bool boolean;
    double number;
    char *string;       /* of a string, ended by 0 */
    char *key;          /* if its parent is an object */
    struct json *child; /* the first of an array or object */
    struct json *next;  /* the next of the same parent */
    size_t count;       /* children */
} json_t;

/* The tree of the text, or NULL and a line in `error` that says where and why. */
json_t *json_parse(const char *text, char *error, size_t error_size);

/* The tree of a file ("-": standard input); the same. */
json_t *json_parse_file(const char *path, char *error, size_t error_size);

void json_free(json_t *root);

/* What is at a path of keys with dots between them, or NULL; "" is the value itself. */
const json_t *json_get(const json_t *value, const char *path);
double json_get_number(const json_t *value, const char *path, double otherwise);
const char *json_get_string(const json_t *value, const char *path, const char *otherwise);
bool json_get_bool(const json_t *value, const char *path, bool otherwise);

/* Writes a tree that was read. */
void json_write(json_writer_t *w, const char *key, const json_t *value);

#endif
