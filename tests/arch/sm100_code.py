# SPDX-License-Identifier: Apache-2.0
"""Every form of every instruction of arch/sm100, as machine code of sm_100a: no device is needed to assemble.

sm100_code.py <root> <folder of the Python environment> <C++ compiler>

A kernel for each form goes through NVRTC, and through nvcc where there is one, and its disassembly must hold the form's
instruction, registers aside. Issued under elect, no instruction may stand in a loop over the lanes of a warp. The same
text must compile for the emulated device too. The kernels of kernels/sm100_*.hpp must assemble without spills, and some
of the library's GEMM kernels also with their opcodes and without such loops. The exit
status is 77 (skipped) without NVRTC of CUDA 12.8 or later, or without nvdisasm, which the environment of the Python tests
has (PyPI: nvidia-cuda-nvdisasm); with CI set that is a failure."""
import ctypes
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

SKIPPED = 77
LEAST_VERSION = (12, 8)
HEADERS = ["sm100/clc", "sm100/tensor_memory", "sm100/tma_pair", "sm100/umma", "common/convert_packed",
           "common/warp"]
GROUPS = {"one": "", "pair": ".2CTA"}
OPERANDS = "gdesc[UR], tmem[UR], tmem[UR], idesc[UR]"


class Form(NamedTuple):
    body: str
    code: str           # the instruction without the numbers of its registers; empty if it has none of its own
    elected: bool = True  # one thread issues it


def allocations() -> Iterator[Form]:
    for group, pair in GROUPS.items():
        g = f"CtaGroup::{group}"
        yield Form(f"tensor::alloc<{g}>({{v}}, 64);", f"UTCATOMSWS{pair}.FIND_AND_SET.ALIGN UP, UR, UR", False)
        yield Form(f"tensor::relinquish<{g}>();", "UVIRTCOUNT.DEALLOC.SMPOOL 0x*", False)
        yield Form(f"tensor::dealloc<{g}>({{v}}, 64);", "UTCATOMSWS.AND URZ, UR", False)


def commits() -> Iterator[Form]:
    for group, pair in GROUPS.items():
        yield Form(f"umma::commit<CtaGroup::{group}>({{{{v}}}});", f"UTCBAR{pair} [UR], URZ")
        yield Form(f"umma::commit_multicast<CtaGroup::{group}>({{{{v}}}}, 3);", f"UTCBAR{pair}.MULTICAST [UR], URZ, UR")
    yield Form("umma::fence_before(); umma::fence_after();", "", False)  # both are NOPs


def multiplications() -> Iterator[Form]:
    places = {"sm100::MatrixDescriptor{w}": "gdesc[UR]", "TensorAddress{v}": "tmem[UR]"}
    for group, pair in GROUPS.items():
        lanes = f"DisabledLanes<CtaGroup::{group}> lanes{{}}; lanes.w[1] = v; "
        for a, place in places.items():
            for kind, opcode in {"f16": "UTCHMMA", "tf32": "UTCHMMA", "f8f6f4": "UTCQMMA"}.items():
                for scale in [0] if kind == "f8f6f4" else [0, 1, 7, 15]:
                    call = f"umma::mma<MmaKind::{kind}, CtaGroup::{group}, {scale}>({{v}}, {a}, {{w + 1}}, {{v}}, v > 7"
                    last = f", {hex(scale)}" if scale else ""
                    yield Form(f"{call});", f"{opcode}{pair} {place}, {OPERANDS}, UP{last}")
                    yield Form(f"{lanes}{call}, lanes);", f"{opcode}{pair} {place}, {OPERANDS}, UR, UP{last}")
            for kind, vector, opcode, times in [("mxf8f6f4", 1, "UTCQMMA", ""), ("mxf4", 2, "UTCOMMA", ""),
                                                ("mxf4nvf4", 2, "UTCOMMA", ""), ("mxf4nvf4", 4, "UTCOMMA", ".4X")]:
                yield Form(f"umma::mma_scaled<MmaKind::{kind}, CtaGroup::{group}, {vector}>({{v}}, {a}, {{w + 1}}, {{v}}, "
                           "{v + 1}, {v + 2}, v > 7);",
                           f"{opcode}{pair}{times} {place}, {OPERANDS}, tmem[UR], UP")


