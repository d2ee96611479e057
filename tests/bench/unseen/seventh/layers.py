"""Blocks of 2017-2023, one of each field: PoolFormer (vision), GFL (detection), SegFormer (segmentation), grouped-query
attention (NLP), ECAPA-TDNN (speech), DIN (recommenders), GAT (graphs), TCN (time series), latent diffusion
(diffusion), QMIX (reinforcement learning), non-local networks (video)."""

import numpy as np

from networks import by_head, folded, network, side_by_side


@network(x=(1, 64, 28, 28))
def block_that_mixes_by_pooling(random):
    """PoolFormer (Yu et al. 2022), torch.onnx: group norm of one group, a mean pool less its input, and a perceptron of
    1 × 1 kernels, each with a scale of its own before it is added."""
    (s1, o1), (s2, o2) = [(random.positive(64), random(64)) for _ in range(2)]
    ls1, ls2 = random.positive(64), random.positive(64)
    w1, b1, w2, b2 = random(256, 64, 1, 1), random(256), random(64, 256, 1, 1), random(64)

    def given(g, x):
        def norm(t, scale, offset):
            t = g.InstanceNormalization(g.Reshape(t, [0, 1, -1]), np.ones(1), np.zeros(1), epsilon=1e-5)
            t = g.Mul(g.Reshape(t, [1, 64, 28, 28]), scale[:, None, None])
            return g.Add(t, offset[:, None, None])
        t = norm(x, s1, o1)
        p = g.AveragePool(t, kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1], count_include_pad=0)
        x = g.Add(x, g.Mul(ls1[:, None, None], g.Sub(p, t)))
        t = g.Conv(norm(x, s2, o2), w1, b1)
        t = g.Mul(g.Mul(t, g.Add(g.Erf(g.Div(t, 1.4142135381698608)), 1.0)), 0.5)
        t = g.Conv(t, w2, b2)
        return g.Add(x, g.Mul(ls2[:, None, None], t))

    def expert(g, x):
        def norm(t):
            t = g.Reshape(t, [1, 1, 50176])
            return g.InstanceNormalization(t, np.ones(1), np.zeros(1), epsilon=1e-5)
        # A mean of what is in the image less itself: the offset goes, and the scale comes after it.
        t = g.Reshape(norm(x), [1, 64, 28, 28])
        p = g.AveragePool(t, kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1], count_include_pad=0)
        x = g.Add(x, g.Mul(g.Sub(p, t), (ls1 * s1)[:, None, None]))
        first, second = w1.reshape(256, 64), w2.reshape(64, 256) * ls2[:, None]
        t = g.MatMul(first * s2, g.Reshape(norm(x), [1, 64, 784]))
        t = g.Gelu(g.Add(t, (b1 + first @ o2)[:, None]))
        t = g.Add(g.MatMul(second, t), (b2 * ls2)[:, None])
        return g.Add(x, g.Reshape(t, [1, 64, 28, 28]))
    return given, expert


@network(b0=(1, 64, 40, 40), c0=(1, 80, 40, 40), b1=(1, 64, 20, 20), c1=(1, 80, 20, 20), b2=(1, 64, 10, 10),
         c2=(1, 80, 10, 10))
