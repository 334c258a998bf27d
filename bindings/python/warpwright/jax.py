# SPDX-License-Identifier: Apache-2.0
"""Products of JAX arrays, under jit and without: on NVIDIA GPUs, and on the emulated device for arrays on the CPU.

    from warpwright.jax import gemm
    y = jax.jit(lambda x, w: gemm(x, w))(x, w)        # x [M, K], w [N, K], y [M, N]

The operations are calls through XLA's foreign function interface. They may be captured in command buffers, and are
opaque to XLA's partitioner: wrap them in jax.shard_map. Under vmap the calls are made one after another; pass a batch
to gemm instead. Kernels are compiled when a function is traced, or for other devices before its first execution.
"""
import functools
import re
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

import jax
import jax.numpy as jnp

from . import _native
from ._errors import invalid as _invalid
from ._native import UnsupportedError

__all__ = ["gemm", "grouped_gemm", "linear", "counters"]

# The orders of JaxRole and JaxNumber in src/jax_call.hpp.
_ROLES = {name: number for number, name in enumerate(
    ("a", "b", "scale_a", "scale_b", "sizes", "sizes2", "c", "row0", "row1", "row2", "row3", "col0", "col1", "col2",
     "col3", "aux0", "aux1", "aux2", "aux3", "global_scale", "workspace", "d"))}
# The numbers of warpwright.h.
_TYPES = {"float8_e4m3fn": 1, "float8_e5m2": 2, "bfloat16": 3, "float16": 4, "float32": 5}
_PACKED = {"e2m1": (7, 4), "e3m2": (8, 6), "e2m3": (9, 6)}  # and the bits of an element
_SCALES = {None: 0, "none": 0, "tensor": 1, "row-column": 2, "block": 3, "block-1d": 4, "mx": 6, "nv": 7}
_MX, _NV = _SCALES["mx"], _SCALES["nv"]
_SCALE_TYPES = {_MX: 1, _NV: 2}
_OF_CHUNKS = {_MX: (32, "float8_e8m0fnu"), _NV: (16, "float8_e4m3fn")}  # elements of a scale, and its type
_ENCODINGS = {"offsets": 0, "indptr": 1, "starts-counts": 2, "row-ids": 3, "masked": 4}
_GEMM, _GROUPED = 1, 2
_NO_WORKSPACE = -1


class _Call(NamedTuple):
    """What a call is beside its arrays; hashable, because it is an argument that jit treats as static."""
    operation: int
    roles: Tuple[int, ...]
    numbers: Tuple[int, ...]
    scalars: Tuple[float, ...]
    epilogue: str
    config: str
    out_shape: Tuple[int, ...]
    out_dtype: str
    in_place: int = -1  # the array whose memory becomes the result's
    expected_sizes: str = ""


@functools.lru_cache(maxsize=None)
def _register(platform: str) -> None:
    handler = _native.jax_handler(platform)
    for name in ("warpwright_gemm", "warpwright_grouped_gemm"):
        if platform == "CUDA":
            jax.ffi.register_ffi_target(name, {"initialize": handler, "execute": handler}, platform=platform)
        else:
            jax.ffi.register_ffi_target(name, handler, platform=platform)


def counters() -> Dict[str, int]:
    """Returns what the default device has done for this module: {"launches", "plans", "kernels", "compiled"}, where
    kernels are those that were loaded and compiled those of them that a compiler had to make. A call in a command
    buffer is launched when XLA records the buffer, not at its executions."""
    return _native.jax_counters(_ordinal())


def _ordinal() -> int:
    """The device for which workspaces are sized: the first GPU of the default backend, or -1 for the emulated one."""
    config: Any = jax.config
    chosen = config.jax_default_device
    platform = getattr(chosen, "platform", chosen) or jax.default_backend()
    if platform in ("gpu", "cuda"):
        return int(getattr(chosen, "local_hardware_id", 0) or 0)
    return -1


