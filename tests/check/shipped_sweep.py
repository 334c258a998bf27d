#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `warpwright check` on the kernels that ship: the emulator's modules and those of src/launch/pack_configs.txt.
  shipped_sweep.py BUILD                        every kernel, 200 schedules each
  shipped_sweep.py BUILD --sample 3 --seed 7    three of them, drawn by the seed
Each gets a small problem, in which its ring of stages wraps around, tiles have tails, and a CTA has several tiles. The
families of kernel_families.py, with epilogues and K groups that no list holds, are part of the whole. Kernels that
`check` cannot launch by themselves (casts, packed scales, updates of tensor maps) are counted. The exit status is 0 if
every kernel is clean."""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import shlex
import subprocess
import sys
import tempfile

from kernel_families import FAMILIES


def names_of(build, source):
    """The names of the shipped kernels: the text of a config, or the name of a kernel without one."""
    program = build / "tests" / "jit" / "ptxas_report"
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([program, "sources", folder], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{program} sources: expected exit status 0, got {done.returncode}\n{done.stdout}{done.stderr}")
        modules = [path.read_text().partition("\n")[0].removeprefix("// ") for path in pathlib.Path(folder).glob("*.cu")]
    listed = [line.partition("#")[0].strip() for line in (source / "src/launch/pack_configs.txt").read_text().splitlines()]
    return sorted({name for name in modules + listed if name})


def command_of(name):
    """The arguments of `warpwright check` for a config; None where no operation of check launches the kernel."""
    if not name.startswith("arch="):
        return None
    config = dict(pair.split("=", 1) for pair in name.split(",epilogue=")[0].split(","))
    tile_m, tile_n, tile_k = map(int, config["tile"].split("x"))
    cluster = [*map(int, config.get("cluster", "1x1").split("x")), 1][:3]
    stages = int(config.get("stages", 4))
    split = int(config.get("split", 1))
    k = (stages // 2 + 1) * tile_k * split + tile_k // 2
    words = ["--dtype", config["a"], "--out-dtype", config["d"], "--scale", config["scale"], "--config", name]
    if "layout" in config:
        words += ["--layout", config["layout"]]
    if "epilogue" in config or ",epilogue=" in name:
        words += ["--epilogue", name.split("epilogue=", 1)[1]]
    rows, columns = (tile_n, tile_m) if config.get("swap_ab") == "on" else (tile_m, tile_n)
    if config.get("grouping") == "row-groups":
        variant = config["variant"]
        encoding = "masked" if variant == "masked" else "offsets"
        groups = [3, 0, tile_m + tile_m // 2 + 1, 1]
        sms = 2 * cluster[0] * cluster[1] * cluster[2]
        return shlex.join(["grouped", "--rows", ",".join(map(str, groups)), "--encoding", encoding, "--n",
                           str(round_to(columns + 8, 16)), "--k", str(round_to(k, 16)), "--sms", str(sms), *words])
    if config.get("grouping") == "k-groups":
        unit = 128 if config["a"] in ("e4m3", "e5m2") else 1
        groups = [unit, 0, (stages + 1) * round_to(tile_k, unit) + (unit if unit > 1 else 5), unit]
        return shlex.join(["k-grouped", "--ks", ",".join(map(str, groups)), "--m", str(round_to(rows + 8, 16)), "--n",
                           str(round_to(columns + 8, 16)), "--sms", str(cluster[0] * cluster[1]), *words])
    if config["b"] != config["a"]:
        words += ["--b-dtype", config["b"]]
    if config.get("batched") == "1":
        words += ["--batch", "2"]
    if "d_layout" in config:
        words += ["--d-layout", config["d_layout"]]
    n = int(config.get("fixed_n", 0)) or round_to(columns * cluster[1] + 8, 16)
    k = int(config.get("fixed_k", 0)) or round_to(k, 16)
    sms = cluster[0] * cluster[1] * cluster[2] * max(1, split // cluster[2])
    return shlex.join(["gemm", "--m", str(round_to(rows * cluster[0] + 8, 16)), "--n", str(n), "--k", str(k), "--sms",
                       str(sms), *words])


def round_to(value, unit):
    return (value + unit - 1) // unit * unit


def run(program, command, schedules, seconds):
    """(verdict, what is wrong)"""
    done = subprocess.run([str(program), "check", *shlex.split(command), "--schedules", str(schedules), "--math", "off",
                           "--threads", "1", "--no-shrink", "--json", "--time", f"{seconds}s"], capture_output=True, text=True,
                          check=False)
    try:
        report = json.loads(done.stdout)
    except json.JSONDecodeError:
        return "failed", (done.stdout + done.stderr)[-1500:]
    if report.get("verdict") == "clean":
        return "clean", ""
    why = report.get("why_incomplete") or report.get("error") or json.dumps(report.get("findings"), indent=1)
    if "unsupported: argument" in str(why):  # a list of defaults holds types that no grouped operation takes
        return "unsupported", ""
    return report.get("verdict", "failed"), f"after {report.get('schedules')} schedules: {why}"[:3000]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--source", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--sample", type=int, default=0, help="that many kernels, drawn with --seed (default: all)")
    parser.add_argument("--seed", type=lambda text: int(text, 0), default=1)
    parser.add_argument("--schedules", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=900, help="for one kernel")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--list", action="store_true", help="prints the commands and runs nothing")
    parser.add_argument("--result", type=pathlib.Path, help="JSON file to write")
    arguments = parser.parse_args()
    program = arguments.build.resolve() / "bin" / "warpwright"
    names = names_of(arguments.build.resolve(), arguments.source)
    commands = {name: command_of(name) for name in names}
    skipped = sorted(name for name, command in commands.items() if command is None)
    jobs = [(name, command) for name, command in commands.items() if command] + list(FAMILIES.items())
    if arguments.sample:
        jobs = random.Random(arguments.seed).sample(jobs, min(arguments.sample, len(jobs)))
    if arguments.list:
        print(*(command for _, command in jobs), sep="\n")
        return 0
    verdicts, rows = collections.Counter(), []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        outcomes = pool.map(lambda job: run(program, job[1], arguments.schedules, arguments.seconds), jobs)
        for (name, command), (verdict, why) in zip(jobs, outcomes):
            verdicts[verdict] += 1
            rows.append({"kernel": name, "command": command, "verdict": verdict})
            if verdict not in ("clean", "unsupported"):
                print(f"{verdict}: {name}\n  warpwright check {command}\n  {why}", flush=True)
    summary = (f"{verdicts['clean']} of {len(jobs)} kernels clean, {arguments.schedules} schedules each; the operation refuses "
               f"the types of {verdicts['unsupported']}; {len(skipped)} shipped kernels are not launched by check")
    print(summary)
    if arguments.result:
        arguments.result.write_text(json.dumps({"command": " ".join(map(str, sys.argv)), "summary": summary,
                                                "not_launched": skipped, "kernels": rows}, indent=1) + "\n")
    return 0 if verdicts["clean"] + verdicts["unsupported"] == len(jobs) else 1


if __name__ == "__main__":
    sys.exit(main())
