"""Blocks of models of 2015-2025 as exporters write them, each beside the graph an expert would write."""

import numpy as np

from networks import centered, folded, network, passing, side_by_side


@network(x=(1, 64, 28, 28))
def token_mixer_and_perceptron_of_fast_vit(random):
    """FastViT (Vasu et al. 2023), a RepMixer block before re-parameterization, by torch.onnx: branches of
    depthwise kernels less a norm, scaled per channel, and a convolutional perceptron."""
    wide, point, first = random(64, 1, 3, 3), random(64, 1, 1, 1), random(64, 1, 7, 7)
    second, third, b2, b3 = random(96, 64, 1, 1), random(64, 96, 1, 1), random(96), random(64)
    norms = [random.norm(64) for _ in range(5)]
    s1, s2 = random.positive(64, 1, 1), random.positive(64, 1, 1)

    def given(g, x):
        t = g.BatchNormalization(g.Conv(x, wide, group=64, pads=[1, 1, 1, 1]), *norms[0])
        t = g.Add(t, g.BatchNormalization(g.Conv(x, point, group=64), *norms[1]))
        t = g.Sub(g.Add(t, g.BatchNormalization(x, *norms[2])), g.BatchNormalization(x, *norms[3]))
        x = g.Add(x, g.Mul(s1, t))
        t = g.BatchNormalization(g.Conv(x, first, group=64, pads=[3, 3, 3, 3]), *norms[4])
        t = g.Conv(t, second, b2)
        t = g.Mul(g.Mul(t, g.Add(g.Erf(g.Div(t, 2 ** 0.5)), 1.0)), 0.5)
        return g.Add(x, g.Mul(s2, g.Conv(t, third, b3)))

    def expert(g, x):
        # All branches, the norm taken away, the scale and the shortcut are one depthwise kernel.
        one = passing(64, 3, groups=64)
        (k1, c1), (k2, c2), (k3, c3), (k4, c4) = (
            folded(w, n) for w, n in zip((wide, centered(point, 3), one, one), norms))
        kernel, bias = one + s1[..., None] * (k1 + k2 + k3 - k4), s1[:, 0, 0] * (c1 + c2 + c3 - c4)
        x = g.Conv(x, kernel, bias, group=64, pads=[1, 1, 1, 1])
        t = g.Conv(x, *folded(first, norms[4]), group=64, pads=[3, 3, 3, 3])
        t = g.Gelu(g.Conv(t, second, b2))
        return g.Add(x, g.Conv(t, third * s2[..., None], b3 * s2[:, 0, 0]))
    return given, expert


@network(x=(1, 96, 28, 28))
def coordinate_attention_in_a_mobile_block(random):
    """Coordinate Attention (Hou et al. 2021) behind a depthwise convolution, by torch.onnx with hard swish
    written out: gates of rows and of columns."""
    deep, down, up = random(96, 1, 3, 3), random(8, 96, 1, 1), [random(96, 8, 1, 1) for _ in range(2)]
    b, bu, last = random(8), [random(96) for _ in range(2)], random(24, 96, 1, 1)
    n1, n2, n3 = random.norm(96), random.norm(8), random.norm(24)

    def given(g, x):
        def swish(t):
            return g.Mul(t, g.Div(g.Clip(g.Add(t, 3.0), 0.0, 6.0), 6.0))
        x = swish(g.BatchNormalization(g.Conv(x, deep, group=96, pads=[1, 1, 1, 1]), *n1))
        rows = g.AveragePool(x, kernel_shape=[1, 28])
        columns = g.Transpose(g.AveragePool(x, kernel_shape=[28, 1]), perm=[0, 1, 3, 2])
        t = swish(g.BatchNormalization(g.Conv(g.Concat(rows, columns, axis=2), down, b), *n2))
        rows, columns = g.Split(t, [28, 28], axis=2, results=2)
        rows = g.Sigmoid(g.Conv(rows, up[0], bu[0]))
        columns = g.Sigmoid(g.Conv(g.Transpose(columns, perm=[0, 1, 3, 2]), up[1], bu[1]))
        t = g.Mul(g.Mul(x, g.Expand(columns, [1, 96, 28, 28])), g.Expand(rows, [1, 96, 28, 28]))
        return g.BatchNormalization(g.Conv(t, last), *n3)

    def expert(g, x):
        # Norms are in the kernels. Rows and columns are as many, so they are two items of a batch whose
        # second layer is a batched product, and one sigmoid serves both.
        x = g.HardSwish(g.Conv(x, *folded(deep, n1), group=96, pads=[1, 1, 1, 1]))
        t = g.Concat(g.ReduceMean(x, [3], keepdims=0), g.ReduceMean(x, [2], keepdims=0), axis=0)
        weight, bias = folded(down, n2, bias=b)
        t = g.HardSwish(g.Add(g.MatMul(weight[:, :, 0, 0], t), bias[:, None]))
        t = g.Sigmoid(g.Add(g.MatMul(np.stack(up)[..., 0, 0], t), np.stack(bu)[..., None]))
        rows, columns = g.Split(t, [1, 1], axis=0, results=2)
        t = g.Mul(g.Mul(x, g.Unsqueeze(columns, [2])), g.Unsqueeze(rows, [3]))
        return g.Conv(t, *folded(last, n3))
    return given, expert


