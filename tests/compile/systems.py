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
UNIX = (r"pipe|fcntl|read|write|close|pthread_setcancelstate|"
        r"shm_open|shm_unlink|ftruncate|pwrite|fstat|fstatvfs|mmap|munmap|open|fchmod|geteuid|getrlimit|memset|"
        r"pthread_(once|atfork|mutex_(init|lock|unlock))")
SYSTEMS = {
    "macos": ("arm64-apple-macos11", None),
    "freebsd": ("x86_64-unknown-freebsd13",
                r"_umtx_op|clock_gettime|cpuset_getaffinity|sched_yield|stub_errno|getenv|getpid|issetugid|" + UNIX),
    "openbsd": ("x86_64-unknown-openbsd7",
                r"futex|clock_gettime|sched_yield|stub_errno|sysconf|getenv|getpid|issetugid|" + UNIX),
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


# Microsoft's compiler is not to be had here. clang has its intrinsics, and with __clang__ undefined the headers take it
# for that compiler; with it defined they take clang on Windows for what it is.
MSVC = ["%s %s as %s" % (machine, standard, compiler) for machine in ("x86_64", "i686", "aarch64")
        for standard in ("c11", "c++14", "c++20") for compiler in ("cl", "clang")]


@case(each=MSVC)
def headers_compile_on_windows(what):
    machine, standard, _, compiler = what.split()
    flags = ["--target=%s-pc-windows-msvc" % machine, "-x", "c++" if "++" in standard else "c", "-std=" + standard,
             "-O2", "-ffreestanding", "-fms-extensions", "-fms-compatibility", "-Wall", "-Wextra", "-Werror",
             "-I", SOURCE / "include", "-DCC_FREESTANDING"] + (["-U__clang__"] if compiler == "cl" else [])
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "msvc.o"
        run(tool("clang"), *flags, "-c", SOURCE / "tests/compile/msvc.c", "-o", out)
        # An intrinsic that is none would be a function that nobody has.
        undefined = [n for n in re.findall(r" U (\S+)", run(tool("llvm-nm"), out)) if n.strip("_") != "memcpy"]
        need(not undefined, undefined)


if __name__ == "__main__":
    main()
