# SPDX-License-Identifier: Apache-2.0
"""DeepGEMM's products for SM90. Every function writes its argument `d` and returns nothing.

`a` and `b` of FP8 products are pairs (data, scales). Scales are float32 with any strides; a call whose extents are 0 in
M or N does nothing, and K = 0 gives D = C or zeros.
"""
import time
from typing import Any, Dict, Optional, Sequence, Tuple

import torch

from ... import _native
from . import _state

Pair = Sequence[torch.Tensor]
_BLOCK, _BLOCK_1D = "block", "block-1d"


def _pair(name: str, value: Any) -> Tuple[torch.Tensor, torch.Tensor]:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise TypeError(f"{name}: expected (data, scales), got {type(value).__name__}")
    data, scales = value
    if scales.dtype != torch.float32:
        raise NotImplementedError(f"{name}[1]: expected float32 scales, as on SM90, got {scales.dtype}")
    return data, scales


def _scale(recipe: Optional[Sequence[int]], recipe_a: Optional[Sequence[int]],
           recipe_b: Optional[Sequence[int]], default: Tuple[int, int, int]) -> str:
    """The recipe of scales from DeepGEMM's (granularity of m, of n, of k), or from the two of a and b."""
    if recipe_a is not None or recipe_b is not None:
        if recipe is not None or recipe_a is None or recipe_b is None:
            raise ValueError("recipe_a, recipe_b: expected both, without recipe")
        if recipe_a[1] != recipe_b[1]:
            raise NotImplementedError(f"recipe_a, recipe_b: expected one granularity of K, got {recipe_a[1]} and "
                                      f"{recipe_b[1]}")
        recipe = (recipe_a[0], recipe_b[0], recipe_a[1])
    chosen = tuple(default if recipe is None else recipe)
    if chosen == (1, 128, 128):
        return _BLOCK
    if chosen == (1, 1, 128):
        return _BLOCK_1D
    raise NotImplementedError(f"recipe: expected (1, 128, 128) or (1, 1, 128), got {chosen}")


def _refuse_epilogue(epilogue: Any) -> None:
    if epilogue is not None:
        raise NotImplementedError(f"epilogue: expected None, got {epilogue!r}")


def _empty(*tensors: torch.Tensor) -> bool:
    return any(tensor.numel() == 0 for tensor in tensors)


def _call(name: str, operation: str, *arguments: torch.Tensor, **given: Any) -> None:
    """Runs a product of the library, or compiles it in compile mode."""
    given.update(_state.options())
    if _state.prints_configs():
        begin = time.perf_counter()
        plan = getattr(_native, operation + "_plan")(*arguments, **given)
        _state.print_config(name, " ".join(str(tuple(one.shape)) for one in arguments), plan,
                            time.perf_counter() - begin)
    if _state.settings.compile_mode:
        getattr(_native, operation + "_plan")(*arguments, **given)
    else:
        getattr(_native, operation)(*arguments, **given)
    _state.count(name)


def _accumulator(c: Optional[torch.Tensor], d: torch.Tensor) -> Dict[str, Any]:
    """C as an operand. DeepGEMM copies another C to D first and adds to D; the sum is the same."""
    if c is None:
        return {}
    if c.shape != d.shape or c.dtype != d.dtype:
        raise ValueError(f"c: expected {d.dtype} {tuple(d.shape)} like d, got {c.dtype} {tuple(c.shape)}")
    return {"c": c}


def _dense(name: str, a: torch.Tensor, b: torch.Tensor, d: torch.Tensor, c: Optional[torch.Tensor],
           alpha: Optional[float], **given: Any) -> None:
    """a (M, K), b (N, K), d (M, N), with any strides that the library takes."""
    if _empty(d):
        return
    if a.shape[-1] == 0:
        if not _state.settings.compile_mode:
            d.zero_() if c is None else d.copy_(c)
        return
    if alpha is not None and alpha != 1:
        given["alpha"] = float(alpha)
    _call(name, "gemm", a, b, out=d, **given, **_accumulator(c, d))


