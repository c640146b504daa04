/* channel.c once more, with positions of 8 bits: they wrap around every 128 messages. */
#define CC_INDEX_ uint8_t
#include "channel.c"
#include "fake_os.h"
