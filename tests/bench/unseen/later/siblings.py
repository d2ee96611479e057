"""Many like parts side by side: ensembles (Lakshminarayanan et al. 2017; Laurent et al. 2023), random
kernels (Dempster et al. 2020), one module for each head, mixtures of kernels (Yang et al. 2019),
low-rank experts of cross layers (Wang et al. 2021)."""

import numpy as np

from networks import network, side_by_side


def diagonal(blocks):
    """Matrices in blocks along the diagonal of one."""
    height, width = blocks[0].shape
    result = np.zeros((height * len(blocks), width * len(blocks)))
    for i, block in enumerate(blocks):
        result[i * height:(i + 1) * height, i * width:(i + 1) * width] = block
    return result


@network(x=(32, 24))
def ensemble_of_perceptrons(random):
    """The mean of five members; an expert packs them into groups of one convolution."""
    members = [(random(24, 64), random(64), random(64, 64), random(64), random(64, 3), random(3))
               for _ in range(5)]

    def given(g, x):
        ends = []
        for w1, b1, w2, b2, w3, b3 in members:
            t = g.Relu(g.linear(g.Relu(g.linear(x, w1, b1)), w2, b2))
            ends.append(g.Unsqueeze(g.linear(t, w3, b3), [0]))
        return g.ReduceMean(g.Concat(*ends, axis=0), [0], keepdims=0)

    def expert(g, x):
        w1, b1, w2, b2, w3, b3 = zip(*members)
        t = g.Relu(g.linear(x, side_by_side(*w1), side_by_side(*b1)))
        kernel = np.concatenate([w.T for w in w2])[:, :, None, None]
        t = g.Relu(g.Conv(g.Reshape(t, [32, 320, 1, 1]), kernel, side_by_side(*b2), group=5))
        return g.linear(g.Reshape(t, [32, 320]), np.concatenate(w3) / 5, sum(b3) / 5)
    return given, expert


