"""optimize-graph --batch: which models take it, what is written, and what is said where it does not
fit."""

import json
import sys
import unittest
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

sys.path.append(str(Path(__file__).parents[1]))
import commands
from commands import run

SPACE = commands.Workspace()
P = SPACE.path
QUICK = ["--costs", "roofline", "--budget", "200", "--time", "0", "--python", sys.executable]


def tearDownModule():
    SPACE.close()


def model(name, nodes, dims=(1, 8), weights=()):
    graph = helper.make_graph(
        nodes, name, [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, key) for key, value in dict(weights).items()])
    return commands.save(graph, P / f"{name}.onnx")


def first_size(path):
    return onnx.load(path).graph.input[0].type.tensor_type.shape.dim[0].dim_value


class Batch(unittest.TestCase):
    def optimize(self, path, *arguments, code=0):
        done = run("optimize-graph", path, "-o", P / "out.onnx", *QUICK, *arguments,
                   "--json", P / "report.json")
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr, json.loads((P / "report.json").read_text())

    def test_a_batch_of_one_becomes_many(self):
        negations = [helper.make_node("Neg", ["x"], ["a"]), helper.make_node("Neg", ["a"], ["b"]),
                     helper.make_node("MatMul", ["b", "w"], ["c"]),
                     helper.make_node("Relu", ["c"], ["y"])]
        w = np.random.default_rng(0).standard_normal((8, 4)).astype(np.float32)
        path = model("negations", negations, weights={"w": w})
        _, report = self.optimize(path, "--batch", "4")
        self.assertIn(report["result"], ("baseline", "rewritten"))
        self.assertTrue(report["judge"]["looked"])
        self.assertEqual(first_size(P / "out.onnx"), 4)
        x = np.random.default_rng(1).standard_normal((4, 8)).astype(np.float32)
        run_one = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run
        run_all = onnxruntime.InferenceSession(P / "out.onnx",
                                               providers=["CPUExecutionProvider"]).run
        y = run_all(None, {"x": x})[0]
        for item in range(4):
            np.testing.assert_allclose(y[item:item + 1], run_one(None, {"x": x[item:item + 1]})[0],
                                       rtol=1e-5, atol=1e-6)

    def test_an_open_batch_is_set_and_kept_without_gains_too(self):
        self.optimize(SPACE.open_batch, "--batch", "4")
        self.assertEqual(first_size(P / "out.onnx"), 4)

    def test_items_that_depend_on_each_other(self):
        mean = [helper.make_node("ReduceMean", ["x"], ["m"], axes=[0], keepdims=1),
                helper.make_node("Sub", ["x", "m"], ["y"])]
        error, _ = self.optimize(model("mean", mean), "--batch", "4", code=3)
        self.assertIn("'y' is another for an item among others than alone", error)

    def test_results_without_a_batch(self):
        total = [helper.make_node("ReduceSum", ["x"], ["y"], keepdims=0)]
        error, _ = self.optimize(model("total", total), "--batch", "4", code=3)
        self.assertIn("'y' is the same for all items", error)

    def test_operators_that_fix_the_batch(self):
        fixed = [helper.make_node("Reshape", ["x", "s"], ["y"])]
        shape = {"s": np.array([1, 8], np.int64)}
        error, _ = self.optimize(model("fixed", fixed, weights=shape), "--batch", "4", code=3)
        self.assertIn("fixed.onnx: the model allows no other batch", error)
        self.assertIn("export the model with it", error)

    def test_a_model_of_another_batch(self):
        relu = [helper.make_node("Relu", ["x"], ["y"])]
        error, _ = self.optimize(model("two", relu, dims=(2, 8)), "--batch", "4", code=3)
        self.assertIn("no input has a first size that is open or 1", error)

    def test_proofs_are_of_the_file_that_was_given(self):
        error, _ = self.optimize(SPACE.open_batch, "--batch", "4", "--proof", P / "p.proof", code=2)
        self.assertIn("begins at the file that was given", error)


if __name__ == "__main__":
    unittest.main()