def boxes_from_distributions(random):
    """Generalized focal loss (Li et al. 2020), the head of YOLOv8 as ultralytics exports it: on three scales last
    kernels of 1 × 1, distances to four sides as means of distributions, boxes, and scores."""
    sizes, strides = (40, 20, 10), (8, 16, 32)
    wb, eb = [random(64, 64, 1, 1) * 2 for _ in sizes], [random(64) for _ in sizes]
    wc, ec = [random(20, 80, 1, 1) for _ in sizes], [random(20) for _ in sizes]
    grid = [np.stack(np.meshgrid(np.arange(n) + 0.5, np.arange(n) + 0.5), axis=0).reshape(2, n * n) for n in sizes]
    anchors = np.concatenate(grid, axis=1)  # x, then y
    stride = np.concatenate([np.full(n * n, float(s)) for n, s in zip(sizes, strides)])[None]

    def given(g, b0, c0, b1, c1, b2, c2):
        levels = []
        for i, (b, c) in enumerate(((b0, c0), (b1, c1), (b2, c2))):
            t = g.Concat(g.Conv(b, wb[i], eb[i]), g.Conv(c, wc[i], ec[i]), axis=1)
            levels.append(g.Reshape(t, [1, 84, -1]))
        box, cls = g.Split(g.Concat(*levels, axis=2), [64, 20], axis=1, results=2)
        t = g.Transpose(g.Reshape(box, [1, 4, 16, 2100]), perm=[0, 2, 1, 3])
        t = g.Conv(g.Softmax(t, axis=1), np.arange(16.0).reshape(1, 16, 1, 1))
        t = g.Reshape(t, [1, 4, 2100])
        lt, rb = g.Slice(t, [0], [2], [1]), g.Slice(t, [2], [4], [1])
        first, second = g.Sub(anchors[None], lt), g.Add(rb, anchors[None])
        center, size = g.Div(g.Add(first, second), 2.0), g.Sub(second, first)
        box = g.Mul(g.Concat(center, size, axis=1), stride)
        return g.Concat(box, g.Sigmoid(cls), axis=1)

    def expert(g, b0, c0, b1, c1, b2, c2):
        boxes, classes = [], []
        for i, (b, c, n) in enumerate(((b0, c0, 1600), (b1, c1, 400), (b2, c2, 100))):
            boxes.append(g.linear(wb[i].reshape(64, 64), g.Reshape(b, [64, n]), eb[i][:, None]))
            classes.append(g.linear(wc[i].reshape(20, 80), g.Reshape(c, [80, n]), ec[i][:, None]))
        p = g.Softmax(g.Reshape(g.Concat(*boxes, axis=1), [4, 16, 2100]), axis=1)
        # Center and size are linear in the four distances, as those are in their distributions.
        sides = np.array([[-0.5, 0, 0.5, 0], [0, -0.5, 0, 0.5], [1, 0, 1, 0], [0, 1, 0, 1]])
        t = g.MatMul(np.kron(sides, np.arange(16.0)), g.Reshape(p, [64, 2100]))
        t = g.Add(g.Mul(t, stride), np.concatenate([anchors * stride, 0 * anchors]))
        return g.Unsqueeze(g.Concat(t, g.Sigmoid(g.Concat(*classes, axis=1)), axis=0), [0])
    return given, expert


@network(c1=(1, 32, 32, 32), c2=(1, 64, 16, 16), c3=(1, 160, 8, 8), c4=(1, 256, 4, 4))
def perceptron_of_four_scales(random):
    """SegFormer (Xie et al. 2021), torch.onnx: each scale has a layer over tokens and is enlarged; one 1 × 1 kernel
    fuses all of them and another gives the classes."""
    widths, sides = (32, 64, 160, 256), (32, 16, 8, 4)
    w, b = [random(n, 128) for n in widths], [random(128) for _ in widths]
    fuse, norm = random(128, 512, 1, 1), random.norm(128)
    last, end = random(19, 128, 1, 1), random(19)
    how = dict(mode="linear", coordinate_transformation_mode="half_pixel")

    def given(g, *scales):
        parts = []
        for i in (3, 2, 1, 0):
            t = g.Transpose(g.Reshape(scales[i], [1, widths[i], -1]), perm=[0, 2, 1])
            t = g.Transpose(g.linear(t, w[i], b[i]), perm=[0, 2, 1])
            t = g.Reshape(t, [1, 128, sides[i], sides[i]])
            parts.append(t if i == 0 else g.Resize(t, "", "", [1, 128, 32, 32], **how))
        t = g.Conv(g.Concat(*parts, axis=1), fuse)
        t = g.Relu(g.BatchNormalization(t, *norm, epsilon=1e-5))
        return g.Conv(t, last, end)

    def expert(g, *scales):
        # The fusion is split by scale and runs before pixels are repeated, as one layer with the one before it; weights
        # of an interpolation have the sum 1, so that biases can wait.
        f, bias = folded(fuse, norm)
        total, bias = None, bias.copy()
        for k, i in enumerate((3, 2, 1, 0)):
            part = f.reshape(128, 512)[:, 128 * k:128 * k + 128]
            bias += part @ b[i]
            kernel = (part @ w[i].T)[:, :, None, None]
            t = g.Conv(scales[i], kernel, bias) if i == 0 else g.Conv(scales[i], kernel)
            t = t if i == 0 else g.Resize(t, "", "", [1, 128, 32, 32], **how)
            total = t if total is None else g.Add(total, t)
        return g.Conv(g.Relu(total), last, end)
    return given, expert


