# SPDX-License-Identifier: Apache-2.0
"""The litmus tests as the comments of tests/litmus/kernels state them: name, verdict, launch, threads."""
import dataclasses
import pathlib
import re
from typing import Dict, List

FAMILIES = {
    "message_passing": "Message passing, and outcomes of relaxed accesses",
    "causality": "Causality, patterns, release sequences",
    "fences": "Fences",
    "atomics": "Atomics, volatile, locks",
    "barriers": "Barriers, shuffles, aligned execution",
    "clusters": "Mbarriers, clusters, distributed shared memory",
    "proxies": "Proxies",
    "async": "Asynchronous operations, tensor maps, initial values",
}
HEAD = re.compile(r"// litmus (\w+): ([\w-]+); (?:(strict|deviation) ([\w-]+)( \(off\))?; )?ptx ([^;]+)(?:; (.*))?$")
LINE = re.compile(r"//   (P\d|T\d|also|weak|note|outcome)\b(.*)$")


@dataclasses.dataclass
class Test:
    name: str
    family: str
    line: int
    verdict: str
    due: str  # "strict", "deviation" or ""
    strict: str  # the strict rule, or the deviation from the ISA's letter, to which the verdict is due
    strict_on: bool
    sections: str
    grid: int
    cluster: int
    threads: int
    lines: List[str]  # "P0 cta 0: ..." or "T0 ...: ..."
    also: str
    weak: str
    note: str

    @property
    def small(self) -> bool:
        return all(line.startswith("P") for line in self.lines)


def parse(folder: pathlib.Path) -> List[Test]:
    tests: List[Test] = []
    for family in FAMILIES:
        text = (folder / f"{family}.hpp").read_text().split("\n")
        for number, line in enumerate(text, 1):
            if not line.startswith("// litmus "):
                continue
            match = HEAD.match(line)
            if not match:
                raise SystemExit(f"{family}.hpp:{number}: not a litmus comment: {line}")
            name, verdict, due, strict, off, sections, launch = match.groups()
            values: Dict[str, int] = {"grid": 1, "cluster": 1, "threads": 64}
            for part in (launch or "").split():
                key, _, value = part.partition("=")
                values[key] = int(value)
            fields = {"also": "", "weak": "", "note": ""}
            lines: List[str] = []
            at = number
            last = ""
            while at < len(text) and text[at].startswith("//   "):
                if text[at].startswith("//     "):  # a continuation
                    if last:
                        fields[last] += " " + text[at][7:]
                    else:
                        lines[-1] += " " + text[at][7:]
                    at += 1
                    continue
                part = LINE.match(text[at])
                if not part:
                    raise SystemExit(f"{family}.hpp:{at + 1}: not a line of a litmus comment: {text[at]}")
                word, rest = part.groups()
                last = "" if word[0] in "PT" else "note" if word == "outcome" else word
                if last:
                    fields[last] = rest.lstrip(": ")
                else:
                    lines.append(word + rest)
                at += 1
            if at >= len(text) or not text[at].startswith(f"LITMUS({name})"):
                raise SystemExit(f"{family}.hpp:{at + 1}: expected LITMUS({name})")
            tests.append(Test(name, family, number, verdict, due or "", strict or "", not off, sections, values["grid"],
                              values["cluster"], values["threads"], lines, fields["also"], fields["weak"],
                              fields["note"]))
    names = [test.name for test in tests]
    assert len(set(names)) == len(names), sorted(name for name in names if names.count(name) > 1)
    return tests
