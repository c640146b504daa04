#!/usr/bin/env python3
"""Writes the tables under "How fast" in README.md, from the figures in doc/benchmarks.md.

    scripts/summary.py            puts them between the summary marks of README.md
    scripts/summary.py --print    only prints them

Each row of the first is one workload: concede, what comes with the C library, and the best of the other libraries that
are like concede in whether a thread that waits long gives its CPU away. The maps follow, if they were measured: a
square for each cell by its rate, and in words how many are ahead and behind in each measure, and the lowest rates.
"""
import pathlib
import re
import sys
import textwrap

SOURCE = pathlib.Path(__file__).resolve().parents[1]
README = SOURCE / "README.md"
# the section of doc/benchmarks.md, what it is, the column, the name of ours there, the C library's
ROWS = [
    ("lock.tight, 1 thread", "lock, 1 thread", "M/s", "concede", "pthread_mutex"),
    ("lock.tight, 2 threads", "lock, 2 threads that do nothing else", "M/s", "concede", "pthread_mutex"),
    ("lock.tight, 32 threads", "lock, 32 threads that do nothing else", "M/s", "concede", "pthread_mutex"),
    ("lock.apart, 32 threads", "lock, 32 threads, 100 ns of work outside", "M/s", "concede", "pthread_mutex"),
    ("lock.fair, 32 threads", "the longest wait of 32 threads", "worst", "concede", "pthread_mutex"),
    ("channel.pingpong", "a message to the other CPU", "p50 ns", "concede spsc", "mutex+condvar"),
    ("channel.stream", "messages, one to one", "M/s", "concede spsc", "mutex+condvar"),
    ("channel.many, 4:4", "messages, four to four", "M/s", "concede mpmc", "mutex+condvar"),
    ("channel.paced, every 100 us", "one message every 100 us, how late", "p50 ns", "concede spsc", "mutex+condvar"),
    ("cas.fetch_mul, 2 threads", "CAS on one word, 2 threads", "M/s", "concede kept", "none"),
]
LIBC = {"pthread_mutex", "pthread_mutex adaptive", "pthread_spinlock", "mutex+condvar", "pipe", "bare futex", "eventfd",
        "one bounced line", "none", "one pause", "test-and-test-and-set"}
UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def sections(text):
    """heading -> rows of its table, each a dict by column."""
    found = {}
    for heading, body in re.findall(r"^### (.*?)\n(.*?)(?=^##|\Z)", text, flags=re.M | re.S):
        lines = [[cell.strip() for cell in l.strip("|").split("|")] for l in body.splitlines() if l.startswith("|")]
        if len(lines) > 2:
            found[heading] = [dict(zip(["name"] + lines[0][1:], [c.strip("*") for c in row])) for row in lines[2:]]
    return found


def value(text):
    number, _, unit = text.partition(" ")
    return float(number) * UNITS.get(unit, 1)


def shown(text, column):
    if column == "M/s":
        return text + " M/s"
    return text if " " in text else "%s ns" % text if value(text) < 10000 else "%.1f us" % (value(text) / 1e3)


def table(text):
    out = ["| | concede | C library | best other |", "|---|---:|---:|---|"]
    all_of_them = sections(text)
    for heading, what, column, ours, libc in ROWS:
        rows = {row["name"]: row for row in all_of_them[heading] if row.get(column)}
        like_ours = [r for n, r in rows.items() if not n.startswith("concede") and n not in LIBC
                     and r["sleeps"] == rows[ours]["sleeps"]]
        best = sorted(like_ours, key=lambda r: value(r[column]), reverse=column == "M/s")[:1]
        out.append("| %s | %s | %s | %s |" % (
            what, shown(rows[ours][column], column), shown(rows[libc][column], column) if libc in rows else "",
            "%s, %s" % (shown(best[0][column], column), best[0]["name"]) if best else ""))
    machine = re.search(r"^(.*?), \S+ [^,]*?\. The\s+clock is", text, flags=re.M)
    out += ["", "Medians on this machine: %s." % machine[1]] if machine else []
    return "\n".join(out) + "\n"


