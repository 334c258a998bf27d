#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws mutants of the shipped kernel headers by a seed and runs the checker on each.
  random_mutants.py BUILD                     60 mutants over all families (kernel_families.py)
  random_mutants.py BUILD --count 3 --seed 7  three others
  random_mutants.py BUILD --recorded FILE     only such as a result file of --result says were caught
  random_mutants.py BUILD --only 'KEY'        one again, by the key that the report prints, with the checker's report
A mutant is one edit of a synchronising statement (mutant_operators.py) in a kernel whose code contains that statement.
`warpwright check` compiles the kernel with the edited header, runs it under up to 200 schedules, and ends at the first
finding. Draws that do not compile, that change no machine code, or whose statement no thread of the kernel reaches are
repeated and counted. So are mutants that reviewed_mutants.py lists as equivalent, with the argument; they are run all
the same, and one that is caught contradicts its argument. The exit status is 0 if at least 95 % of the counted mutants
are caught, every miss is reviewed, no argument is contradicted, and with --recorded no reviewed edit is gone; 4 if that
holds, but the time did not suffice for all.
Outcomes are kept in the state folder, by program, headers and problem, so that a run that was stopped goes on.
  random_mutants.py BUILD --minutes 8         starts no mutant after 8 minutes, and reports those that have run"""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import mutant_operators
import mutation
from kernel_families import FAMILIES
from reviewed_mutants import EQUIVALENT, MISSED, equivalent

WEIGHTS = {"drop": 5, "count": 3, "swap": 3, "scope": 1, "reset": 1, "trust": 1}  # how often an operator is tried
FIRST = 8  # schedules of the first campaign; most mutants need no second
Base = collections.namedtuple("Base", "lines code problem")  # {header: lines}; digest of the code; why there is none
Outcome = collections.namedtuple("Outcome", "verdict rules schedules said seconds")
# verdicts: caught, missed, not compiled, same code, not reached
Draws = collections.namedtuple("Draws", "results equivalents repeated population")
# results: (family, edit, outcome) of the counted mutants; equivalents: (family, edit, outcome, argument)


def key_of(family, edit):
    change = hashlib.sha256(f"{edit.detail} {edit.new}".encode()).hexdigest()[:4]
    return f"{family} | {edit.header}:{edit.line} {edit.operator} {change}"


def lines_of(objects):
    """{header: the lines that have machine code, or whose calls were inlined}"""
    found = collections.defaultdict(set)
    for path in objects:
        header = None
        for line in dwarf(path, "decodedline").splitlines():
            match = re.match(r"(?:CU: )?(?:.*/)?warpwright-source/warpwright/(\S+):", line)
            if line.endswith(":") or match:
                header = match.group(1) if match else None
            elif header and (row := re.match(r"\S+\s+(\d+)\s+0x", line)):
                found[header].add(int(row.group(1)))
        folders, files = tables(dwarf(path, "rawline"))
        calls = re.findall(r"DW_AT_call_file\s*:.*?(\d+)\n.*DW_AT_call_line\s*:.*?(\d+)\n", dwarf(path, "info"))
        for file, line in set(calls):
            folder, name = files.get(int(file), (0, ""))
            match = re.search(r"warpwright-source/warpwright/(.*)", f"{folders.get(folder, '')}/{name}")
            if match:
                found[match.group(1)].add(int(line))
    return found


def dwarf(path, kind):
    return subprocess.run(["objdump", f"--dwarf={kind}", "-w", str(path)], capture_output=True, text=True, check=False).stdout


def tables(text):
    """The folders and the files (folder, name) of a line table, by number."""
    folders, files, at = {}, {}, None
    for line in text.splitlines():
        if "Table (offset" in line:
            at = folders if "Directory" in line else files
        row = re.match(r"\s*(\d+)\s+(?:(?:\(\w+\)\s*)?(\d+)\s+)?\(.*\): (\S+)$", line)
        if row and at is not None:
            at[int(row.group(1))] = row.group(3) if at is folders else (int(row.group(2) or 0), row.group(3))
    return folders, files


def digest_of(objects):
    """A digest of the code and its relocations, debug information excluded."""
    digests = []
    for path in objects:
        with tempfile.NamedTemporaryFile() as stripped:
            subprocess.run(["objcopy", "--strip-debug", str(path), stripped.name], check=False)
            digests.append(hashlib.sha256(pathlib.Path(stripped.name).read_bytes()).hexdigest())
    return hashlib.sha256("".join(sorted(digests)).encode()).hexdigest()


class Campaigns:
    """Runs the families' kernels with edited headers."""

    def __init__(self, arguments):
        self.program = arguments.build / "bin" / "warpwright"
        self.source, self.compiler = arguments.source, arguments.compiler
        self.schedules, self.seed, self.math = arguments.schedules, arguments.seed % 1000000, arguments.math
        self.include = self.source / "include"
        self.deadline = time.monotonic() + 60 * arguments.minutes
        self.verify = ["--verify"] if self.math == ["--math", "on"] else []
        text = hashlib.sha256(json.dumps(str(self.compiler)).encode())
        for path in sorted(self.include.rglob("*.hpp")):
            text.update(path.read_bytes())
        text.update(self.program.read_bytes())
        self.state = arguments.state / text.hexdigest()[:16]
        self.state.mkdir(parents=True, exist_ok=True)

    def check(self, family, work, wrapper, schedules, seed, seconds, extra=()):
        return mutation.check(self.program, FAMILIES[family], work, wrapper, schedules, seed, seconds, extra)

    def base(self, family):
        """What the family's kernels are without an edit; kept in the state folder."""
        file = self.file_of(family)
        if file.exists():
            known = json.loads(file.read_text())
            return Base({header: set(lines) for header, lines in known["lines"].items()}, known["code"], "")
        with tempfile.TemporaryDirectory() as folder:
            work = pathlib.Path(folder)
            keep, same = work / "objects", work / "include"
            keep.mkdir(), same.mkdir()
            wrapper = mutation.write_wrapper(work, self.compiler, same, keep, "-g2")  # which calls were inlined
            status, report = self.check(family, work, wrapper, 2, 0, 60)
            objects = sorted(keep.iterdir())
            if status != 0 or not objects:
                return Base({}, "", f"{family}: without an edit the checker says {json.dumps(report)[:600]}")
            lines, code = lines_of(objects), digest_of(objects)
        self.keep(file, {"lines": {header: sorted(of) for header, of in lines.items()}, "code": code})
        return Base(lines, code, "")

    def file_of(self, family, *more):
        """The file of the state folder about a family and its problem."""
        name = hashlib.sha256(json.dumps([family, FAMILIES[family], *more]).encode()).hexdigest()[:16]
        return self.state / f"{name}.json"

    def keep(self, file, value):
        partial = file.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
        partial.write_text(json.dumps(value))
        partial.replace(file)

    def headers_with(self, work, edit, new):
        folder = work / "include"
        path = folder / "warpwright" / edit.header
        path.parent.mkdir(parents=True)
        text = (self.include / "warpwright" / edit.header).read_text()
        path.write_text(text[:edit.start] + new + text[edit.end:])
        return folder

    def run(self, family, edit, base):
        """The outcome of a mutant. Without arithmetic only its order is judged; what passes is run with values as well."""
        outcome = self.known(self.run_order, family, edit, base)
        if outcome is None or outcome.verdict != "missed" or self.verify:
            return outcome
        values = self.known(self.run_values, family, edit)
        if values is None:
            return None
        if values.verdict == "missed":
            return outcome._replace(seconds=outcome.seconds + values.seconds)
        return values._replace(schedules=outcome.schedules + values.schedules)

    def known(self, run, family, edit, *more):
        """The outcome of an earlier run, or a new one; None if the time is up."""
        file = self.file_of(family, edit.header, edit.start, edit.end, edit.new, run.__name__, self.schedules, self.seed,
                            self.math)
        if file.exists():
            return Outcome(*json.loads(file.read_text()))
        if time.monotonic() > self.deadline:
            return None
        outcome = run(family, edit, *more)
        self.keep(file, outcome)
        return outcome

    def run_values(self, family, edit):
        begin = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            work = pathlib.Path(folder)
            wrapper = mutation.write_wrapper(work, self.compiler, self.headers_with(work, edit, edit.new))
            schedules = min(FIRST, self.schedules)
            status, report = self.check(family, work, wrapper, schedules, self.seed, 120, ["--verify"])
            return Outcome(*self.judge(status, report, schedules), time.monotonic() - begin)

    def run_order(self, family, edit, base):
        begin = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            work = pathlib.Path(folder)
            keep = work / "objects"
            keep.mkdir()
            wrapper = mutation.write_wrapper(work, self.compiler, self.headers_with(work, edit, edit.new), keep)
            outcome, done = None, 0
            for schedules, seconds in ((min(FIRST, self.schedules), 60), (self.schedules - FIRST, 240)):
                if schedules <= 0:
                    continue
                status, report = self.check(family, work, wrapper, schedules, self.seed + done, seconds,
                                            self.math + self.verify)
                if done == 0 and digest_of(sorted(keep.iterdir())) == base.code:
                    outcome = "same code", [], 0, ""
                    break
                done += schedules
                outcome = self.judge(status, report, done)
                if outcome[0] != "missed":
                    break
        if outcome[0] == "missed" and not self.is_reached(family, edit):
            outcome = "not reached", [], 0, ""
        return Outcome(*outcome, time.monotonic() - begin)

    def judge(self, status, report, done):
        if status == 0:
            return "missed", [], done, ""
        findings = report.get("findings", [])
        why = report.get("why_incomplete") or report.get("why") or report.get("error", {}).get("message", "") or str(status)
        if status == 1 and findings:
            return "caught", sorted({one["rule"] for one in findings}), done, json.dumps(findings, indent=1)
        if "could not make the emulator module" in json.dumps(report):
            return "not compiled", [], 0, why
        if status == 4 and not re.search(r"no time|time is up|as many schedules", why):
            return "caught", [f"incomplete ({' '.join(why.split())[:60]})"], done, why
        if status == 4:  # the time did not suffice for all schedules
            return "missed", [], report.get("schedules", done), why
        raise RuntimeError(f"warpwright check: expected exit status 0, 1 or 4, got {status}: {why}")

    def is_reached(self, family, edit):
        """Whether a thread gets to the statement: it stops there instead."""
        new = mutant_operators.probe(edit)
        if new is None:
            return True
        with tempfile.TemporaryDirectory() as folder:
            work = pathlib.Path(folder)
            wrapper = mutation.write_wrapper(work, self.compiler, self.headers_with(work, edit, new))
            return self.check(family, work, wrapper, 4, self.seed, 60)[0] != 0


