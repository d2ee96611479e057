"""Operators at every opset: what is read and written again, as it was read and by our own mappings,
computes what it did, in ONNX Runtime without optimizations and else in ONNX's reference."""

import collections
import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

try:
    import onnxruntime
except ImportError:
    onnxruntime = None

BUILD_DIR = Path(os.environ.get("BUILD_DIR", Path(__file__).parents[2] / "build"))
WRITER = BUILD_DIR / "tests" / "write-onnx-cases"
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


def softmax_cases(op, opset):
    yield Case(op, [real(2, 3, 4)])
    for axis in (0, 1, 2):
        yield Case(op, [real(2, 3, 4)], axis=axis)
    yield Case(op, [real(2, 3, 1, 1)], axis=1)
    if opset >= 11:
        yield Case(op, [real(2, 3, 4, 5)], axis=-3)


def pool_cases(op, opset):
    x = real(1, 2, 7, 8)
    yield Case(op, [x], kernel_shape=[3, 2])
    yield Case(op, [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 0, 1, 2])
    if opset <= NEWEST_RUN:  # the reference is wrong about the sizes
        for auto_pad in ("SAME_UPPER", "SAME_LOWER", "VALID"):
            yield Case(op, [x], kernel_shape=[2, 3], strides=[2, 2], auto_pad=auto_pad)
    yield Case(op, [real(1, 2, 9)], kernel_shape=[4], strides=[3], pads=[1, 1])
    if opset >= 10:
        yield Case(op, [x], kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
        yield Case(op, [x], kernel_shape=[3, 3], strides=[2, 3], pads=[1, 1, 1, 1], ceil_mode=1)
    if opset >= (10 if op == "MaxPool" else 19):
        yield Case(op, [x], kernel_shape=[2, 2], dilations=[2, 3])
    if op == "MaxPool" and opset >= 12:
        yield Case(op, [whole(1, 2, 5, 5, dtype=np.int8)], kernel_shape=[2, 2])
    if op == "AveragePool":
        yield Case(op, [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 0, 1, 2],
                   count_include_pad=1)
    if op == "AveragePool" and opset >= 10:
        yield Case(op, [x], kernel_shape=[3, 3], strides=[2, 3], pads=[1, 1, 1, 1], ceil_mode=1,
                   count_include_pad=1)


def pad_cases(op, opset):
    x = real(2, 3)
    if opset < 11:
        yield Case(op, [x], pads=[1, 0, 0, 2])
        yield Case(op, [x], pads=[1, 0, 0, 2], value=1.5, mode="constant")
        yield Case(op, [x], pads=[1, 1, 1, 1], mode="reflect")
        yield Case(op, [real(4, 4)], pads=[-1, 1, 0, -2])
        return
    yield Case(op, [x], [ints(1, 0, 0, 2)])
    yield Case(op, [x], [ints(1, 0, 0, 2), np.float32(1.5)])
    yield Case(op, [x], [ints(1, 1, 1, 1)], mode="reflect")
    yield Case(op, [whole(3)], [ints(1, 2), np.int64(7)])
    if opset >= 13:
        yield Case(op, [truth(3)], [ints(1, 2)])
    if opset >= 18:
        yield Case(op, [x], [ints(1, 2), None, ints(-1)])
    if opset >= 19:
        yield Case(op, [x], [ints(1, 1, 1, 1)], mode="wrap")


def clip_cases(op, opset):
    # The reference takes a bound that is left out for none, the standard for the largest number.
    far = np.inf if opset <= NEWEST_RUN else 9
    x = np.array([-far, -3, -0.5, 0, 1, 7, far], dtype=np.float32)
    if opset < 11:
        for bounds in ({}, {"min": -1.0}, {"max": 1.0}, {"min": 0.0, "max": 6.0}):
            yield Case(op, [x], **bounds)
        yield Case(op, [x], min=0.0, max=float(np.finfo(np.float32).max))
        return
    yield Case(op, [x])
    yield Case(op, [x], [np.float32(-1)])
    yield Case(op, [x], [None, np.float32(1)])
    yield Case(op, [x], [np.float32(0), np.float32(6)])
    yield Case(op, [x], [np.float32(0), np.finfo(np.float32).max])
    yield Case(op, [x, np.float32(-1), np.float32(2)])
    if opset >= 12:
        yield Case(op, [whole(5)], [np.int64(-2), np.int64(3)])


def slice_cases(op, opset):
    x = real(5, 6)
    if opset < 10:
        yield Case(op, [x], starts=[1, 2], ends=[4, 100])
        yield Case(op, [x], starts=[-3], ends=[-1], axes=[1])
        yield Case(op, [x], starts=[0], ends=[5], axes=[0])
        return
    yield Case(op, [x], [ints(1, 2), ints(4, 100)])
    yield Case(op, [x], [ints(-3), ints(-1), ints(1)])
    yield Case(op, [x], [ints(4, -1), ints(-100, -7), ints(0, 1), ints(-2, -1)])
    yield Case(op, [x], [ints(0), ints(2**63 - 1), ints(1), ints(2)])


def split_cases(op, opset):
    x = real(6, 4)
    if opset < 13:
        yield Case(op, [x], outputs=2)
        yield Case(op, [x], outputs=2, split=[2, 4], axis=0)
        return
    if opset < 18:
        yield Case(op, [x], outputs=3)
    else:
        yield Case(op, [x], outputs=3, num_outputs=3)
        yield Case(op, [real(7, 4)], outputs=3, num_outputs=3)
    yield Case(op, [x], [ints(1, 3)], outputs=2, axis=1)


def reshape_cases(op, opset):
    x = real(2, 3, 4)
    yield Case(op, [x], [ints(6, 4)])
    yield Case(op, [x], [ints(0, -1)])
    yield Case(op, [real(2, 0, 3)], [ints(0, 0, 3)])
    if opset >= 14:
        yield Case(op, [real(2, 0, 3)], [ints(3, 0)], allowzero=1)


def dropout_cases(op, opset):
    x = real(2, 3)
    yield Case(op, [x])
    yield Case(op, [x], outputs=2)
    if opset >= 12:
        yield Case(op, [x], [np.float32(0), np.array(True)])


def batch_norm_cases(op, opset):
    parameters = [real(3), real(3), real(3), positive(3)]
    yield Case(op, [real(2, 3, 4)], parameters, epsilon=0.001)
    yield Case(op, [real(2, 3, 4, 5)] + parameters)
    if opset < 9:
        yield Case(op, [real(2, 3, 4)], parameters, spatial=1)
        per_place = [real(3, 4), real(3, 4), real(3, 4), positive(3, 4)]
        yield Case(op, [real(2, 3, 4)], per_place, spatial=0)


def gemm_cases(op, opset):
    a, b, c = real(4, 3), real(5, 4), real(5)
    yield Case(op, [a, b, c], transA=1, transB=1, alpha=0.5, beta=2.0)
    yield Case(op, [real(3, 4)], [real(4, 5), np.zeros(5, np.float32)])
    yield Case(op, [real(3, 4)], [real(5, 4), real(3, 1)], alpha=0.5, transB=1)
    if opset >= 11:
        yield Case(op, [real(3, 4)], [real(4, 5)])


def resize_cases(op, opset):
    x = real(1, 1, 2, 3)
    scales = np.array([1, 1, 2, 2], np.float32)
    if opset == 10:
        yield Case(op, [x], [scales])
    elif opset >= 13:
        yield Case(op, [x], [None, scales])


def upsample_cases(op, opset):
    x = real(1, 1, 2, 3)
    if opset < 9:
        yield Case(op, [x], scales=[1.0, 1.0, 2.0, 2.0])
    elif opset == 9:
        yield Case(op, [x], [np.array([1, 1, 2, 2], np.float32)])


def top_k_cases(op, opset):
    x = real(2, 5)
    if opset < 10:
        yield Case(op, [x], outputs=2, k=3)
    else:
        yield Case(op, [x], [ints(3)], outputs=2)


def group_norm_cases(op, opset):
    size = 4 if opset >= 21 else 2
    yield Case(op, [real(2, 4, 3, 2)], [real(size), real(size)], num_groups=2)


def squeeze_cases(op, opset):
    x = real(2, 1, 3, 1)
    yield axes_case(op, opset, 13, x, [1])
    if op == "Squeeze":
        yield Case(op, [x])
    if opset >= 11:
        yield axes_case(op, opset, 13, x, [-1])


def reduce_cases(op, opset):
    since = 13 if op == "ReduceSum" else 18
    x = positive(2, 3, 4)
    yield Case(op, [x])
    yield Case(op, [x], keepdims=0)
    yield axes_case(op, opset, since, x, [1])
    yield axes_case(op, opset, since, x, [0, 2], keepdims=0)
    if opset >= 11:
        yield axes_case(op, opset, since, x, [-1])
    if opset >= since:
        yield Case(op, [x], noop_with_empty_axes=1)
    if op in ("ReduceSum", "ReduceMax", "ReduceMin"):
        yield axes_case(op, opset, since, whole(2, 3), [1])


def cast_cases(op, opset):
    yield Case(op, [real(2, 3)], to=TensorProto.FLOAT16)
    yield Case(op, [real(2, 3)], to=TensorProto.INT64)
    yield Case(op, [real(2, 3)], to=TensorProto.BOOL)
    yield Case(op, [whole(2, 3)], to=TensorProto.FLOAT)
    yield Case(op, [real(2, 3)], to=TensorProto.INT8)


def pow_cases(op, opset):
    yield Case(op, [positive(2, 3), real(3)])
    for exponent in (0.5, 1, 2, 3):
        yield Case(op, [positive(2, 3)], [np.float32(exponent)])
    if opset >= 12:
        yield Case(op, [positive(2, 3)], [np.int64(2)])
        yield Case(op, [whole(3), whole(3, low=0, high=3)])


def chain_cases(op, opset):
    yield Case(op, [real(2, 3)])
    yield Case(op, [real(2, 3), real(2, 3), real(2, 3)])
    if opset >= 8:
        yield Case(op, [real(2, 3), real(3), real(2, 1)])
    if opset >= 12 and op in ("Min", "Max"):
        yield Case(op, [whole(4), whole(4)])


def unary(*values, **attributes):
    return lambda op, opset: (Case(op, [value], **attributes) for value in values)


def binary(*pairs):
    return lambda op, opset: (Case(op, list(pair)) for pair in pairs)


def compare_cases(op, opset):
    if opset >= (11 if op == "Equal" else 7):
        x = real(2, 3)
        yield Case(op, [x, np.where(truth(2, 3), x, real(2, 3))])
    if opset >= (7 if op == "Equal" else 9):
        yield Case(op, [whole(2, 3), whole(3)])


def arithmetic_cases(op, opset):
    yield Case(op, [real(2, 3), positive(3)])
    yield Case(op, [real(2, 3, 4), positive(3, 1)])
    yield Case(op, [whole(2, 3), whole(3, low=1)])


def each(*cases):
    return lambda op, opset: cases


CASES = {
    **{op: unary(real(2, 3)) for op in """Abs Neg Relu Sigmoid Tanh Exp Floor Ceil Identity
        HardSigmoid LeakyRelu Softplus Elu Selu Softsign Hardmax ThresholdedRelu""".split()},
    **{op: unary(positive(2, 3)) for op in "Log Sqrt Reciprocal".split()},
    **{op: unary(real(2, 3)) for op in """Sin Cos Tan Erf Round HardSwish Gelu Mish Sign IsNaN
        Shrink Celu Size Shape""".split()},
    "Not": unary(truth(2, 3)),
    **{op: softmax_cases for op in ("Softmax", "LogSoftmax")},
    **{op: pool_cases for op in ("MaxPool", "AveragePool")},
    **{op: unary(real(1, 2, 3, 4)) for op in ("GlobalAveragePool", "GlobalMaxPool")},
    **{op: reduce_cases for op in """ReduceSum ReduceMean ReduceMax ReduceMin ReduceL1 ReduceL2
        ReduceLogSum ReduceLogSumExp ReduceSumSquare ReduceProd""".split()},
    **{op: arithmetic_cases for op in ("Add", "Sub", "Mul", "Div")},
    **{op: binary((truth(2, 3), truth(3))) for op in ("And", "Or", "Xor")},
    **{op: compare_cases for op in "Equal Less Greater LessOrEqual GreaterOrEqual".split()},
    **{op: chain_cases for op in ("Min", "Max", "Sum", "Mean")},
    "Pow": pow_cases, "Pad": pad_cases, "Clip": clip_cases, "Slice": slice_cases,
    "Split": split_cases, "Reshape": reshape_cases, "Dropout": dropout_cases,
    "BatchNormalization": batch_norm_cases, "Gemm": gemm_cases, "Resize": resize_cases,
    "Upsample": upsample_cases, "TopK": top_k_cases, "GroupNormalization": group_norm_cases,
    "Squeeze": squeeze_cases, "Unsqueeze": squeeze_cases, "Cast": cast_cases,
    "CastLike": each(Case("CastLike", [real(2, 3), whole(1)])),
    "Where": each(Case("Where", [truth(2, 3), real(3), real(2, 1)])),
    "MatMul": each(Case("MatMul", [real(2, 3, 4), real(4, 5)]), Case("MatMul", [real(4), real(4, 5)]),
                   Case("MatMul", [real(3, 4), real(4)])),
    "Conv": each(Case("Conv", [real(1, 4, 6, 6), real(6, 2, 3, 3), real(6)], group=2,
                      pads=[1, 0, 1, 2], strides=[2, 1]),
                 Case("Conv", [real(1, 2, 7, 7)], [real(3, 2, 2, 2)], auto_pad="SAME_LOWER"),
                 Case("Conv", [real(1, 2, 9)], [real(3, 2, 3)], dilations=[2])),
    "Transpose": each(Case("Transpose", [real(2, 3, 4)]),
                      Case("Transpose", [real(2, 3, 4)], perm=[1, 2, 0])),
    "Concat": each(Case("Concat", [real(2, 3), real(2, 1)], axis=1)),
    "Flatten": each(*[Case("Flatten", [real(2, 3, 4)], axis=axis) for axis in (0, 1, 2, 3)]),
    "Expand": each(Case("Expand", [real(3, 1)], [ints(2, 1, 4)])),
    "Gather": each(Case("Gather", [real(5, 3), whole(2, 2, low=0, high=3)], axis=1),
                   Case("Gather", [real(5, 3)], [ints(4, 0)])),
    "Tile": each(Case("Tile", [real(2, 3)], [ints(2, 3)])),
    "DepthToSpace": lambda op, opset: [Case(op, [real(1, 8, 2, 3)], blocksize=2)] + (
        [Case(op, [real(1, 8, 2, 3)], blocksize=2, mode="CRD")] if opset >= 11 else []),
    "SpaceToDepth": each(Case("SpaceToDepth", [real(1, 2, 4, 6)], blocksize=2)),
    "InstanceNormalization": each(Case("InstanceNormalization", [real(2, 3, 4, 5)],
                                       [real(3), real(3)], epsilon=0.001)),
    "LayerNormalization": each(Case("LayerNormalization", [real(2, 3, 4)], [real(4), real(4)]),
                               Case("LayerNormalization", [real(2, 3, 4), real(3, 4)], axis=1)),
    "RMSNormalization": each(Case("RMSNormalization", [real(2, 3, 4), real(4)])),
    "PRelu": each(Case("PRelu", [real(2, 3)], [np.array([0.25], np.float32)]),
                  Case("PRelu", [real(2, 3)], [positive(3)])),
    "LRN": each(Case("LRN", [real(1, 5, 2, 2)], size=3)),
    "ConstantOfShape": each(Case("ConstantOfShape", [], [ints(2, 3)])),
    "EyeLike": each(Case("EyeLike", [real(3, 4)], k=1)),
    "CumSum": each(Case("CumSum", [real(3, 4)], [np.int64(1)])),
    "Mod": each(Case("Mod", [whole(4), whole(4, low=1)]), Case("Mod", [real(4), positive(4)], fmod=1)),
    "ArgMax": each(Case("ArgMax", [real(3, 4)], axis=1)),
    "LpPool": each(Case("LpPool", [real(1, 2, 4, 4)], kernel_shape=[2, 2])),
}

# Read as opaque: for a reason that its operator or this form of it has.
KEPT = set("""Elu Selu Softsign Hardmax ThresholdedRelu Tan Mish Sign IsNaN Shrink Celu ReduceProd
    Resize Upsample TopK LRN CumSum Mod ArgMax LpPool PRelu BatchNormalization Pad Cast Softplus
    Dropout Pow Div ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare MaxPool
    AveragePool""".split())


def models_of(folder):
    """(name, path, inputs) of every operator at every opset that has it."""
    number = 0
    for op, make in CASES.items():
        for opset in range(OLDEST_OPSET, NEWEST_OPSET + 1):
            try:
                schema = onnx.defs.get_schema(op, opset, "")
            except onnx.defs.SchemaError:
                continue
            if schema.deprecated:
                continue
            for k, case in enumerate(make(op, opset)):
                path = folder / f"{number}.onnx"
                number += 1
                onnx.save(case.model(opset), path)
                yield f"{op} {k} opset {opset}", op, path, dict(case.inputs)


class Runner:
    """Runs models where that is possible."""

    def __init__(self):
        self.how = collections.Counter()

    def run(self, path, inputs):
        model = onnx.load(path)
        if onnxruntime:
            options = onnxruntime.SessionOptions()
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
            options.log_severity_level = 4
            options.intra_op_num_threads = 1
            try:
                session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                                       providers=["CPUExecutionProvider"])
                results = session.run(None, inputs)
                self.how["ONNX Runtime"] += 1
                return "ONNX Runtime", results
            except Exception:  # an opset or a type that it has no kernel for
                pass
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                results = ReferenceEvaluator(model).run(None, inputs)
            self.how["reference"] += 1
            return "reference", results
        except Exception as error:
            return f"nowhere ({type(error).__name__}: {error})", None


