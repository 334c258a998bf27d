# SPDX-License-Identifier: Apache-2.0
"""What bench/compare_builds.py concludes from its times: the ratio of two builds for each case, the noise of the base
against its own copy, means by class, and the cases that are slower. Uses the standard library alone."""
import math
import statistics
from typing import Any, Dict, List

SLOWER = 1.03  # of a case, beyond its noise
MEAN = 1.01    # of a class
Row = Dict[str, Any]


def geometric_mean(values: List[float]) -> float:
    return math.exp(statistics.fmean(math.log(value) for value in values))


def row_of(base: List[float], again: List[float], head: List[float]) -> Row:
    """Microseconds of the base, its copy and the head, by round. Ratios are taken in each round, because the clock moves
    between rounds and hardly within one; `noise` is the copy's ratio, at least 1 whichever of the two was slower."""
    both = [math.sqrt(one * other) for one, other in zip(base, again)]
    copy = statistics.median(other / one for one, other in zip(base, again))
    return {"base_us": statistics.median(base), "again_us": statistics.median(again),
            "head_us": statistics.median(head), "rounds": len(head), "copy_ratio": copy, "noise": max(copy, 1 / copy),
            "ratio": statistics.median(new / old for old, new in zip(both, head))}


def slower(row: Row) -> bool:
    return "ratio" in row and bool(row["ratio"] > SLOWER * row["noise"])


def summary(rows: List[Row]) -> Dict[str, Any]:
    """`rows`: of row_of, with `name`, `class`, and `second` where the case was measured twice. A case is slower if every
    measurement of it says so."""
    timed = [row for row in rows if "ratio" in row]
    classes: Dict[str, Any] = {}
    for kind in [*dict.fromkeys(row["class"] for row in timed), *(["all"] if timed else [])]:
        own = [row for row in timed if kind in (row["class"], "all")]
        classes[kind] = {"cases": len(own), "mean": geometric_mean([row["ratio"] for row in own]),
                         "mean_of_copy": geometric_mean([row["copy_ratio"] for row in own]),
                         "largest": max(row["ratio"] for row in own), "least": min(row["ratio"] for row in own),
                         "largest_noise": max(row["noise"] for row in own)}
        if energies := [energy_ratio(row) for row in own if "joules" in row]:
            classes[kind]["mean_of_joules"] = geometric_mean(energies)
    return {"classes": classes,
            "slower": [row["name"] for row in timed if slower(row) and slower(row.get("second", row))],
            "slower_once": [row["name"] for row in timed if slower(row) and not slower(row.get("second", row))],
            "failed": [f"{row['name']}: {row['error']}" for row in rows if "error" in row]}


def faults(found: Dict[str, Any]) -> List[str]:
    """Why the head is not as fast as the base: empty if it is."""
    lines = [f"{name}: more than {SLOWER - 1:.0%} slower beyond the noise" for name in found["slower"]]
    lines += [f"class {kind}: geometric mean {c['mean']:.4f}, at most {MEAN}" for kind, c in found["classes"].items()
              if c["mean"] > MEAN]
    if not found["classes"]:
        lines.append("no case was timed")
    if found.get("skipped"):
        lines.append(f"{found['skipped']} cases were not timed, because the time was over")
    return lines + list(found["failed"])


def line_of(row: Row) -> str:
    if "ratio" not in row:
        return f"{row['name']:<46} {row['error']}"
    return (f"{row['name']:<46}{row['base_us']:>10.2f}{row['again_us']:>10.2f}{row['head_us']:>10.2f}"
            f"{row['ratio']:>9.4f}{row['copy_ratio']:>9.4f}{joules_of(row)}  {'slower ' if slower(row) else ''}"
            f"{row.get('error', '')}")


def energy_ratio(row: Row) -> float:
    """Joules of a call by the head over those by the base and its copy."""
    return float(row["joules"]["head"] / math.sqrt(row["joules"]["base"] * row["joules"]["again"]))


def joules_of(row: Row) -> str:
    """The energy of a call by the base and the head, and their ratio."""
    if "joules" not in row:
        return ""
    return f"  {row['joules']['base']:.4f} J {row['joules']['head']:.4f} J {energy_ratio(row):.4f}"


def table_of(found: Dict[str, Any]) -> List[str]:
    """The classes, one a line."""
    lines = [f"{'class':<26}{'cases':>6}{'mean':>9}{'copy':>9}{'least':>9}{'largest':>9}{'noise':>9}{'joules':>9}"]
    for kind, c in found["classes"].items():
        lines.append(f"{kind:<26}{c['cases']:>6}{c['mean']:>9.4f}{c['mean_of_copy']:>9.4f}{c['least']:>9.4f}"
                     f"{c['largest']:>9.4f}{c['largest_noise']:>9.4f}" +
                     (f"{c['mean_of_joules']:>9.4f}" if "mean_of_joules" in c else ""))
    return lines
