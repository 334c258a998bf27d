# SPDX-License-Identifier: Apache-2.0
"""`warpwright check` from outside: verdicts and exit statuses, one JSON object, replay commands that show the finding
again, reports that do not depend on the number of processes. Usage: program_test.py <path of warpwright>"""
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import time
import unittest
from typing import Dict

from program import EXCHANGE, LAUNCH, PROGRAM, SMALL, ProgramTest, answer, findings_of, run, without_times

# One thread stores what all wrote, and it alone executes the proxy fence.
STAGE_OUT = """
#include "warpwright/arch/common/fence.hpp"
#include "warpwright/arch/common/named_barrier.hpp"
#include "warpwright/arch/common/shared.hpp"
#include "warpwright/arch/common/tma.hpp"
struct Params { ww::u32* out; ww::arch::TensorMap map; };
WW_KERNEL(stage_out, 64, Params, p) {
  using namespace ww;
  const u32 t = arch::thread_index();
  const arch::SharedAddress box = arch::dynamic_shared();
  arch::shared::store(box + 4 * t, t);
  arch::named_barrier::sync_cta();
  if (t != 0) return;
  arch::fence::proxy_async_shared();
  arch::tma::store_2d(p.map, box, 0, 0);
  arch::tma::commit();
  arch::tma::wait<0>();
}
"""
HELPER = "WW_DEVICE void put(ww::arch::SharedAddress at, ww::u32 value) { ww::arch::shared::store(at, value); }\n"


