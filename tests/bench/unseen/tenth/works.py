"""Parts of models of 2016-2024: super-resolution around an anchor (Du et al. 2021), recognition of straight
text (Shi et al. 2016, Baek et al. 2019), RAFT (Teed and Deng 2020), x-vectors (Snyder et al. 2018), an
aligner for text to speech (Badlani et al. 2022), DDSP (Engel et al. 2020), SPLADE (Formal et al. 2021),
Mult-VAE (Liang et al. 2018), ANI-1 (Smith et al. 2017), Enformer (Avsec et al. 2021), PaDiM (Defard et al.
2021), IQN (Dabney et al. 2018), EDM (Karras et al. 2022)."""

import numpy as np

from networks import folded, network


def interpolation(small, large):
    """Linear interpolation between centers of pixels as a matrix."""
    place = np.clip((np.arange(large) + 0.5) * small / large - 0.5, 0, small - 1)
    return np.maximum(0, 1 - np.abs(place[:, None] - np.arange(small)))


@network(x=(1, 48, 64, 3))
def enlargement_around_an_anchor(random):
    """ABPN by tf2onnx: the image, repeated for 3 x 3 fine pixels, is added ahead of depth to space."""
    widths = [3, 28, 28, 28, 27]
    layers = [(random(o, i, 3, 3), random(o)) for i, o in zip(widths, widths[1:])]

    def given(g, x):
        t = x
        for k, (w, b) in enumerate(layers):
            t = g.Conv(g.Transpose(t, perm=[0, 3, 1, 2]), w, pads=[1, 1, 1, 1])
            t = g.Add(g.Transpose(t, perm=[0, 2, 3, 1]), b)
            t = g.Relu(t) if k < 3 else t
        t = g.Add(t, g.Concat(*[x] * 9, axis=3))
        t = g.DepthToSpace(g.Transpose(t, perm=[0, 3, 1, 2]), blocksize=3, mode="DCR")
        return g.Max(g.Min(g.Transpose(t, perm=[0, 2, 3, 1]), 255.0), 0.0)

    def expert(g, x):
        x = g.Transpose(x, perm=[0, 3, 1, 2])
        t = x
        for k, (w, b) in enumerate(layers):
            t = g.Conv(t, w, b, pads=[1, 1, 1, 1])
            t = g.Relu(t) if k < 3 else t
        t = g.Clip(g.Add(g.Reshape(t, [9, 3, 48, 64]), x), 0.0, 255.0)
        t = g.Transpose(g.Reshape(t, [3, 3, 3, 48, 64]), perm=[3, 0, 4, 1, 2])
        return g.Reshape(t, [1, 144, 192, 3])
    return given, expert


