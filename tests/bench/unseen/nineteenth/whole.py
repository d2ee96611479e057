"""Whole small blocks and networks of papers from 2015 to 2025 of varied fields: speech, physics of
electrons, detection, points, recommendation, time series, control by diffusion, language."""

import numpy as np

from networks import folded, network, side_by_side


@network(query=(2, 64), hidden=(2, 64), memory=(2, 40, 48), now=(2, 40), past=(2, 40))
def location_sensitive_step_of_tacotron(random):
    """Tacotron 2 (Shen et al. 2018), attention and projections of a step, by torch.onnx."""
    kernel, place, wq, wm = random(32, 2, 31), random(32, 64), random(64, 64), random(48, 64)
    v, mel, bm, gate, bg = random(64, 1), random(112, 80), random(80), random(112, 1), random(1)

    def given(g, query, hidden, memory, now, past):
        t = g.Concat(g.Unsqueeze(now, [1]), g.Unsqueeze(past, [1]), axis=1)
        t = g.Transpose(g.Conv(t, kernel, pads=[15, 15]), perm=[0, 2, 1])
        t = g.Add(g.MatMul(g.Unsqueeze(query, [1]), wq), g.MatMul(t, place))
        t = g.MatMul(g.Tanh(g.Add(t, g.MatMul(memory, wm))), v)
        weights = g.Softmax(g.Squeeze(t, [-1]), axis=1)
        context = g.Squeeze(g.MatMul(g.Unsqueeze(weights, [1]), memory), [1])
        t = g.Concat(hidden, context, axis=1)
        return g.linear(t, mel, bm), g.linear(t, gate, bg), weights, g.Add(past, weights)

    def expert(g, query, hidden, memory, now, past):
        # The layer behind the convolution is in its kernel, which then costs no more. All is laid
        # out as the convolution gives it, so that nothing is turned; both results share a product.
        t = g.Concat(g.Reshape(now, [2, 1, 40]), g.Reshape(past, [2, 1, 40]), axis=1)
        t = g.Conv(t, np.einsum("fit,fo->oit", kernel, place), pads=[15, 15])
        t = g.Add(t, g.Reshape(g.MatMul(query, wq), [2, 64, 1]))
        t = g.Tanh(g.Add(t, g.Einsum(memory, wm, equation="btc,cd->bdt")))
        weights = g.Softmax(g.MatMul(v.T, t), axis=2)
        context = g.Reshape(g.MatMul(weights, memory), [2, 48])
        weights = g.Reshape(weights, [2, 40])
        t = g.Concat(hidden, context, axis=1)
        t = g.linear(t, side_by_side(mel, gate), np.concatenate([bm, bg]))
        first, second = g.Split(t, [80, 1], axis=1, results=2)
        return first, second, weights, g.Add(past, weights)
    return given, expert


@network(electrons=(8, 32), pairs=(8, 8, 16))
def two_layers_and_determinants_of_fermi_net(random):
    """FermiNet (Pfau et al. 2020) for electrons of both spins, by jax2onnx, no envelopes."""
    layers, wp, bp = [(random(128, 32), random(32)) for _ in range(2)], random(16, 16), random(16)
    orbitals = [(random(32, 12), random(12)) for _ in range(2)]

    def given(g, electrons, pairs):
        def layer(h, two, weight, bias):
            parts = [h]
            for half in g.Split(h, [4, 4], axis=0, results=2):
                parts.append(g.Tile(g.ReduceMean(half, [0]), [8, 1]))
            for half in g.Split(two, [4, 4], axis=0, results=2):
                parts.append(g.ReduceMean(half, [0], keepdims=0))
            t = g.Tanh(g.linear(g.Concat(*parts, axis=1), weight, bias))
            return g.Div(g.Add(h, t), 2 ** 0.5)
        h = layer(electrons, pairs, *layers[0])
        t = g.Tanh(g.linear(pairs, wp, bp))
        h = layer(h, g.Div(g.Add(pairs, t), 2 ** 0.5), *layers[1])
        dets = []
        for half, orbital in zip(g.Split(h, [4, 4], axis=0, results=2), orbitals):
            t = g.Reshape(g.linear(half, *orbital), [4, 3, 4])
            dets.append(g.Det(g.Transpose(t, perm=[1, 0, 2])))
        return g.Log(g.Abs(g.ReduceSum(g.Mul(*dets), [0], keepdims=0)))

    def expert(g, electrons, pairs):
        # What is the same for all electrons is mapped once, as a bias. Divisors of shortcuts go
        # into layers that follow, all but one. Both spins are items of a batch up to determinants.
        def layer(h, two, weight, bias):
            same = g.Reshape(g.ReduceMean(g.Reshape(h, [2, 4, 32]), [1], keepdims=0), [1, 64])
            near = g.ReduceMean(g.Reshape(two, [2, 4, 8, 16]), [1], keepdims=0)
            near = g.Einsum(near, weight[96:].reshape(2, 16, 32), equation="sic,scd->id")
            t = g.Gemm(h, weight[:32], g.Gemm(same, weight[32:96], bias))
            return g.Tanh(g.Add(t, near))
        root = 0.5 ** 0.5
        h = g.Add(electrons, layer(electrons, pairs, *layers[0]))
        two = g.Add(pairs, g.Tanh(g.linear(pairs, wp, bp)))
        h = g.Add(g.Mul(h, root), layer(h, two, layers[1][0] * root, layers[1][1]))
        weight = np.stack([w.reshape(32, 3, 4).transpose(1, 0, 2) * root for w, _ in orbitals])
        bias = np.stack([b.reshape(3, 1, 4) for _, b in orbitals])
        dets = g.Det(g.linear(g.Reshape(h, [2, 1, 4, 32]), weight, bias))
        return g.Log(g.Abs(g.ReduceSum(g.ReduceProd(dets, [0], keepdims=0), [0], keepdims=0)))
    return given, expert