@network(x=(1, 12, 12, 96))
def dilated_pyramid_on_a_small_map(random):
    """The pyramid of rates 6, 12 and 18 of DeepLabv3 (Chen et al. 2017), by tf2onnx with its transposes,
    on a map of 12 by 12 as at low resolutions."""
    point, pool, last = random(48, 96, 1, 1), random(48, 96, 1, 1), random(96, 240, 1, 1)
    kernels, norms = [random(48, 96, 3, 3) for _ in range(3)], [random.norm(48) for _ in range(5)]
    final = random.norm(96)

    def given(g, x):
        t = g.Transpose(x, perm=[0, 3, 1, 2])
        parts = [g.BatchNormalization(g.Conv(t, point), *norms[0])]
        for rate, kernel, norm in zip((6, 12, 18), kernels, norms[1:]):
            part = g.Conv(t, kernel, dilations=[rate, rate], pads=[rate] * 4)
            parts.append(g.BatchNormalization(part, *norm))
        parts = [g.Transpose(g.Relu(part), perm=[0, 2, 3, 1]) for part in parts]
        mean = g.Transpose(g.ReduceMean(x, [1, 2]), perm=[0, 3, 1, 2])
        mean = g.Relu(g.BatchNormalization(g.Conv(mean, pool), *norms[4]))
        mean = g.Resize(mean, "", "", [1, 48, 12, 12], mode="linear")
        t = g.Concat(*parts, g.Transpose(mean, perm=[0, 2, 3, 1]), axis=3)
        t = g.BatchNormalization(g.Conv(g.Transpose(t, perm=[0, 3, 1, 2]), last), *final)
        return g.Transpose(g.Relu(t), perm=[0, 2, 3, 1])

    def expert(g, x):
        # On 12 by 12 pixels, rates of 12 and 18 reach only padding but for the middle of the kernel: three
        # branches are one layer of 1 by 1. The pooled branch is a bias of the last layer.
        x = g.Transpose(x, perm=[0, 3, 1, 2])
        ones = [folded(w, n) for w, n in zip((point, *(k[:, :, 1:2, 1:2] for k in kernels[1:])),
                                             (norms[0], norms[2], norms[3]))]
        t = g.Conv(x, *(np.concatenate(parts) for parts in zip(*ones)))
        other = g.Conv(x, *folded(kernels[0], norms[1]), dilations=[6, 6], pads=[6] * 4)
        weight, bias = folded(last, final)
        near, far, two, three, whole = np.split(weight, 5, axis=1)
        mean = g.Conv(g.Relu(g.Conv(g.GlobalAveragePool(x), *folded(pool, norms[4]))), whole, bias)
        t = g.Conv(g.Relu(g.Concat(t, other, axis=1)), np.concatenate([near, two, three, far], axis=1))
        return g.Transpose(g.Relu(g.Add(t, mean)), perm=[0, 2, 3, 1])
    return given, expert


@network(masks=(96, 1600), labels=(96,), scores=(96,))
def decays_of_matrix_suppression(random):
    """Matrix NMS of SOLOv2 (Wang et al. 2020) in its Gaussian form, by torch.onnx: scores decay with
    the overlap of masks of one class."""
    def given(g, masks, labels, scores):
        m = g.Cast(g.Greater(masks, 0.0), to=1)
        inter = g.MatMul(m, g.Transpose(m, perm=[1, 0]))
        area = g.Expand(g.ReduceSum(m, [1], keepdims=0), [96, 96])
        union = g.Sub(g.Add(area, g.Transpose(area, perm=[1, 0])), inter)
        iou = g.Trilu(g.Div(inter, union), 1, upper=1)
        label = g.Expand(g.Where(g.Greater(labels, 0.0), 1.0, 0.0), [96, 96])
        same = g.Trilu(g.Cast(g.Equal(label, g.Transpose(label, perm=[1, 0])), to=1), 1, upper=1)
        most = g.Expand(g.ReduceMax(g.Mul(iou, same), [0], keepdims=0), [96, 96])
        most = g.Exp(g.Mul(g.Pow(g.Transpose(most, perm=[1, 0]), 2.0), -2.0))
        decay = g.Exp(g.Mul(g.Pow(g.Mul(iou, same), 2.0), -2.0))
        return g.Mul(g.Sigmoid(scores), g.ReduceMin(g.Div(decay, most), [0], keepdims=0))

    def expert(g, masks, labels, scores):
        # The least quotient of exponentials is one exponential of a largest difference, so that it is taken
        # of 96 numbers and not of all pairs; labels are compared as they are, and one triangle is cut.
        m = g.Cast(g.Greater(masks, 0.0), to=1)
        inter, area = g.Gemm(m, m, transB=1), g.ReduceSum(m, [1], keepdims=0)
        union = g.Sub(g.Add(area, g.Unsqueeze(area, [1])), inter)
        label = g.Greater(labels, 0.0)
        same = g.Equal(label, g.Unsqueeze(label, [1]))
        t = g.Where(same, g.Trilu(g.Div(inter, union), 1, upper=1), 0.0)
        squared = g.Mul(t, t)
        most = g.Unsqueeze(g.ReduceMax(squared, [0], keepdims=0), [1])
        decay = g.Exp(g.Mul(g.ReduceMax(g.Sub(squared, most), [0], keepdims=0), -2.0))
        return g.Mul(g.Sigmoid(scores), decay)
    return given, expert


@network(x=(8, 1, 128), prefix_keys=(1, 4, 256, 32), prefix_values=(1, 4, 256, 32),
         keys=(8, 4, 31, 32), values=(8, 4, 31, 32))
def decoding_behind_a_shared_prefix(random):
    """One step of decoding of 8 requests with one system prompt, as Hydragen (Juravsky et al. 2024)
    has it, by torch.onnx, where the cache of the prompt is expanded to the batch."""
    w, b = [random(128, 128) for _ in range(4)], [random(128) for _ in range(4)]

    def given(g, x, prefix_keys, prefix_values, keys, values):
        def heads(k):
            return g.Transpose(g.Reshape(g.linear(x, w[k], b[k]), [8, 1, 4, 32]), perm=[0, 2, 1, 3])
        k = g.Concat(g.Expand(prefix_keys, [8, 4, 256, 32]), keys, heads(1), axis=2)
        v = g.Concat(g.Expand(prefix_values, [8, 4, 256, 32]), values, heads(2), axis=2)
        s = g.Div(g.MatMul(heads(0), g.Transpose(k, perm=[0, 1, 3, 2])), 32 ** 0.5)
        o = g.Transpose(g.MatMul(g.Softmax(s, axis=-1), v), perm=[0, 2, 1, 3])
        return g.linear(g.Reshape(o, [8, 1, 128]), w[3], b[3])

    def expert(g, x, prefix_keys, prefix_values, keys, values):
        # The prompt is read once: for it the requests are rows of one product a head. Only the scores of
        # both parts meet, and the step's own key and value are joined to the short cache alone.
        scaled, bias = side_by_side(w[0] * 32 ** -0.5, *w[1:3]), side_by_side(b[0] * 32 ** -0.5, *b[1:3])
        t = g.linear(x, scaled, bias)
        q, k, v = g.Split(g.Reshape(t, [8, 12, 1, 32]), [4, 4, 4], axis=1, results=3)
        keys, values = g.Concat(keys, k, axis=2), g.Concat(values, v, axis=2)
        s = g.Concat(g.Einsum(q, prefix_keys, equation="bhxd,yhkd->bhxk"),
                     g.Einsum(q, keys, equation="bhxd,bhkd->bhxk"), axis=3)
        far, near = g.Split(g.Softmax(s, axis=-1), [256, 32], axis=3, results=2)
        o = g.Add(g.Einsum(far, prefix_values, equation="bhxk,yhkd->bhxd"), g.MatMul(near, values))
        return g.linear(g.Reshape(o, [8, 1, 128]), w[3], b[3])
    return given, expert


