"""Functions of vectors: couplings (Dinh et al. 2017; Kingma and Dhariwal 2018), splines (Liu et al. 2024; Li
2024), radiance fields (Mildenhall et al. 2020), interactions of embeddings (Naumov et al. 2019),
pipelines of scikit-learn (Pedregosa et al. 2011)."""

import numpy as np

from networks import network, side_by_side
from later.siblings import diagonal


@network(x=(256, 16))
def two_steps_of_normalizing_flow(random):
    """An offset and a scale, a mixing of the channels, and a coupling whose scale and shift come from
    networks of their own."""
    steps = [dict(offset=random(16), scale=random.positive(16), mix=random(16, 16),
                  ws=random(8, 32), bs=random(32), vs=random(32, 8), cs=random(8),
                  wt=random(8, 32), bt=random(32), vt=random(32, 8), ct=random(8))
             for _ in range(2)]

    def given(g, x):
        for p in steps:
            x = g.MatMul(g.Mul(g.Add(x, p["offset"]), p["scale"]), p["mix"])
            kept, moved = g.Split(x, [8, 8], axis=1, results=2)
            s = g.Tanh(g.linear(g.Relu(g.linear(kept, p["ws"], p["bs"])), p["vs"], p["cs"]))
            t = g.linear(g.Relu(g.linear(kept, p["wt"], p["bt"])), p["vt"], p["ct"])
            x = g.Concat(kept, g.Add(g.Mul(moved, g.Exp(s)), t), axis=1)
        return x

    def expert(g, x):
        def padded(weight, rows):
            return np.pad(weight, (rows, (8, 0)) if weight.ndim == 2 else (8, 0))
        for p in steps:
            mix = p["scale"][:, None] * p["mix"]
            x = g.linear(x, mix, p["offset"] @ mix)
            first = np.pad(side_by_side(p["ws"], p["wt"]), ((0, 8), (0, 0)))
            h = g.Relu(g.linear(x, first, side_by_side(p["bs"], p["bt"])))
            # The half that is kept gets the scale exp(0) and the shift 0.
            s = g.Tanh(g.linear(h, padded(p["vs"], (0, 32)), padded(p["cs"], None)))
            t = g.linear(h, padded(p["vt"], (32, 0)), padded(p["ct"], None))
            x = g.Add(t, g.Mul(x, g.Exp(s)))
        return x
    return given, expert


@network(x=(128, 16))
def two_layers_of_radial_splines(random):
    """Each input is read through eight bells, beside a layer of SiLU."""
    grid, width = np.linspace(-2, 2, 8), 4 / 7
    w, base = [random(128, 24), random(192, 4)], [random(16, 24), random(24, 4)]
    b = [random(24), random(4)]

    def silu(g, x):
        return g.Mul(x, g.Sigmoid(x))

    def given(g, x):
        for i, n in enumerate((16, 24)):
            d = g.Div(g.Sub(g.Unsqueeze(x, [2]), grid), width)
            bells = g.Reshape(g.Exp(g.Neg(g.Pow(d, 2.0))), [128, 8 * n])
            x = g.Add(g.linear(silu(g, x), base[i], b[i]), g.MatMul(bells, w[i]))
        return x

    def expert(g, x):
        for i, n in enumerate((16, 24)):
            d = g.Sub(g.Reshape(x, [128, n, 1]), grid)
            bells = g.Exp(g.Mul(g.Mul(d, d), -1 / width ** 2))
            y = g.linear(silu(g, x), base[i], b[i])
            x = g.Add(g.MatMul(g.Reshape(bells, [128, 8 * n]), w[i]), y)
        return x
    return given, expert


@network(x=(512, 3))
def radiance_field(random):
    """Sines and cosines of six frequencies, which enter again half-way."""
    w = [random(39, 64), random(64, 64), random(103, 64)]
    b, heads = [random(64) for _ in range(3)], [random(64, 1), random(64, 3)]
    ends = [random(1), random(3)]

    def layers(g, code, w):
        t = g.Relu(g.linear(g.Relu(g.linear(code, w[0], b[0])), w[1], b[1]))
        t = g.Relu(g.linear(g.Concat(code, t, axis=1), w[2], b[2]))
        density, color = (g.linear(t, heads[k], ends[k]) for k in range(2))
        return g.Relu(density), g.Sigmoid(color)

    def given(g, x):
        parts = [x]
        for k in range(6):
            t = g.Mul(x, 2.0 ** k)
            parts += [g.Sin(t), g.Cos(t)]
        return layers(g, g.Concat(*parts, axis=1), w)

    def expert(g, x):
        frequencies = np.concatenate([np.eye(3) * 2.0 ** (k // 2) for k in range(12)], axis=1)
        phases = np.repeat(np.tile([0, np.pi / 2], 6), 3)
        waves = g.Sin(g.linear(x, frequencies, phases))
        return layers(g, g.Concat(x, waves, axis=1), w)
    return given, expert


@network(x=(64, 13), embeddings=(64, 8, 16))
def interactions_of_embeddings(random):
    """Products of all pairs, of which the lower triangle is read."""
    w = [random(13, 32), random(32, 16), random(52, 32), random(32, 1)]
    b = [random(32), random(16), random(32), random(1)]
    pairs = np.array([9 * i + k for i in range(9) for k in range(i)])

    def bottom_and_products(g, x, embeddings):
        t = g.Relu(g.linear(g.Relu(g.linear(x, w[0], b[0])), w[1], b[1]))
        rows = g.Concat(g.Reshape(t, [64, 1, 16]), embeddings, axis=1)
        return t, g.Reshape(g.MatMul(rows, g.Transpose(rows, perm=[0, 2, 1])), [64, 81])

    def top(g, features, weight):
        return g.Sigmoid(g.linear(g.Relu(g.linear(features, weight, b[2])), w[3], b[3]))

    def given(g, x, embeddings):
        t, products = bottom_and_products(g, x, embeddings)
        return top(g, g.Concat(t, g.Gather(products, pairs, axis=1), axis=1), w[2])

    def expert(g, x, embeddings):
        t, products = bottom_and_products(g, x, embeddings)
        weight = np.zeros((97, 32))
        weight[:16], weight[16 + pairs] = w[2][:16], w[2][16:]
        return top(g, g.Concat(t, products, axis=1), weight)
    return given, expert


@network(x=(256, 40))
def pipeline_of_scikit_learn(random):
    """Scaled features, principal components that are whitened, and a logistic regression."""
    mean, deviation, center = random(40), random.positive(40), random(40)
    axes, variance, w, b = random(40, 8), random.positive(8), random(8, 3), random(3)

    def given(g, x):
        t = g.Div(g.Sub(x, mean), deviation)
        t = g.Div(g.MatMul(g.Sub(t, center), axes), np.sqrt(variance))
        return g.Softmax(g.linear(t, w, b), axis=1)

    def expert(g, x):
        last = axes / np.sqrt(variance) @ w
        return g.Softmax(g.linear(x, last / deviation[:, None], b - (mean / deviation + center) @ last),
                         axis=1)
    return given, expert
