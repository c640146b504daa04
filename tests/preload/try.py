"""Holds `concede try` to what concede(1) says of it."""
import json
import os
import pathlib
import re
import resource
import shutil
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


def somebody():
    os.setgid(65534)
    os.setuid(65534)


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
    times_are_whole(data)
    return data


def times_are_whole(data, key=""):
    """Nanoseconds and counts are integers; only a ratio and the range of one have a fraction."""
    if isinstance(data, (dict, list)):
        for k, value in data.items() if isinstance(data, dict) else ((key, v) for v in data):
            times_are_whole(value, k)
    else:
        need(not isinstance(data, float) or key in ("ratio", "low", "high"), "%s: %s" % (key, data))


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


COUNTS = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static volatile sig_atomic_t count;
static void counts(int number, siginfo_t *info, void *context) { count++; }
int main(int many, char **numbers)
{
    struct sigaction action = { .sa_sigaction = counts, .sa_flags = SA_SIGINFO };
    sigaction(atoi(numbers[1]), &action, NULL);
    puts("ready");
    fflush(stdout);
    for (int i = 0; i < 500 && !count; i++) usleep(10000);
    usleep(200000);
    printf("%d\n", (int)count);
    return many - 2;
}
"""


NOT_PASSED_ON = "KILL STOP ILL TRAP BUS FPE SEGV SYS CHLD CLD TTIN TTOU TSTP".split()


@case(each=[name for name in signal.Signals.__members__ if name[3:] not in NOT_PASSED_ON])
def signal_to_the_tool_alone_reaches_the_program_once(name):
    binary = pathlib.Path(FOLDER.name, "counts_" + name)
    running = subprocess.Popen([PROGRAM, "try", "--", compiled(binary.name, COUNTS), str(int(signal.Signals[name]))],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    need(running.stdout.readline() == b"ready\n", "it did not start")
    running.send_signal(signal.Signals[name])
    out, errors = running.communicate(timeout=60)
    need(running.returncode == 0 and out == b"1\n" and b"was seen" in errors, (running.returncode, out, errors))


@case
def stop_of_the_terminals_stops_the_tool_and_the_program():
    running = subprocess.Popen([PROGRAM, "try", "--", "sleep", "1"], stderr=subprocess.PIPE, preexec_fn=os.setpgrp)
    child, deadline = pathlib.Path("/proc/%d/task/%d/children" % (running.pid, running.pid)), time.time() + 60

    def states():
        found = [running.pid, *map(int, child.read_text().split())]
        return [pathlib.Path("/proc/%d/stat" % p).read_text().rsplit(") ")[1][0] for p in found]
    while states() != ["S", "S"] and time.time() < deadline:
        time.sleep(0.01)
    running.send_signal(signal.SIGTSTP)
    while states() != ["T", "T"] and time.time() < deadline:
        time.sleep(0.01)
    need(states() == ["T", "T"], states())
    running.send_signal(signal.SIGCONT)
    need(running.wait(60) == 0, running.returncode)


@case
def report_is_written_however_often_the_end_is_asked_for():
    binary, path = compiled("contended_twice", CONTENDED), pathlib.Path(FOLDER.name, "twice.json")
    for _ in range(5):
        path.unlink(missing_ok=True)
        running = subprocess.Popen([PROGRAM, "try", "--json", path, "--", binary, "stay"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        need(running.stdout.readline() == b"done\n", "it did not come to its end")
        while running.poll() is None:
            running.send_signal(signal.SIGTERM)
        running.communicate(timeout=60)
        need(running.returncode == -signal.SIGTERM, running.returncode)
        need(json.loads(path.read_text())["run"]["signal"] == signal.SIGTERM, path.read_text())


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
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static void *body(void *unused) { pthread_mutex_lock(&held); return unused; }
static void *awaits(void *unused)
{
    pthread_mutex_lock(&other);
    for (;;) pthread_cond_wait(&cond, &other);
    return unused;
}
int main(int count, char **how)
{
    pthread_t thread;
    if (how[1][0] == 'f' && fork()) return wait(NULL) < 0;
    pthread_mutex_lock(&held);
    pthread_create(&thread, NULL, body, NULL);
    pthread_create(&thread, NULL, awaits, NULL);
    usleep(500000);
    if (!strcmp(how[1], "kill")) raise(SIGKILL);
    if (!strcmp(how[1], "exec")) execlp("sleep", "sleep", "3", NULL);
    if (!strcmp(how[1], "fork and kill")) raise(SIGKILL);
    return count - 2;
}
"""