@network(x=(1, 128, 128))
def convolved_projections_and_squared_relu_of_primer(random):
    """Primer (So et al. 2021), by tf2onnx: depthwise causal convolutions behind the layers of queries, keys
    and values, a perceptron with a squared ReLU, and layer norms written out."""
    w, kernels, b = [random(128, 128) for _ in range(4)], [random(128, 1, 3) for _ in range(3)], random(128)
    s1, o1, s2, o2 = random.positive(128), random(128), random.positive(128), random(128)
    w1, b1, w2, b2 = random(128, 256), random(256), random(256, 128), random(128)
    causal = np.tri(128) > 0

    def given(g, x):
        def normal(t, scale, offset):
            t = g.Sub(t, g.ReduceMean(t, [-1]))
            variance = g.ReduceMean(g.Mul(t, t), [-1])
            return g.Add(g.Mul(g.Div(t, g.Sqrt(g.Add(variance, 1e-5))), scale), offset)
        t = normal(x, s1, o1)

        def convolved(k, perm):
            u = g.Pad(g.Transpose(g.MatMul(t, w[k]), perm=[0, 2, 1]), [0, 0, 2, 0, 0, 0])
            u = g.Transpose(g.Conv(u, kernels[k], group=128), perm=[0, 2, 1])
            return g.Transpose(g.Reshape(u, [1, 128, 4, 32]), perm=perm)
        s = g.Mul(g.MatMul(convolved(0, [0, 2, 1, 3]), convolved(1, [0, 2, 3, 1])), 32 ** -0.5)
        p = g.Softmax(g.Where(causal[None, None], s, -1e9), axis=-1)
        o = g.Transpose(g.MatMul(p, convolved(2, [0, 2, 1, 3])), perm=[0, 2, 1, 3])
        x = g.Add(x, g.linear(g.Reshape(o, [1, 128, 128]), w[3], b))
        t = g.Pow(g.Relu(g.linear(normal(x, s2, o2), w1, b1)), 2.0)
        return g.Add(x, g.linear(t, w2, b2))

    def expert(g, x):
        # One product and one causal convolution make queries, keys and values, channels first, which is how
        # both the convolution and the division into heads want them; the scale is in the queries' kernel.
        t = g.Transpose(g.LayerNormalization(x, s1, o1, axis=-1), perm=[0, 2, 1])
        whole = np.concatenate([kernels[0] * 32 ** -0.5, *kernels[1:]])
        t = g.Conv(g.MatMul(side_by_side(*w[:3]).T, t), whole, group=384, pads=[2, 0])
        q, k, v = g.Split(g.Reshape(t, [1, 12, 32, 128]), [4, 4, 4], axis=1, results=3)
        s = g.Add(g.MatMul(g.Transpose(q, perm=[0, 1, 3, 2]), k), np.where(causal, 0.0, -1e9))
        o = g.Einsum(g.Softmax(s, axis=-1), v, equation="bhqk,bhdk->bqhd")
        x = g.Add(x, g.linear(g.Reshape(o, [1, 128, 128]), w[3], b))
        t = g.Relu(g.linear(g.LayerNormalization(x, s2, o2, axis=-1), w1, b1))
        return g.Add(x, g.linear(g.Mul(t, t), w2, b2))
    return given, expert


@network(x=(128, 96))
def shared_and_routed_experts_of_deepseek(random):
    """DeepSeekMoE (Dai et al. 2024) with the sigmoid gates of DeepSeek-V3, by torch.onnx: a loop over
    four routed experts, of which two count, and a shared expert twice as wide."""
    gates, ups, downs = ([random(*s) for _ in range(4)] for s in ((96, 64), (96, 64), (64, 96)))
    gate, up, down = random(96, 128), random(96, 128), random(128, 96)
    route, favor = random(96, 4), random(4)

    def given(g, x):
        def swiglu(a, b, c):
            t = g.MatMul(x, a)
            return g.MatMul(g.Mul(g.Mul(t, g.Sigmoid(t)), g.MatMul(x, b)), c)
        s = g.Sigmoid(g.MatMul(x, route))
        best, _ = g.TopK(g.Add(s, favor), [2], axis=1, results=2)
        s = g.Where(g.Less(g.Add(s, favor), g.Slice(best, [1], [2], [1])), 0.0, s)
        s = g.Mul(g.Div(s, g.Add(g.ReduceSum(s, [1]), 1e-20)), 2.5)
        y = np.zeros((128, 96))
        for k in range(4):
            share = g.Expand(g.Slice(s, [k], [k + 1], [1]), [128, 96])
            y = g.Add(y, g.Mul(swiglu(gates[k], ups[k], downs[k]), share))
        return g.Add(y, swiglu(gate, up, down))

    def expert(g, x):
        # All experts are one wide one: its hidden units are weighted before the last layer, those of the
        # shared expert, as two of the routed size, by one.
        s = g.Sigmoid(g.MatMul(x, route))
        chosen = g.Add(s, favor)
        best, _ = g.TopK(chosen, [2], axis=1, results=2)
        s = g.Where(g.Less(chosen, g.ReduceMin(best, [1])), 0.0, s)
        s = g.Mul(g.Div(s, g.ReduceSum(s, [1])), 2.5)
        s = g.Unsqueeze(g.Concat(s, np.ones((128, 2)), axis=1), [2])
        t = g.MatMul(x, side_by_side(*gates, gate, *ups, up))
        t, u = g.Split(t, [384, 384], axis=1, results=2)
        t = g.Reshape(g.Mul(g.Mul(t, g.Sigmoid(t)), u), [128, 6, 64])
        return g.MatMul(g.Reshape(g.Mul(t, s), [128, 384]), np.concatenate([*downs, down]))
    return given, expert


