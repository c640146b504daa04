"""Holds the concede program to what its help, its manual page and its pages promise."""
import html.parser
import json
import math
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "tests"), str(SOURCE / "tests/tool")]
from checks import case, main, need, run, skip, tool  # noqa: E402
from sample import map_results, results, simulated, undocumented  # noqa: E402

PROGRAM = os.environ["CONCEDE_PROGRAM"]


def concede(*arguments, code=0, stdin=None, width=100, stdout=subprocess.PIPE):
    """Runs the program; returns what it wrote to stdout and to stderr."""
    done = subprocess.run(
        [PROGRAM, *map(str, arguments)],
        input=stdin,
        text=True,
        stdout=stdout,
        stderr=subprocess.PIPE,
        env=dict(os.environ, COLUMNS=str(width)),
        timeout=300,
    )
    need(
        done.returncode == code,
        "concede %s: exit code %d, not %d\n%s%s"
        % (" ".join(map(str, arguments)), done.returncode, code, done.stdout or "", done.stderr),
    )
    return done.stdout or "", done.stderr


COMMANDS = re.findall(r"^  ([a-z]+) ", concede("--help")[0], flags=re.M)
HAS_BENCH = "bench" in COMMANDS
HAS_SIMULATOR = "simulate" in COMMANDS


def option_table(command):
    """The options of a command by its help: name -> (letter or "", value or "")."""
    lines = concede(command, "--help", width=500)[0].splitlines()
    found = (re.match(r"  (?:-(.), |    )--([a-z-]+)(?: (\[?[A-Z][^ ]*))?  ", l) for l in lines)
    return {m.group(2): (m.group(1) or "", m.group(3) or "") for m in found if m}


def cpu_list():
    return sorted(os.sched_getaffinity(0))


# ---- options and errors ----


@case
def there_are_the_commands_that_the_manual_describes():
    page = (SOURCE / "man/concede.1").read_text()
    need({"info", "tune", "report"} <= set(COMMANDS), COMMANDS)
    for command in COMMANDS:
        need("\n.Ss concede %s\n" % command in page, command + " is not in the manual page")


@case(each=COMMANDS)
def every_option_is_in_the_manual(command):
    page = (SOURCE / "man/concede.1").read_text()
    part = page.split("\n.Ss concede %s\n" % command)[1]
    part = re.split(r"^\.S[sh] ", part, flags=re.M)[0]
    for name, (letter, value) in option_table(command).items():
        if name == "help":
            continue
        value = r" Op Ar \S+" if value.startswith("[") else r" Ar \S+" if value else ""
        pattern = r"^\.It %sFl -%s%s$" % ("Fl %s%s , " % (re.escape(letter), value) if letter else "", name, value)
        need(re.search(pattern, part, flags=re.M), "--%s is not described, or not so" % name)


@case(each=COMMANDS)
def help_fits_into_40_columns(command):
    for arguments in ([command, "--help"], ["help", command], [command, "-h"]):
        text, errors = concede(*arguments, width=40)
        need(text.startswith("usage: concede " + command) and not errors, text + errors)
        need("--help" in text, text)
        for line in text.splitlines():
            need(len(line) <= 40, "%d columns: %s" % (len(line), line))


@case
def version_is_that_of_the_header():
    version = re.search(r'VERSION_STRING "(.*)"', (SOURCE / "include/concede/version.h").read_text()).group(1)
    need(concede("--version")[0] == "concede %s\n" % version, concede("--version")[0])


@case(
    each=[
        "nonsense|unknown command 'nonsense' (see: concede --help)",
        "inof|did you mean info?",
        "--versoin|did you mean --version?",
        "info --jsno|did you mean --json?",
        "info -x|unknown option '-x' (see: concede info --help)",
        "info --json=a.json b|unexpected argument 'b'",
        "bench cas --pin 4095|--pin: '4095' is neither",
        "bench cas --pin near|--pin: 'near' is neither",
        "bench cas --neighbours 1@1000|may not use CPU 1000",
        "info more|unexpected argument 'more'",
        "tune --wait|'--wait' needs a value: WAIT",
        "tune --wait soon|'soon' is no wait",
        "tune --wait 3us..1us|'3us..1us' is no wait",
        "tune --wait 1us,2us|a mix of waits needs shares",
        "tune --wait 90%:1us|add up to 90 %",
        "tune --wait 1us --wait 2us|not more",
        "tune --prefer speed|--prefer is latency, balance or cpu",
        "tune --prefer lat|did you mean latency?",
        "report --seconds 0|--seconds takes a number from 1",
        "report --from x --full|does not go with",
        "report page.html|the file goes after -o",
        "report -o - --json|cannot both go to standard output",
        "simulate --json lock.tight|'lock.tight' is a workload, not a file",
    ]
)
def wrong_argument_gets_one_line_with_a_hint_and_exit_code_2(what):
    arguments, message = what.split("|")
    if what.startswith("bench") and not HAS_BENCH:
        skip("built without the benchmarks")
    text, errors = concede(*arguments.split(), code=2)
    need(text == "" and errors.count("\n") == 1 and errors.startswith("concede"), text + errors)
    need(message in errors and "--help)" in errors, errors)


@case
def no_argument_at_all_gets_the_help_and_exit_code_2():
    text, errors = concede(code=2)
    need(text == "" and errors.startswith("usage: "), text + errors)


@case(
    each=[
        "info",
        "info --json",
        "info --help",
        "tune",
        "tune --json",
        "--version",
        "report --from SAMPLE -o -",
        "report --from SAMPLE -o /dev/full",
    ]
    + (["bench park.post -s 0.001 -r 1"] if HAS_BENCH else [])
)
def full_disk_is_said_plainly(what):
    if not os.path.exists("/dev/full"):
        skip("no /dev/full")
    with tempfile.TemporaryDirectory() as folder, open("/dev/full", "w") as full:
        sample = pathlib.Path(folder, "sample.json")
        sample.write_text(json.dumps(results()))
        arguments = [str(sample) if a == "SAMPLE" else a for a in what.split()]
        errors = concede(*arguments, code=1, stdout=subprocess.DEVNULL if "/dev/full" in arguments else full)[1]
        need(errors.count("\n") == 1 and "No space left on device" in errors, errors)


