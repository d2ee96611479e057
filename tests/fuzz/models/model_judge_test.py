"""The judge itself: what is wrong must not pass, what rounds as every runtime does must."""

import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

sys.path.append(str(Path(__file__).parent))
import node_templates
from model_judge import Judge
from random_models import Model, ModelBuilder


def model(nodes, weights=(), shape=(4, 8), kind=TensorProto.FLOAT, result=None, opset=17):
    graph = helper.make_graph(
        nodes, "judged", [helper.make_tensor_value_info("x", kind, shape)],
        [helper.make_tensor_value_info("y", kind if result is None else result, None)],
        [numpy_helper.from_array(value, name) for name, value in weights])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    proto.ir_version = 8
    return proto


class JudgeTest(unittest.TestCase):
    def verdicts(self, original, changed):
        with tempfile.TemporaryDirectory(prefix="soapstone-") as folder:
            path = Path(folder) / "changed.onnx"
            onnx.save(changed, path)
            return [v.kind for v in Judge(Model(original, 1)).compare(str(path))]

    def node(self, op, *inputs, to="y", **attributes):
        return helper.make_node(op, list(inputs), [to], **attributes)

    def test_the_same_is_the_same(self):
        same = model([self.node("Tanh", "x")])
        self.assertEqual(self.verdicts(same, same), ["", ""])

    def test_another_function_is_wrong(self):
        self.assertEqual(self.verdicts(model([self.node("Relu", "x")]),
                                       model([self.node("LeakyRelu", "x")]))[0], "wrong")

    def test_a_weight_that_is_slightly_off_is_wrong(self):
        weight = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
        other = weight.copy()
        other[3, 3] *= 1.001
        one, two = (model([self.node("MatMul", "x", "w")], [("w", w)]) for w in (weight, other))
        self.assertEqual(self.verdicts(one, two)[0], "wrong")

    def test_a_constant_line_may_be_centered_with_a_rounding_error(self):
        bias = np.full(8, 0.07143, np.float32)

        def centered(mean, *others):
            return model([*others, self.node("Mul", "x", "zero", to="nothing"),
                          self.node("Add", "nothing", "bias", to="line"),
                          *mean, self.node("Sub", "line", "mean", to="rest"),
                          self.node("Mul", "rest", "scale")],
                         [("zero", np.float32([0])), ("bias", bias), ("scale", np.float32([30])),
                          ("third", np.full((8, 8), 0.125 * (1 + 2.0**-23), np.float32)),
                          ("most", np.full((8, 8), 0.1249, np.float32))])

        exact = centered([self.node("ReduceMean", "line", to="mean", axes=[1])])
        rounded, wrong = (centered([self.node("MatMul", "line", weight, to="mean")])
                          for weight in ("third", "most"))
        self.assertEqual(self.verdicts(exact, rounded)[0], "")
        self.assertEqual(self.verdicts(exact, wrong)[0], "wrong")
        # Nothing of the line depends on that jump.
        elsewhere = self.node("Floor", "x", to="elsewhere")
        beside_a_jump = centered([self.node("ReduceMean", "line", to="mean", axes=[1])], elsewhere)
        self.assertEqual(self.verdicts(beside_a_jump, rounded)[0], "")
        self.assertEqual(self.verdicts(beside_a_jump, wrong)[0], "wrong")

    def test_a_pole_within_a_rounding_error_may_be_met(self):
        def power(first):
            return model([self.node("MatMul", "x", "w", to="sum"), self.node("Pow", "zero", "sum")],
                         [("w", np.float32([[first], [1]])), ("zero", np.float32([0]))], shape=(64, 2))

        self.assertEqual(self.verdicts(power(1), power(1 + 2.0**-23))[0], "")
        self.assertNotEqual(self.verdicts(power(1), power(1.5))[0], "")

    def test_one_line_of_noise_excuses_no_other(self):
        weights = [("bias", np.full(8, 0.07143, np.float32)), ("none", np.float32([0])),
                   ("scale", np.float32([3000]))]

        def beside(function, line):
            return model([*line, self.node(function, "x", to="other"),
                          self.node("Concat", "rest", "other", axis=1)], weights)

        centered = [self.node("Mul", "x", "none", to="nothing"),
                    self.node("Add", "nothing", "bias", to="line"),
                    self.node("ReduceMean", "line", to="mean", axes=[1]),
                    self.node("Sub", "line", "mean", to="centered"),
                    self.node("Mul", "centered", "scale", to="rest")]
        stepped = [self.node("Mul", "x", "none", to="nothing"),
                   self.node("Floor", "nothing", to="rest")]
        for line in (centered, stepped):
            self.assertEqual(self.verdicts(beside("Tanh", line), beside("Sigmoid", line))[0],
                             "wrong")

    def test_another_order_of_a_sum_is_rounding(self):
        random = np.random.default_rng(0)
        first, second = (random.standard_normal((8, 8)).astype(np.float32) for _ in "ab")
        one = model([self.node("MatMul", "x", "a", to="t"), self.node("MatMul", "t", "b")],
                    [("a", first), ("b", second)])
        two = model([self.node("MatMul", "x", "ab")], [("ab", first @ second)])
        self.assertEqual(self.verdicts(one, two)[0], "")

    def test_digits_lost_to_cancellation_are_found(self):
        big = np.float32(1e6)
        one = model([self.node("Tanh", "x")])
        two = model([self.node("Tanh", "x", to="t"), self.node("Add", "t", "c", to="u"),
                     self.node("Sub", "u", "c")], [("c", big)])
        self.assertIn(self.verdicts(one, two)[0], ("precision", "wrong"))

    def test_an_infinity_is_found(self):
        one = model([self.node("LogSoftmax", "x")])
        two = model([self.node("Softmax", "x", to="t"), self.node("Log", "t")])
        self.assertEqual(self.verdicts(one, two)[0], "lost")

    def test_an_infinity_of_another_sign_is_found_unless_minima_of_zeros_are_behind_it(self):
        def ends(*nodes):
            return [*nodes, self.node("Reciprocal", "m")]
        zero = [("z", np.zeros((4, 8), np.float32)), ("n", -np.zeros((4, 8), np.float32))]
        one = model(ends(self.node("Add", "z", "z", to="m")), zero)
        two = model(ends(self.node("Add", "n", "n", to="m")), zero)
        self.assertEqual(self.verdicts(one, two)[0], "finite")
        one = model(ends(self.node("Min", "z", "z", to="m")), zero)
        two = model(ends(self.node("Min", "n", "n", to="m")), zero)
        self.assertEqual(self.verdicts(one, two)[0], "")

    def test_nan_is_found_at_the_edges_only(self):
        """x·0 is 0 for every number, and no number for infinity."""
        zero = np.zeros((4, 8), np.float32)
        one = model([self.node("Mul", "x", "z")], [("z", zero)])
        two = model([self.node("Identity", "z")], [("z", zero)])
        self.assertEqual(self.verdicts(one, two), ["", "finite"])

    def test_a_comparison_that_nan_decides_is_found(self):
        half = np.float32(0.5)
        one = model([self.node("LessOrEqual", "x", "h")], [("h", half)], result=TensorProto.BOOL)
        two = model([self.node("Less", "h", "x", to="t"), self.node("Not", "t")], [("h", half)],
                    result=TensorProto.BOOL)
        self.assertEqual(self.verdicts(one, two), ["", "wrong"])

    def test_a_jump_decided_by_rounding_is_none(self):
        third = np.float32(3)
        one = model([self.node("Div", "x", "c", to="t"), self.node("Floor", "t")], [("c", third)])
        two = model([self.node("Mul", "x", "c", to="t"), self.node("Floor", "t")],
                    [("c", np.float32(1) / third)])
        self.assertEqual(self.verdicts(one, two)[0], "")

    def test_half_precision_that_is_rounded_elsewhere_is_none(self):
        random = np.random.default_rng(0)
        c, d = (random.standard_normal(8).astype(np.float16) for _ in "cd")
        one = model([self.node("Add", "x", "c", to="t"), self.node("Add", "t", "d")],
                    [("c", c), ("d", d)], kind=TensorProto.FLOAT16)
        two = model([self.node("Add", "x", "e")], [("e", c + d)], kind=TensorProto.FLOAT16)
        self.assertEqual(self.verdicts(one, two)[0], "")

    def test_another_interface_is_found(self):
        self.assertEqual(self.verdicts(model([self.node("Relu", "x")]),
                                       model([self.node("Relu", "x")], shape=(8, 4)))[0],
                         "interface")

    def test_what_onnxruntime_makes_of_a_model_is_the_same(self):
        judged = 0
        with tempfile.TemporaryDirectory(prefix="soapstone-") as folder:
            path = str(Path(folder) / "optimized.onnx")
            for seed in range(60):
                builder = ModelBuilder(seed, 17, "f")
                try:
                    node_templates.draw_model(builder)
                    drawn = builder.finish(seed)
                    judge = Judge(drawn)
                except Exception:  # no model, or none that runs
                    continue
                options = onnxruntime.SessionOptions()
                options.graph_optimization_level = \
                    onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
                options.optimized_model_filepath = path
                onnxruntime.InferenceSession(drawn.proto.SerializeToString(), options,
                                             providers=["CPUExecutionProvider"])
                verdict = judge.compare(path)[0]
                judged += 1
                self.assertEqual(verdict.kind, "", f"seed {seed}: {verdict}")
        self.assertGreater(judged, 40)


if __name__ == "__main__":
    unittest.main()
