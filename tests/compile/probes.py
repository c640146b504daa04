"""The probes of src/probe.h: what concede_probes(7) lists, one nop each, and a tracer can read them."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ["CONCEDE_BINARY_DIR"])
LIBRARY = BINARY / "libconcede.so"
PAGE = SOURCE / "man/concede_probes.7"
sys.path.insert(0, str(SOURCE / "tests"))
from checks import case, main, need, run, skip, tool  # noqa: E402

# A thread sleeps for a lock, five times, and for an event, a channel, a parker; the other one wakes it when it does.
PROGRAM = r"""
#include <concede/concede.h>
#include <pthread.h>
#include <sched.h>
#include "asleep.h"
static cc_lock_t lock = CC_LOCK_INIT;
static cc_event_t event = CC_EVENT_INIT;
static cc_parker_t parker = CC_PARKER_INIT;
static cc_channel_t *channel;
static uint32_t flag, begun, done;
static long waiter;
static void *body(void *unused)
{
    uint64_t message;
    cc_store_release(&waiter, this_thread());
    for (uint32_t i = 0; i < 5; i++) {
        while (cc_load_acquire(&begun) <= i) sched_yield();
        cc_lock_acquire(&lock);
        cc_lock_release(&lock);
        cc_store_release(&done, i + 1);
    }
    CC_EVENT_AWAIT(&event, cc_load_acquire(&flag) != 0);
    (void)!cc_channel_recv(channel, &message);
    cc_parker_park(&parker);
    return unused;
}
int main(void)
{
    pthread_t thread;
    uint64_t message = 7;
    cc_channel_options_t options = CC_CHANNEL_OPTIONS_INIT(1, sizeof message);
    options.snooze_iters = CC_SNOOZE_NONE;
    if (cc_channel_create(&channel, &options) != 0) return 1;
    pthread_create(&thread, NULL, body, NULL);
    for (uint32_t i = 0; i < 5; i++) {
        cc_lock_acquire(&lock);
        cc_store_release(&begun, i + 1);
        until_asleep(&waiter);
        cc_lock_release(&lock);
        while (cc_load_acquire(&done) <= i) sched_yield();
    }
    until_asleep(&waiter);
    cc_store_release(&flag, 1);
    cc_event_notify_all(&event);
    until_asleep(&waiter);
    if (cc_channel_send(channel, &message) != 0) return 1;
    until_asleep(&waiter);
    cc_parker_unpark(&parker);
    pthread_join(thread, NULL);
    cc_channel_destroy(channel);
    return 0;
}
"""


def probes():
    """(address, name, values) of each place in the library; the test is left out if it was built without."""
    notes = run(tool("readelf"), "-n", LIBRARY if LIBRARY.exists() else skip("no shared library here"))
    found = re.findall(r"Provider: concede\s+Name: (\w+)\s+Location: (0x[0-9a-f]+),.*\n\s+Arguments: (.*)", notes)
    return [(int(at, 16), name, values.split()) for name, at, values in found] or skip("built without <sys/sdt.h>")


def in_manual():
    """name: how many values the manual gives it."""
    rows = re.findall(r"^\.It (\w+__\w+) Ta (.*)$", PAGE.read_text(), flags=re.M)
    return {name: len(values.split(":")[0].split(",")) for name, values in rows}


def program(folder):
    binary = pathlib.Path(folder, "program")
    run(os.environ["CC"], "-std=gnu11", "-O2", "-I", SOURCE / "include", "-I", SOURCE / "tests", "-x", "c", "-", "-x",
        "none", LIBRARY, "-Wl,-rpath," + str(BINARY), "-pthread", "-o", binary, stdin=PROGRAM)
    return binary


@case
def manual_lists_the_probes_and_their_values():
    found = {(name, len(values)) for _, name, values in probes()}
    need(found == set(in_manual().items()), "library %s\nmanual %s" % (sorted(found), sorted(in_manual().items())))


@case
def each_is_one_nop():
    places = probes()
    text = run(tool("objdump"), "-d", "--no-show-raw-insn", LIBRARY)
    code = dict(re.findall(r"^\s*([0-9a-f]+):\s+(\S.*?)\s*$", text, flags=re.M))
    for at, name, _ in places:
        need(code.get("%x" % at) == "nop", "%s: %s" % (name, code.get("%x" % at)))


@case
def values_are_alike_in_all_places_of_a_probe_and_no_constants():
    # Or perf takes the first place only.
    kinds = {}
    for _, name, values in probes():
        need(not any("@$" in value for value in values), "%s: %s" % (name, values))
        kinds.setdefault(name, set()).add(" ".join(value.split("@")[0] for value in values))
    need(all(len(k) == 1 for k in kinds.values()), kinds)


@case
def without_them_there_is_no_trace_of_them():
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "lock.o")
        run(os.environ["CC"], "-std=gnu11", "-O2", "-I", SOURCE / "include", "-c", SOURCE / "src/lock.c", "-o", out)
        need("stapsdt" not in run(tool("readelf"), "-S", out), "notes without CC_USDT")


@case(each=["ON", "OFF", "AUTO"])
def build_has_them_as_asked(choice):
    here = "yes" in run(os.environ["CC"], "-E", "-x", "c", "-", stdin="#if __has_include(<sys/sdt.h>)\nyes\n#endif\n")
    refused = choice == "ON" and not here
    with tempfile.TemporaryDirectory() as folder:
        out = run("cmake", "-S", SOURCE, "-B", folder, "-DCONCEDE_USDT=" + choice, "-DCONCEDE_TESTS=OFF",
                  "-DCONCEDE_TOOLS=OFF", "-DCONCEDE_BENCH=OFF", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", fails=refused)
        commands = pathlib.Path(folder, "compile_commands.json")
        if refused:
            need("systemtap-sdt-dev" in out, out)
        else:
            need(("-DCC_USDT" in commands.read_text()) == (here and choice != "OFF"), commands.read_text()[:500])


# What gdb finds at each kind of probe when it gets there.
DEBUGGER = """
import gdb
class At(gdb.Breakpoint):
    def stop(self):
        first, count = (int(gdb.parse_and_eval("$_probe_arg" + which)) for which in "0c")
        gdb.write("at %s %d of %d\\n" % (self.location.split(":")[1], first, count))
        return False