def _bind(call: _Call, arrays: Sequence[jax.Array]) -> jax.Array:
    ordinal = _ordinal()
    _register("CUDA" if ordinal >= 0 else "cpu")
    struct: Any = jax.ShapeDtypeStruct
    out_shape = struct(call.out_shape, call.out_dtype)
    roles = call.roles + (_ROLES["d"],)
    described: List[Any] = [*arrays, out_shape]
    specs = tuple((_TYPES.get(x.dtype.name, 0), tuple(x.shape)) for x in described)
    workspace = 0
    if 0 not in call.out_shape:
        workspace = _native.jax_workspace_bytes(ordinal, roles, specs, call.numbers, call.epilogue, call.config,
                                                call.expected_sizes)
    results: List[Any] = [out_shape]
    aliases = {call.in_place: 0} if call.in_place >= 0 else {}
    operands = list(arrays)
    roles = call.roles
    if workspace > 0:
        # XLA clears the array before every execution, inside a command buffer too. Its arrays on the CPU are aligned to
        # less than the 256 bytes that the handler rounds up to.
        workspace += 256
        aliases[len(operands)] = 1
        roles += (_ROLES["workspace"],)
        operands.append(jnp.zeros((workspace,), jnp.uint8))
        results.append(struct((workspace,), jnp.uint8))
    name = "warpwright_gemm" if call.operation == _GEMM else "warpwright_grouped_gemm"
    outputs = jax.ffi.ffi_call(name, results, input_output_aliases=aliases, vmap_method="sequential")(
        *operands, roles=_array(roles, "int64"), numbers=_array(call.numbers, "int64"),
        scalars=_array(call.scalars, "float32"), epilogue=call.epilogue, config=call.config,
        expected_sizes=call.expected_sizes)
    return outputs[0]


def _array(values: Sequence[Any], dtype: str) -> Any:
    import numpy as np
    return np.asarray(values, dtype=dtype)


def _type_of(argument: str, array: Any) -> str:
    name = str(array.dtype)
    if name not in _TYPES:
        raise _invalid(argument, "an array of " + ", ".join(_TYPES), name)
    return name


def _collect(a: Any, b: Any, named: Sequence[Tuple[str, Any]]) -> Tuple[Tuple[int, ...], List[jax.Array]]:
    """The roles and arrays that were given, a and b first."""
    roles, arrays = [_ROLES["a"], _ROLES["b"]], [jnp.asarray(a), jnp.asarray(b)]
    for name, value in named:
        if value is not None:
            roles.append(_ROLES[name])
            arrays.append(jnp.asarray(value))
    return tuple(roles), arrays


def _scalars(alpha: Any, beta: Any, scalar2: Any, scalar3: Any) -> Tuple[Tuple[float, ...], int]:
    given = [alpha, beta, scalar2, scalar3]
    mask = sum(1 << i for i, value in enumerate(given) if value is not None)
    return tuple(1.0 if value is None else float(value) for value in given), mask


def _check_matrix(argument: str, array: Any, shape: Tuple[int, ...], meaning: str) -> None:
    if array is not None and tuple(array.shape) != shape:
        raise _invalid(argument, f"shape {shape} ({meaning})", tuple(array.shape))


def _check_epilogue(rows: Tuple[int, ...], columns: int, outer: int, named: Sequence[Tuple[str, Any]]) -> None:
    """`rows` are the extents of D before its last one; `outer` the groups or matrices that may have own vectors."""
    for name, array in named:
        if array is None:
            continue
        shape = tuple(array.shape)
        if name == "c" or name.startswith("aux"):
            _check_matrix(name, array, (*rows, columns), "that of the product")
        elif name.startswith("row") and shape not in ((columns,), (outer, columns)):
            raise _invalid("bias" if name == "row0" else name, f"shape {(columns,)} or {(outer, columns)}", shape)
        elif name.startswith("col") and shape not in ((rows[-1],), rows):
            raise _invalid(name, f"shape {(rows[-1],)} or {rows}", shape)


