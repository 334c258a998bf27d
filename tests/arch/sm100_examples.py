# SPDX-License-Identifier: Apache-2.0
"""The kernels of the examples of tcgen05, examples/1*.cpp, as machine code of sm_100a: no device is needed to assemble.

sm100_examples.py <root> <folder of the Python environment>

Each goes through NVRTC, and through nvcc where there is one, without spills. Its disassembly must hold the instructions
that the example is about, none of them in a loop over the lanes of a warp. Exit 77 (skipped) as sm100_code.py."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from typing import Dict, Iterator, List

import sm100_code

# What the code of each example holds, by the starts of instructions.
OPCODES: Dict[str, List[str]] = {
    "10_umma_tile": ["UTCHMMA gdesc", "UTCBAR [", "LDTM.x32"],
    "11_umma_tma": ["UTMALDG.2D [", "UTCHMMA gdesc", "UTCBAR [", "LDTM.x32"],
    "12_umma_multicast": ["UTMALDG.2D.MULTICAST", "UTCHMMA gdesc", "UTCBAR.MULTICAST", "LDTM.x32"],
    "13_umma_pair": ["UTMALDG.2D.MULTICAST.2CTA", "UTCHMMA.2CTA gdesc", "UTCBAR.2CTA.MULTICAST", "LDTM.x32"],
    "14_umma_tma_epilogue": ["UTMALDG.2D.MULTICAST.2CTA", "UTCHMMA.2CTA gdesc", "UTMALDG.2D [", "UTMASTG.2D"],
    "15_cluster_launch_control": ["UGETNEXTWORKID.BROADCAST", "UTMALDG.2D.MULTICAST", "UTCHMMA gdesc",
                                  "UTCBAR.MULTICAST", "LDTM.x32"],
    "16_nvfp4": ["UTMALDG.2D [", "UTCCP", "UTCOMMA.4X gdesc", "UTCBAR [", "LDTM.x32"],
}


def kernel_of(example: pathlib.Path) -> str:
    return re.search(r'R"\((.*?)\)"', example.read_text(), re.S).group(1)  # type: ignore[union-attr]


def faults(name: str, kernels: Dict[str, List[str]]) -> Iterator[str]:
    lines = [line for kernel in kernels.values() for line in kernel]
    for opcode in OPCODES[name]:
        if not any(line.startswith(opcode) for line in lines):
            yield f"expected an instruction {opcode}"
    if any(line.startswith("BRA.U.ANY") for line in lines):
        yield "a loop over lanes, though one thread is elected"
    if any(line.startswith(("STL", "LDL")) for line in lines):
        yield "registers are spilled"


def main() -> int:
    root, environment = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    nvrtc, nvdisasm = sm100_code.find_nvrtc(), sm100_code.find_nvdisasm(environment)
    if nvrtc is None or nvdisasm is None:
        return sm100_code.skip("no NVRTC of CUDA 12.8 or later, or no nvdisasm, so nothing was assembled for sm_100a")
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    broken = 0
    examples = sorted((root / "examples").glob("1[0-9]_*.cpp"))
    if [example.stem for example in examples] != sorted(OPCODES):
        print(f"expected the examples {', '.join(sorted(OPCODES))}; got {', '.join(e.stem for e in examples)}")
        broken += 1
    for example in [e for e in examples if e.stem in OPCODES]:
        source = kernel_of(example)
        with tempfile.TemporaryDirectory() as folder:
            cubins = {"NVRTC": pathlib.Path(folder) / "nvrtc.cubin"}
            cubins["NVRTC"].write_bytes(nvrtc.compile(source, root / "include")[0])
            if nvcc:
                text, cubins["nvcc"] = pathlib.Path(folder) / "kernel.cu", pathlib.Path(folder) / "nvcc.cubin"
                text.write_text(source)
                subprocess.run([nvcc, "-std=c++20", "-arch=sm_100a", f"-I{root / 'include'}", "-cubin", text, "-o",
                                cubins["nvcc"]], check=True)
            for compiler, cubin in cubins.items():
                for fault in faults(example.stem, sm100_code.disassemble(nvdisasm, cubin)):
                    print(f"{example.name}, {compiler}: {fault}")
                    broken += 1
    print(f"{len(examples)} examples, {broken} faults")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
