"""Parts of clDice (Shit et al. 2021), RetinaFace (Deng et al. 2020), group convolutions (Cohen and
Welling 2016), DispNet (Mayer et al. 2016), talking heads (Shazeer et al. 2020), DeltaNet (Yang et
al. 2024), per-channel energy normalization (Wang et al. 2017), SoundStream (Zeghidour et al. 2021),
STAMP (Liu et al. 2018), message passing (Gilmer et al. 2017), SCINet (Liu et al. 2022), PixelCNN
(van den Oord et al. 2016), Hamiltonian networks (Greydanus et al. 2019), features of scikit-learn
(Pedregosa et al. 2011)."""

import numpy as np

from networks import folded, network, side_by_side


@network(x=(4, 8, 32, 32))
def soft_skeleton_of_vessels(random):
    """clDice (Shit et al. 2021), torch: erosions are dilations between two signs."""
    def given(g, x):
        def erode(t):
            p = g.Neg(g.MaxPool(g.Neg(t), kernel_shape=[3, 1], pads=[1, 0, 1, 0]))
            q = g.Neg(g.MaxPool(g.Neg(t), kernel_shape=[1, 3], pads=[0, 1, 0, 1]))
            return g.Min(p, q)

        def beyond_opening(t):
            opened = g.MaxPool(erode(t), kernel_shape=[3, 3], pads=[1, 1, 1, 1])
            return g.Relu(g.Sub(t, opened))
        t = g.Sigmoid(x)
        skeleton = beyond_opening(t)
        for _ in range(2):
            t = erode(t)
            delta = beyond_opening(t)
            skeleton = g.Add(skeleton, g.Relu(g.Sub(delta, g.Mul(skeleton, delta))))
        return skeleton

    def expert(g, x):
        # The background is dilated once for each step; what is no skeleton is a product.
        background, rest = g.Sigmoid(g.Neg(x)), []
        for _ in range(3):
            wider = g.Max(g.MaxPool(background, kernel_shape=[3, 1], pads=[1, 0, 1, 0]),
                          g.MaxPool(background, kernel_shape=[1, 3], pads=[0, 1, 0, 1]))
            opened = g.MaxPool(g.Sub(1.0, wider), kernel_shape=[3, 3], pads=[1, 1, 1, 1])
            rest.append(g.Min(g.Add(background, opened), 1.0))
            background = wider
        return g.Sub(1.0, g.Mul(g.Mul(rest[0], rest[1]), rest[2]))
    return given, expert


