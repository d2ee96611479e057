"""Twelve blocks of published models as exporters write them (the first six as torch.onnx
does, the last six as tf2onnx, Keras and JAX do), each beside what an expert would write by hand."""

import numpy as np

from networks import by_head, folded, network, side_by_side


def decomposed_norm(g, x, scale, offset):
    """A layer norm before operator set 17."""
    centre = g.Sub(x, g.ReduceMean(x, [-1]))
    variance = g.ReduceMean(g.Pow(centre, 2.0), [-1])
    t = g.Div(centre, g.Sqrt(g.Add(variance, 1e-5)))
    return g.Add(g.Mul(t, scale), offset)


@network(z=(1, 64, 64, 64), mask=(1, 64, 64))
def triangle_multiplication_outgoing(random):
    """AlphaFold 2 (Jumper et al. 2021), as OpenFold's fused triangular update of pairs."""
    wp, wg, bp, bg = random(64, 128), random(64, 128), random(128), random(128)
    wo, bo, wz, bz = random(64, 64), random(64), random(64, 64), random(64)
    s1, o1, s2, o2 = random.positive(64), random(64), random.positive(64), random(64)

    def given(g, z, mask):
        m = g.Unsqueeze(mask, [-1])
        t = decomposed_norm(g, z, s1, o1)
        ab = g.Mul(g.Mul(m, g.Sigmoid(g.linear(t, wg, bg))), g.linear(t, wp, bp))
        a, b = g.Slice(ab, [0], [64], [3]), g.Slice(ab, [64], [128], [3])
        a, b = g.Transpose(a, perm=[0, 3, 1, 2]), g.Transpose(b, perm=[0, 3, 2, 1])
        x = g.Transpose(g.MatMul(a, b), perm=[0, 2, 3, 1])
        x = g.linear(decomposed_norm(g, x, s2, o2), wo, bo)
        return g.Mul(x, g.Sigmoid(g.linear(t, wz, bz)))

    def expert(g, z, mask):
        # One product for all gates and projections; the norms' scales and offsets are in the weights.
        w, c = side_by_side(wg, wz, wp), side_by_side(bg, bz, bp)
        t = g.LayerNormalization(z, np.ones(64), axis=-1, epsilon=1e-5)
        gate, p = g.Split(g.linear(t, s1[:, None] * w, o1 @ w + c), [192, 128], axis=3, results=2)
        gate, out = g.Split(g.Sigmoid(gate), [128, 64], axis=3, results=2)
        ab = g.Mul(g.Mul(gate, p), g.Reshape(mask, [1, 64, 64, 1]))
        a, b = g.Split(ab, [64, 64], axis=3, results=2)
        a, b = g.Transpose(a, perm=[0, 3, 1, 2]), g.Transpose(b, perm=[0, 3, 2, 1])
        x = g.Transpose(g.MatMul(a, b), perm=[0, 2, 3, 1])
        x = g.LayerNormalization(x, np.ones(64), axis=-1, epsilon=1e-5)
        return g.Mul(g.linear(x, s2[:, None] * wo, o2 @ wo + bo), out)
    return given, expert


