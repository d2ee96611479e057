"""What the networks of this folder are written in: a graph in ONNX's operators, as an exporter gives
it, beside the graph of the same function that an expert would write by hand."""

import hashlib

import numpy as np
import onnx
from onnx import helper, numpy_helper

OPSET = 23
SEED = "soapstone-unseen-1"
NETWORKS = {}
SETS = ("first", "later", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
        "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth",
        "sixteenth", "seventeenth", "eighteenth", "nineteenth", "twentieth")  # the oldest first
HALF_LOCKED = {"fourth"}


class Graph:
    """Operators are methods: g.Conv(x, w, pads=[1, 1, 1, 1]) appends a Conv and returns the name of its
    result, or a list of names if `results` says how many there are. Arrays, numbers and lists of
    integers are weights."""

    def __init__(self):
        self.nodes, self.weights, self.count, self.shared = [], [], 0, {}

    def name(self):
        self.count += 1
        return f"t{self.count}"

    def operand(self, value):
        if isinstance(value, str):
            return value
        if isinstance(value, np.ndarray) and id(value) in self.shared:
            return self.shared[id(value)][0]  # a weight that several nodes read is one
        if isinstance(value, (list, tuple)) or isinstance(value, int):
            array = np.array(value, np.int64)
        else:
            array = np.asarray(value)
            if array.dtype == np.float64:
                array = array.astype(np.float32)
        name = self.name()
        self.weights.append(numpy_helper.from_array(array, name))
        self.shared[id(value)] = (name, value)
        return name

    def __getattr__(self, op):
        def append(*operands, results=1, **attributes):
            names = [self.name() for _ in range(results)]
            inputs = [self.operand(value) for value in operands]
            self.nodes.append(helper.make_node(op, inputs, names, **attributes))
            return names if results > 1 else names[0]
        return append

    def linear(self, x, weight, bias):
        return self.Add(self.MatMul(x, weight), bias)


class Random:
    """Weights of a network, the same in each run: the name of the network is their seed."""

    def __init__(self, name):
        seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")
        self.generator = np.random.default_rng(seed)

    def __call__(self, *shape):
        """Scaled so that layers neither grow nor vanish."""
        width = np.prod(shape[1:]) if len(shape) > 2 else shape[0]
        return self.generator.standard_normal(shape) / max(1.0, float(width)) ** 0.5

    def positive(self, *shape):
        return self.generator.uniform(0.5, 1.5, shape)

    def norm(self, width):
        """Scale, offset, mean and variance of a batch norm."""
        return (self.positive(width), self(width), self(width), self.positive(width))


class Network:
    def __init__(self, function, inputs):
        self.name, self.inputs = function.__name__, inputs
        self.given, self.expert = function(Random(self.name))

    def save(self, form, path):
        g = Graph()
        results = form(g, *self.inputs)
        results = [results] if isinstance(results, str) else list(results)
        named = [g.Identity(name) for name in results]
        value = helper.make_tensor_value_info
        kind = onnx.TensorProto.FLOAT
        graph = helper.make_graph(
            g.nodes, self.name, [value(k, kind, shape) for k, shape in self.inputs.items()],
            [value(name, kind, None) for name in named], g.weights)
        for k, name in enumerate(named):  # results have the same names in both forms
            for node in graph.node:
                node.output[:] = [f"result{k}" if out == name else out for out in node.output]
            graph.output[k].name = f"result{k}"
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)],
                                  ir_version=10)
        model = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
        del model.graph.value_info[:]
        onnx.save(model, path)


def network(**inputs):
    """Registers a network. The function that follows is given its weights' source and returns both
    forms; each is a function of a Graph and of the inputs' names."""
    def register(function):
        if function.__name__ in NETWORKS:
            raise ValueError(f"there are two networks {function.__name__}")
        NETWORKS[function.__name__] = (function, inputs)
        return function
    return register


def build(name):
    return Network(*NETWORKS[name])


def members(which):
    """The names of a set: of the first one in this folder, of another in a folder of its name."""
    return [name for name, (function, _) in NETWORKS.items()
            if (function.__module__.rpartition(".")[0] or "first") == which]


def second_half(which):
    """Half of a set, picked by the seed alone."""
    def rank(name):
        return hashlib.sha256(f"{SEED}/{name}".encode()).digest()
    names = members(which)
    return set(sorted(names, key=rank)[:len(names) // 2])


def is_locked(name):
    """Of a locked network, whoever works on rules or on the search sees no result and reads no text."""
    return any(name in second_half(which) for which in HALF_LOCKED)


def folded(weight, norm, epsilon=1e-5, bias=0.0):
    """Weight and bias of a convolution with the batch norm behind it folded in."""
    scale, offset, mean, variance = norm
    factor = scale / np.sqrt(variance + epsilon)
    return weight * factor.reshape(-1, *[1] * (weight.ndim - 1)), offset + (bias - mean) * factor


def centered(weight, height, width=None):
    """A kernel inside a larger one of zeros."""
    width = width or height
    above, left = (height - weight.shape[2]) // 2, (width - weight.shape[3]) // 2
    return np.pad(weight, ((0, 0), (0, 0), (above, height - weight.shape[2] - above),
                           (left, width - weight.shape[3] - left)))


def passing(channels, kernel, groups=1):
    """The kernel of a convolution that passes its input on."""
    weight = np.zeros((channels, channels // groups, kernel, kernel))
    for k in range(channels):
        weight[k, k % (channels // groups), kernel // 2, kernel // 2] = 1
    return weight


def side_by_side(*weights):
    return np.concatenate(weights, axis=-1)


def by_head(size, *weights):
    """Weights or biases as a batch with an item for each head, so that no transpose divides heads."""
    whole = side_by_side(*weights)
    return whole.reshape(-1, whole.shape[-1] // size, size).transpose(1, 0, 2)


def block_diagonal(weights):
    """Independent layers as one: matrices, or kernels of one size, along a diagonal."""
    whole = np.zeros((*np.sum([weight.shape[:2] for weight in weights], axis=0),
                      *weights[0].shape[2:]))
    first, second = 0, 0
    for weight in weights:
        whole[first:first + weight.shape[0], second:second + weight.shape[1]] = weight
        first, second = first + weight.shape[0], second + weight.shape[1]
    return whole