@network(fine=(1, 64, 20, 20), coarse=(1, 64, 10, 10))
def faces_of_retina_face(random):
    """RetinaFace (Deng et al. 2020), torch: classes, boxes and landmarks, decoded."""
    heads = [[(random(2 * n, 64, 1, 1), random(2 * n)) for n in (2, 4, 10)] for _ in range(2)]
    center, size = random.positive(1000, 2), random.positive(1000, 2) / 4

    def given(g, fine, coarse):
        def outputs(which, width):
            parts = []
            for x, layers in zip((fine, coarse), heads):
                t = g.Transpose(g.Conv(x, *layers[which]), perm=[0, 2, 3, 1])
                parts.append(g.Reshape(t, [1, -1, width]))
            return g.Concat(*parts, axis=1)
        kind, box, marks = (outputs(k, width) for k, width in enumerate((2, 4, 10)))
        score = g.Slice(g.Softmax(kind, axis=-1), [1], [2], [2])

        def place(t, k):
            t = g.Slice(t, [2 * k], [2 * k + 2], [2])
            return g.Add(g.Mul(g.Mul(t, 0.1), size), center)
        extent = g.Mul(g.Exp(g.Mul(g.Slice(box, [2], [4], [2]), 0.2)), size)
        corner = g.Sub(place(box, 0), g.Div(extent, 2.0))
        boxes = g.Concat(corner, g.Add(corner, extent), axis=2)
        return score, boxes, g.Concat(*(place(marks, k) for k in range(5)), axis=2)

    def expert(g, fine, coarse):
        # A softmax of two is a sigmoid of their difference; variances are in the kernels.
        scales = np.array([1.0, *[0.1] * 2, *[0.2] * 2, *[0.1] * 10])
        parts = []
        for x, layers in zip((fine, coarse), heads):
            (wk, bk), (wb, bb), (wm, bm) = (
                (w.reshape(2, -1, 64), b.reshape(2, -1)) for w, b in layers)
            w = np.concatenate([wk[:, 1:] - wk[:, :1], wb, wm], axis=1) * scales[:, None]
            b = np.concatenate([bk[:, 1:] - bk[:, :1], bb, bm], axis=1) * scales
            t = g.Conv(x, w.reshape(30, 64, 1, 1), b.ravel())
            parts.append(g.Reshape(g.Transpose(t, perm=[0, 2, 3, 1]), [1, -1, 15]))
        t = g.Concat(*parts, axis=1)
        kind, middle, extent, marks = g.Split(t, [1, 2, 2, 10], axis=2, results=4)
        half = g.Mul(g.Exp(extent), size / 2)
        middle = g.Add(g.Mul(middle, size), center)
        boxes = g.Concat(g.Sub(middle, half), g.Add(middle, half), axis=2)
        marks = g.Add(g.Mul(marks, np.tile(size, (1, 5))), np.tile(center, (1, 5)))
        return g.Sigmoid(kind), boxes, marks
    return given, expert


@network(x=(1, 16, 32, 32))
def lifting_to_four_rotations(random):
    """Group convolutions (Cohen and Welling 2016), torch: a kernel sees four turned images."""
    w, norm = random(16, 16, 3, 3), random.norm(16)
    wp, bp = random(32, 16, 1, 1), random(32)

    def given(g, x):
        def turned(t, times):
            if times % 2:
                t = g.Transpose(t, perm=[0, 1, 3, 2])
            axes = {0: [], 1: [2], 2: [2, 3], 3: [3]}[times]
            n = len(axes)
            return g.Slice(t, [-1] * n, [-1000] * n, axes, [-1] * n) if axes else t
        views = []
        for k in range(4):
            t = g.Conv(turned(x, k), w, pads=[1, 1, 1, 1])
            t = g.BatchNormalization(turned(t, -k % 4), *norm, epsilon=1e-5)
            views.append(g.Unsqueeze(g.Relu(t), [2]))
        t = g.ReduceMax(g.Concat(*views, axis=2), [2], keepdims=0)
        return g.Conv(t, wp, bp)

    def expert(g, x):
        # The kernel turns instead, and the largest is taken before it is cut off at zero.
        v, c = folded(w, norm)
        kernels = np.concatenate([np.rot90(v, -k, axes=(2, 3)) for k in range(4)])
        t = g.Conv(x, kernels, np.tile(c, 4), pads=[1, 1, 1, 1])
        t = g.Relu(g.ReduceMax(g.Reshape(t, [1, 4, 16, 32, 32]), [1], keepdims=0))
        return g.Conv(t, wp, bp)
    return given, expert


@network(left=(1, 64, 16, 32), right=(1, 64, 16, 32))
def correlations_of_stereo_rows(random):
    """DispNet (Mayer et al. 2016), torch: products of two images at twelve disparities."""
    def given(g, left, right):
        maps = []
        for d in range(12):
            p, q = left, right
            if d:
                p, q = g.Slice(left, [d], [32], [3]), g.Slice(right, [0], [-d], [3])
            t = g.ReduceMean(g.Mul(p, q), [1], keepdims=1)
            maps.append(g.Pad(t, [0, 0, 0, d, 0, 0, 0, 0]) if d else t)
        return g.LeakyRelu(g.Concat(*maps, axis=1), alpha=0.1)

    def expert(g, left, right):
        # Rows are multiplied with rows; disparities are diagonals, beyond them lies a zero.
        x, d = np.arange(32), np.arange(12)[:, None]
        cells = np.where(x >= d, 33 * x + x - d, 32)
        t = g.MatMul(g.Transpose(g.Squeeze(left, [0]), perm=[1, 2, 0]),
                     g.Transpose(g.Squeeze(right, [0]), perm=[1, 0, 2]))
        t = g.Reshape(g.Pad(t, [0, 0, 0, 0, 0, 1]), [1, 16, 32 * 33])
        t = g.Transpose(g.Gather(t, cells, axis=2), perm=[0, 2, 1, 3])
        return g.LeakyRelu(g.Mul(t, 1 / 64), alpha=0.1)
    return given, expert


