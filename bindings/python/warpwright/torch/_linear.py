# SPDX-License-Identifier: Apache-2.0
"""linear and grouped_linear: FP8 products with gradients, by the block recipe.

    forward  y  = x w^T     x in FP8 with a scale for each 1 x 128 along K, w for each 128 x 128
    dgrad    dx = dy w      dy for each 1 x 128 along N, w transposed, whose blocks and bytes are those of w
    wgrad    dw = dy^T x    both for each 1 x 128 along the tokens, cast from what the others are cast from

x and dy are read once each: one pass writes the copy by rows and the transposed one. Of x only the latter, in FP8, is kept
for the backward pass, and only if the weight needs a gradient; of the weight nothing is kept but the weight.
"""
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple, Union

import torch

from .._errors import invalid
from .._native import UnsupportedError
from ._casts import Cast, cast, transpose_fp8
from ._ops import gemm, grouped_gemm, k_grouped_gemm

_FLOATS = (torch.bfloat16, torch.float16, torch.float32)


class QuantizedWeight(NamedTuple):
    """A weight in FP8, as quantize_weight() returns it: q with its scales, and their transposes q_t and scales_t, or None."""
    q: torch.Tensor                          # (N, K) or (groups, N, K), FP8
    scales: torch.Tensor                     # float32, (ceil(N/128), ceil(K/128)), groups in front
    q_t: Optional[torch.Tensor] = None       # (K, N); None: made from q when the gradient of x needs it
    scales_t: Optional[torch.Tensor] = None  # (ceil(K/128), ceil(N/128))


class _Settings(NamedTuple):
    name: str
    alignment: int
    out_dtype: torch.dtype
    grad_dtype: str
    power_of_two: bool


def quantize_weight(weight: torch.Tensor, *, transpose: bool = True, dtype: str = "e4m3",
                    power_of_two: bool = False) -> QuantizedWeight:
    """Casts weight (N, K) or (groups, N, K) for linear() and grouped_linear(), once for all microbatches of a step.

    transpose=False leaves out the copy that gradients of x need; it is then made from q in every backward pass, which
    changes no value. dtype and power_of_two are those of quantize_128x128(). The result has no gradient and does not follow later changes of weight.
    """
    made = cast(_by_rows(weight.detach()), square=True, transpose=transpose, dtype=dtype, power_of_two=power_of_two)
    assert made.q is not None and made.scales is not None
    return QuantizedWeight(made.q, made.scales, made.q_t, made.scales_t)


def _by_rows(x: torch.Tensor) -> torch.Tensor:
    """x with contiguous rows that do not repeat, which is what casts read."""
    if torch.compiler.is_compiling():
        return x.contiguous()
    outer = all(x.stride(i) > 0 for i in range(x.dim() - 1) if x.shape[i] > 1)
    return x if outer and (x.stride(-1) == 1 or x.shape[-1] <= 1) else x.contiguous()


def _product(a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor,
             offs: Optional[torch.Tensor], alignment: int, dtype: torch.dtype,
             bias: Optional[torch.Tensor] = None) -> torch.Tensor:
    if offs is None:
        return gemm(a, b, scale_a, scale_b, scale="block", bias=bias, out_dtype=dtype)
    return grouped_gemm(a, b, offs, scale_a, scale_b, scale="block", alignment=alignment, zero_outside=True, bias=bias,
                        out_dtype=dtype)


def _forward(x: torch.Tensor, weight: Optional[torch.Tensor], bias: Optional[torch.Tensor],
             offs: Optional[torch.Tensor], quantized: Sequence[Optional[torch.Tensor]], settings: _Settings,
             transpose: bool) -> Tuple[torch.Tensor, Cast]:
    """Returns y, and x in FP8; with `transpose` that has the copy for the weight gradient."""
    q, scales = quantized[:2]
    if weight is not None and q is None:
        q, scales = cast(_by_rows(weight), square=True, power_of_two=settings.power_of_two)[:2]
    one = cast(_by_rows(x), transpose=transpose, offs=offs if transpose else None, alignment=settings.alignment,
               power_of_two=settings.power_of_two, mn_major=True)
    assert q is not None and scales is not None and one.q is not None and one.scales is not None
    return _product(one.q, q, one.scales, scales, offs, settings.alignment, settings.out_dtype, bias), one


