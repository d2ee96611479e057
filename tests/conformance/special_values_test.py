"""NaN, infinities, signed zeros, subnormal and the largest numbers through every operator.

What onnxruntime computes with its graph optimizations off is right: on the reference evaluator and
on the CPU kernels the same elements are NaN, infinite, finite and (of elementwise operators) zeros
of the same sign. The comprehension of what moves elements may be a sum, in which 0 and -0 are 0:
there the kernels alone keep signs. It is not right where it contradicts itself: its maxima over several elements
(ReduceMax, ReduceMin, MaxPool, GlobalMaxPool) pass a NaN on or lose it by its place among the
elements and by the kernel. There NaN wins, as ONNX's other operators and IEEE 754 maximum have it.
"""

import json
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

BUILD_DIR = Path(os.environ.get("BUILD_DIR", Path(__file__).parents[2] / "build"))
RUNNER = BUILD_DIR / "tests" / "run-onnx-cases"
OPERATORS_PAGE = Path(__file__).parents[2] / "docs" / "operators.md"
BACKENDS = ["reference", "cpu"]

TYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16}
# Relative and absolute. The absolute one lets subnormal results of approximations differ; those of
# what only moves, compares or selects have to be equal.
TOLERANCES = {"f32": (1e-4, 1e-6), "f64": (1e-7, 1e-9), "f16": (4e-3, 1e-3)}
EXACT = (0, 0)

# Operators that are not in the table: no ONNX operator is read as one of them alone, or they have
# no data to look at.
NOT_TRIED = {"enlarge", "eye", "full", "iota", "opaque"}
# Gradients and updates of weights stand in no model that is deployed.
NOT_TRIED |= {"OP_grad", "sgd", "momentum", "adam"}
# Composite operators are run as the operators that they stand for (docs/adr/0029).
NOT_TRIED |= {"attention", "biased_gelu", "quick_gelu", "scaled_matmul", "sum_layer_norm",
              "sum_rms_norm"}


def specials(dtype):
    info = np.finfo(dtype)
    return np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, info.smallest_subnormal,
                     -info.smallest_subnormal, info.tiny, info.max, info.min, 1, -1, 2.5, -2.5, 6,
                     -100], dtype)


def few_specials(dtype, largest):
    return np.array([np.nan, np.inf, -np.inf, -0.0, largest, 1, -2.5], dtype)


def pairs(dtype):
    a, b = np.meshgrid(specials(dtype), specials(dtype), indexing="ij")
    return [a.ravel(), b.ravel()]


def triples(dtype):
    """Every row of three, so that each value stands at each place. Sums of squares stay finite:
    where they begin not to depends on the order and the precision of the sum."""
    return rows_of_three(few_specials(dtype, 2.0 ** (np.finfo(dtype).maxexp // 2 - 3)))


def triples_to_the_end(dtype):
    """The same with the largest number of the type."""
    return rows_of_three(few_specials(dtype, np.finfo(dtype).max))


def rows_of_three(values):
    return np.stack([part.ravel() for part in np.meshgrid(values, values, values, indexing="ij")],
                    axis=1)


class Case:
    """One ONNX node. `makes`: our operator that it stands for here."""

    def __init__(self, makes, op_type, inputs, *, opset=17, constants=(), outputs=1, exact=False,
                 zeros=False, right=None, name="", types=("f32", "f64", "f16"), **attributes):
        self.makes, self.op_type, self.inputs, self.opset = makes, op_type, inputs, opset
        self.constants, self.outputs, self.exact, self.zeros = constants, outputs, exact, zeros
        self.right, self.types, self.attributes = right, types, attributes
        self.name = name or op_type

    def model(self, inputs, constants):
        names = [f"x{k}" for k in range(len(inputs))]
        weights = [numpy_helper.from_array(value, f"c{k}") for k, value in enumerate(constants)
                   if value is not None]
        parameters = ["" if value is None else f"c{k}" for k, value in enumerate(constants)]
        results = [f"y{k}" for k in range(self.outputs)]
        node = helper.make_node(self.op_type, names + parameters, results, **self.attributes)
        graph = helper.make_graph(
            [node], "special_values",
            [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype),
                                           value.shape) for name, value in zip(names, inputs)],
            [onnx.ValueInfoProto(name=name) for name in results], weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)],
                                  ir_version=9)
        return onnx.shape_inference.infer_shapes(model)


def unary(makes, op_type, **more):
    return Case(makes, op_type, lambda dtype: [specials(dtype)], **more)


def binary(makes, op_type, **more):
    return Case(makes, op_type, pairs, **more)


def rows(makes, op_type, **more):
    return Case(makes, op_type, lambda dtype: [triples(dtype)], **more)


