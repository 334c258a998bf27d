# SPDX-License-Identifier: Apache-2.0
"""What the tests of `warpwright check` share: the program, which the first argument of the test names, its reports, and a
kernel with a barrier to leave out."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from typing import Any, Dict, List, Tuple

PROGRAM = sys.argv.pop(1)
SMALL = ["--m", "128", "--n", "128", "--k", "256", "--dtype", "bf16"]

# Lane t writes what lane t + 1 of the next warp reads; `SYNC` is the barrier between the two.
EXCHANGE = """
#include "warpwright/arch/common/global.hpp"
#include "warpwright/arch/common/named_barrier.hpp"
#include "warpwright/arch/common/shared.hpp"
#include "warpwright/arch/common/special.hpp"
struct Params { const ww::u32* in; ww::u32* out; int count; };
WW_KERNEL(exchange, 64, Params, p) {
  using namespace ww;
  const u32 t = arch::thread_index();
  const arch::SharedAddress box = arch::dynamic_shared();
  arch::shared::store(box + 4 * t, arch::global::load(p.in + t));
  SYNC
  arch::global::store(p.out + 64 * arch::block_index() + t, arch::shared::load(box + 4 * (t ^ 32)));
}
"""
LAUNCH = "grid=2,cluster=1,threads=64,shared=1024,buffer=256,buffer=512,int=64"


def run(*arguments: str, timeout: float = 120) -> subprocess.CompletedProcess:
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=timeout)


def answer(*arguments: str) -> Tuple[int, Dict[str, Any]]:
    result = run(*arguments, "--json")
    assert result.stdout.count("\n") == 1, result
    return result.returncode, json.loads(result.stdout)


def findings_of(report: Dict[str, Any], rule: str) -> List[Dict[str, Any]]:
    return [finding for finding in report["findings"] if finding["rule"] == rule]


def without_times(text: str) -> str:
    return re.sub(r"in [0-9.]+ s, .* a second", "", text).strip()


class ProgramTest(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.directory.name)

    def tearDown(self) -> None:
        self.directory.cleanup()

    def source(self, sync: str) -> str:
        path = self.path / "my_kernel.hpp"
        path.write_text(EXCHANGE.replace("SYNC", sync))
        return str(path)

    def mutated(self, header: str, old: str, new: str) -> Dict[str, str]:
        """The environment in which kernels are compiled with an edited header."""
        root = pathlib.Path(__file__).parents[2]
        include = self.path / "include"
        shutil.copytree(root / "include", include, dirs_exist_ok=True)
        text = (include / "warpwright" / header).read_text()
        self.assertIn(old, text)
        (include / "warpwright" / header).write_text(text.replace(old, new))
        wrapper = self.path / "c++"
        wrapper.write_text('#!/bin/sh\nfor a in "$@"; do\n  case "$a" in -I*) cp -r '
                           f'"{include}/." "${{a#-I}}/" ;; esac\ndone\nexec "{shutil.which("c++")}" "$@"\n')
        wrapper.chmod(0o755)
        return {**os.environ, "WARPWRIGHT_CXX": str(wrapper), "WARPWRIGHT_CACHE_DIR": str(self.path / "cache")}
