"""Random normalizations and losses."""

from template_table import same, template


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
