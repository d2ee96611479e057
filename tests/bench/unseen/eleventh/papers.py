"""As exporters write them. torch.onnx: entropy bottlenecks (Ballé et al. 2018), N-HiTS (Challu et al.
2023), multi-band MelGAN (Yang et al. 2021), soft actor-critic (Haarnoja et al. 2018), ST-GCN (Yan et al.
2018), structural similarity (pytorch-ssim 2017), NetVLAD (Arandjelović et al.
2016), attention-free transformer (Zhai et al. 2021), CatBoost (Prokhorenkova et al. 2018) by Hummingbird
(Nakandala et al. 2020), SwAV (Caron et al. 2020).
jax2tf: physics-informed networks (Raissi et al. 2019). skl2onnx: Gaussian mixtures (scikit-learn 2019)."""

import numpy as np

from networks import folded, network, side_by_side


@network(x=(256, 8))
def responsibilities_of_full_covariances(random):
    """GaussianMixture of scikit-learn (2019), skl2onnx: densities of components, one by one."""
    factors = [np.triu(random(8, 8), 1) + np.diag(random.positive(8)) for _ in range(6)]
    centers, share = [random(8) for _ in range(6)], random.positive(6)
    share = np.log(share / share.sum())
    volume = np.array([np.log(np.diag(f)).sum() for f in factors])

    def given(g, x):
        parts = []
        for f, c in zip(factors, centers):
            y = g.Gemm(x, f, -c @ f, alpha=1.0, beta=1.0)
            parts.append(g.ReduceSumSquare(y, [1], keepdims=1))
        t = g.Add(g.Concat(*parts, axis=1), np.array([8 * np.log(2 * np.pi)]))
        t = g.Add(g.Mul(t, np.array([-0.5])), volume)
        t = g.Add(t, share)
        return g.Exp(g.Sub(t, g.ReduceLogSumExp(t, [1], keepdims=1)))

    def expert(g, x):
        # All factors in one product; sums of squares are one too; a constant of all components cancels.
        y = g.Gemm(x, side_by_side(*factors), side_by_side(*(-c @ f for f, c in zip(factors, centers))))
        t = g.Gemm(g.Mul(y, y), np.kron(np.eye(6), np.full((8, 1), -0.5)), volume + share)
        return g.Softmax(t, axis=1)
    return given, expert


@network(x=(512, 1), time=(512, 1))
def residual_of_burgers(random):
    """PINN (Raissi et al. 2019), jax2tf: Burgers' equation, by nested forward derivatives."""
    w1, w2, w3 = random(2, 24), random(24, 24), random(24, 1)
    b1, b2, b3, nu = random(24), random(24), random(1), 0.1

    def given(g, x, time):
        along_x = g.MatMul(g.Expand(np.array([[1.0, 0.0]]), [512, 2]), w1)
        along_t = g.MatMul(g.Expand(np.array([[0.0, 1.0]]), [512, 2]), w1)
        a = g.Tanh(g.linear(g.Concat(x, time, axis=1), w1, b1))
        slope = g.Sub(1.0, g.Mul(a, a))
        ax, at = g.Mul(along_x, slope), g.Mul(along_t, slope)
        axx = g.Mul(along_x, g.Neg(g.Mul(g.Mul(a, 2.0), ax)))
        zx, zt, zxx = g.MatMul(ax, w2), g.MatMul(at, w2), g.MatMul(axx, w2)
        a = g.Tanh(g.linear(a, w2, b2))
        slope = g.Sub(1.0, g.Mul(a, a))
        ax, at = g.Mul(zx, slope), g.Mul(zt, slope)
        axx = g.Add(g.Mul(zxx, slope), g.Mul(zx, g.Neg(g.Mul(g.Mul(a, 2.0), ax))))
        u = g.linear(a, w3, b3)
        ux, ut, uxx = (g.MatMul(t, w3) for t in (ax, at, axx))
        return g.Sub(g.Add(ut, g.Mul(u, ux)), g.Mul(uxx, nu))

    def expert(g, x, time):
        # The operator q = d/dt - nu d2/dx2 passes layers whole: q(tanh z) = slope (zq + 2 nu tanh(z) zx^2).
        # What the first layer's derivatives multiply is in the second's weights.
        wx, wt = w1[0][:, None], w1[1][:, None]
        a = g.Tanh(g.Gemm(g.Concat(x, time, axis=1), w1, b1))
        slope = g.Sub(1.0, g.Mul(a, a))
        zx = g.MatMul(slope, wx * w2)
        zq = g.Gemm(g.Mul(slope, a), 2 * nu * wx ** 2 * w2, g.MatMul(slope, wt * w2))
        a = g.Tanh(g.Gemm(a, w2, b2))
        slope = g.Sub(1.0, g.Mul(a, a))
        ax = g.Mul(zx, slope)
        aq = g.Add(g.Mul(zq, slope), g.Mul(g.Mul(g.Mul(a, 2 * nu), ax), zx))
        return g.Add(g.MatMul(aq, w3), g.Mul(g.Gemm(a, w3, b3), g.MatMul(ax, w3)))
    return given, expert


