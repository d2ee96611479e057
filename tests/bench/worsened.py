"""Whether the search finds its way back to an expert's form of a network that lost something on the way.

The search is tuned to forms that people wrote, and may owe its results to the very way in which they
wrote them. Here each case begins with the form that an expert wrote for a network of the bench
(`tests/bench/unseen`, those that are not locked), and writes it worse in one to three ways that compute
the same: a norm in elementary operators, a product cut into columns, a convolution as a sum of two.
Each way is applied at one node or at every node that suits. All of this is drawn, the same in each run.
ONNX Runtime confirms that both forms compute the same, and `optimize-graph` optimizes both. What came
from the expert's form must come back: a case is shown if its result costs more than 1.03 times the
expert's form, before or after its own optimization, whichever is cheaper.

    BIN_DIR=build/bin python3 tests/bench/worsened.py [--cases N] [--seed N] [--ways NAME,NAME] [NETWORK...]

Each case has a seed of its own, which is shown: `--seed S --cases 1` with the same ways and networks
runs it again. The last line has the number of cases, the geometric mean of their ratios and how many
are within 3 %."""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "unseen"))

import networks  # noqa: E402
from run import agree_in_runtime, load_networks, mean  # noqa: E402

WAYS = {}
NEAR = 1.03
MOST_NODES = 45  # of an expert's form: larger ones take long
MOST_DRAWS = 1000  # for one case: few networks have a node that suits some ways


def worsens(*operators, weights=False):
    """Registers a way to write a node of these operators. The function that follows is given the graph,
    the node and, if it asks for weights, the matrix or kernel and the bias if there is one, all of them
    constants. It returns the result, which its last node computes, or None where the node does not suit."""
    def register(function):
        WAYS[function.__name__] = (operators, weights, function)
        return function
    return register


