"""Cells and layers along time: a GRU as Keras has it (Cho et al. 2014), closed-form continuous cells (Hasani
et al. 2022), both directions of a plain network, selective state spaces (Gu and Dao 2023), retention (Sun
et al. 2023), token shifts (Peng et al. 2023), WaveNet (van den Oord et al. 2016). Experts keep features
before the batch, so that a product, its bias, what is added and its function are one convolution."""

import numpy as np

from networks import network, side_by_side


def kernel(weight):
    """The columns of a matrix as kernels of a convolution over one element."""
    return weight.T[:, :, None]


@network(x=(4, 3, 24))
def three_steps_of_keras_gru(random):
    """The reset gate is behind the product, each product has a bias of its own."""
    k, u = [random(24, 32) for _ in range(3)], [random(32, 32) for _ in range(3)]
    bi, br, wo, bo = ([random(32) for _ in range(3)], [random(32) for _ in range(3)],
                      random(32, 1), random(1))

    def given(g, x):
        h = g.Expand(np.zeros((1, 1)), [4, 32])
        for i in range(3):
            now = g.Squeeze(g.Slice(x, [0, i, 0], [4, i + 1, 24], [0, 1, 2]), [1])
            xz, xr, xh = g.Split(g.linear(now, side_by_side(*k), side_by_side(*bi)), [32] * 3,
                                 axis=1, results=3)
            hz, hr, hh = g.Split(g.linear(h, side_by_side(*u), side_by_side(*br)), [32] * 3,
                                 axis=1, results=3)
            z, r = g.Sigmoid(g.Add(xz, hz)), g.Sigmoid(g.Add(xr, hr))
            new = g.Tanh(g.Add(xh, g.Mul(r, hh)))
            h = g.Add(g.Mul(z, h), g.Mul(g.Sub(1.0, z), new))
        return g.Sigmoid(g.linear(h, wo, bo))

    def expert(g, x):
        # The first gate is 1 − z: its weights have the other sign.
        steps = g.Conv(g.Transpose(x, perm=[1, 2, 0]), kernel(side_by_side(-k[0], *k[1:])),
                       side_by_side(-bi[0] - br[0], bi[1] + br[1], bi[2]))
        h = None
        for step in g.Split(steps, [1] * 3, axis=0, results=3):
            gates, new = g.Split(step, [64, 32], axis=1, results=2)
            inner = br[2][:, None]
            if h is not None:
                gates = g.Add(g.Conv(h, kernel(side_by_side(-u[0], u[1]))), gates)
                inner = g.Conv(h, kernel(u[2]), br[2])
            z, r = g.Split(g.Sigmoid(gates), [32, 32], axis=1, results=2)
            new = g.Tanh(g.Add(g.Mul(r, inner), new))
            h = g.Mul(z, new) if h is None else g.Add(h, g.Mul(z, g.Sub(new, h)))
        return g.Reshape(g.Sigmoid(g.Conv(h, kernel(wo), bo)), [4, 1])
    return given, expert


