"""As exporters write them. torch.onnx: Lift, Splat, Shoot (Philion and Fidler 2020), Vocos (Siuzdak 2023),
FiBiNET (Huang et al. 2019), PatchTST (Nie et al. 2023), principal neighbourhood aggregation (Corso et al.
2020), MAR (Li et al. 2024), 3D Gaussian splatting (Kerbl et al. 2023). tf2onnx: Deep Potential (Zhang et al.
2018), MuZero (Schrittwieser et al. 2020). PaddlePaddle: VoxelNet (Zhou and Tuzel 2018). numpy: neural taggers
with a CRF (Lample et al. 2016), multi-level wavelet CNN (Liu et al. 2018)."""

import numpy as np

from networks import folded, network, side_by_side


@network(x=(1, 64, 16, 44))
def polar_view_of_lift_splat(random):
    """Lift, Splat, Shoot (Philion and Fidler 2020), torch: features times depths, summed over height."""
    wd, bd, wb, bb = random(73, 64, 1, 1), random(73), random(32, 32, 3, 3), random(32)

    def given(g, x):
        t = g.Conv(x, wd, bd)
        depth = g.Softmax(g.Slice(t, [0], [41], [1], [1]), axis=1)
        feature = g.Slice(t, [41], [73], [1], [1])
        volume = g.Mul(g.Unsqueeze(depth, [1]), g.Unsqueeze(feature, [2]))
        volume = g.Transpose(volume, perm=[0, 2, 3, 4, 1])
        view = g.Transpose(g.ReduceSum(volume, [2], keepdims=0), perm=[0, 3, 1, 2])
        return g.Relu(g.Conv(view, wb, bb, pads=[1, 1, 1, 1]))

    def expert(g, x):
        t = g.Conv(x, wd, bd)
        t = g.Transpose(g.Reshape(t, [73, 16, 44]), perm=[2, 1, 0])
        depth, feature = g.Split(t, [41, 32], axis=2, results=2)
        view = g.MatMul(g.Transpose(feature, perm=[0, 2, 1]), g.Softmax(depth, axis=2))
        view = g.Unsqueeze(g.Transpose(view, perm=[1, 2, 0]), [0])
        return g.Relu(g.Conv(view, wb, bb, pads=[1, 1, 1, 1]))
    return given, expert


@network(points=(256, 16, 4))
def voxel_features_of_paddle(random):
    """VoxelNet (Zhou and Tuzel 2018), PaddlePaddle: maxima are tiled beside points; norms in transposes."""
    w1, w2, w3 = random(7, 16), random(32, 32), random(64, 64)
    b1, b2, b3 = random(16), random(32), random(64)
    n1, n2, n3 = random.norm(16), random.norm(32), random.norm(64)

    def given(g, points):
        def dense(t, w, b, norm):
            t = g.Transpose(g.linear(t, w, b), perm=[0, 2, 1])
            return g.Relu(g.Transpose(g.BatchNormalization(t, *norm, epsilon=1e-5), perm=[0, 2, 1]))

        def encoded(t, w, b, norm):
            t = dense(t, w, b, norm)
            return g.Concat(t, g.Tile(g.ReduceMax(t, [1], keepdims=1), [1, 16, 1]), axis=2)
        place = g.Slice(points, [0], [3], [2])
        offset = g.Sub(place, g.ReduceMean(place, [1], keepdims=1))
        t = encoded(g.Concat(points, offset, axis=2), w1, b1, n1)
        t = dense(encoded(t, w2, b2, n2), w3, b3, n3)
        return g.ReduceMax(t, [1], keepdims=0)

    def expert(g, points):
        (v1, c1), (v2, c2), (v3, c3) = (
            folded(w.T, norm, bias=b) for w, b, norm in ((w1, b1, n1), (w2, b2, n2), (w3, b3, n3)))
        away = np.pad(v1.T[4:], ((0, 1), (0, 0)))
        shared = g.linear(g.ReduceMean(points, [1], keepdims=1), -away, c1)
        t = g.Relu(g.Add(g.MatMul(points, v1.T[:4] + away), shared))
        shared = g.linear(g.ReduceMax(t, [1], keepdims=1), v2.T[16:].copy(), c2)
        t = g.Relu(g.Add(g.MatMul(t, v2.T[:16].copy()), shared))
        shared = g.linear(g.ReduceMax(t, [1], keepdims=0), v3.T[32:].copy(), c3)
        t = g.ReduceMax(g.MatMul(t, v3.T[:32].copy()), [1], keepdims=0)
        return g.Relu(g.Add(t, shared))
    return given, expert


