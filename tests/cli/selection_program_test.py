# SPDX-License-Identifier: Apache-2.0
"""configs, explain and prepare of the built program, and the flags that give a config in parts.
Usage: selection_program_test.py <path of warpwright>"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from typing import Any, Dict

PROGRAM = ""
DECODE = ["--m", "64", "--n", "2112", "--k", "7168"]
SMALL = ["--device", "emu:sm90", "--m", "64", "--n", "64", "--k", "256"]


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=240,
                          env={**os.environ, **environment})


def fields(config: str) -> Dict[str, str]:
    return dict(item.split("=", 1) for item in config.split(","))


class Selection(unittest.TestCase):
    def answer(self, *arguments: str, status: int = 0) -> Dict[str, Any]:
        result = run(*arguments, "--json")
        self.assertEqual(result.returncode, status, result)
        self.assertEqual(result.stdout.count("\n"), 1, result.stdout)
        return json.loads(result.stdout)

    def test_bench_races_what_the_model_puts_first(self) -> None:
        best = [c["config"] for c in self.answer("configs", "gemm", *SMALL, "--top", "2")["configs"][:2]]
        result = run("bench", "gemm", *SMALL, "--variants", "best:2;tile=64x32x128")
        self.assertEqual(result.returncode, 0, result)
        for config in [*best, "tile=64x32x128"]:
            self.assertIn(config, result.stdout)
        refused = run("bench", "gemm", *SMALL, "--variants", "best:none")
        self.assertEqual(refused.returncode, 2, refused)

    def test_configs_are_ranked_and_the_first_is_chosen(self) -> None:
        answer = self.answer("configs", "gemm", *DECODE, "--top", "0")
        self.assertEqual(len(answer["configs"]), answer["count"])
        times = [config["us"] for config in answer["configs"]]
        self.assertEqual(times, sorted(times))
        self.assertEqual(answer["chosen"], answer["configs"][0]["config"])
        for config in answer["configs"]:
            self.assertAlmostEqual(sum(config["terms"].values()), config["us"], places=9)
        self.assertEqual(len({config["config"] for config in answer["configs"]}), answer["count"])
        self.assertEqual(len(self.answer("configs", "gemm", *DECODE)["configs"]), 20)
        text = run("configs", "gemm", *DECODE, "--top", "2").stdout
        self.assertIn(answer["configs"][1]["config"], text)
        self.assertIn(f"2 of {answer['count']}", text)

    def test_configs_agree_with_the_flags(self) -> None:
        for flags, key, value in ((["--tile", "64x32"], "tile", "64x32x128"), (["--cluster", "2x1"], "cluster", "2x1"),
                                  (["--stages", "5"], "stages", "5"),
                                  (["--tile-scheduler", "stream-k"], "tile_scheduler", "stream-k"),
                                  (["--schedule", "pingpong"], "schedule", "pingpong"),
                                  (["--partial-accumulators", "1"], "partial_accumulators", "1"),
                                  (["--split", "6"], "split", "6"),
                                  (["--a-source", "registers"], "a_source", "registers"),
                                  (["--raster", "3"], "raster", "3"), (["--band", "n"], "band", "n"),
                                  (["--epilogue-n", "16"], "epilogue_n", "16"),
                                  (["--producer-registers", "40", "--consumer-warpgroups", "2"], "producer_registers",
                                   "40"),
                                  (["--config", "raster=3", "--tile", "128x64x128"], "raster", "3")):
            with self.subTest(flags=flags):
                answer = self.answer("configs", "gemm", *DECODE, *flags, "--top", "0")
                self.assertGreater(answer["count"], 0)
                for config in answer["configs"]:
                    got = fields(config["config"])[key]  # a cluster may go on along K
                    self.assertTrue(got == value or (key == "cluster" and got.startswith(value + "x")), got)
        for auto in (["--tile", "auto"], ["--cluster", "auto"], ["--stages", "auto"], ["--tile-scheduler", "auto"]):
            self.assertEqual(self.answer("configs", "gemm", *DECODE, *auto)["count"],
                             self.answer("configs", "gemm", *DECODE)["count"])
        for config in self.answer("configs", "gemm", *DECODE, "--batch-invariant", "--top", "0")["configs"]:
            self.assertNotIn(fields(config["config"]).get("tile_scheduler"), ("stream-k", "split-k"))

    def test_swap_ab_is_chosen_asked_for_and_said(self) -> None:
        few = ["--m", "16", "--n", "7168", "--k", "2048"]
        answer = self.answer("explain", "gemm", *few)
        self.assertTrue(answer["swap_ab"])
        self.assertEqual(fields(answer["chosen"]["config"])["swap_ab"], "on")
        self.assertIn("rows of B x", run("explain", "gemm", *few).stdout)
        self.assertFalse(self.answer("explain", "gemm", *few, "--swap-ab", "off")["swap_ab"])
        for config in self.answer("configs", "gemm", *few, "--swap-ab", "on", "--top", "0")["configs"]:
            self.assertEqual(fields(config["config"]).get("swap_ab"), "on")
        flags = ["--swap-ab", "on", "--tile", "64x16"]
        for small in (SMALL, [*SMALL, "--scale", "block"]):
            ran = self.answer("gemm", *small, *flags, "--verify")
            self.assertTrue(ran["verified"])
            self.assertEqual((fields(ran["config"])["tile"], fields(ran["config"])["swap_ab"]), ("64x16x128", "on"))
        check = self.answer("check", "gemm", *SMALL, *flags, "--schedules", "2")
        self.assertEqual((check["verdict"], fields(check["config"])["swap_ab"]), ("clean", "on"))
        refused = self.answer("gemm", *SMALL, "--swap-ab", "on", "--epilogue", "swiglu(acc)", status=3)["error"]
        self.assertEqual((refused["argument"], refused["actual"]), ("--swap-ab", "on"))
        self.assertEqual(self.answer("gemm", *SMALL, "--swap-ab", "yes", status=2)["error"]["argument"], "--swap-ab")

    def test_explain_gives_terms_differences_and_exclusions(self) -> None:
        answer = self.answer("explain", "gemm", *DECODE, "--batch-invariant")
        self.assertEqual(answer["chosen"]["config"], self.answer("configs", "gemm", *DECODE,
                                                                 "--batch-invariant")["chosen"])
        self.assertEqual(len(answer["next"]), 3)
        for other in answer["next"]:
            self.assertGreaterEqual(other["us"], answer["chosen"]["us"])
            self.assertTrue(other["why"])
        reasons = [excluded["reason"] for excluded in answer["excluded"]]
        self.assertTrue(any(reason.startswith("tile (n): ") for reason in reasons), reasons)
        self.assertTrue(any(reason.startswith("tile_scheduler: ") and "stream-k" in reason for reason in reasons), reasons)
        text = run("explain", "gemm", *DECODE).stdout
        for word in ("chosen", "because", "fill and drain", "not ", "excluded", "such as"):
            self.assertIn(word, text)
        emulated = self.answer("explain", "gemm", *SMALL)
        self.assertIn("modules are shipped", emulated["because"])
        self.assertEqual(emulated["sms"], 4)

    def test_a_config_in_parts_runs_as_it_was_asked_for(self) -> None:
        answer = self.answer("gemm", *SMALL, "--tile", "64x32x128", "--cluster", "2x1", "--stages", "3", "--verify")
        got = fields(answer["config"])
        self.assertEqual((got["tile"], got["cluster"], got["stages"]), ("64x32x128", "2x1", "3"))
        self.assertTrue(answer["ok"] and answer["verified"])
        bench = self.answer("bench", "gemm", *SMALL, "--tile", "64x32x128", "--cluster", "2x1", "--stages", "3")
        self.assertIn(answer["config"], json.dumps(bench))
        check = self.answer("check", "gemm", *SMALL, "--tile", "64x32x128", "--cluster", "2x1", "--stages", "3",
                            "--schedules", "1")
        self.assertEqual(check["config"], answer["config"])

    def test_what_cannot_be_names_field_value_and_what_it_takes(self) -> None:
        for flags, status, argument, actual in (
                (["--tile", "128x132x128"], 3, "--tile", "132"),
                (["--cluster", "3x1"], 3, "--cluster", "3x1"),
                (["--stages", "40"], 3, "--stages", "40"),
                (["--schedule", "pingpong", "--tile-scheduler", "dynamic"], 3, "--tile-scheduler", "dynamic"),
                (["--tile-scheduler", "stream-k", "--batch-invariant"], 2, "--tile-scheduler", "stream-k"),
                (["--tile", "128"], 2, "--tile", '"128"'), (["--cluster", "2by1"], 2, "--cluster", '"2by1"'),
                (["--stages", "many"], 2, "--stages", '"many"')):
            for verb in ([], ["check"], ["configs"], ["explain"]):
                if verb == ["check"] and status == 3:
                    continue  # a check that cannot run has a verdict of its own
                with self.subTest(verb=verb, flags=flags):
                    error = self.answer(*verb, "gemm", *SMALL, *flags, status=status)["error"]
                    self.assertEqual(error["argument"], argument)
                    self.assertEqual(error["actual"], actual)
                    self.assertTrue(error["expected"])

    def test_prepare_compiles_what_plans_then_find(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            cases = pathlib.Path(folder) / "cases.json"
            cases.write_text(json.dumps({"cases": [{"op": "dense", "m": m, "n": 64, "k": 256} for m in (64, 40)]}))
            flags = ["--device", "emu:sm90", "--tile", "64x8x128", "--cluster", "1x1"]
            cache = {"WARPWRIGHT_CACHE_DIR": folder + "/cache"}
            result = run("prepare", "gemm", *flags, "--cases", str(cases), "--jobs", "2", "--json", **cache)
            self.assertEqual(result.returncode, 0, result)
            answer = json.loads(result.stdout)
            self.assertEqual((answer["cases"], answer["failed"], len(answer["kernels"])), (2, 0, 1))
            self.assertEqual(answer["kernels"][0]["cases"], [0, 1])
            modules = sorted(pathlib.Path(folder, "cache").rglob("*.so"))
            self.assertEqual(len(modules), 1)
            plan = run("gemm", *flags, "--m", "64", "--n", "64", "--k", "256", "--verify", "--json", **cache)
            self.assertTrue(json.loads(plan.stdout)["ok"], plan)
            self.assertEqual(sorted(pathlib.Path(folder, "cache").rglob("*.so")), modules, "nothing more was compiled")
            again = run("prepare", "gemm", *flags, "--m", "64", "--n", "64", "--k", "256", "--json", **cache)
            self.assertLess(json.loads(again.stdout)["kernels"][0]["seconds"], 1.0)
            failed = run("prepare", "gemm", "--device", "emu:sm90", "--tile", "64x16x128", "--m", "64", "--n", "64",
                         "--k", "256", "--json", WARPWRIGHT_CXX="/bin/false", **cache)
            self.assertEqual(failed.returncode, 4, failed)
            self.assertEqual(json.loads(failed.stdout)["failed"], 1)
            self.assertEqual(sorted(pathlib.Path(folder, "cache").rglob("*.so")), modules)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
