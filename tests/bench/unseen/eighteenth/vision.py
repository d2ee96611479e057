"""Blocks for images, volumes and detections, published from 2017 to 2022: each as an exporter writes it, and
as an expert in performance would."""

import numpy as np

from networks import folded, network, side_by_side


@network(x=(1, 3, 64, 48))
def flip_test_of_pose_baseline(random):
    """Simple Baselines for pose (Xiao et al. 2018) in its flip test, by torch.onnx: a stem, a transposed
    convolution and heatmaps, of the image and of its mirror image, whose joints are swapped back."""
    stem, middle, up = random(32, 3, 3, 3), random(32, 32, 3, 3), random(32, 32, 4, 4)
    last, bias, norms = random(17, 32, 1, 1), random(17), [random.norm(32) for _ in range(3)]
    swapped = np.array([0, 2, 1, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11, 14, 13, 16, 15])

    def given(g, x):
        def mirrored(t):
            return g.Slice(t, [-1], [-2 ** 63 + 1], [3], [-1])

        def model(t):
            t = g.Relu(g.BatchNormalization(g.Conv(t, stem, strides=[2, 2], pads=[1] * 4), *norms[0]))
            t = g.Relu(g.BatchNormalization(g.Conv(t, middle, pads=[1] * 4), *norms[1]))
            t = g.ConvTranspose(t, up, strides=[2, 2], pads=[1] * 4)
            return g.Conv(g.Relu(g.BatchNormalization(t, *norms[2])), last, bias)
        other = g.Gather(mirrored(model(mirrored(x))), swapped, axis=1)
        return g.Mul(g.Add(model(x), other), 0.5)

    def expert(g, x):
        # A layer of a mirror image is the mirror image of a layer whose kernel is mirrored, so that nothing
        # is turned: both passes are groups of channels, and the last layers, swap and mean are one. On an
        # even width the stem of stride 2 starts one column later in a mirror: kernels of 3 by 4 hold both.
        # A transposed convolution is one of 2 by 2 for each of four offsets, and so can go on in small maps
        # up to the last layer, behind which pixels are interleaved.
        (w1, c1), (w2, c2) = folded(stem, norms[0]), folded(middle, norms[1])
        scale, c3 = folded(np.ones((32, 1)), norms[2])
        w3, c1, c2, c3 = up * scale[:, :, None], *(np.tile(c, 2) for c in (c1, c2, c3))
        first = np.concatenate([np.pad(w1, ((0, 0),) * 3 + ((0, 1),)),
                                np.pad(w1[..., ::-1], ((0, 0),) * 3 + ((1, 0),))])
        t = g.Relu(g.Conv(x, first, c1, strides=[2, 2], pads=[1] * 4))
        t = g.Relu(g.Conv(t, np.concatenate([w2, w2[..., ::-1]]), c2, group=2, pads=[1] * 4))
        both = np.concatenate([w3.transpose(1, 0, 2, 3), w3[..., ::-1].transpose(1, 0, 2, 3)])
        weight, offset = np.concatenate([last, last[swapped]], axis=1) / 2, (bias + bias[swapped]) / 2
        parts = []
        for row, column in np.ndindex(2, 2):
            kernel = both[:, :, 1 - row::2, 1 - column::2][..., ::-1, ::-1]
            part = g.Conv(t, kernel, c3, group=2, pads=[1 - row, 1 - column, row, column])
            parts.append(g.Conv(g.Relu(part), weight, offset))
        return g.DepthToSpace(g.Concat(*parts, axis=1), blocksize=2, mode="DCR")
    return given, expert


