# SPDX-License-Identifier: Apache-2.0
"""The families of shipped kernels: the arguments of `warpwright check` for one config and a small problem each.
random_mutants.py draws mutants over them, and shipped_sweep.py checks them as they are. Every role of the kernel has
work and every ring wraps around: rows, columns and K have tails, some CTA gets two tiles or more (--sms limits the
CTAs), and a tile has more k-blocks than the ring has stages, as has each part of a split K. In "ragged, dynamic" two
tiles fit in the ring of stages instead, because otherwise that ring also orders the records of the item ring."""

FAMILIES = {  # name: arguments
    "dense, block scales, 2x1":
        "gemm --m 200 --n 136 --k 400 --tile 128x64 --cluster 2x1 --stages 2",
    "dense, block scales, 1x2":
        "gemm --m 136 --n 200 --k 528 --tile 128x64 --cluster 1x2 --stages 3",
    "dense, column scales":
        "gemm --m 200 --n 136 --k 400 --scale block-1d --tile 128x64 --cluster 2x1 --stages 2",
    "dense, three consumer warpgroups":
        "gemm --m 260 --n 136 --k 528 --tile 192x128 --stages 3 --consumer-warpgroups 3 --sms 2",
    "dense, MMA blocks":
        "gemm --m 300 --n 64 --k 384 --tile 256x32 --stages 2 --sms 2",
    "dense, bf16":
        "gemm --m 128 --n 200 --k 320 --dtype bf16 --tile 64x64 --stages 2",
    "dense, D in parts":
        "gemm --m 60 --n 136 --k 200 --dtype bf16 --tile 64x64 --stages 2 --epilogue-n 16 --sms 2",
    "dense, columns of D":
        "gemm --m 200 --n 136 --k 152 --dtype bf16 --d-layout column --tile 128x64 --stages 2",
    "dense, 2x2":
        "gemm --m 200 --n 200 --k 400 --scale tensor --tile 64x64 --cluster 2x2 --stages 2",
    "dense, tf32":
        "gemm --m 130 --n 72 --k 84 --dtype tf32 --tile 128x64 --stages 2 --sms 2",
    "batched":
        "gemm --m 200 --n 72 --k 272 --batch 3 --tile 128x64 --cluster 2x1 --stages 2",
    "pingpong, block scales":
        "gemm --m 300 --n 136 --k 400 --tile 64x64 --cluster 2x1 --schedule pingpong --stages 3",
    "pingpong, f16":
        "gemm --m 190 --n 200 --k 200 --dtype f16 --tile 64x64 --schedule pingpong --stages 2",
    "multistage, block scales":
        "gemm --m 300 --n 136 --k 528 --tile 128x64 --cluster 1x2 --schedule multistage --stages 3",
    "multistage, bf16":
        "gemm --m 300 --n 136 --k 328 --dtype bf16 --tile 128x64 --cluster 2x1 --schedule multistage --stages 2",
    "swap-AB":
        "gemm --m 21 --n 264 --k 400 --tile 192x24 --swap-ab on --stages 3 --sms 1",
    "A from registers, bf16":
        "gemm --m 304 --n 136 --k 200 --dtype bf16 --layout tt --tile 256x64 --cluster 2x1 --stages 2 --a-source "
        "registers",
    "A from registers, block scales":
        "gemm --m 200 --n 136 --k 400 --tile 128x64 --cluster 1x2 --stages 2 --a-source registers",
    "transposed stage, 1x2":
        "gemm --m 260 --n 136 --k 75 --dtype tf32 --layout tn --tile 128x96 --cluster 1x2 --stages 2",
    "transposed stage, pingpong":
        "gemm --m 190 --n 200 --k 116 --dtype tf32 --layout nn --tile 64x64 --cluster 2x1 --schedule pingpong "
        "--stages 3",
    "stream-K":
        "gemm --m 200 --n 136 --k 912 --tile 64x64 --tile-scheduler stream-k --stages 2 --sms 5",
    "stream-K, 2x1":
        "gemm --m 200 --n 200 --k 640 --dtype bf16 --tile 64x64 --cluster 2x1 --tile-scheduler stream-k --stages 2 "
        "--sms 6",
    "split-K in a cluster":
        "gemm --m 100 --n 136 --k 1552 --config "
        "tile=64x64x128,cluster=1x1x4,tile_scheduler=split-k,split=4,stages=2 --sms 8",
    "split-K through workspace":
        "gemm --m 100 --n 136 --k 912 --scale tensor --out-dtype f32 --config "
        "tile=128x64x128,cluster=1x1x1,tile_scheduler=split-k,split=3,stages=2 --sms 4",
    "split-K both ways":
        "gemm --m 100 --n 136 --k 1552 --config "
        "tile=64x64x128,cluster=2x1x2,tile_scheduler=split-k,split=4,stages=2 --sms 12",
    "dynamic":
        "gemm --m 300 --n 200 --k 304 --tile 64x64 --tile-scheduler dynamic --stages 2 --sms 3",
    "dynamic, 2x2":
        "gemm --m 300 --n 296 --k 304 --tile 64x64 --cluster 2x2 --tile-scheduler dynamic --stages 2 --sms 8",
    "epilogue, loads and stores":
        "gemm --m 200 --n 136 --k 200 --dtype bf16 --tile 128x64 --stages 2 --epilogue 'silu(store(acc*alpha + "
        "beta*c + bias, out0:f32))'",
    "epilogue, reductions":
        "gemm --m 200 --n 136 --k 200 --dtype bf16 --tile 128x64 --stages 2 --epilogue 'row_sum(column_amax(acc + "
        "bias, out1), out0)'",
    "epilogue, reductions of 2x1":
        "gemm --m 300 --n 136 --k 400 --scale tensor --tile 64x64 --cluster 2x1 --stages 2 --epilogue "
        "'row_amax(column_sum(acc*col0, out1), out0)'",
    "epilogue, quantise":
        "gemm --m 200 --n 144 --k 200 --dtype bf16 --out-dtype e4m3 --tile 128x64 --stages 2 --epilogue "
        "'quantise(gelu(acc + bias))'",
    "epilogue, quantise by blocks":
        "gemm --m 200 --n 256 --k 200 --dtype bf16 --out-dtype e4m3 --tile 128x128 --stages 2 --sms 2 --epilogue "
        "'quantise_block(acc)'",
    "epilogue, SwiGLU":
        "gemm --m 200 --n 144 --k 272 --tile 128x64 --stages 2 --epilogue 'swiglu(acc)'",
    "epilogue, split-K":
        "gemm --m 150 --n 136 --k 912 --config "
        "tile=64x64x128,cluster=1x1x2,tile_scheduler=split-k,split=2,stages=2 --sms 4 --epilogue "
        "'row_sum(acc*alpha + beta*c, out0)'",
    "contiguous":
        "grouped --n 136 --k 272 --rows 3,0,130,1 --encoding indptr --variant contiguous --tile 128x128 --stages 2",
    "contiguous, 2x1, two scales of B in a tile":
        "grouped --n 328 --k 400 --rows 3,0,130,1 --variant contiguous --tile 128x192 --cluster 2x1 --stages 2 --sms 4",
    "contiguous, SwiGLU and blocks":
        "grouped --n 256 --k 272 --rows 3,0,70,1 --encoding starts-counts --scale tensor --variant contiguous "
        "--tile 64x256 --out-dtype e4m3 --stages 2 --sms 2 --epilogue 'quantise_block(swiglu(acc))'",
    "masked, 2x1":
        "grouped --n 72 --k 400 --rows 5,0,130 --encoding masked --variant masked --scale tensor --out-dtype f32 "
        "--tile 128x64 --cluster 2x1 --stages 2",
    "ragged, row ids":
        "grouped --n 136 --k 272 --rows 3,0,70,1,9 --encoding row-ids --variant ragged --tile 64x128 --stages 2",
    "ragged, several CTAs of an SM":
        "grouped --n 136 --k 272 --rows 3,0,60,1,9 --variant ragged --occupancy 2 --stages 2",
    "ragged, many groups":
        "grouped --n 72 --k 400 --groups 130 --distribution onehot --total 70 --variant ragged --occupancy 2 "
        "--stages 2 --sms 1",
    "ragged, dynamic":
        "grouped --n 136 --k 144 --rows 3,0,70,1,9,40,40 --variant ragged --tile-scheduler dynamic --sms 2",
    "ragged, split-K":
        "grouped --n 136 --k 1552 --rows 3,0,60,1 --variant ragged --tile 64x256 --tile-scheduler split-k --split "
        "4 --stages 2 --sms 4",
    "ragged, epilogue":
        "grouped --n 144 --k 272 --rows 3,0,70,1,9 --variant ragged --dtype bf16 --epilogue 'silu(acc*alpha + "
        "bias)' --zero-outside --encoding starts-counts --gap 2 --stages 2 --sms 2",
    "descriptors, horizontal":
        "grouped --n 136 --k 272 --rows 3,0,37,1,0,9 --encoding indptr --variant descriptors --tile 16x128 "
        "--tile-scheduler horizontal --stages 2",
    "descriptors, vertical":
        "grouped --n 264 --k 400 --rows 5,20,0,1,0,1,0,0,8 --encoding starts-counts --variant descriptors --tile "
        "8x256 --tile-scheduler vertical --scale tensor --out-dtype f32 --stages 2",
    "descriptors, epilogue":
        "grouped --n 144 --k 272 --rows 3,0,70,1,9 --dtype bf16 --variant descriptors --epilogue 'silu(acc*alpha + "
        "bias)' --stages 2",
    "K groups, 2x1":
        "k-grouped --m 72 --n 136 --ks 70,0,1,200,64,0 --encoding starts-counts --tile 64x128 --cluster 2x1 "
        "--stages 2",
    "K groups, accumulated":
        "k-grouped --m 136 --n 72 --ks 3,130,0,65 --encoding row-ids --tile 128x64 --cluster 1x2 --stages 2 "
        "--accumulate",
    "K groups, longest K first":
        "k-grouped --dtype e4m3 --m 66 --n 72 --ks 128,0,384,128 --encoding indptr --tile 64x64 --cluster 2x1 "
        "--stages 2 --tile-scheduler longest-k",
    "K groups, one matrix each":
        "k-grouped --dtype e4m3 --m 66 --n 72 --ks 256,0,384,128 --tile 64x64 --cluster 2x1 --stages 2 --packing "
        "per-group --accumulate",
}

