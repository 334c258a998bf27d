# SPDX-License-Identifier: Apache-2.0
"""`warpwright check` from outside: verdicts and exit statuses, one JSON object, replay commands that show the finding
again, reports that do not depend on the number of processes. Usage: check_program_test.py <path of warpwright>"""
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest
from typing import Any, Dict, Tuple

PROGRAM = ""
SMALL = ["--m", "128", "--n", "128", "--k", "256", "--dtype", "bf16"]

# Lane t writes what lane t + 1 of the next warp reads; `SYNC` is the barrier between the two.
EXCHANGE = """
#include "warpwright/arch/global.hpp"
#include "warpwright/arch/named_barrier.hpp"
#include "warpwright/arch/shared.hpp"
#include "warpwright/arch/special.hpp"
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


class Check(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.directory.name)

    def tearDown(self) -> None:
        self.directory.cleanup()

    def source(self, sync: str) -> str:
        path = self.path / "my_kernel.hpp"
        path.write_text(EXCHANGE.replace("SYNC", sync))
        return str(path)

    def test_help_says_what_its_own_exit_statuses_mean(self) -> None:
        for verb in ([], ["gemm"], ["grouped"]):
            shown = run("check", *verb, "--help").stdout
            self.assertIn("0 clean, 1 findings", shown)
            self.assertNotIn("1 wrong result", shown)

    def test_the_gemm_is_clean_under_every_kind_of_schedule(self) -> None:
        for math in ("on", "off"):
            status, report = answer("check", "gemm", *SMALL, "--schedules", "8", "--math", math)
            self.assertEqual((status, report["verdict"], report["schedules"]), (0, "clean", 8), report)
            self.assertEqual(report["findings"], [])

    def test_a_missing_barrier_is_a_race_with_a_replay(self) -> None:
        source = self.source("")
        arguments = ["check", "--source", source, "--entry", "exchange", "--launch", LAUNCH, "--schedules", "12"]
        status, report = answer(*arguments, "--threads", "1")
        self.assertEqual((status, report["verdict"]), (1, "findings"), report)
        finding = next(f for f in report["findings"] if f["rule"] == "data-race")
        lines = {finding[party]["inner_line"] for party in ("first", "second")}
        self.assertEqual(lines, {11, 13}, finding)
        self.assertEqual(finding["first"]["inner_file"].split("/")[-1], "my_kernel.hpp")
        for replay in (finding["replay"], finding["smallest_replay"]):
            words = shlex.split(replay)
            self.assertEqual(words[0], "warpwright")
            status, again = answer(*words[1:])
            self.assertEqual((status, again["schedules"]), (1, 1))
            self.assertIn("data-race", [f["rule"] for f in again["findings"]])
        self.assertIn("--emu-schedule fifo", finding["smallest_replay"])
        self.assertIn("grid=1,", finding["smallest_replay"])
        _, two = answer(*arguments, "--threads", "2")
        self.assertEqual(two["findings"], report["findings"])
        text = run(*arguments, "--no-shrink")
        for word in ("finding 1 of", "data-race", "my_kernel.hpp:11", "my_kernel.hpp:13", "replay:"):
            self.assertIn(word, text.stdout)

    def test_a_present_barrier_is_clean(self) -> None:
        source = self.source("arch::named_barrier::sync_cta();")
        status, report = answer("check", "--source", source, "--entry", "exchange", "--launch", LAUNCH, "--schedules",
                                "12")
        self.assertEqual((status, report["verdict"]), (0, "clean"), report)

    def test_the_document_shows_what_happens(self) -> None:
        root = pathlib.Path(__file__).parents[2]
        text = (root / "docs" / "checking-kernels.md").read_text()
        shown = (root / "README.md").read_text().split("$ warpwright check --source hand_over.hpp")[1]
        excerpt = shown.split("```")[0].splitlines()[1:]
        self.assertEqual(len(excerpt), 3)
        code = text.split("```cpp\n")[1].split("```")[0]
        fix = text.split("```cpp\n")[2].split("```")[0]
        arrive = fix.splitlines()[1] + "\n"
        self.assertIn(arrive, code)
        launch = "grid=1,threads=64,shared=256,buffer=128,buffer=128"
        self.assertIn("--launch " + launch, text)
        path = self.path / "hand_over.hpp"
        for source, status in ((code, 1), (code.replace(arrive, fix), 0)):
            path.write_text(source)
            result = run("check", "--source", str(path), "--entry", "hand_over", "--launch", launch)
            self.assertEqual(result.returncode, status, result.stdout)
            for line in excerpt if status else ():
                self.assertIn(line, result.stdout.splitlines(), "README shows what the program does not say")
            for line in result.stdout.splitlines():
                if line.startswith(("    first:", "    second:", "    advice:", "finding")):
                    self.assertIn(line, text)

    def test_a_kernel_that_leaves_its_memory_is_never_clean(self) -> None:
        source = self.source("*reinterpret_cast<volatile int*>(16) = 1;")
        status, report = answer("check", "--source", source, "--entry", "exchange", "--launch", LAUNCH, "--schedules",
                                "2", "--time", "5s")
        self.assertIn(status, (1, 4), report)
        self.assertIn(report["verdict"], ("findings", "incomplete"))

    def test_refusals(self) -> None:
        source = self.source("")
        for argument, arguments in (
            ("--source", []),
            ("--entry", ["--source", source]),
            ("--launch", ["--source", source, "--entry", "exchange"]),
            ("--source", ["--source", "/none", "--entry", "exchange", "--launch", LAUNCH]),
            ("--launch", ["--source", source, "--entry", "exchange", "--launch", "grid=1"]),
            ("--schedules", ["gemm", "--schedules", "0"]),
            ("--time", ["gemm", "--time", "soon"]),
            ("--math", ["gemm", "--math", "exact"]),
            ("--emu-schedule", ["gemm", "--emu-schedule", "lifo"]), ("--schedule", ["gemm", "--schedule", "fifo"]),
            ("--device", ["gemm", "--device", "tpu:0"]),
            ("--out", ["gemm", "--out", "d.npy"]),
        ):
            with self.subTest(arguments=arguments):
                status, report = answer("check", *arguments)
                self.assertEqual(status, 2, report)
                self.assertIn(argument.strip("-"), report["error"]["argument"])
        status, report = answer("check", "--source", source, "--entry", "nothing", "--launch", LAUNCH)
        self.assertEqual((status, report["verdict"], report["schedules"]), (4, "incomplete", 0), report)
        self.assertIn("nothing", report["error"]["message"])

    def test_arrays_of_pointers_are_refused_and_groups_of_k_name_their_layout(self) -> None:
        status, report = answer("check", "gemm", "--batch", "2", "--pointer-array")
        self.assertEqual((status, report["error"]["argument"]), (2, "--pointer-array"), report)
        status, report = answer("check", "k-grouped", "--m", "64", "--n", "64", "--ks", "128,128", "--layout", "nn",
                                "--schedules", "1", "--math", "off", "--tile", "64x64", "--sms", "2")
        self.assertEqual((status, report["verdict"]), (0, "clean"), report)
        self.assertIn("layout=nn", report["config"])

    def test_small_tiles_have_a_verdict_whatever_k_is(self) -> None:
        for k in ("0", "400"):
            for config in ("tile=64x64x64", "tile=64x64x64,cluster=2x1,stages=2"):
                for schedules in ("1", "9"):
                    arguments = ["check", "gemm", "--m", "200", "--n", "104", "--k", k, "--dtype", "bf16"]
                    result = run(*arguments, "--config", config, "--schedules", schedules)
                    self.assertEqual(result.returncode, 0, result)
                    self.assertIn("  verdict    clean\n", result.stdout)

    def test_what_is_not_supported_is_incomplete(self) -> None:
        arguments = ["check", "gemm", "--m", "64", "--n", "100", "--k", "400", "--dtype", "bf16"]
        status, report = answer(*arguments)
        self.assertEqual((status, report["verdict"], report["schedules"]), (4, "incomplete", 0), report)
        self.assertIn("a multiple of 8", report["why_incomplete"])
        self.assertIn("  verdict    incomplete\n", run(*arguments).stdout)

    def test_the_whole_report_is_the_same_on_any_number_of_processes(self) -> None:
        source = self.source("")
        for kind in ("random", "adversarial"):
            arguments = ["check", "--source", source, "--entry", "exchange", "--launch", LAUNCH, "--schedules", "10",
                         "--emu-schedule", kind, "--seed", "5", "--traffic"]
            reports = [answer(*arguments, "--threads", threads) for threads in ("1", "2")]
            texts = [run(*arguments, "--threads", threads).stdout for threads in ("1", "2")]
            for _, report in reports:
                self.assertEqual(report["verdict"], "findings")
                for time in ("seconds", "schedules_per_second"):
                    del report[time]
            self.assertEqual(reports[0], reports[1])
            self.assertEqual(*(re.sub(r"in [0-9.]+ s, .* a second", "", text) for text in texts))

    def test_traffic_counts_hbm_by_line_and_operand(self) -> None:
        status, report = answer("check", "gemm", *SMALL, "--schedules", "2", "--traffic", "--config", "tile=64x64x64")
        self.assertEqual(status, 0, report)
        operands = {t["operand"]: (t["hbm_read_bytes"], t["hbm_write_bytes"]) for t in report["operand_traffic"]}
        size = 128 * 256 * 2
        self.assertEqual(operands, {"a": (size, 0), "b": (size, 0), "d": (0, 128 * 128 * 2)})
        self.assertEqual(sum(t["hbm_bytes"] for t in report["traffic"]), 2 * size + 128 * 128 * 2)
        self.assertGreater(sum(t["l2_bytes"] for t in report["traffic"]), 3 * size)

    def test_a_deadlock_lists_everybody_who_waits(self) -> None:
        sync = "if (t != 5) arch::named_barrier::sync_cta();"
        source = self.source(sync)
        status, report = answer("check", "--source", source, "--entry", "exchange", "--launch", LAUNCH, "--schedules",
                                "1", "--no-shrink")
        self.assertEqual(status, 1, report)
        finding = next(f for f in report["findings"] if f["parties"])
        self.assertTrue(all(p["operation"] for p in finding["parties"]))
        waiting = {32 * p["warp"] + p["lane"] for p in finding["parties"] if p["cta"] == 0}
        self.assertEqual(waiting, set(range(64)) - {5}, finding["rule"])


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
