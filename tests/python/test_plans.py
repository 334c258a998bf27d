# SPDX-License-Identifier: Apache-2.0
"""Plans, devices, the cache of plans, threads and forks."""
import gc
import os
import threading

import numpy as np
import pytest
import warpwright
from support import BF16, E4M3, integers, powers, product, same


@pytest.fixture
def operands():
    rng = np.random.default_rng(5)
    return integers(rng, (24, 256), E4M3), integers(rng, (16, 256), E4M3)


def test_a_plan_runs_on_other_tensors_of_the_same_shape(operands):
    a, b = operands
    plan = warpwright.gemm_plan(a, b, out_dtype="f32")
    assert plan.operation == "gemm" and plan.device.name == "emu:sm90" and "tile=" in plan.config
    for x, y in ((a, b), (-a, b), (a[::-1].copy(), b)):
        same(plan.run(x, y, out_dtype="f32"), product(x, y))
    out = np.zeros((24, 16), np.float32)
    assert plan.run(a, b, out=out) is out
    assert '"wgmmas":' in plan.stats()


def test_a_plan_refuses_other_tensors(operands):
    a, b = operands
    plan = warpwright.gemm_plan(a, b, out_dtype="f32")
    for x, y, out in ((a[:8], b, None), (a, b[:8], None), (a[:, :128], b[:, :128], None), (a.astype(BF16), b.astype(BF16), None),
                      (a, b, np.zeros((24, 32), np.float32)[:, :16])):
        with pytest.raises(warpwright.InvalidError):
            plan.run(x, y, out=out, **({} if out is not None else {"out_dtype": "f32"}))
    with pytest.raises(warpwright.InvalidError):
        plan.run(a, b, scale_a=np.ones(1, np.float32), scale_b=np.ones(1, np.float32), out_dtype="f32")
    with pytest.raises(TypeError):
        plan.run(a, b, config="tile=64x64x64")
    with pytest.raises(TypeError):
        warpwright.Plan()


def test_plans_keep_scales_epilogues_and_groups(operands):
    rng = np.random.default_rng(6)
    a, b = operands
    sa, sb, bias = powers(rng, (24, 2)), powers(rng, (1, 2)), integers(rng, 16, np.float32)
    given = {"scale_a": sa, "scale_b": sb, "bias": bias, "out_dtype": "f32"}
    plan = warpwright.gemm_plan(a, b, epilogue="relu(acc + bias)", scale="block", **given)
    same(plan.run(a, b, **given), np.maximum(product(a, b, "block", sa, sb) + bias, 0))
    ends = {"offsets": np.array([3, 20], np.int32)}
    stack = np.stack([b, b])
    plan = warpwright.grouped_gemm_plan(a, stack, alignment=8, zero_outside=True, out_dtype="f32", **ends)
    want = product(a, b)
    want[[3, 4, 5, 6, 7, 20, 21, 22, 23]] = 0
    same(plan.run(a, stack, out_dtype="f32", **ends), want)
    out = np.ones((1, 24, 16), np.float32)
    all_of_k = {"offsets": np.array([256], np.int32)}
    plan = warpwright.k_grouped_gemm_plan(a, b, out=out, accumulate=True, **all_of_k)
    same(plan.run(a, b, out=out, **all_of_k), product(a, b)[None] + 1)


def test_calls_find_their_plans(operands):
    a, b = operands
    warpwright.clear_plan_cache()
    device = warpwright.Device("emu:sm90")
    for _ in range(3):
        warpwright.gemm(a, b, device=device)
        warpwright.gemm(a, b, device=device, epilogue="".join(["relu(", "acc)"]))
    warpwright.gemm(a[:8], b, device=device)
    assert warpwright.plan_cache_size() == 3
    assert device.counters()["launches"] == 7 and device.counters()["plans"] == 3
    warpwright.clear_plan_cache()
    assert warpwright.plan_cache_size() == 0


def test_the_cache_is_bounded(operands):
    a, b = operands
    warpwright.clear_plan_cache()
    for limit in range(1, 9000):
        warpwright.gemm(a[:0], b, workspace_limit=limit)
    assert warpwright.plan_cache_size() <= 8192
    warpwright.clear_plan_cache()


def test_a_plan_outlives_the_cache_and_its_device(operands):
    a, b = operands
    plan = warpwright.gemm_plan(a, b, device=warpwright.Device("emu:sm90", seed=3), out_dtype="f32")
    warpwright.clear_plan_cache()
    gc.collect()
    same(plan.run(a, b, out_dtype="f32"), product(a, b))


def test_emulated_devices_have_settings(operands):
    a, b = operands
    device = warpwright.Device("emu:sm90", schedule="adversarial", seed=7, sms=2, threads=1)
    assert device.emulated and device.sms == 2 and device.arch == 90 and "emulated" in device.description
    assert repr(device) == 'warpwright.Device("emu:sm90")'
    same(warpwright.gemm(a, b, device=device, out_dtype="f32"), product(a, b))
    device.synchronize()
    plan = warpwright.gemm_plan(a, b, device=device)
    assert plan.device is device


def test_threads_share_plans_with_workspaces(operands):
    a, b = operands
    config = "tile=64x64x128,tile_scheduler=stream-k"
    plan = warpwright.gemm_plan(a, b, config=config, out_dtype="f32")
    wrong = []

    def work():
        for _ in range(3):
            if (plan.run(a, b, out_dtype="f32") != product(a, b)).any():
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert plan.workspace_bytes > 0 and not wrong


def in_child(work):
    """Runs work() in a forked child; returns what it returned, below 256."""
    child = os.fork()
    if child == 0:
        code = 255
        try:
            code = work()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.filterwarnings("ignore:.*fork.*")
def test_forks(operands):
    a, b = operands
    plan = warpwright.gemm_plan(a, b, out_dtype="f32")
    want = product(a, b)

    def fresh():
        return int((warpwright.gemm(a, b, out_dtype="f32") != want).sum())

    def inherited():
        try:
            plan.run(a, b, out_dtype="f32")
        except warpwright.ForkedError:
            return 0
        return 1

    assert [in_child(fresh) for _ in range(8)] == [0] * 8
    assert in_child(inherited) == 0
    assert fresh() == 0