# Families of Blackwell's kernels, on emu:sm100.
BLACKWELL_FAMILIES = {
    "blackwell, block scales, pair":
        "gemm --m 300 --n 136 --k 528 --config tile=128x64x128,cluster=2x1,pair=1,stages=3 --sms 2",
    "blackwell, column scales":
        "gemm --m 200 --n 136 --k 400 --scale block-1d --config tile=64x40x128,cluster=1x2,stages=2 --sms 4",
    "blackwell, one accumulator":
        "gemm --m 200 --n 136 --k 200 --dtype bf16 --config tile=64x64x64,accumulators=1,stages=2 --sms 2",
    "blackwell, bf16, pair":
        "gemm --m 520 --n 136 --k 328 --dtype bf16 --config tile=128x128x64,cluster=2x1,pair=1,stages=2 --sms 2",
    "blackwell, 4x4":
        "gemm --m 300 --n 136 --k 272 --scale tensor --config tile=64x32x128,cluster=4x4,stages=2 --sms 16",
    "blackwell, 4x2 in pairs":
        "gemm --m 520 --n 136 --k 400 --scale tensor --config tile=128x64x128,cluster=4x2,pair=1,stages=2 --sms 8",
    "blackwell, M-major A":
        "gemm --m 208 --n 272 --k 205 --dtype e4m3 --scale tensor --layout tn --config "
        "tile=128x128x128,stages=2,accumulators=2 --sms 2",
    "blackwell, tf32, columns of D":
        "gemm --m 204 --n 72 --k 84 --dtype tf32 --out-dtype f32 --d-layout column --config tile=128x32x32,stages=2 "
        "--sms 2",
    "blackwell, dynamic, 2x2":
        "gemm --m 300 --n 296 --k 304 --config tile=64x64x128,cluster=2x2,stages=2,tile_scheduler=dynamic --sms 8",
    "blackwell, stream-K, pair":
        "gemm --m 300 --n 200 --k 640 --dtype bf16 --config "
        "tile=128x64x64,cluster=2x1,pair=1,stages=2,tile_scheduler=stream-k --sms 6",
    "blackwell, split-K both ways":
        "gemm --m 100 --n 136 --k 1552 --config tile=64x64x128,cluster=2x1x2,tile_scheduler=split-k,split=4,stages=2 "
        "--sms 12",
    "blackwell, swap-AB":
        "gemm --m 21 --n 264 --k 400 --config tile=128x32x128,swap_ab=on,stages=3 --sms 1",
    "blackwell, launch control, pair":
        "gemm --m 520 --n 200 --k 200 --dtype bf16 --config tile=128x64x64,cluster=2x1,pair=1,stages=2,"
        "tile_scheduler=clc --sms 4",
    "blackwell, launch control, 4x4":
        "gemm --m 300 --n 136 --k 136 --dtype bf16 --config "
        "tile=64x32x64,cluster=4x4,stages=2,tile_scheduler=clc --sms 16",
    "blackwell, stream-K, 4x2 in pairs":
        "gemm --m 520 --n 72 --k 456 --dtype bf16 --config "
        "tile=128x64x64,cluster=4x2,pair=1,stages=2,tile_scheduler=stream-k --sms 24",
    "blackwell, mx":
        "gemm --m 300 --n 136 --k 656 --scale mx --dtype e4m3 --config tile=128x96x128,stages=4 --sms 2",
    "blackwell, mx, arrays of pointers, pair":
        "gemm --m 200 --n 136 --k 400 --batch 3 --pointer-array --scale mx --dtype e4m3 --config "
        "tile=128x64x128,cluster=2x1,pair=1,stages=2 --sms 4",
    "blackwell, nv, pair":
        "gemm --m 520 --n 136 --k 1312 --scale nv --dtype e2m1 --config "
        "tile=128x64x256,cluster=2x1,pair=1,stages=2 --sms 2",
    "blackwell, mx, 4x4, 4 and 6 bits":
        "gemm --m 520 --n 72 --k 384 --scale mx --dtype e3m2 --b-dtype e2m1 --config "
        "tile=128x32x128,cluster=4x4,stages=2 --sms 16",
    "blackwell, mx, stream-K, swap-AB":
        "gemm --m 40 --n 264 --k 1120 --scale mx --dtype e2m1 --config "
        "tile=128x32x256,stages=2,tile_scheduler=stream-k,swap_ab=on --sms 4",
    "blackwell, mx, launch control, pair":
        "gemm --m 520 --n 200 --k 400 --scale mx --dtype e5m2 --config "
        "tile=128x64x128,cluster=2x1,pair=1,stages=2,tile_scheduler=clc --sms 4",
    "blackwell, tf32, M-major and N-major":
        "gemm --m 264 --n 136 --k 75 --dtype tf32 --layout tn --out-dtype f32 --config "
        "tile=128x128x32,cluster=2x1,pair=1,stages=2 --sms 4",
    "blackwell, mx, M-major and N-major":
        "gemm --m 272 --n 272 --k 400 --dtype e4m3 --scale mx --layout tn --config "
        "tile=128x256x128,cluster=2x1,pair=1,stages=2 --sms 2",
    "blackwell, nv, K within an instruction":
        "gemm --m 520 --n 136 --k 800 --scale nv --dtype e2m1 --config "
        "tile=128x64x256,cluster=2x1,pair=1,stages=2 --sms 2",
    "blackwell, mx, K within an instruction":
        "gemm --m 300 --n 136 --k 800 --scale mx --dtype e2m1 --config tile=128x96x256,stages=2 --sms 2",
    "blackwell, nv, K within an instruction, shorter than the ring":
        "gemm --m 300 --n 520 --k 208 --scale nv --dtype e2m1 --config tile=128x64x256,stages=4 --sms 1",
    "blackwell, nv, K within an instruction, shorter than the ring, pair":
        "gemm --m 520 --n 392 --k 208 --scale nv --dtype e2m1 --config "
        "tile=128x64x256,cluster=2x1,pair=1,stages=4 --sms 2",
    "blackwell, nv, K within an instruction, as long as the ring":
        "gemm --m 300 --n 392 --k 720 --scale nv --dtype e2m1 --config tile=128x64x256,stages=3 --sms 1",
    "blackwell, nv, stream-K, K within an instruction":
        "gemm --m 128 --n 1024 --k 720 --scale nv --dtype e2m1 --config "
        "tile=128x128x256,stages=4,accumulators=1,tile_scheduler=stream-k --sms 3",
    "blackwell, contiguous, nv, K within an instruction, shorter than the ring":
        "grouped --n 520 --k 208 --rows 3,0,130,1,260 --scale nv --dtype e2m1 --variant contiguous --config "
        "tile=128x64x256,stages=4 --sms 2",
    "blackwell, nv, overlapping accumulators":
        "gemm --m 300 --n 520 --k 800 --scale nv --dtype e2m1 --config tile=128x256x256,stages=2 --sms 1",
    "blackwell, mx, overlapping accumulators of a pair":
        "gemm --m 520 --n 520 --k 400 --scale mx --dtype e4m3 --config "
        "tile=128x256x128,cluster=2x1,pair=1,stages=2 --sms 2",
    "blackwell, nv, SwiGLU of halves":
        "gemm --m 300 --n 320 --k 800 --scale nv --dtype e2m1 --config tile=128x64x256,stages=2 --sms 2 --epilogue "
        "'swiglu_halves(acc)'",
    "blackwell, mx, SwiGLU of halves, pair":
        "gemm --m 520 --n 512 --k 400 --scale mx --dtype e4m3 --config "
        "tile=128x256x128,cluster=2x1,pair=1,stages=2 --sms 2 --epilogue 'swiglu_halves(acc)'",
    "blackwell, 4 bits widened":
        "gemm --m 200 --n 136 --k 640 --scale none --dtype e2m1 --b-dtype e4m3 --config "
        "tile=64x64x128,cluster=1x2,stages=2 --sms 2",
    "blackwell, epilogue, reductions":
        "gemm --m 200 --n 136 --k 200 --dtype bf16 --config tile=128x64x64,stages=2 --epilogue "
        "'row_sum(column_amax(acc + bias, out1), out0)'",
    "blackwell, contiguous":
        "grouped --n 136 --k 272 --rows 3,0,130,1 --encoding indptr --variant contiguous --config "
        "tile=128x128x128,cluster=2x1,stages=2",
    "blackwell, masked":
        "grouped --n 72 --k 400 --rows 5,0,130 --encoding masked --variant masked --scale tensor --out-dtype f32 "
        "--config tile=64x64x128,stages=2",
    "blackwell, contiguous, pair":
        "grouped --n 136 --k 272 --rows 3,0,130,1,260 --encoding indptr --variant contiguous --config "
        "tile=128x128x128,cluster=2x1,pair=1,stages=2 --sms 2",
    "blackwell, contiguous, launch control, pair":
        "grouped --n 136 --k 272 --rows 3,0,130,1,260 --encoding indptr --variant contiguous --config "
        "tile=128x64x128,cluster=2x1,pair=1,stages=2,tile_scheduler=clc --sms 4",
    "blackwell, masked, launch control":
        "grouped --n 72 --k 400 --rows 5,0,130 --encoding masked --variant masked --scale tensor --out-dtype f32 "
        "--config tile=64x32x128,cluster=2x1,stages=2,tile_scheduler=clc --sms 4",
    "blackwell, masked, pair":
        "grouped --n 72 --k 400 --rows 5,0,130,260 --encoding masked --variant masked --scale tensor --out-dtype f32 "
        "--config tile=128x64x128,cluster=2x1,pair=1,stages=2 --sms 2",
    "blackwell, masked, pair, vector along M":
        "grouped --n 72 --k 144 --rows 1,0,130,129 --encoding masked --variant masked --dtype bf16 --epilogue acc+col0 "
        "--config tile=128x64x64,cluster=2x1,pair=1,stages=2 --sms 2",
    "blackwell, contiguous, nv, pair":
        "grouped --n 136 --k 800 --rows 3,0,130,1,260 --scale nv --dtype e2m1 --variant contiguous --config "
        "tile=128x64x256,cluster=2x1,pair=1,stages=2 --sms 2",
    "blackwell, K groups, pair":
        "k-grouped --m 200 --n 136 --ks 70,0,1,200,64,0 --encoding starts-counts --config "
        "tile=128x128x64,cluster=2x1,pair=1,stages=2",
    "blackwell, K groups, launch control, pair":
        "k-grouped --m 200 --n 264 --ks 70,0,1,200,64,0 --encoding starts-counts --config "
        "tile=128x128x64,cluster=2x1,pair=1,stages=2,tile_scheduler=clc --sms 4",
    "blackwell, mx, contiguous, launch control, pair":
        "grouped --n 136 --k 656 --rows 3,0,130,1,260 --encoding indptr --variant contiguous --scale mx --dtype e4m3 "
        "--config tile=128x64x128,cluster=2x1,pair=1,stages=2,tile_scheduler=clc --sms 4",
    "blackwell, mx, contiguous":
        "grouped --n 136 --k 656 --rows 3,0,130,1 --encoding indptr --variant contiguous --scale mx --dtype e4m3 "
        "--config tile=128x64x128,cluster=2x1,stages=2 --sms 4",
    "blackwell, nv, masked":
        "grouped --n 136 --k 1152 --rows 5,0,130 --encoding masked --variant masked --scale nv --dtype e2m1 --config "
        "tile=128x96x256,stages=2 --sms 2",
    "blackwell, mx, K groups, pair":
        "k-grouped --m 300 --n 264 --ks 128,0,384,256 --encoding starts-counts --scale mx --dtype e4m3 --config "
        "tile=128x256x128,cluster=2x1,pair=1,stages=2 --sms 2",
    "blackwell, nv, K groups":
        "k-grouped --m 200 --n 136 --ks 256,0,1280,256 --scale nv --dtype e2m1 --accumulate --config "
        "tile=128x64x256,stages=4 --sms 2",
    "blackwell, quantise to mxfp8":
        "gemm --m 300 --n 288 --k 200 --dtype bf16 --out-dtype e4m3 --config tile=128x128x64,stages=2 --sms 2 "
        "--epilogue 'quantise_mx(gelu(acc + bias))'",
    "blackwell, mx, quantise to mxfp4, pair":
        "gemm --m 300 --n 576 --k 400 --batch 2 --scale mx --dtype e4m3 --out-dtype e2m1 --config "
        "tile=128x256x128,cluster=2x1,pair=1,stages=2 --sms 2 --epilogue 'quantise_mx(swiglu(acc))'",
    "blackwell, nv, quantise to nvfp4":
        "gemm --m 300 --n 288 --k 1152 --scale nv --dtype e2m1 --out-dtype e2m1 --config "
        "tile=128x128x256,cluster=2x1,stages=2 --sms 2 --epilogue 'quantise_nv(acc)'",
    "blackwell, mx, contiguous, quantise to mxfp8":
        "grouped --n 288 --k 528 --rows 3,0,130,1 --variant contiguous --scale mx --dtype e4m3 --out-dtype e4m3 "
        "--config tile=128x128x128,stages=2 --sms 2 --epilogue 'quantise_mx(acc)'",
    "blackwell, nv, masked, quantise to nvfp4":
        "grouped --n 224 --k 1152 --rows 5,0,130 --encoding masked --variant masked --scale nv --dtype e2m1 --out-dtype "
        "e2m1 --config tile=128x64x256,cluster=1x1,stages=2 --sms 2 --epilogue 'quantise_nv(silu(acc))'",
}
BLACKWELL_FAMILIES = {name: f"{arguments} --device emu:sm100" for name, arguments in BLACKWELL_FAMILIES.items()}
