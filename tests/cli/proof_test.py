"""Nothing unproved reaches a model; and what was proved can be replayed by compare-graphs."""

import json
import os
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import commands
from commands import run

BASELINE = """
rule double_negation
  x: [n, m]
  source
    t = neg(x)
    y = neg(t)
  target
    y = x
"""
MERGE = commands.MERGE_MATMULS

# True, but the prover has no words for such a constant.
UNPROVABLE = MERGE.replace("b: [k, p]\n", "b: [k, p]   big: [] = {1e30}\n").replace(
    "    ab = concat(a, b; axis=1)\n",
    "    ac = mul(a, big)\n    ad = div(ac, big)\n    ab = concat(ad, b; axis=1)\n")

QUOTIENT = """
rule quotient_and_product
  x: [n, m]   z: [n, m]
  source
    t = div(x, z)
    y = mul(t, z)
  target
    y = x
"""


# The maximum is what keeps exp from overflowing.
NAIVE = """
rule without_maximum
  x: [n, m]
  source
    t = reduce_max(x; axes=[1])
    s = sub(x, t)
    e = exp(s)
    d = reduce_sum(e; axes=[1])
    y = div(e, d)
  target
    u = exp(x)
    v = reduce_sum(u; axes=[1])
    y = div(u, v)
"""


def stable_model(path):
    """exp(x − max x) / Σ exp(x − max x)"""
    nodes = [helper.make_node("ReduceMax", ["x"], ["t"], axes=[1]),
             helper.make_node("Sub", ["x", "t"], ["s"]), helper.make_node("Exp", ["s"], ["e"]),
             helper.make_node("ReduceSum", ["e", "axes"], ["d"]),
             helper.make_node("Div", ["e", "d"], ["y"])]
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [64, 512]) for name in "xy"]
    axes = numpy_helper.from_array(np.array([1]), "axes")
    return commands.save(helper.make_graph(nodes, "stable", info[:1], info[1:], [axes]), path)


def quotient_model(path):
    """−(x / z · z)"""
    nodes = [helper.make_node("Div", ["x", "z"], ["q"]), helper.make_node("Mul", ["q", "z"], ["p"]),
             helper.make_node("Neg", ["p"], ["y"])]
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in "xzy"]
    return commands.save(helper.make_graph(nodes, "quotient", info[:2], info[2:]), path)


def parallel_model(path, rows="batch"):
    """Two products of an input that is negated twice."""
    random = np.random.default_rng(0)
    weights = [numpy_helper.from_array(random.standard_normal((8, 4)).astype(np.float32), name)
               for name in ["v", "w"]]
    nodes = [helper.make_node("Neg", ["x"], ["n"]), helper.make_node("Neg", ["n"], ["p"]),
             helper.make_node("MatMul", ["p", "v"], ["y"]),
             helper.make_node("MatMul", ["p", "w"], ["z"])]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "parallel", [info("x", TensorProto.FLOAT, [rows, 8])],
                              [info(name, TensorProto.FLOAT, [rows, 4]) for name in "yz"], weights)
    return commands.save(graph, path)


