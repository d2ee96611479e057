"""Networks as exporters write them. torch.onnx: PointNet (Qi et al. 2017), SuperPoint (DeTone et al. 2018),
EEGNet (Lawhern et al. 2018), learned image compression (Balle et al. 2018) with gains (Cui et al. 2021),
YOLOv4 (Bochkovskiy et al. 2020), ColBERT (Khattab and Zaharia 2020), ECAPA-TDNN (Desplanques et al. 2020,
SpeechBrain), temporal fusion transformers (Lim et al. 2021), GPT-J (Wang and Komatsuzaki 2021), FinalMLP
(Mao et al. 2023), InternVL 1.5 (Chen et al. 2024), Stable Diffusion 3.5 (Esser et al. 2024), TabM
(Gorishniy et al. 2025). jax2tf: DreamerV3 (Hafner et al. 2023). skl2onnx: kernel PCA (Schoelkopf et al.
1998, scikit-learn 2011)."""

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


@network(x=(1, 32, 64))
def parallel_block_of_gpt_j(random):
    """GPT-J (Wang and Komatsuzaki 2021), torch: attention, partly rotated, beside a perceptron."""
    scale, offset = random.positive(64), random(64)
    wq, wk, wv, wo = (random(64, 64) for _ in range(4))
    w1, b1, w2, b2 = random(64, 256), random(256), random(256, 64), random(64)
    angle = np.arange(32)[:, None] / 10000 ** (np.arange(0, 8, 2) / 8)
    sine, cosine = (np.repeat(t, 2, axis=1)[None, :, None] for t in (np.sin(angle), np.cos(angle)))
    mask = np.tril(np.ones((1, 1, 32, 32), bool))

    def given(g, x):
        n = g.LayerNormalization(x, scale, offset, axis=-1, epsilon=1e-5)

        def heads(w):
            return g.Reshape(g.MatMul(n, w), [1, 32, 4, 16])

        def rotated(t):
            t, rest = g.Slice(t, [0], [8], [3]), g.Slice(t, [8], [2 ** 62], [3])
            even, odd = g.Slice(t, [0], [2 ** 62], [3], [2]), g.Slice(t, [1], [2 ** 62], [3], [2])
            turned = g.Concat(g.Unsqueeze(g.Neg(odd), [4]), g.Unsqueeze(even, [4]), axis=4)
            turned = g.Mul(g.Reshape(turned, [1, 32, 4, 8]), sine)
            return g.Concat(g.Add(g.Mul(t, cosine), turned), rest, axis=3)
        q, k, v = rotated(heads(wq)), rotated(heads(wk)), heads(wv)
        perms = [0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]
        q, k, v = (g.Transpose(t, perm=p) for t, p in zip((q, k, v), perms))
        t = g.Where(mask, g.Div(g.MatMul(q, k), 4.0), np.float32(-3.4e38))
        t = g.Transpose(g.MatMul(g.Softmax(t, axis=-1), v), perm=[0, 2, 1, 3])
        attended = g.MatMul(g.Reshape(t, [1, 32, 64]), wo)
        t = g.Add(b1, g.MatMul(n, w1))
        cube = g.Mul(g.Add(t, g.Mul(g.Pow(t, 3.0), 0.044715)), (2 / np.pi) ** 0.5)
        t = g.Mul(g.Mul(t, 0.5), g.Add(g.Tanh(cube), 1.0))
        return g.Add(g.Add(attended, g.Add(b2, g.MatMul(t, w2))), x)

    def expert(g, x):
        # One product before and one behind both branches; scores allow halves to rotate, not neighbours.
        order = np.r_[0:8:2, 1:8:2, 8:16]
        order = np.concatenate([16 * k + order for k in range(4)])
        w = side_by_side(wq[:, order], wk[:, order], wv, w1)
        b = offset @ w + np.pad(b1, (192, 0))
        t = g.LayerNormalization(x, np.ones(64), axis=-1, epsilon=1e-5)
        t = g.linear(t, scale[:, None] * w, b)
        t, v, inner = g.Split(t, [128, 64, 256], axis=2, results=3)
        sine, cosine = np.sin(angle)[None], np.cos(angle)[None]
        t = g.RotaryEmbedding(t, cosine, sine, num_heads=8, rotary_embedding_dim=8)
        q, k = g.Split(t, [64, 64], axis=2, results=2)
        t = g.Attention(q, k, v, q_num_heads=4, kv_num_heads=4, is_causal=1)
        t = g.Concat(t, g.Gelu(inner, approximate="tanh"), axis=2)
        return g.Add(g.linear(t, np.concatenate([wo, w2]), b2), x)
    return given, expert


