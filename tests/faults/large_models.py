"""Large models of several kinds, for tests of how long commands take and how soon they stop.

    python tests/faults/large_models.py KIND NODES OUT.onnx    # KIND: any of KINDS below
"""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Builder:
    """Nodes one after the other, with weights of their own."""

    def __init__(self, shape):
        self.numbers = np.random.default_rng(0)
        self.nodes, self.weights = [], []
        self.inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]

    def weight(self, *shape, scale=None):
        name = f"w{len(self.weights)}"
        values = self.numbers.standard_normal(shape).astype(np.float32)
        self.weights.append(numpy_helper.from_array(
            values * np.float32(scale or 1 / np.sqrt(shape[0])), name))
        return name

    def integers(self, *values):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.array(values, dtype=np.int64), name))
        return name

    def add(self, op, *inputs, **attributes):
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], **attributes))
        return name

    def save(self, path, *outputs):
        graph = helper.make_graph(
            self.nodes, "large", self.inputs,
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
            self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 8
        onnx.save(onnx.shape_inference.infer_shapes(model), path)


UNARY = ["Relu", "Tanh", "Sigmoid", "Abs", "Neg", "Exp", "Sin", "Softplus"]


def chain(nodes, path, shape=(4, 64)):
    """Elementwise operators, one behind the other."""
    b = Builder(shape)
    at = "x"
    while len(b.nodes) < nodes:
        at = b.add(UNARY[len(b.nodes) % len(UNARY)], at)
        at = b.add(["Add", "Mul", "Sub"][len(b.nodes) % 3], at, b.weight(shape[-1]))
        at = b.add("Tanh", at)
    b.save(path, at)


def batch(nodes, path, rows=1_000_000):
    """The same on a large batch."""
    chain(nodes, path, (rows, 8))


def dense_batch(nodes, path, rows=1_000_000):
    """Dense layers on a large batch."""
    b = Builder((rows, 8))
    at = "x"
    while len(b.nodes) < nodes:
        at = b.add("MatMul", at, b.weight(8, 8))
        at = b.add("Add", at, b.weight(8))
        at = b.add("Relu", at)
    b.save(path, b.add("Softmax", at, axis=-1))


def wide_batch(nodes, path, rows=1_000_000):
    """Dense layers that read the same, on a large batch: they can be merged."""
    b = Builder((rows, 8))
    at = "x"
    while len(b.nodes) < nodes:
        sides = [b.add("MatMul", at, b.weight(8, 4)) for _ in range(3)]
        at = b.add("Tanh", b.add("Concat", *sides, axis=1))
        at = b.add("Relu", b.add("MatMul", at, b.weight(12, 8)))
    b.save(path, at)


def rare_batch(nodes, path, rows=1_000_000):
    """Operators that few libraries have kernels for, on a large batch, and products to merge."""
    b = Builder((rows, 8))
    at = "x"
    while len(b.nodes) < nodes:
        at = b.add("Softplus", b.add("CumSum", at, b.integers(1)))
        largest = b.add("ReduceLogSumExp", at, axes=[1], keepdims=1)
        at = b.add("Where", b.add("Greater", at, largest), at, b.add("Floor", at))
        at = b.add("Concat", b.add("MatMul", at, b.weight(8, 4)),
                   b.add("MatMul", at, b.weight(8, 4)), axis=1)
    b.save(path, at)


def mlp(nodes, path):
    """Dense layers, one behind the other."""
    b = Builder((4, 64))
    at = "x"
    while len(b.nodes) < nodes:
        at = b.add("MatMul", at, b.weight(64, 64))
        at = b.add("Add", at, b.weight(64))
        at = b.add("Relu", at)
    b.save(path, at)


def towers(nodes, path):
    """Dense layers side by side that read the same, added up."""
    b = Builder((4, 32))
    ends = []
    while len(b.nodes) < nodes:
        side = b.add("MatMul", "x", b.weight(32, 32))
        side = b.add("Relu", b.add("Add", side, b.weight(32)))
        ends.append(b.add("MatMul", side, b.weight(32, 32)))
    at = ends[0]
    for end in ends[1:]:
        at = b.add("Add", at, end)
    b.save(path, at)


def joined(nodes, path):
    """Unlike branches that are joined, in layers."""
    b = Builder((4, 32))
    at = "x"
    while len(b.nodes) < nodes:
        sides = [b.add("MatMul", at, b.weight(32, 16)), b.add("MatMul", at, b.weight(32, 8)),
                 b.add("Slice", b.add("Relu", at), b.integers(0), b.integers(8), b.integers(1))]
        at = b.add("Tanh", b.add("Concat", *sides, axis=1))
    b.save(path, at)


def attention(nodes, path):
    """A transformer."""
    b = Builder((1, 16, 32))
    at = "x"
    while len(b.nodes) < nodes:
        q, k, v = (b.add("Transpose", b.add("Reshape", b.add(
            "Add", b.add("MatMul", at, b.weight(32, 32)), b.weight(32)),
            b.integers(1, 16, 4, 8)), perm=p) for p in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
        scores = b.add("Div", b.add("MatMul", q, k), b.weight(1, scale=3))
        mixed = b.add("MatMul", b.add("Softmax", scores, axis=-1), v)
        mixed = b.add("Reshape", b.add("Transpose", mixed, perm=[0, 2, 1, 3]),
                      b.integers(1, 16, 32))
        at = b.add("Add", at, b.add("MatMul", mixed, b.weight(32, 32)))
        at = b.add("LayerNormalization", at, b.weight(32), b.weight(32))
        wide = b.add("Relu", b.add("MatMul", at, b.weight(32, 64)))
        at = b.add("Add", at, b.add("MatMul", wide, b.weight(64, 32)))
    b.save(path, at)


def convolutions(nodes, path):
    """Residual blocks of convolutions."""
    b = Builder((1, 16, 28, 28))
    at = "x"
    while len(b.nodes) < nodes:
        side = b.add("Relu", b.add("Conv", at, b.weight(16, 16, 3, 3, scale=0.1), b.weight(16),
                                   pads=[1] * 4))
        side = b.add("Conv", side, b.weight(16, 16, 1, 1, scale=0.1))
        at = b.add("Relu", b.add("Add", at, side))
    b.save(path, at)


def images(nodes, path):
    """Convolutions on a large image."""
    b = Builder((1, 8, 1024, 1024))
    at = "x"
    while len(b.nodes) < nodes:
        at = b.add("Relu", b.add("Conv", at, b.weight(8, 8, 3, 3, scale=0.1), b.weight(8),
                                 pads=[1] * 4))
    b.save(path, at)


def weights(nodes, path):
    """Products of large weights that are constant, which are folded."""
    b = Builder((1, 1024))
    at = "x"
    while len(b.nodes) < nodes:
        product = b.add("MatMul", b.weight(1024, 1024), b.weight(1024, 1024))
        product = b.add("Tanh", b.add("Transpose", product, perm=[1, 0]))
        at = b.add("MatMul", at, b.add("Add", product, b.weight(1024, 1024)))
    b.save(path, at)


def arithmetic(nodes, path):
    """Sums and products of the same numbers in many orders."""
    b = Builder((8, 32))
    values = ["x", b.add("Neg", "x"), b.add("Exp", "x")]
    while len(b.nodes) < nodes:
        one, two = (values[int(k)] for k in b.numbers.integers(max(0, len(values) - 12),
                                                               len(values), 2))
        op = ["Add", "Mul", "Sub", "Max"][int(b.numbers.integers(4))]
        values.append(b.add("Tanh", b.add(op, one, two)))
    at = values[-1]
    for value in values[-12:-1]:
        at = b.add("Add", at, value)
    b.save(path, at)


def moved(nodes, path):
    """Elements that are moved to and fro."""
    b = Builder((4, 8, 16))
    at = "x"
    while len(b.nodes) < nodes:
        at = b.add("Transpose", at, perm=[0, 2, 1])
        at = b.add("Mul", at, b.weight(16, 8))
        at = b.add("Reshape", at, b.integers(4, 128))
        at = b.add("Relu", b.add("Add", at, b.weight(128)))
        at = b.add("Reshape", at, b.integers(4, 8, 16))
    b.save(path, at)


KINDS = {kind.__name__: kind for kind in
         (chain, batch, dense_batch, wide_batch, rare_batch, mlp, towers, joined, attention, convolutions, images, weights,
          arithmetic, moved)}


if __name__ == "__main__":
    KINDS[sys.argv[1]](int(sys.argv[2]), sys.argv[3])
