"""How random nodes are made: for each ONNX operator one function that picks operands from a model
builder's pool and appends the node with attributes that its opset has. Types are letters as in
random_models.py: f d h b for floats, l i B c for integers, ? for booleans."""

import numpy as np
from onnx import helper, numpy_helper

from random_models import FLOATS, NUMPY, ONNX, Unfit

# (operators, first opset, last opset, weight, function)
TEMPLATES = []


def template(operators, since=7, until=99, weight=1.0):
    def register(function):
        for op in operators.split():
            TEMPLATES.append((op, since, until, weight, function))
        return function
    return register


def covered():
    return {entry[0] for entry in TEMPLATES}


def leave_out(operators):
    TEMPLATES[:] = [t for t in TEMPLATES if t[0] not in operators]


def add_random_node(b, only=None):
    usable = [t for t in TEMPLATES if t[1] <= b.opset <= t[2] and (only is None or t[0] == only)]
    if not usable:
        raise Unfit
    op, _, _, _, function = b.random.choices(usable, [t[3] for t in usable])[0]
    function(b, op)


def same(b, op, x, inputs=None, **attributes):
    """A node with one result like its first operand."""
    return b.node(op, inputs or [x], [x.type], [x.shape], **attributes)


def broadcast(*shapes):
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(s)) + tuple(s) for s in shapes]
    result = []
    for sizes in zip(*padded):
        large = {s for s in sizes if s != 1}
        if len(large) > 1:
            raise Unfit
        result.append(large.pop() if large else 1)
    return tuple(result)


# --- Elementwise --------------------------------------------------------------------------------

@template("Relu Sigmoid Tanh Exp Neg Abs Sqrt", weight=1.5)
@template("Log Reciprocal Floor Ceil Softplus Softsign")
@template("Sin Cos")
@template("Erf", since=9)
@template("Round", since=11)
@template("HardSwish", since=14)
@template("Mish", since=18, weight=0.3)
def unary(b, op):
    kinds = FLOATS
    if op in ("Abs", "Neg"):
        kinds += "lic" if op == "Neg" else "liBc"
    if op == "Relu" and b.opset >= 14:
        kinds += "ic"
    if op in ("Erf", "HardSwish", "Softsign", "Mish"):
        kinds = "fh"
    same(b, op, b.pick(kinds))


@template("LeakyRelu Elu HardSigmoid", weight=0.7)
@template("Selu", weight=0.3)
@template("Celu", since=12, weight=0.3)
@template("ThresholdedRelu", since=10, weight=0.3)
@template("Shrink", since=9, weight=0.3)
def unary_with_number(b, op):
    alpha = b.choice([None, 0.01, 0.5, 1.0, 2.0, 0.0] if op != "Celu" else [None, 0.5, 2.0])
    if op == "HardSigmoid":
        beta = b.choice([None, 0.0, 0.5, 0.7])
        return same(b, op, b.pick("fh"), alpha=alpha, beta=beta)
    if op == "Shrink":
        return same(b, op, b.pick("fd"), lambd=b.choice([None, 0.1, 1.0]), bias=alpha)
    return same(b, op, b.pick("fh"), **({} if op == "Selu" else {"alpha": alpha}))


@template("Gelu", since=20)
def gelu(b, op):
    same(b, op, b.pick("fdh"), approximate=b.choice([None, "none", "tanh"]))


@template("Clip", weight=1.5)
def clip(b, op):
    x = b.pick(FLOATS + ("liBc" if b.opset >= 12 else ""))
    low = b.choice([None, 0.0, -1.0, 0.5]) if x.type != "B" else b.choice([None, 0, 1])
    high = b.choice([None, 6.0, 1.0, 2.0, 0.25] if x.type in FLOATS else [None, 6, 1, 2])
    if b.opset < 11:
        return same(b, op, x, min=low, max=high)
    bounds = [None if v is None else b.scalar(x.type, v) for v in (low, high)]
    return same(b, op, x, [x, *bounds])


@template("Not", weight=0.5)
def negation(b, op):
    same(b, op, b.pick("?"))


@template("Identity Dropout", weight=0.6)
def nothing(b, op):
    x = b.pick(FLOATS if op == "Dropout" else FLOATS + "liBc?")
    if op == "Identity":
        return same(b, op, x)
    if b.opset < 12:
        return same(b, op, x, ratio=b.choice([None, 0.3]))
    training = b.choice([None, b.scalar("?", False)])
    return same(b, op, x, [x, b.choice([None, b.scalar("f", 0.3)]), training])


@template("Sign", since=9, weight=0.4)
def sign(b, op):
    same(b, op, b.pick("fdli"))


@template("IsNaN", since=9, weight=0.3)
@template("IsInf", since=10, weight=0.3)
def is_special(b, op):
    x = b.pick("fd" if op == "IsInf" else "fdh")
    b.node(op, [x], ["?"], [x.shape])


