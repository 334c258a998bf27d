# SPDX-License-Identifier: Apache-2.0
"""The loops beside torch: contenders alone with the energy of a call, on a clock and a counter of the test's own, and
dense_torch.py and grouped_torch.py as programs on an emulated device.
loops_test.py [libwarpwright.so] needs torch; without the library the programs are left out."""
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

try:
    import torch
except ImportError:
    torch = None
LIBRARY = ""
STEP_MS = 20.0  # of the counter
CALLS = 20


class Machine:
    """A GPU of the test's own: replays take time and energy, and the counter moves in steps."""

    def __init__(self):
        self.now = self.energy = self.published = 0.0
        self.ran = []

    def replay(self, name, us, watts):
        before = self.now // STEP_MS
        self.ran.append(name)
        self.now += us * CALLS * 1e-3
        self.energy += watts * us * CALLS * 1e-6
        if self.now // STEP_MS != before:
            self.published = self.energy

    def event(self, **_):
        event = types.SimpleNamespace(at=0.0, seen=False)

        def query():  # False once, so that the counter is read
            event.seen, seen = True, event.seen
            return seen

        event.record = lambda: setattr(event, "at", self.now)
        event.elapsed_time = lambda late: late.at - event.at
        event.synchronize, event.query = lambda: None, query
        return event

    def contender(self, name, us, watts, config):
        from loop import Contender  # pylint: disable=import-outside-toplevel
        made = Contender(name, "block", None, None, config=config, calls=CALLS)
        made.graph = types.SimpleNamespace(replay=lambda: self.replay(name, us, watts))
        return made

    def race(self, contenders, meter):
        import alone  # pylint: disable=import-outside-toplevel
        with mock.patch("torch.cuda.Event", self.event), mock.patch("alone.time.sleep"):
            return alone.race_alone(contenders, 2, 0.1, 0.3, random.Random(3), meter)


@unittest.skipUnless(torch, "no torch")
class Alone(unittest.TestCase):
    def test_each_contender_runs_alone_and_its_joules_are_its_own(self):
        machine = Machine()
        made = [machine.contender("auto block", 100.0, 700.0, "arch=sm90"),
                machine.contender("DeepGEMM block", 125.0, 400.0, "DeepGEMM")]
        meter = types.SimpleNamespace(joules=lambda: (machine.now * 1e-3, machine.published), sm_mhz=lambda: 1400.0)
        clocks = machine.race(made, meter)
        from alone import lines_of  # pylint: disable=import-outside-toplevel
        from loop import entry_of  # pylint: disable=import-outside-toplevel
        entries = [entry_of(contender, 7e9, None) for contender in made]
        self.assertEqual([len(entry["turns"]) for entry in entries], [2, 2])
        for entry, us, watts in zip(entries, (100.0, 125.0), (700.0, 400.0)):
            self.assertAlmostEqual(entry["us"], us)
            self.assertAlmostEqual(entry["watts"], watts)
            self.assertAlmostEqual(entry["joules"], us * watts * 1e-6)
            self.assertGreaterEqual(entry["turns"][0]["counted_seconds"], 0.3)
        self.assertEqual(clocks, ["1400.0", "550.0"])
        self.assertEqual(lines_of(entries), ["    alone: auto block 100.0 us 0.100 TFLOP/J; "
                                             "DeepGEMM block 125.0 us 0.140 TFLOP/J (time 1.250, per joule 0.714)"])
        changes = sum(one != other for one, other in zip(machine.ran[4:], machine.ran[5:]))
        self.assertLessEqual(changes, 3)  # four turns

    def test_without_a_counter_there_are_times_and_no_joules(self):
        import alone  # pylint: disable=import-outside-toplevel
        machine = Machine()
        made = [machine.contender("auto block", 100.0, 700.0, "arch=sm90")]
        meter = types.SimpleNamespace(joules=lambda: None, sm_mhz=lambda: None)
        self.assertEqual(machine.race(made, meter), [])
        self.assertEqual((made[0].us, alone.mean_of(made[0], "joules")), ([100.0, 100.0], None))

    def test_power_needs_two_changes_of_the_counter(self):
        import alone  # pylint: disable=import-outside-toplevel
        self.assertIsNone(alone.watts_of([]))
        self.assertIsNone(alone.watts_of([(0.0, 5.0), (0.1, 5.0), (0.2, 9.0)]))
        self.assertAlmostEqual(alone.watts_of([(0.0, 5.0), (0.1, 6.0), (0.2, 6.0), (0.5, 8.0), (0.9, 8.0)]), 5.0)

    def test_only_cases_of_the_power_limit_run_alone(self):
        import loop  # pylint: disable=import-outside-toplevel
        options = types.SimpleNamespace(alone_flops=1e11, alone_rounds=1, alone_load=1.0, alone_seconds=1.0, seconds=1.0,
                                        replays=1, seed=0)
        with mock.patch("loop.capture_all", lambda contenders, sets: contenders), \
                mock.patch("loop.race", lambda *_: ["among others"]), \
                mock.patch("alone.race_alone", lambda *_: ["alone"]):
            for flops, way in ((9e10, "among others"), (1e11, "alone")):
                self.assertEqual(loop.race_all([None], [], options, flops), [way])


