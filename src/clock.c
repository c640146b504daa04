/* clock.c: the clock of deadline.h. */
#include <concede/deadline.h>

#include "os.h"

uint64_t cc_now_ns(void)
{
    return cc_os_now_();
}
