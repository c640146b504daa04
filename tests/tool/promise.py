"""Holds scripts/promise to the limits that its help tells, by results that are made up here."""
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
from importlib.machinery import SourceFileLoader

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "tests"), str(SOURCE / "tests/tool")]
from checks import case, main, need, skip  # noqa: E402
from sample import map_results  # noqa: E402

ROUNDS = 8
PEER = {"rate": 10, "mean": 3000, "p50": 1000, "p90": 5000, "p99": 7000, "p999": 9000, "cpu": 400, "jain": 0.99}
MARGIN = 1.0001  # so much beyond a limit is beyond it
CELLS = {  # part and workload: parameters, ours, the peer, and how many times as much as that one's each may be
    "neighbours channel.late": (dict(threads=2, senders=1, interval_ns=20000), ["concede spsc", "concede mpmc"],
                                "mutex+condvar", dict(mean=1.2, p90=1.2, p99=1.2)),
    "neighbours park.late": (dict(threads=2, senders=1, interval_ns=20000), ["concede await"], "mutex+condvar",
                             dict(mean=1.2, p90=1.2, p99=1.2)),
    "neighbours park.timeout": (dict(threads=1, interval_ns=200000),
                                ["concede parker", "concede await", "concede lock", "concede channel"],
                                "mutex+condvar", dict(mean=1.1)),
    "neighbours channel.pingpong": (dict(threads=2, senders=1), ["concede spsc", "concede mpmc"], "mutex+condvar",
                                    dict(p50=1 / 0.9)),
    "neighbours lock.map": (dict(threads=2, held_ns=20000, outside_ns=100000), ["concede"], "pthread_mutex",
                            dict(p99=1.5)),
    "map lock.map": (dict(threads=2, held_ns=1000, outside_ns=1000), ["concede"], "tbb::mutex",
                     dict(rate=0.95, p99=1, p999=1, cpu=1.25, jain=0.9 / PEER["jain"])),
    "quota channel.map": (dict(threads=2, senders=1, interval_ns=3000, burst=1), ["concede mpmc"], "crossbeam bounded",
                          dict(rate=0.95, p99=1, p999=1, cpu=1.25, jain=0.9 / PEER["jain"])),
    "pool channel.map": (dict(threads=5, senders=1, interval_ns=300, burst=1), ["concede mpmc"], "crossbeam bounded",
                         dict(rate=0.999, cpu=1, p50=1, p99=1)),
    "tight lock.tight": (dict(threads=8), ["concede"], "parking_lot Mutex", dict(rate=1.1)),
}


def result(name, can_sleep=True, **metrics):
    """One implementation; a number stands for so much in each round."""
    metrics = {key: dict(samples=v if isinstance(v, list) else [v] * ROUNDS) for key, v in metrics.items()}
    return dict(name=name, ours=name.startswith("concede"), can_sleep=can_sleep, metrics=metrics)


def step(which, *more, name=None, times=None, cpus=2):
    """One cell at its limits, but ours called name, for which times says otherwise; more: further implementations."""
    part, workload = which.split()
    parameters, ours, peer, limits = CELLS[which]
    results = []
    for own in ours:
        these = dict(limits, **(times or {} if name in (None, own) else {}))
        results.append(result(own, **{key: these.get(key, 1) * v for key, v in PEER.items()}))
    run = dict(workload=workload, parameters=parameters, results=results + [result(peer, **PEER), *more])
    return dict(part=part, where="here", cpus=cpus,
                bench=dict(date="2026-01-31", machine=dict(cpu="a CPU"), runs=[run], peers=[]))


started = []  # the process ids of all runs of the script


def promise(*arguments, code=0):
    with subprocess.Popen([sys.executable, str(SOURCE / "scripts/promise"), *map(str, arguments)], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        started.append(process.pid)
        output, errors = process.communicate(timeout=120)
    need(code in (None, process.returncode), "%s: exit code %d, not %s\n%s%s" % (
        " ".join(map(str, arguments)), process.returncode, code, output, errors))
    return output + errors


def judged(*steps, code=0, parts=(), options=()):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "steps.json")
        path.write_text(json.dumps(dict(concede_promise=1, steps=steps)))
        return promise(*parts, *options, "--from", path, code=code)


def misses(text):
    """(which of ours, metric) of all that are listed."""
    return re.findall(r"^  here, .*, ([^,]*): (\w+) .*$", text, flags=re.M)


