# SPDX-License-Identifier: Apache-2.0
"""warpwright.jax: products under jit, on the emulated device here and on a GPU where JAX has one."""
import os
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

import warpwright  # noqa: E402
from support import E4M3, expand, integers, powers, wide  # noqa: E402
import warpwright.jax as inside  # noqa: E402
from warpwright.jax import counters, gemm, grouped_gemm, linear  # noqa: E402

BF16 = jnp.bfloat16


def rng(seed):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("m,n,k", [(1, 64, 64), (70, 136, 192)])
def test_gemm_is_exact_under_jit(m, n, k):
    a, b = integers(rng(1), (m, k), BF16), integers(rng(2), (n, k), BF16)
    expected = wide(a) @ wide(b).T
    got = jax.jit(lambda x, y: gemm(x, y, out_dtype=jnp.float32))(a, b)
    assert got.dtype == jnp.float32 and np.array_equal(wide(got), expected)
    assert np.array_equal(wide(gemm(a, b)), wide(expected.astype(BF16)))


def test_runs_between_other_operations():
    a, b = integers(rng(3), (16, 64), BF16), integers(rng(4), (32, 64), BF16)
    step = jax.jit(lambda x, y: (gemm(x * 2, y, out_dtype=jnp.float32) + 1).sum(0))
    assert np.array_equal(step(a, b), (2 * wide(a) @ wide(b).T + 1).sum(0))


def dequantised(q, scale, rows=1):
    """A cast of jax.linear() in float64."""
    return wide(q) * np.repeat(np.repeat(np.asarray(scale, np.float64), rows, 0), 128, 1)


@pytest.mark.parametrize("m,n,k", [(1, 136, 72), (70, 136, 272), (200, 64, 128)])
@pytest.mark.parametrize("dtype", [BF16, jnp.float32])
def test_linear_is_exact_with_gradients(m, n, k, dtype):
    """Small integers and scales of powers of two make the arithmetic exact."""
    x, w, b = integers(rng(11), (m, k), dtype), integers(rng(12), (n, k), dtype), integers(rng(13), (n,), dtype)
    dy = integers(rng(14), (m, n), dtype)
    y, pull = jax.vjp(jax.jit(lambda *of: linear(*of, power_of_two=True)), x, w, b)
    dx, dw, db = pull(jnp.asarray(dy))
    assert y.dtype == dx.dtype == dw.dtype == db.dtype == dtype
    x64, w64, dy64 = wide(x), wide(w), wide(dy)
    assert np.array_equal(wide(y), wide((wide((x64 @ w64.T).astype(dtype)) + wide(b)).astype(dtype)))
    assert np.array_equal(wide(dx), wide((dy64 @ w64).astype(dtype)))
    assert np.array_equal(wide(dw), wide((dy64.T @ x64).astype(dtype)))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("grad_dtype,relative,least", [("e4m3", 2.0 ** -4, 2.0 ** -10), ("e5m2", 2.0 ** -3, 2.0 ** -17)])