def accesses() -> Iterator[Form]:
    shapes = {"lanes32_bits32": (1, ""), "lanes16_bits64": (1, ".16dp64bit"), "lanes16_bits128": (2, ".16dp128bit"),
              "lanes16_bits256": (4, ".16dp256bit"), "lanes16_bits32_split": (1, ".16dp32bit_t16_t31")}
    for shape, (registers, name) in shapes.items():
        for repetitions in (2 ** i for i in range(8)):
            count = registers * repetitions
            if count > 128:
                break
            times = f".x{repetitions}" if repetitions > 1 else ""
            for packed in ("false", "true"):
                split = ", 16" if shape.endswith("split") else ""
                form = f"<TensorShape::{shape}, {repetitions}, {packed}{split}>"
                place = "tmem[UR+0x*]" if split else "tmem[UR]"
                first = f"TensorRegisters<{count}> r; "
                loop = f"for (int i = 0; i < {count}; ++i) "
                unpacked = ".EXPAND16BIT" if packed == "true" else ""
                pack = ".PACK16BIT" if packed == "true" else ""
                yield Form(f"{first}tensor::load{form}(r, {{v}}); tensor::wait_load(r); {loop}o[i] = r[i];",
                           f"LDTM{name}{times}{pack} R, {place}", False)
                yield Form(f"{first}{loop}r[i] = o[i]; tensor::store{form}({{v}}, r); tensor::wait_store();",
                           f"STTM{name}{times}{unpacked} {place}, R", False)
    yield Form("tensor::wait_load();", "", False)
    yield Form("tensor::wait_store();", "FENCE.VIEW.ASYNC.T", False)


def copies() -> Iterator[Form]:
    shapes = {"rows128_bits256": "", "rows4_bits256": ".4dp256bit", "rows128_bits128": ".128dp128bit",
              "rows64_bits128_02_13": ".2x64dp128bit_lw02_lw13", "rows64_bits128_01_23": ".2x64dp128bit_lw01_lw23",
              "rows32_bits128_all": ".4x32dp128bit"}
    widenings = {"none": "", "from4_padded64": ".U4x16P64", "from6_padded32": ".U6x16P32"}
    for group, pair in GROUPS.items():
        for shape, name in shapes.items():
            for unpack, widening in widenings.items():
                yield Form(f"tensor::copy<CtaGroup::{group}, CopyShape::{shape}, CopyUnpack::{unpack}>({{v}}, {{w}});",
                           f"UTCCP.T.S{pair}{name}{widening} tmem[UR], gdesc[UR]")


def loads_of_a_pair() -> Iterator[Form]:
    for rank, at in {"2d": "1, 2", "3d": "1, 2, 3"}.items():
        yield Form(f"tma::load_pair_{rank}(map, leader({{{{v}}}}), {{v}}, {at});",
                   f"UTMALDG.{rank.upper()}.2CTA [UR], [UR], desc[UR]")
        yield Form(f"tma::load_pair_multicast_{rank}(map, leader({{{{v}}}}), {{v}}, 3, {at});",
                   f"UTMALDG.{rank.upper()}.MULTICAST.2CTA [UR], [UR], UR, desc[UR]")


def launch_control() -> Iterator[Form]:
    yield Form("clc::try_cancel({v}, {{v}});", "UGETNEXTWORKID.SELFCAST [UR], [UR]")
    yield Form("clc::try_cancel_multicast({v}, {{v}});", "UGETNEXTWORKID.BROADCAST [UR], [UR]")
    # The queries are arithmetic on the answer: bit 0 says whether it gives work, and one word holds y and z.
    for query, code in {"is_canceled(answer)": "LOP3.LUT P, RZ, R, 0x1, RZ, 0xc0, !PT",
                        "first_cta(answer).y": "LOP3.LUT R, R, 0xffff, RZ, 0xc0, !PT",
                        "first_cta(answer).z": "SHF.R.U32.HI R, RZ, 0x10, R"}.items():
        yield Form(f"const clc::Answer answer = clc::load({{v}}); o[0] = clc::{query};", code, False)
    yield Form("o[0] = clc::first_cta(clc::load({v})).x;", "LDS.128 R, [UR]", False)


