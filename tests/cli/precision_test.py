"""--precision bf16 and int8: the report has the error, costs of one precision are none of another,
and what it cannot go with is refused."""

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


class Precision:
    """What the precisions have in common. A precision has a name, a largest error, and a processor
    that lacks it."""

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
        if done.returncode == 7 and self.missing in done.stderr and code == 0:
            self.skipTest(self.missing)
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout) if code == 0 else done.stderr

    @property
    def missing(self):
        return f"no {self.name} instructions"

    def rounded(self, *arguments):
        """The report of a run in which launches were rounded: as they are where that was measured to
        be faster, and other work is a reason to measure again."""
        for _ in range(5):
            report = self.command(*arguments, "--precision", self.name)
            if report["rounding"] and report["rounding"]["rounded_launches"]:
                break
            self.costs.unlink(missing_ok=True)
        else:
            self.skipTest(f"{self.name} was measured five times to be no faster: the processor "
                          "lacks fast instructions for it, or is busy")
        return report

    def check_error(self, rounding):
        """Errors of a few layers add up, as far as they are random."""
        self.assertEqual(rounding["precision"], self.name)
        self.assertGreater(rounding["rounded_launches"], 0)
        self.assertLessEqual(rounding["rounded_launches"], rounding["launches"])
        self.assertGreater(rounding["mean_error"], 1e-5)
        self.assertLessEqual(rounding["mean_error"], rounding["largest_error"])
        self.assertLess(rounding["largest_error"], self.largest_error)

    def test_bench_times_both_and_tells_the_error(self):
        report = self.rounded("bench-graph", self.model, "--time", "0.2")
        self.check_error(report["rounding"])
        self.assertTrue(f", {self.name};" in report["device"], report["device"])
        self.assertEqual([model["model"] for model in report["models"]],
                         [str(self.model), f"{self.model} in f32"])
        self.assertIn("speedup", report)

    def test_costs_have_their_precision(self):
        self.rounded("bench-graph", self.model, "--time", "0.2")
        exported = self.space.path / "costs.jsonl"
        run("bench-graph", "--cost-db", self.costs, "--export-costs", exported)
        rows = [json.loads(line) for line in exported.read_text().splitlines()]
        mark = f"{self.name} factors"
        rounded = [row for row in rows if row["implementation"].startswith(mark)]
        self.assertTrue(rounded)
        for row in rounded:
            self.assertIn(f", {self.name};", row["device"])
        # What is known in one precision says nothing about f32.
        plain = self.bench("--runtime", "soapstone", "--breakdown")
        self.assertNotIn("rounding", plain)
        self.assertNotIn(f"{self.name};", plain["device"])
        for launch in plain["breakdown"]:
            self.assertNotIn(mark, launch["kernel"])

    def test_an_optimized_model_is_checked_in_f32(self):
        report = self.rounded("optimize-graph", self.model, "--dry-run", "--effort", "1",
                              "--measure-time", "1")
        self.check_error(report["rounding"])
        self.assertEqual(report["runtime"], "soapstone")
        self.assertIn(f", {self.name};", report["costs"])
        if report["equivalence"]:
            self.assertLess(report["max_rel_error"], 1e-3)

    def test_what_it_does_not_go_with(self):
        for options in (["--runtime", "onnxruntime"], ["--device", "reference"],
                        ["--device", "cuda"]):
            self.bench("--precision", self.name, *options, code=2)
        self.command("optimize-graph", self.model, "--dry-run", "--precision", self.name,
                     "--costs", "roofline", code=2)
        message = self.bench("--precision", self.name, code=7, ONEDNN_MAX_CPU_ISA=self.lacks_it)
        self.assertIn(self.missing, message)


class Bf16Test(Precision, unittest.TestCase):
    name, largest_error, lacks_it = "bf16", 5e-2, "AVX512_CORE"


class Int8Test(Precision, unittest.TestCase):
    name, largest_error, lacks_it = "int8", 3e-1, "AVX"

    def test_tf32_is_of_gpus_alone(self):
        self.bench("--precision", "tf32", code=2)
        self.bench("--precision", "i8", code=2)


if __name__ == "__main__":
    unittest.main()