@case(each=["%s: %s" % (way, how) for way in ("concede", "profile") for how in
            ("kill", "exec", "exit", "fork and exit", "fork and kill")])
def wait_without_an_end_is_told_until_the_end_and_so_is_a_hold(what):
    way, how = what.split(": ")
    name = "deadlock_" + re.sub("[: ]", "", what)
    path = pathlib.Path(FOLDER.name, name + ".json")
    _, errors = concede_try(*options(way), "--json", path, "--", compiled(name, DEADLOCK), how,
                            code=-signal.SIGKILL if how == "kill" else 0, env=dict(os.environ, COLUMNS="200"))
    data = json.loads(path.read_text())
    mutexes = {row["function"]: row for row in data["mutexes"]}
    cond, = data["conditions"]
    need(mutexes["main"]["acquired"] == 1 and mutexes["main"]["still_held"] == 1, mutexes)
    need(mutexes["body"]["contended"] == 1 and mutexes["body"]["still_waiting"] == 1, mutexes)
    need(mutexes["awaits"]["still_held"] == 0 and mutexes["awaits"]["held_ns"] < 400e6, "given up in the wait")
    need(cond["function"] == "awaits" and cond["waits"] == 1 and cond["still_waiting"] == 1, cond)
    times = mutexes["main"]["held_ns"], mutexes["body"]["waited_ns"], cond["waited_ns"]
    if how == "fork and kill":  # nobody could say when that was
        need(times == (None, 0, 0), times)
        return
    need(all(t > 400e6 for t in times), times)
    need(how != "exec" or all(t < 0.9 * data["run"]["wall_ns"] for t in times), "what is executed has no such locks")
    need(re.search(r"^main .*[0-9] m?s\+$", errors, flags=re.M) and "\n+: " in errors, errors)


