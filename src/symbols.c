/* symbols.c: every public inline once more, as a symbol of the library, for languages that cannot read a C header.
 *
 * The headers say CC_INLINE_ before each inline function; here that word means "defined here and exported". So the list
 * is complete by construction, and concede.map decides which of them the shared library shows. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* their prototypes are their definitions */
#pragma GCC diagnostic ignored "-Wmissing-declarations"

#include <concede/compiler.h>
#undef CC_INLINE_
#define CC_INLINE_ CC_API
#undef CC_FLAT_
#define CC_FLAT_

#include <concede/concede.h>
