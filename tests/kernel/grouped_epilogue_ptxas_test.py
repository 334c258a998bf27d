# SPDX-License-Identifier: Apache-2.0
"""Grouped kernels with epilogue trees, every mechanism: ptxas spills nothing and serialises no wgmma (C75xx).
    grouped_epilogue_ptxas_test.py <include folder> <nvcc> [words of the cases to take ...]"""
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = """#include "warpwright/kernel/{header}.hpp"
using O = ww::EpilogueOp;
using T = ww::DType;
constexpr ww::EpilogueTree tree() {{
  constexpr ww::EpilogueNode all[] = {{{nodes}}};
  ww::EpilogueTree made;
  int i = 0;
  for (ww::EpilogueNode node : all) made.set_node(i++, node);
  return made;
}}
inline constexpr ww::GemmConfig kConfig = ww::collective::resolve_grouped(ww::GemmConfig{{
    .a = T::{a}, .b = T::{a}, .d = T::{d}, .scale = ww::Scale::{scale}, .tile_m = {tile_m}, .tile_n = {tile_n},
    .cluster_m = {cluster}, .cluster_n = 1, .mechanism = ww::Mechanism::{mechanism},
    .order = ww::TileOrder::{order}, .group_capacity = 128, .epilogue = tree()}});
using Kernel = ww::kernel::{kernel}<kConfig>;
WW_KERNEL(kernel, Kernel::kThreads, ww::collective::GroupedArguments, params) {{ Kernel::run(params); }}
WW_MODULE()
"""
LINEAR = "{O::accumulator}, {O::scalar}, {O::multiply}, {O::row_vector}, {O::add}"
LONG = ("{O::accumulator}, {O::scalar}, {O::multiply}, {O::row_vector, 0, T::bf16}, {O::add}, {O::silu}, "
        "{O::column_vector}, {O::multiply}, {O::c, 0, T::bf16}, {O::scalar, 1}, {O::multiply}, {O::add}, "
        "{O::store, 0, T::bf16}")
SWIGLU = LINEAR + ", {O::swiglu}"
SWIGLU_BLOCKS = LINEAR + ", {O::swiglu}, {O::quantise_block}"
KERNELS = {"ragged": ("ragged_gemm", "RaggedGemm"), "descriptors": ("descriptor_gemm", "DescriptorGemm"),
           "contiguous": ("grouped_gemm", "GroupedGemm"), "masked": ("grouped_gemm", "GroupedGemm")}
# name, mechanism, order, tree, a, d, scale, tile_m, tile_n, cluster_m
CASES = [
    ("none", "ragged", "automatic", "", "e4m3", "bf16", "block_1x128_128x128", 128, 256, 1),
    ("none", "descriptors", "automatic", "", "e4m3", "bf16", "block_1x128_128x128", 64, 128, 1),
    ("none", "contiguous", "automatic", "", "e4m3", "bf16", "block_1x128_128x128", 192, 128, 1),
    ("linear", "ragged", "automatic", LINEAR, "e4m3", "bf16", "block_1x128_128x128", 128, 256, 1),
    ("linear", "ragged", "automatic", LINEAR, "bf16", "f32", "none", 128, 256, 1),
    ("linear", "ragged", "automatic", LINEAR, "bf16", "bf16", "none", 128, 256, 1),
    ("long", "ragged", "automatic", LONG, "e4m3", "bf16", "block_1x128_128x128", 128, 256, 1),
    ("long", "ragged", "automatic", LONG, "e4m3", "bf16", "row_column", 128, 256, 1),
    ("long", "ragged", "split_k", LONG, "bf16", "bf16", "none", 64, 128, 1),
    ("linear", "descriptors", "automatic", LINEAR, "e4m3", "bf16", "block_1x128_128x128", 64, 128, 1),
    ("long", "descriptors", "automatic", LONG, "e4m3", "bf16", "block_1x128_128x128", 64, 256, 1),
    ("long", "descriptors", "automatic", LONG, "bf16", "f32", "none", 16, 128, 1),
    ("linear", "contiguous", "automatic", LINEAR, "e4m3", "bf16", "block_1x128_128x128", 192, 128, 1),
    ("long", "contiguous", "automatic", LONG, "e4m3", "bf16", "block_1x128_128x128", 192, 128, 1),
    ("long", "masked", "automatic", LONG, "bf16", "bf16", "none", 128, 256, 2),
    ("long", "contiguous", "automatic", LONG, "e4m3", "f32", "tensor", 128, 128, 2),
    ("swiglu", "contiguous", "automatic", SWIGLU, "e4m3", "bf16", "block_1x128_128x128", 192, 128, 1),
    ("swiglu", "masked", "automatic", SWIGLU, "bf16", "bf16", "none", 128, 256, 2),
    ("blocks", "contiguous", "automatic", SWIGLU_BLOCKS, "e4m3", "e4m3", "row_column", 128, 256, 2),
]


def main(include: str, nvcc: str, *words: str) -> int:
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "kernel.cu"
        for tree, mechanism, order, nodes, a, d, scale, tile_m, tile_n, cluster in CASES:
            name = f"{tree} {mechanism} {order} {a} {d} {scale} {tile_m}x{tile_n}"
            if not all(word in name for word in words):
                continue
            header, kernel = KERNELS[mechanism]
            text = SOURCE.format(header=header, kernel=kernel, nodes=nodes, a=a, d=d, scale=scale, tile_m=tile_m,
                                 tile_n=tile_n, cluster=cluster, mechanism=mechanism, order=order)
            if not nodes:
                text = text.replace("constexpr ww::EpilogueNode all[] = {};", "").replace(
                    "  int i = 0;\n  for (ww::EpilogueNode node : all) made.set_node(i++, node);\n", "")
            source.write_text(text)
            done = subprocess.run([nvcc, "-arch=sm_90a", "-std=c++20", "-fmad=false", f"-I{include}", "-cubin",
                                   "-Xptxas", "-v", "-o", f"{folder}/kernel.cubin", str(source)],
                                  capture_output=True, text=True, timeout=600)
            report = done.stdout + done.stderr
            spills = re.findall(r"(\d+) bytes spill", report)
            registers = re.findall(r"Used (\d+) registers", report)
            # a stack frame without spills: an array that registers were meant for is indexed at run time
            spills += re.findall(r"(\d+) bytes stack frame", report)
            bad = done.returncode != 0 or not spills or any(s != "0" for s in spills) or re.search(r"C75\d\d", report)
            print(f"{'WRONG' if bad else 'right'}: {name}: spills {spills}, registers {registers}", flush=True)
            if bad:
                wrong += 1
                print(report[-2000:])
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
