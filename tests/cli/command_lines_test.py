# SPDX-License-Identifier: Apache-2.0
"""That command_lines.py notices what it is there to notice: a stand-in for the program answers wrongly in every way, and
a campaign that refuses too much fails. Needs no build."""
import argparse
import collections
import contextlib
import io
import json
import pathlib
import random
import shlex
import stat
import tempfile
import unittest
from typing import Any, Dict, Tuple

import command_line_draws as draws
import command_lines
import operand_files

GOOD: Dict[str, Any] = {"ok": True, "verified": True, "config": "arch=sm90", "d_xxh3": "0"}
REFUSAL: Dict[str, Any] = {"ok": False, "error": {"code": "invalid", "argument": "--n", "expected": "8", "actual": "7",
                                                  "message": "invalid: argument --n: expected 8, got 7"}}


def campaign(status: int, answer: str) -> Tuple[int, str]:
    """What verify says of a program that always answers so."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "program"
        program.write_text(f"#!/bin/sh\nprintf '%s\\n' {shlex.quote(answer)}\nexit {status}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        said = io.StringIO()
        options = argparse.Namespace(program=str(program), seed=1, kernels=0, first=0, count=30, jobs=4)
        with contextlib.redirect_stdout(said):
            return command_lines.verify(options), said.getvalue()


class CommandLines(unittest.TestCase):
    def test_a_program_that_is_always_right_passes(self) -> None:
        self.assertEqual(campaign(0, json.dumps(GOOD))[0], 0)

    def test_faults_are_found_and_can_be_replayed(self) -> None:
        for status, answer in [(1, json.dumps({**GOOD, "ok": False})), (4, json.dumps(REFUSAL)), (139, ""),
                               (0, json.dumps({**GOOD, "verified": False})), (2, "no JSON"),
                               (3, json.dumps(REFUSAL)), (0, json.dumps({**GOOD, "ok": False}))]:
            with self.subTest(status=status, answer=answer):
                result, said = campaign(status, answer)
                self.assertEqual(result, 1)
                self.assertIn("replay: ", said)
                self.assertIn("--first 0 --count 1", said)
        for part in ("argument", "expected", "actual"):
            for wrong in ("", "\x1b[31m", "a\nb"):
                error = {**REFUSAL["error"], part: wrong}
                self.assertEqual(campaign(2, json.dumps({**REFUSAL, "error": error}))[0], 1, (part, wrong))

    def test_a_program_that_refuses_everything_fails(self) -> None:
        result, said = campaign(2, json.dumps(REFUSAL))
        self.assertEqual(result, 1)
        self.assertNotIn("replay: ", said)
        self.assertIn("are accepted, at least", said)

    def test_draws_reach_every_kind(self) -> None:
        seen: Dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
        for index in range(4000):
            rng = random.Random(index)
            kernel = draws.draw_kernel(rng) if index % 2 else draws.draw_shipped(rng)
            line = draws.draw_line(rng, kernel)
            seen["operation"][line.operation] += 1
            for flag, value in line.flags.items():
                seen[flag][str(value)] += 1
            for flag in line.files:
                seen[flag]["file"] += 1
        expected = {
            "operation": ["gemm", "grouped", "k-grouped"], "--dtype": ["e4m3", "e5m2", "bf16", "f16", "tf32"],
            "--scale": ["none", "tensor", "row-column", "block", "block-1d"], "--layout": ["nt", "nn", "tn", "tt"],
            draws.NAMES["tile-scheduler"]: ["auto", "single", "static", "dynamic", "stream-k", "split-k", "horizontal",
                                            "vertical", "longest-k"],
            draws.NAMES["variant"]: ["contiguous", "masked", "descriptors", "ragged"],
            "--schedule": ["auto", "cooperative", "pingpong", "multistage"], "--swap-ab": ["on", "off"],
            "--encoding": ["offsets", "indptr", "starts-counts", "row-ids", "masked"], "--m": ["1"], "--k": ["0"],
            "--batch": ["2", "3"], "--pointer-array": ["True"], "--batch-invariant": ["True"],
            "--d-layout": ["column"], "--c-layout": ["column"], "--a-source": ["registers"], "--accumulate": ["True"],
            "--zero-outside": ["True"], "--b-dtype": ["e5m2"], draws.NAMES["partial-accumulators"]: ["1", "2"],
        }
        for flag, values in expected.items():
            for value in values:
                self.assertGreater(seen[flag][value], 0, (flag, value))
        for flag in ("--a", "--b", "--scale-a", "--scale-b", "--c", "--bias", "--col0", "--aux0", "--offsets", "--row-ids"):
            self.assertGreater(seen[flag]["file"], 0, flag)
        for flag in ("--fixed-n", "--fixed-k", "--epilogue", "--config", "--cluster", "--rows", "--ks"):
            self.assertGreater(sum(seen[flag].values()), 0, flag)

    def test_lines_and_files_follow_from_the_seed(self) -> None:
        def made() -> Tuple[draws.Line, list]:
            rng = random.Random("seed")
            line = draws.draw_line(rng, draws.draw_kernel(rng))
            while not line.files:
                line = draws.draw_line(rng, draws.draw_kernel(rng))
            return line, [operand_files.content(json.loads(json.dumps(spec))) for spec in line.files.values()]

        self.assertEqual(made(), made())


if __name__ == "__main__":
    unittest.main()
