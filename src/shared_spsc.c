/* shared_spsc.c: what a channel between processes with one sender and one receiver needs beyond channel_spsc.h.
 *
 * A message is there when its slot is stamped, and its slot is free again when `head` is published. So a receiver that
 * dies leaves nothing behind but a `head` that lags behind `next`. A sender may have moved `tail` on for messages that
 * it never stamped, and within a batch it stamps the last one first. The next sender finds the true tail: the first
 * position from `head` on that is not stamped. What is stamped after that is of a batch that was not finished, and is
 * taken back. This is the same whether it is done once, twice, or by a sender that dies in the middle of it, and for a
 * sender that is between two messages it changes nothing; so it is done after any death.
 *
 * The inline path must not go on before that. So a death, and whoever opens the segment, moves `closed` from OPEN to
 * MEND, which for the inline path is a channel that has no room; the sender moves it back. That word orders nothing:
 * a sender that lives reads its own stamps, and one that takes over comes after a death that it was told of
 * ([shared.buried]), that it buried, or that was before it opened the segment. */
#include "shared.h"

void cc_shared_spsc_bury_(cc_channel_t *channel)
{
    uint32_t seen = CC_CHANNEL_OPEN_;
    /* relaxed: see above. A channel that is closed needs no mending, because nobody sends any more. */
    if (cc_cas_relaxed(&channel->closed, &seen, CC_CHANNEL_MEND_) || seen != CC_CHANNEL_DRAINED_) return;
    /* The receiver that found the end may have died before it moved on from the last slot, where the sender may have
     * put a message since that does not count. This moves on as the receiver does itself, and changes nothing if it has
     * done so. relaxed, both: see above */
    cc_index_ head = cc_load_relaxed(&channel->spsc.head);
    cc_store_relaxed(&channel->spsc.next, (cc_index_)(head + 2 * (channel->mask + 1)));
}

void cc_shared_spsc_mend_sender_(cc_channel_t *channel)
{
    uint32_t mend = CC_CHANNEL_MEND_;
    if (cc_load_relaxed(&channel->closed) != CC_CHANNEL_MEND_) return; /* relaxed: see above */
    cc_index_ head = cc_load_acquire(&channel->spsc.head);             /* [spsc.head] pairs with cc_spsc_publish_() */
    cc_index_ end = (cc_index_)(head + 2 * (channel->mask + 1)), tail = end;
    for (cc_index_ at = head; at != end; at = (cc_index_)(at + 2)) {
        cc_index_ *stamp = cc_slot_stamp_(cc_channel_slot_(channel, at, channel->layout), channel->layout);
        bool is_stamped = cc_load_relaxed(stamp) == (cc_index_)(at + 1); /* relaxed: the sender's own, or dead */
        if (!is_stamped && tail == end) tail = at;
        if (is_stamped && tail != end) cc_store_relaxed(stamp, at); /* relaxed: the next stamp at `tail` releases it */
    }
    channel->spsc.head_seen = head;
    cc_store_relaxed(&channel->spsc.tail, tail); /* relaxed: others read it for len only */
    /* relaxed: see above */
    (void)cc_cas_relaxed(&channel->closed, &mend, CC_CHANNEL_OPEN_);
}

/* A receiver that died may have taken messages that it did not publish. With DRAINED there is nothing to publish:
 * `next` is one lap on. */
void cc_shared_spsc_mend_receiver_(cc_channel_t *channel)
{
    if (cc_load_relaxed(&channel->spsc.head) == channel->spsc.next) return; /* relaxed, both: the receiver's own */
    if (cc_load_relaxed(&channel->closed) != CC_CHANNEL_DRAINED_) cc_spsc_publish_(channel);
}