@network(x=(1, 14, 14, 96))
def decomposed_positions_of_vit_det(random):
    """Attention of ViTDet (Li et al. 2022), by torch.onnx: to scores of all pairs are added products of
    queries with tables of relative rows and of relative columns."""
    norm, wqkv, bqkv = (random.positive(96), random(96)), random(96, 288), random(288)
    wo, bo, rows, columns = random(96, 96), random(96), random(27, 32), random(27, 32)
    index = np.arange(14)[:, None] - np.arange(14) + 13

    def given(g, x):
        t = g.linear(g.LayerNormalization(x, *norm, axis=-1), wqkv, bqkv)
        t = g.Transpose(g.Reshape(t, [1, 196, 3, 3, 32]), perm=[2, 0, 3, 1, 4])
        q, k, v = g.Split(g.Reshape(t, [3, 3, 196, 32]), [1, 1, 1], axis=0, results=3)
        q, k, v = (g.Squeeze(part, [0]) for part in (q, k, v))
        s = g.MatMul(g.Mul(q, 32 ** -0.5), g.Transpose(k, perm=[0, 2, 1]))
        r = g.Reshape(q, [3, 14, 14, 32])
        high = g.Einsum(r, g.Gather(rows, index, axis=0), equation="bhwc,hkc->bhwk")
        wide = g.Einsum(r, g.Gather(columns, index, axis=0), equation="bhwc,wkc->bhwk")
        s = g.Add(g.Reshape(s, [3, 14, 14, 14, 14]), g.Unsqueeze(high, [4]))
        s = g.Reshape(g.Add(s, g.Unsqueeze(wide, [3])), [3, 196, 196])
        o = g.Reshape(g.MatMul(g.Softmax(s, axis=-1), v), [1, 3, 14, 14, 32])
        o = g.Reshape(g.Transpose(o, perm=[0, 2, 3, 1, 4]), [1, 14, 14, 96])
        return g.Add(x, g.linear(o, wo, bo))

    def expert(g, x):
        # Rows and columns of a key in one-hot form are further features of keys, so that one product gives
        # scores with both terms. The bias of keys leaves a softmax as it is; that of values is in the last.
        wide, bias = wqkv.copy(), np.concatenate([bqkv[:96], np.zeros(192)])
        wide[:, :96], bias[:96] = wide[:, :96] * 32 ** -0.5, bias[:96] * 32 ** -0.5
        t = g.linear(g.LayerNormalization(x, *norm, axis=-1), wide, bias)
        t = g.Transpose(g.Reshape(t, [196, 9, 32]), perm=[1, 0, 2])
        q, k, v = g.Split(t, [3, 3, 3], axis=0, results=3)
        tables = [table[index].transpose(0, 2, 1) * 32 ** 0.5 for table in (rows, columns)]
        r = g.Reshape(q, [3, 14, 14, 32])
        by_row = g.Reshape(g.MatMul(r, tables[0]), [3, 196, 14])
        by_column = g.MatMul(g.Transpose(r, perm=[0, 2, 1, 3]), tables[1])
        by_column = g.Reshape(g.Transpose(by_column, perm=[0, 2, 1, 3]), [3, 196, 14])
        places = np.concatenate([np.repeat(np.eye(14), 14, axis=0), np.tile(np.eye(14), (14, 1))], axis=1)
        q = g.Concat(q, by_row, by_column, axis=2)
        k = g.Concat(k, np.tile(places, (3, 1, 1)), axis=2)
        p = g.Softmax(g.MatMul(q, g.Transpose(k, perm=[0, 2, 1])), axis=-1)
        o = g.Reshape(g.Transpose(g.MatMul(p, v), perm=[1, 0, 2]), [1, 14, 14, 96])
        return g.Add(x, g.linear(o, wo, bo + bqkv[192:] @ wo))
    return given, expert


@network(tokens=(1, 64, 96), skipped=(1, 8, 16, 16, 16))
def tokens_enlarged_into_volume_of_unetr(random):
    """UNETR for volumes (Hatamizadeh et al. 2022), by torch.onnx from MONAI: tokens are enlarged by two
    transposed convolutions with nothing in between, joined to a skip, and refined by a residual block."""
    up1, up2, three = random(96, 32, 2, 2, 2), random(32, 16, 2, 2, 2), random(16, 24, 3, 3, 3)
    again, point = random(16, 16, 3, 3, 3), random(16, 24, 1, 1, 1)
    last, bias, one, zero = random(4, 16, 1, 1, 1), random(4), np.ones(16), np.zeros(16)

    def given(g, tokens, skipped):
        t = g.Transpose(g.Reshape(tokens, [1, 4, 4, 4, 96]), perm=[0, 4, 1, 2, 3])
        t = g.ConvTranspose(g.ConvTranspose(t, up1, strides=[2] * 3), up2, strides=[2] * 3)
        t = g.Concat(t, skipped, axis=1)
        u = g.LeakyRelu(g.InstanceNormalization(g.Conv(t, three, pads=[1] * 6), one, zero), alpha=0.01)
        u = g.InstanceNormalization(g.Conv(u, again, pads=[1] * 6), one, zero)
        t = g.InstanceNormalization(g.Conv(t, point), one, zero)
        return g.Softmax(g.Conv(g.LeakyRelu(g.Add(u, t), alpha=0.01), last, bias), axis=1)

    def expert(g, tokens, skipped):
        # Without a bias or an activation behind it, the second enlargement is one transposed convolution
        # with what reads it: of 4 voxels with the kernel of 3, of 2 with the shortcut. Its zeros around a
        # volume are those of the padding. The skip has convolutions of its own, so that nothing is joined.
        t = g.Transpose(g.Reshape(tokens, [1, 4, 4, 4, 96]), perm=[0, 4, 1, 2, 3])
        t = g.ConvTranspose(t, up1, strides=[2] * 3)
        kernel = np.zeros((32, 16, 4, 4, 4))
        for s in np.ndindex(2, 2, 2):
            for e in np.ndindex(3, 3, 3):
                place = tuple(a - b + 2 for a, b in zip(s, e))
                kernel[(..., *place)] += up2[(..., *s)] @ three[(..., *e)][:, :16].T
        u = g.ConvTranspose(t, kernel, strides=[2] * 3, pads=[1] * 6)
        u = g.Add(u, g.Conv(skipped, three[:, 16:], pads=[1] * 6))
        u = g.LeakyRelu(g.InstanceNormalization(u, one, zero), alpha=0.01)
        u = g.InstanceNormalization(g.Conv(u, again, pads=[1] * 6), one, zero)
        kernel = np.einsum("kczyx,oc->kozyx", up2, point[:, :16, 0, 0, 0])
        t = g.Add(g.ConvTranspose(t, kernel, strides=[2] * 3), g.Conv(skipped, point[:, 16:]))
        t = g.InstanceNormalization(t, one, zero)
        return g.Softmax(g.Conv(g.LeakyRelu(g.Add(u, t), alpha=0.01), last, bias), axis=1)
    return given, expert