def conversions() -> Iterator[Form]:
    for packed in ("e2m1", "e3m2", "e2m3"):
        yield Form(f"o[0] = to_packed_pair<DType::{packed}>(float_of(o[1]), float_of(o[2]));",
                   f"F2FP.SATFINITE.{packed.upper()}.F32.PACK_AB_MERGE_C R, R, R, RZ", False)


def all_forms() -> List[Form]:
    return [form for family in (allocations, commits, multiplications, accesses, copies, loads_of_a_pair, launch_control,
                                conversions)
            for form in family()]


def translation_unit(forms: List[Form]) -> str:
    lines = [f'#include "warpwright/arch/{header}.hpp"' for header in HEADERS]
    lines += ["using namespace ww;", "using namespace ww::arch;", "struct P { TensorMap map; u32* o; u64 w; u32 v; };"]
    for i, form in enumerate(forms):
        body = f"if (warp::elect()) {{ {form.body} }}" if form.elected else form.body
        lines.append(f"WW_KERNEL(form_{i}, 32, P, p) {{ u32* const o = p.o; const u64 w = p.w; const u32 v = p.v; "
                     "const TensorMap& map = p.map; "
                     f"static_cast<void>(o), static_cast<void>(w), static_cast<void>(v), static_cast<void>(map); {body} }}")
    # A single thread that is not elected, for comparison.
    lines.append("WW_KERNEL(not_elected, 32, P, p) { if (thread_index() == 0) umma::commit<CtaGroup::one>({{p.v}}); }")
    return "\n".join([*lines, "WW_MODULE()", ""])


class Nvrtc:
    def __init__(self, library: ctypes.CDLL):
        self.library = library
        major, minor = ctypes.c_int(), ctypes.c_int()
        library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        self.version = (major.value, minor.value)

    def _bytes(self, program: ctypes.c_void_p, what: str) -> bytes:
        size = ctypes.c_size_t()
        getattr(self.library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(max(size.value, 1))
        getattr(self.library, f"nvrtcGet{what}")(program, buffer)
        return buffer.raw[:size.value]

    def compile(self, source: str, *folders: pathlib.Path) -> Tuple[bytes, str]:
        """The cubin and the output of ptxas."""
        program = ctypes.c_void_p()
        self.library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"forms.cu", 0, None, None)
        flags = [b"--gpu-architecture=sm_100a", b"-std=c++20", b"-fmad=false", b"--ptxas-options=-v",
                 *(f"-I{folder}".encode() for folder in folders)]
        failed = self.library.nvrtcCompileProgram(program, len(flags), (ctypes.c_char_p * len(flags))(*flags))
        if failed:
            raise RuntimeError(self._log(program)[:4000])
        return self._bytes(program, "CUBIN"), self._log(program)

    def _log(self, program: ctypes.c_void_p) -> str:
        return self._bytes(program, "ProgramLog").decode(errors="replace")


