"""SIGINT and SIGTERM at random moments of commands on large models: each ends within a few seconds of
processor time of its own, whatever it is doing. Prints the slowest end of each kind of model. With more
interrupts batches are larger, too.

    BIN_DIR=build/bin python tests/faults/stop_soon_test.py 10    # interrupts of each, instead of 1
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import large_models

sys.path.append(str(Path(__file__).parents[1]))
import sanitizers  # noqa: E402

BIN_DIR = Path(os.environ.get("BIN_DIR", Path(__file__).parents[2] / "build" / "bin"))
RULES = Path(os.environ.get("SOURCE_DIR", Path(__file__).parents[2])) / "rules"
TIMES = int(sys.argv.pop()) if len(sys.argv) > 1 and sys.argv[-1].isdigit() else 1
# On one sample at least the result is checked, however long that takes.
ROWS = 400_000 if TIMES == 1 else 1_000_000
MOST_CPU_S = sanitizers.seconds(3)
HANGS_S = sanitizers.seconds(240)
NODES = {"chain": 2000, "batch": 12, "dense_batch": 12, "wide_batch": 8, "rare_batch": 9, "mlp": 400,
         "towers": 400, "joined": 400, "attention": 400, "convolutions": 300, "images": 6,
         "weights": 16, "arithmetic": 600, "moved": 400}


def cpu_s(pid):
    """Of all threads of the process, without its children. None: it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    if fields[0] == "Z":
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class StopSoon(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.space = tempfile.TemporaryDirectory(prefix="soapstone-stop-")
        cls.path = Path(cls.space.name)
        cls.random = random.Random(5)
        cls.ends = {}

    @classmethod
    def tearDownClass(cls):
        cls.space.cleanup()
        for what, ends in cls.ends.items():
            cpu, wall, after = max(ends)
            print(f"{what:28} {len(ends):3} interrupts, slowest end {cpu:5.2f} CPU s, {wall:6.2f} s "
                  f"(after {after:.1f} CPU s)")

    def model(self, kind):
        path = self.path / f"{kind}.onnx"
        if not path.exists():
            rows = {"rows": ROWS} if kind.endswith("batch") else {}
            large_models.KINDS[kind](NODES[kind], path, **rows)
        return path

    def interrupt(self, what, command, latest_s):
        """Sends a signal after a random processor time, if the command takes so long."""
        after = self.random.uniform(0.1, latest_s)
        with open(self.path / "errors", "w+") as errors:
            process = subprocess.Popen([BIN_DIR / command[0], *map(str, command[1:])],
                                       stdout=subprocess.DEVNULL, stderr=errors)
            while (used := cpu_s(process.pid)) is not None and used < after:
                time.sleep(0.005)
            begin = time.monotonic()
            process.send_signal(self.random.choice([signal.SIGINT, signal.SIGTERM]))
            last = used
            while (now := cpu_s(process.pid)) is not None:
                last = now
                if time.monotonic() - begin > HANGS_S:
                    process.kill()
                    self.fail(f"{command} does not end within {HANGS_S} s of a signal")
                time.sleep(0.005)
            code = process.wait()
            errors.seek(0)
            said = errors.read()
        if used is None:
            self.assertEqual(code, 0, said)  # it was done before
            return
        # Before the command has its handlers the signal itself ends it.
        self.assertIn(code, (0, 130, -signal.SIGINT, -signal.SIGTERM), said)
        self.ends.setdefault(what, []).append((last - used, time.monotonic() - begin, used))
        self.assertLessEqual(last - used, MOST_CPU_S, f"{command} after {used} s:\n{said}")

    def each(self, commands, latest_s=4):
        before = sum(map(len, self.ends.values()))
        for what, command in commands:
            for turn in range(TIMES):
                with self.subTest(what=what, turn=turn):
                    self.interrupt(what, command, latest_s)
        self.assertGreater(sum(map(len, self.ends.values())), before, "all ended before the signal")

    def optimize(self, kind, *options):
        return (f"optimize {kind}", ["optimize-graph", self.model(kind), "-o",
                                     self.path / "out.onnx", "--cost-db", "none", *options])

    def test_batches_with_measured_costs(self):
        self.each(self.optimize(kind, "--runtime", "soapstone", "--python", sys.executable)
                  for kind in ("batch", "dense_batch", "wide_batch", "rare_batch", "images"))

    def test_batches_without_a_clock(self):
        self.each((self.optimize(kind, "--costs", "roofline", "--judge", "none")
                   for kind in ("wide_batch", "rare_batch")), latest_s=1)

    def test_many_nodes(self):
        self.each(self.optimize(kind, "--costs", "roofline", "--judge", "none")
                  for kind in ("chain", "mlp", "towers", "joined", "attention", "convolutions",
                               "weights", "arithmetic", "moved"))

    def test_other_commands(self):
        wide, rare = self.model("wide_batch"), self.model("rare_batch")
        self.each([
            ("compare wide_batch", ["compare-graphs", wide, wide, "--judge", "none"]),
            ("compare rare_batch", ["compare-graphs", rare, rare, "--judge", "none"]),
            ("bench rare_batch", ["bench-graph", rare, "--cost-db", "none"]),
            ("plan towers", ["plan-graph", self.model("towers"), "--topology",
                             "dgx-a100x1"]),
            ("verify", ["verify-rules", RULES / "convolution.rules"])])


if __name__ == "__main__":
    unittest.main()