@network(x=(2, 32, 256))
def edge_convolution_of_neighbors(random):
    """DGCNN (Wang et al. 2019): a convolution over the edges to the twenty nearest points."""
    w, b = random(64, 64, 1, 1), random(64)
    base = (np.arange(2) * 256).reshape(2, 1, 1)

    def given(g, x):
        inner = g.Mul(g.MatMul(g.Transpose(x, perm=[0, 2, 1]), x), -2.0)
        xx = g.ReduceSum(g.Pow(x, 2.0), [1])
        distance = g.Sub(g.Sub(g.Neg(xx), inner), g.Transpose(xx, perm=[0, 2, 1]))
        _, index = g.TopK(distance, [20], axis=-1, results=2)
        index = g.Reshape(g.Add(index, base), [-1])
        points = g.Transpose(x, perm=[0, 2, 1])
        near = g.Gather(g.Reshape(points, [512, 32]), index, axis=0)
        near = g.Reshape(near, [2, 256, 20, 32])
        own = g.Tile(g.Reshape(points, [2, 256, 1, 32]), [1, 1, 20, 1])
        t = g.Transpose(g.Concat(g.Sub(near, own), own, axis=3), perm=[0, 3, 1, 2])
        return g.ReduceMax(g.LeakyRelu(g.Conv(t, w, b), alpha=0.2), [-1], keepdims=0)

    def expert(g, x):
        # The layer is linear before its rising activation: each point is multiplied once, not twenty
        # times, and the maximum is that of the gathered products. A point's own norm ranks nothing.
        first, second = w[:, :32, 0, 0].T, w[:, 32:, 0, 0].T
        points = g.Transpose(x, perm=[0, 2, 1])
        near = g.Sub(g.Mul(g.MatMul(points, x), 2.0), g.ReduceSumSquare(x, [1]))
        _, index = g.TopK(near, [20], axis=-1, sorted=0, results=2)
        t = g.Reshape(g.MatMul(points, side_by_side(first, second - first)), [512, 128])
        near, own = g.Split(t, [64, 64], axis=1, results=2)
        near = g.ReduceMax(g.Gather(near, g.Add(index, base), axis=0), [2], keepdims=0)
        t = g.Add(near, g.Add(g.Reshape(own, [2, 256, 64]), b))
        return g.Transpose(g.LeakyRelu(t, alpha=0.2), perm=[0, 2, 1])
    return given, expert


@network(x=(16, 64, 96))
def cosine_attention_in_windows(random):
    """Swin Transformer V2 (Liu et al. 2022): scaled cosine attention, positions from a small network."""
    wqkv, bq, bv = random(96, 288), random(96), random(96)
    wo, bo, logit = random(96, 96), random(96), np.log(random.positive(3, 1, 1) * 10)
    m1, c1, m2 = random(2, 64), random(64), random(64, 3)
    at = np.stack(np.meshgrid(np.arange(-7, 8), np.arange(-7, 8), indexing="ij"), -1)[None] * 8 / 7
    table = np.sign(at) * np.log2(np.abs(at) + 1) / np.log2(8)
    grid = np.stack(np.meshgrid(np.arange(8), np.arange(8), indexing="ij")).reshape(2, -1)
    apart = grid[:, :, None] - grid[:, None, :] + 7
    index = (apart[0] * 15 + apart[1]).reshape(-1)

    def given(g, x):
        t = g.linear(x, wqkv, side_by_side(bq, 0 * bq, bv))
        t = g.Transpose(g.Reshape(t, [16, 64, 3, 3, 32]), perm=[2, 0, 3, 1, 4])
        q, k, v = (g.Gather(t, i, axis=0) for i in range(3))

        def unit(t):
            norm = g.Clip(g.ReduceL2(t, [-1]), 1e-12)
            return g.Div(t, g.Expand(norm, [16, 3, 64, 32]))
        s = g.MatMul(unit(q), g.Transpose(unit(k), perm=[0, 1, 3, 2]))
        s = g.Mul(s, g.Exp(g.Clip(logit, "", np.log(100.0))))
        bias = g.MatMul(g.Relu(g.linear(table, m1, c1)), m2)
        bias = g.Gather(g.Reshape(bias, [-1, 3]), index, axis=0)
        bias = g.Transpose(g.Reshape(bias, [64, 64, 3]), perm=[2, 0, 1])
        bias = g.Unsqueeze(g.Mul(g.Sigmoid(bias), 16.0), [0])
        p = g.Softmax(g.Add(s, bias), axis=-1)
        o = g.Transpose(g.MatMul(p, v), perm=[0, 2, 1, 3])
        return g.linear(g.Reshape(o, [16, 64, 96]), wo, bo)

    def expert(g, x):
        # The positions' network and the logits' scale are constants; queries and keys are normed as one.
        bias = np.maximum(table.reshape(-1, 2) @ m1 + c1, 0) @ m2
        bias = 16 / (1 + np.exp(-bias[index].reshape(64, 64, 3).transpose(2, 0, 1)))
        scale = np.exp(np.minimum(logit, np.log(100.0)))
        t = g.MatMul(g.Unsqueeze(x, [1]), by_head(32, wqkv))
        t = g.Add(t, by_head(32, side_by_side(bq, 0 * bq, bv)[None]))
        t, v = g.Split(t, [6, 3], axis=1, results=2)
        norm = g.Mul(g.Max(g.ReduceL2(t, [-1]), 1e-12), np.concatenate([1 / scale, np.ones((3, 1, 1))]))
        q, k = g.Split(g.Div(t, norm), [3, 3], axis=1, results=2)
        s = g.MatMul(q, g.Transpose(k, perm=[0, 1, 3, 2]))
        o = g.MatMul(g.Softmax(g.Add(s, bias), axis=-1), v)
        o = g.Reshape(g.Transpose(o, perm=[0, 2, 1, 3]), [16, 64, 96])
        return g.linear(o, wo, bo)
    return given, expert


