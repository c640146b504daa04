"""The layers of CONTRIBUTING.md: every file of the library is in one, and no file includes one above its own."""
import fnmatch
import pathlib
import re
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests"))
from checks import case, main, need  # noqa: E402

FILES = sorted(str(f.relative_to(SOURCE)) for folder in ("include/concede", "src")
               for f in (SOURCE / folder).iterdir() if f.suffix in (".c", ".h", ".hpp"))
# Beside the library, each folder and those that it may include from; tests, which look into everything, are left out.
FOLDERS = {"common": [], "bench": ["common", "examples"], "tools": ["common", "bench", "preload", "sim"],
           "preload": [], "sim": ["bench", "common", "src", "tests"], "examples": []}


def layers():
    """The rows of the table, from the top: the layer's name and the patterns of its files."""
    text = (SOURCE / "CONTRIBUTING.md").read_text()
    rows = re.search(r"^\| layer \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", text, re.M).group(1).splitlines()
    cells = [[c.strip() for c in row.strip("|").split("|")] for row in rows]
    return [(name, [f if "/" in f else "include/concede/" + f for f in
                    (p.replace("<system>", "*") for p in re.findall(r"`([^`]+)`", where))])
            for name, _, where in cells]


def layer_of(file, table):
    """The number of a file's layer, 0 at the top: a pattern with no star goes before one with a star."""
    named = [i for i, (_, patterns) in enumerate(table) if file in patterns]
    matched = named or [i for i, (_, patterns) in enumerate(table) for p in patterns if fnmatch.fnmatch(file, p)]
    need(len(set(matched)) == 1, "%s is in the layers %s" % (file, [table[i][0] for i in matched]))
    return matched[0]


def included(file):
    """The files of the library that a file includes."""
    folder = str(pathlib.PurePath(file).parent)
    for kind, name in re.findall(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', (SOURCE / file).read_text(), re.M):
        path = "include/" + name if kind == "<" else folder + "/" + name
        if path in FILES:
            yield path


@case
def every_file_is_in_one_layer_and_every_pattern_has_a_file():
    table = layers()
    need(len(table) > 8, "found only %s" % table)
    for file in FILES:
        layer_of(file, table)
    for name, patterns in table:
        for p in patterns:
            need(any(fnmatch.fnmatch(f, p) for f in FILES), "%s: there is no %s" % (name, p))


@case
def no_file_includes_a_layer_above_its_own():
    table = layers()
    upwards = ["%s (%s) includes %s (%s)" % (file, table[layer_of(file, table)][0], other,
                                             table[layer_of(other, table)][0])
               for file in FILES for other in included(file) if layer_of(other, table) < layer_of(file, table)]
    need(not upwards, "\n".join(upwards))


@case
def the_memory_model_goes_from_the_bottom_to_the_top():
    table = layers()
    text = (SOURCE / "doc/memory-model.md").read_text()
    names = {"spsc": "channel", "mpmc": "channel", "door": "select"}
    for what, labels in (("the table", re.findall(r"^\| \[(\w+)\.", text, re.M)),
                         ("the sections", re.findall(r"^### \[(\w+)\.", text, re.M))):
        order = [[i for i, (name, _) in enumerate(table) if names.get(x, x) in re.split(r"\W+", name)]
                 for x in labels if x != "preload"]
        need(len(order) > 20 and all(len(i) == 1 for i in order), "%s: labels of no layer: %s" % (what, labels))
        need(order == sorted(order, reverse=True), "%s is not in the order of the layers: %s" % (what, labels))


@case
def the_manual_lists_the_pages_from_the_top_to_the_bottom():
    table = layers()
    text = (SOURCE / "man/concede.7").read_text()
    listed = re.search(r"^\.Ss Layers\n(.*?)^\.El", text, re.M | re.S).group(1)
    pages = re.findall(r"^\.It Xr cc_(\w+) 3 Ta", listed, re.M)
    headers = ["include/concede/%s.h" % {"parker": "park", "counters": "costs"}.get(p, p) for p in pages]
    order = [layer_of(h, table) for h in headers]
    need(len(order) > 10 and order == sorted(order), "not in the order of the layers: %s" % pages)


@case
def every_path_that_the_map_names_is_there():
    text = (SOURCE / "CONTRIBUTING.md").read_text()
    table = re.search(r"^I want to change.*?\n\n((?:\|.*\n)+)", text, re.M | re.S).group(1)
    paths = [re.sub(r"<\w+>", "*", p) for p in re.findall(r"`([\w./*<>-]+/[\w.*<>\[\]-]*)`", table)]
    need(len(paths) > 40, "found only %s" % paths)
    missing = [p for p in paths if not list(SOURCE.glob(p.rstrip("/")))]
    need(not missing, "the map names %s" % missing)


@case
def no_folder_includes_one_that_it_may_not():
    wrong = []
    for folder, allowed in FOLDERS.items():
        for file in sorted((SOURCE / folder).rglob("*.[ch]*")):
            if file.suffix not in (".c", ".h", ".hpp", ".cpp"):
                continue
            for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', file.read_text(errors="replace"), re.M):
                path = (file.parent / name).resolve()
                top = path.relative_to(SOURCE).parts[0] if path.is_file() and path.is_relative_to(SOURCE) else folder
                if top != folder and top not in allowed:
                    wrong.append("%s includes %s" % (file.relative_to(SOURCE), name))
    need(not wrong, "\n".join(wrong))


main()
