"""What the compiler makes of the hot paths: the right hint on every architecture, and nothing on the fast path."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = SOURCE / "include"
sys.path.insert(0, str(SOURCE / "tests"))
from checks import case, main, need, run, skip, tool  # noqa: E402

# architecture: (prefix of gcc and objdump, target of clang, the hint in a disassembly, the hint in clang's assembler
# text)
TARGETS = {
    "x86-64": ("x86_64-linux-gnu-", "x86_64-linux-gnu", r"\bpause\b", r"\bpause\b"),
    "i386": ("i686-linux-gnu-", "i686-linux-gnu", r"\bpause\b", r"\bpause\b"),
    "ARM64": ("aarch64-linux-gnu-", "aarch64-linux-gnu", r"\bisb\b", r"\bisb\b"),
    "ARM64 sb": ("aarch64-linux-gnu-", "aarch64-linux-gnu", r"\b(sb|0xd50330ff)\b", r"\.inst\s+0xd50330ff|\bsb\b"),
    "ARM64 yield": ("aarch64-linux-gnu-", "aarch64-linux-gnu", r"\byield\b", r"\byield\b"),
    "ARMv7": ("arm-linux-gnueabihf-", "armv7-linux-gnueabihf", r"\byield\b", r"\byield\b"),
    "RISC-V": ("riscv64-linux-gnu-", "riscv64-linux-gnu", r"\b(pause|0x100000f|0100000f)\b",
               r"\.4byte\s+0x0100000f|16777231"),
    "POWER": ("powerpc64le-linux-gnu-", "powerpc64le-linux-gnu",
              r"mr +r1,r1[\s\S]*mr +r2,r2", r"mr\s+1, 1[\s\S]*mr\s+2, 2"),
    "s390x": ("s390x-linux-gnu-", "s390x-linux-gnu", None, None),
}
SPIN = "#include <concede/pause.h>\nvoid spin(int n);\nvoid spin(int n) { for (int i = 0; i < n; i++) cc_pause(); }\n"


def flags(architecture):
    return ["-DCC_PAUSE_ARM64_YIELD"] if architecture == "ARM64 yield" else []


@case(each=list(TARGETS))
def gcc_emits_the_hint(architecture):
    prefix, _, hint, _ = TARGETS[architecture]
    gcc, objdump = tool(prefix + "gcc"), tool(prefix + "objdump")
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "spin.o"
        run(gcc, "-std=c11", "-O2", *flags(architecture), "-I", INCLUDE, "-x", "c", "-", "-c", "-o", out, stdin=SPIN)
        code = run(objdump, "-d", out)
    check_spin(code, hint)


@case(each=list(TARGETS))
def clang_emits_the_hint(architecture):
    _, target, _, hint = TARGETS[architecture]
    empty = subprocess.run([tool("clang"), "--target=" + target, "-x", "c", os.devnull, "-S", "-o", os.devnull],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if empty.returncode != 0 and "target" in empty.stdout:
        skip("this clang does not know " + target)
    code = run(tool("clang"), "--target=" + target, "-ffreestanding", "-std=c11", "-O2", *flags(architecture),
               "-I", INCLUDE,
               "-x", "c", "-", "-S", "-o", "-", stdin=SPIN)
    check_spin(code, hint)


def check_spin(code, hint):
    if hint:
        need(re.search(hint, code), "no hint in\n" + code)
    else:
        # No hint here; but the loop must be there: a branch back on a counter.
        need(re.search(r"\b(brct|brctg|jct|jctg|jh|jne|jlh)\b", code), "the loop is gone\n" + code)


@case
def arm64_chooses_nothing_without_a_system():
    gcc, prefix = tool("aarch64-linux-gnu-gcc"), "aarch64-linux-gnu-"
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "kernel"
        run(gcc, "-std=c11", "-O2", "-I", INCLUDE, "-DCC_FREESTANDING", "-ffreestanding", "-nostdlib", "-static",
            "-mno-outline-atomics", "-fno-stack-protector", "-Wl,-e,start",
            SOURCE / "tests/compile/freestanding.c", "-o", out)
        code, symbols = run(tool(prefix + "objdump"), "-d", out), run(tool(prefix + "nm"), out)
    need(re.search(r"\bisb\b", code) and not re.search(r"\bsb\b|d50330ff", code), code)
    need("cc_pause_sb_" not in symbols, symbols)


# CPU of the emulator: one with sb, and one on which it is an undefined instruction. With the library a pause follows
# what the CPU has; with nothing but the headers it links all the same, and stays with isb.
@case(each=["%s, %s" % (c, w) for c in ("max", "cortex-a53") for w in ("library", "headers only")])
def arm64_takes_sb_where_the_cpu_has_it(what):
    cpu, linked = what.split(", ")
    gcc, qemu = tool("aarch64-linux-gnu-gcc"), tool("qemu-aarch64")
    sources = [f for f in (SOURCE / "src").glob("*.c") if not f.stem.startswith("os_") or f.stem == "os_linux"]
    program = "#include <concede/backoff.h>\n" \
              "int main(void) { cc_backoff_t b = CC_BACKOFF_INIT; %s cc_backoff(&b); return 0; }\n"
    library = linked == "library"
    with tempfile.TemporaryDirectory() as folder:
        out, log = pathlib.Path(folder) / "program", pathlib.Path(folder) / "log"
        run(gcc, "-std=gnu11", "-O2", "-static", "-pthread", "-I", INCLUDE, *(sources if library else []),
            "-x", "c", "-", "-o", out,
            stdin=program % ("cc_costs();" if library else ""))
        run(qemu, "-cpu", cpu, "-d", "in_asm", "-D", log, out)
        executed = log.read_text()  # what the emulator translated, which it does when it gets there
    sb, isb = "d50330ff" in executed, "d5033fdf" in executed
    need((sb, isb) == (library and cpu == "max", not (library and cpu == "max")), "executed: sb %s, isb %s" % (sb, isb))


def fast_path(code, function):
    """The instructions that run when the first compare-and-swap succeeds, from entry to return."""
    body = re.search(r"<%s>:\n(.*?)(\n\n|\Z)" % function, code, flags=re.S).group(1)
    lines = re.findall(r"^\s*([0-9a-f]+):\s+(\S.*)$", body, flags=re.M)
    where = {int(at, 16): i for i, (at, _) in enumerate(lines)}
    path, i, equal = [], 0, False
    while True:
        text = lines[i][1]
        path.append(text)
        mnemonic = text.split()[0]
        if mnemonic == "ret":
            return path
        if "cmpxchg" in text:
            equal = True
        jump = re.match(r"(j\w+)\s+([0-9a-f]+)", text)
        if jump:
            need(equal, "a branch before the compare-and-swap: %s" % text)
            need(jump.group(1) in ("je", "jne", "jmp"), "an unknown branch: %s" % text)
            if jump.group(1) != "jne":
                i = where[int(jump.group(2), 16)]
                continue
        i += 1


@case(each=["%s %s %s" % (c, o, f) for c in ("gcc", "clang") for o in ("-O2", "-O3") for f in ("fresh", "kept")])
def backoff_adds_nothing_to_a_first_success(what):
    compiler, level, form = what.split()
    if run("uname", "-m").strip() != "x86_64":
        skip("reads x86-64 code")
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "code.o"
        run(tool(compiler), "-std=c11", level, "-I", INCLUDE, "-c", SOURCE / "tests/compile/fast_path.c", "-o", out)
        code = run(tool("objdump"), "-d", "--no-show-raw-insn", out)
    plain, backed = fast_path(code, "without_backoff"), fast_path(code, "with_%s_backoff" % form)
    if form == "kept":
        # One argument more may take a move between registers; what must not be there is an access to the backoff.
        plain, backed = ([i for i in path if "(" in i and not i.startswith(("nop", "cs nop"))]
                         for path in (plain, backed))
    need(len(backed) <= len(plain), "with backoff:\n%s\nwithout:\n%s" % ("\n".join(backed), "\n".join(plain)))


HOT = """#include <concede/concede.h>
CC_CHANNEL_TYPED(number, uint64_t)
int send_(cc_channel_t *c, const void *m) { return cc_channel_send(c, m); }
int recv_(cc_channel_t *c, void *m) { return cc_channel_recv(c, m); }
int send_number(cc_channel_t *c, uint64_t n) { return number_send(c, n); }
int recv_number(cc_channel_t *c, uint64_t *n) { return number_recv(c, n); }
uint64_t sum(cc_channel_t *c) { uint64_t s = 0, n; while (number_recv(c, &n) == 0) s += n; return s; }
size_t recv_numbers(cc_channel_t *c, uint64_t *n) { return number_recv_many(c, n, 32); }
void set(cc_event_t *e, uint32_t *flag) { cc_store_release(flag, 1); cc_event_notify_one(e); }
void give(cc_parker_t *p) { cc_parker_unpark(p); }
void count(cc_lock_t *l, int *n) { cc_lock_acquire(l); ++*n; cc_lock_release(l); }
"""


RELEASE = "#include <concede/lock.h>\nvoid release(cc_lock_t *lock) { cc_lock_release(lock); }\n"


# architecture: (gcc, target of clang, objdump, the store, what must not be on the way, what says that it is a sequence)
STORES = {
    "x86-64": ("x86_64-linux-gnu-gcc", "x86_64-linux-gnu", "x86_64-linux-gnu-objdump", r"movl?\s+\$0x0,\(%rdi\)",
               r"lock|call|xchg", r"%fs:"),
    "ARM64": ("aarch64-linux-gnu-gcc", "aarch64-linux-gnu", "aarch64-linux-gnu-objdump", r"stlr\s+w",
              r"bl\b|ldadd|ldxr|stxr|stlxr|cas|swp", r"\[x16"),
}


@case(each=["%s %s %s" % (a, c, o) for a in STORES for c in ("gcc", "clang") for o in ("-O2", "-O3", "-Os")])
def a_lock_that_nobody_waits_for_is_released_by_a_plain_store(what):
    architecture, compiler, level = what.split()
    gcc, target, objdump, store, costly, sequence = STORES[architecture]
    command = [tool(gcc)] if compiler == "gcc" else [tool("clang"), "--target=" + target, "-ffreestanding"]
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "code.o"
        run(*command, "-std=c11", level, "-I", INCLUDE, "-x", "c", "-", "-c", "-o", out, stdin=RELEASE)
        code = run(tool(objdump), "-d", "--no-show-raw-insn", "-j", ".text", out)
    lines = re.findall(r"^\s*[0-9a-f]+:\s+(\S.*)$", re.search(r"<release>:\n(.*)", code, flags=re.S)[1], flags=re.M)
    at = next((i for i, text in enumerate(lines) if re.match(store, text)), None)
    need(at is not None, "no plain store in\n" + code)
    # What falls through to the store, back to a jump or the entry, and from there on to the return or a jump to it.
    first = max((i + 1 for i in range(at) if re.match(r"jmp|ret|call|b\s", lines[i])), default=0)
    last = next(i for i in range(at, len(lines)) if re.match(r"ret|jmp|b\s", lines[i]))
    way = lines[first:last + 1]
    need(not [text for text in way if re.match(costly, text)], "on the way:\n" + "\n".join(way))
    need(sum(bool(re.search(sequence, text)) for text in way) >= 2, "no restartable sequence:\n" + "\n".join(way))


@case(each=["%s %s" % (c, o) for c in ("gcc", "clang") for o in ("-O2", "-O3")])
def what_happens_every_time_is_not_among_the_cold_code(what):
    compiler, level = what.split()
    if run("uname", "-m").strip() != "x86_64":
        skip("reads x86-64 code")
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "code.o"
        run(tool(compiler), "-std=c11", level, "-I", INCLUDE, "-x", "c", "-", "-c", "-o", out, stdin=HOT)
        code = run(tool("objdump"), "-d", "--no-show-raw-insn", out)
    # Cold code is there to call something. What decides whether to call it runs every time.
    for name, body in re.findall(r"<(\w+\.cold(?:\.\d+)?)>:\n(.*?)(?:\n\n|\Z)", code, flags=re.S):
        called = False
        for text in re.findall(r"^\s*[0-9a-f]+:\s+(\S.*)$", body, flags=re.M):
            need(called or not re.match(r"j(?!mp)", text), "%s decides:\n%s" % (name, body))
            called = "call" in text or (called and not re.match(r"jmp|ret", text))


# Where a channel keeps those who select and its descriptors: what a send or a receive inline has no business with.
DOORS = """#include <concede/concede.h>
#include <stdio.h>
int main(void) { printf("%zu %zu", offsetof(cc_channel_t, doors), sizeof(cc_channel_t)); return 0; }
"""


@case(each=["%s %s" % (c, o) for c in ("gcc", "clang") for o in ("-O2", "-O3")])
def sends_and_receives_know_nothing_of_selects(what):
    compiler, level = what.split()
    if run("uname", "-m").strip() != "x86_64":
        skip("reads x86-64 code")
    with tempfile.TemporaryDirectory() as folder:
        out, program = pathlib.Path(folder) / "code.o", pathlib.Path(folder) / "doors"
        run(tool(compiler), "-std=c11", level, "-I", INCLUDE, "-x", "c", "-", "-c", "-o", out, stdin=HOT)
        run(tool(compiler), "-std=c11", "-I", INCLUDE, "-x", "c", "-", "-o", program, stdin=DOORS)
        first, end = map(int, run(program).split())
        code = run(tool("objdump"), "-d", "--no-show-raw-insn", out)
    used = {int(offset, 16) for offset in re.findall(r"(?<![-\w])0x([0-9a-f]+)\(%r", code)}
    need(any(offset >= end for offset in used), "no slot is used: %s" % sorted(used))
    need(not any(first <= offset < end for offset in used), "%d to %d: %s" % (first, end, sorted(used)))


# All that the headers say of channels between processes, and what is left of a line without it.
SHARED = {"concede.h": ("#include <concede/shared.h>\n", ""),
          "channel.h": ("#define CC_CHANNEL_SHARED_ SIZE_MAX\n", ""),
          "channel.h enum": (", CC_CHANNEL_MEND_ }", " }"),
          "channel.h field": ("size_t allocated_before;", "size_t a_field_that_no_header_names;")}


@case(each=["%s %s" % (c, o) for c in ("gcc", "clang") for o in ("-O2", "-O3")])
def a_private_channel_is_instruction_for_instruction_what_it_would_be_without_shared_ones(what):
    compiler, level = what.split()
    with tempfile.TemporaryDirectory() as folder:
        without, codes = pathlib.Path(folder) / "include", []
        shutil.copytree(INCLUDE, without)
        for where, (text, left) in SHARED.items():
            header = without / "concede" / where.split()[0]
            need(header.read_text().count(text) == 1, "%s does not say %s" % (header.name, text))
            header.write_text(header.read_text().replace(text, left))
        for include in (INCLUDE, without):
            out = pathlib.Path(folder) / "code.o"
            run(tool(compiler), "-std=c11", level, "-I", include, "-x", "c", "-", "-c", "-o", out, stdin=HOT)
            codes.append(run(tool("objdump"), "-dr", "--no-show-raw-insn", out))
    need("send_number" in codes[0] and codes[0] == codes[1], "it is other code")
    need("shared" not in codes[0], "it calls something of theirs")


@case
def a_select_allocates_nothing():
    with tempfile.TemporaryDirectory() as folder:
        for name in ("select", "door", "event", "lock"):
            out = pathlib.Path(folder) / (name + ".o")
            run(tool("gcc"), "-std=c11", "-O2", "-I", INCLUDE, "-c", SOURCE / ("src/%s.c" % name), "-o", out)
            wanted = re.findall(r"U (\w+)", run(tool("nm"), out))
            need(wanted and not re.search(r"alloc|^mmap|^sbrk|^_Znw", "\n".join(wanted), flags=re.M), "%s: %s" %
                 (name, wanted))


if __name__ == "__main__":
    main()
