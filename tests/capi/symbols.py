# SPDX-License-Identifier: Apache-2.0
"""The shared library exports the functions that the C headers declare, and nothing else.

symbols.py <libwarpwright.so> <warpwright.h> <nm>"""
import pathlib
import re
import subprocess
import sys


def main() -> int:
    library, header, nm = sys.argv[1:4]
    text = ""
    for part in pathlib.Path(header).parent.glob("*.h"):
        text += re.sub(r"/\*.*?\*/|//[^\n]*", "", part.read_text(), flags=re.S)
    declared = set(re.findall(r"WW_API[^;]*?\b(ww_\w+)\(", text))
    listed = subprocess.run([nm, "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    exported = {line.split()[-1].split("@")[0] for line in listed.splitlines()}
    for name in sorted(exported - declared):
        print(f"{library} exports {name}, which {header} does not declare")
    for name in sorted(declared - exported):
        print(f"{header} declares {name}, which {library} does not export")
    if len(declared) < 50:
        print(f"{header}: found {len(declared)} functions, expected at least 50")
    return 0 if exported == declared and len(declared) >= 50 else 1


if __name__ == "__main__":
    sys.exit(main())
