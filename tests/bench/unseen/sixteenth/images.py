"""Blocks for images and points, published from 2018 to 2024: each as an exporter writes it, and as an expert
in performance would."""

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
