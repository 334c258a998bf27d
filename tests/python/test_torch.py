# SPDX-License-Identifier: Apache-2.0
"""warpwright.torch: operators, tracing, and the functions of torch.nn.functional."""
import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402

import warpwright  # noqa: E402
import warpwright.torch as wwt  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402
from torch_cases import DEVICE, FP8, by_blocks, integers, offsets, powers, product  # noqa: E402

Recipe = getattr(F, "ScalingType", None) or F._ScalingType
Swizzle = getattr(F, "SwizzleType", None) or F._SwizzleType


@pytest.mark.parametrize("m,n,k", [(1, 64, 64), (70, 136, 192), (128, 128, 256)])
def test_gemm_is_exact(m, n, k):
    a, b = integers((m, k), 1), integers((n, k), 2)
    expected = product(a, b).bfloat16()
    assert torch.equal(wwt.gemm(a, b), expected)
    out = torch.empty_like(expected)
    assert wwt.gemm(a, b, out=out) is out and torch.equal(out, expected)
    assert torch.equal(torch.ops.warpwright.gemm(a, b), expected)


def test_operators_write_out():
    a, b = integers((32, 128), 3), integers((64, 128), 4)
    out = torch.zeros(32, 64, dtype=torch.float32, device=DEVICE)
    assert torch.ops.warpwright.gemm_out(out, a, b) is None
    assert torch.equal(out.double(), product(a, b))


def test_batches_and_epilogues():
    a, b = integers((3, 20, 64), 5), integers((3, 48, 64), 6)
    bias = integers((48,), 7)
    got = wwt.gemm(a, b, epilogue="relu(acc + bias)", bias=bias, out_dtype=torch.float32)
    assert torch.equal(got.double(), (product(a, b) + bias.double()).clamp(min=0))


def test_groups_of_rows():
    a, b = integers((100, 128), 8), integers((3, 64, 128), 9)
    got = wwt.grouped_gemm(a, b, offsets((30, 30, 90)), zero_outside=True, out_dtype=torch.float32)
    expected = torch.zeros(100, 64, dtype=torch.float64, device=DEVICE)
    for g, (begin, end) in enumerate(((0, 30), (30, 30), (30, 90))):
        expected[begin:end] = product(a[begin:end], b[g])
    assert torch.equal(got.double(), expected)


def test_groups_of_k():
    x, y = integers((100, 64), 10), integers((100, 48), 11)
    got = wwt.k_grouped_gemm(x.t(), y.t(), offsets((30, 30, 100)))
    parts = ((0, 30), (30, 30), (30, 100))
    assert torch.equal(got.double(), torch.stack([product(x[i:j].t(), y[i:j].t()) for i, j in parts]))


def operator_arguments():
    a, b = integers((16, 64), 12), integers((32, 64), 13)
    return [
        (torch.ops.warpwright.gemm.default, (a, b), {}),
        (torch.ops.warpwright.gemm_out.default, (torch.zeros(16, 32, dtype=a.dtype, device=DEVICE), a, b), {}),
        (torch.ops.warpwright.grouped_gemm.default, (a, integers((2, 32, 64), 14), offsets((5, 16))), {}),
        (torch.ops.warpwright.k_grouped_gemm.default, (a.t(), integers((16, 32), 15).t(), offsets((5, 16))), {}),
    ]


@pytest.mark.parametrize("which", range(4))
def test_opcheck(which):
    operator, arguments, given = operator_arguments()[which]
    torch.library.opcheck(operator, arguments, given)


def test_compile_with_symbolic_rows():
    weight = integers((48, 64), 16)

    @torch.compile(fullgraph=True, dynamic=True, backend="inductor" if DEVICE == "cuda" else "aot_eager")
    def layer(x):
        return wwt.gemm(x, weight) * 2

    for m in (8, 24, 40):
        x = integers((m, 64), m)
        assert torch.equal(layer(x), product(x, weight).bfloat16() * 2)


def test_compile_sees_writes_to_out():
    weight = integers((48, 64), 17)

    @torch.compile(fullgraph=True, backend="aot_eager")
    def layer(x, out):
        wwt.gemm(x, weight, out=out)
        return out + 1

    x, out = integers((8, 64), 18), torch.zeros(8, 48, dtype=torch.bfloat16, device=DEVICE)
    assert torch.equal(layer(x, out), product(x, weight).bfloat16() + 1)
    assert torch.equal(out, product(x, weight).bfloat16())