@network(x=(64, 20))
def components_of_kernel_pca(random):
    """Kernel PCA (Schoelkopf et al. 1998), skl2onnx: scaled inputs, a sigmoid kernel that is centered."""
    mean, deviation, seen = random(20), random.positive(20), random(128, 20) * 128 ** 0.5
    vectors, rows, whole = random(128, 8), random(128) * 0.1, 0.05

    def given(g, x):
        t = g.Div(g.Sub(x, mean[None]), deviation[None])
        kernel = g.MatMul(t, g.Transpose(seen, perm=[1, 0]))
        kernel = g.Tanh(g.Add(g.Mul(kernel, 0.05), 0.3))
        columns = g.Div(g.ReduceSum(kernel, [1], keepdims=1), 128.0)
        t = g.Add(g.Sub(g.Sub(kernel, rows[None]), columns), whole)
        return g.MatMul(t, vectors)

    def expert(g, x):
        # Centering is linear: vectors less their mean, and an offset.
        first = 0.05 * (seen / deviation).T
        kernel = g.Tanh(g.Gemm(x, first, 0.3 - mean @ first))
        return g.Gemm(kernel, vectors - vectors.mean(axis=0), (whole - rows) @ vectors)
    return given, expert


@network(x=(4, 3, 256))
def points_turned_by_point_net(random):
    """PointNet (Qi et al. 2017), torch: a network predicts a matrix for points, then maxima."""
    u1, u2, u3, u4 = random(32, 3, 1), random(64, 32, 1), random(64, 32), random(32, 9)
    c1, c2, c3, c4 = random(32), random(64), random(32), random(9)
    w1, w2, b1, b2 = random(64, 3, 1), random(128, 64, 1), random(64), random(128)
    m1, m2, m3, n1, n2 = (random.norm(width) for width in (32, 64, 32, 64, 128))

    def given(g, x):
        def layer(t, w, b, norm):
            return g.Relu(g.BatchNormalization(g.Conv(t, w, b), *norm, epsilon=1e-5))
        t = layer(layer(x, u1, c1, m1), u2, c2, m2)
        t = g.Reshape(g.ReduceMax(t, [2], keepdims=1), [-1, 64])
        t = g.Gemm(t, u3.T.copy(), c3, transB=1)
        t = g.Relu(g.BatchNormalization(t, *m3, epsilon=1e-5))
        t = g.Gemm(t, u4.T.copy(), c4, transB=1)
        t = g.Add(t, g.Tile(np.eye(3).reshape(1, 9), [4, 1]))
        t = g.MatMul(g.Transpose(x, perm=[0, 2, 1]), g.Reshape(t, [-1, 3, 3]))
        t = layer(g.Transpose(t, perm=[0, 2, 1]), w1, b1, n1)
        t = g.BatchNormalization(g.Conv(t, w2, b2), *n2, epsilon=1e-5)
        return g.Reshape(g.ReduceMax(t, [2], keepdims=1), [-1, 128])

    def expert(g, x):
        # The matrix is predicted as it stands in the layer behind it; maxima come before offsets.
        v2, d2 = folded(u2, m2, bias=c2)
        v3, d3 = folded(u3.T, m3, bias=c3)
        v, d = folded(w1, n1, bias=b1)
        last, e = folded(w2, n2, bias=b2)
        turn = np.einsum("aij,oj->aoi", u4.reshape(32, 3, 3), v[:, :, 0]).reshape(32, 192)
        rest = np.einsum("ij,oj->oi", c4.reshape(3, 3) + np.eye(3), v[:, :, 0]).ravel()
        t = g.Relu(g.Conv(x, *folded(u1, m1, bias=c1)))
        t = g.Relu(g.Add(g.ReduceMax(g.Conv(t, v2), [2], keepdims=0), d2))
        t = g.Gemm(g.Relu(g.Gemm(t, v3.T, d3)), turn, rest)
        t = g.MatMul(g.Reshape(t, [4, 64, 3]), x)
        t = g.Relu(g.Add(t, d[:, None]))
        return g.Add(g.ReduceMax(g.Conv(t, last), [2], keepdims=0), e)
    return given, expert