def present(edit, base):
    lines = base.lines.get(edit.header, ())
    return edit.constant or any(line in lines for line in range(edit.first, edit.last + 1))


def draw(rng, edits, taken):
    """One of the edits that is not yet taken; None when none is left."""
    left = collections.defaultdict(list)
    for edit in edits:
        if edit not in taken:
            left[edit.operator].append(edit)
    if not left:
        return None
    operators = sorted(left)
    operator, = rng.choices(operators, [WEIGHTS[one] for one in operators])
    return rng.choice(left[operator])


def report_line(family, edit, outcome, argument=""):
    said = {"caught": f"caught by {', '.join(outcome.rules)}"}.get(outcome.verdict, outcome.verdict)
    if argument and outcome.verdict == "missed":
        said = f"equivalent, and clean in {outcome.schedules} schedules: {argument}"
    elif argument:
        said = f"CONTRADICTED: {said}, although {argument}"
    elif outcome.verdict == "missed":
        said = f"MISSED in {outcome.schedules} schedules {outcome.said}: {missed_because(edit) or 'not reviewed'}"
    return f"{key_of(family, edit)}\n    {edit.operator} ({edit.kind}): {edit.detail}\n    {said} [{outcome.seconds:.0f} s]"


def missed_because(edit):
    return MISSED.get((edit.header, edit.operator, edit.detail))


