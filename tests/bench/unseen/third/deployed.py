"""What is exported for use: decoupled heads of a detector (Ge et al. 2021), an ensemble of small networks,
ranges and scales that quantization left behind, adapters of convolutions (Yeh et al. 2023), a linear forecast
(Zeng et al. 2023), convolutions over characters (Kim et al. 2016)."""

import numpy as np

from networks import block_diagonal, folded, network
from third.images import traced_norm


def grid(size):
    """Column and row of each pixel."""
    return np.stack(np.mgrid[:size, :size][::-1]).astype(float)


@network(x=(1, 32, 16, 16), z=(1, 32, 8, 8))
def decoupled_heads_with_decoding(random):
    """Boxes, objects and classes of two levels, then corners and sizes in pixels."""
    sizes, strides = (16, 8), (8.0, 16.0)
    stem, branch = ([[random(32, 32, k, k) for _ in range(n)] for _ in range(2)]
                    for k, n in ((1, 1), (3, 2)))
    norms = [[random.norm(32) for _ in range(3)] for _ in range(2)]
    last = [[random(n, 32, 1, 1) for n in (4, 1, 3)] for _ in range(2)]
    bias = [[random(n) for n in (4, 1, 3)] for _ in range(2)]

    def given(g, *levels):
        ends = []
        for i, x in enumerate(levels):
            t = g.LeakyRelu(g.BatchNormalization(g.Conv(x, stem[i][0]), *norms[i][0]), alpha=0.1)
            box, kind = (g.LeakyRelu(g.BatchNormalization(
                g.Conv(t, branch[i][k], pads=[1] * 4), *norms[i][k + 1]), alpha=0.1) for k in range(2))
            parts = [g.Conv(part, last[i][k], bias[i][k]) for k, part in enumerate((box, box, kind))]
            t = g.Concat(parts[0], g.Sigmoid(parts[1]), g.Sigmoid(parts[2]), axis=1)
            ends.append(g.Reshape(t, [1, 8, -1]))
        t = g.Transpose(g.Concat(*ends, axis=2), perm=[0, 2, 1])
        places = np.concatenate([grid(sizes[i]).reshape(2, -1).T for i in range(2)])[None]
        scale = np.concatenate([np.full((1, n * n, 1), s) for n, s in zip(sizes, strides)], axis=1)
        corners, wide, rest = (g.Slice(t, [a], [b], [2]) for a, b in ((0, 2), (2, 4), (4, 8)))
        return g.Concat(g.Mul(g.Add(corners, places), scale), g.Mul(g.Exp(wide), scale), rest, axis=2)

    def expert(g, *levels):
        ends = []
        for i, x in enumerate(levels):
            t = g.LeakyRelu(g.Conv(x, *folded(stem[i][0], norms[i][0])), alpha=0.1)
            pairs = [folded(branch[i][k], norms[i][k + 1]) for k in range(2)]
            weight, level = (np.concatenate(parts) for parts in zip(*pairs))
            t = g.LeakyRelu(g.Conv(t, weight, level, pads=[1] * 4), alpha=0.1)
            weight = block_diagonal([np.concatenate(last[i][:2]), last[i][2]])
            level, places = np.concatenate(bias[i]), np.zeros((1, 8, sizes[i], sizes[i]))
            weight[:2], level[:2] = weight[:2] * strides[i], level[:2] * strides[i]
            level[2:4] += np.log(strides[i])
            places[0, :2] = grid(sizes[i]) * strides[i]
            ends.append(g.Reshape(g.Add(g.Conv(t, weight, level), places), [1, 8, -1]))
        corners, wide, rest = g.Split(g.Concat(*ends, axis=2), [2, 2, 4], axis=1, results=3)
        t = g.Concat(corners, g.Exp(wide), g.Sigmoid(rest), axis=1)
        return g.Transpose(t, perm=[0, 2, 1])
    return given, expert


