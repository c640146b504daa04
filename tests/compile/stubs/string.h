#include <stddef.h>
void *memset(void *, int, size_t);
void *memcpy(void *restrict, const void *restrict, size_t);
