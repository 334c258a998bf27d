# SPDX-License-Identifier: Apache-2.0
"""The rules of python/conf.py find the faults of docstrings that they are meant to find. Needs Sphinx."""
import pathlib
import sys
import types
from typing import List

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "python"))
import conf  # pylint: disable=wrong-import-position

GOOD = "Returns the share of `a` that b has; stream is that of other()."


def share(a: object, b: object, stream: object = None) -> None:
    """Documented by each case."""


def other(stream: object = None) -> None:
    """Waits for stream."""


class Log:
    def __init__(self) -> None:
        self.lines: List[str] = []

    def warning(self, text: str, *arguments: object) -> None:
        self.lines.append(text % arguments)


def complaints(docstring: str) -> str:
    conf.log = Log()
    conf.process(None, "function", "warpwright.share", share, None, docstring.split("\n"))
    return "\n".join(conf.log.lines)


def main() -> int:
    for name in conf.MODULES:
        sys.modules[name] = types.ModuleType(name)
    sys.modules["warpwright"].share, sys.modules["warpwright"].other = share, other
    cases = {
        GOOD: "",
        "": "no docstring",
        GOOD.replace(" b ", " it "): "parameter b",
        GOOD.replace("other()", "another()"): "another()",
        GOOD.replace("; stream is that of other()", ""): "parameter stream",
    }
    wrong = [f"{docstring!r}: expected a complaint with {word!r}, got {complaints(docstring)!r}"
             for docstring, word in cases.items()
             if (word not in complaints(docstring) if word else complaints(docstring))]
    print("\n".join(wrong) if wrong else f"{len(cases) - 1} faults of docstrings are found")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
