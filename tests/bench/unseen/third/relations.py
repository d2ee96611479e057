"""Relations between things: graphs with several kinds of edges (Schlichtkrull et al. 2018), polynomials of a
Laplacian (Defferrard et al. 2016), all pairs of objects (Santoro et al. 2017), a support vector machine, soft
mixtures of experts (Puigcerver et al. 2023)."""

import numpy as np

from networks import network, side_by_side


@network(x=(48, 32), adjacency=(3, 48, 48))
def graph_with_three_kinds_of_edges(random):
    """Weights of a kind are a mixture of two bases."""
    bases, shares = [random(2, 32, 16), random(2, 16, 4)], [random(3, 2), random(3, 2)]
    own, b = [random(32, 16), random(16, 4)], [random(16), random(4)]

    def given(g, x, adjacency):
        for i in range(2):
            size = bases[i].shape[1:]
            mixed = g.MatMul(shares[i], g.Reshape(bases[i], [2, -1]))
            t = g.linear(x, own[i], b[i])
            for kind in range(3):
                weight = g.Reshape(g.Gather(mixed, kind, axis=0), list(size))
                edges = g.Squeeze(g.Slice(adjacency, [kind], [kind + 1], [0]), [0])
                t = g.Add(t, g.MatMul(g.MatMul(edges, x), weight))
            x = g.Relu(t) if i == 0 else g.LogSoftmax(t, axis=1)
        return x

    def expert(g, x, adjacency):
        for i in range(2):
            weight = np.einsum("kb,bio->kio", shares[i], bases[i])
            told = g.Einsum(adjacency, g.MatMul(x, weight), equation="knm,kmo->no")
            t = g.Add(g.linear(x, own[i], b[i]), told)
            x = g.Relu(t) if i == 0 else g.LogSoftmax(t, axis=1)
        return x
    return given, expert


def powers_of_chebyshev(weights, steep):
    """The polynomial Σ T_k(steep · L − 1) W_k as coefficients of the powers of L."""
    result = [0.0] * len(weights)
    for k, weight in enumerate(weights):
        polynomial = np.polynomial.Chebyshev.basis(k).convert(kind=np.polynomial.Polynomial)
        for power, factor in enumerate(polynomial(np.polynomial.Polynomial([-1.0, steep])).coef):
            result[power] = result[power] + factor * weight
    return np.stack(result)


@network(x=(128, 32), laplacian=(128, 128))
def chebyshev_polynomials_of_a_graph(random):
    """Four terms in each of two layers, of the Laplacian scaled to [−1, 1]; the expert has its powers, and
    multiplies on the narrow side."""
    w = [[random(32, 8) for _ in range(4)], [random(8, 4) for _ in range(4)]]
    b, steep = [random(8), random(4)], 2 / 44

    def given(g, x, laplacian):
        scaled = g.Sub(g.Mul(laplacian, steep), np.eye(128))
        for i in range(2):
            terms = [x, g.MatMul(scaled, x)]
            for _ in range(2):
                terms.append(g.Sub(g.Mul(g.MatMul(scaled, terms[-1]), 2.0), terms[-2]))
            t = g.MatMul(terms[0], w[i][0])
            for k in range(1, 4):
                t = g.Add(t, g.MatMul(terms[k], w[i][k]))
            x = g.Add(t, b[i])
            x = g.Relu(x) if i == 0 else x
        return g.Softmax(x, axis=1)

    def expert(g, x, laplacian):
        for i in range(2):
            powers = g.MatMul(x, powers_of_chebyshev(w[i], steep))
            parts = [g.Reshape(part, [128, len(b[i])])
                     for part in g.Split(powers, [1] * 4, axis=0, results=4)]
            t = g.Add(g.MatMul(laplacian, parts[3]), parts[2])
            t = g.Add(g.MatMul(laplacian, t), parts[1])
            x = g.Add(g.linear(laplacian, t, b[i]), parts[0])
            x = g.Relu(x) if i == 0 else x
        return g.Softmax(x, axis=1)
    return given, expert