@network(y=(1, 16, 12, 12))
def likelihoods_under_factorized_prior(random):
    """Entropy bottleneck (Ballé et al. 2018), CompressAI: a small network for each channel, twice."""
    matrices = [random.positive(16, 3, 1), random.positive(16, 3, 3) - 1, random.positive(16, 1, 3) - 1]
    biases = [random(16, 3, 1), random(16, 3, 1), random(16, 1, 1)]
    factors = [random(16, 3, 1), random(16, 3, 1)]

    def given(g, y):
        t = g.Reshape(g.Transpose(y, perm=[1, 0, 2, 3]), [16, 1, 144])

        def cumulative(t):
            for k in range(3):
                t = g.Add(g.MatMul(g.Softplus(matrices[k]), t), biases[k])
                if k < 2:
                    t = g.Add(t, g.Mul(g.Tanh(factors[k]), g.Tanh(t)))
            return g.Sigmoid(t)
        lower, upper = cumulative(g.Sub(t, 0.5)), cumulative(g.Add(t, 0.5))
        t = g.Max(g.Sub(upper, lower), np.array([1e-9]))
        return g.Transpose(g.Reshape(t, [16, 1, 12, 12]), perm=[1, 0, 2, 3])

    def expert(g, y):
        # Both ends of an interval are a batch that starts at two biases; one image needs no transpose.
        w, f = [np.log1p(np.exp(m)) for m in matrices], [np.tanh(t) for t in factors]
        ends = biases[0][:, :, None] + w[0][:, :, None] * np.array([-0.5, 0.5])[:, None]
        t = g.Add(g.Mul(g.Reshape(y, [16, 1, 1, 144]), w[0][:, :, None]), ends)
        t = g.Reshape(t, [16, 3, 288])
        t = g.Add(t, g.Mul(g.Tanh(t), f[0]))
        t = g.Add(g.MatMul(w[1], t), biases[1])
        t = g.Add(t, g.Mul(g.Tanh(t), f[1]))
        t = g.Sigmoid(g.Add(g.MatMul(w[2], t), biases[2]))
        lower, upper = g.Split(t, [144, 144], axis=2, results=2)
        return g.Reshape(g.Max(g.Sub(upper, lower), np.array([1e-9])), [1, 16, 12, 12])
    return given, expert