@case
def half_a_page_is_not_left_behind():
    with tempfile.TemporaryDirectory() as folder:
        sample, page = pathlib.Path(folder, "sample.json"), pathlib.Path(folder, "page.html")
        sample.write_text(json.dumps(results()))
        said = run(
            "sh",
            "-c",
            'trap "" XFSZ; ulimit -f 16; exec "$0" "$@"',
            PROGRAM,
            "report",
            "--from",
            sample,
            "-o",
            page,
            fails=True,
        )
        need("cannot write %s: File too large" % page in said and not page.exists(), said)


@case
def output_that_cannot_be_written_is_said_before_measuring():
    with tempfile.TemporaryDirectory() as folder:  # measuring for so long would run into the limit of concede()
        errors = concede("report", "-s", "3600", "-o", folder + "/no/such/folder/page.html", code=1)[1]
        need(errors.count("\n") == 1, errors)


@case
def every_command_in_readme_and_manual_runs_and_fits_80_columns():
    text = (SOURCE / "README.md").read_text()
    commands = re.findall(r"`(?:\./run (?:--peers )?|concede )((?:info|bench|tune|report)\b[^`]*)`", text)
    page = (SOURCE / "man/concede.1").read_text()
    commands += re.findall(r"^concede (.*)$", page, flags=re.M)
    need(len(commands) >= 6, commands)
    with tempfile.TemporaryDirectory() as folder:
        sample = pathlib.Path(folder, "results.json")
        sample.write_text(json.dumps(results()))
        pathlib.Path(folder, "build").mkdir()  # where scripts/publish keeps its results
        for command in dict.fromkeys(commands):  # in their order: one reads what the one before it wrote
            name, *arguments = command.split()
            arguments = [folder + "/" + a if re.search(r"\.(json|html)$", a) else a for a in arguments]
            if name == "bench" and not HAS_BENCH:
                continue
            if name == "bench":
                arguments += ["--quick", "--seconds", "0.001", "--repeats", "1", "--only", "concede"]
            if name == "simulate":
                arguments += ["--cpus", "2", "--only", "concede"]
            if name == "report" and "--from" not in arguments:
                arguments += ["--from", str(sample), "-o", folder + "/page.html"]
            if name == "try":  # the program that it names may not be here
                arguments[arguments.index("--") + 1 :] = ["true"]
            text = concede(name, *arguments, width=80)[0]
            need(max(map(len, text.splitlines()), default=0) <= 80, command + "\n" + text)


@case(each=["bench", "simulate"])
def list_fits_80_columns(name):
    if name == "bench" and not HAS_BENCH:
        return
    text = concede(name, "--list", width=80)[0]
    need("concede" in text and max(map(len, text.splitlines())) <= 80, text)


# ---- info ----

COSTS = {"pause", "yield", "clock", "fence", "wake_none", "wake_call", "wake", "sleep_cpu", "round_trip"}


@case
def info_measures_every_cost_with_its_spread():
    info = json.loads(concede("info", "--json")[0])
    need(COSTS <= info["costs"].keys(), info["costs"].keys())
    need(not undocumented("info", info), undocumented("info", info))
    for name, cost in info["costs"].items():
        need(0 < cost["p10"] <= cost["median"] <= cost["p90"] and cost["samples"] >= 1, "%s: %s" % (name, cost))
    need(info["cpus"]["affinity"] == len(cpu_list()), info["cpus"])
    need(1 <= info["cpus"]["usable"] <= info["cpus"]["affinity"] <= info["cpus"]["online"], info["cpus"])
    need(("line" in info["costs"]) == (info["cpus"]["usable"] > 1), "a cache line needs two CPUs")
    need(info["membarrier"] == ("membarrier" in info["costs"]), info["membarrier"])
    need(info["library"]["cpus"] == info["cpus"]["usable"], info["library"])


@case
def info_and_tune_say_that_other_programs_are_busy():
    hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in cpu_list()]
    try:
        info = json.loads(concede("info", "--json")[0])
        need(info["busy"] and 0.2 < info["other_programs_cpus"] <= len(cpu_list()), info["other_programs_cpus"])
        for command in ("info", "tune"):
            need("Other programs were busy" in concede(command)[0], command + " does not say it")
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


@case
def info_on_one_cpu_says_why_and_does_not_hang():
    one = cpu_list()[-1]
    info = json.loads(run(tool("taskset"), "-c", one, PROGRAM, "info", "--json"))
    need(info["cpus"]["usable"] == 1 and info["cpus"]["affinity_list"] == str(one), info["cpus"])
    need(COSTS <= info["costs"].keys() and "line" not in info["costs"] and info["lines"] == [], info["costs"].keys())
    text = run(tool("taskset"), "-c", one, PROGRAM, "info")
    need("One usable CPU" in text, text)
    if len(cpu_list()) > 1:
        need("affinity allows CPU %d" % one in text and info["cpus"]["limited_by"] == "affinity", text)


def text_in_columns(what, width):
    with tempfile.TemporaryDirectory() as folder:
        sample = pathlib.Path(folder, "sample.json")
        sample.write_text(json.dumps(results()))
        return concede(*[str(sample) if a == "SAMPLE" else a for a in what.split()], width=width)[0]


@case(each=["info", "tune", "tune --wait exp:20us", "report --from SAMPLE -o /dev/null"])
def tables_are_tables_in_80_columns(what):
    text = text_in_columns(what, 80)
    for line in text.splitlines():
        need(len(line) <= 80, "%d columns: %s" % (len(line), line))
    if what == "info":
        need(re.search(r"^pause +\S+ ns +\S+ ns +\S+ ns  one spin-wait hint$", text, flags=re.M), text)
    elif what.startswith("report"):
        need(re.search(r"^channel\.paced, 3\.00 us +\S+ [num]s +\S+ [num]s +\S+  \w+  +\w", text, flags=re.M), text)
        need(re.search(r"^lock\.tight, 32 threads +\S+ M/s ", text, flags=re.M), text)
    elif len(cpu_list()) > 1:
        need(re.search(r"^64 +\S+ [um]s" if "wait" in what else r"^1\.00 us +\d+ ", text, flags=re.M), text)


