#!/usr/bin/env python3
"""Writes the whole library as one file, for projects that take their dependencies that way.

    scripts/single-header.py [FILE]     concede_single.h, say; nothing or - prints it

Every file includes it, after or before whatever else it includes; exactly one C or C++ file defines
CONCEDE_IMPLEMENTATION first and gets the code too. A FILE that ends in .hpp also holds concede.hpp, for C++.
"""
import pathlib
import re
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[1]
# How a compiler tells the system of src/os_<system>.c; the one without a condition is for all others.
SYSTEMS = {"linux": "defined(__linux__)", "windows": "defined(_WIN32)", "macos": "defined(__APPLE__)",
           "freebsd": "defined(__FreeBSD__)", "openbsd": "defined(__OpenBSD__)", "posix": None}
# A comment, a string or a character: not code, so no name in it is a name.
NO_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', flags=re.S)

# Where the user included a header first, with -std=c11, it is too late to ask for more than the C standard. Then these
# are missing; they have one value, or one type, on every Linux, or the C library has them under another name.
LINUX_LATE = """#if defined(__linux__) && !defined(__cplusplus)
#include <fcntl.h>
#include <time.h>
#include <unistd.h>
#if defined(__GLIBC__) && !defined(__USE_MISC) || !defined(__GLIBC__) && !defined(_GNU_SOURCE)
long syscall(long, ...);
#endif
#if !defined(CLOCK_MONOTONIC)
#define CLOCK_MONOTONIC          1
#define CLOCK_PROCESS_CPUTIME_ID 2
int clock_gettime(int, struct timespec *);
#endif
#if !defined(AT_FDCWD)
#define AT_FDCWD (-100)
#endif
#if !defined(O_CLOEXEC)
#define O_CLOEXEC   __O_CLOEXEC
#define O_DIRECTORY __O_DIRECTORY
#define O_NOFOLLOW  __O_NOFOLLOW
#endif
#endif
"""

CXX = """#if defined(__cplusplus) /* the sources are C: what C++ has only as an extension is meant */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#if !defined(__clang__) && __GNUC__ >= 12
#pragma GCC diagnostic ignored "-Wc++20-extensions"
#endif
#define CC_THREAD_LOCAL_ thread_local
#else
#define CC_THREAD_LOCAL_ _Thread_local
#endif
"""

seen = set()


def find(path, name):
    """The file of ours that an #include in `path` means; None: it is another's."""
    for folder in (path.parent, SOURCE / "include", SOURCE / "src"):
        if (folder / name).exists():
            return folder / name
    return None


def expanded(path):
    """The file with our own headers put in place of their #include, each once."""
    out = []
    for line in path.read_text().splitlines():
        found = re.match(r'#include\s+[<"](concede/\w+\.h|\w+\.h)[>"]', line)
        target = find(path, found.group(1)) if found else None
        if target is None:
            out.append(line)
        elif target not in seen:
            seen.add(target)
            out.append(expanded(target))
    return "\n".join(out)


def private_names(path):
    """What a file defines at file scope for itself."""
    text = NO_CODE.sub("", path.read_text())
    names = set(re.findall(r"^[ \t]*#[ \t]*define (\w+)", text, flags=re.M))
    names |= set(re.findall(r"^(?:CC_\w+_ )*static\b[^=;({]*?\b(\w+)\s*(?:\[[^\]]*\])?\s*[=;(]", text, flags=re.M))
    for line in re.findall(r"^(?:CC_\w+_(?:\(\w+\))? )*static\b((?:[^={};()]|CC_\w+_\(\w+\))*)[;=]", text,
                           flags=re.M):
        names |= set(re.findall(r"(\w+)\s*(?:\[[^\]]*\])*\s*(?:,|$)", line))
    names |= set(re.findall(r"^(?:typedef )?(?:struct|union|enum) (\w+)\s*\{", text, flags=re.M))
    names |= set(re.findall(r"^\} (\w+)(?:\[[^\]]*\])?\s*[;=]", text, flags=re.M))
    names |= set(re.findall(r"^typedef [^{;]*?\b(\w+);", text, flags=re.M))
    for body in re.findall(r"^(?:typedef )?enum(?: \w+)?\s*\{(.*?)\}", text, flags=re.M | re.S):
        names |= set(re.findall(r"(?:^|,)\s*(\w+)", body))
    return {n for n in names if not re.match(r"cc_|CC_|CONCEDE_|SDT_|_", n)}


