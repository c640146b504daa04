#include <stddef.h>
void *malloc(size_t);
void *calloc(size_t, size_t);
void *aligned_alloc(size_t, size_t);
void free(void *);
_Noreturn void abort(void);
char *getenv(const char *);
