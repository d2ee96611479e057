"""Ctrl-C and SIGTERM at random moments of every long command: each run ends soon, with exit code 130
(or 0, if all was done already), and what lies there afterward is whole, or not there at all.

    BIN_DIR=build/bin python tests/faults/interrupt_test.py 100    # instead of 16
"""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.append(str(Path(__file__).parents[1]))
import sanitizers  # noqa: E402

BIN_DIR = Path(os.environ.get("BIN_DIR", Path(__file__).parents[2] / "build" / "bin"))
RULES = Path(os.environ.get("SOURCE_DIR", Path(__file__).parents[2])) / "rules"
TIMES = int(sys.argv.pop()) if len(sys.argv) > 1 and sys.argv[-1].isdigit() else 16
LONGEST_S = sanitizers.seconds(60)  # from the signal to the end, on a machine that does other things too


def tower(path, layers=12):
    """Pairs of products that read the same, which the search has much to do with."""
    random_numbers = np.random.default_rng(0)
    nodes, weights, at = [], [], "x"
    for k in range(layers):
        for side in "ab":
            name = f"w{side}{k}"
            weights.append(numpy_helper.from_array(
                random_numbers.standard_normal((32, 32)).astype(np.float32) / 8, name))
            nodes.append(helper.make_node("MatMul", [at, name], [f"{side}{k}"]))
        nodes.append(helper.make_node("Add", [f"a{k}", f"b{k}"], [f"s{k}"]))
        nodes.append(helper.make_node("Relu", [f"s{k}"], [f"r{k}"]))
        at = f"r{k}"
    graph = helper.make_graph(
        nodes, "tower", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 32])],
        [helper.make_tensor_value_info(at, TensorProto.FLOAT, [4, 32])], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, path)


def call(*arguments, **options):
    return subprocess.run([BIN_DIR / arguments[0], *map(str, arguments[1:])],
                          capture_output=True, text=True, timeout=300, **options)


