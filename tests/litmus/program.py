# SPDX-License-Identifier: Apache-2.0
"""A small litmus test as events: what its P lines say, thread by thread."""
import dataclasses
import re
from typing import List, Optional, Tuple

import litmus

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
