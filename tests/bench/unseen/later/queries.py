"""Attention of other kinds: cosine (Liu et al. 2022), one adapted product for all projections (Hu et al.
2021), linear biases (Press et al. 2022), shifted relative positions (Dai et al. 2019), queries of
objects (Carion et al. 2020), non-local means (Wang et al. 2018), decoding with few keys (Ainslie et al.
2023), means over positions (Reimers and Gurevych 2019)."""

import numpy as np

from networks import network, side_by_side

POSITIONS, WIDTH, HEADS, SIZE = 64, 128, 4, 32
SCALE = SIZE ** -0.5


def split_heads(g, x, count=HEADS, positions=POSITIONS):
    return g.Transpose(g.Reshape(x, [1, positions, count, SIZE]), perm=[0, 2, 1, 3])


def joined(g, x, positions=POSITIONS):
    return g.Reshape(g.Transpose(x, perm=[0, 2, 1, 3]), [1, positions, WIDTH])


def turned(g, x):
    return g.Transpose(x, perm=[0, 1, 3, 2])


def layers(random, count):
    return [random(WIDTH, WIDTH) for _ in range(count)], [random(WIDTH) for _ in range(count)]


def expert_heads(g, x, w, b, count=3):
    """Queries, keys and values of all heads, with the scale in the weights of the queries."""
    t = g.linear(x, side_by_side(w[0] * SCALE, *w[1:count]),
                 side_by_side(b[0] * SCALE, *b[1:count]))
    return g.Split(split_heads(g, t, count * HEADS), [HEADS] * count, axis=1, results=count)


@network(x=(1, POSITIONS, WIDTH))
def cosine_attention(random):
    w, b = random(WIDTH, 3 * WIDTH), random(3 * WIDTH)
    wo, bo, pairs = random(WIDTH, WIDTH), random(WIDTH), random(1, HEADS, POSITIONS, POSITIONS)
    sharpness = np.exp(random(HEADS, 1, 1))

    def unit(g, x, shape=None):
        length = g.Clip(g.ReduceL2(x, [-1]), np.float32(1e-12))
        return g.Div(x, g.Expand(length, shape) if shape else length)

    def rest(g, q, k, v):
        scores = g.Add(g.Mul(g.MatMul(q, turned(g, k)), sharpness), pairs)
        return g.linear(joined(g, g.MatMul(g.Softmax(scores, axis=-1), v)), wo, bo)

    def given(g, x):
        t = g.Reshape(g.linear(x, w, b), [1, POSITIONS, 3, HEADS, SIZE])
        t = g.Transpose(t, perm=[2, 0, 3, 1, 4])
        q, k, v = (g.Gather(t, i, axis=0) for i in range(3))
        q, k = (unit(g, part, [1, HEADS, POSITIONS, SIZE]) for part in (q, k))
        return rest(g, q, k, v)

    def expert(g, x):
        t = split_heads(g, g.linear(x, w, b), 3 * HEADS)
        both, v = g.Split(t, [2 * HEADS, HEADS], axis=1, results=2)
        return rest(g, *g.Split(unit(g, both), [HEADS, HEADS], axis=1, results=2), v)
    return given, expert


@network(x=(1, POSITIONS, WIDTH))
def adapted_product_of_projections(random):
    """GPT-2 with LoRA: queries and values of one product are adapted, by a convolution of two groups
    between zeros for the keys."""
    w, b = random(WIDTH, 3 * WIDTH), random(3 * WIDTH)
    down, up = random(WIDTH, 16), random(2 * WIDTH, 8, 1)
    future = np.triu(np.full((POSITIONS, POSITIONS), -1e9), 1)

    def rest(g, q, scores, v):
        return joined(g, g.MatMul(g.Softmax(g.Add(scores, future), axis=-1), v))

    def given(g, x):
        t = g.Conv(g.Transpose(g.MatMul(x, down), perm=[0, 2, 1]), up, group=2)
        first, last = g.Split(g.Transpose(t, perm=[0, 2, 1]), [WIDTH] * 2, axis=2, results=2)
        zeros = np.zeros((1, POSITIONS, WIDTH))
        t = g.Mul(g.Concat(first, zeros, last, axis=2), np.array([2.0]))
        t = g.Add(g.linear(x, w, b), t)
        q, k, v = (split_heads(g, part) for part in g.Split(t, [WIDTH] * 3, axis=2, results=3))
        return rest(g, q, g.Div(g.MatMul(q, turned(g, k)), SIZE ** 0.5), v)

    def expert(g, x):
        whole = w.copy()
        whole[:, :WIDTH] += 2 * down[:, :8] @ up[:WIDTH, :, 0].T
        whole[:, 2 * WIDTH:] += 2 * down[:, 8:] @ up[WIDTH:, :, 0].T
        q, k, v = expert_heads(g, x, np.split(whole, 3, axis=1), np.split(b, 3))
        return rest(g, q, g.MatMul(q, turned(g, k)), v)
    return given, expert


