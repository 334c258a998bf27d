# SPDX-License-Identifier: Apache-2.0
"""The bound on every element of a product on tensor cores (docs/numerics.md, section 7), in FP64 with torch."""
import dataclasses
from typing import List, Optional, Tuple

import torch

# Of an instruction: K, and the bits that its terms and its results are cut to.
_INSTRUCTION = {torch.float8_e4m3fn: (32, 13, 13), torch.bfloat16: (16, 25, 23)}
_SMALLEST = {torch.float8_e4m3fn: 2.0 ** -6, torch.bfloat16: 2.0 ** -126}
_U = 2.0 ** -24
_COLUMNS = 8192  # of D at a time, because FP64 of all of B would not fit


@dataclasses.dataclass
class Rows:
    """Rows of a product: `at`, their places in D; a (R, K) and b (N, K) with scales of 1 x 128 (b: 128 x 128 if
    `square`), or without; c (R, N) is added."""
    at: List[int]
    a: torch.Tensor
    b: torch.Tensor
    scale_a: Optional[torch.Tensor]
    scale_b: Optional[torch.Tensor]
    c: Optional[torch.Tensor]
    square: bool = True


@dataclasses.dataclass
class _Sum:
    """A sum of products, a bound on the error of what was computed for it, and the sum of magnitudes."""
    value: torch.Tensor
    error: torch.Tensor
    magnitude: torch.Tensor


def _largest(x: torch.Tensor, smallest: float) -> torch.Tensor:
    """The largest magnitude of each row, of which a subnormal counts as the smallest normal."""
    top = x.abs().amax(-1)
    return torch.where(top > 0, top.clamp(min=smallest), top)


def _chain(a: torch.Tensor, b: torch.Tensor, dtype: torch.dtype, step: int) -> _Sum:
    """Sums the products of a (.., R, K) and b (.., N, K), `step` of K at a time. Within a step the partial sums are
    bounded by the sum before it and the magnitudes of its products; a step of one instruction has none."""
    per_instruction, f, p = _INSTRUCTION[dtype]
    s = torch.zeros((*a.shape[:-1], b.shape[-2]), dtype=torch.float64, device=a.device)
    e, all_magnitudes = torch.zeros_like(s), torch.zeros_like(s)
    for at in range(0, a.shape[-1], step):
        x, y = a[..., at:at + step], b[..., at:at + step]
        count = -(-x.shape[-1] // per_instruction)
        magnitude = x.abs() @ y.abs().mT
        tops = _largest(x, _SMALLEST[dtype]).unsqueeze(-1) * _largest(y, _SMALLEST[dtype]).unsqueeze(-2)
        within = s.abs() + e
        if count > 1:
            within += magnitude
        terms = torch.maximum(within, tops).clamp_(min=2.0 ** -126).mul_(count * (per_instruction + 1) * 2.0 ** -f)
        s = s + x @ y.mT
        results = s.abs() if count == 1 else torch.maximum(s.abs(), within)
        e = e + terms + count * (2.0 ** -p * (results + e + terms) + 2.0 ** -149)
        all_magnitudes += magnitude
    return _Sum(s, e, all_magnitudes)


def _blocks(x: torch.Tensor) -> torch.Tensor:
    """(R, K) as (K / 128, R, 128), with zeros behind K."""
    padded = torch.nn.functional.pad(x, (0, -x.shape[1] % 128))
    return padded.unflatten(1, (-1, 128)).transpose(0, 1)


def _scaled(a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor,
            dtype: torch.dtype) -> _Sum:
    """Sums of blocks of K, each times the scales (R, K/128) and (N, K/128)."""
    one = _chain(_blocks(a), _blocks(b), dtype, _INSTRUCTION[dtype][0])
    t = scale_a.double().t().unsqueeze(2) * scale_b.double().t().unsqueeze(1)
    value, magnitude = t * one.value, t.abs() * one.magnitude
    error = t.abs() * one.error
    error = error + _U * (value.abs() + error) + 2.0 ** -149 * (one.value.abs() + one.error + 1)
    sums = _Sum(value[0], error[0], magnitude.sum(0))
    for block in range(1, value.shape[0]):
        sums.value = sums.value + value[block]
        so_far = sums.error + error[block]
        sums.error = so_far + _U * (sums.value.abs() + so_far)
    return sums


def _bound(a: torch.Tensor, r: Rows, columns: slice, out: torch.dtype) -> Tuple[torch.Tensor, torch.Tensor]:
    """The exact result in these columns, and the bound on its error."""
    b = r.b[columns].double()
    if r.scale_a is not None and r.scale_b is not None and a.shape[1] > 0:
        scale_b = r.scale_b
        if r.square:
            scale_b = scale_b.repeat_interleave(128, 0)
        sums = _scaled(a, b, r.scale_a, scale_b[:r.b.shape[0]][columns], r.a.dtype)
    else:
        sums = _chain(a, b, r.a.dtype, 128)
    # Up to 32 parts of K may be summed separately, and added in FP32. The reference rounds in FP64.
    value, error = sums.value, sums.error + (32 * _U + a.shape[1] * 2.0 ** -52) * (sums.magnitude + sums.error)
    if r.c is not None:
        value = value + r.c[:, columns].double()
        error = error + _U * (value.abs() + error)
    if out == torch.bfloat16:
        error = error + 2.0 ** -8 * (value.abs() + error) + 2.0 ** -134
    return value, error


def excess(got: torch.Tensor, r: Rows) -> float:
    """The largest error of rows `got` (R, N) over its bound: at most 1 if all elements lie within. Infinite for NaN."""
    if not bool(torch.isfinite(got.float()).all()):
        return float("inf")
    a, most = r.a.double(), 0.0
    for at in range(0, r.b.shape[0], _COLUMNS):
        columns = slice(at, at + _COLUMNS)
        value, error = _bound(a, r, columns, got.dtype)
        off = (got[:, columns].double() - value).abs()
        if off.numel():
            most = max(most, float((off / error.clamp(min=1e-300)).max()))
    return most
