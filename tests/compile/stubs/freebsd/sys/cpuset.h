#include <stddef.h>
typedef struct {
    long bits[16];
} cpuset_t;
typedef int cpulevel_t, cpuwhich_t;
#define CPU_LEVEL_WHICH 3
#define CPU_WHICH_PID   2
#define CPU_ZERO(set)   ((void)((set)->bits[0] = 0))
#define CPU_COUNT(set)  ((int)(set)->bits[0])
int cpuset_getaffinity(cpulevel_t, cpuwhich_t, long long, size_t, cpuset_t *);
