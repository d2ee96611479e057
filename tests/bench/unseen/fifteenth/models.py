"""Layers, losses and classical models from 2013 to 2025: each as an exporter or a paper's formula spells it,
and as an expert in performance would write the same function by hand."""

import numpy as np

from networks import network, side_by_side


@network(x=(256, 48), y=(256, 32))
def similarity_of_representations_by_kernels(random):
    """Linear CKA (Kornblith et al. 2019), the numpy code with its centering matrix, by torch.onnx."""
    center = np.eye(256) - 1 / 256
    parts = np.repeat(np.eye(2), [48, 32], axis=0)

    def given(g, x, y):
        k, m = (g.MatMul(g.MatMul(center, g.MatMul(t, g.Transpose(t, perm=[1, 0]))), center) for t in (x, y))
        both, first, second = (g.ReduceSum(g.Mul(s, t), [0, 1]) for s, t in ((k, m), (k, k), (m, m)))
        return g.Div(both, g.Sqrt(g.Mul(first, second)))

    def expert(g, x, y):
        # <XX', YY'> is the squared norm of X'Y; one product has all three, and its blocks are summed
        t = g.Concat(x, y, axis=1)
        t = g.Sub(t, g.ReduceMean(t, [0]))
        t = g.MatMul(g.Transpose(t, perm=[1, 0]), t)
        t = g.MatMul(parts.T, g.MatMul(g.Mul(t, t), parts))
        first, second = g.Split(t, [1, 1], axis=0, results=2)
        first, both = g.Split(first, [1, 1], axis=1, results=2)
        _, second = g.Split(second, [1, 1], axis=1, results=2)
        return g.Div(both, g.Sqrt(g.Mul(first, second)))
    return given, expert


@network(forecast=(256, 128), truth=(256, 1))
def fair_score_of_an_ensemble_forecast(random):
    """Fair CRPS weighted by area (NeuralGCM 2024; huge ensembles, Mahesh et al. 2024), by jax2onnx."""
    area, count = random.positive(256, 1), 128
    area, rank = area / area.sum(), np.arange(count)

    def given(g, forecast, truth):
        skill = g.ReduceMean(g.Abs(g.Sub(forecast, truth)), [1])
        pairs = g.Abs(g.Sub(g.Unsqueeze(forecast, [1]), g.Unsqueeze(forecast, [2])))
        spread = g.Div(g.ReduceSum(pairs, [1, 2], keepdims=0), 2.0 * count * (count - 1))
        score = g.Sub(skill, g.Unsqueeze(spread, [1]))
        return g.ReduceSum(g.Mul(score, area), [0, 1], keepdims=0)

    def expert(g, forecast, truth):
        # of sorted members, the sum of |difference| over pairs is a weighted sum
        t, _ = g.TopK(forecast, [count], largest=0, results=2)
        weights = (2.0 * rank - (count - 1)) / (count * (count - 1))
        t = g.Sub(g.Mul(g.Abs(g.Sub(t, truth)), 1 / count), g.Mul(t, weights))
        return g.ReduceSum(g.Mul(t, area), [0, 1], keepdims=0)
    return given, expert


@network(visits=(64, 2))
def great_circle_distances_to_places(random):
    """Haversine distances of check-ins to all places, as in STAN (Luo et al. 2021), numpy written as ONNX."""
    places = random(400, 2)
    (lat, lon), radius = places.T, 6371.0
    turns = np.array([[1, 1, 1, 1, 1], [-1, 1, -1, 1, 0.0]])
    phases = np.array([0, 0, 1, 1, 1]) * -np.pi / 2
    east, north = np.cos(lat) * np.cos(lon) / 2, np.cos(lat) * np.sin(lon) / 2
    basis = np.stack([east, east, -north, north, np.sin(lat)])

    def given(g, visits):
        phi, rho = g.Split(visits, [1, 1], axis=1, results=2)
        a = g.Pow(g.Sin(g.Mul(g.Sub(lat[None], phi), 0.5)), 2.0)
        b = g.Pow(g.Sin(g.Mul(g.Sub(lon[None], rho), 0.5)), 2.0)
        h = g.Add(a, g.Mul(g.Mul(g.Cos(phi), np.cos(lat)[None]), b))
        return g.Mul(g.Asin(g.Min(g.Sqrt(h), 1.0)), 2 * radius)

    def expert(g, visits):
        # the angle between unit vectors; products of sines and cosines are cosines of sums and differences
        t = g.MatMul(g.Cos(g.linear(visits, turns, phases)), basis)
        return g.Mul(g.Acos(g.Clip(t, -1.0, 1.0)), radius)
    return given, expert


