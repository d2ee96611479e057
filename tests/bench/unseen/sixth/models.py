"""Models of 2019-2025: FiBiNET (Huang et al. 2019), RWKV (Peng et al. 2023), Linformer (Wang et
al. 2020), FNet (Lee-Thorp et al. 2021), DLinear (Zeng et al. 2023), N-BEATS (Oreshkin et al. 2020), HiFi-GAN (Kong et
al. 2020), LightGCN (He et al. 2020)."""

import numpy as np

from networks import network, side_by_side


@network(x=(512, 12, 32))
def products_of_pairs_of_fields(random):
    """Fields are weighted by gates; of each pair one is mapped and multiplied by the other."""
    pairs = np.array([(i, k) for i in range(12) for k in range(i + 1, 12)])
    left, right = pairs[:, 0].copy(), pairs[:, 1].copy()
    g1, g2, w, v = random(12, 4), random(4, 12), random(32, 32), random(32, 32)
    w1, b1, w2, b2 = random(2 * 66 * 32, 32), random(32), random(32, 1), random(1)

    def given(g, x):
        t = g.Relu(g.MatMul(g.Relu(g.MatMul(g.ReduceMean(x, [2], keepdims=0), g1)), g2))
        gated = g.Mul(x, g.Unsqueeze(t, [2]))

        def crossed(t, weight):
            t = g.Mul(g.MatMul(g.Gather(t, left, axis=1), weight), g.Gather(t, right, axis=1))
            return g.Reshape(t, [512, 66 * 32])
        t = g.Concat(crossed(x, w), crossed(gated, v), axis=1)
        return g.Sigmoid(g.linear(g.Relu(g.linear(t, w1, b1)), w2, b2))

    def expert(g, x):
        # A layer maps a field once, not once a pair; all 144 products need no gather, and where there is
        # no pair the next layer has zeros.
        t = g.Relu(g.MatMul(g.Reshape(x, [512, 384]), np.repeat(g1, 32, axis=0) / 32))
        t = g.Relu(g.MatMul(t, g2))
        both = g.Concat(g.Unsqueeze(x, [0]), g.Unsqueeze(g.Mul(x, g.Unsqueeze(t, [2])), [0]), axis=0)
        mapped = g.MatMul(both, np.stack([w, v])[:, None])
        t = g.Mul(g.Unsqueeze(mapped, [3]), g.Unsqueeze(both, [2]))
        weight = np.zeros((2, 12, 12, 32, 32))
        weight[:, left, right] = w1.reshape(2, 66, 32, 32)
        t = g.Reshape(t, [2, 512, 4608])
        t = g.Einsum(t, weight.reshape(2, 4608, 32), equation="pbk,pkh->bh")
        return g.Sigmoid(g.linear(g.Relu(g.Add(t, b1)), w2, b2))
    return given, expert


@network(x=(1, 256, 128))
def channel_mix_of_shifted_tokens(random):
    """Each layer reads a mean of its own of a token and of the one before."""
    scale, offset = random.positive(128), random(128)
    mk, mr = random.positive(128) / 2, random.positive(128) / 2
    wk, wr, wv = random(128, 256), random(128, 128), random(256, 128)

    def given(g, x):
        t = g.LayerNormalization(x, scale, offset, axis=-1, epsilon=1e-5)
        past = g.Concat(np.zeros((1, 1, 128)), g.Slice(t, [0], [255], [1]), axis=1)

        def mixed(m):
            return g.Add(g.Mul(t, m), g.Mul(past, g.Sub(1.0, m)))
        k = g.Pow(g.Relu(g.MatMul(mixed(mk), wk)), 2.0)
        r = g.Sigmoid(g.MatMul(mixed(mr), wr))
        return g.Add(x, g.Mul(r, g.MatMul(k, wv)))

    def expert(g, x):
        t = g.LayerNormalization(x, scale, offset, axis=-1, epsilon=1e-5)
        # A product with ones puts each token beside the one before.
        rows = np.stack([np.eye(256), np.eye(256, k=-1)], axis=1).reshape(512, 256)
        t = g.Reshape(g.MatMul(rows, t), [1, 256, 256])
        k = g.Relu(g.MatMul(t, np.concatenate([mk[:, None] * wk, (1 - mk)[:, None] * wk])))
        r = g.Sigmoid(g.MatMul(t, np.concatenate([mr[:, None] * wr, (1 - mr)[:, None] * wr])))
        return g.Add(x, g.Mul(r, g.MatMul(g.Mul(k, k), wv)))
    return given, expert


