"""Holds tools/concede-gdb.py, as it is installed, to what concede_debug(7) says of it."""
import os
import pathlib
import re
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ["CONCEDE_BINARY_DIR"])
sys.path.insert(0, str(SOURCE / "tests"))
from checks import case, main, need, run, skip, tool  # noqa: E402

FOLDER = tempfile.TemporaryDirectory()
# Seven threads that wait.
PROGRAM = r"""
#include <concede/concede.h>
#include <pthread.h>
#include "asleep.h"
cc_lock_t lock = CC_LOCK_INIT, free_lock = CC_LOCK_INIT;
cc_event_t event = CC_EVENT_INIT, idle_event = CC_EVENT_INIT;
cc_parker_t parker = CC_PARKER_INIT, with_token = CC_PARKER_INIT, fresh_parker = CC_PARKER_INIT;
cc_channel_t *spsc, *mpmc, *between;
uint32_t never;
static uint64_t messages[7];
static long who[7];
static void *lock_it(void *unused) { cc_lock_acquire(&lock); cc_lock_release(&lock); return unused; }
static void *await_it(void *unused) { CC_EVENT_AWAIT(&event, cc_load_acquire(&never) != 0); return unused; }
static void *park_it(void *unused) { cc_parker_park(&parker); return unused; }
static void *receive_it(void *message) { return cc_channel_recv(spsc, message) == 0 ? message : NULL; }
static void *send_it(void *message) { return cc_channel_send(mpmc, message) == 0 ? message : NULL; }
__attribute__((noinline)) void look_here(void) { __asm__ __volatile__(""); }
static void *(*const bodies[])(void *) = { lock_it, lock_it, await_it, park_it, receive_it, send_it, send_it };
static void *body(void *index)
{
    cc_store_release(&who[(uintptr_t)index], this_thread());
    return bodies[(uintptr_t)index](&messages[(uintptr_t)index]);
}
int main(void)
{
    pthread_t threads[7];
    cc_channel_options_t options = CC_CHANNEL_OPTIONS_INIT(1024, sizeof(uint64_t));
    options.kind = CC_CHANNEL_SPSC;
    if (cc_channel_create(&spsc, &options) != 0) return 1;
    options.kind = CC_CHANNEL_MPMC;
    options.capacity = 4;
    if (cc_channel_create(&mpmc, &options) != 0) return 1;
    for (int i = 0; i < 4; i++)
        if (cc_channel_send(mpmc, messages) != 0) return 1;
    cc_shared_t *shared;
    int fd;
    if (cc_shared_create_fd(&shared, &options, &fd) != 0) return 1;
    between = cc_shared_channel(shared);
    if (cc_channel_send(between, messages) != 0) return 1;
    cc_parker_unpark(&with_token);
    cc_lock_acquire(&lock);
    for (uintptr_t i = 0; i < 7; i++) pthread_create(&threads[i], NULL, body, (void *)i);
    for (int i = 0; i < 7; i++) until_asleep(&who[i]);
    look_here();
    cc_channel_close(mpmc);
    for (int i = 0; i < 17; i++)
        if (cc_channel_send(spsc, messages) != 0) return 1;
    for (int i = 4; i < 7; i++) pthread_join(threads[i], NULL);
    look_here();
    return 0;
}
"""
OBJECTS = ["lock", "free_lock", "event", "idle_event", "parker", "with_token", "fresh_parker", "*spsc", "*mpmc",
           "*between"]


def installed(stripped):
    prefix = pathlib.Path(FOLDER.name, "stripped" if stripped else "installed")
    if not prefix.exists():
        run("cmake", "--install", BINARY, "--prefix", prefix, *(["--strip"] if stripped else []))
    return prefix


