"""Random typed ONNX models: a pool of tensors that grows node by node (node_templates.py has the
nodes), with the sources of rewrite rules put among them. Knows nothing of Soapstone but those."""

import random
from dataclasses import dataclass, field

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# By the letters that node_templates.py uses.
NUMPY = {"f": np.dtype(np.float32), "d": np.dtype(np.float64), "h": np.dtype(np.float16),
         "b": np.dtype(ml_dtypes.bfloat16), "l": np.dtype(np.int64), "i": np.dtype(np.int32),
         "B": np.dtype(np.uint8), "c": np.dtype(np.int8), "?": np.dtype(np.bool_)}
ONNX = {"f": TensorProto.FLOAT, "d": TensorProto.DOUBLE, "h": TensorProto.FLOAT16,
        "b": TensorProto.BFLOAT16, "l": TensorProto.INT64, "i": TensorProto.INT32,
        "B": TensorProto.UINT8, "c": TensorProto.INT8, "?": TensorProto.BOOL}
LETTER = {number: letter for letter, number in ONNX.items()}
FLOATS = "fdhb"
SIZES = (1, 1, 2, 2, 3, 3, 4, 5, 6, 8)
MOST_ELEMENTS = 1500


class Unfit(Exception):
    """A template found nothing to work on."""


@dataclass
class Tensor:
    name: str
    type: str
    shape: tuple
    constant: bool = False

    @property
    def rank(self):
        return len(self.shape)

    @property
    def size(self):
        return int(np.prod(self.shape, dtype=np.int64))


@dataclass
class Model:
    """A model with what a judge must know of its inputs."""
    proto: onnx.ModelProto
    seed: int
    # Inputs that are indices: (low, high), high excluded.
    ranges: dict = field(default_factory=dict)
    # Large and special inputs are left out: the model casts floats to integers, and runtimes differ
    # if these do not fit.
    tame: bool = False
    rule: int | None = None  # Number of the rule whose source is in the model.
    # Sizes of open dimensions for which the model is to be optimized.
    sizes: dict = field(default_factory=dict)

    def open_a_dimension(self, chooser):
        """Inputs say N where they have one of their sizes; outputs say nothing of their shapes."""
        dims = [d for v in self.proto.graph.input for d in v.type.tensor_type.shape.dim]
        known = sorted({d.dim_value for d in dims} - {1})
        if not known:
            return
        size = chooser.choice(known)
        for dim in dims:
            if dim.dim_value == size:
                dim.dim_param = "N"
        for value in self.proto.graph.output:
            value.type.tensor_type.ClearField("shape")
        self.sizes = {"N": size}


