# SPDX-License-Identifier: Apache-2.0
"""The relations of chapter 8 of the PTX ISA for one execution of a litmus test, its axioms, and its races."""
import dataclasses
import itertools
import re
from typing import Dict, FrozenSet, Iterator, List, Set, Tuple

from program import Event, Program

Pair = Tuple[int, int]


def closure(size: int, pairs: Set[Pair]) -> List[int]:
    """The transitive closure, as one bit set of successors for each element."""
    after = [0] * size
    for a, b in pairs:
        after[a] |= 1 << b
    for middle in range(size):
        for a in range(size):
            if after[a] >> middle & 1:
                after[a] |= after[middle]
    return after


def cyclic(size: int, pairs: Set[Pair]) -> bool:
    return any(after >> a & 1 for a, after in enumerate(closure(size, pairs)))


@dataclasses.dataclass
class Choice:
    """What an execution chooses: who is there, what strong and guarded reads return, orders of writes and fences."""
    present: FrozenSet[int]
    source: Dict[int, int]  # read -> write
    coherence: Dict[str, Tuple[int, ...]]
    fences: Tuple[int, ...]
    without_write: FrozenSet[int]  # atom.cas that failed


class Execution:
    """The relations of one choice. `wide`: as if every scope were .sys and every overlap complete.
    `one_proxy`: as if all accesses used the generic proxy."""

    def __init__(self, program: Program, choice: Choice, strict: FrozenSet[str], wide: bool = False,
                 one_proxy: bool = False) -> None:
        self.events, self.choice, self.strict = program.events, choice, strict
        self.cluster = program.test.cluster
        self.wide, self.one_proxy = wide, one_proxy
        self.order = {event: (thread, at) for thread, members in enumerate(program.program)
                      for at, event in enumerate(members)}
        self.size = len(self.events)
        self.observed = self.observation()
        self.base = closure(self.size, self.program_order() | self.synchronisation())

    # --- primitive relations

    def po(self, a: int, b: int) -> bool:
        return a in self.order and b in self.order and self.order[a][0] == self.order[b][0] and \
            self.order[a][1] < self.order[b][1]

    def includes(self, a: Event, b: Event) -> bool:
        if self.wide or a.scope in ("gpu", "sys"):
            return True
        return a.cta == b.cta if a.scope == "cta" else a.cta // self.cluster == b.cta // self.cluster

    def scopes_meet(self, a: int, b: int) -> bool:
        x, y = self.events[a], self.events[b]
        return x.thread == y.thread or (x.strong and y.strong and self.includes(x, y) and self.includes(y, x))

    def overlap(self, a: int, b: int) -> bool:
        x, y = self.events[a], self.events[b]
        return x.place == y.place and x.first <= y.last and y.first <= x.last

    def morally_strong(self, a: int, b: int) -> bool:
        x, y = self.events[a], self.events[b]
        in_order = a in self.order and b in self.order
        if x.thread == y.thread and not in_order:
            return False  # an asynchronous operation is in no thread's program order
        same = x.place == y.place and ((x.first, x.last) == (y.first, y.last) or self.wide)
        return self.scopes_meet(a, b) and x.proxy == y.proxy and same

    def writes(self, a: int) -> bool:
        return self.events[a].writes and a not in self.choice.without_write

    def program_order(self) -> Set[Pair]:
        pairs = set()
        members: Dict[int, List[int]] = {}
        for event, (thread, _) in sorted(self.order.items(), key=lambda item: item[1]):
            if event in self.choice.present:
                members.setdefault(thread, []).append(event)
        for events in members.values():
            pairs |= set(zip(events, events[1:]))
        return pairs

    # --- 8.9.2

    def observation(self) -> Set[Pair]:
        direct = {(write, read) for read, write in self.choice.source.items()
                  if self.events[write].kind != "init" and self.events[write].strong and self.events[read].strong and
                  self.morally_strong(write, read)}
        found = set(direct)
        while True:
            more = {(a, d) for a, b in found for c, d in direct
                    if b == c and self.events[b].kind == "RMW" and self.writes(b)} - found
            if not more:
                return found
            found |= more

    # --- 8.8 and 8.9.4

    def fences_before(self, a: int) -> List[int]:
        return [b for b in self.choice.present if self.events[b].kind == "fence" and self.po(b, a)]

    def fences_after(self, a: int) -> List[int]:
        return [b for b in self.choice.present if self.events[b].kind == "fence" and self.po(a, b)]

    def release_firsts(self, write: int) -> List[int]:
        own = [b for b in self.choice.present if (b == write or self.po(b, write)) and
               self.events[b].place == self.events[write].place and self.events[b].order in ("release", "acq_rel") and
               (self.writes(b) or self.events[b].kind == "arrive")]
        return own + self.fences_before(write)

    def acquire_lasts(self, read: int) -> List[int]:
        own = [b for b in self.choice.present if (b == read or self.po(read, b)) and
               self.events[b].place == self.events[read].place and self.events[b].order in ("acquire", "acq_rel") and
               (self.events[b].reads or self.events[b].kind == "wait")]
        return own + self.fences_after(read)

    def patterns(self, write: int, read: int) -> Set[Pair]:
        return {(first, last) for first in self.release_firsts(write) for last in self.acquire_lasts(read)
                if self.scopes_meet(first, last)}

    def synchronisation(self) -> Set[Pair]:
        pairs: Set[Pair] = set()
        for write, read in self.observed:
            pairs |= self.patterns(write, read)
        present = self.choice.present
        for a in present:
            x = self.events[a]
            for b in present:
                y = self.events[b]
                if a == b or x.place != y.place:
                    continue
                if x.kind == "arrive" and y.kind == "wait" and self.scopes_meet(a, b):
                    pairs |= self.patterns(a, b)
                if x.kind == "bar" and y.kind == "bar":
                    if x.place.startswith("cluster"):
                        if x.order == "arrive" and y.order == "wait":
                            pairs.add((a, b))
                        if x.order == "relaxed" and y.order == "wait":
                            pairs |= {(fence, b) for fence in self.fences_before(a)
                                      if self.wide or self.events[fence].scope != "cta"}
                    elif y.order == "sync":
                        pairs.add((a, b))
        for a in present:
            for b in present:
                if self.events[b].kind == "wait" and self.events[b].place in self.events[a].ends:
                    pairs.add((a, b))  # completion, at any scope
        for at, first in enumerate(self.choice.fences):
            pairs |= {(first, second) for second in self.choice.fences[at + 1:] if self.scopes_meet(first, second)}
        return pairs

    # --- 8.9.5

    def base_order(self, a: int, b: int) -> bool:
        """What precedes the issue of an asynchronous operation precedes the operation. It does not precede what the
        completion precedes (8.9.1.1), so that the issue is no edge of the closure."""
        issued = self.events[b].after
        if issued >= 0:
            return a == issued or self.base_order(a, issued)
        return self.events[a].kind == "init" or bool(self.base[a] >> b & 1)

    def fenced(self, a: int, b: int) -> bool:
        """Whether a proxy fence lies on the way from the generic access a to the asynchronous access b."""
        x, y = self.events[a], self.events[b]
        if x.kind == "R" and "read-before-async-write" not in self.strict:
            return True
        own = re.match(r"s(\d)\.", x.place)
        for fence in self.choice.present:
            f = self.events[fence]
            if f.kind != "proxy":
                continue
            covers = f.space == "both" or (f.space == "shared" and own is not None and int(own.group(1)) == f.cta) or \
                (f.space == "global" and own is None) or (x.kind == "R" and own is None)  # the last: assumption 5
            if not covers:
                continue
            on_the_way = self.po(a, fence) if "reader-side-fence" in self.strict else self.base_order(a, fence)
            if on_the_way and self.base_order(fence, b):
                return True
        return False

    def preserved(self, a: int, b: int) -> bool:
        if not self.base_order(a, b):
            return False
        if self.one_proxy or self.events[a].kind == "init" or self.events[a].proxy == "async" or \
                self.events[b].proxy == "generic":
            return True
        return self.fenced(a, b)

    def causality(self, a: int, b: int) -> bool:
        return self.preserved(a, b) or any(self.preserved(z, b) for x, z in self.observed if x == a)

    def ordered_for_race(self, a: int, b: int) -> bool:
        if "plain-after-observed" in self.strict and self.events[a].strong != self.events[b].strong:
            return self.preserved(a, b)
        return self.causality(a, b)

    # --- 8.10

    def consistent(self) -> bool:
        choice, events = self.choice, self.events
        before: Set[Pair] = set()  # coherence order
        for writes in choice.coherence.values():
            for at, first in enumerate(writes):
                for second in writes[at + 1:]:
                    if self.causality(second, first) and events[second].kind != "init":
                        return False
                    if events[first].kind == "init" or self.morally_strong(first, second) or \
                            self.causality(first, second):
                        before.add((first, second))
        after = closure(self.size, before)
        for read, write in choice.source.items():
            if self.causality(read, write):
                return False
            for other in choice.coherence[events[read].place]:
                if other != read and after[write] >> other & 1 and self.causality(other, read):
                    return False
                if self.writes(read) and self.morally_strong(other, read) and after[write] >> other & 1 and \
                        after[other] >> read & 1:
                    return False
            if self.writes(read) and after[read] >> write & 1:
                return False
        return not any(self.base[fence] >> fence & 1 for fence in choice.fences) and self.coherent_by_location(before)

    def coherent_by_location(self, before: Set[Pair]) -> bool:
        """8.10.5, over accesses that are pairwise morally strong."""
        memory = [a for a in self.choice.present if self.events[a].is_memory() and self.events[a].strong]
        edges: Set[Pair] = set()
        for a in memory:
            for b in memory:
                if a == b or not self.morally_strong(a, b):
                    continue
                if self.po(a, b) or (a, b) in before or self.choice.source.get(b) == a:
                    edges.add((a, b))
                source = self.choice.source.get(a)
                if source is not None and self.writes(b) and (source, b) in before:
                    edges.add((a, b))
        return not cyclic(self.size, edges)

    # --- 8.7.1

    def races(self) -> Iterator[Pair]:
        memory = sorted(a for a in self.choice.present if self.events[a].is_memory())
        for a, b in itertools.combinations(memory, 2):
            if self.overlap(a, b) and (self.writes(a) or self.writes(b)) and not self.morally_strong(a, b) and \
                    not self.ordered_for_race(a, b) and not self.ordered_for_race(b, a):
                yield a, b