@network(x=(2, 512, 128))
def attention_to_projected_keys(random):
    """512 keys and values are projected to 64 after their layers."""
    w, b, project = [random(128, 128) for _ in range(4)], [random(128) for _ in range(4)], random(512, 64)

    def given(g, x):
        q = g.linear(x, w[0], b[0])
        k, v = (g.MatMul(g.Transpose(project, perm=[1, 0]), g.linear(x, w[i], b[i])) for i in (1, 2))

        def heads(t, n, perm):
            return g.Transpose(g.Reshape(t, [2, n, 4, 32]), perm=perm)
        s = g.MatMul(heads(q, 512, [0, 2, 1, 3]), heads(k, 64, [0, 2, 3, 1]))
        p = g.Softmax(g.Mul(s, 32 ** -0.5), axis=-1)
        o = g.Transpose(g.MatMul(p, heads(v, 64, [0, 2, 1, 3])), perm=[0, 2, 1, 3])
        return g.Add(x, g.linear(g.Reshape(o, [2, 512, 128]), w[3], b[3]))

    def expert(g, x):
        few, total = g.MatMul(project.T, x), project.sum(0)[:, None]
        q = g.linear(x, w[0] * 32 ** -0.5, b[0] * 32 ** -0.5)
        k = g.linear(few, w[1], total * b[1])
        # The values of each head are mapped by the last layer before they are weighted.
        last = w[3].reshape(4, 32, 128)
        values = np.einsum("chd,hde->che", w[2].reshape(128, 4, 32), last).reshape(128, 512)
        bias = np.einsum("kn,hd,hde->nhe", project, b[2].reshape(4, 32), last).reshape(64, 512)
        v = g.Reshape(g.linear(few, values, bias), [2, 64, 4, 128])
        q, k = g.Reshape(q, [2, 512, 4, 32]), g.Reshape(k, [2, 64, 4, 32])
        p = g.Softmax(g.Einsum(q, k, equation="bnhd,bkhd->bhnk"), axis=-1)
        return g.Add(x, g.Add(g.Einsum(p, v, equation="bhnk,bkhe->bne"), b[3]))
    return given, expert


@network(x=(4, 128, 64))
def mixing_by_fourier_transforms(random):
    """The real part of a transform over positions and channels, as products."""
    scale, offset = random.positive(64), random(64)
    ah = 2 * np.pi * np.outer(np.arange(64), np.arange(64)) / 64
    al = 2 * np.pi * np.outer(np.arange(128), np.arange(128)) / 128
    w1, b1, w2, b2 = random(64, 128), random(128), random(128, 64), random(64)

    def rest(g, x, t):
        t = g.LayerNormalization(g.Add(x, t), scale, offset, axis=-1, epsilon=1e-5)
        return g.Add(t, g.linear(g.Gelu(g.linear(t, w1, b1)), w2, b2))

    def given(g, x):
        re, im = g.MatMul(x, np.cos(ah)), g.Neg(g.MatMul(x, np.sin(ah)))
        return rest(g, x, g.Sub(g.MatMul(np.cos(al), re), g.MatMul(-np.sin(al), im)))

    def expert(g, x):
        # Rows of cosines and of sines take turns, so that a position's two results lie side by side.
        rows = np.stack([np.cos(al), np.sin(al)], axis=1).reshape(256, 128)
        t = g.Reshape(g.MatMul(rows, x), [4, 128, 128])
        return rest(g, x, g.MatMul(t, np.concatenate([np.cos(ah), -np.sin(ah)])))
    return given, expert


@network(x=(32, 336, 8))
def forecast_of_trend_and_season(random):
    """A moving mean whose ends are repeated, a layer for it and one for what is left."""
    ws, wt, bs, bt = random(336, 96), random(336, 96), random(96), random(96)

    def given(g, x):
        front = g.Tile(g.Slice(x, [0], [1], [1]), [1, 12, 1])
        end = g.Tile(g.Slice(x, [335], [336], [1]), [1, 12, 1])
        t = g.Transpose(g.Concat(front, x, end, axis=1), perm=[0, 2, 1])
        t = g.AveragePool(t, kernel_shape=[25], strides=[1])
        trend = g.Transpose(t, perm=[0, 2, 1])
        season = g.Sub(x, trend)
        season, trend = (g.Transpose(t, perm=[0, 2, 1]) for t in (season, trend))
        t = g.Add(g.linear(season, ws, bs), g.linear(trend, wt, bt))
        return g.Transpose(t, perm=[0, 2, 1])

    def expert(g, x):
        mean = np.zeros((336, 336))
        for i in range(336):
            for k in range(i - 12, i + 13):
                mean[min(max(k, 0), 335), i] += 1 / 25
        return g.Conv(x, (ws + mean @ (wt - ws)).T[:, :, None], bs + bt)
    return given, expert


