"""Cases of the operators that move, reduce and combine elements, at every opset that has them."""

import numpy as np
from onnx import TensorProto

from opset_nodes import Case, axes_case, ints, positive, real, truth, whole


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


def top_k_cases(op, opset):
    x = real(2, 5)
    if opset < 10:
        yield Case(op, [x], outputs=2, k=3)
    else:
        yield Case(op, [x], [ints(3)], outputs=2)


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
