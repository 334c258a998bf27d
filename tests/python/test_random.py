# SPDX-License-Identifier: Apache-2.0
"""Random products against FP64, and random arguments, which may be refused but must not crash.

WARPWRIGHT_PYTHON_SEED    seed (default 1); a failure names the number of its case
WARPWRIGHT_PYTHON_CASES   random argument tuples (default 200)"""
import inspect
import os

import ml_dtypes
import numpy as np
import pytest
import warpwright
from exchange import CODES, ExchangeTensor
from support import BF16, E4M3, E5M2, integers, padded, powers, product, same, transposed, wide

SEED = int(os.environ.get("WARPWRIGHT_PYTHON_SEED", "1"))
CASES = int(os.environ.get("WARPWRIGHT_PYTHON_CASES", "200"))
MANY = [1, 2, 3, 8, 17, 64, 65, 130]


def scales(rng, kind, m, n, k):
    blocks = -(-k // 128)
    shapes = {"tensor": ((1,), (1,)), "row-column": ((m,), (n,)), "block": ((m, blocks), (-(-n // 128), blocks)),
              "block-1d": ((m, blocks), (n, blocks))}
    return (None, None) if kind == "none" else tuple(powers(rng, shape) for shape in shapes[kind])


def number(rng, choices):
    return int(rng.choice(choices))


@pytest.mark.parametrize("case", range(24))
def test_dense(case):
    rng = np.random.default_rng([SEED, case])
    dtype = (E4M3, E5M2, BF16)[case % 3]
    fp8 = dtype is not BF16
    m, n, k = number(rng, MANY), 8 * number(rng, [1, 2, 9, 17]), 16 * number(rng, [0, 1, 8, 9, 24])
    kind = str(rng.choice(["none", "tensor", "row-column", "block", "block-1d"] if fp8 and k else ["none", "tensor"]))
    batch = (number(rng, [1, 3]),) if rng.random() < 0.3 else ()
    a, b = integers(rng, (*batch, m, k), dtype), integers(rng, (*(batch if rng.random() < 0.5 else ()), n, k), dtype)
    sa, sb = scales(rng, kind, m, n, k)
    a = padded(a, 16) if rng.random() < 0.3 else a
    out = np.full((*batch, m, n), 9, np.float32)
    out = padded(out, 4) if rng.random() < 0.3 else out
    named = {} if kind == "none" else {"scale": kind, "scale_a": sa, "scale_b": sb}
    warpwright.gemm(a, b, out=out, **named)
    same(out, product(a, b, kind, sa, sb))


@pytest.mark.parametrize("case", range(16))
def test_groups(case):
    rng = np.random.default_rng([SEED, 100 + case])
    dtype = (E4M3, BF16)[case % 2]
    groups, n, k = number(rng, [1, 2, 5, 9]), 8 * number(rng, [1, 3, 17]), 128 * number(rng, [1, 3])
    counts = rng.choice([0, 0, 1, 7, 20, 70], groups)
    rows = int(counts.sum()) + number(rng, [0, 5])
    ends = np.cumsum(counts)
    starts = ends - counts
    ids = np.full(rows, -1)
    for g in range(groups):
        ids[starts[g] : ends[g]] = g
    given = [{"offsets": ends}, {"indptr": np.concatenate([[0], ends])}, {"starts": starts, "counts": counts},
             {"row_ids": ids}][number(rng, range(4))]
    given = {name: np.asarray(array, np.int32) for name, array in given.items()}
    kind = str(rng.choice(["none", "tensor", "row-column", "block"] if dtype is E4M3 else ["none"]))
    a, b = integers(rng, (rows, k), dtype), integers(rng, (groups, n, k), dtype)
    sa, sb = scales(rng, kind, rows, n, k)
    if sb is not None and kind != "tensor":
        sb = powers(rng, (groups, *sb.shape))
        given |= {"scale_a": sa, "scale_b": sb, "scale": kind}
    elif sb is not None:
        given |= {"scale_a": sa, "scale_b": sb}
    zero = bool(rng.random() < 0.5)
    out = np.full((rows, n), 9, np.float32)
    warpwright.grouped_gemm(a, b, out=out, zero_outside=zero, **given)
    want = np.full((rows, n), 0.0 if zero else 9.0)
    for g in range(groups):
        r = slice(starts[g], ends[g])
        one_a, one_b = (sa, sb) if kind in ("none", "tensor") else (sa[r], sb[g])
        want[r] = product(a[r], b[g], kind, one_a, one_b)
    same(out, want)


@pytest.mark.parametrize("case", range(12))
def test_groups_of_k(case):
    rng = np.random.default_rng([SEED, 200 + case])
    groups, m, n = number(rng, [1, 2, 5]), 8 * number(rng, [1, 5, 17]), 8 * number(rng, [1, 3, 17])
    fp8 = case % 3 == 0
    counts = rng.choice([0, 128, 256] if fp8 else [0, 1, 9, 70, 128], groups)
    ends, k = np.cumsum(counts), int(counts.sum())
    dtype = E4M3 if fp8 else BF16
    a, b = integers(rng, (m, k), dtype), integers(rng, (n, k), dtype)
    if not fp8:
        a, b = transposed(a), transposed(b)
    out = np.full((groups, m, n), 3, np.float32)
    adds = bool(rng.random() < 0.5)
    warpwright.k_grouped_gemm(a, b, offsets=np.asarray(ends, np.int32), out=out, accumulate=adds)
    want = np.stack([wide(a)[:, e - c : e] @ wide(b)[:, e - c : e].T for c, e in zip(counts, ends)])
    same(out, want + 3 * adds)


NAMES = ["out", "out_dtype", "a_dtype", "b_dtype", "scale", "scale_type", "scale_a", "scale_b", "global_scale",
         "epilogue", "alpha", "beta", "c", "bias", "row1", "col0", "aux0", "out0", "out_scales", "amax", "config", "sms",
         "pdl", "batch_invariant", "workspace_limit", "device", "stream", "offsets", "indptr", "starts", "counts",
         "row_ids", "masked", "alignment", "zero_outside", "accumulate", "status"]
CASTS = (warpwright.quantize_1x128, warpwright.quantize_128x128, warpwright.transpose_fp8, warpwright.quantize_mx,
         warpwright.quantize_nv, warpwright.swizzle_scales, warpwright.pack_elements)
TEXTS = ["", "none", "tensor", "block", "mx", "nv", "e4m3", "e2m1", "e3m2", "e8m0", "bf16", "emu:sm90", "emu:sm100", "cuda:0", "auto", "acc", "acc + bias", "relu(acc) * 2",
         "store(acc, out0)", "quantise_block(acc)", "quantise_mx(acc)", "quantise_nv(acc)", "swiglu(acc)", "tile=64x64x128", "tile=", "\0", "\ud800", "x" * 5000]
PACKED = [ml_dtypes.float4_e2m1fn, ml_dtypes.float6_e3m2fn, ml_dtypes.float8_e8m0fnu]
DTYPES = [*PACKED, E4M3, E5M2, BF16, np.float16, np.float32, np.float64, np.int32, np.int64, np.uint8, np.bool_]
EXTENTS = [0, 1, 2, 3, 8, 16, 24, 64, 128]


def random_array(rng):
    rank = number(rng, [0, 1, 1, 2, 2, 2, 3, 3, 4, 5])
    shape = tuple(number(rng, EXTENTS if rank < 3 else EXTENTS[:6]) for _ in range(rank))
    array = np.zeros(shape, DTYPES[number(rng, range(len(DTYPES)))])
    change = number(rng, range(8))
    if change == 0:
        array = array.T
    elif change == 1 and rank:
        array = array[..., ::2]
    elif change == 2 and rank:
        array = array[::-1]
    elif change == 3 and rank:
        array = np.broadcast_to(array[:1], array.shape) if array.shape[0] else array
    elif change == 4:
        array.setflags(write=False)
    return array


def random_value(rng, shared):
    kind = number(rng, range(10))
    if kind < 5:
        shared.append(random_array(rng))
        return shared[number(rng, range(len(shared)))]
    if kind == 5:
        return TEXTS[number(rng, range(len(TEXTS)))]
    if kind == 6:
        return [0, 1, -1, 7, 1 << 31, 1 << 63, 1 << 100, 0.5, float("nan"), 1e300][number(rng, range(10))]
    if kind == 7:
        return [None, True, (), [], {}, object(), np, DTYPES[number(rng, range(len(DTYPES)))]][number(rng, range(8))]
    if kind == 8:
        rank = number(rng, range(6))
        extents = [0, 1, 8, 64, 1 << 31, 1 << 40, 1 << 62, -1]
        shape, strides = ([extents[number(rng, range(8))] for _ in range(rank)] for _ in range(2))
        # Extents without elements or an address that is refused: nothing may read it.
        return ExchangeTensor(None, shape, strides, "float8_e4m3fn", (number(rng, [1, 2, 9]), 0))
    return shared[number(rng, range(len(shared)))] if shared else None


def likely_operands(rng, function):
    """Operands that are right, so that what is wrong comes later."""
    if function in CASTS:
        bits = function in (warpwright.transpose_fp8, warpwright.swizzle_scales, warpwright.pack_elements)
        return np.ones((24, 128), E4M3 if bits else BF16), None, {}
    if function is warpwright.gemm and rng.random() < 0.15:  # on emu:sm100
        recipe, name, k = (("mx", "e4m3", 128), ("nv", "e2m1", 64))[number(rng, range(2))]
        given = {"scale": recipe, "scale_a": np.zeros(512, np.uint8), "scale_b": np.zeros(512, np.uint8)}
        if rng.random() < 0.5:  # an output with scales
            given |= {"epilogue": f"quantise_{recipe}(acc)", "out_dtype": name, "out_scales": np.zeros(512, np.uint8)}
        return np.ones((24, k), np.uint8), np.ones((32, k), np.uint8), {**given, "a_dtype": name, "b_dtype": name}
    k = number(rng, [16, 128])
    a, b = np.ones((24, k), E4M3), np.ones((16, k), E4M3)
    if function is warpwright.gemm:
        return a, b, {}
    ends = {"offsets": np.array([8, k], np.int32)}
    return a, np.stack([b, b]) if function is warpwright.grouped_gemm else b, ends


def exchanged(rng, value):
    """The same array as a tensor of the exchange API, by which calls are repeated."""
    known = isinstance(value, np.ndarray) and value.flags.writeable and value.dtype.name in CODES
    return ExchangeTensor(value) if known and rng.random() < 0.9 else value


@pytest.mark.parametrize("part", range(4))
def test_arguments(part):
    refused = 0
    for case in range(part, CASES, 4):
        rng = np.random.default_rng([SEED, 1000 + case])
        functions = (warpwright.gemm, warpwright.grouped_gemm, warpwright.k_grouped_gemm, *CASTS)
        function = functions[case % len(functions)]
        shared = []
        a, b, given = likely_operands(rng, function)
        if rng.random() < 0.4:
            a = random_value(rng, shared)
        if rng.random() < 0.4 and function not in CASTS:
            b = random_value(rng, shared)
        shared += [value for value in (a, b) if isinstance(value, np.ndarray)]
        names = NAMES if function not in CASTS else [name for name in inspect.signature(function).parameters][1:]
        for name in rng.choice(names, min(number(rng, range(6)), len(names)), replace=False):
            given[str(name)] = random_value(rng, shared)
        if rng.random() < 0.4 and isinstance(a, np.ndarray) and isinstance(b, np.ndarray):  # tensors as torch has them
            a, b = exchanged(rng, a), exchanged(rng, b)
            if function is warpwright.gemm and "out" not in given:
                given["out"] = np.zeros((24, 16), np.float32)
            given = {name: exchanged(rng, value) for name, value in given.items()}
        for _ in range(2):  # the second call may be one that is repeated
            try:
                function(*((a,) if function in CASTS else (a, b)), **given)
            except (warpwright.Error, TypeError, ValueError, BufferError, OverflowError):
                refused += 1
            except BaseException as error:
                raise AssertionError(f"case {case} of seed {SEED}") from error
    assert refused > CASES // 10
