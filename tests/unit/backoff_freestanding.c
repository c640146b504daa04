/* backoff.c once more, with no system below: a yield becomes a longer spin. */
#define CC_FREESTANDING
#include "backoff.c"
