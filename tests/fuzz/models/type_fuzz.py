"""Random models with element types that Soapstone does not compute with (texts, four bits, eight-bit
floats, complex numbers), sequences and optional values, beside operators that it rewrites.

  python type_fuzz.py --models 1000 --seed 0 [--seconds S]

The optimized model has to be a valid one in which every foreign weight is what it was, and ONNX
Runtime has to compute the same from both files where it runs the original. The exit code is 0 if
nothing was found."""

import collections
import random
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import differential_fuzz
import fuzz_command
import model_judge

onnxruntime.set_default_logger_severity(4)
SEARCH = {"budget": 40, "patience": 8, "e-nodes": 100}
# Types by the names that ONNX gives them, with the opset that brought them to Identity and Constant.
SINCE = {"STRING": 13, "COMPLEX64": 13, "COMPLEX128": 13, "FLOAT8E4M3FN": 19, "FLOAT8E4M3FNUZ": 19,
         "FLOAT8E5M2": 19, "FLOAT8E5M2FNUZ": 19, "INT4": 21, "UINT4": 21, "FLOAT4E2M1": 23,
         "FLOAT8E8M0": 24, "INT2": 25, "UINT2": 25,
         # Types that are understood go the same ways.
         "FLOAT": 13, "FLOAT16": 13, "BFLOAT16": 13, "DOUBLE": 13, "INT8": 13, "UINT16": 13,
         "INT64": 13, "BOOL": 13}
QUANTIZED = {"INT4": 21, "UINT4": 21, "FLOAT8E4M3FN": 19, "FLOAT8E5M2": 19, "FLOAT8E4M3FNUZ": 19,
             "FLOAT4E2M1": 23, "INT8": 13, "INT2": 25, "UINT2": 25}
KNOWN = {name: number for name, number in TensorProto.DataType.items() if name in SINCE}
UNDERSTOOD = {KNOWN[name] for name in ("FLOAT", "FLOAT16", "BFLOAT16", "DOUBLE", "INT8", "UINT16",
                                       "INT64", "BOOL")}
NEWEST_IR = {13: 7, 17: 8, 19: 9, 21: 10, 23: 11, 24: 12, 25: 13}


