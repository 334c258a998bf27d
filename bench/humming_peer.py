# SPDX-License-Identifier: Apache-2.0
"""humming as a contender of the benchmarks, for dense products and groups of rows with block scales:

    pip install humming-kernels==0.1.19

It stores B in an order of its own, so that every set of operands gets a repacked copy before the clock starts. Its
tuner, get_heuristics_config(), gives a schedule for a layer and a number of rows without measuring any; with
`--humming search` the fastest of all schedules that it would give for that layer runs instead. Kernels are compiled
before the first run and kept on disk. A contender that cannot run has its reason as an error in the result.

The file is not called humming.py, because the package's own import would find it.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import tempfile
from typing import Any, Callable, Dict, List, Optional

import torch

from loop import Contender, call_seconds

BLOCK = 128  # weights are padded to whole blocks of scales
LOCKS = 2048  # int32 words, zero between launches
KINDS = {"dense": "dense", "contiguous": "grouped_contiguous"}
Tuning = Dict[str, Any]


def version() -> str:
    from importlib import metadata  # pylint: disable=import-outside-toplevel
    try:
        return f"humming-kernels {metadata.version('humming-kernels')}"
    except metadata.PackageNotFoundError:
        return "humming-kernels is not installed"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--humming", nargs="?", const="tuner", choices=("tuner", "search"), default="",
                        help="humming as well, by its tuner's schedule or the fastest of all (bench/humming_peer.py)")


def set_environment() -> None:
    """Keeps caches out of the home directory, and no compiler processes at import; NVRTC where its bindings are."""
    folder = pathlib.Path(tempfile.gettempdir())
    os.environ.setdefault("HUMMING_CACHE_DIR", str(folder / "humming-cache"))
    os.environ.setdefault("HUMMING_TMP_DIR", str(folder / "humming-tmp"))
    os.environ.setdefault("HUMMING_DISABLE_PARALLEL_BUILD", "1")
    if "HUMMING_COMPILER" not in os.environ:
        from humming.utils import nvrtc  # pylint: disable=import-outside-toplevel,import-error
        try:
            nvrtc.get_nvrtc_library_path()
        except Exception:  # pylint: disable=broad-except
            os.environ["HUMMING_COMPILER"] = "nvcc"


@dataclasses.dataclass(frozen=True)
class Layer:
    """A layer of `groups` experts (0: dense) in humming's terms, and the tables of its tuner."""
    kind: str  # of KINDS
    groups: int
    n: int
    k: int

    def config(self) -> Any:
        from humming.config import LayerConfig  # pylint: disable=import-outside-toplevel,import-error
        pad_n, pad_k = -self.n % BLOCK, -self.k % BLOCK
        return LayerConfig(shape_n=self.n + pad_n, shape_k=self.k + pad_k, pad_shape_n=pad_n, pad_shape_k=pad_k,
                           num_experts=self.groups, a_dtype="float8e4m3", b_dtype="float8e4m3", c_dtype="bfloat16",
                           bs_dtype="float32", weight_scale_type="block", weight_scale_group_size=BLOCK,
                           weight_scale_group_size_n=BLOCK, input_scale_group_size=BLOCK)

    def tunings(self, rows: int, search: bool) -> List[Tuning]:
        """What the tuner gives for `rows` rows of A in all, or with `search` for any number of them."""
        from humming.tune import get_heuristics_config  # pylint: disable=import-outside-toplevel,import-error
        found = get_heuristics_config(self.config(), shape_m=None if search else max(1, rows),
                                      gemm_type=KINDS[self.kind], use_m_major_input_scale=True)
        every = [dict(entry[2]) for entry in found] if search else [dict(found)]
        return list({json.dumps(tuning, sort_keys=True): tuning for tuning in every}.values())

    def kernel(self, tuning: Tuning) -> Any:
        """The handle of a compiled kernel."""
        from humming.kernel.humming import HummingKernel  # pylint: disable=import-outside-toplevel,import-error
        compute = {"gemm_type": KINDS[self.kind], "use_m_major_input_scale": True}
        return HummingKernel.prepare_kernels(self.config().to_str(), json.dumps(compute, sort_keys=True),
                                             json.dumps(tuning, sort_keys=True))

    def weights(self, b: torch.Tensor, scale_b: torch.Tensor) -> Dict[str, torch.Tensor]:
        """B (N, K) or (G, N, K) in e4m3 and its scales, repacked."""
        from humming.transform import transform_humming_tensors  # pylint: disable=import-outside-toplevel,import-error
        codes = torch.nn.functional.pad(b.view(torch.uint8), (0, -self.k % BLOCK, 0, -self.n % BLOCK))
        plain = {"weight": codes.contiguous().view(torch.int32), "weight_scale": scale_b.float().contiguous()}
        return dict(transform_humming_tensors(self.config(), plain, already_padded=True))


