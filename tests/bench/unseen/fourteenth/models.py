"""As exporters write them. torch.onnx: A2-Nets (Chen et al. 2018), Mask2Former (Cheng et al. 2022), Conv-
TasNet (Luo and Mesgarani 2019), Graph WaveNet (Wu et al. 2019), FITS (Xu et al. 2024), KPConv (Thomas et
al. 2019), AdaIN (Huang and Belongie 2017), GAE (Schulman et al. 2016). PaddlePaddle: PP-YOLO (Long et al.
2020), FastSpeech 2 (Ren et al. 2021). tf2onnx: AFM (Xiao et al. 2017), C51 (Bellemare et al. 2017). Keras:
BiDAF (Seo et al. 2017). jax2onnx: mip-NeRF (Barron et al. 2021). skl2onnx: calibrated folds (Platt 1999).
numpy: incompressible lattice Boltzmann (He and Luo 1997)."""

import numpy as np

from networks import block_diagonal, folded, network, side_by_side


def variance_of_torch(g, t, count, axes):
    """The unbiased variance of `count` numbers, as torch.onnx decomposes it."""
    d = g.Sub(t, g.ReduceMean(t, axes, keepdims=1))
    return g.Div(g.Mul(g.ReduceMean(g.Mul(d, d), axes, keepdims=1), float(count)), count - 1.0)


@network(x=(1, 128, 28, 28))
def features_gathered_by_double_attention(random):
    """A2-Nets (Chen et al. 2018), torch: pixels are projected before few vectors are gathered."""
    (wa, ba), (wb, bb), (wv, bv), (wo, bo) = (
        (random(m, n, 1, 1), random(m)) for m, n in ((64, 128), (16, 128), (16, 128), (128, 64)))

    def given(g, x):
        a = g.Reshape(g.Conv(x, wa, ba), [1, 64, 784])
        b = g.Softmax(g.Reshape(g.Conv(x, wb, bb), [1, 16, 784]), axis=-1)
        v = g.Softmax(g.Reshape(g.Conv(x, wv, bv), [1, 16, 784]), axis=1)
        t = g.MatMul(g.MatMul(a, g.Transpose(b, perm=[0, 2, 1])), v)
        return g.Add(g.Conv(g.Reshape(t, [1, 64, 28, 28]), wo, bo), x)

    def expert(g, x):
        # Weights sum to 1 over pixels and over vectors: projections act on the gathered vectors alone.
        before, after, x = wa[:, :, 0, 0], wo[:, :, 0, 0], g.Reshape(x, [128, 784])
        t = g.Gemm(np.concatenate([wb, wv])[:, :, 0, 0], x, np.concatenate([bb, bv])[:, None])
        b, v = g.Split(t, [16, 16], axis=0, results=2)
        t = g.Gemm(x, g.Softmax(b, axis=1), transB=1)
        t = g.Gemm(after @ before, t, (after @ ba + bo)[:, None])
        return g.Reshape(g.Gemm(t, g.Softmax(v, axis=0), x), [1, 128, 28, 28])
    return given, expert


@network(query=(1, 40, 128), x=(1, 128, 48, 48))
def masks_of_queries_in_mask2former(random):
    """Mask2Former (Cheng et al. 2022), torch: pixels are projected, then multiplied with few queries."""
    scale, offset, wc, bc = random.positive(128), random(128), random(128, 21), random(21)
    w1, w2, w3, wf = random(128, 128), random(128, 128), random(128, 128), random(128, 128, 1, 1)
    b1, b2, b3, bf = (random(128) for _ in range(4))

    def given(g, query, x):
        pixels = g.Conv(x, wf, bf)
        query = g.LayerNormalization(query, scale, offset, axis=-1, epsilon=1e-5)
        t = g.Relu(g.Add(b2, g.MatMul(g.Relu(g.Add(b1, g.MatMul(query, w1))), w2)))
        t = g.Add(b3, g.MatMul(t, w3))
        return g.Add(bc, g.MatMul(query, wc)), g.Einsum(t, pixels, equation="bqc,bchw->bqhw")

    def expert(g, query, x):
        first, last = side_by_side(w1, wc), side_by_side(wf[:, :, 0, 0], bf[:, None])
        t = g.LayerNormalization(g.Reshape(query, [40, 128]), np.ones(128), axis=-1, epsilon=1e-5)
        t = g.Gemm(t, first * scale[:, None], side_by_side(b1, bc) + offset @ first)
        t, classes = g.Split(t, [128, 21], axis=1, results=2)
        t = g.Relu(g.Gemm(g.Relu(t), w2, b2))
        t, height = g.Split(g.Gemm(t, w3 @ last, b3 @ last), [128, 1], axis=1, results=2)
        masks = g.Gemm(t, g.Reshape(x, [128, 2304]), height)
        return g.Unsqueeze(classes, [0]), g.Reshape(masks, [1, 40, 48, 48])
    return given, expert


