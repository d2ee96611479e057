"""Blocks of published models of 2017-2025 as deployed, each beside the graph an expert would write."""

import numpy as np

from networks import block_diagonal, centered, folded, network, passing, side_by_side

SAME, HALF = {"pads": [1, 1, 1, 1]}, {"pads": [1, 1, 1, 1], "strides": [2, 2]}


def enlarged(g, t, scale=2.0):
    return g.Resize(t, "", np.array([1.0, 1.0, scale, scale]), mode="nearest", nearest_mode="floor",
                    coordinate_transformation_mode="asymmetric")


@network(x=(1, 3, 128, 128))
def focus_in_front_of_yolo(random):
    """YOLOv5 before its release 6 (Jocher 2020), by torch.onnx: pixels over 255, Focus as eight slices."""
    first, second, n1, n2 = 60 * random(32, 12, 3, 3), random(48, 32, 3, 3), random.norm(32), random.norm(48)

    def given(g, x):
        x, parts, end = g.Div(x, 255.0), [], [2 ** 63 - 1]
        for row, column in ((0, 0), (1, 0), (0, 1), (1, 1)):
            parts.append(g.Slice(g.Slice(x, [row], end, [2], [2]), [column], end, [3], [2]))
        t = g.BatchNormalization(g.Conv(g.Concat(*parts, axis=1), first, **SAME), *n1)
        t = g.BatchNormalization(g.Conv(g.Mul(t, g.Sigmoid(t)), second, **HALF), *n2)
        return g.Mul(t, g.Sigmoid(t))

    def expert(g, x):
        # A kernel of 3 by 3 on four interleaved quarters is one of 6 by 6 with a step of two.
        weight, bias = folded(first / 255, n1)
        weight = weight.reshape(32, 2, 2, 3, 3, 3).transpose(0, 3, 4, 2, 5, 1).reshape(32, 3, 6, 6)
        t = g.Conv(x, weight, bias, strides=[2, 2], pads=[2, 2, 2, 2])
        t = g.Conv(g.Mul(t, g.Sigmoid(t)), *folded(second, n2), **HALF)
        return g.Mul(t, g.Sigmoid(t))
    return given, expert


@network(x=(1, 40, 28, 28))
def bottleneck_of_ghost_net(random):
    """GhostNet (Han et al. 2020), by torch.onnx: cheap depthwise halves are joined and sliced."""
    narrow, wide, cheap, cheaper = (
        random(*s) for s in ((60, 40, 1, 1), (20, 120, 1, 1), (60, 1, 3, 3), (20, 1, 3, 3)))
    n1, n2, n3, n4 = (random.norm(width) for width in (60, 60, 20, 20))

    def given(g, x):
        t = g.Relu(g.BatchNormalization(g.Conv(x, narrow), *n1))
        u = g.Relu(g.BatchNormalization(g.Conv(t, cheap, group=60, **SAME), *n2))
        t = g.Slice(g.Concat(t, u, axis=1), [0], [120], [1], [1])
        t = g.BatchNormalization(g.Conv(t, wide), *n3)
        u = g.BatchNormalization(g.Conv(t, cheaper, group=20, **SAME), *n4)
        return g.Add(g.Slice(g.Concat(t, u, axis=1), [0], [40], [1], [1]), x)

    def expert(g, x):
        # A depthwise layer makes both halves: one kernel of each pair passes its channel on, which a second
        # ReLU does not change. The next layer reads pairs, and has rows twice where halves are wanted.
        (k, c), (v, d), t = folded(cheap, n2), folded(cheaper, n4), g.Conv(x, *folded(narrow, n1))
        k = np.stack([passing(60, 3, 60), k], axis=1).reshape(120, 1, 3, 3)
        t = g.Conv(g.Relu(t), k, np.stack([0 * c, c], axis=1).reshape(120), group=60, **SAME)
        w, b = folded(wide.reshape(20, 2, 60, 1, 1).swapaxes(1, 2).reshape(20, 120, 1, 1), n3)
        t, v = g.Conv(g.Relu(t), np.concatenate([w, w]), side_by_side(b, b)), [passing(20, 3, 20), v]
        return g.Add(g.Conv(t, np.concatenate(v), side_by_side(0 * d, d), group=40, **SAME), x)
    return given, expert