@network(x=(1, 3, 24, 24))
def ensemble_of_unequal_networks(random):
    """The mean of what three networks of different widths believe."""
    widths = ((8, 16), (12, 20), (10, 12))
    w = [[random(a, 3, 3, 3), random(b, a, 3, 3), random(5, b, 1, 1)] for a, b in widths]
    c = [[random(a), random(b), random(5)] for a, b in widths]
    half = {"strides": [2, 2], "pads": [1, 1, 1, 1]}

    def given(g, x):
        ends = []
        for weights, biases in zip(w, c):
            t = g.Relu(g.Conv(x, weights[0], biases[0], **half))
            t = g.Relu(g.Conv(t, weights[1], biases[1], **half))
            t = g.Flatten(g.GlobalAveragePool(t))
            t = g.Gemm(t, weights[2][:, :, 0, 0], biases[2], transB=1)
            ends.append(g.Unsqueeze(g.Softmax(t, axis=1), [0]))
        return g.ReduceMean(g.Concat(*ends, axis=0), [0], keepdims=0)

    def expert(g, x):
        bias = [np.concatenate(parts) for parts in zip(*c)]
        t = g.Relu(g.Conv(x, np.concatenate([weights[0] for weights in w]), bias[0], **half))
        t = g.Relu(g.Conv(t, block_diagonal([weights[1] for weights in w]), bias[1], **half))
        t = g.Conv(g.GlobalAveragePool(t), block_diagonal([weights[2] for weights in w]), bias[2])
        return g.ReduceMean(g.Softmax(g.Reshape(t, [3, 1, 5]), axis=2), [0], keepdims=0)
    return given, expert


@network(x=(1, 32, 64))
def scales_and_ranges_of_quantization(random):
    """Two perceptrons: activations divided by scales that weights have, ranges that rounding left."""
    gains, offsets = [random.positive(64) for _ in range(2)], [random(64) for _ in range(2)]
    smooth, gamma, step = random.positive(2, 64), random.positive(2, 64), (0.01, 0.013)
    w, b = [random(64, 96) for _ in range(2)], [random(96) for _ in range(2)]
    v, c = [random(96, 64) for _ in range(2)], [random(64) for _ in range(2)]

    def given(g, x):
        for i in range(2):
            t = traced_norm(g, x, gains[i], offsets[i])
            t = g.MatMul(g.Div(t, smooth[i]), g.Mul(w[i], smooth[i][:, None]))
            t = g.Div(g.Relu(g.Add(t, b[i])), step[i])
            t = g.Mul(g.Clip(t, np.float32(-128), np.float32(127)), step[i])
            x = g.Add(x, g.Mul(g.Identity(g.linear(t, v[i], c[i])), gamma[i]))
        return x

    def expert(g, x):
        for i in range(2):
            t = g.LayerNormalization(x, gains[i], offsets[i], epsilon=1e-6)
            t = g.Clip(g.linear(t, w[i], b[i]), np.float32(0), np.float32(127 * step[i]))
            x = g.Add(g.linear(t, v[i] * gamma[i], c[i] * gamma[i]), x)
        return x
    return given, expert


