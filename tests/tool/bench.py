"""Holds `concede bench` to what its help promises."""
import csv
import io
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
from checks import case, main, need, skip  # noqa: E402
from sample import results, undocumented  # noqa: E402

PROGRAM = os.environ["CONCEDE_PROGRAM"]
FAST = ["-s", "0.002", "-r", "3"]


def bench(*arguments, code=0, width=100, **more):
    done = subprocess.run([PROGRAM, "bench", *map(str, arguments)], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE,
                          env=dict(os.environ, COLUMNS=str(width)), timeout=300, **more)
    need(done.returncode == code, "bench %s: exit code %d, not %d\n%s%s" % (
        " ".join(map(str, arguments)), done.returncode, code, done.stdout, done.stderr))
    return done.stdout, done.stderr


@case(each=[
    "nonsense|unknown workload 'nonsense'",
    "lokc|did you mean lock?",
    "lock.tihgt|did you mean lock.tight?",
    "--threads=|not a list of numbers from 1 to 1024",
    "--threads 0|not a list of numbers from 1 to 1024",
    "--threads 1,x|not a list of numbers",
    "--seconds 0|not a number from 0.001 to 600",
    "--seconds nan|not a number",
    "--repeats 65|not a number from 1 to 64",
    "--capacity 0|not a number from 1",
    "--message-size 9|none of 8, 64, 256",
    "--held 1x|not a list of times",
    "--held 2s|not a list of times",
    "--interval=|not a list of times",
    "--between 4|not a list of senders:receivers",
    "--between 1:0|not a list of senders:receivers",
    "--burst 0|not a list of numbers from 1 to 1024",
    "--neighbours 0|neither a number from 1 to 64 nor N@CPU",
    "--neighbours 1@x|neither a number from 1 to 64 nor N@CPU",
    "--only nobody|no implementation's name begins with 'nobody'",
    "--only concede,|no implementation|",
    "--markdown page|none of document, tables, machine",
    "--csv --markdown tables|choose one",
    "--csv --json -|choose one",
    "--json lock|'lock' is a workload, not a file",
    "--jason|did you mean --json?",
])
def wrong_argument_gets_one_line_and_exit_code_2(what):
    arguments, message = what.split("|")[:2]
    if what.endswith("|"):  # an empty name at the end of a list is no name
        bench(*arguments.split(), "park.post", *FAST)
        return
    text, errors = bench(*arguments.split(), code=2)
    need(text == "" and errors.count("\n") == 1 and message in errors, text + errors)


@case(each=["--from", "--compare"])
def a_file_that_is_no_result_is_refused(option):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("absent", None), ("empty", ""), ("other", '{"a": 1}'),
                           ("torn", '{"concede_bench": 1, "runs": [')):
            path = pathlib.Path(folder, name)
            if text is not None:
                path.write_text(text)
            text, errors = bench(option, path, "park.post", *FAST, code=1)
            need(text == "" and errors.count("\n") == 1 and name in errors, text + errors)


@case
def it_tells_in_which_phase_the_waits_of_concede_ended():
    arguments = ["lock.tight", "park.pingpong", "-t", "1,4", "--only", "concede,pthread_mutex", "-s", "0.3", "-r", "1"]
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/results.json"
        text = bench(*arguments, "--json", path)[0]
        data = json.loads(pathlib.Path(path).read_text())
    alone, together = [{r["name"]: r["metrics"] for r in run["results"]} for run in data["runs"][:2]]
    phases = ["spun", "yielded", "slept"]
    need([alone["concede"][p]["median"] for p in phases] == [0, 0, 0], alone)
    need(sum(together["concede"][p]["median"] for p in phases) > 0, together)
    need(not set(phases) & set(together["pthread_mutex"]), together)
    event = {r["name"]: r["metrics"] for r in data["runs"][2]["results"]}
    need(event["concede event"]["slept"]["median"] > 0 and "slept" not in event["concede parker"], event)
    need(text.count("concede, waits in 100 operations: ") == 1, text)