def _block_count(extent: int) -> int:
    return -(-extent // 128)


def _factor(argument: str, array: Any, named: Any) -> Tuple[int, int]:
    """The number of the packed type that is named for bytes, or 0, and the elements of a row."""
    if named is None:
        _type_of(argument, array)
        return 0, array.shape[-1]
    name = str(getattr(named, "name", named))
    name = {"float4_e2m1fn": "e2m1", "float6_e3m2fn": "e3m2", "float6_e2m3fn": "e2m3"}.get(name, name)
    if name not in _PACKED:
        raise _invalid(f"{argument}_dtype", f"None or {', '.join(_PACKED)}", name)
    if str(array.dtype) != "uint8":
        raise _invalid(argument, f"uint8 bytes of packed {name}", str(array.dtype))
    number, bits = _PACKED[name]
    if array.shape[-1] * 8 % bits:
        raise _invalid(argument, f"rows of whole elements of {bits} bits", f"{array.shape[-1]} bytes")
    return number, array.shape[-1] * 8 // bits


def _check_chunks(recipe: int, scale_a: Any, scale_b: Any, blocks_a: int, blocks_b: int, k: int, outer_a: Tuple[int, ...],
                  outer_b: Tuple[int, ...], groups: bool) -> None:
    """Chunks of `blocks` times 128 rows, for each matrix of a batch or for all of them; of groups for each group, or of A
    at least so many bytes, if its groups follow one another."""
    vector, own = _OF_CHUNKS[recipe]
    for name, array, blocks, outer in (("scale_a", scale_a, blocks_a, outer_a), ("scale_b", scale_b, blocks_b, outer_b)):
        if str(array.dtype) not in (own, "uint8"):
            raise _invalid(name, f"{own} or uint8", array.dtype)
        count, shape = blocks * -(-k // (4 * vector)) * 512, tuple(array.shape)
        if groups and not outer:
            if len(shape) != 1 or shape[0] < count:
                raise _invalid(name, f"at least {count} bytes in chunks, one dimension", shape)
        elif shape != (*outer, count) and (groups or shape != (count,)):
            legal = [(*outer, count)] if groups or not outer else [(count,), (*outer, count)]
            raise _invalid(name, " or ".join(f"shape {one}" for one in legal) + ", bytes in chunks", shape)


def _check_global_scale(recipe: int, factor: Any) -> None:
    if factor is None:
        return
    if recipe != _NV:
        raise _invalid("global_scale", "None without scales of nv", "an array")
    if factor.size != 1 or str(factor.dtype) != "float32":
        raise _invalid("global_scale", "one float32", f"{factor.dtype} {tuple(factor.shape)}")


def _scale_recipe(scale: Optional[str], scale_a: Any, scale_b: Any, m: int, n: int, k: int) -> int:
    """The number of the recipe that is named, or that the shapes of the scales (without batch or groups) fit."""
    if scale not in _SCALES:
        raise _invalid("scale", "none, tensor, row-column, block, block-1d, mx or nv", scale)
    if (scale_a is None) != (scale_b is None):
        raise _invalid("scale_b" if scale_b is None else "scale_a", "scales of both operands or of neither", "one")
    if scale is not None or scale_a is None:
        if (scale_a is None) != (scale in (None, "none")):
            raise _invalid("scale_a", f"scales if and only if the recipe has them (scale={scale})",
                           "none" if scale_a is None else "scales")
        return _SCALES[scale]
    for recipe, (_, own) in _OF_CHUNKS.items():
        if str(scale_a.dtype) == own:
            return recipe
    kb, nb = _block_count(k), _block_count(n)
    shape_b = tuple(scale_b.shape)
    if tuple(scale_a.shape[-2:]) == (m, kb) and shape_b[-2:] == (nb, kb):
        return _SCALES["block"]
    if tuple(scale_a.shape[-2:]) == (m, kb) and shape_b[-2:] == (n, kb):
        return _SCALES["block-1d"]
    if scale_a.shape[-1:] == (m,) and shape_b[-1:] == (n,) and (m, n) != (1, 1):
        return _SCALES["row-column"]
    if scale_a.size == 1:
        return _SCALES["tensor"]
    raise _invalid("scale_a", f"one scale, ({m},), or ({m}, {kb}), and scale_b to match", tuple(scale_a.shape))


def _check_scales(recipe: int, scale_a: Any, scale_b: Any, m: int, n: int, k: int, outer_a: Tuple[int, ...],
                  outer_b: Tuple[int, ...]) -> None:
    if recipe == 0:
        return
    kb = _block_count(k)
    inner_a = {1: (), 2: (m,), 3: (m, kb), 4: (m, kb)}[recipe]
    inner_b = {1: (), 2: (n,), 3: (_block_count(n), kb), 4: (n, kb)}[recipe]
    for name, array, inner, outer in (("scale_a", scale_a, inner_a, outer_a), ("scale_b", scale_b, inner_b, outer_b)):
        if str(array.dtype) != "float32":
            raise _invalid(name, "float32", array.dtype)
        shape = tuple(array.shape)
        legal = ((), (1,), outer) if recipe == 1 else (inner, (*outer, *inner))
        if shape not in legal:
            raise _invalid(name, " or ".join(f"shape {one}" for one in dict.fromkeys(legal)), shape)


_SHORT = {"bfloat16": "bf16", "float16": "f16", "float32": "f32"}


def _typed(epilogue: str, named: Sequence[Tuple[str, Any]], mask: int) -> str:
    """The text with the types of its operands, "acc + bias:bf16", or the one that the operands alone imply."""
    types = {name: _SHORT.get(str(array.dtype)) for name, array in named if array is not None}
    if "row0" in types:
        types["bias"] = types["row0"]
    if not epilogue and (mask or types):
        epilogue = "acc" + (" * alpha" if mask & 1 else "")
        epilogue += (" + c * beta" if mask & 2 else " + c") if "c" in types else ""
        epilogue += " + bias" if "bias" in types else ""
    for name, short in types.items():
        if short is None and not name.startswith("col"):
            raise _invalid(name, "bfloat16, float16 or float32", next(str(a.dtype) for n, a in named if n == name))

    def with_type(match: "re.Match[str]") -> str:
        short = types.get(match.group(0))
        return f"{match.group(0)}:{short}" if short else match.group(0)

    return re.sub(r"\b(c|bias|row[0-3]|aux[0-3])\b(?!\s*:)", with_type, epilogue)


def _columns(epilogue: str, n: int) -> int:
    """The columns of D: SwiGLU halves them."""
    return n // 2 if "swiglu" in epilogue else n


def gemm(a: Any, b: Any, *, scale_a: Any = None, scale_b: Any = None, scale: Optional[str] = None,
         global_scale: Any = None, a_dtype: Any = None, b_dtype: Any = None, out_dtype: Any = None,
         transpose_a: bool = False, transpose_b: bool = False, epilogue: str = "",
         alpha: Optional[float] = None, beta: Optional[float] = None, scalar2: Optional[float] = None,
         scalar3: Optional[float] = None, c: Any = None, bias: Any = None, row1: Any = None, row2: Any = None,
         row3: Any = None, col0: Any = None, col1: Any = None, col2: Any = None, col3: Any = None, aux0: Any = None,
         aux1: Any = None, aux2: Any = None, aux3: Any = None, config: str = "",
         batch_invariant: bool = False, in_place: bool = False) -> jax.Array:
    """Returns epilogue(scale (A[M, K] B[N, K]^T)), an array [M, N] of `out_dtype` (bfloat16 unless given).

    a, b       arrays of float8_e4m3fn, float8_e5m2, bfloat16, float16, or float32 (multiplied as tf32): (M, K) and
               (N, K). With transpose_a or transpose_b, (K, M) or (K, N): 16-bit types only. A leading dimension makes
               a batch of products; one operand without it serves them all.
    a_dtype, b_dtype   "e2m1", "e3m2" or "e2m3": the array holds packed bytes, uint8 (..., K * bits / 8), as
               warpwright.pack_elements() makes them.
    scale      recipe of scale_a and scale_b (float32): "tensor" (one each), "row-column" ((M,) and (N,)), "block"
               ((M, ceil(K/128)) and (ceil(N/128), ceil(K/128))), "block-1d" ((M, ceil(K/128)) and (N, ceil(K/128)));
               found from the shapes if not given. A batch may have scales of its own, in front.
               "mx" and "nv": float8_e8m0fnu or float8_e4m3fn, or uint8, in chunks of 512 bytes, one dimension for each
               matrix, as warpwright.swizzle_scales() makes them. These, and packed operands, need Blackwell; arrays on
               the CPU run on emu:sm100.
    global_scale   with "nv" one float32, one more factor of every product.
    epilogue   text such as "silu(acc * alpha + bias)" (docs/api.md) with its operands by name: scalars are Python
               numbers (alpha, beta, scalar2, scalar3); bias, row1, row2, row3 are (N,), col0, col1, col2, col3 (M,), c,
               aux0, aux1, aux2, aux3 (M, N).
    config     text of warpwright.configs(), or a part of one.
    batch_invariant   the bits of a row depend neither on M nor on the number of SMs.
    in_place   the result takes the memory of c, whose shape and type it has. XLA copies c first where it is used again;
               donate it to jit, or compute it there, so that it is not.
    Differentiable in a and b without epilogue and scales, for 16-bit and float32 arrays whose K is a multiple of 8; other
    derivatives raise warpwright.UnsupportedError, and those of products in FP8 are linear()'s. Raises
    warpwright.InvalidError or warpwright.UnsupportedError, which name the argument, what was expected and what was given.
    """
    named = [("scale_a", scale_a), ("scale_b", scale_b), ("c", c), ("row0", bias), ("row1", row1), ("row2", row2),
             ("row3", row3), ("col0", col0), ("col1", col1), ("col2", col2), ("col3", col3), ("aux0", aux0),
             ("aux1", aux1), ("aux2", aux2), ("aux3", aux3)]
    a, b = jnp.asarray(a), jnp.asarray(b)
    (type_a, row_a), (type_b, row_b) = _factor("a", a, a_dtype), _factor("b", b, b_dtype)
    for name, array in (("a", a), ("b", b)):
        if array.ndim not in (2, 3):
            raise _invalid(name, "two dimensions, or three with a batch", tuple(array.shape))
    m, k = (row_a, a.shape[-2]) if transpose_a else (a.shape[-2], row_a)
    n, k_b = (row_b, b.shape[-2]) if transpose_b else (b.shape[-2], row_b)
    if k != k_b:
        raise _invalid("b", f"K = {k} like a", f"K = {k_b}")
    batch: Tuple[int, ...] = tuple(a.shape[:-2]) or tuple(b.shape[:-2])
    if a.ndim == 3 and b.ndim == 3 and a.shape[0] != b.shape[0]:
        raise _invalid("b", f"a batch of {a.shape[0]} like a", f"{b.shape[0]}")
    recipe = _scale_recipe(scale, scale_a, scale_b, m, n, k)
    if recipe in _OF_CHUNKS:
        _check_chunks(recipe, scale_a, scale_b, _block_count(m), _block_count(n), k, batch, batch, False)
    else:
        _check_scales(recipe, scale_a, scale_b, m, n, k, batch, batch)
    _check_global_scale(recipe, global_scale)
    _check_epilogue((*batch, m), n, batch[0] if batch else 1, named[2:])
    scalars, mask = _scalars(alpha, beta, scalar2, scalar3)
    epilogue = _typed(epilogue, named[2:], mask)
    roles, arrays = _collect(a, b, [*named, ("global_scale", global_scale)])
    out = jnp.dtype(jnp.bfloat16 if out_dtype is None else out_dtype).name
    numbers = (_GEMM, recipe, int(transpose_a), int(transpose_b), 0, 0, 0, mask, int(batch_invariant), _NO_WORKSPACE,
               type_a, type_b, _SCALE_TYPES.get(recipe, 0))
    shape = (*batch, m, _columns(epilogue, n))
    if in_place and (c is None or tuple(c.shape) != shape or str(c.dtype) != out):
        raise _invalid("c", f"{out} {shape} like the result, whose memory it becomes",
                       "none" if c is None else f"{c.dtype} {tuple(c.shape)}")
    call = _Call(_GEMM, roles, numbers, scalars, epilogue, config, shape, out,
                 roles.index(_ROLES["c"]) if in_place else -1)
    if recipe == 0 and not epilogue and a.dtype.itemsize > 1 and b.dtype.itemsize > 1:
        return _differentiable(call, a, b)
    return _constant(call, *arrays)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _constant(call: _Call, *arrays: jax.Array) -> jax.Array:
    return _bind(call, arrays)


@_constant.defjvp
def _no_derivative(call: _Call, primals: Any, tangents: Any) -> Any:
    del primals, tangents
    name = "gemm" if call.operation == _GEMM else "grouped_gemm"
    expected = "no derivative of a product with scales, FP8 operands, an epilogue or groups; linear() has those of FP8"
    error = UnsupportedError(f"unsupported: argument a: expected {expected}, got one of {name}()")
    error.argument, error.expected, error.actual = "a", expected, f"one of {name}()"
    raise error


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _differentiable(call: _Call, a: jax.Array, b: jax.Array) -> jax.Array:
    return _bind(call, (a, b))


def _forward(call: _Call, a: jax.Array, b: jax.Array) -> Tuple[jax.Array, Tuple[jax.Array, jax.Array]]:
    return _bind(call, (a, b)), (a, b)


def _padded(array: jax.Array) -> jax.Array:
    """Adds zeros to the last dimension, so that it becomes a multiple of 4."""
    zeros = -array.shape[-1] % 4
    return jnp.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, zeros)]) if zeros else array