@network(x=(2, 128, 256))
def low_rank_intervention_on_representations(random):
    """LoReFT (Wu et al. 2024), by torch.onnx: the first and the last 16 positions are edited in a subspace
    each, before a norm written out and a layer."""
    turn = [np.linalg.qr(random(256, 8))[0] for _ in range(2)]
    w, b = [random(256, 8) for _ in range(2)], [random(8) for _ in range(2)]
    scale, last = random.positive(256), random(256, 64)

    def given(g, x):
        def edited(t, k):
            change = g.Sub(g.linear(t, w[k], b[k]), g.MatMul(t, turn[k]))
            return g.Add(t, g.MatMul(change, g.Transpose(turn[k], perm=[1, 0])))
        first, rest, end = (g.Slice(x, [i], [k], [1]) for i, k in ((0, 16), (16, 112), (112, 128)))
        x = g.Concat(edited(first, 0), rest, edited(end, 1), axis=1)
        t = g.Sqrt(g.Add(g.ReduceMean(g.Pow(x, 2.0), [2]), 1e-6))
        return x, g.MatMul(g.Mul(scale, g.Mul(x, g.Reciprocal(t))), last)

    def expert(g, x):
        # What is learned and what is taken away are one layer. Both edits, of a rank of 16 together, are
        # computed for all positions, and zeros choose between them: nothing is cut out and put back.
        mask = np.zeros((128, 16))
        mask[:16, :8], mask[112:, 8:] = 1, 1
        t = g.MatMul(x, side_by_side(w[0] - turn[0], w[1] - turn[1]))
        t = g.Add(g.Mul(t, mask), mask * side_by_side(*b))
        x = g.Add(x, g.MatMul(t, side_by_side(*turn).T))
        return x, g.MatMul(g.RMSNormalization(x, scale, axis=-1, epsilon=1e-6), last)
    return given, expert


@network(x=(1, 2, 16, 24, 24))
def two_steps_of_convolutional_lstm(random):
    """ConvLSTM (Shi et al. 2015), two steps by tf2onnx from keras: each gate has convolutions of its
    own, the first step convolves a state of zeros, and the hard sigmoid is written out."""
    kernels, states = ([random(16, 16, 3, 3) for _ in range(4)] for _ in range(2))
    biases, shape = [random(16) for _ in range(4)], [1, 16, 24, 24]

    def given(g, x):
        h, c = np.zeros(shape), np.zeros(shape)
        for k in range(2):
            frame = g.Squeeze(g.Slice(x, [k], [k + 1], [1]), [1])
            i, f, o, n = (g.Add(g.Conv(frame, w, b, pads=[1, 1, 1, 1]), g.Conv(h, u, pads=[1, 1, 1, 1]))
                          for w, u, b in zip(kernels, states, biases))
            i, f, o = (g.Clip(g.Add(g.Mul(t, 0.2), 0.5), 0.0, 1.0) for t in (i, f, o))
            c = g.Add(g.Mul(f, c), g.Mul(i, g.Tanh(n)))
            h = g.Mul(o, g.Tanh(c))
        return h

    def expert(g, x):
        # All convolutions of a step are one, of the frame beside the state; the line of the hard sigmoid is
        # in the weights. The first step has no state to convolve, and nothing to forget.
        weight = np.concatenate([np.concatenate(kernels), np.concatenate(states)], axis=1)
        bias, parts = np.concatenate([*(0.2 * b + 0.5 for b in biases[:3]), biases[3]]), np.r_[0:16, 32:64]
        weight[:48] *= 0.2
        first, second = g.Split(g.Reshape(x, [2, 16, 24, 24]), [1, 1], axis=0, results=2)
        t = g.Conv(first, weight[parts, :16], bias[parts], pads=[1, 1, 1, 1])
        i, o, n = g.Split(t, [16] * 3, axis=1, results=3)
        c = g.Mul(g.Clip(i, 0.0, 1.0), g.Tanh(n))
        h = g.Mul(g.Clip(o, 0.0, 1.0), g.Tanh(c))
        t = g.Conv(g.Concat(second, h, axis=1), weight, bias, pads=[1, 1, 1, 1])
        i, f, o, n = g.Split(t, [16] * 4, axis=1, results=4)
        c = g.Add(g.Mul(g.Clip(f, 0.0, 1.0), c), g.Mul(g.Clip(i, 0.0, 1.0), g.Tanh(n)))
        return g.Mul(g.Clip(o, 0.0, 1.0), g.Tanh(c))
    return given, expert


