# SPDX-License-Identifier: Apache-2.0
"""What the repository checks share: the files of the tree, C++ text without comments, and the way to report.

A check is a function check(root) -> list of Finding; run as a program it prints "file:line: message" for each finding
and exits with 1 when there is any. checks_test.py plants one violation of every rule and expects it to be found.
"""
import os
import pathlib
import re
import sys
from typing import Callable, Iterator, List, NamedTuple

# The kernel layers, lowest first: the one list is that of the headers that the library carries for its compilers.
EMBED = pathlib.Path(__file__).resolve().parents[2] / "cmake" / "embed_headers.cmake"
LAYERS = re.search(r"set\(WW_EMBEDDED_FOLDERS ([^)]*)\)", EMBED.read_text()).group(1).split()
CPP_SUFFIXES = {".hpp", ".h", ".cpp", ".cc", ".cu", ".cuh", ".inl", ".ipp"}
TEXT_SUFFIXES = CPP_SUFFIXES | {".py", ".pyi", ".sh", ".cmake", ".txt", ".md", ".in", ".json", ".c", ".toml", ".yml"}
TEXT_NAMES = {"ww", "run", ".clang-format", ".clang-tidy", ".gitignore"}


class Finding(NamedTuple):
    path: pathlib.Path
    line: int
    message: str


def is_ours(folder: str) -> bool:
    hidden = folder.startswith(".") and folder != ".ci"
    others = {"Testing", "__pycache__", "third_party"}  # third_party: unchanged files of other projects
    return not hidden and not folder.startswith("build") and folder not in others


def files(root: pathlib.Path, *folders: str) -> Iterator[pathlib.Path]:
    """Every file below the folders (or below root), without builds, caches and hidden folders other than .ci."""
    for folder in folders or (".",):
        for directory, names, leaves in os.walk(root / folder):
            names[:] = sorted(name for name in names if is_ours(name))
            for leaf in sorted(leaves):
                yield pathlib.Path(os.path.normpath(os.path.join(directory, leaf)))


def is_text(path: pathlib.Path) -> bool:
    return path.suffix in TEXT_SUFFIXES or path.name in TEXT_NAMES


def is_generated(path: pathlib.Path) -> bool:
    return "generated" in path.parts


TOKENS = re.compile(r'R"([^\s()\\]{0,16})\((?:.|\n)*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*(?:.|\n)*?\*/')


def code_only(text: str) -> str:
    """C++ source with comments and literals emptied; line numbers stay."""
    def blank(match: "re.Match[str]") -> str:
        token = match.group(0)
        newlines = "\n" * token.count("\n")
        return newlines if token.startswith(("//", "/*")) else '""' + newlines
    # a digit separator, as in 1'000'000, is no character literal
    return TOKENS.sub(blank, re.sub(r"(?<=[0-9a-fA-F])'(?=[0-9a-fA-F])", "_", text))


def main(check: Callable[[pathlib.Path], List[Finding]]) -> None:
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    findings = check(root)
    for finding in findings:
        path = finding.path.relative_to(root) if finding.path.is_absolute() else finding.path
        print(f"{path}:{finding.line}: {finding.message}")
    sys.exit(1 if findings else 0)
