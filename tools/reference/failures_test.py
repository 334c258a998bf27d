# SPDX-License-Identifier: Apache-2.0
"""The reference is refused for each fault that it is meant to find: failures_test.py PYTHON, where PYTHON has Sphinx.
Exit 77 without doxygen, 1 if CI is set, as build.py itself."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import build

GOOD = """// SPDX-License-Identifier: Apache-2.0
// A header.
#pragma once

namespace ww {

/// Settings.
struct Settings {
  int first = 0, second = 0;  // numbers
  // What share_of() reads.
  int third = 0;
};

/// A kind.
enum class Kind {
  one,  // the first
  two,  // the second
};

/// Returns the share of `settings` that `part` has.
double share_of(const Settings& settings, int part);

}  // namespace ww
"""
FAULTS = {  # what is wrong: a text of GOOD, what replaces it, and a word of the complaint
    "a structure without a comment": ("/// Settings.\n", "", "Settings"),
    "members without a comment": ("  // numbers", "", "second"),
    "an enumerator without a comment": ("  // the second", "", "Kind::two"),
    "a function without a comment": ("/// Returns the share of `settings` that `part` has.\n", "", "share_of"),
    "a parameter that no comment names": ("that `part` has", "that one has", "parameter part"),
    "a call that does not exist": ("What share_of() reads", "What part_of() reads", "part_of"),
    "a member that does not exist": ("What share_of()", "What Settings::fourth", "Settings::fourth"),
}


def complaints(text: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "include" / "warpwright" / "host").mkdir(parents=True)
        (root / "include" / "warpwright" / "host" / "settings.hpp").write_text(text)
        return "\n".join(build.doxygen(root, root / "out", "cpp", "0", ["host"], page="/** @namespace ww\nAll. */\n"))


def without_generators() -> str:
    """build.py where no generator is found: skipped with its reason, but never when CI is set."""
    wrong = ""
    for ci, expected in ((None, 77), ("true", 1)):
        settings = {"PATH": "", **({"CI": ci} if ci else {})}
        done = subprocess.run([sys.executable, "-B", build.HERE / "build.py", ".", ".", "none", "none/python"], env=settings,
                              capture_output=True, text=True, check=False)
        if done.returncode != expected or "doxygen is not installed" not in done.stdout:
            wrong += f"CI={ci}: expected status {expected} and the reason, got {done.returncode}: {done.stdout}{done.stderr}"
    return wrong


def main() -> int:
    wrong = [reason for reason in [without_generators()] if reason]
    if shutil.which("doxygen") is None:
        print("doxygen is not installed", *wrong)
        return 1 if wrong or os.environ.get("CI", "0") not in ("", "0", "false") else 77
    if complaints(GOOD):
        wrong.append(f"expected no complaint, got {complaints(GOOD)}")
    for fault, (old, new, word) in FAULTS.items():
        assert old in GOOD, fault
        said = complaints(GOOD.replace(old, new))
        if word not in said:
            wrong.append(f"{fault}: expected a complaint about {word}, got {said!r}")
    if len(sys.argv) > 1 and not any("sphinx" in reason for reason in build.missing(sys.argv[1])):
        done = subprocess.run([sys.argv[1], "-B", build.HERE / "docstrings_test.py"], capture_output=True, text=True,
                              check=False)
        wrong += [done.stdout + done.stderr] if done.returncode else []
    print("\n".join(wrong) if wrong else f"{len(FAULTS)} faults are found")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
