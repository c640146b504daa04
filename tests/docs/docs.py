"""Holds the manual pages, README.md and doc/ to the headers and the sources."""
import html.parser
import os
import pathlib
import re
import shlex
import sys
import tempfile
from importlib.machinery import SourceFileLoader

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests"))
from checks import case, main, need, run, skip, tool  # noqa: E402

HEADERS = sorted(SOURCE.glob("include/concede/*.h"))
PAGES = sorted(SOURCE.glob("man/*.[1-9]"))
MARKDOWN = [SOURCE / "README.md", SOURCE / "CHANGELOG.md", SOURCE / "CONTRIBUTING.md", *sorted(SOURCE.glob("doc/*.md"))]
RENDERED = sorted(SOURCE.glob("doc/man/*.md"))


def none(problems):
    problems = list(problems)
    need(not problems, "\n".join(problems))


def one_space(text):
    return re.sub(r"\s*\*\s*", " *", re.sub(r"\s+", " ", text)).strip()


def without_comments(text):
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


def structs(text):
    """The structs that a text declares: name -> its fields."""
    return {name: one_space(body)
            for body, name in re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", without_comments(text), flags=re.S)}


class Page:
    """A manual page, as far as we need to understand mdoc."""

    def __init__(self, path):
        self.path = path
        self.names, self.functions, self.structs, self.programs, self.references = [], {}, {}, [], []
        self.headers, self.parts = [], []  # parts: of literal text, what is neither a struct nor a whole program
        section = header = returns = literal = None
        for line in path.read_text().splitlines():
            if literal is not None:
                if line != ".Ed":
                    literal.append(line.replace(r"\e", "\\").replace(r"\&", ""))
                    continue
                text = "\n".join(literal) + "\n"
                literal = None
                if section == "EXAMPLES" and "#include" in text:
                    self.programs.append(text)
                else:
                    self.structs.update(structs(text))
                    text = re.sub(r"typedef struct \w+ \{.*?\} \w+;", "", text, flags=re.S)
                    self.parts += [(section, text)] if text.strip() else []
            elif line.startswith(".Sh "):
                section = line[4:]
            elif line.startswith(".Bd -literal"):
                literal = []
            elif line.startswith(".Nm ") and section == "NAME":
                self.names.append(line.split()[1])
            elif section == "SYNOPSIS" and line.startswith(".In "):
                header = line.split()[1]
                self.headers.append(header)
            elif section == "SYNOPSIS" and line.startswith(".Ft "):
                returns = one_space(line[4:])
            elif section == "SYNOPSIS" and line.startswith((".Fo ", ".Fa ")):  # .Fn over several lines
                spread = (spread if line.startswith(".Fa") else "") + line[3:]
            elif section == "SYNOPSIS" and line.startswith((".Fn ", ".Fc")):
                name, *arguments = shlex.split(spread if line == ".Fc" else line[4:])
                self.functions[name] = (header, returns, [one_space(a) for a in arguments])
            elif line.startswith(".Dl "):
                self.parts.append((section, line[4:] + "\n"))
            if line.startswith("."):
                self.references += re.findall(r"\bXr (\S+) ([1-9])", line)


def public(name):
    return not name.endswith("_") and not name.startswith("CONCEDE_")


def declared():
    """Public functions and macros with arguments: name -> (header, what it returns or None for a macro, arguments)."""
    found = {}
    for path in HEADERS:
        header, text = "concede/" + path.name, path.read_text()
        code = re.sub(r"^[ \t]*#(?:.*\\\n)*.*\n", "", without_comments(text), flags=re.M)
        marks, parameters = r"^(?:CC_MUST_USE_ )?(?:CC_API|CC_INLINE_)\s+(?:CC_\w+_\s+)*", r"((?:[^()]|\([^()]*\))*)"
        for returns, name, arguments in re.findall(marks + r"([\w\s*]*?[\s*])(cc_\w+)\(" + parameters + r"\)",
                                                   code, flags=re.M):
            if public(name):
                found[name] = (header, one_space(returns), [one_space(a) for a in arguments.split(",")])
        for name, arguments in re.findall(r"^#define (cc_\w+|CC_\w+)\(([^)]*)\)", text, flags=re.M):
            if public(name):
                found[name] = (header, None, arguments.split(",") if arguments else ["void"])
    return found


def described():
    """What the SYNOPSIS sections say, in the form of declared(), with the page's name in front."""
    found = {}
    for page in map(Page, PAGES):
        for name, what in page.functions.items():
            need(name not in found, "%s is in %s and in %s" % (name, found.get(name, [0])[0], page.path.name))
            found[name] = (page.path.name, *what)
    return found


@case(each=[p.name for p in PAGES])
def page_has_no_warning(name):
    path = SOURCE / "man" / name
    # Which pages of others are installed here is none of our business.
    lint = run("sh", "-c", '"$0" -T lint -W style "$1" 2>&1 || true', tool("mandoc"), path).splitlines()
    none(l for l in lint if "referenced manual not found" not in l and "outdated mandoc.db" not in l)
    none(run(tool("groff"), "-mdoc", "-ww", "-z", "-Tutf8", path).splitlines())


# What `man` shows in a terminal of 80 columns: it leaves two free.
FORMATTERS = {"groff": ["-mdoc", "-Tutf8", "-P-cbou", "-rLL=78n"], "mandoc": ["-Tutf8", "-O", "width=78"]}


@case(each=["%s, %s" % (p.name, f) for p in PAGES for f in FORMATTERS])
def page_fits_80_columns(which):
    name, formatter = which.split(", ")
    text = re.sub(".\b", "", run(tool(formatter), *FORMATTERS[formatter], SOURCE / "man" / name))
    need(len(text) > 1000, text)
    none("%d columns: %s" % (len(line), line) for line in text.splitlines() if len(line) > 80)


@case(each=["%s, %s" % (p.name, f) for p in PAGES for f in FORMATTERS])
def heading_is_shown_as_it_is_written(which):
    """A word such as An in it may be the name of a macro."""
    name, formatter = which.split(", ")
    shown = re.sub(".\b", "", run(tool(formatter), *FORMATTERS[formatter], SOURCE / "man" / name)).splitlines()
    headings = re.findall(r"^\.S[sh] (.*)$", (SOURCE / "man" / name).read_text(), flags=re.M)
    none("no heading '%s'" % h for h in headings if h.replace(r"\&", "") not in map(str.strip, shown))


@case(each=[p.name for p in PAGES])
def columns_of_a_table_are_wide_enough(name):
    """Else two cells run into each other under man. The last column has no width: so it wraps where it begins."""
    cell = SourceFileLoader("manual", str(SOURCE / "doc/manual")).load_module().cell
    problems = []
    for widths, body in re.findall(r"^\.Bl -column(.*)\n((?:.*\n)*?)\.El", (SOURCE / "man" / name).read_text(),
                                   flags=re.M):
        widths = re.findall(r'"([^"]*)"', widths)
        rows = [[cell(c).replace("`", "") for c in re.split(r" ?\bTa\b ?", row)]
                for row in re.findall(r"^\.It ?(.*)$", body, flags=re.M)]
        problems += ["%d widths for %s" % (len(widths), row) for row in rows if len(row) - 1 > len(widths)]
        problems += ["'%s' is wider than '%s'" % (text, width) for row in rows for text, width in zip(row[:-1], widths)
                     if len(text) > len(width)]
        if rows and max(map(len, rows)) <= len(widths):
            problems.append("a width for the last column: %s" % widths)
    none(problems)


@case
def reference_to_a_page_of_ours_leads_to_one():
    none("%s: no page %s(%s)" % (path.name, name, section) for path in PAGES for name, section in Page(path).references
         if re.match(r"cc_|concede", name) and SOURCE / "man" / (name + "." + section) not in PAGES)


@case
def name_section_lists_what_the_synopsis_shows():
    none("%s: %s" % (page.path.name, name) for page in map(Page, PAGES)
         for name in page.functions if name not in page.names)


@case
def every_name_leads_to_its_page():
    # What is installed beside the pages: `man cc_lock_release` shows cc_lock(3).
    made = pathlib.Path(os.environ["CONCEDE_BINARY_DIR"], "man")
    if not made.exists():
        skip("configured without install rules")
    for page in map(Page, PAGES):
        section = page.path.suffix
        for name in page.names:
            if name != page.path.stem and not (SOURCE / "man" / (name + section)).exists():
                link = (made / (name + section)).read_text()
                need(link == ".so man%s/%s\n" % (section[1:], page.path.name), "%s leads to %s" % (name, link))


@case(each=sorted(declared()))
def synopsis_is_what_the_header_declares(name):
    header, returns, arguments = declared()[name]
    need(name in described(), "no page has it")
    page, *shown = described()[name]
    if returns is None:  # of a macro the number of arguments is ours to check; their types are for the reader
        shown, real = [shown[0], len(shown[2])], [header, len(arguments)]
    else:
        real = [header, returns, arguments]
    need(shown == real, "%s says %s, the header says %s" % (page, shown, real))


@case
def synopsis_describes_nothing_that_is_not_there():
    none("%s: %s" % (described()[name][0], name) for name in described().keys() - declared().keys())


@case
def struct_in_a_synopsis_is_that_of_the_header():
    real = {name: body for path in HEADERS for name, body in structs(path.read_text()).items()}
    none("%s: %s" % (page.path.name, name) for page in map(Page, PAGES)
         for name, body in page.structs.items() if real.get(name) != body)


@case
def every_public_constant_is_on_a_page():
    text = "\n".join(p.read_text() for p in PAGES)
    # compiler.h is what the headers themselves are made of.
    none("%s: %s" % (path.name, name) for path in HEADERS if path.name != "compiler.h"
         for name in re.findall(r"^#define (CC_\w+)(?!\w|\()", path.read_text(), flags=re.M)
         if public(name) and not re.search(r"\b%s\b" % name, text))


LABEL = r"\[([a-z_]+\.[a-z_]+)\]"
LABELLED = [*HEADERS, *sorted(SOURCE.glob("src/*.[ch]")), *sorted(SOURCE.glob("preload/*.[ch]"))]


def entries():
    return re.findall(r"^#+ .*?" + LABEL, (SOURCE / "doc/memory-model.md").read_text(), flags=re.M)


def labels():
    return {label for path in LABELLED for label in re.findall(LABEL, path.read_text())}


@case
def every_label_has_one_entry_in_the_memory_model_and_every_entry_a_label():
    none(["no entry: " + l for l in sorted(labels() - set(entries()))]
         + ["no such label in the sources: " + e for e in entries() if e not in labels()]
         + ["two entries: " + e for e in set(entries()) if entries().count(e) > 1])


@case(each=[str(p.relative_to(SOURCE)) for p in LABELLED if p.name != "atomic.h"])
def every_ordered_access_carries_a_label(name):
    # The label stands on the line, before the end of its statement, or in the comment right above that.
    ordered = re.compile(r"\bcc_(load|store|exchange|cas|fetch)(_\w+)?_(acquire|release|acq_rel)\(|\bcc_fence_full\(\)")
    raw = (SOURCE / name).read_text().splitlines()
    code = re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m.group()), "\n".join(raw), flags=re.S).splitlines()
    problems = []
    for number, line in enumerate(code):
        if not ordered.search(line):
            continue
        first = last = number
        while first > 0 and code[first - 1].strip() and not re.search(r"[;{}]\s*\\?$", code[first - 1].rstrip()):
            first -= 1
        while last + 1 < len(code) and not re.search(r"[;{}]", code[last]):
            last += 1
        while first > 0 and raw[first - 1].strip() and not code[first - 1].strip():
            first -= 1
        if not re.search(LABEL, "\n".join(raw[first:last + 1])):
            problems.append("line %d: %s" % (number + 1, raw[number].strip()))
    none(problems)


