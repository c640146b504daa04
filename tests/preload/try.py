"""Holds `concede try` to what concede(1) says of it."""
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
sys.path[:0] = [str(SOURCE / "tests"), str(SOURCE / "tests/tool")]
from checks import case, main, need, run, skip, tool  # noqa: E402
from sample import undocumented  # noqa: E402

PROGRAM = os.environ["CONCEDE_PROGRAM"]
FOLDER = tempfile.TemporaryDirectory()
WAYS = ["concede", "profile", "compare"]

CONTENDED = r"""
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER, idle = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int turn, never;
__attribute__((noinline)) static void contend_here(void)
{
    pthread_mutex_lock(&busy);
    usleep(2000);
    pthread_mutex_unlock(&busy);
}
__attribute__((noinline)) static void wait_here(int mine)
{
    pthread_mutex_lock(&idle);
    while (turn % 3 != mine) pthread_cond_wait(&cond, &idle);
    turn++;
    pthread_cond_broadcast(&cond);
    pthread_mutex_unlock(&idle);
}
static void *body(void *index)
{
    for (int i = 0; i < 50; i++) {
        contend_here();
        wait_here((int)(long)index);
    }
    return NULL;
}
int main(int argc, char **argv)
{
    pthread_t threads[3];
    for (long i = 0; i < 3; i++) pthread_create(&threads[i], NULL, body, (void *)i);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    puts("done");
    fflush(stdout);
    while (argc > 1) pause();
    return never;
}
"""


def compiled(name, text, *flags):
    source, binary = pathlib.Path(FOLDER.name, name + ".c"), pathlib.Path(FOLDER.name, name)
    source.write_text(text)
    run(os.environ["CC"], "-O1", "-g", *flags, source, "-o", binary, "-pthread")
    return str(binary)


def options(way):
    return {"concede": [], "profile": ["--profile"], "compare": ["--compare", "1"]}[way]


def concede_try(*arguments, stdin=b"", code=0, **more):
    done = subprocess.run([PROGRAM, "try", *map(str, arguments)], input=stdin, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=300, **more)
    need(done.returncode == code,
         "%s: exit code %d, not %d\n%s%s" % (arguments, done.returncode, code, done.stdout, done.stderr))
    return done.stdout, done.stderr.decode()