def fp8_gemm_nt(a: Pair, b: Pair, d: torch.Tensor, c: Optional[torch.Tensor] = None,
                recipe: Optional[Sequence[int]] = None, recipe_a: Optional[Sequence[int]] = None,
                recipe_b: Optional[Sequence[int]] = None, compiled_dims: str = "nk", disable_ue8m0_cast: bool = False,
                alpha: Optional[float] = None, epilogue: Any = None) -> None:
    """d[M, N] = a[M, K] b[N, K]^T (+ c). Recipe (1, 128, 128), the default: bf16 D without c. (1, 1, 128): float32 D
    with c."""
    del compiled_dims, disable_ue8m0_cast
    _refuse_epilogue(epilogue)
    (x, sfa), (w, sfb) = _pair("a", a), _pair("b", b)
    scale = _scale(recipe, recipe_a, recipe_b, (1, 128, 128))
    if scale == _BLOCK_1D and d.dtype == torch.float32 and c is None:
        raise ValueError("c: expected a tensor with recipe (1, 1, 128), got None")
    _dense("fp8_gemm_nt", x, w, d, c, alpha, scale=scale, scale_a=sfa, scale_b=sfb)


def _turn(operand: Any) -> Any:
    """A pair of transposed views."""
    return tuple(part.t() for part in operand)


def fp8_gemm_nn(a: Pair, b: Pair, d: torch.Tensor, c: Optional[torch.Tensor] = None, *arguments: Any,
                **given: Any) -> None:
    """fp8_gemm_nt with b as the view (K, N) of a K-major matrix."""
    fp8_gemm_nt(a, _turn(_pair("b", b)), d, c, *arguments, **given)


def fp8_gemm_tn(a: Pair, b: Pair, d: torch.Tensor, c: Optional[torch.Tensor] = None, *arguments: Any,
                **given: Any) -> None:
    """fp8_gemm_nt with a as the view (K, M) and b as the view (K, N) of K-major matrices."""
    fp8_gemm_nt(_turn(_pair("a", a)), _turn(_pair("b", b)), d, c, *arguments, **given)


def fp8_gemm_tt(a: Pair, b: Pair, d: torch.Tensor, c: Optional[torch.Tensor] = None, *arguments: Any,
                **given: Any) -> None:
    """fp8_gemm_nt with a as the view (K, M) of a K-major matrix."""
    fp8_gemm_nt(_turn(_pair("a", a)), b, d, c, *arguments, **given)


def bf16_gemm_nt(a: torch.Tensor, b: torch.Tensor, d: torch.Tensor, c: Optional[torch.Tensor] = None,
                 compiled_dims: str = "nk", alpha: Optional[float] = None, epilogue: Any = None) -> None:
    """d[M, N] = a[M, K] b[N, K]^T (+ c) in bf16; either operand may be a transposed view. D is bf16 or float32."""
    del compiled_dims
    _refuse_epilogue(epilogue)
    _dense("bf16_gemm_nt", a, b, d, c, alpha)


def bf16_gemm_nn(a: torch.Tensor, b: torch.Tensor, d: torch.Tensor, c: Optional[torch.Tensor] = None, *arguments: Any,
                 **given: Any) -> None:
    """bf16_gemm_nt with b (K, N)."""
    bf16_gemm_nt(a, b.t(), d, c, *arguments, **given)


def bf16_gemm_tn(a: torch.Tensor, b: torch.Tensor, d: torch.Tensor, c: Optional[torch.Tensor] = None, *arguments: Any,
                 **given: Any) -> None:
    """bf16_gemm_nt with a (K, M) and b (K, N)."""
    bf16_gemm_nt(a.t(), b.t(), d, c, *arguments, **given)


def bf16_gemm_tt(a: torch.Tensor, b: torch.Tensor, d: torch.Tensor, c: Optional[torch.Tensor] = None, *arguments: Any,
                 **given: Any) -> None:
    """bf16_gemm_nt with a (K, M)."""
    bf16_gemm_nt(a.t(), b, d, c, *arguments, **given)


def _contiguous_groups(grouped_layout: torch.Tensor, use_psum_layout: bool) -> Dict[str, Any]:
    """ids of rows, of which the first of every 128 counts, or the ends of groups that start at aligned rows."""
    if use_psum_layout:
        return {"offsets": grouped_layout, "alignment": _state.get_mk_alignment_for_contiguous_layout()}
    return {"row_ids": grouped_layout, "alignment": 128}


