"""What is read of all positions is one row or a mean: heads of language models and classifiers, deep sets
(Zaheer et al. 2017), fastText (Joulin et al. 2017)."""

import numpy as np

from feed_forward import gelu_by_erf
from networks import folded, network

POSITIONS, WIDTH, WORDS = 64, 128, 1000


@network(x=(1, POSITIONS, WIDTH))
def logits_of_last_position(random):
    gain, offset, w = random.positive(WIDTH), random(WIDTH), random(WIDTH, WORDS)

    def given(g, x):
        t = g.LayerNormalization(x, gain, offset, axis=-1)
        return g.Slice(g.MatMul(t, w), [POSITIONS - 1], [POSITIONS], [1])

    def expert(g, x):
        last = g.Slice(x, [POSITIONS - 1], [POSITIONS], [1])
        return g.MatMul(g.LayerNormalization(last, gain, offset, axis=-1), w)
    return given, expert


@network(x=(1, POSITIONS, WIDTH))
def pooler_of_first_position(random):
    """The last layer of an encoder of which only the first position is read."""
    w1, b1, w2, b2 = random(WIDTH, 512), random(512), random(512, WIDTH), random(WIDTH)
    gain, offset, wp, bp = random.positive(WIDTH), random(WIDTH), random(WIDTH, WIDTH), random(WIDTH)

    def layer(g, x, gelu):
        t = g.Add(g.linear(gelu(g.linear(x, w1, b1)), w2, b2), x)
        return g.LayerNormalization(t, gain, offset, axis=-1)

    def given(g, x):
        first = g.Gather(layer(g, x, lambda t: gelu_by_erf(g, t)), 0, axis=1)
        return g.Tanh(g.linear(first, wp, bp))

    def expert(g, x):
        return g.Tanh(g.linear(layer(g, g.Gather(x, 0, axis=1), g.Gelu), wp, bp))
    return given, expert


@network(x=(8, POSITIONS, WIDTH))
def gathered_row_behind_softmax(random):
    w, b = random(WIDTH, 256), random(256)

    def given(g, x):
        return g.Gather(g.Softmax(g.linear(x, w, b), axis=-1), POSITIONS - 1, axis=1)

    def expert(g, x):
        last = g.Gather(x, POSITIONS - 1, axis=1)
        return g.Softmax(g.linear(last, w, b), axis=-1)
    return given, expert


@network(x=(8, POSITIONS, WIDTH))
def mean_behind_linear_layer(random):
    w, b, v = random(WIDTH, WIDTH), random(WIDTH), random(WIDTH, 10)

    def given(g, x):
        t = g.ReduceMean(g.linear(x, w, b), [1], keepdims=0)
        return g.MatMul(t, v)

    def expert(g, x):
        return g.linear(g.ReduceMean(x, [1], keepdims=0), w @ v, b @ v)
    return given, expert


@network(x=(8, POSITIONS, WIDTH))
def deep_set(random):
    w1, b1, w2, b2, v = (random(WIDTH, WIDTH), random(WIDTH), random(WIDTH, WIDTH), random(WIDTH),
                         random(WIDTH, 16))

    def given(g, x):
        t = g.linear(g.Relu(g.linear(x, w1, b1)), w2, b2)
        return g.MatMul(g.Relu(g.ReduceSum(t, [1], keepdims=0)), v)

    def expert(g, x):
        t = g.ReduceSum(g.Relu(g.linear(x, w1, b1)), [1], keepdims=0)
        return g.MatMul(g.Relu(g.linear(t, w2, POSITIONS * b2)), v)
    return given, expert


@network(x=(1, 64, 14, 14))
def pooling_behind_pointwise(random):
    w, norm, v, b = random(256, 64, 1, 1), random.norm(256), random(256, 100), random(100)

    def given(g, x):
        t = g.GlobalAveragePool(g.BatchNormalization(g.Conv(x, w), *norm))
        return g.linear(g.Flatten(t), v, b)

    def expert(g, x):
        weight, bias = folded(w, norm)
        t = g.Flatten(g.GlobalAveragePool(x))
        return g.linear(t, weight[:, :, 0, 0].T @ v, bias @ v + b)
    return given, expert


@network(x=(1, 32, 28, 28))
def half_of_the_channels(random):
    """Of a convolution that was trained with two heads, one is read."""
    w, norm = random(128, 32, 3, 3), random.norm(128)

    def given(g, x):
        t = g.Relu(g.BatchNormalization(g.Conv(x, w, pads=[1] * 4), *norm))
        return g.Slice(t, [64], [128], [1])

    def expert(g, x):
        weight, bias = folded(w, norm)
        return g.Relu(g.Conv(x, weight[64:], bias[64:], pads=[1] * 4))
    return given, expert


@network(x=(8, POSITIONS, WIDTH))
def mean_of_normalized_sum(random):
    """A scale and an offset for each channel, then the mean over positions, then a classifier."""
    scale, offset, w, b = random.positive(WIDTH), random(WIDTH), random(WIDTH, 10), random(10)

    def given(g, x):
        t = g.Add(g.Mul(x, scale), offset)
        return g.linear(g.ReduceMean(t, [1], keepdims=0), w, b)

    def expert(g, x):
        t = g.ReduceMean(x, [1], keepdims=0)
        return g.linear(t, w * scale[:, None], b + offset @ w)
    return given, expert


@network(x=(4, POSITIONS, WIDTH))
def last_position_of_two_layers(random):
    w, b = [random(WIDTH, WIDTH) for _ in range(2)], [random(WIDTH) for _ in range(2)]

    def layers(g, x):
        for i in range(2):
            x = g.Add(g.Tanh(g.linear(x, w[i], b[i])), x)
        return x

    def given(g, x):
        t = g.Slice(layers(g, x), [-1], [np.iinfo(np.int64).max], [1])
        return g.Squeeze(t, [1])

    def expert(g, x):
        t = g.Squeeze(g.Slice(x, [POSITIONS - 1], [POSITIONS], [1]), [1])
        return layers(g, t)
    return given, expert
