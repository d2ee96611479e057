"""Speech, time series and states: WaveNet (van den Oord et al. 2016), Conformer (Gulati et al. 2020), DLinear
(Zeng et al. 2023), Mamba (Gu and Dao 2023)."""

import numpy as np

from networks import folded, network


@network(x=(1, 32, 512), condition=(1, 16, 512))
def gated_layers_of_wavenet(random):
    """Two causal layers with a condition; of the last one only the skip is read."""
    wf, wg = ([random(32, 32, 2) for _ in range(2)] for _ in range(2))
    vf, vg = ([random(32, 16, 1) for _ in range(2)] for _ in range(2))
    bf, bg = ([random(32) for _ in range(2)] for _ in range(2))
    ws, bs = [random(32, 32, 1) for _ in range(2)], [random(32) for _ in range(2)]
    wr, br, w1, b1 = random(32, 32, 1), random(32), random(32, 32, 1), random(32)
    w2, b2 = random(64, 32, 1), random(64)

    def end(g, total):
        return g.Conv(g.Relu(g.Conv(g.Relu(total), w1, b1)), w2, b2)

    def given(g, x, condition):
        total = None
        for i in range(2):
            past = g.Pad(x, [0, 0, 2 ** i, 0, 0, 0], np.float32(0))
            f = g.Add(g.Conv(past, wf[i], bf[i], dilations=[2 ** i]), g.Conv(condition, vf[i]))
            z = g.Add(g.Conv(past, wg[i], bg[i], dilations=[2 ** i]), g.Conv(condition, vg[i]))
            t = g.Mul(g.Tanh(f), g.Sigmoid(z))
            skip = g.Conv(t, ws[i], bs[i])
            total = skip if total is None else g.Add(total, skip)
            if i == 0:
                x = g.Add(g.Conv(t, wr, br), x)
        return end(g, total)

    def expert(g, x, condition):
        looks = g.Conv(condition, np.concatenate([vf[0], vg[0], vf[1], vg[1]]),
                       np.concatenate([bf[0], bg[0], bf[1], bg[1]]))
        looks, total = g.Split(looks, [32] * 4, axis=1, results=4), None
        for i in range(2):
            past = dict(dilations=[2 ** i], pads=[2 ** i, 0])
            f = g.Tanh(g.Add(g.Conv(x, wf[i], **past), looks[2 * i]))
            t = g.Mul(f, g.Sigmoid(g.Add(g.Conv(x, wg[i], **past), looks[2 * i + 1])))
            skip = g.Conv(t, ws[i], bs[i])
            total = skip if total is None else g.Add(skip, total)
            if i == 0:
                x = g.Add(g.Conv(t, wr, br), x)
        return end(g, total)
    return given, expert


@network(x=(1, 100, 64))
def convolution_module_of_conformer(random):
    """Pointwise layers are convolutions between transposes; a gated linear unit is split."""
    gain, offset = random.positive(64), random(64)
    w1, b1, wd, bd = random(128, 64, 1), random(128), random(64, 1, 15), random(64)
    w2, b2, norm = random(64, 64, 1), random(64), random.norm(64)

    def swish(g, x):
        return g.Mul(x, g.Sigmoid(x))

    def given(g, x):
        d = g.Sub(x, g.ReduceMean(x, [-1]))
        variance = g.ReduceMean(g.Pow(d, np.float32(2)), [-1])
        t = g.Div(d, g.Sqrt(g.Add(variance, np.float32(1e-5))))
        t = g.Transpose(g.Add(g.Mul(t, gain), offset), perm=[0, 2, 1])
        value, gate = g.Split(g.Conv(t, w1, b1), [64, 64], axis=1, results=2)
        t = g.Conv(g.Mul(value, g.Sigmoid(gate)), wd, bd, group=64, pads=[7, 7])
        t = g.Conv(swish(g, g.BatchNormalization(t, *norm)), w2, b2)
        return g.Add(x, g.Transpose(t, perm=[0, 2, 1]))

    def expert(g, x):
        t = g.LayerNormalization(x, gain, offset, axis=-1, epsilon=1e-5)
        t = g.Transpose(t, perm=[0, 2, 1])
        gate = g.Sigmoid(g.Conv(t, w1[64:], b1[64:]))
        t = g.Mul(g.Conv(t, w1[:64], b1[:64]), gate)
        t = swish(g, g.Conv(t, *folded(wd, norm, bias=bd), group=64, pads=[7, 7]))
        return g.Add(g.linear(g.Transpose(t, perm=[0, 2, 1]), w2[:, :, 0].T, b2), x)
    return given, expert