@network(x=(1, 128, 256))
def grouped_queries_of_llama(random):
    """Grouped-query attention (Ainslie et al. 2023) as Hugging Face's Llama exports it: rotary positions, eight heads of
    queries, two of keys and values that are repeated four times, a causal mask."""
    wq, wk, wv, wo = random(256, 256), random(256, 64), random(256, 64), random(256, 256)
    angle = np.outer(np.arange(128), 10000.0 ** (-np.arange(16) / 16))
    cos, sin = (np.tile(f(angle), (1, 2)) for f in (np.cos, np.sin))
    mask = np.triu(np.full((128, 128), -1e9), 1)

    def given(g, x):
        def heads(t, n):
            return g.Transpose(g.Reshape(t, [1, 128, n, 32]), perm=[0, 2, 1, 3])

        def rotated(t):
            half = g.Concat(g.Neg(g.Slice(t, [16], [32], [3])), g.Slice(t, [0], [16], [3]), axis=3)
            return g.Add(g.Mul(t, cos[None, None]), g.Mul(half, sin[None, None]))

        def repeated(t):
            t = g.Expand(g.Unsqueeze(t, [2]), [1, 2, 4, 128, 32])
            return g.Reshape(t, [1, 8, 128, 32])
        q, k = rotated(heads(g.MatMul(x, wq), 8)), rotated(heads(g.MatMul(x, wk), 2))
        k, v = repeated(k), repeated(heads(g.MatMul(x, wv), 2))
        s = g.Div(g.MatMul(q, g.Transpose(k, perm=[0, 1, 3, 2])), 32 ** 0.5)
        p = g.Softmax(g.Add(s, mask[None, None]), axis=-1)
        o = g.Transpose(g.MatMul(p, v), perm=[0, 2, 1, 3])
        return g.MatMul(g.Reshape(o, [1, 128, 256]), wo)

    def expert(g, x):
        # One product makes all twelve heads; queries and keys turn together, the sign is in the sines. Four heads that
        # read the same keys are four times as many queries.
        t = g.MatMul(x, by_head(32, wq * 32 ** -0.5, wk, wv))
        t, v = g.Split(t, [10, 2], axis=0, results=2)
        first, second = g.Split(t, [16, 16], axis=2, results=2)
        sign = np.repeat([-1.0, 1.0], 16)
        t = g.Add(g.Mul(t, cos), g.Mul(g.Concat(second, first, axis=2), sin * sign))
        q, k = g.Split(t, [8, 2], axis=0, results=2)
        s = g.MatMul(g.Reshape(q, [2, 512, 32]), g.Transpose(k, perm=[0, 2, 1]))
        p = g.Softmax(g.Add(s, np.tile(mask, (4, 1))), axis=-1)
        o = g.Transpose(g.Reshape(g.MatMul(p, v), [8, 128, 32]), perm=[1, 0, 2])
        return g.MatMul(g.Reshape(o, [1, 128, 256]), wo)
    return given, expert


@network(x=(2, 256, 200))
def statistics_weighted_by_attention(random):
    """ECAPA-TDNN (Desplanques et al. 2020) as in SpeechBrain: frames beside the mean and deviation of all frames give
    weights for each channel, and weighted mean and deviation are the result."""
    w1, b1, norm = random(64, 768, 1), random(64), random.norm(64)
    w2, b2 = random(256, 64, 1) * 4, random(256)
    even = np.full((2, 1, 200), 1 / 200)

    def given(g, x):
        def statistics(m):
            mean = g.ReduceSum(g.Mul(m, x), [2], keepdims=0)
            d = g.Pow(g.Sub(x, g.Unsqueeze(mean, [2])), 2.0)
            std = g.Sqrt(g.Clip(g.ReduceSum(g.Mul(m, d), [2], keepdims=0), np.float32(1e-12)))
            return mean, std
        mean, std = (g.Tile(g.Unsqueeze(t, [2]), [1, 1, 200]) for t in statistics(even))
        t = g.Relu(g.Conv(g.Concat(x, mean, std, axis=1), w1, b1))
        t = g.Tanh(g.BatchNormalization(t, *norm, epsilon=1e-5))
        p = g.Softmax(g.Conv(t, w2, b2), axis=2)
        return g.Unsqueeze(g.Concat(*statistics(p), axis=1), [2])

    def expert(g, x):
        scale, offset, average, variance = norm
        factor = scale / np.sqrt(variance + 1e-5)  # is positive, so that it can pass the rectifier
        w = w1.reshape(64, 768) * factor[:, None]
        mean = g.ReduceMean(x, [2])
        d = g.Sub(x, mean)
        std = g.Sqrt(g.Clip(g.ReduceMean(g.Mul(d, d), [2]), np.float32(1e-12)))
        # What is the same for all frames is mapped once.
        own = g.linear(w[:, 256:].copy(), g.Concat(mean, std, axis=1), (b1 * factor)[:, None])
        t = g.Relu(g.Add(g.MatMul(w[:, :256].copy(), x), own))
        t = g.Tanh(g.Add(t, (offset - average * factor)[:, None]))
        # A bias of a channel leaves the softmax over frames as it is.
        p = g.Softmax(g.MatMul(w2.reshape(256, 64), t), axis=2)
        mean = g.ReduceSum(g.Mul(p, x), [2])
        d = g.Sub(x, mean)
        std = g.Sqrt(g.Clip(g.ReduceSum(g.Mul(p, g.Mul(d, d)), [2]), np.float32(1e-12)))
        return g.Concat(mean, std, axis=1)
    return given, expert


