# SPDX-License-Identifier: Apache-2.0
"""The operators torch.ops.warpwright.*: schemas, implementations, and fakes for tracing.

Each operation has two: one that returns its result, and one that ends in _out and writes the tensor `out`, which is its
first argument. Sizes of groups stay on the device, and shapes may be symbolic.
"""
from typing import Any, Callable, Dict, Optional

import torch
from torch.compiler import is_compiling
from torch.utils.flop_counter import register_flop_formula

from .. import _native
from .._errors import invalid
from ._entries import in_c, register

# Kept alive: the registrations end with this object.
_LIBRARY = torch.library.Library("warpwright", "DEF")

_SCALES = "Tensor? scale_a=None, Tensor? scale_b=None, *, str? scale=None"
_EPILOGUE = ("str? epilogue=None, float? alpha=None, float? beta=None, Tensor? c=None, Tensor? bias=None, "
             "Tensor? row1=None, Tensor? col0=None, Tensor? aux0=None")
_OPTIONS = "str? config=None, bool batch_invariant=False"
_GROUPS = "str encoding=\"offsets\", Tensor? counts=None, int alignment=1"
_TYPE = "ScalarType? out_dtype=None"
_SCHEMAS = {
    "gemm": f"Tensor a, Tensor b, {_SCALES}, Tensor? global_scale=None, {_EPILOGUE}, {_OPTIONS}",
    "grouped_gemm": f"Tensor a, Tensor b, Tensor sizes, {_SCALES}, {_GROUPS}, bool zero_outside=False, "
                    f"str? expected_sizes=None, {_EPILOGUE}, str? config=None",
    "k_grouped_gemm": f"Tensor a, Tensor b, Tensor sizes, {_SCALES}, {_GROUPS}, Tensor? c=None, str? config=None",
}
# Arguments of groups that came later, which stand last, so that those before them keep their places.
_ADDED = {"gemm": "", "grouped_gemm": ", Tensor? global_scale=None", "k_grouped_gemm": ", Tensor? global_scale=None"}
_PAIRS_OF_4_BITS = getattr(torch, "float4_e2m1fn_x2", None)  # torch 2.8 and later
_ENCODINGS = {"offsets": "offsets", "indptr": "indptr", "starts-counts": "starts", "row-ids": "row_ids",
              "masked": "masked"}


def _groups_of(sizes: torch.Tensor, encoding: str, counts: Optional[torch.Tensor], alignment: int) -> Dict[str, Any]:
    if encoding not in _ENCODINGS:
        raise invalid("encoding", ", ".join(_ENCODINGS), repr(encoding))
    groups: Dict[str, Any] = {_ENCODINGS[encoding]: sizes}
    if counts is not None:
        groups["counts"] = counts
    if alignment != 1:
        groups["alignment"] = alignment
    return groups


def _run_gemm(a: torch.Tensor, b: torch.Tensor, out: Optional[torch.Tensor], scale_a: Optional[torch.Tensor] = None,
              scale_b: Optional[torch.Tensor] = None, **given: Any) -> torch.Tensor:
    made: torch.Tensor = _native.gemm(a, b, out=out, scale_a=scale_a, scale_b=scale_b, **given)
    return made


def _run_grouped(a: torch.Tensor, b: torch.Tensor, sizes: torch.Tensor, out: Optional[torch.Tensor],
                 scale_a: Optional[torch.Tensor] = None, scale_b: Optional[torch.Tensor] = None,
                 encoding: str = "offsets", counts: Optional[torch.Tensor] = None, alignment: int = 1,
                 **given: Any) -> torch.Tensor:
    made: torch.Tensor = _native.grouped_gemm(a, b, out=out, scale_a=scale_a, scale_b=scale_b,
                                              **_groups_of(sizes, encoding, counts, alignment), **given)
    return made


def _run_k_grouped(a: torch.Tensor, b: torch.Tensor, sizes: torch.Tensor, out: Optional[torch.Tensor],
                   scale_a: Optional[torch.Tensor] = None, scale_b: Optional[torch.Tensor] = None,
                   encoding: str = "offsets", counts: Optional[torch.Tensor] = None, alignment: int = 1,
                   **given: Any) -> torch.Tensor:
    made: torch.Tensor = _native.k_grouped_gemm(a, b, out=out, scale_a=scale_a, scale_b=scale_b,
                                                **_groups_of(sizes, encoding, counts, alignment), **given)
    return made


