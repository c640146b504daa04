/* door.h: those who wait for one side of a channel without sleeping on its event. */
#ifndef CONCEDE_SRC_DOOR_H
#define CONCEDE_SRC_DOOR_H

#include "channel.h"
#include <concede/select.h>

/* A thread that selects. It sleeps on an event of its own, which lies on its stack as long as any door knows it. */
typedef struct cc_selector {
    cc_event_t event;
    uint32_t key;            /* of its listen: the first notifier, and only that one, moves the epoch on from it */
    cc_select_case_t *cases; /* all of them */
    size_t count;
    bool has_channel; /* one of the cases has a channel ... */
    bool has_shared;  /* ... and one of these is between processes */
} cc_selector_t;

/* Makes the channel's other side know of this case. Returns whether a full fence is enough before the channel is looked
 * at, as after cc_event_join_(); else a heavy one is needed. */
bool cc_door_join_(cc_select_case_t *one, cc_selector_t *selector);

/* Ends what cc_door_join_() began. When it returns no other thread touches the case or, for its sake, the selector. */
void cc_door_leave_(cc_select_case_t *one);

/* Whether the cases are such that a select can do them. */
bool cc_select_are_valid_(const cc_select_case_t *cases, size_t n);

CC_TEMPLATE_ cc_direction_t cc_operation_direction_(uint32_t operation)
{
    return operation == CC_SELECT_SEND ? CC_SENDING_ : CC_RECEIVING_;
}
CC_TEMPLATE_ cc_direction_t cc_select_direction_(const cc_select_case_t *one)
{
    return cc_operation_direction_(one->operation);
}
CC_TEMPLATE_ cc_event_t *cc_select_event_(const cc_select_case_t *one)
{
    return cc_channel_event_(one->channel, cc_select_direction_(one));
}

/* ---- Between processes: shared.c -------------------------------------------------------------------------------- */

/* The event in memory of this process from which the channel's senders, or its receivers, learn how long to snooze. */
cc_event_t *cc_shared_learned_(cc_channel_t *channel, cc_direction_t direction);

/* A select that has channels between processes among its cases. It announces itself to each of them, and sleeps on the
 * epochs of all their events, and on its own epoch, which the doors of the other channels know. The fence after the
 * last join is the caller's. */
void cc_shared_select_elsewhere_(cc_selector_t *selector, cc_event_await_t *await,
                                 struct cc_event_elsewhere *elsewhere);
void cc_shared_select_join_(cc_select_case_t *one);

/* cc_shared_report_() for all its cases: whether there is a death to tell. Then `*which` is a case of that channel, and
 * its result is EOWNERDEAD. */
bool cc_shared_select_reports_(const cc_selector_t *selector, bool has_time, size_t *which);

#endif
