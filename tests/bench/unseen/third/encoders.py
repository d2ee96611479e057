"""Blocks of encoders and decoders as exporters write them: BERT by the tracing exporter, Llama by the
newer one, a pooling head that asks with a learned query (Zhai et al. 2023)."""

import numpy as np

from networks import network, side_by_side

WIDTH, HEADS, WIDE = 64, 4, 128
SLOT = WIDTH // HEADS


def traced_norm(g, x, gain, offset, axis=-1):
    centered = g.Sub(x, g.ReduceMean(x, [axis]))
    variance = g.ReduceMean(g.Pow(centered, 2.0), [axis])
    normal = g.Div(centered, g.Sqrt(g.Add(variance, 1e-5)))
    return g.Add(g.Mul(normal, gain), offset)


def in_heads(g, x, positions, count=HEADS, perm=(0, 2, 1, 3)):
    return g.Transpose(g.Reshape(x, [1, positions, count, -1]), perm=list(perm))


def layers(random, count=4):
    return ([random(WIDTH, WIDTH) for _ in range(count)], [random(WIDTH) for _ in range(count)])


def by_heads(weight):
    """Columns of a projection, one block for each head."""
    return np.stack(np.split(weight, HEADS, axis=-1))


def absorbed(w, b):
    """Queries times keys as one form for each head, and values times the last projection as one matrix.
    The bias of the keys changes no softmax, that of the values passes through it."""
    q, k, v = (by_heads(w[i]) for i in range(3))
    out = w[3].reshape(HEADS, SLOT, WIDTH)
    forms = q @ k.transpose(0, 2, 1) / SLOT ** 0.5
    offsets = by_heads(b[0])[:, None] @ k.transpose(0, 2, 1) / SLOT ** 0.5
    return (side_by_side(*forms), offsets.reshape(-1), (v @ out).reshape(-1, WIDTH),
            b[2] @ w[3] + b[3])


def attend(g, x, matrices, positions):
    forms, offsets, last, bias = matrices
    asked = g.Reshape(g.linear(x, forms, offsets), [1, positions, HEADS, WIDTH])
    shares = g.Softmax(g.Einsum(asked, x, equation="bshd,btd->bhst"), axis=-1)
    read = g.Einsum(shares, x, equation="bhst,btd->bshd")
    return g.linear(g.Reshape(read, [1, positions, HEADS * WIDTH]), last, bias)


@network(x=(1, 48, WIDTH))
def two_layers_of_bert_as_traced(random):
    attentions = [layers(random) for _ in range(2)]
    gains = [[random.positive(WIDTH) for _ in range(2)] for _ in range(2)]
    offsets = [[random(WIDTH) for _ in range(2)] for _ in range(2)]
    w1, b1 = [random(WIDTH, WIDE) for _ in range(2)], [random(WIDE) for _ in range(2)]
    w2, b2 = [random(WIDE, WIDTH) for _ in range(2)], [random(WIDTH) for _ in range(2)]

    def given(g, x):
        for i, (w, b) in enumerate(attentions):
            q = in_heads(g, g.linear(x, w[0], b[0]), 48)
            k = in_heads(g, g.linear(x, w[1], b[1]), 48, perm=(0, 2, 3, 1))
            v = in_heads(g, g.linear(x, w[2], b[2]), 48)
            scores = g.Add(g.Div(g.MatMul(q, k), SLOT ** 0.5), np.zeros((1, 1, 1, 48)))
            read = g.MatMul(g.Dropout(g.Softmax(scores, axis=-1)), v)
            read = g.Reshape(g.Transpose(read, perm=[0, 2, 1, 3]), [1, 48, WIDTH])
            x = traced_norm(g, g.Add(g.linear(read, w[3], b[3]), x), gains[i][0], offsets[i][0])
            t = g.linear(x, w1[i], b1[i])
            t = g.Mul(g.Mul(t, g.Add(g.Erf(g.Div(t, 2 ** 0.5)), 1.0)), 0.5)
            x = traced_norm(g, g.Add(g.linear(t, w2[i], b2[i]), x), gains[i][1], offsets[i][1])
        return x

    def expert(g, x):
        for i, attention in enumerate(attentions):
            t = g.Add(attend(g, x, absorbed(*attention), 48), x)
            x = g.LayerNormalization(t, gains[i][0], offsets[i][0])
            t = g.Add(g.linear(g.Gelu(g.linear(x, w1[i], b1[i])), w2[i], b2[i]), x)
            x = g.LayerNormalization(t, gains[i][1], offsets[i][1])
        return x
    return given, expert


def half_turned(weight):
    """The columns of each head as rotary positions combine them with the sine."""
    first, second = np.split(weight, 2, axis=-1)
    return np.concatenate([-second, first], axis=-1)


def traced_rms_norm(g, x, gain):
    root = g.Sqrt(g.Add(g.ReduceMean(g.Pow(x, 2.0), [-1]), 1e-6))
    return g.Mul(g.Mul(x, g.Reciprocal(root)), gain)


def rotary(g, x, cos, sin):
    middle, width = cos.shape[1] // 2, cos.shape[1]
    first, second = g.Slice(x, [0], [middle], [3]), g.Slice(x, [middle], [width], [3])
    turned = g.Concat(g.Neg(second), first, axis=-1)
    return g.Add(g.Mul(x, cos), g.Mul(turned, sin))


