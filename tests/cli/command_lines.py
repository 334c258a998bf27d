# SPDX-License-Identifier: Apache-2.0
"""Whole command lines of the program, drawn from a seed (command_line_draws.py), against the judge and across devices.

  command_lines.py verify PROGRAM [--count 60] [--seed 0] [--kernels 8]     on the emulated device, with --verify
  command_lines.py record PROGRAM FILE [--count 200] [--seed 0]             lines, resolved configs, hashes of D
  command_lines.py replay PROGRAM FILE [--device cuda:0]                    the same lines elsewhere: the same bits

verify expects of every line that it is right or refused in words (exit status 2 or 3, argument, expected and actual),
that few are refused, and of some that the config which they print gives the same bits when it is given back.
Exit status: 0 all right, 1 a failure; every failure prints the command that repeats it. Needs only Python.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import shlex
import subprocess
import sys
import tempfile
import threading
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import command_line_draws as draws
import operand_files

LEAST_ACCEPTED = 0.75  # of the lines that are not spoiled on purpose
MOST_SECONDS = 300  # of one line
ATTEMPTS = 40  # to draw a kernel that exists
# Flags that a config text says instead.
IN_CONFIG = {"--tile", "--cluster", "--stages", "--schedule", "--split", "--swap-ab", "--a-source", "--config",
             *(draws.NAMES[name] for name in ("tile-scheduler", "variant", "partial-accumulators"))}


class Answer(NamedTuple):
    status: int
    said: Dict[str, Any]  # the JSON object; empty when stdout has no such thing
    raw: str  # everything said
    command: str

    @property
    def accepted(self) -> bool:
        return self.status == 0


def arguments(line: draws.Line, folder: pathlib.Path) -> List[str]:
    said = operand_files.write(folder, line.files)
    flags = {**line.flags, **said}
    return [line.operation, *[word for flag, value in flags.items() for word in
                              ([flag] if value is True else [f"{flag}={value}"] if str(value).startswith("-")
                               else [flag, str(value)])]]


def run(program: str, line: draws.Line, *more: str) -> Answer:
    with tempfile.TemporaryDirectory(prefix="ww_lines_") as folder:
        command = [program, *arguments(line, pathlib.Path(folder)), *more, "--json"]
        text = shlex.join(command)
        try:
            done = subprocess.run(command, capture_output=True, timeout=MOST_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return Answer(124, {}, f"no answer within {MOST_SECONDS} s", text)
    raw = (done.stdout + done.stderr).decode("utf-8", "backslashreplace")
    try:
        said = json.loads(done.stdout)
    except ValueError:
        said = {}
    return Answer(done.returncode, said if isinstance(said, dict) else {}, raw, text)


def emulated(program: str, line: draws.Line, *more: str) -> Answer:
    return run(program, line, "--device", "emu:sm90", "--threads", "1", *more)


def fault_of(answer: Answer, verified: bool) -> str:
    """What is wrong with an answer; empty: it is right, or a clean refusal."""
    if answer.status == 0:
        if answer.said.get("ok") is not True or (verified and answer.said.get("verified") is not True):
            return "exit status 0 without a result that was found right"
        return ""
    if answer.status not in (2, 3):
        return f"exit status {answer.status}"
    error = answer.said.get("error")
    if not isinstance(error, dict) or answer.said.get("ok") is not False:
        return "a refusal that is no JSON object with an error"
    if error.get("code") != {2: "invalid", 3: "unsupported"}[answer.status]:
        return f"exit status {answer.status} for code {error.get('code')}"
    for part in ("argument", "expected", "actual", "message"):
        text = error.get(part)
        if not isinstance(text, str) or not text:
            return f"a refusal without {part}"
        if any(ord(c) < 32 or 127 <= ord(c) < 160 for c in text):
            return f"control characters in {part}"
    return ""


def given_back(line: draws.Line, config: str, epilogue_too: bool) -> draws.Line:
    """The same line with the config that was printed, instead of the flags that led to it."""
    flags = {flag: value for flag, value in line.flags.items()
             if flag not in IN_CONFIG and not (epilogue_too and flag == "--epilogue")}
    return draws.Line(line.operation, {**flags, "--config": config}, line.files)


class Campaign:
    """The lines of one seed."""

    def __init__(self, program: str, seed: int, kernels: int, portable: bool = False) -> None:
        self.program, self.seed, self.portable = program, seed, portable
        self.kernels: List[Optional[draws.Kernel]] = [None] * kernels
        self.locks = [threading.Lock() for _ in range(kernels)]
        self.faults: List[str] = []

    def kernel(self, number: int) -> draws.Kernel:
        """Kernel `number`: the first drawn that the program does not refuse for a problem."""
        with self.locks[number]:
            for attempt in range(ATTEMPTS):
                if self.kernels[number]:
                    break
                rng = random.Random(f"{self.seed}/kernel/{number}/{attempt}")
                kernel = draws.draw_kernel(rng)
                answer = emulated(self.program, draws.draw_line(rng, kernel, self.portable), "--verify")
                fault = fault_of(answer, True)
                if fault:
                    self.faults.append(f"{fault}: {answer.command}\n{answer.raw}")
                if answer.accepted:
                    self.kernels[number] = kernel
            return self.kernels[number] or draws.draw_shipped(random.Random(number))

    def line(self, index: int) -> Tuple[draws.Line, bool]:
        """Line `index`, and whether it is spoiled on purpose."""
        rng = random.Random(f"{self.seed}/{index}")
        compiled = self.kernels and rng.random() < 0.45
        kernel = self.kernel(rng.randrange(len(self.kernels))) if compiled else draws.draw_shipped(rng)
        line = draws.draw_line(rng, kernel, self.portable)
        spoiled = not self.portable and rng.random() < 0.2
        return (draws.spoil(rng, line) if spoiled else line), spoiled

    def check(self, index: int) -> Tuple[bool, bool, List[str]]:
        """Spoiled; accepted; what is wrong."""
        line, spoiled = self.line(index)
        answer = emulated(self.program, line, "--verify")
        fault = fault_of(answer, True)
        found = [f"{fault}: {answer.command}\n{answer.raw}"] if fault else []
        rng = random.Random(f"{self.seed}/{index}/back")
        if not fault and answer.accepted and not spoiled and rng.random() < 0.2:
            back = emulated(self.program, given_back(line, answer.said["config"], rng.random() < 0.5), "--verify")
            fault = fault_of(back, True) or ("" if back.accepted else "a printed config is refused")
            for key in ("config", "d_xxh3"):
                if not fault and back.said[key] != answer.said[key]:
                    fault = f"a config given back has another {key}, {back.said[key]} for {answer.said[key]}"
            if fault:
                found.append(f"{fault}: {back.command}\nof {answer.command}\n{back.raw}")
        return spoiled, answer.accepted, found


def in_parallel(work: Any, items: Any, jobs: int) -> List[Any]:
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(work, items))


def verify(options: argparse.Namespace) -> int:
    campaign = Campaign(options.program, options.seed, options.kernels)

    def one(index: int) -> Tuple[bool, bool, bool]:
        spoiled, accepted, found = campaign.check(index)
        for fault in found:
            print(f"line {index}: {fault}\nreplay: {sys.executable} {sys.argv[0]} verify {options.program} --seed "
                  f"{options.seed} --kernels {options.kernels} --first {index} --count 1", flush=True)
        return spoiled, accepted, not found

    results = in_parallel(one, range(options.first, options.first + options.count), options.jobs)
    for fault in campaign.faults:
        print(f"a kernel of seed {options.seed}: {fault}", flush=True)
    plain = [accepted for spoiled, accepted, _ in results if not spoiled]
    bad = sum(not good for _, _, good in results) + len(campaign.faults)
    share = sum(plain) / len(plain) if plain else 1.0
    print(f"{len(results)} lines of seed {options.seed}: {sum(plain)} of {len(plain)} accepted and right, "
          f"{len(results) - len(plain)} spoiled on purpose, {bad} failures")
    if len(plain) >= 20 and share < LEAST_ACCEPTED:
        print(f"only {share:.0%} of the lines are accepted, at least {LEAST_ACCEPTED:.0%} are expected")
        return 1
    return 1 if bad else 0


def record(options: argparse.Namespace) -> int:
    """Lines that any device can run, each with its config given back and what the emulated device computes."""
    campaign = Campaign(options.program, options.seed, options.kernels, portable=True)

    def one(index: int) -> Optional[Dict[str, Any]]:
        line, _ = campaign.line(index)
        first = emulated(options.program, line, "--no-verify")
        if not first.accepted:
            return None
        back = given_back(line, first.said["config"], False)
        answer = emulated(options.program, back, "--verify")
        if not answer.accepted or answer.said["d_xxh3"] != first.said["d_xxh3"]:
            print(f"not recorded: {answer.command}\n{answer.raw}", flush=True)
            return None
        return {"operation": back.operation, "flags": back.flags, "files": back.files,
                "config": answer.said["config"], "d_xxh3": answer.said["d_xxh3"]}

    made: List[Dict[str, Any]] = []
    for first in range(0, 10 * options.count, options.count):
        made += [case for case in in_parallel(one, range(first, first + options.count), options.jobs) if case]
        if len(made) >= options.count:
            break
    with open(options.file, "w", encoding="utf-8") as out:
        for case in made[:options.count]:
            out.write(json.dumps(case) + "\n")
    print(f"{min(len(made), options.count)} lines written to {options.file}")
    return 0 if len(made) >= options.count else 1


def replay(options: argparse.Namespace) -> int:
    with open(options.file, encoding="utf-8") as lines:
        cases = [json.loads(line) for line in lines]
    place = ["--device", options.device]

    def one(case: Dict[str, Any]) -> bool:
        line = draws.Line(case["operation"], case["flags"], case["files"])
        answer = run(options.program, line, *place, "--no-verify")
        good = answer.accepted and all(answer.said.get(key) == case[key] for key in ("config", "d_xxh3"))
        if not good:
            print(f"expected {case['d_xxh3']} of {case['config']}: {answer.command}\n{answer.raw}", flush=True)
        return good

    right = sum(in_parallel(one, cases, options.jobs))
    print(f"{options.device}: {right} of {len(cases)} lines bit-equal to the emulated device")
    return 0 if right == len(cases) else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=["verify", "record", "replay"])
    parser.add_argument("program")
    parser.add_argument("file", nargs="?")
    parser.add_argument("--count", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=lambda text: int(text, 0), default=0)
    parser.add_argument("--kernels", type=int)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 8))
    options = parser.parse_args()
    if (options.file is None) != (options.mode == "verify"):
        parser.error("record and replay take FILE, verify does not")
    options.count = options.count or {"verify": 60}.get(options.mode, 200)
    options.kernels = max(1, options.count // 5) if options.kernels is None else options.kernels
    return {"verify": verify, "record": record, "replay": replay}[options.mode](options)


if __name__ == "__main__":
    sys.exit(main())
