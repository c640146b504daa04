/* bugs.c: the checker finds the bugs that it is there for. Each client is small, plausible and wrong, and the same
 * thing done right stands beside it. */
#include "model.h"

#include <concede/atomic.h>
#include <concede/pause.h>
#include "os.h"

#include <errno.h>
#include <string.h>

/* A channel of one message: full or empty; the receiver says when it sleeps, and the sender looks before it wakes. */
static uint32_t full, asleep, closed, message, received;
static int last;

static void setup(void)
{
    full = asleep = closed = message = received = 0;
    last = -1;
    model_name(&full, "full");
    model_name(&asleep, "asleep");
    model_name(&closed, "closed");
}

static void put(void)
{
    model_write(&message, sizeof message);
    message = 42;
    cc_store_release(&full, 1);
}

static void take(void)
{
    model_read(&message, sizeof message);
    received = message;
}

static void wake_sleeper(void)
{
    if (cc_load_acquire(&asleep)) {
        cc_store_relaxed(&asleep, 0);
        cc_os_wake_(&asleep, 1);
    }
}

/* store(release), load: the load may be early, the receiver is not seen, and nobody wakes it. */
static void send_without_fence(void)
{
    put();
    wake_sleeper();
}

static void send_with_fence(void)
{
    put();
    cc_fence_full();
    wake_sleeper();
}

static void receive_sleeping(void)
{
    while (!cc_load_acquire(&full)) {
        cc_store_relaxed(&asleep, 1);
        cc_fence_full();
        if (cc_load_acquire(&full)) break;
        cc_os_wait_(&asleep, 1, CC_FOREVER);
    }
    take();
}

static void got_it(void)
{
    model_check(received == 42);
}

static void send_and_close(void)
{
    put();
    cc_store_release(&closed, 1);
}

/* Empty, then closed, then the end: what was sent in between is lost. */
static void receive_until_closed(void)
{
    for (;;) {
        if (cc_load_acquire(&full)) {
            take();
            last = 0;
            return;
        }
        if (cc_load_acquire(&closed)) {
            last = EPIPE;
            return;
        }
        cc_os_yield_();
    }
}

static void receive_looking_once_more(void)
{
    receive_until_closed();
    if (last == EPIPE && cc_load_acquire(&full)) {
        take();
        last = 0;
    }
}

static void nothing_lost(void)
{
    model_check(last == 0);
}

/* The second of two users frees the lock. The first one reads it again after releasing it, to see whether to wake. */
static uint32_t lock, users;

static void lock_setup(void)
{
    lock = users = 0;
    model_name(&lock, "lock");
}

static void lock_use(bool look_back)
{
    uint32_t expected = 0;
    while (!cc_cas_acquire(&lock, &expected, 1)) {
        expected = 0;
        cc_os_yield_();
    }
    model_write(&users, sizeof users);
    bool is_last = ++users == 2;
    cc_store_release(&lock, 0);
    if (is_last)
        model_freed(&lock, sizeof lock);
    else if (!look_back || cc_load_relaxed(&lock) == 1)
        cc_os_wake_(&lock, 1);
}

static void lock_user_looks_back(void)
{
    lock_use(true);
}

static void lock_user_only_wakes(void)
{
    lock_use(false);
}

/* It waits for what never comes, and never sleeps. */
static void spin_for_ever(void)
{
    while (!cc_load_acquire(&lock)) cc_pause();
}

static void end(void)
{
}

/* A word that only one thread uses, which begins it anew by a plain store: a fence that remembers its first life must
 * not bring that back. */
static void begin_anew_plainly(void)
{
    for (uint32_t life = 1; life <= 3; life++) cc_store_relaxed(&full, life);
    cc_fence_full();
    full = 0;
    model_check(cc_load_relaxed(&full) == 0);
    cc_fence_full();
    model_check(cc_load_relaxed(&full) == 0);
}

static const model_client_t clients[] = {
    { .name = "lost_wake_up",
      .setup = setup,
      .threads = { send_without_fence, receive_sleeping },
      .finish = got_it,
      .bound = MODEL_UNBOUNDED,
      .verdict = MODEL_DEADLOCK },
    { .name = "lost_wake_up_mended",
      .setup = setup,
      .threads = { send_with_fence, receive_sleeping },
      .finish = got_it,
      .bound = MODEL_UNBOUNDED,
      .spurious = 1 },
    { .name = "lost_last_message",
      .setup = setup,
      .threads = { send_and_close, receive_until_closed },
      .finish = nothing_lost,
      .bound = MODEL_UNBOUNDED,
      .verdict = MODEL_ASSERTION },
    { .name = "lost_last_message_mended",
      .setup = setup,
      .threads = { send_and_close, receive_looking_once_more },
      .finish = nothing_lost,
      .bound = MODEL_UNBOUNDED },
    { .name = "freed_lock_touched",
      .setup = lock_setup,
      .threads = { lock_user_looks_back, lock_user_looks_back },
      .bound = MODEL_UNBOUNDED,
      .verdict = MODEL_FREED },
    { .name = "freed_lock_touched_mended",
      .setup = lock_setup,
      .threads = { lock_user_only_wakes, lock_user_only_wakes },
      .bound = MODEL_UNBOUNDED },
    { .name = "begun_anew_plainly", .setup = setup, .threads = { begin_anew_plainly, end }, .bound = MODEL_UNBOUNDED },
    { .name = "spins_for_ever",
      .setup = lock_setup,
      .threads = { spin_for_ever, end },
      .bound = MODEL_UNBOUNDED,
      .verdict = MODEL_LIVELOCK },
};

int main(int argc, char **argv)
{
    return model_main(argc, argv, clients, sizeof clients / sizeof *clients);
}
