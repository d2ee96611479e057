"""Several resolutions, gates and groups: SegFormer's head (Xie et al. 2021), CBAM (Woo et al. 2018), ShuffleNet
(Zhang et al. 2018), HiFi-GAN (Kong et al. 2020)."""

import numpy as np

from networks import centered, folded, network
from third.images import spread


@network(a=(1, 16, 32, 32), b=(1, 32, 16, 16), c=(1, 48, 8, 8), d=(1, 64, 4, 4))
def head_over_four_resolutions(random):
    """A linear layer for each level, resizing, one layer over all of them. Between both is nothing."""
    widths, sizes = (16, 32, 48, 64), (32, 16, 8, 4)
    w, b = [random(n, 24) for n in widths], [random(24) for _ in widths]
    fuse, norm, last, bias = random(24, 96, 1, 1), random.norm(24), random(6, 24, 1, 1), random(6)
    resize = {"mode": "linear", "coordinate_transformation_mode": "half_pixel"}

    def given(g, *levels):
        ends = []
        for i in reversed(range(4)):
            t = g.Transpose(g.Reshape(levels[i], [1, widths[i], -1]), perm=[0, 2, 1])
            t = g.Transpose(g.linear(t, w[i], b[i]), perm=[0, 2, 1])
            t = g.Reshape(t, [1, 24, sizes[i], sizes[i]])
            ends.append(g.Resize(t, "", "", [1, 24, 32, 32], **resize) if i else t)
        t = g.BatchNormalization(g.Conv(g.Concat(*ends, axis=1), fuse), *norm)
        return g.Conv(g.Dropout(g.Relu(t)), last, bias)

    def expert(g, *levels):
        weight, level = folded(fuse, norm)
        parts = np.split(weight[:, :, 0, 0], 4, axis=1)[::-1]
        weights = [(parts[i] @ w[i].T)[:, :, None, None] for i in range(4)]
        level = level + sum(parts[i] @ b[i] for i in range(4))
        large = [g.Resize(levels[i], "", np.array([1, 1, 2 ** i, 2 ** i], np.float32), **resize)
                 for i in range(1, 4)]
        t = g.Conv(g.Concat(*large, axis=1), np.concatenate(weights[1:], axis=1))
        t = g.Relu(g.Add(g.Conv(levels[0], weights[0], level), t))
        return g.Conv(t, last, bias)
    return given, expert


@network(x=(1, 48, 16, 16))
def attention_to_channels_and_pixels(random):
    """Both pooled vectors go through one perceptron, in a residual block."""
    w, norms = [random(48, 48, 3, 3) for _ in range(2)], [random.norm(48) for _ in range(2)]
    down, up, mix, norm = random(6, 48, 1, 1), random(48, 6, 1, 1), random(1, 2, 7, 7), random.norm(1)

    def given(g, x):
        t = g.Relu(g.BatchNormalization(g.Conv(x, w[0], pads=[1] * 4), *norms[0]))
        t = g.BatchNormalization(g.Conv(t, w[1], pads=[1] * 4), *norms[1])
        mean, most = (g.Conv(g.Relu(g.Conv(p, down)), up)
                      for p in (g.GlobalAveragePool(t), g.GlobalMaxPool(t)))
        t = g.Mul(t, g.Sigmoid(g.Add(mean, most)))
        maps = g.Concat(g.ReduceMax(t, [1]), g.ReduceMean(t, [1]), axis=1)
        maps = g.BatchNormalization(g.Conv(maps, mix, pads=[3] * 4), *norm)
        return g.Relu(g.Add(g.Mul(t, g.Sigmoid(maps)), x))

    def expert(g, x):
        t = g.Relu(g.Conv(x, *folded(w[0], norms[0]), pads=[1] * 4))
        t = g.Conv(t, *folded(w[1], norms[1]), pads=[1] * 4)
        pooled = g.Concat(g.GlobalAveragePool(t), g.GlobalMaxPool(t), axis=0)
        pooled = g.Reshape(g.Relu(g.Conv(pooled, down)), [1, 12, 1, 1])
        t = g.Mul(t, g.Sigmoid(g.Conv(pooled, np.concatenate([up, up], axis=1))))
        maps = g.Concat(g.ReduceMax(t, [1]), g.ReduceMean(t, [1]), axis=1)
        shares = g.Sigmoid(g.Conv(maps, *folded(mix, norm), pads=[3] * 4))
        return g.Relu(g.Add(g.Mul(t, shares), x))
    return given, expert


