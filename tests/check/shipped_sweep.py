#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks every kernel that ships: those of the emulator's modules and of src/launch/pack_configs.txt, and the casts of
src/launch/sm100_pack_configs.txt. Of the configs of the latter, kernel_families.py has a kernel for each family.
  shipped_sweep.py BUILD                            every kernel, 200 schedules each
  shipped_sweep.py BUILD --sample 3 --seed 7        three of them, drawn by the seed
  shipped_sweep.py BUILD --result R --minutes 8     starts no kernel after 8 minutes; the same command again goes on
Each product gets a small problem, in which its ring of stages wraps around, tiles have tails, and a CTA has several
tiles. The families of kernel_families.py, with epilogues and K groups that no list holds, are part of the whole.
`warpwright check` runs the products, with the kernels that make their tensor maps and clear their rows; check_casts
(cast_check.cpp) runs casts, transposes and the packing of scales. The exit status is 0 if every kernel is clean, 1 if
one is not, and 4 if some were not run."""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import random
import re
import shlex
import subprocess
import sys
import tempfile
import time

from kernel_families import BLACKWELL_FAMILIES, FAMILIES

# Kernels that an operation launches before or after the one of its config.
AUXILIARY = {
    "ww_descriptor_update": FAMILIES["descriptors, horizontal"],
    "ww_zero_rows": FAMILIES["ragged, epilogue"],
    "ww_k_group_maps": FAMILIES["K groups, one matrix each"],
    "ww_pointer_maps": "gemm --m 136 --n 136 --k 272 --batch 3 --pointer-array --tile 128x64 --stages 2",
}


def names_of(build, source):
    """The names of the shipped kernels: the text of a config or of a cast, or the name of a kernel without one."""
    program = build / "tests" / "jit" / "ptxas_report"
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([program, "sources", folder], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{program} sources: expected exit status 0, got {done.returncode}\n{done.stdout}{done.stderr}")
        modules = [path.read_text().partition("\n")[0].removeprefix("// ") for path in pathlib.Path(folder).glob("*.cu")]
    listed = [line.partition("#")[0].strip() for line in (source / "src/launch/pack_configs.txt").read_text().splitlines()]
    casts = [line for line in (source / "src/launch/sm100_pack_configs.txt").read_text().splitlines() if line.startswith("cast=")]
    return sorted({cast_text(name) for name in modules + listed + casts if name})


def cast_text(name):
    """The text of a cast that is called by its kernel's name, and any other name as it is."""
    if name == "ww_pack_fp32_into_ue8m0":
        return "pack=ue8m0"
    if match := re.fullmatch(r"ww_quantize_(\w+?)_(e\dm\d)_transposed", name):
        return f"transpose={match[2]}"
    if match := re.fullmatch(r"ww_quantize_(\w+?)_(e\dm\d)(_rows)?(_transposed)?_(\d+x\d+)", name):
        x, q, rows, transposed, block = match.groups()
        return f"quantize={block},x={x},q={q},rows={int(bool(rows))},transposed={int(bool(transposed))}"
    return name


