"""Models whose meaning depends on range, NaN or index ranges: optimized, then run by onnxruntime.

Each model keeps its answers on ordinary and on extreme inputs: what is finite stays finite, a NaN
stays a NaN, an index out of range stays an error.
"""

import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

sys.path.append(str(Path(__file__).parents[1]))
import networks

# Nothing else looks at the result, and takes out what is wrong, before it is compared here.
BUDGET = ["--costs", "roofline", "--budget", 200, "--time", 0, "--verify", "off", "--judge", "none"]

SCORES = [
    np.array([[0, 1, 2, 3], [-1000, 1000, 0, -1000], [-np.inf, 1, 2, -np.inf]], np.float32),
    np.array([[1e38, -1e38, 0, 1], [-104, 0, -160, -90], [88, 89, 90, 1e-40]], np.float32),
    np.array([[np.nan, 1, 2, 3], [np.inf, 1, 2, 3], [-0.0, 0, -0.0, 0]], np.float32),
]
LABELS = np.array([3, 0, 1], np.int64)

# Name, opset, body.
MODELS = [
    ("log_softmax", 17, "(float[3,4] x) => (float[3,4] y) { y = LogSoftmax<axis = 1>(x) }"),
    ("log_softmax_columns", 17,
     "(float[3,4] x) => (float[3,4] y) { y = LogSoftmax<axis = 0>(x) }"),
    ("log_softmax_flat", 12, "(float[3,4] x) => (float[3,4] y) { y = LogSoftmax<axis = 0>(x) }"),
    ("entropy", 17,
     "(float[3,4] x) => (float[3] h, float[3,4] y) <int64[1] a = {1}> { y = LogSoftmax(x)"
     " p = Softmax(x) q = Mul(p, y) s = ReduceSum<keepdims = 0>(q, a) h = Neg(s) }"),
    ("log_sum_exp", 17,
     "(float[3,4] x) => (float[3,1] y, float[4] z) { y = ReduceLogSumExp<axes = [1]>(x)"
     " z = ReduceLogSumExp<axes = [0], keepdims = 0>(x) }"),
    ("softplus", 17,
     "(float[3,4] x) => (float[3,4] y, float[3,4] z) { y = Softplus(x) t = Tanh(y)"
     " z = Mul(x, t) }"),
    ("compare", 17,
     "(float[3,4] x) => (bool[3,4] a, bool[3,4] b, bool[3,4] c, bool[3,4] d) <float one = {1}> {"
     " a = LessOrEqual(x, one) b = GreaterOrEqual(x, one) c = Less(x, one) d = Greater(x, one) }"),
    ("bounds", 17,
     "(float[3,4] x) => (float[3,4] a, float[3,4] b, float[3,4] c, float[3,4] d)"
     " <float one = {1}, float six = {6}> { a = Max(x, one) b = Min(one, x) c = Clip(x, one, six)"
     " d = Relu(x) }"),
    ("cross_entropy", 17,
     "(float[3,4] x, int64[3] t) => (float[3] y, float[3,4] p) {"
     " y, p = SoftmaxCrossEntropyLoss<reduction = \"none\">(x, t) }"),
    ("weighted_cross_entropy", 13,
     "(float[3,4] x, int64[3] t) => (float y) <float[4] w = {1, 2, 0.5, 4}> {"
     " y = SoftmaxCrossEntropyLoss<ignore_index = 3>(x, t, w) }"),
    ("likelihood", 17,
     "(float[3,4] x, int64[3] t) => (float y, float z) { l = LogSoftmax(x)"
     " y = NegativeLogLikelihoodLoss<reduction = \"sum\">(l, t)"
     " z = NegativeLogLikelihoodLoss<ignore_index = -1>(l, t) }"),
]


def optimized(name, opset, body, folder):
    """The paths of the model and of what comes of it."""
    before, after = folder / f"{name}.onnx", folder / f"{name}_after.onnx"
    text = f'<ir_version: 8, opset_import: ["" : {opset}]> {name} {body}'
    onnx.save(onnx.shape_inference.infer_shapes(onnx.parser.parse_model(text)), before)
    networks.run("optimize-graph", before, "-o", after, *BUDGET)
    return before, after


def open_session(path):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


class StableOperators(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="soapstone-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def compare(self, before, after, inputs):
        given = {value.name for value in before.get_inputs()}
        inputs = {name: value for name, value in inputs.items() if name in given}
        for wanted, got in zip(before.run(None, inputs), after.run(None, inputs), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)

    def test_answers_stay(self):
        random = np.random.default_rng(0)
        ordinary = [random.standard_normal((3, 4)).astype(np.float32) * scale
                    for scale in (1, 30, 1000)]
        for name, opset, body in MODELS:
            with self.subTest(model=name):
                before, after = map(open_session, optimized(name, opset, body, self.folder))
                for x in SCORES + ordinary:
                    self.compare(before, after, {"x": x, "t": LABELS})

    def test_parts_become_stable(self):
        """Where the parts leave the range, the operator that is made of them does not."""
        x = np.array([[-200, 200, 0, 1], [300, 299, 300, -300], [0, -0.5, 1, 2]], np.float32)
        parts = {
            "LogSoftmax": "(float[3,4] x) => (float[3,4] y) { s = Softmax(x) y = Log(s) }",
            "ReduceLogSumExp": "(float[3,4] x) => (float[3,1] y) <int64[1] a = {1}> { e = Exp(x)"
                               " s = ReduceSum(e, a) y = Log(s) }",
            "Softplus": "(float[3,4] x) => (float[3,4] y) <float one = {1}> { e = Exp(x)"
                        " s = Add(e, one) y = Log(s) }",
        }
        for op_type, body in parts.items():
            with self.subTest(op_type=op_type):
                paths = optimized(op_type, 17, body, self.folder)
                operators = [node.op_type for node in onnx.load(paths[1]).graph.node]
                self.assertEqual(operators, [op_type])
                before, after = map(open_session, paths)
                wanted, got = (session.run(None, {"x": x})[0] for session in (before, after))
                self.assertFalse(np.isfinite(wanted).all())
                self.assertTrue(np.isfinite(got).all())
                held = np.isfinite(wanted)
                np.testing.assert_allclose(got[held], wanted[held], rtol=1e-5, atol=1e-6)

    def test_gather_stays_one_node_and_keeps_its_range(self):
        body = "(float[5,2] x, int64[3] i) => (float[3,2] y) { r = Relu(x) y = Gather(r, i) }"
        paths = optimized("gather", 17, body, self.folder)
        operators = [node.op_type for node in onnx.load(paths[1]).graph.node]
        self.assertEqual(sorted(operators), ["Gather", "Relu"])
        before, after = map(open_session, paths)
        x = np.arange(10, dtype=np.float32).reshape(5, 2)
        for index in ([0, 4, -1], [-5, -4, 2]):
            self.compare(before, after, {"x": x, "i": np.array(index, np.int64)})
        for index in ([0, 0, 5], [-6, 0, 0]):
            for session in (before, after):
                with self.assertRaises(Exception):
                    session.run(None, {"x": x, "i": np.array(index, np.int64)})


if __name__ == "__main__":
    unittest.main()
