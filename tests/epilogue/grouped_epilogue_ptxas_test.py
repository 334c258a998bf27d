# SPDX-License-Identifier: Apache-2.0
"""Grouped kernels with epilogue trees, every variant: ptxas spills nothing and serialises no wgmma (C75xx).
    grouped_epilogue_ptxas_test.py <include folder> <nvcc> [words of the cases to take ...]"""
import sys

import ptxas_cases

LINEAR = "{O::accumulator}, {O::scalar}, {O::multiply}, {O::row_vector}, {O::add}"
LONG = ("{O::accumulator}, {O::scalar}, {O::multiply}, {O::row_vector, 0, T::bf16}, {O::add}, {O::silu}, "
        "{O::column_vector}, {O::multiply}, {O::c, 0, T::bf16}, {O::scalar, 1}, {O::multiply}, {O::add}, "
        "{O::store, 0, T::bf16}")
SWIGLU = LINEAR + ", {O::swiglu}"
SWIGLU_BLOCKS = LINEAR + ", {O::swiglu}, {O::quantise_block}"
KERNELS = {"ragged": ("ragged_gemm", "RaggedGemm"), "descriptors": ("descriptor_gemm", "DescriptorGemm"),
           "contiguous": ("grouped_gemm", "GroupedGemm"), "masked": ("grouped_gemm", "GroupedGemm")}
# name, variant, order, tree, a, d, scale, tile_m, tile_n, cluster_m
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
    ("long", "ragged", "fixed", LONG, "e4m3", "bf16", "block_1x128_128x128", 32, 64, 1),
    ("long", "ragged", "fixed", LONG, "bf16", "f32", "none", 32, 64, 1),
    ("long", "ragged", "fixed", LONG, "e4m3", "bf16", "block_1x128_128x128", 32, 128, 1),
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


def cases() -> list[tuple[str, str]]:
    made = []
    for tree, variant, order, nodes, a, d, scale, tile_m, tile_n, cluster in CASES:
        header, kernel = KERNELS[variant]
        fields = (f".operands = {{.a = T::{a}, .b = T::{a}, .d = T::{d}, .scale = ww::Scale::{scale}}}, "
                  f".tile = {{{tile_m}, {tile_n}}}, .cluster = {{{cluster}, 1}},\n    "
                  f".sm90 = {{.tile_scheduler = ww::TileScheduler::{order}, "
                  f".occupancy = {(3 if tile_n == 64 else 2) if tile_m == 32 else 0}}},\n    "
                  f".row_groups = {{.variant = ww::GroupedVariant::{variant}, .capacity = 128}}")
        made.append((f"{tree} {variant} {order} {a} {d} {scale} {tile_m}x{tile_n}",
                     ptxas_cases.source_of(nodes, header=header, kernel=kernel, resolve="resolve_grouped",
                                           params="config::GroupedArguments", fields=fields)))
    return made


if __name__ == "__main__":
    sys.exit(ptxas_cases.run(cases(), *sys.argv[1:]))
