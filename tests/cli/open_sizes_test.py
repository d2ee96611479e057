"""Results keep the sizes open that the model leaves open, compute what depends on them, and are right at all."""

import unittest

import numpy as np
from onnx import helper, numpy_helper

from commands import run
from model_writing import ModelWritingTest, dims, linear_layers, model, real


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


def causal(size):
    """Nodes that make the mask of n x n of what is not later, of the first size of x, and their weights."""
    nodes = [helper.make_node("Shape", ["x"], ["shape"]),
             helper.make_node("Gather", ["shape", "zero"], [size], axis=0),
             helper.make_node("Range", ["zero", size, "one"], ["places"]),
             helper.make_node("Unsqueeze", ["places", "behind"], ["rows_of_it"]),
             helper.make_node("GreaterOrEqual", ["rows_of_it", "places"], ["is_before"]),
             helper.make_node("Cast", ["is_before"], ["mask"], to=1)]
    return nodes, {"zero": np.int64(0), "one": np.int64(1), "behind": np.array([1])}


class OpenSizesTest(ModelWritingTest):
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
        """As many rows of a table as every second item, from the second row on: no file of ours counts these."""
        rules = self.space.path / "views.rules"
        rules.write_text(THROUGH_VIEWS.replace("[n, m]", "[n]").replace("[n*m]", "[1, n]"))
        nodes = [helper.make_node("Neg", ["x"], ["t"]), helper.make_node("Abs", ["t"], ["y"]),
                 helper.make_node("Slice", ["x", "first", "last", "axis", "two"], ["half"]),
                 helper.make_node("Shape", ["half"], ["s"]), helper.make_node("Squeeze", ["s"], ["n"]),
                 helper.make_node("Add", ["n", "one"], ["end"]),
                 helper.make_node("Range", ["one", "end", "one"], ["places"]),
                 helper.make_node("Gather", ["table", "places"], ["rows"]),
                 helper.make_node("Concat", ["y", "rows"], ["z"], axis=0)]
        weights = {"table": real(64), "one": np.int64(1), "first": np.array([0]), "last": np.array([999]),
                   "axis": np.array([0]), "two": np.array([2])}
        path = model(self.space.path / "table.onnx", nodes, {"x": ["n"]}, {"z": ["m"]}, weights, 17)
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

    def test_masks_and_positions_are_computed_as_the_model_does(self):
        """A causal mask, and rows of a table from the second one on."""
        nodes, weights = causal("n")
        nodes += linear_layers(weights) + [
            helper.make_node("Add", ["n", "one"], ["end"]),
            helper.make_node("Range", ["one", "end", "one"], ["later"]),
            helper.make_node("Gather", ["table", "later"], ["rows"]),
            helper.make_node("MatMul", ["mask", "rows"], ["m"]),
            helper.make_node("Add", ["p", "m"], ["y"])]
        weights["table"] = real(64, 16)
        path = model(self.space.path / "causal.onnx", nodes, {"x": ["n", 8]}, {"y": ["n", 16]},
                     weights, 17)
        written, output, report = self.optimize(path, "--shape", "n=6")
        self.assertEqual(dims(written.graph.input[0]), ["n", 8], report["notes"])
        self.assertEqual([node.op_type for node in written.graph.node].count("MatMul"), 2)
        for n in (1, 2, 6, 17, 40):
            self.assert_same(path, output, {"x": real(n, 8)})

    def test_a_choice_that_is_made_at_some_sizes_alone_stays(self):
        """Places that are less than eight, which all are at the size given."""
        nodes, weights = causal("n")
        nodes += linear_layers(weights) + [
            helper.make_node("Less", ["places", "eight"], ["near"]),
            helper.make_node("Unsqueeze", ["near", "last"], ["column"]),
            helper.make_node("Where", ["column", "p", "mask_of_one"], ["chosen"]),
            helper.make_node("MatMul", ["mask", "chosen"], ["y"])]
        weights |= {"eight": np.int64(8), "last": np.array([1]), "mask_of_one": real(1, 16)}
        path = model(self.space.path / "near.onnx", nodes, {"x": ["n", 8]}, {"y": ["n", 16]},
                     weights, 17)
        # Beside 3 no size is tried that is larger than eight.
        for given in (3, 6):
            written, output, report = self.optimize(path, "--shape", f"n={given}")
            self.assertEqual(dims(written.graph.input[0]), ["n", 8], report["notes"])
            self.assertIn("Where", [node.op_type for node in written.graph.node])
            for n in (1, 6, 9, 30):
                self.assert_same(path, output, {"x": real(n, 8)})
        for given in (3, 6):
            written, output, _ = self.optimize(path, "--shape", f"n={given}", "--fix-shapes")
            self.assertNotIn("Where", [node.op_type for node in written.graph.node])
            self.assertEqual(dims(written.graph.input[0]), [given, 8])
            self.assert_same(path, output, {"x": real(given, 8)})

    def test_dimensions_that_have_to_be_equal_stay_open_together(self):
        """Exporters that know no common name give each input names of its own, or none."""
        for first, second in (("unk__1", "unk__2"), (None, None)):
            weights = {}
            nodes = linear_layers(weights) + [helper.make_node("Concat", ["p", "z"], ["y"], axis=1)]
            path = model(self.space.path / "unknown.onnx", nodes,
                         {"x": [first, 8], "z": [second, 4]}, {"y": [None, 20]}, weights, 17)
            shapes = ("--shape", "x=3x8", "--shape", "z=3x4")
            written, output, report = self.optimize(path, *shapes)
            self.assertEqual([dims(each)[0] for each in written.graph.input],
                             [first or 0, second or 0], report["notes"])
            for n in (1, 3, 8):
                self.assert_same(path, output, {"x": real(n, 8), "z": real(n, 4)})

    def test_a_choice_that_is_made_at_all_sizes_is_decided(self):
        """Where nothing is masked, exporters fill a mask of some size with true."""
        nodes, weights = causal("n")
        nodes += linear_layers(weights) + [
            helper.make_node("ConstantOfShape", ["shape"], ["all"],
                             value=numpy_helper.from_array(np.array([True]))),
            helper.make_node("Slice", ["p", "begin", "end", "last"], ["half"]),
            helper.make_node("Where", ["all", "half", "x"], ["chosen"]),
            helper.make_node("MatMul", ["mask", "chosen"], ["y"])]
        weights |= {"begin": np.array([0]), "end": np.array([8]), "last": np.array([1])}
        path = model(self.space.path / "filled.onnx", nodes, {"x": ["n", 8]}, {"y": ["n", 8]},
                     weights, 17)
        written, output, report = self.optimize(path, "--shape", "n=6")
        self.assertEqual(dims(written.graph.input[0]), ["n", 8], report["notes"])
        self.assertNotIn("Where", [node.op_type for node in written.graph.node])
        for n in (1, 6, 30):
            self.assert_same(path, output, {"x": real(n, 8)})

    def test_sizes_that_are_equal_by_chance_are_told_apart(self):
        """A token that is repeated as often as there are rows of one input, not of the other."""
        weights = {"token": real(1, 4), "first": np.array([0]), "rest": np.array([4])}
        nodes = linear_layers(weights) + [
            helper.make_node("Shape", ["z"], ["s"]),
            helper.make_node("Gather", ["s", "first"], ["m"], axis=0),
            helper.make_node("Concat", ["m", "rest"], ["shape"], axis=0),
            helper.make_node("Expand", ["token", "shape"], ["tokens"]),
            helper.make_node("Concat", ["tokens", "z"], ["y"], axis=1)]
        path = model(self.space.path / "apart.onnx", nodes, {"x": ["n", 8], "z": ["m", 4]},
                     {"p": ["n", 16], "y": ["m", 8]}, weights, 17)
        written, output, report = self.optimize(path, "--shape", "n=3", "--shape", "m=3")
        self.assertEqual([dims(each)[0] for each in written.graph.input], ["n", "m"], report["notes"])
        for n, m in ((2, 5), (5, 2), (3, 3)):
            self.assert_same(path, output, {"x": real(n, 8), "z": real(m, 4)})

    def test_pairs_of_dimensions_are_told_apart(self):
        weights = {}
        nodes = linear_layers(weights) + [helper.make_node("Concat", ["p", "z"], ["y"], axis=1),
                                          helper.make_node("Add", ["u", "v"], ["w"])]
        path = model(self.space.path / "pairs.onnx", nodes,
                     {"x": [None, 8], "z": [None, 4], "u": [None, 2], "v": [None, 2]},
                     {"y": [None, 20], "w": [None, 2]}, weights, 17)
        shapes = [each for name, size in (("x", 8), ("z", 4), ("u", 2), ("v", 2))
                  for each in ("--shape", f"{name}=3x{size}")]
        written, output, report = self.optimize(path, *shapes)
        self.assertEqual([dims(each)[0] for each in written.graph.input], [0] * 4, report["notes"])
        for n, m in ((2, 5), (5, 2)):
            self.assert_same(path, output, {"x": real(n, 8), "z": real(n, 4), "u": real(m, 2),
                                            "v": real(m, 2)})

    def test_a_mask_grows_with_a_cache_and_with_what_is_new(self):
        weights = {}
        nodes = linear_layers(weights) + [
            helper.make_node("Concat", ["past", "p"], ["keys"], axis=0),
            helper.make_node("MatMul", ["mask", "keys"], ["y"])]
        path = model(self.space.path / "cache.onnx", nodes,
                     {"x": ["s", 8], "past": ["c", 16], "mask": [4, "t"]}, {"y": [4, 16]}, weights, 17)
        written, output, report = self.optimize(path, "--shape", "s=3", "--shape", "c=5",
                                                "--shape", "t=8")
        self.assertEqual([dims(each) for each in written.graph.input],
                         [["s", 8], ["c", 16], [4, "t"]], report["notes"])
        for s, c in ((3, 5), (1, 5), (3, 1), (7, 9)):
            self.assert_same(path, output,
                             {"x": real(s, 8), "past": real(c, 16), "mask": real(4, s + c)})


if __name__ == "__main__":
    unittest.main()