def describe(tuning: Tuning) -> str:
    """The tile, that of a warp, stages, and the switches that are on."""
    def extents(key: str) -> str:
        return "x".join(map(str, tuning[key]))

    switches = sorted(key for key, value in tuning.items() if value is True)
    return " ".join([extents("block_shape"), "warp=" + extents("warp_shape"), f"stages={tuning.get('num_stages')}",
                     *switches])


@dataclasses.dataclass
class Prepared:
    """A set of operands as humming takes them."""
    a: torch.Tensor
    d: torch.Tensor
    scale_a: torch.Tensor  # (K/128, M padded to 4): rows contiguous
    weights: Dict[str, torch.Tensor]
    starts: Optional[torch.Tensor]  # of groups of rows (G + 1)
    locks: torch.Tensor

    def launcher(self, handle: Any) -> Callable[[], Any]:
        launch = torch.ops.humming.launch_kernel.out
        arguments = (handle, self.a, self.weights["weight"], self.weights["weight_scale"],
                     self.weights.get("weight_scale_2"), self.scale_a, None, None, None, self.d, None, None, None,
                     self.starts, self.locks, 1, max(1, self.a.shape[0]))
        launch(*arguments, True)  # checks the tensors and loads the kernel, which a capture may not do
        return lambda: launch(*arguments, False)


def rows_contiguous(scale_a: torch.Tensor, rows: int) -> torch.Tensor:
    """(K/128, M padded to 4) of the same memory: from that shape, or from (M, K/128) with M contiguous."""
    padded = -(-rows // 4) * 4
    if scale_a.stride() == (1, padded):
        return torch.as_strided(scale_a, (scale_a.shape[1], padded), (padded, 1))
    if scale_a.shape[1] != padded or not scale_a.is_contiguous():
        raise ValueError(f"scales of A: expected rows contiguous and padded to {padded}, got {tuple(scale_a.shape)}")
    return scale_a


def contender(sets: List[Any], counts: Optional[List[int]], search: bool) -> Contender:
    """humming on `sets` of dense_torch.Operands or, with the rows of each group, of grouped_torch.Operands."""
    made = Contender("humming " + ("contiguous block" if counts else "block"), "block", lambda o: None, lambda o: o.d,
                     variant="humming")
    try:
        prepare(made, sets, counts, search)
    except Exception as error:  # pylint: disable=broad-except
        made.error = f"{type(error).__name__}: {error}".splitlines()[0][:400]
    return made


def prepare(made: Contender, sets: List[Any], counts: Optional[List[int]], search: bool) -> None:
    """Fills in `enqueue` and `config`."""
    device = sets[0].a.device
    if device.type != "cuda":
        raise RuntimeError("humming needs a GPU")
    set_environment()
    import humming.ops  # noqa: F401  pylint: disable=import-outside-toplevel,import-error,unused-import
    rows, groups = sets[0].a.shape[0], len(counts or [])
    layer = Layer("contiguous" if counts else "dense", groups, sets[0].b.shape[-2], sets[0].b.shape[-1])
    starts = None
    if counts:
        ends = torch.tensor(counts, dtype=torch.int32).cumsum(0, dtype=torch.int32)
        starts = torch.nn.functional.pad(ends, (1, 0)).to(device)
    prepared = [Prepared(o.a, o.d, rows_contiguous(o.block[0], rows), layer.weights(o.b, o.block[1]), starts,
                         torch.zeros(LOCKS, dtype=torch.int32, device=device)) for o in sets]

    def use(tuning: Tuning) -> None:
        handle = layer.kernel(tuning)
        calls = {id(o): one.launcher(handle) for o, one in zip(sets, prepared)}
        made.config, made.enqueue = f"humming {layer.kind} {describe(tuning)}", lambda o: calls[id(o)]()

    def seconds(tuning: Tuning) -> float:
        use(tuning)
        call_seconds(made, sets)
        return call_seconds(made, sets)

    tunings = layer.tunings(rows, search)
    use(fastest(tunings, seconds) if search else tunings[0])
    made.keep.append(prepared)


def fastest(tunings: List[Tuning], seconds: Callable[[Tuning], float]) -> Tuning:
    """The schedule with the least time; those that cannot run are left out."""
    times = []
    errors = []
    for tuning in tunings:
        try:
            times.append((seconds(tuning), tuning))
        except Exception as error:  # pylint: disable=broad-except
            errors.append(f"{describe(tuning)}: {error}".splitlines()[0])
    if not times:
        raise RuntimeError(f"no schedule of {len(tunings)} ran; the first: {errors[0] if errors else 'none'}")
    return min(times, key=lambda item: item[0])[1]
