#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Results of bench/dense_torch.py and bench/grouped_torch.py as Markdown: peers' times over ours, class by class, and
where contenders ran alone, the joules of a peer's call over ours.

  bench/peers_report.py RESULT.json [--at-most RATIO]     a ratio above RATIO is listed and left out of the means

Classes are of rows of A, for groups of rows a group on average. Ours is what `auto` chose or, where `auto` did not run,
the fastest of our contenders, which the column says. Of several layouts of a peer the faster counts. hpc-ops did not
run: its times are the table's, of another day. Needs no GPU.
"""
import argparse
import json
import math
import sys

DENSE = ((1, 32), (33, 128), (129, 512), (513, 2048), (2049, math.inf))
GROUPED = ((1, 32), (33, 512), (513, math.inf))
PEERS = ("DeepGEMM", "torch", "humming")


def fastest(case, recipe, is_one):
    """The entry of the fastest contender whose name `is_one` accepts; empty where none ran."""
    return min((e for e in case["contenders"] if e["recipe"] == recipe and is_one(e["name"]) and "us" in e),
               key=lambda e: e["us"], default={})


def begins(*starts):
    return lambda name: name.startswith(starts)


def ours_of(case, recipe):
    """{what a column adds to the peer's name: our entry}."""
    found = {how: fastest(case, recipe, begins(f"auto{pdl} {recipe}"))
             for how, pdl in (("", ""), (" +pdl", "+pdl"), (" -pdl", "-pdl"))}
    if not any(found.values()):
        found = {", best of ours": fastest(case, recipe, lambda name: not name.startswith(PEERS))}
    return {how: entry for how, entry in found.items() if entry}


def ratios_of(case):
    """{column: ratio, above 1 where ours is faster}."""
    grouped = "groups" in case
    ratios = {}
    for recipe in ("block", "tensor", "bf16"):
        for peer in PEERS:
            by_row = grouped and peer == "torch" and recipe != "bf16"
            theirs = fastest(case, "row-column" if by_row else recipe, begins(peer))
            for how, ours in ours_of(case, recipe).items() if theirs else ():
                ratios[f"{peer}, {recipe}{how}"] = theirs["us"] / ours["us"]
                if "joules" in theirs and "joules" in ours:
                    ratios[f"{peer}, {recipe}{how}, joules"] = theirs["joules"] / ours["joules"]
    if grouped:
        for how, ours in ours_of(case, "block").items():
            if how.endswith("pdl"):
                continue
            table = [us for peer, us in case.get("peers_us", {}).items() if peer.startswith("hpcops")]
            ratios.update({f"table's hpc-ops, better recipe{how}": min(table) / ours["us"]} if table else {})
            ratios.update({f"of roof{how}": case["roof_us"] / ours["us"]} if case.get("roof_us") else {})
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
