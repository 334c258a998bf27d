# SPDX-License-Identifier: Apache-2.0
"""clang-format 14 changes nothing below include, src, tests, examples and bindings, and no line is longer than 120 columns.
Generated folders are exempt. Exit 77 (skipped) without clang-format 14: other versions lay out differently."""
import pathlib
import shutil
import subprocess
import sys

import tree

MAX_COLUMNS = 120
SKIPPED = 77


def clang_format_14() -> str:
    for name in ("clang-format-14", "clang-format"):
        path = shutil.which(name)
        if path and "version 14." in subprocess.run([path, "--version"], capture_output=True, text=True).stdout:
            return path
    return ""


def main() -> int:
    root, tool = pathlib.Path(sys.argv[1]).resolve(), clang_format_14()
    if not tool:
        print("no clang-format 14 on this machine: skipped")
        return SKIPPED
    sources = [path for path in tree.files(root, "include", "src", "tests", "examples", "bindings")
               if path.suffix in tree.CPP_SUFFIXES and not tree.is_generated(path)]
    wide = [f"{path.relative_to(root)}:{number}: {len(line)} columns"
            for path in sources for number, line in enumerate(path.read_text().split("\n"), 1) if len(line) > MAX_COLUMNS]
    def differs(*paths: pathlib.Path) -> bool:
        return subprocess.run([tool, "--dry-run", "-Werror", *map(str, paths)], capture_output=True).returncode != 0

    # All files at once first, because starting clang-format takes longer than formatting a file.
    unformatted = [str(path.relative_to(root)) for path in sources if differs(path)] if differs(*sources) else []
    print("\n".join(wide))
    if unformatted:
        print(f"not formatted; run: {pathlib.Path(tool).name} -i {' '.join(unformatted)}")
    print(f"{len(sources)} files, {len(unformatted)} not formatted, {len(wide)} lines over {MAX_COLUMNS} columns")
    return 1 if wide or unformatted else 0


if __name__ == "__main__":
    sys.exit(main())