@network(x=(1, 6, 128))
def gated_linear_recurrence_of_griffin(random):
    """The recurrent layer of Griffin (De et al. 2024), by torch.onnx from recurrentgemma: gates from
    layers in blocks along a diagonal, and a loop over six steps."""
    wy, wu, wo, by, bu, bo = *(random(128, 128) for _ in range(3)), *(random(128) for _ in range(3))
    wr, wi, br, bi, decay = *(random(4, 32, 32) for _ in range(2)), random(4, 32), random(4, 32), random(128)

    def given(g, x):
        y, u = g.Gelu(g.linear(x, wy, by), approximate="tanh"), g.linear(x, wu, bu)
        parts = g.Reshape(u, [1, 6, 4, 32])

        def gate(w, b):
            t = g.Add(g.Einsum(parts, w, equation="bthi,hij->bthj"), b)
            return g.Sigmoid(g.Reshape(t, [1, 6, 128]))
        log = g.Mul(g.Mul(gate(wr, br), -8.0), g.Softplus(decay))
        a, t = g.Exp(log), g.Mul(gate(wi, bi), u)
        t, h, states = g.Mul(t, g.Sqrt(g.Sub(1.0, g.Exp(g.Mul(log, 2.0))))), np.zeros((1, 128)), []
        for k in range(6):
            h = g.Add(g.Mul(g.Gather(a, np.array(k), axis=1), h), g.Gather(t, np.array(k), axis=1))
            states.append(g.Unsqueeze(h, [1]))
        return g.linear(g.Mul(g.Concat(*states, axis=1), y), wo, bo)

    def expert(g, x):
        # Both branches are one layer and both gates another. What is left of a step at each later one is
        # an exponential of a difference of running sums, and the loop one weighted sum with them.
        t = g.linear(x, side_by_side(wy, wu), side_by_side(by, bu))
        y, u = g.Split(t, [128, 128], axis=2, results=2)
        t = g.Einsum(g.Reshape(u, [1, 6, 4, 32]), side_by_side(wr, wi), equation="bthi,hij->bthj")
        r, i = g.Split(g.Sigmoid(g.Add(t, side_by_side(br, bi))), [32, 32], axis=3, results=2)
        log = g.Mul(g.Reshape(r, [1, 6, 128]), -8 * np.log1p(np.exp(decay)))
        t = g.Sqrt(g.Sub(1.0, g.Exp(g.Mul(log, 2.0))))
        t = g.Mul(g.Mul(g.Reshape(i, [1, 6, 128]), u), t)
        total = g.CumSum(log, np.array(1))
        left = g.Sub(g.Unsqueeze(total, [2]), g.Unsqueeze(total, [1]))
        left = g.Exp(g.Add(left, np.where(np.tri(6), 0.0, -1e9)[..., None]))
        h = g.Einsum(left, t, equation="btsd,bsd->btd")
        return g.linear(g.Mul(h, g.Gelu(y, approximate="tanh")), wo, bo)
    return given, expert


@network(nodes=(48, 32), edges=(48, 48, 32), links=(48, 48))
def residual_gated_graph_layer(random):
    """Residual Gated Graph ConvNets (Bresson and Laurent 2018) on a dense adjacency, by torch.onnx: edges
    are made of joined pairs of nodes, and gates divided by their sum weigh the neighbors."""
    w, b, wu, wv, bu = random(96, 32), random(32), random(32, 32), random(32, 32), random(32)
    n1, n2 = random.norm(32), random.norm(32)

    def given(g, nodes, edges, links):
        rows = g.Expand(g.Unsqueeze(nodes, [1]), [48, 48, 32])
        columns = g.Expand(g.Unsqueeze(nodes, [0]), [48, 48, 32])
        e = g.linear(g.Concat(rows, columns, edges, axis=2), w, b)
        mask = g.Unsqueeze(g.Cast(g.Greater(links, 0.0), to=1), [2])
        gate = g.Mul(g.Sigmoid(e), g.Expand(mask, [48, 48, 32]))
        gate = g.Div(gate, g.Add(g.ReduceSum(gate, [1]), 1e-6))
        sent = g.ReduceSum(g.Mul(gate, g.Unsqueeze(g.MatMul(nodes, wv), [0])), [1], keepdims=0)
        t = g.BatchNormalization(g.Add(g.linear(nodes, wu, bu), sent), *n1)
        e = g.Reshape(g.BatchNormalization(g.Reshape(e, [2304, 32]), *n2), [48, 48, 32])
        return g.Add(nodes, g.Relu(t)), g.Add(edges, g.Relu(e))

    def expert(g, nodes, edges, links):
        # Nodes pass the four layers once each, in one product, not once a pair. The sum of gates divides
        # the sum of messages, and the nodes' norm is in the layers.
        (u, c), (v, _) = folded(wu.T, n1, bias=bu), folded(wv.T, n1)
        weights, none = side_by_side(w[:32], w[32:64], u.T, v.T), np.zeros(32)
        t = g.linear(nodes, weights, side_by_side(b, none, c, none))
        row, column, own, value = g.Split(t, [32] * 4, axis=1, results=4)
        e = g.Add(g.Add(g.MatMul(edges, w[64:]), g.Unsqueeze(row, [1])), column)
        gate = g.Where(g.Unsqueeze(g.Greater(links, 0.0), [2]), g.Sigmoid(e), 0.0)
        total = g.Add(g.ReduceSum(gate, [1], keepdims=0), 1e-6)
        t = g.Add(own, g.Div(g.Einsum(gate, value, equation="ijd,jd->id"), total))
        factor, offset = folded(np.ones(32), n2)
        e = g.Relu(g.Add(g.Mul(e, factor), offset))
        return g.Add(nodes, g.Relu(t)), g.Add(edges, e)
    return given, expert


@network(x=(1, 100, 80))
def stacked_frames_and_memory_of_voice_detector(random):
    """The FSMN voice detector of FunASR (after Zhang et al. 2018), by torch.onnx: five frames are stacked,
    shifted and scaled, two linear layers follow, and a memory of 10 steps."""
    shift, scale, w1, b1 = random(400), random.positive(400), random(400, 64), random(64)
    w2, b2, project, memory = random(64, 128), random(128), random(128, 64), random(64, 1, 10, 1)
    w3, b3, w4, b4 = random(64, 128), random(128), random(128, 24), random(24)

    def given(g, x):
        first, last = g.Slice(x, [0], [1], [1]), g.Slice(x, [99], [100], [1])
        t = g.Concat(first, first, x, last, last, axis=1)
        t = g.Concat(*(g.Slice(t, [k], [k + 100], [1]) for k in range(5)), axis=2)
        t = g.linear(g.Mul(g.Add(t, shift), scale), w1, b1)
        t = g.MatMul(g.Relu(g.linear(t, w2, b2)), project)
        t = g.Transpose(g.Unsqueeze(t, [1]), perm=[0, 3, 2, 1])
        t = g.Add(t, g.Conv(g.Pad(t, [0, 0, 9, 0, 0, 0, 0, 0]), memory, group=64))
        t = g.Squeeze(g.Transpose(t, perm=[0, 3, 2, 1]), [1])
        return g.Softmax(g.linear(g.Relu(g.linear(t, w3, b3)), w4, b4), axis=-1)

    def expert(g, x):
        # A layer on five stacked frames is a convolution of width five, with shift and scale in its weights;
        # all stays channels first, and the shortcut is the last tap of the memory.
        def last_first(weight):
            return weight.T[:, :, None]
        t = g.Pad(g.Transpose(x, perm=[0, 2, 1]), [0, 0, 2, 0, 0, 2], mode="edge")
        kernel = (w1 * scale[:, None]).reshape(5, 80, 64).transpose(2, 1, 0)
        t = g.Conv(t, kernel, b1 + (shift * scale) @ w1)
        t = g.Conv(g.Relu(g.Conv(t, last_first(w2), b2)), last_first(project))
        taps = memory[..., 0] + np.eye(10)[9]
        t = g.Relu(g.Conv(g.Conv(t, taps, group=64, pads=[9, 0]), last_first(w3), b3))
        return g.Softmax(g.linear(g.Transpose(t, perm=[0, 2, 1]), w4, b4), axis=-1)
    return given, expert