@network(query=(64, 1, 32), keys=(64, 50, 32))
def interest_in_a_history(random):
    """Deep interest network (Zhou et al. 2018), as its TensorFlow code: a candidate, each item of a history, their
    difference and product go through a perceptron that weighs the items."""
    w1, b1, w2, b2, w3, b3 = random(128, 80), random(80), random(80, 40), random(40), random(40, 1), random(1)

    def given(g, query, keys):
        q = g.Reshape(g.Tile(query, [1, 1, 50]), [64, 50, 32])
        t = g.Concat(q, keys, g.Sub(q, keys), g.Mul(q, keys), axis=2)
        t = g.Sigmoid(g.linear(t, w1, b1))
        t = g.Sigmoid(g.linear(t, w2, b2))
        t = g.Reshape(g.linear(t, w3, b3), [64, 1, 50])
        p = g.Softmax(g.Div(t, 32 ** 0.5), axis=-1)
        return g.MatMul(p, keys)

    def expert(g, query, keys):
        own, item, difference, product = w1.reshape(4, 32, 80)
        # The candidate's part is the same for all of a history, and its products are in the weights of a history.
        weight = g.Add(g.Mul(g.Reshape(query, [64, 32, 1]), product), item - difference)
        t = g.Sigmoid(g.Add(g.MatMul(keys, weight), g.linear(query, own + difference, b1)))
        t = g.Sigmoid(g.linear(t, w2, b2))
        p = g.Softmax(g.Reshape(g.MatMul(t, w3 * 32 ** -0.5), [64, 1, 50]), axis=-1)
        return g.MatMul(p, keys)
    return given, expert


@network(h=(256, 128), adjacency=(256, 256))
def attention_over_a_graph(random):
    """Graph attention (Veličković et al. 2018), as pyGAT: two heads; features of all pairs side by side before a layer
    with one result, where there is no edge a large negative number."""
    w, a = [random(128, 64) for _ in range(2)], [random(128, 1) * 2 for _ in range(2)]

    def given(g, h, adjacency):
        edge, heads = g.Greater(adjacency, 0.0), []
        for i in range(2):
            t = g.MatMul(h, w[i])
            rows = g.Reshape(g.Expand(g.Unsqueeze(t, [1]), [256, 256, 64]), [65536, 64])
            columns = g.Tile(t, [256, 1])
            pairs = g.Reshape(g.Concat(rows, columns, axis=1), [256, 256, 128])
            e = g.LeakyRelu(g.Squeeze(g.MatMul(pairs, a[i]), [2]), alpha=0.2)
            p = g.Softmax(g.Where(edge, e, g.Mul(g.Expand(1.0, [256, 256]), -9e15)), axis=1)
            heads.append(g.Elu(g.MatMul(p, t)))
        return g.Concat(*heads, axis=1)

    def expert(g, h, adjacency):
        # A layer of a pair is a number of the one plus a number of the other, both read from the input.
        t = g.MatMul(h, np.stack(w))
        rows = g.MatMul(h, np.stack([w[i] @ a[i][:64] for i in range(2)]))
        columns = g.MatMul(np.stack([(w[i] @ a[i][64:]).T for i in range(2)]), g.Transpose(h, perm=[1, 0]))
        e = g.LeakyRelu(g.Add(rows, columns), alpha=0.2)
        p = g.Softmax(g.Where(g.Greater(adjacency, 0.0), e, -9e15), axis=2)
        t = g.Transpose(g.Elu(g.MatMul(p, t)), perm=[1, 0, 2])
        return g.Reshape(t, [256, 128])
    return given, expert


