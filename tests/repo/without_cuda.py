# SPDX-License-Identifier: Apache-2.0
"""Every source that asks for CUDA also compiles without its headers: without_cuda.py <root> <compiler>.
The whole build without a toolkit is install.without_cuda, among the long tests."""
import concurrent.futures
import os
import pathlib
import subprocess
import sys
from typing import Tuple

import tree


def compile_source(root: pathlib.Path, compiler: str, source: pathlib.Path) -> Tuple[pathlib.Path, str]:
    command = [compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-DWARPWRIGHT_HAS_CUDA=0",
               f"-I{root / 'include'}", f"-I{root / 'src'}", str(source)]
    result = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return source.relative_to(root), result.stdout if result.returncode else ""


def main() -> int:
    root, compiler = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    sources = [path for path in tree.files(root, "src")
               if path.suffix == ".cpp" and "WARPWRIGHT_HAS_CUDA" in path.read_text()]
    with concurrent.futures.ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        results = list(pool.map(lambda s: compile_source(root, compiler, s), sources))
    broken = [(name, text) for name, text in results if text]
    for name, text in broken:
        print(f"--- {name} does not compile with WARPWRIGHT_HAS_CUDA=0\n{text}")
    print(f"{len(sources)} sources, {len(broken)} broken")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
