#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Results of bench/dense_torch.py and bench/grouped_torch.py as Markdown: peers' times over ours, class by class, and
where contenders ran alone, the joules of a peer's call over ours.

  bench/peers_report.py RESULT.json [--at-most RATIO]     a ratio above RATIO is listed and left out of the means

Classes are of rows of A, for groups of rows a group on average. Ours is what `auto` chose; of several layouts of a peer
the faster counts. hpc-ops did not run: its times are the table's, of another day. Needs no GPU.
"""
import argparse
import json
import math
import sys

DENSE = ((1, 32), (33, 128), (129, 512), (513, 2048), (2049, math.inf))
GROUPED = ((1, 32), (33, 512), (513, math.inf))


def fastest(case, recipe, starts):
    """The fastest contender's entry; empty where none ran."""
    return min((e for e in case["contenders"] if e["recipe"] == recipe and e["name"].startswith(starts) and "us" in e),
               key=lambda e: e["us"], default={})


def time_of(case, recipe, starts):
    return fastest(case, recipe, starts).get("us")


def ratios_of(case):
    """{column: ratio, above 1 where ours is faster}."""
    grouped = "groups" in case
    ratios = {}
    for recipe in ("block", "tensor", "bf16"):
        ours = {"": time_of(case, recipe, "auto " + recipe)}
        if grouped:
            ours.update({" " + pdl: time_of(case, recipe, f"auto{pdl} {recipe}") for pdl in ("+pdl", "-pdl")})
        for peer in ("DeepGEMM", "torch"):
            theirs = time_of(case, "row-column" if grouped and peer == "torch" else recipe, peer)
            ratios.update({f"{peer}, {recipe}{how}": theirs / us for how, us in ours.items() if theirs and us})
            joules = [fastest(case, recipe, starts).get("joules") for starts in (peer, "auto " + recipe)]
            if all(joules):
                ratios[f"{peer}, {recipe}, joules"] = joules[0] / joules[1]
    ours = time_of(case, "block", "auto block")
    if grouped and ours:
        table = [us for peer, us in case.get("peers_us", {}).items() if peer.startswith("hpcops")]
        ratios.update({"table's hpc-ops, better recipe": min(table) / ours} if table else {})
        ratios.update({"of roof": case["roof_us"] / ours} if case.get("roof_us") else {})
    return ratios


def name_of(case):
    if "groups" in case:
        return f"{case['groups']} groups, {case['rows']} rows, {case['n']} x {case['k']}"
    return f"{case['m']} x {case['n']} x {case['k']}"


def size_of(case):
    return case["rows"] / case["groups"] if "groups" in case else case["m"]


def cells(values):
    if not values:
        return "-"
    mean = math.exp(sum(map(math.log, values)) / len(values))
    return f"{mean:.2f} ({min(values):.2f} to {max(values):.2f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result")
    parser.add_argument("--at-most", type=float, default=math.inf, metavar="RATIO")
    options = parser.parse_args()
    with open(options.result, encoding="utf-8") as file:
        result = json.load(file)
    cases = [(case, ratios_of(case)) for case in result["cases"]]
    columns = list(dict.fromkeys(column for _, ratios in cases for column in ratios))
    print(f"`{result['command']}`, {result['date'][:10]}, {result.get('deepgemm', 'without DeepGEMM')}\n")
    print("\n".join(["| case | " + " | ".join(columns) + " |", "|---|" + "---|" * len(columns)]))
    for case, ratios in cases:
        print(f"| {name_of(case)} | " + " | ".join(f"{ratios[c]:.2f}" if c in ratios else "-" for c in columns) + " |")
    print("\n".join(["", "| rows | cases | " + " | ".join(columns) + " |", "|---|---|" + "---|" * len(columns)]))
    for low, high in GROUPED if "groups" in result["cases"][0] else DENSE:
        part = [ratios for case, ratios in cases if low <= math.ceil(size_of(case)) <= high]
        means = [cells([r[c] for r in part if c in r and r[c] <= options.at_most]) for c in columns]
        print(f"| {low} to {high} | {len(part)} | " + " | ".join(means) + " |")
    for case, ratios in cases:
        for column, ratio in ratios.items():
            if ratio > options.at_most:
                print(f"\nleft out: {name_of(case)}, {column}, {ratio:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
