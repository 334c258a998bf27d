# SPDX-License-Identifier: Apache-2.0
"""GEMM kernels for NVIDIA Hopper and Blackwell that also run, to the bit, on an emulated device on the CPU.

    import numpy as np, warpwright
    a, b = np.ones((256, 512), np.float16), np.ones((128, 512), np.float16)
    out = warpwright.gemm(a, b)  # a @ b.T on the emulated device; tensors on a GPU run on that GPU

gemm, grouped_gemm and k_grouped_gemm take tensors of torch, NumPy, JAX, CuPy and every other source of DLPack. Importing
this package starts no driver, imports none of them, and is safe before a fork.
"""
from ._native import (
    CaptureError,
    CouldNotFinishError,
    Device,
    Error,
    ForkedError,
    InternalError,
    InvalidError,
    Plan,
    UnsupportedError,
    WrongResultError,
    __version__,
    clear_plan_cache,
    gemm,
    gemm_plan,
    gemm_pointers,
    grouped_gemm,
    grouped_gemm_plan,
    k_grouped_gemm,
    k_grouped_gemm_plan,
    plan_cache_size,
    quantize_1x128,
    quantize_128x128,
    source_hash,
    transpose_fp8,
)

TYPE_CHECKING = False
if TYPE_CHECKING:  # at run time __getattr__ imports these when they are first used, because dataclasses take 30 ms
    from ._microscale import pack_elements, quantize_mx, quantize_nv, swizzle_scales
    from ._problems import GemmProblem, GroupedProblem, KGroupedProblem, Options
    from ._tools import can_implement, check, check_kernel, configs, explain, prepare, version

__all__ = [
    "CaptureError",
    "CouldNotFinishError",
    "Device",
    "Error",
    "ForkedError",
    "GemmProblem",
    "GroupedProblem",
    "InternalError",
    "InvalidError",
    "KGroupedProblem",
    "Options",
    "Plan",
    "UnsupportedError",
    "WrongResultError",
    "__version__",
    "can_implement",
    "check",
    "check_kernel",
    "clear_plan_cache",
    "configs",
    "explain",
    "gemm",
    "gemm_plan",
    "gemm_pointers",
    "grouped_gemm",
    "grouped_gemm_plan",
    "k_grouped_gemm",
    "k_grouped_gemm_plan",
    "pack_elements",
    "plan_cache_size",
    "prepare",
    "quantize_128x128",
    "quantize_1x128",
    "quantize_mx",
    "quantize_nv",
    "source_hash",
    "swizzle_scales",
    "transpose_fp8",
    "version",
]


def __getattr__(name: str) -> object:
    if name in ("GemmProblem", "GroupedProblem", "KGroupedProblem", "Options"):
        from . import _problems as module
    elif name in ("pack_elements", "quantize_mx", "quantize_nv", "swizzle_scales"):
        from . import _microscale as module  # type: ignore[no-redef]
    elif name in ("can_implement", "check", "check_kernel", "configs", "explain", "prepare", "version"):
        from . import _tools as module  # type: ignore[no-redef]
    else:
        raise AttributeError(f"module 'warpwright' has no attribute '{name}'")
    value: object = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
