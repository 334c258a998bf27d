# SPDX-License-Identifier: Apache-2.0
"""Verdicts of the small litmus tests by enumeration, without the checker.

A test is a few threads of operations (the P lines of tests/litmus/kernels). An execution chooses for each read the write
whose value it returns, an order of the writes of each location, and an order of fence.sc. From these choices the
relations of chapter 8 of the PTX ISA are built as sets of pairs (program order, observation order, synchronises-with,
causality order), executions that an axiom forbids are dropped, and pairs of conflicting accesses that are neither
ordered nor morally strong are races. The kind of a race is what removes it: `scope` if every scope were .sys,
`proxy-fence` if all proxies were one, otherwise `data-race`.

  sequentially consistent executions (program order, reads-from, order of writes and from-reads are acyclic together)
  are those that the emulated device can show; their races are the verdict of the table
  all other consistent executions give the `weak` verdict, which the emulated device does not show

enumerate.py [NAME...]   compares every small test with its table row, or prints those named"""
import dataclasses
import itertools
import pathlib
import re
import sys
from typing import Dict, FrozenSet, Iterator, List, Optional, Set, Tuple

import litmus

Pair = Tuple[int, int]
# Rules of the table that are a race without an order.
UNORDERED = {"data-race", "stage-reuse", "unfinished-store"}
STRICT_ON = frozenset({"reader-side-fence", "read-before-async-write", "plain-after-observed"})
SCOPES = ("cta", "cluster", "gpu", "sys")


@dataclasses.dataclass
class Event:
    thread: int
    cta: int
    kind: str  # R, W, RMW, fence, proxy, arrive, wait, bar, init
    place: str = ""  # location or barrier
    first: int = 0  # bytes [first, last] of the location
    last: int = 3
    order: str = "weak"
    scope: str = "sys"
    value: int = 0  # written; added by atom.add
    guard: Optional[int] = None  # the value that a read must return for the thread to continue
    swap: bool = False  # atom.cas from guard to value
    proxy: str = "generic"
    space: str = ""  # of a proxy fence: shared, global or both
    after: int = -1  # an async operation: the event that issued it
    ends: Tuple[str, ...] = ()  # an async operation: the completion points that tell of it

    @property
    def reads(self) -> bool:
        return self.kind in ("R", "RMW")

    @property
    def writes(self) -> bool:
        return self.kind in ("W", "RMW", "init")

    @property
    def strong(self) -> bool:
        return self.order != "weak"

    def is_memory(self) -> bool:
        return self.kind in ("R", "W", "RMW")


def location(word: str) -> Tuple[str, int, int]:
    match = re.fullmatch(r"([\w.]+)(?:\[(\d)\.\.(\d)\])?", word)
    assert match, word
    return match.group(1), int(match.group(2) or 0), int(match.group(3) or 3)


