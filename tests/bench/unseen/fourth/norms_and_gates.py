"""Norms and activations of transformers and their kin as exporters write them: norms of queries and keys
(Henry et al. 2020), ConvNeXt (Liu et al. 2022), CLIP (Radford et al. 2021), GELU in its forms (Hendrycks
and Gimpel 2016)."""

import numpy as np

from networks import by_head, network

ROOT_OF_TWO = 2 ** 0.5


def one(value):
    """A number as a tensor of one element."""
    return np.array([value], np.float32)


@network(x=(1, 64, 128))
def norms_of_queries_and_keys(random):
    """RMS norms whose gains are stored as what is added to 1, on each head of a causal attention."""
    w = [random(128, 128) for _ in range(4)]
    gains = [0.3 * random.positive(32) for _ in range(2)]
    future = np.triu(np.ones((1, 1, 64, 64), bool), 1)

    def norm(g, x, gain):
        square = g.ReduceMean(g.Pow(x, np.float32(2)), [-1])
        t = g.Mul(x, g.Reciprocal(g.Sqrt(g.Add(square, np.float32(1e-6)))))
        return g.Mul(t, g.Add(gain, np.float32(1)))

    def attended(g, scores, v):
        y = g.Transpose(g.MatMul(g.Softmax(scores, axis=-1), v), perm=[0, 2, 1, 3])
        return g.MatMul(g.Reshape(y, [1, 64, 128]), w[3])

    def given(g, x):
        q, k, v = (g.Reshape(g.MatMul(x, w[i]), [1, 64, 4, 32]) for i in range(3))
        q, k = norm(g, q, gains[0]), norm(g, k, gains[1])
        q, k, v = (g.Transpose(t, perm=[0, 2, 1, 3]) for t in (q, k, v))
        scores = g.MatMul(q, g.Transpose(k, perm=[0, 1, 3, 2]))
        scores = g.Mul(scores, np.float32(32 ** -0.5))
        return attended(g, g.Where(future, np.float32(-1e9), scores), v)

    def expert(g, x):
        t = g.Unsqueeze(g.MatMul(x, by_head(32, *w[:3])), [0])
        both, v = g.Split(t, [8, 4], axis=1, results=2)
        # Queries and keys are multiplied: each may have the root of what both are scaled by.
        gain = np.sqrt((1 + gains[0]) * (1 + gains[1]) * 32 ** -0.5)
        both = g.RMSNormalization(both, gain, axis=-1, epsilon=1e-6)
        q, k = g.Split(both, [4, 4], axis=1, results=2)
        scores = g.MatMul(q, g.Transpose(k, perm=[0, 1, 3, 2]))
        return attended(g, g.Add(scores, np.tile(np.where(future, -1e9, 0), (1, 4, 1, 1))), v)
    return given, expert


@network(x=(1, 48, 16, 16))
def block_of_convnext(random):
    """The norm is over the channels of an image, and written out there."""
    wd, bd, gain, offset = random(48, 1, 7, 7), random(48), random.positive(48), random(48)
    w1, b1, w2, b2 = random(48, 192), random(192), random(192, 48), random(48)
    scale = random.positive(48)

    def given(g, x):
        t = g.Conv(x, wd, bd, pads=[3] * 4, group=48)
        d = g.Sub(t, g.ReduceMean(t, [1]))
        variance = g.ReduceMean(g.Pow(d, np.float32(2)), [1])
        t = g.Div(d, g.Sqrt(g.Add(variance, np.float32(1e-6))))
        t = g.Add(g.Mul(gain[:, None, None], t), offset[:, None, None])
        t = g.Conv(t, w1.T[:, :, None, None], b1)
        erf = g.Add(g.Erf(g.Div(t, np.float32(ROOT_OF_TWO))), np.float32(1))
        t = g.Mul(g.Mul(t, erf), np.float32(0.5))
        t = g.Conv(t, w2.T[:, :, None, None], b2)
        return g.Add(x, g.Mul(scale[:, None, None], t))

    def expert(g, x):
        t = g.Reshape(g.Conv(x, wd, bd, pads=[3] * 4, group=48), [1, 48, 256])
        t = g.LayerNormalization(g.Transpose(t, perm=[0, 2, 1]), gain, offset, axis=-1,
                                 epsilon=1e-6)
        t = g.linear(g.Gelu(g.linear(t, w1, b1)), w2 * scale, b2 * scale)
        return g.Add(x, g.Reshape(g.Transpose(t, perm=[0, 2, 1]), [1, 48, 16, 16]))
    return given, expert


@network(x=(1, 50, 64))
def perceptron_of_clip(random):
    """Quick GELU; the norm takes the reciprocal of the root."""
    gain, offset = random.positive(64), random(64)
    w1, b1, w2, b2 = random(64, 256), random(256), random(256, 64), random(64)

    def given(g, x):
        d = g.Sub(x, g.ReduceMean(x, [2]))
        variance = g.ReduceMean(g.Mul(d, d), [2])
        t = g.Mul(d, g.Reciprocal(g.Sqrt(g.Add(variance, one(1e-5)))))
        t = g.linear(g.Add(g.Mul(t, gain), offset), w1, b1)
        t = g.Mul(t, g.Sigmoid(g.Mul(t, one(1.702))))
        return g.Add(x, g.linear(t, w2, b2))

    def expert(g, x):
        t = g.LayerNormalization(x, gain, offset, axis=-1, epsilon=1e-5)
        t = g.linear(t, w1 * 1.702, b1 * 1.702)
        t = g.Mul(t, g.Sigmoid(t))
        return g.Add(x, g.linear(t, w2 / 1.702, b2))
    return given, expert


@network(x=(32, 48))
def layers_with_gelu_in_three_forms(random):
    """Each layer has another form, and the last one a scale behind it."""
    w = [random(48, 96), random(96, 96), random(96, 96), random(96, 10)]
    b, scale = [random(96), random(96), random(96), random(10)], random.positive(96)

    def given(g, x):
        t = g.linear(x, w[0], b[0])
        erf = g.Erf(g.Mul(t, np.float32(1 / ROOT_OF_TWO)))
        t = g.Mul(t, g.Add(g.Mul(erf, np.float32(0.5)), np.float32(0.5)))
        t = g.linear(t, w[1], b[1])
        cube = g.Mul(g.Pow(t, np.float32(3)), np.float32(0.044715))
        tanh = g.Tanh(g.Mul(g.Add(cube, t), np.float32((2 / np.pi) ** 0.5)))
        t = g.Mul(g.Mul(g.Add(tanh, np.float32(1)), np.float32(0.5)), t)
        t = g.linear(t, w[2], b[2])
        erf = g.Sub(np.float32(1), g.Erf(g.Neg(g.Div(t, np.float32(ROOT_OF_TWO)))))
        t = g.Mul(g.Mul(g.Div(t, np.float32(2)), erf), scale)
        return g.linear(t, w[3], b[3])

    def expert(g, x):
        t = g.Gelu(g.linear(x, w[0], b[0]))
        t = g.Gelu(g.linear(t, w[1], b[1]), approximate="tanh")
        t = g.Gelu(g.linear(t, w[2], b[2]))
        return g.linear(t, scale[:, None] * w[3], b[3])
    return given, expert
