# SPDX-License-Identifier: Apache-2.0
"""What can be asked without running: can_implement, configs, explain, prepare, check, version."""
import ml_dtypes
import numpy as np
import pytest
import warpwright
from warpwright import GemmProblem, GroupedProblem, KGroupedProblem, Options


def test_reasons():
    assert warpwright.can_implement(GemmProblem(256, 256, 512)) is None
    assert warpwright.can_implement(GroupedProblem(8, 100, 256, 512, scale="block")) is None
    assert warpwright.can_implement(KGroupedProblem(8, 64, 256, 512)) is None
    assert "argument n: expected a multiple of 8, got 13" in warpwright.can_implement(GemmProblem(256, 13, 512))
    assert "e8m0" in warpwright.can_implement(GemmProblem(256, 64, 512, scale="tensor", scale_type="e8m0"))
    assert warpwright.can_implement(GemmProblem(256, 64, 512), Options(config="tile=1x1x1"))


def test_fields():
    with pytest.raises(warpwright.InvalidError) as caught:
        warpwright.can_implement(GemmProblem(256, 64, 512, a="e9m9"))
    assert caught.value.argument == "a" and "e4m3" in caught.value.expected
    for wrong in (1.5, "64", 1 << 64):
        with pytest.raises(warpwright.InvalidError) as caught:
            warpwright.can_implement(GemmProblem(wrong, 64, 512))
        assert caught.value.argument == "m"
    with pytest.raises(TypeError):
        warpwright.check(GemmProblem(64, 64, 64), colour=3)


def test_configs_are_texts_that_plans_take():
    problem = GemmProblem(512, 512, 512)
    found = warpwright.configs(problem)
    assert len(found) > 10 and warpwright.explain(problem)["chosen"]["config"] == found[0]
    for config in found[:3]:
        assert warpwright.can_implement(problem, Options(config=config)) is None
    assert warpwright.configs(GroupedProblem(4, 100, 256, 512))
    assert warpwright.configs(KGroupedProblem(4, 64, 256, 512), device="emu:sm90")


def test_explanations():
    explained = warpwright.explain(GemmProblem(4096, 4096, 4096))
    assert explained["because"] and explained["ranking"]
    with pytest.raises(warpwright.UnsupportedError):
        warpwright.explain(GemmProblem(4096, 13, 4096))


def test_blackwell_is_chosen_by_rates_of_publications():
    problem = GemmProblem(8192, 8192, 8192)
    explained = warpwright.explain(problem, Options(config="arch=sm100"))
    assert explained["sms"] == 148 and explained["modelled_for"] == "B200" and not explained["measured"]
    assert "unmeasured" in explained["because"] and "pair=1" in explained["chosen"]["config"]
    assert warpwright.explain(problem)["measured"]
    for other in (GroupedProblem(4, 100, 256, 512), KGroupedProblem(4, 64, 256, 512)):
        assert "arch=sm100" in warpwright.configs(other, device="emu:sm100")[0]
    # A config text without arch is for the device.
    small, options = GemmProblem(64, 64, 64), Options(config="tile=64x64x0")
    assert "arch=sm100" in warpwright.explain(small, options, "emu:sm100")["chosen"]["config"]
    assert "arch=sm90" in warpwright.explain(small, options, "emu:sm90")["chosen"]["config"]
    with pytest.raises(warpwright.UnsupportedError) as caught:
        warpwright.explain(small, Options(config="arch=sm90,tile=64x64x0"), "emu:sm100")
    assert caught.value.argument == "config, arch"