@network(x=(1, 64, 16, 16))
def pruned_channels_of_network_slimming(random):
    """Network Slimming (Liu et al. 2017), layers of a VGG before channels are taken out, by torch.onnx:
    scale and offset of pruned channels are zero in norms behind convolutions with biases."""
    shapes = [(128, 64, 3, 3), (128, 128, 3, 3), (96, 128, 3, 3)]
    kernels, biases = [random(*shape) for shape in shapes], [random(shape[0]) for shape in shapes]
    norms, w, b = [], random(10, 96), random(10)
    for part, (width, *_) in zip((0.6, 0.7, 0.5), shapes):
        scale, offset, mean, variance = random.norm(width)
        alive = scale > np.quantile(scale, part)
        norms.append((scale * alive, offset * alive, mean, variance))

    def given(g, x):
        for k, (kernel, bias, norm) in enumerate(zip(kernels, biases, norms)):
            x = g.Relu(g.BatchNormalization(g.Conv(x, kernel, bias, pads=[1, 1, 1, 1]), *norm))
            if k == 1:
                x = g.MaxPool(x, kernel_shape=[2, 2], strides=[2, 2])
        x = g.AveragePool(x, kernel_shape=[8, 8])
        return g.Gemm(g.Reshape(x, [1, -1]), w, b, transB=1)

    def expert(g, x):
        # A pruned channel is zero behind its norm, and neither computed nor read.
        before = np.full(64, True)
        for k, (kernel, bias, norm) in enumerate(zip(kernels, biases, norms)):
            alive = norm[0] != 0
            kernel, bias = folded(kernel, norm, bias=bias)
            x = g.Relu(g.Conv(x, kernel[alive][:, before], bias[alive], pads=[1, 1, 1, 1]))
            if k == 1:
                x = g.MaxPool(x, kernel_shape=[2, 2], strides=[2, 2])
            before = alive
        x = g.ReduceMean(x, [2, 3], keepdims=0)
        return g.Gemm(x, w[:, before], b, transB=1)
    return given, expert


@network(x=(1, 3, 80, 80))
def light_curves_of_zero_dce(random):
    """Zero-DCE (Guo et al. 2020), by Paddle: seven convolutions with symmetric skips give eight maps of a
    quadratic curve that is applied eight times to an image, which comes normalized."""
    layers = [(random(16, width, 3, 3), random(16)) for width in (3, 16, 16, 16)]
    layers += [(random(16, 32, 3, 3), random(16)) for _ in range(2)] + [(random(24, 32, 3, 3), random(24))]

    def maps(g, x):
        def layer(t, k):
            return g.Relu(g.Conv(t, *layers[k], pads=[1, 1, 1, 1]))
        a = layer(x, 0)
        b = layer(a, 1)
        c = layer(b, 2)
        t = layer(g.Concat(c, layer(c, 3), axis=1), 4)
        t = layer(g.Concat(b, t, axis=1), 5)
        return g.Tanh(g.Conv(g.Concat(a, t, axis=1), *layers[6], pads=[1, 1, 1, 1]))

    def given(g, x):
        x = g.Clip(g.Add(g.Mul(x, 0.25), 0.5), 0.0, 1.0)
        for r in g.Split(maps(g, x), [3] * 8, axis=1, results=8):
            x = g.Add(x, g.Mul(r, g.Sub(g.Pow(x, 2.0), x)))
        return x

    def expert(g, x):
        # There is little to gain: a step is x (1 - r + r x), of three operators, since 1 - r is taken of
        # all maps at once.
        x = g.Clip(g.Add(g.Mul(x, 0.25), 0.5), 0.0, 1.0)
        r = maps(g, x)
        straight = g.Split(g.Sub(1.0, r), [3] * 8, axis=1, results=8)
        curved = g.Split(r, [3] * 8, axis=1, results=8)
        for one, two in zip(straight, curved):
            x = g.Mul(x, g.Add(one, g.Mul(two, x)))
        return x
    return given, expert