@network(x=(8, 3, 16))
def closed_form_cells(random):
    """Three steps; the time between steps is 1, so both layers of the gate's time are one."""
    wb, bb = random(16 + 24, 32), random(32)
    w, b = [random(32, 24) for _ in range(4)], [random(24) for _ in range(4)]
    wo, bo = random(24, 5), random(5)

    def given(g, x):
        h = np.zeros((8, 24))
        for i in range(3):
            joined = g.Concat(g.Gather(x, i, axis=1), h, axis=1)
            t = g.Mul(g.Tanh(g.Mul(g.Gemm(joined, wb, bb), 0.666)), 1.7159)
            first, second = (g.Tanh(g.Gemm(t, w[j], b[j])) for j in range(2))
            a, c = (g.Gemm(t, w[j], b[j]) for j in (2, 3))
            share = g.Sigmoid(g.Add(g.Mul(a, np.ones((8, 1))), c))
            h = g.Add(g.Mul(first, g.Sub(1.0, share)), g.Mul(share, second))
        return g.Gemm(h, wo, bo)

    def expert(g, x):
        steps = g.Conv(g.Transpose(x, perm=[1, 2, 0]), kernel(0.666 * wb[:16]), 0.666 * bb)
        h = None
        for step in g.Split(steps, [1] * 3, axis=0, results=3):
            if h is not None:
                step = g.Add(g.Conv(h, kernel(0.666 * wb[16:])), step)
            t = g.Tanh(step)
            both = g.Tanh(g.Conv(t, kernel(1.7159 * side_by_side(*w[:2])), side_by_side(*b[:2])))
            share = g.Sigmoid(g.Conv(t, kernel(1.7159 * (w[2] + w[3])), b[2] + b[3]))
            first, second = g.Split(both, [24, 24], axis=1, results=2)
            h = g.Add(first, g.Mul(share, g.Sub(second, first)))
        return g.Transpose(g.Reshape(g.Conv(h, kernel(wo), bo), [5, 8]), perm=[1, 0])
    return given, expert


@network(x=(4, 4, 32))
def both_directions_of_a_recurrent_network(random):
    """Four steps forward, four backward; a classifier reads both last states."""
    w, u = [random(32, 24) for _ in range(2)], [random(24, 24) for _ in range(2)]
    b, wo, bo = [[random(24) for _ in range(2)] for _ in range(2)], random(48, 6), random(6)

    def given(g, x):
        ends = []
        for k, order in enumerate((range(4), reversed(range(4)))):
            h = np.zeros((4, 24))
            for i in order:
                now = g.linear(g.Gather(x, i, axis=0), w[k], b[k][0])
                h = g.Tanh(g.Add(now, g.linear(h, u[k], b[k][1])))
            ends.append(h)
        return g.linear(g.Concat(*ends, axis=1), wo, bo)

    def expert(g, x):
        order = g.Gather(x, [0, 3, 1, 2, 2, 1, 3, 0], axis=0)
        pairs = g.Transpose(g.Reshape(order, [4, 2, 4, 32]), perm=[0, 1, 3, 2])
        weight, inner = (np.concatenate([kernel(part) for part in parts]) for parts in (w, u))
        bias = side_by_side(*(sum(part) for part in b))
        steps = g.Conv(g.Reshape(pairs, [4, 64, 4]), weight, bias, group=2)
        h = None
        for step in g.Split(steps, [1] * 4, axis=0, results=4):
            h = g.Tanh(g.Add(g.Conv(h, inner, group=2), step) if h else step)
        return g.Transpose(g.Reshape(g.Conv(h, kernel(wo), bo), [6, 4]), perm=[1, 0])
    return given, expert


