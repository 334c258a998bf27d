# SPDX-License-Identifier: Apache-2.0
"""The GEMM kernels of sm_100a as ptxas and nvdisasm see them: no device is needed to assemble.

sm100_kernels.py <folder of the Python environment> <ptxas_report> <seed> <count, or all> [<result.json>]

ptxas_report assembles the kernels of sm100_list.hpp with NVRTC and judges registers, spills and warnings. Here the
disassembly of each must hold the instructions that its config promises: MMAs of its kind and of a pair where it has one,
multicast loads in clusters, commits, reads of tensor memory and its allocation. An instruction of one thread in a loop
over the lanes of its warp is a fault, and so is any instruction of Hopper's tensor core. The exit status is 77 (skipped)
without NVRTC of CUDA 12.8 or later, or without nvdisasm; with CI set that is a failure."""
import collections
import concurrent.futures
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from typing import Dict, Iterator, List

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "arch"))
import sm100_code  # noqa: E402

TABLE = r"UTC\w+|UTMALDG|UTMASTG|UTMAREDG|LDTM|UGETNEXTWORKID|UVIRTCOUNT|BRA\.U\.ANY|[HQ]GMMA"


def fields_of(text: str) -> Dict[str, str]:
    """The keys and values of a config's text, or a cast's. Commas inside the parentheses of an epilogue separate no keys."""
    return dict(part.split("=", 1) for part in re.split(r",(?![^()]*\))", text) if "=" in part)


def mma_of(config: Dict[str, str]) -> str:
    if config["a"] in ("bf16", "f16", "tf32"):
        return "UTCHMMA"
    packed = config["a"] == config["b"] == "e2m1"
    return "UTCOMMA" if packed and config["scale"] in ("mx", "nv") else "UTCQMMA"


def expected(config: Dict[str, str]) -> List[str]:
    """Patterns of instructions, each of which the kernel has."""
    if "cast" in config:
        return [r"LDG\.", r"STG\."]
    pair = config.get("pair") == "1"
    two = r"\.2CTA" if pair else ""
    cluster = [int(n) for n in config["cluster"].split("x")]
    shares_a, shares_b = cluster[1] > 1, cluster[0] > (2 if pair else 1)
    patterns = [f"{mma_of(config)}{two}(\\.4X)? ", f"UTCBAR{two}(\\.MULTICAST)? ", r"LDTM\.", f"UTCATOMSWS{two}\\.FIND_AND_SET",
                r"UTCATOMSWS\.AND", rf"UTMALDG\.\dD(\.MULTICAST)?{two} "]
    if shares_a or shares_b:
        patterns += [rf"UTMALDG\.\dD\.MULTICAST{two} ", f"UTCBAR{two}\\.MULTICAST "]
    if config["scale"] in ("mx", "nv"):
        patterns += [rf"UTCCP\.T\.S{two}"]
    if config["tile_scheduler"] == "clc":
        patterns += [r"UGETNEXTWORKID\."]
    return patterns


def faults(config: Dict[str, str], lines: List[str]) -> Iterator[str]:
    for pattern in expected(config):
        if not any(re.match(pattern, line) for line in lines):
            yield f"no instruction {pattern}"
    mma = mma_of(config) if "a" in config else "none"
    for line in lines:
        opcode = line.split()[0]
        if opcode.startswith("BRA.U.ANY"):
            yield "an instruction of one thread in a loop over the lanes of its warp"
        if re.match("[HQ]GMMA", opcode):
            yield f"{opcode} of Hopper"
        if re.match("UTC[A-Z]MMA", opcode) and not opcode.startswith(mma):
            yield f"{opcode}, not {mma}"
        if opcode.startswith("UTC") and "cast" in config:
            yield f"{opcode} in a cast"
        if ".2CTA" in opcode and config.get("pair") != "1":
            yield f"{opcode} without a pair"


