#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions of a Hopper kernel that are neither MMAs nor promotion, for each k-block and each tile of a role.
   overhead.py INCLUDE SOURCE.cu ...            compiles each with NVRTC and prints a line for each role
   overhead.py INCLUDE SOURCE.cu --opcodes      also counts by opcode
   overhead.py INCLUDE SOURCE.cu --json         the counts of one kernel for a program, and whether it waits for the launch
                                                before it lets the next one in
No GPU is needed. nvdisasm's listing is cut into basic blocks; natural loops of the control flow graph give each block its
depth. The innermost loops that hold a wgmma are the loops over K of a consumer, those that hold a TMA load the producer's,
those that hold global loads and stores to shared memory the scale warps'. The loop around one of them is its loop over tiles;
around a consumer's, the first that stores.
A k-block counts what the iteration with the most k-blocks executes, divided by their number; a tile what lies on the shortest
way around its loop over K. Loops that wait for a barrier and code for diverged warps count nothing."""
import argparse
import collections
import glob
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from typing import Any, Callable, Counter, Dict, Iterable, Iterator, List, NamedTuple, Optional, Set, Tuple

from nvrtc import compile_source

Counts = Counter  # of opcodes without their modifiers; fractions where an iteration does several k-blocks
MMA = re.compile(r"[QHI]GMMA\b")
STORE = r"ST[SG]|STSM|UTMASTG|RED|ATOM"
LINE = re.compile(r"^\s*/\*([0-9a-f]+)\*/\s+(.*?)\s*;?\s*$")
LABEL = re.compile(r"^\s*(\.L_x_\d+):")
TARGET = re.compile(r"`\((\.L_x_\d+)\)")


class Instruction(NamedTuple):
    address: int
    predicate: str
    opcode: str  # with its modifiers
    text: str


class Block:
    def __init__(self) -> None:
        self.code: List[Instruction] = []
        self.labels: List[str] = []
        self.next: List[int] = []

    def has(self, pattern: str) -> bool:
        return any(re.match(pattern, one.opcode) for one in self.code)


def instructions_of(listing: str) -> Iterator[Any]:
    """Labels as str, instructions as Instruction."""
    for line in listing.splitlines():
        label = LABEL.match(line)
        if label:
            yield label.group(1)
        found = LINE.match(line)
        if found and found.group(2):
            words = found.group(2).split(None, 1)
            predicate = words[0] if words[0].startswith("@") else ""
            text = words[1] if predicate else found.group(2)
            yield Instruction(int(found.group(1), 16), predicate, text.split()[0], text)


def blocks_of(listing: str) -> List[Block]:
    blocks: List[Block] = [Block()]
    for one in instructions_of(listing):
        if isinstance(one, str):
            if blocks[-1].code:
                blocks.append(Block())
            blocks[-1].labels.append(one)
            continue
        blocks[-1].code.append(one)
        if re.match(r"BRA|BRX|EXIT|RET|CALL|JMP|BREAK", one.opcode) and not one.opcode.startswith("BREAK"):
            blocks.append(Block())
    if not blocks[-1].code:
        blocks.pop()
    at = {label: i for i, block in enumerate(blocks) for label in block.labels}
    for i, block in enumerate(blocks):
        last = block.code[-1]
        targets = [at[name] for name in TARGET.findall(last.text) if name in at]
        targets += [at[name] for name in re.findall(r"\.L_x_\d+", last.text.partition("BRANCH_TARGETS")[2]) if name in at]
        ends = re.match(r"BRA|BRX|EXIT|RET|JMP", last.opcode)
        always = ends and not last.predicate and not re.match(r"BRA\.DIV|BRA .*U?P\d", last.text)
        if last.opcode == "BRA.U" or last.opcode.startswith("BRA.DIV"):
            always = False
        if not always and i + 1 < len(blocks):
            targets.append(i + 1)
        block.next = targets
    return blocks


def dominators(blocks: List[Block]) -> List[Optional[int]]:
    """The immediate dominator of each block; None where it cannot be reached."""
    order: List[int] = []
    seen, stack = {0}, [(0, iter(blocks[0].next))]
    while stack:
        node, successors = stack[-1]
        for successor in successors:
            if successor not in seen:
                seen.add(successor)
                stack.append((successor, iter(blocks[successor].next)))
                break
        else:
            order.append(node)
            stack.pop()
    number = {node: i for i, node in enumerate(order)}
    before: Dict[int, List[int]] = collections.defaultdict(list)
    for i in order:
        for successor in blocks[i].next:
            before[successor].append(i)
    above: List[Optional[int]] = [None] * len(blocks)
    above[0] = 0
    changed = True
    while changed:
        changed = False
        for node in reversed(order[:-1]):
            new: Optional[int] = None
            for one in before[node]:
                if above[one] is None:
                    continue
                if new is None:
                    new = one
                    continue
                a, b = one, new
                while a != b:
                    while number[a] < number[b]:
                        a = above[a]  # type: ignore[assignment]
                    while number[b] < number[a]:
                        b = above[b]  # type: ignore[assignment]
                new = a
            if above[node] != new:
                above[node], changed = new, True
    return above


def loops_of(blocks: List[Block]) -> Dict[int, Set[int]]:
    """The blocks of each natural loop, by its head."""
    above = dominators(blocks)

    def dominates(a: int, b: int) -> bool:
        while b not in (a, 0):
            b = above[b]  # type: ignore[assignment]
        return a == b

    before: Dict[int, List[int]] = collections.defaultdict(list)
    for i, block in enumerate(blocks):
        if above[i] is not None:
            for successor in block.next:
                before[successor].append(i)
    loops: Dict[int, Set[int]] = {}
    for i, block in enumerate(blocks):
        if above[i] is None:
            continue
        for head in block.next:
            if dominates(head, i):
                body, work = loops.setdefault(head, {head}), [i]
                while work:
                    one = work.pop()
                    if one not in body:
                        body.add(one)
                        work += before[one]
    return loops


class Role:
    """Instructions of one role: of each k-block and of each tile, by opcode."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.k_block: Counts = collections.Counter()
        self.tile: Counts = collections.Counter()


