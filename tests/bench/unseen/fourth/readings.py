"""What is read of a result, and where it can be read earlier: class tokens (Dosovitskiy et al. 2021),
linear probes on patches, spans of answers (Devlin et al. 2019)."""

import numpy as np

from networks import network

HEADS, SIZE, WIDTH = 4, 16, 64


@network(x=(1, 65, WIDTH))
def class_token_of_last_block(random):
    """Of the last block only the first position is read, behind the last norm."""
    wqkv, bqkv = random(WIDTH, 3 * WIDTH), random(3 * WIDTH)
    wo, bo = random(WIDTH, WIDTH), random(WIDTH)
    w1, b1, w2, b2 = random(WIDTH, 256), random(256), random(256, WIDTH), random(WIDTH)
    norms = [(random.positive(WIDTH), random(WIDTH)) for _ in range(3)]
    head, offset = random(WIDTH, 10), random(10)

    def norm(g, x, i):
        return g.LayerNormalization(x, *norms[i], axis=-1, epsilon=1e-6)

    def behind(g, x, y):
        """The rest of the block, from the layer behind the attention on."""
        x = g.Add(x, y)
        t = g.linear(g.Gelu(g.linear(norm(g, x, 1), w1, b1)), w2, b2)
        return norm(g, g.Add(x, t), 2)

    def given(g, x):
        t = g.Reshape(g.linear(norm(g, x, 0), wqkv, bqkv), [1, 65, 3, HEADS, SIZE])
        t = g.Transpose(t, perm=[2, 0, 3, 1, 4])
        q, k, v = (g.Gather(t, i, axis=0) for i in range(3))
        scores = g.MatMul(g.Mul(q, np.float32(SIZE ** -0.5)), g.Transpose(k, perm=[0, 1, 3, 2]))
        y = g.Transpose(g.MatMul(g.Softmax(scores, axis=-1), v), perm=[0, 2, 1, 3])
        t = behind(g, x, g.linear(g.Reshape(y, [1, 65, WIDTH]), wo, bo))
        return g.linear(g.Gather(t, 0, axis=1), head, offset)

    def expert(g, x):
        # One query a head: neither keys nor values are needed, only means of the positions.
        wq, wk, wv = (m.reshape(WIDTH, HEADS, SIZE) for m in np.split(wqkv, 3, axis=1))
        bq, bv = bqkv[:WIDTH].reshape(HEADS, SIZE), bqkv[2 * WIDTH:]
        looks = np.einsum("chd,ehd->ceh", wq, wk).reshape(WIDTH, WIDTH * HEADS) * SIZE ** -0.5
        look = np.einsum("hd,ehd->eh", bq, wk).reshape(WIDTH * HEADS) * SIZE ** -0.5
        out = np.einsum("ehd,hdo->heo", wv, wo.reshape(HEADS, SIZE, WIDTH))
        t = g.Reshape(norm(g, x, 0), [65, WIDTH])
        query = g.linear(g.Slice(t, [0], [1], [0]), looks, look)
        shares = g.Softmax(g.MatMul(t, g.Reshape(query, [WIDTH, HEADS])), axis=0)
        means = g.MatMul(g.Transpose(shares, perm=[1, 0]), t)
        y = g.linear(g.Reshape(means, [1, HEADS * WIDTH]), out.reshape(HEADS * WIDTH, WIDTH),
                     bv @ wo + bo)
        return g.linear(behind(g, g.Reshape(g.Slice(x, [0], [1], [1]), [1, WIDTH]), y), head, offset)
    return given, expert


@network(x=(1, 3, 64, 64))
def mean_of_patches(random):
    """Patches, positions and a layer, without anything between them but a mean behind."""
    w, b, places = random(64, 3, 8, 8), random(64), random(1, 64, 64)
    v, c, head, offset = random(64, 96), random(96), random(96, 10), random(10)

    def given(g, x):
        t = g.Reshape(g.Conv(x, w, b, strides=[8, 8]), [1, 64, 64])
        t = g.Add(g.Transpose(t, perm=[0, 2, 1]), places)
        t = g.ReduceMean(g.linear(t, v, c), [1], keepdims=0)
        return g.linear(t, head, offset)

    def expert(g, x):
        t = g.ReduceMean(g.Reshape(x, [1, 3, 8, 8, 8, 8]), [2, 4], keepdims=0)
        last = v @ head
        bias = (b + places.mean(axis=(0, 1))) @ last + c @ head + offset
        return g.linear(g.Reshape(t, [1, 192]), w.reshape(64, 192).T @ last, bias)
    return given, expert


@network(x=(1, 512, 256))
def answers_within_a_span(random):
    """Starts and ends of answers are read at 32 positions of 512."""
    w1, b1, w2, b2 = random(256, 512), random(512), random(512, 256), random(256)
    gain, shift, out, offset = random.positive(256), random(256), random(256, 2), random(2)

    def top(g, x):
        t = g.Add(g.linear(g.Gelu(g.linear(x, w1, b1)), w2, b2), x)
        return g.LayerNormalization(t, gain, shift, axis=-1, epsilon=1e-12)

    def given(g, x):
        t = g.linear(top(g, x), out, offset)
        return tuple(g.Slice(g.Squeeze(part, [2]), [16], [48], [1])
                     for part in g.Split(t, [1, 1], axis=2, results=2))

    def expert(g, x):
        t = top(g, g.Slice(x, [16], [48], [1]))
        return tuple(g.Squeeze(g.linear(t, out[:, i:i + 1], offset[i:i + 1]), [2])
                     for i in range(2))
    return given, expert


@network(x=(1, 40, 64))
def means_that_stay_in_place(random):
    """Neither a mean behind a ReLU nor a slice of a softmax's own axis can move: nothing is to gain."""
    w1, b1, w2, b2 = random(64, 96), random(96), random(96, 24), random(24)

    def form(g, x):
        t = g.Relu(g.linear(x, w1, b1))
        shares = g.Softmax(g.linear(g.ReduceMean(t, [1]), w2, b2), axis=-1)
        return g.Slice(shares, [0], [16], [2])
    return form, form
