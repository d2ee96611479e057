"""Random idioms by which models make NaN or infinities of finite numbers and clear them again: a quotient,
logarithm, root or mean over a mask that may be empty, and what tests for it or bounds it."""

from template_table import same, template

MAKERS = ("quotient", "log", "root", "inverse root", "exponential", "masked mean")
CLEANERS = ("equal", "zero product", "difference", "magnitude", "bound", "activation")


@template("Where", since=13, weight=0.8)
def cleared(b, op):
    made = make(b, b.pick("fd", least=1), b.choice(MAKERS))
    clean = clear(b, op, made, b.choice(CLEANERS))
    if b.chance(0.5):
        same(b, b.choice(["Relu", "Tanh", "Sigmoid", "Abs"]), clean)


def make(b, x, maker):
    """A tensor that is not finite where the operand is 0, 1 or negative."""
    if maker == "quotient":
        y = b.partner(x, constant=0.2)
        shifted = same(b, "Sub", y, [y, b.scalar(x.type, b.choice([0.0, 1.0]))])
        return same(b, "Div", x, [x, shifted]) if y.shape == x.shape else same(b, "Log", x)
    if maker == "masked mean":
        kept = same(b, "Cast", x, to=11 if x.type == "d" else 1)
        axes = [b.ints([x.rank - 1])]
        shape = [*x.shape[:-1], 1]
        total = b.node("ReduceSum", [kept, *axes], [x.type], [shape])
        count = b.node("ReduceSum", [same(b, "Relu", x), *axes], [x.type], [shape])
        return same(b, "Div", total, [total, count])
    if maker == "exponential":
        return same(b, "Exp", x, [same(b, "Mul", x, [x, b.scalar(x.type, 90.0)])])
    if maker == "inverse root":
        return same(b, "Reciprocal", x, [same(b, "Sqrt", x)])
    return same(b, "Log" if maker == "log" else "Sqrt", x)


def clear(b, op, x, cleaner):
    zero = b.scalar(x.type, 0.0)
    if cleaner == "bound":
        return same(b, "Clip", x, [x, b.scalar(x.type, -6.0), b.scalar(x.type, 6.0)])
    if cleaner == "activation":
        return same(b, b.choice(["Tanh", "Sigmoid", "Erf" if x.type == "f" else "Tanh"]), x)
    if cleaner == "magnitude":
        test = b.node("Less", [same(b, "Abs", x), b.scalar(x.type, 1e30)], ["?"], [x.shape])
    elif cleaner == "zero product":
        product = same(b, "Mul", x, [x, zero])
        test = b.node("Equal", [product, zero], ["?"], [x.shape])
    elif cleaner == "difference":
        test = b.node("Equal", [same(b, "Sub", x, [x, x]), zero], ["?"], [x.shape])
    else:
        test = b.node("Equal", [x, x], ["?"], [x.shape])
    return same(b, op, x, [test, x, b.choice([zero, b.scalar(x.type, 1.0)])])