@network(x=(1, 64, 160))
def hierarchy_of_scales_in_ecapa(random):
    """ECAPA-TDNN (Desplanques et al. 2020), SpeechBrain: norms behind rectifiers, mirrored ends."""
    w1, b1, n1 = random(64, 64, 1), random(64), random.norm(64)
    w2, b2, n2 = random(64, 64, 1), random(64), random.norm(64)
    inner = [(random(16, 16, 3), random(16), random.norm(16)) for _ in range(3)]
    ws, bs, we, be = random(16, 64, 1), random(16), random(64, 16, 1), random(64)

    def given(g, x):
        def behind(t, norm):
            return g.BatchNormalization(g.Relu(t), *norm, epsilon=1e-5)
        t = behind(g.Conv(x, w1, b1), n1)
        parts = g.Split(t, [16] * 4, axis=1, results=4)
        ends = [parts[0]]
        for k, (w, b, norm) in enumerate(inner):
            t = g.Add(parts[k + 1], ends[-1]) if k else parts[1]
            t = g.Pad(t, [0, 0, 2, 0, 0, 2], mode="reflect")
            ends.append(behind(g.Conv(t, w, b, dilations=[2]), norm))
        t = behind(g.Conv(g.Concat(*ends, axis=1), w2, b2), n2)
        s = g.Relu(g.Conv(g.ReduceMean(t, [2], keepdims=1), ws, bs))
        return g.Add(g.Mul(g.Sigmoid(g.Conv(s, we, be)), t), x)

    def expert(g, x):
        # Positive factors pass rectifiers into kernels before; offsets go on to biases.
        def ahead(w, b, norm):
            scale, offset, mean, variance = norm
            factor = scale / np.sqrt(variance + 1e-5)
            return w * factor[:, None, None], b * factor, offset - mean * factor
        v, c, o = ahead(w1, b1, n1)
        parts = g.Split(g.Relu(g.Conv(x, v, c)), [16] * 4, axis=1, results=4)
        ends, offsets = [parts[0]], [o[:16]]
        for k, (w, b, norm) in enumerate(inner):
            t = g.Add(parts[k + 1], ends[-1]) if k else parts[1]
            added = o[16 * k + 16:16 * k + 32] + (offsets[-1] if k else 0)
            v, c, own = ahead(w, b + w.sum(axis=2) @ added, norm)
            t = g.Pad(t, [0, 0, 2, 0, 0, 2], mode="reflect")
            ends.append(g.Relu(g.Conv(t, v, c, dilations=[2])))
            offsets.append(own)
        v, c, o = ahead(w2, b2 + w2[:, :, 0] @ np.concatenate(offsets), n2)
        t = g.Max(g.Conv(g.Concat(*ends, axis=1), v, c + o), o[:, None])
        s = g.Relu(g.Conv(g.ReduceMean(t, [2], keepdims=1), ws, bs))
        return g.Add(g.Mul(g.Sigmoid(g.Conv(s, we, be)), t), x)
    return given, expert


