"""ONNX's light models with weights that mean something.

The `onnx` package has well-known networks whose weights are one number repeated. Here each weight is
drawn by its role, and batch norms get the statistics of the activations that reach them, so that
outputs depend on inputs and stay finite.
"""

from collections import defaultdict
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

FOLDER = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
BATCH_NORM = ("data", "scale", "shift", "mean", "variance")


def names():
    return sorted(path.stem for path in FOLDER.glob("light_*.onnx"))


def build(name):
    rng = np.random.default_rng(0)
    model = onnx.load(FOLDER / f"{name}.onnx")
    weights = {each.name for each in model.graph.initializer}
    inputs = [each for each in model.graph.input if each.name not in weights]
    store_constants(model.graph)
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    model.ir_version = 8  # From 4 on, weights need not be inputs.
    draw_weights(model.graph, rng)
    calibrate(model, rng)
    return model


def store_constants(graph):
    """Makes weights of the nodes that fill a tensor with one number."""
    values = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    kept = []
    for node in graph.node:
        if node.op_type == "ConstantOfShape":
            array = np.zeros(values[node.input[0]], np.float32)
            graph.initializer.append(numpy_helper.from_array(array, node.output[0]))
        else:
            kept.append(node)
    del graph.node[:]
    graph.node.extend(kept)
    used = {name for node in kept for name in node.input}
    needed = [each for each in graph.initializer if each.name in used]
    del graph.initializer[:]
    graph.initializer.extend(needed)


def roles(graph):
    """Weight: what it does in the node that reads it, also behind a node that only reshapes it."""
    found = {}
    readers = defaultdict(list)
    for node in graph.node:
        for position, name in enumerate(node.input):
            readers[name].append((node, position))
    for each in graph.initializer:
        node, position = readers[each.name][0]
        if node.op_type in ("Unsqueeze", "Reshape") and position == 0:
            node, position = readers[node.output[0]][0]
        if node.op_type == "BatchNormalization":
            found[each.name] = BATCH_NORM[position]
        elif node.op_type in ("Conv", "Gemm"):
            found[each.name] = "kernel" if position == 1 else "shift"
        elif node.op_type in ("Mul", "Add"):
            found[each.name] = "scale" if node.op_type == "Mul" else "shift"
    return found


def draw(role, shape, rng):
    if role == "kernel":  # It keeps the variance of activations behind a ReLU.
        inputs = int(np.prod(shape[1:]))
        return rng.normal(0, np.sqrt(2 / inputs), shape)
    if role in ("scale", "variance"):
        return rng.uniform(0.75, 1.25, shape)
    return rng.normal(0, 0.05, shape)


def draw_weights(graph, rng):
    role_of = roles(graph)
    for each in graph.initializer:
        if each.data_type != TensorProto.FLOAT:
            continue
        array = draw(role_of[each.name], tuple(each.dims), rng).astype(np.float32)
        each.CopyFrom(numpy_helper.from_array(array, each.name))


def normalize(node):
    """Nodes for a batch norm by the statistics of its own input, named MEAN__ and VARIANCE__."""
    data, scale, shift, mean, variance = node.input[:5]
    epsilon = next((each.f for each in node.attribute if each.name == "epsilon"), 1e-5)
    of = node.output[0]

    def make(op, inputs, output, **attributes):
        return helper.make_node(op, inputs, [output], **attributes)

    return [make("ReduceMean", [data], mean + "__", axes=[0, 2, 3]),
            make("Sub", [data, mean + "__"], of + "__centered"),
            make("Mul", [of + "__centered", of + "__centered"], of + "__squared"),
            make("ReduceMean", [of + "__squared"], variance + "__", axes=[0, 2, 3]),
            make("Constant", [], of + "__epsilon",
                 value=helper.make_tensor(of, TensorProto.FLOAT, [], [epsilon])),
            make("Add", [variance + "__", of + "__epsilon"], of + "__safe"),
            make("Sqrt", [of + "__safe"], of + "__deviation"),
            make("Div", [of + "__centered", of + "__deviation"], of + "__normal"),
            make("Unsqueeze", [scale], of + "__scale", axes=[1, 2]),
            make("Unsqueeze", [shift], of + "__shift", axes=[1, 2]),
            make("Mul", [of + "__normal", of + "__scale"], of + "__scaled"),
            make("Add", [of + "__scaled", of + "__shift"], of)]


def calibrate(model, rng):
    """One run of a copy whose batch norms take the statistics of their input, and tell them."""
    norms = [node for node in model.graph.node if node.op_type == "BatchNormalization"]
    if not norms:
        return
    probe = onnx.ModelProto()
    probe.CopyFrom(model)
    del probe.graph.node[:]
    for node in model.graph.node:
        batch_norm = node.op_type == "BatchNormalization"
        probe.graph.node.extend(normalize(node) if batch_norm else [node])
    wanted = [name for node in norms for name in node.input[3:5]]
    del probe.graph.output[:]
    probe.graph.output.extend(helper.make_tensor_value_info(name + "__", TensorProto.FLOAT, None)
                              for name in wanted)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # It would warn of each mean and variance that nobody reads.
    session = onnxruntime.InferenceSession(probe.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    feed = {each.name: rng.normal(size=each.shape).astype(np.float32)
            for each in session.get_inputs()}
    measured = dict(zip(wanted, session.run(None, feed)))
    for each in model.graph.initializer:
        if each.name in measured:
            array = measured[each.name].reshape(tuple(each.dims))
            each.CopyFrom(numpy_helper.from_array(array, each.name))
