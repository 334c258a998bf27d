# SPDX-License-Identifier: Apache-2.0
"""Two epilogue trees in two kernels each: ptxas spills nothing and serialises no wgmma (C75xx).
    epilogue_ptxas_test.py <include folder> <nvcc>"""
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = """#include "warpwright/kernel/gemm.hpp"
using O = ww::EpilogueOp;
constexpr ww::EpilogueTree tree() {{
  constexpr ww::EpilogueNode all[] = {{{nodes}}};
  ww::EpilogueTree made;
  int i = 0;
  for (ww::EpilogueNode node : all) made.set_node(i++, node);
  return made;
}}
inline constexpr ww::GemmConfig kConfig = ww::collective::resolve(ww::GemmConfig{{
    .d = ww::DType::{d}, .scale = ww::Scale::{scale}, .tile_m = 128, .tile_n = {tile_n}, .epilogue = tree()}});
using Kernel = ww::kernel::Gemm<kConfig>;
WW_KERNEL(kernel, Kernel::kThreads, ww::kernel::GemmParams, params) {{ Kernel::run(params); }}
WW_MODULE()
"""
TREES = {
    "silu(acc*alpha+bias)+c*beta": ("bf16", "{O::accumulator}, {O::scalar}, {O::multiply}, {O::row_vector}, {O::add}, "
                                    "{O::silu}, {O::c, 0, ww::DType::bf16}, {O::scalar, 1}, {O::multiply}, {O::add}"),
    "quantise_block(store(row_amax(gelu(acc+bias),out0),out1))": (
        "e4m3", "{O::accumulator}, {O::row_vector}, {O::add}, {O::gelu}, {O::row_amax, 0}, "
        "{O::store, 1, ww::DType::bf16}, {O::quantise_block}"),
}
TILES = {"block_1x128_128x128": 128, "tensor": 256}


def main(include: str, nvcc: str) -> int:
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "kernel.cu"
        for text, (d, nodes) in TREES.items():
            for scale, tile_n in TILES.items():
                source.write_text(SOURCE.format(nodes=nodes, d=d, scale=scale, tile_n=tile_n))
                done = subprocess.run([nvcc, "-arch=sm_90a", "-std=c++20", "-fmad=false", f"-I{include}", "-cubin",
                                       "-Xptxas", "-v", "-o", f"{folder}/kernel.cubin", str(source)],
                                      capture_output=True, text=True, timeout=240)
                report = done.stdout + done.stderr
                spills = re.findall(r"(\d+) bytes spill", report)
                bad = done.returncode != 0 or not spills or any(s != "0" for s in spills) or re.search(r"C75\d\d", report)
                print(f"{'WRONG' if bad else 'right'}: {text}, {scale}, 128 x {tile_n}: spills {spills}")
                if bad:
                    wrong += 1
                    print(report[-2000:])
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
