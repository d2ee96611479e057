"""Parallel parts: Inception (Szegedy et al. 2015), ResNeXt written as towers (Xie et al. 2017), mixtures of
experts (Shazeer et al. 2017; Ma et al. 2018), capsules (Sabour et al. 2017), siamese networks, heads of
detectors (Liu et al. 2016; Lin et al. 2017)."""

import numpy as np

from networks import centered, network, side_by_side
from reparameterized import SAME, sum_of


@network(x=(1, 64, 28, 28))
def inception_module(random):
    widths = (32, 48, 16)
    w = [random(o, 64, 1, 1) for o in widths]
    b = [random(o) for o in widths]
    w3, w5, wp = random(64, 48, 3, 3), random(32, 16, 5, 5), random(32, 64, 1, 1)

    def ends(g, x, first, third, fifth):
        third = g.Relu(g.Conv(third, w3, **SAME))
        fifth = g.Relu(g.Conv(fifth, w5, pads=[2] * 4))
        pooled = g.MaxPool(x, kernel_shape=[3, 3], **SAME)
        return g.Concat(first, third, fifth, g.Relu(g.Conv(pooled, wp)), axis=1)

    def given(g, x):
        return ends(g, x, *(g.Relu(g.Conv(x, w[i], b[i])) for i in range(3)))

    def expert(g, x):
        t = g.Relu(g.Conv(x, np.concatenate(w), np.concatenate(b)))
        return ends(g, x, *g.Split(t, list(widths), axis=1, results=3))
    return given, expert


def towers(random, count, summed):
    down = [random(4, 64, 1, 1) for _ in range(count)]
    across = [random(4, 4, 3, 3) for _ in range(count)]
    up = [random(64, 4, 1, 1) / count ** 0.5 for _ in range(count)]
    b = [random(4) for _ in range(count)]

    def given(g, x):
        ends = []
        for i in range(count):
            t = g.Relu(g.Conv(x, down[i], b[i]))
            t = g.Relu(g.Conv(t, across[i], **SAME))
            ends.append(g.Conv(t, up[i]) if summed else t)
        return g.Relu(g.Add(x, sum_of(g, *ends))) if summed else g.Concat(*ends, axis=1)

    def expert(g, x):
        t = g.Relu(g.Conv(x, np.concatenate(down), np.concatenate(b)))
        t = g.Relu(g.Conv(t, np.concatenate(across), group=count, **SAME))
        return g.Relu(g.Add(g.Conv(t, np.concatenate(up, axis=1)), x)) if summed else t
    return given, expert


@network(x=(1, 64, 14, 14))
def eight_concatenated_towers(random):
    return towers(random, 8, False)


@network(x=(1, 64, 14, 14))
def thirty_two_summed_towers(random):
    return towers(random, 32, True)


@network(x=(16, 64))
def thirty_two_linear_branches(random):
    w, b = [random(64, 16) for _ in range(32)], [random(16) for _ in range(32)]

    def given(g, x):
        return g.Concat(*(g.Relu(g.linear(x, w[i], b[i])) for i in range(32)), axis=1)

    def expert(g, x):
        return g.Relu(g.linear(x, side_by_side(*w), side_by_side(*b)))
    return given, expert


@network(x=(16, 64))
def mixture_of_experts(random):
    count = 8
    w, b = [random(64, 32) for _ in range(count)], [random(32) for _ in range(count)]
    v, gate = [random(32, 64) for _ in range(count)], random(64, count)

    def given(g, x):
        shares = g.Softmax(g.MatMul(x, gate), axis=-1)
        terms = []
        for i in range(count):
            y = g.MatMul(g.Relu(g.linear(x, w[i], b[i])), v[i])
            terms.append(g.Mul(y, g.Slice(shares, [i], [i + 1], [1])))
        return sum_of(g, *terms)

    def expert(g, x):
        shares = g.Reshape(g.Softmax(g.MatMul(x, gate), axis=-1), [16, count, 1])
        wide = g.Relu(g.linear(x, side_by_side(*w), side_by_side(*b)))
        wide = g.Mul(g.Reshape(wide, [16, count, 32]), shares)
        return g.MatMul(g.Reshape(wide, [16, 32 * count]), np.concatenate(v))
    return given, expert


