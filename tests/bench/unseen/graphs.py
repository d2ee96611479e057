"""Networks on graphs and for recommendations: GCN (Kipf and Welling 2017), GraphSAGE (Hamilton et al. 2017), cross
layers (Wang et al. 2017), factorization machines (Rendle 2010), conditions by FiLM (Perez et al. 2018)."""

import numpy as np

from networks import network, side_by_side

NODES = 512


@network(x=(NODES, 64), adjacency=(NODES, NODES))
def normalized_graph_convolution(random):
    degree, w = random.positive(NODES), random(64, 16)

    def given(g, x, adjacency):
        t = g.Mul(g.Mul(adjacency, degree[:, None]), degree[None, :])
        return g.Relu(g.MatMul(g.MatMul(t, x), w))

    def expert(g, x, adjacency):
        t = g.Mul(g.MatMul(x, w), degree[:, None])
        return g.Relu(g.Mul(g.MatMul(adjacency, t), degree[:, None]))
    return given, expert


@network(x=(NODES, 64), adjacency=(NODES, NODES), degree=(NODES, 1))
def two_graph_convolutions(random):
    w, v = random(64, 32), random(32, 8)

    def given(g, x, adjacency, degree):
        t = g.Div(adjacency, degree)
        x = g.Relu(g.MatMul(g.MatMul(t, x), w))
        return g.MatMul(g.MatMul(t, x), v)

    def expert(g, x, adjacency, degree):
        x = g.Relu(g.Div(g.MatMul(adjacency, g.MatMul(x, w)), degree))
        return g.Div(g.MatMul(adjacency, g.MatMul(x, v)), degree)
    return given, expert


@network(x=(128, 64), adjacency=(128, 128))
def self_and_neighbors(random):
    w, v, b = random(64, 64), random(64, 64), random(64)

    def given(g, x, adjacency):
        t = g.Add(g.linear(x, w, b), g.MatMul(g.MatMul(adjacency, x), v))
        return g.Relu(t)

    def expert(g, x, adjacency):
        both = g.Concat(x, g.MatMul(adjacency, x), axis=1)
        return g.Relu(g.linear(both, np.concatenate([w, v]), b))
    return given, expert


@network(x=(64, 48))
def cross_layers(random):
    w, b = [random(48, 1) for _ in range(3)], [random(48) for _ in range(3)]

    def given(g, x):
        t = x
        for i in range(3):
            pairs = g.MatMul(g.Unsqueeze(x, [2]), g.Unsqueeze(t, [1]))
            t = g.Add(g.Add(g.Squeeze(g.MatMul(pairs, w[i]), [2]), b[i]), t)
        return t

    def expert(g, x):
        t = x
        for i in range(3):
            t = g.Add(g.Add(g.Mul(x, g.MatMul(t, w[i])), b[i]), t)
        return t
    return given, expert


@network(x=(64, 200))
def factorization_machine(random):
    v, w, b = random(200, 16), random(200, 1), random(1)

    def given(g, x):
        square = g.Pow(g.MatMul(x, v), 2.0)
        squares = g.MatMul(g.Pow(x, 2.0), v ** 2)
        pairs = g.Mul(g.ReduceSum(g.Sub(square, squares), [1]), 0.5)
        return g.Sigmoid(g.Add(g.linear(x, w, b), pairs))

    def expert(g, x):
        t = g.MatMul(x, v * 0.5 ** 0.5)
        square = g.ReduceSum(g.Mul(t, t), [1])
        rest = g.linear(g.Concat(x, g.Mul(x, x), axis=1),
                        np.concatenate([w, -0.5 * (v ** 2).sum(axis=1, keepdims=True)]), b)
        return g.Sigmoid(g.Add(rest, square))
    return given, expert


@network(x=(1, 64, 16, 16), condition=(1, 32))
def conditioned_features(random):
    w, scale, shift = random(64, 64, 1, 1), random(32, 64), random(32, 64)
    bs, bt = random(64), random(64)

    def given(g, x, condition):
        factor, offset = (g.Reshape(g.linear(condition, m, b), [1, 64, 1, 1])
                          for m, b in ((scale, bs), (shift, bt)))
        return g.Relu(g.Add(g.Mul(g.Conv(x, w), factor), offset))

    def expert(g, x, condition):
        t = g.linear(condition, side_by_side(scale, shift), side_by_side(bs, bt))
        factor, offset = g.Split(g.Reshape(t, [1, 128, 1, 1]), [64, 64], axis=1, results=2)
        return g.Relu(g.Add(g.Mul(g.Conv(x, w), factor), offset))
    return given, expert
