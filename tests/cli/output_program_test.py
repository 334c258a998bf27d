# SPDX-License-Identifier: Apache-2.0
"""The files that the program writes: a regular file is replaced whole or not at all, and nothing that is no regular
file is ever replaced. Usage: output_program_test.py <path of warpwright>"""
import json
import os
import pathlib
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import unittest
from typing import List

PROGRAM = ""
GEMM = ["gemm", "--device", "emu:sm90", "--m", "8", "--n", "8", "--k", "128", "--sms", "2"]
BYTES = 128 + 8 * 8 * 2  # the header of a .npy file and D as bf16
# every flag that names a file to be written, after a command that fills it
WRITERS = {"--out": GEMM,
           "--out-scales": ["gemm", "--device", "emu:sm90", "--m", "8", "--n", "128", "--k", "128", "--sms", "2",
                            "--epilogue", "quantise_block(acc)"],
           "--result": ["bench", *GEMM, "--no-peers", "--seconds", "0.1"]}


def run(*arguments: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run([PROGRAM, *arguments], capture_output=True, timeout=120, **options)


class Output(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.directory.name)

    def tearDown(self) -> None:
        self.directory.cleanup()

    def names(self) -> List[str]:
        return sorted(os.listdir(self.path))

    def written(self, flag: str, path: object) -> None:
        result = run(*WRITERS[flag], flag, str(path))
        self.assertEqual(result.returncode, 0, result)

    def refused(self, status: int, path: object, word: str) -> None:
        for flag, command in WRITERS.items():
            with self.subTest(flag=flag, path=path):
                result = run(*command, flag, str(path), "--json")
                self.assertEqual(result.returncode, status, result)
                error = json.loads(result.stdout)["error"]
                self.assertEqual(error["argument"], flag)
                self.assertIn(word, error["actual"])

    def test_a_regular_file_is_replaced_whole_and_keeps_its_permissions(self) -> None:
        file = self.path / "d.npy"
        for flag in WRITERS:
            file.write_bytes(b"x" * 100000)
            file.chmod(0o640)
            before = file.stat().st_ino
            self.written(flag, file)
            self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o640, flag)
            self.assertNotEqual(file.stat().st_ino, before, "another file has taken its name")
            self.assertLess(file.stat().st_size, 100000)
            self.assertEqual(self.names(), ["d.npy"])

    def test_a_new_file_has_the_permissions_of_the_umask(self) -> None:
        result = run(*GEMM, "--out", str(self.path / "d.npy"), preexec_fn=lambda: os.umask(0o027))
        self.assertEqual(result.returncode, 0, result)
        self.assertEqual(stat.S_IMODE((self.path / "d.npy").stat().st_mode), 0o640)

    def test_a_symlink_stays_and_its_target_is_replaced(self) -> None:
        (self.path / "folder").mkdir()
        target = self.path / "folder" / "d.npy"
        links = [self.path / "first", self.path / "second"]
        links[0].symlink_to("second")
        links[1].symlink_to("folder/d.npy")
        for flag in WRITERS:
            for there in (False, True):  # a dangling link, then one to a file
                with self.subTest(flag=flag, there=there):
                    if there:
                        target.write_bytes(b"old")
                    elif target.exists():
                        target.unlink()
                    self.written(flag, links[0])
                    self.assertTrue(links[0].is_symlink() and links[1].is_symlink())
                    self.assertGreater(target.stat().st_size, 100)
                    self.assertEqual(os.listdir(self.path / "folder"), ["d.npy"])
                    self.assertEqual(self.names(), ["first", "folder", "second"])
        loop = self.path / "loop"
        loop.symlink_to("loop")
        self.refused(2, loop, "links")
        nowhere = self.path / "nowhere"
        nowhere.symlink_to("none/d.npy")
        self.refused(2, nowhere, "")

    def test_a_device_node_is_written_through(self) -> None:
        for flag in WRITERS:
            before = os.stat("/dev/null")
            self.written(flag, "/dev/null")
            after = os.stat("/dev/null")
            self.assertEqual((after.st_mode, after.st_ino, after.st_rdev), (before.st_mode, before.st_ino,
                                                                            before.st_rdev), flag)
        full = run(*GEMM, "--out", "/dev/full", "--json")
        self.assertEqual(full.returncode, 4, full)
        self.assertIn("No space", json.loads(full.stdout)["error"]["actual"])

    def test_a_node_in_a_folder_is_written_through(self) -> None:
        node = self.path / "n"
        try:
            os.mknod(node, 0o600 | stat.S_IFCHR, os.makedev(1, 3))
        except PermissionError as error:
            self.skipTest(f"mknod is not permitted here: {error}")
        link = self.path / "link"
        link.symlink_to("n")
        for path in (node, link):
            for flag in WRITERS:
                try:
                    os.close(os.open(node, os.O_WRONLY))
                except PermissionError as error:
                    self.skipTest(f"device nodes cannot be opened in this folder: {error}")
                self.written(flag, path)
                self.assertTrue(stat.S_ISCHR(node.stat().st_mode), flag)
        self.assertTrue(link.is_symlink())
        self.assertEqual(self.names(), ["link", "n"])

    def test_a_fifo_is_written_through(self) -> None:
        fifo = self.path / "fifo"
        os.mkfifo(fifo)
        received: List[bytes] = []
        reader = threading.Thread(target=lambda: received.append(fifo.read_bytes()))
        reader.start()
        self.written("--out", fifo)
        reader.join(60)
        self.assertEqual((len(received[0]), received[0][:6]), (BYTES, b"\x93NUMPY"))
        self.assertTrue(stat.S_ISFIFO(fifo.stat().st_mode))
        self.assertEqual(self.names(), ["fifo"])

    def test_a_fifo_whose_reader_leaves_is_an_error_and_no_signal(self) -> None:
        fifo = self.path / "fifo"
        os.mkfifo(fifo)
        reader = threading.Thread(target=lambda: fifo.open("rb").close())
        reader.start()
        large = ["gemm", "--device", "emu:sm90", "--m", "512", "--n", "1024", "--k", "128", "--out", str(fifo)]
        result = run(*large)
        reader.join(60)
        self.assertEqual(result.returncode, 4, result)
        self.assertIn(b"Broken pipe", result.stderr)

    def test_standard_output_takes_the_data_and_the_report_goes_to_stderr(self) -> None:
        for name in ("/dev/stdout", "/proc/self/fd/1"):
            result = run(*GEMM, "--out", name)  # a pipe
            self.assertEqual((result.returncode, len(result.stdout)), (0, BYTES), result)
            self.assertIn(b"xxh3", result.stderr)
            file = self.path / "d.npy"
            with file.open("wb") as stream:  # a regular file
                stream.write(b"before")
                stream.flush()
                status = subprocess.run([PROGRAM, *GEMM, "--out", name], stdout=stream, stderr=subprocess.PIPE,
                                        timeout=120, check=False)
            self.assertEqual(status.returncode, 0, status)
            self.assertEqual((file.read_bytes()[:12], file.stat().st_size), (b"before\x93NUMPY", 6 + BYTES))
        answer = run(*GEMM, "--out", "/dev/stdout", "--json")
        self.assertEqual(len(answer.stdout), BYTES)
        self.assertTrue(json.loads(answer.stderr)["ok"])

    def test_what_cannot_be_an_output_is_refused_before_anything_runs(self) -> None:
        self.refused(2, self.path, "directory")
        self.refused(2, self.path / "none" / "d.npy", "No such file")
        self.refused(2, "", "names none")
        self.refused(2, f"{self.path}/new/", "names none")
        self.refused(2, self.path / ("x" * 300), "too long")
        name = self.path / "socket"
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(name))
            self.refused(2, name, "socket")
            self.assertTrue(stat.S_ISSOCK(name.stat().st_mode))
        self.refused(4, "/proc/warpwright.npy", "")  # a folder that takes no files, whoever asks
        self.assertEqual(self.names(), ["socket"])
        try:
            os.mknod(self.path / "disk", 0o600 | stat.S_IFBLK, os.makedev(7, 250))
        except PermissionError as error:
            self.skipTest(f"mknod is not permitted here: {error}")
        self.refused(2, self.path / "disk", "block device")

    def test_folders_and_files_without_write_permission(self) -> None:
        if os.geteuid() == 0:
            self.skipTest("root may write everywhere")
        folder = self.path / "folder"
        folder.mkdir()
        file = folder / "d.npy"
        file.write_bytes(b"old")
        file.chmod(0o444)
        self.refused(4, file, "denied")
        folder.chmod(0o555)
        self.refused(4, folder / "new.npy", "denied")
        folder.chmod(0o755)
        self.assertEqual((file.read_bytes(), os.listdir(folder)), (b"old", ["d.npy"]))

    def test_scales_of_a_quantised_d_have_a_hash_of_their_own(self) -> None:
        def hashes(*flags: str) -> List[str]:
            said = json.loads(run(*flags, "--json").stdout)
            return [said["d_xxh3"], said.get("out_scales_xxh3", "none")]

        command = WRITERS["--out-scales"]
        first = hashes(*command)
        self.assertEqual(hashes(*command), first)
        self.assertNotEqual(hashes(*command, "--seed", "1")[1], first[1])
        self.assertNotIn("none", first)
        self.assertEqual(hashes(*GEMM)[1], "none")
        # Twice the values: the same elements of D under twice the scales.
        double = hashes(*command[:-1], "quantise_block(acc*2)")
        self.assertEqual(double[0], first[0])
        self.assertNotEqual(double[1], first[1])

    def test_two_outputs_in_one_file_are_refused(self) -> None:
        both = self.path / "d.npy"
        result = run(*WRITERS["--out-scales"], "--out", str(both), "--out-scales", str(both), "--json")
        self.assertEqual(result.returncode, 2, result)
        self.assertEqual(json.loads(result.stdout)["error"]["argument"], "--out-scales")
        self.assertEqual(self.names(), [])


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
