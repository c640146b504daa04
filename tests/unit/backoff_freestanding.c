/* backoff.c once more, with no system below: a yield becomes max pauses. */
#define CC_FREESTANDING
#include "backoff.c"
