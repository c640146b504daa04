#!/usr/bin/env python3
"""Results in the format of `concede bench --json`, made up from a seed: every figure is different, so that a chart
which shows the wrong one is found out. Usage: sample.py [SEED] > results.json"""
import json
import math
import pathlib
import random
import re
import sys

SHARES = [
    0,
    0.01,
    0.05,
    0.1,
    0.2,
    0.3,
    0.4,
    0.5,
    0.6,
    0.7,
    0.8,
    0.9,
    0.95,
    0.98,
    0.99,
    0.995,
    0.998,
    0.999,
    0.9995,
    0.9998,
    0.9999,
    0.99999,
    1,
]
UNITS = {"rate": ("M/s", "higher"), "jain": ("", "higher"), "retries": ("", "lower")}
NAMES = {
    "cas": ["concede", "concede jitter", "no wait", "one pause", "ck_backoff"],
    "lock": [
        "concede",
        "pthread_mutex",
        "pthread adaptive",
        "pthread_spinlock",
        "ck_spinlock_fas",
        "nsync_mu",
        "absl::Mutex",
        "tbb::spin_mutex",
        "parking_lot",
        "std::mutex",
    ],
    "park": ["concede parker", "concede event", "futex", "condvar", "eventfd", "semaphore"],
    "channel": ["concede", "concede spsc", "condvar queue", "pipe", "crossbeam", "moodycamel"],
}
WORKLOADS = [
    (
        "cas.fetch_mul",
        "v *= 3 on one shared word by compare-and-swap",
        "rate",
        ["rate", "retries", "jain", "cpu"],
        [{"threads": n} for n in (1, 2, 4, 8, 32)],
    ),
    (
        "lock.tight",
        "acquire, increment, release; nothing outside",
        "rate",
        ["rate", "jain", "cpu"],
        [{"threads": n, "outside_ns": 0} for n in (1, 2, 4, 8, 32)],
    ),
    (
        "lock.wait",
        "how long an acquire takes; 100 ns outside",
        "p99",
        ["p50", "p99", "p999", "worst", "jain", "cpu"],
        [{"threads": n, "outside_ns": 100} for n in (2, 32)],
    ),
    (
        "lock.fair",
        "the longest wait and everyone's share; nothing outside",
        "worst",
        ["rate", "worst", "jain", "cpu"],
        [{"threads": 32}],
    ),
    (
        "park.pingpong",
        "wake the other thread and sleep, one way",
        "p50",
        ["p50", "p99", "p999", "cpu"],
        [{"threads": 2}],
    ),
    ("park.post", "post with nobody waiting", "ns", ["ns"], [{"threads": 1}]),
    (
        "channel.pingpong",
        "a message to the other CPU and its answer, one way",
        "p50",
        ["p50", "p99", "p999", "cpu"],
        [{"threads": 2, "senders": 1, "capacity": 1024, "message_size": 8}],
    ),
    (
        "channel.stream",
        "one sender, one receiver, as fast as it goes",
        "rate",
        ["rate", "cpu"],
        [{"threads": 2, "senders": 1, "capacity": 1024, "message_size": 8}],
    ),
    (
        "channel.paced",
        "a message at intervals: lateness, CPU time of the receiver",
        "p50",
        ["p50", "p99", "cpu"],
        [{"threads": 2, "senders": 1, "interval_ns": n * 1000, "capacity": 1024, "message_size": 8}
         for n in (3, 10, 100)],
    ),
]