@pytest.mark.parametrize("device, other", [("emu:sm90", "sm100"), ("emu:sm100", "sm90")])
def test_a_config_of_another_architecture_is_refused(device, other):
    """Its only key may be arch. Without a device it decides."""
    named = Options(config=f"arch={other}")
    a = np.zeros((64, 64), ml_dtypes.bfloat16)
    ends = np.array([64], np.int32)
    calls = [lambda: warpwright.gemm(a, a, device=device, config=named.config),
             lambda: warpwright.grouped_gemm(a, a[None], offsets=ends, device=device, config=named.config),
             lambda: warpwright.k_grouped_gemm(a, a, offsets=ends, device=device, config=named.config),
             lambda: warpwright.prepare([named.config], device)]
    for problem in (GemmProblem(64, 64, 64), GroupedProblem(1, 64, 64, 64), KGroupedProblem(1, 64, 64, 64)):
        calls += [lambda p=problem: warpwright.explain(p, named, device),
                  lambda p=problem: warpwright.configs(p, named, device),
                  lambda p=problem: warpwright.prepare([(p, named)], device)]
        assert f"arch={other}" in warpwright.explain(problem, named)["chosen"]["config"]
        reason = warpwright.can_implement(problem, named, device=device)
        assert reason.startswith(f"unsupported: argument config, arch: expected {device[4:]}, the device's, got {other}; ")
        assert warpwright.can_implement(problem, named, device=f"emu:{other}") is None
    for call in calls:
        with pytest.raises(warpwright.UnsupportedError) as caught:
            call()
        error = caught.value
        assert (error.argument, error.expected, error.actual) == ("config, arch", f"{device[4:]}, the device's", other)


def test_can_implement_asks_about_an_architecture():
    assert warpwright.can_implement(GemmProblem(256, 256, 512), arch="sm100") is None
    pair = Options(config="tile=128x128x0,cluster=2x1,pair=1")
    assert "pair" in warpwright.can_implement(GemmProblem(256, 256, 512), pair)
    assert warpwright.can_implement(GemmProblem(256, 256, 512), pair, arch="sm100") is None
    assert "arch" in warpwright.can_implement(GemmProblem(256, 256, 512), arch="sm80")
    nv = GemmProblem(256, 256, 512, a="e2m1", b="e2m1", scale="nv")
    assert warpwright.can_implement(nv, device="emu:sm100") is None
    for hopper in ("emu:sm90", warpwright.Device("emu:sm90")):
        assert "Hopper" in warpwright.can_implement(nv, device=hopper)
    with pytest.raises(warpwright.InvalidError, match="argument device"):
        warpwright.can_implement(nv, arch="sm100", device="emu:sm100")


@pytest.mark.parametrize("arch, other", [("sm90", "sm100"), ("sm100", "sm90")])
def test_a_device_decides_as_its_architecture(arch, other):
    """can_implement says of a device what it says of arch=, whatever the config names and in whatever place."""
    problems = [GemmProblem(0, 64, 64), GemmProblem(64, 64, 0), GemmProblem(1, 8, 64, batch=3), GemmProblem(64, 13, 64),
                GemmProblem(256, 256, 512, a="e2m1", b="e2m1", scale="nv"), GroupedProblem(0, 64, 64, 64),
                GroupedProblem(4, 0, 64, 128, scale="block"), KGroupedProblem(2, 64, 64, 0),
                KGroupedProblem(2, 64, 64, 100)]
    for problem in problems:
        for config in ("", "tile=128x128x0", "tile=128x128x0,cluster=2x1,pair=1", "stages=99", f"stages=3,arch={arch}"):
            named = Options(config=config)
            got = warpwright.can_implement(problem, named, device=f"emu:{arch}")
            want = warpwright.can_implement(problem, named, **({} if "arch" in config else {"arch": arch}))
            assert got == want, (problem, config)
        refused = warpwright.can_implement(problem, Options(config=f"stages=3,arch={other}"), device=f"emu:{arch}")
        assert refused.startswith(f"unsupported: argument config, arch: expected {arch}, the device's, got {other}")


