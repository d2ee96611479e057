"""Makes losses.json: what PyTorch's autograd and optimizers come to when they train the built-in
networks, so that tests need no PyTorch.

    python3 -m venv /tmp/torch && /tmp/torch/bin/pip install torch numpy onnx
    BIN_DIR=build/bin /tmp/torch/bin/python tests/golden/training/torch_losses.py [NETWORK...]

The forward pass is the file that build-model writes, each node by a function of PyTorch; the weights
are its initializers. What data is fed is in tests/golden/training/cases.py.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import helper, numpy_helper

import cases

# Where rounding decides on which side of a kink a relu is, losses are those of no runtime alone.
MOST_DIFFERENCE = 3e-5

BIN_DIR = Path(os.environ.get("BIN_DIR", Path(__file__).parents[3] / "build" / "bin"))


def ints(tensor):
    return [int(k) for k in tensor.reshape(-1)]


def pads_of(attributes, dims):
    return attributes.get("pads", [0] * 2 * dims)


def padded(x, pads, value=0.0):
    half = len(pads) // 2
    flat = [p for d in reversed(range(half)) for p in (pads[d], pads[half + d])]
    return F.pad(x, flat, value=value) if any(flat) else x


def conv(attributes, x, w, b=None):
    dims = w.dim() - 2
    function = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[dims]
    return function(padded(x, pads_of(attributes, dims)), w, b,
                    attributes.get("strides", [1] * dims), 0,
                    attributes.get("dilations", [1] * dims), attributes.get("group", 1))


def max_pool(attributes, x):
    kernel, strides = attributes["kernel_shape"], attributes["strides"]
    pads = list(pads_of(attributes, 2))
    for d in range(2 if attributes.get("ceil_mode", 0) else 0):
        size = x.shape[2 + d] + pads[d] + pads[2 + d] - kernel[d]
        pads[2 + d] += -size % strides[d]
    return F.max_pool2d(padded(x, pads, -torch.inf), kernel, strides)


def average_pool(attributes, x):
    pads, kernel = pads_of(attributes, 2), attributes["kernel_shape"]
    assert pads[:2] == pads[2:] and not attributes.get("ceil_mode", 0)
    return F.avg_pool2d(x, kernel, attributes["strides"], pads[:2],
                        count_include_pad=bool(attributes.get("count_include_pad", 0)))


def batch_norm(attributes, x, scale, bias, _mean, _variance):
    return F.batch_norm(x, None, None, scale, bias, True, 0.1, attributes.get("epsilon", 1e-5))


def layer_norm(attributes, x, scale, bias=None):
    axis = attributes.get("axis", -1) % x.dim()
    return F.layer_norm(x, x.shape[axis:], None, None, attributes.get("epsilon", 1e-5)) * scale + (
        0 if bias is None else bias)


def reduced(function):
    def call(attributes, x, axes=None):
        axes = ints(axes) if axes is not None else attributes.get("axes", list(range(x.dim())))
        return function(x, axes, keepdim=bool(attributes.get("keepdims", 1)))
    return call


def sliced(attributes, x, starts, ends, axes=None, steps=None):
    axes = ints(axes) if axes is not None else list(range(len(starts)))
    steps = ints(steps) if steps is not None else [1] * len(axes)
    for axis, start, end, step in zip(axes, ints(starts), ints(ends), steps):
        size = x.shape[axis]
        if step < 0:
            places = list(range(size))[slice(start, None if end < -size else end, step)]
            x = x.index_select(axis, torch.tensor(places))
        else:
            x = x[(slice(None),) * axis + (slice(start, end, step),)]
    return x


def split(attributes, x, sizes=None, count=0):
    axis = attributes.get("axis", 0)
    sizes = ints(sizes) if sizes is not None else attributes.get("split")
    return torch.split(x, sizes if sizes else x.shape[axis] // count, axis)


def pad(attributes, x, pads, value=None, axes=None):
    assert attributes.get("mode", b"constant") == b"constant" and axes is None
    return padded(x, ints(pads), 0.0 if value is None else float(value))


def resize(attributes, x, *rest):
    assert attributes.get("mode", b"nearest") == b"nearest"
    sizes = ints(rest[2]) if len(rest) > 2 else [
        int(s * f) for s, f in zip(x.shape, rest[1].tolist())]
    return F.interpolate(x, size=sizes[2:], mode="nearest")


def gather(attributes, x, index):
    axis = attributes.get("axis", 0)
    index = torch.where(index < 0, index + x.shape[axis], index)
    taken = x.index_select(axis, index.reshape(-1))
    return taken.reshape(x.shape[:axis] + index.shape + x.shape[axis + 1:])


def reshape(_attributes, x, shape):
    sizes = [x.shape[k] if s == 0 else s for k, s in enumerate(ints(shape))]
    return x.reshape(sizes)


def gelu(attributes, x):
    return F.gelu(x, approximate=attributes.get("approximate", b"none").decode())


def top_k(attributes, x, k):
    values, places = torch.topk(x, int(k), attributes.get("axis", -1),
                                bool(attributes.get("largest", 1)))
    return values, places


def cast(attributes, x):
    if attributes["to"] == onnx.TensorProto.FLOAT:
        return x.to(torch.get_default_dtype())  # that of the weights
    return x.to(torch.from_numpy(
        np.zeros(1, helper.tensor_dtype_to_np_dtype(attributes["to"]))).dtype)


def constant_of_shape(attributes, shape):
    value = torch.from_numpy(numpy_helper.to_array(attributes["value"]).copy())
    return value.expand(ints(shape)).clone()


def squeeze(_attributes, x, axes=None):
    for axis in sorted((a % x.dim() for a in ints(axes)), reverse=True):
        x = x.squeeze(axis)
    return x


def unsqueeze(_attributes, x, axes):
    for axis in sorted(ints(axes)):
        x = x.unsqueeze(axis)
    return x


def cumsum(attributes, x, axis):
    assert not attributes.get("reverse", 0)
    sums = torch.cumsum(x, int(axis))
    return sums - x if attributes.get("exclusive", 0) else sums


OPERATORS = {
    "Conv": conv, "MaxPool": max_pool, "AveragePool": average_pool,
    "GlobalAveragePool": lambda a, x: x.mean((2, 3), keepdim=True),
    "BatchNormalization": batch_norm, "LayerNormalization": layer_norm,
    "MatMul": lambda a, x, y: x @ y,
    "Einsum": lambda a, *x: torch.einsum(a["equation"].decode(), *x),
    "Add": lambda a, x, y: x + y, "Sub": lambda a, x, y: x - y, "Mul": lambda a, x, y: x * y,
    "Div": lambda a, x, y: x / y, "Pow": lambda a, x, y: x ** y, "Neg": lambda a, x: -x,
    "Max": lambda a, x, y: torch.maximum(x, y), "Min": lambda a, x, y: torch.minimum(x, y),
    "Relu": lambda a, x: F.relu(x), "Sigmoid": lambda a, x: torch.sigmoid(x),
    "Tanh": lambda a, x: torch.tanh(x), "Erf": lambda a, x: torch.erf(x),
    "Exp": lambda a, x: torch.exp(x), "Log": lambda a, x: torch.log(x),
    "Sqrt": lambda a, x: torch.sqrt(x), "Reciprocal": lambda a, x: 1 / x,
    "Sin": lambda a, x: torch.sin(x), "Cos": lambda a, x: torch.cos(x), "Gelu": gelu,
    "Softmax": lambda a, x: F.softmax(x, a.get("axis", -1)),
    "LogSoftmax": lambda a, x: F.log_softmax(x, a.get("axis", -1)),
    "ReduceMean": reduced(torch.mean), "ReduceSum": reduced(torch.sum),
    "ReduceMax": reduced(torch.amax), "Concat": lambda a, *x: torch.cat(x, a["axis"]),
    "Slice": sliced, "Pad": pad, "Resize": resize, "Gather": gather, "Reshape": reshape,
    "GatherElements": lambda a, x, i: torch.gather(x, a.get("axis", 0), i),
    "Transpose": lambda a, x: x.permute(a["perm"]), "Squeeze": squeeze, "Unsqueeze": unsqueeze,
    "Expand": lambda a, x, s: x.expand(torch.broadcast_shapes(x.shape, ints(s))),
    "Where": lambda a, c, x, y: torch.where(c, x, y), "Equal": lambda a, x, y: x == y,
    "Less": lambda a, x, y: x < y, "LessOrEqual": lambda a, x, y: x <= y,
    "Greater": lambda a, x, y: x > y, "And": lambda a, x, y: x & y, "Or": lambda a, x, y: x | y, "Not": lambda a, x: ~x, "Cast": cast, "TopK": top_k,
    "ConstantOfShape": constant_of_shape, "CumSum": cumsum, "Identity": lambda a, x: x,
    "Constant": lambda a: torch.from_numpy(numpy_helper.to_array(a["value"]).copy()),
    "Range": lambda a, s, e, d: torch.arange(int(s), int(e), int(d)),
}


def forward(graph, values):
    """The first output of the graph that is no vector, and all tensors by name."""
    values = dict(values)
    for node in graph.node:
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        inputs = [values[name] if name else None for name in node.input]
        if node.op_type == "Split":
            results = split(attributes, *inputs, count=len(node.output))
        else:
            results = OPERATORS[node.op_type](attributes, *inputs)
        results = results if isinstance(results, tuple | list) else (results,)
        values.update(zip(node.output, results))
    return values


def loss_of(case, graph, values):
    if case.loss == "output":
        return values[graph.output[-1].name]
    result = values[graph.output[-1].name]
    if case.loss == "mse":
        return F.mse_loss(result, values["target"])
    return F.cross_entropy(result.reshape(-1, result.shape[-1]), values["labels"].reshape(-1))


def optimizer_of(case, weights):
    return {"sgd": lambda: torch.optim.SGD(weights, case.rate),
            "momentum": lambda: torch.optim.SGD(weights, case.rate, 0.9),
            "adam": lambda: torch.optim.Adam(weights, case.rate),
            "adamw": lambda: torch.optim.AdamW(weights, case.rate, weight_decay=0.01)}[
        case.optimizer]()


def train(case, folder):
    built, step = folder / "forward.onnx", folder / "train.onnx"
    subprocess.run([BIN_DIR / "build-model", case.network, *case.settings(), "-o", built, "-q"],
                   check=True, stdout=subprocess.DEVNULL)
    subprocess.run([BIN_DIR / "train-graph", case.network, *case.arguments(), "-o", step, "-q"],
                   check=True, stdout=subprocess.DEVNULL)
    trained = onnx.load(step)
    notes = cases.notes_of(trained)
    weights = set(notes["replaces"].values())
    graph = onnx.load(built).graph
    data = cases.data_of(trained, notes, case.classes)
    losses = [losses_of(case, graph, weights, data, kind) for kind in (torch.float32, torch.float64)]
    difference = max(abs(a - b) for a, b in zip(*losses))
    assert difference < MOST_DIFFERENCE, f"{case.name}: float32 differs by {difference} from float64"
    return losses[1]


def losses_of(case, graph, weights, data, kind):
    """Losses of all steps, computed in floats of that kind."""
    torch.set_default_dtype(kind)
    arrays = {t.name: numpy_helper.to_array(t).copy() for t in graph.initializer} | data
    values = {name: torch.from_numpy(array).to(kind) if array.dtype.kind == "f"
              else torch.from_numpy(array) for name, array in arrays.items()}
    statistics = {name for node in graph.node if node.op_type == "BatchNormalization"
                  for name in node.input[3:]}
    learned = [tensor.requires_grad_() for name, tensor in values.items()
               if name in weights - statistics]
    optimizer = optimizer_of(case, learned)
    losses = []
    for _ in range(cases.STEPS):
        optimizer.zero_grad()
        loss = loss_of(case, graph, forward(graph, values))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main():
    torch.set_num_threads(1)
    path = Path(__file__).with_name("losses.json")
    losses = json.loads(path.read_text()) if path.exists() else {}
    for case in cases.CASES:
        if sys.argv[1:] and case.network not in sys.argv[1:]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            losses[case.name] = train(case, Path(folder))
        print(case.name, losses[case.name][0], losses[case.name][-1], flush=True)
        lines = [f"  {json.dumps(name)}: {json.dumps(values)}" for name, values in losses.items()]
        path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