def session(*commands, stripped=False):
    """What gdb prints, which is free to load the script that lies beside the library."""
    gdb, prefix = tool("gdb"), installed(stripped)
    library = next(prefix.rglob("libconcede.so"), None) or skip("no shared library here")
    need(list(library.parent.glob("libconcede.so.*-gdb.py")), "no script beside the library")
    program = prefix / "program"
    run(os.environ["CC"], "-std=gnu11", "-O2", "-g", "-I", prefix / "include", "-I", SOURCE / "tests", "-x", "c", "-",
        "-x", "none", library, "-Wl,-rpath," + str(library.parent), "-pthread", "-o", program, stdin=PROGRAM)
    out = run(gdb, "-nx", "-batch", "-iex", "set auto-load safe-path " + str(prefix.resolve()), "-ex",
              "set print thread-events off", "-ex", "break look_here", "-ex", "run",
              *(word for c in commands for word in ("-ex", c)), program)
    if "ptrace" in out or "Could not trace" in out:
        skip("gdb may not trace here")
    return out


def printed(out):
    return re.findall(r"^\$\d+ = (.*)$", out, flags=re.M)


@case
def objects_are_told_in_words():
    found = dict(zip(OBJECTS, printed(session(*["print " + o for o in OBJECTS]))))
    need(found == {"lock": "held, 2 asleep", "free_lock": "free", "event": "1 asleep",
                   "idle_event": "nobody waits", "parker": "asleep", "with_token": "a token",
                   "fresh_parker": "no token", "*spsc": "SPSC, 0 of 1024, receiver asleep",
                   "*mpmc": "MPMC, 4 of 4, 2 senders asleep", "*between": "MPMC, 1 of 4"}, found)


# Who is owed a lock gets it within microseconds, so the debugger itself writes that into the word.
@case
def lock_that_is_owed_says_so():
    out = session("set variable lock.word += 16", "print lock", "set variable lock.word -= 1", # OWED, HELD
                  "print lock")
    need(printed(out) == ["held, 2 asleep, 1 owed", "handed over, 2 asleep, 1 owed"], out)


@case
def channel_is_told_as_it_changes():
    out = printed(session("continue", "print *spsc", "print *mpmc"))
    need(out == ["SPSC, 16 of 1024", "MPMC, 4 of 4, closed"], out)


@case(each=["with debug information", "stripped"])
def waiters_are_listed_by_what_they_wait_for(library):
    out = session("concede waiters", "thread", stripped=library == "stripped")
    rows = re.findall(r"^Thread \d+ \(\d+\) sleeps in (\w+): (\w+) 0x\w+(.*?); called by (\w+) at ", out, flags=re.M)
    found = sorted((function, kind, caller) for function, kind, _, caller in rows)
    need(found == [("CC_EVENT_AWAIT", "event", "await_it"), ("cc_channel_recv", "channel", "receive_it"),
                   ("cc_channel_send", "channel", "send_it"), ("cc_channel_send", "channel", "send_it"),
                   ("cc_lock_acquire", "lock", "lock_it"), ("cc_lock_acquire", "lock", "lock_it"),
                   ("cc_parker_park", "parker", "park_it")], out)
    need(any("<lock>, held, 2 asleep" in words for _, _, words, _ in rows), out)
    need("[Current thread is 1 " in out, "another thread is selected\n" + out)


@case
def nobody_waits_in_a_program_that_has_not_begun():
    out = session("kill", "break main", "run", "concede waiters")
    need("No thread waits in concede." in out, out)


@case
def bits_are_those_of_the_headers():
    header = (SOURCE / "include/concede/event.h").read_text()
    script = (SOURCE / "tools/concede-gdb.py").read_text()
    bits = re.findall(r'"(CC_EVENT_\w+_)": (0x[0-9a-f]+)', script)
    need(len(bits) >= 4, bits)
    for name, value in bits:
        need(re.search(r"#define %s\s+UINT32_C\(%s\)" % (name, value), header), "%s is not %s" % (name, value))


if __name__ == "__main__":
    main(jobs=1)