gdb.execute("break main")
gdb.execute("run")
for name in names: At("-probe-stap concede:" + name)
gdb.execute("continue")
"""


@case
def debugger_stops_at_each_and_reads_its_values():
    names = sorted({name for _, name, _ in probes()})
    gdb = tool("gdb")
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder, "script.py")
        script.write_text("names = %r\n%s" % (names, DEBUGGER))
        out = run(gdb, "-nx", "-batch", "-x", script, program(folder))
    if "Couldn't get registers" in out or "Could not trace" in out:
        skip("gdb may not trace here")
    reached = {name: (int(first), int(count)) for name, first, count in re.findall(r"^at (\w+) (\d+) of (\d+)$", out,
                                                                                     flags=re.M)}
    # A lock is handed over only if the one who is owed it comes in time, which the debugger may delay.
    missing = set(names) - set(reached) - {"lock__handover"}
    need(not missing, "not reached: %s\n%s" % (sorted(missing), out))
    for name, (first, count) in reached.items():
        need(first != 0 and count == in_manual()[name], "%s: %d, %d values" % (name, first, count))


# A breakpoint at a probe's address stops there as well, but nobody traces the probe then.
TIMES = """
import gdb, re
class At(gdb.Breakpoint):
    def stop(self):
        gdb.write("ns %d\\n" % int(gdb.parse_and_eval("$_probe_arg2")))
        return False
gdb.execute("break main")
gdb.execute("run")
for name in "lock", "event", "channel":
    name += "__wait__end"
    if traced:
        At("-probe-stap concede:" + name)
    else:
        found = gdb.execute("info probes stap concede ^%s$" % name, to_string=True)
        for at in re.findall(name + r"\\s+(0x[0-9a-f]+)", found): At("*" + at)