@network(deltas=(64, 5), scores=(64,))
def suppression_of_turned_boxes_by_prob_iou(random):
    """ProbIoU (Llerena et al. 2021) in fast suppression of turned boxes as in YOLO, torch.onnx."""
    grid = np.stack(np.meshgrid(np.arange(8), np.arange(8)), axis=-1).reshape(64, 2) + 0.5
    anchors, eps = random.generator.uniform(1.0, 3.0, (64, 2)), 1e-7

    def decoded(g, deltas, scores):
        place, size, angle = g.Split(deltas, [2, 2, 1], axis=1, results=3)
        place = g.Add(g.Mul(g.Mul(place, 0.1), anchors), grid)
        size = g.Mul(g.Exp(g.Mul(size, 0.2)), anchors)
        boxes = g.Concat(place, size, angle, axis=1)
        _, order = g.TopK(scores, [64], axis=0, results=2)
        return g.Gather(boxes, order, axis=0)

    def given(g, deltas, scores):
        boxes = decoded(g, deltas, scores)
        x, y, w, h, angle = g.Split(boxes, [1] * 5, axis=1, results=5)
        w, h = g.Div(g.Pow(w, 2.0), 12.0), g.Div(g.Pow(h, 2.0), 12.0)
        cos, sin = g.Cos(angle), g.Sin(angle)
        cos2, sin2 = g.Pow(cos, 2.0), g.Pow(sin, 2.0)
        a = g.Add(g.Mul(w, cos2), g.Mul(h, sin2))
        b = g.Add(g.Mul(w, sin2), g.Mul(h, cos2))
        c = g.Mul(g.Mul(g.Sub(w, h), cos), sin)
        x2, y2, a2, b2, c2 = (g.Transpose(t, perm=[1, 0]) for t in (x, y, a, b, c))

        def determinant():
            t = g.Mul(g.Add(a, a2), g.Add(b, b2))
            return g.Sub(t, g.Pow(g.Add(c, c2), 2.0))

        def own(a, b, c):
            return g.Max(g.Sub(g.Mul(a, b), g.Pow(c, 2.0)), 0.0)
        t1 = g.Add(g.Mul(g.Add(a, a2), g.Pow(g.Sub(y, y2), 2.0)),
                   g.Mul(g.Add(b, b2), g.Pow(g.Sub(x, x2), 2.0)))
        t1 = g.Mul(g.Div(t1, g.Add(determinant(), eps)), 0.25)
        t2 = g.Mul(g.Mul(g.Add(c, c2), g.Sub(x2, x)), g.Sub(y, y2))
        t2 = g.Mul(g.Div(t2, g.Add(determinant(), eps)), 0.5)
        t3 = g.Sqrt(g.Mul(own(a, b, c), own(a2, b2, c2)))
        t3 = g.Div(determinant(), g.Add(g.Mul(t3, 4.0), eps))
        t3 = g.Mul(g.Log(g.Add(t3, eps)), 0.5)
        far = g.Clip(g.Add(g.Add(t1, t2), t3), eps, 100.0)
        iou = g.Sub(1.0, g.Sqrt(g.Add(g.Sub(1.0, g.Exp(g.Neg(far))), eps)))
        return boxes, g.ReduceMax(g.Trilu(iou, 1, upper=1), [0])

    def expert(g, deltas, scores):
        # The largest overlap is that of the least distance, so that exponential and root are of
        # 64 numbers. The determinant of a box is (area / 12)^2. A dy^2 + B dx^2 - 2 C dx dy is
        # three squares: (B + C) dx^2 + (A + C) dy^2 - C (dx + dy)^2. All sums and differences of
        # pairs are one sum, of rows that two thin matrices make of five numbers of a box.
        boxes = decoded(g, deltas, scores)
        place, size, angle = g.Split(g.Transpose(boxes, perm=[1, 0]), [2, 2, 1], axis=0, results=3)
        turned = g.Mul(angle, np.array([[0.0], [2], [2]]))
        turned = g.Cos(g.Sub(turned, np.array([[0.0], [0], [np.pi / 2]])))
        base = g.MatMul(np.array([[1, 1], [1, -1], [1, -1]]) / 24, g.Mul(size, size))
        base = g.Concat(g.Mul(base, turned), place, axis=0)  # (a + b) / 2, (a - b) / 2, c, x and y
        first = np.array([[.5, -.5, .5, 0, 0], [.5, .5, .5, 0, 0], [0, 0, -.5, 0, 0],
                          [0, 0, 0, 1, 0], [0, 0, 0, 0, 1], [0, 0, 0, 1, 1],
                          [1, 1, 0, 0, 0], [0, 0, 1, 0, 0], [1, -1, 0, 0, 0], [0, 0, -1, 0, 0]])
        second = first * [1, 1, 1, -1, -1]
        t, u = g.MatMul(first, base), g.MatMul(second, base)
        t = g.Add(g.Unsqueeze(t, [2]), g.Unsqueeze(u, [1]))
        form, moved, left, right = g.Split(t, [3, 3, 2, 2], axis=0, results=4)
        form = g.Einsum(form, g.Mul(moved, moved), equation="kij,kij->ij")
        det, area = g.Einsum(left, right, equation="kij,kij->ij"), g.ReduceProd(size, [0])
        ratio = g.Div(det, g.Gemm(area, area, eps, transA=1, alpha=1 / 36))
        far = g.Add(g.Div(form, g.Add(det, eps)), g.Log(g.Add(ratio, eps)))
        far = g.ReduceMin(g.Where(np.triu(np.ones((64, 64), bool), 1), far, 200.0), [0])
        iou = g.Exp(g.Neg(g.Clip(g.Mul(far, 0.5), eps, 100.0)))
        return boxes, g.Relu(g.Sub(1.0, g.Sqrt(g.Add(g.Sub(1.0, iou), eps))))
    return given, expert


