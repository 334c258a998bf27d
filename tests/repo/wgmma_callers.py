# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of emulated wgmma has one caller, the warpgroup engine, which owns the accumulators while an
instruction is in flight: any other would compute what no checker sees. wgmma_callers.py <archive> [nm]
Exit status 77: there is no nm."""
import pathlib
import re
import shutil
import subprocess
import sys
from typing import List

ENTRY = {"mma_m64": "warpgroup_engine.cpp.o"}  # and who calls it
BODIES = re.compile(r"mma_(m64_on|exact_\w+|chain)$")  # of which the entry alone knows
HOME = "mma.cpp.o"
SYMBOL = re.compile(r"(?:.*:)?([^:]+): *[0-9a-f]* +([A-Za-z]) _ZN2ww3emu(\d+)(mma_\w+)")


def faults(listing: str) -> List[str]:
    """What is wrong with the output of `nm -A`."""
    found, calls = [], set()
    for member, kind, length, mangled in SYMBOL.findall(listing):
        name = mangled[: int(length)]
        if kind != "U":
            continue
        calls.add((name, member))
        owner = ENTRY.get(name, HOME if BODIES.match(name) else member)
        if member != owner:
            found.append(f"expected calls of {name} from {owner} alone, got one from {member}")
    found += [f"expected a call of {name} from {owner}, got none" for name, owner in ENTRY.items()
              if (name, owner) not in calls]
    return found


def main() -> int:
    archive, wanted = pathlib.Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "nm"
    nm = shutil.which(wanted)
    if nm is None:
        print(f"no {wanted} here")
        return 77
    found = faults(subprocess.run([nm, "-A", str(archive)], text=True, stdout=subprocess.PIPE, check=True).stdout)
    for fault in found:
        print(f"{archive}: {fault}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