@case
def every_workload_and_implementation_in_the_list_can_be_measured_by_name():
    listed = bench("--list", width=500)[0]
    names = re.findall(r"^  ([a-z]+\.[a-z_]+)$", listed, flags=re.M)
    need({"cas.fetch_mul", "lock.tight", "condition.buffer", "park.pingpong", "channel.stream"} <= set(names), listed)
    for family in ("lock", "condition", "channel", "select", "shared"):
        part = re.search(r"^%s:\n((?:  .*\n)+)" % family, listed, flags=re.M).group(1)
        name = re.match(r"  (.*?): ", part).group(1)
        data = json.loads(bench(family, "--only", name, "-t", "2", "--json", "-", *FAST)[0])
        need(data["runs"] and all(r["name"].startswith(name) for run in data["runs"] for r in run["results"]), name)


@case
def json_has_the_documented_form():
    data = json.loads(bench("lock.wait", "park", "channel.many", "-t", "2", "--json", "-", "--only", "concede,libc",
                            *FAST)[0])
    need(data["concede_bench"] == 1 and not data["interrupted"], data.keys())
    need(not undocumented("bench", data), undocumented("bench", data))
    need(data["command"].startswith("concede bench lock.wait") and re.match(r"\d{4}-\d\d-\d\dT", data["date"]),
         data["command"])
    need(data["machine"]["clock_overhead_ns"] > 0 and 0 < data["histogram_error"] < .01, data["machine"])
    need({r["workload"] for r in data["runs"]} >= {"lock.wait", "park.post", "channel.many"},
         [r["workload"] for r in data["runs"]])
    for run in data["runs"]:
        need(run["rounds"] == 3 == len(run["others"]) and len(run["line_ns"]) == 6, run["workload"])
        names = [r["name"] for r in run["results"]]
        need(len(set(names)) == len(names) and run["baseline"] in names and run["winner"] in names + [None], names)
        for result in run["results"]:
            primary = result["metrics"][run["primary"]]
            need(len(primary["samples"]) == 3 and primary["q1"] <= primary["median"] <= primary["q3"], primary)
            need(("ratio" in primary) == (result["name"] != run["baseline"]), result["name"])
            if "latency" in result:
                shares = [q[0] for q in result["latency"]["quantiles"]]
                values = [q[1] for q in result["latency"]["quantiles"]]
                need(shares == sorted(shares) and values == sorted(values) and result["latency"]["count"] > 0,
                     result["name"])
            need(len(result["per_thread"]) in (run["parameters"]["threads"], run["parameters"].get("receivers")),
                 result["name"])


def sample(folder, change=None):
    data = results(3)
    if change:
        change(data)
    path = pathlib.Path(folder, "results%d.json" % len(os.listdir(folder)))
    path.write_text(json.dumps(data))
    return path, data


@case
def tables_hold_the_figures_of_the_file():
    with tempfile.TemporaryDirectory() as folder:
        path, data = sample(folder)
        rows = list(csv.DictReader(io.StringIO(bench("--from", path, "--csv")[0])))
        wanted = sum(1 for run in data["runs"] for r in run["results"] for m in r["metrics"].values() if m["samples"])
        need(len(rows) == wanted, "%d lines, not %d" % (len(rows), wanted))
        texts = {form: bench("--from", path, "--markdown", form)[0] for form in ("document", "tables", "machine")}
        table = bench("--from", path, width=300)[0]
        for run in data["runs"]:
            for result in run["results"]:
                found = [r for r in rows if r["name"] == result["name"] and r["workload"] == run["workload"]
                         and r["metric"] == run["primary"]
                         and int(r["threads"]) == run["parameters"]["threads"]]
                need(found, "%s of %s is not there" % (result["name"], run["workload"]))
                need(result["name"] in table and result["name"] in texts["document"], result["name"])
        need(data["date"][:10] in texts["machine"] and data["machine"]["cpu"] in texts["document"], texts["machine"])
        need("| | 32 | M/s at 32 | Jain at 32 | CPU ns at 32 | sleeps |" in texts["tables"], texts["tables"])
        for form in ("document", "tables"):
            rows = [l.count("|") for l in texts[form].splitlines() if l.startswith("|")]
            blocks = [b.splitlines() for b in re.findall(r"(?:^\|.*\n)+", texts[form], flags=re.M)]
            need(blocks and rows, form)
            for block in blocks:
                need(len({line.count("|") for line in block}) == 1, "uneven table:\n" + "\n".join(block[:3]))
        lines = bench("--from", path, width=40)[0].splitlines()
        need(max(map(len, lines)) <= 40, max(lines, key=len))
        one = bench("lock", "--from", path, "--csv")[0]
        need(all(l.startswith(("lock.", "workload,")) for l in one.splitlines()) and "lock." in one, one[:300])