@template("Add Mul", weight=4)
@template("Sub Div", weight=2)
@template("Pow", weight=0.8)
def arithmetic(b, op):
    x = b.pick(FLOATS + ("li" if op not in ("Div", "Pow") else ""))
    y = b.partner(x)
    if op == "Pow" and b.chance(0.8):
        y = b.scalar(x.type, b.choice([2, 2, 1, 0, 3, 0.5, -1]))
    if b.chance(0.07) and op != "Pow":
        y = x
    if b.chance(0.35):
        x, y = y, x
    b.node(op, [x, y], [x.type], [broadcast(x.shape, y.shape)])


@template("Min Max", weight=1.2)
@template("Sum Mean")
def variadic(b, op):
    x = b.pick(FLOATS + ("li" if op in ("Min", "Max") and b.opset >= 12 else ""))
    operands = [x]
    for _ in range(b.choice([0, 1, 1, 1, 2, 3])):
        operands.append(b.partner(x, x.shape if b.opset < 8 else None))
    b.random.shuffle(operands)
    b.node(op, operands, [x.type], [broadcast(*(t.shape for t in operands))])


@template("Less Greater", weight=0.8)
@template("Equal", weight=0.6)
@template("LessOrEqual GreaterOrEqual", since=12)
def comparison(b, op):
    kinds = "fdhli" if b.opset >= 9 or op == "Equal" else "fd"
    if op == "Equal":
        kinds = "fdhli?" if b.opset >= 11 else "li?"
    x = b.pick(kinds)
    y = x if b.chance(0.05) else b.partner(x)
    b.node(op, [x, y], ["?"], [broadcast(x.shape, y.shape)])


@template("And Or Xor", weight=0.6)
def logic(b, op):
    x = b.pick("?")
    y = b.partner(x)
    b.node(op, [x, y], ["?"], [broadcast(x.shape, y.shape)])


@template("Where", since=9, weight=1.3)
def where(b, op):
    condition = b.pick("?")
    x = b.pick(FLOATS.replace("b", "") + "liB")
    try:
        shape = broadcast(condition.shape, x.shape)
    except Unfit:
        condition = b.source("?", b.broadcastable(x.shape))
        shape = x.shape
    y = b.source(x.type, b.broadcastable(shape), 0.6)
    if x.type in FLOATS and b.chance(0.25):
        y = b.scalar(x.type, b.choice([float("-inf"), -1e9 if x.type != "h" else -1e4, 0.0]))
    branches = [x, y] if b.chance(0.5) else [y, x]
    b.node(op, [condition, *branches], [x.type], [broadcast(shape, y.shape)])


@template("PRelu", weight=0.6)
def prelu(b, op):
    x = b.pick("fh", least=1)
    slope = b.source(x.type, b.broadcastable(x.shape), 0.8)
    same(b, op, x, [x, slope])


@template("Cast", weight=1.5)
@template("CastLike", since=15, weight=0.6)
def cast(b, op):
    x = b.pick(FLOATS + "liBc?")
    to = b.choice([k for k in "fffddhbliBc?" if k != "b" or b.opset >= 13])
    if x.type in FLOATS and to in "liBc":
        b.tame = True
    if op == "Cast":
        return b.node(op, [x], [to], [x.shape], to=ONNX[to])
    return b.node(op, [x, b.weight(to, (1,))], [to], [x.shape])


@template("Mod", since=10, weight=0.3)
def modulo(b, op):
    x = b.pick("fdli")
    y = b.weight(x.type, b.broadcastable(x.shape)[-1:], 3)
    b.node(op, [x, y], [x.type], [broadcast(x.shape, y.shape)], fmod=int(x.type in "fd"))


# --- Contractions -------------------------------------------------------------------------------

@template("MatMul", weight=4)
def matmul(b, op):
    x = b.pick("fdh" + ("li" if b.opset >= 9 else ""), least=2)
    n = b.size()
    batch = x.shape[:-2] if b.chance(0.4) else ()
    if b.chance(0.65):
        operands = [x, b.partner(x, (*batch, x.shape[-1], n))]
        shape = (*x.shape[:-1], n)
    else:
        operands = [b.partner(x, (*batch, n, x.shape[-2])), x]
        shape = (*x.shape[:-2], n, x.shape[-1])
    b.node(op, operands, [x.type], [shape])


@template("Gemm", weight=1.5)
def gemm(b, op):
    x = b.pick("fdh", least=2, most=2)
    flip_x, flip_y = b.chance(0.3), b.chance(0.3)
    (k, m) = x.shape if flip_x else x.shape[::-1]
    n = b.size()
    operands = [x, b.partner(x, (n, k) if flip_y else (k, n))]
    if b.opset < 11 or b.chance(0.7):
        operands.append(b.partner(x, b.choice([(n,), (m, n), (1, n), (m, 1), (), (1,)])))
    number = [None, 1.0, 0.5, 2.0, 0.0]
    b.node(op, operands, [x.type], [(m, n)], alpha=b.choice(number), beta=b.choice(number),
           transA=int(flip_x) or None, transB=int(flip_y) or None)