@network(x=(2, 1, 24, 64))
def text_straightened_by_thin_plates(random):
    """12 control points are predicted, a spline between them says where each pixel comes from."""
    w1, n1, w2, n2 = random(32, 1, 3, 3), random.norm(32), random(64, 32, 3, 3), random.norm(64)
    w3, b3, w4 = random(64, 64), random(64), random(64, 24) / 10
    line = np.linspace(-1, 1, 6)
    c = np.concatenate([np.stack([line, -np.ones(6)], 1), np.stack([line, np.ones(6)], 1)])
    b4 = c.ravel() * 0.9

    def bend(p):
        r = np.linalg.norm(p[:, None] - c, axis=2)
        return r ** 2 * np.log(r + 1e-6)
    delta = np.block([[np.ones((12, 1)), c, bend(c)], [np.zeros((2, 3)), c.T],
                      [np.zeros((1, 3)), np.ones((1, 12))]])
    inverse = np.linalg.inv(delta)
    y, x = np.meshgrid((np.arange(24) * 2 - 23) / 24, (np.arange(64) * 2 - 63) / 64, indexing="ij")
    pixels = np.stack([x.ravel(), y.ravel()], 1)
    basis = np.concatenate([np.ones((1536, 1)), pixels, bend(pixels)], axis=1)

    def given(g, x):
        t = g.Relu(g.BatchNormalization(g.Conv(x, w1, pads=[1, 1, 1, 1]), *n1))
        t = g.MaxPool(t, kernel_shape=[2, 2], strides=[2, 2])
        t = g.Relu(g.BatchNormalization(g.Conv(t, w2, pads=[1, 1, 1, 1]), *n2))
        t = g.Reshape(g.GlobalAveragePool(t), [2, -1])
        t = g.linear(g.Relu(g.linear(t, w3, b3)), w4, b4)
        t = g.Concat(g.Reshape(t, [2, 12, 2]), np.zeros((2, 3, 2)), axis=1)
        t = g.MatMul(g.Expand(g.Unsqueeze(inverse, [0]), [2, 15, 15]), t)
        t = g.MatMul(g.Expand(g.Unsqueeze(basis, [0]), [2, 1536, 15]), t)
        return g.GridSample(x, g.Reshape(t, [2, 24, 64, 2]), padding_mode="border", align_corners=1)

    def expert(g, x):
        t = g.Relu(g.Conv(x, *folded(w1, n1), pads=[1, 1, 1, 1]))
        t = g.MaxPool(t, kernel_shape=[2, 2], strides=[2, 2])
        t = g.Relu(g.Conv(t, *folded(w2, n2), pads=[1, 1, 1, 1]))
        t = g.Flatten(g.GlobalAveragePool(t))
        t = g.Gemm(g.Relu(g.Gemm(t, w3, b3)), w4, b4)
        t = g.MatMul((basis @ inverse)[:, :12].copy(), g.Reshape(t, [2, 12, 2]))
        return g.GridSample(x, g.Reshape(t, [2, 24, 64, 2]), padding_mode="border", align_corners=1)
    return given, expert


@network(x=(2, 128, 24, 32))
def pyramid_of_matches_of_raft(random):
    """Products of all pairs of places of two images, at four resolutions of the second."""
    w, b = random(128, 128, 1, 1), random(128)

    def given(g, x):
        first, second = g.Split(g.Conv(x, w, b), [1, 1], axis=0, results=2)
        first, second = (g.Reshape(t, [1, 128, 768]) for t in (first, second))
        t = g.MatMul(g.Transpose(first, perm=[0, 2, 1]), second)
        t = g.Reshape(t, [1, 24, 32, 1, 24, 32])
        levels = [g.Reshape(g.Div(t, g.Sqrt(128.0)), [768, 1, 24, 32])]
        for _ in range(3):
            levels.append(g.AveragePool(levels[-1], kernel_shape=[2, 2], strides=[2, 2]))
        return levels

    def expert(g, x):
        # Means of products are products with means.
        t = g.Conv(x, w / 128 ** 0.25, b / 128 ** 0.25)
        first, second = g.Split(t, [1, 1], axis=0, results=2)
        first, levels = g.Reshape(first, [128, 768]), []
        for k in range(4):
            t = g.Gemm(first, g.Reshape(second, [128, 768 >> 2 * k]), transA=1)
            levels.append(g.Reshape(t, [768, 1, 24 >> k, 32 >> k]))
            if k < 3:
                second = g.AveragePool(second, kernel_shape=[2, 2], strides=[2, 2])
        return levels
    return given, expert


