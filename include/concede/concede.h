/* concede.h: all of concede. */
#ifndef CONCEDE_CONCEDE_H
#define CONCEDE_CONCEDE_H

#include <concede/arch.h>
#include <concede/atomic.h>
#include <concede/backoff.h>
#include <concede/channel.h>
#include <concede/costs.h>
#include <concede/deadline.h>
#include <concede/event.h>
#include <concede/lock.h>
#include <concede/park.h>
#include <concede/pause.h>
#include <concede/select.h>
#include <concede/shared.h>
#include <concede/version.h>

#endif