@network(points=(1, 64, 96))
def two_offset_attentions_of_point_cloud_transformer(random):
    """PCT (Guo et al. 2021), two offset attentions, fusion and pooling, by torch.onnx."""
    blocks = [dict(key=random(16, 64, 1), value=random(64, 64, 1), bv=random(64),
                   turn=random(64, 64, 1), bt=random(64), norm=random.norm(64)) for _ in range(2)]
    fuse, norm = random(128, 128, 1), random.norm(128)

    def given(g, points):
        def block(x, key, value, bv, turn, bt, norm):
            q = g.Transpose(g.Conv(x, key), perm=[0, 2, 1])  # queries and keys share their weights
            p = g.Softmax(g.MatMul(q, g.Conv(x, key)), axis=-1)
            p = g.Div(p, g.Add(g.ReduceSum(p, [1]), 1e-9))
            t = g.Sub(x, g.MatMul(g.Conv(x, value, bv), p))
            return g.Add(x, g.Relu(g.BatchNormalization(g.Conv(t, turn, bt), *norm)))
        first = block(points, **blocks[0])
        t = g.Conv(g.Concat(first, block(first, **blocks[1]), axis=1), fuse)
        t = g.LeakyRelu(g.BatchNormalization(t, *norm), alpha=0.2)
        return g.Squeeze(g.GlobalMaxPool(t), [2])

    def expert(g, points):
        # Keys are queries. The layer behind an attention goes into values, and into one for the
        # points: with the keys, three layers are one. Sums of columns divide values mixed, not the
        # matrix. A leaky ReLU rises, so that it comes after the largest point is taken.
        def block(x, key, value, bv, turn, bt, norm):
            turn, shift = folded(turn, norm, bias=bt)
            mixed = turn[..., 0] @ value[..., 0]
            weight = np.concatenate([key, turn, mixed[..., None]])
            t = g.Conv(x, weight, np.concatenate([np.zeros(16), shift, turn[..., 0] @ bv]))
            q, own, v = g.Split(t, [16, 64, 64], axis=1, results=3)
            p = g.Softmax(g.Einsum(q, q, equation="bcn,bcm->bnm"), axis=-1)
            t = g.Div(g.MatMul(v, p), g.Add(g.ReduceSum(p, [1]), 1e-9))
            return g.Add(x, g.Relu(g.Sub(own, t)))
        first = block(points, **blocks[0])
        t = g.Conv(g.Concat(first, block(first, **blocks[1]), axis=1), *folded(fuse, norm))
        return g.LeakyRelu(g.ReduceMax(t, [2], keepdims=0), alpha=0.2)
    return given, expert