@network(x=(1, 160, 24))
def spliced_frames_of_x_vectors(random):
    """Kaldi's layers: frames of a context side by side, affine, normalized; then mean and deviation."""
    splices = [range(-2, 3), (-2, 0, 2), (-3, 0, 3), (0,), (0,)]
    widths, floor = [24, 96, 96, 96, 96, 192], 1e-6
    layers = [(random(len(s) * i, o), random(o), random.positive(o), random(o))
              for s, i, o in zip(splices, widths, widths[1:])]
    v, c = random(384, 128), random(128)

    def given(g, x):
        t, length = x, 160
        for s, (w, b, scale, offset) in zip(splices, layers):
            if len(s) > 1:
                length -= s[-1] - s[0]
                t = g.Concat(*[g.Slice(t, [k - s[0]], [k - s[0] + length], [1]) for k in s], axis=2)
            t = g.Add(g.Mul(g.Relu(g.linear(t, w, b)), scale), offset)
        mean = g.ReduceMean(t, [1], keepdims=0)
        variance = g.Sub(g.ReduceMean(g.Mul(t, t), [1], keepdims=0), g.Mul(mean, mean))
        return g.linear(g.Concat(mean, g.Sqrt(g.Max(variance, floor)), axis=1), v, c)

    def expert(g, x):
        t, factor, behind = g.Transpose(x, perm=[0, 2, 1]), np.ones(24), np.zeros(24)
        for s, (w, b, scale, offset) in zip(splices, layers):
            # The norm of the layer ahead is part of the kernel: nothing is padded.
            w = w.reshape(len(s), -1, w.shape[1])
            kernel = (w * factor[:, None]).transpose(2, 1, 0)
            step = s[1] - s[0] if len(s) > 1 else 1
            t = g.Relu(g.Conv(t, kernel, b + behind @ w.sum(axis=0), dilations=[step]))
            factor, behind = scale, offset
        mean = g.ReduceMean(t, [2], keepdims=0)
        variance = g.Sub(g.ReduceMean(g.Mul(t, t), [2], keepdims=0), g.Mul(mean, mean))
        deviation = g.Sqrt(g.Max(variance, floor / factor ** 2))
        t = g.Concat(mean, deviation, axis=1)
        return g.Gemm(t, v * np.tile(factor, 2)[:, None], c + behind @ v[:192])
    return given, expert


@network(mel=(1, 80, 192), text=(1, 128, 48))
def alignment_of_text_and_speech(random):
    """Distances of all frames to all letters, under a prior that prefers the diagonal."""
    wk, bk, vk, ck = random(256, 128, 3), random(256), random(80, 256, 1), random(80)
    wq, bq, vq, cq = random(160, 80, 3), random(160), random(80, 160, 1), random(80)
    uq, dq, temperature = random(80, 80, 1), random(80), 0.05
    away = (np.arange(192)[:, None] + 0.5) / 192 - (np.arange(48) + 0.5) / 48
    prior = (np.exp(-8 * away ** 2) / 20)[None, None]

    def given(g, mel, text):
        k = g.Conv(g.Relu(g.Conv(text, wk, bk, pads=[1, 1])), vk, ck)
        q = g.Relu(g.Conv(g.Relu(g.Conv(mel, wq, bq, pads=[1, 1])), vq, cq))
        q = g.Conv(q, uq, dq)
        t = g.Pow(g.Sub(g.Unsqueeze(q, [3]), g.Unsqueeze(k, [2])), 2.0)
        t = g.Mul(g.ReduceSum(t, [1], keepdims=1), -temperature)
        t = g.Add(g.LogSoftmax(t, axis=3), g.Log(g.Add(prior, 1e-8)))
        return g.Softmax(t, axis=3)

    def expert(g, mel, text):
        # What is the same for all letters cancels: squares of frames, one softmax of two, a common offset.
        k = g.Conv(g.Relu(g.Conv(text, wk, bk, pads=[1, 1])), vk, ck - dq)
        q = g.Relu(g.Conv(g.Relu(g.Conv(mel, wq, bq, pads=[1, 1])), vq, cq))
        u = g.MatMul(2 * temperature * uq[:, :, 0].T, g.Reshape(k, [80, 48]))
        t = g.Gemm(g.Reshape(q, [80, 192]), u, transA=1)
        t = g.Sub(g.Add(t, np.log(prior + 1e-8)), g.Mul(g.ReduceSumSquare(k, [1]), temperature))
        return g.Softmax(t, axis=3)
    return given, expert


