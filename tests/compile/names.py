"""The names of the library, by the rule in CONTRIBUTING.md: from a name one sees how far it reaches."""
import pathlib
import re
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests"))
from checks import case, main, need  # noqa: E402

# A comment, a string or a character: no name in it is a name.
NO_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', flags=re.S)
DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)((?:[^\n]*\\\n)*[^\n]*)", flags=re.M)
FUNCTION = re.compile(r"(?!\s*(?:typedef|enum|struct \w+ \{|union \w+ \{))[^={]*\)[^={;]*\{\}$")
# What a system, a compiler or a tracer has named: we declare it, or set it before we include its header.
NOT_OURS = re.compile(r"_[_A-Z]|memcpy$|(SDT|STAP)_|WIN32_LEAN_AND_MEAN$")

# What a name must look like, by how far it reaches and what it names. A constant of one file may end in an underscore
# where a system's header has the same name without it, and may stand for a variable that a checker has not got.
RULES = {
    # Everybody includes it, and what ends in an underscore is not for everybody.
    "public": {"function": r"cc_[a-z0-9_]+", "variable": r"cc_[a-z0-9_]+_", "constant": r"CC_[A-Z0-9_]+_",
               "macro": r"(CC|cc)_\w+", "setting": r"CC_[A-Z0-9_]+", "type": r"cc_[a-z0-9_]+_t|cc_[a-z0-9_]+_",
               "tag": r"cc_[a-z0-9_]+"},
    # Several files of src/ include it.
    "inside": {"function": r"cc_[a-z0-9_]+_", "variable": r"cc_[a-z0-9_]+_", "constant": r"CC_[A-Z0-9_]+_",
               "macro": r"(CC|cc)_\w+_", "setting": r"CC_[A-Z0-9_]+", "type": r"cc_[a-z0-9_]+_t|cc_[a-z0-9_]+_",
               "tag": r"cc_[a-z0-9_]+"},
    # One file, and what that file includes as a part of itself.
    "file": {"function": r"(?!cc_)[a-z0-9_]+_", "variable": r"(?!cc_)[a-z0-9_]+_",
             "constant": r"(?!CC_)[A-Z0-9_]+|(?!cc_)[a-z0-9_]+_",
             "macro": r"(?!CC_)[A-Z0-9_]+|CC_[A-Z0-9_]+_|(?!cc_)[a-z0-9_]+_", "setting": r"CC_[A-Z0-9_]+_?",
             "type": r"(?!cc_)[a-z0-9_]+_t", "tag": r"(?!cc_)[a-z0-9_]+(?<!_)"},
}


def reach(path):
    """How far reaches what stands at file scope in a file."""
    if path.startswith("include/"):
        return "public"
    return "inside" if re.fullmatch(r"src/(?!os_)\w+\.h", path) else "file"


def macros(text):
    """(macro or setting, name). A setting is what a build may define in place of the value that stands here, or what
    follows such a one before the #endif."""
    blocks = [set()]  # for each #if that is open: the name without which it holds, and then the settings in it
    for word, rest in DIRECTIVE.findall(text):
        name = re.match(r"\s*(\w*)", rest).group(1)
        if word == "ifndef" and not name.endswith("_H"):  # else it is a guard
            blocks.append({name})
        elif word.startswith("if"):
            blocks.append(set(re.findall(r"^\s*!defined\((\w+)\)", rest)))
        elif word == "endif":
            blocks.pop()
        elif word == "define" and (name in blocks[-1] or "settings" in blocks[-1]):
            blocks[-1].add("settings")
            yield "setting", name
        elif word == "define":
            yield "macro", name


def items(text):
    """What stands at file scope, one after the other, with {} in place of whatever is in braces."""
    item, depth = "", 0
    for c in text:
        if c == "}":
            depth -= 1
        if depth == 0:
            item += c
        if c == "{":
            depth += 1
        if depth == 0 and (c == ";" or c == "}" and FUNCTION.match(item)):
            yield " ".join(item.split())
            item = ""


def name_in(where, item):
    found = re.search(where, item)
    need(found, "cannot find the name in: " + item)
    return found.group(1)


def declared(text):
    """(what, name, whether it is for this file alone) for each name that a file gives something at file scope."""
    for what, name in macros(text):
        yield what, name, True
    text = DIRECTIVE.sub("", text)
    text = re.sub(r"^CC_\w+(\([^()]*\))?$", "", text, flags=re.M)  # a macro that stands for declarations
    text = re.sub(r"\b(CC_\w+_|__attribute__|__declspec|static_assert)\(([^()]|\([^()]*\))*\)| CC_WEAK_(?=;)", "", text)
    text = re.sub(r"\(\*\s*(\w+)(\[[^\]]*\])?\)\([^()]*\)", r"\1", text)  # a pointer to a function
    text = re.sub(r"^(\w+)\((\w+)\)\(", r"\1 \2(", text, flags=re.M)  # a function that may be a macro, too
    for body in re.findall(r"\benum\b[^{};()]*\{([^}]*)\}", text):
        for name in re.findall(r"(?:^|,)\s*(\w+)", re.sub(r"\([^()]*\)", "", body)):
            yield "constant", name, True
    for name in re.findall(r"\b(?:struct|union|enum)\s+(\w+)\s*\{", text):
        yield "tag", name, True
    for item in items(text):
        own = bool(re.match(r"(CC_\w+ )*(static|CC_TEMPLATE_)\b|extern .*__asm__\(", item))
        head = re.sub(r"\s*(=.*|;|\{\}$)", "", item)
        if head.startswith("typedef"):
            yield "type", name_in(r"(\w+)((\)\(.*\))|\[[^\]]*\])?$", head), True
        elif re.search(r"\w\(", head):
            yield "function", name_in(r"(\w+)\(", head), own
        elif not re.fullmatch(r"((struct|union|enum)( \w+)?( \{\})?)?", head):  # else it only names a type
            names = re.sub(r"=[^,]*", "", re.sub(r"\([^()]*\)", "", item.rstrip(";")))
            for one in re.sub(r"\[[^\]]*\]|\{\}", "", names).split(","):
                yield "variable", name_in(r"(\w+)\s*$", one), own