@network(x=(1, 48, 128))
def talking_heads(random):
    """Talking heads (Shazeer et al. 2020), tf2onnx: einsums mix heads around a softmax."""
    wq, wk, wv, wo = (random(128, 128) for _ in range(4))
    bq, bv, bo = random(128), random(128), random(128)
    before, behind = random(8, 8) * 2, random(8, 8)

    def given(g, x):
        def heads(t):
            return g.Transpose(g.Reshape(t, [1, 48, 8, 16]), perm=[0, 2, 1, 3])

        def mixed(t, w):
            t = g.MatMul(g.Transpose(t, perm=[0, 2, 3, 1]), w)
            return g.Transpose(t, perm=[0, 3, 1, 2])
        q, k = heads(g.linear(x, wq, bq)), heads(g.MatMul(x, wk))
        v = heads(g.linear(x, wv, bv))
        t = g.Mul(g.MatMul(q, g.Transpose(k, perm=[0, 1, 3, 2])), 0.25)
        t = mixed(g.Softmax(mixed(t, before), axis=-1), behind)
        t = g.Transpose(g.MatMul(t, v), perm=[0, 2, 1, 3])
        return g.linear(g.Reshape(t, [1, 48, 128]), wo, bo)

    def expert(g, x):
        # Heads are channels of an image of scores, and mixing them is a convolution.
        t = g.linear(x, side_by_side(wq, wk, wv), side_by_side(bq, np.zeros(128), bv))
        q, k, v = g.Split(g.Reshape(t, [1, 48, 24, 16]), [8, 8, 8], axis=2, results=3)
        t = g.MatMul(g.Transpose(q, perm=[0, 2, 1, 3]), g.Transpose(k, perm=[0, 2, 3, 1]))
        t = g.Softmax(g.Conv(t, before.T[..., None, None] / 4), axis=-1)
        t = g.Conv(t, behind.T[..., None, None].copy())
        t = g.MatMul(t, g.Transpose(v, perm=[0, 2, 1, 3]))
        t = g.Reshape(g.Transpose(t, perm=[0, 2, 1, 3]), [1, 48, 128])
        return g.linear(t, wo, bo)
    return given, expert


