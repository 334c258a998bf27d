#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The configs of which a pack has cubins: those that an H200 or a B200 runs for the layers of bench/cases/models.json.
   tools/pack_configs.py PROGRAM                 writes src/launch/pack_configs.txt, for the H200
   tools/pack_configs.py PROGRAM --arch sm100    writes src/launch/sm100_pack_configs.txt, for the B200
   tools/pack_configs.py PROGRAM --cases FOLDER  keeps the case files, as `warpwright prepare OPERATION --cases` takes them
Run it again after a change of the selection; Packs.HoldMostConfigsOfRandomLayers says when the list is stale."""
import argparse
import collections
import json
import pathlib
import re
import subprocess
import tempfile
from typing import Dict, List, NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
ENCODINGS = ("offsets", "row-ids", "masked")
FP8_CASTS = [f"quantize={block},x={x},q={q},rows={rows},transposed={transposed}" for block in ("1x128", "128x128")
             for x, q in (("bf16", "e4m3"), ("f32", "e4m3"), ("f16", "e4m3"), ("bf16", "e5m2"))
             for rows, transposed in ((1, 0), (0, 1), (1, 1))] + ["transpose=e4m3", "transpose=e5m2", "pack=ue8m0"]


class Pack(NamedTuple):
    """What is in the pack of one architecture: the flags of each operation, and kernels for which no layer is counted.
    Configs that fewer than `least` of the layers run are left to the compiler."""
    file: str
    gpu: str
    flags: Dict[str, List[str]]
    casts: List[str]
    least: int = 1


PACKS = {
    # Casts of activations and weights, for both outputs or one, transposes of FP8 weights, and exponents of scales.
    "sm90": Pack("pack_configs.txt", "H200", {
        "gemm": ["--scale block", "--scale tensor", "--dtype bf16"],
        "grouped": [f"{types} --encoding {encoding}" for types in ("--scale block", "--dtype bf16")
                    for encoding in ENCODINGS] + ["--dtype bf16 --layout nn"],
        "k-grouped": ["--dtype bf16", "--dtype e4m3", "--dtype e4m3 --packing per-group"]}, FP8_CASTS, 2),
    "sm100": Pack("sm100_pack_configs.txt", "B200", {
        "gemm": ["--scale mx", "--dtype e2m1 --scale nv", "--scale block", "--scale tensor", "--dtype bf16"],
        "grouped": [f"{types} --encoding {encoding}" for types in ("--scale mx", "--dtype e2m1 --scale nv", "--dtype bf16")
                    for encoding in ENCODINGS],
        "k-grouped": ["--dtype bf16", "--dtype e4m3 --scale mx"]},
                  [f"cast=mx,x={x},q={q}" for x in ("bf16", "f32", "f16") for q in ("e4m3", "e2m1")] +
                  [f"cast=nv,x={x},q=e2m1" for x in ("bf16", "f32", "f16")] + ["cast=mx,x=bf16,q=e5m2"] + FP8_CASTS, 4),
}


def dense_shapes(model, parallel):
    """(N, K) of the layers of one model on one of `parallel` GPUs: columns of the first, rows of the second are split."""
    hidden, ffn = model["hidden"], model.get("ffn", 0)
    shapes = [tuple(shape) for shape in model.get("attention", [])]
    if "heads" in model:
        width = model["head_dim"]
        shapes += [((model["heads"] + 2 * max(model["kv_heads"], parallel)) * width // parallel, hidden),
                   (hidden, model["heads"] * width // parallel)]
    if ffn:
        shapes += [(2 * ffn // parallel, hidden), (hidden, ffn // parallel)]
    return [(n, k) for n, k in shapes if n % 16 == 0 and k % 128 == 0]


def spread(total, groups):
    return [total // groups + (g < total % groups) for g in range(groups)]


def all_cases(spec):
    """Cases by operation."""
    dense, rows, gradients = set(), set(), set()
    for model in spec["models"]:
        for parallel in spec["tensor_parallel"]:
            dense |= {(m, n, k) for n, k in dense_shapes(model, parallel) for m in spec["m"]}
        for parallel in spec["expert_parallel"] if "experts" in model else []:
            groups = model["experts"] // parallel
            shapes = [(2 * model["expert_ffn"], model["hidden"]), (model["hidden"], model["expert_ffn"])]
            for n, k in shapes:
                for tokens in spec["tokens"]:
                    total = max(1, tokens * model["top_k"] // parallel)
                    rows.add((groups, n, k, total))
                gradients |= {(groups, k, n, tokens * model["top_k"]) for tokens in spec["gradient_tokens"]}
    return {
        "dense": [dict(op="dense", m=m, n=n, k=k) for m, n, k in sorted(dense)],
        "grouped": [dict(op="grouped", n=n, k=k, tokens_per_group=spread(total, g)) for g, n, k, total in sorted(rows)],
        "k-grouped": [dict(op="k-grouped", m=m, n=n, tokens_per_group=[128 * b for b in spread(total // 128, g)])
                      for g, m, n, total in sorted(gradients)],
    }


def listed(program, operation, flags, cases, folder):
    """(config, number of cases) of every kernel."""
    lines = pathlib.Path(folder) / "list.txt"
    command = [program, "prepare", operation, "--cases", str(cases), "--list", str(lines), *flags.split()]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout[-3000:]}{done.stderr}")
    for line in lines.read_text().splitlines():
        config, _, count = line.partition("  # ")
        if not line.startswith("#"):
            # the launch decides these, so that one kernel serves all values
            yield re.sub(r"raster=\d+,band=\w+", "raster=1,band=m", config), int(count)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--arch", choices=PACKS, default="sm90")
    parser.add_argument("--cases", help="folder in which the case files are kept")
    arguments = parser.parse_args()
    pack, output = PACKS[arguments.arch], ROOT / "src/launch" / PACKS[arguments.arch].file
    spec = json.loads((ROOT / "bench/cases/models.json").read_text())
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(arguments.cases or scratch)
        for operation, cases in all_cases(spec).items():
            path = folder / f"{operation}.json"
            path.write_text(json.dumps({"cases": cases}))
            verb = {"dense": "gemm"}.get(operation, operation)
            for flags in pack.flags[verb]:
                for config, count in listed(arguments.program, verb, f"{flags} --config arch={arguments.arch}", path, scratch):
                    counts[config] += count
    head = ["# Written by tools/pack_configs.py from bench/cases/models.json. A line is a config, and the number of",
            f"# problems among the layers of those models that run it on {'an' if pack.gpu == 'H200' else 'a'} {pack.gpu}; "
            "or a cast, transpose or packing."]
    body = [f"{config}  # {count}" for config, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
            if count >= pack.least]
    output.write_text("\n".join(head + body + pack.casts) + "\n")
    print(f"{output}: {len(body)} of {len(counts)} configs of {sum(counts.values())} problems, {len(pack.casts)} casts")


if __name__ == "__main__":
    main()
