# SPDX-License-Identifier: Apache-2.0
"""The extension. Tensors are objects of torch, NumPy, JAX, CuPy or any other source of DLPack; functions return their
`out`, or a tensor of the framework of `a`."""
from typing import Any, Callable, ParamSpec, Sequence, final

_P = ParamSpec("_P")

__version__: str

class Error(Exception):
    argument: str
    expected: str
    actual: str

class WrongResultError(Error, ArithmeticError): ...
class InvalidError(Error, ValueError): ...
class UnsupportedError(Error, NotImplementedError): ...
class CouldNotFinishError(Error, RuntimeError): ...
class CaptureError(Error, RuntimeError): ...
class ForkedError(Error, RuntimeError): ...
class InternalError(Error, RuntimeError): ...

@final
class Device:
    def __new__(
        cls,
        name: str = "auto",
        *,
        cache_dir: str | None = None,
        seed: int = 0,
        schedule: str = "",
        math: str = "exact",
        pct_depth: int = 0,
        threads: int = 0,
        sms: int = 0,
        tuning: str | None = None,
    ) -> Device: ...
    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def emulated(self) -> bool: ...
    @property
    def arch(self) -> int: ...
    @property
    def sms(self) -> int: ...
    @property
    def memory_bytes(self) -> int: ...
    def synchronize(self) -> None: ...
    def counters(self) -> dict[str, int]: ...

@final
class Plan:
    @property
    def config(self) -> str: ...
    @property
    def workspace_bytes(self) -> int: ...
    @property
    def device(self) -> Device: ...
    @property
    def operation(self) -> str: ...
    def run(
        self,
        a: Any,
        b: Any,
        *,
        out: Any = None,
        out_dtype: Any = None,
        a_dtype: Any = None,
        b_dtype: Any = None,
        scale_a: Any = None,
        scale_b: Any = None,
        global_scale: Any = None,
        alpha: Any = None,
        beta: Any = None,
        scalar2: Any = None,
        scalar3: Any = None,
        c: Any = None,
        bias: Any = None,
        row1: Any = None,
        row2: Any = None,
        row3: Any = None,
        col0: Any = None,
        col1: Any = None,
        col2: Any = None,
        col3: Any = None,
        aux0: Any = None,
        aux1: Any = None,
        aux2: Any = None,
        aux3: Any = None,
        out0: Any = None,
        out1: Any = None,
        out2: Any = None,
        out3: Any = None,
        out_scales: Any = None,
        amax: Any = None,
        stream: Any = None,
        offsets: Any = None,
        indptr: Any = None,
        starts: Any = None,
        counts: Any = None,
        row_ids: Any = None,
        masked: Any = None,
        status: Any = None,
    ) -> Any: ...
    def stats(self) -> str: ...

def gemm(
    a: Any,
    b: Any,
    *,
    out: Any = None,
    out_dtype: Any = None,
    a_dtype: Any = None,
    b_dtype: Any = None,
    scale: str | None = None,
    scale_type: Any = None,
    scale_a: Any = None,
    scale_b: Any = None,
    global_scale: Any = None,
    epilogue: str | None = None,
    alpha: Any = None,
    beta: Any = None,
    scalar2: Any = None,
    scalar3: Any = None,
    c: Any = None,
    bias: Any = None,
    row1: Any = None,
    row2: Any = None,
    row3: Any = None,
    col0: Any = None,
    col1: Any = None,
    col2: Any = None,
    col3: Any = None,
    aux0: Any = None,
    aux1: Any = None,
    aux2: Any = None,
    aux3: Any = None,
    out0: Any = None,
    out1: Any = None,
    out2: Any = None,
    out3: Any = None,
    out_scales: Any = None,
    amax: Any = None,
    config: str | None = None,
    sms: int = 0,
    pdl: bool | None = None,
    batch_invariant: bool = False,
    workspace_limit: int | None = None,
    device: Device | str | None = None,
    stream: Any = None,
) -> Any: ...
def gemm_pointers(
    a: Any,
    b: Any,
    out: Any,
    *,
    m: int,
    n: int,
    k: int,
    a_dtype: Any,
    b_dtype: Any = None,
    out_dtype: Any = None,
    lda: int = 0,
    ldb: int = 0,
    ldd: int = 0,
    a_major: str = "k",
    b_major: str = "k",
    out_layout: str = "row",
    scale: str | None = None,
    scale_type: Any = None,
    scale_a: Any = None,
    scale_b: Any = None,
    config: str | None = None,
    sms: int = 0,
    pdl: bool | None = None,
    batch_invariant: bool = False,
    workspace_limit: int | None = None,
    device: Device | str | None = None,
    stream: Any = None,
) -> Any: ...
def grouped_gemm(
    a: Any,
    b: Any,
    *,
    offsets: Any = None,
    indptr: Any = None,
    starts: Any = None,
    counts: Any = None,
    row_ids: Any = None,
    masked: Any = None,
    alignment: int = 1,
    status: Any = None,
    zero_outside: bool = False,
    expected_sizes: Any = None,
    out: Any = None,
    out_dtype: Any = None,
    a_dtype: Any = None,
    b_dtype: Any = None,
    scale: str | None = None,
    scale_type: Any = None,
    scale_a: Any = None,
    scale_b: Any = None,
    global_scale: Any = None,
    epilogue: str | None = None,
    alpha: Any = None,
    beta: Any = None,
    scalar2: Any = None,
    scalar3: Any = None,
    c: Any = None,
    bias: Any = None,
    row1: Any = None,
    row2: Any = None,
    row3: Any = None,
    col0: Any = None,
    col1: Any = None,
    col2: Any = None,
    col3: Any = None,
    aux0: Any = None,
    aux1: Any = None,
    aux2: Any = None,
    aux3: Any = None,
    out0: Any = None,
    out1: Any = None,
    out2: Any = None,
    out3: Any = None,
    out_scales: Any = None,
    amax: Any = None,
    config: str | None = None,
    sms: int = 0,
    pdl: bool | None = None,
    batch_invariant: bool = False,
    workspace_limit: int | None = None,
    device: Device | str | None = None,
    stream: Any = None,
) -> Any: ...
def k_grouped_gemm(
    a: Any,
    b: Any,
    *,
    offsets: Any = None,
    indptr: Any = None,
    starts: Any = None,
    counts: Any = None,
    row_ids: Any = None,
    masked: Any = None,
    alignment: int = 1,
    status: Any = None,
    packing: str | None = None,
    accumulate: bool = False,
    c: Any = None,
    out: Any = None,
    out_dtype: Any = None,
    a_dtype: Any = None,
    b_dtype: Any = None,
    scale: str | None = None,
    scale_type: Any = None,
    scale_a: Any = None,
    scale_b: Any = None,
    global_scale: Any = None,
    config: str | None = None,
    sms: int = 0,
    pdl: bool | None = None,
    batch_invariant: bool = False,
    workspace_limit: int | None = None,
    device: Device | str | None = None,
    stream: Any = None,
) -> Any: ...