class Report(unittest.TestCase):
    def test_a_peers_joules_over_ours_stand_beside_the_times(self):
        import peers_report  # pylint: disable=import-outside-toplevel
        ours = {"name": "auto block", "recipe": "block", "us": 100.0, "joules": 0.06}
        peer = {"name": "DeepGEMM contiguous block", "recipe": "block", "us": 90.0, "joules": 0.05}
        slow = {**peer, "name": "DeepGEMM masked block", "us": 95.0, "joules": 0.01}
        found = peers_report.ratios_of({"m": 1, "n": 1, "k": 1, "contenders": [ours, slow, peer]})
        self.assertAlmostEqual(found.pop("DeepGEMM, block"), 0.9)
        self.assertAlmostEqual(found.pop("DeepGEMM, block, joules"), 0.05 / 0.06)
        self.assertEqual(found, {})

    def test_where_auto_did_not_run_the_fastest_of_ours_counts(self):
        import peers_report  # pylint: disable=import-outside-toplevel
        times = {"ragged block": 100.0, "contiguous block": 80.0, "DeepGEMM contiguous block": 96.0, "torch row-column": 120.0,
                 "humming contiguous block": 64.0}
        case = {"groups": 2, "rows": 40, "n": 8, "k": 8, "roof_us": 40.0, "contenders": [
            {"name": name, "recipe": name.split()[-1], "us": us} for name, us in times.items()]}
        for how in (", best of ours", ""):
            self.assertEqual(peers_report.ratios_of(case), {
                f"DeepGEMM, block{how}": 96 / 80, f"torch, block{how}": 120 / 80, f"humming, block{how}": 64 / 80,
                f"of roof{how}": 40 / 80})
            case["contenders"].append({"name": "auto block", "recipe": "block", "us": 80.0})

    def test_a_report_of_groups_without_auto_has_a_column_of_ratios(self):
        result = ROOT / "bench" / "results" / "2026-11-23_h200_grouped_power.json"
        done = subprocess.run([sys.executable, "-B", str(ROOT / "bench" / "peers_report.py"), str(result)],
                              capture_output=True, text=True, check=True)
        self.assertIn("| 4 groups, 32769 rows, 4096 x 7168 | 0.94 |", done.stdout)


