# SPDX-License-Identifier: Apache-2.0
"""What header_mutants.py and random_mutants.py share: how edited headers reach a kernel that the library compiles at run
time."""
import json
import os
import shlex
import shutil
import subprocess


def write_wrapper(work, compiler, headers, keep=None, flags=""):
    """Writes a compiler that puts `headers` (a folder like include/) over those that the library wrote, and copies each
    object file to the folder `keep`; `flags` follow the library's own. The headers are copied, because -I does not suffice: quoted names are searched
    beside the including file first."""
    wrapper = work / "c++"
    lines = ["#!/bin/sh", 'for a in "$@"; do', f'  case "$a" in -I*) cp -r "{headers}/." "${{a#-I}}/" ;; esac', "done",
             f'"{shutil.which(str(compiler))}" "$@" {flags} || exit $?']
    if keep:
        lines += ['for a in "$@"; do', '  case "$a" in *.o)', f'    [ ! -f "$a" ] || cp "$a" "{keep}/$$.o" ;;', "  esac",
                  "done"]
    wrapper.write_text("\n".join(lines + ["exit 0", ""]))
    wrapper.chmod(0o755)
    return wrapper


def compiled_by(wrapper, work):
    """The environment in which the library compiles with `wrapper`, into a cache of its own."""
    return {**os.environ, "WARPWRIGHT_CXX": str(wrapper), "WARPWRIGHT_CACHE_DIR": str(work / "cache")}


def run(command, seconds, environment):
    """(exit status, stdout, stderr); the status is None where the time did not suffice."""
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=seconds,
                              env=environment, check=False)
    except subprocess.TimeoutExpired:
        return None, "", f"did not end within {seconds} s"
    return done.returncode, done.stdout, done.stderr


def check(program, family, work, wrapper, schedules, seed, seconds, extra=()):
    """(exit status, report) of a campaign of `warpwright check`; the report is its JSON, or {"why": text}."""
    command = [program, "check", *shlex.split(family), "--schedules", schedules, "--seed", seed, "--threads", 1, "--no-shrink",
               "--json", "--time", f"{seconds}s", *extra]
    status, out, err = run(command, seconds + 300, compiled_by(wrapper, work))
    try:
        return status, json.loads(out)
    except json.JSONDecodeError:
        return status, {"why": (out + err)[-2000:]}