def m_grouped_fp8_gemm_nt_contiguous(
        a: Pair, b: Pair, d: torch.Tensor, grouped_layout: torch.Tensor, recipe: Optional[Sequence[int]] = None,
        recipe_a: Optional[Sequence[int]] = None, recipe_b: Optional[Sequence[int]] = None, compiled_dims: str = "nk",
        disable_ue8m0_cast: bool = False, use_psum_layout: bool = False, ensure_zero_padding: bool = True,
        expected_m_for_psum_layout: Optional[int] = None, epilogue: Any = None) -> None:
    """d[M, N]: groups of rows of a [M, K], each times its matrix of b [G, N, K]. grouped_layout (int32): the group of
    each row, of which the first of every 128 rows counts, -1 for none; or with use_psum_layout the ends of groups."""
    del compiled_dims, disable_ue8m0_cast, ensure_zero_padding, expected_m_for_psum_layout
    _refuse_epilogue(epilogue)
    (x, sfa), (w, sfb) = _pair("a", a), _pair("b", b)
    scale = _scale(recipe, recipe_a, recipe_b, (1, 128, 128))
    if _empty(d):
        return
    _call("m_grouped_fp8_gemm_nt_contiguous", "grouped_gemm", x, w, out=d, scale=scale, scale_a=sfa, scale_b=sfb,
          **_contiguous_groups(grouped_layout, use_psum_layout))


def m_grouped_fp8_gemm_nn_contiguous(a: Pair, b: Pair, d: torch.Tensor, grouped_layout: torch.Tensor, *arguments: Any,
                                     **given: Any) -> None:
    """The same with b as the view (G, K, N) of K-major matrices."""
    data, scales = _pair("b", b)
    m_grouped_fp8_gemm_nt_contiguous(a, (data.mT, scales.mT), d, grouped_layout, *arguments, **given)


def _likely_rows(expected_m: int, a: torch.Tensor) -> int:
    """Rows of a group for the choice of a config: expected_m rounded up to a power of two, because each number is a plan
    of its own, and callers pass another one at every step."""
    return min(1 << max(int(expected_m) - 1, 0).bit_length(), a.shape[1])


def m_grouped_fp8_gemm_nt_masked(
        a: Pair, b: Pair, d: torch.Tensor, masked_m: torch.Tensor, expected_m: int,
        recipe: Optional[Sequence[int]] = None, recipe_a: Optional[Sequence[int]] = None,
        recipe_b: Optional[Sequence[int]] = None, compiled_dims: str = "nk", disable_ue8m0_cast: bool = False,
        epilogue: Any = None, **overlap: Any) -> None:
    """d[G, M, N] = a[G, M, K] b[G, N, K]^T for the first masked_m[g] rows of each group. expected_m helps to choose."""
    del compiled_dims, disable_ue8m0_cast
    _refuse_epilogue(epilogue)
    if unknown := set(overlap) - {"enable_overlap", "max_block_n", "signal"}:
        raise TypeError(f"unexpected keyword argument {sorted(unknown)[0]!r}")
    if overlap.get("enable_overlap") or overlap.get("signal") is not None:
        raise NotImplementedError("enable_overlap, signal: expected False and None, got signals for communication")
    (x, sfa), (w, sfb) = _pair("a", a), _pair("b", b)
    scale = _scale(recipe, recipe_a, recipe_b, (1, 128, 128))
    if _empty(d):
        return
    _call("m_grouped_fp8_gemm_nt_masked", "grouped_gemm", x, w, out=d, scale=scale, scale_a=sfa, scale_b=sfb,
          masked=masked_m, expected_sizes=_likely_rows(expected_m, x))


def m_grouped_bf16_gemm_nt_contiguous(a: torch.Tensor, b: torch.Tensor, d: torch.Tensor, grouped_layout: torch.Tensor,
                                      compiled_dims: str = "nk", use_psum_layout: bool = False,
                                      ensure_zero_padding: bool = True,
                                      expected_m_for_psum_layout: Optional[int] = None, epilogue: Any = None) -> None:
    """The bf16 form; b [G, N, K] may be a transposed view."""
    del compiled_dims, ensure_zero_padding, expected_m_for_psum_layout
    _refuse_epilogue(epilogue)
    if _empty(d):
        return
    _call("m_grouped_bf16_gemm_nt_contiguous", "grouped_gemm", a, b, out=d,
          **_contiguous_groups(grouped_layout, use_psum_layout))


