# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/memory-model.md, made from the comments of tests/litmus/kernels.
table.py ROOT          fails unless the document has them
table.py ROOT --write  writes them"""
import pathlib
import sys
from typing import List

import litmus

BEGIN, END = "<!-- litmus: tests/litmus/table.py --write -->\n", "<!-- end of litmus -->\n"


def cell(test: litmus.Test) -> str:
    lines = [f"`{line}`" for line in test.lines]
    if test.note:
        lines.append(test.note[0].upper() + test.note[1:])
    return " <br> ".join(lines)


def verdict(test: litmus.Test) -> str:
    words = test.verdict + (f" or {test.also}" if test.also else "")
    if test.strict and test.strict_on:
        words += f" ({test.due} `{test.strict}`)"
    elif test.strict:
        words += f" (`{test.strict}` is off)"
    if test.weak:
        words += f"; {test.weak} in executions that are not sequentially consistent: allowed, not shown"
    return words


def launch(test: litmus.Test) -> str:
    words = f"{test.grid} CTA" + ("s" if test.grid > 1 else "")
    if test.cluster > 1:
        words += ", a cluster"
    return words + ("" if test.threads == 64 else f", {test.threads} threads")


def tables(tests: List[litmus.Test]) -> str:
    small = sum(test.small for test in tests)
    text = f"{len(tests)} tests, {small} of them enumerated.\n"
    for family, title in litmus.FAMILIES.items():
        text += f"\n### {title}\n\n| test | threads | launch | verdict | PTX |\n|---|---|---|---|---|\n"
        for test in tests:
            if test.family == family:
                text += (f"| `{test.name}` | {cell(test)} | {launch(test)} | {verdict(test)} | {test.sections} |\n")
    return text


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    page = root / "docs" / "memory-model.md"
    text = page.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    made = before + BEGIN + tables(litmus.parse(root / "tests" / "litmus" / "kernels")) + END + after
    if "--write" in sys.argv:
        page.write_text(made)
    elif made != text:
        print("docs/memory-model.md: the litmus tables differ from the comments of tests/litmus/kernels; "
              "run tests/litmus/table.py . --write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
