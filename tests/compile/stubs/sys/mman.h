#include <fcntl.h>
#include <stddef.h>
#define PROT_NONE   0
#define PROT_READ   1
#define PROT_WRITE  2
#define MAP_SHARED  0x0001
#define MAP_PRIVATE 0x0002
#define MAP_FIXED   0x0010
#define MAP_ANON    0x1000
#define MAP_FAILED  ((void *)-1)
void *mmap(void *, size_t, int, int, int, off_t);
int munmap(void *, size_t);
int shm_open(const char *, int, ...); /* the third argument is mode_t, or anything: macOS */
int shm_unlink(const char *);