@network(fine=(1, 16, 48, 48), middle=(1, 32, 24, 24), coarse=(1, 64, 12, 12))
def exchange_of_three_resolutions(random):
    """HRNet (Wang et al. 2019), the two finer results of a layer that fuses three, by torch.onnx."""
    shapes = (16, 32, 1), (16, 64, 1), (32, 64, 1), (32, 16, 3)
    mf, cf, cm, fm = ((random(n, m, k, k), random.norm(n)) for n, m, k in shapes)

    def given(g, fine, middle, coarse):
        def layer(t, weight, norm, **how):
            return g.BatchNormalization(g.Conv(t, weight, **how), *norm)
        a = g.Add(g.Add(fine, enlarged(g, layer(middle, *mf))), enlarged(g, layer(coarse, *cf), 4.0))
        b = g.Add(g.Add(layer(fine, *fm, **HALF), middle), enlarged(g, layer(coarse, *cm)))
        return g.Relu(a), g.Relu(b)

    def expert(g, fine, middle, coarse):
        # What is coarser is added at the middle resolution (the middle is rows of its layer), then enlarged.
        (w, b), (v, c), (u, d) = (folded(*layer) for layer in (mf, cf, cm))
        t = g.Conv(middle, np.concatenate([w, passing(32, 1)]), side_by_side(b + c, d))
        t = g.Add(t, enlarged(g, g.Conv(coarse, np.concatenate([v, u]))))
        first, second = g.Split(t, [16, 32], axis=1, results=2)
        t = g.Add(g.Conv(fine, *folded(*fm), **HALF), second)
        return g.Relu(g.Add(fine, enlarged(g, first))), g.Relu(t)
    return given, expert


@network(x=(1, 96, 20, 20))
def block_without_norms_of_nf_net(random):
    """NFNet (Brock et al. 2021), by torch.onnx: weights are standardized as the graph runs."""
    layers = [(random(n, m, k, k), random.positive(n, 1, 1, 1) / (m * k * k) ** 0.5, random(n))
              for n, m, k in ((48, 96, 1), (48, 48, 3), (96, 48, 1))]

    def given(g, x):
        def layer(t, w, gain, b, **how):
            w = g.Sub(w, g.ReduceMean(w, [1, 2, 3]))
            w = g.Div(w, g.Sqrt(g.Add(g.ReduceMean(g.Mul(w, w), [1, 2, 3]), 1e-5)))
            return g.Conv(g.Mul(t, 1.7015), g.Mul(w, gain), b, **how)
        t = layer(g.Gelu(layer(g.Mul(g.Gelu(x), 0.95), *layers[0])), *layers[1], **SAME)
        return g.Add(g.Mul(g.Mul(layer(g.Gelu(t), *layers[2]), 0.7), 0.2), x)

    def expert(g, x):
        # Weights are constants, and all gains, of activations and of the residual, are factors of them.
        def layer(t, w, gain, b, before=1.0, behind=1.0, **how):
            w = w - w.mean((1, 2, 3), keepdims=True)
            w = w * gain / np.sqrt((w * w).mean((1, 2, 3), keepdims=True) + 1e-5)
            return g.Conv(g.Gelu(t), w * 1.7015 * before * behind, b * behind, **how)
        t = layer(layer(x, *layers[0], before=0.95), *layers[1], **SAME)
        return g.Add(layer(t, *layers[2], behind=0.7 * 0.2), x)
    return given, expert


@network(x=(1, 32, 32, 32))
def strip_convolutions_of_seg_next(random):
    """SegNeXt (Guo et al. 2022), by torch.onnx: pairs of depthwise strips of 7, 11 and 21 are summed."""
    (first, mix, last), square = (random(32, 32, 1, 1) for _ in range(3)), random(32, 1, 5, 5)
    b1, b2, b3, b5 = (random(32) for _ in range(4))
    strips = [(random(32, 1, 1, k), random(32), random(32, 1, k, 1), random(32)) for k in (7, 11, 21)]

    def given(g, x):
        u = g.Gelu(g.Conv(x, first, b1))
        t = s = g.Conv(u, square, b5, group=32, pads=[2, 2, 2, 2])
        for (w, b, v, c), n in zip(strips, (3, 5, 10)):
            a = g.Conv(t, w, b, group=32, pads=[0, n, 0, n])
            s = g.Add(s, g.Conv(a, v, c, group=32, pads=[n, 0, n, 0]))
        return g.Add(x, g.Conv(g.Mul(g.Conv(s, mix, b2), u), last, b3))

    def expert(g, x):
        # Strips of all lengths are one layer of three channels each, which the second layer's kernels sum.
        w, b, v, c = zip(*strips)
        w = np.stack([centered(k, 1, 21) for k in w], axis=1).reshape(96, 1, 1, 21)
        v, u = np.concatenate([centered(k, 21, 1) for k in v], axis=1), g.Gelu(g.Conv(x, first, b1))
        t = g.Conv(u, square, b5, group=32, pads=[2, 2, 2, 2])
        a = g.Conv(t, w, np.stack(b, axis=1).reshape(96), group=32, pads=[0, 10, 0, 10])
        t = g.Add(g.Conv(a, v, sum(c), group=32, pads=[10, 0, 10, 0]), t)
        return g.Add(x, g.Conv(g.Mul(g.Conv(t, mix, b2), u), last, b3))
    return given, expert


