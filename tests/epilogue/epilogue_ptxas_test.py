# SPDX-License-Identifier: Apache-2.0
"""Five epilogue trees in two kernels each: ptxas spills nothing and serialises no wgmma (C75xx).
    epilogue_ptxas_test.py <include folder> <nvcc> [words of the cases to take ...]"""
import sys

import ptxas_cases

TREES = {
    "silu(acc*alpha+bias)+c*beta": ("bf16", "{O::accumulator}, {O::scalar}, {O::multiply}, {O::row_vector}, {O::add}, "
                                    "{O::silu}, {O::c, 0, T::bf16}, {O::scalar, 1}, {O::multiply}, {O::add}"),
    "quantise_block(store(row_amax(gelu(acc+bias),out0),out1))": (
        "e4m3", "{O::accumulator}, {O::row_vector}, {O::add}, {O::gelu}, {O::row_amax, 0}, "
        "{O::store, 1, T::bf16}, {O::quantise_block}"),
    "quantise_block_pow2(convert(acc,e5m2)) to e5m2": (
        "e5m2", "{O::accumulator}, {O::convert, 0, T::e5m2}, {O::quantise_block_pow2}"),
    "softcap(gelu_erf(acc)/bias,scalar2)*max(acc,0)": (
        "bf16", "{O::accumulator}, {O::gelu_erf}, {O::row_vector}, {O::divide}, {O::scalar, 2}, {O::softcap}, "
        "{O::accumulator}, {O::constant}, {O::max}, {O::multiply}"),
    "swiglu_halves(acc+bias)": ("bf16", "{O::accumulator}, {O::row_vector}, {O::add}, {O::swiglu_halves}"),
}
TILES = {"block_1x128_128x128": 128, "tensor": 256}


def cases() -> list[tuple[str, str]]:
    return [(f"{text} {scale} 128x{tile_n}",
             ptxas_cases.source_of(nodes, header="gemm", kernel="Gemm", params="kernel::GemmParams", resolve="resolve",
                                   fields=f".operands = {{.d = T::{d}, .scale = ww::Scale::{scale}}}, "
                                          f".tile = {{128, {tile_n}}}"))
            for text, (d, nodes) in TREES.items() for scale, tile_n in TILES.items()]


if __name__ == "__main__":
    sys.exit(ptxas_cases.run(cases(), *sys.argv[1:]))
