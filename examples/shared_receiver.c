/* shared_receiver: receives from another process, and starts it anew when it dies.
 *
 * It makes a channel with a name and starts shared_sender, which crashes half-way. The receive says so: EOWNERDEAD.
 * What the dead one had sent is still there, and comes first; then the receiver starts a worker that goes on from the
 * number after it. */
#include <concede/shared.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NUMBERS = 1000, CRASH = 700 };

/* Starts the program beside this one that is called sender instead of receiver. */
static pid_t start_sender(const char *self, const char *name, uint64_t first)
{
    char program[4096], from[24], to[24], crash[24];
    const char *at = strstr(self, "receiver");
    pid_t child = at ? fork() : -1;
    if (child != 0) return child;
    snprintf(program, sizeof program, "%.*ssender%s", (int)(at - self), self, at + strlen("receiver"));
    snprintf(from, sizeof from, "%llu", (unsigned long long)first);
    snprintf(to, sizeof to, "%d", NUMBERS);
    snprintf(crash, sizeof crash, "%d", first < CRASH ? CRASH : 0);
    execl(program, program, name, from, to, crash, (char *)NULL);
    _exit(127);
}

int main(int argc, char **argv)
{
    char name[64];
    cc_shared_t *shared;
    cc_channel_options_t options = { 64, sizeof(uint64_t), CC_CHANNEL_SPSC, CC_SNOOZE_ADAPTIVE };
    uint64_t last = 0, number;
    int deaths = 0, status = 0, error;
    (void)argc;
    snprintf(name, sizeof name, "/concede-example-%d", (int)getpid());
    error = cc_shared_create(&shared, name, &options);
    if (error != 0) {
        printf("no channel: %s\n", strerror(error));
        return error != ENOSYS;
    }
    cc_channel_t *channel = cc_shared_channel(shared);
    pid_t sender = start_sender(argv[0], name, 1);
    while (last < NUMBERS && sender > 0) {
        error = cc_channel_recv_timeout(channel, &number, UINT64_C(10000000000));
        if (error == 0) {
            if (number != last + 1) break; /* nothing is lost, nothing comes twice */
            last = number;
        } else if (error == EOWNERDEAD) {
            deaths++;
            waitpid(sender, &status, 0);
            while (cc_channel_try_recv(channel, &number) == 0) last = number; /* what it had sent before */
            sender = start_sender(argv[0], name, last + 1);
        } else {
            break;
        }
    }
    if (sender > 0) waitpid(sender, &status, 0);
    cc_shared_close(shared);
    cc_shared_unlink(name);
    printf("received 1 to %llu; the sender died %d times on the way\n", (unsigned long long)last, deaths);
    return !(last == NUMBERS && deaths == 1 && status == 0);
}