@case(each=list(CELLS))
def cell_at_its_limits_holds(which):
    text = judged(step(which))
    count = len(CELLS[which][1]) * len(CELLS[which][3])
    need("%s: %d figures of %d cells; all hold" % (which.split()[0], count, len(CELLS[which][1])) in text, text)


@case
def noise_is_told_by_the_other_side_against_itself():
    cell = step("neighbours lock.map")
    peer = cell["bench"]["runs"][0]["results"][1]
    peer["metrics"]["p99"]["samples"] = [PEER["p99"] * (1 + i % 2) for i in range(ROUNDS)]
    beyond = round(100 * sum(i % 2 for i in range(ROUNDS - 1)) / (ROUNDS - 1))
    text = judged(cell)
    need("single rounds 0 % of the ratios" in text and "its own next round, %d %%." % beyond in text, text)
    need("single rounds" not in judged(step("map lock.map", times=dict(rate=1)), parts=["pool"], code=2), "none of it")


@case(each=["%s %s %s" % (which, metric, name.replace(" ", "_"))
            for which, (_, ours, _, limits) in CELLS.items() for metric in limits for name in ours])
def limit_is_missed_by_what_is_beyond_it(what):
    *which, metric, name = what.split()
    which, name = " ".join(which), name.replace("_", " ")
    limit = CELLS[which][3][metric]
    times = limit / MARGIN if metric in ("rate", "jain") else limit * MARGIN
    text = judged(step(which, name=name, times={metric: times}), code=1)
    need(misses(text) == [(name, metric)] and "1 misses" in text, text)
    wanted = "at least %.3g" % (0.9 if metric == "jain" else limit) if metric in ("rate", "jain") else (
        "at most %.3g" % limit)
    need(wanted + " is promised, and missed in 8 of 8 rounds" in text and CELLS[which][2] in text
         and "(quartiles %.3f to " % (times * (PEER["jain"] if metric == "jain" else 1)) in text, text)
    shown = judged(step(which, name=name, times={metric: times}), code=1, options=["--markdown"])
    need(re.search(r"^\| .*, %s \|.*\| \*\*misses\*\* %s in 8 of 8 rounds \|$" % (name, metric), shown, flags=re.M),
         shown)


@case
def peer_that_cannot_sleep_does_not_count():
    for metric, value in (("rate", 100), ("p99", 1), ("cpu", 1)):
        for can_sleep, code in ((False, 0), (True, 1)):
            spinner = result("ck", can_sleep, **dict(PEER, **{metric: value}))
            text = judged(step("map lock.map", spinner), code=code)
            need(misses(text) == ([("concede", metric)] if can_sleep else []), text)


@case
def peer_that_shares_unevenly_counts_neither_for_cpu_nor_for_latency():
    for metric in ("cpu", "p99", "p999"):
        for jain, code in ((0.79, 0), (0.81, 1)):  # ours has 0.9
            text = judged(step("map lock.map", result("greedy", **dict(PEER, **{metric: 1, "jain": jain}))), code=code)
            need(misses(text) == ([("concede", metric)] if code else []), text)


@case
def peer_that_carries_less_does_not_count_for_cpu():
    for rate, code in ((0.94, 0), (0.96, 1)):  # of ours
        slow = result("slow", **dict(PEER, cpu=1, rate=PEER["rate"] * 0.95 * rate))
        text = judged(step("map lock.map", slow), code=code)
        need(misses(text) == ([("concede", "cpu")] if code else []), text)


@case
def jain_needs_no_more_than_the_best_one_less_a_twentieth():
    for jain, code in ((0.76, 0), (0.74, 1)):
        cell = step("map lock.map", times=dict(jain=jain / PEER["jain"]))
        cell["bench"]["runs"][0]["results"][1]["metrics"]["jain"]["samples"] = [0.8] * ROUNDS
        need(misses(judged(cell, code=code)) == ([("concede", "jain")] if code else []), (jain, code))


@case
def latency_is_judged_only_where_each_thread_has_a_cpu():
    for cpus, code in ((1, 0), (2, 1)):
        text = judged(step("map lock.map", times=dict(p99=9, p999=9), cpus=cpus), code=code)
        need(misses(text) == [("concede", "p99"), ("concede", "p999")][:2 * code], text)