@case
def json_goes_to_the_file_or_in_place_of_the_text():
    with tempfile.TemporaryDirectory() as folder:
        sample = pathlib.Path(folder, "sample.json")
        sample.write_text(json.dumps(results()))
        commands = [["info"], ["tune"], ["report", "--from", str(sample), "-o", folder + "/page.html"],
                    ["bench", "cas.step", "-s", "0.001", "-r", "1"],
                    ["simulate", "cas.fetch_mul", "--cpus", "2", "--events", "1000"]]
        for command in (c for c in commands if c[0] in COMMANDS):
            key = "concede_" + command[0]
            need(json.loads(concede(*command, "--json")[0])[key] == 1, command)
            need(json.loads(concede(*command, "--json", "-")[0])[key] == 1, command)
            for form in (["--json", folder + "/a.json"], ["--json=" + folder + "/b.json"]):
                text = concede(*command, *form)[0]
                need(text.count("\n") > 3 and '"machine"' not in text, text)
            need(all(json.loads(pathlib.Path(folder, f).read_text())[key] == 1 for f in ("a.json", "b.json")), command)


@case(each=["info", "tune", "tune --wait exp:20us", "report --from SAMPLE -o /dev/null"])
def output_fits_into_40_columns(what):
    text = text_in_columns(what, 40)
    text = text.split("\n/* concede ")[0]  # the snippet is code, for 80 columns
    need(text.count("\n") > 10, text)
    for line in text.splitlines():
        need(len(line) <= 40, "%d columns: %s" % (len(line), line))


# ---- the terminal ----


def on_terminal(arguments, interrupt_at=None, columns=40):
    """Runs the program with both outputs on a terminal of its own; interrupts once it has shown this pattern."""
    master, slave = pty.openpty()
    import fcntl
    import struct
    import termios

    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k != "COLUMNS"}
    child = subprocess.Popen(
        [PROGRAM, *arguments],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=dict(environment, TERM="xterm"),
        start_new_session=True,
    )
    os.close(slave)
    shown, end = b"", time.monotonic() + 300
    while time.monotonic() < end:
        try:
            if select.select([master], [], [], 1)[0]:
                part = os.read(master, 65536)
                if not part:
                    break
                shown += part
        except OSError:  # the other end is closed
            break
        if interrupt_at and re.search(interrupt_at, shown):
            child.send_signal(signal.SIGINT)
            interrupt_at = None
    child.wait(timeout=60)
    os.close(master)
    return child.returncode, shown.decode(errors="replace").replace("\r\n", "\n")


def left_on_screen(shown):
    """What a terminal still shows after carriage returns, erased lines and styles."""
    lines = []
    for line in shown.split("\n"):
        line = re.sub(r"^.*\r\x1b\[K", "", line)
        lines.append(re.sub(r"\x1b\[\d*m", "", line))
    return "\n".join(lines)


@case
def progress_is_for_a_terminal_and_is_wiped():
    code, shown = on_terminal(["info"])
    need(code == 0, shown)
    need("\r\x1b[Kwake-ups" in shown, "no progress was shown: %r" % shown)
    need("wake-ups" not in left_on_screen(shown), left_on_screen(shown))
    need(max(map(len, left_on_screen(shown).split("\n"))) <= 40, left_on_screen(shown))
    text, errors = concede("info")
    need(errors == "" and "\x1b" not in text and "\r" not in text, repr(text + errors))


@case
def interrupt_prints_what_was_measured_and_leaves_the_terminal_clean():
    # At the second progress line the first measurements are there, however slowly the program gets on.
    code, shown = on_terminal(["info"], interrupt_at=rb"\x1b\[Kwake-ups")
    screen = left_on_screen(shown)
    need(code == 130, "exit code %d\n%s" % (code, shown))
    need("median" in screen and "pause" in screen, screen)
    need(not re.search(r"^(calls|wake-ups)", screen, flags=re.M), screen)


# ---- tune ----


@case
def tune_sleeps_at_once_for_long_waits_and_spins_through_short_ones():
    if len(cpu_list()) < 2:
        skip("spinning needs two CPUs")
    choice = json.loads(concede("tune", "--wait", "1s", "--json")[0])
    need(choice["predicted"] == 0, choice["predicted"])
    choice = json.loads(concede("tune", "--wait", "200ns", "--json")[0])
    chosen = choice["choices"][choice["predicted"]]
    need(chosen["spin_ns"] >= 200 and chosen["caught"] == 1, chosen)
    need(choice["break_even_ns"] > 200, choice["break_even_ns"])


@case
def tune_gives_latency_and_cpu_their_due():
    if len(cpu_list()) < 2:
        skip("spinning needs two CPUs")
    spins = [
        json.loads(concede("tune", "--wait", "exp:60us", "-p", what, "--json")[0])["predicted"]
        for what in ("latency", "cpu")
    ]
    need(spins[0] > spins[1], "%d for latency, %d for CPU time" % tuple(spins))


@case
def tune_predicts_by_its_model():
    tuned = json.loads(concede("tune", "--wait", "75%:1us,25%:1ms", "--json")[0])
    need(not undocumented("tune", tuned), undocumented("tune", tuned))
    costs = {k: v["median"] for k, v in tuned["machine"]["costs"].items()}
    if "choices" not in tuned:
        skip("one CPU: no choices")
    for choice in tuned["choices"]:
        n = choice["snooze_iters"]
        spin = (2 ** min(n, 7) - 1) * costs["pause"] + max(n - 7, 0) * costs["yield"]
        need(math.isclose(choice["spin_ns"], spin, rel_tol=1e-9, abs_tol=1e-9), "%s, not %g" % (choice, spin))
        asleep = spin + costs["sleep_cpu"] + costs["wake_call"]
        waits = ((0.75, 1e3), (0.25, 1e6))  # on a busy machine a yield may take so long that the second is caught, too
        cpu = sum(share * (wait if spin >= wait else asleep) for share, wait in waits)
        need(math.isclose(choice["cpu_ns"], cpu, rel_tol=1e-6), "%s, not %g" % (choice, cpu))
        need(choice["caught"] == sum(share for share, wait in waits if spin >= wait), choice)


