# SPDX-License-Identifier: Apache-2.0
"""docs/tutorial.md as it stands: its Python blocks are one program, its shell blocks print what the page shows. README's
Python block runs too. The C++ blocks of both are compiled and run by install.examples."""
import importlib.util
import pathlib
import re
import subprocess
import sys
from typing import Any, Dict, Iterator, List, NamedTuple

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "tutorial.md"


class Block(NamedTuple):
    line: int
    language: str
    needs: str
    text: str


def blocks(page: pathlib.Path = PAGE) -> Iterator[Block]:
    needs, language, start, lines = "", "", 0, []  # type: str, str, int, List[str]
    for number, line in enumerate(page.read_text().splitlines(), 1):
        fence = re.fullmatch(r"```(\w*)", line)
        if language and line == "```":
            yield Block(start, language, needs, "\n".join(lines) + "\n")
            needs, language = "", ""
        elif language:
            lines.append(line)
        elif fence:
            language, start, lines = fence.group(1), number, []
        elif line.startswith("<!-- needs "):
            needs = line[len("<!-- needs "):-len(" -->")]


def test_its_python_is_one_program() -> None:
    namespace: Dict[str, Any] = {"__name__": "tutorial"}
    ran = 0
    for block in blocks():
        if block.language == "python" and not (block.needs and importlib.util.find_spec(block.needs) is None):
            exec(compile("\n" * block.line + block.text, str(PAGE), "exec"), namespace)
            ran += 1
    assert ran >= 15


def test_its_commands_print_what_it_shows() -> None:
    listed = list(blocks())
    commands = [i for i, block in enumerate(listed) if block.language == "sh"]
    assert commands
    for i in commands:
        assert listed[i].text.startswith("./ww "), f"line {listed[i].line}: expected one command of ./ww"
        assert listed[i + 1].language == "text", f"line {listed[i].line}: expected its output to follow"
        command = listed[i].text.replace("./ww", f"{sys.executable} -m warpwright", 1)
        shown = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True).stdout
        assert shown == listed[i + 1].text, f"line {listed[i + 1].line}"


def test_the_python_of_readme() -> None:
    listed = [block for block in blocks(ROOT / "README.md") if block.language == "python"]
    assert len(listed) == 1
    namespace: Dict[str, Any] = {}
    exec(compile(listed[0].text, "README.md", "exec"), namespace)
    assert (namespace["out"] == 512).all() and namespace["out"].shape == (256, 128)


@pytest.mark.parametrize("language", ["python", "sh", "cpp", "text"])
def test_it_has_blocks_of(language: str) -> None:
    assert any(block.language == language for block in blocks())


def test_no_block_is_of_another_language() -> None:
    assert {block.language for block in blocks()} == {"python", "sh", "cpp", "text"}