# A map: its first column and what its other columns say; of the columns in doc/benchmarks.md the one that is its
# columns, and those that are the squares side by side in a cell; what these are; a cell in words.
MAPS = [
    ("lock.map", "lock, threads", "held", "held", ["outside"],
     "Within a cell: 0, 100 ns, 1 us, 10 us and 100 us outside the lock, in the mean.",
     "{name} threads, held {held}, {outside} outside"),
    ("channel.map", "channel", "a message every", "every", ["each", "work"],
     "Within a cell: one by one, with 1 us of work on each; then the same in bursts of 16.",
     "{name} every {every}, {each} each, work {work}"),
]
MEASURES = ["rate", "p50", "p99", "p999", "CPU", "Jain"]
AHEAD, EVEN, BEHIND = "\U0001f7e9", "\u2b1c", "\U0001f7e5"
SHOWN = 3  # of the lowest rates


def standing(row, measure):
    return {"!": BEHIND, "+": AHEAD}.get(row[measure][:1], EVEN)


def small_map(rows, corner, across, right, inside, says, words):
    rows = [{k: v.strip("*") for k, v in row.items()} for row in rows]  # what is behind is bold, too
    columns = sorted({r[right] for r in rows}, key=value)
    insides = sorted({tuple(r[c] for c in inside) for r in rows}, key=lambda values: [value(v) for v in values])
    squares = {(r["name"], r[right], tuple(r[c] for c in inside)): standing(r, "rate") for r in rows}
    out = ["| %s | %s %s |" % (corner, across, " | ".join(columns)), "|---" * (len(columns) + 1) + "|"]
    for name in dict.fromkeys(r["name"] for r in rows):
        cells = ["".join(squares.get((name, c, i), "") for i in insides) for c in columns]
        out.append("| %s | %s |" % (name, " | ".join(cells)))
    counts = ["%s %s" % (m, " / ".join(str(sum(bool(r[m]) and standing(r, m) == s for r in rows))
                                       for s in (AHEAD, EVEN, BEHIND))) for m in MEASURES]
    says += " Cells ahead / even / behind, by measure: %s." % ", ".join(counts)
    behind = sorted((value(r["rate"].strip("!")), words.format(**r)) for r in rows if standing(r, "rate") == BEHIND)
    if behind:
        says += " The lowest rates, as a part of the best: %s." % "; ".join(
            "%s: %.2f" % (where, times) for times, where in behind[:SHOWN])
    return out + [""] + wrapped(says) + [""]


def wrapped(text):
    return textwrap.wrap(text, 120, break_long_words=False, break_on_hyphens=False)


def maps(text):
    all_of_them = sections(text)
    found = [m for m in MAPS if m[0] in all_of_them]
    if not found:
        return ""
    out = [""] + wrapped("The rate for every section, interval and shape, a square each: %s ahead of the best other "
                         "that sleeps, %s even, %s behind by more than a twentieth, and more than the noise. All "
                         "measures of all cells: [doc/benchmarks.md](doc/benchmarks.md)."
                         % (AHEAD, EVEN, BEHIND)) + [""]
    for workload, *how in found:
        out += small_map(all_of_them[workload], *how)
    return "\n".join(out[:-1]) + "\n"


def with_table(readme, made):
    return re.sub(r"(<!-- summary:begin -->\n).*?(<!-- summary:end -->)", lambda m: m[1] + made + m[2], readme,
                  flags=re.S)


if __name__ == "__main__":
    figures = (SOURCE / "doc/benchmarks.md").read_text()
    made = table(figures) + maps(figures)
    if "--help" in sys.argv or "-h" in sys.argv:
        print(__doc__.strip())
    elif "--print" in sys.argv:
        print(made, end="")
    else:
        README.write_text(with_table(README.read_text(), made))
