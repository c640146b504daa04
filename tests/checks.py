"""What the script-like tests share: named cases, a count at the end, and the output form of tests/harness.h.

    @case
    def no_header_defines_an_unprefixed_name(): ...

A case fails by raising; need(...) raises with a message. skip("why") leaves it out, with a word. A case may be made for
each of several subjects: @case(each=["a.h", "b.h"]) def compiles(header).
"""
import concurrent.futures
import os
import shutil
import subprocess
import sys
import traceback

_cases = []


class Skip(Exception):
    pass


class Failure(Exception):
    pass


def skip(why):
    raise Skip(why)


def need(condition, message):
    if not condition:
        raise Failure(message)


def case(function=None, each=None):
    if function is None:
        return lambda f: case(f, each)
    for subject in [None] if each is None else each:
        name = function.__name__ if subject is None else "%s(%s)" % (function.__name__, subject)
        _cases.append((name, function, [] if subject is None else [subject]))
    return function


def run(*command, cwd=None, env=None, stdin=None, fails=False):
    """Runs a command; returns what it printed. Fails the case, with all output, if the command fails (or does not)."""
    done = subprocess.run([str(c) for c in command], cwd=cwd, input=stdin, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env=dict(os.environ, **(env or {})), timeout=600)
    if (done.returncode != 0) != fails:
        raise Failure("%s\nexit code %d\n%s" % (" ".join(map(str, command)), done.returncode, done.stdout[-6000:]))
    return done.stdout


def tool(name):
    """The path of a program, or the case is left out."""
    return shutil.which(name) or skip(name + " is not installed")


def _one(entry):
    name, function, arguments = entry
    try:
        function(*arguments)
        return "ok", name, ""
    except Skip as why:
        return "skip:", name, str(why)
    except (Failure, subprocess.TimeoutExpired) as why:
        return "FAIL", name, str(why)
    except Exception:  # a broken test is a failed test
        return "FAIL", name, traceback.format_exc()


def main(jobs=os.cpu_count()):
    wanted = sys.argv[1:]
    chosen = [c for c in _cases if not wanted or any(w in c[0] for w in wanted)]
    failed = passed = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for word, name, text in pool.map(_one, chosen):
            print(word, name, "(" + text + ")" if word == "skip:" else "", flush=True)
            if word == "FAIL":
                print(text, flush=True)
            failed += word == "FAIL"
            passed += word == "ok"
    print("%d passed, %d failed" % (passed, failed))
    sys.exit(1 if failed else 0)
