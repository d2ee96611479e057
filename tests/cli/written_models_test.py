"""What optimize-graph writes says what it is good for: sizes, opsets, and nodes that no rule changed
as they were read."""

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


# The target names the sizes.
THROUGH_VIEWS = """
rule abs_of_neg_through_views
  x: [n, m]
  source
    t = neg(x)
    y = abs(t)
  target
    f = reshape(x; shape=[n*m])
    g = abs(f)
    y = reshape(g; shape=[n, m])
"""


# It holds at one size alone.
SUM_OF_ONE = """
rule sum_of_one
  x: [m, 1]
  source
    y = reduce_sum(x; axes=[1], keep_dims=1)
  target
    y = x
"""

# Far from 0 the left side overflows, and the right one does not.
EXP_AND_LOG = """
rule relu_of_log_of_exp
  x: [n, m]
  source
    e = exp(x)
    l = log(e)
    y = relu(l)
  target
    y = relu(x)
"""

# True, but the prover has no words for such a constant.
UNPROVABLE = """
rule sum_of_products
  x: [n, k]   a: [k, m]   b: [k, m]   big: [] = {1e30}
  source
    p = matmul(x, a)
    q = matmul(x, b)
    y = add(p, q)
  target
    c = mul(a, big)
    d = div(c, big)
    e = add(d, b)
    y = matmul(x, e)
"""


