# SPDX-License-Identifier: Apache-2.0
"""scaled_mm and scaled_grouped_mm with the arguments of torch.nn.functional, and their meanings.

mat_b is (K, N), the transposed view of a weight (N, K). Scales have torch's layouts:

    TensorWise        one element                     RowWise  (M, 1) for mat_a, (1, N) for mat_b
    BlockWise1x128    (M, ceil(K/128)), outer dimension contiguous; of mat_b (N, ceil(K/128)) or its transpose
    BlockWise128x128  of mat_b (round_up(ceil(K/128), 4), ceil(N/128)) or without the padding, or transposed
    BlockWise1x32     e8m0 with SWIZZLE_32_4_4, ceil(rows/128) * ceil(K/128) * 512 elements in any shape
    BlockWise1x16     e4m3 with SWIZZLE_32_4_4, ceil(rows/128) * ceil(K/64) * 512 elements; beside TensorWise, one float

Recipes: TensorWise both, RowWise both, 1x128 with 128x128, 1x128 both; on Blackwell also 1x32 both (MXFP8, MXFP4) and 1x16
both, alone or each with TensorWise (NVFP4). Anything else raises NotImplementedError.
"""
import math
from typing import Any, Optional, Sequence, Tuple, Union

import torch
import torch.nn.functional as F

from .._errors import invalid
from ._ops import _direct, counted_as_one, gemm, grouped_gemm, k_grouped_gemm, k_of

Scale = Union[torch.Tensor, Sequence[torch.Tensor]]
_Type: Any = getattr(F, "ScalingType", None) or getattr(F, "_ScalingType")  # torch 2.10 and 2.11 have the latter
_RECIPES = {
    ("TensorWise", "TensorWise"): "tensor",
    ("RowWise", "RowWise"): "row-column",
    ("BlockWise1x128", "BlockWise128x128"): "block",
    ("BlockWise1x128", "BlockWise1x128"): "block-1d",
    ("BlockWise1x32", "BlockWise1x32"): "mx",
    ("BlockWise1x16", "BlockWise1x16"): "nv",
    ("BlockWise1x16, TensorWise", "BlockWise1x16, TensorWise"): "nv",
}
_CHUNKED = {"mx": 32, "nv": 16}  # elements of K that share a scale
# By number, because torch.compile does not hash the enumeration.
_BY_NUMBER = {tuple(tuple(getattr(_Type, level).value for level in one.split(", ")) for one in pair): recipe
              for pair, recipe in _RECIPES.items()}


def _single(argument: str, value: Any) -> Any:
    if not isinstance(value, (list, tuple)):
        return value
    if len(value) != 1:
        raise NotImplementedError(f"{argument}: one level of scales is supported, got {len(value)}")
    return value[0]