def programs():
    """Every whole program in a page or in README.md: name -> (language, text)."""
    found = {}
    for page in map(Page, PAGES):
        for number, text in enumerate(page.programs, 1):
            found["%s#%d" % (page.path.name, number)] = ("cpp" if "concede.hpp" in text else "c", text)
    readme = re.findall(r"^```(c|cpp)\n(.*?)^```", (SOURCE / "README.md").read_text(), flags=re.M | re.S)
    for number, what in enumerate(readme, 1):
        found["README.md#%d" % number] = what
    return found


@case(each=list(programs()))
def program_compiles_without_a_warning_and_runs(name):
    language, text = programs()[name]
    compiler = [os.environ.get("CC", "cc"), "-std=c11"]
    if language == "cpp":
        compiler = [tool(os.environ.get("CXX") or "c++"), "-std=c++11"]
    library = pathlib.Path(os.environ["CONCEDE_BINARY_DIR"], "libconcede.a")
    with tempfile.TemporaryDirectory() as folder:
        source, program = pathlib.Path(folder, "program." + language), pathlib.Path(folder, "program")
        source.write_text(text)
        if "concede_single.h" in text:
            run(sys.executable, SOURCE / "scripts/single-header.py", pathlib.Path(folder, "concede_single.h"))
            library = pathlib.Path(folder)  # nothing to link with
        run(*compiler, "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-D_GNU_SOURCE", "-pthread",
            "-I", SOURCE / "include", source, *([library] if library.is_file() else []), "-o", program)
        run(program)


