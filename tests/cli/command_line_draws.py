# SPDX-License-Identifier: Apache-2.0
"""Draws whole command lines of `gemm`, `grouped` and `k-grouped`. A line is a kernel, which a compiler may have to make,
and a problem for it; a run has few kernels and many problems. Names of flags that are long are in NAMES."""
import random
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

import operand_files

NAMES = {
    "tile-scheduler": "--tile-scheduler",
    "variant": "--variant",
    "partial-accumulators": "--partial-accumulators",
}
GENERATED: Optional[str] = "generated"  # the word that asks for generated values beside given operands

FP8 = ("e4m3", "e5m2")
UNARY = ["relu", "relu2", "gelu", "gelu_erf", "quick_gelu", "silu", "sigmoid", "tanh", "exp"]
BINARY = ["+", "+", "-", "*", "*", "/"]
OF_TWO = ["max", "min", "softcap"]
REDUCTIONS = ["row_sum", "row_amax", "column_sum", "column_amax"]
M_SIZES = [1, 1, 1, 2, 3, 7, 8, 15, 16, 17, 33, 63, 64, 65, 77, 100, 127, 128, 129, 130, 193, 200, 257]
N_SIZES = [8, 16, 24, 40, 64, 72, 120, 128, 136, 192, 200, 256, 264, 320]
K_SIZES = [1, 3, 8, 15, 16, 31, 32, 64, 100, 127, 128, 129, 200, 256, 272, 384, 513, 640]
COUNTS = [0, 0, 0, 1, 1, 2, 5, 8, 16, 17, 33, 40, 64, 70, 100, 128, 130]
# What --emu-schedule, --math and --threads may say: of the emulated device alone.
EMULATOR = {"--emu-schedule": ["fifo", "random", "pct", "adversarial"], "--math": ["exact", "exact", "fp32"]}


class Kernel(NamedTuple):
    """Flags that decide which kernel runs, and what a problem must know of it."""
    operation: str
    flags: Dict[str, Any]
    traits: Dict[str, Any]


class Line(NamedTuple):
    operation: str
    flags: Dict[str, Any]  # True: a flag without a value
    files: Dict[str, Dict[str, Any]]
    kernel: Tuple[str, ...] = ()  # flags that a config text says instead


def one_in(rng: random.Random, count: int) -> bool:
    return rng.randrange(count) == 0


def pick(rng: random.Random, **weights: int) -> str:
    """A name by weight; underscores stand for hyphens."""
    return rng.choices([name.strip("_").replace("_", "-") for name in weights], list(weights.values()))[0]


# --- epilogues ---------------------------------------------------------------------------------------------------------
class Epilogue:
    """A random expression, and which operands it reads."""

    def __init__(self, rng: random.Random, allowed: Sequence[str]) -> None:
        self.rng, self.allowed = rng, allowed
        self.operands: Dict[str, str] = {}  # c, bias, col0, aux0: the type in memory
        self.scalars: List[str] = []
        self.outputs = 0
        text = self.element(rng.randrange(1, 4))
        self.columns = 1  # of the product for one of D
        self.quantised = False
        if "swiglu" in allowed and one_in(rng, 8):
            text, self.columns = f"swiglu({text})", 2
        if "quantise" in allowed and one_in(rng, 8):
            text, self.quantised = f"quantise({text})", True
        elif "quantise_block" in allowed and one_in(rng, 8):
            text, self.quantised = f"{rng.choice(['quantise_block', 'quantise_block_pow2'])}({text})", True
        self.text = text

    def leaf(self) -> str:
        name = self.rng.choice(["alpha", "beta", "c", "bias", "col0", "aux0", "number", "number"])
        if name == "number":
            return self.rng.choice(["0.5", "2", "-1.25", "1e-3", "3"])
        if name in ("alpha", "beta"):
            self.scalars.append(name)
            return name
        if name == "col0":
            self.operands[name] = "f32"
            return name
        dtype = self.operands.setdefault(name, self.rng.choice(["bf16", "f16", "f32"]))
        return f"{name}:{dtype}"

    def element(self, depth: int) -> str:
        if depth == 0:
            return "acc"
        inner = self.element(depth - 1)
        kind = self.rng.randrange(8)
        if kind < 2:
            return f"({inner}{self.rng.choice(BINARY)}{self.leaf()})"
        if kind == 2:
            return f"{self.rng.choice(OF_TWO)}({inner},{self.leaf()})"
        if kind < 5:
            return f"{self.rng.choice(UNARY)}({inner})"
        if kind == 5:
            return self.rng.choice([f"clamp({inner},-3,{self.rng.choice(['4', '0.5'])})", f"(-{inner})",
                                    f"convert({inner},{self.rng.choice(['bf16', 'f16', 'e4m3'])})"])
        if kind == 6 and "reductions" in self.allowed and self.outputs < 2:
            self.outputs += 1
            return f"{self.rng.choice(REDUCTIONS)}({inner},out{self.outputs - 1})"
        return f"fma({inner},{self.leaf()},{self.leaf()})"

    def scalar_flags(self, rng: random.Random) -> Dict[str, Any]:
        return {f"--{name}": f"{rng.uniform(-2, 2):.3g}" for name in set(self.scalars) if one_in(rng, 2)}