def window(b, spatial, pool=False):
    """Kernel, attributes and result sizes of a window over these sizes, drawn until it fits."""
    for _ in range(10):
        kernel = [b.choice([1, 1, 2, 3, 3]) for _ in spatial]
        strides = [b.choice([1, 1, 1, 2, 3]) for _ in spatial]
        dilations = [b.choice([1, 1, 1, 2]) for _ in spatial]
        if pool and b.opset < 10:
            dilations = [1] * len(kernel)
        most = [k - 1 for k in kernel] if pool else [2] * len(kernel)
        pads = [b.random.randint(0, min(m, 2)) if b.chance(0.4) else 0 for m in most * 2]
        mode = b.choice(["NOTSET"] * 6 + ["SAME_UPPER", "SAME_LOWER", "VALID"])
        if mode != "NOTSET":
            pads = [0] * len(pads)
        sizes, span = [], [d * (k - 1) + 1 for d, k in zip(dilations, kernel)]
        if mode.startswith("SAME") and any(d > 1 for d in dilations):
            continue
        for i, size in enumerate(spatial):
            room = size + pads[i] + pads[i + len(kernel)] - span[i]
            sizes.append(-(-size // strides[i]) if mode.startswith("SAME") else
                         room // strides[i] + 1 if room >= 0 else 0)
        if min(sizes) >= 1:
            break
    else:
        raise Unfit
    given = {"strides": strides if b.chance(0.8) or max(strides) > 1 else None,
             "pads": pads if mode == "NOTSET" and (any(pads) or b.chance(0.3)) else None,
             "auto_pad": mode if mode != "NOTSET" or b.chance(0.1) else None}
    if max(dilations) > 1:
        given["dilations"] = dilations
    return kernel, given, tuple(sizes)


@template("Conv", weight=3)
def conv(b, op):
    x = b.pick("fh", least=3, most=5 if b.chance(0.1) else 4)
    kernel, given, sizes = window(b, x.shape[2:])
    channels = x.shape[1]
    group = b.choice([1, 1, 1, channels] + [g for g in (2, 3) if channels % g == 0])
    outputs = group * b.choice([1, 2, 3])
    operands = [x, b.source(x.type, (outputs, channels // group, *kernel), 0.85)]
    if b.chance(0.5):
        operands.append(b.vector(x.type, outputs))
    b.node(op, operands, [x.type], [(x.shape[0], outputs, *sizes)], group=group if group > 1
           else None, kernel_shape=kernel if b.chance(0.6) else None, **given)


@template("ConvTranspose", weight=1)
def conv_transpose(b, op):
    x = b.pick("f", least=3, most=4)
    spatial = x.shape[2:]
    kernel = [b.choice([1, 2, 3]) for _ in spatial]
    strides = [b.choice([1, 1, 2]) for _ in spatial]
    dilations = [b.choice([1, 1, 1, 2]) for _ in spatial]
    more = [b.random.randrange(s) if b.chance(0.3) else 0 for s in strides]
    pads = [b.random.randint(0, 1) if b.chance(0.3) else 0 for _ in [*spatial, *spatial]]
    sizes = [st * (s - 1) + o + d * (k - 1) + 1 - p - q for st, s, o, d, k, p, q in
             zip(strides, spatial, more, dilations, kernel, pads, pads[len(spatial):])]
    if min(sizes) < 1:
        raise Unfit
    group = b.choice([1] + [g for g in (2, 3) if x.shape[1] % g == 0])
    outputs = b.choice([1, 2, 3])
    operands = [x, b.source(x.type, (x.shape[1], outputs, *kernel), 0.85)]
    if b.chance(0.4):
        operands.append(b.vector(x.type, group * outputs))
    b.node(op, operands, [x.type], [(x.shape[0], group * outputs, *sizes)], strides=strides,
           group=group if group > 1 else None, dilations=dilations if max(dilations) > 1 else None,
           pads=pads if any(pads) else None, output_padding=more if any(more) else None)


@template("MaxPool AveragePool", weight=1.5)
def pool(b, op):
    x = b.pick("fh", least=3, most=4)
    kernel, given, sizes = window(b, x.shape[2:], pool=True)
    if op == "AveragePool":
        if b.opset < 19 and "dilations" in given:
            raise Unfit
        given["count_include_pad"] = b.choice([None, 0, 1])
    b.node(op, [x], [x.type], [(*x.shape[:2], *sizes)], kernel_shape=kernel, **given)


@template("MaxPool AveragePool", since=10, weight=0.5)
def ceil_pool(b, op):
    """Windows that stick out; sizes such that every one of them begins within."""
    x = b.pick("fh", least=4, most=4, where=lambda t: min(t.shape[2:]) >= 2)
    sizes = [-(-(s - 2) // 2) + 1 for s in x.shape[2:]]
    b.node(op, [x], [x.type], [(*x.shape[:2], *sizes)], kernel_shape=[2, 2], strides=[2, 2],
           ceil_mode=1, count_include_pad=1 if op == "AveragePool" and b.chance(0.3) else None)


@template("MaxPool", since=8, weight=0.2)
def pool_with_places(b, op):
    x = b.pick("f", least=4, most=4, where=lambda t: min(t.shape[2:]) >= 2)
    sizes = (*x.shape[:2], *(s - 1 for s in x.shape[2:]))
    b.node(op, [x], ["f", "l"], [sizes, sizes], kernel_shape=[2, 2])


@template("GlobalAveragePool GlobalMaxPool")
def global_pool(b, op):
    x = b.pick("fh", least=3)
    b.node(op, [x], [x.type], [(*x.shape[:2], *(1 for _ in x.shape[2:]))])


# --- Normalizations -----------------------------------------------------------------------------

@template("BatchNormalization", weight=2)
def batch_norm(b, op):
    x = b.pick("fdh", least=2, most=4)
    c = x.shape[1]
    variance = b.weight(x.type, (c,), abs(b.numbers.standard_normal(c)) + 0.1)
    same(b, op, x, [x, b.vector(x.type, c), b.vector(x.type, c), b.vector(x.type, c), variance],
         epsilon=b.choice([None, 1e-3, 1e-5, 0.0]))


@template("InstanceNormalization", weight=0.7)
@template("GroupNormalization", since=18, weight=0.7)
def instance_norm(b, op):
    x = b.pick("fh", least=3, most=4)
    c = x.shape[1]
    epsilon = b.choice([None, 1e-3, 1e-5])
    if op == "InstanceNormalization":
        return same(b, op, x, [x, b.vector(x.type, c), b.vector(x.type, c)], epsilon=epsilon)
    groups = b.choice([g for g in (1, 2, 3, c) if c % g == 0])
    n = c if b.opset >= 21 else groups
    return same(b, op, x, [x, b.vector(x.type, n), b.vector(x.type, n)], num_groups=groups,
                epsilon=epsilon)


@template("LayerNormalization", since=17)
@template("RMSNormalization", since=23)
def layer_norm(b, op):
    x = b.pick("fdh", least=1)
    axis = b.axis(x.rank)
    shape = x.shape[axis:]
    operands = [x, b.source(x.type, shape, 0.85)]
    if op == "LayerNormalization" and b.chance(0.6):
        operands.append(b.source(x.type, shape, 0.85))
    same(b, op, x, operands, axis=axis, epsilon=b.choice([None, 1e-3, 1e-5]))


@template("Softmax", weight=2)
@template("LogSoftmax", weight=1)
@template("Hardmax", weight=0.2)
def softmax(b, op):
    x = b.pick("fdh" if op != "Hardmax" else "f", least=1)
    axis = None if b.chance(0.3) and (b.opset >= 13 or x.rank >= 2) else b.axis(x.rank)
    same(b, op, x, axis=axis)


@template("LpNormalization", weight=0.2)
def lp_norm(b, op):
    x = b.pick("fd", least=1)
    same(b, op, x, axis=b.axis(x.rank), p=b.choice([1, 2]))


@template("LRN", weight=0.2)
def lrn(b, op):
    same(b, op, b.pick("f", least=4, most=4), size=3)


@template("MeanVarianceNormalization", since=9, weight=0.2)
def mean_variance(b, op):
    x = b.pick("f", least=4, most=4)
    same(b, op, x, axes=b.choice([[0, 2, 3], [2, 3]]))


@template("SoftmaxCrossEntropyLoss NegativeLogLikelihoodLoss", since=12, weight=0.6)
def loss(b, op):
    x = b.pick("f", least=2, most=4)
    labels = (x.shape[0], *x.shape[2:])
    places = (b.weight("l", labels, b.numbers.integers(0, x.shape[1], labels)) if b.chance(0.4)
              else b.input("l", labels, 0, x.shape[1]))
    operands = [x, places]
    if b.chance(0.4):
        operands.append(b.weight(x.type, (x.shape[1],), abs(b.numbers.standard_normal(x.shape[1]))))
    way = b.choice(["none", "mean", "sum", None])
    shapes = [labels if way == "none" else ()]
    ignored = b.choice([None, None, 0])
    if op == "SoftmaxCrossEntropyLoss" and b.chance(0.3):
        return b.node(op, operands, [x.type] * 2, [shapes[0], x.shape], reduction=way,
                      ignore_index=ignored)
    return b.node(op, operands, [x.type], shapes, reduction=way, ignore_index=ignored)


# --- Reductions ---------------------------------------------------------------------------------

@template("ReduceSum ReduceMean", weight=1.5)
@template("ReduceMax ReduceMin ReduceL1 ReduceL2 ReduceSumSquare", weight=0.8)
@template("ReduceLogSum ReduceLogSumExp", weight=0.7)
@template("ReduceProd", weight=0.3)
def reduction(b, op):
    whole = {"ReduceSum": "li", "ReduceMax": "li", "ReduceMin": "li", "ReduceMean": "i",
             "ReduceSumSquare": "i", "ReduceL1": "i"}
    x = b.pick("fdh" + whole.get(op, ""), least=1)
    count = b.random.randint(1, min(x.rank, 3))
    axes = sorted(b.random.sample(range(x.rank), count))
    keep = b.choice([None, 1, 0])
    over_all = b.chance(0.15)
    reduced = range(x.rank) if over_all else axes
    if b.opset >= 11 and b.chance(0.3):
        axes = [a - x.rank if b.chance(0.5) else a for a in axes]
    shape = [1 if i in reduced else s for i, s in enumerate(x.shape)
             if keep != 0 or i not in reduced]
    as_input = b.opset >= (13 if op == "ReduceSum" else 18)
    operands, given = [x], {}
    if as_input and not over_all:
        operands.append(b.ints(axes))
    elif not over_all:
        given["axes"] = axes
    if as_input and over_all and b.chance(0.3):
        given["noop_with_empty_axes"] = 1
        shape = x.shape
        if op not in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"):
            raise Unfit
    b.node(op, operands, [x.type], [shape], keepdims=keep, **given)


@template("ArgMax ArgMin", weight=0.3)
def arg_extremum(b, op):
    x = b.pick("fdi", least=1)
    axis, keep = b.axis(x.rank), b.choice([0, 1])
    at = axis % x.rank
    shape = [1 if i == at else s for i, s in enumerate(x.shape) if keep or i != at]
    b.node(op, [x], ["l"], [shape], axis=axis, keepdims=keep)


@template("CumSum", since=11, weight=0.4)
def cumulative(b, op):
    x = b.pick("fdli", least=1)
    same(b, op, x, [x, b.scalar("l", b.axis(x.rank))], exclusive=b.choice([None, 1]),
         reverse=b.choice([None, 1]))


# --- Movement -----------------------------------------------------------------------------------

ANY = FLOATS + "liBc?"


@template("Transpose", weight=3)
def transpose(b, op):
    x = b.pick(ANY, least=1)
    perm = list(range(x.rank))
    b.random.shuffle(perm)
    if b.chance(0.15):
        return b.node(op, [x], [x.type], [x.shape[::-1]])
    return b.node(op, [x], [x.type], [[x.shape[p] for p in perm]], perm=perm)


@template("Reshape", weight=3)
def reshape(b, op):
    x = b.pick(ANY)
    shape = list(x.shape)
    for _ in range(b.choice([1, 1, 2])):
        if len(shape) >= 2 and b.chance(0.5):
            i = b.random.randrange(len(shape) - 1)
            shape[i:i + 2] = [shape[i] * shape[i + 1]]
        elif shape and len(shape) < 5:
            i = b.random.randrange(len(shape))
            part = b.choice([d for d in (1, 2, 3, 4) if shape[i] % d == 0])
            shape[i:i + 1] = [part, shape[i] // part]
        else:
            shape.append(1)
    if len(shape) > 5:
        raise Unfit
    said = list(shape)
    if said and b.chance(0.3):
        said[b.random.randrange(len(said))] = -1
    for i, s in enumerate(said):
        if i < x.rank and s == x.shape[i] and b.chance(0.15):
            said[i] = 0
    b.node(op, [x, b.ints(said)], [x.type], [shape])


@template("Flatten", weight=0.7)
def flatten(b, op):
    x = b.pick(FLOATS + ("liBc?" if b.opset >= 9 else ""), least=1)
    axis = b.choice([None, *range(x.rank + 1)])
    at = 1 if axis is None else axis
    if b.opset >= 11 and axis is not None and axis < x.rank and b.chance(0.3):
        axis -= x.rank
    rows = 1
    for s in x.shape[:at]:
        rows *= s
    b.node(op, [x], [x.type], [(rows, x.size // rows)], axis=axis)


@template("Squeeze Unsqueeze")
def squeeze(b, op):
    x = b.pick(ANY, most=4)
    given, operands = {}, [x]
    if op == "Squeeze":
        ones = [i for i, s in enumerate(x.shape) if s == 1]
        if not ones:
            raise Unfit
        axes = sorted(b.random.sample(ones, b.random.randint(1, len(ones))))
        shape = [s for i, s in enumerate(x.shape) if i not in axes]
        rank = x.rank
        if b.chance(0.1):
            return b.node(op, [x], [x.type], [[s for s in x.shape if s != 1]])
    else:
        axes = [b.random.randrange(x.rank + 1)]
        shape = [*x.shape[:axes[0]], 1, *x.shape[axes[0]:]]
        rank = x.rank + 1
    if b.opset >= 11 and b.chance(0.3):
        axes = [a - rank for a in axes]
    if b.opset < 13:
        given["axes"] = axes
    else:
        operands.append(b.ints(axes))
    return b.node(op, operands, [x.type], [shape], **given)


@template("Concat", weight=3)
def concat(b, op):
    x = b.pick(ANY, least=1)
    axis = b.axis(x.rank, 11)
    at, parts = axis % x.rank, [x]
    for _ in range(b.choice([0, 1, 1, 1, 2])):
        shape = list(x.shape)
        if b.chance(0.5):
            shape[at] = b.size()
        parts.append(b.partner(x, shape))
    b.random.shuffle(parts)
    shape = list(x.shape)
    shape[at] = sum(t.shape[at] for t in parts)
    b.node(op, parts, [x.type], [shape], axis=axis)


@template("Split", weight=2)
def split(b, op):
    x = b.pick(FLOATS + "liBc", least=1, where=lambda t: max(t.shape) >= 2)
    at = b.choice([i for i, s in enumerate(x.shape) if s >= 2])
    axis = at - x.rank if b.opset >= 11 and b.chance(0.3) else at
    size = x.shape[at]
    sizes, given, operands = [], {}, [x]
    while sum(sizes) < size and len(sizes) < 3:
        sizes.append(b.random.randint(1, size - sum(sizes)))
    sizes[-1] += size - sum(sizes)
    equal = [d for d in (2, 3) if size % d == 0]
    if equal and b.chance(0.4):
        n = b.choice(equal)
        sizes = [size // n] * n
        if b.opset >= 18:
            given["num_outputs"] = n
    elif b.opset < 13:
        given["split"] = sizes
    else:
        operands.append(b.ints(sizes))
    shapes = [[*x.shape[:at], s, *x.shape[at + 1:]] for s in sizes]
    b.node(op, operands, [x.type] * len(sizes), shapes, axis=axis, **given)


@template("Slice", weight=2)
def slicing(b, op):
    x = b.pick(FLOATS.replace("b", "") + "liBc?", least=1)
    axes = b.random.sample(range(x.rank), b.random.randint(1, min(2, x.rank)))
    starts, ends, steps, shape = [], [], [], list(x.shape)
    for axis in axes:
        n = x.shape[axis]
        step = b.choice([1, 1, 1, 2, -1, -2]) if b.opset >= 10 else 1
        start = b.random.randrange(n)
        end = b.choice([n, n + 5, 2 ** 31 - 1]) if step > 0 else b.choice([-n - 1, -n - 9])
        if step > 0 and b.chance(0.6):
            end = b.random.randint(start + 1, n)
        at = range(n)[start:end:step] if step > 0 else range(start, -1, step)
        shape[axis] = len(at)
        starts.append(start - n if b.chance(0.3) else start)
        ends.append(end - n if 0 < end < n and b.chance(0.3) else end)
        steps.append(step)
    if min(shape) < 1:
        raise Unfit
    if b.opset >= 11 and b.chance(0.2):
        axes = [a - x.rank for a in axes]
    if b.opset < 10:
        return b.node(op, [x], [x.type], [shape], axes=axes, starts=starts, ends=ends)
    operands = [x, b.ints(starts), b.ints(ends), b.ints(axes)]
    if max(steps) > 1 or min(steps) < 1 or b.chance(0.3):
        operands.append(b.ints(steps))
    return b.node(op, operands, [x.type], [shape])


@template("Pad", weight=1.2)
def pad(b, op):
    x = b.pick("fdh" + ("liB" if b.opset >= 13 else ""), least=1)
    modes = ["constant"] * 5 + ["edge", "reflect"] + (["wrap"] if b.opset >= 19 else [])
    mode = b.choice(modes)
    low = -1 if mode == "constant" and min(x.shape) > 2 else 0
    pads = [b.random.randint(low, 2) if b.chance(0.5) else 0 for _ in range(2 * x.rank)]
    if mode in ("reflect", "wrap"):
        pads = [min(p, s - 1) for p, s in zip(pads, x.shape * 2)]
    shape = [s + p + q for s, p, q in zip(x.shape, pads, pads[x.rank:])]
    value = b.choice([None, 0.0, 1.0, -2.0])
    if b.opset < 11:
        return b.node(op, [x], [x.type], [shape], pads=pads, mode=mode, value=value)
    operands = [x, b.ints(pads)]
    operands.append(None if value is None else b.scalar(x.type, abs(value)))
    if b.opset >= 18 and b.chance(0.2):
        operands.append(b.ints(range(x.rank)))
    return b.node(op, operands, [x.type], [shape], mode=mode)


@template("Expand", since=8)
def expand(b, op):
    x = b.pick(FLOATS.replace("b", "") + "li?", most=4)
    shape = [b.size() if s == 1 and b.chance(0.7) else s for s in x.shape]
    if b.chance(0.4):
        shape = [b.size(), *shape]
    said = [1 if s == t and b.chance(0.3) else t for s, t in
            zip([0] * (len(shape) - x.rank) + list(x.shape), shape)]
    if not said:
        raise Unfit
    b.node(op, [x, b.ints(said)], [x.type], [shape])


@template("Tile", weight=0.8)
def tile(b, op):
    x = b.pick("fdhliB?", least=1, most=4)
    times = [b.choice([1, 1, 2, 3]) for _ in x.shape]
    b.node(op, [x, b.ints(times)], [x.type], [[s * t for s, t in zip(x.shape, times)]])


@template("DepthToSpace SpaceToDepth", weight=0.7)
def depth(b, op):
    n, c, h, w = b.size(), b.choice([1, 2, 3]), b.choice([1, 2, 3]), b.choice([1, 2, 3])
    block = b.choice([1, 2, 2])
    deep, wide = (n, c * block * block, h, w), (n, c, h * block, w * block)
    x = b.input("f", deep if op == "DepthToSpace" else wide)
    mode = b.choice([None, "DCR", "CRD"]) if op == "DepthToSpace" and b.opset >= 11 else None
    b.node(op, [x], ["f"], [wide if op == "DepthToSpace" else deep], blocksize=block, mode=mode)


@template("Gather", weight=2)
def gather(b, op):
    x = b.pick(ANY, least=1)
    at = b.random.randrange(x.rank)
    axis = at - x.rank if b.opset >= 11 and b.chance(0.3) else at
    n = x.shape[at]
    low = -n if b.opset >= 11 else 0
    shape = b.choice([(), (1,), (b.size(),), (b.size(), b.size())])
    kind = b.choice("lli")
    if b.chance(0.5):
        indices = b.weight(kind, shape, b.numbers.integers(low, n, shape))
    else:
        indices = b.input(kind, shape, low, n)
    b.node(op, [x, indices], [x.type], [(*x.shape[:at], *shape, *x.shape[at + 1:])], axis=axis)


@template("GatherElements", since=11, weight=0.3)
def gather_elements(b, op):
    x = b.pick("fdli", least=1)
    at = b.random.randrange(x.rank)
    n = x.shape[at]
    indices = b.weight("l", x.shape, b.numbers.integers(-n, n, x.shape))
    same(b, op, x, [x, indices], axis=at)


@template("ScatterElements", since=11, weight=0.3)
def scatter_elements(b, op):
    x = b.pick("fl", least=1)
    at = b.random.randrange(x.rank)
    index = b.random.randrange(x.shape[at])
    shape = [1 if i == at else s for i, s in enumerate(x.shape)]
    same(b, op, x, [x, b.weight("l", shape, index), b.source(x.type, shape)], axis=at)


@template("OneHot", since=9, weight=0.5)
def one_hot(b, op):
    shape, n = b.shape(rank=b.choice([1, 2])), b.size() + 1
    b.node(op, [b.input("l", shape, -n if b.opset >= 11 else 0, n), b.weight("l", (1,), n),
                b.weight("f", (2,), [0, 1])], ["f"], [(*shape, n)])


@template("Trilu", since=14, weight=0.5)
def trilu(b, op):
    x = b.pick("fdl", least=2)
    same(b, op, x, [x, b.choice([None, b.scalar("l", b.choice([-1, 0, 1]))])],
         upper=b.choice([None, 0]))


@template("TopK", since=11, weight=0.3)
def top_k(b, op):
    x = b.pick("fdl", least=1)
    at = b.random.randrange(x.rank)
    k = b.random.randint(1, x.shape[at])
    shape = [*x.shape[:at], k, *x.shape[at + 1:]]
    b.node(op, [x, b.weight("l", (1,), k)], [x.type, "l"], [shape, shape], axis=at)


@template("Einsum", since=12, weight=0.8)
def einsum(b, op):
    equation = b.choice(["ij,jk->ik", "ij,kj->ik", "bij,bjk->bik", "bij,bkj->bik", "ij->ji", "ij->i",
                         "i,j->ij", "ij,ij->", "bhid,bhjd->bhij", "ij,j->i", "abc,cd->abd",
                         "ij,jk", "i,i->i", "bij->b"])
    terms, _, result = equation.partition("->")
    terms = terms.split(",")
    x = b.pick("fd", least=len(terms[0]), most=len(terms[0]))
    size = dict(zip(terms[0], x.shape))
    operands = [x]
    for term in terms[1:]:
        shape = [size.setdefault(letter, b.size()) for letter in term]
        operands.append(b.partner(x, shape))
    if "->" not in equation:
        letters = "".join(terms)
        result = sorted(c for c in set(letters) if letters.count(c) == 1)
    b.node(op, operands, [x.type], [[size[letter] for letter in result]], equation=equation)


@template("Resize", since=11, weight=0.8)
def resize(b, op):
    x = b.pick("f", least=4, most=4)
    way = b.choice(["nearest", "linear"])
    up = [b.choice([1, 2, 3]), b.choice([1, 2, 4])]
    shape = (*x.shape[:2], *(u * s for u, s in zip(up, x.shape[2:])))
    place = b.choice([None, "half_pixel", "asymmetric", "align_corners"])
    rounding = b.choice([None, "floor", "ceil", "round_prefer_ceil"]) if way == "nearest" else None
    if b.chance(0.5):
        operands = [x, b.weight("f", (0,), []), b.weight("f", (4,), [1, 1, *up])]
    else:
        operands = [x, b.weight("f", (0,), []), b.weight("f", (0,), []), b.ints(shape)]
    b.node(op, operands, ["f"], [shape], mode=way, coordinate_transformation_mode=place,
           nearest_mode=rounding)


@template("Upsample", until=9, weight=0.5)
def upsample(b, op):
    x = b.pick("f", least=4, most=4)
    up = [1, 1, b.choice([1, 2, 3]), b.choice([1, 2])]
    shape = [u * s for u, s in zip(up, x.shape)]
    mode = b.choice([None, "nearest", "linear"])
    if b.opset < 9:
        return b.node(op, [x], ["f"], [shape], mode=mode, scales=[float(u) for u in up])
    return b.node(op, [x, b.weight("f", (4,), up)], ["f"], [shape], mode=mode)


@template("Range", since=11, weight=0.4)
def counting(b, op):
    kind, n = b.choice("fl"), b.size()
    start, step = b.choice([0, 0, 1, -2]), b.choice([1, 1, 2, -1])
    b.node(op, [b.scalar(kind, start), b.scalar(kind, start + n * step), b.scalar(kind, step)],
           [kind], [(n,)])


# --- Constants and shapes -----------------------------------------------------------------------

@template("Constant", weight=0.5)
def constant(b, op):
    kind, shape = b.choice("fffl" + b.main), b.shape()
    value = b.weight_values(kind, shape)
    value = np.asarray(value).astype(NUMPY[kind]).reshape(shape)
    b.node(op, [], [kind], [shape], value=numpy_helper.from_array(value))


@template("ConstantOfShape", since=9, weight=0.5)
def constant_of_shape(b, op):
    shape, kind = b.shape(least=1), b.choice("ffdl?")
    value = numpy_helper.from_array(np.array([b.choice([0, 1, 2, -1])]).astype(NUMPY[kind]))
    value = b.choice([None, value])
    b.node(op, [b.ints(shape)], [kind if value is not None else "f"], [shape], value=value)


@template("EyeLike", since=9, weight=0.5)
def eye_like(b, op):
    x = b.pick("fdli", least=2, most=2)
    to = b.choice([None, "f", "d", "l"])
    b.node(op, [x], [to or x.type], [x.shape], dtype=ONNX[to] if to else None,
           k=b.choice([None, 0, 1, -1]))


@template("Shape Size", weight=0.4)
def shape_of(b, op):
    x = b.pick(ANY, least=1)
    b.node(op, [x], ["l"], [(x.rank,) if op == "Shape" else ()])


@template("If", since=11, weight=0.2)
def branch(b, op):
    x = b.pick("fd")
    condition = b.choice([b.weight("?", ()), b.input("?", ())])
    graphs = []
    for k, inner in enumerate(["Relu", "Neg"]):
        name = b.name("inner")
        out = helper.make_tensor_value_info(name, ONNX[x.type], x.shape)
        graphs.append(helper.make_graph([helper.make_node(inner, [x.name], [name])],
                                        f"branch{k}", [], [out]))
    b.node(op, [condition], [x.type], [x.shape], then_branch=graphs[0], else_branch=graphs[1])


def draw_model(builder, least=3, most=15, source=None):
    """Fills a builder with nodes. `source`: (model, which inputs are constants) of a rule."""
    before = builder.random.randrange(4) if source else 0
    count = builder.random.randint(least, most)
    tries = 0
    if source and before == 0:
        builder.embed(*source)
    while len(builder.nodes) < count and tries < 4 * count:
        tries += 1
        if source and before and len(builder.nodes) >= before:
            builder.embed(*source)
            before = 0
        try:
            if builder.nodes and builder.chance(0.05):
                builder.repeat_a_node()
            else:
                add_random_node(builder)
        except Unfit:
            pass
    if source and before:
        builder.embed(*source)