class WrittenModelsTest(unittest.TestCase):
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

    # --- Sizes ---

    def test_a_size_that_makes_no_difference_stays_open(self):
        weights = {}
        path = model(self.space.path / "open_batch.onnx", linear_layers(weights),
                     {"x": ["batch", 8]}, {"p": ["batch", 16]}, weights, 17)
        written, output, report = self.optimize(path, "--shape", "batch=3")
        self.assertEqual([node.op_type for node in written.graph.node], ["MatMul"])
        self.assertEqual(dims(written.graph.input[0]), ["batch", 8])
        self.assertEqual(dims(written.graph.output[0]), ["batch", 16])
        self.assertTrue(any("open in the result" in note and "batch" in note
                            for note in report["notes"]), report["notes"])
        for batch in (1, 2, 3, 7, 50):
            self.assert_same(path, output, {"x": real(batch, 8)})
        compared = run("compare-graphs", path, output, "--shape", "batch=5")
        self.assertEqual(compared.returncode, 0, compared.stderr)

    def test_inner_tensors_do_not_close_a_size(self):
        weights = {}
        nodes = linear_layers(weights) + [helper.make_node("Relu", ["p"], ["y"])]
        path = model(self.space.path / "inner.onnx", nodes, {"x": ["N", 8]}, {"y": ["N", 16]},
                     weights, 17)
        written, output, _ = self.optimize(path, "--shape", "N=3")
        self.assertEqual([node.op_type for node in written.graph.node], ["MatMul", "Relu"])
        self.assertEqual(dims(written.graph.input[0]), ["N", 8])
        for batch in (1, 3, 7):
            self.assert_same(path, output, {"x": real(batch, 8)})

    def test_sizes_that_a_rule_names_are_computed(self):
        rules = self.space.path / "views.rules"
        rules.write_text(THROUGH_VIEWS)
        nodes = [helper.make_node("Neg", ["x"], ["t"]), helper.make_node("Abs", ["t"], ["y"]),
                 helper.make_node("Exp", ["y"], ["z"])]
        path = model(self.space.path / "views.onnx", nodes, {"x": ["batch", "m"]},
                     {"z": ["batch", "m"]}, {}, 17)
        shape = ("--shape", "batch=3", "--shape", "m=8")
        written, output, report = self.optimize(path, *shape, "--only-rules", rules)
        self.assertIn("Reshape", [node.op_type for node in written.graph.node])
        self.assertEqual(dims(written.graph.input[0]), ["batch", "m"])
        self.assertTrue(any("open in the result" in note for note in report["notes"]),
                        report["notes"])
        for batch, m in ((1, 1), (3, 8), (4, 5), (7, 2)):
            self.assert_same(path, output, {"x": real(batch, m)})
        compared = run("compare-graphs", path, output, *shape)
        self.assertEqual(compared.returncode, 0, compared.stderr)

    def test_rules_of_ones_own_leave_sizes_open(self):
        rules = self.space.path / "own.rules"
        rules.write_text(EXP_AND_LOG)
        nodes = [helper.make_node("Exp", ["x"], ["e"]), helper.make_node("Log", ["e"], ["l"]),
                 helper.make_node("Relu", ["l"], ["y"])]
        path = model(self.space.path / "own.onnx", nodes, {"x": ["batch", 8]}, {"y": ["batch", 8]},
                     {}, 17)
        for which in ("--rules", "--only-rules"):
            written, output, report = self.optimize(path, "--shape", "batch=3", which, rules)
            self.assertEqual([node.op_type for node in written.graph.node], ["Relu"])
            self.assertEqual(dims(written.graph.input[0]), ["batch", 8], report["notes"])
            for batch in (1, 3, 7):
                self.assert_same(path, output, {"x": real(batch, 8)})

    def test_so_do_rules_that_are_allowed_without_a_proof(self):
        rules = self.space.path / "unproved.rules"
        rules.write_text(UNPROVABLE)
        weights = {}
        path = model(self.space.path / "unproved.onnx", linear_layers(weights),
                     {"x": ["batch", 8]}, {"p": ["batch", 16]}, weights, 17)
        written, output, report = self.optimize(path, "--shape", "batch=3", "--only-rules", rules,
                                                "--allow-unproved")
        self.assertEqual([node.op_type for node in written.graph.node], ["MatMul"])
        self.assertEqual(report["unproved_rules_applied"], ["sum_of_products"])
        self.assertEqual(dims(written.graph.input[0]), ["batch", 8], report["notes"])
        for batch in (1, 3, 7):
            self.assert_same(path, output, {"x": real(batch, 8)})

    def test_constants_that_grow_with_a_size_are_computed(self):
        """A vector repeated for each item, as exports have a class token."""
        weights = {"token": real(1, 1, 8), "rest": np.array([1, 8], np.int64)}
        weights["first"] = np.array([0], np.int64)
        nodes = linear_layers(weights)
        nodes += [helper.make_node("Shape", ["x"], ["s"]),
                  helper.make_node("Gather", ["s", "first"], ["n"], axis=0),
                  helper.make_node("Concat", ["n", "rest"], ["shape"], axis=0),
                  helper.make_node("Expand", ["token", "shape"], ["tokens"]),
                  helper.make_node("Concat", ["tokens", "z"], ["y"], axis=1)]
        path = model(self.space.path / "token.onnx", nodes,
                     {"x": ["batch", 8], "z": ["batch", 3, 8]},
                     {"p": ["batch", 16], "y": ["batch", 4, 8]}, weights, 17)
        written, output, report = self.optimize(path, "--shape", "batch=3")
        self.assertEqual(dims(written.graph.input[0]), ["batch", 8], report["notes"])
        for batch in (1, 3, 5):
            self.assert_same(path, output, {"x": real(batch, 8), "z": real(batch, 3, 8)})

    def test_a_size_that_is_left_out_says_why(self):
        """Rows of a table from the second one on: no file of ours counts from there."""
        rules = self.space.path / "views.rules"
        rules.write_text(THROUGH_VIEWS.replace("[n, m]", "[n]").replace("[n*m]", "[1, n]"))
        nodes = [helper.make_node("Neg", ["x"], ["t"]), helper.make_node("Abs", ["t"], ["y"]),
                 helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Squeeze", ["s"], ["n"]),
                 helper.make_node("Add", ["n", "one"], ["end"]),
                 helper.make_node("Range", ["one", "end", "one"], ["places"]),
                 helper.make_node("Gather", ["table", "places"], ["rows"]),
                 helper.make_node("Add", ["y", "rows"], ["z"])]
        weights = {"table": real(64), "one": np.int64(1)}
        path = model(self.space.path / "table.onnx", nodes, {"x": ["n"]}, {"z": ["n"]}, weights, 17)
        options = ("--shape", "n=6", "--only-rules", rules)
        written, output, report = self.optimize(path, *options, "--fix-shapes")
        self.assertEqual(dims(written.graph.input[0]), [6])
        self.assertTrue(any("n=6 (Gather" in note for note in report["notes"]), report["notes"])
        self.assert_same(path, output, {"x": real(6)})
        written, output, report = self.optimize(path, *options, outcome="no_gain_found")
        self.assertEqual(dims(written.graph.input[0]), ["n"])
        self.assertTrue(any("n=6 (Gather" in note and "--fix-shapes" in note
                            for note in report["notes"]), report["notes"])

    def test_changes_that_hold_at_some_sizes_alone_are_left_out(self):
        """A sum over one element is that element, and the rest is faster at all sizes."""
        rules = self.space.path / "one.rules"
        rules.write_text(SUM_OF_ONE)
        weights = {"ends": np.array([1], np.int64)}
        nodes = linear_layers(weights) + [
            helper.make_node("ReduceSum", ["z", "ends"], ["r"], keepdims=1),
            helper.make_node("Relu", ["r"], ["y"])]
        path = model(self.space.path / "some.onnx", nodes, {"x": ["batch", 8], "z": [4, "n"]},
                     {"p": ["batch", 16], "y": [4, 1]}, weights, 17)
        for fixed in (False, True):
            written, output, report = self.optimize(path, "--shape", "batch=3", "--shape", "n=1",
                                                    "--rules", rules, *(["--fix-shapes"] if fixed else []))
            operators = [node.op_type for node in written.graph.node]
            self.assertEqual(operators.count("MatMul"), 1)
            self.assertEqual("ReduceSum" in operators, not fixed, report["notes"])
            self.assertEqual([dims(each) for each in written.graph.input],
                             [["batch", 8], [4, 1 if fixed else "n"]], report["notes"])
            for batch, n in ((1, 1), (3, 1)) if fixed else ((1, 1), (3, 5), (7, 2)):
                self.assert_same(path, output, {"x": real(batch, 8), "z": real(4, n)})

    def test_a_size_of_which_the_model_has_one_alone_is_in_nobodys_way(self):
        weights = {"fixed": np.array([12], np.int64)}
        nodes = linear_layers(weights) + [helper.make_node("Reshape", ["z", "fixed"], ["r"])]
        path = model(self.space.path / "one_size.onnx", nodes, {"x": ["batch", 8], "z": ["n", 4]},
                     {"p": ["batch", 16], "r": [12]}, weights, 17)
        written, output, report = self.optimize(path, "--shape", "batch=3", "--shape", "n=3")
        self.assertEqual([node.op_type for node in written.graph.node].count("MatMul"), 1)
        self.assertEqual(dims(written.graph.input[0]), ["batch", 8], report["notes"])
        self.assert_same(path, output, {"x": real(5, 8), "z": real(3, 4)})

    def test_one_size_may_stay_open_and_another_not(self):
        weights = {}
        nodes = linear_layers(weights) + [helper.make_node("Reshape", ["z", "flat"], ["r"])]
        weights["flat"] = np.array([-1], np.int64)
        path = model(self.space.path / "mixed.onnx", nodes, {"x": ["n", 8], "z": ["m", 4]},
                     {"p": ["n", 16], "r": [None]}, weights, 17)
        written, output, _ = self.optimize(path, "--shape", "n=3", "--shape", "m=2")
        self.assertEqual([dims(each)[0] for each in written.graph.input], ["n", "m"])
        self.assert_same(path, output, {"x": real(5, 8), "z": real(7, 4)})

    def test_the_original_keeps_its_open_sizes(self):
        path = model(self.space.path / "relu.onnx", [helper.make_node("Relu", ["x"], ["y"])],
                     {"x": ["batch", 8]}, {"y": ["batch", 8]}, {}, 17)
        written, _, _ = self.optimize(path, "--shape", "batch=3", outcome="no_gain_found")
        self.assertEqual(dims(written.graph.input[0]), ["batch", 8])

    # --- Types ---

    def test_sequences_and_optional_values_have_no_sizes(self):
        tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, [2, 3])
        for kind, operator, place in (
                (helper.make_sequence_type_proto(tensor), "SequenceAt", ["place"]),
                (helper.make_optional_type_proto(tensor), "OptionalGetElement", [])):
            weights = {"place": np.int64(0)} if place else {}
            nodes = linear_layers(weights) + [helper.make_node(operator, ["s", *place], ["e"]),
                                              helper.make_node("Neg", ["e"], ["y"])]
            path = self.space.path / f"{operator}.onnx"
            graph = helper.make_graph(
                nodes, "g", [helper.make_value_info("s", kind),
                             helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 8])],
                [helper.make_tensor_value_info("p", TensorProto.FLOAT, [4, 16]),
                 helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])],
                [numpy_helper.from_array(v, k) for k, v in weights.items()])
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)],
                                        ir_version=8), path)
            written, output, _ = self.optimize(path)
            self.assertEqual(written.graph.input[0].type, kind)
            self.assertEqual([node.op_type for node in written.graph.node].count("MatMul"), 1)
            if operator == "SequenceAt":
                self.assert_same(path, output, {"x": real(4, 8), "s": [real(2, 3), real(2, 3)]})

    # --- Opsets ---

    def old_network(self, opset):
        """Convolutions to be merged, a pool, a Clip and a Slice as each opset says them."""
        weights = {"a": real(8, 4, 3, 3), "b": real(8, 4, 3, 3)}
        nodes = [helper.make_node("MaxPool", ["x"], ["t"], kernel_shape=[3, 3], strides=[2, 2],
                                  pads=[1, 1, 1, 1]),
                 helper.make_node("Conv", ["t", "a"], ["p"], kernel_shape=[3, 3]),
                 helper.make_node("Conv", ["t", "b"], ["q"], kernel_shape=[3, 3]),
                 helper.make_node("Add", ["p", "q"], ["s1"])]
        if opset < 11:
            nodes.append(helper.make_node("Clip", ["s1"], ["y"], min=0.0, max=6.0))
        else:
            weights.update(low=np.float32(0), high=np.float32(6))
            nodes.append(helper.make_node("Clip", ["s1", "low", "high"], ["y"]))
        if opset < 10:
            nodes.append(helper.make_node("Slice", ["s1"], ["z"], starts=[1], ends=[5], axes=[1]))
        else:
            weights.update(s=np.array([1]), e=np.array([5]), i=np.array([1]))
            nodes.append(helper.make_node("Slice", ["s1", "s", "e", "i"], ["z"]))
        return model(self.space.path / f"old_{opset}.onnx", nodes, {"x": [1, 4, 16, 16]},
                     {"y": [1, 8, 6, 6], "z": [1, 4, 6, 6]}, weights, opset)

    def test_every_opset_is_optimized_and_written(self):
        for opset in (*range(7, 14), 23, 24, 25):
            with self.subTest(opset=opset):
                path = self.old_network(opset)
                written, output, _ = self.optimize(path)
                self.assertEqual(written.opset_import[0].version, opset)
                onnx.checker.check_model(written, full_check=True)
                self.assertEqual(sum(node.op_type == "Conv" for node in written.graph.node), 1)
                self.assert_same(path, output, {"x": real(1, 4, 16, 16)})

    def test_an_operator_that_a_newer_opset_changed_is_kept_and_named(self):
        weights = {"k": np.array([2])}
        nodes = linear_layers(weights) + [helper.make_node("TopK", ["p", "k"], ["y", "i"])]
        for opset, kept in ((23, "top_k"), (24, "TopK changed in opset 24")):
            path = model(self.space.path / f"top_{opset}.onnx", nodes, {"x": [4, 8]},
                         {"y": [4, 2]}, dict(weights), opset)
            done = run("inspect-graph", path, "--json", "-")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(kept, done.stdout + done.stderr)

    # --- Nodes as they were ---

    def test_nodes_that_no_rule_changed_are_written_as_they_were_read(self):
        weights = {"s": real(3), "t": real(3), "i": np.array([1, 0, -1]), "r": np.array([1, 2, 1, 1]),
                   "g": real(6, 5), "h": real(5), "two": np.float32(2)}
        others = [
            helper.make_node("InstanceNormalization", ["v", "s", "t"], ["v1"], "norm", epsilon=0.01),
            helper.make_node("Tile", ["v1", "r"], ["v2"], "tile"),
            helper.make_node("Gather", ["v2", "i"], ["v3"], "gather", axis=1),
            helper.make_node("Pow", ["v3", "two"], ["y"], "square"),
            helper.make_node("DepthToSpace", ["u", ], ["w"], "depth", blocksize=2),
            helper.make_node("Gemm", ["m", "g", "h"], ["z"], "gemm", alpha=0.5)]
        nodes = linear_layers(weights) + others
        path = model(self.space.path / "kept.onnx", nodes,
                     {"x": [4, 8], "v": [1, 3, 4, 4], "u": [1, 8, 2, 2], "m": [4, 6]},
                     {"z": [4, 5], "p": [4, 16], "y": [1, 3, 4, 4], "w": [1, 2, 4, 4]}, weights, 17)
        skip = ["--skip", "instance_norm_as_layer_norm", "--skip", "named_layer_norm"]
        for part in ("gather", "expand", "reduce_mean", "mul", "reshape"):
            skip += ["--skip", "linear_map_of_" + part]
        for options in (skip, [*skip, "--keep-constants"]):
            written, output, report = self.optimize(path, *options)
            now = {node.name: node for node in written.graph.node}
            for node in others:
                self.assertEqual(now[node.name].op_type, node.op_type)
                self.assertEqual(now[node.name].attribute, node.attribute)
            products = [node for node in written.graph.node if node.op_type == "MatMul"]
            self.assertEqual(len(products), 1)
            feeds = {"x": real(4, 8), "v": real(1, 3, 4, 4), "u": real(1, 8, 2, 2),
                     "m": real(4, 6)}
            self.assert_same(path, output, feeds)

    def test_the_proof_leads_to_nodes_as_they_were(self):
        weights = {"g": real(5, 6), "h": real(5)}
        nodes = linear_layers(weights) + [
            helper.make_node("Gemm", ["m", "g", "h"], ["z"], alpha=0.5, transB=1)]
        path = model(self.space.path / "proof.onnx", nodes, {"x": [4, 8], "m": [4, 6]},
                     {"z": [4, 5], "p": [4, 16]}, weights, 17)
        proof = self.space.path / "chain"
        written, output, _ = self.optimize(path, "--proof", proof)
        self.assertIn("Gemm", [node.op_type for node in written.graph.node])
        done = run("compare-graphs", path, output, "--proof", proof)
        self.assertEqual(done.returncode, 0, done.stderr)

    # --- Constants ---

    def test_weights_that_are_filled_with_a_number_are_weights(self):
        """Large models come without weights: each is filled with some number. What is computed from
        them must agree when others take their place."""
        shapes = {"w": [4, 3, 3, 3], "gamma": [4], "beta": [4], "mean": [4], "var": [4]}
        weights = {"four": np.array([4]), "kernels": np.array(shapes["w"]), "one": np.array(1, np.float32)}
        nodes = [helper.make_node("ConstantOfShape", ["kernels" if name == "w" else "four"], [name],
                                  value=numpy_helper.from_array(np.array([number], np.float32)))
                 for name, number in zip(shapes, (0.25, 1.5, 0.5, 0.25, 2.0))]
        nodes += [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
                  helper.make_node("Add", ["gamma", "one"], ["scale"]),
                  helper.make_node("BatchNormalization", ["c", "scale", "beta", "mean", "var"], ["y"])]
        path = model(self.space.path / "filled.onnx", nodes, {"x": [1, 3, 8, 8]}, {"y": [1, 4, 8, 8]},
                     weights, 17)
        written, output, _ = self.optimize(path, "--keep-constants", outcome="no_gain_found")
        self.assertNotIn("BatchNormalization", [node.op_type for node in written.graph.node])
        compared = run("compare-graphs", path, output, "--random-weights", "--samples", "2")
        self.assertEqual(compared.returncode, 0, compared.stdout)


if __name__ == "__main__":
    unittest.main()
