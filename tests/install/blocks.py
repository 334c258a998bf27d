#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes every C++ and C block of README.md and docs/ as a source file: blocks.py CHECKOUT FOLDER.

A block with main() becomes a program, FOLDER/<page>_<line>.cpp or .c; any other FOLDER/blocks/<page>_<line>, which is
compiled only. A block of statements says above its fence which function they belong to, and has the includes of the
blocks before it on its page:
    <!-- inside void f(arch::MBarrier ready) -->
"""
import re
import sys
from pathlib import Path
from typing import Iterator, List, Tuple

INSIDE = re.compile(r"<!-- inside (.*) -->")


def blocks_of(page: Path) -> Iterator[Tuple[int, str, str, List[str]]]:
    """Line of the fence, the language, the function that the block is inside of or "", and the block's lines."""
    inside, block, start, language = "", None, 0, ""
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if block is None:
            if line.strip() in ("```cpp", "```c++", "```c"):
                block, start, language = [], number, "c" if line.strip() == "```c" else "cpp"
            elif line.strip():
                match = INSIDE.fullmatch(line.strip())
                inside = match.group(1) if match else ""
        elif line.strip() == "```":
            yield start, language, inside, block
            block, inside = None, ""
        else:
            block.append(line)


def source_of(language: str, inside: str, lines: List[str], earlier: List[str], where: str) -> str:
    if language == "c" and inside:
        headers = ["#include <stdio.h>", "#include <warpwright/warpwright.h>"]
        return "\n".join([*headers, f"{inside};", f"{inside} {{", *lines, "}", ""])
    if not inside:
        return "\n".join([f'#line 1 "{where}"', *lines, ""])
    included = earlier + [line for line in lines if line.startswith("#include")]
    body = [line for line in lines if not line.startswith("#include")]
    return "\n".join([*included, "using namespace ww;", f"{inside};", f"{inside} {{", *body, "}", ""])


def main() -> int:
    checkout, folder = Path(sys.argv[1]), Path(sys.argv[2])
    (folder / "blocks").mkdir(parents=True, exist_ok=True)
    count = 0
    for page in [checkout / "README.md", *sorted((checkout / "docs").rglob("*.md"))]:
        earlier: List[str] = []
        for line, language, inside, lines in blocks_of(page):
            name = f"{page.stem.replace('-', '_')}_{line}.{language}"
            whole = any(re.match(r"int main\(", text) for text in lines)
            target = folder / name if whole else folder / "blocks" / name
            target.write_text(source_of(language, inside, lines, earlier, f"{page.name}:{line}"), encoding="utf-8")
            earlier += [text for text in lines if language == "cpp" and text.startswith("#include")]
            count += 1
    print(f"{count} blocks")
    return 0 if count else 1


if __name__ == "__main__":
    sys.exit(main())