@network(h=(384, 256), adj=(384, 384))
def graph_attention_over_all_pairs(random):
    """Graph attention networks (Velickovic et al. 2018), two heads, as pyGAT writes all pairs out."""
    w, a = [random(256, 32) for _ in range(2)], [random(64, 1) * 4 for _ in range(2)]

    def given(g, h, adj):
        linked, heads = g.Greater(adj, 0.0), []
        for i in range(2):
            t = g.MatMul(h, w[i])
            left = g.Reshape(g.Expand(g.Unsqueeze(t, [1]), [384, 384, 32]), [147456, 32])
            pairs = g.Concat(left, g.Tile(t, [384, 1]), axis=1)
            e = g.Squeeze(g.MatMul(g.Reshape(pairs, [384, 384, 64]), a[i]), [2])
            e = g.Where(linked, g.LeakyRelu(e, alpha=0.2), np.full((384, 384), -9e15))
            heads.append(g.Elu(g.MatMul(g.Softmax(e, axis=1), t)))
        return g.Concat(*heads, axis=1)

    def expert(g, h, adj):
        # A pair's logit is the sum of a number of each node, and those are further columns of the layer.
        whole = np.stack([side_by_side(w[i], w[i] @ a[i][:32], w[i] @ a[i][32:]) for i in range(2)])
        t, left, right = g.Split(g.MatMul(h, whole), [32, 1, 1], axis=2, results=3)
        e = g.LeakyRelu(g.Add(left, g.Reshape(right, [2, 1, 384])), alpha=0.2)
        p = g.Softmax(g.Where(g.Greater(adj, 0.0), e, -9e15), axis=-1)
        t = g.Transpose(g.MatMul(p, t), perm=[1, 0, 2])
        return g.Elu(g.Reshape(t, [384, 64]))
    return given, expert


@network(x=(1, 1, 512), latent=(1, 512, 128), k_pe=(1, 1, 512, 16), cos=(1, 1, 16), sin=(1, 1, 16),
         mask=(1, 1, 1, 512))