@network(pitch=(8, 16, 1), loudness=(8, 16, 1), timbre=(8, 16, 40))
def harmonics_of_ddsp(random):
    """40 oscillators at multiples of a pitch, with controls from frames to samples, by tf2onnx."""
    w, b, multiples = random(40, 40), random(40), np.arange(1.0, 41)

    def positive(g, t):
        return g.Add(g.Mul(g.Pow(g.Sigmoid(t), 2.302585), 2.0), 1e-7)

    def amplitudes(g, loudness, timbre, pitches):
        t = positive(g, g.linear(timbre, w, b))
        t = g.Where(g.GreaterOrEqual(pitches, 3.1415927), np.float32(0), t)
        t = g.Div(t, g.ReduceSum(t, [2]))
        return g.Mul(positive(g, loudness), t)

    def given(g, pitch, loudness, timbre):
        def samples(t):
            t = g.Transpose(g.Unsqueeze(t, [2]), perm=[0, 3, 1, 2])
            t = g.Resize(t, "", "", [8, 40, 256, 1], mode="linear")
            return g.Squeeze(g.Transpose(t, perm=[0, 2, 3, 1]), [2])
        pitches = g.Mul(g.Mul(g.Sigmoid(pitch), 0.1), multiples)
        t = amplitudes(g, loudness, timbre, pitches)
        phases = g.CumSum(samples(pitches), 1)
        return g.ReduceSum(g.Mul(samples(t), g.Sin(phases)), [2], keepdims=0)

    def expert(g, pitch, loudness, timbre):
        rise = interpolation(16, 256)
        pitch = g.Mul(g.Sigmoid(pitch), 0.1)
        t = amplitudes(g, loudness, timbre, g.Mul(pitch, multiples))
        phases = g.Mul(g.MatMul(np.cumsum(rise, axis=0), pitch), multiples)
        return g.ReduceSum(g.Mul(g.MatMul(rise, t), g.Sin(phases)), [2], keepdims=0)
    return given, expert


@network(h=(2, 48, 128))
def sparse_terms_of_splade(random):
    """The head of masked language models, of which each term of 3000 keeps its largest saturated weight."""
    w, b, scale, offset = random(128, 128), random(128), random.positive(128), random(128)
    v, c = random(128, 3000), random(3000)

    def given(g, h):
        t = g.linear(h, w, b)
        t = g.Mul(g.Mul(t, g.Add(g.Erf(g.Div(t, 2 ** 0.5)), 1.0)), 0.5)
        t = g.LayerNormalization(t, scale, offset, axis=-1, epsilon=1e-12)
        t = g.Log(g.Add(g.Relu(g.linear(t, v, c)), 1.0))
        return g.ReduceMax(t, [1], keepdims=0)

    def expert(g, h):
        t = g.LayerNormalization(g.Gelu(g.linear(h, w, b)), scale, axis=-1, epsilon=1e-12)
        t = g.Add(g.ReduceMax(g.MatMul(t, v), [1], keepdims=0), c + offset @ v)
        return g.Log(g.Add(g.Relu(t), 1.0))
    return given, expert


@network(x=(64, 1500))
def autoencoder_of_clicks(random):
    """Mult-VAE as it recommends: of mean and variance the mean is read; items seen are left out."""
    w1, b1, w2, b2 = random(1500, 256) * 20, random(256), random(256, 256), random(256)
    w3, b3, w4, b4 = random(128, 256), random(256), random(256, 1500), random(1500)

    def given(g, x):
        t = g.Div(x, g.Max(g.ReduceL2(x, [1]), 1e-12))
        t = g.Tanh(g.linear(t, w1, b1))
        mean = g.Slice(g.linear(t, w2, b2), [0], [128], [1])
        t = g.linear(g.Tanh(g.linear(mean, w3, b3)), w4, b4)
        return g.Where(g.Greater(x, 0.0), np.float32(-1e9), t)

    def expert(g, x):
        t = g.Div(g.MatMul(x, w1), g.Max(g.ReduceL2(x, [1]), 1e-12))
        t = g.Tanh(g.Add(t, b1))
        t = g.Tanh(g.linear(t, w2[:, :128] @ w3, b2[:128] @ w3 + b3))
        return g.Where(g.Greater(x, 0.0), np.float32(-1e9), g.linear(t, w4, b4))
    return given, expert


