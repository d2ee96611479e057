"""More of them. torch.onnx: PointNet (Qi et al. 2017), learned image compression (Balle et al. 2018) with
gains (Cui et al. 2021), ColBERT (Khattab and Zaharia 2020), ECAPA-TDNN (Desplanques et al. 2020,
SpeechBrain), temporal fusion transformers (Lim et al. 2021), GPT-J (Wang and Komatsuzaki 2021). skl2onnx:
kernel PCA (Schoelkopf et al. 1998, scikit-learn 2011)."""

import numpy as np

from networks import block_diagonal, folded, network, side_by_side


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