def results(seed=1):
    r = random.Random(seed)

    def spread(middle):
        samples = sorted(middle * r.lognormvariate(0, 0.04) for _ in range(7))
        return {
            "median": samples[3],
            "q1": (samples[1] + samples[2]) / 2,
            "q3": (samples[4] + samples[5]) / 2,
            "samples": samples,
        }

    def result(name, family, keys, threads, skill):
        size = {
            "rate": 90 * skill / (1 + 0.1 * threads),
            "jain": max(0.1, 1 - r.random() / (2 + threads)),
            "retries": r.random(),
            "cpu": 40 / skill * threads,
            "ns": 6 / skill,
        }
        base = (90 if skill > 1 else 9000) / skill
        quantiles, at = [], base
        for share in SHARES:
            at *= 1 + r.random() * (0.05 if share < 0.9 else 0.9)
            quantiles.append([share, at])
        of = dict((round(q, 6), ns) for q, ns in quantiles)
        size.update(p50=of[0.5], p99=of[0.99], p999=of[0.999], worst=at)
        metrics = {}
        for key in keys:
            unit, better = UNITS.get(key, ("ns", "lower"))
            metrics[key] = {"unit": unit, "better": better, **spread(size[key])}
        out = {
            "name": name,
            "uses": "its usual calls",
            "peer": name.split("_")[0],
            "ours": name.startswith("concede"),
            "can_sleep": True,
            "metrics": metrics,
        }
        if out["ours"] and family != "cas":  # how its waits ended, for each operation
            for key in ("spun", "yielded", "slept"):
                metrics[key] = {"unit": "", "better": "lower", **spread(r.random())}
        if "p50" in keys:
            out["latency"] = {"unit": "ns", "count": r.randrange(10**5, 10**7), "max": at, "quantiles": quantiles}
        return out

    runs = []
    for workload, title, primary, keys, settings in WORKLOADS:
        family = workload.split(".")[0]
        skills = {name: math.exp(r.gauss(0.6 if name.startswith("concede") else 0, 0.6)) for name in NAMES[family]}
        for parameters in settings:
            wanted = [k for k in keys if k != "retries" or parameters["threads"] > 1]
            found = [result(n, family, wanted, parameters["threads"], skills[n]) for n in NAMES[family]]
            for x in found[1:]:
                for key, m in x["metrics"].items():
                    base = found[0]["metrics"][key]["samples"]
                    ratios = sorted(a / b for a, b in zip(m["samples"], base))
                    m["ratio"] = {"median": ratios[3], "q1": ratios[1], "q3": ratios[5]}
            runs.append(
                {
                    "workload": workload,
                    "family": family,
                    "title": title,
                    "parameters": parameters,
                    "primary": primary,
                    "baseline": found[0]["name"],
                    "slice_ms": 100,
                    "rounds": 7,
                    "rounds_dropped": r.randrange(2),
                    "line_ns": [80 + r.random()],
                    "winner": None,
                    "results": found,
                }
            )
    return {
        "concede_bench": 1,
        "version": "0.0.0",
        "date": "2026-01-31T12:00:00Z",
        "command": "concede bench",
        "interrupted": False,
        "machine": {
            "cpu": "Sample CPU",
            "cpus": 2,
            "system": "Linux",
            "libc": "libc",
            "compiler": "cc",
            "hypervisor": True,
            "clock": "tsc",
            "clock_ghz": 2.4,
            "clock_overhead_ns": 10.5,
            "clock_step_ns": 10,
            "pause_ns": 31.7,
            "yield_ns": 650.3,
            "pin": "spread",
        },
        "peers": [{"name": "libc", "version": "1", "present": True}, {"name": "ck", "version": "", "present": False}],
        "histogram_error": 0.0039,
        "runs": runs,
    }