@network(x=(1, 96, 128))
def waveform_head_of_vocos(random):
    """Vocos (Siuzdak 2023), torch: an inverse transform by products; frames overlap by an identity kernel."""
    w, b = random(128, 258), random(258)
    angle = 2 * np.pi * np.arange(256)[:, None] * np.arange(129) / 256
    twice = np.where((np.arange(129) == 0) | (np.arange(129) == 128), 1.0, 2.0) / 16
    real_basis, imaginary_basis = np.cos(angle) * twice, -np.sin(angle) * twice
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(256) / 256)
    envelope = np.zeros(256 + 95 * 64)
    for k in range(96):
        envelope[k * 64:k * 64 + 256] += window ** 2
    envelope = envelope[96:-96]

    def given(g, x):
        t = g.Transpose(g.linear(x, w, b), perm=[0, 2, 1])
        size, phase = g.Split(t, [129, 129], axis=1, results=2)
        size = g.Clip(g.Exp(size), "", np.float32(100.0))
        real, imaginary = g.Mul(size, g.Cos(phase)), g.Mul(size, g.Sin(phase))
        frames = g.Add(g.MatMul(real_basis, real), g.MatMul(imaginary_basis, imaginary))
        frames = g.Mul(frames, window[:, None])
        t = g.ConvTranspose(frames, np.eye(256)[:, None, :], strides=[64])
        t = g.Slice(g.Squeeze(t, [1]), [96], [-96], [1])
        return g.Div(t, envelope[None])

    def expert(g, x):
        basis = np.concatenate([real_basis.T, imaginary_basis.T]) * window
        t = g.Transpose(g.linear(x, w, b), perm=[0, 2, 1])
        size, phase = g.Split(t, [129, 129], axis=1, results=2)
        size = g.Min(g.Exp(size), 100.0)
        t = g.Concat(g.Mul(size, g.Cos(phase)), g.Mul(size, g.Sin(phase)), axis=1)
        t = g.ConvTranspose(t, basis[:, None, :], strides=[64], pads=[96, 96])
        return g.Mul(g.Reshape(t, [1, -1]), 1 / envelope[None])
    return given, expert


@network(score=(64, 8, 24))
def partition_of_tag_sequences(random):
    """BiLSTM-CRF (Lample et al. 2016), numpy: the forward algorithm in logarithms over all pairs of tags."""
    start, end, step = random(24), random(24), random(24, 24) * 3

    def given(g, score):
        total = g.Add(g.Gather(score, 0, axis=1), start)
        for k in range(1, 8):
            pairs = g.Add(g.Unsqueeze(total, [2]), step[None])
            pairs = g.Add(pairs, g.Unsqueeze(g.Gather(score, k, axis=1), [1]))
            total = g.ReduceLogSumExp(pairs, [1], keepdims=0)
        return g.ReduceLogSumExp(g.Add(total, end), [1], keepdims=0)

    def expert(g, score):
        # Chances, not logarithms: each step is a product with a constant matrix.
        top = g.ReduceMax(score, [2], keepdims=1)
        t = g.Split(g.Exp(g.Sub(score, top)), [1] * 8, axis=1, results=8)
        move = np.exp(step) / 24
        p = g.MatMul(t[0], np.exp(start)[:, None] * move)
        for k in range(1, 7):
            p = g.MatMul(g.Mul(p, t[k]), move)
        p = g.MatMul(g.Mul(p, t[7]), np.exp(end + 7 * np.log(24.0))[:, None])
        return g.Reshape(g.Add(g.Log(p), g.ReduceSum(top, [1], keepdims=1)), [64])
    return given, expert