@network(x=(1, 32, WIDTH))
def block_of_llama(random):
    """Four heads of queries, two of keys and values; rotary positions; SwiGLU."""
    wq, wk, wv, wo = random(WIDTH, 64), random(WIDTH, 32), random(WIDTH, 32), random(64, WIDTH)
    gains = [random.positive(WIDTH) for _ in range(2)]
    gate, up, down = random(WIDTH, WIDE), random(WIDTH, WIDE), random(WIDE, WIDTH)
    angles = np.arange(32)[:, None] * 100.0 ** (-np.arange(8) / 8)
    cos, sin = (np.tile(f(angles), 2) for f in (np.cos, np.sin))
    mask = np.where(np.tri(32) > 0, 0.0, -1e4)

    def repeated(g, x):
        return g.Reshape(g.Expand(g.Unsqueeze(x, [2]), [1, 2, 2, 32, 16]), [1, 4, 32, 16])

    def given(g, x):
        t = traced_rms_norm(g, x, gains[0])
        q = rotary(g, in_heads(g, g.MatMul(t, wq), 32), cos, sin)
        k = repeated(g, rotary(g, in_heads(g, g.MatMul(t, wk), 32, 2), cos, sin))
        v = repeated(g, in_heads(g, g.MatMul(t, wv), 32, 2))
        scores = g.Mul(g.MatMul(q, g.Transpose(k, perm=[0, 1, 3, 2])), 0.25)
        read = g.MatMul(g.Softmax(g.Add(scores, mask), axis=-1), v)
        read = g.Reshape(g.Transpose(read, perm=[0, 2, 1, 3]), [1, 32, 64])
        x = g.Add(x, g.MatMul(read, wo))
        t = traced_rms_norm(g, x, gains[1])
        opened = g.MatMul(t, gate)
        opened = g.Mul(opened, g.Sigmoid(opened))
        return g.Add(x, g.MatMul(g.Mul(opened, g.MatMul(t, up)), down))

    def expert(g, x):
        heads = np.concatenate([np.stack(np.split(wq / 4, 4, axis=1)),
                                np.stack(np.split(wk, 2, axis=1))])
        every = np.concatenate([heads, half_turned(heads), np.stack(np.split(wv, 2, axis=1))])
        t = g.RMSNormalization(g.Reshape(x, [32, WIDTH]), gains[0], epsilon=1e-6)
        both, v = g.Split(g.MatMul(t, every), [12, 2], axis=0, results=2)
        turned = g.Einsum(g.Reshape(both, [2, 6, 32, 16]), np.stack([cos, sin]),
                          equation="nhsd,nsd->hsd")
        q, k = g.Split(turned, [4, 2], axis=0, results=2)
        scores = g.Einsum(g.Reshape(q, [2, 2, 32, 16]), k, equation="kgsd,ktd->kgst")
        shares = g.Softmax(g.Add(scores, mask), axis=-1)
        read = g.Einsum(shares, v, equation="kgst,ktd->skgd")
        x = g.Add(g.MatMul(g.Reshape(read, [1, 32, 64]), wo), x)
        t = g.RMSNormalization(x, gains[1], epsilon=1e-6)
        opened, wide = g.Split(g.MatMul(t, np.stack([gate, up])), [1, 1], axis=0, results=2)
        t = g.Mul(g.Mul(opened, g.Sigmoid(opened)), wide)
        return g.Add(g.MatMul(t, down), x)
    return given, expert


@network(x=(1, 48, WIDTH))
def pooling_by_a_learned_query(random):
    (w, b), probe = layers(random), random(1, 1, WIDTH)
    gains, offsets = [random.positive(WIDTH) for _ in range(2)], [random(WIDTH) for _ in range(2)]
    w1, b1, w2, b2 = random(WIDTH, WIDE), random(WIDE), random(WIDE, WIDTH), random(WIDTH)

    def gelu(g, t):
        cubic = g.Add(t, g.Mul(g.Mul(g.Mul(t, t), t), 0.044715))
        return g.Mul(g.Mul(t, 0.5), g.Add(g.Tanh(g.Mul(cubic, (2 / np.pi) ** 0.5)), 1.0))

    def given(g, x):
        x = traced_norm(g, x, gains[0], offsets[0])
        q = in_heads(g, g.linear(g.Expand(probe, [1, 1, WIDTH]), w[0], b[0]), 1)
        k = in_heads(g, g.linear(x, w[1], b[1]), 48, perm=(0, 2, 3, 1))
        v = in_heads(g, g.linear(x, w[2], b[2]), 48)
        shares = g.Softmax(g.Div(g.MatMul(q, k), SLOT ** 0.5), axis=-1)
        read = g.Transpose(g.MatMul(shares, v), perm=[0, 2, 1, 3])
        y = g.linear(g.Reshape(read, [1, 1, WIDTH]), w[3], b[3])
        t = g.linear(traced_norm(g, y, gains[1], offsets[1]), w1, b1)
        y = g.Add(y, g.linear(gelu(g, t), w2, b2))
        return g.Gather(y, 0, axis=1)

    def expert(g, x):
        _, _, last, bias = absorbed(w, b)
        asked = by_heads(probe[0] @ w[0] + b[0]) / SLOT ** 0.5
        scores = (by_heads(w[1]) @ asked.transpose(0, 2, 1))[:, :, 0].T
        x = g.LayerNormalization(g.Reshape(x, [48, WIDTH]), gains[0], offsets[0])
        shares = g.Softmax(g.MatMul(x, scores), axis=0)
        read = g.Einsum(shares, x, equation="sh,sd->hd")
        y = g.linear(g.Reshape(read, [1, HEADS * WIDTH]), last, bias)
        t = g.linear(g.LayerNormalization(y, gains[1], offsets[1]), w1, b1)
        return g.Add(g.linear(g.Gelu(t, approximate="tanh"), w2, b2), y)
    return given, expert
