# SPDX-License-Identifier: Apache-2.0
"""The library under torch, for benchmarks: plans compiled many at a time, and runs on torch's memory and stream."""
import concurrent.futures
import ctypes
import dataclasses
import math
import subprocess
import sys
import time
from typing import Any, List, Optional, Tuple

import torch

from c_interface import Header, Interface

HEADER = Header()
SCALES = {"none": "WW_SCALE_NONE", "tensor": "WW_SCALE_TENSOR", "row-column": "WW_SCALE_ROW_COLUMN",
          "block": "WW_SCALE_BLOCK"}
# A problem, a config as text ("" chooses everything), and whether launches overlap: 0 auto, 1 never, 2 always.
Job = Tuple[Any, str, int]


@dataclasses.dataclass
class Plan:
    operation: str  # "gemm" or "grouped"
    handle: ctypes.c_void_p


class Library:
    """libwarpwright.so with a device open."""

    def __init__(self, path: str, device: str) -> None:
        self.c = Interface(path)
        self.device = self.c.open(device)
        self.memory = "cuda" if device.startswith("cuda") else "cpu"  # of operands, as torch calls it

    @staticmethod
    def on(path: str, device: str) -> "Library":
        """Opens `device` in torch's context, which the library shares."""
        if device.startswith("cuda"):
            torch.cuda.set_device(torch.device(device))
            torch.zeros(1, device="cuda")  # torch makes its context at the first use
        return Library(path, device)

    def stream(self) -> ctypes.c_void_p:
        """torch's current stream; null on an emulated device, which has none."""
        return ctypes.c_void_p(torch.cuda.current_stream().cuda_stream if self.memory == "cuda" else None)

    def description(self) -> str:
        info = HEADER.make("ww_device_info")
        self.c.call("device_get_info", self.device, info)
        return str(info.description.decode())

    def plan(self, job: Job) -> Plan:
        problem, config, pdl = job
        operation = type(problem).__name__.removeprefix("ww_").removesuffix("_problem")
        plan = Plan(operation, ctypes.c_void_p())
        options = HEADER.make("ww_options", pdl=pdl)
        options.config = config.encode()
        self.c.call(operation + "_plan", self.device, problem, options, ctypes.byref(plan.handle))
        return plan

    def compile(self, jobs: List[Job], threads: int) -> List[Any]:
        """A plan, or the text of its refusal, for each job. Many at a time: compiling takes seconds each and holds no
        lock of Python's."""
        def one(job: Job) -> Any:
            try:
                return self.plan(job)
            except RuntimeError as refusal:
                return str(refusal)

        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            return list(pool.map(one, jobs))

    def launcher(self, plan: Plan) -> "Launcher":
        return Launcher(self, plan)


def compile_ahead(count: int, seconds: float = math.inf) -> None:
    """Runs this program `count` times with --part I/COUNT, for at most `seconds`: each plans a part of the problems, because
    one process compiles one kernel at a time, and leaves the kernels in the cache that this one reads."""
    processes = [subprocess.Popen([sys.executable, *sys.argv, "--part", f"{i}/{count}"]) for i in range(count)]
    deadline = time.monotonic() + seconds
    for process in processes:
        try:
            process.wait(None if seconds == math.inf else max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()


class Launcher:
    """A plan with its own workspace and status word; a call enqueues one run on torch's current stream."""

    def __init__(self, library: Library, plan: Plan) -> None:
        self.library, self.plan = library, plan
        config, size = ctypes.c_char_p(), ctypes.c_size_t()
        library.c.call("plan_config", plan.handle, ctypes.byref(config))
        library.c.call("plan_workspace_bytes", plan.handle, ctypes.byref(size))
        self.config = (config.value or b"").decode()
        whole = torch.zeros(max(16, size.value) + 255, dtype=torch.uint8, device=library.memory)
        self.workspace = whole[-whole.data_ptr() % 256:]  # aligned, which memory of the CPU is not by itself
        self.status = torch.zeros(1, dtype=torch.int32, device=library.memory)

    def __call__(self, a: torch.Tensor, b: torch.Tensor, d: torch.Tensor, scale_a: Optional[torch.Tensor],
                 scale_b: Optional[torch.Tensor], sizes: Optional[torch.Tensor] = None) -> None:
        def address(tensor: Optional[torch.Tensor]) -> Optional[int]:
            return None if tensor is None else tensor.data_ptr()

        operands = HEADER.make(f"ww_{self.plan.operation}_operands", a=address(a), b=address(b), d=address(d),
                               scale_a=address(scale_a), scale_b=address(scale_b), workspace=address(self.workspace),
                               workspace_bytes=self.workspace.numel())
        if self.plan.operation == "grouped":
            operands.sizes, operands.status = address(sizes), address(self.status)
        self.library.c.call(self.plan.operation + "_run", self.plan.handle, operands, self.library.stream())

    def widths(self) -> str:
        """ "8:3,64n:12": tiles of each token width of the last run, "n" where A is on the M side; empty where the kernel
        does not count them."""
        if self.plan.operation != "grouped":
            return ""
        widths, count = (HEADER.structs["ww_tile_width"] * 32)(), ctypes.c_size_t()
        self.library.c.call("grouped_widths", self.plan.handle, ctypes.c_void_p(self.workspace.data_ptr()), widths,
                            ctypes.c_size_t(len(widths)), ctypes.byref(count))
        return ",".join(f"{w.width}{'' if w.swapped else 'n'}:{w.tiles}" for w in widths[:count.value] if w.tiles > 0)
