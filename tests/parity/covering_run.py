# SPDX-License-Identifier: Apache-2.0
"""Runs the rows that covering_rows prints through `warpwright gemm`.

  covering_run.py verify WARPWRIGHT ROWS [DEVICE]   every row against FP64, and again with K = 0, on emu:sm90 or DEVICE
  covering_run.py make   WARPWRIGHT ROWS FILE       the rows and the hash of D that the emulated device computes
  covering_run.py check  WARPWRIGHT FILE [DEVICE]   the same rows on DEVICE (default cuda:0): the same hashes

Exit status: 0 all right, 1 a wrong result, 4 something could not run. Every failure prints the command that repeats it.
"""
import concurrent.futures
import os
import re
import shlex
import subprocess
import sys


def run(command):
    """(exit status, everything said)"""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def with_value(flags, name, value):
    flags = list(flags)
    flags[flags.index(name) + 1] = str(value)
    return flags


def in_parallel(work, items):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(work, items))


def rows_of(program):
    return [shlex.split(line) for line in subprocess.check_output(program, text=True).splitlines()]


def verify(warpwright, rows, device):
    cases = [(flags, "") for flags in rows] + [(with_value(flags, "--k", 0), " (K = 0)") for flags in rows]

    def one(case):
        flags, what = case
        command = [warpwright, "gemm", "--device", device, "--threads", "1", "--verify", *flags]
        status, said = run(command)
        if status != 0:
            print(f"wrong{what}: {shlex.join(command)}\n{said}", flush=True)
        return status

    bad = sum(status != 0 for status in in_parallel(one, cases))
    print(f"{len(cases) - bad} of {len(cases)} runs of {len(rows)} configs right against FP64")
    return 1 if bad else 0


def hash_of(warpwright, flags, device):
    status, said = run([warpwright, "gemm", "--device", device, "--no-verify", *flags])
    found = re.search(r"xxh3 ([0-9a-f]+)", said)
    return found.group(1) if status == 0 and found else said.strip()


def make(warpwright, rows, file):
    hashes = in_parallel(lambda flags: hash_of(warpwright, ["--threads", "1", *flags], "emu:sm90"), rows)
    with open(file, "w", encoding="utf-8") as out:
        out.write("# hash of D on the emulated device, flags of warpwright gemm; made by: covering_run.py make\n")
        for digest, flags in zip(hashes, rows):
            out.write(f"{digest} {shlex.join(flags)}\n")
    bad = [h for h in hashes if not re.fullmatch("[0-9a-f]+", h)]
    print(f"{len(rows) - len(bad)} of {len(rows)} hashes written to {file}", *bad, sep="\n")
    return 4 if bad else 0


def check(warpwright, file, device):
    with open(file, encoding="utf-8") as lines:
        cases = [(line.split()[0], shlex.split(line)[1:]) for line in lines if not line.startswith("#")]
    got = in_parallel(lambda case: hash_of(warpwright, case[1], device), cases)
    bad = 0
    for (digest, flags), found in zip(cases, got):
        if found != digest:
            bad += 1
            print(f"expected {digest}, got {found}: {shlex.join([warpwright, 'gemm', '--device', device, *flags])}")
    print(f"{device}: {len(cases) - bad} of {len(cases)} configs bit-equal to the emulated device")
    return 1 if bad else 0


def main():
    verb, warpwright = sys.argv[1:3]
    if verb == "check":
        return check(warpwright, sys.argv[3], sys.argv[4] if len(sys.argv) > 4 else "cuda:0")
    rows = rows_of(shlex.split(sys.argv[3]))
    if verb == "make":
        return make(warpwright, rows, sys.argv[4])
    return verify(warpwright, rows, sys.argv[4] if len(sys.argv) > 4 else "emu:sm90")


if __name__ == "__main__":
    sys.exit(main())
