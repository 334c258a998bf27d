# SPDX-License-Identifier: Apache-2.0
"""Limits and names of an architecture stand in core/machine.hpp alone, rates of a device in src/select/machine_rates.hpp
alone. This looks for them elsewhere in C++: 227 and 228 KiB of shared memory, 65536 registers, 512 columns of tensor
memory, 132 and 148 SMs, however they are written (0x200, 1 << 9, 8 * 64), counts of registers that roles claim, and
"sm_90a" or "emu:sm90" in a literal. Comments may name them. A number that means something else is in OTHERS, with its
reason; an entry there that has gone is a fault too."""
import pathlib
import re
from typing import Dict, Iterator, List, Tuple

import tree
from tree import Finding

HOMES = {"include/warpwright/core/machine.hpp", "src/select/machine_rates.hpp"}
FOLDERS = ("include", "src", "bench/native")
NUMBERS = {
    232448: "the shared memory of a CTA", 233472: "the shared memory of an SM", 65536: "the registers of an SM",
    512: "the columns of tensor memory", 132: "the SMs of an H200", 148: "the SMs of a B200",
    168: "the registers at a launch of 384 threads", 232: "the registers of a consumer thread",
}
SPLITS = [(40, 232), (24, 240), (32, 240), (56, 224), (56, 152), (32, 160), (24, 160), (40, 152)]
OTHERS: Dict[str, Dict[int, str]] = {
    "include/warpwright/atom/layouts.hpp": {512: "a stride of the accumulator: 64 rows times 8 columns"},
    "include/warpwright/config/fields.hpp": {65536: "the largest integer of most fields"},
    "include/warpwright/kernel/ragged_gemm.hpp": {65536: "bytes that memory delivers until the list of tiles is made"},
    "include/warpwright/mainloop/sm90/promotion.hpp": {512: "values of a thread that one iteration promotes"},
    "include/warpwright/layout/integer.hpp": {512: "a static integer of the layout algebra"},
    "include/warpwright/scheduler/ragged_tiles.hpp": {65536: "one in the upper half of two packed counts"},
    "src/cli/flags.hpp": {512: "a bit of a set"},
    "src/cli/grouped_request.cpp": {512: "rows of a problem without a size"},
    "src/cli/k_grouped_request.cpp": {512: "M and N of a problem without a size"},
    "src/cli/request.cpp": {65536: "the most CTAs that --sms takes"},
    "src/check/process.cpp": {65536: "bytes of a read from a pipe"},
    "src/emu/sm90/descriptor.cpp": {512: "chunks of the rows of B: two of each of 256"},
    "src/emu/sm90/numerics/mma_avx512.cpp": {65536: "the leading one of a significand", 232: "a table of a three-way logic"},
    "src/emu/sm100/operands.cpp": {512: "chunks of the rows of B: two of each of 256"},
    "src/emu/schedule.hpp": {65536: "entries after which a queue moves to its front"},
    "src/emu/sm90/warpgroup_engine.cpp": {512: "chunks of the rows of B: two of each of 256"},
    "src/host/messages.cpp": {65536: "the first code point of four bytes"},
    "src/ops/pack_scales.cpp": {65536: "the longest span of one scale"},
    "src/ops/quantize_validation.cpp": {65536: "the most rows that a group is padded to"},
    "src/reference/operands.cpp": {65536: "values of a 16-bit type"},
    "src/reference/verify.cpp": {65536: "values of a 16-bit type"},
    "src/select/config_list.cpp": {160: "registers of an accumulator, by which kernels were found to spill"},
    "src/select/grouped_configs.cpp": {512: "groups of a table in shared memory"},
}
LITERAL = r"(?:0[xX][0-9a-fA-F']+|\d[\d']*)[uUlLzZ]*"
PRODUCT = re.compile(rf"(?<![\w.'])\(*\s*{LITERAL}(?:\s*\)*\s*(?:\*|<<)\s*\(*\s*{LITERAL})*(?![\w.'])")
NAME = re.compile(r"sm_?(?:90|100)a?\b")
TEXT = re.compile(r'"(?:\\.|[^"\\\n])*"')
COMMENT = re.compile(r"//[^\n]*|/\*(?:.|\n)*?\*/")
STRING_OR_COMMENT = re.compile(rf"({TEXT.pattern})|{COMMENT.pattern}")


def without_comments(text: str) -> str:
    return STRING_OR_COMMENT.sub(lambda m: m.group(1) or "\n" * m.group(0).count("\n"), text)


def value_of(literal: str) -> int:
    digits = literal.rstrip("uUlLzZ").replace("'", "")
    if digits[:2] in ("0x", "0X"):
        return int(digits, 16)
    return int(digits, 8) if digits.startswith("0") and set(digits) <= set("01234567") else int(digits)


def values(line: str) -> Iterator[int]:
    """The literals of a line, and what products and shifts of them come to."""
    for match in PRODUCT.finditer(line):
        total = None
        for operator, literal in re.findall(rf"(\*|<<)?[\s()]*({LITERAL})", match.group(0)):
            value = value_of(literal)
            if total is not None:
                yield value
            total = value if total is None else total * value if operator == "*" else total << min(value, 64)
        yield total


def faults_of(line: str) -> Iterator[Tuple[int, str]]:
    if line.lstrip().startswith("#include"):
        return
    for text in TEXT.findall(line):
        for name in NAME.findall(text):
            yield 0, f'expected a name of machine_of() for "{name}"'
        for number in re.findall(r"\b\d+\b", text):
            if int(number) in (232448, 233472):
                yield int(number), f"expected machine_of() instead of {number} in a text"
    code = TEXT.sub('""', line)
    found = list(values(code))
    for number in sorted(set(found) & set(NUMBERS)):
        yield number, f"expected machine_of() or MachineRates instead of {number}, {NUMBERS[number]}"
    for producer, consumer in SPLITS:
        if consumer not in NUMBERS and re.search(rf"(?<![\w.]){producer}[\s,/:{{}}()]{{1,4}}{consumer}(?![\w.])", code):
            yield consumer, f"expected split_registers() instead of {producer} and {consumer} registers"
    for count in re.findall(rf"registers\w*\s*(?:[<>=!]=?|{{)\s*({LITERAL})", code):
        if any(value_of(count) in split for split in SPLITS):
            yield value_of(count), f"expected a member of MachineTraits instead of {count} registers"


def check(root: pathlib.Path) -> List[Finding]:
    findings: List[Finding] = []
    seen = set()
    for path in tree.files(root, *FOLDERS):
        name = path.relative_to(root).as_posix()
        if path.suffix not in tree.CPP_SUFFIXES or tree.is_generated(path) or name in HOMES:
            continue
        for number, line in enumerate(without_comments(path.read_text()).split("\n"), 1):
            for value, message in faults_of(line):
                if value in OTHERS.get(name, {}):
                    seen.add((name, value))
                else:
                    findings.append(Finding(path, number, message))
    for name, reasons in OTHERS.items():
        for value in reasons:
            if (root / name).is_file() and (name, value) not in seen:
                findings.append(Finding(root / name, 1, f"OTHERS of tests/repo/limits.py names {value}, which is gone"))
    return findings


if __name__ == "__main__":
    tree.main(check)
