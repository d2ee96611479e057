"""Points and molecules: edges between neighbors (Wang et al. 2019), continuous filters (Schuett et al. 2017),
triangles of pairs (Jumper et al. 2021)."""

import numpy as np

from networks import folded, network


@network(x=(256, 32))
def edges_to_neighbors(random):
    """The layer is on differences, and on what they start from; read is the maximum over neighbors."""
    near = random.generator.integers(0, 256, (256, 8))
    w, norm = random(64, 64, 1, 1), random.norm(64)

    def given(g, x):
        neighbors = g.Reshape(g.Gather(x, near.reshape(-1), axis=0), [256, 8, 32])
        center = g.Expand(g.Unsqueeze(x, [1]), [256, 8, 32])
        t = g.Concat(g.Sub(neighbors, center), center, axis=2)
        t = g.Unsqueeze(g.Transpose(t, perm=[2, 0, 1]), [0])
        t = g.LeakyRelu(g.BatchNormalization(g.Conv(t, w), *norm), alpha=0.2)
        t = g.Squeeze(g.ReduceMax(t, [3], keepdims=0), [0])
        return g.Transpose(t, perm=[1, 0])

    def expert(g, x):
        weight, bias = folded(w[:, :, 0, 0], norm)
        of_neighbor, of_center = weight[:, :32].T, (weight[:, 32:] - weight[:, :32]).T
        t = g.Gather(g.MatMul(x, of_neighbor), near, axis=0)
        t = g.Add(g.linear(x, of_center, bias), g.ReduceMax(t, [1], keepdims=0))
        return g.LeakyRelu(t, alpha=0.2)
    return given, expert


@network(x=(32, 48), distances=(32, 32))
def continuous_filters_of_atoms(random):
    """Distances become filters, whose activation is a softplus less the logarithm of 2."""
    centers, gamma = np.linspace(0, 3, 20), 10.0
    w = [random(20, 48), random(48, 48), random(48, 48), random(48, 48), random(48, 48)]
    b = [random(48) for _ in range(5)]

    def softplus(g, x):
        return g.Sub(g.Softplus(x), np.float32(np.log(2)))

    def given(g, x, distances):
        d = g.Sub(g.Unsqueeze(distances, [2]), centers)
        t = g.Exp(g.Mul(np.float32(-gamma), g.Pow(d, np.float32(2))))
        t = softplus(g, g.linear(softplus(g, g.linear(t, w[0], b[0])), w[1], b[1]))
        y = g.ReduceSum(g.Mul(g.Unsqueeze(g.MatMul(x, w[2]), [0]), t), [1], keepdims=0)
        y = g.linear(softplus(g, g.linear(y, w[3], b[3])), w[4], b[4])
        return g.Add(x, y)

    def expert(g, x, distances):
        less = np.log(2)
        d = g.Sub(g.Reshape(distances, [32, 32, 1]), centers)
        t = g.Exp(g.Mul(g.Mul(d, d), -gamma))
        t = g.Softplus(g.linear(t, w[0], b[0]))
        t = softplus(g, g.linear(t, w[1], b[1] - less * w[1].sum(axis=0)))
        y = g.Einsum(t, g.MatMul(x, w[2]), equation="ijc,jc->ic")
        y = g.Softplus(g.linear(y, w[3], b[3]))
        return g.Add(g.linear(y, w[4], b[4] - less * w[4].sum(axis=0)), x)
    return given, expert


@network(x=(1, 32, 32, 24))
def triangle_of_pairs(random):
    """Outgoing edges: two gated layers, multiplied over a third residue."""
    w, b = [random(24, 24) for _ in range(6)], [random(24) for _ in range(6)]
    norms = [(random.positive(24), random(24)) for _ in range(2)]

    def norm(g, x, i):
        return g.LayerNormalization(x, *norms[i], axis=-1, epsilon=1e-5)

    def given(g, x):
        z = norm(g, x, 0)
        a, c = (g.Mul(g.linear(z, w[i], b[i]), g.Sigmoid(g.linear(z, w[i + 1], b[i + 1])))
                for i in (0, 2))
        a, c = g.Transpose(a, perm=[0, 3, 1, 2]), g.Transpose(c, perm=[0, 3, 2, 1])
        y = norm(g, g.Transpose(g.MatMul(a, c), perm=[0, 2, 3, 1]), 1)
        return g.Mul(g.linear(y, w[4], b[4]), g.Sigmoid(g.linear(z, w[5], b[5])))

    def expert(g, x):
        z = norm(g, x, 0)
        t = g.Transpose(z, perm=[0, 3, 1, 2])

        def layer(i):
            weight = np.concatenate([w[i].T, w[i + 2].T])[:, :, None, None]
            return g.Conv(t, weight, np.concatenate([b[i], b[i + 2]]))
        a, c = g.Split(g.Mul(layer(0), g.Sigmoid(layer(1))), [24, 24], axis=1, results=2)
        y = norm(g, g.Einsum(a, c, equation="bcik,bcjk->bijc"), 1)
        return g.Mul(g.linear(y, w[4], b[4]), g.Sigmoid(g.linear(z, w[5], b[5])))
    return given, expert