_RUN: Dict[str, Callable[..., torch.Tensor]] = {
    "gemm": _run_gemm, "grouped_gemm": _run_grouped, "k_grouped_gemm": _run_k_grouped}


def _no_out(kind: str, arguments: Any, given: Dict[str, Any]) -> torch.Tensor:
    count = 2 if kind == "gemm" else 3
    return _RUN[kind](*arguments[:count], None, *arguments[count:], **given)


def _added_to(out: Optional[torch.Tensor], given: Dict[str, Any]) -> Dict[str, Any]:
    """Turns accumulate=True into c=out. Operators have the flag because one tensor in two arguments, of which one is
    written, would be copied by torch.compile."""
    if given.pop("accumulate", False):
        if out is None or given.get("c") is not None:
            raise invalid("accumulate", "out and no c", "no out" if out is None else "c")
        given["c"] = out
    return given


def _register(kind: str) -> None:
    def returning(*arguments: Any, **given: Any) -> torch.Tensor:
        return _no_out(kind, arguments, given)

    def writing(out: torch.Tensor, *arguments: Any, **given: Any) -> None:
        count = 2 if kind == "gemm" else 3
        _RUN[kind](*arguments[:count], out, *arguments[count:], **_added_to(out, given))

    _LIBRARY.define(f"{kind}({_SCHEMAS[kind]}, {_TYPE}{_ADDED[kind]}) -> Tensor")
    _LIBRARY.define(f"{kind}_out(Tensor(a!) out, {_SCHEMAS[kind]}, bool accumulate=False{_ADDED[kind]}) -> ()")
    for key in ("CUDA", "CPU"):
        _LIBRARY.impl(kind, returning, key)
        _LIBRARY.impl(kind + "_out", writing, key)
    torch.library.register_fake(f"warpwright::{kind}_out", lambda out, *arguments, **given: None, lib=_LIBRARY)


def _default_type(a: torch.Tensor, single: torch.dtype) -> torch.dtype:
    return {torch.float16: torch.float16, torch.float32: torch.float32}.get(a.dtype, single)


def counted_as_one(operand: torch.Tensor) -> int:
    """Returns how many elements of an operand torch counts as one: of 4 bits, a pair."""
    return 2 if operand.dtype == _PAIRS_OF_4_BITS else 1


def k_of(operand: torch.Tensor) -> Any:
    """Returns K of an operand (rows, K), whatever torch counts."""
    return operand.shape[-1] * counted_as_one(operand)


def _columns(n: Any, epilogue: Optional[str]) -> Any:
    return n // 2 if epilogue is not None and "swiglu" in epilogue else n


def _fake_gemm(a: torch.Tensor, b: torch.Tensor, scale_a: Any = None, scale_b: Any = None, *,
               epilogue: Optional[str] = None, out_dtype: Optional[torch.dtype] = None, **_: Any) -> torch.Tensor:
    torch._check(a.dim() in (2, 3) and b.dim() in (2, 3), lambda: "a and b have two or three dimensions")
    torch._check(k_of(a) == k_of(b), lambda: f"K of a is {k_of(a)}, K of b {k_of(b)}")
    batch = a.shape[:-2] if a.dim() == 3 else b.shape[:-2]
    return a.new_empty((*batch, a.shape[-2], _columns(b.shape[-2], epilogue)),
                       dtype=out_dtype or _default_type(a, torch.bfloat16))


def _fake_grouped(a: torch.Tensor, b: torch.Tensor, sizes: torch.Tensor, scale_a: Any = None, scale_b: Any = None, *,
                  epilogue: Optional[str] = None, out_dtype: Optional[torch.dtype] = None, **_: Any) -> torch.Tensor:
    torch._check(b.dim() == 3, lambda: "b has three dimensions, (groups, N, K)")
    torch._check(a.shape[-1] == b.shape[-1], lambda: f"K of a is {a.shape[-1]}, K of b {b.shape[-1]}")
    return a.new_empty((*a.shape[:-1], _columns(b.shape[-2], epilogue)),
                       dtype=out_dtype or _default_type(a, torch.bfloat16))


def _fake_k_grouped(a: torch.Tensor, b: torch.Tensor, sizes: torch.Tensor, scale_a: Any = None, scale_b: Any = None, *,
                    encoding: str = "offsets", out_dtype: Optional[torch.dtype] = None, c: Any = None,
                    **_: Any) -> torch.Tensor:
    torch._check(encoding != "row-ids", lambda: "row-ids do not say how many groups there are; use the _out operator")
    groups = sizes.shape[0] - (1 if encoding == "indptr" else 0)
    return a.new_empty((groups, a.shape[0], b.shape[0]), dtype=out_dtype or torch.float32)


