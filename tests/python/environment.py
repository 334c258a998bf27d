# SPDX-License-Identifier: Apache-2.0
"""The environment of the Python tests and of the reference, in <build>/python/venv; with --torch, the one that has
torch too, in venv-torch.

environment.py make <folder> [--torch]          makes it, or finds it up to date
environment.py test <folder> [--torch] <file>   runs pytest on a file of tests, with the package of <folder>
                                                WARPWRIGHT_SANITIZER: libraries to load before a sanitized package

Exit 77 (skipped) where no package index is reached; with CI set that is a failure."""
import hashlib
import os
import pathlib
import subprocess
import sys
import venv

# Bounded above, because a new release's warnings would fail tests that no commit has touched.
PACKAGES = ["numpy>=1.24,<2.5", "ml_dtypes>=0.5,<0.7", "jax>=0.4.30,<0.12", "pytest>=8,<10", "mypy>=1.11,<2.5",
            "sphinx>=7.2,<9.1", "nvidia-cuda-nvdisasm>=13,<14"]
TORCH = "torch>=2.10,<2.16"  # as PyPI has it, which for Linux comes with CUDA's libraries: 5 GB
SKIPPED = 77


def in_ci() -> bool:
    return os.environ.get("CI", "0") not in ("", "0", "false")


def stamp(packages: list) -> str:
    facts = "\n".join([*packages, sys.version, __file__])
    return hashlib.sha256(facts.encode()).hexdigest()


def make(home: pathlib.Path, packages: list) -> int:
    mark = home / "made"
    if mark.is_file() and mark.read_text() == stamp(packages):
        print(f"{home} is up to date")
        return 0
    venv.EnvBuilder(with_pip=True, clear=True).create(home)
    command = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
               "--retries", "5" if in_ci() else "1", "--timeout", "15", *packages]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"pip could not install {', '.join(packages)}:\n{done.stderr}")
        return 1 if in_ci() else SKIPPED
    mark.write_text(stamp(packages))
    return 0


def test(folder: pathlib.Path, home: pathlib.Path, arguments: list) -> int:
    if not (home / "made").is_file():
        print("the environment was not made (python.venv or python.torch_venv says why)")
        return 1 if in_ci() else SKIPPED
    # The tests run without a GPU; JAX would otherwise look for one.
    settings = {"PYTHONPATH": str(folder), "JAX_PLATFORMS": "cpu", "PYTHONDONTWRITEBYTECODE": "1"}
    if "WARPWRIGHT_SANITIZER" in os.environ:  # the interpreter is not sanitized, and leaks on purpose
        settings["LD_PRELOAD"] = os.environ["WARPWRIGHT_SANITIZER"]
        settings["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "detect_leaks=0:use_sigaltstack=0")
        settings["UBSAN_OPTIONS"] = os.environ.get("UBSAN_OPTIONS", "halt_on_error=1:print_stacktrace=1")
    return subprocess.run([home / "bin" / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir",
                           pathlib.Path(__file__).parent, *arguments], env={**os.environ, **settings},
                          check=False).returncode


if __name__ == "__main__":
    action, place, *rest = sys.argv[1:]
    torch = rest[:1] == ["--torch"]
    folder = pathlib.Path(place)
    home = folder / ("venv-torch" if torch else "venv")
    sys.exit(make(home, [*PACKAGES, TORCH] if torch else PACKAGES) if action == "make" else
             test(folder, home, rest[torch:]))
