"""Tokens mixed without scores, or with few: gMLP (Liu et al. 2021), FNet (Lee-Thorp et al. 2022), PoolFormer
(Yu et al. 2022), Performer (Choromanski et al. 2021), Linformer (Wang et al. 2020)."""

import numpy as np

from networks import by_head, network, side_by_side


@network(x=(1, 64, 96))
def spatial_gating_unit(random):
    """The second half of the channels is mixed over positions, by a layer between transposes."""
    norms = [(random.positive(96), random(96)), (random.positive(192), random(192))]
    w1, b1, w2, b2 = random(96, 384), random(384), random(192, 96), random(96)
    mix, ones = random(64, 64), random.positive(64)

    def norm(g, x, i):
        return g.LayerNormalization(x, *norms[i], axis=-1, epsilon=1e-5)

    def given(g, x):
        t = g.linear(norm(g, x, 0), w1, b1)
        erf = g.Erf(g.Div(t, np.float32(2 ** 0.5)))
        t = g.Mul(g.Mul(t, g.Add(erf, np.float32(1))), np.float32(0.5))
        u, v = g.Split(t, [192, 192], axis=2, results=2)
        v = g.linear(g.Transpose(norm(g, v, 1), perm=[0, 2, 1]), mix, ones)
        t = g.Mul(u, g.Transpose(v, perm=[0, 2, 1]))
        return g.Add(g.linear(t, w2, b2), x)

    def expert(g, x):
        t = norm(g, x, 0)
        u, v = (g.Gelu(g.linear(t, w1[:, part], b1[part]))
                for part in (slice(192), slice(192, 384)))
        v = g.Conv(norm(g, v, 1), mix.T[:, :, None], ones)
        return g.Add(g.linear(g.Mul(u, v), w2, b2), x)
    return given, expert


@network(x=(1, 64, 96))
def fourier_mixing_by_matrices(random):
    """The real part of a transform over positions and channels."""
    def matrices(count):
        angles = 2 * np.pi * np.outer(np.arange(count), np.arange(count)) / count
        return np.cos(angles) / count ** 0.5, np.sin(angles) / count ** 0.5
    (cn, sn), (cd, sd) = matrices(64), matrices(96)
    gain, offset, w, b = random.positive(96), random(96), random(96, 96), random(96)

    def top(g, t):
        return g.linear(g.LayerNormalization(t, gain, offset, axis=-1, epsilon=1e-12), w, b)

    def given(g, x):
        real, imaginary = g.MatMul(x, cd), g.Neg(g.MatMul(x, sd))
        t = g.Add(g.MatMul(cn, real), g.MatMul(sn, imaginary))
        return top(g, g.Add(x, t))

    def expert(g, x):
        both = g.MatMul(g.Reshape(x, [1, 64, 96]), np.stack([cd, sd]))
        t = g.MatMul(side_by_side(cn, -sn), g.Reshape(both, [1, 128, 96]))
        return top(g, g.Add(t, x))
    return given, expert


@network(x=(1, 48, 14, 14))
def pooling_as_token_mixer(random):
    """A mean of neighbors less the token itself, between norms over the whole image."""
    gains, offsets = [random.positive(48) for _ in range(2)], [random(48) for _ in range(2)]
    scales = [random.positive(48, 1, 1) for _ in range(2)]
    w1, b1 = random(192, 48, 1, 1), random(192)
    w2, b2 = random(48, 192, 1, 1), random(48)
    window = dict(kernel_shape=[3, 3], strides=[1, 1], pads=[1] * 4, count_include_pad=0)

    def given(g, x):
        def norm(t, i):
            t = g.InstanceNormalization(g.Reshape(t, [1, 1, -1]), np.ones(1), np.zeros(1),
                                        epsilon=1e-5)
            t = g.Mul(g.Reshape(t, [1, 48, 14, 14]), gains[i][:, None, None])
            return g.Add(t, offsets[i][:, None, None])
        t = norm(x, 0)
        x = g.Add(x, g.Mul(scales[0], g.Sub(g.AveragePool(t, **window), t)))
        t = g.Conv(norm(x, 1), w1, b1)
        erf = g.Add(g.Erf(g.Div(t, np.float32(2 ** 0.5))), np.float32(1))
        t = g.Conv(g.Mul(g.Mul(t, erf), np.float32(0.5)), w2, b2)
        return g.Add(x, g.Mul(scales[1], t))

    def expert(g, x):
        def unit(t):
            t = g.LayerNormalization(g.Reshape(t, [1, 9408]), np.ones(9408), axis=-1, epsilon=1e-5)
            return g.Reshape(t, [1, 48, 14, 14])
        t = unit(x)
        t = g.Sub(g.AveragePool(t, **window), t)  # an offset would not be seen
        x = g.Add(x, g.Mul(scales[0] * gains[0][:, None, None], t))
        matrix = w1[:, :, 0, 0]
        t = g.Gelu(g.Conv(unit(x), w1 * gains[1][:, None, None], b1 + matrix @ offsets[1]))
        scale = scales[1].reshape(48)
        return g.Add(g.Conv(t, w2 * scale[:, None, None, None], b2 * scale), x)
    return given, expert


