/* os_linux.c once more, with both futex calls of a 32-bit kernel, whatever this machine has. */
#include <sys/syscall.h>
#if !defined(SYS_futex_time64)
#define SYS_futex_time64 422
#endif
#include "os_linux.c"