@case
def tune_recommends_what_did_best():
    if len(cpu_list()) < 2:
        skip("spinning needs two CPUs")
    for wait, longest in (("2us", 4000), ("1s", 20)):
        tuned = json.loads(concede("tune", "--wait", wait, "--json")[0])
        names = [t["snooze_iters"] for t in tuned["tried"]]
        first = str(tuned["predicted"]) if tuned["predicted"] else "CC_SNOOZE_NONE"
        need(names == [first, "CC_SNOOZE_ADAPTIVE", "CC_SNOOZE_NONE"][: 3 if tuned["predicted"] else 2], names)
        cost = {t["snooze_iters"]: t["late_ns"] + tuned["cpu_weight"] * t["cpu_ns"] for t in tuned["tried"]}
        best = min(cost, key=cost.get)
        expected = {"CC_SNOOZE_ADAPTIVE": None, "CC_SNOOZE_NONE": 0}.get(best, tuned["predicted"])
        need(tuned.get("snooze_iters") == expected, tuned)
        for tried in tuned["tried"]:
            need(10 <= tried["waits"] <= longest and tried["cpu_ns"] > 0 and 0 < tried["late_ns"], tried)


@case
def tune_reads_a_file_like_an_option():
    text = "# waits\n 1us\n\n1000\n1000 ns # the same\n0.003 ms\n"
    waits = json.loads(concede("tune", "--file", "-", "--json", stdin=text)[0])["waits"]
    need(waits["count"] == 4 and waits["median_ns"] == 1000 and waits["max_ns"] == 3000, waits)
    errors = concede("tune", "--file", "-", stdin="1us\nsoon\n", code=1)[1]
    need("line 2: 'soon' is no time" in errors, errors)
    need("holds no wait times" in concede("tune", "--file", "-", stdin="# none\n", code=1)[1], "an empty file")
    need("No such file" in concede("tune", "--file", "/no/such/file", code=1)[1], "a missing file")


@case(each=["200ns", "1s", "none"])
def snippet_of_tune_compiles(wait):
    text = concede("tune", *([] if wait == "none" else ["--wait", wait]))[0]
    snippet, machine = text[text.index("/* concede tune") :].split("\n\nThe library", 1)
    need("cpus" not in snippet and "costs" not in snippet, "what belongs to this machine is in the source: " + snippet)
    variable = re.search(r"^export CONCEDE_COSTS=((?:[a-z_]+=\d+,?)+)$", machine, flags=re.M)
    need(variable and "cpus" not in variable.group(1), machine)
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "snippet.c")
        source.write_text(
            "#include <concede/concede.h>\nint main(void)\n{\n%s\n    return options.capacity != 1024%s;\n}\n"
            % (snippet, " || steps.spin_limit > 20" if "steps" in snippet else "")
        )
        run(
            os.environ.get("CC", "cc"),
            "-std=c11",
            "-Wall",
            "-Wextra",
            "-Wpedantic",
            "-Wconversion",
            "-Werror",
            "-fsyntax-only",
            "-I",
            SOURCE / "include",
            source,
        )


@case
def tune_on_one_cpu_leaves_it_to_the_default():
    text = run(tool("taskset"), "-c", cpu_list()[0], PROGRAM, "tune", "--wait", "1us")
    need("one usable CPU" in text and "CC_SNOOZE_ADAPTIVE" in text, text)


# ---- report ----


class Page(html.parser.HTMLParser):
    """A page as a tree of dicts: tag, attributes, children, text."""

    VOID = {"meta", "link", "br", "img", "hr", "input"}

    def __init__(self, text):
        super().__init__()
        self.root = {"tag": "", "attributes": {}, "children": [], "text": ""}
        self.open = [self.root]
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        node = {"tag": tag, "attributes": dict(attributes), "children": [], "text": ""}
        self.open[-1]["children"].append(node)
        if tag not in self.VOID:
            self.open.append(node)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in self.VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        while len(self.open) > 1 and self.open.pop()["tag"] != tag:
            pass

    def handle_data(self, text):
        self.open[-1]["text"] += text


def walk(node):
    yield node
    for child in node["children"]:
        yield from walk(child)


def find(node, tag=None, **attributes):
    return [
        n
        for n in walk(node)
        if (tag is None or n["tag"] == tag)
        and all(n["attributes"].get(k.replace("_", "-")) == v for k, v in attributes.items())
    ]


def text_of(node):
    return node["text"] + "".join(map(text_of, node["children"]))


def words_of(node):
    """The text of the children of a node, with a space between."""
    return " ".join(map(text_of, node["children"]))


def draw(folder, *data):
    """The page of some results, and what the program says about them."""
    page, sources = pathlib.Path(folder, "page.html"), []
    for n, part in enumerate(data):
        source = pathlib.Path(folder, "results%d.json" % n)
        source.write_text(json.dumps(part))
        sources += ["--from", source]
    return page, concede("report", *sources, "-o", page)[0]


@case
def page_needs_nothing_from_outside():
    with tempfile.TemporaryDirectory() as folder:
        text = draw(folder, results())[0].read_text()
    outside = set(re.findall(r"(?:https?:)?//[a-z][\w.-]+\.[a-z]{2,}[^'\"\s]*", text)) - {"http://www.w3.org/2000/svg"}
    need(not outside, outside)
    for node in walk(Page(text).root):
        for key in ("src", "href"):
            value = node["attributes"].get(key)
            need(value is None or value.startswith(("#", "data:")), "%s=%s" % (key, value))


@case
def page_holds_the_results_as_they_are():
    nasty = results(5)
    nasty["machine"]["cpu"] = "</script><b>\"\\ \u00b5 \u2028 \U0001f40c &amp;"
    with tempfile.TemporaryDirectory() as folder:
        page, _ = draw(folder, nasty)
        data = json.loads(text_of(find(Page(page.read_text()).root, "script", id="data")[0]))
        need(data["bench"] == nasty, "what is in the page is not what was given")
        saved = pathlib.Path(folder, "saved.json")  # what the page's button saves draws the same page again
        saved.write_text(json.dumps(data))
        concede("report", "--from", saved, "-o", folder + "/again.html")
        need(pathlib.Path(folder, "again.html").read_text() == page.read_text(), "a saved page draws another one")


