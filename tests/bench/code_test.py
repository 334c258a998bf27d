# SPDX-License-Identifier: Apache-2.0
"""bench/compile/code.py, with a function in the place of NVRTC: what it counts in a cubin, what it reports of two commits,
and when it takes the base's results from a file."""
import contextlib
import importlib.util
import io
import json
import pathlib
import struct
import sys
import tempfile
import unittest
from unittest import mock

PATH = pathlib.Path(__file__).resolve().parents[2] / "bench" / "compile" / "code.py"
sys.path.insert(0, str(PATH.parent))
SPEC = importlib.util.spec_from_file_location("compile_code", PATH)
code = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(code)


def instruction(opcode):
    return struct.pack("<H", 0x1000 | opcode) + bytes(14)


def elf(parts):
    """An ELF file of (section name, bytes, kind)."""
    names, offsets = b"\0", []
    for name, _, _ in [*parts, (".shstrtab", b"", 3)]:
        offsets.append(len(names))
        names += name.encode() + b"\0"
    bodies, headers = b"", struct.pack("<IIQQQQ", 0, 0, 0, 0, 0, 0)
    for (_, body, kind), offset in zip([*parts, ("", names, 3)], offsets):
        headers += struct.pack("<IIQQQQ", offset, kind, 0, 0, 64 + len(bodies), len(body))
        bodies += b"" if kind == 8 else body
    count = len(parts) + 2
    head = bytearray(64)
    struct.pack_into("<Q", head, 40, 64 + len(bodies))
    struct.pack_into("<HHH", head, 58, 40, count, count - 1)
    return bytes(head) + bodies + headers


def made(registers=100, spilled=0, warnings=0, instructions=1000, digest="a"):
    return code.Code(registers, spilled, warnings, instructions, 8, digest)


class Cubin(unittest.TestCase):
    def test_instructions_and_wgmma_of_text_sections_are_counted(self):
        text = b"".join(map(instruction, code.WGMMA)) + instruction(0x221) * 3
        found = code.code_of(elf([(".text.kernel", text, 1), (".nv.info", b"x" * 64, 1), (".bss", b"y" * 64, 8)]),
                             "ptxas info: Used 168 registers, 4 bytes spill stores, 8 bytes spill loads\nC7510 serialized\n")
        self.assertEqual(found[:5], (168, 12, 1, 7, 4))

    def test_the_digest_is_of_the_code_alone(self):
        text = instruction(0x221)
        one = code.code_of(elf([(".text.kernel", text, 1), (".nv.info", b"x", 1)]), "")
        other = code.code_of(elf([(".text.other_name", text, 1), (".nv.info", b"other", 1)]), "")
        self.assertEqual(one.digest, other.digest)
        self.assertNotEqual(one.digest, code.code_of(elf([(".text.kernel", text * 2, 1)]), "").digest)


class Commits(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)
        for side in ("base", "head"):
            (self.root / side / "include").mkdir(parents=True)
            (self.root / side / "include" / "a.hpp").write_text("// a header\n")
            self.source(side, 1)
            self.source(side, 2)
        self.outcome, self.compiled = {}, []

    def source(self, side, number, more=""):
        (self.root / side / f"{number}.cu").write_text(f"// tile={number}\n{more}\n")

    def compile_one(self, _, include, source):
        side = pathlib.Path(include).parent.name
        self.compiled.append((side, source.stem))
        return self.outcome.get((side, source.stem), made())

    def run_it(self, *arguments, head=True):
        sides = [f"{self.root / side / 'include'},{self.root / side}" for side in (("base", "head") if head else ("base",))]
        out = io.StringIO()
        self.compiled.clear()
        with mock.patch.object(code, "compile_one", self.compile_one), contextlib.redirect_stdout(out), \
                mock.patch("sys.argv", ["code.py", *sides, "--jobs", "1", *arguments]):
            with self.assertRaises(SystemExit) as end:
                code.main()
        return end.exception.code, out.getvalue()

    def test_equal_code_is_no_line(self):
        status, text = self.run_it()
        self.assertEqual(status, 0)
        self.assertEqual(text.splitlines()[0], "2 kernels, 2 with the same code; instructions after over before: mean 1.0000, "
                                               "largest 1.0000")

    def test_other_code_is_a_line_and_no_fault(self):
        self.outcome[("head", "2")] = made(instructions=1210, digest="b")
        status, text = self.run_it()
        self.assertEqual(status, 0)
        self.assertIn("instructions   1000   1210", text)
        self.assertIn("tile=2", text)
        self.assertIn("mean 1.1000, largest 1.2100", text)

    def test_spills_warnings_and_registers_are_faults(self):
        for worse in (made(spilled=4), made(warnings=1), made(registers=169)):
            self.outcome[("head", "1")] = worse
            status, text = self.run_it()
            self.assertEqual(status, 1)
            self.assertIn("spills, warns or needs more registers: // tile=1", text)
        self.outcome[("head", "1")] = made(registers=168)
        self.assertEqual(self.run_it()[0], 0)

    def test_a_kernel_on_one_side_is_a_fault(self):
        (self.root / "head" / "2.cu").unlink()
        status, text = self.run_it()
        self.assertEqual(status, 1)
        self.assertIn("on one side only: // tile=2", text)

    def test_results_of_the_base_are_compiled_once(self):
        file = str(self.root / "results.json")
        self.assertEqual(self.run_it("--base-results", file, head=False)[0], 0)
        self.assertEqual(self.compiled, [("base", "1"), ("base", "2")])
        self.outcome[("head", "2")] = made(digest="b")
        status, text = self.run_it("--base-results", file)
        self.assertEqual(self.compiled, [("head", "1"), ("head", "2")])
        self.assertEqual(status, 0)
        self.assertIn("2 kernels, 1 with the same code", text)

    def test_results_of_other_headers_or_another_source_are_not_used(self):
        file = str(self.root / "results.json")
        self.run_it("--base-results", file, head=False)
        self.source("base", 2, "// other")
        self.run_it("--base-results", file, head=False)
        self.assertEqual(self.compiled, [("base", "2")])
        (self.root / "base" / "include" / "a.hpp").write_text("// another header\n")
        self.run_it("--base-results", file, head=False)
        self.assertEqual(self.compiled, [("base", "1"), ("base", "2")])
        self.assertEqual(sorted(json.loads(pathlib.Path(file).read_text())["kernels"]), ["// tile=1", "// tile=2"])

    def test_a_base_alone_needs_a_file(self):
        with contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(self.run_it(head=False)[0], 2)


if __name__ == "__main__":
    unittest.main()