@pytest.mark.skipif(DEVICE == "cpu", reason="graphs need a GPU")
def test_cuda_graphs():
    a, b = integers((64, 128), 19), integers((96, 128), 20)
    out = torch.zeros(64, 96, dtype=torch.bfloat16, device=DEVICE)
    wwt.gemm(a, b, out=out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        wwt.gemm(a, b, out=out)
    for seed in range(3):
        a.copy_(integers((64, 128), 30 + seed))
        graph.replay()
        assert torch.equal(out, product(a, b).bfloat16())


def scaled(recipe, m, n, k):
    """Operands of scaled_mm in torch's layouts, and the product in float64."""
    a, b = integers((m, k), 21, FP8), integers((n, k), 22, FP8)
    kb, nb = -(-k // 128), -(-n // 128)
    if recipe == "tensor":
        sa, sb = powers((1,), 23), powers((1,), 24)
        return (a, b, sa, Recipe.TensorWise, sb, Recipe.TensorWise), product(a, b) * sa.double() * sb.double()
    if recipe == "row":
        sa, sb = powers((m, 1), 23), powers((1, n), 24)
        return (a, b, sa, Recipe.RowWise, sb, Recipe.RowWise), product(a, b) * sa.double() * sb.double()
    sa = powers((kb, m), 23).t()
    x = a.double() * by_blocks(sa, m, k)
    if recipe == "block":
        sb = powers((nb, (kb + 3) // 4 * 4), 24).t()
        y = b.double() * by_blocks(sb.t()[:, :kb], n, k, 128)
        return (a, b, sa, Recipe.BlockWise1x128, sb, Recipe.BlockWise128x128), x @ y.t()
    sb = powers((kb, n), 24).t()
    y = b.double() * by_blocks(sb, n, k)
    return (a, b, sa, Recipe.BlockWise1x128, sb, Recipe.BlockWise1x128), x @ y.t()


@pytest.mark.parametrize("recipe", ["tensor", "row", "block", "block-1d"])
@pytest.mark.parametrize("m,n,k", [(16, 128, 256), (48, 144, 384), (32, 512, 512)])
def test_scaled_mm(recipe, m, n, k):
    (a, b, sa, ra, sb, rb), expected = scaled(recipe, m, n, k)
    got = wwt.scaled_mm(a, b.t(), sa, ra, sb, rb, output_dtype=torch.bfloat16)
    assert torch.equal(got, expected.bfloat16())
    bias = integers((n,), 25)
    with_bias = wwt.scaled_mm(a, b.t(), sa, ra, sb, rb, bias=bias, output_dtype=torch.bfloat16)
    assert torch.equal(with_bias, (expected + bias.double()).bfloat16())
    if recipe == "block":  # by blocks of N, as casts write them; where N and K have as many blocks, strides tell
        kb, nb = -(-k // 128), -(-n // 128)
        natural = sb[:kb].t().contiguous()
        assert natural.shape == (nb, kb)
        assert torch.equal(wwt.scaled_mm(a, b.t(), sa, ra, natural, rb, output_dtype=torch.bfloat16), got)
    if recipe == "block-1d" and k // 128 != n:
        assert torch.equal(wwt.scaled_mm(a, b.t(), sa, ra, sb.t(), rb, output_dtype=torch.bfloat16), got)
    if DEVICE == "cuda":
        assert torch.equal(got, F.scaled_mm(a, b.t(), sa, ra, sb, rb, output_dtype=torch.bfloat16))


def test_scaled_grouped_mm():
    a, b = integers((64, 256), 26, FP8), integers((3, 48, 256), 27, FP8)
    sa, sb = powers((64,), 28), powers((3, 48), 29)
    offs = offsets((16, 16, 48))
    got = wwt.scaled_grouped_mm(a, b.mT, sa, Recipe.RowWise, sb, Recipe.RowWise, offs=offs)
    expected = torch.zeros(64, 48, dtype=torch.float64, device=DEVICE)
    for g, (i, j) in enumerate(((0, 16), (16, 16), (16, 48))):
        expected[i:j] = product(a[i:j], b[g]) * sa[i:j, None].double() * sb[g].double()
    assert torch.equal(got, expected.bfloat16())


@pytest.mark.parametrize("recipe", ["tensor", "row", "block", "block-1d"])
def test_compile_of_scaled_mm(recipe):
    (a, b, sa, ra, sb, rb), expected = scaled(recipe, 48, 144, 384)
    compiled = torch.compile(lambda a, b, sa, sb: wwt.scaled_mm(a, b.t(), sa, ra, sb, rb), fullgraph=True, dynamic=True,
                             backend="aot_eager")
    assert torch.equal(compiled(a, b, sa, sb), expected.bfloat16())


def test_compile_of_scaled_grouped_mm():
    a, b, offs = integers((64, 256), 26, FP8), integers((3, 48, 256), 27, FP8), offsets((16, 16, 48))
    sa, sb = powers((64,), 28), powers((3, 48), 29)

    def layer(a, b, sa, sb, offs):
        return wwt.scaled_grouped_mm(a, b.mT, sa, Recipe.RowWise, sb, Recipe.RowWise, offs=offs)

    compiled = torch.compile(layer, fullgraph=True, dynamic=True, backend="aot_eager")
    assert torch.equal(compiled(a, b, sa, sb, offs), layer(a, b, sa, sb, offs))


@pytest.mark.parametrize("ends,alignment", [((128, 128, 384), 128), ((128, 128, 384), 1), ((16, 208, 208), 1),
                                            ((0, 7, 300), 1), ((0, 0, 0), 1), ((130, 256, 384), 1)])
@pytest.mark.parametrize("compiled", [False, True])
def test_groups_of_k_of_scaled_grouped_mm(ends, alignment, compiled):
    x, dy = integers((48, 384), 26, FP8), integers((64, 384), 27, FP8)
    sx, sy = powers((3 * 48,), 28), powers((3 * 64,), 29)

    def layer(x, dy, sx, sy, offs):
        return wwt.scaled_grouped_mm(x, dy.t(), sx, Recipe.RowWise, sy, Recipe.RowWise, offs=offs, alignment=alignment)

    run = torch.compile(layer, fullgraph=True, dynamic=True, backend="aot_eager") if compiled else layer
    got = run(x, dy, sx, sy, offsets(ends))
    for g, (i, j) in enumerate(zip((0, *ends), ends)):
        scales = sx.view(3, 48, 1)[g].double() * sy.view(3, 1, 64)[g].double()
        assert torch.equal(got[g], (product(x[:, i:j], dy[:, i:j]) * scales).bfloat16())


def test_alignment_of_groups_of_rows():
    """It reaches the product, which would otherwise choose a kernel for groups of any size, and is checked."""
    a, b = integers((256, 128), 26, FP8), integers((2, 48, 128), 27, FP8)
    one, offs = powers((1,), 28), offsets((128, 256))

    def layer(alignment):
        return wwt.scaled_grouped_mm(a, b.mT, one, Recipe.TensorWise, one, Recipe.TensorWise, offs=offs,
                                     alignment=alignment)

    assert torch.equal(layer(128), layer(1))
    before = warpwright.plan_cache_size()
    layer(64)
    assert warpwright.plan_cache_size() == before + 1
    for bad in (0, -128):
        with pytest.raises(warpwright.InvalidError, match="alignment"):
            layer(bad)
        with pytest.raises(warpwright.InvalidError, match="alignment"):
            wwt.scaled_grouped_mm(a, b[0].mT, one, Recipe.TensorWise, one, Recipe.TensorWise, offs=offs, alignment=bad)


def test_other_shapes_of_scaled_grouped_mm():
    one = powers((1,), 32)
    a, b = integers((3, 16, 256), 30, FP8), integers((3, 48, 256), 31, FP8)
    got = wwt.scaled_grouped_mm(a, b.mT, one, Recipe.TensorWise, one, Recipe.TensorWise)
    assert torch.equal(got, (product(a, b) * one.double() ** 2).bfloat16())
    a, sa, sb = integers((64, 256), 33, FP8), powers((64, 2), 34), powers((3, 1, 2), 35)
    got = wwt.scaled_grouped_mm(a, b.mT, sa, Recipe.BlockWise1x128, sb, Recipe.BlockWise128x128, offs=offsets((9, 9, 60)))
    for g, (i, j) in enumerate(((0, 9), (9, 9), (9, 60))):
        wide = by_blocks(sa, 64, 256)[i:j] * a[i:j].double()
        assert torch.equal(got[i:j], (wide @ (by_blocks(sb[g], 48, 256, 128) * b[g].double()).T).bfloat16())
    assert not got[60:].any()


def elements(recipe, rows, k, generator):
    """An operand in a format of Blackwell, and its elements in float64."""
    if recipe == "mxfp8":
        values = torch.randint(-3, 4, (rows, k), generator=generator).to(FP8)
        return values, values.double()
    codes = torch.randint(0, 16, (rows, k), generator=generator, dtype=torch.uint8)
    table = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6], dtype=torch.double)
    return (warpwright.pack_elements(codes, "e2m1").view(torch.float4_e2m1fn_x2),
            table[(codes & 7).long()] * (1 - 2 * (codes >> 3).double()))


def blackwell(recipe, m, n, k, seed=51):
    """Operands of scaled_mm in formats of Blackwell, and the product in float64, which is exact."""
    def operand(rows, seed):
        generator = torch.Generator().manual_seed(seed)
        stored, wide = elements(recipe, rows, k, generator)
        vector = 16 if recipe.startswith("nv") else 32
        scales = torch.exp2(torch.randint(-1, 2, (rows, -(-k // vector)), generator=generator).float())
        wide = wide * scales.double().repeat_interleave(vector, 1)[:, :k]
        scales = scales.to(FP8 if recipe.startswith("nv") else torch.float8_e8m0fnu)
        swizzled = warpwright.swizzle_scales(scales)
        columns = swizzled.numel() // (-(-rows // 128) * 128)
        return stored.to(DEVICE), swizzled.reshape(-1, columns).to(DEVICE), wide

    (a, sa, x), (b, sb, y) = operand(m, seed), operand(n, seed + 1)
    expected = x @ y.t()
    if recipe == "nvfp4 of two levels":
        of_a, of_b = torch.tensor([0.5], device=DEVICE), torch.tensor(4.0, device=DEVICE)
        both = [Recipe.BlockWise1x16, Recipe.TensorWise]
        swizzle = [Swizzle.SWIZZLE_32_4_4, Swizzle.NO_SWIZZLE]
        return (a, b.t(), [sa, of_a], both, [sb, of_b], both, swizzle, swizzle), expected * 2
    one = Recipe.BlockWise1x16 if recipe == "nvfp4" else Recipe.BlockWise1x32
    return (a, b.t(), sa, one, sb, one, Swizzle.SWIZZLE_32_4_4, Swizzle.SWIZZLE_32_4_4), expected


def has_blackwell():
    return DEVICE == "cpu" or torch.cuda.get_device_capability() == (10, 0)


BLACKWELL = ["mxfp8", "mxfp4", "nvfp4", "nvfp4 of two levels"]
needs_blackwell = pytest.mark.skipif(not has_blackwell(), reason="this GPU is no Blackwell")


@needs_blackwell
@pytest.mark.parametrize("recipe", BLACKWELL)
def test_scaled_mm_of_blackwell(recipe):
    given, expected = blackwell(recipe, 130, 136, 256)
    assert torch.equal(wwt.scaled_mm(*given, output_dtype=torch.float32).cpu(), expected.float())
    bias = integers((136,), 53)
    got = wwt.scaled_mm(*given, bias=bias)
    assert got.dtype == torch.bfloat16 and torch.equal(got.cpu(), (expected + bias.double().cpu()).bfloat16())
    if DEVICE == "cuda":
        assert torch.equal(got, F.scaled_mm(*given, bias=bias))


@needs_blackwell
@pytest.mark.parametrize("recipe", BLACKWELL)
def test_compile_of_scaled_mm_of_blackwell(recipe):
    given, expected = blackwell(recipe, 64, 64, 128)
    compiled = torch.compile(lambda a, b, sa, sb: wwt.scaled_mm(a, b, sa, given[3], sb, given[5], *given[6:]),
                             fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(*given[:3], given[4]).cpu(), expected.bfloat16())


@needs_blackwell
@pytest.mark.parametrize("recipe", ["mxfp8", "nvfp4"])
def test_scaled_grouped_mm_of_blackwell(recipe):
    """Two groups, whose scales lie one after the other; and the same as a batch."""
    parts = [blackwell(recipe, rows, 64, 256, seed) for seed, rows in ((60, 40), (70, 130))]
    (_, _, _, one, _, _, swizzle, _), _ = parts[0]
    a = torch.cat([given[0].view(torch.uint8) for given, _ in parts]).view(parts[0][0][0].dtype)
    b = torch.stack([given[1].t().view(torch.uint8) for given, _ in parts]).view(a.dtype).transpose(-2, -1)
    sa = torch.cat([given[2].view(torch.uint8).reshape(-1) for given, _ in parts])
    room = torch.zeros((170 + 127 * 2) // 128 * (sa.numel() // 3) - sa.numel(), dtype=torch.uint8, device=DEVICE)
    sa = torch.cat((sa, room)).view(parts[0][0][2].dtype)
    sb = torch.stack([given[4].view(torch.uint8).reshape(-1) for given, _ in parts]).view(sa.dtype)
    got = wwt.scaled_grouped_mm(a, b, sa, one, sb, one, swizzle, swizzle, offs=offsets((40, 170)))
    assert torch.equal(got.cpu(), torch.cat([expected for _, expected in parts]).bfloat16())
    first = wwt.scaled_grouped_mm(a[None, :40], b[:1], sa[: sa.numel() // 3], one, sb[:1], one, swizzle, swizzle)
    assert torch.equal(first[0].cpu(), parts[0][1].bfloat16())


def groups_of_k(recipe, m, n, ks, seed):
    """Operands of groups of K in a format of Blackwell, the scales of each group in chunks of its own, and the products."""
    generator = torch.Generator().manual_seed(seed)
    vector, own = (16, FP8) if recipe.startswith("nv") else (32, torch.float8_e8m0fnu)
    ends = [sum(ks[: g + 1]) for g in range(len(ks))]
    given = []
    for rows in (m, n):
        stored, values = elements(recipe, rows, sum(ks), generator)
        parts, wide = [torch.zeros(0, dtype=torch.uint8)], []
        for end, count in zip(ends, ks):
            scales = torch.exp2(torch.randint(-1, 2, (rows, -(-count // vector)), generator=generator).float())
            if count > 0:
                parts.append(warpwright.swizzle_scales(scales.to(own)).view(torch.uint8).reshape(-1))
            one = scales.double().repeat_interleave(vector, 1)[:, :count]
            wide.append(values[:, end - count : end] * one)
        given.append((stored.to(DEVICE), torch.cat(parts).view(own).to(DEVICE), wide))
    (a, sa, x), (b, sb, y) = given
    return a, b.t(), sa, sb, offsets(ends), torch.stack([one @ other.t() for one, other in zip(x, y)])


RANDOM_KS = [(int(m), int(8 * n), [int(32 * one) for one in ks]) for m, n, *ks in
             torch.randint(1, 9, (3, 6), generator=torch.Generator().manual_seed(20261123)).tolist()]


@needs_blackwell
@pytest.mark.parametrize("recipe", ["mxfp8", "mxfp4", "nvfp4"])
@pytest.mark.parametrize("m,n,ks", [(40, 64, [256, 0, 512]), (130, 72, [96, 32, 160, 256]), (1, 8, [32]), (200, 136, [0, 0]),
                                    (70, 200, [288, 0, 64, 32, 608]), *RANDOM_KS])
def test_scaled_grouped_mm_of_groups_of_k(recipe, m, n, ks):
    a, b, sa, sb, ends, expected = groups_of_k(recipe, m, n, ks, 81)
    swizzle = Swizzle.SWIZZLE_32_4_4
    one = Recipe.BlockWise1x16 if recipe == "nvfp4" else Recipe.BlockWise1x32
    got = wwt.scaled_grouped_mm(a, b, sa, one, sb, one, swizzle, swizzle, offs=ends, output_dtype=torch.float32)
    assert torch.equal(got.cpu(), expected.float())
    if all(count % 256 == 0 for count in ks):
        got = wwt.scaled_grouped_mm(a, b, sa.reshape(-1, 4), one, sb, one, swizzle, swizzle, offs=ends, alignment=256)
        assert torch.equal(got.cpu(), expected.bfloat16())
    with pytest.raises(ValueError, match="scale_b"):
        wwt.scaled_grouped_mm(a, b, sa, one, torch.cat((sb, sb[:0].new_zeros(1))), one, swizzle, swizzle, offs=ends)
    if DEVICE == "cpu" and sum(ks) > 0:  # a column of chunks less than the groups have
        with pytest.raises(ValueError, match="scale_a: expected .* chunks of each group of K"):
            wwt.scaled_grouped_mm(a, b, sa[: sa.numel() - -(-m // 128) * 512], one, sb, one, swizzle, swizzle, offs=ends)


@needs_blackwell
@pytest.mark.parametrize("seed", range(6))
def test_random_groups_of_k_in_nvfp4(seed):
    """Groups of multiples of 16, one in three empty, so that chunks of scales move to other places in every way."""
    source = torch.Generator().manual_seed(9000 + seed)
    m, n, groups = (int(torch.randint(1, most, (), generator=source)) for most in (300, 30, 8))
    ks = [int(torch.randint(0, 40, (), generator=source)) * int(torch.randint(0, 3, (), generator=source) > 0) * 16
          for _ in range(groups)]
    a, b, sa, sb, ends, expected = groups_of_k("nvfp4", m, 8 * n, ks, seed)
    one, swizzle = Recipe.BlockWise1x16, Swizzle.SWIZZLE_32_4_4
    got = wwt.scaled_grouped_mm(a, b, sa, one, sb, one, swizzle, swizzle, offs=ends, output_dtype=torch.float32)
    assert torch.equal(got.cpu(), expected.float()), f"python -m pytest test_torch.py -k 'nvfp4 and {seed}': {m} {n} {ks}"


@needs_blackwell
def test_groups_with_a_scale_of_the_tensor():
    a, b, sa, sb, ends, expected = groups_of_k("nvfp4", 40, 64, [96, 64], 83)
    both, swizzle = [Recipe.BlockWise1x16, Recipe.TensorWise], [Swizzle.SWIZZLE_32_4_4, Swizzle.NO_SWIZZLE]
    half, four = torch.tensor([0.5], device=DEVICE), torch.tensor(4.0, device=DEVICE)

    def of(scales_a, scales_b):
        return wwt.scaled_grouped_mm(a, b, scales_a, both, scales_b, both, swizzle, swizzle, offs=ends,
                                     output_dtype=torch.float32)

    assert torch.equal(of([sa, half], [sb, four]).cpu(), 2 * expected.float())
    with pytest.raises(NotImplementedError, match="scale_a: expected one scale of the tensor for all groups, got 2"):
        of([sa, half.repeat(2)], [sb, four.repeat(2)])
    with pytest.raises(ValueError, match="scale_b: expected a tensor for each level"):
        of([sa, half], sb)
    (x, yt, sx, _, sy, *_), product_of_rows = blackwell("nvfp4", 40, 64, 256)
    got = wwt.scaled_grouped_mm(x, yt[None], [sx, half], both, [sy, half], both, swizzle, swizzle, offs=offsets((40,)),
                                output_dtype=torch.float32)
    assert torch.equal(got.cpu(), 0.25 * product_of_rows.float())
    chunks = (sx.reshape(-1), sy.reshape(1, -1))
    for out in (None, torch.zeros(40, 64, dtype=torch.float32, device=DEVICE)):
        got = wwt.grouped_gemm(x, yt.t()[None], offsets((40,)), *chunks, global_scale=four, out=out, out_dtype=torch.float32)
        assert torch.equal(got.cpu(), 4 * product_of_rows.float())
    got = torch.ops.warpwright.k_grouped_gemm(x, yt.t(), offsets((256,)), chunks[0], chunks[1][0], global_scale=four)
    assert torch.equal(got[0].cpu(), 4 * product_of_rows.float())


@pytest.mark.parametrize("name", ["grouped_gemm", "k_grouped_gemm", "grouped_gemm_out", "k_grouped_gemm_out"])
def test_new_arguments_of_operators_stand_last(name):
    assert getattr(torch.ops.warpwright, name).default._schema.arguments[-1].name == "global_scale"


@needs_blackwell
def test_operators_of_packed_types():
    (a, bt, sa, _, sb, *_), expected = blackwell("nvfp4", 64, 72, 128)
    b, factor = bt.t(), torch.tensor([2.0], device=DEVICE)
    chunks = (sa.reshape(-1), sb.reshape(-1))
    got = torch.ops.warpwright.gemm(a, b, *chunks, global_scale=factor)
    assert torch.equal(got.cpu(), (2 * expected).bfloat16())
    # Its other tests copy and multiply operands, and torch copies none of 4 bits and multiplies none of 8.
    (x, yt, sx, _, sy, *_), _ = blackwell("mxfp8", 64, 72, 128)
    torch.library.opcheck(torch.ops.warpwright.gemm.default, (x, yt.t(), sx.reshape(-1).view(torch.uint8),
                                                              sy.reshape(-1).view(torch.uint8)), {"scale": "mx"},
                          test_utils="test_faketensor")
    with FlopCounterMode(display=False) as counter:
        torch.ops.warpwright.gemm(a, b, *chunks)
    assert counter.get_total_flops() == 2 * 64 * 72 * 128  # of elements, not of the bytes that hold two


@needs_blackwell
def test_what_formats_of_blackwell_refuse():
    (a, b, sa, one, sb, _, swizzle, _), _ = blackwell("mxfp8", 64, 64, 128)
    plain = Swizzle.NO_SWIZZLE
    with pytest.raises(NotImplementedError, match="swizzle_a: expected SWIZZLE_32_4_4.*swizzle_scales"):
        wwt.scaled_mm(a, b, sa, one, sb, one, plain, swizzle)
    with pytest.raises(NotImplementedError, match="swizzle_b: expected SWIZZLE_32_4_4"):
        wwt.scaled_mm(a, b, sa, one, sb, one, swizzle)
    with pytest.raises(NotImplementedError, match="swizzle_a: expected NO_SWIZZLE"):
        wwt.scaled_mm(a, b, powers((1,), 1), Recipe.TensorWise, powers((1,), 2), Recipe.TensorWise, swizzle, swizzle)
    with pytest.raises(NotImplementedError, match="scale_recipe_a.*BlockWise1x32"):
        wwt.scaled_mm(a, b, sa, one, sb, Recipe.BlockWise1x16, swizzle, swizzle)
    with pytest.raises(ValueError, match="scale_a.*512"):
        wwt.scaled_mm(a, b, sa[:64], one, sb, one, swizzle, swizzle)
    with pytest.raises(ValueError, match="scale_a"):
        wwt.scaled_mm(a, b, [sa, sa], one, sb, one, swizzle, swizzle)
    with pytest.raises(ValueError, match="scale_b"):  # e4m3 scales are NVFP4's
        wwt.scaled_mm(a, b, sa, one, sb.view(FP8), one, swizzle, swizzle)
    (x, y, (sx, of_x), both, sy, _, *swizzles), _ = blackwell("nvfp4 of two levels", 64, 64, 128)
    with pytest.raises(ValueError, match="scale_a.*shape"):
        wwt.scaled_mm(x, y, [sx, of_x.repeat(2)], both, sy, both, *swizzles)
    (_, narrow, _, _, of_narrow, *_), _ = blackwell("mxfp4", 64, 64, 128)
    with pytest.raises(NotImplementedError, match="mat_b: expected.*groups of K of 4 bits"):
        wwt.scaled_grouped_mm(a, narrow, sa, one, of_narrow, one, swizzle, swizzle, offs=offsets((128,)))


def test_what_torch_has_and_this_library_lacks_is_refused():
    a, b = integers((16, 64), 30, FP8), integers((16, 64), 31, FP8)
    one = powers((1,), 32)
    with pytest.raises(NotImplementedError, match="scale_recipe_a"):
        wwt.scaled_mm(a, b.t(), one, Recipe.TensorWise, one, Recipe.RowWise)
    with pytest.raises(ValueError, match="offs"):
        wwt.scaled_grouped_mm(a, b.t(), one, Recipe.TensorWise, one, Recipe.TensorWise)
    row, tensor = Recipe.RowWise, Recipe.TensorWise
    for argument, call in (("scale_a", lambda: wwt.scaled_mm(a, b.t(), powers((15,), 1), row, powers((16,), 1), row)),
                           ("scale_b", lambda: wwt.scaled_mm(a, b.t(), one, tensor, powers((2,), 1), tensor)),
                           ("mat_a", lambda: wwt.scaled_mm(a[None], b.t(), one, tensor, one, tensor)),
                           ("mat_a", lambda: wwt.scaled_mm(a[:, :32], b.t(), one, tensor, one, tensor)),
                           ("offs", lambda: wwt.scaled_grouped_mm(a, b[None].mT, one, tensor, one, tensor,
                                                                  offs=offsets((16,)).long()))):
        with pytest.raises(ValueError, match=argument):
            call()
    with pytest.raises(NotImplementedError, match="output_dtype"):
        wwt.scaled_mm(a, b.t(), one, tensor, one, tensor, output_dtype=None)
