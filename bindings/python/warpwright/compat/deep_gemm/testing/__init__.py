# SPDX-License-Identifier: Apache-2.0
"""deep_gemm.testing: what callers' tests and benchmarks import from there."""
from . import bench, numeric, utils
from .bench import bench_kineto
from .numeric import calc_diff, count_bytes
from .utils import get_arch_major, ignore_env, test_filter
