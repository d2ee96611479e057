"""Attention: multi-head (Vaswani et al. 2017), multi-query (Shazeer 2019), grouped queries (Ainslie et
al. 2023), LoRA (Hu et al. 2021), rotary positions (Su et al. 2021), windows (Liu et al. 2021), linear
(Katharopoulos et al. 2020)."""

import numpy as np

from feed_forward import layer_norm_written_out
from networks import network, side_by_side

POSITIONS, WIDTH, HEADS, SIZE = 64, 128, 4, 32
SCALE = SIZE ** -0.5


def heads(g, x, count=HEADS, positions=POSITIONS, perm=(0, 2, 1, 3)):
    return g.Transpose(g.Reshape(x, [1, positions, count, SIZE]), perm=list(perm))


def together(g, x, positions=POSITIONS):
    return g.Reshape(g.Transpose(x, perm=[0, 2, 1, 3]), [1, positions, WIDTH])


def attend(g, q, k_transposed, v, scale=SCALE):
    scores = g.MatMul(q, k_transposed)
    if scale is not None:
        scores = g.Mul(scores, scale)
    return g.MatMul(g.Softmax(scores, axis=-1), v)


def attend_to_merged(g, qkv, queries=HEADS, others=HEADS):
    """Attention on the product of all three projections, with the scale in the weights."""
    count = queries + 2 * others
    t = heads(g, qkv, count)
    q, k, v = g.Split(t, [queries, others, others], axis=1, results=3)
    if others != queries:
        q = g.Reshape(q, [1, others, queries // others * POSITIONS, SIZE])
    y = attend(g, q, g.Transpose(k, perm=[0, 1, 3, 2]), v, None)
    if others != queries:
        y = g.Reshape(y, [1, queries, POSITIONS, SIZE])
    return together(g, y)


def projections(random, queries=HEADS, others=HEADS):
    widths = (queries * SIZE, others * SIZE, others * SIZE)
    return [random(WIDTH, n) for n in widths], [random(n) for n in widths]


def merged(w, b):
    return (side_by_side(w[0] * SCALE, w[1], w[2]), side_by_side(b[0] * SCALE, b[1], b[2]))


@network(x=(1, POSITIONS, WIDTH))
def multi_head_attention(random):
    (w, b), (wo, bo) = projections(random), (random(WIDTH, WIDTH), random(WIDTH))

    def given(g, x):
        q, k, v = (g.linear(x, w[i], b[i]) for i in range(3))
        y = attend(g, heads(g, q), heads(g, k, perm=(0, 2, 3, 1)), heads(g, v))
        return g.linear(together(g, y), wo, bo)

    def expert(g, x):
        return g.linear(attend_to_merged(g, g.linear(x, *merged(w, b))), wo, bo)
    return given, expert


def repeated(g, x, count, positions=POSITIONS):
    """Keys or values once for each query head, as exporters write it."""
    wide = g.Expand(g.Unsqueeze(x, [2]), [1, count, HEADS // count, positions, SIZE])
    return g.Reshape(wide, [1, HEADS, positions, SIZE])


def shared_heads(random, count):
    w, b = projections(random, others=count)

    def given(g, x):
        q, k, v = (g.linear(x, w[i], b[i]) for i in range(3))
        k, v = (repeated(g, heads(g, t, count), count) for t in (k, v))
        y = attend(g, heads(g, q), g.Transpose(k, perm=[0, 1, 3, 2]), v)
        return together(g, y)

    def expert(g, x):
        return attend_to_merged(g, g.linear(x, *merged(w, b)), others=count)
    return given, expert


@network(x=(1, POSITIONS, WIDTH))
def multi_query_attention(random):
    return shared_heads(random, 1)


@network(x=(1, POSITIONS, WIDTH))
def grouped_query_attention(random):
    return shared_heads(random, 2)


def adapted(random, adapted_ones):
    w, b = projections(random)
    down = [random(WIDTH, 8) for _ in range(3)]
    up = [random(8, WIDTH) for _ in range(3)]

    def given(g, x):
        y = []
        for i in range(3):
            t = g.linear(x, w[i], b[i])
            if i in adapted_ones:
                t = g.Add(t, g.Mul(g.MatMul(g.MatMul(x, down[i]), up[i]), 2.0))
            y.append(t)
        q, k, v = y
        return together(g, attend(g, heads(g, q), heads(g, k, perm=(0, 2, 3, 1)), heads(g, v)))

    def expert(g, x):
        sums = [w[i] + (2.0 * down[i] @ up[i] if i in adapted_ones else 0) for i in range(3)]
        return attend_to_merged(g, g.linear(x, *merged(sums, b)))
    return given, expert


@network(x=(1, POSITIONS, WIDTH))
def lora_on_query_and_value(random):
    return adapted(random, (0, 2))


@network(x=(1, POSITIONS, WIDTH))
def lora_on_all_projections(random):
    return adapted(random, (0, 1, 2))


@network(x=(1, POSITIONS, WIDTH))
def rotary_attention_scores(random):
    w = [random(WIDTH, WIDTH) for _ in range(2)]
    angles = np.outer(np.arange(POSITIONS), 10000.0 ** (-np.arange(0, SIZE, 2) / SIZE))
    cos, sin = (np.concatenate([f(angles)] * 2, axis=1) for f in (np.cos, np.sin))
    half = SIZE // 2

    def rotated(g, x):
        first = g.Slice(x, [0], [half], [3])
        second = g.Slice(x, [half], [SIZE], [3])
        turned = g.Concat(g.Neg(second), first, axis=-1)
        return g.Add(g.Mul(x, cos), g.Mul(turned, sin))

    def given(g, x):
        q, k = (rotated(g, heads(g, g.MatMul(x, w[i]))) for i in range(2))
        return g.Mul(g.MatMul(q, g.Transpose(k, perm=[0, 1, 3, 2])), SCALE)

    def turned_weight(weight):
        parts = weight.reshape(WIDTH, HEADS, 2, half)
        return np.stack([-parts[:, :, 1], parts[:, :, 0]], axis=2).reshape(WIDTH, WIDTH)

    def expert(g, x):
        both = side_by_side(w[0] * SCALE, w[1])
        turned = side_by_side(turned_weight(w[0]) * SCALE, turned_weight(w[1]))
        across = (np.tile(cos, (1, 2 * HEADS)), np.tile(sin, (1, 2 * HEADS)))
        t = g.Add(g.Mul(g.MatMul(x, both), across[0]), g.Mul(g.MatMul(x, turned), across[1]))
        q, k = g.Split(heads(g, t, 2 * HEADS), [HEADS, HEADS], axis=1, results=2)
        return g.MatMul(q, g.Transpose(k, perm=[0, 1, 3, 2]))
    return given, expert


@network(x=(1, 16, 16, WIDTH))
def window_attention(random):
    """A block of Swin: 4 windows of 8 × 8, with a bias for each pair of positions."""
    gain, offset = random.positive(WIDTH), random(WIDTH)
    w, b = side_by_side(*(random(WIDTH, WIDTH) for _ in range(3))), random(3 * WIDTH)
    wo, bo, pairs = random(WIDTH, WIDTH), random(WIDTH), random(1, HEADS, 64, 64)

    def windows(g, x):
        t = g.Transpose(g.Reshape(x, [1, 2, 8, 2, 8, WIDTH]), perm=[0, 1, 3, 2, 4, 5])
        return g.Reshape(t, [4, 64, WIDTH])

    def image(g, x):
        t = g.Transpose(g.Reshape(x, [1, 2, 2, 8, 8, WIDTH]), perm=[0, 1, 3, 2, 4, 5])
        return g.Reshape(t, [1, 16, 16, WIDTH])

    def attention(g, t, w, b, scale):
        t = g.Transpose(g.Reshape(g.linear(t, w, b), [4, 64, 3, HEADS, SIZE]), perm=[2, 0, 3, 1, 4])
        q, k, v = (g.Gather(t, i, axis=0) for i in range(3))
        q = g.Mul(q, scale) if scale is not None else q
        scores = g.Add(g.MatMul(q, g.Transpose(k, perm=[0, 1, 3, 2])), pairs)
        y = g.MatMul(g.Softmax(scores, axis=-1), v)
        y = g.Reshape(g.Transpose(y, perm=[0, 2, 1, 3]), [4, 64, WIDTH])
        return g.linear(y, wo, bo)

    def given(g, x):
        t = windows(g, layer_norm_written_out(g, x, gain, offset))
        return g.Add(x, image(g, attention(g, t, w, b, SCALE)))

    def expert(g, x):
        t = windows(g, g.LayerNormalization(x, gain, offset, axis=-1, epsilon=1e-5))
        factors = np.concatenate([np.full(WIDTH, SCALE), np.ones(2 * WIDTH)])
        return g.Add(x, image(g, attention(g, t, w * factors, b * factors, None)))
    return given, expert


@network(x=(1, 512, 64))
def linear_attention(random):
    w = [random(64, 64) for _ in range(3)]

    def given(g, x):
        q, k, v = (g.MatMul(x, w[i]) for i in range(3))
        scores = g.MatMul(g.Relu(q), g.Transpose(g.Relu(k), perm=[0, 2, 1]))
        return g.MatMul(g.Mul(scores, 1 / 512), v)

    def expert(g, x):
        q, k, v = (g.MatMul(x, weight) for weight in (w[0], w[1], w[2] / 512))
        return g.MatMul(g.Relu(q), g.MatMul(g.Transpose(g.Relu(k), perm=[0, 2, 1]), v))
    return given, expert


@network(memory=(1, POSITIONS, WIDTH), x=(1, 8, WIDTH))
def keys_and_values_of_three_layers(random):
    """Three layers of a decoder that attend to one memory."""
    wk, wv = ([random(WIDTH, WIDTH) for _ in range(3)] for _ in range(2))
    wq = [random(WIDTH, WIDTH) for _ in range(3)]

    def given(g, memory, x):
        for i in range(3):
            q = heads(g, g.MatMul(x, wq[i]), positions=8)
            k = heads(g, g.MatMul(memory, wk[i]), perm=(0, 2, 3, 1))
            y = attend(g, q, k, heads(g, g.MatMul(memory, wv[i])))
            x = g.Add(x, together(g, y, 8))
        return x

    def expert(g, memory, x):
        t = heads(g, g.MatMul(memory, side_by_side(*wk, *wv)), 6 * HEADS)
        parts = g.Split(t, [3 * HEADS] + [HEADS] * 3, axis=1, results=4)
        keys = g.Split(g.Transpose(parts[0], perm=[0, 1, 3, 2]), [HEADS] * 3, axis=1, results=3)
        for i in range(3):
            q = heads(g, g.MatMul(x, wq[i] * SCALE), positions=8)
            x = g.Add(x, together(g, attend(g, q, keys[i], parts[1 + i], None), 8))
        return x
    return given, expert


@network(x=(1, POSITIONS, WIDTH))
def attention_of_last_position(random):
    w, b = projections(random)

    def given(g, x):
        q, k, v = (g.linear(x, w[i], b[i]) for i in range(3))
        y = attend(g, heads(g, q), heads(g, k, perm=(0, 2, 3, 1)), heads(g, v))
        return g.Slice(together(g, y), [POSITIONS - 1], [POSITIONS], [1])

    def expert(g, x):
        last = g.Slice(x, [POSITIONS - 1], [POSITIONS], [1])
        q = heads(g, g.linear(last, w[0] * SCALE, b[0] * SCALE), positions=1)
        t = heads(g, g.linear(x, side_by_side(*w[1:]), side_by_side(*b[1:])), 2 * HEADS)
        k, v = g.Split(t, [HEADS, HEADS], axis=1, results=2)
        return together(g, attend(g, q, g.Transpose(k, perm=[0, 1, 3, 2]), v, None), 1)
    return given, expert
