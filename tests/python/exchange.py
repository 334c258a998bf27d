# SPDX-License-Identifier: Apache-2.0
"""Tensors of a framework with the DLPack C exchange API, as torch has it, built with ctypes: any address, device, type,
shape and strides. They stand for torch where it is not installed, and for what no framework would make."""
import ctypes
from typing import Any, Optional, Sequence

import numpy as np

CODES = {"float32": (2, 32), "float16": (2, 16), "bfloat16": (4, 16), "float8_e4m3fn": (10, 8), "float8_e5m2": (12, 8),
         "float8_e8m0fnu": (14, 8), "int32": (0, 32), "uint8": (1, 8), "float64": (2, 64), "bool": (6, 8)}


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class ExchangeTensor:
    """Set `fail` to have the export fail as a framework's does, `stream` to have a current stream, and `hook` or
    `stream_hook` to a function that runs during each export or question for the stream."""

    calls = 0
    fail = False
    hook: Any = None
    stream_hook: Any = None
    stream = None
    asked: list = []  # devices whose current stream was asked for

    def __init__(self, array: Optional[np.ndarray], shape: Optional[Sequence[int]] = None,
                 strides: Optional[Sequence[int]] = None, dtype: str = "", device: Any = (1, 0), data: int = 0,
                 lanes: int = 1) -> None:
        self.array = array  # keeps the memory
        if array is not None:
            shape, dtype, data = array.shape, array.dtype.name, array.ctypes.data
            strides = [stride // array.itemsize for stride in array.strides]
        rank = len(shape)
        self.shape, self.strides = (ctypes.c_int64 * rank)(*shape), (ctypes.c_int64 * rank)(*strides)
        self.tensor = DLTensor(data, *device, rank, *CODES[dtype], lanes, self.shape, self.strides, 0)


FILL = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DLTensor))
STREAM = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))


@FILL
def fill(tensor, out):
    ExchangeTensor.calls += 1
    if ExchangeTensor.fail:
        return -1
    if ExchangeTensor.hook is not None:
        ExchangeTensor.hook()
    out[0] = tensor.tensor
    return 0


@STREAM
def current_stream(device_type, device_id, out):
    ExchangeTensor.asked.append((device_type, device_id))
    if ExchangeTensor.stream_hook is not None:
        ExchangeTensor.stream_hook()
    out[0] = ExchangeTensor.stream
    return 0


class ExchangeApi(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("previous", ctypes.c_void_p),
                ("allocate", ctypes.c_void_p), ("to_managed", ctypes.c_void_p), ("from_managed", ctypes.c_void_p),
                ("fill", FILL), ("current_stream", STREAM)]


API = ExchangeApi(1, 3, None, None, None, None, fill, current_stream)
NAME = b"dlpack_exchange_api"
make_capsule = ctypes.pythonapi.PyCapsule_New
make_capsule.restype, make_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
ExchangeTensor.__dlpack_c_exchange_api__ = make_capsule(ctypes.addressof(API), NAME, None)
