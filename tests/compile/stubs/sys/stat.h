#include <fcntl.h>
#include <stdint.h>
typedef uint16_t mode_t;
typedef uint32_t uid_t;
struct stat {
    int32_t st_dev;
    uint64_t st_ino;
    mode_t st_mode;
    uint16_t st_nlink;
    uid_t st_uid;
    off_t st_size;
};
#define S_ISREG(mode) (((mode)&0170000) == 0100000)
int fstat(int, struct stat *);
int fchmod(int, mode_t);