@network(x=(512, 4, 16))
def bilinear_pairs_of_fibinet(random):
    """FiBiNET (Huang et al. 2019), DeepCTR-Torch: pairs in a loop, and again with gated fields."""
    weights, w1, w2 = [random(16, 16) for _ in range(3)], random(4, 2) + 0.5, random(2, 4) + 0.5
    wd, bd = random(192, 32), random(32)
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]

    def given(g, x):
        def products(t):
            fields = g.Split(t, [1, 1, 1, 1], axis=1, results=4)
            return g.Concat(*(g.Mul(g.MatMul(fields[i], weights[i]), fields[j]) for i, j in pairs), axis=1)
        gate = g.Relu(g.MatMul(g.Relu(g.MatMul(g.ReduceMean(x, [-1], keepdims=0), w1)), w2))
        scaled = products(g.Mul(x, g.Unsqueeze(gate, [2])))
        t = g.Flatten(g.Concat(scaled, products(x), axis=1), axis=1)
        return g.Relu(g.Gemm(t, wd.T.copy(), bd, transB=1))

    def expert(g, x):
        # A pair is bilinear: gates of both its fields multiply it.
        first, second = [i for i, _ in pairs], [j for _, j in pairs]
        gate = g.Relu(g.MatMul(g.Relu(g.MatMul(g.ReduceMean(x, [2], keepdims=0), w1)), w2))
        gate = g.Mul(g.Gather(gate, first, axis=1), g.Gather(gate, second, axis=1))
        fields = g.Split(x, [1, 1, 1, 1], axis=1, results=4)
        left = [g.MatMul(t, w) for t, w in zip(fields, weights)]
        t = g.Concat(*(g.Mul(left[i], fields[j]) for i, j in pairs), axis=1)
        t = g.Concat(g.Mul(t, g.Unsqueeze(gate, [2])), t, axis=1)
        return g.Relu(g.Gemm(g.Reshape(t, [512, 192]), wd, bd))
    return given, expert


@network(h=(256, 32), mail=(256, 8, 32))
def bucket_of_principal_aggregation(random):
    """PNA (Corso et al. 2020), DGL: nodes of one degree; four aggregates under three scales."""
    w, b, norm = random(416, 32), random(32), random.norm(32)
    scales = 1.0, np.log(9.0) / 1.7, 1.7 / np.log(9.0)

    def given(g, h, mail):
        mean = g.ReduceMean(mail, [1], keepdims=0)
        squares = g.ReduceMean(g.Mul(mail, mail), [1], keepdims=0)
        variance = g.Relu(g.Sub(squares, g.Mul(mean, mean)))
        deviation = g.Sqrt(g.Add(variance, 1e-5))
        most, least = g.ReduceMax(mail, [1], keepdims=0), g.ReduceMin(mail, [1], keepdims=0)
        t = g.Concat(mean, most, least, deviation, axis=1)
        t = g.Concat(t, g.Mul(t, scales[1]), g.Mul(t, scales[2]), axis=1)
        t = g.Gemm(g.Concat(h, t, axis=1), w.T.copy(), b, transB=1)
        return g.Add(h, g.Relu(g.BatchNormalization(t, *norm, epsilon=1e-5)))

    def expert(g, h, mail):
        v, c = folded(w.T, norm, bias=b)
        v = v.T
        v = np.concatenate([v[:32], sum(s * t for s, t in zip(scales, np.split(v[32:], 3)))])
        mean = g.ReduceMean(mail, [1], keepdims=0)
        squares = g.Mul(g.ReduceSumSquare(mail, [1], keepdims=0), 1 / 8)
        variance = g.Relu(g.Sub(squares, g.Mul(mean, mean)))
        deviation = g.Sqrt(g.Add(variance, 1e-5))
        most, least = g.ReduceMax(mail, [1], keepdims=0), g.ReduceMin(mail, [1], keepdims=0)
        t = g.Gemm(g.Concat(h, mean, most, least, deviation, axis=1), v, c)
        return g.Add(h, g.Relu(t))
    return given, expert


