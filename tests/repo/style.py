# SPDX-License-Identifier: Apache-2.0
"""Rules of text: licence line first, `#pragma once`, at most 600 lines a file, clean white space, no notes to oneself,
no path of somebody's machine, no link in a document to a file that is not there, and <cstdint> in every header with a
std::uint32_t or the like (the standard headers of g++ 12 bring it along, those of g++ 13 do not)."""
import pathlib
import re
from typing import List

import tree

MAX_LINES = 600
SPDX = "SPDX-License-Identifier: Apache-2.0"
# spelled in two pieces, so that this file does not find itself
NOTES = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b(?!\([^)\s][^)]*\))")
PLACES = re.compile(r"(?<![\w.~*-])/(ho" r"me|ro" r"ot|Us" r"ers|wo" r"rk|mn" r"t)/|/tmp/bu" r"ild")
SIZED = re.compile(r"\bstd::u?int(?:\d+|ptr|max)_t\b")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def check_head(path: pathlib.Path, lines: List[str]) -> str:
    first = lines[0] if lines else ""
    if path.suffix in tree.CPP_SUFFIXES and first != f"// {SPDX}":
        return f"line 1: expected '// {SPDX}', got '{first}'"
    if path.suffix in {".py", ".pyi", ".sh"} and not any(line == f"# {SPDX}" for line in lines[:2]):
        return f"lines 1 and 2: expected '# {SPDX}' in one of them"
    if path.suffix == ".hpp" and "#pragma once" not in lines:
        return "expected #pragma once"
    return ""


def check_line(line: str) -> str:
    if "\t" in line or "\r" in line:
        return "a tab or carriage return"
    if line != line.rstrip():
        return "white space at the end of the line"
    if NOTES.search(line):
        return f"{NOTES.search(line).group(0)} without a reason in parentheses"
    if PLACES.search(line):
        return f"'{PLACES.search(line).group(0)}' is a place on one machine"
    return ""


def check_file(root: pathlib.Path, path: pathlib.Path) -> List[tree.Finding]:
    text = path.read_text()
    lines = text.split("\n")
    findings = []
    head = check_head(path, lines)
    if head:
        findings.append(tree.Finding(path, 1, head))
    code_or_script = path.suffix in tree.CPP_SUFFIXES | {".py", ".sh", ".cmake"} or path.name in tree.TEXT_NAMES
    if code_or_script and not tree.is_generated(path) and len(lines) - 1 > MAX_LINES:
        findings.append(tree.Finding(path, MAX_LINES + 1, f"expected at most {MAX_LINES} lines, got {len(lines) - 1}"))
    if text and not text.endswith("\n") and path.suffix != ".json":
        findings.append(tree.Finding(path, len(lines), "no newline at the end of the file"))
    sized = SIZED.search(text) if path.suffix == ".hpp" else None
    if sized and "#include <cstdint>" not in lines:
        findings.append(tree.Finding(path, text[:sized.start()].count("\n") + 1, f"{sized.group(0)} without #include <cstdint>"))
    for number, line in enumerate(lines, 1):
        message = check_line(line)
        if message and not (path.suffix == ".md" and "white space" in message):
            findings.append(tree.Finding(path, number, message))
        if path.suffix == ".md":
            for target in LINK.findall(line):
                if not re.match(r"[a-z]+:", target) and not (path.parent / target).exists():
                    findings.append(tree.Finding(path, number, f"link to {target}, which does not exist"))
    return findings


def check(root: pathlib.Path) -> List[tree.Finding]:
    return [finding for path in tree.files(root) if tree.is_text(path) and path.name != "LICENSE"
            for finding in check_file(root, path)]


if __name__ == "__main__":
    tree.main(check)