def full_rows(makes, op_type, **more):
    return Case(makes, op_type, lambda dtype: [triples_to_the_end(dtype)], **more)


def full_columns(makes, op_type, **more):
    return Case(makes, op_type, lambda dtype: [triples_to_the_end(dtype).T.copy()], **more)


def images(makes, op_type, **more):
    """[rows, 1, 3, 1]"""
    return Case(makes, op_type, lambda dtype: [triples(dtype)[:, None, :, None]], **more)


def scalars(*values):
    return lambda dtype: [None if v is None else np.array(v, dtype) for v in values]


def nan_wins(function):
    """numpy's maximum and minimum pass NaN on."""
    return lambda x: function(x[0])


def labels(dtype):
    x = triples(dtype)
    return [x, (np.arange(len(x)) % 3).astype(np.int64)]


CASES = [
    unary("relu", "Relu", exact=True, zeros=True),
    unary("leaky_relu", "LeakyRelu", alpha=0.01, zeros=True),
    unary("sigmoid", "Sigmoid"),
    unary("tanh", "Tanh"),
    unary("erf", "Erf"),
    unary("exp", "Exp"),
    unary("log", "Log"),
    unary("softplus", "Softplus"),
    unary("softplus", "Mish", opset=18),
    unary("sqrt", "Sqrt"),
    unary("neg", "Neg", exact=True, zeros=True),
    unary("abs", "Abs", exact=True, zeros=True),
    unary("reciprocal", "Reciprocal"),
    unary("hard_swish", "HardSwish"),
    unary("hard_sigmoid", "HardSigmoid"),
    unary("elu", "Elu"),
    unary("floor", "Floor", exact=True, zeros=True),
    unary("ceil", "Ceil", exact=True, zeros=True),
    unary("round", "Round", exact=True, zeros=True),
    unary("sin", "Sin", types=("f32", "f64")),
    unary("cos", "Cos", types=("f32", "f64")),
    unary("gelu", "Gelu", opset=20),
    unary("gelu", "Gelu", opset=20, approximate="tanh", name="Gelu_tanh"),
    unary("clip", "Clip", constants=scalars(0, 6), exact=True, zeros=True),
    unary("clip", "Clip", constants=scalars(-1), exact=True, zeros=True, name="Clip_below"),
    unary("clip", "Clip", constants=scalars(None, 1), exact=True, zeros=True, name="Clip_above"),
    unary("cast", "Cast", to=onnx.TensorProto.DOUBLE, exact=True, zeros=True, name="Cast_f64"),
    unary("cast", "Cast", to=onnx.TensorProto.FLOAT, zeros=True, name="Cast_f32"),
    unary("cast", "Cast", to=onnx.TensorProto.BOOL, exact=True, name="Cast_bool"),
    unary("is_nan", "IsNaN", exact=True),
    unary("is_inf", "IsInf", exact=True, types=("f32", "f64")),
    unary("is_inf", "IsInf", exact=True, types=("f32", "f64"), detect_negative=0, name="IsInf_above"),
    unary("is_inf", "IsInf", exact=True, types=("f32", "f64"), detect_positive=0, name="IsInf_below"),
    unary("is_inf", "IsInf", exact=True, types=("f32", "f64", "f16"), opset=20, name="IsInf_20"),
    Case("not", "Not", lambda dtype: [np.array([True, False])], exact=True, types=("f32",)),
    binary("add", "Add", zeros=True),
    binary("sub", "Sub", zeros=True),
    binary("mul", "Mul", zeros=True),
    binary("div", "Div", zeros=True),
    binary("min", "Min", exact=True),
    binary("max", "Max", exact=True),
    binary("pow", "Pow", types=("f32", "f64")),
    unary("pow", "Pow", constants=scalars(0.5), types=("f32", "f64"), name="Pow_half"),
    unary("mul", "Pow", constants=scalars(2), types=("f32", "f64"), name="Pow_two"),
    binary("less", "Less", exact=True),
    binary("less", "Greater", exact=True),
    binary("less_or_equal", "LessOrEqual", exact=True),
    binary("less_or_equal", "GreaterOrEqual", exact=True),
    binary("equal", "Equal", exact=True),
    # onnxruntime adds what is selected to zeros, which makes a 0 of -0.
    Case("where", "Where", lambda dtype: [np.arange(256) % 3 == 0, *pairs(dtype)], exact=True,
         types=("f32", "f64")),
    rows("reduce_sum", "ReduceSum", constants=lambda _: [np.array([1])]),
    rows("reduce_mean", "ReduceMean", axes=[1]),
    full_rows("reduce_max", "ReduceMax", axes=[1], exact=True,
         right=nan_wins(lambda x: np.max(x, axis=1, keepdims=True))),
    full_rows("reduce_max", "ReduceMax", axes=[0], exact=True, name="ReduceMax_columns",
         right=nan_wins(lambda x: np.max(x, axis=0, keepdims=True))),
    full_rows("reduce_min", "ReduceMin", axes=[1], exact=True,
         right=nan_wins(lambda x: np.min(x, axis=1, keepdims=True))),
    full_rows("reduce_log_sum_exp", "ReduceLogSumExp", axes=[1]),
    full_columns("reduce_log_sum_exp", "ReduceLogSumExp", axes=[0], name="ReduceLogSumExp_columns"),
    rows("reduce_sum", "ReduceLogSum", axes=[1]),
    rows("reduce_sum", "ReduceL1", axes=[1]),
    rows("reduce_sum", "ReduceL2", axes=[1]),
    rows("reduce_sum", "ReduceSumSquare", axes=[1]),
    # Half precision holds the results, and not the squares and sums on the way.
    *[Case("reduce_sum", op, lambda _: [np.array([[300, 400], [60000, 30000]], np.float16)],
           axes=[1], types=("f16",), name=f"{op}_range")
      for op in ("ReduceL2", "ReduceLogSum")],
    Case("reduce_mean", "InstanceNormalization",
         lambda _: [np.array([[[1000, -2000, 3000, 500]]], np.float16)], types=("f16",),
         constants=lambda _: [np.array([2], np.float16), np.array([1], np.float16)],
         name="InstanceNormalization_range"),
    full_rows("softmax", "Softmax", axis=1),
    full_columns("softmax", "Softmax", axis=0,
         name="Softmax_columns"),
    # In double precision onnxruntime gives finite numbers beside a NaN, by its place.
    full_rows("log_softmax", "LogSoftmax", axis=1, types=("f32", "f16")),
    full_columns("log_softmax", "LogSoftmax", axis=0,
         types=("f32", "f16"), name="LogSoftmax_columns"),
    Case("nll_loss", "NegativeLogLikelihoodLoss", labels, reduction="none", types=("f32", "f64")),
    Case("nll_loss", "SoftmaxCrossEntropyLoss", labels, reduction="none", types=("f32",)),
    images("max_pool", "MaxPool", kernel_shape=[3, 1], exact=True,
           right=nan_wins(lambda x: np.max(x, axis=2, keepdims=True))),
    images("max_pool", "MaxPool", kernel_shape=[2, 1], pads=[1, 0, 1, 0], exact=True,
           name="MaxPool_padded", right=nan_wins(lambda x: np.maximum(
               np.pad(x, [(0, 0), (0, 0), (1, 0), (0, 0)], constant_values=-np.inf),
               np.pad(x, [(0, 0), (0, 0), (0, 1), (0, 0)], constant_values=-np.inf)))),
    images("reduce_max", "GlobalMaxPool", exact=True,
           right=nan_wins(lambda x: np.max(x, axis=(2, 3), keepdims=True))),
    images("average_pool", "AveragePool", kernel_shape=[3, 1]),
    images("average_pool", "AveragePool", kernel_shape=[2, 1], pads=[1, 0, 1, 0],
           name="AveragePool_padded"),
    images("global_average_pool", "GlobalAveragePool"),
    Case("batch_norm", "BatchNormalization", lambda dtype: [specials(dtype)[:, None]],
         constants=lambda dtype: [np.array([v], dtype) for v in (2, 1, 0.5, 4)]),
    rows("layer_norm", "LayerNormalization",
         constants=lambda dtype: [np.array([1, 2, 3], dtype), np.array([0, 1, 0], dtype)],
         types=("f32", "f64")),
    rows("rms_norm", "RMSNormalization", opset=23,
         constants=lambda dtype: [np.array([1, 2, 3], dtype)]),
    Case("conv", "Conv", lambda dtype: [triples(dtype)[:, None, :, None]],
         constants=lambda dtype: [np.array([1, -1, 0.5], dtype).reshape(1, 1, 3, 1)]),
    Case("conv_transpose", "ConvTranspose", lambda dtype: [triples(dtype)[:, None]],
         constants=lambda dtype: [np.array([1, -1], dtype).reshape(1, 1, 2)]),
    rows("einsum", "Einsum", equation="ab,bc->ac",
         constants=lambda dtype: [np.array([[1, -1], [2, 1], [-3, 0.5]], dtype)]),
    rows("cumsum", "CumSum", constants=lambda _: [np.array(1)]),
    Case("resize", "Resize", lambda dtype: [triples(dtype)[:, None, :, None]],
         constants=lambda _: [None, np.array([1, 1, 2, 2], np.float32)], mode="nearest",
         coordinate_transformation_mode="asymmetric", nearest_mode="floor", exact=True),
    rows("matmul", "MatMul",
         constants=lambda dtype: [np.array([[1, -1], [2, 1], [-3, 0.5]], dtype)]),
    Case("concat", "Concat", pairs, axis=0, exact=True, zeros="cpu"),
    unary("split", "Split", constants=lambda _: [np.array([4, 12])], outputs=2, axis=0, exact=True,
          zeros=True),
    unary("slice", "Slice", constants=lambda _: [np.array([v]) for v in (-1, -17, 0, -1)],
          exact=True, zeros=True),
    unary("pad", "Pad", constants=lambda dtype: [np.array([1, 2]), np.array(-0.0, dtype)],
          exact=True, zeros="cpu"),
    rows("transpose", "Transpose", exact=True, zeros=True),
    unary("reshape", "Reshape", constants=lambda _: [np.array([4, 4])], exact=True, zeros=True),
    unary("expand", "Expand", constants=lambda _: [np.array([3, 16])], exact=True, zeros=True),
    unary("gather", "Gather", constants=lambda _: [np.array([-1, 0, -16, 15, 3])], exact=True,
          zeros=True),
    unary("gather_elements", "GatherElements", constants=lambda _: [np.array([-1, 0, -16, 15, 3])],
          exact=True, zeros=True),
    # What is no number has no rank: ONNX does not say where it stands.
    Case("top_k", "TopK", lambda dtype: [specials(dtype)[1:]], constants=lambda _: [np.array([15])],
         outputs=2, exact=True),
]


