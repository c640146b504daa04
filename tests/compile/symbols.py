"""What the built library shows: exactly the public functions, for C and for every language that links it."""
import os
import pathlib
import re
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ["CONCEDE_BINARY_DIR"])
sys.path.insert(0, str(SOURCE / "tests"))
from checks import case, main, need, run, skip, tool  # noqa: E402


def declared():
    """(public functions, everything that a compiled user may refer to), from the headers."""
    public, linked = set(), set()
    for header in (SOURCE / "include/concede").glob("*.h"):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
        pattern = r"^(?:CC_MUST_USE_ )?CC_(API|INLINE_)\b[^;{(=]*?\b(cc_\w+)\s*[({;]"
        for kind, name in re.findall(pattern, text, flags=re.M):
            if not name.endswith("_"):
                public.add(name)
            if kind == "API" or not name.endswith("_"):
                linked.add(name)
    return public, linked


def in_map():
    text = re.sub(r"/\*.*?\*/", "", (SOURCE / "src/concede.map").read_text(), flags=re.S)
    return re.findall(r"\b(cc_\w+);", text)


def same(a, b, what):
    need(a == b, "%s: only in the first %s, only in the second %s" % (what, sorted(a - b), sorted(b - a)))


@case
def map_lists_what_the_headers_declare():
    same(declared()[1], set(in_map()), "headers and map")
    need(len(in_map()) == len(set(in_map())), "a name is twice in the map")


@case
def every_public_function_is_marked():
    # gcc's own list of functions; one that is declared without CC_API or CC_INLINE_ would be in no library.
    out = run(tool("gcc"), "-std=c11", "-I", SOURCE / "include", "-x", "c", "-fsyntax-only",
              "-aux-info", "/dev/stdout", "-",
              stdin="#include <concede/concede.h>\n")
    seen = {n for n in re.findall(r"\b(cc_\w+) \(", out) if not n.endswith("_")}
    same(seen, declared()[0], "the compiler's list and the headers")


@case
def shared_library_shows_the_map_and_nothing_else():
    library = BINARY / "libconcede.so"
    if not library.exists():
        skip("no shared library here")
    out = run(tool("nm"), "-D", "--defined-only", library)
    shown = {n.split("@")[0] for _, kind, n in (l.split() for l in out.splitlines()) if kind != "A"}
    same(shown, set(in_map()), "library and map")


@case
def static_library_defines_only_prefixed_names():
    out = run(tool("nm"), "-g", "--defined-only", BINARY / "libconcede.a")
    names = {l.split()[2] for l in out.splitlines() if len(l.split()) == 3}
    need(names >= set(in_map()), "not in the static library: %s" % (set(in_map()) - names))
    # <sys/sdt.h> has a name of its own, and says how to name what counts the tracers of a probe.
    bad = [n for n in names if not re.match(r"cc_|_\.stapsdt\.base$|concede_\w+_semaphore$", n)]
    need(not bad, bad)


@case
def needs_nothing_but_the_c_library():
    library = BINARY / "libconcede.so"
    if not library.exists():
        skip("no shared library here")
    needed = re.findall(r"NEEDED\s+(\S+)", run(tool("objdump"), "-p", library))
    need(all(re.match(r"libc\.|libpthread\.|ld-", n) for n in needed), needed)


@case
def abi_is_that_of_the_last_release():
    abidiff = tool("abidiff")
    tag = run("sh", "-c", 'git -C "$1" describe --tags --abbrev=0 --match "v[0-9]*" 2>/dev/null || true', "sh", SOURCE)
    if not tag:
        skip("no release yet")
    old = BINARY / ("abi-of-" + tag.strip())
    if not (old / "build/libconcede.so").exists():
        run("sh", "-c", 'mkdir -p "$1" && git -C "$2" archive "$3" | tar -x -C "$1"', "sh", old, SOURCE, tag.strip())
        run("cmake", "-S", old, "-B", old / "build", "-DCONCEDE_TESTS=OFF", "-DCONCEDE_TOOLS=OFF",
            "-DCONCEDE_BENCH=OFF")
        run("cmake", "--build", old / "build")
    # Additions are fine. Any other change is not; abidiff leaves it to us to say so (its code for "incompatible" is for
    # what is gone, not for what has grown).
    run(abidiff, "--no-added-syms", old / "build/libconcede.so", BINARY / "libconcede.so")


if __name__ == "__main__":
    main()
