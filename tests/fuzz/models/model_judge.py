"""Says whether two ONNX models compute the same, by ONNX Runtime without graph optimizations. How far
apart they may be follows from how far the original is from a run in double precision. Shares
nothing with Soapstone."""

import warnings
from dataclasses import dataclass

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto
from onnx.reference import ReferenceEvaluator

from random_models import FLOATS, LETTER, NUMPY, pruned, retype

onnxruntime.set_default_logger_severity(4)
warnings.simplefilter("ignore")
np.seterr(all="ignore")  # Infinities are what is looked for.

KINDS = ("normal", "ties", "zero", "large", "tiny", "extreme", "special")
# In these, rules may change what is finite if their label says so.
WILD = ("extreme", "special")
# Rounding errors of so many units of the largest element are not looked at further.
FREE_UNITS = 32
# Tolerated multiple of the original's distance from double precision.
FACTOR = 24
# The error of runtimes' sigmoid and its like near 0.
ABSOLUTE = 2.0**-23
SATURATING = {"Sigmoid", "Tanh", "Erf", "Gelu", "HardSwish", "Softmax"}
# Beyond a jump of these, rounding makes any difference.
JUMPS = {"Floor", "Ceil", "Round", "Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual",
         "Sign", "Cast", "CastLike", "ArgMax", "ArgMin", "TopK", "Hardmax", "IsInf", "IsNaN", "Mod",
         "Not", "And", "Or", "Xor", "Where", "Shrink", "ThresholdedRelu", "OneHot"}
DOUBLE = {TensorProto.FLOAT: TensorProto.DOUBLE, TensorProto.FLOAT16: TensorProto.DOUBLE,
          TensorProto.BFLOAT16: TensorProto.DOUBLE}
LARGEST = {"h": 65504.0, "f": 3.4028235e38, "b": 3.3895e38, "d": 1.7976931348623157e308}
SUMS = {"Conv", "ConvTranspose", "MatMul", "Gemm", "Einsum", "ReduceSum", "ReduceMean", "AveragePool",
        "GlobalAveragePool", "ReduceL1", "Sum", "Mean", "CumSum"}
EPSILON = {"f": 2.0**-23, "d": 2.0**-52, "h": 2.0**-10, "b": 2.0**-7}


@dataclass
class Verdict:
    """`kind` is empty if the models agree, else: interface, refused (the result does not load),
    fails (it loads and does not run), wrong, precision, lost (a finite number became NaN or infinite),
    finite (an infinity or NaN became something else)."""
    kind: str = ""
    inputs: str = ""
    output: str = ""
    detail: str = ""


