#include <stdint.h>
#include <time.h>
#define FUTEX_WAIT         1
#define FUTEX_WAKE         2
#define FUTEX_WAIT_PRIVATE (1 | 128)
#define FUTEX_WAKE_PRIVATE (2 | 128)
int futex(volatile uint32_t *, int, int, const struct timespec *, volatile uint32_t *);
