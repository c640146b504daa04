/* debug.h: what the checks of CC_DEBUG have in common; concede_debug(7) says what they find. */
#ifndef CONCEDE_SRC_DEBUG_H
#define CONCEDE_SRC_DEBUG_H

#include <concede/compiler.h>

/* This thread's number, from 1, in the order in which threads came here first. */
uint32_t cc_debug_thread_(void);

/* Says "concede: OBJECT ADDRESS ..." and aborts. The text may name two threads, by %u. */
CC_COLD_ void cc_debug_die_(const char *object, const void *address, const char *text, unsigned one, unsigned other);

#endif