class Program:
    """The events of a test, thread by thread; asynchronous operations come after the event that issues them."""

    def __init__(self, test: litmus.Test) -> None:
        self.test = test
        self.events: List[Event] = []
        self.program: List[List[int]] = []  # of each thread, in program order
        self.asynchronous: List[int] = []
        for number, line in enumerate(test.lines):
            match = re.fullmatch(r"P(\d) cta (\d): (.*)", line)
            assert match and int(match.group(1)) == number, f"{test.name}: {line}"
            self.cta = int(match.group(2))
            self.thread = number
            self.program.append([])
            self.groups: List[int] = []  # bulk stores since the thread began
            self.products: List[int] = []
            for text in match.group(3).split("; "):
                self.add(text.strip())
        places = {event.place for event in self.events if event.is_memory()}
        self.initial = {}
        for place in sorted(places):
            self.initial[place] = len(self.events)
            self.events.append(Event(-1, -1, "init", place))

    def put(self, **fields: object) -> int:
        self.events.append(Event(self.thread, self.cta, **fields))  # type: ignore[arg-type]
        self.program[-1].append(len(self.events) - 1)
        return len(self.events) - 1

    def put_async(self, issued: int, kind: str, place: str, ends: Tuple[str, ...]) -> int:
        self.events.append(Event(self.thread, self.cta, kind, place, proxy="async", after=issued, ends=ends))
        self.asynchronous.append(len(self.events) - 1)
        return len(self.events) - 1

    def add(self, text: str) -> None:
        words = text.split()
        if words[0] in ("if", "await"):
            words = words[1:]
        guard = None
        if "=" in words:
            guard = int(words[words.index("=") + 1])
            words = words[:words.index("=")]
        name, *parts = words[0].split(".")
        if words[0] == "st.async":
            name = words[0]
        scope = next((part for part in parts if part in SCOPES), "sys")
        order = next((part for part in parts if part in ("relaxed", "acquire", "release", "acq_rel")), "weak")
        if "volatile" in parts:
            order = "relaxed"
        if name == "ld" or name == "st":
            place, first, last = location(words[1])
            self.put(kind="R" if name == "ld" else "W", place=place, first=first, last=last, order=order, scope=scope,
                     value=int(words[2]) if name == "st" else 0, guard=guard)
        elif name == "atom":
            self.put(kind="RMW", place=words[1], order=order, scope=scope, value=int(words[2]), guard=guard,
                     swap=parts[0] == "cas")
        elif words[0].startswith("fence.proxy.async"):
            self.put(kind="proxy", space=parts[2] if len(parts) > 2 else "both")
        elif name == "fence":
            self.put(kind="fence", order=parts[0], scope=parts[1])
        elif words[0] in ("bar.sync", "bar.arrive", "bar.warp.sync"):
            self.put(kind="bar", place=f"{name}.{words[1]}.{'warp' if 'warp' in parts else 'cta'}",
                     order="arrive" if "arrive" in parts else "sync")
        elif words[0] in ("shfl.sync", "vote.sync", "elect.sync"):
            pass  # orders no memory
        elif name == "cluster":
            self.put(kind="bar", place=f"cluster.{words[1]}",
                     order=("relaxed" if "relaxed" in parts else "arrive") if parts[0] == "arrive" else "wait")
        elif name == "mbarrier":
            self.put(kind="arrive" if parts[0] == "arrive" else "wait", place=words[1], order=order, scope=scope)
        elif words[0] == "tma.load":
            issued = self.put(kind="issue")
            self.put_async(issued, "R", words[2], (words[3],))
            self.put_async(issued, "W", words[1], (words[3],))
        elif words[0] == "tma.store":
            issued = self.put(kind="issue")
            mark = f"group{self.thread}.{len(self.groups)}"
            self.groups.append(issued)
            self.put_async(issued, "R", words[2], (mark + ".read", mark))
            self.put_async(issued, "W", words[1], (mark,))
        elif name == "wait_group":
            for number in range(len(self.groups)):
                self.put(kind="wait", place=f"group{self.thread}.{number}" + (".read" if parts else ""), order="acquire")
        elif words[0] == "wgmma":
            issued = self.put(kind="issue")
            self.put_async(issued, "R", words[1], (f"wgmma{self.thread}.{len(self.products)}",))
            self.products.append(issued)
        elif words[0] == "wgmma.wait":
            for number in range(len(self.products)):
                self.put(kind="wait", place=f"wgmma{self.thread}.{number}", order="acquire")
        elif words[0] == "st.async":
            issued = self.put(kind="issue")
            self.put_async(issued, "W", words[1], (words[3],))
        else:
            raise AssertionError(f"{self.test.name}: {text}")



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
    """The relations of one choice. `wide`: as if every scope were .sys and every overlap complete; `one_proxy`: as if
    all accesses used the generic proxy."""

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
        space = "shared" if re.match(r"s\d\.", x.place) else "global"
        for fence in self.choice.present:
            if self.events[fence].kind != "proxy" or self.events[fence].space not in ("both", space):
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


# --- choices ----------------------------------------------------------------------------------------------------------


