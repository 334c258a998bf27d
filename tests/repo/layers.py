# SPDX-License-Identifier: Apache-2.0
"""Which folder may include which. The kernel layers of include/warpwright include themselves and those before them, no
standard or CUDA header, only arch/ holds assembly, __CUDA_ARCH__ and calls of the emulator's table, and only a few
folders name the MMA instruction. Every folder of
include/, src/ and bench/native includes what ARROWS lists, and no folder reaches itself through others. In src/emu what
belongs to one machine is in that machine's folder.

layers.py <root>          finds what breaks these rules, and a CONTRIBUTING.md whose table is not ARROWS
layers.py <root> --table  prints that table"""
import pathlib
import re
import sys
from typing import Dict, List, Set, Tuple

import tree

INCLUDE = re.compile(r'^\s*#\s*include\s*(\S+)', re.M)
INSTRUCTIONS = [
    (re.compile(r"\b(asm|__asm__|__asm)\b"), "assembly"),
    (re.compile(r"\b__CUDA_ARCH(_\w+)?__"), "__CUDA_ARCH__"),
    (re.compile(r"\bEmuTable\b|\b(arch::)?(\w+_)?table\s*->"), "a call of the emulator's table"),
]
# Hopper's MMA instruction, and the arithmetic of its accumulator: the row and column of a thread's values. Folders of
# include/warpwright other than these take both from atom::Fragment.
MMA_FOLDERS = ("arch/", "atom/", "mainloop/sm90/")
MMA = re.compile(r"wgmma|\bSm90Accumulator\b|\barch::Accumulator\b|\bv / 2\)? % 2\b|\bthread( % 32)? / 4\b"
                 r"|\* \(thread (/ 32|% 4)\)")

# Folders of src/ and bench/ as they are; those of include/warpwright by their own names; host is the public interface.
# Headers of a folder's own are not listed.
ARROWS: Dict[str, str] = {
    "core": "",
    "layout": "core",
    "arch": "core",
    "atom": "core layout arch",
    "pipeline": "core arch",
    "config": "core arch pipeline",
    "scheduler": "core arch pipeline config",
    "mainloop": "arch atom pipeline config scheduler",
    "epilogue": "arch atom pipeline config scheduler",
    "kernel": "arch pipeline config scheduler mainloop epilogue",
    "host": "core arch config",
    "warpwright.hpp": "host",
    "check.h": "",
    "quantize.h": "",
    "warpwright.h": "check.h quantize.h",
    "src/host": "core host",
    "src/config": "config host",
    "src/reference": "core config host",
    "src/io": "host src/host src/reference",
    "src/tuning": "config host src/host src/io",
    "src/layout": "host",
    "src/measure": "host",
    "src/jit": "core host src/host",
    "src/emu": "core arch host src/host",
    "src/runtime": "core arch host src/host src/tuning src/jit src/emu",
    "src/select": "core config scheduler host",
    "src/launch": "core arch config scheduler kernel host src/host src/config src/jit src/runtime src/select",
    "src/ops": "core config host src/host src/config src/tuning src/jit src/runtime src/select src/launch",
    "src/operations": "core config host src/config src/reference src/io src/ops",
    "src/check": "config host src/host src/config src/reference src/jit src/runtime src/operations",
    "src/facts": "config host src/io src/operations src/check",
    "src/capi": "config host warpwright.h src/host src/io src/jit src/runtime src/facts",
    "bench/native": "core host src/host src/config src/reference src/io src/tuning src/measure src/jit src/runtime src/ops "
                    "src/operations",
    "src/cli": "core config host src/host src/config src/reference src/io src/layout src/measure src/jit "
               "src/runtime src/operations src/check src/facts bench/native",
}
# Words of one emulated machine. Only its folder in src/emu and the list of machines have them, because the engines that
# machines share know a machine by its model alone.
MACHINE_WORDS = {
    "sm90": re.compile(r"wgmma|hopper|sm_?90", re.I),
    "sm100": re.compile(r"tcgen05|blackwell|sm_?100", re.I),
}
MACHINE_LIST = "machines.cpp"
BEGIN, END = "<!-- arrows: tests/repo/layers.py --table -->\n", "<!-- end of arrows -->\n"
OURS = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)


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


def folder_of(path: str) -> str:
    """Empty for a header that lies beside the file that includes it."""
    parts = pathlib.PurePosixPath(path).parts
    if parts[0] in ("src", "bench"):
        return "/".join(parts[:2])
    return parts[2] if len(parts) > 3 else parts[-1]


def target_of(root: pathlib.Path, include: str) -> str:
    for folder in ("include", "src", "."):
        if "/" in include and (root / folder / include).is_file():
            return folder_of(str(pathlib.PurePosixPath(folder) / include))
    return ""


