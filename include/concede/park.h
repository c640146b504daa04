/* park.h: one token, one waiting thread.
 *
 * A parker holds at most one token. Its owner parks: takes the token, or sleeps until there is one. Any other thread
 * unparks: gives the token.
 *
 *     cc_parker_t parker = CC_PARKER_INIT;         // static, on the stack, or inside an object; all zero is valid
 *
 *     the owner                                    another thread
 *     while (!cc_load_acquire(&done))              cc_store_release(&done, 1);
 *         cc_parker_park(&parker);                 cc_parker_unpark(&parker);
 *
 * Because a token given before the park is kept, there is no moment at which the wake-up can be lost. Two tokens are
 * one, so park in a loop around your condition. What a thread wrote before `unpark` is seen after the `park` that takes
 * its token, also if several gave it.
 *
 *   may run at the same time    park      unpark
 *   park                        no        yes
 *   unpark                      yes       yes
 *
 * The owner may free the parker as soon as a park returned by the last unpark: unpark does not touch it after giving
 * the token. After fork() the child may use a parker that no other thread was parked on; in the child nobody else
 * parks. Parking is no cancellation point. For many threads waiting for one condition, see event.h.
 *
 * How it is right: doc/memory-model.md, [park.token]. */
#ifndef CONCEDE_PARK_H
#define CONCEDE_PARK_H

#include <concede/atomic.h>
#include <concede/deadline.h>
#include <concede/tsan.h>

CC_BEGIN_DECLS

/* state              who moves it                                to
 * EMPTY   no token   the owner, going to sleep                   PARKED
 *                    an unparker                                 TOKEN
 * TOKEN   one token  the owner, taking it                        EMPTY
 *                    an unparker (gives it again)                TOKEN
 * PARKED  asleep     an unparker, who then wakes the owner       TOKEN
 *                    the owner, whose deadline has passed        EMPTY */
typedef struct cc_parker {
    uint32_t state;
} cc_parker_t;

/* clang-format off */
#define CC_PARKER_INIT { 0 }
/* clang-format on */

enum { CC_PARKER_EMPTY_ = 0, CC_PARKER_TOKEN_ = 1, CC_PARKER_PARKED_ = 2 };

CC_STATIC_ASSERT_(sizeof(cc_parker_t) == 4, "a parker is one futex word");

CC_API CC_COLD_ bool cc_parker_park_slow_(cc_parker_t *parker, uint64_t deadline);
CC_API CC_COLD_ void cc_parker_unpark_slow_(cc_parker_t *parker);

/* Takes the token if there is one; returns whether it did. The owner only; never blocks; acquires what every giver of
 * the token released. */
CC_MUST_USE_ CC_INLINE_ bool cc_parker_try_park(cc_parker_t *parker)
{
    uint32_t token = CC_PARKER_TOKEN_;
    return cc_cas_acquire(&parker->state, &token, CC_PARKER_EMPTY_); /* [park.token] pairs with unpark's exchange */
}

/* Takes the token if there is one, else sleeps until there is or the deadline passes. Returns whether it took it; a
 * past deadline still looks once. The owner only; may block; acquires what every giver of the token released. */
CC_MUST_USE_ CC_INLINE_ bool cc_parker_park_until(cc_parker_t *parker, uint64_t deadline)
{
    if (CC_LIKELY_(cc_parker_try_park(parker))) return true;
    bool token = cc_parker_park_slow_(parker, deadline);
    CC_TSAN_ACQUIRE_(&parker->state);
    return token;
}

/* The same, without a deadline: returns only with the token. */
CC_INLINE_ void cc_parker_park(cc_parker_t *parker)
{
    CC_IGNORE_(cc_parker_park_until(parker, CC_FOREVER));
}

/* The same, for at most `ns` nanoseconds. */
CC_MUST_USE_ CC_INLINE_ bool cc_parker_park_timeout(cc_parker_t *parker, uint64_t ns)
{
    return cc_parker_park_until(parker, cc_deadline_in(ns));
}

/* Gives the token, and wakes the owner if it sleeps: with nobody parked it makes no system call. Any thread, also
 * several; never blocks; releases what this thread did before. It must be an exchange also where a token is there
 * already: that goes on with the release of the earlier giver, so that the owner sees what both did. */
CC_INLINE_ void cc_parker_unpark(cc_parker_t *parker)
{
    if (CC_UNLIKELY_(cc_exchange_release(&parker->state, CC_PARKER_TOKEN_) == CC_PARKER_PARKED_)) /* [park.token] */
        cc_parker_unpark_slow_(parker);
}

CC_END_DECLS

#endif