@case
def compare_tells_a_change_from_noise():
    def scaled(factor, of_lower=None):
        def change(data):
            for run in data["runs"]:
                for result in run["results"]:
                    for metric in result["metrics"].values():
                        by = of_lower if of_lower and metric["better"] == "lower" else factor
                        metric["samples"] = [s * by for s in metric["samples"]]
        return change
    with tempfile.TemporaryDirectory() as folder:
        before, _ = sample(folder)
        more, _ = sample(folder, scaled(10))
        text = bench("--from", before, "--compare", before)[0]
        need(re.search(r"^0 figures changed by more than the noise, [1-9]", text), text)  # and no heads without rows
        text = bench("--from", more, "--compare", before, width=200, code=1)[0]  # something got worse
        need("+900.0%" in text and "better" in text and "worse" in text, text[:500])
        text = bench("--from", more, "--compare", before, width=80, code=1)[0]
        need(max(map(len, text.splitlines())) <= 80, text[:500])
        need(re.search(r"^lock\.tight, 32 threads\n {5,}.*after.*\n  .* M/s +.*%  better\n", text, flags=re.M), text)
        busy, _ = sample(folder, lambda d: (scaled(10)(d), [r.update(others=[.5] * r["rounds"]) for r in d["runs"]]))
        text = bench("--from", busy, "--compare", before)[0]
        need("worse" not in text and "because other programs were busy" in text, text[:500])
        best, _ = sample(folder, scaled(10, of_lower=0.1))
        text = bench("--from", best, "--compare", before, width=200)[0]  # nothing got worse
        need("better" in text and "worse" not in text, text[:500])
        other, _ = sample(folder, lambda d: d.update(runs=[r for r in d["runs"] if r["family"] == "cas"]))
        bench("lock", "--from", before, "--compare", other, code=1)


@case
def a_cell_of_a_map_can_be_chosen():
    data = json.loads(bench("lock.map", "--held", "1us,200ns", "--outside", "5us", "-t", "3", "--only",
                            "concede,pthread_mutex",
                            "--json", "-", *FAST)[0])
    got = [(r["parameters"]["held_ns"], r["parameters"]["outside_ns"], r["parameters"]["threads"])
           for r in data["runs"]]
    need(got == [(1000, 5000, 3), (200, 5000, 3)], got)
    phases = {"spun", "yielded", "slept"}
    need({"rate", "p50", "p99", "p999", "cpu", "jain"} == set(data["runs"][0]["results"][0]["metrics"]) - phases,
         data["runs"][0])
    data = json.loads(bench("channel.map", "--between", "1:1,2:1", "--interval", "0", "--burst", "16", "--work", "1us",
                            "--only",
                            "concede,mutex+condvar", "--json", "-", *FAST)[0])
    names = [[r["name"] for r in run["results"]] for run in data["runs"]]
    need(names == [["concede spsc", "concede mpmc", "mutex+condvar"], ["concede mpmc", "mutex+condvar"]], names)
    need(all(r["parameters"]["burst"] == 16 and r["parameters"]["work_ns"] == 1000 for r in data["runs"]), data["runs"])
    table = bench("lock.map", "--held", "0,1us,5us", "--outside", "0,1us,10us", "-t", "2", "--only",
                  "concede,pthread_mutex", *FAST,
                  width=80)[0]
    need("9 cells: " in table and max(map(len, table.splitlines())) <= 80, table)


def children(pid):
    return {int(p.name) for p in pathlib.Path("/proc").glob("[0-9]*") if parent(p) == pid}