@network(x=(1, 64, 24, 24))
def separable_attention_of_mobile_vit(random):
    """MobileViTv2 (Mehta and Rastegari 2022), by torch.onnx: patches are unfolded around the attention."""
    w, b, last, c = random(129, 64, 1, 1), random(129), random(64, 64, 1, 1), random(64)

    def given(g, x):
        t = g.Transpose(g.Reshape(x, [768, 2, 12, 2]), perm=[0, 2, 1, 3])
        x = g.Transpose(g.Reshape(t, [1, 64, 144, 4]), perm=[0, 1, 3, 2])
        q, k, v = g.Split(g.Conv(x, w, b), [1, 64, 64], axis=1, results=3)
        context = g.Expand(g.ReduceSum(g.Mul(k, g.Softmax(q, axis=-1)), [3]), [1, 64, 4, 144])
        t = g.Transpose(g.Add(x, g.Conv(g.Mul(g.Relu(v), context), last, c)), perm=[0, 1, 3, 2])
        t = g.Transpose(g.Reshape(t, [768, 12, 2, 2]), perm=[0, 2, 1, 3])
        return g.Reshape(t, [1, 64, 24, 24])

    def expert(g, x):
        # Scores sum to one, so that the layer of keys maps four weighted means and not all pixels. Pixels
        # stay where they are: only their scores, a single channel, are put into the order of patches.
        q = g.Transpose(g.Reshape(g.Conv(x, w[:1], b[:1]), [12, 2, 12, 2]), perm=[1, 3, 0, 2])
        p = g.Reshape(g.Softmax(g.Reshape(q, [4, 144]), axis=-1), [2, 2, 12, 12])
        t, v = (g.Reshape(u, [64, 12, 2, 12, 2]) for u in (x, g.Relu(g.Conv(x, w[65:], b[65:]))))
        mean = g.Reshape(g.Einsum(t, p, equation="chpwq,pqhw->cpq"), [64, 4])
        mean = g.Add(g.MatMul(w[1:65, :, 0, 0], mean), b[1:65, None])
        t = g.Reshape(g.Mul(v, g.Reshape(mean, [64, 1, 2, 1, 2])), [1, 64, 24, 24])
        return g.Add(x, g.Conv(t, last, c))
    return given, expert


@network(features=(1, 48, 24, 32), queries=(1, 64, 48), token=(1, 48))
def depth_in_adaptive_bins(random):
    """AdaBins (Bhat et al. 2021) behind its transformer, by torch.onnx: depth as a mean over bins."""
    w1, b1, w2, b2, w, b = (random(*s) for s in ((48, 64), (64,), (64, 96), (96,), (96, 64, 1, 1), (96,)))

    def given(g, features, queries, token):
        t = g.Add(g.Relu(g.linear(g.LeakyRelu(g.linear(token, w1, b1)), w2, b2)), 0.1)
        t = g.Mul(g.Div(t, g.ReduceSum(t, [1])), 9.5)
        edges = g.CumSum(g.Pad(t, [0, 1, 0, 0], 0.5), np.array(1))
        t = g.Mul(g.Add(g.Slice(edges, [0], [-1], [1]), g.Slice(edges, [1], [97], [1])), 0.5)
        centers = g.Unsqueeze(g.Unsqueeze(t, [2]), [3])
        t = g.Transpose(g.Reshape(features, [1, 48, 768]), perm=[0, 2, 1])
        t = g.MatMul(t, g.Transpose(queries, perm=[0, 2, 1]))
        t = g.Conv(g.Reshape(g.Transpose(t, perm=[0, 2, 1]), [1, 64, 24, 32]), w, b)
        return g.ReduceSum(g.Mul(g.Softmax(t, axis=1), centers), [1])

    def expert(g, features, queries, token):
        # The layer maps 64 queries and not all pixels; a running sum and means of neighbors are a matrix.
        t = g.Add(g.Relu(g.Gemm(g.LeakyRelu(g.Gemm(token, w1, b1)), w2, b2)), 0.1)
        middle = 0.5 + 9.5 * (np.tri(96) - 0.5 * np.eye(96)).T
        centers = g.Div(g.MatMul(t, middle), g.ReduceSum(t, [1]))
        t = g.MatMul(g.MatMul(w[..., 0, 0], queries), g.Reshape(features, [1, 48, 768]))
        return g.Reshape(g.MatMul(centers, g.Softmax(g.Add(t, b[:, None]), axis=1)), [1, 1, 24, 32])
    return given, expert