@unittest.skipUnless(torch, "no torch")
class Choice(unittest.TestCase):
    def test_a_choice_is_compared_with_the_best_the_peer_and_the_choice_before(self):
        import dense_choice
        times = {"arch=sm90,x": 11.0, "arch=sm90,y": 10.0, "arch=sm90,z": 12.0}
        contenders = [{"config": config, "us": us} for config, us in times.items()]
        result = {"class": "<= 32", "recipe": "block", "m": 1, "n": 2, "k": 3, "chosen": "arch=sm90,x",
                  "before": "arch=sm90,z", "contenders": contenders + [{"config": "torch", "us": 22.0}]}
        found = dense_choice.losses(result)
        self.assertEqual(sorted(found), ["before", "best", "torch"])
        for name, expected in (("best", 1.1), ("torch", 0.5), ("before", 11 / 12)):
            self.assertAlmostEqual(found[name], expected)
        self.assertIn("mean 1.100, worst 1.100, of 1 0 % within 3 %, 1 more", dense_choice.class_means([result])[1])
        self.assertEqual(dense_choice.losses({**result, "chosen": "arch=sm90,w"}), {}, "it did not run")

    def test_a_compact_result_keeps_every_time_and_what_did_not_run(self):
        import loop
        peer, failed = {"config": "torch", "us": 5.0}, {"config": "arch=sm90,z", "error": "refused"}
        cold = {"config": "arch=sm90,x", "us": 9.0, "rough": True}
        entries = [cold, {"config": "arch=sm90,y", "us": 2.00004}, {"config": "arch=sm90,x", "us": 3.0, "rough": True}]
        record = {"seed": 1, "cases": [{"m": 1, "chosen": "arch=sm90,y", "contenders": [*entries, peer, failed]},
                                       {"m": 2, "chosen": "arch=sm90,x", "contenders": entries[:1]}]}
        made = loop.compact(record)
        self.assertEqual(made["configs"], ["arch=sm90,y", "arch=sm90,x"])
        self.assertEqual(made["cases"][0], {"m": 1, "chosen": 0, "times": [(0, 2.0)], "rough": [(1, 3.0)],
                                            "contenders": [peer, failed]})
        self.assertEqual((made["cases"][1]["chosen"], made["cases"][1]["rough"]), (1, []), "a cold device says nothing")

    def test_orders_are_those_of_the_kernels_and_each_comes_once(self):
        import launch_order
        config = "arch=sm90,tile=128x64x64,cluster=1x1,raster=16,band=m,swap_ab="
        self.assertEqual(launch_order.grid_of(config + "on", 200, 300), (3, 4))
        self.assertEqual(launch_order.grid_of(config + "off", 200, 300), (2, 5))
        self.assertEqual(launch_order.order((3, 2), 2, "m"), [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (2, 1)])
        self.assertEqual(launch_order.order((2, 3), 2, "n"), [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (1, 2)])
        found = [launch_order.fields_of(other) for other in launch_order.orders_of(config + "off", 200, 130)]
        self.assertEqual([(f["raster"], f["band"]) for f in found],
                         [("1", "m"), ("2", "m"), ("2", "n")])  # of 2 x 3 tiles; 1n is 2m, 3n is 1m


@unittest.skipUnless(torch, "no torch")
class Humming(unittest.TestCase):
    TUNINGS = [{"block_shape": [64, 128, 128], "warp_shape": [64, 32, 128], "num_stages": stages, "use_tma": True,
                "use_pdl": False} for stages in (2, 3, 4)]

    def test_the_search_takes_the_fastest_schedule_that_runs(self):
        import humming_peer  # pylint: disable=import-outside-toplevel

        def seconds(tuning):
            if tuning["num_stages"] == 4:
                raise RuntimeError("too much shared memory")
            return 1.0 / tuning["num_stages"]

        self.assertIs(humming_peer.fastest(self.TUNINGS, seconds), self.TUNINGS[1])
        self.assertEqual(humming_peer.describe(self.TUNINGS[1]), "64x128x128 warp=64x32x128 stages=3 use_tma")
        with self.assertRaisesRegex(RuntimeError, "no schedule of 1 ran.*too much shared memory"):
            humming_peer.fastest(self.TUNINGS[2:], seconds)

    def test_scales_of_both_layouts_are_the_same_memory(self):
        import humming_peer  # pylint: disable=import-outside-toplevel
        spread = torch.arange(16.0).view(2, 8)  # (K/128, M padded to 4) of 7 rows
        for scales in (spread, spread.t()[:7]):
            found = humming_peer.rows_contiguous(scales, 7)
            self.assertEqual((found.data_ptr(), found.tolist()), (spread.data_ptr(), spread.tolist()))
        with self.assertRaisesRegex(ValueError, "rows contiguous and padded to 8"):
            humming_peer.rows_contiguous(spread.t()[:7].contiguous(), 7)


