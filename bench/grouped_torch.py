# SPDX-License-Identifier: Apache-2.0
"""Our grouped GEMM, torch._scaled_grouped_mm and, on request, DeepGEMM in one loop on one GPU, by the method of
bench/README.md.

    python3 bench/grouped_torch.py --library BUILD/lib/libwarpwright.so --result out.json

For each case: operands from N(0,1) in rotating sets of at least 240 MB; one CUDA graph of many calls per contender;
every contender checked against FP64 at sampled rows, and the row-wise recipe element by element against torch's result;
a second of load; then rounds of replays, each in another random order, medians. From --alone-flops on each contender
runs alone in random order, twice, and NVML's energy counter tells the joules of a call (bench/alone.py). The library
works on torch's own memory, stream and context.

On an emulated device the same runs without graphs and peers, to test this program: its times mean nothing.
"""
import argparse
import dataclasses
import json
import math
import pathlib
import sys
import time
from typing import Any, Dict, List, Optional, Tuple

import torch

import alone
import deepgemm
import humming_peer
from library import HEADER, SCALES, Library, Launcher
from loop import (ROTATION_BYTES, Contender, add_options, attempt, entry_of, excess, normal, number, race_all,
                  record_of, round_up, run_cases, scales, synchronize, variant_of)


# What --variants may call by name; anything with a "=" is a config. The tiles beside 192x128 and the pieces of K are
# those that few or uneven tiles may want.
VARIANTS = {
    "auto": "", "contiguous": "variant=contiguous", "descriptors": "variant=descriptors",
    "ragged": "variant=ragged", "masked": "variant=masked",
    "split-k": "variant=ragged,tile_scheduler=split-k,split=2", "split-k4": "variant=ragged,tile_scheduler=split-k,split=4",
    "split-k4-wide": "variant=ragged,tile_scheduler=split-k,split=4,tile=64x256x0",
    "pair": "variant=ragged,tile=32x128x0,consumer_warpgroups=1,occupancy=2",
    "narrow": "variant=ragged,tile=64x64x0", "narrow-wide": "variant=ragged,tile=128x64x0",
    "192x128": "variant=contiguous,tile=192x128x0", "256x128": "variant=contiguous,tile=256x128x0",
    "128x128": "variant=contiguous,tile=128x128x0,cluster=2x1", "128x128x1": "variant=contiguous,tile=128x128x0",
}


RECIPES = ("row-column", "block", "tensor", "bf16")


@dataclasses.dataclass(frozen=True)
class Variant:
    """One way to run every case: a config of ours, and whether launches overlap."""
    name: str
    config: str
    pdl: int

    @property
    def kernel(self) -> str:
        fields = dict(item.split("=", 1) for item in self.config.split(",") if "=" in item)
        return fields.get("variant", "auto")


def variants_of(options: argparse.Namespace) -> List[Variant]:
    names = options.variants.split(";") if options.variants else options.kernels.split(",")
    variants = []
    for name in names:
        base, pdl = variant_of(name.strip())
        if "=" not in base and base not in VARIANTS:
            raise SystemExit(f"--variants: {name!r}; expected configs (key=value,...) or some of "
                             f"{', '.join(VARIANTS)}, each with +pdl, -pdl or without")
        config = ",".join(part for part in (options.config, VARIANTS.get(base, base)) if part)
        variants.append(Variant(name.strip(), config, pdl))
    return variants