class Check(ProgramTest):
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

    def test_strict_rules_are_switched_by_name(self) -> None:
        path = self.path / "stage_out.hpp"
        path.write_text(STAGE_OUT)
        check = ["check", "--source", str(path), "--entry", "stage_out", "--schedules", "4", "--launch",
                 "threads=64,shared=256,buffer=256,map=0:f32:64x1:64x1:0"]
        status, report = answer(*check, "--strict", "remote-release-of-reads")
        self.assertEqual((status, [f["rule"] for f in report["findings"]]), (1, ["proxy-fence"]), report)
        self.assertIn("strict rule reader-side-fence", json.dumps(report["findings"]))
        self.assertIn(" --strict remote-release-of-reads ", report["findings"][0]["replay"])
        self.assertEqual(answer(*check, "--relax", "reader-side-fence,read-before-async-write")[0], 0)
        for flag in ("--relax", "--strict"):
            status, error = answer(*check, flag, "reader-side-fence,no-rule")
            self.assertEqual(status, 2, error)
            self.assertIn(flag, json.dumps(error))
            self.assertIn("remote-release-of-reads", json.dumps(error))

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
            said = result.stdout.replace(str(path), "hand_over.hpp")
            for line in excerpt if status else ():
                self.assertIn(line, said.splitlines(), "README shows what the program does not say")
            if status:  # the prose gives the same counts
                counts = re.findall(r"in (\d+ of \d+) schedules", result.stdout)
                prose = text.split("How to read it:")[1].split("```")[0]
                self.assertEqual(re.findall(r"in \*\*(\d+ of \d+)\*\* schedules", " ".join(prose.split())), counts)
                self.assertNotRegex(prose, r"\bin \d+ (of \d+ )?schedules")
                document = root / "docs" / "checking-kernels.md"
                block = text.split("$ warpwright check --source hand_over.hpp")[1].split("```")[0].split("\n", 1)[1]
                if "WARPWRIGHT_RENEW_DOCS" in os.environ and without_times(block) != without_times(said):
                    document.write_text(text.replace(block, said))
                    block = said
                self.assertEqual(without_times(block), without_times(said),
                                 "run this test with WARPWRIGHT_RENEW_DOCS=1 to renew the document")

    def test_the_document_has_a_row_for_every_rule(self) -> None:
        root = pathlib.Path(__file__).parents[2]
        sources = [root / "src" / "emu" / "check" / "rules.cpp", *sorted((root / "src" / "emu").glob("sm*/model.cpp"))]
        rules = {name for source in sources for name in re.findall(r'\{(?:Rule::\w+|k\w+),\s*"([a-z-]+)"', source.read_text())}
        self.assertGreater(len(rules), 20)
        document = (root / "docs" / "checking-kernels.md").read_text()
        table = document.split("| rule | first | second |")[1].split("\n\n")[0]
        self.assertEqual(set(re.findall(r"^\| `([a-z-]+)` \|", table, re.M)), rules - {"unsupported"})

    def test_a_finding_names_both_parties_and_every_inlined_function(self) -> None:
        helped = EXCHANGE.replace("WW_KERNEL(", HELPER + "WW_KERNEL(").replace(
            "arch::shared::store(box + 4 * t, ", "put(box + 4 * t, ")
        path = self.path / "my_kernel.hpp"
        path.write_text(helped.replace("SYNC", ""))
        lines = helped.split("\n")
        in_put = 1 + next(i for i, line in enumerate(lines) if "void put" in line)
        in_kernel = 1 + next(i for i, line in enumerate(lines) if "  put(" in line)
        arguments = ["check", "--source", str(path), "--entry", "exchange", "--launch", LAUNCH, "--schedules", "4",
                     "--emu-schedule", "random", "--no-shrink"]
        _, report = answer(*arguments)
        race = next(f for f in report["findings"] if f["rule"] == "data-race")
        store = next(race[p] for p in ("first", "second") if race[p]["operation"] == "st.shared")
        frames = [(f["file"], f["line"], f["function"]) for f in store["frames"]]
        self.assertEqual(frames[:2], [(str(path), in_kernel, "exchange"), (str(path), in_put, "put")])
        self.assertEqual({f[0] for f in frames[2:]}, {"warpwright/arch/common/shared.hpp"})
        self.assertEqual((store["file"], store["line"]), frames[0][:2])
        self.assertIn(f" at {path}:{in_kernel} in exchange, CTA ", race["text"])
        self.assertIn(f"\n            {path}:{in_put} in put\n", race["text"])
        for finding in report["findings"]:
            for party in ("first", "second"):
                self.assertTrue(finding[party]["operation"] and finding[party]["line"] > 0, finding)
        unwritten = next((f for f in report["findings"] if f["rule"] == "uninitialised-read"), None)
        self.assertIsNotNone(unwritten, report)
        self.assertIn("shared memory of CTA", unwritten["first"]["operation"])
        self.assertIn("1024 bytes of dynamic shared memory", unwritten["first"]["operation"])
        self.assertEqual(unwritten["first"]["line"], 1 + next(i for i, line in enumerate(lines) if "WW_KERNEL" in line))

    def test_reports_hold_no_addresses(self) -> None:
        for edit in ("arch::global::store(p.out + 100000, 1);", "arch::shared::load(box + 1 * t);", "arch::global::load(p.in + 64);"):
            _, report = answer("check", "--source", self.source(edit), "--entry", "exchange", "--launch", LAUNCH,
                               "--schedules", "2", "--no-shrink")
            self.assertNotRegex(json.dumps(report), r"0x[0-9a-f]{7,}")
            finding = report["findings"][-1]
            self.assertTrue(finding["first"]["operation"] and finding["second"]["operation"], finding)

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
            ("--device", ["gemm", "--device", "cuda:0"]),
            ("--out", ["gemm", "--out", "d.npy"]),
        ):
            with self.subTest(arguments=arguments):
                status, report = answer("check", *arguments)
                self.assertEqual(status, 2, report)
                self.assertIn(argument.strip("-"), report["error"]["argument"])
        status, report = answer("check", "--source", source, "--entry", "nothing", "--launch", LAUNCH)
        self.assertEqual((status, report["error"]["argument"]), (2, "--entry"), report)
        self.assertIn("expected exchange, got \"nothing\"", report["error"]["message"])

    def test_a_launch_is_refused_before_anything_runs(self) -> None:
        source = self.source("")
        good = {"grid": "2", "cluster": "1", "threads": "64", "shared": "1024"}
        parameters = "buffer=256,buffer=512,int=64"
        for argument, change, members in (
            ("--launch, key threads", {"threads": "1000000000"}, parameters),
            ("--launch, key threads", {"threads": "33"}, parameters),
            ("--launch, key threads", {"threads": "128"}, parameters),
            ("--launch, key grid", {"grid": "3", "cluster": "2"}, parameters),
            ("--launch, key grid", {"grid": "1000", "cross": "1"}, parameters),
            ("--launch, key cluster", {"grid": "17", "cluster": "17"}, parameters),
            ("--launch, key shared", {"shared": "300000"}, parameters),
            ("--launch", {}, "buffer=256,buffer=512"),
            ("--launch", {}, "buffer=256"),
            ("--launch", {}, parameters + ",long=1"),
        ):
            launch = ",".join(f"{key}={value}" for key, value in {**good, **change}.items()) + "," + members
            with self.subTest(launch=launch):
                status, report = answer("check", "--source", source, "--entry", "exchange", "--launch", launch)
                self.assertEqual((status, report["error"]["argument"]), (2, argument), report)
                self.assertNotIn("verdict", report)
                if argument == "--launch":
                    self.assertEqual(report["error"]["expected"], "values of 24 bytes in all, the size of the kernel's "
                                                                  "parameter")
                    self.assertRegex(report["error"]["actual"], r"^\d+ bytes$")

    def test_a_file_is_called_what_it_was_called_wherever_it_was_compiled(self) -> None:
        # The second of each pair comes from the cache, which another folder filled.
        text = EXCHANGE.replace("SYNC", "") + f"// {self.path}\n"
        for folder in ("one", "two"):
            (self.path / folder / "deep").mkdir(parents=True)
            (self.path / folder / "deep" / "my kernel.hpp").write_text(text)
        absolute = str(self.path / "one" / "deep" / "my kernel.hpp")
        for given in ("deep/my kernel.hpp", "./deep/../deep/my kernel.hpp", absolute):
            for folder in ("one", "two"):
                result = subprocess.run([PROGRAM, "check", "--source", given, "--entry", "exchange", "--launch", LAUNCH,
                                         "--schedules", "1", "--no-shrink", "--json"], cwd=self.path / folder,
                                        capture_output=True, text=True, timeout=120)
                report = json.loads(result.stdout)
                finding = next(f for f in report["findings"] if f["rule"] == "data-race")
                for party in ("first", "second"):
                    self.assertEqual((finding[party]["file"], finding[party]["inner_file"]), (given, given))

    def test_the_librarys_files_are_called_as_they_are_included(self) -> None:
        _, report = answer("check", "gemm", *SMALL, "--schedules", "1", "--traffic")
        files = {line["file"] for line in report["traffic"]}
        self.assertTrue(files)
        self.assertEqual([name for name in files if not name.startswith("warpwright/")], [])

    def test_compiler_errors_appear_once(self) -> None:
        source = self.source("this is no C++;")
        arguments = ["check", "--source", source, "--entry", "exchange", "--launch", LAUNCH]
        result = run(*arguments)
        self.assertEqual(result.returncode, 4)
        error = re.search(r".*my_kernel.hpp:12:.*error:.*", result.stdout)
        self.assertIsNotNone(error, result)
        self.assertEqual((result.stdout + result.stderr).count(error.group()), 1)
        status, report = answer(*arguments)
        self.assertEqual((status, report["verdict"]), (4, "incomplete"))
        self.assertEqual(json.dumps(report).count("my_kernel.hpp:12:"), report["why_incomplete"].count("my_kernel.hpp:12:"))

    def interrupt(self, with_signal: int, *arguments: str) -> subprocess.CompletedProcess:
        """Interrupts the program once a worker has used half a second of processor time."""
        with subprocess.Popen([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as program:
            workers: Dict[int, float] = {}
            deadline = time.monotonic() + 60
            while sum(workers.values()) < 0.5 and time.monotonic() < deadline:
                time.sleep(0.05)
                for task in pathlib.Path(f"/proc/{program.pid}/task").iterdir():
                    for child in (task / "children").read_text().split():
                        fields = pathlib.Path(f"/proc/{child}/stat").read_text().rsplit(")", 1)[1].split()
                        workers[int(child)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            self.assertGreaterEqual(sum(workers.values()), 0.5, "no worker ran")
            program.send_signal(with_signal)
            out, err = program.communicate(timeout=30)
            for worker in workers:
                self.assertFalse(pathlib.Path(f"/proc/{worker}").exists(), "a worker is left")
            return subprocess.CompletedProcess(arguments, program.returncode, out, err)

    def test_an_interrupt_reports_what_ran(self) -> None:
        source = self.source("arch::named_barrier::sync_cta();")
        kernel = ["check", "--source", source, "--entry", "exchange", "--launch", LAUNCH, "--schedules", "5000000"]
        run(*kernel[:-1], "1")  # compiled
        for with_signal in (signal.SIGINT, signal.SIGTERM):
            result = self.interrupt(with_signal, *kernel, "--json")
            report = json.loads(result.stdout)
            self.assertEqual((result.returncode, report["verdict"], report["interrupted"]), (4, "incomplete", True))
            self.assertGreater(report["schedules"], 0)
            self.assertRegex(report["why_incomplete"], "^interrupted after [0-9]+ of 5000000 schedules$")
        text = self.interrupt(signal.SIGINT, *kernel)
        self.assertRegex(text.stdout, "\n  verdict    incomplete\n  incomplete interrupted after [0-9]+ of 5000000")
        source = self.source("")
        report = json.loads(self.interrupt(signal.SIGINT, *kernel, "--json").stdout)
        self.assertEqual((report["verdict"], report["interrupted"]), ("findings", True))
        self.assertIn("data-race", [f["rule"] for f in report["findings"]])

    def test_an_endless_loop_is_reported_with_its_line_and_its_threads(self) -> None:
        poll = ("if (t >= 60) for (long i = 0;; ++i) "
                "if (*reinterpret_cast<const volatile int*>(p.in) == (1L << 40) + i) break;")
        for loop, threads in (("if (t >= 60) for (volatile int i = 0;;) i = i + 1;", {60, 61, 62, 63}),
                              (poll, {60, 61, 62, 63})):
            with self.subTest(loop=loop):
                source = self.source(loop)
                arguments = ["check", "--source", source, "--entry", "exchange", "--launch",
                             LAUNCH.replace("grid=2", "grid=1"), "--schedules", "1", "--no-shrink"]
                status, report = answer(*arguments)
                finding, = findings_of(report, "livelock")
                self.assertEqual({32 * p["warp"] + p["lane"] for p in finding["parties"]}, threads, finding)
                self.assertEqual({p["line"] for p in finding["parties"]}, {12}, finding)
                self.assertEqual({p["file"].split("/")[-1] for p in finding["parties"]}, {"my_kernel.hpp"})
                self.assertEqual(findings_of(answer(*arguments)[1], "livelock"), [finding])

    def test_endless_loops_of_stores_atomics_and_loads_are_reported_with_their_line(self) -> None:
        for loop in ("for (;;) arch::global::store(p.out + t, t);",
                     "for (u32 i = 0;; ++i) arch::global::store_release(p.out + t, i);",
                     "for (u32 i = 0;; ++i) arch::shared::store(box + 4 * t, i);",
                     "for (;;) arch::global::atomic_add(p.out, 1);",
                     "for (;;) static_cast<void>(arch::shared::load(box + 4 * t));",
                     "for (;;) static_cast<void>(arch::global::load(p.in + t));"):
            with self.subTest(loop=loop):
                source = self.source("if (t >= 62) " + loop)
                status, report = answer("check", "--source", source, "--entry", "exchange", "--launch",
                                        LAUNCH.replace("grid=2", "grid=1"), "--schedules", "1", "--no-shrink")
                finding, = findings_of(report, "livelock")
                self.assertEqual({32 * p["warp"] + p["lane"] for p in finding["parties"]}, {62, 63}, finding)
                self.assertEqual({(p["file"].split("/")[-1], p["line"]) for p in finding["parties"]},
                                 {("my_kernel.hpp", 12)}, finding)

    def test_a_launch_that_never_ends_says_where_its_threads_are(self) -> None:
        source = self.source("for (;;) arch::named_barrier::sync_cta();")
        status, report = answer("check", "--source", source, "--entry", "exchange", "--launch", LAUNCH, "--schedules",
                                "1", "--time", "1s")
        self.assertEqual((status, report["verdict"]), (4, "incomplete"), report)
        self.assertIn("my_kernel.hpp:12", report["why_incomplete"])

    def test_sms_are_chosen(self) -> None:
        for sms in (1, 132):
            status, report = answer("check", "gemm", *SMALL, "--tile", "64x64", "--math", "off", "--schedules", "2",
                                    "--sms", str(sms))
            self.assertEqual((status, report["sms"]), (0, sms), report)
            self.assertEqual(report["findings"], [])
        for arguments in (["gemm", *SMALL], ["--source", self.source(""), "--entry", "exchange", "--launch", LAUNCH]):
            status, report = answer("check", *arguments, "--sms", "133")
            self.assertEqual((status, report["error"]["argument"]), (2, "--sms"), report)
        status, report = answer("gemm", *SMALL, "--device", "emu:sm90", "--sms", "133")
        self.assertEqual(status, 2, report)
        self.assertIn("132", report["error"]["expected"])
        source = self.source("arch::named_barrier::sync_cta();")
        launch = LAUNCH.replace("grid=2", "grid=100").replace("buffer=512", "buffer=25600")
        launch = launch.replace("shared=1024", "shared=1024,cross=1")
        for sms, wanted in (("100", 0), ("99", 2)):
            status, report = answer("check", "--source", source, "--entry", "exchange", "--launch", launch,
                                    "--schedules", "2", "--sms", sms)
            self.assertEqual(status, wanted, report)

    def test_a_report_is_the_same_in_every_run_and_on_any_number_of_processes(self) -> None:
        mistakes = {
            "data-race": "", "uninitialised-read": "",
            "deadlock": "if (t != 5) arch::named_barrier::sync_cta();",
            "livelock": "while (arch::global::load_acquire(p.out) != 77) {}",
            "misaligned": "arch::shared::store(box + 4 * t + 2, u32{1});",
        }
        for rule, mistake in mistakes.items():
            with self.subTest(rule=rule):
                source = self.source(mistake)
                arguments = ["check", "--source", source, "--entry", "exchange", "--launch", LAUNCH, "--schedules",
                             "12", "--no-shrink"]
                texts = {re.sub(r"in [0-9.]+ s, .* a second", "", run(*arguments, "--threads", threads).stdout)
                         for threads in ("1", "2", "1")}
                self.assertEqual(len(texts), 1, texts)
                self.assertIn(f": {rule}, in ", texts.pop())

    def test_arrays_of_pointers_are_checked_and_groups_of_k_name_their_layout(self) -> None:
        for flags in (["--pointer-array"], ["--config", "pointers=1"]):
            status, report = answer("check", "gemm", *SMALL, *flags, "--batch", "3", "--schedules", "3", "--launches",
                                    "2", "--verify")
            self.assertEqual((status, report["verdict"]), (0, "clean"), report)
            self.assertIn("pointers=1", report["config"])
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
    unittest.main()
