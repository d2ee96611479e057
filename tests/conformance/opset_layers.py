"""Cases of the operators that are layers of networks, at every opset that has them."""

import numpy as np

from opset_nodes import NEWEST_RUN, Case, positive, real, whole


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


def group_norm_cases(op, opset):
    size = 4 if opset >= 21 else 2
    yield Case(op, [real(2, 4, 3, 2)], [real(size), real(size)], num_groups=2)
