# SPDX-License-Identifier: Apache-2.0
"""Sequences of launches under `warpwright check`: what one launch leaves to the next, and values that differ.
Usage: sequence_test.py <path of warpwright>"""
import json
import pathlib
import shlex
import subprocess
import unittest
from typing import Any, Dict, Tuple

from program import PROGRAM, SMALL, ProgramTest, answer, findings_of

# The first thread of a launch takes the ticket, and `RESET` gives it back for the next launch.
TICKET = """
#include "warpwright/arch/common/global.hpp"
#include "warpwright/arch/common/special.hpp"
struct Params { ww::u32* ticket; ww::u32* out; };
WW_KERNEL(ticket, 32, Params, p) {
  using namespace ww;
  if (arch::thread_index() != 0) return;
  if (arch::global::atomic_add(p.ticket, 1) == 0) arch::global::store(p.out, 7);
  RESET
}
"""


class Sequences(ProgramTest):
    def ticket(self, kind: str, reset: str, *arguments: str, out: str = "buffer") -> Tuple[int, Dict[str, Any]]:
        path = self.path / "ticket.hpp"
        path.write_text(TICKET.replace("RESET", reset))
        return answer("check", "--source", str(path), "--entry", "ticket", "--launch",
                      f"grid=1,threads=32,{kind}=4,{out}=4", *arguments)

    def test_a_ticket_that_is_not_given_back_is_found_by_the_second_launch(self) -> None:
        self.assertEqual(self.ticket("kept", "", "--schedules", "4")[1]["verdict"], "clean")
        status, report = self.ticket("kept", "", "--schedules", "4", "--launches", "3")
        self.assertEqual((status, report["verdict"]), (1, "findings"), report)
        finding, = findings_of(report, "wrong-value")
        self.assertEqual((finding["launch"], finding["begin"], finding["end"]), (2, 0, 4), finding)
        self.assertEqual(finding["first"]["operation"], "launch 1, whose results are expected")
        self.assertRegex(finding["second"]["operation"],
                         "^launch 2: byte 0 of buffer 1 is 0x[0-9a-f]{2} instead of 0x07$")
        for party in ("first", "second"):
            self.assertIn(f"\n  {party + ':':7} {finding[party]['operation']}\n", finding["text"])
        self.assertIn("\n  bytes:  [0x0, 0x4) of operand buffer 1\n", finding["text"])
        self.assertIn("--launches 2", finding["replay"])
        status, again = answer(*shlex.split(finding["replay"])[1:], "--no-shrink")
        self.assertEqual((status, again["schedules"], again["launches"]), (1, 1, 2))
        for key in ("rule", "launch", "text", "begin", "end"):
            self.assertEqual(again["findings"][0][key], finding[key])
        put_back = "arch::global::store(p.ticket, 0);"
        for kind, reset in (("kept", put_back), ("zeros", "")):
            status, report = self.ticket(kind, reset, "--schedules", "4", "--launches", "3")
            self.assertEqual((status, report["launches"]), (0, 12), report)

    def test_all_memory_is_compared_that_is_the_same_before_every_launch(self) -> None:
        for out, launches in (("unset", [2]), ("zeros", [2]), ("buffer", [2]), ("kept", [])):
            _, report = self.ticket("kept", "", "--schedules", "4", "--launches", "3", out=out)
            self.assertEqual([f["launch"] for f in findings_of(report, "wrong-value")], launches, report)

    def test_launches_that_are_compared_elect_the_same_lanes(self) -> None:
        source = self.source("arch::named_barrier::sync_cta();\n"
                             "  if (arch::warp::elect()) arch::global::store(p.out + 128 + t / 32, t);")
        path = pathlib.Path(source)
        path.write_text('#include "warpwright/arch/common/warp.hpp"\n' + path.read_text())
        launch = "grid=1,threads=64,shared=1024,buffer=256,unset=1024,int=64"
        status, report = answer("check", "--source", source, "--entry", "exchange", "--launch", launch, "--schedules",
                                "8", "--launches", "3", "--emu-schedule", "fifo")
        self.assertEqual((status, report["launches"]), (0, 24), report)

    def test_memory_that_nobody_wrote_is_written_before_it_is_read(self) -> None:
        status, report = self.ticket("unset", "", "--schedules", "4")
        self.assertEqual((status, [f["rule"] for f in report["findings"]]), (1, ["uninitialised-read"]), report)
        self.assertIn("unset=4", report["findings"][0]["replay"])
        source = self.source("arch::named_barrier::sync_cta();")
        launch = "grid=2,threads=64,shared=1024,buffer=256,unset=512,int=64"
        status, report = answer("check", "--source", source, "--entry", "exchange", "--launch", launch, "--schedules",
                                "4")
        self.assertEqual((status, report["verdict"]), (0, "clean"), report)

    def test_a_flag_that_is_left_set_hangs_the_second_launch_under_every_schedule(self) -> None:
        wait = "arch::global::wait_global(p.ticket, [](u32 value) { return value == 1; });"
        for kind in ("fifo", "random", "pct", "adversarial"):
            _, report = self.ticket("kept", wait, "--schedules", "1", "--launches", "2", "--emu-schedule", kind)
            self.assertEqual([f["launch"] for f in findings_of(report, "livelock")], [2], report)

    def test_operations_run_more_than_once_and_their_groups_change(self) -> None:
        for operation in (["gemm", *SMALL], ["grouped", "--rows", "40,0,70,1", "--n", "64", "--k", "128"],
                          ["grouped", "--rows", "40,0,70,1", "--encoding", "masked", "--n", "64", "--k", "128"],
                          ["k-grouped", "--ks", "128,0,256", "--m", "64", "--n", "64"],
                          ["k-grouped", "--ks", "128,0,256", "--m", "64", "--n", "64", "--accumulate"]):
            status, report = answer("check", *operation, "--schedules", "2")
            self.assertEqual((status, report["verdict"]), (0, "clean"), report)
            self.assertGreaterEqual(report["launches"], 4)
            status, report = answer("check", *operation, "--schedules", "6", "--launches", "3", "--verify")
            self.assertEqual((status, report["launches"]), (0, 18), report)

    def test_a_work_tile_counter_that_is_not_put_back_is_found(self) -> None:
        environment = self.mutated("scheduler/work_tile_counter.hpp", "  arch::global::store(next, 0);\n", "")
        arguments = [PROGRAM, "check", "gemm", "--m", "512", "--n", "128", "--k", "64", "--dtype", "bf16", "--tile",
                     "64x64", "--tile-scheduler", "dynamic", "--sms", "2", "--schedules", "3", "--no-shrink", "--json"]
        for math in ("off", "on"):
            result = subprocess.run([*arguments, "--math", math], env=environment, capture_output=True, text=True,
                                    timeout=200)
            report = json.loads(result.stdout)
            self.assertEqual(report["verdict"], "findings", report)
            finding, = report["findings"]
            self.assertEqual((finding["rule"], finding["launch"], finding["schedules"]), ("wrong-value", 1, 3), report)
            self.assertEqual((finding["space"], finding["begin"], finding["end"]), ("operand workspace", 0, 4), finding)
            self.assertEqual(finding["first"]["inner_file"], "warpwright/scheduler/work_tile_counter.hpp", finding)

    def test_verify_compares_values_where_no_rule_is_broken(self) -> None:
        environment = self.mutated("epilogue/functions.hpp", "relu(float x) { return x <= 0.0f ? 0.0f : x; }",
                                   "relu(float x) { return x <= 9.0f ? 0.0f : x; }")
        arguments = [PROGRAM, "check", "gemm", *SMALL, "--tile", "64x64", "--epilogue", "relu(acc)", "--schedules", "3",
                     "--launches", "1", "--no-shrink", "--json"]
        for verify, launches in (([], []), (["--verify"], [1])):
            result = subprocess.run([*arguments, *verify], env=environment, capture_output=True, text=True, timeout=200)
            report = json.loads(result.stdout)
            self.assertEqual([f["launch"] for f in findings_of(report, "wrong-value")], launches, report)
        finding = report["findings"][0]
        self.assertIn("in FP64", finding["first"]["operation"])
        self.assertRegex(finding["second"]["operation"], "^launch 1: row [0-9]+, column [0-9]+ of .* instead of ")
        self.assertIn("--verify", finding["replay"])
        self.assertEqual(report["findings"][0]["schedules"], 3)


if __name__ == "__main__":
    unittest.main()
