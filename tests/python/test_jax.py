# SPDX-License-Identifier: Apache-2.0
"""warpwright.jax: products under jit, on the emulated device here and on a GPU where JAX has one."""
import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

import warpwright  # noqa: E402
from support import E4M3, expand, integers, powers, wide  # noqa: E402
from warpwright.jax import gemm, grouped_gemm  # noqa: E402

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
    ({"scale": "mx"}, "scale"),
])
def test_errors_name_the_argument(given, argument):
    operands = {"a": np.zeros((16, 64), BF16), "b": np.zeros((24, 64), BF16), **given}
    with pytest.raises(warpwright.InvalidError) as caught:
        jax.jit(lambda: gemm(**operands))()
    assert caught.value.argument == argument and caught.value.expected and caught.value.actual


def test_problems_without_a_kernel_are_refused_while_tracing():
    with pytest.raises(warpwright.UnsupportedError):
        jax.jit(lambda x: gemm(x, x.T, transpose_b=True))(np.zeros((16, 64), E4M3))