def test_prepare_reports_progress_and_failures():
    seen = []
    problems = [GemmProblem(64, 64, 128), (GemmProblem(64, 64, 128), Options(sms=2)), GemmProblem(64, 13, 128),
                GroupedProblem(2, 64, 64, 128)]
    report = warpwright.prepare(problems, "emu:sm90", progress=lambda *kernel: seen.append(kernel))
    assert report["failed"] == 1
    assert sorted(case for kernel in report["kernels"] for case in kernel["cases"]) == [0, 1, 2, 3]
    assert [kernel[0] for kernel in seen] == list(range(1, len(seen) + 1))
    assert any(error and "13" in error for *_, error in seen)


def test_prepare_takes_kernels_as_text():
    texts = ["quantize=1x128,x=bf16,q=e4m3,rows=1,transposed=1", "transpose=e4m3", "pack=ue8m0"]
    report = warpwright.prepare([*texts, "quantize=1x128,transposed=1", "transpose=bf16"], "emu:sm90")
    assert [kernel["config"] for kernel in report["kernels"]] == [*texts, "transpose=bf16"]
    assert [kernel["ok"] for kernel in report["kernels"]] == [True, True, True, False]
    assert report["kernels"][0]["cases"] == [0, 3]
    for text, argument in (("quantize=1x64", "quantize, key quantize"), ("pack=e5m2", "pack"), ("tile=1", "config, key tile"), ("\0", "problems")):
        with pytest.raises(warpwright.InvalidError) as caught:
            warpwright.prepare([text], "emu:sm90")
        assert caught.value.argument == argument


def test_an_exception_of_progress_is_raised():
    def stop(*_):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        warpwright.prepare([GemmProblem(64, 64, 128), GemmProblem(128, 64, 128)], "emu:sm90", progress=stop)
    with pytest.raises(KeyError, match="enough"):
        warpwright.check(GemmProblem(64, 64, 128), schedules=2, progress=stop)


def test_checks():
    phases = set()
    report = warpwright.check(GemmProblem(64, 64, 128), schedules=3, progress=lambda phase, _: phases.add(phase))
    assert report["verdict"] == "clean" and not report["findings"] and "check" in phases
    report = warpwright.check(GroupedProblem(2, 40, 64, 128), counts=[10, 30], schedules=2)
    assert report["verdict"] == "clean"
    with pytest.raises(warpwright.InvalidError) as caught:
        warpwright.check(GroupedProblem(2, 40, 64, 128), counts=[10, 20, 10])
    with pytest.raises(warpwright.InvalidError, match=r"sizes: expected 9223372036854775807 \+ 1 integers, got 2"):
        warpwright.check(GroupedProblem(2 ** 63 - 1, 40, 64, 128, encoding="indptr"), sizes=[0, 40])
    assert caught.value.argument == "counts"


RACE = """#pragma once
#include "warpwright/arch/memory.hpp"
"""


def test_a_kernel_of_ones_own_that_does_not_compile():
    with pytest.raises(warpwright.Error):
        warpwright.check_kernel("race.hpp", "race", "grid=1,threads=64", text=RACE, schedules=1)


def test_sms_are_chosen_for_a_kernel_of_ones_own():
    kernel = """#include "warpwright/arch/common/special.hpp"
struct Params { unsigned* words; };
WW_KERNEL(fills, 64, Params, p) { p.words[ww::arch::thread_index()] = 1; }
"""
    launch = "grid=1,threads=64,buffer=256"
    report = warpwright.check_kernel("fills.hpp", "fills", launch, text=kernel, sms=3, schedules=1)
    assert (report["verdict"], report["sms"]) == ("clean", 3)
    with pytest.raises(warpwright.InvalidError) as caught:
        warpwright.check_kernel("fills.hpp", "fills", launch, text=kernel, sms=133, schedules=1)
    assert caught.value.argument == "sms"


def test_version():
    assert warpwright.version() == warpwright.__version__ == "0.1.0"
    assert warpwright.source_hash().startswith("xxh3-128:")
