/* symbols.h: names for addresses in programs: the function, and the file and line where there is debug information. */
#ifndef CONCEDE_TOOL_SYMBOLS_H
#define CONCEDE_TOOL_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

/* A place in a file's code. Fill in module and offset; symbols_find() does the rest. */
typedef struct symbol {
    const char *module; /* the file; NULL: code of no file */
    uint64_t offset;    /* in it, of the return address */
    char function[128]; /* "": not known */
    char line[160];     /* "file.c:12", or "": not known */
} symbol_t;

/* Looks them all up: the functions in the files' symbol tables, the lines with addr2line(1) if that is there. */
void symbols_find(symbol_t *symbols, size_t count);

#endif
