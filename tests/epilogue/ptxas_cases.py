# SPDX-License-Identifier: Apache-2.0
"""Kernels with epilogue trees through nvcc: what ptxas may not report, and the choice of cases by words.
A case is a name, "linear ragged 128x256", and the source of one kernel."""
import pathlib
import re
import subprocess
import sys
import tempfile

KERNEL = """#include "warpwright/config/resolve.hpp"
#include "warpwright/kernel/{header}.hpp"
using O = ww::EpilogueOp;
using T = ww::DType;
constexpr ww::EpilogueTree tree() {{
  constexpr ww::EpilogueNode all[] = {{{nodes}}};
  ww::EpilogueTree made;
  int i = 0;
  for (ww::EpilogueNode node : all) made.set_node(i++, node);
  return made;
}}
inline constexpr ww::GemmConfig kConfig = ww::config::{resolve}(ww::GemmConfig{{
    {fields}, .epilogue = tree()}});
using Kernel = ww::kernel::{kernel}<kConfig>;
constexpr int kCtas = kConfig.sm90.occupancy;
WW_RESIDENT_KERNEL(kernel, Kernel::kThreads, kCtas, ww::{params}, params) {{ Kernel::run(params); }}
WW_MODULE()
"""


def source_of(nodes: str, **of_kernel: str) -> str:
    """A kernel with the tree of `nodes`, postfix; none: without an epilogue."""
    return KERNEL.format(nodes=nodes or "{}", **of_kernel)  # a tree that begins with no node is empty


def fault_of(report: str) -> bool:
    """Spilled registers, an array in local memory, or wgmma that ptxas serialised; nothing to read is a fault too."""
    spills = re.findall(r"(\d+) bytes (?:spill|stack frame)", report)
    return not spills or any(s != "0" for s in spills) or re.search(r"C75\d\d", report) is not None


def run(cases: list[tuple[str, str]], include: str, nvcc: str, *words: str) -> int:
    """Compiles every case whose name has all `words`. 0: all are right; 1: not; 2: no case has them."""
    taken = [case for case in cases if all(word in case[0] for word in words)]
    if not taken:
        print(f"no case has all of: {' '.join(words)}\nthere are:", *(name for name, _ in cases), sep="\n  ",
              file=sys.stderr)
        return 2
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "kernel.cu"
        for name, text in taken:
            source.write_text(text)
            done = subprocess.run([nvcc, "-arch=sm_90a", "-std=c++20", "-fmad=false", f"-I{include}", "-cubin",
                                   "-Xptxas", "-v", "-o", f"{folder}/kernel.cubin", str(source)],
                                  capture_output=True, text=True, timeout=600)
            report = done.stdout + done.stderr
            bad = done.returncode != 0 or fault_of(report)
            lines = re.findall(r"\d+ bytes stack frame.*|Used \d+ registers", report)
            print(f"{'WRONG' if bad else 'right'}: {name}: {'; '.join(lines)}", flush=True)
            if bad:
                wrong += 1
                print(report[:2000])
    return 1 if wrong else 0