@network(x=(2, 160, 64))
def keypoints_and_their_message_in_light_glue(random):
    """LightGlue (Lindenberger et al. 2023), by torch.onnx: keypoints are joined to what they attend to."""
    (w, b), (wo, bo), (w1, b1), (w2, b2) = (
        (random(n, m), random(m)) for n, m in ((64, 192), (64, 64), (128, 128), (128, 64)))
    s, o = random.positive(128), random(128)

    def given(g, x):
        t = g.Transpose(g.Reshape(g.linear(x, w, b), [2, 160, 4, 16, 3]), perm=[0, 2, 1, 3, 4])
        q, k, v = (g.Gather(t, np.array(i), axis=4) for i in range(3))
        t = g.Mul(g.MatMul(q, g.Transpose(k, perm=[0, 1, 3, 2])), 0.25)
        t = g.Transpose(g.MatMul(g.Softmax(t, axis=-1), v), perm=[0, 2, 1, 3])
        t = g.Concat(x, g.linear(g.Reshape(t, [2, 160, 64]), wo, bo), axis=2)
        t = g.Gelu(g.LayerNormalization(g.linear(t, w1, b1), s, o, axis=-1))
        return g.Add(x, g.linear(t, w2, b2))

    def expert(g, x):
        # The layer of what is attended is in the perceptron; queries, keys and values do not interleave.
        scale, order = np.repeat([0.25, 1, 1], 64), np.arange(192).reshape(64, 3).T.reshape(192)
        t = g.Reshape(g.linear(x, w[:, order] * scale, b[order] * scale), [2, 160, 12, 16])
        q, k, v = g.Split(t, [4, 4, 4], axis=2, results=3)
        p = g.Softmax(g.Einsum(q, k, equation="bihd,bjhd->bhij"), axis=-1)
        t = g.Reshape(g.Einsum(p, v, equation="bhij,bjhd->bihd"), [2, 160, 64])
        t = g.linear(g.Concat(x, t, axis=2), np.concatenate([w1[:64], wo @ w1[64:]]), b1 + bo @ w1[64:])
        return g.Add(x, g.linear(g.Gelu(g.LayerNormalization(t, s, o, axis=-1)), w2, b2))
    return given, expert


@network(x=(1, 96, 128))
def stacked_perceptrons_of_mobile_bert(random):
    """MobileBERT (Sun et al. 2020), by tf2onnx: norms are only a scale and an offset."""
    (wi, bi), (wo, bo), *layers = ((random(n, m), random(m)) for n, m in
                                   ((128, 64), (64, 128), *[(64, 96), (96, 64)] * 4))
    norms = [(random.positive(width), random(width)) for width in (64, 64, 64, 64, 64, 128)]

    def given(g, x):
        def norm(t, scale, offset):
            return g.Add(g.Mul(t, scale), offset)
        h = norm(g.linear(x, wi, bi), *norms[0])
        for first, second, after in zip(layers[::2], layers[1::2], norms[1:]):
            h = norm(g.Add(g.linear(g.Relu(g.linear(h, *first)), *second), h), *after)
        return norm(g.Add(g.linear(h, wo, bo), x), *norms[5])

    def expert(g, x):
        # h is scale * z + offset: only z is computed, and weights that read it have scales and offsets.
        (scale, offset), *after, (s, o) = norms
        z, offset = g.MatMul(x, wi), bi * scale + offset
        for (w1, b1), (w2, b2), (a, c) in zip(layers[::2], layers[1::2], after):
            t = g.Relu(g.linear(z, scale[:, None] * w1, offset @ w1 + b1))
            z, scale, offset = g.Add(z, g.MatMul(t, w2 / scale)), a * scale, a * (offset + b2) + c
        return g.Add(g.linear(z, scale[:, None] * wo * s, (offset @ wo + bo) * s + o), g.Mul(x, s))
    return given, expert