# What stands around a part of a program: %s is its text, where it has two columns the left one and then the right one.
AROUND = {
    "cc_event.3": "bool pop(void *queue, int *x);\nvoid push(void *queue, int x);\nstatic cc_event_t event;\n"
                  "void wait_for_it(void *queue) { int x; %s }\nvoid make_it_hold(void *queue) { int x = 1; %s }\n",
    "cc_lock.3": "static cc_lock_t lock;\nstatic int letters;\n%s\nbool (*use)(void *) = letter_is_there;\n",
    "concede_hpp.3": "template <typename T>\nvoid all(size_t capacity, unsigned kind, unsigned snooze_iters) { %s }\n"
                     "template void all<int>(size_t, unsigned, unsigned);\n",
}
# Who tries the rest: a file, and what in it shows that it does.
TRIED = {
    "cc_backoff.3, snooze number": ("tests/unit/backoff.c", "CC_SNOOZE_INIT"),
    "concede-pthread.7, LD_PRELOAD=": ("tests/preload/try.py", "LD_PRELOAD"),
    "concede.1, concede ": ("tests/tool/tool.py", "every_command_in_readme_and_manual"),
    "concede.7, cc ": ("tests/consumers/consumers.py", "man/concede.7"),
    "concede_debug.7, (gdb) print lock": ("tests/consumers/gdb.py", "held, 2 asleep, 1 owed"),
    "concede_debug.7, concede: ": ("tests/docs/docs.py", "message_of_the_debug_mode_is"),
    "concede_probes.7, cat >waits.bt": ("tests/compile/probes.py", "tracer_records_waits_that_tune_reads"),
    "concede_probes.7, perf buildid": ("tests/compile/probes.py", "perf_records_waits_that_tune_reads"),
    "concede_single.3, scripts/single-header.py": ("tests/consumers/consumers.py", "scripts/single-header.py"),
}


