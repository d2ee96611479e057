"""Where one step hides another: adapters of low rank (Hu et al. 2021), gated units of PyTorch (Cho et al.
2014), factors of keys, values and activations (Liu et al. 2022)."""

import numpy as np

from networks import by_head, network, side_by_side


@network(x=(1, 32, 96))
def adapters_of_gated_perceptron(random):
    """Three layers, each beside two of rank 8."""
    sizes = ((96, 192), (96, 192), (192, 96))
    w = [random(*size) for size in sizes]
    down, up = [random(n, 8) for n, _ in sizes], [random(8, n) for _, n in sizes]

    def given(g, x):
        def layer(t, i):
            adapted = g.Mul(g.MatMul(g.MatMul(t, down[i]), up[i]), np.float32(2))
            return g.Add(g.MatMul(t, w[i]), adapted)
        t = layer(x, 0)
        return g.Add(x, layer(g.Mul(g.Mul(t, g.Sigmoid(t)), layer(x, 1)), 2))

    def expert(g, x):
        whole = [w[i] + 2 * down[i] @ up[i] for i in range(3)]
        t = g.MatMul(x, whole[0])
        t = g.Mul(g.Mul(t, g.Sigmoid(t)), g.MatMul(x, whole[1]))
        return g.Add(x, g.MatMul(t, whole[2]))
    return given, expert


@network(x=(3, 4, 64), h=(4, 64))
def gru_of_three_steps(random):
    """The reset gate is behind the product, and all gates come from one weight that is split."""
    w, u, b, c = random(64, 192), random(64, 192), random(192), random(192)

    def blend(g, z, n, h):
        return g.Add(n, g.Mul(z, g.Sub(h, n)))

    def given(g, x, h):
        ends = []
        for step in range(3):
            t = g.Gather(x, step, axis=0)
            xr, xz, xn = g.Split(g.linear(t, w, b), [64] * 3, axis=1, results=3)
            hr, hz, hn = g.Split(g.linear(h, u, c), [64] * 3, axis=1, results=3)
            r, z = g.Sigmoid(g.Add(xr, hr)), g.Sigmoid(g.Add(xz, hz))
            n = g.Tanh(g.Add(xn, g.Mul(r, hn)))
            h = g.Add(g.Mul(g.Sub(np.float32(1), z), n), g.Mul(z, h))
            ends.append(g.Unsqueeze(h, [0]))
        return g.Concat(*ends, axis=0), h

    def expert(g, x, h):
        bias = b + side_by_side(c[:128], np.zeros(64))
        t = g.linear(g.Reshape(x, [3, 1, 4, 64]), by_head(64, w), by_head(64, bias))
        ends = []
        for step in g.Split(t, [1] * 3, axis=0, results=3):
            xg, xn = g.Split(g.Reshape(step, [3, 4, 64]), [2, 1], axis=0, results=2)
            both = g.Sigmoid(g.Add(g.MatMul(h, by_head(64, u)[:2]), xg))
            r, z = (g.Reshape(part, [4, 64])
                    for part in g.Split(both, [1, 1], axis=0, results=2))
            hn = g.linear(h, u[:, 128:], c[128:])
            n = g.Tanh(g.Add(g.Reshape(xn, [4, 64]), g.Mul(r, hn)))
            h = blend(g, z, n, h)
            ends.append(g.Unsqueeze(h, [0]))
        return g.Concat(*ends, axis=0), h
    return given, expert


@network(x=(1, 48, 64))
def rescaled_keys_and_values(random):
    """Learned factors behind keys, values and the inner layer; queries have a scale."""
    w, b = [random(64, 64) for _ in range(4)], [random(64) for _ in range(4)]
    w1, b1, w2, b2 = random(64, 192), random(192), random(192, 64), random(64)
    keys, values, inner = random.positive(64), random.positive(64), random.positive(192)
    norms = [(random.positive(64), random(64)) for _ in range(2)]

    def heads(g, x, count):
        return g.Transpose(g.Reshape(x, [1, 48, count, 16]), perm=[0, 2, 1, 3])

    def norm(g, x, i):
        return g.LayerNormalization(x, *norms[i], axis=-1, epsilon=1e-5)

    def attended(g, q, k, v):
        scores = g.MatMul(q, g.Transpose(k, perm=[0, 1, 3, 2]))
        y = g.Transpose(g.MatMul(g.Softmax(scores, axis=-1), v), perm=[0, 2, 1, 3])
        return g.linear(g.Reshape(y, [1, 48, 64]), w[3], b[3])

    def given(g, x):
        q, k, v = (g.linear(x, w[i], b[i]) for i in range(3))
        q, k, v = g.Div(q, np.float32(4)), g.Mul(k, keys), g.Mul(values, v)
        t = attended(g, *(heads(g, part, 4) for part in (q, k, v)))
        x = norm(g, g.Add(t, x), 0)
        t = g.Mul(g.Relu(g.linear(x, w1, b1)), inner)
        return norm(g, g.Add(g.linear(t, w2, b2), x), 1)

    def expert(g, x):
        weight = by_head(16, w[0] / 4, w[1] * keys, w[2] * values)
        bias = by_head(16, b[0] / 4, b[1] * keys, b[2] * values)
        t = g.Unsqueeze(g.linear(x, weight, bias), [0])
        x = norm(g, g.Add(attended(g, *g.Split(t, [4, 4, 4], axis=1, results=3)), x), 0)
        t = g.linear(g.Relu(g.linear(x, w1, b1)), inner[:, None] * w2, b2)
        return norm(g, g.Add(t, x), 1)
    return given, expert