@network(x=(4, 32))
def selective_state_space(random):
    """Four steps of a layer of Mamba. The expert has the decay between all pairs of steps."""
    down, up, bias = random(32, 4), random(4, 32), random(32)
    wb, wc, wz, wo = random(32, 8), random(32, 8), random(32, 32), random(32, 32)
    logarithms, skip = np.log(np.tile(np.arange(1.0, 9), (32, 1))), random.positive(32)

    def given(g, x):
        rate = g.Softplus(g.linear(g.MatMul(x, down), up, bias))
        b, c = g.MatMul(x, wb), g.MatMul(x, wc)
        decay = g.Exp(g.Mul(g.Unsqueeze(rate, [2]), g.Neg(g.Exp(logarithms))))
        added = g.Mul(g.Mul(g.Unsqueeze(rate, [2]), g.Unsqueeze(b, [1])), g.Unsqueeze(x, [2]))
        state, ends = np.zeros((32, 8)), []
        for i in range(4):
            state = g.Add(g.Mul(g.Gather(decay, i, axis=0), state), g.Gather(added, i, axis=0))
            read = g.MatMul(state, g.Unsqueeze(g.Gather(c, i, axis=0), [1]))
            ends.append(g.Unsqueeze(g.Squeeze(read, [1]), [0]))
        y = g.Add(g.Concat(*ends, axis=0), g.Mul(x, skip))
        z = g.MatMul(x, wz)
        return g.MatMul(g.Mul(y, g.Mul(z, g.Sigmoid(z))), wo)

    def expert(g, x):
        between = np.zeros((4, 4, 4))  # of steps t and s: the steps behind s up to t
        for t in range(4):
            for s in range(t):
                between[t, s, s + 1:t + 1] = 1
        never = np.where(np.tri(4) > 0, 0.0, 1e4).reshape(16, 1) * np.ones(32)
        rate = g.Softplus(g.linear(x, down @ up, bias))
        b, c = g.Split(g.MatMul(x, np.stack([wb, wc])), [1, 1], axis=0, results=2)
        passed = g.Add(g.MatMul(between.reshape(16, 4), rate), never)
        decay = g.Exp(g.Mul(g.Reshape(passed, [4, 4, 32, 1]), -np.exp(logarithms)))
        added = g.Mul(g.Reshape(g.Mul(rate, x), [4, 32, 1]), g.Reshape(b, [4, 1, 8]))
        states = g.Einsum(decay, added, equation="tsdn,sdn->tdn")
        read = g.Einsum(states, g.Reshape(c, [4, 8]), equation="tdn,tn->td")
        y = g.Add(g.MatMul(x, np.diag(skip)), read)
        z = g.MatMul(x, wz)
        return g.MatMul(g.Mul(y, g.Mul(z, g.Sigmoid(z))), wo)
    return given, expert


@network(x=(1, 32, 64))
def parallel_retention(random):
    wq, wk, wv, wg, wo = (random(64, 64) for _ in range(5))
    far = np.arange(32)[:, None] - np.arange(32)
    decay = np.stack([np.where(far >= 0, (1 - 2.0 ** -(5 + i)) ** np.maximum(far, 0), 0.0)
                      for i in range(4)])

    def given(g, x):
        def heads(weight):
            return g.Transpose(g.Reshape(g.MatMul(x, weight), [1, 32, 4, 16]), perm=[0, 2, 1, 3])
        q, k, v = heads(wq), g.Mul(heads(wk), 0.25), heads(wv)
        shares = g.Mul(g.MatMul(q, g.Transpose(k, perm=[0, 1, 3, 2])), decay)
        t = g.Transpose(g.MatMul(shares, v), perm=[0, 2, 1, 3])
        centered = g.Sub(t, g.ReduceMean(t, [-1]))
        variance = g.ReduceMean(g.Pow(centered, 2.0), [-1])
        t = g.Reshape(g.Div(centered, g.Sqrt(g.Add(variance, 1e-5))), [1, 32, 64])
        gate = g.MatMul(x, wg)
        return g.MatMul(g.Mul(g.Mul(gate, g.Sigmoid(gate)), t), wo)

    def expert(g, x):
        every = np.concatenate([np.stack(np.split(w, 4, axis=1))
                                for w in (wq, wk / 4, wv, wg)])
        t = g.MatMul(g.Reshape(x, [32, 64]), every)
        q, k, v, gate = g.Split(t, [4] * 4, axis=0, results=4)
        shares = g.Mul(g.Einsum(q, k, equation="hsd,htd->hst"), decay)
        t = g.LayerNormalization(g.MatMul(shares, v), np.ones(16), np.zeros(16))
        t = g.Mul(g.Mul(gate, g.Sigmoid(gate)), t)
        y = g.Einsum(t, wo.reshape(4, 16, 64), equation="hsd,hde->se")
        return g.Reshape(y, [1, 32, 64])
    return given, expert


