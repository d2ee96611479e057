"""Other forms of attention: heads as splits and joins (Vaswani et al. 2017 in TensorFlow), differential
attention (Ye et al. 2024), gated units (Hua et al. 2022), attention over channels (El-Nouby et al. 2021) and
over the pixels of a latent decoder (Rombach et al. 2022)."""

import numpy as np

from networks import network, side_by_side
from third.encoders import HEADS, SLOT, WIDTH, by_heads, in_heads, layers, traced_norm


@network(x=(2, 24, WIDTH))
def heads_as_splits_along_the_batch(random):
    """Projections have a relu here, so no two of them can be one."""
    (w, b), gain, offset = layers(random, 3), random.positive(WIDTH), random(WIDTH)

    def heads(g, x, weight, bias):
        t = g.Relu(g.linear(x, weight, bias))
        return g.Concat(*g.Split(t, [SLOT] * HEADS, axis=2, results=HEADS), axis=0)

    def given(g, x):
        q, k, v = (heads(g, x, w[i], b[i]) for i in range(3))
        scores = g.Div(g.MatMul(q, g.Transpose(k, perm=[0, 2, 1])), SLOT ** 0.5)
        scores = g.Where(np.zeros((8, 1, 24), bool), np.float32(-1e9), scores)
        read = g.MatMul(g.Softmax(scores, axis=-1), v)
        read = g.Concat(*g.Split(read, [2] * HEADS, axis=0, results=HEADS), axis=2)
        t = g.Add(read, x)
        centered = g.Sub(t, g.ReduceMean(t, [-1]))
        variance = g.ReduceMean(g.Mul(centered, centered), [-1])
        scale = g.Mul(gain, g.Reciprocal(g.Sqrt(g.Add(variance, 1e-6))))
        return g.Add(g.Mul(centered, scale), offset)

    def expert(g, x):
        weights, biases = (side_by_side(p[0] / SLOT ** 0.5, *p[1:]) for p in (w, b))
        t = g.Relu(g.linear(x, weights, biases))
        q, k, v = (g.Reshape(part, [2, 24, HEADS, SLOT])
                   for part in g.Split(t, [WIDTH] * 3, axis=2, results=3))
        shares = g.Softmax(g.Einsum(q, k, equation="bshd,bthd->bhst"), axis=-1)
        read = g.Reshape(g.Einsum(shares, v, equation="bhst,bthd->bshd"), [2, 24, WIDTH])
        return g.LayerNormalization(g.Add(read, x), gain, offset, epsilon=1e-6)
    return given, expert


@network(x=(1, 32, WIDTH))
def differential_attention(random):
    """Two softmaxes for each of two heads; a share of the second is taken from the first."""
    wq, wk, wv, wo = (random(WIDTH, WIDTH) for _ in range(4))
    share, mask = 0.3, np.where(np.tri(32) > 0, 0.0, -1e4)

    def given(g, x):
        q, k = (in_heads(g, g.MatMul(x, w), 32) for w in (wq, wk))
        v = in_heads(g, g.MatMul(x, wv), 32, 2)
        scores = g.MatMul(g.Mul(q, 0.25), g.Transpose(k, perm=[0, 1, 3, 2]))
        shares = g.Reshape(g.Softmax(g.Add(scores, mask), axis=-1), [1, 2, 2, 32, 32])
        first, second = (g.Gather(shares, i, axis=2) for i in range(2))
        read = g.MatMul(g.Sub(first, g.Mul(second, share)), v)
        mean = g.ReduceMean(g.Mul(read, read), [-1])
        read = g.Mul(g.Div(read, g.Sqrt(g.Add(mean, 1e-5))), 1 - share)
        return g.MatMul(g.Reshape(g.Transpose(read, perm=[0, 2, 1, 3]), [1, 32, WIDTH]), wo)

    def expert(g, x):
        order = [0, 2, 1, 3]  # the first softmax of both heads, then the second
        pairs = np.concatenate([by_heads(wq / 4)[order], by_heads(wk)[order]])
        values = np.stack(np.split(wv, 2, axis=1))
        flat = g.Reshape(x, [1, 32, WIDTH])
        q, k = g.Split(g.MatMul(flat, pairs), [4, 4], axis=0, results=2)
        v = g.Reshape(g.MatMul(flat, np.concatenate([values, -share * values])), [2, 2, 32, 32])
        scores = g.Add(g.Einsum(q, k, equation="hsd,htd->hst"), mask)
        shares = g.Reshape(g.Softmax(scores, axis=-1), [2, 2, 32, 32])
        read = g.Einsum(shares, v, equation="chst,chtd->hsd")
        read = g.RMSNormalization(read, np.full(32, 1 - share), epsilon=1e-5)
        return g.Einsum(g.Unsqueeze(read, [0]), wo.reshape(2, 32, WIDTH), equation="bhsd,hde->bse")
    return given, expert