@network(x=(1, 128, 128))
def partial_rotary_attention_of_phi(random):
    """Phi (Li et al. 2023), by torch.onnx: half of each head is cut off, turned and joined again."""
    w, last, b = [random(129, 128) for _ in range(3)], random(128, 128), random(128)  # w: a bias is below
    angles, causal = np.tile(np.outer(np.r_[:128], 1e4 ** -(np.r_[:8] / 8)), 2), 1e9 * np.tri(128) - 1e9

    def given(g, x):
        def turned(t):
            near, rest = g.Slice(t, [0], [16], [3]), g.Slice(t, [16], [32], [3])
            u = g.Concat(g.Neg(g.Slice(near, [8], [16], [3])), g.Slice(near, [0], [8], [3]), axis=3)
            t = g.Mul(near, g.Unsqueeze(np.cos(angles)[None], [1]))
            return g.Concat(g.Add(t, g.Mul(u, g.Unsqueeze(np.sin(angles)[None], [1]))), rest, axis=3)
        q, k, v = (g.Reshape(g.linear(x, u[:128], u[128]), [1, 128, 4, 32]) for u in w)
        q, k, v = (g.Transpose(t, perm=[0, 2, 1, 3]) for t in (q, k, v))
        t = g.Mul(g.MatMul(turned(q), g.Transpose(turned(k), perm=[0, 1, 3, 2])), 32 ** -0.5)
        t = g.MatMul(g.Softmax(g.Add(t, causal[None, None]), axis=-1), v)
        return g.linear(g.Reshape(g.Transpose(t, perm=[0, 2, 1, 3]), [1, 128, 128]), last, b)

    def expert(g, x):
        # What is not turned has an angle of zero, and the half-turned copy is a layer with other columns.
        whole, turn = np.pad(angles, ((0, 0), (0, 16)))[:, None], np.zeros((32, 32))
        turn[:16, :16], both = np.eye(16, k=8) - np.eye(16, k=-8), side_by_side(w[0] * 32 ** -0.5, w[1])
        both = side_by_side(both, (both.reshape(129, 8, 32) @ turn).reshape(129, 256), w[2])
        t = g.Reshape(g.linear(x, both[:128], both[128]), [1, 128, 20, 32])
        t, u, v = g.Split(t, [8, 8, 4], axis=2, results=3)
        t = g.Add(g.Mul(t, np.cos(whole)), g.Mul(u, np.sin(whole)))
        t = g.Einsum(*g.Split(t, [4, 4], axis=2, results=2), equation="bihd,bjhd->bhij")
        t = g.Einsum(g.Softmax(g.Add(t, causal), axis=-1), v, equation="bhij,bjhd->bihd")
        return g.linear(g.Reshape(t, [1, 128, 128]), last, b)
    return given, expert


@network(x=(2, 65, 96))
def attention_with_a_table_of_distances(random):
    """BEiT (Bao et al. 2022), by torch.onnx from timm: a table of distances is gathered in the graph."""
    s, o, bq, bv, b, gamma = random.positive(96), *(random(96) for _ in range(4)), random.positive(96)
    table, w, last, place = random(226, 3), random(96, 288), random(96, 96), np.r_[:64] // 8 * 7 + np.r_[:64]
    index = np.pad(place[:, None] - place + 112, ((1, 0), (1, 0)), constant_values=225)

    def given(g, x):
        t = g.linear(g.LayerNormalization(x, s, o, axis=-1), w, g.Concat(bq, np.zeros(96), bv, axis=0))
        t = g.Transpose(g.Reshape(t, [2, 65, 3, 3, 32]), perm=[2, 0, 3, 1, 4])
        q, k, v = (g.Gather(t, np.array(part), axis=0) for part in range(3))
        t = g.MatMul(g.Mul(q, 32 ** -0.5), g.Transpose(k, perm=[0, 1, 3, 2]))
        bias = g.Reshape(g.Gather(table, g.Reshape(index, [-1]), axis=0), [65, 65, 3])
        t = g.Add(t, g.Unsqueeze(g.Transpose(bias, perm=[2, 0, 1]), [0]))
        t = g.Transpose(g.MatMul(g.Softmax(t, axis=-1), v), perm=[0, 2, 1, 3])
        return g.Add(x, g.Mul(g.linear(g.Reshape(t, [2, 65, 96]), last, b), gamma))

    def expert(g, x):
        # Attention sums to one, so that the values' bias is one of the last layer; the table is a constant.
        scaled, t = side_by_side(w[:, :96] * 32 ** -0.5, w[:, 96:]), g.LayerNormalization(x, s, o, axis=-1)
        q, k, v = g.Split(g.Reshape(g.MatMul(t, scaled), [2, 65, 9, 32]), [3, 3, 3], axis=2, results=3)
        t = g.Einsum(g.Add(q, bq.reshape(3, 32) * 32 ** -0.5), k, equation="bihd,bjhd->bhij")
        p = g.Softmax(g.Add(t, table[index].transpose(2, 0, 1)), axis=-1)
        t = g.Reshape(g.Einsum(p, v, equation="bhij,bjhd->bihd"), [2, 65, 96])
        return g.Add(x, g.linear(t, last * gamma, (b + bv @ last) * gamma))
    return given, expert


