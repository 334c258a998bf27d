# SPDX-License-Identifier: Apache-2.0
"""The C interface from Python by ctypes, with structures that are read from the header: every operation runs on the
emulated device, and its values are compared exactly.

ctypes_test.py <libwarpwright.so>"""
import ctypes
import pathlib
import struct
import sys
from typing import Any, Callable, List

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
from c_interface import Interface  # noqa: E402  pylint: disable=wrong-import-position


def integers(count: int, seed: int) -> List[int]:
    """-2 .. 2, whose products are exact."""
    return [(i * 7 + i // 5 + seed) % 5 - 2 for i in range(count)]


def bf16(values: List[int]) -> bytes:
    return b"".join(struct.pack("<f", value)[2:] for value in values)


def e4m3(values: List[int]) -> bytes:
    return bytes((0x00, 0x38, 0x40)[abs(value)] | (0x80 if value < 0 else 0) for value in values)


def e2m1(values: List[int]) -> bytes:
    """Two a byte, the first in the low nibble."""
    codes = [(0, 2, 4)[abs(value)] | (8 if value < 0 else 0) for value in values]
    return bytes(low | high << 4 for low, high in zip(codes[::2], codes[1::2]))


def chunks(scales: List[List[int]]) -> bytes:
    """Bytes of (rows, scales of a row) in chunks of 128 rows x 4 scales."""
    rows, along = -(-len(scales) // 128), -(-len(scales[0]) // 4)
    made = bytearray(rows * along * 512)
    for r, row in enumerate(scales):
        for s, byte in enumerate(row):
            made[(r // 128 * along + s // 4) * 512 + 16 * (r % 32) + 4 * (r % 128 // 32) + s % 4] = byte
    return bytes(made)


class Test:
    def __init__(self, library: str) -> None:
        self.c = Interface(library)
        self.header = self.c.header
        self.device = self.c.open("emu:sm90")

    def upload(self, data: bytes) -> int:
        memory = ctypes.c_void_p()
        self.c.call("device_allocate", self.device, ctypes.c_size_t(len(data)), ctypes.byref(memory))
        self.c.call("device_upload", self.device, memory, data, ctypes.c_size_t(len(data)))
        return memory.value or 0

    def download(self, memory: int, count: int) -> bytes:
        data = (ctypes.c_uint8 * count)()
        self.c.call("device_download", self.device, data, ctypes.c_void_p(memory), ctypes.c_size_t(count))
        return bytes(data)

    def floats(self, memory: int, count: int) -> List[float]:
        data = (ctypes.c_float * count)()
        self.c.call("device_download", self.device, data, ctypes.c_void_p(memory), ctypes.c_size_t(4 * count))
        return list(data)

    def run(self, operation: str, problem: Any, operands: Any, options: Any = None) -> None:
        """Checks, plans, gives the workspace, runs; then once more through the cache of plans. `options`: what tells the
        check, which has no device, the architecture."""
        self.c.call(operation + "_can_implement", problem, options)
        plan, size = ctypes.c_void_p(), ctypes.c_size_t()
        self.c.call(operation + "_plan", self.device, problem, None, ctypes.byref(plan))
        self.c.call("plan_workspace_bytes", plan, ctypes.byref(size))
        operands.workspace, operands.workspace_bytes = self.upload(bytes(size.value)), size.value
        self.c.call(operation + "_run", plan, operands, None)
        stats = self.c.report("plan_stats", plan)
        assert stats["wgmmas"] + stats.get("ummas", 0) > 0, stats
        assert self.c.report(operation + "_explain", self.device, problem, None)["because"]
        assert self.c.report(operation + "_configs", self.device, problem, None)["configs"]
        self.c.call("plan_free", plan)

    def gemm(self) -> None:
        m, n, k = 32, 48, 128
        a, b = integers(m * k, 1), integers(n * k, 2)
        make = self.header.make
        problem = make("ww_gemm_problem", m=m, n=n, k=k, a_type="WW_E4M3", b_type="WW_E4M3", d_type="WW_F32",
                       scale="WW_SCALE_TENSOR")
        operands = make("ww_gemm_operands", a=self.upload(e4m3(a)), b=self.upload(e4m3(b)),
                        d=self.upload(bytes(4 * m * n)), scale_a=self.upload(struct.pack("<f", 0.5)),
                        scale_b=self.upload(struct.pack("<f", 4.0)))
        self.run("gemm", problem, operands)
        self.c.call("gemm", self.device, problem, None, operands, None)
        expected = [2.0 * sum(a[i * k + x] * b[j * k + x] for x in range(k)) for i in range(m) for j in range(n)]
        assert self.floats(operands.d, m * n) == expected

    def grouped(self) -> None:
        groups, m, n, k = 2, 24, 64, 128
        a, b = integers(m * k, 3), integers(groups * n * k, 4)
        make = self.header.make
        problem = make("ww_grouped_problem", groups=groups, rows=m, n=n, k=k, a_type="WW_BF16", b_type="WW_BF16",
                       d_type="WW_F32", encoding="WW_INDPTR")
        operands = make("ww_grouped_operands", a=self.upload(bf16(a)), b=self.upload(bf16(b)),
                        d=self.upload(bytes(4 * m * n)), sizes=self.upload(struct.pack("<3i", 0, 5, m)))
        self.run("grouped", problem, operands)
        expected = [float(sum(a[i * k + x] * b[((i >= 5) * n + j) * k + x] for x in range(k)))
                    for i in range(m) for j in range(n)]
        assert self.floats(operands.d, m * n) == expected

    def k_grouped(self) -> None:
        groups, m, n, k = 2, 64, 64, 96
        a, b = integers(k * m, 5), integers(k * n, 6)
        make = self.header.make
        problem = make("ww_k_grouped_problem", groups=groups, m=m, n=n, k=k, a_type="WW_BF16", b_type="WW_BF16",
                       d_type="WW_F32", a_major="WW_MAJOR_MN", b_major="WW_MAJOR_MN")
        operands = make("ww_k_grouped_operands", a=self.upload(bf16(a)), b=self.upload(bf16(b)),
                        d=self.upload(bytes(4 * groups * m * n)), sizes=self.upload(struct.pack("<2i", 40, k)))
        self.run("k_grouped", problem, operands)
        rows = (range(0, 40), range(40, k))
        expected = [float(sum(a[x * m + i] * b[x * n + j] for x in rows[g]))
                    for g in range(groups) for i in range(m) for j in range(n)]
        assert self.floats(operands.d, groups * m * n) == expected

    def blackwell(self) -> None:
        """The same products on emu:sm100. A config text that names no arch is for the device."""
        hopper, self.device = self.device, self.c.open("emu:sm100")
        self.gemm(), self.grouped(), self.k_grouped()
        text = ctypes.create_string_buffer(b"tile=64x64x0")
        options = self.header.make("ww_options", config=ctypes.addressof(text))
        problem = self.header.make("ww_gemm_problem", m=64, n=64, k=64, a_type="WW_BF16", b_type="WW_BF16",
                                   d_type="WW_BF16")
        explained = self.c.report("gemm_explain", self.device, problem, options)
        assert "arch=sm100" in explained["chosen"]["config"] and not explained["measured"], explained
        assert "arch=sm90" in self.c.report("gemm_explain", hopper, problem, options)["chosen"]["config"]
        named = ctypes.create_string_buffer(b"arch=sm100")
        blackwell = self.header.make("ww_options", config=ctypes.addressof(named))
        self.c.call("gemm_can_implement", problem, blackwell)
        self.microscaled(blackwell), self.two_levels(blackwell), self.quantised_outputs()
        self.refusals(hopper, self.device, "sm100", "sm90"), self.refusals(self.device, hopper, "sm90", "sm100")
        self.device = hopper

    def refused(self, name: str, *arguments: Any) -> None:
        try:
            self.c.call(name, *arguments)
        except RuntimeError:
            return
        raise AssertionError(f"ww_{name} was not refused")

    def refusals(self, wrong: Any, right: Any, named: str, other: str) -> None:
        """A config text whose only key is arch= is for devices of that architecture alone, whatever the operation."""
        text = ctypes.create_string_buffer(f"arch={named}".encode())
        make = self.header.make
        options = make("ww_options", config=ctypes.addressof(text))
        types = {"a_type": "WW_BF16", "b_type": "WW_BF16", "d_type": "WW_BF16"}
        problems = (("gemm", make("ww_gemm_problem", m=64, n=64, k=64, **types)),
                    ("grouped", make("ww_grouped_problem", groups=1, rows=64, n=64, k=64, **types)),
                    ("k_grouped", make("ww_k_grouped_problem", groups=1, m=64, n=64, k=64, **types)))
        for operation, problem in problems:
            field = {operation: ctypes.addressof(problem), "options": ctypes.addressof(options)}
            case, line = make("ww_prepare_case", **field), make("ww_prepare_case", kernel=ctypes.addressof(text))
            operands, handle = make(f"ww_{operation}_operands"), ctypes.c_void_p()
            one = ctypes.c_size_t(1)
            calls = ((operation + "_plan", problem, options, ctypes.byref(handle)),
                     (operation, problem, options, operands, None),
                     (operation + "_explain", problem, options, ctypes.byref(handle)),
                     (operation + "_configs", problem, options, ctypes.byref(handle)),
                     ("prepare", case, one, None, None), ("prepare", line, one, None, None))
            for name, *arguments in calls:
                self.refused(name, wrong, *arguments)
                got = [self.c.text("error_" + part) for part in ("argument", "expected", "actual")]
                assert got == ["config, arch", f"{other}, the device's", named], (name, got)
            assert f"arch={named}" in self.c.report(operation + "_explain", right, problem, options)["chosen"]["config"]
            self.c.call(operation + "_can_implement", problem, options)

    def microscaled(self, options: Any) -> None:
        """MXFP4 as ww_microscale() casts it: its scales make these integers exact."""
        m, n, k = 40, 48, 128
        make, values = self.header.make, (integers(m * k, 7), integers(n * k, 8))
        given = {}
        for name, rows, x in (("a", m, values[0]), ("b", n, values[1])):
            given[name] = self.upload(bytes(rows * k // 2))
            given["scale_" + name] = self.upload(bytes(512))
            cast = make("ww_microscale_problem", m=rows, k=k, x_type="WW_BF16", q_type="WW_E2M1", scale="WW_SCALE_MX")
            self.c.call("microscale", self.device, cast, None,
                        make("ww_microscale_operands", x=self.upload(bf16(x)), q=given[name],
                             scales=given["scale_" + name]), None)
        problem = make("ww_gemm_problem", m=m, n=n, k=k, a_type="WW_E2M1", b_type="WW_E2M1", d_type="WW_F32",
                       scale="WW_SCALE_MX", scale_type="WW_SCALES_E8M0")
        operands = make("ww_gemm_operands", d=self.upload(bytes(4 * m * n)), **given)
        self.run("gemm", problem, operands, options)
        a, b = values
        expected = [float(sum(a[i * k + x] * b[j * k + x] for x in range(k))) for i in range(m) for j in range(n)]
        assert self.floats(operands.d, m * n) == expected

    def quantised_outputs(self) -> None:
        """D and its scales in chunks, those of one matrix and of a batch further apart than they need to be, as
        ww_microscale() casts the product in FP32."""
        m, n, k, batch, room = 40, 96, 64, 2, 1024
        a, b = integers(batch * m * k, 11), integers(n * k, 12)
        make, epilogue = self.header.make, ctypes.create_string_buffer(b"quantise_mx(acc)")
        types = {"a_type": "WW_BF16", "b_type": "WW_BF16"}
        shape = {"m": m, "n": n, "k": k, "batched": 1, "batch": batch, "batch_a": m * k, "batch_d": m * n,
                 **types}
        tensors = {"a": self.upload(bf16(a)), "b": self.upload(bf16(b))}
        wide = self.upload(bytes(4 * batch * m * n))
        self.c.call("gemm", self.device, make("ww_gemm_problem", d_type="WW_F32", **shape), None,
                    make("ww_gemm_operands", d=wide, **tensors), None)
        want, want_scales = self.upload(bytes(batch * m * n)), self.upload(bytes(batch * room))
        cast = make("ww_microscale_problem", m=m, k=n, batch=batch, x_type="WW_F32", q_type="WW_E4M3", scale="WW_SCALE_MX",
                    batch_scales=room)
        self.c.call("microscale", self.device, cast, None, make("ww_microscale_operands", x=wide, q=want, scales=want_scales),
                    None)
        got, got_scales = self.upload(bytes(batch * m * n)), self.upload(bytes(batch * room))
        operands = make("ww_epilogue_operands", out_scale_chunks=got_scales, batch_out_scale_chunks=room)
        problem = make("ww_gemm_problem", d_type="WW_E4M3", epilogue=ctypes.addressof(epilogue), **shape)
        self.c.call("gemm", self.device, problem, None,
                    make("ww_gemm_operands", d=got, epilogue=ctypes.addressof(operands), **tensors), None)
        for ours, theirs, size in ((got, want, batch * m * n), (got_scales, want_scales, batch * room)):
            assert self.download(ours, size) == self.download(theirs, size)
        assert any(self.download(got_scales, room)), "no scale was written"

    def two_levels(self, options: Any) -> None:
        """NVFP4 with scales of its own for each 16 elements, and a factor for all."""
        m, n, k = 32, 64, 192
        a, b = integers(m * k, 9), integers(n * k, 10)
        powers = [[[(r + 3 * s + seed) % 3 - 1 for s in range(k // 16)] for r in range(rows)]
                  for seed, rows in ((0, m), (1, n))]
        bits = [chunks([[(7 + power) << 3 for power in row] for row in rows]) for rows in powers]
        make = self.header.make
        problem = make("ww_gemm_problem", m=m, n=n, k=k, a_type="WW_E2M1", b_type="WW_E2M1", d_type="WW_F32",
                       scale="WW_SCALE_NV")
        operands = make("ww_gemm_operands", a=self.upload(e2m1(a)), b=self.upload(e2m1(b)),
                        d=self.upload(bytes(4 * m * n)), scale_a=self.upload(bits[0]), scale_b=self.upload(bits[1]),
                        global_scale=self.upload(struct.pack("<f", 0.5)))
        self.run("gemm", problem, operands, options)
        expected = [0.5 * sum(a[i * k + x] * b[j * k + x] * 2.0**(powers[0][i][x // 16] + powers[1][j][x // 16])
                              for x in range(k)) for i in range(m) for j in range(n)]
        assert self.floats(operands.d, m * n) == expected
        operands.scale_a += 8  # TMA reads multiples of 16 bytes
        assert self.c.library.ww_gemm(self.device, ctypes.byref(problem), None, ctypes.byref(operands), None) != 0
        assert self.c.text("error_argument") == "scale_a", self.c.text("error_message")

    def prepare(self) -> None:
        problem = self.header.make("ww_gemm_problem", m=64, n=64, k=128, a_type="WW_BF16", b_type="WW_BF16",
                                   d_type="WW_BF16")
        case = self.header.make("ww_prepare_case", gemm=ctypes.addressof(problem))
        report = self.c.report("prepare", self.device, case, ctypes.c_size_t(1), None)
        assert report["failed"] == 0 and len(report["kernels"]) == 1, report
        text = ctypes.create_string_buffer(b"transpose=e4m3")
        case = self.header.make("ww_prepare_case", kernel=ctypes.addressof(text))
        report = self.c.report("prepare", self.device, case, ctypes.c_size_t(1), None)
        assert report["kernels"][0]["config"] == "transpose=e4m3" and report["failed"] == 0, report
        text = ctypes.create_string_buffer(b"cast=nv")
        case = self.header.make("ww_prepare_case", kernel=ctypes.addressof(text))
        report = self.c.report("prepare", self.device, case, ctypes.c_size_t(1), None)
        assert report["kernels"][0]["config"] == "cast=nv,x=bf16,q=e2m1" and report["failed"] == 0, report

    def errors(self) -> None:
        problem = self.header.make("ww_gemm_problem", m=-5)
        status = self.c.library.ww_gemm_can_implement(ctypes.byref(problem), None)
        assert status == self.header.numbers["WW_INVALID"]
        assert self.c.text("error_argument") == "a_type" and self.c.text("error_actual") == "0"


def main() -> int:
    test = Test(sys.argv[1])
    steps: List[Callable[[], None]] = [test.gemm, test.grouped, test.k_grouped, test.blackwell, test.prepare, test.errors]
    for step in steps:
        step()
        print(f"{step.__name__}: right")
    test.c.call("device_close", test.device)
    return 0


if __name__ == "__main__":
    sys.exit(main())