@case(
    each=[
        "{|line 1",
        "[1, 2]|holds no results",
        '{"a": 1}|holds no results',
        '{"concede_bench": 1,\n"runs": [}|line 2',
        "|no value",
    ]
)
def results_that_are_none_are_said_plainly(what):
    text, message = what.split("|")
    errors = concede("report", "--from", "-", "-o", "/dev/null", stdin=text, code=1)[1]
    need(errors.count("\n") == 1 and message in errors, errors)


@case
def results_of_each_kind_are_drawn_once():
    bench, simulation = results(5), simulated(5)
    with tempfile.TemporaryDirectory() as folder:
        page, _ = draw(folder, bench, simulation)
        data = json.loads(text_of(find(Page(page.read_text()).root, "script", id="data")[0]))
        need(data["bench"] == bench and data["simulation"] == simulation, data.keys())
        page, _ = draw(folder, data, simulated(6))  # a later simulation takes the place of the saved one
        data = json.loads(text_of(find(Page(page.read_text()).root, "script", id="data")[0]))
        need(data["bench"] == bench and data["simulation"] == simulated(6), data.keys())
        for n, part in enumerate((bench, simulation, data)):
            pathlib.Path(folder, "part%d.json" % n).write_text(json.dumps(part))
        for a, b in ((0, 0), (1, 1), (0, 2), (2, 0)):
            sources = [x for n in (a, b) for x in ("--from", "%s/part%d.json" % (folder, n))]
            errors = concede("report", *sources, "-o", "/dev/null", code=1)[1]
            need("another file holds already" in errors, errors)


@case
def summary_says_ahead_behind_and_even():
    data = results()
    data["runs"] = data["runs"][:1]
    run_of = data["runs"][0]
    run_of["results"] = run_of["results"][0:1] + run_of["results"][2:3]
    for ours, other, better, word in (
        (9, 3, "higher", "ahead"),
        (9, 3, "lower", "behind"),
        (3, 9, "lower", "ahead"),
        (3, 3.1, "lower", "even"),
        (1, 1.3, "higher", "noisy"),
    ):
        for result, middle in zip(run_of["results"], (ours, other)):
            result["metrics"]["rate"] = {
                "unit": "M/s",
                "better": better,
                "median": middle,
                "q1": middle - 0.2,
                "q3": middle + 0.2,
                "samples": [middle],
            }
        with tempfile.TemporaryDirectory() as folder:
            text = draw(folder, data)[1]
        need(re.search(r"cas\.fetch_mul .*\b%s  " % word, text, flags=re.M), "no '%s' in\n%s" % (word, text))


@case
def summary_compares_sleepers_with_sleepers():
    data = results()
    data["runs"] = [next(r for r in data["runs"] if r["workload"] == "lock.tight")]
    for rank, result in enumerate(data["runs"][0]["results"]):
        middle = 10 - rank
        result["metrics"] = {
            "rate": {
                "unit": "M/s",
                "better": "higher",
                "median": middle,
                "q1": middle,
                "q3": middle,
                "samples": [middle],
            }
        }
        result["can_sleep"] = rank in (0, 4, 5)
    names = [r["name"] for r in data["runs"][0]["results"]]
    with tempfile.TemporaryDirectory() as folder:
        text = draw(folder, data)[1]
    need(names[4] in text and names[1] not in text and "1.67" in text, text)


def browser(page, folder, *flags):
    program = tool("chromium")
    done = subprocess.run(
        [
            program,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
            "--user-data-dir=" + folder + "/profile",
            "--enable-logging=stderr",
            "--virtual-time-budget=3000",
            *flags,
            "--dump-dom",
            "file://%s" % page,
        ],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        timeout=120,
    )
    console = [l for l in done.stderr.splitlines() if "CONSOLE" in l]
    need(not console, "\n".join(console))
    return Page(done.stdout).root


ENDS = {"spun": "spinning", "yielded": "yielding", "slept": "asleep"}  # of a wait


def close(a, b):
    return math.isclose(float(a), float(b), rel_tol=1e-9, abs_tol=1e-12)


@case(each=["1200x900", "360x700"])
def charts_in_the_browser_hold_the_data(window):
    data = results(7)
    with tempfile.TemporaryDirectory() as folder:
        page, _ = draw(folder, data)
        root = browser(page, folder, "--window-size=" + window.replace("x", ","))
    need(find(root, "html")[0]["attributes"].get("data-drawn"), "the script did not come to its end")
    charts = {}
    for figure in find(root, "figure"):
        svgs = find(figure, "svg", role="img")
        need(len(svgs) == 1, "a figure without a chart")
        need(len(find(figure, "table")) >= 1, "a figure without a table")
        charts.setdefault(svgs[0]["attributes"]["aria-label"], []).append(figure)
    for run_of in data["runs"]:
        keys = {k for r in run_of["results"] for k in r["metrics"]} - {"p50", "p99", "p999", "worst"} - set(ENDS) | {
            run_of["primary"]
        }
        titles = {
            "rate": "throughput",
            "ns": "time of one",
            "jain": "fairness among threads",
            "retries": "retries for each success",
            "cpu": "CPU time for each operation",
            "p50": "median",
            "p99": "99th percentile",
            "worst": "worst",
        }
        for key in keys:
            figures = charts.get("%s: %s" % (run_of["title"], titles[key]), [])
            need(figures, "no chart of %s, %s" % (run_of["workload"], key))
            marks = [m for f in figures for m in walk(f) if "data-value" in m["attributes"]]
            for result in run_of["results"]:
                if key not in result["metrics"]:
                    continue
                value = result["metrics"][key]["median"]
                need(
                    any(
                        m["attributes"]["data-name"] == result["name"] and close(m["attributes"]["data-value"], value)
                        for m in marks
                    ),
                    "%s, %s: %s = %s is not in the chart" % (run_of["workload"], key, result["name"], value),
                )
            command = " ".join(words_of(c) for f in figures for c in find(f, "code"))
            need("concede bench %s" % run_of["workload"] in command, "no command: %s" % command)
        if any("latency" in r for r in run_of["results"]):
            marks = [
                m["attributes"]
                for f in charts.get(run_of["title"] + ": latency", [])
                for m in walk(f)
                if "data-value" in m["attributes"]
            ]
            for result in run_of["results"]:
                for share, ns in result["latency"]["quantiles"]:
                    if 0.5 <= share <= 0.999:
                        need(
                            any(
                                m["data-name"] == result["name"]
                                and close(m["data-x"], share)
                                and close(m["data-value"], ns)
                                for m in marks
                            ),
                            "%s: the %g quantile of %s is not in the chart"
                            % (run_of["workload"], share, result["name"]),
                        )


