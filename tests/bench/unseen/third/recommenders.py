"""Networks over tables: cross networks with matrices (Wang et al. 2021), products of pairs (Qu et al. 2016),
a mixture with a gate for each task (Ma et al. 2018), attention to a history (Zhou et al. 2018), towers on
one space (Ma et al. 2018), tokens of features (Gorishniy et al. 2021)."""

import numpy as np

from networks import block_diagonal, network, side_by_side


@network(x=(64, 48))
def cross_network_with_matrices(random):
    """x₀ ⊙ (W x + b) + x beside two deep layers. The expert carries the factor of x₀ from layer to layer."""
    w, b = [random(48, 48) for _ in range(3)], [random(48) for _ in range(3)]
    v, c = [random(48, 32), random(32, 16)], [random(32), random(16)]
    wo, bo = random(64, 1), random(1)

    def deep(g, x):
        return g.Relu(g.linear(g.Relu(g.linear(x, v[0], c[0])), v[1], c[1]))

    def given(g, x):
        crossed = x
        for i in range(3):
            crossed = g.Add(g.Mul(x, g.linear(crossed, w[i], b[i])), crossed)
        return g.Sigmoid(g.linear(g.Concat(crossed, deep(g, x), axis=1), wo, bo))

    def expert(g, x):
        factor = g.linear(x, w[0], b[0] + 1)
        for i in range(1, 3):
            factor = g.Add(g.linear(g.Mul(x, factor), w[i], b[i]), factor)
        score = g.MatMul(g.Mul(x, factor), wo[:48])
        return g.Sigmoid(g.Add(g.linear(deep(g, x), wo[48:], bo), score))
    return given, expert


@network(fields=(32, 6, 8))
def inner_products_of_pairs(random):
    """A loop over all pairs of fields, beside the fields themselves."""
    w, b, v, c = random(48 + 15, 32), random(32), random(32, 1), random(1)
    pairs = [(i, j) for i in range(6) for j in range(i + 1, 6)]

    def given(g, fields):
        parts = [g.Gather(fields, i, axis=1) for i in range(6)]
        products = [g.ReduceSum(g.Mul(parts[i], parts[j]), [1]) for i, j in pairs]
        joined = g.Concat(g.Flatten(fields), g.Concat(*products, axis=1), axis=1)
        return g.linear(g.Relu(g.linear(joined, w, b)), v, c)

    def expert(g, fields):
        squared = np.zeros((6, 6, 32))
        for weight, pair in zip(w[48:], pairs):
            squared[pair] = weight
        gram = g.Reshape(g.Einsum(fields, fields, equation="bid,bjd->bij"), [32, 36])
        alone = g.linear(g.Reshape(fields, [32, 48]), w[:48], b)
        return g.linear(g.Relu(g.Add(g.MatMul(gram, squared.reshape(36, 32)), alone)), v, c)
    return given, expert


@network(x=(16, 48))
def mixture_with_a_gate_for_each_task(random):
    """Three experts of two layers, two tasks."""
    w, b = [random(48, 32) for _ in range(3)], [random(32) for _ in range(3)]
    v, c = [random(32, 24) for _ in range(3)], [random(24) for _ in range(3)]
    gates, offsets = [random(48, 3) for _ in range(2)], [random(3) for _ in range(2)]
    u, d = [random(24, 16) for _ in range(2)], [random(16) for _ in range(2)]
    last, bias = [random(16, 1) for _ in range(2)], [random(1) for _ in range(2)]

    def given(g, x):
        experts = []
        for i in range(3):
            t = g.Relu(g.linear(g.Relu(g.linear(x, w[i], b[i])), v[i], c[i]))
            experts.append(g.Unsqueeze(t, [1]))
        experts, ends = g.Concat(*experts, axis=1), []
        for i in range(2):
            shares = g.Softmax(g.linear(x, gates[i], offsets[i]), axis=-1)
            mixed = g.ReduceSum(g.Mul(experts, g.Unsqueeze(shares, [2])), [1], keepdims=0)
            mixed = g.Relu(g.linear(mixed, u[i], d[i]))
            ends.append(g.Sigmoid(g.linear(mixed, last[i], bias[i])))
        return tuple(ends)

    def expert(g, x):
        def groups(t, weights, biases):
            weight = np.concatenate([weight.T for weight in weights])[:, :, None]
            return g.Conv(t, weight, side_by_side(*biases), group=len(weights))
        t = g.Relu(g.linear(x, side_by_side(*w), side_by_side(*b)))
        t = g.Relu(groups(g.Reshape(t, [16, 96, 1]), v, c))
        shares = g.linear(x, side_by_side(*gates), side_by_side(*offsets))
        shares = g.Softmax(g.Reshape(shares, [16, 2, 3]), axis=-1)
        mixed = g.MatMul(shares, g.Reshape(t, [16, 3, 24]))
        mixed = g.Relu(groups(g.Reshape(mixed, [16, 48, 1]), u, d))
        ends = g.Reshape(g.Sigmoid(groups(mixed, last, bias)), [16, 2])
        return tuple(g.Split(ends, [1, 1], axis=1, results=2))
    return given, expert


