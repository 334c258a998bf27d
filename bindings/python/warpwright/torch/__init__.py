# SPDX-License-Identifier: Apache-2.0
"""PyTorch: operators for torch.compile, the functions of torch.nn.functional, and linear layers in FP8 with gradients.

    import warpwright.torch as wwt
    y = wwt.linear(x, weight)                          # FP8 inside, bf16 outside, differentiable
    y = wwt.grouped_linear(x, weights, offs)           # the same for groups of rows, each with its weight
    d = wwt.gemm(a, b, scale_a=sa, scale_b=sb)         # as warpwright.gemm; traceable

gemm, grouped_gemm and k_grouped_gemm take the arguments of the operators torch.ops.warpwright.*. Eager calls on plain
tensors go directly to the extension; torch.compile, tensor subclasses, modes and fake tensors go through the operators.
Importing this module imports torch.
"""
from ._casts import quantize_1x128, quantize_128x128, transpose_fp8
from ._functional import scaled_grouped_mm, scaled_mm
from ._linear import QuantizedWeight, grouped_linear, linear, quantize_weight
from ._modules import GroupedLinear, Linear
from ._ops import gemm, grouped_gemm, k_grouped_gemm

