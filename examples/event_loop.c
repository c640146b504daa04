/* event_loop: a socket and a channel in one epoll.
 *
 * A server's loop reads requests from a socket and hands them to workers; their answers come back by a channel. The
 * loop sleeps in one place, epoll_wait(), and either side wakes it: the channel has a descriptor. The loop takes
 * answers until there are none, arms the descriptor, and only then sleeps. While it is busy the descriptor is not
 * armed, and no worker makes a system call for it; while nothing happens, nobody does anything at all.
 *
 * For Linux; with poll() or kqueue it reads alike. */
#include <concede/select.h>
#include <stdio.h>

#if defined(__linux__)
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 2, ROUNDS = 3, REQUESTS = 50, AT_WORK_MAX = 64 };

typedef struct answer {
    uint64_t number, square;
} answer;

typedef struct server {
    int socket;
    cc_channel_t *requests, *answers;
    unsigned at_work; /* requests whose answer is still to come: the channels have room for more than a burst */
    unsigned turns;   /* of the loop */
} server;

/* ---- The client: asks in bursts, waits for the answers, and is quiet in between. --------------------------------- */

static void *be_client(void *argument)
{
    int socket = *(int *)argument;
    static uint64_t sum;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        for (uint64_t i = 0, number; i < REQUESTS; i++) {
            number = round * REQUESTS + i;
            if (write(socket, &number, sizeof number) != (ssize_t)sizeof number) return NULL;
        }
        for (int i = 0; i < REQUESTS; i++) {
            answer a;
            if (recv(socket, &a, sizeof a, MSG_WAITALL) != (ssize_t)sizeof a) return NULL;
            sum += a.square;
        }
        struct timespec quiet = { 0, 20000000 };
        nanosleep(&quiet, NULL);
    }
    close(socket);
    return &sum;
}

/* ---- A worker ---------------------------------------------------------------------------------------------------- */

static void *work(void *argument)
{
    server *s = (server *)argument;
    for (uint64_t number; cc_channel_recv(s->requests, &number) == 0;) {
        answer a = { number, number * number };
        if (cc_channel_send(s->answers, &a) != 0) break;
    }
    return NULL;
}

/* ---- The loop ---------------------------------------------------------------------------------------------------- */

/* false: the client has gone. */
static bool read_requests(server *s)
{
    while (s->at_work < AT_WORK_MAX) {
        uint64_t number;
        ssize_t got = recv(s->socket, &number, sizeof number, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
        if (got != (ssize_t)sizeof number) return false;
        if (cc_channel_try_send(s->requests, &number) != 0) return false;
        s->at_work++;
    }
    return true;
}

static bool write_answers(server *s)
{
    for (answer a; cc_channel_try_recv(s->answers, &a) == 0; s->at_work--)
        if (write(s->socket, &a, sizeof a) != (ssize_t)sizeof a) return false;
    return true;
}

static bool loop(server *s, int epoll)
{
    for (bool open = true; open || s->at_work > 0; s->turns++) {
        struct epoll_event ready[2];
        if (open) open = read_requests(s);
        if (!write_answers(s)) return false;
        if (!open && s->at_work == 0) break;
        /* Nothing more to do: sleep until the socket or the channel has something. An answer that came just now keeps
         * it awake. */
        if (cc_channel_arm(s->answers, CC_SELECT_RECV)) (void)epoll_wait(epoll, ready, 2, -1);
    }
    return true;
}

static bool watch(int epoll, int fd)
{
    struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };
    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

int main(void)
{
    server s = { .at_work = 0 };
    int ends[2], answers_fd, epoll = epoll_create1(0);
    pthread_t client, workers[WORKERS];
    cc_channel_options_t options = CC_CHANNEL_OPTIONS_INIT(AT_WORK_MAX, sizeof(uint64_t));
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 || cc_channel_create(&s.requests, &options) != 0) return 1;
    options.message_size = sizeof(answer);
    if (cc_channel_create(&s.answers, &options) != 0) return 1;
    s.socket = ends[0];
    if (cc_channel_fd(s.answers, CC_SELECT_RECV, &answers_fd) != 0) return 1;
    if (!watch(epoll, s.socket) || !watch(epoll, answers_fd)) return 1;

    for (int i = 0; i < WORKERS; i++) pthread_create(&workers[i], NULL, work, &s);
    pthread_create(&client, NULL, be_client, &ends[1]);
    bool good = loop(&s, epoll);
    cc_channel_close(s.requests);
    void *sum = NULL;
    pthread_join(client, &sum);
    for (int i = 0; i < WORKERS; i++) pthread_join(workers[i], NULL);

    uint64_t expected = 0;
    for (uint64_t i = 0; i < ROUNDS * REQUESTS; i++) expected += i * i;
    printf("%d requests in %d bursts: the loop turned %u times\n", ROUNDS * REQUESTS, ROUNDS, s.turns);
    good = good && sum && *(uint64_t *)sum == expected && s.turns <= 4 * ROUNDS * REQUESTS;
    cc_channel_destroy(s.requests);
    cc_channel_destroy(s.answers);
    close(s.socket);
    close(epoll);
    return good ? 0 : 1;
}
#else
int main(void)
{
    puts("epoll is Linux's own; cc_channel_fd() gives a descriptor for poll() and kqueue as well");
    return 0;
}
#endif