def _transposed_weight(weight: Optional[torch.Tensor], quantized: Sequence[Optional[torch.Tensor]],
                       settings: _Settings, dy: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
    q, scales, q_t, scales_t = quantized
    if q_t is None and q is None:
        assert weight is not None
        made = cast(_by_rows(weight), square=True, rows=False, transpose=True, power_of_two=settings.power_of_two,
                    after=dy)
        q_t, scales_t = made.q_t, made.scales_t
    elif q_t is None:
        assert q is not None and scales is not None
        return transpose_fp8(q, scales, after=dy)
    assert q_t is not None and scales_t is not None
    return q_t, scales_t


def _weight_gradient(dy: Cast, x_t: torch.Tensor, x_scales: torch.Tensor, dtype: torch.dtype,
                     total: Optional[torch.Tensor]) -> Optional[torch.Tensor]:
    """Returns dy^T x, or adds it to `total` and returns None."""
    assert dy.q_t is not None
    given: Any = {"out_dtype": dtype} if total is None else {"out": total, "accumulate": True}
    if dy.ends is None:
        made = gemm(dy.q_t, x_t, dy.scales_t, x_scales, scale="block-1d", **given)
    else:
        made = k_grouped_gemm(dy.q_t, x_t, dy.ends, dy.scales_t, x_scales, scale="block-1d", **given)
    return made if total is None else None


def _bias_gradient(dy: torch.Tensor, offs: Optional[torch.Tensor], alignment: int,
                   bias: Tuple[torch.dtype, int]) -> torch.Tensor:
    dtype, rank = bias
    if offs is None:
        return dy.sum(0, dtype=torch.float32).to(dtype)
    # A product of groups of K with ones sums every group in FP32 and in one order.
    total: Any = 0
    for part in _in_16_bits(dy):
        ones = torch.ones((part.shape[0], 8), dtype=part.dtype, device=part.device)
        total = total + k_grouped_gemm(ones.t(), part.t(), offs, alignment=alignment)[:, 0]
    summed: torch.Tensor = total if rank == 2 else total.sum(0)
    return summed.to(dtype)


def _in_16_bits(dy: torch.Tensor) -> List[torch.Tensor]:
    """Returns matrices of 16-bit types, with aligned rows, whose sum is dy."""
    if dy.dtype != torch.float32:
        aligned = torch.compiler.is_compiling() or (dy.data_ptr() % 16 == 0 and dy.stride(0) % 8 == 0)
        return [dy if aligned else dy.clone(memory_format=torch.contiguous_format)]
    parts = []
    for _ in range(3):
        parts.append(dy.to(torch.bfloat16, memory_format=torch.contiguous_format))
        dy = dy - parts[-1]
    return parts


class _Refusal(torch.autograd.Function):
    """Returns a gradient as it is, and raises when it is differentiated in turn. The tensors `of` are what it depends on:
    inputs only so that the graph has them, as autograd leaves out what does not lead to an input that was asked for."""
    @staticmethod
    def forward(ctx: Any, name: str, gradient: torch.Tensor, *of: Optional[torch.Tensor]) -> torch.Tensor:
        del of
        ctx.name = name
        return gradient.view_as(gradient)

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        raise NotImplementedError(f"warpwright.torch.{ctx.name}: second derivatives are not supported, because its "
                                  "gradients are computed in FP8 and have no derivative of their own")


def _source(one: Optional[torch.Tensor], needed: bool) -> Optional[torch.Tensor]:
    """Returns an empty tensor from which the graph leads to `one`, whose memory it does not keep; None without a graph."""
    if one is None or not needed or not one.requires_grad or torch.compiler.is_compiling():  # torch.compile refuses by itself
        return None
    return torch.slice_copy(one, 0, 0, 0)


class _Linear(torch.autograd.Function):
    """x (M, K) times a weight (N, K), or groups of its rows times weights (G, N, K)."""
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, weight: Optional[torch.Tensor], bias: Optional[torch.Tensor],
                offs: Optional[torch.Tensor], quantized: Tuple[Optional[torch.Tensor], ...],
                total: Optional[torch.Tensor], settings: _Settings,
                sources: Tuple[Optional[torch.Tensor], ...]) -> torch.Tensor:
        need_x, need_weight = ctx.needs_input_grad[:2]
        made, one = _forward(x, weight, bias, offs, quantized, settings, need_weight)
        kept = quantized if need_x else (None,) * 4
        ctx.save_for_backward(one.q_t, one.scales_t, offs, weight if need_x and kept[0] is None else None, *kept)
        ctx.settings, ctx.total, ctx.x_dtype, ctx.sources = settings, total, x.dtype, sources
        ctx.weight = weight if total is not None else None
        ctx.weight_dtype = None if weight is None else weight.dtype
        ctx.bias = None if bias is None else (bias.dtype, bias.dim())
        return made

    @staticmethod
    def backward(ctx: Any, dy: torch.Tensor) -> Any:
        with torch.no_grad():
            gradients = _gradients(ctx, dy)
        if not torch.compiler.is_compiling() and torch.is_grad_enabled():  # somebody asked for a graph of these gradients
            of_x, of_weight = ctx.sources
            depends_on = ((dy, of_weight), (dy, of_x), (dy,))
            gradients = [one if one is None else _Refusal.apply(ctx.settings.name, one, *of)
                         for one, of in zip(gradients, depends_on)]
        return (*gradients, None, None, None, None, None)