def _plan_of(operation: Callable[_P, Any]) -> Callable[_P, Plan]: ...

gemm_plan = _plan_of(gemm)
grouped_gemm_plan = _plan_of(grouped_gemm)
k_grouped_gemm_plan = _plan_of(k_grouped_gemm)

def can_implement(
    operation: str, fields: dict[str, Any], options: dict[str, Any], device: Device | str | None, /
) -> str | None: ...
def explain(
    operation: str, fields: dict[str, Any], options: dict[str, Any], device: Device | str | None, /
) -> str: ...
def configs(
    operation: str, fields: dict[str, Any], options: dict[str, Any], device: Device | str | None, /
) -> str: ...
def prepare(
    device: Device | str,
    cases: Sequence[str | tuple[str, dict[str, Any], dict[str, Any]]],
    threads: int,
    progress: Callable[[int, int, str, float, str | None], object] | None,
    /,
) -> str: ...
def check(
    operation: str,
    fields: dict[str, Any],
    options: dict[str, Any],
    settings: dict[str, Any],
    groups: dict[str, Any],
    progress: Callable[[str, float], object] | None,
    /,
) -> str: ...
def check_kernel(
    fields: dict[str, Any], settings: dict[str, Any], progress: Callable[[str, float], object] | None, /
) -> str: ...
def pack_scales(
    scales: Any, packed: Any, sizes: Any, span: int, device: Device | str | None, stream: Any, /
) -> None: ...
def microscale(
    x: Any,
    out: Any,
    out_scales: Any,
    tensor_scale: Any,
    dtype: str,
    scale: str,
    row_major: bool,
    device: Device | str | None,
    stream: Any,
    /,
) -> None: ...
def quantize_1x128(
    x: Any,
    *,
    out: Any = None,
    out_scales: Any = None,
    out_t: Any = None,
    out_scales_t: Any = None,
    rows: bool = True,
    transpose: bool = False,
    offs: Any = None,
    indptr: Any = None,
    starts: Any = None,
    counts: Any = None,
    row_ids: Any = None,
    align: int = 128,
    alignment: int = 1,
    packing: str | None = None,
    dtype: Any = "e4m3",
    x_dtype: Any = None,
    power_of_two: bool = False,
    min_amax: float | None = None,
    mn_major: bool = False,
    padded_ends: Any = None,
    status: Any = None,
    device: Device | str | None = None,
    stream: Any = None,
) -> tuple[Any, ...]: ...
def quantize_128x128(
    w: Any,
    *,
    out: Any = None,
    out_scales: Any = None,
    out_t: Any = None,
    out_scales_t: Any = None,
    rows: bool = True,
    transpose: bool = False,
    dtype: Any = "e4m3",
    w_dtype: Any = None,
    power_of_two: bool = False,
    min_amax: float | None = None,
    device: Device | str | None = None,
    stream: Any = None,
) -> tuple[Any, ...]: ...
def transpose_fp8(
    w: Any,
    scales: Any = None,
    *,
    out: Any = None,
    out_scales: Any = None,
    dtype: Any = None,
    device: Device | str | None = None,
    stream: Any = None,
) -> tuple[Any, Any]: ...
def torch_direct(*arguments: Any) -> bool: ...
def torch_entry(name: str, document: str, fallback: Callable[..., Any], /) -> Callable[..., Any]: ...
def source_hash() -> str: ...
def plan_cache_size() -> int: ...
def clear_plan_cache() -> None: ...
def jax_handler(platform: str, /) -> Any: ...
def jax_workspace_bytes(*args: Any) -> int: ...
def jax_counters(ordinal: int, /) -> dict[str, int]: ...