@network(x=(1, 128, 16, 16), y=(1, 48, 32, 32))
def coordinates_in_neck_of_pp_yolo(random):
    """PP-YOLO (Long et al. 2020), PaddlePaddle: coordinates are computed and set beside features; norms."""
    layers = [(random(64, 130, 1, 1), random.norm(64)), (random(32, 64, 1, 1), random.norm(32)),
              (random(48, 82, 1, 1), random.norm(48))]

    def enlarged(g, t):
        return g.Resize(t, "", np.array([1, 1, 2, 2], np.float32), mode="nearest", nearest_mode="floor",
                        coordinate_transformation_mode="asymmetric")

    def given(g, x, y):
        def layer(t, w, norm):
            return g.LeakyRelu(g.BatchNormalization(g.Conv(t, w), *norm, epsilon=1e-5), alpha=0.1)

        def with_coordinates(size, t):
            line = g.Sub(g.Mul(g.Div(np.arange(float(size)), size - 1.0), 2.0), 1.0)
            across, down = g.Reshape(line, [1, 1, 1, size]), g.Reshape(line, [1, 1, size, 1])
            return g.Concat(t, *(g.Expand(t, [1, 1, size, size]) for t in (across, down)), axis=1)
        route = layer(with_coordinates(16, x), *layers[0])
        t = g.Concat(enlarged(g, layer(route, *layers[1])), y, axis=1)
        return route, layer(with_coordinates(32, t), *layers[2])

    def expert(g, x, y):
        def parts(w, norm, size):
            w, b = folded(w[:, :, 0, 0], norm)
            line = np.linspace(-1, 1, size)
            both = np.stack([np.tile(line, size), np.repeat(line, size)])
            return w[:, :-2].copy(), w[:, -2:] @ both + b[:, None]
        (w1, c1), (w2, c2), (w3, c3) = parts(*layers[0], 16), folded(*layers[1]), parts(*layers[2], 32)
        t = g.LeakyRelu(g.Gemm(w1, g.Reshape(x, [128, 256]), c1), alpha=0.1)
        route = g.Reshape(t, [1, 64, 16, 16])
        t = g.LeakyRelu(g.Gemm(w2[:, :, 0, 0], t, c2[:, None]), alpha=0.1)
        # The last layer's part of what is enlarged comes before that.
        t = enlarged(g, g.Reshape(g.MatMul(w3[:, :32].copy(), t), [1, 48, 16, 16]))
        rest = g.Gemm(w3[:, 32:].copy(), g.Reshape(y, [48, 1024]), c3)
        return route, g.LeakyRelu(g.Add(t, g.Reshape(rest, [1, 48, 32, 32])), alpha=0.1)
    return given, expert


@network(x=(1, 64, 400))
def separation_block_of_conv_tasnet(random):
    """Conv-TasNet (Luo and Mesgarani 2019), torch (Asteroid): global norms in steps, two last layers."""
    wi, wd, wr, ws = random(128, 64, 1), random(128, 1, 3), random(64, 128, 1), random(64, 128, 1)
    bi, bd, br, bs = random(128), random(128), random(64), random(64)
    gain1, bias1, gain2, bias2 = random.positive(128), random(128), random.positive(128), random(128)
    slope1, slope2 = np.array([[0.25]]), np.array([[0.2]])

    def given(g, x):
        def norm(t, gain, bias):
            d = g.Sub(t, g.ReduceMean(t, [1, 2], keepdims=1))
            variance = g.ReduceMean(g.Pow(d, 2.0), [1, 2], keepdims=1)
            t = g.Div(g.Sub(t, g.ReduceMean(t, [1, 2], keepdims=1)), g.Sqrt(g.Add(variance, 1e-8)))
            t = g.Add(g.Mul(gain, g.Transpose(t, perm=[0, 2, 1])), bias)
            return g.Transpose(t, perm=[0, 2, 1])
        t = norm(g.PRelu(g.Conv(x, wi, bi), slope1), gain1, bias1)
        t = g.Conv(t, wd, bd, group=128, dilations=[2], pads=[2, 2])
        t = norm(g.PRelu(t, slope2), gain2, bias2)
        return g.Add(x, g.Conv(t, wr, br)), g.Conv(t, ws, bs)

    def expert(g, x):
        gain, bias = (np.repeat(t[:, None], 400, axis=1) for t in (gain1, bias1))
        w, b = np.concatenate([wr, ws])[:, :, 0], np.concatenate([br, bs])
        t = g.LeakyRelu(g.Conv(x, wi, bi), alpha=0.25)
        t = g.LayerNormalization(t, gain, bias, axis=1, epsilon=1e-8)
        t = g.LeakyRelu(g.Conv(t, wd, bd, group=128, dilations=[2], pads=[2, 2]), alpha=0.2)
        t = g.LayerNormalization(t, np.ones((128, 400)), axis=1, epsilon=1e-8)
        t = g.Conv(t, (w * gain2)[:, :, None], b + w @ bias2)
        rest, skip = g.Split(t, [64, 64], axis=1, results=2)
        return g.Add(x, rest), skip
    return given, expert