@network(x=(6, 16, 64))
def independent_perceptrons(random):
    """Each of six inputs has weights of its own."""
    w, v = [random(64, 64) for _ in range(6)], [random(64, 32) for _ in range(6)]
    b = [random(64) for _ in range(6)]

    def given(g, x):
        ends = []
        for i, part in enumerate(g.Split(x, [1] * 6, axis=0, results=6)):
            ends.append(g.MatMul(g.Relu(g.linear(part, w[i], b[i])), v[i]))
        return g.Concat(*ends, axis=0)

    def expert(g, x):
        t = g.Relu(g.Add(g.MatMul(x, np.stack(w)), np.stack(b)[:, None]))
        return g.MatMul(t, np.stack(v))
    return given, expert


@network(x=(12, 4, 16))
def capsule_votes(random):
    w = [random(16, 32) for _ in range(12)]

    def given(g, x):
        votes = [g.Unsqueeze(g.MatMul(g.Gather(x, i, axis=0), w[i]), [0]) for i in range(12)]
        return g.Concat(*votes, axis=0)

    def expert(g, x):
        return g.MatMul(x, np.stack(w))
    return given, expert


@network(user=(1, 64), item=(1, 64))
def two_towers(random):
    w = [[random(64, 64) for _ in range(3)] for _ in range(2)]
    b = [[random(64) for _ in range(3)] for _ in range(2)]

    def given(g, user, item):
        ends = []
        for k, x in enumerate((user, item)):
            for i in range(3):
                x = g.Relu(g.linear(x, w[k][i], b[k][i]))
            ends.append(x)
        return g.ReduceSum(g.Mul(*ends), [1])

    def expert(g, user, item):
        t = g.Reshape(g.Concat(user, item, axis=0), [2, 1, 64])
        for i in range(3):
            weight, bias = np.stack([w[0][i], w[1][i]]), np.stack([b[0][i], b[1][i]])[:, None]
            t = g.Relu(g.Add(g.MatMul(t, weight), bias))
        user, item = g.Split(t, [1, 1], axis=0, results=2)
        return g.Reshape(g.ReduceSum(g.Mul(user, item), [2]), [1, 1])
    return given, expert


@network(x=(1, 3, 32, 32), z=(1, 3, 32, 32))
def siamese_images(random):
    w = [random(16, 3, 3, 3), random(32, 16, 3, 3), random(32, 32, 3, 3)]

    def tower(g, x):
        for weight in w:
            x = g.Relu(g.Conv(x, weight, strides=[2, 2], **SAME))
        return x

    def given(g, x, z):
        return g.Abs(g.Sub(tower(g, x), tower(g, z)))

    def expert(g, x, z):
        both = tower(g, g.Concat(x, z, axis=0))
        return g.Abs(g.Sub(*g.Split(both, [1, 1], axis=0, results=2)))
    return given, expert


@network(x=(1, 64, 16, 16), z=(1, 64, 8, 8))
def classes_and_boxes_on_two_scales(random):
    """The heads of a detector, with weights that both scales share."""
    wc, bc, wb, bb = random(36, 64, 3, 3), random(36), random(16, 64, 3, 3), random(16)

    def rows(g, x, columns):
        return g.Reshape(g.Transpose(x, perm=[0, 2, 3, 1]), [1, -1, columns])

    def given(g, x, z):
        scores = g.Concat(*(rows(g, g.Conv(t, wc, bc, **SAME), 9) for t in (x, z)), axis=1)
        boxes = g.Concat(*(rows(g, g.Conv(t, wb, bb, **SAME), 4) for t in (x, z)), axis=1)
        return g.Sigmoid(scores), boxes

    def expert(g, x, z):
        w, b = np.concatenate([wc, wb]), np.concatenate([bc, bb])
        large, small = (g.Conv(t, w, b, **SAME) for t in (x, z))
        pixels = [g.Reshape(t, [1, 52, n]) for t, n in ((large, 256), (small, 64))]
        t = g.Concat(*pixels, axis=2)
        scores, boxes = g.Split(t, [36, 16], axis=1, results=2)
        scores = g.Sigmoid(scores)
        return tuple(g.Reshape(g.Transpose(part, perm=[0, 2, 1]), [1, -1, n])
                     for part, n in ((scores, 9), (boxes, 4)))
    return given, expert


@network(x=(1, 32, 28, 28))
def one_by_one_beside_three_by_three(random):
    """The two expansions of a fire module (Iandola et al. 2016)."""
    w1, w3 = random(32, 32, 1, 1), random(32, 32, 3, 3)
    b1, b3 = random(32), random(32)

    def given(g, x):
        return g.Concat(g.Relu(g.Conv(x, w1, b1)), g.Relu(g.Conv(x, w3, b3, **SAME)), axis=1)

    def expert(g, x):
        w = np.concatenate([centered(w1, 3), w3])
        return g.Relu(g.Conv(x, w, np.concatenate([b1, b3]), **SAME))
    return given, expert
