"""The lock's release in every place where it could go wrong by a plain store, and what it is there.

A store where the system can call it off; elsewhere the read-modify-write that it always was. release.c is compiled
anew for each place, mostly with the single header, and says which of the two it found."""
import atexit
import os
import pathlib
import platform
import re
import shutil
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = SOURCE / "tests/consumers/release.c"
BINARY = pathlib.Path(os.environ["CONCEDE_BINARY_DIR"])
sys.path.insert(0, str(SOURCE / "tests"))
from checks import Failure, case, main, need, run, skip, tool  # noqa: E402

work = pathlib.Path(tempfile.mkdtemp(prefix="concede-release-"))
atexit.register(shutil.rmtree, work, True)
for name in ("concede_single.h", "concede_single.hpp"):
    run(sys.executable, SOURCE / "scripts/single-header.py", work / name)


def build(name, compiler, *options, header="concede_single.h"):
    """Compiles release.c with the library in it."""
    out = work / name
    run(tool(compiler), "-O2", "-pthread", "-D_GNU_SOURCE", "-DCONCEDE_IMPLEMENTATION", '-DCONCEDE="%s"' % header,
        "-I", work, *options, PROGRAM, "-o", out, "-ldl")
    return out


def link(name, *libraries, options=()):
    """Compiles release.c against the library as it was built."""
    out = work / name
    run("cc", "-O2", "-pthread", "-D_GNU_SOURCE", "-DCONCEDE=<concede/concede.h>", "-I", SOURCE / "include", *options,
        PROGRAM, *libraries, "-Wl,-rpath,%s" % BINARY, "-o", out, "-ldl")
    return out


def can_store():
    """Whether the system has what a store needs, asked without concede."""
    (work / "ask.c").write_text("""#include <stddef.h>
        #include <sys/syscall.h>
        #include <unistd.h>
        extern const unsigned int __rseq_size __attribute__((weak));
        int main(void) {
            if (!&__rseq_size || !__rseq_size) return 1;
            long commands = syscall(SYS_membarrier, 0, 0, 0);
            return commands < 0 || !(commands & 128);
        }""")
    try:
        run("cc", work / "ask.c", "-o", work / "ask")
        run(work / "ask")
        return platform.machine() == "x86_64"
    except Failure:
        return False


STORES = can_store()


def needs_stores():
    if not STORES:
        skip("needs restartable sequences, and counts stores on x86-64 only")


def expect(text, *lines):
    need(text.split("\n")[:-1] == list(lines), "expected %s, got:\n%s" % (lines, text))


STORE, MODIFY = "by a store", "by a read-modify-write"


@case(each=["gcc", "clang", "g++", "clang++"])
def it_is_a_store_where_the_system_can_call_it_off(compiler):
    needs_stores()
    header = "concede_single.hpp" if "++" in compiler else "concede_single.h"
    language = ["-x", "c++"] if "++" in compiler else []
    expect(run(build("plain-" + compiler, compiler, *language, header=header), "plain"), "plain: " + STORE)


@case(each=["static", "shared", "static program", "not optimised", "position dependent"])
def it_is_a_store_however_it_is_linked(form):
    needs_stores()
    library = BINARY / ("libconcede.so" if form == "shared" else "libconcede.a")
    options = {"static program": ["-static"], "not optimised": ["-O0"], "position dependent": ["-no-pie", "-fno-pie"]}
    expect(run(link("linked-" + form.replace(" ", "-"), library, options=options.get(form, [])), "plain"),
           "plain: " + STORE)


@case(each=["gcc", "clang"])
def it_is_a_store_with_link_time_optimisation(compiler):
    needs_stores()
    options = ["-flto"]
    if compiler == "clang":
        tool("ld.lld")
        options.append("-fuse-ld=lld")
    expect(run(build("lto-" + compiler, compiler, *options), "plain"), "plain: " + STORE)


@case
def it_is_a_store_in_the_child_after_a_fork():
    needs_stores()
    expect(run(build("child", "cc"), "child"), "child: " + STORE)


@case
def a_thread_without_an_area_makes_no_store():
    needs_stores()
    expect(run(build("unregistered", "cc"), "unregistered"), "unregistered: " + MODIFY)


@case(each=["linked", "a copy of its own"])
def a_plugin_that_was_unloaded_leaves_nothing_behind(form):
    needs_stores()
    name = "plugin-" + form.replace(" ", "-")
    shared = ["-DPLUGIN", "-fPIC", "-shared", "-fvisibility=hidden"]
    if form == "linked":
        link(name + ".so", BINARY / "libconcede.so", options=shared)
        program = link(name, BINARY / "libconcede.so", options=["-rdynamic"])
    else:
        link(name + ".so", BINARY / "libconcede.a", options=shared + ["-Wl,--exclude-libs,ALL"])
        program = link(name, BINARY / "libconcede.a", options=["-Wl,--export-dynamic-symbol=stores_begun"])
    expect(run(program, "plugin", work / (name + ".so")), "plugin: " + STORE)