def m_grouped_bf16_gemm_nn_contiguous(a: torch.Tensor, b: torch.Tensor, d: torch.Tensor, grouped_layout: torch.Tensor,
                                      *arguments: Any, **given: Any) -> None:
    """The same with b [G, K, N]."""
    m_grouped_bf16_gemm_nt_contiguous(a, b.mT, d, grouped_layout, *arguments, **given)


def m_grouped_bf16_gemm_nt_masked(a: torch.Tensor, b: torch.Tensor, d: torch.Tensor, masked_m: torch.Tensor,
                                  expected_m: int, compiled_dims: str = "nk", epilogue: Any = None) -> None:
    """The bf16 form of m_grouped_fp8_gemm_nt_masked."""
    del compiled_dims
    _refuse_epilogue(epilogue)
    if _empty(d):
        return
    _call("m_grouped_bf16_gemm_nt_masked", "grouped_gemm", a, b, out=d, masked=masked_m,
          expected_sizes=_likely_rows(expected_m, a))


def _sizes_of_k(ks_cpu: Optional[Sequence[int]], ks: Optional[Sequence[int]]) -> Optional[Sequence[int]]:
    """The list on the host by DeepGEMM's name, ks_cpu, or by SGLang's, ks."""
    if ks_cpu is not None and ks is not None:
        raise TypeError("ks: expected one list of sizes, got ks_cpu and ks")
    return ks if ks_cpu is None else ks_cpu


def _k_groups(ks_cpu: Optional[Sequence[int]], grouped_layout: torch.Tensor, use_psum_layout: bool) -> Dict[str, Any]:
    """Ends of groups along K on the device. The list on the host is checked, and not read by the product."""
    if use_psum_layout:
        return {"offsets": grouped_layout, "alignment": _state.get_mk_alignment_for_contiguous_layout()}
    if ks_cpu is not None and len(ks_cpu) != grouped_layout.shape[0]:
        raise ValueError(f"ks_cpu or ks: expected {grouped_layout.shape[0]} numbers, got {len(ks_cpu)}")
    return {"offsets": torch.cumsum(grouped_layout, 0, dtype=torch.int32)}


def _k_grouped(name: str, a: torch.Tensor, b: torch.Tensor, d: torch.Tensor, c: Optional[torch.Tensor],
               groups: Dict[str, Any], **given: Any) -> None:
    if c is None:
        raise ValueError("c: expected a tensor of d's shape, got None")
    if c.shape != d.shape or c.dtype != d.dtype:
        raise ValueError(f"c: expected {d.dtype} {tuple(d.shape)} like d, got {c.dtype} {tuple(c.shape)}")
    if _empty(d):
        return
    _call(name, "k_grouped_gemm", a, b, out=d, c=c, **groups, **given)