class Models:
    """Draws one model: `x` times weights that share it, and up to three foreign parts."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.values = np.random.default_rng(seed)
        self.opset = self.random.choice([version for version in NEWEST_IR])
        self.nodes, self.weights, self.inputs, self.outputs = [], [], [], []

    def name(self, hint):
        self.count = getattr(self, "count", 0) + 1
        return f"{hint}{self.count}"

    def node(self, operator, inputs, results=1, **attributes):
        outputs = [self.name("t") for _ in range(results)]
        self.nodes.append(helper.make_node(operator, inputs, outputs, **attributes))
        return outputs[0]

    def give(self, name, kind, shape):
        self.outputs.append(helper.make_tensor_value_info(name, kind, shape))

    def floats(self, *shape):
        name = self.name("w")
        array = self.values.standard_normal(shape).astype(np.float32)
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def type(self, table=None):
        table = table or SINCE
        fitting = [name for name, since in table.items() if since <= self.opset and name in KNOWN]
        return KNOWN[self.random.choice(fitting)] if fitting else None

    def tensor(self, kind, shape, name):
        count = int(np.prod(shape))
        if kind == TensorProto.STRING:
            return helper.make_tensor(name, kind, shape, [f"text {k}".encode() for k in range(count)])
        values = self.values.integers(0, 2, count)
        if kind in (TensorProto.COMPLEX64, TensorProto.COMPLEX128):
            values = values + 1j
        return helper.make_tensor(name, kind, shape, values.tolist())

    def source(self, kind, shape):
        """A tensor of that type: a weight, a constant, an input."""
        name = self.name("foreign")
        way = self.random.choice(["weight", "constant", "input"])
        if way == "weight":
            self.weights.append(self.tensor(kind, shape, name))
        elif way == "constant":
            self.nodes.append(
                helper.make_node("Constant", [], [name], value=self.tensor(kind, shape, "")))
        else:
            self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    # --- Foreign parts ------------------------------------------------------------------------

    def handed_through(self, x):
        kind, shape = self.type(), self.random.choice([[], [3], [2, 3], [0, 2]])
        self.give(self.node("Identity", [self.source(kind, shape)]), kind, shape)

    def reshaped(self, x):
        kind = self.type()
        moved = self.node("Transpose", [self.source(kind, [2, 3])], perm=[1, 0])
        self.give(self.node("Transpose", [moved], perm=[1, 0]), kind, [2, 3])

    def counted(self, x):
        source = self.source(self.type(), [4, 8])
        size = self.node("Cast", [self.node("Shape", [source])], to=TensorProto.FLOAT)
        sizes = self.node("ReduceSum", [size], keepdims=1)
        self.give(self.node("Mul", [x, sizes]), TensorProto.FLOAT, [4, 8])

    def quantized(self, x):
        kind = self.type(QUANTIZED)
        name = self.name("q")
        self.weights.append(self.tensor(kind, [8, 8], name))
        scale = self.floats() if self.random.random() < 0.5 else self.floats(8)
        weights = self.node("DequantizeLinear", [name, scale], axis=1)
        self.give(self.node("MatMul", [x, weights]), TensorProto.FLOAT, [4, 8])

    def cast_twice(self, x):
        kind = self.type({k: v for k, v in SINCE.items() if not k.startswith("COMPLEX")})
        there = self.node("Cast", [x], to=kind)
        self.give(self.node("Cast", [there], to=TensorProto.FLOAT), TensorProto.FLOAT, [4, 8])

    def captured(self, x):
        kind = self.type()
        source, flag = self.source(kind, [3]), self.name("flag")
        self.inputs.append(helper.make_tensor_value_info(flag, TensorProto.BOOL, []))
        branches = {}
        for branch in ("then_branch", "else_branch"):
            result = self.name("inner")
            branches[branch] = helper.make_graph(
                [helper.make_node("Identity", [source], [result])], branch, [],
                [helper.make_tensor_value_info(result, kind, [3])])
        self.give(self.node("If", [flag], **branches), kind, [3])

    def sequence(self, x):
        kind = self.type({k: v for k, v in SINCE.items() if v == 13 and k != "BFLOAT16"})
        parts = [self.source(kind, [3]), self.source(kind, [3])]
        whole = self.node("SequenceConstruct", parts)
        place = self.name("i")
        self.weights.append(numpy_helper.from_array(np.int64(1), place))
        self.give(self.node("SequenceAt", [whole, place]), kind, [3])

    def sparse(self, x):
        name = self.name("sparse")
        values = numpy_helper.from_array(np.ones(2, np.float32), "values")
        places = numpy_helper.from_array(np.array([3, 60], np.int64), "places")
        self.nodes.append(helper.make_node(
            "Constant", [], [name], sparse_value=helper.make_sparse_tensor(values, places, [8, 8])))
        self.give(self.node("MatMul", [x, name]), TensorProto.FLOAT, [4, 8])

    PARTS = [handed_through, handed_through, reshaped, counted, quantized, quantized, cast_twice,
             captured, sequence, sparse]

    def draw(self):
        """Raises what ONNX's checker does if it is no model."""
        self.inputs.append(helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 8]))
        products = [self.node("MatMul", ["x", self.floats(8, 8)]) for _ in range(2)]
        total = self.node("Add", products)
        self.give(self.node("Relu", [total]), TensorProto.FLOAT, [4, 8])
        for _ in range(self.random.randrange(1, 4)):
            self.random.choice(self.PARTS)(self, self.random.choice(["x", total]))
        graph = helper.make_graph(self.nodes, "g", self.inputs, self.outputs, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)],
                                  ir_version=NEWEST_IR[self.opset])
        onnx.checker.check_model(model, full_check=True)
        return model


