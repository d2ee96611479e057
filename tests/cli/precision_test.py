"""--precision bf16: the report has the error, costs of one precision are none of another, and what
it cannot go with is refused."""

import json
import os
import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from commands import Workspace, run, save


def convolutions(path):
    """Three convolutions of 64 channels, and a product behind them."""
    random = np.random.default_rng(0)
    tensors = {f"w{k}": random.standard_normal((64, 64, 3, 3)) / 24 for k in range(3)}
    tensors["m"] = random.standard_normal((64, 128)) / 8
    nodes, last = [], "x"
    for k in range(3):
        nodes.append(helper.make_node("Conv", [last, f"w{k}"], [f"c{k}"], pads=[1, 1, 1, 1]))
        nodes.append(helper.make_node("Relu", [f"c{k}"], [f"r{k}"]))
        last = f"r{k}"
    nodes += [helper.make_node("GlobalAveragePool", [last], ["p"]),
              helper.make_node("Flatten", ["p"], ["f"]),
              helper.make_node("MatMul", ["f", "m"], ["y"])]
    graph = helper.make_graph(
        nodes, "convolutions",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 64, 24, 24])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 128])],
        [numpy_helper.from_array(value.astype(np.float32), name)
         for name, value in tensors.items()])
    return save(graph, path)


class PrecisionTest(unittest.TestCase):
    def setUp(self):
        self.space = Workspace()
        self.addCleanup(self.space.close)
        self.model = convolutions(self.space.path / "model.onnx")
        self.costs = self.space.path / "costs.db"

    def bench(self, *options, code=0, **environment):
        return self.command("bench-graph", self.model, "--time", "0.2", *options, code=code,
                            **environment)

    def command(self, *arguments, code=0, **environment):
        done = run(*arguments, "--cost-db", self.costs, "--json", "-",
                   env={**os.environ, **environment})
        if done.returncode == 7 and "no bf16 instructions" in done.stderr and code == 0:
            self.skipTest("no bf16 instructions")
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout) if code == 0 else done.stderr

    def check_error(self, rounding):
        """A factor of bf16 has 8 bits; errors of a few layers add up, as far as they are random."""
        self.assertEqual(rounding["precision"], "bf16")
        self.assertGreater(rounding["rounded_launches"], 0)
        self.assertLessEqual(rounding["rounded_launches"], rounding["launches"])
        self.assertGreater(rounding["mean_error"], 1e-5)
        self.assertLessEqual(rounding["mean_error"], rounding["largest_error"])
        self.assertLess(rounding["largest_error"], 5e-2)

    def test_bench_times_both_and_tells_the_error(self):
        report = self.bench("--precision", "bf16")
        self.check_error(report["rounding"])
        self.assertIn("bf16", report["device"])
        self.assertEqual([model["model"] for model in report["models"]],
                         [str(self.model), f"{self.model} in f32"])
        self.assertIn("speedup", report)

    def test_costs_have_their_precision(self):
        self.bench("--precision", "bf16")
        exported = self.space.path / "costs.jsonl"
        run("bench-graph", "--cost-db", self.costs, "--export-costs", exported)
        rows = [json.loads(line) for line in exported.read_text().splitlines()]
        rounded = [row for row in rows if row["implementation"].startswith("bf16 factors")]
        self.assertTrue(rounded)
        for row in rounded:
            self.assertIn(", bf16;", row["device"])
        # What is known in bf16 says nothing about f32.
        plain = self.bench("--runtime", "soapstone", "--breakdown")
        self.assertNotIn("rounding", plain)
        self.assertNotIn("bf16;", plain["device"])
        for launch in plain["breakdown"]:
            self.assertNotIn("bf16 factors", launch["kernel"])

    def test_an_optimized_model_is_checked_in_f32(self):
        report = self.command("optimize-graph", self.model, "--dry-run", "--effort", "1",
                              "--measure-time", "1", "--precision", "bf16")
        self.check_error(report["rounding"])
        self.assertEqual(report["runtime"], "soapstone")
        self.assertIn(", bf16;", report["costs"])
        if report["equivalence"]:
            self.assertLess(report["max_rel_error"], 1e-3)

    def test_what_it_does_not_go_with(self):
        for options in (["--runtime", "onnxruntime"], ["--device", "reference"],
                        ["--device", "cuda"]):
            self.bench("--precision", "bf16", *options, code=2)
        self.bench("--precision", "tf32", code=2)
        self.command("optimize-graph", self.model, "--dry-run", "--precision", "bf16", "--costs",
                     "roofline", code=2)
        message = self.bench("--precision", "bf16", code=7, ONEDNN_MAX_CPU_ISA="AVX512_CORE")
        self.assertIn("no bf16 instructions", message)


if __name__ == "__main__":
    unittest.main()
