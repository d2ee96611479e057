"""Inputs with a default value stay inputs: a result may be given another value, as the model may."""

import json
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from commands import Workspace, run

try:
    import onnxruntime
except ImportError:
    onnxruntime = None

RANDOM = np.random.default_rng(5)


def real(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def results(path, feeds):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(path, options).run(None, feeds)


def inputs_of(path):
    return [value.name for value in onnx.load(path).graph.input]


@unittest.skipUnless(onnxruntime, "values are given in ONNX Runtime")
class DefaultInputs(unittest.TestCase):
    def setUp(self):
        self.space = Workspace()
        self.addCleanup(self.space.close)
        self.path = self.space.path / "model.onnx"
        self.output = self.space.path / "out.onnx"

    def model(self, defaults, nodes, shape=(4, 8), ir_version=8):
        """Two products that become one, then `nodes`, which read p."""
        weights = {"a": real(8, 16), "b": real(8, 16)}
        nodes = [helper.make_node("MatMul", ["x", "a"], ["p1"]),
                 helper.make_node("MatMul", ["x", "b"], ["p2"]),
                 helper.make_node("Add", ["p1", "p2"], ["p"]), *nodes]
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
        inputs += [helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
            for name, value in defaults.items()]
        graph = helper.make_graph(
            nodes, "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            [numpy_helper.from_array(v, k) for k, v in {**weights, **defaults}.items()])
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                                 ir_version=ir_version)
        onnx.save(made, self.path)
        return weights

    def optimize(self, *options):
        done = run("optimize-graph", self.path, "-o", self.output, "--costs", "roofline", "--time",
                   "0", "--budget", "200", "--json", self.space.path / "report.json", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads((self.space.path / "report.json").read_text())
        self.assertEqual(report["outcome"], "improved")
        onnx.checker.check_model(onnx.load(self.output), full_check=True)
        nodes = [node.op_type for node in onnx.load(self.output).graph.node]
        self.assertEqual(nodes.count("MatMul"), 1, nodes)
        return report, done

    def assert_same(self, feeds):
        for left, right in zip(results(self.path, feeds), results(self.output, feeds), strict=True):
            np.testing.assert_allclose(right, left, rtol=1e-4, atol=1e-4)

    def test_they_stay_and_keep_their_default(self):
        self.model({"scale": real(16), "shift": real(4, 16)},
                   [helper.make_node("Mul", ["p", "scale"], ["s"]),
                    helper.make_node("Add", ["s", "shift"], ["y"])])
        report, _ = self.optimize()
        self.assertEqual(inputs_of(self.output), ["x", "scale", "shift"])
        self.assertTrue(any("--fold-default-inputs" in note for note in report["notes"]))
        x = real(4, 8)
        for feeds in ({}, {"scale": real(16)}, {"shift": real(4, 16)},
                      {"scale": real(16), "shift": real(4, 16)}):
            self.assert_same({"x": x, **feeds})
        self.assertTrue(np.any(results(self.output, {"x": x})[0] !=
                               results(self.output, {"x": x, "scale": real(16)})[0]))
        compared = run("compare-graphs", self.path, self.output)
        self.assertEqual(compared.returncode, 0, compared.stderr)

    def test_a_default_is_not_what_a_rewrite_goes_by(self):
        """A factor of 1 and an offset of 0 would vanish, and so would two factors be one."""
        self.model({"one": np.ones(16, np.float32), "zero": np.zeros(16, np.float32)},
                   [helper.make_node("Mul", ["p", "one"], ["s"]),
                    helper.make_node("Add", ["s", "zero"], ["y"])])
        self.optimize()
        for feeds in ({}, {"one": real(16), "zero": real(16)}):
            self.assert_same({"x": real(4, 8), **feeds})
        self.optimize("--fold-default-inputs")
        self.assertEqual(inputs_of(self.output), ["x"])
        self.assertEqual([node.op_type for node in onnx.load(self.output).graph.node], ["MatMul"])
        self.assert_same({"x": real(4, 8)})
        for options, code in (([], 3), (["--fold-default-inputs"], 0)):
            compared = run("compare-graphs", self.path, self.output, *options)
            self.assertEqual(compared.returncode, code, compared.stderr)

    def test_open_sizes_and_a_runtime_of_deployment(self):
        self.model({"scale": real(16)}, [helper.make_node("Mul", ["p", "scale"], ["y"])],
                   shape=("n", 8))
        done = run("optimize-graph", self.path, "-o", self.output, "--shape", "n=64", "--effort", "1",
                   "--measure-time", "1", "--cost-db", "none", "--runtime", "onnxruntime", "--json",
                   "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIsNotNone(json.loads(done.stdout)["runtime"])
        self.assertEqual(inputs_of(self.output), ["x", "scale"])
        for n in (64, 3):
            for feeds in ({}, {"scale": real(16)}):
                self.assert_same({"x": real(n, 8), **feeds})

    def test_sizes_make_a_constant_of_one(self):
        self.model({"shape": np.array([16, 4], np.int64), "scale": real(16, 4)},
                   [helper.make_node("Reshape", ["p", "shape"], ["r"]),
                    helper.make_node("Mul", ["r", "scale"], ["y"])])
        _, done = self.optimize()
        self.assertIn("inputs whose default value decides on sizes", done.stderr)
        self.assertEqual(inputs_of(self.output), ["x", "scale"])
        for feeds in ({}, {"scale": real(16, 4)}):
            self.assert_same({"x": real(4, 8), **feeds})

    def test_inputs_of_ones_own_may_leave_them_out(self):
        self.model({"scale": real(16)}, [helper.make_node("Mul", ["p", "scale"], ["y"])])
        arrays = self.space.path / "inputs.npz"
        np.savez(arrays, x=real(4, 8))
        self.optimize("--inputs", arrays)
        np.savez(arrays, x=real(4, 8), scale=real(16))
        self.optimize("--inputs", arrays)

    def test_before_version_4_weights_were_inputs(self):
        self.model({"scale": real(16)}, [helper.make_node("Mul", ["p", "scale"], ["y"])],
                   ir_version=3)
        report, done = self.optimize()
        self.assertNotIn("default", done.stderr)
        self.assertFalse(any("default" in note for note in report["notes"]))


if __name__ == "__main__":
    unittest.main()
