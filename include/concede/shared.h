/* shared.h: a channel between processes, which survives whoever dies.
 *
 *     one process                                        another
 *     cc_shared_t *shared;                               cc_shared_t *shared;
 *     cc_shared_create(&shared, "/orders", &options);    cc_shared_open(&shared, "/orders");
 *     cc_channel_t *channel = cc_shared_channel(shared); cc_channel_t *channel = cc_shared_channel(shared);
 *     cc_channel_send(channel, &order);                  cc_channel_recv(channel, &order);
 *     cc_shared_close(shared);                           cc_shared_close(shared);
 *     cc_shared_unlink("/orders");
 *
 * It is the channel of channel.h, of either kind, and what works on that one works on this one, select included; only
 * descriptors do not. Up to 63 processes may have it open. The memory holds no pointer and maps anywhere.
 *
 * Death. A process may be killed at any instruction. The others go on:
 *
 *   a call that has to wait          returns EOWNERDEAD, having done nothing, once in each process for each death,
 *                                    within 200 ms; call it again to go on, cc_channel_send_all() with what it has
 *                                    not sent yet. A select: the result of a case
 *   a message whose send returned    is received once
 *   one that was being sent          was sent whole, or is dropped whole
 *   one that was being received      is dropped whole, if it was taken already; a message that cc_channel_peek()
 *                                    showed and cc_channel_consume() has not ended yet is there for the next receiver
 *   a process that is only stopped   is not dead. What it was half-way through waits for it, as in any other channel
 *
 * With CC_CHANNEL_SPSC one thread of all processes sends at a time, and one receives. Another takes a side over when
 * the one before it has closed, when it got EOWNERDEAD after that one's death, or when it opens the channel after it.
 *
 * After fork() the child has to open it anew, and may close what it inherited. It has neither the library's descriptor
 * nor the segment's memory, so that it does not keep a dead parent alive; what touches that memory ends the child.
 *
 * Trust. Whoever can open the segment can spoil its messages, close the channel, or make a blocking call wait. It
 * cannot make another process read or write outside of the segment, loop in a call that does not block, or crash,
 * except that the file of a named one can be cut short by its owner, after which touching it is a SIGBUS. A segment of
 * cc_shared_create_fd() is sealed against that.
 *
 * Linux; by name also macOS, FreeBSD and OpenBSD. Elsewhere create and open say ENOSYS. Processes of 32 and of 64 bits
 * cannot open each other's segments. doc/shared.md has the reasons. */
#ifndef CONCEDE_SHARED_H
#define CONCEDE_SHARED_H

#include <concede/channel.h>

CC_BEGIN_DECLS

typedef struct cc_shared cc_shared_t;

/* Makes a segment with a new channel, under a name of "/" and up to 200 characters without another "/", and opens it.
 * Only this user may open it. 0; EEXIST; EINVAL: a field of the options or the name is out of range; ENOMEM; EACCES;
 * ENOSYS. */
CC_MUST_USE_ CC_API int cc_shared_create(cc_shared_t **shared, const char *name, const cc_channel_options_t *options);

/* Opens the segment of that name. 0; ENOENT; EACCES; EPROTO: not one of ours, of another layout, damaged, or half made,
 * in which case a moment later it is whole; EBUSY: 63 have it open; EINVAL; ENOMEM; ENOSYS. */
CC_MUST_USE_ CC_API int cc_shared_open(cc_shared_t **shared, const char *name);

/* Makes a segment without a name. `*fd` is a descriptor of it that can be handed on, by a socket or by fork() and
 * exec(), and that the caller closes; it is closed on exec unless the caller changes that. 0; EINVAL; ENOMEM; ENOSYS.
 */
CC_MUST_USE_ CC_API int cc_shared_create_fd(cc_shared_t **shared, const cc_channel_options_t *options, int *fd);

/* Opens the segment of that descriptor, which stays the caller's. As cc_shared_open(). */
CC_MUST_USE_ CC_API int cc_shared_open_fd(cc_shared_t **shared, int fd);

/* The channel in it: any thread of this process may use it until the close. */
CC_API cc_channel_t *cc_shared_channel(cc_shared_t *shared);

/* Ends this process's use of it: no thread of it may use the channel any more. The messages stay. NULL is allowed. */
CC_API void cc_shared_close(cc_shared_t *shared);

/* Removes the name; whoever has it open goes on. 0; ENOENT; EACCES; EINVAL; ENOSYS. */
CC_API int cc_shared_unlink(const char *name);

CC_END_DECLS

#endif