def _backward(call: _Call, saved: Tuple[jax.Array, jax.Array], g: jax.Array) -> Tuple[jax.Array, jax.Array]:
    a, b = saved
    a_mn, b_mn = bool(call.numbers[2]), bool(call.numbers[3])
    invariant = bool(call.numbers[8])

    def product(x: jax.Array, x_mn: bool, y: jax.Array, y_mn: bool, like: jax.Array) -> jax.Array:
        x, y = (z.astype(like.dtype) for z in (x, y))
        if like.dtype == jnp.float32:  # tf32 is K-major, with rows of multiples of 16 bytes
            x, x_mn = _padded(jnp.swapaxes(x, -1, -2) if x_mn else x), False
            y, y_mn = _padded(jnp.swapaxes(y, -1, -2) if y_mn else y), False
        made = gemm(x, y, transpose_a=x_mn, transpose_b=y_mn, out_dtype=like.dtype, batch_invariant=invariant)
        return made.sum(0, dtype=jnp.float32).astype(like.dtype) if made.ndim > like.ndim else made

    # dA = G B and dB = G^T A; stored transposed, they are B^T G^T and A^T G.
    grad_a = product(b, not b_mn, g, False, a) if a_mn else product(g, False, b, not b_mn, a)
    grad_b = product(a, not a_mn, g, True, b) if b_mn else product(g, True, a, not a_mn, b)
    return grad_a, grad_b


