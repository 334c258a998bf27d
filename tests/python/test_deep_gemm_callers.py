# SPDX-License-Identifier: Apache-2.0
"""How vLLM, SGLang and torchao use deep_gemm: their probes, settings and calls, through install() and the plugins."""
import contextlib
import importlib
import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

import warpwright.compat  # noqa: E402
from torch_cases import DEVICE, FP8, by_blocks, integers, powers  # noqa: E402


@pytest.fixture
def deep_gemm():
    """What `import deep_gemm` gives in a process that installed the overlay."""
    warpwright.compat.install(vendored=False)
    try:
        yield importlib.import_module("deep_gemm")
    finally:
        warpwright.compat.uninstall()


def linear(rows, n, k):
    """Quantised activations and weights as a layer has them, and the exact product."""
    a, b = integers((rows, k), 1, FP8), integers((n, k), 2, FP8)
    sa, sb = powers((rows, k // 128), 3), powers((-(-n // 128), k // 128), 4)
    exact = (a.double() * by_blocks(sa, rows, k)) @ (b.double() * by_blocks(sb, n, k, 128)).t()
    return (a, sa), (b, sb), exact.bfloat16()


def experts(groups, n, k):
    b, sb = integers((groups, n, k), 5, FP8), powers((groups, -(-n // 128), k // 128), 6)
    return (b, sb), b.double() * by_blocks(sb, n, k, 128)


def test_vllm_finds_names_and_only_those_that_exist(deep_gemm):
    assert importlib.util.find_spec("deep_gemm") is not None
    module = importlib.import_module("deep_gemm")
    for name in ("fp8_gemm_nt", "m_grouped_fp8_gemm_nt_contiguous", "m_grouped_fp8_gemm_nt_masked",
                 "fp8_m_grouped_gemm_nt_masked", "get_mn_major_tma_aligned_tensor", "transform_sf_into_required_layout",
                 "get_mk_alignment_for_contiguous_layout", "get_theoretical_mk_alignment_for_contiguous_layout",
                 "set_mk_alignment_for_contiguous_layout", "set_pdl", "get_pdl"):
        assert callable(getattr(module, name, None)), name
    real = getattr(module, "_real", None)
    for name in ("fp8_mqa_logits", "fp8_paged_mqa_logits", "get_paged_mqa_logits_metadata", "fp8_einsum",
                 "tf32_hc_prenorm_gemm", "fp8_gemm_nt_skip_head_mid", "SymmBuffer"):
        assert (getattr(module, name, None) is not None) == hasattr(real, name), name
        assert hasattr(module, name) == hasattr(real, name)
    with pytest.raises(ImportError):
        from deep_gemm import no_such_name  # noqa: F401


def test_vllm_runs_a_linear_layer_after_its_warm_up(deep_gemm):
    assert [deep_gemm.get_mk_alignment_for_contiguous_layout()] * 2 == [128, 128]
    deep_gemm.set_pdl(True)
    assert deep_gemm.get_pdl() is True
    a, b, exact = linear(70, 192, 256)
    column_major = a[1].t().contiguous().t()
    out = torch.full((70, 192), 9, dtype=torch.bfloat16, device=DEVICE)
    for rows in (1, 16, 64, 70):  # the warm-up: every M of a list, in the same memory
        deep_gemm.fp8_gemm_nt((a[0][:rows], column_major[:rows]), b, out[:rows])
    out.fill_(9)
    deep_gemm.fp8_gemm_nt((a[0], column_major), b, out, disable_ue8m0_cast=False)
    assert torch.equal(out, exact)
    deep_gemm.set_pdl(False)


@contextlib.contextmanager
def mk_alignment(module, value):
    before = module.get_mk_alignment_for_contiguous_layout()
    module.set_mk_alignment_for_contiguous_layout(value)
    try:
        yield
    finally:
        module.set_mk_alignment_for_contiguous_layout(before)


@pytest.mark.parametrize("alignment", [64, 128])
def test_vllm_runs_experts_in_an_alignment_of_its_own(deep_gemm, alignment):
    n, k, counts = 128, 256, (30, 0, 50)
    (b, sb), y = experts(3, n, k)
    starts, at = [], 0
    for count in counts:
        starts.append(at)
        at += -(-count // alignment) * alignment
    a, sa = integers((at, k), 7, FP8), powers((at, k // 128), 8)
    ends = torch.tensor([s + c for s, c in zip(starts, counts)], dtype=torch.int32, device=DEVICE)
    first, second = (torch.full((at, n), 9, dtype=torch.bfloat16, device=DEVICE) for _ in range(2))
    with mk_alignment(deep_gemm, alignment):
        assert deep_gemm.get_mk_alignment_for_contiguous_layout() == alignment
        for d in (first, second):
            deep_gemm.m_grouped_fp8_gemm_nt_contiguous((a, sa), (b, sb), d, ends, use_psum_layout=True,
                                                       expected_m_for_psum_layout=27)
    assert deep_gemm.get_mk_alignment_for_contiguous_layout() == 128
    x = a.double() * by_blocks(sa, at, k)
    for g, (start, count) in enumerate(zip(starts, counts)):
        exact = (x[start:start + count] @ y[g].t()).bfloat16()
        assert torch.equal(first[start:start + count], exact) and torch.equal(second[start:start + count], exact)


def test_vllm_warms_experts_up_with_ids_of_blocks(deep_gemm):
    n, k, rows = 128, 256, 384
    (b, sb), y = experts(4, n, k)
    a, sa = integers((rows, k), 9, FP8), powers((rows, k // 128), 10)
    of_block = torch.tensor([3, 0, 0], dtype=torch.int32, device=DEVICE)
    ids = torch.repeat_interleave(of_block, 128)
    for m in (128, 256, 384):
        d = torch.full((m, n), 9, dtype=torch.bfloat16, device=DEVICE)
        deep_gemm.m_grouped_fp8_gemm_nt_contiguous((a[:m], sa[:m]), (b, sb), d, ids[:m])
        x = a[:m].double() * by_blocks(sa[:m], m, k)
        exact = torch.cat([x[i:i + 128] @ y[g].t() for i, g in zip(range(0, m, 128), of_block.tolist())])
        assert torch.equal(d, exact.bfloat16())


def test_sglang_asks_for_alignments_both_ways(deep_gemm):
    ask = deep_gemm.get_theoretical_mk_alignment_for_contiguous_layout
    assert ask() == ask(100) == ask(100, 8) == ask(expected_m=None) == 128


def test_sglang_compiles_for_every_m_without_running(deep_gemm):
    a, b, exact = linear(24, 128, 256)
    d = torch.full((24, 128), 9, dtype=torch.bfloat16, device=DEVICE)
    before = deep_gemm.call_counts().get("fp8_gemm_nt", 0)
    mode = deep_gemm.get_compile_mode()
    deep_gemm.set_compile_mode(1)
    try:
        for m in range(1, 25):
            deep_gemm.fp8_gemm_nt((a[0][:m], a[1][:m]), b, d[:m])
    finally:
        deep_gemm.set_compile_mode(mode)
    assert bool((d == 9).all()) and deep_gemm.call_counts()["fp8_gemm_nt"] == before + 24
    deep_gemm.fp8_gemm_nt(a, b, d)
    assert torch.equal(d, exact)


def test_sglang_runs_masked_experts_with_and_without_overlap(deep_gemm):
    groups, most, n, k = 3, 32, 128, 256
    (b, sb), y = experts(groups, n, k)
    a, sa = integers((groups, most, k), 11, FP8), powers((groups, most, k // 128), 12)
    sa = deep_gemm.get_mn_major_tma_aligned_tensor(sa)
    masked = torch.tensor([0, 32, 5], dtype=torch.int32, device=DEVICE)
    d = torch.full((groups, most, n), 9, dtype=torch.bfloat16, device=DEVICE)
    deep_gemm.fp8_m_grouped_gemm_nt_masked((a, sa), (b, sb), d, masked, 12)
    again = torch.full_like(d, 9)
    deep_gemm.fp8_m_grouped_gemm_nt_masked((a, sa), (b, sb), again, masked_m=masked, expected_m=12, enable_overlap=False,
                                           max_block_n=256, signal=None)
    for g, count in enumerate(masked.tolist()):
        x = a[g, :count].double() * by_blocks(sa[g, :count], count, k)
        exact = (x @ y[g].t()).bfloat16()
        assert torch.equal(d[g, :count], exact) and torch.equal(again[g, :count], exact)
    with pytest.raises(NotImplementedError, match="enable_overlap"):
        deep_gemm.fp8_m_grouped_gemm_nt_masked((a, sa), (b, sb), d, masked, 12, enable_overlap=True, max_block_n=256,
                                               signal=torch.zeros(8, dtype=torch.int32, device=DEVICE))


def test_sglang_leaves_sms_to_communication(deep_gemm):
    a, b, exact = linear(70, 192, 256)
    before = deep_gemm.get_num_sms() if torch.cuda.is_available() else None
    deep_gemm.set_num_sms(4)
    try:
        assert deep_gemm.get_num_sms() == 4
        d = torch.empty((70, 192), dtype=torch.bfloat16, device=DEVICE)
        deep_gemm.fp8_gemm_nt(a, b, d)
        assert torch.equal(d, exact)
    finally:
        from warpwright.compat.deep_gemm import _state
        _state.settings.num_sms = None
    assert before is None or deep_gemm.get_num_sms() == before


@pytest.mark.parametrize("on", [True, False])
def test_set_pdl_reaches_the_product(deep_gemm, monkeypatch, on):
    from warpwright import _native
    from warpwright.compat.deep_gemm import _state
    given = []
    monkeypatch.setattr(_native, "gemm", lambda *_, **named: given.append(named["pdl"]))
    monkeypatch.setattr(_state.settings, "pdl", None)
    deep_gemm.set_pdl(on)
    a, b, _ = linear(16, 64, 128)
    deep_gemm.fp8_gemm_nt(a, b, torch.empty((16, 64), dtype=torch.bfloat16, device=DEVICE))
    assert len(given) == 1 and given[0] is on


def test_sglang_imports_helpers_by_name(deep_gemm):
    from deep_gemm.testing import bench_kineto, calc_diff, count_bytes
    from deep_gemm.utils import align, ceil_div, per_block_cast_to_fp8, per_token_cast_to_fp8
    from deep_gemm.utils.layout import get_mn_major_tma_aligned_tensor, get_tma_aligned_size
    from deep_gemm.utils.math import ceil_to_ue8m0
    assert all(callable(one) for one in (bench_kineto, calc_diff, per_block_cast_to_fp8, get_mn_major_tma_aligned_tensor,
                                         ceil_to_ue8m0))
    assert (align(5, 4), ceil_div(5, 4), get_tma_aligned_size(5, 4)) == (8, 2, 8)
    data, scales = per_token_cast_to_fp8(torch.ones((4, 256), device=DEVICE), use_ue8m0=False)
    assert count_bytes((data, scales), None) == 4 * 256 + 4 * 4 * 2


def test_settings_without_effect_are_accepted(deep_gemm):
    deep_gemm.set_block_size_multiple_of(16)
    deep_gemm.set_block_size_multiple_of((128, 64))
    deep_gemm.set_ignore_compile_dims(True)
    deep_gemm.set_tc_util(80)
    assert deep_gemm.get_tc_util() == 80
    deep_gemm.set_tc_util(100)
    deep_gemm.set_ignore_compile_dims(False)


@pytest.mark.parametrize("form", ["nt", "nn"])
def test_bf16_groups_have_the_arguments_of_fp8_ones(deep_gemm, form):
    """By position, too: compiled_dims, use_psum_layout, ensure_zero_padding and, of nt, expected_m_for_psum_layout."""
    a, b = integers((256, 128), 21), integers((2, 72, 128), 22)
    ends = torch.tensor([100, 200], dtype=torch.int32, device=DEVICE)
    d, again = (torch.full((256, 72), 9, dtype=torch.bfloat16, device=DEVICE) for _ in range(2))
    run = getattr(deep_gemm, f"m_grouped_bf16_gemm_{form}_contiguous")
    given = b if form == "nt" else b.mT.contiguous()
    run(a, given, d, ends, "nk", True, False, *((100,) if form == "nt" else ()))
    run(a, given, again, ends, use_psum_layout=True, ensure_zero_padding=True)
    for rows, group in ((slice(0, 100), 0), (slice(128, 200), 1)):
        exact = (a[rows].double() @ b[group].double().t()).bfloat16()
        assert torch.equal(d[rows], exact) and torch.equal(again[rows], exact)


def test_sglang_names_sizes_of_k_ks(deep_gemm):
    ks, m, n = [128, 0, 256], 64, 72
    sizes = torch.tensor(ks, dtype=torch.int32, device=DEVICE)
    c = torch.zeros((3, m, n), device=DEVICE)
    x, y = integers((sum(ks), m), 23), integers((sum(ks), n), 24)
    d, again = torch.empty_like(c), torch.empty_like(c)
    deep_gemm.k_grouped_bf16_gemm_tn_contiguous(x, y, d, ks, sizes, c)
    deep_gemm.k_grouped_bf16_gemm_tn_contiguous(x, y, again, ks=ks, grouped_layout=sizes, c=c)
    assert torch.equal(d, torch.stack([(p.double().t() @ q.double()).float() for p, q in zip(x.split(ks), y.split(ks))]))
    assert torch.equal(d, again)
    a, b = ((integers((rows * sum(ks),), seed, FP8), powers((rows, 3), seed)) for rows, seed in ((m, 25), (n, 26)))
    deep_gemm.k_grouped_fp8_gemm_nt_contiguous(a, b, d, ks, sizes, c)
    deep_gemm.k_grouped_fp8_gemm_nt_contiguous(a, b, again, ks=ks, grouped_layout=sizes, c=c, use_padded_sf_layout=False)
    assert torch.equal(d, again) and d[0].any()
    for run, left, right in ((deep_gemm.k_grouped_bf16_gemm_tn_contiguous, x, y),
                             (deep_gemm.k_grouped_fp8_gemm_nt_contiguous, a, b)):
        with pytest.raises(TypeError, match="ks_cpu and ks"):
            run(left, right, d, ks, sizes, c, ks=ks)
        with pytest.raises(TypeError, match="grouped_layout"):
            run(left, right, d, ks=ks, c=c)
    with pytest.raises(NotImplementedError, match="use_padded_sf_layout"):
        deep_gemm.k_grouped_fp8_gemm_nt_contiguous(a, b, d, ks, sizes, c, use_padded_sf_layout=True)


def test_torchao_trains_experts(deep_gemm):
    assert all(hasattr(deep_gemm, name) for name in ("m_grouped_fp8_gemm_nt_contiguous",
                                                     "k_grouped_fp8_gemm_nt_contiguous"))
    n, k, rows = 128, 256, 256
    (b, sb), y = experts(2, n, k)
    a, sa = integers((rows, k), 13, FP8), powers((rows, k // 128), 14)
    ids = torch.repeat_interleave(torch.tensor([1, 0], dtype=torch.int32, device=DEVICE), 128)
    d = torch.empty((rows, n), dtype=torch.bfloat16, device=DEVICE)
    deep_gemm.m_grouped_fp8_gemm_nt_contiguous((a, sa), (b, sb), d, ids, recipe_a=(1, 128), recipe_b=(128, 128))
    x = a.double() * by_blocks(sa, rows, k)
    assert torch.equal(d, torch.cat([x[:128] @ y[1].t(), x[128:] @ y[0].t()]).bfloat16())
    ks = [128, 256]
    total, sizes = sum(ks), torch.tensor(ks, dtype=torch.int32, device=DEVICE)
    p, q = integers((n * total,), 15, FP8), integers((k * total,), 16, FP8)
    sp, sq = powers((n, total // 128), 17), powers((k, total // 128), 18)
    gradient = torch.zeros((2, n, k), device=DEVICE)
    deep_gemm.k_grouped_fp8_gemm_nt_contiguous((p, deep_gemm.get_mn_major_tma_aligned_tensor(sp)),
                                               (q, deep_gemm.get_mn_major_tma_aligned_tensor(sq)), gradient, ks, sizes,
                                               c=gradient, recipe=(1, 1, 128))
    at = 0
    for g, size in enumerate(ks):
        blocks = slice(at // 128, (at + size) // 128)
        left = p[n * at:n * (at + size)].view(n, size).double() * by_blocks(sp[:, blocks], n, size)
        right = q[k * at:k * (at + size)].view(k, size).double() * by_blocks(sq[:, blocks], k, size)
        assert torch.equal(gradient[g].double(), left @ right.t())
        at += size


# A process that has the package as an installed wheel does, with its entry points: the groups are read as vLLM and
# SGLang read them.
PLUGINS = """
import importlib.metadata, logging, sys
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(levelname)s %(message)s")
for group in ("vllm.general_plugins", "sglang.srt.plugins"):
    found = [one for one in importlib.metadata.entry_points(group=group) if one.name == "warpwright"]
    assert len(found) == 1, (group, found)
    plugin = found[0].load()
    assert "torch" not in sys.modules or "deep_gemm" in sys.modules
    plugin(), plugin()
print("deep_gemm" in sys.modules, "torch" in sys.modules)
"""


@pytest.mark.parametrize("wanted", [None, "0", "1"])
def test_plugins_as_installed(tmp_path, wanted):
    project = (pathlib.Path(__file__).resolve().parents[2] / "pyproject.toml").read_text()
    groups = re.findall(r'\[project\.entry-points\."([^"]+)"\]\n(\S+) = "([^"]+)"', project)
    assert {group for group, _, _ in groups} == {"vllm.general_plugins", "sglang.srt.plugins"}
    facts = tmp_path / "warpwright-0.1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: warpwright\nVersion: 0.1.0\n")
    (facts / "entry_points.txt").write_text("".join(f"[{group}]\n{name} = {to}\n" for group, name, to in groups))
    environment = {name: value for name, value in os.environ.items() if name != "WARPWRIGHT_DEEP_GEMM"}
    if wanted is not None:
        environment["WARPWRIGHT_DEEP_GEMM"] = wanted
    environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), *(path for path in sys.path if path)])
    made = subprocess.run([sys.executable, "-c", PLUGINS], capture_output=True, text=True, timeout=200, env=environment)
    assert made.returncode == 0, made.stderr
    lines = made.stdout.splitlines()
    if wanted == "1":
        logged = [line for line in lines if "warpwright" in line and "served by" in line]
        assert len(logged) == 1 and "deep_gemm" in logged[0]
        assert lines[-1] == "True True"
    else:
        assert lines == ["False False"]