class Kernel:
    def __init__(self, listing: str, mmas: int) -> None:
        """`mmas`: wgmma instructions of one k-block in one consumer warpgroup."""
        self.blocks, self.mmas = blocks_of(listing), mmas
        loops = loops_of(self.blocks)
        off = {i for i, block in enumerate(self.blocks) if block.has(r"WARPSYNC\.COLLECTIVE|CALL")}
        for body in loops.values():
            if self.is_wait(body):
                off |= body
        self.loops = {head: body - off for head, body in loops.items() if head not in off}

    def is_wait(self, body: Set[int]) -> bool:
        """The loop only waits for a barrier."""
        code = [one.opcode for i in body for one in self.blocks[i].code]
        return len(code) <= 6 and any(one.startswith("SYNCS.PHASECHK") for one in code)

    def has(self, body: Iterable[int], pattern: str) -> bool:
        return any(self.blocks[i].has(pattern) for i in body)

    def number(self, body: Iterable[int], pattern: str) -> int:
        return sum(bool(re.match(pattern, one.opcode)) for i in body for one in self.blocks[i].code)

    def innermost(self, test: Callable[[Set[int]], bool]) -> List[int]:
        """The heads of the loops that pass the test and contain none that does."""
        heads = [head for head, body in self.loops.items() if test(body)]
        return [one for one in heads if not any(self.loops[other] < self.loops[one] for other in heads)]

    def around(self, head: int) -> Optional[int]:
        return min((other for other in self.loops if self.loops[head] < self.loops[other]),
                   key=lambda other: len(self.loops[other]), default=None)

    def whole(self, head: int) -> int:
        """The head of a consumer's whole loop over K: of the largest around the innermost one that stores nothing. Whole rounds
        of the ring may be a loop within it."""
        outer = self.around(head)
        while outer is not None and not self.has(self.loops[outer] - self.loops[head], STORE):
            head, outer = outer, self.around(outer)
        return head

    def path(self, start: Iterable[int], ends: Set[int], within: Set[int], work: str) -> List[int]:
        """Of the paths from one of `start` to one of `ends`, whose blocks are `within`: the one with the most instructions
        of pattern `work` and of these the shortest. No block twice."""
        best: Dict[int, Tuple[int, int, List[int]]] = {}
        queue = []
        for i in start:
            best[i] = (-self.number([i], work), len(self.blocks[i].code), [i])
            queue.append(i)
        while queue:
            here = queue.pop(0)
            done, length, nodes = best[here]
            for there in self.blocks[here].next if here not in ends or len(nodes) == 1 and here in start else []:
                if there not in within or there in nodes:
                    continue
                new = (done - self.number([there], work), length + len(self.blocks[there].code), nodes + [there])
                if there not in best or new[:2] < best[there][:2]:
                    best[there] = new
                    queue.append(there)
        found = [best[i] for i in ends if i in best]
        return min(found, key=lambda one: one[:2])[2] if found else []

    def latches(self, head: int) -> Set[int]:
        return {i for i in self.loops[head] if head in self.blocks[i].next}

    def count(self, blocks: Iterable[int], by: float = 1.0) -> Counts:
        counts: Counts = collections.Counter()
        for i in blocks:
            for one in self.blocks[i].code:
                counts[one.opcode.split(".")[0]] += by
        return counts

    def of_k_block(self, head: int, work: str, per_k_block: int) -> Tuple[Counts, int]:
        """One k-block of a loop over K, in the iteration that does most of them, and how many it does."""
        nodes = self.path([head], self.latches(head), self.loops[head], work)
        k_blocks = max(1, self.number(nodes, work) // per_k_block)
        return self.count(nodes, 1.0 / k_blocks), k_blocks

    def of_tile(self, outer: int, inner: int) -> Counts:
        """The shortest way through a tile outside its loop over K."""
        body, k_loop = self.loops[outer], self.loops[inner]
        entry = self.path([outer], {inner}, (body - k_loop) | {inner}, "-")[:-1]
        exits = {there for i in k_loop for there in self.blocks[i].next if there in body - k_loop}
        return self.count(entry) + self.count(self.path(sorted(exits), self.latches(outer) - k_loop, body - k_loop, "-"))

    def roles(self) -> List[Role]:
        tests = {"consumer": (MMA.pattern, self.mmas, lambda body: self.has(body, MMA.pattern)),
                 "producer": ("SYNCS.PHASECHK", 1, lambda body: self.has(body, "UTMALDG") and
                              self.has(body, "SYNCS.PHASECHK") and not self.has(body, MMA.pattern)),
                 "scales": ("SYNCS.PHASECHK", 1, lambda body: self.has(body, "LDG") and self.has(body, "STS") and
                            self.has(body, "SYNCS") and not self.has(body, "UTMA|" + MMA.pattern))}
        made = []
        for name, (work, per_k_block, test) in tests.items():
            by_tile: Dict[Optional[int], List[Tuple[int, Counts, int]]] = collections.defaultdict(list)
            for head in self.innermost(test):
                counts, k_blocks = self.of_k_block(head, work, per_k_block)
                whole = self.whole(head) if name == "consumer" else head
                by_tile[self.around(whole)].append((k_blocks, counts, whole))
            for outer, loops in by_tile.items():
                role = Role(name)
                _, role.k_block, inner = max(loops, key=lambda one: (one[0], -overhead(one[1])))
                if outer is not None:
                    role.tile = self.of_tile(outer, inner)
                made.append(role)
        return made


def overhead(counts: Counts) -> float:
    return sum(n for opcode, n in counts.items() if opcode not in ("FFMA", "FFMA2", "QGMMA", "HGMMA"))


def mmas_of_k_block(source: str) -> int:
    """Of a consumer warpgroup, from the config in the first line of a source."""
    config = dict(part.split("=", 1) for part in source.partition("\n")[0].split(",") if "=" in part)
    m, n, k = map(int, config["tile"].split("x"))
    bits = {"bf16": 16, "f16": 16, "tf32": 32}.get(config["a"], 8)
    rows = n if config.get("variant") == "ragged" else m
    alone = config.get("schedule") == "pingpong"
    blocks = rows // (1 if alone else int(config["consumer_warpgroups"])) // 64
    return max(1, blocks) * max(1, (k or 128 * 8 // bits) * bits // 256)


def nvdisasm() -> str:
    for pattern in ("/usr/local/cuda/bin/nvdisasm", os.environ.get("NVDISASM", ""),
                    f"{sys.prefix}/lib/python3*/site-packages/nvidia/cu1*/bin/nvdisasm"):
        for found in glob.glob(pattern):
            return found
    sys.exit("nvdisasm: not found; set NVDISASM")


def listing_of(cubin: bytes) -> str:
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        return subprocess.run([nvdisasm(), "-c", file.name], capture_output=True, text=True, check=True).stdout


def waits_first(listing: str) -> bool:
    opcodes = [one.opcode for one in instructions_of(listing) if not isinstance(one, str)]
    return "ACQBULK" in opcodes[:opcodes.index("PREEXIT")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("include"), parser.add_argument("sources", nargs="+")
    parser.add_argument("--nvrtc", default="/usr/local/cuda/lib64/libnvrtc.so.13")
    parser.add_argument("--opcodes", action="store_true")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    for source in arguments.sources:
        compiled = compile_source(arguments.nvrtc, arguments.include, source)
        text = pathlib.Path(source).read_text()
        listing = listing_of(compiled.cubin)
        roles = Kernel(listing, mmas_of_k_block(text)).roles()
        if arguments.json:
            counts = {role.name: {"k-block": round(overhead(role.k_block), 2), "tile": overhead(role.tile)}
                      for role in reversed(roles)}
            print(json.dumps({"roles": counts, "waits_first": waits_first(listing)}))
            continue
        print(text.partition("\n")[0])
        print("  registers", *re.findall(r"Used (\d+) registers", compiled.log), "spilled",
              sum(map(int, re.findall(r"(\d+) bytes spill", compiled.log))), "warnings",
              len(re.findall(r"C75\d\d|[Ww]arning", compiled.log)), "instructions",
              sum(not isinstance(one, str) for one in instructions_of(listing)))
        for role in roles:
            print(f"  {role.name:9} k-block {overhead(role.k_block):6.1f}   tile {overhead(role.tile):6.0f}")
            if arguments.opcodes:
                for what, counts in (("k-block", role.k_block), ("tile", role.tile)):
                    print(f"    {what}:", ", ".join(f"{opcode} {n:g}" for opcode, n in
                                                   sorted(counts.items(), key=lambda item: -item[1])))


if __name__ == "__main__":
    main()