def renamed(text, names):
    """The text with each name replaced where it is one: not in a comment, nor as a member of a struct."""
    if not names:
        return text
    pattern = re.compile(NO_CODE.pattern + r"|(?<![\w.>])(?:%s)\b" % "|".join(sorted(names, key=len, reverse=True)),
                         flags=re.S)
    return pattern.sub(lambda m: names.get(m.group(), m.group()), text)


def source(path):
    """A source file, with a prefix on what is private to it or to src/, so that it clashes with no name around it."""
    names = {name: "cc_in_" + name for header in sorted((SOURCE / "src").glob("*.h")) for name in private_names(header)}
    names.update({name: "cc_in_%s_%s" % (path.stem, name) for name in private_names(path)})
    names["_Thread_local"] = "CC_THREAD_LOCAL_"
    return "/* ---- src/%s ---- */\n%s\n" % (path.name, renamed(expanded(path), names))


def systems():
    """The code for each system, of which one is compiled, so each may bring what the others bring too."""
    before, parts, word = set(seen), [], "if"
    for system in sorted(f.stem[3:] for f in (SOURCE / "src").glob("os_*.c")):
        if system not in SYSTEMS:
            sys.exit("single-header.py: SYSTEMS does not say how a compiler tells " + system)
    for system, condition in SYSTEMS.items():
        file = SOURCE / ("src/os_%s.c" % system)
        if file.exists():
            seen.clear(), seen.update(before)
            parts += ["#%s %s" % (word, condition) if condition else "#else", source(file)]
            word = "elif"
    return parts + ["#endif"]


def generate(cxx):
    seen.clear()
    licence = (SOURCE / "LICENSE").read_text().strip().replace("\n", "\n * ").replace(" * \n", " *\n")
    version = re.search(r'CC_VERSION_STRING "(.*)"', (SOURCE / "include/concede/version.h").read_text()).group(1)
    name = "concede_single.hpp" if cxx else "concede_single.h"
    parts = ["/* concede %s in one file, made by scripts/single-header.py.\n *\n"
             " * Include it anywhere; in exactly one C or C++ file write\n *\n"
             " *     #define CONCEDE_IMPLEMENTATION\n *     #include \"%s\"\n *\n"
             " * On systems other than Linux, Windows, macOS, FreeBSD and OpenBSD link with -pthread.\n *\n * %s */"
             % (version, name, licence),
             "#if defined(CONCEDE_IMPLEMENTATION) && !defined(_GNU_SOURCE)\n#define _GNU_SOURCE\n#endif",
             expanded(SOURCE / "include/concede/concede.h")]
    if cxx:
        parts.append(expanded(SOURCE / "include/concede/concede.hpp"))
    parts += ["#if defined(CONCEDE_IMPLEMENTATION) && !defined(CONCEDE_IMPLEMENTED)\n#define CONCEDE_IMPLEMENTED", CXX]
    # symbols.c is the inline functions as symbols, which nobody needs who has them inline.
    parts += [source(f) for f in sorted((SOURCE / "src").glob("*.c"))
              if not f.stem.startswith("os_") and f.stem != "symbols"]
    parts += [LINUX_LATE] + systems() + ["#if defined(__cplusplus)\n#pragma GCC diagnostic pop\n#endif\n#endif\n"]
    return "\n".join(parts)


if __name__ == "__main__":
    output = sys.argv[1] if len(sys.argv) > 1 else "-"
    if output in ("-h", "--help"):
        print(__doc__.strip())
    elif len(sys.argv) > 2 or output.startswith("-") and output != "-":
        print("usage: scripts/single-header.py [FILE]; see --help", file=sys.stderr)
        sys.exit(2)
    elif output == "-":
        sys.stdout.write(generate(False))
    else:
        pathlib.Path(output).write_text(generate(output.endswith(".hpp")))