@network(unary=(8, 24, 32))
def mean_field_of_a_spatial_field(random):
    """Two steps of CRF-RNN with its spatial kernel only (Zheng et al. 2015), made by hand with numpy."""
    def gauss(n):
        return np.exp(-(np.arange(n)[:, None] - np.arange(n)) ** 2 / (2 * 3.0 ** 2))
    rows, columns = gauss(24), gauss(32)
    kernel = np.kron(rows, columns)
    weights, compatibility = random(8, 8), random(8, 8)
    rows, columns = rows / rows.sum(axis=1, keepdims=True), columns / columns.sum(axis=0)

    def given(g, unary):
        logits = unary
        for _ in range(2):
            q = g.Reshape(g.Softmax(logits, axis=0), [8, 24 * 32])
            t = g.Div(g.MatMul(q, kernel), kernel.sum(axis=0))
            t = g.MatMul(compatibility, g.MatMul(weights, t))
            logits = g.Sub(unary, g.Reshape(t, [8, 24, 32]))
        return logits

    def expert(g, unary):
        # the kernel of a grid is a Kronecker product, and so is its normalization
        logits = unary
        for _ in range(2):
            t = g.MatMul(rows, g.MatMul(g.Softmax(logits, axis=0), columns))
            t = g.MatMul(-compatibility @ weights, g.Reshape(t, [8, 24 * 32]))
            logits = g.Add(unary, g.Reshape(t, [8, 24, 32]))
        return logits
    return given, expert


@network(state=(1, 6), actions=(256, 4, 2))
def plan_by_path_integral_control(random):
    """MPPI (Williams et al. 2017) over linear Koopman dynamics (Korda and Mezic 2018), by torch.onnx."""
    a, b = 0.8 * np.eye(6) + 0.3 * random(6, 6), random(2, 6)
    q, r = np.diag(random.positive(6)), 0.1 * np.diag(random.positive(2))
    reach, cost = np.eye(14)[:, :6], np.zeros((14, 14))
    cost[6:, 6:] = np.kron(np.eye(4), r)
    for k in range(4):
        reach = reach @ a + np.eye(14)[:, 6 + 2 * k:8 + 2 * k] @ b
        cost += reach @ q @ reach.T

    def given(g, state, actions):
        x, total = state, g.ReduceSum(g.Mul(g.MatMul(actions, r), actions), [1, 2], keepdims=0)
        for k in range(4):
            u = g.Gather(actions, k, axis=1)
            x = g.Add(g.MatMul(x, a), g.MatMul(u, b))
            total = g.Add(total, g.ReduceSum(g.Mul(g.MatMul(x, q), x), [1], keepdims=0))
        chance = g.Softmax(g.Mul(total, -0.5), axis=0)
        return g.ReduceSum(g.Mul(g.Reshape(chance, [256, 1, 1]), actions), [0])

    def expert(g, state, actions):
        # the cost is one quadratic form, and the softmax does not see its part without actions
        u = g.Reshape(actions, [256, 8])
        t = g.Add(g.MatMul(u, -0.5 * cost[6:, 6:]), g.MatMul(state, -cost[:6, 6:]))
        chance = g.Softmax(g.ReduceSum(g.Mul(t, u), [1], keepdims=0), axis=0)
        return g.Reshape(g.MatMul(g.Reshape(chance, [1, 256]), u), [1, 4, 2])
    return given, expert


