# SPDX-License-Identifier: Apache-2.0
"""What compare_builds.py concludes from times: ratios by round, noise, slower cases and classes.
compare_builds_test.py [libwarpwright.so] runs, where torch is installed, the program itself too: on an emulated device, and
with a clock of the test's own in the place of a GPU's."""
import contextlib
import io
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import build_ratios  # noqa: E402  pylint: disable=wrong-import-position

try:
    import torch
except ImportError:
    torch = None
LIBRARY = ""


def row(name, kind, base, again, head, **more):
    return {"name": name, "class": kind, **build_ratios.row_of(base, again, head), **more}


class Ratios(unittest.TestCase):
    def test_a_clock_that_moves_between_rounds_cancels(self):
        found = build_ratios.row_of([10.0, 20.0, 40.0], [10.0, 20.0, 40.0], [10.5, 21.0, 42.0])
        self.assertAlmostEqual(found["ratio"], 1.05)
        self.assertAlmostEqual(found["noise"], 1.0)

    def test_the_noise_is_at_least_one_and_the_base_is_the_mean_of_both(self):
        found = build_ratios.row_of([10.0], [8.1], [9.0])
        self.assertAlmostEqual(found["noise"], 10 / 8.1)
        self.assertAlmostEqual(found["ratio"], 1.0)

    def test_the_energy_of_a_call_is_compared_with_the_mean_of_both(self):
        joules = {"base": 2.0, "again": 8.0, "head": 3.0}
        found = build_ratios.summary([row("a", "x", [1.0], [1.0], [1.0], joules=joules), row("b", "x", [1.0], [1.0], [1.0])])
        self.assertAlmostEqual(found["classes"]["x"]["mean_of_joules"], 0.75)
        self.assertIn("0.7500", "".join(build_ratios.table_of(found)))
        self.assertIn("3.0000 J 0.7500", build_ratios.line_of(row("a", "x", [1.0], [1.0], [1.0], joules=joules)))

    def test_slower_is_more_than_three_percent_beyond_the_noise(self):
        self.assertTrue(build_ratios.slower(row("a", "x", [100.0], [100.0], [103.1])))
        self.assertFalse(build_ratios.slower(row("a", "x", [100.0], [100.0], [102.9])))
        self.assertFalse(build_ratios.slower(row("a", "x", [100.0], [104.0], [107.0])))

    def test_a_case_that_is_slower_once_is_no_fault_and_one_that_is_slower_twice_is(self):
        fast, slow = row("a", "x", [100.0], [100.0], [100.0]), row("a", "x", [100.0], [100.0], [109.0])
        others = [row("b", "y", [100.0], [100.0], [99.0])] * 30
        once = build_ratios.summary([{**slow, "class": "y", "second": fast}, *others])
        twice = build_ratios.summary([{**slow, "class": "y", "second": slow}, *others])
        self.assertEqual((once["slower"], once["slower_once"], build_ratios.faults(once)), ([], ["a"], []))
        self.assertEqual(len(build_ratios.faults(twice)), 1)

    def test_a_class_one_percent_slower_is_a_fault_where_no_case_is(self):
        found = build_ratios.summary([row("a", "x", [100.0], [100.0], [101.5]), row("b", "y", [100.0], [100.0], [98.0])])
        self.assertEqual(found["slower"], [])
        self.assertEqual([line[:7] for line in build_ratios.faults(found)], ["class x"])
        self.assertAlmostEqual(found["classes"]["all"]["mean"], (1.015 * 0.98) ** 0.5)

    def test_missing_cases_refusals_and_other_bits_are_faults(self):
        good = row("a", "x", [1.0], [1.0], [1.0])
        self.assertEqual(build_ratios.faults(build_ratios.summary([good])), [])
        for rows, skipped in (([], 0), ([good, {"name": "b", "class": "x", "error": "head: refused"}], 0),
                              ([{**good, "error": "D has other bits in 3 elements"}], 0), ([good], 2)):
            self.assertEqual(len(build_ratios.faults({**build_ratios.summary(rows), "skipped": skipped})), 1)


class Clock:
    """Stands in for CUDA's events and graphs: a replay takes what its contender takes, slower in each later round."""
    now = 0.0

    def __init__(self, **_):
        self.at = 0.0

    def record(self):
        self.at = Clock.now

    def elapsed_time(self, other):
        return other.at - self.at

    def synchronize(self):
        pass

    def query(self):
        return True