HOLDS = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP, robust;
static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
__attribute__((noinline)) static void inner(void)
{
    pthread_mutex_lock(&recursive);
    usleep(20000);
    pthread_mutex_unlock(&recursive);
}
__attribute__((noinline)) static void outer(void)
{
    pthread_mutex_lock(&recursive);
    inner();
    pthread_mutex_unlock(&recursive);
}
static void *dies(void *unused) { pthread_mutex_lock(&robust); usleep(20000); return unused; }
static void *unlocks(void *unused) { pthread_mutex_unlock(&left); return unused; }
__attribute__((noinline)) static void hands_over(pthread_mutex_t *mutex)
{
    pthread_t thread;
    pthread_mutex_lock(mutex);
    usleep(20000);
    pthread_create(&thread, NULL, unlocks, NULL);
    pthread_join(thread, NULL);
}
__attribute__((noinline)) static int twice(void)
{
    pthread_mutex_lock(&checking);
    int mistake = pthread_mutex_lock(&checking);
    pthread_mutex_unlock(&checking);
    return mistake;
}
int main(void)
{
    pthread_t thread;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &attributes);
    outer();
    pthread_create(&thread, NULL, dies, NULL);
    pthread_join(thread, NULL);
    hands_over(&left);
    hands_over(&left);
    usleep(500000);
    return twice() == 0;
}
"""


@case(each=["concede", "profile"])
def hold_is_counted_once_and_ends_with_its_thread_or_by_another(way):
    rows = {}
    for row in found(*options(way), "--", compiled("holds_" + way, HOLDS))["mutexes"]:
        rows.setdefault(row["function"], row)
    need(rows["inner"]["acquired"] == 1 and rows["inner"]["held_ns"] is None, "of the outer one: %s" % rows["inner"])
    need(rows["outer"]["held_ns"] > 15e6, rows["outer"])
    need(rows["dies"]["acquired"] == 1 and 15e6 < rows["dies"]["held_ns"], rows["dies"])
    need(rows["hands_over"]["acquired"] == 2 and 15e6 < rows["hands_over"]["held_ns"] < 400e6, rows["hands_over"])
    need(rows["twice"]["acquired"] == 1 and rows["twice"]["contended"] == 0, "a mistake is no wait: %s" % rows["twice"])
    need(not any(row["still_held"] or row["still_waiting"] for row in rows.values()), rows)


@case
def table_shows_what_was_waited_for_most_first():
    binary = compiled("contended_table", CONTENDED)
    _, errors = concede_try("--", binary, env=dict(os.environ, COLUMNS="200"))
    rows = re.findall(r"^(\w+) \(", errors, flags=re.M)
    need(rows[0] == "contend_here" and "wait_here" in rows, errors)
    for head in "acquired", "contended", "waited", "p50", "p99", "worst", "held", "in vain":
        need(head in errors, head)


@case
def no_lock_is_told_as_none_that_was_seen():
    for program in ([compiled("nothing", "int main(void) { return 0; }")], ["sh", "-c", "env -u LD_PRELOAD true"],
                    ["sh", "-c", "exec " + compiled("static_executed", CONTENDED, "-static")]):
        errors = concede_try("--", *program)[1]
        need("No mutex and no condition variable was seen. What is linked statically" in errors, errors)


@case
def program_that_the_library_does_not_get_into_is_on_nobodys_locks():
    path, report = compiled("unread_static", CONTENDED, "-static"), pathlib.Path(FOLDER.name, "unread.json")
    if os.getuid() != 0:
        skip("only root can become somebody who may not read it")
    os.chmod(FOLDER.name, 0o755)
    os.chmod(path, 0o711)
    report.touch()
    os.chown(report, 65534, 65534)
    _, errors = concede_try("--json", report, "--", path, preexec_fn=somebody)
    need("did not get into " + path in errors and "on concede's locks" not in errors, errors)
    need(json.loads(report.read_text())["locks"] is None, report.read_text())


@case
def argument_that_is_no_text_is_replaced_in_json():
    path = pathlib.Path(FOLDER.name, "bytes.json")
    wrong = b"a\xff\xc3\xa4\xc3b\xed\xa0\x80c\xc0\x80\xf0\x9f\x98\x80\xf4\x90\x80\x80\xe2"
    done = subprocess.run([PROGRAM, "try", "--json", path, "--", "true", wrong], stderr=subprocess.PIPE, timeout=60)
    need(done.returncode == 0, done.stderr)
    text = json.loads(path.read_bytes().decode())["program"][1]
    need(text == wrong.decode(errors="replace"), ascii(text))


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
    need(not {"mutexes", "conditions", "dropped"} & set(data), "nothing was watched")
    for which in "wall", "cpu", "context_switches":
        need(compare[which]["low"] <= compare[which]["ratio"] <= compare[which]["high"], compare)


@case
def library_is_not_in_the_runs_without_it_whoever_put_it_there():
    script = 'echo "$LD_PRELOAD" >>%s'
    library = str((pathlib.Path(PROGRAM).parents[2] / "preload/libconcede-pthread.so").resolve())
    for others in ["", "libm.so.6"]:
        log = pathlib.Path(FOLDER.name, "preloads" + others)
        before = dict(os.environ, LD_PRELOAD=":".join([library, others, library]))
        concede_try("--compare", "1", "--", "sh", "-c", script % log, env=before)
        first, without, ours = log.read_text().split("\n")[:3]
        need(without == others and first == ours == ":".join(filter(None, [library, others])), log.read_text())


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


@case(each=["dies of it|SIGINT", "dies of it|SIGTERM", "ends well|SIGINT"])
def comparison_that_is_interrupted_shows_what_is_complete(what):
    how, name = what.split("|")
    log, path = (pathlib.Path(FOLDER.name, re.sub("[| ]", "", what) + end) for end in (".log", ".json"))
    script = "%secho >>%s; sleep 0.05" % ("trap 'exit 0' INT; " if how == "ends well" else "", log)
    running = subprocess.Popen([PROGRAM, "try", "--compare", "1000", "--json", path, "--", "sh", "-c", script],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    while running.poll() is None and (not log.exists() or len(log.read_text()) < 6):
        time.sleep(0.01)
    if name == "SIGINT":  # as a terminal does, to all of them
        os.killpg(running.pid, signal.SIGINT)
    else:
        running.send_signal(signal.SIGTERM)
    errors = running.communicate(timeout=60)[1]
    need(running.returncode == (0 if how == "ends well" else -getattr(signal, name)), running.returncode)
    need("times each way" in errors and len(log.read_text()) < 200, errors)
    data = json.loads(path.read_text())
    need(not undocumented("try", data) and data["interrupted"] is True, data)
    need(2 <= data["compare"]["pairs"] == len(data["compare"]["wall"]["concede"]), data)


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
def program_that_the_system_does_not_run_is_told_in_one_sentence():
    path = compiled("broken", "int main(void) { return 0; }", "-Wl,--dynamic-linker=/nowhere/ld.so")
    refused(path, "cannot be run: No such file or directory", code=127)


@case(each=WAYS)
def program_that_may_be_run_but_not_read_runs(way):
    if os.getuid() != 0:
        skip("only root can become somebody who may not read it")
    path = compiled("unread_" + way, CONTENDED)
    os.chmod(FOLDER.name, 0o755)
    os.chmod(path, 0o711)
    out, errors = concede_try(*options(way), "--", path, preexec_fn=somebody)
    need(out == b"done\n" and ("unread_" in errors), errors)


@case
def program_for_musl_is_told_in_one_sentence():
    path = compiled("musl", "int main(void) { return 0; }", "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1")
    refused(path, "is for musl")


@case(each=["a b", "a:b"])
def name_that_ld_preload_does_not_take_is_told_in_one_sentence(name):
    tools, preload = pathlib.Path(FOLDER.name, name, "tools/concede"), pathlib.Path(FOLDER.name, name, "preload")
    tools.mkdir(parents=True)
    preload.mkdir()
    shutil.copy(pathlib.Path(PROGRAM).parents[2] / "preload/libconcede-pthread.so", preload)
    done = subprocess.run([shutil.copy(PROGRAM, tools), "try", "--", "echo", "hello"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=60, text=True)
    need(done.returncode == 1 and not done.stdout and done.stderr.count("\n") == 1, done)
    need("with a space or a colon" in done.stderr, done.stderr)


@case
def limit_of_file_sizes_is_told_in_one_sentence():
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    _, errors = concede_try("--", "true", code=1, preexec_fn=limit)
    need("File too large" in errors and errors.count("\n") == 1, errors)


@case
def comparison_says_on_a_terminal_that_it_reads_the_input():
    master, slave = os.openpty()
    running = subprocess.Popen([PROGRAM, "try", "--compare", "1", "--", "true"], stdin=subprocess.PIPE, stderr=slave)
    text = b""
    while b"reading the input" not in text:
        text += os.read(master, 1000)
    running.communicate(timeout=60)
    need(running.returncode == 0, running.returncode)


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
def sanitized_program_runs_with_it():
    # A sanitizer's runtime comes before all libraries and calls pthread_atfork() when little is ready.
    library = pathlib.Path(PROGRAM).parents[2] / "preload/libconcede-pthread.so"
    for kind, static in ("thread", "-static-libtsan"), ("address", "-static-libasan"):
        probe = subprocess.run([os.environ["CC"], "-fsanitize=" + kind, static, "-xc", "-", "-o", "/dev/null"],
                               input=b"int main(void) { return 0; }", stderr=subprocess.DEVNULL)
        flags = ["-fsanitize=" + kind] + ([static] if probe.returncode == 0 else [])
        binary = compiled("sanitized_" + kind, CONTENDED, *flags)
        done = subprocess.run([binary], env={"LD_PRELOAD": str(library)}, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=60)
        need(done.returncode == 0 and done.stdout == b"done\n", "%s: %s" % (kind, done.stderr.decode()))
        need((b"library's locks stay" in done.stderr) == (kind == "thread"), kind)


@case
def file_that_is_no_record_is_left_alone():
    library = pathlib.Path(PROGRAM).parents[2] / "preload/libconcede-pthread.so"
    binary = compiled("contended_record", CONTENDED)
    for name, size in ("empty", 0), ("short", 5), ("as long as one", 1 << 29):
        path = pathlib.Path(FOLDER.name, name)
        with open(path, "wb") as file:
            file.truncate(size)
        need(run(binary, env={"LD_PRELOAD": str(library), "CONCEDE_PTHREAD_RECORD": str(path)}) == "done\n", name)
        with open(path, "rb") as file:
            need(path.stat().st_size == size and not any(file.read(4096)), name)
    for path in FOLDER.name, "/dev/null", "/dev/zero", "/nowhere/at/all", "":
        need(run(binary, env={"LD_PRELOAD": str(library), "CONCEDE_PTHREAD_RECORD": path}) == "done\n", path)


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
