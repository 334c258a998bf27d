# SPDX-License-Identifier: Apache-2.0
"""The instructions beside MMAs and promotion of shipped kernels may not become more: no device is needed to count. And
a kernel lets the next launch in before it waits for the one before, unless several of its CTAs share an SM.

overhead_test.py <folder of the Python environment> <ptxas_report> [--record]

Kernels that ship are compiled by NVRTC and counted by bench/compile/overhead.py, for each k-block and each tile of a role.
overhead_limits.json has the counts that were recorded; a count may exceed its limit by SLACK. --record writes the present
ones. ptxas decides much of a count, so another version of NVRTC than the recorded one is no failure. The exit status is 77
(skipped) without that version or without nvdisasm. The counter itself is tested with a listing of this file."""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from typing import Any, Dict, Iterator, List

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench" / "compile"), str(ROOT / "tests" / "arch")]
import overhead  # noqa: E402
import sm100_code  # noqa: E402

LIMITS = pathlib.Path(__file__).with_name("overhead_limits.json")
SLACK = 1.03
NVRTC = "/usr/local/cuda/lib64/libnvrtc.so.13"

# A loop over tiles (.L_x_1) with one over K (.L_x_2): whole rounds of two k-blocks, or one k-block. A barrier is waited for
# in a loop of its own, and the spin of another warp stands behind the exit.
LISTING = """
  /*0000*/ S2R R0, SR_TID.X ;
.L_x_1:
  /*0010*/ CS2R R2, SRZ ;
.L_x_2:
  /*0020*/ ISETP.EQ.AND P1, PT, RZ, R3, PT ;
  /*0030*/ @P1 BRA `(.L_x_3) ;
  /*0040*/ SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4], R5 ;
  /*0050*/ @!P0 BRA `(.L_x_5) ;
.L_x_6:
  /*0060*/ QGMMA.64x8x32.F32.E4M3.E4M3 R24, gdesc[UR8], RZ, !UPT ;
  /*0070*/ FFMA R8, R9, R24, R8 ;
  /*0080*/ IMAD R9, R9, R9, R9 ;
  /*0090*/ BRA `(.L_x_4) ;
.L_x_3:
  /*00a0*/ QGMMA.64x8x32.F32.E4M3.E4M3 R24, gdesc[UR8], RZ, !UPT ;
  /*00b0*/ FFMA R8, R9, R24, R8 ;
  /*00c0*/ QGMMA.64x8x32.F32.E4M3.E4M3 R24, gdesc[UR8], RZ, !UPT ;
  /*00d0*/ FFMA R8, R9, R24, R8 ;
.L_x_4:
  /*00e0*/ @!P2 BRA `(.L_x_2) ;
  /*00f0*/ @P3 BRA `(.L_x_7) ;
  /*0100*/ STG.E desc[UR4][R2.64], R8 ;
  /*0110*/ STG.E desc[UR4][R2.64], R8 ;
.L_x_7:
  /*0120*/ @!P4 BRA `(.L_x_1) ;
  /*0130*/ EXIT ;
.L_x_5:
  /*0140*/ SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4], R5 ;
  /*0150*/ @P0 BRA `(.L_x_6) ;
  /*0160*/ BRA `(.L_x_5) ;
"""


def faults_of_counter() -> Iterator[str]:
    """A k-block is half of a round: ISETP, two branches. A tile clears, skips the stores and branches twice."""
    def counts(listing: str) -> List[float]:
        roles = overhead.Kernel(listing, 1).roles()
        return [len(roles), overhead.overhead(roles[0].k_block), overhead.overhead(roles[0].tile)]

    if counts(LISTING) != [1, 1.5, 3]:
        yield f"the listing counts {counts(LISTING)}, not one role, 1.5 and 3"
    one_more = "  /*00a8*/ IMAD R9, R9, R9, R9 ;\n"
    if counts(LISTING.replace("  /*00b0*/", one_more + "  /*00b0*/")) != [1, 2, 3]:
        yield "an instruction more in a round is not counted"
    if counts(LISTING.replace("  /*0120*/", one_more + "  /*0120*/")) != [1, 1.5, 4]:
        yield "an instruction more in a tile is not counted"
    rounds = LISTING.replace(".L_x_4:", "  /*00d8*/ @P5 BRA `(.L_x_3) ;\n.L_x_4:")
    if counts(rounds) != [1, 0.5, 3]:
        yield f"with rounds in a loop of their own the listing counts {counts(rounds)}, not one role, 0.5 and 3"