@network(x=(1, 48, 14, 14))
def two_units_with_shuffled_groups(random):
    """A grouped layer, a shuffle, a depthwise and a grouped layer. The expert writes channels in the
    order in which they are read, and makes one kernel of two layers without a function between."""
    w, v = [random(24, 16, 1, 1) for _ in range(2)], [random(48, 8, 1, 1) for _ in range(2)]
    deep = [random(24, 1, 3, 3) for _ in range(2)]
    norms = [[random.norm(width) for width in (24, 24, 48)] for _ in range(2)]

    def given(g, x):
        for i in range(2):
            t = g.Relu(g.BatchNormalization(g.Conv(x, w[i], group=3), *norms[i][0]))
            t = g.Transpose(g.Reshape(t, [1, 3, 8, 14, 14]), perm=[0, 2, 1, 3, 4])
            t = g.Reshape(t, [1, 24, 14, 14])
            t = g.BatchNormalization(g.Conv(t, deep[i], group=24, pads=[1] * 4), *norms[i][1])
            t = g.BatchNormalization(g.Conv(t, v[i], group=3), *norms[i][2])
            x = g.Relu(g.Add(x, t))
        return x

    def expert(g, x):
        order = np.arange(24).reshape(3, 8).T.reshape(-1)
        for i in range(2):
            part, bias = folded(w[i], norms[i][0])
            first = np.zeros((24, 48, 1, 1))
            for k in range(3):
                first[8 * k:8 * k + 8, 16 * k:16 * k + 16] = part[8 * k:8 * k + 8]
            t = g.Relu(g.Conv(x, first[order], bias[order]))
            middle, level = folded(deep[i], norms[i][1])
            outer, bias = folded(v[i], norms[i][2])
            kernels = np.repeat(middle.reshape(3, 1, 8, 3, 3), 16, axis=1).reshape(48, 8, 3, 3)
            level = np.repeat(level.reshape(3, 1, 8), 16, axis=1).reshape(48, 8)
            bias = bias + np.sum(outer[:, :, 0, 0] * level, axis=1)
            x = g.Relu(g.Add(g.Conv(t, outer * kernels, bias, group=3, pads=[1] * 4), x))
        return x
    return given, expert


@network(x=(1, 32, 40))
def fused_receptive_fields_of_a_vocoder(random):
    """Three residual blocks on what a transposed convolution made, and their mean."""
    up, b = random(32, 16, 8), random(16)
    w = [random(16, 16, k) for k in (3, 5, 7)]
    v = [random(16, 16, k) for k in (3, 5, 7)]
    bw, bv = [random(16) for _ in range(3)], [random(16) for _ in range(3)]
    dilations, last, bias = (3, 1, 1), random(1, 16, 7), random(1)

    def given(g, x):
        x = g.ConvTranspose(g.LeakyRelu(x, alpha=0.1), up, b, strides=[4], pads=[2, 2])
        ends = []
        for i, dilation in enumerate(dilations):
            t = g.LeakyRelu(x, alpha=0.1)
            t = g.Conv(t, w[i], bw[i], dilations=[dilation], pads=[dilation * (i + 1)] * 2)
            t = g.Conv(g.LeakyRelu(t, alpha=0.1), v[i], bv[i], pads=[i + 1] * 2)
            ends.append(g.Add(t, x))
        t = g.Div(g.Add(g.Add(ends[0], ends[1]), ends[2]), 3.0)
        return g.Tanh(g.Conv(g.LeakyRelu(t, alpha=0.01), last, bias, pads=[3, 3]))

    def expert(g, x):
        def wide(weight, dilation=1):
            return centered(spread(weight[:, :, None], dilation), 1, 7)[:, :, 0]
        x = g.ConvTranspose(g.LeakyRelu(x, alpha=0.1), up, b, strides=[4], pads=[2, 2])
        first = np.concatenate([wide(w[i], dilations[i]) for i in range(3)])
        t = g.Conv(g.LeakyRelu(x, alpha=0.1), first, np.concatenate(bw), pads=[3, 3])
        second = np.concatenate([wide(v[i]) for i in range(3)], axis=1) / 3
        t = g.Conv(g.LeakyRelu(t, alpha=0.1), second, sum(bv) / 3, pads=[3, 3])
        t = g.LeakyRelu(g.Add(t, x), alpha=0.01)
        return g.Tanh(g.Conv(t, last, bias, pads=[3, 3]))
    return given, expert