@network(objects=(2, 12, 24), question=(2, 16))
def relations_of_all_pairs(random):
    w, b = [random(64, 48), random(48, 48), random(48, 32)], [random(48), random(48), random(32)]
    v, c = [random(32, 32), random(32, 10)], [random(32), random(10)]

    def given(g, objects, question):
        first = g.Expand(g.Unsqueeze(objects, [2]), [2, 12, 12, 24])
        second = g.Expand(g.Unsqueeze(objects, [1]), [2, 12, 12, 24])
        asked = g.Expand(g.Unsqueeze(question, [1, 2]), [2, 12, 12, 16])
        t = g.Reshape(g.Concat(first, second, asked, axis=3), [288, 64])
        t = g.Relu(g.Gemm(g.Relu(g.Gemm(t, w[0], b[0])), w[1], b[1]))
        t = g.ReduceSum(g.Reshape(g.Gemm(t, w[2], b[2]), [2, 144, 32]), [1], keepdims=0)
        return g.Gemm(g.Relu(g.Gemm(t, v[0], c[0])), v[1], c[1])

    def expert(g, objects, question):
        both = g.MatMul(g.Reshape(objects, [24, 24]), np.stack([w[0][:24], w[0][24:48]]))
        first, second = g.Split(both, [1, 1], axis=0, results=2)
        asked = g.Reshape(g.linear(question, w[0][48:], b[0]), [2, 1, 48])
        first = g.Add(g.Reshape(first, [2, 12, 48]), asked)
        t = g.Relu(g.Add(g.Reshape(first, [2, 12, 1, 48]), g.Reshape(second, [2, 1, 12, 48])))
        t = g.Relu(g.linear(g.Reshape(t, [2, 144, 48]), w[1], b[1]))
        t = g.ReduceSum(t, [1], keepdims=0)
        t = g.Relu(g.linear(t, w[2] @ v[0], 144 * b[2] @ v[0] + c[0]))
        return g.linear(t, v[1], c[1])
    return given, expert


@network(x=(64, 20))
def support_vectors_of_a_radial_kernel(random):
    """Scaled features, distances to 50 vectors, and a regression on their kernels."""
    mean, deviation, vectors = random(20), random.positive(20), random(50, 20)
    duals, intercept, gamma = random(50, 1), random(1), 0.05

    def given(g, x):
        t = g.Div(g.Sub(x, mean), deviation)
        apart = g.Sub(g.Unsqueeze(t, [1]), vectors[None])
        distance = g.ReduceSum(g.Pow(apart, 2.0), [2], keepdims=0)
        return g.Add(g.MatMul(g.Exp(g.Mul(distance, -gamma)), duals), intercept)

    def expert(g, x):
        centers = vectors * deviation + mean
        weight = np.concatenate([2 * (centers / deviation ** 2).T,
                                 np.repeat(-deviation[:, None] ** -2, 50, axis=1)])
        level = -np.sum((centers / deviation) ** 2, axis=1)
        scores = g.linear(g.Concat(x, g.Mul(x, x), axis=1), gamma * weight, gamma * level)
        return g.linear(g.Exp(scores), duals, intercept)
    return given, expert


@network(x=(1, 32, 48))
def soft_mixture_of_experts(random):
    """Four experts with two slots each; slots are mixtures of tokens, results mixtures of slots."""
    slots = random(48, 8)
    w, b = [random(48, 64) for _ in range(4)], [random(64) for _ in range(4)]
    v, c = [random(64, 48) for _ in range(4)], [random(48) for _ in range(4)]

    def given(g, x):
        scores = g.MatMul(x, slots)
        taken, given_back = (g.Softmax(scores, axis=axis) for axis in (1, 2))
        mixed, ends = g.MatMul(g.Transpose(taken, perm=[0, 2, 1]), x), []
        for i in range(4):
            t = g.linear(g.Slice(mixed, [2 * i], [2 * i + 2], [1]), w[i], b[i])
            t = g.Mul(g.Mul(t, 0.5), g.Add(g.Erf(g.Mul(t, 0.5 ** 0.5)), 1.0))
            ends.append(g.linear(t, v[i], c[i]))
        return g.MatMul(given_back, g.Concat(*ends, axis=1))

    def expert(g, x):
        def layer(t, weights, biases):
            weight = np.concatenate([weight.T for weight in weights])[:, :, None]
            return g.Conv(t, weight, side_by_side(*biases), group=4)
        order = [0, 2, 4, 6, 1, 3, 5, 7]  # the first slot of each expert, then the second
        scores = g.MatMul(x, slots[:, order])
        taken, given_back = (g.Softmax(scores, axis=axis) for axis in (1, 2))
        mixed = g.Reshape(g.Einsum(taken, x, equation="bsp,bsd->bpd"), [2, 192, 1])
        t = layer(g.Gelu(layer(mixed, w, b)), v, c)
        return g.MatMul(given_back, g.Reshape(t, [1, 8, 48]))
    return given, expert
