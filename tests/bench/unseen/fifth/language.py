"""Language models: a step of a decoder with grouped queries and rotary positions (Ainslie et al. 2023;
Touvron et al. 2023), a soft mixture of low-rank adapters (Hu et al. 2021; Wu et al. 2024, MoLE)."""

import numpy as np

from networks import network, side_by_side


@network(x=(1, 1, 256), cos=(1, 1, 32), sin=(1, 1, 32), past_k=(1, 2, 127, 32), past_v=(1, 2, 127, 32))
def decoder_step_of_grouped_queries(random):
    """The keys and values of two heads are repeated for eight heads of queries."""
    wq, wk, wv, wo = random(256, 256), random(256, 64), random(256, 64), random(256, 256)
    scale = random.positive(256)

    def given(g, x, cos, sin, past_k, past_v):
        variance = g.ReduceMean(g.Pow(x, 2.0), [-1])
        t = g.Mul(scale, g.Mul(x, g.Div(1.0, g.Sqrt(g.Add(variance, 1e-6)))))

        def heads(w, n):
            return g.Transpose(g.Reshape(g.MatMul(t, w), [1, 1, n, 32]), perm=[0, 2, 1, 3])

        def rotated(t):
            low, high = g.Slice(t, [0], [16], [3]), g.Slice(t, [16], [32], [3])
            half = g.Concat(g.Neg(high), low, axis=-1)
            return g.Add(g.Mul(t, g.Unsqueeze(cos, [1])), g.Mul(half, g.Unsqueeze(sin, [1])))

        def repeated(t):
            t = g.Expand(g.Unsqueeze(t, [2]), [1, 2, 4, 128, 32])
            return g.Reshape(t, [1, 8, 128, 32])
        q, k, v = rotated(heads(wq, 8)), rotated(heads(wk, 2)), heads(wv, 2)
        k, v = g.Concat(past_k, k, axis=2), g.Concat(past_v, v, axis=2)
        s = g.MatMul(q, g.Transpose(repeated(k), perm=[0, 1, 3, 2]))
        p = g.Softmax(g.Div(s, 32 ** 0.5), axis=-1)
        o = g.Transpose(g.MatMul(p, repeated(v)), perm=[0, 2, 1, 3])
        return g.Add(x, g.MatMul(g.Reshape(o, [1, 1, 256]), wo)), k, v

    def expert(g, x, cos, sin, past_k, past_v):
        turn = np.zeros((32, 32))
        turn[np.arange(16, 32), np.arange(16)] = -1
        turn[np.arange(16), np.arange(16, 32)] = 1

        def turned(w):
            return (w.reshape(256, -1, 32) @ turn).reshape(256, -1)
        q, k = wq / 32 ** 0.5, wk
        weight = scale[:, None] * side_by_side(q, k, wv, turned(q), turned(k))
        t = g.MatMul(g.RMSNormalization(x, np.ones(256), axis=-1, epsilon=1e-6), weight)
        straight, v, half = g.Split(g.Reshape(t, [1, 22, 1, 32]), [10, 2, 10], axis=1, results=3)
        t = g.Add(g.Mul(straight, cos), g.Mul(half, sin))
        q, k = g.Split(t, [8, 2], axis=1, results=2)
        k, v = g.Concat(past_k, k, axis=2), g.Concat(past_v, v, axis=2)
        s = g.MatMul(g.Reshape(q, [1, 2, 4, 32]), g.Transpose(k, perm=[0, 1, 3, 2]))
        o = g.Reshape(g.MatMul(g.Softmax(s, axis=-1), v), [1, 1, 256])
        return g.Add(x, g.MatMul(o, wo)), k, v
    return given, expert


@network(x=(1, 128, 192))
def soft_mixture_of_low_rank_adapters(random):
    """A layer and the mean of four adapters of rank eight, weighted for each token."""
    w, b, router = random(192, 192), random(192), random(192, 4)
    down, up = [random(192, 8) for _ in range(4)], [random(8, 192) for _ in range(4)]

    def given(g, x):
        t = g.linear(x, w, b)
        gates = g.Softmax(g.MatMul(x, router), axis=-1)
        for i in range(4):
            delta = g.Mul(g.MatMul(g.MatMul(x, down[i]), up[i]), 2.0)
            t = g.Add(t, g.Mul(delta, g.Unsqueeze(g.Gather(gates, i, axis=2), [-1])))
        return g.Mul(t, g.Sigmoid(t))

    def expert(g, x):
        # The router's columns are repeated for each rank; a softmax over groups of them needs no expansion.
        t = g.MatMul(x, side_by_side(router, *down))
        gates, low = g.Split(t, [4, 32], axis=2, results=2)
        gates = g.Reshape(g.Softmax(gates, axis=-1), [1, 128, 4, 1])
        low = g.Reshape(g.Mul(g.Reshape(low, [1, 128, 4, 8]), gates), [1, 128, 32])
        t = g.MatMul(g.Concat(x, low, axis=2), np.concatenate([w, *(2 * m for m in up)]))
        t = g.Add(t, b)
        return g.Mul(t, g.Sigmoid(t))
    return given, expert