@network(x=(8, 1, 256))
def random_convolution_kernels(random):
    """Kernels of three lengths; read are the maximum of each and its share of positive values."""
    lengths = (9, 7, 11, 7, 9, 11, 11, 7, 9, 7)
    w, b = [random(1, 1, n) for n in lengths], [random(1) for _ in lengths]
    weight, bias = random(20, 5), random(5)

    def share(g, t):
        positive = g.Cast(g.Greater(t, 0.0), to=1)
        return g.ReduceMean(positive, [2], keepdims=0)

    def given(g, x):
        features = []
        for kernel, offset, n in zip(w, b, lengths):
            t = g.Conv(x, kernel, offset, pads=[n // 2] * 2)
            features += [g.ReduceMax(t, [2], keepdims=0), share(g, t)]
        return g.linear(g.Concat(*features, axis=1), weight, bias)

    def expert(g, x):
        wide = [np.pad(kernel, ((0, 0), (0, 0), ((11 - n) // 2,) * 2))
                for kernel, n in zip(w, lengths)]
        t = g.Conv(x, np.concatenate(wide), np.concatenate(b), pads=[5, 5])
        features = g.Concat(g.ReduceMax(t, [2], keepdims=0), share(g, t), axis=1)
        return g.linear(features, np.concatenate([weight[0::2], weight[1::2]]), bias)
    return given, expert


@network(x=(1, 64, 96))
def heads_in_a_list(random):
    """Causal attention as lectures write it: a module for each head, with three layers of its own."""
    w = [[random(96, 24) for _ in range(4)] for _ in range(3)]
    wo, bo = random(96, 96), random(96)
    future, scale = np.triu(np.ones((64, 64), bool), 1), 24 ** -0.5

    def given(g, x):
        ends = []
        for head in range(4):
            k, q, v = (g.MatMul(x, w[i][head]) for i in range(3))
            scores = g.Mul(g.MatMul(q, g.Transpose(k, perm=[0, 2, 1])), scale)
            shares = g.Softmax(g.Where(future, np.float32(-1e9), scores), axis=-1)
            ends.append(g.MatMul(shares, v))
        return g.linear(g.Concat(*ends, axis=-1), wo, bo)

    def expert(g, x):
        t = g.MatMul(x, side_by_side(*w[0], *(m * scale for m in w[1]), *w[2]))
        t = g.Transpose(g.Reshape(t, [1, 64, 12, 24]), perm=[0, 2, 1, 3])
        k, q, v = g.Split(t, [4, 4, 4], axis=1, results=3)
        scores = g.MatMul(q, g.Transpose(k, perm=[0, 1, 3, 2]))
        y = g.MatMul(g.Softmax(g.Where(future, np.float32(-1e9), scores), axis=-1), v)
        return g.linear(g.Reshape(g.Transpose(y, perm=[0, 2, 1, 3]), [1, 64, 96]), wo, bo)
    return given, expert


@network(x=(1, 32, 28, 28))
def mixture_of_kernels(random):
    """Gates for the whole image: kernels can be mixed in place of results."""
    layers = [([random(32, 32, 3, 3) for _ in range(4)], random(32, 4), random(4), random.norm(32))
              for _ in range(2)]

    def shares(g, x, gate, bias):
        return g.Sigmoid(g.linear(g.Flatten(g.GlobalAveragePool(x)), gate, bias))

    def given(g, x):
        for kernels, gate, bias, norm in layers:
            s, total = shares(g, x, gate, bias), None
            for i, kernel in enumerate(kernels):
                share = g.Reshape(g.Slice(s, [i], [i + 1], [1]), [1, 1, 1, 1])
                t = g.Mul(share, g.Conv(x, kernel, pads=[1] * 4))
                total = t if total is None else g.Add(total, t)
            x = g.Relu(g.BatchNormalization(total, *norm))
        return x

    def expert(g, x):
        for kernels, gate, bias, (scale, offset, mean, variance) in layers:
            factor = scale / np.sqrt(variance + 1e-5)
            flat = np.stack([k * factor[:, None, None, None] for k in kernels]).reshape(4, -1)
            kernel = g.Reshape(g.MatMul(shares(g, x, gate, bias), flat), [32, 32, 3, 3])
            x = g.Relu(g.Conv(x, kernel, offset - mean * factor, pads=[1] * 4))
        return x
    return given, expert


@network(start=(64, 48), x=(64, 48))
def low_rank_experts_of_cross_layer(random):
    """Gates add up to 1, so the bias that all experts share needs none."""
    v, c = [random(48, 8) for _ in range(4)], [random(8, 8) for _ in range(4)]
    u, gates, b = [random(8, 48) for _ in range(4)], [random(48, 1) for _ in range(4)], random(48)

    def given(g, start, x):
        ends, scores = [], []
        for i in range(4):
            t = g.Tanh(g.MatMul(g.Tanh(g.MatMul(x, v[i])), c[i]))
            ends.append(g.Unsqueeze(g.Mul(start, g.linear(t, u[i], b)), [2]))
            scores.append(g.Unsqueeze(g.MatMul(x, gates[i]), [1]))
        shares = g.Softmax(g.Concat(*scores, axis=1), axis=1)
        return g.Add(g.Squeeze(g.MatMul(g.Concat(*ends, axis=2), shares), [2]), x)

    def expert(g, start, x):
        shares = g.Softmax(g.MatMul(x, side_by_side(*gates)), axis=1)
        t = g.Tanh(g.MatMul(g.Tanh(g.MatMul(x, side_by_side(*v))), diagonal(c)))
        t = g.Mul(g.Reshape(t, [64, 4, 8]), g.Reshape(shares, [64, 4, 1]))
        t = g.linear(g.Reshape(t, [64, 32]), np.concatenate(u), b)
        return g.Add(g.Mul(start, t), x)
    return given, expert