@case
def ratio_is_taken_inside_a_round():
    cell = step("neighbours lock.map")
    ours, peer = (r["metrics"]["p99"] for r in cell["bench"]["runs"][0]["results"])
    peer["samples"] = [1, 10, 100, 1000, 10000]
    ours["samples"] = [s * 1.4 for s in peer["samples"]]
    judged(cell)
    ours["samples"].reverse()  # the same median, but as many rounds far above as below: 14000, 140, 1.4, ...
    judged(cell)
    ours["samples"] = [1.6, 16, 1.4, 1600, 16000]  # a median far below the other's, and beyond it in four rounds
    need("missed in 4 of 5 rounds" in judged(cell, code=1), "no miss")


@case
def limit_of_1_allows_for_noise_and_one_with_a_margin_does_not():
    noisy = [0.5, 0.5, 0.9, 2, 2, 2, 2, 2]  # a quarter of the rounds is better than the peer
    for which, metric, code in (("map lock.map", "p99", 0), ("pool channel.map", "p50", 0),
                                ("map lock.map", "cpu", 1), ("neighbours lock.map", "p99", 1)):
        cell = step(which)
        cell["bench"]["runs"][0]["results"][0]["metrics"][metric]["samples"] = [t * PEER[metric] for t in noisy]
        text = judged(cell, code=code)
        need(not code or "missed in 5 of 8 rounds" in text, text)


@case
def round_that_is_missing_is_left_out():
    for gap in ([7000] * 5, [7000, None, 7000, None, 7000, None, 7000, 7000]):
        cell = step("neighbours lock.map", times=dict(p99=2))
        cell["bench"]["runs"][0]["results"][1]["metrics"]["p99"]["samples"] = gap
        need("missed in 5 of 5 rounds" in judged(cell, code=1), gap)
    cell = step("neighbours lock.map")
    ours, peer = (r["metrics"]["p99"] for r in cell["bench"]["runs"][0]["results"])
    ours["samples"], peer["samples"] = [1.4, None, 140, 1400], [1, 10, 100, 1000]
    judged(cell)  # what follows the gap is compared with its own round


@case
def what_has_no_round_is_not_measured():
    for which in CELLS:
        for taken in (0, -1):
            for empty in ([], [None] * ROUNDS):
                cell = step(which)
                for metric in cell["bench"]["runs"][0]["results"][taken]["metrics"].values():
                    metric["samples"] = empty
                text = judged(cell, parts=[which.split()[0]], code=2)
                need("Not measured: " + which.split()[0] in text, text)
    cell = step("map lock.map")
    del cell["bench"]["runs"][0]["results"][1:]
    need("Not measured: map: lock.map, 2 threads" in judged(cell, code=2), "nobody to compare with")
    need("Not measured: pool" in judged(step("map lock.map"), parts=["map", "pool"], code=2), "no pool in it")
    need("pool" not in judged(step("map lock.map")), "nobody asked for it")
    judged(step("map lock.map", times=dict(rate=0.5)), parts=["map", "pool"], code=1)


@case
def files_are_judged_together_and_kept_as_one():
    with tempfile.TemporaryDirectory() as folder:
        a, b, both = (pathlib.Path(folder, name) for name in ("a", "b", "both"))
        a.write_text(json.dumps(dict(concede_promise=1, steps=[step("map lock.map", times=dict(rate=0.5))])))
        b.write_text(json.dumps(dict(concede_promise=1, steps=[step("pool channel.map")])))
        text = promise("--from", a, b, "--json", both, code=1)
        need("map: 5 figures of 1 cells; 1 misses" in text and "pool: 4 figures of 1 cells; all hold" in text, text)
        need(promise("--from", both, code=1) == text, "another one")
        need("map" not in promise("pool", "--from", both), "only the pool was asked for")


@case
def file_of_the_program_is_judged_as_a_map_or_as_beside_neighbours():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "bench.json")
        for which, neighbours, where in (
                ("map lock.map", None, ""), ("neighbours park.late", "2@1", "2 processes on CPU 1")):
            bench = step(which, times=dict(rate=0.5, p90=2))["bench"]
            path.write_text(json.dumps(dict(bench, concede_bench=1, machine=dict(cpus=2, neighbours=neighbours))))
            text = promise("--from", path, code=1)
            need(which.split()[0] in text and where in text, text)


