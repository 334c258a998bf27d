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
import sys
from typing import Dict, FrozenSet, Iterator, List, Optional, Set, Tuple

import litmus
from program import Program
from relations import Choice, Execution, Pair, cyclic

# Rules of the table that are a race without an order.
UNORDERED = {"data-race", "stage-reuse", "unfinished-store"}
STRICT_ON = frozenset({"reader-side-fence", "read-before-async-write", "plain-after-observed"})


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


WEAKER = (("release", "relaxed"), ("acquire", "relaxed"), ("fence.acq_rel.gpu; ", ""), ("fence.proxy.async; ", ""),
          ("fence.proxy.async.shared; ", ""), ("bar.sync 0", "bar.sync {}"), (".gpu", ".cta"), ("wait_group; ", ""))


def weakened(tests: List[litmus.Test]) -> Tuple[int, int]:
    """How many clean tests there are that a weaker operation everywhere changes, and how many of these then race."""
    changed = racing = 0
    for test in tests:
        for strong, weak in WEAKER:
            lines = [line.replace(strong, weak.format(number)) for number, line in enumerate(test.lines)]
            if test.verdict == "clean" and lines != test.lines:
                changed += 1
                shown, beyond, _ = verdicts(dataclasses.replace(test, lines=lines))
                racing += bool(shown | beyond)
    return changed, racing


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
    if names:
        return 1 if wrong else 0
    changed, racing = weakened(tests)
    print(f"{racing} of {changed} weakened clean tests race")
    if 4 * racing < 3 * changed:  # some stay ordered by other means
        print("the enumerator accepts tests that it should not")
        return 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
