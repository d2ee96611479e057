"""Ranking: attention of a candidate over a history (Zhou et al. 2018, DIN), field-weighted factorization
machines (Pan et al. 2018)."""

import numpy as np

from networks import network, side_by_side


@network(item=(32, 24), history=(32, 40, 24), mask=(32, 40))
def interest_in_candidate(random):
    """The candidate is tiled along the history; a layer reads both, their difference and their product."""
    w, v = random(96, 36), random(36, 1)
    b, c, slope = random(36), random(1), random.positive(36) / 4
    w1, w2, b1, b2 = random(48, 32), random(32, 1), random(32), random(1)

    def given(g, item, history, mask):
        q = g.Reshape(g.Tile(item, [1, 40]), [32, 40, 24])
        t = g.Concat(q, history, g.Sub(q, history), g.Mul(q, history), axis=-1)
        t = g.PRelu(g.linear(t, w, b), slope)
        t = g.Transpose(g.linear(t, v, c), perm=[0, 2, 1])
        t = g.Mul(t, g.Unsqueeze(mask, [1]))
        interest = g.Squeeze(g.MatMul(t, history), [1])
        t = g.Concat(item, interest, axis=-1)
        return g.Sigmoid(g.linear(g.Relu(g.linear(t, w1, b1)), w2, b2))

    def expert(g, item, history, mask):
        wq, wk, wd, wp = np.split(w, 4)
        q = g.Reshape(item, [32, 1, 24])
        kernel = g.Add(g.Mul(g.Reshape(item, [32, 24, 1]), wp), wk - wd)
        t = g.Add(g.MatMul(history, kernel), g.linear(q, wq + wd, b))
        t = g.linear(g.PRelu(t, slope), v, c)
        t = g.Mul(g.Reshape(t, [32, 1, 40]), g.Reshape(mask, [32, 1, 40]))
        t = g.Concat(item, g.Reshape(g.MatMul(t, history), [32, 24]), axis=-1)
        return g.Sigmoid(g.linear(g.Relu(g.linear(t, w1, b1)), w2, b2))
    return given, expert


@network(dense=(128, 8), embeddings=(128, 16, 12))
def field_weighted_factorization_machine(random):
    """A weight for each of the 120 pairs of fields, beside a linear part of all embeddings."""
    pairs = np.array([(i, k) for i in range(16) for k in range(i + 1, 16)])
    r, w, b, own = random(120, 1), random(192, 1), random(1), random(8, 1)

    def given(g, dense, embeddings):
        first = g.Gather(embeddings, pairs[:, 0].copy(), axis=1)
        second = g.Gather(embeddings, pairs[:, 1].copy(), axis=1)
        t = g.ReduceSum(g.Mul(first, second), [2], keepdims=0)
        t = g.MatMul(t, r)
        linear = g.linear(g.Reshape(embeddings, [128, 192]), w, b)
        return g.Sigmoid(g.Add(g.Add(t, linear), g.MatMul(dense, own)))

    def expert(g, dense, embeddings):
        form = np.zeros((16, 16))
        form[pairs[:, 0], pairs[:, 1]] = r[:, 0]
        t = g.Add(g.MatMul(form + form.T, embeddings), 2 * w.reshape(16, 12))
        flat = g.Reshape(g.Mul(embeddings, t), [128, 192])
        t = g.MatMul(g.Concat(flat, dense, axis=1), np.concatenate([np.full((192, 1), 0.5), own]))
        return g.Sigmoid(g.Add(t, b))
    return given, expert
