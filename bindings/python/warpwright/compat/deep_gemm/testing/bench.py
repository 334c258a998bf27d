# SPDX-License-Identifier: Apache-2.0
"""deep_gemm.testing.bench: the time of kernels by torch's profiler."""
import os
from typing import Any, Callable, Optional, Sequence, Tuple, Union

import torch

_FLUSH_BYTES = 8 << 30


def bench_kineto(fn: Callable[[], Any], kernel_names: Union[str, Sequence[str]], num_tests: int = 30,
                 suppress_kineto_output: bool = False, trace_path: Optional[str] = None, flush_l2: bool = True,
                 with_multiple_kernels: bool = False, **others: Any) -> Union[float, Tuple[float, ...]]:
    """The mean seconds of the kernels whose names contain each of `kernel_names`; exactly one kernel must match a name
    unless with_multiple_kernels. The L2 cache is overwritten before every call if flush_l2. With DG_USE_NVIDIA_TOOLS=1 it
    calls fn once under the tool that runs this process, and returns 1."""
    del suppress_kineto_output, others
    if os.environ.get("DG_USE_NVIDIA_TOOLS", "0") not in ("", "0"):  # Nsight profiles, and two profilers cannot
        fn()
        return 1.0 if isinstance(kernel_names, str) else (1.0,) * len(kernel_names)
    names = (kernel_names,) if isinstance(kernel_names, str) else tuple(kernel_names)
    fn()
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        for _ in range(num_tests):
            if flush_l2:
                torch.empty(_FLUSH_BYTES // 4, dtype=torch.int32, device="cuda").zero_()
            fn()
        torch.cuda.synchronize()
    if trace_path is not None:
        profiler.export_chrome_trace(trace_path)
    times = []
    for name in names:
        matches = [one for one in profiler.key_averages() if name in one.key[:100]]
        if len(matches) != 1 and not (with_multiple_kernels and matches):
            raise ValueError(f"kernel_names: expected one kernel with {name!r} in its name, got "
                             f"{[one.key[:100] for one in matches]}")
        times.append(sum(one.device_time_total for one in matches) / 1e6 / num_tests)
    return times[0] if isinstance(kernel_names, str) else tuple(times)
