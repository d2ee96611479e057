"""Images: gates of U-Nets (Oktay et al. 2018), decoders that resize (Odena et al. 2016), units that shuffle
(Ma et al. 2018), shortcuts that pool (He et al. 2019), edges in super-resolution (Zhang et al. 2021),
boxes as expectations (Li et al. 2020)."""

import numpy as np

from networks import centered, folded, network, passing

SAME = dict(pads=[1, 1, 1, 1])


@network(x=(1, 32, 28, 28), gate=(1, 64, 14, 14))
def attention_gate(random):
    """What comes from below is enlarged before it is mapped to fewer channels."""
    w = [random(16, 64, 1, 1), random(16, 32, 1, 1), random(1, 16, 1, 1)]
    b, norms = [random(n) for n in (16, 16, 1)], [random.norm(n) for n in (16, 16, 1)]

    def enlarged(g, x):
        return g.Resize(x, "", np.array([1, 1, 2, 2], np.float32), mode="linear",
                        coordinate_transformation_mode="half_pixel")

    def given(g, x, gate):
        def layer(t, i):
            return g.BatchNormalization(g.Conv(t, w[i], b[i]), *norms[i])
        t = g.Relu(g.Add(layer(enlarged(g, gate), 0), layer(x, 1)))
        return g.Mul(x, g.Sigmoid(layer(t, 2)))

    def expert(g, x, gate):
        (w0, b0), (w1, b1), (w2, b2) = (folded(w[i], norms[i], bias=b[i]) for i in range(3))
        t = g.Relu(g.Add(g.Conv(x, w1, b1), enlarged(g, g.Conv(gate, w0, b0))))
        return g.Mul(x, g.Sigmoid(g.Conv(t, w2, b2)))
    return given, expert


@network(x=(1, 64, 16, 16))
def decoder_that_resizes(random):
    """A copy of each pixel below a 3 × 3 kernel is a transposed convolution of 4 × 4."""
    w, norms = [random(32, 64, 3, 3), random(16, 32, 3, 3)], [random.norm(32), random.norm(16)]

    def given(g, x):
        for weight, norm in zip(w, norms):
            t = g.Resize(x, "", np.array([1, 1, 2, 2], np.float32), mode="nearest",
                         coordinate_transformation_mode="asymmetric", nearest_mode="floor")
            x = g.Relu(g.BatchNormalization(g.Conv(t, weight, **SAME), *norm))
        return x

    def spread(kernel):
        """v[m] = w[2 − m] + w[3 − m] in both directions."""
        along = np.zeros((3, 4))
        for m in range(4):
            for k in (2 - m, 3 - m):
                if 0 <= k < 3:
                    along[k, m] = 1
        return np.einsum("oihw,hy,wx->ioyx", kernel, along, along)

    def expert(g, x):
        for weight, norm in zip(w, norms):
            kernel, bias = folded(weight, norm)
            x = g.Relu(g.ConvTranspose(x, spread(kernel), bias, strides=[2, 2], **SAME))
        return x
    return given, expert


@network(x=(1, 48, 14, 14))
def units_that_shuffle(random):
    """Two units and the convolution behind them, which can read channels in any order."""
    units = [[(random(24, 24, 1, 1), random.norm(24)), (random(24, 1, 3, 3), random.norm(24)),
              (random(24, 24, 1, 1), random.norm(24))] for _ in range(2)]
    last, last_norm = random(96, 48, 1, 1), random.norm(96)

    def branch(g, x, layer):
        t = g.Relu(layer(g, x, 0))
        return g.Relu(layer(g, layer(g, t, 1, group=24, **SAME), 2))

    def given(g, x):
        for unit in units:
            def layer(g, x, i, unit=unit, **attributes):
                weight, norm = unit[i]
                return g.BatchNormalization(g.Conv(x, weight, **attributes), *norm)
            kept, t = g.Split(x, [24, 24], axis=1, results=2)
            x = g.Reshape(g.Concat(kept, branch(g, t, layer), axis=1), [1, 2, 24, 14, 14])
            x = g.Reshape(g.Transpose(x, perm=[0, 2, 1, 3, 4]), [1, 48, 14, 14])
        return g.Relu(g.BatchNormalization(g.Conv(x, last), *last_norm))

    def expert(g, x):
        shuffle = np.arange(48).reshape(2, 24).T.reshape(48)
        first, second = ([folded(*layer) for layer in unit] for unit in units)

        def of(unit):
            return lambda g, x, i, **attributes: g.Conv(x, *unit[i], **attributes)
        early = g.Concat(x, branch(g, g.Slice(x, [24], [48], [1]), of(first)), axis=1)
        # Channels of `early` by their place behind the first shuffle: the second part of x is not read.
        places = np.array([c if c < 24 else c + 24 for c in shuffle])
        wide = np.zeros((24, 72, 1, 1))
        wide[:, places[24:]] = second[0][0]
        late = branch(g, early, of([(wide, second[0][1]), *second[1:]]))
        weight, bias = folded(last, last_norm)
        mixed = np.zeros((96, 96, 1, 1))
        mixed[:, np.concatenate([places[:24], np.arange(72, 96)])[shuffle]] = weight
        return g.Relu(g.Conv(g.Concat(early, late, axis=1), mixed, bias))
    return given, expert