def step_of_latent_attention(random):
    """DeepSeek-V2 (2024): a decoding step of multi-head latent attention; the cache holds latents."""
    wq, wkv, wo, scale = random(512, 384), random(128, 512), random(256, 512), random.positive(512)

    def given(g, x, latent, k_pe, cos, sin, mask):
        variance = g.ReduceMean(g.Pow(x, 2.0), [-1])
        t = g.Mul(scale, g.Mul(x, g.Reciprocal(g.Sqrt(g.Add(variance, 1e-6)))))
        q = g.Transpose(g.Reshape(g.MatMul(t, wq), [1, 1, 8, 48]), perm=[0, 2, 1, 3])
        q, q_pe = g.Split(q, [32, 16], axis=-1, results=2)
        kv = g.Reshape(g.MatMul(latent, wkv), [1, 512, 8, 64])
        k, v = g.Split(g.Transpose(kv, perm=[0, 2, 1, 3]), [32, 32], axis=-1, results=2)
        q_pe = g.Transpose(g.Reshape(q_pe, [1, 8, 1, 8, 2]), perm=[0, 1, 2, 4, 3])
        q_pe = g.Reshape(q_pe, [1, 8, 1, 16])
        low, high = g.Slice(q_pe, [0], [8], [3]), g.Slice(q_pe, [8], [16], [3])
        half = g.Concat(g.Neg(high), low, axis=-1)
        q_pe = g.Add(g.Mul(q_pe, g.Unsqueeze(cos, [1])), g.Mul(half, g.Unsqueeze(sin, [1])))
        q = g.Concat(q, q_pe, axis=-1)
        k = g.Concat(k, g.Expand(k_pe, [1, 8, 512, 16]), axis=-1)
        s = g.Mul(g.MatMul(q, g.Transpose(k, perm=[0, 1, 3, 2])), 48 ** -0.5)
        o = g.MatMul(g.Softmax(g.Add(s, mask), axis=-1), v)
        o = g.Reshape(g.Transpose(o, perm=[0, 2, 1, 3]), [1, 1, 256])
        return g.Add(x, g.MatMul(o, wo))

    def expert(g, x, latent, k_pe, cos, sin, mask):
        # Up-projections move from the cache to the one query and to the one result; attention runs on
        # latents. The rotation's order and its half turn are in the weights.
        w = (scale[:, None] * wq).reshape(512, 8, 48) / 48 ** 0.5
        straight = w[:, :, 32:].reshape(512, 8, 8, 2).transpose(0, 1, 3, 2).reshape(512, 8, 16)
        half = np.concatenate([-straight[:, :, 8:], straight[:, :, :8]], axis=2)
        w = side_by_side(w[:, :, :32], straight, half).reshape(512, 512)
        up = wkv.reshape(128, 8, 64)
        t = g.MatMul(g.RMSNormalization(x, np.ones(512), axis=-1, epsilon=1e-6), w)
        q, straight, half = g.Split(g.Reshape(t, [8, 1, 64]), [32, 16, 16], axis=2, results=3)
        q_pe = g.Reshape(g.Add(g.Mul(straight, cos), g.Mul(half, sin)), [8, 16])
        q = g.Reshape(g.MatMul(q, up[:, :, :32].transpose(1, 2, 0)), [8, 128])
        latent, k_pe = g.Reshape(latent, [512, 128]), g.Reshape(k_pe, [512, 16])
        s = g.Gemm(q_pe, k_pe, g.Reshape(mask, [1, 512]), transB=1)
        p = g.Softmax(g.Gemm(q, latent, s, transB=1), axis=-1)
        o = g.Reshape(g.MatMul(p, latent), [8, 1, 128])
        o = g.Reshape(g.MatMul(o, up[:, :, 32:].transpose(1, 0, 2)), [1, 1, 256])
        return g.Add(x, g.MatMul(o, wo))
    return given, expert


