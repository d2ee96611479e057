"""What the commands do when all is well."""

import json
import unittest

import numpy as np
import onnx

import commands
from commands import run


class Commands(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.space = commands.Workspace()
        cls.addClassCleanup(cls.space.close)

    def succeed(self, *command):
        done = run(*command)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def json_of(self, *command):
        return json.loads(self.succeed(*command, "--json", "-"))

    def test_help_and_version(self):
        for command in ["inspect-graph", "compare-graphs", "bench-graph", "build-model"]:
            with self.subTest(command):
                text = self.succeed(command, "--help")
                self.assertIn("Examples:", text)
                self.assertIn(f"$ {command}", text)
                self.assertLess(max(map(len, text.splitlines())), 160)
                self.assertRegex(self.succeed(command, "--version"), r"^soapstone \d+\.\d+\.\d+\n$")

    def test_inspect_counts(self):
        summary = self.json_of("inspect-graph", self.space.model)
        self.assertEqual(summary["nodes"], 2)
        self.assertEqual(summary["launches"], 1)
        self.assertEqual(summary["flops"], 2 * 2 * 8 * 4 + 8)
        self.assertEqual(summary["parameters"], 32)
        self.assertEqual(summary["inputs"], [{"name": "x", "type": "f32", "shape": [2, 8]}])
        apart = self.json_of("inspect-graph", self.space.model, "--fusion", "none")
        self.assertEqual(apart["launches"], 2)

    def test_inspect_fills_open_sizes(self):
        for shape in ["batch=3", "x=3x8"]:
            summary = self.json_of("inspect-graph", self.space.open_batch, "--shape", shape)
            self.assertEqual(summary["inputs"][0]["shape"], [3, 8])

    def test_inspect_shows_what_is_opaque(self):
        text = self.succeed("inspect-graph", self.space.custom)
        self.assertIn("kept as it is", text)
        self.assertIn("Secret", text)
        opaque = self.json_of("inspect-graph", self.space.custom)["opaque_nodes"]
        self.assertEqual([node["name"] for node in opaque], ["secret"])

    def test_inspect_text(self):
        text = self.succeed("inspect-graph", self.space.model, "--text")
        self.assertIn("matmul(x, w)", text)

    def test_inspect_draws(self):
        dot, svg = self.space.path / "g.dot", self.space.path / "g.svg"
        self.succeed("inspect-graph", self.space.model, "--dot", dot, "--svg", svg)
        self.assertIn("digraph", dot.read_text())
        self.assertIn("matmul", svg.read_text())
        self.assertEqual(sorted(self.space.path.glob("*.part")), [])

    def test_compare_equal(self):
        report = self.json_of("compare-graphs", self.space.model, self.space.model, "--samples",
                              "3")
        self.assertTrue(report["equal"])
        self.assertEqual(report["outputs"][0]["name"], "y")
        self.assertEqual(report["outputs"][0]["max_abs_error"], 0)

    def test_compare_on_given_inputs(self):
        inputs = self.space.path / "inputs.npz"
        np.savez(inputs, x=np.ones((2, 8), np.float32))
        report = self.json_of("compare-graphs", self.space.model, self.space.model, "--samples",
                              "0", "--inputs", inputs)
        self.assertEqual(report["samples"], 1)

    def test_compare_tolerates_what_it_is_told_to(self):
        near = commands.linear_model(self.space.path / "near.onnx", weight_scale=1.01)
        self.assertEqual(run("compare-graphs", self.space.model, near).returncode, 6)
        self.succeed("compare-graphs", self.space.model, near, "--rtol", "0.1")

    def test_bench(self):
        report = self.json_of("bench-graph", self.space.model, "--rounds", "7", "--breakdown",
                              "--runtime", "soapstone")
        self.assertEqual(report["models"][0]["rounds"], 7)
        self.assertGreater(report["models"][0]["latency_us"], 0)
        self.assertEqual([launch["estimated"] for launch in report["breakdown"]],
                         [False] * len(report["breakdown"]))

    def test_bench_against(self):
        report = self.json_of("bench-graph", self.space.model, "--against", self.space.other,
                              "--rounds", "9")
        low, high = report["speedup_interval"]
        self.assertLessEqual(low, report["speedup"])
        self.assertLessEqual(report["speedup"], high)

    def test_costs_travel(self):
        here, there = self.space.path / "here.db", self.space.path / "there.db"
        lines = self.space.path / "costs.jsonl"
        self.succeed("bench-graph", self.space.model, "--rounds", "6", "--breakdown", "--runtime",
                     "soapstone", "--cost-db", here, "--export-costs", lines)
        entries = [json.loads(line) for line in lines.read_text().splitlines()]
        self.assertGreater(len(entries), 0)
        self.succeed("bench-graph", "--cost-db", there, "--import-costs", lines)
        again = self.space.path / "again.jsonl"
        self.succeed("bench-graph", "--cost-db", there, "--export-costs", again)
        self.assertEqual(again.read_text(), lines.read_text())

    def test_quiet_says_nothing_on_stderr(self):
        done = run("bench-graph", self.space.model, "--rounds", "6", "-q")
        self.assertEqual(done.stderr, "")

    def test_build_model(self):
        for model in json.loads(self.succeed("build-model", "--list", "--json", "-")):
            self.assertIn(model["name"], self.succeed("build-model", "--list"))
        path = self.space.path / "squeezenet.onnx"
        self.succeed("build-model", "squeezenet", "-o", path, "--set", "batch=2", "--opset", "13")
        model = onnx.load(path)
        onnx.checker.check_model(model)
        self.assertEqual(model.opset_import[0].version, 13)
        self.assertEqual(model.graph.input[0].type.tensor_type.shape.dim[0].dim_value, 2)

    def test_build_model_counts_the_parameters_of_the_sizes_that_were_set(self):
        path = self.space.path / "mlp.onnx"
        arguments = ["build-model", "mlp", "-o", path, "--set", "inputs=8", "--set", "hidden=16"]
        built = json.loads(self.succeed(*arguments, "--json", "-"))
        weights = sum(np.prod(tensor.dims) for tensor in onnx.load(path).graph.initializer)
        self.assertEqual(built["parameters"], weights)
        self.assertIn(f"mlp, {weights} parameters, {built['nodes']} nodes", self.succeed(*arguments))

    def test_build_model_is_the_same_for_a_seed(self):
        first, second, third = (self.space.path / f"{name}.onnx" for name in "abc")
        self.succeed("build-model", "squeezenet", "-o", first, "--seed", "1")
        self.succeed("build-model", "squeezenet", "-o", second, "--seed", "1")
        self.succeed("build-model", "squeezenet", "-o", third, "--seed", "2")
        self.assertEqual(first.read_bytes(), second.read_bytes())
        self.assertNotEqual(first.read_bytes(), third.read_bytes())


if __name__ == "__main__":
    unittest.main()