def declares(section, text):
    return section == "SYNOPSIS" and text.rstrip().endswith(";")


def parts_of_programs():
    """The parts of programs in the pages, made whole: page -> texts."""
    found = {}
    for page in map(Page, PAGES):
        name = page.path.name
        for section, text in page.parts:
            first, *rest = text.splitlines()
            second = len(first) - len(first.split("   ")[-1].lstrip())  # where a second column begins, else 0
            columns = ["\n".join(line[:second] for line in rest), "\n".join(line[second:] for line in rest)]
            columns = columns if second else [text]
            if name in AROUND and AROUND[name].count("%s") == len(columns) and not text.startswith("cc_"):
                found.setdefault(name, []).append(AROUND[name] % tuple(columns))
            elif declares(section, text):  # each by itself: they have one name
                found.setdefault(name, []).extend("void part(void) { %s (void)%s; }\n" % (line, line.split()[1])
                                                  for line in text.strip().splitlines())
    return found


@case
def every_literal_text_in_a_page_is_tried_by_something():
    for page in map(Page, PAGES):
        for section, text in page.parts:
            name = "%s, %s" % (page.path.name, text)
            tried = [t for start, t in TRIED.items() if name.startswith(start)]
            need(tried or declares(section, text) or page.path.name in AROUND, "nothing tries " + name)
            for file, shown in tried:
                need(shown in (SOURCE / file).read_text(), "%s does not try %s" % (file, name))


@case(each=list(parts_of_programs()))
def part_of_a_program_compiles(name):
    headers = Page(SOURCE / "man" / name).headers
    compiler = [os.environ.get("CC", "cc"), "-std=c11", "-x", "c"]
    if "concede/concede.hpp" in headers:
        compiler = [tool(os.environ.get("CXX") or "c++"), "-std=c++11", "-x", "c++"]
    includes = "".join("#include <%s>\n" % h for h in headers)
    for text in parts_of_programs()[name]:
        run(*compiler, "-", "-Wall", "-Werror", "-fsyntax-only", "-I", SOURCE / "include", stdin=includes + text)


