"""One node as a model, and the values that it is given: what the cases of all operators share."""

import numpy as np
import onnx
from onnx import helper, numpy_helper

OLDEST_OPSET, NEWEST_OPSET = 7, 27
NEWEST_RUN = 26  # by ONNX Runtime

RANDOM = np.random.default_rng(7)


def real(*shape, dtype=np.float32):
    return RANDOM.uniform(-2, 2, shape).astype(dtype)


def positive(*shape):
    return RANDOM.uniform(0.5, 2, shape).astype(np.float32)


def whole(*shape, low=-5, high=6, dtype=np.int64):
    return RANDOM.integers(low, high, shape).astype(dtype)


def truth(*shape):
    return RANDOM.integers(0, 2, shape).astype(bool)


def ints(*values):
    return np.array(values, dtype=np.int64)


class Case:
    """One node. `inputs` are fed, `constants` are initializers; both are in the node's order as
    `order` says, or inputs first."""

    def __init__(self, op, inputs, constants=(), outputs=1, **attributes):
        self.op, self.outputs, self.attributes = op, outputs, attributes
        self.inputs = [(f"x{k}", value) for k, value in enumerate(inputs)]
        self.constants = [(f"c{k}", value) for k, value in enumerate(constants)]

    def model(self, opset):
        names = [name for name, _ in self.inputs]
        names += ["" if value is None else name for name, value in self.constants]
        outputs = [f"y{k}" for k in range(self.outputs)]
        node = helper.make_node(self.op, names, outputs, **self.attributes)
        inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype),
                                                value.shape) for name, value in self.inputs]
        constants = [numpy_helper.from_array(value, name) for name, value in self.constants
                     if value is not None]
        types = [onnx.ValueInfoProto(name=name) for name in outputs]
        graph = helper.make_graph([node], "g", inputs, types, constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)],
                                  ir_version=min(13, max(8, opset - 12)))
        return onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)


def axes_case(op, opset, since, x, axes, **attributes):
    """The axes are an attribute before opset `since`."""
    if opset < since:
        return Case(op, [x], axes=axes, **attributes)
    return Case(op, [x], [ints(*axes)], **attributes)


def unary(*values, **attributes):
    return lambda op, opset: (Case(op, [value], **attributes) for value in values)


def binary(*pairs):
    return lambda op, opset: (Case(op, list(pair)) for pair in pairs)


def each(*cases):
    return lambda op, opset: cases