@network(x=(1, 96, 7))
def patches_of_patch_tst(random):
    """PatchTST (Nie et al. 2023), torch: unfold is a slice for each patch; series are normalized and back."""
    wp, place = random(16, 64), random(12, 64) + random(64)
    w1, b1, w2, b2 = random(64, 128), random(128), random(128, 64), random(64)
    norm, wh, bh = random.norm(64), random(768, 24), random(24)

    def given(g, x):
        mean = g.ReduceMean(x, [1], keepdims=1)
        d = g.Sub(x, mean)
        deviation = g.Sqrt(g.Add(g.ReduceMean(g.Mul(d, d), [1], keepdims=1), 1e-5))
        t = g.Transpose(g.Div(g.Sub(x, mean), deviation), perm=[0, 2, 1])
        t = g.Pad(t, [0, 0, 0, 0, 0, 8], mode="edge")
        patches = [g.Slice(t, [8 * k], [8 * k + 16], [2]) for k in range(12)]
        t = g.Concat(*(g.Unsqueeze(t, [2]) for t in patches), axis=2)
        t = g.Add(g.MatMul(t, wp), place)
        t = g.Reshape(t, [7, 12, 64])
        inner = g.Add(b1, g.MatMul(t, w1))
        inner = g.Mul(g.Mul(inner, g.Add(g.Erf(g.Div(inner, 2 ** 0.5)), 1.0)), 0.5)
        t = g.Add(t, g.Add(b2, g.MatMul(inner, w2)))
        t = g.BatchNormalization(g.Transpose(t, perm=[0, 2, 1]), *norm, epsilon=1e-5)
        t = g.Transpose(t, perm=[0, 2, 1])
        t = g.Transpose(g.Reshape(t, [1, 7, 12, 64]), perm=[0, 1, 3, 2])
        t = g.Add(bh, g.MatMul(g.Reshape(t, [1, 7, 768]), wh))
        return g.Add(g.Mul(g.Transpose(t, perm=[0, 2, 1]), deviation), mean)

    def expert(g, x):
        # Halves of patches are two views of the series.
        t = g.Reshape(g.Transpose(x, perm=[0, 2, 1]), [7, 96])
        t, mean, inverse = g.LayerNormalization(t, np.ones(96), axis=-1, epsilon=1e-5, results=3)
        later = g.Pad(g.Slice(t, [8], [96], [1]), [0, 0, 0, 8], mode="edge")
        t = g.Concat(g.Reshape(t, [7, 12, 8]), g.Reshape(later, [7, 12, 8]), axis=2)
        t = g.linear(t, wp, place)
        t = g.Add(t, g.linear(g.Gelu(g.linear(t, w1, b1)), w2, b2))
        factor = norm[0] / np.sqrt(norm[3] + 1e-5)
        head = wh.reshape(64, 12, 24).transpose(1, 0, 2)
        bias = bh + np.einsum("d,pdo->o", norm[1] - norm[2] * factor, head)
        t = g.Gemm(g.Reshape(t, [7, 768]), (head * factor[:, None]).reshape(768, 24), bias)
        t = g.Add(g.Div(t, inverse), mean)
        return g.Unsqueeze(g.Transpose(t, perm=[1, 0]), [0])
    return given, expert


@network(state=(16, 64, 6, 6), action=(16, 18))
def dynamics_of_muzero(random):
    """MuZero (Schrittwieser et al. 2020), tf2onnx: actions are planes beside states, which are scaled."""
    w1, w2, w3 = random(64, 82, 3, 3), random(64, 64, 3, 3), random(64, 64, 3, 3) / 2
    b1, b2, b3, wr, br = random(64), random(64), random(64), random(2, 64, 1, 1), random(2)
    wf, bf, support = random(72, 21), random(21), np.arange(-10.0, 11.0)

    def given(g, state, action):
        planes = g.Expand(g.Unsqueeze(action, [2, 3]), [16, 18, 6, 6])
        t = g.Conv(g.Concat(state, planes, axis=1), w1, b1, pads=[1, 1, 1, 1])
        t = g.Relu(g.Add(t, state))
        inner = g.Relu(g.Conv(t, w2, b2, pads=[1, 1, 1, 1]))
        t = g.Relu(g.Add(g.Conv(inner, w3, b3, pads=[1, 1, 1, 1]), t))
        reward = g.Reshape(g.Relu(g.Conv(t, wr, br)), [16, 72])
        reward = g.Softmax(g.linear(reward, wf, bf), axis=-1)
        reward = g.ReduceSum(g.Mul(reward, support), [1], keepdims=1)
        flat = g.Reshape(t, [16, 64, 36])
        least = g.Unsqueeze(g.ReduceMin(flat, [2], keepdims=1), [3])
        most = g.Unsqueeze(g.ReduceMax(flat, [2], keepdims=1), [3])
        return g.Div(g.Sub(t, least), g.Add(g.Sub(most, least), 1e-3)), reward

    def expert(g, state, action):
        # What an even plane adds is known for each action, borders included; the state is a kernel's middle.
        inside = np.pad(np.ones((6, 6)), 1)
        near = np.stack([inside[i:i + 6, j:j + 6] for i in range(3) for j in range(3)])
        table = np.einsum("oak,khw->aohw", w1[:, 64:].reshape(64, 18, 9), near)
        table = table.reshape(18, 2304)
        kernel = w1[:, :64].copy()
        kernel[np.arange(64), np.arange(64), 1, 1] += 1
        t = g.Conv(state, kernel, b1, pads=[1, 1, 1, 1])
        t = g.Relu(g.Add(t, g.Reshape(g.MatMul(action, table), [16, 64, 6, 6])))
        inner = g.Relu(g.Conv(t, w2, b2, pads=[1, 1, 1, 1]))
        t = g.Relu(g.Add(g.Conv(inner, w3, b3, pads=[1, 1, 1, 1]), t))
        reward = g.Reshape(g.Relu(g.Conv(t, wr, br)), [16, 72])
        reward = g.MatMul(g.Softmax(g.linear(reward, wf, bf), axis=-1), support[:, None])
        least, most = g.ReduceMin(t, [2, 3], keepdims=1), g.ReduceMax(t, [2, 3], keepdims=1)
        return g.Div(g.Sub(t, least), g.Add(g.Sub(most, least), 1e-3)), reward
    return given, expert


