# SPDX-License-Identifier: Apache-2.0
"""Whole operations on Blackwell: hashes of D, and of its scales where it is quantised, on the emulated device against
those on a GPU.

  sm100_parity.py make   WARPWRIGHT FILE                  writes the rows of sm100_rows.py with the hashes of emu:sm100
  sm100_parity.py check  WARPWRIGHT FILE [DEVICE] [STEP]  runs every STEP-th row on DEVICE (default cuda:0)
  sm100_parity.py verify WARPWRIGHT FILE [DEVICE] [STEP]  the same against FP64 too, which needs no hash

Exit status: 0 all equal, 1 a difference, 4 something could not run. Every failure prints the command that repeats it, and
on a GPU the last lines say where to send the output."""
import concurrent.futures
import json
import os
import shlex
import subprocess
import sys
from typing import Dict, List, Tuple

import sm100_rows


def run(warpwright: str, words: List[str], device: str, *more: str) -> Dict:
    """What `warpwright --json` says; {"message": ...} where it says nothing that can be read."""
    command = [warpwright, words[0], "--json", "--device", device, *more, *words[1:]]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    except subprocess.TimeoutExpired:
        return {"message": "no end after 300 s"}
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"message": f"exit status {done.returncode}: {done.stderr.strip()[-300:]}"}


def hash_of(said: Dict) -> str:
    """Returns the hash of D, with that of its scales behind a plus sign; "none" if nothing ran."""
    return "+".join(said[key] for key in ("d_xxh3", "out_scales_xxh3") if said.get(key)) or "none"


def why(said: Dict) -> str:
    error = said.get("error", said)
    return str(error.get("message", error)) if isinstance(error, dict) else str(error)


def in_parallel(work, items, device: str):
    """One process at a time on a GPU, so that a kernel that hangs or faults disturbs no other row."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() if device.startswith("emu") else 1) as pool:
        return list(pool.map(work, items))


def make(warpwright: str, file: str) -> int:
    rows = [shlex.split(row) for row in sm100_rows.rows()]
    said = in_parallel(lambda words: run(warpwright, words, "emu:sm100", "--verify", "--threads", "1"), rows, "emu:sm100")
    bad = 0
    with open(file, "w", encoding="utf-8") as out:
        out.write("# hash of D on emu:sm100, +that of its scales, arguments of warpwright; made by: sm100_parity.py make\n")
        for words, answer in zip(rows, said):
            if answer.get("ok") is not True:
                bad += 1
                print(f"{shlex.join(words)}\n  {why(answer)}", flush=True)
            else:
                out.write(f"{hash_of(answer)} {shlex.join(words)}\n")
    print(f"{len(rows) - bad} of {len(rows)} hashes written to {file}, each right against FP64")
    return 4 if bad else 0


def rows_of(file: str, step: int, first: int) -> List[Tuple[str, List[str]]]:
    with open(file, encoding="utf-8") as lines:
        rows = [shlex.split(line) for line in lines if not line.startswith("#")]
    return [(row[0], row[1:]) for row in rows[first % step::step]]


def check(warpwright: str, rows: List[Tuple[str, List[str]]], device: str, verify: bool) -> int:
    flags = ["--verify"] if verify else ["--no-verify"]
    said = in_parallel(lambda row: run(warpwright, row[1], device, *flags), rows, device)
    status = 0 if rows else 4
    equal = 0
    for (digest, words), answer in zip(rows, said):
        if hash_of(answer) == digest and answer.get("ok"):
            equal += 1
            continue
        ran = hash_of(answer) != "none"
        status = max(status, 1 if ran else 4)
        print(f"expected {digest}, got {hash_of(answer)}{'' if ran else ': ' + why(answer)}\n  again: "
              f"{shlex.join([warpwright, words[0], '--device', device, '--verify', *words[1:]])}")
    names = {answer["device_description"] for answer in said if "device_description" in answer}
    print(f"{device} ({'; '.join(sorted(names)) or 'no row ran'}): {equal} of {len(rows)} operations bit-equal to emu:sm100")
    if not device.startswith("emu"):
        print("Please send this output, whether all are equal or not: docs/blackwell.md, section \"For the owner of a "
              "B200\", says where.")
    return status


def main() -> int:
    verb, warpwright, file = sys.argv[1:4]
    if verb == "make":
        return make(warpwright, file)
    device = sys.argv[4] if len(sys.argv) > 4 else "cuda:0"
    step = int(sys.argv[5], 0) if len(sys.argv) > 5 else 1
    first = int(sys.argv[6], 0) if len(sys.argv) > 6 else 0
    return check(warpwright, rows_of(file, step, first), device, verb == "verify")


if __name__ == "__main__":
    sys.exit(main())
