# SPDX-License-Identifier: Apache-2.0
"""Our dense GEMM, cuBLASLt as torch calls it and, on request, DeepGEMM in one loop on one GPU, by the method of
bench/README.md.

    python3 bench/dense_torch.py --library BUILD/lib/libwarpwright.so --deepgemm --result out.json

For each case: operands from N(0,1) in rotating sets of at least 240 MB; one CUDA graph of many calls per contender;
every contender checked against FP64 at sampled rows; a second of load; then rounds of replays of all recipes, each in
another random order, medians. From --alone-flops on each contender runs alone in random order, twice, and NVML's energy
counter tells the joules of a call (bench/alone.py). The library works on torch's own memory, stream and context.

On an emulated device the same runs without graphs and peers, to test this program: its times mean nothing.
"""
import argparse
import dataclasses
import json
import math
import pathlib
import sys
import time
from typing import Any, Callable, Dict, List, Tuple

import torch

import alone
import deepgemm
import humming_peer
from library import HEADER, SCALES, Library
from loop import (ROTATION_BYTES, Contender, add_options, attempt, entry_of, excess, normal, number, race_all,
                  record_of, round_up, run_cases, scales, synchronize, variant_of)

RECIPES = ("block", "tensor", "bf16")
PEERS = ("torch", "DeepGEMM", "humming")


