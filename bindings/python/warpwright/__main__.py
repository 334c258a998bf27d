# SPDX-License-Identifier: Apache-2.0
"""`python -m warpwright` is the program `warpwright` that the package carries."""
import os
import pathlib
import sys


def main() -> int:
    program = pathlib.Path(__file__).absolute().parent / "bin" / "warpwright"
    if not program.is_file():
        print(f"warpwright: this installation has no program at {program}", file=sys.stderr)
        return 4
    os.execv(program, ["warpwright", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