@network(places=(16, 21, 3))
def energy_of_a_molecule_by_ani(random):
    """Radial surroundings of 12 H, 6 C and 3 O in 16 conformations, a network for each element."""
    counts, cutoff, shifts = [12, 6, 3], 5.2, np.linspace(0.9, 4.9, 16)
    masks = np.repeat(np.eye(3), counts, axis=1)
    layers = [(random(48, 48), random(48), random(48, 1), random(1)) for _ in counts]
    others = 1 - np.eye(21)

    def given(g, places):
        t = g.Sub(g.Unsqueeze(places, [2]), g.Unsqueeze(places, [1]))
        d = g.Sqrt(g.Add(g.ReduceSum(g.Pow(t, 2.0), [3], keepdims=0), 1e-9))
        fade = g.Add(g.Mul(g.Cos(g.Div(g.Mul(d, np.pi), cutoff)), 0.5), 0.5)
        fade = g.Mul(g.Where(g.LessOrEqual(d, cutoff), fade, np.float32(0)), others)
        t = g.Mul(g.Pow(g.Sub(g.Unsqueeze(d, [3]), shifts), 2.0), -16.0)
        t = g.Mul(g.Mul(g.Exp(t), 0.25), g.Unsqueeze(fade, [3]))
        t = g.Concat(*[g.ReduceSum(g.Mul(t, mask[:, None]), [2], keepdims=0) for mask in masks], axis=2)
        energy = None
        for mask, (w, b, v, c) in zip(masks, layers):
            e = g.linear(g.Celu(g.linear(t, w, b), alpha=0.1), v, c)
            e = g.ReduceSum(g.Mul(e, mask[:, None]), [1, 2], keepdims=0)
            energy = g.Add(energy, e) if energy else e
        return energy

    def expert(g, places):
        t = g.Sub(g.Unsqueeze(places, [2]), g.Unsqueeze(places, [1]))
        d = g.Sqrt(g.Add(g.ReduceSumSquare(t, [3]), 1e-9))
        # The cosine is -1 from the cutoff on.
        fade = g.Add(g.Cos(g.Mul(g.Min(d, cutoff), np.pi / cutoff)), 1.0)
        fade = g.Mul(g.Reshape(fade, [16, 21, 1, 21]), (masks * others[:, None] / 8)[None])
        t = g.Sub(g.Mul(d, 4.0), 4 * shifts)
        t = g.MatMul(fade, g.Exp(g.Neg(g.Mul(t, t))))
        atoms = g.Split(g.Reshape(t, [16, 21, 48]), counts, axis=1, results=3)
        sums = [g.ReduceSum(g.Celu(g.linear(a, w, b), alpha=0.1), [1], keepdims=0)
                for a, (w, b, _, _) in zip(atoms, layers)]
        offset = sum(n * c for n, (_, _, _, c) in zip(counts, layers))
        t = g.Gemm(g.Concat(*sums, axis=1), np.concatenate([v for _, _, v, _ in layers]), offset)
        return g.Reshape(t, [16])
    return given, expert


@network(x=(1, 96, 1024))
def pairs_of_bases_pooled_by_enformer(random):
    """A pointwise residual block, then the softmax of learned logits weighs each two neighbors."""
    norm, w, b, v = random.norm(96), random(96, 96, 1), random(96), random(96, 96, 1, 1) * 2

    def given(g, x):
        t = g.BatchNormalization(x, *norm)
        t = g.Mul(g.Sigmoid(g.Mul(t, 1.702)), t)
        t = g.Add(g.Conv(t, w, b), x)
        t = g.Reshape(t, [1, 96, 512, 2])
        return g.ReduceSum(g.Mul(t, g.Softmax(g.Conv(t, v), axis=3)), [3], keepdims=0)

    def expert(g, x):
        t = g.BatchNormalization(x, *norm)
        t = g.Mul(g.Sigmoid(g.Mul(t, 1.702)), t)
        t = g.Reshape(g.Add(g.Conv(t, w, b), x), [1, 96, 512, 2])
        left, right = g.Split(t, [1, 1], axis=3, results=2)
        # A softmax of two is a sigmoid of their difference: one logit for each pair.
        d = g.Sub(left, right)
        t = g.Add(g.Mul(g.Sigmoid(g.Conv(d, v)), d), right)
        return g.Reshape(t, [1, 96, 512])
    return given, expert


