"""What lies there after a crash: kill -9 at random moments, a disk that is full, memory that runs
out, two processes on one cost database. Always the old file, or the new one, or none."""

import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import onnx

sys.path.append(str(Path(__file__).parents[1]))
from sanitizers import SANITIZED  # noqa: E402

BIN_DIR = Path(os.environ.get("BIN_DIR", Path(__file__).parents[2] / "build" / "bin"))
RULES = Path(os.environ.get("SOURCE_DIR", Path(__file__).parents[2])) / "rules"
UNAVAILABLE = 7


def start(*arguments, **options):
    return subprocess.Popen([BIN_DIR / arguments[0], *map(str, arguments[1:])],
                            stdout=options.pop("stdout", subprocess.DEVNULL),
                            stderr=subprocess.PIPE, text=True, **options)


def call(*arguments, **options):
    process = start(*arguments, **options)
    _, errors = process.communicate(timeout=300)
    return process.returncode, errors


def small_files(size):
    """The largest size that a file may get, as on a disk that is full then."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


class Crash(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.space = tempfile.TemporaryDirectory(prefix="soapstone-crash-")
        cls.path = Path(cls.space.name)
        cls.model = cls.path / "model.onnx"
        code, errors = call("build-model", "squeezenet", "--set", "image=64", "-o", cls.model, "-q")
        assert code == 0, errors

    @classmethod
    def tearDownClass(cls):
        cls.space.cleanup()

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(dir=self.path))
        self.out = self.folder / "out.onnx"
        self.optimize = ["optimize-graph", self.model, "-o", self.out, "--costs", "roofline",
                         "--cost-db", "none", "--verify", "off", "--effort", "2", "-q"]

    def names(self):
        return {p.name for p in self.folder.iterdir()}

    def test_kill_leaves_the_old_file_or_the_new_one(self):
        begin = time.monotonic()
        self.assertEqual(call(*self.optimize)[0], 0)
        duration_s = time.monotonic() - begin
        new = self.out.read_bytes()
        chance = random.Random(2)
        for _ in range(12):
            self.out.write_bytes(b"old")
            process = start(*self.optimize)
            time.sleep(chance.uniform(0.3, 1.05) * duration_s)
            process.kill()
            process.communicate()
            self.assertIn(self.out.read_bytes(), (b"old", new))
            self.assertEqual(self.names(), {"out.onnx"})

    def test_kill_leaves_the_old_rules_or_the_new_ones(self):
        rules = self.folder / "own.rules"
        text = (RULES / "modulation.rules").read_text()
        old = "\n".join(line for line in text.splitlines()
                        if not line.strip().startswith("proof")) + "\n"
        command = ["verify-rules", rules, "--write", "--no-second-opinion", "-q"]
        rules.write_text(old)
        begin = time.monotonic()
        self.assertEqual(call(*command)[0], 0)
        duration_s, new = time.monotonic() - begin, rules.read_text()
        self.assertNotEqual(old, new)
        chance = random.Random(3)
        for _ in range(6):
            rules.write_text(old)
            process = start(*command)
            time.sleep(chance.uniform(0.8, 1.1) * duration_s)
            process.kill()
            process.communicate()
            self.assertIn(rules.read_text(), (old, new))
            self.assertEqual(self.names(), {"own.rules"})

    def test_a_full_disk_is_said_and_leaves_nothing(self):
        cases = [
            (self.optimize, "out.onnx"),
            (["build-model", "squeezenet", "-o", self.out, "-q"], "out.onnx"),
            (["inspect-graph", self.model, "--json", self.folder / "out.json", "-q"], "out.json"),
            (["inspect-graph", self.model, "--dot", self.folder / "out.dot", "-q"], "out.dot"),
            (["verify-rules", RULES / "modulation.rules", "--json", self.folder / "v.json", "-q"],
             "v.json")]
        for command, name in cases:
            code, errors = call(*command, preexec_fn=small_files(600))
            self.assertEqual(code, UNAVAILABLE, f"{command}: {errors}")
            self.assertIn(name, errors)
            self.assertIn("writing failed: File too large", errors)
            self.assertEqual(self.names(), set())

    def test_a_full_disk_keeps_what_was_there(self):
        self.out.write_bytes(b"old")
        code, errors = call(*self.optimize, preexec_fn=small_files(600))
        self.assertEqual(code, UNAVAILABLE, errors)
        self.assertEqual(self.out.read_bytes(), b"old")

    def test_a_trace_on_a_full_disk_has_whole_lines(self):
        trace = self.folder / "run.trace"
        code, errors = call(*self.optimize, "--dry-run", "--trace", trace,
                            preexec_fn=small_files(1500))
        self.assertEqual(code, UNAVAILABLE, errors)
        lines = trace.read_text().splitlines(keepends=True)
        self.assertGreater(len(lines), 0)
        for line in lines:
            self.assertTrue(line.endswith("\n"))
            json.loads(line)

    def test_a_device_that_is_full(self):
        code, errors = call("inspect-graph", self.model, "--json", "/dev/full", "-q")
        self.assertEqual(code, UNAVAILABLE, errors)
        self.assertIn("No space left on device", errors)
        with open("/dev/full", "w") as full:
            code, errors = call("inspect-graph", self.model, "--text", "-q", stdout=full)
        self.assertEqual(code, UNAVAILABLE, errors)
        self.assertIn("cannot write to standard output", errors)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("mount"), "only root mounts a tmpfs")
    def test_a_small_file_system(self):
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk],
                                 capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("this machine lets nobody mount")
        try:
            code, errors = call("build-model", "squeezenet", "-o", disk / "out.onnx", "-q")
            self.assertEqual(code, UNAVAILABLE, errors)
            self.assertIn("No space left on device", errors)
            self.assertEqual(list(disk.iterdir()), [])
            # A report that fits is written.
            code, errors = call("inspect-graph", self.model, "--json", disk / "out.json", "-q")
            self.assertEqual(code, 0, errors)
        finally:
            subprocess.run(["umount", disk], check=True)

    @unittest.skipIf(SANITIZED, "sanitizers work within no limit on memory")
    def test_lack_of_memory_says_what_was_being_done(self):
        code, errors = call(*self.optimize, "--max-memory", "0.03")
        self.assertEqual(code, UNAVAILABLE, errors)
        self.assertRegex(errors, "out of memory while (reading|simplifying|searching|writing)")
        self.assertIn("--max-memory", errors)
        self.assertEqual(self.names(), set())
        self.assertEqual(call(*self.optimize, "--max-memory", "2")[0], 0)

    def test_two_processes_share_a_cost_database(self):
        database, chance = self.folder / "costs.db", random.Random(4)

        def one(k):
            return start("optimize-graph", self.model, "-o", self.folder / f"{k}.onnx", "--cost-db",
                         database, "--time", "1", "--runtime", "soapstone", "-q")
        for _ in range(2):
            pair = [one(0), one(1)]
            time.sleep(chance.uniform(0.5, 4))
            pair[0].kill()
            pair[0].communicate()
            _, errors = pair[1].communicate(timeout=300)
            self.assertEqual(pair[1].returncode, 0, errors)
        lines = self.folder / "costs.jsonl"
        code, errors = call("bench-graph", "--export-costs", lines, "--cost-db", database, "-q")
        self.assertEqual(code, 0, errors)
        costs = [json.loads(line) for line in lines.read_text().splitlines()]
        self.assertGreater(len(costs), 5)
        self.assertTrue(all(cost["cost_us"] > 0 for cost in costs))
        onnx.checker.check_model(onnx.load(self.folder / "1.onnx"))


if __name__ == "__main__":
    unittest.main()
