# SPDX-License-Identifier: Apache-2.0
"""DeepGEMM as a contender of the benchmarks, from a wheel that fits the installed torch:

    pip install sgl-deep-gemm==0.1.4 apache-tvm-ffi==0.1.11       (DeepGEMM as SGLang ships it; torch 2.11)

Its kernels are compiled by nvcc at the first call, 4 to 5 s each, one after the other: `warm` has many processes do so
at once, into the cache that this process then reads.
"""
import concurrent.futures
import dataclasses
import multiprocessing
from typing import Any, Dict, List, Tuple

import torch

ALIGNMENT = 128  # rows: of each group of the contiguous layout, and of the masked one here


def module() -> Any:
    import deep_gemm  # pylint: disable=import-outside-toplevel,import-error
    return deep_gemm


def version() -> str:
    from importlib import metadata  # pylint: disable=import-outside-toplevel
    for name in ("sgl-deep-gemm", "deep-gemm"):
        try:
            return f"{name} {metadata.version(name)}"
        except metadata.PackageNotFoundError:
            continue
    return "deep_gemm, version unknown"


def dense_block(a: torch.Tensor, b: torch.Tensor, d: torch.Tensor, scale_a: torch.Tensor,
                scale_b: torch.Tensor) -> None:
    """a (M, K), b (N, K), d (M, N), scale_a (M, K/128) with M contiguous and padded to 4, scale_b (N/128, K/128)."""
    module().fp8_gemm_nt((a, scale_a), (b, scale_b), d)


def dense_bf16(a: torch.Tensor, b: torch.Tensor, d: torch.Tensor) -> None:
    module().bf16_gemm_nt(a, b, d)


def contiguous(a: torch.Tensor, b: torch.Tensor, d: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor,
               row_groups: torch.Tensor) -> None:
    """a (M, K) with every group padded to ALIGNMENT rows, row_groups (M) with -1 in the padding."""
    module().m_grouped_fp8_gemm_nt_contiguous((a, scale_a), (b, scale_b), d, row_groups)


def masked(a: torch.Tensor, b: torch.Tensor, d: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor,
           counts: torch.Tensor, expected: int) -> None:
    """a (G, Mmax, K), d (G, Mmax, N), scale_a (G, Mmax, K/128) with Mmax contiguous; counts (G) on the device."""
    module().fp8_m_grouped_gemm_nt_masked((a, scale_a), (b, scale_b), d, counts, expected)


def block_scales(rows: int, k: int, groups: int = 0, device: str = "cuda") -> torch.Tensor:
    """Empty scales of A in the layout that needs no launch of DeepGEMM's to transpose them: rows contiguous."""
    shape = (groups,) if groups else ()
    return torch.empty((*shape, -(-k // 128), -(-rows // 4) * 4), device=device).transpose(-2, -1)[..., :rows, :]


@dataclasses.dataclass
class Padded:
    """The rows of a grouped problem in one of DeepGEMM's layouts."""
    a: torch.Tensor        # (R, K), R = all groups' padded rows
    d: torch.Tensor        # (R, N)
    scale_a: torch.Tensor  # (R, K/128), rows contiguous; masked (G, R/G, K/128)
    where: torch.Tensor    # (M): the place in R of each row


def places(counts: List[int], masked_layout: bool) -> Tuple[torch.Tensor, torch.Tensor]:
    """Where each row goes (M), and the group of each padded row (R), -1 in the padding."""
    most = -(-max(counts) // ALIGNMENT) * ALIGNMENT
    where, groups, at = [], [], 0
    for group, count in enumerate(counts):
        rows = most if masked_layout else -(-count // ALIGNMENT) * ALIGNMENT
        where.append(torch.arange(count) + at)
        groups.append(torch.where(torch.arange(rows) < count, group, -1))
        at += rows
    return torch.cat(where).cuda(), torch.cat(groups).to(torch.int32).cuda()


def padded(a: torch.Tensor, n: int, scale_a: torch.Tensor, counts: List[int], masked_layout: bool) -> Padded:
    """a (M, K), scale_a (K/128, at least M); zeros in the padding."""
    where, groups = places(counts, masked_layout)
    rows, k = groups.numel(), a.shape[1]
    out = torch.zeros((rows, k), dtype=torch.uint8, device="cuda")
    out[where] = a.view(torch.uint8)
    flat = torch.ones((rows, scale_a.shape[0]), device="cuda")
    flat[where] = scale_a.t()[:a.shape[0]]
    layers = len(counts) if masked_layout else 1
    spread = block_scales(rows // layers, k, layers)
    spread.copy_(flat.view(layers, rows // layers, -1))
    d = torch.empty((rows, n), dtype=torch.bfloat16, device="cuda")
    return Padded(out.view(torch.float8_e4m3fn), d, spread if masked_layout else spread[0], where)


def _compile(job: Tuple[str, int, int, int, int, int]) -> str:
    kind, groups, rows, n, k, expected = job
    e4m3 = {"dtype": torch.float8_e4m3fn, "device": "cuda"}
    bf16 = {"dtype": torch.bfloat16, "device": "cuda"}
    try:
        scale_b = torch.ones((*((groups,) if groups else ()), -(-n // 128), -(-k // 128)), device="cuda")
        if kind == "bf16":
            dense_bf16(torch.zeros((rows, k), **bf16), torch.zeros((n, k), **bf16), torch.empty((rows, n), **bf16))
        elif kind == "block":
            dense_block(torch.zeros((rows, k), **e4m3), torch.zeros((n, k), **e4m3), torch.empty((rows, n), **bf16),
                        block_scales(rows, k), scale_b)
        elif kind == "contiguous":
            contiguous(torch.zeros((rows, k), **e4m3), torch.zeros((groups, n, k), **e4m3),
                       torch.empty((rows, n), **bf16), block_scales(rows, k), scale_b,
                       torch.zeros(rows, dtype=torch.int32, device="cuda"))
        else:
            masked(torch.zeros((groups, rows, k), **e4m3), torch.zeros((groups, n, k), **e4m3),
                   torch.empty((groups, rows, n), **bf16), block_scales(rows, k, groups), scale_b,
                   torch.zeros(groups, dtype=torch.int32, device="cuda"), expected)
        torch.cuda.synchronize()
        return ""
    except Exception as error:  # pylint: disable=broad-except
        return f"{job}: {type(error).__name__}: {error}".splitlines()[0]


def prepare(record: Dict[str, Any], jobs: List[Tuple[str, int, int, int, int, int]], processes: int) -> None:
    """warm(), its errors printed, and the version into `record`."""
    record["deepgemm"] = version()
    for error in warm(jobs, processes):
        print(error, flush=True)


def warm(jobs: List[Tuple[str, int, int, int, int, int]], processes: int) -> List[str]:
    """Compiles for each (kind, groups, rows, n, k, expected rows a group), kinds block, bf16, contiguous, masked; what
    went wrong."""
    context = multiprocessing.get_context("spawn")  # a forked process may not use CUDA
    with concurrent.futures.ProcessPoolExecutor(min(processes, max(1, len(jobs))), mp_context=context) as pool:
        return [error for error in pool.map(_compile, jobs) if error]