def wrong(path, text, public=()):
    """A line for each name in the file that breaks its rule. `public`: the functions that are for everybody."""
    here = reach(path)
    guard = "CONCEDE_%s%s_H" % ("SRC_" if path.startswith("src/") else "", pathlib.PurePath(path).stem.upper())
    for what, name, own in declared(NO_CODE.sub(" ", text)):
        level = "inside" if here == "file" and not own else here
        if NOT_OURS.match(name) or name in public or what == "macro" and name == guard:
            continue
        if not re.fullmatch(RULES[level][what], name):
            yield "%s: the %s %s" % (path, what, name)


FILES = {str(f.relative_to(SOURCE)): f.read_text() for folder in ("include/concede", "src")
         for f in sorted((SOURCE / folder).iterdir()) if f.suffix in (".c", ".h")}


@case
def every_name_tells_how_far_it_reaches():
    found = {path: list(declared(NO_CODE.sub(" ", text))) for path, text in FILES.items()}
    for what in RULES["file"]:
        count = sum(w == what for names in found.values() for w, _, _ in names)
        need(count >= 10, "found only %d of the sort %s" % (count, what))
    public = {n for path, names in found.items() if reach(path) == "public" for w, n, _ in names if w == "function"}
    broken = [line for path, text in FILES.items()
              for line in wrong(path, text, () if reach(path) == "public" else public)]
    need(not broken, "\n".join(broken))


# A wrong name of each sort, in a file of each reach, and right ones beside it.
MISTAKES = {
    "include/concede/a.h": [
        "CC_API int take(int cc_from);", "CC_INLINE_ void Cc_take(void)\n{\n    f();\n}", "extern int cc_many;",
        "enum { CC_A_FEW };", "#define TAKE 1", "typedef struct cc_taker {\n    int a;\n} cc_taker;",
        "struct taker {\n    int a;\n};"],
    "src/a.h": [
        "int cc_take(int from);", "int take_(int from);", "CC_TEMPLATE_ int cc_take(void)\n{\n    return 1;\n}",
        "extern uint32_t cc_many;", "enum { CC_A_FEW };", "typedef enum { A_FEW_ } cc_some_t;",
        "#define CC_TAKE(a) (a)", "#define TAKE_ 1", "#if !defined(MANY)\n#define MANY 1\n#endif",
        "typedef uint32_t cc_word;", "struct taker {\n    int a;\n};", "#define CONCEDE_SRC_B_H"],
    "src/a.c": [
        "static int take(void)\n{\n    return 1;\n}", "static int cc_take_(void)\n{\n    return 1;\n}",
        "int take_(void)\n{\n    return 1;\n}", "int cc_take(void)\n{\n    return 1;\n}", "static uint32_t many;",
        "static CC_ALIGNED_(64) uint32_t many[4] = { 1, 2 };", "static uint32_t few_, many;",
        "static const struct row {\n    int a;\n} rows[] = { { 1 }, { 2 } };", "uint32_t many_;",
        "enum { few };", "enum { CC_FEW_ };", "#define Many 1", "#define CC_MANY 1",
        "typedef struct taker {\n    int a;\n} taker;", "struct cc_taker {\n    int a;\n};"],
    "src/os_a.h": ["static int take(void)\n{\n    return 1;\n}", "#define CC_MANY 1"],
}


@case(each=MISTAKES)
def a_name_that_tells_it_wrongly_is_found(path):
    for text in MISTAKES[path]:
        found = list(wrong(path, text + "\n"))
        need(len(found) == 1, "in %s: %s" % (text, found))


@case
def names_that_tell_it_rightly_are_not():
    for path, text in {
            "include/concede/a.h": "#ifndef CONCEDE_A_H\n#define CONCEDE_A_H\nCC_BEGIN_DECLS\nenum { CC_FEW_ = 1 };\n"
                                   "CC_API int cc_take(int from);\nextern uint32_t cc_many_;\n#endif\n",
            "src/a.h": "typedef enum { CC_FEW_ } cc_few_t;\nint cc_take_(int from);\n"
                       "#if !defined(CC_MANY)\n#define CC_MANY 4\n#endif\n"
                       "#ifndef CC_SOME\n#define CC_SOME 4\n#endif\n"
                       "extern void (*cc_hook_)(void);\n",
            "src/a.c": "enum { FEW = 1, MANY };\nstatic CC_ALIGNED_(64) uint32_t few_, many_[2];\nuint32_t cc_all_;\n"
                       "static int take_(int from)\n{\n    int many = from;\n    return many;\n}\n"
                       "int cc_take_(void)\n{\n    return take_(1);\n}\n"
                       "static void (*hook_)(void), (*hooks_[4])(int);\n"
                       "typedef int four_t[4];\nstatic int some_ = MAX(1, 2);\nenum { MOST = MAX(a, b) };\n"
                       "static_assert(sizeof(four_t) == 16, \"four\");\n"}.items():
        found = list(wrong(path, text))
        need(not found, found)


main()