def _gradients(ctx: Any, dy: torch.Tensor) -> List[Optional[torch.Tensor]]:
    need_x, need_weight, need_bias = ctx.needs_input_grad[:3]
    x_t, x_scales, offs, weight, *quantized = ctx.saved_tensors
    settings, alignment = ctx.settings, ctx.settings.alignment
    dy = _by_rows(dy)
    made: List[Optional[torch.Tensor]] = [None, None, None]
    if need_x or need_weight:
        one = cast(dy, rows=need_x, transpose=need_weight, offs=offs if need_weight else None, alignment=alignment,
                   dtype=settings.grad_dtype, power_of_two=settings.power_of_two, mn_major=True)
        if need_x:
            q_t, scales_t = _transposed_weight(weight, quantized, settings, dy)
            assert one.q is not None and one.scales is not None
            made[0] = _product(one.q, q_t, one.scales, scales_t, offs, alignment, ctx.x_dtype)
        if need_weight:
            made[1] = _weight_gradient(one, x_t, x_scales, ctx.weight_dtype, ctx.total)
            if ctx.total is not None and not torch.compiler.is_compiling():
                made[1] = _placeholder(ctx.weight)
    if need_bias:
        made[2] = _bias_gradient(dy, offs, alignment, ctx.bias)
    return made


def _placeholder(weight: torch.Tensor) -> Optional[torch.Tensor]:
    """Megatron's hooks want a gradient to come, and do not read it where this attribute is true."""
    if not hasattr(weight, "grad_added_to_main_grad"):
        return None
    weight.grad_added_to_main_grad = True
    return torch.zeros_like(weight) if getattr(weight, "zero_out_wgrad", False) else torch.empty_like(weight)


def _accumulator(weight: Optional[torch.Tensor], given: Optional[torch.Tensor], fused: bool) -> Optional[torch.Tensor]:
    """Returns the tensor that gradients of weight are added to."""
    if weight is None or not weight.requires_grad or not torch.is_grad_enabled():
        return None
    if given is None and not fused:
        return None
    argument = "accumulate_into" if given is not None else "weight.main_grad"
    total = given if given is not None else getattr(weight, "main_grad", None)
    expected = f"a contiguous float32 tensor of shape {tuple(weight.shape)}"
    if total is None:
        raise invalid(argument, expected, None)
    if total.dtype != torch.float32 or total.shape != weight.shape or not total.is_contiguous():
        raise invalid(argument, expected, f"{total.dtype} of shape {tuple(total.shape)}, strides {tuple(total.stride())}")
    if total.requires_grad:
        raise invalid(argument, "a tensor that requires no gradient", "one that does")
    return total


