"""What limits of floating types do to rules: decided by the type of the tensors that match."""

import json
import unittest
from pathlib import Path

import numpy as np
import onnxruntime
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import commands
from commands import run

RULES = Path(__file__).parents[2] / "rules"
ROWS, KEYS = 24, 16
TYPES = {"f16": TensorProto.FLOAT16, "f32": TensorProto.FLOAT, "f64": TensorProto.DOUBLE,
         "bf16": TensorProto.BFLOAT16}
NUMPY = {"f16": np.float16, "f32": np.float32, "f64": np.float64}

CASTS = """
rule drop_casts
  x: [n]
  source
    h = cast(x; to="%s")
    g = cast(h; to="%s")
    y = neg(g)
  target
    y = neg(x)
"""


def attention_model(path, kind, width):
    """softmax(q / 8 · k) · v: the scale comes first, so that products stay small."""
    element = TYPES[kind]
    scale = helper.make_tensor("scale", element, [], [0.125])
    nodes = [helper.make_node("Mul", ["q", "scale"], ["s"], "scaling"),
             helper.make_node("MatMul", ["s", "k"], ["p"], "scores"),
             helper.make_node("Softmax", ["p"], ["w"], "weights", axis=-1),
             helper.make_node("MatMul", ["w", "v"], ["y"], "values")]
    info = [helper.make_tensor_value_info(name, element, shape)
            for name, shape in [("q", (ROWS, width)), ("k", (width, KEYS)), ("v", (KEYS, width)),
                                ("y", (ROWS, width))]]
    return commands.save(helper.make_graph(nodes, "attention", info[:3], info[3:], [scale]), path)


def cast_model(path, outside, inside):
    nodes = [helper.make_node("Cast", ["x"], ["h"], to=TYPES[inside]),
             helper.make_node("Cast", ["h"], ["g"], to=TYPES[outside]),
             helper.make_node("Neg", ["g"], ["y"])]
    info = [helper.make_tensor_value_info(name, TYPES[outside], [4]) for name in "xy"]
    return commands.save(helper.make_graph(nodes, "casts", info[:1], info[1:]), path)