def map_results(seed=1):
    """The same, of two maps: every third cell ahead, every third behind, by how much is different in each."""
    data, runs = results(seed), []
    settings = [("lock.map", dict(threads=t, held_ns=h, outside_ns=o))
                for t in (2, 16) for h in (0, 50, 1000) for o in (100, 10000)]
    settings += [("channel.map", dict(threads=s + r, senders=s, interval_ns=i, burst=b, work_ns=w))
                 for s, r in ((1, 1), (1, 4)) for i in (333000, 0) for b in (1, 16) for w in (0, 1000)]
    for n, (workload, parameters) in enumerate(settings):
        lead = n % 3 - 1
        ours = "concede" if workload == "lock.map" else "concede mpmc"
        sizes = dict(rate=5, p50=100, p99=1000, p999=9000, cpu=70, jain=0.97)
        found = []
        for k, name in enumerate([ours, "other", "third"]):
            metrics = {}
            for key, size in sizes.items():
                unit, better = UNITS.get(key, ("ns", "lower"))
                middle = size * (1 + 0.1 * k) * (1 + 0.001 * n) if key != "jain" else size
                metrics[key] = dict(unit=unit, better=better, median=middle, q1=middle * 0.99, q3=middle * 1.01,
                                    samples=[middle])
            found.append(dict(name=name, uses="its usual calls", peer=name, ours=k == 0, baseline=k == 0,
                              can_sleep=True,
                              metrics=metrics, per_thread=[]))
        times = {-1: 0.4 + 0.001 * n, 0: 1.001 + 0.0001 * n, 1: 1.7 + 0.001 * n}[lead]
        found[0]["against"] = {
            key: dict(best="other", times=dict(median=t, q1=t * 0.99, q3=t * 1.01), lead=d)
            for key in sizes for t, d in [(times, lead) if key == "p99" else (1.0, 0)]}
        runs.append(dict(workload=workload, family=workload.split(".")[0], title=workload + " is a map",
                         parameters={k: v for k, v in parameters.items() if v}, primary="rate", baseline=ours,
                         slice_ms=100,
                         rounds=1, rounds_dropped=0, line_ns=[80, 80], others=[0], winner=None, results=found))
    data["runs"] = runs
    return data


# Machines, workloads and names as `concede simulate` has them, so that the commands in a page can be run.
SIMULATED = {
    "cas.fetch_mul": ("v *= 3 on one shared word by compare-and-swap", ["concede kept", "none"]),
    "lock.tight": ("acquire, increment, release; nothing outside",
                   ["concede", "test-and-set", "ticket", "MCS", "futex mutex"]),
    "channel.many": ("N senders, N receivers, as fast as it goes", ["concede mpmc", "array queue"]),
    "channel.pool": ("one sender, N receivers, as fast as it goes", ["concede mpmc", "array queue"]),
}


def simulated(seed=1):
    """What `concede simulate --json` writes; one run did not end."""
    r, machines = random.Random(seed), []
    for machine, cpus in (("desktop", 8), ("xeon-4x64", 512)):
        runs = []
        for workload, (title, names) in SIMULATED.items():
            for name in names:
                for n in [n for n in (1, 2, 8, 32, 128, 512) if n <= cpus]:
                    senders = {"channel.many": n, "channel.pool": 1}.get(workload, 0)
                    threads = {"channel.many": 2 * n, "channel.pool": n + 1}.get(workload, n)
                    runs.append(dict(workload=workload, title=title, cpus=n, threads=threads, senders=senders,
                                     name=name, ours=name.startswith("concede"), can_sleep=True, ended=True,
                                     whole=True, virtual_ms=20, counts={},
                                     metrics=dict(rate=400 * r.random() ** 4 + 1, jain=1)))
        runs[-1]["ended"] = False
        machines.append(dict(name=machine, title="a machine of %d CPUs" % cpus, cpus=cpus, runs=runs))
    command = "concede simulate cas lock.tight channel.many channel.pool -m desktop -m xeon-4x64 --events 4000 --json x"
    return dict(concede_simulate=1, version="0.0.0", command=command, seed=1, machines=machines)


def undocumented(command, data):
    """The keys in what a command wrote that concede(1) does not have in its part of the JSON section."""
    page = pathlib.Path(__file__).resolve().parents[2].joinpath("man/concede.1").read_text()
    part = page.split("\n.Ss JSON\n")[1].split("\n.Sh ")[0].split("\n.Cm %s :\n" % command)[1].split("\nOf\n")[0]

    def keys(value):
        if isinstance(value, dict):
            for key, inner in value.items():
                yield key
                if key != "machine" or command == "bench":  # elsewhere it is what info writes
                    yield from keys(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from keys(inner)

    return sorted(set(keys(data)) - set(re.findall(r"\w+", part)))


if __name__ == "__main__":
    json.dump(results(int(sys.argv[1]) if len(sys.argv) > 1 else 1), sys.stdout, indent=1)
