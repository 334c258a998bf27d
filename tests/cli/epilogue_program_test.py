# SPDX-License-Identifier: Apache-2.0
"""Epilogues from the command line: every operand from a file, every output to one, and SwiGLU of halves of any N.
Usage: epilogue_program_test.py <path of warpwright>"""
import ast
import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unittest
from typing import List, Tuple

PROGRAM = ""
FORMATS = {"<f4": "f", "<f2": "e"}
M, N, K = 5, 16, 16


def run(*arguments: object) -> subprocess.CompletedProcess:
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=240)


class Epilogue(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.directory.name)
        self.random = random.Random(1)

    def tearDown(self) -> None:
        self.directory.cleanup()

    def array(self, name: str, *shape: int, descr: str = "<f4") -> List[float]:
        """Small integers in NAME.npy: every sum and product of them below is exact."""
        count = 1
        for extent in shape:
            count *= extent
        values = [float(self.random.randint(-3, 3)) for _ in range(count)]
        header = str({"descr": descr, "fortran_order": False, "shape": shape})
        header += " " * (63 - (10 + len(header)) % 64) + "\n"
        data = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
        self.file(name).write_bytes(data + struct.pack(f"<{count}{FORMATS[descr]}", *values))
        return values

    def file(self, name: str) -> pathlib.Path:
        return self.path / f"{name}.npy"

    def read(self, name: str) -> Tuple[Tuple[int, ...], List[float]]:
        data = self.file(name).read_bytes()
        size = 10 + struct.unpack_from("<H", data, 8)[0]
        header = ast.literal_eval(data[10:size].decode())
        count = (len(data) - size) // struct.calcsize(FORMATS[header["descr"]])
        return header["shape"], list(struct.unpack_from(f"<{count}{FORMATS[header['descr']]}", data, size))

    def flags(self, *names: str) -> List[object]:
        return [word for name in names for word in (f"--{name}", self.file(name))]

    def done(self, *arguments: object) -> None:
        result = run(*arguments)
        self.assertEqual(result.returncode, 0, result)

    def refused(self, argument: str, expected: str, *arguments: object) -> None:
        result = run(*arguments, "--json")
        self.assertEqual(result.returncode, 2, result)
        error = json.loads(result.stdout)["error"]
        self.assertEqual(error["argument"], argument, error)
        self.assertIn(expected, error["expected"], error)

    def test_every_operand_and_output(self) -> None:
        for batch in (1, 2):
            lead = (batch,) if batch > 1 else ()
            a, b = self.array("a", *lead, M, K, descr="<f2"), self.array("b", N, K, descr="<f2")
            vectors = {name: self.array(name, *lead, N) for name in ("bias", "row2")}
            shared = self.array("row3", N)
            columns = {name: self.array(name, *lead, M) for name in ("col0", "col3")}
            matrices = {name: self.array(name, *lead, M, N) for name in ("c", "aux0", "aux3")}
            outputs = ["out", "out0", "out1", "out2", "out3"]
            self.done("gemm", "--device", "emu:sm90", "--dtype", "f16", "--out-dtype", "f32", "--batch", batch,
                      "--epilogue",
                      "row_amax(store(row_sum(column_sum(acc*alpha+bias*row2+row3+col0*col3,out2),out1),out0:f32),out3)"
                      "+c:f32*beta+max(aux0:f32,aux3:f32)/scalar3", "--alpha", 2, "--beta", -1, "--scalar3", 4,
                      *self.flags("a", "b", "row3", *vectors, *columns, *matrices, *outputs), "--verify")
            inner, d = [], []
            for l in range(batch):
                for m in range(M):
                    for n in range(N):
                        row, column, at = l * N + n, l * M + m, (l * M + m) * N + n
                        acc = sum(a[column * K + k] * b[n * K + k] for k in range(K))
                        x = (2 * acc + vectors["bias"][row] * vectors["row2"][row] + shared[n] +
                             columns["col0"][column] * columns["col3"][column])
                        inner.append(x)
                        d.append(x - matrices["c"][at] + max(matrices["aux0"][at], matrices["aux3"][at]) / 4)
            rows = [inner[i * N:(i + 1) * N] for i in range(batch * M)]
            self.assertEqual(self.read("out"), ((*lead, M, N), d))
            self.assertEqual(self.read("out0"), ((*lead, M, N), inner))
            self.assertEqual(self.read("out1"), ((*lead, M), [sum(row) for row in rows]))
            self.assertEqual(self.read("out2"), ((*lead, N), [sum(rows[l * M + m][n] for m in range(M))
                                                              for l in range(batch) for n in range(N)]))
            self.assertEqual(self.read("out3"), ((*lead, M), [max(map(abs, row)) for row in rows]))

    def test_groups(self) -> None:
        groups, rows = 2, [3, 2]
        a, b = self.array("a", M, K, descr="<f2"), self.array("b", groups, N, K, descr="<f2")
        bias, row1 = self.array("bias", groups, N), self.array("row1", N)
        col1, aux2 = self.array("col1", M), self.array("aux2", M, N)
        self.done("grouped", "--device", "emu:sm90", "--dtype", "f16", "--out-dtype", "f32", "--rows", "3,2",
                  "--epilogue", "store(acc+bias*row1,out1:f32)*col1-aux2:f32",
                  *self.flags("a", "b", "bias", "row1", "col1", "aux2", "out", "out1"), "--verify")
        group = [g for g in range(groups) for _ in range(rows[g])]
        stored = [sum(a[m * K + k] * b[(group[m] * N + n) * K + k] for k in range(K)) +
                  bias[group[m] * N + n] * row1[n] for m in range(M) for n in range(N)]
        self.assertEqual(self.read("out1"), ((M, N), stored))
        self.assertEqual(self.read("out")[1], [stored[i] * col1[i // N] - aux2[i] for i in range(M * N)])

    def test_scalars_and_amax_of_quantise(self) -> None:
        self.array("a", M, K, descr="<f2"), self.array("b", N, K, descr="<f2")
        self.done("gemm", "--device", "emu:sm90", "--dtype", "f16", "--epilogue", "quantise(store(acc,out0:f32))",
                  "--scalar2", 0.5, *self.flags("a", "b", "out", "out0", "amax"), "--verify")
        shape, amax = self.read("amax")
        self.assertEqual((shape, amax[0]), ((1,), max(map(abs, self.read("out0")[1]))))

    def test_the_other_fp8_type_of_quantise(self) -> None:
        self.array("a", M, K, descr="<f2"), self.array("b", N, K, descr="<f2")
        gemm = ["gemm", "--device", "emu:sm90", "--dtype", "f16", *self.flags("a", "b"), "--verify"]
        result = run(*gemm, "--epilogue", "quantise(acc)", "--out-dtype", "e5m2")
        self.assertEqual(result.returncode, 0, result)
        self.assertIn("d=e5m2", result.stdout)
        for epilogue, kind, expected in (("acc", "e5m2", "bf16, f16 or f32"),
                                         ("quantise(acc)", "bf16", "e4m3 or e5m2: the epilogue quantises")):
            result = run(*gemm, "--epilogue", epilogue, "--out-dtype", kind, "--json")
            self.assertEqual(result.returncode, 3, result)  # unsupported
            error = json.loads(result.stdout)["error"]
            self.assertEqual((error["argument"], error["expected"], error["actual"]), ("--out-dtype", expected, kind))

    def test_refusals(self) -> None:
        self.array("a", M, K, descr="<f2"), self.array("b", N, K, descr="<f2")
        self.array("c", M, N), self.array("row1", N), self.array("col0", M), self.array("short", M - 1)
        gemm = ["gemm", "--device", "emu:sm90", "--dtype", "f16", *self.flags("a", "b")]
        self.refused("--row1", "an epilogue with row1", *gemm, "--epilogue", "acc", *self.flags("row1"))
        self.refused("--scalar3", "an epilogue with scalar3", *gemm, "--epilogue", "acc", "--scalar3", 1)
        self.refused("--out1", "an epilogue with out1", *gemm, "--epilogue", "store(acc,out0)", *self.flags("out1"))
        self.refused("--amax", "that ends with quantise", *gemm, "--epilogue", "acc", *self.flags("amax"))
        self.refused("--out0", "no other output", *gemm, "--epilogue", "store(acc,out0)", *self.flags("out"),
                     "--out0", self.file("out"))
        self.refused("--c", "elements of type bf16", *gemm, "--epilogue", "acc+c", *self.flags("c"))
        self.refused("--col0", "(M,)", *gemm, "--epilogue", "acc+col0", "--col0", self.file("short"))
        self.refused("--col0", "a file, or generated", *gemm, "--epilogue", "acc+col0")
        self.assertEqual(run(*gemm, "--epilogue", "acc+col0", "--col0", "generated").returncode, 0)

    def test_help_lists_the_language(self) -> None:
        for verb in ("gemm", "grouped"):
            text = run(verb, "--help").stdout
            self.assertEqual("--amax" in text, verb == "gemm")  # groups cannot quantise with one factor
            for word in ("--row3", "--col3", "--aux3", "--out3", "gelu_erf(x)", "softcap(x, y)", "relu2(x)"):
                self.assertIn(word, text)

    def test_halves_of_any_n(self) -> None:
        gemm = ["gemm", "--m", 70, "--k", 200]
        for command in ([*gemm, "--n", 528],  # block scales: tiles that divide N
                        [*gemm, "--n", 400, "--scale", "block-1d", "--tile", "64x96"],
                        [*gemm, "--n", 304, "--scale", "row-column", "--tile", "128x128", "--cluster", "2x1"],
                        [*gemm, "--n", 656, "--dtype", "bf16", "--layout", "nn", "--tile", "128x128"],
                        [*gemm, "--n", 1040, "--dtype", "bf16", "--tile-scheduler", "stream-k", "--tile", "128x64"],
                        ["grouped", "--groups", 3, "--total", 150, "--n", 320, "--k", 256],
                        ["grouped", "--groups", 3, "--total", 150, "--n", 656, "--k", 64, "--scale", "row-column"]):
            with self.subTest(command=command):
                self.done(*command, "--device", "emu:sm90", "--sms", 4, "--epilogue",
                          "swiglu_halves(acc*alpha+bias*col0)", "--verify")


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