@network(x=(4, 64, 48))
def next_item_by_hstu(random):
    """HSTU (Zhai et al. 2024), its last layer and scores of items to come next, by torch.onnx."""
    uvqk, wo, bo, table = random(48, 192), random(48, 48), random(48), random(127)
    items, mask = random(100, 48), np.tril(np.ones((64, 64)))
    places = np.arange(64)[:, None] - np.arange(64) + 63

    def given(g, x):
        def norm(t):
            t = g.Sub(t, g.ReduceMean(t, [-1]))
            return g.Div(t, g.Sqrt(g.Add(g.ReduceMean(g.Mul(t, t), [-1]), 1e-6)))

        def silu(t):
            return g.Mul(t, g.Sigmoid(t))

        def length_one(t):
            size = g.Clip(g.ReduceL2(t, [-1]), 1e-12)
            return g.Div(t, g.Expand(size, g.Shape(t)))
        t = silu(g.MatMul(norm(x), uvqk))
        u, v, q, k = g.Split(t, [48] * 4, axis=2, results=4)
        v, q, k = (g.Reshape(t, [4, 64, 2, 24]) for t in (v, q, k))
        p = g.Einsum(q, k, equation="bnhd,bmhd->bhnm")
        p = g.Div(silu(g.Add(p, g.Gather(table, places, axis=0))), 64.0)
        o = g.Einsum(g.Mul(p, mask), v, equation="bhnm,bmhd->bnhd")
        o = g.Mul(u, norm(g.Reshape(o, [4, 64, 48])))
        x = g.Add(g.linear(o, wo, bo), x)
        t = length_one(g.Gather(x, -1, axis=1))
        return g.Div(g.MatMul(t, g.Transpose(length_one(items), perm=[1, 0])), 0.05)

    def expert(g, x):
        # Only the last place is read: it sees all others, and needs no other's gate or query. The
        # divisor 64 changes a norm by its epsilon alone. Lengths of items are constants.
        def silu(t):
            return g.Mul(t, g.Sigmoid(t))
        u, v, q, k = np.split(uvqk, 4, axis=1)
        t = g.LayerNormalization(x, np.ones(48), axis=-1, epsilon=1e-6)
        now = silu(g.MatMul(g.Gather(t, 63, axis=1), side_by_side(u, q)))
        u, q = g.Split(now, [48, 48], axis=1, results=2)
        v, k = g.Split(silu(g.MatMul(t, side_by_side(v, k))), [48, 48], axis=2, results=2)
        v, k = g.Reshape(v, [4, 64, 2, 24]), g.Reshape(k, [4, 64, 2, 24])
        p = g.Einsum(g.Reshape(q, [4, 2, 24]), k, equation="bhd,bmhd->bhm")
        o = g.Einsum(silu(g.Add(p, table[63 + 63 - np.arange(64)])), v, equation="bhm,bmhd->bhd")
        o = g.Reshape(o, [4, 48])
        o = g.LayerNormalization(o, np.ones(48), axis=-1, epsilon=64 ** 2 * 1e-6)
        x = g.Add(g.linear(g.Mul(u, o), wo, bo), g.Gather(x, 63, axis=1))
        x = g.Div(x, g.Clip(g.ReduceL2(x, [1]), 1e-12))
        return g.MatMul(x, (items / np.linalg.norm(items, axis=1, keepdims=True)).T / 0.05)
    return given, expert


