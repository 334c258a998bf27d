# SPDX-License-Identifier: Apache-2.0
"""Operands and references for the tests of the torch layers. The same tests run on a GPU and on the emulated device."""
from typing import Tuple

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
FP8 = torch.float8_e4m3fn


def integers(shape: Tuple[int, ...], seed: int, dtype: torch.dtype = torch.bfloat16, most: int = 3) -> torch.Tensor:
    """Small integers, so that products are exact in every order of summation."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-most, most + 1, shape, generator=generator).to(dtype).to(DEVICE)


def powers(shape: Tuple[int, ...], seed: int) -> torch.Tensor:
    """Powers of two, as scales that round nothing."""
    generator = torch.Generator().manual_seed(seed)
    return torch.exp2(torch.randint(-2, 3, shape, generator=generator).float()).to(DEVICE)


def by_blocks(scale: torch.Tensor, rows: int, columns: int, row_block: int = 1) -> torch.Tensor:
    """Scales of blocks, expanded to every element in float64."""
    expanded = scale.double().repeat_interleave(128, dim=-1)[..., :columns]
    return expanded.repeat_interleave(row_block, dim=-2)[..., :rows, :]


def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """a (.., M, K) times b (.., N, K) transposed, in float64."""
    return a.double() @ b.double().mT


def offsets(ends: Tuple[int, ...]) -> torch.Tensor:
    return torch.tensor(ends, dtype=torch.int32, device=DEVICE)
