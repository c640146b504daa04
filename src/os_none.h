/* os_none.h: the part of os.h that stands under "Between processes", for a system that has no such thing. */
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif

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

bool cc_os_segment_lock_(int own, uint32_t number)
{
    return false;
}

void cc_os_segment_unlock_(int own, uint32_t number)
{
}

bool cc_os_segment_is_locked_(int own, uint32_t number)
{
    return true;
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

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