def k_grouped_fp8_gemm_nt_contiguous(a: Pair, b: Pair, d: torch.Tensor, ks_cpu: Optional[Sequence[int]] = None,
                                     grouped_layout: Optional[torch.Tensor] = None, c: Optional[torch.Tensor] = None,
                                     recipe: Sequence[int] = (1, 1, 128), compiled_dims: str = "mn",
                                     use_psum_layout: bool = False, use_padded_sf_layout: bool = False, *,
                                     ks: Optional[Sequence[int]] = None) -> None:
    """d[g] [M, N] = c[g] + a_g [M, K_g] b_g [N, K_g]^T in float32. The data of a and b are flat: the matrices of the
    groups one after another, each K-major by itself. Scales are (M, sum of K_g / 128) and (N, ...). grouped_layout
    (int32, on the device) has the K_g, multiples of 128, or their running ends with use_psum_layout. ks is SGLang's name
    of ks_cpu."""
    del compiled_dims
    ks_cpu = _sizes_of_k(ks_cpu, ks)
    if use_padded_sf_layout:
        raise NotImplementedError("use_padded_sf_layout: expected False, got True")
    if grouped_layout is None:
        raise TypeError("grouped_layout: expected int32 sizes of the groups, got None")
    (x, sfa), (w, sfb) = _pair("a", a), _pair("b", b)
    if tuple(recipe) != (1, 1, 128):
        raise NotImplementedError(f"recipe: expected (1, 1, 128), got {tuple(recipe)}")
    if d.dim() != 3 or x.dim() != 1 or w.dim() != 1:
        raise ValueError(f"a, b, d: expected 1, 1 and 3 dimensions, got {x.dim()}, {w.dim()} and {d.dim()}")
    _, m, n = d.shape
    if ks_cpu is not None and (bad := [k for k in ks_cpu if k % 128 != 0 or k < 0]):
        raise ValueError(f"ks_cpu or ks: expected multiples of 128, got {bad[0]}")
    k = x.numel() // m if m else 0
    if x.numel() != m * k or w.numel() != n * k or (ks_cpu is not None and not use_psum_layout and sum(ks_cpu) != k):
        raise ValueError(f"a, b: expected {m} and {n} times the sum of all K elements, got {x.numel()} and {w.numel()}")
    _k_grouped("k_grouped_fp8_gemm_nt_contiguous", x.view(m, k), w.view(n, k), d, c,
               _k_groups(ks_cpu, grouped_layout, use_psum_layout), scale=_BLOCK_1D, scale_a=sfa, scale_b=sfb,
               packing="per-group")


def k_grouped_bf16_gemm_tn_contiguous(a: torch.Tensor, b: torch.Tensor, d: torch.Tensor,
                                      ks_cpu: Optional[Sequence[int]] = None,
                                      grouped_layout: Optional[torch.Tensor] = None,
                                      c: Optional[torch.Tensor] = None, compiled_dims: str = "mn",
                                      use_psum_layout: bool = False, *, ks: Optional[Sequence[int]] = None) -> None:
    """d[g] [M, N] = c[g] + a_g^T b_g in float32 for a [sum of K_g, M], b [sum of K_g, N] in bf16."""
    del compiled_dims
    ks_cpu = _sizes_of_k(ks_cpu, ks)
    if grouped_layout is None:
        raise TypeError("grouped_layout: expected int32 sizes of the groups, got None")
    _k_grouped("k_grouped_bf16_gemm_tn_contiguous", a.t(), b.t(), d, c,
               _k_groups(ks_cpu, grouped_layout, use_psum_layout))


def cublaslt_gemm_nt(a: torch.Tensor, b: torch.Tensor, d: torch.Tensor, c: Optional[torch.Tensor] = None) -> None:
    """d = a b^T (+ c) by torch's cuBLAS, the yardstick of DeepGEMM's tests. FP8 operands count as unscaled."""
    if a.dtype.itemsize == 1:
        one = torch.ones((), dtype=torch.float32, device=a.device)
        product = torch._scaled_mm(a, b.t(), one, one, out_dtype=d.dtype)
        d.copy_(product if c is None else product + c)
    elif d.dtype == a.dtype:
        torch.mm(a, b.t(), out=d) if c is None else torch.addmm(c, a, b.t(), out=d)
    else:
        product = torch.mm(a, b.t(), out_dtype=d.dtype)
        d.copy_(product if c is None else product + c)


def cublaslt_gemm_nn(a: torch.Tensor, b: torch.Tensor, d: torch.Tensor, c: Optional[torch.Tensor] = None) -> None:
    """d = a b (+ c), as cublaslt_gemm_nt() computes its product."""
    cublaslt_gemm_nt(a, b.t(), d, c)


def cublaslt_gemm_tn(a: torch.Tensor, b: torch.Tensor, d: torch.Tensor, c: Optional[torch.Tensor] = None) -> None:
    """d = a^T b (+ c), as cublaslt_gemm_nt() computes its product."""
    cublaslt_gemm_nt(a.t(), b.t(), d, c)


def cublaslt_gemm_tt(a: torch.Tensor, b: torch.Tensor, d: torch.Tensor, c: Optional[torch.Tensor] = None) -> None:
    """d = a^T b^T (+ c), as cublaslt_gemm_nt() computes its product."""
    cublaslt_gemm_nt(a.t(), b, d, c)