@network(x=(64, 32), time=(64, 1), condition=(64, 96))
def denoising_head_of_mar(random):
    """MAR (Li et al. 2024), torch: a perceptron denoises tokens; each block has a layer of modulations."""
    rate = np.exp(-np.log(100.0) * np.arange(32) / 32)
    wt, wu, wc, wx = random(64, 96), random(96, 96), random(96, 96), random(32, 96)
    bt, bu, bc, bx = (random(96) for _ in range(4))
    wl, bl, wy, by = random(96, 192), random(192), random(96, 32), random(32)
    blocks = [(random.positive(96), random(96), random(96, 288), random(288),
               random(96, 96), random(96), random(96, 96), random(96)) for _ in range(2)]

    def given(g, x, time, condition):
        def layer(t, w, b):
            return g.Gemm(t, w.T.copy(), b, transB=1)

        def silu(t):
            return g.Mul(t, g.Sigmoid(t))

        def modulated(t, shift, scale):
            return g.Add(g.Mul(t, g.Add(scale, 1.0)), shift)
        angle = g.Mul(time, rate[None])
        t = g.Concat(g.Cos(angle), g.Sin(angle), axis=-1)
        y = g.Add(layer(silu(layer(t, wt, bt)), wu, bu), layer(condition, wc, bc))
        t = layer(x, wx, bx)
        for s, o, wm, bm, w1, b1, w2, b2 in blocks:
            shift, scale, gate = g.Split(layer(silu(y), wm, bm), [96, 96, 96], axis=-1, results=3)
            inner = modulated(g.LayerNormalization(t, s, o, axis=-1, epsilon=1e-6), shift, scale)
            inner = layer(silu(layer(inner, w1, b1)), w2, b2)
            t = g.Add(t, g.Mul(gate, inner))
        shift, scale = g.Split(layer(silu(y), wl, bl), [96, 96], axis=-1, results=2)
        t = g.LayerNormalization(t, np.ones(96), np.zeros(96), axis=-1, epsilon=1e-6)
        return layer(modulated(t, shift, scale), wy, by)

    def expert(g, x, time, condition):
        # All modulations in one product, with norms' scales and offsets and the ones within.
        w, b = [], []
        for s, o, wm, bm, *_ in blocks:
            (ws, wf, wg), (bs, bf, bg) = np.split(wm, 3, axis=1), np.split(bm, 3)
            w += [ws + wf * o, wf * s, wg]
            b += [bs + (bf + 1) * o, (bf + 1) * s, bg]
        w, b = side_by_side(*w, wl), side_by_side(*b, bl) + np.repeat([0.0, 1.0], [672, 96])

        def silu(t):
            return g.Mul(t, g.Sigmoid(t))
        angle = g.Mul(time, rate[None])
        t = silu(g.Gemm(g.Concat(g.Cos(angle), g.Sin(angle), axis=1), wt, bt))
        y = silu(g.Gemm(g.Concat(t, condition, axis=1), np.concatenate([wu, wc]), bu + bc))
        parts = g.Split(g.Gemm(y, w, b), [96] * 8, axis=1, results=8)
        t = g.Gemm(x, wx, bx)
        for k, (_, _, _, _, w1, b1, w2, b2) in enumerate(blocks):
            shift, scale, gate = parts[3 * k:3 * k + 3]
            inner = g.LayerNormalization(t, np.ones(96), axis=-1, epsilon=1e-6)
            inner = g.Gemm(silu(g.Gemm(g.Add(g.Mul(inner, scale), shift), w1, b1)), w2, b2)
            t = g.Add(t, g.Mul(gate, inner))
        t = g.LayerNormalization(t, np.ones(96), axis=-1, epsilon=1e-6)
        return g.Gemm(g.Add(g.Mul(t, parts[7]), parts[6]), wy, by)
    return given, expert