@network(x=(64, 96))
def two_blocks_of_n_hits(random):
    """N-HiTS (Challu et al. 2023), torch: blocks pool their input and interpolate a forecast."""
    sizes, points = (8, 4), (3, 6)
    layers = [(random(96 // s, 64), random(64), random(64, 64), random(64), random(64, 96 + p),
               random(96 + p)) for s, p in zip(sizes, points)]

    def interpolation(count):
        place = np.clip((np.arange(24) + 0.5) * count / 24 - 0.5, 0, count - 1)
        return np.maximum(0, 1 - np.abs(place - np.arange(count)[:, None]))

    def given(g, x):
        rest = x
        forecast = g.Expand(g.Slice(x, [95], [96], [1]), [64, 24])
        for k, (w1, b1, w2, b2, w3, b3) in enumerate(layers):
            t = g.MaxPool(g.Unsqueeze(rest, [1]), kernel_shape=[sizes[k]], strides=[sizes[k]])
            t = g.Relu(g.Gemm(g.Squeeze(t, [1]), w1.T.copy(), b1, transB=1))
            t = g.Relu(g.Gemm(t, w2.T.copy(), b2, transB=1))
            theta = g.Gemm(t, w3.T.copy(), b3, transB=1)
            if k == 0:
                rest = g.Sub(rest, g.Slice(theta, [0], [96], [1]))
            t = g.Unsqueeze(g.Slice(theta, [96], [96 + points[k]], [1]), [1])
            t = g.Resize(t, "", "", [64, 1, 24], mode="linear",
                         coordinate_transformation_mode="pytorch_half_pixel")
            forecast = g.Add(forecast, g.Squeeze(t, [1]))
        return forecast

    def expert(g, x):
        # Interpolation is a part of the last layer. One product forecasts for all blocks and the last
        # value; the last block explains no past.
        (w1, b1, w2, b2, w3, b3), (v1, c1, v2, c2, v3, c3) = layers
        first, second = interpolation(3), interpolation(6)
        t = g.MaxPool(g.Unsqueeze(x, [1]), kernel_shape=[8], strides=[8])
        h = g.Relu(g.Gemm(g.Relu(g.Gemm(g.Reshape(t, [64, 12]), w1, b1)), w2, b2))
        rest = g.Sub(x, g.Gemm(h, w3[:, :96].copy(), b3[:96].copy()))
        t = g.MaxPool(g.Unsqueeze(rest, [1]), kernel_shape=[4], strides=[4])
        t = g.Relu(g.Gemm(g.Relu(g.Gemm(g.Reshape(t, [64, 24]), v1, c1)), v2, c2))
        t = g.Concat(h, t, g.Slice(x, [95], [96], [1]), axis=1)
        w = np.concatenate([w3[:, 96:] @ first, v3[:, 96:] @ second, np.ones((1, 24))])
        return g.Gemm(t, w, b3[96:] @ first + c3[96:] @ second)
    return given, expert


@network(x=(1, 32, 128))
def waveform_from_subbands(random):
    """Multi-band MelGAN (Yang et al. 2021), torch: bands are spread among zeros, filtered and added."""
    w, b, n = random(4, 32, 7), random(4), np.arange(63) - 31
    with np.errstate(invalid="ignore", divide="ignore"):
        ideal = np.where(n == 0, 0.142, np.sin(np.pi * 0.142 * n) / (np.pi * n))
    ideal = ideal * np.kaiser(63, 9.0)
    band = np.arange(4)[:, None]
    bank = 2 * ideal * np.cos((2 * band + 1) * np.pi / 8 * n - (-1.0) ** band * np.pi / 4)
    spread = np.zeros((4, 4, 4))
    spread[range(4), range(4), 0] = 1

    def given(g, x):
        t = g.Pad(x, [0, 0, 3, 0, 0, 3], mode="reflect")
        t = g.Tanh(g.Conv(t, w, b))
        t = g.ConvTranspose(t, g.Mul(spread, 4.0), strides=[4])
        t = g.Pad(t, [0, 0, 31, 0, 0, 31], "", mode="constant")
        return g.Conv(t, bank[None])

    def expert(g, x):
        # Four phases of the filters, at the rate of the bands.
        phases = np.zeros((4, 4, 16))
        for r in range(4):
            for d in range(-7, 9):
                if 0 <= 4 * d + 31 - r < 63:
                    phases[r, :, d + 7] = 4 * bank[:, 4 * d + 31 - r]
        t = g.Pad(x, [0, 0, 3, 0, 0, 3], mode="reflect")
        t = g.Conv(g.Tanh(g.Conv(t, w, b)), phases, pads=[7, 8])
        return g.Reshape(g.Transpose(t, perm=[0, 2, 1]), [1, 1, 512])
    return given, expert


@network(state=(256, 17), noise=(256, 6))
def squashed_action_and_its_chance(random):
    """Soft actor-critic (Haarnoja et al. 2018), torch: a sample and its chance by a normal density."""
    w1, b1, w2, b2 = random(17, 32), random(32), random(32, 32), random(32)
    wm, bm, ws, bs = random(32, 6), random(6), random(32, 6), random(6)
    limit = 2.0

    def given(g, state, noise):
        t = g.Relu(g.Gemm(state, w1.T.copy(), b1, transB=1))
        t = g.Relu(g.Gemm(t, w2.T.copy(), b2, transB=1))
        mean = g.Gemm(t, wm.T.copy(), bm, transB=1)
        size = g.Tanh(g.Gemm(t, ws.T.copy(), bs, transB=1))
        size = g.Exp(g.Add(g.Mul(g.Add(size, 1.0), 0.5 * 7.0), -5.0))
        action = g.Add(mean, g.Mul(noise, size))
        d = g.Neg(g.Pow(g.Sub(action, mean), 2.0))
        t = g.Sub(g.Div(d, g.Mul(g.Pow(size, 2.0), 2.0)), g.Log(size))
        t = g.ReduceSum(g.Sub(t, np.log(2 * np.pi) / 2), [-1], keepdims=1)
        fix = g.Sub(g.Sub(np.log(2.0), action), g.Softplus(g.Mul(action, -2.0)))
        t = g.Sub(t, g.ReduceSum(g.Mul(fix, 2.0), [1], keepdims=1))
        return g.Mul(g.Tanh(action), limit), t

    def expert(g, state, noise):
        # The noise is the normalized action; logarithms undo exponentials; all sums are one product.
        t = g.Relu(g.Gemm(g.Relu(g.Gemm(state, w1, b1)), w2, b2))
        t = g.Gemm(t, side_by_side(wm, ws), side_by_side(bm, bs))
        mean, size = g.Split(t, [6, 6], axis=1, results=2)
        size = g.Tanh(size)
        action = g.Add(mean, g.Mul(noise, g.Exp(g.Add(g.Mul(size, 3.5), -1.5))))
        t = g.Concat(g.Mul(noise, noise), size, action, g.Softplus(g.Mul(action, -2.0)), axis=1)
        weights = np.repeat([-0.5, -3.5, 2.0, 2.0], 6)[:, None]
        t = g.Gemm(t, weights, np.array([6 * (1.5 - np.log(2 * np.pi) / 2 - 2 * np.log(2.0))]))
        return g.Mul(g.Tanh(action), limit), t
    return given, expert


@network(x=(1, 4, 16, 18))
def graphs_of_a_skeleton(random):
    """ST-GCN (Yan et al. 2018), torch: three graphs of joints behind a convolution, then one along time."""
    graphs, importance = random.positive(3, 18, 18) / 18, random.positive(3, 18, 18)
    w, b, wt, bt = random(24, 4, 1, 1), random(24), random(8, 8, 9, 1), random(8)
    wr, br, n1, n2, n3 = random(8, 4, 1, 1), random(8), random.norm(8), random.norm(8), random.norm(8)

    def given(g, x):
        a = g.Reshape(g.Mul(graphs, importance), [54, 18])
        t = g.Reshape(g.Conv(x, w, b), [1, 3, 8, 16, 18])
        t = g.Reshape(g.Transpose(t, perm=[0, 2, 3, 1, 4]), [128, 54])
        t = g.Reshape(g.MatMul(t, a), [1, 8, 16, 18])
        t = g.Relu(g.BatchNormalization(t, *n1, epsilon=1e-5))
        t = g.BatchNormalization(g.Conv(t, wt, bt, pads=[4, 0, 4, 0]), *n2, epsilon=1e-5)
        shortcut = g.BatchNormalization(g.Conv(x, wr, br), *n3, epsilon=1e-5)
        return g.Relu(g.Add(t, shortcut))

    def expert(g, x):
        # Graphs first, where channels are few: no transpose, and three convolutions are one.
        a = graphs * importance
        kernel = w.reshape(3, 8, 4).transpose(1, 0, 2).reshape(8, 12, 1, 1)
        kernel, zero = folded(kernel, n1)
        bias = np.einsum("kc,kvw->cw", b.reshape(3, 8), a) * (n1[0] / np.sqrt(n1[3] + 1e-5))[:, None]
        t = g.Reshape(g.MatMul(x, a[:, None]), [1, 12, 16, 18])
        t = g.Relu(g.Add(g.Conv(t, kernel), (bias + zero[:, None])[:, None]))
        (v, c), (vr, cr) = folded(wt, n2, bias=bt), folded(wr, n3, bias=br)
        return g.Relu(g.Add(g.Conv(t, v, c + cr, pads=[4, 0, 4, 0]), g.Conv(x, vr)))
    return given, expert


@network(x=(2, 1, 20, 20), y=(2, 1, 20, 20))
def map_of_structural_similarity(random):
    """SSIM (pytorch-ssim, 2017), torch: five blurs by a Gaussian window with zeros around."""
    window = np.exp(-(np.arange(11) - 5.0) ** 2 / (2 * 1.5 ** 2))
    window = window / window.sum()

    def given(g, x, y):
        kernel = g.Unsqueeze(g.Unsqueeze(g.MatMul(window[:, None], window[None]), [0]), [0])

        def blurred(t):
            return g.Conv(t, kernel, pads=[5, 5, 5, 5])
        mx, my = blurred(x), blurred(y)
        mxx, myy, mxy = g.Pow(mx, 2.0), g.Pow(my, 2.0), g.Mul(mx, my)
        vx, vy = g.Sub(blurred(g.Mul(x, x)), mxx), g.Sub(blurred(g.Mul(y, y)), myy)
        vxy = g.Sub(blurred(g.Mul(x, y)), mxy)
        top = g.Mul(g.Add(g.Mul(mxy, 2.0), 0.01 ** 2), g.Add(g.Mul(vxy, 2.0), 0.03 ** 2))
        under = g.Mul(g.Add(g.Add(mxx, myy), 0.01 ** 2), g.Add(g.Add(vx, vy), 0.03 ** 2))
        return g.Div(top, under)

    def expert(g, x, y):
        # Only the sum of both variances matters: four blurs, not five, which are products with a band
        # matrix from either side; parts above and below the fraction are channels.
        band = np.zeros((20, 20))
        for k in range(-5, 6):
            band += window[k + 5] * np.eye(20, k=k)
        both = g.Concat(x, y, axis=1)
        cross = g.Mul(x, y)
        squares = g.ReduceSumSquare(both, [1], keepdims=1)
        t = g.MatMul(g.MatMul(band, g.Concat(both, cross, squares, axis=1)), band)
        m, second = g.Split(t, [2, 2], axis=1, results=2)
        mx, my = g.Split(m, [1, 1], axis=1, results=2)
        first = g.Concat(g.Mul(mx, my), g.ReduceSumSquare(m, [1], keepdims=1), axis=1)
        halves = np.array([0.5, 1.0])[:, None, None]
        t = g.Add(g.Sub(second, first), 0.03 ** 2 * halves)
        t = g.Mul(g.Add(first, 0.01 ** 2 * halves), t)
        top, under = g.Split(t, [1, 1], axis=1, results=2)
        return g.Div(g.Mul(top, 4.0), under)
    return given, expert


@network(x=(1, 32, 12, 12))
def residuals_from_centers_of_net_vlad(random):
    """NetVLAD (Arandjelović et al. 2016), torch: all places less all centers, weighted and summed."""
    w, centers = random(8, 32, 1, 1) * 8, random(8, 32)

    def given(g, x):
        length = g.Clip(g.ReduceL2(x, [1], keepdims=1), np.float32(1e-12))
        x = g.Div(x, g.Expand(length, [1, 32, 12, 12]))
        soft = g.Softmax(g.Reshape(g.Conv(x, w), [1, 8, -1]), axis=1)
        flat = g.Reshape(x, [1, 32, -1])
        places = g.Transpose(g.Expand(g.Unsqueeze(flat, [0]), [8, 1, 32, 144]), perm=[1, 0, 2, 3])
        means = g.Transpose(g.Expand(g.Unsqueeze(centers, [0]), [144, 8, 32]), perm=[1, 2, 0])
        t = g.Mul(g.Sub(places, g.Unsqueeze(means, [0])), g.Unsqueeze(soft, [2]))
        t = g.ReduceSum(t, [-1], keepdims=0)
        t = g.Div(t, g.Expand(g.Clip(g.ReduceL2(t, [2], keepdims=1), np.float32(1e-12)), [1, 8, 32]))
        t = g.Reshape(t, [1, -1])
        return g.Div(t, g.Expand(g.Clip(g.ReduceL2(t, [1], keepdims=1), np.float32(1e-12)), [1, 256]))

    def expert(g, x):
        # Sums of differences are a product less centers; lengths divide eight weights, not features.
        x = g.Reshape(x, [32, 144])
        length = g.Max(g.ReduceL2(x, [0], keepdims=1), 1e-12)
        soft = g.Softmax(g.Div(g.MatMul(w[:, :, 0, 0].copy(), x), length), axis=0)
        moved = g.Mul(g.ReduceSum(soft, [1], keepdims=1), centers)
        t = g.Gemm(g.Div(soft, length), x, moved, transB=1, beta=-1.0)
        t = g.Div(t, g.Max(g.ReduceL2(t, [1], keepdims=1), 1e-12))
        t = g.Reshape(t, [1, 256])
        return g.Div(t, g.Max(g.ReduceL2(t, [1], keepdims=1), 1e-12))
    return given, expert


@network(x=(1, 32, 32))
def attention_free_layer(random):
    """AFT-full (Zhai et al. 2021), torch: weights for pairs of positions in each channel."""
    wq, wk, wv, wo = (random(32, 32) for _ in range(4))
    bq, bk, bv, bo = (random(32) for _ in range(4))
    left, right = random(32, 16), random(32, 16) * 2

    def given(g, x):
        q, k, v = (g.Add(b, g.MatMul(x, w)) for w, b in ((wq, bq), (wk, bk), (wv, bv)))
        place = g.Unsqueeze(g.Unsqueeze(g.MatMul(left, g.Transpose(right, perm=[1, 0])), [0]), [3])
        t = g.Softmax(g.Add(g.Unsqueeze(k, [1]), place), axis=2)
        t = g.ReduceSum(g.Mul(t, g.Unsqueeze(v, [1])), [2], keepdims=0)
        return g.Add(bo, g.MatMul(g.Mul(g.Sigmoid(q), t), wo))

    def expert(g, x):
        # The exponential of a sum is a product: a constant matrix of positions, above and below.
        place = left @ right.T
        place = np.exp(place - place.max(axis=1, keepdims=True))
        t = g.Gemm(g.Reshape(x, [32, 32]), side_by_side(wq, wk, wv), side_by_side(bq, 0 * bk, bv))
        q, k, v = g.Split(t, [32, 32, 32], axis=1, results=3)
        k = g.Exp(g.Sub(k, g.ReduceMax(k, [0], keepdims=1)))
        t = g.MatMul(place, g.Concat(g.Mul(k, v), k, axis=1))
        above, below = g.Split(t, [32, 32], axis=1, results=2)
        t = g.Gemm(g.Mul(g.Sigmoid(q), g.Div(above, below)), wo, bo)
        return g.Unsqueeze(t, [0])
    return given, expert


@network(x=(256, 12))
def oblivious_trees_as_products(random):
    """CatBoost (Prokhorenkova et al. 2018) by Hummingbird (Nakandala et al. 2020)."""
    features = np.argsort(random.positive(8, 12), axis=1)[:, :3]
    bounds, leaves, base = random.positive(8, 3) - 1, random(8, 8) * 2, 0.3
    levels = np.array([0, 1, 1, 2, 2, 2, 2])  # of inner nodes, in a heap's order
    pick, paths, count = np.zeros((8, 7, 12)), np.zeros((8, 8, 7)), np.zeros((8, 8, 1))
    for tree in range(8):
        pick[tree, range(7), features[tree, levels]] = 1
        for leaf in range(8):
            node = 0
            for level in range(3):
                right = leaf >> (2 - level) & 1
                paths[tree, leaf, node] = -1 if right else 1
                count[tree, leaf] += 1 - right
                node = 2 * node + 1 + right

    def given(g, x):
        t = g.MatMul(pick.reshape(56, 12), g.Transpose(x, perm=[1, 0]))
        t = g.Less(t, bounds[:, levels].reshape(56, 1))
        t = g.Reshape(t, [8, 7, -1])
        t = g.MatMul(paths, g.Cast(t, to=1))
        t = g.Cast(g.Equal(t, count), to=1)
        t = g.MatMul(leaves[:, None], g.Reshape(t, [8, 8, -1]))
        t = g.Transpose(g.ReduceSum(g.Reshape(t, [8, 1, -1]), [0], keepdims=0), perm=[1, 0])
        return g.Add(t, base)

    def expert(g, x):
        # One comparison for each level; its three bits are a number, which looks a leaf up.
        t = g.Less(g.MatMul(x, np.eye(12)[:, features.ravel()].copy()), bounds.ravel())
        bits = np.kron(np.eye(8), np.array([[-4.0], [-2.0], [-1.0]]))
        t = g.Cast(g.Gemm(g.Cast(t, to=1), bits, 7 + 8.0 * np.arange(8)), to=6)
        return g.ReduceSum(g.Gather(leaves.ravel() + base / 8, t), [1], keepdims=1)
    return given, expert


@network(x=(64, 48))
def balanced_assignments_to_prototypes(random):
    """SwAV (Caron et al. 2020), torch: Sinkhorn's algorithm on a whole matrix."""
    w1, b1, w2, b2, prototypes = random(48, 64), random(64), random(64, 32), random(32), random(32, 24)

    def given(g, x):
        t = g.Relu(g.Gemm(x, w1.T.copy(), b1, transB=1))
        t = g.Gemm(t, w2.T.copy(), b2, transB=1)
        t = g.Div(t, g.Expand(g.Clip(g.ReduceL2(t, [1], keepdims=1), np.float32(1e-12)), [64, 32]))
        t = g.MatMul(t, g.Div(prototypes, g.ReduceL2(prototypes, [0], keepdims=1)))
        q = g.Transpose(g.Exp(g.Div(t, 0.05)), perm=[1, 0])
        q = g.Div(q, g.ReduceSum(q, keepdims=0))
        for _ in range(3):
            q = g.Div(g.Div(q, g.ReduceSum(q, [1], keepdims=1)), 24.0)
            q = g.Div(g.Div(q, g.ReduceSum(q, [0], keepdims=1)), 64.0)
        return g.Transpose(g.Mul(q, 64.0), perm=[1, 0])

    def expert(g, x):
        # Only factors of rows and columns change: products with vectors; all constants cancel. Scores
        # come beside features, of which the length alone is needed.
        unit = prototypes / np.linalg.norm(prototypes, axis=0) / 0.05
        t = g.Relu(g.Gemm(x, w1, b1))
        t = g.Gemm(t, side_by_side(w2, w2 @ unit), side_by_side(b2, b2 @ unit))
        t, score = g.Split(t, [32, 24], axis=1, results=2)
        q = g.Exp(g.Div(score, g.Max(g.ReduceL2(t, [1], keepdims=1), 1e-12)))
        column, turned = g.Reciprocal(g.ReduceSum(q, [0], keepdims=0)), g.Transpose(q, perm=[1, 0])
        for _ in range(2):
            row = g.Reciprocal(g.MatMul(column, turned))
            column = g.Reciprocal(g.MatMul(row, q))
        q = g.Mul(q, column)
        return g.Div(q, g.ReduceSum(q, [1], keepdims=1))
    return given, expert