@network(fine=(1, 48, 24, 24), middle=(1, 96, 12, 12), coarse=(1, 128, 6, 6))
def implicit_knowledge_and_boxes_of_yolor(random):
    """Detection on three scales with implicit knowledge of YOLOR (Wang et al. 2021), by torch.onnx as in
    YOLOv7: learned vectors are added before and multiplied behind a layer; boxes are decoded, changed from
    centers to corners by a product, and scores multiplied."""
    widths, sizes, strides = (48, 96, 128), (24, 12, 6), (8.0, 16.0, 32.0)
    added = [random(1, width, 1, 1) for width in widths]
    scaled = [random.positive(1, 27, 1, 1) for _ in widths]
    kernels, biases = [random(27, width, 1, 1) for width in widths], [random(27) for _ in widths]
    anchors = [stride * random.positive(1, 3, 1, 1, 2) * 3 for stride in strides]
    grids = [np.stack(np.meshgrid(np.arange(size), np.arange(size)), 2).reshape(1, 1, size, size, 2) * 1.0
             for size in sizes]

    def given(g, *maps):
        parts = []
        for k, t in enumerate(maps):
            t = g.Mul(g.Conv(g.Add(t, added[k]), kernels[k], biases[k]), scaled[k])
            t = g.Transpose(g.Reshape(t, [1, 3, 9, sizes[k], sizes[k]]), perm=[0, 1, 3, 4, 2])
            xy, wh, rest = g.Split(g.Sigmoid(t), [2, 2, 5], axis=4, results=3)
            xy = g.Mul(g.Add(g.Sub(g.Mul(xy, 2.0), 0.5), grids[k]), strides[k])
            wh = g.Mul(g.Pow(g.Mul(wh, 2.0), 2.0), anchors[k])
            parts.append(g.Reshape(g.Concat(xy, wh, rest, axis=4), [1, -1, 9]))
        boxes, sure, scores = g.Split(g.Concat(*parts, axis=1), [4, 1, 4], axis=2, results=3)
        corners = np.array([[1, 0, 1, 0], [0, 1, 0, 1], [-0.5, 0, 0.5, 0], [0, -0.5, 0, 0.5]])
        return g.MatMul(boxes, corners), g.Mul(scores, sure)

    def expert(g, *maps):
        # Learned vectors are in the layers, whose results are in an order of attributes before anchors, so
        # that a map is, without a transpose, rows of attributes of all boxes in the order asked for. Scales
        # are joined and decoded as one, with strides, places and anchors in three tables; corners are a
        # difference and a sum, and only results are transposed.
        parts = []
        for k, t in enumerate(maps):
            weight = kernels[k].reshape(27, -1) * scaled[k].reshape(27, 1)
            bias = (biases[k] + kernels[k].reshape(27, -1) @ added[k].ravel()) * scaled[k].ravel()
            order = np.arange(27).reshape(3, 9).T.ravel()
            t = g.Conv(t, weight[order][..., None, None], bias[order])
            parts.append(g.Reshape(t, [9, -1]))
        t = g.Sigmoid(g.Concat(*parts, axis=1))
        xy, wh, sure, scores = g.Split(t, [2, 2, 1, 4], axis=0, results=4)
        step, start, half = [], [], []
        for size, stride, grid, anchor in zip(sizes, strides, grids, anchors):
            step.append(np.full((1, 3 * size ** 2), 2 * stride))
            start.append(np.tile((grid.reshape(-1, 2).T - 0.5) * stride, (1, 3)))
            half.append(np.repeat(2 * anchor.reshape(3, 2).T, size ** 2, axis=1))
        step, start, half = (side_by_side(*table) for table in (step, start, half))
        center, half = g.Add(g.Mul(xy, step), start), g.Mul(g.Mul(wh, wh), half)
        results = g.Concat(g.Sub(center, half), g.Add(center, half), axis=0), g.Mul(scores, sure)
        return [g.Unsqueeze(g.Transpose(t, perm=[1, 0]), [0]) for t in results]
    return given, expert


