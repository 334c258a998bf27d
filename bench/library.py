# SPDX-License-Identifier: Apache-2.0
"""The library from Python, for benchmarks: the shared object of bridge/build.sh, its problems and its plans."""
import concurrent.futures
import ctypes
from typing import Any, List, Optional, Tuple

import torch

DTYPES = {"e4m3": 0, "bf16": 1, "f16": 2, "f32": 3}
SCALES = {"none": 0, "tensor": 1, "row-column": 2, "block": 3}
ENCODINGS = {"offsets": 0, "indptr": 1, "starts-counts": 2, "row-ids": 3, "masked": 4}


class Problem(ctypes.Structure):
    """BridgeProblem of bridge/bridge.cpp; groups = 0 is a dense one."""
    _fields_ = [(name, ctypes.c_int64) for name in (
        "groups", "rows", "n", "k", "a", "b", "d", "scale", "encoding", "alignment", "zero_outside", "scale_a_row",
        "scale_a_k", "scale_a_group", "scale_b_n", "scale_b_k", "scale_b_group")]


class Bridge:
    """The shared object of bridge/build.sh."""

    def __init__(self, path: str, device: str) -> None:
        self.library = ctypes.CDLL(path, mode=ctypes.RTLD_LOCAL)
        for name, result, arguments in (
                ("error", ctypes.c_char_p, []),
                ("source_hash", ctypes.c_char_p, []),
                ("open", ctypes.c_void_p, [ctypes.c_char_p]),
                ("description", ctypes.c_char_p, [ctypes.c_void_p]),
                ("plan", ctypes.c_void_p, [ctypes.c_void_p, ctypes.POINTER(Problem), ctypes.c_char_p, ctypes.c_int]),
                ("config", ctypes.c_char_p, [ctypes.c_void_p]),
                ("workspace_bytes", ctypes.c_int64, [ctypes.c_void_p]),
                ("run", ctypes.c_int, [ctypes.c_void_p, ctypes.c_void_p * 9, ctypes.c_int64, ctypes.c_void_p]),
                ("widths", ctypes.c_int, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int64]),
                ("close_plan", None, [ctypes.c_void_p])):
            function = getattr(self.library, "ww_bridge_" + name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)
        self.device = self.open(device.encode())
        if not self.device:
            raise RuntimeError(self.message())

    @staticmethod
    def on(path: str, device: str) -> "Bridge":
        """Opens `device` in torch's context, which the library shares."""
        torch.cuda.set_device(torch.device(device))
        torch.zeros(1, device="cuda")  # torch makes its context at the first use
        return Bridge(path, device)

    def message(self) -> str:
        return self.error().decode()

    def compile(self, jobs: List[Tuple[Problem, str, int]], threads: int) -> List[Any]:
        """A plan, or the text of its refusal, for each (problem, config, pdl). Many at a time: compiling takes seconds
        each and holds no lock of Python's."""
        def one(job: Tuple[Problem, str, int]) -> Any:
            handle = self.plan(self.device, ctypes.byref(job[0]), job[1].encode(), job[2])
            return handle if handle else self.message()

        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            return list(pool.map(one, jobs))

    def launcher(self, plan: Any) -> "Launcher":
        return Launcher(self, plan)


class Launcher:
    """A plan with its own workspace and status word; a call enqueues one run on torch's current stream."""

    def __init__(self, bridge: Bridge, plan: Any) -> None:
        self.bridge, self.plan = bridge, plan
        self.config = bridge.config(plan).decode()
        self.bytes = max(16, bridge.workspace_bytes(plan))
        self.workspace = torch.zeros(self.bytes, dtype=torch.uint8, device="cuda")
        self.status = torch.zeros(1, dtype=torch.int32, device="cuda")

    def __call__(self, a: torch.Tensor, b: torch.Tensor, d: torch.Tensor, scale_a: Optional[torch.Tensor],
                 scale_b: Optional[torch.Tensor], sizes: Optional[torch.Tensor] = None) -> None:
        pointers = (ctypes.c_void_p * 9)(*(0 if tensor is None else tensor.data_ptr() for tensor in (
            a, b, d, scale_a, scale_b, sizes, None, self.status, self.workspace)))
        stream = torch.cuda.current_stream().cuda_stream
        if self.bridge.run(self.plan, pointers, self.bytes, stream) != 0:
            raise RuntimeError(self.bridge.message())

    def widths(self) -> str:
        """Tiles of each token width of the last run; empty where the kernel does not count them."""
        text = ctypes.create_string_buffer(512)
        done = self.bridge.widths(self.plan, self.workspace.data_ptr(), text, 512) == 0
        return text.value.decode() if done else ""
