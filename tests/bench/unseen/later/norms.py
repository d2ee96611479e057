"""Norms and activations as frameworks write them out: layers of Flax, style transfer (Johnson et al. 2016;
Ulyanov et al. 2016), PP-LCNet (Cui et al. 2021), Mish between cross stages (Bochkovskiy et al. 2020;
Wang et al. 2020), softplus of distance fields (Yariv et al. 2020), blocks of diffusion models (Ho et
al. 2020)."""

import numpy as np

from networks import folded, network, side_by_side

SAME = dict(pads=[1, 1, 1, 1])


def one(value):
    """A number as a tensor of one element."""
    return np.array([value], np.float32)


@network(x=(1, 96, 64))
def perceptron_of_flax(random):
    """The variance is E[x²] − E[x]², which rounding must not make negative."""
    gain, offset = random.positive(64), random(64)
    w1, b1, w2, b2 = random(64, 256), random(256), random(256, 64), random(64)

    def norm(g, x):
        mean = g.ReduceMean(x, [-1])
        variance = g.Sub(g.ReduceMean(g.Mul(x, x), [-1]), g.Mul(mean, mean))
        root = g.Sqrt(g.Add(g.Max(variance, one(0)), one(1e-6)))
        return g.Add(g.Mul(g.Sub(x, mean), g.Mul(g.Reciprocal(root), gain)), offset)

    def gelu(g, x):
        cube = g.Mul(x, g.Mul(x, x))
        inner = g.Mul(one((2 / np.pi) ** 0.5), g.Add(x, g.Mul(one(0.044715), cube)))
        return g.Mul(x, g.Mul(one(0.5), g.Add(one(1), g.Tanh(inner))))

    def given(g, x):
        t = gelu(g, g.linear(norm(g, x), w1, b1))
        return g.Add(g.linear(t, w2, b2), x)

    def expert(g, x):
        t = g.LayerNormalization(x, gain, offset, axis=-1, epsilon=1e-6)
        t = g.Gelu(g.linear(t, w1, b1), approximate="tanh")
        return g.Add(g.linear(t, w2, b2), x)
    return given, expert


@network(x=(1, 32, 32, 32))
def residual_block_of_style_transfer(random):
    """What a convolution adds to each channel is subtracted again by the norm behind it."""
    w, b = [random(32, 32, 3, 3) for _ in range(2)], [random(32) for _ in range(2)]
    gains = [random.positive(32, 1, 1) for _ in range(2)]
    shifts = [random(32, 1, 1) for _ in range(2)]

    def written_out(g, x, i):
        mean = g.ReduceMean(x, [2, 3])
        d = g.Sub(x, mean)
        variance = g.ReduceMean(g.Mul(d, d), [2, 3])
        t = g.Div(d, g.Pow(g.Add(variance, one(1e-3)), one(0.5)))
        return g.Add(g.Mul(gains[i], t), shifts[i])

    def given(g, x):
        t = g.Relu(written_out(g, g.Conv(x, w[0], b[0], **SAME), 0))
        return g.Add(x, written_out(g, g.Conv(t, w[1], b[1], **SAME), 1))

    def expert(g, x):
        t = x
        for i in range(2):
            t = g.Reshape(g.Conv(t, w[i], **SAME), [1, 32, 1024])
            t = g.LayerNormalization(t, np.ones(1024), axis=-1, epsilon=1e-3)
            t = g.Add(g.Mul(g.Reshape(t, [1, 32, 32, 32]), gains[i]), shifts[i])
            t = g.Relu(t) if i == 0 else g.Add(x, t)
        return t
    return given, expert


@network(x=(1, 64, 14, 14))
def mobile_block_of_keras(random):
    """Hard-swish and the gate of channels share their hard sigmoid."""
    wd, wp = random(64, 1, 5, 5), random(96, 64, 1, 1)
    w1, b1, w2, b2 = random(16, 64, 1, 1), random(16), random(64, 16, 1, 1), random(64)
    norms = [random.norm(64), random.norm(96)]

    def gate(g, x):
        return g.Mul(g.Min(g.Relu(g.Add(x, one(3))), one(6)), one(1 / 6))

    def given(g, x):
        t = g.BatchNormalization(g.Conv(x, wd, pads=[2] * 4, group=64), *norms[0])
        t = g.Mul(t, gate(g, t))
        s = g.Conv(g.Relu(g.Conv(g.GlobalAveragePool(t), w1, b1)), w2, b2)
        t = g.BatchNormalization(g.Conv(g.Mul(t, gate(g, s)), wp), *norms[1])
        return g.Mul(t, gate(g, t))

    def expert(g, x):
        t = g.HardSwish(g.Conv(x, *folded(wd, norms[0]), pads=[2] * 4, group=64))
        s = g.Conv(g.Relu(g.Conv(g.GlobalAveragePool(t), w1, b1)), w2, b2)
        t = g.Mul(t, g.HardSigmoid(s, alpha=1 / 6, beta=0.5))
        return g.HardSwish(g.Conv(t, *folded(wp, norms[1])))
    return given, expert


