#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the API reference: build.py CHECKOUT PACKAGES FOLDER [PYTHON].

FOLDER/html/index.html is the reference of the Python package, made by Sphinx with PYTHON (default: this one), which
finds the built package in PACKAGES. html/cpp and html/c are those of C++ and C, made by Doxygen. Every warning is an
error: a public name, enumerator, member or parameter that no comment describes, and a reference to a name that does not
exist. Exit 77 where a generator is missing, 1 there when CI is set."""
import os
import pathlib
import shutil
import subprocess
import sys
from typing import Iterator, List

import names

HERE = pathlib.Path(__file__).resolve().parent
CPP = ["host", "config/enumerations.hpp", "config/group_encoding.hpp", "config/gemm_config.hpp", "core/dtype.hpp",
       "core/machine.hpp"]
C = ["warpwright.h", "quantize.h", "check.h"]
SETTINGS = """
INPUT_FILTER = "{python} -B {here}/comments.py"
EXCLUDE_SYMBOLS = ww::storage ww::*_t
STRIP_FROM_PATH = {include}
STRIP_FROM_INC_PATH = {include}
ENABLE_PREPROCESSING = YES
PREDEFINED = __GNUC__ WW_API=
SEARCH_INCLUDES = NO
TYPEDEF_HIDES_STRUCT = YES
JAVADOC_AUTOBRIEF = YES
SORT_MEMBER_DOCS = NO
QUIET = YES
WARN_IF_UNDOCUMENTED = YES
WARN_AS_ERROR = FAIL_ON_WARNINGS
GENERATE_LATEX = NO
GENERATE_XML = YES
XML_PROGRAMLISTING = NO
HAVE_DOT = NO
"""


def doxygen(checkout: pathlib.Path, folder: pathlib.Path, language: str, version: str, headers: List[str],
            page: str) -> List[str]:
    """Runs Doxygen over the headers of a language and the text of a first page; returns what is wrong with them."""
    include = checkout / "include" / "warpwright"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{language}.dox").write_text(page)
    inputs = [folder / f"{language}.dox", *(include / name for name in headers)]
    xml = folder / "xml" / language
    settings = SETTINGS.format(python=sys.executable, here=HERE, include=checkout / "include")
    settings += f'PROJECT_NAME = "Warpwright, {"C" if language == "c" else "C++"}"\nPROJECT_NUMBER = {version}\n'
    settings += f"OPTIMIZE_OUTPUT_FOR_C = {'YES' if language == 'c' else 'NO'}\n"
    settings += "INPUT = " + " ".join(f'"{path}"' for path in inputs) + "\n"
    settings += f'OUTPUT_DIRECTORY = "{folder}"\nHTML_OUTPUT = "html/{language}"\nXML_OUTPUT = "xml/{language}"\n'
    shutil.rmtree(xml, ignore_errors=True)
    (folder / "html").mkdir(parents=True, exist_ok=True)
    (folder / "xml").mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["doxygen", "-"], input=settings, capture_output=True, text=True, check=False)
    wrong = sorted({line for line in done.stderr.splitlines() if line.strip()})
    if done.returncode != 0 and not wrong:
        wrong = [f"doxygen ended with status {done.returncode}"]
    return wrong if wrong else sorted(names.findings(xml))


def sphinx(packages: pathlib.Path, folder: pathlib.Path, python: str, version: str) -> List[str]:
    settings = {"PYTHONPATH": str(packages), "PYTHONDONTWRITEBYTECODE": "1", "JAX_PLATFORMS": "cpu",
                "WARPWRIGHT_VERSION": version}
    command = [python, "-m", "sphinx", "-q", "-W", "--keep-going", "-E", "-d", folder / "doctrees", "-b", "html",
               HERE / "python", folder / "html"]
    done = subprocess.run(command, env={**os.environ, **settings}, capture_output=True, text=True, check=False)
    return [*done.stderr.splitlines(), *done.stdout.splitlines()] if done.returncode else []


def missing(python: str) -> Iterator[str]:
    if shutil.which("doxygen") is None:
        yield "doxygen is not installed"
    if not pathlib.Path(python).exists() or \
       subprocess.run([python, "-c", "import sphinx"], capture_output=True, check=False).returncode:
        yield f"{python} has no sphinx"


def main() -> int:
    checkout, packages, folder = (pathlib.Path(argument).absolute() for argument in sys.argv[1:4])
    python = sys.argv[4] if len(sys.argv) > 4 else sys.executable
    lacking = list(missing(python))
    if lacking:
        print("; ".join(lacking))
        return 1 if os.environ.get("CI", "0") not in ("", "0", "false") else 77
    version = next(line.split('"')[1] for line in (checkout / "pyproject.toml").read_text().splitlines()
                   if line.startswith("version"))
    wrong: List[str] = []
    for language, headers in (("cpp", CPP), ("c", C)):
        wrong += doxygen(checkout, folder, language, version, headers, (HERE / f"{language}.dox").read_text())
    wrong += sphinx(packages, folder, python, version)
    print("\n".join(wrong) if wrong else f"{folder}/html/index.html")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
