"""Cells of recurrent networks, unrolled: LSTM (Hochreiter and Schmidhuber 1997), GRU (Cho et al. 2014), SRU
(Lei et al. 2018), a plain network (Elman 1990)."""

import numpy as np

from networks import network, side_by_side

BATCH, WIDTH = 4, 128


def lstm(random, steps):
    w, u = ([random(WIDTH, WIDTH) for _ in range(4)] for _ in range(2))
    b = [random(WIDTH) for _ in range(4)]

    def inputs(g, x):
        parts = g.Split(x, [1] * steps, axis=0, results=steps) if steps > 1 else [x]
        return [g.Squeeze(part, [0]) for part in parts]

    def given(g, x, h, c):
        for t in inputs(g, x):
            i, f, z, o = (g.Add(g.Add(g.MatMul(t, w[k]), g.MatMul(h, u[k])), b[k])
                          for k in range(4))
            c = g.Add(g.Mul(g.Sigmoid(f), c), g.Mul(g.Sigmoid(i), g.Tanh(z)))
            h = g.Mul(g.Sigmoid(o), g.Tanh(c))
        return h, c

    def expert(g, x, h, c):
        order = (0, 1, 3, 2)
        weight = np.concatenate([side_by_side(*(m[k] for k in order)) for m in (w, u)])
        bias = side_by_side(*(b[k] for k in order))
        for t in inputs(g, x):
            gates = g.linear(g.Concat(t, h, axis=1), weight, bias)
            gates, z = g.Split(gates, [3 * WIDTH, WIDTH], axis=1, results=2)
            i, f, o = g.Split(g.Sigmoid(gates), [WIDTH] * 3, axis=1, results=3)
            c = g.Add(g.Mul(f, c), g.Mul(i, g.Tanh(z)))
            h = g.Mul(o, g.Tanh(c))
        return h, c
    return given, expert


@network(x=(1, BATCH, WIDTH), h=(BATCH, WIDTH), c=(BATCH, WIDTH))
def lstm_step(random):
    return lstm(random, 1)


@network(x=(3, BATCH, WIDTH), h=(BATCH, WIDTH), c=(BATCH, WIDTH))
def lstm_of_three_steps(random):
    return lstm(random, 3)


@network(x=(BATCH, WIDTH), h=(BATCH, WIDTH))
def gru_step(random):
    w, u = ([random(WIDTH, WIDTH) for _ in range(3)] for _ in range(2))
    b = [random(WIDTH) for _ in range(3)]

    def blend(g, z, n, h):
        return g.Add(g.Mul(g.Sub(1.0, z), n), g.Mul(z, h))

    def given(g, x, h):
        r, z = (g.Sigmoid(g.Add(g.Add(g.MatMul(x, w[k]), b[k]), g.MatMul(h, u[k])))
                for k in range(2))
        n = g.Tanh(g.Add(g.linear(x, w[2], b[2]), g.MatMul(g.Mul(r, h), u[2])))
        return blend(g, z, n, h)

    def expert(g, x, h):
        both = np.concatenate([side_by_side(*m[:2]) for m in (w, u)])
        t = g.Sigmoid(g.linear(g.Concat(x, h, axis=1), both, side_by_side(*b[:2])))
        r, z = g.Split(t, [WIDTH, WIDTH], axis=1, results=2)
        t = g.linear(g.Concat(x, g.Mul(r, h), axis=1), np.concatenate([w[2], u[2]]), b[2])
        n = g.Tanh(t)
        return g.Add(n, g.Mul(z, g.Sub(h, n)))
    return given, expert


@network(x=(8, BATCH, WIDTH), c=(BATCH, WIDTH))
def simple_recurrent_unit(random):
    w, b = [random(WIDTH, WIDTH) for _ in range(3)], [random(WIDTH) for _ in range(2)]

    def step(g, c, x, z, f, r):
        c = g.Add(g.Mul(f, c), g.Mul(g.Sub(1.0, f), z))
        return c, g.Add(g.Mul(r, g.Tanh(c)), g.Mul(g.Sub(1.0, r), x))

    def given(g, x, c):
        ends = []
        for part in g.Split(x, [1] * 8, axis=0, results=8):
            t = g.Squeeze(part, [0])
            f, r = (g.Sigmoid(g.linear(t, w[1 + k], b[k])) for k in range(2))
            c, y = step(g, c, t, g.MatMul(t, w[0]), f, r)
            ends.append(g.Unsqueeze(y, [0]))
        return g.Concat(*ends, axis=0)

    def expert(g, x, c):
        def parts(t):
            return [g.Squeeze(p, [0]) for p in g.Split(t, [1] * 8, axis=0, results=8)]
        z = g.MatMul(x, w[0])
        f, r = (g.Sigmoid(g.linear(x, w[1 + k], b[k])) for k in range(2))
        kept, passed = g.Mul(g.Sub(1.0, f), z), g.Mul(g.Sub(1.0, r), x)
        states = []
        for forget, new in zip(parts(f), parts(kept)):
            c = g.Add(g.Mul(forget, c), new)
            states.append(g.Unsqueeze(c, [0]))
        return g.Add(g.Mul(r, g.Tanh(g.Concat(*states, axis=0))), passed)
    return given, expert


@network(x=(6, BATCH, WIDTH), h=(BATCH, WIDTH))
def plain_recurrent_network(random):
    w, u, b = random(WIDTH, WIDTH), random(WIDTH, WIDTH), random(WIDTH)

    def steps(g, parts, h, of_input):
        for part in parts:
            h = g.Tanh(g.Add(of_input(g.Squeeze(part, [0])), g.MatMul(h, u)))
        return h

    def given(g, x, h):
        parts = g.Split(x, [1] * 6, axis=0, results=6)
        return steps(g, parts, h, lambda t: g.linear(t, w, b))

    def expert(g, x, h):
        parts = g.Split(g.linear(x, w, b), [1] * 6, axis=0, results=6)
        return steps(g, parts, h, lambda t: t)
    return given, expert
