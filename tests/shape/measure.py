"""Prints measures of the product: lines, files, functions with their lengths, and functions that need no export.

measure.py SOURCE"""

import os, re, statistics, sys

FOLDERS = ("core", "harness", "tui")
TINY, LONG = 3, 60

TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ \t]*#(?:\\\n|[^\n])*', re.S | re.M)

COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
DECLARATION = re.compile(r"^[a-z][\w \*]*?\b[a-z]\w+\((?=[^{}]*?;)", re.M)


def blank(match):
    """Removes comments and directives and empties strings; line numbers stay."""
    text = match.group()
    return ('""' if text[0] in "\"'" else " ") + "\n" * text.count("\n")


def functions(path, text):
    """(name, lines between the braces that are neither blank nor comment, exported) of each function of a file."""
    depth, head, begin, found = 0, 0, None, []
    for match in re.finditer(r"[{};]", text):
        at, sign = match.start(), match.group()
        if sign == "{":
            before = text[head:at].rstrip()
            if depth == 0 and before.endswith(")") and "=" not in before:
                begin, name = at + 1, re.findall(r"(\w+)\s*\(", before)
                exported = not re.search(r"\bstatic\b", before)
            depth += 1
        elif sign == "}":
            depth -= 1
            if depth == 0 and begin is not None:
                length = sum(bool(line.strip()) for line in text[begin:at].split("\n"))
                found.append((name[0] if name else "?", length, exported))
                begin = None
        if depth == 0:
            head = at + 1
    if depth:
        sys.exit(f"shape: {path}: braces do not match")
    return found


def used_in_one_file(source, exported):
    """The exported functions that no other file of the product names, except in a declaration: (path, name, a test
    uses it)."""
    uses = {}  # name -> path -> how often
    for folder in (*FOLDERS, "tests"):
        for top, _, names in os.walk(os.path.join(source, folder)):
            for name in names:
                if not name.endswith((".c", ".h", ".def")):
                    continue
                path = os.path.join(top, name)
                with open(path, encoding="utf-8") as file:
                    text = COMMENT.sub(lambda m: " " if m.group()[0] == "/" else '""', file.read())
                if name.endswith(".h"):
                    text = DECLARATION.sub("", text)
                for word in re.findall(r"[A-Za-z_]\w+", text):
                    places = uses.setdefault(word, {})
                    places[path] = places.get(path, 0) + 1
    tests, found = os.path.join(source, "tests") + os.sep, []
    for path, name in exported:
        # Command functions and cleanup functions are called by macros that use only a part of their name.
        if name == "main" or name.startswith("cmd_") or name.endswith("_cleanup"):
            continue
        others = [place for place in uses[name] if place != path]
        if all(place.startswith(tests) for place in others):
            found.append((path, name, bool(others)))
    return sorted(found)


def main(source):
    sources, lines, found, exported = 0, 0, [], []
    for folder in FOLDERS:
        for top, _, names in os.walk(os.path.join(source, folder)):
            for name in names:
                if not name.endswith((".c", ".h")):
                    continue
                path = os.path.join(top, name)
                sources += name.endswith(".c")
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                lines += text.count("\n")
                for function, length, visible in functions(path, TOKEN.sub(blank, text)):
                    found.append((length, path, function))
                    if visible and name.endswith(".c"):
                        exported.append((path, function))
    lengths = [length for length, _, _ in found]
    tiny = sum(length <= TINY for length in lengths)
    long = sorted((f for f in found if f[0] > LONG), reverse=True)
    print(f"lines of .c and .h         {lines}")
    print(f".c files                   {sources}")
    print(f"functions                  {len(found)}")
    print(f"median function            {statistics.median(lengths):g} lines")
    print(f"of at most {TINY} lines         {100 * tiny / len(found):.0f} %")
    print(f"of more than {LONG} lines      {len(long)}")
    for length, path, function in long:
        print(f"  {length:4} {function:22} {os.path.relpath(path, source)}")
    alone = used_in_one_file(source, exported)
    untested = [row for row in alone if not row[2]]
    print(f"exported, used in one file only: {len(untested)}, and by tests: {len(alone) - len(untested)}")
    for path, function, _ in untested:
        print(f"       {function:22} {os.path.relpath(path, source)}")


if __name__ == "__main__":
    main(sys.argv[1])
