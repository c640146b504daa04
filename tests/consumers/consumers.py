"""Takes concede in each of the ways in which a project takes a dependency, and runs the result."""
import atexit
import os
import pathlib
import re
import shutil
import sys
import tarfile
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
HERE = SOURCE / "tests/consumers"
BINARY = pathlib.Path(os.environ["CONCEDE_BINARY_DIR"])
sys.path.insert(0, str(SOURCE / "tests"))
from checks import Failure, case, main, need, run, skip, tool  # noqa: E402

STRICT = "-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wundef " \
         "-Wcast-qual -Werror"
SOURCES = ["CMakeLists.txt", "LICENSE", "cmake", "concede.pc.in", "include", "man", "meson.build", "meson_options.txt",
           "src", "tools"]

work = pathlib.Path(tempfile.mkdtemp(prefix="concede consumers "))  # with a space: every path here has one
atexit.register(shutil.rmtree, work, True)

# Installed once, then moved: whatever remembers the first place breaks.
run("cmake", "--install", BINARY, "--prefix", work / "first place")
prefix = work / "moved"
(work / "first place").rename(prefix)
pc_dir = next(prefix.rglob("concede.pc")).parent
lib_dir = pc_dir.parent

tree = work / "source tree"
tree.mkdir()
for name in SOURCES:
    if (SOURCE / name).is_dir():
        shutil.copytree(SOURCE / name, tree / name)
    elif (SOURCE / name).exists():
        shutil.copy(SOURCE / name, tree / name)


def expect(out):
    need(re.search(r"^concede \S+ works$", out, flags=re.M), out)


def cmake(name, folder, *options):
    """Configures, builds and runs a consumer project."""
    build = work / name
    run("cmake", "-S", folder, "-B", build, *options)
    run("cmake", "--build", build)
    expect(run(build / "consumer"))


def library(name, *options, env=None):
    """Builds the library alone, from the copy of the sources; returns the folder."""
    build = work / name
    run("cmake", "-S", tree, "-B", build, "-DCONCEDE_TESTS=OFF", "-DCONCEDE_TOOLS=OFF", *options, env=env)
    run("cmake", "--build", build)
    return build


@case(each=["ON", "OFF"])
def find_package_works_after_a_move(shared):
    cmake("find_package " + shared, HERE / "find_package", "-DCMAKE_PREFIX_PATH=%s" % prefix,
          "-DBUILD_SHARED_LIBS=" + shared)
    linked = run(tool("ldd"), work / ("find_package " + shared) / "consumer")
    need(("libconcede" in linked) == (shared == "ON"), linked)


@case(each=["shared", "static"])
def pkg_config_works_after_a_move(form):
    out = work / ("pkg-config " + form)
    env = {"PKG_CONFIG_PATH": str(pc_dir), "LD_LIBRARY_PATH": str(lib_dir)}
    query, again = [re.search(r"\$\(pkg-config (.*?)\)", (SOURCE / f).read_text()).group(1)
                    for f in ("man/concede.7", "README.md")]
    need(query == again, (query, again))
    if form == "static":
        query = "--static %s | sed s/-lconcede/-l:libconcede.a/" % query
    # pkg-config escapes the spaces of a path, and only eval reads that.
    command = 'eval "cc \\"\\$1\\" $("$3" %s) -o \\"\\$2\\""' % query
    run("sh", "-c", command, "sh", HERE / "program.c", out, tool("pkg-config"), env=env)
    expect(run(out, env=env))
    version = run("pkg-config", "--modversion", "concede", env=env).strip()
    need(version in (SOURCE / "include/concede/version.h").read_text(), version)


@case(each=["ON", "OFF"])
def subdirectory_brings_only_what_has_our_prefix(shared):
    cmake("subdirectory " + shared, HERE / "subdirectory", "-DCONCEDE_SOURCE=%s" % tree,
          "-DBUILD_SHARED_LIBS=" + shared)


@case
def fetch_content_works():
    archive = work / "concede.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(tree, "concede")
    cmake("fetch_content", HERE / "fetch_content", "-DCONCEDE_ARCHIVE=%s" % archive)


@case(each=["static", "shared"])
def meson_subproject_works(form):
    meson = tool("meson")
    project = work / ("meson " + form)
    shutil.copytree(HERE / "meson", project)
    shutil.copy(HERE / "program.c", project)
    (project / "subprojects").mkdir()
    (project / "subprojects/concede").symlink_to(tree)
    run(meson, "setup", project / "build", project, "-Ddefault_library=" + form)
    run(meson, "compile", "-C", project / "build")
    expect(run(project / "build/consumer"))


def single_header(folder, name="concede_single.h"):
    folder.mkdir()
    run(sys.executable, SOURCE / "scripts/single-header.py", folder / name)
    return folder / name


# What a user may have included before: nothing, what hides most under -std=c11, everything that the library uses.
BEFORE = {"nothing": "", "stdio.h": "#include <stdio.h>\n",
          "much": "".join("#include <%s>\n" % h
                          for h in "errno.h fcntl.h sched.h stdio.h string.h time.h unistd.h".split()),
          "much of POSIX": "#define _POSIX_C_SOURCE 200809L\n#include <time.h>\n#include <unistd.h>\n"}