@network(x=(128, 60))
def two_blocks_of_basis_expansion(random):
    """Each block explains part of the past and of the future through polynomials or through waves."""
    past, future = np.arange(60) / 60, np.arange(12) / 12
    powers = [np.stack([t ** k for k in range(4)]) for t in (past, future)]
    waves = [np.concatenate([f(2 * np.pi * np.outer(np.arange(1, 6), t)) for f in (np.cos, np.sin)])
             for t in (past, future)]
    bases = (powers, waves)
    p = [dict(w1=random(60, 96), b1=random(96), w2=random(96, 96), b2=random(96),
              back=random(96, len(bases[i][0])), ahead=random(96, len(bases[i][0]))) for i in range(2)]

    def given(g, x):
        forecast = None
        for i in range(2):
            h = g.Relu(g.linear(x, p[i]["w1"], p[i]["b1"]))
            h = g.Relu(g.linear(h, p[i]["w2"], p[i]["b2"]))
            x = g.Sub(x, g.MatMul(g.MatMul(h, p[i]["back"]), bases[i][0]))
            t = g.MatMul(g.MatMul(h, p[i]["ahead"]), bases[i][1])
            forecast = t if forecast is None else g.Add(forecast, t)
        return forecast

    def expert(g, x):
        a, b = p
        h = g.Relu(g.linear(g.Relu(g.linear(x, a["w1"], a["b1"])), a["w2"], a["b2"]))
        # What the first block explains of the past is read by the second one's first layer alone.
        t = g.MatMul(h, -a["back"] @ powers[0] @ b["w1"])
        t = g.Relu(g.Add(g.linear(x, b["w1"], b["b1"]), t))
        t = g.Relu(g.linear(t, b["w2"], b["b2"]))
        return g.Add(g.MatMul(t, b["ahead"] @ waves[1]), g.MatMul(h, a["ahead"] @ powers[1]))
    return given, expert


@network(x=(1, 32, 512))
def mean_of_receptive_fields(random):
    """The mean of three residual blocks with kernels of 3, 7 and 11, then one waveform."""
    sizes = (3, 7, 11)
    v, w = [random(32, 32, k) for k in sizes], [random(32, 32, k) for k in sizes]
    c, b = [random(32) for _ in sizes], [random(32) for _ in sizes]
    last, end = random(1, 32, 7), random(1)

    def given(g, x):
        total = None
        for i, k in enumerate(sizes):
            t = g.Conv(g.LeakyRelu(x, alpha=0.1), v[i], c[i], pads=[k // 2] * 2)
            t = g.Add(g.Conv(g.LeakyRelu(t, alpha=0.1), w[i], b[i], pads=[k // 2] * 2), x)
            total = t if total is None else g.Add(total, t)
        t = g.LeakyRelu(g.Div(total, 3.0), alpha=0.01)
        return g.Tanh(g.Conv(t, last, end, pads=[3, 3]))

    def expert(g, x):
        def wide(kernel):
            n = (11 - kernel.shape[2]) // 2
            return np.pad(kernel, ((0, 0), (0, 0), (n, n)))
        first = np.concatenate([wide(k) for k in v])
        second = np.concatenate([wide(k) for k in w], axis=1) / 3
        t = g.LeakyRelu(g.Conv(g.LeakyRelu(x, alpha=0.1), first, side_by_side(*c), pads=[5, 5]), alpha=0.1)
        t = g.Add(g.Conv(t, second, sum(b) / 3, pads=[5, 5]), x)
        return g.Tanh(g.Conv(g.LeakyRelu(t, alpha=0.01), last, end, pads=[3, 3]))
    return given, expert


@network(r=(800, 400))
def light_graph_convolution(random):
    """Users and items as one graph with two blocks of zeros; three hops, their mean, and all scores."""
    users, items = random(800, 32) * 8, random(400, 32) * 8

    def given(g, r):
        r = g.Abs(r)
        above = g.Concat(np.zeros((800, 800)), r, axis=1)
        below = g.Concat(g.Transpose(r, perm=[1, 0]), np.zeros((400, 400)), axis=1)
        a = g.Concat(above, below, axis=0)
        d = g.Pow(g.ReduceSum(a, [1]), -0.5)
        a = g.Mul(g.Mul(d, a), g.Transpose(d, perm=[1, 0]))
        e = g.Concat(users, items, axis=0)
        parts = [e]
        for _ in range(3):
            parts.append(g.MatMul(a, parts[-1]))
        e = g.ReduceMean(g.Concat(*[g.Unsqueeze(t, [1]) for t in parts], axis=1), [1], keepdims=0)
        u, i = g.Split(e, [800, 400], axis=0, results=2)
        return g.Sigmoid(g.MatMul(u, g.Transpose(i, perm=[1, 0])))

    def expert(g, r):
        r = g.Abs(r)
        du, di = g.ReduceSum(r, [1]), g.ReduceSum(r, [0])
        r = g.Div(r, g.Mul(g.Sqrt(du), g.Sqrt(di)))
        # What has been added up is handed on: u = u0 + R (i0 + i1 + i2).
        u1, i1 = g.MatMul(r, items), g.Gemm(r, users, transA=1)
        u2, i2 = g.MatMul(r, i1), g.Gemm(r, u1, transA=1)
        u = g.Gemm(r, g.Add(g.Add(i1, i2), items), users)
        i = g.Gemm(r, g.Add(g.Add(u1, u2), users), items, transA=1)
        return g.Sigmoid(g.Gemm(u, i, transB=1, alpha=1 / 16))
    return given, expert
