# SPDX-License-Identifier: Apache-2.0
"""Prints the operations whose hashes are compared on Blackwell: `warpwright` arguments, one row a line.

They cover every recipe, tile and cluster of sm_100's kernels, tile schedulers, layouts, batches, epilogues, swap-AB,
groups of rows and of K, those with scales of mx and nv too, and outputs quantised to mx and nv. Extents have tails. --sms
makes the order of sums the same on every device."""
SHAPES = ["tile=128x256x0,cluster=2x1,pair=1", "tile=128x128x0,cluster=2x1,pair=1", "tile=128x128x0,cluster=1x1",
          "tile=64x64x0,cluster=1x1", "tile=128x256x0,cluster=1x1", "tile=128x128x0,cluster=4x1,pair=1",
          "tile=128x128x0,cluster=4x2,pair=1", "tile=128x128x0,cluster=4x4,pair=1", "tile=128x64x0,cluster=4x4",
          "tile=64x128x0,cluster=2x1"]
RECIPES = ["bf16 bf16 none bf16", "f16 f16 tensor f16", "tf32 tf32 none f32", "e4m3 e4m3 tensor bf16",
           "e5m2 e4m3 row-column f32", "e4m3 e4m3 block bf16", "e4m3 e4m3 block-1d f32", "bf16 bf16 none f32"]
SCALED = ["e4m3 e4m3 mx bf16", "e4m3 e5m2 mx f32", "e2m1 e2m1 mx bf16", "e2m1 e2m1 nv bf16"]


def gemm(recipe, config, extents="--m 264 --n 296 --k 656", more=""):
    a, b, scale, d = recipe.split()
    return (f"gemm {extents} --dtype {a} --b-dtype {b} --scale {scale} --out-dtype {d} --sms 16 "
            f"--config arch=sm100,{config} {more}").strip()


def rows():
    for i, recipe in enumerate(RECIPES):
        for step in (0, 1, 2):
            shape = SHAPES[(3 * i + step) % len(SHAPES)]
            # Scales of both operands by row take registers, and FP32 outputs shared memory, of a tile of 256 columns.
            wide = "block-1d" in recipe or (recipe.endswith("f32") or "block" in recipe) and "pair" not in shape
            yield gemm(recipe, shape.replace("128x256x0", "128x192x0") if wide else shape)
    for i, recipe in enumerate(SCALED):
        for step in (0, 1):
            shape = [shape for shape in SHAPES if not shape.startswith("tile=64")][(2 * i + step) % 6]
            yield gemm(recipe, shape.replace("128x256x0,cluster=1x1", "128x192x0,cluster=1x1"),
                       "--m 264 --n 320 --k 768")
    pair, alone = "tile=128x128x0,cluster=2x1,pair=1", "tile=128x128x0,cluster=1x1"
    for recipe in ("bf16 bf16 none bf16", "e4m3 e4m3 block bf16"):
        for scheduler in ("dynamic", "stream-k", "clc", "split-k,split=2"):
            yield gemm(recipe, f"{pair},tile_scheduler={scheduler}", "--m 520 --n 648 --k 2064")
        yield gemm(recipe, alone, "--m 264 --n 296 --k 0")
        yield gemm(recipe, alone, "--m 1 --n 8 --k 8208")
        yield gemm(recipe, pair, more="--batch 3")
        yield gemm(recipe, "tile=64x16x0,swap_ab=on", "--m 13 --n 520 --k 1040")
        yield gemm(recipe, pair, more="--epilogue 'gelu(acc*alpha+c*beta+bias)'")
    yield gemm("bf16 bf16 none bf16", pair, more="--layout nn")
    yield gemm("bf16 bf16 none bf16", pair, more="--layout tt --d-layout column")
    for layout, config in (("nn", alone), ("tn", pair), ("tt", "tile=128x64x0,cluster=4x1")):
        yield gemm("tf32 tf32 none f32", config, more=f"--layout {layout}")
    for layout, config in (("nn", "tile=128x128x0,cluster=1x1"), ("tn", "tile=128x256x0,cluster=2x1,pair=1"), ("tt", pair)):
        yield gemm("e4m3 e5m2 mx bf16", config, more=f"--layout {layout}")
    for config in (alone, "tile=64x128x0"):
        for variant in ("contiguous", "masked"):
            encoding = "masked" if variant == "masked" else "offsets"
            for recipe in ("--dtype e4m3 --scale block", "--dtype bf16"):
                yield (f"grouped --n 264 --k 384 --rows 3,0,200,129 {recipe} --encoding {encoding} --variant {variant} "
                       f"--sms 16 --config arch=sm100,{config}")
    for encoding in ("offsets", "masked"):
        yield (f"grouped --n 264 --k 384 --rows 3,0,200,129 --dtype bf16 --encoding {encoding} --variant "
               f"{'masked' if encoding == 'masked' else 'contiguous'} --sms 16 --config arch=sm100,{pair}")
    yield (f"grouped --n 264 --k 416 --rows 3,0,200,129 --dtype e2m1 --scale nv --variant contiguous --sms 16 --config "
           f"arch=sm100,{pair}")
    yield gemm("e2m1 e2m1 nv bf16", "tile=128x256x0,cluster=2x1,pair=1", "--m 264 --n 512 --k 672",
               "--epilogue 'swiglu_halves(acc)'")
    yield f"k-grouped --m 264 --n 136 --ks 128,0,300,77 --dtype bf16 --sms 16 --config arch=sm100,{pair}"
    yield f"k-grouped --m 264 --n 136 --ks 128,0,384 --dtype e4m3 --sms 16 --config arch=sm100,{alone}"
    yield (f"grouped --n 272 --k 400 --rows 3,0,200,129 --dtype e4m3 --scale mx --layout nn --encoding masked "
           f"--variant masked --sms 16 --config arch=sm100,{alone}")
    yield ("k-grouped --m 272 --n 304 --ks 128,0,384 --dtype e4m3 --scale mx --layout tn --sms 16 --config "
           "arch=sm100,tile=128x256x0,cluster=2x1,pair=1")
    for recipe in ("--dtype e4m3 --scale mx", "--dtype e2m1 --scale mx", "--dtype e2m1 --scale nv"):
        for encoding, variant in (("offsets", "contiguous"), ("masked", "masked")):
            yield (f"grouped --n 264 --k 768 --rows 3,0,200,129 {recipe} --encoding {encoding} --variant {variant} "
                   f"--sms 16 --config arch=sm100,{alone}")
        yield f"k-grouped --m 264 --n 136 --ks 256,0,768 {recipe} --sms 16 --config arch=sm100,{pair}"
    for recipe, epilogue in (("bf16 bf16 none e4m3", "quantise_mx(acc*alpha+bias)"), ("e4m3 e4m3 mx e2m1", "quantise_mx(acc)"),
                             ("e2m1 e2m1 nv e2m1", "quantise_nv(acc)")):
        for config in (alone, pair):
            yield gemm(recipe, config, "--m 264 --n 320 --k 768", f"--epilogue '{epilogue}'")
    for recipe, epilogue in (("--dtype e4m3 --scale mx --out-dtype e4m3", "quantise_mx(acc)"),
                             ("--dtype e2m1 --scale nv --out-dtype e2m1", "quantise_nv(acc)")):
        yield (f"grouped --n 320 --k 768 --rows 3,0,200,129 {recipe} --variant contiguous --sms 16 --epilogue '{epilogue}' "
               f"--config arch=sm100,{alone}")


if __name__ == "__main__":
    print("\n".join(rows()))
