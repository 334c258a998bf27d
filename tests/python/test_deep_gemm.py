# SPDX-License-Identifier: Apache-2.0
"""warpwright.compat.deep_gemm: DeepGEMM's products, layouts and side effects, exactly where integers allow."""
import os
import pathlib
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import deepgemm_bound  # noqa: E402
import deepgemm_cases  # noqa: E402
import deepgemm_layouts  # noqa: E402
import warpwright.compat.deep_gemm as deep_gemm  # noqa: E402
from deepgemm_cases import Case  # noqa: E402
from torch_cases import DEVICE, FP8, by_blocks, integers, powers, product  # noqa: E402


def fp8(m, n, k, recipe=(1, 128, 128), groups=None):
    """Operands a and b as pairs, and both as float64 with their scales."""
    kb = -(-k // 128)
    outer = () if groups is None else (groups,)
    a, b = integers((m, k), 1, FP8), integers((*outer, n, k), 2, FP8)
    sa = powers((m, kb), 3)
    sb = powers((*outer, -(-n // 128) if recipe[1] == 128 else n, kb), 4)
    return (a, sa), (b, sb), a.double() * by_blocks(sa, m, k), b.double() * by_blocks(sb, n, k, recipe[1])


def empty(*shape, dtype=torch.bfloat16):
    return torch.full(shape, 7, dtype=dtype, device=DEVICE)


@pytest.mark.parametrize("mn_major", [False, True])
def test_fp8_gemm(mn_major):
    a, b, x, y = fp8(48, 144, 384)
    if mn_major:
        a = (a[0], deep_gemm.get_mn_major_tma_aligned_tensor(a[1]))
    d = empty(48, 144)
    assert deep_gemm.fp8_gemm_nt(a, b, d) is None
    assert torch.equal(d, (x @ y.t()).bfloat16())
    views = empty(48, 144)
    deep_gemm.fp8_fp4_gemm_tn(tuple(part.t() for part in a), tuple(part.t() for part in b), views)
    assert torch.equal(views, d)


def test_fp8_gemm_accumulates_in_float32():
    a, b, x, y = fp8(48, 144, 256, (1, 1, 128))
    c = integers((48, 144), 5, torch.float32)
    d = empty(48, 144, dtype=torch.float32)
    deep_gemm.fp8_gemm_nt(a, b, d, c=c, recipe=(1, 1, 128))
    assert torch.equal(d.double(), x @ y.t() + c.double())
    in_place = c.clone()
    deep_gemm.fp8_gemm_nt(a, b, in_place, c=in_place, recipe_a=(1, 128), recipe_b=(1, 128))
    assert torch.equal(in_place, d)


@pytest.mark.parametrize("form", ["nt", "nn", "tn", "tt"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_bf16_gemm(form, dtype):
    a, b = integers((40, 128), 6), integers((72, 128), 7)
    expected = product(a, b)
    a_given = a.t().contiguous() if form[0] == "t" else a
    b_given = b.t().contiguous() if form[1] == "n" else b
    d = empty(40, 72, dtype=dtype)
    getattr(deep_gemm, "bf16_gemm_" + form)(a_given, b_given, d)
    assert torch.equal(d, expected.to(dtype))
    c = integers((40, 72), 8, dtype)
    getattr(deep_gemm, "bf16_gemm_" + form)(a_given, b_given, d, c)
    assert torch.equal(d, (expected + c.double()).to(dtype))


def test_contiguous_groups_by_ids():
    rows, n, k = 512, 128, 256
    (a, sa), b, x, y = fp8(rows, n, k, groups=3)
    ids = torch.full((rows,), -1, dtype=torch.int32, device=DEVICE)
    ids[:100], ids[128:256], ids[384:512] = 0, 2, 1
    d = empty(rows, n)
    deep_gemm.m_grouped_fp8_gemm_nt_contiguous((a, sa), b, d, ids)
    # Row 0 of a tile decides: rows 100 to 127 are computed too, and the tile at 256 is left alone.
    for tile, group in ((0, 0), (128, 2), (384, 1)):
        assert torch.equal(d[tile:tile + 128], (x[tile:tile + 128] @ y[group].t()).bfloat16())
    assert torch.equal(d[256:384], empty(128, n))


def test_contiguous_groups_by_ends():
    rows, n, k = 512, 128, 256
    a, b, x, y = fp8(rows, n, k, groups=3)
    ends = torch.tensor([100, 128, 400], dtype=torch.int32, device=DEVICE)
    d = empty(rows, n)
    deep_gemm.m_grouped_fp8_gemm_nt_contiguous(a, b, d, ends, use_psum_layout=True)
    assert torch.equal(d[:100], (x[:100] @ y[0].t()).bfloat16())
    assert torch.equal(d[128:400], (x[128:400] @ y[2].t()).bfloat16())


def test_masked_groups():
    groups, most, n, k = 3, 64, 128, 256
    (a, sa), b, x, y = fp8(groups * most, n, k, groups=groups)
    a, sa = a.view(groups, most, k), sa.view(groups, most, -1)
    masked = torch.tensor([10, 0, 64], dtype=torch.int32, device=DEVICE)
    d = empty(groups, most, n)
    deep_gemm.fp8_m_grouped_gemm_nt_masked((a, sa), b, d, masked, 32)
    for g, count in enumerate((10, 0, 64)):
        rows = x.view(groups, most, k)[g, :count]
        assert torch.equal(d[g, :count], (rows @ y[g].t()).bfloat16())


@pytest.mark.parametrize("n_major", [False, True])
def test_bf16_groups(n_major):
    rows, n, k = 256, 72, 128
    a, b = integers((rows, k), 9), integers((2, n, k), 10)
    ids = torch.zeros(rows, dtype=torch.int32, device=DEVICE)
    ids[128:] = 1
    d = empty(rows, n)
    if n_major:
        deep_gemm.m_grouped_bf16_gemm_nn_contiguous(a, b.mT.contiguous(), d, ids)
    else:
        deep_gemm.m_grouped_bf16_gemm_nt_contiguous(a, b, d, ids)
    assert torch.equal(d, torch.cat([product(a[:128], b[0]), product(a[128:], b[1])]).bfloat16())


def test_k_groups_in_fp8():
    m, n, ks = 64, 72, [128, 0, 256]
    k = sum(ks)
    sa, sb = powers((m, k // 128), 11), powers((n, k // 128), 12)
    c = integers((3, m, n), 13, torch.float32)
    expected = c.double()
    flat_a, flat_b, begin = [], [], 0
    for g, size in enumerate(ks):
        a, b = integers((m, size), 14 + g, FP8), integers((n, size), 24 + g, FP8)
        flat_a.append(a.flatten()), flat_b.append(b.flatten())
        blocks = slice(begin // 128, (begin + size) // 128)
        expected[g] += (a.double() * by_blocks(sa[:, blocks], m, size)) @ (
            b.double() * by_blocks(sb[:, blocks], n, size)).t()
        begin += size
    d = empty(3, m, n, dtype=torch.float32)
    sizes = torch.tensor(ks, dtype=torch.int32, device=DEVICE)
    deep_gemm.k_grouped_fp8_gemm_nt_contiguous(
        (torch.cat([x.view(torch.uint8) for x in flat_a]).view(FP8), deep_gemm.get_mn_major_tma_aligned_tensor(sa)),
        (torch.cat([x.view(torch.uint8) for x in flat_b]).view(FP8), deep_gemm.get_mn_major_tma_aligned_tensor(sb)),
        d, ks, sizes, c)
    assert torch.equal(d.double(), expected)


def test_k_groups_in_bf16():
    m, n, ks = 64, 72, [64, 0, 128]
    a, b, c = integers((sum(ks), m), 15), integers((sum(ks), n), 16), integers((3, m, n), 17, torch.float32)
    d = c
    expected = torch.stack([product(x.t(), y.t()) for x, y in zip(a.split(ks), b.split(ks))]) + c.double()
    deep_gemm.k_grouped_bf16_gemm_tn_contiguous(a, b, d, ks, torch.tensor(ks, dtype=torch.int32, device=DEVICE), c)
    assert torch.equal(d.double(), expected)


def test_nothing_to_do():
    d = empty(0, 64)
    deep_gemm.bf16_gemm_nt(integers((0, 64), 18), integers((64, 64), 19), d)
    d = empty(8, 64)
    deep_gemm.bf16_gemm_nt(integers((8, 0), 18), integers((64, 0), 19), d)
    assert not d.any()


def test_layouts():
    sf = powers((2, 7, 5), 20)
    made = deep_gemm.get_mn_major_tma_aligned_tensor(sf)
    assert torch.equal(made, sf) and made.stride() == (40, 1, 8)
    assert deep_gemm.get_mn_major_tma_aligned_tensor(made) is made
    packed = deep_gemm.get_mn_major_tma_aligned_packed_ue8m0_tensor(sf)
    assert packed.shape == (2, 7, 2) and packed.stride() == (16, 1, 8) and packed.dtype == torch.int32
    exponents = packed.contiguous().view(torch.uint8).view(2, 7, 8)
    assert torch.equal(exponents[..., :5].int(), (sf.view(torch.int32) >> 23)) and not exponents[..., 5:].any()
    weights = powers((2, 3), 21)
    assert deep_gemm.transform_sf_into_required_layout(weights, 256, 384, (1, 128, 128), is_sfa=False) is weights
    rows = powers((7, 3), 22)
    assert deep_gemm.transform_sf_into_required_layout(rows, 7, 384, (1, 128)).stride() == (1, 8)
    assert deep_gemm.get_mk_alignment_for_contiguous_layout() == 128
    assert deep_gemm.get_theoretical_mk_alignment_for_contiguous_layout(100, 4) == 128
    assert deep_gemm.get_tma_aligned_size(7, 4) == 8 and deep_gemm.utils.align(7, 4) == 8


def test_what_is_not_supported_says_so():
    a, b, _, _ = fp8(16, 128, 128)
    with pytest.raises(NotImplementedError, match="recipe"):
        deep_gemm.fp8_gemm_nt(a, b, empty(16, 128), recipe=(1, 1, 32))
    with pytest.raises(NotImplementedError, match="float32 scales"):
        deep_gemm.fp8_gemm_nt((a[0], a[1].int()), b, empty(16, 128))
    assert not hasattr(deep_gemm, "fp8_gemm_nt_skip_head_mid") and not hasattr(deep_gemm, "einsum")


def test_compile_mode_writes_nothing():
    """Not even D = C or D = 0, which take no kernel of this library."""
    a, b = (torch.zeros(rows, 0, dtype=torch.bfloat16, device=DEVICE) for rows in (16, 32))
    d, c = torch.full((2, 16, 32), 7.0, device=DEVICE)
    deep_gemm.set_compile_mode(1)
    try:
        deep_gemm.bf16_gemm_nt(a, b, d)
        deep_gemm.bf16_gemm_nt(a, b, d, c * 2)
    finally:
        deep_gemm.set_compile_mode(0)
    assert (d == 7).all()
    deep_gemm.bf16_gemm_nt(a, b, d, c * 2)
    assert (d == 14).all()
    deep_gemm.bf16_gemm_nt(a, b, d)
    assert (d == 0).all()


def test_compile_mode_and_counts():
    before = deep_gemm.call_counts().get("bf16_gemm_nt", 0)
    d = empty(8, 64)
    deep_gemm.set_compile_mode(1)
    try:
        deep_gemm.bf16_gemm_nt(integers((8, 64), 23), integers((64, 64), 24), d)
    finally:
        deep_gemm.set_compile_mode(0)
    assert torch.equal(d, empty(8, 64)), "compile mode ran the product"
    assert deep_gemm.call_counts()["bf16_gemm_nt"] == before + 1


def run(code, **environment):
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          env={**os.environ, **environment}, timeout=300)
    assert made.returncode == 0, made.stderr
    return made.stdout


def test_install_serves_imports_of_deep_gemm(tmp_path):
    real = tmp_path / "deep_gemm"
    (real / "utils").mkdir(parents=True)
    (real / "__init__.py").write_text("import sys\nsys.real_was_imported = True\nfrom .utils import only_theirs\n"
                                      "__version__ = '1'\ndef fp8_gemm_nt(*a): raise AssertionError\n"
                                      "def einsum(): return 'theirs'\n")
    (real / "utils" / "__init__.py").write_text("def only_theirs(): return 'theirs'\n")
    (real / "mega.py").write_text("from . import einsum\nfrom .utils import only_theirs, align\n")
    said = run("import sys, warpwright.compat as c; c.install(); c.install()\n"
               "import importlib.util, deep_gemm\n"
               "from deep_gemm.utils.layout import get_tma_aligned_size\n"
               "from deep_gemm.testing import calc_diff\n"
               "import warpwright.compat.deep_gemm as ours\n"
               "assert importlib.util.find_spec('deep_gemm') is not None\n"
               "assert deep_gemm.fp8_gemm_nt is ours.fp8_gemm_nt and not hasattr(sys, 'real_was_imported')\n"
               "assert deep_gemm.einsum() == 'theirs' and sys.real_was_imported\n"
               "assert deep_gemm.fp8_gemm_nt is ours.fp8_gemm_nt and sys.modules['deep_gemm'] is deep_gemm\n"
               "import deep_gemm.mega\nassert deep_gemm.mega.align is ours.utils.align\n"
               "assert deep_gemm.utils.only_theirs() == 'theirs' and not hasattr(deep_gemm, 'fp8_mqa_logits')\n"
               "c.uninstall()\n"
               "import deep_gemm\nprint(deep_gemm.__version__)", PYTHONPATH=os.pathsep.join(
                   [str(tmp_path), *sys.path]))
    assert said.strip() == "1"


@pytest.mark.parametrize("wanted", ["0", "1"])
def test_plugins_do_nothing_unless_asked(wanted):
    said = run("import sys, warpwright.compat as c; c.install_if_requested(); c.install_if_requested()\n"
               "print('deep_gemm' in sys.modules)", WARPWRIGHT_DEEP_GEMM=wanted)
    assert said.strip() == str(wanted == "1")


def test_import_starts_no_cuda():
    code = ("import os, sys, warpwright.compat.deep_gemm, torch\n"
            "assert not torch.cuda.is_initialized()\n"
            "pids = []\n"
            "for i in range(8):\n"
            "    pid = os.fork()\n"
            "    if pid == 0:\n"
            "        if torch.cuda.is_available(): torch.cuda.set_device(i % torch.cuda.device_count())\n"
            "        d = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
            "        a = torch.ones(8, 64, dtype=torch.bfloat16, device=d); o = torch.empty(8, 8, device=d)\n"
            "        warpwright.compat.deep_gemm.bf16_gemm_nt(a, a, o)\n"
            "        os._exit(0 if bool((o == 64).all()) else 1)\n"
            "    pids.append(pid)\n"
            "sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]) for p in pids))\n")
    run(code)


BF16, FP32 = torch.bfloat16, torch.float32
# Small cases of every kind of bench/deepgemm_cases.py, whose own shapes run on a GPU (bench/deepgemm_surface.py).
SMALL = [
    Case("dense", FP8, 40, 144, 384),
    Case("dense", FP8, 1, 1024, 128),  # calc_diff of fewer outputs is a matter of the draw
    Case("dense", FP8, 40, 144, 384, accumulate=True, out=FP32),
    Case("dense", BF16, 40, 144, 384),
    Case("dense", BF16, 40, 144, 384, accumulate=True),
    Case("dense", BF16, 40, 144, 384, b_major="n"),
    Case("dense", BF16, 40, 144, 384, a_major="t", b_major="n", accumulate=True, out=FP32),
    Case("contiguous", FP8, 100, 128, 256, (100, 0, 30)),
    Case("contiguous", FP8, 100, 128, 256, (100, 0, 30), psum=True),
    Case("contiguous", BF16, 100, 128, 256, (100, 0, 30)),
    Case("contiguous", BF16, 100, 128, 256, (100, 0, 30), psum=True, b_major="n"),
    Case("masked", FP8, 20, 128, 256, (20, 0, 64), most=64),
    Case("masked", FP8, 20, 128, 256, (20, 0, 64), most=64, psum=True),
    Case("masked", BF16, 20, 128, 256, (20, 0, 64), most=64),
    Case("k-groups", FP8, 64, 72, 0, (128, 0, 256), accumulate=True, out=FP32),
    Case("k-groups", BF16, 64, 72, 0, (128, 0, 256), accumulate=True, out=FP32),
]


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.label().replace(" ", "_"))
def test_products_of_random_numbers(case):
    built = deepgemm_cases.build(case, deep_gemm, DEVICE, seed=1)
    for by_name in {False, case.function(True) != case.function(False)}:
        d = built.fresh()
        built.call(deep_gemm, d, by_name)
        valid = slice(None) if built.valid is None else built.valid
        assert deep_gemm.testing.calc_diff(d[valid], built.reference[valid]) < deepgemm_cases.LIMITS[case.dtype]
        samples = built.samples(64)
        assert samples and all(deepgemm_bound.excess(d[rows.at], rows) <= 1 for rows in samples)
        # The bound must notice an error that calc_diff does not: one element, off by a hundredth of the largest.
        d[samples[0].at[0], -1] += 0.02 * d.abs().max()
        assert deepgemm_bound.excess(d[samples[0].at], samples[0]) > 1


def test_cases_are_as_many_as_in_the_tests_of_deep_gemm():
    counts = {}
    for case in deepgemm_cases.all_cases():
        if case.source == "tests":
            key = (case.kind, case.dtype)
            counts[key] = counts.get(key, 0) + 1
    assert counts == {("dense", FP8): 42, ("contiguous", FP8): 16, ("masked", FP8): 32, ("k-groups", FP8): 12,
                      ("dense", BF16): 75, ("contiguous", BF16): 32, ("masked", BF16): 32, ("k-groups", BF16): 12}


@pytest.mark.parametrize("shape,transposed", [((7, 5), False), ((7, 5), True), ((8, 4), True), ((2, 129, 9), False),
                                              ((3, 4, 1), True), ((1, 1), False)])
def test_layouts_have_the_strides_of_deep_gemm(shape, transposed):
    scales = deepgemm_layouts.scales_of(shape, 1, DEVICE, True, transposed)
    assert deepgemm_layouts.differs(deep_gemm.get_mn_major_tma_aligned_tensor(scales),
                                    deepgemm_layouts.mn_major(scales)) == ""
    assert deepgemm_layouts.differs(deep_gemm.get_mn_major_tma_aligned_packed_ue8m0_tensor(scales),
                                    deepgemm_layouts.packed(scales)) == ""


@pytest.mark.parametrize("step", [32, 128])
def test_packed_scales_of_k_groups(step):
    ks, mn = [256, 0, 128, 1024], 12
    scales = deepgemm_layouts.scales_of((sum(ks) // step, mn), 2, DEVICE, True, False)
    parts = scales.split([k // step for k in ks])
    sizes = torch.tensor(ks, dtype=torch.int32, device=DEVICE)
    got = deep_gemm.get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor(scales, sizes, ks, step)
    want = torch.cat([deepgemm_layouts.packed(part.t()).t() for part in parts])
    assert deepgemm_layouts.differs(got, want) == ""
    with pytest.raises(ValueError, match="ks"):
        deep_gemm.get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor(scales, sizes, [256, 0, 128, 896], step)


def test_packed_scales_of_groups_of_rows_by_ends():
    """Rows between groups, which may hold anything, become 0."""
    rows, columns = 300, 9
    scales = deepgemm_layouts.scales_of((rows, columns), 3, DEVICE, True, False)
    used = torch.zeros(rows, dtype=torch.bool, device=DEVICE)
    used[:100], used[128:129], used[256:280] = True, True, True
    scales[~used] = float("nan")
    want = deepgemm_layouts.packed(torch.where(used[:, None], scales, torch.zeros_like(scales)))
    ends = torch.tensor([100, 100, 129, 280], dtype=torch.int32, device=DEVICE)
    got = deep_gemm.get_mn_major_tma_aligned_packed_ue8m0_tensor(scales, ends)
    assert deepgemm_layouts.differs(got, want) == "" and got[0].any() and not got[100].any()
    assert torch.equal(deep_gemm.get_mn_major_tma_aligned_packed_ue8m0_tensor(scales[None], ends)[0], want)
    whole = deep_gemm.transform_sf_into_required_layout(scales, rows, columns * 128, (1, 128), psum_layout=ends)
    assert torch.equal(whole.nan_to_num(7), scales.nan_to_num(7))
    for bad in (ends.long(), ends[:0], ends[None]):
        with pytest.raises(ValueError, match="psum_layout"):
            deep_gemm.get_mn_major_tma_aligned_packed_ue8m0_tensor(scales, bad)
    with pytest.raises(ValueError, match="contiguous"):
        deep_gemm.get_mn_major_tma_aligned_packed_ue8m0_tensor(scales[:, ::2], ends)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("step", [32, 128])
def test_packed_scales_of_k_groups_by_ends(step, known):
    """Groups start at multiples of 256; their scales lie one behind another."""
    ks, ends, mn = [256, 0, 128, 1024], [256, 256, 384, 1536], 12
    scales = deepgemm_layouts.scales_of((sum(ks) // step, mn), 2, DEVICE, True, False)
    parts = scales.split([k // step for k in ks])
    want = torch.cat([deepgemm_layouts.packed(part.t()).t() for part in parts])
    layout = torch.tensor(ends, dtype=torch.int32, device=DEVICE)
    got = deep_gemm.get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor(scales, layout, ks if known else None, step, 256,
                                                                           True)
    assert got.shape[0] == (len(want) if known else (len(scales) + 3 * len(ks)) // 4)
    assert deepgemm_layouts.differs(got[:len(want)], want) == "" and not got[len(want):].any()
    assert torch.equal(layout.cpu(), torch.tensor(ends, dtype=torch.int32))
    with pytest.raises(ValueError, match="ks"):
        deep_gemm.get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor(scales, layout, None, step, 256)


def test_k_groups_by_ends():
    """Groups of K start at multiples of the alignment; what lies between them is not read."""
    m, n, ks, ends = 64, 72, [100, 0, 128], [100, 128, 256]
    spans = [slice(0, 100), slice(128, 128), slice(128, 256)]
    a, b, c = integers((256, m), 15), integers((256, n), 16), integers((3, m, n), 17, torch.float32)
    a[100:128], b[100:128] = float("nan"), float("nan")
    expected = torch.stack([product(a[s].t(), b[s].t()) for s in spans]) + c.double()
    layout = torch.tensor(ends, dtype=torch.int32, device=DEVICE)
    for known in (None, ks):
        d = empty(3, m, n, dtype=torch.float32)
        deep_gemm.k_grouped_bf16_gemm_tn_contiguous(a, b, d, known, layout, c, use_psum_layout=True)
        assert torch.equal(d.double(), expected)


VARIABLES = """
import sys, torch
from os import environ
before = dict(environ)
import warpwright.compat.deep_gemm as deep_gemm
a = torch.ones((16, 64), dtype=torch.bfloat16, device=DEVICE)
for rows in (16, 16, 8):
    d = torch.empty((rows, 16), device=DEVICE)
    deep_gemm.bf16_gemm_nt(a[:rows], a, d)
    assert bool((d == 64).all())
print("changed", sorted(f"{name}={value}" for name, value in environ.items() if before.get(name) != value))
if environ.get("DG_USE_NVIDIA_TOOLS"):
    calls = []
    assert deep_gemm.testing.bench_kineto(lambda: calls.append(1), "gemm_") == 1.0 and calls == [1]
    assert deep_gemm.testing.bench_kineto(lambda: None, ("a", "b")) == (1.0, 1.0)
""".replace("DEVICE", repr(DEVICE))


def test_variables_of_deep_gemm(tmp_path):
    said = run(VARIABLES, DG_JIT_CACHE_DIR=str(tmp_path), DG_JIT_WITH_LINEINFO="1", DG_PRINT_CONFIGS="1",
               DG_USE_NVIDIA_TOOLS="1", WARPWRIGHT_CACHE_DIR="")
    lines = said.splitlines()
    assert [line.split(": ")[1] for line in lines[:2]] == ["bf16_gemm_nt (16, 64) (16, 64)",
                                                         "bf16_gemm_nt (8, 64) (16, 64)"]
    assert all(":" in line and "a=bf16" in line.replace(" ", "") or "bf16" in line for line in lines[:2])
    assert lines[2:] == ["changed ['WARPWRIGHT_LINEINFO=1']"], "WARPWRIGHT_CACHE_DIR was given, so that it stays"
    timed = run(VARIABLES, DG_JIT_DEBUG="1").splitlines()
    assert len(timed) == 3 and timed[0].endswith(" s)") and timed[2] == "changed []"
    quiet = run(VARIABLES, DG_PRINT_CONFIGS="0", DG_JIT_WITH_LINEINFO="0")
    assert quiet.splitlines() == ["changed []"]
