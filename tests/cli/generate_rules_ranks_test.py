"""generate-rules under mpirun: the file of one process for any number of ranks, a clean end when a
rank dies, and --resume after it."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from commands import BIN_DIR, DEADLINE_S, RANKED, process_of_rank, run, wait_for

WORDS = ["--ops", "3", "--operators", "relu,matmul"]


def start(ranks, *arguments):
    command = ["mpirun", "-n", str(ranks), str(BIN_DIR / "generate-rules"), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, **RANKED})


def place_in_level(tile):
    """The order in which a level's tiles are dealt to the ranks."""
    _, drivers, first = tile.stem.split("-")
    return -int(drivers), int(first)


class GenerateRulesOnRanks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="soapstone-")
        cls.addClassCleanup(folder.cleanup)
        cls.path = Path(folder.name)
        cls.all_tiles = cls.path / "all"
        cls.whole = cls.path / "whole.rules"
        done = run("generate-rules", "-o", cls.whole, "--resume", cls.all_tiles, *WORDS)
        assert done.returncode == 0, done.stderr
        level = sorted(cls.all_tiles.glob("3-*.tile"), key=place_in_level)
        assert len(level) > 2, level
        cls.names = [tile.name for tile in level[:3]]  # tile k is rank k's

    def setUp(self):
        self.tiles = self.path / self.id()
        self.out = self.path / f"{self.id()}.rules"

    def generate(self, ranks, *arguments, code=0):
        """Runs to the end, with this exit code; what it said on stdout and stderr."""
        process = start(ranks, "-o", self.out, *arguments)
        said = process.communicate(timeout=DEADLINE_S)
        self.assertEqual(process.returncode, code, said)
        return said

    def assert_same_file(self):
        self.assertEqual(self.out.read_text(), self.whole.read_text())

    def test_the_same_for_any_number_of_ranks(self):
        for ranks in 1, 2, 3:
            stdout, _ = self.generate(ranks, *WORDS)
            self.assert_same_file()
            self.assertEqual(stdout.count("rules written"), 1, "the first rank alone speaks")
            self.out.unlink()

    def test_the_report_is_written_once(self):
        stdout, stderr = self.generate(2, *WORDS, "--json", "-")
        self.assertEqual(len(json.loads(stdout)["levels"]), 3)
        self.assertEqual(stderr.count("2 operators"), 1)

    def start_and_hold(self, rank):
        """A run of two ranks whose given rank is held in the middle of the last level."""
        self.tiles.mkdir()
        held = self.tiles / self.names[rank]
        os.mkfifo(held)  # nobody ever writes what the rank wants to read
        process = start(2, "-o", self.out, "--resume", self.tiles, *WORDS)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        wait_for((self.tiles / self.names[1 - rank]).exists)
        return process, held

    def end_and_go_on(self, process, held):
        """What was said at the end; then the same command finishes the work."""
        begin = time.monotonic()
        _, stderr = process.communicate(timeout=DEADLINE_S)
        self.assertLess(time.monotonic() - begin, 20)
        self.assertNotEqual(process.returncode, 0)
        self.assertFalse(self.out.exists())
        held.unlink()
        finished = len(list(self.tiles.glob("*.tile")))
        self.assertGreater(finished, 1)
        self.assertLess(finished, len(list(self.all_tiles.glob("*.tile"))))
        self.generate(3, "--resume", self.tiles, *WORDS)
        self.assert_same_file()
        return stderr

    def test_a_killed_rank_ends_the_run_and_it_goes_on(self):
        process, held = self.start_and_hold(1)
        os.kill(process_of_rank(process, 1), signal.SIGKILL)
        stderr = self.end_and_go_on(process, held)
        self.assertIn("error: mpirun ends the run: it was interrupted, or another rank has died",
                      stderr)
        self.assertIn(f"hint: the same command goes on from '{self.tiles}'", stderr)
        self.assertIn("signal 9", stderr)

    def test_a_killed_first_rank_ends_the_run_and_it_goes_on(self):
        process, held = self.start_and_hold(0)
        os.kill(process_of_rank(process, 0), signal.SIGKILL)
        self.assertIn("signal 9", self.end_and_go_on(process, held))

    def test_ctrl_c_ends_the_run_and_it_goes_on(self):
        process, held = self.start_and_hold(1)
        process.send_signal(signal.SIGINT)
        self.assertIn("it was interrupted", self.end_and_go_on(process, held))

    def test_an_error_of_one_rank_ends_all_with_its_code(self):
        blocked = self.tiles / self.names[1]  # where rank 1 wants to write
        (blocked / "file").mkdir(parents=True)
        _, stderr = self.generate(2, "--resume", self.tiles, *WORDS, code=3)
        self.assertEqual(stderr.count("error:"), 1, stderr)
        self.assertIn(f"error: rank 1: {blocked}: cannot be written", stderr)

    def test_damaged_tiles_are_made_again(self):
        shutil.copytree(self.all_tiles, self.tiles)
        for name in self.names[:2]:
            data = bytearray((self.tiles / name).read_bytes())
            data[len(data) // 2] ^= 1
            (self.tiles / name).write_bytes(data)
        (self.tiles / self.names[2]).write_bytes(b"")
        self.generate(2, "--resume", self.tiles, *WORDS)
        self.assert_same_file()
        for name in self.names:
            self.assertEqual((self.tiles / name).read_bytes(),
                             (self.all_tiles / name).read_bytes())

    def test_tiles_of_another_run_are_refused(self):
        _, stderr = self.generate(2, "--resume", self.all_tiles, *WORDS, "--seed", "2", code=3)
        self.assertEqual(stderr.count("holds tiles of a run with other options"), 1, stderr)
        self.assertFalse(self.out.exists())

    def test_wrong_usage_is_said_once(self):
        for words in [["--frobnicate"], ["--preset", "tasso"]]:
            _, stderr = self.generate(2, *words, code=2)
            self.assertEqual(stderr.count("error:"), 1, stderr)


if __name__ == "__main__":
    unittest.main()
