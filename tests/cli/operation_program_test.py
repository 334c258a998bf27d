# SPDX-License-Identifier: Apache-2.0
"""Every verb takes every operation: configs, explain and prepare of groups of rows and of K, and groups of K whose
operands and arrays come from files. Usage: operation_program_test.py <path of warpwright>"""
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unittest
from typing import Any, Dict, List, Sequence, Tuple

PROGRAM = ""
ROWS = ["--rows", "3,0,70", "--n", "64", "--k", "128", "--dtype", "bf16"]
KS = ["--ks", "3,0,70", "--m", "64", "--n", "64"]


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=240,
                          env={**os.environ, **environment})


def npy(path: pathlib.Path, descr: str, shape: Tuple[int, ...], data: bytes) -> str:
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape!r}, }}".encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data)
    return str(path)


def halves(values: Sequence[float]) -> bytes:
    return struct.pack(f"<{len(values)}e", *values)


def floats(path: pathlib.Path) -> List[float]:
    content = path.read_bytes()
    data = content[10 + struct.unpack("<H", content[8:10])[0]:]
    return list(struct.unpack(f"<{len(data) // 4}f", data))


class Operations(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.directory.name)

    def tearDown(self) -> None:
        self.directory.cleanup()

    def answer(self, *arguments: str, status: int = 0, **environment: str) -> Dict[str, Any]:
        result = run(*arguments, "--json", **environment)
        self.assertEqual(result.returncode, status, result)
        return json.loads(result.stdout)

    def test_configs_and_explain_name_what_a_run_takes(self) -> None:
        for operation in (["grouped", *ROWS], ["k-grouped", *KS]):
            with self.subTest(operation=operation[0]):
                ran = self.answer(*operation, "--device", "emu:sm90")
                listed = self.answer("configs", *operation, "--device", "emu:sm90", "--top", "0")
                self.assertEqual(listed["chosen"], ran["config"])
                # Groups of rows are listed by modelled time, whatever the rules take.
                first = listed["configs"][:1] if operation[0] == "k-grouped" else listed["configs"]
                self.assertIn(ran["config"], [c["config"] for c in first])
                self.assertGreater(listed["count"], 1)
                self.assertEqual(len({c["config"] for c in listed["configs"]}), listed["count"])
                explained = self.answer("explain", *operation, "--device", "emu:sm90")
                self.assertEqual(explained["chosen"]["config"], ran["config"])
                self.assertTrue(explained["because"])
                self.assertNotIn(ran["config"], [c["config"] for c in explained["next"]])

    def test_every_listed_config_runs_and_is_right(self) -> None:
        for operation in (["grouped", *ROWS], ["k-grouped", *KS]):
            for config in self.answer("configs", *operation, "--device", "emu:sm90")["configs"][:2]:
                with self.subTest(config=config["config"]):
                    again = self.answer(*operation, "--device", "emu:sm90", "--config", config["config"], "--verify")
                    self.assertTrue(again["ok"])

    def test_groups_of_two_types(self) -> None:
        """Beside chosen pairs two random problems; every one is compared with FP64."""
        types, rng = ["e4m3", "e5m2", "e2m1", "e3m2", "e2m3"], random.Random("types of groups")
        cases = [("e4m3", "e2m1", "3,0,70", 64, 128), ("e2m1", "e5m2", "0,1", 136, 256)]
        for _ in range(2):
            rows = ",".join(str(rng.choice([0, 1, rng.randrange(200)])) for _ in range(rng.randrange(1, 5)))
            cases.append((*rng.sample(types, 2), rows, 8 * rng.randrange(1, 30), 128 * rng.randrange(1, 5)))
        for a, b, rows, n, k in cases:
            flags = ["grouped", "--rows", rows, "--n", str(n), "--k", str(k), "--dtype", a, "--b-dtype", b, "--scale", "mx",
                     "--device", "emu:sm100", "--verify"]
            with self.subTest(command=" ".join(flags)):
                ran = self.answer(*flags)
                self.assertTrue(ran["ok"])
                self.assertIn(f"a={a},b={b},", ran["config"])
        refused = self.answer("grouped", *ROWS, "--b-dtype", "f16", status=3)["error"]
        self.assertEqual(refused["argument"], "--b-dtype")

    def test_a_config_is_for_the_architecture_of_its_device(self) -> None:
        for device, other in (("emu:sm90", "sm100"), ("emu:sm100", "sm90")):
            for command in (["gemm"], ["explain", "gemm"], ["configs", "grouped"], ["prepare"], ["prepare", "k-grouped"]):
                with self.subTest(command=command, device=device):
                    said = self.answer(*command, "--device", device, "--config", f"arch={other}", status=3)["error"]
                    self.assertEqual([said[key] for key in ("argument", "expected", "actual")],
                                     ["--config, arch", f"{device[4:]}, the device's", other])
        lists = pathlib.Path(__file__).resolve().parents[2] / "src" / "launch"
        for name, device, other in (("pack_configs.txt", "emu:sm100", "sm90"), ("sm100_pack_configs.txt", "emu:sm90", "sm100")):
            said = self.answer("prepare", "--configs", str(lists / name), "--device", device, status=3)["error"]
            self.assertEqual([said[key] for key in ("argument", "expected", "actual")],
                             ["--configs, line 3, config, arch", f"{device[4:]}, the device's", other])

    def test_prepare_leaves_nothing_to_compile(self) -> None:
        for operation in (["grouped", *ROWS, "--config", "stages=2", "--tile", "64x64", "--zero-outside"],
                          ["k-grouped", *KS, "--tile", "64x64", "--stages", "2"]):
            with self.subTest(operation=operation[0]):
                cache = {"WARPWRIGHT_CACHE_DIR": str(self.path / operation[0])}
                prepared = self.answer("prepare", *operation, "--device", "emu:sm90", **cache)
                self.assertEqual((prepared["failed"], len(prepared["kernels"])), (0, 1))
                modules = sorted((self.path / operation[0]).rglob("*.so"))
                self.assertTrue(modules)
                ran = self.answer(*operation, "--device", "emu:sm90", "--verify", **cache)
                self.assertEqual(ran["config"], prepared["kernels"][0]["config"])
                self.assertEqual(sorted((self.path / operation[0]).rglob("*.so")), modules)

    def cases_of_groups(self) -> str:
        """Two cases for each operation with groups, of which one kernel computes both."""
        cases = [{"op": "grouped", "n": 64, "k": 128, "tokens_per_group": rows} for rows in ([3, 0, 70], [20, 21, 1])]
        cases += [{"op": "k-grouped", "m": 64, "n": 64, "tokens_per_group": rows} for rows in ([64, 0, 10], [1, 2, 3])]
        path = self.path / "cases.json"
        path.write_text(json.dumps({"cases": cases}))
        return str(path)

    def test_prepare_takes_lists_of_groups(self) -> None:
        cases = self.cases_of_groups()
        for operation in (["grouped", "--variant", "contiguous", "--tile", "64x64", "--stages", "2"],
                          ["k-grouped", "--tile", "64x64", "--stages", "2"]):
            with self.subTest(operation=operation[0]):
                answer = self.answer("prepare", *operation, "--device", "emu:sm90", "--cases", cases)
                self.assertEqual((answer["cases"], answer["failed"]), (2, 0))
                self.assertEqual([kernel["cases"] for kernel in answer["kernels"]], [[0, 1]])

    def test_bench_times_groups_of_k(self) -> None:
        flags = ["--device", "emu:sm90", "--tile", "64x64", "--stages", "2"]
        case, = self.answer("bench", "k-grouped", *KS, *flags, "--encoding", "indptr")["cases"]
        self.assertEqual((case["op"], case["contenders"][0]["name"]), ("k-grouped", "warpwright"))
        self.assertLess(case["contenders"][0]["max_error"], 0.1)
        listed = self.answer("bench", "k-grouped", *flags, "--cases", self.cases_of_groups(), "--variants",
                             "auto;stages=3")
        self.assertEqual([case["tokens_per_group"] for case in listed["cases"]], [[64, 0, 10], [1, 2, 3]])
        self.assertEqual([c["name"] for c in listed["cases"][1]["contenders"]], ["warpwright[0]", "warpwright[1]"])
        self.assertEqual(listed["skipped"], 2)
        error = self.answer("bench", "k-grouped", *KS, *flags, "--accumulate", status=3)["error"]
        self.assertEqual(error["argument"], "--accumulate")

    def test_bench_scales_rows_and_columns_of_a_gemm(self) -> None:
        case, = self.answer("bench", "gemm", "--device", "emu:sm90", "--m", "64", "--n", "64", "--k", "256", "--scale",
                            "row-column")["cases"]
        self.assertLess(case["contenders"][0]["max_error"], 0.1)

    def test_groups_of_k_come_from_files(self) -> None:
        m, n, counts = 8, 16, (3, 0, 5)
        k = sum(counts)
        a = [float((row + 2 * column) % 5 - 2) for row in range(k) for column in range(m)]
        b = [float((3 * row + column) % 7 - 3) for row in range(k) for column in range(n)]
        c = [float(i % 11) for i in range(len(counts) * m * n)]
        files = ["--a", npy(self.path / "a.npy", "<f2", (k, m), halves(a)),
                 "--b", npy(self.path / "b.npy", "<f2", (k, n), halves(b))]
        groups = ["--indptr", npy(self.path / "g.npy", "<i4", (4,), struct.pack("<4i", 0, 3, 3, 8))]
        expected, first = [], 0
        for count in counts:
            expected += [sum(a[row * m + i] * b[row * n + j] for row in range(first, first + count))
                         for i in range(m) for j in range(n)]
            first += count
        out = self.path / "d.npy"
        device = ["--device", "emu:sm90", "--out", str(out)]
        answer = self.answer("k-grouped", *files, *groups, *device, "--verify")
        self.assertEqual((answer["groups"], answer["m"], answer["n"], answer["useful_k"]), (3, m, n, k))
        self.assertEqual(floats(out), expected)
        added = ["--accumulate", "--c", npy(self.path / "c.npy", "<f4", (3, m, n), struct.pack(f"<{len(c)}f", *c))]
        self.answer("k-grouped", *files, *groups, *device, *added, "--verify")
        self.assertEqual(floats(out), [d + before for d, before in zip(expected, c)])

    def test_groups_of_k_packed_one_by_one_come_from_files(self) -> None:
        m, n, counts = 8, 16, (128, 0, 256)
        pieces, expected = {"a": [], "b": []}, []
        for g, count in enumerate(counts):
            a = [[float((row + 2 * k + g) % 5 - 2) for k in range(count)] for row in range(m)]
            b = [[float((3 * row + k) % 7 - 3) for k in range(count)] for row in range(n)]
            expected += [sum(x * y for x, y in zip(a[i], b[j])) for i in range(m) for j in range(n)]
            pieces["a"] += [value for row in a for value in row]
            pieces["b"] += [value for row in b for value in row]
        files = [word for name, values in pieces.items()
                 for word in ("--" + name, npy(self.path / (name + ".npy"), "<f2", (len(values),), halves(values)))]
        groups = ["--offsets", npy(self.path / "g.npy", "<i4", (3,), struct.pack("<3i", 128, 128, 384))]
        packed = ["--layout", "nt", "--packing", "per-group"]
        out = self.path / "d.npy"
        device = ["--device", "emu:sm90", "--out", str(out)]
        answer = self.answer("k-grouped", *files, *groups, *packed, "--m", "8", "--n", "16", *device, "--verify")
        self.assertEqual((answer["packing"], answer["k"], answer["useful_k"]), ("per-group", 384, 384))
        self.assertEqual(floats(out), expected)
        again = ["--layout", "nt", "--config", answer["config"]]  # the config says how the groups are packed
        self.answer("k-grouped", *files, *groups, *again, "--m", "8", "--n", "16", *device, "--verify")
        self.assertEqual(floats(out), expected)
        for flag, arguments in (("--m", ["--n", "16", *packed]), ("--a", ["--m", "7", "--n", "16", *packed]),
                                ("--a", ["--m", "8", "--n", "16", "--layout", "nt"]),
                                ("--packing", ["--m", "8", "--n", "16", *again, "--packing", "joint"])):
            with self.subTest(arguments=arguments):
                error = self.answer("k-grouped", *files, *groups, *arguments, *device, status=2)["error"]
                self.assertIn(flag, error["argument"])

    def test_refusals_of_files_name_the_flag(self) -> None:
        a = npy(self.path / "a.npy", "<f2", (8, 8), halves([1.0] * 64))
        b = npy(self.path / "b.npy", "<f2", (8, 16), halves([1.0] * 128))
        short = npy(self.path / "short.npy", "<f2", (7, 16), halves([1.0] * 112))
        over = npy(self.path / "over.npy", "<i4", (2,), struct.pack("<2i", 4, 9))
        ends = npy(self.path / "ends.npy", "<i4", (2,), struct.pack("<2i", 4, 8))
        for flag, arguments in (("--b", ["--a", a, "--b", short, "--offsets", ends]),
                                ("--b", ["--a", a, "--offsets", ends]),
                                ("--offsets", ["--a", a, "--b", b, "--offsets", over]),
                                ("--ks", ["--a", a, "--b", b, "--offsets", ends, "--ks", "4,4"]),
                                ("--c", ["--a", a, "--b", b, "--offsets", ends, "--c", a])):
            with self.subTest(arguments=arguments):
                error = self.answer("k-grouped", *arguments, "--device", "emu:sm90", status=2)["error"]
                self.assertIn(flag, error["argument"])


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
