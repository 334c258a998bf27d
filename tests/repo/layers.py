# SPDX-License-Identifier: Apache-2.0
"""The layers of include/warpwright: each includes itself and those before it, no standard or CUDA header, and only
arch/ holds assembly, __CUDA_ARCH__ and calls of the emulator's table."""
import pathlib
import re
from typing import List

import tree

INCLUDE = re.compile(r'^\s*#\s*include\s*(\S+)', re.M)
INSTRUCTIONS = [
    (re.compile(r"\b(asm|__asm__|__asm)\b"), "assembly"),
    (re.compile(r"\b__CUDA_ARCH(_\w+)?__"), "__CUDA_ARCH__"),
    (re.compile(r"\bEmuTable\b|\b(arch::)?table\s*->"), "a call of the emulator's table"),
]


def line_of(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def check_include(root: pathlib.Path, layer: str, target: str) -> str:
    """Empty when `layer` may include `target`, else the reason."""
    match = re.fullmatch(r'"warpwright/([\w]+)/([\w./]+)"', target)
    if not match:
        return f'expected an include of the form "warpwright/<layer>/<file>", got {target}'
    if match.group(1) not in tree.LAYERS[: tree.LAYERS.index(layer) + 1]:
        return f"layer {layer} includes {target}, which does not come before it ({' < '.join(tree.LAYERS)})"
    if not (root / "include" / target.strip('"')).is_file():
        return f"{target} does not exist"
    return ""


def check(root: pathlib.Path) -> List[tree.Finding]:
    findings = []
    for layer in tree.LAYERS:
        for path in tree.files(root, f"include/warpwright/{layer}"):
            text = path.read_text()
            for match in INCLUDE.finditer(text):
                reason = check_include(root, layer, match.group(1))
                if reason:
                    findings.append(tree.Finding(path, line_of(text, match.start(1)), reason))
    for path in tree.files(root, "include", "src", "examples"):
        inside = path.relative_to(root).parts
        if path.suffix not in tree.CPP_SUFFIXES or inside[:3] == ("include", "warpwright", "arch"):
            continue
        code = tree.code_only(path.read_text())
        for pattern, name in INSTRUCTIONS:
            # the emulator implements its table and reads the compiler's state; a kernel may not
            if inside[0] == "src" and name.endswith("table"):
                continue
            for match in pattern.finditer(code):
                findings.append(tree.Finding(path, line_of(code, match.start()), f"{name} outside include/warpwright/arch"))
    return findings


if __name__ == "__main__":
    tree.main(check)