@network(x=(1, 40, WIDTH))
def gated_attention_unit(random):
    wide, slot = 96, 32
    gain, offset = random.positive(WIDTH), random(WIDTH)
    wu, wv, wz = random(WIDTH, wide), random(WIDTH, wide), random(WIDTH, slot)
    bu, bv, bz = random(wide), random(wide), random(slot)
    gamma, beta, wo = random.positive(2, slot), random(2, slot), random(wide, WIDTH)

    def silu(g, t):
        return g.Mul(t, g.Sigmoid(t))

    def given(g, x):
        t = traced_norm(g, x, gain, offset)
        u, v, z = (silu(g, g.linear(t, w, b)) for w, b in ((wu, bu), (wv, bv), (wz, bz)))
        q, k = (g.Add(g.Mul(z, gamma[i]), beta[i]) for i in range(2))
        scores = g.Div(g.MatMul(q, g.Transpose(k, perm=[0, 2, 1])), 40.0)
        scores = g.Pow(g.Relu(scores), 2.0)
        return g.Add(g.MatMul(g.Mul(u, g.MatMul(scores, v)), wo), x)

    def expert(g, x):
        t = g.LayerNormalization(x, gain, offset)
        t = silu(g, g.linear(t, side_by_side(wu, wv, wz), side_by_side(bu, bv, bz)))
        u, v, z = g.Split(t, [wide, wide, slot], axis=2, results=3)
        scale = np.array([1 / 40, 1.0]).reshape(2, 1, 1)
        both = g.Add(g.Mul(z, gamma[:, None] * scale), beta[:, None] * scale)
        q, k = g.Split(both, [1, 1], axis=0, results=2)
        scores = g.Relu(g.Einsum(q, k, equation="bsd,btd->bst"))
        read = g.Mul(u, g.MatMul(g.Mul(scores, scores), v))
        return g.Add(g.MatMul(read, wo), x)
    return given, expert


@network(x=(1, 48, WIDTH))
def attention_over_channels(random):
    """Rows of queries and keys have the length 1 over all positions; a temperature for each head."""
    gain, offset = random.positive(WIDTH), random(WIDTH)
    w, b, wo, bo = random(WIDTH, 3 * WIDTH), random(3 * WIDTH), random(WIDTH, WIDTH), random(WIDTH)
    heat, gamma = random.positive(HEADS, 1, 1), random.positive(WIDTH)

    def given(g, x):
        t = g.linear(g.LayerNormalization(x, gain, offset), w, b)
        t = g.Transpose(g.Reshape(t, [1, 48, 3, HEADS, SLOT]), perm=[2, 0, 3, 4, 1])
        q, k, v = (g.Gather(t, i, axis=0) for i in range(3))
        q, k = (g.Div(part, g.Expand(g.Clip(g.ReduceL2(part, [-1]), np.float32(1e-12)),
                                     [1, HEADS, SLOT, 48])) for part in (q, k))
        scores = g.Mul(g.MatMul(q, g.Transpose(k, perm=[0, 1, 3, 2])), heat)
        read = g.MatMul(g.Softmax(scores, axis=-1), v)
        read = g.Reshape(g.Transpose(read, perm=[0, 3, 1, 2]), [1, 48, WIDTH])
        return g.Add(x, g.Mul(gamma, g.linear(read, wo, bo)))

    def expert(g, x):
        t = g.Transpose(g.LayerNormalization(x, gain, offset), perm=[0, 2, 1])
        t = g.Reshape(g.Conv(t, w.T[:, :, None], b), [3, HEADS, SLOT, 48])
        both, v = g.Split(t, [2, 1], axis=0, results=2)
        unit = g.RMSNormalization(both, np.full(48, 48 ** -0.5), epsilon=1e-12)
        q, k = g.Split(unit, [1, 1], axis=0, results=2)
        scores = g.Mul(g.Einsum(q, k, equation="bhds,bhes->bhde"), heat)
        read = g.Einsum(g.Softmax(scores, axis=-1), v, equation="bhde,bhes->bshd")
        return g.Add(g.linear(g.Reshape(read, [1, 48, WIDTH]), wo * gamma, bo * gamma), x)
    return given, expert


@network(x=(1, 64, 16, 16))
def attention_in_a_latent_decoder(random):
    """One head over all pixels behind a group norm as it is traced: an instance norm between reshapes."""
    gain, offset = random.positive(64, 1, 1), random(64, 1, 1)
    w, b = [random(64, 64, 1, 1) for _ in range(4)], [random(64) for _ in range(4)]

    def given(g, x):
        ones, zeros = np.ones(8), np.zeros(8)
        t = g.InstanceNormalization(g.Reshape(x, [1, 8, -1]), ones, zeros, epsilon=1e-6)
        t = g.Add(g.Mul(g.Reshape(t, [1, 64, 16, 16]), gain), offset)
        q, k, v = (g.Reshape(g.Conv(t, w[i], b[i]), [1, 64, 256]) for i in range(3))
        scores = g.Mul(g.MatMul(g.Transpose(q, perm=[0, 2, 1]), k), 0.125)
        shares = g.Transpose(g.Softmax(scores, axis=-1), perm=[0, 2, 1])
        read = g.Reshape(g.MatMul(v, shares), [1, 64, 16, 16])
        return g.Add(x, g.Conv(read, w[3], b[3]))

    def expert(g, x):
        wq, wk, wv, wo = (weight[:, :, 0, 0] for weight in w)
        forms, values = wk.T @ wq / 8, wo @ wv
        scale, shift = gain[:, 0, 0], offset[:, 0, 0]
        weight = np.concatenate([scale[:, None] * forms * scale, values * scale])
        bias = np.concatenate([scale * (forms @ shift + wk.T @ b[0] / 8),
                               values @ shift + wo @ b[2] + b[3]])
        rows = g.Reshape(x, [1, 8, -1])
        t = g.LayerNormalization(rows, np.ones(2048), np.zeros(2048), epsilon=1e-6)
        t = g.Reshape(t, [1, 64, 256])
        asked, v = g.Split(g.Conv(t, weight[:, :, None], bias), [64, 64], axis=1, results=2)
        scores = g.Einsum(t, asked, equation="bcj,bci->bji")
        read = g.MatMul(v, g.Softmax(scores, axis=1))
        return g.Reshape(g.Add(read, g.Reshape(x, [1, 64, 256])), [1, 64, 16, 16])
    return given, expert