PROGRAM = (HERE / "program.c").read_text()


@case(each=["gcc", "clang"])
def single_header_works(compiler):
    folder = work / ("single " + compiler)
    single_header(folder)
    (folder / "concede.c").write_text('#define CONCEDE_IMPLEMENTATION\n#include "concede_single.h"\n')
    program = PROGRAM.replace("<concede/concede.h>", '"concede_single.h"')
    (folder / "program.c").write_text(program)
    flags = ["-std=c11", *STRICT.split(), "-Wno-missing-prototypes"]
    run(tool(compiler), *flags, "concede.c", "program.c", "-o", "two_files", cwd=folder)
    expect(run(folder / "two_files"))
    run(tool(compiler), "-std=c11", "-c", "concede.c", cwd=folder)
    defined = re.findall(r" \w (\S+)", run(tool("nm"), "--defined-only", folder / "concede.o"))
    bad = [n for n in defined if not re.match(r"cc_|\.|__|\w+\.\d+$", n)]  # the last: inside a function
    need(len(defined) > 10 and not bad, "unprefixed in the implementation: %s" % bad)


@case(each=["%s, %s first" % (c, b) for c in ("gcc", "clang", "musl-gcc") for b in BEFORE])
def single_header_works_after(which):
    compiler, before = which[:-6].split(", ")
    folder = work / ("single " + which)
    single_header(folder)
    program = PROGRAM.replace("<concede/concede.h>", '"concede_single.h"')
    (folder / "one.c").write_text(BEFORE[before] + "#define CONCEDE_IMPLEMENTATION\n" + program)
    run(tool(compiler), "-std=c11", *STRICT.split(), "-Wno-missing-prototypes", "one.c", "-o", "one_file", cwd=folder)
    expect(run(folder / "one_file"))


@case(each=["%s, %s" % (c, s) for c in ("g++", "clang++") for s in ("c++11", "c++20")])
def single_header_works_in_cxx(which):
    compiler, standard = which.split(", ")
    folder = work / ("single " + which)
    single_header(folder, "concede_single.hpp")
    program = PROGRAM.replace("<concede/concede.h>", '"concede_single.hpp"')
    (folder / "one.cpp").write_text("#include <cstdio>\n#define CONCEDE_IMPLEMENTATION\n" + program)
    (folder / "two.cpp").write_text('#include "concede_single.hpp"\n#include <mutex>\nvoid two(concede::mutex &m);\n'
                                    "void two(concede::mutex &m) { std::lock_guard<concede::mutex> guard(m); }\n")
    run(tool(compiler), "-std=" + standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "one.cpp", "two.cpp",
        "-o", "one_file", cwd=folder)
    expect(run(folder / "one_file"))


@case
def single_header_keeps_comments_and_strings_as_they_are():
    text = single_header(work / "single text").read_text()
    comments = re.findall(r"/\*.*?\*/", text, flags=re.S)
    bad = [c for c in comments if "cc_in_" in c]
    need(len(comments) > 300 and not bad, "\n".join(bad[:5]))
    sources = [f.read_text() for f in SOURCE.glob("src/*.c") if f.stem != "symbols"]
    lost = [c for s in sources for c in re.findall(r"/\*.*?\*/", s, flags=re.S) if c not in text]
    need(not lost, "not in the single header: %s" % lost[:3])


@case
def single_header_script_helps_and_refuses():
    folder = work / "single help"
    folder.mkdir()
    script = SOURCE / "scripts/single-header.py"
    need("CONCEDE_IMPLEMENTATION" in run(sys.executable, script, "--help", cwd=folder), "no help")
    need("usage" in run(sys.executable, script, "--nonsense", cwd=folder, fails=True), "no usage")
    need(not list(folder.iterdir()), list(folder.iterdir()))


@case(each=["c++11", "c++20"])
def cxx_program_links_the_c_library(standard):
    out = work / ("program " + standard)
    run(tool("g++"), "-std=" + standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", prefix / "include",
        "-x", "c++", HERE / "program.c", "-x", "none", lib_dir / "libconcede.a", "-o", out)
    expect(run(out))


@case
def builds_from_a_read_only_tree_and_leaves_it_as_it_was():
    def state():
        return {p: p.stat().st_mtime_ns for p in tree.rglob("*")}
    before = state()
    for path in [tree, *tree.rglob("*")]:
        path.chmod(path.stat().st_mode & ~0o222)
    try:
        library("read-only")
    finally:
        for path in [tree, *tree.rglob("*")]:
            path.chmod(path.stat().st_mode | 0o200)
    need(state() == before, "the build wrote into the sources")


@case(each=["gcc", "clang"])
def builds_with_the_users_own_werror(compiler):
    library("werror " + compiler, env={"CC": tool(compiler), "CFLAGS": STRICT})


