"""Blocks of deployed models of 2017-2024: SAM (Kirillov et al. 2023), RT-DETR (Zhao et al. 2024),
sentence-transformers (Reimers and Gurevych 2019), PatchTST (Nie et al. 2023), Caser of RecBole (Tang and
Wang 2018), OpenFold (Jumper et al. 2021, Ahdritz et al. 2024), muzero-general (Schrittwieser et al. 2020), Whisper (Radford et al. 2023), Depth Anything (Yang et al.
2024), DiT (Peebles and Xie 2023), ResNeSt (Zhang et al. 2022)."""

import numpy as np

from networks import folded, network, side_by_side


def erf_gelu(g, x):
    t = g.Add(g.Erf(g.Div(x, 2 ** 0.5)), 1.0)
    return g.Mul(g.Mul(x, t), 0.5)


def convolved_map(bias, kernel, size, stride=1):
    """What a convolution with a margin of one makes of an image that holds only a bias."""
    image = np.pad(np.tile(bias[:, None, None], (1, size, size)), ((0, 0), (1, 1), (1, 1)))
    n = size // stride
    parts = [np.einsum("oc,chw->ohw", kernel[:, :, i, k], image[:, i:i + size:stride, k:k + size:stride])
             for i in range(3) for k in range(3)]
    return sum(parts).reshape(1, -1, n, n)


@network(source=(1, 256, 64), tokens=(1, 4, 64))
def masks_by_hypernetworks_of_sam(random):
    """MaskDecoder.predict_masks as torch exports it: the image is enlarged by two transposed convolutions
    with a LayerNorm2d, each token has a perceptron, and of four masks the last three are kept."""
    w1, b1, w2, b2 = random(64, 16, 2, 2), random(16), random(16, 8, 2, 2), random(8)
    scale, offset = random.positive(16), random(16)
    p = [[(random(64, n).T.copy(), random(n)) for n in (64, 64, 8)] for _ in range(4)]

    def given(g, source, tokens):
        t = g.Reshape(g.Transpose(source, perm=[0, 2, 1]), [1, 64, 16, 16])
        t = g.ConvTranspose(t, w1, b1, strides=[2, 2])
        d = g.Sub(t, g.ReduceMean(t, [1]))
        d = g.Div(d, g.Sqrt(g.Add(g.ReduceMean(g.Pow(d, 2.0), [1]), 1e-6)))
        t = g.Add(g.Mul(d, scale[:, None, None]), offset[:, None, None])
        t = g.ConvTranspose(erf_gelu(g, t), w2, b2, strides=[2, 2])
        t = erf_gelu(g, t)
        rows = []
        for i, ((wa, ba), (wb, bb), (wc, bc)) in enumerate(p):
            h = g.Gather(tokens, np.array(i), axis=1)
            h = g.Relu(g.Gemm(g.Relu(g.Gemm(h, wa, ba, transB=1)), wb, bb, transB=1))
            rows.append(g.Unsqueeze(g.Gemm(h, wc, bc, transB=1), [1]))
        t = g.MatMul(g.Concat(*rows, axis=1), g.Reshape(t, [1, 8, 4096]))
        return g.Slice(g.Reshape(t, [1, 4, 64, 64]), [1], [4], [1])

    def expert(g, source, tokens):
        # Places stay rows and channels stay last; only the three masks are put in order.
        t = g.linear(source, w1.transpose(0, 2, 3, 1).reshape(64, 64), np.tile(b1, 4))
        t = g.LayerNormalization(g.Reshape(t, [1024, 16]), scale, offset, axis=-1, epsilon=1e-6)
        t = g.linear(g.Gelu(t), w2.transpose(0, 2, 3, 1).reshape(16, 32), np.tile(b2, 4))
        t = g.Gelu(g.Reshape(t, [4096, 8]))
        h = g.Reshape(g.Slice(tokens, [1], [4], [1]), [3, 1, 64])
        for k in range(3):
            weights, biases = zip(*(p[i][k] for i in (1, 2, 3)))
            h = g.linear(h, np.stack(weights).transpose(0, 2, 1), np.stack(biases)[:, None])
            h = g.Relu(h) if k < 2 else g.Reshape(h, [3, 8])
        t = g.Reshape(g.Gemm(h, t, transB=1), [3, 16, 16, 2, 2, 2, 2])
        return g.Reshape(g.Transpose(t, perm=[0, 1, 3, 5, 2, 4, 6]), [1, 3, 64, 64])
    return given, expert


