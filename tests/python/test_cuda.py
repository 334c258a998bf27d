# SPDX-License-Identifier: Apache-2.0
"""The CUDA side of the package, against the stand-in for the driver (tests/runtime/fake_cuda_driver.cpp), which records
launches and executes none: streams, capture, workspaces, devices, forks. Kernels are compiled by NVRTC."""
import ctypes
import os

import numpy as np
import pytest
import warpwright
from exchange import ExchangeTensor

DRIVER = os.environ.get("WARPWRIGHT_CUDA_DRIVER", "")
pytestmark = pytest.mark.skipif("fake_cuda" not in DRIVER, reason="WARPWRIGHT_CUDA_DRIVER is not the stand-in")


PARAMS_BYTES = 1152  # sizeof(kernel::GemmParams), which the stand-in cannot know


class Driver:
    """The records of the stand-in, found by name, so that a new one in FakeDriver moves none that these tests read."""

    TYPES = {"capturing": ctypes.c_bool, "launch_stream": ctypes.c_void_p, "params_bytes": ctypes.c_size_t} | dict.fromkeys(
        ("occupancy_questions", "launches", "synchronizations", "live_allocations", "live_modules"), ctypes.c_int)

    def __init__(self, library):
        library.fake_cuda_record.restype = ctypes.c_void_p
        for name, kind in self.TYPES.items():
            address = library.fake_cuda_record(name.encode())
            assert address, f"the stand-in has no record {name}"
            self.__dict__["_" + name] = kind.from_address(address)

    def __getattr__(self, name):
        return self.__dict__["_" + name].value

    def __setattr__(self, name, value):
        self.__dict__["_" + name].value = value


@pytest.fixture
def driver():
    record = Driver(ctypes.CDLL(DRIVER))
    record.capturing, record.params_bytes = False, PARAMS_BYTES
    return record


class Memory:
    """Memory of the process, which is the stand-in's device memory."""

    def __init__(self):
        self.bytes = np.zeros(1 << 22, np.uint8)
        self.at = (self.bytes.ctypes.data + 1023) // 1024 * 1024

    def tensor(self, shape, dtype="bfloat16", device=0):
        strides = [int(np.prod(shape[i + 1 :])) for i in range(len(shape))]
        made = ExchangeTensor(None, shape, strides, dtype, (2, device), self.at)
        self.at += (int(np.prod(shape)) * 4 + 1023) // 1024 * 1024
        return made


@pytest.fixture
def operands(driver):
    memory = Memory()
    a, b, out = memory.tensor((128, 256)), memory.tensor((128, 256)), memory.tensor((128, 128))
    try:
        warpwright.gemm(a, b, out=out)
    except warpwright.CouldNotFinishError as error:
        if "nvrtc" in str(error).lower():
            pytest.skip(f"no NVRTC on this machine: {error}")
        raise
    out.memory = memory
    return a, b, out


def test_a_call_is_one_launch_without_synchronisation(driver, operands):
    a, b, out = operands
    before = driver.launches, driver.synchronizations, driver.occupancy_questions
    for _ in range(5):
        assert warpwright.gemm(a, b, out=out) is out
    assert (driver.launches, driver.synchronizations, driver.occupancy_questions) == (before[0] + 5, *before[1:])


def test_streams(driver, operands, monkeypatch):
    a, b, out = operands
    monkeypatch.setattr(ExchangeTensor, "stream", 0x7000)
    asked = len(ExchangeTensor.asked)
    warpwright.gemm(a, b, out=out)
    assert driver.launch_stream == 0x7000 and ExchangeTensor.asked[asked:] == [(2, 0)]

    class Stream:
        cuda_stream = 0x8000

    for stream in (0x8000, Stream()):
        warpwright.gemm(a, b, out=out, stream=stream)
        assert driver.launch_stream == 0x8000
    assert len(ExchangeTensor.asked) == asked + 1
    for stream in ("stream", 1 << 70, -(1 << 70), object()):
        with pytest.raises(warpwright.InvalidError) as caught:
            warpwright.gemm(a, b, out=out, stream=stream)
        assert caught.value.argument == "stream"