@network(x=(2, 64, 160), durations=(2,))
def masked_separable_convolutions_of_quartz_net(random):
    """QuartzNet (Kriman et al. 2020), by torch.onnx from NeMo: each convolution computes its own mask."""
    deep, norms = [random(64, 1, 33) for _ in range(3)], [random.norm(64) for _ in range(4)]
    wide, steps = [random(64, 64, 1) for _ in range(4)], np.arange(160.0)[None]

    def given(g, x, durations):
        durations = g.Add(g.Mul(durations, 20.0), 100.0)

        def masked(t, w, **how):
            keep = g.Less(g.Expand(steps, [2, 160]), g.Unsqueeze(durations, [1]))
            return g.Conv(g.Where(g.Unsqueeze(keep, [1]), t, 0.0), w, **how)
        for k in range(3):
            t = masked(g.Relu(t) if k else x, deep[k], group=64, pads=[16, 16])
            t = g.BatchNormalization(masked(t, wide[k]), *norms[k])
        return g.Relu(g.Add(t, g.BatchNormalization(masked(x, wide[3]), *norms[3])))

    def expert(g, x, durations):
        # Layers of one step need no mask but where the block ends; the last and the shortcut's are one.
        keep = g.Less(steps, g.Unsqueeze(g.Add(g.Mul(durations, 20.0), 100.0), [1, 2]))
        t = x = g.Where(keep, x, 0.0)
        *early, (w, b), (v, c) = map(folded, wide, norms)
        for k in range(3):
            t = g.Conv(t, deep[k], group=64, pads=[16, 16])
            t = g.Where(keep, g.Relu(g.Conv(t, *early[k])) if k < 2 else t, 0.0)
        return g.Relu(g.Conv(g.Concat(t, x, axis=1), np.concatenate([w, v], axis=1), b + c))
    return given, expert