@network(x=(1, 80, 64))
def variance_predictors_of_fast_speech(random):
    """FastSpeech 2 (Ren et al. 2021), PaddlePaddle: three predictors, with transposes around each layer."""
    parts = [(random(32, 64, 3), random(32), random.positive(32), random(32), random(32, 32, 3), random(32),
              random.positive(32), random(32), random(32, 1), random(1)) for _ in range(3)]

    def given(g, x):
        def layer(t, w, b, scale, offset):
            t = g.Conv(g.Transpose(t, perm=[0, 2, 1]), w, b, pads=[1, 1])
            t = g.Relu(g.Transpose(t, perm=[0, 2, 1]))
            return g.LayerNormalization(t, scale, offset, axis=-1, epsilon=1e-5)
        return [g.Squeeze(g.linear(layer(layer(x, *p[:4]), *p[4:8]), *p[8:]), [2]) for p in parts]

    def expert(g, x):
        w1, b1, s1, o1, w2, b2, s2, o2, w3, b3 = zip(*parts)

        def norm(t):
            t = g.Reshape(g.Transpose(t, perm=[0, 2, 1]), [80, 3, 32])
            return g.LayerNormalization(t, np.ones(32), axis=-1, epsilon=1e-5)
        t = g.Conv(g.Transpose(x, perm=[0, 2, 1]), np.concatenate(w1), np.concatenate(b1), pads=[1, 1])
        t = g.Transpose(g.Reshape(norm(g.Relu(t)), [1, 80, 96]), perm=[0, 2, 1])
        # What offsets of the norms add differs at both ends alone, where kernels see less.
        inside = np.stack([np.arange(80) > 0, np.arange(80) >= 0, np.arange(80) < 79]).astype(float)
        plane = np.einsum("mock,mc,kt->mot", np.stack(w2), np.stack(o1), inside).reshape(96, 80)
        t = g.Conv(t, np.concatenate([w * s[:, None] for w, s in zip(w2, s1)]), group=3, pads=[1, 1])
        t = g.Reshape(norm(g.Relu(g.Add(t, plane + np.concatenate(b2)[:, None]))), [80, 96])
        last = block_diagonal([(w * s[:, None]).T for w, s in zip(w3, s2)])
        bias = np.stack([b + o @ w for b, o, w in zip(b3, o2, w3)])
        return g.Split(g.Gemm(last, t, bias, transB=1), [1, 1, 1], axis=0, results=3)
    return given, expert


@network(context=(1, 96, 64), question=(1, 24, 64))
def attention_flow_of_bidaf(random):
    """BiDAF (Seo et al. 2017), Keras: context and question are tiled over all pairs and joined."""
    ws, wg, bg = random(192, 1) * 2, random(256, 64), random(64)

    def given(g, context, question):
        h = g.Tile(g.Unsqueeze(context, [2]), [1, 1, 24, 1])
        u = g.Tile(g.Unsqueeze(question, [1]), [1, 96, 1, 1])
        scores = g.Squeeze(g.MatMul(g.Concat(h, u, g.Mul(h, u), axis=-1), ws), [3])
        answer = g.MatMul(g.Softmax(scores, axis=-1), question)
        weights = g.Softmax(g.ReduceMax(scores, [2], keepdims=0), axis=-1)
        summary = g.ReduceSum(g.Mul(g.Unsqueeze(weights, [2]), context), [1], keepdims=1)
        parts = g.Mul(context, answer), g.Mul(context, g.Tile(summary, [1, 96, 1]))
        t = g.Concat(context, answer, *parts, axis=-1)
        return g.Tanh(g.linear(t, wg, bg))

    def expert(g, context, question):
        # Weights of the question ignore what is equal in a row; the summary scales weights of the context.
        h, u = g.Reshape(context, [96, 64]), g.Reshape(question, [24, 64])
        scores = g.Gemm(g.Add(g.Mul(h, ws[128:, 0]), ws[64:128, 0]), u, transB=1)
        answer = g.MatMul(g.Softmax(scores, axis=1), u)
        most = g.Add(g.ReduceMax(scores, [1], keepdims=1), g.MatMul(h, ws[:64]))
        summary = g.Gemm(h, g.Softmax(most, axis=0), transA=1)
        first = g.Add(g.Mul(summary, wg[192:]), wg[:64])
        t = g.Concat(h, answer, g.Mul(h, answer), axis=1)
        return g.Unsqueeze(g.Tanh(g.Gemm(t, g.Concat(first, wg[64:192], axis=0), bg)), [0])
    return given, expert


