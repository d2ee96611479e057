"""Images: selective kernels (Li et al. 2019), gates of CBAM (Woo et al. 2018), styles (Karras et al. 2020), a
residual block (He et al. 2016)."""

import numpy as np

from networks import folded, network

SAME = dict(pads=[1, 1, 1, 1])


@network(x=(1, 32, 28, 28))
def selective_kernels(random):
    """Two kernels of one size, one of them dilated, and shares of both for each channel."""
    w, norms = [random(32, 32, 3, 3) for _ in range(2)], [random.norm(32) for _ in range(2)]
    ws, norm = random(16, 32, 1, 1), random.norm(16)
    ends, offsets = [random(32, 16, 1, 1) for _ in range(2)], [random(32) for _ in range(2)]

    def given(g, x):
        near, far = (
            g.Relu(g.BatchNormalization(g.Conv(x, w[i], pads=[i + 1] * 4, dilations=[i + 1] * 2),
                                        *norms[i])) for i in range(2))
        s = g.Conv(g.GlobalAveragePool(g.Add(near, far)), ws)
        s = g.Relu(g.BatchNormalization(s, *norm))
        scores = [g.Unsqueeze(g.Conv(s, ends[i], offsets[i]), [1]) for i in range(2)]
        shares = g.Softmax(g.Concat(*scores, axis=1), axis=1)
        both = g.Concat(g.Unsqueeze(near, [1]), g.Unsqueeze(far, [1]), axis=1)
        return g.ReduceSum(g.Mul(both, shares), [1], keepdims=0)

    def expert(g, x):
        wide = [np.zeros((32, 32, 5, 5)) for _ in range(2)]
        wide[0][:, :, 1:4, 1:4], wide[1][:, :, ::2, ::2] = w
        parts = [folded(weight, norms[i]) for i, weight in enumerate(wide)]
        t = g.Conv(x, *(np.concatenate(values) for values in zip(*parts)), pads=[2] * 4)
        t = g.Reshape(g.Relu(t), [2, 32, 784])
        weight, bias = folded(ws[:, :, 0, 0], norm)
        s = g.Reshape(g.ReduceMean(t, [0, 2]), [1, 32])
        s = g.Relu(g.linear(s, 2 * weight.T, bias))
        both = np.concatenate([end[:, :, 0, 0].T for end in ends], axis=1)
        scores = g.linear(s, both, np.concatenate(offsets))
        shares = g.Softmax(g.Reshape(scores, [2, 32, 1]), axis=0)
        return g.Reshape(g.ReduceSum(g.Mul(t, shares), [0]), [1, 32, 28, 28])
    return given, expert


@network(x=(1, 64, 28, 28))
def gates_of_channels_and_places(random):
    """The mean and the maximum of each channel go through the same two layers."""
    w1, w2, wc = random(4, 64, 1, 1), random(64, 4, 1, 1), random(1, 2, 7, 7)
    norm = random.norm(1)

    def places(g, x):
        return g.Concat(g.ReduceMax(x, [1]), g.ReduceMean(x, [1]), axis=1)

    def given(g, x):
        mean, most = (g.Conv(g.Relu(g.Conv(t, w1)), w2)
                      for t in (g.GlobalAveragePool(x), g.GlobalMaxPool(x)))
        x = g.Mul(x, g.Sigmoid(g.Add(mean, most)))
        t = g.BatchNormalization(g.Conv(places(g, x), wc, pads=[3] * 4), *norm)
        return g.Mul(x, g.Sigmoid(t))

    def expert(g, x):
        t = g.Concat(g.GlobalAveragePool(x), g.GlobalMaxPool(x), axis=0)
        t = g.Relu(g.MatMul(g.Reshape(t, [2, 64]), w1[:, :, 0, 0].T))
        last = w2[:, :, 0, 0].T
        s = g.Sigmoid(g.MatMul(g.Reshape(t, [1, 8]), np.concatenate([last, last])))
        x = g.Mul(x, g.Reshape(s, [1, 64, 1, 1]))
        return g.Mul(x, g.Sigmoid(g.Conv(places(g, x), *folded(wc, norm), pads=[3] * 4)))
    return given, expert


@network(x=(1, 64, 16, 16), style=(1, 32))
def convolution_of_a_style(random):
    """The style scales the kernel, whose rows then get the length 1."""
    w, b, noise = random(64, 64, 3, 3), random(64, 1, 1), random(1, 1, 16, 16)
    ws, bs = random(32, 64), random.positive(64)

    def given(g, x, style):
        s = g.Reshape(g.linear(style, ws, bs), [1, 1, 64, 1, 1])
        kernel = g.Mul(w[None], s)
        length = g.ReduceSum(g.Pow(kernel, np.float32(2)), [2, 3, 4])
        kernel = g.Mul(kernel, g.Reciprocal(g.Sqrt(g.Add(length, np.float32(1e-8)))))
        t = g.Conv(x, g.Reshape(kernel, [64, 64, 3, 3]), **SAME)
        t = g.LeakyRelu(g.Add(g.Add(t, noise), b), alpha=0.2)
        return g.Mul(t, np.float32(2 ** 0.5))

    def expert(g, x, style):
        s = g.linear(style, ws, bs)
        squares = (w ** 2).sum(axis=(2, 3)).T / 2  # the root of 2 behind a leaky ReLU is inside
        length = g.Sqrt(g.linear(g.Mul(s, s), squares, np.full(64, 5e-9)))
        t = g.Conv(g.Mul(x, g.Reshape(s, [1, 64, 1, 1])), w, **SAME)
        t = g.Div(t, g.Reshape(length, [1, 64, 1, 1]))
        return g.LeakyRelu(g.Add(t, (noise + b) * 2 ** 0.5), alpha=0.2)
    return given, expert


@network(x=(1, 32, 28, 28))
def residual_block_as_deployed(random):
    """Its norms are folded already: nothing is to gain."""
    w = [random(16, 32, 1, 1), random(16, 16, 3, 3), random(32, 16, 1, 1)]
    b = [random(16), random(16), random(32)]

    def form(g, x):
        t = g.Relu(g.Conv(x, w[0], b[0]))
        t = g.Relu(g.Conv(t, w[1], b[1], **SAME))
        return g.Relu(g.Add(g.Conv(t, w[2], b[2]), x))
    return form, form