@network(fine=(1, 32, 16, 16), middle=(1, 48, 8, 8), coarse=(1, 64, 4, 4))
def anomaly_map_of_padim(random):
    """Mahalanobis distances of 40 of 144 features at each place, enlarged and blurred."""
    chosen = np.sort(random.generator.permutation(144)[:40])
    mean = random(40, 256) * 3
    roots = np.eye(40) + np.triu(random(256, 40, 40) * 5)
    inverse = roots.transpose(0, 2, 1) @ roots
    line = np.exp(-0.5 * (np.arange(-16, 17) / 4) ** 2)
    line /= line.sum()

    def enlarged(g, t, k):
        return g.Resize(t, "", np.array([1.0, 1, k, k]), mode="nearest", nearest_mode="floor",
                        coordinate_transformation_mode="asymmetric")

    def given(g, fine, middle, coarse):
        m, c = (enlarged(g, t, k) for t, k in ((middle, 2), (coarse, 4)))
        t = g.Gather(g.Concat(g.Concat(fine, m, axis=1), c, axis=1), chosen, axis=1)
        t = g.Sub(g.Reshape(t, [1, 40, 256]), mean)
        t = g.Transpose(t, perm=[2, 0, 1])
        t = g.ReduceSum(g.Mul(g.MatMul(t, inverse), t), [2], keepdims=0)
        t = g.Reshape(g.Sqrt(g.Max(t, 0.0)), [1, 1, 16, 16])
        t = g.Resize(t, "", "", [1, 1, 64, 64], mode="linear")
        t = g.Pad(t, [0, 0, 16, 16, 0, 0, 16, 16], mode="reflect")
        return g.Conv(t, (line[:, None] * line)[None, None])

    def expert(g, fine, middle, coarse):
        # Features are chosen ahead of enlargement; enlargement, border and blur are a matrix for each axis.
        f, m, c = (g.Gather(t, chosen[(chosen >= a) & (chosen < b)] - a, axis=1)
                   for t, a, b in ((fine, 0, 32), (middle, 32, 80), (coarse, 80, 144)))
        m, c = enlarged(g, m, 2), enlarged(g, c, 4)
        t = g.Transpose(g.Reshape(g.Concat(f, m, c, axis=1), [40, 256, 1]), perm=[1, 0, 2])
        t = g.Sub(g.MatMul(roots, t), roots @ mean.T[:, :, None])
        t = g.Reshape(g.ReduceL2(t, [1]), [1, 1, 16, 16])
        border = np.pad(np.arange(64), 16, mode="reflect")
        blur = np.zeros((64, 64))
        for k in range(33):
            np.add.at(blur, (np.arange(64), border[k:k + 64]), line[k])
        axis = blur @ interpolation(16, 64)
        return g.MatMul(g.MatMul(axis, t), axis.T.copy())
    return given, expert


@network(frames=(2, 4, 44, 44))
def implicit_quantiles_of_atari(random):
    """Values of 6 actions: means of 32 quantiles, which stay the same when the agent is evaluated."""
    w1, b1, w2, b2 = random(16, 4, 8, 8) * 255, random(16), random(32, 16, 4, 4), random(32)
    w3, b3, w4, b4 = random(64, 512), random(512), random(512, 256), random(256)
    w5, b5 = random(256, 6), random(6)
    quantiles, waves = (np.arange(32) + 0.5) / 32, np.pi * np.arange(1, 65)

    def given(g, frames):
        t = g.Relu(g.Conv(g.Div(frames, 255.0), w1, b1, strides=[4, 4]))
        t = g.Reshape(g.Relu(g.Conv(t, w2, b2, strides=[2, 2])), [2, 512])
        q = g.Cos(g.Mul(g.Expand(g.Reshape(quantiles, [1, 32, 1]), [2, 32, 1]), waves))
        q = g.Reshape(g.Relu(g.linear(g.Reshape(q, [64, 64]), w3, b3)), [2, 32, 512])
        t = g.Reshape(g.Mul(g.Unsqueeze(t, [1]), q), [64, 512])
        t = g.linear(g.Relu(g.linear(t, w4, b4)), w5, b5)
        return g.ReduceMean(g.Reshape(t, [2, 32, 6]), [1], keepdims=0)

    def expert(g, frames):
        q = np.maximum(np.cos(quantiles[:, None] * waves) @ w3 + b3, 0)
        t = g.Relu(g.Conv(frames, w1 / 255, b1, strides=[4, 4]))
        t = g.Reshape(g.Relu(g.Conv(t, w2, b2, strides=[2, 2])), [2, 1, 512])
        t = g.Relu(g.linear(g.Mul(t, q), w4, b4))
        return g.Gemm(g.ReduceMean(t, [1], keepdims=0), w5, b5)
    return given, expert


