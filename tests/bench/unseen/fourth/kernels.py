"""Sums of branches that are one convolution or one product: kernels of several sizes and groups (Ding et al.
2021), pooled shortcuts, tokens."""

import numpy as np

from networks import centered, folded, network, passing

SAME = dict(pads=[1, 1, 1, 1])


def dense(weight, groups):
    """A kernel of a convolution in groups as one without."""
    count, width = weight.shape[0] // groups, weight.shape[1]
    whole = np.zeros((weight.shape[0], width * groups, *weight.shape[2:]))
    for k in range(groups):
        rows = slice(k * count, (k + 1) * count)
        whole[rows, k * width:(k + 1) * width] = weight[rows]
    return whole


@network(x=(1, 32, 24, 24))
def kernels_of_three_kinds(random):
    """A kernel of all channels, one in four groups, one a channel, and the norm of the input."""
    kernels = [random(32, 32, 3, 3), random(32, 8, 3, 3), random(32, 1, 5, 5)]
    biases, norms = [random(32), random(32), random(32)], [random.norm(32) for _ in range(4)]
    groups = (1, 4, 32)

    def given(g, x):
        total = g.BatchNormalization(x, *norms[3])
        for kernel, bias, norm, group in zip(kernels, biases, norms, groups):
            t = g.Conv(x, kernel, bias, group=group, pads=[kernel.shape[2] // 2] * 4)
            total = g.Add(total, g.BatchNormalization(t, *norm))
        erf = g.Erf(g.Div(total, np.float32(2 ** 0.5)))
        return g.Mul(np.float32(0.5), g.Mul(total, g.Add(np.float32(1), erf)))

    def expert(g, x):
        parts = [folded(centered(dense(kernel, group), 5), norm, bias=bias)
                 for kernel, bias, norm, group in zip(kernels, biases, norms, groups)]
        parts.append(folded(passing(32, 5), norms[3]))
        weight, bias = (sum(values) for values in zip(*parts))
        return g.Gelu(g.Conv(x, weight, bias, pads=[2] * 4))
    return given, expert


@network(x=(1, 32, 28, 28))
def branches_that_halve_an_image(random):
    """A kernel of 3 × 3, one of 1 × 1 and one behind a mean of four pixels, all of stride 2."""
    w3, w1, wp = random(64, 32, 3, 3), random(64, 32, 1, 1), random(64, 32, 1, 1)
    norms = [random.norm(64) for _ in range(3)]

    def given(g, x):
        pooled = g.AveragePool(x, kernel_shape=[2, 2], strides=[2, 2])
        t = g.Add(g.BatchNormalization(g.Conv(x, w3, strides=[2, 2], **SAME), *norms[0]),
                  g.BatchNormalization(g.Conv(x, w1, strides=[2, 2]), *norms[1]))
        return g.Relu(g.Add(t, g.BatchNormalization(g.Conv(pooled, wp), *norms[2])))

    def expert(g, x):
        mean = np.zeros((64, 32, 3, 3))
        mean[:, :, 1:, 1:] = wp / 4
        parts = [folded(w, norm) for w, norm in zip((w3, centered(w1, 3), mean), norms)]
        weight, bias = (sum(values) for values in zip(*parts))
        return g.Relu(g.Conv(x, weight, bias, strides=[2, 2], **SAME))
    return given, expert


@network(x=(1, 64, 96))
def branches_on_tokens(random):
    """A layer, two layers without anything between them, a norm with fixed statistics, the input."""
    w, b, down, up = random(96, 96), random(96), random(96, 12), random(12, 96)
    bias, (scale, offset, mean, variance) = random(96), random.norm(96)

    def given(g, x):
        t = g.Add(g.linear(x, w, b), g.linear(g.MatMul(x, down), up, bias))
        norm = g.Div(g.Sub(x, mean), g.Sqrt(g.Add(variance, np.float32(1e-5))))
        t = g.Add(t, g.Add(g.Mul(norm, scale), offset))
        return g.Relu(g.Add(t, x))

    def expert(g, x):
        factor = scale / np.sqrt(variance + 1e-5)
        weight = w + down @ up + np.diag(factor) + np.eye(96)
        return g.Relu(g.linear(x, weight, b + bias + offset - mean * factor))
    return given, expert
