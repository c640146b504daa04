/* shared_sender: a worker that sends through a channel between processes.
 *
 *     shared_sender NAME FIRST LAST [CRASH]
 *
 * It opens the channel of that name, sends the numbers from FIRST to LAST, and closes. If CRASH is given it kills
 * itself before it sends that number, as a program does that has a bug: shared_receiver.c goes on all the same. Without
 * arguments it shows what happens if there is no such channel. */
#include <concede/shared.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    cc_shared_t *shared;
    int error = cc_shared_open(&shared, argc > 1 ? argv[1] : "/concede-example-that-is-not-there");
    if (error != 0) {
        printf("no channel: %s\n", strerror(error));
        return argc > 3; /* with nothing to do, that is what should be */
    }
    cc_channel_t *channel = cc_shared_channel(shared);
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1, last = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
    uint64_t crash = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
    for (uint64_t number = first; number <= last; number++) {
        if (number == crash) raise(SIGKILL);
        do error = cc_channel_send(channel, &number);
        while (error == EOWNERDEAD); /* somebody else died: nothing was sent yet, so once more */
        if (error != 0) break;
    }
    cc_shared_close(shared);
    return error != 0;
}
