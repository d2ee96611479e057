"""Transforms by name: optimize-graph --list-rules, --skip and --only know each of them."""

import json
import unittest

import numpy as np
import onnx
from onnx import helper, numpy_helper

import commands
from commands import run

SPACE = commands.Workspace()
MODEL = SPACE.path / "chain.onnx"
QUICK = ("--dry-run", "--costs", "roofline", "--effort", "1", "--json", "-")


def setUpModule():
    """A product of three matrices in the dearer order."""
    weights = [numpy_helper.from_array(np.ones(dims, np.float32), name)
               for name, dims in (("b", (2, 96)), ("c", (96, 2)))]
    nodes = [helper.make_node("MatMul", ["x", "b"], ["p"]), helper.make_node("MatMul", ["p", "c"], ["y"])]
    values = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, (96, 2)) for name in "xy"]
    graph = helper.make_graph(nodes, "chain", values[:1], values[1:], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), MODEL)


def tearDownModule():
    SPACE.close()


def names_of_transforms(*options):
    listed = run("optimize-graph", "--list-rules", *options, "--json", "-")
    return [entry["transform"] for entry in json.loads(listed.stdout) if "transform" in entry]


class TransformNames(unittest.TestCase):
    def report(self, *options):
        done = run("optimize-graph", MODEL, *QUICK, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def rules(self, *options):
        return {entry["rule"] for entry in self.report(*options)["rules_applied"]}

    def test_all_can_be_skipped(self):
        names = names_of_transforms()
        self.assertIn("product_orders", names)
        skipped = [word for name in names for word in ("--skip", name)]
        self.report(*skipped)
        self.assertEqual(names_of_transforms(*skipped), [])

    def test_one_alone(self):
        rules = self.rules("--only", "product_orders")
        self.assertTrue(rules)
        self.assertTrue(all(rule.startswith("contraction_of_") for rule in rules), rules)
        self.assertEqual(names_of_transforms("--only", "product_orders"), ["product_orders"])

    def test_a_name_that_is_nearly_right(self):
        done = run("optimize-graph", MODEL, "--dry-run", "--skip", "product_order")
        self.assertEqual(done.returncode, 2)
        self.assertIn("did you mean product_orders?", done.stderr)


if __name__ == "__main__":
    unittest.main()