def catches(pid, number):
    """Whether the process has a handler for the signal yet: before main() it has none."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    caught = int(re.search(r"SigCgt:\s*([0-9a-f]+)", status)[1], 16)
    return bool(caught >> (number - 1) & 1)


def without_evidence(text):
    return [line for line in text.splitlines()
            if not re.match(r"\s+(proof|checked|unproved)\b", line)]


class Interrupt(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.space = tempfile.TemporaryDirectory(prefix="soapstone-interrupt-")
        cls.path = Path(cls.space.name)
        cls.model = cls.path / "tower.onnx"
        tower(cls.model)
        cls.faster, cls.proof = cls.path / "faster.onnx", cls.path / "tower.proof"
        done = call("optimize-graph", cls.model, "-o", cls.faster, "--proof", cls.proof, "--costs",
                    "roofline", "--cost-db", "none", "-q")
        assert done.returncode == 0, done.stderr
        cls.random = random.Random(1)
        cls.ends = []

    @classmethod
    def tearDownClass(cls):
        cls.space.cleanup()
        slowest = max(seconds for _, _, seconds in cls.ends)
        codes = sorted({code for _, code, _ in cls.ends})
        print(f"{len(cls.ends)} interrupts, exit codes {codes}, the slowest end took "
              f"{slowest:.1f} s")

    def interrupt(self, command, duration_s):
        """Runs the command and sends a signal at a random moment. The exit code and stderr."""
        process = subprocess.Popen([BIN_DIR / command[0], *map(str, command[1:])],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        number = self.random.choice([signal.SIGINT, signal.SIGTERM])
        while not catches(process.pid, number) and process.poll() is None:
            time.sleep(0.001)
        time.sleep(self.random.uniform(0, duration_s))
        begin = time.monotonic()
        process.send_signal(number)
        try:
            _, errors = process.communicate(timeout=LONGEST_S)
        except subprocess.TimeoutExpired:
            process.kill()
            self.fail(f"{command} does not end within {LONGEST_S} s of {number.name}")
        self.ends.append((command[0], process.returncode, time.monotonic() - begin))
        self.assertIn(process.returncode, (0, 130), f"{command}: {errors}")
        self.assertNotIn("broken invariant", errors)
        return process.returncode

    def each(self, share, make_command, check):
        """`share` of all interrupts, in a fresh folder each, over about the time that it takes."""
        duration_s = None
        for _ in range(max(2, round(TIMES * share))):
            folder = Path(tempfile.mkdtemp(dir=self.path))
            if duration_s is None:
                begin = time.monotonic()
                subprocess.run([BIN_DIR / w if k == 0 else str(w)
                                for k, w in enumerate(make_command(folder))],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300)
                duration_s = min(time.monotonic() - begin, 6)
                shutil.rmtree(folder)
                folder.mkdir()
            code = self.interrupt(make_command(folder), duration_s)
            check(folder, code)
            shutil.rmtree(folder)

    def only(self, folder, *names):
        """Nothing else lies there: no temporary file."""
        self.assertLessEqual({p.name for p in folder.iterdir()}, set(names))

    def nothing(self, folder, _code):
        self.only(folder)

    def check_models(self, folder, _code):
        self.only(folder, "out.onnx", "out.proof", "out.json", "out.trace", "search")
        if (folder / "out.onnx").exists():
            onnx.checker.check_model(onnx.load(folder / "out.onnx"))
        if (folder / "out.proof").exists():
            self.assertTrue((folder / "out.onnx").exists())
            done = call("compare-graphs", self.model, folder / "out.onnx", "--proof",
                        folder / "out.proof", "--samples", "1")
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_optimize_graph(self):
        self.each(0.3, lambda folder: [
            "optimize-graph", self.model, "-o", folder / "out.onnx", "--proof",
            folder / "out.proof", "--json", folder / "out.json", "--costs", "roofline",
            "--cost-db", "none", "--strategy", "best", "--trace", folder / "out.trace", "--resume",
            folder / "search"], self.check_models)

    def test_optimize_graph_with_measured_costs(self):
        self.each(0.1, lambda folder: [
            "optimize-graph", self.model, "-o", folder / "out.onnx", "--cost-db", "none", "--time",
            "2", "--measure-time", "2"], self.check_models)

    def test_verify_rules(self):
        self.each(0.15, lambda _: ["verify-rules", RULES / "contraction.rules"], self.nothing)

    def test_verify_rules_writes_whole_files(self):
        original = (RULES / "contraction.rules").read_text()

        def command(folder):
            shutil.copy(RULES / "contraction.rules", folder / "own.rules")
            return ["verify-rules", folder / "own.rules", "--write", "--no-second-opinion"]

        def check(folder, _):
            self.only(folder, "own.rules")
            self.assertEqual(without_evidence((folder / "own.rules").read_text()),
                             without_evidence(original))
        self.each(0.1, command, check)

    def test_mutants(self):
        self.each(0.1, lambda _: ["verify-rules", "--mutate", "200", RULES / "layout.rules"],
                  self.nothing)

    def test_generate_rules(self):
        def check(folder, _):
            self.assertEqual([p for p in folder.rglob("*") if ".tmp" in p.name], [])
            self.assertLessEqual({p.name for p in folder.iterdir()}, {"out.rules", "tiles"})
        self.each(0.1, lambda folder: [
            "generate-rules", "--ops", "2", "--preset", "taso", "--resume", folder / "tiles", "-o",
            folder / "out.rules"], check)

    def test_compare_graphs_with_a_proof(self):
        self.each(0.1, lambda _: ["compare-graphs", self.model, self.faster, "--proof",
                                  self.proof], self.nothing)

    def test_bench_graph(self):
        self.each(0.05, lambda _: ["bench-graph", self.faster, "--against", self.model, "--time",
                                   "2", "--cost-db", "none"], self.nothing)


if __name__ == "__main__":
    unittest.main()