@network(q=(4, 8, 32), k=(4, 8, 32), v=(4, 8, 32), rate=(4, 8, 1), state=(4, 32, 32))
def chunk_of_delta_rule(random):
    """DeltaNet (Yang et al. 2024), torch: eight tokens, one after the other, correct a memory."""
    def given(g, q, k, v, rate, state):
        k = g.Div(k, g.ReduceL2(k, [2], keepdims=1))
        q, rate = g.Mul(q, 32 ** -0.5), g.Sigmoid(rate)
        queries, keys, values, rates = (
            g.Split(t, [1] * 8, axis=1, results=8) for t in (q, k, v, rate))
        columns = g.Split(g.Transpose(k, perm=[0, 2, 1]), [1] * 8, axis=2, results=8)
        out = []
        for i in range(8):
            error = g.Mul(g.Sub(values[i], g.MatMul(keys[i], state)), rates[i])
            state = g.Add(state, g.MatMul(columns[i], error))
            out.append(g.MatMul(queries[i], state))
        return g.Concat(*out, axis=1), state

    def expert(g, q, k, v, rate, state):
        # Corrections solve a triangular system; its inverse is (1 - a)(1 + aa)(1 + aaaa).
        k = g.Div(k, g.ReduceL2(k, [2], keepdims=1))
        columns, rate = g.Transpose(k, perm=[0, 2, 1]), g.Sigmoid(rate)
        both = g.Concat(k, g.Mul(q, 32 ** -0.5), axis=1)
        masks = np.concatenate([np.tril(np.ones((8, 8)), -1), np.tril(np.ones((8, 8)))])
        a, scores = g.Split(g.Mul(g.MatMul(both, columns), masks), [8, 8], axis=1, results=2)
        known, read = g.Split(g.MatMul(both, state), [8, 8], axis=1, results=2)
        a, t = g.Mul(a, rate), g.Mul(g.Sub(v, known), rate)
        t = g.Sub(t, g.MatMul(a, t))
        for _ in range(2):
            a = g.MatMul(a, a)
            t = g.Add(t, g.MatMul(a, t))
        return g.Add(read, g.MatMul(scores, t)), g.Add(state, g.MatMul(columns, t))
    return given, expert


@network(real=(2, 16, 129), imaginary=(2, 16, 129))
def energies_normalized_per_channel(random):
    """PCEN (Wang et al. 2017), Keras: a smoother runs over frames; compression by powers."""
    mel, s, alpha, delta, r = random.positive(129, 40) / 129, 0.15, 0.98, 2.0, 0.5

    def given(g, real, imaginary):
        power = g.Add(g.Pow(real, 2.0), g.Pow(imaginary, 2.0))
        energy = g.MatMul(power, mel)
        frames = g.Split(energy, [1] * 16, axis=1, results=16)
        smooth = [frames[0]]
        for t in frames[1:]:
            smooth.append(g.Add(g.Mul(smooth[-1], 1 - s), g.Mul(t, s)))
        gain = g.Pow(g.Add(g.Concat(*smooth, axis=1), 1e-6), alpha)
        t = g.Pow(g.Add(g.Div(energy, gain), delta), r)
        return g.Sub(t, delta ** r)

    def expert(g, real, imaginary):
        # The smoother is a triangular matrix, and a power of a half is a root.
        smoother = np.zeros((16, 16))
        smoother[0, 0] = 1
        for k in range(1, 16):
            smoother[k] = (1 - s) * smoother[k - 1]
            smoother[k, k] = s
        energy = g.MatMul(g.Add(g.Mul(real, real), g.Mul(imaginary, imaginary)), mel)
        gain = g.Pow(g.Add(g.MatMul(smoother, energy), 1e-6), -alpha)
        return g.Sub(g.Sqrt(g.Add(g.Mul(energy, gain), delta)), delta ** r)
    return given, expert


@network(x=(64, 64))
def codes_of_residual_quantizer(random):
    """SoundStream (Zeghidour et al. 2021), torch: codebooks for what the last ones left."""
    books = [random(96, 64) * 8 / 2 ** k for k in range(4)]
    w, b = random(64, 96), random(96)

    def given(g, x):
        rest, total = x, None
        for book in books:
            near = g.Mul(g.MatMul(rest, book.T.copy()), 2.0)
            t = g.Sub(g.ReduceSum(g.Pow(rest, 2.0), [1], keepdims=1), near)
            code = g.ArgMax(g.Neg(g.Add(t, (book ** 2).sum(axis=1))), axis=1, keepdims=0)
            chosen = g.Gather(book, code, axis=0)
            rest = g.Sub(rest, chosen)
            total = g.Add(total, chosen) if total else chosen
        return g.linear(total, w, b)

    def expert(g, x):
        # Products of codes with later codes, and with the layer behind them, are tables.
        whole = np.concatenate(books)
        scores = g.linear(x, whole.T.copy(), -(whole ** 2).sum(axis=1) / 2)
        total = None
        for k, book in enumerate(books):
            if k < 3:
                first, later = g.Split(scores, [96, 96 * (3 - k)], axis=1, results=2)
            else:
                first = scores
            code = g.ArgMax(first, axis=1, keepdims=0)
            chosen = g.Gather(book @ w + (0 if k else b), code, axis=0)
            total = g.Add(total, chosen) if total else chosen
            if k < 3:
                table = -book @ np.concatenate(books[k + 1:]).T
                scores = g.Add(later, g.Gather(table, code, axis=0))
        return total
    return given, expert