def _out_dtype(x: torch.Tensor, given: Optional[torch.dtype]) -> torch.dtype:
    if given is None:
        kind = x.device.type
        enabled = kind != "meta" and torch.is_autocast_enabled(kind)
        given = torch.get_autocast_dtype(kind) if enabled else x.dtype
    if given not in _FLOATS:
        raise invalid("out_dtype", "bfloat16, float16 or float32", given)
    return given


def _check(x: torch.Tensor, shape: Sequence[int], bias: Optional[torch.Tensor], gradients: bool) -> None:
    n, k = shape[-2:]
    if x.dtype not in _FLOATS:
        raise invalid("x", "bfloat16, float16 or float32", x.dtype)
    if x.dim() == 0 or x.shape[-1] != k:
        raise invalid("x", f"(..., K) with K = {k}, as weight has", tuple(x.shape))
    if n % 8 != 0 or (gradients and k % 8 != 0):
        error = UnsupportedError(f"unsupported: argument weight: expected N{' and K' if gradients else ''} to be multiples "
                                 f"of 8, got {tuple(shape)}")
        error.argument, error.expected, error.actual = "weight", "multiples of 8", str(tuple(shape))
        raise error
    if bias is not None and tuple(bias.shape) not in ((n,), tuple(shape[:-1])):
        raise invalid("bias", f"shape {tuple(shape[:-1])}", tuple(bias.shape))


_Weight = Union[torch.Tensor, QuantizedWeight]


def _apply(name: str, x: torch.Tensor, weight: _Weight, bias: Optional[torch.Tensor], offs: Optional[torch.Tensor],
           alignment: int, quantized_weight: Optional[QuantizedWeight], accumulate_into: Optional[torch.Tensor],
           fuse_wgrad_accumulation: bool, out_dtype: Optional[torch.dtype], grad_dtype: str,
           power_of_two: bool) -> torch.Tensor:
    quantized, master = quantized_weight, None
    if not isinstance(weight, QuantizedWeight):
        master = weight
    elif quantized is not None:
        raise invalid("quantized_weight", "None beside a weight that is one", "a second one")
    else:
        quantized = weight
    shape = (weight.q if isinstance(weight, QuantizedWeight) else weight).shape
    rank = 2 if offs is None else 3
    if len(shape) != rank:
        raise invalid("weight", "(N, K)" if rank == 2 else "(groups, N, K)", tuple(shape))
    if quantized is not None and quantized.q.shape != shape:
        raise invalid("quantized_weight", f"the shape of weight, {tuple(shape)}", tuple(quantized.q.shape))
    if master is not None and master.dtype not in _FLOATS:
        raise invalid("weight", "bfloat16, float16 or float32, or a QuantizedWeight", master.dtype)
    if grad_dtype not in ("e4m3", "e5m2"):
        raise invalid("grad_dtype", "e4m3 or e5m2", repr(grad_dtype))
    needed = [one is not None and one.requires_grad for one in (x, master, bias)]
    gradients = torch.is_grad_enabled() and any(needed)
    _check(x, shape, bias, gradients and (needed[0] or needed[1]))
    total = _accumulator(master, accumulate_into, fuse_wgrad_accumulation)
    settings = _Settings(name, alignment, _out_dtype(x, out_dtype), grad_dtype, power_of_two)
    pieces = (None,) * 4 if quantized is None else tuple(quantized)
    if not gradients:
        return _forward(x, master, bias, offs, pieces, settings, False)[0]
    sources = (_source(x, needed[1]), _source(master, needed[0]))
    made: torch.Tensor = _Linear.apply(x, master, bias, offs, pieces, total, settings, sources)
    return made


