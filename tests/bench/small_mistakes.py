"""How small a mistake the check of compare-graphs sees.

A network of tests/bench/unseen gets one small mistake, such as a weight that is off by 1e-3 or a bias that
is dropped, and compare-graphs says whether original and copy compute the same. How much they differ is
measured by ONNX Runtime without optimizations, on inputs of its own: the largest difference of an output
over that output's root mean square. A tolerance that is too wide would let wrong models through; one that
is too narrow takes out rules that are right. Locked networks are left out.

    BIN_DIR=build/bin PYTHON tests/bench/small_mistakes.py [--pairs N] [--seed N] [NETWORK...]
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

sys.path.insert(0, str(Path(__file__).parent / "unseen"))
import networks  # noqa: E402
from run import load_networks  # noqa: E402

FAR = 1e-5  # pairs that differ by more are listed if they are called equal
NORMS = ("BatchNormalization", "InstanceNormalization", "LayerNormalization", "GroupNormalization", "RMSNormalization")
WITH_BIAS = ("Conv", "ConvTranspose", "Gemm", *NORMS[:3])
COLUMNS = "| {:34} | {:>5} | {:>16} | {:>39} |"


class DoesNotApply(Exception):
    """The network has no place for this mistake."""


def pick(draw, choices):
    if not choices:
        raise DoesNotApply
    return draw.choice(choices)


def tensors(model, role):
    """The weights, scalars, tiny scalars (epsilons, most of them) or biases, with their values."""
    nodes = model.graph.node
    added = {name for node in nodes if node.op_type == "Add" for name in node.input}
    added |= {name for node in nodes if node.op_type in WITH_BIAS for name in node.input[2:3]}
    plays = {"weight": lambda name, values: values.ndim >= 2 and values.size >= 8 and values.any(),
             "scalar": lambda name, values: values.size == 1 and 1e-3 < abs(values.item()) < 1e9,
             "epsilon": lambda name, values: values.size == 1 and 1e-13 < values.item() < 2e-3,
             "bias": lambda name, values: name in added and 1 < values.size == max(values.shape)}[role]
    pairs = [(tensor, numpy_helper.to_array(tensor)) for tensor in model.graph.initializer]
    return [(tensor, values) for tensor, values in pairs if values.dtype == np.float32 and plays(tensor.name, values)]


def change(model, draw, role, function, *settings):
    tensor, before = pick(draw, tensors(model, role))
    after = np.asarray(function(before, draw, *settings), np.float32)
    if np.array_equal(before, after):
        raise DoesNotApply
    tensor.CopyFrom(numpy_helper.from_array(after, tensor.name))
    return f"{role} {tensor.name} of {list(before.shape)}"


def with_element_off(values, draw, share):
    changed = values.copy()
    changed.flat[draw.choice(np.flatnonzero(values))] *= 1 + share
    return changed


def with_digit_off(value, _, digit):
    return value + 10.0 ** (np.floor(np.log10(abs(value))) - digit + 1)


def with_channels_swapped(values, draw):
    axis = draw.choice([k for k, size in enumerate(values.shape) if size > 1])
    order = list(range(values.shape[axis]))
    first, second = draw.sample(order, 2)
    order[first], order[second] = second, first
    return np.take(values, order, axis)


def change_epsilon(model, draw, function):
    """Changes that of a norm, or a tiny scalar where there are no norms."""
    nodes = [node for node in model.graph.node if node.op_type in NORMS]
    if not nodes:
        return change(model, draw, "epsilon", lambda value, _: np.full_like(value, function(value.item())))
    node = pick(draw, nodes)
    given = [attribute for attribute in node.attribute if attribute.name == "epsilon"]
    attribute = given[0] if given else node.attribute.add(name="epsilon", type=onnx.AttributeProto.FLOAT, f=1e-5)
    before, attribute.f = attribute.f, function(attribute.f)
    return f"{node.op_type} with {before:.3g}"


def put_behind(model, node, operator, operand):
    """The node's result becomes what the operator makes of it and of the operand."""
    index, result = list(model.graph.node).index(node), node.output[0]
    node.output[0] = "before_mistake"
    model.graph.initializer.append(numpy_helper.from_array(np.asarray(operand, np.float32), "mistake"))
    model.graph.node.insert(index + 1, onnx.helper.make_node(operator, ["before_mistake", "mistake"], [result]))
    return f"{result} of {node.op_type}"


def add_tensor(model, draw, share):
    node = pick(draw, model.graph.node)
    values = computed(model, 1, node.output[:1])[0]
    if values.dtype != np.float32 or values.size == 1 or not np.isfinite(values).all():
        raise DoesNotApply
    noise = np.random.default_rng(draw.randrange(2**32)).standard_normal(values.shape)
    return put_behind(model, node, "Add", noise * root_mean_square(values) * share)


def divide_by_one_less(model, draw):
    node = pick(draw, [node for node in model.graph.node if node.op_type in ("ReduceMean", "GlobalAveragePool")])
    values, means = computed(model, 1, [node.input[0], node.output[0]])
    count = values.size // means.size
    if count == 1:
        raise DoesNotApply
    return put_behind(model, node, "Mul", count / (count - 1))