@case
def report_shows_in_which_phase_the_waits_ended():
    data = results(9)
    with tempfile.TemporaryDirectory() as folder:
        page, _ = draw(folder, data)
        root = browser(page, folder, "--window-size=1200,900")
    chart = find(find(root, "section", id="progression")[0], "svg", role="img")[0]
    marks = {m["attributes"]["data-name"]: m["attributes"]["data-value"] for m in walk(chart)
             if "data-value" in m["attributes"]}
    for workload, parameters, name in (("lock.tight", {"threads": 2}, "lock.tight"),
                                       ("channel.paced", {"interval_ns": 10000}, "channel.paced, 10 \u00b5s")):
        run_of = next(r for r in data["runs"] if r["workload"] == workload
                      and all(r["parameters"][k] == v for k, v in parameters.items()))
        ends = {k: run_of["results"][0]["metrics"][k]["median"] for k in ENDS}
        for key, word in ENDS.items():
            share = 100 * ends[key] / sum(ends.values())
            need(close(marks["%s, %s" % (name, word)], share), "%s, %s: not %g in %s" % (name, word, share, marks))


@case
def command_beside_a_chart_repeats_it():
    if not HAS_BENCH:
        skip("built without the benchmarks")
    data = results(3)
    with tempfile.TemporaryDirectory() as folder:
        page, _ = draw(folder, data)
        root = browser(page, folder, "--window-size=1200,900")
    figures = find(root, "figure")
    need(all(find(f, "code") for f in figures), "a chart without a command")
    commands = {words_of(c) for f in figures for c in find(f, "code")}
    need({"concede info", "concede report"} <= commands, commands)
    wanted = {(r["workload"], r["parameters"]["threads"]) for r in data["runs"]}
    for command in commands - {"concede info", "concede report"}:
        name, *arguments = command.split()
        need(name == "concede", command)
        measured = json.loads(
            concede(*arguments, "--seconds", "0.001", "--repeats", "1", "--only", "concede,libc", "--json", "-")[0]
        )
        repeated = {(r["workload"], r["parameters"]["threads"]) for r in measured["runs"]}
        need(repeated and repeated <= wanted, "%s measures %s" % (command, repeated))
        wanted_here = {
            (w, n)
            for w, n in wanted
            if w == arguments[1] and str(n) in command.split("--threads ")[1].split()[0].split(",")
        }
        need(repeated == wanted_here, "%s measures %s, not %s" % (command, repeated, wanted_here))


@case(each=["1200x900", "360x700"])
def charts_of_simulated_machines_hold_the_data_and_their_commands_repeat_it(window):
    data = simulated(7)
    with tempfile.TemporaryDirectory() as folder:
        page, _ = draw(folder, data)
        root = browser(page, folder, "--window-size=" + window.replace("x", ","))
    figures = {find(f, "svg", role="img")[0]["attributes"]["aria-label"]: f for f in find(root, "figure")}
    for machine in data["machines"]:
        for workload in {r["workload"] for r in machine["runs"]}:
            runs = [r for r in machine["runs"] if r["workload"] == workload]
            figure = figures["%s: %s" % (runs[0]["title"], machine["name"])]
            wanted = {(r["name"], r["cpus"], r["metrics"]["rate"]) for r in runs if r["ended"]}
            marks = [m["attributes"] for m in walk(figure) if "data-value" in m["attributes"]]
            drawn = {(m["data-name"], int(m["data-x"]), float(m["data-value"])) for m in marks}
            need(drawn == wanted, "%s on %s: %s" % (workload, machine["name"], drawn ^ wanted))
            command = words_of(find(figure, "code")[0]).split()
            need(command[:3] == ["concede", "simulate", workload] and "--events" in command, command)
            if HAS_SIMULATOR and machine["name"] == "desktop" and window.startswith("1200"):  # once is enough
                again = json.loads(concede(*command[1:], "--json", "-")[0])["machines"]
                found = {(r["name"], r["cpus"]) for m in again for r in m["runs"]}
                need(again[0]["name"] == machine["name"] and {w[:2] for w in wanted} <= found, command)


@case
def marks_stand_where_their_values_belong():
    with tempfile.TemporaryDirectory() as folder:
        page, _ = draw(folder, results(11), simulated(11))
        root = browser(page, folder, "--window-size=1200,900")
    checked = 0
    for figure in find(root, "figure"):
        for tag, place, sign in (("circle", "cy", -1), ("rect", "width", 1)):
            marks = [
                m["attributes"]
                for m in find(figure, tag)
                if "data-value" in m["attributes"] and ("data-x" in m["attributes"] or tag == "rect")
            ]
            if tag == "rect" and any(m["data-name"].startswith("step ") for m in marks):
                place = "height"
            marks.sort(key=lambda m: float(m["data-value"]))
            for low, high in zip(marks, marks[1:]):
                need((float(high[place]) - float(low[place])) * sign >= -0.11, "%s is drawn beyond %s" % (low, high))
                checked += 1
    need(checked > 500, "only %d pairs" % checked)