def ask_onnxruntime(model, inputs):
    """None where it has no kernel."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                               providers=["CPUExecutionProvider"])
    except Exception as error:  # The classes of onnxruntime's errors are private.
        if "NOT_IMPLEMENTED" in str(error) or "Type Error" in str(error):
            return None
        raise
    return session.run(None, {value.name: x for value, x in zip(session.get_inputs(), inputs)})


def write_case(folder, model, inputs, outputs):
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    onnx.save(model, folder / "model.onnx")
    for kind, tensors in (("input", inputs), ("output", outputs)):
        for k, tensor in enumerate(tensors):
            (data / f"{kind}_{k}.pb").write_bytes(
                numpy_helper.from_array(np.asarray(tensor)).SerializeToString())


def prepare(case, type_name, folder):
    """The line that runs the case and where signs of zeros count; None where onnxruntime cannot."""
    dtype = TYPES[type_name]
    inputs = case.inputs(dtype)
    constants = case.constants(dtype) if callable(case.constants) else []
    model = case.model(inputs, constants)
    outputs = ask_onnxruntime(model, inputs)
    if outputs is None:
        return None
    for value, result in zip(model.graph.output, outputs):
        value.CopyFrom(helper.make_tensor_value_info(
            value.name, helper.np_dtype_to_tensor_dtype(result.dtype), result.shape))
    if case.right:
        outputs = [case.right(inputs).astype(outputs[0].dtype)]
    name = f"{case.name}_{type_name}"
    write_case(folder / name, model, inputs, outputs)
    rtol, atol = EXACT if case.exact else TOLERANCES[type_name]
    return f"{name}\t{folder / name}\t{rtol}\t{atol}", case.zeros


class SpecialValues(unittest.TestCase):
    def test_every_operator_is_tried(self):
        named = set()
        for line in OPERATORS_PAGE.read_text().splitlines():
            if line.startswith("| `"):
                named |= set(re.findall(r"`(\w+)`", line.split("|")[1]))
        self.assertEqual({case.makes for case in CASES} | NOT_TRIED, named)

    def test_onnxruntime_says_the_same(self):
        with np.errstate(all="ignore"), \
                tempfile.TemporaryDirectory(prefix="soapstone-") as folder:
            lines, unknown = [], set()
            for case in CASES:
                for type_name in case.types:
                    prepared = prepare(case, type_name, Path(folder))
                    if prepared is None:
                        unknown.add(f"{case.name}_{type_name}")
                    else:
                        lines.append(prepared)
            # f32 is what every operator of onnxruntime has.
            self.assertFalse([name for name in unknown if name.endswith("f32")])
            for backend in BACKENDS:
                text = "".join(f"{line}\t{int(zeros in (True, backend))}\n"
                               for line, zeros in lines)
                done = subprocess.run([RUNNER, backend], input=text, text=True,
                                      capture_output=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                answers = [json.loads(line) for line in done.stdout.splitlines()]
                self.assertEqual(len(answers), len(lines))
                for answer in answers:
                    with self.subTest(backend=backend, case=answer["case"]):
                        self.assertEqual(answer["status"], "passed", answer["reason"])


if __name__ == "__main__":
    unittest.main()
