# SPDX-License-Identifier: Apache-2.0
"""The package as a whole: what importing it does, its program, its types, and the blocks of Python in the documents."""
import inspect
import os
import pathlib
import re
import subprocess
import sys

import pytest
import warpwright

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = pathlib.Path(warpwright.__file__).parent


def python(*arguments, **settings):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False,
                          env={**os.environ, **settings})


def test_importing_imports_no_framework_and_no_driver():
    done = python("-c", "import sys, warpwright\n"
                        "print([m for m in ('numpy', 'torch', 'jax', 'ml_dtypes', 'json', 'subprocess', 'ctypes') "
                        "if m in sys.modules], 'libcuda' in open('/proc/self/maps').read())")
    assert done.stdout.strip() == "[] False", done.stdout + done.stderr


def test_importing_takes_at_most_50_ms():
    """Its own time, the least of some, because other tests run beside this one."""
    code = "import time; t = time.perf_counter(); import warpwright; print(time.perf_counter() - t)"
    assert min(float(python("-c", code).stdout) for _ in range(7)) < 0.05


def test_the_program():
    done = python("-m", "warpwright", "--version")
    assert done.returncode == 0 and done.stdout.split()[-1] == warpwright.__version__, done.stdout + done.stderr
    assert python("-m", "warpwright", "gemm", "--m").returncode == 2
    done = python("-m", "warpwright", "gemm", "--m", "64", "--n", "64", "--k", "128", "--verify", "--device", "emu:sm90")
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_public_name_is_there():
    for name in warpwright.__all__:
        assert getattr(warpwright, name) is not None
    assert set(warpwright.__all__) <= set(dir(warpwright))
    with pytest.raises(AttributeError, match="no attribute 'gem'"):
        warpwright.gem


def test_types_by_mypy():
    command = ["-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(PACKAGE.parent / "mypy"), "-p", "warpwright"]
    done = python(*command, MYPYPATH=str(PACKAGE.parent))
    assert done.returncode == 0, done.stdout + done.stderr


def test_stubs_are_what_the_extension_has():
    done = python("-m", "mypy.stubtest", "--mypy-config-file", os.devnull, "warpwright._native",
                  MYPYPATH=str(PACKAGE.parent))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["gemm", "grouped_gemm", "k_grouped_gemm"])
def test_plans_have_the_arguments_of_their_products(name):
    """The stub says so once for all three, which stubtest takes on trust."""
    assert inspect.signature(getattr(warpwright, name + "_plan")) == inspect.signature(getattr(warpwright, name))


@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_documents(page):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert blocks
    scope = {}
    for block in blocks:
        exec(compile(block, page, "exec"), scope)
    assert (scope["out"] == 512).all()