@case
def a_plugin_releases_without_allocating():
    """Also in a thread that has never waited, and wakes one that sleeps: what it needs of its own is there before."""
    if platform.libc_ver()[0] != "glibc":
        skip("counts what glibc allocates")
    (work / "wakes.c").write_text("""#include <concede/concede.h>
        #include <pthread.h>
        extern __thread int counts;
        static cc_lock_t lock;
        static void *wait_and_release(void *unused) {
            cc_lock_acquire(&lock);
            cc_lock_release(&lock);
            return unused;
        }
        void wake(void) {
            pthread_t thread;
            cc_lock_acquire(&lock);
            pthread_create(&thread, NULL, wait_and_release, NULL);
            while (!(cc_load_relaxed(&lock.word) & CC_LOCK_PARKED_)) cc_pause();
            counts = 1;
            cc_lock_release(&lock);
            counts = 0;
            pthread_join(thread, NULL);
        }""")
    (work / "counts.c").write_text("""#include <dlfcn.h>
        #include <stdio.h>
        #include <stdlib.h>
        __thread int counts;
        static int allocations;
        extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_memalign(size_t, size_t);
        void *malloc(size_t n) { allocations += counts; return __libc_malloc(n); }
        void *calloc(size_t m, size_t n) { allocations += counts; return __libc_calloc(m, n); }
        void *aligned_alloc(size_t a, size_t n) { allocations += counts; return __libc_memalign(a, n); }
        int main(int argc, char **argv) {
            void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
            if (plugin == NULL) return 1;
            ((void (*)(void))dlsym(plugin, "wake"))();
            printf("%d allocations\\n", allocations);
            return 0;
        }""")
    run("cc", "-O2", "-fPIC", "-shared", "-pthread", "-I", SOURCE / "include", work / "wakes.c",
        BINARY / "libconcede.a", "-o", work / "wakes.so")
    run("cc", "-O2", "-rdynamic", "-pthread", work / "counts.c", "-o", work / "counts", "-ldl")
    expect(run(work / "counts", work / "wakes.so"), "0 allocations")


@case
def a_debugger_that_goes_step_by_step_gets_to_the_end():
    needs_stores()
    program = build("step", "gcc", "-g")
    script = work / "step.gdb"
    script.write_text("break one_release\nrun step\nset $n = 0\n"
                      "while $n < 300 && is_over == 0\n stepi\n set $n = $n + 1\nend\n"
                      'printf "over %d after %d\\n", is_over, $n\ncontinue\n')
    out = run(tool("gdb"), "-batch", "-nx", "-x", script, program)
    need(re.search(r"^over 1 after \d+$", out, flags=re.M), out[-3000:])
    need("exited normally" in out, out[-3000:])


@case
def a_mark_that_comes_at_any_instruction_of_a_release_is_not_wiped_out():
    """The debugger stops the release at each of its instructions in turn and writes what a waiter would. The stop calls
    the sequence off; if the look at the word or the store were outside of it, the mark would be gone."""
    needs_stores()
    program = build("marked", "gcc", "-g")
    listing = run(tool("gdb"), "-batch", "-nx", "-ex", "disassemble one_release", program)
    script = work / "marked.gdb"
    script.write_text("set $marked = 0\n" + "".join(
        "tbreak *((char *)one_release + %s)\ncommands\nsilent\nif lock.word == 1\nset var lock.word = %d\n"
        "set var is_marked = 1\nset $marked = $marked + 1\nend\ncontinue\nend\nrun step\n"
        'if $_exitcode != 0\nprintf "wiped out at %s\\n"\nend\ndelete\n' % (offset, 77 << 8 | 1 | 2 | 4, offset)
        for offset in re.findall(r"<\+(\d+)>:", listing)) + 'printf "marked %d times\\n", $marked\n')
    out = run(tool("gdb"), "-batch", "-nx", "-x", script, program)
    wiped_out = re.findall("^wiped out at .*$", out, flags=re.M)
    need(not wiped_out, "\n".join(wiped_out))
    need(int(re.search(r"^marked (\d+) times$", out, flags=re.M).group(1)) > 10, out[-3000:])


@case(each=["no-membarrier", "no-rseq"])
def it_is_no_store_where_a_filter_forbids_what_it_needs(situation):
    expect(run(build(situation, "cc"), situation), "plain: " + MODIFY)


@case
def a_filter_that_comes_late_costs_time_and_no_wake_up():
    needs_stores()
    expect(run(build("late", "cc"), "late"), "before: " + STORE, "after: " + MODIFY)


@case
def it_is_no_store_where_the_user_switched_it_off():
    expect(run(build("switched-off", "cc"), "plain", env={"GLIBC_TUNABLES": "glibc.pthread.rseq=0"}),
           "plain: " + MODIFY)


@case
def it_is_no_store_with_another_c_library():
    expect(run(build("musl", "musl-gcc", "-static"), "plain"), "plain: " + MODIFY)


@case
def it_is_no_store_under_valgrind():
    out = run(tool("valgrind"), "--error-exitcode=9", "-q", build("valgrind", "cc"), "plain")
    expect(out, "plain: " + MODIFY)


# compiler, emulator
ELSEWHERE = {"x86-64": ("x86_64-linux-gnu-gcc", "qemu-x86_64"), "ARM64": ("aarch64-linux-gnu-gcc", "qemu-aarch64"),
             "ARMv7": ("arm-linux-gnueabihf-gcc", "qemu-arm"), "i386": ("i686-linux-gnu-gcc", "qemu-i386")}


@case(each=list(ELSEWHERE))
def it_is_no_store_in_an_emulator(architecture):
    compiler, emulator = ELSEWHERE[architecture]
    expect(run(tool(emulator), build("emulated-" + architecture, compiler, "-static"), "plain"), "plain: " + MODIFY)


@case(each=["gcc", "clang"])
def it_is_no_store_for_thread_sanitizer_which_would_not_see_it(compiler):
    program = build("tsan-" + compiler, compiler, "-fsanitize=thread", "-g")
    expect(run(program, "plain"), "plain: " + MODIFY)


if __name__ == "__main__":
    main()