@network(x=(64, 12, 16))
def attended_pairs_of_factorization_machine(random):
    """AFM (Xiao et al. 2017), tf2onnx (DeepCTR): lists of fields in pairs, a sum of weighted products."""
    wa, ba, wh, wp = random(16, 8) * 2, random(8), random(8, 1) * 2, random(16, 1) * 2
    pairs = [(i, j) for i in range(12) for j in range(i + 1, 12)]

    def given(g, x):
        fields = g.Split(x, [1] * 12, axis=1, results=12)
        inner = g.Mul(*(g.Concat(*(fields[pair[k]] for pair in pairs), axis=1) for k in (0, 1)))
        t = g.MatMul(g.Reshape(inner, [-1, 16]), wa)
        t = g.Relu(g.Add(g.Reshape(t, [64, 66, 8]), ba))
        t = g.Reshape(g.MatMul(g.Reshape(t, [-1, 8]), wh), [64, 66, 1])
        t = g.Exp(g.Sub(t, g.ReduceMax(t, [1], keepdims=1)))
        score = g.Div(t, g.ReduceSum(t, [1], keepdims=1))
        return g.Sigmoid(g.MatMul(g.ReduceSum(g.Mul(score, inner), [1], keepdims=0), wp))

    def expert(g, x):
        inner = g.Mul(*(g.Gather(x, list(fields), axis=1) for fields in zip(*pairs)))
        t = g.MatMul(g.Relu(g.Gemm(g.Reshape(inner, [4224, 16]), wa, ba)), wh)
        t = g.MatMul(g.Softmax(g.Reshape(t, [64, 1, 66]), axis=2), inner)
        return g.Sigmoid(g.MatMul(g.Reshape(t, [64, 16]), wp))
    return given, expert


@network(x=(1, 32, 64, 13))
def nodes_mixed_by_graph_wavenet(random):
    """Graph WaveNet (Wu et al. 2019), torch: an adaptive graph of constants, a product for each power."""
    wf, wg, bf, bg = random(32, 32, 1, 2), random(32, 32, 1, 2), random(32), random(32)
    wm, bm, norm = random(32, 224, 1, 1), random(32), random.norm(32)
    e1, e2 = random(64, 10) * 8, random(10, 64) * 4
    ahead = random.positive(64, 64) ** 4
    ahead, behind = ahead / ahead.sum(axis=1, keepdims=True), ahead.T / ahead.T.sum(axis=1, keepdims=True)

    def given(g, x):
        adaptive = g.Softmax(g.Relu(g.MatMul(e1, e2)), axis=1)
        t = g.Tanh(g.Conv(x, wf, bf, dilations=[1, 2]))
        t = g.Mul(t, g.Sigmoid(g.Conv(x, wg, bg, dilations=[1, 2])))
        parts = [t]
        for graph in (ahead, behind, adaptive):
            parts.append(g.Einsum(t, graph, equation="ncvl,vw->ncwl"))
            parts.append(g.Einsum(parts[-1], graph, equation="ncvl,vw->ncwl"))
        t = g.Conv(g.Concat(*parts, axis=1), wm, bm)
        t = g.Add(t, g.Slice(x, [-11], [2 ** 62], [3]))
        return g.BatchNormalization(t, *norm, epsilon=1e-5)

    def expert(g, x):
        # Channels are mixed first: their seven parts lie one behind the other, so powers are one product.
        adaptive = np.exp(np.maximum(e1 @ e2, 0))
        adaptive /= adaptive.sum(axis=1, keepdims=True)
        graphs = np.concatenate([np.eye(64)] + [m for a in (ahead, behind, adaptive) for m in (a, a @ a)])
        kernel, bias = folded(wm, norm, bias=bm)
        kernel, bias = kernel.reshape(224, 32, 1, 1), np.kron(bias, np.eye(7)[0])
        factor = norm[0] / np.sqrt(norm[3] + 1e-5)
        t = g.Conv(x, np.concatenate([wf, wg]), np.concatenate([bf, bg]), dilations=[1, 2])
        t, gate = g.Split(t, [32, 32], axis=1, results=2)
        t = g.Conv(g.Mul(g.Tanh(t), g.Sigmoid(gate)), kernel, bias)
        t = g.MatMul(graphs.T.copy(), g.Reshape(t, [1, 32, 448, 11]))
        return g.Add(t, g.Mul(g.Slice(x, [2], [13], [3]), factor[:, None, None]))
    return given, expert