class ModelBuilder:
    def __init__(self, seed, opset, main):
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.opset = opset
        self.main = main
        self.pool, self.nodes, self.inputs, self.weights = [], [], [], {}
        self.ranges, self.wanted, self.tame, self.count = {}, set(), False, 0
        self.sizes = [self.random.choice(SIZES) for _ in range(3)]

    # --- Choices ------------------------------------------------------------------------------

    def chance(self, probability):
        return self.random.random() < probability

    def choice(self, options):
        return self.random.choice(options)

    def size(self):
        """Often one of few, so that sizes are equal."""
        return self.choice(self.sizes) if self.chance(0.6) else self.choice(SIZES)

    def shape(self, rank=None, least=0, most=4):
        if rank is None:
            rank = self.choice([r for r in (0, 1, 2, 2, 3, 3, 4, 4, 5) if least <= r <= most])
        shape = [self.size() for _ in range(rank)]
        while np.prod(shape, dtype=np.int64) > MOST_ELEMENTS:
            shape[shape.index(max(shape))] //= 2
        return tuple(shape)

    def axis(self, rank, since=7):
        """An axis, negative now and then where the operator may have that."""
        axis = self.random.randrange(rank)
        return axis - rank if self.opset >= max(since, 11) and self.chance(0.3) else axis

    def broadcastable(self, shape):
        """A shape that broadcasts to this one."""
        kind = self.random.random()
        if kind < 0.45:
            return tuple(shape)
        if kind < 0.6:
            return ()
        kept = tuple(shape)[self.random.randrange(len(shape) + 1):]
        if kind < 0.75:
            return kept
        return tuple(1 if self.chance(0.5) else s for s in kept)

    # --- Tensors ------------------------------------------------------------------------------

    def name(self, hint):
        self.count += 1
        return f"{hint}{self.count}"

    def input(self, kind, shape, low=None, high=None):
        tensor = Tensor(self.name("x"), kind, tuple(shape))
        self.inputs.append(tensor)
        if low is not None:
            self.ranges[tensor.name] = (low, high)
        else:
            self.pool.append(tensor)
        return tensor

    def weight(self, kind, shape, values=None):
        shape = tuple(shape)
        if values is None:
            values = self.weight_values(kind, shape)
        tensor = Tensor(self.name("w"), kind, shape, constant=True)
        values = np.asarray(values).astype(NUMPY[kind])
        if shape == (0,):
            values = values[:0]
        self.weights[tensor.name] = (np.full(shape, values.reshape(())) if values.size == 1
                                     else values.reshape(shape))
        return tensor

    def weight_values(self, kind, shape):
        """Often what rules look for: neutral elements, units, values that occur elsewhere."""
        n = int(np.prod(shape, dtype=np.int64))
        if kind == "?":
            return self.numbers.integers(0, 2, n)
        if kind not in FLOATS:
            return self.numbers.integers(-3 if kind in "lic" else 0, 4, n)
        way = self.random.random()
        if way < 0.06:
            return np.zeros(n)
        if way < 0.16:
            return np.full(n, self.choice([1, 1, -1, 2, 0.5, 3, -0.0]))
        if way < 0.22 and len(shape) >= 2:
            return np.broadcast_to(np.eye(*shape[-2:]), shape)
        if way < 0.27:
            return self.numbers.integers(-2, 3, n)
        if way < 0.33:
            for values in self.weights.values():
                if values.shape == tuple(shape) and values.dtype == NUMPY[kind]:
                    return values
        values = self.numbers.standard_normal(n) * self.choice([1, 1, 1, 0.1, 3])
        if way > 0.98:
            values[self.numbers.random(n) < 0.3] = -np.inf
        return values

    def source(self, kind, shape, constant=0.4):
        """A tensor from outside: an input or a weight."""
        return (self.weight if self.chance(constant) else self.input)(kind, shape)

    def pick(self, kinds, least=0, most=5, where=lambda t: True, fresh=True):
        """A tensor of the pool, one of the last rather than of the first, or a new input."""
        fitting = [t for t in self.pool
                   if t.type in kinds and least <= t.rank <= most and where(t)]
        if fitting and not (fresh and self.chance(0.08)):
            at = int(len(fitting) * self.random.random() ** 0.5)
            return fitting[min(at, len(fitting) - 1)]
        if not fresh:
            raise Unfit
        kind = self.main if self.main in kinds else self.choice(kinds)
        for _ in range(20):
            tensor = Tensor("", kind, self.shape(least=least, most=most))
            if where(tensor):
                return self.input(kind, tensor.shape)
        raise Unfit

    def partner(self, tensor, shape=None, constant=0.45):
        """A second operand of the same type: of the pool, or from outside."""
        shape = self.broadcastable(tensor.shape) if shape is None else tuple(shape)
        same = [t for t in self.pool if t.type == tensor.type and t.shape == shape]
        if same and self.chance(0.6):
            return self.choice(same)
        return self.source(tensor.type, shape, constant)

    def vector(self, kind, n):
        """A parameter of a node: bias, scale. Those of networks are finite."""
        if self.chance(0.15):
            return self.input(kind, (n,))
        values = np.asarray(self.weight_values(kind, (n,)), np.float64)
        return self.weight(kind, (n,), np.where(np.isfinite(values), values, 1))

    def ints(self, values):
        return self.weight("l", (len(values),), values)

    def scalar(self, kind, value):
        return self.weight(kind, (), value)

    # --- Nodes --------------------------------------------------------------------------------

    def node(self, op, inputs, types, shapes, pool=True, **attributes):
        """Appends a node; inputs that are None are left out. The first output."""
        outputs = [Tensor(self.name("t"), t, tuple(s)) for t, s in zip(types, shapes)]
        if any(t.size > MOST_ELEMENTS or min(t.shape, default=1) < 1 for t in outputs):
            raise Unfit
        names = ["" if t is None else t.name for t in inputs]
        while names and not names[-1]:
            names.pop()
        attributes = {k: v for k, v in attributes.items() if v is not None}
        self.nodes.append(helper.make_node(op, names, [t.name for t in outputs],
                                           self.name(op.lower()), **attributes))
        if pool:
            self.pool.extend(outputs)
        return outputs[0]

    def repeat_a_node(self):
        """The same computation once more, for what merges duplicates."""
        old = self.choice(self.nodes)
        known = {t.name: t for t in self.pool}
        if not all(name in known for name in old.output):
            raise Unfit
        node = onnx.NodeProto()
        node.CopyFrom(old)
        node.name = self.name("again")
        for k, name in enumerate(old.output):
            node.output[k] = self.name("t")
            self.pool.append(Tensor(node.output[k], known[name].type, known[name].shape))
        self.nodes.append(node)

    # --- Sources of rules ---------------------------------------------------------------------

    def embed(self, source, constant_inputs):
        """Puts a small model of type f among the nodes, as one of this model's main type."""
        if self.main != "f" and self.main in FLOATS:
            retype(source, {TensorProto.FLOAT: ONNX[self.main]})
        graph, renamed = source.graph, {"": ""}
        index_bounds = bounds_of_indices(graph)
        for value, constant in zip(graph.input, constant_inputs):
            kind = LETTER[value.type.tensor_type.elem_type]
            shape = tuple(d.dim_value for d in value.type.tensor_type.shape.dim)
            renamed[value.name] = self.feed(kind, shape, constant,
                                            index_bounds.get(value.name)).name
        for weight in graph.initializer:
            renamed[weight.name] = self.name("k")
            self.weights[renamed[weight.name]] = numpy_helper.to_array(weight)
        for node in graph.node:
            for k, name in enumerate(node.input):
                node.input[k] = renamed[name]
            for k, name in enumerate(node.output):
                renamed[name] = self.name("s") if name else ""
                node.output[k] = renamed[name]
            node.name = self.name("rule")
            self.nodes.append(node)
        self.wanted |= {renamed[value.name] for value in graph.output}
        inferred = {v.name: v for v in [*graph.value_info, *graph.output]}
        for name, value in inferred.items():
            tensor = value.type.tensor_type
            shape = tuple(d.dim_value for d in tensor.shape.dim)
            if name not in renamed or tensor.elem_type not in LETTER or 0 in shape:
                continue
            result = Tensor(renamed[name], LETTER[tensor.elem_type], shape)
            self.pool.append(result)
            # A result that is an output keeps its name, which keeps rules from being applied.
            if renamed[name] in self.wanted and result.type in "fd" and self.chance(0.6):
                self.node(self.choice(["Relu", "Neg", "Tanh"]), [result], [result.type], [shape])

    def feed(self, kind, shape, constant, bound):
        if bound is not None:
            if constant or self.chance(0.3):
                return self.weight(kind, shape, self.numbers.integers(-bound, bound, shape))
            return self.input(kind, shape, -bound, bound)
        if constant:
            return self.weight(kind, shape)
        same = [t for t in self.pool if t.type == kind and t.shape == tuple(shape)]
        if same and self.chance(0.5):
            return self.choice(same)
        if self.chance(0.12):
            return self.weight(kind, shape)
        return self.input(kind, shape)

    # --- The end ------------------------------------------------------------------------------

    def finish(self, seed, ir_version=None):
        """The model of what the outputs need; outputs are what nobody reads, and a few more."""
        made = {name for node in self.nodes for name in node.output if name}
        read = {name for node in self.nodes for name in node.input}
        known = {t.name: t for t in self.pool if t.name in made}
        ends = [t for n, t in known.items() if n not in read]
        others = [t for n, t in known.items() if n in read]
        self.random.shuffle(ends)
        # No result of a rule's source may be left out.
        ends.sort(key=lambda t: t.name not in self.wanted)
        outputs = ends[:4] + [t for t in ends[4:] if t.name in self.wanted]
        outputs += [t for t in others if t.name in self.wanted]
        if others and self.chance(0.2):
            outputs.append(self.choice([t for t in others if t not in outputs] or ends[:1]))
        outputs = list({t.name: t for t in outputs}.values())
        if not outputs:
            raise Unfit
        nodes = needed(self.nodes, {t.name for t in outputs})
        used = {name for node in nodes for name in reads(node)}
        graph = helper.make_graph(
            nodes, "random",
            [helper.make_tensor_value_info(t.name, ONNX[t.type], t.shape)
             for t in self.inputs if t.name in used],
            [helper.make_tensor_value_info(t.name, ONNX[t.type], t.shape) for t in outputs],
            [numpy_helper.from_array(v, n) for n, v in self.weights.items() if n in used])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)])
        model.ir_version = ir_version or (10 if self.opset > 21 else 9 if self.opset > 20 else 8)
        names = {t.name for t in self.inputs if t.name in used}
        return Model(model, seed, {n: r for n, r in self.ranges.items() if n in names}, self.tame)