@case
def message_of_the_debug_mode_is_the_one_in_the_manual():
    sentence = next(t for s, t in Page(SOURCE / "man/concede_debug.7").parts if t.startswith("concede: "))
    text = "#define CC_DEBUG\n#include <concede/concede.h>\nstatic cc_lock_t lock;\n" \
           "int main(void) { cc_lock_acquire(&lock); cc_lock_acquire(&lock); return 0; }\n"
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "program")
        run(os.environ.get("CC", "cc"), "-std=c11", "-I", SOURCE / "include", "-x", "c", "-", "-x", "none",
            pathlib.Path(os.environ["CONCEDE_BINARY_DIR"], "libconcede.a"), "-pthread", "-o", program, stdin=text)
        said = run("sh", "-c", '"$0" 2>&1', program, fails=True)
    pattern = re.sub("0x[0-9a-f]+", "0x[0-9a-f]+", re.sub(r"thread \d+", r"thread \\d+", sentence.strip()))
    need(re.search(pattern, said), "%s: %s" % (pattern, said))


@case
def ways_to_take_it_are_those_that_the_consumers_take():
    text = (SOURCE / "README.md").read_text()
    for sample, file in (("find_package(concede 0.2 REQUIRED)", "find_package/CMakeLists.txt"),
                         ("target_link_libraries(app PRIVATE concede::concede)", "find_package/CMakeLists.txt"),
                         ("dependency('concede', fallback: ['concede', 'concede_dep'])", "meson/meson.build")):
        need("`%s`" % sample in text, "not in README.md: " + sample)
        need(sample.replace("app", "consumer") in (SOURCE / "tests/consumers" / file).read_text(),
             "not in %s: %s" % (file, sample))


@case
def sizes_in_the_manual_are_those_of_the_compiler():
    page = (SOURCE / "man/concede.7").read_text()
    rows = re.findall(r"^\.It Vt (cc_\w+) Ta (\d+) Ta (\d+)", page, flags=re.M)
    values = re.findall(r"^\.Dv (CC_\w+)\n(?:is )?(0x[0-9a-f]+|\d+),$", page, flags=re.M)
    need(len(rows) >= 8 and len(values) >= 4, (rows, values))
    lines = ["_Static_assert(sizeof(%s) == %s && _Alignof(%s) == %s, \"\");" % (t, size, t, alignment)
             for t, size, alignment in rows] + ["_Static_assert(%s == %s, \"\");" % v for v in values]
    if sys.maxsize < 1 << 32:
        skip("the table is of 64 bits")
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "sizes.c")
        source.write_text("#include <concede/concede.h>\n" + "\n".join(lines) + "\n")
        run(os.environ.get("CC", "cc"), "-std=c11", "-fsyntax-only", "-I", SOURCE / "include", source)


@case
def table_of_ports_has_every_target_and_no_failure():
    targets = re.findall(r'^(?:port|emulated) \S+ "([^"]+)"', (SOURCE / "scripts/ports.sh").read_text(), flags=re.M)
    ports = (SOURCE / "doc/ports.md").read_text()
    table = re.search(r"<!-- ports:begin -->\n(.*?)<!-- ports:end -->", ports, flags=re.S).group(1)
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines()[2:]]
    need(len(targets) > 8, "found only %s in scripts/ports.sh" % targets)
    none("no row for " + t for t in targets if [r[0] for r in rows].count(t) != targets.count(t))
    none("%s: %s" % (r[0], " | ".join(r[2:])) for r in rows if r[2:] != ["built, not run here", "", ""] and r[4] != "0")


