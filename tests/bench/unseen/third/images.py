"""Blocks of networks for images: MLP-Mixer (Tolstikhin et al. 2021), ConvNeXt (Liu et al. 2022), UniRepLKNet
(Ding et al. 2024), DeepLab's pyramid (Chen et al. 2017)."""

import numpy as np

from networks import centered, folded, network


def traced_norm(g, x, gain, offset):
    apart = g.Sub(x, g.ReduceMean(x, [-1]))
    variance = g.ReduceMean(g.Mul(apart, apart), [-1])
    return g.Add(g.Mul(g.Div(apart, g.Sqrt(g.Add(variance, 1e-6))), gain), offset)


def gelu_by_erf(g, t):
    return g.Mul(g.Mul(t, g.Add(g.Erf(g.Mul(t, 0.5 ** 0.5)), 1.0)), 0.5)


@network(x=(1, 36, 48))
def two_mixer_blocks(random):
    """Perceptrons over tokens between transposes; the expert has them as convolutions."""
    def weights():
        return (random.positive(48), random(48), random(36, 64), random(64), random(64, 36), random(36),
                random.positive(48), random(48), random(48, 96), random(96), random(96, 48), random(48))
    blocks = [weights() for _ in range(2)]

    def given(g, x):
        for gain, offset, w1, b1, w2, b2, scale, shift, v1, c1, v2, c2 in blocks:
            t = g.Transpose(traced_norm(g, x, gain, offset), perm=[0, 2, 1])
            t = g.linear(gelu_by_erf(g, g.linear(t, w1, b1)), w2, b2)
            x = g.Add(x, g.Transpose(t, perm=[0, 2, 1]))
            t = g.linear(traced_norm(g, x, scale, shift), v1, c1)
            x = g.Add(x, g.linear(gelu_by_erf(g, t), v2, c2))
        return x

    def expert(g, x):
        for gain, offset, w1, b1, w2, b2, scale, shift, v1, c1, v2, c2 in blocks:
            t = g.LayerNormalization(x, gain, offset, epsilon=1e-6)
            t = g.Gelu(g.Conv(t, w1.T[:, :, None], b1))
            x = g.Add(g.Conv(t, w2.T[:, :, None], b2), x)
            t = g.LayerNormalization(x, scale, shift, epsilon=1e-6)
            x = g.Add(g.linear(g.Gelu(g.linear(t, v1, c1)), v2, c2), x)
        return x
    return given, expert


@network(x=(1, 48, 14, 14))
def block_of_conv_next(random):
    deep, b = random(48, 1, 7, 7), random(48)
    gain, offset, gamma = random.positive(48), random(48), random.positive(48)
    w1, b1, w2, b2 = random(48, 192), random(192), random(192, 48), random(48)

    def given(g, x):
        t = g.Conv(x, deep, b, pads=[3] * 4, group=48)
        t = traced_norm(g, g.Transpose(t, perm=[0, 2, 3, 1]), gain, offset)
        t = g.linear(gelu_by_erf(g, g.linear(t, w1, b1)), w2, b2)
        return g.Add(x, g.Transpose(g.Mul(gamma, t), perm=[0, 3, 1, 2]))

    def expert(g, x):
        t = g.Conv(x, deep, b, pads=[3] * 4, group=48)
        t = g.Transpose(t, perm=[0, 2, 3, 1])
        t = g.LayerNormalization(t, gain, offset, epsilon=1e-6)
        t = g.Transpose(t, perm=[0, 3, 1, 2])
        t = g.Gelu(g.Conv(t, w1.T[:, :, None, None], b1))
        return g.Add(g.Conv(t, (w2 * gamma).T[:, :, None, None], gamma * b2), x)
    return given, expert


def spread(weight, dilation):
    """A kernel with the zeros that a dilation skips."""
    outputs, inputs, height, width = weight.shape
    whole = np.zeros((outputs, inputs, (height - 1) * dilation + 1, (width - 1) * dilation + 1))
    whole[:, :, ::dilation, ::dilation] = weight
    return whole