@network(x=(1, 64, 20, 20))
def cross_stage_with_mish(random):
    """One half of the channels goes around the block, one through it."""
    w = [random(32, 64, 1, 1), random(32, 64, 1, 1), random(32, 32, 1, 1), random(32, 32, 3, 3),
         random(32, 32, 1, 1), random(64, 64, 1, 1)]
    norms = [random.norm(32) for _ in range(5)] + [random.norm(64)]
    pads = [0, 0, 0, 1, 0, 0]

    def mish(g, x):
        return g.Mul(x, g.Tanh(g.Softplus(x)))

    def stage(g, around, through, layer):
        t = g.Add(through, layer(g, layer(g, through, 2), 3))
        return layer(g, g.Concat(layer(g, t, 4), around, axis=1), 5)

    def given(g, x):
        def layer(g, x, i):
            t = g.Conv(x, w[i], pads=[pads[i]] * 4)
            return mish(g, g.BatchNormalization(t, *norms[i], epsilon=1e-3))
        return stage(g, layer(g, x, 0), layer(g, x, 1), layer)

    def expert(g, x):
        fused = [folded(w[i], norms[i], 1e-3) for i in range(6)]

        def layer(g, x, i):
            return mish(g, g.Conv(x, *fused[i], pads=[pads[i]] * 4))
        both = [np.concatenate(parts) for parts in zip(*fused[:2])]
        t = mish(g, g.Conv(x, *both))
        return stage(g, *g.Split(t, [32, 32], axis=1, results=2), layer)
    return given, expert


@network(x=(512, 3))
def distance_field_with_softplus(random):
    """Softplus of a sharpness of 100, and coordinates that enter again half-way."""
    w = [random(3, 64), random(64, 61), random(64, 64), random(64, 1)]
    b = [random(64), random(61), random(64), random(1)]

    def given(g, x):
        t = x
        for i in range(4):
            t = g.linear(t, w[i], b[i])
            if i < 3:
                t = g.Div(g.Softplus(g.Mul(t, one(100))), one(100))
            if i == 1:
                t = g.Div(g.Concat(t, x, axis=1), one(2 ** 0.5))
        return t

    def expert(g, x):
        inner = w[2] / 2 ** 0.5 * np.concatenate([np.ones(61), np.full(3, 100)])[:, None]
        t = g.Softplus(g.linear(x, w[0] * 100, b[0] * 100))
        t = g.Softplus(g.linear(t, w[1], b[1] * 100))
        t = g.Softplus(g.linear(g.Concat(t, x, axis=1), inner, b[2] * 100))
        return g.linear(t, w[3] / 100, b[3])
    return given, expert


@network(x=(1, 32, 16, 16), time=(1, 128))
def two_blocks_of_diffusion(random):
    """Each block reads the same embedding of the time through layers of its own."""
    widths = ((32, 32), (32, 64))
    blocks = []
    for i, o in widths:
        blocks.append(dict(
            norms=[(random.positive(n, 1, 1), random(n, 1, 1)) for n in (i, o)],
            w=[random(o, i, 3, 3), random(o, o, 3, 3)], b=[random(o), random(o)],
            wt=random(128, o), bt=random(o), skip=random(o, i, 1, 1) if i != o else None))

    def silu(g, x):
        return g.Mul(x, g.Sigmoid(x))

    def norm(g, x, unit, channels, scale, shift):
        t = g.Reshape(unit(g.Reshape(x, [1, 8, channels * 32])), [1, channels, 16, 16])
        return silu(g, g.Add(g.Mul(t, scale), shift))

    def block(g, x, k, unit, embedded):
        now, (i, o) = blocks[k], widths[k]
        t = norm(g, x, unit(i * 32), i, *now["norms"][0])
        t = norm(g, embedded(t), unit(o * 32), o, *now["norms"][1])
        skip = x if now["skip"] is None else g.Conv(x, now["skip"])
        return g.Add(skip, g.Conv(t, now["w"][1], now["b"][1], **SAME))

    def given(g, x, time):
        def unit(_):
            return lambda t: g.InstanceNormalization(t, np.ones(8), np.zeros(8), epsilon=1e-5)
        for k, now in enumerate(blocks):
            def embedded(t, now=now):
                e = g.linear(silu(g, time), now["wt"], now["bt"])
                e = g.Unsqueeze(g.Unsqueeze(e, [2]), [3])
                return g.Add(g.Conv(t, now["w"][0], now["b"][0], **SAME), e)
            x = block(g, x, k, unit, embedded)
        return x

    def expert(g, x, time):
        def unit(width):
            return lambda t: g.LayerNormalization(t, np.ones(width), axis=-1, epsilon=1e-5)
        e = g.linear(silu(g, time), side_by_side(*(now["wt"] for now in blocks)),
                     side_by_side(*(now["bt"] + now["b"][0] for now in blocks)))
        parts = g.Split(g.Reshape(e, [1, 96, 1, 1]), [32, 64], axis=1, results=2)
        for k, now in enumerate(blocks):
            x = block(g, x, k, unit,
                      lambda t, k=k, now=now: g.Add(g.Conv(t, now["w"][0], **SAME), parts[k]))
        return x
    return given, expert
