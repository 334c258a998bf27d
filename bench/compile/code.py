#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the machine code of the same kernels of two commits. No GPU is needed.
   ptxas_report sources FOLDER                        writes every shipped kernel of a commit as FOLDER/<number>.cu
   code.py BASE HEAD [--sample N] [--seed S]          compiles both; BASE and HEAD are "INCLUDE,FOLDER"
   code.py BASE --base-results FILE                   compiles the base alone, for later runs with the same FILE
A kernel is found on both sides by its first line, its name. The report has a line for each kernel whose code differs:
registers, bytes spilled and instructions before and after, and how many of the instructions are wgmma. The exit status is 1
where a kernel spills, gets a warning of ptxas, needs more registers a thread at its launch, or is on one side only.
--base-results keeps what the base compiled to, by name. It is used where NVRTC, the flags, all headers of the base and the
kernel's source are those that it was compiled with."""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import math
import os
import pathlib
import random
import re
import struct
import subprocess
import sys

from nvrtc import FLAGS, compile_source

OPCODE = 0xfff  # the low 12 bits of an instruction of 16 bytes
WGMMA = (0x9f0, 0x9f3, 0xdf0, 0xdf3)  # HGMMA and QGMMA, both operands in shared memory; with A in registers
Code = collections.namedtuple("Code", "registers spilled warnings instructions wgmma digest")


def sections(cubin):
    """Yields (name, bytes) of every section of an ELF file."""
    start, = struct.unpack_from("<Q", cubin, 40)
    size, count, names = struct.unpack_from("<HHH", cubin, 58)
    headers = [struct.unpack_from("<IIQQQQ", cubin, start + i * size) for i in range(count)]
    text = headers[names][4]
    for name, kind, _, _, at, length in headers:
        if kind != 8:  # SHT_NOBITS has no bytes
            yield cubin[text + name:cubin.index(b"\0", text + name)].decode(), cubin[at:at + length]


def code_of(cubin, log):
    code = b"".join(data for name, data in sections(cubin) if name.startswith(".text."))
    opcodes = collections.Counter(struct.unpack_from("<H", code, at)[0] & OPCODE for at in range(0, len(code), 16))
    return Code(max(map(int, re.findall(r"Used (\d+) registers", log)), default=0),
                sum(map(int, re.findall(r"(\d+) bytes spill", log))), len(re.findall(r"C75\d\d|[Ww]arning", log)),
                len(code) // 16, sum(opcodes[one] for one in WGMMA), hashlib.sha256(code).hexdigest()[:16])


def compile_one(library, include, source):
    """Each compile is a process of its own, because NVRTC compiles one kernel at a time in a process."""
    done = subprocess.run([sys.executable, __file__, "one", library, include, str(source)], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        sys.exit(done.stdout + done.stderr)
    return Code(*json.loads(done.stdout))


class Results:
    """What the base's kernels compiled to, in a file if there is one; another compiler or header empties it."""

    def __init__(self, file, library, include):
        text = hashlib.sha256(json.dumps([os.path.realpath(library), FLAGS]).encode())
        for path in sorted(pathlib.Path(include).rglob("*.hpp")):
            text.update(str(path.relative_to(include)).encode() + b"\0" + path.read_bytes() + b"\0")
        self.file, self.compiler = file and pathlib.Path(file), text.hexdigest()[:16]
        known = json.loads(self.file.read_text()) if self.file and self.file.exists() else {}
        self.kernels = known["kernels"] if known.get("compiler") == self.compiler else {}

    def find(self, name, source, compile_it):
        digest = hashlib.sha256(source.read_bytes()).hexdigest()[:16]
        row = self.kernels.get(name, {})
        if row.get("source") != digest:
            row = self.kernels[name] = {"source": digest, "code": compile_it()._asdict()}
        return Code(**row["code"])

    def save(self):
        if self.file:
            partial = self.file.with_suffix(".partial")
            partial.write_text(json.dumps({"compiler": self.compiler, "kernels": dict(self.kernels)}, indent=1) + "\n")
            partial.replace(self.file)


def kernels_of(folder):
    return {path.read_text().partition("\n")[0]: path for path in sorted(pathlib.Path(folder).glob("*.cu"))}


def main():
    if sys.argv[1:2] == ["one"]:
        return print(json.dumps(code_of(*compile_source(*sys.argv[2:5])[:2])))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base"), parser.add_argument("head", nargs="?")
    parser.add_argument("--base-results", help="JSON file, read and written")
    parser.add_argument("--nvrtc", default="/usr/local/cuda/lib64/libnvrtc.so.13")
    parser.add_argument("--sample", type=int, default=0, help="that many kernels, drawn with --seed (default: all)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="regular expression on the name")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--result", help="JSON file")
    arguments = parser.parse_args()
    if not (arguments.head or arguments.base_results):
        parser.error("without HEAD: expected --base-results, got none")
    base_include, base_folder = arguments.base.split(",")
    head_include, head_folder = (arguments.head or arguments.base).split(",")
    base, head = kernels_of(base_folder), kernels_of(head_folder)
    results = Results(arguments.base_results, arguments.nvrtc, base_include)
    names = sorted(name for name in {*base, *head} if re.search(arguments.only, name))
    alone = [name for name in names if name not in base or name not in head]
    names = [name for name in names if name not in alone]
    if arguments.sample:
        names = sorted(random.Random(arguments.seed).sample(names, min(arguments.sample, len(names))))

    def pair(name):
        old = results.find(name, base[name], lambda: compile_one(arguments.nvrtc, base_include, base[name]))
        return old, compile_one(arguments.nvrtc, head_include, head[name]) if arguments.head else old

    faults, rows, ratios = [f"on one side only: {name}" for name in alone], {}, []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for number, (name, (old, new)) in enumerate(zip(names, pool.map(pair, names))):
            if number % 20 == 0:
                results.save()
            rows[name] = {"base": old._asdict(), "head": new._asdict()}
            ratios.append(new.instructions / old.instructions)
            if old.digest != new.digest:
                print(f"registers {old.registers:3} {new.registers:3}  spilled {old.spilled:3} {new.spilled:3}  instructions "
                      f"{old.instructions:6} {new.instructions:6}  wgmma {old.wgmma:3} {new.wgmma:3}  {name}", flush=True)
            if new.spilled > old.spilled or new.warnings > old.warnings or new.registers > max(old.registers, 168):
                faults.append(f"spills, warns or needs more registers: {name}")
    results.save()
    same = sum(row["base"]["digest"] == row["head"]["digest"] for row in rows.values())
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else 1.0
    print(f"{len(rows)} kernels, {same} with the same code; instructions after over before: mean {mean:.4f}, largest "
          f"{max(ratios, default=1.0):.4f}")
    print(*faults, sep="\n")
    if arguments.result:
        pathlib.Path(arguments.result).write_text(json.dumps(
            {"command": " ".join(sys.argv), "nvrtc": arguments.nvrtc, "same": same, "mean": mean, "faults": faults,
             "kernels": rows}, indent=1) + "\n")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
