/* park.c: the sleeping half of park.h; the states stand there. */
#include <concede/park.h>

#include "os.h"
#include "probe.h"

/* The race: the owner finds no token and goes to sleep while another thread gives one. Both change the same word with a
 * read-modify-write, so one of them comes first: either the owner's EMPTY -> PARKED fails on the token, or the giver's
 * exchange returns PARKED and it wakes. The kernel compares the word again as it puts the owner to sleep. */
bool cc_parker_park_slow_(cc_parker_t *parker, uint64_t deadline)
{
    uint32_t seen = CC_PARKER_EMPTY_;
    bool expired = deadline != CC_FOREVER && cc_os_now_() >= deadline;
    if (!expired) cc_cas_relaxed(&parker->state, &seen, CC_PARKER_PARKED_); /* relaxed: publishes nothing but itself */
    while (!expired) {
        seen = CC_PARKER_TOKEN_;
        if (cc_cas_acquire(&parker->state, &seen, CC_PARKER_EMPTY_)) return true; /* [park.token] with its exchange */
        CC_PROBE_(parker__sleep, parker);
        int result = cc_os_wait_(&parker->state, CC_PARKER_PARKED_, deadline);
        expired = result == ETIMEDOUT && cc_os_now_() >= deadline;
    }
    /* The time is up. A token that crossed the deadline counts: this is the last look, and leaves EMPTY.
     * [park.token] pairs with unpark's exchange */
    return cc_exchange_acquire(&parker->state, CC_PARKER_EMPTY_) == CC_PARKER_TOKEN_;
}

/* The owner may have taken the token and freed the parker by now: only the address is used. If the memory holds another
 * futex word meanwhile, somebody there wakes for no reason, which os.h allows. */
void cc_parker_unpark_slow_(cc_parker_t *parker)
{
    CC_PROBE_(parker__wake, parker);
    cc_os_wake_(&parker->state, 1);
}