@network(x=(32, 336, 21))
def linear_layers_of_trend_and_rest(random):
    """DLinear (Zeng et al. 2023): a moving average, and a layer each for it and for the remainder."""
    ws, wt, bs, bt = random(336, 96), random(336, 96), random(96), random(96)

    def given(g, x):
        front = g.Tile(g.Slice(x, [0], [1], [1]), [1, 12, 1])
        end = g.Tile(g.Slice(x, [-1], [2 ** 62], [1]), [1, 12, 1])
        t = g.Transpose(g.Concat(front, x, end, axis=1), perm=[0, 2, 1])
        trend = g.Transpose(g.AveragePool(t, kernel_shape=[25], strides=[1]), perm=[0, 2, 1])
        season = g.Transpose(g.Sub(x, trend), perm=[0, 2, 1])
        trend = g.Transpose(trend, perm=[0, 2, 1])
        y = g.Add(g.linear(season, ws, bs), g.linear(trend, wt, bt))
        return g.Transpose(y, perm=[0, 2, 1])

    def expert(g, x):
        # All of it is one linear layer over time.
        mean = np.zeros((336, 336))
        for i in range(336):
            for j in range(i - 12, i + 13):
                mean[i, min(max(j, 0), 335)] += 1 / 25
        weight = ws + mean.T @ (wt - ws)
        return g.Add(g.MatMul(weight.T.copy(), x), (bs + bt)[:, None])
    return given, expert


@network(x=(1, 14, 14, 112))
def inverted_residual_with_squeeze(random):
    """MobileNetV3 (Howard et al. 2019), Keras: a block of stride 2 with hard swish, by tf2onnx."""
    w1, w2, w3 = random(672, 112, 1, 1), random(672, 1, 5, 5), random(160, 672, 1, 1)
    n1, n2, n3 = random.norm(672), random.norm(672), random.norm(160)
    s1, b1, s2, b2 = random(168, 672, 1, 1), random(168), random(672, 168, 1, 1), random(672)

    def given(g, x):
        def normed(t, norm):
            scale, offset, mean, variance = norm
            factor = scale / np.sqrt(variance + 1e-3)
            t = g.Mul(t, factor.reshape(1, -1, 1, 1))
            return g.Add(t, (offset - mean * factor).reshape(1, -1, 1, 1))

        def sigmoid(t):
            return g.Mul(g.Clip(g.Add(t, 3.0), 0.0, 6.0), 1 / 6)
        t = normed(g.Conv(g.Transpose(x, perm=[0, 3, 1, 2]), w1), n1)
        t = g.Pad(g.Mul(t, sigmoid(t)), [0, 0, 1, 1, 0, 0, 2, 2])
        t = normed(g.Conv(t, w2, strides=[2, 2], group=672), n2)
        t = g.Mul(t, sigmoid(t))
        s = g.Relu(g.Conv(g.ReduceMean(t, [2, 3]), s1, b1))
        t = g.Mul(t, sigmoid(g.Conv(s, s2, b2)))
        return g.Transpose(normed(g.Conv(t, w3), n3), perm=[0, 2, 3, 1])

    def expert(g, x):
        # Norms are folded; the layout changes inside the pointwise products, as transposed operands.
        (f1, c1), (f2, c2), (f3, c3) = folded(w1, n1, 1e-3), folded(w2, n2, 1e-3), folded(w3, n3, 1e-3)
        t = g.Gemm(f1.reshape(672, 112), g.Reshape(x, [196, 112]), c1.reshape(672, 1), transB=1)
        t = g.Reshape(g.HardSwish(t), [1, 672, 14, 14])
        t = g.HardSwish(g.Conv(t, f2, c2, strides=[2, 2], group=672, pads=[1, 1, 2, 2]))
        t = g.Reshape(t, [672, 49])
        s = g.Relu(g.Gemm(s1.reshape(168, 672), g.ReduceMean(t, [1]), b1.reshape(168, 1)))
        s = g.HardSigmoid(g.Gemm(s2.reshape(672, 168), s, b2.reshape(672, 1)), alpha=1 / 6, beta=0.5)
        t = g.Gemm(g.Mul(t, s), f3.reshape(160, 672).T.copy(), c3, transA=1)
        return g.Reshape(t, [1, 7, 7, 160])
    return given, expert


