/* os_none.h: what os.h asks for and a system may lack: restartable sequences, ARM64's `sb`, the bell, and what stands
 * under "Between processes". A system's file includes it last, and defines CC_OS_HAS_..._ before for what it has. */
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif

/* clang-format off */
#define CC_OS_LACKS_(call, ...) call { return __VA_ARGS__; } /* defines the call with the answer of who lacks it */

#if !defined(CC_OS_HAS_SEQUENCES_)
CC_OS_LACKS_(const char *cc_os_sequence_area_(uintptr_t *area), "the system has no restartable sequences")
CC_OS_LACKS_(bool cc_os_sequence_barrier_(void), false)
#endif

#if !defined(CC_OS_HAS_SB_)
CC_OS_LACKS_(bool cc_os_has_sb_(void), false)
#endif

#if !defined(CC_OS_HAS_BELL_)
CC_OS_LACKS_(int cc_os_bell_create_(int ends[2]), ENOSYS)
CC_OS_LACKS_(void cc_os_bell_ring_(int write_end),)
CC_OS_LACKS_(void cc_os_bell_empty_(int read_end),)
CC_OS_LACKS_(void cc_os_bell_close_(int read_end, int write_end),)
#endif

#if !defined(CC_OS_HAS_SEGMENTS_)
CC_OS_LACKS_(int cc_os_segment_create_(const char *name, size_t bytes, int *own, int *handed_on), ENOSYS)
CC_OS_LACKS_(int cc_os_segment_open_(const char *name, int descriptor, int *own, uint64_t *bytes), ENOSYS)
CC_OS_LACKS_(int cc_os_segment_unlink_(const char *name), ENOSYS)
CC_OS_LACKS_(void cc_os_segment_close_(int own),)
CC_OS_LACKS_(void *cc_os_segment_map_(int own, size_t header, size_t gap, size_t bytes), NULL)
CC_OS_LACKS_(void cc_os_segment_unmap_(void *mapping, size_t gap, size_t bytes),)
CC_OS_LACKS_(int cc_os_segment_place_locks_(int own, uint64_t *where), ENOSYS)
CC_OS_LACKS_(int cc_os_segment_find_locks_(int own, uint64_t where), ENOSYS)
CC_OS_LACKS_(bool cc_os_segment_lock_(int own, uint32_t number), false)
CC_OS_LACKS_(bool cc_os_segment_lock_shared_(int own, uint32_t number), false)
CC_OS_LACKS_(void cc_os_segment_unlock_(int own, uint32_t number),)
CC_OS_LACKS_(int cc_os_wait_shared_(const uint32_t *word, uint32_t expected, uint64_t deadline), ENOSYS)
CC_OS_LACKS_(uint32_t cc_os_wake_shared_(const uint32_t *word, uint32_t count), 0)
CC_OS_LACKS_(bool cc_os_membarrier_shared_register_(void), false)
CC_OS_LACKS_(bool cc_os_membarrier_shared_(void), false)
#endif

#if !defined(CC_OS_HAS_WAIT_SEVERAL_)
CC_OS_LACKS_(int cc_os_wait_several_(const cc_os_word_t *words, size_t count, uint64_t deadline), ENOSYS)
#endif
/* clang-format on */

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