def arguments_of(name):
    """The arguments of `warpwright check` for a kernel, or those of check_casts, after its name."""
    if name.startswith(("quantize=", "cast=", "transpose=", "pack=")):
        return f"check_casts {name}"
    if name in AUXILIARY:
        return AUXILIARY[name]
    if not name.startswith("arch="):
        sys.exit(f"{name}: expected a config, a cast or one of {', '.join(AUXILIARY)}: no operation is known to launch it")
    config = dict(pair.split("=", 1) for pair in name.split(",epilogue=")[0].split(","))
    tile_m, tile_n, tile_k = map(int, config["tile"].split("x"))
    cluster = [*map(int, config.get("cluster", "1x1").split("x")), 1][:3]
    stages = int(config.get("stages", 4))
    split = int(config.get("split", 1))
    k = (stages // 2 + 1) * tile_k * split + tile_k // 2
    words = ["--dtype", config["a"], "--out-dtype", config["d"], "--scale", config["scale"], "--config", name]
    if "layout" in config:
        words += ["--layout", config["layout"]]
    if ",epilogue=" in name:
        words += ["--epilogue", name.split("epilogue=", 1)[1]]
    rows, columns = (tile_n, tile_m) if config.get("swap_ab") == "on" else (tile_m, tile_n)
    if config["b"] != config["a"]:
        words += ["--b-dtype", config["b"]]
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


def expected_work(arguments):
    """A number that grows with the time of a check: elements of D and of the operands' tiles."""
    sizes = {key: int(value) for key, value in re.findall(r"--(m|n|k) (\d+)", arguments)}
    rows = sizes.get("m") or sum(map(int, (re.search(r"--(?:rows|ks) ([\d,]+)", arguments) or [0, "128"])[1].split(",")))
    return (rows + 128) * (sizes.get("n", 128) + 128) * (1 + sizes.get("k", 128) / 256)


def output_of(words):
    """What a program prints, and the processor time of it and its workers and compilers in seconds."""
    with tempfile.TemporaryFile("w+") as output, subprocess.Popen(words, stdout=output, stderr=subprocess.STDOUT) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        return output.read(), round(usage.ru_utime + usage.ru_stime, 1)


class Sweep:
    def __init__(self, build, schedules, seconds):
        self.program, self.casts = build / "bin" / "warpwright", build / "tests" / "check" / "check_casts"
        self.schedules, self.seconds = schedules, seconds

    def build_id(self):
        digest = hashlib.sha256()
        for path in (self.program, self.casts):
            digest.update(path.read_bytes())
        return digest.hexdigest()[:16]

    def command(self, arguments):
        words = shlex.split(arguments)
        if words[0] == "check_casts":
            return [str(self.casts), words[1], str(self.schedules)]
        return [str(self.program), "check", *words, "--schedules", str(self.schedules), "--math", "off", "--no-shrink"]

    def run(self, name, arguments):
        """The row of the result for one kernel."""
        command, begin = self.command(arguments), time.monotonic()
        words = command if command[0] == str(self.casts) else [*command, "--threads", "1", "--json", "--time", f"{self.seconds}s"]
        text, cpu = output_of(words)
        row = {"kernel": name, "arguments": arguments, "verdict": "failed", "why": text[-1500:],
               "replays": [shlex.join(command)], "seconds": round(time.monotonic() - begin, 1), "cpu_seconds": cpu}
        try:
            report = json.loads(next((line for line in text.splitlines() if line.startswith("{")), ""))
        except json.JSONDecodeError:
            return row
        findings = report.get("findings") or []
        why = report.get("why_incomplete") or report.get("error") or "".join(finding["text"] for finding in findings)
        row |= {"verdict": report.get("verdict", "failed"),
                "why": "" if report.get("verdict") == "clean" else f"after {report.get('schedules')} schedules: {why}"[:3000]}
        row["replays"] = [finding["replay"] for finding in findings] or row["replays"]
        return row


def clean_before(path, key):
    """The kernels that an interrupted run of the same programs and schedules has found clean, with their arguments."""
    if path is None or not path.exists():
        return {}
    before = json.loads(path.read_text())
    if before.get("key") != key:
        print(f"{path}: of other programs or schedules; every kernel is checked anew", flush=True)
        return {}
    return {(row["kernel"], row["arguments"]): row for row in before["kernels"] if row["verdict"] == "clean"}


def write(path, key, summary, rows):
    if path is None:
        return
    temporary = path.with_name(path.name + ".new")
    temporary.write_text(json.dumps({"command": " ".join(map(str, sys.argv)), "key": key, "summary": summary,
                                     "kernels": sorted(rows, key=lambda row: row["kernel"])}, indent=1) + "\n")
    temporary.replace(path)


def sweep(jobs, checks, arguments):
    """All rows, and how many kernels were left out for lack of time."""
    key = f"{checks.build_id()}, {arguments.schedules} schedules"
    done = clean_before(arguments.result, key)
    rows = [done[job] for job in jobs if job in done]
    left = sorted((job for job in jobs if job not in done), key=lambda job: -expected_work(job[1]))
    end = time.monotonic() + 60 * arguments.minutes
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        tasks = [pool.submit(lambda job=job: checks.run(*job) if time.monotonic() < end else None) for job in left]
        for task in concurrent.futures.as_completed(tasks):
            if (row := task.result()) is None:
                continue
            rows.append(row)
            write(arguments.result, key, "interrupted", rows)
            if row["verdict"] != "clean":
                print(f"{row['verdict']}: {row['kernel']}\n  {row['why']}", flush=True)
    return rows, key


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--source", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--sample", type=int, default=0, help="that many kernels, drawn with --seed (default: all)")
    parser.add_argument("--seed", type=lambda text: int(text, 0), default=1)
    parser.add_argument("--schedules", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=900, help="for one kernel")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="for all; no kernel starts later")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", type=re.compile, default=re.compile(""), help="kernels whose names match this")
    parser.add_argument("--list", action="store_true", help="prints the arguments and runs nothing")
    parser.add_argument("--result", type=pathlib.Path, help="JSON file: written after every kernel; clean ones are not run again")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    jobs = [(name, arguments_of(name)) for name in names_of(build, arguments.source)] + [*FAMILIES.items(), *BLACKWELL_FAMILIES.items()]
    jobs += [(name, command) for name, command in AUXILIARY.items() if name not in dict(jobs)]
    jobs = [job for job in jobs if arguments.only.search(job[0])]
    if arguments.sample:
        jobs = random.Random(arguments.seed).sample(jobs, min(arguments.sample, len(jobs)))
    if arguments.list:
        print(*(command for _, command in jobs), sep="\n")
        return 0
    begin = time.monotonic()
    rows, key = sweep(jobs, Sweep(build, arguments.schedules, arguments.seconds), arguments)
    faulty = [row for row in rows if row["verdict"] != "clean"]
    left = len(jobs) - len(rows)
    summary = (f"{len(rows) - len(faulty)} of {len(jobs)} kernels clean, {arguments.schedules} schedules each; {len(faulty)} not; "
               f"{left} not run; {sum(row['cpu_seconds'] for row in rows):.0f} s of CPU in all, {time.monotonic() - begin:.0f} s here")
    write(arguments.result, key, summary, rows)
    for row in faulty:
        print(f"{row['verdict']}: {row['kernel']}\n  " + "\n  ".join(row["replays"]))
    print(summary)
    return 1 if faulty else 4 if left else 0


if __name__ == "__main__":
    sys.exit(main())
