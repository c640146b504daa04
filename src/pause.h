/* pause.h: the choice of the pause, besides the public header. */
#ifndef CONCEDE_SRC_PAUSE_H
#define CONCEDE_SRC_PAUSE_H

#include <concede/pause.h>

/* Lets cc_pause() use the better instruction where every CPU has it. Any thread, any number of times. */
void cc_pause_choose_(void);

#endif