@network(x=(1, 3, 32, 32))
def euler_step_of_edm(random):
    """From noise of 2.0 to noise of 1.5: a preconditioned denoiser of one block with an adaptive norm."""
    sigma, following, data = 2.0, 1.5, 0.5
    total = sigma ** 2 + data ** 2
    skip, out, scale_in = data ** 2 / total, sigma * data / total ** 0.5, total ** -0.5
    frequencies = (1 / 10000) ** (np.arange(16) / 16)
    wi, bi, wo, bo = random(32, 3, 3, 3), random(32), random(3, 32, 3, 3), random(3)
    (e1, c1), (e2, c2), (e3, c3) = ((random(k, 64), random(64)) for k in (32, 64, 64))
    w1, b1, w2, b2 = random(32, 32, 3, 3), random(32), random(32, 32, 3, 3), random(32)
    (s0, o0), (s1, o1), (s2, o2) = ((random.positive(32, 1, 1), random(32, 1, 1)) for _ in range(3))

    def grouped(g, t, epsilon=1e-5):
        t = g.InstanceNormalization(g.Reshape(t, [1, 8, 4096]), np.ones(8), np.zeros(8), epsilon=epsilon)
        return g.Reshape(t, [1, 32, 32, 32])

    def silu(g, t):
        return g.Mul(t, g.Sigmoid(t))

    def given(g, x):
        noise = g.Mul(g.Div(g.Log(np.array([[sigma]])), 4.0), frequencies)
        e = silu(g, g.linear(g.Concat(g.Cos(noise), g.Sin(noise), axis=1), e1, c1))
        e = g.linear(silu(g, g.linear(e, e2, c2)), e3, c3)
        s, o = g.Split(g.Unsqueeze(e, [2, 3]), [32, 32], axis=1, results=2)
        h = g.Conv(g.Mul(x, scale_in), wi, bi, pads=[1, 1, 1, 1])
        t = silu(g, g.Add(g.Mul(grouped(g, h), s0), o0))
        t = g.Conv(t, w1, b1, pads=[1, 1, 1, 1])
        t = g.Add(g.Mul(grouped(g, t), s1), o1)
        t = silu(g, g.Add(o, g.Mul(t, g.Add(s, 1.0))))
        h = g.Mul(g.Add(g.Conv(t, w2, b2, pads=[1, 1, 1, 1]), h), 0.5 ** 0.5)
        t = silu(g, g.Add(g.Mul(grouped(g, h), s2), o2))
        t = g.Conv(t, wo, bo, pads=[1, 1, 1, 1])
        denoised = g.Add(g.Mul(x, skip), g.Mul(t, out))
        slope = g.Div(g.Sub(x, denoised), sigma)
        return g.Add(x, g.Mul(slope, following - sigma))

    def expert(g, x):
        def swish(t):
            return t / (1 + np.exp(-t))
        noise = np.log(sigma) / 4 * frequencies
        e = swish(np.concatenate([np.cos(noise), np.sin(noise)]) @ e1 + c1)
        s, o = (swish(e @ e2 + c2) @ e3 + c3).reshape(2, 32, 1, 1)
        h = g.Conv(x, wi * scale_in, bi, pads=[1, 1, 1, 1])
        t = silu(g, g.Add(g.Mul(grouped(g, h), s0), o0))
        t = g.Conv(t, w1, b1, pads=[1, 1, 1, 1])
        t = silu(g, g.Add(g.Mul(grouped(g, t), s1 * (1 + s)), o1 * (1 + s) + o))
        h = g.Add(g.Conv(t, w2, b2, pads=[1, 1, 1, 1]), h)
        t = silu(g, g.Add(g.Mul(grouped(g, h, 2e-5), s2), o2))  # the norm cancels the scale of the sum
        step = (following - sigma) / sigma
        t = g.Conv(t, wo * -out * step, bo * -out * step, pads=[1, 1, 1, 1])
        return g.Add(g.Mul(x, 1 + step * (1 - skip)), t)
    return given, expert