# --- Judging ----------------------------------------------------------------------------------


def foreign_weights(model):
    return {tensor.name: tensor.SerializeToString() for tensor in model.graph.initializer
            if tensor.data_type not in UNDERSTOOD}


def inputs_of(session, seed):
    """None: some cannot be given from Python."""
    random_values = np.random.default_rng(seed)
    types = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16,
             "tensor(int8)": np.int8, "tensor(uint16)": np.uint16, "tensor(int64)": np.int64,
             "tensor(bool)": np.bool_}
    values = {}
    for value in session.get_inputs():
        if value.type == "tensor(string)":
            texts = [f"given {k}" for k in range(int(np.prod(value.shape)))]
            values[value.name] = np.array(texts, dtype=object).reshape(value.shape)
        elif value.type in types:
            array = random_values.standard_normal(value.shape)
            values[value.name] = np.asarray(array).astype(types[value.type])
        else:
            return None
    return values


def results_of(path, seed):
    """What ONNX Runtime computes; None: it does not run the model, or not from Python."""
    try:
        session = model_judge.open_session(str(path))
        inputs = inputs_of(session, seed)
        return None if inputs is None else session.run(None, inputs)
    except Exception:  # onnxruntime raises many types
        return None


def is_same(a, b):
    if not isinstance(a, np.ndarray) or a.dtype.kind not in "fc":
        return np.array_equal(a, b)
    return np.allclose(a.astype(np.complex128), b.astype(np.complex128), 1e-4, 1e-4, equal_nan=True)


def difference(original, original_path, result_path, seed):
    """Why the result is wrong, or an empty text; and whether ONNX Runtime has said so."""
    result = onnx.load(result_path)
    try:
        onnx.checker.check_model(result, full_check=True)
    except Exception as error:
        return f"is no model: {error}", False
    kept, given = foreign_weights(result), foreign_weights(original)
    used = {name for node in original.graph.node for name in node.input if node.op_type != "Shape"}
    for name, weight in given.items():
        if name in used and kept.get(name) != weight:
            return f"has lost the weight {name}", False
    wanted = results_of(original_path, seed)
    if wanted is None:
        return "", False
    got = results_of(result_path, seed)
    if got is None:
        return "is not run by ONNX Runtime, which runs the original", True
    for value, a, b in zip(original.graph.output, wanted, got):
        if not is_same(a, b):
            return f"computes another {value.name}", True
    return "", True


def fuzz(models, seconds, seed):
    """Counts, and the finds as texts."""
    counts, finds = collections.Counter(), []
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        optimizer = differential_fuzz.Optimizer(folder)
        given, result = Path(folder) / "model.onnx", Path(folder) / "result.onnx"
        for number in range(seed, seed + models):
            if time.monotonic() > end:
                break
            try:
                model = Models(number).draw()
            except Exception:  # what ONNX does not know of that type
                counts["not drawn"] += 1
                continue
            counts["drawn"] += 1
            onnx.save(model, given)
            result.unlink(missing_ok=True)
            answer = optimizer.ask(do="optimize", seed=1, strategy="backtracking", cost="roofline",
                                   objective="latency", verify=2, out=str(result),
                                   **{"in": str(given)}, **SEARCH)
            why, judged = str(answer), False
            if "died" not in answer and "error" not in answer:
                counts[f"result: {answer['result']}"] += 1
                if answer["result"] == "original":
                    continue
                why, judged = difference(model, given, result, number)
            counts["judged"] += judged
            if why:
                finds.append(f"seed {number}: {why}\n{onnx.printer.to_text(model)}")
        optimizer.close()
    return counts, finds


if __name__ == "__main__":
    sys.exit(fuzz_command.run(__doc__, fuzz))