def parent(process):
    try:
        return int(process.joinpath("stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


@case(each=["ends", "interrupted", "killed"])
def neighbours_end_with_the_program(how):
    process = subprocess.Popen([PROGRAM, "bench", "park.post", "-s", "0.5" if how == "ends" else "5", "-r", "1",
                                "--only", "concede",
                                "--neighbours", "1@%d" % min(os.sched_getaffinity(0)), "--json", "-"],
                               text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    found, end = set(), time.time() + 20
    while not found and time.time() < end:
        found = children(process.pid)
    need(len(found) == 1, "no neighbour, or several: %s" % found)
    if how != "ends":
        process.send_signal(signal.SIGKILL if how == "killed" else signal.SIGINT)
    text, errors = process.communicate(timeout=60)
    need(process.returncode == {"ends": 0, "interrupted": 130, "killed": -9}[how] and errors == "", errors)
    while any(os.path.exists("/proc/%d" % n) for n in found):
        need(time.time() < end + 20, "it counts on")
        time.sleep(0.05)
    if how == "ends":
        need(json.loads(text)["machine"]["neighbours"] == "1@%d" % min(os.sched_getaffinity(0)), text)


@case
def self_test_compares_one_thing_with_itself():
    # A busy machine may spoil one try: then the exit code says so, and the next try counts.
    for _ in range(3):
        done = subprocess.run([PROGRAM, "bench", "park.post", "cas.fetch_mul", "-t", "1", "--self-test", "-s", "0.02",
                               "-r", "9"],
                              text=True, stdout=subprocess.PIPE, timeout=300)
        need(done.stdout.count("ratio to itself") == 2, done.stdout)
        need((done.returncode == 1) == ("NOT 1" in done.stdout), done.stdout)
        if done.returncode == 0:
            return
    need(False, done.stdout)


@case
def one_cpu_is_enough():
    cpu = min(os.sched_getaffinity(0))
    data = json.loads(bench("park.pingpong", "park.long", "channel.pingpong", "channel.stream", "lock.tight", "-t", "2",
                            "--json", "-",
                            "--only", "concede,mutex,pthread_mutex,bare futex", *FAST,
                            preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))[0])
    need(data["machine"]["cpus"] == 1 and len(data["runs"]) >= 5, data["machine"])


@case
def a_full_disk_is_an_error():
    if not os.path.exists("/dev/full"):
        skip("no /dev/full")
    text, errors = bench("park.post", "--json", "/dev/full", *FAST, code=1)
    need("cannot write /dev/full" in errors, errors)
    text, errors = bench("park.post", "--json", "/nonexistent/x.json", *FAST, code=1)
    need("cannot write /nonexistent/x.json" in errors and text == "", errors)


@case
def a_file_keeps_what_it_holds_until_there_is_something_to_write():
    with tempfile.TemporaryDirectory() as folder:
        path, data = sample(folder)
        before = path.read_text()
        bench("--json", path, "--pin", "99999", code=2)
        need(path.read_text() == before, "gone")
        bench("lock", "--from", path, "--json", path)
        kept = json.loads(path.read_text())["runs"]
        need([r["workload"] for r in kept] == [r["workload"] for r in data["runs"] if r["family"] == "lock"], kept)


@case
def interrupt_prints_what_was_measured_so_far():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "results.json")
        for patience in (2, 8, 32):  # on a busy machine the first workload may take that long
            process = subprocess.Popen([PROGRAM, "bench", "cas.yield", "lock", "-s", "0.02", "-r", "3", "--json", path],
                                       text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            time.sleep(patience)
            process.send_signal(signal.SIGINT)
            text, errors = process.communicate(timeout=120)
            if "cas.yield" in text:
                break
        need(process.returncode == 130 and "Interrupted" in text and "cas.yield" in text and errors == "",
             text + errors)
        data = json.loads(path.read_text())
        whole = all(len(r["metrics"][run["primary"]]["samples"]) == run["rounds"]
                    for run in data["runs"] for r in run["results"])
        need(data["interrupted"] and data["runs"] and whole, "torn rounds")


main(jobs=1)  # what measures wants the machine for itself