for _kind, _fake in (("gemm", _fake_gemm), ("grouped_gemm", _fake_grouped), ("k_grouped_gemm", _fake_k_grouped)):
    _register(_kind)
    torch.library.register_fake(f"warpwright::{_kind}", _fake, lib=_LIBRARY)


def _flops(a: torch.Tensor, b: torch.Tensor, *_: Any, **__: Any) -> Any:
    """Two for each multiplication of dense products, and of groups as if every row, or column of K, were in one."""
    batch = max(a.shape[:-2].numel(), b.shape[:-2].numel())
    return 2 * batch * a.shape[-2] * k_of(a) * b.shape[-2]


def _flops_of_groups(a: torch.Tensor, b: torch.Tensor, *_: Any, **__: Any) -> Any:
    return 2 * a.shape[:-1].numel() * k_of(a) * b.shape[-2]


for _kind, _count in (("gemm", _flops), ("grouped_gemm", _flops_of_groups), ("k_grouped_gemm", _flops_of_groups)):
    register_flop_formula(getattr(torch.ops.warpwright, _kind), get_raw=True)(_count)
    register_flop_formula(getattr(torch.ops.warpwright, _kind + "_out"), get_raw=True)(
        lambda _, *tensors, _count=_count, **given: _count(*tensors, **given))


def _direct(*arguments: Any) -> bool:
    """Whether a call may go past the dispatcher: an eager one, whose tensors are none of a subclass, in no mode."""
    return not is_compiling() and _native.torch_direct(*arguments)


def _call(kind: str, out: Optional[torch.Tensor], *arguments: Any, **given: Any) -> torch.Tensor:
    if _direct(out, *arguments, *given.values()):
        count = 2 if kind == "gemm" else 3
        if "accumulate" in given:
            given = _added_to(out, given)
        try:
            return _RUN[kind](*arguments[:count], out, *arguments[count:], **given)
        except RuntimeError:  # torch gives no address of a tensor without data
            if not arguments[0].is_meta:
                raise
    if out is None:
        made: torch.Tensor = getattr(torch.ops.warpwright, kind)(*arguments, **given)
        return made
    given.pop("out_dtype", None)
    getattr(torch.ops.warpwright, kind + "_out")(out, *arguments, **given)
    return out


@in_c
def gemm(a: torch.Tensor, b: torch.Tensor, scale_a: Optional[torch.Tensor] = None,
         scale_b: Optional[torch.Tensor] = None, *, out: Optional[torch.Tensor] = None, **given: Any) -> torch.Tensor:
    """Returns epilogue(scale(a @ b.T)): a (M, K), b (N, K), or with a batch in front. The arguments mean
    what they mean in warpwright.gemm(); the keywords are those of torch.ops.warpwright.gemm. torch.compile traces it. Not
    differentiable, as `linear` is."""
    return _call("gemm", out, a, b, scale_a, scale_b, **given)


@in_c
def grouped_gemm(a: torch.Tensor, b: torch.Tensor, sizes: torch.Tensor, scale_a: Optional[torch.Tensor] = None,
                 scale_b: Optional[torch.Tensor] = None, *, out: Optional[torch.Tensor] = None,
                 **given: Any) -> torch.Tensor:
    """Returns epilogue(scale(a[r] @ b[group of r].T)) for groups of rows: a (M, K), b (G, N, K), sizes as `encoding`
    says ("offsets", "indptr", "starts-counts" with counts=, "row-ids", "masked"). The other arguments mean
    what they mean in warpwright.grouped_gemm() and warpwright.gemm()."""
    return _call("grouped_gemm", out, a, b, sizes, scale_a, scale_b, **given)


@in_c
def k_grouped_gemm(a: torch.Tensor, b: torch.Tensor, sizes: torch.Tensor, scale_a: Optional[torch.Tensor] = None,
                   scale_b: Optional[torch.Tensor] = None, *, out: Optional[torch.Tensor] = None,
                   **given: Any) -> torch.Tensor:
    """Returns (c[g] +) scale(a[:, group g] @ b[:, group g].T): a (M, K), b (N, K), result (G, M, N) in float32 unless
    out_dtype says otherwise. `sizes` are those of grouped_gemm(), counting K; the other arguments mean what they mean in
    warpwright.k_grouped_gemm() and warpwright.gemm()."""
    return _call("k_grouped_gemm", out, a, b, sizes, scale_a, scale_b, **given)


register()
