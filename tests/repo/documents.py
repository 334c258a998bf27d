# SPDX-License-Identifier: Apache-2.0
"""What README, CONTRIBUTING and docs/ name in code exists: linked files and their headings, flags, functions of C, C++ and
Python, environment variables, files, and verbs of the program."""
import pathlib
import re
from typing import Dict, Iterator, List, Set, Tuple

import tree

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`]+)`")
SUFFIXES = tree.TEXT_SUFFIXES | {".svg", ".png"}
# Flags and names of other programs that the documents use.
FOREIGN = {"--preset", "--build", "--recurse-submodules", "--system-site-packages", "--fmad", "--fresh"}


def pages(root: pathlib.Path) -> List[pathlib.Path]:
    return [path for path in [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))]
            if path.is_file()]


def anchors(page: pathlib.Path) -> Set[str]:
    """The anchors that a web page gives the headings."""
    found = set()
    for line in page.read_text().split("\n"):
        if line.startswith("#"):
            heading = re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower())
            found.add(heading.replace(" ", "-"))
    return found


class Names:
    """Every name of the sources that a document may use."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        text: Dict[str, str] = {"all": "", "headers": "", "python": ""}
        flags: List[str] = []
        words: Set[str] = set()
        for path in tree.files(root, "include", "src", "bindings", "bench", "tools", "tests", "cmake", "examples"):
            if not tree.is_text(path) or tree.is_generated(path) or path.suffix == ".md" or path.suffix == ".json":
                continue
            content = path.read_text(errors="replace")
            relative = path.relative_to(root).parts
            if relative[0] == "tests":  # which also name what does not exist
                flags += re.findall(r"""(?:add_argument\(|== ?)"(--[a-z][a-z0-9-]*)""", content)
                words |= set(re.findall(r"\b(?:WARPWRIGHT|WW)_\w+", content))
                continue
            text["all"] += content
            if relative[0] == "include":
                text["headers"] += content
            if relative[0] == "bindings":
                text["python"] += content
        for name in ("ww", "CMakeLists.txt", "pyproject.toml", ".ci/run"):
            if (root / name).is_file():
                text["all"] += (root / name).read_text()
        self.flags = set(re.findall(r"--[a-z][a-z0-9-]*", text["all"])) | FOREIGN | set(flags)
        fields = root / "include" / "warpwright" / "config" / "fields.hpp"
        if fields.is_file():
            self.flags |= {"--" + name.replace("_", "-") for name in re.findall(r"\b[a-z]\w*", fields.read_text())}
        self.words = set(re.findall(r"\w+", text["all"])) | words
        self.headers = set(re.findall(r"\w+", text["headers"]))
        self.python = set(re.findall(r"\w+", text["python"]))

    def faults(self, span: str) -> Iterator[str]:
        """What a piece of code names and the sources do not have."""
        for flag in re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*(?!\*)", span):
            if flag not in self.flags:
                yield f"flag {flag} is in no source"
        for name in re.findall(r"\b(?:WARPWRIGHT|WW)_[A-Z0-9_]*[A-Z0-9]\b(?![*_])|\bww_[a-z0-9_]*[a-z0-9]\b(?![*_])", span):
            if name not in self.words:
                yield f"{name} is in no source"
        for name in re.findall(r"\b(?:ww|arch|evt)::((?:\w+::)*\w+)", span):
            for part in name.split("::"):
                if part not in self.headers:
                    yield f"{name} is in no public header"
        for name in re.findall(r"\bwarpwright\.((?:\w+\.)*\w+)", span):
            for part in name.split("."):
                if part not in self.python and part not in {"hpp", "h", "org"}:
                    yield f"warpwright.{name} is not in the Python package"

    def missing_file(self, span: str, page: pathlib.Path) -> str:
        if not re.fullmatch(r"[\w.+-]+(/[\w.+-]+)+", span) or pathlib.Path(span).suffix not in SUFFIXES:
            return ""
        places = [self.root, self.root / "include", self.root / "include" / "warpwright", self.root / "src", page.parent]
        return "" if any((place / span).exists() for place in places) else f"{span} does not exist"


def check_links(page: pathlib.Path, line: str) -> Iterator[str]:
    for target in LINK.findall(line):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        place = (page.parent / name).resolve() if name else page
        if not place.exists():
            yield f"the link {target} leads to no file"
        elif anchor and anchor not in anchors(place):
            yield f"the link {target} leads to no heading"


def spans(page: pathlib.Path) -> Iterator[Tuple[int, str, str]]:
    """Lines with the code in them: (number, "link", line), (number, "code", span)."""
    fenced = False
    for number, line in enumerate(page.read_text().split("\n"), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            yield number, "code", line
        else:
            yield number, "link", line
            for span in CODE.findall(line):
                yield number, "code", span


def check(root: pathlib.Path) -> List[tree.Finding]:
    names = Names(root)
    findings = []
    for page in pages(root):
        for number, kind, text in spans(page):
            reasons = list(check_links(page, text)) if kind == "link" else list(names.faults(text))
            if kind == "code":
                reasons += [reason for reason in [names.missing_file(text, page)] if reason]
            findings += [tree.Finding(page, number, reason) for reason in dict.fromkeys(reasons)]
    return findings


if __name__ == "__main__":
    tree.main(check)