@network(x=(16, 128, 7))
def low_frequencies_of_fits(random):
    """FITS (Xu et al. 2024), torch: a transform, a map of low frequencies, and a transform back."""
    wr, wi, br, bi = random(24, 48), random(24, 48), random(48) * 10, random(48) * 10

    def given(g, x):
        mean = g.ReduceMean(x, [1], keepdims=1)
        x = g.Sub(x, mean)
        deviation = g.Sqrt(g.Add(variance_of_torch(g, x, 128, [1]), 1e-5))
        t = g.DFT(g.Unsqueeze(g.Div(x, deviation), [3]), "", 1, onesided=1)
        t = g.Transpose(g.Slice(t, [0], [24], [1]), perm=[0, 2, 1, 3])
        real, imaginary = g.Gather(t, 0, axis=3), g.Gather(t, 1, axis=3)
        first = g.Add(g.Sub(g.MatMul(real, wr), g.MatMul(imaginary, wi)), br)
        second = g.Add(g.Add(g.MatMul(real, wi), g.MatMul(imaginary, wr)), bi)
        t = g.Concat(g.Unsqueeze(first, [3]), g.Unsqueeze(second, [3]), axis=3)
        t = g.Pad(g.Transpose(t, perm=[0, 2, 1, 3]), [0, 0, 0, 0, 0, 81, 0, 0])
        mirrored = g.Mul(g.Slice(t, [127], [0], [1], [-1]), np.array([1.0, -1.0]))
        t = g.DFT(g.Concat(t, mirrored, axis=1), "", 1, inverse=1)
        t = g.Mul(g.Gather(t, 0, axis=3), 2.0)
        return g.Add(g.Mul(t, deviation), mean)

    def expert(g, x):
        # All is linear but the deviation, which cancels out of all but the bias.
        spectrum = np.fft.rfft(np.eye(128) - 1 / 128, axis=1)[:, :24] @ (wr + 1j * wi)
        whole = 2 * np.fft.irfft(spectrum, 256, axis=1) + 1 / 128
        bias = 2 * np.fft.irfft(br + 1j * bi, 256)[:, None]
        mean, squares = g.ReduceMean(x, [1], keepdims=1), g.ReduceSumSquare(x, [1], keepdims=1)
        variance = g.Sub(g.Mul(squares, 1 / 127), g.Mul(g.Mul(mean, mean), 128 / 127))
        return g.Add(g.MatMul(whole.T.copy(), x), g.Mul(g.Sqrt(g.Add(variance, 1e-5)), bias))
    return given, expert


@network(neighbors=(256, 16, 3), features=(256, 16, 32))
def kernel_points_of_kpconv(random):
    """KPConv (Thomas et al. 2019), torch: differences of all neighbours and points; a sum over products."""
    points, w, norm = random(15, 3) * 3, random(15, 32, 32) / 2, random.norm(32)

    def given(g, neighbors, features):
        d = g.Sub(g.Unsqueeze(neighbors, [2]), points)
        t = g.ReduceSum(g.Pow(d, 2.0), [3], keepdims=0)
        t = g.Clip(g.Sub(1.0, g.Div(g.Sqrt(t), 1.5)), np.float32(0.0))
        t = g.MatMul(g.Transpose(t, perm=[0, 2, 1]), features)
        t = g.ReduceSum(g.MatMul(g.Transpose(t, perm=[1, 0, 2]), w), [0], keepdims=0)
        return g.LeakyRelu(g.BatchNormalization(t, *norm, epsilon=1e-5), alpha=0.1)

    def expert(g, neighbors, features):
        kernel, bias = folded(w.reshape(480, 32).T, norm)
        squares = g.ReduceSumSquare(neighbors, [2], keepdims=1)
        t = g.MatMul(g.Concat(neighbors, squares, axis=2),
                     np.concatenate([-2 * points.T, np.ones((1, 15))]) / 1.5 ** 2)
        t = g.Sqrt(g.Relu(g.Add(t, (points ** 2).sum(axis=1) / 1.5 ** 2)))
        t = g.Transpose(g.Relu(g.Sub(1.0, t)), perm=[0, 2, 1])
        t = g.Reshape(g.MatMul(t, features), [256, 480])
        return g.LeakyRelu(g.Gemm(t, kernel.T.copy(), bias), alpha=0.1)
    return given, expert