# --- kernels of dense products -----------------------------------------------------------------------------------------
def dense_types(rng: random.Random, flags: Dict[str, Any], traits: Dict[str, Any]) -> None:
    dtype = pick(rng, e4m3=30, e5m2=10, bf16=25, f16=20, tf32=15)
    flags["--dtype"], traits["a"], traits["b"] = dtype, dtype, dtype
    if dtype in FP8 and one_in(rng, 3):
        traits["b"] = flags["--b-dtype"] = rng.choice(FP8)
    flags["--out-dtype"] = traits["d"] = rng.choice(["bf16", "f16", "f32"])
    scale = pick(rng, none=3, tensor=2, row_column=3, block=4, block_1d=2) if dtype in FP8 else pick(
        rng, none=5, tensor=2, row_column=3)
    flags["--scale"] = traits["scale"] = scale
    traits["layout"] = "nt" if dtype in FP8 else rng.choice(["nt", "nt", "nn", "tn", "tt"])
    flags["--layout"] = traits["layout"]


def dense_tile(rng: random.Random, flags: Dict[str, Any], traits: Dict[str, Any]) -> None:
    narrow = "block" in traits["scale"] or traits["d"] == "f32"
    tile_m = rng.choice([64, 64, 128, 128, 192, 256])
    widths = [16, 32, 64, 96, 128] + ([] if narrow or tile_m > 128 else [192, 256])
    tile_n = rng.choice(widths)
    cluster_m, cluster_n = rng.choice([(1, 1), (1, 1), (1, 1), (2, 1), (1, 2), (2, 2), (4, 1)])
    per_row = {"bf16": 64, "f16": 64, "tf32": 32}.get(traits["a"], 0)
    if traits["layout"][0] == "t" and tile_m // cluster_n % per_row:
        cluster_n = 1
    if traits["layout"][1] == "n" and (tile_n // cluster_m % per_row or tile_n < per_row):
        tile_n, cluster_m = max(64, tile_n // 64 * 64), 1
    if tile_n % (8 * cluster_m):
        cluster_m = 1
    flags["--tile"], flags["--cluster"] = f"{tile_m}x{tile_n}", f"{cluster_m}x{cluster_n}"
    traits.update(tile=(tile_m, tile_n), cluster=cluster_m * cluster_n)
    if one_in(rng, 3):
        flags["--stages"] = str(rng.choice([2, 3, 4]))


def dense_schedule(rng: random.Random, flags: Dict[str, Any], traits: Dict[str, Any]) -> None:
    tile_m = traits["tile"][0]
    schedule = pick(rng, auto=5, cooperative=2, pingpong=2, multistage=2)
    if schedule == "pingpong" and tile_m > 128 or schedule == "multistage" and "n" == traits["layout"][1]:
        schedule = "auto"
    roles = schedule != "multistage"
    flags["--schedule"] = schedule
    plain = schedule in ("pingpong", "multistage")
    scheduler = pick(rng, auto=2, single=1, static=2) if plain else pick(
        rng, auto=2, single=1, static=2, dynamic=3, stream_k=3, split_k=3)
    if one_in(rng, 6):
        flags["--batch-invariant"] = True
        scheduler = "static" if scheduler in ("stream-k", "split-k") else scheduler
    flags[NAMES["tile-scheduler"]] = traits["scheduler"] = scheduler
    if scheduler == "split-k":
        flags["--split"] = str(rng.choice([2, 2, 3, 4]))
        traits["cluster"] *= 4
    if "block" in traits["scale"] and one_in(rng, 3):
        wide = schedule in ("multistage",) or tile_m > 64
        flags[NAMES["partial-accumulators"]] = "1" if wide else rng.choice(["1", "2"])
    if roles and traits["a"] not in FP8 and one_in(rng, 8) and tile_m <= 128 and traits["tile"][1] <= 128:
        flags["--a-source"] = rng.choice(["registers", "shared"]) if traits["layout"][0] == "n" else "registers"
    traits["roles"] = roles


def dense_outputs(rng: random.Random, flags: Dict[str, Any], traits: Dict[str, Any]) -> None:
    swap = pick(rng, auto=6, on=2, off=2)
    traits["batch"] = rng.choice([1, 1, 1, 2, 3, 5])
    if traits["batch"] > 1 and traits["roles"] and swap != "on" and one_in(rng, 3):
        flags["--pointer-array"] = True
    if swap != "auto":
        flags["--swap-ab"] = swap
    if one_in(rng, 6):
        flags["--d-layout"] = "column"
    traits["swap"] = swap == "on"
    if one_in(rng, 2):
        allowed = [] if traits["scheduler"] == "single" else ["reductions"]
        if swap != "on":
            allowed += ["swiglu"] + (["quantise"] if "--d-layout" not in flags else [])
            if traits["tile"][1] == 128 and "--d-layout" not in flags:
                allowed.append("quantise_block")
        if traits["scheduler"] == "single" and "quantise" in allowed:
            allowed.remove("quantise")
        traits["epilogue"] = epilogue = Epilogue(rng, allowed)
        flags["--epilogue"] = epilogue.text
        if epilogue.quantised:
            traits["d"] = flags["--out-dtype"] = rng.choice(["e4m3", "e5m2"])
            if traits["d"] == "e4m3":
                del flags["--out-dtype"]
        plain = epilogue.columns == 1 and not epilogue.quantised and swap != "on"
        if epilogue.operands and plain and one_in(rng, 5):
            flags["--c-layout"] = "column"
    if one_in(rng, 10):
        traits["k"] = rng.choice([64, 100, 128, 256, 300])
        flags["--fixed-k"] = str(traits["k"])
    if one_in(rng, 10) and swap != "on":
        traits["n"] = rng.choice([64, 128, 136, 256])
        flags["--fixed-n"] = str(traits["n"])


def draw_dense_kernel(rng: random.Random) -> Kernel:
    flags: Dict[str, Any] = {}
    traits: Dict[str, Any] = {}
    for part in (dense_types, dense_tile, dense_schedule, dense_outputs):
        part(rng, flags, traits)
    if one_in(rng, 8):
        flags["--config"] = rng.choice(["raster=1", "raster=3", "raster=2,band=n"])
    return Kernel("gemm", flags, traits)


def draw_shipped_dense(rng: random.Random) -> Kernel:
    dtype = rng.choice(["e4m3", "bf16", "f16"])
    scale = rng.choice(["none", "tensor", "block"] if dtype == "e4m3" else ["none", "tensor"])
    d = rng.choice(["bf16", "f16", "f32"])
    return Kernel("gemm", {"--dtype": dtype, "--scale": scale, "--out-dtype": d},
                  {"a": dtype, "b": dtype, "d": d, "scale": scale, "layout": "nt", "batch": 1, "cluster": 2})


# --- kernels of groups -------------------------------------------------------------------------------------------------
def draw_grouped_kernel(rng: random.Random) -> Kernel:
    dtype = pick(rng, e4m3=5, bf16=3, f16=2)
    scale = pick(rng, none=2, tensor=2, row_column=2, block=4) if dtype == "e4m3" else pick(
        rng, none=4, tensor=2, row_column=3)
    variant = rng.choice(["contiguous", "masked", "descriptors", "ragged", "ragged"])
    d = rng.choice(["bf16", "f16", "f32"])
    flags: Dict[str, Any] = {"--dtype": dtype, "--scale": scale, "--out-dtype": d, NAMES["variant"]: variant}
    traits: Dict[str, Any] = {"a": dtype, "b": dtype, "d": d, "scale": scale, "variant": variant, "cluster": 2}
    by_n = dtype != "e4m3" and one_in(rng, 3)
    if by_n:
        traits["layout"] = flags["--layout"] = "nn"
    if variant == "ragged":
        scheduler = pick(rng, auto=2, static=2, dynamic=2, split_k=2)
        if scheduler == "split-k" and one_in(rng, 2):
            flags["--split"] = rng.choice(["2", "4"])
            traits["cluster"] = 4
        if scheduler in ("auto", "static") and one_in(rng, 3):
            flags["--config"] = f"occupancy={rng.choice([2, 3])}"
    elif variant == "descriptors":
        scheduler = pick(rng, horizontal=1, vertical=1)
        flags["--tile"] = f"{rng.choice([8, 16, 32, 64])}x128"
    else:
        scheduler = pick(rng, auto=1, static=1)
        if one_in(rng, 2):
            flags["--tile"], flags["--cluster"] = rng.choice(["64x64", "128x128", "128x64"]), rng.choice(["1x1", "2x1"])
            if by_n and flags["--tile"].endswith("x64"):  # each CTA that shares B loads 64 columns of it
                flags["--cluster"] = "1x1"
    flags[NAMES["tile-scheduler"]] = scheduler
    if scheduler != "split-k" and one_in(rng, 6):
        flags["--batch-invariant"] = True
    if one_in(rng, 2):
        rows = variant in ("contiguous", "masked")
        allowed = ["swiglu", "quantise"] if rows else []
        if rows and flags.get("--tile", "").endswith("x128"):
            allowed.append("quantise_block")
        traits["epilogue"] = epilogue = Epilogue(rng, allowed)
        flags["--epilogue"] = epilogue.text
        if epilogue.quantised:
            traits["d"] = flags["--out-dtype"] = rng.choice(["e4m3", "e5m2"])
            if traits["d"] == "e4m3":
                del flags["--out-dtype"]
    return Kernel("grouped", flags, traits)


def draw_shipped_grouped(rng: random.Random) -> Kernel:
    dtype, scale = rng.choice([("e4m3", "block"), ("e4m3", "tensor"), ("bf16", "none")])
    return Kernel("grouped", {"--dtype": dtype, "--scale": scale},
                  {"a": dtype, "b": dtype, "d": "bf16", "scale": scale, "variant": "auto", "cluster": 2})


def draw_k_grouped_kernel(rng: random.Random) -> Kernel:
    dtype = pick(rng, bf16=4, f16=3, e4m3=3, tf32=2)
    flags: Dict[str, Any] = {"--dtype": dtype, "--out-dtype": rng.choice(["f32", "f32", "bf16", "f16"])}
    traits: Dict[str, Any] = {"a": dtype, "b": dtype, "d": flags["--out-dtype"]}
    scale = pick(rng, block_1d=4, none=1, tensor=1, row_column=2) if dtype == "e4m3" else pick(
        rng, none=4, tensor=1, row_column=2)
    flags["--scale"] = traits["scale"] = scale
    sixteen = dtype in ("bf16", "f16")
    traits["layout"] = flags["--layout"] = rng.choice(["tn", "tn", "nt", "nn", "tt"]) if sixteen else "nt"
    tile_n = rng.choice([64, 128])
    flags["--tile"] = f"{rng.choice([64, 128])}x{tile_n}"
    flags["--cluster"] = rng.choice(["1x1", "1x1", "2x1"] if tile_n == 128 else ["1x1"])
    flags[NAMES["tile-scheduler"]] = pick(rng, auto=1, static=1, longest_k=2)
    traits["cluster"] = 2
    if one_in(rng, 2):
        flags["--accumulate"] = True
    if one_in(rng, 3):
        flags["--packing"] = "per-group"
    return Kernel("k-grouped", flags, traits)


def draw_kernel(rng: random.Random) -> Kernel:
    """One that no shipped module covers."""
    kind = rng.randrange(10)
    return draw_dense_kernel(rng) if kind < 6 else draw_grouped_kernel(rng) if kind < 9 else draw_k_grouped_kernel(rng)


def draw_shipped(rng: random.Random) -> Kernel:
    return draw_shipped_dense(rng) if rng.randrange(5) < 3 else draw_shipped_grouped(rng)


# --- problems ----------------------------------------------------------------------------------------------------------
def blocks(size: int) -> int:
    return -(-size // 128)


def give(rng: random.Random, files: Dict[str, Any], flags: Dict[str, Any], flag: str, dtype: str,
         shape: Sequence[int], positive: bool = False) -> None:
    """A file for an operand or, where a word asks for that, generated values."""
    if GENERATED and one_in(rng, 4):
        flags[flag] = GENERATED
    else:
        files[flag] = operand_files.draw(rng, dtype, shape, positive=positive)


def common(rng: random.Random, kernel: Kernel, portable: bool) -> Dict[str, Any]:
    """Where and how a line runs. `portable`: on every device with the same bits."""
    flags: Dict[str, Any] = {"--seed": str(rng.randrange(1000))}
    cluster = kernel.traits["cluster"]
    if portable:
        flags["--sms"] = str(max(4, cluster))
    elif one_in(rng, 3):
        flags["--sms"] = str(rng.choice([max(2, cluster), max(4, cluster), 8]))
    for flag, words in EMULATOR.items():
        if not portable and one_in(rng, 3):
            flags[flag] = rng.choice(words)
    return flags


def file_type(dtype: str) -> str:
    return "f32" if dtype == "tf32" else dtype


def draw_dense(rng: random.Random, kernel: Kernel, portable: bool) -> Line:
    t = kernel.traits
    flags = dict(kernel.flags)
    m, n = rng.choice(M_SIZES), t.get("n", rng.choice(N_SIZES))
    k = t.get("k", 0 if one_in(rng, 25) else rng.choice(K_SIZES))
    epilogue = t.get("epilogue")
    rarely = 10 if epilogue and (epilogue.outputs or epilogue.quantised) else 40  # reductions of nothing are 0
    if one_in(rng, rarely):
        m = 0
    elif "n" not in t and one_in(rng, rarely):
        n = 0
    wide = 16 * (epilogue.columns if epilogue else 1) if t["d"] == "e4m3" else 8 * (epilogue.columns if epilogue else 1)
    n = -(-n // wide) * wide if "n" not in t else n
    if flags.get("--d-layout") == "column":
        m = -(-m // 8) * 8
    batch = t["batch"]
    flags.update({"--m": str(m), "--n": str(n), "--k": str(k)})
    if batch > 1:
        flags["--batch"] = str(batch)
    flags.update(common(rng, kernel, portable))
    files: Dict[str, Any] = {}
    if epilogue:
        flags.update(epilogue.scalar_flags(rng))
    if one_in(rng, 4):
        own = lambda: [batch] if batch > 1 and not one_in(rng, 3) else []
        a_t, b_n = t["layout"][0] == "t", t["layout"][1] == "n"
        give(rng, files, flags, "--a", file_type(t["a"]), own() + ([k, m] if a_t else [m, k]))
        give(rng, files, flags, "--b", file_type(t["b"]), own() + ([k, n] if b_n else [n, k]))
        give_scales(rng, files, flags, t["scale"], own, (m, n, k))
        if epilogue:
            give_epilogue(rng, files, flags, epilogue, {"c": own() + [m, n], "aux0": own() + [m, n], "bias": own() + [n], "col0": own() + [m]})
    return Line("gemm", flags, files, tuple(kernel.flags))


def give_scales(rng: random.Random, files: Dict[str, Any], flags: Dict[str, Any], scale: str,
                own: Callable[[], List[int]], sizes: Tuple[int, int, int]) -> None:
    m, n, k = sizes
    shapes = {"none": None, "tensor": ([1], [1]), "row-column": (own() + [m], own() + [n]),
              "block": (own() + [m, blocks(k)], own() + [blocks(n), blocks(k)]),
              "block-1d": (own() + [m, blocks(k)], own() + [n, blocks(k)])}[scale]
    if shapes:
        give(rng, files, flags, "--scale-a", "f32", shapes[0], True)
        give(rng, files, flags, "--scale-b", "f32", shapes[1], True)


def give_epilogue(rng: random.Random, files: Dict[str, Any], flags: Dict[str, Any], epilogue: Epilogue,
                  shapes: Dict[str, List[int]]) -> None:
    for name, dtype in epilogue.operands.items():
        give(rng, files, flags, f"--{name}", dtype, shapes[name])


def arrays(encoding: str, counts: Sequence[int], align: int, gap: int, rows: int) -> Tuple[Dict[str, List[int]], int]:
    """What tells the device about the groups, by flag, and the rows that there are at least."""
    starts: List[int] = []
    end = 0
    for count in counts:
        start = -(-end // align) * align
        starts.append(start)
        if count > 0 or encoding != "offsets":
            end = start + count + gap
    needed = max(end - gap, 0)
    if encoding == "masked":
        return {"--masked": list(counts)}, max([1, *counts])
    if encoding == "starts-counts":
        return {"--starts": starts, "--counts": list(counts)}, needed
    if encoding == "row-ids":
        ids = [-1] * max(rows, needed)
        for group, (start, count) in enumerate(zip(starts, counts)):
            ids[start:start + count] = [group] * count
        return {"--row-ids": ids}, needed
    ends, last = [], 0
    for start, count in zip(starts, counts):
        last = start + count if count else last
        ends.append(last)
    return {"--offsets": ends} if encoding == "offsets" else {"--indptr": [0, *ends]}, needed


def draw_groups(rng: random.Random, flags: Dict[str, Any], encoding: str, list_flag: str,
                counts: List[int]) -> Tuple[int, int]:
    """--encoding, --align, --gap and the list, unless the groups are distributed; align and gap."""
    align = rng.choice([1, 1, 1, 8, 16, 128]) if encoding not in ("indptr", "masked") else 1
    gap = rng.choice([0, 0, 1, 5]) if encoding in ("starts-counts", "row-ids") else 0
    flags["--encoding"] = encoding
    flags[list_flag] = ",".join(map(str, counts))
    if align > 1:
        flags["--align"] = str(align)
    if gap:
        flags["--gap"] = str(gap)
    return align, gap


def draw_grouped(rng: random.Random, kernel: Kernel, portable: bool) -> Line:
    t = kernel.traits
    flags = dict(kernel.flags)
    epilogue = t.get("epilogue")
    columns = epilogue.columns if epilogue else 1
    wide = (16 if t["d"] == "e4m3" else 8) * columns
    n = -(-rng.choice(N_SIZES) // wide) * wide
    k = 0 if one_in(rng, 25) else rng.choice(K_SIZES)
    encodings = ["offsets", "indptr", "starts-counts", "row-ids"]
    encodings = {"masked": ["masked"], "contiguous": encodings}.get(t["variant"], encodings + ["masked"])
    encoding = rng.choice(encodings)
    counts = [rng.choice(COUNTS) for _ in range(rng.choice([1, 2, 3, 4, 7, 9]))]
    if epilogue:
        flags.update(epilogue.scalar_flags(rng))
    flags.update({"--n": str(n), "--k": str(k)})
    flags.update(common(rng, kernel, portable))
    if one_in(rng, 4):
        flags["--zero-outside"] = True
    if one_in(rng, 4):
        flags["--expected-sizes"] = True
    files: Dict[str, Any] = {}
    if one_in(rng, 6):
        flags.update({"--encoding": encoding, "--distribution": rng.choice(["uniform", "zipf", "onehot", "half-empty"]),
                      "--total": str(rng.choice([0, 1, 17, 100, 300])), "--groups": str(len(counts))})
        return Line("grouped", flags, files, tuple(kernel.flags))
    align, gap = draw_groups(rng, flags, encoding, "--rows", counts)
    said, rows = arrays(encoding, counts, align, gap, 0)
    if one_in(rng, 3):
        rows += rng.choice([1, 7, 64])
        flags["--m"] = str(rows)
    if one_in(rng, 4):
        groups = len(counts)
        of_rows = [groups, rows] if encoding == "masked" else [rows]
        give(rng, files, flags, "--a", t["a"], of_rows + [k])
        give(rng, files, flags, "--b", t["b"], [groups, k, n] if t.get("layout") == "nn" else [groups, n, k])
        shapes = {"none": None, "tensor": ([groups], [1]), "row-column": (of_rows, [groups, n]),
                  "block": (of_rows + [blocks(k)], [groups, blocks(n), blocks(k)])}[t["scale"]]
        if shapes:
            give(rng, files, flags, "--scale-a", "f32", shapes[0], True)
            give(rng, files, flags, "--scale-b", "f32", shapes[1], True)
        if epilogue:
            give_epilogue(rng, files, flags, epilogue,
                          {"c": of_rows + [n], "aux0": of_rows + [n], "bias": rng.choice([[n], [groups, n]]),
                           "col0": of_rows})
    if one_in(rng, 5):
        give_arrays(flags, files, arrays(encoding, counts, align, gap, rows)[0], len(counts), rows, align)
    return Line("grouped", flags, files, tuple(kernel.flags))


def give_arrays(flags: Dict[str, Any], files: Dict[str, Any], said: Dict[str, List[int]], groups: int, rows: int,
                align: int) -> None:
    """The groups from files instead of a list."""
    for flag in ("--rows", "--gap", "--align"):
        flags.pop(flag, None)
    flags.update({"--groups": str(groups), "--m": str(rows)})
    if "--offsets" in said and align > 1:
        flags["--align"] = str(align)
    for flag, numbers in said.items():
        files[flag] = {"form": "npy", "dtype": "i32", "shape": [len(numbers)], "descr": "<i4", "fortran": False,
                       "seed": 0, "positive": False, "integers": numbers}


def draw_k_grouped(rng: random.Random, kernel: Kernel, portable: bool) -> Line:
    t = kernel.traits
    flags = dict(kernel.flags)
    tails = t["layout"] == "tn"
    counts = [rng.choice(COUNTS) if tails else 128 * rng.choice([0, 0, 1, 1, 2, 3])
              for _ in range(rng.choice([1, 2, 3, 5]))]
    encoding = rng.choice(["offsets", "indptr", "starts-counts", "row-ids", "masked"])
    m = 0 if one_in(rng, 40) else rng.choice(M_SIZES)
    flags.update({"--m": str(m), "--n": str(rng.choice(N_SIZES))})
    flags.update(common(rng, kernel, portable))
    if one_in(rng, 6):
        flags.update({"--encoding": encoding, "--distribution": rng.choice(["uniform", "zipf", "onehot", "half-empty"]),
                      "--total": str(rng.choice([0, 128, 300 if tails else 384, 512])), "--groups": str(len(counts))})
        return Line("k-grouped", flags, {}, tuple(kernel.flags))
    align, gap = draw_groups(rng, flags, encoding, "--ks", counts)
    if not tails:
        flags.pop("--gap", None)
        flags.pop("--align", None)
        align, gap = 1, 0
    files: Dict[str, Any] = {}
    if one_in(rng, 3):
        give_k_grouped(rng, kernel, flags, files, encoding, counts, arrays(encoding, counts, align, gap, 0)[1])
    return Line("k-grouped", flags, files, tuple(kernel.flags))


def give_k_grouped(rng: random.Random, kernel: Kernel, flags: Dict[str, Any], files: Dict[str, Any], encoding: str,
                   counts: Sequence[int], rows: int) -> None:
    """Operands of groups of K: K is that of all groups."""
    t, groups = kernel.traits, len(counts)
    m, n = int(flags["--m"]), int(flags["--n"])
    if encoding == "masked":
        rows = groups * (rows if t["layout"] == "tn" else 128 * max(1, blocks(rows)))
    packed = flags.get("--packing") == "per-group"
    for flag, size, by_k in (("--a", m, t["layout"][0] == "t"), ("--b", n, t["layout"][1] == "n")):
        shape = [rows, size] if by_k else [size * rows] if packed else [size, rows]
        give(rng, files, flags, flag, file_type(t[flag[2:]]), shape)
    shapes = {"none": None, "tensor": ([groups], [groups]), "row-column": ([groups, m], [groups, n]),
              "block-1d": ([m, blocks(rows)], [n, blocks(rows)])}[t["scale"]]
    if shapes:
        give(rng, files, flags, "--scale-a", "f32", shapes[0], True)
        give(rng, files, flags, "--scale-b", "f32", shapes[1], True)
    if "--accumulate" in flags:
        give(rng, files, flags, "--c", t["d"], [groups, m, n])


def draw_line(rng: random.Random, kernel: Kernel, portable: bool = False) -> Line:
    draw = {"gemm": draw_dense, "grouped": draw_grouped, "k-grouped": draw_k_grouped}[kernel.operation]
    return draw(rng, kernel, portable)


# --- lines that are mostly wrong ---------------------------------------------------------------------------------------
ODD_VALUES = ["", "-1", "0", "abc", "1.5", "99999999999999999999", "nan", "0x10", "64x", "x", ",", "\x1b[31m", "\u00e9",
              "1,", "auto", "none", "on", "\x7f", "--"]


def spoil(rng: random.Random, line: Line) -> Line:
    """Changes one thing, which most of the time makes the line one to refuse."""
    flags, files = dict(line.flags), dict(line.files)
    kind = rng.randrange(8)
    if kind < 3:
        flags[rng.choice(sorted(flags))] = rng.choice(ODD_VALUES)
    elif kind == 3:
        flags[rng.choice(["--n", "--m", "--k", "--stages", "--split", "--sms", "--batch"])] = rng.choice(
            ["3", "7", "0", "-5", "17"])
    elif kind == 4:
        flags["--config"] = rng.choice(["tile=64x64", "stages=1", "stages=99", "nothing=1", "tile", "=", "cluster=3x1",
                                        "a=e9m9", "arch=sm80", "epilogue=acc+", "raster=-1", "tile=65x64x128"])
    elif kind == 5:
        flags[rng.choice(["--a", "--b", "--scale-a", "--bias", "--c", "--offsets"])] = rng.choice(
            ["missing.npy", ".", "/dev/null", "missing.safetensors:x"])
    elif kind == 6:
        flags["--epilogue"] = rng.choice(["acc+", "acc)", "silu(", "bias7", "1/0", "quantise(acc)+1", "out0", "acc*1e99",
                                          "store(acc,out9)", "swiglu(swiglu(acc))"])
    elif files:
        flag = rng.choice(sorted(files))
        shape = list(files[flag]["shape"])
        if shape and files[flag]["integers"] is None:
            at = rng.randrange(len(shape))
            shape[at] = max(0, shape[at] + rng.choice([-1, 1, 8]))
            files[flag] = {**files[flag], "shape": shape}
    else:
        flags[rng.choice(["--no-such-flag", "--dtype", "--scale", "--layout", "--encoding"])] = "e5m2"
    return Line(line.operation, flags, files, line.kernel)