@network(x=(8, 12, 32))
def trilinear_scores_of_stamp(random):
    """STAMP (Liu et al. 2018), tf2onnx: the last item and the mean are tiled along sessions."""
    w1, w2, w3, w0 = random(32, 32), random(32, 32), random(32, 32), random(32, 1)
    ws, wt, b, bs, bt = random(32, 32), random(32, 32), random(32), random(32), random(32)
    catalog = random(100, 32) * 10

    def given(g, x):
        last = g.Squeeze(g.Slice(x, [11], [12], [1]), [1])
        mean = g.ReduceMean(x, [1], keepdims=0)

        def projected(t, w):
            return g.MatMul(g.Reshape(t, [-1, 32]), w)
        t = g.Add(projected(x, w1), projected(g.Tile(g.Unsqueeze(last, [1]), [1, 12, 1]), w2))
        t = g.Add(t, projected(g.Tile(g.Unsqueeze(mean, [1]), [1, 12, 1]), w3))
        weights = g.MatMul(g.Sigmoid(g.Add(t, b)), w0)
        weights = g.Reshape(weights, [-1, 12, 1])
        memory = g.ReduceSum(g.Mul(x, weights), [1], keepdims=0)
        general, current = g.Tanh(g.linear(memory, ws, bs)), g.Tanh(g.linear(last, wt, bt))
        t = g.Mul(g.Unsqueeze(current, [1]), g.Unsqueeze(catalog, [0]))
        t = g.ReduceSum(g.Mul(g.Unsqueeze(general, [1]), t), [2], keepdims=0)
        return g.Sigmoid(t)

    def expert(g, x):
        # Two of three factors meet before the catalog, which then is one product.
        last = g.Gather(x, 11, axis=1)
        both = g.Concat(last, g.ReduceMean(x, [1], keepdims=0), axis=1)
        query = g.Unsqueeze(g.Gemm(both, np.concatenate([w2, w3]), b), [1])
        t = g.Sigmoid(g.Add(g.MatMul(x, w1), query))
        weights = g.Reshape(g.MatMul(t, w0), [8, 1, 12])
        memory = g.Reshape(g.MatMul(weights, x), [8, 32])
        t = g.Mul(g.Tanh(g.Gemm(memory, ws, bs)), g.Tanh(g.Gemm(last, wt, bt)))
        return g.Sigmoid(g.MatMul(t, catalog.T.copy()))
    return given, expert


@network(h=(64, 16), edges=(256, 6))
def messages_through_edge_matrices(random):
    """Message passing (Gilmer et al. 2017), PyTorch Geometric: a matrix for each edge."""
    sources = random.generator.integers(0, 64, 256)
    w0, b0, w1, b1 = random(6, 8), random(8), random(8, 256), random(256)
    root, bias = random(16, 16), random(16)

    def given(g, h, edges):
        t = g.Relu(g.linear(edges, w0, b0))
        matrices = g.Reshape(g.linear(t, w1, b1), [256, 16, 16])
        messages = g.MatMul(g.Unsqueeze(g.Gather(h, sources, axis=0), [1]), matrices)
        messages = g.Reshape(g.Squeeze(messages, [1]), [64, 4, 16])
        t = g.Add(g.ReduceMean(messages, [1], keepdims=0), g.MatMul(h, root))
        return g.Relu(g.Add(t, bias))

    def expert(g, h, edges):
        # Messages are bilinear: edges meet neighbours, and are summed, before weights.
        wide, one = np.pad(w0, ((0, 0), (0, 1))), np.append(b0, 1.0)
        t = g.Transpose(g.Reshape(g.Relu(g.Gemm(edges, wide, one)), [64, 4, 9]), perm=[0, 2, 1])
        t = g.MatMul(t, g.Gather(h, sources.reshape(64, 4), axis=0))
        weights = np.concatenate([w1, b1[None]]).reshape(144, 16) / 4
        t = g.Concat(g.Reshape(t, [64, 144]), h, axis=1)
        return g.Relu(g.Gemm(t, np.concatenate([weights, root]), bias))
    return given, expert