@network(x=(1, 64, 28, 28))
def shortcut_that_pools(random):
    """A residual block that halves the resolution: the mean of four pixels before a 1 × 1 kernel."""
    w = [random(32, 64, 1, 1), random(32, 32, 3, 3), random(128, 32, 1, 1), random(128, 64, 1, 1)]
    norms = [random.norm(32), random.norm(32), random.norm(128), random.norm(128)]

    def block(g, x, layer, shortcut):
        t = g.Relu(layer(g.Relu(layer(x, 0)), 1, strides=[2, 2], **SAME))
        return g.Relu(g.Add(layer(t, 2), shortcut))

    def given(g, x):
        def layer(t, i, **attributes):
            return g.BatchNormalization(g.Conv(t, w[i], **attributes), *norms[i])
        pooled = g.AveragePool(x, kernel_shape=[2, 2], strides=[2, 2])
        return block(g, x, layer, layer(pooled, 3))

    def expert(g, x):
        fused = [folded(w[i], norms[i]) for i in range(4)]

        def layer(t, i, **attributes):
            return g.Conv(t, *fused[i], **attributes)
        weight = np.broadcast_to(fused[3][0] / 4, (128, 64, 2, 2))
        return block(g, x, layer, g.Conv(x, weight, fused[3][1], strides=[2, 2]))
    return given, expert


@network(x=(1, 16, 32, 32))
def edges_in_super_resolution(random):
    """A 3 × 3 kernel beside a wide one in two parts, three fixed edges behind 1 × 1 kernels, and the
    input itself."""
    w3, wa, wb = random(16, 16, 3, 3), random(32, 16, 1, 1), random(16, 32, 3, 3)
    b, slope = [random(16) for _ in range(5)], random.positive(16, 1, 1)
    edges = [np.array([[1, 0, -1], [2, 0, -2], [1, 0, -1]]),
             np.array([[1, 2, 1], [0, 0, 0], [-1, -2, -1]]),
             np.array([[0, 1, 0], [1, -4, 1], [0, 1, 0]])]
    mixes = [random(16, 16, 1, 1) for _ in edges]
    masks = [random(16, 1, 1, 1) * edge for edge in edges]

    def given(g, x):
        t = g.Add(g.Conv(x, w3, b[0], **SAME), g.Conv(g.Conv(x, wa), wb, b[1], **SAME))
        for i, mix in enumerate(mixes):
            t = g.Add(t, g.Conv(g.Conv(x, mix), masks[i], b[2 + i], group=16, **SAME))
        return g.PRelu(g.Add(t, x), slope)

    def expert(g, x):
        weight = w3 + np.einsum("omhw,mi->oihw", wb, wa[:, :, 0, 0]) + passing(16, 3)
        weight = weight + sum(mask * mix for mask, mix in zip(masks, mixes))
        return g.PRelu(g.Conv(x, weight, sum(b), **SAME), slope)
    return given, expert


@network(x=(1, 64, 16, 16))
def boxes_as_expectations(random):
    """Distances to four sides are means over 16 bins; then corners, centers and sizes."""
    w, b, wc, bc = random(64, 64, 1, 1), random(64), random(20, 64, 1, 1), random(20)
    columns, rows = np.meshgrid(np.arange(16) + 0.5, np.arange(16) + 0.5)
    centers = np.stack([columns.reshape(-1), rows.reshape(-1)])[None]
    bins, stride = np.arange(16.0), 8.0

    def given(g, x):
        t = g.Reshape(g.Conv(x, w, b), [1, 4, 16, 256])
        t = g.Softmax(g.Transpose(t, perm=[0, 2, 1, 3]), axis=1)
        t = g.Reshape(g.Conv(t, bins.reshape(1, 16, 1, 1)), [1, 4, 256])
        before, after = g.Split(t, [2, 2], axis=1, results=2)
        low, high = g.Sub(centers, before), g.Add(centers, after)
        middle = g.Div(g.Add(low, high), 2.0)
        boxes = g.Mul(g.Concat(middle, g.Sub(high, low), axis=1), stride)
        scores = g.Sigmoid(g.Reshape(g.Conv(x, wc, bc), [1, 20, 256]))
        return g.Concat(boxes, scores, axis=1)

    def expert(g, x):
        sides = np.array([[-0.5, 0, 0.5, 0], [0, -0.5, 0, 0.5], [1, 0, 1, 0], [0, 1, 0, 1]])
        weight = np.kron(sides, bins[None]) * stride
        t = g.Softmax(g.Reshape(g.Conv(x, w, b), [1, 4, 16, 256]), axis=2)
        offset = np.concatenate([centers, np.zeros((1, 2, 256))], axis=1) * stride
        boxes = g.Add(g.Conv(g.Reshape(t, [1, 64, 256]), weight[:, :, None]), offset)
        scores = g.Reshape(g.Sigmoid(g.Conv(x, wc, bc)), [1, 20, 256])
        return g.Concat(boxes, scores, axis=1)
    return given, expert