class Links(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.targets, self.ids = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids.add(attributes.get("id"))
        self.targets += [attributes[a] for a in ("href", "src") if attributes.get(a)]


def places(path):
    """What a forge calls the headings of a Markdown file."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(), flags=re.M)
    return {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings}


@case(each=[str(p.relative_to(SOURCE)) for p in MARKDOWN + RENDERED])
def link_leads_to_a_file(name):
    path = SOURCE / name
    text = re.sub(r"^```.*?^```|^(?: {4}|\t).*?$", "", path.read_text(), flags=re.M | re.S)
    problems = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'src="([^"]+)"', text):
        file, _, place = target.partition("#")
        there = path.parent / file if file else path
        if re.match(r"[a-z]+:", target):
            continue
        if not there.exists():
            problems.append(target + " is not there")
        elif place and there.suffix == ".md" and place not in places(there):
            problems.append(target + " has no such heading")
        elif there.parent == SOURCE / "man":
            problems.append(target + " is no page for a browser; doc/man has it as one")
    none(problems)


@case
def markdown_of_the_manual_is_up_to_date():
    tool("mandoc")
    with tempfile.TemporaryDirectory() as folder:
        run(sys.executable, SOURCE / "doc/manual", folder)
        none("doc/man/%s.md: run doc/manual" % p.name for p in PAGES
             if not (SOURCE / "doc/man" / (p.name + ".md")).exists()
             or (SOURCE / "doc/man" / (p.name + ".md")).read_text() != pathlib.Path(folder, p.name + ".md").read_text())
        none("%s belongs to no page" % p.name for p in RENDERED if p.name[:-3] not in {page.name for page in PAGES})
    # A block of code that has marks of Markdown in it is text that was taken for code.
    none("%s: code, by mistake: %s" % (p.name, block.strip()[:60]) for p in RENDERED
         for block in re.findall(r"(?:^\n|\A)((?: {4}.*\n)+)", p.read_text(), flags=re.M)
         if re.search(r"^ +\*\*?[\w\\-]+\*|^ +`", block, flags=re.M))


@case
def readme_is_short_and_has_one_picture():
    text = (SOURCE / "README.md").read_text()
    need(text.count("\n") <= 200, "%d lines" % text.count("\n"))
    need(text.count("<img ") + text.count("![") == 1, "one picture")


@case
def table_of_the_readme_has_the_figures_of_the_benchmarks():
    made = run(sys.executable, SOURCE / "scripts/summary.py", "--print")
    need(made in (SOURCE / "README.md").read_text(), "run scripts/summary.py; it says:\n" + made)


@case
def first_message_of_the_readme_is_one_call_of_the_compiler():
    if sys.platform != "linux":
        skip("the command is for Linux")
    text = (SOURCE / "README.md").read_text()
    command = re.search(r"^    (cc .*first\.c.*)$", text, flags=re.M).group(1)
    program = re.search(r"^```c\n(.*?)^```", text, flags=re.M | re.S).group(1)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("include", "src"):
            pathlib.Path(folder, name).symlink_to(SOURCE / name)
        pathlib.Path(folder, "first.c").write_text(program)
        need(run("sh", "-c", command, cwd=folder) == "1\n2\n3\n", command)


@case
def every_example_is_in_the_readme():
    text = (SOURCE / "README.md").read_text()
    none(p.name for p in sorted(SOURCE.glob("examples/*.*")) if "(examples/%s)" % p.name not in text)


@case
def html_has_every_page_and_no_dead_link():
    tool("mandoc"), tool("lowdown")
    with tempfile.TemporaryDirectory() as folder:
        run(SOURCE / "doc/html", folder)
        sites = {path: Links(path.read_text()) for path in pathlib.Path(folder).resolve().rglob("*.html")}
        made = {path.name for path in sites}
        wanted = {p.name + ".html" for p in PAGES} | {"index.html"}
        wanted |= {p.stem + ".html" for p in MARKDOWN if p.stem != "README"}
        problems = ["not rendered: " + name for name in wanted - made]
        for path, links in sites.items():
            for target in links.targets:
                file, _, fragment = target.partition("#")
                there = (path.parent / file).resolve() if file else path
                if re.match(r"[a-z]+:", target):
                    continue
                if not there.exists():
                    problems.append("%s: %s is not there" % (path.name, target))
                elif fragment and there in sites and fragment not in sites[there].ids:
                    problems.append("%s: %s has no such place" % (path.name, target))
        none(problems)


@case
def changelog_knows_this_version():
    version = re.search(r'VERSION_STRING "(.*)"', (SOURCE / "include/concede/version.h").read_text()).group(1)
    need(re.search(r"^## %s\b" % re.escape(version), (SOURCE / "CHANGELOG.md").read_text(), flags=re.M), version)


main()
