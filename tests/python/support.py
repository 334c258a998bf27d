# SPDX-License-Identifier: Apache-2.0
"""Operands of small integers, whose products are exact in FP32, and products in FP64 to compare with."""
import itertools
from typing import Any, Optional

import ml_dtypes
import numpy as np

E4M3, E5M2, BF16 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.bfloat16
TYPES = {"e4m3": E4M3, "e5m2": E5M2, "bf16": BF16, "f16": np.float16, "tf32": np.float32, "f32": np.float32}


def wide(array: Any) -> np.ndarray:
    return np.asarray(array).astype(np.float64)


def integers(rng: np.random.Generator, shape: Any, dtype: Any = np.float16, largest: int = 3) -> np.ndarray:
    return rng.integers(-largest, largest + 1, shape).astype(dtype)


def powers(rng: np.random.Generator, shape: Any) -> np.ndarray:
    """Powers of two, which scale without rounding."""
    return (2.0 ** rng.integers(-1, 2, shape)).astype(np.float32)


def padded(array: np.ndarray, columns: int) -> np.ndarray:
    """The same values in rows that are `columns` elements longer."""
    storage = np.zeros((*array.shape[:-1], array.shape[-1] + columns), array.dtype)
    view = storage[..., : array.shape[-1]]
    view[...] = array
    return view


def transposed(array: np.ndarray) -> np.ndarray:
    """The same values, with contiguous columns."""
    return np.ascontiguousarray(array.swapaxes(-1, -2)).swapaxes(-1, -2)


def expand(scales: np.ndarray, rows: int, columns: int, row_step: int, column_step: int) -> np.ndarray:
    """Scales of blocks as a scale for each element."""
    return np.repeat(np.repeat(scales, row_step, -2), column_step, -1)[..., :rows, :columns]


def product(a: Any, b: Any, scale: str = "none", sa: Optional[np.ndarray] = None,
            sb: Optional[np.ndarray] = None) -> np.ndarray:
    """scale(a b^T) in FP64."""
    a, b = wide(a), wide(b)
    rows, k = a.shape[-2:]
    if scale == "tensor":
        a = a * wide(sa).reshape((-1, 1, 1) if np.size(sa) > 1 else ())
        b = b * wide(sb).reshape((-1, 1, 1) if np.size(sb) > 1 else ())
    elif scale == "row-column":
        a, b = a * wide(sa)[..., None], b * wide(sb)[..., None]
    elif scale in ("block", "block-1d"):
        a = a * expand(wide(sa), rows, k, 1, 128)
        b = b * expand(wide(sb), b.shape[-2], k, 128 if scale == "block" else 1, 128)
    return a @ b.swapaxes(-1, -2)


def same(got: Any, want: np.ndarray) -> None:
    """Every element equal; `want` is exact, and rounded once to the type of `got`."""
    got = np.asarray(got)
    rounded = wide(want.astype(np.float32).astype(got.dtype))
    assert got.shape == rounded.shape
    wrong = np.argwhere(~((wide(got) == rounded) | (np.isnan(wide(got)) & np.isnan(rounded))))
    assert len(wrong) == 0, f"{len(wrong)} wrong, first at {wrong[0]}: {got[tuple(wrong[0])]}, not {rounded[tuple(wrong[0])]}"


def group_ranges(encoding: str, rows: int, arrays: list, alignment: int = 1) -> list:
    """The range of rows of each group, as docs/grouped.md says."""
    if encoding == "offsets":
        starts = [-(-end // alignment) * alignment for end in [0, *arrays[0][:-1]]]
        return [range(s, max(s, e)) for s, e in zip(starts, arrays[0])]
    if encoding == "indptr":
        return [range(s, e) for s, e in itertools.pairwise(arrays[0])]
    if encoding == "starts":
        return [range(s, s + c) for s, c in zip(arrays[0], arrays[1])]
    raise AssertionError(encoding)
