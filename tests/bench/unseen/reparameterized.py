"""Blocks of parallel convolutions for training that are one convolution for inference: RepVGG (Ding et al.
2021), ACB (Ding et al. 2019), diverse branches (Ding et al. 2021), MobileOne (Vasu et al. 2022),
RepLKNet (Ding et al. 2022), ExpandNets (Guo et al. 2020)."""

import numpy as np

from networks import centered, folded, network, passing

SAME = dict(pads=[1, 1, 1, 1])


def sum_of(g, *terms):
    total = terms[0]
    for term in terms[1:]:
        total = g.Add(total, term)
    return total


def rep_vgg_block(random, width, groups):
    w3, w1 = random(width, width // groups, 3, 3), random(width, width // groups, 1, 1)
    norms = [random.norm(width) for _ in range(3)]

    def given(g, x):
        t = sum_of(g, g.BatchNormalization(g.Conv(x, w3, group=groups, **SAME), *norms[0]),
                   g.BatchNormalization(g.Conv(x, w1, group=groups), *norms[1]),
                   g.BatchNormalization(x, *norms[2]))
        return g.Relu(t)

    def expert(g, x):
        parts = [folded(w3, norms[0]), folded(centered(w1, 3), norms[1]),
                 folded(passing(width, 3, groups), norms[2])]
        weight, bias = (sum(values) for values in zip(*parts))
        return g.Relu(g.Conv(x, weight, bias, group=groups, **SAME))
    return given, expert


def stacked(*blocks):
    def run(k):
        def form(g, x):
            for block in blocks:
                x = block[k](g, x)
            return x
        return form
    return run(0), run(1)


@network(x=(1, 32, 28, 28))
def rep_vgg(random):
    return stacked(*(rep_vgg_block(random, 32, 1) for _ in range(2)))


@network(x=(1, 32, 28, 28))
def rep_vgg_in_groups(random):
    return stacked(*(rep_vgg_block(random, 32, 4) for _ in range(2)))


@network(x=(1, 32, 28, 28))
def asymmetric_convolutions(random):
    kernels = [random(32, 32, 3, 3), random(32, 32, 1, 3), random(32, 32, 3, 1)]
    pads = [[1, 1, 1, 1], [0, 1, 0, 1], [1, 0, 1, 0]]
    norms = [random.norm(32) for _ in range(3)]

    def given(g, x):
        return g.Relu(sum_of(g, *(
            g.BatchNormalization(g.Conv(x, w, pads=p), *norm)
            for w, p, norm in zip(kernels, pads, norms))))

    def expert(g, x):
        parts = [folded(centered(w, 3), norm) for w, norm in zip(kernels, norms)]
        return g.Relu(g.Conv(x, *(sum(values) for values in zip(*parts)), **SAME))
    return given, expert


@network(x=(1, 32, 28, 28))
def diverse_branches(random):
    w3, w1, wa, wb = (random(32, 32, 3, 3), random(32, 32, 1, 1), random(32, 32, 1, 1),
                      random(32, 32, 3, 3))
    wp, norms = random(32, 32, 1, 1), [random.norm(32) for _ in range(4)]

    def given(g, x):
        pooled = g.AveragePool(g.Conv(x, wp), kernel_shape=[3, 3], count_include_pad=1, **SAME)
        return g.Relu(sum_of(
            g, g.BatchNormalization(g.Conv(x, w3, **SAME), *norms[0]),
            g.BatchNormalization(g.Conv(x, w1), *norms[1]),
            g.BatchNormalization(g.Conv(g.Conv(x, wa), wb, **SAME), *norms[2]),
            g.BatchNormalization(pooled, *norms[3])))

    def expert(g, x):
        behind = np.einsum("omhw,mi->oihw", wb, wa[:, :, 0, 0])
        mean = np.repeat(np.repeat(wp, 3, axis=2), 3, axis=3) / 9
        parts = [folded(w, norm) for w, norm in zip((w3, centered(w1, 3), behind, mean), norms)]
        return g.Relu(g.Conv(x, *(sum(values) for values in zip(*parts)), **SAME))
    return given, expert


@network(x=(1, 32, 28, 28))
def mobile_one(random):
    deep, scale = [random(32, 1, 3, 3) for _ in range(2)], random(32, 1, 1, 1)
    wide = [random(64, 32, 1, 1) for _ in range(2)]
    norms, wide_norms = [random.norm(32) for _ in range(4)], [random.norm(64) for _ in range(2)]

    def given(g, x):
        terms = [g.BatchNormalization(g.Conv(x, w, group=32, **SAME), *norm)
                 for w, norm in zip(deep, norms)]
        terms.append(g.BatchNormalization(g.Conv(x, scale, group=32), *norms[2]))
        t = g.Relu(sum_of(g, *terms, g.BatchNormalization(x, *norms[3])))
        return g.Relu(sum_of(g, *(g.BatchNormalization(g.Conv(t, w), *norm)
                                  for w, norm in zip(wide, wide_norms))))

    def expert(g, x):
        kernels = [*deep, centered(scale, 3), passing(32, 3, 32)]
        parts = [folded(w, norm) for w, norm in zip(kernels, norms)]
        t = g.Relu(g.Conv(x, *(sum(v) for v in zip(*parts)), group=32, **SAME))
        parts = [folded(w, norm) for w, norm in zip(wide, wide_norms)]
        return g.Relu(g.Conv(t, *(sum(v) for v in zip(*parts))))
    return given, expert


@network(x=(1, 64, 14, 14))
def large_and_small_kernel(random):
    large, small = random(64, 1, 7, 7), random(64, 1, 3, 3)
    norms = [random.norm(64), random.norm(64)]

    def given(g, x):
        t = g.Add(g.BatchNormalization(g.Conv(x, large, pads=[3] * 4, group=64), *norms[0]),
                  g.BatchNormalization(g.Conv(x, small, group=64, **SAME), *norms[1]))
        return g.Add(x, t)

    def expert(g, x):
        parts = [folded(large, norms[0]), folded(centered(small, 7), norms[1])]
        weight, bias = (sum(values) for values in zip(*parts))
        weight = weight + passing(64, 7, 64)
        return g.Conv(x, weight, bias, pads=[3] * 4, group=64)
    return given, expert


@network(x=(1, 24, 28, 28))
def convolutions_with_biases_and_shortcut(random):
    """A linear residual block, as in super-resolution networks that are folded for phones."""
    w3, w1, b3, b1 = random(24, 24, 3, 3), random(24, 24, 1, 1), random(24), random(24)

    def given(g, x):
        t = g.Add(g.Conv(x, w3, b3, **SAME), g.Conv(x, w1, b1))
        return g.Relu(g.Add(t, x))

    def expert(g, x):
        weight = w3 + centered(w1, 3) + passing(24, 3)
        return g.Relu(g.Conv(x, weight, b3 + b1, **SAME))
    return given, expert


@network(x=(1, 16, 28, 28))
def expanded_convolution(random):
    """1 × 1, 3 × 3, 1 × 1 without anything between them."""
    w1, w3, w2, b = (random(64, 16, 1, 1), random(64, 64, 3, 3), random(16, 64, 1, 1), random(16))

    def given(g, x):
        return g.Relu(g.Conv(g.Conv(g.Conv(x, w1), w3, **SAME), w2, b))

    def expert(g, x):
        weight = np.einsum("om,mnhw,ni->oihw", w2[:, :, 0, 0], w3, w1[:, :, 0, 0])
        return g.Relu(g.Conv(x, weight, b, **SAME))
    return given, expert


@network(x=(1, 3, 64, 64))
def normalized_image_in_patches(random):
    """Pixels are normalized inside the model, patches are embedded by a convolution."""
    w, b = random(64, 3, 8, 8), random(64)
    mean, deviation = random.positive(3, 1, 1), random.positive(3, 1, 1)

    def given(g, x):
        t = g.Conv(g.Div(g.Sub(x, mean), deviation), w, b, strides=[8, 8])
        return g.Transpose(g.Reshape(t, [1, 64, 64]), perm=[0, 2, 1])

    def expert(g, x):
        bias = b - np.einsum("oihw,i->o", w, (mean / deviation).reshape(3))
        t = g.Conv(x, w / deviation, bias, strides=[8, 8])
        return g.Transpose(g.Reshape(t, [1, 64, 64]), perm=[0, 2, 1])
    return given, expert
