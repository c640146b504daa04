#include <stddef.h>
void *memset(void *, int, size_t);
void *memcpy(void *restrict, const void *restrict, size_t);
size_t strlen(const char *);
size_t strcspn(const char *, const char *);
int strncmp(const char *, const char *, size_t);
char *strchr(const char *, int);
int strcmp(const char *, const char *);