@network(place=(4096, 3), sh=(4096, 3, 9))
def colors_of_gaussian_splats(random):
    """3D Gaussian splatting (Kerbl et al. 2023), torch: spherical harmonics, written term by term."""
    eye = random(3) * 3
    c0, c1, c2 = 0.28209479, 0.48860251, (1.09254843, -1.09254843, 0.31539157, -1.09254843, 0.54627422)

    def given(g, place, sh):
        d = g.Sub(place, eye[None])
        d = g.Div(d, g.ReduceL2(d, [1], keepdims=1))
        x, y, z = (g.Slice(d, [k], [k + 1], [1]) for k in range(3))

        def term(factor, k):
            return g.Mul(factor, g.Gather(sh, k, axis=2))
        t = g.Mul(g.Gather(sh, 0, axis=2), c0)
        t = g.Sub(t, term(g.Mul(y, c1), 1))
        t = g.Add(t, term(g.Mul(z, c1), 2))
        t = g.Sub(t, term(g.Mul(x, c1), 3))
        xx, yy, zz = (g.Mul(a, a) for a in (x, y, z))
        xy, yz, xz = (g.Mul(a, b) for a, b in ((x, y), (y, z), (x, z)))
        t = g.Add(t, term(g.Mul(xy, c2[0]), 4))
        t = g.Add(t, term(g.Mul(yz, c2[1]), 5))
        t = g.Add(t, term(g.Mul(g.Sub(g.Sub(g.Mul(zz, 2.0), xx), yy), c2[2]), 6))
        t = g.Add(t, term(g.Mul(xz, c2[3]), 7))
        t = g.Add(t, term(g.Mul(g.Sub(xx, yy), c2[4]), 8))
        return g.Clip(g.Add(t, 0.5), np.float32(0.0))

    def expert(g, place, sh):
        # Harmonics are a product: linear in directions and in pairs of their coordinates.
        first, second, bias = np.zeros((3, 9)), np.zeros((3, 3, 9)), np.zeros(9)
        bias[0] = c0
        first[[1, 2, 0], [1, 2, 3]] = -c1, c1, -c1
        second[[0, 1, 0], [1, 2, 2], [4, 5, 7]] = c2[0], c2[1], c2[3]
        second[[0, 1, 2], [0, 1, 2], 6] = -c2[2], -c2[2], 2 * c2[2]
        second[[0, 1], [0, 1], 8] = c2[4], -c2[4]
        d = g.Sub(place, eye[None])
        d = g.Div(d, g.ReduceL2(d, [1], keepdims=1))
        pairs = g.Reshape(g.Mul(g.Unsqueeze(d, [2]), g.Unsqueeze(d, [1])), [4096, 9])
        basis = g.Gemm(g.Concat(d, pairs, axis=1), np.concatenate([first, second.reshape(9, 9)]), bias)
        t = g.ReduceSum(g.Mul(sh, g.Unsqueeze(basis, [1])), [2], keepdims=0)
        return g.Relu(g.Add(t, 0.5))
    return given, expert