def outputs(path, inputs):
    """Node by node, so that nothing is fused that a file says one by one."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)[0]


class Range(unittest.TestCase):
    def setUp(self):
        self.space = commands.Workspace()
        self.model = self.space.path / "model.onnx"
        self.output = self.space.path / "optimized.onnx"

    def tearDown(self):
        self.space.close()

    def optimize(self, *arguments, code=0):
        done = run("optimize-graph", self.model, "-o", self.output, "--costs", "roofline",
                   "--verify", "off", "--json", "-", *arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout)

    def attention_inputs(self, kind, width):
        random = np.random.default_rng(width)
        return {name: random.uniform(30, 60, shape).astype(NUMPY[kind])
                for name, shape in [("q", (ROWS, width)), ("k", (width, KEYS)),
                                    ("v", (KEYS, width))]}

    def applied(self, report):
        return {rule["rule"].split("[")[0] for rule in report["rules_applied"]}

    def test_attention_in_f16_stays_finite(self):
        for width in [64, 128]:
            attention_model(self.model, "f16", width)
            inputs = self.attention_inputs("f16", width)
            wanted = outputs(self.model, inputs)
            self.assertTrue(np.isfinite(wanted).all())
            for strategy in ["portfolio", "backtracking", "eqsat", "best"]:
                with self.subTest(width=width, strategy=strategy):
                    report = self.optimize("--strategy", strategy)
                    got = outputs(self.output, inputs)
                    self.assertTrue(np.isfinite(got).all())
                    rounded = ReferenceEvaluator(str(self.output)).run(None, inputs)[0]
                    self.assertTrue(np.isfinite(rounded).all())
                    np.testing.assert_allclose(got.astype(np.float64), wanted.astype(np.float64),
                                               rtol=0.05)
                    left_out = {(r["rule"], r["type"]) for r in report["rules_left_out"]}
                    self.assertIn(("scale_out_of_lhs", "f16"), left_out)

    def test_which_it_would_not_if_it_were_allowed(self):
        attention_model(self.model, "f16", 128)
        report = self.optimize("--allow-range-changes", "--only", "scale_out_of_lhs")
        self.assertEqual(self.applied(report), {"scale_out_of_lhs"})
        self.assertEqual(report["rules_left_out"], [])
        # A runtime may leave out the rounding between two nodes; the reference does not.
        inputs = self.attention_inputs("f16", 128)
        original, optimized = (ReferenceEvaluator(str(path)).run(None, inputs)[0]
                               for path in [self.model, self.output])
        self.assertTrue(np.isfinite(original).all())
        self.assertFalse(np.isfinite(optimized).all())

    def test_a_chain_is_held_to_the_same(self):
        proof = self.space.path / "proof.txt"
        for kind, loses in [("f16", True), ("f32", False)]:
            attention_model(self.model, kind, 64)
            report = self.optimize("--allow-range-changes", "--only", "scale_out_of_lhs", "--proof",
                                   proof)
            self.assertEqual(self.applied(report), {"scale_out_of_lhs"})
            replay = ["compare-graphs", self.model, self.output, "--proof", proof, "--samples", "0"]
            done = run(*replay)
            self.assertEqual(done.returncode, 6 if loses else 0, done.stderr)
            if loses:
                self.assertIn("scale_out_of_lhs", done.stderr)
                self.assertIn("it loses values that its source has in f16", done.stderr)
            done = run(*replay, "--allow-range-changes")
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_other_types_are_rewritten_as_before(self):
        for kind in ["f32", "f64", "bf16"]:
            with self.subTest(kind=kind):
                attention_model(self.model, kind, 128)
                report = self.optimize("--only", "scale_out_of_lhs")
                self.assertEqual(self.applied(report), {"scale_out_of_lhs"})
                self.assertEqual(report["rules_left_out"], [])
                if kind not in NUMPY:
                    continue
                inputs = self.attention_inputs(kind, 128)
                np.testing.assert_allclose(outputs(self.output, inputs),
                                           outputs(self.model, inputs), rtol=1e-4)

    def test_the_report_says_it_in_words(self):
        attention_model(self.model, "f16", 64)
        done = run("optimize-graph", self.model, "--dry-run", "--costs", "roofline", "--verify",
                   "off", "--only", "scale_out_of_lhs")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 rules that match are left out for what they do at the edges of f16: "
                      "scale_out_of_lhs", done.stdout)

    def test_casts_that_round_are_never_dropped(self):
        for outside, inside, value in [("f32", "f16", 1e-9), ("f64", "f32", 1 + 2.0**-40),
                                       ("f32", "bf16", 1 + 2.0**-12)]:
            with self.subTest(outside=outside, inside=inside):
                cast_model(self.model, outside, inside)
                inputs = {"x": np.full(4, value, NUMPY[outside])}
                wanted = outputs(self.model, inputs)
                self.assertNotEqual(wanted[0], -inputs["x"][0])
                self.optimize()
                np.testing.assert_array_equal(outputs(self.output, inputs), wanted)
                mine = self.space.write("casts.rules", (CASTS % (inside, outside)).encode())
                run("verify-rules", mine, "--write")
                run("optimize-graph", self.model, "-o", self.output, "--costs", "roofline",
                    "--verify", "off", "--only-rules", mine)
                np.testing.assert_array_equal(outputs(self.output, inputs), wanted)

    def test_a_label_that_was_edited_is_no_proof(self):
        rule = (RULES / "contraction.rules").read_text()
        rule = rule[rule.index("rule scale_out_of_lhs"):]
        rule = rule[:rule.index("\n\n") + 1]
        mine = self.space.write("mine.rules", rule.encode())
        self.assertEqual(run("verify-rules", mine, "--write").returncode, 0)
        proved = mine.read_text()
        self.assertIn("f16 overflow", proved)
        attention_model(self.model, "f16", 64)
        self.optimize("--only-rules", mine, "--trust-proofs")
        for before, after in [("f16 overflow, ", ""), ("types: any", "types: f32"),
                              ("floats: reassociates", "floats: exact")]:
            with self.subTest(before=before, after=after):
                self.assertIn(before, proved)
                mine.write_text(proved.replace(before, after))
                # Nobody believes the file: what was found here is what counts.
                report = self.optimize("--only-rules", mine)
                self.assertEqual([(r["rule"], r["type"]) for r in report["rules_left_out"]],
                                 [("scale_out_of_lhs", "f16")])
                done = run("optimize-graph", self.model, "-o", self.output, "--costs", "roofline",
                           "--only-rules", mine, "--trust-proofs")
                self.assertEqual(done.returncode, 4, done.stdout)
                self.assertIn("its label was", done.stderr)


if __name__ == "__main__":
    unittest.main()