@network(history=(4, 10, 16), target=(4, 16))
def attention_to_a_history(random):
    """Scores of a perceptron that reads both vectors, their difference and their product. Its function is
    Dice, whose share comes from a batch norm."""
    w, b, v, c = random(64, 24), random(24), random(24, 1), random(1)
    norm, slope = (np.ones(24), np.zeros(24), random(24), random.positive(24)), random(24)
    w2, b2, v2, c2 = random(32, 20), random(20), random(20, 1), random(1)

    def given(g, history, target):
        asked = g.Expand(g.Unsqueeze(target, [1]), [4, 10, 16])
        joined = g.Concat(asked, history, g.Sub(asked, history), g.Mul(asked, history), axis=-1)
        t = g.Reshape(g.linear(joined, w, b), [40, 24])
        share = g.Sigmoid(g.BatchNormalization(t, *norm))
        t = g.Add(g.Mul(share, t), g.Mul(g.Mul(g.Sub(1.0, share), slope), t))
        scores = g.Transpose(g.Reshape(g.linear(t, v, c), [4, 10, 1]), perm=[0, 2, 1])
        read = g.Squeeze(g.MatMul(scores, history), [1])
        return g.Sigmoid(g.linear(g.Relu(g.linear(g.Concat(read, target, axis=1), w2, b2)), v2, c2))

    def expert(g, history, target):
        asked, own, apart, both = np.split(w, 4)
        alone = g.Reshape(g.linear(target, asked + apart, b), [4, 1, 24])
        product = g.MatMul(g.Mul(history, g.Reshape(target, [4, 1, 16])), both)
        t = g.Add(g.Add(g.MatMul(history, own - apart), product), alone)
        scale = 1 / np.sqrt(norm[3] + 1e-5)
        share = g.Sigmoid(g.Add(g.Mul(t, scale), -norm[2] * scale))
        # The rest of Dice is a product with α + (1 − α) · share; the second factor is in the weights.
        columns = np.concatenate([(1 - slope)[:, None] * v, slope[:, None] * v])
        t = g.Concat(g.Mul(share, t), t, axis=2)
        scores = g.Reshape(g.linear(t, columns, c), [4, 1, 10])
        read = g.Reshape(g.MatMul(scores, history), [4, 16])
        t = g.Add(g.linear(target, w2[16:], b2), g.MatMul(read, w2[:16]))
        return g.Sigmoid(g.linear(g.Relu(t), v2, c2))
    return given, expert