@network(x=(1, 128, 64))
def random_features_of_performer(random):
    """Exponentials of random projections in place of a softmax; their common factor cancels."""
    w, wo = [random(64, 64) for _ in range(3)], random(64, 64)
    features = random.generator.standard_normal((4, 16, 32))
    scale = 16 ** -0.25

    def heads(g, x):
        return g.Transpose(g.Reshape(x, [1, 128, 4, 16]), perm=[0, 2, 1, 3])

    def given(g, x):
        def mapped(t):
            t = g.Mul(t, np.float32(scale))
            half = g.Div(g.ReduceSum(g.Mul(t, t), [-1]), np.float32(2))
            return g.Div(g.Exp(g.Sub(g.MatMul(t, features), half)), np.float32(32 ** 0.5))
        q, k, v = (heads(g, g.MatMul(x, w[i])) for i in range(3))
        q, k = mapped(q), mapped(k)
        context = g.MatMul(g.Transpose(k, perm=[0, 1, 3, 2]), v)
        total = g.Unsqueeze(g.ReduceSum(k, [2], keepdims=0), [3])
        y = g.Div(g.MatMul(q, context), g.MatMul(q, total))
        return g.MatMul(g.Reshape(g.Transpose(y, perm=[0, 2, 1, 3]), [1, 128, 64]), wo)

    def expert(g, x):
        halves = [m * scale / 2 ** 0.5 for m in w[:2]]
        parts = np.pad(by_head(16, *halves, w[2]), ((0, 0), (0, 0), (0, 1)))
        ones = np.zeros((12, 1, 17))
        ones[8:, :, 16] = 1  # a column of the values, so that one product has the totals, too
        both, v = g.Split(g.linear(x, parts, ones), [8, 4], axis=0, results=2)
        maps = by_head(16, *(m * scale for m in w[:2])) @ np.concatenate([features, features])
        t = g.Exp(g.Sub(g.MatMul(x, maps), g.ReduceSumSquare(both, [-1])))
        q, k = g.Split(t, [4, 4], axis=0, results=2)
        t = g.MatMul(q, g.MatMul(g.Transpose(k, perm=[0, 2, 1]), v))
        y = g.Div(*g.Split(t, [16, 1], axis=2, results=2))
        return g.MatMul(g.Reshape(g.Transpose(y, perm=[1, 0, 2]), [1, 128, 64]), wo)
    return given, expert


@network(x=(1, 256, 64))
def projected_keys_of_linformer(random):
    """Keys and values are projected from 256 positions to 16, both by the same matrix."""
    w, b = [random(64, 64) for _ in range(4)], [random(64) for _ in range(4)]
    shrink = random(16, 256) / 4

    def heads(g, x, positions):
        return g.Transpose(g.Reshape(x, [1, positions, 4, 16]), perm=[0, 2, 1, 3])

    def attended(g, q, k, v, scale):
        scores = g.MatMul(q, g.Transpose(k, perm=[0, 1, 3, 2]))
        if scale:
            scores = g.Mul(scores, np.float32(scale))
        y = g.Transpose(g.MatMul(g.Softmax(scores, axis=-1), v), perm=[0, 2, 1, 3])
        return g.linear(g.Reshape(y, [1, 256, 64]), w[3], b[3])

    def given(g, x):
        q, k, v = (g.linear(x, w[i], b[i]) for i in range(3))
        k, v = g.MatMul(shrink, k), g.MatMul(shrink, v)
        return attended(g, heads(g, q, 256), heads(g, k, 16), heads(g, v, 16), 0.25)

    def expert(g, x):
        q = g.Unsqueeze(g.linear(x, by_head(16, w[0] / 4), by_head(16, b[0] / 4)), [0])
        offset = shrink.sum(axis=1)[:, None] * by_head(16, b[1], b[2])
        t = g.linear(g.MatMul(shrink, x), by_head(16, w[1], w[2]), offset)
        k, v = g.Split(g.Unsqueeze(t, [0]), [4, 4], axis=1, results=2)
        return attended(g, q, k, v, None)
    return given, expert