@network(x=(2, 64, 32))
def interactions_of_sci_net(random):
    """SCINet (Liu et al. 2022), torch: even and odd steps scale and correct each other."""
    layers = [(random(32, 32, 5), random(32), random(32, 32, 3), random(32)) for _ in range(4)]

    def given(g, x):
        def module(t, w, b, v, c):
            t = g.Pad(t, [0, 0, 3, 0, 0, 3], mode="edge")
            return g.Tanh(g.Conv(g.LeakyRelu(g.Conv(t, w, b), alpha=0.01), v, c))
        even, odd = (g.Transpose(g.Slice(x, [k], [64], [1], [2]), perm=[0, 2, 1])
                     for k in range(2))
        d = g.Mul(odd, g.Exp(module(even, *layers[0])))
        c = g.Mul(even, g.Exp(module(odd, *layers[1])))
        even, odd = g.Add(c, module(d, *layers[2])), g.Sub(d, module(c, *layers[3]))
        even, odd = (g.Unsqueeze(g.Transpose(t, perm=[0, 2, 1]), [2]) for t in (even, odd))
        return g.Reshape(g.Concat(even, odd, axis=2), [2, 64, 32])

    def expert(g, x):
        # Even and odd steps are groups of channels; the sign of a tanh is in its kernel.
        def module(t, first, second, sign=1):
            w, b = (np.concatenate([first[k], second[k]]) for k in range(2))
            v, c = (np.concatenate([first[k], sign * second[k]]) for k in (2, 3))
            t = g.Pad(t, [0, 0, 3, 0, 0, 3], mode="edge")
            t = g.LeakyRelu(g.Conv(t, w, b, group=2), alpha=0.01)
            return g.Tanh(g.Conv(t, v, c, group=2))

        def swapped(t):
            first, second = g.Split(t, [32, 32], axis=1, results=2)
            return g.Concat(second, first, axis=1)
        t = g.Transpose(g.Reshape(x, [2, 32, 64]), perm=[0, 2, 1])
        t = g.Mul(swapped(t), g.Exp(module(t, layers[0], layers[1])))
        t = g.Add(swapped(t), module(t, layers[2], layers[3], -1))
        return g.Reshape(g.Transpose(t, perm=[0, 2, 1]), [2, 64, 32])
    return given, expert