@unittest.skipUnless(torch, "no torch")
class Program(unittest.TestCase):
    def contenders(self, times):
        from loop import Contender  # pylint: disable=import-outside-toplevel

        def replay(us):
            Clock.now += us * 24 * 1e-3

        made = [Contender(name, "block", None, None, calls=24) for name in times]
        for contender in made:
            contender.graph = types.SimpleNamespace(replay=lambda us=times[contender.name]: replay(us))
        return made

    def test_both_ways_of_timing_find_the_ratio(self):
        import compare_builds  # pylint: disable=import-outside-toplevel
        options = types.SimpleNamespace(alone_flops=1e11, alone_rounds=2, alone_load=0.1, alone_seconds=0.2, seconds=0.2)
        for flops in (1e9, 1e12):
            job = types.SimpleNamespace(flops=lambda f=flops: f)
            made = self.contenders({"base": 100.0, "again": 102.0, "head": 110.0})
            with mock.patch("torch.cuda.Event", Clock), mock.patch("torch.cuda.synchronize"), \
                    mock.patch("compare_builds.capture_all", lambda c, sets: c), \
                    mock.patch("loop.smi", lambda fields: []):
                compare_builds.time_gpu(job, made, [None], 0.5, random.Random(1), options)
            found = build_ratios.row_of(*(contender.us for contender in made))
            self.assertAlmostEqual(found["copy_ratio"], 1.02)
            self.assertAlmostEqual(found["ratio"], 1.1 / 1.02 ** 0.5)
            self.assertEqual(found["rounds"], 2 if flops > 1e11 else found["rounds"])

    def test_other_bits_are_counted_and_a_failure_is_of_its_contender(self):
        import compare_builds  # pylint: disable=import-outside-toplevel
        from loop import Contender  # pylint: disable=import-outside-toplevel
        operands = types.SimpleNamespace(d=torch.zeros(4, dtype=torch.bfloat16))

        def writes(count):
            return Contender(str(count), "block", lambda o: o.d[:count].fill_(1.0), lambda o: o.d)

        def fails(_):
            raise RuntimeError("expected b, got none")

        broken = Contender("head", "block", fails, lambda o: o.d)
        self.assertEqual(compare_builds.different_bits([writes(4), writes(4)], operands), 0)
        self.assertEqual(compare_builds.different_bits([writes(4), writes(4), writes(1)], operands), 3)
        self.assertEqual(compare_builds.different_bits([writes(4), broken], operands), 0)
        self.assertIn("head: RuntimeError: expected b", compare_builds.errors_of([writes(4), broken]))

    def test_dense_and_grouped_cases_run_on_an_emulated_device(self):
        if not LIBRARY:
            self.skipTest("no library")
        cases = [{"op": "dense", "m": 64, "n": 256, "k": 512},
                 {"op": "grouped", "regime": "decode", "groups": 2, "n": 128, "k": 256, "tokens_per_group": [5, 0]},
                 {"op": "dense", "m": 64, "n": 256, "k": 7}]
        with tempfile.TemporaryDirectory() as folder:
            file, result = pathlib.Path(folder) / "cases.json", pathlib.Path(folder) / "result.json"
            file.write_text(json.dumps({"cases": cases}))
            done = subprocess.run([sys.executable, "-B", str(ROOT / "bench" / "compare_builds.py"), LIBRARY, LIBRARY,
                                   "--device", "emu:sm90", "--cases", str(file), "--recipes", "bf16",
                                   "--grouped-recipes", "block,bf16", "--compile-processes", "1", "--result",
                                   str(result)], capture_output=True, text=True,
                                  check=False)
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)  # the third case is refused
            found = json.loads(result.read_text())
        self.assertEqual(len(found["cases"]), 4)
        self.assertEqual([line.partition(":")[0] for line in found["failed"]], ["64x256x7 bf16"])
        timed = [case for case in found["cases"] if "ratio" in case]
        self.assertEqual(sorted(case["class"] for case in timed), ["dense bf16, m <= 256", "grouped decode", "grouped decode"])
        self.assertEqual(sorted(case["name"].split()[-1] for case in timed), ["bf16", "bf16", "block"])
        self.assertEqual(found["skipped"], 0)


if __name__ == "__main__":
    LIBRARY = sys.argv.pop() if ".so" in pathlib.Path(sys.argv[-1]).name else ""
    with contextlib.redirect_stdout(io.StringIO()):
        unittest.main()
