/* os_none.h: what os.h asks for and a system may lack: restartable sequences, ARM64's `sb`, the bell, and what stands
 * under "Between processes". A file that has one of these, and includes this, defines its CC_OS_HAS_..._ before. */
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif

#if !defined(CC_OS_HAS_SEQUENCES_)
const char *cc_os_sequence_area_(uintptr_t *area)
{
    return "the system has no restartable sequences";
}

bool cc_os_sequence_barrier_(void)
{
    return false;
}
#endif

#if !defined(CC_OS_HAS_SB_)
bool cc_os_has_sb_(void)
{
    return false;
}
#endif

#if !defined(CC_OS_HAS_BELL_)
int cc_os_bell_create_(int ends[2])
{
    return ENOSYS;
}

void cc_os_bell_ring_(int write_end)
{
}

void cc_os_bell_empty_(int read_end)
{
}

void cc_os_bell_close_(int read_end, int write_end)
{
}
#endif

#if !defined(CC_OS_HAS_SEGMENTS_)
int cc_os_segment_create_(const char *name, size_t bytes, int *own, int *handed_on)
{
    return ENOSYS;
}

int cc_os_segment_open_(const char *name, int descriptor, int *own, uint64_t *bytes)
{
    return ENOSYS;
}

int cc_os_segment_unlink_(const char *name)
{
    return ENOSYS;
}

void cc_os_segment_close_(int own)
{
}

void *cc_os_segment_map_(int own, size_t header, size_t gap, size_t bytes)
{
    return NULL;
}

void cc_os_segment_unmap_(void *mapping, size_t header, size_t gap, size_t bytes)
{
}

int cc_os_segment_place_locks_(int own, uint64_t *where)
{
    return ENOSYS;
}

int cc_os_segment_find_locks_(int own, uint64_t where)
{
    return ENOSYS;
}

bool cc_os_segment_lock_(int own, uint32_t number)
{
    return false;
}

bool cc_os_segment_lock_shared_(int own, uint32_t number)
{
    return false;
}

void cc_os_segment_unlock_(int own, uint32_t number)
{
}

int cc_os_wait_shared_(const uint32_t *word, uint32_t expected, uint64_t deadline)
{
    return cc_os_wait_(word, expected, deadline);
}

int cc_os_wait_several_(const cc_os_word_t *words, size_t count, uint64_t deadline)
{
    return ENOSYS;
}

uint32_t cc_os_wake_shared_(const uint32_t *word, uint32_t count)
{
    cc_os_wake_(word, count);
    return 1;
}

bool cc_os_membarrier_shared_register_(void)
{
    return false;
}

bool cc_os_membarrier_shared_(void)
{
    return false;
}
#endif

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