@network(x=(8, 32, 512))
def causal_block_of_dilated_kernels(random):
    """Temporal convolutional network (Bai et al. 2018), torch.onnx: kernels with weight norm, padded on both ends, what
    looks ahead is cut off; a 1 × 1 kernel beside them."""
    v1, v2, down = random(64, 32, 3), random(64, 64, 3), random(64, 32, 1)
    s1, s2 = random.positive(64, 1, 1), random.positive(64, 1, 1)
    b1, b2, end = random(64), random(64), random(64)

    def given(g, x):
        def layer(t, v, s, b):
            weight = g.Mul(v, g.Div(s, g.ReduceL2(v, [1, 2])))
            t = g.Conv(t, weight, b, pads=[8, 8], dilations=[4])
            return g.Relu(g.Slice(t, [0], [-8], [2]))
        t = layer(layer(x, v1, s1, b1), v2, s2, b2)
        return g.Relu(g.Add(t, g.Conv(x, down, end)))

    def expert(g, x):
        def layer(t, v, s, b):
            weight = v * s / np.sqrt((v ** 2).sum((1, 2), keepdims=True))
            return g.Relu(g.Conv(t, weight, b, pads=[8, 0], dilations=[4]))
        t = layer(layer(x, v1, s1, b1), v2, s2, b2)
        t = g.Add(t, g.Reshape(g.linear(down.reshape(64, 32), x, end[:, None]), [8, 64, 512]))
        return g.Relu(t)
    return given, expert


@network(x=(1, 48, 24, 24), time=(1, 192))
def enlargement_of_latents(random):
    """Latent diffusion (Rombach et al. 2022), torch.onnx: pixels are repeated, a 3 × 3 kernel smooths them, and a
    residual block with group norms reads the time step."""
    w0, w1, w2 = (random(48, 48, 3, 3) for _ in range(3))
    b0, b1, b2 = random(48), random(48), random(48)
    s1, o1, s2, o2 = random.positive(48), random(48), random.positive(48), random(48)
    wt, bt = random(192, 48), random(48)

    def norm(g, t, scale, offset):
        t = g.Reshape(t, [0, 8, -1])
        t = g.InstanceNormalization(t, np.ones(8), np.zeros(8), epsilon=1e-5)
        t = g.Reshape(t, [1, 48, 48, 48])
        t = g.Add(g.Mul(t, scale[:, None, None]), offset[:, None, None])
        return g.Mul(t, g.Sigmoid(t))

    def given(g, x, time):
        x = g.Resize(x, "", np.array([1, 1, 2, 2], np.float32), mode="nearest",
                     coordinate_transformation_mode="asymmetric", nearest_mode="floor")
        x = g.Conv(x, w0, b0, pads=[1, 1, 1, 1])
        t = g.Conv(norm(g, x, s1, o1), w1, b1, pads=[1, 1, 1, 1])
        e = g.Gemm(g.Mul(time, g.Sigmoid(time)), wt, bt)
        t = g.Add(t, g.Unsqueeze(g.Unsqueeze(e, [2]), [3]))
        t = g.Conv(norm(g, t, s2, o2), w2, b2, pads=[1, 1, 1, 1])
        return g.Add(x, t)

    def expert(g, x, time):
        # A kernel over repeated pixels is one transposed kernel of 4 × 4 with a stride: 16 products for 36.
        flipped = w0.transpose(1, 0, 2, 3)[:, :, ::-1, ::-1]
        wide = sum(np.pad(flipped, ((0, 0), (0, 0), (i, 1 - i), (k, 1 - k))) for i in range(2) for k in range(2))
        x = g.ConvTranspose(x, wide, b0, strides=[2, 2], pads=[1, 1, 1, 1])
        t = g.Conv(norm(g, x, s1, o1), w1, pads=[1, 1, 1, 1])
        e = g.linear(g.Mul(time, g.Sigmoid(time)), wt, bt + b1)
        t = g.Add(t, g.Reshape(e, [1, 48, 1, 1]))
        t = g.Conv(norm(g, t, s2, o2), w2, b2, pads=[1, 1, 1, 1])
        return g.Add(x, t)
    return given, expert


