# SPDX-License-Identifier: Apache-2.0
"""The cases on which bench/deepgemm_surface.py compares this library's DeepGEMM interface with DeepGEMM: the shapes that
DeepGEMM's own tests use on SM90, and those of bench/cases. A case builds its operands on any device of torch's."""
import dataclasses
import json
import pathlib
import random
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import torch

from deepgemm_bound import Rows

CASES = pathlib.Path(__file__).with_name("cases")
ALIGNMENT = 128
FP8, BF16, FP32 = torch.float8_e4m3fn, torch.bfloat16, torch.float32
LIMITS = {FP8: 1e-3, BF16: 1e-5}  # of calc_diff against the product of the bf16 operands before any cast


@dataclasses.dataclass(frozen=True)
class Case:
    """One product. `rows` are the rows of each group, or K of each group of "k-groups"; `most` those of a masked group."""
    kind: str  # "dense", "contiguous", "masked", "k-groups"
    dtype: torch.dtype
    m: int
    n: int
    k: int
    rows: Tuple[int, ...] = ()
    most: int = 0
    psum: bool = False
    a_major: str = "n"  # as in the functions' names: A (M, K) "n" or its transpose "t"; B "t" or its transpose "n"
    b_major: str = "t"
    accumulate: bool = False
    out: torch.dtype = BF16
    source: str = "tests"

    def label(self) -> str:
        short = {FP8: "fp8", BF16: "bf16", FP32: "fp32"}
        groups = f" groups={len(self.rows)} sum={sum(self.rows)}" if self.rows else ""
        marks = "".join(f" {word}" for word, on in (("psum", self.psum), ("accumulate", self.accumulate)) if on)
        return (f"{self.kind} {short[self.dtype]} {self.m}x{self.n}x{self.k}{groups} {self.a_major}{self.b_major} "
                f"-> {short[self.out]}{marks} [{self.source}]")

    def kernel_name(self) -> str:
        """What a caller's profiler looks for."""
        return "bf16_gemm" if self.dtype == BF16 else "gemm_"

    def function(self, by_name: bool = False) -> str:
        """The function of deep_gemm. `by_name`: in bf16 the one whose name has the layouts, beside the one for views; in
        FP8 the newer name of the same."""
        form = self.a_major + self.b_major if by_name else "nt"
        name = "bf16" if self.dtype == BF16 else "fp8_fp4" if by_name else "fp8"
        if self.kind == "dense":
            return f"{name}_gemm_{form}"
        if self.kind == "k-groups":
            return "k_grouped_fp8_gemm_nt_contiguous" if self.dtype == FP8 else "k_grouped_bf16_gemm_tn_contiguous"
        if self.kind == "masked" and not self.psum:
            return f"m_grouped_{name}_gemm_nt_masked"
        return f"m_grouped_{name}_gemm_{form}_contiguous"


@dataclasses.dataclass
class Built:
    """The operands of a case."""
    call: Callable[..., None]  # call(module, d, by_name=False)
    fresh: Callable[[], torch.Tensor]  # D before a call, with C where it accumulates
    reference: Optional[torch.Tensor]  # of D's type, from the operands before casts; None if blank
    valid: Optional[torch.Tensor]  # of the rows of D; None: all
    samples: Callable[[int], List[Rows]]  # rows of the product with what they are made of, for the bound per element
    redraw: Optional[Callable[[int], "Built"]] = None  # a masked case with other counts


