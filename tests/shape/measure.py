"""Prints how the product is cut: lines, files, functions and how long they are.

measure.py SOURCE"""

import os, re, statistics, sys

FOLDERS = ("core", "harness", "tui")
TINY, LONG = 3, 60

TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ \t]*#(?:\\\n|[^\n])*', re.S | re.M)


def blank(match):
    """Comments and directives go, texts become empty ones; lines stay where they are."""
    text = match.group()
    return ('""' if text[0] in "\"'" else " ") + "\n" * text.count("\n")


def functions(path):
    """(name, lines between the braces that are neither blank nor comment) of each function of a file."""
    with open(path, encoding="utf-8") as file:
        text = TOKEN.sub(blank, file.read())
    depth, head, begin, found = 0, 0, None, []
    for match in re.finditer(r"[{};]", text):
        at, sign = match.start(), match.group()
        if sign == "{":
            before = text[head:at].rstrip()
            if depth == 0 and before.endswith(")") and "=" not in before:
                begin, name = at + 1, re.findall(r"(\w+)\s*\(", before)
            depth += 1
        elif sign == "}":
            depth -= 1
            if depth == 0 and begin is not None:
                found.append((name[0] if name else "?", sum(bool(line.strip()) for line in text[begin:at].split("\n"))))
                begin = None
        if depth == 0:
            head = at + 1
    if depth:
        sys.exit(f"shape: {path}: braces do not match")
    return found


def main(source):
    sources, lines, found = 0, 0, []
    for folder in FOLDERS:
        for top, _, names in os.walk(os.path.join(source, folder)):
            for name in names:
                if not name.endswith((".c", ".h")):
                    continue
                path = os.path.join(top, name)
                sources += name.endswith(".c")
                with open(path, "rb") as file:
                    lines += file.read().count(b"\n")
                found += [(length, path, function) for function, length in functions(path)]
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


if __name__ == "__main__":
    main(sys.argv[1])