def _levels(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else (value,)


def _recipe(recipe_a: Any, recipe_b: Any) -> str:
    pair = (_levels(recipe_a), _levels(recipe_b))
    numbers = tuple(tuple(getattr(level, "value", level) for level in one) for one in pair)
    if numbers not in _BY_NUMBER:
        names = tuple(", ".join(str(getattr(level, "name", level)) for level in one) for one in pair)
        raise NotImplementedError(f"scale_recipe_a, scale_recipe_b: expected one of {list(_RECIPES)}, got {names}")
    return _BY_NUMBER[numbers]


def _output(dtype: Optional[torch.dtype]) -> torch.dtype:
    if dtype not in (torch.bfloat16, torch.float16, torch.float32):
        raise NotImplementedError("output_dtype: expected bfloat16, float16 or float32, got "
                                  f"{dtype if dtype is not None else 'None, which is the type of mat_a'}")
    return dtype


def _vector(argument: str, scale: torch.Tensor, *shape: int) -> torch.Tensor:
    """Scales that torch takes in several shapes with as many elements."""
    if scale.numel() != math.prod(shape):
        raise invalid(argument, f"shape {shape}", f"{tuple(scale.shape)}")
    return scale.reshape(shape)


def _refuse(recipe: str, swizzle_a: Any, swizzle_b: Any, contraction_dim: Sequence[int]) -> None:
    chunks = recipe in _CHUNKED
    for name, given in (("swizzle_a", swizzle_a), ("swizzle_b", swizzle_b)):
        first, *rest = _levels(given)
        if (getattr(first, "value", 0) == 1) != chunks:
            expected = ("SWIZZLE_32_4_4, in which warpwright.swizzle_scales() puts scales of rows" if chunks else
                        "NO_SWIZZLE")
            raise NotImplementedError(f"{name}: expected {expected}, got {getattr(first, 'name', first)}")
        if any(getattr(one, "value", 0) != 0 for one in rest):
            raise NotImplementedError(f"{name}: expected NO_SWIZZLE of the second level, got another")
    if len(contraction_dim) > 0 and tuple(contraction_dim) not in ((1, 0), (-1, -2), (-1, 0), (1, -2)):
        raise NotImplementedError(f"contraction_dim: expected (), got {tuple(contraction_dim)}")


def _chunks(argument: str, scale: torch.Tensor, rows: int, k: int, vector: int) -> torch.Tensor:
    """Scales of one operand as one row of chunks, which is their order in memory whatever their shape."""
    count = (rows + 127) // 128 * ((k + 4 * vector - 1) // (4 * vector)) * 512
    if scale.numel() != count or not scale.is_contiguous():
        raise invalid(argument, f"{count} contiguous elements", f"shape {tuple(scale.shape)}, strides {scale.stride()}")
    return scale.reshape(-1)


def _rows_of_chunks(argument: str, scale: torch.Tensor, count: int) -> torch.Tensor:
    """Scales in chunks, one row of bytes for each of `count` matrices; 0: one row in all."""
    if not scale.is_contiguous() or (count > 0 and scale.numel() % count != 0):
        raise invalid(argument, f"contiguous chunks for each of {count} matrices" if count > 0 else "contiguous chunks",
                      f"shape {tuple(scale.shape)}, strides {scale.stride()}")
    return scale.reshape(count, -1) if count > 0 else scale.reshape(-1)


def _chunks_of_groups(argument: str, scale: torch.Tensor, rows: int, columns: int) -> torch.Tensor:
    """Scales of groups of K, a matrix of chunks for each group one after the other, in memory for `columns` columns of
    chunks."""
    blocks = (rows + 127) // 128
    if not scale.is_contiguous() or scale.numel() % max(blocks * 512, 1) != 0:
        raise invalid(argument, f"contiguous chunks of each group of K, {blocks * 512} elements for 4 scales",
                      f"shape {tuple(scale.shape)}, strides {scale.stride()}")
    flat, count = scale.reshape(-1), columns * blocks * 512
    if flat.numel() >= count:
        return flat[:count]
    made = torch.zeros(count, dtype=torch.uint8, device=scale.device)
    made[: flat.numel()] = flat.view(torch.uint8)
    return made.view(scale.dtype)


def _check_columns(argument: str, scale: torch.Tensor, rows: int, offs: torch.Tensor, of_chunk: int) -> None:
    """Refuses fewer columns of chunks than the groups have, where the sizes of groups are known without a wait."""
    blocks = (rows + 127) // 128
    if offs.device.type != "cpu" or blocks == 0 or not _direct(offs, scale):
        return
    ends = offs.tolist()
    columns = sum(max(0, (end - start + of_chunk - 1) // of_chunk) for start, end in zip([0, *ends], ends))
    needed = columns * blocks * 512
    if scale.numel() < needed:
        raise invalid(argument, f"{needed} elements, chunks of each group of K", f"{scale.numel()}")


def _chunks_of_padded_groups(argument: str, scale: torch.Tensor, rows: int, columns: int, offs: torch.Tensor,
                             ends: torch.Tensor, of_chunk: int) -> torch.Tensor:
    """Those of groups that end at `ends` after padding, from those of groups that end at `offs`. The matrix of a group
    has its columns of chunks, of `of_chunk` elements of K, for each block of 128 rows; columns behind it are zero."""
    blocks = (rows + 127) // 128
    given = _chunks_of_groups(argument, scale, rows, scale.numel() // max(blocks * 512, 1)).view(torch.uint8)
    chunks = torch.cat((given.reshape(-1, 512), given.new_zeros(1, 512)))
    counts = (offs - torch.cat((offs.new_zeros(1), offs[:-1])) + of_chunk - 1) // of_chunk  # columns that a group has
    starts = counts.cumsum(0, dtype=torch.int32) - counts
    padded_ends = ends // of_chunk
    padded_starts = torch.cat((padded_ends.new_zeros(1), padded_ends[:-1]))
    number = torch.arange(columns * blocks, dtype=torch.int32, device=scale.device)
    group = torch.searchsorted(padded_ends * blocks, number, right=True)
    g = group.clamp(max=offs.shape[0] - 1)
    width = (padded_ends - padded_starts)[g].clamp(min=1)
    inside = number - padded_starts[g] * blocks
    block, column = inside // width, inside % width
    source = starts[g] * blocks + block * counts[g] + column
    absent = (group >= offs.shape[0]) | (column >= counts[g])
    source = torch.where(absent, chunks.shape[0] - 1, source).clamp(0, chunks.shape[0] - 1).long()
    return chunks[source].reshape(-1).view(scale.dtype)


def _levels_of(recipe_a: Any, scale_a: Any, scale_b: Any,
               of_groups: bool = False) -> Tuple[torch.Tensor, torch.Tensor, Optional[torch.Tensor]]:
    """The chunks of both operands and, of the second level, the product of both tensors' scales."""
    of_a, of_b = _levels(scale_a), _levels(scale_b)
    for name, levels in (("scale_a", of_a), ("scale_b", of_b)):
        if len(levels) != len(_levels(recipe_a)):
            raise invalid(name, f"a tensor for each level, {len(_levels(recipe_a))}", f"{len(levels)}")
    if len(of_a) == 1:
        return of_a[0], of_b[0], None
    for name, levels in (("scale_a", of_a), ("scale_b", of_b)):
        if of_groups and levels[1].numel() != 1:  # torch has one of each group
            raise NotImplementedError(f"{name}: expected one scale of the tensor for all groups, got {levels[1].numel()}")
    return of_a[0], of_b[0], _vector("scale_a", of_a[1], 1) * _vector("scale_b", of_b[1], 1)


def _blocks(extent: int) -> int:
    return (extent + 127) // 128


def _rows_by_blocks(argument: str, scale: torch.Tensor, rows: int, blocks: int, square: bool) -> torch.Tensor:
    """Scales as (rows, blocks of K) from either orientation. Where both fit it is torch's: (rows, blocks) of 1 x 128, and
    of 128 x 128 (blocks of K, blocks of N) with the former contiguous."""
    padded = (blocks + 3) // 4 * 4
    as_is = scale.dim() == 2 and scale.shape[0] == rows and scale.shape[1] in (blocks, padded)
    turned = scale.dim() == 2 and scale.shape[1] == rows and scale.shape[0] in (blocks, padded)
    if as_is and turned:
        turned = square and scale.stride(0) == 1
    if turned:
        scale = scale.t()
    elif not as_is:
        raise invalid(argument, f"({rows}, {blocks}) or ({blocks}, {rows})", tuple(scale.shape))
    return scale[:, :blocks]


def _dense_scales(recipe: str, scale_a: torch.Tensor, scale_b: torch.Tensor, m: int, n: int,
                  k: int) -> Tuple[torch.Tensor, torch.Tensor]:
    if recipe == "tensor":
        return _vector("scale_a", scale_a, 1), _vector("scale_b", scale_b, 1)
    if recipe == "row-column":
        return _vector("scale_a", scale_a, m), _vector("scale_b", scale_b, n)
    square = recipe == "block"
    return (_rows_by_blocks("scale_a", scale_a, m, _blocks(k), False),
            _rows_by_blocks("scale_b", scale_b, _blocks(n) if square else n, _blocks(k), square))


def scaled_mm(mat_a: torch.Tensor, mat_b: torch.Tensor, scale_a: Scale, scale_recipe_a: Any, scale_b: Scale,
              scale_recipe_b: Any, swizzle_a: Any = None, swizzle_b: Any = None, bias: Optional[torch.Tensor] = None,
              output_dtype: Optional[torch.dtype] = torch.bfloat16, contraction_dim: Sequence[int] = (),
              use_fast_accum: bool = False) -> torch.Tensor:
    """Returns scale(mat_a @ mat_b) + bias as torch.nn.functional.scaled_mm does: mat_a (M, K) and mat_b (K, N) in
    float8_e4m3fn or float8_e5m2, mat_b with contiguous columns, the result (M, N) of output_dtype. On Blackwell (on the
    CPU: emu:sm100) also in float4_e2m1fn_x2, of which torch counts pairs: (M, K/2) and (K/2, N).

    scale_a, scale_b        float32 in torch's layouts, float8_e8m0fnu of BlockWise1x32, float8_e4m3fn of BlockWise1x16; with
                            two levels a list of two
    scale_recipe_a, scale_recipe_b   torch.nn.functional.ScalingType: TensorWise twice, RowWise twice, BlockWise1x128 with
                            BlockWise128x128, BlockWise1x128 twice, BlockWise1x32 twice, or BlockWise1x16 or the list
                            [BlockWise1x16, TensorWise] twice
    swizzle_a, swizzle_b    None or NO_SWIZZLE; SWIZZLE_32_4_4 of BlockWise1x32 and BlockWise1x16
    contraction_dim         (), or the dimensions above; others raise NotImplementedError
    bias                    (N), added to the scaled product
    use_fast_accum          ignored; it is a permission that this library's kernels do not need
    """
    del use_fast_accum
    recipe = _recipe(scale_recipe_a, scale_recipe_b)
    _refuse(recipe, swizzle_a, swizzle_b, contraction_dim)
    if mat_a.dim() != 2 or mat_b.dim() != 2 or k_of(mat_a) != k_of(mat_b.t()):
        raise invalid("mat_a, mat_b", "(M, K) and (K, N)", f"{tuple(mat_a.shape)} and {tuple(mat_b.shape)}")
    m, k, n = mat_a.shape[0], k_of(mat_a), mat_b.shape[1]
    if recipe in _CHUNKED:
        of_a, of_b, factor = _levels_of(scale_recipe_a, scale_a, scale_b)
        return gemm(mat_a, mat_b.t(), _chunks("scale_a", of_a, m, k, _CHUNKED[recipe]),
                    _chunks("scale_b", of_b, n, k, _CHUNKED[recipe]), scale=recipe, global_scale=factor, bias=bias,
                    out_dtype=_output(output_dtype))
    of_a, of_b = _dense_scales(recipe, _single("scale_a", scale_a), _single("scale_b", scale_b), m, n, k)
    return gemm(mat_a, mat_b.t(), of_a, of_b, scale=recipe, bias=bias, out_dtype=_output(output_dtype))


def _padded_groups(operands: Sequence[torch.Tensor], offs: torch.Tensor) -> Tuple[Tuple[torch.Tensor, ...], torch.Tensor]:
    """Copies of operands (rows, K) in which every group of K is padded with zeros to a multiple of 128 bytes; and ends.
    `offs` and ends count elements, of which those of 4 bits are pairs in a byte."""
    of_byte = counted_as_one(operands[0])
    offs, k, groups, device = offs // of_byte, operands[0].shape[1], offs.shape[0], offs.device
    columns = (k + 127 * groups) // 128 * 128  # as many as they may need
    starts = torch.cat((offs.new_zeros(1), offs[:-1]))
    padded = (offs - starts + 127) // 128 * 128
    ends = padded.cumsum(0, dtype=torch.int32)
    column = torch.arange(k, dtype=torch.int32, device=device)
    group = torch.searchsorted(offs, column, right=True)
    to = column + (ends - padded - starts)[group.clamp(max=groups - 1)]
    to = torch.where(group < groups, to, columns).long()  # columns in no group go to one that nobody reads
    made = []
    for operand in operands:
        storage = torch.zeros((operand.shape[0], columns + 16), dtype=torch.uint8, device=device)
        storage.index_copy_(1, to, operand.view(torch.uint8))
        made.append(storage[:, :columns].view(operand.dtype))
    return tuple(made), ends * of_byte


def _groups_of_k(mat_a: torch.Tensor, mat_b: torch.Tensor, of_a: torch.Tensor, of_b: torch.Tensor,
                 factor: Optional[torch.Tensor], recipe: str, offs: torch.Tensor, alignment: int,
                 dtype: torch.dtype) -> torch.Tensor:
    """The products of groups of K, which kernels read where each begins at a multiple of 128 bytes."""
    groups, given = offs.shape[0], offs
    a, b = mat_a, mat_b.t()
    if counted_as_one(a) != counted_as_one(b):
        raise NotImplementedError(f"mat_b: expected {a.dtype} as mat_a, in groups of K of 4 bits, got {b.dtype}")
    if recipe == "row-column":
        of_a = _vector("scale_a", of_a, groups, a.shape[0])
        of_b = _vector("scale_b", of_b, groups, b.shape[0])
    span = 128 * counted_as_one(a)
    pads = recipe in ("tensor", "row-column", "mx", "nv") and alignment % span != 0 and groups > 0
    if pads:
        (a, b), offs = _padded_groups((a, b), offs)
    if recipe in _CHUNKED:
        of_chunk = 4 * _CHUNKED[recipe]
        columns = (k_of(a) + of_chunk - 1) // of_chunk
        for_rows = {"scale_a": (of_a, a.shape[0]), "scale_b": (of_b, b.shape[0])}
        for name, (scale, rows) in for_rows.items():
            _check_columns(name, scale, rows, given, of_chunk)
        of_a, of_b = (_chunks_of_padded_groups(name, scale, rows, columns, given, offs, of_chunk)
                      if pads and span > of_chunk else _chunks_of_groups(name, scale, rows, columns)
                      for name, (scale, rows) in for_rows.items())
    return k_grouped_gemm(a, b, offs, of_a, of_b, scale=recipe, global_scale=factor, out_dtype=dtype)


def scaled_grouped_mm(mat_a: torch.Tensor, mat_b: torch.Tensor, scale_a: Scale, scale_recipe_a: Any, scale_b: Scale,
                      scale_recipe_b: Any, swizzle_a: Any = None, swizzle_b: Any = None,
                      bias: Optional[torch.Tensor] = None, offs: Optional[torch.Tensor] = None,
                      output_dtype: Optional[torch.dtype] = torch.bfloat16, contraction_dim: Sequence[int] = (),
                      use_fast_accum: bool = False, *, alignment: int = 1) -> torch.Tensor:
    """Grouped products as torch.nn.functional.scaled_grouped_mm has them; offs (int32, on the device) are ends of groups.

    mat_a (M, K), mat_b (G, K, N)   groups of rows: (M, N). Rows from offs[-1] on are zero, where torch leaves them
                                    uninitialised. Beside torch's RowWise (scale_a (M), scale_b (G, N)), TensorWise and
                                    1x128 with 128x128 (scale_b (G, ceil(N/128), ceil(K/128))).
    mat_a (M, K), mat_b (K, N)      groups of K: (G, M, N). RowWise with scales (G * M) and (G * N), TensorWise, and 1x128
                                    twice, (M, K/128) and (N, K/128), for groups of multiples of 128. Kernels read
                                    no other groups: the rest are padded in a copy, unless alignment=128 promises
                                    that there are none.
    mat_a (G, M, K), mat_b (G, K, N)  a batch, without offs.

    BlockWise1x32 and BlockWise1x16 with SWIZZLE_32_4_4 are taken on Blackwell. For groups of rows and batches: chunks of
    each group padded to 128 rows, those of mat_a one group after the other in memory for (M + 127 G) / 128 blocks of rows
    or more. For groups of K: chunks of each group, one group after the other, which are ceil(rows/128) * ceil(size/128)
    chunks of 512 elements for a group of that size (ceil(size/64) of BlockWise1x16). With offs on the CPU fewer raise
    ValueError; on a GPU the sizes are unknown to the host, and groups whose chunks are missing have wrong products. offs
    count elements, also of pairs of 4 bits, whose groups are even; groups that are not multiples of 128 (of 4 bits 256)
    are padded in a copy, as above. The second level of [BlockWise1x16, TensorWise] is one scale for all groups.

    alignment               a promise that every group has a multiple of so many rows, or elements of K

    scale_a, scale_b, scale_recipe_a, scale_recipe_b, swizzle_a, swizzle_b, bias, output_dtype, contraction_dim and
    use_fast_accum are those of scaled_mm(); there is no bias for groups of K.
    """
    del use_fast_accum
    recipe = _recipe(scale_recipe_a, scale_recipe_b)
    _refuse(recipe, swizzle_a, swizzle_b, contraction_dim)
    factor = None
    if recipe in _CHUNKED:
        of_a, of_b, factor = _levels_of(scale_recipe_a, scale_a, scale_b, of_groups=True)
        if mat_b.dim() == 3:
            of_a = _rows_of_chunks("scale_a", of_a, mat_a.shape[0] if mat_a.dim() == 3 else 0)
            of_b = _rows_of_chunks("scale_b", of_b, mat_b.shape[0])
    else:
        of_a, of_b = _single("scale_a", scale_a), _single("scale_b", scale_b)
    dtype = _output(output_dtype)
    if alignment < 1:
        raise invalid("alignment", "a positive number", alignment)
    if mat_a.dim() == 3 and mat_b.dim() == 3 and offs is None:
        return gemm(mat_a, mat_b.transpose(-2, -1), of_a, of_b, scale=recipe, global_scale=factor, bias=bias,
                    out_dtype=dtype)
    if offs is None:
        raise invalid("offs", "the ends of the groups", None)
    if offs.dtype != torch.int32 or offs.dim() != 1:
        raise invalid("offs", "int32 in one dimension", f"{offs.dtype} of shape {tuple(offs.shape)}")
    if mat_a.dim() == 2 and mat_b.dim() == 3:
        return grouped_gemm(mat_a, mat_b.transpose(-2, -1), offs, of_a.reshape(-1) if recipe == "row-column" else of_a,
                            of_b, scale=recipe, global_scale=factor, bias=bias, zero_outside=True, alignment=alignment,
                            out_dtype=dtype)
    if mat_a.dim() == 2 and mat_b.dim() == 2:
        if bias is not None:
            raise NotImplementedError("bias: expected None for groups of K, got a tensor")
        return _groups_of_k(mat_a, mat_b, of_a, of_b, factor, recipe, offs, alignment, dtype)
    raise NotImplementedError(f"mat_a, mat_b: expected 2 and 3, 2 and 2 or 3 and 3 dimensions, got {mat_a.dim()} and "
                              f"{mat_b.dim()}")