@case
def pointing_at_a_chart_shows_its_values():
    data = results(13)
    script = """<script>addEventListener('load', () => setTimeout(() => {
        for (const svg of document.querySelectorAll('figure svg[role=img]')) {
            const mark = svg.querySelector('[data-value]'), box = mark.getBoundingClientRect();
            const at = { clientX: box.x + box.width / 2, clientY: box.y + box.height / 2 };
            svg.dispatchEvent(new PointerEvent('pointermove', at));
            svg.setAttribute('data-told', svg.parentNode.querySelector('.tip:not([hidden])')?.textContent || '');
            svg.dispatchEvent(new PointerEvent('pointerleave'));
            if (!svg.parentNode.querySelector('.tip').hidden) throw new Error('the values stay');
        }
    }, 500));</script>"""
    with tempfile.TemporaryDirectory() as folder:
        page, _ = draw(folder, data, simulated(13))
        page.write_text(page.read_text().replace("</body>", script + "</body>"))
        root = browser(page, folder, "--window-size=1200,900")
    charts = [f for f in find(root, "svg", role="img")]
    need(len(charts) > 20, len(charts))
    for chart in charts:
        told, mark = (
            chart["attributes"].get("data-told", ""),
            next(n for n in walk(chart) if "data-value" in n["attributes"])["attributes"],
        )
        if mark["data-name"].startswith("step "):
            need("snooze 1" in told and "since the wait began" in told, told)
            continue
        value = float(mark["data-value"])
        figures = [float(t) for t in re.findall(r"\d+(?:\.\d+)?", told.replace(mark["data-name"], " "))]
        need(
            mark["data-name"] in told
            and any(math.isclose(f * unit, value, rel_tol=0.006) for f in figures for unit in (1, 1e3, 1e6)),
            "%s: '%s' does not tell %g" % (chart["attributes"]["aria-label"], told, value),
        )


# Finds texts that lie over each other, or of which a part cannot be seen: in a chart by the boxes of its texts,
# elsewhere by what its own box or the window cuts off, unless one can scroll there.
LOOK = """<script>addEventListener('load', () => setTimeout(() => {
    const bad = [], name = n => n.textContent.trim().slice(0, 40);
    const shown = b => b.width > 0 && b.height > 0;
    for (const svg of document.querySelectorAll('svg')) {
        const frame = svg.getBoundingClientRect(), texts = [];
        if (!shown(frame) || getComputedStyle(svg).visibility === 'hidden') continue;
        for (const text of svg.querySelectorAll('text')) {
            const b = text.getBoundingClientRect();
            if (!shown(b) || !text.textContent.trim()) continue;
            if (b.left < frame.left - 1 || b.right > frame.right + 1
                || b.top < frame.top - 2 || b.bottom > frame.bottom + 2)
                bad.push('cut off in a chart: ' + name(text));
            for (const [other, o] of texts)
                if (Math.min(b.right, o.right) - Math.max(b.left, o.left) > 1
                    && Math.min(b.bottom, o.bottom) - Math.max(b.top, o.top) > 3)
                    bad.push('one over the other: ' + name(text) + ' | ' + name(other));
            texts.push([text, b]);
        }
    }
    const scrolls = n => n && (['auto', 'scroll'].includes(getComputedStyle(n).overflowX) || scrolls(n.parentElement));
    let looked = 0;
    for (const n of document.querySelectorAll('body *')) {
        const own = [...n.childNodes].some(c => c.nodeType === 3 && c.textContent.trim());
        const b = n.getBoundingClientRect(), style = getComputedStyle(n);
        if (!own || !shown(b) || n.closest('svg') || n.closest('script, style, [hidden]')) continue;
        looked++;
        if (b.right > innerWidth + 1 && !scrolls(n)) bad.push('beyond the window: ' + name(n));
        if (style.overflowX === 'hidden' && n.scrollWidth > n.clientWidth + 1) bad.push('cut off: ' + name(n));
    }
    document.body.dataset.looked = looked;
    document.body.dataset.back = getComputedStyle(document.body).backgroundColor;
    document.body.dataset.bad = bad.join('; ');
}, 500));</script>"""


@case(each=["%d, %s" % (w, s) for w in (1300, 400) for s in ("light", "dark")])
def report_has_no_text_that_is_cut_off_or_overlaps(which):
    width, scheme = which.split(", ")
    flags = ["--window-size=%s,900" % width, "--blink-settings=preferredColorScheme=%d" % (scheme == "light")]
    picture = pathlib.Path(os.environ["CONCEDE_BINARY_DIR"], "report-%s-%s.png" % (width, scheme))
    with tempfile.TemporaryDirectory() as folder:
        page, _ = draw(folder, results(5), simulated(5))
        page.write_text(page.read_text().replace("</body>", LOOK + "</body>"))
        attributes = find(browser(page, folder, *flags), "body")[0]["attributes"]
        tall = [f.replace(",900", ",6000") for f in flags]
        browser(page, folder, *tall, "--screenshot=" + str(picture))
    need(int(attributes.get("data-looked", 0)) > 100, "looked at %s texts" % attributes.get("data-looked"))
    back = [int(n) for n in re.findall(r"\d+", attributes["data-back"])[:3]]
    need((sum(back) > 384) == (scheme == "light"), "%s on %s" % (scheme, attributes["data-back"]))
    need(picture.stat().st_size > 20000, "no picture: %s" % picture)
    need(not attributes["data-bad"], attributes["data-bad"].replace("; ", "\n"))


