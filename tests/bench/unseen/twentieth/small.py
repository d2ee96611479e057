"""Small graphs beside what somebody would write in their place, a class of rewrites each. Unlike other
sets, these were looked at while the rules for them were written."""

import numpy as np

from networks import network

UP = {"mode": "linear", "coordinate_transformation_mode": "half_pixel"}


def enlarged(g, x):
    return g.Resize(x, "", np.array([1, 1, 2, 2], np.float32), **UP)


@network(x=(1, 21, 32, 32))
def classes_of_pixels(random):
    """The end of a segmentation network (Long et al. 2015) as it is deployed."""
    kernel = random(21, 21, 1, 1)

    def given(g, x):
        place = g.ArgMax(g.Softmax(g.Conv(x, kernel), axis=1), axis=1, keepdims=0)
        return g.Cast(place, to=1)

    def expert(g, x):
        # Softmax keeps the order.
        return g.Cast(g.ArgMax(g.Conv(x, kernel), axis=1, keepdims=0), to=1)
    return given, expert


@network(x=(1, 256, 64))
def nearest_in_a_codebook(random):
    """VQ-VAE (van den Oord et al. 2017): distances to all codes, and the nearest of them."""
    codes = random(512, 64)
    squares = (codes * codes).sum(axis=1)

    def given(g, x):
        length = g.ReduceSum(g.Pow(x, 2.0), [2], keepdims=1)
        distances = g.Sub(g.Add(length, squares), g.Mul(2.0, g.MatMul(x, codes.T.copy())))
        return g.Gather(codes, g.ArgMin(distances, axis=-1, keepdims=0), axis=0)

    def expert(g, x):
        # The length of a row moves all of its distances.
        distances = g.linear(x, -2 * codes.T, squares)
        return g.Gather(codes, g.ArgMin(distances, axis=-1, keepdims=0), axis=0)
    return given, expert


@network(x=(1, 64, 128), z=(1, 16, 128))
def head_on_tokens(random):
    """SegFormer (Xie et al. 2021): tokens of two scales as images, joined."""
    weights, biases = [random(128, 96) for _ in range(2)], [random(96) for _ in range(2)]
    kernel = random(96, 192, 1, 1)

    def image(g, tokens, size):
        t = g.Transpose(tokens, perm=[0, 2, 1])
        return g.Reshape(t, [1, 96, size, size])

    def given(g, x, z):
        fine, coarse = (image(g, g.linear(t, weights[k], biases[k]), size)
                        for k, (t, size) in enumerate([(x, 8), (z, 4)]))
        return g.Relu(g.Conv(g.Concat(fine, enlarged(g, coarse), axis=1), kernel))

    def expert(g, x, z):
        # Layers of points, one behind the other, are one; and each scale is enlarged after it.
        halves = [kernel[:, 96 * k:96 * (k + 1), 0, 0].T for k in range(2)]
        fine, coarse = (
            image(g, g.linear(t, weights[k] @ halves[k], biases[k] @ halves[k]), size)
            for k, (t, size) in enumerate([(x, 8), (z, 4)]))
        return g.Relu(g.Add(fine, enlarged(g, coarse)))
    return given, expert


@network(x=(1, 32, 16, 16))
def block_of_a_discriminator(random):
    """SNGAN (Miyato et al. 2018): the mean of four pixels behind both branches."""
    first, second = random(32, 32, 3, 3), random(64, 32, 3, 3)
    side, b1, b2, b3 = random(64, 32, 1, 1), random(32), random(64), random(64)
    halves = {"kernel_shape": [2, 2], "strides": [2, 2]}

    def given(g, x):
        t = g.Conv(g.Relu(x), first, b1, pads=[1] * 4)
        t = g.Conv(g.Relu(t), second, b2, pads=[1] * 4)
        return g.Add(g.AveragePool(t, **halves), g.AveragePool(g.Conv(x, side, b3), **halves))

    def expert(g, x):
        # The mean is spread over the kernels, and the sum is one convolution.
        spread = np.zeros((64, 64, 4, 4))
        for row, column in ((0, 0), (0, 1), (1, 0), (1, 1)):
            spread[:, :32, row:row + 3, column:column + 3] += second / 4
            spread[:, 32:, row + 1:row + 2, column + 1:column + 2] += side / 4
        t = g.Relu(g.Conv(g.Relu(x), first, b1, pads=[1] * 4))
        return g.Conv(g.Concat(t, x, axis=1), spread, b2 + b3, pads=[1] * 4, strides=[2, 2])
    return given, expert


@network(x=(1, 16, 8, 14, 14))
def shift_in_time(random):
    """TSM (Lin et al. 2019): channels of the frame before and behind, and a convolution of points."""
    kernel = random(16, 16, 1, 1, 1)
    zeros = np.zeros((1, 4, 1, 14, 14))

    def given(g, x):
        behind = g.Concat(g.Slice(x, [0, 1], [4, 8], [1, 2]), zeros, axis=2)
        before = g.Concat(zeros, g.Slice(x, [4, 0], [8, 7], [1, 2]), axis=2)
        return g.Conv(g.Concat(behind, before, g.Slice(x, [8], [16], [1]), axis=1), kernel)

    def expert(g, x):
        # A kernel of three frames, of which each channel has one.
        three = np.zeros((16, 16, 3, 1, 1))
        three[:, :4, 2:], three[:, 4:8, :1], three[:, 8:, 1:2] = np.split(kernel, [4, 8], axis=1)
        return g.Conv(x, three, pads=[1, 0, 0, 1, 0, 0])
    return given, expert


@network(x=(1, 32, 16, 16))
def every_second_pixel(random):
    """A layer whose result is thinned out behind its activation."""
    kernel, bias = random(32, 32, 3, 3), random(32)

    def given(g, x):
        t = g.Relu(g.Conv(x, kernel, bias, pads=[1] * 4))
        return g.Slice(t, [0, 0], [16, 16], [2, 3], [2, 2])

    def expert(g, x):
        # The step is a stride.
        return g.Relu(g.Conv(x, kernel, bias, pads=[1] * 4, strides=[2, 2]))
    return given, expert


@network(x=(4, 128), h=(4, 128))
def highway_layer(random):
    """Highway networks (Srivastava et al. 2015): a gate, and what it lacks of 1."""
    gate, weight, bias = random(128, 128), random(128, 128), random(128)

    def given(g, x, h):
        t = g.Sigmoid(g.linear(x, gate, bias))
        return g.Add(g.Mul(t, g.Tanh(g.MatMul(x, weight))), g.Mul(g.Sub(1.0, t), h))

    def expert(g, x, h):
        # A step from one to the other.
        t = g.Sigmoid(g.linear(x, gate, bias))
        return g.Add(h, g.Mul(t, g.Sub(g.Tanh(g.MatMul(x, weight)), h)))
    return given, expert


@network(x=(1, 1, 32, 32))
def gray_image(random):
    """A gray image where a network was trained with colors."""
    kernel = random(32, 3, 3, 3)

    def given(g, x):
        return g.Relu(g.Conv(g.Expand(x, [1, 3, 32, 32]), kernel, pads=[1] * 4))

    def expert(g, x):
        return g.Relu(g.Conv(x, kernel.sum(axis=1, keepdims=True), pads=[1] * 4))
    return given, expert
