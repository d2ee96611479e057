"""Random elementwise nodes: functions of one number, arithmetic, comparisons, casts."""

from random_models import FLOATS, ONNX, Unfit
from template_table import broadcast, same, template


@template("Relu Sigmoid Tanh Exp Neg Abs Sqrt", weight=1.5)
@template("Log Reciprocal Floor Ceil Softplus Softsign")
@template("Sin Cos")
@template("Erf", since=9)
@template("Round", since=11)
@template("HardSwish", since=14)
@template("Mish", since=18, weight=0.3)
@template("Swish", since=24, weight=0.3)
def unary(b, op):
    kinds = FLOATS
    if op in ("Abs", "Neg"):
        kinds += "lic" if op == "Neg" else "liBc"
    if op == "Relu" and b.opset >= 14:
        kinds += "ic"
    if op in ("Erf", "HardSwish", "Softsign", "Mish", "Swish"):
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
    if op == "Shrink":  # of doubles, onnxruntime computes it in single precision
        return same(b, op, b.pick("f"), lambd=b.choice([None, 0.1, 1.0]), bias=alpha)
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