def linear(x: torch.Tensor, weight: _Weight, bias: Optional[torch.Tensor] = None, *,
           quantized_weight: Optional[QuantizedWeight] = None, accumulate_into: Optional[torch.Tensor] = None,
           fuse_wgrad_accumulation: bool = False, out_dtype: Optional[torch.dtype] = None, grad_dtype: str = "e4m3",
           power_of_two: bool = False) -> torch.Tensor:
    """Returns x @ weight.T + bias as torch.nn.functional.linear does, computed in FP8 forwards and backwards.

    x         (..., K) in bfloat16, float16 or float32; rows that are not contiguous are copied first
    weight    (N, K), likewise, N and (for gradients) K multiples of 8; or a QuantizedWeight, which has no gradient
    bias      (N,), added in float32
    out_dtype of the result (..., N): by default that of autocast where it is enabled, otherwise x's. Autocast changes
              nothing else: x and weight are cast to FP8 from what they are.

    quantized_weight         the weight in FP8 from quantize_weight(), so that microbatches share one cast; gradients are
                             still those of weight
    accumulate_into          contiguous float32 (N, K): the backward pass adds the gradient of weight to it in the product
                             itself, and weight.grad stays as it is
    fuse_wgrad_accumulation  the same with weight.main_grad, as in Megatron and TransformerEngine, and sets
                             weight.grad_added_to_main_grad where that attribute exists
    grad_dtype               FP8 type of the gradient of the result: "e4m3" or "e5m2"
    power_of_two             scales are rounded up to powers of two

    Gradients have the types of x, weight and bias; only those that are needed are computed. Wrong arguments raise
    warpwright.InvalidError, sizes without kernels warpwright.UnsupportedError, second derivatives NotImplementedError.
    """
    if x.dim() == 0:
        raise invalid("x", "(..., K)", tuple(x.shape))
    rows = x.flatten(0, -2) if x.dim() > 2 else x.unsqueeze(0) if x.dim() == 1 else x
    made = _apply("linear", rows, weight, bias, None, 1, quantized_weight, accumulate_into, fuse_wgrad_accumulation,
                  out_dtype, grad_dtype, power_of_two)
    return made if x.dim() == 2 else made.reshape(*x.shape[:-1], made.shape[-1])


def grouped_linear(x: torch.Tensor, weight: _Weight, offs: torch.Tensor, bias: Optional[torch.Tensor] = None, *,
                   alignment: int = 1, quantized_weight: Optional[QuantizedWeight] = None,
                   accumulate_into: Optional[torch.Tensor] = None, fuse_wgrad_accumulation: bool = False,
                   out_dtype: Optional[torch.dtype] = None, grad_dtype: str = "e4m3",
                   power_of_two: bool = False) -> torch.Tensor:
    """Returns x[r] @ weight[group of r].T + bias[group of r] for every row r, computed in FP8 forwards and backwards.

    x       (M, K), the rows of each group together
    weight  (groups, N, K), or a QuantizedWeight
    offs    int32 (groups,) on the device of x: where each group ends, as in torch.nn.functional.grouped_mm. Groups may
            be empty and of any size. The host never reads offs, so that a graph may be replayed with others.
    bias    (groups, N), or (N,) for all groups
    alignment  each group starts at the first multiple of this after the end of the one before

    Rows in no group are zero in the result and in the gradient of x, and count for no other gradient. accumulate_into and
    main_grad have shape (groups, N, K). Everything else is as in linear().
    """
    if x.dim() != 2:
        raise invalid("x", "(M, K)", tuple(x.shape))
    groups = (weight.q if isinstance(weight, QuantizedWeight) else weight).shape[0]
    if offs.dtype != torch.int32 or tuple(offs.shape) != (groups,) or groups == 0:
        raise invalid("offs", f"int32 of shape ({groups},), the groups of weight, at least one",
                      f"{offs.dtype} of shape {tuple(offs.shape)}")
    return _apply("grouped_linear", x, weight, bias, offs.contiguous(), alignment, quantized_weight, accumulate_into,
                  fuse_wgrad_accumulation, out_dtype, grad_dtype, power_of_two)