def found(*arguments):
    """What it wrote as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        concede_try("--json", folder + "/found.json", *arguments)
        data = json.loads(pathlib.Path(folder, "found.json").read_text())
    need(not undocumented("try", data), undocumented("try", data))
    return data


@case(each=WAYS)
def exit_code_is_the_programs_own(way):
    for code in 0, 1, 7, 200:
        concede_try(*options(way), "--", "sh", "-c", "exit %d" % code, code=code)


@case(each=WAYS)
def input_and_output_are_the_programs_own(way):
    text = os.urandom(300000)
    out, _ = concede_try(*options(way), "--", "cat", stdin=text)
    need(out == text, "%d bytes of %d" % (len(out), len(text)))


@case(each=WAYS)
def killed_program_ends_the_tool_by_the_same_signal(way):
    for number in signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM:
        concede_try(*options(way), "--", "sh", "-c", "kill -%d $$" % number, code=-number)


@case
def signal_to_the_tool_reaches_the_program_and_what_was_counted_is_kept():
    binary = compiled("contended_killed", CONTENDED)
    for number, code in (signal.SIGTERM, -signal.SIGTERM), (signal.SIGKILL, -signal.SIGKILL):
        running = subprocess.Popen([PROGRAM, "try", "--", binary, "stay"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        need(running.stdout.readline() == b"done\n", "it did not come to its end")
        if number == signal.SIGTERM:
            running.send_signal(number)
        else:  # the program itself, at whatever it does
            children = pathlib.Path("/proc/%d/task/%d/children" % (running.pid, running.pid)).read_text().split()
            os.kill(int(children[0]), number)
        errors = running.communicate(timeout=60)[1].decode()
        need(running.returncode == code, running.returncode)
        need("contend_here" in errors and "wait_here" in errors, errors)


@case(each=["concede", "profile"])
def waits_are_told_by_function_and_line(way):
    binary = compiled("contended_" + way, CONTENDED)
    data = found(*options(way), "--", binary)
    need(data["locks"] == ("libc" if way == "profile" else "concede"), data["locks"])
    mutex = [m for m in data["mutexes"] if m["function"] == "contend_here"]
    need(len(mutex) == 1, data["mutexes"])
    mutex = mutex[0]
    need(mutex["acquired"] == 150 and 50 < mutex["contended"] <= 150, mutex)
    need(mutex["held_ns"] >= 150 * 2e6 and mutex["waited_ns"] > 50e6, mutex)
    need(mutex["p50_ns"] <= mutex["p99_ns"] <= mutex["worst_ns"] <= mutex["waited_ns"], mutex)
    need(sum(n for _, n in mutex["times"]) == mutex["contended"], mutex)
    cond = [c for c in data["conditions"] if c["function"] == "wait_here"]
    need(len(cond) == 1 and cond[0]["waits"] > 50 and cond[0]["in_vain"] > 0, data["conditions"])
    if not tool("addr2line"):
        return
    line = CONTENDED.split("\n").index("    pthread_mutex_lock(&busy);") + 1
    need(mutex["line"] == "contended_%s.c:%d" % (way, line), mutex["line"])


MANY = r"""
#include <pthread.h>
enum { COUNT = 5000, THREADS = 3 };
static pthread_mutex_t outer[THREADS], many[COUNT];
__attribute__((noinline)) static void lock_here(pthread_mutex_t *mutex)
{
    pthread_mutex_lock(mutex);
    pthread_mutex_unlock(mutex);
}
static void *body(void *index)
{
    pthread_mutex_lock(&outer[(long)index]);
    for (int i = 0; i < 2 * COUNT; i++) lock_here(&many[i % COUNT]);
    pthread_mutex_unlock(&outer[(long)index]);
    return NULL;
}
int main(void)
{
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, body, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    return 0;
}
"""


@case(each=["concede", "profile"])
def each_of_many_mutexes_is_counted(way):
    # A thread's table grows several times while it holds the first mutex.
    rows = found(*options(way), "--", compiled("many_" + way, MANY))["mutexes"]
    counts = sorted(row["acquired"] for row in rows if row["function"] in ("body", "lock_here"))
    need(counts == [1] * 3 + [6] * 5000, "%d rows, %d acquisitions" % (len(counts), sum(counts)))
    inner = sum(row["held_ns"] for row in rows if row["acquired"] == 6)
    need(inner < sum(row["held_ns"] for row in rows if row["acquired"] == 1), "the outer ones are held longer")


CANCELLED = r"""
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static void unlock(void *unused) { (void)unused; pthread_mutex_unlock(&mutex); }
static void *body(void *unused)
{
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(unlock, NULL);
    for (;;) pthread_cond_wait(&cond, &mutex);
    pthread_cleanup_pop(1);
    return unused;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, body, NULL);
    usleep(500000);
    pthread_cancel(thread);
    pthread_join(thread, NULL);
    return 0;
}
"""


@case(each=["concede", "profile"])
def wait_that_was_cancelled_is_a_wait_and_does_not_hold_the_mutex(way):
    data = found(*options(way), "--", compiled("cancelled_" + way, CANCELLED))
    mutex, = [row for row in data["mutexes"] if row["function"] == "body"]
    cond, = [row for row in data["conditions"] if row["function"] == "body"] or [None]
    need(cond and cond["waits"] == 1 and cond["waited_ns"] > 100e6, cond)
    need(mutex["held_ns"] < cond["waited_ns"] / 2, mutex)


DEADLOCK = r"""
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static void *body(void *unused) { pthread_mutex_lock(&held); return unused; }
int main(void)
{
    pthread_t thread;
    pthread_mutex_lock(&held);
    pthread_create(&thread, NULL, body, NULL);
    usleep(500000);
    raise(SIGKILL);
    return 0;
}
"""


@case(each=["concede", "profile"])
def wait_without_an_end_is_told_and_who_holds_the_mutex(way):
    path = pathlib.Path(FOLDER.name, "deadlock_%s.json" % way)
    concede_try(*options(way), "--json", path, "--", compiled("deadlock_" + way, DEADLOCK), code=-signal.SIGKILL)
    rows = {row["function"]: row for row in json.loads(path.read_text())["mutexes"]}
    need(rows["main"]["acquired"] == 1 and rows["body"]["contended"] == 1, rows)


@case
def table_shows_what_was_waited_for_most_first():
    binary = compiled("contended_table", CONTENDED)
    _, errors = concede_try("--", binary, env=dict(os.environ, COLUMNS="200"))
    rows = re.findall(r"^(\w+) \(", errors, flags=re.M)
    need(rows[0] == "contend_here" and "wait_here" in rows, errors)
    for head in "acquired", "contended", "waited", "p50", "p99", "worst", "held", "in vain":
        need(head in errors, head)


@case
def program_without_locks_and_one_without_the_library_are_told_apart():
    need("used no mutex" in concede_try("--", compiled("nothing", "int main(void) { return 0; }"))[1], "not said")
    nested = "env -u LD_PRELOAD true"
    need("used no mutex" in concede_try("--", "sh", "-c", nested)[1], "the shell has it")


@case
def recorded_waits_are_read_by_tune():
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/found.json"
        concede_try("--json", path, "--", compiled("contended_tune", CONTENDED))
        data = json.loads(pathlib.Path(path).read_text())
        tuned = json.loads(run(PROGRAM, "tune", "--file", path, "--json"))
    times = sorted(t for kind in ("mutexes", "conditions") for row in data[kind] for t, n in row["times"])
    need(tuned["waits"]["min_ns"] == times[0] and tuned["waits"]["max_ns"] == times[-1], tuned["waits"])


@case
def comparison_runs_as_often_as_it_says_and_in_turn():
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder, "log")
        script = 'echo "${LD_PRELOAD:-none}" >>%s; cat' % log
        data = found("--compare", "7", "--", "sh", "-c", script)
        lines = ["ours" if "concede-pthread" in l else "none" for l in log.read_text().split()]
    need(lines == ["ours"] + ["none", "ours", "ours", "none"] * 3 + ["none", "ours"], lines)
    compare = data["compare"]
    need(compare["pairs"] == 7 and len(compare["wall"]["libc"]) == 7, compare)
    for which in "wall", "cpu", "context_switches":
        need(compare[which]["low"] <= compare[which]["ratio"] <= compare[which]["high"], compare)


@case
def comparison_sees_a_difference_that_is_one_and_none_that_is_not():
    slow = 'case $LD_PRELOAD in *concede*) sleep 0.2 ;; *) sleep 0.05 ;; esac'
    wall = found("--compare", "6", "--", "sh", "-c", slow)["compare"]["wall"]
    need(wall["more_than_noise"] and 2 < wall["ratio"] < 5, wall)
    wall = found("--compare", "5", "--", "sh", "-c", slow)["compare"]["wall"]
    need(not wall["more_than_noise"], "five pairs are too few to be certain")


@case
def comparison_says_if_a_run_ends_otherwise():
    _, errors = concede_try("--compare", "1", "--", "sh", "-c", "test -n \"$LD_PRELOAD\"", code=0)
    need("on the C library's locks ended with exit code 1, the first one with exit code 0" in errors, errors)


def refused(path, words, code=126):
    out, errors = concede_try("--", path, code=code)
    need(out == b"" and errors.count("\n") == 1 and words in errors, errors)


@case
def program_that_no_library_gets_into_is_told_in_one_sentence():
    refused(compiled("static", "int main(void) { return 0; }", "-static"), "linked statically")
    refused("/nowhere/at/all", "is not there", code=127)
    refused("no-such-program", "is not in the PATH", code=127)
    text = pathlib.Path(FOLDER.name, "text")
    text.write_text("echo hello\n")
    text.chmod(0o755)
    refused(text, "neither a program nor a script")
    refused(FOLDER.name, "cannot be run")


@case
def program_of_32_bits_is_told_in_one_sentence():
    # The header of one is enough: nothing is run.
    path = pathlib.Path(FOLDER.name, "narrow")
    path.write_bytes(b"\x7fELF\x01\x01\x01" + bytes(200))
    path.chmod(0o755)
    refused(path, "32-bit")


@case
def setuid_program_is_told_in_one_sentence():
    if os.getuid() != 0:
        skip("only root can make one")
    path = compiled("setuid", "int main(void) { return 0; }")
    os.chown(path, 65534, 65534)
    os.chmod(path, 0o4755)
    refused(path, "setuid")


@case
def script_is_run_by_its_interpreter():
    path = pathlib.Path(FOLDER.name, "script")
    path.write_text("#! /bin/sh\necho $1; exit 3\n")
    path.chmod(0o755)
    need(concede_try("--", path, "hello", code=3)[0] == b"hello\n", "it did not run")


@case(each=["|which program?", "--compare 0 true|--compare takes a number",
            "--compare 2 --profile true|do not go together", "--json /bin/true /bin/true|put -- before"])
def wrong_argument_gets_one_line(what):
    arguments, words = what.split("|")
    _, errors = concede_try(*arguments.split(), code=2)
    need(words in errors and errors.count("\n") == 1, errors)


@case(each=["concede", "profile"])
def watching_changes_nothing_that_posix_asks_for(way):
    run(PROGRAM, "try", *options(way), "--", os.environ["POSIX_PROGRAM"], "mutex", "condition", "wait", "signal",
        "child",
        env={"TEST_EFFORT": "25", **({"PRELOADED": "1"} if way == "concede" else {})})


@case
def library_works_by_ld_preload_alone():
    library = pathlib.Path(PROGRAM).parents[2] / "preload/libconcede-pthread.so"
    binary = compiled("contended_alone", CONTENDED)
    need(run(binary, env={"LD_PRELOAD": str(library)}) == "done\n", "it did not come to its end")


@case
def fast_path_counts_nothing():
    # Of the two calls of a plain mutex, the way that is taken when nobody watches, straight on to a return or a jump to
    # one. One write each, to the mutex, but for the word of the thread's own that tells the system of a restartable
    # sequence.
    library = pathlib.Path(PROGRAM).parents[2] / "preload/libconcede-pthread.so"
    for name in "pthread_mutex_lock", "pthread_mutex_unlock":
        text = run(tool("objdump"), "-d", "--no-show-raw-insn", "--disassemble=__" + name, library)
        if "x86-64" not in text:
            skip("x86-64 only")
        writes = []
        for line in re.findall(r"^\s+[0-9a-f]+:\t(.*)$", re.split(r"\t(?:ret|jmp)", text)[0], flags=re.M):
            mnemonic, _, operands = re.sub(r"^lock |\s+#.*", "", line).partition(" ")
            target = re.split(r",(?![^(]*\))", operands.strip())[-1]
            if "(" in target and not re.match(r"cmp[bwlq]?$|test|lea|prefetch|nop|cs|call|j", mnemonic):
                writes.append(target)
        others = [w for w in writes if not w.endswith("(%rdi)") and not re.match(r"%fs:\(%r\w+\)$", w)]
        need(not others and len([w for w in writes if w.endswith("(%rdi)")]) == 1, "%s: %s\n%s" % (name, writes, text))


main()