@network(x=(4, 128, 128))
def gated_layers_over_space(random):
    """gMLP (Liu et al. 2021), Haiku through jax2tf and tf2onnx: a block with its spatial gating unit."""
    w1, b1, w2, b2 = random(128, 512), random(512), random(256, 128), random(128)
    ws, bs = random(128, 128), random.positive(128, 1)
    s1, o1, s2, o2 = random.positive(128), random(128), random.positive(256), random(256)

    def given(g, x):
        def normed(t, scale, offset):
            centre = g.Sub(t, g.ReduceMean(t, [-1]))
            variance = g.ReduceMean(g.Mul(centre, centre), [-1])
            factor = g.Mul(g.Reciprocal(g.Sqrt(g.Add(variance, 1e-5))), scale)
            return g.Add(g.Mul(factor, centre), offset)
        t = g.Add(g.Einsum(normed(x, s1, o1), w1, equation="abc,cd->abd"), b1)
        t = g.Mul(g.Mul(t, 0.5), g.Add(g.Erf(g.Div(t, 2 ** 0.5)), 1.0))
        u, v = g.Slice(t, [0], [256], [2]), g.Slice(t, [256], [512], [2])
        v = g.Add(g.Einsum(normed(v, s2, o2), ws, equation="bnd,mn->bmd"), bs)
        return g.Add(g.Add(g.Einsum(g.Mul(u, v), w2, equation="abc,cd->abd"), b2), x)

    def expert(g, x):
        t = g.LayerNormalization(x, s1, o1, axis=-1, epsilon=1e-5)
        t = g.Gelu(g.linear(t, w1, b1))
        u, v = g.Split(t, [256, 256], axis=2, results=2)
        v = g.MatMul(ws, g.LayerNormalization(v, s2, o2, axis=-1, epsilon=1e-5))
        return g.Add(g.linear(g.Mul(u, g.Add(v, bs)), w2, b2), x)
    return given, expert


@network(x=(2, 1024, 64))
def gated_dilated_causal_layer(random):
    """WaveNet (van den Oord et al. 2016), Keras: dilation by space to batch, one-dimensional
    convolutions as two-dimensional ones."""
    wf, wg, bf, bg = random(64, 64, 1, 2), random(64, 64, 1, 2), random(64), random(64)
    wr, ws, br, bs = random(64, 64, 1, 1), random(128, 64, 1, 1), random(64), random(128)

    def given(g, x):
        def convolved(t, *weights):
            t = g.Conv(g.Transpose(g.Unsqueeze(t, [1]), perm=[0, 3, 1, 2]), *weights)
            return g.Squeeze(g.Transpose(t, perm=[0, 2, 3, 1]), [1])

        def causal(w, b):
            t = g.Reshape(g.Pad(x, [0, 8, 0, 0, 0, 0]), [2, 129, 8, 64])
            t = g.Reshape(g.Transpose(t, perm=[2, 0, 1, 3]), [16, 129, 64])
            t = g.Reshape(convolved(t, w), [8, 2, 128, 64])
            return g.Add(g.Reshape(g.Transpose(t, perm=[1, 2, 0, 3]), [2, 1024, 64]), b)
        t = g.Mul(g.Tanh(causal(wf, bf)), g.Sigmoid(causal(wg, bg)))
        return g.Add(convolved(t, wr, br), x), convolved(t, ws, bs)

    def expert(g, x):
        # Two taps are one product of the input beside its delayed self; no layout changes at all.
        taps = [np.concatenate([w[:, :, 0, 0].T, w[:, :, 0, 1].T]) for w in (wf, wg)]
        late = g.Pad(x, [0, 8, 0, 0, -8, 0])
        t = g.linear(g.Concat(late, x, axis=2), side_by_side(*taps), side_by_side(bf, bg))
        f, gate = g.Split(t, [64, 64], axis=2, results=2)
        last = np.concatenate([wr, ws])[:, :, 0, 0].T.copy()
        t = g.linear(g.Mul(g.Tanh(f), g.Sigmoid(gate)), last, side_by_side(br, bs))
        t, skip = g.Split(t, [64, 128], axis=2, results=2)
        return g.Add(t, x), skip
    return given, expert