@case(each=["gcc", "clang"])
def builds_and_links_with_lto(compiler):
    options = ["-DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON", "-DCMAKE_BUILD_TYPE=Release"]
    if compiler == "clang":
        tool("ld.lld"), tool("llvm-ar")
        options.append("-DCMAKE_SHARED_LINKER_FLAGS=-fuse-ld=lld")
    build = library("lto " + compiler, "-DCMAKE_C_COMPILER=" + tool(compiler), *options)
    run(tool(compiler), "-flto", *(["-fuse-ld=lld"] if compiler == "clang" else []), "-O2", "-I", prefix / "include",
        HERE / "program.c", build / "libconcede.a", "-o", build / "program")
    expect(run(build / "program"))


@case
def two_copies_live_in_one_program():
    folder = work / "two copies"
    folder.mkdir()
    flags = ["-fPIC", "-fvisibility=hidden", "-I", prefix / "include"]
    for name in ("first", "second"):
        run("cc", *flags, "-shared", "-DPLUGIN=%s_plugin" % name, HERE / "two_copies.c", lib_dir / "libconcede.a", "-o",
            folder / ("lib%s.so" % name))
    run("cc", *flags, HERE / "two_copies_main.c", "-L", folder, "-lfirst", "-lsecond", lib_dir / "libconcede.a",
        "-Wl,-rpath,$ORIGIN", "-o", folder / "main")
    run(folder / "main")
    # And the same archive twice on one command line, under two names.
    shutil.copy(lib_dir / "libconcede.a", folder / "libagain.a")
    run("cc", *flags, HERE / "program.c", lib_dir / "libconcede.a", folder / "libagain.a", "-o", folder / "program")
    expect(run(folder / "program"))


TSAN = [compiler + ", " + form for compiler in ("gcc", "clang", "g++", "clang++") for form in ("static", "shared")]


def with_thread_sanitizer(which, source, out):
    """Compiles a program, and the program only, for ThreadSanitizer; returns what runs it."""
    compiler, form = which.split(", ")
    language = ["-x", "c++"] if "++" in compiler else ["-x", "c", "-std=c11"]
    library = lib_dir / ("libconcede.a" if form == "static" else "libconcede.so")
    flags = ["-O1", "-g", "-pthread", "-fsanitize=thread", "-D_GNU_SOURCE"]
    strict = [f for f in STRICT.split() if not ("++" in compiler and "prototypes" in f)]
    hello = work / (out + " hello")
    (work / "hello.c").write_text("int main(void) { return 0; }\n")
    try:
        run(tool(compiler), *flags, work / "hello.c", "-o", hello)
        run(hello)
    except Failure:
        skip("no ThreadSanitizer here")
    run(tool(compiler), *flags, *strict, "-I", prefix / "include", *language, source, "-x", "none", library,
        "-Wl,-rpath,%s" % lib_dir, "-o", work / out)
    return work / out


@case(each=TSAN)
def thread_sanitizer_sees_no_race_but_real_ones(which):
    program = with_thread_sanitizer(which, HERE / "tsan.c", "tsan " + which)
    for part in "lock parker event spsc mpmc in_place select".split():
        need("%s works" % part in run(program, part), part)
        need("data race" in run(program, part, "race", fails=True), part + ": a race is not found")


@case
def thread_sanitizer_sees_no_race_in_the_readme():
    text = (SOURCE / "README.md").read_text()
    programs = [p for p in re.findall(r"^```c\n(.*?)^```", text, flags=re.M | re.S) if "int main" in p]
    programs.append((SOURCE / "examples/counter.c").read_text())
    need(len(programs) > 2, "no programs")
    for number, text in enumerate(programs):
        source = work / ("readme %d.c" % number)
        source.write_text(text)
        run(with_thread_sanitizer("gcc, static", source, source.stem))


@case
def python_can_call_every_layer():
    out = run(sys.executable, SOURCE / "examples/concede.py", lib_dir / "libconcede.so")
    need("received everything: 499500" in out, out)
    need("and from another process: 4950" in out or "no channel between processes" in out, out)


@case(each=["shared", "static", "sources"])
def rust_crate_has_every_layer(form):
    folder = work / ("rust " + form)
    shutil.copytree(SOURCE / "examples/rust", folder / "examples/rust", ignore=shutil.ignore_patterns("target",
                                                                                                      "*.lock"))
    env = {"LD_LIBRARY_PATH": str(lib_dir)}
    if form == "sources":
        shutil.copytree(tree / "src", folder / "src")
        shutil.copytree(tree / "include", folder / "include")
    else:  # one form of the library only, so that the linker has no choice
        (folder / "lib").mkdir()
        name = "libconcede.so" if form == "shared" else "libconcede.a"
        shutil.copy(lib_dir / name, folder / "lib" / name)
        env["CONCEDE_LIB_DIR"] = str(folder / "lib")
    out = run(tool("cargo"), "run", "--offline", "--quiet", cwd=folder / "examples/rust", env=env)
    need("received everything: 499500" in out, out)


if __name__ == "__main__":
    main()
