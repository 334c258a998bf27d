#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the emulated device of two builds: emulator_speed.py BASE_PROGRAM HEAD_PROGRAM [--rounds 5] [--result FILE]
A check runs one launch a schedule, in programs that can check sequences of them too. The programs run in turns. A time is the least CPU time of all rounds, start of the program included; each command has run
once before, so that its kernel is in a cache of this build."""
import argparse
import json
import math
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

EMULATED = "--device emu:sm90"
COMMANDS = {
    "start, 64^3": f"gemm --m 64 --n 64 --k 64 --dtype bf16 {EMULATED}",
    "e4m3, block scales, 1024^3": f"gemm --m 1024 --n 1024 --k 1024 --scale block {EMULATED}",
    "bf16, 1024^3": f"gemm --m 1024 --n 1024 --k 1024 --dtype bf16 {EMULATED}",
    "grouped, 8 x 64 rows": f"grouped --rows 64,64,64,64,64,64,64,64 --n 512 --k 512 --scale block {EMULATED}",
    "100 checked schedules, exact": "check gemm --m 128 --n 128 --k 512 --schedules 100",
    "200 checked schedules, --math off": "check gemm --m 256 --n 256 --k 1024 --math off --schedules 200",
    "a checked schedule, exact, 1024^3": "check gemm --m 1024 --n 1024 --k 1024 --schedules 1",
}
ONE_LAUNCH = ["--launches", "1"]


def command_line(program, command):
    """The command, of one launch a schedule if it is a check by a program that has the flag."""
    if not command.startswith("check"):
        return [program, *command.split()]
    described = subprocess.run([program, "check", "gemm", "--help"], capture_output=True, text=True, check=True).stdout
    return [program, *command.split(), *(ONE_LAUNCH if ONE_LAUNCH[0] in described else [])]


def cpu_seconds(line, cache):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(line, capture_output=True, text=True, check=False,
                          env={**os.environ, "WARPWRIGHT_CACHE_DIR": cache})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"{' '.join(line)}\n{done.stdout}{done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base"), parser.add_argument("head")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--result", help="JSON file")
    arguments = parser.parse_args()
    programs = {"base": arguments.base, "head": arguments.head}
    best = {name: {} for name in COMMANDS}
    lines = {name: {side: command_line(program, command) for side, program in programs.items()}
             for name, command in COMMANDS.items()}
    with tempfile.TemporaryDirectory() as scratch:
        for turn in range(arguments.rounds + 1):
            for name, of_sides in lines.items():
                for side, line in of_sides.items():
                    seconds = cpu_seconds(line, f"{scratch}/{side}")
                    if turn > 0:
                        best[name][side] = min(seconds, best[name].get(side, seconds))
    ratios = {name: b["head"] / b["base"] for name, b in best.items()}
    for name, ratio in ratios.items():
        print(f"{name:36} base {best[name]['base']:.3f} s  head {best[name]['head']:.3f} s  ratio {ratio:.3f}")
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    print(f"geometric mean {mean:.3f}, largest {max(ratios.values()):.3f}")
    if arguments.result:
        pathlib.Path(arguments.result).write_text(json.dumps(
            {"command": " ".join(sys.argv), "unit": f"CPU seconds, least of {arguments.rounds}", "commands": COMMANDS,
             "times": best, "ratios": ratios, "mean": mean}, indent=1) + "\n")


if __name__ == "__main__":
    main()