def reads(node):
    """Names that a node reads, those of its subgraphs among them."""
    names = list(node.input)
    for attribute in node.attribute:
        for graph in [attribute.g, *attribute.graphs]:
            for inner in graph.node:
                names += reads(inner)
            names += [value.name for value in graph.output]
    return names


def needed(nodes, outputs):
    """Those nodes, in order, that the outputs need."""
    wanted, kept = set(outputs), []
    for node in reversed(nodes):
        if wanted.intersection(node.output):
            kept.append(node)
            wanted.update(reads(node))
    return kept[::-1]


def pruned(proto, outputs):
    """What these outputs need, in a model of its own."""
    graph = proto.graph
    nodes = needed([n for n in graph.node if any(n.output)], set(outputs))
    used = {name for node in nodes for name in reads(node)} | set(outputs)
    model = onnx.ModelProto()
    model.CopyFrom(proto)
    for field, kept in [("node", nodes),
                        ("input", [v for v in graph.input if v.name in used]),
                        ("initializer", [w for w in graph.initializer if w.name in used]),
                        ("output", [v for v in graph.output if v.name in outputs])]:
        del getattr(model.graph, field)[:]
        getattr(model.graph, field).extend(kept)
    return model


def bounds_of_indices(graph):
    """Graph inputs that a Gather reads as indices: the size of the axis."""
    shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim]
              for v in [*graph.input, *graph.value_info, *graph.output]}
    shapes.update({w.name: list(w.dims) for w in graph.initializer})
    bounds = {}
    for node in graph.node:
        if node.op_type == "Gather" and node.input[0] in shapes:
            axis = next((a.i for a in node.attribute if a.name == "axis"), 0)
            size = shapes[node.input[0]][axis]
            bounds[node.input[1]] = min(size, bounds.get(node.input[1], size))
    return bounds


def retype(model, types):
    """Exchanges element types everywhere in a model: {from: to}, as ONNX numbers them."""

    def tensor(proto):
        if proto.data_type in types:
            values = numpy_helper.to_array(proto).astype(
                helper.tensor_dtype_to_np_dtype(types[proto.data_type]))
            name = proto.name
            proto.CopyFrom(numpy_helper.from_array(values, name))

    def walk(graph):
        for proto in graph.initializer:
            tensor(proto)
        for value in [*graph.input, *graph.output, *graph.value_info]:
            kind = value.type.tensor_type
            if kind.elem_type in types:
                kind.elem_type = types[kind.elem_type]
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.TENSOR:
                    tensor(attribute.t)
                elif attribute.type == onnx.AttributeProto.GRAPH:
                    walk(attribute.g)
                elif attribute.name in ("to", "dtype") and attribute.i in types:
                    attribute.i = types[attribute.i]

    walk(model.graph)