@network(series=(32, 11))
def smoothing_of_holt_and_winters(random):
    """Additive Holt-Winters smoothing, akin to ES-RNN's (Smyl 2020), unrolled by torch.onnx."""
    alpha, beta, gamma = 0.4, 0.15, 0.3

    def forecast(columns, add, sub, mul, mean):
        level, trend = mean(columns[:4]), mul(sub(columns[3], columns[0]), 1 / 3)
        seasons = [sub(column, level) for column in columns[:4]]
        for step in range(4, 11):
            season, before = seasons[step % 4], level
            level = add(mul(sub(columns[step], season), alpha), mul(add(level, trend), 1 - alpha))
            trend = add(mul(sub(level, before), beta), mul(trend, 1 - beta))
            new = mul(sub(columns[step], level), gamma)
            seasons[step % 4] = add(new, mul(season, 1 - gamma))
        return [add(add(level, mul(trend, float(k + 1))), seasons[(11 + k) % 4]) for k in range(4)]

    def given(g, series):
        columns = g.Split(series, [1] * 11, axis=1, results=11)
        rows = forecast(columns, g.Add, g.Sub, g.Mul, lambda parts: g.Mean(*parts))
        return g.Concat(*rows, axis=1)

    def expert(g, series):
        # Smoothing is linear in the series, whatever it is: the forecast is one matrix.
        rows = forecast(list(np.eye(11)), np.add, np.subtract, np.multiply,
                        lambda parts: np.mean(parts, axis=0))
        return g.MatMul(series, np.stack(rows, axis=1))
    return given, expert


@network(x=(1, 10, 16), condition=(1, 48))
def two_conditioned_blocks_of_diffusion_policy(random):
    """Diffusion Policy (Chi et al. 2023), two residual blocks of its 1-d U-Net, by torch.onnx."""
    blocks = [dict(kernels=[random(64, wide, 5), random(64, 64, 5)],
                   biases=[random(64), random(64)],
                   norms=[(random.positive(64), random(64)) for _ in range(2)],
                   embed=random(48, 128), be=random(128)) for wide in (10, 64)]
    skip, bs = random(64, 10, 1), random(64)

    def given(g, x, condition):
        def mish(t):
            return g.Mul(t, g.Tanh(g.Softplus(t)))

        def part(t, kernel, bias, norm):
            t = g.Reshape(g.Conv(t, kernel, bias, pads=[2, 2]), [1, 8, 128])
            t = g.InstanceNormalization(t, np.ones(8), np.zeros(8), epsilon=1e-5)
            scale, offset = norm[0][:, None], norm[1][:, None]
            return mish(g.Add(g.Mul(g.Reshape(t, [1, 64, 16]), scale), offset))
        for block in blocks:
            first, second = zip(block["kernels"], block["biases"], block["norms"])
            t = g.Unsqueeze(g.linear(mish(condition), block["embed"], block["be"]), [2])
            t = g.Reshape(t, [1, 2, 64, 1])
            scale, offset = g.Gather(t, 0, axis=1), g.Gather(t, 1, axis=1)
            t = part(g.Add(g.Mul(scale, part(x, *first)), offset), *second)
            x = g.Add(t, g.Conv(x, skip, bs) if block is blocks[0] else x)
        return x

    def expert(g, x, condition):
        # One activation and one product make scales and offsets of both blocks. A group norm is a
        # layer norm over channels and places of a group with a scale broadcast over places.
        def part(t, kernel, bias, norm):
            t = g.Reshape(g.Conv(t, kernel, bias, pads=[2, 2]), [1, 8, 8, 16])
            scale, offset = (value.reshape(8, 8, 1) for value in norm)
            t = g.LayerNormalization(t, scale, offset, axis=2, epsilon=1e-5)
            return g.Mish(g.Reshape(t, [1, 64, 16]))
        embed, bias = (side_by_side(*(b[kind] for b in blocks)) for kind in ("embed", "be"))
        t = g.Reshape(g.linear(g.Mish(condition), embed, bias), [1, 256, 1])
        films = g.Split(t, [64] * 4, axis=1, results=4)
        for k, block in enumerate(blocks):
            first, second = zip(block["kernels"], block["biases"], block["norms"])
            t = g.Add(g.Mul(films[2 * k], part(x, *first)), films[2 * k + 1])
            x = g.Add(part(t, *second), g.Conv(x, skip, bs) if k == 0 else x)
        return x
    return given, expert