@network(x=(32, 64))
def towers_of_unequal_widths(random):
    """Clicks, sales and the time spent; sold is what was clicked and bought."""
    widths = ((40, 20), (24, 12), (32, 16))
    w = [[random(64, first), random(first, second), random(second, 1)] for first, second in widths]
    b = [[random(first), random(second), random(1)] for first, second in widths]
    norms = [[random.norm(width) for width in pair] for pair in widths]

    def given(g, x):
        ends = []
        for i in range(3):
            t = x
            for k in range(2):
                t = g.Relu(g.BatchNormalization(g.Gemm(t, w[i][k], b[i][k]), *norms[i][k]))
            ends.append(g.Gemm(t, w[i][2], b[i][2]))
        clicked = g.Sigmoid(ends[0])
        return clicked, g.Mul(clicked, g.Sigmoid(ends[1])), g.Softplus(ends[2])

    def expert(g, x):
        def layer(i, k):
            scale, offset, mean, variance = norms[i][k]
            factor = scale / np.sqrt(variance + 1e-5)
            return w[i][k] * factor, (b[i][k] - mean) * factor + offset
        first, second = ([layer(i, k) for i in range(3)] for k in range(2))
        t = g.Relu(g.linear(x, *(side_by_side(*parts) for parts in zip(*first))))
        weights, biases = zip(*second)
        t = g.Relu(g.linear(t, block_diagonal(weights), side_by_side(*biases)))
        columns = np.split(block_diagonal([part[2] for part in w]), 3, axis=1)
        clicked, bought = (g.Sigmoid(g.linear(t, columns[i], b[i][2])) for i in range(2))
        return clicked, g.Mul(clicked, bought), g.Softplus(g.linear(t, columns[2], b[2][2]))
    return given, expert


@network(x=(16, 10))
def class_token_over_tokens_of_numbers(random):
    """Each number is a token, scaled along a direction of its own; read is the class token alone."""
    width, heads = 32, 4
    tokens, places, start = random(10, width), random(10, width), random(1, 1, width)
    w, b = [random(width, width) for _ in range(4)], [random(width) for _ in range(4)]
    gain, offset, wo, bo = random.positive(width), random(width), random(width, 3), random(3)

    def given(g, x):
        t = g.Add(g.Mul(g.Unsqueeze(x, [2]), tokens), places)
        t = g.Concat(g.Expand(start, [16, 1, width]), t, axis=1)
        q, k, v = (g.Transpose(g.Reshape(g.linear(t, w[i], b[i]), [16, 11, heads, 8]),
                               perm=[0, 2, 1, 3]) for i in range(3))
        scores = g.Div(g.MatMul(q, g.Transpose(k, perm=[0, 1, 3, 2])), 8 ** 0.5)
        read = g.Transpose(g.MatMul(g.Softmax(scores, axis=-1), v), perm=[0, 2, 1, 3])
        t = g.Add(t, g.linear(g.Reshape(read, [16, 11, width]), w[3], b[3]))
        t = g.LayerNormalization(g.Gather(t, 0, axis=1), gain, offset)
        return g.linear(g.Relu(t), wo, bo)

    def by_heads(t):
        return t.reshape(-1, heads, 8).transpose(1, 0, 2)

    def expert(g, x):
        # Keys and values of a number are linear in it, and the query is a constant.
        asked = by_heads(start[0] @ w[0] + b[0])[:, 0] / 8 ** 0.5
        steep, level = (np.einsum("hid,hd->hi", by_heads(t @ w[1]), asked)
                        for t in (tokens, np.concatenate([places, start[0]])))
        scores = np.zeros((10, heads, 11))
        scores[np.arange(10), :, np.arange(10)] = steep.T
        last = w[3].reshape(heads, 8, width)
        moving = by_heads(np.concatenate([tokens, np.zeros((1, width))]) @ w[2]) @ last
        resting = by_heads(np.concatenate([places, start[0]]) @ w[2] + b[2]) @ last
        shares = g.linear(x, scores.reshape(10, -1), level.reshape(-1))
        shares = g.Softmax(g.Reshape(shares, [16, heads, 11]), axis=-1)
        moved = g.Mul(shares, g.Reshape(g.Pad(x, [0, 0, 0, 1]), [16, 1, 11]))
        t = g.linear(g.Reshape(shares, [16, -1]), resting.reshape(-1, width), b[3] + start[0, 0])
        t = g.Add(g.MatMul(g.Reshape(moved, [16, -1]), moving.reshape(-1, width)), t)
        return g.linear(g.Relu(g.LayerNormalization(t, gain, offset)), wo, bo)
    return given, expert