def fields_of(text: str) -> Dict[str, str]:
    return dict(part.split("=", 1) for part in re.split(r",(?![^()]*\))", text) if "=" in part)


def source_of(folder: pathlib.Path, wanted: Dict[str, str]) -> pathlib.Path:
    """The first kernel whose config has the wanted fields; an empty value is a field that it does not have."""
    for path in sorted(folder.glob("*.cu")):
        fields = fields_of(path.read_text().partition("\n")[0].replace("// ", ""))
        if all(fields.get(name, "") == value for name, value in wanted.items()):
            return path
    raise SystemExit(f"overhead_limits.json: no kernel that ships has {wanted}")


def count(nvdisasm: pathlib.Path, source: pathlib.Path) -> Dict[str, Any]:
    said = subprocess.run([sys.executable, "-B", overhead.__file__, str(ROOT / "include"), str(source), "--json"], text=True,
                          capture_output=True, check=False, env={**os.environ, "NVDISASM": str(nvdisasm)})
    if said.returncode != 0:
        raise SystemExit(said.stdout + said.stderr)
    return json.loads(said.stdout)


def excesses(kernel: Dict[str, Any], counted: Dict[str, Any]) -> Iterator[str]:
    for role, limits in kernel["roles"].items():
        for what, limit in limits.items():
            got = counted.get(role, {}).get(what)
            if got is None:
                yield f"{role}: not found"
            elif got > limit * SLACK:
                yield f"{role}: expected at most {limit} instructions of each {what}, got {got}"


def main() -> int:
    broken = list(faults_of_counter())
    if broken:
        print("\n".join(broken))
        return 1
    environment, program = pathlib.Path(sys.argv[1]), sys.argv[2]
    table = json.loads(LIMITS.read_text())
    nvrtc, nvdisasm = sm100_code.find_nvrtc(), sm100_code.find_nvdisasm(environment)
    version = f"{nvrtc.version[0]}.{nvrtc.version[1]}" if nvrtc else "none"
    if nvdisasm is None or not pathlib.Path(NVRTC).exists() or version != table["nvrtc"] and "--record" not in sys.argv:
        return sm100_code.skip(f"NVRTC {table['nvrtc']} and nvdisasm: got {version}, {nvdisasm}; nothing was counted")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, "sources", folder], check=True, capture_output=True)
        sources = [source_of(pathlib.Path(folder), kernel["config"]) for kernel in table["kernels"]]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            found = list(pool.map(lambda source: count(nvdisasm, source), sources))
    failures = 0
    for kernel, listed in zip(table["kernels"], found):
        counted = listed["roles"]
        if "--record" in sys.argv:
            kernel["roles"] = counted
        faults = list(excesses(kernel, counted))
        if listed["waits_first"] and "occupancy" not in kernel["config"]:
            faults.append("it waits for the launch before it lets the next one in")
        failures += len(faults)
        print(",".join(f"{name}={value}" for name, value in kernel["config"].items()))
        print("   ", "; ".join(f"{role} {c['k-block']} a k-block, {c['tile']} a tile" for role, c in counted.items()))
        print(*(f"    {fault}" for fault in faults), sep="\n" if faults else "", end="\n" if faults else "")
    if "--record" in sys.argv:
        rows = ",\n".join("  " + json.dumps(kernel) for kernel in table["kernels"])
        LIMITS.write_text(f'{{\n "nvrtc": "{version}",\n "kernels": [\n{rows}\n ]\n}}\n')
    print(f"{len(found)} kernels counted, {failures} counts beyond their limits")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
