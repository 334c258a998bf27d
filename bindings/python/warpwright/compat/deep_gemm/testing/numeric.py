# SPDX-License-Identifier: Apache-2.0
"""deep_gemm.testing.numeric."""
from typing import Any

import torch


def calc_diff(x: torch.Tensor, y: torch.Tensor) -> Any:
    """1 - 2 sum(x y) / sum(x^2 + y^2): 0 for equal tensors. Errors in small regions hardly show in it."""
    x, y = x.double(), y.double()
    norm = (x * x + y * y).sum()
    return 1 - 2 * (x * y).sum() / norm if norm != 0 else 0.0


def count_bytes(*tensors: Any) -> int:
    """The bytes of tensors, and of tensors in tuples and lists; None counts 0."""
    total = 0
    for one in tensors:
        if isinstance(one, (tuple, list)):
            total += count_bytes(*one)
        elif one is not None:
            total += one.numel() * one.element_size()
    return total