_differentiable.defvjp(_forward, _backward)


def _expected_text(expected: Any) -> str:
    """The text of the problem's field: integers that are known while tracing, one for each group or one for all."""
    if expected is None or isinstance(expected, str):
        return expected or ""
    import numpy as np
    try:
        given = np.asarray(expected)  # JAX raises a TypeError for a traced array, whose value nobody knows yet
    except (TypeError, ValueError):
        given = np.asarray("no array")
    if given.ndim > 1 or (given.size > 0 and given.dtype.kind not in "iu"):
        raise _invalid("expected_sizes", "integers known while tracing, one for each group or one for all", repr(expected))
    return ",".join(map(str, given.ravel().tolist()))


def grouped_gemm(a: Any, b: Any, sizes: Any, sizes2: Any = None, *, encoding: str = "offsets", alignment: int = 1,
                 scale_a: Any = None, scale_b: Any = None, scale: Optional[str] = None, global_scale: Any = None,
                 a_dtype: Any = None, b_dtype: Any = None, out_dtype: Any = None, zero_outside: bool = True,
                 expected_sizes: Union[None, int, str, Sequence[int]] = None, epilogue: str = "",
                 alpha: Optional[float] = None, beta: Optional[float] = None, scalar2: Optional[float] = None, scalar3: Optional[float] = None,
                 c: Any = None, bias: Any = None, row1: Any = None, row2: Any = None, row3: Any = None,
                 col0: Any = None, col1: Any = None, col2: Any = None, col3: Any = None, aux0: Any = None,
                 aux1: Any = None, aux2: Any = None, aux3: Any = None, config: str = "") -> jax.Array:
    """Returns D[r, :] = epilogue(scale (A[r, :] B[group of r]^T)), an array [M, N] of `out_dtype` (bfloat16).

    a, b       (M, K) and (G, N, K); with encoding "masked" a is (G, Mmax, K) and the result (G, Mmax, N).
    sizes      int32, on the device: "offsets" (G,) ends of groups, "indptr" (G + 1,), "starts-counts" (G,) first rows
               with sizes2 (G,) counts, "row-ids" (M,), "masked" (G,) rows used of each block. Never read by the host.
    alignment  with "offsets", groups start at multiples of it.
    zero_outside  rows outside every group are zero; otherwise they hold anything.
    expected_sizes  rows that the groups are likely to have, for the choice of a config alone: one integer for each group
               or one for all, known while tracing. Each list makes a plan of its own, and a trace of its own under jit.
    scale      as in gemm(), of scale_a and scale_b; scales of b have G in front, "tensor" scales may. Chunks of mx and
               nv of a are a matrix for each group: (G, bytes) with "masked", else one after another in one dimension
               of at least (M + 127 G) // 128 blocks of 128 rows.
    global_scale, a_dtype, b_dtype
               as in gemm().
    epilogue   as in gemm() with its operands, without reductions; row vectors may be (G, N).
    """
    a, b, sizes = jnp.asarray(a), jnp.asarray(b), jnp.asarray(sizes)
    (type_a, row_a), (type_b, k) = _factor("a", a, a_dtype), _factor("b", b, b_dtype)
    if encoding not in _ENCODINGS:
        raise _invalid("encoding", ", ".join(_ENCODINGS), encoding)
    if b.ndim != 3:
        raise _invalid("b", "three dimensions, (G, N, K)", tuple(b.shape))
    masked = encoding == "masked"
    groups, n = b.shape[:2]
    if a.ndim != (3 if masked else 2) or row_a != k or (masked and a.shape[0] != groups):
        raise _invalid("a", f"({groups}, Mmax, {k})" if masked else f"(M, {k})", tuple(a.shape))
    m = a.shape[-2]
    length = {"indptr": groups + 1, "row-ids": m}.get(encoding, groups)
    for name, array in (("sizes", sizes), ("sizes2", sizes2)):
        if array is not None and (tuple(array.shape) != (length,) or str(array.dtype) != "int32"):
            raise _invalid(name, f"int32 ({length},)", f"{array.dtype} {tuple(array.shape)}")
    if (sizes2 is None) == (encoding == "starts-counts"):
        raise _invalid("sizes2", "counts if and only if the encoding is starts-counts", encoding)
    recipe = _scale_recipe(scale, scale_a, scale_b, m, n, k)
    if recipe in _OF_CHUNKS:
        blocks = _block_count(m) if masked else (m + 127 * groups) // 128
        _check_chunks(recipe, scale_a, scale_b, blocks, _block_count(n), k, (groups,) if masked else (), (groups,), True)
    elif recipe:
        _check_scales(recipe, scale_a, scale_b, m, n, k, (groups,) if masked or recipe == 1 else (), (groups,))
    named = [("scale_a", scale_a), ("scale_b", scale_b), ("sizes", sizes), ("sizes2", sizes2), ("c", c),
             ("row0", bias), ("row1", row1), ("row2", row2), ("row3", row3), ("col0", col0), ("col1", col1),
             ("col2", col2), ("col3", col3), ("aux0", aux0), ("aux1", aux1), ("aux2", aux2), ("aux3", aux3)]
    _check_global_scale(recipe, global_scale)
    rows = (groups, m) if masked else (m,)
    _check_epilogue(rows, n, groups, named[4:])
    scalars, mask = _scalars(alpha, beta, scalar2, scalar3)
    epilogue = _typed(epilogue, named[4:], mask)
    roles, arrays = _collect(a, b, [*named, ("global_scale", global_scale)])
    out = jnp.dtype(jnp.bfloat16 if out_dtype is None else out_dtype).name
    numbers = (_GROUPED, recipe, 0, 0, _ENCODINGS[encoding], alignment, int(zero_outside), mask, 0, _NO_WORKSPACE,
               type_a, type_b, _SCALE_TYPES.get(recipe, 0))
    call = _Call(_GROUPED, roles, numbers, scalars, epilogue, config, (*rows, _columns(epilogue, n)), out,
                 expected_sizes=_expected_text(expected_sizes))
    return _constant(call, *arrays)