@network(latents=(1, 4, 16, 16), time=(1, 64), text=(2, 16, 48))
def entry_of_a_u_net_under_guidance(random):
    """Stable Diffusion (Rombach et al. 2022) up to its first attention to text, by torch.onnx: latents and
    time are doubled for guidance, and group norms are instance norms of reshaped maps."""
    k0, k1, k2 = random(64, 4, 3, 3), random(64, 64, 3, 3), random(64, 64, 3, 3)
    c0, c1, c2 = (random(64) for _ in range(3))
    norms, wt, bt = [(random.positive(64), random(64)) for _ in range(3)], random(64, 64), random(64)
    wq, wk, wv, wo, bo = random(64, 64), random(48, 64), random(48, 64), random(64, 64), random(64)

    def block(g, t, count, norm, kernel, *bias):
        t = g.InstanceNormalization(g.Reshape(t, [count, 16, 1024]), np.ones(16), np.zeros(16))
        scale, offset = (part[:, None, None] for part in norm)
        t = g.Add(g.Mul(g.Reshape(t, [count, 64, 16, 16]), scale), offset)
        return g.Conv(g.Mul(t, g.Sigmoid(t)), kernel, *bias, pads=[1] * 4)

    def given(g, latents, time, text):
        x = g.Conv(g.Concat(latents, latents, axis=0), k0, c0, pads=[1] * 4)
        time = g.Expand(time, [2, 64])
        time = g.linear(g.Mul(time, g.Sigmoid(time)), wt, bt)
        t = g.Add(block(g, x, 2, norms[0], k1, c1), g.Unsqueeze(g.Unsqueeze(time, [2]), [3]))
        t = g.Reshape(g.Add(x, block(g, t, 2, norms[1], k2, c2)), [2, 64, 256])
        t = g.Transpose(t, perm=[0, 2, 1])

        def heads(u, w, perm):
            return g.Transpose(g.Reshape(g.MatMul(u, w), [2, -1, 4, 16]), perm=perm)
        q = heads(g.LayerNormalization(t, *norms[2], axis=-1), wq, [0, 2, 1, 3])
        p = g.Softmax(g.Mul(g.MatMul(q, heads(text, wk, [0, 2, 3, 1])), 0.25), axis=-1)
        o = g.Transpose(g.MatMul(p, heads(text, wv, [0, 2, 1, 3])), perm=[0, 2, 1, 3])
        return g.Add(g.linear(g.Reshape(o, [2, 256, 64]), wo, bo), t)

    def expert(g, latents, time, text):
        # Until text comes in, both halves of the batch are one: it is computed once, queries included.
        x = g.Conv(latents, k0, c0, pads=[1] * 4)
        time = g.Reshape(g.Gemm(g.Mul(time, g.Sigmoid(time)), wt, bt + c1), [1, 64, 1, 1])
        t = g.Add(block(g, x, 1, norms[0], k1), time)
        t = g.Add(x, block(g, t, 1, norms[1], k2, c2))
        t = g.Transpose(g.Reshape(t, [1, 64, 256]), perm=[0, 2, 1])
        q = g.Reshape(g.MatMul(g.LayerNormalization(t, *norms[2], axis=-1), wq / 4), [256, 4, 16])
        k, v = g.Split(g.MatMul(text, side_by_side(wk, wv)), [64, 64], axis=2, results=2)
        k, v = g.Reshape(k, [2, 16, 4, 16]), g.Reshape(v, [2, 16, 4, 16])
        p = g.Softmax(g.Einsum(q, k, equation="qhd,bkhd->bhqk"), axis=-1)
        o = g.Reshape(g.Einsum(p, v, equation="bhqk,bkhd->bqhd"), [2, 256, 64])
        return g.Add(g.MatMul(o, wo), g.Add(t, bo))
    return given, expert


@network(x=(256, 16, 16))
def parallel_instance_masks_of_mask_net(random):
    """The parallel MaskNet (Wang et al. 2021), by torch.onnx, whose norm of embeddings is written out: three
    blocks mask the embeddings of all fields and map them."""
    s, o, w4, b4 = random.positive(16), random(16), random(192, 64), random(64)
    w5, b5 = random(64, 1), random(1)
    w1, w2, w3 = ([random(*shape) for _ in range(3)] for shape in ((256, 64), (64, 256), (256, 64)))
    b1, b2, o3 = ([random(width) for _ in range(3)] for width in (64, 256, 64))
    s3 = [random.positive(64) for _ in range(3)]

    def given(g, x):
        flat, parts = g.Flatten(x, axis=1), []
        t = g.Sub(x, g.ReduceMean(x, [-1]))
        t = g.Div(t, g.Sqrt(g.Add(g.ReduceMean(g.Pow(t, 2.0), [-1]), 1e-5)))
        normal = g.Flatten(g.Add(g.Mul(t, s), o), axis=1)
        for k in range(3):
            mask = g.linear(g.Relu(g.linear(flat, w1[k], b1[k])), w2[k], b2[k])
            t = g.MatMul(g.Mul(mask, normal), w3[k])
            parts.append(g.Relu(g.LayerNormalization(t, s3[k], o3[k], axis=-1)))
        t = g.Relu(g.linear(g.Concat(*parts, axis=1), w4, b4))
        return g.Sigmoid(g.linear(t, w5, b5))

    def expert(g, x):
        # The three blocks are one batch of products, up to the layer that reads all of them.
        flat = g.Reshape(x, [256, 256])
        normal = g.Reshape(g.LayerNormalization(x, s, o, axis=-1), [256, 256])
        t = g.Relu(g.Add(g.MatMul(flat, np.stack(w1)), np.stack(b1)[:, None]))
        t = g.Mul(g.Add(g.MatMul(t, np.stack(w2)), np.stack(b2)[:, None]), normal)
        t = g.LayerNormalization(g.MatMul(t, np.stack(w3)), np.ones(64), np.zeros(64), axis=-1)
        t = g.Relu(g.Add(g.Mul(t, np.stack(s3)[:, None]), np.stack(o3)[:, None]))
        t = g.Einsum(t, w4.reshape(3, 64, 64), equation="pbk,pkh->bh")
        return g.Sigmoid(g.Gemm(g.Relu(g.Add(t, b4)), w5, b5))
    return given, expert


