# SPDX-License-Identifier: Apache-2.0
"""Which command takes which flag: --help, completion and the manual page say the same, and what a command does not read
is refused by name. Usage: flags_program_test.py <path of warpwright>"""
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from typing import Dict, List, Set, Tuple

PROGRAM = ""
COMMANDS = ["", "info", "devices", "gemm", "grouped", "k-grouped", "layout", "configs gemm", "configs grouped",
            "configs k-grouped", "explain gemm", "explain grouped", "explain k-grouped", "prepare", "prepare gemm",
            "prepare grouped", "prepare k-grouped", "bench gemm", "bench grouped", "bench k-grouped", "tune gemm",
            "tune grouped", "tune k-grouped", "check", "check gemm", "check grouped", "check k-grouped", "completion",
            "man"]
VERBS = ["configs", "explain", "prepare", "bench", "tune", "check"]


def run(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, errors="surrogateescape", timeout=120)


def error_of(*arguments: str) -> Tuple[int, Dict[str, str]]:
    result = run(*arguments, "--json")
    answer = json.loads(result.stdout)
    return result.returncode, answer["error"]


def help_of(command: str) -> str:
    result = run(*command.split(), "--help")
    assert result.returncode == 0 and not result.stderr, result
    return result.stdout


def options_of(command: str) -> Dict[str, str]:
    """Flags of --help, with the kind of value that follows each."""
    found = {}
    for short, name, value in re.findall(r"^  (?:(-\w),)?(--[a-z0-9-]+)(?: ([^\s]+))?", help_of(command), re.M):
        found[name] = value
        if short:
            found[short] = ""
    return found


