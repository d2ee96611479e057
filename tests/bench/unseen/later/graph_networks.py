"""Networks on graphs whose adjacency is an input: simplified convolutions (Wu et al. 2019), attention
(Velickovic et al. 2018), isomorphism networks (Xu et al. 2019), personalized propagation (Klicpera et
al. 2019)."""

import numpy as np

from networks import network


@network(x=(1024, 64), adjacency=(1024, 1024))
def simplified_graph_convolution(random):
    """Two hops of the normalized adjacency with self-loops; the degrees come from the graph."""
    w, b = random(64, 8), random(8)

    def given(g, x, adjacency):
        positive = g.Add(g.Abs(adjacency), np.eye(1024))
        root = g.Pow(g.ReduceSum(positive, [1]), -0.5)
        t = g.Mul(g.Mul(root, positive), g.Transpose(root, perm=[1, 0]))
        return g.linear(g.MatMul(t, g.MatMul(t, x)), w, b)

    def expert(g, x, adjacency):
        positive = g.Abs(adjacency)
        degree = g.Add(g.ReduceSum(positive, [1]), 1.0)
        root = g.Sqrt(degree)
        t = g.Div(g.MatMul(x, w), root)
        t = g.Div(g.Add(g.MatMul(positive, t), t), degree)
        return g.Add(g.Div(g.Add(g.MatMul(positive, t), t), root), b)
    return given, expert


@network(x=(256, 64), adjacency=(256, 256))
def last_layer_of_graph_attention(random):
    """The mean of four heads, each with scores of its own."""
    w, a = [random(64, 16) for _ in range(4)], [random(32, 1) for _ in range(4)]

    def given(g, x, adjacency):
        total = None
        for i in range(4):
            t = g.MatMul(x, w[i])
            first, second = g.MatMul(t, a[i][:16]), g.MatMul(t, a[i][16:])
            e = g.LeakyRelu(g.Add(first, g.Transpose(second, perm=[1, 0])), alpha=0.2)
            e = g.Where(g.Greater(adjacency, 0.0), e, np.full((256, 256), -9e15))
            y = g.MatMul(g.Softmax(e, axis=1), t)
            total = y if total is None else g.Add(total, y)
        return g.LogSoftmax(g.Div(total, 4.0), axis=1)

    def expert(g, x, adjacency):
        t = g.MatMul(x, np.stack(w))
        scores = np.stack([w[i] @ a[i][k:k + 16] for k in (0, 16) for i in range(4)])
        first, second = g.Split(g.MatMul(x, scores), [4, 4], axis=0, results=2)
        e = g.LeakyRelu(g.Add(first, g.Reshape(second, [4, 1, 256])), alpha=0.2)
        e = g.Where(g.Greater(adjacency, 0.0), e, np.float32(-9e15))
        y = g.ReduceMean(g.MatMul(g.Softmax(e, axis=2), t), [0], keepdims=0)
        return g.LogSoftmax(y, axis=1)
    return given, expert


@network(x=(1024, 128), adjacency=(1024, 1024))
def isomorphism_network(random):
    """One layer and the sum of all nodes, of which a classifier reads."""
    w1, b1, w2, b2 = random(128, 16), random(16), random(16, 16), random(16)
    w3, b3, factor = random(16, 4), random(4), 1.1

    def given(g, x, adjacency):
        t = g.Add(g.Mul(np.array([factor]), x), g.MatMul(adjacency, x))
        t = g.linear(g.Relu(g.linear(t, w1, b1)), w2, b2)
        return g.linear(g.ReduceSum(t, [0], keepdims=0), w3, b3)

    def expert(g, x, adjacency):
        own = g.MatMul(x, w1 * factor)
        t = g.Add(g.Mul(g.MatMul(adjacency, own), np.float32(1 / factor)), b1)
        t = g.ReduceSum(g.Relu(g.Add(t, own)), [0])
        return g.Reshape(g.linear(t, w2 @ w3, 1024 * b2 @ w3 + b3), [4])
    return given, expert


@network(x=(512, 64), adjacency=(512, 512))
def propagation_to_one_node(random):
    """Three steps of propagation, and the classes of node 7."""
    w1, b1, w2, b2 = random(64, 32), random(32), random(32, 8), random(8)

    def given(g, x, adjacency):
        start = g.linear(g.Relu(g.linear(x, w1, b1)), w2, b2)
        z = start
        for _ in range(3):
            z = g.Add(g.Mul(g.MatMul(adjacency, z), 0.9), g.Mul(start, 0.1))
        return g.Softmax(g.Gather(z, 7, axis=0), axis=-1)

    def expert(g, x, adjacency):
        start = g.linear(g.Relu(g.linear(x, w1, b1)), 0.1 * w2, 0.1 * b2)
        z = start
        for factor in (9.0, 0.9):
            z = g.Add(g.Mul(g.MatMul(adjacency, z), factor), start)
        row, own = (g.Slice(t, [7], [8], [0]) for t in (adjacency, start))
        z = g.Add(g.Mul(g.MatMul(row, z), 0.9), own)
        return g.Softmax(g.Reshape(z, [8]), axis=-1)
    return given, expert
