# SPDX-License-Identifier: Apache-2.0
"""Instructions that a product takes on the host, from the Python call to the driver's launch, counted by valgrind:

    PYTHONPATH=build/release/python python3 bench/host/instructions.py build/release/tests/runtime/libfake_cuda_driver.so

Calls run against the stand-in for the CUDA driver, with torch's tensors on the CPU described as tensors on a GPU. The
same build gives the same counts on every machine, unlike the times of host_cost.py. --keep FOLDER keeps the profiles for
callgrind_annotate. Needs torch, valgrind with its headers, g++ and an NVRTC."""
import argparse
import ctypes
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from typing import Dict

ROOT = pathlib.Path(__file__).resolve().parents[2]
CALLS = 500
# What a binding asks of torch: descriptions of tensors, version counters of outputs, whether a mode is on.
TORCH = ["DLTensorFromPyObjectNoSync", "THPModule_increment_version", "THPModule_has_torch_function_unary",
         "len_torch_dispatch_stack"]


def child(library: str) -> None:
    """Runs under valgrind and dumps one profile for each form of the call."""
    import torch

    import warpwright
    import warpwright.torch as wwt

    shim = ctypes.PyDLL(library)
    shim.instructions_parameters.argtypes = [ctypes.c_char_p]
    if shim.instructions_parameters(os.environ["WARPWRIGHT_CUDA_DRIVER"].encode()) != 0:
        sys.exit("the stand-in for the driver is not one")
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    shim.instructions_on_gpu.argtypes = [ctypes.c_void_p]
    if shim.instructions_on_gpu(pointer(torch.Tensor.__dlpack_c_exchange_api__, b"dlpack_exchange_api")) != 0:
        sys.exit("torch's exchange interface cannot be replaced")
    m, n, k = 64, 256, 512
    a, b = torch.zeros(m, k).to(torch.float8_e4m3fn), torch.zeros(n, k).to(torch.float8_e4m3fn)
    x, w = torch.zeros(m, k).bfloat16(), torch.zeros(n, k).bfloat16()
    sa, sb, out = torch.ones(m, k // 128), torch.ones(n // 128, k // 128), torch.zeros(m, n).bfloat16()
    plan = warpwright.gemm_plan(a, b, out=out, scale_a=sa, scale_b=sb)

    forms = {
        "gemm": lambda: warpwright.gemm(a, b, out=out, scale_a=sa, scale_b=sb),
        "gemm-bf16": lambda: warpwright.gemm(x, w, out=out),
        "plan": lambda: plan.run(a, b, out=out, scale_a=sa, scale_b=sb),
        "torch": lambda: wwt.gemm(a, b, sa, sb, out=out),
    }
    for name, form in forms.items():
        for _ in range(20):
            form()
        shim.instructions_start()
        for _ in range(CALLS):
            form()
        shim.instructions_stop(name.encode())


def inclusive(profile: pathlib.Path) -> Dict[str, float]:
    """Instructions a call of each function and what it calls, by name."""
    text = subprocess.run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", str(profile)], capture_output=True,
                          text=True, check=True).stdout
    rows = re.findall(r"^\s*([\d,]+) \([^)]*\)\s+\S+?:(.*)$", text, re.MULTILINE)
    return {name: int(number.replace(",", "")) / CALLS for number, name in rows}


def report(folder: pathlib.Path) -> None:
    print("instructions a call      all    of torch  of the driver    ours")
    for profile in sorted(folder.glob("callgrind.out.*")):
        name = re.search(r"Client Request: (\S+)", profile.read_text())
        if name is None:
            continue
        functions = inclusive(profile)
        whole = max(number for function, number in functions.items() if "wwpy::" in function)
        torch, driver = (sum(number for function, number in functions.items() if any(word in function for word in words))
                         for words in (TORCH, ["counted<"]))
        print(f"{name[1]:20} {whole:7.0f} {torch:11.0f} {driver:14.0f} {whole - torch - driver:7.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("driver", help="the stand-in, libfake_cuda_driver.so; internal: the helper of the child process")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the profiles")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.driver)
        return
    with tempfile.TemporaryDirectory() as made:
        folder = options.keep or pathlib.Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        shim = folder / "instructions.so"
        subprocess.run(["g++", "-std=c++20", "-O2", "-shared", "-fPIC", "-I/usr/local/cuda/include", f"-I{ROOT / 'third_party'}",
                        str(pathlib.Path(__file__).with_suffix(".cpp")), "-o", str(shim)], check=True)
        subprocess.run(["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no",
                        f"--callgrind-out-file={folder}/callgrind.out.%p", sys.executable, __file__, str(shim), "--child"],
                       env={**os.environ, "WARPWRIGHT_CUDA_DRIVER": options.driver}, check=True)
        report(folder)


if __name__ == "__main__":
    main()
