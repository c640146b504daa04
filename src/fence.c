/* fence.c: the heavy side of fence.h. */
#include <concede/fence.h>

#include "os.h"

uint32_t cc_fence_mode_ = CC_FENCE_UNKNOWN_;

/* The system took membarrier away after it had granted it: a seccomp filter that was set late. From now on both sides
 * take full fences, but at this very moment another thread may stand between its write and its look, having relied on
 * us. Its write leaves the store buffer within nanoseconds, so a millisecond is certain enough. Every thread that comes
 * here waits until one has waited it out. */
static CC_COLD_ void wait_out_the_loss_(void)
{
    uint32_t lost = CC_FENCE_LOST_;
    cc_store_relaxed(&cc_fence_mode_, CC_FENCE_LOST_); /* relaxed, both: any answer is safe for whoever reads it */
    cc_os_sleep_(1000000);
    cc_cas_relaxed(&cc_fence_mode_, &lost, CC_FENCE_SYMMETRIC_);
}

void cc_fence_heavy_(void)
{
    uint32_t mode = cc_load_relaxed(&cc_fence_mode_); /* relaxed: it only chooses between ways that are all right */
    if (CC_UNLIKELY_(mode == CC_FENCE_UNKNOWN_)) {
        uint32_t found = cc_os_membarrier_register_() ? CC_FENCE_ASYMMETRIC_ : CC_FENCE_SYMMETRIC_;
        /* The first answer stands, because one thread may be refused what another was granted. */
        if (cc_cas_relaxed(&cc_fence_mode_, &mode, found)) mode = found; /* relaxed: a system call went before it */
    }
    if (mode == CC_FENCE_ASYMMETRIC_ && cc_os_membarrier_()) return;
    if (mode == CC_FENCE_ASYMMETRIC_ || mode == CC_FENCE_LOST_) wait_out_the_loss_();
    cc_fence_full(); /* [fence.sides] pairs with cc_fence_light_() */
}