@network(x=(1, POSITIONS, WIDTH))
def attention_with_linear_biases(random):
    (w, b), slopes = layers(random, 4), 2.0 ** -np.arange(1, HEADS + 1)
    places = np.arange(POSITIONS, dtype=np.float32).reshape(1, 1, 1, POSITIONS)
    future = np.triu(np.full((POSITIONS, POSITIONS), -1e9), 1)

    def given(g, x):
        q, k, v = (split_heads(g, g.linear(x, w[i], b[i])) for i in range(3))
        scores = g.Mul(g.MatMul(q, turned(g, k)), SCALE)
        scores = g.Add(scores, g.Mul(slopes.reshape(1, HEADS, 1, 1), places))
        shares = g.Softmax(g.Add(scores, future), axis=-1)
        return g.Add(x, g.linear(joined(g, g.MatMul(shares, v)), w[3], b[3]))

    def expert(g, x):
        q, k, v = expert_heads(g, x, w, b)
        offset = slopes.reshape(1, HEADS, 1, 1) * places + future
        shares = g.Softmax(g.Add(g.MatMul(q, turned(g, k)), offset), axis=-1)
        return g.Add(x, g.linear(joined(g, g.MatMul(shares, v)), w[3], b[3]))
    return given, expert


@network(x=(1, POSITIONS, WIDTH))
def shifted_relative_positions(random):
    """Transformer-XL: scores of contents and of distances, which are shifted row by row."""
    w = [random(WIDTH, WIDTH) for _ in range(4)]
    u, v = random(HEADS, 1, SIZE), random(HEADS, 1, SIZE)
    angles = np.outer(np.arange(POSITIONS - 1, -1, -1), 1e4 ** (-np.arange(0, WIDTH, 2) / WIDTH))
    distances = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)[None]

    def shifted(g, x):
        t = g.Concat(np.zeros((1, HEADS, POSITIONS, 1)), x, axis=3)
        t = g.Reshape(t, [1, HEADS, POSITIONS + 1, POSITIONS])
        return g.Slice(t, [1], [POSITIONS + 1], [2])

    def given(g, x):
        q, k, values = (split_heads(g, g.MatMul(x, w[i])) for i in range(3))
        far = split_heads(g, g.MatMul(distances, w[3]))
        contents = g.MatMul(g.Add(q, u), turned(g, k))
        places = shifted(g, g.MatMul(g.Add(q, v), turned(g, far)))
        scores = g.Mul(g.Add(contents, places), SCALE)
        return joined(g, g.MatMul(g.Softmax(scores, axis=-1), values))

    def expert(g, x):
        b = [u.reshape(WIDTH), np.zeros(2 * WIDTH), v.reshape(WIDTH) * SCALE]
        t = g.linear(x, side_by_side(w[0] * SCALE, w[1], w[2], w[0] * SCALE),
                     side_by_side(b[0] * SCALE, b[1], b[2]))
        t = split_heads(g, t, 4 * HEADS)
        q, k, values, r = g.Split(t, [HEADS] * 4, axis=1, results=4)
        far = (distances[0] @ w[3]).reshape(POSITIONS, HEADS, SIZE).transpose(1, 2, 0)[None]
        scores = g.Add(g.MatMul(q, turned(g, k)), shifted(g, g.MatMul(r, far)))
        return joined(g, g.MatMul(g.Softmax(scores, axis=-1), values))
    return given, expert


@network(memory=(1, 96, WIDTH), x=(1, 16, WIDTH))
def queries_of_objects(random):
    """Two layers of a detector's decoder read one memory; its places are added to keys alone."""
    places, objects = random(1, 96, WIDTH), random(1, 16, WIDTH)
    both = [layers(random, 4) for _ in range(2)]
    norms = [(random.positive(WIDTH), random(WIDTH)) for _ in range(2)]

    def rest(g, x, scores, v, k):
        y = joined(g, g.MatMul(g.Softmax(scores, axis=-1), v), 16)
        y = g.Add(g.linear(y, both[k][0][3], both[k][1][3]), x)
        return g.LayerNormalization(y, *norms[k], axis=-1, epsilon=1e-5)

    def given(g, memory, x):
        for i, (w, b) in enumerate(both):
            q = split_heads(g, g.linear(g.Add(x, objects), w[0], b[0]), positions=16)
            k = split_heads(g, g.linear(g.Add(memory, places), w[1], b[1]), positions=96)
            v = split_heads(g, g.linear(memory, w[2], b[2]), positions=96)
            x = rest(g, x, g.MatMul(g.Mul(q, SCALE), turned(g, k)), v, i)
        return x

    def expert(g, memory, x):
        of_keys = [places @ w[1] + b[1] for w, b in both]
        of_values = [np.broadcast_to(b[2], (1, 96, WIDTH)) for _, b in both]
        weight = side_by_side(*(w[1] for w, _ in both), *(w[2] for w, _ in both))
        t = g.Add(g.MatMul(memory, weight), side_by_side(*of_keys, *of_values))
        t = split_heads(g, t, 4 * HEADS, 96)
        keys, *values = g.Split(t, [2 * HEADS, HEADS, HEADS], axis=1, results=3)
        keys = g.Split(turned(g, keys), [HEADS, HEADS], axis=1, results=2)
        for i, (w, b) in enumerate(both):
            offset = (objects @ w[0] + b[0]) * SCALE
            q = split_heads(g, g.Add(g.MatMul(x, w[0] * SCALE), offset), positions=16)
            x = rest(g, x, g.MatMul(q, keys[i]), values[i], i)
        return x
    return given, expert