def draw_all(arguments, campaigns, pool):
    edits = mutant_operators.all_edits(campaigns.include)
    rng = random.Random(arguments.seed)
    if arguments.recorded:
        return draw_recorded(arguments, campaigns, pool, edits, rng)
    names = [name for name in FAMILIES if re.search(arguments.family, name)]
    rng.shuffle(names)
    slots = [names[i % len(names)] for i in range(arguments.count)]
    used = sorted(set(slots))
    bases = dict(zip(used, pool.map(campaigns.base, used)))
    for base in bases.values():
        if base.problem:
            sys.exit(base.problem)
    available = {name: [edit for edit in edits if present(edit, base)] for name, base in bases.items()}
    taken, repeated, equivalents, results = set(), collections.Counter(), [], [None] * len(slots)
    stopped = False
    while None in results and not stopped:
        jobs = []
        for i, slot in enumerate(results):
            if slot is not None:
                continue
            for family in (slots[i], *rng.sample(used, len(used))):  # another family where one has no edit left
                edit = draw(rng, available[family], taken)
                if edit:
                    break
            if edit is None:
                sys.exit(f"--count: expected fewer mutants than edits of the chosen families, got {arguments.count}")
            taken.add(edit)
            jobs.append((i, family, edit))
        outcomes = pool.map(lambda job: campaigns.run(job[1], job[2], bases[job[1]]), jobs)
        for (i, family, edit), outcome in zip(jobs, outcomes):
            argument = equivalent(edit, FAMILIES[family])
            if outcome is None:
                stopped = True
            elif outcome.verdict not in ("caught", "missed"):
                repeated[outcome.verdict] += 1
            elif argument:
                repeated["equivalent"] += 1
                equivalents.append((family, edit, outcome, argument))
                print(report_line(family, edit, outcome, argument), flush=True)
            else:
                results[i] = family, edit, outcome
                print(report_line(family, edit, outcome), flush=True)
    return Draws([one for one in results if one], equivalents, repeated, len(edits))


