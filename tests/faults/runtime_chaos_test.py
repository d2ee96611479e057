"""Runtimes whose workers are killed at random while changes are tried in them: nothing hangs, and the
file is the one that comes out without kills, or the report says what could not be measured."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

SOURCE_DIR = Path(os.environ.get("SOURCE_DIR", Path(__file__).parents[2]))
BIN_DIR = Path(os.environ.get("BIN_DIR", SOURCE_DIR / "build" / "bin"))
SUPPORT = SOURCE_DIR / "tests" / "support"
KILLS = 100


def parallel_matmuls(path):
    """Six blocks of different sizes in a row, each with three matmuls that one can do."""
    chance = np.random.default_rng(3)
    sizes, nodes, weights, x = [8, 16, 24, 32, 40, 48, 56], [], [], "x"
    for block, (rows, columns) in enumerate(zip(sizes, sizes[1:])):
        parts = []
        for side in range(3):
            name = f"b{block}.{side}"
            values = chance.standard_normal((rows, columns)).astype(np.float32) / rows
            weights.append(numpy_helper.from_array(values, f"{name}.w"))
            nodes.append(helper.make_node("MatMul", [x, f"{name}.w"], [f"{name}.m"]))
            nodes.append(helper.make_node("Relu", [f"{name}.m"], [f"{name}.r"]))
            parts.append(f"{name}.r")
        nodes.append(helper.make_node("Add", parts[:2], [f"b{block}.s"]))
        x = "y" if block == len(sizes) - 2 else f"b{block}.y"
        nodes.append(helper.make_node("Add", [f"b{block}.s", parts[2]], [x]))
    graph = helper.make_graph(
        nodes, "blocks", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, sizes[0]])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, sizes[-1]])], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, path)


def results(path, x):
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(
        None, {"x": x})[0]


class Chaos(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.space = tempfile.TemporaryDirectory(prefix="soapstone-chaos-")
        cls.path = Path(cls.space.name)
        cls.model = cls.path / "model.onnx"
        parallel_matmuls(cls.model)

    @classmethod
    def tearDownClass(cls):
        cls.space.cleanup()

    def command(self, runtime, *arguments):
        return [BIN_DIR / "optimize-graph", self.model, "-o", self.path / "out.onnx", "--costs",
                "roofline", "--only-rules", SUPPORT / "merge_matmuls.rules", "--allow-unproved",
                "--fusion", "none", "--alpha", "2", "--time", "0", "--runtime", runtime, "--json",
                self.path / "report.json", "-q", *arguments]

    def optimize(self, fault):
        """The file that comes out, the report, and how many workers were needed."""
        counter = self.path / "processes"
        counter.unlink(missing_ok=True)
        worker = f"command:python3 -I -S '{SUPPORT / 'counting_worker.py'}' '{counter}' {fault}"
        done = subprocess.run(self.command(worker, "--judge", "none"), capture_output=True,
                              text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return ((self.path / "out.onnx").read_bytes(),
                json.loads((self.path / "report.json").read_text()), int(counter.read_text()))

    def test_the_same_file_as_without_kills(self):
        expected, report, processes = self.optimize("none")
        self.assertEqual(processes, 1)
        verdicts = [trial["verdict"] for trial in report["trials"]]
        self.assertIn("kept", verdicts)
        self.assertIn("left out", verdicts)
        kills = 0
        for seed in range(KILLS):
            data, again, processes = self.optimize(f"chaos:{seed}")
            kills += processes - 1
            self.assertGreater(processes, 1)
            self.assertEqual(data, expected)
            self.assertEqual([trial["verdict"] for trial in again["trials"]], verdicts)
            if kills >= KILLS:
                break
        self.assertGreaterEqual(kills, KILLS)

    def test_a_worker_that_hangs_once(self):
        expected, _, _ = self.optimize("none")
        data, report, processes = self.optimize("once:time:hang:2")
        self.assertEqual(processes, 2)
        self.assertEqual(data, expected)

    def test_a_worker_that_breaks_for_good_is_given_up(self):
        data, report, processes = self.optimize("time:crash:1")
        self.assertGreater(processes, 6)
        self.assertEqual(data, self.model.read_bytes(), "nothing was measured, so nothing is changed")
        self.assertTrue(report["trials"])
        for trial in report["trials"]:
            self.assertEqual(trial["verdict"], "not measurable")
            self.assertIn("signal 11", trial["note"])
        self.assertIn("was given up", " ".join(report["notes"]))

    def test_what_was_kept_before_is_the_result(self):
        data, report, _ = self.optimize("time:crash:4")
        self.assertIn("kept", [trial["verdict"] for trial in report["trials"]])
        self.assertNotEqual(data, self.model.read_bytes())
        self.assertIsNone(report["speedup"])
        self.assertIn("was given up", " ".join(report["notes"]))

    @unittest.skipUnless(shutil.which("pgrep"), "pgrep finds the workers")
    def test_onnx_runtime_killed_from_outside(self):
        """Times decide what is kept, so the file may be another one; its results may not."""
        chance, x = random.Random(7), np.random.default_rng(1).standard_normal((1, 8))
        x = x.astype(np.float32)
        expected, kills = results(self.model, x), 0
        for _ in range(4):
            process = subprocess.Popen(
                self.command("onnxruntime", "--python", sys.executable, "--measure-time", "2",
                             "--judge", "onnxruntime"), stderr=subprocess.PIPE, text=True)
            while process.poll() is None:
                time.sleep(chance.uniform(0.1, 0.9))
                found = subprocess.run(["pgrep", "-P", str(process.pid), "-f", "_worker.py"],
                                       capture_output=True, text=True).stdout.split()
                for worker in found:
                    os.kill(int(worker), signal.SIGKILL)
                    kills += 1
            errors = process.stderr.read()
            process.stderr.close()
            self.assertIn(process.returncode, (0, 7), errors)
            if process.returncode == 0:
                np.testing.assert_allclose(results(self.path / "out.onnx", x), expected, rtol=1e-4,
                                           atol=1e-6)
            else:
                self.assertIn("signal 9", errors)
        self.assertGreater(kills, 3)


if __name__ == "__main__":
    unittest.main()
