/* loops/channel.h: messages from senders to receivers: there and back, as many as possible, in bursts, at intervals,
 * and offered at a rate.
 *
 * Before including it, define
 *   SUBJECT  NAME  USES  FLAGS             identifier, strings and BENCH_ flags of the subject
 *   CHANNEL                                the type; it may use MESSAGE, the type of a message
 *   OPEN(c, capacity)                      whether that worked; c points to zeroed memory
 *   CLOSE(c)                               frees what OPEN took
 *   SEND_LOCAL(c)  RECEIVE_LOCAL(c)        optional: declarations that a sending or receiving thread needs
 *   SEND(c, m)  RECEIVE(c, m)              block until done; m is a MESSAGE
 *   SEND_MANY(c, ms, n)  RECEIVE_MANY(c, ms, n)   optional: up to n messages, without blocking; how many
 *   PINGPONG_ONLY                          optional: it can do nothing else
 *   ONE_SLOT                               optional: it holds one message and a new one replaces it: no streams
 *   STREAM_AS_BURST                        optional: it sends singly where others send bursts, and does nothing else
 * It makes a subject for each message size, SUBJECT_8, SUBJECT_64 and SUBJECT_256: list them with BENCH_SIZES(SUBJECT).
 *
 * A message with the value 0 says that all is over: the last sender to finish sends one to each receiver. */
#if !defined(BENCH_SIZES)
#include "../bench.h"
#include <stdlib.h>
#include <string.h>
#define BENCH_SIZES(subject) &subject##_8, &subject##_64, &subject##_256
enum { BENCH_BURST = 64 };
#endif

#if !defined(SEND_LOCAL)
#define SEND_LOCAL(c)
#endif
#if !defined(RECEIVE_LOCAL)
#define RECEIVE_LOCAL(c)
#endif

#define SIZED        BENCH_NAME(SUBJECT, 8)
#define MESSAGE      bench_message_8
#define MESSAGE_SIZE 8
#include "channel_sized.h"
#define SIZED        BENCH_NAME(SUBJECT, 64)
#define MESSAGE      bench_message_64
#define MESSAGE_SIZE 64
#include "channel_sized.h"
#define SIZED        BENCH_NAME(SUBJECT, 256)
#define MESSAGE      bench_message_256
#define MESSAGE_SIZE 256
#include "channel_sized.h"

#undef SUBJECT
#undef NAME
#undef USES
#undef FLAGS
#undef CHANNEL
#undef OPEN
#undef CLOSE
#undef SEND_LOCAL
#undef RECEIVE_LOCAL
#undef SEND
#undef RECEIVE
#undef PINGPONG_ONLY
#undef ONE_SLOT
#undef STREAM_AS_BURST
#undef SEND_MANY
#undef RECEIVE_MANY
