"""Random reductions and running sums."""

from random_models import Unfit
from template_table import same, template


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
