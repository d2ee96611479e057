"""Steps in time and signals: LSTM with peepholes and projection (Sak et al. 2014), quasi-recurrent layers
(Bradbury et al. 2017), state spaces (Gu et al. 2022), convolutions in time (Bai et al. 2018), Snake in
codecs (Kumar et al. 2023), spectrograms by convolutions (Cheuk et al. 2020)."""

import numpy as np

from networks import network, side_by_side


@network(x=(4, 64), h=(4, 32), c=(4, 64))
def lstm_step_with_peepholes(random):
    w, u = ([random(n, 64) for _ in range(4)] for n in (64, 32))
    b, p, out = [random(64) for _ in range(4)], [random(64) for _ in range(3)], random(64, 32)

    def given(g, x, h, c):
        i, f, z, o = (g.Add(g.MatMul(x, w[k]), g.linear(h, u[k], b[k])) for k in range(4))
        i, f = g.Sigmoid(g.Add(i, g.Mul(p[0], c))), g.Sigmoid(g.Add(f, g.Mul(p[1], c)))
        c = g.Add(g.Mul(f, c), g.Mul(i, g.Tanh(z)))
        o = g.Sigmoid(g.Add(o, g.Mul(p[2], c)))
        return g.MatMul(g.Mul(o, g.Tanh(c)), out), c

    def expert(g, x, h, c):
        both = g.Concat(x, h, c, axis=1)
        looks = [np.diag(p[0]), np.diag(p[1]), np.zeros((64, 64)), np.zeros((64, 64))]
        i, f, z, o = (g.linear(both, np.concatenate([w[k], u[k], looks[k]]), b[k])
                      for k in range(4))
        c = g.Add(g.Mul(g.Sigmoid(f), c), g.Mul(g.Sigmoid(i), g.Tanh(z)))
        o = g.Sigmoid(g.Add(o, g.Mul(p[2], c)))
        return g.MatMul(g.Mul(o, g.Tanh(c)), out), c
    return given, expert


@network(x=(4, 48, 6))
def quasi_recurrent_layer(random):
    """Gates by a convolution in time, then one sum a step."""
    w, b = [random(64, 48, 2) for _ in range(3)], [random(64) for _ in range(3)]

    def gates(g, x):
        z, f, o = (g.Conv(x, w[k], b[k], pads=[1, 0]) for k in range(3))
        return g.Tanh(z), g.Sigmoid(f), g.Sigmoid(o)

    def given(g, x):
        z, f, o = gates(g, x)
        c, ends = None, []
        for step in range(6):
            zt, ft, ot = (g.Gather(t, step, axis=2) for t in (z, f, o))
            new = g.Mul(g.Sub(1.0, ft), zt)
            c = new if c is None else g.Add(g.Mul(ft, c), new)
            ends.append(g.Unsqueeze(g.Mul(ot, c), [2]))
        return g.Concat(*ends, axis=2)

    def expert(g, x):
        z, f, o = gates(g, x)
        new = g.Split(g.Mul(g.Sub(1.0, f), z), [1] * 6, axis=2, results=6)
        kept = g.Split(f, [1] * 6, axis=2, results=6)
        states = [new[0]]
        for step in range(1, 6):
            states.append(g.Add(g.Mul(kept[step], states[-1]), new[step]))
        return g.Mul(o, g.Concat(*states, axis=2))
    return given, expert


@network(u=(1, 6, 8), x=(1, 16))
def steps_of_state_space(random):
    """Steps without anything between them are one linear map of all inputs."""
    a, b, c, d = 0.8 * random(16, 16), random(8, 16), random(16, 8), random(8, 8)

    def given(g, u, x):
        ends = []
        for step in range(6):
            now = g.Gather(u, step, axis=1)
            x = g.Add(g.MatMul(x, a), g.MatMul(now, b))
            ends.append(g.Unsqueeze(g.Add(g.MatMul(x, c), g.MatMul(now, d)), [1]))
        return g.Concat(*ends, axis=1), x

    def expert(g, u, x):
        powers = [np.linalg.matrix_power(a, k) for k in range(7)]
        of_inputs = np.zeros((48, 64))
        for i in range(6):
            rows = slice(8 * i, 8 * i + 8)
            of_inputs[rows, 48:] = b @ powers[5 - i]
            for k in range(i, 6):
                of_inputs[rows, 8 * k:8 * k + 8] = b @ powers[k - i] @ c + (d if k == i else 0)
        of_state = side_by_side(*(powers[k + 1] @ c for k in range(6)), powers[6])
        t = g.Add(g.MatMul(g.Reshape(u, [1, 48]), of_inputs), g.MatMul(x, of_state))
        y, x = g.Split(t, [48, 16], axis=1, results=2)
        return g.Reshape(y, [1, 6, 8]), x
    return given, expert


