"""Models as exporters write them. torch.onnx: SuperPoint (DeTone et al. 2018), EEGNet (Lawhern et al. 2018),
YOLOv4 (Bochkovskiy et al. 2020), FinalMLP (Mao et al. 2023), InternVL 1.5 (Chen et al. 2024), Stable
Diffusion 3.5 (Esser et al. 2024), TabM (Gorishniy et al. 2025). jax2tf: DreamerV3 (Hafner et al. 2023)."""

import numpy as np

from networks import block_diagonal, folded, network, side_by_side


@network(x=(4, 1, 22, 256))
def filters_of_eeg_net(random):
    """EEGNet (Lawhern et al. 2018), torch: filters over time, then over electrodes, then separable ones."""
    wt, ws = random(8, 1, 1, 64), random(16, 1, 22, 1)
    wd, wp = random(16, 1, 1, 16), random(16, 16, 1, 1)
    n1, n2, n3, wo, bo = random.norm(8), random.norm(16), random.norm(16), random(4, 128), random(4)

    def given(g, x):
        t = g.Conv(g.Pad(x, [0, 0, 0, 31, 0, 0, 0, 32]), wt)
        t = g.BatchNormalization(t, *n1, epsilon=1e-5)
        t = g.BatchNormalization(g.Conv(t, ws, group=8), *n2, epsilon=1e-5)
        t = g.AveragePool(g.Elu(t), kernel_shape=[1, 4], strides=[1, 4])
        t = g.Conv(g.Pad(t, [0, 0, 0, 7, 0, 0, 0, 8]), wd, group=16)
        t = g.BatchNormalization(g.Conv(t, wp), *n3, epsilon=1e-5)
        t = g.AveragePool(g.Elu(t), kernel_shape=[1, 8], strides=[1, 8])
        return g.Gemm(g.Flatten(t, axis=1), wo, bo, transB=1)

    def expert(g, x):
        # Filters over electrodes and over time commute: the former leave 16 of 176 signals.
        v, c = folded(wt, n1)
        v, c = np.repeat(v, 2, axis=0), np.repeat(c, 2) * ws.sum(axis=(1, 2, 3))
        v, c = folded(v, n2, bias=c)
        t = g.Conv(g.Conv(x, ws), v, c, group=16, pads=[0, 31, 0, 32])
        t = g.AveragePool(g.Elu(t), kernel_shape=[1, 4], strides=[1, 4])
        t = g.Elu(g.Conv(g.Conv(t, wd, group=16, pads=[0, 7, 0, 8]), *folded(wp, n3)))
        return g.Gemm(g.Reshape(t, [4, 1024]), np.repeat(wo, 8, axis=1).T / 8, bo)
    return given, expert