@unittest.skipUnless(torch, "no torch")
class Programs(unittest.TestCase):
    def run_program(self, name, cases, *flags):
        if not LIBRARY:
            self.skipTest("no library")
        with tempfile.TemporaryDirectory() as folder:
            file, result = pathlib.Path(folder) / "cases.json", pathlib.Path(folder) / "result.json"
            file.write_text(json.dumps({"cases": cases}))
            command = [sys.executable, "-B", str(ROOT / "bench" / name), "--library", LIBRARY, "--device", "emu:sm90",
                       "--cases", str(file), "--result", str(result), *flags]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, " ".join(command) + "\n" + done.stdout + done.stderr)
            return json.loads(result.read_text())["cases"]

    def check_entries(self, cases, names):
        for case in cases:
            self.assertEqual([entry["name"] for entry in case["contenders"]], names)
            for entry in case["contenders"]:
                self.assertNotIn("error", entry)
                self.assertGreater(entry["us"], 0)
                self.assertLess(entry["max_error"], 0.1)

    def test_dense_cases_run_on_an_emulated_device(self):
        cases = [{"op": "dense", "m": 64, "n": 256, "k": 512}, {"op": "dense", "m": 1, "n": 128, "k": 256}]
        self.check_entries(self.run_program("dense_torch.py", cases), ["auto block", "auto tensor", "auto bf16"])

    def test_a_peer_that_cannot_run_has_its_reason_in_the_result(self):
        grouped = {"op": "grouped", "regime": "decode", "groups": 2, "n": 128, "k": 256, "tokens_per_group": [5, 3]}
        for name, case, peer in (("dense_torch.py", {"op": "dense", "m": 1, "n": 128, "k": 256}, "humming block"),
                                 ("grouped_torch.py", grouped, "humming contiguous block")):
            found = self.run_program(name, [case], "--variants", "auto", "--recipes", "block", "--humming")
            ours, theirs = found[0]["contenders"]
            self.assertNotIn("error", ours)
            self.assertEqual((theirs["name"], theirs["error"]), (peer, "RuntimeError: humming needs a GPU"))

    def test_grouped_cases_run_on_an_emulated_device_and_those_of_one_config_are_left_out(self):
        case = {"op": "grouped", "regime": "decode", "groups": 2, "n": 128, "k": 256, "tokens_per_group": [5, 0]}
        found = self.run_program("grouped_torch.py", [case, {**case, "config": "variant=ragged"}], "--variants", "auto",
                                 "--recipes", "block,tensor,bf16")
        self.assertEqual(len(found), 1)
        self.check_entries(found, ["auto block", "auto tensor", "auto bf16"])

    def test_masked_groups_run_in_every_recipe(self):
        case = {"op": "grouped", "regime": "decode", "groups": 2, "n": 128, "k": 256, "tokens_per_group": [5, 3]}
        recipes = ["row-column", "block", "tensor", "bf16"]
        found = self.run_program("grouped_torch.py", [case], "--variants", "masked", "--recipes", ",".join(recipes))
        self.check_entries(found, ["masked " + recipe for recipe in recipes])


if __name__ == "__main__":
    LIBRARY = sys.argv.pop() if ".so" in pathlib.Path(sys.argv[-1]).name else ""
    with contextlib.redirect_stdout(io.StringIO()):
        unittest.main()
