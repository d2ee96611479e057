"""Like parts that one launch can compute: heads of CenterNet (Zhou et al. 2019), gated experts (Shazeer et
al. 2017; Shazeer 2020), tokens of numbers (Gorishniy et al. 2021)."""

import numpy as np

from networks import block_diagonal, network, side_by_side


@network(x=(1, 64, 32, 32))
def heads_of_centers(random):
    """Heat maps, sizes and offsets: the widths of the heads' ends differ."""
    ends = (20, 2, 2)
    w, b = [random(64, 64, 3, 3) for _ in ends], [random(64) for _ in ends]
    v, c = [random(n, 64, 1, 1) for n in ends], [random(n) for n in ends]

    def given(g, x):
        heat, size, offset = (
            g.Conv(g.Relu(g.Conv(x, w[i], b[i], pads=[1] * 4)), v[i], c[i]) for i in range(3))
        return g.Sigmoid(heat), size, offset

    def expert(g, x):
        t = g.Relu(g.Conv(x, np.concatenate(w), side_by_side(*b), pads=[1] * 4))
        t = g.Conv(t, block_diagonal(v), side_by_side(*c))
        heat, size, offset = g.Split(t, list(ends), axis=1, results=3)
        return g.Sigmoid(heat), size, offset
    return given, expert


@network(x=(32, 64))
def gated_experts_in_a_loop(random):
    """All experts are computed; shares of the gate weigh them."""
    count, hidden = 4, 96
    gate, wg, wu, wd = (random(64, count), [random(64, hidden) for _ in range(count)],
                        [random(64, hidden) for _ in range(count)],
                        [random(hidden, 64) for _ in range(count)])

    def given(g, x):
        shares, total = g.Softmax(g.MatMul(x, gate), axis=-1), None
        for i in range(count):
            t = g.MatMul(x, wg[i])
            t = g.Mul(g.Mul(t, g.Sigmoid(t)), g.MatMul(x, wu[i]))
            t = g.Mul(g.MatMul(t, wd[i]), g.Slice(shares, [i], [i + 1], [1]))
            total = t if total is None else g.Add(total, t)
        return total

    def expert(g, x):
        shares = g.Reshape(g.Softmax(g.MatMul(x, gate), axis=-1), [32, count, 1])
        t = g.MatMul(x, side_by_side(*wg))
        t = g.Mul(g.Mul(t, g.Sigmoid(t)), g.MatMul(x, side_by_side(*wu)))
        t = g.Mul(g.Reshape(t, [32, count, hidden]), shares)
        return g.MatMul(g.Reshape(t, [32, count * hidden]), np.concatenate(wd))
    return given, expert


@network(x=(64, 12))
def tokens_of_numbers(random):
    """Each number has a line of its own, then a layer of its own."""
    w, b = [random(1, 16) for _ in range(12)], [random(16) for _ in range(12)]
    v, c = [random(16, 8) for _ in range(12)], [random(8) for _ in range(12)]
    out, offset = random(96, 4), random(4)

    def given(g, x):
        tokens = []
        for i in range(12):
            t = g.Relu(g.Add(g.Mul(g.Slice(x, [i], [i + 1], [1]), w[i]), b[i]))
            tokens.append(g.Unsqueeze(g.Relu(g.linear(t, v[i], c[i])), [1]))
        return g.linear(g.Flatten(g.Concat(*tokens, axis=1)), out, offset)

    def expert(g, x):
        t = g.Relu(g.linear(x, block_diagonal(w), side_by_side(*b)))
        t = g.Relu(g.linear(t, block_diagonal(v), side_by_side(*c)))
        return g.linear(t, out, offset)
    return given, expert
