"""--contrib and --portable: which operators a result has, and what the report says of them."""

import json
import stat
import sys
import unittest
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

import commands
from commands import run

SPACE = commands.Workspace()
P = SPACE.path
DOMAIN = "com.microsoft"
SUPPORT = Path(__file__).parents[1] / "support"
POSITIONS, HEADS, SIZE = 256, 4, 32
RANDOM = np.random.default_rng(3)


def tearDownModule():
    SPACE.close()


class Block:
    """One block of a transformer over [1, POSITIONS, HEADS * SIZE], as exporters write it."""

    def __init__(self):
        self.nodes, self.weights = [], []

    def weight(self, value):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def add(self, op, *inputs, **attributes):
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def linear(self, x, width, size):
        matrix = (RANDOM.standard_normal((width, size)) / width ** 0.5).astype(np.float32)
        bias = RANDOM.standard_normal(size).astype(np.float32)
        return self.add("Add", self.add("MatMul", x, self.weight(matrix)), self.weight(bias))

    def norm(self, x, width):
        return self.add("LayerNormalization", x, self.weight(np.ones(width, np.float32)),
                        self.weight(np.zeros(width, np.float32)), axis=-1)

    def attention(self, x, mask):
        width = HEADS * SIZE
        apart = self.weight(np.array([1, POSITIONS, HEADS, SIZE]))
        heads = [self.add("Transpose", self.add("Reshape", self.linear(x, width, width), apart),
                          perm=perm) for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])]
        products = self.add("Div", self.add("MatMul", heads[0], heads[1]),
                            self.weight(np.float32(SIZE ** 0.5)))
        if mask:
            products = self.add("Add", products, mask)
        values = self.add("MatMul", self.add("Softmax", products, axis=-1), heads[2])
        together = self.add("Reshape", self.add("Transpose", values, perm=[0, 2, 1, 3]),
                            self.weight(np.array([1, POSITIONS, width])))
        return self.linear(together, width, width)

    def save(self, path, result, inputs):
        shape = [1, POSITIONS, HEADS * SIZE]
        values = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, dims)
                  for name, dims in (("x", shape), *inputs)]
        output = helper.make_tensor_value_info(result, onnx.TensorProto.FLOAT, shape)
        graph = helper.make_graph(self.nodes, "g", values, [output], self.weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)],
                                    ir_version=9), path)


def write_network(path, kind):
    """As GPT-2: normalized before each layer, gelu by tanh, no mask. As BERT: normalized behind each,
    a mask, exact gelu."""
    block, width, mask = Block(), HEADS * SIZE, "mask" if kind == "bert" else None
    x, approximate = "x", "none" if kind == "bert" else "tanh"
    if kind == "bert":
        x = block.norm(block.add("Add", x, block.attention(x, mask)), width)
    else:
        x = block.add("Add", x, block.attention(block.norm(x, width), mask))
    wide = block.linear(x if kind == "bert" else block.norm(x, width), width, 4 * width)
    wide = block.add("Gelu", wide, approximate=approximate)
    result = block.norm(block.add("Add", x, block.linear(wide, 4 * width, width)), width)
    block.save(path, result, [("mask", [1, 1, 1, POSITIONS])] if mask else [])


def scripted_python():
    """A Python whose workers say that operators of ONNX Runtime's own are faster, and nothing else is."""
    path = P / "scripted-python"
    path.write_text(f"#!/bin/sh\nexec '{sys.executable}' '{SUPPORT / 'scripted_onnxruntime.py'}' \"$@\"\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def foreign(path):
    return {node.op_type for node in onnx.load(path).graph.node if node.domain == DOMAIN}


class Contrib(unittest.TestCase):
    def optimize(self, kind, *options):
        model, result, report = P / f"{kind}.onnx", P / f"{kind}-faster.onnx", P / "report.json"
        write_network(model, kind)
        done = run("optimize-graph", model, "-o", result, "--runtime", "onnxruntime", "--python",
                   scripted_python(), "--budget", "0", "--measure-time", "200", "--json",
                   report, *options, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return model, result, json.loads(report.read_text())

    def check_network(self, kind):
        model, result, report = self.optimize(kind, "--contrib")
        kept = {trial["change"] for trial in report["trials"] if trial["verdict"] == "kept"}
        attention = "masked_attention_in_one_kernel" if kind == "bert" else \
            "scaled_attention_in_one_kernel"
        self.assertLessEqual({attention, "bias_into_gelu", "sum_into_layer_norm"}, kept)
        gelu = "BiasGelu" if kind == "bert" else "FastGelu"
        self.assertEqual(foreign(result), {"MultiHeadAttention", gelu, "SkipLayerNormalization"})
        # Both files are read as the same operators, so that our executor compares them.
        done = run("compare-graphs", model, result)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_network_like_gpt2(self):
        self.check_network("gpt2")

    def test_a_network_like_bert(self):
        self.check_network("bert")

    def test_portable_is_the_default(self):
        _, result, report = self.optimize("bert")
        self.assertEqual(foreign(result), set())
        self.assertEqual({opset.domain for opset in onnx.load(result).opset_import}, {""})
        self.assertFalse([t for t in report["trials"] if "attention" in t["change"]])

    def test_portable_is_the_contrary_of_contrib(self):
        words = ["optimize-graph", SPACE.model, "--dry-run", "--costs", "roofline", "--portable"]
        self.assertEqual(run(*words).returncode, 0)
        self.assertEqual(run(*words, "--contrib").returncode, 2)


if __name__ == "__main__":
    unittest.main()
