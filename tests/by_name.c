/* by_name.c: tests of segments that are known by a descriptor, run on segments with names, for a system that has only
 * those (other_system.c). The test is compiled with other names for the two calls, and these are here. */
#undef cc_shared_create_fd
#undef cc_shared_open_fd
#include <concede/shared.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int by_name_create(cc_shared_t **shared, const cc_channel_options_t *options, int *fd);
int by_name_open(cc_shared_t **shared, int fd);

#define FOLDER "/dev/shm"
static int first_process;

static __attribute__((constructor)) void begin(void)
{
    first_process = (int)getpid();
}

/* Children were killed, and left theirs. */
static __attribute__((destructor)) void end(void)
{
    char pattern[100];
    glob_t left;
    if (getpid() != first_process) return;
    snprintf(pattern, sizeof pattern, FOLDER "/concede-by-name-%d-*", first_process);
    if (glob(pattern, 0, NULL, &left) != 0) return;
    for (size_t i = 0; i < left.gl_pathc; i++) unlink(left.gl_pathv[i]);
    globfree(&left);
}

int by_name_create(cc_shared_t **shared, const cc_channel_options_t *options, int *fd)
{
    static unsigned count;
    char name[100];
    if (!fd) return EINVAL;
    unsigned number = __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    /* Numbers of processes are used again, and one that was killed may have left its name behind. */
    snprintf(name, sizeof name, "/concede-by-name-%d-%d-%u-%llu", first_process, (int)getpid(), number,
             (unsigned long long)cc_now_ns());
    int error = cc_shared_create(shared, name, options);
    if (error == 0) *fd = shm_open(name, O_RDWR, 0);
    return error;
}

int by_name_open(cc_shared_t **shared, int fd)
{
    char link[50], path[200];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return EPROTO;
    path[length] = 0;
    return strncmp(path, FOLDER, strlen(FOLDER)) == 0 ? cc_shared_open(shared, path + strlen(FOLDER)) : EPROTO;
}