class Flags(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.directory.name)

    def tearDown(self) -> None:
        self.directory.cleanup()

    def complete(self, script: str, *words: str) -> List[str]:
        """What bash offers for the last of the words."""
        quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in ("warpwright", *words))
        code = (f"source {script}\nCOMP_WORDS=({quoted})\nCOMP_CWORD={len(words)}\n_warpwright\n"
                "printf '%s\\n' \"${COMPREPLY[@]}\"")
        result = subprocess.run(["bash", "--norc", "-euc", code], capture_output=True, text=True, cwd=self.path,
                                timeout=60)
        self.assertEqual((result.returncode, result.stderr), (0, ""), words)
        return [line for line in result.stdout.split("\n") if line]

    def script(self, shell: str) -> str:
        path = self.path / f"completion.{shell}"
        path.write_text(run("completion", shell).stdout)
        return str(path)

    def test_bash_completion_offers_what_help_lists(self) -> None:
        script = self.script("bash")
        for command in COMMANDS:
            with self.subTest(command=command):
                offered = self.complete(script, *command.split(), "-")
                self.assertEqual(len(offered), len(set(offered)), "each once")
                self.assertEqual(set(offered), set(options_of(command)))
        top = set(self.complete(script, ""))
        self.assertEqual(top, {word.split()[0] for word in [*COMMANDS[1:], *VERBS]})
        for verb in VERBS:
            expected = {command.split()[1] for command in COMMANDS if command.startswith(verb + " ")}
            self.assertEqual(set(self.complete(script, verb, "")), expected)
        self.assertEqual(self.complete(script, "gemm", "--verify", "--out-d"), ["--out-dtype"])
        self.assertEqual(self.complete(script, "gemm", "--scale", "b"), ["block", "block-1d"])
        self.assertEqual(self.complete(script, "gemm", "--scale", "=", "n"), ["none", "nv"])
        self.assertEqual(self.complete(script, "gemm", "--m", ""), [])
        self.assertEqual(self.complete(script, "completion", ""), ["bash", "zsh"])
        (self.path / "a b.npy").write_bytes(b"")
        self.assertIn("a b.npy", self.complete(script, "gemm", "--a", "a"))

    def test_zsh_completion_offers_what_help_lists(self) -> None:
        script = pathlib.Path(self.script("zsh")).read_text()
        self.assertTrue(script.startswith("#compdef warpwright\n"))
        for command in COMMANDS:
            with self.subTest(command=command):
                flags = re.search(rf"^ *'{command}'\) flags='([^']*)'", script, re.M)
                self.assertEqual(set(flags[1].split()), set(options_of(command)))
        if not shutil.which("zsh"):
            self.skipTest("zsh is not here: its script was compared with --help and not run")
        code = (f"autoload -U compinit; compinit -u -d {self.path}/dump; source {self.path}/completion.zsh; "
                "echo ${_comps[warpwright]}")
        result = subprocess.run(["zsh", "-fc", code], capture_output=True, text=True, timeout=60)
        self.assertEqual((result.stdout, result.stderr), ("_warpwright\n", ""))

    def test_the_manual_page_has_what_help_lists(self) -> None:
        page = run("man").stdout
        sections = dict(zip(re.findall(r"^\.SS warpwright ?(.*)$", page, re.M),
                            re.split(r"^\.SS .*$", page, flags=re.M)[1:]))
        self.assertEqual({name.replace("\\-", "-") for name in sections}, set(COMMANDS))
        for name, text in sections.items():
            text = text.split("\n.SH")[0]  # the language of epilogues follows the last command
            named = {flag.replace("\\-", "-") for flag in re.findall(r"\\fB(\\-[^\\]*(?:\\-[^\\]*)*)\\fR", text)}
            self.assertEqual(named, set(options_of(name.replace("\\-", "-"))), name)
        groff = shutil.which("groff")
        if not groff:
            self.skipTest("groff is not here: the page was compared with --help and not formatted")
        result = subprocess.run([groff, "-man", "-ww", "-Tutf8"], input=page, capture_output=True, text=True,
                                timeout=60)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_every_flag_is_taken_by_its_commands_alone(self) -> None:
        options = {command: options_of(command) for command in COMMANDS}
        every = sorted({name for names in options.values() for name in names if name.startswith("--")} - {"--help"})
        cases: List[Tuple[str, str]] = [(command, flag) for command in COMMANDS for flag in every]

        def answer(case: Tuple[str, str]) -> None:
            command, flag = case
            words = command.split()
            if flag == "--json":
                self.assertEqual(command in ("completion", "man"), "--json" not in options[command])
            elif flag not in options[command]:
                status, error = error_of(*words, flag + "=1")
                self.assertIn(status, (2, 3), case)
                self.assertEqual(error["argument"], flag, case)
            elif options[command][flag]:
                status, error = error_of(*words, flag + "=1", flag, "2")
                self.assertEqual((status, error["argument"], error["actual"]), (2, flag, "it 2 times"), case)
                self.assertEqual(error_of(*words, flag, "--json")[1]["argument"], flag, case)
                self.assertEqual(error_of(*words, flag + "=")[1]["argument"], flag, case)
            else:
                for value in ("5", "false", "true"):
                    status, error = error_of(*words, f"{flag}={value}")
                    self.assertEqual((status, error["argument"], error["expected"], error["actual"]),
                                     (2, flag, "no value", f'"{value}"'), case)
                self.assertEqual(error_of(*words, flag, flag)[1]["argument"], flag, case)

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for result in pool.map(answer, cases):
                self.assertIsNone(result)

    def test_what_contradicts_itself_is_refused(self) -> None:
        small = ["gemm", "--device", "emu:sm90", "--m", "64", "--n", "64", "--k", "128"]
        config = "tile=128x128x128,stages=3"
        for flag, *arguments in (
                ("--tile", *small, "--config", config, "--tile", "64x64"),
                ("--stages", *small, "--config", config, "--stages", "5"),
                ("--cluster", *small, "--config", "cluster=2x1", "--cluster", "1x1"),
                ("--schedule", *small, "--config", "schedule=pingpong", "--schedule", "cooperative"),
                ("--swap-ab", *small, "--config", "swap_ab=on", "--swap-ab", "off"),
                ("--a-source", *small, "--config", "a_source=shared", "--a-source", "registers"),
                ("--d-layout", *small, "--config", "d_layout=column", "--d-layout", "row"),
                ("--fixed-n", *small, "--config", "fixed_n=64", "--fixed-n", "128"),
                ("--layout", *small, "--dtype", "bf16", "--config", "layout=nn", "--layout", "tt"),
                ("--layout", "k-grouped", "--config", "layout=tn", "--layout", "nn"),
                ("--layout", "grouped", "--dtype", "bf16", "--config", "layout=nn", "--layout", "nt"),
                ("--packing", "k-grouped", "--config", "k_packing=per-group", "--packing", "joint"),
                ("--epilogue", *small, "--config", "epilogue=relu(acc)", "--epilogue", "silu(acc)"),
                ("--pointer-array", *small, "--batch", "2", "--config", "pointers=0", "--pointer-array"),
                ("--split", *small, "--config", "tile_scheduler=static", "--split", "4"),
                ("--no-verify", *small, "--verify", "--no-verify"),
                ("--config", *small, "--config", "stages=3,stages=4"),
                ("--config", *small, "--config", "stages=3,stages=3"),
                ("--config", *small, "--config", "a=e4m3,tile=64x64x128,a=e4m3"),
                ("--m", "bench", *small, "--cases", "cases.json"), ("--m", "prepare", *small, "--cases", "x"),
                ("--ks", "bench", "k-grouped", "--ks", "3,4", "--cases", "x"),
                ("--offsets", "prepare", "grouped", "--offsets", "x.npy", "--cases", "x"),
                ("--min-m", "bench", *small, "--min-m", "5"),
                ("--m", "bench", *small, "--random", "3"), ("--rows", "bench", "grouped", "--rows", "3", "--random", "3"),
                ("--random", "bench", "gemm", "--random", "3", "--cases", "x"),
                ("--random", "bench", "gemm", "--random", "0", "--dry-run"),
                ("--random", "bench", "k-grouped", "--random", "3"),
                ("--cublaslt", "bench", *small, "--no-peers", "--cublaslt", "x.so")):
            with self.subTest(arguments=arguments):
                status, error = error_of(*arguments)
                self.assertEqual((status, error["argument"].split(",")[0]), (2, flag), error)
        for same in (["--config", config, "--tile", "128x128"], ["--config", config, "--tile", "auto"],
                     ["--config", config, "--stages", "3"], ["--config", "layout=nn", "--layout", "nn"]):
            result = run("explain", *small, "--dtype", "bf16", *[word.replace("x128x128", "x128x64") for word in same])
            self.assertEqual(result.returncode, 0, result)

    def test_what_is_unknown_is_named(self) -> None:
        for words, argument, actual in ((["nothing"], "warpwright", '"nothing"'),
                                        (["bench", "nothing"], "warpwright bench", '"nothing"'),
                                        (["check", "layout"], "warpwright check", '"layout"'),
                                        (["gemm", "extra"], "warpwright gemm", '"extra"'),
                                        (["gemm", "--nothing=3"], "--nothing", '"--nothing=3"'),
                                        (["gemm", "-x"], "-x", '"-x"'), ([], "warpwright", "nothing"),
                                        (["bench"], "warpwright bench", "nothing"),
                                        (["layout"], "expression", "nothing"),
                                        (["check", "--schedules", "3", "gemm"], "--schedules", "it before that"),
                                        (["--version", "info"], "--version", '"info"')):
            with self.subTest(words=words):
                status, error = error_of(*words)
                self.assertEqual((status, error["argument"], error["actual"]), (2, argument, actual))
        self.assertIn("grouped", error_of("nothing")[1]["expected"])
        self.assertIn("the commands that have it are gemm, grouped", run("explain", "gemm", "--out", "d.npy").stderr)

    def test_words_of_one_list_are_told_in_one_way(self) -> None:
        for words in (["completion"], ["completion", "fish"]):
            self.assertIn("argument shell: expected bash or zsh, got", run(*words).stderr)

    def test_what_cannot_be_written_is_an_error(self) -> None:
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        for words in (["--help"], ["gemm", "--help"], ["bench", "-h"], ["--version"], ["info"], ["devices"], ["man"],
                      ["completion", "zsh"], ["layout", "(2,3)"], ["configs", "gemm", "--json"]):
            with self.subTest(words=words), open("/dev/full", "wb") as full:
                done = subprocess.run([PROGRAM, *words], stdout=full, stderr=subprocess.PIPE, timeout=120)
                self.assertEqual(done.returncode, 4)
                self.assertIn(b"could not be written", done.stderr)

    def test_a_config_of_groups_of_k_has_the_layout_that_it_says(self) -> None:
        """A closed text without layout= is nt, whatever the type; a layout beside it must be the same."""
        for dtype, scale in (("e4m3", "block-1d"), ("bf16", "none"), ("tf32", "none")):
            groups = ["k-grouped", "--device", "emu:sm90", "--m", "64", "--n", "64", "--ks", "128,0,128", "--verify"]
            layouts = ["nt"] if dtype != "bf16" else ["nt", "nn", "tn", "tt"]
            for layout in layouts:
                first = json.loads(run(*groups, "--dtype", dtype, "--layout", layout, "--json").stdout)
                self.assertTrue(first["verified"], first)
                again = json.loads(run(*groups, "--config", first["config"], "--json").stdout)
                self.assertEqual((again["config"], again["d_xxh3"]), (first["config"], first["d_xxh3"]))
                for other in {"nt", "nn", "tn", "tt"} - {layout}:
                    status, error = error_of(*groups, "--config", first["config"], "--layout", other)
                    self.assertEqual((status, error["argument"]), (2, "--layout"), error)
        rows = ["grouped", "--device", "emu:sm90", "--n", "64", "--k", "64", "--rows", "3,5", "--dtype", "bf16"]
        config = json.loads(run(*rows, "--json").stdout)["config"]
        self.assertEqual(error_of(*rows, "--config", config, "--layout", "nn")[1]["argument"], "--layout")

    def test_the_version_as_json(self) -> None:
        self.assertRegex(run("--version").stdout, r"^warpwright \d+\.\d+\.\d+\n$")
        answer = json.loads(run("--version", "--json").stdout)
        self.assertEqual(run("--version").stdout, f"{answer['name']} {answer['version']}\n")
        self.assertEqual((answer["ok"], set(answer)), (True, {"ok", "name", "version", "compiler", "cuda_headers"}))

    def test_errors_name_the_flags(self) -> None:
        small = ["gemm", "--device", "emu:sm90", "--m", "64", "--n", "64", "--k", "128"]
        for flag, *arguments in (("--device", "gemm", "--device", "tpu:0"), ("--n", *small[:-3], "65", "--k", "128"),
                                 ("--tile", *small, "--tile", "128x132"), ("--cluster", *small, "--cluster", "3x1"),
                                 ("--config, cluster", *small, "--config", "cluster=3x1"),
                                 ("--tile-scheduler", "explain", *small, "--tile-scheduler", "stream-k", "--batch-invariant"),
                                 ("--layout", *small, "--layout", "nn"),
                                 ("--layout", "k-grouped", "--dtype", "tf32", "--layout", "tn"),
                                 ("--layout", "k-grouped", "--dtype", "tf32", "--layout", "nn"),
                                 ("--schedule", *small, "--dtype", "tf32", "--layout", "tn", "--schedule",
                                  "multistage"),
                                 ("--batch", *small[:-6], "--m", "1000000", "--n", "1000000", "--k", "16", "--batch",
                                  "100000000"),
                                 ("--config, key batched", *small, "--batch", "2", "--config", "batched=0"),
                                 ("--config, key batched", *small, "--config", "batched=1"),
                                 ("--config, key batched", "k-grouped", "--config", "batched=0"),
                                 ("--config, key grouping", "k-grouped", "--config", "grouping=row-groups"),
                                 ("--config, key grouping", "k-grouped", "--config", "grouping=dense"),
                                 ("--config, key grouping", "grouped", "--config", "grouping=dense"),
                                 ("--config, key grouping", "grouped", "--config", "grouping=k-groups"),
                                 ("--config, grouping", *small, "--config", "grouping=k-groups"),
                                 ("--config, k_packing", *small, "--config", "k_packing=per-group"),
                                 ("--config, k_packing", "grouped", "--config", "k_packing=per-group"),
                                 ("--config, k_groups", "grouped", "--config", "k_groups=128"),
                                 ("--config, groups", "k-grouped", "--config", "groups=128"),
                                 ("--config, variant", "k-grouped", "--config", "variant=ragged"),
                                 ("--config, epilogue_n", "grouped", "--config", "epilogue_n=32,variant=ragged"),
                                 ("--configs", "prepare", "--configs", str(self.path / "none.txt")),
                                 ("--configs", "prepare", "--configs", str(self.path)),
                                 ("--config, key epilogue", *small, "--config", "epilogue=relu(acc"),
                                 ("--config", *small, "--config", "stages=3,"),
                                 ("--config", *small, "--config", ","),
                                 ("--config, quantize", "prepare", "--config", "quantize=1x128,"),
                                 ("--config, quantize, key y", "prepare", "--config", "quantize=1x128,y=bf16"),
                                 ("quantize, rows", "prepare", "--config", "quantize=1x128,rows=0"),
                                 ("--config, key stages", "prepare", "--config", "stages=x"),
                                 ("--scale", *small, "--dtype", "bf16", "--scale", "block"),
                                 ("--align", "k-grouped", "--encoding", "masked", "--align", "4"),
                                 ("--epilogue", *small, "--epilogue", "relu(")):
            with self.subTest(arguments=arguments):
                self.assertEqual(error_of(*arguments)[1]["argument"].split(", p")[0], flag)

    def test_nothing_from_a_file_or_the_command_line_steers_the_terminal(self) -> None:
        hostile = "\x1b]0;owned\x07\x00\r\x9b31m\u202e\x7f\n"
        tensors = {f"{i}{hostile}": {"dtype": hostile, "shape": [1], "data_offsets": [i, i + 1]} for i in range(2)}
        text = json.dumps(tensors).encode()
        path = self.path / "t.safetensors"
        path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(2))
        header = f"{{'descr': '{hostile}', 'fortran_order': False, 'shape': (1,), }}".encode()
        npy = self.path / "d\x1b[2J\n\x9b.npy"
        npy.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
        shown = hostile.replace("\x00", "")
        for arguments in (["gemm", "--a", str(path)], ["gemm", "--a", f"{path}:0{shown}"], ["gemm", "--a", str(npy)],
                          [shown], ["gemm", shown], ["gemm", "--" + shown], ["gemm", "--dtype", shown],
                          ["gemm", "--config", shown], ["gemm", "--config", f"tile={shown}"], ["gemm", "--m", shown],
                          ["gemm", "--device", shown], ["gemm", "--epilogue", shown], ["layout", shown],
                          ["grouped", "--rows", shown], ["bench", "gemm", "--cases", shown],
                          ["gemm", "--device", "emu:sm90", "--m", "1", "--n", "8", "--k", "16", "--out",
                           str(self.path / f"out{shown}.npy")],
                          ["check", "--source", shown, "--entry", shown, "--launch", "grid=1,threads=32"],
                          ["check", "--source", str(path), "--entry", shown, "--launch", shown]):
            for json_flag in ([], ["--json"]):
                with self.subTest(arguments=arguments):
                    result = subprocess.run([PROGRAM, *arguments, *json_flag], capture_output=True, timeout=120)
                    self.assertIn(result.returncode, (0, 2, 4))
                    text = result.stdout + result.stderr
                    for character in text.decode():  # valid UTF-8, and nothing that acts
                        self.assertFalse(ord(character) < 32 and character != "\n" or 0x7f <= ord(character) < 0xa0 or
                                         character == "\u202e", (arguments, text))
        self.assertIn("\\x1b", run("gemm", "--a", str(path)).stderr)
        lines = run("gemm", "--a", str(npy)).stderr
        self.assertEqual(lines.count("\n"), 1, lines)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