def draw_recorded(arguments, campaigns, pool, edits, rng):
    """Recorded mutants that were caught, if the headers still have their statements. A family's kernel may have lost the
    code of a statement since: such a draw is repeated, and so is one that does not compile or is not reached."""
    known = {(edit.header, edit.operator, edit.detail): edit for edit in edits}
    caught = [row for row in json.loads(arguments.recorded.read_text())["mutants"] if row["verdict"] == "caught"]
    rows = [(row["family"], edit) for row in caught if (edit := known.get((row["header"], row["operator"], row["edit"])))]
    print(f"{len(rows)} of {len(caught)} recorded mutants still have their statement")
    rng.shuffle(rows)
    repeated, results = collections.Counter(), []
    while rows and len(results) < arguments.count:
        chosen, rows = rows[:arguments.count - len(results)], rows[arguments.count - len(results):]
        families = sorted({family for family, _ in chosen})
        bases = dict(zip(families, pool.map(campaigns.base, families)))
        for base in bases.values():
            if base.problem:
                sys.exit(base.problem)
        outcomes = list(pool.map(lambda job: campaigns.run(*job, bases[job[0]]), chosen))
        for (family, edit), outcome in zip(chosen, outcomes):
            if outcome is None:
                continue
            if outcome.verdict not in ("caught", "missed"):
                repeated[outcome.verdict] += 1
                continue
            results.append((family, edit, outcome))
            print(report_line(family, edit, outcome), flush=True)
        if None in outcomes:
            break
    return Draws(results, [], repeated, len(edits))


def again(arguments, campaigns):
    found = [(family, edit) for edit in mutant_operators.all_edits(campaigns.include) for family in FAMILIES
             if key_of(family, edit) == arguments.only]
    for family, edit in found[:1]:
        base = campaigns.base(family)
        if base.problem:
            sys.exit(base.problem)
        outcome = campaigns.run(family, edit, base)
        print(f"--- {edit.header}:{edit.line}\n-{edit.old}\n+{edit.new}")
        print(outcome.said, report_line(family, edit, outcome), f"warpwright check {FAMILIES[family]}", sep="\n")
        return 0 if outcome.verdict == "caught" else 1
    sys.exit(f"no mutant has the key {arguments.only!r}")


def row_of(family, edit, outcome, **more):
    return {"family": family, "header": edit.header, "line": edit.line, "operator": edit.operator, "edit": edit.detail,
            "verdict": outcome.verdict, "by": outcome.rules, "schedules": outcome.schedules, **more}


