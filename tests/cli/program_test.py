# SPDX-License-Identifier: Apache-2.0
"""The built program from outside: exit statuses, one JSON object on stdout, refusals that name argument, expected and
actual, and a GEMM on the emulated device that is right. Usage: program_test.py <path of warpwright>"""
import json
import math
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unittest
from typing import Any, Dict, List, Tuple

PROGRAM = ""
SMALL = ["--device", "emu:sm90", "--m", "64", "--n", "128", "--k", "256", "--sms", "2"]


def run(*arguments: str, timeout: float = 120) -> subprocess.CompletedProcess:
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=timeout)


def npy(path: pathlib.Path, descr: str, shape: Tuple[int, ...], data: bytes) -> str:
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape!r}, }}".encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data)
    return str(path)


def safetensors(path: pathlib.Path, tensors: Dict[str, Tuple[str, List[int], bytes]]) -> str:
    header: Dict[str, Any] = {}
    data = b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return str(path)


def read_npy(path: pathlib.Path) -> Tuple[str, bytes]:
    content = path.read_bytes()
    length = struct.unpack("<H", content[8:10])[0]
    return content[10:10 + length].decode(), content[10 + length:]


def bf16(value: float) -> bytes:
    return struct.pack("<f", value)[2:]


class Program(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.directory.name)

    def tearDown(self) -> None:
        self.directory.cleanup()

    def one_object(self, result: subprocess.CompletedProcess) -> Dict[str, Any]:
        self.assertEqual(result.stdout.count("\n"), 1, result.stdout)
        return json.loads(result.stdout)

    def refused(self, status: int, argument: str, *arguments: str) -> Dict[str, str]:
        """Both forms of an error: a sentence on stderr, or one object on stdout."""
        with self.subTest(arguments=arguments):
            result = run(*arguments, "--json")
            self.assertEqual(result.returncode, status, result)
            answer = self.one_object(result)
            self.assertIs(answer["ok"], False)
            error = answer["error"]
            self.assertEqual(set(error), {"code", "argument", "expected", "actual", "message"})
            self.assertEqual(error["code"], {2: "invalid", 3: "unsupported", 4: "could_not_finish"}[status])
            self.assertIn(argument, error["argument"])
            self.assertTrue(error["expected"] and error["actual"] and error["message"], error)
            return error
        raise AssertionError("not reached")

    def test_layouts_and_mixed_types_of_files(self) -> None:
        # A[m, k] = m + 1 at k = 3, B[n, k] = n + 1 everywhere: D[m, n] = (m + 1)(n + 1)
        rows_a = [[m + 1.0 if k == 3 else 0.0 for k in range(16)] for m in range(8)]
        rows_b = [[n + 1.0] * 16 for n in range(8)]
        expected = [(m + 1.0) * (n + 1.0) for m in range(8) for n in range(8)]

        def product(*flags: str) -> List[float]:
            out = str(self.path / "d.npy")
            result = self.one_object(run("gemm", "--device", "emu:sm90", "--sms", "2", *flags, "--verify", "--out-dtype",
                                         "f32", "--out", out, "--json"))
            self.assertTrue(result["ok"] and result["verified"], result)
            return list(struct.unpack("<64f", read_npy(pathlib.Path(out))[1]))

        def f16(name: str, rows: List[List[float]], turn: bool) -> str:
            stored = [list(column) for column in zip(*rows)] if turn else rows
            flat = [x for row in stored for x in row]
            return npy(self.path / name, "<f2", (len(stored), len(stored[0])), struct.pack(f"<{len(flat)}e", *flat))

        for layout in ("nt", "nn", "tn", "tt"):
            with self.subTest(layout=layout):
                self.assertEqual(product("--a", f16("a.npy", rows_a, layout[0] == "t"), "--b",
                                         f16("b.npy", rows_b, layout[1] == "n"), "--layout", layout), expected)
        e4m3 = {0.0: 0, 1.0: 0x38, 2.0: 0x40, 3.0: 0x44, 4.0: 0x48, 5.0: 0x4a, 6.0: 0x4c, 7.0: 0x4e, 8.0: 0x50}
        e5m2 = {1.0: 0x3c, 2.0: 0x40, 3.0: 0x42, 4.0: 0x44, 5.0: 0x45, 6.0: 0x46, 7.0: 0x47, 8.0: 0x48}
        a = npy(self.path / "a8.npy", "|u1", (8, 16), bytes(e4m3[x] for row in rows_a for x in row))
        b = safetensors(self.path / "b.safetensors",
                        {"b": ("F8_E5M2", [8, 16], bytes(e5m2[x] for row in rows_b for x in row))})
        self.assertEqual(product("--a", a, "--b", b + ":b", "--scale", "none"), expected)
        words = [npy(self.path / f"{name}.npy", "<f4", (8, 16), struct.pack("<128f", *[x for row in rows for x in row]))
                 for name, rows in (("x", rows_a), ("y", rows_b))]
        self.assertEqual(product("--a", words[0], "--b", words[1], "--dtype", "tf32"), expected)
        for device, arch in (("emu:sm90", "sm100"), ("emu:sm100", "sm90")):
            self.refused(3, "config, arch", "gemm", "--device", device, "--m", "64", "--n", "64", "--k", "64", "--config",
                         f"arch={arch}")
        self.refused(3, "--layout", "gemm", "--device", "emu:sm90", "--m", "64", "--n", "64", "--k", "64", "--layout",
                     "nn")

    def test_batches_of_files_and_what_they_share(self) -> None:
        # A (3, 2, 16): row r of matrix l is l + 1 at column r; B (8, 16), shared: row n is n + 1 everywhere
        a = [l + 1.0 if k == r else 0.0 for l in range(3) for r in range(2) for k in range(16)]
        b = [n + 1.0 for n in range(8) for _ in range(16)]
        files = ["--a", npy(self.path / "a.npy", "<f2", (3, 2, 16), struct.pack("<96e", *a)),
                 "--b", npy(self.path / "b.npy", "<f2", (8, 16), struct.pack("<128e", *b)),
                 "--scale", "tensor", "--scale-a", npy(self.path / "s.npy", "<f4", (3,), struct.pack("<3f", 1, 2, 4)),
                 "--scale-b", npy(self.path / "t.npy", "<f4", (1,), struct.pack("<f", 0.5))]
        result = self.one_object(run("gemm", "--device", "emu:sm90", "--sms", "2", *files, "--verify", "--out-dtype",
                                     "f32", "--out", str(self.path / "d.npy"), "--json"))
        self.assertTrue(result["ok"] and result["verified"])
        self.assertEqual(result["batch"], 3)
        header, data = read_npy(self.path / "d.npy")
        self.assertIn("(3, 2, 8)", header)
        expected = [(l + 1) * (n + 1) * (1, 2, 4)[l] * 0.5 for l in range(3) for _ in range(2) for n in range(8)]
        self.assertEqual(list(struct.unpack("<48f", data)), expected)
        for wrong in (["--batch", "2"], ["--scale-b", npy(self.path / "u.npy", "<f4", (2,), bytes(8))]):
            refused = run("gemm", "--device", "emu:sm90", *files, *wrong)
            self.assertNotEqual(refused.returncode, 0)
            self.assertIn(wrong[0], refused.stderr)

    def test_a_leading_extent_of_one_is_taken_of_every_file(self) -> None:
        m, n, k = 5, 136, 256
        def array(name: str, *shape: int) -> str:
            return npy(self.path / f"{name}.npy", "<f4", shape, struct.pack(f"<{math.prod(shape)}f",
                                                                            *range(1, math.prod(shape) + 1)))

        def bits(name: str, *shape: int) -> str:
            return npy(self.path / f"{name}.npy", "|u1", shape, bytes(0x30 + i % 16 for i in range(math.prod(shape))))

        for scale, of_a, of_b in (("block", (m, 2), (2, 2)), ("block-1d", (m, 2), (n, 2)), ("row-column", (m,), (n,)),
                                  ("tensor", (), ())):
            hashes = set()
            for one in ((), (1,)):
                with self.subTest(scale=scale, one=one):
                    files = ["--a", bits("a", *one, m, k), "--b", bits("b", *one, n, k),
                             "--scale-a", array("sa", *one, *of_a), "--scale-b", array("sb", *one, *of_b),
                             "--c", array("c", *one, m, n), "--bias", array("bias", *one, n),
                             "--aux0", array("aux", *one, m, n)]
                    answer = self.one_object(run("gemm", "--device", "emu:sm90", *files, "--scale", scale, "--epilogue",
                                                 "acc + c:f32 + bias + aux0:f32", "--verify", "--json"))
                    self.assertTrue(answer["ok"], answer)
                    hashes.add(answer["d_xxh3"])
            self.assertEqual(len(hashes), 1, scale)

    def test_help_and_version_are_right(self) -> None:
        for arguments in (["--help"], ["--version"], ["gemm", "--help"], ["bench", "gemm", "--help"],
                          ["layout", "--help"]):
            result = run(*arguments)
            self.assertEqual((result.returncode, result.stderr), (0, ""), arguments)
            self.assertIn("warpwright" if arguments == ["--version"] else "--", result.stdout)

    def test_a_grouped_gemm_is_right_for_every_encoding_and_variant(self) -> None:
        small = ["grouped", "--device", "emu:sm90", "--rows", "9,0,1,40", "--n", "96", "--k", "160", "--sms", "2",
                 "--verify", "--json"]
        for encoding, variant, more in (("offsets", "ragged", []), ("offsets", "contiguous", ["--zero-outside"]),
                                          ("indptr", "ragged", ["--scale", "row-column"]),
                                          ("starts-counts", "ragged", ["--gap", "3", "--scale", "tensor"]),
                                          ("row-ids", "contiguous", ["--align", "16", "--m", "80"]),
                                          ("masked", "masked", ["--dtype", "bf16"]),
                                          ("masked", "masked", ["--dtype", "bf16", "--layout", "nn"]),
                                          ("offsets", "ragged", ["--dtype", "f16", "--layout", "nn"]),
                                          ("indptr", "contiguous", ["--dtype", "bf16", "--layout", "nn",
                                                                    "--epilogue", "swiglu(acc)"])):
            with self.subTest(encoding=encoding, variant=variant):
                result = run(*small, "--encoding", encoding, "--variant", variant, *more)
                self.assertEqual(result.returncode, 0, result)
                answer = self.one_object(result)
                self.assertEqual((answer["ok"], answer["verified"], answer["wrong"]), (True, True, 0))
                self.assertEqual((answer["useful_rows"], answer["groups"]), (50, 4))
                self.assertEqual((answer["variant"], answer["status_names"]), (variant, "none"))
                self.assertEqual(answer.get("outside_wrong", 0), 0)
                if variant == "ragged":
                    self.assertGreater(sum(width["tiles"] for width in answer["widths"]), 2)

    def test_the_first_id_of_a_tile_is_that_of_its_rows(self) -> None:
        ids = npy(self.path / "ids.npy", "<i4", (40,), struct.pack("<40i", *[[0, -1, 2][row // 16] if row % 16 < 5 else -1
                                                                           for row in range(40)]))
        small = ["grouped", "--device", "emu:sm90", "--groups", "3", "--row-ids", ids, "--n", "64", "--k", "128",
                 "--verify", "--json"]
        self.assertEqual(self.one_object(run(*small))["useful_rows"], 10)
        answer = self.one_object(run(*small, "--align", "16"))
        self.assertEqual((answer["ok"], answer["useful_rows"], answer["status_names"]), (True, 24, "none"))

    def test_grouped_epilogues_are_right_with_every_variant(self) -> None:
        small = ["grouped", "--device", "emu:sm90", "--rows", "9,0,1,40", "--n", "96", "--k", "160", "--sms", "2",
                 "--verify", "--json"]
        made = ["--a", "generated", "--b", "generated", "--scale-a", "generated", "--scale-b", "generated"]
        bias = npy(self.path / "bias.npy", "<f4", (4, 96), struct.pack("<384f", *[i / 96 - 2 for i in range(384)]))
        for variant, *flags in (("ragged", "--alpha", "0.5", "--bias", bias, *made),
                                  ("descriptors", "--epilogue", "silu(acc*alpha + bias)", "--zero-outside",
                                   "--encoding", "starts-counts", "--gap", "2", "--bias", bias, *made),
                                  ("contiguous", "--epilogue", "swiglu(acc + bias)"),
                                  ("masked", "--epilogue", "acc*alpha + c*beta + col0", "--encoding", "masked",
                                   "--beta", "-1")):
            with self.subTest(variant=variant):
                answer = self.one_object(run(*small, "--variant", variant, *flags))
                self.assertEqual((answer["ok"], answer["wrong"], answer.get("outside_wrong", 0)), (True, 0, 0))
                self.assertEqual(answer["variant"], variant)
                self.assertIn("epilogue=", answer["config"])
        self.refused(3, "--variant", *small[:-1], "--variant", "ragged", "--epilogue", "swiglu(acc)")
        self.refused(3, "--epilogue", *small[:-1], "--epilogue", "row_sum(acc, out0)")
        self.refused(3, "--swap-ab", *small[:-1], "--swap-ab", "on")

    def test_groups_of_k_are_right_in_every_encoding_and_type(self) -> None:
        small = ["k-grouped", "--device", "emu:sm90", "--m", "72", "--n", "64", "--sms", "2", "--tile", "64x64",
                 "--cluster", "1x1", "--verify", "--json"]
        for encoding in ("offsets", "indptr", "starts-counts", "row-ids", "masked"):
            answer = self.one_object(run(*small, "--ks", "70,0,1,40", "--encoding", encoding))
            self.assertTrue(answer["ok"] and answer["verified"], encoding)
            self.assertEqual((answer["useful_k"], answer["status_names"]), (111, "none"))
        for flags in (["--accumulate"], ["--dtype", "f16", "--out-dtype", "f16"]):
            self.assertTrue(self.one_object(run(*small, "--ks", "70,0,1,40", *flags))["ok"], flags)
        for flags in (["--dtype", "e4m3", "--accumulate"], ["--layout", "nn", "--encoding", "masked"],
                      ["--dtype", "tf32", "--encoding", "starts-counts", "--gap", "128"]):
            packed = ["--packing", "per-group", *flags]
            answer = self.one_object(run(*small, "--ks", "256,0,128", *packed))
            self.assertTrue(answer["ok"] and answer["verified"], flags)
            self.assertIn("k_packing=per-group", answer["config"])
        answer = self.one_object(run(*small, "--ks", "256,0,128", "--dtype", "e4m3"))
        self.assertTrue(answer["ok"])
        self.assertIn("scale=block-1d", answer["config"])

    def test_groups_of_k_refuse_by_flag(self) -> None:
        self.refused(2, "--ks", "k-grouped", "--ks", "3,x")
        self.refused(2, "--groups", "k-grouped", "--ks", "3,4", "--groups", "3")
        self.refused(2, "--total", "k-grouped", "--ks", "3,4", "--total", "7")
        self.refused(3, "--total", "k-grouped", "--total", "100", "--dtype", "e4m3")
        self.refused(2, "--k", "k-grouped", "--ks", "30,40", "--k", "50")
        fp8 = ("k-grouped", "--verify", "--dtype", "e4m3", "--m", "64", "--n", "64")  # K-major: whole blocks of 128
        self.refused(3, "--ks", *fp8, "--ks", "100,28")
        self.refused(3, "--ks", *fp8, "--ks", "200,56,128", "--encoding", "row-ids")
        self.refused(3, "--ks", *fp8, "--ks", "128,100", "--encoding", "masked")
        self.refused(3, "--gap", *fp8, "--ks", "128,128", "--encoding", "starts-counts", "--gap", "16")
        self.refused(3, "--align", *fp8, "--ks", "128,128", "--align", "100")
        self.refused(3, "--ks", "k-grouped", "--ks", "100,28", "--layout", "nt")
        self.refused(2, "--ks", "k-grouped", "--ks", "2147483647,2147483647")
        self.refused(3, "--layout", "k-grouped", "--dtype", "e4m3", "--layout", "tn")
        for key in ("d_layout=column", "c_layout=column", "pointers=1", "epilogue=relu(acc)"):
            self.refused(3, key.split("=")[0], "k-grouped", "--config", key)
        # a layout that only the config names is the problem's
        self.refused(3, "--layout", "k-grouped", "--config", "a=e4m3,b=e4m3,scale=tensor,layout=tn")

    def test_pointer_arrays_and_fixed_extents_give_the_same_bits(self) -> None:
        small = ["gemm", *SMALL, "--tile", "64x64", "--cluster", "1x1", "--json"]
        batch = self.one_object(run(*small, "--batch", "3"))
        self.assertEqual(self.one_object(run(*small, "--batch", "3", "--pointer-array"))["d_xxh3"], batch["d_xxh3"])
        one = self.one_object(run(*small))
        fixed = self.one_object(run(*small, "--fixed-n", "128", "--fixed-k", "256"))
        self.assertEqual(fixed["d_xxh3"], one["d_xxh3"])
        self.assertIn("fixed_n=128,fixed_k=256", fixed["config"])
        self.refused(3, "--n", "gemm", *SMALL, "--fixed-n", "136")
        self.refused(3, "--pointer-array", "bench", "gemm", *SMALL, "--pointer-array")
        for m in ("37", "72"):  # fewer and more rows than columns: what C's pointers reach follows its layout
            transposed = run("gemm", "--device", "emu:sm90", "--m", m, "--n", "48", "--k", "48", "--dtype", "bf16",
                         "--tile", "64x64", "--cluster", "1x1", "--batch", "3", "--pointer-array", "--epilogue", "acc+c",
                         "--c-layout", "column", "--verify", "--json")
            self.assertEqual((transposed.returncode, self.one_object(transposed)["wrong"]), (0, 0), transposed)

    def test_what_an_epilogue_or_verb_does_not_take_is_refused(self) -> None:
        self.refused(2, "--beta", "gemm", *SMALL, "--beta", "0.5")
        self.refused(2, "--alpha", "gemm", *SMALL, "--epilogue", "relu(acc)", "--alpha", "0.5")
        self.refused(2, "--beta", "grouped", "--rows", "3,4", "--beta", "0.5")
        self.refused(3, "--epilogue", "bench", "gemm", *SMALL, "--epilogue", "silu(acc)")
        self.refused(3, "--config, key epilogue", "bench", "gemm", *SMALL, "--config", "epilogue=silu(acc)")
        self.refused(2, "--alpha", "bench", "gemm", *SMALL, "--alpha", "0.5")
        self.refused(2, "--pdl", "bench", "gemm", *SMALL, "--pdl", "maybe")
        self.refused(3, "--config, key layout", "bench", "gemm", *SMALL, "--dtype", "bf16", "--config", "layout=nn")
        self.refused(2, "--out-scales", "check", "gemm", "--epilogue", "quantise_block(acc)", "--out-scales", "q.npy")
        self.refused(3, "layout", "grouped", "--dtype", "bf16", "--config", "layout=tn,variant=contiguous")
        self.refused(3, "--c-layout", "grouped", "--c-layout", "column")

    def test_grouped_sizes_of_a_file_that_contradict_are_refused(self) -> None:
        sizes = npy(self.path / "sizes.npy", "<i4", (2,), struct.pack("<2i", 4, 99))
        for verb in (("grouped", "--verify"), ("check", "grouped")):
            small = (*verb, "--device", "emu:sm90", "--m", "10", "--n", "64", "--k", "128")
            self.refused(2, "--offsets", *small, "--offsets", sizes)
            self.refused(2, "--masked", *small, "--masked", sizes)

    def test_batches_of_thin_matrices_are_right(self) -> None:
        for flags in (("--m", "1", "--k", "128"), ("--m", "1", "--k", "256", "--scale", "block"),
                      ("--m", "1", "--k", "64", "--dtype", "bf16")):
            answer = self.one_object(run("gemm", "--device", "emu:sm90", "--n", "64", "--batch", "2", *flags,
                                         "--verify", "--json"))
            self.assertTrue(answer["ok"] and answer["verified"], flags)

    def test_row_column_scales_of_a_dense_gemm(self) -> None:
        result = run("gemm", *SMALL, "--scale", "row-column", "--verify", "--json")
        self.assertEqual(result.returncode, 0, result)
        self.assertEqual(self.one_object(result)["wrong"], 0)

    def test_a_batch_with_an_epilogue(self) -> None:
        for flags in (["--epilogue", "row_sum(silu(acc*alpha+bias),out0)", "--alpha", "0.5"],
                      ["--epilogue", "acc+c*beta", "--beta", "2"], ["--epilogue", "quantise(acc)"]):
            result = run("gemm", *SMALL, "--batch", "3", *flags, "--verify", "--json")
            self.assertEqual(result.returncode, 0, result)
            self.assertEqual(self.one_object(result)["wrong"], 0)
        c = npy(self.path / "c.npy", "<f4", (2, 16, 32), struct.pack("<1024f", *range(1024)))
        result = run("gemm", "--device", "emu:sm90", "--m", "16", "--n", "32", "--k", "32", "--batch", "2", "--c", c,
                     "--a", "generated", "--b", "generated", "--scale-a", "generated", "--scale-b", "generated",
                     "--out-dtype", "f32", "--verify", "--json")
        self.assertEqual((result.returncode, self.one_object(result)["wrong"]), (0, 0), result)
        self.refused(2, "--c", "gemm", "--device", "emu:sm90", "--m", "16", "--n", "32", "--batch", "3", "--c", c)

    def test_d_by_column_is_the_same_d(self) -> None:
        hashes = set()
        for flags in ([], ["--d-layout", "column"], ["--config", "d_layout=column"]):
            result = run("gemm", *SMALL, "--batch", "2", *flags, "--verify", "--json")
            self.assertEqual(result.returncode, 0, result)
            answer = self.one_object(result)
            self.assertEqual(answer["wrong"], 0)
            hashes.add(answer["d_xxh3"])
        self.assertEqual(len(hashes), 1)
        self.refused(2, "--d-layout", "gemm", *SMALL, "--d-layout", "n")
        self.refused(3, "--m", "gemm", "--device", "emu:sm90", "--m", "65", "--n", "64", "--d-layout", "column")

    def test_matrices_of_an_epilogue_by_column_give_the_same_d(self) -> None:
        odd = ["gemm", "--device", "emu:sm90", "--m", "65", "--n", "72", "--k", "128", "--tile", "64x64", "--cluster",
               "1x1", "--epilogue", "relu(store(acc+c, out0:f32)*alpha+aux0)", "--verify", "--json"]
        for batch in ("1", "3"):
            answers = [self.one_object(run(*odd, "--batch", batch, *layout))
                       for layout in ([], ["--c-layout", "column"])]
            self.assertEqual([answer["wrong"] for answer in answers], [0, 0])
            self.assertEqual(answers[0]["d_xxh3"], answers[1]["d_xxh3"])
            self.assertIn("c_layout=column", answers[1]["config"])
        both = self.one_object(run("gemm", *SMALL, "--epilogue", "acc+c", "--c-layout", "column", "--d-layout", "column",
                                   "--verify", "--json"))
        self.assertEqual(both["wrong"], 0)
        self.refused(3, "--swap-ab", "gemm", *SMALL, "--epilogue", "acc+c", "--c-layout", "column", "--swap-ab", "on")
        self.refused(3, "--c-layout", "gemm", *SMALL, "--epilogue", "swiglu(acc+c)", "--c-layout", "column")
        self.refused(3, "--c-layout", "bench", "gemm", *SMALL, "--c-layout", "column")

    def test_block_scales_of_both_operands_by_row(self) -> None:
        result = run("gemm", *SMALL, "--scale", "block-1d", "--verify", "--json")
        self.assertEqual(result.returncode, 0, result)
        self.assertEqual(self.one_object(result)["wrong"], 0)
        batch = run("gemm", *SMALL, "--scale", "block-1d", "--batch", "2", "--verify", "--json",
                    "--config", "tile=128x96x128")
        self.assertEqual(batch.returncode, 0, batch)
        self.assertEqual(self.one_object(batch)["wrong"], 0)
        self.refused(3, "--scale", "grouped", "--scale", "block-1d")

    def test_grouped_refusals_name_the_flag(self) -> None:
        for argument, *flags in (("--rows", "--rows", "1,x"), ("--groups", "--groups", "0"),
                                 ("--gap", "--gap", "2"), ("--encoding", "--encoding", "ids"),
                                 ("--variant", "--variant", "dense"), ("--total", "--rows", "1", "--total", "2"),
                                 ("--offsets", "--offsets", str(self.path / "none.npy"))):
            self.refused(2, argument, "grouped", *flags)

    def test_info_says_what_is_there(self) -> None:
        result = run("info", "--json")
        self.assertEqual(result.returncode, 0, result)
        answer = self.one_object(result)
        for key in ("version", "compiler", "cuda_headers", "isa", "nvrtc", "packs", "modules", "host_compiler", "cache"):
            self.assertIn(key, answer)
        self.assertFalse(set(answer) & set(self.one_object(run("devices", "--json"))) - {"ok"}, "each says its own")
        self.assertTrue(answer["nvrtc"]["found"] or answer["nvrtc"]["reason"])
        with tempfile.TemporaryDirectory() as cache:
            moved = subprocess.run([PROGRAM, "info"], capture_output=True, text=True, timeout=120,
                                   env={**os.environ, "WARPWRIGHT_CACHE_DIR": cache, "WARPWRIGHT_NVRTC": "/no/such.so",
                                        "WARPWRIGHT_MODULE_DIR": "/no/modules"})
        self.assertEqual((moved.returncode, moved.stderr), (0, ""))
        self.assertIn(cache, moved.stdout)
        self.assertRegex(moved.stdout, "NVRTC +not found: .*/no/such.so|NVRTC +not found: .*WARPWRIGHT_HAS_CUDA=0")
        self.assertIn("/no/modules (does not exist)", moved.stdout)

    def test_devices_lists_what_can_be_opened_and_says_why_no_gpu_can(self) -> None:
        result = run("devices", "--json")
        self.assertEqual(result.returncode, 0, result)
        answer = self.one_object(result)
        emulated = answer["devices"][0]
        self.assertEqual((emulated["name"], emulated["usable"], emulated["arch"]), ("emu:sm90", True, "sm90"))
        self.assertEqual(emulated["shared_bytes_per_cta"], 232448)
        self.assertGreater(emulated["sms"], 0)
        self.assertGreater(emulated["memory_bytes"], 1 << 20)
        others = [device for device in answer["devices"] if device["name"].startswith("cuda:")]
        self.assertNotEqual(bool(others), bool(answer["cuda_reason"]), answer)
        self.assertRegex(run("devices").stdout, r"emu:sm90 +emulated sm_90a, \d+ SMs")

    def test_an_exact_product_names_no_worst_element(self) -> None:
        result = run("gemm", "--device", "emu:sm90", "--m", "16", "--n", "16", "--k", "0", "--dtype", "bf16", "--verify")
        self.assertEqual(result.returncode, 0, result)
        self.assertIn("right: every element is the FP64 value", result.stdout)
        self.assertNotIn("worst error", result.stdout)

    def test_layout(self) -> None:
        result = run("layout", "(4,2):(1,4)", "--json")
        self.assertEqual(result.returncode, 0, result)
        self.assertIs(self.one_object(result)["ok"], True)
        self.refused(2, "", "layout", "(4,2:(1,4)")

    def test_a_broken_command_line_is_invalid_use(self) -> None:
        for arguments in ([], ["nothing"], ["gemm", "--nothing"], ["gemm", "extra"], ["gemm", "--m"], ["bench"],
                          ["layout"], ["gemm", "--m", "1", "--m", "2"], ["gemm", "--verify=maybe"]):
            result = run(*arguments)
            self.assertEqual((result.returncode, result.stdout), (2, ""), arguments)
            self.assertIn("invalid", result.stderr)
            self.refused(2, "", *arguments)
        self.assertEqual(self.refused(2, "--nothing", "gemm", "--nothing")["argument"], "--nothing")

    def test_flags_that_mean_nothing(self) -> None:
        for flag, values in {
            "--m": ["-1", "x", "", "1.5", "0x10", "9223372036854775808", " 1", "1e3"],
            "--n": ["-8"], "--k": ["-9223372036854775808"],
            "--seed": ["-1", "x"], "--sms": ["0", "-1", "1000000"], "--threads": ["0", "many"],
            "--dtype": ["f32", "fp8", "E4M3", ""], "--out-dtype": ["x"], "--scale": ["row", ""],
            "--math": ["fast"], "--schedule": ["lifo"],
            "--config": ["tile", "tile=1", "tile=axbxc", "nothing=1", "stages=-1", "cluster=2", "a=int4",
                         "stages=99999999999", "d=f32,a=bf16", "scale=none"],
        }.items():
            for value in values:
                extra = ["--dtype", "e4m3", "--scale", "block"] if flag == "--config" else []
                self.refused(2, flag, "gemm", *extra, f"{flag}={value}")
                self.refused(2, flag, "bench", "gemm", *extra, f"{flag}={value}")
        self.refused(3, "--out-dtype", "gemm", "--out-dtype=e4m3")  # a type that exists, and that only quantise writes

    def test_devices_that_are_not_there(self) -> None:
        self.refused(2, "--device", "gemm", "--device", "tpu:0")
        self.refused(2, "--device", "gemm", "--device", "cuda:x")
        self.refused(2, "--device", "gemm", "--device", "")
        self.refused(4, "--device", "gemm", "--device", "cuda:99")

    def test_sizes_beyond_anything(self) -> None:
        largest = str(2 ** 63 - 1)
        for sizes in (["--m", largest], ["--k", largest], ["--n", str(2 ** 63 - 8)],
                      ["--m", str(2 ** 40), "--k", str(2 ** 40)]):
            self.refused(2, "--", "gemm", *sizes)
        error = self.refused(4, "--m", "gemm", "--device", "emu:sm90", "--m", str(2 ** 21), "--n", str(2 ** 21),
                             "--k", "128")
        self.assertIn("bytes", error["expected"])
        self.assertIn("bytes needed", error["actual"])

    def test_what_no_kernel_solves_is_unsupported(self) -> None:
        self.refused(3, "--n", "gemm", "--device", "emu:sm90", "--m", "64", "--n", "129", "--k", "128")
        self.refused(3, "", "gemm", "--device", "emu:sm90", "--config", "tile=7x7x7")

    def test_files_that_do_not_fit(self) -> None:
        a = npy(self.path / "a.npy", "|u1", (16, 128), bytes(16 * 128))
        b = npy(self.path / "b.npy", "|u1", (32, 256), bytes(32 * 256))
        flat = npy(self.path / "flat.npy", "|u1", (2048,), bytes(2048))
        cube = npy(self.path / "cube.npy", "|u1", (1, 1, 2, 8), bytes(16))  # 3-D would be a batch
        halves = npy(self.path / "halves.npy", "<f2", (16, 128), bytes(4096))
        floats = npy(self.path / "floats.npy", "<f4", (16, 128), bytes(8192))
        short = npy(self.path / "short.npy", "|u1", (16, 128), bytes(16 * 128 - 1))
        scale = npy(self.path / "scale.npy", "<f4", (16, 2), bytes(128))
        tensor = safetensors(self.path / "t.safetensors",
                             {"w": ("F8_E4M3", [16, 128], bytes(2048)), "i": ("I8", [1], b"x")})
        for argument, flags in (
            ("--b", ["--a", a, "--b", b]), ("--a", ["--a", flat]), ("--b", ["--b", cube]), ("--a", ["--a", short]),
            ("--a", ["--a", halves, "--dtype", "bf16"]), ("--a", ["--a", halves, "--dtype", "e4m3"]),
            ("--b", ["--a", a, "--b", halves]), ("--a", ["--a", floats]), ("--m", ["--a", a, "--m", "17"]),
            ("--k", ["--a", a, "--k", "127"]), ("--k", ["--b", b, "--k", "127"]), ("--n", ["--b", b, "--n", "8"]),
            ("--a", ["--a", str(self.path / "none.npy")]), ("--a", ["--a", str(self.path)]),
            ("--a", ["--a", "/dev/zero"]),
            ("--a", ["--a", tensor + ":none"]), ("--a", ["--a", tensor]), ("--a", ["--a", tensor + ":i"]),
            ("--scale-a", ["--a", a, "--scale-a", scale]), ("--scale-a", ["--scale", "none", "--scale-a", scale]),
            ("--scale-a", ["--scale", "none", "--scale-a", "generated"]), ("--b", ["--a", a]), ("--a", ["--b", b]),
            ("--a", ["--m", "16", "--n", "8", "--k", "256", "--scale-a", scale]),
            ("--scale-b", ["--m", "16", "--n", "8", "--k", "256", "--a", "generated", "--b", "generated", "--scale-a",
                           scale]),
            ("--scale-a", ["--dtype", "bf16", "--scale-a", scale]), ("--scale-b", ["--scale-b", a]),
            ("--scale-b", ["--scale", "tensor", "--scale-b", scale]),
            ("--out", ["--out", str(self.path / "none" / "d.npy")]), ("--out", ["--out", str(self.path)]),
        ):
            self.refused(2, argument, "gemm", *flags)
        self.assertEqual(sorted(os.listdir(self.path)), sorted(os.path.basename(name) for name in (
            a, b, flat, cube, halves, floats, short, scale, tensor)), "a refused call leaves nothing")

    def test_random_flags_never_crash(self) -> None:
        seed = 20240501
        draw = random.Random(seed)
        words = ["--m", "--n", "--k", "--config", "--scale", "--dtype", "-1", "0", "1", "8", "tile=64x64x64", "none",
                 "e4m3", "", "--json", "--verify", "--a", "/dev/null", "--", "-m", "--m=", "=", "\xff", "'", "tensor",
                 "cuda:0x"]
        for i in range(120):
            arguments = [draw.choice(words) for _ in range(draw.randrange(1, 7))] + ["--device", "none"]
            result = run("gemm", *arguments)
            self.assertEqual(result.returncode, 2, f"seed {seed}, case {i}: {arguments}: {result}")

    def test_gemm_is_right_for_every_type_and_recipe(self) -> None:
        for dtype in ("e4m3", "bf16", "f16"):
            for scale in ("none", "tensor", "block"):
                if dtype != "e4m3" and scale == "block":
                    continue
                with self.subTest(dtype=dtype, scale=scale):
                    result = run("gemm", *SMALL, "--dtype", dtype, "--scale", scale, "--verify", "--json")
                    self.assertEqual(result.returncode, 0, result)
                    answer = self.one_object(result)
                    self.assertIs(answer["ok"], True)
                    self.assertEqual([answer[key] for key in ("device", "m", "n", "k")], ["emu:sm90", 64, 128, 256])
                    self.assertGreater(answer["seconds"], 0)
                    self.assertLessEqual(answer["max_error_of_bound"], 1)
                    self.assertGreater(answer["max_error"], 0)
                    self.assertGreater(answer["wgmmas"], 0)
                    self.assertGreater(answer["l2_read_bytes"]["a"], 0)
                    again = run("gemm", *SMALL, "--config", answer["config"], "--json")
                    self.assertEqual(self.one_object(again)["d_xxh3"], answer["d_xxh3"],
                                     "the printed config says types and scales as well")

    def test_sizes_of_zero_and_odd_ones(self) -> None:
        for sizes in (["--m", "0"], ["--k", "0", "--m", "64", "--n", "128"], ["--k", "100", "--m", "3", "--n", "8"]):
            result = run("gemm", "--device", "emu:sm90", *sizes, "--verify", "--json")
            self.assertEqual(result.returncode, 0, result)

    def test_operands_from_files_and_d_to_a_file(self) -> None:
        m, n, k = 5, 16, 40
        draw = random.Random(3)
        values = {name: [[draw.choice((-2.0, -1.0, 0.0, 0.5, 3.0)) for _ in range(k)] for _ in range(rows)]
                  for name, rows in (("a", m), ("b", n))}
        packed = {name: b"".join(bf16(x) for row in rows for x in row) for name, rows in values.items()}
        a = npy(self.path / "a.npy", "<V2", (m, k), packed["a"])
        b = safetensors(self.path / "b.safetensors", {"x": ("F32", [1], bytes(4)), "b": ("BF16", [n, k], packed["b"])})
        out = self.path / "d.npy"
        result = run("gemm", "--device", "emu:sm90", "--a", a, "--b", b + ":b", "--out-dtype", "f32", "--out", str(out),
                     "--verify")
        self.assertEqual(result.returncode, 0, result)
        header, data = read_npy(out)
        self.assertIn("'<f4'", header)
        self.assertIn(f"({m}, {n})", header)
        expected = [math.fsum(x * y for x, y in zip(row, column)) for row in values["a"] for column in values["b"]]
        self.assertEqual(list(struct.unpack(f"<{m * n}f", data)), expected, "sums of small halves are exact")
        self.assertEqual(len(os.listdir(self.path)), 3)

    def test_scales_from_files(self) -> None:
        m, n, k = 8, 136, 256
        one = b"\x38"  # 1.0 in e4m3
        a = npy(self.path / "a.npy", "|V1", (m, k), one * (m * k))
        b = npy(self.path / "b.npy", "|u1", (n, k), one * (n * k))
        scale_a = npy(self.path / "sa.npy", "<f4", (m, 2), struct.pack("<16f", *([1.0, 2.0] * 7 + [math.nan, 1.0])))
        scale_b = npy(self.path / "sb.npy", "<f4", (2, 2), struct.pack("<4f", 1.0, 0.5, 2.0, 4.0))
        out = self.path / "d.npy"
        result = run("gemm", "--device", "emu:sm90", "--a", a, "--b", b, "--scale-a", scale_a, "--scale-b", scale_b,
                     "--out-dtype", "f32", "--out", str(out), "--verify", "--json")
        self.assertEqual(result.returncode, 0, result)
        values = struct.unpack(f"<{m * n}f", read_npy(out)[1])
        self.assertEqual(values[0], 128 * 1 * 1 + 128 * 2 * 0.5)
        self.assertEqual(values[n - 1], 128 * 1 * 2 + 128 * 2 * 4)
        self.assertTrue(all(math.isnan(x) for x in values[7 * n:]))
        self.assertFalse(any(math.isnan(x) for x in values[:7 * n]))

    def test_without_flags_it_shows_a_verified_gemm(self) -> None:
        result = run("gemm", "--device", "emu:sm90")
        self.assertEqual(result.returncode, 0, result)
        for word in ("device", "config", "time", "FLOP/s", "L2 reads", "wgmmas", "verify", "right"):
            self.assertIn(word, result.stdout)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