@network(x=(1, 16, 64, 64))
def wavelets_around_convolutions(random):
    """MWCNN (Liu et al. 2018), as its code: Haar wavelets by strided slices and sums, and back."""
    w1, b1, w2, b2 = random(64, 64, 3, 3), random(64), random(64, 64, 3, 3), random(64)

    def given(g, x):
        def every_other(t, axis):
            return [g.Slice(t, [k], [64], [axis], [2]) for k in (0, 1)]
        upper, lower = (g.Div(t, 2.0) for t in every_other(x, 2))
        (p, r), (q, s) = every_other(upper, 3), every_other(lower, 3)
        t = g.Concat(g.Add(g.Add(g.Add(p, q), r), s), g.Add(g.Add(g.Sub(g.Neg(p), q), r), s),
                     g.Add(g.Sub(g.Add(g.Neg(p), q), r), s), g.Add(g.Sub(g.Sub(p, q), r), s), axis=1)
        t = g.Relu(g.Conv(t, w1, b1, pads=[1, 1, 1, 1]))
        t = g.Conv(t, w2, b2, pads=[1, 1, 1, 1])
        p, q, r, s = (g.Div(g.Slice(t, [16 * k], [16 * k + 16], [1]), 2.0) for k in range(4))
        rows = []
        for left, right in (((g.Sub, g.Sub, g.Add), (g.Add, g.Sub, g.Sub)),
                            ((g.Sub, g.Add, g.Sub), (g.Add, g.Add, g.Add))):
            columns = [g.Unsqueeze(signs[2](signs[1](signs[0](p, q), r), s), [4]) for signs in (left, right)]
            rows.append(g.Unsqueeze(g.Reshape(g.Concat(*columns, axis=4), [1, 16, 32, 64]), [3]))
        return g.Add(g.Reshape(g.Concat(*rows, axis=3), [1, 16, 64, 64]), x)

    def expert(g, x):
        # Wavelets are sums of channels once pixels are moved into channels, so kernels hold them.
        haar = np.array([[[1, 1], [1, 1]], [[-1, 1], [-1, 1]], [[-1, -1], [1, 1]], [[1, -1], [-1, 1]]]) / 2
        first = np.einsum("okcab,kij->oijcab", w1.reshape(64, 4, 16, 3, 3), haar).reshape(64, 64, 3, 3)
        second = np.einsum("kcnab,kij->ijcnab", w2.reshape(4, 16, 64, 3, 3), haar).reshape(64, 64, 3, 3)
        bias = np.einsum("kc,kij->ijc", b2.reshape(4, 16), haar).ravel()
        t = g.Relu(g.Conv(g.SpaceToDepth(x, blocksize=2), first, b1, pads=[1, 1, 1, 1]))
        t = g.Conv(t, second, bias, pads=[1, 1, 1, 1])
        return g.Add(g.DepthToSpace(t, blocksize=2, mode="DCR"), x)
    return given, expert


@network(r=(64, 48, 4))
def energy_of_deep_potential(random):
    """Deep Potential, smooth (Zhang et al. 2018), tf2onnx: descriptors from all pairs of neighbours."""
    w1, w2, w3 = random(1, 8), random(8, 16), random(16, 32)
    b1, b2, b3 = random(8), random(16), random(32)
    v1, v2, v3 = random(256, 64) * 4, random(64, 64), random(64, 1)
    c1, c2, c3 = random(64), random(64), random(1)

    def given(g, r):
        t = g.Reshape(g.Slice(r, [0], [1], [2]), [-1, 1])
        t = g.Tanh(g.linear(t, w1, b1))
        for w, b in ((w2, b2), (w3, b3)):
            t = g.Add(g.Concat(t, t, axis=1), g.Tanh(g.linear(t, w, b)))
        t = g.Reshape(t, [64, 48, 32])
        pairs = g.MatMul(r, g.Transpose(r, perm=[0, 2, 1]))
        d = g.MatMul(g.Transpose(t, perm=[0, 2, 1]), pairs)
        d = g.Div(g.MatMul(d, g.Slice(t, [0], [8], [2])), 48.0 ** 2)
        h = g.Tanh(g.linear(g.Reshape(d, [64, 256]), v1, c1))
        h = g.Add(h, g.Tanh(g.linear(h, v2, c2)))
        return g.ReduceSum(g.linear(h, v3, c3), [0], keepdims=0)

    def expert(g, r):
        t = g.Slice(r, [0], [1], [2])
        t = g.Tanh(g.Add(g.Mul(t, w1), b1))
        for w, b in ((w2, b2), (w3, b3)):
            t = g.Add(g.Concat(t, t, axis=2), g.Tanh(g.linear(t, w, b)))
        # Four coordinates lie between the neighbours.
        d = g.MatMul(g.Transpose(r, perm=[0, 2, 1]), t)
        d = g.MatMul(g.Transpose(d, perm=[0, 2, 1]), g.Slice(d, [0], [8], [2]))
        h = g.Tanh(g.linear(g.Reshape(d, [64, 256]), v1 / 48 ** 2, c1))
        h = g.Add(h, g.Tanh(g.linear(h, v2, c2)))
        return g.linear(g.ReduceSum(h, [0], keepdims=0), v3, 64 * c3)
    return given, expert