def look_at(nvdisasm: pathlib.Path, cubin: pathlib.Path) -> dict:
    registers, threads, name = cubin.with_suffix(".txt").read_text().strip().split(" ", 2)
    lines = [line for kernel in sm100_code.disassemble(nvdisasm, cubin).values() for line in kernel]
    config = fields_of(name)
    counted = collections.Counter(line.split()[0] for line in lines if re.match(TABLE, line))
    return {"config": name, "registers": int(registers), "threads": int(threads), "instructions": len(lines),
            "opcodes": dict(sorted(counted.items())), "faults": sorted(set(faults(config, lines)))}


def finds_faults() -> Iterator[str]:
    """Each pattern is missed in a kernel without its instruction, and each foreign instruction is found."""
    config = fields_of("arch=sm100,a=bf16,b=bf16,scale=none,cluster=4x2,pair=1,tile_scheduler=clc")
    whole = ["UTCHMMA.2CTA gdesc[UR]", "UTCBAR.2CTA.MULTICAST [UR]", "LDTM.x32 R", "UTCATOMSWS.2CTA.FIND_AND_SET.ALIGN UP",
             "UTCATOMSWS.AND URZ", "UTMALDG.3D.MULTICAST.2CTA [UR]", "UGETNEXTWORKID.BROADCAST [UR]"]
    if list(faults(config, whole)):
        yield f"faults where none are: {list(faults(config, whole))}"
    yield from (f"{line} is not missed" for i, line in enumerate(whole) if not list(faults(config, whole[:i] + whole[i + 1:])))
    yield from (f"{line} is not found" for line in ("BRA.U.ANY UP", "HGMMA.64x8x16.F32 R", "UTCQMMA.2CTA gdesc[UR]")
                if not list(faults(config, [*whole, line])))
    if not list(faults(fields_of("cast=mx,x=bf16,q=e4m3"), ["LDG.E R", "STG.E [R]", "UTCBAR [UR]"])):
        yield "an instruction of the tensor core in a cast is not found"
    if not list(faults({**config, "pair": "0"}, [line.replace(".2CTA", "") for line in whole] + ["UTCBAR.2CTA [UR]"])):
        yield "2CTA without a pair is not found"


def main() -> int:
    environment, program, seed, count = pathlib.Path(sys.argv[1]), *sys.argv[2:5]
    missed = list(finds_faults())
    if missed:
        print("\n".join(missed))
        return 1
    nvrtc, nvdisasm = sm100_code.find_nvrtc(), sm100_code.find_nvdisasm(environment)
    if nvrtc is None or nvdisasm is None:
        return sm100_code.skip("no NVRTC of CUDA 12.8 or later, or no nvdisasm: nothing was assembled for sm_100a")
    with tempfile.TemporaryDirectory() as folder:
        said = subprocess.run([program, "sm100", seed, count, folder], text=True, capture_output=True, check=False)
        print(said.stdout + said.stderr)
        cubins = sorted(pathlib.Path(folder).glob("*.cubin"))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            kernels = list(pool.map(lambda cubin: look_at(nvdisasm, cubin), cubins))
    broken = [kernel for kernel in kernels if kernel["faults"]]
    for kernel in broken:
        print(f"{kernel['config']}\n    " + "\n    ".join(kernel["faults"]))
    print(f"{len(kernels)} kernels disassembled, {len(broken)} with a fault; {min(k['registers'] for k in kernels)} to "
          f"{max(k['registers'] for k in kernels)} registers, {min(k['instructions'] for k in kernels)} to "
          f"{max(k['instructions'] for k in kernels)} instructions" if kernels else "no kernel was disassembled")
    if len(sys.argv) > 5:
        table = {"date": datetime.date.today().isoformat(), "compiler": f"NVRTC {nvrtc.version[0]}.{nvrtc.version[1]}",
                 "target": "sm_100a", "note": "assembled without a device; no such GPU has run any of it",
                 "spilled_bytes": 0 if said.returncode == 0 else None, "kernels": kernels}
        rows = ",\n".join("  " + json.dumps(kernel) for kernel in table.pop("kernels"))
        pathlib.Path(sys.argv[5]).write_text(json.dumps(table, indent=1)[:-2] + f',\n "kernels": [\n{rows}\n ]\n}}\n')
    return 1 if said.returncode or broken or not kernels else 0


if __name__ == "__main__":
    sys.exit(main())