@network(x=(1, 32, 20, 20))
def adapters_of_convolutions(random):
    """A kernel of low rank and a pointwise one behind it, beside each convolution of a residual block."""
    shapes = ((32, 32, 3, 1), (64, 32, 1, 1), (32, 64, 3, 2))
    w = [random(o, n, k, k) for o, n, k, _ in shapes]
    down = [random(4, n, k, k) for _, n, k, _ in shapes]
    up = [random(o, 4, 1, 1) for o, *_ in shapes]
    norms = [random.norm(o) for o, *_ in shapes]
    learned, shortcut = random.positive(1, 64, 1, 1), random(32, 32, 1, 1)

    def space(i):
        return {"pads": [shapes[i][2] // 2] * 4, "strides": [shapes[i][3]] * 2}

    def given(g, x):
        t = x
        for i in range(3):
            low = g.Conv(g.Dropout(g.Conv(t, down[i], **space(i))), up[i])
            t = g.Add(g.Conv(t, w[i], **space(i)), g.Mul(low, 0.5))
            t = g.BatchNormalization(g.Mul(t, learned) if i == 1 else t, *norms[i])
            t = g.Relu(t) if i < 2 else t
        return g.Relu(g.Add(t, g.Conv(x, shortcut, strides=[2, 2])))

    def expert(g, x):
        t = x
        for i in range(3):
            weight = w[i] + 0.5 * np.einsum("or,rnhw->onhw", up[i][:, :, 0, 0], down[i])
            weight = weight * learned[0][:, None] if i == 1 else weight
            t = g.Conv(t, *folded(weight, norms[i]), **space(i))
            t = g.Relu(t) if i < 2 else t
        return g.Relu(g.Add(t, g.Conv(x, shortcut, strides=[2, 2])))
    return given, expert


@network(x=(2, 48, 6))
def linear_forecast_of_trend_and_season(random):
    """The trend is a moving mean over repeated ends, and each part has a linear layer: one matrix in all."""
    w, b, reach = [random(48, 12) for _ in range(2)], [random(12) for _ in range(2)], 12

    def given(g, x):
        first, last = g.Slice(x, [0], [1], [1]), g.Slice(x, [47], [48], [1])
        ends = (g.Tile(part, [1, reach, 1]) for part in (first, last))
        t = g.Transpose(g.Concat(next(ends), x, next(ends), axis=1), perm=[0, 2, 1])
        trend = g.Transpose(g.AveragePool(t, kernel_shape=[2 * reach + 1]), perm=[0, 2, 1])
        parts = [g.Transpose(part, perm=[0, 2, 1]) for part in (g.Sub(x, trend), trend)]
        y = g.Add(*(g.linear(part, w[i], b[i]) for i, part in enumerate(parts)))
        return g.Transpose(y, perm=[0, 2, 1])

    def expert(g, x):
        mean = np.zeros((48, 48))  # row by row, what a position of the trend is made of
        for row in range(48):
            for k in range(row - reach, row + reach + 1):
                mean[row, min(max(k, 0), 47)] += 1 / (2 * reach + 1)
        whole = w[0].T @ (np.eye(48) - mean) + w[1].T @ mean
        return g.Conv(x, whole[:, :, None], b[0] + b[1])
    return given, expert


@network(x=(4, 16, 20))
def characters_and_a_highway(random):
    """Kernels of five lengths over characters, the greatest value of each, and a highway layer."""
    widths = ((8, 1), (12, 2), (16, 3), (20, 4), (24, 5))
    w, b = [random(n, 16, k) for n, k in widths], [random(n) for n, _ in widths]
    gate, layer, last = random(80, 80), random(80, 80), random(80, 32)
    bg, bl, bo = random(80), random(80), random(32)

    def given(g, x):
        ends = []
        for weight, bias, (_, k) in zip(w, b, widths):
            t = g.Tanh(g.Conv(x, weight, bias))
            ends.append(g.Squeeze(g.MaxPool(t, kernel_shape=[21 - k], strides=[21 - k]), [2]))
        t = g.Concat(*ends, axis=1)
        share = g.Sigmoid(g.linear(t, gate, bg))
        t = g.Add(g.Mul(share, g.Relu(g.linear(t, layer, bl))), g.Mul(g.Sub(1.0, share), t))
        return g.linear(t, last, bo)

    def expert(g, x):
        # One kernel of five. Where a shorter one would end behind the last character, nothing is read.
        whole = np.concatenate([np.pad(part, ((0, 0), (0, 0), (0, 5 - k)))
                                for part, (_, k) in zip(w, widths)])
        ends = np.concatenate([np.full(n, 20 - k) for n, k in widths])
        outside = np.where(np.arange(20) > ends[:, None], -1e4, 0.0) * np.ones((4, 1, 1))
        t = g.Add(g.Conv(x, whole, np.concatenate(b), pads=[0, 4]), outside)
        t = g.Tanh(g.ReduceMax(t, [2], keepdims=0))
        share, new = g.Sigmoid(g.linear(t, gate, bg)), g.Relu(g.linear(t, layer, bl))
        return g.linear(g.Add(t, g.Mul(share, g.Sub(new, t))), last, bo)
    return given, expert
