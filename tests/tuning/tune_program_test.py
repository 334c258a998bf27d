# SPDX-License-Identifier: Apache-2.0
"""`tune` and --tuning of the built program, on the emulated device.
Usage: tune_program_test.py <path of warpwright>"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from typing import Any, Dict

PROGRAM = ""
SMALL = ["gemm", "--m", "64", "--n", "64", "--k", "256"]
EMULATED = ["--device", "emu:sm90"]


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=240,
                          env={**os.environ, **environment}, check=False)


class Tune(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = str(self.folder / "tuning.jsonl")

    def answer(self, *arguments: str, **environment: str) -> Dict[str, Any]:
        result = run(*arguments, "--json", **environment)
        self.assertEqual(result.returncode, 0, result)
        return json.loads(result.stdout)

    def test_what_tune_writes_is_followed_by_every_verb(self) -> None:
        made = self.answer("tune", *SMALL, *EMULATED, "--tuning", self.file, "--best", "0")
        self.assertEqual((made["measured"], made["emulated"]), (1, True))
        self.assertIs(made["cases"][0]["alone"], False)
        line = json.loads(pathlib.Path(self.file).read_text())
        self.assertEqual(line["config"], made["cases"][0]["config"])
        other = self.answer("configs", *SMALL, *EMULATED, "--top", "1")["configs"][0]["config"]
        self.assertNotEqual(other, line["config"])
        pathlib.Path(self.file).write_text(json.dumps({**line, "config": other}) + "\n")
        explained = self.answer("explain", *SMALL, *EMULATED, "--tuning", self.file)
        self.assertEqual((explained["chosen"]["config"], explained["tuned"]), (other, True))
        self.assertIn(f"{self.file}, line 1", explained["because"])
        self.assertEqual(self.answer("configs", *SMALL, *EMULATED, WARPWRIGHT_TUNING=self.file)["chosen"], other)
        self.assertEqual(self.answer(*SMALL, *EMULATED, "--tuning", self.file, "--verify")["config"], other)
        ignored = self.answer("explain", *SMALL, *EMULATED, "--tuning", "none", WARPWRIGHT_TUNING=self.file)
        self.assertEqual((ignored["tuned"], "tuning" in ignored), (False, False))

    def test_a_stale_file_is_explained(self) -> None:
        run("tune", *SMALL, *EMULATED, "--tuning", self.file, "--best", "0")
        line = json.loads(pathlib.Path(self.file).read_text())
        pathlib.Path(self.file).write_text(json.dumps({**line, "source_hash": "old"}) + "\n")
        text = run("explain", *SMALL, *EMULATED, "--tuning", self.file).stdout
        self.assertIn("is stale: its kernels have the source hash old", text)

    def test_few_kernels_are_what_prepare_makes(self) -> None:
        layer = ["gemm", "--n", "2112", "--k", "7168", "--scale", "block"]
        listed = self.folder / "kernels.txt"
        made = self.answer("tune", *layer, *EMULATED, "--tuning", self.file, "--kernels", "3", "--up-to", "300", "--list",
                           str(listed))
        self.assertEqual(sum(one["problems"] for one in made["kernels"]), made["problems"])
        self.assertEqual([one["kernels"] for one in made["losses"]], [1, 2, 3])
        self.assertGreater(made["kernels_of_auto"], 3)
        lines = [line.split("  # ") for line in listed.read_text().splitlines() if not line.startswith("#")]
        self.assertEqual([(config, int(count)) for config, count in lines],
                         [(one["config"], one["problems"]) for one in made["kernels"]])
        explained = self.answer("explain", *layer, "--m", "77", *EMULATED, "--tuning", self.file)
        self.assertTrue(explained["tuned"])
        self.assertIn("one of few kernels", explained["because"])

    def test_what_kernels_excludes(self) -> None:
        for flags, named in ((["--up-to", "8"], "--up-to"), (["--list", "x"], "--list"),
                             (["--kernels", "0"], "--kernels"), (["--kernels", "2", "--best", "1"], "--best"),
                             (["--kernels", "2", "--seconds", "1"], "--seconds"), (["--kernels", "2"], "--tuning")):
            tuning = [] if named == "--tuning" else ["--tuning", self.file]
            refused = run("tune", *SMALL, *EMULATED, *tuning, *flags)
            self.assertNotEqual(refused.returncode, 0, flags)
            self.assertIn(f"argument {named}", refused.stderr + refused.stdout, flags)

    def test_a_list_alone_opens_no_device(self) -> None:
        for device in ("emu:sm90", "cuda:7"):
            refused = run("tune", *SMALL, "--kernels", "2", "--list", str(self.folder / "x"), "--device", device)
            self.assertEqual(refused.returncode, 2, refused)
            self.assertIn("argument --device: expected --tuning with it", refused.stderr)

    def test_cases_of_few_kernels_count_once_and_are_named_in_errors(self) -> None:
        cases = self.folder / "cases.json"
        one = {"op": "dense", "m": 64, "n": 64, "k": 256}
        flags = ["tune", "gemm", *EMULATED, "--cases", str(cases), "--tuning", self.file, "--kernels", "2"]
        cases.write_text(json.dumps({"cases": [one, {**one, "m": 1}, one]}))
        self.assertEqual(self.answer(*flags)["problems"], 2)
        self.assertEqual(len(pathlib.Path(self.file).read_text().splitlines()), 2)
        cases.write_text(json.dumps({"cases": [one, {**one, "k": 7}]}))
        self.assertRegex(run(*flags).stderr, "; the case is .*64 x 64 x 7")

    def test_cases_of_a_file_are_listed_and_measured(self) -> None:
        cases = self.folder / "cases.json"
        cases.write_text(json.dumps({"cases": [{"op": "dense", "m": 64, "n": 64, "k": 256}, {"op": "grouped"},
                                               {"op": "dense", "m": 1, "n": 64, "k": 256},
                                               {"op": "dense", "m": 8, "n": 64, "k": 7}]}))
        flags = ["tune", "gemm", *EMULATED, "--cases", str(cases), "--tuning", self.file, "--best", "0"]
        listed = self.answer(*flags, "--dry-run")
        self.assertEqual((listed["measured"], listed["failed"], pathlib.Path(self.file).exists()), (2, 1, False))
        self.assertEqual(self.answer(*flags)["measured"], 2)
        self.assertEqual(self.answer(*flags)["known"], 2)
        self.assertEqual(len(pathlib.Path(self.file).read_text().splitlines()), 2)

    def test_small_groups_of_k_with_scales_of_mx(self) -> None:
        """One group is empty, and the others have one and two steps of K, each with chunks of scales of its own."""
        device, to_file = ["--device", "emu:sm100"], ["--tuning", self.file]
        case = ["k-grouped", "--ks", "128,0,256", "--m", "64", "--n", "64", "--dtype", "e4m3", "--scale", "mx"]
        made = self.answer("tune", *case, *device, *to_file, "--best", "1")
        self.assertEqual((made["measured"], made["failed"], len(made["cases"][0]["times"])), (1, 0, 2))
        line = json.loads(pathlib.Path(self.file).read_text())
        self.assertEqual((line["op"], line["count"], line["k"]), ("k-grouped", 3, 384))
        self.assertIn("scale=mx", line["config"])
        self.assertEqual(self.answer("tune", *case, *device, *to_file)["known"], 1)
        explained = self.answer("explain", *case, *device, *to_file)
        self.assertEqual((explained["tuned"], explained["chosen"]["config"]), (True, line["config"]))
        smaller = run("tune", *case[:2], "32,0,64", *case[3:], *device, *to_file)
        self.assertIn("multiples of 128", smaller.stderr)

    def test_processes_that_write_one_file_lose_no_line(self) -> None:
        """Each measures cases of its own, the first and the last of which meet in the file."""
        shapes = {process: [(m, 64, 128) for m in range(8 * process + 1, 8 * process + 7)] for process in range(3)}
        running = []
        for process, cases in shapes.items():
            listed = self.folder / f"cases{process}.json"
            listed.write_text(json.dumps({"cases": [{"op": "dense", "m": m, "n": n, "k": k} for m, n, k in cases]}))
            running.append(subprocess.Popen(
                [PROGRAM, "tune", "gemm", *EMULATED, "--cases", str(listed), "--tuning", self.file, "--best", "0"],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        for one in running:
            out, error = one.communicate(timeout=240)
            self.assertEqual(one.returncode, 0, out + error)
        lines = [json.loads(line) for line in pathlib.Path(self.file).read_text().splitlines()]
        self.assertEqual(sorted((line["m"], line["n"], line["k"]) for line in lines), sorted(sum(shapes.values(), [])))

    def test_a_file_that_cannot_be_locked_is_refused_before_anything_is_measured(self) -> None:
        pathlib.Path(self.file + ".lock").mkdir()
        result = run("tune", *SMALL, *EMULATED, "--tuning", self.file, "--json")
        self.assertEqual(result.returncode, 4, result)
        error = json.loads(result.stdout)["error"]
        self.assertEqual(error["argument"], "--tuning")
        self.assertIn(f"{self.file}.lock: Is a directory", error["message"])
        self.assertFalse(pathlib.Path(self.file).exists())

    def test_flags_that_make_no_sense_are_refused(self) -> None:
        to_file = ["--tuning", self.file]
        for arguments, flag, status in (([], "--tuning", 2), (["--tuning", ""], "--tuning", 2),
                                        (["--tuning", "/no/such/folder/x"], "--tuning", 2),
                                        ([*to_file, "--best", "-1"], "--best", 2),
                                        ([*to_file, "--extra", "many"], "--extra", 2),
                                        ([*to_file, "--batch", "2"], "--batch", 3),
                                        ([*to_file, "--sms", "2"], "--sms", 2)):
            with self.subTest(arguments=arguments):
                result = run("tune", *SMALL, *EMULATED, *arguments, "--json")
                self.assertEqual(result.returncode, status, result)
                self.assertEqual(json.loads(result.stdout)["error"]["argument"], flag)
        refused = run("explain", *SMALL, *to_file, "--json")  # of no device
        self.assertEqual((refused.returncode, json.loads(refused.stdout)["error"]["argument"]), (2, "--tuning"))


if __name__ == "__main__":
    PROGRAM = sys.argv.pop()
    unittest.main()
