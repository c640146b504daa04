/* door.h: those who wait for one side of a channel without sleeping on its event. */
#ifndef CONCEDE_SRC_DOOR_H
#define CONCEDE_SRC_DOOR_H

#include "channel.h"
#include <concede/select.h>

/* A thread that selects. It sleeps on an event of its own, which lies on its stack as long as any door knows it. */
typedef struct cc_selector {
    cc_event_t event;
    uint32_t key; /* of its listen: the first notifier moves the epoch on from it, and only the first */
} cc_selector_t;

/* Makes the channel's other side know of this case; whether a full fence is enough before the channel is looked at, or
 * a heavy one is needed, as after cc_event_join_(). */
bool cc_door_join_(cc_select_case_t *one, cc_selector_t *selector);

/* Ends that. When it returns no other thread touches the case or, for its sake, the selector. */
void cc_door_leave_(cc_select_case_t *one);

/* Whether a select can be asked for these cases. */
bool cc_select_are_valid_(const cc_select_case_t *cases, size_t n);

CC_TEMPLATE_ cc_direction_t cc_select_direction_(const cc_select_case_t *one)
{
    return one->operation == CC_SELECT_SEND ? CC_SENDING_ : CC_RECEIVING_;
}

#endif