@case
def best_peer_is_the_one_that_the_program_takes():
    """And what the program calls behind, by the limits that both have, is a miss."""
    program = os.environ.get("CONCEDE_PROGRAM") or skip("there is no program")
    r, data = random.Random(5), map_results()
    for run in data["runs"]:
        run.update(rounds=7, line_ns=[80] * 14, others=[0] * 7)
        for key, metric in (m for x in run["results"] for m in x["metrics"].items()):
            size = 1 - 0.3 * r.random() if key == "jain" else metric["median"] * r.lognormvariate(0, 0.3)
            metric["samples"] = [size * (1 - 0.1 * r.random()) for _ in range(7)]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "bench.json")
        path.write_text(json.dumps(data))
        done = subprocess.run([program, "bench", "--from", path, "--json", "-"], stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            skip("the program has no benchmarks")
    script, seen, behind = SourceFileLoader("promise", str(SOURCE / "scripts/promise")).load_module(), 0, 0
    for run in json.loads(done.stdout)["runs"]:
        against = run["results"][0]["against"]
        for f in script.judge(dict(part="map", where="", cpus=2), run):
            verdict = against[f.metric]
            times = verdict["times"]["median"] if f.metric == "rate" else 1 / verdict["times"]["median"]
            need(f.peer == verdict["best"], "%s is not %s: %s" % (f.peer, verdict["best"], f))
            need(f.metric == "jain" or abs(script.quartiles(f.of)[1] / times - 1) < 1e-9, f)
            is_behind = verdict["lead"] < 0 and f.metric in ("rate", "cpu", "jain")
            need(f.misses() or not is_behind, f)
            seen, behind = seen + 1, behind + is_behind
    need(seen > 80 and behind > 5, (seen, behind))


# Stands for the program: prints a cell of the workload that it is asked for, and notes what it was told.
STAND_IN = """#!%s
import json, sys
open(%r, "a").write(" ".join(sys.argv[1:]) + "\\n")
print(open(%r + sys.argv[2]).read())
"""


@case
def program_is_told_what_to_measure_and_what_it_says_is_kept():
    with tempfile.TemporaryDirectory() as folder:
        program, log, kept = (pathlib.Path(folder, name) for name in ("concede", "log", "kept.json"))
        program.write_text(STAND_IN % (sys.executable, str(log), folder + "/"))
        program.chmod(0o755)
        for which in CELLS:
            more = [result("pthread_mutex", **PEER)] if which == "map lock.map" else []
            pathlib.Path(folder, which.split()[1]).write_text(json.dumps(step(which, *more)["bench"]))
        text = promise("neighbours", "--program", program, "--json", kept, "-r", "9", "-s", "0.25")
        told = log.read_text().splitlines()
        need(all(" -n 1" in t and " -r 9 -s 0.25 --json -" in t for t in told) and len(told) in (5, 15), told)
        need(promise("--from", kept) == text and "all hold" in text, text)
        # Where no group with a quota can be made, that is said; it fails only who asked for it.
        log.write_text("")
        text = promise("map", "pool", "quota", "--quick", "--program", program, code=None)
        lines = log.read_text().splitlines()
        need(("Not measured: quota" in text) == (len(lines) == 3) and len(lines) in (3, 9), text)
        promise("--quick", "--program", program)
    left = [g for g in pathlib.Path("/sys/fs/cgroup").glob("**/concede-promise-*") if int(g.name[16:]) in started]
    need(not left, left)


@case(each=["--nonsense", "nonsense", "-r x", "-r 0", "-s 0", "--from", "--from /nonexistent", "--from /dev/null",
            "--from /dev/null /dev/null", "--program /nonexistent", "--program /bin/sh --json /nonexistent/x"])
def wrong_argument_gets_one_line_and_exit_code_2(words):
    text = promise(*words.split(), code=2)
    need(text.startswith("scripts/promise: ") and text.count("\n") == 1, text)
    need(("/nonexistent" in words) == ("/nonexistent" in text), text)


@case(each=[dict(machine="x", runs=[]), dict(machine={}, runs=[{}]), dict(concede_promise=1, steps=[[]]), []])
def what_is_no_result_gets_one_line_and_exit_code_2(content):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "results.json")
        path.write_text(json.dumps(content))
        text = promise("--from", path, code=2)
        need(text.startswith("scripts/promise: neither this nor") and text.count("\n") == 1, text)


main()
