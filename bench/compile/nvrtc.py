# SPDX-License-Identifier: Apache-2.0
"""One compile by NVRTC, as the library does it: flags, and headers from memory. For compare.py and code.py."""
import collections
import ctypes
import glob
import os
import pathlib
import sys
import time

os.environ["CUDA_CACHE_DISABLE"] = "1"  # or NVRTC returns what it has compiled before, where there is a driver
FLAGS = ["--gpu-architecture=sm_90a", "-std=c++20", "-fmad=false", "--ptxas-options=-v"]
Result = collections.namedtuple("Result", "cubin log seconds")  # CPU seconds of the compile alone


def compile_source(library, include, source, flags=FLAGS):
    """Compiles a file with the headers below `include`. Exits with the log if NVRTC refuses."""
    headers = sorted(path for path in pathlib.Path(include).rglob("*.hpp") if path.is_file())
    nvrtc = ctypes.CDLL(library)
    for builtins in glob.glob(f"{os.path.dirname(os.path.realpath(library))}/libnvrtc-builtins.so.*"):
        ctypes.CDLL(builtins)
    many = ctypes.c_char_p * len(headers)
    names = many(*(str(path.relative_to(include)).encode() for path in headers))
    texts = many(*(path.read_bytes() for path in headers))
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), pathlib.Path(source).read_bytes(), b"warpwright_kernel.cu", len(headers),
                             texts, names)
    options = (ctypes.c_char_p * len(flags))(*(flag.encode() for flag in flags))
    begin = time.process_time()
    status = nvrtc.nvrtcCompileProgram(program, len(flags), options)
    seconds = time.process_time() - begin
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    if status != 0:
        sys.exit(f"{source} with {include}:\n{log.value.decode()[:2000]}")
    nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
    cubin = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetCUBIN(program, cubin)
    return Result(cubin.raw, log.value.decode(), seconds)