def open_session(model):
    """Runs the nodes of the file one by one. Errors: those of onnxruntime."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_mem_pattern = False
    data = model if isinstance(model, (bytes, str)) else model.SerializeToString()
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def run(session, inputs):
    """Outputs by name."""
    types = {v.name: v.type for v in session.get_inputs()}
    names = [v.name for v in session.get_outputs()]
    if not any("bfloat16" in t for t in types.values()):
        return dict(zip(names, session.run(names, inputs)))
    values = {}
    for name, array in inputs.items():
        if "bfloat16" in types[name]:
            raw = np.ascontiguousarray(array).view(np.uint16)
            values[name] = onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(
                raw, TensorProto.BFLOAT16)
        else:
            values[name] = onnxruntime.OrtValue.ortvalue_from_numpy(array)
    results = session.run_with_ort_values(names, values)
    return {name: value.numpy() for name, value in zip(names, results)}


def with_readable_outputs(proto):
    """Outputs of type bfloat16, of which onnxruntime makes no arrays, as float32."""
    wide = [v for v in proto.graph.output
            if v.type.tensor_type.elem_type == TensorProto.BFLOAT16]
    if not wide:
        return proto
    model = onnx.ModelProto()
    model.CopyFrom(proto)
    renamed = {v.name: f"{v.name} in bfloat16" for v in wide}
    for node in model.graph.node:
        for names in (node.input, node.output):
            names[:] = [renamed.get(name, name) for name in names]
    for value in model.graph.output:
        if value.name in renamed:
            value.type.tensor_type.elem_type = TensorProto.FLOAT
            model.graph.node.append(onnx.helper.make_node(
                "Cast", [renamed[value.name]], [value.name], to=TensorProto.FLOAT))
    return model


def draw_inputs(model, kind, seed, sizes=None):
    """Values for the inputs of a random_models.Model; `sizes` are those of its open dimensions, if
    not the ones for which it is optimized."""
    random = np.random.default_rng([seed, 1 + KINDS.index(kind), 1])
    return {value.name: draw(value, model, kind, random, sizes or model.sizes)
            for value in model.proto.graph.input}


def draw(value, model, kind, random, sizes):
    tensor = value.type.tensor_type
    letter = LETTER[tensor.elem_type]
    shape = tuple(sizes[d.dim_param] if d.dim_param else d.dim_value for d in tensor.shape.dim)
    dtype = NUMPY[letter]
    if value.name in model.ranges:
        low, high = model.ranges[value.name]
        if kind in WILD:
            return np.asarray(random.choice([low, high - 1], shape), dtype)
        return np.asarray(random.integers(low, high, shape), dtype)
    if letter == "?":
        share = {"zero": 0.0, "large": 1.0}.get(kind, 0.5)
        return np.asarray(random.random(shape) < share)
    if letter not in FLOATS:
        return draw_integers(letter, dtype, shape, kind, random)
    return draw_floats(letter, dtype, shape, kind, random)


def draw_integers(letter, dtype, shape, kind, random):
    limits = np.iinfo(dtype)
    if kind == "extreme":
        ends = [limits.min, limits.min + 1, limits.max, limits.max - 1, 0, 1]
        return np.asarray(random.choice(np.array(ends, dtype), shape))
    if kind == "zero":
        return np.zeros(shape, dtype)
    low, high = (-9, 10) if letter in "lic" else (0, 10)
    return np.asarray(random.integers(low, high, shape), dtype)


def draw_floats(letter, dtype, shape, kind, random):
    values = random.standard_normal(shape)
    largest = LARGEST[letter]
    smallest = {"h": 6e-8, "f": 1.4e-45, "b": 9.2e-41, "d": 5e-324}[letter]
    if kind == "ties":
        values = random.choice([-2, -1, -0.5, 0, 0.5, 1, 2, 3], shape)
    elif kind == "zero":
        values = np.where(random.random(shape) < 0.5, 0.0, -0.0)
    elif kind == "large":
        values = values * (30.0 if letter == "h" else 100.0)
    elif kind == "tiny":
        values = values * 1e-3
    elif kind == "extreme":
        ends = [largest, -largest, largest / 2, smallest, -smallest, 0.0, -0.0, 1.0, largest ** 0.5]
        values = np.where(random.random(shape) < 0.4, random.choice(ends, shape), values)
    elif kind == "special":
        ends = [np.nan, np.inf, -np.inf]
        values = np.where(random.random(shape) < 0.15, random.choice(ends, shape), values)
    return np.asarray(values).astype(dtype)


class Judge:
    """Runs an original, then any number of results against it. Errors: those of onnxruntime if the
    original is no model or does not run."""

    def __init__(self, model, kinds=KINDS):
        self.model = model
        self.session = open_session(with_readable_outputs(model.proto))
        self.runs = []
        for kind in kinds:
            if model.tame and kind in ("extreme", "special", "large"):
                continue
            inputs = draw_inputs(model, kind, model.seed)
            self.runs.append((kind, inputs, run(self.session, inputs)))
        self.double = None  # of the original: outputs in double precision, by kind

    def compare(self, path):
        """The worst differences between the original and the model in the file: on ordinary inputs,
        and on those at the edges of the types. What cannot be run stands for both."""
        result = onnx.load(path)
        if interface(result, self.model.sizes) != interface(self.model.proto, self.model.sizes):
            return (Verdict("interface", "", "", f"{interface(result, self.model.sizes)}"),) * 2
        try:
            session = open_session(with_readable_outputs(result))
        except Exception as error:  # onnxruntime raises many types
            return (Verdict("refused", "", "", str(error)[:500]),) * 2
        worst = {False: Verdict(), True: Verdict()}
        for kind, inputs, wanted in self.runs:
            try:
                got = run(session, inputs)
            except Exception as error:
                return (Verdict("fails", kind, "", str(error)[:500]),) * 2
            for name, expected in wanted.items():
                verdict = self.difference(result, kind, inputs, name, expected, got[name])
                # What is not finite may have been carried to other elements: the search alone
                # does not look at that, the check behind it does.
                if verdict.kind == "lost" and any(map(has_specials, wanted.values())):
                    verdict.kind = "finite"
                if rank(verdict) > rank(worst[kind in WILD]):
                    worst[kind in WILD] = verdict
        if not worst[False].kind and self.model.sizes:
            worst[False] = self.compare_at_other_sizes(result, session)
        return worst[False], worst[True]

    def compare_at_other_sizes(self, result, session):
        """A result that leaves dimensions open must hold wherever the original runs."""
        for size in (1, 2, 3, 7):
            sizes = {name: size for name in self.model.sizes}
            inputs = draw_inputs(self.model, "normal", self.model.seed, sizes)
            try:
                wanted = run(self.session, inputs)
            except Exception:  # the model itself is of one size
                continue
            try:
                got = run(session, inputs)
            except Exception as error:
                # A refusal is right, if the file says for which sizes it is.
                if not any(d.dim_param for v in result.graph.input
                           for d in v.type.tensor_type.shape.dim):
                    continue
                return Verdict("fails", f"size {size}", "", str(error)[:500])
            for name, expected in wanted.items():
                verdict = self.difference(result, "normal", inputs, name, expected, got[name])
                if verdict.kind:
                    verdict.inputs = f"size {size}"
                    return verdict
        return Verdict()

    def difference(self, result, kind, inputs, name, expected, actual):
        if expected.dtype != actual.dtype or expected.shape != actual.shape:
            return Verdict("wrong", kind, name,
                           f"{actual.dtype}{actual.shape} for {expected.dtype}{expected.shape}")
        letter = next((k for k, t in NUMPY.items() if t == expected.dtype), None)
        if letter in FLOATS:
            return self.float_difference(result, kind, inputs, name, letter, expected, actual)
        if np.array_equal(expected, actual):
            return Verdict()
        places = np.argwhere(expected != actual)
        at = tuple(places[0]) if places.size else ()
        detail = f"{len(places)} of {expected.size} elements, {expected[at]} became {actual[at]}"
        if jumps(self.model.proto, name) and self.agree_in_double(result, inputs, name):
            return Verdict()
        return Verdict("wrong", kind, name, detail)

    def float_difference(self, result, kind, inputs, name, letter, expected, actual):
        a, b = expected.astype(np.float64), actual.astype(np.float64)
        finite = np.isfinite(a) & np.isfinite(b)
        # An infinity of the other sign is a number on the other side of a pole.
        same_class = finite | (np.isnan(a) & np.isnan(b)) | (a == b)
        worst = Verdict()
        if not same_class.all():
            at = tuple(np.argwhere(~same_class)[0])
            lost = np.isfinite(a) & ~same_class
            at = tuple(np.argwhere(lost)[0]) if lost.any() else at
            worst = Verdict("lost" if lost.any() else "finite", kind, name,
                            f"{np.sum(~same_class)} of {a.size} elements, {a[at]} became {b[at]}")
            if self.sign_of_zero_decides(a[~same_class], b[~same_class]):
                return Verdict()
            if kind not in WILD and lost.any() and self.is_at_pole(inputs, name, ~same_class):
                return Verdict()
            if kind in WILD and self.order_decides(result, inputs, name, letter, ~same_class):
                return Verdict()
            if self.coarsest(letter) in "hb" and self.agree_when_rounded(result, inputs, name):
                return Verdict()
            if kind not in WILD and jumps(self.model.proto, name) and \
                    self.agree_in_double(result, inputs, name):
                return Verdict()
        if not finite.any():
            return worst
        difference = np.where(finite, abs(a - b), 0)
        scale = abs(a[finite]).max()
        unit = EPSILON[self.coarsest(letter)]
        if difference.max() <= FREE_UNITS * unit * scale or worst.kind:
            return worst
        return self.judged_in_double(result, kind, inputs, name, a, b, finite, unit * scale)

    def sign_of_zero_decides(self, a, b):
        """Whether only infinities of other signs differ behind Min or Max, of which ONNX does not say which of 0
        and -0 they give: onnxruntime gives either, by the place of the element, and 1/0 shows it."""
        operators = {node.op_type for node in self.model.proto.graph.node}
        return bool(operators & {"Min", "Max"} and operators & {"Reciprocal", "Div", "Pow"}
                    and np.all(np.isinf(a) & (a == -b)))

    def coarsest(self, letter):
        """The least precise type in the model decides what rounding may do."""
        kinds = {LETTER.get(number) for number in element_types(self.model.proto)}
        return max((k for k in kinds | {letter} if k in EPSILON), key=lambda k: EPSILON[k])

    def judged_in_double(self, result, kind, inputs, name, a, b, finite, unit):
        difference = np.where(finite, abs(a - b), 0)
        at = np.unravel_index(difference.argmax(), difference.shape)
        exact = double_run(self.model.proto, inputs)
        ours = double_run(result, inputs)
        if exact is None or ours is None or not exact[name].shape == ours[name].shape == a.shape:
            limit = FACTOR * (self.shaken(inputs, name, a, finite) + FREE_UNITS * unit) + ABSOLUTE
            if difference.max() <= limit:
                return Verdict()
            return Verdict("wrong", kind, name, f"{a[at]} became {b[at]}, {limit:.3g} was allowed "
                           "(no run in double precision)")
        truth, other = exact[name].astype(np.float64), ours[name].astype(np.float64)
        usable = finite & np.isfinite(truth) & np.isfinite(other)
        own = np.where(usable, abs(a - truth), 0).max(initial=0)
        own = max(own, self.rounded_distance(inputs, name, truth))
        limit = FACTOR * own + 4 * FREE_UNITS * unit
        if any(node.op_type in SATURATING for node in result.graph.node):
            limit += ABSOLUTE
        if np.where(usable, difference, 0).max(initial=0) <= limit:
            return Verdict()
        size = abs(truth[usable]).max(initial=0)
        apart = np.where(usable, abs(truth - other), 0).max(initial=0)
        if jumps(self.model.proto, name) and self.agree_in_double(result, inputs, name):
            return Verdict()
        noise = self.rounding_noise(inputs, name, truth)
        if (np.where(usable, difference, 0) <= limit + FACTOR * noise).all():
            return Verdict()
        if apart > 1e-9 * size and apart > 1e-7 * own:
            return Verdict("wrong", kind, name, f"{a[at]} became {b[at]} at {at}, in double "
                           f"precision {truth[at]} became {other[at]}")
        if np.where(usable, difference, 0).max(initial=0) <= limit + ABSOLUTE:
            return Verdict()
        return Verdict("precision", kind, name, f"{a[at]} became {b[at]}, in double precision "
                       f"{truth[at]}; the original is {own:.3g} off")

    def rounded_distance(self, inputs, name, truth):
        """How far off a runtime may be that rounds every result to a half-precision type, where
        onnxruntime leaves out some of the roundings."""
        if self.coarsest("f") not in "hb":
            return 0
        rounded = reference_run(self.model.proto, inputs, name)
        if rounded is None or rounded[name].shape != truth.shape:
            return 0
        distance = abs(rounded[name].astype(np.float64) - truth)
        return np.where(np.isfinite(distance), distance, 0).max(initial=0)

    def rounding_noise(self, inputs, name, truth):
        """How far each element moves when every node is off by a rounding error: what a normalization
        makes of a constant line is 0 only while its elements are exactly equal. Beyond a jump that the
        output depends on it says nothing."""
        most = np.zeros(truth.shape)
        if jumps(self.model.proto, name):
            return most
        for run_number in range(3):
            noisy = with_noise(self.model.proto, EPSILON[self.coarsest("f")], run_number)
            moved = double_run(noisy, inputs)
            if moved is None or moved[name].shape != truth.shape:
                return most
            distance = abs(moved[name].astype(np.float64) - truth)
            most = np.maximum(most, np.where(np.isfinite(distance), distance, 0))
        return most

    def order_decides(self, result, inputs, name, letter, where):
        """Whether these elements are sums so near the end of their type that the order in which a
        kernel adds decides whether it overflows on the way."""
        if not any(node.op_type in SUMS for node in self.model.proto.graph.node):
            return False
        exact, ours = double_run(self.model.proto, inputs), double_run(result, inputs)
        if exact is None or ours is None or not exact[name].shape == ours[name].shape == where.shape:
            return False
        a, b = exact[name][where].astype(np.float64), ours[name][where].astype(np.float64)
        return bool(np.all(np.isfinite(a) & (abs(a) > 1e-3 * LARGEST[letter])) and
                    np.allclose(a, b, rtol=1e-6))

    def agree_when_rounded(self, result, inputs, name):
        """Whether the same elements are finite where every node rounds to its type. onnxruntime
        keeps more digits, and a larger range, between nodes that it computes in float32."""
        first = reference_run(self.model.proto, inputs, name)
        second = reference_run(result, inputs, name)
        if first is None or second is None:
            return False
        a, b = (run[name].astype(np.float64) for run in (first, second))
        return a.shape == b.shape and bool(np.all((np.isfinite(a) == np.isfinite(b)) & (np.isnan(a) == np.isnan(b))))

    def is_at_pole(self, inputs, name, where):
        """Whether the original itself gives no finite number at each of these places when its inputs
        move by a rounding error: 0 to the power of a mean that is 0 is infinite a little below it."""
        left = where.copy()
        for other in self.outputs_of_moved(inputs, name, 12):
            left &= np.isfinite(other)
        return not left.any()

    def outputs_of_moved(self, inputs, name, count):
        """The output for inputs that are moved by rounding errors, `count` times."""
        random = np.random.default_rng(0)
        for _ in range(count):
            moved = {}
            for key, value in inputs.items():
                letter = next((k for k, t in NUMPY.items() if t == value.dtype), "")
                if letter in FLOATS:
                    factor = 1 + EPSILON[letter] * random.choice([-1, 0, 1], value.shape)
                    # A product of scalars is no array any more.
                    value = np.asarray(value.astype(np.float64) * factor, value.dtype)
                moved[key] = value
            yield run(self.session, moved)[name].astype(np.float64)

    def shaken(self, inputs, name, a, finite):
        """How far the output moves when inputs move by a rounding error."""
        most = 0.0
        for other in self.outputs_of_moved(inputs, name, 3):
            usable = finite & np.isfinite(other)
            most = max(most, np.where(usable, abs(a - other), 0).max(initial=0))
        return most

    def agree_in_double(self, result, inputs, name):
        """Whether both agree in double precision once inputs are moved off a jump a little."""
        random = np.random.default_rng(0)
        moved = {}
        for key, value in inputs.items():
            if value.dtype in (NUMPY["f"], NUMPY["d"], NUMPY["h"], NUMPY["b"]):
                value = value.astype(np.float64)
                value = (value * (1 + 1e-5 * random.uniform(-1, 1, value.shape)) +
                         1e-7 * random.uniform(-1, 1, value.shape))
            moved[key] = value
        exact, ours = double_run(self.model.proto, moved), double_run(result, moved)
        if exact is None or ours is None:
            return False
        a, b = exact[name], ours[name]
        if a.dtype.kind != "f" or a.shape != b.shape:
            return np.array_equal(a, b)
        return np.allclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True)


def with_noise(proto, epsilon, seed):
    """The model with every float result times a random factor within 1 - epsilon and 1 + epsilon, the
    same for one seed."""
    model = onnx.shape_inference.infer_shapes(proto)
    outputs = {value.name for value in model.graph.output}
    floats = {value.name for value in [*model.graph.value_info, *model.graph.output]
              if value.type.tensor_type.elem_type in {*DOUBLE, TensorProto.DOUBLE}}
    nodes = list(model.graph.node)
    del model.graph.node[:]
    for node in nodes:
        noisy = model.graph.node.add()
        noisy.CopyFrom(node)
        for i, name in enumerate(node.output):
            if name not in floats or name in outputs:
                continue
            exact, factor = f"{name} exact", f"{name} factor"
            noisy.output[i] = exact
            model.graph.node.extend([
                onnx.helper.make_node("RandomUniformLike", [exact], [factor], low=1 - epsilon,
                                      high=1 + epsilon,
                                      seed=float(1000 * seed + len(model.graph.node))),
                onnx.helper.make_node("Mul", [exact, factor], [name])])
    return model


def has_specials(values):
    return values.dtype.kind == "f" and not np.isfinite(values).all()


def rank(verdict):
    return ["", "precision", "finite", "lost", "wrong", "fails", "refused", "interface"].index(verdict.kind)


def element_types(proto):
    """Of inputs, weights and casts, as ONNX numbers them."""
    types = {v.type.tensor_type.elem_type for v in [*proto.graph.input, *proto.graph.output]}
    types |= {w.data_type for w in proto.graph.initializer}
    for node in proto.graph.node:
        types |= {a.i for a in node.attribute if a.name in ("to", "dtype")}
        types |= {a.t.data_type for a in node.attribute if a.name == "value"}
    return types


def jumps(proto, output):
    """Whether the output depends on a jump."""
    needed = {output}
    for node in reversed(proto.graph.node):
        if needed & set(node.output):
            if node.op_type in JUMPS:
                return True
            needed |= set(node.input)
    return False


def interface(proto, sizes):
    """Names and types of inputs and outputs. Of a model with open dimensions those may be set."""

    def said(value):
        tensor = value.type.tensor_type
        if not sizes:
            return value.name, value.type.SerializeToString(deterministic=True)
        dims = [sizes.get(d.dim_param, d.dim_value) for d in tensor.shape.dim]
        return value.name, tensor.elem_type, dims

    outputs = [(v.name, v.type.tensor_type.elem_type) for v in proto.graph.output]
    return [[said(v) for v in proto.graph.input],
            outputs if sizes else [said(v) for v in proto.graph.output]]


def double_run(proto, inputs):
    """Outputs of the model with all floats in double precision, or None: onnxruntime where it has
    the kernels, else ONNX's reference."""
    model = onnx.ModelProto()
    model.CopyFrom(proto)
    retype(model, DOUBLE)
    wide = {k: v.astype(np.float64) if v.dtype in (NUMPY["f"], NUMPY["h"], NUMPY["b"]) else v
            for k, v in inputs.items()}
    try:
        return run(open_session(model), wide)
    except Exception:  # no kernel, most of all
        pass
    return reference_run(model, wide)


def reference_run(model, inputs, name=None):
    """Outputs, or only one, by ONNX's own reference, which rounds after every node; None if it
    cannot."""
    try:
        evaluator = ReferenceEvaluator(pruned(model, [name]) if name else model)
        values = evaluator.run(None, {k: inputs[k] for k in evaluator.input_names})
        return dict(zip(evaluator.output_names, map(np.asarray, values)))
    except Exception:
        return None