def arrows_of(root: pathlib.Path) -> Dict[Tuple[str, str], Tuple[pathlib.Path, int]]:
    """Every pair of folders of which one includes the other, and where it does first."""
    found: Dict[Tuple[str, str], Tuple[pathlib.Path, int]] = {}
    for path in tree.files(root, "include", "src", "bench/native"):
        if path.suffix not in tree.CPP_SUFFIXES or tree.is_generated(path):
            continue
        text = path.read_text()
        source = folder_of(path.relative_to(root).as_posix())
        for match in OURS.finditer(text):
            target = target_of(root, match.group(1))
            if target and target != source:
                found.setdefault((source, target), (path, line_of(text, match.start(1))))
    return found


def cycles(arrows: Set[Tuple[str, str]]) -> List[str]:
    """Folders that reach themselves."""
    reached = set(arrows)
    while True:
        more = {(a, d) for a, b in reached for c, d in arrows if b == c} - reached
        if not more:
            return sorted({a for a, b in reached if a == b})
        reached |= more


def table() -> str:
    rows = "".join(f"| `{folder}` | {allowed or 'nothing'} |\n" for folder, allowed in ARROWS.items())
    return f"| folder | may include |\n|---|---|\n{rows}"


def check_arrows(root: pathlib.Path) -> List[tree.Finding]:
    findings = []
    rank = {layer: position for position, layer in enumerate(tree.LAYERS)}
    # an include upwards among the kernel layers is reported by check_include
    arrows = {(a, b): place for (a, b), place in arrows_of(root).items() if rank.get(b, -1) <= rank.get(a, len(rank))}
    for (source, target), (path, line) in sorted(arrows.items()):
        if target not in ARROWS.get(source, "").split():
            findings.append(tree.Finding(path, line, f"{source} includes {target}, which its row of ARROWS does not list"))
    for folder in cycles(set(arrows)):
        path, line = next(place for (source, _), place in sorted(arrows.items()) if source == folder)
        findings.append(tree.Finding(path, line, f"{folder} includes itself through other folders"))
    listed = {(folder, target) for folder, allowed in ARROWS.items() for target in allowed.split()}
    for folder in cycles(listed):
        findings.append(tree.Finding(pathlib.Path(__file__), 1, f"ARROWS lets {folder} include itself through others"))
    contributing = root / "CONTRIBUTING.md"
    if contributing.is_file() and f"{BEGIN}{table()}{END}" not in contributing.read_text():
        findings.append(tree.Finding(contributing, 1, "its table of folders is not that of layers.py --table"))
    return findings


def check_mma(root: pathlib.Path, layer: str) -> List[tree.Finding]:
    """Where a layer that is not of Hopper's MMA names its instruction, its header or its accumulator's layout."""
    findings = []
    base = root / "include" / "warpwright"
    for path in tree.files(root, f"include/warpwright/{layer}"):
        if path.relative_to(base).as_posix().startswith(MMA_FOLDERS):
            continue
        text = path.read_text()
        code = tree.code_only(text)
        found = [(code, match.start(), match.group()) for match in MMA.finditer(code)]
        found += [(text, match.start(1), match.group(1)) for match in OURS.finditer(text)
                  if match.group(1).startswith("warpwright/arch/sm90/")]
        findings += [tree.Finding(path, line_of(where, offset), f"{words}: an MMA instruction or its accumulator's layout "
                                  f"outside {', '.join(MMA_FOLDERS)}") for where, offset, words in found]
    return findings


def check_machines(root: pathlib.Path) -> List[tree.Finding]:
    findings = []
    for path in tree.files(root, "src/emu"):
        inside = path.relative_to(root / "src/emu").parts
        if not tree.is_text(path) or inside == (MACHINE_LIST,):
            continue
        for machine, words in MACHINE_WORDS.items():
            if inside[0] == machine:
                continue
            text = path.read_text()
            for match in words.finditer(text):
                if path.name == "CMakeLists.txt" and match.group(0) == machine:
                    continue  # it names the folder
                findings.append(tree.Finding(path, line_of(text, match.start()),
                                             f"{match.group(0)} outside src/emu/{machine}, of which alone it is"))
    return findings


def check(root: pathlib.Path) -> List[tree.Finding]:
    findings = check_arrows(root) + check_machines(root)
    for layer in tree.LAYERS:
        for path in tree.files(root, f"include/warpwright/{layer}"):
            text = path.read_text()
            for match in INCLUDE.finditer(text):
                reason = check_include(root, layer, match.group(1))
                if reason:
                    findings.append(tree.Finding(path, line_of(text, match.start(1)), reason))
        findings += check_mma(root, layer)
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
    if "--table" in sys.argv:
        print(BEGIN + table() + END, end="")
    else:
        tree.main(check)