@network(fine=(1, 512, 3), coarse=(1, 64, 3), skipped=(1, 32, 512), features=(1, 128, 64))
def features_from_three_nearest_points(random):
    """Feature propagation of PointNet++ (Qi et al. 2017), by torch.onnx: distances are sorted whole,
    features of three nearest points are mixed, joined to those of a skip, and mapped twice."""
    w1, b1, n1 = random(128, 160, 1), random(128), random.norm(128)
    w2, b2, n2 = random(128, 128, 1), random(128), random.norm(128)

    def distances(g, fine, coarse):
        t = g.Mul(g.MatMul(fine, g.Transpose(coarse, perm=[0, 2, 1])), -2.0)
        t = g.Add(t, g.ReduceSum(g.Pow(fine, 2.0), [2]))
        return g.Add(t, g.Unsqueeze(g.ReduceSum(g.Pow(coarse, 2.0), [2], keepdims=0), [1]))

    def given(g, fine, coarse, skipped, features):
        d, index = g.TopK(distances(g, fine, coarse), [64], axis=2, largest=0, results=2)
        d, index = g.Slice(d, [0], [3], [2]), g.Slice(index, [0], [3], [2])
        inverse = g.Div(1.0, g.Add(d, 1e-8))
        weight = g.Reshape(g.Div(inverse, g.ReduceSum(inverse, [2])), [1, 512, 3, 1])
        rows = g.Squeeze(g.Transpose(features, perm=[0, 2, 1]), [0])
        mixed = g.ReduceSum(g.Mul(g.Gather(rows, index, axis=0), weight), [2], keepdims=0)
        t = g.Concat(g.Transpose(skipped, perm=[0, 2, 1]), mixed, axis=2)
        t = g.Relu(g.BatchNormalization(g.Conv(g.Transpose(t, perm=[0, 2, 1]), w1, b1), *n1))
        return g.Relu(g.BatchNormalization(g.Conv(t, w2, b2), *n2))

    def expert(g, fine, coarse, skipped, features):
        # The first layer maps the 64 coarse points before they are mixed for 512, and only the three least
        # distances are sought.
        d, index = g.TopK(distances(g, fine, coarse), [3], axis=2, largest=0, results=2)
        inverse = g.Reciprocal(g.Add(d, 1e-8))
        weight = g.Reshape(g.Div(inverse, g.ReduceSum(inverse, [2])), [512, 1, 3])
        (first, c1), (second, c2) = folded(w1[..., 0], n1, bias=b1), folded(w2[..., 0], n2, bias=b2)
        rows = g.Gemm(g.Squeeze(features, [0]), first[:, 32:].T, c1, transA=1)
        mixed = g.MatMul(weight, g.Gather(rows, g.Squeeze(index, [0]), axis=0))
        t = g.Gemm(g.Squeeze(skipped, [0]), first[:, :32].T, g.Squeeze(mixed, [1]), transA=1)
        return g.Unsqueeze(g.Relu(g.Gemm(second, g.Relu(t), c2[:, None], transB=1)), [0])
    return given, expert


@network(x=(1, 16, 48, 48))
def swift_attention_without_parameters_of_span(random):
    """SPAN for super-resolution (Wan et al. 2024), one block and the enlargement, by torch.onnx before
    layers are merged: a padded map goes through kernels of 1, 3 and 1 beside a shortcut of 1."""
    layers = [[(random(32, 16, 1, 1), random(32)), (random(32, 32, 3, 3), random(32)),
               (random(16, 32, 1, 1), random(16)), (random(16, 16, 1, 1), random(16))] for _ in range(2)]
    last, bias = random(12, 48, 3, 3), random(12)

    def given(g, x):
        def layer(t, k):
            first, middle, third, skip = layers[k]
            u = g.Conv(g.Pad(t, [0, 0, 1, 1, 0, 0, 1, 1]), *first)
            return g.Add(g.Conv(g.Conv(u, *middle), *third), g.Conv(t, *skip))
        a = layer(x, 0)
        t = layer(g.Mul(a, g.Sigmoid(a)), 1)
        t = g.Mul(g.Add(t, x), g.Sub(g.Sigmoid(t), 0.5))
        t = g.Conv(g.Concat(x, a, t, axis=1), last, bias, pads=[1, 1, 1, 1])
        return g.DepthToSpace(t, blocksize=2, mode="CRD")

    def expert(g, x):
        # The padding comes before the first bias, so that a layer is exactly one kernel of 3 by 3, the
        # shortcut in its middle.
        def layer(t, k):
            (w1, b1), (w2, b2), (w3, b3), (w4, b4) = layers[k]
            a, c = w1[..., 0, 0], w3[..., 0, 0]
            weight = np.einsum("om,mnyx,ni->oiyx", c, w2, a) + centered(w4, 3)
            return g.Conv(t, weight, c @ (w2.sum((2, 3)) @ b1 + b2) + b3 + b4, pads=[1, 1, 1, 1])
        a = layer(x, 0)
        t = layer(g.Mul(a, g.Sigmoid(a)), 1)
        t = g.Mul(g.Add(t, x), g.Sub(g.Sigmoid(t), 0.5))
        t = g.Conv(g.Concat(x, a, t, axis=1), last, bias, pads=[1, 1, 1, 1])
        return g.DepthToSpace(t, blocksize=2, mode="CRD")
    return given, expert