@network(x=(8, 96, 7))
def trend_and_remainder(random):
    """A mean over 25 steps, with the ends repeated, and a layer in time for each of two parts."""
    w, b = [random(96, 24) for _ in range(2)], [random(24) for _ in range(2)]

    def given(g, x):
        first = g.Tile(g.Slice(x, [0], [1], [1]), [1, 12, 1])
        last = g.Tile(g.Slice(x, [95], [96], [1]), [1, 12, 1])
        t = g.Transpose(g.Concat(first, x, last, axis=1), perm=[0, 2, 1])
        trend = g.Transpose(g.AveragePool(t, kernel_shape=[25], strides=[1]), perm=[0, 2, 1])
        parts = [g.Transpose(part, perm=[0, 2, 1]) for part in (g.Sub(x, trend), trend)]
        y = g.Add(g.linear(parts[0], w[0], b[0]), g.linear(parts[1], w[1], b[1]))
        return g.Transpose(y, perm=[0, 2, 1])

    def expert(g, x):
        mean = np.zeros((96, 96))
        for step in range(96):
            for near in range(step - 12, step + 13):
                mean[min(max(near, 0), 95), step] += 1 / 25
        weight = w[0] + mean @ (w[1] - w[0])
        return g.Conv(x, weight.T[:, :, None], b[0] + b[1])
    return given, expert


@network(x=(1, 64), window=(1, 128, 3), state=(128, 16))
def step_of_selective_states(random):
    """A token enters the window of a convolution and a state whose rates depend on it."""
    w, wc, bc = random(64, 256), random(128, 1, 4), random(128)
    wx, wt, bt = random(128, 36), random(4, 128), random(128)
    rates, direct, wo = np.log(np.tile(np.arange(1.0, 17), (128, 1))), random(128), random(128, 64)

    def silu(g, x):
        return g.Mul(x, g.Sigmoid(x))

    def given(g, x, window, state):
        t, z = g.Split(g.MatMul(x, w), [128, 128], axis=1, results=2)
        window = g.Concat(window, g.Unsqueeze(t, [2]), axis=2)
        t = g.ReduceSum(g.Mul(window, wc.reshape(1, 128, 4)), [2], keepdims=0)
        t = silu(g, g.Add(t, bc))
        low, b, c = g.Split(g.MatMul(t, wx), [4, 16, 16], axis=1, results=3)
        step = g.Unsqueeze(g.Softplus(g.linear(low, wt, bt)), [2])
        kept = g.Exp(g.Mul(step, g.Neg(g.Exp(rates))))
        new = g.Mul(g.Mul(step, g.Unsqueeze(b, [1])), g.Unsqueeze(t, [2]))
        state = g.Add(g.Mul(g.Unsqueeze(state, [0]), kept), new)
        y = g.Squeeze(g.MatMul(state, g.Unsqueeze(c, [2])), [2])
        y = g.Mul(g.Add(y, g.Mul(t, direct)), silu(g, z))
        return g.MatMul(y, wo), g.Slice(window, [1], [4], [2]), g.Squeeze(state, [0])

    def expert(g, x, window, state):
        # One row: its parts are views.
        t, z = g.Split(g.MatMul(x, w), [128, 128], axis=1, results=2)
        window = g.Concat(window, g.Reshape(t, [1, 128, 1]), axis=2)
        t = silu(g, g.Reshape(g.Conv(window, wc, bc, group=128), [1, 128]))
        weight = np.concatenate([wx[:, :4] @ wt, wx[:, 4:]], axis=1)
        step, b, c = g.Split(g.linear(t, weight, np.concatenate([bt, np.zeros(32)])),
                             [128, 16, 16], axis=1, results=3)
        step = g.Softplus(step)
        kept = g.Exp(g.Mul(g.Reshape(step, [128, 1]), -np.exp(rates)))
        new = g.MatMul(g.Reshape(g.Mul(step, t), [128, 1]), b)
        state = g.Add(new, g.Mul(state, kept))
        passed = g.Reshape(g.Mul(t, direct), [128, 1])
        y = g.Add(g.MatMul(state, g.Reshape(c, [16, 1])), passed)
        y = g.Mul(g.Reshape(y, [1, 128]), silu(g, z))
        return g.MatMul(y, wo), g.Slice(window, [1], [4], [2]), state
    return given, expert