@network(origin=(128, 3), direction=(128, 3), radius=(128, 1))
def frustums_encoded_by_mip_nerf(random):
    """mip-NeRF (Barron et al. 2021), jax2onnx: constant moments expanded to rays, damping twice."""
    scales, mu, hw = 2.0 ** np.arange(5), np.linspace(0.53125, 2.46875, 32), 0.03125
    below = 3 * mu ** 2 + hw ** 2
    depth = mu + 2 * mu * hw ** 2 / below
    depth_var = hw ** 2 / 3 - 4 / 15 * hw ** 4 * (12 * mu ** 2 - hw ** 2) / below ** 2
    width_var = mu ** 2 / 4 + 5 / 12 * hw ** 2 - 4 / 15 * hw ** 4 / below

    def given(g, origin, direction, radius):
        along, along_var, across_var = (g.Expand(t, [128, 32]) for t in (depth, depth_var, width_var))
        across_var = g.Mul(g.Pow(radius, 2.0), across_var)
        mean = g.Add(g.Mul(g.Unsqueeze(direction, [1]), g.Unsqueeze(along, [2])), g.Unsqueeze(origin, [1]))
        outer = g.Pow(direction, 2.0)
        null = g.Sub(1.0, g.Div(outer, g.Max(g.ReduceSum(outer, [1], keepdims=1), 1e-10)))
        variance = g.Add(g.Mul(g.Unsqueeze(along_var, [2]), g.Unsqueeze(outer, [1])),
                         g.Mul(g.Unsqueeze(across_var, [2]), g.Unsqueeze(null, [1])))
        y = g.Reshape(g.Mul(g.Unsqueeze(mean, [2]), scales[:, None]), [128, 32, 15])
        v = g.Reshape(g.Mul(g.Unsqueeze(variance, [2]), scales[:, None] ** 2), [128, 32, 15])
        y, v = g.Concat(y, g.Add(y, np.pi / 2), axis=2), g.Concat(v, v, axis=2)
        return g.Mul(g.Exp(g.Mul(v, -0.5)), g.Sin(y))

    def expert(g, origin, direction, radius):
        # Moments along a ray are constants, so angles and exponents are products over two terms each.
        spread, outer = np.kron(scales, np.eye(3)), g.Mul(direction, direction)
        null = g.Sub(1.0, g.Div(outer, g.ReduceSum(outer, [1], keepdims=1)))
        null = g.Mul(g.Mul(radius, radius), null)
        y = g.MatMul(g.Concat(origin, direction, axis=1), np.kron(np.eye(2), spread))
        v = g.MatMul(g.Concat(outer, null, axis=1), np.kron(np.eye(2), -0.5 * spread ** 2))
        y = g.MatMul(np.stack([np.ones(32), depth], axis=1), g.Reshape(y, [128, 2, 15]))
        v = g.Exp(g.MatMul(np.stack([depth_var, width_var], axis=1), g.Reshape(v, [128, 2, 15])))
        return g.Concat(g.Mul(v, g.Sin(y)), g.Mul(v, g.Cos(y)), axis=2)
    return given, expert


@network(reward=(64, 1), score=(64, 51))
def projected_distribution_of_c51(random):
    """C51 (Bellemare et al. 2017), tf2onnx (Dopamine): atoms and targets are tiled over all pairs."""
    atoms, width, w = np.linspace(-5, 5, 51), 0.2, random(51, 51)

    def given(g, reward, score):
        chance = g.Softmax(g.MatMul(score, w), axis=-1)
        target = g.Add(reward, g.Mul(g.Tile(atoms[None], [64, 1]), 0.99))
        target = g.Clip(target, np.float32(-5), np.float32(5))
        target = g.Tile(g.Unsqueeze(target, [1]), [1, 51, 1])
        own = g.Reshape(g.Tile(atoms[:, None], [64, 1]), [64, 51, 1])
        t = g.Sub(1.0, g.Div(g.Abs(g.Sub(target, own)), width))
        t = g.Mul(g.Clip(t, np.float32(0), np.float32(1)), g.Unsqueeze(chance, [1]))
        return g.ReduceSum(t, [2], keepdims=0)

    def expert(g, reward, score):
        # In widths of an atom; nearness is at most one, and its weighted sum is a product.
        chance = g.Softmax(g.MatMul(score, w), axis=-1)
        target = g.Add(g.Mul(reward, 1 / width), atoms * 0.99 / width)
        target = g.Clip(target, np.float32(-25), np.float32(25))
        t = g.Abs(g.Sub(g.Unsqueeze(target, [2]), atoms / width))
        return g.Squeeze(g.MatMul(g.Unsqueeze(chance, [1]), g.Relu(g.Sub(1.0, t))), [1])
    return given, expert