@network(x=(1, 64, 28, 28))
def non_local_block_of_products(random):
    """Without a softmax the products of pixels with pixels can be left out."""
    w, b = [random(32, 64, 1, 1) for _ in range(3)], [random(32) for _ in range(3)]
    wo, bo, norm = random(64, 32, 1, 1), random(64), random.norm(64)

    def given(g, x):
        theta, phi, values = (g.Reshape(g.Conv(x, w[i], b[i]), [1, 32, 784]) for i in range(3))
        scores = g.MatMul(g.Transpose(theta, perm=[0, 2, 1]), phi)
        y = g.MatMul(g.Div(scores, 784.0), g.Transpose(values, perm=[0, 2, 1]))
        y = g.Reshape(g.Transpose(y, perm=[0, 2, 1]), [1, 32, 28, 28])
        return g.Add(g.BatchNormalization(g.Conv(y, wo, bo), *norm), x)

    def expert(g, x):
        scale, offset, mean, variance = norm
        factor = scale / np.sqrt(variance + 1e-5)
        weight = wo * factor[:, None, None, None]
        t = g.Conv(x, np.concatenate([w[0] / 784, *w[1:]]), np.concatenate([b[0] / 784, *b[1:]]))
        t = g.Reshape(t, [1, 96, 784])
        theta, phi, values = g.Split(t, [32] * 3, axis=1, results=3)
        mixed = g.MatMul(values, g.Transpose(phi, perm=[0, 2, 1]))
        y = g.Reshape(g.MatMul(mixed, theta), [1, 32, 28, 28])
        return g.Add(g.Conv(y, weight, (bo - mean) * factor + offset), x)
    return given, expert


@network(x=(1, 1, WIDTH), keys=(1, 2, 63, 16), values=(1, 2, 63, 16))
def step_of_decoding_with_few_keys(random):
    """Eight heads of queries, two of keys and values, which are repeated."""
    wq, wk, wv, wo = random(128, 128), random(128, 32), random(128, 32), random(128, 128)

    def repeated(g, x):
        return g.Reshape(g.Tile(g.Unsqueeze(x, [2]), [1, 1, 4, 1, 1]), [1, 8, 64, 16])

    def given(g, x, keys, values):
        q = g.Transpose(g.Reshape(g.MatMul(x, wq), [1, 1, 8, 16]), perm=[0, 2, 1, 3])
        k, v = (g.Transpose(g.Reshape(g.MatMul(x, w), [1, 1, 2, 16]), perm=[0, 2, 1, 3])
                for w in (wk, wv))
        keys, values = g.Concat(keys, k, axis=2), g.Concat(values, v, axis=2)
        scores = g.Div(g.MatMul(q, turned(g, repeated(g, keys))), 4.0)
        y = g.MatMul(g.Softmax(scores, axis=-1), repeated(g, values))
        y = g.Reshape(g.Transpose(y, perm=[0, 2, 1, 3]), [1, 1, 128])
        return g.MatMul(y, wo), keys, values

    def expert(g, x, keys, values):
        t = g.Reshape(g.MatMul(x, side_by_side(wq / 4, wk, wv)), [1, 12, 1, 16])
        q, k, v = g.Split(t, [8, 2, 2], axis=1, results=3)
        keys, values = g.Concat(keys, k, axis=2), g.Concat(values, v, axis=2)
        scores = g.MatMul(g.Reshape(q, [1, 2, 4, 16]), turned(g, keys))
        y = g.MatMul(g.Softmax(scores, axis=-1), values)
        return g.MatMul(g.Reshape(y, [1, 1, 128]), wo), keys, values
    return given, expert


@network(x=(1, POSITIONS, WIDTH))
def attention_below_a_mean(random):
    """Of a sentence's embedding only the mean over positions is read."""
    (w, b), wp, bp = layers(random, 4), random(WIDTH, 32), random(32)

    def given(g, x):
        q, k, v = (split_heads(g, g.linear(x, w[i], b[i])) for i in range(3))
        scores = g.Div(g.MatMul(q, turned(g, k)), SIZE ** 0.5)
        y = g.linear(joined(g, g.MatMul(g.Softmax(scores, axis=-1), v)), w[3], b[3])
        return g.linear(g.ReduceMean(y, [1], keepdims=0), wp, bp)

    def expert(g, x):
        q, k, v = expert_heads(g, x, w, b)
        shares = g.ReduceMean(g.Softmax(g.MatMul(q, turned(g, k)), axis=-1), [2])
        y = g.Reshape(g.MatMul(shares, v), [1, WIDTH])
        return g.linear(y, w[3] @ wp, b[3] @ wp + bp)
    return given, expert