class _Recipe(NamedTuple):
    """How linear() casts and what it returns."""
    out_dtype: str
    grad_dtype: str
    power_of_two: bool


def _cast(x: jax.Array, dtype: str, power_of_two: bool, rows: int = 1) -> Tuple[jax.Array, jax.Array]:
    """x (M, K) in FP8, padded with zeros to multiples of `rows` and 128, and a float32 scale for each rows x 128."""
    x = jnp.pad(x.astype(jnp.float32), [(0, -x.shape[0] % rows), (0, -x.shape[1] % 128)])
    blocks = x.reshape(x.shape[0] // rows, rows, x.shape[1] // 128, 128)
    amax = jnp.abs(blocks).max((1, 3), initial=0)
    scale = jnp.where(amax > 0, amax / (448.0 if dtype == "float8_e4m3fn" else 57344.0), 1.0)
    scale = jnp.maximum(scale, 2.0**-126)  # the least normal number, whose inverse is finite
    if power_of_two:
        mantissa, exponent = jnp.frexp(scale)
        scale = jnp.ldexp(jnp.ones_like(scale), exponent - (mantissa == 0.5))
    return (blocks / scale[:, None, :, None]).reshape(x.shape).astype(dtype), scale


def _linear(recipe: _Recipe, x: jax.Array, weight: jax.Array) -> jax.Array:
    q, scale = _cast(x, "float8_e4m3fn", recipe.power_of_two)
    w, w_scale = _cast(weight, "float8_e4m3fn", recipe.power_of_two, 128)
    return gemm(q, w[:weight.shape[0]], scale_a=scale, scale_b=w_scale, scale="block", out_dtype=recipe.out_dtype)


_linear_of = jax.custom_vjp(_linear, nondiff_argnums=(0,))


def _linear_backward(recipe: _Recipe, saved: Tuple[jax.Array, jax.Array], dy: jax.Array) -> Tuple[jax.Array, jax.Array]:
    x, weight = saved
    dy_q, dy_scale = _cast(dy, recipe.grad_dtype, recipe.power_of_two)
    w, w_scale = _cast(weight, "float8_e4m3fn", recipe.power_of_two, 128)
    dx = gemm(dy_q, w.T[:x.shape[1]], scale_a=dy_scale, scale_b=w_scale.T, scale="block", out_dtype=x.dtype)
    dy_t, dy_t_scale = _cast(dy.T, recipe.grad_dtype, recipe.power_of_two)
    x_t, x_t_scale = _cast(x.T, "float8_e4m3fn", recipe.power_of_two)
    return dx, gemm(dy_t, x_t, scale_a=dy_t_scale, scale_b=x_t_scale, scale="block-1d", out_dtype=weight.dtype)


_linear_of.defvjp(lambda recipe, x, weight: (_linear(recipe, x, weight), (x, weight)), _linear_backward)


def linear(x: Any, weight: Any, bias: Any = None, *, out_dtype: Any = None, grad_dtype: str = "e4m3",
           power_of_two: bool = False) -> jax.Array:
    """Returns x @ weight.T + bias, computed in FP8 forwards and backwards by the recipe of warpwright.torch.linear().

    x, weight    (..., K) and (N, K) in bfloat16, float16 or float32; N and K multiples of 8
    bias         (N,), added in the type of the result
    out_dtype    of the result, that of x unless given
    grad_dtype   FP8 type of the gradient of the result: "e4m3" or "e5m2"
    power_of_two scales are rounded up to powers of two

    x has one scale for each 1 x 128 along K and weight one for each 128 x 128. dx casts the gradient of the result for each
    1 x 128 along N, dw both operands for each 1 x 128 along the tokens. XLA casts; x and weight are kept as they are.
    """
    x, weight = jnp.asarray(x), jnp.asarray(weight)
    for name, array in (("x", x), ("weight", weight)):
        if str(array.dtype) not in ("bfloat16", "float16", "float32"):
            raise _invalid(name, "bfloat16, float16 or float32", array.dtype)
    if weight.ndim != 2 or x.ndim == 0 or x.shape[-1] != weight.shape[1]:
        raise _invalid("x", "(..., K) with the K of weight (N, K)", f"{x.shape} and weight {weight.shape}")
    if weight.shape[0] % 8 != 0 or weight.shape[1] % 8 != 0:
        raise _invalid("weight", "N and K in multiples of 8", weight.shape)
    if grad_dtype not in ("e4m3", "e5m2"):
        raise _invalid("grad_dtype", "e4m3 or e5m2", repr(grad_dtype))
    recipe = _Recipe(jnp.dtype(x.dtype if out_dtype is None else out_dtype).name,
                     "float8_e4m3fn" if grad_dtype == "e4m3" else "float8_e5m2", power_of_two)
    y = _linear_of(recipe, x.reshape(-1, x.shape[-1]), weight).reshape(*x.shape[:-1], weight.shape[0])
    return y if bias is None else y + jnp.asarray(bias).astype(y.dtype)
