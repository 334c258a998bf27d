#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the time that NVRTC takes for the same kernels of two commits. No GPU is needed.
   compare.py kernels PROGRAM FAKE_NVRTC FOLDER       writes the sources of CONFIGS as FOLDER/<name>.cu
   compare.py times BASE HEAD [--flags-of-base F]     compiles in turns; BASE and HEAD are "INCLUDE,FOLDER"
   compare.py instructions BASE HEAD                  the same once, counted by cachegrind instead of timed
`kernels` needs a program with `prepare --pack`, and the stand-in of the tests (tests/jit/fake_nvrtc.cpp), whose cubins are
their sources. Each compile is a process of its own. A time is the least CPU time of --rounds compiles, because the least
is what disturbs it least; the count of instructions is not disturbed at all."""
import argparse
import json
import math
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

from nvrtc import FLAGS, compile_source

GROUPED = "grouping=row-groups,groups=128"
CONFIGS = {
    "block-128x128": "scale=block,tile=128x128x128,cluster=1x1,stages=5",
    "block-192x128": "scale=block,tile=192x128x128,cluster=1x1,consumer_warpgroups=3",
    "block-split-k": "scale=block,tile=64x64x128,tile_scheduler=split-k,split=2",
    "tensor-stream-k": "scale=tensor,tile=128x256x128,cluster=2x1,tile_scheduler=stream-k",
    "bf16-128x256": "a=bf16,b=bf16,scale=none,tile=128x256x64,cluster=2x1",
    "bf16-silu": "a=bf16,b=bf16,scale=none,tile=128x128x64,epilogue=silu(acc+bias)",
    "ragged-block": f"scale=block,{GROUPED},variant=ragged",
    "ragged-bf16": f"a=bf16,b=bf16,scale=none,{GROUPED},variant=ragged",
    "contiguous-block": f"scale=block,{GROUPED},variant=contiguous",
    "masked-block": f"scale=block,{GROUPED},variant=masked",
    "descriptors-block": f"scale=block,{GROUPED},variant=descriptors",
    "k-grouped-bf16": "a=bf16,b=bf16,d=f32,scale=none,layout=tn,batched=1,grouping=k-groups,k_groups=128,"
                      "tile=128x128x64,cluster=1x1,tile_scheduler=static",
}
ENTRY = struct.Struct("<32sQQQ16s")  # of the index of a pack (src/jit/pack.cpp)


def write_kernels(program, fake_nvrtc, folder):
    folder.mkdir(parents=True, exist_ok=True)
    settings = {**os.environ, "WARPWRIGHT_NVRTC": fake_nvrtc, "FAKE_NVRTC_WITHOUT_BUILTINS": "1"}
    for name, config in CONFIGS.items():
        with tempfile.TemporaryDirectory() as scratch:
            pack = pathlib.Path(scratch) / "one.wwpack"
            subprocess.run([program, "prepare", "--config", config, "--pack", pack], env=settings, check=True,
                           stdout=subprocess.DEVNULL)
            data = pack.read_bytes()
        for i in range(struct.unpack_from("<I", data, 12)[0]):
            _, at, size, _, _ = ENTRY.unpack_from(data, 120 + ENTRY.size * i)
            if data[at:at + size].startswith(b"// arch="):
                (folder / f"{name}.cu").write_bytes(data[at:at + size])


def child(arguments, side, name, flags, prefix=()):
    include, folder = side.split(",")
    command = [*prefix, sys.executable, __file__, "one", arguments.nvrtc, include, f"{folder}/{name}.cu", *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done


def instructions(arguments, side, name, flags):
    with tempfile.NamedTemporaryFile() as log:
        child(arguments, side, name, flags,
              ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null",
               f"--log-file={log.name}"])
        return int(re.search(r"I\s+refs:\s+([\d,]+)", pathlib.Path(log.name).read_text()).group(1).replace(",", ""))


def compare(arguments):
    flags = {"base": FLAGS + arguments.flags_of_base.split(), "head": FLAGS}
    sides = {"base": arguments.base, "head": arguments.head}
    names = arguments.only.split(",") if arguments.only else list(CONFIGS)
    best = {name: {} for name in names}
    if arguments.verb == "instructions":
        for name in names:
            best[name] = {side: instructions(arguments, sides[side], name, flags[side]) for side in sides}
            print(f"{name:18} {best[name]['head'] / best[name]['base']:.3f}", flush=True)
    for _ in range(arguments.rounds if arguments.verb == "times" else 0):
        for name in names:
            for side in sides:
                seconds = float(child(arguments, sides[side], name, flags[side]).stdout.split()[0])
                best[name][side] = min(seconds, best[name].get(side, seconds))
    ratios = {name: b["head"] / b["base"] for name, b in best.items()}
    for name, ratio in ratios.items():
        print(f"{name:18} base {best[name]['base']:15.3f}  head {best[name]['head']:15.3f}  ratio {ratio:.3f}")
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    print(f"geometric mean {mean:.3f}, largest {max(ratios.values()):.3f}")
    if arguments.result:
        unit = "instructions" if arguments.verb == "instructions" else f"CPU seconds, least of {arguments.rounds}"
        pathlib.Path(arguments.result).write_text(json.dumps(
            {"command": " ".join(sys.argv), "unit": unit, "nvrtc": arguments.nvrtc, "flags": flags,
             "kernels": best, "ratios": ratios, "mean": mean}, indent=1) + "\n")


def main():
    if sys.argv[1:2] == ["one"]:
        made = compile_source(*sys.argv[2:5], sys.argv[5:])
        return print(made.seconds, len(made.cubin))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    kernels = verbs.add_parser("kernels")
    for name in ("program", "fake_nvrtc", "folder"):
        kernels.add_argument(name)
    for verb in ("times", "instructions"):
        one = verbs.add_parser(verb)
        one.add_argument("base"), one.add_argument("head")
        one.add_argument("--nvrtc", default="/usr/local/cuda/lib64/libnvrtc.so.13")
        one.add_argument("--rounds", type=int, default=7)
        one.add_argument("--flags-of-base", default="", help="flags that only the base passes")
        one.add_argument("--only", help="names of kernels, joined by commas")
        one.add_argument("--result", help="JSON file")
    arguments = parser.parse_args()
    if arguments.verb == "kernels":
        return write_kernels(arguments.program, arguments.fake_nvrtc, pathlib.Path(arguments.folder))
    return compare(arguments)


if __name__ == "__main__":
    main()
