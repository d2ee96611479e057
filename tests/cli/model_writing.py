"""Small models, and what optimize-graph makes of them, compared by running both."""

import json
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from commands import Workspace, run

try:
    import onnxruntime
except ImportError:
    onnxruntime = None

RANDOM = np.random.default_rng(3)


def real(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def model(path, nodes, inputs, outputs, weights, opset):
    def value(name, shape):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "g", [value(*each) for each in inputs.items()],
                              [value(*each) for each in outputs.items()],
                              [numpy_helper.from_array(v, k) for k, v in weights.items()])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)],
                             ir_version=min(13, max(7, opset - 12)))
    onnx.checker.check_model(made, full_check=True)
    onnx.save(made, path)
    return path


def results(path, feeds):
    if not onnxruntime:
        return ReferenceEvaluator(onnx.load(path)).run(None, feeds)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(path, options).run(None, feeds)


def dims(value):
    return [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]


def linear_layers(weights):
    """The sum of two products with the same left side, which a rule makes one product."""
    weights["a"], weights["b"] = real(8, 16), real(8, 16)
    return [helper.make_node("MatMul", ["x", "a"], ["p1"]),
            helper.make_node("MatMul", ["x", "b"], ["p2"]),
            helper.make_node("Add", ["p1", "p2"], ["p"])]


class ModelWritingTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.space = Workspace()
        cls.addClassCleanup(cls.space.close)

    def optimize(self, path, *options, outcome="improved"):
        output, report = path.with_suffix(".opt.onnx"), path.with_suffix(".json")
        done = run("optimize-graph", path, "-o", output, "--costs", "roofline", "--time", "0",
                   "--budget", "200", "--json", report, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(report.read_text())
        self.assertEqual(report["outcome"], outcome)
        return onnx.load(output), output, report

    def assert_same(self, a, b, feeds):
        for left, right in zip(results(a, feeds), results(b, feeds), strict=True):
            np.testing.assert_allclose(right, left, rtol=1e-4, atol=1e-4)
