# SPDX-License-Identifier: Apache-2.0
"""Array files for command lines: .npy and .safetensors with finite values that follow from a seed alone, so that a line
written down on one machine finds the same bytes on another. Needs nothing but Python."""
import json
import math
import pathlib
import random
import struct
from typing import Any, Dict, Sequence

# type of the program: bytes, .npy descriptions that hold it, name in .safetensors
TYPES: Dict[str, Any] = {
    "e4m3": (1, ["|u1", "|V1", "|i1"], "F8_E4M3"),
    "e5m2": (1, ["|u1", "|V1"], "F8_E5M2"),
    "bf16": (2, ["<V2", "<u2"], "BF16"),
    "f16": (2, ["<f2", ">f2"], "F16"),
    "f32": (4, ["<f4", ">f4"], "F32"),
    "i32": (4, ["<i4", ">i4"], "I32"),
}


def values(dtype: str, count: int, rng: random.Random, positive: bool) -> bytes:
    """Little-endian bits of `count` finite values: a top byte of sign and exponent around 1, random bits below it."""
    width = TYPES[dtype][0]
    tops = {"e4m3": [0, *range(0x20, 0x48)], "e5m2": [0, *range(0x30, 0x44)], "f16": range(0x30, 0x44),
            "bf16": range(0x3e, 0x41), "f32": [0x3f] if positive else range(0x3e, 0x41)}[dtype]
    signed = [top | sign for top in tops for sign in ([0] if positive else [0, 0x80])]
    table = bytes(signed[i % len(signed)] for i in range(256))
    data = bytearray(rng.getrandbits(8 * width * count).to_bytes(width * count, "little") if count else b"")
    data[width - 1::width] = bytes(data[width - 1::width]).translate(table)
    return bytes(data)


def swapped(data: bytes, width: int) -> bytes:
    result = bytearray(len(data))
    for i in range(width):
        result[i::width] = data[width - 1 - i::width]
    return bytes(result)


def draw(rng: random.Random, dtype: str, shape: Sequence[int], *, positive: bool = False,
         integers: Any = None) -> Dict[str, Any]:
    """The description of a file: everything that its bytes follow from."""
    form = "safetensors" if rng.random() < 0.25 else "npy"
    width, descriptions, _ = TYPES[dtype]
    description = rng.choice(descriptions)
    if dtype in ("f32", "i32", "f16") and rng.random() < 0.7:
        description = descriptions[0]  # big-endian files are rare
    fortran = form == "npy" and len(shape) == 2 and rng.random() < 0.2
    return {"form": form, "dtype": dtype, "shape": list(shape), "descr": description, "fortran": fortran,
            "seed": rng.getrandbits(32), "positive": positive, "integers": integers}


def content(spec: Dict[str, Any]) -> bytes:
    count = math.prod(spec["shape"])
    if spec["integers"] is not None:
        data = struct.pack(f"<{count}i", *spec["integers"])
    else:
        data = values(spec["dtype"], count, random.Random(spec["seed"]), spec["positive"])
    if spec["form"] == "safetensors":
        tensors: Dict[str, Any] = {"t": {"dtype": TYPES[spec["dtype"]][2], "shape": spec["shape"],
                                         "data_offsets": [0, len(data)]}}
        if spec["seed"] % 2:  # another tensor behind it
            tensors["other"] = {"dtype": "F32", "shape": [1], "data_offsets": [len(data), len(data) + 4]}
            data += struct.pack("<f", 1.0)
        text = json.dumps(tensors).encode()
        return struct.pack("<Q", len(text)) + text + data
    if spec["descr"].startswith(">"):
        data = swapped(data, TYPES[spec["dtype"]][0])
    shape = "({},)".format(spec["shape"][0]) if len(spec["shape"]) == 1 else "({})".format(
        ", ".join(map(str, spec["shape"])))
    header = f"{{'descr': '{spec['descr']}', 'fortran_order': {spec['fortran']}, 'shape': {shape}, }}".encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def write(folder: pathlib.Path, files: Dict[str, Dict[str, Any]]) -> Dict[str, str]:
    """Writes the files of a line; flag -> what to say behind it."""
    said = {}
    for flag, spec in files.items():
        path = folder / f"{flag.strip('-')}.{spec['form']}"
        path.write_bytes(content(spec))
        said[flag] = f"{path}:t" if spec["form"] == "safetensors" else str(path)
    return said
