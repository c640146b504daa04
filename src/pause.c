/* pause.c: which of the instructions of an ARM64 CPU cc_pause() executes. */
#include "pause.h"

#include "os.h"

uint32_t cc_pause_sb_;

void cc_pause_choose_(void)
{
    if (cc_os_has_sb_()) cc_store_relaxed(&cc_pause_sb_, 1); /* relaxed: all threads store the same, in any order */
}
