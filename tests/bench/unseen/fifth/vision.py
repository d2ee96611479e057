"""Vision: modulated and demodulated kernels (Karras et al. 2020, StyleGAN2), the head of a detector whose
distances are distributions (Li et al. 2020, generalized focal loss; Jocher et al. 2023, YOLOv8)."""

import numpy as np

from networks import block_diagonal, folded, network


@network(x=(4, 32, 32, 32), style=(4, 64))
def kernels_modulated_by_style(random):
    """A convolution with demodulation, and the one to colors without, as grouped convolutions."""
    a, b = random(64, 32), random(32) + 1
    c, d = random(64, 32), random(32) + 1
    w, v = random(32, 32, 3, 3), random(3, 32, 1, 1)
    noise, bias, last = random(32, 32) * 4, random(1, 32, 1, 1), random(1, 3, 1, 1)

    def given(g, x, style):
        s = g.linear(style, a, b)
        t = g.Mul(w[None], g.Reshape(s, [4, 1, 32, 1, 1]))
        norm = g.Add(g.ReduceSum(g.Pow(t, 2.0), [2, 3, 4], keepdims=0), 1e-8)
        norm = g.Div(1.0, g.Sqrt(norm))
        t = g.Reshape(g.Mul(t, g.Reshape(norm, [4, 32, 1, 1, 1])), [128, 32, 3, 3])
        y = g.Conv(g.Reshape(x, [1, 128, 32, 32]), t, pads=[1, 1, 1, 1], group=4)
        y = g.Add(g.Add(g.Reshape(y, [4, 32, 32, 32]), noise), bias)
        y = g.Mul(g.LeakyRelu(y, alpha=0.2), 2 ** 0.5)
        s = g.linear(style, c, d)
        t = g.Reshape(g.Mul(v[None], g.Reshape(s, [4, 1, 32, 1, 1])), [12, 32, 1, 1])
        rgb = g.Conv(g.Reshape(y, [1, 128, 32, 32]), t, group=4)
        return g.Add(g.Reshape(rgb, [4, 3, 32, 32]), last)

    def expert(g, x, style):
        # The sum of squares of a modulated kernel is a product of the styles' squares.
        power = (w ** 2).sum((2, 3)).T / 2
        s = g.linear(style, a, b)
        norm = g.Sqrt(g.Add(g.MatMul(g.Mul(s, s), power), 0.5e-8))
        y = g.Conv(g.Mul(x, g.Reshape(s, [4, 32, 1, 1])), w, pads=[1, 1, 1, 1])
        y = g.Div(y, g.Reshape(norm, [4, 32, 1, 1]))
        y = g.LeakyRelu(g.Add(y, (noise + bias) * 2 ** 0.5), alpha=0.2)
        s = g.linear(style, c, d)
        y = g.Mul(y, g.Reshape(s, [4, 32, 1, 1]))
        return g.Conv(y, v, last.reshape(3))
    return given, expert


@network(x=(1, 64, 20, 20))
def head_of_distributions_of_distances(random):
    """Two branches; the box is the mean of four distributions over sixteen distances."""
    w1, w2 = random(32, 64, 3, 3), random(32, 64, 3, 3)
    n1, n2 = random.norm(32), random.norm(32)
    v1, v2, c1, c2 = random(64, 32, 1, 1) * 3, random(10, 32, 1, 1), random(64), random(10)
    grid = np.stack(np.meshgrid(np.arange(20) + 0.5, np.arange(20) + 0.5)).reshape(1, 2, 400)
    stride = 16.0

    def given(g, x):
        def branch(w, norm, v, c):
            t = g.BatchNormalization(g.Conv(x, w, pads=[1, 1, 1, 1]), *norm, epsilon=1e-3)
            return g.Conv(g.Mul(t, g.Sigmoid(t)), v, c)
        t = g.Concat(branch(w1, n1, v1, c1), branch(w2, n2, v2, c2), axis=1)
        box, cls = g.Split(g.Reshape(t, [1, 74, 400]), [64, 10], axis=1, results=2)
        t = g.Transpose(g.Reshape(box, [1, 4, 16, 400]), perm=[0, 2, 1, 3])
        t = g.Conv(g.Softmax(t, axis=1), np.arange(16.0).reshape(1, 16, 1, 1))
        t = g.Reshape(t, [1, 4, 400])
        low = g.Sub(grid, g.Slice(t, [0], [2], [1]))
        high = g.Add(grid, g.Slice(t, [2], [4], [1]))
        center, size = g.Div(g.Add(low, high), 2.0), g.Sub(high, low)
        box = g.Mul(g.Concat(center, size, axis=1), stride)
        return g.Concat(box, g.Sigmoid(cls), axis=1)

    def expert(g, x):
        (f1, b1), (f2, b2) = folded(w1, n1, 1e-3), folded(w2, n2, 1e-3)
        t = g.Conv(x, np.concatenate([f1, f2]), np.concatenate([b1, b2]), pads=[1, 1, 1, 1])
        t = g.Reshape(g.Mul(t, g.Sigmoid(t)), [64, 400])
        weight = block_diagonal([v1, v2]).reshape(74, 64)
        t = g.linear(weight, t, np.concatenate([c1, c2])[:, None])
        box, cls = g.Split(t, [64, 10], axis=0, results=2)
        box = g.Reshape(g.Softmax(g.Reshape(box, [4, 16, 400]), axis=1), [1, 64, 400])
        eye = np.eye(2)
        mean = np.kron(np.block([[-eye / 2, eye / 2], [eye, eye]]), np.arange(16.0)[None]) * stride
        box = g.linear(mean, box, np.concatenate([grid, 0 * grid], axis=1) * stride)
        return g.Concat(box, g.Reshape(g.Sigmoid(cls), [1, 10, 400]), axis=1)
    return given, expert
