/* os_linux_cpus.h: how many CPUs the threads of this process may run on, and how many its container pays for;
 * os_linux.c includes it. */

/* Opens a file and makes one call that reads it; returns its result. The calls go by their numbers, because open(),
 * read() and close() are cancellation points. */
static long read_once_(long call, const char *path, int flags, char *bytes, size_t size)
{
    long file = SYSTEM_CALL(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | flags);
    if (file < 0) return file;
    long got = SYSTEM_CALL(call, (int)file, bytes, size);
    (void)SYSTEM_CALL(SYS_close, (int)file);
    return got;
}

/* The file's first bytes as a string; false if there is no such file. */
static bool read_file_(const char *path, char *text, size_t size)
{
    long got = read_once_(SYS_read, path, 0, text, size - 1);
    text[got > 0 ? got : 0] = 0;
    return got > 0;
}

/* Reads a number and moves past it; returns UINT64_MAX for "max", for -1, and for what is no number. */
static uint64_t number_(const char **text)
{
    uint64_t value = 0;
    const char *at = *text + strspn(*text, " \n"), *start = at;
    for (; *at >= '0' && *at <= '9' && value < UINT64_MAX / 16; at++) value = value * 10 + (uint64_t)(*at - '0');
    *text = at + strcspn(at, " \n");
    return at == start ? UINT64_MAX : value;
}

/* Whole CPUs that the quota of one cgroup directory allows; UINT32_MAX: no limit there. A fraction is dropped, because
 * a CPU that is half ours cannot be planned with; but a quota below one CPU counts as one. */
static uint32_t quota_cpus_(char *path, size_t length, bool version_2)
{
    char text[64]; /* two numbers of up to 20 digits */
    const char *at = text;
    uint64_t quota = UINT64_MAX, period = UINT64_MAX;
    strcpy(path + length, version_2 ? "/cpu.max" : "/cpu.cfs_quota_us");
    if (read_file_(path, text, sizeof text)) quota = number_(&at);
    if (quota == UINT64_MAX) return UINT32_MAX;
    if (!version_2) { /* version 2 has "quota period" in one file */
        strcpy(path + length, "/cpu.cfs_period_us");
        if (!read_file_(path, text, sizeof text)) return UINT32_MAX;
        at = text;
    }
    period = number_(&at);
    if (period == UINT64_MAX || period == 0) return UINT32_MAX;
    uint64_t cpus = quota / period;
    return cpus == 0 ? 1 : cpus < UINT32_MAX ? (uint32_t)cpus : UINT32_MAX;
}

/* The CPUs that the cgroups of this process leave it, by `table` (/proc/self/cgroup) and the mounts under `mounts`: the
 * least quota from its own group up to the mount. Where the group's path is not visible (a container), the mount's
 * counts. */
static uint32_t cgroup_cpus_(const char *table, const char *mounts)
{
    char text[4096]; /* a line for each controller of version 1, some fifteen, and one for version 2 */
    char path[512];  /* where a path is longer, the quota is not seen */
    uint32_t min = UINT32_MAX;
    if (!read_file_(table, text, sizeof text)) return min;
    for (char *line = text, *next; line && *line; line = next) { /* "id:controllers:/group" */
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group) continue;
        *controllers = '/'; /* version 1 is mounted at mounts/controllers, version 2 at mounts itself */
        *group++ = 0;
        bool version_2 = controllers[1] == 0;
        if (!version_2 && strcmp(controllers, "/cpu") && strncmp(controllers, "/cpu,", 5)) continue;
        if (strlen(mounts) + strlen(controllers) + strlen(group) + sizeof "/cpu.cfs_period_us" > sizeof path) continue;
        strcpy(path, mounts);
        if (!version_2) strcat(path, controllers);
        size_t root = strlen(path), length = root;
        if (strcmp(group, "/")) length += strlen(strcpy(path + root, group));
        for (;;) {
            uint32_t cpus = quota_cpus_(path, length, version_2);
            if (cpus < min) min = cpus;
            if (length <= root) break;
            do length--;
            while (length > root && path[length] != '/');
        }
    }
    return min;
}

/* Adds the CPUs that a thread may run on (0: this one) to the mask; returns how many there are in it now. */
enum { MASK_WORDS = 16384 / (8 * sizeof(long)) }; /* for 16,384 CPUs; Linux can be built for 8,192 */
static uint32_t add_affinity_(unsigned long *mask, long thread)
{
    unsigned long own[MASK_WORDS];
    uint32_t cpus = 0;
    long bytes = SYSTEM_CALL(SYS_sched_getaffinity, thread, sizeof own, own);
    for (long i = 0; i < bytes / (long)sizeof own[0]; i++) mask[i] |= own[i];
    for (long i = 0; i < MASK_WORDS; i++)
        for (unsigned long bits = mask[i]; bits; bits &= bits - 1) cpus++;
    return cpus;
}

/* Linux keeps a mask for each thread. A thread that is pinned to one CPU does not make a process on one CPU: the main
 * thread's mask counts, too, and if both together are one CPU, so do the masks of the other threads. */
static uint32_t affinity_cpus_(void)
{
    unsigned long mask[MASK_WORDS] = { 0 };
    char entries[2048]; /* room for about 65 threads: enough to see whether all share one CPU */
    add_affinity_(mask, 0);
    uint32_t cpus = add_affinity_(mask, getpid());
    if (cpus > 1) return cpus;
    long got = read_once_(SYS_getdents64, "/proc/self/task", O_DIRECTORY, entries, sizeof entries);
    for (long at = 0; at < got;) { /* u64 inode, u64 offset, u16 length, u8 type, then the name */
        const char *name = entries + at + 19;
        uint16_t length;
        uint64_t thread = number_(&name);
        memcpy(&length, entries + at + 16, sizeof length);
        if (thread < INT32_MAX) cpus = add_affinity_(mask, (long)thread); /* "." and ".." are no number */
        at += length;
    }
    return cpus;
}
