# SPDX-License-Identifier: Apache-2.0
"""Each public header compiles alone: headers_alone.py <root> <compiler> [<seed>]: all, or the third that the seed chooses.

The kernel layers get no include path but ours (-nostdinc, -nostdinc++), so a standard header there is an error whatever
its spelling. Headers for the host see the standard library. Not here: NVRTC, see nvrtc_headers_test.cpp.
"""
import concurrent.futures
import os
import pathlib
import subprocess
import sys
from typing import List, Tuple

import tree

FLAGS = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-x", "c++", "-"]


def compile_alone(root: pathlib.Path, command: List[str], header: pathlib.Path) -> Tuple[pathlib.Path, str]:
    name = header.relative_to(root / "include")
    kernel_layer = len(name.parts) > 1 and name.parts[1] in tree.LAYERS
    nothing_else = ["-nostdinc", "-nostdinc++"] if kernel_layer else []
    # Included twice, so that a missing include guard shows.
    source = f'#include "{name}"\n#include "{name}"\n'
    result = subprocess.run([*command, *nothing_else, f"-I{root / 'include'}", *FLAGS], input=source, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return name, result.stdout if result.returncode else ""


def main() -> int:
    root, command = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:3]
    headers = sorted(path for path in tree.files(root, "include") if path.suffix == ".hpp")
    if len(sys.argv) > 3:
        headers = headers[int(sys.argv[3], 0) % 3::3]
    with concurrent.futures.ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        broken = [(name, text) for name, text in pool.map(lambda h: compile_alone(root, command, h), headers) if text]
    for name, text in broken:
        print(f"--- {name} does not compile alone with {' '.join(command)}\n{text}")
    print(f"{len(headers)} headers, {len(broken)} broken")
    return 1 if broken or not headers else 0


if __name__ == "__main__":
    sys.exit(main())
