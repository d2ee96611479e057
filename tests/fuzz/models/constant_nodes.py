"""Random constants, shapes as values, and branches."""

import numpy as np
from onnx import helper, numpy_helper

from random_models import NUMPY, ONNX
from template_table import ANY, template


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