@network(past=(32, 96), covariates=(32, 120, 8))
def dense_encoder_and_decoder_of_tide(random):
    """TiDE (Das et al. 2023), by torch.onnx: residual blocks, whose shortcuts are layers too, map
    covariates, encode, decode, and decode each of 24 steps; a linear forecast is added."""
    def residual(width, hidden, result):
        shapes = ((width, hidden), (hidden,), (hidden, result), (result,), (width, result), (result,))
        return [random(*shape) for shape in shapes]
    blocks = [residual(8, 16, 4), residual(576, 64, 64), residual(64, 64, 96), residual(8, 16, 1)]
    norms, direct, b = [(random.positive(k), random(k)) for k in (4, 64, 96)], random(96, 24), random(24)

    def given(g, past, covariates):
        def block(t, k):
            w1, b1, w2, b2, ws, bs = blocks[k]
            t = g.Add(g.linear(g.Relu(g.linear(t, w1, b1)), w2, b2), g.linear(t, ws, bs))
            return g.LayerNormalization(t, *norms[k], axis=-1) if k < 3 else t
        c = block(covariates, 0)
        t = block(g.Concat(past, g.Reshape(c, [32, 480]), axis=1), 1)
        t = g.Concat(g.Reshape(block(t, 2), [32, 24, 4]), g.Slice(c, [96], [120], [1]), axis=2)
        return g.Add(g.Squeeze(block(t, 3), [2]), g.linear(past, direct, b))

    def expert(g, past, covariates):
        # A block's first layer and its shortcut read the same, and are one; both biases of the result are
        # in it, and the second layer adds to it. The linear forecast is a part of the encoder's.
        def block(t, k, extra=0):
            w1, b1, w2, b2, ws, bs = blocks[k]
            more = [np.pad(direct, ((0, 480), (0, 0)))] if extra else []
            t = g.Gemm(t, side_by_side(w1, ws, *more), side_by_side(b1, b2 + bs, *[b] * len(more)))
            sizes = [w1.shape[1], w2.shape[1]] + [24] * len(more)
            hidden, skip, *rest = g.Split(t, sizes, axis=1, results=len(sizes))
            t = g.Gemm(g.Relu(hidden), w2, skip)
            return [g.LayerNormalization(t, *norms[k], axis=-1) if k < 3 else t, *rest]
        c = block(g.Reshape(covariates, [3840, 8]), 0)[0]
        c = g.Reshape(c, [32, 480])
        t, forecast = block(g.Concat(past, c, axis=1), 1, extra=24)
        future = g.Reshape(g.Slice(c, [384], [480], [1]), [768, 4])
        t = g.Concat(g.Reshape(block(t, 2)[0], [768, 4]), future, axis=1)
        return g.Add(g.Reshape(block(t, 3)[0], [32, 24]), forecast)
    return given, expert


@network(x=(4, 64, 19, 19))
def pooled_policy_and_value_of_kata_go(random):
    """Both heads of KataGo (Wu 2019), by torch.onnx: means, scaled means and maxima of a map are a bias of
    the policy, and means in three scales the input of the value."""
    kp, kg, kv, k2 = *(random(32, 64, 1, 1) for _ in range(3)), random(2, 32, 1, 1)
    ng, nv, norm, wg, wpass = *(random.norm(32) for _ in range(3)), random(96, 32), random(96, 2)
    w1, b1, w2, b2, size = random(96, 48), random(48), random(48, 3), random(3), (19 - 14) / 10

    def given(g, x):
        def pooled(t, last):
            mean = g.ReduceMean(t, [2, 3])
            t = g.Concat(mean, g.Mul(mean, size), last(t, mean), axis=1)
            return g.Squeeze(g.Squeeze(t, [3]), [2])
        t = g.Relu(g.BatchNormalization(g.Conv(x, kg), *ng))
        t = pooled(t, lambda t, mean: g.ReduceMax(t, [2, 3]))
        p = g.Add(g.Conv(x, kp), g.Unsqueeze(g.Unsqueeze(g.MatMul(t, wg), [2]), [3]))
        p = g.Conv(g.Relu(g.BatchNormalization(p, *norm)), k2)
        p = g.Concat(g.Reshape(p, [4, 2, 361]), g.Unsqueeze(g.MatMul(t, wpass), [2]), axis=2)
        t = g.Relu(g.BatchNormalization(g.Conv(x, kv), *nv))
        t = pooled(t, lambda t, mean: g.Mul(mean, size ** 2 - 0.1))
        return p, g.linear(g.Relu(g.linear(t, w1, b1)), w2, b2)

    def expert(g, x):
        # Norms are in the layers, and two maps are one that is pooled once. Scales of a mean are in the
        # weights that read it, and one product serves the bias of the policy, the pass and the value.
        (first, c), *both = folded(kp, norm), folded(kg, ng), folded(kv, nv)
        t = g.Relu(g.Conv(x, *(np.concatenate(parts) for parts in zip(*both))))
        t = g.Concat(g.ReduceMean(t, [2, 3], keepdims=0), g.ReduceMax(t, [2, 3], keepdims=0), axis=1)
        mean, scaled, most = np.split(side_by_side(wg * norm[0] / np.sqrt(norm[3] + 1e-5), wpass), 3)
        weight = np.zeros((128, 82))
        weight[:32, :34], weight[64:96, :34] = mean + size * scaled, most
        weight[32:64, 34:] = w1[:32] + size * w1[32:64] + (size ** 2 - 0.1) * w1[64:]
        t = g.Gemm(t, weight, side_by_side(c, np.zeros(2), b1))
        bias, skip, hidden = g.Split(t, [32, 2, 48], axis=1, results=3)
        p = g.Add(g.Conv(x, first), g.Reshape(bias, [4, 32, 1, 1]))
        p = g.Conv(g.Relu(p), k2)
        p = g.Concat(g.Reshape(p, [4, 2, 361]), g.Unsqueeze(skip, [2]), axis=2)
        return p, g.Gemm(g.Relu(hidden), w2, b2)
    return given, expert
