"""The form of every text file in the tree: clang-format for C and C++, line lengths and line ends for all."""
import os
import pathlib
import re
import shutil
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests"))
from checks import case, main, need, run, skip  # noqa: E402

COLUMNS = 120
# What .clang-format was written for, Debian 12's; another version lays out some lines differently.
CLANG_FORMAT = "14."


def text_files():
    for folder, folders, names in os.walk(SOURCE):
        folders[:] = sorted(f for f in folders if not re.match(r"build|\.git$|target$|__pycache__$", f))
        for name in sorted(names):
            path = pathlib.Path(folder, name)
            if path.suffix not in (".svg", ".lock", ".pyc", ".png") and path.name != ".git":
                yield path


FILES = [(str(p.relative_to(SOURCE)), p.read_text(encoding="utf-8")) for p in text_files()]


def may_be_long(name, line):
    """A row of a table, a record, an address: it cannot be broken. What a program wrote is as it comes."""
    return (name.startswith(("doc/benchmarks.md", "doc/man/")) or name.endswith(".md") and line.startswith("|")
            or re.search(r"(?<!CMakeLists)\.txt$|report\.html$", name) and not line.startswith("#")
            or re.fullmatch(r"\W*https?://\S+", line))


def none(problems):
    problems = list(problems)
    need(not problems, "%d:\n%s" % (len(problems), "\n".join(problems[:100])))


def lines():
    for name, text in FILES:
        for number, line in enumerate(text.split("\n"), 1):
            yield name, number, line


@case
def no_line_is_longer_than_120_columns():
    need(len(FILES) > 100, "found only %d files" % len(FILES))
    none("%s:%d: %d columns" % (name, number, len(line)) for name, number, line in lines()
         if len(line) > COLUMNS and not may_be_long(name, line))


@case
def no_line_ends_in_a_space_and_every_file_in_a_line_end():
    none(["%s:%d: a space at the end" % (name, number) for name, number, line in lines() if line != line.rstrip()]
         + ["%s: no line end" % name for name, text in FILES if text and not text.endswith("\n")])


@case
def tabs_are_only_where_a_makefile_wants_them():
    none("%s:%d" % (name, number) for name, number, line in lines() if "\t" in line and name != "debian/rules")


@case
def clang_format_changes_nothing():
    program = shutil.which("clang-format-14") or shutil.which("clang-format") or skip("clang-format is not installed")
    version = re.search(r"version (\S+)", run(program, "--version")).group(1)
    if not version.startswith(CLANG_FORMAT):
        skip("clang-format is version %s, not %s0" % (version, CLANG_FORMAT))
    files = [name for name, _ in FILES if name.endswith((".c", ".h", ".cpp", ".hpp"))]
    run(program, "--dry-run", "--Werror", *files, cwd=SOURCE)


main()