@network(x=(1, 48, 20, 20))
def clipped_activations_of_pact(random):
    """PACT (Choi et al. 2018), a residual block trained for quantization and exported by torch.onnx without
    rounding: weights are squashed in the graph, activations clipped by differences of absolute values,
    and what scales to integers and back is left."""
    kernels, norms = [random(48, 48, 3, 3) for _ in range(2)], [random.norm(48) for _ in range(2)]
    clips = (3.5, 4.25)

    def given(g, x):
        def layer(t, k):
            w = g.Tanh(kernels[k])
            w = g.Div(w, g.Mul(g.ReduceMax(g.Abs(w), keepdims=0), 2.0))
            w = g.Sub(g.Mul(g.Add(w, 0.5), 2.0), 1.0)
            return g.BatchNormalization(g.Conv(t, w, pads=[1, 1, 1, 1]), *norms[k])

        def clipped(t, k):
            t = g.Mul(g.Add(g.Sub(g.Abs(t), g.Abs(g.Sub(t, clips[k]))), clips[k]), 0.5)
            return g.Mul(g.Div(g.Mul(t, 15 / clips[k]), 15.0), clips[k])
        return clipped(g.Add(layer(clipped(layer(x, 0), 0), 1), x), 1)

    def expert(g, x):
        # Weights are known, norms in them, and an activation is a clip.
        (w1, c1), (w2, c2) = (folded(np.tanh(w) / np.abs(np.tanh(w)).max(), n)
                              for w, n in zip(kernels, norms))
        t = g.Clip(g.Conv(x, w1, c1, pads=[1, 1, 1, 1]), 0.0, clips[0])
        return g.Clip(g.Add(g.Conv(t, w2, c2, pads=[1, 1, 1, 1]), x), 0.0, clips[1])
    return given, expert


@network(x=(2, 24, 24, 3))
def repeated_images_of_mimo(random):
    """MIMO ensemble (Havasi et al. 2021), a small wide residual network by tf2onnx: at test time an image is
    repeated three times along channels, and three heads are averaged."""
    first, kernels = random(32, 9, 3, 3), [random(32, 32, 3, 3) for _ in range(2)]
    norms = [random.norm(32) for _ in range(3)]
    heads = [(random(32, 10), random(10)) for _ in range(3)]

    def given(g, x):
        x = g.Transpose(g.Tile(x, [1, 1, 1, 3]), perm=[0, 3, 1, 2])
        x = g.Conv(x, first, auto_pad="SAME_UPPER")
        t = x
        for kernel, norm in zip(kernels, norms):
            t = g.Conv(g.Relu(g.BatchNormalization(t, *norm)), kernel, auto_pad="SAME_UPPER")
        t = g.Relu(g.BatchNormalization(g.Add(x, t), *norms[2]))
        t = g.Squeeze(g.ReduceMean(t, [2, 3]), [2, 3])
        parts = [g.Unsqueeze(g.Softmax(g.linear(t, w, b), axis=-1), [1]) for w, b in heads]
        return g.ReduceMean(g.Concat(*parts, axis=1), [1], keepdims=0)

    def expert(g, x):
        # What is repeated is read once, by the sum of the kernels that read it, and this layer of three
        # channels is so cheap that it is computed twice, for each norm that reads it. Heads are one product.
        whole = first.reshape(32, 3, 3, 3, 3).sum(1)
        (s1, c1), (s3, c3) = (folded(np.ones((32, 1, 1, 1)), norms[k]) for k in (0, 2))
        middle, last = folded(kernels[0], norms[1]), kernels[1] * s3
        x = g.Transpose(x, perm=[0, 3, 1, 2])
        t = g.Relu(g.Conv(x, whole * s1, c1, pads=[1, 1, 1, 1]))
        t = g.Conv(g.Relu(g.Conv(t, *middle, pads=[1, 1, 1, 1])), last, pads=[1, 1, 1, 1])
        t = g.Relu(g.Add(t, g.Conv(x, whole * s3, c3, pads=[1, 1, 1, 1])))
        t = g.ReduceMean(t, [2, 3], keepdims=0)
        weight, bias = (side_by_side(*parts) for parts in zip(*heads))
        t = g.Softmax(g.Reshape(g.Gemm(t, weight, bias), [2, 3, 10]), axis=-1)
        return g.ReduceMean(t, [1], keepdims=0)
    return given, expert