@network(x=(1, 16, 64))
def four_streams_of_static_hyper_connections(random):
    """Hyper-Connections (Zhu et al. 2025), static: attention and SwiGLU in four streams."""
    wide = [random.positive(4, 5) / 3 for _ in range(2)]  # a row for each stream in, a column out
    deep = [random.positive(4, 1) for _ in range(2)]
    scales = [random.positive(64) for _ in range(3)]
    wq, wk, wv, wo = (random(64, 64) for _ in range(4))
    gate, up, down, head = random(64, 96), random(64, 96), random(96, 64), random(64, 80)
    mask = np.triu(np.full((16, 16), -1e9), 1)

    def given(g, x):
        def norm(t, k):
            factor = g.Sqrt(g.Add(g.ReduceMean(g.Pow(t, 2.0), [-1]), 1e-5))
            return g.Mul(g.Mul(t, g.Reciprocal(factor)), scales[k])

        def attention(t):
            def heads(weight, perm):
                return g.Transpose(g.Reshape(g.MatMul(t, weight), [1, 16, 4, 16]), perm=perm)
            p = g.MatMul(heads(wq, [0, 2, 1, 3]), heads(wk, [0, 2, 3, 1]))
            p = g.Softmax(g.Add(g.Div(p, 4.0), mask), axis=-1)
            o = g.Transpose(g.MatMul(p, heads(wv, [0, 2, 1, 3])), perm=[0, 2, 1, 3])
            return g.MatMul(g.Reshape(o, [1, 16, 64]), wo)

        def perceptron(t):
            u = g.MatMul(t, gate)
            return g.MatMul(g.Mul(g.Mul(u, g.Sigmoid(u)), g.MatMul(t, up)), down)
        streams = g.Expand(g.Unsqueeze(x, [2]), [1, 16, 4, 64])
        for k, layer in enumerate((attention, perceptron)):
            t = g.MatMul(wide[k].T, streams)
            t, streams = g.Split(t, [1, 4], axis=2, results=2)
            t = g.Unsqueeze(layer(norm(g.Squeeze(t, [2]), k)), [2])
            streams = g.Add(g.Mul(t, deep[k]), streams)
        return g.MatMul(norm(g.ReduceSum(streams, [2], keepdims=0), 2), head)

    def expert(g, x):
        # All streams are combinations of the input and of results of layers by constants:
        # the first layer reads a x, the second c0 x + c1 f1, the head d0 x + d1 f1 + d2 f2. Norms
        # forget a positive factor but for epsilon, and factors of results go into their weights.
        (ones, other), rest = (w[:, 0] for w in wide), [w[:, 1:] for w in wide]
        start, first = rest[0].sum(axis=0), deep[0][:, 0]
        c0, c1, a = other @ start, other @ first, ones.sum()
        d0, d1, d2 = start @ rest[1].sum(axis=1), first @ rest[1].sum(axis=1), deep[1].sum()

        def norm(t, k, factor):
            return g.RMSNormalization(t, scales[k], axis=-1, epsilon=1e-5 / factor ** 2)
        t = g.MatMul(norm(x, 0, a), side_by_side(wq / 4, wk, wv))
        q, k, v = (g.Reshape(t, [16, 4, 16]) for t in g.Split(t, [64] * 3, axis=2, results=3))
        p = g.Softmax(g.Add(g.Einsum(q, k, equation="qhd,khd->hqk"), mask), axis=-1)
        o = g.Reshape(g.Einsum(p, v, equation="hqk,khd->qhd"), [1, 16, 64])
        o = g.MatMul(o, wo * c1 / c0)
        t = g.MatMul(norm(g.Add(x, o), 1, c0), side_by_side(gate, up))
        u, v = g.Split(t, [96, 96], axis=2, results=2)
        t = g.MatMul(g.Mul(g.Mul(u, g.Sigmoid(u)), v), down * d2 / d0)
        t = g.Add(t, g.Add(x, g.Mul(o, d1 * c0 / (d0 * c1))))
        return g.MatMul(norm(t, 2, d0), head)
    return given, expert