@case(each=["1300x900", "400x900"])
def maps_show_every_cell_and_its_figures(window):
    data = map_results(3)
    script = """<script>addEventListener('load', () => setTimeout(() => {
        const cells = [...document.querySelectorAll('.heat button')];
        for (const b of cells) {
            b.click();
            const card = b.closest('.card'), box = b.getBoundingClientRect();
            b.dataset.told = card.querySelector('.detail').textContent;
            b.dataset.colour = getComputedStyle(b).backgroundColor;
            if (b.scrollWidth > b.clientWidth + 1 || box.right > innerWidth) b.dataset.cut = '1';
        }
        [...document.querySelectorAll('.choose button')].filter(b => b.textContent === 'rate').forEach(b => b.click());
        cells.forEach(b => { b.dataset.rate = b.dataset.value; });
        if (document.documentElement.scrollWidth > innerWidth) document.body.dataset.wide = '1';
    }, 500));</script>"""
    with tempfile.TemporaryDirectory() as folder:
        page, _ = draw(folder, data)
        page.write_text(page.read_text().replace("</body>", script + "</body>"))
        root = browser(page, folder, "--window-size=" + window.replace("x", ","))
    need("data-wide" not in find(root, "body")[0]["attributes"], "the page is wider than the window")
    cells = [b["attributes"] for b in find(root, "button") if "data-cell" in b["attributes"]]
    need(len(cells) == len(data["runs"]), "%d cells, not %d" % (len(cells), len(data["runs"])))
    colours = {}
    for run_of in data["runs"]:
        result = run_of["results"][0]
        p99 = result["against"]["p99"]
        found = [c for c in cells if "p99: %.2f" % p99["times"]["median"] in c["data-told"]
                 and ("concede bench " + run_of["workload"]) in c["data-told"]]
        need(found, "no cell for %s" % run_of["parameters"])
        told = found[0]["data-told"]
        need("other" in told and "third" in told and close(found[0]["data-rate"], 1.0), told)
        need("data-cut" not in found[0], "the text of a cell is cut off: %s" % found[0]["data-cell"])
        colours.setdefault(p99["lead"], set()).add(found[0]["data-colour"])
    need(not colours[1] & colours[-1] and not colours[0] & (colours[1] | colours[-1]), colours)
    behind = [r for r in data["runs"] if r["results"][0]["against"]["p99"]["lead"] < 0]
    for workload in ("lock.map", "channel.map"):
        losing = [text_of(d) for d in find(root, "details", **{"class": "losing"})]
        need(len(losing) == 2, losing)
    need(sum(int(re.search(r"behind: (\d+) figures", t).group(1)) for t in losing) == len(behind), losing)


@case
def report_measures_draws_and_can_be_interrupted():
    if not HAS_BENCH:
        skip("built without the benchmarks")
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder, "page.html")
        code, shown = on_terminal(["report", "-o", str(page), "-s", "60"], interrupt_at=rb"s left[\s\S]*lock")
        need(code == 130 and str(page.name) in left_on_screen(shown), shown)
        need("s left" not in left_on_screen(shown), left_on_screen(shown))
        data = json.loads(text_of(find(Page(page.read_text()).root, "script", id="data")[0]))
        need(data["bench"]["interrupted"] and data["bench"]["runs"], "nothing measured")
        need(COSTS <= data["machine"]["costs"].keys() and len(data["progression"]) > 8, data.keys())


# ---- completion ----


def bash_completion(*words):
    script = """source "$1"; PATH=$2:$PATH; shift 2
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _concede; printf "%s\\n" "${COMPREPLY[@]}" """
    return run(
        tool("bash"),
        "--norc",
        "-c",
        script,
        "bash",
        SOURCE / "tools/concede/completion/concede.bash",
        pathlib.Path(PROGRAM).parent,
        "concede",
        *words
    ).split()


@case(each=COMMANDS)
def bash_completes_every_option(command):
    need(
        set(bash_completion(command, "--")) == {"--" + name for name in option_table(command)},
        bash_completion(command, "--"),
    )


@case
def bash_completes_commands_and_values():
    need(set(bash_completion("")) == {*COMMANDS, "--help", "--version"}, bash_completion(""))
    need(bash_completion("re") == ["report"], bash_completion("re"))
    for words in (
        ["tune", "--prefer", ""],
        ["tune", "-p", ""],
        ["tune", "--prefer", "=", ""],
        ["tune", "--prefer", "="],
    ):
        need(set(bash_completion(*words)) == {"latency", "balance", "cpu"}, "%s: %s" % (words, bash_completion(*words)))
    need(bash_completion("tune", "--wait", "") == [], "a wait cannot be known")
    if HAS_BENCH:
        need(set(bash_completion("bench", "--markdown", "")) == {"document", "tables", "machine"}, "the forms")
        families = {"cas", "lock", "condition", "park", "channel", "select", "shared", "all"}
        need(set(bash_completion("bench", "")) >= families, "the workloads")
        need("lock.fair" in bash_completion("bench", "lock."), bash_completion("bench", "lock."))
    here = str(SOURCE / "tools/concede/main")
    need(bash_completion("report", "--from", here) == [here + ".c"], bash_completion("report", "--from", here))


def zsh_completion(line):
    """What zsh lists after a line and a tab, in an interactive shell on a terminal."""
    program = tool("zsh")
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, ".zshrc").write_text(
            "PROMPT='ready> '\nfpath=(%s $fpath)\nautoload -U compinit && compinit -u -d %s/dump\n"
            "PATH=%s:$PATH\nLISTMAX=1000\n"
            % (SOURCE / "tools/concede/completion", folder, pathlib.Path(PROGRAM).parent)
        )
        pid, terminal = pty.fork()
        if pid == 0:
            os.environ.update(ZDOTDIR=folder, TERM="xterm", COLUMNS="200", LINES="60")
            os.execv(program, [program, "-i", "-d"])
        shown = b""

        def wait(pattern, seconds):
            nonlocal shown
            end = time.monotonic() + seconds
            while time.monotonic() < end and not re.search(pattern, shown):
                if select.select([terminal], [], [], 0.1)[0]:
                    try:
                        shown += os.read(terminal, 65536)
                    except OSError:
                        return

        wait(rb"ready> ", 20)
        shown = b""
        os.write(terminal, line.encode() + b"\t")
        wait(rb"\x1b\[\d*A", 10)  # it goes back up to the line when the list is done
        os.close(terminal)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", shown.decode(errors="replace"))


@case(each=COMMANDS)
def zsh_completes_every_option(command):
    listed = zsh_completion("concede %s --" % command)
    for name in option_table(command):
        need("--" + name in listed, "--%s is not in\n%s" % (name, listed))


@case
def zsh_completes_commands_and_values():
    listed = zsh_completion("concede ")
    for command in COMMANDS:
        need(command in listed, listed)
    if HAS_BENCH:
        listed = zsh_completion("concede bench lock.")
        need("lock.fair" in listed and "lock.tight" in listed, listed)
    listed = zsh_completion("concede tune --prefer ")
    need("latency" in listed and "balance" in listed, listed)


main(jobs=1)  # what measures wants the machine for itself
