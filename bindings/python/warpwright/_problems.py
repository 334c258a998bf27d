# SPDX-License-Identifier: Apache-2.0
"""Products without tensors: what can_implement, explain, configs, prepare and check work on.

Element types are "e4m3", "e5m2", "bf16", "f16", "tf32" and, for D, "f32". Strides are in elements; 0 means packed.
"""
import dataclasses
from typing import Any, ClassVar, Dict, Optional


@dataclasses.dataclass(frozen=True)
class _Problem:
    def fields(self) -> Dict[str, Any]:
        """Returns the fields that were set, as the extension takes them."""
        return {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if getattr(self, field.name) not in (None, "")
        }


@dataclasses.dataclass(frozen=True)
class GemmProblem(_Problem):
    """D[m, n] = epilogue(scale(A[m, k] B[n, k]^T)), one product or `batch` of them."""

    operation: ClassVar[str] = "gemm"
    m: int
    n: int
    k: int
    a: str = "e4m3"
    b: str = "e4m3"
    d: str = "bf16"
    scale: str = "none"
    scale_type: str = "f32"
    a_major: str = "k"
    b_major: str = "k"
    d_layout: str = "row"
    c_layout: str = "row"
    lda: int = 0
    ldb: int = 0
    ldd: int = 0
    scale_a_row: int = 0
    scale_a_k: int = 0
    scale_b_n: int = 0
    scale_b_k: int = 0
    batch: Optional[int] = None
    batch_a: int = 0
    batch_b: int = 0
    batch_d: int = 0
    batch_scale_a: int = 0
    batch_scale_b: int = 0
    pointer_array: int = 0
    epilogue: str = ""


@dataclasses.dataclass(frozen=True)
class GroupedProblem(_Problem):
    """D[r] = epilogue(scale(A[r] B[group of r]^T)): A (rows, k), B (groups, n, k), D (rows, n)."""

    operation: ClassVar[str] = "grouped_gemm"
    groups: int
    rows: int
    n: int
    k: int
    a: str = "e4m3"
    b: str = "e4m3"
    d: str = "bf16"
    scale: str = "none"
    scale_type: str = "f32"
    encoding: str = "offsets"
    b_major: str = "k"
    zero_outside: bool = False
    alignment: int = 0
    lda: int = 0
    ldb: int = 0
    ldd: int = 0
    stride_b_group: int = 0
    scale_a_row: int = 0
    scale_a_k: int = 0
    scale_a_group: int = 0
    scale_b_n: int = 0
    scale_b_k: int = 0
    scale_b_group: int = 0
    epilogue: str = ""


@dataclasses.dataclass(frozen=True)
class KGroupedProblem(_Problem):
    """D[g] (m, n) = (C[g] +) scale(A_g B_g^T) for groups of k: the gradients of weights."""

    operation: ClassVar[str] = "k_grouped_gemm"
    groups: int
    m: int
    n: int
    k: int
    a: str = "bf16"
    b: str = "bf16"
    d: str = "f32"
    scale: str = "none"
    scale_type: str = "f32"
    encoding: str = "offsets"
    a_major: str = "mn"
    b_major: str = "mn"
    packing: str = "joint"
    accumulate: bool = False
    alignment: int = 0
    lda: int = 0
    ldb: int = 0
    ldd: int = 0
    stride_d_group: int = 0
    scale_a_row: int = 0
    scale_a_k: int = 0
    scale_a_group: int = 0
    scale_b_n: int = 0
    scale_b_k: int = 0
    scale_b_group: int = 0


@dataclasses.dataclass(frozen=True)
class Options(_Problem):
    """How a problem is solved: the config or parts of it, the SMs it may use, programmatic dependent launch ("auto", "off",
    "on"), whether a row's bits may depend on the other rows, and the bytes of workspace of chosen configs (-1: none)."""

    config: str = ""
    sms: int = 0
    pdl: str = "auto"
    batch_invariant: bool = False
    workspace_limit: int = 0
