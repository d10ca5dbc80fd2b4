#!/usr/bin/env python3
"""Holds the rooms' #includes against the table of rooms, and the house rules that a grep can see.

    tests/check_layers.py [ROOT]

Prints one line a violation; exit code 1 where there is any. Warnings (long files) do not fail.
"""
import pathlib
import re
import sys

# Each room and what of ours it may include besides itself.
LOGICAL_PLAN = ("plan/node.h", "plan/expr.h", "plan/scalar_functions.h")
ROOMS = {
    "kernels": (),
    "engine": ("kernels/",),
    "ops": ("engine/", "kernels/"),
    "plan": ("ops/", "engine/", "kernels/"),
    "ad": LOGICAL_PLAN + ("engine/", "kernels/"),
    "sql": ("ad/", "plan/", "ops/", "engine/", "kernels/", "adjoin/"),
    "tools": ("sql/", "ad/", "plan/", "ops/", "engine/", "kernels/", "adjoin/"),
    "include/adjoin": ("adjoin/",),
}
OURS = ("kernels/", "engine/", "ops/", "plan/", "ad/", "sql/", "tools/", "tests/", "bench/", "examples/", "adjoin/")
LIBRARIES = ("kernels", "engine", "ops", "plan", "ad", "sql", "include/adjoin")
MAX_LINES = 500
MAY_PRINT = ("engine/status.cc",)  # the last words of a failed ADJOIN_DCHECK

# What a library must not hold: (pattern, what to say).
FORBIDDEN = (
    (r"\bdynamic_cast\b", "dynamic_cast"),
    (r"\b(std::cout|std::cerr|std::printf|printf\s*\(|fprintf\s*\(\s*std|puts\s*\()", "printing in a library"),
    (r"\bthrow\b(?!\s*\(\s*\))", "throw"),
    (r"\b(rand|srand)\s*\(|std::random_device", "unseeded random numbers"),
)
EVERYWHERE = (
    (r"\.\./shared|/work/", "a path of one machine"),
    (r"\bDISABLED_", "a disabled test"),
)
BAD_NAME = re.compile(r"(^|[_/])(utils?|helpers?|common)([_./]|$)")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
ALLOWED_IN_API = re.compile(r"^(absl/status/|adjoin/)")


def without_comments(text):
    """The code of `text`; strings are emptied, comments blanked, lines kept."""
    keep_lines = lambda m: re.sub(r"[^\n]", " ", m.group(0))
    text = re.sub(r'R"(\w*)\((.|\n)*?\)\1"', keep_lines, text)
    text = re.sub(r'"(\\.|[^"\\\n])*"', lambda m: '""', text)
    text = re.sub(r"/\*(.|\n)*?\*/", keep_lines, text)
    return re.sub(r"//[^\n]*", "", text)


def room_of(path):
    parts = path.parts
    if parts[0] == "include":
        return "include/adjoin"
    return parts[0] if parts[0] in ROOMS else None


def check_includes(path, room, text):
    for kind, target in INCLUDE.findall(text):
        if room == "include/adjoin":
            std = kind == "<" and "/" not in target and not target.endswith(".h")
            if not std and not ALLOWED_IN_API.match(target):
                yield f"{path}: a public header includes {target}"
            continue
        if not target.startswith(OURS) or target.startswith(room + "/"):
            continue
        if not target.startswith(ROOMS[room]):
            yield f"{path}: {room} must not include {target}"


def check(root):
    problems, warnings, seen = [], [], 0
    sources = sorted(p for pattern in ("*.h", "*.cc", "*.py", "*.sh", "*.txt", "*.cmake", "*.md", "*.sql")
                     for p in root.rglob(pattern))
    for full in sources:
        path = full.relative_to(root)
        if any(part.startswith((".", "build", "out")) for part in path.parts) or "data" in path.parts:
            continue
        if path.name == "check_layers.py":
            continue
        text = full.read_text(errors="replace")
        for pattern, what in EVERYWHERE:
            if re.search(pattern, text):
                problems.append(f"{path}: {what}")
        if path.suffix not in (".h", ".cc"):
            continue
        seen += 1
        if BAD_NAME.search(str(path)):
            problems.append(f"{path}: a name that says nothing (utils, helpers, common)")
        lines = text.count("\n")
        if lines > MAX_LINES and path.suffix == ".cc":
            warnings.append(f"{path}: {lines} lines")
        room = room_of(path)
        if room is None:
            continue
        problems.extend(check_includes(path, room, text))
        if room in LIBRARIES:
            code = without_comments(text)
            for pattern, what in FORBIDDEN:
                if what.startswith("printing") and str(path) in MAY_PRINT:
                    continue
                for match in re.finditer(pattern, code):
                    line = code.count("\n", 0, match.start()) + 1
                    problems.append(f"{path}:{line}: {what}")
    return problems, warnings, seen


def self_test():
    """Each rule must fire on a text that breaks it."""
    fires = lambda path, text: list(check_includes(pathlib.Path(path), room_of(pathlib.Path(path)), text))
    assert fires("engine/x.cc", '#include "plan/node.h"\n')
    assert fires("kernels/x.cc", '#include "engine/table.h"\n')
    assert fires("ad/x.cc", '#include "plan/program.h"\n') and not fires("ad/x.cc", '#include "plan/node.h"\n')
    assert fires("include/adjoin/x.h", '#include "engine/table.h"\n')
    assert not fires("include/adjoin/x.h", '#include <vector>\n#include "absl/status/status.h"\n')
    assert not fires("sql/x.cc", '#include "plan/node.h"\n#include "nlohmann/json.hpp"\n')
    assert "dynamic_cast" not in without_comments('// dynamic_cast\n"dynamic_cast"')


def main():
    self_test()
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent)
    problems, warnings, seen = check(root)
    for line in warnings:
        print("warning:", line)
    for line in problems:
        print(line)
    print(f"{seen} files, {len(problems)} problems, {len(warnings)} warnings")
    sys.exit(1 if problems or seen == 0 else 0)


if __name__ == "__main__":
    main()