@network(x=(4, 96, 64))
def bank_of_convolutions_of_tacotron(random):
    """Tacotron (Wang et al. 2017), the bank of CBHG and a projection, by tf2onnx with its transposes."""
    *bank, (last, c, _) = ((random(n, m, k), random(n), random.norm(n)) for n, m, k in
                           (*((32, 64, k) for k in range(1, 6)), (48, 160, 3)))

    def given(g, x):
        parts = []
        for k, (w, b, n) in enumerate(bank):
            t = g.Conv(g.Transpose(x, perm=[0, 2, 1]), w, b, pads=[k // 2, (k + 1) // 2])
            parts.append(g.Transpose(g.BatchNormalization(g.Relu(t), *n), perm=[0, 2, 1]))
        t = g.Transpose(g.Concat(*parts, axis=2), perm=[0, 2, 1])
        t = g.MaxPool(t, kernel_shape=[2], strides=[1], pads=[0, 1])
        return g.Transpose(g.Relu(g.Conv(t, last, c, pads=[1, 1])), perm=[0, 2, 1])

    def expert(g, x):
        # The bank is one layer of kernels padded to five steps. A norm with positive scales commutes with
        # the maximum: its scale is in the next kernel, its offset, which ends at the border, a constant.
        kernels, biases, norms = zip(*bank)
        wide = [np.pad(w, ((0, 0), (0, 0), (2 - k // 2, 2 - (k + 1) // 2))) for k, w in enumerate(kernels)]
        t = g.Conv(g.Transpose(x, perm=[0, 2, 1]), np.concatenate(wide), side_by_side(*biases), pads=[2, 2])
        t = g.MaxPool(g.Relu(t), kernel_shape=[2], strides=[1], pads=[0, 1])
        scale, offset = folded(np.ones(160), [np.concatenate(parts) for parts in zip(*norms)])
        inside = np.stack([np.r_[:96] > 0, np.ones(96), np.r_[:96] < 95])
        constant = c[:, None] + np.einsum("oik,i->ok", last, offset) @ inside
        t = g.Relu(g.Add(g.Conv(t, last * scale[:, None], pads=[1, 1]), constant))
        return g.Transpose(t, perm=[0, 2, 1])
    return given, expert


@network(x=(2, 64, 16, 16), condition=(2, 48))
def enlarging_block_of_big_gan(random):
    """BigGAN (Brock et al. 2019), by torch.onnx: gains and biases of norms are layers of the condition."""
    norms = [(random(48, n), random(48, n), np.ones(n), np.zeros(n), *random.norm(n)[2:]) for n in (64, 32)]
    w1, w2, w3 = random(32, 64, 3, 3), random(32, 32, 3, 3), random(32, 64, 1, 1)
    b1, b2, b3 = (random(32) for _ in range(3))

    def given(g, x, condition):
        def norm(t, gain, bias, *plain):
            gain = g.Reshape(g.Add(g.MatMul(condition, gain), 1.0), [2, -1, 1, 1])
            bias = g.Reshape(g.MatMul(condition, bias), [2, -1, 1, 1])
            return g.Relu(g.Add(g.Mul(g.BatchNormalization(t, *plain), gain), bias))
        t = g.Conv(enlarged(g, norm(x, *norms[0])), w1, b1, **SAME)
        return g.Add(g.Conv(norm(t, *norms[1]), w2, b2, **SAME), g.Conv(enlarged(g, x), w3, b3))

    def expert(g, x, condition):
        # One product makes the factors and offsets of both norms. Enlarging and a kernel of 3 by 3 are one
        # transposed kernel of 4 by 4, and a layer of 1 by 1 commutes with enlarging.
        weights, constants, w = [], [], np.zeros((64, 32, 4, 4))
        for (gain, bias, *plain), before in zip(norms, (0.0, b1)):
            factor, offset = folded(np.ones(gain.shape[1]), plain, bias=before)
            weights += [gain * factor, bias + gain * offset]
            constants += [factor, offset]
        t = g.Reshape(g.Gemm(condition, side_by_side(*weights), side_by_side(*constants)), [2, -1, 1, 1])
        factor, offset, second, last = g.Split(t, [64, 64, 32, 32], axis=1, results=4)
        for i, k in ((0, 0), (0, 1), (1, 0), (1, 1)):
            w[:, :, i:i + 3, k:k + 3] += w1[:, :, ::-1, ::-1].swapaxes(0, 1)
        t = g.ConvTranspose(g.Relu(g.Add(g.Mul(x, factor), offset)), w, **HALF)
        t = g.Relu(g.Add(g.Mul(t, second), last))
        return g.Add(g.Conv(t, w2, b2 + b3, **SAME), enlarged(g, g.Conv(x, w3)))
    return given, expert


@network(x=(256, 96), prior=(256, 24))
def gates_of_personal_parameters(random):
    """PEPNet (Chang et al. 2023), by tf2onnx: perceptrons gate the layers of towers of three tasks."""
    layers, gates, ups, heads = ([(random(n, m), random(m)) for _ in range(3)]
                                 for n, m in ((96, 64), (120, 16), (16, 64), (64, 1)))

    def given(g, x, prior):
        results = []
        for layer, gate, up, head in zip(layers, gates, ups, heads):
            t = g.linear(g.Relu(g.linear(g.Concat(x, prior, axis=1), *gate)), *up)
            t = g.Mul(g.Relu(g.linear(x, *layer)), g.Mul(g.Sigmoid(t), 2.0))
            results.append(g.Sigmoid(g.linear(t, *head)))
        return g.Concat(*results, axis=1)

    def expert(g, x, prior):
        # Towers and gates begin with one layer; later ones are along a diagonal, and twice is in the last.
        def diagonal(t, parts, factor):
            weights, biases = zip(*parts)
            return g.Gemm(t, factor * block_diagonal(weights), side_by_side(*biases))
        (w, b), (v, c) = ([side_by_side(*part) for part in zip(*parts)] for parts in (layers, gates))
        w, b = side_by_side(np.pad(w, ((0, 24), (0, 0))), v), side_by_side(b, c)
        t = g.Gemm(g.Concat(x, prior, axis=1), w, b)
        t, gate = g.Split(g.Relu(t), [192, 48], axis=1, results=2)
        return g.Sigmoid(diagonal(g.Mul(t, g.Sigmoid(diagonal(gate, ups, 1))), heads, 2))
    return given, expert


@network(x=(8, 336, 21))
def linear_forecast_between_reversible_norms(random):
    """RLinear (Li et al. 2023) with RevIN (Kim et al. 2022), by torch.onnx with a variance written out."""
    w, b, gamma, beta = random(336, 96), random(96), random.positive(21), random(21)

    def given(g, x):
        t, mean = g.Sub(x, g.ReduceMean(x, [1])), g.ReduceMean(x, [1])
        deviation = g.Sqrt(g.Add(g.ReduceMean(g.Mul(t, t), [1]), 1e-5))
        t = g.Add(g.Mul(g.Div(g.Sub(x, mean), deviation), gamma), beta)
        t = g.Transpose(g.linear(g.Transpose(t, perm=[0, 2, 1]), w, b), perm=[0, 2, 1])
        return g.Add(g.Mul(g.Div(g.Sub(t, beta), g.Add(gamma, 1e-10)), deviation), mean)

    def expert(g, x):
        # The scale of a series cancels, and its mean is in the weights; deviations multiply offsets only.
        constant = (np.outer(w.sum(0) - 1, beta) + b[:, None]) / gamma
        t = g.ReduceSumSquare(g.Sub(x, g.ReduceMean(x, [1])), [1])
        t = g.Mul(g.Sqrt(g.Add(t, 336 * 1e-5)), constant / 336 ** 0.5)
        return g.Add(g.MatMul((w + (1 - w.sum(0)) / 336).T, x), t)
    return given, expert


@network(state=(64, 96), observations=(64, 8, 24))
def centralized_critic_of_agents(random):
    """MAPPO (Yu et al. 2022), by torch.onnx: the state is joined to observations and one-hot names."""
    w1, b1, w2, b2, w3, b3 = (random(*s) for s in ((128, 64), (64,), (64, 64), (64,), (64, 1), (1,)))
    s1, o1, s2, o2 = random.positive(64), random(64), random.positive(64), random(64)

    def given(g, state, observations):
        def norm(t, scale, offset):
            t = g.Sub(t, g.ReduceMean(t, [-1]))
            t = g.Div(t, g.Sqrt(g.Add(g.ReduceMean(g.Pow(t, 2.0), [-1]), 1e-5)))
            return g.Add(g.Mul(t, scale), offset)
        names = g.Expand(g.Unsqueeze(np.eye(8), [0]), [64, 8, 8])
        t = g.Concat(g.Expand(g.Unsqueeze(state, [1]), [64, 8, 96]), observations, names, axis=2)
        t = norm(g.Relu(g.linear(g.Reshape(t, [512, 128]), w1, b1)), s1, o1)
        t = g.linear(norm(g.Relu(g.linear(t, w2, b2)), s2, o2), w3, b3)
        return g.Reshape(g.Add(g.Mul(t, 2.0), 3.0), [64, 8, 1])

    def expert(g, state, observations):
        # The first layer maps a state once and not for each agent, and a one-hot name is a bias.
        t = g.Add(g.MatMul(observations, w1[96:120]), w1[120:] + b1)
        t = g.Relu(g.Add(t, g.Unsqueeze(g.MatMul(state, w1[:96]), [1])))
        t = g.Relu(g.linear(g.LayerNormalization(t, s1, o1, axis=-1), w2, b2))
        return g.linear(g.LayerNormalization(t, s2, o2, axis=-1), 2 * w3, 2 * b3 + 3)
    return given, expert


@network(nodes=(96, 48), links=(96, 96))
def initial_residuals_and_identity_of_gcn(random):
    """GCNII (Chen et al. 2020), three layers on dense links, by torch.onnx from PyTorch Geometric."""
    wi, bi, wo, bo, betas = random(48, 64), random(64), random(64, 8), random(8), np.log1p(0.5 / np.r_[1:4])
    layers = [random(64, 64) for _ in betas]

    def given(g, nodes, links):
        a = g.Add(g.Cast(g.Greater(links, 1.0), to=1), np.eye(96))
        x = start = g.Relu(g.linear(nodes, wi, bi))
        for w, beta in zip(layers, betas):
            factor = g.Pow(g.ReduceSum(a, [1], keepdims=0), -0.5)
            norm = g.Mul(g.Mul(g.Unsqueeze(factor, [1]), a), g.Unsqueeze(factor, [0]))
            t = g.Add(g.Mul(g.MatMul(norm, x), 0.9), g.Mul(start, 0.1))
            x = g.Relu(g.Add(g.Mul(t, 1 - beta), g.Mul(g.MatMul(t, w), beta)))
        return g.LogSoftmax(g.linear(x, wo, bo), axis=1)

    def expert(g, nodes, links):
        # Links are normalized once, the part of neighbors in the degrees; the identity is in the weights.
        a = g.Add(g.Cast(g.Greater(links, 1.0), to=1), np.eye(96))
        factor = g.Pow(g.Mul(g.ReduceSum(a, [1]), 1 / 0.9), -0.5)
        norm, x = g.Mul(g.Mul(factor, a), g.Reshape(factor, [1, 96])), g.Relu(g.Gemm(nodes, wi, bi))
        start = g.Mul(x, 0.1)
        for w, beta in zip(layers, betas):
            x = g.Relu(g.MatMul(g.Add(g.MatMul(norm, x), start), (1 - beta) * np.eye(64) + beta * w))
        return g.LogSoftmax(g.Gemm(x, wo, bo), axis=1)
    return given, expert
