"""The systems that are not at hand: the library compiles for them, against stubs of their documented interfaces."""
import pathlib
import re
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
STUBS = SOURCE / "tests/compile/stubs"
sys.path.insert(0, str(SOURCE / "tests"))
from checks import case, main, need, run, tool  # noqa: E402

# system: clang's target, and what its os_<system>.c may ask of the system (None: another object format, not looked at)
SYSTEMS = {
    "macos": ("arm64-apple-macos11", None),
    "freebsd": ("x86_64-unknown-freebsd13",
                r"_umtx_op|clock_gettime|cpuset_getaffinity|sched_yield|stub_errno|getenv|issetugid"),
    "openbsd": ("x86_64-unknown-openbsd7", r"futex|clock_gettime|sched_yield|stub_errno|sysconf|getenv|issetugid"),
}


@case(each=list(SYSTEMS))
def compiles_for(system):
    target, allowed = SYSTEMS[system]
    clang, nm = tool("clang"), tool("nm")
    flags = ["--target=" + target, "-std=c11", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
             "-nostdlibinc", "-fno-stack-protector",
             "-I", STUBS / system, "-I", STUBS, "-I", SOURCE / "include"]
    with tempfile.TemporaryDirectory() as folder:
        for source in [SOURCE / "src" / ("os_%s.c" % system)] + \
                [f for f in (SOURCE / "src").glob("*.c") if not f.stem.startswith("os_")]:
            out = pathlib.Path(folder) / (source.stem + ".o")
            run(clang, *flags, "-c", source, "-o", out)
        if allowed is None:
            return
        undefined = re.findall(r" U (\S+)", run(nm, pathlib.Path(folder) / ("os_%s.o" % system)))
        bad = [n for n in undefined if not re.fullmatch(allowed + "|cc_\\w+", n)]
        need(undefined and not bad, "asks for %s" % bad)


if __name__ == "__main__":
    main()