@network(reward=(32, 64), value=(33, 64))
def advantages_by_generalized_estimation(random):
    """GAE (Schulman et al. 2016), torch: a traced loop over time, from the last step to the first."""
    discount, decay = 0.99, 0.95

    def given(g, reward, value):
        advantage, steps = np.zeros(64), []
        for k in reversed(range(32)):
            ahead = g.Mul(g.Gather(value, k + 1, axis=0), discount)
            delta = g.Sub(g.Add(g.Gather(reward, k, axis=0), ahead), g.Gather(value, k, axis=0))
            advantage = g.Add(delta, g.Mul(advantage, discount * decay))
            steps.append(g.Unsqueeze(advantage, [0]))
        advantage = g.Concat(*reversed(steps), axis=0)
        target = g.Add(advantage, g.Slice(value, [0], [-1], [0]))
        deviation = g.Sqrt(variance_of_torch(g, advantage, 2048, [0, 1]))
        return g.Div(g.Sub(advantage, g.ReduceMean(advantage)), g.Add(deviation, 1e-8)), target

    def expert(g, reward, value):
        # The loop is linear: a triangle of decays, for rewards and for values.
        gap = np.arange(32)[None] - np.arange(32)[:, None]
        decays = np.where(gap < 0, 0.0, (discount * decay) ** np.maximum(gap, 0))
        step = discount * np.eye(32, 33, 1) - np.eye(32, 33)
        whole = side_by_side(decays, decays @ step)
        whole = np.concatenate([whole, whole + np.eye(32, 65, 32)])
        t = g.MatMul(whole, g.Concat(reward, value, axis=0))
        advantage, target = g.Split(t, [32, 32], axis=0, results=2)
        d = g.Sub(advantage, g.ReduceMean(advantage, keepdims=1))
        deviation = g.Sqrt(g.Mul(g.ReduceSumSquare(d, keepdims=1), 1 / 2047))
        return g.Div(d, g.Add(deviation, 1e-8)), target
    return given, expert


@network(x=(128, 64))
def calibrated_folds_of_scikit_learn(random):
    """Calibrated support vectors (Platt 1999), skl2onnx: five folds, each scaled, and a sigmoid a class."""
    folds = [(random(64), random.positive(64), random(64, 4) / 4, random(4), random.positive(4), random(4))
             for _ in range(5)]

    def given(g, x):
        total = []
        for mean, scale, w, b, slope, offset in folds:
            t, chances = g.linear(g.Div(g.Sub(x, mean), scale), w, b), []
            for k in range(4):
                score = g.Reshape(g.Gather(t, [k], axis=1), [-1, 1])
                score = g.Add(g.Mul(score, -slope[k]), offset[k:k + 1])
                chances.append(g.Div(1.0, g.Add(g.Exp(score), 1.0)))
            t = g.Concat(*chances, axis=1)
            total.append(g.Div(t, g.Add(g.ReduceSum(t, [1], keepdims=1), 1e-3)))
        return g.Div(g.Sum(*total), 5.0)

    def expert(g, x):
        weights = [w / scale[:, None] * slope for _, scale, w, _, slope, _ in folds]
        biases = [(b - mean / scale @ w) * slope - offset for mean, scale, w, b, slope, offset in folds]
        t = g.Reshape(g.Sigmoid(g.Gemm(x, side_by_side(*weights), side_by_side(*biases))), [128, 5, 4])
        total = g.Add(g.ReduceSum(t, [2], keepdims=1), 1e-3)
        return g.ReduceMean(g.Div(t, total), [1], keepdims=0)
    return given, expert