def presences(program: Program) -> Iterator[Tuple[FrozenSet[int], Dict[int, bool]]]:
    """Which guarded reads let their thread continue, and so which events there are."""
    guarded = [a for a, event in enumerate(program.events) if event.guard is not None]
    seen = set()
    for passes in itertools.product((True, False), repeat=len(guarded)):
        outcome = dict(zip(guarded, passes))
        lengths = []
        for members in program.program:
            stop = next((at + 1 for at, a in enumerate(members) if outcome.get(a) is False), len(members))
            lengths.append(stop)
        while True:
            present = {a for members, stop in zip(program.program, lengths) for a in members[:stop]}
            present |= {a for a in program.asynchronous if program.events[a].after in present}
            shorter = list(lengths)
            for thread, members in enumerate(program.program):
                for at, a in enumerate(members[:lengths[thread]]):
                    event = program.events[a]
                    blocks = event.kind == "wait" or (event.kind == "bar" and event.order in ("sync", "wait"))
                    needed = [b for b, other in enumerate(program.events)
                              if (other.kind in ("arrive", "bar") and other.place == event.place) or
                              event.place in other.ends]
                    missing = [b for b in needed if b not in present and not (
                        program.events[b].kind == "bar" and program.events[b].order == "wait")]
                    if blocks and missing:
                        # A barrier that never completes: the thread has arrived, and nothing follows.
                        shorter[thread] = min(shorter[thread], at)
            if shorter == lengths:
                break
            lengths = shorter
        used = {a: outcome[a] for a in guarded if a in present}
        key = (frozenset(present), tuple(sorted(used.items())))
        if key not in seen:
            seen.add(key)
            yield frozenset(present) | frozenset(program.initial.values()), used


def value_of(program: Program, write: int, source: Dict[int, int], trail: Tuple[int, ...] = ()) -> Optional[int]:
    """None for a value that depends on itself."""
    event = program.events[write]
    if event.kind != "RMW" or event.swap:
        return event.value
    if write in trail:
        return None
    read = value_of(program, source[write], source, trail + (write,))
    return None if read is None else read + event.value


def choices(program: Program) -> Iterator[Choice]:
    events = program.events
    for present, outcome in presences(program):
        failed = frozenset(a for a, passed in outcome.items() if events[a].swap and not passed)
        writes: Dict[str, List[int]] = {place: [] for place in program.initial}
        for a in sorted(present):
            if events[a].writes and events[a].kind != "init" and a not in failed:
                writes[events[a].place].append(a)
        reads = sorted(a for a in present if events[a].reads and events[a].proxy == "generic" and
                       (events[a].strong or events[a].guard is not None))
        fences = [a for a in present if events[a].kind == "fence" and events[a].order == "sc"]
        candidates = [[program.initial[events[a].place], *(w for w in writes[events[a].place] if w != a)] for a in reads]
        for chosen in itertools.product(*candidates):
            source = dict(zip(reads, chosen))
            values = {a: value_of(program, source[a], source) for a in reads}
            if any(value is None for value in values.values()):
                continue
            if any((values[a] == events[a].guard) != passed for a, passed in outcome.items()):
                continue
            orders = [[(program.initial[place], *order) for order in itertools.permutations(members)]
                      for place, members in writes.items()]
            for coherence in itertools.product(*orders):
                for fence_order in itertools.permutations(fences):
                    yield Choice(present, source, dict(zip(writes, coherence)), fence_order, failed)


def steps(program: Program, choice: Choice) -> Tuple[Dict[int, int], Set[Pair]]:
    """What runs before what in time: program order, issue, completion and barriers. Threads that meet share a step."""
    events, present = program.events, choice.present
    step = {a: a for a in present}
    for a in present:
        for b in present:
            if events[a].kind == events[b].kind == "bar" and events[a].place == events[b].place and \
                    events[a].order == events[b].order == "sync" and b < step[a]:
                step[a] = b
    pairs: Set[Pair] = set()
    for members in program.program:
        there = [a for a in members if a in present]
        pairs |= set(zip(there, there[1:]))
    for a in present:
        if events[a].after >= 0:
            pairs.add((events[a].after, a))
        for b in present:
            arrives = events[a].kind == "arrive" or (events[a].kind == "bar" and events[a].order in ("arrive", "relaxed"))
            waits = events[b].kind == "wait" or (events[b].kind == "bar" and events[b].order in ("sync", "wait"))
            if waits and ((arrives and events[a].place == events[b].place) or events[b].place in events[a].ends):
                pairs.add((a, b))
    return step, pairs