def added(*pairs):
    """Convolutions whose results are added up as one."""
    return sum(weight for weight, _ in pairs), sum(bias for _, bias in pairs)


@network(x=(1, 32, 20, 20))
def dilated_branches_of_a_large_kernel(random):
    """A depthwise kernel of 9 × 9 beside four dilated ones, a gate for channels, two pointwise layers."""
    sizes = ((9, 1), (5, 1), (5, 2), (3, 3), (3, 4))
    deep, norms = [random(32, 1, k, k) for k, _ in sizes], [random.norm(32) for _ in sizes]
    d, bd, u, bu = random(8, 32, 1, 1), random(8), random(32, 8, 1, 1), random(32)
    w, b, v, norm = random(96, 32, 1, 1), random(96), random(32, 96, 1, 1), random.norm(32)

    def rest(g, t, gate):
        return g.Mul(t, g.Sigmoid(g.Conv(g.Relu(g.Conv(gate, d, bd)), u, bu)))

    def given(g, x):
        ends = []
        for (k, dilation), weight, branch in zip(sizes, deep, norms):
            reach = dilation * (k - 1) // 2
            t = g.Conv(x, weight, pads=[reach] * 4, dilations=[dilation] * 2, group=32)
            ends.append(g.BatchNormalization(t, *branch))
        t = ends[0]
        for end in ends[1:]:
            t = g.Add(t, end)
        t = rest(g, t, g.ReduceMean(t, [2, 3]))
        t = g.Conv(gelu_by_erf(g, g.Conv(t, w, b)), v)
        return g.Add(x, g.BatchNormalization(t, *norm))

    def expert(g, x):
        branches = []
        for (_, dilation), weight, branch in zip(sizes, deep, norms):
            weight, bias = folded(weight, branch)
            branches.append((centered(spread(weight, dilation), 9), bias))
        t = g.Conv(x, *added(*branches), pads=[4] * 4, group=32)
        t = rest(g, t, g.GlobalAveragePool(t))
        return g.Add(g.Conv(g.Gelu(g.Conv(t, w, b)), *folded(v, norm)), x)
    return given, expert


@network(x=(1, 32, 14, 14))
def pyramid_of_dilations(random):
    """Kernels of three sizes and the mean of the image; the expert has one kernel of 7 × 7 for the three."""
    w = [random(16, 32, 1, 1), random(16, 32, 3, 3), random(16, 32, 3, 3), random(16, 32, 1, 1)]
    norms, last, norm = [random.norm(16) for _ in range(4)], random(32, 64, 1, 1), random.norm(32)

    def given(g, x):
        ends = [g.Conv(x, w[0])]
        ends += [g.Conv(x, w[i], dilations=[i + 1] * 2, pads=[i + 1] * 4) for i in (1, 2)]
        ends.append(g.Conv(g.GlobalAveragePool(x), w[3]))
        ends = [g.Relu(g.BatchNormalization(end, *norms[i])) for i, end in enumerate(ends)]
        ends[3] = g.Resize(ends[3], "", "", [1, 16, 14, 14], mode="linear")
        t = g.BatchNormalization(g.Conv(g.Concat(*ends, axis=1), last), *norm)
        return g.Dropout(g.Relu(t))

    def expert(g, x):
        pairs = [folded(w[i], norms[i]) for i in range(4)]
        weight = np.concatenate([centered(spread(pairs[i][0], i + 1), 7) for i in range(3)])
        t = g.Relu(g.Conv(x, weight, np.concatenate([bias for _, bias in pairs[:3]]), pads=[3] * 4))
        weight, bias = folded(last, norm)
        mean = g.Conv(g.Relu(g.Conv(g.GlobalAveragePool(x), *pairs[3])), weight[:, 48:], bias)
        return g.Relu(g.Add(g.Conv(t, weight[:, :48]), mean))
    return given, expert