def write_result(file, arguments, draws, summary):
    rows = [row_of(*one, **({"argument": missed_because(one[1]) or "not reviewed"} if one[2].verdict == "missed" else {}))
            for one in draws.results]
    equivalents = [row_of(*one[:3], argument=one[3]) for one in draws.equivalents]
    command = (f"tests/check/random_mutants.py BUILD --count {arguments.count} --seed {arguments.seed} --schedules "
               f"{arguments.schedules} {' '.join(arguments.math)}")
    file.write_text(json.dumps({"command": command, "seed": arguments.seed, "summary": summary, "population": draws.population,
                                "families": len(FAMILIES), "repeated": dict(sorted(draws.repeated.items())),
                                "mutants": rows, "equivalent": equivalents}, indent=1) + "\n")


def undocumented(recorded, source):
    """Rows that the table in docs/checking-kernels.md lacks: one for each result file in the folder of `recorded`."""
    guide = (source / "docs" / "checking-kernels.md").read_text()
    rows = []
    for file in sorted(recorded.resolve().parent.glob("*random_mutants*.json")):
        result = json.loads(file.read_text())
        caught = sum(one["verdict"] == "caught" for one in result["mutants"])
        rows.append(f"| {result['seed']} | {len(result['mutants'])} | {caught} | {len(result['equivalent'])} |")
    return [row for row in rows if row not in guide]


def stale(edits):
    """Reviewed edits that the headers have no longer: their arguments hold for nothing."""
    known = {(edit.header, edit.operator, edit.detail) for edit in edits}
    reviewed = [(entry.header, entry.operator, f"{entry.function}(): {text}") for entry in EQUIVALENT for text in entry.edits]
    return [key for key in [*reviewed, *MISSED] if key not in known]


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path, help="build folder, or one with bin/warpwright")
    parser.add_argument("--source", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=lambda text: int(text, 0), default=1)
    parser.add_argument("--recorded", type=pathlib.Path, help="JSON file written by --result")
    parser.add_argument("--schedules", type=int, default=200)
    parser.add_argument("--family", default="", help="regular expression on the families' names")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="no mutant starts later")
    parser.add_argument("--only", help="key of one mutant")
    parser.add_argument("--math", choices=("on", "off"), default="on",
                        help="off: no products; only mutants that pass then run 8 schedules with values compared")
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--state", type=pathlib.Path, help="folder that keeps outcomes (default BUILD/mutants)")
    parser.add_argument("--result", type=pathlib.Path, help="JSON file to write")
    arguments = parser.parse_args()
    arguments.build = arguments.build.resolve()
    arguments.state = arguments.state or arguments.build / "mutants"
    arguments.math = ["--math", arguments.math]
    if not shutil.which(arguments.compiler):
        parser.error(f"--compiler: expected a C++ compiler, got {arguments.compiler}")
    return arguments


def main():
    arguments = parse()
    campaigns = Campaigns(arguments)
    if arguments.only:
        return again(arguments, campaigns)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        draws = draw_all(arguments, campaigns, pool)
    counted = len(draws.results)
    caught = sum(outcome.verdict == "caught" for _, _, outcome in draws.results)
    unreviewed = sum(outcome.verdict == "missed" and not missed_because(edit) for _, edit, outcome in draws.results)
    contradicted = sum(outcome.verdict == "caught" for _, _, outcome, _ in draws.equivalents)
    asked = f" (of {arguments.count} asked: no others are left, or the time was up)" if counted < arguments.count else ""
    summary = (f"{caught} of {counted} mutants caught{asked} ({100 * caught / max(counted, 1):.1f} %), {unreviewed} misses are not "
               f"reviewed; {len(draws.equivalents)} drawn besides are equivalent, of which the checker contradicts "
               f"{contradicted}; seed {arguments.seed}")
    print("repeated draws:", ", ".join(f"{count} {verdict}" for verdict, count in sorted(draws.repeated.items())) or "none")
    print(summary)
    if arguments.result:
        write_result(arguments.result, arguments, draws, summary)
    missing = undocumented(arguments.recorded, arguments.source) if arguments.recorded else []
    for row in missing:
        print(f"docs/checking-kernels.md: expected the row {row}")
    gone = stale(mutant_operators.all_edits(campaigns.include))
    for header, operator, detail in gone:
        print(f"reviewed_mutants.py: expected an edit of {header}, got none: {operator} in {detail}")
    failed = missing or gone or unreviewed or contradicted or not counted or caught < 0.95 * counted
    return 1 if failed else 4 if asked and not arguments.recorded else 0


if __name__ == "__main__":
    sys.exit(main())