def sequential(program: Program, choice: Choice) -> bool:
    """Whether one interleaving of the threads shows this execution."""
    step, pairs = steps(program, choice)
    for read, write in choice.source.items():
        pairs.add((write, read))
        order = choice.coherence[program.events[read].place]
        pairs |= {(read, later) for later in order[order.index(write) + 1:] if later != read}
    for order in choice.coherence.values():
        pairs |= set(zip(order, order[1:]))
    pairs |= set(zip(choice.fences, choice.fences[1:]))
    return not cyclic(len(program.events), {(step.get(a, a), step.get(b, b)) for a, b in pairs})


def from_thin_air(program: Program, choice: Choice) -> bool:
    """8.10.4: control depends on guarded reads and on waits."""
    _, timed = steps(program, choice)
    events = program.events
    pairs = {(a, b) for a, b in timed if events[b].kind in ("wait", "bar") or events[b].after >= 0}
    for members in program.program:
        there = [a for a in members if a in choice.present]
        for at, a in enumerate(there):
            if events[a].guard is not None or events[a].kind in ("wait", "bar"):
                pairs |= {(a, b) for b in there[at + 1:]}
    pairs |= {(write, read) for read, write in choice.source.items()}
    meeting = {(a, b) for a, b in pairs if events[a].kind == events[b].kind == "bar" and events[a].order == "sync"}
    return cyclic(len(events), pairs - meeting)


def verdicts(test: litmus.Test, strict: FrozenSet[str] = STRICT_ON) -> Tuple[Set[str], Set[str], int]:
    """The kinds of races of executions that an interleaving shows, those of the others, and the number of executions."""
    program = Program(test)
    shown: Set[str] = set()
    weak: Set[str] = set()
    executions = 0
    for choice in choices(program):
        execution = Execution(program, choice, strict)
        if not execution.consistent() or from_thin_air(program, choice):
            continue
        executions += 1
        kinds = set()
        races = list(execution.races())
        if races:
            wide = set(Execution(program, choice, strict, wide=True).races())
            one = set(Execution(program, choice, strict, one_proxy=True).races())
            kinds = {"scope" if pair not in wide else "proxy-fence" if pair not in one else "data-race"
                     for pair in races}
        if kinds:
            (shown if sequential(program, choice) else weak).update(kinds)
    return shown, weak - shown, executions


def expected(rule: str) -> str:
    return "data-race" if rule in UNORDERED else rule


def judge(test: litmus.Test) -> List[str]:
    shown, weak, executions = verdicts(test)
    problems = []
    allowed = {expected(rule) for rule in (test.verdict, test.also) if rule and rule != "clean"}
    if not executions:
        problems.append("no consistent execution")
    if (test.verdict == "clean") != (not shown) or not shown <= allowed:
        problems.append(f"the table says {test.verdict}, the executions {sorted(shown) or 'clean'}")
    if not shown and weak != ({test.weak} if test.weak else set()):
        problems.append(f"the table says {test.weak or 'nothing'} of weak executions, which have {sorted(weak)}")
    if test.strict and test.strict_on:
        letter, _, _ = verdicts(test, STRICT_ON - {test.strict})
        if letter:
            problems.append(f"without {test.strict} the table says clean, the executions {sorted(letter)}")
    return problems


def main() -> int:
    tests = [test for test in litmus.parse(pathlib.Path(__file__).parent / "kernels") if test.small]
    names = sys.argv[1:]
    wrong = executions = 0
    for test in tests:
        if names and test.name not in names:
            continue
        if names:
            shown, weak, count = verdicts(test)
            print(test.name, "shown:", sorted(shown), "weak:", sorted(weak), f"{count} executions")
        for problem in judge(test):
            wrong += 1
            print(f"{test.family}.hpp:{test.line}: {test.name}: {problem}")
    print(f"{len(tests)} tests enumerated, {wrong} disagree")
    if len(tests) < 40:
        print("fewer than 40 tests are small")
        return 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