@network(x=(32, 9, 9, 64))
def dueling_head_of_distributions(random):
    """Rainbow (Hessel et al. 2018), Keras: the last convolution and the dueling categorical head."""
    w, b = random(64, 64, 3, 3), random(64)
    v1, a1, bv1, ba1 = random(3136, 512), random(3136, 512), random(512), random(512)
    v2, a2, bv2, ba2 = random(512, 51), random(512, 306), random(51), random(306)
    support = np.linspace(-10, 10, 51)

    def given(g, x):
        t = g.Conv(g.Transpose(x, perm=[0, 3, 1, 2]), w, b)
        t = g.Reshape(g.Relu(g.Transpose(t, perm=[0, 2, 3, 1])), [-1, 3136])
        v = g.linear(g.Relu(g.linear(t, v1, bv1)), v2, bv2)
        a = g.linear(g.Relu(g.linear(t, a1, ba1)), a2, ba2)
        v, a = g.Reshape(v, [-1, 1, 51]), g.Reshape(a, [-1, 6, 51])
        logits = g.Add(v, g.Sub(a, g.ReduceMean(a, [1])))
        p = g.Softmax(logits, axis=-1)
        return g.ReduceSum(g.Mul(p, support), [2], keepdims=0)

    def expert(g, x):
        # Both streams are one product of permuted rows; adding the value and centring the advantages
        # are linear, so they are in the weights of the last layer.
        def inner(m):
            return m.reshape(7, 7, 64, -1).transpose(2, 0, 1, 3).reshape(3136, -1)

        def centred(m):
            m = m.reshape(-1, 6, 51)
            return (m - m.mean(1, keepdims=True)).reshape(-1, 306)
        first = side_by_side(inner(v1), inner(a1))
        second = np.concatenate([np.tile(v2, 6), centred(a2)])
        t = g.Relu(g.Conv(g.Transpose(x, perm=[0, 3, 1, 2]), w, b))
        t = g.Relu(g.linear(g.Reshape(t, [32, 3136]), first, side_by_side(bv1, ba1)))
        t = g.linear(t, second, np.tile(bv2, 6) + centred(ba2)[0])
        p = g.Softmax(g.Reshape(t, [32, 6, 51]), axis=-1)
        return g.MatMul(p, support)
    return given, expert


@network(points=(64, 32, 3), views=(64, 27))
def radiance_of_samples_of_rays(random):
    """NeRF (Mildenhall et al. 2020), as JaxNeRF: positions' encoding, a trunk with a skip, and colors
    that also depend on each ray's encoded direction."""
    w1, w2, w3, w4 = (random(n, 128) * 2 ** 0.5 for n in (39, 128, 128, 167))
    b1, b2, b3, b4 = (random(128) for _ in range(4))
    wd, wb, wc, wr = random(128, 1) * 2, random(128, 128), random(155, 64), random(64, 3)
    bd, bb, bc, br = random.positive(1), random(128), random(64), random(3)
    scales = 2.0 ** np.arange(6)

    def given(g, points, views):
        xb = g.Mul(g.Unsqueeze(points, [2]), scales[:, None])
        xb = g.Reshape(xb, [64, 32, 18])
        features = g.Sin(g.Concat(xb, g.Add(xb, 0.5 * np.pi), axis=-1))
        x = g.Reshape(g.Concat(points, features, axis=-1), [2048, 39])
        t = x
        for w, b in ((w1, b1), (w2, b2), (w3, b3)):
            t = g.Relu(g.linear(t, w, b))
        t = g.Relu(g.linear(g.Concat(t, x, axis=-1), w4, b4))
        density = g.linear(t, wd, bd)
        view = g.Reshape(g.Tile(g.Unsqueeze(views, [1]), [1, 32, 1]), [2048, 27])
        t = g.Concat(g.linear(t, wb, bb), view, axis=-1)
        color = g.Sigmoid(g.linear(g.Relu(g.linear(t, wc, bc)), wr, br))
        return g.Reshape(color, [64, 32, 3]), g.Relu(g.Reshape(density, [64, 32, 1]))

    def expert(g, points, views):
        # The layer without an activation is merged into the next and stands beside the density's; a
        # direction is multiplied once for its ray; the encoding is multiplied once for both its uses.
        phase = np.array([0, 0.5 * np.pi]).reshape(2, 1, 1)
        t = g.Mul(g.Reshape(points, [2048, 1, 1, 3]), scales[:, None])
        t = g.Reshape(g.Sin(g.Add(t, phase)), [2048, 36])
        x = g.Concat(g.Reshape(points, [2048, 3]), t, axis=1)
        t = g.linear(x, side_by_side(w1, w4[128:]), side_by_side(b1, b4))
        t, skip = g.Split(t, [128, 128], axis=1, results=2)
        t = g.Relu(g.linear(g.Relu(t), w2, b2))
        t = g.Relu(g.linear(t, w3, b3))
        t = g.Relu(g.Add(g.MatMul(t, w4[:128]), skip))
        t = g.Reshape(g.MatMul(t, side_by_side(wb @ wc[:128], wd)), [64, 32, 65])
        view = g.linear(views, wc[128:], bc + bb @ wc[:128])
        t, density = g.Split(t, [64, 1], axis=2, results=2)
        t = g.Relu(g.Add(t, g.Unsqueeze(view, [1])))
        return g.Sigmoid(g.linear(t, wr, br)), g.Relu(g.Add(density, bd))
    return given, expert