@network(x=(1, 64, 20, 20))
def pools_of_three_sizes_in_yolo(random):
    """YOLOv4's SPP (Bochkovskiy et al. 2020), torch: maxima over windows of 5, 9 and 13."""
    w1, n1, w2, n2 = random(32, 64, 1, 1), random.norm(32), random(64, 128, 1, 1), random.norm(64)

    def given(g, x):
        def block(t, w, norm):
            t = g.BatchNormalization(g.Conv(t, w), *norm, epsilon=1e-3)
            return g.Mul(t, g.Sigmoid(t))
        t = block(x, w1, n1)
        pools = [g.MaxPool(t, kernel_shape=[k, k], pads=[k // 2] * 4) for k in (5, 9, 13)]
        return block(g.Concat(t, *pools, axis=1), w2, n2)

    def expert(g, x):
        # Maxima of maxima: each window is the one before, by five more.
        def block(t, w, norm):
            t = g.Conv(t, *folded(w, norm, epsilon=1e-3))
            return g.Mul(t, g.Sigmoid(t))
        parts = [block(x, w1, n1)]
        for _ in range(3):
            parts.append(g.MaxPool(parts[-1], kernel_shape=[5, 5], pads=[2] * 4))
        return block(g.Concat(*parts, axis=1), w2, n2)
    return given, expert


@network(x=(1, 64, 16, 16))
def points_and_descriptors_of_super_point(random):
    """SuperPoint (DeTone et al. 2018), torch: heat of 8 by 8 cells without a dustbin, and descriptors."""
    wp, bp, wq, bq = random(48, 64, 3, 3), random(48), random(65, 48, 1, 1), random(65)
    wd, bd, we, be = random(48, 64, 3, 3), random(48), random(64, 48, 1, 1), random(64)

    def given(g, x):
        t = g.Conv(g.Relu(g.Conv(x, wp, bp, pads=[1, 1, 1, 1])), wq, bq)
        t = g.Slice(g.Softmax(t, axis=1), [0], [-1], [1])
        t = g.Reshape(g.Transpose(t, perm=[0, 2, 3, 1]), [1, 16, 16, 8, 8])
        heat = g.Reshape(g.Transpose(t, perm=[0, 1, 3, 2, 4]), [1, 128, 128])
        t = g.Conv(g.Relu(g.Conv(x, wd, bd, pads=[1, 1, 1, 1])), we, be)
        length = g.ReduceL2(t, [1], keepdims=1)
        return heat, g.Div(t, g.Expand(g.Clip(length, np.float32(1e-12)), g.Shape(t)))

    def expert(g, x):
        t = g.Conv(x, np.concatenate([wp, wd]), np.concatenate([bp, bd]), pads=[1, 1, 1, 1])
        t, d = g.Split(g.Relu(t), [48, 48], axis=1, results=2)
        t = g.Slice(g.Softmax(g.Conv(t, wq, bq), axis=1), [0], [64], [1])
        heat = g.Squeeze(g.DepthToSpace(t, blocksize=8), [1])
        d = g.Conv(d, we, be)
        return heat, g.Div(d, g.Max(g.ReduceL2(d, [1], keepdims=1), 1e-12))
    return given, expert


@network(x=(64, 24))
def batch_ensemble_of_tab_m(random):
    """TabM (Gorishniy et al. 2025), torch: 16 networks that share weights up to factors of both sides."""
    w1, w2, wo, bo = random(24, 32), random(32, 32), random(32, 16, 2).transpose(1, 0, 2), random(16, 2)
    r1, s1, b1 = random.positive(16, 24), random.positive(16, 32), random(16, 32)
    r2, s2, b2 = random.positive(16, 32) - 1, random.positive(16, 32) * 2, random(16, 32)

    def given(g, x):
        t = g.Expand(g.Unsqueeze(x, [1]), [64, 16, 24])
        for r, w, s, b in ((r1, w1, s1, b1), (r2, w2, s2, b2)):
            t = g.Relu(g.Add(g.Mul(g.MatMul(g.Mul(t, r), w), s), b))
        t = g.MatMul(g.Transpose(t, perm=[1, 0, 2]), wo)
        return g.ReduceMean(g.Add(g.Transpose(t, perm=[1, 0, 2]), bo), [1], keepdims=0)

    def expert(g, x):
        # Members are a batch of matrices, which hold the factors; what they share is broadcast.
        t = x
        for r, w, s, b in ((r1, w1, s1, b1), (r2, w2, s2, b2)):
            t = g.Relu(g.linear(t, r[:, :, None] * w * s[:, None], b[:, None]))
        return g.Add(g.ReduceSum(g.MatMul(t, wo / 16), [0], keepdims=0), bo.mean(axis=0))
    return given, expert


@network(x=(128, 48))
def two_streams_of_final_mlp(random):
    """FinalMLP (Mao et al. 2023), FuxiCTR: streams with gates of learned contexts, fused by heads."""
    gates = [(random(1, 8) * 2, random(8, 16), random(16), random(16, 48), random(48)) for _ in range(2)]
    streams = [(random(48, 32), random(32), random(32, 32), random(32)) for _ in range(2)]
    wx, bx, wy, by, pair = random(32, 1), random(1), random(32, 1), random(1), random(4, 8, 8)

    def given(g, x):
        ends = []
        for (context, u1, c1, u2, c2), (w1, b1, w2, b2) in zip(gates, streams):
            t = g.Tile(context, [128, 1])
            t = g.Sigmoid(g.Gemm(g.Relu(g.Gemm(t, u1.T.copy(), c1, transB=1)), u2.T.copy(), c2, transB=1))
            t = g.Mul(x, g.Mul(t, 2.0))
            t = g.Relu(g.Gemm(t, w1.T.copy(), b1, transB=1))
            ends.append(g.Relu(g.Gemm(t, w2.T.copy(), b2, transB=1)))
        out = g.Add(g.Gemm(ends[0], wx.T.copy(), bx, transB=1), g.Gemm(ends[1], wy.T.copy(), by, transB=1))
        left, right = (g.Reshape(t, [-1, 4, 8]) for t in ends)
        t = g.Reshape(g.MatMul(g.Unsqueeze(left, [2]), pair), [-1, 4, 1, 8])
        t = g.Squeeze(g.MatMul(t, g.Unsqueeze(right, [3])), [3])
        return g.Sigmoid(g.Add(out, g.ReduceSum(t, [1], keepdims=0)))

    def expert(g, x):
        # Gates are constants. Streams are a batch. The second's linear term is the first's product's bias.
        first = []
        for (context, u1, c1, u2, c2), (w1, *_) in zip(gates, streams):
            gate = 2 / (1 + np.exp(-(np.maximum(context @ u1 + c1, 0) @ u2 + c2)))
            first.append(gate.T * w1)
        b1, w2, b2 = (np.stack([s[k] for s in streams]) for k in (1, 2, 3))
        t = g.Relu(g.linear(x, np.stack(first), b1[:, None]))
        t = g.Relu(g.linear(t, w2, b2[:, None]))
        left, right = g.Gather(t, 0, axis=0), g.Gather(t, 1, axis=0)
        t = g.Mul(g.Gemm(left, block_diagonal(list(pair)), wy.ravel()), right)
        return g.Sigmoid(g.Gemm(t, np.ones((32, 1)), g.Gemm(left, wx, bx + by)))
    return given, expert


@network(deter=(16, 64), stoch=(16, 128), action=(16, 6))
def sequence_model_of_dreamer(random):
    """DreamerV3 (Hafner et al. 2023), jax2tf: a GRU with a norm over its gates, and the prior's logits."""
    wi, wg, wo, bo = random(134, 64), random(128, 192), random(64, 128) * 2, random(128)
    norms = [(random.positive(width), random(width)) for width in (64, 192)]

    def given(g, deter, stoch, action):
        def normed(t, scale, offset):
            mean = g.ReduceMean(t, [-1], keepdims=1)
            d = g.Sub(t, mean)
            variance = g.ReduceMean(g.Mul(d, d), [-1], keepdims=1)
            factor = g.Mul(g.Reciprocal(g.Sqrt(g.Add(variance, 1e-3))), scale[None])
            return g.Add(g.Mul(t, factor), g.Sub(offset[None], g.Mul(mean, factor)))

        def silu(t):
            return g.Mul(t, g.Sigmoid(t))
        t = silu(normed(g.MatMul(g.Concat(stoch, action, axis=-1), wi), *norms[0]))
        t = normed(g.MatMul(g.Concat(deter, t, axis=-1), wg), *norms[1])
        reset, candidate, update = (g.Slice(t, [64 * k], [64 * k + 64], [1]) for k in range(3))
        candidate = g.Tanh(g.Mul(g.Sigmoid(reset), candidate))
        update = g.Sigmoid(g.Add(update, -1.0))
        new = g.Add(g.Mul(update, candidate), g.Mul(g.Sub(1.0, update), deter))
        t = g.Reshape(g.linear(new, wo, bo), [16, 8, 16])
        t = g.Add(g.Mul(g.Softmax(t, axis=-1), 0.99), g.Mul(g.Div(1.0, 16.0), 0.01))
        return new, g.Log(t)

    def expert(g, deter, stoch, action):
        # Norms take any order of features: sigmoid gates come first; the shift of updates is in the offset.
        order = np.r_[0:64, 128:192, 64:128]
        shift = np.repeat([0.0, -1.0, 0.0], 64)

        def normed(t, scale, offset):
            return g.LayerNormalization(t, scale, offset, axis=-1, epsilon=1e-3)

        def silu(t):
            return g.Mul(t, g.Sigmoid(t))
        t = silu(normed(g.MatMul(g.Concat(stoch, action, axis=1), wi), *norms[0]))
        t = g.MatMul(g.Concat(deter, t, axis=1), wg[:, order])
        t = normed(t, norms[1][0][order], norms[1][1][order] + shift)
        gates, candidate = g.Split(t, [128, 64], axis=1, results=2)
        reset, update = g.Split(g.Sigmoid(gates), [64, 64], axis=1, results=2)
        candidate = g.Tanh(g.Mul(reset, candidate))
        new = g.Add(g.Mul(update, candidate), g.Mul(g.Sub(1.0, update), deter))
        t = g.Reshape(g.Gemm(new, wo, bo), [16, 8, 16])
        return new, g.Log(g.Add(g.Mul(g.Softmax(t, axis=-1), 0.99), 0.01 / 16))
    return given, expert


@network(image=(1, 64, 48), text=(1, 16, 48), condition=(1, 48))
def last_joint_attention_of_stable_diffusion(random):
    """Stable Diffusion 3.5 (Esser et al. 2024), torch: the last block; what text attends to is dropped."""
    mt, mi, bt, bi = random(48, 96), random(48, 144), random(96), random(144)
    wt, wi = ([random(48, 48) for _ in range(3)] for _ in range(2))
    ct, ci = ([random(48) for _ in range(3)] for _ in range(2))
    st, si = ([random.positive(12) for _ in range(2)] for _ in range(2))
    wo, bo = random(48, 48), random(48)

    def given(g, image, text, condition):
        def normed(x, shift, scale):
            t = g.LayerNormalization(x, np.ones(48), np.zeros(48), axis=-1, epsilon=1e-6)
            return g.Add(g.Mul(t, g.Add(scale, 1.0)), shift)

        def heads(t, weights, biases, scales):
            ends = []
            for k in range(3):
                s = g.Reshape(g.Add(biases[k], g.MatMul(t, weights[k])), [1, -1, 4, 12])
                s = g.Transpose(s, perm=[0, 2, 1, 3])
                ends.append(g.RMSNormalization(s, scales[k], axis=-1, epsilon=1e-6) if k < 2 else s)
            return ends
        y = g.Mul(condition, g.Sigmoid(condition))
        own = g.Unsqueeze(g.Gemm(y, mt.T.copy(), bt, transB=1), [1])
        t = heads(normed(text, *g.Split(own, [48, 48], axis=2, results=2)), wt, ct, st)
        own = g.Unsqueeze(g.Gemm(y, mi.T.copy(), bi, transB=1), [1])
        shift, scale, gate = g.Split(own, [48, 48, 48], axis=2, results=3)
        i = heads(normed(image, shift, scale), wi, ci, si)
        q, k, v = (g.Concat(*pair, axis=2) for pair in zip(i, t))
        q, k = g.Mul(q, 12 ** -0.25), g.Mul(g.Transpose(k, perm=[0, 1, 3, 2]), 12 ** -0.25)
        t = g.MatMul(g.Softmax(g.MatMul(q, k), axis=-1), v)
        t = g.Reshape(g.Transpose(t, perm=[0, 2, 1, 3]), [1, -1, 48])
        t = g.linear(g.Slice(t, [0], [64], [1]), wo, bo)
        return g.Add(image, g.Mul(gate, t))

    def expert(g, image, text, condition):
        # Text needs no queries. Of scales only products matter: the image's queries and keys share a root.
        y = g.Gemm(g.Mul(condition, g.Sigmoid(condition)), side_by_side(mt, mi),
                   side_by_side(bt, bi) + np.repeat([0.0, 1.0, 0.0, 1.0, 0.0], 48))
        y = g.Split(y, [48] * 5, axis=1, results=5)

        def products(x, shift, scale, weights, biases):
            t = g.LayerNormalization(x, np.ones(48), axis=-1, epsilon=1e-6)
            t = g.linear(g.Add(g.Mul(t, scale), shift), side_by_side(*weights), side_by_side(*biases))
            return g.Split(t, [48 * len(weights) - 48, 48], axis=2, results=2)
        root = np.sqrt(si[0] * si[1])
        k, v = products(text, *y[:2], wt[1:], ct[1:])
        both, values = products(image, *y[2:4], wi, ci)
        both = g.RMSNormalization(g.Reshape(both, [1, 64, 8, 12]), root, axis=-1, epsilon=1e-6)
        k = g.RMSNormalization(g.Reshape(k, [1, 16, 4, 12]), si[0] * st[1] / root, axis=-1, epsilon=1e-6)
        q, keys = g.Split(g.Reshape(both, [1, 64, 96]), [48, 48], axis=2, results=2)
        k = g.Concat(keys, g.Reshape(k, [1, 16, 48]), axis=1)
        t = g.Attention(q, k, g.Concat(values, v, axis=1), q_num_heads=4, kv_num_heads=4)
        return g.Add(image, g.Mul(y[4], g.linear(t, wo, bo)))
    return given, expert


@network(x=(1, 257, 32))
def tokens_merged_by_intern_vl(random):
    """InternVL 1.5 (Chen et al. 2024), torch: tokens are merged in two steps, then a perceptron."""
    scale, offset = random.positive(128), random(128)
    w1, b1, w2, b2 = random(128, 64), random(64), random(64, 64), random(64)

    def given(g, x):
        t = g.Reshape(g.Slice(x, [1], [2 ** 62], [1]), [1, 16, 16, 32])
        t = g.Transpose(g.Reshape(t, [1, 16, 8, 64]), perm=[0, 2, 1, 3])
        t = g.Transpose(g.Reshape(t, [1, 8, 8, 128]), perm=[0, 2, 1, 3])
        t = g.Reshape(t, [1, -1, 128])
        d = g.Sub(t, g.ReduceMean(t, [-1], keepdims=1))
        variance = g.ReduceMean(g.Pow(d, 2.0), [-1], keepdims=1)
        t = g.Add(g.Mul(g.Div(d, g.Sqrt(g.Add(variance, 1e-5))), scale), offset)
        t = g.Add(b1, g.MatMul(t, w1))
        t = g.Mul(g.Mul(t, g.Add(g.Erf(g.Div(t, 2 ** 0.5)), 1.0)), 0.5)
        return g.Add(b2, g.MatMul(t, w2))

    def expert(g, x):
        # Rows of pairs of tokens change places once; the norm's scale and offset are in the layer behind.
        t = g.Reshape(g.Slice(x, [1], [257], [1]), [8, 2, 8, 64])
        t = g.Reshape(g.Transpose(t, perm=[0, 2, 1, 3]), [64, 128])
        t = g.LayerNormalization(t, np.ones(128), axis=-1, epsilon=1e-5)
        t = g.Gelu(g.Gemm(t, scale[:, None] * w1, b1 + offset @ w1))
        return g.Unsqueeze(g.Gemm(t, w2, b2), [0])
    return given, expert
