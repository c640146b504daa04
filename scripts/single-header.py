#!/usr/bin/env python3
"""Writes concede_single.h: the whole library in one file, for projects that take their dependencies that way.

    scripts/single-header.py [output]        (- or nothing: to the screen)

Every file includes it; exactly one C file defines CONCEDE_IMPLEMENTATION first and gets the code too. That file must
include it before any other header. What is private to a source file gets a prefix on the way, so that nothing of it can
clash with the names of the file it lands in.
"""
import pathlib
import re
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[1]
SYSTEMS = [("linux", "defined(__linux__)"), ("windows", "defined(_WIN32)"), ("macos", "defined(__APPLE__)"),
           ("freebsd", "defined(__FreeBSD__)"), ("openbsd", "defined(__OpenBSD__)")]
seen = set()


def expanded(path):
    """The file with our own headers put in place of their #include, each once."""
    out = []
    for line in path.read_text().splitlines():
        found = re.match(r'#include\s+[<"](concede/\w+\.h|\w+\.h)[>"]', line)
        target = None
        if found:
            for folder in (path.parent, SOURCE / "include", SOURCE / "src"):
                if (folder / found.group(1)).exists():
                    target = folder / found.group(1)
                    break
        if target is None:
            out.append(line)
        elif target not in seen:
            seen.add(target)
            out.append(expanded(target))
    return "\n".join(out)


def private_names(text):
    """What a source file defines at file scope for itself."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    names = set(re.findall(r"^#define (\w+)", text, flags=re.M))
    names |= set(re.findall(r"^static\b[^=;({]*?\b(\w+)\s*(?:\[[^\]]*\])?\s*[=;(]", text, flags=re.M))
    names |= set(re.findall(r"^(?:typedef )?(?:struct|union|enum) (\w+) \{", text, flags=re.M))
    names |= set(re.findall(r"^\} (\w+);", text, flags=re.M))
    for body in re.findall(r"^(?:typedef )?enum(?: \w+)? \{(.*?)\}", text, flags=re.M | re.S):
        names |= set(re.findall(r"(?:^|,)\s*(\w+)", body))
    return {n for n in names if not re.match(r"cc_|CC_|CONCEDE_|_", n)}


def source(path):
    text = expanded(path)
    for name in private_names(path.read_text()):
        text = re.sub(r"(?<![\w.>])%s\b" % name, "cc_in_%s_%s" % (path.stem, name), text)
    return "/* ---- src/%s ---- */\n%s\n" % (path.name, text)


def generate():
    licence = (SOURCE / "LICENSE").read_text().strip()
    text = re.search(r'CC_VERSION_STRING "(.*)"', (SOURCE / "include/concede/version.h").read_text()).group(1)
    parts = ["/* concede %s in one file, made by scripts/single-header.py.\n *\n"
             " * Include it anywhere; in exactly one C file, before any other header:\n *\n"
             " *     #define CONCEDE_IMPLEMENTATION\n *     #include \"concede_single.h\"\n *\n"
             " * On systems other than Linux, Windows, macOS, FreeBSD and OpenBSD link with -pthread.\n *\n * %s */"
             % (text, licence.replace("\n", "\n * ").replace(" * \n", " *\n")),
             "#if defined(CONCEDE_IMPLEMENTATION) && !defined(_GNU_SOURCE)\n#define _GNU_SOURCE\n#endif",
             expanded(SOURCE / "include/concede/concede.h"),
             "#if defined(CONCEDE_IMPLEMENTATION) && !defined(CONCEDE_IMPLEMENTED)\n#define CONCEDE_IMPLEMENTED"]
    parts += [source(f) for f in sorted((SOURCE / "src").glob("*.c"))
              if not f.stem.startswith("os_") and f.stem != "symbols"]
    # One system is compiled, so each may bring the private headers that the others also bring.
    before = set(seen)
    for word, (system, condition) in zip(["if"] + ["elif"] * 9, SYSTEMS):
        if (SOURCE / ("src/os_%s.c" % system)).exists():
            seen.clear(), seen.update(before)
            parts += ["#%s %s" % (word, condition), source(SOURCE / ("src/os_%s.c" % system))]
    seen.clear(), seen.update(before)
    parts += ["#else", source(SOURCE / "src/os_posix.c"), "#endif\n#endif\n"]
    return "\n".join(parts)


if __name__ == "__main__":
    output = sys.argv[1] if len(sys.argv) > 1 else "-"
    if output == "-":
        sys.stdout.write(generate())
    else:
        pathlib.Path(output).write_text(generate())