def find_nvrtc() -> Optional[Nvrtc]:
    folders = ["", "/usr/local/cuda/lib64/", "/usr/local/cuda/lib/"]
    for name in (folder + file for file in ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so") for folder in folders):
        try:
            nvrtc = Nvrtc(ctypes.CDLL(name))
        except OSError:
            continue
        if nvrtc.version >= LEAST_VERSION:
            return nvrtc
    return None


def find_nvdisasm(environment: pathlib.Path) -> Optional[pathlib.Path]:
    for found in environment.glob("lib/python3*/site-packages/nvidia/*/bin/nvdisasm"):
        found.chmod(found.stat().st_mode | 0o111)  # the wheel does not make it executable for all
        return found
    installed = shutil.which("nvdisasm")
    return pathlib.Path(installed) if installed else None


def disassemble(nvdisasm: pathlib.Path, cubin: pathlib.Path) -> Dict[str, List[str]]:
    """The instructions of each kernel, without predicates, and without the numbers of registers and offsets."""
    text = subprocess.run([nvdisasm, cubin], capture_output=True, text=True, check=True).stdout
    kernels: Dict[str, List[str]] = {}
    for part in re.split(r"\n\s*\.section\s+\.text\.", text)[1:]:
        lines = re.findall(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][^;]*?)\s*;", part)
        kernels[part.split(",")[0].split("\n")[0]] = [re.sub(r"\b(UR|UP|R|P)\d+\b", r"\1", line) for line in lines]
    return kernels


def matches(line: str, code: str) -> bool:
    return re.fullmatch(re.escape(code).replace(r"0x\*", r"0x[0-9a-f]+").replace(r"\+0x[0-9a-f]+", r"(\+0x[0-9a-f]+)?"),
                        line) is not None


def faults(forms: List[Form], kernels: Dict[str, List[str]]) -> Iterator[Tuple[str, str]]:
    for i, form in enumerate(forms):
        lines = kernels.get(f"form_{i}")
        if lines is None:
            yield form.body, "no such kernel"
            continue
        if form.code and not any(matches(line, form.code) for line in lines):
            yield form.body, f"expected {form.code}; got " + "; ".join(l for l in lines if not l.startswith("NOP"))[:600]
        if form.elected and any(line.startswith("BRA.U.ANY") for line in lines):
            yield form.body, "a loop over lanes around it, though one thread is elected"
    if not any(line.startswith("BRA.U.ANY") for line in kernels.get("not_elected", [])):
        yield "not_elected", "no loop over lanes: the search for one finds nothing"


def faults_of_cases(nvrtc: Nvrtc, root: pathlib.Path) -> Iterator[str]:
    """The kernels that tests/arch runs: all of them assemble, and no register is spilled."""
    folder = root / "tests" / "arch" / "kernels"
    for header in sorted(folder.glob("sm100_*.hpp")):
        _, log = nvrtc.compile(f'#include "{header.name}"\n', root / "include", folder)
        kernels = log.count("Compiling entry function")
        if kernels == 0 and "WW_KERNEL(" in header.read_text():
            yield f"{header.name}: no kernel was assembled"
        for line in re.findall(r".*bytes spill stores.*", log):
            if "0 bytes spill stores, 0 bytes spill loads" not in line:
                yield f"{header.name}: {line.strip()}"
        print(f"{header.name}: {kernels} kernels")


class Gemm(NamedTuple):
    name: str
    fields: str  # statements that set fields of a config c
    opcodes: str


GEMMS = [
    Gemm("bf16 of one CTA", "c.operands.a = c.operands.b = bf16; c.tile = {128, 256, 64};",
         "UTMALDG.2D UTCHMMA UTCBAR LDTM.16dp256bit.x16 UTMASTG.2D"),
    Gemm("bf16 of a pair under launch control", "c.operands.a = c.operands.b = bf16; c.tile = {128, 256, 64}; "
         "c.cluster = {2, 1, 1}; c.sm100.pair = true; c.sm90.tile_scheduler = TileScheduler::clc;",
         "UTMALDG.2D.2CTA UTCHMMA.2CTA UTCBAR.2CTA.MULTICAST UGETNEXTWORKID.BROADCAST LDTM.16dp256bit.x16 UTMASTG.2D"),
    Gemm("e4m3 with block scales, multicast", "c.operands.scale = Scale::block_1x128_128x128; c.tile = {128, 128, 128}; "
         "c.cluster = {2, 2, 1};", "UTMALDG.2D.MULTICAST UTCQMMA UTCBAR.MULTICAST LDTM.16dp256bit.x4 UTMASTG.2D"),
]


