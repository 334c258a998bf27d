# SPDX-License-Identifier: Apache-2.0
"""Layouts of scales through DeepGEMM's interface: values, shapes and strides beside a reference, and beside DeepGEMM."""
import random
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import torch

PACK = "pack_fp32_into_ue8m0"


def padded_rows(rows: int, element_size: int = 4) -> int:
    step = 16 // element_size
    return -(-rows // step) * step


def mn_major(values: torch.Tensor) -> torch.Tensor:
    """The same (.., rows, columns) with contiguous rows, padded to 16 bytes."""
    rows, columns = values.shape[-2:]
    storage = torch.zeros((*values.shape[:-2], columns, padded_rows(rows)), dtype=values.dtype, device=values.device)
    made = storage.mT[..., :rows, :]
    made.copy_(values)
    return made


def packed(scales: torch.Tensor) -> torch.Tensor:
    """Exponents of float32 scales (.., rows, columns), four to an int32."""
    columns = scales.shape[-1]
    if columns == 0:
        return mn_major(scales.to(torch.int32))
    exponents = torch.zeros((*scales.shape[:-1], -(-columns // 4) * 4), dtype=torch.uint8, device=scales.device)
    exponents[..., :columns] = (scales.contiguous().view(torch.int32) >> 23).to(torch.uint8)
    return mn_major(exponents.view(torch.int32))


def scales_of(shape: Tuple[int, ...], seed: int, device: str, powers: bool, transposed: bool) -> torch.Tensor:
    """Scales, powers of two or any, row-major or `transposed`."""
    generator = torch.Generator().manual_seed(seed)
    made = torch.exp2(torch.randint(-20, 21, shape, generator=generator).float())
    made = (made if powers else made * (1 + torch.rand(shape, generator=generator))).to(device)
    return made.mT.contiguous().mT if transposed else made


def transposes(rows: Tuple[int, ...] = (4096, 4097, 8192), ks: Tuple[int, ...] = (128, 7168, 7296),
               groups: Tuple[int, ...] = (1, 2, 4)) -> Iterator[Tuple[Tuple[int, ...], bool, bool]]:
    """(shape, exponents are packed, the source is transposed)."""
    for pack in (False, True):
        for transposed in (False, True):
            for m in rows:
                for k in ks:
                    for g in groups:
                        yield (m, k // 128) if g == 1 else (g, m, k // 128), pack, transposed


def k_groups() -> Iterator[Tuple[int, List[int], int]]:
    """(columns, K of each group, K of a scale)."""
    rng = random.Random(1)
    for mn in (4096, 7168):
        for count, average in ((16, 2048), (8, 4096), (72, 384), (128, 256)):
            for step in (128, 32):
                yield mn, [-(-int(rng.uniform(0.7, 1.3) * average) // 128) * 128 for _ in range(count)], step


def differs(got: torch.Tensor, want: torch.Tensor) -> str:
    """Why two tensors are not the same in value, shape, type and strides; "" if they are."""
    facts = [(name, one(got), one(want)) for name, one in
             (("shape", lambda x: tuple(x.shape)), ("type", lambda x: x.dtype), ("strides", lambda x: x.stride()))]
    for name, a, b in facts:
        if a != b:
            return f"{name} {a}, not {b}"
    return "" if torch.equal(got, want) else f"{int((got != want).sum())} of {got.numel()} values"


def check(name: str, ours: Any, theirs: Any, call: Callable[[Any], torch.Tensor], want: torch.Tensor,
          kernels: Optional[Callable[..., Any]], wanted: str) -> Dict[str, Any]:
    result: Dict[str, Any] = {"case": name, "ours": {}}
    wrong = differs(call(ours), want)
    result["passed"] = not wrong
    if wrong:
        result["ours"]["error"] = wrong
    if theirs is not None:
        try:
            result["theirs"] = {}
            if other := differs(call(theirs), want):
                result["theirs"]["error"] = other
        except Exception as why:
            result["theirs"]["error"] = f"{type(why).__name__}: {why}".splitlines()[0][:200]
    if kernels is not None and wanted:
        sides = {side: (lambda module=module: call(module)) for side, module in (("ours", ours), ("theirs", theirs))
                 if module is not None and "error" not in result.get(side, {})}
        for side, found in kernels(sides, 3).items():
            names = [one for one in found if wanted in one[:100]]
            result[side]["kernels"] = [one[:100] for one in names]
            if len(names) == 1:
                result[side]["us"] = sorted(found[names[0]])[len(found[names[0]]) // 2]
            elif side == "ours":
                result["passed"] = False
    return result


def run(ours: Any, theirs: Any, device: str, kernels: Optional[Callable[..., Any]]) -> Iterator[Dict[str, Any]]:
    """Every case of DeepGEMM's test of layouts. Kernels are profiled for three of them."""
    for seed, (shape, pack, transposed) in enumerate(transposes()):
        scales = scales_of(shape, seed, device, pack, transposed)
        function = "get_mn_major_tma_aligned_" + ("packed_ue8m0_tensor" if pack else "tensor")
        profiled = kernels if pack and shape == (4096, 56) else None
        yield check(f"{function} {shape}{' transposed' if transposed else ''}", ours, theirs,
                    lambda module: getattr(module, function)(scales), packed(scales) if pack else mn_major(scales),
                    profiled, PACK)
    for seed, (mn, ks, step) in enumerate(k_groups()):
        scales = scales_of((sum(ks) // step, mn), seed, device, True, False)
        parts = scales.split([k // step for k in ks])
        want = torch.cat([packed(part.t()).t() for part in parts])
        sizes = torch.tensor(ks, dtype=torch.int32, device=device)
        yield check(f"get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor {mn} x {len(ks)} groups by {step}", ours,
                    theirs, lambda module: call_k_grouped(module, scales, sizes, ks, step), want,
                    kernels if seed == 0 else None, PACK)


def call_k_grouped(module: Any, scales: torch.Tensor, sizes: torch.Tensor, ks: List[int], step: int) -> torch.Tensor:
    """DeepGEMM before 2.8 has three arguments, and 128 to a scale."""
    function = module.get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor
    try:
        made: torch.Tensor = function(scales, sizes, ks, step)
    except TypeError:
        if step != 128:
            raise
        made = function(scales, sizes, ks)
    return made