def test_linear_is_within_bounds(seed, grad_dtype, relative, least):
    """y, dx and dw against float64: each cast is off by half a step of its type, and sums by their rounding."""
    source = rng(100 + seed)
    m, n, k = int(source.integers(1, 300)), 8 * int(source.integers(1, 30)), 8 * int(source.integers(1, 40))
    x, w, dy = (jnp.asarray(source.standard_normal(shape) * 10.0 ** source.integers(-6, 4), jnp.float32)
                for shape in ((m, k), (n, k), (m, n)))
    y, pull = jax.vjp(lambda *of: linear(*of, grad_dtype=grad_dtype), x, w)
    dx, dw = pull(dy)

    def off(t, rows, columns, relative, least, top):
        """The largest error of a cast, by element."""
        t = np.abs(wide(t))
        padded = np.pad(t, [(0, -t.shape[0] % rows), (0, -t.shape[1] % columns)])
        blocks = padded.reshape(padded.shape[0] // rows, rows, -1, columns)
        amax = np.broadcast_to(blocks.max((1, 3), keepdims=True), blocks.shape).reshape(padded.shape)
        return (1.001 * np.maximum(relative * padded, least * amax / top))[:t.shape[0], :t.shape[1]]

    e4m3, of_dy = (2.0 ** -4, 2.0 ** -10, 448), (relative, least, 448 if grad_dtype == "e4m3" else 57344)

    def close(got, a, b, off_a, off_b):
        a, b = wide(a), wide(b)
        cast = off_a @ np.abs(b).T + np.abs(a) @ off_b.T + off_a @ off_b.T
        rounding = 2.0 ** -9 * ((np.abs(a) + off_a) @ (np.abs(b) + off_b).T)
        wrong = np.abs(wide(got) - a @ b.T)
        assert (wrong <= cast + rounding).all()
        assert wrong.max() > 0

    close(y, x, w, off(x, 1, 128, *e4m3), off(w, 128, 128, *e4m3))
    close(dx, dy, w.T, off(dy, 1, 128, *of_dy), off(w.T, 128, 128, *e4m3))
    close(dw, dy.T, x.T, off(dy.T, 1, 128, *of_dy), off(x.T, 1, 128, *e4m3))
    # And against what was cast, where sums alone are off.
    q, scale = inside._cast(x, "float8_e4m3fn", False)
    v, w_scale = inside._cast(w, "float8_e4m3fn", False, 128)
    a, b = dequantised(q, scale), dequantised(v, w_scale, 128)[:n]
    assert (np.abs(wide(y) - a @ b.T) <= 2.0 ** -10 * (np.abs(a) @ np.abs(b).T)).all()


def test_linear_takes_batches_and_refuses_what_it_cannot():
    x, w = integers(rng(15), (2, 3, 64), BF16), integers(rng(16), (24, 64), BF16)
    assert np.array_equal(wide(linear(x, w, power_of_two=True)), wide((wide(x) @ wide(w).T).astype(BF16)))
    assert linear(x[0, 0], w).shape == (24,)
    assert not wide(linear(jnp.zeros((3, 64)), w)).any()
    for given, argument in (((x.astype(E4M3), w), "x"), ((x, w[:, :32]), "x"), ((x, w[:23]), "weight")):
        with pytest.raises(warpwright.InvalidError) as caught:
            linear(*given)
        assert caught.value.argument == argument
    with pytest.raises(warpwright.InvalidError, match="grad_dtype"):
        linear(x, w, grad_dtype="f16")


def test_derivatives_that_do_not_exist_are_refused():
    a, b = integers(rng(17), (16, 128), BF16), integers(rng(18), (2, 32, 128), BF16)
    one, ends = jnp.ones((1,), jnp.float32), jnp.array([8, 16], jnp.int32)
    for call in (lambda x: gemm(x, b[0], alpha=2.0), lambda x: gemm(x.astype(E4M3), b[0].astype(E4M3), scale_a=one, scale_b=one),
                 lambda x: grouped_gemm(x, b, ends)):
        assert call(a).shape[0] == 16
        for compiled in (call, jax.jit(call)):
            with pytest.raises(warpwright.UnsupportedError, match=r"no derivative of a product.*linear\(\)"):
                jax.grad(lambda x: compiled(x).astype(jnp.float32).sum())(a)


@pytest.mark.parametrize("a_t,b_t", [(True, False), (False, True), (True, True)])
def test_transposed_operands(a_t, b_t):
    a, b = integers(rng(5), (24, 64), BF16), integers(rng(6), (40, 64), BF16)
    got = gemm(a.T if a_t else a, b.T if b_t else b, transpose_a=a_t, transpose_b=b_t, out_dtype=jnp.float32)
    assert np.array_equal(wide(got), wide(a) @ wide(b).T)


def test_batch_and_epilogue():
    a, b = integers(rng(7), (3, 20, 64), BF16), integers(rng(8), (48, 64), BF16)
    bias = integers(rng(9), (48,), BF16)
    got = jax.jit(lambda x, y, z: gemm(x, y, bias=z, alpha=0.5, epilogue="relu(acc * alpha + bias)",
                                       out_dtype=jnp.float32))(a, b, bias)
    assert np.array_equal(wide(got), np.maximum(0.5 * wide(a) @ wide(b).T + wide(bias), 0))


@pytest.mark.parametrize("recipe", ["tensor", "row-column", "block", "block-1d"])
def test_fp8_with_scales(recipe):
    m, n, k = 48, 144, 384
    a, b = integers(rng(10), (m, k), E4M3), integers(rng(11), (n, k), E4M3)
    kb, nb = 3, 2
    shapes = {"tensor": ((), ()), "row-column": ((m,), (n,)), "block": ((m, kb), (nb, kb)),
              "block-1d": ((m, kb), (n, kb))}[recipe]
    sa, sb = powers(rng(12), shapes[0]), powers(rng(13), shapes[1])
    x, y = wide(a), wide(b)
    if recipe == "tensor":
        expected = x @ y.T * float(sa) * float(sb)
    elif recipe == "row-column":
        expected = (x @ y.T) * wide(sa)[:, None] * wide(sb)
    else:
        expected = (x * expand(sa, m, k, 1, 128)) @ (y * expand(sb, n, k, 128 if recipe == "block" else 1, 128)).T
    got = jax.jit(lambda *z: gemm(z[0], z[1], scale_a=z[2], scale_b=z[3], scale=recipe, out_dtype=jnp.float32))(
        a, b, sa, sb)
    assert np.array_equal(wide(got), expected)


def test_groups_of_rows():
    a, b = integers(rng(14), (100, 128), BF16), integers(rng(15), (3, 64, 128), BF16)
    ends = np.array([30, 30, 90], np.int32)
    run = jax.jit(lambda x, y, z: grouped_gemm(x, y, z, out_dtype=jnp.float32))
    for ends in ([30, 30, 90], [0, 100, 100]):
        expected, begin = np.zeros((100, 64)), 0
        for g, end in enumerate(ends):
            expected[begin:end] = wide(a)[begin:end] @ wide(b)[g].T
            begin = end
        assert np.array_equal(wide(run(a, b, np.array(ends, np.int32))), expected)


def test_expected_sizes_make_plans_and_change_no_result():
    a, b = integers(rng(18), (96, 128), BF16), integers(rng(19), (4, 72, 128), BF16)
    ends = np.array([1, 1, 40, 96], np.int32)
    expected = np.concatenate([wide(a)[:1] @ wide(b)[0].T, wide(a)[1:40] @ wide(b)[2].T, wide(a)[40:] @ wide(b)[3].T])
    before = counters()["plans"]
    for sizes, plans in ((None, 1), (24, 2), ([24, 0, 24, 48], 3), ("24", 3), (np.array([24, 0, 24, 48]), 3),
                         (jnp.array([24, 0, 24, 48]), 3), (np.int64(24), 3), ("", 3)):
        got = jax.jit(lambda x, y, z, s=sizes: grouped_gemm(x, y, z, expected_sizes=s, out_dtype=jnp.float32))(a, b, ends)
        assert np.array_equal(wide(got), expected)
        assert counters()["plans"] - before == plans, sizes
    nothing = grouped_gemm(a[:0], b, np.zeros(4, np.int32), expected_sizes=0, out_dtype=jnp.float32)
    assert nothing.shape == (0, 72)
    masked = grouped_gemm(a.reshape(4, 24, 128), b, np.array([24, 0, 1, 3], np.int32), encoding="masked",
                          expected_sizes=[24, 0, 1, 3], out_dtype=jnp.float32)
    assert np.array_equal(wide(masked)[0], wide(a)[:24] @ wide(b)[0].T) and not wide(masked)[1].any()


@pytest.mark.parametrize("sizes,argument", [
    (1.5, "expected_sizes"), ([1.0, 2, 3, 4], "expected_sizes"), ([1, 2, 3], "expected_sizes"), (97, "expected_sizes[0]"),
    ([90, 0, -1, 0], "expected_sizes"), ([90, 0, 7, 0], "expected_sizes[2]"), ("1,,2", "expected_sizes")])
def test_expected_sizes_that_cannot_be_are_refused(sizes, argument):
    a, b, ends = np.zeros((96, 64), BF16), np.zeros((4, 64, 64), BF16), np.zeros(4, np.int32)
    with pytest.raises(warpwright.InvalidError) as caught:
        grouped_gemm(a, b, ends, expected_sizes=sizes)
    assert caught.value.argument == argument and caught.value.expected and caught.value.actual


def test_expected_sizes_are_known_while_tracing():
    a, b, ends = np.zeros((96, 64), BF16), np.zeros((4, 64, 64), BF16), np.zeros(4, np.int32)
    with pytest.raises(warpwright.InvalidError, match="known while tracing"):
        jax.jit(lambda s: grouped_gemm(a, b, ends, expected_sizes=s))(ends)


def test_masked_groups():
    a, b = integers(rng(16), (2, 32, 64), BF16), integers(rng(17), (2, 40, 64), BF16)
    got = grouped_gemm(a, b, np.array([5, 32], np.int32), encoding="masked", out_dtype=jnp.float32)
    expected = wide(a) @ wide(b).swapaxes(1, 2)
    expected[0, 5:] = 0
    assert np.array_equal(wide(got), expected)


@pytest.mark.parametrize("a_t,b_t", [(False, False), (True, False), (False, True)])
def test_gradients(a_t, b_t):
    a, b = integers(rng(18), (16, 64), BF16), integers(rng(19), (24, 64), BF16)
    weight = integers(rng(20), (16, 24), np.float32)

    def loss(x, y):
        made = gemm(x.T if a_t else x, y.T if b_t else y, transpose_a=a_t, transpose_b=b_t, out_dtype=jnp.float32)
        return (made * weight).sum()

    grad_a, grad_b = jax.jit(jax.grad(loss, (0, 1)))(a, b)
    assert np.array_equal(wide(grad_a), wide((weight @ wide(b)).astype(BF16)))
    assert np.array_equal(wide(grad_b), wide((weight.T @ wide(a)).astype(BF16)))


def test_gradient_of_a_shared_operand_of_a_batch():
    a, b = integers(rng(21), (3, 16, 64), np.float32), integers(rng(22), (24, 64), np.float32)
    grad = jax.grad(lambda y: gemm(a, y, out_dtype=jnp.float32).sum())(b)
    assert np.array_equal(wide(grad), np.broadcast_to(wide(a).sum((0, 1)), (24, 64)))


@pytest.mark.parametrize("m", [1, 3, 6])
def test_gradients_in_float32_of_any_number_of_rows(m):
    a, b = integers(rng(25), (m, 64), np.float32), integers(rng(26), (24, 64), np.float32)
    weight = integers(rng(27), (m, 24), np.float32)
    grad_a, grad_b = jax.grad(lambda x, y: (gemm(x, y, out_dtype=jnp.float32) * weight).sum(), (0, 1))(a, b)
    assert np.array_equal(wide(grad_a), wide(weight) @ wide(b)) and np.array_equal(wide(grad_b), wide(weight).T @ wide(a))


def test_vmap():
    a, b = integers(rng(23), (3, 16, 64), BF16), integers(rng(24), (24, 64), BF16)
    got = jax.vmap(lambda x: gemm(x, b, out_dtype=jnp.float32))(a)
    assert np.array_equal(wide(got), wide(a) @ wide(b).T)


def test_nothing_to_multiply():
    assert gemm(np.zeros((0, 64), BF16), np.zeros((24, 64), BF16)).shape == (0, 24)
    assert not np.any(gemm(np.zeros((8, 0), BF16), np.zeros((24, 0), BF16)))


@pytest.mark.parametrize("given,argument", [
    ({"b": np.zeros((24, 32), BF16)}, "b"),
    ({"a": np.zeros((16, 64), np.int32)}, "a"),
    ({"scale_a": np.ones(16, np.float32)}, "scale_b"),
    ({"bias": np.zeros(23, BF16), "epilogue": "acc + bias"}, "bias"),
    ({"scale": "mx32"}, "scale"),
    ({"global_scale": np.ones(1, np.float32)}, "global_scale"),
    ({"a_dtype": "e2m1"}, "a"),
    ({"a": np.zeros((16, 32), np.uint8), "a_dtype": "e5m2"}, "a_dtype"),
    ({"scale": "mx", "scale_a": np.zeros(511, np.uint8), "scale_b": np.zeros(512, np.uint8)}, "scale_a"),
    ({"scale": "nv", "scale_a": np.zeros(512, np.uint8), "scale_b": np.zeros(512, np.float32)}, "scale_b"),
])
def test_errors_name_the_argument(given, argument):
    operands = {"a": np.zeros((16, 64), BF16), "b": np.zeros((24, 64), BF16), **given}
    with pytest.raises(warpwright.InvalidError) as caught:
        jax.jit(lambda: gemm(**operands))()
    assert caught.value.argument == argument and caught.value.expected and caught.value.actual


def test_problems_without_a_kernel_are_refused_while_tracing():
    with pytest.raises(warpwright.UnsupportedError):
        jax.jit(lambda x: gemm(x, x.T, transpose_b=True))(np.zeros((16, 64), E4M3))


def test_groups_that_the_function_computes():
    experts, x = integers(rng(30), (3, 64, 128), BF16), integers(rng(31), (40, 128), BF16)
    ids = rng(32).integers(0, 3, 40).astype(np.int32)

    @jax.jit
    def route(x, w, chosen):
        order = jnp.argsort(chosen, stable=True)
        ends = jnp.cumsum(jnp.bincount(chosen, length=3)).astype(jnp.int32)
        made = grouped_gemm(x[order], w, ends, out_dtype=jnp.float32)
        return jnp.zeros_like(made).at[order].set(made)

    for chosen in (ids, np.full(40, 1, np.int32)):  # one trace, other sizes
        expected = np.einsum("mk,mnk->mn", wide(x), wide(experts)[chosen])
        assert np.array_equal(wide(route(x, experts, chosen)), expected)


def packed_operand(seed, shape, name):
    """Storage of random elements that multiply exactly, their values, and the keyword that names the type of bytes."""
    if name in ("e4m3", "e5m2"):
        values = integers(rng(seed), shape, E4M3 if name == "e4m3" else jnp.float8_e5m2)
        return values, wide(values), None
    kind = {"e2m1": ml_dtypes.float4_e2m1fn, "e3m2": ml_dtypes.float6_e3m2fn, "e2m3": ml_dtypes.float6_e2m3fn}[name]
    values = rng(seed).integers(0, 16 if name == "e2m1" else 64, shape).astype(np.uint8).view(kind)
    return warpwright.pack_elements(values), wide(values), name


def block_scales(seed, shape, recipe):
    """Powers of two by rows, in chunks as products read them, and as a factor of each element."""
    own, vector = (ml_dtypes.float8_e8m0fnu, 32) if recipe == "mx" else (E4M3, 16)
    plain = powers(rng(seed), shape).astype(own)
    return plain, warpwright.swizzle_scales(plain), np.repeat(wide(plain), vector, -1)


BLOCK_SCALED = [(150, 136, 256, "e4m3", "e4m3", "mx", ()), (1, 64, 128, "e5m2", "e2m1", "mx", ()),
                (40, 72, 192, "e2m1", "e2m1", "nv", ()), (33, 40, 128, "e2m1", "e2m1", "mx", (3,)),
                (0, 64, 128, "e4m3", "e4m3", "mx", ())]
for drawn in range(4):
    source = rng([2026, drawn])
    with_nv = bool(source.integers(2))
    of = ["e2m1", "e2m1"] if with_nv else [str(one) for one in source.choice(["e4m3", "e5m2", "e2m1", "e3m2", "e2m3"], 2)]
    BLOCK_SCALED.append((int(source.integers(1, 200)), 8 * int(source.integers(1, 30)), 128 * int(source.integers(1, 5)), *of,
                         "nv" if with_nv else "mx", (2,) * int(source.integers(2))))


@pytest.mark.parametrize("m,n,k,a,b,recipe,batch", BLOCK_SCALED)
def test_scales_of_mx_and_nv(m, n, k, a, b, recipe, batch):
    vector = 32 if recipe == "mx" else 16
    x, x_values, a_dtype = packed_operand(1, (*batch, m, k), a)
    y, y_values, b_dtype = packed_operand(2, (*batch, n, k), b)
    _, of_a, wide_a = block_scales(3, (*batch, m, k // vector), recipe)
    _, of_b, wide_b = block_scales(4, (*batch, n, k // vector), recipe)
    expected = (x_values * wide_a) @ (y_values * wide_b).swapaxes(-1, -2)
    run = jax.jit(lambda *z: gemm(z[0], z[1], scale_a=z[2], scale_b=z[3], a_dtype=a_dtype, b_dtype=b_dtype, alpha=0.5,
                                  out_dtype=jnp.float32))
    assert np.array_equal(wide(run(x, y, of_a, of_b)), expected * 0.5)
    as_bytes = [one.view(np.uint8) for one in (of_a, of_b)]
    factor = np.array([4], np.float32) if recipe == "nv" else None
    got = gemm(x, y, scale_a=as_bytes[0], scale_b=as_bytes[1], scale=recipe, a_dtype=a_dtype, b_dtype=b_dtype,
               global_scale=factor, out_dtype=jnp.float32)
    assert np.array_equal(wide(got), expected * (4 if recipe == "nv" else 1))


@pytest.mark.parametrize("a,b,recipe", [("e4m3", "e4m3", "mx"), ("e2m1", "e2m1", "nv"), ("e5m2", "e3m2", "mx")])
@pytest.mark.parametrize("masked", [False, True])
def test_groups_with_scales_of_mx_and_nv(a, b, recipe, masked):
    counts, n, k = [40, 0, 130, 7], 64, 256
    groups, most, vector = len(counts), 136, 32 if recipe == "mx" else 16
    rows = groups * most if masked else sum(counts)
    x, x_values, a_dtype = packed_operand(5, (rows, k), a)
    y, y_values, b_dtype = packed_operand(6, (groups, n, k), b)
    plain, _, wide_a = block_scales(7, (rows, k // vector), recipe)
    _, of_b, wide_b = block_scales(8, (groups, n, k // vector), recipe)
    starts = [g * most for g in range(groups)] if masked else [sum(counts[:g]) for g in range(groups)]
    expected = np.zeros((rows, n))
    for g, (start, count) in enumerate(zip(starts, counts)):
        one = slice(start, start + count)
        expected[one] = (x_values * wide_a)[one] @ (y_values * wide_b)[g].T
    if masked:
        of_a = warpwright.swizzle_scales(plain.reshape(groups, most, -1))
        x, expected, sizes = x.reshape(groups, most, -1), expected.reshape(groups, most, n), np.array(counts, np.int32)
    else:
        parts = [warpwright.swizzle_scales(plain[start : start + count]) for start, count in zip(starts, counts)]
        room = (rows + 127 * groups) // 128 * (k // vector // 4) * 512
        of_a = np.concatenate([*parts, np.zeros(room - sum(map(len, parts)), plain.dtype)])
        sizes = np.cumsum(counts).astype(np.int32)
    encoding = "masked" if masked else "offsets"
    run = jax.jit(lambda *z: grouped_gemm(z[0], z[1], z[2], scale_a=z[3], scale_b=z[4], a_dtype=a_dtype, b_dtype=b_dtype,
                                          encoding=encoding, out_dtype=jnp.float32))
    assert np.array_equal(wide(run(x, y, sizes, of_a, of_b)), expected)
    with pytest.raises(warpwright.InvalidError, match="argument scale_a: expected"):
        run(x, y, sizes, of_a[..., :-512], of_b)


def test_result_in_the_memory_of_c():
    a, b, c = integers(rng(33), (16, 64), BF16), integers(rng(34), (24, 64), BF16), integers(rng(35), (16, 24), np.float32)
    step = jax.jit(lambda x, y, z: gemm(x, y, c=z, out_dtype=jnp.float32, in_place=True), donate_argnums=2)
    given = jnp.asarray(c)
    address = given.unsafe_buffer_pointer()
    got = step(a, b, given)
    assert given.is_deleted() and got.unsafe_buffer_pointer() == address
    assert np.array_equal(wide(got), wide(a) @ wide(b).T + c)
    kept = jnp.asarray(c)  # used again, so that XLA copies it
    total = jax.jit(lambda x, y, z: gemm(x, y, c=z, out_dtype=jnp.float32, in_place=True) + z)(a, b, kept)
    assert np.array_equal(wide(total), wide(a) @ wide(b).T + 2 * c) and np.array_equal(wide(kept), c)
    with pytest.raises(warpwright.InvalidError) as caught:
        gemm(a, b, c=c, in_place=True)
    assert caught.value.argument == "c"


def test_donated_operands():
    a, b = integers(rng(36), (24, 24), BF16), integers(rng(37), (24, 24), BF16)
    step = jax.jit(gemm, donate_argnums=0)
    got = jnp.asarray(a)
    expected = wide(a)
    for _ in range(3):
        got = step(got, b)
        expected = wide((expected @ wide(b).T).astype(BF16))
    assert np.array_equal(wide(got), expected)


def test_vmap_over_both_operands():
    a, b = integers(rng(38), (3, 16, 64), BF16), integers(rng(39), (24, 3, 64), BF16)
    got = jax.jit(jax.vmap(lambda x, y: gemm(x, y, out_dtype=jnp.float32), in_axes=(0, 1)))(a, b)
    assert np.array_equal(wide(got), np.einsum("gmk,ngk->gmn", wide(a), wide(b)))
    sizes = np.array([[3, 16], [0, 9], [16, 16]], np.int32)
    weights = integers(rng(40), (2, 24, 64), BF16)
    grouped = jax.vmap(lambda x, ends: grouped_gemm(x, weights, ends, out_dtype=jnp.float32))(a, sizes)
    for i, ends in enumerate(sizes):
        expected = np.zeros((16, 24))
        expected[:ends[0]] = wide(a[i, :ends[0]]) @ wide(weights[0]).T
        expected[ends[0]:ends[1]] = wide(a[i, ends[0]:ends[1]]) @ wide(weights[1]).T
        assert np.array_equal(wide(grouped[i]), expected)


def test_executions_compile_nothing():
    a, b = integers(rng(41), (16, 64), BF16), integers(rng(42), (24, 64), BF16)
    step = jax.jit(lambda x, y: gemm(x, y, out_dtype=jnp.float32)).lower(a, b).compile()
    before = counters()
    for _ in range(3):
        step(a, b).block_until_ready()
    after = counters()
    assert after["compiled"] == before["compiled"] and after["plans"] - before["plans"] <= 1
    if jax.default_backend() == "cpu":
        assert after["launches"] - before["launches"] == 3


def run(code, **environment):
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=280,
                          env={**os.environ, **environment})
    assert made.returncode == 0, made.stderr[-3000:]
    return made.stdout


SHARDED = """
import jax, jax.numpy as jnp, numpy as np
from functools import partial
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from warpwright.jax import gemm
assert jax.device_count() == 4
rng = np.random.default_rng(0)
a = rng.integers(-3, 4, (64, 256)).astype(jnp.bfloat16)
b = rng.integers(-3, 4, (32, 256)).astype(jnp.bfloat16)
mesh = Mesh(np.array(jax.devices()), ("x",))
exact = a.astype(np.float64) @ b.astype(np.float64).T

@jax.jit
@partial(jax.shard_map, mesh=mesh, in_specs=(P("x"), P()), out_specs=P("x"), check_vma=False)
def rows(x, y):
    return gemm(x, y, out_dtype=jnp.float32)

@jax.jit
@partial(jax.shard_map, mesh=mesh, in_specs=(P(None, "x"), P(None, "x")), out_specs=P(), check_vma=False)
def depth(x, y):
    return jax.lax.psum(gemm(x, y, out_dtype=jnp.float32), "x")

for step, spec in ((rows, P("x")), (depth, P(None, "x"))):
    given = jax.device_put(a, NamedSharding(mesh, spec))
    for _ in range(3):
        assert np.array_equal(np.asarray(step(given, b), np.float64), exact)
gradient = jax.grad(lambda x, y: rows(x, y).sum(), (0, 1))(a, b)
assert np.array_equal(np.asarray(gradient[0], np.float64), np.broadcast_to(
    b.astype(np.float64).sum(0).astype(jnp.bfloat16), a.shape).astype(np.float64))
print("sharded", len(rows(a, b).sharding.device_set))
"""


def test_shards_on_four_devices():
    flags = "--xla_force_host_platform_device_count=4"
    assert run(SHARDED, JAX_PLATFORMS="cpu", XLA_FLAGS=flags).strip() == "sharded 4"


CAPTURED = """
import sys
import jax, jax.numpy as jnp, numpy as np
from warpwright.jax import counters, gemm, grouped_gemm
rng = np.random.default_rng(0)
a = jnp.asarray(rng.integers(-3, 4, (256, 512)), jnp.bfloat16)
b = jnp.asarray(rng.integers(-3, 4, (384, 512)), jnp.bfloat16)
w = jnp.asarray(rng.integers(-3, 4, (4, 128, 384)), jnp.bfloat16)
ends = jnp.asarray([10, 100, 100, 256], jnp.int32)

def step(x, y, w, ends):
    hidden = gemm(x, y, out_dtype=jnp.float32)
    hidden = jnp.clip(hidden, -3, 3).astype(jnp.bfloat16)
    return grouped_gemm(hidden, w, ends, out_dtype=jnp.float32) + 1

compiled = jax.jit(step).lower(a, b, w, ends).compile()
text = compiled.as_text()
first = counters()
results = []
for _ in range(20):
    made = compiled(a, b, w, ends)
    made.block_until_ready()
    results.append(np.asarray(made, np.float64))
    del made
last = counters()
h = np.clip(np.asarray(a, np.float64) @ np.asarray(b, np.float64).T, -3, 3)
expected, begin = np.ones((256, 128)), 0
for g, end in enumerate(np.asarray(ends)):
    expected[begin:end] += h[begin:end] @ np.asarray(w[g], np.float64).T
    begin = end
assert all(np.array_equal(one, expected) for one in results)
print(last["launches"] - first["launches"], last["compiled"] - first["compiled"], "command_buffer" in text)
"""
CAPTURE_FLAGS = ("--xla_gpu_enable_command_buffer=+CUSTOM_CALL,+FUSION,+CUBLAS --xla_gpu_graph_min_graph_size=1 "
                 "--xla_dump_to={0} --xla_dump_hlo_as_text")


def test_command_buffers(tmp_path):
    if jax.default_backend() != "gpu":
        pytest.skip("command buffers are of GPUs")
    launches, compiled, _ = run(CAPTURED, XLA_FLAGS="--xla_gpu_enable_command_buffer=").split()
    assert int(launches) == 40, "without command buffers, every execution launches both products"
    launches, compiled, in_module = run(CAPTURED, XLA_FLAGS=CAPTURE_FLAGS.format(tmp_path)).split()
    dumped = [path for path in tmp_path.iterdir() if "jit_step" in path.name and path.suffix == ".txt"]
    buffers = [path.name for path in dumped
               if any(mark in path.read_text() for mark in ("command_buffer", "kCommandBuffer", "CommandBuffer"))]
    print(f"launches of 20 executions: {launches}; command buffer in the module: {in_module}, in dumps: {buffers}")
    assert int(compiled) == 0, "a kernel was compiled while executing"
    assert in_module == "True" or buffers, "XLA made no command buffer"
    assert int(launches) < 40, "the products were launched at every execution, so that they were not in the buffer"