def faults_of_gemms(nvrtc: Nvrtc, nvdisasm: pathlib.Path, root: pathlib.Path) -> Iterator[str]:
    """GEMM kernels: their opcodes, no spills, no loop over the lanes around an instruction of one thread."""
    for gemm in GEMMS:
        image, log = nvrtc.compile(f"""#include "warpwright/kernel/sm100_gemm.hpp"
using namespace ww;
WW_HOST_DEVICE constexpr GemmConfig make() {{
  GemmConfig c;
  c.arch = Arch::sm100;
  {gemm.fields}
  return config::resolve(c);
}}
inline constexpr GemmConfig kConfig = make();
using Kernel = kernel::Sm100Gemm<kConfig>;
WW_RESIDENT_KERNEL(gemm, Kernel::kThreads, 1, kernel::GemmParams, params) {{ Kernel::run(params); }}
WW_MODULE()
""", root / "include")
        with tempfile.TemporaryDirectory() as folder:
            cubin = pathlib.Path(folder) / "gemm.cubin"
            cubin.write_bytes(image)
            opcodes = {line.split()[0] for line in disassemble(nvdisasm, cubin).get("gemm", [])}
        for opcode in gemm.opcodes.split():
            if opcode not in opcodes:
                yield f"{gemm.name}: expected {opcode}; got {' '.join(sorted(opcodes))}"
        if "BRA.U.ANY" in opcodes:
            yield f"{gemm.name}: a loop over the lanes of a warp"
        if not re.search(r"\b0 bytes spill stores, 0 bytes spill loads", log) or re.search(r"[1-9]\d* bytes spill", log):
            yield f"{gemm.name}: registers are spilled: {log[-300:]}"
        print(f"{gemm.name}: {', '.join(re.findall(r'Used [0-9]+ registers', log))}")


def skip(why: str) -> int:
    print(why)
    return 1 if os.environ.get("CI", "0") not in ("", "0", "false") else SKIPPED


def main() -> int:
    root, environment, compiler = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]), sys.argv[3]
    forms = all_forms()
    source = translation_unit(forms)
    host = subprocess.run([compiler, "-std=c++20", f"-I{root / 'include'}", "-fsyntax-only", "-Wall", "-Wextra", "-Werror",
                           "-x", "c++", "-"], input=source, text=True, capture_output=True, check=False)
    if host.returncode:
        print(f"the forms do not compile for the emulated device:\n{host.stderr[:4000]}")
        return 1
    nvrtc, nvdisasm = find_nvrtc(), find_nvdisasm(environment)
    if nvrtc is None:
        return skip("no NVRTC of CUDA 12.8 or later, so nothing was assembled for sm_100a")
    if nvdisasm is None:
        return skip(f"no nvdisasm in {environment} or on PATH, so no opcode was looked at (python.venv installs it)")
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    of_cases = list(faults_of_cases(nvrtc, root)) + list(faults_of_gemms(nvrtc, nvdisasm, root))
    print("\n".join(of_cases))
    broken = len(of_cases)
    with tempfile.TemporaryDirectory() as folder:
        cubins = {f"NVRTC {nvrtc.version[0]}.{nvrtc.version[1]}": pathlib.Path(folder) / "nvrtc.cubin"}
        next(iter(cubins.values())).write_bytes(nvrtc.compile(source, root / "include")[0])
        if nvcc:
            text, cubins["nvcc"] = pathlib.Path(folder) / "forms.cu", pathlib.Path(folder) / "nvcc.cubin"
            text.write_text(source)
            subprocess.run([nvcc, "-std=c++20", "-arch=sm_100a", f"-I{root / 'include'}", "-cubin", text, "-o",
                            cubins["nvcc"]], check=True)
        for compiled_by, cubin in cubins.items():
            found = list(faults(forms, disassemble(nvdisasm, cubin)))
            for body, fault in found:
                print(f"{compiled_by}: {body}\n    {fault}")
            print(f"{compiled_by}: {len(forms)} forms, {len(found)} faults")
            broken += len(found)
    if not nvcc:
        print("no nvcc: assembled by NVRTC alone")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
