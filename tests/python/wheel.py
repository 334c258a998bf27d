# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel from a copy of the tracked files, installs it into an empty environment, deletes the copy, and shows that
the installed package takes its kernels from its pack: on a stand-in for the CUDA driver, and without any NVRTC.

wheel.py <source> <stand-in driver> <work folder>

Exit 77 (skipped) where no package index is reached; with CI set that is a failure."""
import os
import pathlib
import shutil
import subprocess
import sys
import venv
import zipfile

MOST_BYTES = 20 << 20
SKIPPED = 77

# Kernels of the pack: products with the small kernels that they need, casts and a transpose.
PREPARE = """
import warpwright
from warpwright import GemmProblem, GroupedProblem
assert "site-packages" in warpwright.__file__, warpwright.__file__
device = warpwright.Device("cuda:0")
block = dict(scale="block")
cases = [GemmProblem(m, 7168, 2048, **block) for m in (1, 64, 4096)] + [GemmProblem(64, 4096, 4096, a="bf16", b="bf16")]
cases += [GroupedProblem(groups=256, rows=4096, n=4096, k=7168, zero_outside=True, **block)]
cases += ["quantize=1x128,rows=1,transposed=1", "quantize=128x128,rows=1,transposed=1", "transpose=e4m3"]
report = warpwright.prepare(cases, device)
for kernel in report["kernels"]:
    print(f"{kernel['seconds']:.4f} s  {kernel['config']}  {kernel.get('error', '')}")
counts = device.counters()
print(counts)
assert report["failed"] == 0 and len(report["kernels"]) == len(cases)
assert counts["kernels"] == len(cases) + 1 and counts["compiled"] == 0, counts
"""


def run(command, **settings):
    print("$", " ".join(map(str, command)), flush=True)
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **settings)
    print(done.stdout[-4000:], done.stderr[-4000:], sep="", flush=True)
    return done


def checked(command, **settings):
    done = run(command, **settings)
    if done.returncode != 0:
        sys.exit(f"exit status {done.returncode}")
    return done


def copy_of(source, folder):
    listed = subprocess.run(["git", "-C", source, "ls-files", "-z"], capture_output=True, check=False).stdout.decode()
    for name in filter(None, listed.split("\0")):
        if (source / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / name, folder / name)
    return bool(listed)


def main():
    source, driver, work = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
    shutil.rmtree(work, ignore_errors=True)
    copy, wheels, home = work / "copy", work / "wheels", work / "venv"
    if not copy_of(source, copy):
        print("skipped: the source is no checkout of git")
        return SKIPPED
    venv.EnvBuilder(with_pip=True).create(home)
    python, pip = home / "bin/python", [home / "bin/python", "-m", "pip", "--disable-pip-version-check"]
    reached = run([*pip, "download", "-q", "--no-deps", "-d", work / "tools", "auditwheel", "abi3audit"])
    if reached.returncode != 0:
        print("skipped: no package index is reached")
        return 1 if os.environ.get("CI", "0") not in ("", "0", "false") else SKIPPED
    checked([*pip, "wheel", "--no-deps", "-v", "-w", wheels, copy])
    wheel, = wheels.glob("warpwright-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    packs = [name for name in names if name.endswith(".wwpack")]
    print(f"{wheel.name}: {wheel.stat().st_size} bytes, {len(names)} files, packs: {packs}")
    assert wheel.stat().st_size <= MOST_BYTES and "cp310-abi3" in wheel.name
    headers = {path.name for path in (copy / "include" / "warpwright").glob("*.h")}
    assert headers == {pathlib.PurePath(name).name for name in names if name.endswith(".h")}, headers
    shutil.rmtree(copy)
    checked([*pip, "install", "-q", wheel])

    away = {name: value for name, value in os.environ.items() if not name.startswith(("WARPWRIGHT", "PYTHON"))}
    away |= {"WARPWRIGHT_CUDA_DRIVER": str(driver), "WARPWRIGHT_NVRTC": "/nonexistent/libnvrtc.so",
             "WARPWRIGHT_CACHE_DIR": str(work / "cache"), "CUDA_HOME": ""}
    if packs:
        checked([python, "-c", PREPARE], env=away, cwd=work)
        traced = checked([python, "-m", "warpwright", "prepare", "gemm", "--m", "64", "--n", "7168", "--k", "2048", "--scale",
                          "block", "--device", "cuda:0"], env={**away, "WARPWRIGHT_JIT": "trace"}, cwd=work)
        assert "kernel pack" in traced.stderr and "compiled" not in traced.stderr, traced.stderr
    info = checked([python, "-m", "warpwright", "info"], env=away, cwd=work)
    assert not packs or "sm90.wwpack" in info.stdout

    checked([*pip, "install", "-q", "auditwheel", "abi3audit"])
    shown = checked([python, "-m", "auditwheel", "show", wheel])
    assert "manylinux" in shown.stdout, shown.stdout
    checked([home / "bin/abi3audit", "--strict", "--verbose", wheel])
    return 0


if __name__ == "__main__":
    sys.exit(main())
