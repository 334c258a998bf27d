#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Results of `warpwright bench gemm` as a table and a plot.

  bench/report.py RESULT.json [--plot FILE.svg]     Markdown to stdout; the plot needs matplotlib

For each case: our chosen config and its time, the fastest config that ran, speed against cuBLASLt in the same run and
against the table's DeepGEMM, share of the roof, clock, watts, and the share of the tensor pipes' cycles, at that clock,
in which they multiplied. Losses are not left out.
"""
import argparse
import json
import math
import os
import statistics


FLOP_PER_CLOCK = {"e4m3": 8192, "e5m2": 8192}  # of one SM; 16-bit types: half
SMS = 132


def busy_share(case, us):
    """Cycles that the products take over cycles that passed, at the clock of the samples."""
    if not case.get("sm_mhz"):
        return None
    flop = 2 * case["m"] * case["n"] * case["k"]
    return flop / (FLOP_PER_CLOCK.get(case.get("dtype"), 4096) * SMS * case["sm_mhz"] * us)


def roof_us(case):
    """The least time: products at 1500 TFLOP/s (FP8) or 750, bytes moved once at 4.3 TB/s."""
    fp8 = case.get("dtype") in FLOP_PER_CLOCK
    m, n, k = case["m"], case["n"], case["k"]
    moved = (m * k + n * k) * (1 if fp8 else 2) + 2 * m * n
    return max(2 * m * n * k / (1500e6 if fp8 else 750e6), moved / 4.3e6)


def name_of(case):
    return f"{case['m']} x {case['n']} x {case['k']}"


def short(config):
    """What tells one config from another: tile, cluster, and what is not the default."""
    fields = dict(field.split("=", 1) for field in config.split(",") if "=" in field)
    text = fields.get("tile", "?").rsplit("x", 1)[0]
    if fields.get("cluster", "1x1") != "1x1":
        text += " c" + fields["cluster"]
    usual = {"schedule": "cooperative", "tile_scheduler": "static", "split": "0", "partial_accumulators": "0"}
    for key, value in usual.items():
        if fields.get(key, value) not in (value, "auto") and (key, fields[key]) != ("partial_accumulators", "2"):
            text += " " + (fields[key] if key in ("schedule", "tile_scheduler") else f"{key} {fields[key]}")
    return text


def ours_of(case):
    """Our contenders that ran, the chosen one first."""
    return [c for c in case["contenders"] if "config" in c and c.get("us")]


def peer_of(case, names):
    times = [c["us"] for c in case["contenders"] if c["name"] in names and c.get("us")]
    return min(times) if times else None


def geometric_mean(values):
    values = [v for v in values if v]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def rows_of(result):
    rows = []
    for case in result["cases"]:
        ours = ours_of(case)
        if not ours:
            continue
        chosen, best = ours[0], min(ours, key=lambda c: c["us"])
        peer = peer_of(case, {"cublaslt_fp8_per_tensor", "cublaslt_bf16"})
        same = peer_of(case, {"cublaslt_fp8_1x128_128x128"}) if case.get("scale") == "block" else None
        # The estimated time of the table's DeepGEMM on this machine, scaled by cuBLASLt, which ran on both occasions.
        table = case.get("vs_table_deepgemm")
        scale = best["us"] / chosen["us"]
        rows.append({
            "name": name_of(case), "m": case["m"], "config": short(chosen["config"]), "us": chosen["us"],
            "best": short(best["config"]), "best_us": best["us"], "to_best": best["us"] / chosen["us"],
            "cublaslt": peer / chosen["us"] if peer else None,
            "same_recipe": same / chosen["us"] if same else None,
            "deepgemm": table * scale if table else None,
            "roof": roof_us(case) / chosen["us"], "mhz": case.get("sm_mhz"), "watts": case.get("watts"),
            "busy": busy_share(case, chosen["us"]),
        })
    return rows


def number(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


def table(rows, same):
    head = ["m x n x k", "chosen", "us", "best listed", "chosen / best", "vs cuBLASLt"]
    head += ["vs cuBLASLt, same scales", "vs DeepGEMM (table)"] if same else []
    head += ["of roof", "MHz", "W", "tensor busy"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for r in rows:
        cells = [r["name"], r["config"], number(r["us"]), r["best"], number(r["to_best"]), number(r["cublaslt"])]
        cells += [number(r["same_recipe"]), number(r["deepgemm"])] if same else []
        cells += [number(r["roof"]), number(r["mhz"], 0), number(r["watts"], 0), number(r["busy"])]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def classes(rows):
    """Geometric means by rows of A."""
    lines = ["| rows | cases | vs cuBLASLt | vs cuBLASLt, same scales | vs DeepGEMM (table) | of roof |",
             "|---|---|---|---|---|---|"]
    for low, high in ((1, 32), (33, 128), (129, 512), (513, 2048), (2049, 1 << 30), (1, 1 << 30)):
        part = [r for r in rows if low <= r["m"] <= high]
        if part:
            name = f"{low} to {high}" if high < 1 << 30 else f"from {low}" if low > 1 else "all"
            means = [number(geometric_mean(r[key] for r in part))
                     for key in ("cublaslt", "same_recipe", "deepgemm", "roof")]
            lines.append(f"| {name} | {len(part)} | " + " | ".join("-" if m == "nan" else m for m in means) + " |")
    return "\n".join(lines)


def plot(rows, title, path):
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams["svg.hashsalt"] = "warpwright"  # the same file for the same figures
    plt.rcParams["font.size"] = 8
    figure, (speed, roof) = plt.subplots(2, 1, figsize=(10, 5.5), sharex=True)
    at = range(len(rows))
    for key, label, marker in (("cublaslt", "cuBLASLt", "o"), ("same_recipe", "cuBLASLt, same scales", "s"),
                               ("deepgemm", "DeepGEMM (table)", "^")):
        points = [(i, r[key]) for i, r in enumerate(rows) if r[key]]
        if points:
            speed.plot(*zip(*points), marker, markersize=4, label=label)
    speed.axhline(1, color="black", linewidth=0.8)
    speed.axhline(0.9, color="grey", linewidth=0.6, linestyle=":")
    speed.set_ylabel("peer's time / ours")
    speed.legend(loc="upper left", ncol=3)
    speed.set_title(title)
    roof.bar(at, [r["roof"] for r in rows], color="#4878a8")
    roof.set_ylabel("share of the roof")
    roof.set_ylim(0, 1.05)
    roof.set_xticks(list(at), [r["name"] for r in rows], rotation=90)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result")
    parser.add_argument("--plot", metavar="FILE.svg")
    options = parser.parse_args()
    with open(options.result, encoding="utf-8") as file:
        result = json.load(file)
    rows = rows_of(result)
    same = any(r["same_recipe"] for r in rows)
    print(f"`{result['command']}`, {result['date'][:10]}, {result['device']}\n")
    print(table(rows, same) + "\n\n" + classes(rows) + "\n")
    print(f"{len({r['config'] for r in rows})} distinct configs chosen in {len(rows)} cases; "
          f"{sum(r['to_best'] >= 0.9 for r in rows)} choices within 10 % of the best listed, "
          f"geometric mean {number(geometric_mean(r['to_best'] for r in rows), 3)}")
    host = [c["host_us_per_call"] for case in result["cases"] for c in ours_of(case) if "host_us_per_call" in c]
    if host:
        print(f"Host time of a call: {min(host):.1f} us at least, {statistics.median(host):.1f} in the median of "
              f"{len(host)} plans.")
    if options.plot:
        plot(rows, os.path.basename(options.result), options.plot)


if __name__ == "__main__":
    main()