MISTAKES = {  # each changes the model and returns where
    "weight element off by 1e-2": (change, "weight", with_element_off, 1e-2),
    "weight element off by 1e-3": (change, "weight", with_element_off, 1e-3),
    "weight times 1 + 1e-3": (change, "weight", lambda values, _: values * (1 + 1e-3)),
    "weight times 1 + 1e-4": (change, "weight", lambda values, _: values * (1 + 1e-4)),
    "weight times 1 + 1e-5": (change, "weight", lambda values, _: values * (1 + 1e-5)),
    "epsilon divided by 10": (change_epsilon, lambda epsilon: epsilon / 10),
    "epsilon of 1e-12": (change_epsilon, lambda _: 1e-12),
    "scalar off in its 4th digit": (change, "scalar", with_digit_off, 4),
    "scalar off in its 6th digit": (change, "scalar", with_digit_off, 6),
    "bias dropped": (change, "bias", lambda values, _: np.zeros_like(values)),
    "bias rolled by one place": (change, "bias", lambda values, _: np.roll(values, 1)),
    "two channels of a weight swapped": (change, "weight", with_channels_swapped),
    "tensor of 1e-6 added behind a node": (add_tensor, 1e-6),
    "mean divided by n - 1": (divide_by_one_less,),
}


def computed(model, samples, names=()):
    """What ONNX Runtime makes of random inputs: the model's results, or the tensors of these names."""
    copy = onnx.ModelProto.FromString(model.SerializeToString())
    if names:
        del copy.graph.output[:]
        copy.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 3  # errors alone
    session = onnxruntime.InferenceSession(copy.SerializeToString(), options, providers=["CPUExecutionProvider"])
    results, generator = [], np.random.default_rng(1)
    for _ in range(samples):
        feed = {i.name: generator.standard_normal(i.shape).astype(np.float32) for i in session.get_inputs()}
        results += session.run(None, feed)
    return results


def root_mean_square(values):
    return np.sqrt(np.mean(np.square(values, dtype=np.float64)))


def difference(expected, actual):
    largest = np.abs(np.subtract(expected, actual, dtype=np.float64)).max()
    ratio = largest / root_mean_square(expected) if largest else 0.0
    return ratio if np.isfinite(ratio) else np.inf


def compared(name, kind, draw, folder):
    """The row of a pair."""
    original, changed = folder / f"{name}.onnx", folder / "changed.onnx"
    network = networks.build(name)
    network.save(network.given, original)
    before, after = onnx.load(original), onnx.load(original)
    mistake, *settings = MISTAKES[kind]
    where = mistake(after, draw, *settings)
    onnx.save(after, changed)
    done = subprocess.run([Path(os.environ["BIN_DIR"], "compare-graphs"), original, changed, "-q"], text=True,
                          env=os.environ | {"SOAPSTONE_PYTHON": sys.executable}, capture_output=True, check=False)
    if done.returncode not in (0, 6):
        raise SystemExit(f"{name}: compare-graphs ends with {done.returncode}: {done.stderr}")
    largest = max(map(difference, computed(before, 3), computed(after, 3)))
    return {"title": f"{name}: {kind}, {where}", "kind": kind, "equal": done.returncode == 0, "difference": largest}


def row_of(kind, names, draw, folder):
    """A list with the row of the first drawn network that has a place for the mistake, if there is one."""
    for name in draw.sample(names, len(names)):
        try:
            return [compared(name, kind, draw, folder)]
        except DoesNotApply:
            continue
    return []


def show(rows):
    print(COLUMNS.format("mistake", "pairs", "called different", "largest difference of those called equal"))
    print("|---|---|---|---|")
    for kind in MISTAKES:
        pairs = [row for row in rows if row["kind"] == kind]
        equal = [row["difference"] for row in pairs if row["equal"]]
        largest = f"{max(equal):.1e}" if equal else ""
        print(COLUMNS.format(kind, len(pairs), len(pairs) - len(equal), largest))
    far = [row for row in rows if row["equal"] and row["difference"] > FAR]
    for row in far:
        print(f"{row['title']}: called equal, differs by {row['difference']:.1e}")
    print(f"{len(rows)} pairs, {sum(not row['equal'] for row in rows)} called different, "
          f"{len(far)} called equal that differ by more than 1e-5 of an output")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n    ")[0], formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="BIN_DIR names the folder of the commands; this Python needs onnx, numpy and onnxruntime.")
    parser.add_argument("names", nargs="*", metavar="NETWORK", help="these networks alone")
    parser.add_argument("--pairs", type=int, default=100, metavar="N", help="how many (default: 100)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of what is drawn (default: 1)")
    options = parser.parse_args()
    load_networks()
    unlocked = [name for name in networks.NETWORKS if not networks.is_locked(name)]
    for name in set(options.names) - set(unlocked):
        parser.error(f"there is no network {name}, or it is locked")
    rows, draw = [], random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        for index in range(options.pairs):
            kind = list(MISTAKES)[index % len(MISTAKES)]
            rows += row_of(kind, options.names or unlocked, draw, Path(folder))
            if index % 10 == 9:
                print(f"{index + 1} of {options.pairs} pairs", file=sys.stderr, flush=True)
    show(rows)


if __name__ == "__main__":
    main()