@network(x=(2, 3, 24, 24))
def masked_convolutions_of_pixel_cnn(random):
    """PixelCNN (van den Oord et al. 2016), torch: kernels times masks see no later pixel."""
    w, b = random(64, 3, 7, 7), random(64)
    blocks = [(random(32, 64, 1, 1), random(32), random(32, 32, 3, 3), random(32),
               random(64, 32, 1, 1), random(64)) for _ in range(2)]

    def masked(weight, with_center):
        n = weight.shape[2]
        mask = (np.arange(n * n) < n * n // 2 + with_center).reshape(n, n)
        return np.broadcast_to(mask, weight.shape).astype(np.float32)

    def given(g, x):
        t = g.Conv(x, g.Mul(w, masked(w, 0)), b, pads=[3, 3, 3, 3])
        for w1, b1, w2, b2, w3, b3 in blocks:
            inner = g.Conv(g.Relu(t), w1, b1)
            inner = g.Conv(g.Relu(inner), g.Mul(w2, masked(w2, 1)), b2, pads=[1, 1, 1, 1])
            t = g.Add(t, g.Conv(g.Relu(inner), w3, b3))
        return t

    def expert(g, x):
        # No row below the middle is left in a kernel.
        t = g.Conv(x, (w * masked(w, 0))[:, :, :4].copy(), b, pads=[3, 3, 0, 3])
        for w1, b1, w2, b2, w3, b3 in blocks:
            inner = g.Conv(g.Relu(t), w1, b1)
            kernel = (w2 * masked(w2, 1))[:, :, :2].copy()
            inner = g.Conv(g.Relu(inner), kernel, b2, pads=[1, 1, 0, 1])
            t = g.Add(t, g.Conv(g.Relu(inner), w3, b3))
        return t
    return given, expert


@network(x=(64, 6))
def field_of_a_hamiltonian(random):
    """Hamiltonian networks (Greydanus et al. 2019), JAX: derivatives by jacfwd, for each input."""
    w1, w2, w3 = random(6, 64), random(64, 64), random(64, 1)
    b1, b2 = random(64), random(64)

    def given(g, x):
        h = g.Tanh(g.linear(x, w1, b1))
        t = g.Mul(g.Unsqueeze(g.Sub(1.0, g.Mul(h, h)), [1]), w1[None])
        h = g.Tanh(g.linear(h, w2, b2))
        t = g.Mul(g.MatMul(t, w2), g.Unsqueeze(g.Sub(1.0, g.Mul(h, h)), [1]))
        t = g.Squeeze(g.MatMul(t, w3), [2])
        place, momentum = g.Split(t, [3, 3], axis=1, results=2)
        return g.Concat(momentum, g.Neg(place), axis=1)

    def expert(g, x):
        # Backwards from the only output; the symplectic matrix is in the last weight.
        back = w2.T * w3
        turned = np.concatenate([w1[3:], -w1[:3]]).T.copy()
        h = g.Tanh(g.Gemm(x, w1, b1))
        top = g.Tanh(g.Gemm(h, w2, b2))
        t = g.Gemm(g.Mul(top, top), -back, back.sum(axis=0))
        return g.MatMul(g.Mul(t, g.Sub(1.0, g.Mul(h, h))), turned)
    return given, expert


@network(x=(64, 10))
def polynomial_of_scikit_learn(random):
    """scikit-learn (Pedregosa et al. 2011): scalers around squares and products."""
    mean, deviation = random(10), random.positive(10)
    first, second = np.triu_indices(10)
    offset, spread = random(65), random.positive(65)
    w, b = random(65, 1) * 3, random(1)

    def given(g, x):
        x = g.Div(g.Sub(x, mean), deviation)
        pairs = [g.Mul(g.Slice(x, [k], [k + 1], [1]), g.Slice(x, [k], [10], [1]))
                 for k in range(10)]
        t = g.Div(g.Sub(g.Concat(x, *pairs, axis=1), offset), spread)
        t = g.Sigmoid(g.linear(t, w, b))
        return g.Concat(g.Sub(1.0, t), t, axis=1)

    def expert(g, x):
        # A quadratic form: features are multiplied with what a small matrix makes of them.
        weight = w[:, 0] / spread
        form = np.zeros((10, 10))
        form[first, second] = weight[10:]
        form = form / np.outer(deviation, deviation)
        slope = weight[:10] / deviation
        rest = b - offset @ weight - mean @ slope + mean @ form @ mean
        slope = slope - (form + form.T) @ mean
        t = g.Mul(g.Gemm(x, form, slope), x)
        t = g.Add(g.ReduceSum(t, [1], keepdims=1), rest)
        return g.Sigmoid(g.Mul(t, np.array([-1.0, 1.0])))
    return given, expert