@network(query=(1, 32, 96), documents=(8, 48, 96))
def late_interaction_of_colbert(random):
    """ColBERT (Khattab and Zaharia 2020), torch: each word of a query finds its best in each document."""
    w = random(96, 32)

    def given(g, query, documents):
        def unit(t):
            t = g.MatMul(t, w)
            length = g.Clip(g.ReduceL2(t, [2], keepdims=1), np.float32(1e-12))
            return g.Div(t, g.Expand(length, g.Shape(t)))
        q, d = g.Expand(unit(query), [8, 32, 32]), unit(documents)
        t = g.MatMul(q, g.Transpose(d, perm=[0, 2, 1]))
        return g.ReduceSum(g.ReduceMax(t, [2], keepdims=0), [1], keepdims=0)

    def expert(g, query, documents):
        # All words of documents in one product; lengths of the query's words wait until behind the maxima.
        q = g.MatMul(g.Squeeze(query, [0]), w)
        d = g.MatMul(documents, w)
        d = g.Div(d, g.Max(g.ReduceL2(d, [2], keepdims=1), 1e-12))
        t = g.Gemm(g.Reshape(d, [384, 32]), q, transB=1)
        t = g.ReduceMax(g.Reshape(t, [8, 48, 32]), [1], keepdims=0)
        length = g.Max(g.ReduceL2(q, [1], keepdims=0), 1e-12)
        return g.ReduceSum(g.Div(t, length), [1], keepdims=0)
    return given, expert


@network(x=(64, 4, 16))
def variables_selected_by_fusion_transformer(random):
    """Temporal fusion transformer (Lim et al. 2021), torch: gated residual networks in a loop."""
    each = [(random(16, 16), random(16), random(16, 16), random(16), random(16, 32), random(32),
             random.positive(16), random(16)) for _ in range(4)]
    w1, b1, w2, b2, w3, b3 = random(64, 16), random(16), random(16, 4), random(4), random(4, 8), random(8)
    wr, br, scale, offset = random(64, 4), random(4), random.positive(4), random(4)

    def given(g, x):
        def gated(t, rest, w1, b1, w2, b2, w3, b3, scale, offset):
            t = g.Elu(g.Gemm(t, w1.T.copy(), b1, transB=1))
            t = g.Gemm(g.Gemm(t, w2.T.copy(), b2, transB=1), w3.T.copy(), b3, transB=1)
            value, gate = g.Split(t, num_outputs=2, axis=1, results=2)
            t = g.Add(g.Mul(value, g.Sigmoid(gate)), rest)
            return g.LayerNormalization(t, scale, offset, axis=-1, epsilon=1e-5)
        flat = g.Reshape(x, [64, 64])
        rest = g.Gemm(flat, wr.T.copy(), br, transB=1)
        chance = g.Softmax(gated(flat, rest, w1, b1, w2, b2, w3, b3, scale, offset), axis=-1)
        fields = [g.Gather(x, k, axis=1) for k in range(4)]
        t = [g.Unsqueeze(gated(t, t, *weights), [2]) for t, weights in zip(fields, each)]
        return g.ReduceSum(g.Mul(g.Concat(*t, axis=2), g.Unsqueeze(chance, [1])), [2], keepdims=0)

    def expert(g, x):
        # Five networks are two products: second layers and gates are one, variables along a diagonal.
        first = side_by_side(block_diagonal([w[0] for w in each]), w1, wr)
        bias = side_by_side(*(w[1] for w in each), b1, br)
        values, gates, bv, bg = [], [], [], []
        for u, c, v, d in [w[2:6] for w in each] + [(w2, b2, w3, b3)]:
            half = v.shape[1] // 2
            values, gates = values + [u @ v[:, :half]], gates + [u @ v[:, half:]]
            bv, bg = bv + [c @ v[:, :half] + d[:half]], bg + [c @ v[:, half:] + d[half:]]
        second = side_by_side(block_diagonal(values), block_diagonal(gates))
        flat = g.Reshape(x, [64, 64])
        t, rest = g.Split(g.Gemm(flat, first, bias), [80, 4], axis=1, results=2)
        t = g.Gemm(g.Elu(t), second, side_by_side(*bv, *bg))
        value, gate = g.Split(t, [68, 68], axis=1, results=2)
        t = g.Add(g.Mul(value, g.Sigmoid(gate)), g.Concat(flat, rest, axis=1))
        t, chance = g.Split(t, [64, 4], axis=1, results=2)
        chance = g.Softmax(g.LayerNormalization(chance, scale, offset, axis=-1, epsilon=1e-5), axis=-1)
        t = g.LayerNormalization(g.Reshape(t, [64, 4, 16]), np.ones(16), axis=-1, epsilon=1e-5)
        t = g.Add(g.Mul(t, np.stack([w[6] for w in each])), np.stack([w[7] for w in each]))
        return g.Squeeze(g.MatMul(g.Unsqueeze(chance, [1]), t), [1])
    return given, expert