@network(memory=(1, 5376, 64))
def queries_selected_in_rt_detr(random):
    """RTDETRTransformer._get_decoder_input: boxes are predicted at all places of three levels, then thirty
    of them are gathered with tiled indices."""
    n, kept, classes = 5376, 30, 20
    grid = [np.stack([(np.arange(s * s) % s + 0.5) / s, (np.arange(s * s) // s + 0.5) / s,
                      np.full(s * s, 3.2 / s), np.full(s * s, 3.2 / s)], axis=1) for s in (64, 32, 16)]
    anchors = np.concatenate(grid)
    valid = ((anchors > 0.01) & (anchors < 0.99)).all(axis=1, keepdims=True)
    anchors = np.where(valid, np.log(anchors / (1 - anchors)), 1e4)[None]
    valid = valid.astype(np.float64)[None]
    w, b, scale, offset = random(64, 64), random(64), random.positive(64), random(64)
    wc, bc = random(64, classes), random(classes)
    p = [(random(64, m), random(m)) for m in (64, 64, 4)]

    def encoded(g, memory):
        t = g.linear(g.Mul(memory, valid), w, b)
        t = g.LayerNormalization(t, scale, offset, axis=-1, epsilon=1e-5)
        return t, g.linear(t, wc, bc)

    def boxes(g, t):
        for k in range(3):
            t = g.linear(t, *p[k])
            t = g.Relu(t) if k < 2 else t
        return t

    def given(g, memory):
        t, logits = encoded(g, memory)
        places = g.Add(boxes(g, t), anchors)
        _, which = g.TopK(g.ReduceMax(logits, [-1], keepdims=0), [kept], axis=1, results=2)
        which = g.Unsqueeze(which, [2])

        def chosen(t, width):
            return g.GatherElements(t, g.Tile(which, [1, 1, width]), axis=1)
        return chosen(t, 64), g.Sigmoid(chosen(places, 4)), g.Sigmoid(chosen(logits, classes))

    def expert(g, memory):
        t, logits = encoded(g, memory)
        best = g.ReduceMax(g.Reshape(logits, [n, classes]), [1], keepdims=0)
        _, which = g.TopK(best, [kept], axis=0, results=2)
        t = g.Gather(t, which, axis=1)
        places = g.Add(boxes(g, t), g.Gather(anchors, which, axis=1))
        return t, g.Sigmoid(places), g.Sigmoid(g.Gather(logits, which, axis=1))
    return given, expert


@network(tokens=(8, 64, 128), mask=(8, 64))
def scores_of_sentence_transformers(random):
    """Pooling by a mean under an expanded mask, Normalize, and util.cos_sim to a corpus that is normalized
    anew."""
    corpus = random(200, 128)

    def given(g, tokens, mask):
        m = g.Cast(g.Greater(mask, 0.0), to=1)
        m = g.Expand(g.Unsqueeze(m, [-1]), [8, 64, 128])
        total = g.ReduceSum(g.Mul(tokens, m), [1], keepdims=0)
        t = g.Div(total, g.Clip(g.ReduceSum(m, [1], keepdims=0), 1e-9))

        def normalized(t, rows):
            return g.Div(t, g.Expand(g.Clip(g.ReduceL2(t, [1]), 1e-12), [rows, 128]))
        c = normalized(g.Identity(corpus), 200)
        return g.MatMul(normalized(t, 8), g.Transpose(c, perm=[1, 0]))

    def expert(g, tokens, mask):
        # A sum has the direction of its mean, and its length is divided out of the scores.
        m = g.Cast(g.Greater(mask, 0.0), to=1)
        total = g.Squeeze(g.MatMul(g.Unsqueeze(m, [1]), tokens), [1])
        least = g.Clip(g.Mul(g.ReduceSum(m, [1]), 1e-12), 1e-21)
        scores = g.MatMul(total, (corpus / np.linalg.norm(corpus, axis=1, keepdims=True)).T)
        return g.Div(scores, g.Max(g.ReduceL2(total, [1]), least))
    return given, expert


@network(x=(16, 96, 7))
def patches_and_head_of_patchtst(random):
    """RevIN, a padded end, overlapping patches by unfold, a feed-forward layer with BatchNorm between
    transposes, the flattened head and RevIN undone."""
    w, b = random.positive(7), random(7)
    wp, bp, place = random(16, 32), random(32), random(12, 32)
    w1, b1, w2, b2 = random(32, 64), random(64), random(64, 32), random(32)
    norm, wh, bh = random.norm(32), random(384, 24), random(24)
    windows = np.arange(12)[:, None] * 8 + np.arange(16)

    def given(g, x):
        mean = g.ReduceMean(x, [1])
        d = g.Sub(x, mean)
        deviation = g.Sqrt(g.Add(g.ReduceMean(g.Mul(d, d), [1]), 1e-5))
        t = g.Add(g.Mul(g.Div(g.Sub(x, mean), deviation), w), b)
        t = g.Transpose(t, perm=[0, 2, 1])
        t = g.Concat(t, g.Tile(g.Slice(t, [95], [96], [2]), [1, 1, 8]), axis=2)
        t = g.linear(g.Gather(t, windows, axis=2), wp, bp)
        t = g.Add(g.Reshape(t, [112, 12, 32]), place)
        t = g.Add(t, g.linear(erf_gelu(g, g.linear(t, w1, b1)), w2, b2))
        t = g.BatchNormalization(g.Transpose(t, perm=[0, 2, 1]), *norm, epsilon=1e-5)
        t = g.Reshape(g.Transpose(t, perm=[0, 2, 1]), [16, 7, 12, 32])
        t = g.Reshape(g.Transpose(t, perm=[0, 1, 3, 2]), [16, 7, 384])
        t = g.Transpose(g.linear(t, wh, bh), perm=[0, 2, 1])
        t = g.Div(g.Sub(t, b), w + 1e-10)
        return g.Add(g.Mul(t, deviation), mean)

    def expert(g, x):
        # The end is repeated by the indices; the head has the batch norm and the order of its rows in its
        # weights.
        t = g.Transpose(x, perm=[0, 2, 1])
        t, mean, inverse = g.LayerNormalization(t, np.ones(96), axis=-1, epsilon=1e-5, results=3)
        t = g.Add(g.Mul(t, w[:, None]), b[:, None])
        t = g.Gather(t, np.minimum(windows, 95), axis=2)
        t = g.linear(t, wp, place + bp)
        t = g.Add(t, g.linear(g.Gelu(g.linear(t, w1, b1)), w2, b2))
        head = wh.reshape(32, 12, 24).transpose(1, 0, 2)
        factor = norm[0] / np.sqrt(norm[3] + 1e-5)
        shift = bh + ((norm[1] - norm[2] * factor)[:, None] * head).sum((0, 1))
        t = g.MatMul(g.Reshape(t, [16, 7, 384]), (head * factor[:, None]).reshape(384, 24))
        t = g.Add(g.Mul(t, 1 / (w + 1e-10)[:, None]), (shift - b[:, None]) / (w + 1e-10)[:, None])
        return g.Transpose(g.Add(g.Div(t, inverse), mean), perm=[0, 2, 1])
    return given, expert


@network(items=(128, 5, 32), user=(128, 32))
def convolved_sequence_of_caser(random):
    """A vertical convolution, horizontal ones of heights 1 to 5 with a maximum each, two layers and all
    scores."""
    v, bv = random(8, 1, 5, 1), random(8)
    h, bh = [random(8, 1, k, 32) for k in range(1, 6)], [random(8) for _ in range(5)]
    w1, b1, w2, b2 = random(296, 32), random(32), random(64, 100), random(100)

    def given(g, items, user):
        x = g.Unsqueeze(items, [1])
        parts = [g.Reshape(g.Conv(x, v, bv), [128, 256])]
        for k in range(5):
            t = g.Squeeze(g.Relu(g.Conv(x, h[k], bh[k])), [3])
            parts.append(g.Squeeze(g.MaxPool(t, kernel_shape=[5 - k]), [2]))
        t = g.Concat(parts[0], g.Concat(*parts[1:], axis=1), axis=1)
        t = g.Concat(g.Relu(g.linear(t, w1, b1)), user, axis=1)
        return g.linear(t, w2, b2)

    def expert(g, items, user):
        # One product for all heights and places, a place that a height lacks repeating its last one; the
        # vertical convolution is part of the layer behind it.
        across = np.zeros((5, 32, 5, 5, 8))
        for k in range(5):
            for place in range(5):
                start = min(place, 4 - k)
                across[start:start + k + 1, :, place, k] = h[k][:, 0].transpose(1, 2, 0)
        down = np.einsum("nl,ndo->ldo", v[:, 0, :, 0], w1[:256].reshape(8, 32, 32)).reshape(160, 32)
        t = g.MatMul(g.Reshape(items, [128, 160]), side_by_side(across.reshape(160, 200), down))
        t, direct = g.Split(t, [200, 32], axis=1, results=2)
        t = g.ReduceMax(g.Reshape(t, [128, 5, 40]), [1], keepdims=0)
        t = g.MatMul(g.Relu(g.Add(t, side_by_side(*bh))), w1[256:])
        t = g.Add(g.Add(t, direct), b1 + np.einsum("n,ndo->o", bv, w1[:256].reshape(8, 32, 32)))
        return g.linear(g.Concat(g.Relu(t), user, axis=1), w2, b2)
    return given, expert


@network(m=(8, 48, 32))
def outer_product_mean_of_openfold(random):
    """Of eight sequences the outer products of all pairs of residues, a layer, and a division by the mask's
    sum."""
    scale, offset = random.positive(32), random(32)
    wa, ba, wb, bb = random(32, 32), random(32), random(32, 32), random(32)
    wo, bo, mask = random(1024, 32), random(32), np.ones((8, 48, 1))

    def given(g, m):
        t = g.LayerNormalization(m, scale, offset, axis=-1, epsilon=1e-5)
        a, b = g.Mul(g.linear(t, wa, ba), mask), g.Mul(g.linear(t, wb, bb), mask)
        a, b = g.Transpose(a, perm=[1, 0, 2]), g.Transpose(b, perm=[1, 0, 2])
        a = g.Reshape(g.Transpose(a, perm=[0, 2, 1]), [1536, 8])
        b = g.Reshape(g.Transpose(b, perm=[1, 0, 2]), [8, 1536])
        t = g.Transpose(g.Reshape(g.MatMul(a, b), [48, 32, 48, 32]), perm=[0, 2, 1, 3])
        t = g.linear(g.Reshape(t, [48, 48, 1024]), wo, bo)
        ones = g.Transpose(mask, perm=[1, 2, 0])
        total = g.MatMul(g.Reshape(ones, [48, 8]), g.Reshape(mask, [8, 48]))
        return g.Div(t, g.Unsqueeze(g.Add(total, 1e-3), [2]))

    def expert(g, m):
        # The last layer meets one side before the pairs are formed, and the sum over sequences is taken
        # with it.
        t = g.LayerNormalization(m, scale, offset, axis=-1, epsilon=1e-5)
        last = wo.reshape(32, 32, 32) / 8.001
        a = g.Reshape(g.Transpose(g.linear(t, wa, ba), perm=[1, 0, 2]), [48, 256])
        b = g.MatMul(g.Unsqueeze(t, [1]), np.einsum("md,cdz->cmz", wb, last))
        pairs = g.MatMul(a, g.Reshape(b, [256, 1536]))
        row = g.linear(a, np.tile(np.einsum("d,cdz->cz", bb, last), (8, 1)), bo / 8.001)
        return g.Add(g.Reshape(pairs, [48, 48, 32]), g.Unsqueeze(row, [1]))
    return given, expert


@network(state=(8, 32, 8, 8), action=(8, 1))
def dynamics_of_muzero_general(random):
    """The action as a plane beside the state, a residual block, states scaled to [0, 1] and the reward
    expected."""
    w0, w1, w2 = random(32, 33, 3, 3), random(32, 32, 3, 3), random(32, 32, 3, 3)
    n0, n1, n2 = (random.norm(32) for _ in range(3))
    wr, br, wf, bf = random(4, 32, 1, 1), random(4), random(256, 32), random(32)
    wl, bl = random(32, 21), random(21)
    support = np.arange(-10.0, 11.0)[None]

    def given(g, state, action):
        plane = g.Mul(g.Unsqueeze(action, [2, 3]), np.ones((8, 1, 8, 8)))
        t = g.Concat(state, g.Div(plane, 9.0), axis=1)
        t = g.Relu(g.BatchNormalization(g.Conv(t, w0, pads=[1] * 4), *n0, epsilon=1e-5))
        u = g.Relu(g.BatchNormalization(g.Conv(t, w1, pads=[1] * 4), *n1, epsilon=1e-5))
        u = g.BatchNormalization(g.Conv(u, w2, pads=[1] * 4), *n2, epsilon=1e-5)
        t = g.Relu(g.Add(u, t))
        r = g.Reshape(g.Conv(t, wr, br), [8, 256])
        r = g.Softmax(g.linear(g.Elu(g.linear(r, wf, bf)), wl, bl), axis=1)
        r = g.ReduceSum(g.Mul(g.Expand(support, [8, 21]), r), [1])
        flat = g.Reshape(t, [8, 32, 64])
        low = g.Unsqueeze(g.ReduceMin(flat, [2]), [3])
        high = g.Unsqueeze(g.ReduceMax(g.Reshape(t, [8, 32, 64]), [2]), [3])
        size = g.Sub(high, low)
        size = g.Where(g.Less(size, 1e-5), g.Add(size, 1e-5), size)
        return g.Div(g.Sub(t, low), size), r

    def expert(g, state, action):
        # An action adds a multiple of an image that is known beforehand.
        (v0, c0), (v1, c1), (v2, c2) = folded(w0, n0), folded(w1, n1), folded(w2, n2)
        plane = convolved_map(np.ones(1) / 9, v0[:, 32:], 8)
        t = g.Conv(state, v0[:, :32].copy(), c0, pads=[1] * 4)
        t = g.Relu(g.Add(t, g.Mul(g.Reshape(action, [8, 1, 1, 1]), plane)))
        u = g.Conv(g.Relu(g.Conv(t, v1, c1, pads=[1] * 4)), v2, c2, pads=[1] * 4)
        t = g.Relu(g.Add(u, t))
        r = g.Elu(g.linear(g.Reshape(g.Conv(t, wr, br), [8, 256]), wf, bf))
        r = g.MatMul(g.Softmax(g.linear(r, wl, bl), axis=1), support.T)
        low = g.ReduceMin(t, [2, 3])
        size = g.Sub(g.ReduceMax(t, [2, 3]), low)
        size = g.Where(g.Less(size, 1e-5), g.Add(size, 1e-5), size)
        return g.Div(g.Sub(t, low), size), r
    return given, expert


@network(text=(1, 4, 128), audio=(1, 500, 128))
def text_attends_to_audio_in_whisper(random):
    """Cross-attention of a decoder layer of openai/whisper: queries and keys both have a factor, keys no
    bias."""
    scale, offset = random.positive(128), random(128)
    wq, wk, wv, wo = [random(128, 128) for _ in range(4)]
    bq, bv, bo = [random(128) for _ in range(3)]

    def given(g, text, audio):
        t = g.LayerNormalization(text, scale, offset, axis=-1, epsilon=1e-5)
        q, k, v = g.linear(t, wq, bq), g.MatMul(audio, wk), g.linear(audio, wv, bv)
        q = g.Mul(g.Transpose(g.Reshape(q, [1, 4, 4, 32]), perm=[0, 2, 1, 3]), 32 ** -0.25)
        k = g.Mul(g.Transpose(g.Reshape(k, [1, 500, 4, 32]), perm=[0, 2, 3, 1]), 32 ** -0.25)
        v = g.Transpose(g.Reshape(v, [1, 500, 4, 32]), perm=[0, 2, 1, 3])
        t = g.MatMul(g.Softmax(g.MatMul(q, k), axis=-1), v)
        t = g.Reshape(g.Transpose(t, perm=[0, 2, 1, 3]), [1, 4, 128])
        return g.Add(text, g.linear(t, wo, bo))

    def expert(g, text, audio):
        # Sixteen rows of tokens and heads are taken to the audio's space and back, not 500 frames to the
        # heads'.
        keys = wk.reshape(128, 4, 32) * 32 ** -0.5
        to = np.einsum("xhd,yhd->xhy", wq.reshape(128, 4, 32), keys).reshape(128, 512)
        start = np.einsum("hd,yhd->hy", bq.reshape(4, 32), keys).reshape(512)
        back = np.einsum("xhd,hde->hxe", wv.reshape(128, 4, 32), wo.reshape(4, 32, 128)).reshape(512, 128)
        t = g.LayerNormalization(text, scale, offset, axis=-1, epsilon=1e-5)
        q, frames = g.Reshape(g.linear(t, to, start), [16, 128]), g.Reshape(audio, [500, 128])
        t = g.MatMul(g.Softmax(g.Gemm(q, frames, transB=1), axis=-1), frames)
        return g.Add(text, g.linear(g.Reshape(t, [1, 4, 512]), back, bo + bv @ wo))
    return given, expert


@network(x=(1, 257, 64))
def tokens_reassembled_by_depth_anything(random):
    """The coarsest level of DPTHead: the class token beside each patch, a pointwise and a halving
    convolution, then a fusion block that doubles the size before its last pointwise convolution."""
    wr, br, wp, bp = random(128, 64), random(64), random(64, 64, 1, 1), random(64)
    wd, bd, wn = random(64, 64, 3, 3), random(64), random(64, 64, 3, 3)
    wa, ba, wb, bb = random(64, 64, 3, 3), random(64), random(64, 64, 3, 3), random(64)
    wo, bo = random(64, 64, 1, 1), random(64)
    resize = dict(mode="linear", coordinate_transformation_mode="align_corners")

    def unit(g, t):
        u = g.Conv(g.Relu(t), wa, ba, pads=[1] * 4)
        return g.Add(g.Conv(g.Relu(u), wb, bb, pads=[1] * 4), t)

    def given(g, x):
        patches, token = g.Slice(x, [1], [257], [1]), g.Gather(x, np.array(0), axis=1)
        token = g.Expand(g.Unsqueeze(token, [1]), [1, 256, 64])
        t = erf_gelu(g, g.linear(g.Concat(patches, token, axis=2), wr, br))
        t = g.Reshape(g.Transpose(t, perm=[0, 2, 1]), [1, 64, 16, 16])
        t = g.Conv(g.Conv(t, wp, bp), wd, bd, pads=[1] * 4, strides=[2, 2])
        t = unit(g, g.Conv(t, wn, pads=[1] * 4))
        t = g.Resize(t, "", "", [1, 64, 16, 16], **resize)
        return g.Conv(t, wo, bo)

    def expert(g, x):
        # The class token is mapped once; the first bias becomes an image, as it does not reach the margin.
        token, patches = g.Split(x, [1, 256], axis=1, results=2)
        t = g.Gelu(g.Add(g.MatMul(patches, wr[:64]), g.linear(token, wr[64:], br)))
        t = g.Reshape(g.Transpose(t, perm=[0, 2, 1]), [1, 64, 16, 16])
        kernel = np.einsum("omhw,mi->oihw", wd, wp[:, :, 0, 0])
        t = g.Conv(t, kernel, pads=[1] * 4, strides=[2, 2])
        t = g.Add(t, convolved_map(bp, wd, 16, 2) + bd[:, None, None])
        t = g.Conv(unit(g, g.Conv(t, wn, pads=[1] * 4)), wo, bo)
        return g.Resize(t, "", "", [1, 64, 16, 16], **resize)
    return given, expert


@network(x=(4, 64, 96), c=(4, 96))
def guided_final_layer_of_dit(random):
    """FinalLayer, unpatchify and forward_with_cfg: of eight channels four are kept, and two conditioned
    samples are led away from two unconditioned ones."""
    wc, bc, w, b = random(96, 192), random(192), random(96, 32), random(32)
    none = np.ones(96)

    def given(g, x, c):
        t = g.linear(g.Mul(c, g.Sigmoid(c)), wc, bc)
        shift, scale = g.Split(t, [96, 96], axis=1, results=2)
        t = g.LayerNormalization(x, none, axis=-1, epsilon=1e-6)
        t = g.Add(g.Mul(t, g.Add(g.Unsqueeze(scale, [1]), 1.0)), g.Unsqueeze(shift, [1]))
        t = g.Reshape(g.linear(t, w, b), [4, 8, 8, 2, 2, 8])
        t = g.Reshape(g.Transpose(t, perm=[0, 5, 1, 3, 2, 4]), [4, 8, 16, 16])
        noise, _ = g.Split(t, [4, 4], axis=1, results=2)
        with_c, without = g.Split(noise, [2, 2], axis=0, results=2)
        return g.Add(without, g.Mul(g.Sub(with_c, without), 4.0))

    def expert(g, x, c):
        # The factors of guidance and modulation are in the weights of each sample, and shifts are combined
        # in one small product.
        kept = w.reshape(96, 4, 8)[:, :, :4].reshape(96, 16)
        start = bc[:96] @ kept + b.reshape(4, 8)[:, :4].reshape(16)
        lead = np.array([[4.0, 0, -3, 0], [0, 4, 0, -3]])
        c = g.Mul(c, g.Sigmoid(c))
        scale = g.Unsqueeze(g.linear(c, wc[:, 96:].copy(), bc[96:] + 1), [2])
        shift = g.linear(g.MatMul(lead, c), wc[:, :96] @ kept, start)
        t = g.LayerNormalization(x, none, axis=-1, epsilon=1e-6)
        t = g.MatMul(t, g.Mul(scale, np.array([4.0, 4, -3, -3])[:, None, None] * kept))
        t = g.ReduceSum(g.Reshape(t, [2, 2, 64, 16]), [0], keepdims=0)
        t = g.Reshape(g.Add(t, g.Unsqueeze(shift, [1])), [2, 8, 8, 2, 2, 4])
        return g.Reshape(g.Transpose(t, perm=[0, 5, 1, 3, 2, 4]), [2, 4, 16, 16])
    return given, expert


@network(x=(1, 32, 28, 28))
def split_attention_of_resnest(random):
    """timm's SplitAttn with radix 2 in a residual block: a softmax over two sums of channels."""
    w, n = random(64, 16, 3, 3), random.norm(64)
    w1, b1, n1, w2, b2 = random(16, 32, 1, 1), random(16), random.norm(16), random(64, 16, 1, 1), random(64)
    w3, n3 = random(32, 32, 1, 1), random.norm(32)

    def given(g, x):
        t = g.Relu(g.BatchNormalization(g.Conv(x, w, pads=[1] * 4, group=2), *n, epsilon=1e-5))
        t = g.Reshape(t, [1, 2, 32, 28, 28])
        a = g.ReduceMean(g.ReduceSum(t, [1], keepdims=0), [2, 3])
        a = g.Relu(g.BatchNormalization(g.Conv(a, w1, b1), *n1, epsilon=1e-5))
        a = g.Transpose(g.Reshape(g.Conv(a, w2, b2), [1, 1, 2, 32]), perm=[0, 2, 1, 3])
        a = g.Reshape(g.Reshape(g.Softmax(a, axis=1), [1, 64]), [1, 64, 1, 1])
        t = g.ReduceSum(g.Mul(t, g.Reshape(a, [1, 2, 32, 1, 1])), [1], keepdims=0)
        t = g.BatchNormalization(g.Conv(t, w3), *n3, epsilon=1e-5)
        return g.Relu(g.Add(t, x))

    def expert(g, x):
        # A softmax over two is a sigmoid of their difference; it weights the columns of the last layer,
        # whose product is also the sum over both.
        (v, c), (v1, c1), (v3, c3) = folded(w, n), folded(w1, n1, bias=b1), folded(w3, n3)
        t = g.Reshape(g.Relu(g.Conv(x, v, c, pads=[1] * 4, group=2)), [64, 784])
        a = g.ReduceMean(t, [1], keepdims=0)
        a = g.Relu(g.linear(a, np.tile(v1[:, :, 0, 0].T, (2, 1)), c1))
        d, e = w2[:32, :, 0, 0] - w2[32:, :, 0, 0], b2[:32] - b2[32:]
        a = g.Sigmoid(g.linear(a, side_by_side(d.T, -d.T), side_by_side(e, -e)))
        t = g.linear(g.Mul(a, np.tile(v3[:, :, 0, 0], (1, 2))), t, c3[:, None])
        return g.Relu(g.Add(g.Reshape(t, [1, 32, 28, 28]), x))
    return given, expert