def test_the_cache_is_cleared_while_the_stream_is_asked_for(driver, operands, monkeypatch):
    a, b, out = operands
    config = {"config": "tile=64x64x64,tile_scheduler=stream-k"}
    warpwright.clear_plan_cache()
    launches, allocations = driver.launches, driver.live_allocations
    monkeypatch.setattr(ExchangeTensor, "stream_hook", warpwright.clear_plan_cache)
    for _ in range(5):
        assert warpwright.gemm(a, b, out=out, **config) is out
    warpwright.clear_plan_cache()
    assert driver.launches == launches + 5 and driver.live_allocations == allocations


def test_under_capture_nothing_is_compiled_or_allocated(driver, operands):
    a, b, out = operands
    memory = out.memory
    driver.capturing = True
    allocations, modules = driver.live_allocations, driver.live_modules
    launches = driver.launches
    warpwright.gemm(a, b, out=out)  # it was planned before
    assert driver.launches == launches + 1
    with pytest.raises(warpwright.CaptureError) as caught:
        warpwright.gemm(memory.tensor((64, 256)), b, out=memory.tensor((64, 128)))
    assert caught.value.argument == "stream" and "before the capture" in caught.value.expected
    with pytest.raises(warpwright.CaptureError):
        warpwright.gemm_plan(memory.tensor((64, 256)), b, out=memory.tensor((64, 128)))
    assert (driver.live_allocations, driver.live_modules) == (allocations, modules)
    driver.capturing = False
    plan = warpwright.gemm_plan(memory.tensor((64, 256)), b, out=memory.tensor((64, 128)))
    assert plan.device.name == "cuda:0"


def test_a_capture_has_a_workspace_of_its_own(driver, operands):
    a, b, out = operands
    config = {"config": "tile=64x64x64,tile_scheduler=stream-k"}
    assert warpwright.gemm_plan(a, b, out=out, **config).workspace_bytes > 0
    warpwright.clear_plan_cache()
    allocations = driver.live_allocations
    warpwright.gemm(a, b, out=out, stream=0x1000, **config)
    assert driver.live_allocations == allocations + 2
    driver.capturing = True
    for _ in range(2):
        warpwright.gemm(a, b, out=out, stream=0x2000, **config)
    with pytest.raises(warpwright.CaptureError, match="workspace"):
        warpwright.gemm(a, b, out=out, stream=0x3000, **config)
    driver.capturing = False
    assert driver.live_allocations == allocations + 2
    warpwright.clear_plan_cache()
    assert driver.live_allocations == allocations + 2  # the graph may still hold it


def test_workspaces_are_freed_with_their_plans(driver, operands):
    a, b, out = operands
    config = {"config": "tile=64x64x64,tile_scheduler=stream-k,stages=3"}
    warpwright.clear_plan_cache()
    allocations = driver.live_allocations
    warpwright.gemm(a, b, out=out, **config)
    assert driver.live_allocations > allocations
    warpwright.clear_plan_cache()
    assert driver.live_allocations == allocations


def test_devices(driver, operands):
    a, b, out = operands
    device = warpwright.Device("cuda:0")
    assert not device.emulated and device.sms == 132 and "Fake H200" in device.description
    warpwright.gemm(a, b, out=out, device=device)
    assert device.counters()["launches"] == 1
    plan = warpwright.gemm_plan(a, b, out=out, device=device)
    with pytest.raises(warpwright.InvalidError):
        plan.run(np.zeros((128, 256), np.float16), np.zeros((128, 256), np.float16))
    with pytest.raises(warpwright.InvalidError):
        warpwright.gemm(a, b, out=out, device="emu:sm90")
    other = Memory().tensor((128, 256), device=1)
    with pytest.raises(warpwright.InvalidError, match="cuda:0, as a is"):
        warpwright.gemm(a, other, out=out)
    with pytest.raises(warpwright.UnsupportedError):
        plan.stats()


def test_an_output_that_nobody_can_allocate(operands):
    a, b, _ = operands
    with pytest.raises(warpwright.InvalidError) as caught:
        warpwright.gemm(a, b)
    assert "out" in str(caught.value)


def test_a_child_of_a_fork_refuses_the_plans_of_its_parent(operands):
    a, b, out = operands
    plan = warpwright.gemm_plan(a, b, out=out)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            plan.run(a, b, out=out)
        except warpwright.ForkedError:
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