def align(value: int, step: int = ALIGNMENT) -> int:
    return -(-value // step) * step


def take(x: torch.Tensor, rows: Any) -> torch.Tensor:
    """Rows of x. FP8 goes as bytes, because not every device of torch's can index it."""
    return x.view(torch.uint8)[rows].view(x.dtype) if x.dtype == FP8 else x[rows]


# Older names of functions, for a DeepGEMM that lacks the newer ones.
_OLDER = {"fp8_fp4_gemm_nt": "fp8_gemm_nt", "m_grouped_fp8_fp4_gemm_nt_contiguous": "m_grouped_fp8_gemm_nt_contiguous",
          "m_grouped_fp8_fp4_gemm_nt_masked": "m_grouped_fp8_gemm_nt_masked",
          "m_grouped_fp8_gemm_nt_masked": "fp8_m_grouped_gemm_nt_masked",
          "m_grouped_bf16_gemm_nt_masked": "bf16_m_grouped_gemm_nt_masked"}


def named(module: Any, name: str) -> Any:
    """A function of a DeepGEMM by its name, or by an older one."""
    while not hasattr(module, name) and name in _OLDER:
        name = _OLDER[name]
    return getattr(module, name)


class _Maker:
    """Makes operands of N(0, 1), or zeros for calls that only compile."""

    def __init__(self, module: Any, device: str, seed: int, blank: bool) -> None:
        self.utils, self.device, self.blank = module.utils, device, blank
        self.generator = torch.Generator(device).manual_seed(seed)

    def normal(self, *shape: int, dtype: torch.dtype = BF16) -> torch.Tensor:
        if self.blank:
            return torch.zeros(shape, dtype=dtype, device=self.device)
        return torch.randn(shape, dtype=dtype, device=self.device, generator=self.generator)

    def int32(self, values: Any) -> torch.Tensor:
        return torch.tensor(list(values), dtype=torch.int32, device=self.device)

    def cast(self, x: torch.Tensor, square: bool) -> Tuple[torch.Tensor, torch.Tensor]:
        """x (.., R, K) in FP8 with scales of 1 x 128 or, `square`, 128 x 128."""
        rows, k = x.shape[-2:]
        shape = (*x.shape[:-2], -(-rows // 128) if square else rows, -(-k // 128))
        data = torch.zeros(x.shape, dtype=FP8, device=self.device)
        scales = torch.ones(shape, device=self.device)
        if not self.blank and x.numel() > 0:
            one = self.utils.per_block_cast_to_fp8 if square else self.utils.per_token_cast_to_fp8
            for matrix, to, to_scales in zip(x.reshape(-1, rows, k), data.view(-1, rows, k),
                                             scales.view(-1, *shape[-2:])):
                made = one(matrix, use_ue8m0=False)
                to.copy_(made[0]), to_scales.copy_(made[1])
        return data, scales


def _product(a: torch.Tensor, b: torch.Tensor, c: Optional[torch.Tensor], out: torch.dtype) -> torch.Tensor:
    """a (M, K) b (N, K)^T + c, summed in float32."""
    made = torch.mm(a, b.t(), out_dtype=FP32) if a.is_cuda else a.float() @ b.float().t()
    return (made if c is None else made + c.float()).to(out)


def _some_groups(count: int) -> List[int]:
    """Four groups of which rows are sampled: the first, the last, and two between them."""
    return sorted({0, count // 3, 2 * count // 3, count - 1})


def _pick(valid: List[int], count: int) -> List[int]:
    """At most `count` of the rows: the first, the last, and some between them."""
    if len(valid) <= count:
        return valid
    between = random.Random(len(valid)).sample(valid[1:-1], count - 2)
    return [valid[0], *sorted(between), valid[-1]]


def build(case: Case, module: Any, device: str, seed: int = 0, blank: bool = False) -> Built:
    """The operands of a case; `module` makes the casts and tells the alignment of groups."""
    maker = _Maker(module, device, seed, blank)
    return {"dense": _dense, "contiguous": _contiguous, "masked": _masked, "k-groups": _k_groups}[case.kind](case, maker)


def _dense(case: Case, maker: _Maker) -> Built:
    a, b = maker.normal(case.m, case.k), maker.normal(case.n, case.k)
    c = maker.normal(case.m, case.n, dtype=case.out) * 32 if case.accumulate else None
    reference = None if maker.blank else _product(a, b, c, case.out)
    one_d = case.dtype == FP8 and case.accumulate  # B's scales by 1 x 128, as of a gradient of weights
    given: Dict[str, Any] = {"recipe": (1, 1, 128)} if one_d else {}
    if case.dtype == FP8:
        pair_a, pair_b = maker.cast(a, False), maker.cast(b, not one_d)
        data_a, data_b, sfa, sfb = pair_a[0], pair_b[0], pair_a[1], pair_b[1]
    else:
        data_a = a if case.a_major == "n" else a.t().contiguous().t()
        data_b = b if case.b_major == "t" else b.t().contiguous().t()
        sfa = sfb = None

    def call(module: Any, d: torch.Tensor, by_name: bool = False) -> None:
        x, w = (data_a, sfa) if sfa is not None else data_a, (data_b, sfb) if sfb is not None else data_b
        if by_name and case.dtype == BF16:
            x, w = x if case.a_major == "n" else x.t(), w if case.b_major == "t" else w.t()
        named(module, case.function(by_name))(x, w, d, c=d if case.accumulate else None, **given)

    def samples(count: int) -> List[Rows]:
        rows = _pick(list(range(case.m)), count)
        return [Rows(rows, take(data_a, rows), data_b, None if sfa is None else sfa[rows], sfb,
                     None if c is None else c[rows], square=not one_d)]

    def fresh() -> torch.Tensor:
        return torch.empty((case.m, case.n), dtype=case.out, device=maker.device) if c is None else c.clone()

    return Built(call, fresh, reference, None, samples)


def _starts(counts: Tuple[int, ...]) -> List[int]:
    starts, at = [], 0
    for count in counts:
        starts.append(at)
        at += align(count)
    return starts


def _by_rows(case: Case, maker: _Maker, a: torch.Tensor, b: torch.Tensor, counts: Tuple[int, ...],
             product: Optional[torch.Tensor], pairs: Any, psum: bool, expected: Optional[int]) -> Built:
    """Groups of rows one after another, each from a multiple of 128 on; `a` and `pairs[0]` are laid out so."""
    starts, rows = _starts(counts), a.shape[0]
    group = torch.full((rows,), -1, dtype=torch.int32)
    for g, (start, count) in enumerate(zip(starts, counts)):
        group[start:start + count] = g
    valid = (group >= 0).to(maker.device)
    layout = maker.int32(start + count for start, count in zip(starts, counts)) if psum else group.to(maker.device)
    (data_a, sfa), (data_b, sfb) = pairs
    given: Dict[str, Any] = {"use_psum_layout": True} if psum else {}
    if psum and expected is not None:
        given["expected_m_for_psum_layout"] = expected

    def call(module: Any, d: torch.Tensor, by_name: bool = False) -> None:
        w = data_b.mT if by_name and case.b_major == "n" else data_b
        x, w = ((data_a, sfa), (w, sfb)) if sfa is not None else (data_a, w)
        named(module, case.function(by_name))(x, w, d, layout, **given)

    def samples(count: int) -> List[Rows]:
        made = []
        for g in _some_groups(len(counts)):
            at = _pick(list(range(starts[g], starts[g] + counts[g])), max(2, count // 4))
            if at:
                made.append(Rows(at, take(data_a, at), data_b[g], None if sfa is None else sfa[at],
                                 None if sfb is None else sfb[g], None))
        return made

    return Built(call, lambda: torch.empty((rows, case.n), dtype=BF16, device=maker.device), product, valid, samples)


def _contiguous(case: Case, maker: _Maker) -> Built:
    starts = _starts(case.rows)
    rows = starts[-1] + align(case.rows[-1])
    a, b = maker.normal(rows, case.k), maker.normal(len(case.rows), case.n, case.k)
    product = None if maker.blank else torch.zeros((rows, case.n), dtype=BF16, device=maker.device)
    for g, (start, count) in enumerate(zip(starts, case.rows)):
        a[start + count:start + align(count)] = 0
        if product is not None and count > 0:
            product[start:start + count] = _product(a[start:start + count], b[g], None, BF16)
    if case.dtype == FP8:
        pairs: Any = (maker.cast(a, False), maker.cast(b, True))
    else:
        pairs = ((a, None), (b if case.b_major == "t" else b.mT.contiguous().mT, None))
    return _by_rows(case, maker, a, b, case.rows, product, pairs, case.psum, None)


def _masked(case: Case, maker: _Maker) -> Built:
    groups, expected = len(case.rows), case.m
    a, b = maker.normal(groups, case.most, case.k), maker.normal(groups, case.n, case.k)
    product = None if maker.blank else torch.stack([_product(x, y, None, BF16) for x, y in zip(a, b)])
    pairs: Any = ((a, None), (b, None))
    if case.dtype == FP8:
        pairs = (maker.cast(a, False), maker.cast(b, True))
    (data_a, sfa), (data_b, sfb) = pairs

    def with_counts(counts: Tuple[int, ...]) -> Built:
        if case.psum:
            places = torch.cat([torch.arange(align(count)).clamp(max=case.most - 1) + g * case.most
                                for g, count in enumerate(counts)]).to(maker.device)

            flat = [None if x is None else take(x.reshape(groups * case.most, -1), places)
                    for x in (data_a, sfa, product)]
            return _by_rows(case, maker, flat[0], b, counts, flat[2], ((flat[0], flat[1]), (data_b, sfb)), True, expected)
        masked = maker.int32(counts)
        valid = torch.arange(case.most, device=maker.device)[None] < masked[:, None]

        def call(module: Any, d: torch.Tensor, by_name: bool = False) -> None:
            x, w = (pairs[0], pairs[1]) if sfa is not None else (data_a, data_b)
            named(module, case.function(by_name))(x, w, d.view(groups, case.most, case.n), masked, expected)

        def samples(count: int) -> List[Rows]:
            made = []
            for g in _some_groups(groups):
                at = _pick(list(range(counts[g])), max(2, count // 4))
                if at:
                    made.append(Rows([g * case.most + r for r in at], take(data_a[g], at), data_b[g],
                                     None if sfa is None else sfa[g][at], None if sfb is None else sfb[g], None))
            return made

        return Built(call, lambda: torch.empty((groups * case.most, case.n), dtype=BF16, device=maker.device),
                     None if product is None else product.view(-1, case.n), valid.view(-1), samples)

    built = with_counts(case.rows)
    built.redraw = lambda seed: with_counts(draw(expected, groups, seed))
    return built


def _k_groups(case: Case, maker: _Maker) -> Built:
    total, groups = sum(case.rows), len(case.rows)
    a, b = maker.normal(total, case.m), maker.normal(total, case.n)
    c = maker.normal(groups, case.m, case.n, dtype=FP32) * 32
    ks, sizes = list(case.rows), maker.int32(case.rows)
    parts = list(zip(a.split(ks), b.split(ks)))
    reference = None
    if not maker.blank:
        reference = torch.cat([_product(x.t(), y.t(), c[g], FP32) for g, (x, y) in enumerate(parts)])
    flat: List[Any] = []
    if case.dtype == FP8:
        for side in range(2):
            made = [maker.cast(part[side].t().contiguous(), False) for part in parts]
            scales = torch.cat([one[1] for one in made], 1)
            flat.append((torch.cat([one[0].view(torch.uint8).flatten() for one in made]).view(FP8),
                         scales.t().contiguous().t(), made))

    def call(module: Any, d: torch.Tensor, by_name: bool = False) -> None:
        del by_name
        x, w = (flat[0][:2], flat[1][:2]) if flat else (a, b)
        out = d.view(groups, case.m, case.n)
        named(module, case.function())(x, w, out, ks, sizes, out)

    def samples(count: int) -> List[Rows]:
        made = []
        for g in _some_groups(groups):
            at = _pick(list(range(case.m)), max(2, count // 4))
            if flat:
                (x, sx), (y, sy) = flat[0][2][g], flat[1][2][g]
                made.append(Rows([g * case.m + r for r in at], take(x, at), y, sx[at], sy, c[g][at], square=False))
            else:
                made.append(Rows([g * case.m + r for r in at], parts[g][0].t()[at], parts[g][1].t(), None, None,
                                 c[g][at]))
        return made

    return Built(call, lambda: c.clone().view(-1, case.n), reference, None, samples)


def draw(expected: int, groups: int, seed: int, step: int = 1) -> Tuple[int, ...]:
    """Sizes of groups, each 0.7 to 1.3 times the expected one."""
    rng = random.Random(seed)
    return tuple(align(max(1, int(expected * rng.uniform(0.7, 1.3))), step) for _ in range(groups))


_LAYERS = ((2112, 7168), (576, 7168), (24576, 1536), (32768, 512), (7168, 16384), (4096, 7168), (7168, 2048))
_FP32_LAYERS = ((256, 7168), (129280, 7168))
_EXPERTS = ((6144, 7168), (7168, 3072), (4096, 4096), (4096, 2048))


def dense_tests(dtype: torch.dtype) -> Iterator[Case]:
    """42 cases in FP8, 75 in bf16: forward, and both gradients with M = 4096."""
    bf16 = dtype == BF16
    layers = [(n, k, BF16) for n, k in _LAYERS] + ([(n, k, FP32) for n, k in _FP32_LAYERS] if bf16 else [])
    for m in (1, 128, 4096):
        for n, k, out in layers:
            yield Case("dense", dtype, m, n, k, out=out)
            if bf16 and out == BF16:
                yield Case("dense", dtype, m, n, k, out=out, accumulate=True)
    a_major, b_major = ("t", "n") if bf16 else ("n", "t")
    for n, k, _ in layers:
        yield Case("dense", dtype, 4096, k, n, b_major=b_major)
        yield Case("dense", dtype, n, 4096, k, a_major=a_major, b_major=b_major, accumulate=True, out=FP32)
        yield Case("dense", dtype, n, 4096, k, a_major=a_major, b_major=b_major)


def contiguous_tests(dtype: torch.dtype) -> Iterator[Case]:
    for psum in (True, False):
        for groups, expected in ((4, 8192), (8, 4096)):
            for i, (n, k) in enumerate(_EXPERTS):
                for b_major in ("t", "n") if dtype == BF16 else ("t",):
                    yield Case("contiguous", dtype, expected, n, k, draw(expected, groups, i), psum=psum, b_major=b_major)


def masked_tests(dtype: torch.dtype) -> Iterator[Case]:
    """32 cases; each is drawn eight times."""
    for psum in (True, False):
        for groups, expected in ((32, 192), (6, 1024), (32, 20), (6, 20)):
            for i, (n, k) in enumerate(_EXPERTS):
                yield Case("masked", dtype, expected, n, k, draw(expected, groups, i), most=4096, psum=psum)


def k_group_tests(dtype: torch.dtype) -> Iterator[Case]:
    for groups, expected in ((4, 8192), (8, 4096), (16, 2048)):
        for m, n in ((4096, 7168), (7168, 2048)):
            sizes = draw(expected, groups, m, ALIGNMENT)
            yield Case("k-groups", dtype, m, n, 0, sizes, accumulate=True, out=FP32)
            with_empty = (*sizes[:groups // 2], 0, *sizes[groups // 2 + 1:])
            yield Case("k-groups", dtype, m, n, 0, with_empty, accumulate=True, out=FP32)


def own_cases() -> Iterator[Case]:
    """The shapes of bench/cases/*.json: dense ones in both types, groups in both layouts, and one M of each layer of a
    model. Shapes that occur in several files are taken once."""
    seen = set()
    for path in sorted(CASES.glob("*.json")):
        spec = json.loads(path.read_text())
        for entry in spec.get("cases", []):
            for case in _cases_of_entry(entry, path.stem):
                key = dataclasses.replace(case, source="")
                if key not in seen and not seen.add(key):  # type: ignore[func-returns-value]
                    yield case
    models = json.loads((CASES / "models.json").read_text())
    layers = {shape for model in models["models"] for shape in _layers_of_model(model)}
    for n, k in sorted(layers):
        case = Case("dense", FP8, 64, n, k, source="models")
        if dataclasses.replace(case, source="") not in seen:
            yield case


def _cases_of_entry(entry: Dict[str, Any], source: str) -> Iterator[Case]:
    n, k = entry["n"], entry["k"]
    if entry.get("op", "dense") == "dense":
        for dtype in (FP8, BF16):
            if dtype == BF16 or k % 128 == 0:
                yield Case("dense", dtype, entry["m"], n, k, source=source)
    elif entry["op"] == "grouped":
        rows = tuple(entry["tokens_per_group"])
        expected = max(1, sum(rows) // len(rows))
        yield Case("contiguous", FP8, expected, n, k, rows, source=source)
        if max(rows) <= 4 * ALIGNMENT:
            yield Case("masked", FP8, expected, n, k, rows, most=align(max(rows)), source=source)


def _layers_of_model(model: Dict[str, Any]) -> Iterator[Tuple[int, int]]:
    hidden = model["hidden"]
    shapes = [tuple(shape) for shape in model.get("attention", [])]
    if "heads" in model:
        width = model["head_dim"]
        shapes += [((model["heads"] + 2 * model["kv_heads"]) * width, hidden), (hidden, model["heads"] * width)]
    if model.get("ffn"):
        shapes += [(2 * model["ffn"], hidden), (hidden, model["ffn"])]
    yield from ((n, k) for n, k in shapes if n % 16 == 0 and k % 128 == 0)


def all_cases() -> List[Case]:
    """Every case. Families take turns, so that a run that ends early has seen all of them."""
    families = [list(family(dtype)) for dtype in (FP8, BF16)
                for family in (dense_tests, contiguous_tests, masked_tests, k_group_tests)]
    own: Dict[Tuple[str, torch.dtype], List[Case]] = {}
    for case in own_cases():
        own.setdefault((case.kind, case.dtype), []).append(case)
    places = [((i + 0.5) / len(family), case) for family in families + list(own.values())
              for i, case in enumerate(family)]
    return [case for _, case in sorted(places, key=lambda place: place[0])]