@dataclasses.dataclass(frozen=True)
class Case:
    m: int
    n: int
    k: int
    roof_us: float

    @property
    def name(self) -> str:
        return f"{self.m}x{self.n}x{self.k}"

    def problem(self, recipe: str) -> Any:
        dtype = "WW_BF16" if recipe == "bf16" else "WW_E4M3"
        p = HEADER.make("ww_gemm_problem", m=self.m, n=self.n, k=self.k, a_type=dtype, b_type=dtype, d_type="WW_BF16",
                        scale=SCALES["none" if recipe == "bf16" else recipe])
        if recipe == "block":  # A's scales M-major, as bench gemm has them; B's packed
            p.scale_a_row, p.scale_a_k = 1, round_up(self.m, 4)
            p.scale_b_n, p.scale_b_k = -(-self.k // 128), 1
        return p


@dataclasses.dataclass
class Operands:
    """What one call reads and writes, for every recipe."""
    a: torch.Tensor                           # (M, K) e4m3
    b: torch.Tensor                           # (N, K) e4m3
    wide: Tuple[torch.Tensor, torch.Tensor]   # the same in bf16
    d: torch.Tensor                           # (M, N) bf16
    block: Tuple[torch.Tensor, torch.Tensor]  # (M, K/128) with M contiguous, (ceil(N/128), ceil(K/128))
    tensor: Tuple[torch.Tensor, torch.Tensor]  # (1), (1)


def make_sets(case: Case, seed: int, device: str = "cuda") -> List[Operands]:
    generator = torch.Generator(device=device).manual_seed(seed)
    size = case.m * case.k + case.n * case.k + 2 * case.m * case.n
    sets = []
    for _ in range(min(256, max(2, -(-ROTATION_BYTES // size)))):
        a, b = normal((case.m, case.k), generator), normal((case.n, case.k), generator)
        scale_a = deepgemm.block_scales(case.m, case.k, device=device)
        scale_a.copy_(scales((case.m, -(-case.k // 128)), generator))
        sets.append(Operands(
            a, b, (a.to(torch.bfloat16), b.to(torch.bfloat16)),
            torch.empty((case.m, case.n), dtype=torch.bfloat16, device=device),
            (scale_a, scales((-(-case.n // 128), -(-case.k // 128)), generator)),
            (scales((1,), generator), scales((1,), generator))))
    return sets


def ours(library: Library, name: str, recipe: str, plan: Any) -> Contender:
    contender = Contender(name, recipe, lambda o: None, lambda o: o.d)
    if isinstance(plan, str):
        contender.error = plan
        return contender
    launcher = library.launcher(plan)
    contender.config, contender.keep = launcher.config, [launcher]
    contender.enqueue = {
        "block": lambda o: launcher(o.a, o.b, o.d, *o.block), "tensor": lambda o: launcher(o.a, o.b, o.d, *o.tensor),
        "bf16": lambda o: launcher(*o.wide, o.d, None, None)}[recipe]
    return contender


def peers(options: argparse.Namespace) -> List[Contender]:
    calls: List[Tuple[str, str, Callable[[Operands], Any]]] = []
    if not options.no_torch:
        calls += [
            ("torch", "tensor", lambda o: torch._scaled_mm(  # pylint: disable=protected-access
                o.a, o.b.t(), *o.tensor, out_dtype=torch.bfloat16, use_fast_accum=True, out=o.d)),
            ("torch", "bf16", lambda o: torch.mm(o.wide[0], o.wide[1].t(), out=o.d))]
    if options.deepgemm:
        calls += [("DeepGEMM", "block", lambda o: deepgemm.dense_block(o.a, o.b, o.d, *o.block)),
                  ("DeepGEMM", "bf16", lambda o: deepgemm.dense_bf16(*o.wide, o.d))]
    return [Contender(f"{name} {recipe}", recipe, call, lambda o: o.d, config=name)
            for name, recipe, call in calls if recipe in options.recipes]


def reference(case: Case, o: Operands) -> Tuple[torch.Tensor, Dict[str, torch.Tensor]]:
    """A few row numbers (R), and each recipe's FP64 result of them (R, N)."""
    rows = torch.tensor(sorted({i for i in (0, 1, 7, 8, 63, 64, case.m // 2, case.m - 1) if i < case.m}),
                        device=o.a.device)
    a = o.a.view(torch.uint8)[rows].view(torch.float8_e4m3fn).double()   # (R, K)
    plain, block = [], []
    scaled = a * o.block[0][rows].double().repeat_interleave(128, 1)[:, :case.k]
    for at in range(0, case.n, 4096):  # in pieces of FP64
        b = o.b[at:at + 4096].double()   # (n, K)
        plain.append(a @ b.t())
        by = o.block[1][at // 128:(at + 4096) // 128].double().repeat_interleave(128, 0)[:b.shape[0]]
        block.append(scaled @ (b * by.repeat_interleave(128, 1)[:, :case.k]).t())
    product = torch.cat(plain, 1)
    return rows, {"bf16": product, "block": torch.cat(block, 1),
                  "tensor": product * o.tensor[0].double() * o.tensor[1].double()}


def check(contender: Contender, o: Operands, rows: torch.Tensor, expected: torch.Tensor, k: int) -> None:
    o.d.fill_(math.nan)
    contender.enqueue(o)
    synchronize(o.d.device.type)
    contender.max_error = excess(o.d[rows], expected, k)
    if not (contender.max_error < 0.1 and bool(torch.isfinite(o.d).all())):
        raise RuntimeError(f"wrong result: error {contender.max_error:.3g} of the products' spread, at most 0.1")


def peer_of(entry: Dict[str, Any]) -> str:
    """The peer whose entry this is; "" for ours."""
    return next((peer for peer in PEERS if entry["name"].startswith(peer)), "")


def run_case(library: Library, case: Case, plans: List[Tuple[str, str, Any]],
             options: argparse.Namespace) -> Dict[str, Any]:
    contenders = [ours(library, name, recipe, plan) for name, recipe, plan in plans] + peers(options)
    sets, flops = make_sets(case, options.seed, library.memory), 2.0 * case.m * case.n * case.k
    if options.humming and "block" in options.recipes:
        contenders.append(humming_peer.contender(sets, None, options.humming == "search"))
    rows, expected = reference(case, sets[0])
    for c in contenders:
        attempt(c, lambda: check(c, sets[0], rows, expected[c.recipe], case.k))  # pylint: disable=cell-var-from-loop
    clocks = race_all(contenders, sets, options, flops, library.memory)
    entries = [entry_of(c, flops, case.roof_us) for c in contenders]
    result: Dict[str, Any] = {"m": case.m, "n": case.n, "k": case.k, "roof_us": case.roof_us, "buffer_sets": len(sets),
                              "alone": any(c.turns for c in contenders), "contenders": entries}
    if len(clocks) == 2:
        result.update(sm_mhz=float(clocks[0]), watts=float(clocks[1]))
    best = {(e["recipe"], peer_of(e)): e["us"]
            for e in sorted(entries, key=lambda e: -e.get("us", math.inf)) if "us" in e}
    for recipe in RECIPES:
        for peer in PEERS:
            if (recipe, "") in best and (recipe, peer) in best:
                result[f"{peer.lower()}_over_{recipe}"] = best[recipe, peer] / best[recipe, ""]
    return result


def row(case: Case, result: Dict[str, Any]) -> str:
    line = f"{case.name:<22}"
    for recipe in RECIPES:
        times = [f"{e['name'].removesuffix(' ' + recipe)} {number(e.get('us'))}" for e in result["contenders"]
                 if e["recipe"] == recipe]
        ratios = [f"{result[key]:.2f} of {key.split('_')[0]}" for key in sorted(result)
                  if key.endswith("_over_" + recipe)]
        line += f"  {recipe}: {', '.join(times)} ({', '.join(ratios)})" if times else ""
    return line


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    humming_peer.add_options(parser)
    parser.add_argument("--cases", default=str(pathlib.Path(__file__).with_name("cases") / "h200_shapes.json"))
    parser.add_argument("--recipes", default=",".join(RECIPES))
    parser.add_argument("--variants", default="auto",
                        help="'auto;key=value,...', each for every recipe; +pdl, -pdl: launches overlap, or never do")
    options = parser.parse_args()
    options.recipes = options.recipes.split(",")
    if not set(options.recipes) <= set(RECIPES):
        parser.error(f"--recipes: {','.join(options.recipes)}; expected some of {', '.join(RECIPES)}")
    return options


def main() -> int:
    options = parse_options()
    start = time.monotonic()
    library = Library.on(options.library, options.device)
    options.no_torch |= library.memory == "cpu"
    cases = [Case(e["m"], e["n"], e["k"], e.get("roof_us", 0.0))
             for e in json.loads(pathlib.Path(options.cases).read_text())["cases"] if e.get("op") == "dense"]
    cases = [case for case in cases if options.cases_matching in case.name]
    if not cases:
        print(f"no case matches {options.cases_matching!r}", file=sys.stderr)
        return 2
    record = record_of(library, (__doc__ or "").split("\n\n")[2], options)
    variants = options.variants.split(";")
    jobs = [(case, recipe, variant) for case in cases for recipe in options.recipes for variant in variants]
    configs = [variant_of(variant) for _, _, variant in jobs]
    handles = library.compile([(case.problem(recipe), "" if config == "auto" else config, pdl)
                              for (case, recipe, _), (config, pdl) in zip(jobs, configs)], options.compile_threads)
    if options.humming:
        record["humming"] = humming_peer.version()
    if options.deepgemm:
        deepgemm.prepare(record, [(recipe, 0, case.m, case.n, case.k, 0) for case in cases
                                  for recipe in options.recipes if recipe != "tensor"], options.compile_threads)
    record["compile_seconds"] = time.monotonic() - start
    print(f"{record['device']}, torch {torch.__version__}; plans in {record['compile_seconds']:.0f} s", flush=True)

    def run(_: int, case: Case) -> Dict[str, Any]:
        plans = [(f"{variant} {recipe}", recipe, handle) for (other, recipe, variant), handle in zip(jobs, handles)
                 if other == case]
        return run_case(library, case, plans, options)

    def lines(case: Case, result: Dict[str, Any]) -> List[str]:
        return [row(case, result)] + (alone.lines_of(result["contenders"]) if result.get("alone") else [])

    return 1 if run_cases(cases, record, options, start, run, lines) else 0


if __name__ == "__main__":
    sys.exit(main())
