# SPDX-License-Identifier: Apache-2.0
"""Settings of the process that DeepGEMM's interface has as globals, and counts of the calls that this library ran."""
import collections
import os
import threading
from typing import Any, Dict, Optional, Set, Tuple

import torch

_MK_ALIGNMENT = 128
_lock = threading.Lock()
_calls: "collections.Counter[str]" = collections.Counter()


class _Settings:
    """What set_* functions change. None: DeepGEMM's default, for which this library chooses by itself."""
    num_sms: Optional[int] = None
    pdl: Optional[bool] = None
    tc_util: int = 100
    compile_mode: int = 0
    mk_alignment: int = _MK_ALIGNMENT
    ignore_compile_dims: bool = False
    block_size_multiple_of: Any = None


settings = _Settings()


def set_num_sms(num_sms: int) -> None:
    """Limits the SMs that products use, to leave the others to communication."""
    settings.num_sms = int(num_sms)


def get_num_sms() -> int:
    """Returns the limit of SMs, or the SMs of the current GPU without one."""
    if settings.num_sms is not None:
        return settings.num_sms
    return torch.cuda.get_device_properties(torch.cuda.current_device()).multi_processor_count


def set_pdl(enable: bool) -> None:
    """Programmatic dependent launch for all products. Without a call it is chosen for each product."""
    settings.pdl = bool(enable)


def get_pdl() -> bool:
    """Returns what set_pdl() was given, False before its first call."""
    return bool(settings.pdl)


def set_tc_util(value: int) -> None:
    """Accepted, and has no effect: there is no such throttle here."""
    settings.tc_util = int(value)


def get_tc_util() -> int:
    """Returns what set_tc_util() was given."""
    return settings.tc_util


def set_compile_mode(mode: int) -> None:
    """1: products are compiled, not run, as in SGLang's warm-up; 0: they are run."""
    if mode not in (0, 1):
        raise ValueError(f"mode: expected 0 or 1, got {mode}")
    settings.compile_mode = mode


def get_compile_mode() -> int:
    """Returns what set_compile_mode() was given, 0 before its first call."""
    return settings.compile_mode


def set_ignore_compile_dims(value: bool) -> None:
    """Accepted, and has no effect: kernels here are not compiled for extents."""
    settings.ignore_compile_dims = bool(value)


def set_block_size_multiple_of(value: Any) -> None:
    """Accepted, and has no effect: tiles are chosen by the model alone."""
    settings.block_size_multiple_of = value


def set_mk_alignment_for_contiguous_layout(value: int) -> None:
    """The alignment of groups in the layouts of this moment; groups of psum layouts start at its multiples."""
    if value < 1:
        raise ValueError(f"value: expected a positive number of rows, got {value}")
    settings.mk_alignment = int(value)


def get_mk_alignment_for_contiguous_layout() -> int:
    """Returns the alignment of groups, 128 unless set otherwise."""
    return settings.mk_alignment


def get_theoretical_mk_alignment_for_contiguous_layout(*_: Any, **__: Any) -> int:
    """128 for every expected number of rows, which both forms of this function in use may give."""
    return _MK_ALIGNMENT


def options() -> Dict[str, Any]:
    """The options of a product that follow from the settings."""
    made: Dict[str, Any] = {}
    if settings.num_sms is not None:
        made["sms"] = settings.num_sms
    if settings.pdl is not None:
        made["pdl"] = settings.pdl
    return made


def count(name: str) -> None:
    with _lock:
        _calls[name] += 1


def call_counts() -> Dict[str, int]:
    """How often each function of this module has launched (or, in compile mode, compiled) a product of this library."""
    with _lock:
        return dict(_calls)


def _is_on(name: str) -> bool:
    return os.environ.get(name, "0") not in ("", "0")


def read_environment() -> None:
    """Sets this library's variables from DeepGEMM's, where its own are not set: DG_JIT_CACHE_DIR holds our cache too, and
    DG_JIT_WITH_LINEINFO asks for line numbers in kernels."""
    folder = os.environ.get("DG_JIT_CACHE_DIR")
    if folder:
        os.environ.setdefault("WARPWRIGHT_CACHE_DIR", os.path.join(folder, "warpwright"))
    if _is_on("DG_JIT_WITH_LINEINFO"):
        os.environ.setdefault("WARPWRIGHT_LINEINFO", "1")


_printed: Set[Tuple[str, str]] = set()


def prints_configs() -> bool:
    """Whether the config of every product is printed once, as DG_PRINT_CONFIGS and DG_JIT_DEBUG ask for."""
    return _is_on("DG_PRINT_CONFIGS") or _is_on("DG_JIT_DEBUG")


def print_config(name: str, shapes: str, plan: Any, seconds: float) -> None:
    """Prints what a product runs, once for each of its shapes; DG_JIT_DEBUG adds how long its plan took."""
    line = f"{name} {shapes}: {plan.config or 'nothing to run'}"
    with _lock:
        if (name, line) in _printed:
            return
        _printed.add((name, line))
    print(f"warpwright: {line}{f' ({seconds:.3f} s)' if _is_on('DG_JIT_DEBUG') else ''}", flush=True)
