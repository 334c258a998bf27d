# SPDX-License-Identifier: Apache-2.0
"""The checks can fail: each rule gets a small tree that keeps it and the same tree with one violation planted."""
import pathlib
import tempfile
import unittest

import documents
import layers
import limits
import promises
import style
import wgmma_callers

HEAD = "// SPDX-License-Identifier: Apache-2.0\n// A file.\n#pragma once\n"
MECHANISMS = "| mechanism | file | test | example |\n|---|---|---|---|\n"
RELIABILITY = "| # | promise | test |\n|---|---|---|\n"


class Planted(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("include/warpwright/core/meta.hpp", HEAD)
        self.write("include/warpwright/atom/tile.hpp", HEAD + '#include "warpwright/core/meta.hpp"\n')
        self.write("include/warpwright/arch/common/fence.hpp", HEAD + 'inline void f() { asm volatile("x;"); table->fence(); }\n')
        self.write("tests/layout/algebra_test.cpp", "TEST(Layout, Composes) {}\nTEST_P(Sweep, Works) {}\n")
        self.write("docs/mechanisms.md", MECHANISMS + "| a | `include/warpwright/core/meta.hpp` | `Layout.Composes` | not yet |\n")
        self.write("docs/reliability.md", RELIABILITY + "| 1 | holds | `Sweep.Works`, `Layout.*` |\n")

    def write(self, path, text):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def assert_found(self, check, words, line=None):
        findings = check(self.root)
        self.assertEqual(len(findings), 1, findings)
        self.assertIn(words, findings[0].message)
        if line:
            self.assertEqual(findings[0].line, line)


class Documents(Planted):
    def setUp(self):
        super().setUp()
        self.write("include/warpwright/host/device.hpp", HEAD + "namespace ww { class Device { void open(); }; }\n")
        self.write("include/warpwright/warpwright.h", "int ww_run(void);\n")
        self.write("bindings/python/warpwright/__init__.py", "def gemm(): pass\n")
        self.write("src/cli/verb.cpp", 'const char* flag = "--verify";\n')
        self.page = ("# A page\n\n## Some part\n\n`--verify` of `ww::Device::open`, `ww_run`, `warpwright.gemm` and\n"
                     "`host/device.hpp`; [above](#some-part), [there](docs/mechanisms.md)\n")
        self.write("README.md", self.page)

    def planted(self, old, new, words):
        self.write("README.md", self.page.replace(old, new))
        self.assert_found(documents.check, words)

    def test_a_good_tree_passes(self):
        self.assertEqual(documents.check(self.root), [])

    def test_a_flag_that_does_not_exist(self):
        self.planted("--verify", "--verity", "flag --verity")

    def test_a_cpp_name_that_does_not_exist(self):
        self.planted("Device::open", "Device::close", "Device::close")

    def test_a_c_name_that_does_not_exist(self):
        self.planted("ww_run", "ww_walk", "ww_walk")

    def test_a_python_name_that_does_not_exist(self):
        self.planted("warpwright.gemm", "warpwright.gem", "warpwright.gem ")

    def test_a_file_that_does_not_exist(self):
        self.planted("host/device.hpp", "host/devices.hpp", "host/devices.hpp")

    def test_a_heading_that_does_not_exist(self):
        self.planted("#some-part", "#no-part", "no heading")

    def test_a_linked_file_that_does_not_exist(self):
        self.planted("docs/mechanisms.md", "docs/mechanics.md", "no file")


class Layers(Planted):
    def test_a_good_tree_passes(self):
        self.assertEqual(layers.check(self.root), [])

    def test_an_include_upwards(self):
        self.write("include/warpwright/core/bad.hpp", HEAD + '#include "warpwright/atom/tile.hpp"\n')
        self.assert_found(layers.check, "does not come before it", 4)

    def test_a_standard_header_even_when_conditional(self):
        self.write("include/warpwright/kernel/bad.hpp", HEAD + "#if 0\n# include <cstdint>\n#endif\n")
        self.assert_found(layers.check, "got <cstdint>", 5)

    def test_a_host_header(self):
        self.write("include/warpwright/kernel/bad.hpp", HEAD + '#include "warpwright/host/result.hpp"\n')
        self.assert_found(layers.check, "does not come before it")

    def test_a_missing_header(self):
        self.write("include/warpwright/kernel/bad.hpp", HEAD + '#include "warpwright/core/none.hpp"\n')
        self.assert_found(layers.check, "does not exist")

    def test_an_arrow_that_the_table_does_not_list(self):
        self.write("src/cli/request.hpp", HEAD)
        self.write("src/reference/bad.cpp", HEAD + '#include "cli/request.hpp"\n')
        self.assert_found(layers.check, "src/reference includes src/cli", 4)

    def test_folders_that_include_each_other(self):
        self.write("src/io/array.hpp", HEAD + '#include "reference/matrix.hpp"\n')
        self.write("src/reference/matrix.hpp", HEAD + '#include "io/array.hpp"\n')
        messages = [finding.message for finding in layers.check(self.root)]
        self.assertIn("src/io includes itself through other folders", messages)
        self.assertIn("src/reference includes itself through other folders", messages)

    def test_a_table_of_contributing_that_is_not_the_one_checked(self):
        self.write("CONTRIBUTING.md", layers.BEGIN + layers.table() + layers.END)
        self.assertEqual(layers.check(self.root), [])
        self.write("CONTRIBUTING.md", layers.BEGIN + layers.table().replace("src/jit", "src/bit") + layers.END)
        self.assert_found(layers.check, "its table of folders")

    def test_the_mma_instruction_in_an_epilogue(self):
        self.write("include/warpwright/epilogue/bad.hpp", HEAD + "inline void f() { arch::wgmma::fence(); }\n")
        self.assert_found(layers.check, "wgmma: an MMA instruction", 4)

    def test_the_accumulator_s_arithmetic_in_an_epilogue(self):
        self.write("include/warpwright/epilogue/bad.hpp",
                   HEAD + "inline int row(int thread) { return 16 * (thread / 32) + 8; }\n")
        self.assert_found(layers.check, "* (thread / 32): an MMA instruction", 4)

    def test_a_header_of_the_mma_in_a_mainloop_of_every_architecture(self):
        self.write("include/warpwright/arch/sm90/mma.hpp", HEAD)
        self.write("include/warpwright/mainloop/sm90/good.hpp", HEAD + '#include "warpwright/arch/sm90/mma.hpp"\n')
        self.write("include/warpwright/mainloop/bad.hpp", HEAD + '#include "warpwright/arch/sm90/mma.hpp"\n')
        self.assert_found(layers.check, "arch/sm90/mma.hpp: an MMA instruction", 4)

    def test_assembly_above_arch(self):
        self.write("include/warpwright/atom/bad.hpp", HEAD + '// asm here is a comment, "asm" a string\nvoid f() { asm(""); }\n')
        self.assert_found(layers.check, "assembly", 5)

    def test_architecture_macro_in_src(self):
        self.write("src/emu/bad.cpp", HEAD + "#if __CUDA_ARCH__ >= 900\n#endif\n")
        self.assert_found(layers.check, "__CUDA_ARCH__")

    def test_emulator_call_above_arch(self):
        for call in ("arch::table->fence()", "sm90_table->commit()"):
            self.write("include/warpwright/pipeline/bad.hpp", HEAD + f"void f() {{ {call}; }}\n")
            self.assert_found(layers.check, "emulator")

    def test_an_instruction_of_one_machine_in_the_shared_emulator(self):
        for path in ("src/emu/sm90/engine.cpp", "src/emu/machines.cpp"):
            self.write(path, HEAD + "// wgmma of sm_90\n")
        self.write("src/emu/CMakeLists.txt", "add_subdirectory(sm90)\n")
        self.assertEqual(layers.check(self.root), [])
        self.write("src/emu/check/bad.cpp", HEAD + "\nvoid wgmma_waited();\n")
        self.write("src/emu/sm100/bad.cpp", HEAD + "// as Hopper does\n")
        messages = [finding.message for finding in layers.check(self.root)]
        self.assertEqual(messages, ["wgmma outside src/emu/sm90, of which alone it is",
                                    "Hopper outside src/emu/sm90, of which alone it is"])


class Limits(Planted):
    def planted(self, line, words, path="src/emu/launch.cpp"):
        self.write(path, HEAD + line + "\n")
        self.assert_found(limits.check, words, line=4)

    def test_a_good_tree_passes(self):
        self.write("include/warpwright/core/machine.hpp", HEAD + "int shared = 227 * 1024, registers_of_sm = 65536;\n")
        self.write("src/select/machine_rates.hpp", HEAD + "int sms = 132;\n")
        self.write("src/emu/launch.cpp", HEAD + '// 232448 bytes, 132 SMs\nint a = 1024 * 4, b[] = {32, 64, 160};\n'
                                                '#include "warpwright/arch/sm90/wgmma.hpp"\n')
        self.assertEqual(limits.check(self.root), [])

    def test_shared_memory_in_any_spelling(self):
        for text in ("232448", "232'448u", "227 * 1024", "227u << 10", "1024 * 227", "0x38C00", "(227) * (1024)",
                     "228 * 1024 - 1024"):
            with self.subTest(text):
                self.planted(f"int limit = {text};", "shared memory")

    def test_shared_memory_in_a_message(self):
        self.planted('const char* text = "that fit 232448 bytes";', "instead of 232448 in a text")

    def test_registers_of_an_sm(self):
        for text in ("65536 / threads", "64 * 1024", "1 << 16"):
            with self.subTest(text):
                self.planted(f"int registers = {text};", "the registers of an SM")

    def test_sms_and_columns(self):
        self.planted("int sms = 132;", "the SMs of an H200")
        self.planted("double share = 120.0 / 148;", "the SMs of a B200")
        self.planted("int columns = 2 * 256;", "the columns of tensor memory")

    def test_register_splits(self):
        self.planted("Split split{40, 232};", "232")
        self.planted("Split split{56, 224};", "56 and 224 registers")
        self.planted("s.producer_registers = 56;", "instead of 56 registers")
        self.planted("int of_all = 3 * 168;", "168")

    def test_a_name_of_an_architecture(self):
        self.planted('const char* target = "--gpu-architecture=sm_90a";', 'for "sm_90a"')
        self.planted('const char* device = "emu:sm100";', 'for "sm100"')

    def test_another_meaning_that_has_gone(self):
        self.write("src/cli/flags.hpp", HEAD + "int bit = 256;\n")
        self.assert_found(limits.check, "names 512, which is gone")


class Style(Planted):
    def setUp(self):
        super().setUp()
        self.write("tests/layout/algebra_test.cpp", HEAD)

    def test_a_good_tree_passes(self):
        self.write("include/warpwright/generated/long.hpp", HEAD + "int x;\n" * 700)
        self.write("docs/a.md", "[here](a.md) and [there](https://example.org/x)\n")
        self.assertEqual(style.check(self.root), [])

    def test_no_licence_line(self):
        self.write("src/a.cpp", "int x;\n")
        self.assert_found(style.check, "SPDX")

    def test_no_include_guard(self):
        self.write("src/a.hpp", HEAD.replace("#pragma once", ""))
        self.assert_found(style.check, "#pragma once")

    def test_a_long_file(self):
        self.write("src/a.cpp", HEAD + "int x;\n" * 598)
        self.assert_found(style.check, "got 601")

    def test_sized_integers_need_their_header(self):
        self.write("src/a.hpp", HEAD + "inline std::uint32_t a() { return 0; }\n")
        self.assert_found(style.check, "std::uint32_t without #include <cstdint>", 4)
        self.write("src/a.hpp", HEAD + "#include <cstdint>\ninline std::uint32_t a() { return 0; }\n")
        self.assertEqual(style.check(self.root), [])

    def test_white_space(self):
        self.write("src/a.cpp", HEAD + "int x; \n")
        self.assert_found(style.check, "white space", 4)

    def test_a_note_to_oneself(self):
        self.write("src/a.cpp", HEAD + "// TO" "DO later\n// TO" "DO(driver 575): a reason is fine\n")
        self.assert_found(style.check, "without a reason", 4)

    def test_a_place_on_one_machine(self):
        self.write("docs/a.md", "see /ho" "me/me/x and not src/home/x\n")
        self.assert_found(style.check, "place on one machine")

    def test_a_dead_link(self):
        self.write("docs/a.md", "[x](gone.md#part)\n")
        self.assert_found(style.check, "gone.md")


class Promises(Planted):
    def row(self, text):
        self.write("docs/mechanisms.md", MECHANISMS + text + "\n")

    def test_a_good_tree_passes(self):
        self.assertEqual(promises.check(self.root), [])

    def test_a_missing_file(self):
        self.row("| a | `src/emu/none.cpp` | `Layout.Composes` | not yet |")
        self.assert_found(promises.check, "src/emu/none.cpp does not exist", 3)

    def test_a_missing_test(self):
        self.row("| a | `tests/layout/algebra_test.cpp` | `Layout.Decomposes` | not yet |")
        self.assert_found(promises.check, "Layout.Decomposes")

    def test_a_missing_suite(self):
        self.row("| a | `tests/layout/algebra_test.cpp` | `Layouts.*` | not yet |")
        self.assert_found(promises.check, "Layouts.*")

    def test_a_row_without_evidence(self):
        self.row("| a | somewhere | `Layout.Composes` | not yet |")
        self.assert_found(promises.check, "column file")

    def test_a_row_that_lost_a_cell(self):
        self.row("| a | `tests/layout/algebra_test.cpp` | `Layout.Composes` |")
        self.assert_found(promises.check, "expected 4 cells")

    def test_a_document_without_its_table(self):
        self.write("docs/reliability.md", "All is well.\n")
        self.assert_found(promises.check, "'promise'")

    def test_a_missing_document(self):
        (self.root / "docs/reliability.md").unlink()
        self.assert_found(promises.check, "does not exist")

    def test_a_comment_that_names_a_file_that_is_gone(self):
        self.write("include/warpwright/core/good.hpp", HEAD + "int x;  // core/meta.hpp, mechanisms.md\n")
        self.assertEqual(promises.check(self.root), [])
        self.write("src/emu/bad.cpp", HEAD + "/// As layout/layout.hpp has it.\nint x;\n")
        self.assert_found(promises.check, "layout/layout.hpp does not exist", 4)


class WgmmaCallers(unittest.TestCase):
    GOOD = ("lib.a:warpgroup_engine.cpp.o:                 U _ZN2ww3emu7mma_m64ENS0_8MmaTypesE\n"
            "lib.a:launch.cpp.o:                 U _ZN2ww3emu8scheduleEv\n"
            "lib.a:mma.cpp.o:                 U _ZN2ww3emu9mma_chainENS0_9MmaTargetE\n"
            "lib.a:mma.cpp.o:0000000000000210 T _ZN2ww3emu7mma_m64ENS0_8MmaTypesE\n")

    def test_a_good_archive_passes(self):
        self.assertEqual(wgmma_callers.faults(self.GOOD), [])

    def test_a_second_caller(self):
        for name in ("7mma_m64", "10mma_m64_on", "9mma_chain", "14mma_exact_avx2"):
            fault, = wgmma_callers.faults(self.GOOD + f"lib.a:table.cpp.o:                 U _ZN2ww3emu{name}Ev\n")
            self.assertIn("got one from table.cpp.o", fault)

    def test_an_archive_without_it(self):
        self.assertEqual(len(wgmma_callers.faults("")), 1)


if __name__ == "__main__":
    unittest.main()