@network(x=(4, 256, 32))
def average_attention_of_a_decoder(random):
    """Average attention network (Zhang et al. 2018): its mask of averages, gates and norm, by tf2onnx."""
    mask = np.tril(np.ones((256, 256))) / np.arange(1, 257)[:, None]
    w, v, wg = random(32, 64), random(64, 32), random(64, 64)
    b, c, bg, scale, shift = random(64), random(32), random(64), random.positive(32), random(32)

    def layer(g, x, average):
        t = g.linear(g.Relu(g.linear(average, w, b)), v, c)
        gates = g.Sigmoid(g.linear(g.Concat(x, t, axis=-1), wg, bg))
        i, f = g.Split(gates, [32, 32], axis=-1, results=2)
        t = g.Add(x, g.Add(g.Mul(i, x), g.Mul(f, t)))
        return g.LayerNormalization(t, scale, shift, axis=-1)

    def given(g, x):
        return layer(g, x, g.MatMul(mask, x))

    def expert(g, x):
        return layer(g, x, g.Mul(g.CumSum(x, 1), 1 / np.arange(1, 257)[:, None]))
    return given, expert


@network(x=(1, 48, 24, 24))
def pyramid_pooling_of_psp_net(random):
    """Pyramid pooling (Zhao et al. 2017) as in a PyTorch port with linear stages, by torch.onnx."""
    sizes = (1, 2, 3, 6)
    stages, bottleneck, b = [random(48, 48, 1, 1) for _ in sizes], random(32, 240, 1, 1), random(32)
    parts = np.split(bottleneck, 5, axis=1)
    merged = [np.einsum("omhw,mihw->oihw", part, stage) for part, stage in zip(parts, stages)]

    def enlarged(g, x, channels):
        return g.Resize(x, "", "", [1, channels, 24, 24], mode="linear")

    def given(g, x):
        priors = []
        for size, stage in zip(sizes, stages):
            kernel = [24 // size] * 2
            t = g.AveragePool(x, kernel_shape=kernel, strides=kernel)
            priors.append(enlarged(g, g.Conv(t, stage), 48))
        return g.Relu(g.Conv(g.Concat(*priors, x, axis=1), bottleneck, b))

    def expert(g, x):
        # all is linear up to the end: products before enlarging, and coarse pools from the finest
        fine = g.AveragePool(x, kernel_shape=[4, 4], strides=[4, 4])
        two, three = (g.AveragePool(fine, kernel_shape=[k, k], strides=[k, k]) for k in (3, 2))
        t = g.Add(g.Conv(x, parts[4], b), g.Conv(g.GlobalAveragePool(fine), merged[0]))
        for pooled, weight in zip((two, three, fine), merged[1:]):
            t = g.Add(t, enlarged(g, g.Conv(pooled, weight), 32))
        return g.Relu(t)
    return given, expert


@network(x=(128, 32, 9), harmonics=(128, 9), radial=(128, 32))
def tensor_product_of_nequip(random):
    """Messages of 16 atoms with 8 neighbors each in NequIP (Batzner et al. 2022), by torch.onnx."""
    coefficients, w = random(9, 9, 9), random(32, 32)  # of the feature, the harmonic and the result

    def given(g, x, harmonics, radial):
        t = g.Mul(g.Unsqueeze(x, [3]), g.Unsqueeze(harmonics, [1, 2]))
        t = g.MatMul(g.Reshape(t, [128, 32, 81]), coefficients.reshape(81, 9))
        t = g.Reshape(g.Mul(t, g.Unsqueeze(radial, [2])), [16, 8, 32, 9])
        return g.MatMul(w, g.ReduceSum(t, [1], keepdims=0))

    def expert(g, x, harmonics, radial):
        # the harmonics of an edge are the same in all channels: they meet the coefficients first
        t = g.MatMul(harmonics, coefficients.transpose(1, 0, 2).reshape(9, 81))
        t = g.MatMul(x, g.Reshape(t, [128, 9, 9]))
        t = g.Reshape(g.Mul(t, g.Unsqueeze(radial, [2])), [16, 8, 32, 9])
        return g.MatMul(w, g.ReduceSum(t, [1], keepdims=0))
    return given, expert


@network(x=(128, 20))
def forest_as_products_of_hummingbird(random):
    """Random forest of 24 complete trees, three classes, as GEMMs (Nakandala et al. 2020), by Hummingbird."""
    feature = random.generator.integers(0, 20, 24 * 15)
    limit, values = random(24 * 15), random.positive(24, 3, 16) / 24
    paths = np.zeros((16, 15))  # 1 where a leaf is to the left of a node, -1 to the right
    for leaf in range(16):
        node = leaf + 16
        while node > 1:
            paths[leaf, node // 2 - 1] = 1 - 2 * (node % 2)
            node //= 2
    lefts = (paths > 0).sum(axis=1).astype(np.float32)

    def given(g, x):
        t = g.MatMul(np.eye(20)[feature], g.Transpose(x, perm=[1, 0]))
        t = g.Cast(g.LessOrEqual(t, limit[:, None]), to=1)
        t = g.MatMul(np.tile(paths, (24, 1, 1)), g.Reshape(t, [24, 15, 128]))
        t = g.Cast(g.Equal(t, np.tile(lefts[:, None], (24, 1, 1))), to=1)
        t = g.ReduceSum(g.MatMul(values, t), [0], keepdims=0)
        return g.Transpose(t, perm=[1, 0])

    def expert(g, x):
        # a selection by ones is a Gather, complete trees have the same paths, leaves are summed in a product
        t = g.Gather(g.Transpose(x, perm=[1, 0]), feature, axis=0)
        t = g.Cast(g.LessOrEqual(t, limit[:, None]), to=1)
        t = g.MatMul(paths, g.Reshape(t, [24, 15, 128]))
        t = g.Reshape(g.Cast(g.Equal(t, lefts[:, None]), to=1), [24 * 16, 128])
        return g.Transpose(g.MatMul(values.transpose(1, 0, 2).reshape(3, 24 * 16), t), perm=[1, 0])
    return given, expert


@network(q=(4, 256, 32), k=(2, 256, 32), v=(2, 256, 32))
def sliding_window_with_sinks_of_gpt_oss(random):
    """Attention of gpt-oss (OpenAI 2025): shared keys, a window of 32, learned sinks, by torch.onnx."""
    far = np.arange(256)[:, None] - np.arange(256)
    mask = np.where((far >= 0) & (far < 32), 0.0, -1e9)
    sinks = random(4)
    far = np.arange(32, 64)[:, None] - np.arange(64)
    near = np.tile(np.where((far >= 0) & (far < 32), 0.0, -1e9), (2, 2, 8, 1, 1))
    near[:, :, 0, :, :32] = -1e9
    sink = np.broadcast_to(sinks.reshape(2, 2, 1, 1, 1), (2, 2, 8, 32, 1))
    near = side_by_side(near, sink)

    def given(g, q, k, v):
        k, v = (g.Reshape(g.Expand(g.Unsqueeze(t, [1]), [2, 2, 256, 32]), [4, 256, 32]) for t in (k, v))
        t = g.Mul(g.MatMul(q, g.Transpose(k, perm=[0, 2, 1])), 32 ** -0.5)
        t = g.Concat(g.Add(t, mask), g.Expand(sinks.reshape(4, 1, 1), [4, 256, 1]), axis=-1)
        t = g.Slice(g.Softmax(t, axis=-1), [0], [256], [2])
        return g.MatMul(t, v)

    def expert(g, q, k, v):
        # a block of queries sees its own block and the one before; the sink is one more key, of zeros
        zero = np.zeros((2, 1, 8, 1, 32))

        def blocks(t):
            before = g.Pad(t, [0, 32, 0, 0, -32, 0])
            before, own = (g.Reshape(part, [2, 1, 8, 32, 32]) for part in (before, t))
            return g.Concat(before, own, zero, axis=3)
        q = g.Reshape(g.Mul(q, 32 ** -0.5), [2, 2, 8, 32, 32])
        t = g.MatMul(q, g.Transpose(blocks(k), perm=[0, 1, 2, 4, 3]))
        t = g.MatMul(g.Softmax(g.Add(t, near), axis=-1), blocks(v))
        return g.Reshape(t, [4, 256, 32])
    return given, expert


@network(q=(4, 256, 16), k=(4, 256, 16), v=(4, 256, 16))
def reweighted_attention_of_cosformer(random):
    """The quadratic formula of cosFormer (Qin et al. 2022), made by hand."""
    angles = np.arange(256)[:, None] * np.pi / 512
    weights = np.cos(angles - angles.T)
    waves = side_by_side(np.repeat(np.cos(angles), 16, axis=1), np.repeat(np.sin(angles), 16, axis=1))

    def given(g, q, k, v):
        t = g.MatMul(g.Relu(q), g.Transpose(g.Relu(k), perm=[0, 2, 1]))
        t = g.Mul(t, weights)
        t = g.Div(t, g.Max(g.ReduceSum(t, [2]), 1e-6))
        return g.MatMul(t, v)

    def expert(g, q, k, v):
        # the cosine of a difference is a sum of two products, so the keys meet the values first
        q, k = (g.Mul(g.Concat(t, t, axis=2), waves) for t in (g.Relu(q), g.Relu(k)))
        memory = g.MatMul(g.Transpose(k, perm=[0, 2, 1]), g.Concat(v, np.ones((4, 256, 1)), axis=2))
        t, total = g.Split(g.MatMul(q, memory), [16, 1], axis=2, results=2)
        return g.Div(t, g.Max(total, 1e-6))
    return given, expert


@network(masks=(64, 1024), targets=(16, 1024))
def costs_of_the_matcher_of_mask2former(random):
    """Mask and dice costs of all pairs before matching (Cheng et al. 2022), by torch.onnx."""
    def given(g, masks, targets):
        t = g.Transpose(targets, perm=[1, 0])
        rest = g.Transpose(g.Sub(1.0, targets), perm=[1, 0])
        positive, negative = g.Softplus(g.Neg(masks)), g.Softplus(masks)
        mask_cost = g.Div(g.Add(g.MatMul(positive, t), g.MatMul(negative, rest)), 1024.0)
        p = g.Sigmoid(masks)
        above = g.Add(g.Mul(g.MatMul(p, t), 2.0), 1.0)
        sizes = g.Unsqueeze(g.ReduceSum(targets, [1], keepdims=0), [0])
        below = g.Add(g.Add(g.ReduceSum(p, [1]), sizes), 1.0)
        return g.Add(g.Mul(mask_cost, 5.0), g.Mul(g.Sub(1.0, g.Div(above, below)), 5.0))

    def expert(g, masks, targets):
        # softplus(-x) t + softplus(x) (1 - t) = softplus(x) - x t
        p = g.Sigmoid(masks)
        both = g.Concat(g.Mul(masks, -5 / 1024), g.Mul(p, 10.0), axis=0)
        t = g.MatMul(both, g.Transpose(targets, perm=[1, 0]))
        mask_cost, above = g.Split(t, [64, 64], axis=0, results=2)
        mask_cost = g.Add(mask_cost, g.Mul(g.ReduceSum(g.Softplus(masks), [1]), 5 / 1024))
        sizes = g.Reshape(g.ReduceSum(targets, [1]), [1, 16])
        below = g.Add(g.Add(g.ReduceSum(p, [1]), sizes), 1.0)
        return g.Add(mask_cost, g.Sub(5.0, g.Div(g.Add(above, 5.0), below)))
    return given, expert


@network(y=(32, 64))
def midpoint_steps_of_a_neural_ode(random):
    """Neural ODE (Chen et al. 2018), three steps of torchdiffeq's midpoint method, by torch.onnx."""
    w, v, b, c, h = random(64, 64), random(64, 64), random(64), random(64), 0.25
    both, shift = v @ w, c @ w
    half, whole = both * (h / 2), both * h

    def given(g, y):
        def field(t):
            return g.Gemm(g.Tanh(g.Gemm(t, w, b)), v, c)
        for _ in range(3):
            middle = g.Add(y, g.Mul(field(y), h / 2))
            y = g.Add(y, g.Mul(field(middle), h))
        return y

    def expert(g, y):
        # the state is kept behind the field's first layer: one product a stage, and one back at the end
        z, total = g.linear(y, w, b), None
        for k in range(3):
            t = g.Add(g.MatMul(g.Tanh(z), half), z)
            t = g.Tanh(g.Add(t, shift * (h / 2)))
            total = g.Add(total, t) if total else t
            if k < 2:
                z = g.Add(g.Add(g.MatMul(t, whole), z), shift * h)
        return g.Add(y, g.linear(total, v * h, c * (3 * h)))
    return given, expert


@network(slots=(4, 16))
def broadcast_decoder_of_monet(random):
    """Spatial broadcast decoder (Watters et al. 2019) with MONet's unpadded kernels, by torch.onnx."""
    line = np.linspace(-1, 1, 16)
    places = np.stack(np.meshgrid(line, line, indexing="ij"))[None]
    w, v, u = random(32, 18, 3, 3), random(16, 32, 3, 3), random(4, 16, 1, 1)
    b, c, d = random(32), random(16), random(4)
    windows = np.lib.stride_tricks.sliding_window_view(places[0], (3, 3), axis=(1, 2))
    layout = np.einsum("ihwyx,oiyx->ohw", windows, w[:, 16:])[None] + b[:, None, None]

    def given(g, slots):
        t = g.Expand(g.Reshape(slots, [4, 16, 1, 1]), [4, 16, 16, 16])
        t = g.Concat(t, g.Expand(places, [4, 2, 16, 16]), axis=1)
        t = g.Relu(g.Conv(t, w, b))
        return g.Conv(g.Relu(g.Conv(t, v, c)), u, d)

    def expert(g, slots):
        # of a constant image a kernel sees only its sum; what it makes of the coordinates is known
        t = g.MatMul(slots, w[:, :16].sum(axis=(2, 3)).T)
        t = g.Relu(g.Add(g.Reshape(t, [4, 32, 1, 1]), layout))
        return g.Conv(g.Relu(g.Conv(t, v, c)), u, d)
    return given, expert


@network(stream=(1, 9, 256))
def sliding_windows_over_sensors(random):
    """Activities by windows (Ordonez and Roggen 2016, convolutions as in OverFeat 2013), by torch.onnx."""
    window = np.arange(29)[:, None] * 8 + np.arange(32)
    w, v, head = random(32, 9, 5), random(32, 32, 5), random(32, 6)
    b, c, d = random(32), random(32), random(6)

    def given(g, stream):
        t = g.Squeeze(g.Gather(stream, window, axis=2), [0])
        t = g.Transpose(t, perm=[1, 0, 2])
        t = g.Relu(g.Conv(g.Relu(g.Conv(t, w, b)), v, c))
        return g.Softmax(g.Gemm(g.ReduceMean(t, [2], keepdims=0), head, d), axis=1)

    def expert(g, stream):
        # windows overlap: convolutions once over the stream, windows only in the mean
        t = g.Relu(g.Conv(g.Relu(g.Conv(stream, w, b)), v, c))
        t = g.Reshape(g.AveragePool(t, kernel_shape=[24], strides=[8]), [32, 29])
        return g.Softmax(g.Gemm(t, head, d, transA=1), axis=1)
    return given, expert


@network(frames=(32, 384))
def difference_function_of_yin(random):
    """Pitch by pYIN (Mauch and Dixon 2014), the first steps of YIN, made by hand with numpy."""
    lags = np.arange(1, 129)

    def normalized(g, t):
        return g.Div(g.Mul(t, lags.astype(np.float32)), g.Add(g.CumSum(t, 1), 1e-6))

    def given(g, frames):
        shifted = g.Gather(frames, lags[:, None] + np.arange(256), axis=1)
        still = g.Unsqueeze(g.Slice(frames, [0], [256], [1]), [1])
        return normalized(g, g.ReduceSum(g.Pow(g.Sub(still, shifted), 2.0), [2], keepdims=0))

    def expert(g, frames):
        # energies from running sums; the products are a convolution of each frame with its own start
        total = g.CumSum(g.Mul(frames, frames), 1)
        before, _, first, behind = g.Split(total, [128, 127, 1, 128], axis=1, results=4)
        energy = g.Add(g.Sub(behind, before), first)
        start = g.Reshape(g.Slice(frames, [0], [256], [1]), [32, 1, 256])
        t = g.Conv(g.Reshape(g.Slice(frames, [1], [384], [1]), [1, 32, 383]), start, group=32)
        return normalized(g, g.Sub(energy, g.Mul(g.Reshape(t, [32, 128]), 2.0)))
    return given, expert