gdb.execute("continue")
"""


@case(each=["traced", "not traced"])
def wait_is_timed_while_its_end_is_traced(way):
    probes()
    gdb = tool("gdb")
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder, "script.py")
        script.write_text("traced = %r\n%s" % (way == "traced", TIMES))
        out = run(gdb, "-nx", "-batch", "-x", script, program(folder))
    if "Couldn't get registers" in out or "Could not trace" in out:
        skip("gdb may not trace here")
    times = [int(ns) for ns in re.findall(r"^ns (\d+)$", out, flags=re.M)]
    need(len(times) >= 8, out)  # five of the lock, the event's, the channel's with its event's; and some short ones
    if way == "traced":
        need(all(times) and len([ns for ns in times if ns >= 10000000]) >= 8, times)
    else:
        need(not any(times), times)


@case
def tracer_records_waits_that_tune_reads():
    bpftrace = tool("bpftrace")
    probes()
    script = re.search(r"<<'EOF'\n(.*?)^EOF$", PAGE.read_text(), flags=re.M | re.S).group(1).replace(r"\e", "\\")
    with tempfile.TemporaryDirectory() as folder:
        path, waits = pathlib.Path(folder, "waits.bt"), pathlib.Path(folder, "waits")
        text = script.replace("/usr/local/lib/libconcede.so", str(LIBRARY)) + 'BEGIN { printf("# begun\\n"); }\n'
        need(str(LIBRARY) in text, script)
        path.write_text(text)
        with open(waits, "w") as out:
            tracer = subprocess.Popen([bpftrace, "-q", path], stdout=out, stderr=subprocess.PIPE, text=True,
                                      env=dict(os.environ, BPFTRACE_NO_USER_SYMBOLS="1"))
        try:
            deadline = time.time() + 60
            while tracer.poll() is None and waits.read_text() == "" and time.time() < deadline:
                time.sleep(0.2)
            if waits.read_text() == "":
                if tracer.poll() is None:
                    tracer.kill()
                skip("bpftrace may not trace here: " + (tracer.communicate()[1].strip().splitlines() or ["?"])[-1])
            run(program(folder))
            time.sleep(1)
        finally:
            if tracer.poll() is None:
                tracer.send_signal(signal.SIGINT)
            tracer.communicate(timeout=60)
        times = [int(line) for line in waits.read_text().split("\n") if re.match(r"\d+$", line)]
        need(len([t for t in times if t >= 10000000]) >= 5, times)
        concede = BINARY / "tools/concede/concede"
        if concede.exists():
            read = json.loads(run(concede, "tune", "--file", waits, "--json"))["waits"]
            need((read["min_ns"], read["max_ns"]) == (min(times), max(times)), read)


@case
def perf_records_waits_that_tune_reads():
    perf = tool("perf")
    probes()
    steps = re.search(r"^perf buildid.*?(?=^\.Ed)", PAGE.read_text(), flags=re.M | re.S).group()
    with tempfile.TemporaryDirectory() as folder:
        home = dict(os.environ, HOME=folder)  # where perf keeps what it knows of files
        if "sdt_concede" in subprocess.run([perf, "probe", "-l"], stdout=subprocess.PIPE, text=True).stdout:
            skip("somebody has set these probes already")
        steps = steps.replace("/usr/local/lib/libconcede.so", str(LIBRARY)).replace("./program", str(program(folder)))
        before, _, after = steps.replace("\\e", "\\").partition("perf record")
        try:
            asked = subprocess.run(["sh", "-ec", before], env=home, cwd=folder, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
            if asked.returncode != 0:
                need("File exists" not in asked.stdout, asked.stdout)
                skip("perf may not trace here: " + (asked.stdout.strip().splitlines() or ["?"])[-1])
            to_a_file = "exec >log 2>&1 </dev/null; perf record"  # it would write its data to a pipe
            run("sh", "-ec", to_a_file + after.partition("concede tune")[0], env=home, cwd=folder)
        finally:
            subprocess.run([perf, "probe", "-q", "-d", "sdt_concede:*"], env=home, stderr=subprocess.DEVNULL)
        waits = pathlib.Path(folder, "waits")
        times = [int(line) for line in waits.read_text().split()]
        need(len([t for t in times if t >= 10000000]) >= 5, times)
        concede = BINARY / "tools/concede/concede"
        if concede.exists():
            read = json.loads(run(concede, "tune", "--file", waits, "--json"))["waits"]
            need((read["min_ns"], read["max_ns"]) == (min(times), max(times)), read)


if __name__ == "__main__":
    main(jobs=1)  # a tracer's probe at the same place hides a debugger's
