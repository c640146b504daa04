/* clock.c: the clock of deadline.h, and a sleep that is made of it. */
#include <concede/deadline.h>

#include "os.h"

uint64_t cc_now_ns(void)
{
    return cc_os_now_();
}

void cc_os_sleep_(uint64_t ns)
{
    const uint32_t nobody_wakes_it = 0;
    uint64_t deadline = cc_deadline_in(ns);
    while (cc_os_now_() < deadline) (void)cc_os_wait_(&nobody_wakes_it, 0, deadline);
}
