# SPDX-License-Identifier: Apache-2.0
"""docs/mechanisms.md and docs/reliability.md keep their word: every path and every test named in backticks exists, and
every row of their tables names a test or says "not yet" or "not done, because". Source files that a comment of C++ code
names exist too."""
import pathlib
import re
from typing import List, Set

import tree

DOCUMENTS = {"docs/mechanisms.md": "mechanism", "docs/reliability.md": "promise"}
OPEN = re.compile(r"not yet|not done")
TEST_NAME = re.compile(r"(?:\w+/)?([A-Z]\w*)\.(\w+|\*)(?:/\w+)?")
FILE_NAME = re.compile(r"[\w.+/-]+")
COMMENT = re.compile(r"//.*")
SOURCE_NAME = re.compile(r"(?<![\w./*-])[\w.-]+(?:/[\w.-]+)*\.(?:hpp|cpp|py|md|cmake|txt)\b(?!\()|[\w.-]+(?:/[\w.-]+)+\.(?:h|json)\b")
CODE = ("include", "src", "bindings", "examples", "tests")
SUFFIXES = tree.TEXT_SUFFIXES | {".npy", ".svg", ".png"}


def test_names(root: pathlib.Path) -> Set[str]:
    """Suite.Test of every GoogleTest, RapidCheck and ctest entry below tests/ and examples/."""
    names = set()
    pattern = re.compile(r"\b(?:\w*TEST\w*|RC_GTEST\w*)\s*\(\s*(\w+)\s*,\s*(\w+)|\bNAME\s+([\w.]+)")
    for path in tree.files(root, "tests", "examples"):
        if path.suffix in {".cpp", ".hpp", ".txt"}:
            for suite, test, entry in pattern.findall(path.read_text()):
                names.add(entry or f"{suite}.{test}")
    for path in tree.files(root, "examples"):
        if path.suffix == ".cpp":
            names.add(f"example_{path.stem}")
    return names


def is_path(span: str) -> bool:
    return bool(FILE_NAME.fullmatch(span)) and ("/" in span or pathlib.Path(span).suffix in SUFFIXES)


def check_span(root: pathlib.Path, span: str, names: Set[str]) -> str:
    test = TEST_NAME.fullmatch(span)
    if test and pathlib.Path(span).suffix not in SUFFIXES:
        name = f"{test.group(1)}.{test.group(2)}"
        known = any(n.startswith(name[:-1]) for n in names) if name.endswith("*") else name in names
        return "" if known else f"test {span} is not in tests/"
    if is_path(span) and not (root / span).exists() and not (root / "include" / span).exists():
        return f"{span} does not exist"
    return ""


def check_row(cells: List[str], header: List[str]) -> str:
    """A row closes with evidence: its test column names something in backticks, or says why not."""
    if len(cells) != len(header):
        return f"expected {len(header)} cells as in the table's header, got {len(cells)}"
    for column in ("file", "test"):
        if column in header:
            cell = cells[header.index(column)]
            if "`" not in cell and not OPEN.search(cell):
                return f'column {column}: expected a name in backticks, "not yet" or "not done", got "{cell}"'
    return ""


def check_document(root: pathlib.Path, path: pathlib.Path, key: str, names: Set[str]) -> List[tree.Finding]:
    findings, header, rows = [], [], 0
    for number, line in enumerate(path.read_text().split("\n"), 1):
        if not line.startswith("|"):
            header = []
            continue
        plain = re.sub(r"`[^`]*`", lambda m: m.group(0).replace("|", "/"), line.replace("\\|", "/"))
        cells = [cell.strip() for cell in plain.strip().strip("|").split("|")]
        if not header:
            header = cells
            continue
        if set(line) <= set("|-: ") or key not in header:
            continue
        rows += 1
        reason = check_row(cells, header)
        if reason:
            findings.append(tree.Finding(path, number, reason))
        for column, cell in zip(header, cells):
            if column == key:
                continue
            for span in re.findall(r"`([^`]+)`", cell):
                reason = check_span(root, span, names)
                if reason:
                    findings.append(tree.Finding(path, number, reason))
    if not rows:
        findings.append(tree.Finding(path, 1, f"expected a table with a column '{key}', got none"))
    return findings


def check_comments(root: pathlib.Path) -> List[tree.Finding]:
    """A comment's `folder/name.hpp` is the end of a path of this tree. A file that CMake makes has its name in X.in."""
    every = {f"/{path.relative_to(root).as_posix()}" for path in tree.files(root)}
    ends = {path[at:] for path in every for at, c in enumerate(path) if c == "/"}
    findings = []
    for path in tree.files(root, *CODE):
        if path.suffix not in tree.CPP_SUFFIXES or not tree.is_text(path):
            continue
        for number, line in enumerate(path.read_text().split("\n"), 1):
            for comment in COMMENT.findall(line):
                for name in SOURCE_NAME.findall(comment):
                    if not {f"/{name}", f"/{name}.in"} & ends:
                        findings.append(tree.Finding(path, number, f"{name} does not exist"))
    return findings


def check(root: pathlib.Path) -> List[tree.Finding]:
    names = test_names(root)
    findings = check_comments(root)
    for document, key in DOCUMENTS.items():
        path = root / document
        if path.is_file():
            findings += check_document(root, path, key, names)
        else:
            findings.append(tree.Finding(path, 1, "this document does not exist"))
    return findings


if __name__ == "__main__":
    tree.main(check)