@network(x=(1, 3, 48, 48))
def divisive_norms_of_a_codec_with_gains(random):
    """Learned compression (Balle et al. 2018) with gains (Cui et al. 2021), CompressAI: divisive norms."""
    w1, b1, w2, b2 = random(24, 3, 5, 5), random(24), random(32, 24, 5, 5), random(32)
    w3, b3 = random(16, 32, 3, 3), random(16)
    bounds = (1e-6 + 2.0 ** -36) ** 0.5, 2.0 ** -18
    gain = random.positive(32)
    norms = [(random.positive(k), np.abs(random(k, k)) ** 0.5 * 0.7 - 0.2) for k in (24, 32)]

    def given(g, x):
        def divided(t, width, beta, gamma):
            beta, gamma = (g.Sub(g.Pow(g.Max(p, bound), 2.0), 2.0 ** -36)
                           for p, bound in ((beta, bounds[0]), (gamma, bounds[1])))
            gamma = g.Reshape(gamma, [width, width, 1, 1])
            norm = g.Conv(g.Pow(t, 2.0), gamma, beta)
            return g.Mul(t, g.Reciprocal(g.Sqrt(norm)))
        t = divided(g.Conv(x, w1, b1, strides=[2, 2], pads=[2] * 4), 24, *norms[0])
        t = divided(g.Conv(t, w2, b2, strides=[2, 2], pads=[2] * 4), 32, *norms[1])
        t = g.Mul(t, g.Unsqueeze(g.Unsqueeze(g.Unsqueeze(gain, [0]), [2]), [3]))
        return t, g.LeakyRelu(g.Conv(g.Abs(t), w3, b3, pads=[1] * 4), alpha=0.01)

    def expert(g, x):
        # Squared, gains are in the second norm's weights.
        def divided(t, beta, gamma, gain):
            beta, gamma = (np.maximum(p, bound) ** 2 - 2.0 ** -36
                           for p, bound in ((beta, bounds[0]), (gamma, bounds[1])))
            gamma = (gamma / gain[:, None] ** 2)[:, :, None, None]
            return g.Div(t, g.Sqrt(g.Conv(g.Mul(t, t), gamma, beta / gain ** 2)))
        t = divided(g.Conv(x, w1, b1, strides=[2, 2], pads=[2] * 4), *norms[0], np.ones(24))
        t = divided(g.Conv(t, w2, b2, strides=[2, 2], pads=[2] * 4), *norms[1], gain)
        return t, g.LeakyRelu(g.Conv(g.Abs(t), w3, b3, pads=[1] * 4), alpha=0.01)
    return given, expert
