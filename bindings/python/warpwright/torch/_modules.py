# SPDX-License-Identifier: Apache-2.0
"""Linear and GroupedLinear: modules over linear() and grouped_linear(), with the parameters of torch.nn.Linear."""
import math
from typing import Any, Dict, Optional

import torch

from ._linear import QuantizedWeight, grouped_linear, linear


class Linear(torch.nn.Linear):
    """torch.nn.Linear in FP8: linear(x, self.weight, self.bias). Parameters and state are those of torch.nn.Linear, and so are
    in_features, out_features, bias and further keywords; the other arguments are those of linear()."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True, *, fuse_wgrad_accumulation: bool = False,
                 grad_dtype: str = "e4m3", power_of_two: bool = False, **factory: Any) -> None:
        super().__init__(in_features, out_features, bias, **factory)
        self.options: Dict[str, Any] = {
            "fuse_wgrad_accumulation": fuse_wgrad_accumulation, "grad_dtype": grad_dtype, "power_of_two": power_of_two}

    @classmethod
    def from_linear(cls, module: torch.nn.Linear, **options: Any) -> "Linear":
        """Returns a Linear that shares the parameters of module."""
        made = cls(module.in_features, module.out_features, module.bias is not None, device="meta", **options)
        made.weight, made.bias = module.weight, module.bias
        return made.train(module.training)

    def forward(self, x: torch.Tensor,  # type: ignore[override]  # pylint: disable=arguments-renamed
                quantized_weight: Optional[QuantizedWeight] = None) -> torch.Tensor:
        """x (..., in_features), and the weight as quantize_weight() casts it if it was cast before; returns
        (..., out_features). quantized_weight is that of linear()."""
        return linear(x, self.weight, self.bias, quantized_weight=quantized_weight, **self.options)


class GroupedLinear(torch.nn.Module):
    """Weights (groups, out_features, in_features) of experts, and grouped_linear() with them."""

    def __init__(self, groups: int, in_features: int, out_features: int, bias: bool = False, *, alignment: int = 1,
                 fuse_wgrad_accumulation: bool = False, grad_dtype: str = "e4m3", power_of_two: bool = False,
                 **factory: Any) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(groups, out_features, in_features, **factory))
        self.bias = torch.nn.Parameter(torch.empty(groups, out_features, **factory)) if bias else None
        self.options: Dict[str, Any] = {
            "alignment": alignment, "fuse_wgrad_accumulation": fuse_wgrad_accumulation, "grad_dtype": grad_dtype,
            "power_of_two": power_of_two}
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws every parameter as torch.nn.Linear does."""
        bound = 1 / math.sqrt(max(1, self.weight.shape[-1]))
        for parameter in self.parameters():
            torch.nn.init.uniform_(parameter, -bound, bound)

    def forward(self, x: torch.Tensor, offs: torch.Tensor,
                quantized_weight: Optional[QuantizedWeight] = None) -> torch.Tensor:
        """x (M, K) and ends of groups offs, int32 (groups,); returns (M, out_features). quantized_weight is that of
        grouped_linear()."""
        return grouped_linear(x, self.weight, offs, self.bias, quantized_weight=quantized_weight, **self.options)

    def extra_repr(self) -> str:
        groups, out_features, in_features = self.weight.shape
        return f"groups={groups}, in_features={in_features}, out_features={out_features}, bias={self.bias is not None}"
