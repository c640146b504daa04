/* debug.h: what the checks of CC_DEBUG have in common; concede_debug(7) says what they find. */
#ifndef CONCEDE_SRC_DEBUG_H
#define CONCEDE_SRC_DEBUG_H

#include <concede/compiler.h>

/* This thread's number, from 1, in the order in which threads came here first. The child of a fork numbers its own
 * anew, from where its parent was. */
uint32_t cc_debug_thread_(void);

/* Whether a thread of this number may be in this process: else it was one of the parent's, before the fork. */
bool cc_debug_is_here_(uint32_t thread);

/* How many bits of a word hold a thread's number, where the rest of it holds the address of an object. Today's
 * addresses fit; threads whose number does not are not checked. */
enum { CC_DEBUG_THREAD_BITS_ = sizeof(uintptr_t) > 4 ? 24 : 12 };
CC_TEMPLATE_ uint32_t cc_debug_thread_in_(uintptr_t entry)
{
    return (uint32_t)(entry % ((uintptr_t)1 << CC_DEBUG_THREAD_BITS_));
}

/* Says "concede: OBJECT ADDRESS ..." and aborts. The text may name two threads, by %u. */
CC_COLD_ void cc_debug_die_(const char *object, const void *address, const char *text, unsigned one, unsigned other);

#endif