class Worsened(networks.Graph):
    """A model whose nodes can be written in other ways. What was written so is not written anew."""

    def __init__(self, model, random):
        super().__init__()
        self.model, self.random = model, random
        self.original = {node.output[0] for node in model.graph.node}
        self.constants = {w.name: numpy_helper.to_array(w) for w in model.graph.initializer}
        graph = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
        self.shapes = {name: w.shape for name, w in self.constants.items()}
        for value in [*graph.input, *graph.value_info, *graph.output]:
            sizes = tuple(size.dim_value for size in value.type.tensor_type.shape.dim)
            if all(sizes):
                self.shapes[value.name] = sizes

    def name(self):
        self.count += 1
        return f"worsened{self.count}"

    def write(self, way, everywhere):
        """Whether any node suits: one of them that is drawn, or each, is written this way."""
        nodes = list(self.model.graph.node)
        written = {}
        for place in self.random.permutation(len(nodes)):
            others = self.instead_of(nodes[place], *WAYS[way])
            if others:
                written[place] = others
            if others and not everywhere:
                break
        del self.model.graph.node[:]
        for place, node in enumerate(nodes):
            self.model.graph.node.extend(written.get(place, [node]))
        self.model.graph.initializer.extend(self.weights)
        self.weights.clear()
        return bool(written)

    def instead_of(self, node, operators, weights, function):
        """The nodes that compute what this one computes, if it suits."""
        names = [*node.input, *node.output]
        if (node.op_type not in operators or len(node.output) > 1 or node.output[0] not in self.original
                or any(name not in self.shapes for name in names)):
            return []
        operands = [self.constants.get(name) for name in node.input[1:]] if weights else []
        if any(w is None for w in operands) or (operands and operands[0].ndim < 2):
            return []
        self.nodes = []
        if function(self, node, *operands) is None:
            return []
        self.nodes[-1].output[0] = node.output[0]  # the last node has the result
        self.original.remove(node.output[0])
        return self.nodes

    def one_of(self, *forms):
        return forms[self.random.integers(len(forms))]()

    def factors(self, count):
        return self.random.uniform(0.5, 1.5, count)

    def parts(self, name, count, axis):
        return self.Split(name, [self.shapes[name][axis] // count] * count, axis=axis, results=count)


def attributes_of(node):
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


def with_new_axes(vector, count):
    return vector.reshape(*vector.shape, *[1] * count)


# Norms and activations written out.

def mean_written_out(graph, x, size):
    return graph.one_of(lambda: graph.ReduceMean(x, [-1], keepdims=1),
                        lambda: graph.Mul(graph.ReduceSum(x, [-1], keepdims=1), 1.0 / size),
                        lambda: graph.Div(graph.ReduceSum(x, [-1], keepdims=1), float(size)))


def square_written_out(graph, x):
    return graph.one_of(lambda: graph.Mul(x, x), lambda: graph.Pow(x, 2.0))


def divided_by_root(graph, x, variance, node):
    shifted = graph.Add(variance, attributes_of(node).get("epsilon", 1e-5))
    return graph.one_of(lambda: graph.Div(x, graph.Sqrt(shifted)),
                        lambda: graph.Mul(x, graph.Reciprocal(graph.Sqrt(shifted))),
                        lambda: graph.Mul(x, graph.Pow(shifted, -0.5)),
                        lambda: graph.Mul(graph.Div(1.0, graph.Sqrt(shifted)), x))


def is_along_last_axis(graph, node):
    return attributes_of(node).get("axis", -1) in (-1, len(graph.shapes[node.input[0]]) - 1)


@worsens("LayerNormalization")
def norm_written_out(graph, node):
    if not is_along_last_axis(graph, node):
        return None
    x, scale, *offset = node.input
    size = graph.shapes[x][-1]
    average = mean_written_out(graph, x, size)
    centered = graph.Sub(x, average)
    variance = graph.one_of(
        lambda: mean_written_out(graph, square_written_out(graph, centered), size),
        lambda: graph.Mul(graph.ReduceSumSquare(centered, [-1], keepdims=1), 1.0 / size),
        lambda: graph.Sub(mean_written_out(graph, graph.Mul(x, x), size), graph.Mul(average, average)))
    scaled = graph.Mul(divided_by_root(graph, centered, variance, node), scale)
    return graph.Add(offset[0], scaled) if offset else scaled


@worsens("RMSNormalization")
def root_mean_square_written_out(graph, node):
    if not is_along_last_axis(graph, node):
        return None
    x, scale = node.input
    squares = mean_written_out(graph, square_written_out(graph, x), graph.shapes[x][-1])
    return graph.Mul(scale, divided_by_root(graph, x, squares, node))


@worsens("Gelu")
def gelu_written_out(graph, node):
    x = node.input[0]
    if attributes_of(node).get("approximate") == b"tanh":
        cube = graph.one_of(lambda: graph.Mul(graph.Mul(x, x), x), lambda: graph.Pow(x, 3.0))
        inner = graph.Mul(graph.Add(x, graph.Mul(cube, 0.044715)), (2 / np.pi) ** 0.5)
        gate = graph.Add(graph.Tanh(inner), 1.0)
    else:
        inner = graph.one_of(lambda: graph.Div(x, 2 ** 0.5), lambda: graph.Mul(x, 0.5 ** 0.5))
        gate = graph.Add(graph.Erf(inner), 1.0)
    return graph.one_of(lambda: graph.Mul(graph.Mul(x, gate), 0.5),
                        lambda: graph.Mul(graph.Mul(x, 0.5), gate),
                        lambda: graph.Mul(x, graph.Mul(gate, 0.5)))


# Products cut, scaled or as convolutions.

@worsens("MatMul", weights=True)
def columns_apart(graph, node, w):
    count = int(graph.random.integers(2, 5))
    if w.shape[-1] % count:
        return None
    return graph.Concat(*[graph.MatMul(node.input[0], part) for part in np.split(w, count, axis=-1)], axis=-1)


@worsens("MatMul", weights=True)
def rows_apart(graph, node, w):
    if w.shape[-2] % 2:
        return None
    left, right = graph.parts(node.input[0], 2, axis=-1)
    above, below = np.split(w, 2, axis=-2)
    return graph.Add(graph.MatMul(left, above), graph.MatMul(right, below))


@worsens("MatMul", weights=True)
def low_rank_apart(graph, node, w):
    down, up = graph.random.standard_normal((w.shape[-2], 4)), graph.random.standard_normal((4, w.shape[-1]))
    update = graph.MatMul(graph.MatMul(node.input[0], down), up)
    return graph.Add(graph.MatMul(node.input[0], w - 0.05 * down @ up), graph.Mul(update, 0.05))


@worsens("MatMul", weights=True)
def scaled_before_product(graph, node, w):
    factors = graph.factors(w.shape[-2])
    return graph.MatMul(graph.Mul(node.input[0], factors), w / with_new_axes(factors, 1))


@worsens("MatMul", weights=True)
def product_as_convolution(graph, node, w):
    if w.ndim != 2 or len(graph.shapes[node.input[0]]) != 3:
        return None
    channels_first = graph.Transpose(node.input[0], perm=[0, 2, 1])
    return graph.Transpose(graph.Conv(channels_first, with_new_axes(w.T, 1)), perm=[0, 2, 1])


@worsens("MatMul")
def batch_apart(graph, node):
    first, second = (graph.shapes[name] for name in node.input)
    if not 3 <= len(first) == len(second) or not 2 <= first[0] == second[0] <= 8:
        return None
    pairs = zip(*(graph.parts(name, first[0], axis=0) for name in node.input))
    return graph.Concat(*[graph.MatMul(x, y) for x, y in pairs], axis=0)


# Convolutions with more around them, cut or as sums.

@worsens("Conv", weights=True)
def batch_norm_behind(graph, node, kernel, bias=0.0):
    scale, average, variance = (graph.factors(kernel.shape[0]) for _ in range(3))
    factor = scale / np.sqrt(variance + 1e-5)
    before = graph.Conv(node.input[0], kernel / with_new_axes(factor, kernel.ndim - 1), **attributes_of(node))
    return graph.BatchNormalization(before, scale, average * factor + bias, average, variance)


@worsens("Conv", weights=True)
def sum_of_convolutions(graph, node, kernel, *bias):
    share = graph.random.permutation(kernel)
    first = graph.Conv(node.input[0], kernel - share, *bias, **attributes_of(node))
    return graph.Add(first, graph.Conv(node.input[0], share, **attributes_of(node)))


@worsens("Conv", weights=True)
def outputs_apart(graph, node, *weights):
    attributes = attributes_of(node)
    groups = attributes.pop("group", 1)
    count = groups if groups > 1 else int(graph.random.choice([2, 4]))
    if count > 8 or weights[0].shape[0] % count:
        return None
    inputs = graph.parts(node.input[0], count, axis=1) if groups > 1 else [node.input[0]] * count
    parts = [np.split(w, count) for w in weights]
    return graph.Concat(*[graph.Conv(*operands, **attributes) for operands in zip(inputs, *parts)], axis=1)


@worsens("Conv")
def explicit_pad(graph, node):
    attributes = attributes_of(node)
    pads = attributes.pop("pads", [])
    if not any(pads):
        return None
    begins, ends = np.split(np.array(pads), 2)
    return graph.Conv(graph.Pad(node.input[0], [0, 0, *begins, 0, 0, *ends]), *node.input[1:], **attributes)


@worsens("Conv")
def channels_last(graph, node):
    rank = len(graph.shapes[node.input[0]])
    to_last, to_first = [0, *range(2, rank), 1], [0, rank - 1, *range(1, rank - 1)]
    x = graph.Transpose(graph.Transpose(node.input[0], perm=to_last), perm=to_first)
    y = graph.Conv(x, *node.input[1:], **attributes_of(node))
    return graph.Transpose(graph.Transpose(y, perm=to_last), perm=to_first)


# Elementwise operators in parts or transposed.

@worsens("Relu", "Sigmoid", "Gelu", "Tanh", "HardSwish", "Add", "Mul")
def elementwise_in_parts(graph, node):
    shape = graph.shapes[node.output[0]]
    axes = [axis for axis, size in enumerate(shape) if size % 2 == 0]
    if not axes or any(graph.shapes[name] != shape for name in node.input):
        return None
    axis = int(graph.random.choice(axes))
    append, attributes = getattr(graph, node.op_type), attributes_of(node)
    halves = zip(*(graph.parts(name, 2, axis) for name in node.input))
    return graph.Concat(*[append(*operands, **attributes) for operands in halves], axis=axis)


@worsens("Relu", "Sigmoid", "Gelu", "Tanh", "HardSwish", "Clip", "LeakyRelu")
def elementwise_transposed(graph, node):
    order = graph.random.permutation(len(graph.shapes[node.output[0]]))
    x = graph.Transpose(node.input[0], perm=order.tolist())
    y = getattr(graph, node.op_type)(x, *node.input[1:], **attributes_of(node))
    return graph.Transpose(y, perm=np.argsort(order).tolist())


# A softmax written out, means as products.

@worsens("Softmax")
def softmax_written_out(graph, node):
    axes = [attributes_of(node).get("axis", -1)]
    powers = graph.Exp(graph.Sub(node.input[0], graph.ReduceMax(node.input[0], axes, keepdims=1)))
    return graph.Div(powers, graph.ReduceSum(powers, axes, keepdims=1))


@worsens("ReduceMean")
def mean_as_product(graph, node):
    shape, axes = graph.shapes[node.input[0]], graph.constants.get(node.input[-1])
    if axes is None or axes.size != 1:
        return None
    axis = int(axes[0]) % len(shape)
    others = [other for other in range(len(shape)) if other != axis]
    column = np.full((shape[axis], 1), 1 / shape[axis])
    product = graph.MatMul(graph.Transpose(node.input[0], perm=[*others, axis]), column)
    return graph.Reshape(product, graph.shapes[node.output[0]])


class Bench:
    def __init__(self, bin_dir, options, folder):
        self.command, self.folder = pathlib.Path(bin_dir) / "optimize-graph", pathlib.Path(folder)
        self.options, self.best = options, {}

    def costs(self, path):
        """Before and after optimization."""
        report = self.folder / "report.json"
        done = subprocess.run([self.command, path, "-o", path.with_suffix(".optimized.onnx"), "--costs", "roofline",
                               "-q", "-j", "1", "--json", report], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{path.name}: {done.stderr}")
        costs = json.loads(report.read_text())
        return costs["cost_before_us"], costs["cost_after_us"]

    def expert(self, name):
        path = self.folder / f"{name}.onnx"
        if not path.exists():
            network = networks.build(name)
            network.save(network.expert, path)
        return path

    def draw(self, random):
        """A network, the ways in which it was written worse, and the model."""
        for _ in range(MOST_DRAWS):
            name = str(random.choice(self.options.names))
            graph = Worsened(onnx.load(self.expert(name)), random)
            used, wanted = [], random.choice([1, 1, 1, 2, 3])
            if len(graph.model.graph.node) > MOST_NODES:
                continue
            for way in random.permutation(self.options.ways):
                everywhere = random.random() < 0.4
                if len(used) < wanted and graph.write(way, everywhere):
                    used.append(f"{way} everywhere" if everywhere else str(way))
            if used:
                return name, used, graph.model
        raise SystemExit("no node of these networks suits these ways")

    def ratio(self, seed):
        """How far the result is from the best cost known, or None where the forms compute different results."""
        name, used, model = self.draw(np.random.default_rng(seed))
        case = f"{seed} {name}: {', '.join(used)}"
        expert, worse = self.expert(name), self.folder / f"{seed}.{name}.onnx"
        onnx.save(model, worse)
        if not agree_in_runtime(expert, worse):
            print(f"skipped {case}: computes something else", file=sys.stderr)
            return None
        if name not in self.best:
            self.best[name] = min(self.costs(expert))
        best, ours = self.best[name], self.costs(worse)[1]
        if ours > NEAR * best:
            print(f"{ours / best:.3f} {case}: {ours:.2f} us, the expert's {best:.2f} us", flush=True)
            if self.options.keep:
                for path in (expert, worse, worse.with_suffix(".optimized.onnx")):
                    shutil.copy(path, self.options.keep)
        return ours / best


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog="The ways to write a network worse: " + ", ".join(WAYS))
    parser.add_argument("names", nargs="*", metavar="NETWORK", help="these networks alone")
    parser.add_argument("--cases", type=int, default=50, metavar="N", help="how many forms (50)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="that of the first case (1)")
    parser.add_argument("--ways", default=",".join(WAYS), metavar="NAME,NAME", help="these ways alone")
    parser.add_argument("--keep", metavar="FOLDER", type=pathlib.Path,
                        help="keep the models of the cases that are shown there, and the expert's beside them")
    options = parser.parse_args()
    for name in options.names:
        if name not in networks.NETWORKS or networks.is_locked(name):
            parser.error(f"there is no network {name}, or it is locked")
    options.ways = options.ways.split(",")
    if not set(options.ways) <= set(WAYS):
        parser.error(f"the ways are {', '.join(WAYS)}")
    options.names = options.names or [name for name in networks.NETWORKS if not networks.is_locked(name)]
    return options


def main():
    load_networks()
    onnxruntime.set_default_logger_severity(3)  # no warnings of weights that are no longer read
    options = read_options()
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(os.environ["BIN_DIR"], options, folder)
        for done, seed in enumerate(range(options.seed, options.seed + options.cases), 1):
            ratio = bench.ratio(seed)
            if ratio is not None:
                ratios.append(ratio)
            if done % 10 == 0:
                print(f"{done} of {options.cases} cases", file=sys.stderr)
    near = sum(ratio <= NEAR for ratio in ratios)
    print(f"{len(ratios)} cases: {mean(ratios):.3f} times the best known cost, {near} within 3 %")


if __name__ == "__main__":
    main()