@network(x=(1, 64, 4096))
def last_step_of_dilated_convolutions(random):
    """Of 4096 steps the last one sees eight."""
    w, b = [random(64, 64, 2) for _ in range(3)], [random(64) for _ in range(3)]
    out, offset = random(64, 10), random(10)

    def given(g, x):
        for i in range(3):
            x = g.Relu(g.Conv(x, w[i], b[i], dilations=[2 ** i], pads=[2 ** i, 0]))
        return g.linear(g.Gather(x, 4095, axis=2), out, offset)

    def expert(g, x):
        x = g.Slice(x, [4088], [4096], [2])
        for i in range(3):
            x = g.Relu(g.Conv(x, w[i], b[i], dilations=[2 ** i]))
        return g.linear(g.Reshape(x, [1, 64]), out, offset)
    return given, expert


@network(x=(1, 32, 1024))
def residual_unit_with_snake(random):
    """Convolutions with weight norm around x + sin²(ax) / a."""
    directions = [random(32, 32, 7), random(32, 32, 1)]
    lengths = [random.positive(32, 1, 1) for _ in range(2)]
    b, a = [random(32) for _ in range(2)], [random.positive(1, 32, 1) for _ in range(2)]

    def given(g, x):
        t = x
        for i, attributes in enumerate((dict(pads=[9, 9], dilations=[3]), {})):
            sine = g.Pow(g.Sin(g.Mul(a[i], t)), 2.0)
            t = g.Add(t, g.Mul(g.Reciprocal(g.Add(a[i], 1e-9)), sine))
            weight = g.Div(directions[i], g.ReduceL2(directions[i], [1, 2]))
            t = g.Conv(t, g.Mul(weight, lengths[i]), b[i], **attributes)
        return g.Add(x, t)

    def expert(g, x):
        w = [lengths[i] * v / np.sqrt((v ** 2).sum(axis=(1, 2), keepdims=True))
             for i, v in enumerate(directions)]

        def snake(t):
            sine = g.Sin(t)
            return g.Add(t, g.Mul(sine, sine))  # of ax, times a
        t = snake(g.Mul(x, a[0]))
        factor = a[1].reshape(32)
        t = g.Conv(t, w[0] / a[0] * factor[:, None, None], b[0] * factor, pads=[9, 9],
                   dilations=[3])
        return g.Add(x, g.Conv(snake(t), w[1] / a[1], b[1]))
    return given, expert


@network(x=(1, 1, 4096))
def mel_spectrogram(random):
    """The real and the imaginary part by a convolution each, squares, then bands of frequencies."""
    places = 2 * np.pi * np.outer(np.arange(129), np.arange(256)) / 256
    kernels = [f(places)[:, None] * np.hanning(256) / 16 for f in (np.cos, np.sin)]
    bands = random.positive(32, 129) / 129

    def given(g, x):
        squares = [g.Pow(g.Conv(x, kernel, strides=[64]), 2.0) for kernel in kernels]
        power = g.MatMul(bands, g.Add(*squares))
        return g.Mul(g.Log(g.Add(power, 1e-6)), 10 / np.log(10))

    def expert(g, x):
        t = g.Conv(x, np.concatenate(kernels), strides=[64])
        power = g.Conv(g.Mul(t, t), side_by_side(bands, bands)[:, :, None], np.full(32, 1e-6))
        return g.Mul(g.Log(power), 10 / np.log(10))
    return given, expert
