# SPDX-License-Identifier: Apache-2.0
"""The checks of what ptxas reports: words choose cases, words of no case are refused, and every fault is found.
In the place of nvcc stands a program that prints the report under test."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

import ptxas_cases

HERE = pathlib.Path(__file__).resolve().parent
CLEAN = ("    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
         "ptxas info    : Used 168 registers, used 16 barriers\n")


class PtxasCases(unittest.TestCase):
    def compiled(self, script: str, report: str, *words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        with tempfile.TemporaryDirectory() as folder:
            nvcc = pathlib.Path(folder) / "nvcc"
            nvcc.write_text(f"#!/bin/sh\ncat >&2 <<'end'\n{report}end\nexit {status}\n")
            nvcc.chmod(0o755)
            return subprocess.run([sys.executable, "-B", str(HERE / script), str(HERE), str(nvcc), *words],
                                  capture_output=True, text=True, timeout=60)

    def test_words_that_no_case_has_are_refused(self) -> None:
        for script in ("epilogue_ptxas_test.py", "grouped_epilogue_ptxas_test.py"):
            for words in (["no-such-case"], ["128x128", "no-such-case"]):
                done = self.compiled(script, CLEAN, *words)
                self.assertEqual(done.returncode, 2, done)
                self.assertEqual(done.stdout, "")
                self.assertIn(f"no case has all of: {' '.join(words)}\nthere are:\n", done.stderr)
                self.assertRegex(done.stderr, r"128x\d+")

    def test_words_choose_cases(self) -> None:
        done = self.compiled("grouped_epilogue_ptxas_test.py", CLEAN, "swiglu", "masked")
        self.assertEqual(done.returncode, 0, done)
        self.assertRegex(done.stdout, r"^right: swiglu masked [^\n]*Used 168 registers\n$")
        for script, count in (("epilogue_ptxas_test.py", 10), ("grouped_epilogue_ptxas_test.py", 22)):
            done = self.compiled(script, CLEAN)
            self.assertEqual((done.returncode, done.stdout.count("right: ")), (0, count), done)

    def test_faults_are_found(self) -> None:
        for report in ("", CLEAN.replace("0 bytes spill stores", "8 bytes spill stores"),
                       CLEAN.replace("0 bytes spill loads", "16 bytes spill loads"),
                       CLEAN.replace("0 bytes stack", "64 bytes stack"),
                       CLEAN + "ptxas info : (C7510) Potential Performance Loss: wgmma.mma_async\n"):
            done = self.compiled("epilogue_ptxas_test.py", report, "tensor")
            self.assertEqual((done.returncode, done.stdout.count("WRONG: ")), (1, 5), done)
        self.assertEqual(self.compiled("epilogue_ptxas_test.py", CLEAN, status=1).returncode, 1)


if __name__ == "__main__":
    unittest.main()