class Proofs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.space = commands.Workspace()
        cls.addClassCleanup(cls.space.close)
        cls.model = parallel_model(cls.space.path / "parallel.onnx")
        cls.rules_dir = cls.space.path / "rules"
        cls.rules_dir.mkdir()
        (cls.rules_dir / "baseline.rules").write_text(BASELINE)
        (cls.rules_dir / "merge.rules").write_text(MERGE)
        os.environ["SOAPSTONE_RULES_DIR"] = str(cls.rules_dir)
        done = run("verify-rules", "--write")
        assert done.returncode == 0, done.stderr
        cls.output = cls.space.path / "out.onnx"
        cls.proof = cls.space.path / "out.proof"
        cls.shape = ["--shape", "batch=1"]
        done = run("optimize-graph", cls.model, *cls.shape, "-o", cls.output, "--proof", cls.proof,
                   "--costs", "roofline", "--alpha", "2", "--json", "-")
        assert done.returncode == 0, done.stderr
        cls.report = json.loads(done.stdout)

    def optimize(self, *arguments):
        return run("optimize-graph", self.model, *self.shape, "--dry-run", "--costs", "roofline",
                   "--alpha", "2", *arguments)

    def replay(self, a=None, b=None, proof=None, extra=("--samples", "0", "--json", "-")):
        return run("compare-graphs", a or self.model, b or self.output, *self.shape, "--proof",
                   proof or self.proof, *extra)

    def refused(self, done, *words, code=6):
        self.assertEqual(done.returncode, code, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_report_says_that_all_is_proved(self):
        self.assertEqual(self.report["outcome"], "improved")
        self.assertEqual(self.report["baseline_rules"], {"double_negation": 1})
        self.assertEqual([(r["rule"], r["proved"]) for r in self.report["rules_applied"]],
                         [("merge_matmuls", True)])
        self.assertEqual(self.report["unproved_rules"], 0)
        # No rule has parameters; a few are made for the two products, and proved unless that is kept.
        self.assertLessEqual(self.report["proofs_tried"], 6)
        self.assertEqual(self.report["unproved_rules_applied"], [])

    def test_lemmas_of_equality_saturation_are_replayed(self):
        for strategy in ("eqsat", "best"):
            output, proof = self.space.path / "lemma.onnx", self.space.path / "lemma.proof"
            done = run("optimize-graph", self.model, *self.shape, "-o", output, "--proof", proof,
                       "--costs", "roofline", "--alpha", "1", "--strategy", strategy, "--json", "-")
            self.assertEqual(done.returncode, 0, done.stderr)
            report = json.loads(done.stdout)
            self.assertEqual(report["outcome"], "improved")
            self.assertEqual(report["strategy"], strategy)
            self.assertEqual(report["underivable"], 0)
            self.assertEqual(report["certificate"]["regions"], 1)
            self.assertEqual([r["rule"] for r in report["rules_applied"]], ["merge_matmuls"])
            done = self.replay(b=output, proof=proof)
            self.assertEqual(done.returncode, 0, done.stderr)
            text = proof.read_text()
            if strategy == "best":
                continue
            self.assertIn("derive equality_saturation uses=1", text)
            begin = text.index("rule equality_saturation")
            concat = text.index("concat(", begin) + len("concat(")
            a, b = text[concat:text.index(";", concat)].split(", ")
            other = self.space.write("other.proof", (text[:concat] + f"{b}, {a}" +
                                                     text[text.index(";", concat):]).encode())
            self.refused(self.replay(b=output, proof=other), "does not follow from these")
            shorter = self.space.write("short.proof",
                                       text.replace("uses=1", "uses=0").replace(
                                           text[text.index("    use "):text.index("  apply eq")],
                                           "").encode())
            self.refused(self.replay(b=output, proof=shorter), "does not follow from these")

    # A rule of the user's own is proved when it is loaded; this one cannot be.

    def test_rules_without_proof_are_refused(self):
        mine = self.space.write("mine.rules", UNPROVABLE.encode())
        done = self.optimize("--only-rules", mine)
        self.refused(done, f"{mine}:2", "rule merge_matmuls has no proof", f"verify-rules {mine}",
                     "--allow-unproved", code=4)
        self.assertEqual(run("optimize-graph", "--list-rules", "--only-rules", mine).returncode, 0)
        mine = self.space.write("mine.rules", MERGE.encode())
        self.assertEqual(self.optimize("--only-rules", mine).returncode, 0, "this one is proved here")

    def test_an_edited_rule_is_refused(self):
        text = (self.rules_dir / "merge.rules").read_text()
        mine = self.space.write("edited.rules", text.replace("concat(a, b", "concat(b, a").encode())
        self.refused(self.optimize("--only-rules", mine), "has no proof (it is wrong", code=4)
        self.refused(self.optimize("--only-rules", mine, "--trust-proofs"), "changed after its proof",
                     code=4)

    def test_unless_they_are_allowed(self):
        mine = self.space.write("mine.rules", UNPROVABLE.encode())
        done = self.optimize("--only-rules", mine, "--allow-unproved", "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual(report["unproved_rules"], 1)
        self.assertEqual(report["unproved_rules_applied"], ["merge_matmuls"])
        self.assertFalse(report["rules_applied"][0]["proved"])
        done = self.optimize("--only-rules", mine, "--allow-unproved")
        self.assertIn("NOT PROVED: 1 rules were loaded without a proof, 1 of them applied: "
                      "merge_matmuls", done.stdout)

    def proved_report(self, text, name, model, *options):
        mine = self.space.write("mine.rules", text.encode())
        done = run("verify-rules", "--write", mine)
        self.assertEqual(done.returncode, 0, done.stderr)
        # The exit code shows which rules may be used, whatever the check of the model says to the
        # result.
        done = run("optimize-graph", model, "--only-rules", mine, "--costs", "roofline", "--dry-run",
                   "--verify", "off", "--json", "-", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        if report["rules_left_out"]:
            self.assertIn(f"rule {name} matches and is left out", done.stderr)
        return (mine.read_text(), [(r["rule"], r["type"]) for r in report["rules_left_out"]],
                [r["rule"] for r in report["rules_applied"]])

    def test_rules_that_lose_values_are_left_out(self):
        model = stable_model(self.space.path / "stable.onnx")
        arguments = [NAIVE, "without_maximum", model]
        text, left_out, applied = self.proved_report(*arguments)
        self.assertIn("floats: changes-range", text)
        self.assertEqual((left_out, applied), ([("without_maximum", "f32")], []))
        _, left_out, applied = self.proved_report(*arguments, "--allow-range-changes")
        self.assertEqual((left_out, applied), ([], ["without_maximum"]))

    def test_rules_that_only_gain_values_are_not(self):
        model = quotient_model(self.space.path / "quotient.onnx")
        arguments = [QUOTIENT, "quotient_and_product", model]
        text, left_out, applied = self.proved_report(*arguments)
        self.assertIn("floats: extends-range", text)
        self.assertEqual((left_out, applied), ([], ["quotient_and_product"]))
        # In an e-graph the quotient could come back.
        _, left_out, applied = self.proved_report(*arguments, "--strategy", "eqsat")
        self.assertEqual((left_out, applied), ([("quotient_and_product", "f32")], []))

    def test_replay(self):
        done = self.replay()
        self.assertEqual(done.returncode, 0, done.stderr)
        proof = json.loads(done.stdout)["proof"]
        self.assertEqual((proof["steps"], proof["rules"], proof["proofs"]), (3, 2, 2))
        done = self.replay(extra=())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("3 steps hold, by 2 rules proved here", done.stdout)
        self.assertRegex(done.stdout, r"equal on \d\d samples")
        without = run("compare-graphs", self.model, self.output, *self.shape, "--json", "-")
        self.assertIsNone(json.loads(without.stdout)["proof"])

    def test_replay_needs_no_rules(self):
        done = run("compare-graphs", self.model, self.output, *self.shape, "--proof", self.proof,
                   env={**os.environ, "SOAPSTONE_RULES_DIR": "/nonexistent"})
        self.assertEqual(done.returncode, 0, done.stderr)

    def tampered(self, before, after):
        text = self.proof.read_text()
        self.assertIn(before, text)
        return self.space.write("tampered.proof", text.replace(before, after, 1).encode())

    def test_a_changed_step_is_refused(self):
        path = self.tampered("apply merge_matmuls nodes=[", "apply merge_matmuls nodes=[9")
        self.refused(self.replay(proof=path), "step 2 of 3", "does not match there")

    def test_a_changed_rule_is_refused(self):
        path = self.tampered("concat(a, b", "concat(b, a")
        self.refused(self.replay(proof=path), "step 2 of 3", "merge_matmuls is not admitted")

    def test_a_left_out_step_is_refused(self):
        lines = self.proof.read_text().splitlines(keepends=True)
        first = next(k for k, line in enumerate(lines) if line.startswith("  apply"))
        text = "".join(lines[:first] + lines[first + 1:])
        path = self.space.write("short.proof", text.encode())
        self.refused(self.replay(proof=path), "there are 2 steps, not 3", code=3)
        path = self.space.write("short.proof", text.replace("steps 3", "steps 2").encode())
        self.refused(self.replay(proof=path), "step 1 of 2")

    def test_a_changed_output_is_refused(self):
        model = onnx.load(self.output)
        weight = model.graph.initializer[0]
        values = numpy_helper.to_array(weight).copy()
        values.flat[0] = np.nextafter(values.flat[0], np.float32(9))
        weight.CopyFrom(numpy_helper.from_array(values, weight.name))
        changed = self.space.path / "changed.onnx"
        onnx.save(model, changed)
        self.refused(self.replay(b=changed), "they lead to another model than the second one")
        self.refused(self.replay(b=self.model), "they lead to another model")

    def test_outputs_that_changed_names_are_refused(self):
        model = onnx.load(self.output)
        for node in model.graph.node:
            node.output[:] = [{"y": "z", "z": "y"}.get(name, name) for name in node.output]
        changed = self.space.path / "exchanged.onnx"
        onnx.save(model, changed)
        self.refused(self.replay(b=changed), "they lead to another model")

    def test_another_original_is_refused(self):
        done = run("compare-graphs", self.output, self.output, "--shape", "batch=2", "--proof",
                   self.proof, "--samples", "0")
        self.refused(done, "begins at another graph")
        done = run("compare-graphs", self.model, self.output, "--shape", "batch=2", "--proof",
                   self.proof, "--samples", "0")
        self.refused(done, "begins at another graph", "--shape")

    def test_what_is_no_proof_is_refused(self):
        text = self.space.write("text.proof", b"no proof\n")
        self.refused(self.replay(proof=text), "text.proof:1:1: expected `chain`", code=3)
        self.refused(self.replay(proof=self.space.path / "absent"), "cannot be read", code=3)
        self.refused(self.optimize("--proof", self.proof), "--dry-run", code=2)

    def test_a_copy_needs_no_steps(self):
        copy, proof = self.space.path / "copy.onnx", self.space.path / "copy.proof"
        done = run("optimize-graph", self.space.model, "-o", copy, "--proof", proof, "--costs",
                   "roofline")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = run("compare-graphs", self.space.model, copy, "--proof", proof, "--json", "-")
        self.assertEqual(json.loads(done.stdout)["proof"]["steps"], 0)

    def test_constants_may_stay_nodes(self):
        output, proof = self.space.path / "kept.onnx", self.space.path / "kept.proof"
        done = run("optimize-graph", self.model, *self.shape, "-o", output, "--proof", proof,
                   "--costs", "roofline", "--alpha", "2", "--keep-constants")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.replay(b=output, proof=proof)
        self.assertEqual(json.loads(done.stdout)["proof"]["steps"], 2, done.stderr)


if __name__ == "__main__":
    unittest.main()
