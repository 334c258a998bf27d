# SPDX-License-Identifier: Apache-2.0
"""How ./ww behaves, on a stand-in project that configures and builds in a moment: ww_test.py <checkout>."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()

# The "program" prints where it runs and its arguments, and exits with 7. Building it leaves "begin" and "end" in a log.
PROGRAM = '#!/bin/sh\nif [ "$1" = fail ]; then exit 7; fi\necho "in $(pwd): $*"\n'
BUILD = '#!/bin/sh\necho begin >> log; sleep 0.3; mkdir -p bin; cp "$1" bin/warpwright; chmod +x bin/warpwright; echo end >> log\n'
CMAKE_LISTS = """cmake_minimum_required(VERSION 3.25)
project(stand_in LANGUAGES NONE)
option(WARPWRIGHT_BUILD_TESTS "" ON)
file(GLOB watched CONFIGURE_DEPENDS *.none)
add_custom_command(OUTPUT bin/warpwright COMMAND sh ${CMAKE_SOURCE_DIR}/build.sh ${CMAKE_SOURCE_DIR}/program.sh
                   DEPENDS program.sh WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
add_custom_target(warpwright_program ALL DEPENDS bin/warpwright)
if(WARPWRIGHT_BUILD_TESTS)
  add_custom_target(warpwright_docs COMMAND sh -c "echo reference, CI is $CI > docs" VERBATIM)
  enable_testing()
  add_test(NAME Quick.Passes COMMAND true)
  add_test(NAME Slow.Sleeps COMMAND sleep 0.2)
  add_test(NAME Long.Fails COMMAND false)
  set_tests_properties(Long.Fails PROPERTIES LABELS long)
endif()
"""


class Ww(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve() / "a checkout"
        self.root.mkdir()
        shutil.copy(ROOT / "ww", self.root / "ww")
        (self.root / "CMakeLists.txt").write_text(CMAKE_LISTS)
        (self.root / "program.sh").write_text(PROGRAM)
        (self.root / "build.sh").write_text(BUILD)
        self.build = self.root / "build/release"

    def start(self, *arguments, **environment):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("WW_")}
        return subprocess.Popen([str(self.root / "ww"), *arguments], cwd="/", env={**clean, **environment}, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run_ww(self, *arguments, **environment):
        process = self.start(*arguments, **environment)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def test_usage_builds_nothing(self):
        for arguments in ([], ["help"]):
            status, out, err = self.run_ww(*arguments)
            self.assertEqual((status, err), (0, ""))
            self.assertIn("./ww test [--all]", out)
        self.assertFalse(self.build.exists())

    def test_runs_the_program_in_the_directory_of_the_caller(self):
        status, out, err = self.run_ww("gemm", "--m", "two words")
        self.assertEqual((status, out), (0, "in /: gemm --m two words\n"), err)
        self.assertIn("configuring", err)

    def test_exit_code_passes_through_and_a_second_run_is_silent(self):
        self.assertEqual(self.run_ww("fail")[0], 7)
        self.assertEqual(self.run_ww("fail"), (7, "", ""))

    def test_a_changed_source_is_built(self):
        self.run_ww("gemm")
        (self.root / "program.sh").write_text("#!/bin/sh\necho changed\n")
        self.assertEqual(self.run_ww("gemm")[:2], (0, "changed\n"))

    def test_a_build_that_fails_is_status_4(self):
        (self.root / "build.sh").write_text("echo no compiler; exit 1\n")
        status, out, err = self.run_ww("gemm")
        self.assertEqual((status, out), (4, ""))
        self.assertIn("no compiler", err)

    def test_two_at_once_build_once(self):
        both = [self.start("run", str(i)) for i in range(2)]
        for i, process in enumerate(both):
            out, err = process.communicate(timeout=60)
            self.assertEqual((process.returncode, out), (0, f"in /: run {i}\n"), err)
        self.assertEqual((self.build / "log").read_text().split(), ["begin", "end"])

    def test_names_the_exact_line_when_it_may_not_install(self):
        status, out, err = self.run_ww("gemm", WW_NO_INSTALL="1", WW_MISSING="libfmt-dev libxxhash-dev libgtest-dev")
        self.assertEqual((status, out), (4, ""))
        self.assertIn("sudo apt-get install -y --no-install-recommends libfmt-dev libxxhash-dev\n", err)

    def test_packages_of_the_tests_are_asked_only_by_test(self):
        status, _, err = self.run_ww("test", WW_NO_INSTALL="1", WW_MISSING="libgtest-dev")
        self.assertEqual(status, 4)
        self.assertIn("install -y --no-install-recommends libgtest-dev\n", err)

    def test_the_reference_asks_for_its_generator_and_refuses_to_skip(self):
        status, _, err = self.run_ww("docs", WW_NO_INSTALL="1", WW_MISSING="doxygen")
        self.assertEqual(status, 4)
        self.assertIn("install -y --no-install-recommends doxygen\n", err)
        tools = self.root / "tools"
        tools.mkdir()
        (tools / "doxygen").write_text("#!/bin/sh\n")
        (tools / "doxygen").chmod(0o755)
        status, out, err = self.run_ww("docs", PATH=f"{tools}:{os.environ['PATH']}")
        self.assertEqual((status, out), (0, f"{self.build}/reference/html/index.html\n"), err)
        self.assertEqual((self.build / "docs").read_text(), "reference, CI is 1\n")

    def test_a_moved_checkout_is_configured_anew(self):
        self.run_ww("gemm")
        moved = self.root.with_name("moved")
        self.root.rename(moved)
        self.root = moved
        status, out, err = self.run_ww("gemm")
        self.assertEqual((status, out), (0, "in /: gemm\n"), err)

    def test_tests_list_the_slowest_and_leave_long_ones_out(self):
        self.run_ww("gemm")
        status, out, err = self.run_ww("test")
        self.assertEqual(status, 0, out + err)
        self.assertIn("100% tests passed, 0 tests failed out of 2", out)
        self.assertRegex(out, r"Slowest ten tests:\n +0\.[2-9]\d s +Slow\.Sleeps\n +0\.\d\d s +Quick\.Passes\n$")
        status, out, _ = self.run_ww("test", "-R", "Quick")
        self.assertEqual(status, 0)
        self.assertIn("out of 1", out)

    def test_all_includes_the_long_ones_and_their_failure_is_the_status(self):
        status, out, _ = self.run_ww("test", "--all")
        self.assertEqual(status, 8)
        self.assertIn("Long.Fails", out)


if __name__ == "__main__":
    unittest.main()
