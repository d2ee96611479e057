"""Guards against what is no finite number stay where a model has them, in each form in which models write them.

In front of each guard stands a function that the search knows by its values and would write anew.
"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

BIN_DIR = Path(os.environ.get("BIN_DIR", Path(__file__).parents[2] / "build" / "bin"))
ROWS, COLUMNS = 4, 8
# Of y: a test, and whether it is true of what is kept.
GUARDS = {
    "IsNaN": ([("IsNaN", ["y"])], False),
    "IsInf": ([("IsInf", ["y"])], False),
    "Equal": ([("Equal", ["y", "y"])], True),
    "LessOrEqual": ([("LessOrEqual", ["y", "y"])], True),
    "GreaterOrEqual": ([("GreaterOrEqual", ["y", "y"])], True),
    "not Equal": ([("Equal", ["y", "y"]), ("Not", ["t0"])], False),
}


def model_with(guard):
    tests, keeps = GUARDS[guard]
    weight = np.random.default_rng(0).standard_normal((COLUMNS, COLUMNS)).astype(np.float32)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Sigmoid", ["a"], ["s"]),
             helper.make_node("Mul", ["a", "s"], ["y"])]
    nodes += [helper.make_node(op, inputs, [f"t{k}"]) for k, (op, inputs) in enumerate(tests)]
    last = f"t{len(tests) - 1}"
    nodes.append(helper.make_node("Where", [last, "y", "zero"] if keeps else [last, "zero", "y"], ["z"]))
    sizes = [ROWS, COLUMNS]
    graph = helper.make_graph(
        nodes, "guarded", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, sizes)],
        [helper.make_tensor_value_info("z", onnx.TensorProto.FLOAT, sizes)],
        [numpy_helper.from_array(weight, "w"), numpy_helper.from_array(np.float32(0), "zero")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def run(path, x):
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]


class Guards(unittest.TestCase):
    def test_guards_stay(self):
        x = np.random.default_rng(1).standard_normal((ROWS, COLUMNS)).astype(np.float32)
        x[1, 2], x[2, 3] = np.nan, np.inf
        for guard in GUARDS:
            with self.subTest(guard), tempfile.TemporaryDirectory(prefix="soapstone-") as folder:
                given, made = Path(folder) / "given.onnx", Path(folder) / "made.onnx"
                onnx.save(model_with(guard), given)
                subprocess.run([BIN_DIR / "optimize-graph", given, "-o", made, "--costs", "roofline", "--cost-db",
                                "none", "--python", sys.executable, "--quiet"], check=True, timeout=300)
                expected = run(given, x)
                self.assertTrue((expected[1] == 0).all() or (expected[2] == 0).any())  # The guard does something.
                np.testing.assert_allclose(run(made, x), expected, rtol=1e-4, atol=1e-5)


if __name__ == "__main__":
    unittest.main()
