# SPDX-License-Identifier: Apache-2.0
"""Products without tensors: what can_implement, explain, configs, prepare and check work on."""
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
    """D[m, n] = epilogue(scale(A[m, k] B[n, k]^T)), one product or `batch` of them. Strides are in elements; 0 means packed.

    a, b, d                element types: "e4m3", "e5m2", "bf16", "f16", "tf32", on Blackwell "e2m1", "e3m2" and "e2m3", and
                           "f32" of D
    scale                  recipe: "none", "tensor", "row-column", "block", "block-1d", "mx" and "nv", as in gemm()
    scale_type             storage of scales, which follows from the recipe: "f32", "e8m0" of mx, "e4m3" of nv
    a_major, b_major       "k": A (m, k), B (n, k); "mn": A (k, m), B (k, n)
    d_layout, c_layout     "row": stored as (m, n); "column": as (n, m). c_layout is of the epilogue's matrices
    lda, ldb, ldd          row strides as stored
    scale_a_row, scale_a_k, scale_b_n, scale_b_k   strides of scales along rows of A, rows of B and blocks of K
    batch                  number of products; None: one matrix without a batch
    batch_a, batch_b, batch_d, batch_scale_a, batch_scale_b   strides between the matrices of a batch, and their scales
    pointer_array          1: arrays of pointers on the device locate the matrices
    epilogue               text, as in gemm()
    """

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
    """D[r] = epilogue(scale(A[r] B[group of r]^T)): A (rows, k), B (groups, n, k), D (rows, n).

    The fields of GemmProblem mean the same here, and:

    encoding           how groups are given: "offsets", "indptr", "starts-counts", "row-ids", "masked"; see grouped_gemm()
    alignment          of each group's first row, with "offsets"
    zero_outside       rows outside every group are zeroed
    a, b, d, scale, scale_type, b_major, lda, ldb, ldd, epilogue   as in GemmProblem
    stride_b_group     elements from one matrix of B to the next
    scale_a_row, scale_a_k, scale_b_n, scale_b_k           as in GemmProblem
    scale_a_group, scale_b_group                           strides from group to group
    expected_sizes     rows that the groups are likely to have, for the choice of a config alone: "340,377,12", or "64" for
                       each group; a run may have other sizes. "": equal and uneven sizes count, masked groups as half full
    """

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
    expected_sizes: str = ""


@dataclasses.dataclass(frozen=True)
class KGroupedProblem(_Problem):
    """D[g] (m, n) = (C[g] +) scale(A_g B_g^T) for groups of k: the gradients of weights.

    k                  of all groups together; with the encoding "masked", of one
    encoding, alignment   as in GroupedProblem, counting k
    packing            "joint": the groups of a K-major operand share its rows; "per-group": each is a matrix of its own
    accumulate         the product is added to C
    stride_d_group     elements from one matrix of D to the next
    a, b, d, scale, scale_type, a_major, b_major, lda, ldb, ldd            as in GemmProblem
    scale_a_row, scale_a_k, scale_a_group, scale_b_n, scale_b_k, scale_b_group   as in GroupedProblem
    """

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
    """How a problem is solved.

    config             text of configs(), or a part of one; without arch= it is for the device's
    sms                the most SMs that are used; 0: all
    pdl                programmatic dependent launch: "auto", "off", "on"
    batch_invariant    the bits of a row depend neither on m nor on the number of SMs
    workspace_limit    the most bytes of workspace of a config that is chosen; 0: 64 MiB, -1: none
    """

    config: str = ""
    sms: int = 0
    pdl: str = "auto"
    batch_invariant: bool = False
    workspace_limit: int = 0
