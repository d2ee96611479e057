"""Tables, users and agents: NeuMF (He et al. 2017), TabNet (Arik and Pfister 2021), soft actor-critic
(Haarnoja et al. 2018), dueling networks (Wang et al. 2016)."""

import numpy as np

from networks import block_diagonal, folded, network, side_by_side


@network(user=(64, 16), item=(64, 16), person=(64, 32), thing=(64, 32))
def neural_matrix_factorization(random):
    """Products of two embeddings beside layers on two others: nothing is to gain."""
    w = [random(64, 32), random(32, 16), random(32, 1)]
    b = [random(32), random(16), random(1)]

    def form(g, user, item, person, thing):
        t = g.Relu(g.linear(g.Concat(person, thing, axis=1), w[0], b[0]))
        t = g.Relu(g.linear(t, w[1], b[1]))
        return g.Sigmoid(g.linear(g.Concat(g.Mul(user, item), t, axis=1), w[2], b[2]))
    return form, form


@network(x=(64, 24))
def gated_layers_of_tabnet(random):
    """Three layers of gated linear units with norms; sums are halved in variance."""
    first, norms = random.norm(24), [random.norm(64) for _ in range(3)]
    w, head, offset = [random(24, 64), random(32, 64), random(32, 64)], random(32, 3), random(3)

    def given(g, x):
        y = None
        t = g.BatchNormalization(x, *first)
        for i in range(3):
            t = g.BatchNormalization(g.MatMul(t, w[i]), *norms[i])
            value, gate = g.Split(t, [32, 32], axis=1, results=2)
            t = g.Mul(value, g.Sigmoid(gate))
            y = t = t if y is None else g.Mul(g.Add(y, t), np.float32(0.5 ** 0.5))
        return g.linear(g.Relu(t), head, offset)

    def expert(g, x):
        scale, start, mean, variance = first
        factor = scale / np.sqrt(variance + 1e-5)
        before, t = 0.5 ** 0.5, None
        for i in range(3):
            weight, bias = folded(w[i].T, norms[i])
            if i == 0:
                weight, bias = weight * factor, bias + weight @ (start - mean * factor)
            # The sum of layer i is kept as the half of its variance to the power of layers ahead.
            ahead = before ** 2 if i == 0 else before ** (3 - i)
            behind = 1 if i == 0 else 1 / (before ** 2 if i == 1 else before)
            now = x if i == 0 else t
            value = g.linear(now, weight[:32].T * behind * ahead, bias[:32] * ahead)
            gate = g.Sigmoid(g.linear(now, weight[32:].T * behind, bias[32:]))
            t = g.Mul(value, gate) if i == 0 else g.Add(t, g.Mul(value, gate))
        return g.linear(g.Relu(t), head, offset)
    return given, expert


@network(state=(64, 17), action=(64, 6))
def lower_of_two_critics(random):
    critics = [(random(23, 64), random(64), random(64, 64), random(64), random(64, 1), random(1))
               for _ in range(2)]

    def given(g, state, action):
        ends = []
        for w1, b1, w2, b2, w3, b3 in critics:
            t = g.Relu(g.linear(g.Concat(state, action, axis=1), w1, b1))
            ends.append(g.linear(g.Relu(g.linear(t, w2, b2)), w3, b3))
        return g.Min(*ends)

    def expert(g, state, action):
        w1, b1, w2, b2, w3, b3 = zip(*critics)
        t = g.Concat(state, action, axis=1)
        t = g.Relu(g.linear(t, side_by_side(*w1), side_by_side(*b1)))
        t = g.Relu(g.linear(t, block_diagonal(w2), side_by_side(*b2)))
        return g.ReduceMin(g.linear(t, block_diagonal(w3), side_by_side(*b3)), [1])
    return given, expert


@network(x=(1, 44, 44, 4))
def dueling_values_of_frames(random):
    """Bytes are scaled inside the model; advantages are less their mean."""
    w = [random(16, 4, 8, 8), random(32, 16, 4, 4)]
    b = [random(16), random(32)]
    inner, bias = [random(512, 64) for _ in range(2)], [random(64) for _ in range(2)]
    ends, offsets = [random(64, 1), random(64, 6)], [random(1), random(6)]

    def given(g, x):
        t = g.Transpose(g.Div(x, np.float32(255)), perm=[0, 3, 1, 2])
        t = g.Relu(g.Conv(t, w[0], b[0], strides=[4, 4]))
        t = g.Flatten(g.Relu(g.Conv(t, w[1], b[1], strides=[2, 2])))
        value, advantage = (g.linear(g.Relu(g.linear(t, inner[i], bias[i])), ends[i], offsets[i])
                            for i in range(2))
        return g.Add(value, g.Sub(advantage, g.ReduceMean(advantage, [1])))

    def expert(g, x):
        t = g.Transpose(x, perm=[0, 3, 1, 2])
        t = g.Relu(g.Conv(t, w[0] / 255, b[0], strides=[4, 4]))
        t = g.Flatten(g.Relu(g.Conv(t, w[1], b[1], strides=[2, 2])))
        t = g.Relu(g.linear(t, side_by_side(*inner), side_by_side(*bias)))
        both = np.concatenate([np.ones((1, 6)), np.eye(6) - 1 / 6])
        return g.linear(t, block_diagonal(ends) @ both, side_by_side(*offsets) @ both)
    return given, expert