@network(query=(128, 32), keys=(128, 50, 32), present=(128, 50))
def interest_of_past_behaviors(random):
    """Deep interest network (Zhou et al. 2018), TensorFlow: attention of a candidate to a user's
    past, by a network over the pair, its difference and its product."""
    w1, b1, w2, b2 = random(128, 80), random(80), random(80, 40), random(40)
    w3, b3 = random(40, 1) * 8, random(1)

    def given(g, query, keys, present):
        q = g.Reshape(g.Tile(query, [1, 50]), [128, 50, 32])

        def dense(t, w, b):
            t = g.MatMul(g.Reshape(t, [6400, w.shape[0]]), w)
            return g.Add(g.Reshape(t, [128, 50, w.shape[1]]), b)
        t = g.Concat(q, keys, g.Sub(q, keys), g.Mul(q, keys), axis=-1)
        t = g.Sigmoid(dense(t, w1, b1))
        t = g.Sigmoid(dense(t, w2, b2))
        t = g.Reshape(dense(t, w3, b3), [128, 1, 50])
        t = g.Where(g.Unsqueeze(g.Greater(present, 0.0), [1]), t, np.full((128, 1, 50), 1.0 - 2 ** 32))
        p = g.Softmax(g.Div(t, 32 ** 0.5), axis=-1)
        return g.Squeeze(g.MatMul(p, keys), [1])

    def expert(g, query, keys, present):
        # The candidate's share is computed once for a user, and its product with the keys moves into
        # a matrix for each user: a quarter of the first layer's work and nothing concatenated.
        q, k, d, m = np.split(w1, 4)
        own = g.Unsqueeze(g.linear(query, q + d, b1), [1])
        weight = g.Add(g.Mul(g.Unsqueeze(query, [2]), m), k - d)
        t = g.Sigmoid(g.Add(g.MatMul(keys, weight), own))
        t = g.Sigmoid(g.linear(t, w2, b2))
        t = g.linear(t, w3 / 32 ** 0.5, b3 / 32 ** 0.5)
        t = g.Where(g.Greater(present, 0.0), g.Reshape(t, [128, 50]), (1.0 - 2 ** 32) / 32 ** 0.5)
        p = g.Unsqueeze(g.Softmax(t, axis=-1), [1])
        return g.Reshape(g.MatMul(p, keys), [128, 32])
    return given, expert