@dataclasses.dataclass
class Operands:
    """What one call reads and writes. Scales of every recipe are there; a contender takes those of its own."""
    a: torch.Tensor                    # (M, K) e4m3
    b: torch.Tensor                    # (G, N, K) e4m3
    d: torch.Tensor                    # (M, N) bf16
    row: Tuple[torch.Tensor, torch.Tensor]     # (M), (G, N)
    block: Tuple[torch.Tensor, torch.Tensor]   # (ceil(K/128), round_up(M, 4)), (G, ceil(N/128), ceil(K/128))
    tensor: Tuple[torch.Tensor, torch.Tensor]  # (1), (1)
    masked_a: Optional[torch.Tensor] = None    # (G, Mmax, K)
    masked_d: Optional[torch.Tensor] = None    # (G, Mmax, N)
    masked_row: Optional[torch.Tensor] = None  # (G, Mmax)
    masked_block: Optional[torch.Tensor] = None  # (ceil(K/128), round_up(G Mmax, 4))
    wide: Optional[Tuple[torch.Tensor, torch.Tensor]] = None  # a and b in bf16
    masked_wide: Optional[torch.Tensor] = None  # masked_a in bf16
    padded: Dict[str, deepgemm.Padded] = dataclasses.field(default_factory=dict)


class Case:
    """A grouped case of the file: sizes, and our problem for a recipe."""

    def __init__(self, entry: Dict[str, Any]) -> None:
        self.entry = entry
        self.counts: List[int] = entry["tokens_per_group"]
        self.groups, self.n, self.k = entry["groups"], entry["n"], entry["k"]
        self.m, self.most = sum(self.counts), max(self.counts)
        self.blocks_k, self.blocks_n = -(-self.k // 128), -(-self.n // 128)
        self.name = f"{entry.get('regime', '')} G={self.groups} M={self.m} N={self.n} K={self.k}"

    def set_bytes(self) -> int:
        return self.m * self.k + self.groups * self.n * self.k + 2 * self.m * self.n

    def deepgemm_layouts(self) -> List[str]:
        return ["contiguous", "masked"] if self.entry.get("regime") == "decode" else ["contiguous"]

    def deepgemm_job(self, layout: str) -> Tuple[str, int, int, int, int, int]:
        rows = deepgemm.places(self.counts, layout == "masked")[1].numel()
        return (layout, self.groups, rows // self.groups if layout == "masked" else rows, self.n, self.k,
                -(-self.m // self.groups))

    def masked_rows(self) -> int:
        return self.groups * self.most

    def has_masked(self) -> bool:
        return self.entry.get("regime") == "decode" and self.masked_rows() <= 4 * self.m

    def problem(self, recipe: str, masked: bool) -> Any:
        dtype = "WW_BF16" if recipe == "bf16" else "WW_E4M3"
        p = HEADER.make("ww_grouped_problem", groups=self.groups, rows=self.most if masked else self.m, n=self.n,
                        k=self.k, a_type=dtype, b_type=dtype, d_type="WW_BF16",
                        scale=SCALES["none" if recipe == "bf16" else recipe],
                        encoding="WW_MASKED" if masked else "WW_OFFSETS")
        if recipe == "block":  # A's scales M-major, as bench gemm has them; B's packed
            rows = self.masked_rows() if masked else self.m
            p.scale_a_row, p.scale_a_k = 1, round_up(rows, 4)
            p.scale_b_n, p.scale_b_k, p.scale_b_group = self.blocks_k, 1, self.blocks_n * self.blocks_k
        return p


def make_sets(case: Case, masked: bool, layouts: List[str], seed: int, device: str = "cuda",
              wide: bool = False) -> List[Operands]:
    """`layouts`: of DeepGEMM; `wide`: operands in bf16 as well."""
    generator = torch.Generator(device=device).manual_seed(seed)
    sets = []
    for _ in range(min(256, max(2, -(-ROTATION_BYTES // case.set_bytes())))):
        operands = Operands(
            a=normal((case.m, case.k), generator), b=normal((case.groups, case.n, case.k), generator),
            d=torch.empty((case.m, case.n), dtype=torch.bfloat16, device=device),
            row=(scales((case.m,), generator), scales((case.groups, case.n), generator)),
            block=(scales((case.blocks_k, round_up(case.m, 4)), generator),
                   scales((case.groups, case.blocks_n, case.blocks_k), generator)),
            tensor=(scales((1,), generator), scales((1,), generator)))
        if wide:
            operands.wide = (operands.a.to(torch.bfloat16), operands.b.to(torch.bfloat16))
        if masked:
            add_masked(case, operands)
        for layout in layouts:
            operands.padded[layout] = deepgemm.padded(operands.a, case.n, operands.block[0], case.counts,
                                                        layout == "masked")
        sets.append(operands)
    return sets


def add_masked(case: Case, operands: Operands) -> None:
    """The same rows, one (Mmax, K) block for each group; NaN below the rows used."""
    rows = case.masked_rows()
    nan = torch.full((rows, case.k), 0x7f, dtype=torch.uint8, device=operands.a.device).view(torch.float8_e4m3fn)
    where = masked_positions(case, operands.a.device)
    nan.view(torch.uint8)[where] = operands.a.view(torch.uint8)
    operands.masked_a = nan
    if operands.wide is not None:
        operands.masked_wide = nan.to(torch.bfloat16)
    operands.masked_d = torch.empty((rows, case.n), dtype=torch.bfloat16, device=operands.a.device)
    operands.masked_row = torch.full((rows,), math.nan, device=operands.a.device)
    operands.masked_row[where] = operands.row[0]
    operands.masked_block = torch.full((case.blocks_k, round_up(rows, 4)), math.nan,
                                       device=operands.a.device)
    operands.masked_block[:, where] = operands.block[0][:, :case.m]


def masked_positions(case: Case, device: torch.device) -> torch.Tensor:
    return torch.cat([torch.arange(count) + g * case.most for g, count in enumerate(case.counts)]).to(device)


def our_contender(library: Library, case: Case, recipe: str, variant: Variant, sizes: torch.Tensor, plan: Any,
                  problem: Any) -> Contender:
    """`plan`: a plan, or the text of its refusal."""
    masked = problem.encoding == HEADER.numbers["WW_MASKED"]
    contender = Contender(f"{variant.name} {recipe}", recipe, lambda o: None,
                          lambda o: o.masked_d[masked_positions(case, o.a.device)] if masked else o.d,
                          variant=variant.kernel)
    if isinstance(plan, str):
        contender.error = plan
        return contender
    launcher = Launcher(library, plan)
    contender.config = launcher.config
    contender.keep = [launcher, problem]

    def enqueue(o: Operands) -> None:
        scale_a, scale_b = {"row-column": o.row, "block": o.block, "tensor": o.tensor, "bf16": (None, None)}[recipe]
        if masked:
            scale_a = {"row-column": o.masked_row, "block": o.masked_block}.get(recipe, scale_a)
        a, b = (o.a, o.b) if recipe != "bf16" else o.wide
        if masked:
            a = o.masked_a if recipe != "bf16" else o.masked_wide
        launcher(a, b, o.masked_d if masked else o.d, scale_a, scale_b, sizes)

    contender.enqueue = enqueue
    return contender


def torch_contender(recipe: str, offs: torch.Tensor) -> Contender:
    """`recipe`: row-column or bf16."""
    last: List[torch.Tensor] = []

    def enqueue(o: Operands) -> torch.Tensor:
        if recipe == "bf16":
            out = torch._grouped_mm(o.wide[0], o.wide[1].transpose(-2, -1), offs=offs, out_dtype=torch.bfloat16)
        else:
            out = torch._scaled_grouped_mm(o.a, o.b.transpose(-2, -1), o.row[0], o.row[1], offs=offs,
                                           out_dtype=torch.bfloat16, use_fast_accum=True)
        last[:] = [out]
        return out

    config = "torch._grouped_mm" if recipe == "bf16" else "torch._scaled_grouped_mm"
    return Contender(f"torch {recipe}", recipe, enqueue, lambda o: last[0], config=config)


def deepgemm_contender(case: Case, layout: str, counts: torch.Tensor) -> Contender:
    expected = -(-case.m // case.groups)
    row_groups = deepgemm.places(case.counts, False)[1]

    def enqueue(o: Operands) -> None:
        p = o.padded[layout]
        if layout == "contiguous":
            deepgemm.contiguous(p.a, o.b, p.d, p.scale_a, o.block[1], row_groups)
        else:
            deepgemm.masked(p.a.view(case.groups, -1, case.k), o.b, p.d.view(case.groups, -1, case.n), p.scale_a,
                            o.block[1], counts, expected)

    return Contender(f"DeepGEMM {layout} block", "block", enqueue,
                     lambda o: o.padded[layout].d[o.padded[layout].where], config="DeepGEMM " + layout,
                     variant="deepgemm")


def reference_rows(case: Case, o: Operands, recipe: str) -> List[Tuple[torch.Tensor, torch.Tensor]]:
    """(row numbers, FP64 result) for a few rows of the first, the largest and the last group that has any."""
    used = [g for g, count in enumerate(case.counts) if count > 0]
    chosen = sorted({used[0], max(used, key=lambda g: case.counts[g]), used[-1]})
    starts = [sum(case.counts[:g]) for g in range(case.groups)]
    answers = []
    for g in chosen:
        count = case.counts[g]
        rows = torch.tensor(sorted({starts[g] + i for i in (0, 1, 7, 8, 63, 64, count // 2, count - 1) if i < count}),
                            device=o.a.device)
        a = o.a.view(torch.uint8)[rows].view(torch.float8_e4m3fn).to(torch.float64)   # (R, K)
        b = o.b[g].to(torch.float64)      # (N, K)
        if recipe == "block":
            a = a * o.block[0].t()[rows].double().repeat_interleave(128, 1)[:, :case.k]
            b = b * o.block[1][g].double().repeat_interleave(128, 0)[:case.n].repeat_interleave(128, 1)[:, :case.k]
        d = a @ b.t()
        if recipe == "row-column":
            d = d * o.row[0][rows].double()[:, None] * o.row[1][g].double()[None, :]
        if recipe == "tensor":
            d = d * o.tensor[0].double() * o.tensor[1].double()
        answers.append((rows, d))
    return answers


def check(case: Case, contender: Contender, o: Operands, torch_result: Optional[torch.Tensor]) -> None:
    for d in (o.d, o.masked_d, *(p.d for p in o.padded.values())):
        if d is not None:
            d.fill_(math.nan)
    contender.enqueue(o)
    synchronize(o.d.device.type)
    result = contender.result(o)
    for rows, expected in reference_rows(case, o, contender.recipe):
        contender.max_error = max(contender.max_error, excess(result[rows], expected, case.k))
    if contender.recipe == "row-column" and torch_result is not None:
        for at in range(0, case.m, 4096):  # every element; in pieces of FP64
            piece = slice(at, at + 4096)
            contender.max_error = max(contender.max_error, excess(result[piece], torch_result[piece], case.k))
    if not contender.max_error < 0.1:
        raise RuntimeError(f"wrong result: error {contender.max_error:.3g} of the products' spread, at most 0.1")


def run_case(library: Library, case: Case, plans: Dict[Any, Any], options: argparse.Namespace) -> Dict[str, Any]:
    offs = torch.tensor(case.counts, dtype=torch.int32).cumsum(0, dtype=torch.int32).to(library.memory)
    counts = torch.tensor(case.counts, dtype=torch.int32).to(library.memory)
    wide = "bf16" in options.recipes
    contenders = [] if options.no_torch else [torch_contender(recipe, offs)
                                              for recipe in ("row-column", *(["bf16"] if wide else []))]
    for (recipe, variant), (plan, problem) in plans.items():
        contenders.append(our_contender(library, case, recipe, variant,
                                        counts if variant.kernel == "masked" else offs, plan, problem))
    layouts = case.deepgemm_layouts() if options.deepgemm else []
    contenders += [deepgemm_contender(case, layout, counts) for layout in layouts]
    masked = any(c.variant == "masked" and c.error is None for c in contenders)
    sets = make_sets(case, masked, layouts, options.seed, library.memory, wide)
    if options.humming and "block" in options.recipes:
        contenders.append(humming_peer.contender(sets, case.counts, options.humming == "search"))
    torch_result = None
    for contender in contenders:
        attempt(contender, lambda: check(case, contender, sets[0], torch_result))  # pylint: disable=cell-var-from-loop
        if contender.name == "torch row-column" and contender.error is None:
            torch_result = contender.result(sets[0]).clone()
    clocks = race_all(contenders, sets, options, 2.0 * case.m * case.n * case.k, library.memory)
    for contender in contenders:
        if contender.error is None and "variant=ragged" in contender.config:
            contender.widths = contender.keep[0].widths()
    return summary(case, contenders, clocks, len(sets))


def summary(case: Case, contenders: List[Contender], clocks: List[str], sets: int) -> Dict[str, Any]:
    flops = 2.0 * case.m * case.n * case.k
    entries = [entry_of(c, flops, case.entry.get("roof_us")) for c in contenders]
    keys = ("regime", "groups", "n", "k", "roof_us", "peers_us", "tokens_per_group")
    result = {key: case.entry[key] for key in keys if key in case.entry}
    result.update(rows=case.m, buffer_sets=sets, alone=any(c.turns for c in contenders), contenders=entries)
    if len(clocks) == 2:
        result.update(sm_mhz=float(clocks[0]), watts=float(clocks[1]))
    theirs = next((e["us"] for e in entries if e["name"] == "torch row-column" and "us" in e), None)
    for recipe in RECIPES:
        ours = min((e for e in entries if e["recipe"] == recipe and "us" in e and
                    not e["name"].startswith(("torch", "DeepGEMM", "humming"))),
                   key=lambda e: e["us"], default=None)
        if ours is not None:
            result["best_" + recipe] = {"name": ours["name"], "us": ours["us"]}
            of_torch = theirs if recipe != "bf16" else next(
                (e["us"] for e in entries if e["name"] == "torch bf16" and "us" in e), None)
            if of_torch:
                result["torch_over_" + recipe] = of_torch / ours["us"]
    if theirs:
        result["torch_us"] = theirs
    peer = min((e["us"] for e in entries if e["name"].startswith("DeepGEMM") and "us" in e), default=None)
    if peer and "best_block" in result:
        result.update(deepgemm_us=peer, deepgemm_over_block=peer / result["best_block"]["us"])
    return result


TITLES = (f"{'case':<42}{'rowcol':>9}{'block':>9}{'tensor':>9}{'torch':>9}{'torch/rc':>9}{'of roof':>8} | table: "
          f"{'torch':>8}{'hpc 1':>8}{'hpc blk':>8}{'deepgemm':>9}   best of ours")


def table_row(name: str, result: Dict[str, Any]) -> str:
    peers = result.get("peers_us", {})
    deepgemm = next((us for peer, us in peers.items() if peer.startswith("deepgemm")), None)
    best = {r: result.get("best_" + r, {}) for r in ("row-column", "block", "tensor")}
    fastest = min((b for b in best.values() if b), key=lambda b: b["us"], default={})
    roof = result.get("roof_us", 0) / fastest["us"] if fastest else None
    ratio = result.get("torch_over_row-column")
    return (f"{name:<42}" + "".join(f"{number(best[r].get('us')):>9}" for r in best) +
            f"{number(result.get('torch_us')):>9}{number(ratio, 3):>9}{number(roof, 3):>8} "
            f"|        {number(peers.get('torch_scaled_grouped_mm_rowwise')):>8}"
            f"{number(peers.get('hpcops_fp8_per_tensor')):>8}{number(peers.get('hpcops_fp8_1x128_128x128')):>8}"
            f"{number(deepgemm):>9}   " + ", ".join(b["name"] for b in best.values() if b))


def variants_row(result: Dict[str, Any]) -> str:
    """Every contender's time, and the table's best peer of its recipe, scaled by torch, over it."""
    peers, theirs = result.get("peers_us", {}), result.get("torch_us")
    table = peers.get("torch_scaled_grouped_mm_rowwise")
    parts = []
    for entry in (e for e in result["contenders"] if "us" in e):
        kind = {"block": "1x128_128x128", "tensor": "per_tensor"}.get(entry["recipe"])
        best = min((us for peer, us in peers.items() if kind and kind in peer), default=None)
        ratio = f" ({best * theirs / table / entry['us']:.2f})" if best and theirs and table else ""
        if "deepgemm_us" in result and entry["recipe"] == "block":
            ratio += f" [{result['deepgemm_us'] / entry['us']:.2f} of DeepGEMM]"
        parts.append(f"{entry['name']} {entry['us']:.1f}{ratio}")
    return "    " + "   ".join(parts)


def compile_plans(library: Library, cases: List[Case], options: argparse.Namespace) -> Dict[int, Dict[Any, Any]]:
    """Every plan of every case."""
    jobs = []
    for index, case in enumerate(cases):
        for recipe in options.recipes:
            for variant in variants_of(options):
                masked = variant.kernel == "masked"
                if masked and not case.has_masked():
                    continue
                jobs.append((index, recipe, variant, case.problem(recipe, masked)))

    handles = library.compile([(problem, variant.config, variant.pdl) for _, _, variant, problem in jobs],
                             options.compile_threads)
    plans: Dict[int, Dict[Any, Any]] = {index: {} for index in range(len(cases))}
    for (index, recipe, variant, problem), handle in zip(jobs, handles):
        plans[index][(recipe, variant)] = (handle, problem)
    return plans


def recipes_of(parser: argparse.ArgumentParser, text: str) -> List[str]:
    """The recipes of a list separated by commas; others end the program."""
    recipes = [part for part in text.split(",") if part]
    if not set(recipes) <= set(RECIPES):
        parser.error(f"recipes of groups: {text}; expected some of {', '.join(RECIPES)}")
    return recipes


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    humming_peer.add_options(parser)
    parser.add_argument("--cases", default=str(pathlib.Path(__file__).with_name("cases") / "h200_grouped.json"))
    parser.add_argument("--recipes", default="row-column,block,tensor", help="bf16 as well")
    parser.add_argument("--kernels", default="contiguous,descriptors,ragged,masked", help="auto as well")
    parser.add_argument("--variants", default="",
                        help="instead: 'NAME;NAME+pdl;NAME-pdl;key=value,...': " + ", ".join(VARIANTS))
    parser.add_argument("--config", default="", help="key=value,... of every plan of ours")
    parser.add_argument("--quick", action="store_true", help="every fourth case, half a second each")
    options = parser.parse_args()
    options.recipes = recipes_of(parser, options.recipes)
    if options.quick:
        options.seconds = 0.5
    return options


def main() -> int:
    options = parse_options()
    start = time.monotonic()
    library = Library.on(options.library, options.device)
    options.no_torch |= library.memory == "cpu"
    cases = [Case(entry) for entry in json.loads(pathlib.Path(options.cases).read_text())["cases"]
             if entry.get("op") == "grouped" and "config" not in entry]  # --variants names configs here
    cases = [case for case in cases if options.cases_matching in case.name][::4 if options.quick else 1]
    if not cases:
        print(f"no case matches {options.cases_matching!r}", file=sys.stderr)
        return 2
    record = record_of(library, (__doc__ or "").split("\n\n")[2], options)
    plans = compile_plans(library, cases, options)
    if options.humming:
        record["humming"] = humming_peer.version()
    if options.deepgemm:
        deepgemm.prepare(record, [case.deepgemm_job(layout) for case in cases for layout in case.deepgemm_layouts()],
                         options.compile_threads)
    record["compile_seconds"] = time.monotonic() - start
    print(f"{record['device']}, torch {torch.__version__}; plans in {record['compile_seconds']:.0f} s", flush=True)
    print(TITLES, flush=True)

    def lines(case: Case, result: Dict[str, Any]) -> List[str]:
        return ([table_row(case.name, result)] + ([variants_row(result)] if options.variants else []) +
                (alone.lines_of(result["contenders"]) if result.get("alone") else []))

    failed = run_cases(cases, record, options, start,
                       lambda index, case: run_case(library, case, plans[index], options), lines)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
