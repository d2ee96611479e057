"""Factors of rows and columns, copies, and sizes that change: Chebyshev's polynomials on graphs (Defferrard
et al. 2016), few keys for many queries (Ainslie et al. 2023), two ways to enlarge (Odena et al. 2016)."""

import numpy as np

from networks import by_head, folded, network


@network(x=(1024, 64), adjacency=(1024, 1024))
def polynomial_of_laplacian(random):
    """Three terms of I − D^-1/2 A D^-1/2; the degrees, 1 more each, come from the graph."""
    w, b = [random(64, 16) for _ in range(3)], random(16)

    def given(g, x, adjacency):
        positive = g.Abs(adjacency)
        degree = g.Add(g.ReduceSum(positive, [1]), np.float32(1))
        root = g.Pow(degree, np.float32(-0.5))
        t = g.Mul(g.Mul(root, positive), g.Transpose(root, perm=[1, 0]))
        laplacian = g.Sub(np.eye(1024, dtype=np.float32), t)
        first = g.MatMul(laplacian, x)
        second = g.Sub(g.Mul(np.float32(2), g.MatMul(laplacian, first)), x)
        t = g.Add(g.Add(g.MatMul(x, w[0]), g.MatMul(first, w[1])), g.MatMul(second, w[2]))
        return g.Relu(g.Add(t, b))

    def expert(g, x, adjacency):
        positive = g.Abs(adjacency)
        degree = g.Add(g.ReduceSum(positive, [1]), np.float32(1))
        root = g.Pow(degree, np.float32(-0.5))

        def laplacian(t):
            return g.Sub(t, g.Mul(root, g.MatMul(positive, g.Mul(root, t))))
        t = laplacian(g.MatMul(x, 2 * w[2]))
        t = laplacian(g.Add(g.MatMul(x, w[1]), t))
        return g.Relu(g.Add(g.linear(x, w[0] - w[2], b), t))
    return given, expert


@network(x=(1, 64, 128))
def prompt_with_few_keys(random):
    """Eight heads of queries share two of keys and values, which are expanded."""
    wq, wk, wv, wo = random(128, 128), random(128, 32), random(128, 32), random(128, 128)
    future = np.triu(np.full((64, 64), -1e9), 1)

    def heads(g, x, count):
        return g.Transpose(g.Reshape(x, [1, 64, count, 16]), perm=[0, 2, 1, 3])

    def expanded(g, x):
        t = g.Expand(g.Unsqueeze(x, [2]), [1, 2, 4, 64, 16])
        return g.Reshape(t, [1, 8, 64, 16])

    def given(g, x):
        q, k, v = (heads(g, g.MatMul(x, w), count) for w, count in ((wq, 8), (wk, 2), (wv, 2)))
        k, v = expanded(g, k), expanded(g, v)
        scores = g.Mul(g.MatMul(q, g.Transpose(k, perm=[0, 1, 3, 2])), np.float32(0.25))
        y = g.MatMul(g.Softmax(g.Add(scores, future), axis=-1), v)
        return g.MatMul(g.Reshape(g.Transpose(y, perm=[0, 2, 1, 3]), [1, 64, 128]), wo)

    def expert(g, x):
        t = g.Unsqueeze(g.MatMul(x, by_head(16, wq / 4, wk, wv)), [0])
        q, k, v = g.Split(t, [8, 2, 2], axis=1, results=3)
        scores = g.MatMul(g.Reshape(q, [1, 2, 256, 16]), g.Transpose(k, perm=[0, 1, 3, 2]))
        shares = g.Softmax(g.Add(scores, np.tile(future, (1, 2, 4, 1))), axis=-1)
        y = g.Reshape(g.MatMul(shares, v), [1, 8, 64, 16])
        return g.MatMul(g.Reshape(g.Transpose(y, perm=[0, 2, 1, 3]), [1, 64, 128]), wo)
    return given, expert


@network(x=(1, 64, 16, 16))
def two_ways_to_enlarge(random):
    """A transposed convolution between two of 1 × 1, beside pixels that are copied."""
    w1, wt, w2 = random(128, 64, 1, 1), random(128, 32, 4, 4), random(16, 32, 1, 1)
    norm, b, ws, bs = random.norm(32), random(16), random(16, 64, 1, 1), random(16)

    def given(g, x):
        t = g.ConvTranspose(g.Conv(x, w1), wt, strides=[2, 2], pads=[1] * 4)
        t = g.Conv(g.BatchNormalization(t, *norm), w2, b)
        copied = g.Resize(x, "", np.array([1, 1, 2, 2], np.float32), mode="nearest",
                          coordinate_transformation_mode="asymmetric", nearest_mode="floor")
        return g.Relu(g.Add(t, g.Conv(copied, ws, bs)))

    def expert(g, x):
        kernel, bias = folded(wt.transpose(1, 0, 2, 3), norm)
        weight = np.einsum("om,mnhw,ni->iohw", w2[:, :, 0, 0], kernel, w1[:, :, 0, 0])
        weight[:, :, 1:3, 1:3] += ws[:, :, 0, 0].T[:, :, None, None]
        bias = w2[:, :, 0, 0] @ bias + b + bs
        return g.Relu(g.ConvTranspose(x, weight, bias, strides=[2, 2], pads=[1] * 4))
    return given, expert