@network(values=(1024, 8), state=(1024, 128))
def monotonic_mix_of_agents(random):
    """QMIX (Rashid et al. 2018), as PyMARL: layers read the state and give the weights of a network that mixes the
    agents' values; absolute values keep it monotonic."""
    w1, b1, wf, bf = random(128, 256), random(256), random(128, 32), random(32)
    wb, bb, wv, bv = random(128, 32), random(32), random(128, 32), random(32)
    wu, bu = random(32, 1), random(1)

    def given(g, values, state):
        q = g.Reshape(values, [-1, 1, 8])
        first = g.Reshape(g.Abs(g.Gemm(state, w1, b1)), [-1, 8, 32])
        bias = g.Reshape(g.Gemm(state, wb, bb), [-1, 1, 32])
        hidden = g.Elu(g.Add(g.MatMul(q, first), bias))
        last = g.Reshape(g.Abs(g.Gemm(state, wf, bf)), [-1, 32, 1])
        v = g.Gemm(g.Relu(g.Gemm(state, wv, bv)), wu, bu)
        y = g.Add(g.MatMul(hidden, last), g.Reshape(v, [-1, 1, 1]))
        return g.Reshape(y, [1024, 1])

    def expert(g, values, state):
        # One layer reads the state; the last products of both parts are one sum.
        t = g.linear(state, side_by_side(w1, wf, wb, wv), side_by_side(b1, bf, bb, bv))
        first, last, bias, v = g.Split(t, [256, 32, 32, 32], axis=1, results=4)
        first = g.Reshape(g.Abs(first), [1024, 8, 32])
        t = g.ReduceSum(g.Mul(first, g.Unsqueeze(values, [2])), [1], keepdims=0)
        hidden = g.Elu(g.Add(t, bias))
        t = g.Add(g.Mul(hidden, g.Abs(last)), g.Mul(g.Relu(v), wu.T))
        return g.Add(g.ReduceSum(t, [1]), bu)
    return given, expert


@network(x=(1, 64, 4, 14, 14))
def products_of_all_places_and_times(random):
    """Non-local networks (Wang et al. 2018), torch.onnx: the block with dot products, whose sum is divided by how many
    places there are."""
    theta, phi, value = (random(32, 64, 1, 1, 1) for _ in range(3))
    bt, bp, bg = random(32), random(32), random(32)
    last, end, norm = random(64, 32, 1, 1, 1), random(64), random.norm(64)

    def given(g, x):
        v = g.Transpose(g.Reshape(g.Conv(x, value, bg), [1, 32, -1]), perm=[0, 2, 1])
        t = g.Transpose(g.Reshape(g.Conv(x, theta, bt), [1, 32, -1]), perm=[0, 2, 1])
        p = g.Reshape(g.Conv(x, phi, bp), [1, 32, -1])
        f = g.Div(g.MatMul(t, p), 784.0)
        y = g.Transpose(g.MatMul(f, v), perm=[0, 2, 1])
        y = g.Conv(g.Reshape(y, [1, 32, 4, 14, 14]), last, end)
        return g.Add(g.BatchNormalization(y, *norm, epsilon=1e-5), x)

    def expert(g, x):
        # Without a softmax products can be regrouped: keys times values first, which makes all that follows one layer,
        # in which the input itself takes part.
        f, b = folded(last.reshape(64, 32), norm, bias=end)
        wt, wp, wg = (w.reshape(32, 64) for w in (theta, phi, value))
        flat = g.Reshape(x, [64, 784])
        t = g.linear(np.concatenate([wp, wg]), flat, np.concatenate([bp, bg])[:, None])
        p, v = g.Split(t, [32, 32], axis=0, results=2)
        t = g.MatMul(f / 784, g.MatMul(v, g.Transpose(p, perm=[1, 0])))
        weight, bias = g.Split(g.MatMul(t, side_by_side(wt, bt[:, None])), [64, 1], axis=1, results=2)
        y = g.Add(g.MatMul(g.Add(weight, np.eye(64)), flat), g.Add(bias, b[:, None]))
        return g.Reshape(y, [1, 64, 4, 14, 14])
    return given, expert