@network(f=(9, 96, 96))
def step_of_lattice_boltzmann(random):
    """Incompressible lattice Boltzmann (He and Luo 1997), numpy: a loop over directions, with rolls."""
    across, down = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1]), np.array([0, 0, 1, 0, -1, 1, 1, -1, -1])
    share, omega = np.array([16, 4, 4, 4, 4, 1, 1, 1, 1]) / 36, float(random.positive(1)[0])

    def given(g, f):
        def roll(t, shift, axis):
            ends = ((-shift, 2 ** 62), (0, -shift))
            return g.Concat(*(g.Slice(t, [a], [b], [axis]) for a, b in ends), axis=axis) if shift else t
        density = g.ReduceSum(f, [0], keepdims=0)
        u, v = (g.ReduceSum(g.Mul(f, t[:, None, None] * 1.0), [0], keepdims=0) for t in (across, down))
        energy = g.Mul(g.Add(g.Pow(u, 2.0), g.Pow(v, 2.0)), 1.5)
        results = []
        for k in range(9):
            speed = g.Mul(g.Add(g.Mul(u, float(across[k])), g.Mul(v, float(down[k]))), 3.0)
            rest = g.Add(g.Add(density, speed), g.Mul(g.Pow(speed, 2.0), 0.5))
            rest = g.Mul(g.Sub(rest, energy), share[k])
            t = g.Gather(f, k, axis=0)
            t = g.Sub(t, g.Mul(g.Sub(t, rest), omega))
            results.append(g.Unsqueeze(roll(roll(t, across[k], 1), down[k], 0), [0]))
        return g.Concat(*results, axis=0)

    def expert(g, f):
        # All is linear in populations and three products of velocities; each is cut out where it moves.
        moments = 1 + 3 * (np.outer(across, across) + np.outer(down, down))
        linear = (1 - omega) * np.eye(9) + omega * share[:, None] * moments
        square = np.stack([4.5 * across ** 2 - 1.5, 4.5 * down ** 2 - 1.5, 9 * across * down], axis=1)
        whole = side_by_side(linear, omega * share[:, None] * square)
        f = g.Reshape(f, [9, 9216])
        velocity = g.MatMul(np.stack([across, down]).astype(float), f)
        u, v = g.Split(velocity, [1, 1], axis=0, results=2)
        t = g.MatMul(whole, g.Concat(f, g.Mul(velocity, velocity), g.Mul(u, v), axis=0))
        t = g.Pad(g.Reshape(t, [9, 96, 96]), [0, 1, 1, 0, 1, 1], mode="wrap")
        corners = [[k, 1 - down[k], 1 - across[k]] for k in range(9)]
        parts = (g.Slice(t, c, [c[0] + 1, c[1] + 96, c[2] + 96], [0, 1, 2]) for c in corners)
        return g.Concat(*parts, axis=0)
    return given, expert


@network(content=(1, 64, 48, 48), style=(1, 64, 48, 48))
def statistics_of_a_style_by_adain(random):
    """AdaIN (Huang and Belongie 2017), torch: expanded statistics, and a blend with the content."""
    weight, w, b = 0.7, random(32, 64, 1, 1), random(32)

    def given(g, content, style):
        def statistics(t):
            t = g.Reshape(t, [1, 64, 2304])
            deviation = g.Sqrt(g.Add(variance_of_torch(g, t, 2304, [2]), 1e-5))
            both = (g.Reshape(t, [1, 64, 1, 1]) for t in (g.ReduceMean(t, [2], keepdims=1), deviation))
            return [g.Expand(t, [1, 64, 48, 48]) for t in both]
        (mean, deviation), (new_mean, new_deviation) = statistics(content), statistics(style)
        t = g.Add(g.Mul(g.Div(g.Sub(content, mean), deviation), new_deviation), new_mean)
        return g.Relu(g.Conv(g.Add(g.Mul(t, weight), g.Mul(content, 1 - weight)), w, b))

    def expert(g, content, style):
        # Per channel all is a scale and an offset, which the kernel behind takes up.
        def statistics(t):
            mean = g.ReduceMean(t, [1], keepdims=1)
            squares = g.ReduceMean(g.Mul(t, t), [1], keepdims=1)
            return mean, g.Add(g.Sub(squares, g.Mul(mean, mean)), 1e-5 * 2303 / 2304)
        content, style = g.Reshape(content, [64, 2304]), g.Reshape(style, [64, 2304])
        (mean, variance), (new_mean, new_variance) = statistics(content), statistics(style)
        scale = g.Mul(g.Sqrt(g.Div(new_variance, variance)), weight)
        offset = g.Sub(g.Mul(new_mean, weight), g.Mul(mean, scale))
        kernel = g.Mul(g.Reshape(g.Add(scale, 1 - weight), [1, 64]), w[:, :, 0, 0])
        t = g.Gemm(kernel, content, g.Gemm(w[:, :, 0, 0], offset, b[:, None]))
        return g.Reshape(g.Relu(t), [1, 32, 48, 48])
    return given, expert