def difference(expected, actual, rtol=1e-5, atol=1e-6):
    if len(expected) != len(actual):
        return f"{len(actual)} outputs, not {len(expected)}"
    for k, (a, b) in enumerate(zip(expected, actual)):
        a, b = np.asarray(a), np.asarray(b)
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"output {k} is {b.dtype}{b.shape}, not {a.dtype}{a.shape}"
        if a.dtype.kind == "f":
            if not np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True):
                return f"output {k} differs by {np.nanmax(np.abs(a.astype(float) - b))}"
        elif not np.array_equal(a, b):
            return f"output {k} differs"
    return None


def write(arguments, lines=()):
    done = subprocess.run([WRITER, *arguments], input="".join(f"{line}\n" for line in lines),
                          capture_output=True, text=True, timeout=500)
    if done.returncode != 0:
        sys.exit(f"write-onnx-cases ends with {done.returncode}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def complaint(path):
    """Of ONNX's checker and its shape inference; none if the model is right."""
    try:
        onnx.checker.check_model(onnx.load(path), full_check=True)
    except Exception as error:
        return str(error)
    return None


def check_copies(folder, runner, problems):
    cases = list(models_of(folder))
    answers = write(["copies"], [path for _, _, path, _ in cases])
    counts = collections.Counter()
    for (name, op, path, inputs), answer in zip(cases, answers, strict=True):
        counts["models"] += 1
        if answer["read"]["status"] != "written":
            problems.append(f"{name}: not read: {answer['read']['reason']}")
            continue
        if answer["opaque"]:
            counts["kept whole"] += 1
            if op not in KEPT:
                problems.append(f"{name}: kept whole: {answer['opaque']}")
        if answer["kept"]["status"] != "written":
            problems.append(f"{name}: {answer['kept']['reason']}")
            continue
        where, expected = runner.run(path, inputs)
        for form in ("kept", "mapped"):
            if answer[form]["status"] == "failed":
                problems.append(f"{name}: {form}: {answer[form]['reason']}")
            if answer[form]["status"] != "written":
                counts[f"refused, {form}"] += 1
                continue
            wrong = complaint(f"{path}.{form}")
            if wrong and not complaint(path):
                problems.append(f"{name}: {form}: {wrong}")
                continue
            if expected is None:
                counts["run nowhere"] += 1
                continue
            there, actual = runner.run(f"{path}.{form}", inputs)
            counts[f"compared, {form}"] += 1
            if actual is None:
                problems.append(f"{name}: {form}: runs {there}, but the original in {where}")
                continue
            if wrong := difference(expected, actual):
                problems.append(f"{name}: {form} ({where}, {there}): {wrong}")
    print(dict(counts))
    return counts


DTYPES = {"f32": np.float32, "i64": np.int64, "i32": np.int32, "bool": np.bool_, "f16": np.float16}


def arrays(types, values):
    """`x: f32[2, 3]  i: i64[2]` and lists of numbers, as arrays by name."""
    feeds = {}
    for text, numbers in zip([each for each in types.split("  ") if each], values, strict=True):
        name, kind = text.split(": ")
        dtype, shape = kind.rstrip("]").split("[")
        shape = [int(size) for size in shape.split(",") if size.strip()]
        feeds[name] = np.array(numbers).astype(DTYPES[dtype]).reshape(shape)
    return feeds


# The first opset that can express the example of an operator, if that is not the oldest opset that
# is read.
FIRST_OPSETS = {"cumsum": 11, "einsum": 12, "erf": 9, "gather_elements": 11, "gelu": 9,
                "resize": 11, "round": 11, "where": 9}


def check_examples(folder, runner, problems):
    counts = collections.Counter()
    for line in write(["examples", str(folder)]):
        counts["examples"] += 1
        name = f"{line['call']} of {line['types']}, opset {line['opset']}"
        written = line["written"]
        if written["status"] == "failed":
            problems.append(f"{name}: {written['reason']}")
        if written["status"] != "written":
            counts["refused"] += 1
            op = line["call"].split("(")[0]
            integers = "i64" in line["types"] or "i32" in line["types"]
            if line["opset"] >= FIRST_OPSETS.get(op, 13 if integers else 8) and "dilations" not in name:
                problems.append(f"{name}: {written['reason']}")
            continue
        if wrong := complaint(line["path"]):
            problems.append(f"{name}: {wrong}")
            continue
        where, actual = runner.run(line["path"], arrays(line["types"], line["inputs"]))
        if actual is None:
            counts["run nowhere"] += 1
            continue
        counts["compared"] += 1
        for k, (got, wanted) in enumerate(zip(actual, line["outputs"], strict=True)):
            got = np.asarray(got).astype(float).ravel()
            if not np.allclose(got, np.array(wanted), rtol=1e-4, atol=1e-5):
                problems.append(f"{name}: output {k} differs in {where}: {got} {wanted}")
    print(dict(counts))
    return counts


def main():
    runner, problems = Runner(), []
    with tempfile.TemporaryDirectory(prefix="soapstone-") as name:
        copies = check_copies(Path(name), runner, problems)
    with tempfile.TemporaryDirectory(prefix="soapstone-") as name:
        examples = check_examples(Path(name), runner, problems)
    print(f"run in: {dict(runner.how)}")
    # A test that compares little says little.
    if copies["compared, mapped"] < 0.9 * copies["models"]:
        problems.append("too few models were compared")
    if examples["compared"] < 0.9 * examples["examples"]:
        problems.append("too few examples were compared")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