@network(x=(1, 32, 64))
def channel_mixing_with_token_shift(random):
    gain, offset = random.positive(64), random(64)
    mix_k, mix_r = random.positive(64) - 0.5, random.positive(64) - 0.5
    wk, wv, wr = random(64, 96), random(96, 64), random(64, 64)

    def given(g, x):
        t = g.LayerNormalization(x, gain, offset)
        before = g.Pad(t, [0, 1, 0, 0, -1, 0])
        k, r = (g.Add(g.Mul(t, mix), g.Mul(before, g.Sub(1.0, mix))) for mix in (mix_k, mix_r))
        k = g.Pow(g.Relu(g.MatMul(k, wk)), 2.0)
        return g.Add(x, g.Mul(g.Sigmoid(g.MatMul(r, wr)), g.MatMul(k, wv)))

    def expert(g, x):
        def shifted(mix, weight):  # a kernel of two positions and all features
            return np.stack([(1 - mix)[:, None] * weight, mix[:, None] * weight]).transpose(
                2, 0, 1)[:, None]
        t = g.Unsqueeze(g.LayerNormalization(x, gain, offset), [0])
        k = g.Relu(g.Conv(t, shifted(mix_k, wk), pads=[1, 0, 0, 0]))
        r = g.Sigmoid(g.Conv(t, shifted(mix_r, wr), pads=[1, 0, 0, 0]))
        read = g.Mul(r, g.Conv(g.Mul(k, k), wv.T[:, :, None, None]))
        return g.Add(g.Transpose(g.Squeeze(read, [3]), perm=[0, 2, 1]), x)
    return given, expert


@network(x=(1, 16, 256), condition=(1, 8, 256))
def conditioned_wavenet(random):
    """Two gated layers; nobody reads what the second one passes on."""
    w = [[random(16, 16, 2) for _ in range(2)] for _ in range(2)]
    wc = [[random(16, 8, 1) for _ in range(2)] for _ in range(2)]
    b = [[random(16) for _ in range(2)] for _ in range(2)]
    skip, passed = [random(24, 16, 1) for _ in range(2)], [random(16, 16, 1) for _ in range(2)]
    bs, bp = [random(24) for _ in range(2)], [random(16) for _ in range(2)]
    wo, bo = [random(24, 24, 1), random(12, 24, 1)], [random(24), random(12)]

    def given(g, x, condition):
        ends = []
        for i in range(2):
            padded = g.Pad(x, [0, 0, 2 ** i, 0, 0, 0])
            f, s = (g.Add(g.Conv(padded, w[i][j], b[i][j], dilations=[2 ** i]),
                          g.Conv(condition, wc[i][j])) for j in range(2))
            z = g.Mul(g.Tanh(f), g.Sigmoid(s))
            ends.append(g.Conv(z, skip[i], bs[i]))
            x = g.Add(g.Conv(z, passed[i], bp[i]), x)
        t = g.Relu(g.Conv(g.Relu(g.Add(*ends)), wo[0], bo[0]))
        return g.Conv(t, wo[1], bo[1])

    def expert(g, x, condition):
        told = g.Conv(condition, np.concatenate(sum(wc, [])), np.concatenate(sum(b, [])))
        told, ends = g.Split(told, [16] * 4, axis=1, results=4), []
        for i in range(2):
            space = {"dilations": [2 ** i], "pads": [2 ** i, 0]}
            f = g.Tanh(g.Add(g.Conv(x, w[i][0], **space), told[2 * i]))
            s = g.Sigmoid(g.Add(g.Conv(x, w[i][1], **space), told[2 * i + 1]))
            ends.append(g.Mul(f, s))
            x = g.Add(g.Conv(ends[i], passed[i], bp[i]), x) if i == 0 else None
        t = g.Conv(g.Concat(*ends, axis=1), np.concatenate(skip, axis=1), bs[0] + bs[1])
        return g.Conv(g.Relu(g.Conv(g.Relu(t), wo[0], bo[0])), wo[1], bo[1])
    return given, expert
